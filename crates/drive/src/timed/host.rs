//! The host's side: arrivals in an open or a closed loop, the queue depth, and requests cut into
//! page operations.

use std::collections::VecDeque;

use flashgc_ftl::FtlError;
use flashgc_workload::Op;
use flashgc_workload::requests::{RequestStream, TimedRequest};

use super::engine::TimedDrive;
use super::events::NEVER;
use super::observe::{Completion, Observer};
use super::ops::{Kind, NONE, PageOp};
use super::settings::Loop;
use crate::counting::DriveError;

/// Requests asked of the workload at a time.
const BATCH: usize = 256;
/// Requests whose map entries are fetched at once, as long before they are taken: side by side, so
/// that none waits alone for the translation of its address.
const AHEAD: usize = 32;

/// A request that the drive works on.
#[derive(Clone, Copy)]
struct Request {
    request: TimedRequest,
    number: u64,
    arrived: u64,
    dispatched: u64,
    /// Page operations that are not done.
    left: u32,
    met_collection: bool,
}

/// A request that waits for its place in the queue depth.
#[derive(Clone, Copy)]
struct Waiting {
    request: TimedRequest,
    number: u64,
    arrived: u64,
}

/// The host and its requests.
pub(super) struct Host {
    stream: Box<dyn RequestStream>,
    batch: Vec<TimedRequest>,
    /// Requests of `batch` that are taken.
    taken: usize,
    /// Whether the workload has another request.
    has_more: bool,
    page_bytes: u64,
    logical_pages: u32,
    started: bool,
    waiting: VecDeque<Waiting>,
    /// When threads that rest issue their next requests, in order.
    resting: VecDeque<u64>,
    requests: Vec<Request>,
    free: Vec<u32>,
    outstanding: u32,
    /// Requests between arrival and completion.
    pub(super) in_system: u64,
    counted_until: u64,
    pub(super) is_overloaded: bool,
    /// Threads whose requests were completed and that do not rest.
    free_threads: u32,
    /// Requests may be dispatched that could not before.
    pub(super) is_due: bool,
}

impl Host {
    pub(super) fn new(stream: Box<dyn RequestStream>, page_bytes: u32, logical_pages: u32) -> Self {
        Self {
            stream,
            batch: Vec::with_capacity(BATCH),
            taken: 0,
            has_more: true,
            page_bytes: page_bytes.into(),
            logical_pages,
            started: false,
            waiting: VecDeque::new(),
            resting: VecDeque::new(),
            requests: Vec::new(),
            free: Vec::new(),
            outstanding: 0,
            in_system: 0,
            counted_until: 0,
            is_overloaded: false,
            free_threads: 0,
            is_due: false,
        }
    }

    /// The number of the request at `place`.
    pub(super) fn number_of(&self, place: u32) -> u64 {
        self.requests.get(place as usize).map_or(u64::MAX, |request| request.number)
    }

    /// A request met a collection.
    pub(super) fn meets_collection(&mut self, place: u32) {
        if let Some(request) = self.requests.get_mut(place as usize) {
            request.met_collection = true;
        }
    }

    fn page_of(&self, byte: u64) -> u64 {
        if self.page_bytes.is_power_of_two() {
            return byte >> self.page_bytes.trailing_zeros();
        }
        byte / self.page_bytes
    }
}

impl<O: Observer> TimedDrive<O> {
    /// Has the first requests arrive.
    pub(super) fn start_host(&mut self) -> Result<(), DriveError> {
        if std::mem::replace(&mut self.host.started, true) {
            return Ok(());
        }
        match self.settings.host {
            Loop::Open => self.expect_arrival(),
            Loop::Closed { threads, .. } => {
                self.host.free_threads = threads;
                self.admit()
            }
        }
    }

    /// Dispatches what completions have made room for, and lets free threads go on.
    pub(super) fn admit(&mut self) -> Result<(), DriveError> {
        self.host.is_due = false;
        loop {
            let has_room = self.host.outstanding < self.settings.queue_depth;
            if has_room && let Some(waiting) = self.host.waiting.pop_front() {
                self.dispatch(waiting)?;
            } else if self.host.free_threads > 0 {
                self.host.free_threads -= 1;
                self.issue()?;
            } else {
                break;
            }
        }
        self.host.is_due = false;
        Ok(())
    }

    /// The next request of the workload, which stays there.
    fn peek(&mut self) -> Result<Option<TimedRequest>, DriveError> {
        if self.host.taken == self.host.batch.len() {
            self.host.stream.fill(&mut self.host.batch, BATCH)?;
            self.host.taken = 0;
            self.fetch_ahead(0);
        }
        Ok(self.host.batch.get(self.host.taken).copied())
    }

    /// Asks for the map entries of the requests of the batch from `first` on.
    fn fetch_ahead(&self, first: usize) {
        for ahead in self.host.batch.iter().skip(first).take(AHEAD) {
            self.layer.prefetch(self.host.page_of(ahead.offset) as u32);
        }
    }

