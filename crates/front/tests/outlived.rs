//! Hosts that survive the server. The server is killed after it has answered writes and before the
//! hosts have flushed, and is started again. The hosts connect again and flush. Then all
//! acknowledged changes must be there.
//!
//! `FLASHGC_KILLS=10000` sets the number of kills, and `TMPDIR` the folder of the drive.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::client::{self, Client};
use crate::common;
use crate::initiator::{self, Queue, Sent, Wanted};
use flashgc_base::rng::Stream;
use flashgc_device::media::FileMedia;
use flashgc_device::{Drive, Durability, PAGE};
use flashgc_front::queue::Engine;
use flashgc_front::{nbd, nvme};

const FILE: &str = "FLASHGC_TEST_OUTLIVED";
const DURABILITY: &str = "FLASHGC_TEST_DURABILITY";

/// The most commands under way at a time.
const DEPTH: u32 = 32;

fn export() -> nvme::NvmeExport {
    nvme::NvmeExport { uuid: initiator::UUID, ..nvme::NvmeExport::default() }
}

/// Serves a drive in the child process. It is not a test by itself.
#[test]
fn serve_until_killed() {
    let Some(file) = std::env::var_os(FILE).map(PathBuf::from) else { return };
    let durability = match std::env::var(DURABILITY).as_deref() {
        Ok("power") => Durability::Power,
        _ => Durability::Process,
    };
    let media = FileMedia::open(&file).unwrap();
    let drive = Drive::open_as(Box::new(media), &common::plain(), durability).unwrap();
    let engine = Engine::start(drive).unwrap();
    let socket = nbd::NbdAddress::Unix(file.with_extension("sock"));
    let _nbd = nbd::NbdServer::start(engine.queue(), &socket, nbd::NbdExport::default()).unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let nvme = nvme::NvmeServer::start(engine.queue(), &address, &export()).unwrap();
    println!("\nserved {}", nvme.address());
    loop {
        std::thread::park();
    }
}

/// The child process. When this value is dropped, it is killed.
struct Server {
    child: Child,
    /// The address of NVMe/TCP.
    address: String,
}

