//! Findings: claims about a result that are shown with its figures. This file has the rules of all
//! findings; `findings/clocked.rs` makes the findings about drives with a clock.
//!
//! A finding has a rule, which says when the finding is made and what it claims, and the numbers
//! that the claim rests on. Terminal, JSON, tables, notebooks and the reference show the same
//! findings.

mod clocked;

use std::collections::BTreeMap;

use flashgc_base::naming::{self, Names, choice, option};
use flashgc_base::spec::count;
use flashgc_drive::settling::{FEWEST_REWRITES, Reach};
use serde::{Deserialize, Serialize};

use crate::scale::Scaled;
use crate::steadiness::{Drift, FEWEST_ERASES};
pub(crate) use clocked::*;

/// The largest number of drive writes that is given as advice.
pub(crate) const MOST_ADVISED: f64 = 10_000.0;

/// The severity of a finding for a reader of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gravity {
    /// The figures are valid; the finding says what they describe.
    Note,
    /// A longer or a different run may give different figures.
    Doubt,
    /// The figures are not those that the user asked for.
    Invalid,
}

/// The part of a run that a finding rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// The measured part of each run.
    Measured,
    /// The warm-up of each run.
    WarmUp,
    /// The whole of each run.
    Run,
    /// The workload as it was read, before any run.
    Workload,
    /// The configuration, before any run.
    Configuration,
}

/// The declaration of a kind of finding.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The name of the finding in documents.
    pub id: &'static str,
    /// The severity of the finding.
    pub gravity: Gravity,
    /// The part of a run that the finding rests on.
    pub window: Window,
    /// The claim, in general.
    pub claim: &'static str,
    /// The condition under which the finding is made.
    pub rule: &'static str,
}

/// Declares the rules, each as a constant, and the list of all rules.
macro_rules! rules {
    ($($name:ident: $id:literal, $gravity:ident, $window:ident, $claim:literal, $rule:literal;)*) => {
        $(#[doc = $claim] const $name: &Rule = &Rule {
            id: $id,
            gravity: Gravity::$gravity,
            window: Window::$window,
            claim: $claim,
            rule: $rule,
        };)*
        /// All rules, in the order of their declaration.
        pub const RULES: &[&Rule] = &[$($name),*];
    };
}

