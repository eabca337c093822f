//! What happens next: a fixed number of timers, each with at most one time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A time that does not come.
pub(super) const NEVER: u64 = u64::MAX;

/// The earliest of a fixed number of times. Equal times go by number.
///
/// What is no longer the time of its timer stays in the heap until it comes up, or until the heap is
/// twice as long as there are timers.
pub(super) struct Timers {
    times: Vec<u64>,
    heap: BinaryHeap<Reverse<Entry>>,
}

/// A time and, in its low half, the timer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

    /// Whether it is its timer's.
    #[inline]
    fn holds(self, times: &[u64]) -> bool {
        times[self.timer()] == self.time()
    }
}

impl Timers {
    /// `count` timers without a time.
    pub(super) fn new(count: usize) -> Self {
        Self { times: vec![NEVER; count], heap: BinaryHeap::with_capacity(2 * count + 1) }
    }

    /// Gives a timer this time, or none with [`NEVER`].
    #[inline]
    pub(super) fn set(&mut self, timer: usize, time: u64) {
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
            // It takes the place of what has just come.
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

    /// The time of a timer.
    #[inline]
    pub(super) fn get(&self, timer: usize) -> u64 {
        self.times[timer]
    }

    /// The first timer and its time, which is [`NEVER`] if none has one.
    #[inline]
    pub(super) fn first(&mut self) -> (usize, u64) {
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
