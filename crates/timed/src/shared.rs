//! The parts that the rooms of a timed drive share.

use flashgc_base::snapshot::State;
use flashgc_base::stream::StreamId;
use flashgc_drive::host_commands::HostCommands;
use flashgc_ftl::{FtlError, Stepwise};
use hashbrown::HashMap;

use super::clock::Clock;
use super::measure::SlcCounts;
use super::observer::{Observer, Source};
use super::ops::{Kind, MAP, NONE, Ops, PageOp};

/// The time, the map, the page operations under way, and the observer.
///
/// It owns the data that more than one room changes, and knows no room.
#[derive(State)]
pub struct Shared<O> {
    #[snapshot(state)]
    pub clock: Clock,
    #[snapshot(state)]
    pub map: Box<dyn Stepwise>,
    #[snapshot(state)]
    pub ops: Ops,
    #[snapshot(state)]
    pub observer: O,
    /// The hinted pages that the drive has not written since, each with the number of operations sent to
    /// dies by then.
    hinted: HashMap<u32, u64>,
    /// The counts of the host's writes that have their physical pages, without the reads.
    pub commands: HostCommands,
    /// The number of pages of the map that a flash page holds.
    #[snapshot(skip)]
    pub units_per_page: u32,
    /// The counts of the SLC region; `None` without one.
    pub slc: Option<SlcCounts>,
}

/// Returns `true` if the page at `ppn` of `map` lies in an SLC block.
#[inline]
pub fn in_slc(map: &dyn Stepwise, ppn: u32) -> bool {
    map.slc().is_some_and(|slc| slc.holds(ppn))
}

impl<O: Observer> Shared<O> {
    /// Returns time 0, with no operation under way.
    pub fn new(clock: Clock, map: Box<dyn Stepwise>, observer: O) -> Self {
        let units_per_page = map.buffer().units_per_page;
        Self {
            clock,
            map,
            ops: Ops::default(),
            observer,
            hinted: HashMap::new(),
            commands: HostCommands::default(),
            units_per_page,
            slc: None,
        }
    }

    /// Returns these parts with counts of an SLC region, if the drive has one.
    #[must_use]
    pub fn counting_slc(mut self, has_region: bool) -> Self {
        self.slc = has_region.then(SlcCounts::default);
        self
    }

    /// Returns the nanoseconds since the start.
    #[inline]
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Gives the writes of `page` from now on the stream `stream`.
    ///
    /// # Errors
    /// A page that the drive does not have.
    #[inline]
    pub fn name(&mut self, page: u32, stream: StreamId) -> Result<(), FtlError> {
        if let Some(streams) = self.map.streams() {
            streams.name(&[page], &[stream])?;
        }
        Ok(())
    }

    /// Takes a hint on `pages`: the host will write them anew after all writes that the drive has taken.
    ///
    /// # Errors
    /// A page that the drive does not have.
    pub fn tell(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        let Some(hints) = self.map.hints() else { return Ok(()) };
        hints.hint(pages)?;
        let since = self.ops.sent();
        self.hinted.extend(pages.iter().map(|&page| (page, since)));
        Ok(())
    }

    /// Takes a hint on `pages` back: the host will not write them, and the writes that the drive has
    /// taken make no zombies of them.
    ///
    /// # Errors
    /// A page that the drive does not have.
    pub fn take_back(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        let Some(hints) = self.map.hints() else { return Ok(()) };
        hints.cancel(pages)?;
        pages.iter().for_each(|&page| self.comes_true(page));
        Ok(())
    }

