//! A small drive that stands for a large one.
//!
//! Blocks that are open or kept erased do not become fewer on a smaller drive. If the drive has fewer
//! blocks, their share grows. So blocks are made smaller, or fewer of them are made, as changes write
//! amplification least. [`Split::change`] says by how much.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, count};
use flashgc_drive::source::Source;
use flashgc_ftl::Mapping;
use serde::{Deserialize, Serialize};

use crate::options::{NONE, RunConfig};
use crate::times::Times;

/// The largest change of write amplification that a scale may cause, by the estimate of
/// [`Split::change`].
const MOST_CHANGE: f64 = 0.01;

/// The large drive that a simulated drive stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaled {
    /// The share of it that is simulated: `1/64`.
    pub scale: String,
    /// Its bytes of flash.
    pub bytes: u64,
    /// Its blocks.
    pub blocks: u64,
    /// The pages of its blocks.
    pub pages_per_block: u32,
    /// The share by which write amplification may differ from that of the large drive, about.
    pub change: f64,
}

/// The parts of a large drive that matter for its scale.
pub(crate) struct Whole {
    /// The superblocks of the drive, which are blocks if blocks are on their own.
    pub superblocks: u32,
    /// The planes of the map. Each has as many superblocks.
    pub planes: u32,
    /// The superblocks of a plane that are open or kept erased, at most.
    pub kept: u32,
}

/// A way to scale a drive: the factors by which blocks become smaller and fewer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Split {
    pages: u32,
    blocks: u32,
}

/// The figures of a drive that decide how it is scaled.
#[derive(Clone, Copy, Debug)]
struct Shares {
    /// The mapping units of data of a superblock.
    units: f64,
    /// The superblocks of a plane.
    superblocks: f64,
    /// The superblocks of a plane that are open or kept erased.
    kept: f64,
    /// The spare factor.
    spare: f64,
    /// The pages of a block.
    pages: u32,
    /// The pages that are programmed together.
    together: u32,
}

impl Split {
    /// Returns the share by which this split changes the write amplification WA of a drive, about.
    ///
    /// Of n units a superblock, greedy collections with uniform writes have an amplification that is
    /// about 1/n of WA lower than that of the largest superblocks. Of S superblocks, x are out of play,
    /// which takes x/S of the spare factor s, and the amplification is about (1 + 1/s)/2. So the share is
    /// WA ((k - 1)/n + 2 x (m - 1)/S) for superblocks that are k times smaller and m times fewer.
    fn change(self, of: &Shares) -> f64 {
        let amplification = (1.0 + 1.0 / of.spare) / 2.0;
        let (smaller, fewer) = (f64::from(self.pages - 1), f64::from(self.blocks - 1));
        amplification * (smaller / of.units + 2.0 * of.kept * fewer / of.superblocks)
    }

    /// Returns the split of a drive into `parts` that changes its write amplification least. Blocks keep
    /// whole pages, or whole word lines. `None` if blocks can become neither smaller nor fewer.
    fn best(parts: u32, of: &Shares) -> Option<Self> {
        let splits = (1..=parts)
            .filter(|pages| parts.is_multiple_of(*pages))
            .map(|pages| Self { pages, blocks: parts / pages });
        let fits = |split: &Self| {
            of.pages.is_multiple_of(split.pages * of.together)
                && of.pages / split.pages > 1
                && of.superblocks / f64::from(split.blocks) > of.kept
        };
        splits.filter(fits).min_by(|a, b| a.change(of).total_cmp(&b.change(of)))
    }

    /// Returns the best split that changes write amplification by no more than [`MOST_CHANGE`].
    fn within(parts: u32, of: &Shares) -> Option<Self> {
        Self::best(parts, of).filter(|split| split.change(of) <= MOST_CHANGE)
    }
}

/// Returns the drive that is one of `parts` parts of the drive in `config`, and what it stands for.
///
/// # Errors
/// Fails if a part of the drive does not shrink with it, or if its write amplification would be another.
pub(crate) fn small(
    config: &RunConfig,
    parts: u32,
    whole: &Whole,
    source: &dyn Source,
) -> Result<(RunConfig, Scaled), SpecError> {
    refuse_sizes(config, source)?;
    let pages = config.flash_pages_per_block();
    let each = whole.superblocks / whole.planes;
    let shares = Shares {
        units: config.units_per_block().into(),
        superblocks: each.into(),
        kept: whole.kept.into(),
        spare: config.spare,
        pages,
        together: config.programs().pages,
    };
    let Some(split) = Split::within(parts, &shares) else {
        let what = match Split::best(parts, &shares) {
            Some(split) => format!(
                "would change write amplification by about {:.1}%, with {} of {} on each plane",
                100.0 * split.change(&shares),
                blocks(each / split.blocks, config),
                count((config.units_per_block() / split.pages).into(), "mapping unit")
            ),
            None => format!(
                "leaves no whole blocks of {} and {} on each plane",
                count(pages.into(), "page"),
                blocks(each, config)
            ),
        };
        let works = (2..parts).rev().filter(|other| other.is_power_of_two());
        let hint = works.into_iter().find(|&other| Split::within(other, &shares).is_some());
        return Err(SpecError::new(
            format!("{} 1/{parts} {what}; expected at most 1%", subject("scale")),
            match hint {
                Some(other) => choice("scale", format!("1/{other}")),
                None => format!("leave it out, or a larger {}", option("capacity")),
            },
        ));
    };
    let left = (f64::from(each) / f64::from(split.blocks)).round() as u32;
    let times = config.times.as_deref().map(Times::parse).transpose()?;
    let small = RunConfig {
        scale: RunConfig::default().scale,
        blocks: Some(left * whole.planes * config.blocks_together()),
        capacity: None,
        pages_per_block: Some(pages / split.pages),
        times: times.map(|times| times.with_blocks_smaller(split.pages).to_string()),
        ..config.clone()
    };
    let units = u64::from(whole.superblocks) * u64::from(config.units_with_parity());
    let scaled = Scaled {
        scale: format!("1/{parts}"),
        bytes: units * u64::from(config.unit()),
        blocks: config.blocks_in(whole.superblocks),
        pages_per_block: pages,
        change: split.change(&shares),
    };
    Ok((small, scaled))
}

