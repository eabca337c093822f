//! A page map whose collections are taken one step at a time, for drives with a clock. The writer
//! of a page names the plane; the page may be on any physical page there. Between two steps the
//! host may read, write and discard. No I/O, no time.
//!
//! One victim search covers one *plane*. A plane has its own host frontier and copy frontier, or an
//! open block for each class of a placement. It has its own pool of erased blocks, victim policy
//! and random streams. Blocks are numbered so that those of a plane are contiguous. With one plane,
//! and if every collection runs to its end when it is due, the decisions are those of
//! [`PageMap`](crate::PageMap) with the pool frontier, to the digit.

mod homes;
mod plane_map;

pub use homes::Homes;
pub use plane_map::PlaneMap;

use flashgc_base::snapshot::Fault;
use flashgc_base::stream::StreamId;

use crate::blocks::{BlockId, BlockTable};
use crate::counters::Counters;
use crate::error::FtlError;
use crate::layer::Layer;
use crate::layout::PlaneId;
use crate::page_buffer::PageBuffer;
use crate::placement::Class;
use crate::slc::FoldOf;
use crate::smaller::Smaller;
pub use crate::store::{Contents, Move, OpenBlock, RESERVED_BLOCKS};

/// The victim of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VictimBlock {
    /// The number of the block in the drive.
    pub block: BlockId,
    /// Valid pages when it was picked.
    pub valid: u32,
}

/// The room that a host write finds in a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Pages left in the open block to which the write goes. At 0 the write takes an erased block.
    pub pages: u32,
    /// `true` if the write may proceed: the room that it needs is not kept for copies.
    pub is_open: bool,
    /// `true` if the page belongs in the SLC region, which is full. The write then waits until a
    /// block of it is folded or, if it may proceed, goes to a normal block.
    pub folds: bool,
    /// `true` if the write goes to a block in SLC mode.
    pub in_slc: bool,
    /// The pages that are programmed together in that block.
    pub together: u32,
}

/// A page map with any policy that collects step by step. An operation is one virtual call.
///
/// A collection of a plane is `begin_collection`, then for each [`Move`] that `next_move` gives
/// `copy` (or `merge`), then `erase`. At most one is under way in a plane. Every other call may
/// come between any two of these.
pub trait Stepwise: Layer {
    /// Number of planes.
    fn planes(&self) -> u32;

    /// The plane of a ppn.
    fn plane_of(&self, ppn: u32) -> PlaneId;

    /// Returns the ppn of a logical page; `None` if it has no data. The page is below the number of
    /// logical pages.
    fn locate(&self, page: u32) -> Option<u32>;

    /// Asks the processor to load the map entry of `page`, soon to be used. Any number is fine.
    fn prefetch(&self, page: u32);

    /// Asks the processor to load the data that a write of `page` needs beside the map entry. This
    /// call reads that entry.
    fn prefetch_old(&self, page: u32);

    /// Erased blocks of `plane`.
    fn free_blocks(&self, plane: PlaneId) -> u32;

    /// Erased blocks of `plane` as they count for a host that waits since [`Stepwise::close_full`]:
    /// [`Stepwise::free_blocks`], plus one if copies have already opened a block of the class for
    /// which the host waits. The host takes no erased block in this case.
    fn blocks_for_host(&self, plane: PlaneId) -> u32;

    /// Erased blocks of a plane that host writes do not take, because one collection may need them.
    fn reserved_blocks(&self) -> u32;

    /// The largest number of open blocks of a plane.
    fn open_blocks(&self) -> u32;

    /// The open block of `class` in `plane`; `None` if it has none.
    fn open_block(&self, plane: PlaneId, class: Class) -> Option<OpenBlock>;

    /// The entries of a new map, for each logical page its ppn or [`UNMAPPED`](crate::UNMAPPED).
    /// The caller fills them in place with the data of a drive, and then calls [`Stepwise::hold`].
    /// So a large drive's map is in memory only once.
    fn entries(&mut self) -> &mut [u32];

