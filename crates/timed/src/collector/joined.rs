//! Collections on several planes of a die that go together.
//!
//! With multi-plane operations a collection takes, besides its own plane, the other planes of its die
//! that have few erased blocks. It is still one collection of the die: its reads, programs and erases
//! on these planes are one operation of the die each. A plane whose copies fill a program waits until
//! those of the other planes fill theirs, or have no page left. This wait ends before an operation of
//! the host is served. A plane without pages left waits for the others, as blocks are erased together.

use flashgc_base::snapshot::Value;
use flashgc_drive::error::DriveError;
use flashgc_ftl::FoldOf;
use flashgc_ftl::stepwise::Move;

use super::moves::{Collection, Point, Step, place};
use super::{Collector, Goal};
use crate::flash::Job;
use crate::observer::Observer;
use crate::ops::NONE;
use crate::shared::Shared;

/// The progress of a collection on one of its planes.
#[derive(Clone, Debug, Default, Value)]
pub(super) struct Member {
    moving: Option<Move>,
    /// The physical place that the last job on the plane worked on: a unit of its flash page, or for an
    /// erase the first unit of the block.
    site: u32,
    /// `true` if the present job of the die works on the plane.
    works: bool,
    /// `true` if copies fill a program that has not begun.
    is_full: bool,
    /// `true` if the victim has no valid page left.
    is_over: bool,
}

impl Collector {
    /// Returns the planes on which the collection of a die works, if there are several.
    pub(super) fn members(&self, die: u32) -> impl Iterator<Item = (u32, &Member)> {
        let all = if self.joins { self.units.planes_of_die(die) } else { 0..0 };
        all.filter_map(|plane| self.members[plane as usize].as_ref().map(|member| (plane, member)))
    }

    /// Returns `true` if the collection of a die works on several planes.
    #[inline]
    pub fn is_joint(&self, die: u32) -> bool {
        self.joins && self.on(die).is_some_and(|collection| collection.planes > 1)
    }

