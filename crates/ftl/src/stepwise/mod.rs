//! A page map whose collections are taken one step at a time, for drives with a clock: any logical
//! page on any physical page of the plane that its writer names. Between two steps the host may
//! read, write and discard. No I/O, no time.
//!
//! A *plane* is what one victim search covers: it has its own host frontier and copy frontier, or an
//! open block for each class of a placement, pool of erased blocks, victim policy and random streams.
//! Blocks are numbered so that those of a plane are contiguous. With one plane, and every collection run to its end when it is due, the
//! decisions are those of [`PageMap`](crate::PageMap) with the pool frontier, to the digit.

mod audit;
mod fill;
mod map;
mod places;
mod tables;
mod zombies;

pub use map::PlaneMap;

use crate::allocation::Allocation;
use crate::blocks::{BlockId, BlockTable};
use crate::fill::Fill;
use crate::geometry::{Geometry, GeometryError};
use crate::placement::PlacementSpec;
use crate::translation::{Counters, FtlError};
use crate::zombies::ZombieCounts;

/// A plane number, 0 to the number of planes - 1.
pub type PlaneId = u32;

/// Erased blocks of a plane that host writes leave alone, without a placement: a victim's pages may
/// need one.
pub const RESERVED_BLOCKS: u32 = 1;

/// What a [`PlaneMap`] is made from.
#[derive(Clone, Copy)]
pub struct PlaneLayout<'a> {
    /// The whole drive's shape; its blocks are shared evenly by the planes.
    pub geometry: Geometry,
    /// Number of planes.
    pub planes: u32,
    /// Erased blocks that a plane keeps: its promised pages must leave room for them, for the open
    /// blocks and for what the placement keeps. At least [`RESERVED_BLOCKS`].
    pub blocks_kept: u32,
    /// Which open block of its plane a page goes to.
    pub placement: &'a PlacementSpec,
    /// Which erased block of a plane is used next.
    pub allocation: Allocation,
    /// What is on the drive at first.
    pub fill: Fill,
    /// The plane that each logical page is on at first.
    pub home: &'a dyn Fn(u32) -> PlaneId,
    /// Seed of the run. Plane 0 draws from the streams that the counting drive has, the others from
    /// streams of their own.
    pub seed: u64,
}

impl PlaneLayout<'_> {
    /// Blocks of one plane.
    ///
    /// # Errors
    /// No plane, more planes than blocks, or blocks that do not divide evenly.
    pub fn blocks_per_plane(&self) -> Result<u32, GeometryError> {
        let (blocks, planes) = (self.geometry.blocks(), self.planes);
        if planes == 0 || blocks / planes < 2 || !blocks.is_multiple_of(planes) {
            let nearest = (blocks / planes.max(1)).max(2).saturating_mul(planes.max(1));
            return Err(GeometryError(format!(
                "{blocks} blocks do not divide among {planes} planes, expected a multiple of the \
                 number of planes and two a plane at least; hint: try {nearest} blocks"
            )));
        }
        Ok(blocks / planes)
    }

    /// Blocks of a plane that can never hold promised pages: open ones, and those kept erased.
    fn kept(&self) -> u32 {
        self.blocks_kept.max(RESERVED_BLOCKS) + self.placement.blocks_kept().unwrap_or(2)
    }

    /// Whether a plane that is promised `promised` pages keeps enough blocks.
    fn check_room(&self, plane: PlaneId, promised: u32) -> Result<(), GeometryError> {
        let b = self.geometry.pages_per_block();
        let blocks = self.blocks_per_plane()?;
        let kept = u64::from(self.kept());
        if u64::from(promised) + kept * u64::from(b) <= u64::from(blocks) * u64::from(b) {
            return Ok(());
        }
        Err(GeometryError(format!(
            "plane {plane} has {blocks} blocks of {b} pages for {promised} promised pages, \
             expected {kept} blocks more than the pages fill, which its open blocks and its pool \
             keep; hint: more spare space, larger planes, or a lower threshold of collections"
        )))
    }
}

