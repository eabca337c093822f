//! Requests mean the same on the three kinds of drives. Random traces are run with random options
//! on the counting drive, on a timed drive of one die, or of several whose blocks superblocks join,
//! that is idle between requests, and on a stored drive. Their requests have 1 to 64 pages, begin and end anywhere, go to several devices,
//! and include reads, discards, flushes, writes with FUA, streams and hints. Counts and decisions
//! must be equal.
//!
//! The stored drive stores bytes, so it reads a page before it changes a part of it. If a discard
//! covers a part of a page, all three drives keep its data. Pages of the stored drive keep their
//! numbers. It has neither a map on flash nor a page buffer.
//!
//! Some results depend on the clock, so requests are drawn to avoid these cases.
//!
//! - With a map on flash, requests have one page, because the timed drive looks up all pages of a
//!   request before it writes the first.
//! - With reclaim groups, requests whose pages may leave their group have one page. On the timed drive
//!   a page that goes to another group leaves its old one when it is programmed, perhaps after the next
//!   page of the request has begun a collection there.
//! - With a page buffer, requests have whole pages, because the timed drive reads a partly written
//!   page first, while the whole pages beside it go to the buffer.
//! - A host's cache writes only what it evicts, without daemons: these would go by time on the
//!   timed drive, and by requests on the counting drive. The cache has more pages than a request,
//!   so that two writes of a page are never in progress at once.
//! - With hints or a cache, a map on flash must fit into memory. Otherwise two look-ups could be in
//!   progress at once: for a hint and a request, or both for one request of a cache.

use std::path::Path;
use std::sync::Arc;

use flashgc_base::stream::NO_STREAM;
use flashgc_device::bytes::Bytes;
use flashgc_device::dies::Parity;
use flashgc_device::media::MemMedia;
use flashgc_device::{Backend, Drive, Durability, Settings, WriteStreams};
use flashgc_drive::extent::Length;
use flashgc_drive::source::{Source, TimedSource, TraceReplay};
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::{HostConfig, RunConfig, TimedConfig};
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_experiment::stream_results::StreamResult;
use flashgc_ftl::{allocation_policies, placement_policies, victim_policies};
use flashgc_workload::Op;
use flashgc_workload::requests::{Requests, TimedTrace};
use flashgc_workload::trace::{
    Declared, Fields, NativeWriter, Numbering, Paging, PagingOptions, ReadOptions, Request,
    SourceOptions,
};
use proptest::prelude::*;
use proptest::sample::select;

const PAGE: u64 = 4096;
/// The drive has 160 blocks of 8 pages, some of them spare.
const BLOCKS: u32 = 160;
const B: u32 = 8;

/// A placement of two reclaim groups. The timed drive has twice as many dies with it.
const GROUPS: &str = "fdp:handles=2,persistent=1,groups=2";

/// A request before it is written to a trace: its operation, first byte, number of bytes, device
/// and stream.
type Drawn = (Kind, u64, u64, u32, u8);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Write,
    /// A write with FUA: a write, and a flush after it.
    Durable,
    Read,
    Trim,
    Flush,
    Dirty,
    Clean,
}

/// The source of the streams of writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Streams {
    None,
    Trace,
    /// A table of ranges of bytes.
    Ranges,
}

/// The options that at least two of the drives have.
#[derive(Clone, Debug)]
struct Options {
    victim: &'static str,
    placement: &'static str,
    allocation: &'static str,
    levels: bool,
    on_flash: bool,
    /// `true` if all of a map on flash fits into memory.
    map_fits: bool,
    units: u32,
    /// Dies whose blocks are superblocks.
    dies: u32,
    /// Planes of a die, whose blocks are superblocks.
    planes: u32,
    /// `true` if one die of each stripe has parity, or one plane.
    has_parity: bool,
    /// `true` if that is one plane of all planes.
    of_planes: bool,
    /// The flash pages that are programmed together.
    pages: u32,
    is_protected: bool,
    is_cached: bool,
    flush_every: Option<u64>,
    numbering: Numbering,
    rounds: bool,
    streams: Streams,
    whole_pages: bool,
    /// The number of requests of the run; `None` if the run replays the trace twice.
    length: Option<u64>,
    spare: f64,
    seed: u64,
}

impl Options {
    /// Returns the units that are programmed together.
    fn together(&self) -> u32 {
        self.units * self.planes * self.pages
    }
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        12 => Just(Kind::Write),
        1 => Just(Kind::Durable),
        2 => Just(Kind::Read),
        2 => Just(Kind::Trim),
        1 => Just(Kind::Flush),
        2 => Just(Kind::Dirty),
        1 => Just(Kind::Clean),
    ]
}

