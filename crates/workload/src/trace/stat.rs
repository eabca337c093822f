//! Statistics of a trace: what `trace stat` prints. Counts requests; keeps no order.

use flashgc_base::spec::count;
use flashgc_base::stream::{MOST_STREAMS, StreamId, named};
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::Request;
use super::address_map::{
    AddressMap, MapFull, Numbering, PageRange, PagingOptions, Unmapped, push,
};
use super::error::{Fault, TraceError};
use super::format;
use super::given::GivenPages;
use super::lines::Recorded;
use super::locality::locality;
use super::reader::TraceReader;
use super::working_set::{Counter, WorkingSets};
use crate::Op;

/// What a trace consists of. Serialised, its fields are the keys of `trace stat --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceStat {
    /// Requests of all kinds.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Discards (TRIM) among them.
    pub discards: u64,
    /// Dirty events, which are no requests: what the host has changed in its cache.
    pub dirty: u64,
    /// Clean events, which are no requests: what the host will not write after all.
    pub clean: u64,
    /// Flushes, which are no requests, replayed or not.
    pub flushes: u64,
    /// Writes over requests.
    pub write_share: f64,
    /// Distinct pages written.
    pub pages_written: u64,
    /// Distinct pages read.
    pub pages_read: u64,
    /// Distinct pages read or written.
    pub pages: u64,
    /// Page writes: requests of one page after splitting.
    pub page_writes: u64,
    /// Page writes that do not cover their page, over page writes.
    pub short_write_share: f64,
    /// Page reads: the same for reads.
    pub page_reads: u64,
    /// Page writes over distinct pages written; 0 if there are none.
    pub overwrite: f64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes discarded.
    pub discarded_bytes: u64,
    /// The highest end of a request on any device.
    pub span_bytes: u64,
    /// Devices.
    pub devices: u64,
    /// Time of the first request, nanoseconds since the trace's origin.
    pub first_time_ns: u64,
    /// From the earliest to the latest request.
    pub duration_seconds: f64,
    /// Page requests (reads and writes after splitting): `#Requests` of the d-choices paper.
    pub page_requests: u64,
    /// Writes among the page requests, in percent: its `%Writes`.
    pub page_write_percent: f64,
    /// Distinct pages that are only read, in percent of all distinct pages: its `%LBA_RO`.
    pub read_only_percent: f64,
    /// The smallest part of the distinct pages, in percent, that receives 20, 40, 60 and 80% of
    /// the page requests: its Table 3.
    pub locality_percent: [f64; 4],
    /// What has which stream, if anything names one: those that are named in their order, and behind
    /// them, with no stream, the rest if there is any.
    pub streams: Vec<StreamStat>,
    /// Bytes in a page.
    pub page_size: u64,
    /// Bytes that the drive offers which the trace was recorded from, where the file says so.
    pub address_space_bytes: Option<u64>,
    /// How references to memory were recorded, where the format says so.
    pub recorded: Option<Recorded>,
    /// The working set over time, for references to memory.
    pub working_set: Option<WorkingSets>,
    /// Bad lines or records that were left out.
    pub skipped_lines: u64,
    /// Good lines or records that are no requests.
    pub ignored_lines: u64,
    /// The format.
    pub format: String,
    /// What the file was packed in, outermost first, joined by `+`; `none` if in nothing.
    pub compression: String,
    /// What a person should know about how the file was read.
    pub notes: Vec<String>,
}

/// The requests of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamStat {
    /// The stream; `None`: no stream.
    pub stream: Option<StreamId>,
    /// Requests of all kinds.
    pub requests: u64,
    /// Writes among them.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl StreamStat {
    fn add(&mut self, request: &Request) {
        self.requests += 1;
        if request.op == Op::Write {
            self.writes += 1;
            self.written_bytes = self.written_bytes.saturating_add(request.size);
        }
    }
}