    /// Begins to collect in other planes of `die`, beside the collection that has begun in `first`. They
    /// have few erased blocks, or the collection before worked there and they are `unfinished`.
    ///
    /// # Errors
    /// The errors of the map.
    pub(super) fn take_others<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        first: u32,
        goal: Goal,
        unfinished: &[u32],
    ) -> Result<(), DriveError> {
        let mut planes = 1;
        for plane in self.units.planes_of_die(die).filter(|&plane| plane != first) {
            let map = &*shared.map;
            let wants = match goal {
                Goal::Idle => self.is_worth_idling(map, self.units.of_plane(plane)),
                _ => self.is_low(map, plane) || unfinished.contains(&plane),
            };
            let folds =
                map.slc().is_some_and(|slc| slc.can_fold(plane, FoldOf::Lent, self.rules.low));
            if !wants || folds || map.reclaimable_pages(plane) == 0 {
                continue;
            }
            if shared.map.begin_collection(plane)?.is_none() {
                self.life = super::Life::Ended;
                break;
            }
            self.counts.started += 1;
            self.counts.idle += u64::from(goal == Goal::Idle);
            self.units.begin(self.units.of_plane(plane), die);
            let now = shared.clock.now();
            shared.observer.erased_blocks(now, plane, shared.map.free_blocks(plane));
            self.members[plane as usize] = Some(Member::default());
            planes += 1;
        }
        if planes > 1 {
            self.members[first as usize] = Some(Member::default());
            self.collection(die).planes = planes;
        }
        Ok(())
    }

    /// Returns the next step of a collection that works on several planes of `die`.
    ///
    /// # Errors
    /// The errors of the map.
    pub(super) fn go_on_together<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<Step, DriveError> {
        match self.collection(die).point {
            Point::A => self.program_together(shared, die),
            _ => Ok(self.read_together(shared, die)),
        }
    }

    /// Takes the next page of each victim. Returns the read of these pages, and without pages the
    /// programs that are left, or the erase.
    fn read_together<O: Observer>(&mut self, shared: &mut Shared<O>, die: u32) -> Step {
        let first = self.collection(die).plane;
        let (mut moves, mut reads, mut moving) = (false, 0, None);
        for plane in self.units.planes_of_die(die) {
            let Some(member) = &mut self.members[plane as usize] else { continue };
            member.works = false;
            if member.is_full || member.is_over {
                continue;
            }
            member.moving = shared.map.next_move(plane);
            if plane == first {
                moving = member.moving;
            }
            if let Some(next) = member.moving {
                shared.map.prefetch(next.page);
                moves = true;
                member.works = !next.is_at_hand;
                member.site = next.from;
                reads += u32::from(member.works);
            } else if !shared.map.buffer().is_protected
                && let Some(partial) = shared.map.program_copies(plane)
            {
                (member.site, member.is_full) = (partial, true);
            } else {
                member.is_over = true;
            }
        }
        let collection = self.collection(die);
        collection.moving = moving;
        if moves {
            collection.point = Point::Reading;
            return if reads > 0 { Step::Job(Job::CopyRead) } else { Step::AtHand };
        }
        if let Some(programs) = self.program_full(die) {
            return programs;
        }
        self.collection(die).point = Point::Erasing;
        for plane in self.units.planes_of_die(die) {
            if let (Some(member), Some(block)) =
                (&mut self.members[plane as usize], shared.map.victim(plane))
            {
                (member.works, member.site) = (true, shared.map.geometry().ppn(block, 0));
            }
        }
        Step::Job(Job::Erase)
    }

    /// Gives the pages in the buffers their new places. Returns the programs as the next step, if they
    /// fill one on each plane that has pages left.
    fn program_together<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<Step, DriveError> {
        let &mut Collection { plane: first, merged_write: merged, .. } = self.collection(die);
        let (mut copies, mut waits) = (0, false);
        for plane in self.units.planes_of_die(die) {
            let Some(member) = &mut self.members[plane as usize] else { continue };
            if member.is_full || member.is_over {
                continue;
            }
            let Some(moving) = member.moving else { continue };
            let ppn = place(shared, plane, moving, if plane == first { merged } else { NONE })?;
            if let Some(ppn) = ppn {
                copies += 1;
                (member.site, member.is_full) = (ppn, shared.fills_its_program(ppn));
            }
            waits |= !member.is_full;
        }
        let sent = shared.ops.sent();
        let collection = self.collection(die);
        collection.copied += copies;
        if (!waits || merged != NONE)
            && let Some(programs) = self.program_full(die)
        {
            return Ok(programs);
        }
        let collection = self.collection(die);
        if copies == 0 {
            // The host has overwritten or discarded the pages since they were read.
            collection.reach(Point::B, sent);
            return Ok(Step::Nothing);
        }
        collection.point = Point::Writing;
        Ok(Step::Gathered)
    }

    /// Begins the programs that copies fill on planes of a die. Returns `None` if there are none.
    pub(super) fn program_full(&mut self, die: u32) -> Option<Step> {
        let mut works = false;
        for plane in self.units.planes_of_die(die) {
            if let Some(member) = &mut self.members[plane as usize] {
                member.works = std::mem::take(&mut member.is_full);
                works |= member.works;
            }
        }
        works.then(|| {
            self.collection(die).point = Point::Writing;
            Step::Job(Job::CopyWrite)
        })
    }

    /// Returns `true` if copies on a plane of `die` wait for those of other planes.
    #[inline]
    pub fn copies_wait(&self, die: u32) -> bool {
        self.joins && self.is_full_on_a_plane(die)
    }

    #[inline(never)]
    fn is_full_on_a_plane(&self, die: u32) -> bool {
        self.is_joint(die) && self.members(die).any(|(_, member)| member.is_full)
    }

    /// Lets [copies that wait](Self::copies_wait) for those of other planes be programmed now, as an
    /// operation of the host follows.
    pub fn stop_waiting(&mut self, die: u32) -> Step {
        self.program_full(die).expect("copies fill a program")
    }

    /// Returns the places that the present job of the collection of `die` works on, one for each plane.
    pub fn sites(&self, die: u32) -> impl Iterator<Item = u32> {
        let alone = self.on(die).filter(|collection| collection.planes == 1);
        let together = self.members(die).filter(|(_, member)| member.works);
        alone.map(|it| it.site).into_iter().chain(together.map(|(_, member)| member.site))
    }

    /// Returns the number of planes that the present job of the collection of `die` works on.
    #[inline]
    pub fn planes_at_work(&self, die: u32) -> u32 {
        if self.joins { self.members_at_work(die) } else { 1 }
    }

    #[inline(never)]
    fn members_at_work(&self, die: u32) -> u32 {
        if !self.is_joint(die) {
            return 1;
        }
        self.members(die).map(|(_, member)| u32::from(member.works)).sum()
    }

    /// Returns the pages that the collection of `die` is moving.
    pub fn moving(&self, die: u32) -> impl Iterator<Item = u32> {
        let alone = self.on(die).filter(|collection| collection.planes == 1);
        let together = self.members(die).filter(|(_, member)| member.works);
        let together = together.filter_map(|(_, member)| member.moving);
        alone.and_then(|it| it.moving).into_iter().chain(together).map(|moving| moving.page)
    }
}
