//! Makes a drive, and opens one: after a clean shutdown with its saved state, after a crash by
//! recovery.

use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_ftl::Counters;

use super::program::stream_of;
use super::read::Window;
use super::stripes::Stripes;
use super::{Drive, Opened, Recovery};
use crate::checkpoint::{BlockInfo, CheckpointPlace, Parts, Slices};
use crate::codec::crc;
use crate::dies::LostDies;
use crate::error::DeviceError;
use crate::journal::Journal;
use crate::layout::{PAGE, Zones};
use crate::mapped::Mapped;
use crate::media::Media;
use crate::recover::{self, Recovered};
use crate::repair;
use crate::settings::{Durability, Settings, invalid};
use crate::strangers::Strangers;
use crate::superblock::{Copies, Superblock};
use crate::usage::Usage;

impl Drive {
    /// Makes an empty drive on `media`, which holds at least [`Settings::file_bytes`] zeros. `uuid`
    /// is the identity of the drive; no other drive may have the same.
    ///
    /// # Errors
    /// Settings that a stored drive cannot have, a medium that is too small, errors of the medium.
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
            checkpoint: CheckpointPlace::default(),
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
    /// No drive, another format or other settings; damage that leaves the map unknown; errors of
    /// the medium.
    pub fn open(media: Box<dyn Media>, settings: &Settings) -> Result<Self, DeviceError> {
        Self::open_as(media, settings, settings.durability)
    }

    /// Opens the drive with this `durability`, whatever its file says.
    ///
    /// If a crash cuts the opening off, the superblock that was found leads to the same drive
    /// again, until another superblock is durable. If the medium fails meanwhile, the drive is
    /// read-only.
    ///
    /// # Errors
    /// The errors of [`Drive::open`].
    pub fn open_as(
        media: Box<dyn Media>,
        settings: &Settings,
        durability: Durability,
    ) -> Result<Self, DeviceError> {
        let mut opening = Opening::read_superblock(media, settings, durability)?;
        opening.confirm_superblock();
        let mut recovered = opening.load()?;
        let now = opening.superblock_in_use(&recovered);
        let mut journal = begin_journal(&now, recovered.is_clean);
        opening.prepare_medium(now, &mut recovered, &mut journal)?;
        recovered.hold(settings.layout.geometry.pages_per_block())?;
        let (is_clean, is_restored, before) =
            (recovered.is_clean, recovered.is_restored, opening.before);
        let mut drive = opening.into_drive(recovered, journal);
        drive.hold_streams(is_restored);
        // The checkpoint of a drive that did not sync may not be on the disk.
        let is_uncertain = durability == Durability::Power && !before.is_synced;
        if !is_clean || is_uncertain {
            drive.write_both_checkpoints();
        }
        Ok(drive)
    }

    /// Gives each page the stream of its data: by its address, or as the host named it. A restored
    /// page store knows the streams that the host named.
    fn hold_streams(&mut self, is_restored: bool) {
        let Some(streams) = self.map.streams() else { return };
        if let Some(ranges) = &self.ranges {
            streams.hold(&|page| stream_of(ranges, page));
        } else if !is_restored {
            let named: Vec<StreamId> = (0..self.zones.geometry.logical_pages())
                .map(|page| match self.map.locate(page).map(|ppn| self.record_of(page, ppn)) {
                    Some(Ok(Some(record))) => record.stream,
                    _ => NO_STREAM, // no data, or damaged ones
                })
                .collect();
            let streams = self.map.streams();
            streams.into_iter().for_each(|streams| streams.hold(&|page| named[page as usize]));
        }
    }

    /// Writes the recovered state as a checkpoint to one slot, and then to the other, since either
    /// checkpoint may be lost later. If a crash comes before a durable superblock names the first
    /// one, the drive is recovered again.
    fn write_both_checkpoints(&mut self) {
        if self.failed.is_some() {
            return;
        }
        let written = self
            .checkpoint(self.copies.now, false)
            .and_then(|()| self.checkpoint(self.copies.now, false));
        if let Err(error) = written {
            self.fail(could_not_open(error));
        }
    }
}

/// A drive that is being opened.
struct Opening<'a> {
    media: Box<dyn Media>,
    settings: &'a Settings,
    durability: Durability,
    low: u32,
    zones: Zones,
    copies: Copies,
    /// The superblock that was found.
    before: Superblock,
    /// The failure of the medium that makes the drive read-only from the start; `None` without a
    /// failure.
    failed: Option<String>,
}

impl<'a> Opening<'a> {
    /// Reads the newest superblock. Its drive must have been made with these settings.
    fn read_superblock(
        media: Box<dyn Media>,
        settings: &'a Settings,
        durability: Durability,
    ) -> Result<Self, DeviceError> {
        let low = settings.low()?;
        let copies = Copies::read(media.as_ref())?;
        let before = copies.now;
        let zones = zones_of(media.as_ref(), &before, settings)?;
        Ok(Self { media, settings, durability, low, zones, copies, before, failed: None })
    }

    /// Makes the superblock to go on from durable once more: it may be in the host's memory alone. Anything that it
    /// replaces is written over only after that, so that a crash finds it or a later one.
    fn confirm_superblock(&mut self) {
        let confirmed = self.copies.confirm(self.media.as_mut()).and_then(|()| self.media.sync());
        self.failed = confirmed.err().map(could_not_open);
    }

    /// Reads checkpoint and journal.
    fn load(&self) -> Result<Recovered, DeviceError> {
        let Self { zones, before: superblock, settings, .. } = self;
        recover::load(
            recover::Sources { media: self.media.as_ref(), zones, superblock, settings },
            true,
        )
    }

