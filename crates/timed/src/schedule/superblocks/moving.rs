//! Collections of superblocks over several dies. The valid pages of the victim are read ahead, several
//! at a time, and get their new places in the order of copies, as on a drive without a
//! clock. Then the collection is over for the map, and every die erases its block after its copies. No
//! die programs a block before it has erased it. Without power protection, all copies are programmed
//! before the first erase.

use std::collections::VecDeque;

use flashgc_base::snapshot::Value;
use flashgc_drive::error::DriveError;
use flashgc_ftl::stepwise::Move;

use super::filling::MOST_WAITING;
use super::{Erase, Scheduler};
use crate::flash::Job;
use crate::observer::{Observer, Source};
use crate::ops::NONE;
use crate::shared::Shared;

/// A collection reads ahead as many flash pages as these programs have on all dies.
const PROGRAMS_AHEAD: u32 = 4;

/// The progress of the collection of a plane of the map.
#[derive(Clone, Debug, Default, Value)]
pub(super) struct Relocation {
    /// The flash pages that are to be read or are read, in the order of copies, by the place of
    /// their first unit; `true` if the page is read.
    ahead: VecDeque<(u32, bool)>,
    /// The place in the order of copies from which the next page to read is searched.
    next: u32,
    /// The page that gets its new place next, if it is known.
    moving: Option<Move>,
    /// The die whose program was filled last with copies.
    pub(super) last: Option<u32>,
    /// The programs of copies and their parity that are full and not over.
    pub(super) copies: u32,
}

