//! Generators, mixtures, requests and replays continue in the same way after they were saved and
//! restored into new objects.

use crate::generate_common::spec;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_workload::generate::generators;
use flashgc_workload::requests::{
    Arrivals, RequestStream, Requests, Space, TimedTrace, disksim::DiskSim,
};
use flashgc_workload::trace::{
    Declared, Fields, PagesOptions, PagingOptions, ReadOptions, Replay, Request, SourceOptions,
    TraceSource, TraceWriter,
};
use flashgc_workload::{Batch, Flushing, FlushingRequests, Op, Workload};

fn saved(state: &(impl State + ?Sized)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut to = Writer::new(&mut bytes);
    state.save(&mut to);
    to.finish().unwrap();
    bytes
}

fn restore(state: &mut (impl State + ?Sized), bytes: &[u8]) -> Result<(), Fault> {
    let mut source = bytes;
    let mut from = Reader::new(&mut source, bytes.len() as u64);
    state.restore(&mut from)?;
    from.end()
}

/// Draws batches of odd sizes from `one` and saves it. Restores the state into `other`, and
/// compares the next commands of both.
fn goes_on(what: &str, seed: u64, one: &mut dyn Workload, other: &mut dyn Workload) {
    let mut limits = Stream::new(seed, what);
    let (mut batch, mut again) = (Batch::default(), Batch::default());
    for _ in 0..limits.below(40) {
        one.fill(&mut batch, 1 + limits.below(1500) as usize).unwrap();
    }
    restore(other, &saved(one)).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    for _ in 0..30 {
        let limit = 1 + limits.below(1500) as usize;
        one.fill(&mut batch, limit).unwrap();
        other.fill(&mut again, limit).unwrap();
        assert_eq!(
            (&batch.pages, &batch.ops, &batch.hints, &batch.short, &batch.flushes, &batch.streams),
            (&again.pages, &again.ops, &again.hints, &again.short, &again.flushes, &again.streams),
            "{what}"
        );
    }
    assert!(saved(one) == saved(other), "{what}: other bytes");
}

#[test]
fn every_generator_and_mixture_goes_on_alike() {
    let mut specs: Vec<String> = [
        "uniform:read=0.3,trim=0.01",
        "zipf:theta=1.3,scatter=no,read=0.5",
        "classes:pages=10/20/70,shares=60/30/10,run=64,burst=3",
        "windows:pages=10/20/70,shares=60/30/10,active=0.05,period=5000,region=16",
        "phases:set=0.1,length=700,keep=0.3,read=0.4",
        "0.2*uniform:read=1 + 0.3*skew:h=10 + 0.5*normal",
        "0.5*tpcc:warehouses=1,page=64MiB + 0.5*uniform:read=0.2",
        "uniform:read=0.4,stream=3,from=0.2",
        "0.5*sequential:to=0.3,stream=0 + 0.5*zipf:from=0.3,stream=1",
        "0.3*sequential:size=1KiB:1/64KiB:1,trim=0.1 + 0.7*uniform:size=3KiB-30KiB,read=0.2",
    ]
    .map(str::to_string)
    .to_vec();
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("counts.csv");
    let rows = (0..5000).map(|page| format!("{},{}\n", 4096 * page, 1 + page % 7));
    let table = format!("LBA,Frequency\n{}", rows.collect::<String>());
    std::fs::write(&counts, table).unwrap();
    for info in generators() {
        specs.push(match info.name {
            "frequency" => format!("frequency:path={}", counts.display()),
            "classes" => "classes:pages=1/2,shares=2/1".to_string(),
            "tpcc" => "tpcc:warehouses=1,page=64MiB".to_string(),
            "zipf" => "zipf:theta=0.99".to_string(),
            "hotcold" => "hotcold:f=0.3,r=0.9".to_string(),
            "skew" => "skew:h=20".to_string(),
            name => name.to_string(),
        });
    }
    for text in specs {
        for seed in 0..5 {
            let make = || {
                let spec = spec(&text);
                let pages = spec.fixed_pages().unwrap_or(5000);
                spec.open_sized(pages, 4096, 4096, seed)
                    .unwrap_or_else(|error| panic!("{text}: {error}"))
            };
            goes_on(&text, seed, &mut *make(), &mut *make());
        }
    }
}

#[test]
fn generators_of_smaller_and_larger_requests_go_on_alike() {
    for text in [
        "uniform:read=0.3,trim=0.1",
        "zipf:theta=1.1",
        "0.5*sequential + 0.5*normal:read=1",
        "0.5*sequential:stream=4 + 0.5*normal:read=0.1,stream=2",
    ] {
        for (seed, request) in [(1, 512), (2, 1024), (3, 8192), (4, 12 * 4096)] {
            let make = || spec(text).open_sized(5000, 4096, request, seed).unwrap();
            goes_on(&format!("{text} in {request}"), seed, &mut *make(), &mut *make());
        }
    }
}

