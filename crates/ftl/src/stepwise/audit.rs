//! The audit of the page map over planes: every invariant, checked by plain counting.

use super::Stepwise;
use super::map::{Plane, PlaneMap};
use super::tables::Tables;
use crate::frontier::Active;
use crate::page_map::UNMAPPED;
use crate::track::Tracker;
use crate::victim::VictimPolicy;

/// Checks the tables against themselves; the text says which invariant does not hold.
pub(super) fn audit<P: VictimPolicy>(map: &PlaneMap<P>) -> Result<(), String> {
    let tables = &map.tables;
    let geometry = &tables.geometry;
    let (b, bits) = (geometry.pages_per_block(), geometry.offset_bits());
    let mut mapped = 0u64;
    for (page, &ppn) in tables.map.iter().enumerate().filter(|&(_, &ppn)| ppn != UNMAPPED) {
        let (block, offset) = (ppn >> bits, ppn & ((1 << bits) - 1));
        if block >= geometry.blocks() || offset >= b {
            return Err(format!("page {page} is mapped to {ppn:#x}, outside the drive"));
        }
        if !tables.is_live(ppn) {
            return Err(format!("page {page} is mapped to block {block} page {offset}: not live"));
        }
        let holder = tables.reverse[block as usize * b as usize + offset as usize];
        if holder as usize != page {
            return Err(format!("page {page} is mapped where page {holder} lies"));
        }
        mapped += 1;
    }
    // Every mapped page has a live bit of its own, so equal totals leave no live bit unmapped.
    let live: u64 = tables.live.iter().map(|word| u64::from(word.count_ones())).sum();
    if live != mapped {
        return Err(format!("{mapped} pages are mapped, {live} are live"));
    }
    for (number, plane) in map.planes.iter().enumerate() {
        let counts = plane.blocks.masked_counts().iter();
        let full = b as u16;
        let dead: u64 =
            counts.filter(|&&count| count <= full).map(|&count| u64::from(full - count)).sum();
        if map.reclaimable_pages(number as u32) != dead {
            return Err(format!("plane {number}: {dead} pages of candidates are dead, miscounted"));
        }
        audit_plane(tables, plane).map_err(|why| format!("plane {number}: {why}"))?;
    }
    map.audit_zombies()
}

fn audit_plane<P: VictimPolicy>(tables: &Tables, plane: &Plane<P>) -> Result<(), String> {
    let (b, bits) = (tables.geometry.pages_per_block(), tables.geometry.offset_bits());
    let first_ppn = |block: u32| (plane.first_block + block) << bits;
    let mut waiting = vec![0u32; plane.blocks.len() as usize];
    plane.pool.blocks().into_iter().for_each(|block| waiting[block as usize] += 1);
    if waiting.iter().any(|&times| times > 1) || plane.pool.blocks().len() != plane.pool.len() {
        return Err("a block waits in the pool twice, or the pool miscounts".to_string());
    }
    let mut valid_pages = 0;
    let mut candidates = 0;
    for block in 0..plane.blocks.len() {
        let first = first_ppn(block);
        let valid = (0..b).filter(|offset| tables.is_live(first | offset)).count();
        valid_pages += valid as u64;
        if valid != usize::from(plane.blocks.valid(block)) {
            return Err(format!(
                "block {block} holds {valid} live pages, the table says {}",
                plane.blocks.valid(block)
            ));
        }
        let is_open = plane.open.iter().any(|active| active.block == block);
        let in_pool = waiting[block as usize] == 1;
        let is_candidate = plane.blocks.is_candidate(block);
        let is_victim = plane.under_way.as_ref().is_some_and(|victim| victim.block == block);
        candidates += u32::from(is_candidate);
        let states = [is_open, in_pool, is_candidate, is_victim];
        if states.into_iter().filter(|&state| state).count() != 1 {
            return Err(format!(
                "block {block} is open: {is_open}, in the pool: {in_pool}, a candidate: \
                 {is_candidate}, the victim: {is_victim}; expected exactly one"
            ));
        }
        if in_pool && (valid > 0 || plane.blocks.is_programmed(block)) {
            return Err(format!("block {block} is in the pool but not erased"));
        }
    }
    if candidates != plane.blocks.candidates() {
        return Err(format!("{candidates} candidates, counted as {}", plane.blocks.candidates()));
    }
    if valid_pages != plane.valid_pages {
        return Err(format!("{valid_pages} live pages, counted as {}", plane.valid_pages));
    }
    for &active in &plane.open {
        let beyond = |active: Active| {
            (active.next..b).any(|offset| tables.is_live(first_ppn(active.block) | offset))
        };
        if active.block != Active::NO_BLOCK && (active.next > b || beyond(active)) {
            return Err(format!("block {} has live pages beyond its frontier", active.block));
        }
    }
    let mut open: Vec<_> = plane.open.iter().map(|active| active.block).collect();
    open.retain(|&block| block != Active::NO_BLOCK);
    open.sort_unstable();
    if let Some(pair) = open.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("block {} is open twice", pair[0]));
    }
    let erases: u64 = plane.blocks.erase_counts().iter().map(|&count| u64::from(count)).sum();
    if erases != plane.counters.erases {
        return Err(format!("{erases} erases of blocks, {} counted", plane.counters.erases));
    }
    plane.tracker.audit(&plane.blocks)
}
