//! The candidate of the least rank, by default the candidate with the fewest valid pages, kept
//! exactly at amortised O(1) a write.

use std::fmt::Debug;
use std::marker::PhantomData;

use super::Tracker;
use crate::blocks::{BlockId, BlockTable, NOT_A_CANDIDATE};
use crate::geometry::Geometry;
use flashgc_base::fail_if;
use flashgc_base::snapshot::{State, Value};
use flashgc_base::spec::Param;
use flashgc_base::table::{bytes_of, tree_levels};

/// The order of candidates with equally few valid pages. The order matters. If 99% of the writes go
/// to 1% of the pages, with two frontiers, then `oldest` writes 16% less than `latest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The block that lost a page last. A list of blocks for each count, with pushes and pops at
    /// its head, gives this order.
    Latest,
    /// The block that was closed first.
    Oldest,
    /// The block with the lowest number.
    Lowest,
}

impl Ties {
    /// The parameter `ties` of policies that break ties.
    pub const PARAM: Param = Param::word("ties", &["latest", "oldest", "lowest"], Some("latest"))
        .help("among equals: the block that lost a page last, closed first, or lowest number");

    /// The rule called `name`; `latest` for any other name.
    pub fn named(name: &str) -> Self {
        match name {
            "oldest" => Self::Oldest,
            "lowest" => Self::Lowest,
            _ => Self::Latest,
        }
    }
}

/// The rule that ranks candidates: by valid pages alone, or by valid pages and zombies.
pub trait Rank: Send + 'static {
    /// The rank of a block and, in its lowest 32 bits, its tie. The lowest key is the best.
    type Key: Key;

    /// `true` if the rank depends on zombies.
    const FOLLOWS_ZOMBIES: bool = false;

    /// The key of a block of `pages_per_block` pages. `valid` of them are valid, and `zombies` of
    /// the valid ones are zombies. The rank falls with every page that dies, and never falls with a
    /// page that becomes a zombie.
    fn key(pages_per_block: u32, valid: u32, zombies: u32, tie: u32) -> Self::Key;

    /// The most valid pages that a block with this key or a lower one can have. For most blocks,
    /// the valid pages alone show that they are above a bound.
    fn most_valid(key: Self::Key) -> u32;
}

/// The key of a block in the tree: a whole number.
pub trait Key: Copy + Ord + Debug + Send + Value {
    /// The key where no block is.
    const NONE: Self;

    /// The tie in its lowest 32 bits.
    fn tie(self) -> u32;

    /// The highest key of the same rank.
    fn with_highest_tie(self) -> Self;
}

macro_rules! keys {
    ($($number:ty),*) => {$(
        impl Key for $number {
            const NONE: Self = Self::MAX;

            #[inline(always)]
            fn tie(self) -> u32 {
                self as u32
            }

            fn with_highest_tie(self) -> Self {
                self | Self::from(u32::MAX)
            }
        }
    )*};
}

keys!(u64, u128);

/// The rank of a block is its number of valid pages.
#[derive(Clone, Debug)]
pub struct Valid;

impl Rank for Valid {
    type Key = u64;

    #[inline(always)]
    fn key(_: u32, valid: u32, _: u32, tie: u32) -> u64 {
        (u64::from(valid) << 32) | u64::from(tie)
    }

    #[inline(always)]
    fn most_valid(key: u64) -> u32 {
        (key >> 32) as u32
    }
}

/// The tie of a block that does not take part.
const ABSENT: u32 = u32::MAX;

/// The largest number of an event that a tie can hold. After that event the ties are numbered anew.
const LAST_EVENT: u32 = u32::MAX - 1;

/// Children a node.
const FAN: usize = 16;

/// A new bound lets at least N / `INSIDE` of the N blocks into the tree.
const INSIDE: usize = 64;

