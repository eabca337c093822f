//! The checks of a store that was read. Values read are in range; the audit says whether they are true.

use flashgc_base::snapshot::Fault;

use super::{Active, PageStore, UnderWay};
use crate::blocks::BlockId;
use crate::victim::VictimPolicy;

impl<P: VictimPolicy> PageStore<P> {
    /// Checks that every block, class and page that the planes name exists.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let geometry = &self.tables.geometry;
        for plane in &self.planes {
            let is_block = |block: BlockId| block < plane.blocks.len();
            let fits = |active: &Active| {
                (!active.is_some() || is_block(active.block))
                    && active.next <= geometry.pages_per_block()
                    && (active.is_some() || active.next == geometry.pages_per_block())
            };
            let steps = |under_way: &UnderWay| {
                let ppns = [under_way.steps.preferred, under_way.steps.moving.map(|to| to.from)];
                let is_ppn = |ppn| self.tables.place_of(ppn).0 < geometry.blocks();
                is_block(under_way.block) && ppns.into_iter().flatten().all(is_ppn)
            };
            let holds = plane.open.iter().all(fits)
                && plane.wanted.is_none_or(|class| usize::from(class) < plane.open.len())
                && plane.pool.blocks().into_iter().all(is_block)
                && plane.under_way.as_ref().is_none_or(steps);
            if !holds {
                return Err(Fault::new("a plane names a block that there is not"));
            }
        }
        if self.zombies.is_some()
            == self.planes.iter().all(|plane| plane.blocks.zombie_counts().is_empty())
        {
            return Err(Fault::new(
                "zombies are kept where they should not be, or the other way round",
            ));
        }
        Ok(())
    }
}