impl Scheduler {
    /// Begins the collection of `plane`, which has its victim.
    pub(super) fn begin_moves<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        plane: u32,
    ) -> Result<(), DriveError> {
        let relocation = &mut self.superblocks().moving[plane as usize];
        debug_assert!(relocation.ahead.is_empty());
        (relocation.next, relocation.moving) = (0, None);
        self.go_on_moving(shared, plane)
    }

    /// Lets the collection of `plane` go on as far as it can: pages are to be read, pages that are read
    /// get their new places, and at the end the dies erase their blocks.
    fn go_on_moving<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        plane: u32,
    ) -> Result<(), DriveError> {
        while self.collector.is_under_way(plane) {
            self.read_ahead(shared, plane);
            let relocation = &mut self.superblocks().moving[plane as usize];
            let moving = relocation.moving.take().or_else(|| shared.map.next_move(plane));
            let Some(moving) = moving else { return self.end_moves(shared, plane) };
            let page = moving.from - shared.map.unit_in_page(moving.from);
            let superblocks = self.superblocks();
            let relocation = &mut superblocks.moving[plane as usize];
            // Pages whose data have all died since they were to be read are passed over.
            while relocation.ahead.front().is_some_and(|&(ahead, _)| ahead != page) {
                relocation.ahead.pop_front();
            }
            let is_read = match relocation.ahead.front() {
                Some(&(_, is_read)) => is_read,
                None => {
                    // The search for pages to read was full of such pages.
                    relocation.moving = Some(moving);
                    continue;
                }
            };
            let last = relocation.last.filter(|_| is_read);
            let waits =
                last.is_some_and(|die| superblocks.lines[die as usize].copies.len() > MOST_WAITING);
            if !is_read || waits {
                superblocks.moving[plane as usize].moving = Some(moving);
                return Ok(());
            }
            if let Some(ppn) = shared.map.copy(plane)? {
                shared.observer.programmed(moving.page, ppn, Source::Copy(moving.from));
                self.collector.count_copy(plane);
                if shared.fills_its_program(ppn) {
                    let first = ppn - shared.map.unit_in_program(ppn);
                    let number = self.collector.on(plane).map(|collection| collection.number);
                    self.program_is_full(shared, first, Some(moving.page), NONE, number);
                }
            }
        }
        Ok(())
    }

    /// Lets flash pages of the victim be read, until enough are ahead.
    fn read_ahead<O: Observer>(&mut self, shared: &Shared<O>, plane: u32) {
        let pages = self.units_per_program / self.units_per_page;
        let Self { superblocks: Some(superblocks), ready, .. } = self else { return };
        let rows = superblocks.rows;
        let most = (PROGRAMS_AHEAD * pages * rows.dies_together()) as usize;
        while superblocks.moving[plane as usize].ahead.len() < most {
            let next = superblocks.moving[plane as usize].next;
            let Some((page, behind)) = shared.map.next_live_page(plane, next) else { return };
            let (block, offset) = shared.map.geometry().place_of(page);
            let places = rows.of(shared.map.smaller(block));
            let die = rows.die(plane, places.member(offset));
            let at_hand = superblocks.holds(&*shared.map, page);
            let relocation = &mut superblocks.moving[plane as usize];
            relocation.ahead.push_back((page, at_hand));
            relocation.next = behind;
            if at_hand {
                continue; // its program is not over, so the data are in the buffer
            }
            let line = &mut superblocks.lines[die as usize];
            line.awaits(shared.ops.sent());
            line.reads.push_back(page);
            ready.add(die);
        }
    }

    /// Ends a collection whose victim has no valid page left: the dies erase their blocks. Begins the next
    /// collection if there are still too few erased blocks. If the buffer is not protected, the copies are
    /// programmed before that.
    fn end_moves<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        plane: u32,
    ) -> Result<(), DriveError> {
        let collection = self.collector.on(plane).map_or(0, |collection| collection.number);
        let is_protected = shared.map.buffer().is_protected;
        while !is_protected && let Some(first) = shared.map.program_copies(plane) {
            self.program_is_full(shared, first, None, NONE, Some(collection));
        }
        let victim = shared.map.victim(plane);
        let first = victim.map_or(0, |block| shared.map.geometry().ppn(block, 0));
        let Self { superblocks: Some(superblocks), ready, .. } = self else { return Ok(()) };
        let relocation = &mut superblocks.moving[plane as usize];
        if relocation.copies > 0 && !is_protected {
            return Ok(());
        }
        relocation.ahead.clear();
        let places = superblocks.rows.of(victim.and_then(|block| shared.map.smaller(block)));
        let rows = superblocks.rows;
        for member in (0..rows.dies_together()).filter(|&member| places.have(member)) {
            let die = rows.die(plane, member);
            let turn = superblocks.take_turn();
            let line = &mut superblocks.lines[die as usize];
            line.reads.clear(); // pages that have died need no read
            line.awaits(shared.ops.sent());
            line.erases.push_back(Erase { first, collection, turn });
            ready.add(die);
        }
        self.collector.erases(plane);
        let (_, begun) = self.collector.end(shared, plane, false)?;
        match begun {
            Some(_) => self.begin_moves(shared, plane),
            None => Ok(()),
        }
    }

    /// Begins the next step of a collection that waits at a die.
    pub(super) fn begin_step<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<(), DriveError> {
        let step = self.next_step(die);
        self.tell_begin(shared, die);
        let line = &mut self.superblocks().lines[die as usize];
        line.mark = shared.ops.sent();
        match step {
            Some(Job::CopyWrite) => self.begin_next_copy(shared, die),
            Some(Job::Erase) => {
                let erase = *line.erases.front().expect("an erase waits");
                let block = |ppn| shared.map.geometry().place_of(ppn).0;
                debug_assert!(
                    line.programs.iter().chain(&line.copies).all(|program| {
                        program.turn > erase.turn || block(program.first) != block(erase.first)
                    }),
                    "a block is erased after its last program"
                );
                debug_assert!(
                    !self.rebuilds_before_erase(shared, die),
                    "a block is erased after its last read"
                );
                self.begin_at(shared, die, Job::Erase, erase.first);
                Ok(())
            }
            Some(Job::CopyRead) => {
                let page = line.reads.pop_front().expect("a page is to be read");
                line.reading.push_back(page);
                let units = shared.map.units_to_read(page);
                if units == 0 {
                    return self.page_is_read(shared, die); // all its data have died
                }
                self.flash.set_copy_units(die, units);
                self.begin_at(shared, die, Job::CopyRead, page);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Reports to the observer that a collection begins on a die, with its first step there.
    fn tell_begin<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) {
        let superblocks = self.superblocks.as_ref().expect("superblocks join dies");
        let plane = superblocks.rows.plane_of(die);
        let line = &superblocks.lines[die as usize];
        if line.told.is_some() {
            return;
        }
        // The copies and the erase of a collection may begin after it is over for the map.
        let erase = line.erases.front().map(|erase| erase.collection);
        let now = || self.collector.on(plane).map(|collection| collection.number);
        let Some(number) = erase.or_else(now) else { return };
        shared.observer.collection(shared.clock.now(), die, number, true);
        self.superblocks().lines[die as usize].told = Some(number);
    }

    /// Notes that a die has erased its block of a victim: the collection is over there.
    pub(super) fn block_is_erased<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) {
        let line = &mut self.superblocks().lines[die as usize];
        line.erases.pop_front();
        if let Some(number) = line.told.take() {
            shared.observer.collection(shared.clock.now(), die, number, false);
        }
    }

    /// Begins the next program of copies that waits at a die.
    fn begin_next_copy<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<(), DriveError> {
        let superblocks = self.superblocks();
        let plane = superblocks.rows.plane_of(die);
        let line = &mut superblocks.lines[die as usize];
        let program = line.copies.pop_front().expect("a program of copies waits");
        self.begin_program(shared, die, program, Job::CopyWrite);
        self.go_on_moving(shared, plane)
    }

    /// Notes that a die has read a page for the collection.
    pub(super) fn page_is_read<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<(), DriveError> {
        let superblocks = self.superblocks();
        let plane = superblocks.rows.plane_of(die);
        let page = superblocks.lines[die as usize].reading.pop_front().expect("a page is read");
        let ahead = &mut superblocks.moving[plane as usize].ahead;
        if let Some(entry) = ahead.iter_mut().find(|entry| entry.0 == page) {
            entry.1 = true;
        }
        self.go_on_moving(shared, plane)
    }

    /// Notes that a die has programmed copies or their parity.
    pub(super) fn copies_are_programmed<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<(), DriveError> {
        let program = self.end_program(die);
        let plane = shared.map.plane_of(program.first);
        self.superblocks().moving[plane as usize].copies -= 1;
        self.go_on_moving(shared, plane)
    }
}
