//! The latencies of commands, from their submission to the queue until their answer; and the counts
//! of hosts' commands.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::command::{Command, copied};
use flashgc_device::{PAGE, Usage};

/// The significant decimal digits of a percentile. Its relative error is below 0.1%.
const DIGITS: u8 = 3;

/// The longest latency that is measured: one hour, in nanoseconds. A longer latency counts as one
/// hour.
const LONGEST: u64 = 3_600_000_000_000;

/// The kinds of commands whose latencies are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyKind {
    /// Reads, also those that compare or verify.
    Read = 0,
    /// Writes, also copies and zeros that are written.
    Write = 1,
    /// Discards, also those that make a range read as zeros.
    Trim = 2,
    /// Flushes.
    Flush = 3,
}

impl LatencyKind {
    /// Every kind and its name.
    pub const ALL: [(&str, Self); 4] = [
        ("read", Self::Read),
        ("write", Self::Write),
        ("trim", Self::Trim),
        ("flush", Self::Flush),
    ];

    /// Returns the kind of a command, or `None` if its latency is not counted.
    pub(crate) fn of(command: &Command) -> Option<Self> {
        Some(match command {
            Command::Read { .. } | Command::ReadSparse { .. } => Self::Read,
            Command::Compare { .. } | Command::Verify { .. } => Self::Read,
            Command::Write { .. } | Command::Copy { .. } | Command::Zero { keep: true, .. } => {
                Self::Write
            }
            Command::Zero { .. } | Command::Trim { .. } => Self::Trim,
            Command::Flush => Self::Flush,
            Command::Hint { .. }
            | Command::Cancel { .. }
            | Command::Moment
            | Command::Extents { .. } => return None,
        })
    }
}

/// Latencies of one kind of commands, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latencies {
    /// The number of commands.
    pub count: u64,
    /// The mean latency.
    pub mean: f64,
    /// The median latency.
    pub p50: f64,
    /// The 90th percentile of the latency.
    pub p90: f64,
    /// The 99th percentile of the latency.
    pub p99: f64,
    /// The 99.9th percentile of the latency.
    pub p999: f64,
    /// The longest latency.
    pub max: f64,
}

/// The counts of the hosts' use of the drive, and the latencies of commands. The latencies are
/// those since the server started or, once there is a mark, since the first mark.
#[derive(Debug)]
pub struct Meter {
    histograms: [Histogram<u64>; 4],
    /// The latencies since the last mark.
    marked: [Histogram<u64>; 4],
    /// The hosts' use of the drive since the last call of `take_usage`.
    usage: Usage,
    last: Instant,
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self {
            histograms: std::array::from_fn(|_| histogram()),
            marked: std::array::from_fn(|_| histogram()),
            usage: Usage::default(),
            last: Instant::now(),
        }
    }

    /// Counts a command that is about to be executed.
    pub(crate) fn count(&mut self, command: &Command) {
        let usage = &mut self.usage;
        // The first byte that the command writes, if it is a write.
        let written = match *command {
            Command::Compare { ref data, .. } => {
                usage.reads += 1;
                usage.read_bytes += data.len() as u64;
                None
            }
            Command::Read { bytes, .. }
            | Command::ReadSparse { bytes, .. }
            | Command::Verify { bytes, .. } => {
                usage.reads += 1;
                usage.read_bytes += bytes as u64;
                None
            }
            Command::Write { at, ref data, .. } => {
                usage.writes += 1;
                usage.written_bytes += data.len() as u64;
                Some(at)
            }
            Command::Copy { ref from, to, .. } => {
                // A copy counts as a read, too.
                usage.reads += 1;
                usage.writes += 1;
                usage.read_bytes += copied(from);
                usage.written_bytes += copied(from);
                Some(to)
            }
            Command::Zero { at, bytes, keep: true, .. } => {
                usage.writes += 1;
                usage.written_bytes += bytes;
                Some(at)
            }
            Command::Zero { bytes, .. } | Command::Trim { bytes, .. } => {
                usage.trims += 1;
                usage.trimmed_bytes += bytes;
                None
            }
            Command::Flush => {
                usage.flushes += 1;
                None
            }
            Command::Hint { .. } | Command::Cancel { .. } => {
                usage.hints += 1;
                None
            }
            Command::Extents { .. } | Command::Moment => None,
        };
        usage.unaligned += u64::from(written.is_some_and(|at| !at.is_multiple_of(PAGE as u64)));
    }

    /// Counts a command that was answered. `took` is the time since it was submitted.
    pub(crate) fn answered(&mut self, kind: LatencyKind, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(LONGEST);
        self.histograms[kind as usize].saturating_record(took);
        self.marked[kind as usize].saturating_record(took);
    }

    /// Adds the time from `began` until now to the time in which commands were executed.
    pub(crate) fn worked(&mut self, began: Instant) {
        self.usage.busy_ns += began.elapsed().as_nanos() as u64;
    }

    /// Returns the hosts' use of the drive since the last call.
    pub(crate) fn take_usage(&mut self) -> Usage {
        let now = Instant::now();
        self.usage.open_ns = (now - self.last).as_nanos() as u64;
        self.last = now;
        std::mem::take(&mut self.usage)
    }

    /// Returns the latencies of a kind; all are zero if it had no commands.
    pub fn latencies(&self, kind: LatencyKind) -> Latencies {
        latencies(&self.histograms[kind as usize])
    }

    /// Returns the latencies since the last mark, by kind.
    pub fn since_mark(&self) -> [Latencies; 4] {
        self.marked.each_ref().map(latencies)
    }

    /// Sets a mark. Returns the latencies since the previous mark, by kind. The first mark also
    /// resets all latencies so far, which belong to the preparation of the drive.
    pub fn mark(&mut self, is_first: bool) -> [Latencies; 4] {
        let before = self.since_mark();
        self.marked.iter_mut().for_each(Histogram::reset);
        if is_first {
            self.histograms.iter_mut().for_each(Histogram::reset);
        }
        before
    }
}

