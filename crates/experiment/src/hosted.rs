//! The counts of a host in front of the drive, and of its hints on the drive.

use flashgc_ftl::ZombieCounts;
use flashgc_host::HostCounts;
use serde::{Deserialize, Serialize};

use crate::finished::Finished;

/// The counts of the hosts of all runs in the measured part, in pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostResult {
    /// Read by the application.
    pub reads: u64,
    /// Written by the application.
    pub writes: u64,
    /// That the drive was asked to read: misses of the cache.
    pub drive_reads: u64,
    /// That the drive was asked to write.
    pub drive_writes: u64,
    /// Dirty in the cache, on average over the requests; on a drive with a clock over the time.
    pub mean_dirty_pages: f64,
    /// Dirty, and the drive had a hint of it, on the same average.
    pub mean_known_pages: f64,
    /// The second of these by the first; `None` if nothing was ever dirty.
    pub known_share: Option<f64>,
    /// The counts of hints.
    pub hints: Hints,
}

/// The counts of hints in the measured parts, in pages unless it says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hints {
    /// That became dirty, so there was a hint to send.
    pub due: u64,
    /// That came to the drive.
    pub sent: u64,
    /// Dropped, because the page was written before they could leave.
    pub overtaken: u64,
    /// That never came.
    pub lost: u64,
    /// That came after their page was written.
    pub late: u64,
    /// That came and named a page that was not dirty.
    pub wrong: u64,
    /// Commands made for hints alone.
    pub commands: u64,
}

impl HostResult {
    /// `None` without a host.
    pub(crate) fn new(runs: &[Finished]) -> Option<Self> {
        let all = runs.iter().filter_map(|run| run.host);
        let sum = all.reduce(|sum, host| sum.plus(&host))?;
        let HostCounts { reads, writes, drive_reads, drive_writes, hints, dirty, known, moments } =
            sum;
        let mean = |total: u128| total as f64 / moments.max(1) as f64;
        Some(Self {
            reads,
            writes,
            drive_reads,
            drive_writes,
            mean_dirty_pages: mean(dirty),
            mean_known_pages: mean(known),
            known_share: (dirty > 0).then(|| known as f64 / dirty as f64),
            hints: Hints {
                due: hints.due,
                sent: hints.sent,
                overtaken: hints.overtaken,
                lost: hints.lost,
                late: hints.late,
                wrong: hints.wrong,
                commands: hints.commands,
            },
        })
    }
}

/// The counts of zombies in the measured parts of all runs, in pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZombieResult {
    /// That a hint made zombies.
    pub marked: u64,
    /// That the host overwrote: their hints came true.
    pub overwritten: u64,
    /// That a TRIM discarded.
    pub trimmed: u64,
    /// That collections copied.
    pub copied: u64,
    /// Zombies among the pages copied; `None` if none were copied.
    pub share_of_copies: Option<f64>,
}

impl ZombieResult {
    /// `None` where neither policy nor placement asks.
    pub(crate) fn new(runs: &[Finished], copied_pages: u64) -> Option<Self> {
        let all = runs.iter().filter_map(|run| run.zombies);
        let sum = all.reduce(|sum, zombies| sum.plus(&zombies))?;
        let ZombieCounts { marked, overwritten, trimmed, copied, .. } = sum;
        let share = (copied_pages > 0).then(|| copied as f64 / copied_pages as f64);
        Some(Self { marked, overwritten, trimmed, copied, share_of_copies: share })
    }
}
