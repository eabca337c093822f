//! The listener of a server, and its connections: TCP or a Unix socket.
//!
//! Only its owner may use the file of a Unix socket. The server removes the file at the end. A file
//! that a killed server left is replaced; that of a running server is not.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::limits::{KEEP_ALIVE, KEEP_ALIVE_STEP, PIECE, UNACKNOWLEDGED};
use super::window::{Way, Window};

/// The most connections that wait to be accepted.
const BACKLOG: i32 = 64;
/// The number of attempts, a millisecond apart, to lock a folder in which another server may be
/// making its socket.
const TRIES: u32 = 2000;

/// A listening socket, which accepts connections.
pub enum Listener {
    /// A TCP port.
    Tcp(TcpListener),
    /// A Unix socket, and its file.
    Unix(UnixListener, File),
}

/// The file of a Unix socket: its path, and its device and inode numbers.
pub struct File {
    path: PathBuf,
    identity: (u64, u64),
}

impl Listener {
    /// Listens at the first of these addresses that can be used.
    pub fn tcp(addresses: &[SocketAddr]) -> io::Result<Self> {
        TcpListener::bind(addresses).map(Self::Tcp)
    }

    /// Listens at a Unix socket.
    pub fn unix(path: &Path) -> io::Result<Self> {
        // Two servers that find the same abandoned socket must not both replace it.
        let place = lock(path)?;
        let address = address(path, &place)?;
        let listener = bind(&address).or_else(|error| match error {
            Errno::ADDRINUSE if is_abandoned(path, &address) => {
                std::fs::remove_file(path)?;
                Ok(bind(&address)?)
            }
            Errno::ADDRINUSE => {
                let text = format!(
                    "{} is in use; hint: stop the server there, or take another path",
                    path.display()
                );
                Err(io::Error::new(io::ErrorKind::AddrInUse, text))
            }
            other => Err(other.into()),
        })?;
        let identity = identity(path)?;
        Ok(Self::Unix(listener.into(), File { path: path.into(), identity }))
    }

    /// Returns the address of a TCP port; `None` for a Unix socket.
    pub fn tcp_address(&self) -> io::Result<Option<String>> {
        match self {
            Self::Tcp(listener) => Ok(Some(listener.local_addr()?.to_string())),
            Self::Unix(..) => Ok(None),
        }
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// The listener is closed.
    pub fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(listener) => {
                let socket = listener.accept()?.0;
                socket.set_nodelay(true)?;
                find_dead_peers(&socket)?;
                Ok(Socket::Tcp(socket))
            }
            Self::Unix(listener, _) => Ok(Socket::Unix(listener.accept()?.0)),
        }
    }

    /// Wakes the thread that waits in [`Listener::accept`], and removes the Unix socket's file.
    pub fn close(&self) {
        let _ = match self {
            Self::Tcp(listener) => rustix::net::shutdown(listener, rustix::net::Shutdown::Both),
            Self::Unix(listener, file) => {
                // The file may have been removed, and another server may have its socket there now.
                if identity(&file.path).is_ok_and(|identity| identity == file.identity) {
                    let _ = std::fs::remove_file(&file.path);
                }
                rustix::net::shutdown(listener, rustix::net::Shutdown::Both)
            }
        };
    }
}

/// Makes TCP close the connection of a host that is gone without closing it.
fn find_dead_peers(socket: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, KEEP_ALIVE)?;
    sockopt::set_tcp_keepintvl(socket, KEEP_ALIVE_STEP)?;
    #[cfg(target_os = "linux")]
    sockopt::set_tcp_user_timeout(socket, UNACKNOWLEDGED.as_millis() as u32)?;
    Ok(())
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = std::fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Opens the folder of a file.
fn folder(path: &Path) -> io::Result<OwnedFd> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder.unwrap_or(Path::new(".")), flags, Mode::empty())?)
}

