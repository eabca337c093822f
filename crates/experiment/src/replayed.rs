//! The part of a result about the trace that was replayed, and the samples that comparisons pair.

use std::path::Path;

use flashgc_base::described::Described;
use flashgc_drive::extent::Unit;
use flashgc_drive::stats::{Interval, batch_means};
use flashgc_ftl::{Fill, Victim};
use flashgc_workload::trace::{ServedStat, TraceStat};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::config::Resolved;
use crate::findings::{self, Finding};
use crate::finished::Finished;
use crate::measured::BATCHES;

/// The size of a trace, and the number of its replays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct Replayed {
    /// The distinct pages read or written.
    pub pages: u64,
    /// The distinct pages written.
    pub pages_written: u64,
    /// The page writes of a pass.
    pub page_writes: u64,
    /// The trace's overwrite factor: page writes divided by distinct pages written.
    pub overwrite: f64,
    /// The page writes of a pass divided by the pages of flash. If this is at most 1, a drive that
    /// begins empty can execute one pass without a collection.
    pub flash_writes: f64,
    /// The number of passes measured in the first run; `None` if it is not a whole number.
    pub passes: Option<u64>,
    /// The number of passes of its warm-up; `None` if it is not a whole number.
    pub warmup_passes: Option<u64>,
}

impl Replayed {
    pub(crate) fn new(resolved: &Resolved, runs: &[Finished]) -> Option<Self> {
        let stat = resolved.source.stat()?;
        let plan = &resolved.plan;
        let (passes, warmup_passes) = match (plan.rule, plan.passes, resolved.source.pass()) {
            (Some(rule), ..) => {
                let done = runs.first().map_or(0, |run| run.passes);
                let warmup = rule.warmup_of(done as usize) as u64;
                (Some(done - warmup), Some(warmup))
            }
            (None, Some(passes), Some(pass)) => {
                let warmup = plan.warmup.amount;
                let is_whole =
                    plan.warmup.unit == Unit::Commands && warmup.is_multiple_of(pass.commands);
                (Some(passes), is_whole.then(|| warmup / pass.commands))
            }
            _ => (None, None),
        };
        Some(Self {
            pages: stat.pages,
            pages_written: stat.pages_written,
            page_writes: stat.page_writes,
            overwrite: stat.overwrite,
            flash_writes: stat.page_writes as f64 / resolved.geometry.physical_pages() as f64,
            passes,
            warmup_passes,
        })
    }

    /// Returns the finding that this drive can execute the trace once without a collection, if so.
    pub(crate) fn only_by_replays(&self) -> Option<Finding> {
        (self.flash_writes <= 1.0)
            .then(|| findings::only_replays_collect(self.flash_writes, self.overwrite))
    }
}

/// The write amplification of parts of the first run. Another run with the same writes has the same
/// parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Described)]
pub struct Samples {
    /// The digest of the writes. Results with the same digest were measured on the same writes.
    /// `None` if other runs cannot have the same writes.
    pub(crate) writes: Option<String>,
    /// The write amplification of each pass of a trace, or of each of 20 batches.
    pub(crate) values: Vec<f64>,
    /// The change that is left of the transient: the final level of write amplification minus the
    /// mean over all runs; 0 if it is unknown.
    #[serde(default)]
    pub(crate) left: f64,
    /// `true` if `values` are those of passes.
    pub(crate) passes: bool,
    /// `true` if every run gives the same result: a trace is replayed a fixed number of times, by
    /// policies that use no random numbers.
    pub(crate) exact: bool,
}

impl Samples {
    /// Returns the change that is left of the transient: the final level minus the mean over all
    /// runs.
    pub fn left(&self) -> f64 {
        self.left
    }

