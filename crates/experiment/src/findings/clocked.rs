//! The findings about drives with a clock.

use flashgc_base::naming::{choice, option};
use flashgc_base::spec::count;
use flashgc_timed::{FailureCounts, Overload, Suspension};

use super::{
    FEW_ROUNDS, Finding, NO_ERASE, NOTHING_MEASURED, OVERLOAD, PACE_MOVES, PLANES_APART,
    READS_LOST, STARVED, SUSPENDED_NO_MORE, TOO_SHORT, UNSTEADY, WAITS_GUESSED, WRITES_IN_CACHE,
    percent,
};
use crate::steadiness::Drift;

/// Returns the finding that no request was measured on a drive with a clock.
pub(crate) fn nothing_arrived() -> Finding {
    Finding::new(NOTHING_MEASURED, "no request arrived: nothing was measured")
}

/// Returns the finding that write amplification changes on a drive with a clock. `change` is `None`
/// if its amount is not known.
pub(crate) fn still_moves_with_a_clock(change: Option<Drift>) -> Finding {
    let claim = "write amplification still moves in the measured part";
    let hint = format!("a longer {}", option("warmup"));
    match change {
        None => Finding::new(UNSTEADY, claim).hint(hint),
        Some(change) => {
            let by = format!(
                "{claim}: {:+.2}% ± {:.2}% from its first to its second half",
                change.drift * 100.0,
                change.ci95 * 100.0
            );
            Finding::new(UNSTEADY, by).hint(hint).with_change(change)
        }
    }
}

/// Returns the finding that the time for a request still changes.
pub(crate) fn pace_moves(change: Drift) -> Finding {
    let claim = format!(
        "the time for a request still moves: {:+.2}% ± {:.2}% from the first to the second half of the \
         measured part",
        change.drift * 100.0,
        change.ci95 * 100.0
    );
    Finding::new(PACE_MOVES, claim)
        .hint(format!("a longer {}, or more {}", option("warmup"), option("requests")))
        .with_change(change)
}

/// Returns the finding that requests arrive too fast. `is_shared` says whether tenants share the
/// drive, `may_wait` whether the host of the trace may have waited for answers.
pub(crate) fn overload(overload: &Overload, is_shared: bool, may_wait: bool) -> Finding {
    // The advice is a rate a little below the one that the drive can sustain.
    let scale = match 0.9 * overload.sustainable_per_second / overload.offered_per_second {
        small if small < 0.01 => format!("{small:.1e}"),
        scale => format!("{scale:.2}"),
    };
    let waiting = count(overload.outstanding, "request");
    let closed = match (is_shared, may_wait) {
        (true, _) => "for a tenant arrivals=closed:threads=8".to_string(),
        (false, true) => choice("arrivals", "dependent"),
        (false, false) => choice("arrivals", "closed:threads=8"),
    };
    let end = match overload.is_cut_short {
        true => format!("the run was stopped with {waiting} waiting"),
        false => format!("{waiting} waited when the last one arrived"),
    };
    let claim = format!(
        "overload: requests arrive at {:.0} a second and the drive serves {:.0}; {end}, so response \
         times grow with the length of the run",
        overload.offered_per_second, overload.sustainable_per_second,
    );
    Finding::new(OVERLOAD, claim)
        .hint(format!("{}, or {closed}", choice("rate_scale", scale)))
        .with("offered_per_second", overload.offered_per_second)
        .with("sustainable_per_second", overload.sustainable_per_second)
        .with("outstanding", overload.outstanding)
}

/// Returns the finding that collections went only `rounds` times from the mark at which they begin
/// to the mark at which they end.
pub(crate) fn few_rounds(rounds: f64) -> Finding {
    let claim = format!(
        "collections went only {rounds:.1} times from mark to mark, too few to tell whether write \
         amplification is steady"
    );
    Finding::new(FEW_ROUNDS, claim)
        .hint(format!("more {}, or a lower {}", option("requests"), option("gc_high")))
        .with("rounds", rounds)
}

/// Returns the finding that only `erases` blocks were erased, on average over the runs.
pub(crate) fn few_erases(erases: f64) -> Finding {
    let claim = format!(
        "only {erases:.0} blocks were erased: too few to tell whether write amplification is steady"
    );
    Finding::new(TOO_SHORT, claim)
        .hint(format!("more {}", option("requests")))
        .with("erases", erases)
}

/// Returns the finding that no block was erased on a drive with a clock.
pub(crate) fn no_erase(pages: u64) -> Finding {
    Finding::new(
        NO_ERASE,
        "no block was erased in the measured part, so no request met a collection",
    )
    .hint(format!(
        "{} writes the drive full first, or more {}",
        choice("warmup", "2x"),
        option("requests")
    ))
    .with("host_pages", pages)
}

/// Returns the finding that `writes` writes waited for an erased block. `paces` is `true` if
/// collections give way to requests.
pub(crate) fn starved(writes: u64, paces: bool) -> Finding {
    // Collections that give way to requests make room in time only if writes do not come faster
    // than they collect.
    let hint = match paces {
        true => format!("a higher {}", option("gc_low")),
        false => format!("{} with {}", choice("write_pacing", "yes"), choice("gc_low", 4)),
    };
    Finding::new(STARVED, format!("{} waited because no block was erased", count(writes, "write")))
        .hint(hint)
        .with("writes", writes)
}

