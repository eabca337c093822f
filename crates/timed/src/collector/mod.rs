//! The collector: the begin, the steps and the end of collections, and the operations of the host
//! that may go before them.
//!
//! `units.rs` has the units: groups of planes with one collection at a time. `moves.rs` has the
//! steps of a collection, and `joined.rs` those on several planes together. `states.rs` decides which operations may go: by the states S0 to S3, by
//! write pacing and by the end of life. `folds.rs` decides when a collection is a fold of the SLC
//! region.

mod folds;
mod joined;
mod moves;
mod states;
mod units;

use flashgc_base::snapshot::State;
use flashgc_drive::error::DriveError;
use flashgc_ftl::{FtlError, Stepwise};

use super::config::{Collecting, Preemption, Settings, Unit};
use super::measure::CollectionCounts;
use super::observer::Observer;
use super::ops::NONE;
use super::shared::Shared;
pub use folds::Goal;
use joined::Member;
pub use moves::{Collection, Point, Step};
pub use states::{Life, Through};
use units::Units;

/// A collection that has begun on `die`, in `unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    pub die: u32,
    pub unit: u32,
}

/// The collections of the drive.
///
/// It owns the units, the collection of each die, and the states in which writes wait. It reads the
/// map and the queues. It decides which job of a collection is next and which operations may go;
/// the scheduler starts the jobs. It does not know how long jobs take.
#[derive(State)]
pub struct Collector {
    #[snapshot(skip)]
    rules: Collecting,
    /// The pages that a fold of the SLC region copies for each page of the host on its die;
    /// `None` if folds go on as other collections do.
    #[snapshot(skip)]
    pace: Option<f64>,
    /// `true` if collections or folds set a pace for writes of the host.
    #[snapshot(skip)]
    sets_pace: bool,
    /// `true` if superblocks join several dies.
    #[snapshot(skip)]
    is_wide: bool,
    /// `true` if a collection may keep other dies of its unit from working.
    #[snapshot(skip)]
    may_hold: bool,
    #[snapshot(skip)]
    pages_per_block: u32,
    #[snapshot(skip)]
    blocks_per_plane: u32,
    #[snapshot(state)]
    units: Units,
    /// The collection of each die. A collection of superblocks over several dies has the number of their
    /// plane of the map in place of a die's.
    #[snapshot(table)]
    under_way: Vec<Option<Collection>>,
    /// `true` if a collection takes several planes of its die.
    #[snapshot(skip)]
    joins: bool,
    /// The planes of each collection that works on several; empty if there is no such collection.
    #[snapshot(table)]
    members: Vec<Option<Member>>,
    counts: CollectionCounts,
    /// The number of collections that have begun; one on several planes counts once.
    begun: u64,
    life: Life,
    /// The last write for which [`Collector::lets_go`] was called, and `true` if that write begins
    /// a collection.
    answer: (u32, bool),
}

impl Collector {
    /// Returns a collector without a collection under way.
    pub fn new(settings: &Settings, map: &dyn Stepwise) -> Self {
        let geometry = map.geometry();
        let Collecting { holds_unit, preemption, unit, .. } = settings.collecting;
        let spans_dies = matches!(unit, Unit::Channel | Unit::Drive);
        let joins = settings.joins_collections();
        let pace = settings.slc.and_then(|slc| slc.pace);
        let members = if joins { settings.hardware.all_planes() } else { 0 };
        Self {
            rules: settings.collecting,
            pace,
            sets_pace: settings.collecting.paces_writes || pace.is_some(),
            is_wide: settings.hardware.members.dies > 1,
            may_hold: holds_unit && preemption == Preemption::None && spans_dies,
            pages_per_block: geometry.pages_per_block(),
            blocks_per_plane: geometry.blocks() / map.planes(),
            units: Units::new(settings),
            under_way: (0..settings.hardware.all_dies()).map(|_| None).collect(),
            joins,
            members: vec![None; members as usize],
            life: Life::of(map),
            counts: CollectionCounts::default(),
            begun: 0,
            answer: (NONE, false),
        }
    }

    /// Returns the counts.
    pub fn counts(&self) -> &CollectionCounts {
        &self.counts
    }

