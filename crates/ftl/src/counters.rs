//! The counters of layers, and the digest of their decisions.

use flashgc_base::counts::Counts;
use flashgc_base::snapshot::Value;
use flashgc_base::stream::MOST_STREAMS;

/// Everything that has been counted since the layer was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Counters {
    /// Pages written by the host, those that collections wrote from its memory included.
    pub host_pages: u64,
    /// Valid pages rewritten by collections.
    pub copied_pages: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks collected: picked by the victim policy, or to level wear.
    pub collections: u64,
    /// Pages that a TRIM found mapped and unmapped.
    pub trimmed_pages: u64,
}

impl Counters {
    /// Host writes and copies: the pages programmed.
    pub fn programs(&self) -> u64 {
        self.host_pages + self.copied_pages
    }
}

/// The traffic of a map on flash since the layer was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct MapTraffic {
    /// Commands whose map entry was in memory.
    pub hits: u64,
    /// Commands whose map entry was not.
    pub misses: u64,
    /// Translation pages read.
    pub reads: u64,
    /// Translation pages programmed.
    pub writes: u64,
}

/// Merges of log blocks since the layer was made, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Merges {
    /// A log block held a whole logical block in order and became its data block.
    pub switch: u64,
    /// A log block held the first pages of a logical block in order and was completed.
    pub partial: u64,
    /// The data blocks of a log block were written anew.
    pub full: u64,
    /// A log block without a current page was erased.
    pub dead: u64,
    /// Log blocks chosen by their cost.
    pub picks: u64,
    /// Log blocks that were weighed to choose them.
    pub weighed: u64,
}

/// Counts of zombies since the layer was made, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct ZombieCounts {
    /// Zombies now.
    #[counts(now)]
    pub known: u64,
    /// Live pages that a hint made zombies.
    pub marked: u64,
    /// Zombies that the host overwrote: their hints came true.
    pub overwritten: u64,
    /// Zombies that a TRIM discarded.
    pub trimmed: u64,
    /// Zombies that are live again: hints taken back, or lost with power.
    pub revived: u64,
    /// Zombies that collections copied.
    pub copied: u64,
}

/// The cost of gathering mapping units in flash pages since the layer was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Packing {
    /// Units' worth of flash pages that were programmed without data.
    pub padding: u64,
    /// Flash pages that collections read.
    pub pages_read: u64,
}

/// The cost of wear levelling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Levelled {
    /// Blocks collected to level wear, in place of a victim of the policy.
    pub collections: u64,
    /// Valid pages that those collections rewrote.
    pub copied_pages: u64,
}

/// The cost of a stream since the layer was made, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct StreamCounts {
    /// Written by the host in this stream.
    pub host_pages: u64,
    /// Rewritten by collections, of data that the host wrote in this stream.
    pub copied_pages: u64,
}

/// The counts of all streams since the layer was made.
#[derive(Clone, Debug, PartialEq, Eq, Counts, Value)]
pub struct StreamTotals {
    /// The counts of each stream. The last entry counts writes without a stream, and first
    /// contents.
    pub streams: Vec<StreamCounts>,
    /// Blocks collected with valid pages in them: their data were moved.
    pub moved_blocks: u64,
}

impl StreamTotals {
    /// The counts of a drive whose map is on flash, with `writes` translation pages programmed: they are copies
    /// without a stream.
    pub fn with_map(mut self, writes: u64) -> Self {
        let none = &mut self.streams[MOST_STREAMS];
        none.host_pages -= writes;
        none.copied_pages += writes;
        self
    }
}

impl Default for StreamTotals {
    fn default() -> Self {
        Self { streams: vec![StreamCounts::default(); MOST_STREAMS + 1], moved_blocks: 0 }
    }
}

/// The digest of all decisions up to this one: one multiply-xor each; the odd constant is the 64-bit
/// golden ratio.
pub(crate) fn digest(decisions: u64, decision: u64) -> u64 {
    (decisions.rotate_left(23) ^ decision).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
