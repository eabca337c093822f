//! Blocks that a placement keeps from the victim policy, and collects in an order of its own.
//!
//! A kept block that is full is no candidate: the policy and its tracker do not know it. When the
//! placement has it collected, or leaves it to the policy, it becomes a candidate as if it had been
//! closed just then.

use flashgc_base::snapshot::State;

use crate::blocks::BlockId;

/// The kept blocks of a plane.
#[derive(State)]
pub(crate) struct Kept {
    /// For each block of the plane, `true` if it is kept once it is full.
    #[snapshot(table)]
    is_kept: Vec<bool>,
    /// For each block of the plane, `true` if it is full and kept.
    #[snapshot(table)]
    is_held: Vec<bool>,
    /// The number of full kept blocks, and the pages that they have lost.
    held: u32,
    lost: u64,
    /// The changes of the placement that were followed.
    pub(super) changes: u64,
}

impl Kept {
    pub(super) fn new(blocks: u32) -> Self {
        let none = || vec![false; blocks as usize];
        Self { is_kept: none(), is_held: none(), held: 0, lost: 0, changes: 0 }
    }

    /// The number of full kept blocks.
    pub(crate) fn held(&self) -> u32 {
        self.held
    }

    /// The pages that the full kept blocks have lost.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns `true` if `block` is full and kept.
    pub(super) fn holds(&self, block: BlockId) -> bool {
        self.is_held[block as usize]
    }

    /// `block` was opened, and is kept once it is full if `keeps`.
    pub(super) fn opened(&mut self, block: BlockId, keeps: bool) {
        self.is_kept[block as usize] = keeps;
    }

    /// `block`, which has lost `lost` pages, is full. Returns `true` if it is kept.
    pub(super) fn close(&mut self, block: BlockId, lost: u32) -> bool {
        let keeps = self.is_kept[block as usize];
        if keeps {
            self.is_held[block as usize] = true;
            self.held += 1;
            self.lost += u64::from(lost);
        }
        keeps
    }

    /// `block` is no longer kept.
    pub(super) fn let_go(&mut self, block: BlockId, lost: u32) {
        self.is_kept[block as usize] = false;
        if std::mem::take(&mut self.is_held[block as usize]) {
            self.held -= 1;
            self.lost -= u64::from(lost);
        }
    }

    /// Counts the full kept blocks again.
    pub(super) fn audit(&self) -> Result<(), String> {
        let held = self.is_held.iter().filter(|&&holds| holds).count();
        if held == self.held as usize {
            return Ok(());
        }
        Err(format!("{held} full blocks are kept, counted as {}", self.held))
    }
}
