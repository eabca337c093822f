//! Collections, in the steps and the order of the counting drive.

use flashgc_ftl::stepwise::Move;

use super::{Drive, PLANE};
use crate::journal::Record;
use crate::served::{DeviceError, Served};

impl Drive {
    /// Makes room for a write of `page`: where the open block that it needs is full and few blocks are
    /// erased, collections run to their end.
    pub(super) fn make_room(&mut self, page: u32) -> Result<(), DeviceError> {
        // A placement may want the page elsewhere once it has been copied.
        while self.map.host_room(page, PLANE).pages == 0 && self.map.free_blocks(PLANE) <= self.low
        {
            self.map.close_full(page, PLANE);
            while !self.map.has_ended() && self.map.blocks_for_host(PLANE) <= self.low {
                self.collect()?;
            }
            if self.map.has_ended() {
                return Err(self.end());
            }
            self.map.open_closed(PLANE);
        }
        Ok(())
    }

    /// One collection, from the pick to the erase. Nothing is moved where the drive's life ends with it.
    fn collect(&mut self) -> Result<(), DeviceError> {
        let begun = self.map.begin_collection(PLANE).map_err(|error| self.stuck(&error))?;
        if begun.is_none() {
            return Ok(());
        }
        while let Some(next) = self.map.next_move(PLANE) {
            self.checkpoint_if_due()?;
            self.copy(next)?;
        }
        let block = self.map.erase(PLANE);
        let info = &mut self.blocks[block as usize];
        (info.is_written, info.next) = (false, 0);
        (info.erases, info.changed) =
            (self.map.blocks(PLANE).erase_count(block), self.journal.stamp());
        self.erased.push(block);
        self.note(Record::Erase { block })
    }

    /// Moves a page. One that is damaged stays so: its copy gets a check sum that does not match.
    fn copy(&mut self, Move { page, from, .. }: Move) -> Result<(), DeviceError> {
        let mut data = std::mem::take(&mut self.page);
        let found = self.read_place(page, from, &mut data);
        let sum = crc32c::crc32c(&data);
        let (sum, written_at) = match found {
            Ok(record) => (sum, record.written_at),
            Err(_) => (!sum, self.moment()),
        };
        let copied = match self.map.copy(PLANE) {
            Ok(Some(ppn)) => self.program(page, ppn, Some(from), sum, &data, Some(written_at)),
            Ok(None) => Ok(()),
            Err(error) => Err(self.stuck(&error)),
        };
        self.page = data;
        copied
    }
}
