//! The counters of layers.

use flashgc_base::counts;
use flashgc_base::snapshot::Value;
use flashgc_base::stream::MOST_STREAMS;

counts! {
    /// Everything that has been counted since the layer was made.
    pub struct Counters {
        /// Pages written by the host, those that collections wrote from its memory included.
        pub host_pages,
        /// Valid pages rewritten by collections.
        pub copied_pages,
        /// Blocks erased.
        pub erases,
        /// Blocks collected: picked by the victim policy, or to level wear.
        pub collections,
        /// Pages that a TRIM found mapped and unmapped.
        pub trimmed_pages,
    }
}

impl Counters {
    /// Host writes and copies: the pages programmed.
    pub fn programs(&self) -> u64 {
        self.host_pages + self.copied_pages
    }
}

counts! {
    /// The traffic of a map on flash since the layer was made.
    pub struct MapTraffic {
        /// Commands whose map entry was in memory.
        pub hits,
        /// Commands whose map entry was not.
        pub misses,
        /// Translation pages read.
        pub reads,
        /// Translation pages programmed.
        pub writes,
    }
}

counts! {
    /// Merges of log blocks since the layer was made, by kind.
    pub struct Merges {
        /// A log block held a whole logical block in order and became its data block.
        pub switches,
        /// A log block held the first pages of a logical block in order and was completed.
        pub partials,
        /// The data blocks of a log block were written anew.
        pub fulls,
        /// A log block without a current page was erased.
        pub dead,
        /// Log blocks chosen by their cost.
        pub picks,
        /// Log blocks that were weighed to choose them.
        pub weighed,
    }
}

counts! {
    /// Counts of zombies since the layer was made, in pages.
    pub struct ZombieCounts {
        now:
        /// Zombies now.
        pub known,
        since:
        /// Live pages that a hint made zombies.
        pub marked,
        /// Zombies that the host overwrote: their hints came true.
        pub overwritten,
        /// Zombies that a TRIM discarded.
        pub trimmed,
        /// Zombies that are live again: hints taken back, or lost with power.
        pub revived,
        /// Zombies that collections copied.
        pub copied,
    }
}

counts! {
    /// The cost of wear levelling.
    pub struct Levelled {
        /// Blocks collected to level wear, in place of a victim of the policy.
        pub collections,
        /// Valid pages that those collections rewrote.
        pub copied_pages,
    }
}

counts! {
    /// The cost of a stream since the layer was made, in pages.
    pub struct StreamCounts {
        /// Written by the host in this stream.
        pub host_pages,
        /// Rewritten by collections, of data that the host wrote in this stream.
        pub copied_pages,
    }
}

/// The counts of all streams since the layer was made.
#[derive(Clone, Debug, PartialEq, Eq, Value)]
pub struct StreamTotals {
    /// The counts of each stream. The last entry counts writes without a stream, and first
    /// contents.
    pub streams: Vec<StreamCounts>,
    /// Blocks collected with valid pages in them: their data were moved.
    pub moved_blocks: u64,
}

impl Default for StreamTotals {
    fn default() -> Self {
        Self { streams: vec![StreamCounts::default(); MOST_STREAMS + 1], moved_blocks: 0 }
    }
}

impl StreamTotals {
    /// The counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let each = self.streams.iter().zip(&earlier.streams);
        Self {
            streams: each.map(|(now, earlier)| now.since(earlier)).collect(),
            moved_blocks: self.moved_blocks - earlier.moved_blocks,
        }
    }

    /// These counts and `other`'s together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let each = self.streams.iter().zip(&other.streams);
        Self {
            streams: each.map(|(one, other)| one.plus(other)).collect(),
            moved_blocks: self.moved_blocks + other.moved_blocks,
        }
    }
}
