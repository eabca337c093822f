//! Checks of mapping units: the page buffer that gathers them in flash pages, and requests that are
//! cut into them.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::spec::SpecError;
use flashgc_drive::source::Source;
use flashgc_ftl::{Geometry, Mapping, PageBuffer, PlacementSpec};
use flashgc_timed::Preemption;
use flashgc_timed::words::parse_preemption;

use crate::options::{NONE, RunConfig};

/// Returns a number of bytes as a text with its unit.
fn bytes(number: u32) -> String {
    match number.is_multiple_of(1024) {
        true => format!("{}KiB", number / 1024),
        false => format!("{number}B"),
    }
}

/// Checks that the page buffer fits the rest of the drive.
pub(crate) fn check_buffer(
    config: &RunConfig,
    buffer: PageBuffer,
    mapping: &Mapping,
    placement: &PlacementSpec,
) -> Result<(), SpecError> {
    let timed = config.timed.as_ref();
    let smaller = choice("mapping_unit", bytes((config.page_size / 2).max(1)));
    let is_smaller = format!("{} below {}", option("mapping_unit"), option("page_size"));
    if !buffer.gathers() {
        if timed.is_some_and(|timed| timed.flush_after.is_some()) {
            return Err(SpecError::new(
                format!(
                    "{} needs {is_smaller}: otherwise no page waits for others",
                    subject("flush_after")
                ),
                format!("{smaller}, or leave {} out", option("flush_after")),
            ));
        }
        let has_cache = timed.is_some_and(|timed| timed.write_cache > 0);
        return match buffer.is_protected || has_cache {
            true => Ok(()),
            false => Err(SpecError::new(
                format!(
                    "{} no needs {is_smaller}, or the {} of a drive with a clock: otherwise no data wait in \
                     the drive",
                    subject("power_protection"),
                    option("write_cache")
                ),
                format!("{smaller}, or {}", choice("power_protection", "yes")),
            )),
        };
    }
    // Superblocks and one-shot programs gather units even if a unit is a flash page.
    let is_whole = config.unit() == config.page_size;
    let joins = is_whole && config.members().1 > 1;
    let (unit, whole) = match (joins, is_whole) {
        (true, _) => (
            format!("{} {}", subject("superblock"), config.superblock),
            choice("superblock", "plane"),
        ),
        (false, true) => {
            (format!("{} {}", subject("program"), config.program), choice("program", "page"))
        }
        (false, false) => (
            format!("{} {}", subject("mapping_unit"), bytes(config.unit())),
            choice("mapping_unit", bytes(config.page_size)),
        ),
    };
    // If the page buffer is flushed, the user chose a smaller unit than the page on purpose.
    let flushes = !buffer.is_protected || timed.is_some_and(|timed| timed.flush_after.is_some());
    let remedy = |without: String| match flushes {
        true => without,
        false => format!("{whole}, or {without}"),
    };
    let name = mapping.info().name;
    if !mapping.info().has_victims {
        return Err(SpecError::new(
            format!(
                "{unit} does not go with {}, which maps whole flash pages",
                choice("mapping", name)
            ),
            remedy(choice("mapping", "page")),
        ));
    }
    if let Some(timed) = timed {
        if timed.copy_back {
            return Err(SpecError::new(
                format!(
                    "{unit} does not go with {}: {}",
                    choice("copy_back", "yes"),
                    match joins {
                        true => "a copy inside a die stays on its plane",
                        false => "a copy inside a die is one of a whole flash page",
                    }
                ),
                remedy(choice("copy_back", "no")),
            ));
        }
        let (preemption, ..) = parse_preemption(&timed.preemption)?;
        let padding = match &timed.flush_after {
            Some(after) => {
                Some((choice("flush_after", after), format!("leave {} out", option("flush_after"))))
            }
            None if !buffer.is_protected => {
                Some((choice("power_protection", "no"), choice("power_protection", "yes")))
            }
            None => None,
        };
        if let (Some((flushes, without)), Preemption::Semi { merge: true, .. }) =
            (padding, preemption)
        {
            let words = timed.preemption.split('+').map(str::trim);
            let unmerged = words.filter(|word| *word != "merge").collect::<Vec<_>>().join("+");
            return Err(SpecError::new(
                format!(
                    "{} {} does not go with {flushes}: merging puts data of the host among copies, where \
                     padding would take the room that copies need",
                    subject("preemption"),
                    timed.preemption
                ),
                format!("{}, or {without}", choice("preemption", unmerged)),
            ));
        }
        if timed.flush_after.is_some() && !placement.is_none() {
            return Err(SpecError::new(
                format!(
                    "{} does not go with {}: the pages that are programmed early are padded, and padding \
                     would take the room that copies of a class need",
                    subject("flush_after"),
                    match config.placement == NONE {
                        true => placement.said(),
                        false => choice("placement", &config.placement),
                    }
                ),
                format!("{}, or leave {} out", placement.without(), option("flush_after")),
            ));
        }
    }
    if config.swap.is_some() {
        return Err(SpecError::new(
            format!(
                "{unit} does not go with {}, whose pages are flash pages",
                option("vm_page_cache")
            ),
            remedy(format!("leave {} out", option("vm_page_cache"))),
        ));
    }
    Ok(())
}

/// Checks that the sizes of requests and the flush commands in `config` fit the workload.
pub(crate) fn check_requests(
    config: &RunConfig,
    buffer: PageBuffer,
    geometry: &Geometry,
    source: &dyn Source,
) -> Result<(), SpecError> {
    let page_size = config.unit();
    let size = config.request_size.filter(|&size| size != page_size);
    let sizes = source.generator().filter(|generator| generator.has_sizes());
    if size.is_some() || sizes.is_some() {
        source.check_request_size(&config.space(geometry.logical_pages()))?;
        let cuts = match sizes {
            Some(generator) => generator.cuts_pages(page_size, size.unwrap_or(page_size)),
            None => size.is_some_and(|size| size < page_size),
        };
        let caches =
            [("host_cache", config.host.is_some()), ("vm_page_cache", config.swap.is_some())];
        if let Some((cache, _)) = caches.iter().find(|(_, given)| *given && cuts) {
            let (what, remedy) = match (sizes, size) {
                (None, Some(size)) => (
                    format!("{} {}", subject("request_size"), bytes(size)),
                    choice("request_size", bytes(page_size)),
                ),
                _ => (
                    "a workload with requests of parts of units".to_string(),
                    "whole units in size= and align=".to_string(),
                ),
            };
            return Err(SpecError::new(
                format!(
                    "{what} does not go with {}, which writes whole mapping units of {}",
                    option(cache),
                    bytes(page_size)
                ),
                format!("{remedy}, or leave {} out", option(cache)),
            ));
        }
    }
    if config.flush_every.is_some() && buffer.is_protected {
        let no = choice("power_protection", "no");
        let also = match buffer.gathers() {
            true => String::new(),
            false => {
                let half = (config.page_size / 2).max(1);
                format!(" and {}", choice("mapping_unit", bytes(half)))
            }
        };
        return Err(SpecError::new(
            format!(
                "{} only applies with {no}: a page buffer that survives a loss of power is never flushed",
                subject("flush_every")
            ),
            format!("add {no}{also}, or leave {} out", option("flush_every")),
        ));
    }
    Ok(())
}