/// Returns an empty histogram of nanoseconds.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST, DIGITS).expect("the bounds of a histogram are fixed")
}

/// Returns the figures of a histogram of nanoseconds, in microseconds.
pub(super) fn latencies(histogram: &Histogram<u64>) -> Latencies {
    let us = |ns: u64| ns as f64 / 1e3;
    let at = |share: f64| us(histogram.value_at_quantile(share));
    Latencies {
        count: histogram.len(),
        mean: histogram.mean() / 1e3,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: us(histogram.max()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command has the same kind in the latencies and in the counts, so that no table contradicts
    /// another one.
    #[test]
    fn the_latency_of_a_command_is_of_the_kind_of_its_count() {
        let (at, bytes, fua) = (0, 8192, false);
        let commands = [
            Command::Read { at, bytes: 8192 },
            Command::ReadSparse { at, bytes: 8192 },
            Command::Compare { at, data: vec![0; 8192] },
            Command::Verify { at, bytes: 8192 },
            Command::Write { at, data: vec![0; 8192], streams: vec![], fua },
            Command::Zero { at, bytes, keep: true, fua },
            Command::Zero { at, bytes, keep: false, fua },
            Command::Trim { at, bytes, fua },
            Command::Flush,
            Command::Hint { at, bytes, moment: None },
            Command::Cancel { at, bytes },
            Command::Moment,
            Command::Extents { at, bytes, most: 1 },
        ];
        for command in commands {
            let mut meter = Meter::new();
            meter.count(&command);
            let usage = meter.take_usage();
            let counts = [usage.reads, usage.writes, usage.trims, usage.flushes];
            let mut expected = [0; 4];
            if let Some(kind) = LatencyKind::of(&command) {
                expected[kind as usize] = 1;
            }
            assert_eq!(counts, expected, "{command:?}");
        }
        // A copy is a write for its latency, and the drive reads the data, too.
        let command =
            Command::Copy { from: vec![(0, 8192), (65_536, 4096)], to: 4096, streams: vec![], fua };
        assert_eq!(LatencyKind::of(&command), Some(LatencyKind::Write));
        let mut meter = Meter::new();
        meter.count(&command);
        let usage = meter.take_usage();
        assert_eq!((usage.reads, usage.writes, usage.trims, usage.flushes), (1, 1, 0, 0));
        assert_eq!((usage.read_bytes, usage.written_bytes), (12_288, 12_288));
    }

    /// SMART-15 of OCP: only writes count, and only by the place where they begin.
    #[test]
    fn a_write_is_unaligned_if_it_begins_within_a_page() {
        let (streams, fua) = (vec![], false);
        let write = |at, bytes| Command::Write { at, data: vec![0; bytes], streams: vec![], fua };
        let zero = |at, keep| Command::Zero { at, bytes: 8192, keep, fua };
        for (command, is_unaligned) in [
            (write(512, 3584), true),
            (write(512, 512), true),
            (write(4096, 512), false),
            (write(0, 4096), false),
            (zero(512, true), true),
            (zero(512, false), false),
            (Command::Copy { from: vec![(0, 512)], to: 512, streams, fua }, true),
            (Command::Copy { from: vec![(512, 512)], to: 0, streams: vec![], fua }, false),
            (Command::Read { at: 512, bytes: 512 }, false),
            (Command::Compare { at: 512, data: vec![0; 512] }, false),
            (Command::Verify { at: 512, bytes: 512 }, false),
            (Command::Trim { at: 512, bytes: 8192, fua }, false),
        ] {
            let mut meter = Meter::new();
            meter.count(&command);
            assert_eq!(meter.take_usage().unaligned, u64::from(is_unaligned), "{command:?}");
        }
    }
}
