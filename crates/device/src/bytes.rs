//! Access to a drive byte by byte (512e), for hosts whose sectors are smaller than a page, or that
//! have no sectors.
//!
//! A write that covers a part of a page reads the page, changes it and writes it whole, so a page
//! stays the atomic unit. Every range is checked here, once for all front ends.

use std::time::Instant;

use flashgc_base::stream::{NO_STREAM, StreamId};

use crate::failure::Failure;
use crate::{Backend, Hinted, HostRequest, Noted, Origin, PAGE, Usage, WriteStreams};

const PAGE_BYTES: u64 = PAGE as u64;
/// The number of pages of zeros that are written at a time.
const ZEROS: usize = 64;

/// Bytes that follow each other and all have data, or all have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of bytes in the extent.
    pub bytes: u64,
    /// `true` if the extent has data, `false` if it reads as zeros.
    pub data: bool,
}

/// Access to a drive byte by byte. Nothing is durable before [`Bytes::flush`].
pub struct Bytes<S> {
    drive: S,
}

/// A range of bytes, split at page borders: a part of a page, whole pages, a part of a page.
struct Split {
    /// Start and length of the bytes before the first whole page, all in one page.
    head: (u64, usize),
    /// The first whole page and the number of whole pages.
    whole: (u64, u64),
    /// Start and length of the bytes after the last whole page, all in one page.
    tail: (u64, usize),
}

impl Split {
    fn new(at: u64, bytes: u64) -> Self {
        let head = (at.next_multiple_of(PAGE_BYTES) - at).min(bytes);
        let whole = (bytes - head) / PAGE_BYTES;
        let tail = bytes - head - whole * PAGE_BYTES;
        Self {
            head: (at, head as usize),
            whole: ((at + head) / PAGE_BYTES, whole),
            tail: (at + bytes - tail, tail as usize),
        }
    }

    /// Returns the first byte and the length of the head and the tail, if they are not empty.
    fn parts(&self) -> impl Iterator<Item = (u64, usize)> + use<> {
        [self.head, self.tail].into_iter().filter(|&(_, bytes)| bytes > 0)
    }
}

impl<S: Backend> Bytes<S> {
    /// Returns access to `drive` byte by byte.
    pub fn new(drive: S) -> Self {
        Self { drive }
    }

    /// Returns the drive, when no front end needs it any more.
    pub fn into_drive(self) -> S {
        self.drive
    }

    /// Returns the drive itself.
    pub fn drive(&mut self) -> &mut S {
        &mut self.drive
    }

    /// Sets the arrival time and the sender of the commands that follow. `None` stands for now.
    pub fn arrived(&mut self, at: Option<Instant>, from: Origin) {
        self.drive.arrived(at, from);
    }

    /// Returns the requests that the recording has noted since the last call.
    pub fn noted(&mut self) -> Option<Noted> {
        self.drive.noted()
    }

    /// Adds the hosts' use since the last call to the drive's counts.
    pub fn account(&mut self, usage: &Usage) {
        self.drive.account(usage);
    }

    /// Returns the size of the drive in bytes.
    pub fn size(&self) -> u64 {
        self.drive.pages() * PAGE_BYTES
    }

    /// Reads `bytes` bytes from byte `at` on.
    pub fn read(&mut self, at: u64, bytes: usize) -> Result<Vec<u8>, Failure> {
        self.check(at, bytes as u64)?;
        let mut data = Vec::new();
        self.asked((at, bytes as u64, true), |drive| drive.append(at, bytes, &mut data))?;
        Ok(data)
    }

    /// Reads `bytes` bytes from byte `at` on, without the holes. Returns the extents and, one
    /// behind the other, the data of the extents that have data. Two neighbouring extents are never
    /// of the same kind.
    pub fn read_sparse(
        &mut self,
        at: u64,
        bytes: usize,
    ) -> Result<(Vec<Extent>, Vec<u8>), Failure> {
        let extents = self.extents(at, bytes as u64, usize::MAX)?;
        let held: u64 =
            extents.iter().filter(|extent| extent.data).map(|extent| extent.bytes).sum();
        // The first and the last page are read whole.
        let (mut from, mut data) = (at, Vec::with_capacity(held as usize + 2 * PAGE));
        for extent in &extents {
            if extent.data {
                let request = (from, extent.bytes, true);
                self.asked(request, |drive| drive.append(from, extent.bytes as usize, &mut data))?;
            }
            from += extent.bytes;
        }
        Ok((extents, data))
    }

