//! Serial overwrites: a write waits in the drive until the earlier writes of its page are done.
//! Later operations on the page wait behind a waiting write.

use std::collections::VecDeque;

use flashgc_base::snapshot::State;

use hashbrown::HashMap;

use crate::ops::Ops;

/// A page operation, with its range of bytes within the page.
type Waiting = (u32, (u32, u32));

/// The writes of the host that are under way, by their pages.
///
/// It knows page operations. It does not know dies and caches.
#[derive(Default, State)]
pub struct Overlaps {
    /// Key: a page with a write under way. Value: the operations that wait for this write. The
    /// first of them is always a write.
    under_way: HashMap<u32, VecDeque<Waiting>>,
    /// The operations that need not wait any more and are to be sent, in order.
    ready: VecDeque<Waiting>,
}

impl Overlaps {
    /// Takes an operation of the host. Returns `true` if it need not wait.
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

    /// Ends the write of `page` that is under way. The next waiting write becomes ready, and with
    /// it the operations that wait between that write and the write after it. Returns `true` if the
    /// caller must send the [`ready`](Self::ready) operations, `false` if there are none or a
    /// caller is sending.
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

    /// Returns the first operation that is ready. Call [`gone`](Self::gone) after it was sent.
    pub fn ready(&self) -> Option<Waiting> {
        self.ready.front().copied()
    }

    /// Notes that the first ready operation has been sent.
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
        // The read after the first write goes on: only a write waits for a write under way.
        assert_eq!(took.map(|(_, goes)| goes), [true, true, false, false, false, false]);
        let gone = |overlaps: &mut Overlaps| {
            let first = overlaps.ready().map(|(op, _)| op);
            overlaps.gone();
            first
        };
        assert!(overlaps.done(&ops, 5));
        assert_eq!(gone(&mut overlaps), Some(took[2].0));
        // The second write is done before the operations after it were sent: the first caller sends
        // these, too.
        assert!(!overlaps.done(&ops, 5));
        let rest = [3, 4, 5].map(|at| Some(took[at].0));
        assert_eq!([(); 3].map(|()| gone(&mut overlaps)), rest);
        assert_eq!(overlaps.ready(), None);
        // The third write is done, and no write of the page is under way.
        assert!(!overlaps.done(&ops, 5));
        let op = ops.add(PageOp::new(0, 5, Kind::Write), 0);
        assert!(overlaps.lets_go(&ops, op, (0, 4096)));
    }
}
