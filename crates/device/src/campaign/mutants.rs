//! The campaign on deliberately wrong drives: each must break a promise, or a reason says why it cannot.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use super::{Outcome, Pace, fuzz, sweep};
use crate::mutants::{Mutant, choose};

/// Steps of the first round of fuzzing. A round of the sweep takes about as long: it has an eighth as many images, but
/// at least a schedule.
const STEPS: u64 = 10_000;
/// Each round is so many times as long as the one before.
const GROWTH: u64 = 2;

/// The result of a hunt for a mutant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunt {
    /// The first promise that was broken; `None` if none was.
    pub found: Option<Find>,
    /// Images that were looked at.
    pub images: u64,
    /// Steps of fuzzing that were done.
    pub steps: u64,
}

/// The first promise that a mutant broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    /// The level that found it: `images` or `fuzz`.
    pub level: &'static str,
    /// The seed of the schedule or script.
    pub seed: u64,
    /// The promise as it was found broken, in words.
    pub what: String,
}

/// Runs schedules and scripts from `seed` on with drives that are wrong as `mutant` is, in `rounds` rounds that
/// grow, until a promise is broken or `pace` says that it is over.
pub fn hunt(mutant: Mutant, seed: u64, rounds: u32, pace: &Pace) -> Hunt {
    let _wrong = Wrong::begin(mutant);
    let (mut hunt, mut schedules, mut scripts, mut length) = (Hunt::default(), 0, 0, STEPS);
    for round in 0..rounds {
        // A schedule is some thousand images: the first round is the shortest that there is.
        let images = if round == 0 { 1 } else { length / 8 };
        let swept = within(seed + schedules, || sweep(seed + schedules, images, pace));
        let broken = match swept {
            Ok(Outcome { tally, broken }) => {
                (hunt.images, schedules) =
                    (hunt.images + tally.images, schedules + tally.schedules);
                broken.map(|broken| (broken.seed, broken.what))
            }
            Err(panicked) => Some(panicked),
        };
        if let Some((seed, what)) = broken {
            hunt.found = Some(Find { level: "images", seed, what });
            break;
        }
        let fuzzed = within(seed + scripts, || fuzz::run_unshrunk(seed + scripts, length, pace));
        let broken = match fuzzed {
            Ok(Outcome { tally, broken }) => {
                (hunt.steps, scripts) = (hunt.steps + tally.operations, scripts + tally.scripts);
                broken.map(|broken| (broken.seed, broken.what))
            }
            Err(panicked) => Some(panicked),
        };
        if let Some((seed, what)) = broken {
            hunt.found = Some(Find { level: "fuzz", seed, what });
            break;
        }
        if pace.is_over() {
            break;
        }
        length *= GROWTH;
    }
    hunt
}

/// Does `run`; where it panics, a seed from which on it does, and what the panic said.
fn within<T>(seed: u64, run: impl FnOnce() -> T) -> Result<T, (u64, String)> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
        (seed, format!("the drive panicked: {text}"))
    })
}

thread_local! {
    /// Panics of this thread are expected, and say nothing.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// While it lives the drives of this thread are wrong.
struct Wrong {
    before: Option<Mutant>,
}

impl Wrong {
    fn begin(mutant: Mutant) -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let told = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if !IS_QUIET.get() {
                    told(info);
                }
            }));
        });
        IS_QUIET.set(true);
        Self { before: choose(Some(mutant)) }
    }
}

impl Drop for Wrong {
    fn drop(&mut self) {
        choose(self.before);
        IS_QUIET.set(false);
    }
}
