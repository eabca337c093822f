//! The drive byte by byte, compared with a vector of bytes.

use flashgc_device::bytes::{Bytes, Extent};
use flashgc_device::failure::Failure;
use flashgc_device::{Backend, DeviceError, WriteStreams};
use flashgc_front::ram::Ram;
use proptest::collection::vec;
use proptest::prelude::*;

const PAGES: u64 = 6;
const SIZE: u64 = PAGES * 4096;

#[derive(Clone, Debug)]
enum Op {
    Read(u64, u64),
    Write(u64, u64, u8),
    Trim(u64, u64),
    Zero(u64, u64, bool),
}

/// Ranges within the drive or beyond its end. Many of them begin or end near a page border.
fn range() -> impl Strategy<Value = (u64, u64)> {
    let near =
        (0..=PAGES, -3_i64..=3).prop_map(|(page, by)| (page * 4096).saturating_add_signed(by));
    let point = prop_oneof![near, 0..SIZE + 100];
    (point.clone(), point).prop_map(|(a, b)| (a.min(b), a.max(b) - a.min(b)))
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        range().prop_map(|(at, bytes)| Op::Read(at, bytes)),
        (range(), 1_u8..).prop_map(|((at, bytes), fill)| Op::Write(at, bytes, fill)),
        range().prop_map(|(at, bytes)| Op::Trim(at, bytes)),
        (range(), any::<bool>()).prop_map(|((at, bytes), keep)| Op::Zero(at, bytes, keep)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_drive_is_a_vector_of_bytes(ops in vec(op(), 1..30)) {
        let mut drive = Bytes::new(Ram::new(PAGES));
        let mut model = vec![0_u8; SIZE as usize];
        let mut mapped = [false; PAGES as usize];
        for op in ops {
            let (Op::Read(at, bytes) | Op::Write(at, bytes, _) | Op::Trim(at, bytes)
                | Op::Zero(at, bytes, _)) = op;
            let outcome = match op {
                Op::Read(..) => drive.read(at, bytes as usize).map(Some),
                Op::Write(_, _, fill) => {
                    let data = vec![fill; bytes as usize];
                    drive.write(at, &data, WriteStreams::default()).map(|()| None)
                },
                Op::Trim(..) => drive.trim(at, bytes).map(|()| None),
                Op::Zero(_, _, keep) => drive.zero(at, bytes, keep).map(|()| None),
            };
            if at + bytes > SIZE {
                prop_assert_eq!(outcome, Err(Failure::OutOfRange { at, bytes, size: SIZE }));
                continue;
            }
            let range = at as usize..(at + bytes) as usize;
            match (op, outcome?) {
                (Op::Read(..), data) => {
                    prop_assert_eq!(data.as_deref(), Some(&model[range.clone()]));
                    prop_assert_eq!(sparse(&mut drive, at, bytes as usize), &model[range]);
                }
                (Op::Write(_, _, fill), _) => {
                    model[range.clone()].fill(fill);
                    touched(&range).for_each(|page| mapped[page] = true);
                }
                (Op::Trim(..), _) => {
                    for page in whole(&range) {
                        model[page * 4096..][..4096].fill(0);
                        mapped[page] = false;
                    }
                }
                (Op::Zero(_, _, keep), _) => {
                    model[range.clone()].fill(0);
                    touched(&range).filter(|_| keep).for_each(|page| mapped[page] = true);
                    whole(&range).filter(|_| !keep).for_each(|page| mapped[page] = false);
                }
            }
        }
        prop_assert_eq!(drive.read(0, SIZE as usize)?, model);
        let extents = drive.extents(0, SIZE, usize::MAX)?;
        let told = extents.iter().flat_map(|e| (0..e.bytes / 4096).map(|_| e.data));
        prop_assert_eq!(told.collect::<Vec<_>>(), mapped);
        prop_assert!(extents.windows(2).all(|pair| pair[0].data != pair[1].data));
    }
}

/// Reads without the holes, and returns all bytes of the range, with zeros for the holes.
fn sparse(drive: &mut Bytes<Ram>, at: u64, bytes: usize) -> Vec<u8> {
    let (extents, data) = drive.read_sparse(at, bytes).unwrap();
    let (mut whole, mut rest) = (Vec::new(), data.into_iter());
    for extent in extents {
        let zeros = std::iter::repeat_n(0, extent.bytes as usize);
        if extent.data {
            whole.extend(rest.by_ref().take(extent.bytes as usize));
        } else {
            whole.extend(zeros);
        }
    }
    assert_eq!(rest.next(), None);
    whole
}

/// Returns the pages of which the range has at least one byte.
fn touched(range: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    if range.is_empty() { 0..0 } else { range.start / 4096..range.end.div_ceil(4096) }
}

/// Returns the pages of which the range has every byte.
fn whole(range: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    range.start.div_ceil(4096)..range.end / 4096
}

/// A hint on a range names the pages that a write of the range would write.
#[test]
fn hints_are_of_every_page_that_is_touched() {
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let mut drive = Bytes::new(drive);
    let hinted = || counts.hinted.load(std::sync::atomic::Ordering::Relaxed);
    drive.hint(4095, 2, None).unwrap();
    assert_eq!(hinted(), 2);
    drive.cancel(4095, 1).unwrap();
    assert_eq!(hinted(), 1);
    drive.hint(0, 0, None).unwrap();
    assert_eq!(hinted(), 1);
}

#[test]
fn extents_begin_and_end_with_the_range_and_are_as_many_as_asked() {
    let mut drive = Bytes::new(Ram::new(PAGES));
    drive.write(4096, &[1; 4096], WriteStreams::default()).unwrap();
    let extent = |bytes, data| Extent { bytes, data };
    let all = [extent(96, false), extent(4096, true), extent(4, false)];
    assert_eq!(drive.extents(4000, 4196, 9).unwrap(), all);
    assert_eq!(drive.extents(4000, 4196, 2).unwrap(), all[..2]);
    assert_eq!(drive.extents(4000, 4196, 1).unwrap(), all[..1]);
    assert_eq!(drive.extents(SIZE, 0, 1).unwrap(), []);
    drive.extents(SIZE, 1, 1).unwrap_err();
    drive.extents(u64::MAX, 2, 1).unwrap_err();
}

/// A drive that reports one page at a time as an extent, which a drive may do.
struct Pages;

impl Backend for Pages {
    fn pages(&self) -> u64 {
        PAGES
    }
    fn read(&mut self, _: u64, _: &mut [u8]) -> Result<(), DeviceError> {
        Ok(())
    }
    fn write_named(
        &mut self,
        _: u64,
        _: &[u8],
        _: WriteStreams<'_>,
        _: bool,
    ) -> Result<(), DeviceError> {
        Ok(())
    }
    fn trim(&mut self, _: u64, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }
    fn flush(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
    fn moment(&self) -> u64 {
        0
    }
    fn hint(
        &mut self,
        _: u64,
        _: u64,
        _: Option<u64>,
    ) -> Result<flashgc_device::Hinted, DeviceError> {
        Ok(flashgc_device::Hinted::default())
    }
    fn cancel(&mut self, _: u64, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }
    fn extent(&mut self, page: u64, _: u64) -> Result<(u64, bool), DeviceError> {
        Ok((1, page >= 2))
    }
}

#[test]
fn extents_that_are_told_in_pieces_are_one() {
    let mut drive = Bytes::new(Pages);
    let extent = |bytes, data| Extent { bytes, data };
    let all = [extent(2 * 4096, false), extent(4 * 4096, true)];
    assert_eq!(drive.extents(0, SIZE, 2).unwrap(), all);
    assert_eq!(drive.extents(0, SIZE, 1).unwrap(), all[..1]);
}