fn blocks(number: u32, config: &RunConfig) -> String {
    count(number.into(), if config.blocks_together() > 1 { "superblock" } else { "block" })
}

/// Refuses what has a size, a number or a time of its own, which a scale would leave as it is.
fn refuse_sizes(config: &RunConfig, source: &dyn Source) -> Result<(), SpecError> {
    let given = || choice("scale", &config.scale);
    refuse_if!(
        source.pass().is_some() || source.fixed_pages(1).is_some(),
        "leave it out, or a generator",
        "{} does not go with {}: its addresses are those of a whole drive",
        given(),
        config.workload
    );
    let timed = config.timed.as_ref();
    let retries = timed.and_then(|timed| timed.read_retry.as_deref());
    let is_set = |text: &str| !text.starts_with('0');
    let cases = [
        (
            config.mapping != Mapping::default().to_string(),
            "mapping",
            "its parts have numbers and sizes of their own",
        ),
        (
            config.host.as_ref().is_some_and(|host| host.cache != NONE),
            "host_cache",
            "its size would stay as it is",
        ),
        (config.swap.is_some(), "vm_page_cache", "its size would stay as it is"),
        (config.streams.is_some(), "streams", "its addresses are those of a whole drive"),
        (config.endurance.is_some(), "endurance", "the weakest block of fewer fails later"),
        (
            timed.is_some_and(|timed| !timed.tenants.is_empty()),
            "tenant",
            "their parts of the drive may be sizes",
        ),
        (timed.is_some_and(|timed| timed.slc.is_some()), "slc", "its blocks would stay as many"),
        (
            timed.is_some_and(|timed| timed.idle.is_some()),
            "idle",
            "a pause would erase a larger share of the drive",
        ),
        (
            timed.is_some_and(|timed| timed.write_cache > 0),
            "write_cache",
            "its size would stay as it is",
        ),
        (
            timed.is_some_and(|timed| is_set(&timed.victim_search_time)),
            "victim_search_time",
            "a smaller block takes as long to find",
        ),
        (
            retries.is_some_and(|text| text.contains("after=")),
            "read_retry",
            "data of a smaller drive are overwritten sooner",
        ),
    ];
    for (is_given, key, why) in cases {
        refuse_if!(
            is_given,
            format!("leave out {} or {}", option(key), option("scale")),
            "{} does not go with {}: {why}",
            given(),
            option(key)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Superblocks of 64 blocks with 64 word lines of 3 pages, a 16th of them parity.
    const WIDE: Shares = Shares {
        units: 46_080.0,
        superblocks: 1024.0,
        kept: 4.0,
        spare: 0.15,
        pages: 192,
        together: 3,
    };

    #[test]
    fn few_large_superblocks_become_smaller_and_many_small_blocks_become_fewer() {
        assert_eq!(Split::best(64, &WIDE), Some(Split { pages: 64, blocks: 1 }));
        let many = Shares { units: 256.0, superblocks: 1_831_054.0, ..WIDE };
        let plenty = Shares { pages: 256, together: 1, ..many };
        assert_eq!(Split::best(64, &plenty), Some(Split { pages: 1, blocks: 64 }));
    }

    #[test]
    fn word_lines_stay_whole() {
        // 128 would halve the one word line, so there are half as many superblocks.
        assert_eq!(Split::best(128, &WIDE), Some(Split { pages: 64, blocks: 2 }));
        // 3 divides the pages of a block, and not its word lines; 11/3 superblocks are too few.
        assert_eq!(Split::best(3, &Shares { superblocks: 11.0, ..WIDE }), None);
    }

    #[test]
    fn the_change_is_that_of_the_closed_forms() {
        // By hand: (1 + 1/0.2)/2 = 3; 3 (3/1200 + 8/2000) = 0.0195.
        let shares = Shares { units: 1200.0, superblocks: 2000.0, kept: 4.0, spare: 0.2, ..WIDE };
        let change = Split { pages: 4, blocks: 2 }.change(&shares);
        assert!((change - 0.0195).abs() < 1e-12, "{change}");
        assert_eq!(Split { pages: 1, blocks: 1 }.change(&shares), 0.0);
    }
}
