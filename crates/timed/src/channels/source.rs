//! The workload of a drive whose channels are simulated separately: its next requests, cut into
//! parts.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use flashgc_base::snapshot::{Fault, State, Value};
use flashgc_ftl::FtlError;
use flashgc_workload::requests::{RequestStream, TimedRequest};
use flashgc_workload::{Op, WorkloadError};

use super::lock;
use super::split::PageSplit;
use crate::front::Shape;

/// In each round of the crew, the number of jobs that read more requests while the other jobs
/// simulate channels.
pub const REFILLS: usize = 4;

/// The largest number of requests that the channels get at once. With more requests, threads wait
/// less for each other.
pub const MOST_ALONE: u64 = 16_384;
/// The least value of [`most_alone`], for drives with a short queue.
const LEAST_AHEAD: u64 = 1024;

/// Returns the largest number of requests that the channels of a drive get at once.
pub fn most_alone(queue_depth: u32) -> u64 {
    u64::from(queue_depth).clamp(LEAST_AHEAD, MOST_ALONE)
}

/// A channel, and the part of a request that it serves.
pub type Part = (u32, TimedRequest);

/// A request that will arrive, with its parts.
#[derive(Value)]
pub struct Coming {
    pub request: TimedRequest,
    /// The only part, if the request has one channel.
    pub only: Option<Part>,
    /// The parts, if the request has several channels. Empty if the request is a hint or names a
    /// page that the drive lacks.
    pub parts: Vec<Part>,
}

/// Some requests of the workload, in the order of arrival.
#[derive(Value)]
#[snapshot(then = check)]
pub struct Chunk {
    pub requests: Vec<TimedRequest>,
    /// The requests sorted by channel; `None` unless each is on one page. A snapshot does not have
    /// it: after a restore the desk gives the requests of the chunk one by one.
    #[snapshot(skip)]
    pub by_channel: Option<Arc<ByChannel>>,
}

impl Chunk {
    fn check(&self) -> Result<(), Fault> {
        match self.requests.is_empty() {
            true => Err(Fault::new("requests that follow one another are none")),
            false => Ok(()),
        }
    }
}

/// The requests of a chunk, sorted by channel, with addresses in the channel.
pub struct ByChannel {
    /// The channel of each request, and the address of its first byte in the channel.
    places: Box<[(u32, u64)]>,
    /// For each channel, the index in `requests` at which its requests begin. The last entry is the
    /// number of all requests.
    begins: Box<[usize]>,
    /// The requests, channel after channel, each with its place in the chunk.
    requests: Box<[(TimedRequest, u32)]>,
}

impl ByChannel {
    fn new(requests: &[TimedRequest], split: &PageSplit, shape: &Shape) -> Option<Self> {
        let mut begins = vec![0; split.channels() as usize + 1];
        let mut places = Vec::with_capacity(requests.len());
        for request in requests {
            let (channel, own) = Coming::only(request, split, shape)?;
            begins[channel as usize + 1] += 1;
            places.push((channel, own.offset));
        }
        for channel in 1..begins.len() {
            begins[channel] += begins[channel - 1];
        }
        let mut ends = begins.clone();
        let mut sorted = vec![(*requests.first()?, 0); requests.len()];
        for (place, (request, &(channel, offset))) in (0..).zip(requests.iter().zip(&places)) {
            let end = &mut ends[channel as usize];
            sorted[*end] = (TimedRequest { offset, ..*request }, place);
            *end += 1;
        }
        Some(Self { places: places.into(), begins: begins.into(), requests: sorted.into() })
    }

    /// Returns the channel of the request at `place` of the chunk, and the address of its first
    /// byte in the channel.
    #[inline]
    pub fn only(&self, place: usize) -> (u32, u64) {
        self.places[place]
    }
}

/// A chunk that was sent to a channel, with the number of its first request.
type Sent = (Arc<ByChannel>, u64);

/// The chunks that were sent to each channel and are not delivered yet.
pub struct Post(Box<[Mutex<Vec<Sent>>]>);

impl Post {
    pub fn new(channels: u32) -> Self {
        Self((0..channels).map(|_| Mutex::default()).collect())
    }

    /// Sends a chunk to all channels.
    pub fn send(&self, chunk: &Arc<ByChannel>, first: u64) {
        self.0.iter().for_each(|chunks| lock(chunks).push((chunk.clone(), first)));
    }

    /// Calls `give` with each request of a channel in the chunks that were sent, and its number.
    pub fn deliver(&self, channel: usize, mut give: impl FnMut(TimedRequest, u64)) {
        for (chunk, first) in lock(&self.0[channel]).drain(..) {
            let [begin, end] = [0, 1].map(|next| chunk.begins[channel + next]);
            for &(request, place) in &chunk.requests[begin..end] {
                give(request, first + u64::from(place));
            }
        }
    }
}

