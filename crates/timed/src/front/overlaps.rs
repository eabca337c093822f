//! Serial overwrites: a write waits in the drive until the earlier writes of its page are done. Operations
//! that come to the page after a write that waits, wait behind it.

use std::collections::VecDeque;

use flashgc_base::snapshot::State;

use hashbrown::HashMap;

use crate::ops::Ops;

/// A page operation, with its bytes of the page.
type Waiting = (u32, (u32, u32));

/// The writes of the host that are under way, by their pages.
///
/// It knows page operations, and neither dies nor caches.
#[derive(Default, State)]
pub struct Overlaps {
    /// The operations that wait behind the write of a page that is under way: a write is first, if any
    /// wait.
    under_way: HashMap<u32, VecDeque<Waiting>>,
    /// The operations that wait no longer, in order.
    ready: VecDeque<Waiting>,
}

impl Overlaps {
    /// Takes an operation that reaches its page. Returns `true` if it goes on at once.
    pub fn lets_go(&mut self, ops: &Ops, op: u32, bytes: (u32, u32)) -> bool {
        let (page, writes) = (ops[op].page, ops[op].writes());
        match self.under_way.get_mut(&page) {
            None => {
                if writes {
                    self.under_way.insert(page, VecDeque::new());
                }
                true
            }
            Some(waiting) if waiting.is_empty() && !writes => true,
            Some(waiting) => {
                waiting.push_back((op, bytes));
                false
            }
        }
    }

    /// Ends the write of `page` that is under way. The next write is ready, with the operations between it
    /// and the one after it. Returns `true` if the caller must send the [`ready`](Self::ready) ones, and
    /// `false` if somebody is sending already.
    pub fn done(&mut self, ops: &Ops, page: u32) -> bool {
        let is_at_rest = self.ready.is_empty();
        let waiting = self.under_way.get_mut(&page).expect("a write is done once");
        let Some(next) = waiting.pop_front() else {
            self.under_way.remove(&page);
            return false;
        };
        debug_assert!(ops[next.0].writes(), "reads wait for no write that is under way");
        self.ready.push_back(next);
        while waiting.front().is_some_and(|&(op, _)| !ops[op].writes()) {
            self.ready.extend(waiting.pop_front());
        }
        is_at_rest
    }

    /// Returns the first operation that is ready. It stays the first until it [has gone](Self::gone).
    pub fn ready(&self) -> Option<Waiting> {
        self.ready.front().copied()
    }

    /// Notes that the first that was ready has been sent.
    pub fn gone(&mut self) {
        self.ready.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Kind, PageOp};

    #[test]
    fn writes_of_a_page_go_one_by_one_and_what_comes_behind_one_that_waits_goes_after_it() {
        let (mut overlaps, mut ops) = (Overlaps::default(), Ops::default());
        let mut take = |overlaps: &mut Overlaps, kind| {
            let op = ops.add(PageOp::new(0, 5, kind), 0);
            (op, overlaps.lets_go(&ops, op, (0, 4096)))
        };
        let kinds = [Kind::Write, Kind::Read, Kind::Modify, Kind::Read, Kind::Trim, Kind::Write];
        let took = kinds.map(|kind| take(&mut overlaps, kind));
        // The read behind the first write goes on: only a write waits for a write.
        assert_eq!(took.map(|(_, goes)| goes), [true, true, false, false, false, false]);
        let gone = |overlaps: &mut Overlaps| {
            let first = overlaps.ready().map(|(op, _)| op);
            overlaps.gone();
            first
        };
        assert!(overlaps.done(&ops, 5));
        assert_eq!(gone(&mut overlaps), Some(took[2].0));
        // The second write is done before the operations behind it have gone: whoever sends goes on.
        assert!(!overlaps.done(&ops, 5));
        let rest = [3, 4, 5].map(|at| Some(took[at].0));
        assert_eq!([(); 3].map(|()| gone(&mut overlaps)), rest);
        assert_eq!(overlaps.ready(), None);
        // The third is done, and the page is free.
        assert!(!overlaps.done(&ops, 5));
        let op = ops.add(PageOp::new(0, 5, Kind::Write), 0);
        assert!(overlaps.lets_go(&ops, op, (0, 4096)));
    }
}
