//! The shape of a drive: its blocks and its logical pages.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, count};
use flashgc_drive::source::Source;
use flashgc_ftl::{FtlError, Geometry, Members};
use flashgc_timed::notation::{Threshold, time};
use flashgc_timed::words::{parse_preemption, parse_superblock, parse_unit};
use flashgc_timed::{Order, Placement, Preemption, Superblock, Unit};

use crate::options::{Programs, RunConfig, TimedConfig, parse_parity, parse_program};
use crate::times::Times;

/// Returns the number of superblocks in the configuration, rounded up to an equal number of blocks
/// on every plane, or the number in its capacity, rounded down. `planes` has the planes of the map:
/// those that a superblock joins count as one.
pub(crate) fn blocks(config: &RunConfig, planes: u32) -> Result<Option<u32>, SpecError> {
    let together = config.blocks_together();
    if together > 1 {
        check_size(config, together, planes)?;
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
    let block = u64::from(config.units_with_parity()) * u64::from(config.unit());
    let each_block = block / u64::from(together);
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
    let all = each.saturating_mul(planes.into());
    if all.saturating_mul(together.into()) > u64::from(u32::MAX) {
        return Err(SpecError::new(
            format!(
                "{} is {bytes} bytes, more than 2^32 blocks of {each_block} bytes",
                subject("capacity")
            ),
            format!("use a smaller capacity, or more {}", option("pages_per_block")),
        ));
    }
    Ok(Some(all as u32))
}

/// Checks that the flash has the members of a superblock, and that parity survives the loss of one
/// of them.
pub(crate) fn check_superblocks(config: &RunConfig) -> Result<(), SpecError> {
    let superblock = parse_superblock(&config.superblock)?;
    let given = || format!("{} {}", subject("superblock"), config.superblock);
    match &config.timed {
        None if !matches!(superblock, Superblock::Plane | Superblock::Of { .. }) => {
            return Err(SpecError::new(
                format!("{} needs a clock: a drive without one has no dies and channels", given()),
                format!(
                    "{}, or {}",
                    choice("superblock", "dies=16,planes=4"),
                    choice("kind", "timed")
                ),
            ));
        }
        Some(timed) => {
            let (dies, planes) = config.members();
            let all = timed.channels.saturating_mul(timed.ways).saturating_mul(timed.dies);
            let whole = |dies: u32| match dies {
                0 | 1 => choice("superblock", "die"),
                dies => choice("superblock", format!("dies={dies},planes={}", timed.planes)),
            };
            refuse_if!(
                !all.is_multiple_of(dies),
                whole(all),
                "{} joins {}, and the drive has {all}: expected a divisor",
                given(),
                count(dies.into(), "die")
            );
            refuse_if!(
                planes != timed.planes && (planes > 1 || dies > 1),
                format!("{}, or {}", whole(dies), choice("planes", planes)),
                "{} joins {} of a die, which has {}: one operation works on all planes of a die, or on \
                 one",
                given(),
                count(planes.into(), "plane"),
                timed.planes
            );
            if dies > 1 {
                check_wide(config, timed)?;
            }
        }
        None => {}
    }
    check_programs(config)?;
    let pages = config.flash_pages_per_block();
    refuse_if!(
        config.blocks_together() > 1 && pages < 2,
        choice("pages_per_block", 64),
        "{} is {pages}, expected at least 2",
        subject("pages_per_block")
    );
    let Some(parts) = parse_parity(&config.parity)? else { return Ok(()) };
    let blocks = config.blocks_together();
    refuse_if!(
        blocks > 1 && config.members().0 == 1,
        choice("superblock", format!("dies={parts},planes=1")),
        "{} {} does not go with {}: its blocks lie on one die, which fails as a whole",
        subject("parity"),
        config.parity,
        given()
    );
    refuse_if!(
        !blocks.is_multiple_of(parts),
        choice("superblock", format!("dies={parts},planes=1")),
        "{} {} does not go with superblocks of {}: whole blocks are parity, as data and parity in one \
         block are lost together",
        subject("parity"),
        config.parity,
        count(blocks.into(), "block")
    );
    let Members { dies, stripe, planes } = config.dies_together();
    refuse_if!(
        stripe == Some(1),
        choice("parity", format!("1/{blocks}")),
        "{} {} does not go with {}: a stripe would have {} of one die, which fails as a whole",
        subject("parity"),
        config.parity,
        given(),
        count(planes.into(), "plane")
    );
    debug_assert!(stripe.is_none_or(|of_stripe| dies.is_multiple_of(of_stripe)));
    Ok(())
}

/// Refuses what superblocks over several dies do not go with on a drive with a clock.
fn check_wide(config: &RunConfig, timed: &TimedConfig) -> Result<(), SpecError> {
    let defaults = TimedConfig::default();
    let (preemption, ..) = parse_preemption(&timed.preemption)?;
    let shares = matches!(preemption, Preemption::Semi { merge, pipeline } if merge || pipeline);
    let in_flight = "the pages of a superblock are copied many at a time, by all its dies";
    let order = Placement::parse(&timed.striping)?;
    let hard = Threshold::parse("gc_hard", &timed.gc_hard)?.blocks(1, 1000);
    let pairs = [
        (
            order != Placement::Static(Order::CWDP),
            "striping",
            &timed.striping,
            defaults.striping.as_str(),
            "its programs go to its dies in turn",
        ),
        (shares, "preemption", &timed.preemption, "pgc", in_flight),
        (
            parse_unit(&timed.gc_domain)? != Unit::Plane,
            "gc_domain",
            &timed.gc_domain,
            "plane",
            "its dies collect together, and are the domain",
        ),
        (
            hard > 0,
            "gc_hard",
            &timed.gc_hard,
            defaults.gc_hard.as_str(),
            "the states below the hard threshold are those of a die that collects on its own",
        ),
        (
            time("victim_search_time", &timed.victim_search_time)? > 0,
            "victim_search_time",
            &timed.victim_search_time,
            defaults.victim_search_time.as_str(),
            "a search holds a die, and its dies work meanwhile",
        ),
        (
            time("preemption_poll_time", &timed.preemption_poll_time)? > 0,
            "preemption_poll_time",
            &timed.preemption_poll_time,
            defaults.preemption_poll_time.as_str(),
            in_flight,
        ),
    ];
    let given = || format!("{} {}", subject("superblock"), config.superblock);
    for (is_given, key, value, other, reason) in pairs {
        refuse_if!(
            is_given,
            format!("{}, or {}", choice(key, other), choice("superblock", "die")),
            "{} does not go with {} {value}: {reason}",
            given(),
            option(key)
        );
    }
    for (is_given, key, reason) in [
        (timed.slc.is_some(), "slc", "a fold stays inside its die"),
        (timed.idle.is_some(), "idle", "one die that rests cannot collect for the others"),
    ] {
        refuse_if!(
            is_given,
            format!("{}, or leave {} out", choice("superblock", "die"), option(key)),
            "{} does not go with {}: {reason}",
            given(),
            option(key)
        );
    }
    for (is_given, key, reason) in [
        (timed.copy_back, "copy_back", "its copies go to other dies, over the bus"),
        (timed.gc_holds_domain, "gc_holds_domain", "all its dies work in a collection"),
        (timed.multi_plane, "multi_plane", "the planes of a superblock work together always"),
    ] {
        refuse_if!(
            is_given,
            format!("{}, or {}", choice(key, "no"), choice("superblock", "die")),
            "{} does not go with {} yes: {reason}",
            given(),
            option(key)
        );
    }
    Ok(())
}

/// Refuses stripes with several planes of each die, as a stored drive rebuilds dies that are lost.
pub(crate) fn check_stripes(config: &RunConfig) -> Result<(), SpecError> {
    let Members { dies, planes, .. } = config.dies_together();
    refuse_if!(
        planes > 1,
        choice("parity", format!("1/{dies}")),
        "{} {} does not go with superblocks over {} on a stored drive: a die can be lost there as a whole, \
         and a stripe would lose {} with it, of which its parity gives one back",
        subject("parity"),
        config.parity,
        count(dies.into(), "die"),
        count(planes.into(), "plane")
    );
    Ok(())
}

/// Checks that blocks have whole word lines, and that a word line has a program time for each pass.
fn check_programs(config: &RunConfig) -> Result<(), SpecError> {
    let Programs { pages, has_two_passes } = parse_program(&config.program)?;
    let block = config.flash_pages_per_block();
    let given = || format!("{} {}", subject("program"), config.program);
    refuse_if!(
        !block.is_multiple_of(pages),
        choice("pages_per_block", (block / pages * pages).max(pages)),
        "{} programs {pages} pages together, expected a divisor of {} {block}",
        given(),
        option("pages_per_block")
    );
    let times = config.times.as_deref().map(Times::parse).transpose()?;
    refuse_if!(
        pages > 1 && times.is_some_and(|times| times.program.kinds() > 1),
        "one program time, of all these pages together",
        "{} programs the pages of a word line together, and {} gives each its own program time",
        given(),
        option("times")
    );
    let Members { dies, planes, .. } = config.dies_together();
    refuse_if!(
        has_two_passes && planes > 1,
        format!("{}, or {}", choice("parity", format!("1/{dies}")), choice("program", "one-shot")),
        "{} does not go with {} {}: the second pass of data waits for other word lines than that of \
         parity, and here a program would have both",
        given(),
        option("parity"),
        config.parity
    );
    if let Some(times) = times {
        refuse_if!(
            has_two_passes && times.second.is_none(),
            "program=600us+1.6ms, for example",
            "{} needs the time of each pass in {}, found one time of a program",
            given(),
            option("times")
        );
        refuse_if!(
            !has_two_passes && times.second.is_some(),
            format!("{}, or one time of a program", choice("program", "two-pass")),
            "{} has the times of two passes, and {} programs in one",
            subject("times"),
            option("program")
        );
    }
    Ok(())
}

/// Checks that superblocks of `together` blocks are not too large, and that each of `planes` planes
/// of the map has two.
fn check_size(config: &RunConfig, together: u32, planes: u32) -> Result<(), SpecError> {
    let pages = u64::from(config.flash_pages_per_block());
    let of_page = u64::from(config.unit_count()) * u64::from(together);
    let (units, most) = (pages * of_page, u64::from(Geometry::MAX_PAGES_PER_BLOCK));
    if units > most {
        return Err(SpecError::new(
            format!(
                "{} is {pages}, which makes superblocks of {units} mapping units in {}, expected at most \
                 {most}",
                subject("pages_per_block"),
                count(together.into(), "block")
            ),
            match most / of_page {
                pages @ 2.. => choice("pages_per_block", pages),
                _ => format!("a smaller {}", option("superblock")),
            },
        ));
    }
    let least = 2 * u64::from(planes) * u64::from(together);
    // More than half of them are rounded up.
    match config.blocks.filter(|&blocks| u64::from(blocks) <= least / 2) {
        Some(blocks) => Err(SpecError::new(
            format!(
                "{} is {blocks}, expected at least {least}: two superblocks of {together} blocks{}",
                subject("blocks"),
                match (planes, config.members().0) {
                    (1, _) => String::new(),
                    (dies, 1) => format!(" on each of {dies} dies"),
                    (groups, dies) => format!(" on each of {groups} groups of {dies} dies"),
                }
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

/// Refuses a drive with more pages than page numbers can name. A part of it can be simulated.
pub(crate) fn check_page_numbers(config: &RunConfig, blocks: u32) -> Result<(), SpecError> {
    let b = config.units_per_block();
    refuse_if!(
        (2..=Geometry::MAX_PAGES_PER_BLOCK).contains(&b) && blocks > Geometry::most_blocks(b),
        choice("scale", "1/64"),
        "the drive has {} of {b} mapping units, expected {} at most, because page numbers have 32 \
         bits",
        count(blocks.into(), if config.blocks_together() > 1 { "superblock" } else { "block" }),
        Geometry::most_blocks(b)
    );
    Ok(())
}

/// Returns the shape of a drive without a clock.
pub(crate) fn geometry(
    config: &RunConfig,
    blocks: Option<u32>,
    source: &dyn Source,
) -> Result<Geometry, FtlError> {
    let b = config.units_per_block();
    match (blocks, source.fixed_pages(b)) {
        (Some(blocks), None) => {
            check_page_numbers(config, blocks)?;
            Ok(Geometry::with_spare(blocks, b, config.spare)?)
        }
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
