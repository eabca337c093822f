//! The translation layer from outside, the same for every mapping and policy.
//!
//! Every layer is a [`Translation`]. A layer may lack a capability, so callers ask for it:
//! [`TakesHints`], [`FollowsReads`], [`SharesMemory`], [`ReportsCopies`]. Nothing has a default
//! that does nothing.

use flashgc_base::residency::Residency;
use flashgc_base::snapshot::State;
use flashgc_base::spec::SpecError;
use flashgc_base::stream::StreamId;

use crate::blocks::{BlockId, BlockTable};
use crate::counters::{Counters, Levelled, MapTraffic, Merges, StreamTotals, ZombieCounts};

use crate::error::{FtlError, FtlErrorKind};
use crate::geometry::Geometry;
use crate::layout::Layout;
use crate::page_buffer::Packing;
use crate::scheme::{Costs, Duplicates, Scheme};
use crate::store::Wear;

/// Makes a page map: a mapping is one, or lies on one.
pub type MakePageMap<'a> = &'a dyn Fn(Layout) -> Result<Box<dyn Translation>, FtlError>;

/// A translation layer, whatever its policy: the one virtual call is at the batch.
pub trait Translation: State + Send {
    /// Writes `pages` in order, but stops before a write that needs a collection once there have
    /// been `collections` of them since the layer was made, and at the end of the drive's life.
    /// Returns how many pages it wrote.
    ///
    /// # Errors
    /// A page that the drive does not have; collecting that frees nothing; a policy that breaks its
    /// contract. The pages before the one that found no room are written.
    fn write_until(&mut self, pages: &[u32], collections: u64) -> Result<usize, FtlError>;

    /// Writes `pages` in order, collecting garbage where it must.
    ///
    /// # Errors
    /// Those of [`Translation::write_until`], and a drive that is read-only.
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

    /// Returns the layer as a taker of streams; `None` where writes name none.
    fn streams(&mut self) -> Option<&mut dyn TakesStreams>;

    /// The counts of streams; `None` where none are kept.
    fn stream_totals(&self) -> Option<&StreamTotals>;

    /// Returns the layer as a taker of hints; `None` where neither policy nor placement has a use for
    /// them.
    fn hints(&mut self) -> Option<&mut dyn TakesHints>;

    /// Returns the layer as a follower of reads; `None` where a read changes nothing.
    fn reads(&mut self) -> Option<&mut dyn FollowsReads>;

    /// Returns the layer as a user of the host's memory by collections; `None` where they cannot look
    /// into it.
    fn memory(&mut self) -> Option<&mut dyn SharesMemory>;

    /// Returns the layer as a reporter of the pages that collections copy; `None` where it cannot tell
    /// them.
    fn copies(&mut self) -> Option<&mut dyn ReportsCopies>;

    /// Counts of zombies; `None` where none are kept.
    fn zombies(&self) -> Option<ZombieCounts>;

    /// The wear of the blocks; `None` where they bear any number of erases.
    fn wear(&self) -> Option<&Wear>;

    /// The cost of wear levelling so far; the counters include it. `None` without it.
    fn levelled(&self) -> Option<Levelled>;

    /// Returns `true` if the drive's life is over: it is read-only, with all its data.
    fn has_ended(&self) -> bool {
        self.wear().is_some_and(Wear::has_ended)
    }

    /// The error of a drive that is read-only.
    fn read_only(&self) -> FtlError {
        FtlErrorKind::ReadOnly { bad_blocks: self.wear().map_or(0, Wear::bad_blocks) }.into()
    }

    /// The drive's shape.
    fn geometry(&self) -> &Geometry;

    /// The block table.
    fn blocks(&self) -> &BlockTable;

    /// The counts so far.
    fn counters(&self) -> Counters;

    /// The host wants all that it has written to survive a loss of power. Pages that wait for others in
    /// a page buffer without protection are programmed.
    fn flush(&mut self);

    /// The counts of the page buffer; `None` where pages are flash pages, and none waits.
    fn packing(&self) -> Option<Packing>;

    /// The traffic of a map on flash; `None` for a mapping whose map is in memory.
    fn map_traffic(&self) -> Option<MapTraffic>;

