//! The audit of a log-block mapping: every invariant, checked by plain counting.

use crate::blocks::BlockId;
use crate::geometry::UNMAPPED;
use crate::log_map::hybrid::{Hybrid, NO_BLOCK, Role};
use flashgc_base::fail_if;
use flashgc_base::residency::{NotCached, Residency};

/// Checks the state against itself; `logs` are the buffer's log blocks, each with the number of its
/// programmed pages. The text says which invariant does not hold.
pub(super) fn audit(hybrid: &Hybrid, logs: &[(BlockId, u32)]) -> Result<(), String> {
    let geometry = &hybrid.geometry;
    let (b, bits) = (geometry.pages_per_block(), geometry.offset_bits());
    let mut mapped = vec![0u32; geometry.blocks() as usize];
    for (page, &ppn) in (0u32..).zip(&*hybrid.map).filter(|&(_, &ppn)| ppn != UNMAPPED) {
        let (block, offset) = (ppn >> bits, ppn & ((1 << bits) - 1));
        fail_if!(
            block >= geometry.blocks() || offset >= b,
            "page {page} is mapped to {ppn:#x}, outside the drive"
        );
        fail_if!(
            !hybrid.is_live(block, offset) || hybrid.page_at(block, offset) != page,
            "page {page} is mapped to block {block} page {offset}, not there"
        );
        if let Role::Data(lbn) = hybrid.roles[block as usize]
            && (lbn, offset) != (page / b, page % b)
        {
            return Err(format!("page {page} is at offset {offset} of the data block of {lbn}"));
        }
        mapped[block as usize] += 1;
    }
    for block in 0..geometry.blocks() {
        let live = (0..b).filter(|&offset| hybrid.is_live(block, offset)).count() as u32;
        let counted = hybrid.blocks.valid(block);
        fail_if!(
            live != mapped[block as usize] || live != counted,
            "block {block} has {live} live pages, {} mapped, {counted} counted",
            mapped[block as usize]
        );
        fail_if!(
            (0..b).any(|at| hybrid.is_live(block, at) && !hybrid.is_written(block, at)),
            "block {block} has a live page that was never programmed"
        );
    }
    audit_roles(hybrid, logs)?;
    let erases: u64 = hybrid.blocks.erase_counts().iter().map(|&count| u64::from(count)).sum();
    fail_if!(
        erases != hybrid.counters.erases,
        "{erases} erases of blocks, {} counted",
        hybrid.counters.erases
    );
    let merges = hybrid.merges;
    let kinds = merges.switch + merges.partial + merges.full + merges.dead;
    fail_if!(
        kinds != hybrid.counters.collections,
        "{kinds} merges, {} collections",
        hybrid.counters.collections
    );
    Ok(())
}

/// Checks that every block has exactly one role: erased and in the pool, data block of one logical
/// block, or log block. Checks that the pool has a block for a merge.
fn audit_roles(hybrid: &Hybrid, logs: &[(BlockId, u32)]) -> Result<(), String> {
    let b = hybrid.b();
    let pool = hybrid.pool.blocks();
    for block in 0..hybrid.geometry.blocks() {
        let in_pool = pool.iter().filter(|&&other| other == block).count();
        let as_data = hybrid.data.iter().filter(|&&other| other == block).count();
        let log = logs.iter().filter(|&&(other, _)| other == block).count();
        let expected = match hybrid.roles[block as usize] {
            Role::Free => (1, 0, 0),
            Role::Data(lbn) if hybrid.data[lbn as usize] == block => (0, 1, 0),
            Role::Data(lbn) => {
                return Err(format!("block {block} is not the data block of {lbn}"));
            }
            Role::Log => (0, 0, 1),
        };
        fail_if!(
            (in_pool, as_data, log) != expected,
            "block {block} is {in_pool} times in the pool, {as_data} times a data block, {log} \
             times a log block; expected {expected:?}"
        );
        let written = (0..b).filter(|&offset| hybrid.is_written(block, offset)).count() as u32;
        fail_if!(
            in_pool == 1 && (written > 0 || hybrid.blocks.is_programmed(block)),
            "block {block} is in the pool but not erased"
        );
        let full = logs.iter().any(|&(other, next)| other == block && next == b);
        fail_if!(
            hybrid.blocks.is_candidate(block) && !full,
            "block {block} may be collected but is no full log block"
        );
    }
    for &(block, next) in logs {
        fail_if!(
            (0..b).any(|offset| hybrid.is_written(block, offset) != (offset < next)),
            "log block {block} is not programmed in order up to {next}"
        );
    }
    fail_if!(pool.is_empty(), "no erased block is left for a merge");
    match hybrid.data.iter().filter(|&&block| block != NO_BLOCK).count() + logs.len() + pool.len() {
        all if all == hybrid.geometry.blocks() as usize => Ok(()),
        all => Err(format!("{all} blocks in use or in the pool")),
    }
}

/// Checks that the data kept to weigh log blocks equal those computed from every page.
pub(super) fn audit_beside(
    hybrid: &mut Hybrid,
    logs: &[(BlockId, u32)],
    memory: &mut dyn Residency,
) -> Result<(), String> {
    // A scheme that does not look into the host's memory sees every page as not cached.
    let memory = if hybrid.scheme.is_unaware() { &mut NotCached } else { memory };
    if let Some(weigher) = &mut hybrid.weigher {
        weigher.refresh(&hybrid.map, memory);
    }
    let Some(weigher) = &hybrid.weigher else { return Ok(()) };
    let blocks: Vec<BlockId> = logs.iter().map(|&(block, _)| block).collect();
    weigher.agrees(&hybrid.weighed(memory), &blocks)
}
