//! A past for a new drive: data that nobody needs, overwritten until the drive has settled.
//!
//! All pages are zeros and stay holes in the drive's file. So a past takes only the room of its
//! records, also in a copy of the file that keeps holes.

use std::io;

use flashgc_drive::preparation::Preparation;
use flashgc_drive::settling::Reach;
use flashgc_drive::stats::Interval;
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::{Batch, Op, Workload};

use crate::engine::Backend;
use crate::engine::Drive;
use crate::error::DeviceError;
use crate::layout::PAGE;
use crate::media::{FileMedia, Media};
use crate::settings::{Settings, invalid};
use crate::usage::Usage;

/// The most times that the data are overwritten while the drive has not settled.
const MOST: u64 = 40;

/// The end of the overwrites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// The data have been overwritten the given number of times.
    Times(f64),
    /// Write amplification has settled by the rule of [`Preparation`]. The data are overwritten 5,
    /// 10, 20 or 40 times.
    Settled,
}

/// The effects of a past on the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Aged {
    /// The number of pages with data.
    pub pages: u64,
    /// The number of page overwrites. A page counts each time.
    pub overwritten: u64,
    /// Write amplification of the second half of the overwrites; `None` if nothing was overwritten.
    pub write_amplification: Option<f64>,
    /// The number of pages that collections copied.
    pub copied: u64,
    /// The number of blocks that were erased.
    pub erases: u64,
    /// `true` if write amplification had settled by the end of the past.
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
        // Only zeros were ever written there, so the range is a hole already.
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

/// Opens the drive on `file`. Pages of zeros stay holes, so no other data may have been written
/// before.
///
/// # Errors
/// The errors of [`Drive::open`], and a drive that hosts have written to.
pub fn open(file: FileMedia, settings: &Settings) -> Result<Drive, DeviceError> {
    let data = settings.zones()?.data(0);
    let drive = Drive::open(Box::new(Hollow { file, data }), settings)?;
    if drive.moment() > 0 {
        return Err(invalid("the drive has a past already; hint: make a new one".into()));
    }
    Ok(drive)
}

/// Gives an empty `drive`, opened with [`open`] and the same settings, a past. First a `share` of
/// its pages, from page 0 on, get data in their order. Then the workload `writes` overwrites them,
/// up to the end that `until` names. `is_over` is called now and then with the number of page
/// writes done, and the number of all page writes planned so far. If it returns true, the past ends
/// early.
///
/// # Errors
/// A share or a workload that the drive cannot have, errors of the medium.
pub fn age(
    drive: &mut Drive,
    settings: &Settings,
    share: f64,
    (writes, seed): (&GeneratorSpec, u64),
    until: Until,
    is_over: &dyn Fn(u64, u64) -> bool,
) -> Result<Aged, DeviceError> {
    let pages = (drive.pages() as f64 * share) as u32;
    if pages == 0 {
        return Err(invalid(format!("a share of {share} is no page of this drive")));
    }
    if writes.has_streams() {
        let text = "a past has no streams; hint: a workload without them";
        return Err(invalid(text.into()));
    }
    let layout = &settings.layout;
    let workload = writes.open_sized(pages, PAGE as u32, PAGE as u32, seed);
    let mut workload = workload.map_err(|error| invalid(error.to_string()))?;
    let reach = Reach::beyond(layout.placement.remembers(&layout.geometry));
    let course = Preparation::new(pages);
    Past { drive, reach, pages, course, is_over }.live(workload.as_mut(), until)
}

struct Past<'a> {
    drive: &'a mut Drive,
    reach: Reach,
    /// The number of pages with data.
    pages: u32,
    course: Preparation,
    is_over: &'a dyn Fn(u64, u64) -> bool,
}

impl Past<'_> {
    fn live(mut self, workload: &mut dyn Workload, until: Until) -> Result<Aged, DeviceError> {
        let mut target = match until {
            Until::Times(times) => (f64::from(self.pages) * times) as u64,
            Until::Settled => self.course.next_look(),
        };
        self.fill(target)?;
        let mut is_whole = self.write(workload, target)?;
        let most = MOST * u64::from(self.pages);
        while until == Until::Settled
            && is_whole
            && self.course.next_look() <= most
            && !self.course.has_settled(self.reach)
        {
            target = self.course.next_look();
            is_whole = self.write(workload, target)?;
        }
        self.drive.flush()?;
        let counters = self.drive.stat().counters;
        Ok(Aged {
            pages: self.pages.into(),
            overwritten: self.course.written(),
            write_amplification: self.course.level().map(|level| level.mean),
            copied: counters.copied_pages,
            erases: counters.erases,
            is_settled: self.course.has_settled(self.reach),
        })
    }

    /// Writes each page once; `due` overwrites will follow.
    fn fill(&mut self, due: u64) -> Result<(), DeviceError> {
        let mut filled = 0;
        while filled < self.pages && !self.is_over(filled.into(), due) {
            let until = self.pages.min(filled + Batch::DEFAULT_LEN as u32);
            for page in filled..until {
                self.drive.write(page.into(), &[0; PAGE], false)?;
            }
            filled = until;
        }
        self.account(filled.into());
        Ok(())
    }

    fn is_over(&self, done: u64, due: u64) -> bool {
        (self.is_over)(done, due + u64::from(self.pages))
    }

    /// Writes until `target` pages were overwritten. Returns `false` if `is_over` ended it before.
    fn write(&mut self, workload: &mut dyn Workload, target: u64) -> Result<bool, DeviceError> {
        let mut batch = Batch::default();
        let mut is_over = false;
        while self.course.written() < target && !is_over {
            let before = self.drive.stat().counters.copied_pages;
            let written = self.course.written();
            let count = self.course.interval().min(target - written);
            let mut done = 0;
            while done < count && !is_over {
                batch.clear();
                let most = (count - done).min(Batch::DEFAULT_LEN as u64) as usize;
                workload.fill(&mut batch, most).map_err(|error| invalid(error.to_string()))?;
                self.course.touched().add(&batch);
                done += self.execute(&batch)?;
                is_over = self.is_over(u64::from(self.pages) + written + done, target);
            }
            self.account(done);
            let copied = self.drive.stat().counters.copied_pages - before;
            self.course.add(Interval::of_pages(done, done + copied));
        }
        Ok(!is_over)
    }

    /// Executes the writes and trims of `batch`. Returns the number of writes.
    fn execute(&mut self, batch: &Batch) -> Result<u64, DeviceError> {
        let mut writes = 0;
        for (index, &page) in batch.pages.iter().enumerate() {
            match batch.ops.get(index) {
                None | Some(Op::Write) => {
                    self.drive.write(page.into(), &[0; PAGE], false)?;
                    writes += 1;
                }
                Some(Op::Trim) => self.drive.trim(page.into(), 1)?,
                Some(_) => {}
            }
        }
        Ok(writes)
    }

    fn account(&mut self, pages: u64) {
        let usage = Usage { writes: pages, written_bytes: pages * PAGE as u64, ..Usage::default() };
        self.drive.account(&usage);
    }
}
