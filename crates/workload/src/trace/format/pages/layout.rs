//! The bytes of the `pages` format: header, block, end, and the coding of references. There is no
//! I/O here. All numbers are little-endian.

use crate::trace::format::native::layout::{block_crc, put, take, u32_at, u64_at};
use crate::trace::reuse::Reference;

/// The first bytes of a file. As in PNG, the bytes 0x89, CR LF and LF show whether a transfer in
/// text mode has changed the file.
pub(super) const MAGIC: [u8; 8] = *b"\x89FGP\r\n\x1a\n";
const VERSION: u16 = 1;
const BLOCK_MAGIC: [u8; 4] = *b"BLK\0";
const END_MAGIC: [u8; 4] = *b"END\0";

/// The size of the header, of a block's header and of the end, in bytes.
pub(super) const PIECE: usize = 32;
/// The number of references in a block that is written, and the limit for a block that is read.
pub(super) const BLOCK_REFERENCES: usize = 1 << 16;
/// The largest number of bytes of a coded reference: one integer.
const MAX_REFERENCE: usize = 10;

/// The contents of a file's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The size of a page in bytes, a power of two from 512 to 2^30.
    pub page_size: u32,
    /// A number of pages. References were left out only if they change nothing in an LRU memory of
    /// this size or larger.
    pub filter: u32,
}

/// A part of a file after its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A block, with its number of references and its number of bytes.
    Block { references: u32, payload: u32 },
    /// The end: the number of references in the file, and the number of accesses that they stand
    /// for.
    End { references: u64, accesses: u64 },
}

fn sealed(mut bytes: [u8; PIECE], payload: &[u8]) -> [u8; PIECE] {
    let crc = block_crc(&bytes, payload);
    bytes[28..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Returns `true` if the checksum of a piece and its payload is right.
pub(super) fn fits(piece: &[u8; PIECE], payload: &[u8]) -> bool {
    block_crc(piece, payload) == u32_at(piece, 28)
}

impl Header {
    pub fn bytes(&self) -> [u8; PIECE] {
        let mut bytes = [0; PIECE];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.page_size.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.filter.to_le_bytes());
        sealed(bytes, &[])
    }

    /// Decodes a header. An error is a message.
    pub fn parse(bytes: &[u8; PIECE]) -> Result<Self, String> {
        if bytes[..8] != MAGIC {
            return Err("found no header of page references".to_owned());
        }
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if version != VERSION {
            return Err(format!("found version {version} of the format, expected {VERSION}"));
        }
        let header = Self { page_size: u32_at(bytes, 12), filter: u32_at(bytes, 16) };
        let sizes = 512..=1 << 30;
        if !fits(bytes, &[])
            || !header.page_size.is_power_of_two()
            || !sizes.contains(&header.page_size)
        {
            return Err("the header's checksum does not fit: the file is damaged".to_owned());
        }
        Ok(header)
    }
}

impl Piece {
    /// Returns the piece's bytes, with the checksum over them and the payload.
    pub fn bytes(&self, payload: &[u8]) -> [u8; PIECE] {
        let mut bytes = [0; PIECE];
        match *self {
            Self::Block { references, payload } => {
                bytes[..4].copy_from_slice(&BLOCK_MAGIC);
                bytes[4..8].copy_from_slice(&payload.to_le_bytes());
                bytes[8..12].copy_from_slice(&references.to_le_bytes());
            }
            Self::End { references, accesses } => {
                bytes[..4].copy_from_slice(&END_MAGIC);
                bytes[8..16].copy_from_slice(&references.to_le_bytes());
                bytes[16..24].copy_from_slice(&accesses.to_le_bytes());
            }
        }
        sealed(bytes, payload)
    }

    /// Decodes a piece, without its checksum. An error is a message.
    pub fn parse(bytes: &[u8; PIECE]) -> Result<Self, &'static str> {
        if bytes[..4] == END_MAGIC {
            return Ok(Self::End { references: u64_at(bytes, 8), accesses: u64_at(bytes, 16) });
        }
        if bytes[..4] != BLOCK_MAGIC {
            return Err("found no block, expected the bytes 'BLK' or 'END': the file is damaged");
        }
        let (payload, references) = (u32_at(bytes, 4), u32_at(bytes, 8));
        let most = references as usize * MAX_REFERENCE;
        if references == 0 || references as usize > BLOCK_REFERENCES || payload as usize > most {
            return Err("the block's lengths make no sense: the file is damaged");
        }
        Ok(Self::Block { references, payload })
    }
}

/// Appends the coded form of a block's references. A reference is coded as the difference of its
/// page from the previous page (from 0 at first) in zigzag, and one bit for a write.
pub(super) fn encode(references: &[Reference], out: &mut Vec<u8>) {
    let mut previous = 0;
    for reference in references {
        let delta = (reference.page as i64).wrapping_sub(previous);
        previous = reference.page as i64;
        let zigzag = ((delta << 1) ^ (delta >> 63)) as u64;
        put(out, zigzag << 1 | u64::from(reference.write));
    }
}

/// Calls `each` with the references of a block. Returns `None` if the bytes are not references to
/// pages of `page_size` bytes that end at or below byte 2^63.
pub(super) fn decode(
    references: u32,
    payload: &[u8],
    page_size: u64,
    mut each: impl FnMut(Reference),
) -> Option<()> {
    let (mut at, mut page) = (0, 0u64);
    let pages = (1 << 63) / page_size - 1;
    for _ in 0..references {
        let coded = take(payload, &mut at)?;
        let zigzag = coded >> 1;
        let delta = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        page = page.checked_add_signed(delta).filter(|&page| page < pages)?;
        each(Reference { page, write: coded & 1 != 0 });
    }
    (at == payload.len()).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn references_are_coded_as_the_page_of_formats_says() {
        let reference = |page, write| Reference { page, write };
        let mut bytes = Vec::new();
        encode(&[reference(3, false), reference(3, true), reference(1, true)], &mut bytes);
        // Computed by hand: +3 is zigzag 6, read: 12. 0, write: 1. -2 is zigzag 3, write: 7.
        assert_eq!(bytes, [12, 1, 7]);
        bytes.clear();
        encode(&[reference(100, false)], &mut bytes);
        // 100 is zigzag 200, read: 400 = 0x190, in groups of seven bits 0x10 and 0x03.
        assert_eq!(bytes, [0x90, 0x03]);
    }

    proptest! {
        // Such payloads can only come from a wrong writer, because changed bits would fail the
        // checksum.
        #[test]
        fn any_payload_is_decoded_or_refused(
            payload in prop::collection::vec(any::<u8>(), 0..100),
            references in 1..50u32,
        ) {
            let mut pages = Vec::new();
            if decode(references, &payload, 2048, |reference| pages.push(reference.page)).is_some() {
                prop_assert_eq!(pages.len(), references as usize);
                prop_assert!(pages.iter().all(|&page| page < (1 << 52) - 1));
            }
        }
    }
}
