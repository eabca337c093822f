//! A timed drive whose requests arrive while it runs, for a server that answers in real time.
//!
//! The caller pushes the requests and sets the time. The drive itself has no real clock, no thread
//! and no data. If it gets the requests of an ordinary run at the same arrival times, it completes
//! them at the same times.
//!
//! A flush is complete when the drive has done it and when every write that arrived before it is
//! complete.
//!
//! The caller chooses how the host's hints reach the drive ([`Live::hinted`]): at once, on the
//! reads and writes that follow, or by commands that take time.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use flashgc_base::naming::{choice, subject};
use flashgc_base::rng::Stream;
use flashgc_base::spec::SpecError;
use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_drive::error::DriveError;
use flashgc_ftl::dftl::MapCache;
use flashgc_ftl::{Counters, FtlError, Geometry, Stepwise};
use flashgc_host::{HintCounts, Hints, HintsSpec};
use flashgc_workload::requests::{LiveRequests, RequestStream, TimedRequest};
use flashgc_workload::{Batch, Op, RangedRequests, StreamRanges};
use hashbrown::HashMap;

use super::config::{Loop, Settings};
use super::drive::{Stop, TimedDrive, Until};
use super::front::HintCommands;
use super::measure::{Totals, WorstSoFar};
use super::observer::{Completion, Follows, Observer, Span};

/// The largest request of the drive, in bytes. Larger requests are cut into parts.
const LARGEST: u64 = 1 << 30;

/// A request that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The ticket that [`Live::arrive`] returned for the request.
    pub ticket: u64,
    /// The time at which the request was complete, in nanoseconds since the start.
    pub at_ns: u64,
}

/// The observer of a live drive: it keeps completions until they are fetched, and the slowest
/// requests.
struct Answers {
    done: Vec<Completion>,
    worst: WorstSoFar,
}

impl Observer for Answers {
    fn follows(&self) -> Follows {
        Follows::Steps
    }

    fn completed(&mut self, request: &Completion) {
        self.worst.completed(request);
        self.done.push(*request);
    }

    fn worked(&mut self, span: &Span) {
        self.worst.worked(span);
    }

    fn collection(&mut self, now: u64, die: u32, number: u64, begins: bool) {
        self.worst.collection(now, die, number, begins);
    }
}

/// A timed drive whose requests arrive while it runs. See the module's text.
pub struct Live {
    drive: TimedDrive<Answers>,
    requests: LiveRequests,
    geometry: Geometry,
    /// The time up to which events were handled, in nanoseconds; `None` before the clock starts.
    reached: Option<u64>,
    /// The number of requests that arrived.
    tickets: u64,
    /// The number of parts of requests that the drive got, without flushes.
    numbers: u64,
    /// The ticket of each part under way, by the part's number.
    parts: HashMap<u64, u64>,
    /// The number of parts under way for each ticket that has several parts.
    left: HashMap<u64, u32>,
    /// The flushes under way in the drive: the number that the drive gives to each, and its ticket.
    flushes: VecDeque<(u64, u64)>,
    /// The tickets of flushes that the drive has done and that wait for earlier writes.
    waiting: BTreeSet<u64>,
    /// The tickets of the writes under way.
    writes: BTreeSet<u64>,
    /// The queue of hints, and the way in which they reach the drive. With `None` they reach it at
    /// once.
    hints: Option<Hints>,
    /// The streams of writes by address. With `None`, a write has the stream that the caller gives.
    streams: Option<Arc<StreamRanges>>,
}

/// The pages that hints name, in order, as ranges.
type PageRanges = Vec<Range<u32>>;

/// Adds a page to the ranges.
fn name(named: &mut PageRanges, page: u32) {
    match named.last_mut() {
        Some(last) if last.end == page => last.end += 1,
        _ => named.push(page..page + 1),
    }
}