    /// Returns the dies of a unit.
    pub fn dies_of(&self, unit: u32) -> std::ops::RangeInclusive<u32> {
        self.units.dies(unit)
    }

    fn collection(&mut self, die: u32) -> &mut Collection {
        self.under_way[die as usize].as_mut().expect("a collection is under way")
    }

    /// Begins a collection or a fold in the unit of `plane`. Returns `None` if all dies of the unit
    /// are collecting, or if there is no room for the victim's pages, which ends the drive's life.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn begin<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        plane: u32,
        goal: Goal,
    ) -> Result<Option<Begun>, DriveError> {
        self.begin_beside(shared, plane, goal, &[])
    }

    /// Begins a collection as [`Collector::begin`] does. If collections of planes go together, those of
    /// `unfinished` planes of the same die begin with it.
    fn begin_beside<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        plane: u32,
        goal: Goal,
        unfinished: &[u32],
    ) -> Result<Option<Begun>, DriveError> {
        let unit = self.units.of_plane(plane);
        let Some(plane) = self.neediest(&*shared.map, unit) else { return Ok(None) };
        let folds = self.begin_fold(shared, plane, goal);
        if !folds && shared.map.begin_collection(plane)?.is_none() {
            self.life = Life::Ended;
            return Ok(None);
        }
        let die = self.units.die_of(plane);
        let idle = goal == Goal::Idle;
        let number = self.begun;
        self.begun += 1;
        self.counts.started += 1;
        self.counts.idle += u64::from(idle);
        debug_assert!(!self.is_under_way(die), "a die has one collection at a time");
        let gives_block = !shared.map.slc().is_some_and(|slc| slc.folds_set_aside(plane));
        let new = Collection::new(number, plane, shared.ops.sent());
        self.under_way[die as usize] = Some(Collection { folds, gives_block, idle, ..new });
        self.units.begin(unit, die);
        let now = shared.clock.now();
        self.tell(shared, die, number, true);
        shared.observer.erased_blocks(now, plane, shared.map.free_blocks(plane));
        if self.joins && !folds {
            self.take_others(shared, die, plane, goal, unfinished)?;
        }
        Ok(Some(Begun { die, unit }))
    }

    /// Reports the begin or the end of a collection on a die to the observer. With superblocks over
    /// several dies the scheduler does, as the collection begins and ends on each at another time.
    fn tell<O: Observer>(&self, shared: &mut Shared<O>, die: u32, number: u64, begins: bool) {
        if !self.is_wide {
            let now = shared.now();
            shared.observer.collection(now, die, number, begins);
        }
    }

    /// Ends the collection of a die after the erase of its victim. Begins the next collection if
    /// there are still too few erased blocks; after a collection in idle time, only if the die
    /// still `rests`. Returns the unit, and the collection that has begun, if there is one.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn end<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
        rests: bool,
    ) -> Result<(u32, Option<Begun>), DriveError> {
        let ended = self.under_way[die as usize].take().expect("a collection is under way");
        debug_assert!(ended.point == Point::Erasing);
        let others =
            self.members(die).map(|(plane, _)| plane).filter(|&plane| plane != ended.plane);
        let others: Vec<u32> = others.collect();
        let unit = self.end_on(shared, &ended, ended.plane);
        for &plane in &others {
            self.end_on(shared, &ended, plane);
        }
        self.life = Life::of(&*shared.map);
        if self.life == Life::Ended {
            return Ok((unit, None));
        }
        let (mut next, mut unfinished) = (None, Vec::new());
        for plane in std::iter::once(ended.plane).chain(others) {
            self.update_s2(&*shared.map, self.units.of_plane(plane));
            let goes_on = match ended.idle {
                true => rests && self.is_worth_resting(shared, plane),
                false => self.goes_on(&*shared.map, &ended, plane),
            };
            if !goes_on {
                let unit = self.units.of_plane(plane);
                self.units.leave_s2(unit);
                let map = &mut shared.map;
                self.units.planes(unit).for_each(|plane| map.open_closed(plane));
            } else if next.is_none() {
                next = Some(plane);
            } else {
                unfinished.push(plane);
            }
        }
        if let Some(plane) = next {
            let goal = if ended.idle { Goal::Idle } else { Goal::Blocks };
            return Ok((unit, self.begin_beside(shared, plane, goal, &unfinished)?));
        }
        // Another plane of the die may have waited for the end of this collection.
        let map = &mut shared.map;
        let waits = |&plane: &u32| {
            map.closes_frontier(plane) && self.may_begin(plane) && self.is_low(&**map, plane)
        };
        let plane = self.units.planes_of_die(die).find(waits).filter(|_| !ended.idle);
        let begun = plane.map(|plane| self.begin(shared, plane, Goal::Blocks)).transpose()?;
        Ok((unit, begun.flatten()))
    }

    /// Ends a collection in `plane`, one of its planes, after the erase of the victim there. Returns the
    /// unit of the plane.
    fn end_on<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        ended: &Collection,
        plane: u32,
    ) -> u32 {
        let block = shared.map.erase(plane);
        if let Some(counts) = shared.slc.as_mut().filter(|_| ended.folds) {
            counts.erases += 1;
        }
        shared.observer.erased(block);
        let now = shared.clock.now();
        if plane == ended.plane {
            self.tell(shared, self.units.die_of(plane), ended.number, false);
        }
        shared.observer.erased_blocks(now, plane, shared.map.free_blocks(plane));
        self.counts.ended += 1;
        if let Some(member) = self.members.get_mut(plane as usize) {
            *member = None;
        }
        let unit = self.units.of_plane(plane);
        self.units.end(unit, ended.urgent);
        unit
    }

    /// Begins a collection on an idle die, if one is worth it.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn begin_idle<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        die: u32,
    ) -> Result<Option<Begun>, DriveError> {
        for plane in self.units.planes_of_die(die) {
            let unit = self.units.of_plane(plane);
            let may = !self.units.is_collecting(unit) && self.is_worth_resting(shared, plane);
            if may && let Some(begun) = self.begin(shared, plane, Goal::Idle)? {
                return Ok(Some(begun));
            }
        }
        Ok(None)
    }

    /// Runs the collections that a write of `page` to `plane` needs, while the clock stands still.
    /// The decisions are the same as with a running clock.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn collect_at_once(
        &self,
        map: &mut dyn Stepwise,
        page: u32,
        plane: u32,
    ) -> Result<(), FtlError> {
        let unit = self.units.of_plane(plane);
        // If a collection copies `page`, its class may change, so the need is checked again.
        while self.is_needed(map, page, plane) {
            map.close_full(page, plane);
            loop {
                let Some(neediest) = self.neediest(map, unit) else { return Ok(()) };
                map.collect_at_once(neediest)?;
                if map.has_ended() {
                    return Ok(());
                }
                if !self.is_short(map, unit) {
                    break;
                }
            }
            self.units.planes(unit).for_each(|plane| map.open_closed(plane));
        }
        Ok(())
    }

    /// Returns `true` if a collection may begin in a plane: neither its die nor its unit is
    /// collecting.
    fn may_begin(&self, plane: u32) -> bool {
        !self.is_under_way(self.units.die_of(plane))
            && !self.units.is_collecting(self.units.of_plane(plane))
    }

    /// Returns the plane of a unit in which a collection should begin: the plane with the fewest
    /// erased blocks, on a die that does not collect. A plane in which a collection gains nothing
    /// comes last.
    fn neediest(&self, map: &dyn Stepwise, unit: u32) -> Option<u32> {
        let may = |&plane: &u32| !self.is_under_way(self.units.die_of(plane));
        let gains = |plane: u32| map.reclaimable_pages(plane) > 0 || map.closes_frontier(plane);
        let planes = self.units.planes(unit).filter(may);
        planes.min_by_key(|&plane| (!gains(plane), map.free_blocks(plane)))
    }

    /// Returns the number of erased blocks of a unit.
    fn free_blocks(&self, map: &dyn Stepwise, unit: u32) -> u32 {
        self.units.planes(unit).map(|plane| map.free_blocks(plane)).sum()
    }

    /// Returns `true` if there are so few erased blocks that a write to `plane` begins a collection
    /// when it needs a new block.
    fn is_low(&self, map: &dyn Stepwise, plane: u32) -> bool {
        let unit = self.units.of_plane(plane);
        self.free_blocks(map, unit) <= self.rules.low
            || map.free_blocks(plane) <= map.reserved_blocks()
    }

    /// Returns `true` if a unit needs another collection after one has ended.
    fn is_short(&self, map: &dyn Stepwise, unit: u32) -> bool {
        let blocks = || self.units.planes(unit).map(|plane| map.blocks_for_host(plane));
        let reserved = map.reserved_blocks();
        blocks().sum::<u32>() <= self.rules.high || blocks().any(|blocks| blocks <= reserved)
    }

    /// Returns `true` if an idle die collects in a unit: the unit has few erased blocks, and
    /// collections can gain at least one block.
    fn is_worth_idling(&self, map: &dyn Stepwise, unit: u32) -> bool {
        let gains = |plane| map.reclaimable_pages(plane) >= u64::from(self.pages_per_block);
        self.rules.idle.is_some_and(|rule| {
            self.free_blocks(map, unit) <= rule.below && self.neediest(map, unit).is_some_and(gains)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::flash::Job;
    use super::super::ops::DieQueues;
    use super::super::testing::{settings, shared};
    use super::*;

    #[test]
    fn a_collection_goes_from_point_to_point_until_its_victim_is_erased() {
        let mut shared = shared();
        let mut collector = Collector::new(&settings(), &*shared.map);
        // The first die has the even pages in 5 of its 10 blocks. Overwrites fill the other blocks
        // until a collection is needed.
        let mut page = 0;
        while !collector.is_needed(&*shared.map, page, 0) {
            shared.map.write(page, 0).unwrap().expect("there is room");
            page = (page + 6) % 40;
        }
        let free = shared.map.free_blocks(0);
        let begun = collector.begin(&mut shared, 0, Goal::Write).unwrap();
        assert_eq!(begun, Some(Begun { die: 0, unit: 0 }));
        // A unit has one collection at a time; the other die is another unit.
        assert!(!collector.is_needed(&*shared.map, page, 0) && !collector.is_under_way(1));
        let mut moved = 0;
        loop {
            assert_eq!(collector.on(0).unwrap().point, Point::B);
            match collector.go_on(&mut shared, 0).unwrap() {
                Step::Job(Job::Erase) => break,
                job => assert_eq!(job, Step::Job(Job::CopyRead)),
            }
            assert_eq!(collector.page_is_read(&mut shared.ops, 0, 0), NONE);
            assert_eq!(collector.on(0).unwrap().point, Point::A);
            // No write waits for a block, so all operations may go before the program.
            let allowed = collector.lets_through(&shared, &mut DieQueues::new(2, Vec::new()), 0);
            assert_eq!(allowed, Some(Through::ALL));
            assert_eq!(collector.go_on(&mut shared, 0).unwrap(), Step::Job(Job::CopyWrite));
            assert_eq!(collector.page_is_moved(&mut shared.ops, 0, 0), NONE);
            moved += 1;
        }
        let (unit, next) = collector.end(&mut shared, 0, true).unwrap();
        let started = 1 + u64::from(next.is_some());
        assert_eq!((unit, collector.counts().started, collector.counts().ended), (0, started, 1));
        assert_eq!(shared.map.counters().copied_pages, moved);
        assert!(
            shared.map.free_blocks(0) + 1 >= free && collector.is_under_way(0) == next.is_some()
        );
    }

    #[test]
    fn collections_at_once_leave_what_single_steps_would() {
        let mut shared = shared();
        let collector = Collector::new(&settings(), &*shared.map);
        for page in (0..40).step_by(2).cycle().take(400) {
            collector.collect_at_once(&mut *shared.map, page, 0).unwrap();
            assert!(!collector.is_needed(&*shared.map, page, 0));
            shared.map.write_at_once(page, 0, 0, 0).unwrap();
        }
        shared.map.audit().unwrap();
        assert!(shared.map.free_blocks(0) >= settings().collecting.low);
    }
}