    fn take(&mut self) -> Result<Option<TimedRequest>, DriveError> {
        let next = self.peek()?;
        if next.is_some() {
            if self.host.taken.is_multiple_of(AHEAD) {
                self.fetch_ahead(self.host.taken + AHEAD);
            }
            self.host.taken += 1;
            self.host.has_more = self.peek()?.is_some();
        }
        Ok(next)
    }

    fn expect_arrival(&mut self) -> Result<(), DriveError> {
        let time = self.peek()?.map_or(NEVER, |next| next.arrival_ns.max(self.now));
        self.timers.set(self.arrival_timer(), time);
        Ok(())
    }

    /// The arrival timer has come.
    pub(super) fn arrivals(&mut self) -> Result<(), DriveError> {
        match self.settings.host {
            Loop::Open => {
                if let Some(request) = self.take()? {
                    self.arrive(request)?;
                }
                self.expect_arrival()
            }
            Loop::Closed { .. } => {
                while self.host.resting.front().is_some_and(|&time| time <= self.now) {
                    self.host.resting.pop_front();
                    self.issue()?;
                }
                let next = self.host.resting.front().copied().unwrap_or(NEVER);
                self.timers.set(self.arrival_timer(), next);
                Ok(())
            }
        }
    }

    /// A thread issues its next request, or ends.
    fn issue(&mut self) -> Result<(), DriveError> {
        self.take()?.map_or(Ok(()), |request| self.arrive(request))
    }

    fn arrive(&mut self, request: TimedRequest) -> Result<(), DriveError> {
        self.count_requests();
        self.host.in_system += 1;
        let waiting = Waiting { request, number: self.totals.arrived, arrived: self.now };
        self.totals.arrived += 1;
        self.observer.arrived(self.now);
        if self.host.waiting.is_empty() && self.host.outstanding < self.settings.queue_depth {
            return self.dispatch(waiting);
        }
        self.host.waiting.push_back(waiting);
        self.host.is_overloaded |= self.host.waiting.len() > Self::MOST_WAITING;
        Ok(())
    }

    /// Adds the requests in the system to their sum over time.
    pub(super) fn count_requests(&mut self) {
        let since = self.now - self.host.counted_until;
        self.totals.request_ns += u128::from(since) * u128::from(self.host.in_system);
        self.host.counted_until = self.now;
    }

    /// Cuts a request into page operations and sends them to their dies.
    fn dispatch(&mut self, waiting: Waiting) -> Result<(), DriveError> {
        let Waiting { request, number, arrived } = waiting;
        let host = &mut self.host;
        host.outstanding += 1;
        let (begin, end) = (request.offset, request.end());
        let (mut first, mut last) = (host.page_of(begin), host.page_of(end.max(begin + 1) - 1));
        if last >= u64::from(host.logical_pages) {
            let page = u32::try_from(last).unwrap_or(u32::MAX);
            let logical_pages = host.logical_pages;
            return Err(FtlError::OutOfRange { page, logical_pages }.into());
        }
        let page_bytes = host.page_bytes;
        let is_whole = |page: u64| page * page_bytes >= begin && (page + 1) * page_bytes <= end;
        if request.op == Op::Trim {
            // Parts of pages keep their data.
            first += u64::from(!is_whole(first));
            last = if is_whole(last) { last + 1 } else { last };
        } else {
            last += 1;
        }
        let left = last.saturating_sub(first) as u32;
        let entry =
            Request { request, number, arrived, dispatched: self.now, left, met_collection: false };
        let place = match host.free.pop() {
            Some(place) => {
                host.requests[place as usize] = entry;
                place
            }
            None => {
                host.requests.push(entry);
                host.requests.len() as u32 - 1
            }
        };
        if left == 0 {
            self.complete_request(place, None);
            return Ok(());
        }
        for page in first..last {
            let kind = match request.op {
                Op::Read => Kind::Read,
                // Dirty events do not come: requests leave them out.
                Op::Trim | Op::Dirty => Kind::Trim,
                Op::Write if is_whole(page) => Kind::Write,
                Op::Write => Kind::Modify,
            };
            self.send(PageOp {
                number: 0,
                order: 0,
                request: place,
                page: page as u32,
                plane: 0,
                kind,
                urgent: request.urgent,
                starved: false,
                next: NONE,
                blocked_ns: 0,
                bus_ns: 0,
                cell_ns: 0,
            })?;
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
        let request = &mut self.host.requests[op.request as usize];
        request.left -= 1;
        if request.left == 0 {
            self.complete_request(op.request, Some(&op));
        }
    }

    /// A request is done, with `last` its last page operation; with none if it had none.
    fn complete_request(&mut self, place: u32, last: Option<&PageOp>) {
        self.count_requests();
        let Request { request, number, arrived, dispatched, met_collection, .. } =
            self.host.requests[place as usize];
        self.host.free.push(place);
        self.host.in_system -= 1;
        self.host.outstanding -= 1;
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
        self.host.is_due |= !self.host.waiting.is_empty();
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
