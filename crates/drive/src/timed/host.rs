//! The host's side: arrivals in an open or a closed loop, and the queue depth.

use std::collections::VecDeque;
use std::ops::Range;

use flashgc_ftl::FtlError;
use flashgc_workload::Op;
use flashgc_workload::requests::{RequestStream, TimedRequest};
use hashbrown::HashMap;

use super::engine::TimedDrive;
use super::events::NEVER;
use super::observe::Observer;
use super::settings::Loop;
use super::write_back::WriteBack;
use crate::counting::DriveError;

/// Requests asked of the workload at a time.
const BATCH: usize = 256;
/// Requests whose map entries are fetched at once, as long before they are taken: side by side, so
/// that none waits alone for the translation of its address.
const AHEAD: usize = 32;

/// Whose request it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Party {
    /// The workload's.
    Workload,
    /// A command of the host's cache that the request at this place waits for.
    Request(u32),
    /// A command of the cache that nobody waits for.
    Cache,
    /// A command of the cache that only brings hints.
    Hints,
}

/// A request that the drive works on, or the host's cache.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) request: TimedRequest,
    pub(super) number: u64,
    pub(super) arrived: u64,
    pub(super) dispatched: u64,
    /// Page operations, or commands of the cache, that are not done.
    pub(super) left: u32,
    pub(super) met_collection: bool,
    pub(super) party: Party,
}

/// A request that waits for its place in the queue depth.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) request: TimedRequest,
    pub(super) number: u64,
    pub(super) arrived: u64,
    pub(super) party: Party,
    /// Hints that ride on it.
    pub(super) hints: u32,
}

/// The host and its requests.
pub(super) struct Host {
    stream: Box<dyn RequestStream>,
    pub(super) write_back: Option<Box<WriteBack>>,
    batch: Vec<TimedRequest>,
    /// Requests of `batch` that are taken.
    taken: usize,
    /// Whether the workload has another request.
    pub(super) has_more: bool,
    page_bytes: u64,
    logical_pages: u32,
    started: bool,
    waiting: VecDeque<Waiting>,
    /// When threads that rest issue their next requests, in order.
    pub(super) resting: VecDeque<u64>,
    /// Pages that the drive was told of and has not written since, with how many operations had been
    /// sent to dies by then.
    pub(super) told: HashMap<u32, u64>,
    pub(super) requests: Vec<Request>,
    pub(super) free: Vec<u32>,
    pub(super) outstanding: u32,
    /// Requests between arrival and completion.
    pub(super) in_system: u64,
    counted_until: u64,
    pub(super) is_overloaded: bool,
    /// Threads whose requests were completed and that do not rest.
    pub(super) free_threads: u32,
    /// Requests may be dispatched that could not before.
    pub(super) is_due: bool,
}