/// A tournament tree over the keys of the blocks of low rank: the rank, then the key of ties.
///
/// Blocks above a bound stay out of the tree: they are no victims yet. Most pages die on them,
/// which costs one comparison each. A block enters when its rank falls to the bound. The bound is
/// found anew, by counting all blocks, when the tree runs empty and after every N victims. This is
/// O(1) a victim, amortised, because a new bound lets N/64 blocks in. Taking a victim recomputes
/// one node on each level. The tree takes 4.6 bytes a block.
#[derive(Clone, Debug, State)]
pub struct Least<R: Rank = Valid> {
    #[snapshot(skip)]
    ties: Ties,
    /// Events so far: pages lost and blocks closed.
    clock: u32,
    /// Highest key of a block in the tree.
    bound: R::Key,
    /// Victims until the bound is found anew; `None` if every block is in the tree.
    renew_in: Option<usize>,
    /// The key that breaks ties, least first, or [`ABSENT`].
    #[snapshot(table)]
    tie: Vec<u32>,
    /// The least key of every `FAN` blocks, padded with [`Key::NONE`] to a multiple of `FAN`.
    #[snapshot(table)]
    leaves: Vec<R::Key>,
    /// The levels above: each has the least of every `FAN` keys of the level below. The last level,
    /// which may be the only one, has one node in use.
    #[snapshot(tables)]
    upper: Vec<Vec<R::Key>>,
    #[snapshot(skip)]
    rank: PhantomData<R>,
}

impl<R: Rank> Least<R> {
    /// The tree of a drive on which no block is a candidate yet.
    pub fn new(blocks: &BlockTable, ties: Ties) -> Self {
        let bound = R::key(blocks.pages_per_block(), 0, 0, 0);
        Self { bound, renew_in: Some(blocks.len() as usize), ..Self::unbounded(blocks, ties) }
    }

    /// The tree without a bound, for small parts of the drive: every block that takes part is in
    /// it.
    pub(super) fn unbounded(blocks: &BlockTable, ties: Ties) -> Self {
        let mut levels = Self::levels(blocks.len()).map(|size| vec![Key::NONE; size]);
        let leaves = levels.next().unwrap_or_default();
        let upper = levels.collect();
        let tie = vec![ABSENT; blocks.len() as usize];
        Self {
            ties,
            clock: 0,
            bound: Key::NONE,
            renew_in: None,
            tie,
            leaves,
            upper,
            rank: PhantomData,
        }
    }

    /// The padded number of keys on each level. There is at least one level above the leaves.
    fn levels(blocks: u32) -> impl Iterator<Item = usize> {
        let leaves = (blocks as usize).div_ceil(FAN);
        let upper = tree_levels(leaves as u32, FAN);
        [leaves].into_iter().chain(upper).map(|size| size.next_multiple_of(FAN))
    }

    /// The candidate of the least rank; among equals, the rule for ties decides.
    pub fn first(&self, blocks: &BlockTable) -> Option<BlockId> {
        let least = self.upper.last()?[0];
        if least == Key::NONE {
            return None;
        }
        let mut index = 0;
        let below_top = self.upper.iter().rev().skip(1).chain([&self.leaves]);
        for level in below_top.take(self.upper.len()) {
            let node = &level[index * FAN..][..FAN];
            index = index * FAN + node.iter().position(|&key| key == least)?;
        }
        let entry = self.keys(blocks, index).find(|&(_, key)| key == least);
        entry.map(|(block, _)| block as BlockId)
    }

    /// Returns `true` if `block` takes part.
    #[inline(always)]
    pub(super) fn holds(&self, block: BlockId) -> bool {
        self.tie[block as usize] != ABSENT
    }

    /// Lets `block` take part.
    pub(super) fn insert(&mut self, blocks: &BlockTable, block: BlockId) {
        self.make_room_for(blocks, 1);
        self.clock += 1;
        let tie = match self.ties {
            Ties::Latest => LAST_EVENT - self.clock,
            Ties::Oldest => self.clock,
            Ties::Lowest => block,
        };
        self.tie[block as usize] = tie;
        let key = key::<R>(blocks, block, blocks.valid(block), tie);
        if key <= self.bound {
            self.lower(block, key);
        } else if self.is_empty() {
            self.renew(blocks);
        }
    }

    /// Counts a lost page of each block of `lost` that takes part. `ALL`: every candidate takes
    /// part.
    pub(super) fn decrement_members<const ALL: bool>(
        &mut self,
        blocks: &BlockTable,
        lost: &[BlockId],
    ) {
        self.make_room_for(blocks, lost.len() as u32 + 1);
        let (latest, bound) = (self.ties == Ties::Latest, self.bound);
        let most_valid = R::most_valid(bound);
        let counts = blocks.masked_counts();
        let mut clock = self.clock;
        for &block in lost {
            let count = counts[block as usize];
            let slot = &mut self.tie[block as usize];
            // `count` is loaded anyway. To load the tie as well, only for this test, would take
            // time.
            if if ALL { count >= NOT_A_CANDIDATE } else { *slot == ABSENT } {
                continue;
            }
            clock += 1;
            if latest {
                *slot = LAST_EVENT - clock;
            }
            if count > most_valid {
                continue;
            }
            let key = key::<R>(blocks, block, count, *slot);
            if key <= bound {
                self.lower(block, key);
            }
        }
        self.clock = clock;
    }

