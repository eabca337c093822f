//! Statistics of a trace, as `trace stat` prints them. They are counts of requests; the order of
//! requests is not kept.

use std::collections::BTreeMap;

use flashgc_base::described::Described;
use flashgc_base::naming::{choice, option};
use flashgc_base::spec::count;
use flashgc_base::stream::StreamId;
use hdrhistogram::Histogram;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::address_map::{
    AddressMap, MapFull, Numbering, PageRange, PagingOptions, Unmapped, push,
};
use super::error::{Fault, TraceError};
use super::format;
use super::given::GivenPages;
use super::lines::Recorded;
use super::locality::locality;
use super::reader::TraceReader;
use super::request::{FIELDS, Field, Fields, Request};
use super::working_set::{Counter, WorkingSets};
use crate::Op;

/// The statistics of a trace. Serialised, its fields are the keys of `trace stat --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Described)]
pub struct TraceStat {
    /// The number of requests of all kinds.
    pub requests: u64,
    /// The number of reads among the requests.
    pub reads: u64,
    /// The number of writes among the requests.
    pub writes: u64,
    /// The number of discards (TRIM) among the requests.
    pub discards: u64,
    /// The number of dirty events: the host has changed a page in its cache. They are not requests.
    pub dirty: u64,
    /// The number of clean events: the host will not write a page after all. They are not requests.
    pub clean: u64,
    /// The number of flushes, replayed or not. They are not requests.
    pub flushes: u64,
    /// The number of writes divided by the number of requests.
    pub write_share: f64,
    /// The number of distinct pages written.
    pub pages_written: u64,
    /// The number of distinct pages read.
    pub pages_read: u64,
    /// The number of distinct pages read or written.
    pub pages: u64,
    /// The number of page writes: the pages of writes, after splitting into pages.
    pub page_writes: u64,
    /// The share of page writes that write only a part of their page.
    pub short_write_share: f64,
    /// The number of page reads: the pages of reads, after splitting into pages.
    pub page_reads: u64,
    /// Page writes divided by distinct pages written; 0 if there are none.
    pub overwrite: f64,
    /// The number of bytes written.
    pub written_bytes: u64,
    /// The number of bytes read.
    pub read_bytes: u64,
    /// The number of bytes discarded.
    pub discarded_bytes: u64,
    /// The highest end of a request on any device, in bytes.
    pub span_bytes: u64,
    /// The number of devices.
    pub devices: u64,
    /// The times of requests.
    #[serde(flatten)]
    pub times: TimeStat,
    /// The number of page requests: reads and writes, after splitting into pages. It is `#Requests`
    /// of the d-choices paper.
    pub page_requests: u64,
    /// The share of writes among the page requests, in percent: `%Writes` of that paper.
    pub page_write_percent: f64,
    /// The share of distinct pages that are only read, in percent: `%LBA_RO` of that paper.
    pub read_only_percent: f64,
    /// The smallest part of the distinct pages, in percent, that receives 20, 40, 60 and 80% of the
    /// page requests: Table 3 of that paper.
    pub locality_percent: [f64; 4],
    /// The requests by stream, if any request has a stream: the streams in the order of their
    /// numbers, then the requests without a stream if there are any.
    pub streams: Vec<StreamStat>,
    /// The hosts, and the times until the answers to their requests.
    #[serde(flatten)]
    pub served: ServedStat,
    /// The size of a page in bytes.
    pub page_size: u64,
    /// The size in bytes of the drive from which the trace was recorded; `None` if the file does
    /// not say it.
    pub address_space_bytes: Option<u64>,
    /// The properties of a recording of references to memory; `None` for other formats.
    pub recorded: Option<Recorded>,
    /// The working set over time; `None` unless the trace has references to memory.
    pub working_set: Option<WorkingSets>,
    /// The lines or records that are not requests.
    #[serde(flatten)]
    pub others: OtherLines,
    /// The format, the columns and the compression with which the file was read.
    #[serde(flatten)]
    pub read_as: ReadAs,
    /// Notes for the user.
    pub notes: Notes,
}

/// The format, the columns and the compression with which a file was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Described)]
pub struct ReadAs {
    /// The name of the format.
    pub format: String,
    /// The columns with their units.
    pub columns: String,
    /// The wrappers of the file, outermost first, joined by `+`; `none` if there are none.
    pub compression: String,
}