impl Host {
    pub(super) fn new(stream: Box<dyn RequestStream>, page_bytes: u32, logical_pages: u32) -> Self {
        Self {
            stream,
            write_back: None,
            batch: Vec::with_capacity(BATCH),
            taken: 0,
            has_more: true,
            page_bytes: page_bytes.into(),
            logical_pages,
            started: false,
            waiting: VecDeque::new(),
            resting: VecDeque::new(),
            told: HashMap::new(),
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

    /// The pages that a request touches; of a discard those that it covers, as parts of pages keep
    /// their data.
    pub(super) fn pages_of(&self, request: &TimedRequest) -> Result<Range<u32>, FtlError> {
        let (begin, end) = (request.offset, request.end());
        let (first, last) = (self.page_of(begin), self.page_of(end.max(begin + 1) - 1));
        if last >= u64::from(self.logical_pages) {
            let page = u32::try_from(last).unwrap_or(u32::MAX);
            return Err(FtlError::OutOfRange { page, logical_pages: self.logical_pages });
        }
        let (first, last) = (first as u32, last as u32);
        if request.op != Op::Trim {
            return Ok(first..last + 1);
        }
        let covers = |page| u32::from(self.covers(request, page));
        Ok(first + 1 - covers(first)..last + covers(last))
    }

    /// Whether all of `page` is in a request.
    pub(super) fn covers(&self, request: &TimedRequest, page: u32) -> bool {
        let first = u64::from(page) * self.page_bytes;
        first >= request.offset && first + self.page_bytes <= request.end()
    }

    /// Keeps a request of which `left` parts are to be done; returns its place.
    pub(super) fn keep(&mut self, waiting: &Waiting, now: u64, left: u32) -> u32 {
        let Waiting { request, number, arrived, party, .. } = *waiting;
        let entry = Request {
            request,
            number,
            arrived,
            dispatched: now,
            left,
            met_collection: false,
            party,
        };
        if let Some(place) = self.free.pop() {
            self.requests[place as usize] = entry;
            return place;
        }
        self.requests.push(entry);
        self.requests.len() as u32 - 1
    }

    /// The request at `place` waits for one part more.
    pub(super) fn waits_for_more(&mut self, place: u32) {
        self.requests[place as usize].left += 1;
    }

    /// A command has left the drive: others may be let in.
    pub(super) fn left_drive(&mut self) {
        self.outstanding -= 1;
        self.is_due |= !self.waiting.is_empty();
    }

    /// Whether the drive has commands that are not done.
    pub(super) fn has_outstanding(&self) -> bool {
        self.outstanding > 0
    }

    /// Whether there are requests, or will be.
    pub(super) fn goes_on(&self) -> bool {
        self.has_more || self.in_system > 0
    }

    /// Whether the drive may be given this now: what is only told takes no place in it.
    fn has_room(&self, queue_depth: u32, next: &Waiting) -> bool {
        let (cache, for_hints) = (self.write_back.as_ref(), next.party == Party::Hints);
        next.request.op == Op::Dirty
            || self.outstanding < queue_depth
                && cache.is_none_or(|cache| cache.lets_in(self.outstanding, for_hints))
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
        self.start_write_back()?;
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
        let queue_depth = self.settings.queue_depth;
        loop {
            let first = self.host.waiting.front();
            let has_room = first.is_some_and(|first| self.host.has_room(queue_depth, first));
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
        if self.host.write_back.is_some() {
            self.flush_at_leisure()?;
        }
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
            let is_at_hand = self.host.taken < self.host.batch.len();
            self.host.has_more = is_at_hand || self.peek()?.is_some();
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

    /// A thread issues its next request, or ends. What became dirty before that, it says first.
    fn issue(&mut self) -> Result<(), DriveError> {
        while let Some(request) = self.take()? {
            self.arrive(request)?;
            if request.op != Op::Dirty {
                break;
            }
        }
        Ok(())
    }

    fn arrive(&mut self, request: TimedRequest) -> Result<(), DriveError> {
        if request.op == Op::Dirty {
            return self.dirtied(request);
        }
        self.count_requests();
        self.host.in_system += 1;
        let (number, party) = (self.totals.arrived, Party::Workload);
        let waiting = Waiting { request, number, arrived: self.now, party, hints: 0 };
        self.totals.arrived += 1;
        self.observer.arrived(self.now);
        if self.host.write_back.is_some() {
            return self.ask_cache(waiting);
        }
        self.let_in(waiting)
    }

    /// A trace says what is dirty in its host's cache: the drive is told as soon as it has taken the
    /// requests before that. A cache of ours tells of its own.
    fn dirtied(&mut self, request: TimedRequest) -> Result<(), DriveError> {
        if self.host.write_back.is_some() {
            return Ok(());
        }
        let (number, party) = (u64::MAX, Party::Workload);
        self.let_in(Waiting { request, number, arrived: self.now, party, hints: 0 })
    }

    /// Dispatches what nothing waits before, or lets it wait.
    pub(super) fn let_in(&mut self, waiting: Waiting) -> Result<(), DriveError> {
        let queue_depth = self.settings.queue_depth;
        if self.host.waiting.is_empty() && self.host.has_room(queue_depth, &waiting) {
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
}