rules! {
    NOTHING_MEASURED: "nothing-measured", Invalid, Measured,
        "There is no figure.",
        "Every run was stopped in its warm-up, or no page was written (with a clock: no request \
         arrived) in the measured part.";
    RUNS_IN_WARM_UP: "runs-in-warm-up", Doubt, Run,
        "Some runs have no figure and do not count.",
        "The runs were stopped while at least one of them was in the warm-up and another was not.";
    INTERRUPTED: "interrupted", Invalid, Run,
        "The figures cover the part that was run.",
        "The runs were stopped before their end, and something was measured.";
    NO_WARM_UP_END: "no-warm-up-end", Doubt, Measured,
        "Nothing shows that the drive had settled before the requests.",
        "A workload without end, with a clock: the requests come first, or requests that are not measured; or writes \
         come first, and cold pages were written fewer than 4 times in them, or less often than the policies \
         remember; or their second half moves, differs from the quarter before it, or is known to worse than 2%.";
    WARM_UP_CUT: "warm-up-cut", Doubt, Measured,
        "The writes before the requests ended early.",
        "With a clock: of the page writes of the warm-up some were not made after 1000 requests for each, at least 16.8 \
         million and at most 1.07 billion. Reads of a trace do not count where they change nothing.";
    IDENTICAL_RUNS: "identical-runs", Note, Run,
        "All runs have one figure, and so count as one.",
        "There are at least two runs, and their figures are equal to the last bit. That nothing in them is \
         random is said only of a trace under policies that draw no random numbers.";
    UNSTEADY: "unsteady", Doubt, Measured,
        "Write amplification still moves.",
        "The second half of the measured part, or of the measured passes of a trace, differs from the \
         first by more than 0.2%, and by more than half the 95% interval of the difference; or what is left in the \
         mean of a transient that falls as 1/t is more than 0.2%, and more than chance explains, by the writes \
         before the measured part.";
    IMPRECISE: "imprecise", Doubt, Measured,
        "Write amplification is not known to within 1%.",
        "Half the 95% interval over the passes of a trace is more than 1% of their mean.";
    PACE_MOVES: "pace-moves", Doubt, Measured,
        "The time for a request still moves.",
        "Requests of a closed loop: the time for a request differs between the halves of the measured \
         part by more than 0.2%, and by more than half the 95% interval of the difference.";
    COLD_PAGES: "cold-pages", Doubt, Measured,
        "The measured part is too short to show a steady state: cold pages, or a policy's memory, reach \
         further back.",
        "A workload without end: of the pages written before, the share that was not written again in the \
         measured part is more than e^-n, where n is 4, or the number of writes of a page that the policies \
         remember; or the measured part has fewer page writes than they remember. It is not said beside a \
         finding that write amplification moves or is not known.";
    STEADINESS_UNKNOWN: "steadiness-unknown", Doubt, Measured,
        "Nothing shows that the figure is steady.",
        "Half the 95% interval of write amplification is more than 5% of it. Of a drive with a clock, and of one \
         that keeps data: the change of write amplification (of a closed loop: of the time for a request) between \
         the halves of the measured part is known so badly that 5% cannot be left out. It is not said beside a \
         finding that the figure moves, or of a trace in passes.";
    BURST: "burst", Doubt, Measured,
        "The drive wrote to blocks that were erased before, more than it erased.",
        "More than 5% of the pages programmed in the measured part exceed those of the blocks erased in \
         it and of a block for each plane.";
    FEW_BLOCKS: "few-blocks", Doubt, Configuration,
        "The drive has so few blocks that amplification may be another than that of a large one.",
        "The drive has fewer than 64 blocks.";
    SCALED_DRIVE: "scaled-drive", Note, Configuration,
        "The drive stands for a larger one, whose amplification is about the same.",
        "A scale is given.";
    SPARE_KEPT_ERASED: "spare-kept-erased", Doubt, Configuration,
        "The blocks that the drive keeps erased take spare space from collections, so that \
         amplification is that of a smaller spare factor.",
        "The spare factor is more than 1.02 times the effective one, which leaves out the blocks that stay \
         erased between two collections (with a clock: midway between their marks).";
    DEAD_BLOCKS_LEFT: "dead-blocks-left", Note, Measured,
        "The victim policy copies pages although blocks without a valid page could be erased at once.",
        "The victim policy draws blocks at random. At the end of a run more than 1% of the blocks had no valid page \
         and could be collected, and collections copied more than 1% of the pages of their victims.";
    FEW_ROUNDS: "few-rounds", Doubt, Measured,
        "The measured part has too few rounds of collections to tell whether it is steady.",
        "Collections go on above the mark at which they begin, and a unit of collections had fewer than 20 \
         rounds from mark to mark: all runs begin at the same point of a round, so that no interval shows it.";
    TOO_FEW_PASSES: "too-few-passes", Doubt, Measured,
        "Nothing shows that write amplification is steady.",
        "Fewer whole passes of a trace were measured than the test for a steady state needs.";
    TOO_SHORT: "too-short", Doubt, Measured,
        "The measured part is too short for a steady state.",
        "The run with the fewest page writes has less than 0.1 drive writes, or a run has fewer than 20 erases \
         (on average over the runs with a clock). Of a drive that keeps data: there are fewer than 20 erases, or \
         fewer than 20 looks at it with writes between them.";
    ONLY_REPLAYS_COLLECT: "only-replays-collect", Doubt, Workload,
        "Replayed once, the trace would cause no collection.",
        "A pass of the trace writes no more pages than the flash has.";
    DIED_EARLY: "died-early", Invalid, Run,
        "A drive failed before the end of the run.",
        "Endurance ended the life of a drive, and the run was not asked to last until then.";
    SHORT_WARM_UP: "short-warm-up", Doubt, WarmUp,
        "The warm-up is next to nothing.",
        "The warm-up is given in pages and is below 1% of a drive write.";
    PRECISION_MISSED: "precision-missed", Invalid, Measured,
        "The precision that was asked for was not reached.",
        "The runs were lengthened as often as they may be, and the interval is still too wide.";
    OVERLOAD: "overload", Invalid, Measured,
        "Requests come faster than the drive serves them.",
        "Requests arrive at given times. More than 1,000 of them, and more than a tenth of those that \
         arrived, wait when the last one arrives; or the run was stopped for the number that waited.";
    NO_ERASE: "no-erase", Doubt, Measured,
        "No request met a collection, because no block was erased.",
        "A drive with a clock, or one that keeps data, wrote pages in the measured part and erased no block.";
    STARVED: "starved", Note, Measured,
        "Writes waited because no block was erased.",
        "A write found no erased block at least once.";
    SUSPENDED_NO_MORE: "suspended-no-more", Note, Measured,
        "Requests waited for the end of erases or programs that were suspended no more.",
        "A request came that would have suspended an erase or a program, had that not been suspended the most \
         times, or for the longest time, that are allowed.";
    READS_LOST: "reads-lost", Note, Measured,
        "Reads that failed could not be rebuilt: their data are lost.",
        "A read of the host failed, and so did the read of another page of its stripe that was to rebuild it.";
    WRITES_IN_CACHE: "writes-in-cache", Doubt, Measured,
        "Many writes only filled the write cache: their times are the cache's, not the flash's.",
        "At the end of the measured part the write cache holds more pages than at its beginning, by more than a \
         tenth of the pages written in it.";
    PLANES_APART: "planes-apart", Doubt, Measured,
        "Operations on the planes of a die came one after another.",
        "Dies were busy for more than half of the measured part, and worked more than 1.2 times as long on \
         programs, copies and erases as they would if all planes of a die worked together. Or multi-plane operations \
         joined less than 1% of the programs. The factor is an estimate: it takes operations that went together as operations \
         of all planes of the die, and all reads of copies as reads that its planes could share.";
    WAITS_GUESSED: "waits-guessed", Doubt, Measured,
        "The host of a recording may come earlier or later than it would on this drive.",
        "Requests come dependent, the mean time until the answer of reads and writes differs from the recorded one by \
         more than a tenth, and more than 1% of the requests have no thread, although requests of the recording \
         overlap. The 20% are the most that was found with recorded programs of 2 to 16 threads on drives with a \
         quarter to four times the response times; docs/waits.md has the figures.";
    STREAM_UNMET: "stream-unmet", Doubt, Measured,
        "No write has a stream of the file of streams.",
        "A stream has ranges in the file, and no page write of the measured part lies in them.";
    STREAM_WITHOUT_HANDLE: "stream-without-handle", Doubt, Measured,
        "Writes of some streams went to handle 0.",
        "A write names a stream for which the drive has no placement handle.";
    GROUP_FULL: "group-full", Doubt, Measured,
        "Writes left the reclaim group that they name.",
        "A write names a reclaim group that holds its share of the logical pages and data in half of its spare \
         already, or its page has other requests under way elsewhere.";
    OPTION_WITHOUT_EFFECT: "option-without-effect", Note, Configuration,
        "A value that was given changes nothing.",
        "A parameter of the host's cache or of its hints is not the default and has no effect here.";
    HINTS_WITHOUT_EFFECT: "hints-without-effect", Doubt, Configuration,
        "The hints change nothing.",
        "Writes come with hints, and no configuration has a victim policy or placement that uses them.";
    AS_READ: "as-read", Note, Workload,
        "The workload is not read to the letter.",
        "The reader of a trace left out, sorted or changed something, or reads it otherwise than its \
         name says.";
    TRACE_EVENTS_CUT: "trace-events-cut", Note, Run,
        "The trace of simulated events has not all of them.",
        "The file of events ends before the run does.";
    NOT_KEPT: "not-kept", Doubt, Run,
        "A checkpoint could not be written.",
        "Writing a checkpoint failed at least once.";
}

