//! Where a server listens: TCP or a Unix socket.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `HOST:PORT`; port 0 takes a free one.
    Tcp(String),
    /// `unix:PATH`.
    Unix(PathBuf),
}

/// What was typed is no address.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is no address; hint: HOST:PORT (127.0.0.1:10809) or unix:PATH")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(typed: &str) -> Result<Self, AddressError> {
        let error = || AddressError(typed.into());
        if let Some(path) = typed.strip_prefix("unix:") {
            return if path.is_empty() { Err(error()) } else { Ok(Self::Unix(path.into())) };
        }
        let (host, port) = typed.rsplit_once(':').ok_or_else(error)?;
        port.parse::<u16>().map_err(|_| error())?;
        if host.is_empty() { Err(error()) } else { Ok(Self::Tcp(typed.into())) }
    }
}

/// The URI that NBD clients take.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "nbd://{address}"),
            Self::Unix(path) => write!(f, "nbd+unix:///?socket={}", path.display()),
        }
    }
}

pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    pub fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => TcpListener::bind(address).map(Self::Tcp),
            Address::Unix(path) => {
                let listener = UnixListener::bind(path).or_else(|error| {
                    if error.kind() == io::ErrorKind::AddrInUse && abandoned(path) {
                        std::fs::remove_file(path)?;
                        return UnixListener::bind(path);
                    }
                    Err(error)
                })?;
                Ok(Self::Unix(listener, path.clone()))
            }
        }
    }

    pub fn address(&self) -> io::Result<Address> {
        Ok(match self {
            Self::Tcp(listener) => Address::Tcp(listener.local_addr()?.to_string()),
            Self::Unix(_, path) => Address::Unix(path.clone()),
        })
    }

    pub fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(listener) => {
                let socket = listener.accept()?.0;
                socket.set_nodelay(true)?;
                Ok(Socket::Tcp(socket))
            }
            Self::Unix(listener, _) => Ok(Socket::Unix(listener.accept()?.0)),
        }
    }

    /// Wakes who waits in [`Listener::accept`], and takes the Unix socket's file away.
    pub fn close(&self) {
        let _ = match self {
            Self::Tcp(listener) => rustix::net::shutdown(listener, rustix::net::Shutdown::Both),
            Self::Unix(listener, path) => {
                let _ = std::fs::remove_file(path);
                rustix::net::shutdown(listener, rustix::net::Shutdown::Both)
            }
        };
    }
}

/// Whether a path is a socket at which nobody listens, as a killed server leaves it.
fn abandoned(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).err().is_some_and(refused)
}

/// A connection. Shared by the threads that read and write it.
pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(socket) => Self::Tcp(socket.try_clone()?),
            Self::Unix(socket) => Self::Unix(socket.try_clone()?),
        })
    }

    /// Ends every read and write on it, also those that wait.
    pub fn shutdown(&self) {
        let _ = match self {
            Self::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Self::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }

    /// How long reads and writes wait; none waits for ever.
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
