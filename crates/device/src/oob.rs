//! The out-of-band record of a physical page: the logical page that is stored there, the age of its
//! data, and the data's check sum.

use flashgc_base::stream::StreamId;

use crate::codec::{Get, Put, Seal, crc};
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
    pub(crate) fn encode(&self, seal: Seal, tag: u32, ppn: u32) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        Put::new(&mut bytes)
            .u32(self.page)
            .u8(self.class)
            .u8(1 + u8::from(self.is_copy) + 2 * u8::from(seal == Seal::Mixed))
            .u16(self.generation)
            .u64(self.stamp)
            .u64(self.written_at & MOMENT | u64::from(!self.stream) << MOMENT.count_ones())
            .u32(self.data);
        let sum = signed(seal, tag, ppn, &bytes);
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
        let (is_copy, seal) = match kind {
            1 | 2 => (kind == 2, Seal::Plain),
            3 | 4 => (kind == 4, Seal::Mixed),
            _ => return Self::Torn,
        };
        if get.u32() != signed(seal, tag, ppn, bytes) {
            return Self::Torn;
        }
        Self::Of(Oob { page, class, is_copy, generation, stamp, written_at, stream, data })
    }

    /// Returns the content of the place `ppn`, whose record parity gives as these bytes. A record
    /// with a plain check sum proves nothing then ([`Seal`]).
    pub(crate) fn rebuilt(tag: u32, ppn: u32, bytes: &[u8; BYTES]) -> Self {
        const FIRST_MIXED: u8 = 3;
        const KIND_AT: usize = 5;
        match bytes[KIND_AT] < FIRST_MIXED {
            true => Self::Torn,
            false => Self::decode(tag, ppn, bytes),
        }
    }
}

/// Returns the check sum of a record at the place `ppn`.
fn signed(seal: Seal, tag: u32, ppn: u32, bytes: &[u8; BYTES]) -> u32 {
    seal.of(crc(crc(tag, &ppn.to_le_bytes()), &bytes[..BYTES - 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two versions of a page, both programmed between two erases of a block, differ only in their
    /// place and number.
    #[test]
    fn a_record_counts_only_where_it_was_written() {
        for seal in [Seal::Plain, Seal::Mixed] {
            let bytes = RECORD.encode(seal, 5, 64);
            assert_eq!(Slot::decode(5, 64, &bytes), Slot::Of(RECORD));
            assert_eq!(Slot::decode(5, 65, &bytes), Slot::Torn);
            assert_eq!(Slot::decode(6, 64, &bytes), Slot::Torn);
        }
        assert_eq!(Slot::decode(5, 64, &[0; BYTES]), Slot::Blank);
    }

    const RECORD: Oob = Oob {
        page: 7,
        class: 1,
        is_copy: true,
        generation: 3,
        stamp: 1 << 41,
        written_at: 99,
        stream: 3,
        data: 0x1234_5678,
    };

    /// The medium has lost the writes of two pages of a group, and has older records there: pages 2 and
    /// 3 in place of 4 and 5, as when a host writes its pages in order again and again. The XOR of all
    /// is then a record of the wanted page, with a right CRC.
    #[test]
    fn a_record_that_parity_gives_from_old_ones_does_not_count() {
        let of = |page, stamp, data| Oob { page, stamp, data, ..RECORD };
        let lost = [of(4, 90, 0x77), of(5, 91, 0x88)];
        let old = [of(2, 50, 0x55), of(3, 51, 0x66)];
        let wanted = of(7, 92, 0x99);
        for (seal, is_right) in [(Seal::Plain, true), (Seal::Mixed, false)] {
            let mut sum = wanted.encode(seal, 5, 64);
            for (pair, ppn) in [lost, old].iter().flat_map(|pair| pair.iter().zip(65..)) {
                let bytes = pair.encode(seal, 5, ppn);
                sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
            }
            let Slot::Of(given) = Slot::decode(5, 64, &sum) else {
                assert!(!is_right);
                assert_eq!(Slot::rebuilt(5, 64, &sum), Slot::Torn);
                continue;
            };
            assert!(is_right);
            assert_eq!((given.page, given.generation), (wanted.page, wanted.generation));
            assert_ne!(given, wanted);
            assert_eq!(Slot::rebuilt(5, 64, &sum), Slot::Torn);
        }
        let whole = wanted.encode(Seal::Mixed, 5, 64);
        assert_eq!(Slot::rebuilt(5, 64, &whole), Slot::Of(wanted));
    }
}
