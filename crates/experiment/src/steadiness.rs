//! Tests whether the measured parts of all runs are steady, in write amplification and in pace.

use flashgc_base::described::Described;
use flashgc_drive::settling::{SettlingLevel, chance_of_all, left_of_all};
use flashgc_drive::stats::{
    Interval, Rounds, drift, exceeds_chance, exceeds_chance_after_all, is_settled, is_unknown,
    mean, rounds,
};
use serde::{Deserialize, Serialize};

use crate::config::Resolved;
use crate::finished::Pace;

/// In a steady state, the largest share of the programmed pages that may go to blocks that were
/// erased before.
const MOST_FROM_SPARE: f64 = 0.05;

/// The number of erases that a test of steadiness needs. With fewer, chance is too large: each
/// collection copies many pages at once.
pub(crate) const FEWEST_ERASES: u64 = 20;

/// The results of the tests of a steady state, on the measured part of all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Described)]
pub struct Steadiness {
    /// The change of write amplification; `None` if there is not enough data, and for a trace in
    /// passes, because its parts differ.
    pub amplification: Option<Drift>,
    /// The part of the transient that is left in write amplification, and half its interval by
    /// chance, as shares of the mean over all runs; `None` for a trace in passes, and with a clock.
    pub transient: Option<Drift>,
    /// The number of times that a cold page was written in the measured part, in the run with the
    /// fewest. It is the logarithm of 1 / s, if s is the share of earlier written pages that were
    /// not written again. `None` for a trace, and with a clock.
    pub rewrites: Option<f64>,
    /// The change of the time for a request; `None` without a clock, and if requests arrive at
    /// given times, because then the drive does not determine the pace.
    pub pace: Option<Drift>,
    /// The steady-state rule of SNIA: for the time for a request or, if that is not tested, for
    /// write amplification. `None` for a trace in passes without a clock.
    pub snia: Option<Snia>,
    /// The share of the programmed pages for which no block was erased, because they went to blocks
    /// that were erased before the measured part. `None` if nothing was programmed, and if blocks
    /// differ in size or are not erased whole.
    pub from_spare: Option<f64>,
}

/// The change from the first to the second half of the measured part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct Drift {
    /// The change, as a share of the mean.
    pub drift: f64,
    /// Half its 95% interval.
    pub ci95: f64,
}

/// The rule of SNIA's Solid State Storage Performance Test Specification, over five rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct Snia {
    /// The largest value minus the smallest, as a share of the mean.
    pub excursion: f64,
    /// The change of the least-squares line over the rounds, as a share of the mean.
    pub slope: f64,
    /// `true` if the excursion is at most 20% and the slope at most 10%.
    pub met: bool,
}

impl Drift {
    pub(crate) fn new((drift, ci95): (f64, f64)) -> Option<Self> {
        (drift.is_finite() && ci95.is_finite()).then_some(Self { drift, ci95 })
    }

    /// Returns `true` if the change is larger than chance and worth a finding.
    pub fn moves(&self) -> bool {
        exceeds_chance((self.drift, self.ci95))
    }

    /// Returns `true` if the change is larger than chance. This test is for runs that were each
    /// lengthened until their own change was within chance.
    pub fn moves_after_all(&self) -> bool {
        exceeds_chance_after_all((self.drift, self.ci95))
    }

    /// Returns `true` if the change is not larger than chance, but a change of 5% cannot be
    /// excluded.
    pub fn is_unknown(&self) -> bool {
        !self.moves() && is_unknown((self.drift, self.ci95))
    }

    /// Returns `true` if the change is not larger than chance, and a change of 5% can be excluded.
    pub fn is_settled(&self) -> bool {
        is_settled((self.drift, self.ci95))
    }
}

impl From<Rounds> for Snia {
    fn from(rounds: Rounds) -> Self {
        Self { excursion: rounds.excursion, slope: rounds.slope, met: rounds.is_steady() }
    }
}

impl Steadiness {
    /// Tests `measured`, the intervals of each run. All runs together programmed `programs` pages,
    /// padding included, and erased `erases` blocks. `merges` is `true` for a map of log blocks.
    pub(crate) fn new(
        resolved: &Resolved,
        measured: &[Vec<Interval>],
        programs: u64,
        erases: u64,
        merges: bool,
    ) -> Self {
        let alike = Some(measured).filter(|_| !resolved.is_trace_in_passes());
        Self {
            amplification: alike.and_then(drift).and_then(Drift::new),
            transient: None,
            rewrites: None,
            pace: None,
            snia: alike.and_then(rounds).map(Snia::from),
            from_spare: from_spare(resolved, programs, erases).filter(|_| !merges),
        }
    }

    /// Adds the tests of the runs' levels, and the number of times that a cold page was written.
    pub(crate) fn add_levels(&mut self, levels: &[SettlingLevel], rewrites: Option<f64>) {
        let level = mean(&levels.iter().map(|level| level.mean).collect::<Vec<_>>());
        self.transient = Drift::new((left_of_all(levels) / level, chance_of_all(levels) / level));
        self.rewrites = rewrites;
    }

    /// Adds the tests of the runs' paces.
    pub(crate) fn add_paces(&mut self, runs: &[&[Pace]]) {
        // The time per request is tested like the bytes programmed per byte written.
        let runs: Vec<Vec<Interval>> = runs
            .iter()
            .filter(|paces| !paces.is_empty())
            .map(|paces| {
                paces.iter().map(|pace| Interval::of_pages(pace.requests, pace.ns)).collect()
            })
            .collect();
        if !runs.is_empty() {
            self.pace = drift(&runs).and_then(Drift::new);
            self.snia = rounds(&runs).map(Snia::from);
        }
    }

    /// Returns the share of the programmed pages that went to blocks erased before the measured
    /// part, if that share is too large for a steady state.
    pub(crate) fn burst(&self) -> Option<f64> {
        self.from_spare.filter(|&share| share > MOST_FROM_SPARE)
    }
}

/// Returns the share of the programmed pages for which no block was erased. One block of each plane
/// is subtracted, because open blocks are filled to different degrees at the begin and at the end.
fn from_spare(resolved: &Resolved, programs: u64, erases: u64) -> Option<f64> {
    let timed = resolved.timed.as_ref();
    if resolved.until_failure
        || resolved.swap.is_some()
        || timed.is_some_and(|timed| timed.settings.slc.is_some())
    {
        return None;
    }
    let planes = timed.map_or(1, |timed| timed.settings.hardware.all_planes());
    let block = u64::from(resolved.geometry.pages_per_block());
    let runs = u64::from(resolved.config.runs);
    spare_used(programs, (erases + runs * u64::from(planes)) * block)
}

/// Returns the share of `programs` programmed pages for which the `freed` pages were not enough;
/// `None` if nothing was programmed.
pub(crate) fn spare_used(programs: u64, freed: u64) -> Option<f64> {
    (programs > 0).then(|| programs.saturating_sub(freed) as f64 / programs as f64)
}
