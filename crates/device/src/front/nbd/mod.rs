//! A server of the NBD protocol: fixed newstyle negotiation, structured replies, block status.
//!
//! Each connection has a thread that reads requests ([`transmission`]) and one that writes replies
//! ([`replies`]), so a client that does not read its replies holds up nobody else. A flush covers what
//! was completed on every connection, which is what `CAN_MULTI_CONN` promises.
//!
//! What is refused: TLS, extended headers, resize, fast zero, and meta contexts other than
//! `base:allocation`.
//!
//! # Source
//! The NBD protocol, <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>.

mod negotiation;
mod replies;
mod socket;
mod transmission;
mod wire;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::queue::Queue;
pub use socket::{Address, AddressError};
use socket::{Listener, Socket};

/// Connections at a time; more are closed at once.
const CONNECTIONS: usize = 64;
/// How long the parts of a negotiation may be apart.
const PATIENCE: Duration = Duration::from_secs(10);

/// What clients see of the drive.
#[derive(Clone, Debug, Default)]
pub struct Export {
    /// Its name; clients that name none are given this one too.
    pub name: String,
    /// A word on it for people.
    pub description: String,
    /// Whether writes are refused.
    pub read_only: bool,
}

type Connections = Arc<Mutex<Vec<(Socket, JoinHandle<()>)>>>;

/// A server with its threads. Dropped, it stops as [`Server::stop`] does.
pub struct Server {
    address: Address,
    listener: Arc<Listener>,
    stopping: Arc<AtomicBool>,
    connections: Connections,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at `address` and serves the drive of `queue` to who connects.
    ///
    /// # Errors
    /// The address is in use or not one of this machine.
    pub fn start(queue: Queue, address: &Address, export: Export) -> io::Result<Self> {
        let listener = Arc::new(Listener::bind(address)?);
        let address = listener.address()?;
        let stopping = Arc::new(AtomicBool::new(false));
        let connections = Connections::default();
        let thread = {
            let (listener, stopping) = (Arc::clone(&listener), Arc::clone(&stopping));
            let connections = Arc::clone(&connections);
            let accept = move || accept(&listener, &stopping, &connections, &queue, &export);
            std::thread::Builder::new().name("nbd".into()).spawn(accept)?
        };
        Ok(Self { address, listener, stopping, connections, thread: Some(thread) })
    }

    /// Where it listens; of TCP port 0 the port that was given.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Closes all connections and waits for their threads. Requests that the drive has not answered
    /// get no answer.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.stopping.store(true, Ordering::SeqCst);
        self.listener.close();
        let _ = thread.join();
        let connections =
            std::mem::take(&mut *self.connections.lock().unwrap_or_else(PoisonError::into_inner));
        for (socket, _) in &connections {
            socket.shutdown();
        }
        for (_, thread) in connections {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Accepts connections until the server stops.
fn accept(
    listener: &Listener,
    stopping: &AtomicBool,
    connections: &Connections,
    queue: &Queue,
    export: &Export,
) {
    while !stopping.load(Ordering::SeqCst) {
        let Ok(socket) = listener.accept() else {
            // Out of file descriptors, say: what is connected goes on.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let mut connections = connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.retain(|(_, thread)| !thread.is_finished());
        if connections.len() >= CONNECTIONS {
            continue;
        }
        let Ok(kept) = socket.try_clone() else { continue };
        let (queue, export) = (queue.clone(), export.clone());
        let serve = move || {
            // An error is the client's: it is gone, or sent what is not NBD.
            let _ = serve(&socket, &queue, &export);
            socket.shutdown();
        };
        if let Ok(thread) = std::thread::Builder::new().name("nbd-client".into()).spawn(serve) {
            connections.push((kept, thread));
        }
    }
}

/// Serves one client until it goes.
fn serve(socket: &Socket, queue: &Queue, export: &Export) -> io::Result<()> {
    socket.set_patience(Some(PATIENCE))?;
    let Some(agreed) = negotiation::negotiate(socket, export, queue.size())? else {
        return Ok(());
    };
    socket.set_patience(None)?;
    transmission::serve(socket, queue, export, agreed)
}
