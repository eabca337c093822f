//! Flash translation layer: state, decisions and transitions.
//!
//! No I/O, no clock, no threads, and no randomness but the
//! [`Stream`](flashgc_base::rng::Stream) it is handed. Start reading at [`page_map`]; the policies
//! are in [`victim`].

mod audit;
mod collect;
mod dftl;
mod log_map;
mod order;
mod table;
mod zombies;

pub mod allocation;
pub mod blocks;
pub mod collector;
pub mod endurance;
pub mod fill;
pub mod frontier;
pub mod geometry;
pub mod levelling;
pub mod mapping;
pub mod page_map;
pub mod placement;
pub mod scheme;
pub mod stepwise;
pub mod track;
pub mod translation;
pub mod victim;

pub use allocation::{Allocation, allocation_policies};
pub use blocks::{BlockId, BlockTable, NOT_A_CANDIDATE};
pub use collector::collectors;
pub use endurance::{EndOfLife, Endurance, Lifespan, Wear};
pub use fill::Fill;
pub use frontier::Frontier;
pub use geometry::{Geometry, GeometryError};
pub use levelling::{Levelled, Levelling};
pub use mapping::{Mapping, mappings};
pub use page_map::PageMap;
pub use placement::{PlacementSpec, placement_policies};
pub use scheme::{Costs, Duplicates, Scheme, schemes};
pub use stepwise::{PlaneLayout, PlaneMap, Stepwise};
pub use translation::{Counters, FtlError, Layout, MapTraffic, Merges, Translation};
pub use victim::{External, ExternalPick, VictimPolicy, VictimSpec, victim_policies};
pub use zombies::ZombieCounts;
