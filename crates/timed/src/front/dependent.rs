//! Replay of a recording by dependences. In the recording a request waited for the answer of an
//! earlier one; here it arrives after that same answer. If the recording knows the thread of a
//! request, the request waits for answers of its own thread.
//!
//! A flush is answered when the drive has done it and when every write that arrived before the
//! flush is answered. A [live](crate::Live) drive does the same.

use std::collections::BTreeSet;

use flashgc_base::snapshot::{State, Value};
use flashgc_drive::error::DriveError;
use flashgc_workload::Op;
use flashgc_workload::requests::{TimedRequest, Waits};
use hashbrown::HashMap;

use super::FrontEnd;
use crate::clock::{Event, NEVER};
use crate::observer::Observer;
use crate::schedule::Scheduler;
use crate::shared::Shared;

/// The largest number of requests that are read from the recording before they arrive. The order of
/// arrivals may differ from the recording, as the drive may be slower or faster.
const MOST_AHEAD: usize = 1 << 16;

/// The number that stands for no request of a recording.
pub const NOBODY: u64 = u64::MAX;

/// A request that has not arrived. `parts` has the hints before the request, then its pieces.
#[derive(Value)]
struct Expected {
    parts: Vec<TimedRequest>,
    op: Op,
}

/// The requests of a recording that wait for answers.
///
/// It knows times and numbers. The number of a request is its place in the recording, plus the
/// length of the recording for each earlier pass.
#[derive(State)]
pub struct Dependent {
    #[snapshot(skip)]
    waits: Waits,
    /// The factor by which think times are divided: above 1 the host is faster than in the
    /// recording.
    #[snapshot(skip)]
    rate_scale: f64,
    /// The hints and the pieces of the request that is being read.
    parts: Vec<TimedRequest>,
    expected: HashMap<u64, Expected>,
    /// The requests that wait for an answer, by the number of the request whose answer is missing.
    held: HashMap<u64, Vec<u64>>,
    /// The requests that wait for no answer any more: the arrival time of each, in nanoseconds, and
    /// its number.
    due: BTreeSet<(u64, u64)>,
    /// The time of each request's answer, in nanoseconds, by number; [`NEVER`] before the answer.
    answered: Vec<u64>,
    /// The requests that were read from the recording and are not answered yet.
    open: BTreeSet<u64>,
    /// The requests that have arrived and that the drive has not done, each with its place in the
    /// order of arrivals.
    under_way: HashMap<u64, (u64, Op)>,
    came: u64,
    /// The places, in the order of arrivals, of the writes that are under way.
    writes: BTreeSet<u64>,
    /// The places and numbers of the flushes that the drive has done and that are not answered yet.
    flushes: BTreeSet<(u64, u64)>,
}

impl Dependent {
    /// Returns the host of a recording, before its first request.
    pub fn new(waits: Waits, rate_scale: f64) -> Self {
        Self {
            waits,
            rate_scale,
            parts: Vec::new(),
            expected: HashMap::new(),
            held: HashMap::new(),
            due: BTreeSet::new(),
            answered: Vec::new(),
            open: BTreeSet::new(),
            under_way: HashMap::new(),
            came: 0,
            writes: BTreeSet::new(),
            flushes: BTreeSet::new(),
        }
    }

    /// Returns `true` if some of the requests read have not arrived yet.
    pub fn is_pending(&self) -> bool {
        !self.expected.is_empty()
    }

    fn has_room(&self) -> bool {
        self.expected.len() < MOST_AHEAD
    }

    /// Returns the time of the next arrival, in nanoseconds, or [`NEVER`].
    fn next_due(&self) -> u64 {
        self.due.first().map_or(NEVER, |&(time, _)| time)
    }

    /// Takes the next item of the recording: a request, a piece of a request, or a hint.
    fn read(&mut self, part: TimedRequest, now: u64) {
        self.parts.push(part);
        if part.op.is_hint() || part.goes_on {
            return;
        }
        let number = self.answered.len() as u64;
        self.answered.push(NEVER);
        self.open.insert(number);
        let parts = std::mem::take(&mut self.parts);
        self.expected.insert(number, Expected { parts, op: part.op });
        self.expect(number, None, now);
    }

    /// Sets the arrival time of a request, or lets the request wait for an answer that is missing.
    /// If it waited before, the last answer that it waited for came at `released`.
    fn expect(&mut self, number: u64, released: Option<u64>, now: u64) {
        let all = u64::from(self.waits.len());
        let (before, place) = (number / all * all, (number % all) as u32);
        let wait = self.waits.wait(place);
        // The first requests of a pass wait for the last request of the pass before.
        let on = wait.on.map(|on| before + u64::from(on)).or(before.checked_sub(1));
        let mut begun = on.map_or(0, |on| self.answered[on as usize]);
        let is_flush = self.expected[&number].op == Op::Flush;
        let missing = match begun {
            NEVER => on,
            _ if is_flush => self.unanswered_before(number, before, place),
            _ => None,
        };
        if let Some(missing) = missing {
            self.held.entry(missing).or_default().push(number);
            return;
        }
        // The think time of a flush begins with the last of the answers that it waited for.
        if let (true, Some(released)) = (is_flush, released) {
            begun = begun.max(released);
        }
        let think_ns = match self.rate_scale {
            1.0 => wait.think_ns,
            scale => (wait.think_ns as f64 / scale).round() as u64,
        };
        self.due.insert(((begun + think_ns).max(now), number));
    }

