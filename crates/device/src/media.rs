//! The media that hold the bytes of a drive: a file, memory, and two media for tests, one that
//! crashes and one that fails.

mod crash;
mod fault;
mod file;
mod memory;
mod uncached;

pub use crash::{CrashMedia, Op, SECTOR, State};
pub use fault::{Fault, FaultMedia, Faults};
pub use file::FileMedia;
pub use memory::MemMedia;
pub(crate) use uncached::Uncached;
pub use uncached::bypass_page_cache;

use std::io;

/// A range of bytes of fixed length. A write is durable once a `sync` that began later has
/// returned; until then any part of it may be lost.
pub trait Media: Send {
    /// Fills `into` with the bytes from `at` on. Bytes never written are zeros.
    ///
    /// # Errors
    /// Bytes beyond the end; errors of the medium.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes `bytes` from `at` on.
    ///
    /// # Errors
    /// Bytes beyond the end; errors of the medium.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes every write so far durable. After an error it is unknown which of them are.
    ///
    /// # Errors
    /// The errors of the medium.
    fn sync(&mut self) -> io::Result<()>;

    /// Returns `true` if [`Media::punch`] is expected to give room back.
    fn gives_room_back(&self) -> bool;

    /// Gives back the room of a range, which then reads as zeros.
    ///
    /// # Errors
    /// Bytes beyond the end; [`io::ErrorKind::Unsupported`] if the medium cannot give room back;
    /// errors of the medium.
    fn punch(&mut self, at: u64, len: u64) -> io::Result<()>;

    /// Reserves room for a range if the medium can, so that later writes there do not run out of
    /// room.
    ///
    /// # Errors
    /// No room; errors of the medium.
    fn reserve(&mut self, at: u64, len: u64) -> io::Result<()>;

    /// Returns the number of bytes that the medium holds.
    fn len(&self) -> u64;

    /// Returns `true` if the medium holds no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns the range of `len` bytes from `at` on, or an error if a medium of `all` bytes does not
/// have the whole range.
fn part(all: usize, at: u64, len: usize) -> io::Result<std::ops::Range<usize>> {
    usize::try_from(at)
        .ok()
        .and_then(|at| at.checked_add(len).filter(|&end| end <= all).map(|end| at..end))
        .ok_or_else(|| {
            let text = format!("{len} bytes from {at} on are beyond a medium of {all} bytes");
            io::Error::new(io::ErrorKind::UnexpectedEof, text)
        })
}
