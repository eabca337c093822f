//! The candidate with the best score where scores grow with time: exact, without a look at every
//! block at every pick.

use flashgc_base::fail_if;
use flashgc_base::snapshot::{State, Value};

use super::{Origin, Tracker};
use crate::blocks::{BlockId, BlockTable, NOT_A_CANDIDATE};
use crate::geometry::{Geometry, UNMAPPED};
use flashgc_base::table::{bytes_of, prefetch, tree_levels};

/// Children of a node.
const FAN: usize = 16;

/// Distance in dead pages at which the data of a block are prefetched.
const AHEAD: usize = 16;

/// No block: the winner of a node without candidates.
const NONE: BlockId = BlockId::MAX;

/// A time that never comes.
const NEVER: u64 = u64::MAX;

/// A bound on the rounding of a score and of its growth, as a share of them: some ten roundings of
/// half a unit in the last place, 1.1e-16 each.
const ROUNDING: f64 = 4e-15;

/// A block's score now and how it grows as long as no page dies: by at least `slope dt + curve
/// dt^2` and at most `rise dt + curve dt^2`.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// The score that picks compare.
    pub(crate) value: f64,
    /// Like `value`, but with the true age even if it is below 1. Growth counts from here, so the
    /// growing `floor` is never above the score of such a young block.
    floor: f64,
    slope: f64,
    rise: f64,
    curve: f64,
}

impl Course {
    /// A score that time does not change.
    #[inline(always)]
    pub fn constant(value: f64) -> Self {
        Self { value, floor: value, slope: 0.0, rise: 0.0, curve: 0.0 }
    }

    /// `gain * age / cost`, an age below 1 counted as 1, and infinite where the cost is 0. The only
    /// division is the last step. Products of whole numbers are exact, so equal scores give equal
    /// numbers.
    #[inline(always)]
    pub fn linear(gain: f64, age: f64, cost: f64) -> Self {
        let value = gain * age.max(1.0) / cost;
        let floor = if age < 1.0 { gain * age / cost } else { value };
        let slope = gain / cost;
        Self { value, floor, slope, rise: slope, curve: 0.0 }
    }

    /// `gain * ln(1 + age) / cost`, and infinite where the cost is 0. It rises ever more slowly, so
    /// its growth now is a bound on all later growth.
    #[inline(always)]
    pub fn logarithmic(gain: f64, age: f64, cost: f64) -> Self {
        let value = if cost == 0.0 { f64::INFINITY } else { gain * libm::log1p(age) / cost };
        Self { value, floor: value, slope: 0.0, rise: gain / (cost * (1.0 + age)), curve: 0.0 }
    }

    /// `gain * total / cost`. The whole number `total` grows by `growth` with each page programmed;
    /// below 1 it counts as 1.
    #[inline(always)]
    pub fn total(total: f64, growth: f64, gain: f64, cost: f64) -> Self {
        let value = gain * total.max(1.0) / cost;
        let floor = if total < 1.0 { gain * total / cost } else { value };
        let slope = gain * growth / cost;
        Self { value, floor, slope, rise: slope, curve: 0.0 }
    }

    /// `gain * age * other / cost` with two ages, each below 1 counted as 1.
    #[inline(always)]
    pub fn quadratic(gain: f64, age: f64, other: f64, cost: f64) -> Self {
        let (a, o) = (age.max(1.0), other.max(1.0));
        let value = gain * a * o / cost;
        let floor = if age.min(other) < 1.0 { gain * age * other / cost } else { value };
        let slope = gain * (a + o) / cost;
        Self { value, floor, slope, rise: slope, curve: gain / cost }
    }

