//! The checks of a store. `check` makes sure that a store read from a checkpoint names only blocks,
//! classes and pages that exist. The audit checks every invariant by plain counting.

use flashgc_base::fail_if;
use flashgc_base::snapshot::Fault;

use super::{Active, Kept, PageStore, Plane, Region, Tables, UnderWay};
use crate::blocks::BlockId;
use crate::track::Tracker;
use crate::victim::VictimPolicy;
use crate::wear::Wear;

impl<P: VictimPolicy> PageStore<P> {
    /// Counts what superblocks have lost, which is not saved. Checks that every block, class and page that the
    /// planes name exists.
    pub(super) fn check(&mut self) -> Result<(), Fault> {
        let erases =
            self.planes.iter().flat_map(|plane| plane.blocks.erase_counts().iter().copied());
        if let Some(lost) = self.wear.as_mut().and_then(|wear| wear.restore_losses(erases)) {
            let per_plane = lost.chunks(self.tables.blocks_per_plane as usize);
            for (plane, lost) in self.planes.iter_mut().zip(per_plane) {
                plane.blocks.restore_lost(lost.iter().copied());
                plane.lost_in_pool = plane.count_lost_in_pool();
            }
        }
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
            fail_if!(!holds, "a plane names a block that there is not");
        }
        fail_if!(
            self.zombies.is_some()
                == self.planes.iter().all(|plane| plane.blocks.zombie_counts().is_empty()),
            "zombies are kept where they should not be, or the other way round"
        );
        Ok(())
    }

    /// Checks the store against itself; the text says which invariant does not hold.
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.audit_map()?;
        for (number, plane) in self.planes.iter().enumerate() {
            let audited = audit_plane(&self.tables, self.wear.as_ref(), plane)
                .and_then(|()| self.audit_history(plane));
            audited.map_err(|why| {
                if self.planes.len() == 1 { why } else { format!("plane {number}: {why}") }
            })?;
        }
        self.wear.as_ref().map_or(Ok(()), |wear| self.audit_wear(wear))?;
        self.audit_zombies()
    }

    /// Checks the history of the blocks of `plane`, where one is kept.
    fn audit_history(&self, plane: &Plane<P>) -> Result<(), String> {
        let Some(history) = plane.blocks.history() else { return Ok(()) };
        let class_of = |block| self.sorting.class_of_block(plane.first_block + block);
        history.audit(plane.blocks.clock(), plane.counters.host_pages, class_of)
    }

    /// Checks that every mapped page is live exactly once, where the map says.
    fn audit_map(&self) -> Result<(), String> {
        let tables = &self.tables;
        let geometry = &tables.geometry;
        let mut mapped = 0u64;
        for page in 0..geometry.logical_pages() {
            let Some(ppn) = self.locate(page) else { continue };
            let (block, offset) = tables.place_of(ppn);
            fail_if!(
                block >= geometry.blocks() || offset >= geometry.pages_per_block(),
                "page {page} is mapped to {ppn:#x}, outside the drive"
            );
            fail_if!(
                !tables.is_live(ppn),
                "page {page} is mapped to block {block} page {offset}: not live"
            );
            let holder = tables.pages_of(block)[offset as usize];
            fail_if!(holder != page, "page {page} is mapped where page {holder} lies");
            mapped += 1;
        }
        // Every mapped page has a live bit of its own, so equal totals leave no live bit unmapped.
        let live: u64 = tables.live.iter().map(|word| u64::from(word.count_ones())).sum();
        if live == mapped {
            Ok(())
        } else {
            Err(format!("{mapped} pages are mapped, {live} are live"))
        }
    }

    /// Checks that the bad blocks are those at their limit. Checks, too, that before the end of
    /// life the other blocks of each plane have room for the promised pages and for the blocks that
    /// the frontier keeps.
    fn audit_wear(&self, wear: &Wear) -> Result<(), String> {
        let mut bad = 0;
        for plane in &self.planes {
            for block in 0..plane.blocks.len() {
                let number = plane.first_block + block;
                let (erases, limit) =
                    (plane.blocks.erase_count(block), wear.limits()[number as usize]);
                let is_bad = wear.is_bad(number);
                let before = wear.is_last(number, erases.saturating_sub(1));
                fail_if!(
                    wear.is_last(number, erases) != is_bad || !wear.tells_modes() && before,
                    "block {number} bears {limit} erases and had {erases}; bad: {is_bad}"
                );
                bad += u32::from(is_bad);
            }
        }
        fail_if!(bad != wear.bad_blocks(), "{bad} blocks are bad, {} counted", wear.bad_blocks());
        wear.audit()
    }
}

