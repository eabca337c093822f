//! A medium that writes a part and fails, or cannot give room back, around another.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::media::{Media, SECTOR};

/// The n-th write from now on (0: the next one) ends behind its first sectors, with an error; this many
/// of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short {
    pub(super) after: u32,
    pub(super) eighths: u32,
}

/// The fault that a medium waits to show, and the number of those that it showed.
#[derive(Debug, Default)]
struct Plan {
    next: Option<Short>,
    done: u64,
}

/// See the module's text.
pub(super) struct ShortMedia<M> {
    inner: M,
    plan: Shorts,
    punches: bool,
}

/// Sets what a medium that a drive owns will do.
#[derive(Clone, Debug, Default)]
pub(super) struct Shorts(Arc<Mutex<Plan>>);

impl Shorts {
    pub(super) fn set(&self, next: Option<Short>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next = next;
    }

    /// Writes that ended early.
    pub(super) fn done(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).done
    }

    /// Returns the bytes of a write of `len` bytes that are done before it fails; `None` where it does not fail.
    fn cut(&self, len: usize) -> Option<usize> {
        let mut plan = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = plan.next.as_mut()?;
        if let Some(after) = next.after.checked_sub(1) {
            next.after = after;
            return None;
        }
        let kept = (len * next.eighths as usize / 8) / SECTOR * SECTOR;
        (plan.next, plan.done) = (None, plan.done + 1);
        Some(kept)
    }
}

impl<M: Media> ShortMedia<M> {
    /// The medium `inner`; without `punches` it finds out that it gives no room back when it is asked to.
    pub(super) fn new(inner: M, plan: Shorts, punches: bool) -> Self {
        Self { inner, plan, punches }
    }
}

impl<M: Media> Media for ShortMedia<M> {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.inner.read_at(at, into)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let Some(kept) = self.plan.cut(bytes.len()) else { return self.inner.write_at(at, bytes) };
        self.inner.write_at(at, &bytes[..kept])?;
        let text = format!("{kept} of {} bytes were written", bytes.len());
        Err(io::Error::new(io::ErrorKind::WriteZero, text))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }

    fn reserve(&mut self, at: u64, len: u64) -> io::Result<()> {
        self.inner.reserve(at, len)
    }

    fn gives_room_back(&self) -> bool {
        self.inner.gives_room_back()
    }

    fn punch(&mut self, at: u64, len: u64) -> io::Result<()> {
        if !self.punches {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.inner.punch(at, len)
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }
}
