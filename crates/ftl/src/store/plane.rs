//! A plane: the blocks among which one victim search chooses, and their transitions. Its blocks are
//! numbered from 0; the counting drive has one plane.

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{State, Value};

use super::kept::Kept;
use super::slc::Region;
use super::tables::{LIVE_AHEAD, Tables};
use crate::allocation::Pool;
use crate::blocks::{BlockId, BlockTable};
use crate::counters::Counters;
use crate::error::FtlError;
use crate::geometry::UNMAPPED;
use crate::levelling::Leveller;
use crate::placement::Class;
use crate::track::Tracker;
use crate::victim::VictimPolicy;
use flashgc_base::table::prefetch;

/// A block being programmed, page after page.
#[derive(Clone, Copy, Debug, Value)]
pub(crate) struct Active {
    /// The block, or [`Active::NO_BLOCK`].
    pub(crate) block: BlockId,
    /// Offset of the next page to program; b when full.
    pub(crate) next: u32,
}

impl Active {
    pub(crate) const NO_BLOCK: BlockId = BlockId::MAX;

    /// The state without a block: full, so that the first write makes room.
    pub(crate) fn none(pages_per_block: u32) -> Self {
        Self { block: Self::NO_BLOCK, next: pages_per_block }
    }

    pub(crate) fn erased(block: BlockId) -> Self {
        Self { block, next: 0 }
    }

    /// Returns `true` if there is a block.
    pub(crate) fn is_some(self) -> bool {
        self.block != Self::NO_BLOCK
    }
}

/// The state of one plane: its blocks, open blocks, erased blocks, policy and collection.
#[derive(State)]
#[snapshot(named = "plane")]
pub(crate) struct Plane<P: VictimPolicy> {
    #[snapshot(state)]
    pub(super) policy: P,
    pub(super) rng: Stream,
    #[snapshot(state)]
    pub(super) tracker: P::Tracker,
    #[snapshot(state)]
    pub(crate) blocks: BlockTable,
    #[snapshot(state)]
    pub(super) leveller: Option<Leveller>,
    #[snapshot(state)]
    pub(crate) pool: Box<dyn Pool>,
    /// The open block of each class.
    #[snapshot(table)]
    pub(crate) open: Box<[Active]>,
    /// The class whose full open block was closed because the host waits for room in that class.
    pub(crate) wanted: Option<Class>,
    pub(crate) under_way: Option<UnderWay>,
    /// The SLC blocks of the plane; `None` without a region.
    #[snapshot(state)]
    pub(crate) region: Option<Region>,
    /// The blocks that the placement keeps from the policy; `None` unless it collects.
    #[snapshot(state)]
    pub(crate) kept: Option<Kept>,
    pub(crate) counters: Counters,
    /// Pages with current data.
    pub(crate) valid_pages: u64,
    pub(super) decisions: u64,
    /// Collections by the policy since the host last got room for its writes.
    pub(crate) fruitless: u64,
    /// The number of the plane's first block in the drive.
    #[snapshot(skip)]
    pub(crate) first_block: BlockId,
    /// The pages that the superblocks in the pool have lost.
    #[snapshot(skip)]
    pub(super) lost_in_pool: u64,
}

/// A collection between its beginning and its end.
#[derive(Value)]
pub(crate) struct UnderWay {
    /// The victim, numbered in its plane.
    pub(crate) block: BlockId,
    /// `true` if the victim was taken to level wear, not by the policy.
    pub(crate) levels: bool,
    /// `true` if the victim is an SLC block.
    pub(crate) folds: bool,
    /// Pages copied from the victim so far.
    pub(crate) copied: u32,
    /// The progress of moving its pages one by one.
    pub(crate) steps: Steps,
}

/// The progress of a collection that moves its pages one by one.
#[derive(Default, Value)]
pub(crate) struct Steps {
    /// The place in the order of copies below which every valid page has been moved, except the page that is
    /// being moved.
    pub(crate) next: u32,
    /// The ppn of the page to move next, out of order.
    pub(crate) preferred: Option<u32>,
    /// The page that is being moved.
    pub(crate) moving: Option<Move>,
    /// The offset below which the map entries of valid pages have been fetched.
    pub(crate) fetched: u32,
    /// The first ppn of the flash page that was read last.
    pub(crate) read: Option<u32>,
}