/// A claim about a result that is shown with its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The id of the finding's [`Rule`].
    pub id: String,
    /// The severity of the finding.
    pub gravity: Gravity,
    /// The part of a run that the finding rests on.
    pub window: Window,
    /// The claim. Names of options in it are marked until [`Self::name_options`] replaces them.
    pub claim: String,
    /// The advice; `None` if there is none.
    pub hint: Option<String>,
    /// The numbers that the claim rests on, by name.
    pub evidence: BTreeMap<String, f64>,
}

impl Finding {
    fn new(rule: &Rule, claim: impl Into<String>) -> Self {
        Self {
            id: rule.id.to_string(),
            gravity: rule.gravity,
            window: rule.window,
            claim: claim.into(),
            hint: None,
            evidence: BTreeMap::new(),
        }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    fn with(mut self, name: &str, value: impl Number) -> Self {
        self.evidence.insert(name.to_string(), value.number());
        self
    }

    fn with_change(self, change: Drift) -> Self {
        self.with("drift", change.drift).with("drift_ci95", change.ci95)
    }

    /// Makes a finding from a text that may end with a hint.
    fn of_text(rule: &Rule, text: &str) -> Self {
        match text.split_once("; hint: ") {
            Some((claim, hint)) => Self::new(rule, claim).hint(hint),
            None => Self::new(rule, text),
        }
    }

    /// Returns the finding as a line of text.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; hint: {hint}", self.claim),
            None => self.claim.clone(),
        }
    }

    /// Replaces the marks of options in the claim and in the hint by their names in `names`.
    pub fn name_options(&mut self, names: &dyn Names) {
        self.claim = naming::said(&self.claim, names);
        self.hint = self.hint.take().map(|hint| naming::said(&hint, names));
    }
}

