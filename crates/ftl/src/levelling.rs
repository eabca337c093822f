//! Data of the least worn block move into the most worn erased block.
//!
//! Blocks of cold data are never collected and never wear, while the other blocks share all erases.
//! After every `interval` erases of the policy's victims, the most erased block of the drive is
//! compared with the least erased candidate. If the difference exceeds `threshold`, that candidate
//! is collected in place of the policy's next victim (among equals: the lowest block number). Its
//! valid pages go to a separate write frontier, apart from host writes and other copies. The blocks
//! of that frontier are the most erased ones in the pool (among equals: the lowest block number).
//! Cold data thus rest in worn blocks, and the little worn block enters the pool. The frontier
//! keeps one more block. It needs a frontier with a pool. If the pool is empty, it waits for the
//! next interval.
//!
//! Rule: `if max ec - min ec > threshold: victim = argmin (ec, block)`.
//!
//! # Cost
//! A collection: log16(N) nodes of a tournament tree; a block of the levelling frontier: a scan
//! of the pool. 0.6 bytes a block. Copies: at most b for `interval` erases.
//!
//! # Source
//! The rule of Linux's UBI (MTD_UBI_WL_THRESHOLD, drivers/mtd/ubi/wl.c) and Micron TN-29-42; cold
//! data into worn blocks as in Chang, "On Efficient Wear Leveling for Large-Scale Flash-Memory
//! Storage Systems", SAC 2007. The interval, the frontier and the ties are our choice.

use std::fmt;

use crate::blocks::{BlockId, BlockTable};
use crate::counters::Levelled;
use crate::frontier::Frontier;
use flashgc_base::fail_if;
use flashgc_base::naming::subject;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Documented, Param, Params, Spec, SpecError};
use flashgc_base::table::{bytes_of, tree_levels};

/// The entry of one way to level wear in listings and help texts.
pub struct LevellingInfo {
    /// The name people type.
    pub name: &'static str,
    /// The parameters that the leveller takes.
    pub params: &'static [Param],
    /// The documentation as `//!` lines: summary, rule, cost and source. For `static`, this file's
    /// header.
    doc: &'static str,
}

impl Documented for LevellingInfo {
    fn source(&self) -> &'static str {
        self.doc
    }
}

static LEVELLINGS: &[LevellingInfo] = &[
    LevellingInfo {
        name: "none",
        params: &[],
        doc: "//! Cold data stay where they are: the victim policy alone decides what is collected.",
    },
    LevellingInfo {
        name: "static",
        params: &[
            Param::integer("threshold", (1, 1_000_000_000), Some("50")).help(
                "difference in erases between the most and the least worn block at which \
                 data are moved",
            ),
            Param::integer("interval", (1, 1_000_000_000), Some("10"))
                .help("erases of the policy's victims between two checks"),
        ],
        doc: include_str!("levelling.rs"),
    },
];

/// Every way to level wear, the default first.
pub fn wear_levellings() -> &'static [LevellingInfo] {
    LEVELLINGS
}

/// Static wear levelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levelling {
    /// Erases by which the most erased block may be ahead of the least erased candidate.
    pub threshold: u32,
    /// Erases of the policy's victims from one check to the next.
    pub interval: u32,
}

impl Levelling {
    /// Reads `text`, for example `static:threshold=50,interval=10`; `None` for `none`.
    pub fn parse(text: &str) -> Result<Option<Self>, SpecError> {
        let spec = Spec::parse(text)?;
        let info = spec.entry("wear levelling", LEVELLINGS, |info| info.name)?;
        let params = Params::resolve(&spec, info.params)?;
        Ok((info.name == "static").then(|| Self {
            threshold: params.integer("threshold") as u32,
            interval: params.integer("interval") as u32,
        }))
    }

    /// Checks that a drive with this frontier has the pool of erased blocks that wear levelling
    /// needs.
    pub(crate) fn check(self, frontier: Frontier) -> Result<(), SpecError> {
        frontier.check_pool(
            format!("{} static", subject("wear_levelling")),
            "without a pool no worn block is free for the cold data",
        )
    }
}

/// Writes the spec with every parameter.
impl fmt::Display for Levelling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "static:threshold={},interval={}", self.threshold, self.interval)
    }
}

/// The state of static wear levelling on one drive: when a check is due, and which block is
/// collected.
#[derive(State)]
pub(crate) struct Leveller {
    #[snapshot(skip)]
    levelling: Levelling,
    #[snapshot(state)]
    least: LeastErased,
    most_erases: u32,
    /// Erases of the policy's victims until the next check.
    left: u32,
    pub(crate) levelled: Levelled,
}