    /// Removes `block` from those that take part.
    pub(super) fn remove(&mut self, blocks: &BlockTable, block: BlockId) {
        self.tie[block as usize] = ABSENT;
        self.recompute(blocks, block as usize / FAN);
        if let Some(left) = &mut self.renew_in {
            *left -= 1;
            if *left == 0 || self.is_empty() {
                self.renew(blocks);
            }
        }
    }

    /// Recomputes the leaf number `index` and the nodes that depend on it.
    fn recompute(&mut self, blocks: &BlockTable, mut index: usize) {
        let mut key = self.least_of_span(blocks, index);
        let mut level = &mut self.leaves;
        for above in &mut self.upper {
            if level[index] == key {
                return;
            }
            level[index] = key;
            index /= FAN;
            key = least(&level[index * FAN..][..FAN]);
            level = above;
        }
        level[index] = key;
    }

    fn is_empty(&self) -> bool {
        self.upper.last().is_none_or(|top| top[0] == Key::NONE)
    }

    /// Gives `block` the key `key`. If the block is in the tree, this is below its present key.
    #[inline(never)]
    fn lower(&mut self, block: BlockId, key: R::Key) {
        let mut index = block as usize;
        for level in [&mut self.leaves].into_iter().chain(&mut self.upper) {
            index /= FAN;
            if key >= level[index] {
                break;
            }
            level[index] = key;
        }
    }

    /// Finds a bound that lets in N / [`INSIDE`] blocks or more, and makes the tree anew.
    fn renew(&mut self, blocks: &BlockTable) {
        let keys = (0..).zip(&self.tie).filter(|&(_, &tie)| tie != ABSENT);
        let mut keys: Vec<_> =
            keys.map(|(block, &tie)| key::<R>(blocks, block, blocks.valid(block), tie)).collect();
        let wanted = self.tie.len() / INSIDE;
        self.bound = match wanted < keys.len() {
            true => keys.select_nth_unstable(wanted).1.with_highest_tie(),
            false => Key::NONE,
        };
        self.renew_in = Some(self.tie.len());
        self.rebuild(blocks);
    }

    /// Numbers the ties anew, in the same order, if `events` more events would not fit.
    fn make_room_for(&mut self, blocks: &BlockTable, events: u32) {
        if LAST_EVENT - self.clock > events {
            return;
        }
        let mut order: Vec<usize> =
            (0..self.tie.len()).filter(|&block| self.tie[block] != ABSENT).collect();
        order.sort_by_key(|&block| self.tie[block]);
        self.clock = order.len() as u32;
        for (rank, &block) in (0..).zip(&order) {
            match self.ties {
                Ties::Latest => self.tie[block] = LAST_EVENT - self.clock + rank,
                Ties::Oldest => self.tie[block] = rank,
                Ties::Lowest => {}
            }
        }
        self.rebuild(blocks);
    }

    fn rebuild(&mut self, blocks: &BlockTable) {
        let mut below: Vec<R::Key> = (0..self.tie.len().div_ceil(FAN))
            .map(|span| self.least_of_span(blocks, span))
            .collect();
        for level in [&mut self.leaves].into_iter().chain(&mut self.upper) {
            below.resize(level.len(), Key::NONE);
            level.copy_from_slice(&below);
            below = level.chunks(FAN).map(least).collect();
        }
    }

    fn least_of_span(&self, blocks: &BlockTable, index: usize) -> R::Key {
        self.keys(blocks, index).map(|(_, key)| key).fold(Key::NONE, Ord::min)
    }

    /// The blocks under leaf number `index` that are in the tree, each with its key.
    #[inline]
    fn keys(&self, blocks: &BlockTable, index: usize) -> impl Iterator<Item = (usize, R::Key)> {
        let most_valid = R::most_valid(self.bound);
        let counts = &blocks.masked_counts()[..self.tie.len()];
        (index * FAN..((index + 1) * FAN).min(counts.len())).filter_map(move |block| {
            let valid = counts[block] & !NOT_A_CANDIDATE;
            if valid > most_valid || self.tie[block] == ABSENT {
                return None;
            }
            let key = key::<R>(blocks, block as BlockId, valid, self.tie[block]);
            (key <= self.bound).then_some((block, key))
        })
    }