/// A number that a finding may rest on.
trait Number {
    fn number(self) -> f64;
}

impl Number for f64 {
    fn number(self) -> f64 {
        self
    }
}

impl Number for u64 {
    fn number(self) -> f64 {
        self as f64
    }
}

/// Returns the finding that the host wrote nothing.
pub(crate) fn nothing_written() -> Finding {
    Finding::new(NOTHING_MEASURED, "the host wrote nothing in the measured part")
}

/// Returns the finding that all runs were stopped in the warm-up.
pub(crate) fn stopped_in_warm_up() -> Finding {
    Finding::new(NOTHING_MEASURED, "interrupted in the warm-up: nothing was measured")
}

/// Returns the finding that `unmeasured` runs were stopped in the warm-up, and the other runs were
/// not.
pub(crate) fn runs_in_warm_up(unmeasured: u64) -> Finding {
    let (were, do_) = if unmeasured == 1 { ("was", "does") } else { ("were", "do") };
    let claim = format!(
        "interrupted: {unmeasured} of the runs {were} still in the warm-up and {do_} not count"
    );
    Finding::new(RUNS_IN_WARM_UP, claim).with("runs", unmeasured)
}

/// Returns the finding that the runs were stopped before their end.
pub(crate) fn interrupted() -> Finding {
    Finding::new(INTERRUPTED, "interrupted: the figures cover the part that was run")
}

/// Returns the finding that a drive with a clock had not settled after `drive_writes` drive writes
/// before its requests. About `needed` drive writes would show that the drive has settled. If
/// `needed` is too large, the finding has no advice.
pub(crate) fn not_settled_before(drive_writes: f64, needed: f64) -> Finding {
    let claim = format!(
        "nothing shows that write amplification had settled after {} drive writes before the requests",
        (100.0 * drive_writes).round() / 100.0
    );
    let hint = (needed <= MOST_ADVISED).then(|| choice("warmup", format!("{}x", needed.ceil())));
    Finding { hint, ..Finding::new(NO_WARM_UP_END, claim) }
        .with("drive_writes", drive_writes)
        .with("drive_writes_needed", needed)
}

/// Returns the finding that only `done` of `wanted` page writes before the requests were made, with
/// `drawn` requests.
pub(crate) fn warm_up_cut(done: u64, wanted: u64, drawn: u64) -> Finding {
    let claim = format!(
        "the warm-up ended after {}, {} before its end: the workload hardly writes, and {} were drawn",
        count(done, "page write"),
        count(wanted - done, "page write"),
        count(drawn, "request"),
    );
    Finding::new(WARM_UP_CUT, claim)
        .hint(format!("a shorter {}, or a workload that writes more", option("warmup")))
        .with("writes_done", done)
        .with("writes_wanted", wanted)
        .with("requests_drawn", drawn)
}

