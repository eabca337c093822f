//! Measures the cost of the front ends: random requests of 4 KiB to a drive in memory through each
//! front end, and to a plain file.
//!
//! ```sh
//! cargo run --release -p flashgc-front --example fronts [SECONDS [ratio]]
//! ```
//!
//! At the end, or with `ratio` only, it compares the stored drive with a plain file that is passed
//! through FUSE in the same way; see [`ratio`].
//!
//! Each thread has one request under way, on a separate connection or open file. Loop devices are
//! measured only as root.

#[path = "../../tests/client/mod.rs"]
mod client;
#[path = "../../tests/machine/mod.rs"]
mod machine;
mod passthrough;
mod ratio;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use flashgc_device::Backend;
use flashgc_front::command::Command;
use flashgc_front::fuse::Mount;
use flashgc_front::nbd::{NbdAddress, NbdExport, NbdServer};
use flashgc_front::queue::{Engine, Queue};
use flashgc_front::ram::Ram;

/// The number of pages of drive and file: 256 MiB.
const PAGES: u64 = 64 << 10;
const THREADS: [usize; 3] = [1, 8, 32];

/// A function that does a request of one page. It takes the number of the page, and `true` to write
/// the page or `false` to read it.
type Request = Box<dyn FnMut(u64, bool) + Send>;

fn main() {
    let typed = std::env::args().nth(1).map_or(Ok(1.0), |seconds| seconds.parse::<f64>());
    let Ok(time) = typed.map_err(drop).and_then(|s| Duration::try_from_secs_f64(s).map_err(drop))
    else {
        eprintln!("error: SECONDS is not a number of seconds; hint: fronts 2.5");
        std::process::exit(2);
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    if std::env::args().nth(2).as_deref() != Some("ratio") {
        fronts(folder.path(), time);
    }
    if machine::has_fuse("FUSE") && machine::has_loop("loop devices") {
        let columns = ["threads", "kind", "passed/s", "stored/s", "ratio", "cpu", "cpu"];
        let [a, b, c, d, e, f, g] = columns;
        println!("{:14} {a:>8} {b:>7} {c:>12} {d:>12} {e:>8} {f:>8} {g:>8}", "loop on FUSE");
        let mut ram = Ram::new(PAGES);
        (0..PAGES).for_each(|page| ram.write(page, &[1; 4096], false).expect("a page in memory"));
        ratio::compare("in memory", folder.path(), ram, time);
        // First with so much spare space that no block is collected, then in the steady state at a
        // usual spare factor.
        ratio::report("not collected", folder.path(), 0.98, 0, time);
        ratio::report("steady state", folder.path(), 0.2, 4 * PAGES, time);
    }
}

fn fronts(folder: &Path, time: Duration) {
    let engine = Engine::start(Ram::new(PAGES)).expect("a thread");
    let queue = engine.queue();
    for page in 0..PAGES {
        let write =
            Command::Write { at: page * 4096, data: vec![1; 4096], fua: false, streams: vec![] };
        queue.call(write).expect("a page in memory");
    }
    let path = folder.join("plain");
    std::fs::write(&path, vec![1; PAGES as usize * 4096]).expect("a plain file");

    println!("{:28} {:>8} {:>12} {:>12}", "4 KiB, random", "threads", "reads/s", "writes/s");
    report("plain file, page cache", time, || file(&path));
    report("queue, in process", time, || in_process(queue.clone()));
    let address = NbdAddress::Unix(folder.join("socket"));
    for address in [address, NbdAddress::Tcp("127.0.0.1:0".into())] {
        let server =
            NbdServer::start(engine.queue(), &address, NbdExport::default()).expect("a server");
        let name =
            if matches!(address, NbdAddress::Tcp(_)) { "NBD, TCP" } else { "NBD, Unix socket" };
        report(name, time, || nbd(server.address()));
    }
    let mounted = machine::Folder::new();
    if !machine::has_fuse("FUSE") {
        return;
    }
    let mount = Mount::new(engine.queue(), mounted.path()).expect("a mount");
    report("FUSE file", time, || file(&mount.disk()));
    if machine::has_loop("loop devices") {
        for (name, path) in [("loop on FUSE", mount.disk()), ("loop on the plain file", path)] {
            let device = machine::Loop::new(&path);
            report(name, time, || direct(&device.device));
        }
    }
}

fn report(name: &str, time: Duration, request: impl Fn() -> Request) {
    for threads in THREADS {
        let [reads, writes] = [false, true].map(|write| rate(threads, time, write, &request));
        println!("{name:28} {threads:>8} {reads:>12.0} {writes:>12.0}");
    }
}

/// Returns the number of requests per second of all threads together.
fn rate(threads: usize, time: Duration, write: bool, request: &impl Fn() -> Request) -> f64 {
    let requests: Vec<_> = (0..threads).map(|_| request()).collect();
    let start = Instant::now();
    let done: u64 = std::thread::scope(|scope| {
        let run = |(thread, mut request): (usize, Request)| {
            let mut state = thread as u64 + 1;
            let mut done = 0;
            while start.elapsed() < time {
                // Steele and Vigna's SplitMix64.
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                request((mixed ^ (mixed >> 27)) % PAGES, write);
                done += 1;
            }
            done
        };
        let threads: Vec<_> =
            requests.into_iter().enumerate().map(|one| scope.spawn(move || run(one))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a request")).sum()
    });
    done as f64 / start.elapsed().as_secs_f64()
}

/// Memory for direct I/O: a page at an address that is a multiple of its size.
#[repr(align(4096))]
struct Aligned([u8; 4096]);

fn requests_of(file: File) -> Request {
    let mut page = Box::new(Aligned([1; 4096]));
    Box::new(move |number, write| {
        let at = number * 4096;
        if write { file.write_all_at(&page.0, at) } else { file.read_exact_at(&mut page.0, at) }
            .expect("a page of the file");
    })
}

fn file(path: &Path) -> Request {
    requests_of(OpenOptions::new().read(true).write(true).open(path).expect("the file"))
}

fn direct(path: &Path) -> Request {
    use std::os::unix::fs::OpenOptionsExt;
    let flag = rustix::fs::OFlags::DIRECT.bits() as i32;
    let mut options = OpenOptions::new();
    requests_of(options.read(true).write(true).custom_flags(flag).open(path).expect("the device"))
}

fn in_process(queue: Queue) -> Request {
    Box::new(move |page, write| {
        let at = page * 4096;
        let command = if write {
            Command::Write { at, data: vec![1; 4096], fua: false, streams: vec![] }
        } else {
            Command::Read { at, bytes: 4096 }
        };
        queue.call(command).expect("a page of the drive");
    })
}

fn nbd(address: &NbdAddress) -> Request {
    let mut client = client::Client::ready(address, true);
    Box::new(move |page, write| {
        let at = page * 4096;
        if write { client.write(at, &[1; 4096]) } else { client.read(at, 4096) }.expect("a page");
    })
}
