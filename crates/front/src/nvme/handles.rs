//! The placement handles of a drive, and the placement identifiers that name them.
//!
//! The upper bits of an identifier name the reclaim group, as few as there need be: none on a drive
//! of one group. The other bits are the number of a handle in the list of the namespace.
//!
//! # Source
//! NVM Express Base Specification 2.1, flexible data placement.

use flashgc_base::stream::StreamId;

/// The handles of a drive that takes the streams of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handles {
    /// The number of handles.
    pub count: u16,
    /// Handles with a smaller number than this are persistently isolated; the others are initially
    /// isolated.
    pub persistent: u16,
    /// The number of reclaim groups.
    pub groups: u16,
}

impl Handles {
    /// Returns the number of bits of a placement identifier that name the reclaim group.
    pub fn group_bits(self) -> u32 {
        self.groups.saturating_sub(1).checked_ilog2().map_or(0, |most| most + 1)
    }

    /// Returns the placement identifier of a handle in a reclaim group.
    pub fn identifier(self, group: u16, handle: u16) -> u16 {
        match self.group_bits() {
            0 => handle,
            bits => group << (u16::BITS - bits) | handle,
        }
    }

    /// Returns the reclaim group and the handle that a placement identifier names; `None` if it names
    /// none.
    pub fn named(self, identifier: u16) -> Option<(u16, u16)> {
        let shift = u16::BITS - self.group_bits();
        let group = identifier.checked_shr(shift).unwrap_or(0);
        let handle = identifier & (u16::MAX >> self.group_bits());
        (group < self.groups && handle < self.count).then_some((group, handle))
    }

    /// Returns the stream of the drive that writes to a handle in a reclaim group.
    pub fn stream(self, group: u16, handle: u16) -> StreamId {
        (group * self.count + handle) as StreamId
    }
}