/// Returns the finding that `runs` runs have the same figure. If the figure has an interval, it
/// comes from `parts` of one run. With `is_fixed`, the runs use no random numbers.
pub(crate) fn identical_runs(runs: u64, parts: Option<&str>, is_fixed: bool) -> Finding {
    let why = match is_fixed {
        true => "are identical: the policy and the workload use no random numbers",
        false => "have the same figure",
    };
    let then = match parts {
        Some(parts) => format!("the interval is over {parts} of one run"),
        None => "they count as one, and one run has no interval".to_string(),
    };
    Finding::new(IDENTICAL_RUNS, format!("all {runs} runs {why}; {then}")).with("runs", runs)
}

/// Returns the finding that write amplification still changes.
pub(crate) fn still_moves(change: Drift, hint: String) -> Finding {
    let claim = format!(
        "write amplification still moves: {:+.2}% ± {:.2}% from the first to the second half of the \
         measured part",
        change.drift * 100.0,
        change.ci95 * 100.0
    );
    Finding::new(UNSTEADY, claim).hint(hint).with_change(change)
}

/// Returns the finding that a part of the transient is still in write amplification.
pub(crate) fn still_settles(transient: Drift, hint: String) -> Finding {
    let claim = format!(
        "write amplification still moves: the writes before the measured part differ so much from it that \
         the figure may be {:.2}% off",
        transient.drift.abs() * 100.0
    );
    Finding::new(UNSTEADY, claim).hint(hint).with_change(transient)
}

/// Returns the finding that write amplification is known only to ± `half`, a share of it.
pub(crate) fn known_badly(half: f64, hint: String) -> Finding {
    let claim = format!(
        "nothing shows that write amplification is steady: it is known to ±{:.1}%",
        half * 100.0
    );
    Finding::new(STEADINESS_UNKNOWN, claim).hint(hint).with("ci95", half)
}

/// Returns the finding that the reach of a measured part, `reach`, is less than the reach `needed`
/// to show a steady state.
pub(crate) fn cold_pages(reach: Reach, needed: Reach, hint: Option<String>) -> Finding {
    let why = if reach.rewrites >= needed.rewrites {
        let written = count(reach.writes, "page write");
        format!("the measured part is {written}, and the policies remember {}", needed.writes)
    } else if needed.rewrites > FEWEST_REWRITES {
        format!(
            "pages that are seldom written were written about {:.1} times in the measured part, and the \
             policies remember {} writes of each",
            reach.rewrites, needed.rewrites
        )
    } else {
        format!(
            "{:.1}% of the pages written before were not written in the measured part, and at most {:.1}% may be left",
            100.0 * (-reach.rewrites).exp(),
            100.0 * (-needed.rewrites).exp()
        )
    };
    let claim = format!("nothing shows that write amplification is steady: {why}");
    Finding { hint, ..Finding::new(COLD_PAGES, claim) }
        .with("rewrites", reach.rewrites)
        .with("rewrites_needed", needed.rewrites)
        .with("page_writes", reach.writes)
        .with("page_writes_needed", needed.writes)
}

/// Returns the finding that the change of `figure` is not known precisely enough.
pub(crate) fn steadiness_unknown(figure: &str, change: Drift, hint: String) -> Finding {
    let claim = format!(
        "nothing shows that {figure} is steady: its change from the first to the second half of the \
         measured part is {:+.1}% ± {:.1}%",
        change.drift * 100.0,
        change.ci95 * 100.0
    );
    Finding::new(STEADINESS_UNKNOWN, claim).hint(hint).with_change(change)
}

/// Returns the number of blocks as a text. Each stands for `together` physical blocks.
fn count_blocks(blocks: u64, together: u32) -> String {
    count(blocks, if together > 1 { "superblock" } else { "block" })
}

/// Returns the finding that a drive has only `blocks` blocks.
pub(crate) fn few_blocks(blocks: u32, together: u32, more: &str) -> Finding {
    let claim = format!(
        "the drive has only {}: amplification may be another than that of a large drive",
        count_blocks(blocks.into(), together)
    );
    Finding::new(FEW_BLOCKS, claim).hint(more).with("blocks", u64::from(blocks))
}

