//! Placement handles: each writes to one open block, and can change to another block.
//!
//! Nothing on the medium says that a block was closed before it was full. Such a block looks like
//! one that a crash has left: it has erased pages, and is not the last block of its class. After a
//! crash a handle goes on in the block that it opened last, among those that still have data.

use flashgc_base::stream::StreamId;
use flashgc_ftl::{OpenBlock, PlaneId};

use super::Drive;
use crate::error::DeviceError;

impl Drive {
    /// Returns the first block of a plane. Each reclaim group is a plane.
    pub(super) fn first_of(&self, plane: PlaneId) -> u32 {
        self.zones.geometry.blocks() / self.map.planes() * plane
    }

    /// Returns the plane and the class of the unit of a handle in a reclaim group. `stream` is its
    /// placement identifier.
    fn unit_of(&self, stream: StreamId) -> Option<(PlaneId, StreamId)> {
        let (group, handle) = self.handles?.unit(stream)?;
        Some((group.into(), handle as StreamId))
    }

    /// Returns the number of pages that the host can write to `stream`, a placement identifier, before
    /// that takes another block.
    pub fn room_of(&self, stream: StreamId) -> u32 {
        let pages = self.zones.geometry.pages_per_block();
        let open =
            self.unit_of(stream).and_then(|(plane, class)| self.map.open_block(plane, class));
        open.map_or(pages, |open| pages - open.next)
    }

    /// Lets the handle of `stream`, a placement identifier, write to another block from now on. Returns
    /// the number of unwritten pages in the block that it leaves; `None` if there is no such handle.
    ///
    /// # Errors
    /// A drive that is read-only or becomes so, and one with a recording: traces have no such
    /// request, and the counting drive would go on in the block.
    pub fn close_unit(&mut self, stream: StreamId) -> Result<Option<u32>, DeviceError> {
        self.check_writable()?;
        if self.recording.is_some() {
            return Err(DeviceError::Recorded);
        }
        // A collection may take the block next, and reads it from the medium: no page of it may wait.
        let Some((plane, class)) = self.unit_of(stream) else { return Ok(None) };
        let open = self.map.open_block(plane, class).filter(|open| open.next > 0);
        if let Some(OpenBlock { block, next, .. }) = open {
            let last = self.zones.geometry.ppn(block, next - 1);
            let written = self.stripes.write(self.media.as_mut(), &self.zones, last);
            written.map_err(|error| self.fail(error))?;
            self.stripes.forget(block);
        }
        Ok(self.map.close_unit(class, plane))
    }
}
