//! Compares the stored drive through FUSE and a loop device with a plain file that is passed
//! through in the same way. The ratio is the cost of the drive itself, before anything is collected
//! and in the steady state. A drive in memory shows the share of the front end. The last columns
//! are microseconds of processor time per request, which other work on the machine disturbs less.

use std::path::Path;
use std::time::Duration;

use flashgc_device::media::FileMedia;
use flashgc_device::{Backend, Drive, Durability, PAGE, Settings};
use flashgc_front::fuse::Mount;
use flashgc_front::queue::Engine;
use flashgc_ftl::{Fill, Frontier, Geometry, Layout, Victim, VictimSpec};

use super::{PAGES, direct, machine, passthrough, rate};

/// The number of rounds. The drives take turns, and each figure is the median of its rounds.
const ROUNDS: usize = 15;

/// Returns the processor time of this process in seconds. The process has both sides of the mounts.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Returns a drive in a file, with every page written once and `random` more writes.
fn drive(path: &Path, spare: f64, random: u64) -> Drive {
    let layout = Layout {
        frontier: Frontier::Pool { low: 4 },
        fill: Fill::Empty,
        ..Layout::new(Geometry::for_logical_pages(PAGES, 256, spare).expect("a shape"))
    };
    let settings = Settings {
        layout,
        victim: Victim::Registered(VictimSpec::parse("greedy").expect("a policy")),
        journal_blocks: Settings::JOURNAL_BLOCKS,
        durability: Durability::Process,
        streams: None,
        parity: None,
    };
    let bytes = settings.file_bytes().expect("a size");
    let mut media = FileMedia::create(path, bytes).expect("a file");
    Drive::create(&mut media, &settings, [7; 16]).expect("a drive");
    let mut drive = Drive::open(Box::new(media), &settings).expect("the drive");
    let pages = (0..PAGES).chain((0..random).map(|n| n * 48_271 % PAGES));
    pages.for_each(|page| drive.write(page, &[1; PAGE], false).expect("a page"));
    drive
}

/// Prints the ratios of a drive in a file with the spare factor `spare`, after `random` writes.
pub fn report(state: &str, folder: &Path, spare: f64, random: u64, time: Duration) {
    let path = folder.join(state);
    let counters = compare(state, folder, drive(&path, spare, random), time).stat().counters;
    println!(
        "{state:14} {} pages written by the host, {} copied",
        counters.host_pages, counters.copied_pages
    );
    std::fs::remove_file(path).expect("the drive's file");
}

/// Prints the ratios of a drive, and returns it.
pub fn compare<S: Backend + 'static>(state: &str, folder: &Path, drive: S, time: Duration) -> S {
    let plain = folder.join("passed through");
    std::fs::write(&plain, vec![1; PAGES as usize * PAGE]).expect("a plain file");
    let base = machine::Folder::new();
    let (_session, through) = passthrough::mount(&plain, base.path()).expect("a mount");
    let base = machine::Loop::new(&through);

    let engine = Engine::start(drive).expect("a thread");
    let mounted = machine::Folder::new();
    let mount = Mount::new(engine.queue(), mounted.path()).expect("a mount");
    let device = machine::Loop::new(&mount.disk());
    for threads in [1, 32] {
        for write in [false, true] {
            let [mut through, mut stored] = [vec![], vec![]];
            let mut costs = vec![];
            for _ in 0..ROUNDS {
                let begun = cpu();
                through.push(rate(threads, time, write, &|| direct(&base.device)));
                let between = cpu();
                stored.push(rate(threads, time, write, &|| direct(&device.device)));
                costs.push([between - begun, cpu() - between]);
            }
            let ratios = through.iter().zip(&stored).map(|(through, stored)| stored / through);
            let requests = |rates: &[f64]| rates.iter().sum::<f64>() * time.as_secs_f64();
            let cost = |which: usize, rates: &[f64]| {
                costs.iter().map(|cost| cost[which]).sum::<f64>() / requests(rates) * 1e6
            };
            let costs = [cost(0, &through), cost(1, &stored)];
            let [ratio, through, stored] =
                [ratios.collect(), through, stored].map(|mut numbers: Vec<f64>| {
                    numbers.sort_by(f64::total_cmp);
                    numbers[ROUNDS / 2]
                });
            let kind = if write { "writes" } else { "reads" };
            println!(
                "{state:14} {threads:>8} {kind:>7} {through:>12.0} {stored:>12.0} {ratio:>8.2} \
                 {:>8.1} {:>8.1}",
                costs[0], costs[1]
            );
        }
    }
    drop(device);
    drop(mount);
    let (drive, flushed) = engine.stop();
    flushed.expect("a flush");
    drop(base);
    drive.expect("the drive")
}
