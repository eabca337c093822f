//! The link between host and drive. Commands and the data of writes come in over it, the data of
//! reads go out. In each direction there is one transfer at a time, first come, first served.

use std::collections::VecDeque;

use flashgc_base::snapshot::{State, Value};
use flashgc_drive::error::DriveError;
use flashgc_workload::Op;

use super::FrontEnd;
use super::requests::{Times, WaitingRequest};
use crate::clock::{Clock, Event, NEVER};
use crate::config::HostLink;
use crate::observer::Observer;
use crate::schedule::Scheduler;
use crate::shared::Shared;

/// A command on its way into the drive.
#[derive(Value)]
struct Entering {
    /// The time at which the drive has the command and its data, in nanoseconds.
    at: u64,
    waiting: WaitingRequest,
    /// The time at which the command got its place in the queue of the drive, in nanoseconds.
    dispatched: u64,
    /// The pages of the hints that the command carries.
    hints: Vec<u32>,
}

/// The data of a read on their way to the host.
#[derive(Clone, Copy, Value)]
struct Leaving {
    /// The time at which the host has the data, in nanoseconds.
    at: u64,
    /// The place of the request.
    place: u32,
    /// The times of the request's last page operation.
    last: Times,
}

/// Commands and data on the link.
#[derive(State)]
pub struct Link {
    #[snapshot(skip)]
    link: HostLink,
    /// The reads that carry no hints. They send no data to the drive, so they do not wait for
    /// transfers and may overtake the other commands.
    reads: VecDeque<Entering>,
    /// All other commands, in order.
    others: VecDeque<Entering>,
    leaving: VecDeque<Leaving>,
    /// The time at which the last transfer to the drive ends, in nanoseconds.
    in_free_at: u64,
    /// The time at which the last transfer to the host ends, in nanoseconds.
    out_free_at: u64,
}

impl Link {
    pub fn new(link: HostLink) -> Self {
        let (reads, others, leaving) = Default::default();
        Self { link, reads, others, leaving, in_free_at: 0, out_free_at: 0 }
    }

    /// Puts a command on the link. The command already has its place in the queue of the drive.
    /// `hints` are the pages of the hints that it carries.
    pub fn enter(&mut self, clock: &mut Clock, waiting: WaitingRequest, hints: Vec<u32>) {
        let dispatched = clock.now();
        let is_hint = waiting.request.op.is_hint();
        let ready = dispatched + if is_hint { 0 } else { self.link.overhead_ns };
        if waiting.request.op == Op::Read && hints.is_empty() {
            self.reads.push_back(Entering { at: ready, waiting, dispatched, hints });
        } else {
            let writes = waiting.request.op == Op::Write;
            let bytes = if writes { waiting.request.bytes } else { 0 };
            // Even a command without data waits for the transfers before it, to keep the order.
            let at = self.in_free_at.max(ready) + self.link.transfer_ns(bytes);
            self.in_free_at = at;
            self.others.push_back(Entering { at, waiting, dispatched, hints });
        }
        self.expect(clock);
    }

    /// Sends the data of the read at `place` to the host.
    pub fn leave(&mut self, clock: &mut Clock, place: u32, bytes: u32, last: Times) {
        let now = clock.now();
        let at = self.out_free_at.max(now) + self.link.transfer_ns(bytes);
        self.out_free_at = at;
        self.leaving.push_back(Leaving { at, place, last: last.with_link(at - now) });
        self.expect(clock);
    }

    /// Takes the next command that has reached the drive at `now`; reads go first.
    fn next_in(&mut self, now: u64) -> Option<Entering> {
        let is_due =
            |them: &VecDeque<Entering>| them.front().is_some_and(|entering| entering.at <= now);
        match is_due(&self.reads) {
            true => self.reads.pop_front(),
            false if is_due(&self.others) => self.others.pop_front(),
            false => None,
        }
    }

    /// Takes the next read whose data have reached the host at `now`.
    fn next_out(&mut self, now: u64) -> Option<(u32, Times)> {
        let Leaving { at, place, last } = *self.leaving.front()?;
        if at > now {
            return None;
        }
        self.leaving.pop_front();
        Some((place, last))
    }

    /// Sets the event of the link to the end of the transfer or of the overhead that ends first.
    fn expect(&self, clock: &mut Clock) {
        let ends =
            [self.reads.front(), self.others.front()].map(|it| it.map(|entering| entering.at));
        let out = self.leaving.front().map(|entering| entering.at);
        let first = ends.into_iter().flatten().chain(out).min();
        clock.set(Event::Link, first.unwrap_or(NEVER));
    }
}

impl FrontEnd {
    /// Handles everything that has crossed the link.
    ///
    /// # Errors
    /// The errors of the workload or the map.
    pub fn crossed<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        let now = shared.now();
        while let Some((place, last)) = self.link().next_out(now) {
            self.reaches_host(shared, place, last);
        }
        while let Some(entering) = self.link().next_in(now) {
            let Entering { waiting, dispatched, hints, .. } = entering;
            self.begin(shared, dies, &waiting, dispatched, &hints)?;
        }
        self.link().expect(&mut shared.clock);
        Ok(())
    }

    fn link(&mut self) -> &mut Link {
        self.link.as_mut().expect("only a drive with a link comes here")
    }
}
