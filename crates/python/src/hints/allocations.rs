//! The follower of a file system's allocations, and the function that names the writes of
//! recordings by owner.

use std::path::{Path, PathBuf};

use flashgc_hints::allocations::{Event, ExtentFollower, FileSystem, RING_BYTES};
use flashgc_workload::trace::{Change, tag};
use pyo3::prelude::*;

use super::page_cache::refused;
use crate::closable::{self, Closable};
use crate::errors;

/// An event: its time in nanoseconds, its kind, and three numbers. The meaning of the numbers
/// depends on the kind.
type EventRow = (u64, &'static str, u64, u64, u64);

/// Follows which blocks a file system gives to which inode.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct AllocationFollower(Closable<ExtentFollower>);

#[pymethods]
impl AllocationFollower {
    /// Follows the file system `kind`, ext4 or xfs, on the block device at `device`.
    #[new]
    fn new(py: Python<'_>, device: PathBuf, kind: &str) -> PyResult<Self> {
        let kind = FileSystem::named(kind).map_err(refused)?;
        let follower =
            py.detach(|| ExtentFollower::open(&device, kind, RING_BYTES)).map_err(refused)?;
        Ok(Self(Closable::new("follower", follower)))
    }

    /// Waits for `seconds` seconds, or until a ring is half full. Returns the events so far: time,
    /// kind (`next`, `data`, `other`, `freed` or `lost`), inode, first block, and number of blocks.
    /// The last number of `lost` is the number of lost events.
    fn poll(&self, py: Python<'_>, seconds: f64) -> PyResult<Vec<EventRow>> {
        let timeout = closable::seconds(seconds)?;
        let events = self.0.with(py, |follower| follower.poll(timeout))?.map_err(refused)?;
        Ok(events.into_iter().map(|(time, event)| row(time, event)).collect())
    }

    /// Returns the journal of an xfs file system: its first block, and its number of blocks.
    fn journal(&self) -> Option<(u64, u64)> {
        self.0.map(ExtentFollower::journal)
    }

    fn close(&self) {
        self.0.close();
    }
}

fn row(time: u64, event: Event) -> EventRow {
    match event {
        Event::Next { inode } => (time, "next", inode, 0, 0),
        Event::Allocated { inode, block, count, is_data } => {
            (time, if is_data { "data" } else { "other" }, inode, block, count)
        }
        Event::Freed { block, count } => (time, "freed", 0, block, count),
        Event::Lost(events) => (time, "lost", 0, 0, events),
    }
}

/// Copies the recordings of a drive, one after the other, and names each write by the owner of its
/// pages. `parts` are pairs: a recording, and the file for its copy. `changes` are the changes of
/// owners, in the order of time, during the last recording: time in nanoseconds, first page, number
/// of pages and owner. Returns four numbers for each owner: the pages written, the pages discarded,
/// the pages overwritten or discarded, and the sum of the lives of the last-named pages, in page
/// writes of the host.
#[pyfunction]
pub(crate) fn trace_tag(
    py: Python<'_>,
    parts: Vec<(PathBuf, PathBuf)>,
    changes: Vec<(u64, u64, u64, u8)>,
    pages: u64,
    page_bytes: u64,
) -> PyResult<Vec<(u64, u64, u64, u64)>> {
    let change = |(time_ns, page, count, owner)| Change { time_ns, page, count, owner };
    let changes: Vec<Change> = changes.into_iter().map(change).collect();
    let parts: Vec<(&Path, &Path)> = parts.iter().map(|(from, to)| (&**from, &**to)).collect();
    let owned = py.detach(|| tag(&parts, &changes, (pages, page_bytes)));
    let owned = owned.map_err(errors::trace)?;
    Ok(owned.iter().map(|pages| (pages.written, pages.trimmed, pages.ended, pages.lived)).collect())
}
