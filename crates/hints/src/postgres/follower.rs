//! Follows the pages that a server has changed in its memory and not yet written.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use super::places::{Cluster, Place, Places};
use crate::pages::{Changes, runs};
use crate::wal::{BlockReference, Decoder, Fork, Record, Relation, WalError, What};

/// Counters of a follower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// The number of bytes of the log read.
    pub bytes: u64,
    /// The number of records.
    pub records: u64,
    /// The number of references to blocks in records.
    pub references: u64,
    /// The number of references to blocks without a place on the device. Such a block is new, so
    /// the device has no old version of it.
    pub nowhere: u64,
    /// The number of references to blocks on other devices.
    pub elsewhere: u64,
    /// The number of references to blocks of files that are gone.
    pub gone: u64,
    /// The number of pages reported as dirtied. A page counts each time that it is reported.
    pub dirtied: u64,
    /// The number of pages reported as cancelled.
    pub cancelled: u64,
    /// The number of checkpoints that were completed.
    pub checkpoints: u64,
    /// The number of lookups of a file's extents.
    pub looks: u64,
}

/// Follows one server's log; see [`postgres`](crate::postgres).
pub struct LogFollower {
    decoder: Decoder,
    state: State,
}

struct State {
    places: Places,
    /// The pages reported as dirtied, each with the place in the log of its last change.
    changed: HashMap<u64, u64>,
    dirtied: BTreeSet<u64>,
    cancelled: BTreeSet<u64>,
    counts: LogCounts,
}

impl LogFollower {
    /// Makes a follower of the log of `cluster` from `start` on. A page of the log must begin at
    /// `start`.
    #[must_use]
    pub fn new(cluster: Cluster, start: u64) -> Self {
        let state = State {
            places: Places::new(cluster),
            changed: HashMap::new(),
            dirtied: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            counts: LogCounts::default(),
        };
        Self { decoder: Decoder::new(start), state }
    }

    /// Goes on at `start`. The log in between was missed, so all known pages are forgotten.
    pub fn restart(&mut self, start: u64) {
        self.decoder = Decoder::new(start);
        self.state.places.forget_all();
        self.state.changed.clear();
        self.state.dirtied.clear();
        self.state.cancelled.clear();
    }

    /// Returns the place in the log of the next byte to feed.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.decoder.next()
    }

    /// Reads the next bytes of the log, which begin at the place `at`.
    ///
    /// # Errors
    /// The bytes are no log. Nothing more is read until [`LogFollower::restart`].
    pub fn feed(&mut self, at: u64, bytes: &[u8]) -> Result<(), WalError> {
        let now = Instant::now();
        self.state.counts.bytes += bytes.len() as u64;
        let state = &mut self.state;
        self.decoder.feed(at, bytes, &mut |record| state.take(record, now))
    }

    /// Marks a block as dirty in the server's memory, as known from another source than the log.
    pub fn dirty(&mut self, relation: Relation, fork: Fork, block: u32) {
        let at = self.decoder.next();
        self.state.change(relation, fork, block, at, Instant::now());
    }

    /// Returns the changes since the last call.
    pub fn changes(&mut self) -> Changes {
        let state = &mut self.state;
        let [dirtied, cancelled] =
            [&state.dirtied, &state.cancelled].map(|pages| runs(pages.iter().copied()));
        let changes = Changes { dirtied, cancelled };
        state.counts.dirtied += state.dirtied.len() as u64;
        state.counts.cancelled += state.cancelled.len() as u64;
        state.dirtied.clear();
        state.cancelled.clear();
        changes
    }

    /// Returns the place of a block, and `true` if all its pages are reported as dirtied and not
    /// cancelled.
    pub fn knows(&mut self, relation: Relation, fork: Fork, block: u32) -> (Place, bool) {
        let place = self.state.places.locate(relation, fork, block, Instant::now());
        let is_known = match &place {
            Place::Pages(runs) => {
                runs.iter().cloned().flatten().all(|page| self.state.changed.contains_key(&page))
            }
            _ => false,
        };
        (place, is_known)
    }

    /// Returns the number of pages reported as dirtied and not cancelled.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.state.changed.len() as u64
    }

    /// Returns the counters so far.
    #[must_use]
    pub fn counts(&self) -> LogCounts {
        LogCounts { looks: self.state.places.looks(), ..self.state.counts }
    }
}

impl State {
    fn take(&mut self, record: &Record<'_>, now: Instant) {
        self.counts.records += 1;
        self.counts.references += record.blocks.len() as u64;
        for &BlockReference { relation, fork, block, .. } in record.blocks {
            self.change(relation, fork, block, record.at, now);
        }
        match record.what {
            What::Blocks | What::Switch | What::CreateTablespace { .. } => {}
            What::Checkpoint { redo, .. } => self.checkpoint(redo, now),
            What::Create { relation, .. } | What::Truncate { relation, .. } => {
                self.places.forget(relation);
            }
            What::Drop { relations } => {
                relations.iter().for_each(|relation| self.places.forget(relation));
            }
            What::CreateDatabase { .. }
            | What::DropDatabase { .. }
            | What::DropTablespace { .. } => {
                self.places.forget_all();
            }
        }
    }

    fn change(&mut self, relation: Relation, fork: Fork, block: u32, at: u64, now: Instant) {
        let pages = match self.places.locate(relation, fork, block, now) {
            Place::Pages(pages) => pages,
            Place::Nowhere => return self.counts.nowhere += 1,
            Place::Elsewhere => return self.counts.elsewhere += 1,
            Place::Gone => return self.counts.gone += 1,
        };
        for page in pages.into_iter().flatten() {
            self.changed.insert(page, at);
            self.dirtied.insert(page);
            self.cancelled.remove(&page);
        }
    }

    /// Cancels the pages last changed before `redo`: the checkpoint has written them.
    fn checkpoint(&mut self, redo: u64, now: Instant) {
        self.counts.checkpoints += 1;
        let Self { changed, dirtied, cancelled, .. } = self;
        changed.retain(|&page, &mut at| {
            let is_written = at < redo;
            if is_written {
                dirtied.remove(&page);
                cancelled.insert(page);
            }
            !is_written
        });
        self.places.tidy(now);
    }
}
