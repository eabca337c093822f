//! Response times: counts, exact moments, and percentiles from a histogram.

use flashgc_base::described::Described;
use flashgc_base::snapshot::{Fault, Reader, Value, Writer};
use flashgc_base::stream::StreamId;
use flashgc_workload::Op;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The significant decimal digits of a percentile: its relative error is below 10^-3.
const DIGITS: u8 = 3;

/// The resolution of a distribution: the number of points each time that the share of larger values
/// is halved.
const TICKS: u32 = 8;

/// The response time of a request by cause, in nanoseconds. The sum of the parts is the response
/// time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct Split {
    /// The time of waiting for other requests.
    pub queue_ns: u64,
    /// The time of waiting for a collection.
    pub blocked_ns: u64,
    /// The time of transfers over a bus, and of waiting for the bus.
    pub bus_ns: u64,
    /// The time of reads from and programs into cells.
    pub cell_ns: u64,
}

impl Split {
    /// Returns the whole response time.
    #[inline(always)]
    pub fn ns(&self) -> u64 {
        self.parts().into_iter().sum()
    }

    #[inline(always)]
    fn parts(&self) -> [u64; 4] {
        [self.queue_ns, self.blocked_ns, self.bus_ns, self.cell_ns]
    }
}

/// The fields of a completed request that measurements need. A copy of the whole [`Completion`]
/// would be slower.
///
/// [`Completion`]: crate::observer::Completion
#[derive(Clone, Copy, Value)]
pub(crate) struct Done {
    pub op: Op,
    pub met_collection: bool,
    pub split: Split,
    pub at_ns: u64,
    pub offset: u64,
    pub bytes: u32,
    pub stream: Option<StreamId>,
}

/// A count for each bin of response times. The bins are those of a [`Histogram`] of [`DIGITS`]
/// digits: a bin for each nanosecond up to 2047, and 1024 bins for each power of two above. The
/// histogram itself is made when a percentile is needed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Bins(Vec<u64>);

impl Bins {
    /// The logarithm to base 2 of the number of bins for each power of two.
    const LOG: u32 = 10;

    #[inline(always)]
    fn index(ns: u64) -> usize {
        let power = (ns >> Self::LOG | 1).ilog2();
        ((power as usize) << Self::LOG) + (ns >> power) as usize
    }

    /// Returns the smallest time of a bin, in nanoseconds.
    fn least(index: usize) -> u64 {
        let power = (index >> Self::LOG).saturating_sub(1) as u32;
        ((index - ((power as usize) << Self::LOG)) as u64) << power
    }

    #[inline(always)]
    fn add(&mut self, ns: u64, times: u64) {
        let index = Self::index(ns);
        match self.0.get_mut(index) {
            Some(count) => *count += times,
            None => self.grow(index)[index] += times,
        }
    }

    /// Makes room for the bin `index`.
    #[cold]
    fn grow(&mut self, index: usize) -> &mut [u64] {
        self.0.resize((index + 1).next_multiple_of(1 << Self::LOG), 0);
        &mut self.0
    }

    fn add_all(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(count, other)| *count += other);
    }

    /// Returns the bins that are not empty: the smallest time of each in nanoseconds, and its
    /// count.
    fn filled(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.0.iter().copied().enumerate();
        counts.filter(|&(_, count)| count > 0).map(|(index, count)| (Self::least(index), count))
    }

    fn histogram(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new(DIGITS).expect("three digits are allowed");
        for (ns, count) in self.filled() {
            histogram.record_n(ns, count).expect("the histogram grows as it must");
        }
        histogram
    }
}

/// Only the bins that are not empty are stored.
impl Value for Bins {
    fn put(&self, to: &mut Writer<'_>) {
        self.filled().collect::<Vec<_>>().put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let mut bins = Self::default();
        for (ns, count) in <Vec<(u64, u64)>>::take(from)? {
            bins.add(ns, count);
        }
        Ok(bins)
    }
}

/// The response times of one class of requests.
#[derive(Clone, Debug, Default, Value)]
struct Class {
    count: u64,
    bins: Bins,
    /// The sum of the times, in nanoseconds. Integers are exact, so the order of requests does not
    /// matter.
    sum: u128,
    /// The sum of the squares of the times, in square nanoseconds.
    squares: u128,
    max: u64,
}