#[test]
fn flushing_goes_on_alike() {
    for (seed, every) in [(1, 1), (2, 7), (3, 1000), (4, 100_000)] {
        for text in ["uniform", "uniform:read=0.3,trim=0.1"] {
            let make = || Flushing::new(spec(text).open(5000, seed).unwrap(), every);
            goes_on(&format!("{text}, {every}"), seed, &mut make(), &mut make());
        }
        let source = Requests::parse("disksim:urgent=0.2").unwrap();
        let space = Space { logical_pages: 300, page_size: 4096, request_size: 4096 };
        let stream = || source.open(space, seed, None, 1.0, None).unwrap();
        let make = || FlushingRequests::new(stream(), every, 4096);
        requests_go_on(&mut make(), &mut make());
    }
}

/// Draws requests from `one` and saves it. Restores the state into `other`, and compares the next
/// requests of both.
fn requests_go_on(one: &mut dyn RequestStream, other: &mut dyn RequestStream) {
    let (mut batch, mut again) = (Vec::new(), Vec::new());
    for limit in [1, 7, 500, 30] {
        one.fill(&mut batch, limit).unwrap();
    }
    restore(other, &saved(one)).unwrap();
    for limit in [3, 900, 1] {
        one.fill(&mut batch, limit).unwrap();
        other.fill(&mut again, limit).unwrap();
        assert_eq!(batch, again);
    }
}

fn requests(count: u64) -> Vec<Request> {
    let mut stream = Stream::new(2, "requests");
    let mut one = |time| {
        let ops = [Op::Write, Op::Write, Op::Read, Op::Trim, Op::Dirty, Op::Clean, Op::Flush];
        match ops[stream.below(7) as usize] {
            Op::Flush => Request::flush(1000 * time, 0),
            op => Request {
                time_ns: 1000 * time,
                offset: 512 * i64::from(stream.below(2400)),
                size: 512 * u64::from(1 + stream.below(32)),
                op,
                stream: stream.below(256) as u8,
                ..Request::default()
            },
        }
    };
    (0..count).map(&mut one).collect()
}

fn save_trace(folder: &tempfile::TempDir, requests: &[Request]) -> std::path::PathBuf {
    let path = folder.path().join("trace.csv.gz");
    let declared = Declared { fields: Fields::STREAM, ..Declared::default() };
    let mut writer =
        TraceWriter::create_with(&path, None, PagesOptions::default(), declared).unwrap();
    writer.write(requests).unwrap();
    writer.finish().unwrap();
    path
}

#[test]
fn a_replay_goes_on_alike_from_memory_and_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = save_trace(&folder, &requests(4000));
    for memory_limit in [SourceOptions::MEMORY_LIMIT, 1] {
        let read = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
        let options = SourceOptions { memory_limit, read, ..SourceOptions::default() };
        let source = TraceSource::load(&path, options).unwrap();
        assert_eq!(source.in_memory(), memory_limit > 1);
        for seed in 0..20 {
            let make = || source.open(source.logical_pages(7), Replay::Endless).unwrap();
            goes_on("replay", seed, &mut make(), &mut make());
        }
    }
}

#[test]
fn a_shorter_trace_is_a_fault() {
    let folder = tempfile::tempdir().unwrap();
    let path = save_trace(&folder, &requests(4000));
    let options = SourceOptions { memory_limit: 1, ..SourceOptions::default() };
    let source = TraceSource::load(&path, options.clone()).unwrap();
    let make = || source.open(source.logical_pages(7), Replay::Endless).unwrap();
    let (mut one, mut other) = (make(), make());
    one.fill(&mut Batch::default(), 5000).unwrap();
    save_trace(&folder, &requests(1000));
    let fault = restore(&mut other, &saved(&one)).unwrap_err().to_string();
    assert!(fault.ends_with("the trace is shorter"), "{fault}");
}

#[test]
fn requests_with_times_go_on_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = save_trace(&folder, &requests(900));
    let read = ReadOptions::default();
    let trace = TimedTrace::load(&path, &read, PagingOptions::default(), |_| true).unwrap();
    let sources = [
        Requests::Pages(spec("0.5*uniform:read=0.5 + 0.5*sequential")),
        Requests::DiskSim(DiskSim::parse("disksim:urgent=0.2").unwrap()),
        Requests::Trace(Box::new(trace)),
    ];
    let arrivals = ["poisson:mean=3ms", "bursts:rate=50000,on=2ms,off=8ms", "closed:threads=8"];
    let space = Space { logical_pages: 300, page_size: 4096, request_size: 4096 };
    for source in &sources {
        for arrivals in arrivals.map(|text| Arrivals::parse(text).unwrap()) {
            let make = || source.open(space, 3, Some(&arrivals), 1.0, None).unwrap();
            requests_go_on(&mut *make(), &mut *make());
        }
    }
}
