//! Measures the cost of random reads and writes of 4 KiB through NBD and NVMe/TCP, with 32 commands
//! under way.
//!
//! Server and client are one process, so the processor time includes the client's share. The client
//! is the same loop for both protocols: it sends as many commands as allowed, and then takes the
//! answers that have arrived. There are three drives: one that stores nothing; the stored drive in
//! its steady state on a file in memory (durability `process`); and a stored drive that does not
//! hand answered writes over to the system. The difference between the last two is the cost of
//! handing over. All connections take turns, and a ratio is the median of the rounds' ratios.
//!
//! `cargo bench -p flashgc-front --bench fronts` runs it; `-- --smoke` runs a size that takes one
//! second, and `-- --depth 1` has one command under way.

#[path = "../tests/client/mod.rs"]
#[allow(unreachable_pub)]
mod client;
#[path = "../tests/initiator/mod.rs"]
#[allow(unreachable_pub)]
mod initiator;
mod steady;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use flashgc_base::rng::Stream;
use flashgc_device::{Backend, DeviceError, Drive, Hinted, PAGE, WriteStreams};
use flashgc_front::limits::Limits;
use flashgc_front::queue::Engine;
use flashgc_front::{nbd, nvme};
use initiator::{Queue, Wanted};

/// The number of commands that a host has under way on all its connections together; `--depth`
/// overrides it.
const DEPTH: usize = 32;
const ROUNDS: usize = 9;

/// A drive that stores nothing. All reads return zeros.
struct Null(u64);

impl Backend for Null {
    fn pages(&self) -> u64 {
        self.0
    }

    fn read(&mut self, _: u64, _: &mut [u8]) -> Result<(), DeviceError> {
        Ok(())
    }

    fn write_named(
        &mut self,
        _: u64,
        _: &[u8],
        _: WriteStreams<'_>,
        _: bool,
    ) -> Result<(), DeviceError> {
        Ok(())
    }

    fn trim(&mut self, _: u64, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn moment(&self) -> u64 {
        0
    }

    fn hint(&mut self, _: u64, _: u64, _: Option<u64>) -> Result<Hinted, DeviceError> {
        unreachable!("nobody hints")
    }

    fn cancel(&mut self, _: u64, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }

    fn extent(&mut self, _: u64, count: u64) -> Result<(u64, bool), DeviceError> {
        Ok((count, true))
    }
}

/// A stored drive without [`Backend::hand_over`]: answered writes stay in the memory of its process
/// until a flush.
struct Forgetful(Drive);

impl Backend for Forgetful {
    fn pages(&self) -> u64 {
        self.0.pages()
    }

    fn read(&mut self, page: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        self.0.read(page, into)
    }

    fn write_named(
        &mut self,
        page: u64,
        data: &[u8],
        streams: WriteStreams<'_>,
        fua: bool,
    ) -> Result<(), DeviceError> {
        self.0.write_named(page, data, streams, fua)
    }

    fn trim(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        self.0.trim(page, count)
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        self.0.flush()
    }

    fn moment(&self) -> u64 {
        self.0.moment()
    }

    fn hint(&mut self, page: u64, count: u64, since: Option<u64>) -> Result<Hinted, DeviceError> {
        self.0.hint(page, count, since)
    }

    fn cancel(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        self.0.cancel(page, count)
    }

    fn extent(&mut self, page: u64, count: u64) -> Result<(u64, bool), DeviceError> {
        self.0.extent(page, count)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

/// A connection that encodes commands and parses their answers.
trait Line: Send {
    fn stream(&self) -> TcpStream;

    fn command(&mut self, kind: Kind, page: u64, into: &mut Vec<u8>);

    /// Reads the next part of the answers. Returns `true` if a command was answered.
    fn take(&mut self, kind: Kind, from: &mut BufReader<TcpStream>) -> bool;
}

struct Nbd {
    stream: TcpStream,
    cookie: u64,
    data: Vec<u8>,
}

impl Nbd {
    fn connect(address: &nbd::NbdAddress) -> Self {
        let nbd::NbdAddress::Tcp(address) = address else { unreachable!("a port of TCP") };
        let mut stream = TcpStream::connect(address).expect("a server");
        stream.set_nodelay(true).expect("a socket");
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).expect("a greeting");
        // The flags FIXED_NEWSTYLE and NO_ZEROES; then the option EXPORT_NAME with an empty name.
        let mut option = 3_u32.to_be_bytes().to_vec();
        option.extend(client::IHAVEOPT.to_be_bytes());
        option.extend([0, 0, 0, 1, 0, 0, 0, 0]);
        stream.write_all(&option).expect("a server");
        stream.read_exact(&mut greeting[..10]).expect("a size");
        Self { stream, cookie: 0, data: vec![5; PAGE] }
    }
}

impl Line for Nbd {
    fn stream(&self) -> TcpStream {
        self.stream.try_clone().expect("a socket")
    }