/// Notes for the user, one sentence each. Serialised, they are one list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// Notes on how the file was read.
    pub reading: Vec<String>,
    /// Figures that are evidence against the reading, or against the clock of the trace.
    pub doubts: Vec<String>,
}

impl Notes {
    /// Returns all notes, with those on the reading first.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        self.reading.iter().chain(&self.doubts)
    }
}

impl Serialize for Notes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// The times of the requests of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Described)]
pub struct TimeStat {
    /// The time of the first request, in nanoseconds since the trace's origin.
    pub first_time_ns: u64,
    /// The time from the earliest to the latest request, in seconds.
    pub duration_seconds: f64,
    /// The number of requests with an earlier time than the previous request.
    pub times_back: u64,
    /// The longest step back in time, from the latest time so far to that of a request; 0 if times
    /// never go back.
    pub furthest_back_seconds: f64,
    /// The longest time from one request to the next.
    pub longest_gap_seconds: f64,
}

impl TimeStat {
    /// A step back in time gets a note if it is at least this share of the span of the trace.
    const BACK: f64 = 0.01;
    /// A gap gets a note if it is at least this share of the span.
    const GAP: f64 = 0.5;
    /// The smallest number of requests for a note on gaps.
    const FEWEST: u64 = 100;

    /// Returns notes for the user if the times cannot be those of one clock.
    fn notes(&self, requests: u64) -> Vec<String> {
        let mut notes = Vec::new();
        if self.furthest_back_seconds > Self::BACK * self.duration_seconds {
            notes.push(format!(
                "times go back {}, at most {:.6} s behind the latest: the clock was set back, or the file \
                 has several streams one after the other, such as a file for each CPU, to be merged by time; hint: {} \
                 does that",
                count(self.times_back, "time"),
                self.furthest_back_seconds,
                choice("disorder", "sort")
            ));
        }
        if requests >= Self::FEWEST && self.longest_gap_seconds > Self::GAP * self.duration_seconds
        {
            notes.push(format!(
                "no request for {:.6} s of the {:.6} s: the clock may have jumped",
                self.longest_gap_seconds, self.duration_seconds
            ));
        }
        notes
    }
}

/// The lines or records of a trace that are not requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Described)]
pub struct OtherLines {
    /// The number of bad lines or records that were left out.
    pub skipped_lines: u64,
    /// The number of good lines or records that are not requests.
    pub ignored_lines: u64,
}

/// The statistics that only a recording of a served drive has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Described)]
pub struct ServedStat {
    /// The times until the answers, for each kind of request with known answers.
    pub answers: Vec<AnswerStat>,
    /// The requests by the values of optional fields: one list for each field, by its name. A list
    /// is empty if no request has the field.
    #[serde(flatten)]
    pub groups: BTreeMap<&'static str, Vec<GroupStat>>,
}

/// The requests with the same value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupStat {
    /// The parts of the value, each with its name.
    pub keys: Vec<(&'static str, u64)>,
    /// The counts of these requests.
    pub tally: Tally,
}

impl Serialize for GroupStat {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Tally { requests, writes, written_bytes, flushes } = self.tally;
        let counts = [
            ("requests", requests),
            ("writes", writes),
            ("written_bytes", written_bytes),
            ("flushes", flushes),
        ];
        serializer.collect_map(self.keys.iter().copied().chain(counts))
    }
}

/// Counts of a part of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of requests of all kinds.
    pub requests: u64,
    /// The number of writes among the requests.
    pub writes: u64,
    /// The number of bytes written.
    pub written_bytes: u64,
    /// The number of flushes, which are not requests.
    pub flushes: u64,
}

/// The counts of the requests of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Described)]
pub struct StreamStat {
    /// The stream; `None` for requests without one.
    pub stream: Option<StreamId>,
    /// The number of requests of all kinds.
    pub requests: u64,
    /// The number of writes among the requests.
    pub writes: u64,
    /// The number of bytes written.
    pub written_bytes: u64,
}

/// The times until the answers to requests of one kind, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Described)]
pub struct AnswerStat {
    /// The kind: `read`, `write`, `trim` or `flush`.
    pub kind: &'static str,
    /// The number of requests with a known answer.
    pub requests: u64,
    /// The mean time.
    pub mean_us: f64,
    /// The median time, to three digits.
    pub p50_us: f64,
    /// The 99th percentile of the times, to three digits.
    pub p99_us: f64,
    /// The longest time.
    pub max_us: f64,
}