impl Live {
    /// Returns a drive with these settings and the map `layer`. `streams` gives the streams of
    /// writes by address.
    ///
    /// # Errors
    /// The settings exclude each other, or do not suit the planes of `layer`.
    pub fn new(
        settings: Settings,
        layer: Box<dyn Stepwise>,
        streams: Option<Arc<StreamRanges>>,
    ) -> Result<Self, SpecError> {
        let geometry = *layer.geometry();
        let requests = LiveRequests::new(geometry.logical_pages());
        let settings = Settings { host: Loop::Open, ..settings };
        let hardware = &settings.hardware;
        let worst = WorstSoFar::new(hardware.all_dies(), hardware.planes, true);
        let answers = Answers { done: Vec::new(), worst };
        let taken = with_streams(requests.clone(), streams.as_ref(), hardware.unit_bytes());
        let drive = TimedDrive::new(settings, layer, taken, answers)?;
        Ok(Self {
            drive,
            requests,
            geometry,
            reached: None,
            tickets: 0,
            numbers: 0,
            parts: HashMap::new(),
            left: HashMap::new(),
            flushes: VecDeque::new(),
            waiting: BTreeSet::new(),
            writes: BTreeSet::new(),
            hints: None,
            streams,
        })
    }

    /// From now on, hints of the host reach the drive in this way. Random faults of hints are drawn
    /// with `seed`.
    ///
    /// # Errors
    /// No real host can hint in this way, or the addresses of this drive are too large for it.
    pub fn hinted(mut self, way: &HintsSpec, seed: u64) -> Result<Self, SpecError> {
        if !way.suits_a_real_host() {
            let message = format!(
                "{} {} is for a simulated host: a real one does not say which reads are followed by an \
                 update, or what it will write",
                subject("hints"),
                way.name()
            );
            let hint = format!("{} or piggyback", choice("hints", "perfect"));
            return Err(SpecError::new(message, hint));
        }
        if way.has_commands() {
            self.drive.put_hint_commands(HintCommands::new(way.command()));
        }
        let unit = self.drive.settings().hardware.unit_bytes();
        self.hints = Some(Hints::new(way, unit, self.geometry.logical_pages(), seed)?);
        Ok(self)
    }

    /// Puts the drive's map on flash, as [`TimedDrive::mapped`] does. `geometry` is the drive as
    /// the host sees it, without the translation pages.
    ///
    /// # Errors
    /// The page map has another size.
    pub fn mapped(mut self, cache: MapCache, geometry: Geometry) -> Result<Self, SpecError> {
        self.drive = self.drive.mapped(cache)?;
        self.geometry = geometry;
        Ok(self)
    }

    /// Returns the map.
    pub fn layer(&self) -> &dyn Stepwise {
        self.drive.layer()
    }

    /// Returns the numbers of blocks, of pages in a block and of logical pages. Pages are those of
    /// the map.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Executes requests before the clock starts, without simulated time. The method may be called
    /// many times. Hints among the requests reach the drive at once.
    ///
    /// # Errors
    /// A request ends beyond the drive; the errors of the map.
    pub fn repeat(&mut self, requests: &[TimedRequest]) -> Result<(), DriveError> {
        assert!(self.reached.is_none(), "the clock runs");
        let unit = self.drive.settings().hardware.unit_bytes();
        let queue = LiveRequests::new(self.geometry.logical_pages());
        requests.iter().for_each(|&request| queue.push(request));
        let mut source = with_streams(queue, self.streams.as_ref(), unit);
        let mut batch = Vec::new();
        loop {
            source.fill(&mut batch, Batch::DEFAULT_LEN)?;
            if batch.is_empty() {
                return Ok(());
            }
            self.drive.prepare(&batch, u64::MAX)?;
        }
    }

