//! The clock: the present time and the next event. Each event has at most one time at which it is
//! due.

use flashgc_base::snapshot::{Fault, State, Value};

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

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
    #[inline]
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
        self.timers.clear(timer);
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

/// A fixed number of timers, of which the one with the earliest time is found fast. Equal times
/// come in the order of the timers' numbers.
///
/// When a timer is set again, its old entry stays in the heap. It is removed when it is the first,
/// or when the heap has more than twice as many entries as there are timers.
#[derive(State)]
#[snapshot(then = check)]
struct Timers {
    #[snapshot(table)]
    times: Vec<u64>,
    heap: BinaryHeap<Reverse<Entry>>,
}

/// A time in the high half, and the number of its timer in the low half.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Value)]
struct Entry(u128);

impl Entry {
    #[inline]
    fn new(timer: usize, time: u64) -> Self {
        Self(u128::from(time) << 64 | timer as u128)
    }

    #[inline]
    fn timer(self) -> usize {
        self.0 as u64 as usize
    }

    #[inline]
    fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// Returns `true` if the entry is valid: it has the present time of its timer.
    #[inline]
    fn holds(self, times: &[u64]) -> bool {
        times[self.timer()] == self.time()
    }
}

impl Timers {
    fn check(&self) -> Result<(), Fault> {
        if self.heap.iter().all(|entry| entry.0.timer() < self.times.len()) {
            return Ok(());
        }
        Err(Fault::new("an event belongs to a part that does not exist"))
    }

    /// Returns `count` timers that are not set.
    fn new(count: usize) -> Self {
        Self { times: vec![NEVER; count], heap: BinaryHeap::with_capacity(2 * count + 1) }
    }

    /// Sets the time of a timer; [`NEVER`] clears it.
    #[inline]
    fn set(&mut self, timer: usize, time: u64) {
        let Self { times, heap } = self;
        if times[timer] == time {
            return;
        }
        times[timer] = time;
        if time == NEVER {
            return;
        }
        let entry = Reverse(Entry::new(timer, time));
        match heap.peek_mut() {
            // Replaces the first entry, which is no longer valid.
            Some(mut first) if !first.0.holds(times) => *first = entry,
            first => {
                drop(first);
                heap.push(entry);
            }
        }
        if heap.len() > 2 * times.len() {
            heap.clear();
            let set = (0..).zip(&*times).filter(|&(_, &time)| time < NEVER);
            heap.extend(set.map(|(timer, &time)| Reverse(Entry::new(timer, time))));
        }
    }

    /// Clears a timer.
    #[inline]
    fn clear(&mut self, timer: usize) {
        self.times[timer] = NEVER;
    }

    /// Returns the time of a timer.
    #[inline]
    fn get(&self, timer: usize) -> u64 {
        self.times[timer]
    }

    /// Returns the timer with the earliest time, and that time; [`NEVER`] if no timer is set.
    #[inline]
    fn first(&mut self) -> (usize, u64) {
        while let Some(first) = self.heap.peek_mut() {
            if first.0.holds(&self.times) {
                return (first.0.timer(), first.0.time());
            }
            PeekMut::pop(first);
        }
        (0, NEVER)
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
                assert!(timers.heap.len() <= 2 * count);
            }
        }
    }

    #[test]
    fn times_that_are_taken_back_do_not_pile_up() {
        let mut timers = Timers::new(3);
        timers.set(0, 1);
        for time in (5..1000).flat_map(|time| [time, time, NEVER, 7, NEVER, 7]) {
            timers.set(1, time);
            assert!(timers.heap.len() <= 6);
            assert_eq!(timers.first(), (0, 1));
        }
    }
}