    fn command(&mut self, kind: Kind, page: u64, into: &mut Vec<u8>) {
        let code = if kind == Kind::Read { client::READ } else { client::WRITE };
        self.cookie += 1;
        into.extend(0x2560_9513_u32.to_be_bytes());
        into.extend(u32::from(code).to_be_bytes());
        into.extend(self.cookie.to_be_bytes());
        into.extend((page * PAGE as u64).to_be_bytes());
        into.extend((PAGE as u32).to_be_bytes());
        if kind == Kind::Write {
            into.extend(&self.data);
        }
    }

    fn take(&mut self, kind: Kind, from: &mut BufReader<TcpStream>) -> bool {
        let mut head = [0; 16];
        from.read_exact(&mut head).expect("a reply");
        assert_eq!(head[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
        if kind == Kind::Read {
            from.read_exact(&mut self.data).expect("data");
        }
        true
    }
}

struct Nvme {
    queue: Queue,
    data: Vec<u8>,
}

impl Line for Nvme {
    fn stream(&self) -> TcpStream {
        self.queue.stream.try_clone().expect("a socket")
    }

    fn command(&mut self, kind: Kind, page: u64, into: &mut Vec<u8>) {
        let is_read = kind == Kind::Read;
        let entry = initiator::io(if is_read { 2 } else { 1 }, page, 1, 0);
        let mut entry = initiator::moves(entry, PAGE);
        entry[2..4].copy_from_slice(&self.queue.next.to_le_bytes());
        self.queue.next = self.queue.next.wrapping_add(1);
        if is_read {
            into.extend(self.queue.pdu(4, 0, &entry, &[]));
        } else {
            entry[39] = 1;
            into.extend(self.queue.pdu(4, 0, &entry, &self.data));
        }
    }

    fn take(&mut self, _: Kind, from: &mut BufReader<TcpStream>) -> bool {
        let mut head = [0; 28];
        from.read_exact(&mut head[..8]).expect("a PDU");
        let bytes = u32::from_le_bytes(head[4..8].try_into().expect("4 bytes")) as usize;
        let behind = if head[1] & 1 == 0 { 24 } else { 28 };
        from.read_exact(&mut head[8..behind]).expect("a PDU");
        if behind == 28 {
            assert_eq!(head[24..], crc32c::crc32c(&head[..24]).to_le_bytes());
        }
        if head[0] == 5 {
            assert_eq!((bytes, head[22] >> 1, head[23]), (behind, 0, 0), "a status");
            return true;
        }
        assert_eq!(head[0], 7, "data");
        from.read_exact(&mut self.data).expect("data");
        if head[1] & 2 != 0 {
            let mut digest = [0; 4];
            from.read_exact(&mut digest).expect("a digest");
            assert_eq!(digest, crc32c::crc32c(&self.data).to_le_bytes());
        }
        head[1] & 8 != 0
    }
}

/// Executes `count` commands on a connection, `depth` at a time.
fn pump(line: &mut dyn Line, kind: Kind, pages: u64, depth: usize, count: usize, seed: u64) {
    let mut rng = Stream::new(seed, "pages");
    let mut stream = line.stream();
    let mut from = BufReader::with_capacity(256 << 10, line.stream());
    let (mut sent, mut done, mut batch) = (0, 0, Vec::new());
    while done < count {
        while sent < count && sent - done < depth {
            line.command(kind, rng.below(pages as u32).into(), &mut batch);
            sent += 1;
        }
        stream.write_all(&batch).expect("a server");
        batch.clear();
        from.fill_buf().expect("a server");
        while !from.buffer().is_empty() {
            done += usize::from(line.take(kind, &mut from));
        }
    }
}

/// A way to the drive: the name of the protocol, and the connections.
struct Way {
    name: &'static str,
    lines: Vec<Box<dyn Line>>,
}

/// The time of a command in microseconds: elapsed time and processor time.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    cpu: f64,
}

fn processor() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

fn measure(
    way: &mut Way,
    kind: Kind,
    pages: u64,
    (depth, count): (usize, usize),
    seed: u64,
) -> Cost {
    let (begun, used) = (Instant::now(), processor());
    let lines = way.lines.len();
    let depth = (depth / lines).max(1);
    std::thread::scope(|scope| {
        for (number, line) in way.lines.iter_mut().enumerate() {
            let seed = seed * 64 + number as u64;
            scope.spawn(move || pump(&mut **line, kind, pages, depth, count / lines, seed));
        }
    });
    let each = 1e6 / (count / lines * lines) as f64;
    Cost {
        wall: begun.elapsed().as_secs_f64() * each,
        cpu: (processor() - used).as_secs_f64() * each,
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The servers of a drive, and the ways to it: NBD, then NVMe/TCP.
struct Ways<S> {
    ways: Vec<Way>,
    pages: u64,
    _keep: (nbd::NbdServer, nvme::NvmeServer, Engine<S>, Vec<Queue>),
}

fn serve<S: Backend + 'static>(drive: S) -> Ways<S> {
    let pages = drive.pages();
    let engine = Engine::start(drive).expect("a thread");
    let address = nbd::NbdAddress::Tcp("127.0.0.1:0".into());
    let nbd =
        nbd::NbdServer::start(engine.queue(), &address, nbd::NbdExport::default()).expect("a port");
    let address: nvme::NvmeAddress = "127.0.0.1:0".parse().expect("an address");
    let listener = nvme::NvmeServer::listen(&address).expect("a port");
    let export = nvme::NvmeExport { uuid: initiator::UUID, ..nvme::NvmeExport::default() };
    let server = nvme::NvmeServer::start_with(
        engine.queue(),
        &address,
        listener,
        &export,
        Limits::default(),
    );
    let nvme = server.expect("threads");
    let mut admins = vec![];
    let mut host = |name, wanted: Wanted, queues: u16| {
        let (to, name_of) = (nvme.address().to_string(), export.name());
        let mut admin = Queue::connect(&to, &name_of, &wanted, 0, 0xffff).expect("a controller");
        admin.enable();
        let line = |id| {
            let queue = Queue::connect(&to, &name_of, &wanted, id, admin.controller);
            Box::new(Nvme { queue: queue.expect("a queue"), data: vec![5; PAGE] }) as Box<dyn Line>
        };
        let lines = (1..=queues).map(line).collect();
        admins.push(admin);
        Way { name, lines }
    };
    let plain = Wanted { flow_control: false, ..Wanted::default() };
    let digests = Wanted { header_digests: true, data_digests: true, ..plain };
    let lines: Vec<Box<dyn Line>> = vec![Box::new(Nbd::connect(nbd.address()))];
    let ways = vec![
        Way { name: "NBD", lines },
        host("NVMe/TCP", plain, 1),
        host("NVMe/TCP, 4 queues", plain, 4),
        host("NVMe/TCP, digests", digests, 1),
    ];
    Ways { ways, pages, _keep: (nbd, nvme, engine, admins) }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let is_smoke = arguments.iter().any(|argument| argument == "--smoke");
    let depth = arguments.iter().position(|argument| argument == "--depth");
    let depth = depth.map_or(DEPTH, |at| arguments[at + 1].parse().expect("a number"));
    let (blocks, count, rounds) = if is_smoke { (64, 640, 3) } else { (1140, 40_000, ROUNDS) };
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(place).expect("a folder");
    let drive = steady::drive(&folder.path().join("drive.flash"), blocks);
    let forgetful = Forgetful(steady::drive(&folder.path().join("forgetful.flash"), blocks));
    let mut null = serve(Null(drive.pages()));
    let (mut stored, mut forgetful) = (serve(drive), serve(forgetful));
    println!(
        "4 KiB at random, {depth} at a time: median of {rounds} rounds, microseconds a command"
    );
    for kind in [Kind::Read, Kind::Write] {
        let drives = [
            (&mut null.ways, null.pages),
            (&mut stored.ways, stored.pages),
            (&mut forgetful.ways, forgetful.pages),
        ];
        let mut costs = drives.each_ref().map(|(ways, _)| vec![vec![]; ways.len()]);
        let mut drives = drives;
        for round in 0..=rounds {
            for (drive, (ways, pages)) in drives.iter_mut().enumerate() {
                for (number, way) in ways.iter_mut().enumerate() {
                    // Each round has its own seed: pages overwritten in the same order as before
                    // would need no copies.
                    let seed = (round * 8 + number) as u64;
                    let cost = measure(way, kind, *pages, (depth, count), seed);
                    // The first round warms up.
                    if round > 0 {
                        costs[drive][number].push(cost);
                    }
                }
            }
        }
        let what = if kind == Kind::Read { "reads" } else { "writes" };
        println!(
            "\n{what:10}{:20}  wall    CPU  rate: of NBD's  of the empty drive's  of the forgetful one's",
            ""
        );
        for (drive, name) in ["nothing", "stored", "forgetful"].iter().enumerate() {
            for (number, way) in drives[drive].0.iter().enumerate() {
                let mine: &Vec<Cost> = &costs[drive][number];
                let against = |others: &Vec<Cost>| {
                    median(mine.iter().zip(others).map(|(mine, other)| other.wall / mine.wall))
                };
                println!(
                    "{name:10}{:20}{:6.2} {:6.2}  {:14.2}  {:20.2}  {:22.2}",
                    way.name,
                    median(mine.iter().map(|cost| cost.wall)),
                    median(mine.iter().map(|cost| cost.cpu)),
                    against(&costs[drive][0]),
                    against(&costs[0][number]),
                    against(&costs[2][number]),
                );
            }
        }
    }
}
