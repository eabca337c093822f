//! The counters of layers.

use flashgc_base::counts;

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
    /// How log blocks were merged since the layer was made.
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
