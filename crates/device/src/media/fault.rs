//! A medium that passes everything to another one, and fails on demand.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Media;

/// A fault of the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Reads of a range that holds this byte end with EIO.
    Read(u64),
    /// The n-th write from now on (0: the next one), and each one after it, ends with EIO.
    Write(u64),
    /// The n-th write from now on (0: the next one), and each one after it, ends with ENOSPC.
    Full(u64),
    /// The n-th sync from now on, and each one after it, ends with EIO.
    Sync(u64),
}

/// A medium that fails on demand. While a drive owns it, faults are set through its handle
/// [`Faults`].
pub struct FaultMedia<M> {
    inner: M,
    faults: Arc<Mutex<Vec<Fault>>>,
    failed: Arc<AtomicU64>,
}

/// Sets the faults of a medium that a drive owns.
#[derive(Clone)]
pub struct Faults {
    faults: Arc<Mutex<Vec<Fault>>>,
    failed: Arc<AtomicU64>,
}

impl Faults {
    /// Adds a fault.
    pub fn add(&self, fault: Fault) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    /// Takes all faults away: nothing fails from now on.
    pub fn clear(&self) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the number of operations that failed so far.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }
}

impl<M: Media> FaultMedia<M> {
    /// Returns the medium `inner` with faults, and the handle that sets them.
    pub fn new(inner: M) -> (Self, Faults) {
        let (faults, failed) = (Arc::default(), Arc::default());
        let media = Self { inner, faults: Arc::clone(&faults), failed: Arc::clone(&failed) };
        (media, Faults { faults, failed })
    }

    /// Fails if a fault is due. `count` returns the countdown and the error number of a fault, if
    /// the fault concerns the operation.
    fn meet(&self, count: impl Fn(&mut Fault) -> Option<(&mut u64, i32)>) -> io::Result<()> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        for fault in faults.iter_mut() {
            let Some((left, error)) = count(fault) else { continue };
            if *left == 0 {
                self.failed.fetch_add(1, Ordering::Relaxed);
                return Err(io::Error::from_raw_os_error(error));
            }
            *left -= 1;
        }
        Ok(())
    }
}

const EIO: i32 = rustix::io::Errno::IO.raw_os_error();
const ENOSPC: i32 = rustix::io::Errno::NOSPC.raw_os_error();

impl<M: Media> Media for FaultMedia<M> {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let range = at..at + into.len() as u64;
        let is_hit = |fault: &Fault| matches!(fault, Fault::Read(byte) if range.contains(byte));
        if faults.iter().any(is_hit) {
            self.failed.fetch_add(1, Ordering::Relaxed);
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.inner.read_at(at, into)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.meet(|fault| match fault {
            Fault::Write(left) => Some((left, EIO)),
            Fault::Full(left) => Some((left, ENOSPC)),
            Fault::Read(_) | Fault::Sync(_) => None,
        })?;
        self.inner.write_at(at, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.meet(|fault| match fault {
            Fault::Sync(left) => Some((left, EIO)),
            _ => None,
        })?;
        self.inner.sync()
    }

    fn gives_room_back(&self) -> bool {
        self.inner.gives_room_back()
    }

    fn punch(&mut self, at: u64, len: u64) -> io::Result<()> {
        self.inner.punch(at, len)
    }

    fn reserve(&mut self, at: u64, len: u64) -> io::Result<()> {
        self.inner.reserve(at, len)
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }
}
