//! What happens next: a fixed number of timers, each with at most one time.

/// A time that does not come.
pub(super) const NEVER: u64 = u64::MAX;

/// Children a node.
const FAN: usize = 16;

/// The earliest of a fixed number of times, by a tree of minima. Equal times go by number.
pub(super) struct Timers {
    /// From the times themselves up to at most `FAN` minima, each padded to a multiple of `FAN`.
    levels: Vec<Vec<u64>>,
}

impl Timers {
    /// `count` timers without a time.
    pub(super) fn new(count: usize) -> Self {
        let mut levels = vec![vec![NEVER; count.next_multiple_of(FAN)]];
        while let Some(last) = levels.last().filter(|last| last.len() > FAN) {
            let above = (last.len() / FAN).next_multiple_of(FAN);
            levels.push(vec![NEVER; above]);
        }
        Self { levels }
    }

    /// Gives a timer this time, or none with [`NEVER`].
    #[inline]
    pub(super) fn set(&mut self, timer: usize, time: u64) {
        let mut index = timer;
        let mut time = time;
        let top = self.levels.len() - 1;
        for level in 0..top {
            self.levels[level][index] = time;
            index /= FAN;
            let least = least(&self.levels[level][index * FAN..][..FAN]);
            if self.levels[level + 1][index] == least {
                return;
            }
            time = least;
        }
        self.levels[top][index] = time;
    }

    /// The time of a timer.
    #[inline]
    pub(super) fn get(&self, timer: usize) -> u64 {
        self.levels[0][timer]
    }

    /// The first timer and its time, which is [`NEVER`] if none has one.
    #[inline]
    pub(super) fn first(&self) -> (usize, u64) {
        let mut index = 0;
        let mut time = NEVER;
        for level in self.levels.iter().rev() {
            let node = &level[index * FAN..][..FAN];
            time = least(node);
            index = index * FAN + node.iter().position(|&child| child == time).unwrap_or(0);
        }
        (index, time)
    }
}

#[inline(always)]
fn least(times: &[u64]) -> u64 {
    times.iter().copied().fold(NEVER, u64::min)
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
                timers.set(timer, time);
                plain[timer] = time;
                let least = *plain.iter().min().unwrap();
                let first = plain.iter().position(|&time| time == least).unwrap();
                assert_eq!(timers.first(), (first, least), "{count} timers");
                assert_eq!(timers.get(timer), time);
            }
        }
    }
}
