//! The shape of a drive: its blocks and its logical pages.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::spec::{SpecError, count};
use flashgc_drive::source::Source;
use flashgc_ftl::{FtlError, Geometry};

use crate::options::RunConfig;

/// Returns the number of superblocks in the configuration, rounded up to an equal number of blocks
/// on every plane, or the number in its capacity, rounded down. `planes` has the planes of the map:
/// those that a superblock joins count as one.
pub(crate) fn blocks(config: &RunConfig, planes: u32) -> Result<Option<u32>, SpecError> {
    let together = config.blocks_together();
    if together > 1 {
        check_superblocks(config, together, planes)?;
    }
    if let Some(blocks) = config.blocks {
        // If a plane would have fewer than two blocks, the number is not rounded: the drive refuses
        // it, and the error shows the number in the configuration.
        let all_planes = planes.saturating_mul(together);
        let rounded = blocks.checked_next_multiple_of(all_planes);
        let rounded = rounded.filter(|&all| all / all_planes > 1);
        return Ok(Some(rounded.map_or(blocks, |all| all / together)));
    }
    let Some(bytes) = config.capacity else { return Ok(None) };
    let block = u64::from(config.units_per_block()) * u64::from(config.unit());
    let each = bytes / (block * u64::from(planes)).max(1);
    if each == 0 {
        return Err(SpecError::new(
            format!(
                "{} is {bytes} bytes, expected at least one block of {block} bytes on each of {}",
                subject("capacity"),
                count(planes.into(), "plane")
            ),
            format!("use a larger capacity, or fewer {}", option("pages_per_block")),
        ));
    }
    u32::try_from(each * u64::from(planes)).map(Some).map_err(|_| {
        SpecError::new(
            format!(
                "{} is {bytes} bytes, more than 2^32 blocks of {block} bytes",
                subject("capacity")
            ),
            format!("use a smaller capacity, or more {}", option("pages_per_block")),
        )
    })
}

/// Checks that superblocks of `together` blocks are not too large, and that each of `dies` dies has
/// two.
fn check_superblocks(config: &RunConfig, together: u32, dies: u32) -> Result<(), SpecError> {
    let (units, most) = (config.units_per_block(), Geometry::MAX_PAGES_PER_BLOCK);
    if units > most {
        let pages = config.flash_pages_per_block();
        return Err(SpecError::new(
            format!(
                "{} is {pages}, which makes superblocks of {units} mapping units on {}, expected at most \
                 {most}",
                subject("pages_per_block"),
                count(together.into(), "plane")
            ),
            choice("pages_per_block", u64::from(pages) * u64::from(most) / u64::from(units)),
        ));
    }
    let least = 2 * u64::from(dies) * u64::from(together);
    // More than half of them are rounded up.
    match config.blocks.filter(|&blocks| u64::from(blocks) <= least / 2) {
        Some(blocks) => Err(SpecError::new(
            format!(
                "{} is {blocks}, expected at least {least}: two superblocks of {together} blocks on each of {}",
                subject("blocks"),
                count(dies.into(), "die")
            ),
            choice("blocks", least),
        )),
        None => Ok(()),
    }
}

/// Returns the error for a drive of unknown size.
pub(crate) fn no_blocks(config: &RunConfig, source: &dyn Source) -> SpecError {
    let missing = "the number of blocks is missing";
    let Some(given) = source.given() else {
        return SpecError::new(missing, format!("give {}", choice("blocks", 10_000)));
    };
    let (least, pages) = match given.recorded() {
        Some(pages) => ("", pages),
        None => ("at least ", given.least().into()),
    };
    let of = format!(
        "{missing}, and the pages of the trace keep the numbers that they have on a drive of {least}{}",
        count(pages, "logical page")
    );
    let hint = match smallest(pages, config.units_per_block(), config.spare) {
        Some(superblocks) => {
            let blocks = config.blocks_in(superblocks);
            format!("{} at spare factor {}", choice("blocks", blocks), config.spare)
        }
        None => format!("give {} and {} of that drive", option("blocks"), option("spare")),
    };
    SpecError::new(of, hint)
}

/// Returns the number of blocks of the smallest drive with `pages` logical pages; `None` if there
/// is none.
fn smallest(pages: u64, b: u32, spare: f64) -> Option<u32> {
    let has = |blocks| {
        Geometry::with_spare(blocks, b, spare)
            .is_ok_and(|drive| u64::from(drive.logical_pages()) >= pages)
    };
    let blocks = Geometry::for_logical_pages(pages, b, spare).ok()?.blocks();
    // The logical capacity is rounded to whole pages, so one block fewer may be enough.
    [blocks - 1, blocks].into_iter().find(|&blocks| has(blocks))
}

/// Returns the shape of a drive without a clock.
pub(crate) fn geometry(
    config: &RunConfig,
    blocks: Option<u32>,
    source: &dyn Source,
) -> Result<Geometry, FtlError> {
    let b = config.units_per_block();
    match (blocks, source.fixed_pages(b)) {
        (Some(blocks), None) => Ok(Geometry::with_spare(blocks, b, config.spare)?),
        (None, Some(pages)) if u64::from(pages) < 2 * u64::from(b) => Err(SpecError::new(
            format!(
                "the workload addresses {}, expected at least two blocks of {b} pages",
                count(pages.into(), "page")
            ),
            format!("fewer {}, or a workload with more pages", option("pages_per_block")),
        )
        .into()),
        (None, Some(pages)) => Ok(Geometry::for_logical_pages(pages.into(), b, config.spare)?),
        (Some(blocks), Some(pages)) => {
            let least = || Geometry::for_logical_pages(pages.into(), b, config.spare);
            let enough = || least().map(|least| least.blocks());
            with_room(config, blocks, pages, enough)
        }
        (None, None) => Err(no_blocks(config, source).into()),
    }
}

/// Returns the drive of `blocks` blocks with the spare factor of the configuration. The workload
/// addresses `pages` of its pages; `enough` returns the number of blocks that have room for them.
pub(crate) fn with_room<E: Into<FtlError>>(
    config: &RunConfig,
    blocks: u32,
    pages: u32,
    enough: impl Fn() -> Result<u32, E>,
) -> Result<Geometry, FtlError> {
    let geometry = Geometry::with_spare(blocks, config.units_per_block(), config.spare)?;
    if geometry.logical_pages() < pages {
        return Err(SpecError::new(
            format!(
                "{} {} gives {}, and the workload addresses {pages}",
                subject("blocks"),
                config.blocks_in(blocks),
                count(geometry.logical_pages().into(), "logical page")
            ),
            format!(
                "{}, or leave {} out",
                choice("blocks", config.blocks_in(enough().map_err(Into::into)?)),
                option("blocks")
            ),
        )
        .into());
    }
    Ok(geometry)
}
