//! The desk: the work that the channels share. Requests arrive here, wait for places in the queue
//! and are cut into one part for each channel. A request is done when its last part is done.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use flashgc_base::snapshot::{State, Value};
use flashgc_drive::error::DriveError;
use flashgc_workload::Op;

use super::channel::Channel;
use super::joint::Joints;
use super::meter::{Began, ChannelMeter};
use super::source::{Chunk, Coming, MOST_ALONE, Post, RequestSource};
use super::{ChannelOrder, PageSplit, lock};
use crate::clock::{NEVER, Position};
use crate::config::Settings;
use crate::drive::Stop;
use crate::front::{MOST_WAITING, Shape};
use crate::measure::Meter;

/// The least number of requests for which the channels run alone. For fewer, the desk handles
/// events one by one.
const LEAST_ALONE: u64 = 16;

/// A request that waits for its place in the queue of the drive.
#[derive(Value)]
pub struct QueuedRequest {
    pub coming: Coming,
    pub number: u64,
    pub arrived: u64,
}

/// A channel, locked for this thread.
pub type Guard<'a> = MutexGuard<'a, Channel>;

/// See the module's text.
#[derive(State)]
pub struct Desk {
    #[snapshot(skip)]
    pub(super) split: PageSplit,
    #[snapshot(skip)]
    pub(super) shape: Shape,
    #[snapshot(skip)]
    pub(super) orders: Box<[ChannelOrder]>,
    #[snapshot(skip)]
    pub(super) dies: Dies,
    #[snapshot(skip)]
    pub(super) queue_depth: u64,
    /// The next requests of the workload, in chunks. Part of the first chunk may be taken already.
    pub(super) ahead: VecDeque<Chunk>,
    /// The number of requests of the first chunk that were taken.
    pub(super) taken: usize,
    /// The chunks whose requests were all taken.
    #[snapshot(skip)]
    pub(super) used: Vec<Chunk>,
    /// The requests that wait for a place in the queue, in order of arrival.
    pub(super) line: VecDeque<QueuedRequest>,
    /// The number of requests that the drive works on.
    pub(super) outstanding: u64,
    #[snapshot(state)]
    pub(super) joints: Joints,
    /// The number of requests that arrived, without flush commands and hints.
    pub(super) arrived: u64,
    /// The number of requests that arrived, with flush commands and without hints.
    pub(super) distributed: u64,
    pub(super) completed: u64,
    pub(super) in_system: u64,
    /// The time of the last arrival in nanoseconds, and the number of requests in the system then.
    pub(super) last_arrival: (u64, u64),
    /// The sum of the nanoseconds that requests of one channel waited for places in the queue.
    pub(super) waited_ns: u128,
    /// The number of collections that began.
    pub(super) collections: u64,
    /// The position of the last event on the drive's clock.
    pub(super) reached: Position,
    /// The position of each channel's next event on the drive's clock.
    #[snapshot(skip)]
    pub(super) next: Vec<Position>,
    /// The dies that may be able to begin a job, each as channel and die. The last one is checked
    /// next.
    #[snapshot(skip)]
    pub(super) ready: Vec<(u32, u32)>,
    /// `true` if the channels have run alone since the last call of [`Desk::settle_all`].
    #[snapshot(skip)]
    pub(super) has_given: bool,
    /// The number of steps of the present event so far.
    #[snapshot(skip)]
    pub(super) steps: u32,
    /// The channels that the present event has changed.
    #[snapshot(skip)]
    pub(super) touched: Vec<u32>,
}

/// The die of each page.
pub struct Dies {
    homes: Box<[u32]>,
    pub planes_per_die: u32,
    pub per_channel: u32,
}

impl Dies {
    fn new(settings: &Settings) -> Self {
        let hardware = settings.hardware;
        Self {
            homes: settings.placement.homes(&hardware),
            planes_per_die: hardware.planes,
            per_channel: hardware.dies_per_channel(),
        }
    }

    /// Returns the channel of a page, and the number of its die in the channel.
    fn of_page(&self, page: u32) -> (u32, u32) {
        let die = self.homes[page as usize % self.homes.len()] / self.planes_per_die;
        (die / self.per_channel, die % self.per_channel)
    }

    /// Sorts `dies` in the order in which `pages` first name them.
    fn sort<T>(&self, dies: &mut [T], pages: Range<u32>, die: impl Fn(&T) -> (u32, u32)) {
        let mut rest = dies;
        for page in pages.take(self.homes.len()) {
            if rest.len() < 2 {
                break;
            }
            let of_page = self.of_page(page);
            if let Some(at) = rest.iter().position(|it| die(it) == of_page) {
                rest[..=at].rotate_right(1);
                rest = &mut rest[1..];
            }
        }
    }
}

