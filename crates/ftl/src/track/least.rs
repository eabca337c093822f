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

/// The tie of a block that does not take part.
const ABSENT: u64 = u64::MAX;

/// Children a node.
const FAN: usize = 16;

/// A tournament tree over the blocks' keys: the valid count, then what breaks ties.
///
/// A page lost notes when the block lost the page and looks at one node; it climbs only where
/// the block becomes the least of its node's span, which is rare. Taking a block recomputes one
/// node a level. 8.6 bytes a block.
#[derive(Clone, Debug)]
pub struct Least {
    ties: Ties,
    /// Events so far: pages lost and blocks closed.
    clock: u64,
    /// What breaks ties, least first, or [`ABSENT`].
    tie: Vec<u64>,
    /// `nodes[0]` holds the least key of every `FAN` blocks, each further level the least of every
    /// `FAN` keys below, padded with `u64::MAX`; the last has one entry.
    nodes: Vec<Vec<u64>>,
}

impl Least {
    /// The tree of a drive on which no block is a candidate yet.
    pub fn new(blocks: &BlockTable, ties: Ties) -> Self {
        let mut size = (blocks.len() as usize).div_ceil(FAN);
        let mut nodes = Vec::new();
        while size > 1 {
            nodes.push(vec![u64::MAX; size.next_multiple_of(FAN)]);
            size = size.div_ceil(FAN);
        }
        nodes.push(vec![u64::MAX]);
        Self { ties, clock: 0, tie: vec![ABSENT; blocks.len() as usize], nodes }
    }

    /// The first candidate in order of valid pages and the rule for ties.
    pub fn first(&self, blocks: &BlockTable) -> Option<BlockId> {
        let least = self.nodes.last()?[0];
        if least == u64::MAX {
            return None;
        }
        let mut index = 0;
        for level in self.nodes.iter().rev().skip(1) {
            let node = &level[index * FAN..][..FAN];
            index = index * FAN + node.iter().position(|&key| key == least)?;
        }
        self.span(index).find(|&block| self.key(blocks, block) == least).map(|block| block as u32)
    }

    /// Whether `block` takes part.
    #[inline(always)]
    pub(super) fn holds(&self, block: BlockId) -> bool {
        self.tie[block as usize] != ABSENT
    }

    /// Lets `block` take part with `count` valid pages.
    pub(super) fn insert(&mut self, block: BlockId, count: u16) {
        self.clock += 1;
        self.tie[block as usize] = match self.ties {
            Ties::Latest => TIE_MASK - self.clock,
            Ties::Oldest => self.clock,
            Ties::Lowest => u64::from(block),
        };
        self.climb(block, count);
    }

    /// Those of `lost` that take part have lost a page each.
    pub(super) fn decrement_members(&mut self, blocks: &BlockTable, lost: &[BlockId]) {
        for &block in lost {
            let tie = &mut self.tie[block as usize];
            if *tie == ABSENT {
                continue;
            }
            self.clock += 1;
            if self.ties == Ties::Latest {
                *tie = TIE_MASK - self.clock;
            }
            let count = blocks.valid(block);
            if u64::from(count) <= self.nodes[0][block as usize / FAN] >> TIE_BITS {
                self.climb(block, count);
            }
        }
    }

    /// Takes `block` out.
    pub(super) fn remove(&mut self, blocks: &BlockTable, block: BlockId) {
        self.tie[block as usize] = ABSENT;
        let mut index = block as usize / FAN;
        let mut key =
            self.span(index).map(|block| self.key(blocks, block)).fold(u64::MAX, u64::min);
        for depth in 0..self.nodes.len() {
            if self.nodes[depth][index] == key {
                break;
            }
            self.nodes[depth][index] = key;
            index /= FAN;
            if depth + 1 < self.nodes.len() {
                key = least(&self.nodes[depth][index * FAN..][..FAN]);
            }
        }
    }

    /// Carries the key of `block`, which is below its former one, as far up as it is the least.
    #[inline(never)]
    fn climb(&mut self, block: BlockId, count: u16) {
        let key = (u64::from(count) << TIE_BITS) | self.tie[block as usize];
        let mut index = block as usize;
        for level in &mut self.nodes {
            index /= FAN;
            if key >= level[index] {
                break;
            }
            level[index] = key;
        }
    }

    /// The blocks under the lowest node number `index`.
    fn span(&self, index: usize) -> std::ops::Range<usize> {
        index * FAN..((index + 1) * FAN).min(self.tie.len())
    }

    #[inline]
    fn key(&self, blocks: &BlockTable, block: usize) -> u64 {
        match self.tie[block] {
            ABSENT => u64::MAX,
            tie => (u64::from(blocks.valid(block as BlockId)) << TIE_BITS) | tie,
        }
    }

    /// Whether every node is the least of its children.
    pub(super) fn audit_nodes(&self, blocks: &BlockTable) -> Result<(), String> {
        let spans = self.tie.len().div_ceil(FAN);
        let keys = (0..spans).map(|index| {
            self.span(index).map(|block| self.key(blocks, block)).fold(u64::MAX, u64::min)
        });
        let mut below: Vec<u64> = keys.collect();
        for level in &self.nodes {
            below.resize(level.len(), u64::MAX);
            if *level != below {
                return Err("a node of the tree is not the least of its children".to_string());
            }
            below = level.chunks(FAN).map(least).collect();
        }
        Ok(())
    }
}

fn least(keys: &[u64]) -> u64 {
    keys.iter().copied().fold(u64::MAX, u64::min)
}

impl Tracker for Least {
    const FOLLOWS_PAGES: bool = true;

    fn pages_lost(&mut self, blocks: &BlockTable, lost: &[BlockId]) {
        self.decrement_members(blocks, lost);
    }

    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {
        self.insert(block, blocks.masked_count(block));
    }

    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        self.remove(blocks, block);
    }

    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        let wrong =
            (0..blocks.len()).find(|&block| self.holds(block) != blocks.is_candidate(block));
        if let Some(block) = wrong {
            return Err(format!("block {block} is in the tree or a candidate, not both"));
        }
        self.audit_nodes(blocks)
    }
}
