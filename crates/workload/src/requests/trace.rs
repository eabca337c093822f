//! A trace with its own times, ready for replay on a drive that has a clock.
//!
//! Pages have the same numbers as on a counting drive. If pages are numbered by address, the pages
//! of a request are adjacent on the drive, too, and the request stays one request. If they are
//! numbered by first touch, a request becomes one piece for each run of consecutive pages. Offsets
//! and sizes keep their bytes within pages.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{SpecError, count};

use super::arrivals::Clock;
use super::{RequestStream, TimedRequest, Waits};
use crate::trace::{
    AddressMap, Disorder, Fault, Fields, GivenPages, Numbering, Paging, PagingOptions, Progress,
    ReadOptions, Request, StatBuilder, TraceError, TraceReader, TraceStat, cancelled, map_full,
    smaller_blocks,
};
use crate::units::Quantity;
use crate::{Op, WorkloadError};

/// The largest piece of a request, in bytes. A longer request becomes several pieces that arrive
/// together. The number is a multiple of every page size.
const LARGEST_PIECE: u64 = 1 << 30;

/// A trace that was read once. It can be replayed any number of times, and clones share its data.
#[derive(Clone, Debug)]
pub struct TimedTrace {
    path: PathBuf,
    page_size: u64,
    paging: Paging,
    stat: TraceStat,
    numbering: Numbering,
    given: Option<GivenPages>,
    /// The requests, and the hints and flushes among them.
    requests: Arc<[TimedRequest]>,
    /// The answers for which the host of the recording waited; `None` if no request has the time of
    /// its answer.
    waits: Option<Waits>,
    /// The requests without reads; computed when they are first needed.
    changes: Arc<OnceLock<Arc<[TimedRequest]>>>,
}

impl TimedTrace {
    /// Reads the trace at `path`, and calls `go_on` now and then; if it returns `false`, reading
    /// stops. The requests are kept in memory, with 24 bytes each.
    ///
    /// # Errors
    /// The reader finds a fault, there are no requests or too many pages, pages cannot keep their
    /// numbers although they should, or times go back.
    pub fn load(
        path: impl AsRef<Path>,
        read: &ReadOptions,
        paging: PagingOptions,
        mut go_on: impl FnMut(&Progress) -> bool,
    ) -> Result<Self, TraceError> {
        let path = path.as_ref().to_owned();
        // A clock needs times that never go back.
        let disorder = match read.disorder {
            Disorder::Keep => Disorder::Refuse,
            chosen => chosen,
        };
        let read = ReadOptions { disorder, ..read.clone() };
        let mut reader = TraceReader::open_with(&path, &read, &mut go_on)?;
        let progress = reader.progress();
        let numbering = reader.numbering(&paging)?;
        let mut builder = StatBuilder::numbered(&reader, paging, numbering);
        let (mut raw, mut block): (Vec<Request>, Vec<Request>) = (Vec::new(), Vec::new());
        while reader.next_block(&mut block)? {
            raw.extend_from_slice(&block);
            builder.add(&block, |_, _| {}).map_err(|full| map_full(&reader, full))?;
            if !go_on(&progress) {
                return Err(cancelled(&path));
            }
        }
        let stat = builder.finish(&reader)?;
        let (mut map, given) = builder.into_map();
        if map.is_empty() {
            let discards = count(stat.discards, "discard");
            let message = format!("the trace has no page to read or write ({discards})");
            return Err(TraceError::new(&path, Fault::Empty, message)
                .hint("choose a trace with reads or writes"));
        }
        map.number(numbering);
        let origin = raw.first().map_or(0, |first| first.time_ns);
        let mut requests = Vec::with_capacity(raw.len());
        // Discards of pages that no other request touches have no place on the drive, and no
        // request waits for them.
        let (mut placed, keeps_answers) =
            (Vec::new(), reader.declared().fields.has(Fields::ANSWER));
        for request in &raw {
            let before = requests.len();
            place(&map, request, &paging, request.time_ns - origin, &mut requests);
            if keeps_answers && requests.len() > before && !request.op.is_hint() {
                placed.push(*request);
            }
        }
        Ok(Self {
            path,
            page_size: paging.page_size,
            paging: paging.paging,
            stat,
            numbering,
            given,
            requests: requests.into(),
            waits: Waits::of(&placed, origin),
            changes: Arc::default(),
        })
    }

    /// Returns the path of the trace.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the statistics of the trace.
    pub fn stat(&self) -> &TraceStat {
        &self.stat
    }

    /// Returns the numbering of the pages.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// Returns the pages that keep their numbers; `None` if pages get other numbers.
    pub fn given(&self) -> Option<&GivenPages> {
        self.given.as_ref()
    }

