//! Measures the cost of a hint: random writes in the steady state of a stored drive with the
//! policies of `zgc-gd`. A hint is given before each write. Every way by which hints can reach the
//! drive is measured.
//!
//! ```sh
//! cargo run --release -p flashgc-front --example hints [WRITES [PAGES]]
//! ```
//!
//! A round has `WRITES` writes of `PAGES` pages each (by default 5000 of 1). A hint is given
//! [`BURST`] to 2 [`BURST`] writes before its write. So few pages have a hint at a time, and hints
//! save the drive almost no copies. A hint with a moment names a moment at least [`BURST`] writes
//! ago, so that the drive has to look up when its pages were written.
//!
//! The ways take turns with writes without hints. For each way the program prints: writes per
//! second; their ratio to those without hints; microseconds of processor time that a hint adds
//! (this process has both sides of mount and socket); bytes of a hint with its answer; microseconds
//! that a hint takes inside the drive; write amplification.

#[path = "../tests/machine/mod.rs"]
mod machine;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use flashgc_base::rng::Stream;
use flashgc_device::media::FileMedia;
use flashgc_device::{Backend, Drive, Durability, PAGE, Settings};
use flashgc_front::control::request::{Pages, Request};
use flashgc_front::control::{ControlClient, ControlServer, FileStream, Keeper};
use flashgc_front::fuse::Mount;
use flashgc_front::fuse::ioctl::{HINT, Hint, MAGIC};
use flashgc_front::queue::{Engine, Queue};
use flashgc_ftl::{Fill, Frontier, Geometry, Layout, PlacementSpec, Victim, VictimSpec};

/// The number of pages of the drive: 256 MiB.
const PAGES: u64 = 64 << 10;
/// The number of writes that are drawn in advance.
const BURST: usize = 1000;
/// The number of rounds. The ways take turns, and each figure is the median of its rounds.
const ROUNDS: usize = 7;
/// The bytes of a frame of the control socket besides its body.
const FRAME: usize = 8;

/// The way in which hints reach the drive.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// No hints.
    None,
    /// By a function call of the drive's owner.
    Call,
    /// By an `ioctl` for each hint.
    Ioctl,
    /// Through the control socket, with this number of hints in a request.
    Socket(usize),
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::None => "no hints".into(),
            Self::Call => "a call each".into(),
            Self::Ioctl => "an ioctl each".into(),
            Self::Socket(1) => "a request each".into(),
            Self::Socket(batch) => format!("a request for {batch}"),
        }
    }

    fn batch(self) -> usize {
        if let Self::Socket(batch) = self { batch } else { 1 }
    }

    /// Returns the bytes of a hint and its answer.
    fn bytes(self) -> f64 {
        match self {
            Self::None | Self::Call => 0.0,
            Self::Ioctl => 2.0 * size_of::<Hint>() as f64,
            Self::Socket(batch) => {
                let pages = vec![Pages { first: 0, count: 1 }; batch];
                let (_, body) = Request::Hint { moment: None, pages }.encode();
                (2 * FRAME + body.len() + size_of::<u64>()) as f64 / batch as f64
            }
        }
    }
}

/// A host that writes to a drive.
trait Host {
    fn write(&mut self, page: u64, data: &[u8]);
    /// Returns the number of pages that the host has written, and the number of pages that the
    /// drive has copied.
    fn counters(&mut self) -> (u64, u64);
    fn moment(&mut self) -> u64;
    /// Gives hints on ranges of `count` pages that begin at the pages `first`.
    fn hint(&mut self, way: Way, first: &[u64], count: u64, moment: Option<u64>);
}

/// The process that owns the drive, as its host.
impl Host for Drive {
    fn write(&mut self, page: u64, data: &[u8]) {
        Backend::write(self, page, data, false).expect("pages");
    }

    fn counters(&mut self) -> (u64, u64) {
        let counters = self.stat().counters;
        (counters.host_pages, counters.copied_pages)
    }

    fn moment(&mut self) -> u64 {
        Backend::moment(self)
    }

    fn hint(&mut self, _: Way, first: &[u64], count: u64, moment: Option<u64>) {
        for &page in first {
            Backend::hint(self, page, count, moment).expect("a hint");
        }
    }
}

/// A host with the drive's file in a FUSE mount, and with a connection to the control socket.
struct Process {
    file: File,
    client: ControlClient,
    queue: Queue,
}

