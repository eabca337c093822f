//! The counts of a host in front of the drive, and the effect of its hints on the drive.

use flashgc_base::described::Described;
use flashgc_ftl::ZombieCounts;
use flashgc_host::{HintCounts, HostCounts, HostPages, HostWaits};
use serde::{Deserialize, Serialize};

use crate::counted::NamedCounts;

/// The counts of the hosts of all runs in the measured part, in pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct HostResult {
    /// The pages read and written.
    #[serde(flatten)]
    pub pages: NamedCounts<HostPages>,
    /// The dirty pages in the cache: the mean over the requests or, on a drive with a clock, over
    /// time.
    pub mean_dirty_pages: f64,
    /// The dirty pages for which the drive had a hint, as the same kind of mean.
    pub mean_known_pages: f64,
    /// The share of the known pages among the dirty ones; `None` if no page was ever dirty.
    pub known_share: Option<f64>,
    /// The counts of hints.
    pub hints: NamedCounts<HintCounts>,
    /// The waits for commands; `None` for a drive without a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<NamedCounts<HostWaits>>,
}

impl HostResult {
    /// Returns the results for `sum`, the sum over all runs. They have waits if the drive
    /// `has_clock`.
    pub(crate) fn new(sum: HostCounts, has_clock: bool) -> Self {
        let HostCounts { pages, hints, waits, dirty, known, moments } = sum;
        let mean = |total: u128| total as f64 / moments.max(1) as f64;
        Self {
            pages: NamedCounts::new(&pages),
            mean_dirty_pages: mean(dirty),
            mean_known_pages: mean(known),
            known_share: (dirty > 0).then(|| known as f64 / dirty as f64),
            hints: NamedCounts::new(&hints),
            waits: has_clock.then(|| NamedCounts::new(&waits)),
        }
    }
}

/// The counts of zombies in the measured parts of all runs, in pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct ZombieResult {
    /// The counts, without the number of zombies at the moment.
    #[serde(flatten)]
    pub counts: NamedCounts<ZombieCounts>,
    /// The share of zombies among the pages copied; `None` if none were copied.
    pub share_of_copies: Option<f64>,
}

impl ZombieResult {
    pub(crate) fn new(sum: &ZombieCounts, copied_pages: u64) -> Self {
        let share = (copied_pages > 0).then(|| sum.copied as f64 / copied_pages as f64);
        Self { counts: NamedCounts::new(sum), share_of_copies: share }
    }
}