/// Returns the finding that a drive of `blocks` blocks of `pages` pages stands for a large one.
pub(crate) fn scaled_drive(scaled: &Scaled, blocks: u64, pages: u32, has_clock: bool) -> Finding {
    let Scaled { scale, change, .. } = scaled;
    let changed = [
        (u64::from(scaled.pages_per_block), u64::from(pages), "pages a block"),
        (scaled.blocks, blocks, "blocks"),
    ];
    let changed: Vec<_> = changed
        .iter()
        .filter(|(before, now, _)| before != now)
        .map(|(before, now, what)| format!("{now} {what} for {before}"))
        .collect();
    let mut claim = format!(
        "the drive is {scale} of the one asked for ({}): its amplification is within about {:.2}% of that of \
         the whole drive",
        changed.join(", "),
        (100.0 * change).max(0.01)
    );
    if has_clock && scaled.pages_per_block != pages {
        claim += "; erases are as much shorter as blocks are smaller, so that a page takes the dies as long, but \
                  collections are shorter, too: response times and the rates that wait for them differ";
    }
    Finding::new(SCALED_DRIVE, claim)
        .with("whole_blocks", scaled.blocks)
        .with("blocks", blocks)
        .with("whole_pages_per_block", u64::from(scaled.pages_per_block))
        .with("pages_per_block", u64::from(pages))
        .with("change", *change)
}

/// Returns the finding that `dead` of `blocks` blocks had no valid page at the end, while collections
/// copied the share `copied` of their victims' pages. A block is `together` physical blocks.
pub(crate) fn dead_blocks(dead: u64, blocks: u64, copied: f64, together: u32) -> Finding {
    let claim = format!(
        "{dead} of {} had no valid page at the end, and yet collections copied {} of the pages of their victims: \
         the victim policy does not look at all of them",
        count_blocks(blocks, together),
        percent(copied)
    );
    Finding::new(DEAD_BLOCKS_LEFT, claim)
        .hint(format!("{}, which collects them first", choice("victim", "greedy")))
        .with("dead_blocks", dead)
        .with("blocks", blocks)
        .with("copied_share", copied)
}

/// Returns the finding that `kept` blocks stay erased, so that the spare factor `spare` is in
/// effect `effective`. With `is_share`, the blocks kept are a share of the drive, whatever its
/// size.
pub(crate) fn spare_kept_erased(
    kept: f64,
    spare: f64,
    effective: f64,
    is_share: bool,
    more: &str,
) -> Finding {
    let claim = format!(
        "{:.2}% of the flash is spare for collections, not {:.2}%, because {} blocks stay erased: \
         amplification is that of the smaller spare factor",
        effective * 100.0,
        spare * 100.0,
        kept.round()
    );
    let hint = match is_share {
        true => format!("a lower {}", option("gc_low")),
        false => more.to_owned(),
    };
    Finding::new(SPARE_KEPT_ERASED, claim)
        .hint(hint)
        .with("blocks", kept)
        .with("spare", spare)
        .with("effective_spare", effective)
}

/// Returns the finding that a share of the programmed pages went to blocks that were erased before.
pub(crate) fn burst(share: f64) -> Finding {
    let claim = format!(
        "{} of the programmed pages went to blocks that were erased before the measured part: the drive \
         cannot go on so",
        percent(share)
    );
    Finding::new(BURST, claim)
        .hint(format!("a longer {}, or a longer run", option("warmup")))
        .with("from_spare", share)
}

/// Returns the finding that write amplification changes over passes of a trace, by the share
/// `drift`.
pub(crate) fn passes_move(passes: &str, drift: f64, hint: String) -> Finding {
    let claim = format!(
        "write amplification still moves {passes}: {:+.2}% from their first to their second half",
        drift * 100.0
    );
    Finding::new(UNSTEADY, claim).hint(hint).with("drift", drift)
}

/// Returns the finding that write amplification over passes of a trace is known only to ± `half`, a
/// share of it.
pub(crate) fn passes_vary(passes: &str, half: f64, hint: String) -> Finding {
    let claim = format!("write amplification varies {passes}: known to ±{:.1}%", half * 100.0);
    Finding::new(IMPRECISE, claim).hint(hint).with("ci95", half)
}

