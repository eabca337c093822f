//! A target of NVMe over TCP: the drive as a controller with one namespace, and a discovery
//! controller.
//!
//! Each connection is a queue of a host: a thread reads commands ([`connection`]), and one writes
//! answers ([`replies`]). The queues of one host share a [`controller`]. A controller ends with its
//! admin queue, or if the host sends nothing for the keep alive time. A flush covers the commands
//! completed on every queue. [`Limits`] bound the resources that hosts use; there is no
//! authentication and no encryption.
//!
//! A drive that takes streams from the host has flexible data placement ([`fdp`]).
//!
//! Not supported: reservations, several namespaces, protection information, fused commands, TLS.
//!
//! # Source
//! NVM Express Base Specification 2.0, NVM Command Set Specification 1.0, TCP Transport
//! Specification 1.0.

mod address;
mod admin;
mod blocks;
mod commands;
mod connection;
mod controller;
mod directives;
mod fabrics;
mod fdp;
mod fdp_commands;
mod fdp_logs;
mod features;
mod handles;
mod identify;
mod link;
mod lists;
mod log_pages;
#[doc(hidden)]
pub mod pdu;
mod replies;
mod structures;
mod subsystem;
#[cfg(test)]
mod tests;

use std::io::{self, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::clients::{Clients, Connection};
use super::limits::{Limits, PIECE};
use super::queue::Queue;
use super::socket::{Listener, Requests, Socket, Until};
use super::window::{Room, Window};
pub use address::{NvmeAddress, NvmeAddressError};
use connection::Reader;
use fabrics::Joined;
pub use flashgc_device::Handles;
use link::{Link, Reply};
use pdu::End;
use subsystem::Subsystem;

/// The name of every discovery controller.
const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// The version of the specification: 2.0.
const VERSION: u32 = 0x0002_0000;
/// The version of this program.
const FIRMWARE: &str = env!("CARGO_PKG_VERSION");
/// The number of the only namespace. It is also the number of namespaces.
const NAMESPACE: u32 = 1;
/// The most entries of a queue.
const QUEUE_ENTRIES: u16 = 128;
/// The number of entries of an admin queue that the discovery log recommends.
const ADMIN_ENTRIES: u16 = 32;
/// The most I/O queues of a controller.
const QUEUES: u16 = 16;
/// The most Asynchronous Event Requests that can wait.
const EVENTS: usize = 4;
/// The most ranges of Dataset Management.
const RANGES: usize = 256;
/// The most ranges of Copy.
const SOURCES: usize = 128;
/// The binary logarithm of the largest number of 4096-byte pages that a command moves.
const LARGEST_SHIFT: u8 = 8;
/// The most bytes that a command moves.
const LARGEST: usize = 4096 << LARGEST_SHIFT;
/// The most bytes of data in the PDU of a command of the admin queue, as the transport prescribes.
const ADMIN_CAPSULE: usize = 8192;
/// The most bytes of data in the PDU of a command of an I/O queue.
const CAPSULE: usize = 16 << 10;
/// The most bytes of data in a data PDU of the host.
const DATA: usize = 128 << 10;
/// The time within which a controller becomes ready, in units of 500 ms.
const READY_LIMIT: u64 = 20;
/// The property CAP: the most entries of a queue minus one; contiguous queues required; the time to
/// be ready; the NVM command set, and sets can be selected; the controller is ready together with
/// its media.
const CAPABILITIES: u64 =
    (QUEUE_ENTRIES as u64 - 1) | 1 << 16 | READY_LIMIT << 24 | 1 << 37 | 1 << 43 | 1 << 59;

/// The time between two checks for hosts that have exceeded their keep alive time.
const LOOK: Duration = Duration::from_millis(200);
/// The time that a host gets to read why its connection ends, and to close it.
const FAREWELL: Duration = Duration::from_secs(1);

/// Sizes of a logical block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Block {
    /// 4096 bytes: a page.
    #[default]
    Page,
    /// 512 bytes. A write of a part of a page reads the page first.
    Sector,
}

impl Block {
    fn shift(self) -> u8 {
        match self {
            Self::Page => 12,
            Self::Sector => 9,
        }
    }
}