impl Tally {
    fn add(&mut self, request: &Request) {
        match request.op {
            Op::Flush => self.flushes += 1,
            Op::Dirty | Op::Clean => {}
            _ => self.requests += 1,
        }
        if request.op == Op::Write {
            self.writes += 1;
            self.written_bytes = self.written_bytes.saturating_add(request.size);
        }
    }

    /// Subtracts the counts of `others`.
    fn without<'a>(self, others: impl Iterator<Item = &'a Self>) -> Self {
        others.fold(self, |rest, other| Self {
            requests: rest.requests - other.requests,
            writes: rest.writes - other.writes,
            written_bytes: rest.written_bytes.saturating_sub(other.written_bytes),
            flushes: rest.flushes.saturating_sub(other.flushes),
        })
    }
}

impl TraceStat {
    /// Returns `true` if any request has a stream.
    pub fn has_streams(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Returns `true` if the requests are a program's references to memory, not requests of a host.
    pub fn has_references(&self) -> bool {
        format::find(&self.read_as.format).is_ok_and(|format| format.references)
    }

    /// Reads a trace to its end and returns its statistics.
    ///
    /// # Errors
    /// The reader finds a fault, there are more pages or devices than can be numbered, or there are
    /// no requests.
    pub fn of(mut reader: TraceReader, paging: PagingOptions) -> Result<Self, TraceError> {
        let mut builder = StatBuilder::of(&reader, paging)?;
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {
            builder.add(&block, |_, _| {}).map_err(|full| map_full(&reader, full))?;
        }
        builder.finish(&reader)
    }
}

/// Makes the error for a request whose pages cannot be numbered.
pub fn map_full(reader: &TraceReader, unmapped: Unmapped) -> TraceError {
    let Unmapped { request, full } = unmapped;
    TraceError::new(reader.path(), Fault::Option, format!("request {request}: {full}"))
        .hint(full.hint())
}

/// A counter of requests, which also numbers their pages.
#[derive(Clone, Debug, Default)]
pub struct StatBuilder {
    paging: PagingOptions,
    map: AddressMap,
    /// One word for each page: the number of accesses, and two high bits for pages that were
    /// written and read.
    accesses: Vec<u32>,
    devices: FxHashSet<u32>,
    last_device: Option<u32>,
    /// The numbers of requests, of bytes and of pages, each by operation.
    requests: [u64; Op::COUNT],
    bytes: [u64; Op::COUNT],
    pages: [u64; Op::COUNT],
    /// The requests by the values of their fields.
    groups: Vec<(&'static Field, FxHashMap<u64, Tally>)>,
    /// The nanoseconds until the answers, by operation; empty until an answer is known.
    answers: Vec<Histogram<u64>>,
    /// The number of page writes that write only a part of their page.
    short: u64,
    end: i64,
    first_time: Option<u64>,
    earliest: u64,
    latest: u64,
    /// The time of the last request.
    time: u64,
    times_back: u64,
    furthest_back: u64,
    longest_gap: u64,
    /// `true` if a discard covered pages that had not been accessed before.
    early_trim: bool,
    /// The check of pages that keep their numbers; `None` if pages get other numbers.
    given: Option<GivenPages>,
    working_sets: Option<Counter>,
}

const WRITTEN: u32 = 1 << 31;
const READ: u32 = 1 << 30;
/// The highest count of a page's accesses, about a billion.
const ACCESSES: u32 = READ - 1;

impl StatBuilder {
    /// Makes a counter without counts.
    pub fn new(paging: PagingOptions) -> Self {
        let groups = groups(Fields::known(u16::MAX));
        Self { paging, groups, earliest: u64::MAX, ..Self::default() }
    }

    /// Makes a counter for the trace of `reader`. For a trace of references to memory, it also
    /// counts working sets.
    ///
    /// # Errors
    /// The errors of [`TraceReader::check_page_size`].
    pub fn of(reader: &TraceReader, paging: PagingOptions) -> Result<Self, TraceError> {
        reader.check_page_size(paging.page_size)?;
        let working_sets = reader.format().references.then(Counter::new);
        let groups = groups(reader.declared().fields);
        Ok(Self { working_sets, groups, ..Self::new(paging) })
    }