/// Returns the finding that too few passes of a trace were measured.
pub(crate) fn too_few_passes(hint: String) -> Finding {
    Finding::new(
        TOO_FEW_PASSES,
        "too few whole passes to tell whether write amplification is steady",
    )
    .hint(hint)
}

/// Returns the finding that a measured part of `pages` page writes is too short.
pub(crate) fn too_short(pages: u64, drive_writes: f64, erases: u64, hint: String) -> Finding {
    let claim = format!(
        "the measured part is {}, {} of a drive write{}: too short for a steady state",
        count(pages, "page write"),
        percent(drive_writes),
        match erases {
            0 => ", without an erase".to_string(),
            FEWEST_ERASES.. => String::new(),
            few => format!(", with {}", count(few, "erase")),
        },
    );
    Finding::new(TOO_SHORT, claim)
        .hint(hint)
        .with("page_writes", pages)
        .with("drive_writes", drive_writes)
}

/// Returns the finding that one pass of a trace writes no more than the flash holds.
pub(crate) fn only_replays_collect(flash_writes: f64, overwrite: f64) -> Finding {
    let claim = format!(
        "only the replays cause collections: a pass writes {flash_writes:.2} of the flash, and each \
         page that it writes {overwrite:.2} times on average"
    );
    Finding::new(ONLY_REPLAYS_COLLECT, claim)
        .hint("a longer trace")
        .with("flash_writes", flash_writes)
        .with("overwrite", overwrite)
}

/// Returns the finding that drives failed in `ended` of `runs` runs.
pub(crate) fn died_early(ended: u64, runs: u64) -> Finding {
    let claim =
        format!("in {ended} of {} the drive failed before the end of the run", count(runs, "run"));
    Finding::new(DIED_EARLY, claim)
        .hint(format!("{} measures the lifetime", choice("until", "system-failure")))
        .with("failed", ended)
        .with("runs", runs)
}

/// Returns the finding that a warm-up of `pages` pages is a small share of a drive write.
pub(crate) fn short_warm_up(pages: u64, share: f64) -> Finding {
    let claim =
        format!("the warm-up is {}, {} of a drive write", count(pages, "page"), percent(share));
    Finding::new(SHORT_WARM_UP, claim)
        .hint(format!("{} is one drive write", choice("warmup", "1x")))
        .with("pages", pages)
        .with("drive_writes", share)
}

/// Returns the finding that a precision was not reached after `rounds` times the length of the run.
pub(crate) fn precision_missed(rounds: u64) -> Finding {
    let claim =
        format!("the precision asked for was not reached after {rounds} times the run's length");
    Finding::new(PRECISION_MISSED, claim).with("rounds", rounds)
}

/// Returns the finding that nothing was written to a stored drive.
pub(crate) fn nothing_served() -> Finding {
    Finding::new(NOTHING_MEASURED, "the command wrote nothing to the drive")
}

/// Returns the finding that a stored drive erased no block while `pages` pages were programmed.
pub(crate) fn still_empty(pages: u64) -> Finding {
    Finding::new(
        NO_ERASE,
        "all writes fitted into erased blocks: the figure is that of an empty drive",
    )
    .hint(IN_USE)
    .with("programmed_pages", pages)
}

/// The advice for a stored drive that has not settled.
const IN_USE: &str = "a command that writes more, or a smaller drive";

/// Returns the finding that the write amplification of a stored drive still changes.
pub(crate) fn moves_in_use(change: Drift) -> Finding {
    still_moves(change, IN_USE.to_owned())
}

/// Returns the finding that the write amplification of a stored drive is not known to be steady.
pub(crate) fn unknown_in_use(change: Drift) -> Finding {
    steadiness_unknown("write amplification", change, IN_USE.to_owned())
}

/// Returns the finding that too little was written to a stored drive to tell whether it is steady.
pub(crate) fn too_short_to_tell(pages: u64) -> Finding {
    Finding::new(TOO_SHORT, "too little was written to tell whether write amplification is steady")
        .hint(IN_USE)
        .with("programmed_pages", pages)
}

