//! Requests of a recording that come when the answers have come that they waited for there.
//!
//! A flush is answered when the drive has done it and every write that came before it is answered, as that of a
//! [live](crate::Live) drive.

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

/// The requests that are read before they come: a host of a slower drive has other ones under way than in the
/// recording.
const MOST_AHEAD: usize = 1 << 16;

/// The number of a request that nobody waits for.
pub const NOBODY: u64 = u64::MAX;

/// A request that has not come: its pieces, behind the hints that come before it.
#[derive(Value)]
struct Expected {
    parts: Vec<TimedRequest>,
    op: Op,
}

/// The requests that wait for answers.
///
/// It knows times and numbers: a request has the number of its place in the recording, and those of later passes
/// go on from there.
#[derive(State)]
pub struct Dependent {
    #[snapshot(skip)]
    waits: Waits,
    /// The factor by which think times are divided.
    #[snapshot(skip)]
    rate_scale: f64,
    /// The hints and the pieces of the request that is being read.
    parts: Vec<TimedRequest>,
    expected: HashMap<u64, Expected>,
    /// The requests that wait for the answer of another one.
    held: HashMap<u64, Vec<u64>>,
    /// The times at which requests come that wait no longer.
    due: BTreeSet<(u64, u64)>,
    /// The times of the answers, by number; [`NEVER`] before.
    answered: Vec<u64>,
    /// The requests that were read and not answered.
    open: BTreeSet<u64>,
    /// The requests that have come and that the drive has not done: their places in the order in which they came.
    under_way: HashMap<u64, (u64, Op)>,
    came: u64,
    /// The places of the writes among them, and of the flushes that the drive has done.
    writes: BTreeSet<u64>,
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

    /// Returns `true` if requests were read that have not come.
    pub fn is_pending(&self) -> bool {
        !self.expected.is_empty()
    }

    fn has_room(&self) -> bool {
        self.expected.len() < MOST_AHEAD
    }

    /// Returns the time at which the next request comes, or [`NEVER`].
    fn next_due(&self) -> u64 {
        self.due.first().map_or(NEVER, |&(time, _)| time)
    }

    /// Takes a request, a piece of one, or a hint, as the recording has them.
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

    /// Lets a request come at its time, or wait for an answer that is missing. The last answer that it waited for
    /// came at `released`.
    fn expect(&mut self, number: u64, released: Option<u64>, now: u64) {
        let all = u64::from(self.waits.len());
        let (before, place) = (number / all * all, (number % all) as u32);
        let wait = self.waits.wait(place);
        // The first requests of a pass wait for the last one of the pass before.
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
        // A flush thinks since the last of its answers, whichever that is here.
        if let (true, Some(released)) = (is_flush, released) {
            begun = begun.max(released);
        }
        let think_ns = match self.rate_scale {
            1.0 => wait.think_ns,
            scale => (wait.think_ns as f64 / scale).round() as u64,
        };
        self.due.insert(((begun + think_ns).max(now), number));
    }

    /// Returns a request before flush `number` for whose answer it waits: one that had been answered then.
    fn unanswered_before(&self, number: u64, before: u64, place: u32) -> Option<u64> {
        let under_way = self.waits.under_way(place);
        let waited = |&number: &u64| {
            let Some(place) = number.checked_sub(before) else { return true };
            let place = place as u32;
            self.waits.wait(place).is_answered && !under_way.contains(&place)
        };
        self.open.range(..number).copied().find(waited)
    }

    /// Takes the next request that comes by `now`.
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

    /// Notes that a request was answered. Those that waited for it come later, or wait for another one.
    fn answered(&mut self, number: u64, now: u64) {
        self.answered[number as usize] = now;
        self.open.remove(&number);
        for held in self.held.remove(&number).unwrap_or_default() {
            self.expect(held, Some(now), now);
        }
    }
}

impl FrontEnd {
    /// Reads requests ahead, and lets the next one come at its time.
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
        // Hints behind the last request wait for nothing.
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

    /// Lets the request come whose time it is. Dies begin their work before the next one comes.
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

    /// Returns `true` if requests of the workload have not come.
    pub(super) fn has_more_requests(&self) -> bool {
        let is_pending = self.dependent.as_ref().is_some_and(|dependent| dependent.is_pending());
        is_pending || self.arrivals.has_more()
    }

    /// Notes the answer of request `number` of a recording: others may come now.
    pub(super) fn goes_on_dependent<O: Observer>(&mut self, shared: &mut Shared<O>, number: u64) {
        let now = shared.now();
        let Some(dependent) = &mut self.dependent else { return };
        debug_assert!(number != NOBODY, "all requests of a recording have numbers");
        dependent.done(number, now);
        self.is_due |= self.arrivals.has_more() && dependent.has_room();
        self.expect_dependent(shared);
    }
}