    /// Returns a time on the clock until which this course certainly stays ahead of `other`, or
    /// equal to it. `other` is not better at `now`.
    #[inline]
    fn ahead_until(&self, other: &Course, now: u64) -> u64 {
        let same = self.rise == other.rise && self.curve == other.curve;
        if self.value == f64::INFINITY {
            return NEVER;
        }
        if self.floor < self.value {
            // The age is raised to 1, so the score stands still for a moment. An equal score with
            // an age of 1 passes it.
            return now + 1;
        }
        if same && self.value == other.value {
            return NEVER;
        }
        let gap = self.floor - other.value - ROUNDING * self.value;
        let closing = other.rise - self.slope + ROUNDING * other.rise;
        let bending = other.curve - self.curve + ROUNDING * other.curve;
        if closing <= 0.0 && bending <= 0.0 {
            return NEVER;
        }
        if gap <= 0.0 {
            return now + 1;
        }
        // The time dt until the gap closes is the smallest positive root of gap = closing dt +
        // bending dt^2, in the form in which no digits cancel. Without a root, or if both terms are
        // negative, the gap stays.
        let root = closing * closing + 4.0 * bending * gap;
        if root < 0.0 || (bending < 0.0 && closing <= 0.0) {
            return NEVER;
        }
        let dt = 2.0 * gap / (closing + root.sqrt());
        // A very large `dt` saturates in the cast; no clock reaches such a time.
        now.saturating_add((dt * (1.0 - ROUNDING)) as u64).saturating_add(1)
    }
}

/// The way in which the scores of blocks to which nothing happened have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// They have not.
    None,
    /// None has risen.
    Down,
    /// Some may have risen.
    Any,
}

/// A policy's data about the blocks, and the score that it computes from them. The largest score is
/// picked.
#[allow(unused_variables)] // the names say what an implementation is told
pub trait Score: State + Send {
    /// `true` if the tree must call [`Score::programmed`].
    const FOLLOWS_PROGRAMS: bool = false;

    /// `true` if the score depends on zombies. A page that becomes a zombie must raise neither the
    /// score nor its growth.
    const FOLLOWS_ZOMBIES: bool = false;
    /// Bytes that [`Score::start`] makes room for on a drive of this shape.
    fn bytes(&self, shape: &Geometry) -> u64 {
        0
    }

    /// `true` if the tree must call [`Score::heritage`] and [`Score::inherited`].
    const FOLLOWS_ORIGINS: bool = false;

    /// Returns the heritage of a page, as [`Tracker::heritage`] does.
    fn heritage(&self, block: BlockId, copied: bool, time: u64) -> u64 {
        0
    }

    /// Takes over a heritage, as [`Tracker::inherited`] does. The block is open.
    fn inherited(&mut self, block: BlockId, heritage: Option<u64>, copied: bool, time: u64) {}

    /// An SLC block is folded, as [`Tracker::folded`] says.
    fn folded(&mut self, block: BlockId) {}

    /// Makes room for the blocks of `blocks`.
    fn start(&mut self, blocks: &BlockTable) {}

    /// The score of a candidate that was closed at `closed`. The score is 0 for a block without an
    /// invalid page. It is never negative, and never falls with time.
    fn course(&self, blocks: &BlockTable, block: BlockId, closed: u64, now: u64) -> Course;

    /// The order of equal scores: the least value comes first. Blocks of equal value are ordered by
    /// their wear.
    #[inline(always)]
    fn tie(&self, blocks: &BlockTable, block: BlockId) -> u32 {
        0
    }

    /// A page of `block` died at `time`. May be called for several pages before any course is asked
    /// for.
    #[inline(always)]
    fn lost(&mut self, blocks: &BlockTable, block: BlockId, offset: u32, time: u64) {}

    /// Prefetches the data of a block whose course will soon be asked for. `block` may be any
    /// number.
    #[inline(always)]
    fn fetch(&self, block: usize) {}

    /// Returns `true` if a dead page may lower its block's score or its growth.
    #[inline(always)]
    fn falls(&self) -> bool {
        false
    }

    /// Pages from `offset` on were programmed in this order, the last of them now.
    fn programmed(&mut self, blocks: &BlockTable, block: BlockId, offset: u32, count: u32) {}

    /// `block` became a candidate.
    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {}

    /// `block` was picked, and will be erased before the next pick if it was ever programmed.
    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {}

    /// Called before a pick. Returns how the scores of blocks to which nothing happened have
    /// changed.
    fn settle(&mut self, blocks: &BlockTable) -> Shift {
        Shift::None
    }

    /// `true` if [`Score::most`] bounds the score.
    const IS_BOUNDED: bool = false;