/// Returns the address of a Unix socket in this folder. An address has at most about 100 bytes, so
/// a longer path is given relative to the open folder.
fn address(path: &Path, folder: &OwnedFd) -> io::Result<SocketAddrUnix> {
    let name = path.file_name().unwrap_or_default();
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    SocketAddrUnix::new(path).or_else(|_| SocketAddrUnix::new(&short)).map_err(|_| {
        let text = format!(
            "the name of {} is too long for a socket; hint: a name of 80 bytes",
            path.display()
        );
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })
}

/// Connects to the Unix socket at `path`.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let folder = folder(path)?;
    let socket = socket(SocketFlags::empty())?;
    rustix::net::connect(&socket, &address(path, &folder)?)?;
    Ok(socket.into())
}

/// Locks the folder of a file until the result is closed. If the file system has no locks, or if
/// another process holds the lock too long, the folder is not locked; this is no error.
fn lock(path: &Path) -> io::Result<OwnedFd> {
    let folder = folder(path)?;
    for _ in 0..TRIES {
        match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(1)),
            _ => break,
        }
    }
    Ok(folder)
}

fn socket(flags: SocketFlags) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | flags;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// Returns a listening socket whose file other users can never open: on Linux the file gets the
/// mode of the socket.
fn bind(address: &SocketAddrUnix) -> Result<OwnedFd, Errno> {
    let socket = socket(SocketFlags::empty())?;
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Returns `true` if a path is a socket at which nobody listens, as a killed server leaves it. Does
/// not wait for a busy server.
fn is_abandoned(path: &Path, address: &SocketAddrUnix) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let connected = socket(SocketFlags::NONBLOCK).and_then(|s| rustix::net::connect(&s, address));
    is_socket && connected == Err(Errno::CONNREFUSED)
}

/// A connection, shared by the threads that read and write it.
pub enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// Returns `true` if the client of a Unix socket is root or this process's own user. The mode
    /// of the socket keeps out other users, but not a client that got an open descriptor from root
    /// or from the owner. A client of TCP is neither.
    pub fn is_of_owner_or_root(&self) -> io::Result<bool> {
        match self {
            Self::Tcp(_) => Ok(false),
            Self::Unix(socket) => {
                let peer = rustix::net::sockopt::socket_peercred(socket)?;
                Ok(peer.uid.is_root() || peer.uid == rustix::process::getuid())
            }
        }
    }

    /// Returns another handle of this connection.
    ///
    /// # Errors
    /// The system refuses.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(socket) => Self::Tcp(socket.try_clone()?),
            Self::Unix(socket) => Self::Unix(socket.try_clone()?),
        })
    }

    /// Ends every read and write on the connection, also those that wait.
    pub fn shutdown(&self) {
        let _ = match self {
            Self::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Self::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }

    /// Ends the writes on the connection, so that the client sees the end of the data.
    pub fn finish(&self) {
        let _ = match self {
            Self::Tcp(socket) => socket.shutdown(Shutdown::Write),
            Self::Unix(socket) => socket.shutdown(Shutdown::Write),
        };
    }

    /// Returns the local address of the connection; `None` for a Unix socket.
    pub fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(socket) => socket.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    /// Sets the time that reads and writes wait; `None` lets them wait for ever.
    pub fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => {
                socket.set_read_timeout(patience)?;
                socket.set_write_timeout(patience)
            }
            Self::Unix(socket) => {
                socket.set_read_timeout(patience)?;
                socket.set_write_timeout(patience)
            }
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&*socket).read(into),
            Socket::Unix(socket) => (&*socket).read(into),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&*socket).write(data),
            Socket::Unix(socket) => (&*socket).write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection on which reads and writes fail after a deadline, even if some bytes arrive all the
/// time.
pub struct Until<'a> {
    pub(super) socket: &'a Socket,
    pub(super) deadline: Instant,
}

