//! The candidate with the fewest valid pages, kept exactly at amortised O(1) a write.

use super::Tracker;
use crate::blocks::{BlockId, BlockTable};

const FAN: usize = BlockTable::GROUP;

/// A tournament tree of fan-out 32 over the blocks' counts.
///
/// A host write lowers one count and looks at one node; it climbs only while the block is the
/// least of its node's span, so the climb ends at once almost always. Taking a block recomputes
/// one node of 32 counts a level, log32(N) of them a collection. N/31 entries of 2 bytes.
#[derive(Clone, Debug)]
pub struct MinCount {
    /// `levels[0][g]` is the least of counts `32 g .. 32 g + 32`, and so on up to a single node.
    levels: Vec<Vec<u16>>,
}

impl MinCount {
    /// The tree over `blocks` as they are now.
    pub fn new(blocks: &BlockTable) -> Self {
        let mut levels = vec![fold(blocks.padded_counts())];
        while let Some(top) = levels.last()
            && top.len() > 1
        {
            let mut padded = top.clone();
            padded.resize(top.len().next_multiple_of(FAN), u16::MAX);
            let above = fold(&padded);
            let last = levels.len() - 1;
            levels[last] = padded;
            levels.push(above);
        }
        Self { levels }
    }

    /// The candidate with the fewest valid pages, the lowest number among equals.
    pub fn first_minimum(&self, blocks: &BlockTable) -> Option<BlockId> {
        first_minimum(&self.levels, blocks.padded_counts())
    }

    #[inline(always)]
    pub(super) fn lower(&mut self, block: BlockId, count: u16) {
        let mut index = block as usize / FAN;
        if count < self.levels[0][index] {
            self.levels[0][index] = count;
            for level in &mut self.levels[1..] {
                index /= FAN;
                if count >= level[index] {
                    break;
                }
                level[index] = count;
            }
        }
    }

    pub(super) fn recompute(&mut self, counts: &[u16], block: BlockId) {
        let mut index = block as usize / FAN;
        let mut least = minimum(&counts[index * FAN..][..FAN]);
        for depth in 0..self.levels.len() {
            if self.levels[depth][index] == least {
                break;
            }
            self.levels[depth][index] = least;
            if depth + 1 < self.levels.len() {
                index /= FAN;
                least = minimum(&self.levels[depth][index * FAN..][..FAN]);
            }
        }
    }

    pub(super) fn first_minimum_of(&self, counts: &[u16]) -> Option<BlockId> {
        first_minimum(&self.levels, counts)
    }
}

impl Tracker for MinCount {
    #[inline(always)]
    fn invalidated(&mut self, block: BlockId, masked: u16) {
        self.lower(block, masked);
    }

    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {
        self.lower(block, blocks.masked_count(block));
    }

    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        self.recompute(blocks.padded_counts(), block);
    }

    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        let expected = blocks
            .masked_counts()
            .iter()
            .enumerate()
            .filter(|&(block, _)| blocks.is_candidate(block as u32))
            .min_by_key(|&(_, count)| count)
            .map(|(block, _)| block as u32);
        let found = self.first_minimum(blocks);
        if found == expected {
            return Ok(());
        }
        Err(format!("the tree's first minimum is {found:?}, a scan's {expected:?}"))
    }
}

fn first_minimum(levels: &[Vec<u16>], counts: &[u16]) -> Option<BlockId> {
    let least = levels.last()?[0];
    if least >= crate::blocks::NOT_A_CANDIDATE {
        return None;
    }
    let mut index = 0;
    for level in levels.iter().rev().skip(1).map(Vec::as_slice).chain([counts]) {
        let node = &level[index * FAN..][..FAN];
        index = index * FAN + node.iter().position(|&count| count == least)?;
    }
    Some(index as BlockId)
}

fn fold(counts: &[u16]) -> Vec<u16> {
    counts.chunks(FAN).map(minimum).collect()
}

#[inline]
fn minimum(counts: &[u16]) -> u16 {
    counts.iter().copied().fold(u16::MAX, u16::min)
}
