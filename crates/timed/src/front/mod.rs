//! The front end: arrivals in an open or a closed loop, the queue depth, and the way of a request
//! between its arrival and its completion.
//!
//! The room has the requests and their parts (`requests.rs`, `dispatch.rs`), the link to the host
//! (`link.rs`), the write cache (`cache.rs`), flush commands (`flushes.rs`), writes that wait for
//! earlier writes of their page (`overlaps.rs`), the host's cache (`write_back.rs`, `hosted.rs`),
//! and commands for hints (`telling.rs`). `dependent.rs` replays a recording whose requests wait
//! for answers; `Waits` of `crates/workload` says which answers. If there are several tenants,
//! `lines.rs` has the waiting requests of each, and `arbiter.rs` chooses the next tenant.
//!
//! A request whose pages are not contiguous comes in pieces. The pieces arrive together; they share
//! one place in the queue and one completion.

mod arbiter;
mod cache;
mod dependent;
mod dispatch;
mod flushes;
mod hosted;
mod lines;
mod link;
mod overlaps;
mod requests;
mod telling;
mod write_back;

use std::collections::VecDeque;

use flashgc_base::snapshot::{State, Value};
use flashgc_drive::error::DriveError;
use flashgc_host::{ClockedHost, HostCounts};
use flashgc_workload::Op;
use flashgc_workload::requests::{RequestStream, TimedRequest, Waits};

use super::clock::{Event, NEVER};
use super::config::{Loop, Settings};
use super::mapping::Mapping;
use super::measure::Totals;
use super::observer::Observer;
use super::schedule::Scheduler;
use super::shared::Shared;
use cache::WriteCache;
use dependent::{Dependent, NOBODY};
pub use lines::Lines;
use link::Link;
use overlaps::Overlaps;
use requests::{Arrivals, Party, Requests, WaitingRequest};
pub use requests::{PART, Shape};
pub use telling::HintCommands;
use write_back::WriteBack;

/// The largest number of requests that may wait in front of the drive. With more, the drive is
/// overloaded.
pub const MOST_WAITING: usize = 1_000_000;

/// The counts of the front end.
#[derive(Default, Value)]
struct Counts {
    arrived: u64,
    completed: u64,
    /// The number of requests between arrival and completion.
    in_system: u64,
    /// The sum of `in_system` over all nanoseconds until `counted_until`.
    request_ns: u128,
    counted_until: u64,
    /// The time at which the last request arrived, in nanoseconds.
    last_arrival_ns: u64,
    /// The value of `in_system` just after the last request arrived.
    at_last_arrival: u64,
    pages_read: u64,
    pages_written: u64,
    pages_modified: u64,
}

impl Counts {
    /// Counts a request that arrives.
    #[inline(always)]
    fn arrives(&mut self, now: u64, op: Op) {
        self.count_until(now);
        self.in_system += 1;
        (self.last_arrival_ns, self.at_last_arrival) = (now, self.in_system);
        // A flush command does not count as a request: it has the number of the request before it.
        self.arrived += u64::from(op != Op::Flush);
    }

    /// Brings the sum `request_ns` up to `now`.
    fn count_until(&mut self, now: u64) {
        let since = now - self.counted_until;
        self.request_ns += u128::from(since) * u128::from(self.in_system);
        self.counted_until = now;
    }
}

