//! A drive in memory, for tests and to measure the cost of the front ends alone.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flashgc_device::{Backend, DeviceError, Hinted, PAGE, WriteStreams};

/// Counts of a [`Ram`], readable while the drive is served.
#[derive(Debug, Default)]
pub struct Counts {
    /// The number of flushes.
    pub flushes: AtomicU64,
    /// The number of times that changes were handed over to the system.
    pub hand_overs: AtomicU64,
    /// The number of pages read.
    pub read: AtomicU64,
    /// The number of pages written.
    pub written: AtomicU64,
    /// The number of pages trimmed.
    pub trimmed: AtomicU64,
    /// The number of pages hinted, less those cancelled.
    pub hinted: AtomicU64,
}

/// The data of a page, and the moment at which it was written.
#[derive(Clone)]
struct Page {
    data: Box<[u8]>,
    moment: u64,
}

/// A drive whose pages are in memory.
pub struct Ram {
    pages: Vec<Option<Page>>,
    written: u64,
    counts: Arc<Counts>,
}

impl Ram {
    /// Returns a drive of `pages` pages without data.
    pub fn new(pages: u64) -> Self {
        let pages = usize::try_from(pages).expect("a drive in memory fits into it");
        Self { pages: vec![None; pages], written: 0, counts: Arc::default() }
    }

    /// Returns the counts, which stay readable while the drive is served.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    fn range(&self, page: u64, count: u64) -> Result<std::ops::Range<usize>, DeviceError> {
        let pages = self.pages.len() as u64;
        match page.checked_add(count) {
            Some(end) if end <= pages => Ok(page as usize..end as usize),
            _ => Err(DeviceError::OutOfRange { page, count, pages }),
        }
    }
}

impl Backend for Ram {
    fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    fn read(&mut self, page: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        assert!(into.len().is_multiple_of(PAGE), "reads are of whole pages");
        let count = (into.len() / PAGE) as u64;
        let range = self.range(page, count)?;
        for (stored, into) in self.pages[range].iter().zip(into.chunks_exact_mut(PAGE)) {
            match stored {
                Some(page) => into.copy_from_slice(&page.data),
                None => into.fill(0),
            }
        }
        self.counts.read.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }

    fn write_named(
        &mut self,
        page: u64,
        data: &[u8],
        _: WriteStreams<'_>,
        fua: bool,
    ) -> Result<(), DeviceError> {
        assert!(data.len().is_multiple_of(PAGE), "writes are of whole pages");
        let count = (data.len() / PAGE) as u64;
        let range = self.range(page, count)?;
        for (stored, data) in self.pages[range].iter_mut().zip(data.chunks_exact(PAGE)) {
            self.written += 1;
            match stored {
                Some(page) => {
                    page.data.copy_from_slice(data);
                    page.moment = self.written;
                }
                None => *stored = Some(Page { data: data.into(), moment: self.written }),
            }
        }
        self.counts.written.fetch_add(count, Ordering::Relaxed);
        if fua { self.flush() } else { Ok(()) }
    }

    fn trim(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        let range = self.range(page, count)?;
        self.pages[range].fill(None);
        self.counts.trimmed.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        self.counts.flushes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), DeviceError> {
        self.counts.hand_overs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn moment(&self) -> u64 {
        self.written
    }

    fn hint(&mut self, page: u64, count: u64, moment: Option<u64>) -> Result<Hinted, DeviceError> {
        let range = self.range(page, count)?;
        let now = self.written;
        let moment = moment.unwrap_or(now);
        if moment > now {
            return Err(DeviceError::Moment { moment, now });
        }
        let is_late =
            |page: usize| self.pages[page].as_ref().is_some_and(|data| data.moment > moment);
        let pages: Vec<Range<u64>> =
            range.filter(|&page| !is_late(page)).map(|page| page as u64..page as u64 + 1).collect();
        let late = count - pages.len() as u64;
        self.counts.hinted.fetch_add(count - late, Ordering::Relaxed);
        Ok(Hinted { late, pages })
    }

    fn cancel(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        self.range(page, count)?;
        self.counts.hinted.fetch_sub(count, Ordering::Relaxed);
        Ok(())
    }

    fn extent(&mut self, page: u64, count: u64) -> Result<(u64, bool), DeviceError> {
        let range = self.range(page, count)?;
        let mut pages = self.pages[range].iter().map(Option::is_some);
        let Some(first) = pages.next() else { return Ok((0, false)) };
        Ok((1 + pages.take_while(|&data| data == first).count() as u64, first))
    }
}
