//! The follower of a PostgreSQL server.

use std::path::PathBuf;
use std::sync::Mutex;

use flashgc_base::sync::lock;
use flashgc_hints::postgres::{Cluster, LogCounts, LogFollower, Place};
use flashgc_hints::wal::{Fork, Relation};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::DriveError;

/// A block as `pg_buffercache` names it: tablespace, database, relfilenode, fork and number.
type Block = (u32, u32, u32, u32, u32);

/// Ranges of pages: first page, and number of pages.
type Runs = Vec<(u64, u64)>;

/// Finds, from the log of a PostgreSQL server, the pages that the server will soon write.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct PostgresFollower {
    follower: Mutex<LogFollower>,
}

#[pymethods]
impl PostgresFollower {
    /// Makes a follower that reads the log from `start` on. `folder` is the server's data
    /// directory, `version` is the name of its folder in every tablespace, and `device` is the
    /// `st_dev` of the device whose pages are followed.
    #[new]
    fn new(folder: PathBuf, version: String, device: u64, start: u64) -> Self {
        let follower = LogFollower::new(Cluster { folder, version, device }, start);
        Self { follower: Mutex::new(follower) }
    }

    /// Continues at `start` in the log, and forgets all dirty blocks.
    fn restart(&self, start: u64) {
        lock(&self.follower).restart(start);
    }

    /// The position in the log at which the next bytes must begin.
    fn next(&self) -> u64 {
        lock(&self.follower).next()
    }

    /// Reads `bytes`, which lie at position `at` of the log.
    fn feed(&self, py: Python<'_>, at: u64, bytes: &[u8]) -> PyResult<()> {
        let fed = py.detach(|| lock(&self.follower).feed(at, bytes));
        fed.map_err(|error| DriveError::new_err(error.to_string()))
    }

    /// Notes that these blocks are dirty in the server's memory.
    fn dirty(&self, py: Python<'_>, blocks: Vec<Block>) -> PyResult<()> {
        let blocks = parsed(&blocks)?;
        py.detach(|| {
            let mut follower = lock(&self.follower);
            blocks
                .iter()
                .for_each(|&(relation, fork, block)| follower.dirty(relation, fork, block));
        });
        Ok(())
    }

    /// Returns the pages that became dirty, and the pages whose hints are cancelled, since the last
    /// call.
    fn changes(&self) -> (Runs, Runs) {
        let changes = lock(&self.follower).changes();
        (changes.dirtied, changes.cancelled)
    }

    /// Returns the pages of each block, and whether the block is known to be dirty. The pages are
    /// empty if the block has no place on the device.
    fn knows(&self, py: Python<'_>, blocks: Vec<Block>) -> PyResult<Vec<(Runs, bool)>> {
        let blocks = parsed(&blocks)?;
        let known = py.detach(|| {
            let mut follower = lock(&self.follower);
            let places = blocks.iter().map(|&(relation, fork, block)| {
                let (place, is_known) = follower.knows(relation, fork, block);
                let Place::Pages(pages) = place else { return (vec![], false) };
                (pages.iter().map(|run| (run.start, run.end - run.start)).collect(), is_known)
            });
            places.collect()
        });
        Ok(known)
    }

    /// The counts so far, as JSON.
    fn counts(&self) -> String {
        let follower = lock(&self.follower);
        let LogCounts {
            bytes,
            records,
            references,
            nowhere,
            elsewhere,
            gone,
            dirtied,
            cancelled,
            checkpoints,
            looks,
        } = follower.counts();
        json!({
            "log_bytes": bytes,
            "records": records,
            "block_references": references,
            "blocks_without_place": nowhere,
            "blocks_elsewhere": elsewhere,
            "blocks_gone": gone,
            "pages_hinted": dirtied,
            "pages_cancelled": cancelled,
            "pages_known": follower.pages(),
            "checkpoints": checkpoints,
            "files_looked_at": looks,
        })
        .to_string()
    }
}

fn parsed(blocks: &[Block]) -> PyResult<Vec<(Relation, Fork, u32)>> {
    let parse = |&(tablespace, database, number, fork, block): &Block| {
        let known = Fork::numbered(fork)
            .ok_or_else(|| PyValueError::new_err(format!("fork {fork}, expected 0 to 3")))?;
        Ok((Relation { tablespace, database, number }, known, block))
    };
    blocks.iter().map(parse).collect()
}