/// Returns the finding that operations waited for erases and programs that could not be suspended
/// again; `None` if no operation did.
pub(crate) fn suspended_no_more(suspension: &Suspension) -> Option<Finding> {
    let Suspension { most, longest_us, spent_erases, spent_programs, longest_wait_us, .. } =
        *suspension;
    let times = if most == 1 { "once".to_string() } else { format!("{most} times") };
    let bound = match longest_us {
        Some(us) => format!("{times} or for {:.2} ms", us / 1e3),
        None => times,
    };
    let kinds = [(spent_erases, "erase"), (spent_programs, "program")];
    let named: Vec<String> = kinds
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| count(number, what))
        .collect();
    let claim = format!(
        "{} gave way {bound}, the most allowed, and then no more: requests waited up to {:.2} ms for the end of one",
        named.join(" and "),
        longest_wait_us / 1e3
    );
    let finding = Finding::new(SUSPENDED_NO_MORE, claim)
        .hint(format!("a larger most or longest in {}", option("suspend")))
        .with("most", u64::from(most))
        .with("erases", spent_erases)
        .with("programs", spent_programs)
        .with("longest_wait_us", longest_wait_us);
    (!named.is_empty()).then_some(finding)
}

/// Returns the finding that reads could not be rebuilt; `None` if all could.
pub(crate) fn reads_lost(failures: &FailureCounts) -> Option<Finding> {
    let FailureCounts { reads, failed, lost, .. } = *failures;
    let claim = format!(
        "{lost} of {} that failed could not be rebuilt, as another page of the stripe failed too: a drive would \
         answer with an error",
        count(failed, "page read")
    );
    let finding = Finding::new(READS_LOST, claim)
        .hint(format!("stripes of fewer dies in {}", option("parity")))
        .with("lost", lost)
        .with("failed", failed)
        .with("reads", reads);
    (lost > 0).then_some(finding)
}

/// Returns the finding that a write cache of `capacity` pages was filling: of `written` page
/// writes, `grown` only made it fuller. `waits` writes waited for the cache.
pub(crate) fn writes_in_cache(written: u64, grown: u64, waits: u64, capacity: u32) -> Finding {
    let claim = match waits {
        0 => format!(
            "the measured writes fit into the write cache, which holds {grown} of {} at the end: their times are \
             the cache's, not the flash's",
            count(written, "page write"),
        ),
        _ => format!(
            "{grown} of {} only filled the write cache: their times are the cache's, not the flash's",
            count(written, "page write"),
        ),
    };
    Finding::new(WRITES_IN_CACHE, claim)
        .hint(format!("more {}, or a smaller {}", option("requests"), option("write_cache")))
        .with("page_writes", written)
        .with("cache_growth", grown)
        .with("cache_pages", u64::from(capacity))
        .with("waits", waits)
}

/// The operations of dies whose planes worked one after another.
pub(crate) struct Apart {
    /// The share of the programs that were executed together with one on another plane.
    pub(crate) share: f64,
    pub(crate) programs: u64,
    /// The erases that were executed together with one on another plane, and all erases.
    pub(crate) erases: [u64; 2],
    /// The time that the dies worked without host reads, as a multiple of that with all planes
    /// together.
    pub(crate) factor: f64,
}

/// Returns the finding that operations on the planes of a die came one after another.
/// `multi_plane` is `true` if the drive joins operations that wait.
pub(crate) fn planes_apart(apart: &Apart, multi_plane: bool) -> Finding {
    let Apart { share, programs, erases: [joined, erases], factor } = *apart;
    let few = |share: f64| if share == 0.0 { "none".to_string() } else { percent(share) };
    let erased = match erases {
        0 => "no erase".to_string(),
        _ => format!("{} of {}", few(joined as f64 / erases as f64), count(erases, "erase")),
    };
    let claim = format!(
        "{} of {} and {erased} went together with one on another plane: dies worked about {factor:.1} times \
         as long as all planes together would",
        few(share),
        count(programs, "program"),
    );
    let joins = match multi_plane {
        true => format!("{} with {}", choice("superblock", "die"), choice("multi_plane", "no")),
        false => choice("superblock", "die"),
    };
    let hint = match multi_plane {
        false => format!("{joins}, as drives of today do, or {}", choice("multi_plane", "yes")),
        true => {
            format!("{joins}, or more requests at a time, so that writes wait for several planes")
        }
    };
    Finding::new(PLANES_APART, claim)
        .hint(hint)
        .with("programs", programs)
        .with("joined_share", share)
        .with("erases", erases)
        .with("joined_erases", joined)
        .with("die_time", factor)
}

/// Returns the finding that the waits of the share `guessed` of a recording's requests are guesses,
/// and that this drive answers in `times` the recorded time.
pub(crate) fn waits_guessed(guessed: f64, times: f64) -> Finding {
    let claim = format!(
        "the drive answers in {times:.2} times the recorded time, and {} of the requests do not say which thread \
         sent them: the mean response time and the length of the run may be 20% off, percentiles more",
        percent(guessed)
    );
    Finding::new(WAITS_GUESSED, claim)
        .hint("a recording that has the threads of its requests, in the column 'thread' of a CSV file")
        .with("guessed_share", guessed)
        .with("response_time", times)
}
