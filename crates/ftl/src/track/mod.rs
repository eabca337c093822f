//! Trackers: data that the engine keeps up to date for a policy. A policy names its tracker;
//! without a tracker nothing is kept.

mod age;
mod close_order;
mod kinetic;
mod least;
mod order;
mod regions;
mod second_chance;
mod window;

pub use age::{AgeBasis, Ages};
pub use close_order::CloseOrder;
pub use kinetic::{Course, Kinetic, Score, Shift};
pub use least::{Least, Rank, Ties, Valid};
pub use regions::{Region, Regions};
pub use second_chance::SecondChance;
pub use window::Window;

use flashgc_base::snapshot::State;

use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;

/// The way in which a page came to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The host wrote new data.
    Host,
    /// The collection of a candidate copied the page.
    Copy,
    /// A fold copied the page: its data enter normal blocks for the first time.
    Fold,
}

impl Origin {
    /// Returns `true` if the data of the page are not new.
    pub fn is_copy(self) -> bool {
        self != Self::Host
    }
}

/// Bookkeeping that follows the blocks. The engine calls it at every change.
///
/// SLC blocks never become candidates. The tracker is not called for programs and deaths of their
/// pages. Their pages still hand on what they inherited, and [`Tracker::folded`] says when a fold
/// begins.
#[allow(unused_variables)] // the names say what an implementation is told
pub trait Tracker: State + Send {
    /// Bytes that the tracker keeps on a drive of this shape.
    fn bytes(shape: &Geometry) -> u64;

    /// `true` if the engine must call [`Tracker::pages_lost`]: the hot path costs nothing
    /// otherwise.
    const FOLLOWS_PAGES: bool = false;

    /// Pages died in the blocks `lost`, in this order; a block occurs once for every page. The
    /// table holds the counts after all of these deaths; open blocks occur, too. Called before the
    /// next collection.
    fn pages_lost(&mut self, blocks: &BlockTable, lost: &[BlockId]) {}

    /// `true` if the engine must call [`Tracker::pages_died`].
    const FOLLOWS_DEATHS: bool = false;

    /// The pages at the ppns `old` died. Entry k, counted from 0, died when the clock was `since` +
    /// k. An entry that is [`UNMAPPED`](crate::geometry::UNMAPPED) stands for no page. The table
    /// holds the state after all of these deaths; pages of open blocks occur, too. Called before
    /// the next collection.
    fn pages_died(&mut self, blocks: &BlockTable, old: &[u32], since: u64) {}

    /// `true` if the engine must call [`Tracker::pages_programmed`].
    const FOLLOWS_PROGRAMS: bool = false;

    /// `count` pages of one block were programmed, from ppn `first` on; the last of them now.
    fn pages_programmed(&mut self, blocks: &BlockTable, first: u32, count: u32) {}

    /// `true` if the engine must ask for [`Tracker::heritage`] and call [`Tracker::inherited`]. A
    /// heritage is a number that a page leaves to the page that takes its place.
    const FOLLOWS_ORIGINS: bool = false;

    /// Returns the heritage that the page at `ppn` leaves, when the clock is `time`, to the page
    /// that takes its place: a copy of it if `copied`, new data of the host otherwise.
    fn heritage(&self, ppn: u32, copied: bool, time: u64) -> u64 {
        0
    }

    /// The page at `ppn`, programmed when the clock was `time`, takes the place of a page with the
    /// heritage `heritage`; `None` if it replaces no page. Called for every page that is
    /// programmed, in order, before the deaths of the replaced pages are reported.
    fn inherited(&mut self, ppn: u32, heritage: Option<u64>, origin: Origin, time: u64) {}

    /// A fold of the SLC block `block` begins. At its end the block is erased. Called if the
    /// tracker follows origins.
    fn folded(&mut self, block: BlockId) {}

    /// `true` if the engine must keep zombies, and call [`Tracker::zombie_marked`] and
    /// [`Tracker::zombie_revived`].
    const FOLLOWS_ZOMBIES: bool = false;

    /// A page of a candidate has become a zombie; the table counts it.
    fn zombie_marked(&mut self, blocks: &BlockTable, block: BlockId) {}

    /// A zombie on a candidate is live again, not dead; the table no longer counts it.
    fn zombie_revived(&mut self, blocks: &BlockTable, block: BlockId) {}

    /// `block` became a candidate.
    fn closed(&mut self, blocks: &BlockTable, block: BlockId) {}

    /// Called before a pick, to finish postponed work.
    fn settle(&mut self, blocks: &BlockTable) {}

    /// `block` was picked, by the policy or to level wear, and is no longer a candidate. It is not
    /// yet erased.
    fn taken(&mut self, blocks: &BlockTable, block: BlockId) {}

    /// Checks that the kept data agree with the table; the text names a difference.
    fn audit(&self, blocks: &BlockTable) -> Result<(), String> {
        Ok(())
    }
}

/// The tracker of policies that need none: it keeps nothing.
impl Tracker for () {
    fn bytes(_: &Geometry) -> u64 {
        0
    }
}