    /// Returns a bound on the score of a candidate closed at `closed`, up to the time `until`, if it
    /// loses pages until `valid` of them are valid, or fewer pages. The bound never falls with
    /// `until`, nor with fewer valid pages.
    fn most(
        &self,
        blocks: &BlockTable,
        block: BlockId,
        valid: u32,
        closed: u64,
        until: u64,
    ) -> f64 {
        f64::INFINITY
    }
}

/// One of this many blocks, at least, has the least score of the tree or a better one when the
/// tree is made.
const INSIDE: usize = 64;

/// The limits of blocks hold until one of this many blocks' pages has been programmed.
const SPELLS: u64 = 4;

/// The limit of a block that is in the tree with any number of valid pages.
const ALWAYS: u32 = u32::MAX;

/// A tournament tree whose nodes know how long they hold: a kinetic tournament.
///
/// A node names the best candidate under it, and the clock until which no other candidate there can
/// pass it. The courses give that time. When a page dies, its block is compared with the winner of
/// its group, and goes on up only while it wins. A node is outdated if its time is over, or if its
/// winner was taken or fell back. It is made anew when a node above it is. The root is made anew
/// before the next pick.
///
/// Blocks that cannot be picked soon stay out of the tree, and most pages die on them. A block is
/// in it while its valid pages are fewer than its limit. Before a limit is reached, the score of
/// the block is below `least` until the clock is `until`. When that time comes, or when the best
/// block of the tree is below `least`, a new `least` is taken from the scores of all blocks, and
/// all limits with it. The tree takes 12 bytes a block, beside the data of the score.
///
/// Equal scores: the score's rule of ties, then the block erased less often, then the one closed
/// earlier, then the lower number.
#[derive(Clone, Debug, State)]
pub struct Kinetic<S> {
    #[snapshot(state)]
    score: S,
    #[snapshot(table)]
    closed: Vec<u64>,
    /// The levels of the tree, from groups of blocks up to the root.
    #[snapshot(tables)]
    levels: Vec<Vec<Node>>,
    /// A block with at least as many valid pages is not in the tree.
    #[snapshot(table)]
    limits: Vec<u32>,
    /// A score that the best block of the tree has, or exceeds.
    least: f64,
    /// The clock until which the limits hold.
    until: u64,
    #[snapshot(skip)]
    offset_bits: u32,
}

#[derive(Clone, Copy, Debug, Value)]
struct Node {
    winner: BlockId,
    /// The winner is the best while the clock is below `until`, which is no later than the `until`
    /// of any child that still holds.
    until: u64,
    /// The winner's score is never below the line `slope * clock + base`.
    slope: f64,
    base: f64,
}

impl Node {
    const EMPTY: Self = Self { winner: NONE, until: NEVER, slope: 0.0, base: 0.0 };

    fn new(winner: BlockId, course: &Course, until: u64, now: u64) -> Self {
        if course.value == f64::INFINITY {
            return Self { winner, until, slope: 0.0, base: f64::INFINITY };
        }
        let since = course.slope * now as f64;
        let base = course.floor - since - ROUNDING * (course.value + since);
        Self { winner, until, slope: course.slope, base }
    }

    /// Returns `true` if the node alone shows that a block on this course stays behind the winner
    /// as long as the node holds. Courses and their slopes only rise, unless a dead page outdates
    /// the node.
    #[inline(always)]
    fn leaves_behind(&self, course: &Course, now: u64) -> bool {
        let line = |clock: f64| self.slope * clock * (1.0 - ROUNDING) + self.base;
        // A line that is behind another one at both ends is behind it between them.
        let later = |clock: f64| course.value + course.rise * (clock - now as f64);
        course.curve == 0.0
            && course.value < line(now as f64)
            && (course.rise * (1.0 + ROUNDING) <= self.slope
                || later(self.until as f64) * (1.0 + ROUNDING) < line(self.until as f64))
    }
}

