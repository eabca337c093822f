//! Folds: collections of the oldest block of a plane's SLC region.

use flashgc_ftl::FoldsSlc;

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
    /// If the SLC region has its own blocks, a fold adds no block to the pool. Such folds are made
    /// only for a write that waits for the region, and in idle time. If the region borrows blocks
    /// of the pool, a fold gives one back; such folds go before other collections. If the pool has
    /// no block for the pages of a fold, another collection must come first.
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

    /// Returns `true` if another collection follows in `plane` at once after `ended`, as its unit still
    /// has too few erased blocks. After a fold this is so only if folds give blocks to the pool.
    pub(super) fn goes_on<O: Observer>(
        &self,
        shared: &Shared<O>,
        ended: &Collection,
        plane: u32,
    ) -> bool {
        let gives_blocks = !ended.folds || shared.map.slc().is_some_and(FoldsSlc::lends);
        gives_blocks && self.is_short(&*shared.map, self.units.of_plane(plane))
    }

    /// Returns `true` if an idle die has something to collect or to fold in a plane.
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