impl Server {
    fn start(file: &Path, durability: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["outlived::serve_until_killed", "--exact", "--nocapture"]);
        command.env(FILE, file).env(DURABILITY, durability).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| Some(line.ok()?.strip_prefix("served ")?.to_string()));
        Self { child, address: address.expect("a server") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A command of a host.
#[derive(Clone, Copy)]
enum Kind {
    /// Writes pages of this version.
    Write(u64),
    Trim,
    Zeroes,
    Flush,
}

fn data(first: u64, count: u64, version: u64) -> Vec<u8> {
    let page = |page: u64| [page, version].map(u64::to_le_bytes).concat().repeat(PAGE / 16);
    (first..first + count).flat_map(page).collect()
}

/// A connected host.
enum Host {
    Nbd(Client),
    Nvme(Box<initiator::Host>),
}

/// The number of front ends, which take turns.
const FRONTS: usize = 2;

impl Host {
    fn connect(server: &Server, file: &Path, front: usize) -> Self {
        if front == 0 {
            let address = nbd::NbdAddress::Unix(file.with_extension("sock"));
            return Self::Nbd(Client::ready(&address, false));
        }
        let (wanted, name) = (Wanted::default(), export().name());
        let mut admin = Queue::connect(&server.address, &name, &wanted, 0, 0xffff).unwrap();
        admin.enable();
        let queue = Queue::connect(&server.address, &name, &wanted, 1, admin.controller).unwrap();
        Self::Nvme(Box::new(initiator::Host { admin, queues: vec![queue] }))
    }

    /// Executes commands, all under way at once, and takes their answers.
    fn all(&mut self, commands: &[(Kind, u64, u64)]) {
        match self {
            Self::Nbd(client) => {
                for &(kind, first, count) in commands {
                    let (at, bytes) = (first * PAGE as u64, (count as usize * PAGE) as u32);
                    match kind {
                        Kind::Write(version) => {
                            let data = data(first, count, version);
                            client.send_request(client::WRITE, 0, at, bytes, &data)
                        }
                        Kind::Trim => client.send_request(client::TRIM, 0, at, bytes, &[]),
                        Kind::Zeroes => client.send_request(
                            client::WRITE_ZEROES,
                            client::NO_HOLE,
                            at,
                            bytes,
                            &[],
                        ),
                        Kind::Flush => client.send_request(client::FLUSH, 0, 0, 0, &[]),
                    };
                }
                commands.iter().for_each(|_| assert_eq!(client.reply(0, 0).1, Ok(vec![])));
            }
            Self::Nvme(host) => {
                let queue = &mut host.queues[0];
                let submit = |queue: &mut Queue, entry, data: &[u8]| {
                    queue.submit(Sent { entry, data, in_capsule: true })
                };
                let mut sent = Vec::new();
                for &(kind, first, count) in commands {
                    let range = |opcode| initiator::io(opcode, first, count as u32, 0);
                    sent.push(match kind {
                        Kind::Write(version) => {
                            submit(queue, range(0x01), &data(first, count, version))
                        }
                        Kind::Trim => {
                            let range =
                                [&[0; 4][..], &(count as u32).to_le_bytes(), &first.to_le_bytes()];
                            submit(queue, initiator::entry(0x09, 1, &[0, 4]), &range.concat())
                        }
                        Kind::Zeroes => submit(queue, range(0x08), &[]),
                        Kind::Flush => submit(queue, initiator::entry(0x00, 1, &[]), &[]),
                    });
                }
                sent.into_iter().for_each(|command| drop(queue.wait(command).ok()));
            }
        }
    }

    fn read(&mut self, first: u64, count: u64) -> Vec<u8> {
        let bytes = count as usize * PAGE;
        match self {
            Self::Nbd(client) => client.read(first * PAGE as u64, bytes as u32).unwrap(),
            Self::Nvme(host) => host.queues[0].read(first, count as u32, bytes).ok(),
        }
    }
}

#[test]
fn what_was_answered_before_the_end_of_the_server_is_there_at_the_next_flush() {
    let kills = std::env::var("FLASHGC_KILLS").map_or(24, |kills| kills.parse::<usize>().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("drive");
    let settings = common::plain();
    let mut media = FileMedia::create(&file, settings.file_bytes().unwrap()).unwrap();
    Drive::create(&mut media, &settings, common::UUID).unwrap();
    drop(media);
    let pages = u64::from(settings.layout.geometry.logical_pages());
    let (mut rng, mut version) = (Stream::new(1, "a host that lives on"), 0);
    // The version that each page must have; 0 stands for a page of zeros.
    let mut held = vec![0; pages as usize];
    let mut answered = 0;
    for kill in 0..=kills {
        let server = Server::start(&file, if kill % 4 == 3 { "power" } else { "process" });
        let mut host = Host::connect(&server, &file, kill % FRONTS);
        host.all(&[(Kind::Flush, 0, 0)]);
        for first in (0..pages).step_by(64) {
            let count = 64.min(pages - first);
            for (page, found) in (first..).zip(host.read(first, count).chunks(PAGE)) {
                let expected = match held[page as usize] {
                    0 => vec![0; PAGE],
                    version => data(page, 1, version),
                };
                let found_version = u64::from_le_bytes(found[8..16].try_into().unwrap());
                assert!(
                    *found == expected,
                    "kill {kill}: page {page} has version {found_version}, expected {}",
                    held[page as usize]
                );
            }
        }
        for batch in 0..=rng.below(3) {
            let mut commands = Vec::new();
            for _ in 0..=rng.below(DEPTH) {
                let first = u64::from(rng.below(pages as u32));
                let count = u64::from(1 + rng.below(2)).min(pages - first);
                version += 1;
                let (kind, version) = match rng.below(16) {
                    0 => (Kind::Trim, 0),
                    1 => (Kind::Zeroes, 0),
                    _ => (Kind::Write(version), version),
                };
                held[first as usize..(first + count) as usize].fill(version);
                commands.push((kind, first, count));
            }
            host.all(&commands);
            answered += commands.len();
            if batch == 0 && rng.below(2) == 0 {
                host.all(&[(Kind::Flush, 0, 0)]);
            }
        }
        drop(server);
    }
    println!("{kills} kills between answer and flush, {answered} changes answered");
}