    /// Takes a hint on `pages`, which the host will write from now on. A drive without a use for hints
    /// drops it; its results then have no zombies.
    ///
    /// # Errors
    /// A page that the drive does not have.
    pub fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        match self.map.hints() {
            Some(hints) => hints.hint(pages),
            None => Ok(()),
        }
    }

    /// Takes a hint of this kind on `pages`.
    ///
    /// # Errors
    /// A page that the drive does not have.
    pub fn take(&mut self, kind: Kind, pages: &[u32]) -> Result<(), FtlError> {
        match kind {
            Kind::Tell => self.tell(pages),
            Kind::Clean => self.take_back(pages),
            _ => self.hint(pages),
        }
    }

    /// Notes that a hint on `page` has come, and waits until the map says where the page lies.
    pub fn expect(&mut self, page: u32) {
        self.hinted.insert(page, self.ops.sent());
    }

    /// Returns `true` if the write that a hint on `page` announced has not come.
    pub fn is_expected(&self, page: u32) -> bool {
        self.hinted.contains_key(&page)
    }

    /// Takes a hint that has waited for its map entry, unless the write that it announced was faster.
    pub fn take_late(&mut self, kind: Kind, page: u32) {
        if kind != Kind::Tell || self.hinted.contains_key(&page) {
            let taken = self.take(kind, &[page]);
            debug_assert!(taken.is_ok(), "a page with a map entry is one of the drive");
        }
    }

    /// Returns `true` if the page at `ppn` is the last of its flash page, which is programmed with it.
    #[inline]
    pub fn fills_its_page(&self, ppn: u32) -> bool {
        self.units_per_page == 1 || self.map.unit_in_page(ppn) + 1 == self.units_per_page
    }

    /// Returns the place of a read's data, if there are any.
    #[inline]
    pub fn reads(&mut self, op: u32) -> Option<u32> {
        let PageOp { page, is_merged, .. } = self.ops[op];
        let from = self.map.locate(page);
        if !is_merged {
            self.observer.read(self.ops.number(op), page, from);
        }
        from
    }

    /// Notes if `op`, which reads its page from the cells, reads an SLC block.
    #[inline]
    pub fn notes_read(&mut self, op: u32) {
        let Some(counts) = &mut self.slc else { return };
        let PageOp { page, kind, .. } = self.ops[op];
        let in_slc = self.map.locate(page).is_some_and(|ppn| in_slc(&*self.map, ppn));
        self.ops[op].in_slc = in_slc;
        counts.reads += u64::from(in_slc && kind == Kind::Read);
    }

    /// Notes if `op`, a write, has its place in an SLC block. Pages of a map on flash never do, and are not
    /// those of the host.
    #[inline]
    pub fn notes_write(&mut self, op: u32, ppn: u32) {
        let Some(counts) = self.slc.as_mut().filter(|_| self.ops[op].request != MAP) else {
            return;
        };
        let in_slc = in_slc(&*self.map, ppn);
        self.ops[op].in_slc = in_slc;
        counts.host_pages += u64::from(in_slc);
        counts.direct_pages += u64::from(!in_slc);
    }

    /// Ends the hint on `page`, which has come true or is taken back.
    #[inline]
    pub fn comes_true(&mut self, page: u32) {
        if !self.hinted.is_empty() {
            self.hinted.remove(&page);
        }
    }

    /// Notes that a write has its physical page, `ppn`. Its data will soon be dead if the host gave a
    /// hint on its page when it was under way.
    ///
    /// # Errors
    /// The errors of the map.
    #[inline(always)]
    pub fn has_its_page(&mut self, op: u32, ppn: u32) -> Result<(), FtlError> {
        debug_assert!(!self.ops[op].is_programmed, "a write is programmed once");
        self.ops[op].is_programmed = true;
        let PageOp { page, order, request, missing, .. } = self.ops[op];
        if missing > 0 {
            self.commands.short_writes += 1;
            self.commands.missing_bytes += u64::from(missing);
        }
        self.observer.programmed(page, ppn, Source::Host(self.ops.number(op)));
        if self.hinted.is_empty() {
            return Ok(());
        }
        match self.hinted.get(&page) {
            Some(&since) if order < since || request == NONE => self.hint(&[page])?,
            Some(_) => self.comes_true(page),
            None => {}
        }
        Ok(())
    }
}
