//! An ordered set of numbers below a bound, from the oldest to the latest: a linked list in a
//! table. Every step is O(1).

use flashgc_base::snapshot::{Fault, State};

use crate::blocks::BlockId;

const END: u32 = u32::MAX;

/// An order of some blocks, or of other things that have numbers.
#[derive(Clone, Debug, State)]
#[snapshot(then = check)]
pub(crate) struct Order {
    /// The predecessor and the successor of each block. The last entry stands for both ends.
    #[snapshot(table)]
    links: Vec<(u32, u32)>,
    len: u32,
}

impl Order {
    /// An empty order for numbers below `blocks`.
    pub(crate) fn new(blocks: u32) -> Self {
        let mut links = vec![(END, END); blocks as usize + 1];
        links[blocks as usize] = (blocks, blocks);
        Self { links, len: 0 }
    }

    /// Checks that the links name no block beyond the last one.
    fn check(&self) -> Result<(), Fault> {
        let ends = self.ends();
        let known = |place: u32| place <= ends || place == END;
        let links = self.links.iter().all(|&(before, after)| known(before) && known(after));
        let (last, first) = self.links[ends as usize];
        if links && last <= ends && first <= ends && self.len <= ends {
            return Ok(());
        }
        Err(Fault::new("an order names a block that there is not"))
    }

    fn ends(&self) -> u32 {
        self.links.len() as u32 - 1
    }

    /// The number of blocks in the order.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Returns `true` if `block` is in the order.
    pub(crate) fn contains(&self, block: BlockId) -> bool {
        self.links[block as usize].0 != END
    }

    /// Puts a block that is not in the order behind all others.
    pub(crate) fn push(&mut self, block: BlockId) {
        let ends = self.ends();
        let last = self.links[ends as usize].0;
        self.links[block as usize] = (last, ends);
        self.links[last as usize].1 = block;
        self.links[ends as usize].0 = block;
        self.len += 1;
    }

    /// Takes a block out of the order, which must have it.
    pub(crate) fn remove(&mut self, block: BlockId) {
        let (before, after) = std::mem::replace(&mut self.links[block as usize], (END, END));
        self.links[before as usize].1 = after;
        self.links[after as usize].0 = before;
        self.len -= 1;
    }

    /// The latest block.
    pub(crate) fn last(&self) -> Option<BlockId> {
        Some(self.links[self.ends() as usize].0).filter(|&block| block != self.ends())
    }

    /// The blocks of the order, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = BlockId> {
        let next = |&block: &u32| Some(self.links[block as usize].1);
        std::iter::successors(Some(self.links[self.ends() as usize].1), next)
            .take_while(|&block| block != self.ends())
    }
}