/// The drive as hosts see it.
#[derive(Clone, Debug, Default)]
pub struct NvmeExport {
    /// The drive's UUID. The drive's name, its serial number and the identifiers of its namespace
    /// are made from the UUID.
    pub uuid: [u8; 16],
    /// The size of a logical block.
    pub block: Block,
    /// `true` if writes are refused.
    pub read_only: bool,
    /// The placement handles of the drive. They are used only if the drive takes streams from the
    /// host.
    pub handles: Option<Handles>,
}

impl NvmeExport {
    /// Returns the NVMe qualified name, by which hosts connect.
    pub fn name(&self) -> String {
        format!("nqn.2014-08.org.nvmexpress:uuid:{}", uuid_text(self.uuid))
    }
}

/// Returns a UUID as text with hyphens.
pub fn uuid_text(uuid: [u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// A target with its threads. When it is dropped, it stops as [`NvmeServer::stop`] does.
pub struct NvmeServer {
    address: NvmeAddress,
    clients: Clients,
    keeper: Keeper,
    hosts: Hosts,
}

/// A view of the hosts of a target. The target may have ended.
#[derive(Clone)]
pub struct Hosts(Weak<Subsystem>);

/// A host that is connected, with its queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connected {
    /// The host's NVMe qualified name.
    pub host: String,
    /// The number of its controller.
    pub controller: u16,
    /// `true` if it is connected to a discovery controller.
    pub discovers: bool,
    /// The queues: the number of each queue, and the number of its commands under way. Queue 0 is
    /// the admin queue.
    pub queues: Vec<(u16, usize)>,
}

impl Hosts {
    /// Returns the connected hosts, in the order of their controllers.
    pub fn connected(&self) -> Vec<Connected> {
        self.0.upgrade().map_or_else(Vec::new, |subsystem| subsystem.connected())
    }
}

impl NvmeServer {
    /// Listens at `address` and serves the drive of `queue` to all who connect.
    ///
    /// # Errors
    /// The address is in use or not one of this machine.
    pub fn start(queue: Queue, address: &NvmeAddress, export: &NvmeExport) -> io::Result<Self> {
        Self::start_with(queue, address, Self::listen(address)?, export, Limits::default())
    }

    /// Listens at `address`, for [`NvmeServer::start_with`].
    ///
    /// # Errors
    /// The errors of [`NvmeServer::start`].
    pub fn listen(address: &NvmeAddress) -> io::Result<Listener> {
        Listener::tcp(&address.resolved()?)
    }

    /// Serves as [`NvmeServer::start`] does, with an existing listener, and with these limits.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start_with(
        queue: Queue,
        address: &NvmeAddress,
        listener: Listener,
        export: &NvmeExport,
        limits: Limits,
    ) -> io::Result<Self> {
        let address = match listener.tcp_address()? {
            Some(host) => NvmeAddress { host, block: address.block },
            None => address.clone(),
        };
        let faults = Arc::clone(queue.faults());
        let subsystem = Arc::new(Subsystem::new(queue, export));
        let keeper = Keeper::start(Arc::downgrade(&subsystem))?;
        let hosts = Hosts(Arc::downgrade(&subsystem));
        let serve = move |client: &Connection| serve(client, &subsystem);
        let clients = Clients::start(listener, "nvme", limits, serve)?;
        faults.can_end(clients.seen());
        Ok(Self { address, clients, keeper, hosts })
    }

    /// Returns the address at which the target listens. For port 0 it has the port that the system
    /// chose.
    pub fn address(&self) -> &NvmeAddress {
        &self.address
    }

    /// Returns a view of the hosts.
    pub fn hosts(&self) -> Hosts {
        self.hosts.clone()
    }

    /// Closes all connections and waits for their threads. Commands that the drive has not answered
    /// get no answer.
    pub fn stop(self) {
        drop(self.clients);
        drop(self.keeper);
    }
}

