//! The places of relations' blocks on the device.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::extents::Extents;
use crate::pages::touched;
use crate::wal::{BLOCK, Fork, Relation, SEGMENT_BLOCKS};

/// The time for which the extents of a file are trusted. Files can be truncated, removed and made
/// again.
const BELIEVED: Duration = Duration::from_millis(200);
/// The shorter time for which a missing place is trusted. A block without a place may get one, and
/// a missing file may appear, since a standby sends the log before it has applied it.
const SOON: Duration = Duration::from_millis(20);

/// A server's data directory and device.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The data directory of the server.
    pub folder: PathBuf,
    /// The name of the server's folder in every tablespace, such as `PG_15_202209061`.
    pub version: String,
    /// The followed device, as `st_dev` encodes it. Files on other devices have no place.
    pub device: u64,
}

/// The place of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The block lies in these runs of pages of the device, in the order of its bytes.
    Pages(Vec<std::ops::Range<u64>>),
    /// The block has no place yet: it is new, and there is no old version.
    Nowhere,
    /// The block lies on another device.
    Elsewhere,
    /// The file does not exist: it was removed, or it is not made yet.
    Gone,
}

#[derive(PartialEq, Eq, Hash)]
struct Name {
    relation: Relation,
    fork: Fork,
    segment: u32,
}

enum State {
    Here(Extents),
    Elsewhere,
    Gone,
}

struct Held {
    looked: Instant,
    state: State,
}

/// A cache of the extents of files. A file is looked up when one of its blocks is located, unless
/// the last lookup is recent.
pub struct Places {
    cluster: Cluster,
    files: HashMap<Name, Held>,
    looks: u64,
}

impl Places {
    /// Makes an empty cache for the files of `cluster`.
    #[must_use]
    pub fn new(cluster: Cluster) -> Self {
        Self { cluster, files: HashMap::new(), looks: 0 }
    }

    /// Returns the number of lookups of a file.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// Returns the place that a block has at `now`, or had shortly before.
    pub fn locate(&mut self, relation: Relation, fork: Fork, block: u32, now: Instant) -> Place {
        let name = Name { relation, fork, segment: block / SEGMENT_BLOCKS };
        let at = u64::from(block % SEGMENT_BLOCKS) * BLOCK;
        if let Some(held) = self.files.get(&name) {
            let place = held.place(at);
            let may_come = matches!(place, Place::Nowhere | Place::Gone);
            let trusted = if may_come { SOON } else { BELIEVED };
            if now.saturating_duration_since(held.looked) < trusted {
                return place;
            }
        }
        self.looks += 1;
        let path = self.cluster.folder.join(relation.path(fork, block, &self.cluster.version));
        let held = Held { looked: now, state: look(&path, self.cluster.device) };
        let place = held.place(at);
        self.files.insert(name, held);
        place
    }

    /// Forgets the places of a relation's files.
    pub fn forget(&mut self, relation: Relation) {
        self.files.retain(|name, _| name.relation != relation);
    }

    /// Forgets the places of all files.
    pub fn forget_all(&mut self) {
        self.files.clear();
    }

    /// Drops the files that were not looked up lately. Regular calls bound the memory of the cache.
    pub fn tidy(&mut self, now: Instant) {
        self.files.retain(|_, held| now.saturating_duration_since(held.looked) < 100 * BELIEVED);
    }
}

impl Held {
    fn place(&self, at: u64) -> Place {
        match &self.state {
            State::Here(extents) => match extents.locate(at, BLOCK) {
                Some(pieces) => {
                    Place::Pages(pieces.map(|(at, length)| touched(at, length)).collect())
                }
                None => Place::Nowhere,
            },
            State::Elsewhere => Place::Elsewhere,
            State::Gone => Place::Gone,
        }
    }
}

/// Looks up the file at `path`. The file is not kept open, since a removed file keeps its space
/// while it is open.
fn look(path: &std::path::Path, device: u64) -> State {
    let state = File::open(path).and_then(|file| {
        if file.metadata()?.dev() == device {
            Extents::of(&file).map(State::Here)
        } else {
            Ok(State::Elsewhere)
        }
    });
    match state {
        Ok(state) => state,
        Err(error) if error.kind() == io::ErrorKind::NotFound => State::Gone,
        Err(_) => State::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_yet_is_soon_looked_for_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let device = folder.path().metadata().expect("it is there").dev();
        let cluster = Cluster { folder: folder.path().into(), version: String::new(), device };
        let relation = Relation { tablespace: 1663, database: 5, number: 7 };
        let (mut places, began) = (Places::new(cluster), Instant::now());
        let mut find = |after| places.locate(relation, Fork::Main, 0, began + after);
        assert_eq!(find(Duration::ZERO), Place::Gone);
        std::fs::create_dir_all(folder.path().join("base/5")).expect("room");
        std::fs::write(folder.path().join("base/5/7"), []).expect("room");
        assert_eq!(find(SOON - Duration::from_millis(1)), Place::Gone);
        assert_ne!(find(SOON), Place::Gone);
    }
}
