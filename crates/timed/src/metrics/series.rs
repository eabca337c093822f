//! Series over time: throughput, response times and busy times, in slices of equal length.

use flashgc_base::described::Described;
use flashgc_base::snapshot::{Fault, Value};
use flashgc_workload::Op;
use serde::{Deserialize, Serialize};

/// The kinds of busy time that a series sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// A bus transfers.
    Bus,
    /// A die reads, programs or erases.
    Die,
    /// A collection is under way, whether it works or waits.
    Collection,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Value)]
struct Side {
    requests: u64,
    bytes: u64,
    sum_ns: u64,
    max_ns: u64,
}

impl Side {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Value)]
struct Slice {
    reads: Side,
    writes: Side,
    busy_ns: [u64; 3],
}

impl Slice {
    fn add(&mut self, other: &Self) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
        for (busy, other) in self.busy_ns.iter_mut().zip(other.busy_ns) {
            *busy += other;
        }
    }
}

/// The value of [`Series::last`] before any slice was looked up.
const NO_SLICE: (u64, u64, usize) = (0, 0, 0);

/// Series over time, collected from a first moment on, the origin.
#[derive(Clone, Debug, Value)]
#[snapshot(then = check)]
pub struct Series {
    origin_ns: u64,
    resolution_ns: u64,
    most: u64,
    slices: Vec<Slice>,
    /// The slice that was used last: its begin and its end in nanoseconds, and its index.
    #[snapshot(skip)]
    last: (u64, u64, usize),
}

impl Series {
    fn check(&self) -> Result<(), Fault> {
        match self.resolution_ns > 0 && self.most > 0 {
            true => Ok(()),
            false => Err(Fault::new("a series has slices of no length")),
        }
    }

    /// Returns an empty series of slices of `resolution_ns` nanoseconds (at least 1) from
    /// `origin_ns` on. When there would be more than `most` slices, each two neighbours become one
    /// slice, so that the length doubles.
    pub fn new(origin_ns: u64, resolution_ns: u64, most: u32) -> Self {
        let (resolution_ns, most) = (resolution_ns.max(1), u64::from(most.max(1)));
        Self { origin_ns, resolution_ns, most, slices: Vec::new(), last: NO_SLICE }
    }

    /// Drops all values, and begins again at `origin_ns`.
    pub fn restart(&mut self, origin_ns: u64) {
        self.origin_ns = origin_ns;
        self.slices.clear();
        self.last = NO_SLICE;
    }

    /// Returns the slice that has the time `at_ns`. Times before the origin belong to the first
    /// slice.
    #[inline(always)]
    fn slice(&mut self, at_ns: u64) -> &mut Slice {
        let (from, to, index) = self.last;
        match from <= at_ns && at_ns < to {
            true => &mut self.slices[index],
            false => self.find_slice(at_ns),
        }
    }

    #[inline(never)]
    fn find_slice(&mut self, at_ns: u64) -> &mut Slice {
        let since = at_ns.saturating_sub(self.origin_ns);
        while since / self.resolution_ns >= self.most {
            self.halve();
        }
        let index = (since / self.resolution_ns) as usize;
        if index >= self.slices.len() {
            self.slices.resize(index + 1, Slice::default());
        }
        let from = self.origin_ns + index as u64 * self.resolution_ns;
        self.last = (from, from + self.resolution_ns, index);
        &mut self.slices[index]
    }

    fn halve(&mut self) {
        let pairs = self.slices.chunks(2).map(|pair| {
            let mut sum = pair[0];
            if let Some(other) = pair.get(1) {
                sum.add(other);
            }
            sum
        });
        self.slices = pairs.collect();
        self.resolution_ns *= 2;
        self.last = NO_SLICE;
    }

    /// Adds another series with the same origin. The result is as if all values had been noted
    /// here.
    pub fn add(&mut self, mut other: Self) {
        while self.resolution_ns < other.resolution_ns {
            self.halve();
        }
        while other.resolution_ns < self.resolution_ns {
            other.halve();
        }
        let slices = self.slices.len().max(other.slices.len());
        self.slices.resize(slices, Slice::default());
        self.slices.iter_mut().zip(&other.slices).for_each(|(slice, other)| slice.add(other));
    }

    /// Notes a request that was complete at `at_ns`, with a response time of `ns` nanoseconds.
    #[inline(always)]
    pub fn completed(&mut self, at_ns: u64, op: Op, bytes: u32, ns: u64) {
        let slice = self.slice(at_ns);
        let side = match op {
            Op::Read => &mut slice.reads,
            Op::Write => &mut slice.writes,
            Op::Trim | Op::Dirty | Op::Clean | Op::Flush => return,
        };
        side.requests += 1;
        side.bytes += u64::from(bytes);
        side.sum_ns += ns;
        side.max_ns = side.max_ns.max(ns);
    }

