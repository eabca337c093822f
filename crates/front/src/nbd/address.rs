//! The address of an NBD server, TCP or a Unix socket: read from text, and shown as a URI.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

/// The address at which a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NbdAddress {
    /// `HOST:PORT`; port 0 stands for any free port.
    Tcp(String),
    /// `unix:PATH`.
    Unix(PathBuf),
}

impl NbdAddress {
    /// Returns the IP addresses of the host's name; none for a Unix socket.
    pub(super) fn resolved(&self) -> io::Result<Vec<SocketAddr>> {
        match self {
            Self::Tcp(address) => Ok(address.to_socket_addrs()?.collect()),
            Self::Unix(_) => Ok(vec![]),
        }
    }

    /// Returns `true` if only this machine can reach a server at this address.
    ///
    /// # Errors
    /// A name without an IP address.
    pub fn is_local(&self) -> io::Result<bool> {
        Ok(self.resolved()?.iter().all(|address| address.ip().to_canonical().is_loopback()))
    }
}

/// The error of a text that is no address.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is no address; hint: HOST:PORT (127.0.0.1:10809) or unix:PATH")]
pub struct NbdAddressError(String);

impl FromStr for NbdAddress {
    type Err = NbdAddressError;

    fn from_str(typed: &str) -> Result<Self, NbdAddressError> {
        let error = || NbdAddressError(typed.into());
        if let Some(path) = typed.strip_prefix("unix:") {
            return if path.is_empty() { Err(error()) } else { Ok(Self::Unix(path.into())) };
        }
        let (host, port) = typed.rsplit_once(':').ok_or_else(error)?;
        port.parse::<u16>().map_err(|_| error())?;
        if host.is_empty() { Err(error()) } else { Ok(Self::Tcp(typed.into())) }
    }
}

/// Shows the URI that NBD clients take.
impl fmt::Display for NbdAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "nbd://{address}"),
            Self::Unix(path) => write!(f, "nbd+unix:///?socket={}", path.display()),
        }
    }
}
