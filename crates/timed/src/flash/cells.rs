//! How long the cells work on a job.

use super::{Flash, Job};
use crate::config::{Hardware, ReadRetry, Settings, Slc};
use crate::page_times::PageTimes;

/// The flash page that a job works on, as far as its time depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Its number in its block.
    pub page: u32,
    /// Erases of its block.
    pub erases: u32,
    /// How long its data have been there.
    pub age_ns: u64,
}

/// The times of the cells: those of the hardware, and how they differ from page to page.
pub struct CellTimes {
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    pages: Option<(PageTimes, PageTimes)>,
    retry: Option<ReadRetry>,
    /// The times of SLC cells, which are alike and need no retries; `None` where there are none.
    slc: Option<Slc>,
    /// Copies stay in their die: no controller sees their errors.
    copies_back: bool,
}

impl CellTimes {
    pub fn new(settings: &Settings) -> Self {
        let Hardware { read_ns, program_ns, erase_ns, .. } = settings.hardware;
        let (details, slc) = (&settings.details, settings.slc);
        Self {
            read_ns,
            program_ns,
            erase_ns,
            pages: details.pages,
            retry: details.retry,
            slc,
            copies_back: settings.collecting.copy_back,
        }
    }
}

impl Flash {
    /// Whether a job takes as long on any page.
    #[inline]
    pub fn is_uniform(&self) -> bool {
        self.is_uniform
    }

    /// How long the cells work on a job, on pages that are all alike.
    #[inline]
    pub fn cell_time(&self, job: Job) -> u64 {
        match job {
            Job::Erase => self.times.erase_ns,
            job if job.programs() => self.times.program_ns,
            _ => self.times.read_ns,
        }
    }

    /// The same in an SLC block.
    pub fn slc_time(&self, job: Job) -> Option<u64> {
        self.times.slc.map(|slc| match job {
            Job::Erase => slc.erase_ns,
            job if job.programs() => slc.program_ns,
            _ => slc.read_ns,
        })
    }

    /// The same on this page. A read is repeated as often as its block and its data need.
    pub fn cell_time_at(&self, job: Job, site: &Site) -> u64 {
        let CellTimes { pages, retry, copies_back, .. } = &self.times;
        let once = match (job, pages) {
            (Job::Erase, _) | (_, None) => self.cell_time(job),
            (job, Some((_, programs))) if job.programs() => programs.of(site.page),
            (_, Some((reads, _))) => reads.of(site.page),
        };
        let is_corrected = match job {
            Job::Read(_) | Job::ModifyRead(_) => true,
            Job::CopyRead => !copies_back,
            _ => false,
        };
        let retries =
            retry.filter(|_| is_corrected).map_or(0, |it| it.retries(site.erases, site.age_ns));
        once * (1 + retries)
    }
}
