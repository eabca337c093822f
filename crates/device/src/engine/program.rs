//! Programs pages on the medium, and makes them durable.

use std::fmt;
use std::io;

use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_ftl::{FtlError, FtlErrorKind};
use flashgc_workload::StreamRanges;

use super::Drive;
use super::read::on_medium;
use crate::error::DeviceError;
use crate::journal::Record;
use crate::layout::PAGE;
use crate::oob::Oob;
use crate::settings::Durability;
use crate::strangers::Strangers;
use crate::superblock::Superblock;

/// The most journal blocks that wait for a sync. Recovery writes them again, with the pages that
/// they name: about 254 MiB at most.
const UNSYNCED: u64 = 256;

/// Returns the stream of a write of `page` by its address.
pub(crate) fn stream_of(ranges: &StreamRanges, page: u32) -> StreamId {
    ranges.of(u64::from(page) * PAGE as u64).unwrap_or(NO_STREAM)
}

impl Drive {
    /// Writes a page of the host in the stream `named`. If the drive has streams by address,
    /// `named` is ignored.
    pub(super) fn write_page(
        &mut self,
        page: u32,
        data: &[u8],
        named: StreamId,
    ) -> Result<(), DeviceError> {
        self.advance_checkpoint()?;
        if let Some(streams) = self.map.streams() {
            let stream = self.ranges.as_ref().map_or(named, |ranges| stream_of(ranges, page));
            streams.name(&[page], &[stream]).map_err(|error| self.stuck(&error))?;
        }
        let plane = self.map.plane_of_write(page, self.homes.of(page), &[]);
        self.make_room(page, plane)?;
        let is_new = self.map.locate(page).is_none();
        match self.map.write(page, plane) {
            Ok(Some(ppn)) => {
                if is_new {
                    self.mapped.add(page);
                }
                self.program(page, ppn, crc32c::crc32c(data), data, None)
            }
            Ok(None) if self.map.has_ended() => Err(self.end()),
            Ok(None) => Err(self.stuck(&FtlError::no_space("the pool of erased blocks is empty"))),
            Err(error) => Err(self.stuck(&error)),
        }
    }

    /// Programs `data` at `ppn`, the place that the store gave to `page`. The data can be read from
    /// now on, also after an error. `copied` is `None` for a write of the host. For a copy it is
    /// the moment at which the host wrote the data.
    pub(super) fn program(
        &mut self,
        page: u32,
        ppn: u32,
        sum: u32,
        data: &[u8],
        copied: Option<u64>,
    ) -> Result<(), DeviceError> {
        let (block, offset) = self.zones.geometry.place_of(ppn);
        let info = self.blocks[block as usize];
        let is_reused = !info.is_written && info.changed >= self.barrier;
        let waited = if is_reused { self.make_durable() } else { Ok(()) };
        let stamp = self.journal.stamp();
        let stream = self.stream_of(page);
        let plane = self.map.plane_of(ppn);
        let class_of =
            |class: &u8| self.map.open_block(plane, *class).is_some_and(|open| open.block == block);
        let info = &mut self.blocks[block as usize];
        if !info.is_written {
            info.class = (0..self.map.open_blocks() as u8).find(class_of).unwrap_or_default();
            info.is_written = true;
            info.opened = stamp;
        }
        (info.changed, info.next) = (stamp, offset + 1);
        let class = info.class;
        let record = Oob {
            page,
            class,
            is_copy: copied.is_some(),
            generation: info.erases as u16,
            stamp,
            written_at: copied.unwrap_or_else(|| self.map.counters().host_pages),
            stream,
            data: sum,
        };
        self.is_dirty = true;
        let Self { stripes, media, zones, lost_now, .. } = self;
        let read = |place| on_medium((media.as_ref(), zones), lost_now, place);
        let is_whole = stripes.add(&read, (zones, self.tag), ppn, data, &record);
        let written = waited.and_then(|()| match is_whole {
            true => self.stripes.write(self.media.as_mut(), &self.zones, ppn),
            false => Ok(()),
        });
        written.map_err(|error| self.fail(error))?;
        self.note(Record::Program { page, ppn, crc: sum, class, is_copy: copied.is_some() })
    }

