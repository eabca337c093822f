//! The delays of paced answers, and the latencies that hosts saw.

use hdrhistogram::Histogram;

use super::Work;
use crate::meter::{Latencies, LatencyKind, histogram, latencies};

/// An answer is late if its delay is longer than this, in nanoseconds by the simulated drive's
/// clock.
pub const LATE: u64 = 50_000;

/// The share of late answers above which the figures are not valid.
pub const MOST_LATE: f64 = 0.001;

/// The delays of answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lateness {
    /// The number of answers sent, without those to requests that take the drive no time.
    pub answers: u64,
    /// The number of these answers that were late by more than [`LATE`].
    pub late: u64,
    /// The number of late answers that waited for their data, because the disk with the stored
    /// drive was slow or the machine was busy.
    pub late_for_data: u64,
    /// The delays of all of these answers, in microseconds.
    pub latencies: Latencies,
}

/// The figures of a drive that answers at simulated times. Microseconds are those of the wall
/// clock.
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
    /// `true` if the simulation goes on and the share of late answers is at most [`MOST_LATE`].
    pub is_valid: bool,
    /// The latencies from arrival to the time at which the answer was due, by kind of request.
    pub simulated: [Latencies; 4],
    /// The latencies from arrival to the time at which the answer was sent, by kind of request.
    pub measured: [Latencies; 4],
    /// The work of the simulated drive.
    pub work: Work,
    /// `true` if the thread that sends the answers has a real-time priority.
    pub comes_first: bool,
}

/// An answer that was sent.
pub(super) struct Left {
    pub kind: LatencyKind,
    pub arrived_ns: u64,
    /// The time at which the answer was due, in nanoseconds; `None` if the request took the
    /// simulated drive no time.
    pub due_ns: Option<u64>,
    pub at_ns: u64,
    /// `true` if the answer waited for its data, `false` if it waited for its time.
    pub for_data: bool,
}

pub(super) struct Tally {
    slower: f64,
    late: u64,
    late_for_data: u64,
    lateness: Histogram<u64>,
    at_once: Histogram<u64>,
    simulated: [Histogram<u64>; 4],
    measured: [Histogram<u64>; 4],
    /// The measured latencies since the last mark.
    marked: [Histogram<u64>; 4],
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
            marked: std::array::from_fn(|_| histogram()),
            failed: None,
        }
    }

    /// Counts an answer.
    pub(super) fn left(&mut self, left: Left) {
        let Left { kind, arrived_ns, due_ns, at_ns, for_data } = left;
        let took = at_ns - arrived_ns;
        match due_ns {
            None => self.at_once.saturating_record(took),
            Some(due_ns) => {
                let by = at_ns.saturating_sub(due_ns);
                let is_late = by as f64 > LATE as f64 * self.slower;
                self.late += u64::from(is_late);
                self.late_for_data += u64::from(is_late && for_data);
                self.lateness.saturating_record(by);
            }
        }
        let simulated = due_ns.map_or(0, |due_ns| due_ns.saturating_sub(arrived_ns));
        self.simulated[kind as usize].saturating_record(simulated);
        self.measured[kind as usize].saturating_record(took);
        self.marked[kind as usize].saturating_record(took);
    }

    /// Returns the latencies from arrival to the answer since the last mark, by kind.
    pub(super) fn since_mark(&self) -> [Latencies; 4] {
        self.marked.each_ref().map(latencies)
    }

    /// Sets a mark. Returns the latencies since the previous mark. The first mark also resets all
    /// latencies so far, but not the counts of late answers.
    pub(super) fn mark(&mut self, is_first: bool) -> [Latencies; 4] {
        let before = self.since_mark();
        self.marked.iter_mut().for_each(Histogram::reset);
        if is_first {
            let all = self.measured.iter_mut().chain(&mut self.simulated);
            all.for_each(Histogram::reset);
        }
        before
    }

    pub(super) fn failed(&mut self, why: String) {
        self.failed.get_or_insert(why);
    }

    pub(super) fn paced(&self, work: Work, comes_first: bool) -> Paced {
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
            comes_first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(kind: LatencyKind, due_ns: Option<u64>, at_ns: u64) -> Left {
        Left { kind, arrived_ns: 0, due_ns, at_ns, for_data: false }
    }

    fn paced(tally: &Tally) -> Paced {
        tally.paced(Work::default(), false)
    }

    #[test]
    fn more_than_one_late_answer_in_a_thousand_makes_it_invalid() {
        let mut tally = Tally::new(1.0);
        (0..1998).for_each(|_| tally.left(left(LatencyKind::Read, Some(100_000), 100_000 + LATE)));
        assert_eq!((paced(&tally).lateness.late, paced(&tally).is_valid), (0, true));
        (0..2).for_each(|_| tally.left(left(LatencyKind::Write, Some(100_000), 100_001 + LATE)));
        assert_eq!((paced(&tally).lateness.late, paced(&tally).is_valid), (2, true));
        tally.left(left(LatencyKind::Write, Some(100_000), 5_000_000));
        assert_eq!((paced(&tally).lateness.late, paced(&tally).is_valid), (3, false));
        assert_eq!(paced(&tally).measured[LatencyKind::Read as usize].count, 1998);
        (0..999).for_each(|_| tally.left(left(LatencyKind::Flush, None, 90_000)));
        assert_eq!((paced(&tally).lateness.answers, paced(&tally).is_valid), (2001, false));
        assert!((paced(&tally).at_once.mean / 90.0 - 1.0).abs() < 0.01);
        assert!((paced(&tally).lateness.latencies.max / 4900.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn what_is_late_is_counted_in_the_time_of_the_drive() {
        let mut tally = Tally::new(4.0);
        tally.left(left(LatencyKind::Read, Some(0), 4 * LATE));
        assert_eq!(paced(&tally).lateness.late, 0);
        tally.left(Left { for_data: true, ..left(LatencyKind::Read, Some(0), 4 * LATE + 1) });
        let lateness = paced(&tally).lateness;
        assert_eq!((lateness.late, lateness.late_for_data), (1, 1));
    }

    #[test]
    fn the_first_mark_forgets_what_was_before_and_later_ones_part_what_is_behind() {
        let mut tally = Tally::new(1.0);
        let count = |all: [Latencies; 4]| all[LatencyKind::Read as usize].count;
        tally.left(left(LatencyKind::Read, Some(100_000), 9_000_000));
        assert_eq!(count(tally.mark(true)), 1);
        assert_eq!(count(paced(&tally).measured), 0);
        // The count of late answers stays.
        assert_eq!(paced(&tally).lateness.late, 1);
        (0..3).for_each(|_| tally.left(left(LatencyKind::Read, Some(100_000), 100_000)));
        assert_eq!(count(tally.mark(false)), 3);
        tally.left(left(LatencyKind::Read, Some(100_000), 100_000));
        assert_eq!((count(tally.since_mark()), count(paced(&tally).measured)), (1, 4));
    }
}
