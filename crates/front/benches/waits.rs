//! Measures the longest wait of a host for one page while another host sends the longest commands,
//! one after the other.
//!
//! Both hosts use NBD, on a stored drive of 4 GiB in memory. The first row is without the other
//! host.
//!
//! `cargo bench -p flashgc-front --bench waits` runs it, and fails above 100 ms: the machine must
//! be idle. `-- --smoke` runs a size that takes one second, without the limit.

#[path = "../tests/client/mod.rs"]
#[allow(unreachable_pub)]
mod client;
mod steady;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::{BLOCK_STATUS, Client, NO_HOLE, READ, TRIM, WRITE, WRITE_ZEROES};
use flashgc_base::rng::Stream;
use flashgc_device::{Backend, PAGE};
use flashgc_front::nbd;
use flashgc_front::queue::Engine;

/// The longest wait that is allowed on an idle machine.
const PROMISED: Duration = Duration::from_millis(100);

/// The largest read or write, in bytes.
const LARGEST: u32 = 32 << 20;

/// The commands of the other host: name, number, flags, bytes.
const LONG: [(&str, u16, u16, u32); 6] = [
    ("discard of the drive", TRIM, 0, u32::MAX),
    ("zeros, the drive", WRITE_ZEROES, 0, u32::MAX),
    ("zeros that keep room", WRITE_ZEROES, NO_HOLE, u32::MAX),
    ("extents of the drive", BLOCK_STATUS, 0, u32::MAX),
    ("largest read", READ, 0, LARGEST),
    ("largest write", WRITE, 0, LARGEST),
];

/// Returns the waits of a host that reads random pages, one after the other, for the time `long`.
fn waits(address: &nbd::NbdAddress, pages: u32, long: Duration) -> Vec<Duration> {
    let mut client = Client::ready(address, false);
    let mut rng = Stream::new(1, "pages");
    let (begun, mut found) = (Instant::now(), vec![]);
    while begun.elapsed() < long {
        let at = u64::from(rng.below(pages)) * PAGE as u64;
        let asked = Instant::now();
        client.read(at, PAGE as u32).expect("a page");
        found.push(asked.elapsed());
    }
    found.sort();
    found
}

fn main() {
    let is_smoke = std::env::args().any(|argument| argument == "--smoke");
    let (blocks, long) = if is_smoke { (64, 100) } else { (4550, 5000) };
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(place).expect("a folder");
    let drive = steady::drive(&folder.path().join("drive.flash"), blocks);
    let pages = drive.pages() as u32;
    let engine = Engine::start(drive).expect("a thread");
    let address = nbd::NbdAddress::Tcp("127.0.0.1:0".into());
    let server = nbd::NbdServer::start(engine.queue(), &address, nbd::NbdExport::default());
    let server = server.expect("a port");
    let size = u64::from(pages) * PAGE as u64;
    println!("milliseconds that a host waits for a page of 4 KiB");
    println!(
        "{:22} {:>9} {:>9} {:>9} {:>9}",
        "the other host", "commands", "median", "99.9%", "longest"
    );
    let mut worst = Duration::ZERO;
    for row in std::iter::once(None).chain(LONG.iter().map(Some)) {
        let is_over = AtomicBool::new(false);
        let (found, given) = std::thread::scope(|scope| {
            let other = row.map(|&(_, kind, flags, bytes)| {
                let (is_over, server) = (&is_over, &server);
                scope.spawn(move || {
                    let mut client = Client::ready(server.address(), kind == BLOCK_STATUS);
                    let bytes = u64::from(bytes).min(size) as u32 / PAGE as u32 * PAGE as u32;
                    let data = vec![9; if kind == WRITE { bytes as usize } else { 0 }];
                    let mut given = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        client.request(kind, flags, 0, bytes, &data).expect("a drive");
                        given += 1;
                    }
                    given
                })
            });
            let found = waits(server.address(), pages, Duration::from_millis(long));
            is_over.store(true, Ordering::Relaxed);
            (found, other.map_or(0, |other| other.join().expect("a host")))
        });
        let at = |share: f64| found[((found.len() - 1) as f64 * share) as usize];
        println!(
            "{:22} {given:9} {:9.3} {:9.3} {:9.3}",
            row.map_or("none", |row| row.0),
            at(0.5).as_secs_f64() * 1e3,
            at(0.999).as_secs_f64() * 1e3,
            at(1.0).as_secs_f64() * 1e3,
        );
        worst = worst.max(at(1.0));
    }
    assert!(
        is_smoke || worst <= PROMISED,
        "a host waited for {worst:?}, {PROMISED:?} are promised"
    );
}
