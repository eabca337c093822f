//! Flash translation layer: state, decisions and transitions.
//!
//! This crate has no I/O, no clock and no threads. Its only random numbers are those of the
//! [`Stream`](flashgc_base::rng::Stream)s that callers give it. Start reading at the page store
//! (`store`); the policies are in [`victim`].
//!
//! # Addresses and memory
//! - A *page* of this crate is a mapping unit. If a flash page holds several (`page_buffer.rs`),
//!   each unit gets its place when it is written, so decisions are those of a drive of small pages.
//!   `store/buffer.rs` knows which units wait. It pads a flash page that is programmed before it is
//!   full.
//! - A physical page number is `block << offset_bits | offset`: one shift gives the block of a
//!   page, for any number of pages a block. The reverse map is dense (`block * b + offset`).
//! - The map takes 4 bytes a logical page, the reverse map 4 bytes a physical page, liveness one
//!   bit a physical page, and the block table 7 bytes a block. The policy's tracker is added. The
//!   sum is 8.5 bytes a logical page at 7% over-provisioning.
//! - `page_map::bytes` and `VictimPolicy::bytes` alone say how much memory a page map needs. The
//!   estimate before a run and `memory_bytes` are that number. A test compares it with the bytes
//!   that the allocator gave out.
//!
//! # One store, two drivers
//! The page store (`store`) has the tables, block states, programs, deaths, collections, zombies,
//! wear, preconditioning and audit. `page_map` drives it in batches that look ahead (counting
//! drive). `stepwise` drives it one operation at a time, so that requests may come between the
//! steps of a collection (timed drive). The mutators of the store assert their own invariants in
//! debug builds: a page dies once, a block does not overflow, a victim is erased empty.
//!
//! Every layer is a `Layer` (`layer.rs`): shape, counts, wear, digest, audit. The counting drive
//! drives a layer in batches (`Translation`), a drive with a clock one step at a time (`Stepwise`).
//! `mapping.rs` is the registry of mappings. A capability is a thing that a layer may lack: hints,
//! streams, reports of moved pages (`layer.rs`), reads that change something, the host's memory
//! (`translation.rs`), an SLC region (`stepwise`). Callers ask for it. There are no default methods
//! that do nothing.
//!
//! Planes share the blocks. Each plane has open blocks, a pool, a policy and streams of its own;
//! the counting drive has one plane. `store/sorting.rs` says which open block a page goes to, and
//! how much room the host's writes must leave for copies. Blocks that were never written are
//! candidates with no valid page. Under the pool frontier they wait in the pool instead.
//!
//! # Choices
//! - A block's valid count carries a mark (`NOT_A_CANDIDATE`) while the block may not be picked. So
//!   the search for the minimum need not ask whether a block may be picked.
//! - A policy names its tracker (`track`). The engine keeps that tracker up to date and no other.
//!   Trackers get dead pages in batches, between two collections.
//! - A policy that collects within a class of blocks keeps the classes in its tracker
//!   (`track/regions.rs`), which learns for every page whether it is a copy. So no placement says
//!   from which class the next victim comes.
//! - A kinetic tournament (`track/kinetic.rs`) serves scores that grow with age. Each match of its
//!   tree knows when its winner will be overtaken, and is played again only then.
//! - Static wear levelling (`levelling.rs`) takes a candidate that is not the policy's pick. So a
//!   tracker may lose any candidate; each removes one in O(1) or O(log N).
//! - A policy that asks gets the history of blocks (`history.rs`): their classes, and when they
//!   became candidates on two clocks.
//! - A placement (`placement`) gives the class of open block for a page. Without a placement the
//!   frontier decides. `store/sorting.rs` asks it, and reports writes, TRIMs, copies with the
//!   classes they came from, and opened and collected blocks. It reports them on two clocks
//!   (programs, and writes of the host). The answers of a placement are pure, so both drivers may
//!   ask as often as they like.
//! - A placement that must know future writes gets a `Future` when it is made. The counting drive
//!   makes one by reading the workload a second time. A placement may have two capabilities: to see
//!   the tables of blocks, up to date after each page (`SeesBlocks`), and to pick the victims
//!   itself (`PicksVictims`).
//!
//! # What the host says
//! - Hints are a mark in the map entry and a count a block (`store/zombies.rs`). With a map on
//!   flash a hint uses the entry of its page. They are kept only where a policy or a placement asks
//!   for them. `couples.rs` has pairs of both under one name.
//! - Streams of writes (`streams.rs`) are kept if the workload names any: a byte a page for the
//!   stream of its data, a byte for the stream of its next write, and the counts of every stream. A
//!   drive names the stream of a page before it writes the page (`TakesStreams`); the placement
//!   gets the stream when it is asked for a class. The streams of a workload are in its batches and
//!   requests. `--streams` wraps any workload and gives its writes streams by their addresses; the
//!   stored drive has the same table of addresses.
//! - A collection that may look into the host's memory asks through `flashgc_base::residency`.
//!   `scheme.rs` has the rules for cached pages.
//!
//! # Other maps
//! Log-block maps (`log_map`) map data blocks by blocks and a few log blocks by pages. `hybrid.rs`
//! is the flash and its merges; `fast.rs` and `bast.rs` are the ways to use log blocks. `dftl`
//! keeps a page map on flash and a part of it in memory. `dftl/cache.rs` says what must be read and
//! programmed. Without a clock the reads and programs are done at once (`dftl/at_once.rs`, for both
//! drives). With a clock the timed drive's room `mapping` does them.

