//! The times that the cells work on a job, if they depend on the page. They may depend on the
//! page's number in its block, on the block's erases and age, and on whether the block is an SLC
//! block. Pages that are read or programmed together take the time of the slowest.
//!
//! The scheduler asks the map for the place of a job, and `CellTimes::of_page` for its time. If all
//! pages take the same time, this file is not used.

use flashgc_base::snapshot::State;
use flashgc_ftl::Stepwise;
use hashbrown::HashMap;

use super::Scheduler;
use crate::collector::Collector;
use crate::config::{Rows, Settings};
use crate::flash::{Job, Site};
use crate::observer::Observer;
use crate::ops::{Kind, Ops};
use crate::shared::{Shared, in_slc};

/// The facts about the places of jobs that the map does not know.
#[derive(State)]
pub(super) struct Sites {
    /// The time at which the first page of each block was programmed last, in nanoseconds; empty if
    /// no job's time depends on the age.
    since: Vec<u64>,
    /// The flash pages that each flush still has to program, each by the place of its first unit.
    flushes: HashMap<u32, Vec<u32>>,
    #[snapshot(skip)]
    blocks_per_plane: u32,
    #[snapshot(skip)]
    units_per_page: u32,
    #[snapshot(skip)]
    units_per_program: u32,
    /// The places of pages in superblocks that join dies; `None` if each die has its own blocks.
    #[snapshot(skip)]
    rows: Option<Rows>,
    /// The places of pages in superblocks of one die.
    #[snapshot(skip)]
    alone: Rows,
}

impl Sites {
    pub(super) fn new(settings: &Settings, map: &dyn Stepwise) -> Self {
        let blocks = map.geometry().blocks();
        let ages = settings.details.retry.is_some_and(|rule| rule.age_ns.is_some());
        Self {
            since: vec![0; if ages { blocks as usize } else { 0 }],
            flushes: HashMap::new(),
            blocks_per_plane: blocks / map.planes(),
            units_per_page: settings.hardware.units_per_page,
            units_per_program: settings.hardware.units_per_program(),
            rows: Some(Rows::new(&settings.hardware)).filter(Rows::are_wide),
            alone: Rows::new(&settings.hardware),
        }
    }

    /// Notes that the flush `op` will program the flash page whose first unit is at `ppn`.
    pub(super) fn flushes(&mut self, op: u32, ppn: u32) {
        self.flushes.entry(op).or_default().push(ppn);
    }

    /// Returns the next flash page that the flush `op` programs, if it is noted.
    pub(super) fn flushed_next(&self, op: u32) -> Option<u32> {
        self.flushes.get(&op).and_then(|pages| pages.last().copied())
    }

    /// Takes the next flash page that the flush `op` programs.
    pub(super) fn next_of(&mut self, op: u32) -> Option<u32> {
        let pages = self.flushes.get_mut(&op)?;
        let next = pages.pop();
        if pages.is_empty() {
            self.flushes.remove(&op);
        }
        next
    }

    /// Returns the site of the page at `ppn`, whose number in its block is given if it is known. A job programs
    /// it now if `programs`, else reads it.
    pub(super) fn at(
        &mut self,
        map: &dyn Stepwise,
        (ppn, page): (u32, Option<u32>),
        now: u64,
        programs: bool,
    ) -> Site {
        let (block, offset) = map.geometry().place_of(ppn);
        let smaller = map.smaller(block);
        let page = page.unwrap_or_else(|| match (self.rows, smaller) {
            (Some(rows), smaller) => rows.of(smaller).page(offset),
            (None, Some(smaller)) => self.alone.of(Some(smaller)).page(offset),
            (None, None) => offset / self.units_per_page,
        });
        let is_first =
            smaller.map_or(offset < self.units_per_program, |it| it.program(offset).0 == 0);
        let erases = map.blocks(map.plane_of(ppn)).erase_counts();
        let erases = erases[(block % self.blocks_per_plane) as usize];
        let since = self.since.get_mut(block as usize);
        let age_ns = since.map_or(0, |since| {
            if programs && is_first {
                *since = now;
            }
            now - *since
        });
        Site { page, erases, age_ns }
    }
}

impl Scheduler {
    /// Returns the time of a job in nanoseconds, by the place of its page. With several pages it is
    /// the time of the slowest.
    #[inline(never)]
    pub(super) fn cell_time_by_site<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        die: u32,
        job: Job,
    ) -> u64 {
        let Shared { ops, map, .. } = shared;
        let Self { sites, flash, collector, .. } = self;
        let op = job.op();
        let flush = op.filter(|&op| ops[op].kind == Kind::Flush);
        let site = flush.and_then(|flush| sites.next_of(flush));
        if let Some(time) = flash.times().of_slc(job) {
            let is_in_slc = match site {
                Some(flushed) => in_slc(&**map, flushed),
                None => is_in_slc(ops, collector, die, job),
            };
            if is_in_slc {
                return time;
            }
        }
        let mut time = |ppn: u32| {
            let site = sites.at(&**map, (ppn, None), shared.clock.now(), job.programs());
            flash.times().of_page(job, &site)
        };
        if let Some(ppn) = site {
            return time(ppn);
        }
        if op.is_none() {
            return collector.sites(die).map(time).max().unwrap_or_else(|| flash.times().of(job));
        }
        // A page that is in the page buffer does not count, as the cells do not work on it.
        let on_flash = |op| map.locate(ops[op].page).filter(|&ppn| !map.is_buffered(ppn));
        let together = op.into_iter().flat_map(|first| ops.chain(first));
        together.filter_map(on_flash).map(time).max().unwrap_or_else(|| flash.times().of(job))
    }
}

/// Returns `true` if a job works on an SLC block. Operations that are served together do so only if
/// all of them are in SLC blocks. A fold reads and erases an SLC block, and programs a normal one.
fn is_in_slc(ops: &Ops, collector: &Collector, die: u32, job: Job) -> bool {
    match job.op() {
        Some(op) => ops.chain(op).all(|op| ops[op].in_slc),
        None => {
            let folds = collector.on(die).is_some_and(|collection| collection.folds);
            folds && matches!(job, Job::CopyRead | Job::Erase)
        }
    }
}
