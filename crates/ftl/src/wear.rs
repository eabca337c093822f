//! Wear: which blocks are worn out, and when the drive's life ended.

use std::fmt;
use std::sync::Arc;

use flashgc_base::fail_if;
use flashgc_base::snapshot::{State, Value};

use crate::blocks::BlockId;
use crate::counters::{Counters, Packing, Skipped};
use crate::endurance::{EndOfLife, Lifespan};
use crate::layout::{Layout, PlaneId, PlaneLayout};
use crate::losses::{Losses, Shrunk};
use crate::smaller::Smaller;

use flashgc_base::table::bytes_of;

/// The cause of the end of a drive's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Cause {
    /// Bad blocks took more pages from a plane than its reserve ([`Wear`]).
    Reserve,
    /// Valid pages needed an erased block, and the pool was empty: several victims in a row wore
    /// out.
    Pool,
}

/// A moment in a drive's life.
#[derive(Clone, Copy, PartialEq, Eq, Value)]
pub struct Moment {
    /// The counts up to this moment.
    pub counters: Counters,
    /// The counts of the page buffer up to this moment; `None` where a page is a flash page.
    pub packing: Option<Packing>,
    /// Blocks that were bad.
    pub bad_blocks: u32,
}

/// The wear of a drive whose blocks bear a limited number of erases.
///
/// A block that was erased for the last time is bad: it is no longer used. A superblock retires with its
/// first bad block, or goes on without it ([`Losses`]). The reserve of a plane is the pages of its
/// blocks, less its promised pages and those of the blocks that the frontier keeps; the drive fails when the
/// plane has lost more pages with bad blocks. Blocks that are always in SLC mode do not belong to the
/// reserve, because no promised page needs them.
#[derive(Clone, Debug, State)]
#[snapshot(named = "wear")]
pub struct Wear {
    #[snapshot(skip)]
    ends_at: EndOfLife,
    /// The erases that each block withstands. They are not saved, because they are drawn again from
    /// the seed.
    #[snapshot(skip)]
    limits: Vec<u32>,
    /// The erases of a block in normal mode, and those in SLC mode that wear it as much; `None` if
    /// both wear it alike.
    #[snapshot(skip)]
    modes: Option<[u32; 2]>,
    /// The erases of each block in SLC mode; empty if both modes wear it alike.
    #[snapshot(table)]
    in_slc: Vec<u32>,
    /// The blocks that superblocks have lost; `None` if they retire with the first one. They are not saved,
    /// because the erases and the limits give them.
    #[snapshot(skip)]
    losses: Option<Losses>,
    #[snapshot(skip)]
    pages_per_block: u32,
    /// The pages that opened superblocks had lost.
    skipped_pages: u64,
    /// The number of blocks of a plane, and the number of blocks at its end that are always in SLC
    /// mode.
    #[snapshot(skip)]
    shape: (u32, u32),
    #[snapshot(table)]
    bad: Vec<bool>,
    bad_blocks: u32,
    #[snapshot(table)]
    planes: Vec<PlaneWear>,
    /// Pages that the host had written when each of the bad blocks wore out.
    failures: Vec<u64>,
    first_failure: Option<Moment>,
    system_failure: Option<(Moment, Cause)>,
}

/// The wear of one plane.
#[derive(Clone, Debug, Value)]
struct PlaneWear {
    /// Pages lost with bad blocks, without those of blocks that were always in SLC mode.
    lost: u64,
    reserve: u64,
}

/// The state of a block that was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterErase {
    /// The block is as it was.
    Same,
    /// The block is a superblock that has got smaller. It has lost this many pages in all.
    Smaller(u32),
    /// The block is bad.
    Bad,
}

/// Leaves out the page buffer if there is none, because results have a digest of this text.
impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Moment");
        text.field("counters", &self.counters);
        if let Some(packing) = &self.packing {
            text.field("packing", packing);
        }
        text.field("bad_blocks", &self.bad_blocks).finish()
    }
}

