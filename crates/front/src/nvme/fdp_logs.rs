//! The logs and structures of flexible data placement: configurations (20h), usage of handles
//! (21h), statistics (22h), events (23h); and the status of handles.
//!
//! # Source
//! NVM Express Base Specification 2.1, log pages 20h to 23h, I/O Management Receive.

use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::handles::group_bits;
use crate::health::Written;
use flashgc_device::Handles;

/// The head of the log of configurations.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ConfigurationsHead {
    /// The number of configurations, minus one.
    pub count: U16,
    pub version: u8,
    pub reserved_3: u8,
    pub bytes: U32,
    pub reserved_8: [u8; 8],
}

/// A configuration. A descriptor of 4 bytes for each handle follows; its first byte is the
/// isolation.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Configuration {
    pub bytes: U16,
    /// Bits 3:0: the number of identifier bits that name a group; bit 4: a volatile write cache;
    /// bit 7: valid.
    pub attributes: u8,
    pub vendor_bytes: u8,
    pub groups: U32,
    pub handles: U16,
    /// The number of placement identifiers, minus one.
    pub most_identifiers: U16,
    pub namespaces: U32,
    pub unit_bytes: U64,
    pub time_limit: U32,
    pub reserved_28: [u8; 36],
}

/// The head of the log of usage. A descriptor of 8 bytes for each handle follows.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct UsageHead {
    pub handles: U16,
    pub reserved_2: [u8; 6],
}

/// The log of statistics.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct StatisticsLog {
    pub host_bytes: U128,
    pub media_bytes: U128,
    pub erased_bytes: U128,
    pub reserved_48: [u8; 16],
}

/// The head of the log of events.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct EventsHead {
    pub count: U32,
    pub reserved_4: [u8; 60],
}

/// An event.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Event {
    pub kind: u8,
    /// The fields that are valid: bit 0: the identifier; bit 1: the namespace; bit 2: group and
    /// handle.
    pub flags: u8,
    pub identifier: U16,
    pub time: [u8; 8],
    pub namespace: U32,
    /// For data that were moved: flags, and from byte 2 on the number of logical blocks.
    pub own: [u8; 16],
    pub group: U16,
    pub handle: u8,
    pub reserved_35: [u8; 5],
    pub vendor_specific: [u8; 24],
}

/// The head of the status of handles.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct StatusHead {
    pub reserved_0: [u8; 14],
    pub count: U16,
}

/// The status of a handle.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct HandleStatus {
    pub identifier: U16,
    pub handle: U16,
    pub time_left: U32,
    /// The room left in the handle's reclaim unit, in logical blocks.
    pub room: U64,
    pub reserved_16: [u8; 16],
}

/// Returns the log of configurations. It has one configuration, with these handles; `unit` is the size
/// of a reclaim unit in bytes.
pub fn configurations(handles: Handles, unit: u64) -> Vec<u8> {
    let own = size_of::<Configuration>() + usize::from(handles.count) * 4;
    let bytes = own.next_multiple_of(8);
    let head = ConfigurationsHead {
        bytes: ((size_of::<ConfigurationsHead>() + bytes) as u32).into(),
        ..ConfigurationsHead::new_zeroed()
    };
    let configuration = Configuration {
        bytes: (bytes as u16).into(),
        attributes: group_bits(handles) as u8 | 1 << 4 | 1 << 7,
        groups: u32::from(handles.groups).into(),
        handles: handles.count.into(),
        most_identifiers: handles.identifiers().saturating_sub(1).into(),
        namespaces: 1.into(),
        unit_bytes: unit.into(),
        ..Configuration::new_zeroed()
    };
    let mut log = [head.as_bytes(), configuration.as_bytes()].concat();
    let isolation = |handle| [1 + u8::from(handle < handles.persistent), 0, 0, 0];
    log.extend((0..handles.count).flat_map(isolation));
    log.resize(size_of::<ConfigurationsHead>() + bytes, 0);
    log
}

/// Returns the log of usage. The namespace uses all handles.
pub fn usage(handles: u16) -> Vec<u8> {
    let head = UsageHead { handles: handles.into(), ..UsageHead::new_zeroed() };
    let mut log = head.as_bytes().to_vec();
    log.extend((0..handles).flat_map(|_| [1, 0, 0, 0, 0, 0, 0, 0]));
    log
}

/// Returns the log of statistics.
pub fn statistics(written: Written) -> Vec<u8> {
    let wide = |bytes: u64| U128::new(bytes.into());
    StatisticsLog {
        host_bytes: wide(written.host),
        media_bytes: wide(written.media),
        erased_bytes: wide(written.erased),
        ..StatisticsLog::new_zeroed()
    }
    .as_bytes()
    .to_vec()
}

/// Returns the log of these events.
pub fn events(events: &[Event]) -> Vec<u8> {
    let head = EventsHead { count: (events.len() as u32).into(), ..EventsHead::new_zeroed() };
    [head.as_bytes(), events.as_bytes()].concat()
}

/// Returns the status of units: the placement identifier of each, its handle, and the room left in
/// it, in logical blocks.
pub fn status(units: &[((u16, u16), u64)]) -> Vec<u8> {
    let head = StatusHead { count: (units.len() as u16).into(), ..StatusHead::new_zeroed() };
    let mut all = head.as_bytes().to_vec();
    for &((identifier, handle), room) in units {
        let status = HandleStatus {
            identifier: identifier.into(),
            handle: handle.into(),
            room: room.into(),
            ..HandleStatus::new_zeroed()
        };
        all.extend(status.as_bytes());
    }
    all
}
