//! The speed of the counting drive, against the speed of light: a bare loop that does only the
//! memory accesses that no page-mapped simulator can avoid, measured in the same run.
//!
//! `cargo bench -p flashgc-drive --bench speed` runs it; `-- --smoke` runs a size that takes a
//! second; `-- --pages 26 --block 1024` picks the drive (log2 of its logical pages, pages a block)
//! and `-- --victim greedy --victim bsgc:ratio=live` the policies, `-- --placement dac` the
//! placement on the pool frontier. Policies that ask for hints learn a quarter of the pages ahead.

mod bare;

use std::time::Instant;

use bare::{Bare, median, writes_with_copies};
use flashgc_base::counts::Counts;
use flashgc_base::rng::Stream;
use flashgc_drive::counting::CountingDrive;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_ftl::{
    Allocation, Fill, Frontier, Geometry, Layout, PageBuffer, PlacementSpec, VictimSpec,
};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::trace::{
    Kinds, OutputFormat, Replay, Request, SourceOptions, TraceSource, TraceWriter,
};
use flashgc_workload::{Batch, Op, Workload};

/// The spare factor for 28% over-provisioning.
const SPARE: f64 = 1.0 - 1.0 / 1.28;
const BATCH: usize = Batch::DEFAULT_LEN;

/// The policies whose speed is compared with the bare loop.
const USUAL: &[&str] = &["d-choices:d=10", "d-choices:d=9,c=1", "greedy", "fifo"];
/// The policies that weigh age and wear, beside greedy.
const AGED: &[&str] = &[
    "greedy",
    "cost-benefit",
    "cost-benefit:age=last_invalidate",
    "cat",
    "sagc",
    "scata",
    "eigc",
    "bsgc",
    "wear-aware",
    "z-greedy",
    "z-cost-benefit",
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| -> Option<u32> {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse().ok()
    };
    let smoke = arguments.iter().any(|argument| argument == "--smoke");
    let chosen: Vec<&str> =
        arguments.windows(2).filter(|pair| pair[0] == "--victim").map(|pair| &*pair[1]).collect();
    let of = |default: &'static [&'static str]| {
        if chosen.is_empty() { default.to_vec() } else { chosen.clone() }
    };
    let sizes: Vec<(u32, u32, Vec<&str>)> = match (value("--pages"), value("--block"), smoke) {
        (Some(pages), Some(block), _) => vec![(pages, block, of(USUAL))],
        (_, _, true) => vec![(16, 64, of([USUAL, AGED].concat().leak()))],
        _ => vec![(20, 256, of(USUAL)), (26, 1024, of(USUAL)), (24, 256, of(AGED))],
    };
    let placement = arguments.iter().position(|argument| argument == "--placement");
    let placement = placement.and_then(|at| arguments.get(at + 1)).map_or("none", |spec| spec);
    let placement = PlacementSpec::parse(placement).expect("a registered placement");
    let rounds = if smoke { 1 } else { value("--rounds").unwrap_or(5) as usize };
    for (log_pages, pages_per_block, victims) in sizes {
        measure(log_pages, pages_per_block, &victims, &placement, rounds, smoke);
    }
}

/// One contestant: its name, and a closure that runs for about `pages` host writes and returns
/// (programs, seconds, host pages).
type Contestant = (String, Box<dyn FnMut() -> (u64, f64, u64)>);

fn measure(
    log_pages: u32,
    pages_per_block: u32,
    victims: &[&str],
    placement: &PlacementSpec,
    rounds: usize,
    smoke: bool,
) {
    let logical = 1u64 << log_pages;
    let geometry = Geometry::for_logical_pages(logical, pages_per_block, SPARE)
        .expect("the sizes above are valid");
    let writes = if smoke { 1 << 16 } else { (logical / 2).max(1 << 25) };
    println!(
        "2^{log_pages} logical pages, {pages_per_block} a block, {:.1}% over-provisioning",
        geometry.overprovision() * 100.0
    );
    let mut bare = Bare::new(&geometry);
    let mut contestants: Vec<Contestant> = Vec::new();
    for &spec in victims {
        contestants.push((spec.to_string(), engine(spec, placement, &geometry, writes)));
    }
    if log_pages <= 22 && victims.contains(&"d-choices:d=10") {
        for kinds in [Kinds::Changes, Kinds::All] {
            let name = format!("replay, {kinds:?}").to_lowercase();
            contestants.push((name, replay(&geometry, writes, kinds)));
        }
    }
    let (mut write_rates, mut copy_rates) = (Vec::new(), Vec::new());
    let mut rates = vec![Vec::new(); contestants.len()];
    let mut amplification = vec![0.0; contestants.len()];
    for _ in 0..rounds {
        write_rates.push(bare.writes(writes));
        copy_rates.push(bare.copies(writes));
        for (index, (_, run)) in contestants.iter_mut().enumerate() {
            let (programs, seconds, host) = run();
            rates[index].push(programs as f64 / seconds);
            amplification[index] = programs as f64 / host as f64;
        }
    }
    let (write_rate, copy_rate) = (median(&mut write_rates), median(&mut copy_rates));
    println!(
        "  bare loop: {:.0} M host writes/s, {:.0} M copies/s",
        write_rate / 1e6,
        copy_rate / 1e6
    );
    for (index, (name, _)) in contestants.iter().enumerate() {
        let wa = amplification[index];
        let limit = wa * writes_with_copies(write_rate, copy_rate, wa - 1.0);
        let rate = median(&mut rates[index]);
        println!(
            "  {name:<20} WA {wa:.3}  {:6.1} M programs/s  limit {:6.1}  ratio {:.2}",
            rate / 1e6,
            limit / 1e6,
            rate / limit
        );
    }
}

