//! Folds: collections of the oldest block of a plane's SLC region.

use flashgc_ftl::{FoldOf, Stepwise};

use super::Collector;
use super::moves::Collection;
use crate::observer::Observer;
use crate::shared::Shared;

/// The reason for a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// A write waits for an erased block.
    Write,
    /// After a collection there are still too few erased blocks.
    Blocks,
    /// The die is idle.
    Idle,
}

impl Collector {
    /// Begins a fold in `plane`, if a fold serves the goal. Returns `true` if a fold has begun.
    ///
    /// The fold of a lent block gives the pool a block, so it goes before other collections. The
    /// fold of a block that is set aside gives it none: such folds are made only for a write that
    /// waits for the region, beside writes to normal blocks if folds are paced, and in idle time. If
    /// the pool has no block for the pages of a fold, another collection must come first.
    pub(super) fn begin_fold<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        plane: u32,
        goal: Goal,
    ) -> bool {
        let is_beside = goal == Goal::Write && self.folds_beside(&*shared.map, plane);
        let (Some(counts), Some(slc)) = (&mut shared.slc, shared.map.slc_mut()) else {
            return false;
        };
        let of = match goal {
            Goal::Idle => FoldOf::Any,
            Goal::Write if is_beside || slc.waits_for_fold(plane) => FoldOf::Any,
            Goal::Write | Goal::Blocks => FoldOf::Lent,
        };
        if !slc.can_fold(plane, of, self.rules.low) {
            return false;
        }
        slc.begin_fold(plane, of);
        counts.folds += 1;
        counts.idle_folds += u64::from(goal == Goal::Idle);
        true
    }

    /// Returns `true` if a paced fold of any block of `plane` can begin beside writes of the host to
    /// normal blocks. If there are few erased blocks, only a lent block can be folded: another would
    /// take erased blocks and give none.
    pub(super) fn folds_beside(&self, map: &dyn Stepwise, plane: u32) -> bool {
        let of = || if self.is_low(map, plane) { FoldOf::Lent } else { FoldOf::Any };
        self.pace.is_some()
            && map.slc().is_some_and(|slc| slc.can_fold(plane, of(), self.rules.low))
    }

    /// Returns `true` if the collection of `die` is a paced fold.
    pub(super) fn is_paced_fold(&self, die: u32) -> bool {
        self.pace.is_some() && self.on(die).is_some_and(|collection| collection.folds)
    }

    /// Returns `true` if the pace of folds lets one more page of the host go on `die`: no paced fold is
    /// under way there, or it has copied its pages for that one. The fold of a lent block lets no more
    /// pages go than its erase makes room for, so it costs no erased block.
    #[inline]
    pub(super) fn keeps_pace(&self, map: &dyn Stepwise, die: u32) -> bool {
        let Some(pace) = self.pace else { return true };
        self.on(die).is_none_or(|fold| {
            let pages = f64::from(fold.let_through + 1);
            !fold.folds
                || pages * pace <= f64::from(fold.copied)
                    && (!fold.gives_block || self.is_paid(map, fold))
        })
    }

    /// Returns `true` if another collection follows in `plane` at once after `ended`, as its unit still
    /// has too few erased blocks. After a fold that gave the pool no block none does.
    pub(super) fn goes_on(&self, map: &dyn Stepwise, ended: &Collection, plane: u32) -> bool {
        ended.gives_block
            && (self.is_short(map, self.units.of_plane(plane))
                || self.lacks_room_to_fold(map, plane))
    }

    /// Returns `true` if a block waits for a paced fold, and erased blocks are so few that no block that is
    /// set aside can be folded. Without one more erased block none would ever be on a full drive.
    fn lacks_room_to_fold(&self, map: &dyn Stepwise, plane: u32) -> bool {
        self.pace.is_some()
            && map.slc().is_some_and(|slc| slc.has_full(plane))
            && map.blocks_for_host(plane) <= self.rules.high + 1
            && map.reclaimable_pages(plane) >= u64::from(self.pages_per_block)
    }

    /// Returns the part of `room`, which a collection makes for pages of the host, that is left to them if
    /// a block of `plane` waits for a paced fold. Folds take the rest: without it, the host would use all
    /// that collections give, and no block that is set aside would ever be folded on a full drive.
    pub(super) fn beside_folds(&self, map: &dyn Stepwise, plane: u32, room: u64) -> u64 {
        match self.pace {
            Some(pace) if map.slc().is_some_and(|slc| slc.has_full(plane)) => {
                (room as f64 / (1.0 + pace)) as u64
            }
            _ => room,
        }
    }

    /// Returns `true` if an idle die has something to collect or to fold in a plane.
    pub(super) fn is_worth_resting<O: Observer>(&self, shared: &Shared<O>, plane: u32) -> bool {
        let map = &*shared.map;
        let folds = map.slc().is_some_and(|slc| {
            slc.has_full(plane)
                && (slc.can_fold(plane, FoldOf::Any, self.rules.low)
                    || map.reclaimable_pages(plane) >= u64::from(self.pages_per_block))
        });
        folds || self.is_worth_idling(map, self.units.of_plane(plane))
    }
}
