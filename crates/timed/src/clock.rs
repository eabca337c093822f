//! The clock: the present time and the next event. Each event has at most one time at which it is
//! due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer, restore_table, save_table};

/// The time of an event that does not come.
pub const NEVER: u64 = u64::MAX;

/// The events. Events of the same time come in the order of this list; events of the same kind come
/// in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The transfer on a channel is over.
    Transfer(u32),
    /// The cells of a die are done.
    Cells(u32),
    /// A request arrives, or the think time of a thread ends.
    Arrival,
    /// A die has been idle for as long as the rule of idle collections says.
    Idle(u32),
    /// The host's memory has served a request.
    Memory,
    /// A command for hints is done.
    Hints,
    /// The host's cache has its next round, in which it may write dirty pages.
    Look,
    /// A flash page that is not full has waited in its page buffer for the longest time allowed.
    Stale,
    /// A command or data have crossed the link to the host.
    Link,
}

/// The next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This event is handled now.
    Event(Event),
    /// The next event comes after the end of the run.
    Later,
    /// There is no further event.
    Nothing,
}

/// A position in the order of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Value)]
pub struct Position {
    /// The time of the event, in nanoseconds.
    pub time: u64,
    /// The position among the events of that time: the number of the timer plus one, or 0 for the
    /// position before all of them.
    pub(super) timer: u32,
}

impl Position {
    /// Returns the position after all events of a time.
    pub const fn end_of(time: u64) -> Self {
        Self { time, timer: u32::MAX }
    }
}

/// The present time, and the times of all events to come.
///
/// It knows when an event comes. It does not know its consequences.
#[derive(State)]
pub struct Clock {
    now: u64,
    /// The timer of the last event, in the form of [`Position::timer`].
    timer: u32,
    /// The position of the clock before the last event.
    #[snapshot(skip)]
    before: Position,
    #[snapshot(skip)]
    channels: usize,
    #[snapshot(skip)]
    dies: usize,
    #[snapshot(state)]
    timers: Timers,
    /// The event of each timer.
    #[snapshot(skip)]
    events: Box<[Event]>,
}

impl Clock {
    /// Returns a clock at time 0, without events, for a drive of `channels` channels and `dies`
    /// dies.
    pub fn new(channels: u32, dies: u32) -> Self {
        let events: Box<[Event]> = (0..channels)
            .map(Event::Transfer)
            .chain((0..dies).map(Event::Cells))
            .chain([Event::Arrival])
            .chain((0..dies).map(Event::Idle))
            .chain([Event::Memory, Event::Hints, Event::Look, Event::Stale, Event::Link])
            .collect();
        let (channels, dies) = (channels as usize, dies as usize);
        Self {
            now: 0,
            timer: 0,
            before: Position::end_of(0),
            channels,
            dies,
            timers: Timers::new(events.len()),
            events,
        }
    }

    /// Returns the nanoseconds since the start.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Returns the position of the last event.
    #[inline]
    pub fn position(&self) -> Position {
        Position { time: self.now, timer: self.timer }
    }

    /// Returns the position that `event` would have at `time`.
    #[inline]
    pub fn position_of(&self, event: Event, time: u64) -> Position {
        Position { time, timer: self.timer(event) as u32 + 1 }
    }

    /// Undoes the last event. The clock returns to its position before that event, or to `time` if
    /// `time` is later. `time` is the end of the last step of a chain of copies.
    pub fn take_back(&mut self, time: u64) {
        (self.now, self.timer) = (self.before.time, self.before.timer);
        self.pass(time);
    }

    /// Returns the position of the next event, or the position after all others if there is none.
    #[inline]
    pub fn next_position(&mut self) -> Position {
        let (timer, time) = self.timers.first();
        match time {
            NEVER => Position::end_of(NEVER),
            _ => Position { time, timer: timer as u32 + 1 },
        }
    }

