//! The engine: one page store, and the bytes of the pages that its transitions name.
//!
//! Decisions are the counting drive's: steps come in the order of
//! [`Stepwise::write_at_once`]. A write puts data and out-of-band record where the store says and
//! notes the change in the journal. Four rules make that safe; numbers are those of the code:
//!
//! - R1: a record that was not durable counts after a crash only if its page verifies.
//! - R2: before the first program into a block erased since the last sync, there is a sync: the block
//!   may hold the only durable copy of a page.
//! - R3: a checkpoint is durable before the superblock names it, and that before its journal is reused.
//! - R5: a page read must be intact, of this logical page, and of this life of its block.

mod collect;
mod open;
mod report;
mod serve;

pub(crate) use open::zones_of;
pub use report::{Block, BlockState, Report};

use std::fmt;

use flashgc_ftl::{FtlError, FtlErrorKind, Stepwise, UNMAPPED};

use crate::checkpoint::{self, BlockInfo, Horizon};
use crate::journal::{Journal, Record};
use crate::layout::Zones;
use crate::media::Media;
use crate::oob::Oob;
use crate::recording::Recording;
use crate::served::{DeviceError, Served};
use crate::settings::{Durability, snapshot};
use crate::superblock::{Copies, Superblock};
use crate::usage::Usage;
use crate::verify::{Expected, Pages, Rules};

/// The only plane.
const PLANE: u32 = 0;

/// A stored drive. See the module's text.
pub struct Drive {
    media: Box<dyn Media>,
    map: Box<dyn Stepwise>,
    zones: Zones,
    tag: u32,
    copies: Copies,
    journal: Journal,
    blocks: Vec<BlockInfo>,
    horizons: Vec<Horizon>,
    /// Erased blocks at which collections begin.
    low: u32,
    durability: Durability,
    rules: Rules,
    /// Records below this number were durable at the last sync.
    barrier: u64,
    /// Blocks erased since then.
    erased: Vec<u32>,
    /// Something was written since then.
    is_dirty: bool,
    /// Why no write is taken any more, beside the end of the drive's life.
    failed: Option<String>,
    /// The page whose write failed, and where its data are.
    rescued: Option<(u32, Option<u32>)>,
    stat: Stat,
    /// What hosts asked for since the drive was opened.
    usage: Usage,
    recording: Option<Recording>,
    recovery: Option<Recovery>,
    /// Room for the page that is being copied.
    page: Vec<u8>,
}

/// What was counted since the drive was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stat {
    media_errors: u64,
    syncs: u64,
    checkpoints: u64,
    late_hints: u64,
}

/// What opening a drive that was not closed came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Journal records behind the checkpoint.
    pub records: u64,
    /// Of these, programs that were not durable and did not verify: their pages are where they were.
    pub skipped: u64,
}