/// What a collection has picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its number among the blocks of the drive.
    pub block: BlockId,
    /// Valid pages when it was picked.
    pub valid: u32,
}

/// A page that a collection moves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The logical page.
    pub page: u32,
    /// Where it lies, as a ppn of the drive.
    pub from: u32,
}

/// What a host write finds in a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Pages left in the open block that it goes to; at 0 it takes an erased block.
    pub pages: u32,
    /// The write may go: what it needs is not kept for copies.
    pub is_open: bool,
}

/// A page map that collects step by step, whatever its policy: a virtual call an operation.
///
/// A collection of a plane is `begin_collection`, then for each [`Move`] that `next_move` gives
/// `copy` (or `merge`), then `erase`. At most one is under way in a plane. Every other call may come
/// between any two of these.
pub trait Stepwise: Send {
    /// The whole drive's shape.
    fn geometry(&self) -> &Geometry;

    /// Number of planes.
    fn planes(&self) -> u32;

    /// The plane of a ppn.
    fn plane_of(&self, ppn: u32) -> PlaneId;

    /// Where a logical page is, as a ppn; `None` if it has no data. The page is below the number
    /// of logical pages.
    fn locate(&self, page: u32) -> Option<u32>;

    /// Asks the processor to load the map entry of `page`, soon to be used. Any number is fine.
    fn prefetch(&self, page: u32);

    /// The same for what a write of `page` needs beside the map entry, which is read.
    fn prefetch_old(&self, page: u32);

    /// Erased blocks of `plane`.
    fn free_blocks(&self, plane: PlaneId) -> u32;

    /// The same, and one more where copies have opened the block that [`Stepwise::close_full`] said
    /// the host waits for: it takes none then.
    fn blocks_for_host(&self, plane: PlaneId) -> u32;

    /// Erased blocks of a plane that host writes leave alone: one collection may need as many.
    fn reserved_blocks(&self) -> u32;

    /// Blocks of a plane that are open at most.
    fn open_blocks(&self) -> u32;

    /// What a write of `page` finds in `plane`.
    fn host_room(&self, page: u32, plane: PlaneId) -> Room;

    /// Whether the next collection of `plane` makes a full host frontier a candidate first: never
    /// with a placement, where only [`Stepwise::close_full`] does.
    fn closes_frontier(&self, plane: PlaneId) -> bool;

    /// A write of `page` to `plane` waits for a collection: with a placement, the open block that it
    /// needs becomes a candidate if it is full. Call it before such a collection begins.
    fn close_full(&mut self, page: u32, plane: PlaneId);

    /// The collections that such a write waited for are over: the open block that it needed is
    /// replaced by an erased one where one is left to the host, unless copies did that.
    fn open_closed(&mut self, plane: PlaneId);

    /// Pages of `plane` that hold current data.
    fn valid_pages(&self, plane: PlaneId) -> u64;

    /// Pages without current data in the blocks of `plane` that may be picked: what collections
    /// there can gain.
    fn reclaimable_pages(&self, plane: PlaneId) -> u64;

    /// Whether a [`Stepwise::write`] of `page` finds room in `plane`.
    fn can_write(&self, page: u32, plane: PlaneId) -> bool {
        self.host_room(page, plane).is_open
    }

    /// The host writes `page`, to `plane`. Returns the new ppn; `None`, and nothing is done, where
    /// the open block that it needs is full and all erased blocks are reserved, or copies need the
    /// room that is left in it.
    ///
    /// # Errors
    /// A page that the drive does not have.
    fn write(&mut self, page: u32, plane: PlaneId) -> Result<Option<u32>, FtlError>;

    /// The host discards `page`. Returns where its data were.
    ///
    /// # Errors
    /// A page that the drive does not have.
    fn trim(&mut self, page: u32) -> Result<Option<u32>, FtlError>;

    /// The host will write `pages` soon: their data are zombies. As
    /// [`Translation::hint`](crate::Translation::hint).
    ///
    /// # Errors
    /// A page that the drive does not have.
    fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError>;