    /// Makes a counter for the trace of `reader`, whose pages will be numbered by `numbering`.
    pub(crate) fn numbered(
        reader: &TraceReader,
        paging: PagingOptions,
        numbering: Numbering,
    ) -> Self {
        let recorded = reader.address_space().map(|bytes| bytes / paging.page_size);
        let given = (numbering == Numbering::Given).then(|| GivenPages::new(recorded));
        Self { given, groups: groups(reader.declared().fields), ..Self::new(paging) }
    }

    /// Counts requests, and calls `each` with the number of each of their pages, in order. Discards
    /// and hints do not number new pages: `each` is called only for those of their pages that were
    /// accessed before. Flushes have no pages.
    ///
    /// # Errors
    /// A page cannot be numbered. The error has a hint.
    pub fn add(
        &mut self,
        requests: &[Request],
        mut each: impl FnMut(Op, u32),
    ) -> Result<(), Unmapped> {
        for request in requests {
            if request.took_ns != Request::UNANSWERED {
                self.answered(request);
            }
            for (field, tallies) in &mut self.groups {
                let value = (field.get)(request);
                if field.groups.as_ref().is_some_and(|groups| groups.none != value) {
                    tallies.entry(value).or_default().add(request);
                }
            }
            if request.op == Op::Flush {
                continue; // the reader counts flushes
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
        self.end = self.end.max(request.end());
        if self.first_time.is_some() {
            self.times_back += u64::from(request.time_ns < self.time);
            self.furthest_back =
                self.furthest_back.max(self.latest.saturating_sub(request.time_ns));
            self.longest_gap = self.longest_gap.max(request.time_ns.saturating_sub(self.time));
        }
        self.time = request.time_ns;
        self.first_time.get_or_insert(request.time_ns);
        self.earliest = self.earliest.min(request.time_ns);
        self.latest = self.latest.max(request.time_ns);
        if self.last_device != Some(request.device) {
            self.last_device = Some(request.device);
            self.devices.insert(request.device);
        }
    }

    /// Returns `true` if a discard covered pages that had not been accessed before. Later requests
    /// may have accessed these pages.
    pub(crate) fn early_trim(&self) -> bool {
        self.early_trim
    }

    #[inline(never)]
    fn answered(&mut self, request: &Request) {
        if self.answers.is_empty() {
            let histogram = || Histogram::new(3).expect("three digits are few");
            self.answers = (0..Op::COUNT).map(|_| histogram()).collect();
        }
        // The histogram can grow up to this time, about 73 years.
        let took_ns = request.took_ns.min(1 << 61);
        self.answers[request.op as usize].record(took_ns).expect("the histogram grows");
    }

    /// Returns the times until the answers, by kind of request.
    fn answers(&self) -> Vec<AnswerStat> {
        let kinds =
            [(Op::Read, "read"), (Op::Write, "write"), (Op::Trim, "trim"), (Op::Flush, "flush")];
        let of = |(op, kind): (Op, &'static str)| {
            let histogram =
                self.answers.get(op as usize).filter(|histogram| !histogram.is_empty())?;
            let us = |ns: u64| ns as f64 / 1e3;
            Some(AnswerStat {
                kind,
                requests: histogram.len(),
                mean_us: histogram.mean() / 1e3,
                p50_us: us(histogram.value_at_quantile(0.5)),
                p99_us: us(histogram.value_at_quantile(0.99)),
                max_us: us(histogram.max()),
            })
        };
        kinds.into_iter().filter_map(of).collect()
    }

    /// Returns the counts of the requests with each value of `field`, in the order of the values,
    /// and the counts of all other requests.
    fn tallies(&self, field: Fields, flushes: u64) -> (Vec<(u64, Tally)>, Tally) {
        let [writes, reads, discards, ..] = self.requests;
        let all = Tally {
            requests: writes + reads + discards,
            writes,
            written_bytes: self.bytes[Op::Write as usize],
            flushes,
        };
        let groups = self.groups.iter().find(|(known, _)| known.set == field);
        let tallies = groups.into_iter().flat_map(|(_, tallies)| tallies);
        let mut tallies: Vec<_> = tallies.map(|(value, tally)| (*value, *tally)).collect();
        tallies.sort_unstable_by_key(|(value, _)| *value);
        let rest = all.without(tallies.iter().map(|(_, tally)| tally));
        (tallies, rest)
    }

    /// Returns, for each field except the stream, first the counts of requests without the field,
    /// then those by its values.
    fn grouped(&self, flushes: u64) -> BTreeMap<&'static str, Vec<GroupStat>> {
        let fields = FIELDS.iter().filter(|field| field.set != Fields::STREAM);
        let of = |field: &'static Field| {
            let groups = field.groups.as_ref()?;
            let (mut tallies, rest) = self.tallies(field.set, flushes);
            if !tallies.is_empty() && rest.requests + rest.flushes > 0 {
                tallies.insert(0, (groups.none, rest));
            }
            let of = |(value, tally)| GroupStat { keys: groups.parts(value), tally };
            Some((groups.name, tallies.into_iter().map(of).collect()))
        };
        fields.filter_map(of).collect()
    }

