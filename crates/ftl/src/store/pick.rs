//! The choice of the block that is collected next, and the check that collections make progress.

use super::PageStore;
use super::plane::Plane;
use crate::blocks::{BlockId, BlockTable};
use crate::counters::digest;
use crate::error::{FtlError, FtlErrorKind};
use crate::layout::PlaneId;
use crate::track::Tracker;
use crate::victim::VictimPolicy;
use flashgc_base::rng::Stream;

/// Pages of the probable next victim whose part of the reverse map is fetched: 1 KiB. The processor
/// itself fetches what follows.
const FIRST_PAGES: usize = 256;

impl<P: VictimPolicy> Plane<P> {
    /// Asks the policy for a victim and takes it from the candidates.
    ///
    /// # Errors
    /// There is nothing to collect, many collections gained nothing, or the pick is no candidate.
    pub(crate) fn pick(&mut self) -> Result<BlockId, FtlError> {
        self.pick_by(P::pick)
    }

    /// Takes a victim as [`Plane::pick`] does, but asks `pick` in place of the policy.
    pub(super) fn pick_by(
        &mut self,
        pick: impl FnOnce(&mut P, &BlockTable, &P::Tracker, &mut Stream) -> Option<BlockId>,
    ) -> Result<BlockId, FtlError> {
        let blocks = &self.blocks;
        let count = u64::from(blocks.len());
        if self.fruitless >= count && self.fruitless.is_multiple_of(count) {
            check_progress(blocks, self.fruitless)?;
        }
        self.fruitless += 1;
        self.blocks.set_host_clock(self.counters.host_pages);
        let blocks = &self.blocks;
        self.tracker.settle(blocks);
        let picked = pick(&mut self.policy, blocks, &self.tracker, &mut self.rng);
        let Some(victim) = picked else {
            return Err(FtlError::no_space("no block may be collected"));
        };
        if victim >= blocks.len() {
            return Err(
                FtlErrorKind::BadPick { block: victim.into(), why: "does not exist" }.into()
            );
        }
        if !blocks.is_candidate(victim) {
            return Err(FtlErrorKind::BadPick {
                block: victim.into(),
                why: "is open or erased: only candidates may be collected",
            }
            .into());
        }
        self.take(victim);
        Ok(victim)
    }

    /// Takes `victim` from the candidates, and notes the decision.
    pub(super) fn take(&mut self, victim: BlockId) {
        let valid = self.blocks.valid(victim);
        self.blocks.take(victim);
        self.tracker.taken(&self.blocks, victim);
        if let Some(leveller) = &mut self.leveller {
            leveller.changed(&self.blocks, victim);
        }
        self.counters.collections += 1;
        self.decisions = digest(self.decisions, (u64::from(victim) << 16) + u64::from(valid));
    }

    /// The block to collect in place of the policy's next victim, if wear levelling is due and the
    /// block's pages find room: in the `room` pages of their open block, and in erased blocks.
    pub(super) fn least_erased(&mut self, room: u32) -> Option<BlockId> {
        let room = u64::from(room) + self.pages_in_pool();
        let room = room.min(self.blocks.pages_per_block().into()) as u32;
        self.leveller.as_mut()?.victim(&self.blocks, room)
    }
}

impl<P: VictimPolicy> PageStore<P> {
    /// Asks the processor for the data of the block of `plane` that is probably picked next.
    pub(crate) fn fetch_next(&self, plane: PlaneId) {
        let plane_state = &self.planes[plane as usize];
        let Plane { policy, blocks, tracker, rng, first_block, .. } = plane_state;
        if let Some(block) = policy.guess(blocks, tracker, rng) {
            self.tables.prefetch_start(first_block + block, FIRST_PAGES);
        }
    }
}

/// Checks that collections make progress. A policy may pick full blocks for a while (FIFO and
/// random do), but not for ever.
fn check_progress(blocks: &BlockTable, fruitless: u64) -> Result<(), FtlError> {
    let reclaimable = blocks.reclaimable();
    if reclaimable == 0 {
        return Err(FtlError::no_space(format!(
            "all {} candidates are full of valid pages",
            blocks.candidates()
        )));
    }
    if fruitless >= 1000 * u64::from(blocks.len()) {
        return Err(FtlError::no_space(format!(
            "{fruitless} collections in a row freed nothing, because the victim policy picks none \
             of the {reclaimable} blocks with invalid pages; hint: another victim policy"
        )));
    }
    Ok(())
}
