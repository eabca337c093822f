//! The block table: valid counts, which pages are live, erase counts, and which blocks a policy
//! may pick.

use flashgc_base::snapshot::State;

use std::any::Any;
use std::sync::{Arc, Mutex};

use crate::geometry::Geometry;
use crate::history::{Class, History, Kept, NO_CLASS};
use flashgc_base::table::bytes_of;

/// A block number, 0 to N - 1.
pub type BlockId = u32;

/// Bit of a valid count that is set while the block may not be picked: it is open, or waits erased
/// in a pool. With this bit, a count is larger than that of every candidate. So a search for the
/// minimum need not ask whether a block may be picked.
pub const NOT_A_CANDIDATE: u32 = 1 << 30;

/// A store that outlives a block table. When the table is dropped, its columns move here for
/// readers that still use them.
pub type Keeper = Arc<Mutex<Option<Box<dyn Any + Send>>>>;

/// The keeper of a table whose columns were lent. A cloned table has no keeper.
#[derive(Debug)]
struct Lent(Option<Keeper>);

impl Clone for Lent {
    fn clone(&self) -> Self {
        Self(None)
    }
}

/// The policy's view of the blocks.
#[derive(Clone, Debug, State)]
#[snapshot(named = "block table")]
pub struct BlockTable {
    /// Valid and lost pages of each block, with [`NOT_A_CANDIDATE`] set where it applies.
    #[snapshot(table)]
    counts: Vec<u32>,
    /// The pages that each block has lost with bad blocks; empty if superblocks do not shrink. They are not
    /// saved, because the erases and the endurance give them.
    #[snapshot(skip)]
    lost: Vec<u32>,
    /// The pages that candidates have lost.
    #[snapshot(skip)]
    lost_of_candidates: u64,
    #[snapshot(table)]
    erases: Vec<u32>,
    /// `true` for a block that was programmed since its last erase.
    #[snapshot(table)]
    programmed: Vec<bool>,
    /// Zombies of each block; empty if zombies are not counted.
    #[snapshot(table)]
    zombies: Vec<u32>,
    #[snapshot(state)]
    history: Kept,
    candidates: u32,
    #[snapshot(skip)]
    blocks: u32,
    #[snapshot(skip)]
    pages_per_block: u32,
    #[snapshot(skip)]
    first: BlockId,
    clock: u64,
    #[snapshot(skip)]
    lent: Lent,
}

impl BlockTable {
    /// A table with a shape but without columns. It serves to check that a policy can be made,
    /// before the memory of a drive is allocated.
    pub(crate) fn of_shape(geometry: &Geometry) -> Self {
        Self {
            counts: Vec::new(),
            lost: Vec::new(),
            lost_of_candidates: 0,
            erases: Vec::new(),
            programmed: Vec::new(),
            zombies: Vec::new(),
            history: Kept::default(),
            candidates: 0,
            blocks: geometry.blocks(),
            pages_per_block: geometry.pages_per_block(),
            first: 0,
            clock: 0,
            lent: Lent(None),
        }
    }

    /// Bytes of a table of `blocks` blocks.
    pub(crate) fn bytes(blocks: u32) -> u64 {
        let blocks = blocks as usize;
        bytes_of::<u32>(blocks) + bytes_of::<u32>(blocks) + bytes_of::<bool>(blocks)
    }

    /// Bytes of the counts of lost pages.
    pub(crate) fn lost_bytes(blocks: u32) -> u64 {
        bytes_of::<u32>(blocks as usize)
    }

