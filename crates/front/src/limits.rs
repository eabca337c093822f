//! The limits of what clients may take of a server: places, memory and time. docs/device.md has them in
//! a table.
//!
//! Clients that do nothing wrong meet none of them, and no client can keep another one out for long:
//! where places or memory run short, a client that holds them without use gives way.

use std::time::Duration;

/// The limits for the clients of one server. Tests take smaller ones.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections at a time.
    pub connections: usize,
    /// The longest time that a negotiation takes from its first byte to its last.
    pub negotiation: Duration,
    /// The time after which a client gives its place to a new one if it has asked for nothing yet.
    pub newcomer: Duration,
    /// The time without a request after which any other client gives its place to a new one.
    pub idle: Duration,
    /// The time in which a client takes or sends [`PIECE`] bytes, else it is closed.
    pub patience: Duration,
    /// The time for [`PIECE`] bytes while the client's place or memory is needed for another one.
    pub stalled: Duration,
    /// The most requests that a connection has under way.
    pub requests: usize,
    /// The most bytes of requests and replies that a connection has under way.
    pub window: usize,
    /// The part of [`Self::window`] that each connection has for itself.
    pub own: usize,
    /// Bytes that all connections have beside their own.
    pub shared: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            negotiation: Duration::from_secs(10),
            newcomer: Duration::from_secs(1),
            idle: Duration::from_secs(60),
            patience: Duration::from_secs(30),
            stalled: Duration::from_secs(1),
            requests: 1024,
            window: 64 << 20,
            own: 1 << 20,
            shared: 128 << 20,
        }
    }
}

/// The bytes that a client takes or sends within its patience.
pub const PIECE: usize = 64 << 10;

/// The time after which TCP asks a client that says nothing if it is still there.
pub const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// The time between two such questions.
pub const KEEP_ALIVE_STEP: Duration = Duration::from_secs(10);
/// The time after which TCP closes the connection of a client that does not acknowledge what it was sent.
pub const UNACKNOWLEDGED: Duration = Duration::from_secs(30);
