//! The delays of paced answers, and the latencies that hosts saw.

use hdrhistogram::Histogram;

use super::Work;
use crate::meter::{Kind, Latencies, histogram, latencies};

/// The delay from which on an answer is late, in nanoseconds of the drive's time.
pub const LATE: u64 = 50_000;

/// The share of late answers above which the figures are no measurement of the drive.
pub const MOST_LATE: f64 = 0.001;

/// The delays of answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lateness {
    /// The number of answers that left, without those to requests that take the drive no time.
    pub answers: u64,
    /// The number of these answers that were late by more than [`LATE`].
    pub late: u64,
    /// The number of late answers that waited for their data: the disk below was slow, or the host busy.
    pub late_for_data: u64,
    /// The delays of all of these answers, in microseconds.
    pub latencies: Latencies,
}

/// The figures of a drive that answers at simulated times. Microseconds are those of the wall clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Paced {
    /// The factor by which the simulated drive's clock is slower than the wall clock.
    pub slower: f64,
    /// The delays of answers.
    pub lateness: Lateness,
    /// The latencies, from arrival to answer, of requests that take the simulated drive no time.
    pub at_once: Latencies,
    /// The reason why the simulated drive does not go on; `None` while it does.
    pub failed: Option<String>,
    /// `true` if the drive answered as the simulated drive would have.
    pub is_valid: bool,
    /// The latencies from arrival to the time at which the answer was due, by kind of request.
    pub simulated: [Latencies; 4],
    /// The latencies from arrival to the time at which the answer left, by kind of request.
    pub measured: [Latencies; 4],
    /// The work of the simulated drive.
    pub work: Work,
}

pub(super) struct Tally {
    slower: f64,
    late: u64,
    late_for_data: u64,
    lateness: Histogram<u64>,
    at_once: Histogram<u64>,
    simulated: [Histogram<u64>; 4],
    measured: [Histogram<u64>; 4],
    failed: Option<String>,
}

impl Tally {
    /// Returns an empty tally for a drive whose clock is `slower` times slower than the wall clock.
    pub(super) fn new(slower: f64) -> Self {
        Self {
            slower,
            late: 0,
            late_for_data: 0,
            lateness: histogram(),
            at_once: histogram(),
            simulated: std::array::from_fn(|_| histogram()),
            measured: std::array::from_fn(|_| histogram()),
            failed: None,
        }
    }

    /// Counts an answer. Its request arrived at the first of these times, it was due at the second, and
    /// it left at the third. It waited for its data if `for_data`, and for the clock otherwise.
    pub(super) fn left(&mut self, for_data: bool, kind: Kind, times: [u64; 3]) {
        let [arrived_ns, due_ns, now_ns] = times;
        let by = now_ns.saturating_sub(due_ns);
        let is_late = by as f64 > LATE as f64 * self.slower;
        self.late += u64::from(is_late);
        self.late_for_data += u64::from(is_late && for_data);
        self.lateness.saturating_record(by);
        self.simulated[kind as usize].saturating_record(due_ns.saturating_sub(arrived_ns));
        self.measured[kind as usize].saturating_record(now_ns - arrived_ns);
    }

    /// Counts the answer to a request that took the simulated drive no time, with the times of both.
    pub(super) fn left_at_once(&mut self, kind: Kind, [arrived_ns, now_ns]: [u64; 2]) {
        self.at_once.saturating_record(now_ns - arrived_ns);
        self.simulated[kind as usize].saturating_record(0);
        self.measured[kind as usize].saturating_record(now_ns - arrived_ns);
    }

    pub(super) fn failed(&mut self, why: String) {
        self.failed.get_or_insert(why);
    }

    pub(super) fn paced(&self, work: Work) -> Paced {
        let answers = self.lateness.len();
        let is_in_time = self.late as f64 <= MOST_LATE * answers as f64;
        Paced {
            slower: self.slower,
            lateness: Lateness {
                answers,
                late: self.late,
                late_for_data: self.late_for_data,
                latencies: latencies(&self.lateness),
            },
            at_once: latencies(&self.at_once),
            failed: self.failed.clone(),
            is_valid: is_in_time && self.failed.is_none(),
            simulated: self.simulated.each_ref().map(latencies),
            measured: self.measured.each_ref().map(latencies),
            work,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_one_late_answer_in_a_thousand_makes_it_invalid() {
        let mut tally = Tally::new(1.0);
        let paced = |tally: &Tally| tally.paced(Work::default());
        (0..1998).for_each(|_| tally.left(false, Kind::Read, [0, 100_000, 100_000 + LATE]));
        assert_eq!((paced(&tally).lateness.late, paced(&tally).is_valid), (0, true));
        (0..2).for_each(|_| tally.left(false, Kind::Write, [0, 100_000, 100_001 + LATE]));
        assert_eq!((paced(&tally).lateness.late, paced(&tally).is_valid), (2, true));
        tally.left(false, Kind::Write, [0, 100_000, 5_000_000]);
        assert_eq!((paced(&tally).lateness.late, paced(&tally).is_valid), (3, false));
        assert_eq!(paced(&tally).measured[Kind::Read as usize].count, 1998);
        (0..999).for_each(|_| tally.left_at_once(Kind::Flush, [0, 90_000]));
        assert_eq!((paced(&tally).lateness.answers, paced(&tally).is_valid), (2001, false));
        assert!((paced(&tally).at_once.mean / 90.0 - 1.0).abs() < 0.01);
        assert!((paced(&tally).lateness.latencies.max / 4900.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn what_is_late_is_counted_in_the_time_of_the_drive() {
        let mut tally = Tally::new(4.0);
        tally.left(false, Kind::Read, [0, 0, 4 * LATE]);
        assert_eq!(tally.paced(Work::default()).lateness.late, 0);
        tally.left(true, Kind::Read, [0, 0, 4 * LATE + 1]);
        let lateness = tally.paced(Work::default()).lateness;
        assert_eq!((lateness.late, lateness.late_for_data), (1, 1));
    }
}
