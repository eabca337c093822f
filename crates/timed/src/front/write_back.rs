//! The host's cache before the drive, and its commands under way.

use std::collections::VecDeque;

use flashgc_base::snapshot::{State, Value};
use flashgc_host::ClockedHost;
use flashgc_workload::Op;
use hashbrown::HashMap;

/// The largest number of background writes of the cache that are under way at a time: `nr_requests`
/// of Linux's block layer.
const MOST_AT_LEISURE: u32 = 128;

/// A queue of items that end in order: each has its end in nanoseconds and a number.
#[derive(Default, Value)]
struct Ends {
    times: VecDeque<(u64, u32)>,
}

impl Ends {
    /// Adds the item `what`, which ends at `end`. Returns `end` if the queue was empty before.
    fn push(&mut self, end: u64, what: u32) -> Option<u64> {
        debug_assert!(self.times.back().is_none_or(|&(last, _)| last <= end));
        self.times.push_back((end, what));
        (self.times.len() == 1).then_some(end)
    }

    /// Takes the first item, if it has ended at `now`.
    fn pop(&mut self, now: u64) -> Option<u32> {
        let (end, what) = *self.times.front()?;
        if end > now {
            return None;
        }
        self.times.pop_front();
        Some(what)
    }

    /// Returns the time at which the first item ends.
    fn first(&self) -> Option<u64> {
        self.times.front().map(|&(end, _)| end)
    }
}

/// The number of writes of a page that are under way, and the requests that wait for them.
#[derive(Default, Value)]
struct Writing {
    writes: u32,
    waiting: Vec<Behind>,
}

/// A request that waits for writes of a page.
#[derive(Value)]
struct Behind {
    place: u32,
    since: u64,
    /// The number of writes that the request still waits for.
    left: u32,
    /// `true` if the request evicts the page, `false` if it updates the page.
    for_room: bool,
}

/// A host's cache, and its commands under way.
///
/// It knows how many of the cache's commands the drive works on, and their hints. It does not send
/// commands itself.
#[derive(State)]
pub struct WriteBack {
    #[snapshot(state)]
    pub host: ClockedHost,
    /// The hints that wait in front of the drive, in order.
    hints: VecDeque<u32>,
    /// The number of hints that the next command will carry.
    riding: u32,
    /// The requests that memory is serving.
    in_memory: Ends,
    /// The number of background writes and other commands under way that no request waits for.
    at_leisure: u32,
    /// The commands for hints that the drive works on, each with its number of hints.
    telling: Ends,
    /// The pages of the hints of these commands, in order.
    hints_at_work: VecDeque<u32>,
    /// The pages that the cache is writing. Empty if the host's requests do not wait for such
    /// writes.
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

    /// Returns `true` if the next command may enter the drive. `for_hints` is `true` if that
    /// command holds only hints. `outstanding` commands are under way. If commands for hints are
    /// not queued, such a command waits until none is under way, and all others wait until it is
    /// done.
    pub fn lets_in(&self, outstanding: u32, for_hints: bool) -> bool {
        let (_, queued) = self.host.hints().command();
        queued || (self.telling.times.is_empty() && (!for_hints || outstanding == 0))
    }

    /// Lets memory serve the request at `place` from `now` on. Returns the end if memory serves no
    /// other request.
    pub fn serve_from_memory(&mut self, now: u64, place: u32) -> Option<u64> {
        self.in_memory.push(now + self.host.memory_ns(), place)
    }

    /// Takes a request that memory has served at `now`.
    pub fn next_served(&mut self, now: u64) -> Option<u32> {
        self.in_memory.pop(now)
    }

    /// Returns the time at which memory has served the first request, in nanoseconds.
    pub fn served_at(&self) -> Option<u64> {
        self.in_memory.first()
    }

    /// Lets the cache write one more page in the background, if a page is due and not too many
    /// writes are under way. Returns `true` if it does.
    pub fn flushes_next(&mut self) -> bool {
        self.at_leisure < MOST_AT_LEISURE && self.host.flush_next()
    }

    /// Counts a command that no request waits for and that is sent now.
    pub fn begin_at_leisure(&mut self) {
        self.at_leisure += 1;
    }

    /// Counts a command that no request waits for and that is done now.
    pub fn done_at_leisure(&mut self) {
        self.at_leisure -= 1;
    }

    /// Lets the request at `place` wait for the writes of `page` that are under way. It evicts the
    /// page if `for_room`, and else updates it. Returns the number of parts to add to the request:
    /// 1 if there are such writes, else 0.
    pub fn waits_behind(&mut self, page: u32, for_room: bool, place: u32, since: u64) -> u32 {
        let Some(writing) = self.writing.get_mut(&page) else { return 0 };
        writing.waiting.push(Behind { place, since, left: writing.writes, for_room });
        1
    }

    /// Notes that a write of `page` is sent.
    pub fn begin_write(&mut self, page: u32) {
        if self.host.waits_for_writes() {
            self.writing.entry(page).or_default().writes += 1;
        }
    }

    /// Ends a write of `page` at `now`. Returns the places of the requests that now wait for no
    /// write.
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

    /// Counts a command that a request has waited for, and adds the wait of `ns` nanoseconds.
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

    /// Takes the number of hints that the next command carries. This command is sent now.
    pub fn riding(&mut self) -> u32 {
        std::mem::take(&mut self.riding)
    }

    /// Takes the pages of a command's hints when the drive gets the command.
    pub fn take_hints(&mut self, hints: u32) -> Vec<u32> {
        self.hints.drain(..hints as usize).collect()
    }

    /// Lets the drive begin a command for hints at `now`. The drive gets the hints at the end of
    /// the command. Returns this end if the drive works on no other such command.
    pub fn begin_telling(&mut self, now: u64, hints: u32) -> Option<u64> {
        self.hints_at_work.extend(self.hints.drain(..hints as usize));
        self.telling.push(now + self.host.hints().command().0, hints)
    }

    /// Takes the pages of the hints of a command that is done at `now`.
    pub fn next_told(&mut self, now: u64) -> Option<Vec<u32>> {
        let hints = self.telling.pop(now)?;
        Some(self.hints_at_work.drain(..hints as usize).collect())
    }

    /// Returns the time at which the next command for hints is done, in nanoseconds.
    pub fn told_at(&self) -> Option<u64> {
        self.telling.first()
    }
}
