//! A medium in memory. Clones share the bytes, so that a test can read them after the drive is
//! gone.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Media, part};

/// A medium in memory.
#[derive(Clone)]
pub struct MemMedia(Arc<Mutex<Vec<u8>>>);

impl MemMedia {
    /// Returns a medium of `len` zeros.
    pub fn new(len: u64) -> Self {
        Self::of(vec![0; len as usize])
    }

    /// Returns a medium that holds `bytes`.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(bytes)))
    }

    /// Returns a copy of the bytes.
    pub fn image(&self) -> Vec<u8> {
        self.bytes().clone()
    }

    /// Returns the bytes themselves, to inspect or to damage them.
    pub fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Media for MemMedia {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes();
        into.copy_from_slice(&bytes[part(bytes.len(), at, into.len())?]);
        Ok(())
    }

    fn write_at(&mut self, at: u64, from: &[u8]) -> io::Result<()> {
        let mut bytes = self.bytes();
        let range = part(bytes.len(), at, from.len())?;
        bytes[range].copy_from_slice(from);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn gives_room_back(&self) -> bool {
        true
    }

    fn punch(&mut self, at: u64, len: u64) -> io::Result<()> {
        let mut bytes = self.bytes();
        let range = part(bytes.len(), at, len as usize)?;
        bytes[range].fill(0);
        Ok(())
    }

    fn reserve(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> u64 {
        self.bytes().len() as u64
    }
}