impl Leveller {
    /// The leveller of a drive whose blocks were never erased. No block is a candidate yet.
    pub(crate) fn new(levelling: Levelling, blocks: &BlockTable) -> Self {
        Self {
            levelling,
            least: LeastErased::new(blocks),
            most_erases: 0,
            left: levelling.interval,
            levelled: Levelled::default(),
        }
    }

    /// Returns a new leveller with the same parameters, for a drive with the erase counts of
    /// `blocks`. No block is a candidate yet.
    pub(crate) fn anew(&self, blocks: &BlockTable) -> Self {
        let most_erases = blocks.erase_counts().iter().copied().max().unwrap_or_default();
        Self { most_erases, ..Self::new(self.levelling, blocks) }
    }

    /// Bytes that a leveller keeps on a drive of `blocks` blocks.
    pub(crate) fn bytes(blocks: u32) -> u64 {
        bytes_of::<u64>(tree_levels(blocks, FAN).iter().sum())
    }

    /// `block` became a candidate, or ceased to be one.
    pub(crate) fn changed(&mut self, blocks: &BlockTable, block: BlockId) {
        self.least.changed(blocks, block);
    }

    /// A victim has been erased; it now has `erases` erases. If wear levelling picked it,
    /// `levelled` is the number of valid pages that it had; `None` for a victim of the policy. A
    /// folded block that the pool lent counts as a victim of the policy.
    pub(crate) fn erased(&mut self, erases: u32, levelled: Option<usize>) {
        self.most_erases = self.most_erases.max(erases);
        match levelled {
            Some(valid) => {
                self.levelled.collections += 1;
                self.levelled.copied_pages += valid as u64;
            }
            None => self.left = self.left.saturating_sub(1),
        }
    }

    /// The candidate to collect in place of the policy's next victim. `None` if no such collection
    /// is due, or if the candidate has more than `room` valid pages.
    pub(crate) fn victim(&mut self, blocks: &BlockTable, room: u32) -> Option<BlockId> {
        if self.left > 0 {
            return None;
        }
        self.left = self.levelling.interval;
        let block = self.least.first()?;
        let ahead = self.most_erases - blocks.erase_count(block);
        let due = ahead > self.levelling.threshold && blocks.live(block) <= room;
        due.then_some(block)
    }

    /// Checks that this state agrees with the first `levelled` blocks of `blocks`; the others take
    /// no part in wear levelling. The error names a difference.
    pub(crate) fn audit(&self, blocks: &BlockTable, levelled: u32) -> Result<(), String> {
        let erases = &blocks.erase_counts()[..levelled as usize];
        let most = erases.iter().copied().max().unwrap_or_default();
        fail_if!(
            most != self.most_erases,
            "the most erases are {most}, kept as {}",
            self.most_erases
        );
        let candidates = (0..blocks.len()).filter(|&block| blocks.is_candidate(block));
        let least = candidates.min_by_key(|&block| (blocks.erase_count(block), block));
        fail_if!(
            least != self.least.first(),
            "the least erased candidate is {least:?}, kept as {:?}",
            self.least.first()
        );
        Ok(())
    }
}

/// Children of a node of the tree.
const FAN: usize = 16;

/// The key of no block.
const NONE: u64 = u64::MAX;

/// The candidate with the fewest erases; among equals, the candidate with the lowest number. It is
/// kept in a tournament tree: each node names the winner of [`FAN`] blocks, or of [`FAN`] nodes of
/// the level below.
#[derive(State)]
struct LeastErased {
    /// The key of each node's winner: its erase count in the upper 32 bits, its block in the lower
    /// ones; [`NONE`] where there is no candidate.
    #[snapshot(tables)]
    levels: Vec<Vec<u64>>,
}

impl LeastErased {
    fn new(blocks: &BlockTable) -> Self {
        let sizes = tree_levels(blocks.len(), FAN);
        Self { levels: sizes.into_iter().map(|size| vec![NONE; size]).collect() }
    }

    fn first(&self) -> Option<BlockId> {
        let root = self.levels.last()?[0];
        (root != NONE).then_some(root as BlockId)
    }

