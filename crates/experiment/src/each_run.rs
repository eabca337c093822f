//! The figures of a result that are kept for each run, and write amplification in pages.

use std::collections::BTreeMap;

use flashgc_base::described::Described;
use flashgc_ftl::Counters;
use serde::{Deserialize, Deserializer, Serialize};

use crate::bytes::Bytes;
use crate::finished::Finished;

/// Returns NaN, the value of a figure that a document lacks.
pub(crate) fn nan() -> f64 {
    f64::NAN
}

/// Reads a number of a document. `null` stands for NaN.
pub(crate) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// The figures of each run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Described)]
pub struct EachRun {
    /// The write amplification of each run that reached its measured part.
    pub run_values: Vec<f64>,
    /// Other figures of each run, by their names in tables: `erases`, `read_p99_us`,
    /// `requests_per_second`. Empty if there is one run.
    #[serde(default)]
    pub by_run: BTreeMap<String, Vec<f64>>,
}

impl EachRun {
    /// Returns the write amplifications of the runs, and their counts.
    pub(crate) fn new(run_values: Vec<f64>, runs: &[Finished]) -> Self {
        let each = |of: fn(&Counters) -> u64| {
            runs.iter().map(|run| of(&run.counted.counters) as f64).collect::<Vec<_>>()
        };
        let by_run = match runs.len() {
            0 | 1 => BTreeMap::new(),
            _ => BTreeMap::from([
                ("collected_blocks".into(), each(|counters| counters.collections)),
                ("copied_pages".into(), each(|counters| counters.copied_pages)),
                ("erases".into(), each(|counters| counters.erases)),
            ]),
        };
        Self { run_values, by_run }
    }
}

/// Write amplification in mapping units, the way papers define it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct InPages {
    /// The mapping units programmed per mapping unit that the host wrote. A unit that the host
    /// wrote in part counts as one. NaN if the host wrote nothing.
    #[serde(default = "nan", deserialize_with = "number")]
    pub page_amplification: f64,
    /// Half the width of its 95% interval; `None` if that of write amplification is not known.
    #[serde(default)]
    pub page_amplification_ci95: Option<f64>,
    /// Write amplification with the programs of parity; `None` without parity. `write_amplification`
    /// counts data alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification_with_parity: Option<f64>,
}

impl InPages {
    /// Converts write amplification and half its interval from bytes to mapping units.
    /// `stripe` has the number of parts of a stripe, one of which is parity. Parity covers the pages that
    /// superblocks have lost, too: their share is `skipped` of the pages programmed.
    pub(crate) fn new(
        amplification: f64,
        half: Option<f64>,
        bytes: &Bytes,
        stripe: Option<u32>,
        skipped: f64,
    ) -> Self {
        let with_parity =
            |parts: u32| amplification * (f64::from(parts) + skipped) / f64::from(parts - 1);
        let units = bytes.host.saturating_sub(bytes.merged) + bytes.rounding;
        let in_units = |figure: f64| figure * bytes.host as f64 / units as f64;
        Self {
            page_amplification: in_units(amplification),
            page_amplification_ci95: half.map(in_units),
            write_amplification_with_parity: stripe.map(with_parity),
        }
    }
}
