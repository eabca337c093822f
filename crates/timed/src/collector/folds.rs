//! Folds: collections of the oldest block of a plane's SLC region.

use flashgc_ftl::FoldsSlc;

use super::Collector;
use super::moves::Collection;
use crate::observer::Observer;
use crate::shared::Shared;

/// The reason for which a collection is begun.
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
    /// Begins a fold in `plane`, if that serves the goal. Returns `true` if it did.
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
        let (Some(counts), Some(slc)) = (&mut shared.slc, shared.map.slc_mut()) else {
            return false;
        };
        let serves = match goal {
            Goal::Idle => true,
            Goal::Write => slc.lends() || slc.waits_for_fold(plane),
            Goal::Blocks => slc.lends(),
        };
        if !serves || !slc.can_fold(plane, self.rules.low) {
            return false;
        }
        slc.begin_fold(plane);
        counts.folds += 1;
        counts.idle_folds += u64::from(goal == Goal::Idle);
        true
    }

    /// Returns `true` if a collection that has ended is followed by another at once, as the die does not
    /// rest.
    pub(super) fn goes_on<O: Observer>(&self, shared: &Shared<O>, ended: &Collection) -> bool {
        let gives_blocks = !ended.folds || shared.map.slc().is_some_and(FoldsSlc::lends);
        gives_blocks && self.is_short(&*shared.map, self.units.of_plane(ended.plane))
    }

    /// Returns `true` if an idle die collects or folds in a plane.
    pub(super) fn is_worth_resting<O: Observer>(&self, shared: &Shared<O>, plane: u32) -> bool {
        let map = &*shared.map;
        let folds = map.slc().is_some_and(|slc| {
            slc.has_full(plane)
                && (slc.can_fold(plane, self.rules.low)
                    || map.reclaimable_pages(plane) >= u64::from(self.pages_per_block))
        });
        folds || self.is_worth_idling(map, self.units.of_plane(plane))
    }
}
