//! The out-of-band record of a physical page: the logical page that is stored there, the age of its
//! data, and the data's check sum.

use flashgc_base::stream::StreamId;

use crate::codec::{Get, Put, crc};
use crate::layout::OOB_BYTES;

/// The bytes of a record.
pub(crate) const BYTES: usize = OOB_BYTES as usize;

/// The lower bits of a `u64` in a record hold the moment. The bits above hold the stream, inverted,
/// so that they are zeros for data without a stream.
const MOMENT: u64 = u64::MAX >> StreamId::BITS;

/// The out-of-band record of a physical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Oob {
    /// The logical page.
    pub(crate) page: u32,
    /// The class of the block.
    pub(crate) class: u8,
    pub(crate) is_copy: bool,
    /// The lower 16 bits of the block's erase count when the page was programmed.
    pub(crate) generation: u16,
    /// The number of the journal record of this program. No other program has the same number.
    pub(crate) stamp: u64,
    /// The moment of the host's write: the number of pages that the host had written by then. A
    /// copy keeps it.
    pub(crate) written_at: u64,
    /// The stream of the data.
    pub(crate) stream: StreamId,
    /// The check sum of the data.
    pub(crate) data: u32,
}

/// The content found at the place of an out-of-band record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// No record was written there, or recovery has erased it.
    Blank,
    /// Bytes that are not a record of this place: torn, damaged, or written to the wrong place.
    Torn,
    /// A record.
    Of(Oob),
}

impl Oob {
    /// Returns the record as bytes. The check sum includes the place `ppn`, so the bytes are not
    /// valid at any other place.
    pub(crate) fn encode(&self, tag: u32, ppn: u32) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        Put::new(&mut bytes)
            .u32(self.page)
            .u8(self.class)
            .u8(1 + u8::from(self.is_copy))
            .u16(self.generation)
            .u64(self.stamp)
            .u64(self.written_at & MOMENT | u64::from(!self.stream) << MOMENT.count_ones())
            .u32(self.data);
        let sum = signed(tag, ppn, &bytes);
        Put::new(&mut bytes[BYTES - 4..]).u32(sum);
        bytes
    }
}

impl Slot {
    /// Returns the content of the place `ppn`, which has these bytes.
    pub(crate) fn decode(tag: u32, ppn: u32, bytes: &[u8; BYTES]) -> Self {
        if bytes.iter().all(|&byte| byte == 0) {
            return Self::Blank;
        }
        let mut get = Get::new(bytes);
        let (page, class, kind, generation) = (get.u32(), get.u8(), get.u8(), get.u16());
        let (stamp, moment, data) = (get.u64(), get.u64(), get.u32());
        let (written_at, stream) = (moment & MOMENT, !((moment >> MOMENT.count_ones()) as u8));
        let is_signed = get.u32() == signed(tag, ppn, bytes);
        if !is_signed || !(1..=2).contains(&kind) {
            return Self::Torn;
        }
        let is_copy = kind == 2;
        Self::Of(Oob { page, class, is_copy, generation, stamp, written_at, stream, data })
    }
}

/// Returns the check sum of a record at the place `ppn`.
fn signed(tag: u32, ppn: u32, bytes: &[u8; BYTES]) -> u32 {
    crc(crc(tag, &ppn.to_le_bytes()), &bytes[..BYTES - 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two versions of a page, both programmed between two erases of a block, differ only in their
    /// place and number.
    #[test]
    fn a_record_counts_only_where_it_was_written() {
        let record = Oob {
            page: 7,
            class: 1,
            is_copy: true,
            generation: 3,
            stamp: 1 << 41,
            written_at: 99,
            stream: 3,
            data: 0x1234_5678,
        };
        let bytes = record.encode(5, 64);
        assert_eq!(Slot::decode(5, 64, &bytes), Slot::Of(record));
        assert_eq!(Slot::decode(5, 65, &bytes), Slot::Torn);
        assert_eq!(Slot::decode(6, 64, &bytes), Slot::Torn);
        assert_eq!(Slot::decode(5, 64, &[0; BYTES]), Slot::Blank);
    }
}
