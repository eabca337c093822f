//! Reads and writes of a file past the page cache, for a server whose memory is limited.
//!
//! Pages of the cache count towards the limit. When the limit is reached, the kernel waits until
//! other pages are written back. If these belong to a file system on the drive, their writes wait
//! for this server: a deadlock.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::layout::PAGE;

/// The size of the buffer in bytes: the most that one transfer has.
const BYTES: usize = 64 * PAGE;

/// A buffer whose address is a multiple of the page size, as transfers past the page cache need.
pub(crate) struct Uncached {
    bytes: Vec<u8>,
    /// The index of the first byte whose address is a multiple of the page size.
    first: usize,
}

/// Lets the transfers of an open file go past the page cache.
///
/// # Errors
/// A file system that cannot do this.
pub fn bypass_page_cache(file: &File) -> io::Result<()> {
    Ok(fcntl_setfl(file, fcntl_getfl(file)? | OFlags::DIRECT)?)
}

impl Uncached {
    /// Returns the buffer for a file, or `None` if the transfers of the file go through the page
    /// cache.
    pub(crate) fn of(file: &File) -> io::Result<Option<Self>> {
        if !fcntl_getfl(file)?.contains(OFlags::DIRECT) {
            return Ok(None);
        }
        // Ones and not zeros, so that the memory of every page is allocated before it is needed.
        let bytes = vec![1; BYTES + PAGE];
        let first = bytes.as_ptr().align_offset(PAGE);
        Ok(Some(Self { bytes, first }))
    }

    /// Fills `into` with the bytes of the file from `at` on.
    ///
    /// # Errors
    /// Bytes beyond the end; errors of the file.
    pub(crate) fn read(&mut self, file: &File, mut at: u64, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            let (begin, skipped, here) = part(at, into.len());
            let have = self.fill(file, begin, (skipped + here).next_multiple_of(PAGE))?;
            if have < skipped + here {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let (now, rest) = into.split_at_mut(here);
            now.copy_from_slice(&self.bytes[self.first + skipped..][..here]);
            (at, into) = (at + here as u64, rest);
        }
        Ok(())
    }

    /// Writes `bytes` into the file from `at` on, whole pages at a time: a file that ends inside
    /// the last page becomes longer.
    ///
    /// # Errors
    /// The errors of the file.
    pub(crate) fn write(&mut self, file: &File, mut at: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (begin, skipped, here) = part(at, bytes.len());
            let len = (skipped + here).next_multiple_of(PAGE);
            if skipped > 0 || len > skipped + here {
                let have = self.fill(file, begin, len)?;
                self.bytes[self.first + have..self.first + len].fill(0);
            }
            self.bytes[self.first + skipped..][..here].copy_from_slice(&bytes[..here]);
            file.write_all_at(&self.bytes[self.first..][..len], begin)?;
            (at, bytes) = (at + here as u64, &bytes[here..]);
        }
        Ok(())
    }

    /// Reads up to `len` bytes of the file from `begin` on into the buffer. Returns the number of
    /// bytes read: fewer if the file ends before.
    fn fill(&mut self, file: &File, begin: u64, len: usize) -> io::Result<usize> {
        let buffer = &mut self.bytes[self.first..][..len];
        let mut have = 0;
        while have < len {
            match file.read_at(&mut buffer[have..], begin + have as u64) {
                // The file ends. Reads must begin at a multiple of a page, so none can follow a
                // part of one.
                Ok(0) => break,
                Ok(read) => have += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if !have.is_multiple_of(PAGE) {
                break;
            }
        }
        Ok(have)
    }
}

/// Returns the first part of the `len` bytes from `at` on, as much as one transfer can have. The
/// three numbers are the byte at which the first page of the part begins, the number of bytes of
/// that page before the part, and the number of bytes of the part.
fn part(at: u64, len: usize) -> (u64, usize, usize) {
    let skipped = (at % PAGE as u64) as usize;
    (at - skipped as u64, skipped, len.min(BYTES - skipped))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a new file past the page cache, or `None` where there are no such files.
    fn file() -> Option<File> {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        bypass_page_cache(&file).ok().map(|()| file)
    }

    proptest! {
        /// After writes at any places, the file has the bytes that it would have with the page
        /// cache.
        #[test]
        fn bytes_at_any_places_are_those_written(
            writes in prop::collection::vec((0u64..600_000, 1usize..400_000, any::<u8>()), 1..8),
        ) {
            let Some(file) = file() else { return Ok(()) };
            let mut uncached = Uncached::of(&file).unwrap().unwrap();
            let mut expected = Vec::new();
            for (at, len, byte) in writes {
                let end = at as usize + len;
                expected.resize(expected.len().max(end), 0);
                expected[at as usize..end].fill(byte);
                uncached.write(&file, at, &vec![byte; len]).unwrap();
            }
            let mut data = vec![0; expected.len()];
            uncached.read(&file, 0, &mut data).unwrap();
            prop_assert_eq!(&data, &expected);
            let (half, third) = (data.len() / 2, data.len() / 3);
            let mut piece = vec![0; half - third];
            uncached.read(&file, third as u64, &mut piece).unwrap();
            prop_assert_eq!(&piece[..], &expected[third..half]);
        }
    }

    #[test]
    fn a_file_through_the_page_cache_has_no_buffer_and_an_end_is_told() {
        let cached = tempfile::tempfile().unwrap();
        assert!(Uncached::of(&cached).unwrap().is_none());
        let Some(file) = file() else { return };
        file.set_len(5000).unwrap();
        let mut uncached = Uncached::of(&file).unwrap().unwrap();
        let mut bytes = [1; 100];
        uncached.read(&file, 4900, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 100]);
        let error = uncached.read(&file, 4901, &mut bytes).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
