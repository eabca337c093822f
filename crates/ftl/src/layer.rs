//! The interface of every layer, whatever drives it: its counts, its wear, its digest, and its
//! capabilities.
//!
//! Every layer is a [`Layer`]. The counting drive drives one in batches
//! ([`Translation`](crate::Translation)), a drive with a clock one step at a time
//! ([`Stepwise`](crate::Stepwise)). A layer may lack a capability, so callers ask for it:
//! [`TakesStreams`], [`TakesHints`], [`ReportsMoves`]. There are no default methods that do
//! nothing.

use flashgc_base::counts::Counts;
use flashgc_base::snapshot::{State, Value};
use flashgc_base::stream::StreamId;

use crate::counters::{
    Counters, Levelled, MapTraffic, Merges, Packing, Skipped, StreamTotals, ZombieCounts,
};
use crate::error::{FtlError, FtlErrorKind};
use crate::geometry::Geometry;

use crate::scheme::Duplicates;
use crate::wear::Wear;

/// A translation layer with any mapping and any policies.
pub trait Layer: State + Send {
    /// The shape of the whole drive.
    fn geometry(&self) -> &Geometry;

    /// The counts that every layer keeps.
    fn counters(&self) -> Counters;

    /// The counts that only some layers keep.
    fn counts(&self) -> LayerCounts;

    /// The wear of the blocks; `None` if they withstand any number of erases.
    fn wear(&self) -> Option<&Wear>;

    /// Returns `true` if the drive's life is over: it is read-only, with all its data.
    fn has_ended(&self) -> bool {
        self.wear().is_some_and(Wear::has_ended)
    }

    /// The error of a drive that is read-only.
    fn read_only(&self) -> FtlError {
        FtlErrorKind::ReadOnly { bad_blocks: self.wear().map_or(0, Wear::bad_blocks) }.into()
    }

    /// A digest of every decision so far: which block was collected, with how many valid pages.
    fn decisions(&self) -> u64;

    /// Returns the layer as one to which streams are named; `None` if the writes of this drive name
    /// no streams.
    fn streams(&mut self) -> Option<&mut dyn TakesStreams>;

    /// Returns the layer as one that uses hints; `None` if neither the policy nor the placement
    /// uses them.
    fn hints(&mut self) -> Option<&mut dyn TakesHints>;

    /// Returns the layer as one that reports the pages that it moves; `None` if it cannot report
    /// them.
    fn moves(&mut self) -> Option<&mut dyn ReportsMoves>;

    /// Checks every invariant; the text says which does not hold. O(physical pages).
    ///
    /// # Errors
    /// The first invariant that does not hold.
    fn audit(&self) -> Result<(), String>;

    /// Bytes of memory of the map, the tables and the policies.
    fn memory_bytes(&self) -> u64;
}

/// Implements the methods of [`Layer`] that ask the layer's page store, its field `store`.
macro_rules! methods_of_store {
    () => {
        fn geometry(&self) -> &Geometry {
            &self.store.tables.geometry
        }

        fn wear(&self) -> Option<&Wear> {
            self.store.wear.as_ref()
        }

        fn decisions(&self) -> u64 {
            self.store.decisions()
        }

        fn streams(&mut self) -> Option<&mut dyn TakesStreams> {
            self.store.streams()
        }

        fn hints(&mut self) -> Option<&mut dyn TakesHints> {
            self.store.hints()
        }

        fn moves(&mut self) -> Option<&mut dyn ReportsMoves> {
            Some(&mut self.store)
        }

        fn memory_bytes(&self) -> u64 {
            self.store.bytes
        }
    };
}
pub(crate) use methods_of_store;

/// The counts that only some layers keep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct LayerCounts {
    /// The counts of the page buffer; `None` where pages are flash pages, and none waits.
    pub packing: Option<Packing>,
    /// The cost of wear levelling; [`Counters`] include it. `None` without it.
    pub levelled: Option<Levelled>,
    /// The pages that opened superblocks did not have; `None` where superblocks keep their size.
    pub skipped: Option<Skipped>,
    /// The counts of zombies; `None` where none are kept.
    pub zombies: Option<ZombieCounts>,
    /// The counts of streams; `None` where none are kept.
    pub streams: Option<StreamTotals>,
    /// The traffic of a map on flash; `None` for a mapping whose map is in memory.
    pub map_traffic: Option<MapTraffic>,
    /// Merges of log blocks, by kind; `None` for a mapping that has no log blocks.
    pub merges: Option<Merges>,
    /// Actions of collections on pages in the host's memory; `None` where they know of none.
    pub duplicates: Option<Duplicates>,
}

impl LayerCounts {
    /// The counts of a drive whose map is on flash, above a layer with these counts.
    pub fn with_map(self, traffic: MapTraffic) -> Self {
        let streams = self.streams.map(|streams| streams.with_map(traffic.writes));
        Self { map_traffic: Some(traffic), streams, ..self }
    }
}

/// A layer to which the stream of each write is named.
pub trait TakesStreams {
    /// Records the stream of the next write of each page: the entry of `streams` at the same index
    /// as the page, or no stream if `streams` is empty. Returns the number of pages, from the first
    /// on, whose streams are recorded. They are not all pages if a page occurs twice with different
    /// streams, or if there are too many for one call. The caller writes the recorded pages before
    /// it names the streams of the rest.
    ///
    /// A drive with a clock may have two writes of a page under way; both then have the stream that
    /// was named last.
    ///
    /// # Errors
    /// A page that the drive does not have.
    fn name(&mut self, pages: &[u32], streams: &[StreamId]) -> Result<usize, FtlError>;

    /// Returns the stream of the data that `page` has;
    /// [`NO_STREAM`](flashgc_base::stream::NO_STREAM) if the data have none, and for a page that
    /// the drive does not have.
    fn of(&self, page: u32) -> StreamId;

    /// Sets the stream of the data of each page, on a drive that has lost its table of streams.
    fn hold(&mut self, stream_of: &dyn Fn(u32) -> StreamId);
}

/// A layer that uses hints. A hint names pages whose new version waits in the host's cache. Such
/// pages are zombies: they are live, but not for long. A hint that is wrong, late or missing loses
/// no data.
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

    /// Returns `true` if `page`, which the drive has, is hinted: the host has data there and will
    /// write it soon.
    fn is_hinted(&mut self, page: u32) -> bool;

    /// The power fails: the host's cache is gone, and with it all hints.
    fn power_loss(&mut self);
}

/// A layer that reports which pages have changed their place.
pub trait ReportsMoves {
    /// From now on, notes every change of a page's place on flash.
    fn follow(&mut self);

    /// Appends the changes since the last call to `changes`, in order, and forgets them.
    fn drain(&mut self, changes: &mut Vec<Change>);
}

/// A change of a page's place on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Change {
    /// The user of the layer wrote or discarded this logical page.
    Written(u32),
    /// A collection moved this logical page.
    Copied(u32),
}
