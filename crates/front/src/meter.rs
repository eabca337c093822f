//! The latencies of commands as their hosts saw them: from the queue to the answer.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::command::{Command, copied};
use flashgc_device::{PAGE, Usage};

/// Significant decimal digits of a percentile: its relative error is below 0.1%.
const DIGITS: u8 = 3;

/// The longest latency that is told apart from longer ones: one hour, in nanoseconds.
const LONGEST: u64 = 3_600_000_000_000;

/// Kinds of commands whose latencies are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads.
    Read = 0,
    /// Writes, those of zeros among them that leave data.
    Write = 1,
    /// Discards, zeros that need no data among them.
    Trim = 2,
    /// Flushes.
    Flush = 3,
}

impl Kind {
    /// Every kind and its name.
    pub const ALL: [(&str, Self); 4] = [
        ("read", Self::Read),
        ("write", Self::Write),
        ("trim", Self::Trim),
        ("flush", Self::Flush),
    ];

    /// Returns the kind of a command, or `None` if no host waits for it.
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
    /// The latency that half of the commands had at most.
    pub p50: f64,
    /// The latency that 90% of the commands had at most.
    pub p90: f64,
    /// The latency that 99% of the commands had at most.
    pub p99: f64,
    /// The latency that 99.9% of the commands had at most.
    pub p999: f64,
    /// The longest latency.
    pub max: f64,
}

/// Counts of the drive's use, and latencies since it was served or since the first mark.
#[derive(Debug)]
pub struct Meter {
    histograms: [Histogram<u64>; 4],
    /// The latencies since the last mark.
    marked: [Histogram<u64>; 4],
    /// The hosts' use of the drive since it was last taken.
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
        let (at, bytes) = match *command {
            Command::Compare { at, ref data } => {
                usage.reads += 1;
                usage.read_bytes += data.len() as u64;
                (at, data.len() as u64)
            }
            Command::Read { at, bytes }
            | Command::ReadSparse { at, bytes }
            | Command::Verify { at, bytes } => {
                usage.reads += 1;
                usage.read_bytes += bytes as u64;
                (at, bytes as u64)
            }
            Command::Write { at, ref data, .. } => {
                usage.writes += 1;
                usage.written_bytes += data.len() as u64;
                (at, data.len() as u64)
            }
            Command::Copy { ref from, to, .. } => {
                // The drive reads it, too.
                usage.reads += 1;
                usage.writes += 1;
                usage.read_bytes += copied(from);
                usage.written_bytes += copied(from);
                (to, copied(from))
            }
            Command::Zero { at, bytes, keep: true, .. } => {
                usage.writes += 1;
                usage.written_bytes += bytes;
                (at, bytes)
            }
            Command::Zero { at, bytes, .. } | Command::Trim { at, bytes, .. } => {
                usage.trims += 1;
                usage.trimmed_bytes += bytes;
                (at, bytes)
            }
            Command::Flush => {
                usage.flushes += 1;
                return;
            }
            Command::Hint { .. } | Command::Cancel { .. } => {
                usage.hints += 1;
                return;
            }
            Command::Extents { .. } | Command::Moment => return,
        };
        let page = PAGE as u64;
        usage.unaligned += u64::from(!at.is_multiple_of(page) || !bytes.is_multiple_of(page));
    }

    /// Counts a command that was answered, `took` after it was queued.
    pub(crate) fn answered(&mut self, kind: Kind, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(LONGEST);
        self.histograms[kind as usize].saturating_record(took);
        self.marked[kind as usize].saturating_record(took);
    }

    /// Counts the time from `began` until now, in which commands were executed.
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
    pub fn latencies(&self, kind: Kind) -> Latencies {
        latencies(&self.histograms[kind as usize])
    }

    /// Returns the latencies since the last mark, by kind.
    pub fn since_mark(&self) -> [Latencies; 4] {
        self.marked.each_ref().map(latencies)
    }

    /// Sets a mark. Returns the latencies since the one before, by kind. The first mark also forgets the
    /// latencies until then: those of whoever prepared the drive.
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

    /// Latencies and counts have one idea of what a command is: no table denies another one.
    #[test]
    fn the_latency_of_a_command_is_of_the_kind_of_its_count() {
        let (at, bytes, fua) = (0, 8192, false);
        let commands = [
            Command::Read { at, bytes: 8192 },
            Command::ReadSparse { at, bytes: 8192 },
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
            if let Some(kind) = Kind::of(&command) {
                expected[kind as usize] = 1;
            }
            assert_eq!(counts, expected, "{command:?}");
        }
    }
}
