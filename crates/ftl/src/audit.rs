//! The audit: every invariant of the page-mapped layer, checked by plain counting.

use crate::endurance::Wear;
use crate::frontier::Open;
use crate::page_map::{State, UNMAPPED};
use crate::track::Tracker;

/// Checks the state against itself; the text says which invariant does not hold.
pub(crate) fn audit<T: Tracker>(state: &State<T>, open: &Open) -> Result<(), String> {
    let geometry = &state.geometry;
    let (b, bits) = (geometry.pages_per_block(), geometry.offset_bits());
    let map = &*state.map;
    let reverse = &*state.reverse;
    let is_live = |ppn: u32| state.live[ppn as usize / 64] >> (ppn % 64) & 1 == 1;

    let mut mapped = 0u64;
    for (page, &entry) in map.iter().enumerate().filter(|&(_, &entry)| entry != UNMAPPED) {
        let ppn = state.ppn_of(entry);
        let (block, offset) = (ppn >> bits, ppn & ((1 << bits) - 1));
        if block >= geometry.blocks() || offset >= b {
            return Err(format!("page {page} is mapped to {ppn:#x}, outside the drive"));
        }
        if !is_live(ppn) {
            return Err(format!("page {page} is mapped to block {block} page {offset}: not live"));
        }
        let holder = reverse[(u64::from(block) * u64::from(b)) as usize + offset as usize];
        if holder as usize != page {
            return Err(format!("page {page} is mapped where page {holder} lies"));
        }
        mapped += 1;
    }
    // Every mapped page has a live bit of its own, so equal totals leave no live bit unmapped.
    let live: u64 = state.live.iter().map(|word| u64::from(word.count_ones())).sum();
    if live != mapped {
        return Err(format!("{mapped} pages are mapped, {live} are live"));
    }
    let pool = open.pool.blocks();
    let mut waiting = vec![false; geometry.blocks() as usize];
    pool.iter().for_each(|&block| waiting[block as usize] = true);
    let mut candidates = 0;
    for block in 0..geometry.blocks() {
        let first = block << bits;
        let valid = (0..b).filter(|offset| is_live(first | offset)).count();
        if valid != usize::from(state.blocks.valid(block)) {
            return Err(format!(
                "block {block} holds {valid} live pages, the table says {}",
                state.blocks.valid(block)
            ));
        }
        let is_open = open.active().any(|active| active.block == block);
        let in_pool = waiting[block as usize];
        let is_candidate = state.blocks.is_candidate(block);
        candidates += u32::from(is_candidate);
        let is_bad = state.wear.as_ref().is_some_and(|wear| wear.is_bad(block));
        if [is_open, in_pool, is_candidate, is_bad].into_iter().filter(|&state| state).count() != 1
        {
            return Err(format!(
                "block {block} is open: {is_open}, in the pool: {in_pool}, \
                 a candidate: {is_candidate}, bad: {is_bad}; expected exactly one"
            ));
        }
        if is_bad && valid > 0 {
            return Err(format!("block {block} is bad and holds {valid} live pages"));
        }
        if in_pool && (valid > 0 || state.blocks.is_programmed(block)) {
            return Err(format!("block {block} is in the pool but not erased"));
        }
    }
    if candidates != state.blocks.candidates() {
        return Err(format!("{candidates} candidates, counted as {}", state.blocks.candidates()));
    }
    for active in open.active() {
        let first = active.block << bits;
        if active.next > b || (active.next..b).any(|offset| is_live(first | offset)) {
            return Err(format!("block {} has live pages beyond its frontier", active.block));
        }
    }
    let mut blocks: Vec<_> = open.active().map(|active| active.block).collect();
    blocks.sort_unstable();
    if let Some(pair) = blocks.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("block {} is two frontiers", pair[0]));
    }
    let distinct = waiting.iter().filter(|&&waits| waits).count();
    if distinct != pool.len() || pool.len() != open.pool.len() {
        return Err(format!(
            "{distinct} blocks wait in a pool of {} that counts {}",
            pool.len(),
            open.pool.len()
        ));
    }
    if !open.kind.has_pool() && !pool.is_empty() {
        return Err("a frontier without a pool has blocks in it".to_string());
    }
    let erases: u64 = state.blocks.erase_counts().iter().map(|&count| u64::from(count)).sum();
    if erases != state.counters.erases {
        return Err(format!("{erases} erases of blocks, {} counted", state.counters.erases));
    }
    state.wear.as_ref().map_or(Ok(()), |wear| audit_wear(state, open, wear))?;
    state.leveller.as_ref().map_or(Ok(()), |leveller| leveller.audit(&state.blocks))?;
    state.audit_zombies()?;
    state.tracker.audit(&state.blocks)
}

/// Bad blocks are those at their limit, and before the end of life the others hold what is promised
/// and what the frontier keeps.
fn audit_wear<T>(state: &State<T>, open: &Open, wear: &Wear) -> Result<(), String> {
    let geometry = &state.geometry;
    for block in 0..geometry.blocks() {
        let (erases, limit) = (state.blocks.erase_count(block), wear.limits()[block as usize]);
        if erases > limit || (erases == limit) != wear.is_bad(block) {
            let bad = wear.is_bad(block);
            return Err(format!("block {block} bears {limit} erases and had {erases}; bad: {bad}"));
        }
    }
    let bad = (0..geometry.blocks()).filter(|&block| wear.is_bad(block)).count() as u32;
    if bad != wear.bad_blocks() {
        return Err(format!("{bad} blocks are bad, {} counted", wear.bad_blocks()));
    }
    let good = u64::from(geometry.blocks() - bad);
    let pages = good.saturating_sub(open.kept.into()) * u64::from(geometry.pages_per_block());
    if wear.system_failure().is_none() && pages < geometry.logical_pages().into() {
        return Err(format!(
            "{good} good blocks leave {pages} pages, fewer than the {} promised, without a failure",
            geometry.logical_pages()
        ));
    }
    Ok(())
}
