//! What holds the bytes of a drive: a file, memory, and media for tests that crash or fail.

mod crash;
mod fault;
mod file;
mod memory;

pub use crash::{CrashMedia, Op, SECTOR, State};
pub use fault::{Fault, FaultMedia, Faults};
pub use file::FileMedia;
pub use memory::MemMedia;

use std::io;

/// A range of bytes of fixed length. What was written is durable once a `sync` that began later has
/// returned; until then any part of it may be lost.
pub trait Media: Send {
    /// Fills `into` with the bytes from `at` on. Bytes never written are zeros.
    ///
    /// # Errors
    /// Bytes beyond the end; those of the medium.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes `bytes` from `at` on.
    ///
    /// # Errors
    /// Bytes beyond the end; those of the medium.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes durable what was written. After an error it is unknown what is.
    ///
    /// # Errors
    /// Those of the medium.
    fn sync(&mut self) -> io::Result<()>;

    /// Returns `true` if [`Media::punch`] can give room back, as far as is known.
    fn gives_room_back(&self) -> bool;

    /// Gives back the room of a range: it reads as zeros.
    ///
    /// # Errors
    /// Bytes beyond the end; [`io::ErrorKind::Unsupported`] where it cannot; those of the medium.
    fn punch(&mut self, at: u64, len: u64) -> io::Result<()>;

    /// Makes room for a range where room can run out, so that writes there do not meet its end.
    ///
    /// # Errors
    /// No room; those of the medium.
    fn reserve(&mut self, at: u64, len: u64) -> io::Result<()>;

    /// Bytes that it holds.
    fn len(&self) -> u64;

    /// Whether it holds none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The part of `all` from `at` on.
fn part(all: usize, at: u64, len: usize) -> io::Result<std::ops::Range<usize>> {
    usize::try_from(at)
        .ok()
        .and_then(|at| at.checked_add(len).filter(|&end| end <= all).map(|end| at..end))
        .ok_or_else(|| {
            let text = format!("{len} bytes from {at} on are beyond a medium of {all} bytes");
            io::Error::new(io::ErrorKind::UnexpectedEof, text)
        })
}