/// The host's side of the drive.
///
/// It owns the requests that wait for the drive or are in it, the host's cache and the drive's
/// write cache. It cuts requests into page operations, gives these to the scheduler, and gets
/// finished operations back. It does not know dies and collections.
#[derive(State)]
#[snapshot(named = "front end")]
pub struct FrontEnd {
    #[snapshot(skip)]
    host: Loop,
    #[snapshot(skip)]
    queue_depth: u32,
    #[snapshot(skip)]
    shape: Shape,
    #[snapshot(state)]
    arrivals: Arrivals,
    has_started: bool,
    waiting: VecDeque<WaitingRequest>,
    requests: Requests,
    /// `true` if the next item that arrives is a further piece of the last request.
    comes_in_pieces: bool,
    /// The places of the write and of the read that still lack pieces.
    in_pieces: [u32; 2],
    /// The number of commands that the drive works on.
    outstanding: u32,
    /// `true` if the drive has a write cache.
    #[snapshot(skip)]
    has_cache: bool,
    #[snapshot(state)]
    cache: WriteCache,
    /// The map on flash, if there is one. Operations go through it to their dies.
    #[snapshot(state)]
    mapping: Option<Box<Mapping>>,
    #[snapshot(state)]
    write_back: Option<Box<WriteBack>>,
    /// The commands for hints of a real host, if it gives hints by commands. A drive with such a
    /// host is not saved.
    #[snapshot(skip)]
    hint_commands: Option<Box<HintCommands>>,
    /// The link to the host, if it takes time.
    #[snapshot(state)]
    link: Option<Box<Link>>,
    /// The writes under way, if the drive has serial overwrites.
    #[snapshot(state)]
    overlaps: Option<Box<Overlaps>>,
    /// The arrivals and lines of tenants, if several share the drive. All requests then come from
    /// there.
    #[snapshot(state)]
    lines: Option<Box<Lines>>,
    /// The requests of a recording that wait for answers, if the host has a dependent loop.
    #[snapshot(state)]
    dependent: Option<Box<Dependent>>,
    /// The number of the request of a recording that is arriving, or [`NOBODY`].
    #[snapshot(skip)]
    arriving: u64,
    /// The times at which resting threads issue their next requests, in nanoseconds and in order.
    resting: VecDeque<u64>,
    /// The number of threads that may issue their next request at once.
    free_threads: u32,
    /// `true` if [`FrontEnd::admit`] is to be called, as more requests may be dispatched now.
    is_due: bool,
    is_overloaded: bool,
    counts: Counts,
}

impl FrontEnd {
    /// Returns the front end before the first request of `requests`, for a drive with
    /// `logical_pages` logical pages.
    pub fn new(settings: &Settings, requests: Box<dyn RequestStream>, logical_pages: u32) -> Self {
        Self {
            host: settings.host,
            queue_depth: settings.queue_depth,
            shape: Shape::new(settings.hardware.unit_bytes(), logical_pages),
            arrivals: Arrivals::new(requests),
            has_started: false,
            waiting: VecDeque::new(),
            requests: Requests::default(),
            comes_in_pieces: false,
            in_pieces: [0; 2],
            outstanding: 0,
            has_cache: settings.write_cache > 0,
            cache: WriteCache::new(settings.write_cache, settings.hardware.unit_bytes()),
            mapping: None,
            write_back: None,
            hint_commands: None,
            link: settings.details.link.map(|link| Box::new(Link::new(link))),
            overlaps: settings.details.serial_overwrites.then(Box::default),
            lines: None,
            dependent: None,
            arriving: NOBODY,
            resting: VecDeque::new(),
            free_threads: 0,
            is_due: false,
            is_overloaded: false,
            counts: Counts::default(),
        }
    }

    /// Lets requests go through a host's cache first.
    pub fn put_behind(&mut self, host: ClockedHost) {
        self.write_back = Some(Box::new(WriteBack::new(host)));
    }

    /// Lets requests come from the lines of tenants.
    pub fn put_tenants(&mut self, lines: Lines) {
        self.lines = Some(Box::new(lines));
    }

    /// Lets each request arrive after the answer that it waited for in the recording.
    pub fn put_waits(&mut self, waits: Waits, rate_scale: f64) {
        self.dependent = Some(Box::new(Dependent::new(waits, rate_scale)));
    }

    /// Lets page operations go through a map on flash. The host has `logical_pages` pages, without
    /// the translation pages.
    pub fn put_before(&mut self, mapping: Mapping, logical_pages: u32) {
        self.shape = self.shape.with_pages(logical_pages);
        self.mapping = Some(Box::new(mapping));
    }

    /// Returns the map, if it lies on flash.
    pub fn mapping_mut(&mut self) -> Option<&mut Mapping> {
        self.mapping.as_deref_mut()
    }

    /// Returns the map, if it lies on flash.
    pub fn mapping(&self) -> Option<&Mapping> {
        self.mapping.as_deref()
    }

    /// Returns the rule that divides requests into pages.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the cache of the host, if it has one.
    pub fn host_mut(&mut self) -> Option<&mut ClockedHost> {
        self.write_back.as_mut().map(|cache| &mut cache.host)
    }

    /// Returns the counts of the host's cache, if it has one.
    pub fn host_counts(&self) -> Option<HostCounts> {
        self.write_back.as_ref().map(|cache| cache.host.counts())
    }