    /// Returns the counts of each stream, and then those of requests without a stream.
    fn streams(&self) -> Vec<StreamStat> {
        let (mut tallies, rest) = self.tallies(Fields::STREAM, 0);
        tallies.retain(|(_, tally)| tally.requests > 0);
        let of = |stream, tally: Tally| {
            let Tally { requests, writes, written_bytes, .. } = tally;
            StreamStat { stream, requests, writes, written_bytes }
        };
        let rest = (!tallies.is_empty() && rest.requests > 0).then(|| of(None, rest));
        let named = tallies.iter().map(|&(stream, tally)| of(Some(stream as StreamId), tally));
        named.chain(rest).collect()
    }

    /// Returns the statistics of the requests that were counted.
    ///
    /// # Errors
    /// There are no requests.
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
        let seconds = |ns: u64| ns as f64 / 1e9;
        let times = TimeStat {
            first_time_ns: self.first_time.unwrap_or(0),
            duration_seconds: seconds(self.latest - self.earliest),
            times_back: self.times_back,
            furthest_back_seconds: seconds(self.furthest_back),
            longest_gap_seconds: seconds(self.longest_gap),
        };
        let mut doubts = reader.doubts().to_vec();
        if !reader.format().references {
            doubts.extend(times.notes(requests));
        }
        let notes = Notes { reading: reader.reading(), doubts };
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
            times,
            page_requests,
            page_write_percent: 100.0 * ratio(page_writes, page_requests),
            read_only_percent: 100.0 * ratio(pages - pages_written, pages),
            locality_percent: locality(self.accesses.iter().map(|word| word & ACCESSES).collect()),
            streams: self.streams(),
            served: ServedStat { answers: self.answers(), groups: self.grouped(reader.flushes()) },
            page_size: self.paging.page_size,
            address_space_bytes: reader.address_space(),
            recorded: reader.recorded(),
            working_set: self.working_sets.as_ref().map(|sets| sets.finish(requests)),
            others: OtherLines { skipped_lines: reader.skipped(), ignored_lines: reader.ignored() },
            read_as: ReadAs {
                format: reader.format().name.to_owned(),
                columns: reader.columns(),
                compression: if layers.is_empty() { "none".to_owned() } else { layers.join("+") },
            },
            notes,
        })
    }

    /// Returns the map of the counted pages, and the check of pages that keep their numbers.
    pub(crate) fn into_map(self) -> (AddressMap, Option<GivenPages>) {
        (self.map, self.given)
    }
}

/// Returns the fields among `fields` that have a statistic, with empty counts.
fn groups(fields: Fields) -> Vec<(&'static Field, FxHashMap<u64, Tally>)> {
    let counted = fields.each().filter(|field| field.groups.is_some());
    counted.map(|field| (field, FxHashMap::default())).collect()
}

fn no_requests(reader: &TraceReader) -> TraceError {
    let (skipped, ignored) = (reader.skipped(), reader.ignored());
    let message = format!(
        "found no requests, expected at least one (skipped: {}; no requests: {})",
        count(skipped, "bad line"),
        count(ignored, "line")
    );
    let hint = if reader.chooses_devices() {
        format!("check the chosen {}", option("devices"))
    } else if skipped > 0 {
        format!("check the format ({})", option("format"))
    } else if reader.format().name == "blkparse" {
        "record the events D (sent to the device), Q (queued) or C (completed)".into()
    } else {
        "check the file".into()
    };
    TraceError::new(reader.path(), Fault::Empty, message).hint(hint)
}