impl Class {
    #[inline(always)]
    fn record(&mut self, ns: u64) {
        self.count += 1;
        self.bins.add(ns, 1);
        self.sum += u128::from(ns);
        self.squares += u128::from(ns) * u128::from(ns);
        self.max = self.max.max(ns);
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.bins.add_all(&other.bins);
        self.sum += other.sum;
        self.squares += other.squares;
        self.max = self.max.max(other.max);
    }

    fn figures(&self) -> Option<Figures> {
        let n = self.count;
        if n == 0 {
            return None;
        }
        let histogram = self.bins.histogram();
        let us = |ns: f64| ns / 1e3;
        // A histogram returns the upper end of a bin, which may be above the largest value.
        let quantile = |q: f64| us(histogram.value_at_quantile(q).min(self.max) as f64);
        let variance = self.variance();
        Some(Figures {
            requests: n,
            mean: us(self.sum as f64 / n as f64),
            variance: variance / 1e6,
            deviation: us(variance.sqrt()),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            p99_99: quantile(0.9999),
            max: us(self.max as f64),
        })
    }

    /// Returns the variance in square nanoseconds: (n S2 - S^2) / n^2, where S is `sum` and S2 is
    /// `squares`. The numerator is computed in integers if these do not overflow.
    fn variance(&self) -> f64 {
        let n = u128::from(self.count);
        let exact = n
            .checked_mul(self.squares)
            .zip(self.sum.checked_mul(self.sum))
            .map(|(squares, square)| (squares - square) as f64);
        let n = n as f64;
        match exact {
            Some(difference) => difference / (n * n),
            None => (self.squares as f64 / n - (self.sum as f64 / n).powi(2)).max(0.0),
        }
    }

    fn distribution(&self) -> Vec<(f64, f64)> {
        if self.count == 0 {
            return Vec::new();
        }
        let histogram = self.bins.histogram();
        let steps = histogram.iter_quantiles(TICKS);
        let point = |value: u64, share: f64| (value.min(self.max) as f64 / 1e3, share);
        let mut points: Vec<(f64, f64)> =
            steps.map(|step| point(step.value_iterated_to(), step.quantile())).collect();
        points.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1;
            }
            same
        });
        points
    }
}

/// The response times of one class of requests, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct Figures {
    /// The number of requests of the class.
    pub requests: u64,
    /// The mean, exact.
    pub mean: f64,
    /// The variance in square microseconds, exact.
    pub variance: f64,
    /// The standard deviation, exact.
    pub deviation: f64,
    /// The median. All percentiles are exact to 0.1%.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p99_9: f64,
    /// The 99.99th percentile.
    pub p99_99: f64,
    /// The longest response time, exact.
    pub max: f64,
}

/// The response times of reads or of writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct SideLatency {
    /// All requests of the side.
    #[serde(flatten)]
    pub all: Figures,
    /// The requests that waited for a collection or were served between the steps of a collection.
    pub during_collection: Option<Figures>,
    /// The requests that met no collection.
    pub free_of_collection: Option<Figures>,
    /// The distribution, as points: a response time in microseconds, and the share of the requests
    /// that took at most this time.
    pub distribution: Vec<(f64, f64)>,
}

/// The response times by class, in microseconds; `None` if there was no such request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Described)]
pub struct LatencyResult {
    /// All requests.
    pub all: Option<SideLatency>,
    /// Reads.
    pub read: Option<SideLatency>,
    /// Writes.
    pub write: Option<SideLatency>,
    /// Discards.
    pub trim: Option<SideLatency>,
    /// Flush commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<SideLatency>,
}

/// The share of each cause in the sum of all response times, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct TimeShare {
    /// The share of the time of waiting for other requests, and for power if that is limited.
    pub queue: f64,
    /// The share of the time of waiting for a collection.
    pub collection: f64,
    /// The share of the time of transfers over a bus and of waiting for the bus.
    pub bus: f64,
    /// The share of the time of reads and programs in the cells.
    pub cell: f64,
}

