//! The limits on what clients may use of a server: places, memory and time. docs/device.md has them
//! in a table.
//!
//! Well-behaved clients never reach them, and no client can keep another one out for long: if
//! places or memory run short, a client that holds them without using them is closed.

use std::time::Duration;

/// The limits for the clients of one server. Tests take smaller ones.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections at a time.
    pub connections: usize,
    /// The longest time that a negotiation may take.
    pub negotiation: Duration,
    /// The time after which a client that has sent no request yet may lose its place to a new one.
    pub newcomer: Duration,
    /// The time without a request after which any other client may lose its place to a new one.
    pub idle: Duration,
    /// The time in which a client must take or send [`PIECE`] bytes; otherwise its connection is
    /// closed.
    pub patience: Duration,
    /// The shorter time for [`PIECE`] bytes while another client needs the place or the memory.
    pub stalled: Duration,
    /// The most requests that a connection has under way.
    pub requests: usize,
    /// The most bytes of requests and replies that a connection has under way.
    pub window: usize,
    /// The part of [`Self::window`] that is reserved for each connection, in bytes.
    pub own: usize,
    /// The bytes that all connections share, besides their reserved ones.
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

/// The number of bytes that a client must take or send within its patience.
pub const PIECE: usize = 64 << 10;

/// The time without data after which TCP sends a keep-alive probe to a client.
pub const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// The time between two keep-alive probes.
pub const KEEP_ALIVE_STEP: Duration = Duration::from_secs(10);
/// The time after which TCP closes the connection of a client that does not acknowledge sent data.
pub const UNACKNOWLEDGED: Duration = Duration::from_secs(30);
