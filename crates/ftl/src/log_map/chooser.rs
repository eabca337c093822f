//! The choice of the log block that is merged when the log is full: the first in the buffer's
//! order, or the cheapest of those in the window.

use crate::blocks::BlockId;
use crate::log_map::hybrid::Hybrid;
use crate::log_map::window::{LogWindow, Sized};
use crate::order::Order;
use flashgc_base::residency::{NotCached, Residency};
use flashgc_base::snapshot::State;

/// The rule by which log blocks are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The scheme decides: the first in order, or the cheapest.
    Scheme,
    /// The first in order is taken.
    First,
    /// The log block with the least C_total is taken; of equals the first.
    Cost,
}

#[derive(State)]
pub(crate) struct Chooser {
    #[snapshot(skip)]
    choice: Choice,
    #[snapshot(skip)]
    by_cost: bool,
    #[snapshot(state)]
    window: Sized,
}

impl Chooser {
    pub(crate) fn new(choice: Choice, window: LogWindow, log_blocks: u32) -> Self {
        Self { choice, by_cost: false, window: Sized::new(window, log_blocks) }
    }

    /// Settles how log blocks are chosen under the layer's scheme, and begins to weigh them where
    /// that is needed.
    pub(crate) fn settle(&mut self, hybrid: &mut Hybrid, memory: &mut dyn Residency) {
        self.by_cost = match self.choice {
            Choice::Scheme => hybrid.scheme.is_by_cost(),
            Choice::First => false,
            Choice::Cost => true,
        };
        // A scheme that does not look into the host's memory sees every page as not cached.
        let memory = if hybrid.scheme.is_unaware() { &mut NotCached } else { memory };
        hybrid.weigher = self.by_cost.then(|| hybrid.weighed(memory));
        if self.by_cost {
            memory.follow_changes();
        }
    }

    /// The log block of `order` to merge.
    pub(crate) fn choose(
        &mut self,
        hybrid: &mut Hybrid,
        order: &Order,
        memory: &mut dyn Residency,
    ) -> Option<BlockId> {
        let Some(weigher) = hybrid.weigher.as_mut().filter(|_| self.by_cost) else {
            return order.iter().next();
        };
        if !hybrid.scheme.is_unaware() {
            weigher.refresh(&hybrid.map, memory);
        }
        let table = hybrid.table(memory);
        let weigher = hybrid.weigher.as_ref()?;
        let mut best: Option<(f64, BlockId)> = None;
        for block in order.iter().take(self.window.size() as usize) {
            let (erases, pages) = weigher.weigh(block);
            let total = table.total(erases, &pages, &hybrid.costs);
            hybrid.merges.weighed += 1;
            if best.is_none_or(|(least, _)| total < least) {
                best = Some((total, block));
            }
        }
        hybrid.merges.picks += 1;
        best.map(|(_, block)| block)
    }

    /// The collection after the last choice cost `cost` nanoseconds.
    pub(crate) fn learn(&mut self, cost: u64) {
        self.window.learn(cost);
    }
}
