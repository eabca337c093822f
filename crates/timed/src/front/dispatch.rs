//! The way of a request in the drive. The front end cuts the request into page operations and sends
//! these to their dies. The request is done when its last page operation is done.

use std::ops::Range;

use flashgc_base::stream::named;
use flashgc_drive::error::DriveError;
use flashgc_workload::Op;

use super::FrontEnd;
use super::cache::Effect;
use super::requests::{PART, Party, Request, Times, WaitingRequest};
use crate::clock::Event;
use crate::config::Loop;
use crate::observer::{Completion, Observer};
use crate::ops::{BUFFER, Kind, MAP, NONE, PageOp};
use crate::schedule::Scheduler;
use crate::shared::Shared;

impl FrontEnd {
    /// Gives a command a place in the queue of the drive. The drive begins the command when it has
    /// the command's data.
    #[inline(always)]
    pub(super) fn dispatch<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        waiting: WaitingRequest,
    ) -> Result<(), DriveError> {
        let WaitingRequest { request, party, hints, joins, .. } = waiting;
        self.outstanding += u32::from(!request.op.is_hint() && !joins);
        if party == Party::Hints {
            // A command that holds only hints takes a fixed time.
            match self.write_back.is_some() {
                true => self.begin_telling(&mut shared.clock, hints),
                false => self.begin_hint_command(shared),
            }
            return Ok(());
        }
        let hinted = if hints == 0 { Vec::new() } else { self.take_hints(hints) };
        if let Some(link) = &mut self.link {
            link.enter(&mut shared.clock, waiting, hinted);
            return Ok(());
        }
        self.begin(shared, dies, &waiting, shared.now(), &hinted)
    }

    /// Cuts a request into page operations, and sends them to their dies. The request was
    /// dispatched at `dispatched`. First gives the drive the hints `hinted`, which the request
    /// carries.
    pub(super) fn begin<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        waiting: &WaitingRequest,
        dispatched: u64,
        hinted: &[u32],
    ) -> Result<(), DriveError> {
        let WaitingRequest { request, number, .. } = *waiting;
        if request.op.is_hint() {
            let pages: Vec<u32> = self.shape.pages_of(&request)?.collect();
            let kind = if request.op == Op::Clean { Kind::Clean } else { Kind::Tell };
            return self.hint(shared, dies, kind, &pages);
        }
        if !hinted.is_empty() {
            self.hint(shared, dies, Kind::Tell, hinted)?;
        }
        if request.op == Op::Flush {
            self.flush(shared, dies, waiting, dispatched);
            return Ok(());
        }
        let pages = self.shape.pages_of(&request)?;
        let times = (dispatched, shared.now());
        let place = self.keep(waiting, times, pages.len() as u32);
        if pages.is_empty() && !waiting.joins && !request.goes_on {
            self.complete(shared, place, Times::default());
            return Ok(());
        }
        for page in pages {
            let kind = self.shape.kind_of(&request, page);
            let bytes = self.shape.bytes_in(&request, page);
            let missing = if kind == Kind::Modify { self.shape.missing(&bytes) } else { 0 };
            if matches!(kind, Kind::Write | Kind::Modify) {
                shared.name(page, request.stream)?;
            }
            let urgent = request.urgent;
            let op = PageOp { urgent, missing, ..PageOp::new(place, page, kind) };
            let op = shared.ops.add(op, number);
            if let Some(overlaps) = &mut self.overlaps
                && !overlaps.lets_go(&shared.ops, op, (bytes.start, bytes.end))
            {
                continue;
            }
            self.send(shared, dies, op, bytes);
        }
        self.end_of_pieces(shared, waiting, place);
        Ok(())
    }

    /// Gives the drive hints of this kind. If the map lies on flash, they go through the map.
    pub(super) fn hint<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        kind: Kind,
        pages: &[u32],
    ) -> Result<(), DriveError> {
        match &mut self.mapping {
            Some(mapping) => mapping.hint(shared, dies, kind, pages),
            None => shared.take(kind, pages)?,
        }
        Ok(())
    }

    /// Keeps a request that has `left` parts, or adds a piece with `left` parts to the request that
    /// is kept already. `times` are those of dispatch and begin. A request whose last piece has not
    /// come has one part more. Returns the place of the request.
    #[inline(always)]
    pub(super) fn keep(&mut self, waiting: &WaitingRequest, times: (u64, u64), left: u32) -> u32 {
        let request = &waiting.request;
        // Reads overtake writes on the link, so pieces of a read and of a write may be interleaved.
        let in_pieces = &mut self.in_pieces[usize::from(request.op == Op::Read)];
        if waiting.joins {
            self.requests.join(*in_pieces, request, left);
            return *in_pieces;
        }
        if !request.goes_on {
            return self.requests.keep(waiting, times, left);
        }
        *in_pieces = self.requests.keep(waiting, times, left + 1);
        *in_pieces
    }

    /// If `waiting` is the last piece of its request, ends the extra part that the request at
    /// `place` has: the request is done when its other parts are.
    #[inline(always)]
    pub(super) fn end_of_pieces<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        waiting: &WaitingRequest,
        place: u32,
    ) {
        if waiting.joins && !waiting.request.goes_on {
            self.part_done(shared, place, Times::default(), false);
        }
    }

    /// Sends a page operation to its die, or into the cache.
    #[inline(always)]
    fn send<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        op: u32,
        bytes: Range<u32>,
    ) {
        let PageOp { kind, page, .. } = shared.ops[op];
        let counts = &mut self.counts;
        let what = match kind {
            Kind::Read => {
                counts.pages_read += 1;
                Op::Read
            }
            Kind::Write | Kind::Modify => {
                counts.pages_written += 1;
                counts.pages_modified += u64::from(kind == Kind::Modify);
                Op::Write
            }
            Kind::Trim | Kind::Flush | Kind::Hint | Kind::Tell | Kind::Clean => Op::Trim,
        };
        shared.observer.dispatched(shared.ops.number(op), what, page);
        // A TRIM ends the hint on its page. A write ends it, too; with a write cache this must be
        // noted here, as the page reaches its die only later.
        if what == Op::Trim || (what == Op::Write && self.has_cache) {
            shared.comes_true(page);
        }
        let effect = match self.has_cache {
            true => self.cache.take(shared, op, bytes),
            false => Effect::Passes,
        };
        self.follow(shared, dies, op, effect);
    }

    /// Continues with `op` as the cache answered.
    #[inline(always)]
    fn follow<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        op: u32,
        effect: Effect,
    ) {
        match effect {
            Effect::Passes => return self.send_to_die(shared, dies, op),
            Effect::Waits => return,
            Effect::Done => {}
            Effect::Flushes(flush) => self.send_to_die(shared, dies, flush),
            Effect::Discards(flush) => match &self.mapping {
                Some(mapping) if mapping.holds(shared, flush) => {
                    shared.ops[flush].kind = Kind::Trim;
                }
                _ => dies.discard(shared, flush),
            },
        }
        self.finish(shared, dies, op, false);
    }

    /// Notes that a die has done a page operation.
    pub fn done<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, op: u32) {
        let PageOp { request, kind, .. } = shared.ops[op];
        if request < BUFFER {
            self.finish(shared, dies, op, true);
        } else if request == BUFFER {
            shared.ops.remove(op);
        } else if request == NONE {
            let next = self.cache.flushed(shared, op);
            while let Some(place) = self.cache.next_flushed() {
                self.flush_planes(shared, dies, place);
            }
            if let Some(next) = next {
                self.send_to_die(shared, dies, next);
            }
            while let Some((op, effect)) = self.cache.take_waiting(shared) {
                self.follow(shared, dies, op, effect);
            }
        }
        if let Some(mapping) = &mut self.mapping {
            if request == MAP {
                mapping.done(shared, dies, op);
                self.is_overloaded |= mapping.is_endless(&*shared.map);
            } else if kind != Kind::Flush {
                // The flush of a page buffer needs no map entry, so it did not go through the map.
                mapping.note_done(shared, dies);
            }
        }
    }

    /// Sends a page operation to its die. If the map lies on flash, the operation goes through the
    /// map.
    #[inline]
    fn send_to_die<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, op: u32) {
        match &mut self.mapping {
            Some(mapping) => mapping.send(shared, dies, op),
            None => dies.accept(shared, op),
        }
    }

    /// Ends a page operation of a request. `on_die` is `true` if a die did it, `false` if the cache
    /// did.
    #[inline(always)]
    fn finish<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        op: u32,
        on_die: bool,
    ) {
        shared.ops.remove(op);
        // The fields are read one by one: a copy of all would wait for the stores to the last ones.
        let PageOp { request, plane, met_collection, blocked_ns, bus_ns, cell_ns, .. } =
            shared.ops[op];
        let last = Times { plane: on_die.then_some(plane), blocked_ns, bus_ns, cell_ns };
        let overlaps =
            self.overlaps.is_some().then(|| (shared.ops[op].page, shared.ops[op].writes()));
        self.part_done(shared, request, last, met_collection);
        if let Some((page, true)) = overlaps {
            self.written(shared, dies, page);
        }
    }

    /// Ends a write of this page on a drive with serial overwrites: the operations that waited for
    /// this write go on.
    #[cold]
    fn written<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, page: u32) {
        let Some(overlaps) = &mut self.overlaps else { return };
        let mut next = overlaps.done(&shared.ops, page).then(|| overlaps.ready()).flatten();
        while let Some((op, (begin, end))) = next {
            self.send(shared, dies, op, begin..end);
            let Some(overlaps) = &mut self.overlaps else { return };
            overlaps.gone();
            next = overlaps.ready();
        }
    }

    /// Ends a part of the request at `place`. `last` are the times of the page operation, `met` is
    /// `true` if the operation met a collection.
    #[inline(always)]
    pub(super) fn part_done<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        place: u32,
        last: Times,
        met: bool,
    ) {
        if self.requests.part_done(place, met) {
            self.complete(shared, place, last);
        }
    }

    /// Ends the request at `place` in the drive. `last` are the times of its last page operation.
    #[inline(always)]
    pub(super) fn complete<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        place: u32,
        last: Times,
    ) {
        let Some(link) = &mut self.link else { return self.reaches_host(shared, place, last) };
        let Request { request, party, dispatched, began, .. } = self.requests[place];
        // With a cache of the host, the cache's commands cross the link, and the application's
        // requests do not.
        let crosses = party != Party::Workload || self.write_back.is_none();
        let last = last.with_link(began - dispatched);
        match request.op {
            Op::Read if crosses => link.leave(&mut shared.clock, place, request.bytes, last),
            _ => self.reaches_host(shared, place, last),
        }
    }

    /// Completes the request at `place`: the host has the answer and the data.
    #[inline(always)]
    pub(super) fn reaches_host<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        place: u32,
        last: Times,
    ) {
        let Request {
            mut request, number, arrived, dispatched, met_collection, party, waited, ..
        } = self.requests[place];
        self.requests.forget(place);
        match party {
            Party::Workload => match &self.write_back {
                Some(cache) => {
                    request.stream = cache.host.stream_at(request.offset, request.stream);
                }
                None => {
                    self.left_drive();
                    if let Some(lines) = &mut self.lines {
                        lines.left_drive(request.offset);
                        self.is_due = true;
                    }
                }
            },
            Party::Request(waiting) => {
                self.left_drive();
                self.command_done(shared, &request, arrived, party);
                return self.part_done(shared, waiting, last, met_collection);
            }
            Party::Cache | Party::Hints => {
                self.left_drive();
                self.is_due = true;
                return self.command_done(shared, &request, arrived, party);
            }
        }
        let now = shared.now();
        if number < PART {
            self.counts.count_until(now);
            self.counts.in_system -= 1;
            self.counts.completed += u64::from(request.op != Op::Flush);
        }
        let Times { plane, blocked_ns, bus_ns, cell_ns } = last;
        let response = now - arrived;
        shared.observer.completed(&Completion {
            number,
            op: request.op,
            offset: request.offset,
            bytes: request.bytes,
            urgent: request.urgent,
            stream: named(request.stream),
            arrived_ns: arrived,
            dispatched_ns: dispatched,
            completed_ns: now,
            queue_ns: response - blocked_ns - bus_ns - cell_ns,
            blocked_ns,
            bus_ns,
            cell_ns,
            plane,
            met_collection,
        });
        if self.lines.is_some() {
            return self.goes_on_in_line(shared, request.offset);
        }
        match self.host {
            Loop::Dependent => self.goes_on_dependent(shared, waited),
            Loop::Closed { .. } if !self.arrivals.has_more() => {}
            Loop::Open => {}
            Loop::Closed { think_ns: 0, .. } => {
                self.free_threads += 1;
                self.is_due = true;
            }
            Loop::Closed { think_ns, .. } => {
                let time = now + think_ns;
                self.resting.push_back(time);
                if self.resting.len() == 1 {
                    shared.clock.set(Event::Arrival, time);
                }
            }
        }
    }
}
