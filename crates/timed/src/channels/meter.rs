//! The measurements of one channel.

use flashgc_base::snapshot::{State, Value};
use flashgc_workload::Op;

use super::order::ChannelOrder;
use crate::clock::Position;
use crate::front::PART;
use crate::measure::{KINDS, Meter, Worst, kind_of};
use crate::observer::{Completion, Follows, Observer, Span, Stint};

/// The bit that marks the number of a collection in its channel. A collection keeps that number
/// until its number in the drive is known.
pub const OWN: u64 = 1 << 63;

/// A place in the order of the drive: the position of the event, the number of the request that
/// arrived last, and the step within the event.
pub type OrderPlace = (Position, u64, u32);

/// The place of a completion, and the number of requests and parts that the channel had then done,
/// including this one.
pub type Completed = (OrderPlace, u64);

/// The place before all others.
pub const START: OrderPlace = (Position::end_of(0), 0, 0);

/// A collection that began.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    pub at: OrderPlace,
    pub die: u32,
    /// The die that was being served: its write needed an erased block.
    pub by: u32,
    /// The number of the collection in the channel.
    pub number: u64,
}

/// A part of a request that is done.
#[derive(Clone, Value)]
pub struct PartDone {
    pub at: OrderPlace,
    /// The number of requests and parts that the channel had then done, including this part.
    pub behind: u64,
    /// The completion, with pages, dies and planes as the channel numbers them, and with the times
    /// of the last page.
    pub completion: Completion,
    /// The work of the part's die, if the request may be the slowest so far.
    pub worst: Option<Box<Worst>>,
}

/// The measurements of one channel, and its reports to the whole drive. Pages, dies and planes have
/// their numbers in the channel.
#[derive(State)]
pub struct ChannelMeter {
    #[snapshot(state)]
    pub meter: Meter,
    #[snapshot(skip)]
    order: ChannelOrder,
    /// The position of the present event on the channel's clock.
    pub event: Position,
    /// The position, on the drive's clock, of an event of another channel that lets a waiting
    /// request enter this channel.
    #[snapshot(skip)]
    pub elsewhere: Option<Position>,
    /// The number of the request that arrived last, and the step within the event. The step is 0
    /// unless the desk handles events one by one.
    pub latest: (u64, u32),
    /// The die that is being served.
    #[snapshot(skip)]
    turn: u32,
    /// The number of completed requests of this channel alone, with flush commands.
    pub done: u64,
    /// The number of completed requests of this channel alone, without flush commands.
    pub completed: u64,
    /// The number of requests of this channel alone that were done after the arrival of the last
    /// request given to the channels.
    pub done_behind: u64,
    pub last_given: OrderPlace,
    /// The parts of joint requests that were done since the last report.
    #[snapshot(skip)]
    pub parts: Vec<PartDone>,
    /// The longest response time so far of each kind of joint requests, in nanoseconds.
    #[snapshot(skip)]
    pub slowest_joint: [u64; KINDS.len()],
    /// The collections that began since the last report.
    #[snapshot(skip)]
    pub began: Vec<Began>,
    /// The number of requests and parts that are done.
    all_done: u64,
    /// The place, in the order of the drive, at which the slowest request of each kind was
    /// completed.
    pub slowest: [Completed; KINDS.len()],
}

impl ChannelMeter {
    pub fn new(meter: Meter, order: ChannelOrder) -> Self {
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

    /// Returns the present place in the order of the drive.
    #[inline]
    fn place(&self) -> OrderPlace {
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

    fn not_suspended(&mut self, erases: bool, left_ns: u64) {
        self.meter.not_suspended(erases, left_ns);
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