/// Returns the finding that a stored drive wrote to blocks that were erased before the measured
/// part.
pub(crate) fn burst_in_use(share: f64) -> Finding {
    burst(share).hint(IN_USE)
}

/// Returns the finding that no write has the streams `streams` of the file at `path`.
pub(crate) fn stream_unmet(streams: &str, path: &str, offered: u64) -> Finding {
    let claim =
        format!("no write of the measured part has {streams} of {}", choice("streams", path));
    Finding::new(STREAM_UNMET, claim)
        .hint(format!("its ranges are in bytes, and the drive has {offered}"))
        .with("drive_bytes", offered)
}

/// Returns the finding that `pages` page writes of `streams` went to handle 0, because the drive
/// has only `handles` handles.
pub(crate) fn stream_without_handle(pages: u64, streams: &str, handles: u16) -> Finding {
    let claim = format!(
        "{} of {streams} went to handle 0, because the drive has no handle for them",
        count(pages, "page write"),
    );
    Finding::new(STREAM_WITHOUT_HANDLE, claim)
        .hint(format!(
            "its handles are streams 0 to {}; {} sets their number",
            handles - 1,
            choice("placement", "fdp:handles=N")
        ))
        .with("page_writes", pages)
        .with("handles", u64::from(handles))
}

/// Returns the finding that `pages` page writes went to another of the `groups` reclaim groups than
/// they name.
pub(crate) fn group_full(pages: u64, groups: u16) -> Finding {
    let claim = format!(
        "{} went to another reclaim group than they name, because it was full",
        count(pages, "page write"),
    );
    Finding::new(GROUP_FULL, claim)
        .hint(format!(
            "each of the {groups} groups holds 1/{groups} of the logical pages; give each group as many pages"
        ))
        .with("page_writes", pages)
        .with("groups", u64::from(groups))
}

/// Returns the finding that a value has no effect. `text` comes from the part that ignores the
/// value.
pub(crate) fn without_effect(text: &str) -> Finding {
    Finding::of_text(OPTION_WITHOUT_EFFECT, text)
}

/// Returns the finding that hints have no effect.
pub fn hints_without_effect() -> Finding {
    Finding::new(
        HINTS_WITHOUT_EFFECT,
        "the hints have no effect: neither the victim policy nor the placement uses them",
    )
    .hint(format!("{} or zgc-cb", choice("scheme", "zgc-gd")))
}

/// Returns the finding on how a workload was read. `text` comes from its reader.
pub fn as_read(text: &str) -> Finding {
    Finding::of_text(AS_READ, text)
}

/// Returns the finding on a file of simulated events. `text` comes from its writer.
pub(crate) fn trace_events(text: &str) -> Finding {
    Finding::of_text(TRACE_EVENTS_CUT, text)
}

/// Returns the finding that a checkpoint could not be written.
pub(crate) fn not_kept(text: &str) -> Finding {
    Finding::of_text(NOT_KEPT, text)
}

/// Returns a share as a text: `37%`, `0.12%`.
fn percent(share: f64) -> String {
    match share * 100.0 {
        many if many >= 10.0 => format!("{many:.0}%"),
        few if few >= 0.01 => format!("{few:.2}%"),
        _ => "less than 0.01%".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_rule_has_a_name_of_its_own() {
        let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), RULES.len());
        for rule in RULES {
            assert!(rule.claim.ends_with('.') && rule.rule.ends_with('.'), "{}", rule.id);
        }
    }

    #[test]
    fn a_text_with_a_hint_is_a_claim_and_a_hint() {
        let read = as_read("3 requests were sorted; hint: another trace");
        assert_eq!(
            (read.claim.as_str(), read.hint.as_deref()),
            ("3 requests were sorted", Some("another trace"))
        );
        assert_eq!(read.text(), "3 requests were sorted; hint: another trace");
        assert_eq!(as_read("all fine").hint, None);
    }

    #[test]
    fn shares_are_read_by_people() {
        assert_eq!([0.37, 0.0012, 0.00001].map(percent), ["37%", "0.12%", "less than 0.01%"]);
    }
}