impl Host for Process {
    fn write(&mut self, page: u64, data: &[u8]) {
        self.file.write_all_at(data, page * PAGE as u64).expect("pages");
    }

    fn counters(&mut self) -> (u64, u64) {
        let counters = self.queue.visit(|drive, _| drive.as_drive().map(Host::counters));
        counters.expect("a drive").expect("the stored one")
    }

    fn moment(&mut self) -> u64 {
        self.client.moment().expect("a moment")
    }

    fn hint(&mut self, way: Way, first: &[u64], count: u64, moment: Option<u64>) {
        if way == Way::Ioctl {
            for &page in first {
                let (at, bytes) = (page * PAGE as u64, count * PAGE as u64);
                let moment = moment.unwrap_or(u64::MAX);
                let mut hint = Hint { magic: MAGIC, moment, first: at, bytes, ..Hint::default() };
                // SAFETY: the kernel reads and writes one `Hint`, whose size is part of the `ioctl`
                // number.
                unsafe {
                    let call = rustix::ioctl::Updater::<HINT, Hint>::new(&mut hint);
                    rustix::ioctl::ioctl(&self.file, call).expect("a hint");
                }
            }
        } else {
            let pages: Vec<_> = first.iter().map(|&first| Pages { first, count }).collect();
            self.client.hint(moment, &pages).expect("hints");
        }
    }
}

/// A keeper for clients that only give hints.
struct Silent;

impl Keeper for Silent {
    fn stat(&self) -> Result<String, String> {
        Err(String::new())
    }

    fn blocks(&self) -> Result<Vec<u8>, String> {
        Err(String::new())
    }

    fn record(&self, _: Option<&Path>) -> Result<String, String> {
        Err(String::new())
    }

    fn mark(&self, _: &str) -> Result<String, String> {
        Err(String::new())
    }

    fn files(&self, _: u64, _: &[FileStream]) -> Result<(), String> {
        Err(String::new())
    }

    fn stop(&self) {}
}

/// Returns the processor time of this process in seconds.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The figures of all rounds of one way.
#[derive(Default)]
struct Rounds {
    rates: Vec<f64>,
    cpu: f64,
    /// The time that hints took, in seconds.
    hinting: f64,
    written: u64,
    copied: u64,
}

/// Random writes of `count` pages.
struct Writes {
    rng: Stream,
    writes: usize,
    count: u64,
    data: Vec<u8>,
}

impl Writes {
    fn draw(&mut self) -> Vec<u64> {
        let places = (PAGES / self.count) as u32;
        (0..BURST).map(|_| u64::from(self.rng.below(places)) * self.count).collect()
    }

    /// Runs a round of one way.
    fn round(&mut self, host: &mut dyn Host, way: Way, has_moment: bool, rounds: &mut Rounds) {
        let before = host.counters();
        let (mut now, mut moment) = (self.draw(), host.moment());
        let (begun, begun_cpu) = (Instant::now(), cpu());
        for _ in 0..self.writes / BURST {
            let next = self.draw();
            let named = has_moment.then_some(moment);
            moment = host.moment();
            for (write, &page) in now.iter().enumerate() {
                if way != Way::None && write.is_multiple_of(way.batch()) {
                    let hints = &next[write..write + way.batch()];
                    let begun = Instant::now();
                    host.hint(way, hints, self.count, named);
                    rounds.hinting += begun.elapsed().as_secs_f64();
                }
                host.write(page, &self.data);
            }
            now = next;
        }
        rounds.rates.push(self.writes as f64 / begun.elapsed().as_secs_f64());
        rounds.cpu += cpu() - begun_cpu;
        let after = host.counters();
        rounds.written += after.0 - before.0;
        rounds.copied += after.1 - before.1;
        // In the end every page with a hint is written.
        now.iter().for_each(|&page| host.write(page, &self.data));
    }