    /// Returns a request whose answer flush `number` still waits for. It is an earlier request that
    /// was answered before the flush in the recording, and is not answered yet in this replay.
    fn unanswered_before(&self, number: u64, before: u64, place: u32) -> Option<u64> {
        let waited_by = self.waits.waited_by(place);
        let waited = |&number: &u64| {
            number.checked_sub(before).is_none_or(|earlier| waited_by(earlier as u32))
        };
        self.open.range(..number).copied().find(waited)
    }

    /// Takes the next request that arrives at `now` or earlier.
    fn next(&mut self, now: u64) -> Option<(u64, Vec<TimedRequest>)> {
        let &(_, number) = self.due.first().filter(|&&(time, _)| time <= now)?;
        self.due.pop_first();
        let Expected { parts, op } = self.expected.remove(&number)?;
        if op == Op::Write {
            self.writes.insert(self.came);
        }
        self.under_way.insert(number, (self.came, op));
        self.came += 1;
        Some((number, parts))
    }

    /// Notes that the drive has done a request.
    fn done(&mut self, number: u64, now: u64) {
        match self.under_way.remove(&number) {
            Some((came, Op::Flush)) => {
                self.flushes.insert((came, number));
            }
            Some((came, _)) => {
                self.writes.remove(&came);
                self.answered(number, now);
            }
            None => {}
        }
        while let Some(&(came, flush)) = self.flushes.first()
            && self.writes.first().is_none_or(|&write| write > came)
        {
            self.flushes.pop_first();
            self.answered(flush, now);
        }
    }

    /// Notes that a request was answered. Each request that waited for this answer gets its arrival
    /// time or waits for another answer.
    fn answered(&mut self, number: u64, now: u64) {
        self.answered[number as usize] = now;
        self.open.remove(&number);
        for held in self.held.remove(&number).unwrap_or_default() {
            self.expect(held, Some(now), now);
        }
    }
}

impl FrontEnd {
    /// Reads requests ahead, and sets the clock to the arrival of the next one.
    ///
    /// # Errors
    /// The errors of the workload or the map.
    pub(super) fn read_ahead<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        let now = shared.now();
        while let Some(dependent) = self.dependent.as_mut().filter(|dependent| dependent.has_room())
            && let Some(request) = self.arrivals.take(&*shared.map, &self.shape)?
        {
            dependent.read(request, now);
        }
        let Some(dependent) = &mut self.dependent else { return Ok(()) };
        // Hints after the last request do not wait for any answer.
        if !self.arrivals.has_more() && dependent.parts.last().is_some_and(|part| part.op.is_hint())
        {
            for hint in std::mem::take(&mut dependent.parts) {
                self.arrive(shared, dies, hint)?;
            }
        }
        self.expect_dependent(shared);
        Ok(())
    }

    fn expect_dependent<O: Observer>(&self, shared: &mut Shared<O>) {
        let next = self.dependent.as_ref().map_or(NEVER, |dependent| dependent.next_due());
        shared.clock.set(Event::Arrival, next);
    }

    /// Lets the next request arrive, if it is due. Call it once for each request, so that dies can
    /// begin their work between two arrivals.
    ///
    /// # Errors
    /// The errors of the workload or the map.
    pub(super) fn arrivals_of_dependent<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        let now = shared.now();
        let next = self.dependent.as_mut().and_then(|dependent| dependent.next(now));
        if let Some((number, parts)) = next {
            self.arriving = number;
            for part in parts {
                self.arrive(shared, dies, part)?;
            }
            self.arriving = NOBODY;
        }
        self.read_ahead(shared, dies)
    }

    /// Returns `true` if some requests of the workload have not arrived yet.
    pub(super) fn has_more_requests(&self) -> bool {
        let is_pending = self.dependent.as_ref().is_some_and(|dependent| dependent.is_pending());
        is_pending || self.arrivals.has_more()
    }

    /// Notes that the drive has done request `number` of a recording. Requests that waited for its
    /// answer may arrive now.
    pub(super) fn goes_on_dependent<O: Observer>(&mut self, shared: &mut Shared<O>, number: u64) {
        let now = shared.now();
        let Some(dependent) = &mut self.dependent else { return };
        debug_assert!(number != NOBODY, "all requests of a recording have numbers");
        dependent.done(number, now);
        self.is_due |= self.arrivals.has_more() && dependent.has_room();
        self.expect_dependent(shared);
    }
}
