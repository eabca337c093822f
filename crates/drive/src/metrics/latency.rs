//! Response times: counts, exact moments, and percentiles from a histogram.

use flashgc_base::snapshot::{Fault, Reader, Value, Writer};
use flashgc_base::value;

use flashgc_workload::Op;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Significant decimal digits of a percentile: its relative error is below 10^-3.
const DIGITS: u8 = 3;

/// Points of a distribution for each halving of the share above.
const TICKS: u32 = 8;

/// The response time of a request split into its causes, in nanoseconds; the parts sum to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Waiting for other requests.
    pub queue_ns: u64,
    /// Waiting for a collection.
    pub blocked_ns: u64,
    /// Transfers over a bus, and waiting for it.
    pub bus_ns: u64,
    /// Reads from and programs into cells.
    pub cell_ns: u64,
}

impl Split {
    fn parts(&self) -> [u64; 4] {
        [self.queue_ns, self.blocked_ns, self.bus_ns, self.cell_ns]
    }
}

/// The response times of one class of requests.
#[derive(Clone, Debug)]
struct Class {
    histogram: Histogram<u64>,
    /// Sums of the times and of their squares: integers, so that neither the order of the requests
    /// nor rounding matters.
    sum: u128,
    squares: u128,
    max: u64,
}

/// The histogram by its bins: a value of each, and how many there are.
impl Value for Class {
    fn put(&self, to: &mut Writer<'_>) {
        let Self { histogram, sum, squares, max } = self;
        let bins = histogram.iter_recorded();
        let bins: Vec<(u64, u64)> =
            bins.map(|bin| (bin.value_iterated_to(), bin.count_at_value())).collect();
        (bins, *sum, *squares, *max).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let (bins, sum, squares, max): (Vec<(u64, u64)>, _, _, _) = Value::take(from)?;
        let mut class = Self { sum, squares, max, ..Self::new() };
        for (value, count) in bins {
            let recorded = class.histogram.record_n(value, count);
            recorded.map_err(|_| Fault::new("a response time is too long"))?;
        }
        Ok(class)
    }
}

impl Class {
    fn new() -> Self {
        let histogram = Histogram::new(DIGITS).expect("three digits are allowed");
        Self { histogram, sum: 0, squares: 0, max: 0 }
    }

    fn record(&mut self, ns: u64) {
        self.histogram.record(ns).expect("the histogram grows as it must");
        self.sum += u128::from(ns);
        self.squares += u128::from(ns) * u128::from(ns);
        self.max = self.max.max(ns);
    }

    fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("the histogram grows as it must");
        self.sum += other.sum;
        self.squares += other.squares;
        self.max = self.max.max(other.max);
    }

    fn figures(&self) -> Option<Figures> {
        let n = self.histogram.len();
        if n == 0 {
            return None;
        }
        let us = |ns: f64| ns / 1e3;
        // A histogram's answer is the upper end of a bin, which may be above the largest value.
        let quantile = |q: f64| us(self.histogram.value_at_quantile(q).min(self.max) as f64);
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

    /// In square nanoseconds: (n S2 - S^2) / n^2, in integers while they fit.
    fn variance(&self) -> f64 {
        let n = u128::from(self.histogram.len());
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
        let n = self.histogram.len();
        if n == 0 {
            return Vec::new();
        }
        let steps = self.histogram.iter_quantiles(TICKS);
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

/// Response times of one class of requests, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Requests of the class.
    pub requests: u64,
    /// Mean, exact.
    pub mean: f64,
    /// Variance in square microseconds, exact.
    pub variance: f64,
    /// Its square root.
    pub deviation: f64,
    /// Half of the requests took at most so long; to 0.1%, as all percentiles.
    pub p50: f64,
    /// 90% of them.
    pub p90: f64,
    /// 99%.
    pub p99: f64,
    /// 99.9%.
    pub p99_9: f64,
    /// 99.99%.
    pub p99_99: f64,
    /// The longest, exact.
    pub max: f64,
}

/// Response times of reads or of writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideLatency {
    /// All of them.
    #[serde(flatten)]
    pub all: Figures,
    /// Those that waited for a collection, or were served between its steps.
    pub during_collection: Option<Figures>,
    /// Those that met none.
    pub free_of_collection: Option<Figures>,
    /// The distribution: response time in microseconds, and share of the requests that took at
    /// most so long.
    pub distribution: Vec<(f64, f64)>,
}

/// Response times by class, in microseconds; `None` where there was no such request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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

/// The response time of requests by cause: shares of the sum of all response times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeShare {
    /// Waiting for other requests.
    pub queue: f64,
    /// Waiting for a collection.
    pub collection: f64,
    /// On a bus, and waiting for it.
    pub bus: f64,
    /// In the cells.
    pub cell: f64,
}