impl Wear {
    /// The wear of a new drive. `promised` has the number of logical pages of each plane. The
    /// limits of each plane are drawn from the plane's random stream `endurance`. The caller has
    /// checked that every plane has enough blocks for its frontier.
    pub(crate) fn new(lifespan: Lifespan, planes: &PlaneLayout, promised: &[u32]) -> Self {
        let Lifespan { endurance, ends_at } = lifespan;
        let geometry = &planes.layout.geometry;
        let blocks = geometry.blocks() / planes.planes;
        let kept = planes.layout.blocks_kept();
        let together = planes.layout.blocks_together;
        let of_plane =
            |plane| endurance.limits(blocks * together, &mut planes.stream(plane, "endurance"));
        let of_blocks: Vec<u32> = (0..planes.planes).flat_map(of_plane).collect();
        // A superblock is worn out when the first of its blocks is, unless it goes on without them.
        let weakest = |block: &[u32]| block.iter().copied().min().unwrap_or(0);
        let mut limits: Vec<u32> = of_blocks.chunks(together as usize).map(weakest).collect();
        let losses = Losses::new(&planes.layout, of_blocks);
        if let Some(losses) = &losses {
            limits = (0..geometry.blocks()).map(|block| losses.retires_at(block)).collect();
        }
        let b = u64::from(geometry.pages_per_block());
        let of_plane = |&pages: &u32| {
            let left = u64::from(blocks.saturating_sub(kept)) * b;
            PlaneWear { lost: 0, reserve: left.saturating_sub(pages.into()) }
        };
        Self {
            ends_at,
            limits,
            modes: endurance.slc.map(|slc| [endurance.law.nominal(), slc]),
            in_slc: vec![0; endurance.slc.map_or(0, |_| geometry.blocks() as usize)],
            losses,
            pages_per_block: geometry.pages_per_block(),
            skipped_pages: 0,
            shape: (blocks, planes.layout.set_aside()),
            bad: vec![false; geometry.blocks() as usize],
            bad_blocks: 0,
            planes: promised.iter().map(of_plane).collect(),
            failures: Vec::new(),
            first_failure: None,
            system_failure: None,
        }
    }

    /// Bytes of the wear of `blocks` blocks of this layout.
    pub(crate) fn bytes(layout: &Layout, blocks: u32) -> u64 {
        let counts_modes = layout.lifespan.is_some_and(|life| life.endurance.slc.is_some());
        let numbers = 1 + u64::from(counts_modes);
        let of_blocks =
            numbers * bytes_of::<u32>(blocks as usize) + bytes_of::<bool>(blocks as usize);
        of_blocks + Losses::bytes(layout, blocks)
    }

    /// Erases that each block bears, with all bits in its cells.
    pub fn limits(&self) -> &[u32] {
        &self.limits
    }

