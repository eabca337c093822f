//! How fast the counting drive is, against the speed of light: a bare loop that does only the
//! memory accesses that no page-mapped simulator can avoid, measured in the same run.
//!
//! `cargo bench -p flashgc-drive --bench speed` runs it; `-- --smoke` runs a size that takes a
//! second; `-- --pages 26 --block 1024` picks the drive (log2 of its logical pages, pages a block) and
//! `-- --victim greedy --victim bsgc:ratio=live` the policies, `-- --placement dac` the placement on
//! the pool frontier. Policies that ask for hints are told of a quarter of the pages ahead.

use std::hint::black_box;
use std::time::Instant;

use flashgc_drive::counting::CountingDrive;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_ftl::rng::Stream;
use flashgc_ftl::{Allocation, Fill, Frontier, Geometry, Layout, PlacementSpec, VictimSpec};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::trace::{
    Kinds, OutputFormat, Replay, Request, SourceOptions, TraceSource, TraceWriter,
};
use flashgc_workload::{Batch, Op, Workload};
use memmap2::MmapMut;

/// Logical over physical pages for 28% over-provisioning.
const SPARE: f64 = 1.0 - 1.0 / 1.28;
/// How far ahead the bare loop fetches, in pages; the best of 16 to 96 where it was tried.
const AHEAD: usize = 48;
const BATCH: usize = Batch::DEFAULT_LEN;

/// The policies whose speed is compared with the bare loop.
const USUAL: &[&str] = &["d-choices:d=10", "d-choices:d=9,c=1", "greedy", "fifo"];
/// Those that weigh age and wear, beside greedy.
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
        let limit = wa / (1.0 / write_rate + (wa - 1.0) / copy_rate);
        let rate = median(&mut rates[index]);
        println!(
            "  {name:<20} WA {wa:.3}  {:6.1} M programs/s  limit {:6.1}  ratio {:.2}",
            rate / 1e6,
            limit / 1e6,
            rate / limit
        );
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
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
        allocation: Allocation::default(),
        levelling: None,
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
    let hints = layer.zombies().is_some();
    Box::new(move || {
        let mut run = |writes: u64| {
            let before = layer.counters();
            let start = Instant::now();
            for _ in 0..writes / BATCH as u64 {
                workload.fill(&mut batch, BATCH).expect("generators do not fail");
                if hints {
                    layer.hint(&batch.pages[BATCH - BATCH / 4..]).expect("pages of the drive");
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

/// A trace of uniform writes, and with `Kinds::All` as many reads between them, decoded before the
/// clock runs, on a drive with d-choices:d=10.
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
        requests.push(Request { time_ns: page.into(), op, offset, size: 4096, device: 0 });
    }
    writer.write(&requests).and_then(|()| writer.finish()).expect("a trace");
    let options = SourceOptions { kinds, ..SourceOptions::default() };
    let source = TraceSource::load(&path, options).expect("the trace just written");
    std::fs::remove_file(&path).expect("the file just written");
    let workload = source.open(pages, Replay::Endless).expect("a replay");
    let layout = Layout {
        geometry: *geometry,
        frontier: Frontier::Single,
        placement: PlacementSpec::default(),
        allocation: Allocation::default(),
        levelling: None,
        lifespan: None,
        fill: Fill::Random,
        seed: 1,
    };
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

/// The bare loop: per host write, read and write the map, lower the old block's count, write the
/// reverse map; per copy, read the reverse map, check it against the map, write both. It looks
/// ahead and uses huge pages, and simulates nothing.
struct Bare {
    map: &'static mut [u32],
    reverse: &'static mut [u32],
    counts: Vec<u16>,
    pages: Vec<u32>,
    shift: u32,
    next: usize,
}

impl Bare {
    fn new(geometry: &Geometry) -> Self {
        let physical = geometry.physical_pages() as usize;
        let logical = geometry.logical_pages();
        let (map, reverse) = (table(logical as usize), table(physical));
        let mut stream = Stream::new(1, "bare");
        for page in 0..logical {
            map[page as usize] = page;
        }
        for entry in reverse.iter_mut() {
            *entry = stream.below(logical);
        }
        // Enough random pages that the loop does not learn them, few enough to stay in cache.
        let pages = (0..1 << 15).map(|_| stream.below(logical)).collect();
        let shift = geometry.pages_per_block().trailing_zeros();
        Self {
            map,
            reverse,
            counts: vec![0; geometry.blocks() as usize + 1],
            pages,
            shift,
            next: 0,
        }
    }

    /// Host writes a second.
    fn writes(&mut self, count: u64) -> f64 {
        // The random pages shift by a constant a round, so that every map entry is visited.
        let logical = self.map.len() as u32;
        let mut salt = 0u32;
        let mut batch = vec![0u32; BATCH];
        let mut seconds = 0.0;
        for round in 0..count as usize / BATCH {
            salt = salt.wrapping_add(0x9e37_79b9);
            let from = round * BATCH % (self.pages.len() - BATCH);
            for (page, source) in batch.iter_mut().zip(&self.pages[from..]) {
                *page = ((u64::from(source.wrapping_mul(0x85eb_ca6b).wrapping_add(salt))
                    * u64::from(logical))
                    >> 32) as u32;
            }
            let start = Instant::now();
            self.write_batch(&batch);
            seconds += start.elapsed().as_secs_f64();
        }
        (count as usize / BATCH * BATCH) as f64 / seconds
    }

    #[inline(never)]
    fn write_batch(&mut self, batch: &[u32]) {
        if self.next + batch.len() > self.reverse.len() {
            self.next = 0;
        }
        let place = &mut self.reverse[self.next..self.next + batch.len()];
        for (index, (&page, place)) in batch.iter().zip(place).enumerate() {
            if let Some(&ahead) = batch.get(index + AHEAD) {
                prefetch(self.map, ahead as usize);
            }
            let entry = &mut self.map[page as usize];
            let old = std::mem::replace(entry, (self.next + index) as u32);
            let count = &mut self.counts[(old >> self.shift) as usize];
            *count = count.wrapping_sub(1);
            *place = page;
        }
        self.next += batch.len();
    }

    /// Copies a second.
    fn copies(&mut self, count: u64) -> f64 {
        let size = 1usize << self.shift;
        let blocks = self.reverse.len() / size;
        let (mut victim, mut current) = (0, 0u64);
        let start = Instant::now();
        for _ in 0..count as usize / size {
            // A block far from the last one, as victims are.
            victim = (victim + blocks / 3 + 1) % blocks;
            let base = victim * size;
            if self.next + size > self.reverse.len() {
                self.next = 0;
            }
            for offset in 0..size {
                let ahead = self.reverse[(base + offset + AHEAD).min(base + size - 1)];
                prefetch(self.map, ahead as usize);
                let page = self.reverse[base + offset];
                let entry = &mut self.map[page as usize];
                current += u64::from(*entry == (base + offset) as u32);
                *entry = (self.next + offset) as u32;
                self.reverse[self.next + offset] = page;
            }
            self.next += size;
        }
        black_box(current);
        (count as usize / size * size) as f64 / start.elapsed().as_secs_f64()
    }
}

fn table(len: usize) -> &'static mut [u32] {
    let memory = Box::leak(Box::new(MmapMut::map_anon(len * 4).expect("memory")));
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    // SAFETY: the mapping is page-aligned, zeroed, `len` entries long and never unmapped.
    unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), len) }
}

#[inline(always)]
fn prefetch(slice: &[u32], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching reads nothing and faults on no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