    /// Writes `data` from byte `at` on. `streams` has the streams of the pages that the range
    /// touches. A failure may leave some of the pages written and others not.
    pub fn write(
        &mut self,
        at: u64,
        data: &[u8],
        streams: WriteStreams<'_>,
    ) -> Result<(), Failure> {
        self.check(at, data.len() as u64)?;
        self.asked((at, data.len() as u64, false), |drive| drive.write_parts(at, data, streams))
    }

    fn write_parts(
        &mut self,
        at: u64,
        data: &[u8],
        streams: WriteStreams<'_>,
    ) -> Result<(), Failure> {
        let split = Split::new(at, data.len() as u64);
        let (head, rest) = data.split_at(split.head.1);
        let (whole, tail) = rest.split_at(rest.len() - split.tail.1);
        let (before, pages) = (usize::from(!head.is_empty()), whole.len() / PAGE);
        self.write_part(split.head.0, head, streams.of(0))?;
        if !whole.is_empty() {
            self.drive.write_named(split.whole.0, whole, streams.part(before, pages), false)?;
        }
        self.write_part(split.tail.0, tail, streams.of(before + pages))
    }

    /// Copies the ranges `from`, one behind the other, to byte `to` and the bytes behind it.
    /// `streams` has the streams of the pages that the copy touches. All ranges are read before
    /// anything is written.
    pub fn copy(
        &mut self,
        from: &[(u64, usize)],
        to: u64,
        streams: WriteStreams<'_>,
    ) -> Result<(), Failure> {
        let mut data = Vec::new();
        for &(at, bytes) in from {
            self.check(at, bytes as u64)?;
            self.asked((at, bytes as u64, true), |drive| drive.append(at, bytes, &mut data))?;
        }
        self.write(to, &data, streams)
    }

    /// Discards the pages that lie completely in the range. Parts of pages keep their data.
    pub fn trim(&mut self, at: u64, bytes: u64) -> Result<(), Failure> {
        self.check(at, bytes)?;
        let (page, count) = Split::new(at, bytes).whole;
        if count > 0 {
            self.drive.trim(page, count)?;
        }
        Ok(())
    }

    /// Makes the whole range read as zeros. Whole pages are discarded; with `keep` they are written
    /// as zeros instead, so that they have data.
    pub fn zero(&mut self, at: u64, bytes: u64, keep: bool) -> Result<(), Failure> {
        self.check(at, bytes)?;
        self.asked((at, bytes, false), |drive| drive.zero_parts(at, bytes, keep))
    }

    fn zero_parts(&mut self, at: u64, bytes: u64, keep: bool) -> Result<(), Failure> {
        let split = Split::new(at, bytes);
        for (at, bytes) in split.parts() {
            // A page without data is zeros already.
            if keep || self.drive.extent(at / PAGE_BYTES, 1)?.1 {
                self.write_part(at, &[0; PAGE][..bytes], NO_STREAM)?;
            }
        }
        let (page, count) = split.whole;
        if keep {
            for done in (0..count).step_by(ZEROS) {
                let pages = (count - done).min(ZEROS as u64) as usize;
                self.drive.write(page + done, &[0; ZEROS * PAGE][..pages * PAGE], false)?;
            }
        } else if count > 0 {
            self.drive.trim(page, count)?;
        }
        Ok(())
    }