impl<S: Score> Kinetic<S> {
    /// The tree of a drive on which no block is a candidate yet.
    pub fn new(blocks: &BlockTable, mut score: S) -> Self {
        score.start(blocks);
        let sizes = tree_levels(blocks.len(), FAN);
        let levels = sizes.into_iter().map(|size| vec![Node::EMPTY; size]).collect();
        let offset_bits = blocks.pages_per_block().next_power_of_two().trailing_zeros();
        let count = blocks.len() as usize;
        Self {
            score,
            closed: vec![0; count],
            levels,
            limits: vec![ALWAYS; count],
            least: 0.0,
            until: if S::IS_BOUNDED { 0 } else { NEVER },
            offset_bits,
        }
    }

    /// The best candidate, once the tree is settled.
    pub fn first(&self) -> Option<BlockId> {
        let root = self.levels.last()?[0];
        (root.winner != NONE).then_some(root.winner)
    }

    /// Finds the best candidate by a look at every block: the tree must agree with it.
    pub fn scan(&self, blocks: &BlockTable) -> Option<BlockId> {
        let best = self.best_of(blocks, 0..blocks.len(), blocks.clock(), |_| true);
        best.map(|(block, _)| block)
    }

    /// Returns `true` if `block` is in the tree.
    #[inline(always)]
    fn holds(&self, blocks: &BlockTable, block: BlockId) -> bool {
        let count = blocks.masked_count(block);
        count < self.limits[block as usize] && count < NOT_A_CANDIDATE
    }

    /// The limit of `block`: the fewest valid pages with which its score stays below `least`.
    fn limit(&self, blocks: &BlockTable, block: BlockId) -> u32 {
        let closed = self.closed[block as usize];
        let stays_out =
            |valid: u32| self.score.most(blocks, block, valid, closed, self.until) < self.least;
        let full = blocks.pages_per_block();
        if !S::IS_BOUNDED || !stays_out(full) {
            return ALWAYS;
        }
        let (mut below, mut limit) = (0, full);
        while below < limit {
            let middle = below + (limit - below) / 2;
            if stays_out(middle) {
                limit = middle;
            } else {
                below = middle + 1;
            }
        }
        limit
    }

    /// Finds `least` and all limits anew. All nodes are outdated then.
    fn set_limits(&mut self, blocks: &BlockTable) {
        let now = blocks.clock();
        let candidates = (0..blocks.len()).filter(|&block| blocks.is_candidate(block));
        let mut scores: Vec<f64> =
            candidates.clone().map(|block| self.course(blocks, block, now).value).collect();
        let inside = scores.len() / INSIDE;
        self.until =
            now + u64::from(blocks.len()) * u64::from(blocks.pages_per_block()) / SPELLS + 1;
        self.least = match scores.len() {
            0 => 0.0,
            _ => *scores.select_nth_unstable_by(inside, |a, b| b.total_cmp(a)).1,
        };
        for block in candidates {
            self.limits[block as usize] = self.limit(blocks, block);
        }
        self.outdate_all();
    }

    fn outdate_all(&mut self) {
        self.levels.iter_mut().flatten().for_each(|node| node.until = 0);
    }

    #[inline(always)]
    fn course(&self, blocks: &BlockTable, block: BlockId, now: u64) -> Course {
        self.score.course(blocks, block, self.closed[block as usize], now)
    }

    /// Returns `true` if block `a` goes before block `b`. Each block comes with its score.
    #[inline(always)]
    fn before(&self, blocks: &BlockTable, a: (BlockId, f64), b: (BlockId, f64)) -> bool {
        let key = |block: BlockId| {
            let (tie, erases) = (self.score.tie(blocks, block), blocks.erase_count(block));
            (tie, erases, self.closed[block as usize], block)
        };
        a.1 > b.1 || (a.1 == b.1 && key(a.0) < key(b.0))
    }

    fn best_of(
        &self,
        blocks: &BlockTable,
        range: std::ops::Range<u32>,
        now: u64,
        takes_part: impl Fn(BlockId) -> bool,
    ) -> Option<(BlockId, Course)> {
        let mut best: Option<(BlockId, Course)> = None;
        for block in range.filter(|&block| blocks.is_candidate(block) && takes_part(block)) {
            let course = self.course(blocks, block, now);
            let first = best.is_none_or(|(held, winner)| {
                self.before(blocks, (block, course.value), (held, winner.value))
            });
            if first {
                best = Some((block, course));
            }
        }
        best
    }

