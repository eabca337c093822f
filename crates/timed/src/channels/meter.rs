//! What is measured on one channel.

use flashgc_base::snapshot::State;
use flashgc_base::state;
use flashgc_workload::Op;

use super::order::Order;
use crate::clock::Position;
use crate::front::PART;
use crate::measure::{Completion, Follows, KINDS, Meter, Observer, Span, Stint, Worst, kind_of};

/// A channel calls its collections by this and their order there, until it is known how many began
/// before them in the drive.
pub const OWN: u64 = 1 << 63;

/// A place in the order of what happens in the drive: an event, the request that arrived last, and which
/// step it is of all that follows from the event at once.
pub type Place = (Position, u64, u32);

/// The same, and how many requests and parts of requests the channel had done before.
pub type Completed = (Place, u64);

/// Before everything.
pub const START: Place = (Position::end_of(0), 0, 0);

/// A collection that began.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    pub at: Place,
    pub die: u32,
    /// The die whose turn it was: its page needed the room.
    pub by: u32,
    /// As the channel calls it.
    pub number: u64,
}

/// A part of a request is done.
#[derive(Clone)]
pub struct PartDone {
    pub at: Place,
    /// Requests and parts that the channel had done before.
    pub behind: u64,
    /// In the terms of the channel, and the times of its last page.
    pub completion: Completion,
    /// What its die did, where the request may be the slowest so far.
    pub worst: Option<Box<Worst>>,
}

/// The measurements of one channel, in its own terms, and what the whole drive is to be told of it.
pub struct ChannelMeter {
    pub meter: Meter,
    order: Order,
    /// The event that is being handled: its place in the channel.
    pub event: Position,
    /// The place in the drive of an event elsewhere, which lets a request in that came earlier.
    pub elsewhere: Option<Position>,
    /// The request that arrived last, and the step of the event where the drive's events are handled one
    /// by one; else 0.
    pub latest: (u64, u32),
    /// The die whose turn it is.
    turn: u32,
    /// Requests completed that are the channel's alone, with flush commands and without.
    pub done: u64,
    pub completed: u64,
    /// Of these, those done behind the arrival of the last request that the channels were given.
    pub done_behind: u64,
    pub last_given: Place,
    /// Parts that are done since the drive was last told, of requests that other channels have parts of.
    pub parts: Vec<PartDone>,
    /// The longest response time so far of requests that several channels served, of each kind.
    pub slowest_joint: [u64; KINDS.len()],
    /// Collections that began since then.
    pub began: Vec<Began>,
    /// Requests and parts that are done.
    all_done: u64,
    /// When the slowest request of each kind was completed.
    pub slowest: [Completed; KINDS.len()],
}

impl State for ChannelMeter {
    state! {
        values: event, latest, done, completed, done_behind, last_given, all_done, slowest;
        states: meter;
        fixed: order, elsewhere, turn, parts, began, slowest_joint;
    }
}

impl ChannelMeter {
    pub fn new(meter: Meter, order: Order) -> Self {
        Self {
            meter,
            order,
            event: Position::end_of(0),
            elsewhere: None,
            latest: (0, 0),
            turn: 0,
            done: 0,
            done_behind: 0,
            last_given: START,
            completed: 0,
            parts: Vec::new(),
            slowest_joint: [0; KINDS.len()],
            began: Vec::new(),
            all_done: 0,
            slowest: [(START, 0); KINDS.len()],
        }
    }

    /// Where in the drive that is which happens now.
    #[inline]
    fn place(&self) -> Place {
        let event = self.elsewhere.unwrap_or_else(|| self.order.of_drive(self.event));
        (event, self.latest.0, self.latest.1)
    }
}

impl Observer for ChannelMeter {
    fn follows(&self) -> Follows {
        Follows::Work
    }

    fn was_busy(&mut self, stint: &Stint) {
        self.meter.was_busy(stint);
    }

    fn was_programmed(&mut self, die: u32, times: [u64; 3]) {
        self.meter.was_programmed(die, times);
    }

    fn adds_up(&self) -> (u64, u64) {
        self.meter.adds_up()
    }

    fn was_busy_in_all(&mut self, between: (u64, u64), busy_ns: [u64; 2]) {
        self.meter.was_busy_in_all(between, busy_ns);
    }

    fn copied(&mut self, die: u32, pages: u64) {
        self.meter.copied(die, pages);
    }

    fn arrived(&mut self, number: u64, _: Op, _: u64) {
        if self.latest.1 == 0 {
            self.latest.0 = number & !PART;
        }
    }

    fn completed(&mut self, request: &Completion) {
        self.all_done += 1;
        if request.number >= PART {
            let kind = kind_of(request.op);
            let is_slow =
                kind.is_some_and(|kind| request.response_ns() >= self.slowest_joint[kind]);
            let worst = is_slow.then(|| Box::new(self.meter.worst().about(request)));
            self.parts.push(PartDone {
                at: self.place(),
                behind: self.all_done,
                completion: *request,
                worst,
            });
            return;
        }
        self.done += 1;
        if self.event.time >= self.last_given.0.time {
            self.done_behind += u64::from(self.place() >= self.last_given);
        }
        self.completed += u64::from(request.op != Op::Flush);
        let before = self.meter.worst().changes();
        self.meter.completed(request);
        if self.meter.worst().changes() != before
            && let Some(kind) = kind_of(request.op)
        {
            self.slowest[kind] = (self.place(), self.all_done);
        }
    }

    fn worked(&mut self, span: &Span) {
        self.meter.worked(span);
    }

    fn looked_at(&mut self, die: u32) {
        self.turn = die;
    }

    fn collection(&mut self, now: u64, die: u32, number: u64, begins: bool) {
        let number = number | OWN;
        if begins {
            self.began.push(Began { at: self.place(), die, by: self.turn, number });
        }
        self.meter.collection(now, die, number, begins);
    }
}