    pub(crate) fn new(
        resolved: &Resolved,
        measured: &[Vec<Interval>],
        left: f64,
        interrupted: bool,
    ) -> Self {
        let plan = resolved.plan;
        let same = !interrupted
            && resolved.timed.is_none()
            && resolved.swap.is_none()
            && plan.measured.unit != Unit::Collections
            && plan.warmup.unit != Unit::Collections;
        let Some(first) = measured.first().filter(|_| same) else { return Self::default() };
        let passes = resolved.passes_of(first);
        let mut writes = resolved.writes();
        if plan.doubling.is_some() {
            // A drive that settles later is measured on other writes, so the number of writes is in
            // the digest.
            let lengths = measured
                .iter()
                .map(|run| run.iter().map(|interval| interval.host_pages).sum::<u64>());
            writes = format!("{writes} {:?}", lengths.collect::<Vec<_>>());
        }
        Self {
            writes: Some(writes),
            left,
            passes: passes.is_some(),
            values: passes.unwrap_or_else(|| batch_means(first, BATCHES)),
            exact: resolved.source.pass().is_some()
                && plan.rule.is_none()
                && resolved.config.precision.is_none()
                && !resolved.draws(),
        }
    }
}

impl Resolved {
    /// Returns the digest of the writes of a run. A trace is identified by the name of its file and
    /// by its statistics; its folder does not matter. The number of replays until it settles does
    /// not matter, because every pass has the same writes.
    fn writes(&self) -> String {
        let (config, pages) = (&self.config, self.geometry.logical_pages());
        let what = match self.source.stat() {
            Some(stat) => {
                // Hosts of requests and times of answers do not change the writes. The text leaves
                // them out: it has the form of an earlier version without hosts, so that digests do
                // not change.
                let served = ServedStat::default();
                // The text also leaves out steps of the clock, columns, and figures that are
                // evidence against a format.
                let (times, notes, read) = (&stat.times, &stat.notes, &stat.read_as);
                let forms = [
                    (format!("served: {served:?}"), "answers: []".to_owned()),
                    (
                        format!("times: {times:?}"),
                        format!(
                            "first_time_ns: {:?}, duration_seconds: {:?}",
                            times.first_time_ns, times.duration_seconds
                        ),
                    ),
                    (
                        format!("read_as: {read:?}"),
                        format!("format: {:?}, compression: {:?}", read.format, read.compression),
                    ),
                    (format!("notes: {notes:?}"), format!("notes: {:?}", notes.reading)),
                ];
                let text = format!("{:?}", TraceStat { served, ..stat.clone() });
                let text = forms.iter().fold(text, |text, (now, was)| text.replacen(now, was, 1));
                format!("{:?} {text}", Path::new(&config.workload).file_name())
            }
            None => config.workload.clone(),
        };
        // Later options are removed from the text if they are not given, so that digests do not
        // change.
        let trace = format!("{:?}", config.trace).replacen(
            ", columns: None, layout: None, disorder: None",
            "",
            1,
        );
        let plan = format!("{:?}", self.plan).replacen(", doubling: None", "", 1);
        let text = format!("{what}|{trace}|{pages}|{}|{plan}", config.seed);
        format!("{:016x}", xxh3_64(text.as_bytes()))
    }

    /// Returns `true` if the passes of a trace show whether the drive has settled. They do not
    /// under a page cache, where a trace is the run of a program, nor in a run until a failure.
    pub(crate) fn is_trace_in_passes(&self) -> bool {
        self.source.pass().is_some() && self.swap.is_none() && !self.until_failure
    }

    /// Returns the amplification of each measured pass; `None` unless whole passes are measured.
    pub(crate) fn passes_of(&self, measured: &[Interval]) -> Option<Vec<f64>> {
        let size = self.plan.intervals_of_a_pass().filter(|_| self.is_trace_in_passes())?;
        Some(measured.chunks_exact(size).map(Interval::amplification).collect())
    }

    /// Returns `true` if each of [`BATCHES`] batches of the measured part has the writes of a whole
    /// pass. Smaller batches differ because the parts of the trace differ.
    pub(crate) fn has_whole_batches(&self, measured: &[Interval]) -> bool {
        let Some(pass) = self.source.pass().filter(|_| self.is_trace_in_passes()) else {
            return true;
        };
        let written: u64 = measured.iter().map(|interval| interval.host_pages).sum();
        written >= BATCHES as u64 * pass.writes
    }

    /// Returns `true` if a part between the workload and the flash uses random numbers.
    pub(crate) fn draws(&self) -> bool {
        self.victim.as_ref().is_some_and(Victim::draws)
            || self.allocation.draws()
            || matches!(self.fill, Fill::Random | Fill::Steady)
            || self.lifespan.is_some()
            || self.host.is_some()
    }
}