    /// Moves `block`, whose course may be better than before, up the tree as far as it wins.
    fn improved(&mut self, blocks: &BlockTable, block: BlockId) {
        let now = blocks.clock();
        let course = self.course(blocks, block, now);
        let mut index = block as usize;
        let mut until = NEVER;
        let mut wins = true;
        for level in 0..self.levels.len() {
            index /= FAN;
            let node = self.levels[level][index];
            if node.until <= now {
                continue; // it is made anew with the node above it, which may still hold
            }
            if wins && node.winner != block && node.winner != NONE {
                if until == NEVER && node.leaves_behind(&course, now) {
                    return;
                }
                let winner = self.course(blocks, node.winner, now);
                wins = self.before(blocks, (block, course.value), (node.winner, winner.value));
                let (ahead, behind) = if wins { (&course, &winner) } else { (&winner, &course) };
                until = until.min(ahead.ahead_until(behind, now));
            }
            let node = &mut self.levels[level][index];
            if wins {
                *node = Node::new(block, &course, node.until.min(until), now);
            } else if node.until <= until {
                return;
            } else {
                node.until = until;
            }
        }
    }

    /// Outdates the nodes that `block` wins, because it falls back or drops out. Nodes above with
    /// another winner still hold: the block that takes the place of `block` was behind it, and
    /// `block` was behind those winners.
    #[inline]
    fn outdate(&mut self, block: BlockId, now: u64) {
        let mut index = block as usize;
        for level in &mut self.levels {
            index /= FAN;
            let node = &mut level[index];
            if node.winner == block {
                node.until = 0;
            } else if node.until > now {
                return;
            }
        }
    }

    /// Makes the root anew if it is outdated.
    fn renew_root(&mut self, blocks: &BlockTable, now: u64) {
        let top = self.levels.len() - 1;
        if self.levels[top][0].until <= now {
            self.renew(blocks, top, 0, now);
        }
    }

    /// Returns `true` if no block outside the tree is better than the root's winner.
    fn is_known(&self, blocks: &BlockTable, now: u64) -> bool {
        let best = self.first().map(|block| self.course(blocks, block, now).value);
        best.is_some_and(|value| value >= self.least)
    }

    fn renew(&mut self, blocks: &BlockTable, level: usize, index: usize, now: u64) {
        let mut entrants = [(NONE, Course::constant(0.0)); FAN];
        let mut count = 0;
        let mut until = NEVER;
        let first = index * FAN;
        if level == 0 {
            let last = (first + FAN).min(blocks.len() as usize);
            for block in (first as u32..last as u32).filter(|&block| self.holds(blocks, block)) {
                entrants[count] = (block, self.course(blocks, block, now));
                count += 1;
            }
        } else {
            for child in first..(first + FAN).min(self.levels[level - 1].len()) {
                if self.levels[level - 1][child].until <= now {
                    self.renew(blocks, level - 1, child, now);
                }
                let Node { winner, until: held, .. } = self.levels[level - 1][child];
                until = until.min(held);
                if winner != NONE {
                    entrants[count] = (winner, self.course(blocks, winner, now));
                    count += 1;
                }
            }
        }
        let entrants = &entrants[..count];
        let mut winner = (NONE, Course::constant(0.0));
        for &(block, course) in entrants {
            let held = (winner.0, winner.1.value);
            if winner.0 == NONE || self.before(blocks, (block, course.value), held) {
                winner = (block, course);
            }
        }
        for (block, course) in entrants {
            if *block != winner.0 {
                until = until.min(winner.1.ahead_until(course, now));
            }
        }
        self.levels[level][index] = match winner {
            (NONE, _) => Node::EMPTY,
            (block, course) => Node::new(block, &course, until, now),
        };
    }
}

impl<S: Score> Tracker for Kinetic<S> {
    const FOLLOWS_DEATHS: bool = true;
    const FOLLOWS_PROGRAMS: bool = S::FOLLOWS_PROGRAMS;
    const FOLLOWS_ORIGINS: bool = S::FOLLOWS_ORIGINS;
    const FOLLOWS_ZOMBIES: bool = S::FOLLOWS_ZOMBIES;

