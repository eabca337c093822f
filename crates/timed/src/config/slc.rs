//! The SLC region as people write it: `static:blocks=16,full=direct,after=100ms`.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, suggest};
use flashgc_ftl::{PlacementSpec, SlcBlocks, SlcRegion};

use super::notation::{Threshold, parts, time};

/// The idle time after which blocks are folded unless another is given.
const AFTER_NS: u64 = 100_000_000;

/// An SLC region on a drive of a known shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slc {
    /// The region of every plane.
    pub region: SlcRegion,
    /// The time to read a page of an SLC block.
    pub read_ns: u64,
    /// The time to program a page of an SLC block.
    pub program_ns: u64,
    /// The time to erase an SLC block.
    pub erase_ns: u64,
    /// The idle time after which a die folds.
    pub after_ns: u64,
}

/// The region as asked for, on a drive whose size is not yet known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlcPlan {
    is_dynamic: bool,
    /// The blocks in SLC mode or, if they are lent, those that stay erased.
    blocks: Threshold,
    /// The most blocks that are lent.
    most: Option<Threshold>,
    waits: bool,
    bits_per_cell: u32,
    times: [u64; 3],
    after_ns: u64,
}

/// Reads `read=25us,program=200us,erase=2ms`, the times of SLC cells.
///
/// # Errors
/// A missing or unknown operation, a time without its unit, one that takes no time or an hour.
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

/// Reads a region, without its times.
///
/// # Errors
/// Another kind of region, an unknown key, no number of blocks, a time without its unit.
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

/// Returns `true` if writes wait while the region is full.
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
    /// Reads a region and its times, on flash of `bits_per_cell` bits a cell. Returns `None` if no region
    /// is asked for.
    ///
    /// # Errors
    /// The errors of [`parse_slc`] and [`parse_times`]; a region without times, times without a region.
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

    /// Returns the region on planes of `blocks` blocks, of which collections leave `high` erased.
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

    /// Returns the number of a plane's `blocks` blocks that never hold data in normal mode.
    pub fn blocks_kept(&self, blocks: u32, placement: &PlacementSpec) -> u32 {
        self.on(blocks, 0).region.blocks_kept(placement)
    }
}
