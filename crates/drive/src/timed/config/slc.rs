//! The SLC region as people write it: `static:blocks=16,full=direct,after=100ms`.

use flashgc_base::spec::{SpecError, suggest};
use flashgc_ftl::{SlcBlocks, SlcRegion};

use super::words::{Threshold, parts, time};
use crate::options::TimedConfig;

/// Idle time after which blocks are folded, where none is given.
const AFTER_NS: u64 = 100_000_000;

/// An SLC region on a drive of a known shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slc {
    /// The region of every plane.
    pub region: SlcRegion,
    /// Reading a page of an SLC block.
    pub read_ns: u64,
    /// Programming one.
    pub program_ns: u64,
    /// Erasing an SLC block.
    pub erase_ns: u64,
    /// A die folds after it has been idle for so long.
    pub after_ns: u64,
}

/// The region as asked for, on a drive whose size is not yet known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlcPlan {
    is_dynamic: bool,
    /// Blocks in SLC mode; or, where they are lent, those that stay erased.
    blocks: Threshold,
    waits: bool,
    bits_per_cell: u32,
    times: [u64; 3],
    pub(super) after_ns: u64,
}

/// Reads the region that `config` asks for, if it does.
///
/// # Errors
/// Options that are wrong, or that make no sense without a region.
pub(super) fn plan(config: &TimedConfig) -> Result<Option<SlcPlan>, SpecError> {
    let Some(text) = &config.slc else {
        return match &config.slc_times {
            Some(_) => Err(SpecError::new(
                "slc_times only applies to a drive with an SLC region",
                "--slc static:blocks=16, or leave --slc-times out",
            )),
            None => Ok(None),
        };
    };
    let (is_dynamic, blocks, waits, after_ns) = parse_slc(text)?;
    let times = config.slc_times.as_ref().ok_or_else(|| {
        SpecError::new(
            "an SLC region needs the times of its cells",
            "--slc-times read=25us,program=200us,erase=2ms",
        )
    })?;
    let times = parse_times(times)?;
    let bits_per_cell = config.bits_per_cell;
    Ok(Some(SlcPlan { is_dynamic, blocks, waits, bits_per_cell, times, after_ns }))
}

/// Reads `read=25us,program=200us,erase=2ms`, the times of SLC cells.
///
/// # Errors
/// A missing or unknown operation, a time without its unit, one that takes no time or an hour.
pub fn parse_times(text: &str) -> Result<[u64; 3], SpecError> {
    let hint = "write read=25us,program=200us,erase=2ms";
    let known = ["read", "program", "erase"];
    let found = parts("slc_times", text, "read", &known)?;
    if found.len() < known.len() {
        return Err(SpecError::new(
            format!("slc_times: found '{text}', expected the times of read, program and erase"),
            hint,
        ));
    }
    let mut times = [0; 3];
    for (key, value) in found {
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

/// Reads a region: whether its blocks are lent, how many there are or stay erased, whether writes wait
/// while it is full, and the idle time before folds.
///
/// # Errors
/// Another kind of region, an unknown key, no number of blocks, a time without its unit.
pub fn parse_slc(text: &str) -> Result<(bool, Threshold, bool, u64), SpecError> {
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
    let first = if is_dynamic { "keep" } else { "blocks" };
    let (mut blocks, mut waits, mut after_ns) = (None, false, AFTER_NS);
    let known = [first, "full", "after"];
    let found =
        if rest.trim().is_empty() { Vec::new() } else { parts("slc", rest, first, &known)? };
    for (key, value) in found {
        match key {
            "full" => {
                waits = match value {
                    "direct" => false,
                    "fold" => true,
                    _ => {
                        return Err(SpecError::new(
                            format!("slc: found full={value}, expected direct or fold"),
                            suggest(value, ["direct", "fold"]),
                        ));
                    }
                }
            }
            "after" => after_ns = time(key, value)?,
            _ => blocks = Some(Threshold::parse(key, value)?),
        }
    }
    let blocks = match blocks {
        Some(blocks) => blocks,
        None if is_dynamic => Threshold::Blocks(0),
        None => {
            return Err(SpecError::new(
                format!("slc: 'blocks' is missing in '{text}'"),
                "write static:blocks=16 or static:blocks=5%",
            ));
        }
    };
    Ok((is_dynamic, blocks, waits, after_ns))
}

impl SlcPlan {
    /// The region on planes of `blocks` blocks, of which collections leave `high` erased.
    pub(super) fn on(&self, blocks: u32, high: u32) -> Slc {
        let count = self.blocks.blocks(1, blocks);
        let [read_ns, program_ns, erase_ns] = self.times;
        let region = SlcRegion {
            blocks: match self.is_dynamic {
                true => SlcBlocks::Dynamic(count.max(high)),
                false => SlcBlocks::Static(count),
            },
            bits_per_cell: self.bits_per_cell,
            waits: self.waits,
        };
        Slc { region, read_ns, program_ns, erase_ns, after_ns: self.after_ns }
    }

    /// Blocks of a plane of `blocks` blocks that never hold data in normal mode.
    pub(super) fn blocks_kept(&self, blocks: u32) -> u32 {
        self.on(blocks, 0).region.blocks_kept()
    }
}
