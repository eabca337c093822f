//! The speed of the counting drive, against the speed of light: a bare loop that does only the
//! memory accesses that no page-mapped simulator can avoid, measured in the same run.
//!
//! `cargo bench -p flashgc-drive --bench speed` runs it; `-- --smoke` runs a size that takes a
//! second; `-- --pages 26 --block 1024` picks the drive (log2 of its logical pages, pages a block),
//! `-- --victim greedy --victim bsgc:ratio=live` the policies, and `-- --placement dac` placements
//! on the pool frontier, each with each policy; `-- --couples` takes all of both. Policies that ask
//! for hints learn a quarter of the pages ahead.
//!
//! The limit of a placement has what it keeps of a page beside the maps, in words of 64 bits: a
//! host write reads and writes them, a copy reads them.

mod bare;

use std::collections::BTreeMap;
use std::time::Instant;

use bare::{Bare, median, writes_with_copies};
use flashgc_base::counts::Counts;
use flashgc_base::rng::Stream;
use flashgc_drive::counting::CountingDrive;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_ftl::{
    Allocation, Fill, Frontier, Geometry, Layout, PageBuffer, PlacementSpec, VictimSpec,
    placement_policies, victim_policies,
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

/// A drive to measure: log2 of its logical pages, the pages of a block, and the couples of a victim
/// policy and a placement.
struct Drive {
    log_pages: u32,
    pages_per_block: u32,
    couples: Vec<(String, PlacementSpec)>,
    has_replays: bool,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let values = |name: &str| -> Vec<String> {
        arguments.windows(2).filter(|pair| pair[0] == name).map(|pair| pair[1].clone()).collect()
    };
    let number = |name: &str| values(name).first().and_then(|value| value.parse::<u32>().ok());
    let smoke = has("--smoke");
    let (mut victims, mut placements) = (values("--victim"), values("--placement"));
    let is_free = victims.is_empty() && placements.is_empty() && !has("--couples");
    if has("--couples") {
        victims = victim_policies().iter().map(|info| info.name.to_string()).collect();
        placements = placement_names();
    }
    let couples = |victims: &[String], placements: &[String]| -> Vec<(String, PlacementSpec)> {
        let placements = placements
            .iter()
            .map(|placement| PlacementSpec::parse(placement).expect("a registered placement"));
        let with = |placement: PlacementSpec| {
            victims.iter().map(move |victim| (victim.clone(), placement.clone()))
        };
        placements.flat_map(with).collect()
    };
    let named = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let none = named(&["none"]);
    let drive = |log_pages, pages_per_block, couples| Drive {
        log_pages,
        pages_per_block,
        couples,
        has_replays: is_free && log_pages <= 22,
    };
    let chosen = |default: &[&str]| {
        let victims = if victims.is_empty() { named(default) } else { victims.clone() };
        let placements = if placements.is_empty() { none.clone() } else { placements.clone() };
        couples(&victims, &placements)
    };
    let with_placements = || {
        let mut all = couples(&named(&[USUAL, &AGED[1..]].concat()), &none);
        all.extend(couples(&named(&["greedy"]), &placement_names()[1..]));
        all.extend(couples(&named(&["cost-benefit"]), &named(&["dac", "sepbit"])));
        all
    };
    let drives = match (number("--pages"), number("--block"), smoke) {
        (Some(pages), Some(block), _) => vec![drive(pages, block, chosen(USUAL))],
        (_, _, true) => vec![drive(16, 64, with_placements())],
        _ if !is_free => vec![drive(20, 256, chosen(USUAL))],
        _ => vec![
            drive(20, 256, with_placements()),
            drive(26, 1024, couples(&named(USUAL), &none)),
            drive(24, 256, couples(&named(AGED), &none)),
        ],
    };
    let rounds = if smoke { 1 } else { number("--rounds").unwrap_or(3) as usize };
    for drive in drives {
        measure(&drive, rounds, smoke);
    }
}

/// The placements that need no future, "none" first.
fn placement_names() -> Vec<String> {
    let known = placement_policies().iter().filter(|info| !info.needs_future);
    known.map(|info| info.name.to_string()).collect()
}

/// Words of 64 bits that `placement` keeps of a page, rounded up: 0, 1, 2 or 4.
fn words(placement: &PlacementSpec) -> usize {
    let info = placement_policies().iter().find(|info| info.name == placement.name());
    match info.map_or(0.0, |info| info.bytes_a_page()) {
        bytes if bytes < 1.0 => 0,
        bytes if bytes < 9.0 => 1,
        bytes if bytes < 24.0 => 2,
        _ => 4,
    }
}

/// A drive to run.
struct Contestant {
    name: String,
    words: usize,
    /// Runs for about as many host writes as it was made for, and returns (programs, seconds, host
    /// pages).
    run: Box<dyn FnMut() -> (u64, f64, u64)>,
}

fn measure(drive: &Drive, rounds: usize, smoke: bool) {
    let logical = 1u64 << drive.log_pages;
    let geometry = Geometry::for_logical_pages(logical, drive.pages_per_block, SPARE)
        .expect("the sizes above are valid");
    let writes = if smoke { 1 << 16 } else { (logical / 2).max(1 << 24) };
    println!(
        "2^{} logical pages, {} a block, {:.1}% over-provisioning, {rounds} rounds",
        drive.log_pages,
        drive.pages_per_block,
        geometry.overprovision() * 100.0
    );
    let new = |name: String, words, run| Contestant { name, words, run };
    let made = drive.couples.iter().map(|(victim, placement)| {
        let run = engine(victim, placement, &geometry, writes);
        let name = match placement.is_none() {
            true => victim.clone(),
            false => format!("{victim}, {}", placement.name()),
        };
        new(name, words(placement), run)
    });
    // A drive is made when its turn comes and dropped after it, so that one at a time has memory.
    let replays = [Kinds::Changes, Kinds::All].into_iter().filter(|_| drive.has_replays);
    let replays = replays.map(|kinds| {
        let name = format!("replay, {kinds:?}").to_lowercase();
        new(name, 0, replay(&geometry, writes, kinds))
    });
    let mut loops: BTreeMap<usize, Bare> = BTreeMap::new();
    let mut bares: BTreeMap<usize, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    println!("  {:<34} {:>6} {:>14} {:>8} {:>7}", "", "ratio", "M programs/s", "limit", "WA");
    for Contestant { name, words, mut run } in made.chain(replays) {
        let bare = loops.entry(words).or_insert_with(|| Bare::new(&geometry, words));
        let (of_writes, of_copies) = bares.entry(words).or_default();
        let (mut rates, mut limits, mut ratios) = (vec![], vec![], vec![]);
        let mut amplification = 0.0;
        for _ in 0..rounds {
            // The loop runs beside each measurement, because the speed of a machine drifts.
            let (write_rate, copy_rate) = (bare.writes(writes), bare.copies(writes));
            let (programs, seconds, host) = run();
            let rate = programs as f64 / seconds;
            amplification = programs as f64 / host as f64;
            let limit =
                amplification * writes_with_copies(write_rate, copy_rate, amplification - 1.0);
            of_writes.push(write_rate);
            of_copies.push(copy_rate);
            rates.push(rate);
            limits.push(limit);
            ratios.push(rate / limit);
        }
        println!(
            "  {name:<34} {:>6.2} {:>14.1} {:>8.1} {amplification:>7.3}",
            median(&mut ratios),
            median(&mut rates) / 1e6,
            median(&mut limits) / 1e6
        );
    }
    for (words, (of_writes, of_copies)) in &mut bares {
        println!(
            "  bare loop, {words} words a page: {:.0} M host writes/s, {:.0} M copies/s",
            median(of_writes) / 1e6,
            median(of_copies) / 1e6
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
        streams: placement.needs_streams(),
        buffer: PageBuffer::default(),
        blocks_together: 1,
        shrinking: None,
        die_by_die: None,
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
