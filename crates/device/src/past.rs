//! A past for a drive: data that nobody needs, and overwrites of them until the drive has settled.
//!
//! All pages are zeros and stay holes in the drive's file. A past takes the room of its records alone, and
//! a copy that keeps holes takes no more.

use std::io;

use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::{Batch, Op, Workload};

use crate::engine::Drive;
use crate::error::DeviceError;
use crate::layout::PAGE;
use crate::media::{FileMedia, Media};
use crate::served::Served;
use crate::settings::{Settings, invalid};
use crate::usage::Usage;

/// The fewest and the most times that the data are overwritten until the drive has settled.
const LEAST: u32 = 2;
const MOST: u32 = 20;
/// The change of write amplification from one round to the next, as a share, in which a drive has settled.
const SETTLED: f64 = 0.01;

/// The end of the overwrites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// The data were overwritten so many times.
    Times(f64),
    /// Write amplification changed by at most 1% between two rounds, each of as many writes as there are
    /// pages with data. At most 20 rounds.
    Settled,
}

/// The effects of a past on the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Aged {
    /// The number of pages with data.
    pub pages: u64,
    /// The number of pages that were overwritten, each as often as it was.
    pub overwritten: u64,
    /// Write amplification of the last round; `None` if nothing was overwritten.
    pub write_amplification: Option<f64>,
    /// The number of pages that collections copied.
    pub copied: u64,
    /// The number of blocks that were erased.
    pub erases: u64,
    /// `true` if write amplification had settled by then.
    pub is_settled: bool,
}

/// A file in which a drive's data stay holes.
struct Hollow {
    file: FileMedia,
    /// The first byte of data.
    data: u64,
}

impl Media for Hollow {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_at(at, into)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        // Nothing but zeros was written there, so the hole is still one.
        if at >= self.data && bytes.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        self.file.write_at(at, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn gives_room_back(&self) -> bool {
        self.file.gives_room_back()
    }

    fn punch(&mut self, at: u64, len: u64) -> io::Result<()> {
        self.file.punch(at, len)
    }

    fn reserve(&mut self, at: u64, len: u64) -> io::Result<()> {
        if at >= self.data { Ok(()) } else { self.file.reserve(at, len) }
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}

/// Opens the drive on `file`. Zeros that are written to it stay holes: nothing else may have been written before.
///
/// # Errors
/// Those of [`Drive::open`], and a drive that hosts have written to.
pub fn open(file: FileMedia, settings: &Settings) -> Result<Drive, DeviceError> {
    let data = settings.zones()?.data(0);
    let drive = Drive::open(Box::new(Hollow { file, data }), settings)?;
    if drive.moment() > 0 {
        return Err(invalid("the drive has a past already; hint: make a new one".into()));
    }
    Ok(drive)
}

/// Gives an empty `drive`, opened with [`open`], a past: its first pages, a `share` of them, get data in their order. Then
/// `writes` overwrites these `until` it ends. `is_over` is asked now and then, and ends the past early.
///
/// # Errors
/// A share or a workload that it cannot have, those of the medium.
pub fn age(
    drive: &mut Drive,
    share: f64,
    (writes, seed): (&GeneratorSpec, u64),
    until: Until,
    is_over: &dyn Fn() -> bool,
) -> Result<Aged, DeviceError> {
    let pages = (drive.pages() as f64 * share) as u32;
    if pages == 0 {
        return Err(invalid(format!("a share of {share} is no page of this drive")));
    }
    if writes.has_streams() {
        let text = "a past has no streams; hint: a workload without them";
        return Err(invalid(text.into()));
    }
    let mut past = Past { drive, is_over };
    past.fill(pages)?;
    let mut workload = writes.open(pages, seed).map_err(|error| invalid(error.to_string()))?;
    past.overwrite(workload.as_mut(), pages, until)
}

struct Past<'a> {
    drive: &'a mut Drive,
    is_over: &'a dyn Fn() -> bool,
}

impl Past<'_> {
    fn fill(&mut self, pages: u32) -> Result<(), DeviceError> {
        for page in 0..pages {
            self.drive.write(page.into(), &[0; PAGE], false)?;
        }
        self.account(pages.into());
        Ok(())
    }

    fn overwrite(
        &mut self,
        workload: &mut dyn Workload,
        pages: u32,
        until: Until,
    ) -> Result<Aged, DeviceError> {
        let mut aged = Aged { pages: pages.into(), ..Aged::default() };
        let all = match until {
            Until::Times(times) => (f64::from(pages) * times) as u64,
            Until::Settled => u64::from(pages) * u64::from(MOST),
        };
        let mut rounds = 0;
        while aged.overwritten < all && !(self.is_over)() {
            let count = u64::from(pages).min(all - aged.overwritten);
            let now = self.round(workload, count)?;
            let before = aged.write_amplification.replace(now);
            aged.overwritten += count;
            rounds += 1;
            let change = before.map_or(f64::INFINITY, |before| (now / before - 1.0).abs());
            aged.is_settled = change <= SETTLED;
            if until == Until::Settled && aged.is_settled && rounds >= LEAST {
                break;
            }
        }
        self.drive.flush()?;
        let counters = self.drive.stat().counters;
        Ok(Aged { copied: counters.copied_pages, erases: counters.erases, ..aged })
    }

    /// Writes `count` pages. Returns the write amplification.
    fn round(&mut self, workload: &mut dyn Workload, count: u64) -> Result<f64, DeviceError> {
        let before = self.drive.stat().counters;
        let (mut batch, mut left) = (Batch::default(), count);
        while left > 0 && !(self.is_over)() {
            batch.clear();
            let most = left.min(Batch::DEFAULT_LEN as u64) as usize;
            workload.fill(&mut batch, most).map_err(|error| invalid(error.to_string()))?;
            for (index, &page) in batch.pages.iter().enumerate() {
                match batch.ops.get(index) {
                    None | Some(Op::Write) => {
                        self.drive.write(page.into(), &[0; PAGE], false)?;
                        left -= 1;
                    }
                    Some(Op::Trim) => self.drive.trim(page.into(), 1)?,
                    Some(_) => {}
                }
            }
        }
        self.account(count - left);
        let now = self.drive.stat().counters;
        let host = now.host_pages - before.host_pages;
        let copied = now.copied_pages - before.copied_pages;
        Ok(1.0 + copied as f64 / host.max(1) as f64)
    }

    fn account(&mut self, pages: u64) {
        let usage = Usage { writes: pages, written_bytes: pages * PAGE as u64, ..Usage::default() };
        self.drive.account(&usage);
    }
}
