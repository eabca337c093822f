//! The extents of a file on its device, as the file system reports them (FIEMAP).

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::ioctl::{self, Updater, opcode};

/// The number of extents that one call requests.
const AT_ONCE: usize = 128;

/// The ioctl `FS_IOC_FIEMAP` of `linux/fs.h`, with its argument from `linux/fiemap.h`.
const FIEMAP: ioctl::Opcode = opcode::read_write::<Header>(b'f', 11);

#[repr(C)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Mapped {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

#[repr(C)]
struct Request {
    header: Header,
    found: [Mapped; AT_ONCE],
}

/// The flag of the file's last extent.
const LAST: u32 = 0x1;
/// The flags of extents whose data do not lie on the device in plain form: place unknown, not yet
/// allocated, encoded, encrypted, within metadata, packed with other files.
const ELSEWHERE: u32 = 0x2 | 0x4 | 0x8 | 0x80 | 0x200 | 0x400;
/// The flag of an extent that is allocated but was never written. It reads as zeros.
const UNWRITTEN: u32 = 0x800;

/// Consecutive bytes of a file that are also consecutive on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first byte in the file.
    pub logical: u64,
    /// The first byte on the device.
    pub physical: u64,
    /// The length in bytes.
    pub length: u64,
}

/// The extents of a file, in order. Parts of the file that have no place on the device yet, or were
/// never written, are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extents(Vec<Extent>);

impl Extents {
    /// Returns the present extents of `file`. Dirty pages are not written out first.
    ///
    /// # Errors
    /// The file system does not support FIEMAP, or the call fails.
    pub fn of(file: &File) -> io::Result<Self> {
        let mut extents = vec![];
        let mut start = 0;
        loop {
            let header = Header {
                start,
                length: u64::MAX - start,
                flags: 0,
                mapped: 0,
                room: AT_ONCE as u32,
                reserved: 0,
            };
            let mut request = Request { header, found: [Mapped::default(); AT_ONCE] };
            // SAFETY: the opcode is FIEMAP's, which reads the header and writes at most `room`
            // extents behind it, all of which `request` holds.
            unsafe {
                ioctl::ioctl(file.as_fd(), Updater::<{ FIEMAP }, Request>::new(&mut request))?;
            }
            let found = &request.found[..(request.header.mapped as usize).min(AT_ONCE)];
            extents.extend(
                found.iter().filter(|extent| extent.flags & (ELSEWHERE | UNWRITTEN) == 0).map(
                    |extent| Extent {
                        logical: extent.logical,
                        physical: extent.physical,
                        length: extent.length,
                    },
                ),
            );
            match found.last() {
                Some(last) if last.flags & LAST == 0 && last.length > 0 => {
                    start = last.logical + last.length;
                }
                _ => return Ok(Self(extents)),
            }
        }
    }

    /// Makes the list of `extents`, which must be in order and must not overlap.
    pub fn new(extents: Vec<Extent>) -> Self {
        Self(extents)
    }

    /// Returns the pieces of the device that hold `length` bytes of the file from `at` on, or
    /// `None` if some of these bytes have no place. Each piece is a first byte and a length.
    pub fn locate(&self, at: u64, length: u64) -> Option<Pieces<'_>> {
        let end = at.checked_add(length)?;
        let first = self.0.partition_point(|extent| extent.logical + extent.length <= at);
        let mut covered = at;
        for extent in &self.0[first..] {
            if covered >= end || extent.logical > covered {
                break;
            }
            covered = extent.logical + extent.length;
        }
        (covered >= end).then_some(Pieces { extents: &self.0[first..], at, end })
    }
}

/// Iterator over pieces of a device; see [`Extents::locate`].
pub struct Pieces<'a> {
    extents: &'a [Extent],
    at: u64,
    end: u64,
}

impl Iterator for Pieces<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        if self.at >= self.end {
            return None;
        }
        let (extent, rest) = self.extents.split_first()?;
        let until = self.end.min(extent.logical + extent.length);
        let piece = (extent.physical + (self.at - extent.logical), until - self.at);
        (self.extents, self.at) = (rest, until);
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

    use super::*;

    fn extent(logical: u64, physical: u64, length: u64) -> Extent {
        Extent { logical, physical, length }
    }

    fn pieces(extents: &Extents, at: u64, length: u64) -> Option<Vec<(u64, u64)>> {
        extents.locate(at, length).map(Iterator::collect)
    }

    #[test]
    fn bytes_are_found_in_the_extents_that_hold_them() {
        let extents =
            Extents::new(vec![extent(0, 1000, 100), extent(100, 5000, 50), extent(200, 10, 8)]);
        assert_eq!(pieces(&extents, 0, 100), Some(vec![(1000, 100)]));
        assert_eq!(pieces(&extents, 90, 20), Some(vec![(1090, 10), (5000, 10)]));
        assert_eq!(pieces(&extents, 149, 1), Some(vec![(5049, 1)]));
        assert_eq!(pieces(&extents, 203, 5), Some(vec![(13, 5)]));
        for (at, length) in [(149, 2), (150, 1), (199, 2), (203, 6), (208, 1), (u64::MAX, 2)] {
            assert_eq!(pieces(&extents, at, length), None, "{length} bytes from {at} on");
        }
        assert_eq!(pieces(&Extents::default(), 0, 1), None);
    }

    /// A file with more extents than one call requests, and holes between them.
    #[test]
    fn a_file_tells_its_extents() {
        let mut file = tempfile::tempfile().expect("a file");
        for hole in 0..300_u64 {
            file.seek(SeekFrom::Start(hole * 65536)).expect("a place");
            file.write_all(&[1; 4096]).expect("room");
        }
        file.sync_all().expect("a sync");
        let Ok(extents) = Extents::of(&file) else {
            eprintln!("skipped: this file system does not tell where files lie");
            return;
        };
        for hole in 0..300 {
            assert!(extents.locate(hole * 65536, 4096).is_some(), "{extents:?}");
            assert!(extents.locate(hole * 65536, 65537).is_none(), "{extents:?}");
        }
    }
}
