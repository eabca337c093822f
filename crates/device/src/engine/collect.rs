//! Collections. Their steps and their order are those of the counting drive.

use flashgc_ftl::stepwise::Move;

use super::read::Window;
use super::{Drive, PLANE};
use crate::engine::Backend;
use crate::error::DeviceError;
use crate::journal::Record;

impl Drive {
    /// Makes room for a write of `page`. Collections run to their end where the open block that it needs
    /// is full and few blocks are erased.
    pub(super) fn make_room(&mut self, page: u32) -> Result<(), DeviceError> {
        // A placement may put the page into another open block after it has been copied, hence the
        // loop.
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

    /// Runs one collection, from the pick of the victim to its erase. Moves nothing if the drive's
    /// life ends here.
    fn collect(&mut self) -> Result<(), DeviceError> {
        let begun = self.map.begin_collection(PLANE).map_err(|error| self.stuck(&error))?;
        let Some(victim) = begun else { return Ok(()) };
        let mut window = std::mem::take(&mut self.window);
        self.look_at(victim.block, &mut window);
        let moved = self.move_pages(&mut window);
        self.window = window;
        moved?;
        let block = self.map.erase(PLANE);
        let info = &mut self.blocks[block as usize];
        (info.is_written, info.next) = (false, 0);
        info.erases = self.map.blocks(PLANE).erase_count(block);
        info.changed = self.journal.stamp();
        self.stripes.forget(block);
        self.erased.push(block);
        self.note(Record::Erase { block })
    }

    /// Moves the live pages of the victim. A damaged page stays so: its copy gets a check sum that does
    /// not match.
    fn move_pages(&mut self, window: &mut Window) -> Result<(), DeviceError> {
        while let Some(Move { page, from, .. }) = self.map.next_move(PLANE) {
            self.advance_checkpoint()?;
            let fetched = self.fetch(page, from, window);
            let data = window.page(from).expect("what was fetched is in the window");
            let (sum, written_at) = match fetched {
                Ok(record) => (record.data, record.written_at),
                Err(_) => (!crc32c::crc32c(data), self.moment()),
            };
            match self.map.copy(PLANE) {
                Ok(Some(ppn)) => self.program(page, ppn, sum, data, Some(written_at))?,
                Ok(None) => {}
                Err(error) => return Err(self.stuck(&error)),
            }
        }
        Ok(())
    }
}