    /// Moves to the next event, if its position is not after `end`.
    #[inline]
    pub fn go_on_until(&mut self, end: Position) -> Option<Event> {
        let (timer, time) = self.timers.first();
        let place = Position { time, timer: timer as u32 + 1 };
        (time < NEVER && place <= end).then(|| self.go_to(timer, time))
    }

    /// Moves to `position`, at which another channel of the drive has an event. The next event of
    /// this clock must come later.
    pub fn reach(&mut self, position: Position) {
        if position > self.position() {
            (self.now, self.timer) = (position.time, position.timer);
        }
    }

    /// Moves to `time`. The next event must come later.
    pub fn pass(&mut self, time: u64) {
        if time > self.now {
            (self.now, self.timer) = (time, u32::MAX);
        }
    }

    /// Sets the time of `event`; [`NEVER`] cancels it.
    #[inline(always)]
    pub fn set(&mut self, event: Event, time: u64) {
        debug_assert!(time >= self.now, "{event:?} at {time} is over at {}", self.now);
        self.timers.set(self.timer(event), time);
    }

    /// Returns the time of `event`.
    #[inline]
    pub fn time_of(&self, event: Event) -> u64 {
        self.timers.get(self.timer(event))
    }

    /// Returns `true` if any event is to come.
    pub fn has_next(&mut self) -> bool {
        self.timers.first().1 < NEVER
    }

    /// Returns the time of the next event, or [`NEVER`] if there is none.
    pub fn next_time(&mut self) -> u64 {
        self.timers.first().1
    }

    /// Moves to the next event, if its time is not after `end`.
    #[inline(always)]
    pub fn go_on(&mut self, end: u64) -> Next {
        let (timer, time) = self.timers.first();
        if time == NEVER {
            return Next::Nothing;
        }
        if time > end {
            return Next::Later;
        }
        Next::Event(self.go_to(timer, time))
    }

    #[inline(always)]
    fn go_to(&mut self, timer: usize, time: u64) -> Event {
        debug_assert!(time >= self.now, "time goes back from {} to {time}", self.now);
        self.before = self.position();
        self.now = time;
        self.timer = timer as u32 + 1;
        self.timers.clear_first(timer);
        self.events[timer]
    }

    #[inline]
    fn timer(&self, event: Event) -> usize {
        let after_dies = self.channels + self.dies;
        match event {
            Event::Transfer(channel) => channel as usize,
            Event::Cells(die) => self.channels + die as usize,
            Event::Arrival => after_dies,
            Event::Idle(die) => after_dies + 1 + die as usize,
            Event::Memory => after_dies + 1 + self.dies,
            Event::Hints => after_dies + 2 + self.dies,
            Event::Look => after_dies + 3 + self.dies,
            Event::Stale => after_dies + 4 + self.dies,
            Event::Link => after_dies + 5 + self.dies,
        }
    }
}

/// The number of sorted queues of [`Timers`].
const QUEUES: usize = 4;

/// A fixed number of timers, of which the one with the earliest time is found fast. Equal times
/// come in the order of the timers' numbers.
///
/// Jobs of one kind take the same time, so the ends of these jobs are set in the order in which
/// they come. A few sorted queues therefore hold nearly all entries. A new entry goes to the end of
/// the first queue whose last entry is not later. If there is no such queue, it goes to a heap.
///
/// The old entry of a timer that is set again stays where it is. It is removed when it is the first,
/// or when there are more than twice as many entries as timers.
///
/// An entry is one number: the time since `base` in the high bits, and the number of the timer in
/// the low bits. A time that is too far from `base` has no entry at first; it gets one when no
/// earlier entry is left and `base` moves.
struct Timers {
    times: Vec<u64>,
    base: u64,
    /// The number of bits for the number of a timer.
    bits: u32,
    /// `true` if there are times without an entry, after those of all entries.
    has_far: bool,
    queues: [Queue; QUEUES],
    heap: BinaryHeap<Reverse<u64>>,
    /// The first entry of each queue, then that of the heap; [`NO_ENTRY`] if it is empty.
    heads: [u64; QUEUES + 1],
    /// The last entry of each queue; 0 if it is empty.
    tails: [u64; QUEUES],
    /// The number of entries in the queues and the heap.
    entries: usize,
    /// The place in `heads` of the entry that [`Timers::first`] has returned last.
    at: usize,
}