/// Generates requests on two devices of 300 pages each.
fn requests() -> impl Strategy<Value = Vec<Drawn>> {
    let pages = prop_oneof![3 => 1..6u64, 1 => 1..65u64];
    let first = prop_oneof![2 => 0..60u64, 1 => 0..300u64];
    let edge = prop_oneof![2 => Just(0), 1 => 0..PAGE];
    let one = (kinds(), first, pages, (edge.clone(), edge), 0..2u32, 0..4u8).prop_map(
        |(kind, first, pages, (before, behind), device, stream)| {
            let pages = pages.min(300 - first);
            let bytes = (pages * PAGE - before).saturating_sub(behind).max(1);
            (kind, first * PAGE + before, bytes, device, stream)
        },
    );
    prop::collection::vec(one, 500..900)
}

fn options() -> impl Strategy<Value = Options> {
    let victims: Vec<&'static str> = victim_policies().iter().map(|one| one.name).collect();
    let placements = placement_policies().iter().filter(|one| !one.needs_future);
    let mut placements: Vec<&'static str> = placements.map(|one| one.name).collect();
    placements.extend([GROUPS; 3]);
    let allocations: Vec<&'static str> = allocation_policies().iter().map(|one| one.name).collect();
    let policies =
        (select(victims), prop_oneof![Just("none"), select(placements)], select(allocations));
    let map = (
        prop::bool::weighted(0.25),
        prop::bool::weighted(0.25),
        (
            select(vec![1, 1, 4]),
            select(vec![1, 1, 2, 4]),
            select(vec![1, 1, 2]),
            select(vec![1, 1, 2, 4]),
            (any::<bool>(), any::<bool>()),
        ),
        any::<bool>(),
        prop::bool::weighted(0.3),
        any::<bool>(),
    );
    let pages = (
        select(vec![Numbering::Given, Numbering::Address, Numbering::FirstTouch]),
        prop::bool::weighted(0.2),
        select(vec![Streams::None, Streams::Trace, Streams::Ranges]),
        any::<bool>(),
    );
    let rest = (
        select(vec![None, None, Some(1), Some(7)]),
        select(vec![0.3, 0.45]),
        any::<u64>(),
        prop::option::weighted(0.3, 50..1500u64),
    );
    (policies, map, pages, rest).prop_map(
        |(
            (victim, placement, allocation),
            (
                levels,
                on_flash,
                (units, planes, pages, dies, (has_parity, of_planes)),
                is_protected,
                is_cached,
                map_fits,
            ),
            (numbering, rounds, streams, whole_pages),
            (flush_every, spare, seed, length),
        )| {
            // A block has at least two pages.
            let planes = planes.min(B / units / 2);
            let pages = pages.min(B / units / planes / 2);
            let dies = dies.min(B / units / planes / pages / 2).max(1);
            let together = units * planes * pages;
            Options {
                victim,
                placement,
                allocation,
                levels,
                on_flash,
                map_fits,
                units,
                dies,
                planes,
                has_parity: has_parity && dies > 1 && (dies == 4 || of_planes && planes > 1),
                of_planes: of_planes && planes > 1,
                pages,
                // A buffer of single pages never holds data.
                is_protected: is_protected || together == 1,
                is_cached: is_cached && (!on_flash || map_fits),
                // A cache takes no flush commands.
                flush_every: flush_every.filter(|_| !is_protected && together > 1 && !is_cached),
                numbering,
                rounds: rounds && numbering != Numbering::Given,
                streams,
                whole_pages,
                length,
                spare,
                seed,
            }
        },
    )
}

/// Writes the requests of `drawn` as a trace that fits `options`.
fn record(path: &Path, drawn: &[Drawn], options: &Options) -> Vec<Request> {
    let is_given = options.numbering == Numbering::Given;
    let mut requests = Vec::new();
    for (time, &(kind, offset, bytes, device, stream)) in (0..).zip(drawn) {
        // If the drive's own page numbers are used, the devices are placed side by side.
        let (offset, device) = match is_given {
            true => (offset + u64::from(device) * 300 * PAGE, 0),
            false => (offset, device),
        };
        let moves = options.placement == GROUPS && options.streams == Streams::Trace;
        let is_single = options.on_flash || moves;
        let bytes = if is_single { bytes.min(PAGE) } else { bytes };
        let whole = options.whole_pages || options.together() > 1 || is_single;
        let (offset, bytes) = match whole {
            true => (offset / PAGE * PAGE, bytes.next_multiple_of(PAGE)),
            false => (offset, bytes),
        };
        let op = match kind {
            Kind::Write | Kind::Durable => Op::Write,
            Kind::Read => Op::Read,
            Kind::Trim => Op::Trim,
            Kind::Flush => Op::Flush,
            Kind::Dirty | Kind::Clean if options.on_flash && !options.map_fits => Op::Read,
            Kind::Dirty => Op::Dirty,
            Kind::Clean => Op::Clean,
        };
        let stream = match stream {
            3 => NO_STREAM,
            _ if options.streams != Streams::Trace || op != Op::Write => NO_STREAM,
            stream => stream,
        };
        let (offset, size) = if op == Op::Flush { (0, 0) } else { (offset as i64, bytes) };
        let request = Request {
            time_ns: 1000 * time,
            offset,
            size,
            device,
            op,
            stream,
            ..Request::default()
        };
        requests.push(request);
        if kind == Kind::Durable {
            let flush = Request { offset: 0, size: 0, op: Op::Flush, stream: NO_STREAM, ..request };
            requests.push(flush);
        }
    }
    let address_space = is_given.then_some(600 * PAGE);
    let declared = Declared {
        address_space,
        fields: Fields::STREAM.if_any(options.streams == Streams::Trace),
    };
    let mut writer = NativeWriter::new(Vec::new(), declared).unwrap();
    writer.write(&requests).unwrap();
    std::fs::write(path, writer.finish().unwrap()).unwrap();
    requests
}