    /// Returns `true` if `block` is worn out.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block as usize]
    }

    /// Blocks that are worn out.
    pub fn bad_blocks(&self) -> u32 {
        self.bad_blocks
    }

    /// The most blocks that may wear out before the drive ends, if they are spread as evenly as
    /// possible: the sum of the planes' reserves.
    pub fn reserve(&self) -> u32 {
        let b = u64::from(self.pages_per_block);
        self.planes.iter().map(|plane| (plane.reserve / b) as u32).sum()
    }

    /// Returns `true` if superblocks go on without their bad blocks.
    #[inline]
    pub fn shrinks(&self) -> bool {
        self.losses.is_some()
    }

    /// The smaller superblocks in use; `None` if superblocks retire with their first bad block.
    pub fn shrunk(&self) -> Option<Shrunk> {
        self.losses.as_ref().map(Losses::shrunk)
    }

    /// The pages that opened superblocks did not have; `None` if superblocks keep their size.
    pub(crate) fn skipped(&self) -> Option<Skipped> {
        self.losses.as_ref().map(|_| Skipped { pages: self.skipped_pages })
    }

    /// Notes that a superblock is opened that has lost `pages` pages.
    pub(crate) fn skip(&mut self, pages: u32) {
        self.skipped_pages += u64::from(pages);
    }

    /// The programs of a superblock that has got smaller; `None` for a whole block.
    #[inline]
    pub(crate) fn smaller(&self, block: BlockId) -> Option<&Arc<Smaller>> {
        self.losses.as_ref()?.smaller(block)
    }

    /// Sets what is left of each superblock to what it is after these erases, after a checkpoint was read.
    /// Returns the pages that each has lost; `None` if superblocks do not shrink.
    pub(crate) fn restore_losses(&mut self, erases: impl Iterator<Item = u32>) -> Option<Vec<u32>> {
        let losses = self.losses.as_mut()?;
        let lost = (0..).zip(erases).map(|(block, erases)| {
            losses.set(block, erases);
            losses.lost(block)
        });
        Some(lost.collect())
    }

    /// Pages that the host had written when each of the bad blocks wore out, in order.
    pub fn failures(&self) -> &[u64] {
        &self.failures
    }

    /// The moment at which the first block wore out.
    pub fn first_failure(&self) -> Option<Moment> {
        self.first_failure
    }

    /// The moment at which the drive could not go on, and the cause.
    pub fn system_failure(&self) -> Option<(Moment, Cause)> {
        self.system_failure
    }

    /// Returns `true` if the drive's life is over: it is read-only.
    pub fn has_ended(&self) -> bool {
        let first = self.ends_at == EndOfLife::FirstFailure && self.first_failure.is_some();
        first || self.system_failure.is_some()
    }

    /// Returns `true` if an erase of `block`, the `erases`-th, was its last.
    #[inline]
    pub(crate) fn is_last(&self, block: BlockId, erases: u32) -> bool {
        let limit = self.limits[block as usize];
        match self.modes {
            None => erases >= limit,
            Some(modes) => self.is_worn(block, erases, limit, modes),
        }
    }

    /// Returns `true` if a block that bears `limit` erases has reached it, where erases in SLC mode
    /// count by the share of a cycle that they cost.
    fn is_worn(&self, block: BlockId, erases: u32, limit: u32, modes: [u32; 2]) -> bool {
        let in_slc = self.in_slc[block as usize];
        let [of_normal, of_slc, limit] = [modes[0], modes[1], limit].map(u64::from);
        u64::from(erases - in_slc) * of_slc + u64::from(in_slc) * of_normal >= limit * of_slc
    }

    /// Returns `true` if erases in SLC mode wear a block by another share than others do.
    pub(crate) fn tells_modes(&self) -> bool {
        self.modes.is_some()
    }

    /// Counts an erase of `block` in SLC mode.
    pub(crate) fn erased_in_slc(&mut self, block: BlockId) {
        if let Some(erases) = self.in_slc.get_mut(block as usize) {
            *erases += 1;
        }
    }

    /// Notes the `erases`-th erase of `block`, of `plane`: blocks that it wears out are bad. Returns the state
    /// of the block.
    #[inline]
    pub(crate) fn erased(
        &mut self,
        plane: PlaneId,
        block: BlockId,
        erases: u32,
        moment: impl FnOnce() -> (Counters, Option<Packing>),
    ) -> AfterErase {
        if self.is_last(block, erases) {
            let (counters, packing) = moment();
            self.retire(plane, block, counters, packing);
            return AfterErase::Bad;
        }
        let Some(losses) = &mut self.losses else { return AfterErase::Same };
        let before = losses.lost(block);
        let Some(lost) = losses.erased(block, erases) else { return AfterErase::Same };
        let (counters, packing) = moment();
        let moment = Moment { counters, packing, bad_blocks: self.bad_blocks };
        self.first_failure.get_or_insert(moment);
        self.loses(plane, u64::from(lost - before), moment);
        AfterErase::Smaller(lost)
    }

    /// Takes pages from the reserve of a plane.
    fn loses(&mut self, plane: PlaneId, pages: u64, moment: Moment) {
        let plane = &mut self.planes[plane as usize];
        plane.lost += pages;
        if plane.lost > plane.reserve {
            self.system_failure.get_or_insert((moment, Cause::Reserve));
        }
    }

    /// Retires `block`, of `plane`, which has worn out.
    pub(crate) fn retire(
        &mut self,
        plane: PlaneId,
        block: BlockId,
        counters: Counters,
        packing: Option<Packing>,
    ) {
        debug_assert!(!self.bad[block as usize], "block {block} wears out twice");
        self.bad[block as usize] = true;
        self.bad_blocks += 1;
        self.failures.push(counters.host_pages);
        let moment = Moment { counters, packing, bad_blocks: self.bad_blocks };
        self.first_failure.get_or_insert(moment);
        if self.is_apart(block) {
            return;
        }
        let lost_before = self.losses.as_ref().map_or(0, |losses| losses.lost(block));
        if let Some(losses) = &mut self.losses {
            losses.retire(block);
        }
        self.loses(plane, u64::from(self.pages_per_block - lost_before), moment);
    }

    /// Returns `true` if `block` is always in SLC mode.
    fn is_apart(&self, block: BlockId) -> bool {
        let (blocks, set_aside) = self.shape;
        block % blocks >= blocks - set_aside
    }

    /// Records that the pool had no block for a victim's pages.
    pub(crate) fn ran_dry(&mut self, counters: Counters, packing: Option<Packing>) {
        let moment = Moment { counters, packing, bad_blocks: self.bad_blocks };
        self.system_failure.get_or_insert((moment, Cause::Pool));
    }

    /// Checks that the count of lost pages of every plane is right, and that no plane has lost more than its
    /// reserve unless the failure is recorded.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let (blocks, set_aside) = self.shape;
        let parts = self.bad.chunks(blocks as usize);
        for (number, (plane, bad)) in self.planes.iter().zip(parts).enumerate() {
            let first = number as u32 * blocks;
            let bad = (first..).zip(&bad[..(blocks - set_aside) as usize]);
            let lost = bad.map(|(block, &is_bad)| match (is_bad, &self.losses) {
                (true, _) => self.pages_per_block,
                (false, losses) => losses.as_ref().map_or(0, |losses| losses.lost(block)),
            });
            let lost: u64 = lost.map(u64::from).sum();
            fail_if!(
                lost != plane.lost,
                "plane {number}: {lost} pages lost with bad blocks, {} counted",
                plane.lost
            );
            fail_if!(
                lost > plane.reserve && self.system_failure.is_none(),
                "plane {number}: {lost} pages are lost, its reserve is {}, without a failure",
                plane.reserve
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endurance::Endurance;
    use crate::frontier::Frontier;
    use crate::geometry::Geometry;
    use crate::layout::Layout;

    #[test]
    fn the_reserve_is_what_promises_and_frontier_leave() {
        // Of 20 blocks of 4 pages, the 62 promised pages need 15.5, so 16. The pool keeps 3, and 1
        // is left.
        let geometry = Geometry::new(20, 4, 62).unwrap();
        let lifespan =
            Lifespan { endurance: Endurance::fixed(2), ends_at: EndOfLife::SystemFailure };
        let layout = PlaneLayout::one(Layout {
            frontier: Frontier::Pool { low: 1 },
            lifespan: Some(lifespan),
            seed: 1,
            ..Layout::new(geometry)
        });
        let mut wear = Wear::new(lifespan, &layout, &[62]);
        assert_eq!(wear.reserve(), 1);
        let counters = |erases| Counters { erases, host_pages: 4 * erases, ..Counters::default() };
        assert!(!wear.is_last(5, 1) && wear.is_last(5, 2));
        wear.retire(0, 5, counters(2), None);
        assert!(wear.is_bad(5) && !wear.has_ended());
        wear.retire(0, 6, counters(4), None);
        assert!(wear.has_ended());
        let first = Moment { counters: counters(2), packing: None, bad_blocks: 1 };
        let system = Moment { counters: counters(4), packing: None, bad_blocks: 2 };
        assert_eq!(wear.failures(), [8, 16]);
        assert_eq!(wear.first_failure(), Some(first));
        assert_eq!(wear.system_failure(), Some((system, Cause::Reserve)));
    }

    #[test]
    fn a_superblock_bears_what_the_weakest_of_its_blocks_bears() {
        let lifespan = Lifespan {
            endurance: Endurance::parse("normal:mean=1000,cv=0.2").unwrap(),
            ends_at: EndOfLife::FirstFailure,
        };
        let limits = |blocks: u32, planes: u32| {
            let geometry = Geometry::new(blocks, 12 * planes, 24).unwrap();
            let layout = PlaneLayout::one(Layout {
                frontier: Frontier::Pool { low: 1 },
                blocks_together: planes,
                lifespan: Some(lifespan),
                seed: 1,
                ..Layout::new(geometry)
            });
            Wear::new(lifespan, &layout, &[24]).limits().to_vec()
        };
        let (of_blocks, of_superblocks) = (limits(24, 1), limits(8, 3));
        let weakest: Vec<u32> =
            of_blocks.chunks(3).map(|blocks| *blocks.iter().min().unwrap()).collect();
        assert_eq!(of_superblocks, weakest);
    }
}