/// The entry that is after all others.
const NO_ENTRY: u64 = u64::MAX;

/// A queue of entries, in a ring whose size is a power of two. Behind the last entry there is
/// [`NO_ENTRY`].
struct Queue {
    ring: Box<[u64]>,
    begin: usize,
    end: usize,
}

impl Queue {
    fn new() -> Self {
        Self { ring: [NO_ENTRY; 16].into(), begin: 0, end: 0 }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.begin == self.end
    }

    /// Returns `true` if the ring must grow before the next entry.
    #[inline]
    fn is_full(&self) -> bool {
        self.end.wrapping_sub(self.begin) == self.ring.len() - 1
    }

    /// Puts an entry at the end. The queue is not full.
    #[inline]
    fn push(&mut self, entry: u64) {
        let mask = self.ring.len() - 1;
        self.ring[self.end & mask] = entry;
        self.end = self.end.wrapping_add(1);
        self.ring[self.end & mask] = NO_ENTRY;
    }

    /// Takes out the first entry; the queue is not empty. Returns the entry after it.
    #[inline]
    fn pop(&mut self) -> u64 {
        self.begin = self.begin.wrapping_add(1);
        self.ring[self.begin & (self.ring.len() - 1)]
    }

    #[cold]
    fn grow(&mut self) {
        let size = self.ring.len();
        let count = self.end.wrapping_sub(self.begin);
        let old = (0..count).map(|index| self.ring[self.begin.wrapping_add(index) & (size - 1)]);
        let rest = std::iter::repeat_n(NO_ENTRY, 2 * size - count);
        self.ring = old.chain(rest).collect();
        (self.begin, self.end) = (0, count);
    }

    fn clear(&mut self) {
        *self = Self::new();
    }
}

/// A time in the high half, and the number of its timer in the low half: an entry as it is saved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Value)]
struct Saved(u128);

/// The times are the state. The entries are made from them; the saved ones are those of the timers
/// that are set, in order.
impl State for Timers {
    fn save(&self, to: &mut Writer<'_>) {
        let saved = self.in_order().into_iter();
        let saved = saved.map(|(time, timer)| Saved(u128::from(time) << 64 | timer as u128));
        saved.collect::<Vec<Saved>>().put(to);
        save_table(&self.times[..], to);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let saved: Vec<Saved> = Value::take(from)?;
        restore_table(&mut self.times[..], from)?;
        if saved.iter().any(|entry| entry.0 as u64 >= self.times.len() as u64) {
            return Err(Fault::new("an event belongs to a part that does not exist"));
        }
        self.tidy();
        Ok(())
    }
}

impl Timers {
    /// Returns `count` timers that are not set.
    fn new(count: usize) -> Self {
        Self {
            times: vec![NEVER; count],
            base: 0,
            bits: usize::BITS - count.leading_zeros(),
            has_far: false,
            queues: std::array::from_fn(|_| Queue::new()),
            heap: BinaryHeap::new(),
            heads: [NO_ENTRY; QUEUES + 1],
            tails: [0; QUEUES],
            entries: 0,
            at: 0,
        }
    }

    /// Returns `true` if `time` is too far from the base for an entry, or before the base.
    #[inline]
    fn is_far(&self, time: u64) -> bool {
        time.wrapping_sub(self.base) >> (u64::BITS - 1 - self.bits) != 0
    }

