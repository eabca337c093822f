//! Write pacing: while a collection is under way, the host's writes go at the rate at which it makes room.
//!
//! A victim of `b` pages of which `v` are valid gives the host `b - v` pages. Its collection has `v + 1`
//! steps, the copies and the erase. Before step `c + 1` the host has had at most
//! `(c + 1) (b - v) / (v + 1)` pages, so the last of its pages goes before the erase, and the room
//! that is left after the collection is that before it. A page of the victim that dies on the way is a copy
//! less and a page of the host more. What no write uses the collection does not wait for.

use flashgc_ftl::Stepwise;

use super::Collector;
use super::collection::Collection;
use crate::ops::PageOp;

impl Collector {
    /// Whether the collection of the die of `plane`, if there is one, has made room for one more page of
    /// the host.
    #[inline]
    pub(super) fn has_made_room(&self, map: &dyn Stepwise, plane: u32) -> bool {
        if !self.rules.paces_writes {
            return true;
        }
        let collection = self.on(self.units.die_of(plane));
        collection.is_none_or(|collection| self.is_paid(map, collection))
    }

    /// The rule of this module.
    fn is_paid(&self, map: &dyn Stepwise, collection: &Collection) -> bool {
        let &Collection { plane, copied, let_through, .. } = collection;
        let victim = map.victim(plane).expect("a collection has a victim until it ends");
        let left = map.blocks(plane).valid(victim % self.blocks_per_plane);
        let [size, copied, left, written] =
            [self.pages_per_block, copied, left.into(), let_through].map(u64::from);
        let valid = copied + left;
        (written + 1) * (valid + 1) <= (copied + 1) * (size - valid)
    }

    /// A page operation is served: a write of the host goes before the next step of the collection of
    /// its die, if there is one.
    #[inline]
    pub(super) fn count_let_through(&mut self, op: &PageOp) {
        if !self.rules.paces_writes || !op.writes() {
            return;
        }
        let die = self.units.die_of(op.plane);
        if let Some(collection) = &mut self.under_way[die as usize] {
            collection.let_through += 1;
        }
    }
}
