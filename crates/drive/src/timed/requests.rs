//! What becomes of a request in the drive: it is cut into page operations, which are sent to their
//! dies, and it is done with the last of them.

use flashgc_workload::Op;

use super::engine::TimedDrive;
use super::events::NEVER;
use super::host::{Party, Request, Waiting};
use super::observe::{Completion, Observer};
use super::ops::{Kind, NONE, PageOp};
use super::settings::Loop;
use crate::counting::DriveError;

impl<O: Observer> TimedDrive<O> {
    /// Cuts a request into page operations and sends them to their dies.
    pub(super) fn dispatch(&mut self, waiting: Waiting) -> Result<(), DriveError> {
        let Waiting { request, party, hints, .. } = waiting;
        if request.op == Op::Dirty {
            let pages: Vec<u32> = self.host.pages_of(&request)?.collect();
            return self.tell(&pages);
        }
        self.host.outstanding += 1;
        if party == Party::Hints {
            self.begin_telling(hints);
            return Ok(());
        }
        self.take_hints(hints)?;
        let pages = self.host.pages_of(&request)?;
        let place = self.host.keep(&waiting, self.now, pages.len() as u32);
        if pages.is_empty() {
            self.complete_request(place, None);
            return Ok(());
        }
        for page in pages {
            let kind = match request.op {
                Op::Read => Kind::Read,
                Op::Trim | Op::Dirty => Kind::Trim,
                Op::Write if self.host.covers(&request, page) => Kind::Write,
                Op::Write => Kind::Modify,
            };
            let op = PageOp::new(place, page, kind);
            self.send(PageOp { urgent: request.urgent, ..op })?;
        }
        Ok(())
    }

    /// Sends a page operation to its die.
    fn send(&mut self, op: PageOp) -> Result<(), DriveError> {
        let totals = &mut self.totals;
        match op.kind {
            Kind::Read => totals.pages_read += 1,
            Kind::Write => totals.pages_written += 1,
            Kind::Modify => {
                totals.pages_written += 1;
                totals.pages_modified += 1;
            }
            Kind::Trim => {}
        }
        let kind = match op.kind {
            Kind::Read => Op::Read,
            Kind::Write | Kind::Modify => Op::Write,
            Kind::Trim => Op::Trim,
        };
        let place = self.ops.add(op);
        self.observer.dispatched(self.ops[place].number, kind, op.page);
        // What goes to the cache comes to its die later, and what was told is true by then.
        if kind == Op::Trim || (kind == Op::Write && self.cache.capacity > 0) {
            self.comes_true(op.page);
        }
        if self.cache.capacity > 0 && self.through_cache(place) {
            return Ok(());
        }
        self.send_to_die(place);
        Ok(())
    }

    /// Lets a page operation wait at its die.
    pub(super) fn send_to_die(&mut self, place: u32) {
        let plane = self.place(place);
        let die = self.die_of(plane);
        let order = self.ops.sent;
        self.ops.sent += 1;
        let held = &self.dies[die as usize];
        let op = &mut self.ops[place];
        op.plane = plane;
        op.order = order;
        op.blocked_ns = held.held_until(self.now);
        if held.collection.is_some() {
            self.host.meets_collection(op.request);
        }
        let PageOp { page, kind, .. } = *op;
        self.layer.prefetch_old(page);
        if self.merges(die, place) {
            return;
        }
        let Self { dies, ops, .. } = self;
        let held = &mut dies[die as usize];
        let queue = if kind == Kind::Read { &mut held.reads } else { &mut held.writes };
        queue.push(ops, place);
        if self.settings.collecting.idle.is_some() {
            self.timers.set(self.idle_timer(die), NEVER);
        }
        self.suspend_for(die, place);
        self.look_at(die);
    }

    /// A page operation is done on its die.
    pub(super) fn complete(&mut self, die: u32, place: u32) {
        let op = self.ops[place];
        self.leave(&op, die);
        if op.request == NONE {
            self.flushed(place);
            return;
        }
        if op.blocked_ns > 0 || self.dies[die as usize].collection.is_some() {
            self.host.meets_collection(op.request);
        }
        self.finish(place);
    }

    /// A page operation of a request is done.
    pub(super) fn finish(&mut self, place: u32) {
        let op = self.ops.remove(place);
        self.part_done(op.request, Some(&op), false);
    }

    /// A part of the request at `place` is done, with `last` its last page operation; one that
    /// `met` a collection or not.
    pub(super) fn part_done(&mut self, place: u32, last: Option<&PageOp>, met: bool) {
        let request = &mut self.host.requests[place as usize];
        request.met_collection |= met;
        request.left -= 1;
        if request.left == 0 {
            self.complete_request(place, last);
        }
    }

    /// A request is done, with `last` its last page operation; with none if it had none.
    fn complete_request(&mut self, place: u32, last: Option<&PageOp>) {
        let Request { request, number, arrived, dispatched, met_collection, party, .. } =
            self.host.requests[place as usize];
        self.host.free.push(place);
        match party {
            Party::Workload if self.host.write_back.is_some() => {}
            Party::Workload => self.host.left_drive(),
            Party::Request(waiting) => {
                self.host.left_drive();
                return self.part_done(waiting, last, met_collection);
            }
            Party::Cache | Party::Hints => {
                self.host.left_drive();
                self.host.is_due = true;
                self.host.write_back.as_mut().into_iter().for_each(|cache| cache.done_at_leisure());
                return;
            }
        }
        self.count_requests();
        self.host.in_system -= 1;
        self.totals.completed += 1;
        let (blocked_ns, bus_ns, cell_ns) =
            last.map_or((0, 0, 0), |op| (op.blocked_ns, op.bus_ns, op.cell_ns));
        let response = self.now - arrived;
        self.observer.completed(&Completion {
            number,
            op: request.op,
            offset: request.offset,
            bytes: request.bytes,
            urgent: request.urgent,
            arrived_ns: arrived,
            dispatched_ns: dispatched,
            completed_ns: self.now,
            queue_ns: response - blocked_ns - bus_ns - cell_ns,
            blocked_ns,
            bus_ns,
            cell_ns,
            met_collection,
        });
        match self.settings.host {
            Loop::Closed { .. } if !self.host.has_more => {}
            Loop::Open => {}
            Loop::Closed { think_ns: 0, .. } => {
                self.host.free_threads += 1;
                self.host.is_due = true;
            }
            Loop::Closed { think_ns, .. } => {
                let time = self.now + think_ns;
                self.host.resting.push_back(time);
                if self.host.resting.len() == 1 {
                    self.timers.set(self.arrival_timer(), time);
                }
            }
        }
    }
}
