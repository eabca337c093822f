//! The power of the drive, which suffices for a limited number of dies that program or erase.
//!
//! Programs and erases count alike: for both, a die charges its pumps, and data sheets give both the
//! same current. Reads are short and do not count. A transfer does not count either: the data of a
//! program are in their die when it begins to wait, and a suspended program or erase needs no power
//! once its suspension is over.
//!
//! Dies wait in the order in which they could have begun. While a die serves other operations before
//! its program or erase that waits, it keeps its place, and dies behind it may begin.

use std::collections::VecDeque;

use flashgc_base::snapshot::State;

use super::{Flash, Job};
use crate::clock::{Clock, Event, NEVER};
use crate::measure::PowerCounts;

/// The dies that have power, and those that wait for it.
#[derive(State)]
pub struct Power {
    /// The largest number of dies that program or erase at a time.
    #[snapshot(skip)]
    limit: u32,
    /// The number of dies that have power.
    used: u32,
    /// The dies with a program or an erase that waits, in order. It waits in the cells, or is set
    /// aside while the die serves other operations.
    waiting: VecDeque<u32>,
    counts: PowerCounts,
    /// The time until which `counts` have the times, in nanoseconds.
    counted_until: u64,
}

impl Power {
    /// Returns the power for `limit` dies at a time.
    pub fn new(limit: u32) -> Self {
        Self {
            limit,
            used: 0,
            waiting: VecDeque::new(),
            counts: PowerCounts::default(),
            counted_until: 0,
        }
    }

    /// Returns the counts until `now`.
    pub fn counts_until(&self, now: u64) -> PowerCounts {
        let ns = now - self.counted_until;
        let is_full = self.used == self.limit;
        PowerCounts {
            waits: self.counts.waits,
            wait_ns: self.counts.wait_ns + ns * self.waiting.len() as u64,
            full_ns: self.counts.full_ns + if is_full { ns } else { 0 },
        }
    }

    /// Brings the counts up to `now`. Call it before a change.
    fn count(&mut self, now: u64) {
        self.counts = self.counts_until(now);
        self.counted_until = now;
    }

    /// Gives `die` power, or lets it wait. Returns `true` if it has power now.
    fn ask(&mut self, now: u64, die: u32) -> bool {
        self.count(now);
        let place = self.waiting.iter().position(|&other| other == die);
        let has_power = self.used < self.limit;
        match (has_power, place) {
            (true, Some(place)) => drop(self.waiting.remove(place)),
            (false, None) => {
                self.counts.waits += 1;
                self.waiting.push_back(die);
            }
            _ => {}
        }
        self.used += u32::from(has_power);
        has_power
    }
}

impl Job {
    /// Returns `true` if the job begins only with power.
    pub fn needs_power(self) -> bool {
        self == Self::Erase || self.programs()
    }
}

impl Flash {
    /// Gives the job of a die's cells power, or lets it wait. Returns `true` if it has power now.
    #[inline(never)]
    pub(super) fn ask_for_power(&mut self, now: u64, die: u32) -> bool {
        let has_power = self.power.as_mut().is_none_or(|power| power.ask(now, die));
        if !has_power {
            self.dies[die as usize].cells.begin = NEVER;
        }
        has_power
    }

    /// Takes the power of a die, and gives it to the first die whose cells wait for it.
    #[inline(never)]
    pub(super) fn free_power(&mut self, clock: &mut Clock) {
        let now = clock.now();
        let Self { power: Some(power), dies, .. } = self else { return };
        power.count(now);
        let waits = |&die: &u32| dies[die as usize].cells.waits_for_power();
        match power.waiting.iter().position(waits).and_then(|place| power.waiting.remove(place)) {
            Some(die) => {
                let cells = &mut dies[die as usize].cells;
                cells.begin = now;
                clock.set(Event::Cells(die), now + cells.length);
            }
            None => power.used -= 1,
        }
    }
}