fn audit_plane<P: VictimPolicy>(
    tables: &Tables,
    wear: Option<&Wear>,
    plane: &Plane<P>,
) -> Result<(), String> {
    let b = tables.geometry.pages_per_block();
    let pool = plane.pool.blocks();
    let mut waiting = vec![0u32; plane.blocks.len() as usize];
    pool.iter().for_each(|&block| waiting[block as usize] += 1);
    fail_if!(
        waiting.iter().any(|&times| times > 1) || pool.len() != plane.pool.len(),
        "a block waits in the pool twice, or the pool miscounts"
    );
    fail_if!(
        plane.count_lost_in_pool() != plane.lost_in_pool,
        "the blocks in the pool have lost {} pages, {} counted",
        plane.count_lost_in_pool(),
        plane.lost_in_pool
    );
    let (mut valid_pages, mut candidates, mut lost_of_candidates) = (0, 0, 0);
    for block in 0..plane.blocks.len() {
        let first = tables.first_ppn(plane.first_block + block);
        let valid = (0..b).filter(|offset| tables.is_live(first | offset)).count();
        valid_pages += valid as u64;
        fail_if!(
            valid != plane.blocks.live(block) as usize,
            "block {block} holds {valid} live pages, the table says {}",
            plane.blocks.live(block)
        );
        let lost = wear.and_then(|wear| wear.smaller(plane.first_block + block));
        let lost = lost.map_or(0, |smaller| smaller.lost());
        fail_if!(
            lost != plane.blocks.lost(block)
                || (0..lost).any(|offset| tables.is_live(first | offset)),
            "block {block} has lost {lost} pages, the table says {}, or one of them is live",
            plane.blocks.lost(block)
        );
        lost_of_candidates += if plane.blocks.is_candidate(block) { u64::from(lost) } else { 0 };
        let is_open = plane.open.iter().any(|active| active.block == block);
        let in_pool = waiting[block as usize] == 1;
        let is_candidate = plane.blocks.is_candidate(block);
        let is_victim = plane.under_way.as_ref().is_some_and(|victim| victim.block == block);
        let is_bad = wear.is_some_and(|wear| wear.is_bad(plane.first_block + block));
        candidates += u32::from(is_candidate);
        let in_region = plane.region.as_ref().is_some_and(|region| region.holds(block));
        let is_kept = plane.kept.as_ref().is_some_and(|kept| kept.holds(block));
        let states = [is_open, in_pool, is_candidate, is_victim, is_bad, in_region, is_kept];
        fail_if!(
            states.into_iter().filter(|&state| state).count() != 1,
            "block {block} is open: {is_open}, in the pool: {in_pool}, a candidate: \
             {is_candidate}, the victim: {is_victim}, bad: {is_bad}, in the SLC region: \
             {in_region}, kept by the placement: {is_kept}; expected exactly one"
        );
        fail_if!(is_bad && valid > 0, "block {block} is bad and holds {valid} live pages");
        fail_if!(
            in_pool && (valid > 0 || plane.blocks.is_programmed(block)),
            "block {block} is in the pool but not erased"
        );
    }
    fail_if!(
        candidates != plane.blocks.candidates(),
        "{candidates} candidates, counted as {}",
        plane.blocks.candidates()
    );
    fail_if!(
        lost_of_candidates != plane.blocks.lost_of_candidates(),
        "candidates have lost {lost_of_candidates} pages, {} counted",
        plane.blocks.lost_of_candidates()
    );
    fail_if!(
        valid_pages != plane.valid_pages,
        "{valid_pages} live pages, counted as {}",
        plane.valid_pages
    );
    audit_open(tables, plane)?;
    plane.kept.as_ref().map_or(Ok(()), Kept::audit)?;
    let erases: u64 = plane.blocks.erase_counts().iter().map(|&count| u64::from(count)).sum();
    fail_if!(
        erases != plane.counters.erases,
        "{erases} erases of blocks, {} counted",
        plane.counters.erases
    );
    let apart = plane.region.as_ref().map_or(0, Region::set_aside);
    let levelled = plane.blocks.len() - apart;
    plane.leveller.as_ref().map_or(Ok(()), |leveller| leveller.audit(&plane.blocks, levelled))?;
    plane.tracker.audit(&plane.blocks)
}

/// Checks that no block is open twice, and that no open block has live pages beyond its programmed
/// pages.
fn audit_open<P: VictimPolicy>(tables: &Tables, plane: &Plane<P>) -> Result<(), String> {
    let b = tables.geometry.pages_per_block();
    let mut open: Vec<Active> =
        plane.open.iter().copied().filter(|active| active.is_some()).collect();
    for active in &open {
        let first = tables.first_ppn(plane.first_block + active.block);
        fail_if!(
            active.next > b || (active.next..b).any(|offset| tables.is_live(first | offset)),
            "block {} has live pages beyond its frontier",
            active.block
        );
    }
    open.sort_unstable_by_key(|active| active.block);
    match open.windows(2).find(|pair| pair[0].block == pair[1].block) {
        Some(pair) => Err(format!("block {} is open twice", pair[0].block)),
        None => Ok(()),
    }
}