    /// The host takes back what it hinted of `pages`.
    ///
    /// # Errors
    /// A page that the drive does not have.
    fn cancel(&mut self, pages: &[u32]) -> Result<(), FtlError>;

    /// The power fails, and all hints are lost.
    fn power_loss(&mut self);

    /// What has become of zombies; `None` where they are not kept.
    fn zombies(&self) -> Option<ZombieCounts>;

    /// Picks a victim in `plane`; a full host frontier becomes a candidate before, where
    /// [`Stepwise::closes_frontier`] says so.
    ///
    /// # Errors
    /// Those of a collection of the counting drive: nothing to collect, or a policy that breaks its
    /// contract.
    fn begin_collection(&mut self, plane: PlaneId) -> Result<Victim, FtlError>;

    /// The victim that is being collected in `plane`.
    fn victim(&self, plane: PlaneId) -> Option<BlockId>;

    /// The next page of the victim that is still valid, in page order but for one that was
    /// preferred; `None` if only the erase is left.
    fn next_move(&mut self, plane: PlaneId) -> Option<Move>;

    /// Lets `page` be the next to move, if it is valid in the victim of `plane`; whether it is.
    fn prefer(&mut self, plane: PlaneId, page: u32) -> bool;

    /// Programs the page that `next_move` gave into the copy frontier, or into the open block of its
    /// class. Returns its new ppn; `None` if the page has died since, and nothing is programmed.
    ///
    /// # Errors
    /// No erased block is left for the copy.
    fn copy(&mut self, plane: PlaneId) -> Result<Option<u32>, FtlError>;

    /// As [`Stepwise::copy`], but what is programmed is new data of that page from the host: it
    /// counts as a host write, and goes where a copy of the page, were it no zombie, would. Returns
    /// the new ppn.
    ///
    /// # Errors
    /// Those of [`Stepwise::copy`].
    fn merge(&mut self, plane: PlaneId) -> Result<u32, FtlError>;

    /// Erases the victim, which has no valid page left, and ends the collection. Returns its number.
    fn erase(&mut self, plane: PlaneId) -> BlockId;

    /// What has been counted in `plane`.
    fn plane_counters(&self, plane: PlaneId) -> Counters;

    /// What has been counted in all planes.
    fn counters(&self) -> Counters {
        let planes = (0..self.planes()).map(|plane| self.plane_counters(plane));
        planes.fold(Counters::default(), |sum, counters| sum.plus(&counters))
    }

    /// The block table of `plane`, whose blocks are numbered from 0.
    fn blocks(&self, plane: PlaneId) -> &BlockTable;

    /// A digest of every decision so far; with one plane that of the counting drive.
    fn decisions(&self) -> u64;

    /// Checks every invariant; the text says which does not hold. O(physical pages).
    ///
    /// # Errors
    /// The first invariant that does not hold.
    fn audit(&self) -> Result<(), String>;

    /// Bytes of memory of the map, the tables and what the policies keep.
    fn memory_bytes(&self) -> u64;

    /// Writes `page` to `plane` as the counting drive does: where the host frontier is full and at
    /// most `low` blocks are erased, collections run to their end until more than `high` are.
    ///
    /// # Errors
    /// Those of the single steps.
    fn write_at_once(
        &mut self,
        page: u32,
        plane: PlaneId,
        low: u32,
        high: u32,
    ) -> Result<u32, FtlError> {
        // A placement may want the page elsewhere once it has been copied.
        while self.host_room(page, plane).pages == 0 && self.free_blocks(plane) <= low {
            self.close_full(page, plane);
            while self.blocks_for_host(plane) <= high {
                self.begin_collection(plane)?;
                while self.next_move(plane).is_some() {
                    self.copy(plane)?;
                }
                self.erase(plane);
            }
            self.open_closed(plane);
        }
        let written = self.write(page, plane)?;
        written.ok_or_else(|| FtlError::NoSpace("the pool of erased blocks is empty".to_string()))
    }
}
