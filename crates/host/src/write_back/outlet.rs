//! Where a cache's commands leave for the drive, with the hints that ride on them.

use std::collections::VecDeque;

use flashgc_workload::{Batch, Op};

use super::hints::Hints;

/// What leaves: a hint comes before the command that it rides on.
enum Leaving {
    Hint(u32),
    Command(u32, Op),
}

/// Commands for the drive, in order.
pub(super) struct Outlet {
    pub(super) hints: Hints,
    leaving: VecDeque<Leaving>,
    /// How many of them are commands.
    pub(super) commands: usize,
    /// Pages that the drive was asked to read, and to write, so far.
    pub(super) reads: u64,
    pub(super) writes: u64,
}

impl Outlet {
    pub(super) fn new(hints: Hints) -> Self {
        Self { hints, leaving: VecDeque::new(), commands: 0, reads: 0, writes: 0 }
    }

    /// Puts the first commands into `batch`, at most `limit`, with the hints before each.
    pub(super) fn hand_out(&mut self, batch: &mut Batch, limit: usize) {
        while batch.pages.len() < limit {
            match self.leaving.pop_front() {
                Some(Leaving::Hint(page)) => batch.hints.push((batch.pages.len() as u32, page)),
                Some(Leaving::Command(page, op)) => {
                    batch.pages.push(page);
                    batch.ops.push(op);
                    self.commands -= 1;
                }
                None => return,
            }
        }
    }

    fn tell(leaving: &mut VecDeque<Leaving>) -> impl FnMut(u32) + '_ {
        |page| leaving.push_back(Leaving::Hint(page))
    }

    fn command(&mut self, page: u32, op: Op) {
        self.leaving.push_back(Leaving::Command(page, op));
        self.commands += 1;
    }

    pub(super) fn read(&mut self, page: u32) {
        self.hints.command(&mut Self::tell(&mut self.leaving));
        self.command(page, Op::Read);
        self.reads += 1;
    }

    /// A read whose page is about to be updated.
    pub(super) fn read_to_update(&mut self, page: u32) {
        self.hints.read_to_update(page, &mut Self::tell(&mut self.leaving));
        self.read(page);
    }

    /// The host writes what is dirty of `page`.
    pub(super) fn write(&mut self, page: u32) {
        self.hints.written(page);
        self.hints.command(&mut Self::tell(&mut self.leaving));
        self.command(page, Op::Write);
        self.writes += 1;
    }

    pub(super) fn trim(&mut self, page: u32) {
        self.hints.forget(page);
        self.command(page, Op::Trim);
    }

    /// `page` has become dirty.
    pub(super) fn dirtied(&mut self, page: u32) {
        self.hints.dirtied(page, &mut Self::tell(&mut self.leaving));
    }
}