/// The table of streams by address: 50 pages with stream 1, then 50 pages with stream 2; the others
/// have none.
const STREAMS: &str = "0, 204800, 1\n204800, 409600, 2\n";

fn config(path: &Path, options: &Options) -> RunConfig {
    let unit = PAGE as u32;
    let ranges = path.with_file_name("streams.csv");
    std::fs::write(&ranges, STREAMS).unwrap();
    RunConfig {
        blocks: Some(match options.numbering {
            Numbering::Given => BLOCKS * options.planes * options.dies,
            _ => 2 * BLOCKS * options.planes * options.dies,
        }),
        pages_per_block: Some(B / options.units / options.planes / options.dies),
        page_size: unit * options.units,
        mapping_unit: (options.units > 1).then_some(unit),
        superblock: format!("dies={},planes={}", options.dies, options.planes),
        copy_order: if options.dies > 1 && options.seed.is_multiple_of(2) {
            "die"
        } else {
            "written"
        }
        .into(),
        parity: match (options.has_parity, options.of_planes) {
            (false, _) => "none".into(),
            (true, false) => "1/4".into(),
            (true, true) => format!("1/{}", options.dies * options.planes),
        },
        program: match options.pages {
            1 => "page".into(),
            pages if options.seed.is_multiple_of(2) => format!("two-pass:pages={pages}"),
            pages => format!("one-shot:pages={pages}"),
        },
        power_protection: options.is_protected,
        spare: options.spare,
        mapping: if options.on_flash {
            format!("dftl:entries={},per_page=64", if options.map_fits { 4096 } else { 64 })
        } else {
            "page".into()
        },
        victim: options.victim.into(),
        frontier: "pool:low=2".into(),
        allocation: options.allocation.into(),
        wear_levelling: options.levels.then(|| "static:threshold=8,interval=4".into()),
        placement: options.placement.into(),
        fill: "empty".into(),
        workload: path.to_str().unwrap().into(),
        flush_every: options.flush_every,
        streams: (options.streams == Streams::Ranges).then(|| ranges.to_str().unwrap().into()),
        warmup: "0".into(),
        length: options.length.map_or(Length::Passes(2), Length::Requests),
        seed: options.seed,
        host: options.is_cached.then(|| HostConfig {
            cache: "buffer-cache:size=400KiB,checkpoint=0s,pages=0".into(),
            ..HostConfig::default()
        }),
        ..RunConfig::default()
    }
}

/// Returns the options by which the trace is cut into pages.
fn paging(options: &Options) -> PagingOptions {
    let paging = if options.rounds { Paging::Rounded } else { Paging::Covered };
    let numbering = Some(options.numbering);
    PagingOptions { paging, numbering, ..PagingOptions::default() }
}

/// Returns the resolved run of a counting drive, or the reason why there is none.
fn counting(config: &RunConfig, path: &Path, options: &Options) -> Result<Resolved, String> {
    let source = SourceOptions { paging: paging(options), ..SourceOptions::default() };
    let replay =
        TraceReplay::load(path, source, |_| config.pages_per_block.unwrap(), |_| true).unwrap();
    let source: Arc<dyn Source> = Arc::new(replay);
    Resolved::new(config, source, None).map_err(|error| error.to_string())
}