    /// Fills a range of addresses before the clock starts: writes each page of the map that lies at
    /// least partly in the range and has no data yet. The range is `count` pieces of `bytes` bytes,
    /// from piece `first` on.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn fill(&mut self, first: u64, count: u64, bytes: u64) -> Result<(), FtlError> {
        assert!(self.reached.is_none(), "the clock runs");
        let unit = u64::from(self.drive.settings().hardware.unit_bytes());
        let pages = (first * bytes / unit) as u32..((first + count) * bytes).div_ceil(unit) as u32;
        let fresh: Vec<u32> =
            pages.filter(|&page| self.drive.layer().locate(page).is_none()).collect();
        let count = fresh.len() as u64;
        match self.write_at_once(fresh)? {
            written if written == count => Ok(()),
            _ => Err(FtlError::no_space("the drive's life has ended")),
        }
    }

    /// Overwrites random pages before the clock starts, so that the drive is a used one. Pages with
    /// data are chosen; the number of writes is `times` the number of these pages.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn age(&mut self, times: f64, seed: u64) -> Result<(), FtlError> {
        assert!(self.reached.is_none(), "the clock runs");
        let layer = self.drive.layer();
        let held: Vec<u32> = (0..self.geometry.logical_pages())
            .filter(|&page| layer.locate(page).is_some())
            .collect();
        if held.is_empty() {
            return Ok(());
        }
        let mut stream = Stream::new(seed, "age");
        let mut left = (held.len() as f64 * times) as usize;
        while left > 0 {
            let draw = |_| held[stream.below(held.len() as u32) as usize];
            let pages: Vec<u32> = (0..left.min(1 << 16)).map(draw).collect();
            left -= pages.len();
            self.write_at_once(pages)?;
        }
        Ok(())
    }

    /// Writes `pages` before the clock starts. Returns the number of pages written.
    fn write_at_once(&mut self, pages: Vec<u32>) -> Result<u64, FtlError> {
        let unit = u64::from(self.drive.settings().hardware.unit_bytes());
        let stream_of = |ranges: &Arc<StreamRanges>, page: u32| {
            ranges.of(u64::from(page) * unit).unwrap_or(NO_STREAM)
        };
        let ranges = self.streams.iter();
        let streams = ranges.flat_map(|ranges| pages.iter().map(|&page| stream_of(ranges, page)));
        let streams = streams.collect();
        self.drive.precede(&Batch { pages, streams, ..Batch::default() }, u64::MAX)
    }

    /// Takes a request that arrives at `now_ns`. This time must be later than the time that
    /// [`run`](Self::run) has reached, and not before the arrivals of earlier requests. Returns the
    /// ticket of the request: 0, 1, 2 and so on.
    ///
    /// # Errors
    /// The errors of the drive.
    pub fn arrive(
        &mut self,
        op: Op,
        offset: u64,
        bytes: u64,
        now_ns: u64,
    ) -> Result<u64, DriveError> {
        self.arrive_named((op, offset, bytes), &[(bytes, NO_STREAM)], now_ns)
    }

    /// Takes a request as [`arrive`](Self::arrive) does. `streams` gives the streams of its bytes,
    /// in order: each entry has a number of bytes and their stream.
    ///
    /// # Errors
    /// The errors of the drive.
    pub fn arrive_named(
        &mut self,
        (op, offset, bytes): (Op, u64, u64),
        streams: &[(u64, StreamId)],
        now_ns: u64,
    ) -> Result<u64, DriveError> {
        debug_assert!(self.reached.is_none_or(|reached| now_ns > reached), "the time is over");
        let ticket = self.tickets;
        self.tickets += 1;
        if op == Op::Flush {
            self.flushes.push_back((self.numbers.saturating_sub(1), ticket));
            self.push(op, 0, 0, NO_STREAM, now_ns);
        } else {
            self.bring_hints(op, offset, bytes, now_ns);
            let (mut begin, mut parts) = (offset, 0);
            for &(bytes, stream) in streams {
                let end = begin + bytes;
                loop {
                    let part = (end - begin).min(LARGEST);
                    self.parts.insert(self.numbers, ticket);
                    self.numbers += 1;
                    self.push(op, begin, part as u32, stream, now_ns);
                    (begin, parts) = (begin + part, parts + 1);
                    if begin == end {
                        break;
                    }
                }
            }
            debug_assert_eq!(begin, offset + bytes, "every byte has its stream, or none");
            if parts > 1 {
                self.left.insert(ticket, parts);
            }
            if op == Op::Write {
                self.writes.insert(ticket);
            }
        }
        self.drive.heed()?;
        Ok(ticket)
    }

    /// Takes a hint at `now_ns` on the pages of these bytes: the host will overwrite them
    /// ([`Op::Dirty`]), or it takes hints on them back ([`Op::Clean`]). The hint takes effect after
    /// all requests that arrived before.
    ///
    /// # Errors
    /// The errors of the drive.
    pub fn hint(&mut self, op: Op, offset: u64, bytes: u64, now_ns: u64) -> Result<(), DriveError> {
        let pages = self.pages_of(offset, bytes);
        let mut named = PageRanges::new();
        match &mut self.hints {
            None => named.push(pages),
            Some(hints) if op == Op::Dirty => {
                hints.dirtied_together(pages, &mut |page| name(&mut named, page));
            }
            Some(hints) => {
                pages.clone().for_each(|page| hints.forget(page));
                named.push(pages);
            }
        }
        self.push_hints(op, &named, now_ns);
        self.drive.heed()?;
        Ok(())
    }

    /// Pushes the hints that a request carries. Before that, drops waiting hints on the pages that
    /// the request writes or discards. A TRIM carries no hints.
    fn bring_hints(&mut self, op: Op, offset: u64, bytes: u64, now_ns: u64) {
        let pages = self.pages_of(offset, bytes);
        let Some(hints) = &mut self.hints else { return };
        let mut named = PageRanges::new();
        match op {
            Op::Write => pages.for_each(|page| hints.written(page)),
            Op::Trim => return pages.for_each(|page| hints.forget(page)),
            _ => {}
        }
        hints.command(&mut |page| name(&mut named, page));
        self.push_hints(Op::Dirty, &named, now_ns);
    }

    /// Returns the pages of the map that have any of these bytes.
    fn pages_of(&self, offset: u64, bytes: u64) -> Range<u32> {
        let unit = u64::from(self.drive.settings().hardware.unit_bytes());
        let end = (offset + bytes).div_ceil(unit).min(self.geometry.logical_pages().into());
        ((offset / unit).min(end)) as u32..end as u32
    }

    /// Pushes one command with hints on the pages `named`, as requests of at most [`LARGEST`]
    /// bytes.
    fn push_hints(&mut self, op: Op, named: &PageRanges, now_ns: u64) {
        let unit = u64::from(self.drive.settings().hardware.unit_bytes());
        let step = (LARGEST / unit) as usize;
        let cut = |pages: &Range<u32>| {
            let end = pages.end;
            pages.clone().step_by(step).map(move |first| first..end.min(first + step as u32))
        };
        let mut pieces = named.iter().flat_map(cut).peekable();
        while let Some(pages) = pieces.next() {
            let bytes = pages.len() as u64 * unit;
            let request = plain(op, u64::from(pages.start) * unit, bytes as u32, now_ns);
            let goes_on = pieces.peek().is_some();
            self.requests.push(TimedRequest { goes_on, ..request });
        }
    }

    fn push(&mut self, op: Op, offset: u64, bytes: u32, stream: StreamId, arrival_ns: u64) {
        self.requests.push(TimedRequest { stream, ..plain(op, offset, bytes, arrival_ns) });
    }

    /// Returns the counts of hints, if [`Live::hinted`] was called.
    pub fn hint_counts(&self) -> Option<HintCounts> {
        self.hints.as_ref().map(|hints| hints.counts)
    }

    /// Simulates until `until_ns`, and adds the requests that are complete to `done`.
    ///
    /// # Errors
    /// No block can be erased, too many requests wait, or the drive's life is over.
    pub fn run(&mut self, until_ns: u64, done: &mut Vec<Done>) -> Result<(), DriveError> {
        let stop = self.drive.run(Until { time_ns: until_ns, ..Until::END })?;
        self.reached = Some(until_ns);
        let mut answers = std::mem::take(&mut self.drive.observer_mut().done);
        for answer in answers.drain(..) {
            self.answered(&answer, done);
        }
        self.drive.observer_mut().done = answers;
        let ended = match stop {
            Stop::Reached | Stop::Ended => return Ok(()),
            Stop::Overload => "more requests wait than a drive takes",
            Stop::WornOut => "its life is over",
        };
        Err(FtlError::no_space(ended).into())
    }

    /// Handles an answer of the drive: a part of a request, or a flush, is done.
    fn answered(&mut self, answer: &Completion, done: &mut Vec<Done>) {
        let at_ns = answer.completed_ns;
        if answer.op == Op::Flush {
            let place = self.flushes.iter().position(|&(number, _)| number == answer.number);
            if let Some((_, ticket)) = place.and_then(|place| self.flushes.remove(place)) {
                self.waiting.insert(ticket);
            }
        } else if let Some(ticket) = self.parts.remove(&answer.number) {
            if let Some(left) = self.left.get_mut(&ticket) {
                *left -= 1;
                if *left > 0 {
                    return;
                }
                self.left.remove(&ticket);
            }
            self.writes.remove(&ticket);
            done.push(Done { ticket, at_ns });
        }
        let first_write = self.writes.first().copied().unwrap_or(u64::MAX);
        while let Some(&ticket) = self.waiting.first().filter(|&&ticket| ticket < first_write) {
            self.waiting.remove(&ticket);
            done.push(Done { ticket, at_ns });
        }
    }

    /// Returns the time of the next event if no request arrives before, in nanoseconds; `u64::MAX`
    /// if there is none.
    ///
    /// # Errors
    /// The errors of the drive.
    pub fn next_ns(&mut self) -> Result<u64, DriveError> {
        self.drive.heed()
    }

    /// Returns the counts of the map.
    pub fn counters(&mut self) -> Counters {
        self.drive.counters()
    }

    /// Returns the number of bytes that hosts wrote, and the number that the drive programmed,
    /// including padding.
    pub fn written_bytes(&mut self) -> (u64, u64) {
        let unit = self.drive.settings().hardware.unit_bytes();
        let (counters, commands) = (self.drive.counters(), self.drive.commands());
        let padding = self.drive.counts().packing.map_or(0, |packing| packing.padding);
        let programs = counters.programs() + padding;
        (commands.host_bytes(counters.host_pages, unit), programs * u64::from(unit))
    }

    /// Returns the counts of the drive.
    pub fn totals(&mut self) -> &Totals {
        self.drive.totals()
    }

    /// Returns the slowest requests so far, each with the work of its die meanwhile. The requests
    /// are numbered without flushes.
    pub fn worst(&self) -> &WorstSoFar {
        &self.drive.observer().worst
    }

    /// Returns a digest of the decisions so far.
    pub fn decisions(&self) -> u64 {
        self.drive.layer().decisions()
    }
}

/// Returns the requests of `queue`. If `ranges` are given, writes get their streams from these. A
/// page of the map has `unit` bytes.
fn with_streams(
    queue: LiveRequests,
    ranges: Option<&Arc<StreamRanges>>,
    unit: u32,
) -> Box<dyn RequestStream> {
    match ranges {
        None => Box::new(queue),
        Some(ranges) => Box::new(RangedRequests::new(Box::new(queue), Arc::clone(ranges), unit)),
    }
}

/// Returns a request in one piece that is not urgent and has no stream.
fn plain(op: Op, offset: u64, bytes: u32, arrival_ns: u64) -> TimedRequest {
    let (urgent, stream, goes_on) = (false, NO_STREAM, false);
    TimedRequest { arrival_ns, offset, bytes, op, urgent, stream, goes_on }
}
