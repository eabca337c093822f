//! The address of a target of NVMe/TCP, as it is typed and shown.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use thiserror::Error;

/// The address at which a target listens: `HOST:PORT`; port 0 takes a free one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(pub(super) String);

impl Address {
    /// Returns the addresses that the host's name stands for.
    pub(super) fn resolved(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(self.0.to_socket_addrs()?.collect())
    }

    /// Returns `true` if only this machine reaches a target there.
    ///
    /// # Errors
    /// A name that stands for nothing.
    pub fn is_local(&self) -> io::Result<bool> {
        Ok(self.resolved()?.iter().all(|address| address.ip().to_canonical().is_loopback()))
    }
}

/// The error of a text that is no address.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is no address; hint: HOST:PORT (127.0.0.1:4420)")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(typed: &str) -> Result<Self, AddressError> {
        let port = typed.rsplit_once(':').filter(|(host, _)| !host.is_empty() && *host != "unix");
        match port.map(|(_, port)| port.parse::<u16>()) {
            Some(Ok(_)) => Ok(Self(typed.into())),
            _ => Err(AddressError(typed.into())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
