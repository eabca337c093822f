//! The bus of a channel: one transfer at a time, first come, first served.

use std::collections::VecDeque;

/// A channel's bus. Who asks is told at once when its turn comes: the transfers before it are known.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    /// Dies whose transfers end by events of the channel, with the times of these.
    pub(super) ends: VecDeque<(u32, u64)>,
    /// When the last transfer asked for ends.
    free_at: u64,
    /// The length of all transfers asked for.
    asked_ns: u64,
}

impl Bus {
    /// The bus of so many dies, free.
    pub(super) fn new(dies: u32) -> Self {
        Self { ends: VecDeque::with_capacity(dies as usize), free_at: 0, asked_ns: 0 }
    }

    /// Takes the next turn for a transfer of this length, asked for `now`. Returns its beginning.
    #[inline]
    pub(super) fn take_turn(&mut self, now: u64, length: u64) -> u64 {
        let begin = self.free_at.max(now);
        self.free_at = begin + length;
        self.asked_ns += length;
        begin
    }

    /// How long it has been in use until `now`.
    pub(super) fn busy_until(&self, now: u64) -> u64 {
        self.asked_ns - self.free_at.saturating_sub(now)
    }
}