    /// A table of N erased blocks, none of which is a candidate.
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let blocks = geometry.blocks() as usize;
        Self {
            counts: vec![NOT_A_CANDIDATE; blocks],
            lost: Vec::new(),
            lost_of_candidates: 0,
            erases: vec![0; blocks],
            programmed: vec![false; blocks],
            zombies: Vec::new(),
            history: Kept::default(),
            candidates: 0,
            blocks: geometry.blocks(),
            pages_per_block: geometry.pages_per_block(),
            first: 0,
            clock: 0,
            lent: Lent(None),
        }
    }

    /// A table of a plane's N erased blocks. The first of them is block `first` of the drive.
    pub(crate) fn from_block(first: BlockId, geometry: &Geometry) -> Self {
        let mut blocks = Self::new(geometry);
        blocks.first = first;
        blocks
    }

    /// A table for tests of policies: one entry a block, `Some(valid pages)` for a candidate and
    /// `None` for an open block. It keeps a history, in which nothing has happened.
    pub fn from_counts(pages_per_block: u32, counts: &[Option<u32>]) -> Self {
        Self {
            counts: counts.iter().map(|count| count.unwrap_or(NOT_A_CANDIDATE)).collect(),
            lost: Vec::new(),
            lost_of_candidates: 0,
            erases: vec![0; counts.len()],
            programmed: vec![true; counts.len()],
            zombies: Vec::new(),
            history: Kept(Some(Box::new(History::new(counts.len() as u32, NO_CLASS)))),
            candidates: counts.iter().flatten().count() as u32,
            blocks: counts.len() as u32,
            pages_per_block,
            first: 0,
            clock: 0,
            lent: Lent(None),
        }
    }

    /// Lends the columns: when the table is dropped, the keeper takes them over. So a reader that
    /// holds the keeper may go on reading their memory. The columns never move. All readers share
    /// one keeper.
    pub fn lend(&mut self) -> Keeper {
        Arc::clone(self.lent.0.get_or_insert_default())
    }

    /// N, the number of blocks.
    #[inline]
    pub fn len(&self) -> u32 {
        self.blocks
    }

    /// The number that block 0 of this table has in the drive. It is above 0 for planes after the
    /// first.
    pub fn first(&self) -> BlockId {
        self.first
    }

    /// Returns `false`: a drive has at least two blocks.
    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// b, the number of pages of a block.
    #[inline]
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Pages of `block` that a collection does not free, with [`NOT_A_CANDIDATE`] set where it may not be
    /// picked.
    #[inline]
    pub fn masked_count(&self, block: BlockId) -> u32 {
        self.counts[block as usize]
    }

    /// The masked counts of all blocks, in order of block number.
    #[inline]
    pub fn masked_counts(&self) -> &[u32] {
        &self.counts
    }

    /// Pages of `block` that a collection does not free: the valid pages and, in a superblock that has got
    /// smaller, the lost ones.
    #[inline]
    pub fn valid(&self, block: BlockId) -> u32 {
        self.masked_count(block) & !NOT_A_CANDIDATE
    }

    /// Pages of `block` with current data.
    #[inline]
    pub fn live(&self, block: BlockId) -> u32 {
        self.valid(block) - self.lost(block)
    }

    /// Pages that `block` has lost with bad blocks; 0 if superblocks do not shrink.
    #[inline]
    pub fn lost(&self, block: BlockId) -> u32 {
        self.lost.get(block as usize).copied().unwrap_or_default()
    }

    /// The pages that the candidates have lost.
    pub(crate) fn lost_of_candidates(&self) -> u64 {
        self.lost_of_candidates
    }

    /// Begins to count the pages that blocks lose.
    pub(crate) fn keep_lost(&mut self) {
        self.lost = vec![0; self.counts.len()];
    }

    /// Sets the pages that `block` has lost, which is erased.
    pub(crate) fn set_lost(&mut self, block: BlockId, lost: u32) {
        debug_assert!(self.live(block) == 0 && !self.is_candidate(block));
        self.lost[block as usize] = lost;
        self.counts[block as usize] = NOT_A_CANDIDATE | lost;
    }

    /// Sets the pages that each block has lost, in order of block number, to the counts as they were saved.
    pub(crate) fn restore_lost(&mut self, lost: impl Iterator<Item = u32>) {
        self.lost = lost.collect();
        let of_candidates = self.lost.iter().zip(&self.counts);
        self.lost_of_candidates = of_candidates
            .filter(|&(_, &count)| count < NOT_A_CANDIDATE)
            .map(|(&lost, _)| u64::from(lost))
            .sum();
    }

    /// Valid pages of `block` whose new version waits in the host's cache, as far as hints say; 0
    /// if zombies are not counted.
    #[inline]
    pub fn zombies(&self, block: BlockId) -> u32 {
        self.zombies.get(block as usize).copied().unwrap_or_default()
    }

    /// The zombies of all blocks, in order of block number; empty if zombies are not counted.
    pub fn zombie_counts(&self) -> &[u32] {
        &self.zombies
    }

    /// Begins to keep a history. Every block has the class `class` at first.
    pub(crate) fn keep_history(&mut self, class: Class) {
        self.history = Kept(Some(Box::new(History::new(self.blocks, class))));
    }

    pub(crate) fn history(&self) -> Option<&History> {
        self.history.0.as_deref()
    }

    /// The class for which each block was opened last, in order of block number. It is 0 for a
    /// block that was never opened, and [`NO_CLASS`] on a drive without a placement. Opening a
    /// block in SLC mode does not change its class. Empty if no policy asks for a history.
    pub fn classes(&self) -> &[Class] {
        self.history().map_or(&[], |history| &history.classes)
    }

    /// The value of [`BlockTable::clock`] when each block was closed last, in order of block
    /// number. Empty if no policy asks for a history.
    ///
    /// A block is closed when it becomes a candidate, which may be later than the program of its
    /// last page. The blocks of the first contents were closed at 0. A block that is no candidate
    /// now keeps its time until it is closed again.
    pub fn closed_at(&self) -> &[u64] {
        self.history().map_or(&[], |history| &history.closed_at)
    }

    /// The host's clock when each block was closed last, as [`BlockTable::closed_at`].
    pub fn closed_at_host(&self) -> &[u64] {
        self.history().map_or(&[], |history| &history.closed_at_host)
    }

    /// Pages that the host has written to the plane since the drive was made, its first contents
    /// not counted. It is up to date while a policy picks. 0 if no policy asks for a history.
    pub fn host_clock(&self) -> u64 {
        self.history().map_or(0, |history| history.host_clock)
    }

    /// Sets the host's clock before a pick: the host has written `pages` pages.
    #[inline]
    pub(crate) fn set_host_clock(&mut self, pages: u64) {
        if let Some(history) = &mut self.history.0 {
            history.host_clock = pages;
        }
    }

    /// `block` was opened for `class` of a placement.
    #[inline]
    pub(crate) fn set_class(&mut self, block: BlockId, class: Class) {
        if let Some(history) = &mut self.history.0 {
            history.classes[block as usize] = class;
        }
    }

    /// Begins to count the zombies of each block.
    pub(crate) fn keep_zombies(&mut self) {
        self.zombies = vec![0; self.counts.len()];
    }

    #[inline]
    pub(crate) fn zombies_mut(&mut self) -> &mut [u32] {
        &mut self.zombies
    }

    /// Returns `true` if a policy may pick `block`.
    #[inline]
    pub fn is_candidate(&self, block: BlockId) -> bool {
        self.masked_count(block) < NOT_A_CANDIDATE
    }

    /// The number of blocks that a policy may pick from.
    #[inline]
    pub fn candidates(&self) -> u32 {
        self.candidates
    }

    /// The number of candidates without a valid page. It looks at all blocks.
    pub fn dead_blocks(&self) -> u64 {
        let lost = self.lost.iter().copied().chain(std::iter::repeat(0));
        self.counts.iter().zip(lost).filter(|&(&count, lost)| count == lost).count() as u64
    }

    /// Times that `block` has been erased.
    #[inline]
    pub fn erase_count(&self, block: BlockId) -> u32 {
        self.erases[block as usize]
    }

    /// Erase counts of all blocks, in order of block number.
    pub fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    /// Pages programmed since the drive was made, its first contents not counted: host writes and
    /// copies. It is the clock of the policies.
    #[inline]
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Advances the clock by `pages` programs.
    #[inline]
    pub(crate) fn tick(&mut self, pages: u64) {
        self.clock += pages;
    }

    /// Sets the clock to 0 after the first contents, which do not count as programs.
    pub(crate) fn reset_clock(&mut self) {
        self.clock = 0;
    }

    /// The number of candidates with a page that collecting them frees.
    pub(crate) fn reclaimable(&self) -> usize {
        let full = self.pages_per_block;
        self.counts.iter().filter(|&&count| count < full).count()
    }

    /// Sets the erase counts of all blocks.
    pub(crate) fn hold_erases(&mut self, erases: &[u32]) {
        self.erases.copy_from_slice(erases);
    }

    #[inline]
    pub(crate) fn counts_mut(&mut self) -> &mut [u32] {
        &mut self.counts
    }

    /// `block` becomes a candidate now, when the host has written `host_clock` pages.
    pub(crate) fn note_close(&mut self, block: BlockId, host_clock: u64) {
        if let Some(history) = &mut self.history.0 {
            history.closed(block, self.clock, host_clock);
        }
    }

    /// Makes `block` a candidate.
    pub(crate) fn close(&mut self, block: BlockId) {
        debug_assert!(!self.is_candidate(block));
        self.counts[block as usize] &= !NOT_A_CANDIDATE;
        self.candidates += 1;
        self.lost_of_candidates += u64::from(self.lost(block));
    }

    /// Takes `block` from the candidates.
    pub(crate) fn take(&mut self, block: BlockId) {
        debug_assert!(self.is_candidate(block));
        self.counts[block as usize] |= NOT_A_CANDIDATE;
        self.candidates -= 1;
        self.lost_of_candidates -= u64::from(self.lost(block));
    }

    /// Sets the pages with current data of a block that is not a candidate.
    pub(crate) fn set_live_of_open(&mut self, block: BlockId, live: u32) {
        debug_assert!(!self.is_candidate(block));
        let count = live + self.lost(block);
        debug_assert!(count <= self.pages_per_block);
        self.counts[block as usize] = NOT_A_CANDIDATE | count;
    }

    /// Records that `pages` pages of `block`, which is open, are being programmed.
    #[inline]
    pub(crate) fn program(&mut self, block: BlockId, pages: u32) {
        debug_assert!(!self.is_candidate(block));
        debug_assert!((self.valid(block) + pages) <= self.pages_per_block);
        self.counts[block as usize] += pages;
        self.programmed[block as usize] = true;
    }

    /// Erases `block`. Returns the erases that this took: 0 if the block was erased already, else
    /// 1.
    pub(crate) fn erase(&mut self, block: BlockId) -> u64 {
        let worn = std::mem::replace(&mut self.programmed[block as usize], false);
        self.erases[block as usize] += u32::from(worn);
        u64::from(worn)
    }

    /// Returns `true` if `block` has been programmed since its last erase.
    pub(crate) fn is_programmed(&self, block: BlockId) -> bool {
        self.programmed[block as usize]
    }
}

impl Drop for BlockTable {
    fn drop(&mut self) {
        if let Some(keeper) = self.lent.0.take() {
            let columns = (
                std::mem::take(&mut self.counts),
                std::mem::take(&mut self.erases),
                std::mem::take(&mut self.zombies),
                std::mem::take(&mut self.history),
            );
            let mut kept = keeper.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *kept = Some(Box::new(columns));
        }
    }
}
