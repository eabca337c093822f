//! Making a drive, and opening one: after a clean shutdown as it was, after a crash by recovery.

use flashgc_base::snapshot::Reader;
use flashgc_ftl::{Stepwise, UNMAPPED};

use super::{Drive, PLANE, Recovery, Stat};
use crate::checkpoint::{self, BlockInfo};
use crate::codec::crc;
use crate::journal::Journal;
use crate::layout::{PAGE, Zones};
use crate::media::Media;
use crate::recover::{self, Found};
use crate::repair;
use crate::served::DeviceError;
use crate::settings::{Settings, invalid, snapshot};
use crate::superblock::{Copies, Superblock};
use crate::usage::Usage;
use crate::verify::Rules;

impl Drive {
    /// Makes an empty drive on `media`, which holds at least [`Settings::file_bytes`] zeros. `uuid`
    /// names it: two drives never have the same.
    ///
    /// # Errors
    /// Settings that a stored drive cannot have, a medium that is too small, those of the medium.
    pub fn create(
        media: &mut dyn Media,
        settings: &Settings,
        uuid: [u8; 16],
    ) -> Result<(), DeviceError> {
        let map = settings.build()?;
        let zones = settings.zones(map.as_ref())?;
        if media.len() < zones.len {
            let (has, needs) = (media.len(), zones.len);
            return Err(invalid(format!("the medium has {has} bytes, the drive needs {needs}")));
        }
        let text = settings.text();
        media.write_at(zones.config, text.as_bytes())?;
        let stored = snapshot(map.as_ref()).unwrap_or_default();
        let geometry = settings.layout.geometry;
        let mut first = Superblock {
            uuid,
            blocks: geometry.blocks(),
            pages_per_block: geometry.pages_per_block(),
            logical_pages: geometry.logical_pages(),
            config_bytes: text.len() as u32,
            config_crc: crc(0, text.as_bytes()),
            slot_bytes: zones.slot,
            journal_blocks: zones.journal_blocks,
            generation: 1,
            epoch: 0,
            slot: 0,
            is_clean: true,
            has_ended: false,
            checkpoint_bytes: 0,
            checkpoint_crc: 0,
            journal_start: 0,
            stamp_start: 0,
            power_cycles: 0,
            unsafe_shutdowns: 0,
            media_errors: 0,
            usage: Usage::default(),
        };
        let pages = 0..geometry.logical_pages();
        (first.checkpoint_bytes, first.checkpoint_crc) = checkpoint::write(
            media,
            (&zones, first.tag(), 0),
            pages.map(|_| UNMAPPED),
            &vec![BlockInfo::default(); geometry.blocks() as usize],
            &map.counters(),
            &[],
            &stored,
        )?;
        media.sync()?;
        Copies::create(media, first)?;
        Ok(media.sync()?)
    }

    /// Opens the drive on `media`, made with the same settings.
    ///
    /// # Errors
    /// No drive, another format or other settings; damage that leaves the map unknown; those of the
    /// medium.
    pub fn open(media: Box<dyn Media>, settings: &Settings) -> Result<Self, DeviceError> {
        Self::open_by(media, settings, Rules::default())
    }

    /// The same without some of the rules.
    #[doc(hidden)]
    pub fn open_by(
        mut media: Box<dyn Media>,
        settings: &Settings,
        rules: Rules,
    ) -> Result<Self, DeviceError> {
        let low = settings.low()?;
        let mut copies = Copies::read(media.as_ref())?;
        let before = copies.now;
        let zones = zones_of(media.as_ref(), &before, settings)?;
        if !before.is_clean {
            // What is read from now on is durable: recovery may write over what it replaces.
            media.sync()?;
        }
        let mut found = recover::load(media.as_ref(), &zones, &before, rules)?;
        let now = Superblock {
            epoch: before.epoch + 1,
            is_clean: false,
            power_cycles: before.power_cycles + 1,
            unsafe_shutdowns: before.unsafe_shutdowns + u64::from(!before.is_clean),
            ..before
        };
        let mut journal = Journal::new(now.tag(), now.base());
        if !before.is_clean {
            let empty = settings.build()?;
            let medium = media.as_mut();
            repair::scrub(medium, &zones, found.skipped.iter().copied())?;
            let parts = (&zones, now.tag(), rules);
            repair::make_way(medium, parts, &mut found, &mut journal, empty.as_ref())?;
            repair::scrub(medium, &zones, repair::ahead(&zones, &found))?;
        }
        let (map, is_restored) = restored(&found, settings)?;
        if before.is_clean {
            // The checkpoint stays; the journal goes on behind it.
            let next = Superblock { journal_start: now.base(), stamp_start: now.base(), ..now };
            copies.write(media.as_mut(), next)?;
            media.sync()?;
        }
        let mut drive = Self {
            tag: now.tag(),
            journal,
            low,
            durability: settings.durability,
            rules,
            barrier: now.base(),
            erased: Vec::new(),
            is_dirty: false,
            failed: None,
            rescued: None,
            stat: Stat::default(),
            usage: Usage::default(),
            recording: None,
            recovery: (!is_restored).then_some(Recovery {
                records: found.records,
                skipped: found.skipped.len() as u64,
            }),
            page: vec![0; PAGE],
            blocks: found.blocks,
            horizons: found.horizons,
            media,
            map,
            zones,
            copies,
        };
        if !before.is_clean {
            drive.checkpoint(now, &[])?;
        }
        Ok(drive)
    }
}

/// The zones of the drive with this superblock, whose settings are these.
pub(crate) fn zones_of(
    media: &dyn Media,
    superblock: &Superblock,
    settings: &Settings,
) -> Result<Zones, DeviceError> {
    let geometry = settings.layout.geometry;
    let zones = Zones::new(geometry, superblock.slot_bytes, superblock.journal_blocks);
    let found = (superblock.blocks, superblock.pages_per_block, superblock.logical_pages);
    let expected = (geometry.blocks(), geometry.pages_per_block(), geometry.logical_pages());
    let text = settings.text();
    let is_same = superblock.config_crc == crc(0, text.as_bytes());
    let Some(zones) = zones.filter(|_| found == expected && is_same) else {
        let (blocks, b, pages) = found;
        return Err(invalid(format!(
            "the drive was made with other settings ({blocks} blocks of {b} pages, {pages} logical \
             pages); hint: the configuration in the file says which"
        )));
    };
    if media.len() < zones.len {
        let (has, needs) = (media.len(), zones.len);
        return Err(DeviceError::Media(format!("the file is cut off: {has} of {needs} bytes")));
    }
    Ok(zones)
}

/// The page store as it was, and whether its policies are too.
fn restored(found: &Found, settings: &Settings) -> Result<(Box<dyn Stepwise>, bool), DeviceError> {
    let mut map = settings.build()?;
    if !found.snapshot.is_empty() {
        let mut bytes = found.snapshot.as_slice();
        let mut from = Reader::new(&mut bytes, found.snapshot.len() as u64);
        let restored = map.restore(&mut from).and_then(|()| from.end());
        return match restored {
            Ok(()) => Ok((map, true)),
            Err(fault) => Err(DeviceError::Media(format!("the page store's snapshot: {fault}"))),
        };
    }
    let b = settings.layout.geometry.pages_per_block();
    let damaged = |why: String| DeviceError::Media(format!("the map contradicts itself: {why}"));
    found.contents(b, |contents| map.hold(contents)).map_err(|fault| damaged(fault.to_string()))?;
    map.audit().map_err(damaged)?;
    debug_assert_eq!(map.planes(), PLANE + 1);
    Ok((map, false))
}
