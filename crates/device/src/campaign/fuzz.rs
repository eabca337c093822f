//! Fuzzing: scripts of commands, crashes and faults of the medium are played on a small drive, and
//! its pages are compared with a model.
//!
//! A script is drawn from a seed. The seed also switches some kinds of steps off: a fault that ends
//! every life of a drive early would hide later faults. A medium has two images, the bytes that
//! reads return and the bytes that a loss of power leaves; after a failed sync they stay different.
//! Media tear writes, write a part and fail, end with EIO or ENOSPC, give no room back, flip bits,
//! and lose a write that they said was durable; recoveries are cut off and fail as well. Drives
//! wear out. Requests have many pages, or begin and end within one. A page must have a version that
//! the model allows, and damage must be an error that is counted. After a flipped bit or a lie, a
//! page may have an older version, but only if nothing on the medium says that the newer one was
//! durable. After every script the store is audited, and without damage the two maps must agree.
//!
//! A script that breaks a promise is shrunk: steps are removed while the remaining steps still
//! break a promise.

mod life;
mod machine;
mod pages;
mod script;
mod short;

use super::{Broken, Outcome, Pace, guarded};
use machine::Machine;
use script::Script;

/// The counts of a fuzzing campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FuzzTally {
    /// Scripts played.
    pub scripts: u64,
    /// Steps done.
    pub operations: u64,
    /// Crashes, each with a recovery.
    pub crashes: u64,
    /// Recoveries that were cut off or failed, and were followed by another recovery.
    pub recoveries_cut: u64,
    /// Drives that were closed and opened.
    pub reopened: u64,
    /// Operations of the medium that failed.
    pub faults: u64,
    /// Bits that were flipped.
    pub flips: u64,
    /// Openings that a flipped bit prevented.
    pub refused: u64,
    /// Reads that ended with a media error.
    pub media_errors: u64,
    /// Pages with a version older than the flushed one. That is allowed only after a lie of a sync,
    /// or after a flipped bit in a drive that had not been closed; and only if nothing on the
    /// medium says that the flushed version was durable.
    pub went_back: u64,
    /// Losses of power after a sync that had lied.
    pub lies: u64,
    /// Drives that said that their life is over.
    pub ended: u64,
    /// Ends of the process that a host survived, after which all acknowledged writes were there.
    pub outlived: u64,
    /// Drives whose two maps were compared.
    pub compared: u64,
}

/// The most attempts to make a script shorter.
const ATTEMPTS: u32 = 3000;

/// Runs scripts from `seed` on until at least `operations` steps were done. A script that breaks a
/// promise is shrunk.
pub fn run(seed: u64, operations: u64, pace: &Pace) -> Outcome<FuzzTally> {
    let Outcome { tally, broken } = run_unshrunk(seed, operations, pace);
    let broken = broken.map(|Broken { seed, what, .. }| {
        let (script, what) = shrunk(Script::draw(seed), what);
        Broken { seed, what, script: script.lines() }
    });
    Outcome { tally, broken }
}

/// Does the same as [`run`], but does not shrink the script that breaks a promise.
pub fn run_unshrunk(seed: u64, operations: u64, pace: &Pace) -> Outcome<FuzzTally> {
    let mut tally = FuzzTally::default();
    while tally.operations < operations && !pace.is_over() {
        let seed = seed + tally.scripts;
        if let Err(what) = play(&Script::draw(seed), &mut tally) {
            return Outcome { tally, broken: Some(Broken { seed, what, script: Vec::new() }) };
        }
        tally.scripts += 1;
        pace.note(tally.operations);
    }
    Outcome { tally, broken: None }
}

/// Plays a script.
fn play(script: &Script, tally: &mut FuzzTally) -> Result<(), String> {
    guarded(|| {
        let mut machine = Machine::new(script, tally)?;
        for (number, step) in script.steps.iter().enumerate() {
            machine.step(step).map_err(|what| format!("step {}, {step}: {what}", number + 1))?;
        }
        machine.end().map_err(|what| format!("at the end: {what}"))
    })
}

/// Removes steps, a half of the script at a time, then a quarter and so on, as long as a promise
/// stays broken.
fn shrunk(mut script: Script, mut what: String) -> (Script, String) {
    let mut attempts = 0;
    let mut size = script.steps.len().div_ceil(2);
    while size > 0 && attempts < ATTEMPTS {
        let (mut first, mut is_shorter) = (0, false);
        while first < script.steps.len() && attempts < ATTEMPTS {
            attempts += 1;
            let mut less = script.clone();
            less.steps.drain(first..(first + size).min(script.steps.len()));
            match play(&less, &mut FuzzTally::default()) {
                Err(then) => (script, what, is_shorter) = (less, then, true),
                Ok(()) => first += size,
            }
        }
        if !is_shorter || size > 1 {
            size /= 2;
        }
    }
    (script, what)
}
