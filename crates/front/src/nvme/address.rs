//! The address of an NVMe/TCP target: read from text, and shown.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use thiserror::Error;

use super::Block;

/// The address at which a target listens, `HOST:PORT`, and the size of its blocks:
/// `HOST:PORT,block=512`. Port 0 stands for any free port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmeAddress {
    pub(super) host: String,
    /// The size of a logical block.
    pub block: Block,
}

impl NvmeAddress {
    /// Returns the IP addresses of the host's name.
    pub(super) fn resolved(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(self.host.to_socket_addrs()?.collect())
    }

    /// Returns `true` if only this machine can reach a target at this address.
    ///
    /// # Errors
    /// A name without an IP address.
    pub fn is_local(&self) -> io::Result<bool> {
        Ok(self.resolved()?.iter().all(|address| address.ip().to_canonical().is_loopback()))
    }
}

/// The error of a text that is no address.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NvmeAddressError {
    /// The text has no host or no port.
    #[error("`{0}` is no address; hint: HOST:PORT (127.0.0.1:4420)")]
    Address(String),
    /// The text asks for an unsupported block size.
    #[error(
        "`{0}` names no size of a block; hint: HOST:PORT,block=512, or HOST:PORT for 4096 bytes"
    )]
    Block(String),
}

impl FromStr for NvmeAddress {
    type Err = NvmeAddressError;

    fn from_str(typed: &str) -> Result<Self, NvmeAddressError> {
        let (host, block) = match typed.split_once(',') {
            None => (typed, Block::Page),
            Some((host, "block=4096")) => (host, Block::Page),
            Some((host, "block=512")) => (host, Block::Sector),
            Some(_) => return Err(NvmeAddressError::Block(typed.into())),
        };
        let port = host.rsplit_once(':').filter(|(name, _)| !name.is_empty() && *name != "unix");
        match port.map(|(_, port)| port.parse::<u16>()) {
            Some(Ok(_)) => Ok(Self { host: host.into(), block }),
            _ => Err(NvmeAddressError::Address(typed.into())),
        }
    }
}

impl fmt::Display for NvmeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)
    }
}
