//! What happens next: a fixed number of timers, each with at most one time.

/// A time that does not come.
pub(super) const NEVER: u64 = u64::MAX;

/// Children a node.
const FAN: usize = 8;

/// The earliest of a fixed number of times, by a tournament. Equal times go by number.
///
/// A node names the winner under it, so the first is at hand. Setting a time that does not win, of
/// a timer that did not, looks at one node; only where a winner falls back are its nodes searched.
pub(super) struct Timers {
    times: Vec<u64>,
    /// From groups of timers up to the root.
    levels: Vec<Vec<Winner>>,
    /// The timer whose time has come and is still in the tree: it is likely to get another.
    fired: usize,
}

/// No timer.
const NONE: usize = usize::MAX;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Winner {
    time: u64,
    timer: u32,
}

impl Winner {
    const NONE: Self = Self { time: NEVER, timer: u32::MAX };

    fn earlier(self, other: Self) -> Self {
        if other.time < self.time { other } else { self }
    }
}

impl Timers {
    /// `count` timers without a time.
    pub(super) fn new(count: usize) -> Self {
        let times = vec![NEVER; count.next_multiple_of(FAN)];
        let mut size = times.len();
        let mut levels = Vec::new();
        while levels.is_empty() || size > 1 {
            size = size.div_ceil(FAN);
            let padded = if size > 1 { size.next_multiple_of(FAN) } else { 1 };
            levels.push(vec![Winner::NONE; padded]);
        }
        Self { times, levels, fired: NONE }
    }

    /// Gives a timer this time, or none with [`NEVER`].
    #[inline]
    pub(super) fn set(&mut self, timer: usize, time: u64) {
        if timer == self.fired {
            self.fired = NONE;
        }
        self.times[timer] = time;
        let this = timer as u32;
        let mut best = Winner { time, timer: this };
        let mut index = timer;
        for level in 0..self.levels.len() {
            index /= FAN;
            let node = self.levels[level][index];
            if node.timer == this && best.time > node.time {
                best = self.search(level, index);
            } else if best >= node && node.timer != this {
                return;
            }
            self.levels[level][index] = best;
        }
    }

    /// The earliest under a node.
    #[inline]
    fn search(&self, level: usize, index: usize) -> Winner {
        let first = index * FAN;
        if level > 0 {
            let below = &self.levels[level - 1][first..][..FAN];
            return below.iter().copied().fold(Winner::NONE, Winner::earlier);
        }
        let times = &self.times[first..][..FAN];
        let mut best = Winner { time: times[0], timer: first as u32 };
        for (offset, &time) in (1..).zip(&times[1..]) {
            best = best.earlier(Winner { time, timer: first as u32 + offset });
        }
        best
    }

    /// The time of a timer.
    #[inline]
    pub(super) fn get(&self, timer: usize) -> u64 {
        if timer == self.fired { NEVER } else { self.times[timer] }
    }

    /// The first timer's time has come: it has none any more.
    #[inline]
    pub(super) fn fire(&mut self) {
        self.fired = self.first().0;
    }

    /// The first timer and its time, which is [`NEVER`] if none has one.
    #[inline]
    pub(super) fn first(&mut self) -> (usize, u64) {
        if self.fired != NONE {
            self.set(self.fired, NEVER);
        }
        let Winner { time, timer } = self.levels[self.levels.len() - 1][0];
        (timer as usize, time)
    }
}

#[cfg(test)]
mod tests {
    use flashgc_ftl::rng::Stream;

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
                    timers.fire();
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
            }
        }
    }
}