    /// Bytes of the tree alone, without those of the score.
    fn bytes(shape: &Geometry) -> u64 {
        let nodes = tree_levels(shape.blocks(), FAN).iter().sum();
        let blocks = shape.blocks() as usize;
        bytes_of::<u64>(blocks) + bytes_of::<u32>(blocks) + bytes_of::<Node>(nodes)
    }

    fn pages_died(&mut self, blocks: &BlockTable, old: &[u32], since: u64) {
        let bits = self.offset_bits;
        let dead = || old.iter().filter(|&&ppn| ppn != UNMAPPED).map(|ppn| ppn >> bits);
        for (time, &ppn) in (since..).zip(old).filter(|&(_, &ppn)| ppn != UNMAPPED) {
            self.score.lost(blocks, ppn >> bits, ppn & ((1 << bits) - 1), time);
        }
        if self.score.falls() {
            let now = blocks.clock();
            for block in dead() {
                if self.holds(blocks, block) {
                    self.outdate(block, now);
                }
            }
        }
        for (index, &ppn) in old.iter().enumerate() {
            if let Some(&ahead) = old.get(index + AHEAD) {
                let block = (ahead >> bits) as usize;
                if S::IS_BOUNDED {
                    prefetch(&self.limits, block);
                } else {
                    prefetch(&self.closed, block);
                    self.score.fetch(block);
                }
            }
            let block = ppn >> bits;
            if ppn != UNMAPPED && self.holds(blocks, block) {
                self.improved(blocks, block);
            }
        }
    }

    fn pages_programmed(&mut self, blocks: &BlockTable, first: u32, count: u32) {
        let (block, offset) = (first >> self.offset_bits, first & ((1 << self.offset_bits) - 1));
        self.score.programmed(blocks, block, offset, count);
    }

    fn heritage(&self, ppn: u32, copied: bool, time: u64) -> u64 {
        self.score.heritage(ppn >> self.offset_bits, copied, time)
    }

    fn inherited(&mut self, ppn: u32, heritage: Option<u64>, origin: Origin, time: u64) {
        self.score.inherited(ppn >> self.offset_bits, heritage, origin.is_copy(), time);
    }

    fn folded(&mut self, block: BlockId) {
        self.score.folded(block);
    }

    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {
        self.closed[block as usize] = blocks.clock();
        self.score.closed(blocks, block);
        self.limits[block as usize] = self.limit(blocks, block);
        if self.holds(blocks, block) {
            self.improved(blocks, block);
        }
    }

    fn zombie_marked(&mut self, blocks: &BlockTable, block: BlockId) {
        self.outdate(block, blocks.clock());
    }

    fn zombie_revived(&mut self, blocks: &BlockTable, block: BlockId) {
        if self.holds(blocks, block) {
            self.improved(blocks, block);
        }
    }

    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {
        self.score.taken(blocks, block);
        self.outdate(block, blocks.clock());
    }

    fn settle(&mut self, blocks: &BlockTable) {
        let now = blocks.clock();
        let shift = self.score.settle(blocks);
        if S::IS_BOUNDED && (shift == Shift::Any || now >= self.until) {
            self.set_limits(blocks);
        } else if shift != Shift::None {
            self.outdate_all();
        }
        self.renew_root(blocks, now);
        if S::IS_BOUNDED && blocks.candidates() > 0 && !self.is_known(blocks, now) {
            self.set_limits(blocks);
            self.renew_root(blocks, now);
        }
    }

    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        let now = blocks.clock();
        let mut span = 1;
        for (height, level) in self.levels.iter().enumerate() {
            span *= FAN as u32;
            for (index, node) in (0..).zip(level).filter(|(_, node)| node.until > now) {
                let last = ((index + 1) * span).min(blocks.len());
                let holds = |block| self.holds(blocks, block);
                let best = self.best_of(blocks, index * span..last, now, holds);
                let best = best.map_or(NONE, |(block, _)| block);
                fail_if!(
                    best != node.winner,
                    "block {best} is the best under node {index} of level {height}, which names {}",
                    node.winner
                );
            }
        }
        Ok(())
    }
}