/// The shares of causes for reads and for writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Described)]
pub struct TimeShares {
    /// The shares of reads.
    pub read: Option<TimeShare>,
    /// The shares of writes.
    pub write: Option<TimeShare>,
}

/// Collects response times.
#[derive(Clone, Debug, Default, Value)]
pub struct Latencies {
    /// The classes. The first index is the operation, the second is 1 for requests that met a
    /// collection.
    classes: [[Class; 2]; OPS],
    /// The sums of the parts of [`Split`], by operation.
    parts: [[u128; 4]; OPS],
}

/// The number of operations whose response times are kept separately.
const OPS: usize = 4;

/// Returns the index of an operation in the tables of [`Latencies`].
fn place(op: Op) -> usize {
    match op {
        Op::Write => 0,
        Op::Read => 1,
        Op::Trim | Op::Dirty | Op::Clean => 2,
        Op::Flush => 3,
    }
}

impl Latencies {
    /// Notes a request with its response time. `met` is `true` if it met a collection.
    #[inline(always)]
    pub fn record(&mut self, op: Op, met: bool, response: &Split) {
        self.classes[place(op)][usize::from(met)].record(response.ns());
        for (sum, part) in self.parts[place(op)].iter_mut().zip(response.parts()) {
            *sum += u128::from(part);
        }
    }

    /// Adds other response times.
    pub fn add(&mut self, other: &Self) {
        for (classes, others) in self.classes.iter_mut().zip(&other.classes) {
            for (class, other) in classes.iter_mut().zip(others) {
                class.add(other);
            }
        }
        for (parts, others) in self.parts.iter_mut().zip(&other.parts) {
            for (part, other) in parts.iter_mut().zip(others) {
                *part += other;
            }
        }
    }

    /// Returns the number of requests noted.
    pub fn requests(&self) -> u64 {
        self.classes.iter().flatten().map(|class| class.count).sum()
    }

    /// Returns the sum of all response times, in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.classes.iter().flatten().map(|class| class.sum).sum()
    }

    /// Returns the response times as results: means, percentiles and distributions in microseconds.
    pub fn result(&self) -> LatencyResult {
        let of = |op: Op| side(&self.classes[place(op)]);
        let mut all = <[Class; 2]>::default();
        for classes in &self.classes {
            for (sum, class) in all.iter_mut().zip(classes) {
                sum.add(class);
            }
        }
        LatencyResult {
            all: side(&all),
            read: of(Op::Read),
            write: of(Op::Write),
            trim: of(Op::Trim),
            flush: of(Op::Flush),
        }
    }

    /// Returns the shares of causes in the response times.
    pub fn shares(&self) -> TimeShares {
        let of = |op: Op| {
            let total: u128 = self.classes[place(op)].iter().map(|class| class.sum).sum();
            let share = |part: u128| part as f64 / total as f64;
            let parts = self.parts[place(op)];
            (total > 0).then(|| TimeShare {
                queue: share(parts[0]),
                collection: share(parts[1]),
                bus: share(parts[2]),
                cell: share(parts[3]),
            })
        };
        TimeShares { read: of(Op::Read), write: of(Op::Write) }
    }
}

