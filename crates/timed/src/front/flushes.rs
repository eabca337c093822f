//! Flush commands. If the power is not protected, a flush command waits for two things: the write
//! cache programs the pages that it held when the command came, and then the planes program their
//! page buffers.

use flashgc_base::snapshot::Value;
use hashbrown::HashMap;

use super::FrontEnd;
use super::requests::{Request, Times, WaitingRequest};
use crate::observer::Observer;
use crate::ops::{Kind, PageOp};
use crate::schedule::Scheduler;
use crate::shared::Shared;

/// The flush commands that wait, and the operations of the cache that they wait for.
///
/// It knows only the places of commands and operations.
#[derive(Default, Value)]
pub struct Flushes {
    /// Key: an operation that programs a page. Value: the flush commands that wait for it, each
    /// with the number of programs of this page that the command waits for.
    waits: HashMap<u32, Vec<(u32, u32)>>,
    /// The number of pages that each command still waits for.
    left: HashMap<u32, u32>,
    /// The commands that need not wait for the cache any more.
    over: Vec<u32>,
}

impl Flushes {
    /// Lets the command at `place` wait for the operations `on`, each with a number of programs of
    /// its page. Returns `true` if there are any.
    pub fn wait(&mut self, place: u32, on: impl Iterator<Item = (u32, u32)>) -> bool {
        let mut pages = 0;
        for (op, programs) in on {
            self.waits.entry(op).or_default().push((place, programs));
            pages += 1;
        }
        if pages > 0 {
            self.left.insert(place, pages);
        }
        pages > 0
    }

    /// Notes that an operation of the cache is done. `next` is the operation that programs newer
    /// data of its page, if there are any.
    #[inline]
    pub fn programmed(&mut self, op: u32, next: Option<u32>) {
        if !self.waits.is_empty() {
            self.note(op, next);
        }
    }

    #[inline(never)]
    fn note(&mut self, op: u32, next: Option<u32>) {
        for (place, programs) in self.waits.remove(&op).unwrap_or_default() {
            match next {
                Some(next) if programs > 1 => {
                    self.waits.entry(next).or_default().push((place, programs - 1));
                }
                _ => self.page_is_over(place),
            }
        }
    }

    fn page_is_over(&mut self, place: u32) {
        let left = self.left.get_mut(&place).expect("a command waits for its pages");
        *left -= 1;
        if *left == 0 {
            self.left.remove(&place);
            self.over.push(place);
        }
    }

    /// Takes a command that need not wait for the cache any more.
    #[inline]
    pub fn next_over(&mut self) -> Option<u32> {
        self.over.pop()
    }
}

impl FrontEnd {
    /// Flushes the host's writes so far: first the write cache programs them, then the planes. A
    /// drive whose power is protected has nothing to do.
    pub(super) fn flush<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        waiting: &WaitingRequest,
        dispatched: u64,
    ) {
        let buffer = shared.map.buffer();
        let has_buffers = !buffer.is_protected && buffer.gathers();
        let planes = if has_buffers { shared.map.planes() } else { 0 };
        let place = self.requests.keep(waiting, (dispatched, shared.now()), planes);
        let waits = !buffer.is_protected && self.has_cache && self.cache.begin_flush(place);
        if !waits {
            self.flush_planes(shared, dies, place);
        }
    }

    /// Lets every plane program its page buffers for the flush at `place`, after the writes that
    /// the plane got before.
    pub(super) fn flush_planes<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        place: u32,
    ) {
        let Request { number, left, .. } = self.requests[place];
        if left == 0 {
            return self.complete(shared, place, Times::default());
        }
        for plane in 0..left {
            let op = shared.ops.add(PageOp::new(place, plane, Kind::Flush), number);
            dies.accept(shared, op);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_waits_for_the_data_that_were_there_when_it_came() {
        let mut flushes = Flushes::default();
        assert!(!flushes.wait(7, std::iter::empty()));
        // Two pages; the second is being programmed and has newer data, so it needs two programs.
        assert!(flushes.wait(1, [(10, 1), (11, 2)].into_iter()));
        assert!(flushes.wait(2, [(11, 1)].into_iter()));
        flushes.programmed(10, None);
        assert_eq!(flushes.next_over(), None);
        flushes.programmed(11, Some(12));
        assert_eq!((flushes.next_over(), flushes.next_over()), (Some(2), None));
        flushes.programmed(12, Some(13));
        assert_eq!((flushes.next_over(), flushes.next_over()), (Some(1), None));
    }

    #[test]
    fn newer_data_that_are_discarded_end_the_wait() {
        let mut flushes = Flushes::default();
        assert!(flushes.wait(1, [(11, 2)].into_iter()));
        flushes.programmed(11, None);
        assert_eq!(flushes.next_over(), Some(1));
    }
}
