//! The candidate with the fewest valid pages, kept exactly at amortised O(1) a write.

use super::Tracker;
use crate::blocks::{BlockId, BlockTable};
use crate::spec::{Kind, Param};

/// Which of several candidates with equally few valid pages is first. It matters: with 1% of the
/// pages taking 99% of the writes, write amplification differs by 17% between the extremes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The one that lost a page last, as a list of blocks a count gives that pushes and pops at
    /// its head.
    Latest,
    /// The one that was closed first.
    Oldest,
    /// The one with the lowest number.
    Lowest,
}

impl Ties {
    /// The parameter `ties` of policies that break ties.
    pub const PARAM: Param = Param {
        name: "ties",
        kind: Kind::Word(&["latest", "oldest", "lowest"]),
        default: Some("latest"),
        help: "among equals: the block that lost a page last, closed first, or lowest number",
    };

    /// The rule of that name; `latest` for any other.
    pub fn named(name: &str) -> Self {
        match name {
            "oldest" => Self::Oldest,
            "lowest" => Self::Lowest,
            _ => Self::Latest,
        }
    }
}

/// Bits of a key below the count.
const TIE_BITS: u32 = 48;
const TIE_MASK: u64 = (1 << TIE_BITS) - 1;

/// Children a node.
const FAN: usize = 16;

/// A tournament tree over the blocks' keys: the masked count, then what breaks ties.
///
/// A host write lowers one key and looks at one node; it climbs only while the block is the least
/// of its node's span, which is rare. Taking a block recomputes one node a level. 8.6 bytes a
/// block.
#[derive(Clone, Debug)]
pub struct Least {
    ties: Ties,
    /// Events so far: pages lost and blocks closed.
    clock: u64,
    /// `levels[0]` holds the blocks' keys, each further level the least of every `FAN` keys below,
    /// padded with `u64::MAX`; the last has one entry.
    levels: Vec<Vec<u64>>,
}

impl Least {
    /// The tree of a drive on which no block is a candidate yet.
    pub fn new(blocks: &BlockTable, ties: Ties) -> Self {
        let mut size = blocks.len() as usize;
        let mut levels = Vec::new();
        while size > 1 {
            levels.push(vec![u64::MAX; size.next_multiple_of(FAN)]);
            size = size.div_ceil(FAN);
        }
        levels.push(vec![u64::MAX]);
        Self { ties, clock: 0, levels }
    }

    /// The first candidate in order of valid pages and the rule for ties.
    pub fn first(&self) -> Option<BlockId> {
        let least = self.levels.last()?[0];
        if least >> TIE_BITS >= u64::from(crate::blocks::NOT_A_CANDIDATE) {
            return None;
        }
        let mut index = 0;
        for level in self.levels.iter().rev().skip(1) {
            let node = &level[index * FAN..][..FAN];
            index = index * FAN + node.iter().position(|&key| key == least)?;
        }
        Some(index as BlockId)
    }

    /// Whether `block` takes part.
    #[inline(always)]
    pub(super) fn holds(&self, block: BlockId) -> bool {
        self.levels[0][block as usize] != u64::MAX
    }

    /// Lets `block` take part with `count` valid pages.
    pub(super) fn insert(&mut self, block: BlockId, count: u16) {
        self.clock += 1;
        let tie = match self.ties {
            Ties::Latest => TIE_MASK - self.clock,
            Ties::Oldest => self.clock,
            Ties::Lowest => 0,
        };
        self.lower(block, (u64::from(count) << TIE_BITS) | tie);
    }

    /// `block` has lost a page.
    #[inline(always)]
    pub(super) fn decrement(&mut self, block: BlockId) {
        self.clock += 1;
        let key = self.levels[0][block as usize] - (1 << TIE_BITS);
        let key = match self.ties {
            Ties::Latest => (key & !TIE_MASK) | (TIE_MASK - self.clock),
            Ties::Oldest | Ties::Lowest => key,
        };
        self.lower(block, key);
    }

    pub(super) fn remove(&mut self, block: BlockId) {
        let mut index = block as usize;
        let mut key = u64::MAX;
        for depth in 0..self.levels.len() {
            if self.levels[depth][index] == key {
                break;
            }
            self.levels[depth][index] = key;
            index /= FAN;
            if depth + 1 < self.levels.len() {
                let node = &self.levels[depth][index * FAN..][..FAN];
                key = node.iter().copied().fold(u64::MAX, u64::min);
            }
        }
    }

    /// Gives `block` a key below the one it has.
    #[inline(always)]
    fn lower(&mut self, block: BlockId, key: u64) {
        let mut index = block as usize;
        self.levels[0][index] = key;
        for level in &mut self.levels[1..] {
            index /= FAN;
            if key >= level[index] {
                break;
            }
            level[index] = key;
        }
    }

    /// Whether the tree agrees with the table for the blocks that take part.
    pub(super) fn audit_counts(&self, blocks: &BlockTable) -> Result<(), String> {
        let keys = &self.levels[0];
        for block in (0..blocks.len()).filter(|&block| self.holds(block)) {
            let count = (keys[block as usize] >> TIE_BITS) as u16;
            if count != blocks.masked_count(block) {
                return Err(format!("block {block} has a stale count in the tree"));
            }
        }
        for pair in self.levels.windows(2) {
            let nodes =
                pair[0].chunks(FAN).map(|node| node.iter().copied().fold(u64::MAX, u64::min));
            if !nodes.eq(pair[1].iter().copied().take(pair[0].len().div_ceil(FAN))) {
                return Err("a node of the tree is not the least of its children".to_string());
            }
        }
        Ok(())
    }
}

impl Tracker for Least {
    #[inline(always)]
    fn invalidated(&mut self, block: BlockId, masked: u16) {
        if masked < crate::blocks::NOT_A_CANDIDATE {
            self.decrement(block);
        }
    }

    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {
        self.insert(block, blocks.masked_count(block));
    }

    fn taken(&mut self, _: &BlockTable, block: BlockId) {
        self.remove(block);
    }

    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        if let Some(block) =
            (0..blocks.len()).find(|&block| self.holds(block) != blocks.is_candidate(block))
        {
            return Err(format!("block {block} is in the tree or a candidate, not both"));
        }
        self.audit_counts(blocks)
    }
}
