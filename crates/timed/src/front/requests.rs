//! The requests that the drive works on.

use flashgc_base::snapshot::{Fault, Reader, Value, Writer};
use flashgc_workload::requests::TimedRequest;

/// The bit in the numbers of parts of requests that several channels serve, if each channel is
/// simulated alone.
pub const PART: u64 = 1 << 63;

/// The party that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// The workload.
    Workload,
    /// A command of the host's cache that the request at this place waits for.
    Request(u32),
    /// A command of the cache that nobody waits for.
    Cache,
    /// A command of the cache that only brings hints.
    Hints,
}

/// A request that waits for its place in the queue depth.
#[derive(Clone, Copy, Value)]
pub struct Waiting {
    pub request: TimedRequest,
    pub number: u64,
    pub arrived: u64,
    pub party: Party,
    /// The number of hints that ride on it.
    pub hints: u32,
    /// `true` if it is another piece of the request before it, which has the place in the queue.
    pub joins: bool,
}

/// A request that the drive works on, or the host's cache.
#[derive(Clone, Copy, Value)]
pub struct Request {
    pub request: TimedRequest,
    pub number: u64,
    pub arrived: u64,
    /// The time at which it got its place in the queue of the drive.
    pub dispatched: u64,
    /// The time at which the drive began with it.
    pub began: u64,
    /// The number of page operations, or commands of the cache, that are not done.
    pub left: u32,
    pub met_collection: bool,
    pub party: Party,
}

impl Value for Party {
    fn put(&self, to: &mut Writer<'_>) {
        match *self {
            Self::Workload => (0u8, 0u32),
            Self::Request(op) => (1u8, op),
            Self::Cache => (2u8, 0u32),
            Self::Hints => (3u8, 0u32),
        }
        .put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(match <(u8, u32)>::take(from)? {
            (0, _) => Self::Workload,
            (1, op) => Self::Request(op),
            (2, _) => Self::Cache,
            (3, _) => Self::Hints,
            (other, _) => return Err(Fault::new(format!("{other} is no Party"))),
        })
    }
}

/// All requests under way; their places are used again.
#[derive(Default, Value)]
pub struct Requests {
    places: Vec<Request>,
    free: Vec<u32>,
}

impl Requests {
    /// Keeps a request, dispatched and begun at these times, of which `left` parts are to be done.
    /// Returns its place.
    #[inline(always)]
    pub fn keep(&mut self, waiting: &Waiting, (dispatched, began): (u64, u64), left: u32) -> u32 {
        let Waiting { request, number, arrived, party, .. } = *waiting;
        debug_assert!(!waiting.joins, "a piece is kept with its request");
        let entry = Request {
            request,
            number,
            arrived,
            dispatched,
            began,
            left,
            met_collection: false,
            party,
        };
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = entry;
            return place;
        }
        self.places.push(entry);
        self.places.len() as u32 - 1
    }

    /// Lets the request at `place` wait for this number of parts more.
    pub fn waits_for(&mut self, place: u32, more: u32) {
        self.places[place as usize].left += more;
    }

    /// Adds another piece, of `left` parts, to the request at `place`.
    pub fn join(&mut self, place: u32, piece: &TimedRequest, left: u32) {
        self.waits_for(place, left);
        let whole = &mut self.places[place as usize].request;
        whole.bytes = whole.bytes.saturating_add(piece.bytes);
    }

    /// Ends a part of the request at `place`; `met` says that it met a collection. Returns `true` if
    /// it was the last.
    #[inline]
    pub fn part_done(&mut self, place: u32, met: bool) -> bool {
        let request = &mut self.places[place as usize];
        debug_assert!(request.left > 0, "a request is completed once");
        request.met_collection |= met;
        request.left -= 1;
        request.left == 0
    }

    /// Forgets the request at `place`, which can be read until the next is kept.
    #[inline]
    pub fn forget(&mut self, place: u32) {
        debug_assert!(self.places[place as usize].left == 0);
        self.free.push(place);
    }
}

impl std::ops::Index<u32> for Requests {
    type Output = Request;

    #[inline]
    fn index(&self, place: u32) -> &Request {
        &self.places[place as usize]
    }
}