    /// Returns the superblock that marks the drive as in use. After a crash it begins a new epoch,
    /// so that no record and no journal block from before the crash is taken for a later one.
    fn superblock_in_use(&self, recovered: &Recovered) -> Superblock {
        let before = self.before;
        let now = Superblock {
            is_clean: false,
            is_synced: self.durability == Durability::Power,
            power_cycles: before.power_cycles + 1,
            unsafe_shutdowns: before.unsafe_shutdowns + u64::from(!before.is_clean),
            ..before
        };
        if recovered.is_clean {
            return now;
        }
        let checkpoint = recovered.checkpoint;
        Superblock { epoch: now.epoch + 1, checkpoint, before: None, durable: 0, ..now }
    }

    /// Makes the medium ready for the first command: it says that the drive is in use, or agrees with what was
    /// recovered. A failure of the medium ends writes; after one, nothing more is written.
    fn prepare_medium(
        &mut self,
        now: Superblock,
        recovered: &mut Recovered,
        journal: &mut Journal,
    ) -> Result<(), DeviceError> {
        if self.failed.is_some() {
            return Ok(());
        }
        let prepared = if recovered.is_clean {
            self.declare_in_use(now)
        } else {
            self.repair_medium(now, recovered, journal)
        };
        match prepared {
            Err(DeviceError::Io(error)) => self.failed = Some(could_not_open(error)),
            done => done?,
        }
        Ok(())
    }

    /// Says durably that the drive is in use, before its journal goes on behind the checkpoint: a crash from here on
    /// replays the journal, and one before leaves a closed drive.
    fn declare_in_use(&mut self, now: Superblock) -> Result<(), DeviceError> {
        self.copies.write(self.media.as_mut(), now)?;
        Ok(self.media.sync()?)
    }

    /// Makes the medium agree with what was recovered. The superblock `now` is not written: until a checkpoint of
    /// the recovered drive is durable, a crash leads back to the superblock before, and to the same map.
    fn repair_medium(
        &mut self,
        now: Superblock,
        recovered: &mut Recovered,
        journal: &mut Journal,
    ) -> Result<(), DeviceError> {
        self.copies.now = now;
        let (media, parts) = (self.media.as_mut(), (&self.zones, now.tag()));
        let syncs = self.durability == Durability::Power;
        repair::mend(media, &self.zones, recovered)?;
        if syncs {
            repair::renew(media, parts, recovered)?;
            // What was read is durable before any other place is written.
            media.sync()?;
        }
        repair::repair(media, parts, recovered, journal, syncs)
    }

    /// Returns the opened drive.
    fn into_drive(self, recovered: Recovered, journal: Journal) -> Drive {
        let host_pages = recovered.store.counters().host_pages;
        Drive {
            tag: self.copies.now.tag(),
            barrier: journal.stamp(),
            journal,
            low: self.low,
            homes: self.settings.homes(),
            handles: self.settings.layout.placement.handles(),
            kept_erased: self.settings.layout.blocks_kept_erased() * self.settings.homes().groups(),
            ranges: self.settings.streams.clone(),
            durability: self.durability,
            is_dirty: false,
            stripes: Stripes::default(),
            mapped: recovered.mapped,
            under_way: None,
            erased: Vec::new(),
            failed: self.failed,
            opened: Opened::default(),
            media_errors: 0,
            usage: uncounted(&self.before, host_pages),
            accounted: host_pages,
            recording: None,
            recovery: (!recovered.is_restored).then_some(Recovery {
                records: recovered.records,
                skipped: recovered.skipped.len() as u64,
            }),
            gives_room_back: self.media.gives_room_back(),
            seen: 0,
            window: Window::default(),
            lost: LostDies::new(self.settings.parity),
            lost_now: Vec::new(),
            blocks: recovered.blocks,
            horizons: recovered.horizons,
            media: self.media,
            map: recovered.store,
            zones: self.zones,
            copies: self.copies,
        }
    }
}

/// Returns the journal of a drive with the superblock `now`. If the drive was closed, the journal
/// goes on behind the checkpoint, and keeps the blocks that the checkpoint before needs. After a
/// recovery it begins anew, in the new epoch.
fn begin_journal(now: &Superblock, is_clean: bool) -> Journal {
    if !is_clean {
        return Journal::new(now.tag(), (now.base(), now.base()), now.base());
    }
    let CheckpointPlace { journal, stamp, .. } = now.checkpoint;
    let kept = now.before.map_or(journal, |before| before.journal);
    Journal::new(now.tag(), (journal, stamp), kept)
}

/// Returns the hosts' use that a crash kept out of the superblock: the bytes of the pages that
/// hosts wrote since their use was last counted. So both parts of write amplification cover the
/// same time.
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

/// Returns the zones of the drive with this superblock. The drive must have been made with these
/// settings.
pub(crate) fn zones_of(
    media: &dyn Media,
    superblock: &Superblock,
    settings: &Settings,
) -> Result<Zones, DeviceError> {
    let geometry = settings.layout.geometry;
    let zones =
        Zones::new(geometry, settings.parity, superblock.slot_bytes, superblock.journal_blocks);
    let shape = (superblock.blocks, superblock.pages_per_block, superblock.logical_pages);
    let expected = (geometry.blocks(), geometry.pages_per_block(), geometry.logical_pages());
    let text = settings.text();
    let is_same = superblock.config_crc == crc(0, text.as_bytes());
    let Some(zones) = zones.filter(|_| shape == expected && is_same) else {
        let (blocks, b, pages) = shape;
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