fn engine(
    spec: &str,
    placement: &PlacementSpec,
    geometry: &Geometry,
    writes: u64,
) -> Box<dyn FnMut() -> (u64, f64, u64)> {
    let pool = Frontier::Pool { low: 2 };
    let layout = Layout {
        geometry: *geometry,
        frontier: if placement.is_none() { Frontier::Single } else { pool },
        placement: placement.clone(),
        streams: false,
        buffer: PageBuffer::default(),
        allocation: Allocation::default(),
        levelling: None,
        slc: None,
        lifespan: None,
        fill: Fill::Random,
        seed: 1,
    };
    let mut layer =
        VictimSpec::parse(spec).expect("a registered policy").build(layout).expect("memory");
    let pages = geometry.logical_pages();
    let mut workload: Box<dyn Workload> =
        GeneratorSpec::parse("uniform").expect("a generator").open(pages, 1).expect("a workload");
    let mut batch = Batch::default();
    let mut settled = false;
    let hints = layer.counts().zombies.is_some();
    Box::new(move || {
        let mut run = |writes: u64| {
            let before = layer.counters();
            let start = Instant::now();
            for _ in 0..writes / BATCH as u64 {
                workload.fill(&mut batch, BATCH).expect("generators do not fail");
                if hints {
                    layer
                        .hints()
                        .expect("zombies are kept")
                        .hint(&batch.pages[BATCH - BATCH / 4..])
                        .expect("pages of the drive");
                }
                layer.write(&batch.pages).expect("there is room");
            }
            let seconds = start.elapsed().as_secs_f64();
            let counted = layer.counters().since(&before);
            (counted.programs(), seconds, counted.host_pages)
        };
        if !settled {
            run(3 * u64::from(pages));
            settled = true;
        }
        run(writes)
    })
}

/// Returns a replay of a trace on a drive with d-choices:d=10. The trace has uniform writes, and
/// with `Kinds::All` as many reads between them. It is decoded before the time is measured.
fn replay(geometry: &Geometry, writes: u64, kinds: Kinds) -> Box<dyn FnMut() -> (u64, f64, u64)> {
    let pages = geometry.logical_pages();
    let path = std::env::temp_dir().join(format!("flashgc-speed-{}.fgt", std::process::id()));
    let mut writer = TraceWriter::create(&path, Some(OutputFormat::Native)).expect("a file");
    let mut stream = Stream::new(1, "replay");
    let mut requests = Vec::new();
    for page in 0..pages * 8 {
        // The first pass names every page, so that the trace addresses all of them.
        let number = if page < pages { page } else { stream.below(pages) };
        let op = if kinds == Kinds::All && stream.below(2) == 0 && page >= pages {
            Op::Read
        } else {
            Op::Write
        };
        let offset = i64::from(number) * 4096;
        requests.push(Request {
            time_ns: page.into(),
            op,
            offset,
            size: 4096,
            ..Request::default()
        });
    }
    writer.write(&requests).and_then(|()| writer.finish()).expect("a trace");
    let options = SourceOptions { kinds, ..SourceOptions::default() };
    let source = TraceSource::load(&path, options).expect("the trace just written");
    std::fs::remove_file(&path).expect("the file just written");
    let workload = source.open(pages, Replay::Endless).expect("a replay");
    let layout = Layout { fill: Fill::Random, seed: 1, ..Layout::new(*geometry) };
    let layer = VictimSpec::parse("d-choices:d=10").expect("registered").build(layout);
    let mut drive =
        CountingDrive::new(layer.expect("memory"), Box::new(workload), Batch::DEFAULT_LEN);
    let mut settled = false;
    Box::new(move || {
        let mut run = |writes: u64| {
            let before = drive.layer().counters();
            let target = Extent { unit: Unit::Writes, amount: before.host_pages + writes };
            let start = Instant::now();
            while drive.step(target).expect("there is room") {}
            let seconds = start.elapsed().as_secs_f64();
            let counted = drive.layer().counters().since(&before);
            (counted.programs(), seconds, counted.host_pages)
        };
        if !settled {
            run(3 * u64::from(pages));
            settled = true;
        }
        run(writes)
    })
}