/// Shares of reads and of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeShares {
    /// Of reads.
    pub read: Option<TimeShare>,
    /// Of writes.
    pub write: Option<TimeShare>,
}

/// Collects response times.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// By operation, and by whether a collection was met.
    classes: [[Class; 2]; OPS],
    /// By operation: sums of the parts of [`Split`].
    parts: [[u128; 4]; OPS],
}

/// Operations whose response times are kept apart.
const OPS: usize = 4;

/// The place of an operation.
fn place(op: Op) -> usize {
    match op {
        Op::Write => 0,
        Op::Read => 1,
        Op::Trim | Op::Dirty | Op::Clean => 2,
        Op::Flush => 3,
    }
}

impl Default for Latencies {
    fn default() -> Self {
        let class = || [Class::new(), Class::new()];
        Self { classes: std::array::from_fn(|_| class()), parts: [[0; 4]; OPS] }
    }
}

impl Value for Latencies {
    value!(classes, parts);
}

impl Latencies {
    /// Notes a request that was served in `ns` nanoseconds; `met` says whether it met a collection.
    pub fn record(&mut self, op: Op, ns: u64, met: bool, split: &Split) {
        self.classes[place(op)][usize::from(met)].record(ns);
        for (sum, part) in self.parts[place(op)].iter_mut().zip(split.parts()) {
            *sum += u128::from(part);
        }
    }

    /// Adds the response times of another one.
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

    /// Requests noted.
    pub fn requests(&self) -> u64 {
        self.classes.iter().flatten().map(|class| class.histogram.len()).sum()
    }

    /// The sum of all response times, in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.classes.iter().flatten().map(|class| class.sum).sum()
    }

    /// The latencies noted, for people.
    pub fn result(&self) -> LatencyResult {
        let of = |op: Op| side(&self.classes[place(op)]);
        let mut all = [Class::new(), Class::new()];
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

    /// The response time of requests by cause.
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

    #[test]
    fn moments_are_exact_and_percentiles_good_to_three_digits() {
        let mut latencies = Latencies::default();
        // 1 to 100 000 us: mean 50 000.5, variance (n^2 - 1) / 12, percentiles n p.
        for us in 1..=100_000u64 {
            latencies.record(Op::Read, us * 1000, false, &Split::default());
        }
        let read = latencies.result().read.unwrap().all;
        assert_eq!(read.mean, 50_000.5);
        assert_eq!(read.variance, (1e10 - 1.0) / 12.0);
        let near = |found: f64, exact: f64| (found - exact).abs() <= 1e-3 * exact;
        assert!(near(read.p50, 5e4) && near(read.p90, 9e4) && near(read.p99, 9.9e4), "{read:?}");
        assert!(near(read.p99_9, 9.99e4) && near(read.p99_99, 9.999e4), "{read:?}");
        assert_eq!((read.max, read.requests), (1e5, 100_000));
    }

    #[test]
    fn a_constant_has_no_variance_however_large_and_no_percentile_above_it() {
        let mut latencies = Latencies::default();
        for _ in 0..1000 {
            latencies.record(Op::Write, 123_456_789_123, true, &Split::default());
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
            let split = Split { queue_ns: ns / 2, blocked_ns: ns / 4, bus_ns: 0, cell_ns: ns / 8 };
            let part = if i % 2 == 0 { &mut one } else { &mut other };
            part.record(op, ns, i % 5 == 0, &split);
            both.record(op, ns, i % 5 == 0, &split);
        }
        one.add(&other);
        assert_eq!(one.result(), both.result());
        assert_eq!(one.shares(), both.shares());
        assert_eq!((one.requests(), one.sum_ns()), (5000, both.sum_ns()));
    }

    #[test]
    fn shares_are_of_all_time() {
        let mut latencies = Latencies::default();
        let split =
            |queue_ns, blocked_ns, bus_ns, cell_ns| Split { queue_ns, blocked_ns, bus_ns, cell_ns };
        latencies.record(Op::Read, 100, false, &split(50, 0, 25, 25));
        latencies.record(Op::Read, 300, true, &split(50, 200, 25, 25));
        let read = latencies.shares().read.unwrap();
        let expected = TimeShare { queue: 0.25, collection: 0.5, bus: 0.125, cell: 0.125 };
        assert_eq!(read, expected);
        assert_eq!(latencies.shares().write, None);
    }

    #[test]
    fn the_distribution_rises_to_1() {
        let mut latencies = Latencies::default();
        for us in 1..=10_000u64 {
            latencies.record(Op::Read, us * 1000, false, &Split::default());
        }
        let points = latencies.result().read.unwrap().distribution;
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        assert_eq!(points.last(), Some(&(10_000.0, 1.0)));
        // Of 1 to 10 000 us, the share below x us is x / 10 000.
        assert!(points.iter().all(|(us, share)| (share - us / 1e4).abs() < 2e-3), "{points:?}");
    }
}
