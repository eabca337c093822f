//! A disk for virtual machines: vhost-user-blk, which QEMU, Cloud Hypervisor and others attach.
//!
//! One machine at a time. Its thread takes requests from the virtqueue and submits commands to the drive's
//! queue; whichever thread executes one writes the answer into the machine's memory. The disk has sectors of
//! 4096 bytes, though requests of 512 bytes are served. It refuses secure erase, zones and migration.
//!
//! A client shares its memory and is trusted not to shrink it: the system kills a server whose client does.
//!
//! ```sh
//! qemu-system-x86_64 -chardev socket,id=flash,path=SOCKET -device vhost-user-blk-pci,chardev=flash \
//!     -object memory-backend-memfd,id=memory,size=1G,share=on -numa node,memdev=memory -m 1G ...
//! ```
//!
//! # Source
//! Virtual I/O Device (VIRTIO) 1.3, section 5.2; the vhost-user protocol of QEMU.

mod backend;
mod request;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use vhost::vhost_user::Listener as Socket;
use vhost_user_backend::{ShutdownHandle, VhostUserDaemon};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use super::queue::Queue;
use super::socket::Listener;
use backend::Backend;

/// The drive as machines see it.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    /// The serial number, of which machines see 20 bytes.
    pub serial: String,
    /// `true` if writes are refused.
    pub read_only: bool,
}

/// A server with its threads. Dropped, it ends the connection.
pub struct Server {
    path: PathBuf,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    listener: Listener,
    stopping: AtomicBool,
    connection: Mutex<Option<ShutdownHandle>>,
}

impl Server {
    /// Listens at the Unix socket `path`, which is for its owner alone, and serves the drive of
    /// `queue` to one machine after the other.
    ///
    /// # Errors
    /// A living server or another file is there; no such folder; too long a name.
    pub fn start(queue: Queue, path: &Path, disk: Disk) -> io::Result<Self> {
        let listener = Listener::unix(path)?;
        let mut socket = listener.unix_listener()?.map(Socket::from).ok_or(io::ErrorKind::Other)?;
        let (stopping, connection) = (AtomicBool::new(false), Mutex::default());
        let shared = Arc::new(Shared { listener, stopping, connection });
        let serve = {
            let (shared, queue) = (Arc::clone(&shared), queue.outliving());
            move || {
                while !shared.is_stopping() {
                    if shared.serve(&mut socket, Backend::new(queue.clone(), &disk)).is_none() {
                        // Out of file descriptors, say.
                        std::thread::sleep(Duration::from_millis(10));
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("vhost".into()).spawn(serve)?;
        Ok(Self { path: path.into(), shared, thread: Some(thread) })
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.shared.listener.close();
        self.shared.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn end(&self) {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = connection.as_ref() {
            connection.shutdown();
        }
    }

    /// Serves the next machine that connects until it goes. Returns `None` if none could be served.
    fn serve(&self, socket: &mut Socket, backend: Backend) -> Option<()> {
        let backend = Arc::new(backend);
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
        let mut daemon =
            VhostUserDaemon::new("vhost-client".into(), Arc::clone(&backend), memory).ok()?;
        daemon.start(socket).ok()?;
        let connection = daemon.shutdown_handle();
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = connection;
        if self.is_stopping() {
            self.end();
        }
        // An error is the machine's: it is gone, or sent what is not vhost-user.
        let _ = daemon.wait();
        backend.close();
        Some(())
    }
}
