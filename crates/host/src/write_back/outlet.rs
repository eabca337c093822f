//! The outlet of a cache: commands leave through it for the drive, with the hints that ride on them.

use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer};

use std::collections::VecDeque;

use flashgc_workload::{Batch, Hint, Op};

use super::hints::Hints;

/// Puts a hint on `page` before the next command of `batch`.
fn hint(batch: &mut Batch, page: u32) {
    batch.hints.push(Hint::new(batch.pages.len() as u32, page));
}

/// Commands that an oracle has seen and the drive has not yet.
#[derive(State)]
pub(super) struct Ahead {
    /// The number of writes that the oracle sees ahead.
    #[snapshot(skip)]
    horizon: u64,
    seen: VecDeque<(u32, Op)>,
    writes: u64,
    /// The number of writes of each page among the seen commands.
    #[snapshot(table)]
    coming: Vec<u32>,
    /// The page that was written just now and will be again. Its hint comes before the next command.
    again: Option<u32>,
}

impl Ahead {
    pub(super) fn new(horizon: u64, pages: u32) -> Self {
        let coming = vec![0; pages as usize];
        Self { horizon, seen: VecDeque::new(), writes: 0, coming, again: None }
    }
}

/// An item that leaves a host for its drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// A hint on a page. It comes before the command that it rides on, or that was made for it.
    Hint(u32),
    /// A command for a page.
    Command(u32, Op),
    /// A command made for the hints before it.
    HintCommand,
}

/// The queue of commands and hints that leave for the drive, in order.
#[derive(State)]
pub(super) struct Outlet {
    #[snapshot(state)]
    pub(super) hints: Hints,
    leaving: VecDeque<Leaving>,
    /// The number of commands in `leaving`.
    pub(super) commands: usize,
    #[snapshot(state)]
    ahead: Option<Ahead>,
    /// The number of pages that the host read from the drive so far, then of those that it wrote.
    pub(super) reads: u64,
    pub(super) writes: u64,
}

impl Value for Leaving {
    fn put(&self, to: &mut Writer<'_>) {
        match *self {
            Self::Hint(page) => (0u8, page, Op::Write),
            Self::Command(page, op) => (1, page, op),
            Self::HintCommand => (2, 0, Op::Write),
        }
        .put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        match <(u8, u32, Op)>::take(from)? {
            (0, page, _) => Ok(Self::Hint(page)),
            (1, page, op) => Ok(Self::Command(page, op)),
            (2, ..) => Ok(Self::HintCommand),
            (other, ..) => Err(Fault::new(format!("{other} is nothing that leaves a host"))),
        }
    }
}

impl Outlet {
    pub(super) fn new(hints: Hints, ahead: Option<Ahead>) -> Self {
        Self { hints, leaving: VecDeque::new(), commands: 0, ahead, reads: 0, writes: 0 }
    }

    /// Returns the number of pages that the host read or wrote on the drive so far.
    pub(super) fn pages(&self) -> u64 {
        self.reads + self.writes
    }

    /// Returns `true` if there is an oracle and it sees fewer writes than its horizon.
    pub(super) fn sees_less(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.writes < ahead.horizon)
    }

    /// Moves the first commands into `batch`, at most `limit`, with the hints before each.
    pub(super) fn hand_out(&mut self, batch: &mut Batch, limit: usize) {
        while batch.pages.len() < limit {
            match self.leaving.pop_front() {
                Some(Leaving::Hint(page)) => hint(batch, page),
                Some(Leaving::Command(page, op)) => {
                    batch.pages.push(page);
                    batch.ops.push(op);
                    self.commands -= 1;
                }
                Some(Leaving::HintCommand) => {}
                None => return,
            }
        }
    }

    /// Shows leaving commands to the oracle up to its horizon. A hint on each write comes before the
    /// next command for the drive.
    pub(super) fn look(&mut self, batch: &mut Batch) {
        let Some(ahead) = &mut self.ahead else { return };
        while ahead.writes < ahead.horizon {
            let Some(next) = self.leaving.pop_front() else { return };
            // With an oracle the cache itself sends no hints.
            let Leaving::Command(page, op) = next else { continue };
            self.commands -= 1;
            ahead.seen.push_back((page, op));
            if op == Op::Write {
                ahead.writes += 1;
                ahead.coming[page as usize] += 1;
                self.hints.counts.sent += 1;
                hint(batch, page);
            }
        }
    }

    /// Hands out the first command that the oracle has seen. Returns `false` if there is none.
    pub(super) fn hand_out_seen(&mut self, batch: &mut Batch) -> bool {
        let Some(ahead) = &mut self.ahead else { return false };
        let Some((page, op)) = ahead.seen.pop_front() else { return false };
        if let Some(again) = ahead.again.take() {
            hint(batch, again);
        }
        batch.pages.push(page);
        batch.ops.push(op);
        if op == Op::Write {
            ahead.writes -= 1;
            ahead.coming[page as usize] -= 1;
            ahead.again = Some(page).filter(|&page| ahead.coming[page as usize] > 0);
        }
        true
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

    /// Reads a page that is about to be updated.
    pub(super) fn read_to_update(&mut self, page: u32) {
        self.hints.read_to_update(page, &mut Self::tell(&mut self.leaving));
        self.read(page);
    }

    /// Writes the dirty data of `page` to the drive.
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

    /// Notes that `page` has become dirty.
    pub(super) fn dirtied(&mut self, page: u32) {
        let before = self.hints.counts.commands;
        self.hints.dirtied(page, &mut Self::tell(&mut self.leaving));
        for _ in before..self.hints.counts.commands {
            self.leaving.push_back(Leaving::HintCommand);
        }
    }

    /// Takes the next item that leaves.
    pub(super) fn next(&mut self) -> Option<Leaving> {
        let next = self.leaving.pop_front();
        self.commands -= usize::from(matches!(next, Some(Leaving::Command(..))));
        next
    }
}
