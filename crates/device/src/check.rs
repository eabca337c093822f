//! The check of a drive that is not open: whether its two maps agree, and whether every page can be
//! read.

use std::collections::HashSet;

use flashgc_ftl::UNMAPPED;

use crate::checkpoint::Horizon;
use crate::engine::zones_of;
use crate::error::DeviceError;
use crate::layout::PAGE;
use crate::media::Media;
use crate::parity;
use crate::recover;
use crate::settings::Settings;
use crate::superblock::Copies;
use crate::verify::{Expected, Pages};

/// The findings of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// `true` if the drive was closed before.
    pub is_clean: bool,
    /// The number of pages with data, by checkpoint and journal.
    pub mapped: u64,
    /// The pages that cannot be read.
    pub damaged: Vec<u32>,
    /// The pages that cannot be read, and that their parity gives back.
    pub rebuilt: Vec<u32>,
    /// The pages of parity that do not match the pages that they cover. Pages of such a group cannot
    /// be rebuilt. `None` without parity, and on a drive that was not closed: opening it makes new
    /// parity where the crash has met it.
    pub parity_wrong: Option<u64>,
    /// The pages for which the out-of-band records give another place than checkpoint and journal.
    pub disagree: Vec<u32>,
    /// The number of discarded pages whose old data the out-of-band records still name.
    pub discarded: u64,
}

/// The number of pages checked between two calls of `watch` in [`check_watched`].
const LOOK: u32 = 1024;

/// Reads all of the drive, and compares the map of checkpoint and journal with that of the
/// out-of-band records. Nothing is written.
///
/// # Errors
/// No drive, other settings, damage that leaves the map unknown, errors of the medium.
pub fn check(media: &dyn Media, settings: &Settings) -> Result<Checked, DeviceError> {
    check_watched(media, settings, &mut |_| true)
}

/// Checks as [`check`] does. Now and then it calls `watch` with the number of logical pages checked
/// so far.
///
/// # Errors
/// The errors of [`check`], and [`std::io::ErrorKind::Interrupted`] once `watch` returns false.
pub fn check_watched(
    media: &dyn Media,
    settings: &Settings,
    watch: &mut dyn FnMut(u32) -> bool,
) -> Result<Checked, DeviceError> {
    let superblock = Copies::read(media)?.now;
    let zones = zones_of(media, &superblock, settings)?;
    let sources = recover::Sources { media, zones: &zones, superblock: &superblock, settings };
    let mut recovered = recover::load(sources, false)?;
    let pages = Pages { media, zones: &zones, tag: superblock.tag() };
    // A recovery that was cut off may have written records of the next epoch, which never began.
    let unfinished = Horizon { epoch: superblock.epoch + 1, end: 0 };
    recovered.horizons.push(unfinished);
    let seen = recover::from_oob(pages, &recovered.horizons, &recovered.skipped)?;
    let mut checked = Checked { is_clean: superblock.is_clean, ..Checked::default() };
    let mended: HashSet<u32> = recovered.mended.iter().map(|&(ppn, _)| ppn).collect();
    let mut buffer = [0; PAGE];
    for (page, (&ppn, &seen)) in (0..).zip(recovered.store.entries().iter().zip(&seen)) {
        if page % LOOK == 0 && !watch(page) {
            return Err(std::io::Error::from(std::io::ErrorKind::Interrupted).into());
        }
        if ppn == UNMAPPED {
            checked.discarded += u64::from(seen != UNMAPPED);
            continue;
        }
        checked.mapped += 1;
        let block = &recovered.blocks[zones.geometry.place_of(ppn).0 as usize];
        let expected = Expected { page, ppn, block, record: None };
        let is_mended = mended.contains(&ppn);
        if is_mended || pages.read(&expected, &mut buffer).is_err() {
            if is_mended || parity::given(pages, &expected).is_some() {
                checked.rebuilt.push(page);
                continue; // with its record
            }
            checked.damaged.push(page);
        }
        if ppn != seen {
            checked.disagree.push(page);
        }
    }
    if superblock.is_clean && zones.parity.is_some() {
        let mut wrong = 0;
        for (block, info) in (0..).zip(&recovered.blocks).filter(|(_, info)| info.is_written) {
            if !watch(zones.geometry.logical_pages()) {
                return Err(std::io::Error::from(std::io::ErrorKind::Interrupted).into());
            }
            wrong += parity::wrong(media, &zones, block, info);
        }
        checked.parity_wrong = Some(wrong);
    }
    Ok(checked)
}

/// The map made from the out-of-band records alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OobMap {
    /// The ppn of each logical page, or [`UNMAPPED`]. A page that was discarded may have its old
    /// data.
    pub map: Vec<u32>,
    /// `true` if checkpoint and journal can be read and say which records crashes have lost. If
    /// `false`, a page may have data that were written, but not flushed, before a crash.
    pub knows_losses: bool,
}

/// Makes the map from the out-of-band records, also where checkpoint or journal are damaged.
///
/// # Errors
/// No drive, other settings, errors of the medium.
pub fn map_from_oob(media: &dyn Media, settings: &Settings) -> Result<OobMap, DeviceError> {
    let superblock = Copies::read(media)?.now;
    let zones = zones_of(media, &superblock, settings)?;
    let pages = Pages { media, zones: &zones, tag: superblock.tag() };
    let sources = recover::Sources { media, zones: &zones, superblock: &superblock, settings };
    let recovered = recover::load(sources, false).ok();
    let (horizons, skipped) = recovered
        .as_ref()
        .map_or((&[][..], &[][..]), |recovered| (&recovered.horizons[..], &recovered.skipped[..]));
    let map = recover::from_oob(pages, horizons, skipped)?;
    Ok(OobMap { map, knows_losses: recovered.is_some() })
}