/// The thread that ends controllers whose hosts have exceeded their keep alive time. It stops when
/// this value is dropped.
struct Keeper {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    fn start(subsystem: Weak<Subsystem>) -> io::Result<Self> {
        let (stop, stopped) = sync_channel(0);
        let run = move || Self::run(&subsystem, &stopped);
        let thread = std::thread::Builder::new().name("nvme-keeper".into()).spawn(run)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    fn run(subsystem: &Weak<Subsystem>, stopped: &Receiver<()>) {
        while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let Some(subsystem) = subsystem.upgrade() else { break };
            subsystem.remove_lost();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves one connection until it ends.
fn serve(client: &Connection, subsystem: &Arc<Subsystem>) -> io::Result<()> {
    let Connection { socket, window } = client;
    let limits = window.limits();
    let deadline = Instant::now() + limits.negotiation;
    let mut until = Until { socket, deadline };
    let address = socket.local_address();
    let joined = match fabrics::connect(&mut until, subsystem, window, address) {
        Ok(Some(joined)) => joined,
        Ok(None) => return Ok(()),
        Err(End::Gone(error)) => return Err(error),
        Err(End::Fatal(fatal, header)) => {
            pdu::terminate(&mut until, fatal, &header)?;
            return part(socket);
        }
    };
    socket.set_patience(Some(limits.patience))?;
    transmit(client, subsystem, joined)
}

/// Executes the commands of a queue until its connection ends.
fn transmit(client: &Connection, subsystem: &Arc<Subsystem>, joined: Joined) -> io::Result<()> {
    let Connection { socket, window } = client;
    let Joined { controller, line } = joined;
    let line = Arc::new(line);
    let ended = std::thread::scope(|scope| {
        let (replies, queued) = channel();
        let write = {
            let line = Arc::clone(&line);
            move || replies::write(socket, &queued, window, &line)
        };
        std::thread::Builder::new().name("nvme-replies".into()).spawn_scoped(scope, write)?;
        let subsystem = Arc::clone(subsystem);
        let link = Link::new(subsystem, Arc::clone(&controller), line.clone(), window, replies);
        let link = Arc::new(link);
        let hand_over = || link.queue.hand_over();
        let input = BufReader::with_capacity(PIECE, Requests::new(socket, window, &hand_over));
        let ended = Reader::new(input, Arc::clone(&link), window).run();
        controller.leave(line.queue);
        if line.queue == 0 {
            link.subsystem.remove(&controller);
        }
        match ended {
            Err(End::Fatal(fatal, header)) => {
                link.send(Reply::End(fatal, header));
                Ok(true)
            }
            Err(End::Gone(error)) => Err(error),
            Ok(()) => Ok(false),
        }
        // The thread that writes answers ends when the last one is written.
    });
    if ended? { part(socket) } else { Ok(()) }
}

/// Waits until the host has read the last PDU and closes the connection. If the target closed it
/// first, unread input would reset the connection, and the host could lose the PDU.
fn part(socket: &Socket) -> io::Result<()> {
    socket.finish();
    let mut rest = Until { socket, deadline: Instant::now() + FAREWELL };
    io::copy(&mut Read::by_ref(&mut rest).take(1 << 20), &mut io::sink())?;
    Ok(())
}

/// Serves `input`, the bytes from a host, without a connection, and returns the bytes that the host
/// would get. For tests that send garbage.
#[doc(hidden)]
pub fn answers(queue: &Queue, export: &NvmeExport, input: &[u8]) -> Vec<u8> {
    struct Both<'a>(&'a [u8], Vec<u8>);
    impl Read for Both<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.read(into)
        }
    }
    impl Write for Both<'_> {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.1.write(data)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let subsystem = Arc::new(Subsystem::new(queue.clone(), export));
    let window = Window::new(&Room::new(Limits::default()), || {});
    let mut stream = Both(input, Vec::new());
    let joined = fabrics::connect(&mut stream, &subsystem, &window, None);
    let Both(rest, mut sent) = stream;
    let Joined { controller, line } = match joined {
        Ok(Some(joined)) => joined,
        Err(End::Fatal(fatal, header)) => {
            pdu::terminate(&mut sent, fatal, &header).expect("memory takes all bytes");
            return sent;
        }
        _ => return sent,
    };
    let line = Arc::new(line);
    std::thread::scope(|scope| {
        let (replies, queued) = channel();
        let (sent, window, line) = (&mut sent, &window, &line);
        scope.spawn(move || {
            let mut head = 1;
            for reply in queued {
                replies::encode(sent, &reply, line, &mut head).expect("memory takes all bytes");
                replies::answered(&reply, window, line);
            }
        });
        let link = Arc::new(Link::new(subsystem, controller, Arc::clone(line), window, replies));
        let ended = Reader::new(rest, Arc::clone(&link), window).run();
        link.queue.hand_over();
        if let Err(End::Fatal(fatal, header)) = ended {
            link.send(Reply::End(fatal, header));
        }
        link.controller.leave(line.queue);
        link.subsystem.remove(&link.controller);
    });
    sent
}
