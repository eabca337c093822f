//! The parts that the rooms of a timed drive share.

use flashgc_base::snapshot::State;
use flashgc_base::stream::StreamId;
use flashgc_drive::host_commands::HostCommands;
use flashgc_ftl::{FtlError, Programs, Stepwise};
use hashbrown::HashMap;

use super::clock::Clock;
use super::measure::SlcCounts;
use super::observer::{Observer, Source};
use super::ops::{Kind, MAP, NONE, Ops, PageOp};

/// The clock, the map, the page operations under way, and the observer.
///
/// It owns the data that more than one room changes. It does not know the rooms.
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
    /// The pages with a hint whose announced write has not come yet, each with the number of
    /// operations that had been sent to dies when the hint came. An operation that was sent before
    /// the hint is not the announced write.
    hinted: HashMap<u32, u64>,
    /// The counts of the host's commands, without the reads. A write is counted when it has its
    /// physical page.
    pub commands: HostCommands,
    /// The pages of the map that are programmed together, on a drive whose superblocks keep their size.
    #[snapshot(skip)]
    programs: Programs,
    /// `true` if superblocks go on without their bad blocks.
    #[snapshot(skip)]
    pub shrinks: bool,
    /// The counts of the SLC region; `None` without one.
    pub slc: Option<SlcCounts>,
}

/// Returns `true` if the page at `ppn` of `map` lies in an SLC block.
#[inline]
pub fn in_slc(map: &dyn Stepwise, ppn: u32) -> bool {
    map.slc().is_some_and(|slc| slc.holds(ppn))
}

impl<O: Observer> Shared<O> {
    /// Returns the shared parts of a drive without operations under way.
    pub fn new(clock: Clock, map: Box<dyn Stepwise>, observer: O) -> Self {
        let programs = map.buffer().programs();
        let shrinks = map.wear().is_some_and(|wear| wear.shrinks());
        Self {
            clock,
            map,
            ops: Ops::default(),
            observer,
            hinted: HashMap::new(),
            commands: HostCommands::default(),
            programs,
            shrinks,
            slc: None,
        }
    }

    /// Returns these parts, with counts of the SLC region if `has_region`.
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

    /// Sets the stream for all writes of `page` from now on.
    ///
    /// # Errors
    /// The page does not exist.
    #[inline]
    pub fn name(&mut self, page: u32, stream: StreamId) -> Result<(), FtlError> {
        if let Some(streams) = self.map.streams() {
            streams.name(&[page], &[stream])?;
        }
        Ok(())
    }

    /// Takes a hint on `pages`: the host will overwrite them, after all writes that the drive has
    /// taken so far.
    ///
    /// # Errors
    /// A page does not exist.
    pub fn tell(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        let Some(hints) = self.map.hints() else { return Ok(()) };
        hints.hint(pages)?;
        let since = self.ops.sent();
        self.hinted.extend(pages.iter().map(|&page| (page, since)));
        Ok(())
    }

    /// Takes back hints on `pages`: the host will not overwrite these pages. They are then no
    /// zombies, and writes of them that are under way do not become zombies.
    ///
    /// # Errors
    /// A page does not exist.
    pub fn take_back(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        let Some(hints) = self.map.hints() else { return Ok(()) };
        hints.cancel(pages)?;
        pages.iter().for_each(|&page| self.comes_true(page));
        Ok(())
    }

    /// Takes a hint on `pages`: the host will overwrite their present data. A drive that does not
    /// use hints drops it; its results then have no zombies.
    ///
    /// # Errors
    /// A page does not exist.
    pub fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        match self.map.hints() {
            Some(hints) => hints.hint(pages),
            None => Ok(()),
        }
    }

    /// Takes a hint on `pages`, or takes hints on them back, as `kind` says.
    ///
    /// # Errors
    /// A page does not exist.
    pub fn take(&mut self, kind: Kind, pages: &[u32]) -> Result<(), FtlError> {
        match kind {
            Kind::Tell => self.tell(pages),
            Kind::Clean => self.take_back(pages),
            _ => self.hint(pages),
        }
    }

    /// Notes that a hint on `page` has come. The map gets the hint later, when the map entry of the
    /// page is in memory.
    pub fn expect(&mut self, page: u32) {
        self.hinted.insert(page, self.ops.sent());
    }

    /// Returns `true` if a hint on `page` has announced a write that has not come yet.
    pub fn is_expected(&self, page: u32) -> bool {
        self.hinted.contains_key(&page)
    }

    /// Takes a hint that has waited for its map entry, unless the write that it announces has come
    /// already.
    pub fn take_late(&mut self, kind: Kind, page: u32) {
        if kind != Kind::Tell || self.hinted.contains_key(&page) {
            let taken = self.take(kind, &[page]);
            debug_assert!(taken.is_ok(), "a page with a map entry is one of the drive");
        }
    }

    /// Returns the number of pages that are programmed together at `ppn`.
    #[inline]
    pub fn units_of_program(&self, ppn: u32) -> u32 {
        match self.programs {
            Programs { units_per_program: 1, .. } => 1,
            Programs { units_per_program, part_parity: None, .. }
                if self.slc.is_none() && !self.shrinks =>
            {
                units_per_program
            }
            _ => self.map.units_of_program(ppn),
        }
    }

    /// Returns `true` if the page at `ppn` is the last one of those that are programmed together.
    #[inline]
    pub fn fills_its_program(&self, ppn: u32) -> bool {
        let all = self.units_of_program(ppn);
        all == 1 || self.map.unit_in_program(ppn) + 1 == all
    }

    /// Returns the physical place of the data of read `op`; `None` if the page has no data. Reports
    /// the read to the observer.
    #[inline]
    pub fn reads(&mut self, op: u32) -> Option<u32> {
        let PageOp { page, is_merged, .. } = self.ops[op];
        let from = self.map.locate(page);
        if !is_merged {
            self.observer.read(self.ops.number(op), page, from);
        }
        from
    }

    /// Notes whether `op` reads its page from the cells of an SLC block. Counts a read of the host
    /// that does.
    #[inline]
    pub fn notes_read(&mut self, op: u32) {
        let Some(counts) = &mut self.slc else { return };
        let PageOp { page, kind, .. } = self.ops[op];
        let in_slc = self.map.locate(page).is_some_and(|ppn| in_slc(&*self.map, ppn));
        self.ops[op].in_slc = in_slc;
        counts.reads += u64::from(in_slc && kind == Kind::Read);
    }

    /// Notes whether the place `ppn` of write `op` is in an SLC block, and counts the write.
    /// Translation pages are never written to SLC blocks, and are not counted.
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

    /// Ends the hint on `page`, as the announced write has come or the hint is taken back.
    #[inline]
    pub fn comes_true(&mut self, page: u32) {
        if !self.hinted.is_empty() {
            self.hinted.remove(&page);
        }
    }

    /// Notes that a write has its physical page, `ppn`. If the host gave a hint on the page while
    /// the write was under way, the hint applies to the write's data.
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
