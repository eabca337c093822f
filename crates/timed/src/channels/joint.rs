//! Joint requests: requests with parts on several channels.

use flashgc_base::snapshot::{State, Value};
use flashgc_workload::requests::TimedRequest;
use hashbrown::HashMap;

use super::meter::{Completed, OrderPlace, PartDone, START};
use super::source::{Coming, Part};
use crate::front::PART;
use crate::measure::{KINDS, Meter, kind_of};
use crate::observer::{Completion, Observer};

/// A request with parts on several channels.
#[derive(Clone, Value)]
pub struct Joint {
    pub request: TimedRequest,
    pub arrived: u64,
    /// The number of parts that are not done.
    pub left: u32,
    pub met_collection: bool,
    /// The part that was done last so far, and its channel.
    pub last: Option<(u32, PartDone)>,
}

/// All joint requests under way, with their measurements.
#[derive(State)]
pub struct Joints {
    pub(super) under_way: HashMap<u64, Joint>,
    /// The numbers of the joint requests whose parts are all done.
    pub(super) done: Vec<u64>,
    /// The joint requests, by number, with a part that was done since the last call of
    /// [`Joints::all_numbered`]. Collections of such a part may still have their numbers in the
    /// channel.
    #[snapshot(skip)]
    pub(super) fresh: Vec<u64>,
    pub meter: Meter,
    /// The place, in the order of the drive, at which the slowest request of each kind was
    /// completed.
    pub slowest_at: [Completed; KINDS.len()],
    /// The sum of the response times of completed requests, in nanoseconds.
    pub done_ns: u128,
    /// The number of requests that were done after the arrival of the last request given to the
    /// channels.
    pub done_behind: u64,
    pub last_given: OrderPlace,
}

impl Joints {
    pub fn new(meter: Meter) -> Self {
        Self {
            under_way: HashMap::new(),
            done: Vec::new(),
            fresh: Vec::new(),
            meter,
            slowest_at: [(START, 0); KINDS.len()],
            done_ns: 0,
            done_behind: 0,
            last_given: START,
        }
    }

    /// Adds a request. Returns the number that all of its parts have.
    pub fn add(&mut self, coming: &Coming, number: u64, arrived: u64) -> u64 {
        let joint = Joint {
            request: coming.request,
            arrived,
            left: coming.parts().len() as u32,
            met_collection: false,
            last: None,
        };
        self.under_way.insert(number, joint);
        number | PART
    }

    /// Returns the requests under way, by number.
    pub fn under_way(&self) -> &HashMap<u64, Joint> {
        &self.under_way
    }

    /// Returns a request under way.
    pub fn request(&self, number: u64) -> Option<TimedRequest> {
        self.under_way.get(&number).map(|joint| joint.request)
    }

    /// Notes that a channel has done its part. If several parts are done at the same event, the die
    /// of the request's last page begins first, so the part with the first page counts as the last.
    /// `parts` returns the parts of a request in the order of its pages.
    pub fn part_done(
        &mut self,
        channel: u32,
        part: PartDone,
        parts: impl Fn(&TimedRequest) -> Vec<Part>,
    ) {
        let number = part.completion.number & !PART;
        let Some(joint) = self.under_way.get_mut(&number) else { return };
        let is_last = match &joint.last {
            None => true,
            Some((other, last)) if part.at == last.at => {
                let parts = parts(&joint.request);
                let rank = |channel| parts.iter().position(|part| part.0 == channel);
                rank(channel) < rank(*other)
            }
            Some((_, last)) => part.at > last.at,
        };
        joint.met_collection |= part.completion.met_collection;
        if is_last {
            if part.worst.is_some() {
                self.fresh.push(number);
            }
            joint.last = Some((channel, part));
        }
        joint.left -= 1;
        if joint.left == 0 {
            self.done.push(number);
        }
    }

    /// Replaces the number `from` that a collection has in its channel by its number `to` in the
    /// drive.
    pub fn numbered(&mut self, channel: u32, from: u64, to: u64) {
        for number in &self.fresh {
            if let Some(joint) = self.under_way.get_mut(number)
                && let Some((of, part)) = &mut joint.last
                && *of == channel
            {
                let held = part.worst.iter_mut().flat_map(|it| &mut it.collections);
                held.filter(|held| held.number == from).for_each(|held| held.number = to);
            }
        }
    }

    /// Notes that all collections have their numbers in the drive.
    #[inline]
    pub fn all_numbered(&mut self) {
        self.fresh.clear();
    }

    /// Returns `true` if there is a request whose parts are all done.
    #[inline]
    pub fn are_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// Completes the requests whose parts are all done, in the order of completion. Returns the
    /// number of these requests. A channel has `planes` planes.
    pub fn finish(&mut self, planes: u32) -> u64 {
        let mut done: Vec<(Completed, u64, Joint)> = Vec::new();
        for number in self.done.drain(..) {
            if let Some(joint) = self.under_way.remove(&number)
                && let Some((_, last)) = &joint.last
            {
                done.push(((last.at, last.behind), number, joint));
            }
        }
        done.sort_by_key(|it| (it.0, it.1));
        for (place, number, joint) in &done {
            self.complete((*place, *number), joint, planes);
            self.done_behind += u64::from(place.0 >= self.last_given);
        }
        done.len() as u64
    }

    fn complete(&mut self, (place, number): (Completed, u64), joint: &Joint, planes: u32) {
        let Some((channel, last)) = &joint.last else { return };
        let Joint { request, arrived, met_collection, .. } = *joint;
        let completion = Completion {
            number,
            op: request.op,
            offset: request.offset,
            bytes: request.bytes,
            plane: last.completion.plane.map(|plane| channel * planes + plane),
            met_collection,
            ..last.completion
        };
        self.done_ns += u128::from(completion.completed_ns - arrived);
        let before = self.meter.worst().changes();
        self.meter.completed(&completion);
        if self.meter.worst().changes() == before {
            return;
        }
        let Some(kind) = kind_of(request.op) else { return };
        self.slowest_at[kind] = place;
        if let (Some(kept), Some(worst)) = (&mut self.meter.worst_mut().each()[kind], &last.worst) {
            kept.collections.clone_from(&worst.collections);
        }
    }

    /// Returns the longest response time of each kind of requests so far, in nanoseconds.
    pub fn slowest(&self) -> [u64; KINDS.len()] {
        let mut slowest = [0; KINDS.len()];
        for worst in self.meter.worst().of_kinds() {
            if let Some(kind) = KINDS.iter().position(|&kind| kind == worst.request.op) {
                slowest[kind] = worst.request.response_ns();
            }
        }
        slowest
    }
}
