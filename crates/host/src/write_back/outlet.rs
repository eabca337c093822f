//! The outlet of a cache: the queue of commands and hints that the cache sends to the drive.

use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer};

use std::collections::VecDeque;

use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_workload::{Batch, Hint, Op};

use super::hints::Hints;
use super::streams::PageStreams;

/// Puts a hint on `page` before the next command of `batch`.
fn hint(batch: &mut Batch, page: u32) {
    batch.hints.push(Hint::new(batch.pages.len() as u32, page));
}

/// Notes in `batch` that `count` requests end after its last command.
fn served(batch: &mut Batch, count: u32) {
    let (next, count) = (batch.pages.len() as u32, u64::from(count));
    match batch.served.last_mut() {
        Some((before, all)) if *before == next => *all += count,
        _ => batch.served.push((next, count)),
    }
}

/// Commands that an oracle has seen and that the drive has not got yet, with the ends of requests.
#[derive(State)]
pub(super) struct Ahead {
    /// The largest number of writes that the oracle sees ahead.
    #[snapshot(skip)]
    horizon: u64,
    seen: VecDeque<Leaving>,
    writes: u64,
    /// The number of writes of each page among the seen commands.
    #[snapshot(table)]
    coming: Vec<u32>,
    /// The page of the last command, if that was a write and the oracle sees another write of the
    /// page. A new hint on the page goes before the next command.
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
    /// A hint on a page. The command that carries the hint follows.
    Hint(u32),
    /// A command for a page, and its stream.
    Command(u32, Op, StreamId),
    /// A command without data, which carries the hints before it.
    HintCommand,
    /// The end of requests of the application, with their number. A
    /// [`ClockedHost`](super::ClockedHost) does not send it.
    Served(u32),
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
    pub(super) streams: PageStreams,
    #[snapshot(state)]
    ahead: Option<Ahead>,
    /// The number of pages that the host has read from the drive so far.
    pub(super) reads: u64,
    /// The number of pages that the host has written to the drive so far.
    pub(super) writes: u64,
    /// The clean page that was evicted for the present request.
    #[snapshot(skip)]
    pub(super) made_room: Option<u32>,
}

impl Value for Leaving {
    fn put(&self, to: &mut Writer<'_>) {
        match *self {
            Self::Hint(page) => (0u8, page, Op::Write, NO_STREAM),
            Self::Command(page, op, stream) => (1, page, op, stream),
            Self::HintCommand => (2, 0, Op::Write, NO_STREAM),
            Self::Served(count) => (3, count, Op::Write, NO_STREAM),
        }
        .put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        match <(u8, u32, Op, StreamId)>::take(from)? {
            (0, page, ..) => Ok(Self::Hint(page)),
            (1, page, op, stream) => Ok(Self::Command(page, op, stream)),
            (2, ..) => Ok(Self::HintCommand),
            (3, count, ..) => Ok(Self::Served(count)),
            (other, ..) => Err(Fault::new(format!("{other} is nothing that leaves a host"))),
        }
    }
}

impl Outlet {
    pub(super) fn new(hints: Hints, ahead: Option<Ahead>, streams: PageStreams) -> Self {
        let leaving = VecDeque::new();
        Self { hints, leaving, commands: 0, streams, ahead, reads: 0, writes: 0, made_room: None }
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
                Some(Leaving::Command(page, op, stream)) => {
                    self.hand(batch, page, op, stream);
                    self.commands -= 1;
                }
                Some(Leaving::HintCommand) => {}
                Some(Leaving::Served(count)) => served(batch, count),
                None => return,
            }
        }
    }

    /// Shows leaving commands to the oracle up to its horizon. Puts a hint on each write that it
    /// sees into `batch`, before the next command.
    pub(super) fn look(&mut self, batch: &mut Batch) {
        let Some(ahead) = &mut self.ahead else { return };
        while ahead.writes < ahead.horizon {
            let Some(next) = self.leaving.pop_front() else { return };
            // With an oracle the cache itself sends no hints.
            ahead.seen.push_back(next);
            let Leaving::Command(page, op, _) = next else { continue };
            self.commands -= 1;
            if op == Op::Write {
                ahead.writes += 1;
                ahead.coming[page as usize] += 1;
                self.hints.counts.sent += 1;
                hint(batch, page);
            }
        }
    }

    /// Hands out the first item that the oracle has seen: a command or the end of requests. Returns
    /// `false` if there is none.
    pub(super) fn hand_out_seen(&mut self, batch: &mut Batch) -> bool {
        let Some(ahead) = &mut self.ahead else { return false };
        let (page, op, stream) = match ahead.seen.pop_front() {
            Some(Leaving::Command(page, op, stream)) => (page, op, stream),
            Some(Leaving::Served(count)) => {
                served(batch, count);
                return true;
            }
            Some(Leaving::Hint(_) | Leaving::HintCommand) => return true,
            None => return false,
        };
        if let Some(again) = ahead.again.take() {
            hint(batch, again);
        }
        if op == Op::Write {
            ahead.writes -= 1;
            ahead.coming[page as usize] -= 1;
            ahead.again = Some(page).filter(|&page| ahead.coming[page as usize] > 0);
        }
        self.hand(batch, page, op, stream);
        true
    }

    /// Puts a command into `batch`.
    fn hand(&self, batch: &mut Batch, page: u32, op: Op, stream: StreamId) {
        batch.pages.push(page);
        batch.ops.push(op);
        if self.streams.are_named() {
            batch.streams.push(stream);
        }
    }

    fn tell(leaving: &mut VecDeque<Leaving>) -> impl FnMut(u32) + '_ {
        |page| leaving.push_back(Leaving::Hint(page))
    }

    fn command(&mut self, page: u32, op: Op) {
        let stream = if op == Op::Write { self.streams.of(page) } else { NO_STREAM };
        self.leaving.push_back(Leaving::Command(page, op, stream));
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

    /// Notes that a request of the application is served.
    pub(super) fn served(&mut self) {
        match self.leaving.back_mut() {
            Some(Leaving::Served(count)) if *count < u32::MAX => *count += 1,
            _ => self.leaving.push_back(Leaving::Served(1)),
        }
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
