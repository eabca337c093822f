//! Several tenants in front of one drive. Each tenant has its own arrivals and its own line, a
//! queue of requests that wait. When the drive has a place, arbitration chooses the tenant whose
//! request is next. A drive of one host has no lines.

use std::collections::VecDeque;

use flashgc_base::snapshot::State;
use flashgc_drive::error::DriveError;
use flashgc_workload::requests::{RequestStream, TimedRequest};

use super::arbiter::Arbiter;
use super::requests::{Arrivals, WaitingRequest};
use super::{FrontEnd, MOST_WAITING};
use crate::clock::{Event, NEVER};
use crate::config::Loop;
use crate::observer::Observer;
use crate::schedule::Scheduler;
use crate::shared::Shared;
use crate::tenants::{ClassWeights, Parts, Tenant};

/// The arrivals and the waiting requests of one tenant.
#[derive(State)]
struct Line {
    #[snapshot(skip)]
    host: Loop,
    /// The largest number of requests of the tenant that the drive works on at a time.
    #[snapshot(skip)]
    queue_depth: u32,
    #[snapshot(state)]
    arrivals: Arrivals,
    waiting: VecDeque<WaitingRequest>,
    /// The number of requests of the tenant that the drive works on.
    outstanding: u32,
    /// The times at which resting threads issue their next requests, in nanoseconds and in order.
    resting: VecDeque<u64>,
    /// The number of threads that may issue their next request at once.
    free_threads: u32,
}

impl Line {
    /// Returns `true` if the first request may go to the drive when the drive has a place.
    fn is_ready(&self) -> bool {
        self.outstanding < self.queue_depth && !self.waiting.is_empty()
    }
}

/// The lines of all tenants.
///
/// They know the order in which tenants take turns. They do not know the way of a request in the
/// drive.
#[derive(State)]
#[snapshot(named = "tenants")]
pub struct Lines {
    #[snapshot(state)]
    lines: Vec<Line>,
    #[snapshot(skip)]
    parts: Parts,
    #[snapshot(state)]
    arbiter: Arbiter,
    /// The tenant whose request still lacks pieces, if there is one. Its next piece goes first.
    in_pieces: Option<u32>,
    /// The number of requests that are still to arrive, of all tenants together.
    left: u64,
}

impl Lines {
    /// Returns the lines of `tenants`, whose requests come from `streams`. After `left` requests no
    /// more arrive. `unit` is the size of a page of the map in bytes.
    pub fn new(
        tenants: &[Tenant],
        streams: Vec<Box<dyn RequestStream>>,
        weights: ClassWeights,
        unit: u32,
        left: u64,
    ) -> Self {
        let line = |(tenant, stream): (&Tenant, Box<dyn RequestStream>)| Line {
            host: tenant.host,
            queue_depth: tenant.queue_depth,
            arrivals: Arrivals::new(stream),
            waiting: VecDeque::new(),
            outstanding: 0,
            resting: VecDeque::new(),
            free_threads: 0,
        };
        Self {
            lines: tenants.iter().zip(streams).map(line).collect(),
            parts: Parts::of(tenants, unit),
            arbiter: Arbiter::new(tenants, weights),
            in_pieces: None,
            left,
        }
    }

    /// Returns `true` if a tenant has an open loop: its requests arrive at given times.
    pub fn have_open_loop(&self) -> bool {
        self.lines.iter().any(|line| line.host == Loop::Open)
    }

    /// Lets a request wait in its line. Returns `true` if the line is too long now.
    pub fn push(&mut self, waiting: WaitingRequest) -> bool {
        let line = &mut self.lines[self.parts.tenant(waiting.request.offset)];
        line.waiting.push_back(waiting);
        line.waiting.len() > MOST_WAITING
    }

    /// Notes that a request at `offset` has left the drive.
    pub fn left_drive(&mut self, offset: u64) {
        let line = &mut self.lines[self.parts.tenant(offset)];
        debug_assert!(line.outstanding > 0, "a request leaves the drive once");
        line.outstanding -= 1;
    }

    /// Takes the next request for the drive. If the drive has no place, only a hint or a further
    /// piece of a request can be next, as these need no place.
    fn next(&mut self, has_place: bool) -> Option<WaitingRequest> {
        if let Some(tenant) = self.in_pieces {
            return self.pop(tenant as usize);
        }
        let is_hint =
            |line: &Line| line.waiting.front().is_some_and(|first| first.request.op.is_hint());
        if let Some(line) = self.lines.iter_mut().find(|line| is_hint(line)) {
            return line.waiting.pop_front();
        }
        if !has_place {
            return None;
        }
        let Self { lines, arbiter, .. } = self;
        let tenant = arbiter.next(|tenant| lines[tenant].is_ready())?;
        lines[tenant].outstanding += 1;
        self.pop(tenant)
    }

    /// Takes the first request of a tenant's line, or its next piece.
    fn pop(&mut self, tenant: usize) -> Option<WaitingRequest> {
        let next = self.lines[tenant].waiting.pop_front();
        self.in_pieces = next.filter(|next| next.request.goes_on).map(|_| tenant as u32);
        next
    }

