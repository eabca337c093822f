//! The layer of a drive without a clock: it is driven in batches.
//!
//! [`Layer`] has all that layers share. Two more capabilities may be absent: [`FollowsReads`] and
//! [`SharesMemory`].

use flashgc_base::residency::Residency;
use flashgc_base::spec::SpecError;

use crate::blocks::{BlockId, BlockTable};
use crate::error::FtlError;
use crate::layer::Layer;
use crate::layout::{Layout, PlaneId};
use crate::scheme::{Costs, Scheme};

/// Makes a page map: the mapping itself, or the map that lies below another mapping.
pub type MakePageMap<'a> = &'a dyn Fn(Layout) -> Result<Box<dyn Translation>, FtlError>;

/// A translation layer with any policy. A batch costs one virtual call.
pub trait Translation: Layer {
    /// Writes `pages` in order. It stops at the end of the drive's life. It also stops before a
    /// write that needs a collection if the layer has done `collections` collections since it was
    /// made. Returns how many pages it wrote.
    ///
    /// # Errors
    /// A page that the drive does not have; collecting that frees nothing; a policy that breaks its
    /// contract. The pages before the page that found no room are written.
    fn write_until(&mut self, pages: &[u32], collections: u64) -> Result<usize, FtlError>;

    /// Writes `pages` in order, collecting garbage where it must.
    ///
    /// # Errors
    /// The errors of [`Translation::write_until`], and a drive that is read-only.
    fn write(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        match self.write_until(pages, u64::MAX)? {
            written if written == pages.len() => Ok(()),
            _ => Err(self.read_only()),
        }
    }

    /// Discards `pages`: their data are dead.
    ///
    /// # Errors
    /// A page that the drive does not have, a drive that is read-only.
    fn trim(&mut self, pages: &[u32]) -> Result<(), FtlError>;

    /// Returns the layer as a follower of reads; `None` where a read changes nothing.
    fn reads(&mut self) -> Option<&mut dyn FollowsReads>;

    /// Returns the layer as one whose collections look into the host's memory; `None` if they
    /// cannot.
    fn memory(&mut self) -> Option<&mut dyn SharesMemory>;

    /// The number of planes: one for each reclaim group.
    fn planes(&self) -> u32 {
        1
    }

    /// The block table of a plane.
    fn blocks(&self, plane: PlaneId) -> &BlockTable;

    /// The host wants all that it has written to survive a loss of power. Pages that wait for
    /// others in a page buffer without protection are programmed.
    fn flush(&mut self);

    /// Returns the block of a logical page and its offset there; `None` if it has no data.
    fn locate(&self, page: u32) -> Option<(BlockId, u32)>;

    /// Bytes that a controller needs in its memory for such a map. A page map takes 4 bytes for
    /// each logical page. A log-block mapping takes 4 bytes for each logical block, and 4 for each
    /// page of its log blocks.
    fn map_bytes(&self) -> u64;
}

/// A layer whose state changes with reads.
pub trait FollowsReads {
    /// The host reads `pages`, in order.
    ///
    /// # Errors
    /// A page that the drive does not have, or an error of the writes that reading may cause.
    fn read(&mut self, pages: &[u32]) -> Result<(), FtlError>;
}

/// A layer whose collections may look into the host's memory.
pub trait SharesMemory {
    /// Lets collections know the pages in `memory` and treat them as `scheme` says. The caller
    /// calls this method before the first write, and later gives the same memory to
    /// [`SharesMemory::swap_out`].
    ///
    /// # Errors
    /// A scheme that this mapping cannot use.
    fn share(
        &mut self,
        scheme: Scheme,
        costs: Costs,
        memory: &mut dyn Residency,
    ) -> Result<(), SpecError>;

    /// Writes `page`, which `memory` has just evicted. The collections that this needs may leave
    /// pages to `memory`.
    ///
    /// # Errors
    /// The errors of [`Translation::write`].
    fn swap_out(&mut self, page: u32, memory: &mut dyn Residency) -> Result<(), FtlError>;

    /// Does [`Layer::audit`], and checks the data that are kept about `memory`.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    fn audit_beside(&mut self, memory: &mut dyn Residency) -> Result<(), String>;
}
