//! The commands of flexible data placement: I/O Management, the features 1Dh and 1Eh, and the logs.
//!
//! # Source
//! NVM Express Base Specification 2.1, I/O Management, features 1Dh and 1Eh, log pages 20h to 23h.

use super::blocks::failed;
use super::fdp::{Fdp, GROUP, Moved};
use super::features::feature;
use super::handles::identifier;
use super::link::{Link, Need};
use super::log_pages::page;
use super::structures::{Entry, Status, opcode};
use super::subsystem::Subsystem;
use super::{LARGEST, NAMESPACE, fdp_logs};
use crate::health::Written;
use flashgc_device::failure::Failure;

/// The operation of I/O Management that does nothing.
const NOTHING: u32 = 0;
/// The operation of I/O Management on handles: a Receive reads their status, a Send updates them.
const HANDLES: u32 = 1;
/// The most bytes of a list of event types.
const LIST: usize = 256;

/// Returns how many bytes of data an I/O Management command moves.
pub fn need(entry: &Entry) -> Result<Need, Status> {
    let (operation, specific) = (entry.dword(10) & 0xff, entry.dword(10) >> 16);
    match (entry.opcode, operation) {
        (_, NOTHING) => Ok(Need::default()),
        (opcode::IO_RECEIVE, HANDLES) => {
            let bytes = (u64::from(entry.dword(11)) + 1) * 4;
            if bytes > LARGEST as u64 {
                return Err(Status::INVALID_FIELD);
            }
            Ok(Need { given: bytes as usize, ..Need::default() })
        }
        (opcode::IO_SEND, HANDLES) => {
            Ok(Need { taken: (specific as usize + 1) * 2, ..Need::default() })
        }
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Executes an I/O Management Receive: returns `bytes` bytes of the status of all handles.
pub fn receive(subsystem: &Subsystem, fdp: &Fdp, bytes: usize) -> Vec<u8> {
    if bytes == 0 {
        return vec![];
    }
    let handles = fdp.handles;
    let units =
        (0..handles.count).flat_map(|handle| (0..handles.groups).map(move |group| (group, handle)));
    let streams = units.clone().map(|(group, handle)| handles.stream(group, handle));
    let rooms = subsystem.rooms(streams.collect());
    let named = units.map(|(group, handle)| (identifier(handles, group, handle), handle));
    let mut data = fdp_logs::status(&named.zip(rooms).collect::<Vec<_>>());
    data.resize(bytes, 0);
    data
}

/// Executes an I/O Management Send: the handle of each placement identifier in `data` gets another
/// reclaim unit. If an identifier names no handle, nothing is done.
pub fn send(link: &Link, fdp: &Fdp, entry: &Entry, data: &[u8]) -> Result<u64, Status> {
    if entry.dword(10) & 0xff == NOTHING {
        return Ok(0);
    }
    let Link { subsystem, controller, .. } = link;
    let identifiers: Vec<u16> =
        data.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
    let (units, handles) = (fdp.named(&identifiers).ok_or(Status::INVALID_FIELD)?, fdp.handles);
    // With a pace this is refused: the simulated drive would go on in the old units.
    if subsystem.queue.paced().is_some() {
        return Err(Status::INVALID_FIELD);
    }
    let left = subsystem.drive(move |drive| {
        let close = |(group, handle)| {
            let left = drive.close_unit(handles.stream(group, handle)).map_err(Failure::from)?;
            Ok((group, handle, left))
        };
        units.into_iter().map(close).collect::<Result<Vec<_>, Failure>>()
    });
    let left = left
        .ok_or(Status::NOT_READY)?
        .map_err(|failure| failed(link, &failure, Status::WRITE_FAULT))?;
    let now = controller.features(|features| features.timestamp());
    for (group, handle, left) in left {
        if left.is_some_and(|pages| pages > 0) {
            fdp.left(group, handle, now);
        }
    }
    Ok(0)
}

/// Returns how many bytes of data a command for a feature moves.
pub fn feature_need(entry: &Entry) -> Need {
    let types = usize::from((entry.dword(11) >> 16) as u8);
    if entry.opcode == opcode::GET_FEATURES {
        return Need { given: types * 2, ..Need::default() };
    }
    Need { taken: entry.described(types, LIST), ..Need::default() }
}

/// Returns the value and the data of a feature: the current ones with `is_current`, otherwise the
/// defaults.
pub fn get_feature(fdp: &Fdp, entry: &Entry, is_current: bool) -> Result<(u64, Vec<u8>), Status> {
    if entry.dword(10) as u8 == feature::FDP {
        // The only configuration has number 0, and is enabled.
        return if entry.dword(11) & 0xffff == GROUP {
            Ok((1, vec![]))
        } else {
            Err(Status::INVALID_FIELD)
        };
    }
    if entry.nsid.get() != NAMESPACE {
        return Err(Status::INVALID_NAMESPACE);
    }
    let kept = fdp.kept(entry.dword(11) as u16).ok_or(Status::INVALID_FIELD)?;
    let bytes = feature_need(entry).given;
    let mut data: Vec<u8> = kept
        .iter()
        .flat_map(|(kind, is_kept)| [*kind, u8::from(*is_kept || !is_current)])
        .collect();
    let count = kept.len().min(bytes / 2);
    data.resize(bytes, 0);
    Ok((count as u64, data))
}

/// Sets a feature. FDP itself cannot be switched, as the drive was made with it.
pub fn set_feature(fdp: &Fdp, entry: &Entry, data: &[u8]) -> Result<u64, Status> {
    if entry.dword(10) as u8 == feature::FDP {
        let is_group = entry.dword(11) & 0xffff == GROUP;
        // The mode cannot change while there is a namespace.
        return Err(if is_group { Status::SEQUENCE } else { Status::INVALID_FIELD });
    }
    if !matches!(entry.nsid.get(), NAMESPACE | u32::MAX) {
        return Err(Status::INVALID_NAMESPACE);
    }
    if entry.dword(10) >> 31 != 0 {
        return Err(Status::NOT_SAVEABLE);
    }
    let (handle, count) = (entry.dword(11) as u16, usize::from((entry.dword(11) >> 16) as u8));
    let types = data.get(..count).ok_or(Status::DATA_LENGTH)?;
    let is_done = fdp.keep(handle, types, entry.dword(12) & 1 != 0);
    if is_done { Ok(0) } else { Err(Status::INVALID_FIELD) }
}

/// Returns the content of a log page.
pub fn log(link: &Link, fdp: &Fdp, entry: &Entry) -> Result<Vec<u8>, Status> {
    if entry.dword(11) >> 16 != GROUP {
        return Err(Status::INVALID_FIELD);
    }
    let Link { subsystem, controller, .. } = link;
    let handles = fdp.handles;
    Ok(match entry.dword(10) as u8 {
        page::FDP_CONFIGURATIONS => fdp_logs::configurations(handles, subsystem.unit()),
        page::FDP_USAGE => fdp_logs::usage(handles.count),
        page::FDP_STATISTICS => {
            let written = subsystem.drive(|drive| Written::of(&drive.stat()));
            fdp_logs::statistics(written.unwrap_or_default())
        }
        _ => {
            let of_host = entry.dword(10) & 1 << 8 != 0;
            if !of_host {
                let moved: Moved = subsystem.moved();
                fdp.look(moved, controller.features(|features| features.timestamp()));
            }
            fdp_logs::events(&fdp.events(of_host))
        }
    })
}