impl Drive {
    /// Checks every invariant of the page store; the text says which does not hold.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&self) -> Result<(), String> {
        self.map.audit()
    }

    /// Why the drive takes no writes; `None` while it does.
    fn read_only(&self) -> Option<String> {
        let ended = || "its life is over: too many blocks are worn out".to_string();
        self.failed.clone().or_else(|| self.has_ended().then(ended))
    }

    fn has_ended(&self) -> bool {
        self.copies.now.has_ended || self.map.has_ended()
    }

    fn check_writable(&self) -> Result<(), DeviceError> {
        self.read_only().map_or(Ok(()), |why| Err(DeviceError::ReadOnly(why)))
    }

    /// The drive takes no writes from now on.
    fn fail(&mut self, why: impl fmt::Display) -> DeviceError {
        let why = why.to_string();
        self.failed.get_or_insert_with(|| why.clone());
        DeviceError::ReadOnly(why)
    }

    /// The store cannot go on.
    fn stuck(&mut self, error: &FtlError) -> DeviceError {
        match error.kind() {
            FtlErrorKind::ReadOnly { .. } => self.end(),
            _ => {
                self.fail(error);
                DeviceError::NoSpace(error.to_string())
            }
        }
    }

    /// The drive's life is over, which the file says from now on.
    fn end(&mut self) -> DeviceError {
        let ended = Superblock { has_ended: true, ..self.copies.now };
        if !self.copies.now.has_ended {
            let written = self.copies.write(self.media.as_mut(), ended);
            if let Err(error) = written.and_then(|()| self.media.sync()) {
                return self.fail(error);
            }
        }
        DeviceError::ReadOnly(self.read_only().unwrap_or_default())
    }

    fn pages_of_media(&self) -> Pages<'_> {
        let Self { media, zones, tag, rules, .. } = self;
        Pages { media: media.as_ref(), zones, tag: *tag, rules: *rules }
    }

    /// Where `page` lies.
    fn locate(&self, page: u32) -> Option<u32> {
        match self.rescued {
            Some((rescued, place)) if rescued == page => place,
            _ => self.map.locate(page),
        }
    }

    /// Reads the page at `ppn` into `into`, as it is; its record if it is the one expected.
    fn read_place(&mut self, page: u32, ppn: u32, into: &mut [u8]) -> Result<Oob, DeviceError> {
        let block = &self.blocks[self.zones.geometry.place_of(ppn).0 as usize];
        let expected = Expected { page, ppn, block, record: None };
        let read = self.pages_of_media().read(&expected, into);
        read.map_err(|damage| {
            self.stat.media_errors += 1;
            DeviceError::Media(format!("page {page}: {damage}"))
        })
    }

    /// Writes a page of the host.
    fn write_page(&mut self, page: u32, data: &[u8]) -> Result<(), DeviceError> {
        self.checkpoint_if_due()?;
        self.make_room(page)?;
        let old = self.map.locate(page);
        match self.map.write(page, PLANE) {
            Ok(Some(ppn)) => self.program(page, ppn, old, crc32c::crc32c(data), data, None),
            Ok(None) if self.map.has_ended() => Err(self.end()),
            Ok(None) => Err(self.stuck(&FtlError::no_space("the pool of erased blocks is empty"))),
            Err(error) => Err(self.stuck(&error)),
        }
    }

    /// Puts `data` where the store has put `page`, whose data until now are at `old`. A copy has the
    /// moment at which the host wrote the data, `copied`.
    fn program(
        &mut self,
        page: u32,
        ppn: u32,
        old: Option<u32>,
        sum: u32,
        data: &[u8],
        copied: Option<u64>,
    ) -> Result<(), DeviceError> {
        if let Err(error) = self.put(page, ppn, sum, data, copied) {
            self.rescued = Some((page, old));
            return Err(self.fail(error));
        }
        let class = self.blocks[self.zones.geometry.place_of(ppn).0 as usize].class;
        self.note(Record::Program { page, ppn, crc: sum, class, is_copy: copied.is_some() })
    }

    /// Data and out-of-band record.
    fn put(
        &mut self,
        page: u32,
        ppn: u32,
        sum: u32,
        data: &[u8],
        copied: Option<u64>,
    ) -> std::io::Result<()> {
        let (block, offset) = self.zones.geometry.place_of(ppn);
        let info = self.blocks[block as usize];
        if !info.is_written && info.changed >= self.barrier && self.rules.waits_before_reuse {
            self.make_durable()?;
        }
        let stamp = self.journal.stamp();
        let class_of =
            |class: &u8| self.map.open_block(PLANE, *class).is_some_and(|open| open.block == block);
        let info = &mut self.blocks[block as usize];
        if !info.is_written {
            info.class = (0..self.map.open_blocks() as u8).find(class_of).unwrap_or_default();
            (info.is_written, info.opened) = (true, stamp);
        }
        (info.changed, info.next) = (stamp, offset as u16 + 1);
        let record = Oob {
            page,
            class: info.class,
            is_copy: copied.is_some(),
            generation: self.map.blocks(PLANE).erase_count(block) as u16,
            stamp,
            written_at: copied.unwrap_or_else(|| self.moment()),
            data: sum,
        };
        self.is_dirty = true;
        self.media.write_at(self.zones.data(ppn), data)?;
        self.media.write_at(self.zones.oob(ppn), &record.encode(self.tag))
    }

    /// Notes a change in the journal.
    fn note(&mut self, record: Record) -> Result<(), DeviceError> {
        self.is_dirty = true;
        let noted = self.journal.append(self.media.as_mut(), &self.zones, record);
        noted.map_err(|error| self.fail(error))
    }

    /// All that was done before is durable when this returns, as far as the drive promises it.
    fn make_durable(&mut self) -> std::io::Result<()> {
        if !self.is_dirty {
            return Ok(());
        }
        self.journal.write_out(self.media.as_mut(), &self.zones)?;
        if self.durability == Durability::Power {
            self.sync()?;
        }
        self.passed()
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.stat.syncs += 1;
        self.media.sync()
    }

    /// All that was written so far is durable: room of erased blocks may go.
    fn passed(&mut self) -> std::io::Result<()> {
        self.journal.synced();
        self.barrier = self.journal.stamp();
        self.is_dirty = false;
        for block in std::mem::take(&mut self.erased) {
            if !self.blocks[block as usize].is_written {
                let first = self.zones.data(self.zones.first_ppn(block));
                self.media.punch(first, self.zones.block_bytes())?;
            }
        }
        Ok(())
    }

    /// Half of the journal is full: the rest is for what comes before the checkpoint.
    fn checkpoint_if_due(&mut self) -> Result<(), DeviceError> {
        if self.journal.used() < self.zones.journal_blocks / 2 {
            return Ok(());
        }
        let next = Superblock { is_clean: false, ..self.copies.now };
        self.checkpoint(next, &[]).map_err(|error| self.fail(error))
    }

    /// Writes a checkpoint into the slot that does not count, and the superblock `next`, which names it.
    fn checkpoint(&mut self, next: Superblock, snapshot: &[u8]) -> std::io::Result<()> {
        self.journal.write_out(self.media.as_mut(), &self.zones)?;
        let slot = 1 - self.copies.now.slot;
        let pages = 0..self.zones.geometry.logical_pages();
        let (checkpoint_bytes, checkpoint_crc) = checkpoint::write(
            self.media.as_mut(),
            (&self.zones, self.tag, slot),
            pages.map(|page| self.map.locate(page).unwrap_or(UNMAPPED)),
            &self.blocks,
            &self.map.counters(),
            &self.horizons,
            snapshot,
        )?;
        if self.rules.orders_checkpoints {
            self.sync()?;
        }
        let next = Superblock {
            slot,
            checkpoint_bytes,
            checkpoint_crc,
            journal_start: self.journal.next(),
            stamp_start: self.journal.stamp(),
            media_errors: next.media_errors + std::mem::take(&mut self.stat.media_errors),
            usage: next.usage.plus(&std::mem::take(&mut self.usage)),
            ..next
        };
        self.copies.write(self.media.as_mut(), next)?;
        self.sync()?;
        self.journal.cut();
        self.stat.checkpoints += 1;
        self.passed()
    }

    /// Ends the drive's work: it opens again with the same decisions.
    ///
    /// # Errors
    /// A drive that failed: it recovers when it is opened. Those of the medium.
    pub fn close(mut self) -> Result<(), DeviceError> {
        if let Some(why) = &self.failed {
            return Err(DeviceError::ReadOnly(why.clone()));
        }
        let stored = snapshot(self.map.as_ref()).unwrap_or_default();
        let clean = Superblock { is_clean: true, has_ended: self.has_ended(), ..self.copies.now };
        match self.checkpoint(clean, &stored) {
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                Ok(self.checkpoint(clean, &[])?)
            }
            done => Ok(done?),
        }
    }
}
