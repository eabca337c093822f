//! Collections. Their steps and their order are those of the counting drive.

use flashgc_ftl::PlaneId;
use flashgc_ftl::stepwise::Move;

use super::Drive;
use super::read::Window;
use crate::engine::Backend;
use crate::error::DeviceError;
use crate::journal::Record;

impl Drive {
    /// Makes room for a write of `page` in `plane`. Collections run to their end where the open block that it needs
    /// is full and few blocks are erased.
    pub(super) fn make_room(&mut self, page: u32, plane: PlaneId) -> Result<(), DeviceError> {
        // A placement may put the page into another open block after it has been copied, hence the
        // loop.
        while self.map.host_room(page, plane).pages == 0 && self.map.free_blocks(plane) <= self.low
        {
            self.map.close_full(page, plane);
            while !self.map.has_ended() && self.map.blocks_for_host(plane) <= self.low {
                self.collect(plane)?;
            }
            if self.map.has_ended() {
                return Err(self.end());
            }
            self.map.open_closed(plane);
        }
        Ok(())
    }

    /// Runs one collection in `plane`, from the pick of the victim to its erase. Moves nothing if the drive's
    /// life ends here.
    fn collect(&mut self, plane: PlaneId) -> Result<(), DeviceError> {
        let begun = self.map.begin_collection(plane).map_err(|error| self.stuck(&error))?;
        let Some(victim) = begun else { return Ok(()) };
        let mut window = std::mem::take(&mut self.window);
        self.look_at(victim.block, &mut window);
        let moved = self.move_pages(plane, &mut window);
        self.window = window;
        moved?;
        let block = self.map.erase(plane);
        let erases = self.map.blocks(plane).erase_count(block - self.first_of(plane));
        let info = &mut self.blocks[block as usize];
        (info.is_written, info.next, info.erases) = (false, 0, erases);
        info.changed = self.journal.stamp();
        self.stripes.forget(block);
        self.erased.push(block);
        self.note(Record::Erase { block })
    }

    /// Moves the live pages of the victim of `plane`. A damaged page stays so: its copy gets a check sum that does
    /// not match.
    fn move_pages(&mut self, plane: PlaneId, window: &mut Window) -> Result<(), DeviceError> {
        while let Some(Move { page, from, .. }) = self.map.next_move(plane) {
            self.advance_checkpoint()?;
            let fetched = self.fetch(page, from, window);
            let data = window.page(from).expect("what was fetched is in the window");
            let (sum, written_at) = match fetched {
                Ok(record) => (record.data, record.written_at),
                Err(_) => (!crc32c::crc32c(data), self.moment()),
            };
            match self.map.copy(plane) {
                Ok(Some(ppn)) => self.program(page, ppn, sum, data, Some(written_at))?,
                Ok(None) => {}
                Err(error) => return Err(self.stuck(&error)),
            }
        }
        Ok(())
    }
}