    /// Sets the time of a timer; [`NEVER`] clears it.
    #[inline]
    fn set(&mut self, timer: usize, time: u64) {
        if self.times[timer] == time {
            return;
        }
        self.times[timer] = time;
        if self.is_far(time) {
            return self.set_without_entry(time);
        }
        let entry = (time - self.base) << self.bits | timer as u64;
        // There is no branch for each queue, as the processor could not predict it.
        let mut fits = 1 << QUEUES;
        for queue in 0..QUEUES {
            fits |= u32::from(self.tails[queue] <= entry) << queue;
        }
        let queue = fits.trailing_zeros() as usize;
        match self.queues.get_mut(queue) {
            Some(entries) if !entries.is_full() && self.entries < 2 * self.times.len() => {
                entries.push(entry);
                self.tails[queue] = entry;
                self.heads[queue] = self.heads[queue].min(entry);
                self.entries += 1;
            }
            _ => self.put(queue, entry),
        }
    }

    /// Puts an entry into the queue `queue`, or into the heap if there is no such queue, after it
    /// has made room.
    #[inline(never)]
    fn put(&mut self, queue: usize, entry: u64) {
        if self.entries == 2 * self.times.len() {
            return self.tidy(); // this entry is made, too
        }
        self.entries += 1;
        self.heads[queue] = self.heads[queue].min(entry);
        let Some(entries) = self.queues.get_mut(queue) else {
            return self.heap.push(Reverse(entry));
        };
        if entries.is_full() {
            entries.grow();
        }
        entries.push(entry);
        self.tails[queue] = entry;
    }

    /// Notes that a timer was set to `time`, which is too far from the base or before it.
    #[inline(never)]
    fn set_without_entry(&mut self, time: u64) {
        if time < self.base {
            return self.tidy();
        }
        self.has_far |= time < NEVER;
    }

    /// Clears the timer that [`Timers::first`] has just returned.
    #[inline]
    fn clear_first(&mut self, timer: usize) {
        self.times[timer] = NEVER;
        self.pop(self.at);
    }

    /// Returns the time of a timer.
    #[inline]
    fn get(&self, timer: usize) -> u64 {
        self.times[timer]
    }

    /// Returns the timer with the earliest time, and that time; [`NEVER`] if no timer is set.
    #[inline(always)]
    fn first(&mut self) -> (usize, u64) {
        loop {
            let (mut at, mut first) = (0, self.heads[0]);
            for place in 1..=QUEUES {
                let head = self.heads[place];
                at = if head < first { place } else { at };
                first = first.min(head);
            }
            if first == NO_ENTRY {
                if !self.has_far {
                    return (0, NEVER);
                }
                self.tidy();
                continue;
            }
            let timer = (first & ((1 << self.bits) - 1)) as usize;
            let time = self.base + (first >> self.bits);
            if self.times[timer] == time {
                self.at = at;
                return (timer, time);
            }
            self.pop(at);
        }
    }

    /// Removes the first entry of the queue `at`, or of the heap.
    #[inline]
    fn pop(&mut self, at: usize) {
        self.entries -= 1;
        let Some(queue) = self.queues.get_mut(at) else { return self.pop_heap() };
        self.heads[at] = queue.pop();
        self.tails[at] = if queue.is_empty() { 0 } else { self.tails[at] };
    }

    #[inline(never)]
    fn pop_heap(&mut self) {
        self.heap.pop();
        self.heads[QUEUES] = self.heap.peek().map_or(NO_ENTRY, |first| first.0);
    }

    /// Returns the times and numbers of all timers that are set, in order.
    fn in_order(&self) -> Vec<(u64, usize)> {
        let set = self.times.iter().copied().zip(0..).filter(|&(time, _)| time < NEVER);
        let mut set: Vec<(u64, usize)> = set.collect();
        set.sort_unstable();
        set
    }