impl Until<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.deadline.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.set_patience(self.left()?)?;
        (&mut &*self.socket).read(into).map_err(timed_out)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.socket.set_patience(self.left()?)?;
        (&mut &*self.socket).write(data).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Turns `WouldBlock`, the error of a socket whose time ran out, into `TimedOut`.
pub fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

/// Reads requests from a connection. Between two requests the client may be silent as long as it
/// likes. Within a request it must send [`PIECE`] bytes in time.
pub struct Requests<'a> {
    pub(super) socket: &'a Socket,
    pub(super) window: &'a Window,
    /// The time at which the present piece of a request began, and the number of its bytes so far;
    /// `None` between requests.
    piece: Option<(Instant, usize)>,
    /// The function to call before each wait for the client, and at the end.
    before: &'a dyn Fn(),
}

impl<'a> Requests<'a> {
    /// Returns a reader of requests. The read timeout of `socket` must be the server's patience.
    /// `before` is called before each wait for the client, and at the end, so that answers do not
    /// wait for the next request.
    pub fn new(socket: &'a Socket, window: &'a Window, before: &'a dyn Fn()) -> Self {
        Self { socket, window, piece: None, before }
    }

    /// Notes that a request has begun or ended.
    pub fn set_within(&mut self, is_within: bool) {
        self.set_since(is_within.then(Instant::now));
    }

    /// Sets the time since which the client has to send bytes; `None` if it may be silent.
    pub fn set_since(&mut self, since: Option<Instant>) {
        self.piece = since.map(|since| (since, 0));
        if since.is_none() {
            self.window.moved(Way::Read);
        }
    }
}

impl Drop for Requests<'_> {
    fn drop(&mut self) {
        (self.before)();
    }
}

impl Read for Requests<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        (self.before)();
        let patience = self.window.limits().patience;
        loop {
            if let Some((began, _)) = self.piece {
                if began.elapsed() >= patience {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                self.window.waits(Way::Read, began);
            }
            match (&mut &*self.socket).read(into) {
                Ok(count) => {
                    self.window.moved(Way::Read);
                    self.piece = self.piece.map(|(began, bytes)| match bytes + count {
                        more if more >= PIECE => (Instant::now(), 0),
                        bytes => (began, bytes),
                    });
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.piece.is_none() && error.kind() == io::ErrorKind::WouldBlock => {
                }
                Err(error) => {
                    self.window.moved(Way::Read);
                    return Err(timed_out(error));
                }
            }
        }
    }
}

/// Writes replies to a connection. The client must take [`PIECE`] bytes in time.
pub struct Replies<'a> {
    pub(super) socket: &'a Socket,
    pub(super) window: &'a Window,
}

impl Write for Replies<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let data = &data[..data.len().min(PIECE)];
        let patience = self.window.limits().patience;
        let (began, mut done) = (Instant::now(), 0);
        self.window.waits(Way::Write, began);
        let written = loop {
            match (&mut &*self.socket).write(&data[done..]) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(timed_out(error)),
            }
            if done == data.len() {
                break Ok(done);
            }
            if began.elapsed() >= patience {
                break Err(io::ErrorKind::TimedOut.into());
            }
        };
        self.window.moved(Way::Write);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_gone_without_a_word_is_found() {
        let listener = Listener::tcp(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let address = listener.tcp_address().unwrap().unwrap();
        let _client = TcpStream::connect(address).unwrap();
        let Socket::Tcp(socket) = listener.accept().unwrap() else { panic!("a socket of TCP") };
        assert_eq!(sockopt::socket_keepalive(&socket), Ok(true));
        assert_eq!(sockopt::tcp_keepidle(&socket), Ok(KEEP_ALIVE));
        assert_eq!(sockopt::tcp_keepintvl(&socket), Ok(KEEP_ALIVE_STEP));
        #[cfg(target_os = "linux")]
        assert_eq!(sockopt::tcp_user_timeout(&socket), Ok(UNACKNOWLEDGED.as_millis() as u32));
    }
}
