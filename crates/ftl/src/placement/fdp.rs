//! Flexible Data Placement (FDP): the host names the open block of each write by a handle.
//!
//! Data of different handles never share a block that the host writes.
//! A block is a reclaim unit. The stream of a write is its placement identifier: stream i writes the
//! unit of handle i. A write without a stream, and one whose stream is no handle, go to handle 0; the
//! latter is an event of the drive's log, an invalid placement identifier.
//!
//! Collections copy data of initially isolated handles to one unit that these handles share; data of a
//! persistently isolated handle go to a unit of that handle alone, and never meet others'. Handles below
//! `persistent` are persistently isolated, the others initially. Each handle has a unit for host
//! writes; copies never go there.
//!
//! With several reclaim groups, stream group x handles + handle writes the unit of the handle in that
//! group. Groups share no block, and copies stay in their group. A group takes its share of the logical
//! pages and data in half of its spare: a write that finds its group full goes to the next one with
//! room, and is counted. First contents, and writes without a stream, lie over all groups alike.
//!
//! Rule: write: the handle's unit; copy: the handle's own unit for copies, or the shared one.
//!
//! # Cost
//! A write: the stream of one page is read. There is an open block a handle, one for copies of each
//! persistently isolated handle, and one for copies of the others; each group has its own. For each of
//! those for copies but the first the collector keeps an erased block beyond the pool's low-water
//! mark. 2 bytes a logical page, for the streams of data and of the next write.
//!
//! # Source
//! NVM Express, Flexible Data Placement (TP4146, ratified 2022; NVM Express Base Specification 2.1,
//! section 8.1.10): reclaim units, placement handles, initially and persistently isolated. The
//! drive decides where copies go; both rules follow the specification's types, with no host data in
//! units of copies.

use super::{Class, Now, Place, Placement, PlacementInfo, Remembers, StreamId};
use flashgc_base::refuse_if;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, Spec, SpecError};
use flashgc_base::stream::MOST_STREAMS;

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "fdp",
    params: &[
        Param::integer("handles", (1, 64), Some("8"))
            .help("placement handles: streams 0 to handles - 1"),
        Param::integer("persistent", (0, 64), Some("0")).help(
            "handles that are persistently isolated, from handle 0 on; the others are \
             initially isolated",
        ),
        Param::integer("groups", (1, 64), Some("1"))
            .help("reclaim groups: stream group x handles + handle writes to that group"),
    ],
    source: include_str!("fdp.rs"),
    needs_future: false,
    needs_streams: true,
    remembers: |_, _| Remembers::default(),
    bytes: |_, _| 0,
    make: Some(|params, _, _| {
        let handles = handles(params);
        Box::new(Fdp {
            handles: handles.count as Class,
            persistent: handles.persistent as Class,
            streams: handles,
        })
    }),
};

/// Placement handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handles {
    /// The number of handles.
    pub count: u16,
    /// Handles with a number below this one are persistently isolated; the others are initially
    /// isolated.
    pub persistent: u16,
    /// The number of reclaim groups, each with a unit of every handle.
    pub groups: u16,
}

impl Handles {
    /// Returns the number of placement identifiers: the streams from 0 on that name a handle and a
    /// group.
    pub fn identifiers(self) -> u16 {
        self.count * self.groups
    }

    /// Returns the stream that names a handle in a reclaim group.
    pub fn stream(self, group: u16, handle: u16) -> StreamId {
        (group * self.count + handle) as StreamId
    }

    /// Returns the reclaim group and the handle that a stream names; `None` if it names none.
    #[inline]
    pub fn unit(self, stream: StreamId) -> Option<(u16, u16)> {
        let stream = u16::from(stream);
        (stream < self.identifiers()).then(|| (stream / self.count, stream % self.count))
    }
}

/// The parameters that `spec` gives.
///
/// # Errors
/// More persistently isolated handles than there are handles, or more identifiers than streams.
pub(super) fn read(spec: &Spec) -> Result<Params, SpecError> {
    let params = Params::resolve(spec, INFO.params)?;
    let Handles { count, persistent, groups } = handles(&params);
    refuse_if!(
        persistent > count,
        format!("persistent={count} isolates all of them"),
        "fdp: found persistent={persistent} and handles={count}, expected at most as many \
         persistently isolated handles as handles"
    );
    // One stream is left that names no handle: writes with an invalid identifier get it.
    let most = MOST_STREAMS as u16 - 1;
    refuse_if!(
        count * groups > most,
        format!("groups={}", most / count),
        "fdp: found handles={count} and groups={groups}, expected at most {most} placement \
         identifiers, one a stream"
    );
    Ok(params)
}

pub(super) fn handles(params: &Params) -> Handles {
    let number = |name| params.integer(name) as u16;
    Handles { count: number("handles"), persistent: number("persistent"), groups: number("groups") }
}

/// The placement policy that the header of this file describes. Classes are the handles, then the
/// units for copies: those of the persistently isolated handles, then the shared unit.
#[derive(State)]
struct Fdp {
    #[snapshot(skip)]
    handles: Class,
    #[snapshot(skip)]
    persistent: Class,
    /// The handles and the groups that streams name.
    #[snapshot(skip)]
    streams: Handles,
}

impl Placement for Fdp {
    fn classes(&self) -> usize {
        let shared = self.persistent < self.handles;
        usize::from(self.handles) + usize::from(self.persistent) + usize::from(shared)
    }

    fn takes_copies(&self, class: Class) -> bool {
        class >= self.handles
    }

    #[inline]
    fn host(&self, _: u32, stream: Option<StreamId>, _: Option<Place>, _: Now) -> Class {
        stream.and_then(|stream| self.of_handle(stream)).unwrap_or(0)
    }

    #[inline]
    fn of_handle(&self, stream: StreamId) -> Option<Class> {
        self.streams.unit(stream).map(|(_, handle)| handle as Class)
    }

    #[inline]
    fn copy(&self, _: u32, from: Place, _: bool, _: Now) -> Class {
        match from.class {
            unit if unit >= self.handles => unit,
            handle => self.handles + handle.min(self.persistent),
        }
    }
}
