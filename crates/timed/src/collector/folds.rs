//! When the next collection of a plane is a fold: of the oldest block of its SLC region.

use super::Collector;
use super::collection::Collection;
use crate::measure::Observer;
use crate::shared::Shared;

/// What a collection is begun for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// A write waits for it.
    Write,
    /// The erased blocks are too few still.
    Blocks,
    /// The die has nothing else to do.
    Idle,
}

impl Collector {
    /// Begins a fold in `plane`, if that serves the goal; whether it did.
    ///
    /// Blocks that were set aside give the pool nothing, so folds of them serve writes that wait for the
    /// region, and idle time. Where the pool has no block for the pages of a fold, a collection goes
    /// first. Lent blocks are a gain for the pool, and always go before its candidates.
    pub(super) fn begin_fold<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        plane: u32,
        goal: Goal,
    ) -> bool {
        let Some(counts) = &mut shared.slc else { return false };
        let map = &mut shared.map;
        let serves = match goal {
            Goal::Idle => true,
            Goal::Write => map.lends_slc() || map.waits_for_fold(plane),
            Goal::Blocks => map.lends_slc(),
        };
        if !serves || !map.can_fold(plane, self.rules.low) {
            return false;
        }
        map.begin_fold(plane);
        counts.folds += 1;
        counts.idle_folds += u64::from(goal == Goal::Idle);
        true
    }

    /// Whether a collection that has ended is followed by another at once, as the die does not rest.
    pub(super) fn goes_on<O: Observer>(&self, shared: &Shared<O>, ended: &Collection) -> bool {
        let gives_blocks = !ended.folds || shared.map.lends_slc();
        gives_blocks && self.is_short(&*shared.map, self.units.of_plane(ended.plane))
    }

    /// Whether an idle die collects or folds in a plane.
    pub(super) fn is_worth_resting<O: Observer>(&self, shared: &Shared<O>, plane: u32) -> bool {
        let map = &*shared.map;
        let folds = shared.slc.is_some()
            && map.has_full_slc(plane)
            && (map.can_fold(plane, self.rules.low)
                || map.reclaimable_pages(plane) >= u64::from(self.pages_per_block));
        folds || self.is_worth_idling(map, self.units.of_plane(plane))
    }
}
