//! Write amplification in bytes: the bytes programmed per byte that the host wrote, by cause.

use flashgc_base::counts::Counts;
use flashgc_base::described::Described;
use flashgc_base::snapshot::Value;
use flashgc_drive::host_commands::HostCommands;
use flashgc_drive::stats::Interval;
use flashgc_ftl::{Counters, Packing};
use serde::{Deserialize, Serialize};

use crate::counted::Counted;

/// The counts of one drive from its beginning to one moment: host pages, host commands and
/// programmed pages. The difference between two moments is the traffic between them.
#[derive(Clone, Copy, Default, Value)]
pub(crate) struct Written {
    pub(crate) host_pages: u64,
    commands: HostCommands,
    /// The pages programmed, padding included.
    programs: u64,
}

impl Written {
    pub(crate) fn new(
        counters: &Counters,
        commands: HostCommands,
        packing: Option<Packing>,
    ) -> Self {
        let programs = counters.programs() + packing.map_or(0, |packing| packing.padding);
        Self { host_pages: counters.host_pages, commands, programs }
    }

    pub(crate) fn of(counted: &Counted) -> Self {
        Self::new(&counted.counters, counted.commands, counted.layer.packing)
    }

    /// Returns the pages and bytes written since `earlier`. A page has `unit` bytes.
    pub(crate) fn since(&self, earlier: &Self, unit: u32) -> Interval {
        let host_pages = self.host_pages - earlier.host_pages;
        Interval {
            host_pages,
            host_bytes: self.commands.since(&earlier.commands).host_bytes(host_pages, unit),
            programmed_bytes: (self.programs - earlier.programs) * u64::from(unit),
        }
    }
}

/// The bytes written in the measured parts of all runs, by cause. `programmed` is `host` - `merged` +
/// `rounding` + `padding` + `copies`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Described)]
pub struct Bytes {
    /// The bytes written by the host.
    pub host: u64,
    /// The bytes overwritten in the drive's write cache before they were programmed.
    pub merged: u64,
    /// The bytes programmed in excess of the host's bytes because a write changes whole mapping
    /// units.
    pub rounding: u64,
    /// The bytes programmed without data, because a flash page was not full when it was programmed.
    pub padding: u64,
    /// The bytes copied by collections, and by a map on flash.
    pub copies: u64,
    /// All bytes of data that were programmed.
    pub programmed: u64,
    /// The bytes of parity that were programmed besides `programmed`.
    pub parity: u64,
}

impl Bytes {
    pub(crate) fn new(
        counters: &Counters,
        commands: &HostCommands,
        packing: Option<Packing>,
        (unit, stripe): (u32, Option<u32>),
        skipped: u64,
    ) -> Self {
        let all = Written::new(counters, *commands, packing).since(&Written::default(), unit);
        let bytes = |pages: u64| pages * u64::from(unit);
        Self {
            host: all.host_bytes,
            merged: commands.merged_bytes,
            rounding: commands.missing_bytes,
            padding: bytes(packing.map_or(0, |packing| packing.padding)),
            copies: bytes(counters.copied_pages),
            programmed: all.programmed_bytes,
            parity: stripe
                .map_or(0, |parts| (all.programmed_bytes + bytes(skipped)) / u64::from(parts - 1)),
        }
    }
}