    /// Returns the begin and the end of the slice that was used last; both are equal if none was
    /// used.
    pub fn slice_at_hand(&self) -> (u64, u64) {
        (self.last.0, self.last.1)
    }

    /// Notes `busy_ns` nanoseconds of busy time, summed over several buses or dies, in the slice
    /// that began at `from_ns`.
    pub fn busy_in_all(&mut self, what: Busy, from_ns: u64, busy_ns: u64) {
        if busy_ns > 0 {
            self.slice(from_ns).busy_ns[what as usize] += busy_ns;
        }
    }

    /// Notes that one bus, die or collection was busy from `from_ns` to `to_ns`, if this time lies
    /// in the slice that was used last. Returns `true` if it does.
    #[inline(always)]
    pub fn busy_at_hand(&mut self, what: Busy, from_ns: u64, to_ns: u64) -> bool {
        let (from, to, index) = self.last;
        let is_at_hand = from <= from_ns && from_ns < to_ns && to_ns <= to;
        if is_at_hand {
            self.slices[index].busy_ns[what as usize] += to_ns - from_ns;
        }
        is_at_hand
    }

    /// Notes that a bus was busy from `begin_ns` to `sent_ns`, and a die from `sent_ns` to
    /// `end_ns`, if both times lie in the slice that was used last. Returns `true` if they do.
    #[inline(always)]
    pub fn programmed_at_hand(&mut self, [begin_ns, sent_ns, end_ns]: [u64; 3]) -> bool {
        let (from, to, index) = self.last;
        let is_at_hand = from <= begin_ns && end_ns <= to && from < to;
        if is_at_hand {
            let busy_ns = &mut self.slices[index].busy_ns;
            busy_ns[Busy::Bus as usize] += sent_ns - begin_ns;
            busy_ns[Busy::Die as usize] += end_ns - sent_ns;
        }
        is_at_hand
    }

    /// Notes that one bus, die or collection was busy from `from_ns` to `to_ns`.
    #[inline(never)]
    pub fn busy(&mut self, what: Busy, from_ns: u64, to_ns: u64) {
        let mut at = from_ns.max(self.origin_ns);
        if at >= to_ns {
            return;
        }
        self.slice(to_ns - 1); // adds the slices that are missing
        while at < to_ns {
            let since = at - self.origin_ns;
            let end = self.origin_ns + (since / self.resolution_ns + 1) * self.resolution_ns;
            let stop = end.min(to_ns);
            self.slice(at).busy_ns[what as usize] += stop - at;
            at = stop;
        }
    }

    /// Returns the series up to `end_ns`. The drive has these numbers of channels and of dies, and
    /// up to `collectors` collections at a time.
    pub fn result(&self, end_ns: u64, channels: u32, dies: u32, collectors: u32) -> SeriesResult {
        let length = |index: usize| {
            let from = self.origin_ns + index as u64 * self.resolution_ns;
            end_ns.saturating_sub(from).min(self.resolution_ns)
        };
        let slices = self.slices.iter().enumerate().filter(|(index, _)| length(*index) > 0);
        let mut result = SeriesResult {
            resolution_seconds: self.resolution_ns as f64 / 1e9,
            ..SeriesResult::default()
        };
        for (index, slice) in slices {
            let ns = length(index) as f64;
            let share = |what: Busy, many: u32| {
                slice.busy_ns[what as usize] as f64 / (ns * f64::from(many.max(1)))
            };
            result.read.push(&slice.reads, ns);
            result.write.push(&slice.writes, ns);
            result.bus.push(share(Busy::Bus, channels));
            result.die.push(share(Busy::Die, dies));
            result.collecting.push(share(Busy::Collection, collectors));
        }
        result
    }
}

/// Series over time. The i-th entry of each list is the i-th slice of the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Described)]
pub struct SeriesResult {
    /// The length of a slice, in seconds; the last one may be shorter.
    pub resolution_seconds: f64,
    /// The figures of reads.
    pub read: SideSeries,
    /// The figures of writes.
    pub write: SideSeries,
    /// The share of the time in which a bus transferred, from 0 to 1, as the mean over the
    /// channels.
    pub bus: Vec<f64>,
    /// The share of the time in which a die's cells worked, from 0 to 1, as the mean over the dies.
    pub die: Vec<f64>,
    /// The share of the time in which a collection was under way, from 0 to 1, as the mean over the
    /// units that have one collection at a time.
    pub collecting: Vec<f64>,
}