    /// Makes all entries anew from the times, with the earliest time as base.
    #[cold]
    fn tidy(&mut self) {
        let set = self.in_order();
        self.base = set.first().map_or(0, |&(time, _)| time);
        self.queues.iter_mut().for_each(Queue::clear);
        self.heap.clear();
        self.heads = [NO_ENTRY; QUEUES + 1];
        self.tails = [0; QUEUES];
        let near = set.iter().take_while(|&&(time, _)| !self.is_far(time));
        let near: Vec<u64> =
            near.map(|&(time, timer)| (time - self.base) << self.bits | timer as u64).collect();
        self.has_far = near.len() < set.len();
        self.entries = near.len();
        for entry in near {
            if self.queues[0].is_full() {
                self.queues[0].grow();
            }
            self.queues[0].push(entry);
            self.heads[0] = self.heads[0].min(entry);
            self.tails[0] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use flashgc_base::rng::Stream;

    use super::*;

    #[test]
    fn events_at_one_time_come_in_the_order_of_their_kinds_and_numbers() {
        let mut clock = Clock::new(2, 3);
        let all = [
            Event::Transfer(0),
            Event::Transfer(1),
            Event::Cells(0),
            Event::Cells(2),
            Event::Arrival,
            Event::Idle(0),
            Event::Idle(2),
            Event::Memory,
            Event::Hints,
            Event::Look,
        ];
        all.iter().rev().for_each(|&event| clock.set(event, 7));
        clock.set(Event::Look, 5);
        let mut come = Vec::new();
        while let Next::Event(event) = clock.go_on(7) {
            assert_eq!(clock.time_of(event), NEVER);
            come.push((event, clock.now()));
        }
        let mut expected = vec![(Event::Look, 5)];
        expected.extend(all[..9].iter().map(|&event| (event, 7)));
        assert_eq!(come, expected);
        assert_eq!(clock.go_on(7), Next::Nothing);
        clock.set(Event::Arrival, 8);
        assert_eq!((clock.go_on(7), clock.now()), (Next::Later, 7));
    }

    #[test]
    fn the_first_is_that_of_a_plain_search() {
        for count in [1, 16, 17, 137, 300, 5000] {
            let mut timers = Timers::new(count);
            let mut plain = vec![NEVER; count];
            let mut stream = Stream::new(1, "timers");
            for _ in 0..3000 {
                let timer = stream.below(count as u32) as usize;
                let time = if stream.below(4) == 0 { NEVER } else { stream.below(50).into() };
                if stream.below(3) == 0 && timers.first().1 < NEVER {
                    let first = timers.first().0;
                    timers.set(first, NEVER);
                    plain[first] = NEVER;
                    assert_eq!(timers.get(first), NEVER);
                }
                timers.set(timer, time);
                plain[timer] = time;
                let least = *plain.iter().min().unwrap();
                let first = plain.iter().position(|&time| time == least).unwrap();
                if least < NEVER {
                    assert_eq!(timers.first(), (first, least), "{count} timers");
                }
                assert_eq!(timers.first().1, least);
                assert_eq!(timers.get(timer), time);
                assert!(timers.entries <= 2 * count);
            }
        }
    }

    #[test]
    fn times_far_apart_come_in_order() {
        let mut timers = Timers::new(100);
        let times = [u64::MAX - 1, 7, 1 << 56, 1 << 40, (1 << 56) - 1, u64::MAX - 2, 9, 1 << 62];
        times.iter().enumerate().for_each(|(timer, &time)| timers.set(99 - timer, time));
        let mut come = Vec::new();
        while let (timer, time) = timers.first()
            && time < NEVER
        {
            timers.clear_first(timer);
            come.push(time);
            if time == 9 {
                // The base has not moved beyond the present.
                timers.set(3, 8);
                assert_eq!(timers.first(), (3, 8));
            }
        }
        let mut sorted = [&times[..], &[8]].concat();
        sorted.sort_unstable();
        come.sort_by_key(|&time| time == 8);
        sorted.sort_by_key(|&time| time == 8);
        assert_eq!(come, sorted);
    }

    #[test]
    fn times_that_are_taken_back_do_not_pile_up() {
        let mut timers = Timers::new(3);
        timers.set(0, 1);
        for time in (5..1000).flat_map(|time| [time, time, NEVER, 7, NEVER, 7]) {
            timers.set(1, time);
            assert!(timers.entries <= 6);
            assert_eq!(timers.first(), (0, 1));
        }
    }
}
