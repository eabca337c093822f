//! The blocks of a placement that collects: it keeps them from the victim policy, has them collected, leaves them to the
//! policy, and closes open ones that it no longer fills.

use super::PageStore;
use super::plane::Plane;
use crate::blocks::BlockId;
use crate::layout::PlaneId;
use crate::placement::Class;
use crate::track::Tracker;
use crate::victim::VictimPolicy;

impl<P: VictimPolicy> Plane<P> {
    /// Makes the full kept `block` a candidate.
    fn leave(&mut self, block: BlockId) {
        let lost = self.blocks.lost(block);
        if let Some(kept) = &mut self.kept {
            kept.let_go(block, lost);
        }
        self.become_candidate(block);
    }
}

impl<P: VictimPolicy> PageStore<P> {
    /// Takes the block of `plane` that the placement collects next. `None` if the victim policy
    /// picks.
    pub(super) fn take_kept(&mut self, plane: PlaneId) -> Option<BlockId> {
        let plane_state = &mut self.planes[plane as usize];
        plane_state.kept.as_ref()?;
        let (first, fruitless) = (plane_state.first_block, plane_state.fruitless);
        let next = self.sorting.collects()?.next(first, fruitless);
        self.follow_changes(plane);
        if next.is_none() && self.policy_is_stuck(plane) {
            self.sorting.collects()?.give_up();
            self.follow_changes(plane);
        }
        self.close_left_classes(plane);
        let block = next? - first;
        let plane_state = &mut self.planes[plane as usize];
        debug_assert!(
            plane_state.kept.as_ref().is_some_and(|kept| kept.holds(block)),
            "block {block}, which the placement collects, is not full and kept"
        );
        plane_state.fruitless += 1;
        plane_state.tracker.settle(&plane_state.blocks);
        plane_state.leave(block);
        plane_state.take(block);
        Some(block)
    }

    /// Returns `true` if the victim policy of `plane` finds no page to free, but kept blocks may have some.
    fn policy_is_stuck(&self, plane: PlaneId) -> bool {
        let Plane { kept, blocks, fruitless, .. } = &self.planes[plane as usize];
        let count = u64::from(blocks.len());
        let is_long = *fruitless >= count && fruitless.is_multiple_of(count);
        kept.as_ref().is_some_and(|kept| kept.held() > 0)
            && (blocks.candidates() == 0 || is_long && blocks.reclaimable() == 0)
    }

    /// Leaves blocks to the policy that the placement no longer keeps. A candidate stays one, and
    /// the placement learns of it.
    fn follow_changes(&mut self, plane: PlaneId) {
        let Some(rule) = self.sorting.collects() else { return };
        let Plane { kept, blocks, first_block, .. } = &mut self.planes[plane as usize];
        let Some(kept) = kept else { return };
        if kept.changes == rule.changes() {
            return;
        }
        kept.changes = rule.changes();
        let mut left = Vec::new();
        for block in 0..blocks.len() {
            let keeps = rule.keeps(*first_block + block);
            if kept.holds(block) {
                left.extend((!keeps).then_some(block));
            } else if keeps && blocks.is_candidate(block) {
                rule.left(*first_block + block);
            } else {
                kept.opened(block, keeps);
            }
        }
        let plane_state = &mut self.planes[plane as usize];
        left.into_iter().for_each(|block| plane_state.leave(block));
    }

    /// Closes the open blocks of classes that take no more pages. A block stays open while a unit waits there for
    /// its flash page.
    fn close_left_classes(&mut self, plane: PlaneId) {
        for class in 0..self.sorting.sorted_classes() as Class {
            let plane_state = &self.planes[plane as usize];
            let (first, active) = (plane_state.first_block, plane_state.open[usize::from(class)]);
            let leaves = self.sorting.collects().is_some_and(|rule| rule.leaves(class));
            if leaves && active.is_some() && !self.waits(first, class.into(), &active) {
                self.planes[plane as usize].close_class(class);
                self.sorting.closed(first + active.block);
            }
        }
    }

    /// `block` of `plane` was opened for a class of the placement.
    pub(super) fn keep_opened(&mut self, plane: PlaneId, block: BlockId) {
        let plane_state = &mut self.planes[plane as usize];
        let number = plane_state.first_block + block;
        if let Some(kept) = &mut plane_state.kept
            && let Some(rule) = self.sorting.collects()
        {
            kept.opened(block, rule.keeps(number));
        }
    }
}