    /// Notes a change in the journal.
    pub(super) fn note(&mut self, record: Record) -> Result<(), DeviceError> {
        self.is_dirty = true;
        if !self.journal.append(record) {
            return Ok(());
        }
        let mut written = self.write_out();
        if self.durability == Durability::Power && self.journal.unsynced() >= UNSYNCED {
            written = written.and_then(|()| self.make_durable());
        }
        written.map_err(|error| self.fail(error))
    }

    /// Makes everything so far durable, and then says so in the journal. From then on, damage to
    /// these data is an error, and is not taken for a write that a crash has torn.
    pub(super) fn vouch(&mut self) -> Result<(), DeviceError> {
        self.advance_checkpoint()?;
        let done = self.make_durable().and_then(|()| {
            if !self.journal.is_unvouched() {
                return Ok(());
            }
            self.journal.vouch(self.media.as_mut(), &self.zones)?;
            self.sync_if_promised()?;
            self.passed();
            Ok(())
        });
        done.map_err(|error| self.fail(error))
    }

    /// Writes the pages that wait, and then the records that name them.
    pub(super) fn write_out(&mut self) -> io::Result<()> {
        self.stripes.write_all(self.media.as_mut(), &self.zones)?;
        self.journal.write_out(self.media.as_mut(), &self.zones)
    }

    /// Writes the pages that wait, and then the records that name them, to which more can be added.
    pub(super) fn write_so_far(&mut self) -> io::Result<()> {
        self.stripes.write_all(self.media.as_mut(), &self.zones)?;
        self.journal.hand_over(self.media.as_mut(), &self.zones)
    }

    /// Writes out everything so far, and syncs it if the durability is `power`.
    pub(super) fn make_durable(&mut self) -> io::Result<()> {
        if !self.is_dirty {
            return Ok(());
        }
        self.write_out()?;
        self.sync_if_promised()?;
        self.passed();
        Ok(())
    }

    /// Syncs the medium if the drive is to survive a loss of power.
    pub(super) fn sync_if_promised(&mut self) -> io::Result<()> {
        if self.durability == Durability::Power { self.sync() } else { Ok(()) }
    }

    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.opened.syncs += 1;
        self.media.sync()
    }

    /// Notes that everything so far is durable.
    pub(super) fn passed(&mut self) {
        self.journal.synced();
        self.barrier = self.journal.stamp();
        self.is_dirty = false;
    }

    /// Makes the drive read-only and remembers the first reason for it. Returns the error for the host.
    pub(super) fn fail(&mut self, why: impl fmt::Display) -> DeviceError {
        let why = why.to_string();
        self.failed.get_or_insert_with(|| why.clone());
        DeviceError::ReadOnly(why)
    }

    /// Ends the drive's work after an error of the page store. Returns the error for the host.
    pub(super) fn stuck(&mut self, error: &FtlError) -> DeviceError {
        match error.kind() {
            FtlErrorKind::ReadOnly { .. } => self.end(),
            _ => {
                // The medium works, so the host's data are made durable first.
                if let Err(failure) = self.make_durable() {
                    return self.fail(failure);
                }
                self.fail(error);
                DeviceError::NoSpace(error.to_string())
            }
        }
    }

    /// Ends the drive's life, and records that in the superblock. Returns the error for the host.
    pub(super) fn end(&mut self) -> DeviceError {
        let ended = Superblock { has_ended: true, ..self.copies.now };
        if !self.copies.now.has_ended {
            let written = self.copies.write(self.media.as_mut(), ended);
            if let Err(error) = written.and_then(|()| self.media.sync()) {
                return self.fail(error);
            }
        }
        DeviceError::ReadOnly(self.why_read_only().unwrap_or_default())
    }

    /// Notes that `strangers` can reach the drive from now on. When this returns, the drive's file
    /// remembers them, even after a loss of power. A drive that failed remembers nothing new: it
    /// takes no writes.
    ///
    /// # Errors
    /// The errors of the medium, which make the drive read-only.
    pub fn let_in(&mut self, strangers: Strangers) -> Result<(), DeviceError> {
        let all = self.copies.now.strangers.and(strangers);
        if all == self.copies.now.strangers || self.failure().is_some() {
            return Ok(());
        }
        let next = Superblock { strangers: all, ..self.copies.now };
        let written = self.copies.write(self.media.as_mut(), next);
        written.and_then(|()| self.media.sync()).map_err(|error| self.fail(error))
    }
}
