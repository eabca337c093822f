//! The placement identifiers of NVMe: each names a handle of the drive in a reclaim group.
//!
//! The upper bits of an identifier name the group, as few as there need be: none on a drive of one
//! group. The other bits are the number of a handle in the list of the namespace.
//!
//! # Source
//! NVM Express Base Specification 2.1, flexible data placement.

use flashgc_device::Handles;

/// Returns the number of bits of a placement identifier that name the reclaim group.
pub fn group_bits(handles: Handles) -> u32 {
    handles.groups.saturating_sub(1).checked_ilog2().map_or(0, |most| most + 1)
}

/// Returns the placement identifier of a handle in a reclaim group.
pub fn identifier(handles: Handles, group: u16, handle: u16) -> u16 {
    match group_bits(handles) {
        0 => handle,
        bits => group << (u16::BITS - bits) | handle,
    }
}

/// Returns the reclaim group and the handle that a placement identifier names; `None` if it names
/// none.
pub fn named(handles: Handles, identifier: u16) -> Option<(u16, u16)> {
    let bits = group_bits(handles);
    let group = identifier.checked_shr(u16::BITS - bits).unwrap_or(0);
    let handle = identifier & (u16::MAX >> bits);
    (group < handles.groups && handle < handles.count).then_some((group, handle))
}
