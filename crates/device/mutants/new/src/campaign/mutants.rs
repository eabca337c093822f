//! Runs the campaign on deliberately wrong drives (mutants): each must break a promise, or
//! `mutants.toml` must say why it cannot.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

use super::{Broken, Outcome, Pace, fuzz, sweep};
use crate::mutants::{Mutant, choose};

/// The number of steps in the first round of fuzzing. A round of the sweep takes about as long: it
/// checks one image for eight steps of fuzzing. Only the first round is a single schedule.
const STEPS: u64 = 10_000;
/// The factor by which each round is longer than the one before.
const GROWTH: u64 = 2;

/// The result of a hunt for a mutant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunt {
    /// The first promise that was broken; `None` if none was.
    pub find: Option<Find>,
    /// The number of images checked.
    pub images: u64,
    /// The number of steps of fuzzing done.
    pub steps: u64,
}

/// The first promise that a mutant broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    /// The level that found it: `images` or `fuzz`.
    pub level: &'static str,
    /// The seed of the schedule or script.
    pub seed: u64,
    /// The broken promise, in words.
    pub what: String,
}

/// Runs schedules and scripts from `seed` on with drives that are wrong as `mutant` says. The
/// rounds grow, until a promise is broken or `pace` ends the hunt.
pub fn hunt(mutant: Mutant, seed: u64, pace: &Pace) -> Hunt {
    let _wrong = Wrong::begin(mutant);
    let (mut hunt, mut schedules, mut scripts, mut length) = (Hunt::default(), 0, 0, STEPS);
    // One schedule has some thousand images, so the first round is the shortest possible one.
    let mut images = 1;
    loop {
        let Outcome { tally, broken } = sweep(seed + schedules, images, pace);
        hunt.images += tally.images;
        schedules += tally.schedules;
        hunt.find = broken.map(|broken| Find::of("images", broken));
        if hunt.find.is_some() {
            break;
        }
        let Outcome { tally, broken } = fuzz::run_unshrunk(seed + scripts, length, pace);
        hunt.steps += tally.operations;
        scripts += tally.scripts;
        hunt.find = broken.map(|broken| Find::of("fuzz", broken));
        if hunt.find.is_some() || pace.is_over() {
            break;
        }
        length *= GROWTH;
        images = length / 8;
    }
    hunt
}

impl Find {
    fn of(level: &'static str, Broken { seed, what, .. }: Broken) -> Self {
        Self { level, seed, what }
    }
}

thread_local! {
    /// `true` while panics of this thread are expected, so that no message is printed.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// A guard: while it exists, the drives of this thread are wrong.
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