impl Desk {
    pub fn new(settings: &Settings, split: PageSplit, pages: u32, meter: Meter) -> Self {
        let hardware = settings.hardware;
        let dies = Dies::new(settings);
        let order = |channel| ChannelOrder::new(channel, hardware.channels, dies.per_channel);
        Self {
            split,
            shape: Shape::new(hardware.unit_bytes(), pages),
            orders: (0..hardware.channels).map(order).collect(),
            dies,
            queue_depth: settings.queue_depth.into(),
            ahead: VecDeque::new(),
            taken: 0,
            used: Vec::new(),
            line: VecDeque::new(),
            outstanding: 0,
            joints: Joints::new(meter),
            arrived: 0,
            distributed: 0,
            completed: 0,
            in_system: 0,
            last_arrival: (0, 0),
            waited_ns: 0,
            collections: 0,
            reached: Position::end_of(0),
            next: Vec::new(),
            ready: Vec::new(),
            touched: Vec::new(),
            steps: 0,
            has_given: false,
        }
    }

    /// Simulates until `until` requests are completed. If `about` is less, stops soon after `about`
    /// requests. `alone` lets all channels run alone until the arrivals at a given time.
    pub fn run(
        &mut self,
        channels: &[Mutex<Channel>],
        (source, post): (&Mutex<RequestSource>, &Post),
        (until, about): (u64, u64),
        mut alone: impl FnMut(u64) -> Result<(), DriveError>,
    ) -> Result<Stop, DriveError> {
        loop {
            let mut locked: Vec<Guard<'_>> = channels.iter().map(lock).collect();
            self.settle_all(&mut locked);
            self.look(&mut locked);
            let time = loop {
                if self.line.len() > MOST_WAITING {
                    return Ok(Stop::Overload);
                }
                if self.completed >= until.min(about) {
                    return Ok(Stop::Reached);
                }
                let count = self.may_go_alone(until);
                if count >= LEAST_ALONE
                    && let Some(time) = self.give(&mut locked, (source, post), count)?
                {
                    break time;
                }
                if !self.step(&mut locked, source)? {
                    return Stop::at_rest(self.in_system);
                }
            };
            drop(locked);
            alone(time)?;
        }
    }