/// See the module's text.
#[derive(State)]
pub struct RequestSource {
    #[snapshot(state)]
    pub(super) stream: Box<dyn RequestStream>,
    #[snapshot(skip)]
    pub(super) split: PageSplit,
    #[snapshot(skip)]
    pub(super) shape: Shape,
    pub(super) next: VecDeque<Chunk>,
    /// The chunks whose requests were all taken. Their memory is used again.
    #[snapshot(skip)]
    pub(super) used: Vec<Chunk>,
    #[snapshot(skip)]
    pub(super) batch: Vec<TimedRequest>,
    /// The number of requests that are read from the workload at a time.
    #[snapshot(skip)]
    pub(super) at_a_time: usize,
    pub(super) is_over: bool,
    #[snapshot(skip)]
    pub(super) failed: Option<WorkloadError>,
}

impl RequestSource {
    pub fn new(
        stream: Box<dyn RequestStream>,
        split: PageSplit,
        shape: Shape,
        queue_depth: u32,
    ) -> Self {
        Self {
            stream,
            split,
            shape,
            next: VecDeque::new(),
            used: Vec::new(),
            batch: Vec::new(),
            at_a_time: most_alone(queue_depth) as usize / REFILLS,
            is_over: false,
            failed: None,
        }
    }

    /// Reads another chunk from the workload, unless enough chunks wait.
    pub fn refill(&mut self) {
        if let Some(chunk) = self.used.pop() {
            self.batch = chunk.requests;
        }
        if self.is_over || self.failed.is_some() || self.next.len() >= REFILLS {
            return;
        }
        match self.stream.fill(&mut self.batch, self.at_a_time) {
            Ok(()) => {
                self.is_over = self.batch.is_empty();
                if !self.batch.is_empty() {
                    let requests = std::mem::take(&mut self.batch);
                    let by_channel = ByChannel::new(&requests, &self.split, &self.shape);
                    self.next.push_back(Chunk { requests, by_channel: by_channel.map(Arc::new) });
                }
            }
            Err(error) => self.failed = Some(error),
        }
    }
}

impl Coming {
    /// Returns a request with its parts. A flush is done at once on such a drive, so channel 0
    /// takes it. A hint has no parts, as such a drive ignores hints.
    #[inline]
    pub fn new(request: TimedRequest, split: &PageSplit, shape: &Shape) -> Self {
        if request.op == Op::Flush {
            return Self { request, only: Some((0, request)), parts: Vec::new() };
        }
        let only = Self::only(&request, split, shape);
        let last = shape.page_of(request.end().max(request.offset + 1) - 1);
        let has_parts = last < u64::from(shape.pages()) && !request.op.is_hint();
        let parts = match has_parts && only.is_none() {
            true => split.parts(&request, shape),
            false => Vec::new(),
        };
        Self { request, only, parts }
    }

    /// Returns a request on one page, with its channel and the address of its first byte in the
    /// channel.
    #[inline]
    pub fn of_one(request: TimedRequest, (channel, offset): (u32, u64)) -> Self {
        let only = Some((channel, TimedRequest { offset, ..request }));
        Self { request, only, parts: Vec::new() }
    }

    /// Returns the only part of a request on one page; `None` for other requests.
    #[inline]
    fn only(request: &TimedRequest, split: &PageSplit, shape: &Shape) -> Option<Part> {
        let first = shape.page_of(request.offset);
        let last = shape.page_of(request.end().max(request.offset + 1) - 1);
        let is_one = first == last
            && last < u64::from(shape.pages())
            && !request.op.is_hint()
            && request.op != Op::Flush;
        is_one.then(|| split.whole(request, last as u32))
    }

    /// Returns `true` if the request has one part only.
    #[inline]
    pub fn is_of_one(&self) -> bool {
        self.only.is_some() || self.parts.len() == 1 && self.parts[0].1.bytes == self.request.bytes
    }

    /// Returns the request's parts.
    #[inline]
    pub fn parts(&self) -> &[Part] {
        self.only.as_ref().map_or(&self.parts[..], std::slice::from_ref)
    }

    /// Checks that the drive has the request's pages.
    ///
    /// # Errors
    /// The request names a page that the drive does not have.
    pub fn check(&self, shape: &Shape) -> Result<(), FtlError> {
        if self.parts().is_empty() {
            shape.pages_of(&self.request)?;
            debug_assert!(self.request.op.is_hint(), "it has parts");
        }
        Ok(())
    }
}