fn side(classes: &[Class; 2]) -> Option<SideLatency> {
    let [free, during] = classes;
    let mut both = free.clone();
    both.add(during);
    Some(SideLatency {
        all: both.figures()?,
        during_collection: during.figures(),
        free_of_collection: free.figures(),
        distribution: both.distribution(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns reads of 1 to `most` microseconds that met no collection.
    fn reads(most: u64) -> Latencies {
        let mut latencies = Latencies::default();
        for us in 1..=most {
            latencies.record(Op::Read, false, &Split { cell_ns: us * 1000, ..Split::default() });
        }
        latencies
    }

    #[test]
    fn bins_are_those_of_the_histogram() {
        let (mut bins, mut histogram) = (Bins::default(), Histogram::new(DIGITS).unwrap());
        let edges = (0..60).flat_map(|power| {
            (0..9).map(move |off| (1u64 << power) + off - 4 * u64::from(power > 3))
        });
        let apart = (0..20_000u64).map(|i| i * i * 7_919);
        for ns in edges.chain(apart) {
            bins.add(ns, 1);
            histogram.record(ns).unwrap();
        }
        assert_eq!(bins.histogram(), histogram);
        let of = |histogram: &Histogram<u64>| -> Vec<_> {
            let steps = histogram.iter_quantiles(TICKS);
            steps.map(|step| (step.value_iterated_to(), step.quantile())).collect()
        };
        assert_eq!(of(&bins.histogram()), of(&histogram));
        assert!((0..bins.0.len()).all(|index| Bins::index(Bins::least(index)) == index));
    }

    #[test]
    fn moments_are_exact_and_percentiles_good_to_three_digits() {
        // 1 to 100 000 us: mean 50 000.5, variance (n^2 - 1) / 12, percentiles n p.
        let read = reads(100_000).result().read.unwrap().all;
        assert_eq!(read.mean, 50_000.5);
        assert_eq!(read.variance, (1e10 - 1.0) / 12.0);
        let near = |value: f64, exact: f64| (value - exact).abs() <= 1e-3 * exact;
        assert!(near(read.p50, 5e4) && near(read.p90, 9e4) && near(read.p99, 9.9e4), "{read:?}");
        assert!(near(read.p99_9, 9.99e4) && near(read.p99_99, 9.999e4), "{read:?}");
        assert_eq!((read.max, read.requests), (1e5, 100_000));
    }

    #[test]
    fn a_constant_has_no_variance_however_large_and_no_percentile_above_it() {
        let mut latencies = Latencies::default();
        let same = Split { cell_ns: 123_456_789_123, ..Split::default() };
        for _ in 0..1000 {
            latencies.record(Op::Write, true, &same);
        }
        let write = latencies.result().write.unwrap();
        assert_eq!((write.all.mean, write.all.variance), (123_456_789.123, 0.0));
        assert_eq!((write.all.p50, write.all.max), (123_456_789.123, 123_456_789.123));
        assert_eq!(write.distribution, [(123_456_789.123, 1.0)]);
        assert_eq!(write.during_collection, Some(write.all));
        assert_eq!(write.free_of_collection, None);
    }

    #[test]
    fn sums_of_two_are_what_one_would_have_noted() {
        let [mut one, mut other, mut both] = [(); 3].map(|()| Latencies::default());
        for i in 0..5000u64 {
            let ns = i * i % 7919 + 1;
            let op = [Op::Write, Op::Read, Op::Trim][i as usize % 3];
            let split = Split {
                queue_ns: ns / 2,
                blocked_ns: ns / 4,
                bus_ns: 0,
                cell_ns: ns - ns / 2 - ns / 4,
            };
            let part = if i % 2 == 0 { &mut one } else { &mut other };
            part.record(op, i % 5 == 0, &split);
            both.record(op, i % 5 == 0, &split);
        }
        one.add(&other);
        assert_eq!(one.result(), both.result());
        assert_eq!(one.shares(), both.shares());
        assert_eq!((one.requests(), one.sum_ns()), (5000, both.sum_ns()));
    }

    #[test]
    fn shares_are_of_all_time() {
        let mut latencies = Latencies::default();
        let split = |blocked_ns| Split { queue_ns: 50, blocked_ns, bus_ns: 25, cell_ns: 25 };
        latencies.record(Op::Read, false, &split(0));
        latencies.record(Op::Read, true, &split(200));
        let read = latencies.shares().read.unwrap();
        let expected = TimeShare { queue: 0.25, collection: 0.5, bus: 0.125, cell: 0.125 };
        assert_eq!(read, expected);
        assert_eq!(latencies.shares().write, None);
    }

    #[test]
    fn the_distribution_rises_to_1() {
        let points = reads(10_000).result().read.unwrap().distribution;
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        assert_eq!(points.last(), Some(&(10_000.0, 1.0)));
        // Of 1 to 10 000 us, the share below x us is x / 10 000.
        assert!(points.iter().all(|(us, share)| (share - us / 1e4).abs() < 2e-3), "{points:?}");
    }
}