    /// Returns `true` if more requests may be dispatched now, so that [`admit`](Self::admit) is to
    /// be called.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Notes that a block was erased.
    pub fn erased<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler) {
        if let Some(mapping) = &mut self.mapping {
            mapping.erased(shared, dies);
            self.is_overloaded |= mapping.is_endless(&*shared.map);
        }
    }

    /// Returns `true` if more than [`MOST_WAITING`] requests wait, or the drive does nothing but
    /// write its map.
    #[inline]
    pub fn is_overloaded(&self) -> bool {
        self.is_overloaded
    }

    /// Returns the number of requests completed.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.counts.completed
    }

    /// Returns the number of pages that requests have read.
    pub fn pages_read(&self) -> u64 {
        self.counts.pages_read
    }

    /// Returns the number of requests between arrival and completion.
    pub fn in_system(&self) -> u64 {
        self.counts.in_system
    }

    /// Returns `true` if requests arrive in an open loop, at given times.
    pub fn has_open_loop(&self) -> bool {
        let alone = || self.host == Loop::Open;
        self.lines.as_ref().map_or_else(alone, |lines| lines.have_open_loop())
    }

    /// Puts the counts until `now` into `totals`.
    pub fn count(&mut self, now: u64, totals: &mut Totals) {
        self.counts.count_until(now);
        totals.arrived = self.counts.arrived;
        totals.completed = self.counts.completed;
        totals.pages_read = self.counts.pages_read;
        totals.pages_written = self.counts.pages_written;
        totals.pages_modified = self.counts.pages_modified;
        totals.cache_hits = self.cache.hits();
        totals.cache_waits = self.cache.waits();
        totals.cached_pages = self.cache.held();
        totals.request_ns = self.counts.request_ns;
        totals.last_arrival_ns = self.counts.last_arrival_ns;
        totals.at_last_arrival = self.counts.at_last_arrival;
    }

    /// Lets the first requests arrive; does nothing if they have.
    ///
    /// # Errors
    /// The errors of the workload or the map.
    pub fn start<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        if std::mem::replace(&mut self.has_started, true) {
            return Ok(());
        }
        self.start_write_back(shared, dies)?;
        if self.lines.is_some() {
            return self.start_lines(shared, dies);
        }
        match self.host {
            Loop::Open => self.expect_arrival(shared),
            Loop::Closed { threads, .. } => {
                self.free_threads = threads;
                self.admit(shared, dies)
            }
            Loop::Dependent => self.read_ahead(shared, dies),
        }
    }

    /// Dispatches waiting requests while the drive has places, and lets free threads issue
    /// requests.
    ///
    /// # Errors
    /// The errors of the workload or the map.
    pub fn admit<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        if self.lines.is_some() {
            return self.admit_lines(shared, dies);
        }
        self.is_due = false;
        loop {
            let has_room = self.waiting.front().is_some_and(|first| self.has_room(first));
            if has_room && let Some(waiting) = self.waiting.pop_front() {
                self.dispatch(shared, dies, waiting)?;
            } else if self.free_threads > 0 {
                self.free_threads -= 1;
                self.issue(shared, dies)?;
            } else {
                break;
            }
        }
        self.is_due = false;
        if self.dependent.is_some() {
            self.read_ahead(shared, dies)?;
        }
        if self.write_back.is_some() {
            self.flush_at_leisure(shared, dies)?;
        }
        Ok(())
    }

    /// Handles the event of an arrival.
    ///
    /// # Errors
    /// The errors of the workload or the map.
    pub fn arrivals<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        if self.lines.is_some() {
            return self.arrivals_of_lines(shared, dies);
        }
        match self.host {
            Loop::Open => {
                while let Some(request) = self.arrivals.take(&*shared.map, &self.shape)? {
                    self.arrive(shared, dies, request)?;
                    if !request.goes_on {
                        break;
                    }
                }
                self.expect_arrival(shared)
            }
            Loop::Closed { .. } => {
                while self.resting.front().is_some_and(|&time| time <= shared.now()) {
                    self.resting.pop_front();
                    self.issue(shared, dies)?;
                }
                let next = self.resting.front().copied().unwrap_or(NEVER);
                shared.clock.set(Event::Arrival, next);
                Ok(())
            }
            Loop::Dependent => self.arrivals_of_dependent(shared, dies),
        }
    }

    /// Sets the clock to the arrival of the next request of an open loop.
    ///
    /// # Errors
    /// The errors of the workload.
    pub fn expect_arrival<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
    ) -> Result<(), DriveError> {
        let next = self.arrivals.peek(&*shared.map, &self.shape)?;
        let time = next.map_or(NEVER, |next| next.arrival_ns.max(shared.now()));
        shared.clock.set(Event::Arrival, time);
        Ok(())
    }

    /// Lets a thread issue its next request, with the hints before it. If there are no more
    /// requests, the thread ends.
    #[inline(always)]
    fn issue<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        while let Some(request) = self.arrivals.take(&*shared.map, &self.shape)? {
            self.arrive(shared, dies, request)?;
            if !request.op.is_hint() && !request.goes_on {
                break;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn arrive<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        request: TimedRequest,
    ) -> Result<(), DriveError> {
        let (now, party) = (shared.now(), Party::Workload);
        if request.op.is_hint() {
            // A trace may have hints, which reach the drive after the requests before them. With a
            // simulated cache, the cache makes its own hints instead.
            if self.write_back.is_some() {
                return Ok(());
            }
            if self.hint_commands.is_some() {
                return self.tell_by_command(shared, dies, request);
            }
            let waiting = WaitingRequest::new(request, now, party);
            return self.let_in(shared, dies, waiting);
        }
        let pushed = self.arrivals.number();
        let joins = std::mem::replace(&mut self.comes_in_pieces, request.goes_on);
        let waiting = match joins {
            false => self.counted(shared, request, pushed, now),
            true => WaitingRequest {
                number: self.counts.arrived.saturating_sub(1),
                waited: self.arriving,
                joins,
                ..WaitingRequest::new(request, now, party)
            },
        };
        if self.write_back.is_some() {
            return self.ask_cache(shared, dies, waiting);
        }
        self.let_in(shared, dies, waiting)
    }

    /// Counts and reports a request of the workload that reaches the drive now. Its number is
    /// `given`, or else the next one. A part of a request is not counted.
    #[inline(always)]
    fn counted<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        request: TimedRequest,
        given: Option<u64>,
        arrived: u64,
    ) -> WaitingRequest {
        let now = shared.now();
        if given.is_none_or(|number| number < PART) {
            self.counts.arrives(now, request.op);
        }
        let number = given.unwrap_or_else(|| self.counts.arrived.saturating_sub(1));
        shared.observer.arrived(number, request.op, now);
        let waited = self.arriving;
        WaitingRequest { number, waited, ..WaitingRequest::new(request, arrived, Party::Workload) }
    }

    /// Dispatches a request if no other request waits and the drive has a place for it. Otherwise
    /// lets it wait.
    #[inline(always)]
    fn let_in<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        waiting: WaitingRequest,
    ) -> Result<(), DriveError> {
        if let Some(lines) = &mut self.lines {
            self.is_overloaded |= lines.push(waiting);
            return Ok(());
        }
        if self.waiting.is_empty() && self.has_room(&waiting) {
            return self.dispatch(shared, dies, waiting);
        }
        self.waiting.push_back(waiting);
        self.is_overloaded |= self.waiting.len() > MOST_WAITING;
        Ok(())
    }

    /// Returns `true` if the drive may get this item now. A hint or a further piece needs no place.
    #[inline(always)]
    fn has_room(&self, next: &WaitingRequest) -> bool {
        let (cache, commands) = (self.write_back.as_ref(), self.hint_commands.as_ref());
        let for_hints = next.party == Party::Hints;
        next.request.op.is_hint()
            || next.joins
            || self.outstanding < self.queue_depth
                && cache.is_none_or(|cache| cache.lets_in(self.outstanding, for_hints))
                && commands.is_none_or(|commands| commands.lets_in(self.outstanding, for_hints))
    }

    /// Notes that a command has left the drive, so that the next one may be dispatched.
    fn left_drive(&mut self) {
        debug_assert!(self.outstanding > 0, "a command leaves the drive once");
        self.outstanding -= 1;
        self.is_due |= !self.waiting.is_empty();
    }

    /// Adds a request of an open loop, on a drive whose requests are pushed by the caller.
    pub fn push(&mut self, request: TimedRequest, number: u64) {
        self.arrivals.push(request, number);
    }

    /// Lets the requests that were pushed arrive at their times.
    ///
    /// # Errors
    /// None, as no workload is read.
    pub fn expect_pushed<O: Observer>(&mut self, shared: &mut Shared<O>) -> Result<(), DriveError> {
        self.arrivals.fetch_first(&*shared.map, &self.shape);
        self.expect_arrival(shared)
    }

    /// Dispatches a request now, without waiting. It arrived at `arrived`, which is now or earlier.
    ///
    /// # Errors
    /// The errors of the workload or the map.
    pub fn enter<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        request: TimedRequest,
        number: u64,
        arrived: u64,
    ) -> Result<(), DriveError> {
        let waiting = self.counted(shared, request, Some(number), arrived);
        self.dispatch(shared, dies, waiting)
    }
}