/// Reads or writes over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Described)]
pub struct SideSeries {
    /// The requests completed a second.
    pub requests_per_second: Vec<f64>,
    /// The bytes a second.
    pub bytes_per_second: Vec<f64>,
    /// The mean response time in microseconds; `None` if nothing was completed.
    pub mean_us: Vec<Option<f64>>,
    /// The longest response time in microseconds; `None` if nothing was completed.
    pub max_us: Vec<Option<f64>>,
}

impl SideSeries {
    fn push(&mut self, side: &Side, ns: f64) {
        let any = side.requests > 0;
        self.requests_per_second.push(side.requests as f64 * 1e9 / ns);
        self.bytes_per_second.push(side.bytes as f64 * 1e9 / ns);
        self.mean_us.push(any.then(|| side.sum_ns as f64 / side.requests as f64 / 1e3));
        self.max_us.push(any.then_some(side.max_ns as f64 / 1e3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_worked_out_by_hand() {
        // Slices of 100 ns from 1000 on: [1000, 1100), [1100, 1200), ... up to 1250.
        let mut series = Series::new(1000, 100, 10);
        series.completed(1020, Op::Read, 4096, 10);
        series.completed(1090, Op::Read, 4096, 30);
        series.completed(1210, Op::Write, 8192, 200);
        series.busy(Busy::Bus, 1050, 1220); // 50, 100, 20
        series.busy(Busy::Die, 900, 1100); // only what is after the origin
        series.busy(Busy::Collection, 1100, 1250);
        let result = series.result(1250, 2, 4, 1);
        assert_eq!(result.bus, [0.25, 0.5, 0.2]); // the last slice is 50 ns long
        assert_eq!(result.die, [0.25, 0.0, 0.0]);
        assert_eq!(result.collecting, [0.0, 1.0, 1.0]);
        assert_eq!(result.read.requests_per_second, [2e7, 0.0, 0.0]);
        assert_eq!(result.read.mean_us, [Some(0.02), None, None]);
        assert_eq!(result.read.max_us, [Some(0.03), None, None]);
        assert_eq!(result.write.bytes_per_second, [0.0, 0.0, 8192.0 * 2e7]);
        assert_eq!(result.resolution_seconds, 1e-7);
    }

    #[test]
    fn slices_grow_instead_of_becoming_too_many() {
        const MOST: usize = 4096;
        let mut series = Series::new(0, 1, MOST as u32);
        let moments = (0..100_000u64).map(|i| i * 7);
        for at in moments.clone() {
            series.completed(at, Op::Write, 1, at);
            series.busy(Busy::Die, at, at + 3);
        }
        assert!(series.slices.len() <= MOST && series.slices.len() > MOST / 2);
        assert!(series.resolution_ns.is_power_of_two());
        // Slices that are merged lose nothing: the sums over all slices stay the same.
        let sum = |of: fn(&Slice) -> u64| series.slices.iter().map(of).sum::<u64>();
        assert_eq!(sum(|slice| slice.writes.requests), 100_000);
        assert_eq!(sum(|slice| slice.writes.sum_ns), moments.sum::<u64>());
        assert_eq!(sum(|slice| slice.busy_ns[Busy::Die as usize]), 300_000);
        // Two series that share the values have the same sum.
        let mut pair = [Series::new(0, 1, MOST as u32), Series::new(0, 1, MOST as u32)];
        for (index, at) in (0..100_000u64).map(|i| i * 7).enumerate() {
            // The second series ends long before the first, with shorter slices.
            let series = &mut pair[usize::from(index % 3 == 0 && index < 5000)];
            series.completed(at, Op::Write, 1, at);
            series.busy(Busy::Die, at, at + 3);
        }
        let [mut one, other] = pair;
        assert!(other.resolution_ns < one.resolution_ns);
        let mut around = other.clone();
        around.add(one.clone());
        one.add(other);
        assert_eq!((&one.slices, one.resolution_ns), (&series.slices, series.resolution_ns));
        assert_eq!((&around.slices, around.resolution_ns), (&series.slices, series.resolution_ns));
        // The result is the same as with this resolution from the beginning.
        let mut direct = Series::new(0, series.resolution_ns, MOST as u32);
        for at in (0..100_000u64).map(|i| i * 7) {
            direct.completed(at, Op::Write, 1, at);
            direct.busy(Busy::Die, at, at + 3);
        }
        assert_eq!(direct.slices, series.slices);
    }
}
