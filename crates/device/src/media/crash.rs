//! A medium that writes down every operation, so that afterwards any image that a crash may leave can
//! be made: of what was written since the last sync, any part is there, in 512-byte sectors.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Media, part};

/// An operation on the medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Bytes were written from here on.
    Write(u64, Box<[u8]>),
    /// A range was given back: it reads as zeros.
    Punch(u64, u64),
    /// All before is durable.
    Sync,
}

/// Bytes that are written as a whole or not at all.
pub const SECTOR: usize = 512;

impl Op {
    /// Does it to an image of the medium.
    pub fn apply(&self, image: &mut [u8]) {
        match self {
            Self::Write(at, bytes) => image[*at as usize..][..bytes.len()].copy_from_slice(bytes),
            Self::Punch(at, len) => image[*at as usize..][..*len as usize].fill(0),
            Self::Sync => {}
        }
    }

    /// Does it to the sectors of an image for which `keep` says so.
    pub fn apply_torn(&self, image: &mut [u8], mut keep: impl FnMut(usize) -> bool) {
        let Self::Write(at, bytes) = self else { return self.apply(image) };
        for (sector, bytes) in bytes.chunks(SECTOR).enumerate() {
            if keep(sector) {
                image[*at as usize + sector * SECTOR..][..bytes.len()].copy_from_slice(bytes);
            }
        }
    }
}

/// What was done to a medium.
#[derive(Default)]
struct History {
    /// All operations, in order.
    ops: Vec<Op>,
    image: Vec<u8>,
}

/// See the module's text. Copies share the medium.
#[derive(Clone)]
pub struct CrashMedia(Arc<Mutex<History>>);

impl CrashMedia {
    /// A medium that holds `image`, all of it durable.
    pub fn of(image: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(History { ops: Vec::new(), image })))
    }

    /// A copy of its bytes.
    pub fn image(&self) -> Vec<u8> {
        self.history().image.clone()
    }

    /// Operations so far.
    pub fn len_of_history(&self) -> usize {
        self.history().ops.len()
    }

    /// Takes out the operations so far.
    pub fn take_history(&self) -> Vec<Op> {
        std::mem::take(&mut self.history().ops)
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Media for CrashMedia {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let history = self.history();
        into.copy_from_slice(&history.image[part(history.image.len(), at, into.len())?]);
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut history = self.history();
        let range = part(history.image.len(), at, bytes.len())?;
        history.image[range].copy_from_slice(bytes);
        history.ops.push(Op::Write(at, bytes.into()));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.history().ops.push(Op::Sync);
        Ok(())
    }

    fn gives_room_back(&self) -> bool {
        true
    }

    fn punch(&mut self, at: u64, len: u64) -> io::Result<()> {
        let mut history = self.history();
        let range = part(history.image.len(), at, len as usize)?;
        history.image[range].fill(0);
        history.ops.push(Op::Punch(at, len));
        Ok(())
    }

    fn reserve(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> u64 {
        self.history().image.len() as u64
    }
}