mod bad_blocks;
mod copy_order;
mod counters;
pub mod dftl;
mod error;
mod layer;
mod layout;
mod log_map;
mod losses;
mod order;
mod store;

pub mod allocation;
pub mod blocks;
pub mod couples;
pub mod endurance;
pub mod fill;
pub mod frontier;
pub mod geometry;
mod groups;
mod history;
pub mod levelling;
pub mod mapping;
mod members;
mod page_buffer;
pub mod page_map;
pub mod placement;
mod programs;
mod remembers;
pub mod scheme;
mod slc;
mod smaller;
pub mod stepwise;
mod streams;
pub mod track;
pub mod translation;
pub mod victim;
pub mod victims;
mod wear;

pub use allocation::{Allocation, allocation_policies};
pub use bad_blocks::BadBlocks;
pub use blocks::{BlockId, BlockTable, NOT_A_CANDIDATE};
pub use copy_order::CopyOrder;
pub use counters::{
    Counters, Levelled, MapTraffic, Merges, Packing, Skipped, StreamCounts, StreamTotals,
    ZombieCounts,
};
pub use couples::{Couple, couples};
pub use endurance::{EndOfLife, Endurance, Law, Lifespan};
pub use error::{FtlError, FtlErrorKind};
pub use fill::Fill;
pub use frontier::Frontier;
pub use geometry::{Geometry, GeometryError, UNMAPPED};
pub use groups::GroupHomes;
pub use history::NO_CLASS;
pub use layer::{Change, Layer, LayerCounts, ReportsMoves, TakesHints, TakesStreams};
pub use layout::{Layout, PlaneId, PlaneLayout};
pub use levelling::Levelling;
pub use losses::Shrunk;
pub use mapping::{Mapping, mappings};
pub use members::{MemberProgram, Members, ProgramPlace};
pub use page_buffer::{PageBuffer, SecondPass};
pub use page_map::PageMap;
pub use placement::{
    Event, ExternalPlacement, Future, Handles, MakePlacement, PlacementSpec, Remembers,
    placement_policies,
};
pub use programs::{PartParity, Programs};
pub use scheme::{Costs, Duplicates, Scheme, schemes};
pub use slc::{FoldOf, Lending, SlcBlocks, SlcRegion};
pub use smaller::{Shrinking, Smaller};
pub use stepwise::{Contents, FoldsSlc, OpenBlock, PlaneMap, Stepwise};
pub use translation::{FollowsReads, MakePageMap, SharesMemory, Translation};
pub use victim::{ByPlacement, External, ExternalPick, MakePick, VictimPolicy};
pub use victims::{Victim, VictimSpec, victim_policies};
pub use wear::{Cause, Moment, Wear};

use store::Asks;

/// Bytes of memory of a page map of this layout, without those of its policy. It is an estimate for
/// mappings that have no victim policy.
pub fn page_map_bytes(layout: &Layout) -> u64 {
    page_map::bytes(layout, Asks::default())
}
