//! The control socket of a served drive. Programs beside the file system send hints, TRIMs and
//! flushes to it, and tools ask it for the state of the drive.
//!
//! # Protocol, version 2
//! The socket is a Unix socket. All numbers are little endian. The client sends requests, and the
//! server answers them in order; a client may send the next request before it has the answer.
//! Requests and answers are frames:
//!
//! | bytes | of a request | of an answer |
//! |---|---|---|
//! | 4 | bytes of the body, at most 65536 | bytes of the body |
//! | 2 | kind | status |
//! | 2 | 0 | 0 |
//! | | body | body |
//!
//! A page has 4096 bytes. A *range* is two numbers of 8 bytes: the first page, and the number of
//! pages. All ranges of a request together have at most as many pages as the drive. A number in
//! parentheses is a size in bytes.
//!
//! | kind | request | body | body of the answer |
//! |---|---|---|---|
//! | 1 | HELLO, the first one | `flashgc\0`, version (4) | version (4), bytes of a page (4), pages of the drive (8) |
//! | 2 | MOMENT | | pages that the host has written (8) |
//! | 3 | HINT | moment (8), ranges | pages written since that moment, which get no hint (8) |
//! | 4 | CANCEL | ranges | |
//! | 5 | TRIM | ranges | |
//! | 6 | FLUSH | | |
//! | 7 | STAT | | the drive's state, JSON |
//! | 8 | BLOCKS | | the map of all blocks, in the server's format |
//! | 9 | RECORD | an absolute path; empty: end the recording | a message, text |
//! | 10 | STOP | | |
//! | 11 | HINTED | ranges | pages with data (8), pages with a hint (8) |
//! | 12 | MARK | a name, text of 1 to 200 bytes | a message, text |
//! | 13 | FILES | number of the block device (8), files | |
//! | 14 | INJECT | a fault | its number (8), or the number of connections ended at once (8) |
//! | 15 | CLEAR | the number of a fault (8); empty: all | number of faults removed (8) |
//!
//! A *file* is the number of its inode (8), the number of files that had this inode before (4), its
//! stream (1; 255 is none), and zeros (3). FILES sets the streams of writes to files on that block
//! device. The number of the device is the kernel's: its lower 20 bits are the minor number, and
//! the major number is above them.
//!
//! A *fault* is its effect (1), the kind of commands (1), zeros (6), the number of commands (8; 0
//! is any number), the first byte of its range (8), the number of bytes in the range (8; both 0 is
//! the whole drive), and a time in nanoseconds (8). Effects are 1 unreadable, 2 fail, 3 delay, 4
//! drop, 5 disconnect, 6 end of life; only a delay has a time. Kinds are 0 all, 1 read, 2 write, 3
//! discard, 4 flush. Faults concern hosts only: no request of this socket meets one.
//!
//! A HINT says that the host knew at the moment that it will write these pages soon. Moment 2^64 -
//! 1 is the moment at which the drive executes the request. FLUSH makes all requests durable that
//! were answered before it was sent. STOP is answered before the drive stops.
//!
//! | status | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | no request of this protocol; the connection is closed |
//! | 2 | another version; the connection is closed |
//! | 3 | pages that the drive does not have |
//! | 4 | the drive is read-only |
//! | 5 | no room for the data |
//! | 6 | damaged data, or the host's file system failed |
//! | 7 | the drive is no longer served |
//! | 8 | refused: a future moment, a recording that cannot begin, a fault that cannot be set |
//!
//! With a status other than 0 the body is a line of text. A request that fails may be partly done.
//! A frame that has begun must end within 10 seconds, and the client must read an answer within 10
//! seconds.

mod client;
mod frame;
pub mod request;
mod serve;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::clients::{Clients, Connection};
use super::limits::Limits;
use super::queue::Queue;
use super::socket::Listener;
pub use client::{ClientError, ControlClient};
pub use request::{ControlStatus, FileStream};

/// The longest time that a frame takes from its first byte to its last.
const PATIENCE: Duration = Duration::from_secs(10);

/// The version of the protocol.
pub const VERSION: u32 = 2;

/// The part of the serving program that answers requests of the control socket. Calls come from
/// several threads; a slow call delays only its own client.
pub trait Keeper: Send + Sync {
    /// Returns the drive's state as JSON.
    ///
    /// # Errors
    /// A message that says why it fails.
    fn stat(&self) -> Result<String, String>;

    /// Returns the map of all blocks.
    ///
    /// # Errors
    /// A message that says why it fails.
    fn blocks(&self) -> Result<Vec<u8>, String>;

    /// Records requests into `file`, an absolute path; `None` ends the recording. Returns a message
    /// for the client.
    ///
    /// # Errors
    /// A message that says why it fails.
    fn record(&self, file: Option<&Path>) -> Result<String, String>;

    /// Ends the present phase and begins one called `name`. Returns a message for the client.
    ///
    /// # Errors
    /// A message that says why it fails.
    fn mark(&self, name: &str) -> Result<String, String>;

    /// Sets the streams of files on the drive's block device with this number.
    ///
    /// # Errors
    /// A message that says why it fails.
    fn files(&self, device: u64, files: &[FileStream]) -> Result<(), String>;

    /// Begins to stop the drive. The server must be dropped in another thread.
    fn stop(&self);
}

/// A control server with its threads. When it is dropped, it closes all connections and waits for
/// their threads.
pub struct ControlServer {
    path: PathBuf,
    _clients: Clients,
}

impl ControlServer {
    /// Listens at the Unix socket `path`, which only its owner may use. The file that a killed
    /// server left is replaced.
    ///
    /// # Errors
    /// A running server or another file has this path; no such folder; a name that is too long.
    pub fn start(queue: Queue, path: &Path, keeper: Arc<dyn Keeper>) -> io::Result<Self> {
        Self::start_with(queue, path, keeper, PATIENCE)
    }

    /// Starts a server as [`ControlServer::start`] does, with another patience, for tests.
    #[doc(hidden)]
    pub fn start_with(
        queue: Queue,
        path: &Path,
        keeper: Arc<dyn Keeper>,
        patience: Duration,
    ) -> io::Result<Self> {
        Self::start_at(queue, path, Listener::unix(path)?, keeper, patience)
    }

    /// Serves as [`ControlServer::start`] does, with an existing listener at `path`.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start_on(
        queue: Queue,
        path: &Path,
        listener: Listener,
        keeper: Arc<dyn Keeper>,
    ) -> io::Result<Self> {
        Self::start_at(queue, path, listener, keeper, PATIENCE)
    }

    fn start_at(
        queue: Queue,
        path: &Path,
        listener: Listener,
        keeper: Arc<dyn Keeper>,
        patience: Duration,
    ) -> io::Result<Self> {
        let desk = serve::Desk { queue: queue.spared(), keeper, patience };
        let serve = move |client: &Connection| {
            if !client.socket.is_of_owner_or_root()? {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            desk.serve(client)
        };
        let clients = Clients::start(listener, "control", Limits::default(), serve)?;
        Ok(Self { path: path.into(), _clients: clients })
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
