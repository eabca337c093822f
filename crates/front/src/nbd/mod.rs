//! A server of the NBD protocol: fixed newstyle negotiation, structured replies, block status.
//!
//! Each connection has a thread that reads requests ([`transmission`]) and one that writes replies
//! ([`replies`]), so a client that does not read its replies delays no other client. A flush covers
//! the commands completed on every connection, as `CAN_MULTI_CONN` promises. [`Limits`] bound the
//! resources that clients use; there is no authentication and no encryption.
//!
//! A structured reply to a read names holes instead of sending their zeros.
//!
//! The server refuses TLS, extended headers, resize, fast zero, and meta contexts other than
//! `base:allocation`.
//!
//! # Source
//! The NBD protocol, <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>.

mod address;
mod negotiation;
mod replies;
mod transmission;
mod wire;

use std::io;
use std::sync::Arc;
use std::time::Instant;

pub use super::clients::Seen;
use super::clients::{Clients, Connection};
use super::limits::Limits;
use super::queue::Queue;
use super::socket::Listener;
pub use address::{NbdAddress, NbdAddressError};

/// The drive as clients see it.
#[derive(Clone, Debug, Default)]
pub struct NbdExport {
    /// The name of the export. Clients that name no export get this one, too.
    pub name: String,
    /// A description for people.
    pub description: String,
    /// `true` if writes are refused.
    pub read_only: bool,
}

/// A server with its threads. When it is dropped, it stops as [`NbdServer::stop`] does.
pub struct NbdServer {
    address: NbdAddress,
    clients: Clients,
}

impl NbdServer {
    /// Listens at `address` and serves the drive of `queue` to all who connect. Only its owner may
    /// use a Unix socket.
    ///
    /// # Errors
    /// The address is in use or not one of this machine.
    pub fn start(queue: Queue, address: &NbdAddress, export: NbdExport) -> io::Result<Self> {
        Self::start_with(queue, address, Self::listen(address)?, export, Limits::default())
    }

    /// Listens at `address`, for [`NbdServer::start_with`].
    ///
    /// # Errors
    /// The errors of [`NbdServer::start`].
    pub fn listen(address: &NbdAddress) -> io::Result<Listener> {
        match address {
            NbdAddress::Tcp(_) => Listener::tcp(&address.resolved()?),
            NbdAddress::Unix(path) => Listener::unix(path),
        }
    }

    /// Serves as [`NbdServer::start`] does, with an existing listener, and with these limits.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start_with(
        queue: Queue,
        address: &NbdAddress,
        listener: Listener,
        export: NbdExport,
        limits: Limits,
    ) -> io::Result<Self> {
        let address = listener.tcp_address()?.map_or_else(|| address.clone(), NbdAddress::Tcp);
        let (queue, faults) = (queue.outliving(), Arc::clone(queue.faults()));
        let serve = move |client: &Connection| serve(client, &queue, &export);
        let clients = Clients::start(listener, "nbd", limits, serve)?;
        faults.can_end(clients.seen());
        Ok(Self { address, clients })
    }

    /// Returns the address at which the server listens. For TCP port 0 it has the port that the
    /// system chose.
    pub fn address(&self) -> &NbdAddress {
        &self.address
    }

    /// Returns a view of the connections.
    pub fn seen(&self) -> Seen {
        self.clients.seen()
    }

    /// Closes all connections and waits for their threads. Requests that the drive has not answered
    /// get no answer.
    pub fn stop(self) {
        drop(self.clients);
    }
}

/// Serves one client until it disconnects.
fn serve(client: &Connection, queue: &Queue, export: &NbdExport) -> io::Result<()> {
    let limits = client.window.limits();
    let deadline = Instant::now() + limits.negotiation;
    let agreed = negotiation::negotiate(&client.socket, deadline, export, queue.size())?;
    let Some(agreed) = agreed else { return Ok(()) };
    client.socket.set_patience(Some(limits.patience))?;
    transmission::serve(client, queue, export, agreed)
}
