//! Making a drive, and opening one: after a clean shutdown as it was, after a crash by recovery.

use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_ftl::Counters;

use super::program::stream_of;
use super::read::Window;
use super::stripes::Stripes;
use super::{Drive, Opened, PLANE, Recovery};
use crate::checkpoint::{BlockInfo, Named, Parts, Slices};
use crate::codec::crc;
use crate::error::DeviceError;
use crate::journal::Journal;
use crate::layout::{PAGE, Zones};
use crate::mapped::Mapped;
use crate::media::Media;
use crate::oob::Slot;
use crate::recover;
use crate::repair;
use crate::settings::{Durability, Settings, invalid};
use crate::strangers::Strangers;
use crate::superblock::{Copies, Superblock};
use crate::usage::Usage;

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
        let zones = settings.zones()?;
        if media.len() < zones.len {
            let (has, needs) = (media.len(), zones.len);
            return Err(invalid(format!("the medium has {has} bytes, the drive needs {needs}")));
        }
        let text = settings.text();
        let geometry = settings.layout.geometry;
        let first = Superblock {
            uuid,
            blocks: geometry.blocks(),
            pages_per_block: geometry.pages_per_block(),
            logical_pages: geometry.logical_pages(),
            config_bytes: text.len() as u32,
            config_crc: crc(0, text.as_bytes()),
            slot_bytes: zones.slot,
            journal_blocks: zones.journal_blocks,
            generation: 1,
            epoch: 1,
            is_clean: true,
            has_ended: false,
            checkpoint: Named::default(),
            before: None,
            durable: 0,
            power_cycles: 0,
            unsafe_shutdowns: 0,
            media_errors: 0,
            usage: Usage::default(),
            accounted: 0,
            is_synced: true,
            strangers: Strangers::NONE,
        };
        let tag = first.tag();
        let begin = (first.base(), first.base());
        let mut slices = Slices::begin(media, (&zones, tag, 0), begin, &Counters::default(), &[])?;
        slices.write(
            media,
            &Parts {
                pages: geometry.logical_pages(),
                locate: &|_| None,
                mapped: &Mapped::new(geometry.logical_pages()),
                blocks: &vec![BlockInfo::default(); geometry.blocks() as usize],
            },
            u64::MAX,
        )?;
        let first = Superblock { checkpoint: slices.finish(media)?, ..first };
        media.write_at(zones.config, text.as_bytes())?;
        media.reserve(zones.journal, zones.journal_blocks * PAGE as u64)?;
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
        Self::open_as(media, settings, settings.durability)
    }

    /// Gives each page the stream of its data: that of its address, or the one that the host had named. A page
    /// store that was restored has the latter.
    fn hold_streams(&mut self, is_restored: bool) {
        let Some(streams) = self.map.streams() else { return };
        if let Some(ranges) = &self.ranges {
            streams.hold(&|page| stream_of(ranges, page));
        } else if !is_restored {
            let named: Vec<StreamId> = (0..self.zones.geometry.logical_pages())
                .map(|page| match self.map.locate(page).map(|ppn| self.slot(ppn)) {
                    Some(Ok(Slot::Of(record))) => record.stream,
                    _ => NO_STREAM, // no data, or damaged ones
                })
                .collect();
            let streams = self.map.streams();
            streams.into_iter().for_each(|streams| streams.hold(&|page| named[page as usize]));
        }
    }

    /// Opens the drive so that it survives `durability`, whatever its file says.
    ///
    /// # Errors
    /// Those of [`Drive::open`].
    pub fn open_as(
        mut media: Box<dyn Media>,
        settings: &Settings,
        durability: Durability,
    ) -> Result<Self, DeviceError> {
        let low = settings.low()?;
        let mut copies = Copies::read(media.as_ref())?;
        let before = copies.now;
        let zones = zones_of(media.as_ref(), &before, settings)?;
        // The superblock to go on from is durable before anything that it replaces is written over.
        let confirmed = copies.confirm(media.as_mut()).and_then(|()| media.sync());
        let mut failed = confirmed.err().map(could_not_open);
        let (media_read, superblock) = (media.as_ref(), &before);
        let drive = recover::Drive { media: media_read, zones: &zones, superblock, settings };
        let mut found = recover::load(drive, true)?;
        let is_clean = found.is_clean;
        let mut now = Superblock {
            is_clean: false,
            is_synced: durability == Durability::Power,
            power_cycles: before.power_cycles + 1,
            unsafe_shutdowns: before.unsafe_shutdowns + u64::from(!before.is_clean),
            ..before
        };
        let tag = now.tag();
        let mut journal = if is_clean {
            let Named { journal, stamp, .. } = now.checkpoint;
            let kept = now.before.map_or(journal, |before| before.journal);
            Journal::new(tag, (journal, stamp), kept)
        } else {
            now = Superblock {
                epoch: now.epoch + 1,
                checkpoint: found.checkpoint,
                before: None,
                durable: 0,
                ..now
            };
            Journal::new(tag, (now.base(), now.base()), now.base())
        };
        let parts = (&zones, tag);
        let prepared = if failed.is_some() {
            Ok(())
        } else if is_clean {
            // The checkpoint stays; the journal goes on behind it.
            copies.write(media.as_mut(), now).and_then(|()| media.sync()).map_err(DeviceError::from)
        } else {
            copies.now = now;
            let renewed = match durability {
                Durability::Power => repair::renew(media.as_mut(), parts, &mut found)
                    .and_then(|()| Ok(media.sync()?)),
                Durability::Process | Durability::None => Ok(()),
            };
            renewed.and_then(|()| repair::repair(media.as_mut(), parts, &mut found, &mut journal))
        };
        match prepared {
            Err(DeviceError::Io(error)) => failed = Some(could_not_open(error)),
            done => done?,
        }
        found.hold(settings.layout.geometry.pages_per_block())?;
        debug_assert_eq!(found.store.planes(), PLANE + 1);
        let mut drive = Self {
            tag,
            barrier: journal.stamp(),
            journal,
            low,
            kept_erased: settings.layout.blocks_kept_erased(),
            ranges: settings.streams.clone(),
            durability,
            is_dirty: false,
            stripes: Stripes::default(),
            mapped: found.mapped,
            under_way: None,
            erased: Vec::new(),
            failed,
            opened: Opened::default(),
            media_errors: 0,
            usage: uncounted(&before, found.store.counters().host_pages),
            accounted: found.store.counters().host_pages,
            recording: None,
            recovery: (!found.is_restored).then_some(Recovery {
                records: found.records,
                skipped: found.skipped.len() as u64,
            }),
            gives_room_back: media.gives_room_back(),
            seen: 0,
            window: Window::default(),
            blocks: found.blocks,
            horizons: found.horizons,
            media,
            map: found.store,
            zones,
            copies,
        };
        drive.hold_streams(found.is_restored);
        // A drive that did not sync may have a checkpoint that is not on the disk.
        let is_uncertain = durability == Durability::Power && !before.is_synced;
        if (!is_clean || is_uncertain) && drive.failed.is_none() {
            // Both slots get the checkpoint: one of them may be lost.
            let written = drive
                .checkpoint(drive.copies.now, false)
                .and_then(|()| drive.checkpoint(drive.copies.now, false));
            if let Err(error) = written {
                drive.fail(could_not_open(error));
            }
        }
        Ok(drive)
    }
}

/// Returns the use that a crash has cost the superblock: the pages that hosts wrote since it was counted, as whole
/// ones. Amplification keeps both of its parts of one time so.
fn uncounted(before: &Superblock, host_pages: u64) -> Usage {
    // A file of an earlier version does not say until when it has counted.
    let is_known = before.accounted > 0 || before.usage.writes == 0;
    if before.is_clean || !is_known {
        return Usage::default();
    }
    let pages = host_pages.saturating_sub(before.accounted);
    Usage { written_bytes: pages * PAGE as u64, ..Usage::default() }
}

fn could_not_open(error: std::io::Error) -> String {
    format!("opening it failed: {error}")
}

/// Returns the zones of the drive with this superblock, which must have been made with these
/// settings.
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