/// A page that a collection moves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct Move {
    /// The logical page.
    pub page: u32,
    /// The place of the page: a ppn of the drive.
    pub from: u32,
    /// `true` if its flash page was already read for the page moved before.
    pub is_at_hand: bool,
}

impl<P: VictimPolicy> Plane<P> {
    /// Pages that the open block of `class` has left.
    #[inline]
    pub(crate) fn room(&self, class: Class) -> u32 {
        self.blocks.pages_per_block() - self.open[usize::from(class)].next
    }

    /// The first ppn of the plane.
    #[inline(always)]
    pub(crate) fn first_ppn(&self, tables: &Tables) -> u32 {
        tables.first_ppn(self.first_block)
    }

    /// Programs `pages`, in order, at the open block of `class`, which has room for them: reverse
    /// map, live bits, counts, clock. Returns the ppn of the first; the caller updates the map.
    #[inline(always)]
    pub(crate) fn program(&mut self, tables: &mut Tables, class: Class, pages: &[u32]) -> u32 {
        let active = &mut self.open[usize::from(class)];
        let Active { block, next, .. } = *active;
        debug_assert!(block != Active::NO_BLOCK, "class {class} has no open block");
        active.next += pages.len() as u32;
        let first = tables.program(self.first_block + block, next, pages);
        self.blocks.program(block, pages.len() as u32);
        self.blocks.tick(pages.len() as u64);
        self.valid_pages += pages.len() as u64;
        if P::Tracker::FOLLOWS_PROGRAMS && !self.is_slc(block) {
            let local = first - self.first_ppn(tables);
            self.tracker.pages_programmed(&self.blocks, local, pages.len() as u32);
        }
        first
    }

    /// Kills the pages at the ppns `old`, all of this plane. Entries that are [`UNMAPPED`] are
    /// skipped. Returns how many pages died. Successive entries are one tick of the clock apart;
    /// the last entry is for now. Trackers hear of the deaths, except in SLC blocks and in the
    /// victim of a collection under way, which was taken from them.
    #[inline(always)]
    pub(crate) fn kill(&mut self, tables: &mut Tables, old: &mut [u32]) -> usize {
        let bits = tables.geometry.offset_bits();
        let first_block = self.first_block;
        let live = &mut *tables.live;
        let counts = self.blocks.counts_mut();
        let is_told = self.under_way.as_ref().is_none_or(|victim| {
            debug_assert!(old.len() <= 1, "pages die one by one while a collection is under way");
            old.iter().all(|&ppn| ppn == UNMAPPED || ppn >> bits != first_block + victim.block)
        });
        let is_told = is_told
            && self.region.as_ref().is_none_or(|region| {
                debug_assert!(old.len() <= 1, "pages die one by one on a drive with an SLC region");
                old.iter().all(|&ppn| ppn == UNMAPPED || !region.has((ppn >> bits) - first_block))
            });
        let mut lost = 0;
        for index in 0..old.len() {
            if let Some(&ahead) = old.get(index + LIVE_AHEAD) {
                prefetch(live, (ahead >> 6) as usize);
            }
            let ppn = old[index];
            if ppn != UNMAPPED {
                let block = (ppn >> bits) - first_block;
                debug_assert!(live[(ppn >> 6) as usize] >> (ppn & 63) & 1 == 1, "dies twice");
                debug_assert!(counts[block as usize] & !crate::blocks::NOT_A_CANDIDATE > 0);
                // SAFETY: a mapped entry is a ppn of this plane (an invariant of the store, checked
                // by the audit), so its live word and its block's count exist.
                unsafe {
                    *live.get_unchecked_mut((ppn >> 6) as usize) &= !(1 << (ppn & 63));
                    *counts.get_unchecked_mut(block as usize) -= 1;
                }
                if P::Tracker::FOLLOWS_PAGES {
                    old[lost] = block;
                } else if P::Tracker::FOLLOWS_DEATHS {
                    old[index] = ppn - (first_block << bits);
                }
                lost += 1;
            }
        }
        debug_assert!(self.valid_pages >= lost as u64, "more pages die than are valid");
        self.valid_pages -= lost as u64;
        if P::Tracker::FOLLOWS_PAGES && is_told {
            self.tracker.pages_lost(&self.blocks, &old[..lost]);
        }
        if P::Tracker::FOLLOWS_DEATHS && is_told {
            let since = self.blocks.clock() - old.len() as u64 + 1;
            self.tracker.pages_died(&self.blocks, old, since);
        }
        lost
    }