    /// Makes all earlier completed commands durable.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.drive.flush()?)
    }

    /// Hands the effects of all earlier completed commands over to the system, as
    /// [`Backend::hand_over`] does.
    pub fn hand_over(&mut self) -> Result<(), Failure> {
        Ok(self.drive.hand_over()?)
    }

    /// Returns the number of pages that the host has written.
    pub fn moment(&self) -> u64 {
        self.drive.moment()
    }

    /// Notes a hint that the host gave at `moment`: the host will write the pages of this range
    /// soon. `None` stands for now. The hint names each page of which the range has a part. Returns
    /// the pages on which the hint holds, and the number of named pages that were written since
    /// `moment`.
    pub fn hint(&mut self, at: u64, bytes: u64, moment: Option<u64>) -> Result<Hinted, Failure> {
        let (page, count) = self.touched(at, bytes)?;
        Ok(self.drive.hint(page, count, moment)?)
    }

    /// Takes hints on the pages of this range back.
    pub fn cancel(&mut self, at: u64, bytes: u64) -> Result<(), Failure> {
        let (page, count) = self.touched(at, bytes)?;
        Ok(self.drive.cancel(page, count)?)
    }

    /// Returns at most `most` extents from byte `at` on. Two neighbouring extents are never of the
    /// same kind. The extents may end before the range does.
    pub fn extents(&mut self, at: u64, bytes: u64, most: usize) -> Result<Vec<Extent>, Failure> {
        self.check(at, bytes)?;
        let (mut at, end) = (at, at + bytes);
        let mut extents: Vec<Extent> = Vec::new();
        while at < end {
            let page = at / PAGE_BYTES;
            let (count, data) = self.drive.extent(page, end.div_ceil(PAGE_BYTES) - page)?;
            assert!(count > 0, "an extent has at least one page");
            let until = ((page + count) * PAGE_BYTES).min(end);
            let full = extents.len() == most;
            match extents.last_mut() {
                Some(last) if last.data == data => last.bytes += until - at,
                _ if full => break,
                _ => extents.push(Extent { bytes: until - at, data }),
            }
            at = until;
        }
        Ok(extents)
    }

    /// Does `work` for a request of the host, given as its first byte, its number of bytes, and
    /// `true` if the host reads.
    fn asked<T>(
        &mut self,
        (at, bytes, is_read): (u64, u64, bool),
        work: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.drive.asks(Some(HostRequest { at, bytes, is_read }));
        let done = work(self);
        self.drive.asks(None);
        done
    }

    /// Reads a range of the drive and appends it to `data`.
    fn append(&mut self, at: u64, bytes: usize, data: &mut Vec<u8>) -> Result<(), Failure> {
        if bytes == 0 {
            return Ok(());
        }
        let (begin, skip) = (data.len(), (at % PAGE_BYTES) as usize);
        data.resize(begin + (skip + bytes).next_multiple_of(PAGE), 0);
        self.drive.read(at / PAGE_BYTES, &mut data[begin..])?;
        data.truncate(begin + skip + bytes);
        data.drain(begin..begin + skip);
        Ok(())
    }

    /// Writes a part of one page.
    fn write_part(&mut self, at: u64, part: &[u8], stream: StreamId) -> Result<(), Failure> {
        if part.is_empty() {
            return Ok(());
        }
        let page = at / PAGE_BYTES;
        let skip = (at % PAGE_BYTES) as usize;
        let mut whole = [0; PAGE];
        self.drive.read(page, &mut whole)?;
        whole[skip..skip + part.len()].copy_from_slice(part);
        Ok(self.drive.write_named(page, &whole, WriteStreams(&[stream]), false)?)
    }

    /// Returns the first page that the range touches, and the number of pages that it touches.
    fn touched(&self, at: u64, bytes: u64) -> Result<(u64, u64), Failure> {
        self.check(at, bytes)?;
        let page = at / PAGE_BYTES;
        let end = if bytes == 0 { page } else { (at + bytes).div_ceil(PAGE_BYTES) };
        Ok((page, end - page))
    }

    /// Checks that the drive has this range.
    ///
    /// # Errors
    /// A range that ends behind the drive.
    pub fn check(&self, at: u64, bytes: u64) -> Result<(), Failure> {
        let size = self.size();
        match at.checked_add(bytes) {
            Some(end) if end <= size => Ok(()),
            _ => Err(Failure::OutOfRange { at, bytes, size }),
        }
    }
}