    /// The counts of merges of log blocks, by kind; `None` for a mapping that has no log blocks.
    fn merges(&self) -> Option<Merges>;

    /// Counts of actions on pages in memory; zero where collections know of none.
    fn duplicates(&self) -> Duplicates;

    /// A digest of every decision so far: which block was collected, with how many valid pages.
    fn decisions(&self) -> u64;

    /// Returns the block of a logical page and its offset there; `None` if it has no data.
    fn locate(&self, page: u32) -> Option<(BlockId, u32)>;

    /// Checks every invariant; the text says which does not hold. O(physical pages).
    ///
    /// # Errors
    /// The first invariant that does not hold.
    fn audit(&self) -> Result<(), String>;

    /// Bytes that a controller needs in its memory for such a map: 4 a page that is mapped by
    /// pages, 4 a block that is mapped by blocks.
    fn map_bytes(&self) -> u64;

    /// Bytes of memory of the map, the tables and the policy.
    fn memory_bytes(&self) -> u64;
}

/// A layer that is told the stream of each write.
pub trait TakesStreams {
    /// The next write of each of `pages` belongs to the stream beside it; to none if `streams` is empty.
    /// Returns of how many pages, from the first on, it has taken note: less than all where a page comes
    /// twice in different streams. The caller writes so many pages before it names the rest.
    ///
    /// A drive with a clock may have two writes of a page under way; the stream named last is then that
    /// of both.
    ///
    /// # Errors
    /// A page that the drive does not have.
    fn name(&mut self, pages: &[u32], streams: &[StreamId]) -> Result<usize, FtlError>;

    /// Gives a stream to the data that each page has now, on a drive that has lost what it knew.
    fn hold(&mut self, stream_of: &dyn Fn(u32) -> StreamId);
}

/// A layer that heeds hints: pages whose new version waits in the host's cache are zombies, alive but
/// not for long. Nothing is lost by a hint that is wrong, late or missing.
pub trait TakesHints {
    /// The host will write `pages` soon.
    ///
    /// # Errors
    /// A page that the drive does not have.
    fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError>;

    /// The host takes back its hints on `pages`.
    ///
    /// # Errors
    /// A page that the drive does not have.
    fn cancel(&mut self, pages: &[u32]) -> Result<(), FtlError>;

    /// Returns `true` if `page`, which the drive has, is hinted: the host has data there and will write
    /// it soon.
    fn is_hinted(&self, page: u32) -> bool;

    /// The power fails: the host's cache is gone, and with it all hints.
    fn power_loss(&mut self);
}

/// A layer that reads change.
pub trait FollowsReads {
    /// The host reads `pages`, in order.
    ///
    /// # Errors
    /// A page that the drive does not have; those of the writes that reading may cause.
    fn read(&mut self, pages: &[u32]) -> Result<(), FtlError>;
}

/// A layer whose collections may look into the host's memory.
pub trait SharesMemory {
    /// Lets collections know the pages in `memory` and treat them as `scheme` says. Called before
    /// the first write, with the memory that [`SharesMemory::swap_out`] is called with.
    ///
    /// # Errors
    /// A scheme that this mapping has no use for.
    fn share(
        &mut self,
        scheme: Scheme,
        costs: Costs,
        memory: &mut dyn Residency,
    ) -> Result<(), SpecError>;

    /// Writes `page`, which has just left `memory`; collections may leave its pages to `memory`.
    ///
    /// # Errors
    /// Those of [`Translation::write`].
    fn swap_out(&mut self, page: u32, memory: &mut dyn Residency) -> Result<(), FtlError>;

    /// [`Translation::audit`], and whether the data kept about `memory` are true.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    fn audit_beside(&mut self, memory: &mut dyn Residency) -> Result<(), String>;
}

/// A layer that tells which pages collections copy.
pub trait ReportsCopies {
    /// Begins to note them.
    fn follow(&mut self);

    /// Appends to `pages` the logical pages that collections have copied since the last call, in
    /// that order, and forgets them.
    fn drain(&mut self, pages: &mut Vec<u32>);
}
