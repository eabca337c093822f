//! A medium that passes every operation on to another medium. It can fail in the middle of a write,
//! and may refuse to give room back.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::media::{Media, SECTOR};

/// The n-th write from now on (`after`; 0: the next one) fails after it has written `eighths`
/// eighths of its sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short {
    pub(super) after: u32,
    pub(super) eighths: u32,
}

/// The fault to come, and the number of faults so far.
#[derive(Debug, Default)]
struct Plan {
    next: Option<Short>,
    done: u64,
}

/// A medium that can fail in the middle of a write.
pub(super) struct ShortMedia<M> {
    inner: M,
    plan: Shorts,
    punches: bool,
}

/// The handle that sets the faults of a medium that a drive owns.
#[derive(Clone, Debug, Default)]
pub(super) struct Shorts(Arc<Mutex<Plan>>);

impl Shorts {
    pub(super) fn set(&self, next: Option<Short>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next = next;
    }

    /// Returns the number of writes that ended early.
    pub(super) fn done(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).done
    }

    /// Returns the number of bytes that a write of `len` bytes does before it fails; `None` if it
    /// does not fail.
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
    /// Returns the medium around `inner`. Without `punches`, each attempt to give room back fails.
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
