//! The host's cache before the drive, and its commands under way.

use std::collections::VecDeque;

use flashgc_base::snapshot::{State, Value};
use flashgc_base::{state, value};
use flashgc_host::ClockedHost;

/// Pages that the cache writes at leisure and that are under way at most: `nr_requests` of Linux's
/// block layer.
const MOST_AT_LEISURE: u32 = 128;

/// Things that end one after the other.
#[derive(Default)]
struct Ends {
    times: VecDeque<(u64, u32)>,
}

impl Value for Ends {
    value!(times);
}

impl Ends {
    /// `what` ends at `end`. Returns when the first of all ends, if this is the first.
    fn push(&mut self, end: u64, what: u32) -> Option<u64> {
        debug_assert!(self.times.back().is_none_or(|&(last, _)| last <= end));
        self.times.push_back((end, what));
        (self.times.len() == 1).then_some(end)
    }

    /// The first write-back that has ended at `now`.
    fn pop(&mut self, now: u64) -> Option<u32> {
        let (end, what) = *self.times.front()?;
        if end > now {
            return None;
        }
        self.times.pop_front();
        Some(what)
    }

    /// When the first ends.
    fn first(&self) -> Option<u64> {
        self.times.front().map(|&(end, _)| end)
    }
}

/// A host's cache, and its commands under way.
///
/// It knows how many of its commands the drive works on, and their hints; it sends none itself.
pub struct WriteBack {
    pub host: ClockedHost,
    /// Hints that wait in front of the drive, in order.
    hints: VecDeque<u32>,
    /// How many of them the next command brings.
    riding: u32,
    /// Requests that memory serves.
    in_memory: Ends,
    /// Commands under way that no request waits for.
    at_leisure: u32,
    /// Commands made for hints that the drive works on, and how many hints they bring.
    telling: Ends,
    /// The hints of these.
    told: VecDeque<u32>,
}

impl State for WriteBack {
    state! {
        values: hints, riding, in_memory, at_leisure, telling, told;
        states: host;
    }
}

impl WriteBack {
    pub fn new(host: ClockedHost) -> Self {
        Self {
            host,
            hints: VecDeque::new(),
            riding: 0,
            in_memory: Ends::default(),
            at_leisure: 0,
            telling: Ends::default(),
            told: VecDeque::new(),
        }
    }

    /// Whether the queue of the drive, with `outstanding` commands under way, lets in a command
    /// that is `for_hints` or not: a command that is not queued is alone in the drive.
    pub fn lets_in(&self, outstanding: u32, for_hints: bool) -> bool {
        let (_, queued) = self.host.hints().command();
        queued || (self.telling.times.is_empty() && (!for_hints || outstanding == 0))
    }

    /// Memory serves the request at `place` from `now` on. Returns when it has served the first of
    /// all, if this is the first.
    pub fn serve_from_memory(&mut self, now: u64, place: u32) -> Option<u64> {
        self.in_memory.push(now + self.host.memory_ns(), place)
    }

    /// A request that memory has served at `now`.
    pub fn next_served(&mut self, now: u64) -> Option<u32> {
        self.in_memory.pop(now)
    }

    /// When memory has served the next.
    pub fn served_at(&self) -> Option<u64> {
        self.in_memory.first()
    }

    /// Lets the cache write one page more at leisure, if it wants to and may; whether it does.
    pub fn flushes_next(&mut self) -> bool {
        self.at_leisure < MOST_AT_LEISURE && self.host.flush_next()
    }

    /// A command at leisure is sent.
    pub fn begin_at_leisure(&mut self) {
        self.at_leisure += 1;
    }

    /// A command that the cache sent at leisure is done.
    pub fn done_at_leisure(&mut self) {
        self.at_leisure -= 1;
    }

    /// A hint waits for the next command.
    pub fn ride(&mut self, page: u32) {
        self.hints.push_back(page);
        self.riding += 1;
    }

    /// How many hints wait for the next command, which is sent now.
    pub fn riding(&mut self) -> u32 {
        std::mem::take(&mut self.riding)
    }

    /// The drive takes a command and the hints that it brings.
    pub fn take_hints(&mut self, hints: u32) -> Vec<u32> {
        self.hints.drain(..hints as usize).collect()
    }

    /// The drive takes a command that was made for hints at `now`: it knows them when that is done.
    /// Returns when the first of all is done, if this is the first.
    pub fn begin_telling(&mut self, now: u64, hints: u32) -> Option<u64> {
        self.told.extend(self.hints.drain(..hints as usize));
        self.telling.push(now + self.host.hints().command().0, hints)
    }

    /// The hints of a command that is done at `now`.
    pub fn next_told(&mut self, now: u64) -> Option<Vec<u32>> {
        let hints = self.telling.pop(now)?;
        Some(self.told.drain(..hints as usize).collect())
    }

    /// When the next command made for hints is done.
    pub fn told_at(&self) -> Option<u64> {
        self.telling.first()
    }
}
