//! Flash translation layer: state, decisions and transitions.
//!
//! No I/O, no clock, no threads, and no randomness but the
//! [`Stream`](flashgc_base::rng::Stream) it is handed. Start reading at the
//! page store (`store`); the policies are in [`victim`].

mod counters;
pub mod dftl;
mod error;
mod layer;
mod layout;
mod log_map;
mod order;
mod store;

pub mod allocation;
pub mod blocks;
pub mod collector;
pub mod endurance;
pub mod fill;
pub mod frontier;
pub mod geometry;
mod history;
pub mod levelling;
pub mod mapping;
mod page_buffer;
pub mod page_map;
pub mod placement;
mod remembers;
pub mod scheme;
mod slc;
pub mod stepwise;
mod streams;
pub mod track;
pub mod translation;
pub mod victim;
pub mod victims;
mod wear;

pub use allocation::{Allocation, allocation_policies};
pub use blocks::{BlockId, BlockTable, NOT_A_CANDIDATE};
pub use collector::collectors;
pub use counters::{
    Counters, Levelled, MapTraffic, Merges, Packing, StreamCounts, StreamTotals, ZombieCounts,
};
pub use endurance::{EndOfLife, Endurance, Lifespan};
pub use error::{FtlError, FtlErrorKind};
pub use fill::Fill;
pub use frontier::Frontier;
pub use geometry::{Geometry, GeometryError, UNMAPPED};
pub use history::NO_CLASS;
pub use layer::{Change, Layer, LayerCounts, ReportsMoves, TakesHints, TakesStreams};
pub use layout::{Layout, PlaneId, PlaneLayout};
pub use levelling::Levelling;
pub use mapping::{Mapping, mappings};
pub use page_buffer::PageBuffer;
pub use page_map::PageMap;
pub use placement::{
    Event, ExternalPlacement, Future, Handles, MakePlacement, PlacementSpec, Remembers,
    placement_policies,
};
pub use scheme::{Costs, Duplicates, Scheme, schemes};
pub use slc::{SlcBlocks, SlcRegion};
pub use stepwise::{Contents, FoldsSlc, OpenBlock, PlaneMap, Stepwise};
pub use translation::{FollowsReads, MakePageMap, SharesMemory, Translation};
pub use victim::{ByPlacement, External, ExternalPick, MakePick, VictimPolicy};
pub use victims::{Victim, VictimSpec, victim_policies};
pub use wear::{Cause, Moment, Wear};

use store::Asks;

/// Bytes of memory of a page map of this layout without its policy's: an estimate for
/// mappings that have no victim policy.
pub fn page_map_bytes(layout: &Layout) -> u64 {
    page_map::bytes(layout, Asks::default())
}