    /// Returns notes for the user on how the trace was read.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.stat.notes.iter().cloned().collect();
        if self.stat.others.skipped_lines > 0 {
            let lines = count(self.stat.others.skipped_lines, "bad line");
            notes.push(format!("{lines} of the trace left out"));
        }
        notes
    }

    /// Returns a note if a replay should not use the times of the trace: if many requests have
    /// equal gaps, their times are probably line numbers. For a trace `of_tenant`, the note names
    /// the tenant's arrivals.
    pub fn note_of_times(&self, of_tenant: bool) -> Option<String> {
        const LEAST: usize = 100;
        let gap = self.requests.get(1)?.arrival_ns;
        let mut pairs = self.requests.windows(2);
        let is_even = pairs.all(|pair| pair[1].arrival_ns - pair[0].arrival_ns == gap);
        (self.requests.len() >= LEAST && gap > 0 && is_even).then(|| {
            format!(
                "the times of the trace are all {} apart, as line numbers are, and response times \
                 rest on them; hint: {}",
                Quantity::Time.format(gap as f64),
                match of_tenant {
                    true => "for the tenant arrivals=closed:threads=1, or others".to_string(),
                    false => format!(
                        "{}, or another {}",
                        choice("arrivals", "closed:threads=1"),
                        option("arrivals")
                    ),
                }
            )
        })
    }

    /// Returns the requests of one replay on all pages of the trace, and the hints and flushes
    /// among them.
    pub fn requests(&self) -> &[TimedRequest] {
        &self.requests
    }

    /// Returns the trace without its reads, which change nothing on most drives. Its times then
    /// only give the order.
    pub fn without_reads(&self) -> Self {
        let changes = self.changes.get_or_init(|| {
            let kept = self.requests.iter().filter(|request| request.op != Op::Read);
            let in_order = |(at, request): (usize, &TimedRequest)| TimedRequest {
                arrival_ns: at as u64,
                ..*request
            };
            kept.enumerate().map(in_order).collect()
        });
        let (requests, changes) = (Arc::clone(changes), Arc::default());
        Self { requests, changes, waits: None, ..self.clone() }
    }

    /// Returns the answers that the host of the recording waited for, on a drive of `logical_pages`
    /// pages.
    ///
    /// # Errors
    /// No request has the time of its answer, or the drive is too small for some requests.
    pub fn waits(&self, logical_pages: u32) -> Result<&Waits, SpecError> {
        let dependent = || subject("arrivals") + " dependent";
        let Some(waits) = &self.waits else {
            return Err(SpecError::new(
                format!("{} needs the times of answers, and the trace has none", dependent()),
                format!(
                    "{}, or a recording of a stored drive",
                    choice("arrivals", "closed:threads=1")
                ),
            ));
        };
        let space = u64::from(logical_pages) * self.page_size;
        if self.requests.iter().any(|request| request.end() > space) {
            return Err(SpecError::new(
                format!(
                    "{} needs all requests of the recording, and some lie behind the drive's {}",
                    dependent(),
                    count(space, "byte")
                ),
                smaller_blocks(),
            ));
        }
        Ok(waits)
    }

    /// Returns the number of logical pages of a drive for this trace, with blocks of
    /// `pages_per_block` pages, as for a counting drive: see [`Paging::logical_pages`]. If pages
    /// keep their numbers, it is the number for the smallest drive that has all pages of the trace.
    pub fn logical_pages(&self, pages_per_block: u32) -> u32 {
        let distinct = || u32::try_from(self.stat.pages).unwrap_or(u32::MAX);
        let numbers = self.given.as_ref().map_or_else(distinct, GivenPages::least);
        self.paging.logical_pages(numbers, pages_per_block)
    }

    /// Returns the number of requests of one replay on a drive of `logical_pages` pages.
    pub fn requests_on(&self, logical_pages: u32) -> u64 {
        let requests = self.on(u64::from(logical_pages) * self.page_size);
        requests.iter().filter(|request| request.is_last_piece()).count() as u64
    }

    /// Returns `true` if some request of the trace has several pieces on the drive.
    pub fn has_pieces(&self) -> bool {
        self.requests.iter().any(|request| request.is_asked() && request.goes_on)
    }

    /// Returns the requests of one replay below byte `space`. Parts of requests beyond that byte
    /// are left out.
    fn on(&self, space: u64) -> Arc<[TimedRequest]> {
        if self.requests.iter().all(|request| request.end() <= space) {
            return Arc::clone(&self.requests);
        }
        let mut kept: Vec<TimedRequest> = Vec::new();
        for request in self.requests.iter() {
            if request.offset < space {
                let bytes = u64::from(request.bytes).min(space - request.offset) as u32;
                kept.push(TimedRequest { bytes, ..*request });
            } else if !request.goes_on
                && let Some(last) = kept.last_mut().filter(|last| last.goes_on)
            {
                // The last piece was left out, so that the request ends with the piece before it.
                last.goes_on = false;
            }
        }
        kept.into()
    }

    /// Starts `passes` replays (`None`: without end) on a drive of `logical_pages` pages. Requests
    /// beyond the drive are left out. Times come from the trace, divided by `rate_scale`, or from
    /// `clock`. A replay begins one mean gap after the end of the previous one.
    ///
    /// # Errors
    /// The trace has no times and `clock` is `None`, or no request is on the drive's pages.
    pub fn open(
        &self,
        logical_pages: u32,
        passes: Option<u64>,
        rate_scale: f64,
        clock: Option<Clock>,
    ) -> Result<TraceRequests, TraceError> {
        let requests = self.on(u64::from(logical_pages) * self.page_size);
        if !requests.iter().any(TimedRequest::is_last_piece) {
            let message = format!("no request is on the first {logical_pages} logical pages");
            return Err(TraceError::new(&self.path, Fault::Option, message).hint(smaller_blocks()));
        }
        let last = self.requests.last().map_or(0, |last| last.arrival_ns);
        if last == 0 && clock.is_none() && self.requests.len() > 1 {
            let message = "all requests of the trace have the same time";
            return Err(TraceError::new(&self.path, Fault::Option, message).hint(format!(
                "give {}, for example {}",
                option("arrivals"),
                choice("arrivals", "poisson:rate=1000")
            )));
        }
        let gap = last / self.requests_on(u32::MAX).saturating_sub(1).max(1);
        Ok(TraceRequests {
            requests,
            next: 0,
            pass: 0,
            passes: passes.unwrap_or(u64::MAX),
            pass_ns: last + gap,
            rate_scale,
            clock,
            in_pieces: false,
        })
    }
}