    /// `block` became a candidate, or ceased to be one. The erase count of a candidate does not
    /// change.
    fn changed(&mut self, blocks: &BlockTable, block: BlockId) {
        let mut index = block as usize / FAN;
        let span = (index * FAN) as u32..blocks.len().min(((index + 1) * FAN) as u32);
        let key = |block| u64::from(blocks.erase_count(block)) << 32 | u64::from(block);
        let mut least = span.filter(|&block| blocks.is_candidate(block)).map(key).min();
        for level in 0..self.levels.len() {
            let winner = least.unwrap_or(NONE);
            let nodes = &mut self.levels[level];
            if nodes[index] == winner {
                return;
            }
            nodes[index] = winner;
            index /= FAN;
            least = nodes.chunks(FAN).nth(index).and_then(|nodes| nodes.iter().copied().min());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashgc_base::rng::Stream;

    #[test]
    fn the_least_erased_candidate_is_that_of_a_scan() {
        for n in [2, 16, 17, 300, 5000] {
            let mut blocks = BlockTable::from_counts(64, &vec![None; n]);
            let mut least = LeastErased::new(&blocks);
            let mut stream = Stream::new(n as u64, "blocks");
            for _ in 0..3000 {
                let block = stream.below(n as u32);
                if blocks.is_candidate(block) {
                    blocks.take(block);
                    blocks.erase(block);
                } else {
                    blocks.program(block, 0);
                    blocks.close(block);
                }
                least.changed(&blocks, block);
                let candidates = (0..n as u32).filter(|&block| blocks.is_candidate(block));
                let scanned = candidates.min_by_key(|&block| (blocks.erase_count(block), block));
                assert_eq!(least.first(), scanned);
            }
        }
    }

    #[test]
    fn it_is_due_once_an_interval_and_above_the_threshold_only() {
        let mut blocks = BlockTable::from_counts(64, &[Some(9), Some(64), Some(30)]);
        let levelling = Levelling { threshold: 2, interval: 3 };
        let mut leveller = Leveller::new(levelling, &blocks);
        (0..3).for_each(|block| leveller.changed(&blocks, block));
        let erase = |leveller: &mut Leveller, blocks: &mut BlockTable, times: u32| {
            for _ in 0..times {
                blocks.take(0);
                blocks.program(0, 0);
                blocks.erase(0);
                leveller.erased(blocks.erase_count(0), None);
                blocks.close(0);
                leveller.changed(blocks, 0);
            }
        };
        erase(&mut leveller, &mut blocks, 2);
        assert_eq!(leveller.victim(&blocks, 64), None); // two erases: no interval yet
        erase(&mut leveller, &mut blocks, 1);
        // Block 0 is three erases ahead of blocks 1 and 2, and 1 is the lower number. The next
        // check is due after three more erases.
        assert_eq!(leveller.victim(&blocks, 64), Some(1));
        assert_eq!(leveller.victim(&blocks, 64), None);
        erase(&mut leveller, &mut blocks, 3);
        assert_eq!(leveller.victim(&blocks, 63), None); // no room: waits for the next interval
        assert_eq!(leveller.victim(&blocks, 64), None);
        // The leveller counts the cost of its own victims. Their erases do not count towards the
        // interval.
        leveller.erased(1, Some(64));
        assert_eq!(leveller.levelled, Levelled { collections: 1, copied_pages: 64 });
        assert_eq!(leveller.left, 3);
        leveller.audit(&blocks, blocks.len()).unwrap();
        // Block 0 has six erases, which do not exceed a threshold of 6.
        leveller.levelling.threshold = 6;
        leveller.left = 0;
        assert_eq!(leveller.victim(&blocks, 64), None);
    }

    #[test]
    fn specs_are_written_out_and_faults_name_what_to_try() {
        let levelling = Levelling { threshold: 7, interval: 10 };
        assert_eq!(Levelling::parse("static:threshold=7").unwrap(), Some(levelling));
        assert_eq!(levelling.to_string(), "static:threshold=7,interval=10");
        assert_eq!(Levelling::parse("none").unwrap(), None);
        let error = |text| Levelling::parse(text).unwrap_err().to_string();
        assert_eq!(error("sttic"), "unknown wear levelling 'sttic'; hint: did you mean 'static'?");
        assert_eq!(
            error("static:interval=0"),
            "static: interval=0 is not a whole number from 1 to 1000000000; hint: erases of the \
             policy's victims between two checks, for example interval=10"
        );
        assert!(error("static:treshold=5").contains("did you mean 'threshold'?"));
        assert_eq!(
            error("none:threshold=5"),
            "none has no parameter 'threshold'; hint: none takes no parameters"
        );
    }
}
