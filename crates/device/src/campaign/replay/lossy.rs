//! A file that can lose the writes since the last sync.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashgc_base::rng::Stream;

use crate::media::{FileMedia, Media, SECTOR};

/// A change of the file: its first byte, the bytes before, and the bytes after.
struct Change {
    at: u64,
    before: Vec<u8>,
    /// The new bytes; `None` for a hole.
    after: Option<Vec<u8>>,
}

struct Held {
    file: FileMedia,
    /// Changes since the last sync.
    changes: Vec<Change>,
}

/// A medium that can lose the writes since the last sync. Clones share the file.
#[derive(Clone)]
pub(super) struct Lossy(Arc<Mutex<Held>>);

impl Lossy {
    pub(super) fn new(file: FileMedia) -> Self {
        Self(Arc::new(Mutex::new(Held { file, changes: Vec::new() })))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loses any part of the writes since the last sync, sector by sector. Returns the number of
    /// writes of which a part was lost.
    pub(super) fn lose(&self, rng: &mut Stream) -> io::Result<u64> {
        let mut held = self.held();
        let changes = std::mem::take(&mut held.changes);
        for change in changes.iter().rev() {
            held.file.write_at(change.at, &change.before)?;
        }
        let mut lost = 0;
        for Change { at, before, after } in &changes {
            let kind = rng.below(4);
            if kind > 1 {
                match after {
                    Some(bytes) => held.file.write_at(*at, bytes)?,
                    None => held.file.punch(*at, before.len() as u64)?,
                }
                continue;
            }
            lost += 1;
            let Some(bytes) = after.as_ref().filter(|_| kind == 1) else { continue };
            for (place, sector) in (*at..).step_by(SECTOR).zip(bytes.chunks(SECTOR)) {
                if rng.below(2) == 0 {
                    held.file.write_at(place, sector)?;
                }
            }
        }
        Ok(lost)
    }
}

impl Media for Lossy {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.held().file.read_at(at, into)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut held = self.held();
        let mut before = vec![0; bytes.len()];
        held.file.read_at(at, &mut before)?;
        held.file.write_at(at, bytes)?;
        held.changes.push(Change { at, before, after: Some(bytes.to_vec()) });
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.held().changes.clear();
        Ok(())
    }

    fn reserve(&mut self, at: u64, len: u64) -> io::Result<()> {
        self.held().file.reserve(at, len)
    }

    fn gives_room_back(&self) -> bool {
        self.held().file.gives_room_back()
    }

    fn punch(&mut self, at: u64, len: u64) -> io::Result<()> {
        let mut held = self.held();
        let mut before = vec![0; len as usize];
        held.file.read_at(at, &mut before)?;
        held.file.punch(at, len)?;
        held.changes.push(Change { at, before, after: None });
        Ok(())
    }

    fn len(&self) -> u64 {
        self.held().file.len()
    }
}