impl TraceStat {
    /// Whether any requests name a stream.
    pub fn has_streams(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Whether the requests are a program's references to memory, not a host's to a drive.
    pub fn has_references(&self) -> bool {
        format::find(&self.format).is_ok_and(|format| format.references)
    }

    /// Reads a trace to its end and counts.
    ///
    /// # Errors
    /// What the reader finds wrong; more pages or devices than can be mapped; no requests.
    pub fn of(mut reader: TraceReader, paging: PagingOptions) -> Result<Self, TraceError> {
        let mut builder = StatBuilder::of(&reader, paging)?;
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {
            builder.add(&block, |_, _| {}).map_err(|full| map_full(&reader, full))?;
        }
        builder.finish(&reader)
    }
}

/// The error for a request whose pages cannot be numbered.
pub(crate) fn map_full(reader: &TraceReader, unmapped: Unmapped) -> TraceError {
    let Unmapped { request, full } = unmapped;
    TraceError::new(reader.path(), Fault::Option, format!("request {request}: {full}"))
        .hint(full.hint())
}

/// Counts requests as they come, and numbers their pages.
#[derive(Clone, Debug)]
pub struct StatBuilder {
    paging: PagingOptions,
    map: AddressMap,
    /// A word a page: accesses, and in its two top bits whether it was written and read.
    accesses: Vec<u32>,
    devices: FxHashSet<u32>,
    last_device: Option<u32>,
    /// Requests, bytes and pages by operation.
    requests: [u64; Op::COUNT],
    bytes: [u64; Op::COUNT],
    pages: [u64; Op::COUNT],
    /// Requests by the stream that they name; empty before one names any.
    streams: Vec<StreamStat>,
    /// Page writes that do not cover their page.
    short: u64,
    end: i64,
    first_time: Option<u64>,
    earliest: u64,
    latest: u64,
    /// A discard covered pages that had not been accessed before.
    early_trim: bool,
    /// Where pages keep their numbers.
    given: Option<GivenPages>,
    working_sets: Option<Counter>,
}

const WRITTEN: u32 = 1 << 31;
const READ: u32 = 1 << 30;
/// Accesses of a page are counted up to here, which is a billion.
const ACCESSES: u32 = READ - 1;

impl StatBuilder {
    /// Nothing counted yet.
    pub fn new(paging: PagingOptions) -> Self {
        Self {
            paging,
            map: AddressMap::new(),
            accesses: Vec::new(),
            devices: FxHashSet::default(),
            last_device: None,
            requests: [0; Op::COUNT],
            bytes: [0; Op::COUNT],
            pages: [0; Op::COUNT],
            streams: Vec::new(),
            short: 0,
            end: 0,
            first_time: None,
            earliest: u64::MAX,
            latest: 0,
            early_trim: false,
            given: None,
            working_sets: None,
        }
    }

    /// Nothing counted yet of what `reader` reads; working sets are counted too if it reads
    /// references to memory.
    ///
    /// # Errors
    /// Those of [`TraceReader::check_page_size`].
    pub fn of(reader: &TraceReader, paging: PagingOptions) -> Result<Self, TraceError> {
        reader.check_page_size(paging.page_size)?;
        let working_sets = reader.format().references.then(Counter::new);
        Ok(Self { working_sets, ..Self::new(paging) })
    }

    /// Nothing counted yet of what `reader` reads, whose pages are to be numbered by `numbering`.
    pub(crate) fn numbered(
        reader: &TraceReader,
        paging: PagingOptions,
        numbering: Numbering,
    ) -> Self {
        let recorded = reader.address_space().map(|bytes| bytes / paging.page_size);
        let given = (numbering == Numbering::Given).then(|| GivenPages::new(recorded));
        Self { given, ..Self::new(paging) }
    }

    /// Counts requests and hands the dense number of each of their pages to `each`, in order.
    /// Discards and hints number no pages: only those accessed before are handed on. Flushes have none.
    ///
    /// # Errors
    /// A page that cannot be numbered; the text has a hint.
    pub fn add(
        &mut self,
        requests: &[Request],
        mut each: impl FnMut(Op, u32),
    ) -> Result<(), Unmapped> {
        for request in requests {
            if request.op == Op::Flush {
                continue; // the reader counts them
            }
            self.count(request);
            let (range, operation) = (self.paging.pages(request), request.op);
            self.pages[request.op as usize] += range.count;
            let (before, after) = self.paging.missing(request);
            self.short += (u64::from(before > 0) + u64::from(after > 0)).min(range.count);
            if let Some(given) = &mut self.given {
                let number = self.requests.iter().sum();
                let looked = given.look(number, request, range);
                looked.map_err(|full| Unmapped { request: number, full })?;
            }
            if request.op == Op::Trim || request.op.is_hint() {
                let known = self.map.known(range, |number| each(request.op, number));
                self.early_trim |= known < range.count;
            } else {
                let request = self.requests.iter().sum();
                self.access(range, operation, request, &mut each)
                    .map_err(|full| Unmapped { request, full })?;
            }
        }
        Ok(())
    }

    #[inline]
    fn access(
        &mut self,
        range: PageRange,
        op: Op,
        request: u64,
        each: &mut impl FnMut(Op, u32),
    ) -> Result<(), MapFull> {
        let flag = if op == Op::Write { WRITTEN } else { READ };
        let (accesses, working_sets) = (&mut self.accesses, &mut self.working_sets);
        self.map.insert(range, |number| {
            if number as usize == accesses.len() {
                push(accesses, 0);
            }
            let word = &mut accesses[number as usize];
            *word = (*word + u32::from(*word & ACCESSES < ACCESSES)) | flag;
            if let Some(sets) = working_sets {
                sets.access(number, request);
            }
            each(op, number);
        })
    }

