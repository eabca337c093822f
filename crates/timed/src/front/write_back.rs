//! The host's cache before the drive, and its commands under way.

use std::collections::VecDeque;

use flashgc_base::snapshot::{State, Value};
use flashgc_host::ClockedHost;
use flashgc_workload::Op;
use hashbrown::HashMap;

/// The most pages that the cache writes at leisure and that are under way: `nr_requests` of Linux's
/// block layer.
const MOST_AT_LEISURE: u32 = 128;

/// Things that end one after the other.
#[derive(Default, Value)]
struct Ends {
    times: VecDeque<(u64, u32)>,
}

impl Ends {
    /// Adds `what`, which ends at `end`. Returns the time at which the first of all ends, if this
    /// is the first.
    fn push(&mut self, end: u64, what: u32) -> Option<u64> {
        debug_assert!(self.times.back().is_none_or(|&(last, _)| last <= end));
        self.times.push_back((end, what));
        (self.times.len() == 1).then_some(end)
    }

    /// Takes the first that has ended at `now`.
    fn pop(&mut self, now: u64) -> Option<u32> {
        let (end, what) = *self.times.front()?;
        if end > now {
            return None;
        }
        self.times.pop_front();
        Some(what)
    }

    /// Returns the time at which the first ends.
    fn first(&self) -> Option<u64> {
        self.times.front().map(|&(end, _)| end)
    }
}

/// The writes of a page that are under way.
#[derive(Default, Value)]
struct Writing {
    writes: u32,
    waiting: Vec<Behind>,
}

/// A request that waits behind writes of a page.
#[derive(Value)]
struct Behind {
    place: u32,
    since: u64,
    /// The number of writes that it still waits for.
    left: u32,
    /// `true` if it needs the room of the page, and `false` if it updates the page.
    for_room: bool,
}

/// A host's cache, and its commands under way.
///
/// It knows how many of its commands the drive works on, and their hints; it sends none itself.
#[derive(State)]
pub struct WriteBack {
    #[snapshot(state)]
    pub host: ClockedHost,
    /// The hints that wait in front of the drive, in order.
    hints: VecDeque<u32>,
    /// The number of hints that the next command brings.
    riding: u32,
    /// The requests that memory serves.
    in_memory: Ends,
    /// The number of commands under way that no request waits for.
    at_leisure: u32,
    /// The commands made for hints that the drive works on, with the numbers of hints that they
    /// bring.
    telling: Ends,
    /// The hints of these commands.
    hints_at_work: VecDeque<u32>,
    /// The pages that are being written, if updates wait for that.
    writing: HashMap<u32, Writing>,
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
            hints_at_work: VecDeque::new(),
            writing: HashMap::new(),
        }
    }

    /// Returns `true` if the queue of the drive, with `outstanding` commands under way, lets in a
    /// command that is `for_hints` or not. A command that is not queued is alone in the drive.
    pub fn lets_in(&self, outstanding: u32, for_hints: bool) -> bool {
        let (_, queued) = self.host.hints().command();
        queued || (self.telling.times.is_empty() && (!for_hints || outstanding == 0))
    }

    /// Lets memory serve the request at `place` from `now` on. Returns the time at which it has
    /// served the first of all, if this is the first.
    pub fn serve_from_memory(&mut self, now: u64, place: u32) -> Option<u64> {
        self.in_memory.push(now + self.host.memory_ns(), place)
    }

    /// Takes a request that memory has served at `now`.
    pub fn next_served(&mut self, now: u64) -> Option<u32> {
        self.in_memory.pop(now)
    }

    /// Returns the time at which memory has served the next.
    pub fn served_at(&self) -> Option<u64> {
        self.in_memory.first()
    }

    /// Lets the cache write one page more at leisure, if it wants to and may. Returns `true` if it
    /// does.
    pub fn flushes_next(&mut self) -> bool {
        self.at_leisure < MOST_AT_LEISURE && self.host.flush_next()
    }

    /// Counts a command that is sent at leisure.
    pub fn begin_at_leisure(&mut self) {
        self.at_leisure += 1;
    }

    /// Counts a command sent at leisure that is done.
    pub fn done_at_leisure(&mut self) {
        self.at_leisure -= 1;
    }

    /// Lets the request at `place`, which updates `page` or needs its room, wait for the writes of
    /// that page that are under way. Returns the number of requests that wait for more: 0 or 1.
    pub fn waits_behind(&mut self, page: u32, for_room: bool, place: u32, since: u64) -> u32 {
        let Some(writing) = self.writing.get_mut(&page) else { return 0 };
        writing.waiting.push(Behind { place, since, left: writing.writes, for_room });
        1
    }

    /// Notes a write of `page` that is sent.
    pub fn begin_write(&mut self, page: u32) {
        if self.host.waits_for_writes() {
            self.writing.entry(page).or_default().writes += 1;
        }
    }

    /// Ends a write of `page` at `now`. Returns the places of the requests that wait no longer.
    pub fn end_write(&mut self, page: u32, now: u64) -> Vec<u32> {
        let Some(writing) = self.writing.get_mut(&page) else { return Vec::new() };
        writing.writes -= 1;
        let (mut places, waits) = (Vec::new(), self.host.waits());
        writing.waiting.retain_mut(|write| {
            write.left -= 1;
            if write.left == 0 {
                let (count, total) = match write.for_room {
                    true => (&mut waits.rooms, &mut waits.room_ns),
                    false => (&mut waits.rewrites, &mut waits.rewrite_ns),
                };
                *count += 1;
                *total += now - write.since;
                places.push(write.place);
            }
            write.left > 0
        });
        if writing.writes == 0 {
            self.writing.remove(&page);
        }
        places
    }

    /// Counts a command that a request has waited for, for this many nanoseconds.
    pub fn waited(&mut self, op: Op, ns: u64) {
        let waits = self.host.waits();
        let (count, total) = match op {
            Op::Read => (&mut waits.reads, &mut waits.read_ns),
            Op::Write => (&mut waits.rooms, &mut waits.room_ns),
            Op::Trim | Op::Dirty | Op::Clean | Op::Flush => return,
        };
        *count += 1;
        *total += ns;
    }

    /// Lets a hint wait for the next command.
    pub fn ride(&mut self, page: u32) {
        self.hints.push_back(page);
        self.riding += 1;
    }

    /// Returns the number of hints that wait for the next command, which is sent now.
    pub fn riding(&mut self) -> u32 {
        std::mem::take(&mut self.riding)
    }

    /// Takes a command's hints, which the drive gets with it.
    pub fn take_hints(&mut self, hints: u32) -> Vec<u32> {
        self.hints.drain(..hints as usize).collect()
    }

    /// Lets the drive take a command that was made for hints at `now`: it knows the hints when the
    /// command is done. Returns the time at which the first of all is done, if this is the first.
    pub fn begin_telling(&mut self, now: u64, hints: u32) -> Option<u64> {
        self.hints_at_work.extend(self.hints.drain(..hints as usize));
        self.telling.push(now + self.host.hints().command().0, hints)
    }

    /// Takes the hints of a command that is done at `now`.
    pub fn next_told(&mut self, now: u64) -> Option<Vec<u32>> {
        let hints = self.telling.pop(now)?;
        Some(self.hints_at_work.drain(..hints as usize).collect())
    }

    /// Returns the time at which the next command made for hints is done.
    pub fn told_at(&self) -> Option<u64> {
        self.telling.first()
    }
}