    /// Handles the next event of the drive. Returns `true` if there was one.
    fn step(
        &mut self,
        channels: &mut [Guard<'_>],
        source: &Mutex<RequestSource>,
    ) -> Result<bool, DriveError> {
        self.fetch(source, 1)?;
        let (channel, place) = self.first();
        match self.next_arrival().map(|time| self.orders[0].arrival(time)) {
            Some(arrival) if arrival <= place => self.arrive(channels, arrival)?,
            _ if place.time < NEVER => self.event(channels, channel, place)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the number of requests for which the channels may run alone: before the queue can be
    /// full, before the drive must stop, and before measurement begins.
    fn may_go_alone(&self, until: u64) -> u64 {
        if !self.line.is_empty() {
            return 0;
        }
        let places = self.queue_depth.saturating_sub(self.outstanding);
        let left = until.saturating_sub(self.completed + self.in_system + 1);
        let first = self.joints.meter.first();
        let warming = if self.distributed <= first { first - self.distributed } else { u64::MAX };
        places.min(left).min(warming).min(MOST_ALONE)
    }

    /// Returns the number of requests in `ahead` that were not taken.
    fn left(&self) -> usize {
        self.ahead.iter().map(|chunk| chunk.requests.len()).sum::<usize>() - self.taken
    }

    /// Makes sure that `ahead` has `count` requests, unless the workload ends before.
    #[inline]
    fn fetch(&mut self, source: &Mutex<RequestSource>, count: usize) -> Result<(), DriveError> {
        match self.left() < count {
            true => self.fetch_more(source, count),
            false => Ok(()),
        }
    }

    fn fetch_more(
        &mut self,
        source: &Mutex<RequestSource>,
        count: usize,
    ) -> Result<(), DriveError> {
        let mut source = lock(source);
        while self.left() < count {
            if source.next.is_empty() {
                source.refill();
            }
            if let Some(error) = source.failed.take() {
                return Err(error.into());
            }
            if source.next.is_empty() {
                return Ok(());
            }
            self.ahead.append(&mut source.next);
        }
        source.used.append(&mut self.used);
        Ok(())
    }

    /// Returns the time at which the next request arrives, if there is one.
    fn next_arrival(&self) -> Option<u64> {
        let next = self.ahead.front()?.requests.get(self.taken)?;
        Some(next.arrival_ns.max(self.reached.time))
    }

    /// Marks `count` further requests of the first chunk as taken.
    fn take(&mut self, count: usize) {
        self.taken += count;
        let is_used = |chunk: &Chunk| chunk.requests.len() == self.taken;
        if self.ahead.front().is_some_and(is_used) {
            self.used.extend(self.ahead.pop_front());
            self.taken = 0;
        }
    }

    /// Gives up to `count` requests to their channels, where they wait until they arrive. Returns
    /// the arrival time of the request after them. If there is no request after them, gives none
    /// and returns `None`.
    fn give(
        &mut self,
        channels: &mut [Guard<'_>],
        (source, post): (&Mutex<RequestSource>, &Post),
        count: u64,
    ) -> Result<Option<u64>, DriveError> {
        self.fetch(source, count as usize + 1)?;
        let mut left = self.left().saturating_sub(1).min(count as usize);
        if left == 0 {
            return Ok(None);
        }
        let mut has_posted = false;
        while left > 0
            && let Some(chunk) = self.ahead.front()
        {
            let rest = chunk.requests.len() - self.taken;
            let given = rest.min(left);
            if let Some(by_channel) = &chunk.by_channel
                && self.taken == 0
                && given == rest
            {
                post.send(by_channel, self.arrived);
                let last = chunk.requests[rest - 1].arrival_ns;
                self.count_arrivals(rest as u64, last.max(self.reached.time));
                has_posted = true;
            } else if has_posted {
                break; // a request pushed now would come before the posted ones
            } else {
                self.give_one_by_one(channels, given)?;
            }
            self.take(given);
            left -= given;
        }
        let last = self.orders[0].arrival(self.last_arrival.0);
        let last = (last, self.arrived.saturating_sub(1), 0);
        (self.joints.last_given, self.joints.done_behind) = (last, 0);
        for drive in channels {
            let meter = &mut drive.shared.observer;
            (meter.last_given, meter.done_behind, meter.latest.1) = (last, 0, 0);
        }
        self.has_given = true;
        Ok(self.next_arrival())
    }

    /// Gives the next `count` requests, which are all in one chunk, to their channels.
    fn give_one_by_one(
        &mut self,
        channels: &mut [Guard<'_>],
        count: usize,
    ) -> Result<(), DriveError> {
        let Some(chunk) = self.ahead.pop_front() else { return Ok(()) };
        let reached = self.reached.time;
        for place in self.taken..self.taken + count {
            let coming = self.coming(&chunk, place);
            let arrived = coming.request.arrival_ns.max(reached);
            if coming.parts().is_empty() {
                coming.check(&self.shape)?;
                continue; // a hint
            }
            let mut number = self.count_arrival(coming.request.op, arrived);
            self.outstanding += 1;
            if !coming.is_of_one() {
                number = self.joints.add(&coming, number, arrived);
            }
            for &(channel, part) in coming.parts() {
                channels[channel as usize].push(part, number);
            }
        }
        self.ahead.push_front(chunk);
        Ok(())
    }

    /// Returns the request at `place` of a chunk, with its parts.
    #[inline]
    fn coming(&self, chunk: &Chunk, place: usize) -> Coming {
        let request = chunk.requests[place];
        match &chunk.by_channel {
            Some(by_channel) => Coming::of_one(request, by_channel.only(place)),
            None => Coming::new(request, &self.split, &self.shape),
        }
    }

    /// Counts the arrivals of `count` requests, each of one channel, which get places in the queue.
    /// The last one arrives at `last`.
    fn count_arrivals(&mut self, count: u64, last: u64) {
        self.distributed += count;
        self.arrived += count;
        self.in_system += count;
        self.outstanding += count;
        self.last_arrival = (last, self.in_system);
    }

    /// Counts the arrival of a request. Returns its number.
    #[inline(always)]
    fn count_arrival(&mut self, op: Op, now: u64) -> u64 {
        self.distributed += 1;
        self.in_system += 1;
        self.last_arrival = (now, self.in_system);
        self.arrived += u64::from(op != Op::Flush);
        self.arrived.saturating_sub(1)
    }

    /// Returns the channel with the next event, and the event's position on the drive's clock.
    fn first(&self) -> (u32, Position) {
        let all = (0..).zip(self.next.iter().copied());
        all.min_by_key(|&(_, place)| place).expect("a drive has channels")
    }

    /// Looks up the positions of the next and of the last event of each channel.
    fn look(&mut self, channels: &mut [Guard<'_>]) {
        self.next.clear();
        for (drive, order) in channels.iter_mut().zip(&self.orders) {
            self.next.push(order.of_drive(drive.next_position()));
            self.reached = self.reached.max(order.of_drive(drive.position()));
        }
    }

    /// Lets the next request arrive.
    fn arrive(&mut self, channels: &mut [Guard<'_>], place: Position) -> Result<(), DriveError> {
        let now = place.time;
        let coming = self.coming(&self.ahead[0], self.taken);
        self.take(1);
        self.reached = self.reached.max(place);
        coming.check(&self.shape)?;
        if coming.request.op.is_hint() {
            return Ok(());
        }
        if self.distributed == self.joints.meter.first() {
            self.joints.meter.begin(now);
            channels.iter_mut().for_each(|drive| drive.shared.observer.meter.begin(now));
        }
        let number = self.count_arrival(coming.request.op, now);
        self.line.push_back(QueuedRequest { coming, number, arrived: now });
        match self.line.len() {
            1 => self.follow(channels, place),
            _ => Ok(()), // an earlier request waits, so this one cannot enter now
        }
    }

    /// Handles the next event of a channel, at the position `place` of the drive's clock.
    fn event(
        &mut self,
        channels: &mut [Guard<'_>],
        channel: u32,
        place: Position,
    ) -> Result<(), DriveError> {
        let drive = self.step_of(channels, channel);
        let die = drive.happen()?;
        // If a chain is not over, its event does not count, and the channel's position is earlier.
        if self.orders[channel as usize].of_drive(drive.position()) >= place {
            self.reached = self.reached.max(place);
        }
        self.touch(channel);
        self.take_ready(channels, channel);
        self.settle(channels, channel);
        if let Some(die) = die {
            self.admit(channels, place)?;
            self.look_at(channels, (channel, die))?;
        }
        self.follow(channels, place)
    }

    /// Executes the consequences of the event at `place`: requests get places in the queue, and
    /// ready dies begin jobs.
    fn follow(&mut self, channels: &mut [Guard<'_>], place: Position) -> Result<(), DriveError> {
        loop {
            self.admit(channels, place)?;
            let Some(die) = self.ready.pop() else { break };
            self.look_at(channels, die)?;
        }
        self.steps = 0;
        for channel in self.touched.drain(..) {
            let (drive, order) = (&mut channels[channel as usize], self.orders[channel as usize]);
            drive.is_over();
            self.next[channel as usize] = order.of_drive(drive.next_position());
        }
        Ok(())
    }

    /// Gives the free places in the queue to the requests that wait.
    fn admit(&mut self, channels: &mut [Guard<'_>], place: Position) -> Result<(), DriveError> {
        while self.outstanding < self.queue_depth
            && let Some(held) = self.line.pop_front()
        {
            self.outstanding += 1;
            let QueuedRequest { coming, mut number, arrived } = held;
            match coming.is_of_one() {
                true => self.waited_ns += u128::from(place.time - arrived),
                false => number = self.joints.add(&coming, number, arrived),
            }
            let before = self.ready.len();
            for &(channel, part) in coming.parts() {
                let here = self.orders[channel as usize].of_channel(place);
                let drive = self.step_of(channels, channel);
                drive.enter((place, here), (part, number), arrived)?;
                self.touch(channel);
                self.take_ready(channels, channel);
            }
            if coming.parts().len() > 1 && self.ready.len() > before + 1 {
                // Dies are served in the order of the request's pages.
                let pages = self.shape.pages_of(&coming.request)?;
                self.dies.sort(&mut self.ready[before..], pages, |die| *die);
            }
            coming.parts().iter().for_each(|part| self.settle(channels, part.0));
        }
        Ok(())
    }

    /// Lets a die of a channel begin all jobs that it can.
    fn look_at(
        &mut self,
        channels: &mut [Guard<'_>],
        (channel, die): (u32, u32),
    ) -> Result<(), DriveError> {
        self.step_of(channels, channel).schedule(die)?;
        self.take_ready(channels, channel);
        self.settle(channels, channel);
        Ok(())
    }

    /// Takes the dies of a channel that are ready now. They are checked before the dies that were
    /// ready earlier.
    fn take_ready(&mut self, channels: &mut [Guard<'_>], channel: u32) {
        let before = self.ready.len();
        while let Some(die) = channels[channel as usize].scheduler.next_ready() {
            if !self.ready[..before].contains(&(channel, die)) {
                self.ready.push((channel, die));
            }
        }
        self.ready[before..].reverse();
    }

    /// Counts a step of the present event, and returns the channel in which it takes place.
    fn step_of<'a>(&mut self, channels: &'a mut [Guard<'_>], channel: u32) -> &'a mut Channel {
        let drive = &mut *channels[channel as usize];
        self.steps += 1;
        drive.shared.observer.latest = (self.arrived.saturating_sub(1), self.steps);
        drive
    }

    /// Notes that the time of a channel's next event may change.
    fn touch(&mut self, channel: u32) {
        if !self.touched.contains(&channel) {
            self.touched.push(channel);
        }
    }

    /// Takes what the meter of one channel has recorded since the last call.
    fn settle(&mut self, channels: &mut [Guard<'_>], channel: u32) {
        let meter = &mut channels[channel as usize].shared.observer;
        if meter.done == 0 && meter.parts.is_empty() && meter.began.is_empty() {
            return;
        }
        self.hear(channel, meter);
        if !meter.began.is_empty() {
            let began = std::mem::take(&mut meter.began);
            began.into_iter().for_each(|began| self.number(channels, channel, began));
        }
        self.joints.all_numbered();
        self.finish_joints(channels);
    }

    /// Takes what the meters of all channels have recorded while the channels ran alone.
    fn settle_all(&mut self, channels: &mut [Guard<'_>]) {
        let mut began: Vec<(u32, Began)> = Vec::new();
        for (channel, drive) in (0..).zip(&mut *channels) {
            let meter = &mut drive.shared.observer;
            self.hear(channel, meter);
            began.extend(meter.began.drain(..).map(|it| (channel, it)));
        }
        self.sort(&mut began);
        began.into_iter().for_each(|(channel, began)| self.number(channels, channel, began));
        self.joints.all_numbered();
        self.finish_joints(channels);
        if std::mem::take(&mut self.has_given) {
            let behind = channels.iter().map(|drive| drive.shared.observer.done_behind);
            self.last_arrival.1 = self.in_system + behind.sum::<u64>() + self.joints.done_behind;
        }
    }

    /// Gives a channel's collection the next number of the drive.
    fn number(&mut self, channels: &mut [Guard<'_>], channel: u32, began: Began) {
        let number = self.collections;
        self.collections += 1;
        let meter = &mut channels[channel as usize].shared.observer.meter;
        meter.worst_mut().renumber(began.die, began.number, number);
        self.joints.numbered(channel, began.number, number);
    }

    /// Sorts collections of all channels in the order in which they began. If one request made
    /// several collections begin, the one on the die of its last page began first.
    fn sort(&self, began: &mut [(u32, Began)]) {
        began.sort_by_key(|(_, it)| it.at);
        for same in began.chunk_by_mut(|left, right| left.1.at == right.1.at) {
            if let (true, Some(request)) = (same.len() > 1, self.joints.request(same[0].1.at.1)) {
                let pages = self.shape.pages_of(&request).unwrap_or(0..0);
                self.dies.sort(same, pages, |it| (it.0, it.1.by));
                same.reverse();
            }
        }
    }

    /// Counts the requests and parts that a channel has completed.
    #[inline]
    fn hear(&mut self, channel: u32, meter: &mut ChannelMeter) {
        let done = std::mem::take(&mut meter.done);
        self.in_system -= done;
        self.outstanding -= done;
        self.completed += std::mem::take(&mut meter.completed);
        if meter.parts.is_empty() {
            return;
        }
        let (split, shape) = (&self.split, &self.shape);
        for part in meter.parts.drain(..) {
            self.joints.part_done(channel, part, |request| split.parts(request, shape));
        }
    }

    /// Completes the joint requests whose parts are all done.
    #[inline]
    fn finish_joints(&mut self, channels: &mut [Guard<'_>]) {
        if !self.joints.are_done() {
            return;
        }
        let done = self.joints.finish(self.dies.per_channel * self.dies.planes_per_die);
        self.in_system -= done;
        self.outstanding -= done;
        self.completed += done;
        let slowest = self.joints.slowest();
        channels.iter_mut().for_each(|drive| drive.shared.observer.slowest_joint = slowest);
    }
}