    /// Prints a line for each way.
    fn compare(&mut self, title: &str, host: &mut dyn Host, ways: &[(Way, bool)]) {
        let mut all: Vec<Rounds> = ways.iter().map(|_| Rounds::default()).collect();
        for _ in 0..ROUNDS {
            for (&(way, has_moment), rounds) in ways.iter().zip(&mut all) {
                self.round(host, way, has_moment, rounds);
            }
        }
        let columns = ["moment", "writes/s", "ratio", "cpu us", "bytes", "drive us", "wa"];
        let [a, b, c, d, e, f, g] = columns;
        println!("{title:24} {a:>6} {b:>9} {c:>17} {d:>7} {e:>6} {f:>8} {g:>5}");
        let writes = (ROUNDS * self.writes) as f64;
        for (&(way, has_moment), rounds) in ways.iter().zip(&all) {
            let mut ratios: Vec<f64> =
                rounds.rates.iter().zip(&all[0].rates).map(|(rate, base)| rate / base).collect();
            let mut rates = rounds.rates.clone();
            ratios.sort_by(f64::total_cmp);
            rates.sort_by(f64::total_cmp);
            let spread =
                format!("{:.2} ({:.2}..{:.2})", ratios[ROUNDS / 2], ratios[0], ratios[ROUNDS - 1]);
            let in_drive = match way {
                Way::Call => format!("{:.2}", rounds.hinting / writes * 1e6),
                _ => "-".into(),
            };
            println!(
                "{:24} {:>6} {:>9.0} {spread:>17} {:>7.2} {:>6.0} {in_drive:>8} {:>5.2}",
                way.name(),
                if has_moment { "yes" } else { "" },
                rates[ROUNDS / 2],
                (rounds.cpu - all[0].cpu) / writes * 1e6,
                way.bytes(),
                1.0 + rounds.copied as f64 / rounds.written as f64,
            );
        }
    }
}

/// Returns a drive in a file, in its steady state.
fn drive(path: &Path) -> Drive {
    let layout = Layout {
        frontier: Frontier::Pool { low: 4 },
        placement: PlacementSpec::parse("dac:regions=3,zombie-block=yes").expect("a placement"),
        fill: Fill::Empty,
        ..Layout::new(Geometry::for_logical_pages(PAGES, 256, 0.2).expect("a shape"))
    };
    let settings = Settings {
        layout,
        victim: Victim::Registered(VictimSpec::parse("z-greedy").expect("a policy")),
        journal_blocks: Settings::JOURNAL_BLOCKS,
        durability: Durability::Process,
        streams: None,
        parity: None,
    };
    let mut media =
        FileMedia::create(path, settings.file_bytes().expect("a size")).expect("a file");
    Drive::create(&mut media, &settings, [7; 16]).expect("a drive");
    let mut drive = Drive::open(Box::new(media), &settings).expect("the drive");
    let mut rng = Stream::new(2, "fill");
    let random = (0..4 * PAGES).map(|_| u64::from(rng.below(PAGES as u32)));
    (0..PAGES).chain(random).for_each(|page| Host::write(&mut drive, page, &[7; PAGE]));
    drive
}

fn main() {
    let mut typed = std::env::args().skip(1).map(|number| number.parse::<usize>());
    let (writes, count) = match (typed.next().unwrap_or(Ok(5000)), typed.next().unwrap_or(Ok(1))) {
        (Ok(writes @ BURST..), Ok(count @ 1..=256)) => (writes / BURST * BURST, count),
        _ => {
            eprintln!(
                "error: expected {BURST} WRITES or more of 1 to 256 PAGES; hint: hints 5000 2"
            );
            std::process::exit(2);
        }
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut drive = drive(&folder.path().join("drive.flash"));
    let data = vec![7; count * PAGE];
    let mut load = Writes { rng: Stream::new(1, "writes"), writes, count: count as u64, data };
    let calls = [(Way::None, false), (Way::Call, false), (Way::Call, true)];
    load.compare("the drive's owner", &mut drive, &calls);
    if !machine::has_fuse("FUSE") {
        return;
    }
    let engine = Engine::start(drive).expect("a thread");
    let mounted = machine::Folder::new();
    let mount = Mount::new(engine.queue(), mounted.path()).expect("a mount");
    let socket = folder.path().join("socket");
    let server = ControlServer::start(engine.queue(), &socket, Arc::new(Silent)).expect("a server");
    let file = File::options().read(true).write(true).open(mount.disk()).expect("the file");
    let client = ControlClient::connect(server.path()).expect("a client");
    let mut process = Process { file, client, queue: engine.queue() };
    let mut ways = vec![(Way::None, false)];
    for way in [Way::Ioctl, Way::Socket(1), Way::Socket(100), Way::Socket(1000)] {
        ways.extend([(way, false), (way, true)]);
    }
    load.compare("a process, file in FUSE", &mut process, &ways);
}