    /// Checks that every node is the least of its children, and that the tree is not empty while
    /// blocks take part.
    pub(super) fn audit_nodes(&self, blocks: &BlockTable) -> Result<(), String> {
        fail_if!(
            self.is_empty() && (0..blocks.len()).any(|block| self.holds(block)),
            "the tree is empty though blocks take part"
        );
        let spans = self.tie.len().div_ceil(FAN);
        let mut below: Vec<R::Key> =
            (0..spans).map(|span| self.least_of_span(blocks, span)).collect();
        for level in [&self.leaves].into_iter().chain(&self.upper) {
            below.resize(level.len(), Key::NONE);
            fail_if!(*level != below, "a node of the tree is not the least of its children");
            below = level.chunks(FAN).map(least).collect();
        }
        Ok(())
    }
}

/// The key of `block`, with `valid` valid pages and the tie `tie`.
#[inline(always)]
fn key<R: Rank>(blocks: &BlockTable, block: BlockId, valid: u32, tie: u32) -> R::Key {
    let zombies = if R::FOLLOWS_ZOMBIES { blocks.zombies(block) } else { 0 };
    R::key(blocks.pages_per_block(), valid, zombies, tie)
}

fn least<K: Key>(keys: &[K]) -> K {
    keys.iter().copied().fold(K::NONE, Ord::min)
}

impl<R: Rank> Tracker for Least<R> {
    const FOLLOWS_PAGES: bool = true;
    const FOLLOWS_ZOMBIES: bool = R::FOLLOWS_ZOMBIES;

    fn bytes(shape: &Geometry) -> u64 {
        let ties = bytes_of::<u32>(shape.blocks() as usize);
        ties + bytes_of::<R::Key>(Self::levels(shape.blocks()).sum())
    }

    fn pages_lost(&mut self, blocks: &BlockTable, lost: &[BlockId]) {
        self.decrement_members::<true>(blocks, lost);
    }

    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {
        self.insert(blocks, block);
    }

    fn zombie_marked(&mut self, blocks: &BlockTable, block: BlockId) {
        let span = block as usize / FAN;
        // No two blocks have the same tie. If the least key of the span is another block's, it
        // stays the least.
        if self.leaves[span].tie() != self.tie[block as usize] {
            return;
        }
        self.recompute(blocks, span);
        if self.renew_in.is_some() && self.is_empty() {
            self.renew(blocks);
        }
    }

    fn zombie_revived(&mut self, blocks: &BlockTable, block: BlockId) {
        let key = key::<R>(blocks, block, blocks.valid(block), self.tie[block as usize]);
        if key <= self.bound {
            self.lower(block, key);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use flashgc_base::rng::Stream;

    #[test]
    fn numbering_ties_anew_changes_no_pick() {
        for ties in [Ties::Latest, Ties::Oldest, Ties::Lowest] {
            let counts: Vec<Option<u32>> = (0..300).map(|block| Some(60 - block % 3)).collect();
            let mut blocks = BlockTable::from_counts(64, &counts);
            let mut fresh = Least::<Valid>::new(&blocks, ties);
            let mut worn = Least::<Valid>::new(&blocks, ties);
            worn.clock = LAST_EVENT - 1500;
            let mut stream = Stream::new(1, "wear");
            for block in 0..300 {
                fresh.insert(&blocks, block);
                worn.insert(&blocks, block);
            }
            for _ in 0..4000 {
                let block = stream.below(300);
                if blocks.valid(block) == 0 {
                    continue;
                }
                blocks.counts_mut()[block as usize] -= 1;
                fresh.decrement_members::<true>(&blocks, &[block]);
                worn.decrement_members::<true>(&blocks, &[block]);
                let pick = fresh.first(&blocks);
                assert_eq!(worn.first(&blocks), pick);
                if let Some(pick) = pick.filter(|_| stream.below(4) == 0) {
                    for tree in [&mut fresh, &mut worn] {
                        tree.remove(&blocks, pick);
                    }
                    blocks.counts_mut()[pick as usize] = 60;
                    for tree in [&mut fresh, &mut worn] {
                        tree.insert(&blocks, pick);
                    }
                }
            }
            fresh.audit_nodes(&blocks).unwrap();
            worn.audit_nodes(&blocks).unwrap();
            assert!(worn.clock < 10_000, "the ties were numbered anew");
        }
    }
}