/// Returns the resolved run of a drive with a clock and one die, which is idle between requests.
fn timed(config: &RunConfig, path: &Path, options: &Options) -> Result<Resolved, String> {
    let clock = TimedConfig {
        arrivals: Some("closed:threads=1,think=1s".into()),
        gc_low: "2".into(),
        dies: if options.placement == GROUPS { 2 * options.dies } else { options.dies },
        planes: options.planes,
        ..TimedConfig::default()
    };
    let config = RunConfig {
        superblock: match options.dies {
            1 => "die".into(),
            _ => config.superblock.clone(),
        },
        frontier: RunConfig::default().frontier,
        times: Some(match config.program.starts_with("two-pass") {
            true => "read=25us,program=200us+300us,erase=1.5ms,transfer=10us".into(),
            false => "read=25us,program=200us,erase=1.5ms,transfer=10us".into(),
        }),
        timed: Some(clock),
        ..config.clone()
    };
    let read = ReadOptions::default();
    let trace = TimedTrace::load(path, &read, paging(options), |_| true).unwrap();
    let requests = Requests::Trace(Box::new(trace));
    let source: Arc<dyn Source> = Arc::new(TimedSource::new(config.workload.clone(), requests));
    Resolved::new(&config, source, None).map_err(|error| error.to_string())
}

pub fn run(resolved: Resolved) -> RunResult {
    simulate(&[resolved], 1, &Control::default(), &mut || {}, &|_, _| (), None).unwrap().remove(0)
}

/// Returns everything that drives with the same decisions have in common.
fn facts(result: &RunResult) -> String {
    let RunResult { counters, levelling, wear, zombies, streams, fdp, map, .. } = result;
    let map_traffic = &map.map_traffic;
    let of_stream =
        |one: &StreamResult| (one.stream, one.counts.host_pages, one.counts.copied_pages);
    // The drive with a clock also lists the response times of streams that were only read.
    let wrote = |one: &&StreamResult| one.counts.host_pages + one.counts.copied_pages > 0;
    let streams: Option<Vec<_>> =
        streams.as_ref().map(|streams| streams.iter().filter(wrote).map(of_stream).collect());
    format!(
        "{:?} {counters:?}\n{levelling:?}\n{wear:?}\n{zombies:?}\n{streams:?}\n{fdp:?}\n{map_traffic:?}\n\
         short {} reads {}",
        result.decisions, result.short_writes, result.reads
    )
}

/// Returns the report of a stored drive of this layout after `requests`.
fn stored(resolved: &Resolved, requests: &[Request]) -> flashgc_device::Report {
    let (layout, victim) = resolved.kept().unwrap();
    let streams = resolved.streams.clone();
    let (members, pages_per_program) = resolved.members();
    let parity = Parity::new(members, pages_per_program);
    let durability = Durability::None;
    let settings = Settings { layout, victim, journal_blocks: 16, durability, streams, parity };
    let mut media = MemMedia::new(settings.file_bytes().unwrap());
    Drive::create(&mut media, &settings, *b"a drive of tests").unwrap();
    let mut drive = Bytes::new(Drive::open(Box::new(media), &settings).unwrap());
    for request in requests {
        let (at, bytes) = (request.offset as u64, request.size);
        match request.op {
            Op::Write => {
                drive.write(at, &vec![7; bytes as usize], WriteStreams(&[request.stream])).unwrap();
            }
            Op::Read => drop(drive.read(at, bytes as usize).unwrap()),
            Op::Trim => drive.trim(at, bytes).unwrap(),
            Op::Flush => drive.drive().flush().unwrap(),
            Op::Dirty | Op::Clean => {
                let first = at / PAGE;
                let count = (at + bytes).div_ceil(PAGE) - first;
                match request.op {
                    Op::Dirty => drop(drive.drive().hint(first, count, None).unwrap()),
                    _ => drive.drive().cancel(first, count).unwrap(),
                }
            }
        }
    }
    drive.drive().stat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_request_is_the_same_on_all_drives(drawn in requests(), options in options()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive.flashgc");
        let requests = record(&path, &drawn, &options);
        let config = config(&path, &options);
        let (counting, timed) = (counting(&config, &path, &options), timed(&config, &path, &options));
        let (counting, timed) = match (counting, timed) {
            (Ok(counting), Ok(timed)) => (counting, timed),
            (Err(_), Err(_)) => return Ok(()),
            (counting, timed) => {
                let [one, other] = [counting, timed].map(|it| it.map(drop));
                return Err(TestCaseError::fail(format!("counting {one:?}, timed {other:?}")));
            }
        };
        prop_assert_eq!(counting.geometry, timed.geometry);
        let kept = counting.clone();
        let (counting, timed) = (run(counting), run(timed));
        let (found, expected) = (facts(&timed), facts(&counting));
        prop_assert_eq!(found, expected);
        if options.numbering == Numbering::Given && options.units == 1
            && (options.together() == 1 || options.is_protected) && !options.on_flash
            && options.length.is_none() && !options.is_cached && !(options.has_parity && options.of_planes)
            && (options.streams != Streams::Trace || config.host_names_streams())
        {
            let stat = stored(&kept, &[requests.clone(), requests].concat());
            prop_assert_eq!(stat.counters, *counting.counters);
            prop_assert_eq!(vec![stat.decisions], counting.decisions);
        }
    }
}
