//! Writes checkpoints while the drive works, a slice at a time, and the last one when it is closed.

use std::io;

use super::Drive;
use crate::checkpoint::{Parts, Slices};
use crate::dies::Place;
use crate::error::DeviceError;
use crate::layout::PAGE;
use crate::superblock::Superblock;
use flashgc_base::counts::Counts;

/// Journal blocks that may be written from one call of [`Drive::advance_checkpoint`] until the next has
/// begun a checkpoint: a copy and a write of the host that each wait for durability, and what is left.
const RESERVE: u64 = 3;

/// A checkpoint that is being written.
pub(super) struct UnderWay {
    slices: Slices,
    /// The number of the next journal block when the last slice was written.
    at: u64,
}

impl Drive {
    /// Begins a checkpoint when three eighths of the journal were written since the last one began.
    /// Then it writes a slice of the checkpoint for each journal block. So a checkpoint ends within
    /// a quarter of the journal, and the journal of the checkpoint before it is kept until that
    /// one's slot is overwritten. If the journal is nearly full, this writes the rest of the
    /// checkpoint at once.
    pub(super) fn advance_checkpoint(&mut self) -> Result<(), DeviceError> {
        let blocks = self.zones.journal_blocks;
        let written = match &self.under_way {
            Some(under_way) => self.journal.next() - under_way.at,
            None => u64::from(self.journal.since_checkpoint() >= blocks * 3 / 8),
        };
        if written == 0 && self.journal.room(&self.zones) > RESERVE {
            return Ok(());
        }
        let entries = u64::from(self.zones.geometry.logical_pages()) + self.blocks.len() as u64;
        let slice = entries.div_ceil((blocks / 4).max(1));
        self.write_slice(written * slice).map_err(|error| self.fail(error))
    }

    fn write_slice(&mut self, count: u64) -> io::Result<()> {
        let mut under_way = match self.under_way.take() {
            Some(under_way) => under_way,
            None => self.begin_checkpoint()?,
        };
        let count = if self.journal.room(&self.zones) > RESERVE { count } else { u64::MAX };
        let Self { map, mapped, blocks, .. } = self;
        let pages = map.geometry().logical_pages();
        let parts = Parts { pages, locate: &|page| map.locate(page), mapped, blocks };
        if under_way.slices.write(self.media.as_mut(), &parts, count)? {
            let next = Superblock { is_clean: false, ..self.copies.now };
            return self.end_checkpoint(under_way.slices, next);
        }
        under_way.at = self.journal.next();
        self.under_way = Some(under_way);
        Ok(())
    }

    fn begin_checkpoint(&mut self) -> io::Result<UnderWay> {
        self.write_out()?;
        self.journal.begin_checkpoint();
        let slot = 1 - self.copies.now.checkpoint.slot;
        let slices = Slices::begin(
            self.media.as_mut(),
            (&self.zones, self.tag, slot),
            (self.journal.next(), self.journal.stamp()),
            &self.map.counters(),
            &self.horizons,
        )?;
        Ok(UnderWay { slices, at: self.journal.next() })
    }

    /// Makes the checkpoint durable, with everything that its slices may have seen. Then it makes the
    /// superblock `next`, which names the checkpoint, durable.
    fn end_checkpoint(&mut self, slices: Slices, next: Superblock) -> io::Result<()> {
        self.write_out()?;
        let checkpoint = slices.finish(self.media.as_mut())?;
        self.sync_if_promised()?;
        let next = Superblock {
            checkpoint,
            before: Some(self.copies.now.checkpoint),
            durable: self.journal.next(),
            media_errors: next.media_errors + std::mem::take(&mut self.media_errors),
            usage: next.usage.plus(&std::mem::take(&mut self.usage)),
            accounted: self.accounted,
            ..next
        };
        self.copies.write(self.media.as_mut(), next)?;
        self.sync_if_promised()?;
        self.journal.end_checkpoint(checkpoint.journal);
        self.opened.checkpoints += 1;
        self.passed();
        self.punch_erased()
    }

    /// Gives back the room of blocks that are still erased. A block that is soon used again keeps it.
    /// The drive works on without that where the medium cannot take room back.
    fn punch_erased(&mut self) -> io::Result<()> {
        let mut erased = std::mem::take(&mut self.erased);
        if !self.gives_room_back {
            return Ok(());
        }
        erased.sort_unstable();
        erased.dedup();
        for block in erased {
            if !self.blocks[block as usize].is_written {
                match self.punch_block(block) {
                    Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                        self.gives_room_back = false;
                        return Ok(());
                    }
                    punched => punched?,
                }
            }
        }
        Ok(())
    }

    /// Gives back the room of a block: that of its pages, and that of their parity.
    fn punch_block(&mut self, block: u32) -> io::Result<()> {
        let first = self.zones.data(self.zones.first_ppn(block));
        self.media.punch(first, self.zones.block_bytes())?;
        let parity = u64::from(self.zones.parity_of_block()) * PAGE as u64;
        if parity == 0 {
            return Ok(());
        }
        let (first, _) = self.zones.place(Place::Parity { block, group: 0 });
        self.media.punch(first, parity)
    }

    /// Writes a whole checkpoint, with the page store's snapshot if `saves_state`, and then the
    /// superblock `next`.
    pub(super) fn checkpoint(&mut self, next: Superblock, saves_state: bool) -> io::Result<()> {
        self.under_way = None;
        let UnderWay { mut slices, .. } = self.begin_checkpoint()?;
        let Self { map, mapped, blocks, .. } = self;
        let pages = map.geometry().logical_pages();
        let parts = Parts { pages, locate: &|page| map.locate(page), mapped, blocks };
        slices.write(self.media.as_mut(), &parts, u64::MAX)?;
        if saves_state {
            slices.save(self.media.as_mut(), self.map.as_ref())?;
        }
        self.end_checkpoint(slices, next)
    }

    /// Closes the drive. It opens again with the same decisions, unless a policy cannot be saved.
    ///
    /// # Errors
    /// A drive that failed: it recovers when it is opened next. Errors of the medium.
    pub fn close(mut self) -> Result<(), DeviceError> {
        if let Some(why) = &self.failed {
            return Err(DeviceError::ReadOnly(why.clone()));
        }
        let clean = Superblock { is_clean: true, has_ended: self.has_ended(), ..self.copies.now };
        match self.checkpoint(clean, true) {
            Err(error) if is_refused(&error) => self.checkpoint(clean, false)?,
            done => done?,
        }
        Ok(self.sync()?)
    }
}

/// Returns `true` if the state of the page store is larger than its slot, or if a policy cannot be
/// saved.
fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::FileTooLarge | io::ErrorKind::Unsupported)
}
