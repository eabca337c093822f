//! The notation of the SLC region: `static:blocks=16,full=direct,after=100ms`.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, suggest};
use flashgc_ftl::{PlacementSpec, SlcBlocks, SlcRegion};

use super::notation::{Threshold, parts, time};

/// The default of the idle time after which a die folds, in nanoseconds.
const AFTER_NS: u64 = 100_000_000;

/// An SLC region on a drive whose size is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slc {
    /// The region of every plane.
    pub region: SlcRegion,
    /// The time to read a page of an SLC block, in nanoseconds.
    pub read_ns: u64,
    /// The time to program a page of an SLC block, in nanoseconds.
    pub program_ns: u64,
    /// The time to erase an SLC block, in nanoseconds.
    pub erase_ns: u64,
    /// The idle time after which a die folds, in nanoseconds.
    pub after_ns: u64,
}

/// The settings of an SLC region, on a drive whose size is not known yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlcPlan {
    is_dynamic: bool,
    /// In a static region, the number of its blocks. In a dynamic region, which borrows blocks of
    /// the pool, the number of erased blocks that stay in the pool.
    blocks: Threshold,
    /// The largest number of blocks that a dynamic region borrows.
    most: Option<Threshold>,
    waits: bool,
    bits_per_cell: u32,
    times: [u64; 3],
    after_ns: u64,
}

/// Reads `read=25us,program=200us,erase=2ms`, the times of SLC blocks. Returns them in nanoseconds.
///
/// # Errors
/// An operation is missing or unknown, or a time has no unit, is 0 or is above an hour.
pub fn parse_times(text: &str) -> Result<[u64; 3], SpecError> {
    let hint = "write read=25us,program=200us,erase=2ms";
    let known = ["read", "program", "erase"];
    let entries = parts("slc_times", text, "read", &known)?;
    refuse_if!(
        entries.len() < known.len(),
        hint,
        "slc_times: found '{text}', expected the times of read, program and erase"
    );
    let mut times = [0; 3];
    for (key, value) in entries {
        let place = known.iter().position(|&name| name == key).expect("a known key");
        times[place] = time(key, value)?;
    }
    const HOUR: u64 = 3_600_000_000_000;
    match times.iter().find(|&&time| time == 0 || time > HOUR) {
        None => Ok(times),
        Some(time) => Err(SpecError::new(
            format!("slc_times: found {time} ns, expected 1 ns to an hour"),
            hint,
        )),
    }
}

/// Reads the settings of a region, without its times.
///
/// # Errors
/// The kind of region or a key is unknown, the number of blocks is missing, or a time has no unit.
pub fn parse_slc(text: &str) -> Result<SlcPlan, SpecError> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let is_dynamic = match kind.trim() {
        "static" => false,
        "dynamic" => true,
        other => {
            return Err(SpecError::new(
                format!("slc: found '{other}', expected static or dynamic"),
                suggest(other, ["static", "dynamic"]),
            ));
        }
    };
    let known: &[&str] =
        if is_dynamic { &["keep", "most", "full", "after"] } else { &["blocks", "full", "after"] };
    let given = match rest.trim() {
        "" => Vec::new(),
        rest => parts("slc", rest, known[0], known)?,
    };
    let mut plan = SlcPlan {
        is_dynamic,
        blocks: Threshold::Blocks(0),
        most: None,
        waits: false,
        bits_per_cell: 0,
        times: [0; 3],
        after_ns: AFTER_NS,
    };
    refuse_if!(
        !is_dynamic && given.iter().all(|&(key, _)| key != "blocks"),
        "write static:blocks=16 or static:blocks=5%",
        "slc: 'blocks' is missing in '{text}'"
    );
    for (key, value) in given {
        match key {
            "full" => plan.waits = waits(value)?,
            "after" => plan.after_ns = time(key, value)?,
            "most" => plan.most = Some(Threshold::parse(key, value)?),
            _ => plan.blocks = Threshold::parse(key, value)?,
        }
    }
    Ok(plan)
}

/// Reads the value of `full`. Returns `true` if writes wait while the region is full.
fn waits(word: &str) -> Result<bool, SpecError> {
    match word {
        "direct" => Ok(false),
        "fold" => Ok(true),
        _ => Err(SpecError::new(
            format!("slc: found full={word}, expected direct or fold"),
            suggest(word, ["direct", "fold"]),
        )),
    }
}

impl SlcPlan {
    /// Reads the settings of a region and its times, for flash of `bits_per_cell` bits a cell.
    /// Returns `None` if neither is given.
    ///
    /// # Errors
    /// The errors of [`parse_slc`] and [`parse_times`]; or only one of region and times is given.
    pub fn parse(
        region: Option<&str>,
        times: Option<&str>,
        bits_per_cell: u32,
    ) -> Result<Option<Self>, SpecError> {
        let Some(region) = region else {
            return match times {
                Some(_) => Err(SpecError::new(
                    format!("{} only applies with {}", subject("slc_times"), option("slc")),
                    format!(
                        "{}, or leave {} out",
                        choice("slc", "static:blocks=5%"),
                        option("slc_times")
                    ),
                )),
                None => Ok(None),
            };
        };
        let plan = parse_slc(region)?;
        let times = times.ok_or_else(|| {
            SpecError::new(
                format!("{} needs the times of its cells", subject("slc")),
                choice("slc_times", "read=25us,program=200us,erase=2ms"),
            )
        })?;
        Ok(Some(Self { times: parse_times(times)?, bits_per_cell, ..plan }))
    }

    /// Returns the region for planes of `blocks` blocks. Collections stop above `high` erased
    /// blocks.
    pub fn on(&self, blocks: u32, high: u32) -> Slc {
        let count = self.blocks.blocks(1, blocks);
        let [read_ns, program_ns, erase_ns] = self.times;
        let region = SlcRegion {
            blocks: match self.is_dynamic {
                true => SlcBlocks::Dynamic {
                    keep: count.max(high),
                    most: self.most.map_or(u32::MAX, |most| most.blocks(1, blocks)),
                },
                false => SlcBlocks::Static(count),
            },
            bits_per_cell: self.bits_per_cell,
            waits: self.waits,
        };
        Slc { region, read_ns, program_ns, erase_ns, after_ns: self.after_ns }
    }

    /// Returns how many of a plane's `blocks` blocks never hold host data in normal mode, beyond
    /// those of a drive without a region.
    pub fn blocks_kept(&self, blocks: u32, placement: &PlacementSpec) -> u32 {
        self.on(blocks, 0).region.blocks_kept(placement)
    }
}
