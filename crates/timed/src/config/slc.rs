//! The notation of the SLC region: `static:blocks=16,full=direct,after=100ms`, or both kinds of blocks,
//! `static:blocks=4+dynamic:keep=5%,most=10%`.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, suggest};
use flashgc_ftl::{Lending, PlacementSpec, SlcBlocks, SlcRegion};

use super::notation::{Threshold, parts, time};

/// The default of the idle time after which a die folds, in nanoseconds.
const AFTER_NS: u64 = 100_000_000;

/// The default of the number of folded pages for each page of the host.
const PACE: f64 = 1.0;

/// The words for the rules.
const FULL: [&str; 3] = ["direct", "fold", "both"];

/// The rule for writes while the region is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenFull {
    /// They go to normal blocks.
    Direct,
    /// They wait until a block is folded.
    Fold,
    /// They go to normal blocks, and a fold goes on between them.
    Both,
}

/// An SLC region on a drive whose size is known.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// The number of pages that a fold copies for each page of the host on its die. `None` if
    /// folds go on as other collections do, and none begins beside writes to normal blocks.
    pub pace: Option<f64>,
}

/// The settings of an SLC region, on a drive whose size is not known yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlcPlan {
    /// The number of blocks of the static part; `None` without one.
    set_aside: Option<Threshold>,
    /// The dynamic part, which borrows blocks of the pool; `None` without one.
    lending: Option<LendingPlan>,
    full: WhenFull,
    pace: Option<f64>,
    bits_per_cell: u32,
    times: [u64; 3],
    after_ns: u64,
}

/// The rule of a dynamic part, on a drive whose size is not known yet.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LendingPlan {
    /// The number of erased blocks that stay in the pool.
    keep: Threshold,
    /// The largest number of blocks that are borrowed; `None` for any number.
    most: Option<Threshold>,
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
/// The kind of a part or a key is unknown, a part or a key is given twice, the number of blocks is
/// missing, or a time has no unit.
pub fn parse_slc(text: &str) -> Result<SlcPlan, SpecError> {
    let mut plan = SlcPlan {
        set_aside: None,
        lending: None,
        full: WhenFull::Direct,
        pace: None,
        bits_per_cell: 0,
        times: [0; 3],
        after_ns: AFTER_NS,
    };
    let mut said = Vec::new();
    for part in text.split('+') {
        plan.take_part(text, part.trim(), &mut said)?;
    }
    refuse_if!(
        plan.pace.is_some() && plan.full != WhenFull::Both,
        "full=both, or leave pace out",
        "slc: pace in '{text}' only applies with full=both: no other write goes beside a fold by this rule"
    );
    Ok(plan)
}

impl WhenFull {
    fn parse(word: &str) -> Result<Self, SpecError> {
        match word {
            "direct" => Ok(Self::Direct),
            "fold" => Ok(Self::Fold),
            "both" => Ok(Self::Both),
            _ => Err(SpecError::new(
                format!("slc: found full={word}, expected direct, fold or both"),
                suggest(word, FULL),
            )),
        }
    }
}

/// Reads the value of `pace`.
fn pace(text: &str) -> Result<f64, SpecError> {
    match text.parse() {
        Ok(pace) if (0.01..=1000.0).contains(&pace) => Ok(pace),
        _ => Err(SpecError::new(
            format!(
                "slc: found pace={text}, expected 0.01 to 1000 folded pages for each page of the host"
            ),
            "write pace=1",
        )),
    }
}

impl SlcPlan {
    /// Takes `part` of `text`, the static or the dynamic blocks. A key that says something about the
    /// whole region may be in either part; `said` has those of the parts before.
    fn take_part<'a>(
        &mut self,
        text: &str,
        part: &'a str,
        said: &mut Vec<&'a str>,
    ) -> Result<(), SpecError> {
        let (kind, rest) = part.split_once(':').unwrap_or((part, ""));
        let (known, is_given): (&[&str], bool) = match kind.trim() {
            "static" => (&["blocks", "full", "pace", "after"], self.set_aside.is_some()),
            "dynamic" => (&["keep", "most", "full", "pace", "after"], self.lending.is_some()),
            other => {
                return Err(SpecError::new(
                    format!("slc: found '{other}', expected static or dynamic"),
                    suggest(other, ["static", "dynamic"]),
                ));
            }
        };
        refuse_if!(
            is_given,
            "one static part and one dynamic part, as static:blocks=4+dynamic:keep=5%",
            "slc: '{}' is given twice in '{text}'",
            kind.trim()
        );
        let given = match rest.trim() {
            "" => Vec::new(),
            rest => parts("slc", rest, known[0], known)?,
        };
        let mut keep = Threshold::Blocks(0);
        let mut most = None;
        for (key, value) in given {
            match key {
                "blocks" => self.set_aside = Some(Threshold::parse(key, value)?),
                "keep" => keep = Threshold::parse(key, value)?,
                "most" => most = Some(Threshold::parse(key, value)?),
                _ => {
                    refuse_if!(said.contains(&key), "", "slc: '{key}' is given twice in '{text}'");
                    said.push(key);
                    match key {
                        "full" => self.full = WhenFull::parse(value)?,
                        "pace" => self.pace = Some(pace(value)?),
                        _ => self.after_ns = time(key, value)?,
                    }
                }
            }
        }
        if kind.trim() == "dynamic" {
            self.lending = Some(LendingPlan { keep, most });
            return Ok(());
        }
        refuse_if!(
            self.set_aside.is_none(),
            "write static:blocks=16 or static:blocks=5%",
            "slc: 'blocks' is missing in '{part}'"
        );
        Ok(())
    }

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
        let [read_ns, program_ns, erase_ns] = self.times;
        let lending = self.lending.map(|LendingPlan { keep, most }| Lending {
            keep: keep.blocks(1, blocks).max(high),
            most: most.map_or(u32::MAX, |most| most.blocks(1, blocks)),
        });
        let set_aside = self.set_aside.map_or(0, |count| count.blocks(1, blocks));
        let region = SlcRegion {
            blocks: SlcBlocks { set_aside, lending },
            bits_per_cell: self.bits_per_cell,
            waits: self.full == WhenFull::Fold,
        };
        let pace = self.pace.unwrap_or(PACE);
        let pace = (self.full == WhenFull::Both).then_some(pace);
        Slc { region, read_ns, program_ns, erase_ns, after_ns: self.after_ns, pace }
    }

    /// Checks that a static part has a block on planes of `blocks` blocks.
    ///
    /// # Errors
    /// Its share of them is less than half a block.
    pub fn check(&self, blocks: u32) -> Result<(), SpecError> {
        refuse_if!(
            self.set_aside.is_some_and(|count| count.blocks(1, blocks) == 0),
            format!("more blocks, or leave {} out", option("slc")),
            "{} has no static block in a plane of {blocks} blocks",
            subject("slc")
        );
        Ok(())
    }

    /// Returns how many of a plane's `blocks` blocks never hold host data in normal mode, beyond
    /// those of a drive without a region.
    pub fn blocks_kept(&self, blocks: u32, placement: &PlacementSpec) -> u32 {
        self.on(blocks, 0).region.blocks_kept(placement)
    }
}