    /// The erased blocks that the pages in the pool make up, rounded down. Smaller superblocks count as the
    /// share of a whole one that they have left.
    #[inline]
    pub(crate) fn erased_blocks(&self) -> usize {
        match self.lost_in_pool {
            0 => self.pool.len(),
            lost => self.pool.len() - lost.div_ceil(self.blocks.pages_per_block().into()) as usize,
        }
    }

    /// The pages of the blocks in the pool.
    pub(crate) fn pages_in_pool(&self) -> u64 {
        self.pool.len() as u64 * u64::from(self.blocks.pages_per_block()) - self.lost_in_pool
    }

    /// Puts an erased block into the pool.
    pub(crate) fn give_to_pool(&mut self, block: BlockId) {
        self.pool.put(block, self.blocks.erase_count(block));
        self.lost_in_pool += u64::from(self.blocks.lost(block));
    }

    /// Counts the pages again that the superblocks in the pool have lost.
    pub(super) fn count_lost_in_pool(&self) -> u64 {
        self.pool.blocks().into_iter().map(|block| u64::from(self.blocks.lost(block))).sum()
    }

    /// Erases `block`, which has no valid page.
    pub(crate) fn erase(&mut self, block: BlockId) {
        assert_eq!(self.blocks.live(block), 0, "a block with valid pages is not erased");
        self.counters.erases += self.blocks.erase(block);
    }

    /// Makes the block of `done`, if it has one, a candidate, unless the placement keeps it. The block takes no
    /// more pages.
    pub(crate) fn close(&mut self, done: Active) {
        self.close_at(done, self.counters.host_pages);
    }

    /// Makes the block of `done`, if it has one, a candidate at the time when the host has written
    /// `host_clock` pages. The block takes no more pages.
    pub(super) fn close_at(&mut self, done: Active, host_clock: u64) {
        if done.is_some() {
            self.blocks.note_close(done.block, host_clock);
            let lost = self.blocks.lost(done.block);
            if !self.kept.as_mut().is_some_and(|kept| kept.close(done.block, lost)) {
                self.become_candidate(done.block);
            }
        }
    }

    /// Makes `block`, which takes no more pages, a candidate.
    pub(super) fn become_candidate(&mut self, block: BlockId) {
        self.blocks.close(block);
        self.tracker.closed(&self.blocks, block);
        if let Some(leveller) = &mut self.leveller {
            leveller.changed(&self.blocks, block);
        }
    }

    /// Makes the open block of `class` a candidate. The class has no open block then.
    pub(crate) fn close_class(&mut self, class: Class) {
        let none = Active::none(self.blocks.pages_per_block());
        let done = std::mem::replace(&mut self.open[usize::from(class)], none);
        self.close(done);
    }

    /// Takes an erased block from the pool: the next in turn or, for cold data, the most worn
    /// (among equals: the lowest number).
    pub(super) fn erased_block(&mut self, for_cold: bool) -> Result<BlockId, FtlError> {
        let block = if for_cold {
            let key = |&block: &BlockId| (self.blocks.erase_count(block), std::cmp::Reverse(block));
            let most_worn = self.pool.blocks().into_iter().max_by_key(key);
            most_worn.inspect(|&block| self.pool.remove(block))
        } else {
            self.pool.take()
        };
        debug_assert!(
            block.is_none_or(|block| !self.blocks.is_programmed(block)
                && self.blocks.live(block) == 0
                && !self.blocks.is_candidate(block)),
            "a block from the pool is not erased"
        );
        let block =
            block.ok_or_else(|| FtlError::no_space("the pool of erased blocks is empty"))?;
        self.lost_in_pool -= u64::from(self.blocks.lost(block));
        Ok(block)
    }
}
