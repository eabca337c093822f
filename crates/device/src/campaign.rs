//! The crash campaign: what a drive keeps is compared with a dictionary, for every point at which its
//! work can be cut off.
//!
//! A *schedule* is a series of commands on a small drive, drawn from a seed. Its medium writes down
//! every operation. For every position among them, images are made of what a crash may leave: all that
//! was written, nothing since the last sync, any part of it, the last write torn at 512 bytes. From
//! each image the drive is opened. Every page must hold its last flushed version or a later one that
//! was written: nothing lost, nothing torn, nothing resurrected, nothing invented. Some images have their
//! checkpoint damaged, so that the one before must do. Some recoveries are
//! cut off themselves, and some recovered drives go on to work and crash again. At the end the drive is
//! closed, and images are made in which the medium has lost a write or swapped two pages: that must be
//! an error.
//!
//! Everything follows from the seed.

mod images;
mod oracle;
mod schedule;

use std::fmt;

use flashgc_base::rng::Stream;

use crate::verify::Rules;
use schedule::Schedule;

/// What a campaign came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Series of commands.
    pub schedules: u64,
    /// Images from which a drive was opened and compared.
    pub images: u64,
    /// Of these, those that a crash of a recovery left.
    pub of_recoveries: u64,
    /// Of these, those that a recovered drive left, which went on to work.
    pub of_recovered: u64,
    /// Of these, those with a damaged checkpoint that were opened from the one before.
    pub of_fallbacks: u64,
    /// Of these, those with a lost write or swapped pages.
    pub of_lies: u64,
    /// Lost writes and swapped pages that reading found.
    pub lies_found: u64,
    /// Records that recoveries skipped.
    pub skipped: u64,
    /// Images whose two maps were compared.
    pub compared: u64,
}

/// A promise that was broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The seed of the schedule.
    pub seed: u64,
    /// Where the work was cut off, and what was not as it should be.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "schedule {}: {}", self.seed, self.what)
    }
}

/// Runs schedules from `seed` on until at least `images` images were looked at.
///
/// # Errors
/// The first promise that was broken.
pub fn run(seed: u64, images: u64) -> Result<Tally, Broken> {
    run_by(seed, images, Rules::default())
}

/// The same with a drive that leaves out some of its rules.
///
/// # Errors
/// The first promise that was broken.
#[doc(hidden)]
pub fn run_by(seed: u64, images: u64, rules: Rules) -> Result<Tally, Broken> {
    let mut tally = Tally::default();
    while tally.images < images {
        let seed = seed + tally.schedules;
        let mut rng = Stream::new(seed, "crash campaign");
        let mut schedule = Schedule::draw(&mut rng, rules);
        schedule.run(&mut rng, &mut tally).map_err(|what| Broken { seed, what })?;
        tally.schedules += 1;
    }
    Ok(tally)
}