    /// Takes over the contents of a drive. The map is new, has one plane, and was made without
    /// data. After an error the map must not be used any more.
    ///
    /// # Errors
    /// Contents that contradict themselves, or are not those of a drive of this shape.
    fn hold(&mut self, contents: &Contents<'_>) -> Result<(), Fault>;

    /// The room that a write of `page` finds in `plane`.
    fn host_room(&self, page: u32, plane: PlaneId) -> Room;

    /// Returns `true` if the next collection of `plane` makes a full host frontier a candidate
    /// first: never with a placement, where only [`Stepwise::close_full`] does.
    fn closes_frontier(&self, plane: PlaneId) -> bool;

    /// Reports that a write of `page` to `plane` waits for a collection. With a placement, the open
    /// block that the write needs becomes a candidate if it is full. Call this before the
    /// collection begins.
    fn close_full(&mut self, page: u32, plane: PlaneId);

    /// Reports that the collections are over for which the write of [`Stepwise::close_full`]
    /// waited. An erased block replaces the open block that the write needs, if an erased block is
    /// left to the host and copies have not opened one already.
    fn open_closed(&mut self, plane: PlaneId);

    /// The host wants another block for its placement handle `stream`: the open block of the handle
    /// in `plane` becomes a candidate, full or not, unless it is still erased. No page is
    /// programmed, and the next write opens an erased block. Returns the number of pages that the
    /// block had left; `None` if the placement has no such handle. The drive must not have a page
    /// buffer.
    fn close_unit(&mut self, stream: StreamId, plane: PlaneId) -> Option<u32>;

    /// Pages of `plane` that hold current data.
    fn valid_pages(&self, plane: PlaneId) -> u64;

    /// Pages without current data in the blocks of `plane` that may be picked: the possible gain of
    /// collections there.
    fn reclaimable_pages(&self, plane: PlaneId) -> u64;

    /// Returns `true` if a [`Stepwise::write`] of `page` finds room in `plane`.
    fn can_write(&self, page: u32, plane: PlaneId) -> bool {
        self.host_room(page, plane).is_open
    }

    /// The host writes `page` to `plane`. Returns the new ppn. Returns `None` and does nothing if
    /// the open block that the page needs is full and all erased blocks are reserved, or if copies
    /// need the room that is left in that block.
    ///
    /// # Errors
    /// A page that the drive does not have.
    fn write(&mut self, page: u32, plane: PlaneId) -> Result<Option<u32>, FtlError>;

    /// Writes the first `most` of `pages` in order, each to its home, as [`Stepwise::write`] does.
    /// Stops before the first page that finds no room in an open block, that may go to an SLC
    /// block, or that the drive does not have. Returns the number of pages written. The data that
    /// later pages need are prefetched, also those beyond `most`.
    ///
    /// # Errors
    /// The errors of [`Stepwise::write`].
    fn write_ahead(&mut self, pages: &[u32], most: usize, homes: &Homes)
    -> Result<usize, FtlError>;

    /// The host discards `page`. Returns where its data were.
    ///
    /// # Errors
    /// A page that the drive does not have.
    fn trim(&mut self, page: u32) -> Result<Option<u32>, FtlError>;

    /// The page buffer: the number of mapping units in a flash page, and whether units that wait
    /// are protected.
    fn buffer(&self) -> PageBuffer;

    /// Units of the flash pages that a copy of the page at `ppn` reads: with a superblock the pages
    /// of all planes at its place that have a live unit; otherwise its page.
    fn units_to_read(&self, ppn: u32) -> u32;

    /// The first unit of the next flash page of the victim of `plane` that has a valid unit, from place `from`
    /// in the order of copies on, and the place behind it. `None` if there is none.
    fn next_live_page(&self, plane: PlaneId, from: u32) -> Option<(u32, u32)>;

    /// The position of the page at `ppn` in its flash page, from 0.
    fn unit_in_page(&self, ppn: u32) -> u32;

    /// The position of the page at `ppn` among those that are programmed with it, from 0.
    fn unit_in_program(&self, ppn: u32) -> u32;

    /// The number of pages that are programmed together at `ppn`: in a block in SLC mode those of one
    /// flash page.
    fn units_of_program(&self, ppn: u32) -> u32;

    /// The programs of a superblock that has got smaller; `None` for a whole block.
    fn smaller(&self, block: BlockId) -> Option<&Smaller>;

    /// Returns `true` if the page at `ppn` waits in the page buffer: its flash page is not
    /// programmed.
    fn is_buffered(&self, ppn: u32) -> bool;

    /// Returns `true` if the page at `ppn` lies behind those that were written to its open block.
    fn is_unwritten(&self, ppn: u32) -> bool;

    /// Programs, partly filled, one flash page of `plane` in which data of the host wait. Returns
    /// the ppn of its first unit; `None` if no such data wait.
    fn program_host_data(&mut self, plane: PlaneId) -> Option<u32>;

    /// Programs, partly filled, one flash page of `plane` in which copies wait. Returns the ppn of
    /// its first unit; `None` if no such data wait. Called before the erase of a block whose copies
    /// would be lost with the power.
    fn program_copies(&mut self, plane: PlaneId) -> Option<u32>;

    /// Picks a victim in `plane`. If [`Stepwise::closes_frontier`] says so, the full host frontier
    /// becomes a candidate first. `None` if the victim's pages find no room. This ends the drive's
    /// life, and the victim stays as it is.
    ///
    /// # Errors
    /// The errors of a collection of the counting drive: nothing to collect, or a policy that
    /// breaks its contract.
    fn begin_collection(&mut self, plane: PlaneId) -> Result<Option<VictimBlock>, FtlError>;

    /// Returns the plane to which the host writes `page`: `home`, or a plane of the reclaim group that the
    /// write names. `coming` has the writes on their way to each plane; it is empty if there are none.
    fn plane_of_write(&self, page: u32, home: PlaneId, coming: &[u32]) -> PlaneId;

    /// Returns the number of reclaim groups. Each has as many planes as the others, with consecutive numbers.
    fn groups(&self) -> u32;

    /// Returns the reclaim group that the next write of `page` names; `None` if it names none, or if the
    /// drive is one group.
    fn group_of_write(&self, page: u32) -> Option<u32>;

    /// Returns the SLC regions of the planes; `None` without any.
    fn slc(&self) -> Option<&dyn FoldsSlc>;

    /// Returns the SLC regions of the planes, for methods that change them; `None` without any.
    fn slc_mut(&mut self) -> Option<&mut dyn FoldsSlc>;

    /// The victim that is being collected in `plane`.
    fn victim(&self, plane: PlaneId) -> Option<BlockId>;

    /// The next page of the victim that is still valid, in page order except for a preferred one;
    /// `None` if only the erase is left.
    fn next_move(&mut self, plane: PlaneId) -> Option<Move>;

    /// Makes `page` the next to move, if it is valid in the victim of `plane`. Returns `true` if it
    /// is.
    fn prefer(&mut self, plane: PlaneId, page: u32) -> bool;

    /// Programs the page that `next_move` gave into the copy frontier, or into the open block of
    /// its class. Returns its new ppn; `None` if the page has died since, and nothing is
    /// programmed.
    ///
    /// # Errors
    /// No erased block is left for the copy.
    fn copy(&mut self, plane: PlaneId) -> Result<Option<u32>, FtlError>;

    /// Copies the next `count` valid pages of the victim, as [`Stepwise::next_move`] and
    /// [`Stepwise::copy`] do one by one. No other page is being moved.
    ///
    /// # Errors
    /// The errors of [`Stepwise::copy`].
    fn copy_pages(&mut self, plane: PlaneId, count: u32) -> Result<(), FtlError>;

    /// Returns `true` if the copies of a plane affect nothing outside that plane. The caller may
    /// then postpone them until after later copies of other planes.
    fn copies_on_its_own(&self) -> bool;

    /// Programs new data of the host for the page that `next_move` gave, in place of the copy that
    /// [`Stepwise::copy`] would make. This counts as a host write. The data go where a copy of the
    /// page would go if the page were no zombie. Returns the new ppn.
    ///
    /// # Errors
    /// The errors of [`Stepwise::copy`].
    fn merge(&mut self, plane: PlaneId) -> Result<u32, FtlError>;

    /// Erases the victim, which has no valid page left, and ends the collection. Returns its
    /// number.
    fn erase(&mut self, plane: PlaneId) -> BlockId;

    /// The counts of `plane`.
    fn plane_counters(&self, plane: PlaneId) -> Counters;

    /// The block table of `plane`, whose blocks are numbered from 0.
    fn blocks(&self, plane: PlaneId) -> &BlockTable;

    /// The digest of the decisions of several maps, each of some planes of one drive. `before` is
    /// the digest of the maps before this one; `None` for the first map.
    fn decisions_behind(&self, before: Option<u64>) -> Option<u64>;

    /// Writes `page` to `plane` as the counting drive does: where the host frontier is full and at
    /// most `low` blocks are erased, collections run to their end until more than `high` blocks are
    /// erased. Returns the new ppn; `None` at the end of the drive's life.
    ///
    /// # Errors
    /// The errors of the single steps.
    fn write_at_once(
        &mut self,
        page: u32,
        plane: PlaneId,
        low: u32,
        high: u32,
    ) -> Result<Option<u32>, FtlError> {
        // A collection may copy the page, and the placement may then give it another class.
        while self.host_room(page, plane).pages == 0 && self.free_blocks(plane) <= low {
            self.close_full(page, plane);
            while !self.has_ended() && self.blocks_for_host(plane) <= high {
                self.collect_at_once(plane)?;
            }
            if self.has_ended() {
                return Ok(None);
            }
            self.open_closed(plane);
        }
        let written = self.write(page, plane)?;
        if written.is_none() && !self.has_ended() {
            return Err(FtlError::no_space("the pool of erased blocks is empty"));
        }
        Ok(written)
    }

    /// Does a whole collection of `plane`, all steps at once. Nothing is moved if the drive's life
    /// ends with it.
    ///
    /// # Errors
    /// The errors of the single steps.
    fn collect_at_once(&mut self, plane: PlaneId) -> Result<(), FtlError>;
}

/// A layer with an SLC region in every plane: the host writes there first, and full blocks are
/// folded.
pub trait FoldsSlc {
    /// From now on, directs the host's writes into the regions. The host's pages are the logical
    /// pages below `pages`. Pages written before lie in normal blocks; pages of a map on flash
    /// always lie there.
    fn start(&mut self, pages: u32);

    /// Returns `true` if the page at `ppn` lies in an SLC block.
    fn holds(&self, ppn: u32) -> bool;

    /// Returns `true` if writes to `plane` wait until a block of its region is folded.
    fn waits_for_fold(&self, plane: PlaneId) -> bool;

    /// Returns `true` if an SLC block of `plane` is full and waits to be folded.
    fn has_full(&self, plane: PlaneId) -> bool;

    /// Returns `true` if a fold can begin in `plane`: a block `of` this kind waits for it, and its
    /// pages find room, if necessary in an erased block beyond the `low` blocks that are left for
    /// collections. For a lent block one erased block is enough, because its fold gives one back.
    fn can_fold(&self, plane: PlaneId, of: FoldOf, low: u32) -> bool;

    /// Returns `true` if a fold is under way in `plane` whose erase gives the pool nothing, because
    /// its block is set aside for SLC mode.
    fn folds_set_aside(&self, plane: PlaneId) -> bool;

    /// Begins to fold the next full SLC block of `plane` `of` this kind; [`FoldsSlc::can_fold`] must
    /// hold. From here on the fold is a collection.
    fn begin_fold(&mut self, plane: PlaneId, of: FoldOf) -> VictimBlock;
}
