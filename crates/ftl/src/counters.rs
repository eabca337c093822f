//! The counters of layers, and the digest of their decisions.

use flashgc_base::counts::Counts;
use flashgc_base::snapshot::Value;
use flashgc_base::stream::MOST_STREAMS;

/// The counts that every map of pages has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Counters {
    /// Pages written by the host, those that collections wrote from its memory included.
    #[counts(stat = "host_pages_written")]
    pub host_pages: u64,
    /// Valid pages rewritten by collections.
    pub copied_pages: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks collected: picked by the victim policy, or to level wear.
    pub collections: u64,
    /// Pages that a TRIM found mapped.
    #[counts(words = "trimmed")]
    pub trimmed_pages: u64,
}

impl Counters {
    /// Host writes and copies: the pages programmed.
    pub fn programs(&self) -> u64 {
        self.host_pages + self.copied_pages
    }
}

/// The cost of keeping the map on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct MapTraffic {
    /// Commands whose map entry was in memory.
    pub hits: u64,
    /// Commands whose map entry was not in memory.
    pub misses: u64,
    /// Translation pages read.
    pub reads: u64,
    /// Translation pages programmed; they are among the pages copied.
    pub writes: u64,
}

/// Merges of log blocks, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Merges {
    /// Log blocks that held a whole logical block in order and became its data block.
    pub switch: u64,
    /// Log blocks that held the first pages of a logical block in order and were completed.
    pub partial: u64,
    /// Log blocks whose data blocks were written anew.
    pub full: u64,
    /// Log blocks without a current page that were erased.
    pub dead: u64,
    /// Log blocks chosen by their cost.
    #[counts(words = "")]
    pub picks: u64,
    /// Log blocks that were weighed to choose them.
    #[counts(words = "")]
    pub weighed: u64,
}

/// Counts of zombies, in pages.
///
/// A zombie is a live page of which a hint has said that it will be overwritten soon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct ZombieCounts {
    /// Zombies now.
    #[counts(now)]
    pub known: u64,
    /// Live pages that a hint made zombies.
    #[counts(words = "pages marked", stat = "hinted_pages")]
    pub marked: u64,
    /// Zombies that the host overwrote: their hints came true.
    #[counts(stat = "overwritten_zombies")]
    pub overwritten: u64,
    /// Zombies that a TRIM discarded.
    #[counts(stat = "trimmed_zombies")]
    pub trimmed: u64,
    /// Zombies that are live again: hints taken back, or lost with power.
    #[counts(stat = "revived_zombies")]
    pub revived: u64,
    /// Zombies that collections copied.
    #[counts(stat = "copied_zombies")]
    pub copied: u64,
}

/// The cost of gathering mapping units in flash pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Packing {
    /// Units' worth of flash pages that were programmed without data.
    pub padding: u64,
    /// Flash pages that collections read.
    pub pages_read: u64,
}

/// The pages that opened superblocks did not have, because bad blocks had left them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Skipped {
    /// Pages of data.
    pub pages: u64,
}

/// The cost of wear levelling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Levelled {
    /// Blocks collected to level wear, in place of a victim of the policy.
    pub collections: u64,
    /// Valid pages that those collections rewrote.
    pub copied_pages: u64,
}

/// The cost of a stream, in mapping units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct StreamCounts {
    /// Mapping units that the host wrote to it.
    pub host_pages: u64,
    /// Mapping units copied by collections, of data that the host had written to it.
    #[counts(words = "copied")]
    pub copied_pages: u64,
}

/// The counts of all streams.
#[derive(Clone, Debug, PartialEq, Eq, Counts, Value)]
pub struct StreamTotals {
    /// The counts of each stream. The last entry counts writes without a stream, and first
    /// contents.
    pub streams: Vec<StreamCounts>,
    /// Blocks collected with valid pages in them: their data were moved. Folded blocks of an SLC
    /// region are none of them: their pages had no reclaim unit yet.
    pub moved_blocks: u64,
    /// Mapping units that the host wrote to a reclaim group that had no room for them; another one
    /// took them.
    #[counts(words = "written outside their group")]
    pub outside_group: u64,
}

impl StreamTotals {
    /// Returns the counts of a drive whose map is on flash. `writes` translation pages were
    /// programmed. They are counted as host writes without a stream; here they become copies
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
        let streams = vec![StreamCounts::default(); MOST_STREAMS + 1];
        Self { streams, moved_blocks: 0, outside_group: 0 }
    }
}

/// Returns the digest of all decisions, `decision` included: a rotation, an xor and a
/// multiplication for each. The odd constant is 2^64 divided by the golden ratio.
pub(crate) fn digest(decisions: u64, decision: u64) -> u64 {
    (decisions.rotate_left(23) ^ decision).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
