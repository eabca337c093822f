//! The bus of a channel: one transfer at a time, first come, first served.

use std::collections::VecDeque;

use flashgc_base::snapshot::Value;

use super::chain::Chains;

/// A channel's bus. A job knows at once when its turn comes, since the transfers before it are
/// known.
#[derive(Clone, Debug, Value)]
pub struct Bus {
    /// The dies whose transfers end by events of the channel, with the times of these.
    ends: VecDeque<(u32, u64)>,
    pub(super) turns: Turns,
    /// The collections on dies of the channel that nothing disturbs. They take their turns late.
    pub(super) chains: Chains,
}

/// The turns on a bus that have been asked for.
#[derive(Clone, Debug, Value)]
pub struct Turns {
    /// The time at which the last transfer asked for ends.
    pub(super) free_at: u64,
    /// The length of all transfers asked for.
    asked_ns: u64,
}

impl Turns {
    /// Takes the next turn for a transfer of this length, asked for `now`. Returns its beginning.
    #[inline]
    pub fn take(&mut self, now: u64, length: u64) -> u64 {
        let begin = self.free_at.max(now);
        self.free_at = begin + length;
        self.asked_ns += length;
        begin
    }
}

impl Bus {
    /// Returns the bus of `dies` dies, free.
    pub fn new(dies: u32) -> Self {
        Self {
            ends: VecDeque::with_capacity(dies as usize),
            turns: Turns { free_at: 0, asked_ns: 0 },
            chains: Chains::default(),
        }
    }

    /// Lets an event of the channel end the transfer of `die` at `end`. Returns the time of the
    /// first of those events, if this one is the first.
    pub fn end_by_event(&mut self, die: u32, end: u64) -> Option<u64> {
        debug_assert!(self.ends.back().is_none_or(|&(_, last)| last <= end), "turns are in order");
        self.ends.push_back((die, end));
        (self.ends.len() == 1).then_some(end)
    }

    /// Ends a transfer, as the event of the channel has come. Returns the die whose transfer is
    /// over, and the time of the next of those events.
    pub fn end(&mut self) -> (u32, Option<u64>) {
        let (die, _) = self.ends.pop_front().expect("a transfer is under way");
        (die, self.ends.front().map(|&(_, end)| end))
    }

    /// Returns the time for which the bus has been in use until `now`, without transfers that are
    /// still to come.
    pub fn busy_until(&self, now: u64) -> u64 {
        self.turns.asked_ns - self.turns.free_at.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_has_been_in_use_for_what_is_over_of_its_transfers() {
        let mut bus = Bus::new(2);
        // From 10 to 30; then from 30 to 50, asked for at 15; then, after a pause, from 70 to 90.
        assert_eq!(bus.turns.take(10, 20), 10);
        assert_eq!(bus.turns.take(15, 20), 30);
        assert_eq!([15, 30, 40, 50, 60].map(|now| bus.busy_until(now)), [5, 20, 30, 40, 40]);
        assert_eq!(bus.turns.take(70, 20), 70);
        assert_eq!([70, 75, 90, 95].map(|now| bus.busy_until(now)), [40, 45, 60, 60]);
    }

    #[test]
    fn transfers_end_in_the_order_of_their_turns() {
        let mut bus = Bus::new(2);
        assert_eq!(bus.end_by_event(3, 10), Some(10));
        assert_eq!(bus.end_by_event(1, 20), None);
        assert_eq!(bus.end(), (3, Some(20)));
        assert_eq!(bus.end(), (1, None));
    }
}
