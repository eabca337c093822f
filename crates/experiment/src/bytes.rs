//! Write amplification in bytes: what was programmed for what the host wrote, and why.

use flashgc_base::snapshot::Value;
use flashgc_base::value;
use flashgc_drive::asked::Asked;
use flashgc_drive::stats::Interval;
use flashgc_ftl::{Counters, Packing};
use serde::{Deserialize, Serialize};

/// Pages written until a moment, and what the host asked for: bytes follow from their differences.
#[derive(Clone, Copy, Default)]
pub(crate) struct Written {
    pub(crate) host_pages: u64,
    asked: Asked,
    /// Pages programmed, padding included.
    programs: u64,
}

impl Value for Written {
    value!(host_pages, asked, programs);
}

impl Written {
    pub(crate) fn new(counters: &Counters, asked: Asked, packing: Option<Packing>) -> Self {
        let programs = counters.programs() + packing.map_or(0, |packing| packing.padding);
        Self { host_pages: counters.host_pages, asked, programs }
    }

    /// What was written since `earlier`, in pages of `unit` bytes.
    pub(crate) fn since(&self, earlier: &Self, unit: u32) -> Interval {
        let host_pages = self.host_pages - earlier.host_pages;
        Interval {
            host_pages,
            host_bytes: self.asked.since(&earlier.asked).host_bytes(host_pages, unit),
            programmed_bytes: (self.programs - earlier.programs) * u64::from(unit),
        }
    }
}

/// The bytes written in the measured parts of all runs: `programmed` is `host` - `merged` +
/// `rounding` + `padding` + `copies`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Written by the host.
    pub host: u64,
    /// Overwritten in the drive's write cache before they were programmed.
    pub merged: u64,
    /// Programmed beside them because a write changes whole mapping units.
    pub rounding: u64,
    /// Programmed without data, in flash pages that were not full when they had to be programmed.
    pub padding: u64,
    /// Copied by collections, and by a map on flash.
    pub copies: u64,
    /// All that was programmed.
    pub programmed: u64,
}

impl Bytes {
    pub(crate) fn new(
        counters: &Counters,
        asked: &Asked,
        packing: Option<Packing>,
        unit: u32,
    ) -> Self {
        let all = Written::new(counters, *asked, packing).since(&Written::default(), unit);
        let bytes = |pages: u64| pages * u64::from(unit);
        Self {
            host: all.host_bytes,
            merged: asked.merged_bytes,
            rounding: asked.missing_bytes,
            padding: bytes(packing.map_or(0, |packing| packing.padding)),
            copies: bytes(counters.copied_pages),
            programmed: all.programmed_bytes,
        }
    }
}