    /// Takes a free thread. Returns the number of its tenant.
    fn take_free_thread(&mut self) -> Option<usize> {
        let tenant = self.lines.iter().position(|line| line.free_threads > 0)?;
        self.lines[tenant].free_threads -= 1;
        Some(tenant)
    }
}

impl FrontEnd {
    fn lines(&mut self) -> &mut Lines {
        self.lines.as_mut().expect("only a drive of tenants comes here")
    }

    /// Lets the first requests of all tenants arrive.
    pub(super) fn start_lines<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        for line in &mut self.lines().lines {
            if let Loop::Closed { threads, .. } = line.host {
                line.free_threads = threads;
            }
        }
        self.admit_lines(shared, dies)?;
        self.expect_lines(shared)
    }

    /// Lets free threads go on, and gives the drive requests while it has places.
    pub(super) fn admit_lines<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        loop {
            if let Some(tenant) = self.lines().take_free_thread() {
                self.issue_of(shared, dies, tenant)?;
                continue;
            }
            let has_place = self.outstanding < self.queue_depth;
            let Some(waiting) = self.lines().next(has_place) else { break };
            self.dispatch(shared, dies, waiting)?;
        }
        self.is_due = false;
        Ok(())
    }

    /// Handles the event of an arrival: a request of an open loop, or the end of a think time.
    pub(super) fn arrivals_of_lines<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        let now = shared.now();
        for tenant in 0..self.lines().lines.len() {
            if self.next_arrival(shared, tenant)? > now {
                continue;
            }
            if self.lines().lines[tenant].host == Loop::Open {
                while self.take_of(shared, dies, tenant)?.is_some_and(|taken| taken.goes_on) {}
                continue;
            }
            while self.lines().lines[tenant].resting.front().is_some_and(|&time| time <= now) {
                self.lines().lines[tenant].resting.pop_front();
                self.issue_of(shared, dies, tenant)?;
            }
        }
        self.admit_lines(shared, dies)?;
        self.expect_lines(shared)
    }

    /// Continues after a request at `offset` is complete: in a closed loop its thread rests, issues
    /// the next request or ends.
    pub(super) fn goes_on_in_line<O: Observer>(&mut self, shared: &mut Shared<O>, offset: u64) {
        let lines = self.lines();
        let tenant = lines.parts.tenant(offset);
        let (left, line) = (lines.left, &mut lines.lines[tenant]);
        match line.host {
            Loop::Open | Loop::Dependent => {}
            Loop::Closed { .. } if left == 0 || !line.arrivals.has_more() => {}
            Loop::Closed { think_ns: 0, .. } => line.free_threads += 1,
            Loop::Closed { think_ns, .. } => {
                let time = shared.now() + think_ns;
                line.resting.push_back(time);
                let first = shared.clock.time_of(Event::Arrival);
                shared.clock.set(Event::Arrival, first.min(time));
            }
        }
    }

    /// Lets a thread of a tenant issue its next request, with the hints before it. If there are no
    /// more requests, the thread ends.
    fn issue_of<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        tenant: usize,
    ) -> Result<(), DriveError> {
        let leads_on = |taken: TimedRequest| taken.op.is_hint() || taken.goes_on;
        while self.take_of(shared, dies, tenant)?.is_some_and(leads_on) {}
        Ok(())
    }

    /// Lets the next item of a tenant arrive: a request, a piece of one or a hint. Returns it, or
    /// `None` if there is no more.
    fn take_of<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        tenant: usize,
    ) -> Result<Option<TimedRequest>, DriveError> {
        let Some(lines) = self.lines.as_mut().filter(|lines| lines.left > 0) else {
            return Ok(None);
        };
        let next = lines.lines[tenant].arrivals.take(&*shared.map, &self.shape)?;
        let Some(request) = next else { return Ok(None) };
        lines.left -= u64::from(request.is_last_piece());
        self.arrive(shared, dies, request)?;
        Ok(Some(request))
    }

    /// Returns the time of a tenant's next event, in nanoseconds: in an open loop the next arrival,
    /// else the end of a thread's think time.
    fn next_arrival<O: Observer>(
        &mut self,
        shared: &Shared<O>,
        tenant: usize,
    ) -> Result<u64, DriveError> {
        let lines = self.lines.as_mut().expect("only a drive of tenants comes here");
        let line = &mut lines.lines[tenant];
        if line.host != Loop::Open {
            return Ok(line.resting.front().copied().unwrap_or(NEVER));
        }
        if lines.left == 0 {
            return Ok(NEVER);
        }
        let next = line.arrivals.peek(&*shared.map, &self.shape)?;
        Ok(next.map_or(NEVER, |next| next.arrival_ns.max(shared.now())))
    }

    fn expect_lines<O: Observer>(&mut self, shared: &mut Shared<O>) -> Result<(), DriveError> {
        let mut first = NEVER;
        for tenant in 0..self.lines().lines.len() {
            first = first.min(self.next_arrival(shared, tenant)?);
        }
        shared.clock.set(Event::Arrival, first);
        Ok(())
    }
}