    #[inline]
    fn count(&mut self, request: &Request) {
        self.requests[request.op as usize] += 1;
        self.bytes[request.op as usize] =
            self.bytes[request.op as usize].saturating_add(request.size);
        if let Some(stream) = named(request.stream).filter(|_| !request.op.is_hint()) {
            self.streams.resize(MOST_STREAMS, StreamStat::default());
            self.streams[usize::from(stream)].add(request);
        }
        self.end = self.end.max(request.end());
        self.first_time.get_or_insert(request.time_ns);
        self.earliest = self.earliest.min(request.time_ns);
        self.latest = self.latest.max(request.time_ns);
        if self.last_device != Some(request.device) {
            self.last_device = Some(request.device);
            self.devices.insert(request.device);
        }
    }

    /// True if a discard covered pages that had not been accessed before it (and may have been
    /// later).
    pub(crate) fn early_trim(&self) -> bool {
        self.early_trim
    }

    /// The streams that requests name, and the rest of all `requests`.
    fn streams(&self, requests: u64) -> Vec<StreamStat> {
        let each = (0..).zip(&self.streams).filter(|(_, counts)| counts.requests > 0);
        let mut found: Vec<StreamStat> =
            each.map(|(stream, counts)| StreamStat { stream: Some(stream), ..*counts }).collect();
        let sum = |count: fn(&StreamStat) -> u64| found.iter().map(count).sum::<u64>();
        let rest = StreamStat {
            stream: None,
            requests: requests - sum(|one| one.requests),
            writes: self.requests[Op::Write as usize] - sum(|one| one.writes),
            written_bytes: self.bytes[Op::Write as usize]
                .saturating_sub(sum(|one| one.written_bytes)),
        };
        if !found.is_empty() && rest.requests > 0 {
            found.push(rest);
        }
        found
    }

    /// The statistics of what was counted.
    ///
    /// # Errors
    /// No requests at all.
    pub fn finish(&self, reader: &TraceReader) -> Result<TraceStat, TraceError> {
        let [writes, reads, discards, dirty, _, clean] = self.requests;
        let requests = writes + reads + discards;
        if requests == 0 {
            return Err(no_requests(reader));
        }
        let [page_writes, page_reads, ..] = self.pages;
        let page_requests = page_writes + page_reads;
        let with =
            |flag: u32| self.accesses.iter().filter(|&&word| word & flag != 0).count() as u64;
        let (pages, pages_written) = (self.accesses.len() as u64, with(WRITTEN));
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let layers = reader.compression();
        Ok(TraceStat {
            requests,
            reads,
            writes,
            discards,
            dirty,
            clean,
            flushes: reader.flushes(),
            write_share: ratio(writes, requests),
            pages_written,
            pages_read: with(READ),
            pages,
            page_writes,
            short_write_share: ratio(self.short, page_writes),
            page_reads,
            overwrite: ratio(page_writes, pages_written),
            written_bytes: self.bytes[Op::Write as usize],
            read_bytes: self.bytes[Op::Read as usize],
            discarded_bytes: self.bytes[Op::Trim as usize],
            span_bytes: self.end.unsigned_abs(),
            devices: self.devices.len() as u64,
            first_time_ns: self.first_time.unwrap_or(0),
            duration_seconds: (self.latest - self.earliest) as f64 / 1e9,
            page_requests,
            page_write_percent: 100.0 * ratio(page_writes, page_requests),
            read_only_percent: 100.0 * ratio(pages - pages_written, pages),
            locality_percent: locality(self.accesses.iter().map(|word| word & ACCESSES).collect()),
            streams: self.streams(requests),
            page_size: self.paging.page_size,
            address_space_bytes: reader.address_space(),
            recorded: reader.recorded(),
            working_set: self.working_sets.as_ref().map(|sets| sets.finish(requests)),
            skipped_lines: reader.skipped(),
            ignored_lines: reader.ignored(),
            format: reader.format().name.to_owned(),
            compression: if layers.is_empty() { "none".to_owned() } else { layers.join("+") },
            notes: reader.notes(),
        })
    }

    /// The map of the pages counted, and what is known of them where they keep their numbers.
    pub(crate) fn into_map(self) -> (AddressMap, Option<GivenPages>) {
        (self.map, self.given)
    }
}

fn no_requests(reader: &TraceReader) -> TraceError {
    let (skipped, ignored) = (reader.skipped(), reader.ignored());
    let message = format!(
        "found no requests, expected at least one (skipped: {}; no requests: {})",
        count(skipped, "bad line"),
        count(ignored, "line")
    );
    let hint = if reader.chooses_devices() {
        "check the chosen devices"
    } else if skipped > 0 {
        "check the format (--format)"
    } else if reader.format().name == "blkparse" {
        "record the events D (sent to the device), Q (queued) or C (completed)"
    } else {
        "check the file"
    };
    TraceError::new(reader.path(), Fault::Empty, message).hint(hint)
}
