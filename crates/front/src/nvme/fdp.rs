//! Flexible data placement (FDP): the streams that placement identifiers name, and the events.
//!
//! Endurance group 1 has one configuration, with which the drive was made. The list of handles of the
//! namespace has all handles in order. A reclaim unit is one block.
//!
//! # Source
//! NVM Express Base Specification 2.1, flexible data placement.

use std::collections::VecDeque;
use std::sync::Mutex;

use flashgc_base::stream::{NO_STREAM, StreamId};
use zerocopy::FromZeros;

use super::NAMESPACE;
use super::fdp_logs::Event;
use super::handles::{identifier, named};
use flashgc_base::sync::lock;
use flashgc_device::Handles;

/// The only endurance group.
pub const GROUP: u32 = 1;
/// The most host events, and the most drive events, that are kept. With the head of the log they
/// take 4096 bytes.
pub const EVENTS: usize = 63;
/// The type of the directive Data Placement, which names a placement identifier.
pub const DIRECTIVE: u32 = 2;
/// A stream number that no handle has, because a drive has fewer handles.
const INVALID: StreamId = NO_STREAM - 1;

/// The types of events.
pub mod kind {
    /// A host changed the reclaim unit of a handle before the unit was full.
    pub const NOT_FULL: u8 = 0x00;
    /// A write named a handle that does not exist.
    pub const INVALID: u8 = 0x03;
    /// The drive moved data out of a reclaim unit.
    pub const MOVED: u8 = 0x80;
    pub const ALL: [u8; 3] = [NOT_FULL, INVALID, MOVED];
}

/// The amount of data that a drive has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// The number of reclaim units that had valid data when they were collected.
    pub units: u64,
    /// The number of logical blocks copied.
    pub blocks: u64,
}

/// The state of flexible data placement.
pub struct Fdp {
    pub handles: Handles,
    state: Mutex<State>,
}

struct State {
    /// The events that hosts caused, the oldest first.
    host: VecDeque<Event>,
    /// The events of the drive, the oldest first.
    drive: VecDeque<Event>,
    /// For each handle and each type of [`kind::ALL`], `true` if such events are kept.
    kept: Vec<[bool; kind::ALL.len()]>,
    /// The amount of moved data for which events were already noted.
    moved: Moved,
}

impl Fdp {
    /// Returns the state of a drive that has moved `moved` so far.
    pub fn new(handles: Handles, moved: Moved) -> Self {
        let kept = vec![[true; kind::ALL.len()]; handles.count.into()];
        let (host, drive) = Default::default();
        Self { handles, state: Mutex::new(State { host, drive, kept, moved }) }
    }

    /// Returns the stream of a write with this placement identifier. If the identifier names no
    /// handle, it notes an event, and the write goes to handle 0.
    pub fn stream(&self, identifier: u16, now: [u8; 8]) -> StreamId {
        if let Some((group, handle)) = named(self.handles, identifier) {
            return self.handles.stream(group, handle);
        }
        // The write goes to handle 0.
        self.note(kind::INVALID, identifier, (0, 0), now);
        INVALID
    }

    /// Returns the group and the handle that each placement identifier names, or `None` if an
    /// identifier names no handle.
    pub fn named(&self, identifiers: &[u16]) -> Option<Vec<(u16, u16)>> {
        identifiers.iter().map(|&identifier| named(self.handles, identifier)).collect()
    }

    /// Notes that a handle left its reclaim unit in a group before the unit was full.
    pub fn left(&self, group: u16, handle: u16, now: [u8; 8]) {
        let left = identifier(self.handles, group, handle);
        self.note(kind::NOT_FULL, left, (group, handle), now);
    }

    /// Notes a host event, if events of this type are kept for the handle.
    fn note(&self, kind: u8, identifier: u16, (group, handle): (u16, u16), time: [u8; 8]) {
        let mut state = lock(&self.state);
        let kept = state.kept.get(usize::from(handle));
        if !kept.is_some_and(|kept| is_kept(kept, kind)) {
            return;
        }
        let event = Event {
            kind,
            // The fields identifier, namespace and location are valid.
            flags: 0b111,
            identifier: identifier.into(),
            time,
            namespace: NAMESPACE.into(),
            group: group.into(),
            handle: handle as u8,
            ..Event::new_zeroed()
        };
        keep(&mut state.host, event);
    }

    /// Notes that the drive has moved `moved` so far, with an event for each reclaim unit since the
    /// last call. The drive does not count how many blocks it moved from each unit, nor to which
    /// handle they belong. So every event has the mean number of blocks.
    pub fn look(&self, moved: Moved, now: [u8; 8]) {
        let mut state = lock(&self.state);
        let units = moved.units.saturating_sub(state.moved.units);
        let blocks = moved.blocks.saturating_sub(state.moved.blocks);
        state.moved = moved;
        if !state.kept.iter().any(|kept| is_kept(kept, kind::MOVED)) {
            return;
        }
        for _ in 0..units.min(EVENTS as u64) {
            let mean = u16::try_from(blocks / units).unwrap_or(u16::MAX);
            let mut event = Event { kind: kind::MOVED, time: now, ..Event::new_zeroed() };
            event.own[2..4].copy_from_slice(&mean.to_le_bytes());
            keep(&mut state.drive, event);
        }
    }

    /// Returns the host events, or the drive events, the oldest first.
    pub fn events(&self, of_host: bool) -> Vec<Event> {
        let state = lock(&self.state);
        let events = if of_host { &state.host } else { &state.drive };
        events.iter().copied().collect()
    }

    /// Returns the types of events, each with `true` if such events of the handle are kept; `None`
    /// if there is no such handle.
    pub fn kept(&self, handle: u16) -> Option<[(u8, bool); kind::ALL.len()]> {
        let kept = *lock(&self.state).kept.get(usize::from(handle))?;
        Some(std::array::from_fn(|place| (kind::ALL[place], kept[place])))
    }

    /// Sets whether events of these types are kept for a handle from now on. Returns `false` if
    /// there is no such handle or type.
    pub fn keep(&self, handle: u16, types: &[u8], is_kept: bool) -> bool {
        let mut state = lock(&self.state);
        let Some(kept) = state.kept.get_mut(usize::from(handle)) else { return false };
        if !types.iter().all(|known| kind::ALL.contains(known)) {
            return false;
        }
        for (place, _) in kind::ALL.iter().enumerate().filter(|(_, known)| types.contains(known)) {
            kept[place] = is_kept;
        }
        true
    }
}

/// Returns `true` if events of this type are kept.
fn is_kept(kept: &[bool; kind::ALL.len()], kind: u8) -> bool {
    kind::ALL.iter().zip(kept).any(|(known, is_kept)| *known == kind && *is_kept)
}

/// Adds an event, and drops the oldest one if there are too many.
fn keep(events: &mut VecDeque<Event>, event: Event) {
    if events.len() == EVENTS {
        events.pop_front();
    }
    events.push_back(event);
}