/// Appends the pieces of `request` on the drive: one for each run of consecutive pages there. All
/// pages of a read or write have numbers. A discard or a hint only covers its pages that have
/// numbers.
fn place(
    map: &AddressMap,
    request: &Request,
    paging: &PagingOptions,
    arrival_ns: u64,
    out: &mut Vec<TimedRequest>,
) {
    if request.op == Op::Flush {
        out.push(TimedRequest::flush(arrival_ns));
        return;
    }
    let mut runs: Vec<(u32, u64)> = Vec::new();
    map.known(paging.pages(request), |number| match runs.last_mut() {
        Some((first, pages)) if u64::from(*first) + *pages == u64::from(number) => *pages += 1,
        _ => runs.push((number, 1)),
    });
    let whole_pages = request.op == Op::Trim || request.op.is_hint();
    // `before` are the bytes of the first page before the request. `size` are the bytes of the
    // request that are left.
    let (mut before, mut size) = match (whole_pages, paging.paging.rounds()) {
        (true, _) => (0, u64::MAX),
        (false, true) => (0, request.size),
        (false, false) => {
            let byte = i128::from(request.offset) + i128::from(paging.alignment_offset);
            (byte.rem_euclid(i128::from(paging.page_size)) as u64, request.size)
        }
    };
    let begin = out.len();
    for (first, pages) in runs {
        let mut offset = u64::from(first) * paging.page_size + before;
        let mut left = size.min(pages * paging.page_size - before);
        (before, size) = (0, size - left);
        while left > 0 {
            let bytes = left.min(LARGEST_PIECE - offset % paging.page_size);
            out.push(TimedRequest {
                arrival_ns,
                offset,
                bytes: bytes as u32,
                op: request.op,
                urgent: false,
                stream: request.stream,
                goes_on: true,
            });
            offset += bytes;
            left -= bytes;
        }
    }
    if let Some(last) = out[begin..].last_mut() {
        last.goes_on = false;
    }
}

/// One or more successive replays of a trace.
#[derive(State)]
#[snapshot(named = "requests")]
pub struct TraceRequests {
    #[snapshot(skip)]
    requests: Arc<[TimedRequest]>,
    /// The index of the next request of the current pass.
    next: usize,
    pass: u64,
    #[snapshot(skip)]
    passes: u64,
    /// The time from the beginning of a pass to that of the next, in nanoseconds of the trace.
    #[snapshot(skip)]
    pass_ns: u64,
    #[snapshot(skip)]
    rate_scale: f64,
    #[snapshot(state)]
    clock: Option<Clock>,
    /// `true` if the next request is another piece of the previous one.
    in_pieces: bool,
}

impl RequestStream for TraceRequests {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        while batch.len() < limit && self.pass < self.passes {
            let Some(&request) = self.requests.get(self.next) else {
                self.next = 0;
                self.pass += 1;
                continue;
            };
            self.next += 1;
            let arrival_ns = match &mut self.clock {
                // All pieces of a request arrive with its first piece.
                Some(clock) if !request.is_asked() || self.in_pieces => clock.now(),
                Some(clock) => clock.arrival(),
                None => self.scaled(request.arrival_ns),
            };
            self.in_pieces = request.is_asked() && request.goes_on;
            batch.push(TimedRequest { arrival_ns, ..request });
        }
        Ok(())
    }
}

impl TraceRequests {
    /// Converts a time of the trace to the arrival time in the current pass.
    fn scaled(&self, ns: u64) -> u64 {
        let ns = self.pass.saturating_mul(self.pass_ns).saturating_add(ns);
        if self.rate_scale == 1.0 { ns } else { (ns as f64 / self.rate_scale).round() as u64 }
    }
}
