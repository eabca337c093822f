//! The commands of the admin queue.
//!
//! # Source
//! NVM Express Base Specification 2.0, section 5.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use flashgc_device::PAGE;
use zerocopy::IntoBytes;

use super::controller::ControllerKind;
use super::fdp::Fdp;
use super::features::{self, feature};
use super::identify::{self, Identify};
use super::link::{Link, Need};
use super::log_pages::{self, page};
use super::structures::{Entry, Status, opcode};
use super::{LARGEST, NAMESPACE, blocks, directives, fdp_commands};
use crate::command::Command;

/// The answer to a command of the admin queue.
pub enum Outcome {
    /// The command is done, with this result.
    Done(u64),
    /// The command is done, with these data and this result.
    Data(Vec<u8>, u64),
    /// The command is answered later.
    Later,
}

/// Returns how many bytes of data a command moves.
pub fn need(entry: &Entry) -> Result<Need, Status> {
    let feature = entry.dword(10) as u8;
    Ok(match entry.opcode {
        opcode::IDENTIFY => Need { given: identify::BYTES, ..Need::default() },
        opcode::GET_LOG => given(u64::from(entry.dword(10) >> 16 | entry.dword(11) << 16))?,
        opcode::DIRECTIVE_RECEIVE => given(entry.dword(10).into())?,
        opcode::SET_FEATURES if feature == feature::FDP_EVENTS => fdp_commands::feature_need(entry),
        opcode::SET_FEATURES if feature == feature::TIMESTAMP => {
            Need { taken: 8, ..Need::default() }
        }
        // Set Features refuses Host Identifier, but only after its data were read.
        opcode::SET_FEATURES if feature == feature::HOST => {
            let long = entry.dword(11) & 1 != 0;
            Need { taken: if long { 16 } else { 8 }, ..Need::default() }
        }
        opcode::GET_FEATURES if selected(entry) == Select::Capabilities => Need::default(),
        opcode::GET_FEATURES if feature == feature::FDP_EVENTS => fdp_commands::feature_need(entry),
        opcode::GET_FEATURES if feature == feature::TIMESTAMP => {
            Need { given: 8, ..Need::default() }
        }
        opcode::GET_FEATURES if feature == feature::HOST => {
            let long = entry.dword(11) & 1 != 0;
            Need { given: if long { 16 } else { 8 }, ..Need::default() }
        }
        opcode::SET_FEATURES
        | opcode::GET_FEATURES
        | opcode::ABORT
        | opcode::EVENT
        | opcode::KEEP_ALIVE
        | opcode::DIRECTIVE_SEND => Need::default(),
        _ => return Err(Status::INVALID_OPCODE),
    })
}

/// Returns the need of a command whose answer has `last` + 1 dwords of data.
fn given(last: u64) -> Result<Need, Status> {
    match usize::try_from((last + 1) * 4) {
        Ok(given) if given <= LARGEST => Ok(Need { given, ..Need::default() }),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Executes a command. `data` are its data from the host.
pub fn execute(link: &Arc<Link>, entry: &Entry, data: &[u8]) -> Result<Outcome, Status> {
    let controller = &link.controller;
    match entry.opcode {
        opcode::IDENTIFY => identify(link, entry).map(|data| Outcome::Data(data, 0)),
        opcode::GET_LOG => log(link, entry).map(|data| Outcome::Data(data, 0)),
        opcode::SET_FEATURES => set_feature(link, entry, data).map(Outcome::Done),
        opcode::GET_FEATURES => get_feature(link, entry),
        opcode::KEEP_ALIVE => Ok(Outcome::Done(0)),
        opcode::DIRECTIVE_SEND if fdp(link).is_some() => {
            directives::send(entry).map(|()| Outcome::Done(0))
        }
        opcode::DIRECTIVE_RECEIVE if fdp(link).is_some() => {
            let mut data = directives::receive(entry)?;
            data.resize(need(entry)?.given, 0);
            Ok(Outcome::Data(data, 0))
        }
        opcode::EVENT => {
            let (link, entry) = (Arc::clone(link), *entry);
            let tell = move |outcome: Result<u32, Status>| {
                link.done(&entry, outcome.map(u64::from), 0);
            };
            controller.await_event(entry.cid, tell)?;
            Ok(Outcome::Later)
        }
        opcode::ABORT if controller.kind == ControllerKind::Drive => {
            let (queue, cid) = (entry.dword(10) as u16, (entry.dword(10) >> 16) as u16);
            // All other commands end soon anyway, and are not aborted: bit 0 of the result says so.
            let is_aborted = queue == 0 && controller.abort_event(cid.into());
            Ok(Outcome::Done(u64::from(!is_aborted)))
        }
        _ => Err(Status::INVALID_OPCODE),
    }
}

/// Returns the flexible data placement of the drive; `None` if it has none, or for a discovery
/// controller.
fn fdp(link: &Link) -> Option<&Fdp> {
    link.subsystem.fdp.as_ref().filter(|_| link.controller.kind == ControllerKind::Drive)
}

fn identify(link: &Link, entry: &Entry) -> Result<Vec<u8>, Status> {
    let identify = Identify {
        structure: entry.dword(10) as u8,
        namespace: entry.nsid.get(),
        controller: (entry.dword(10) >> 16) as u16,
        command_set: (entry.dword(11) >> 24) as u8,
    };
    let Link { subsystem, controller, .. } = link;
    let data = identify::data(subsystem, controller.id, controller.kind, &identify)?;
    Ok(data.unwrap_or_else(|| {
        let (_, pages) = subsystem.health();
        let used = pages * subsystem.blocks_per_page();
        identify::namespace(subsystem, used).as_bytes().to_vec()
    }))
}

fn log(link: &Link, entry: &Entry) -> Result<Vec<u8>, Status> {
    let Link { subsystem, controller, line, .. } = link;
    let number = entry.dword(10) as u8;
    let keeps_event = entry.dword(10) & 1 << 15 != 0;
    let is_drive = controller.kind == ControllerKind::Drive;
    let whole = match number {
        page::SUPPORTED if fdp(link).is_some() => {
            log_pages::supported(&[&page::OF_DRIVE[..], &page::OF_FDP].concat())
        }
        page::SUPPORTED if is_drive => log_pages::supported(&page::OF_DRIVE),
        page::SUPPORTED => log_pages::supported(&[page::SUPPORTED, page::DISCOVERY]),
        page::DISCOVERY if !is_drive => {
            log_pages::discovery(subsystem.name_of(ControllerKind::Drive), line.address)
        }
        _ if !is_drive => return Err(Status::INVALID_LOG),
        page::ERROR => {
            let mut entries = controller.errors().0.as_bytes().to_vec();
            entries.resize(log_pages::ERRORS * size_of::<log_pages::ErrorEntry>(), 0);
            entries
        }
        page::HEALTH => {
            if !matches!(entry.nsid.get(), 0 | NAMESPACE | u32::MAX) {
                return Err(Status::INVALID_NAMESPACE);
            }
            if !keeps_event {
                controller.unmask();
            }
            log_pages::health(&subsystem.health().0, controller.errors().1)
        }
        page::FIRMWARE => log_pages::firmware(),
        page::EFFECTS => log_pages::effects(fdp(link).is_some()),
        page::ENDURANCE => {
            if entry.dword(11) >> 16 != 1 {
                return Err(Status::INVALID_FIELD);
            }
            let size = subsystem.queue.size();
            log_pages::endurance(&subsystem.health().0, controller.errors().1, size)
        }
        _ if page::OF_FDP.contains(&number)
            && let Some(fdp) = fdp(link) =>
        {
            fdp_commands::log(link, fdp, entry)?
        }
        page::OCP => {
            let (health, pages) = subsystem.health();
            log_pages::ocp(&health, pages * subsystem.blocks_per_page())
        }
        _ => return Err(Status::INVALID_LOG),
    };
    let (from, bytes) = (entry.quadword(12), need(entry)?.given);
    let is_index = entry.dword(14) & 1 << 23 != 0;
    if is_index || !from.is_multiple_of(4) || from > whole.len() as u64 {
        return Err(Status::INVALID_FIELD);
    }
    let mut part = whole[from as usize..].to_vec();
    part.resize(bytes, 0);
    Ok(part)
}

/// The kinds of values of a feature that a host may ask for (SEL).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Select {
    Current,
    Default,
    Capabilities,
    Unknown,
}

fn selected(entry: &Entry) -> Select {
    match entry.dword(10) >> 8 & 7 {
        0 => Select::Current,
        // Nothing is saved, so the saved value is the default.
        1 | 2 => Select::Default,
        3 => Select::Capabilities,
        _ => Select::Unknown,
    }
}

/// Returns `true` if a controller of this kind has a feature.
fn has_feature(kind: ControllerKind, id: u8) -> bool {
    let of_both = matches!(id, feature::EVENTS | feature::KEEP_ALIVE);
    let of_drive = matches!(
        id,
        feature::ARBITRATION
            | feature::POWER
            | feature::TEMPERATURE
            | feature::RECOVERY
            | feature::WRITE_CACHE
            | feature::QUEUES
            | feature::ATOMICITY
            | feature::TIMESTAMP
            | feature::HOST
    );
    of_both || (kind == ControllerKind::Drive && of_drive)
}

fn get_feature(link: &Link, entry: &Entry) -> Result<Outcome, Status> {
    let Link { subsystem, controller, .. } = link;
    let id = entry.dword(10) as u8;
    let of_fdp = fdp(link).filter(|_| matches!(id, feature::FDP | feature::FDP_EVENTS));
    if of_fdp.is_none() && !has_feature(controller.kind, id) {
        return Err(Status::INVALID_FIELD);
    }
    let is_current = match selected(entry) {
        Select::Current => true,
        Select::Default => false,
        Select::Capabilities => {
            let can_change = !matches!(id, feature::HOST | feature::RECOVERY | feature::FDP);
            let is_of_namespace = id == feature::FDP_EVENTS;
            return Ok(Outcome::Done(u64::from(can_change) << 2 | u64::from(is_of_namespace) << 1));
        }
        Select::Unknown => return Err(Status::INVALID_FIELD),
    };
    if let Some(fdp) = of_fdp {
        let (result, data) = fdp_commands::get_feature(fdp, entry, is_current)?;
        return Ok(if data.is_empty() {
            Outcome::Done(result)
        } else {
            Outcome::Data(data, result)
        });
    }
    let number = match id {
        feature::WRITE_CACHE => u32::from(!is_current || !subsystem.writes_through()),
        feature::QUEUES => features::queues(),
        feature::KEEP_ALIVE if is_current => controller.keep_alive(),
        feature::KEEP_ALIVE => 0,
        feature::TIMESTAMP => {
            let bytes = controller.features(|features| features.timestamp());
            return Ok(Outcome::Data(bytes.to_vec(), 0));
        }
        feature::HOST => {
            let bytes = need(entry)?.given;
            return Ok(Outcome::Data(controller.host.id[..bytes].to_vec(), 0));
        }
        // There is one temperature threshold, the upper one of the whole drive. All others read as
        // 0.
        feature::TEMPERATURE if entry.dword(11) >> 16 & 0x3f != 0 => 0,
        _ if is_current => {
            let number = controller.features(|features| features.number(id));
            number.ok_or(Status::INVALID_FIELD)?
        }
        _ => features::default(id).ok_or(Status::INVALID_FIELD)?,
    };
    Ok(Outcome::Done(number.into()))
}

fn set_feature(link: &Link, entry: &Entry, data: &[u8]) -> Result<u64, Status> {
    let Link { subsystem, controller, .. } = link;
    let (id, value) = (entry.dword(10) as u8, entry.dword(11));
    if let (feature::FDP | feature::FDP_EVENTS, Some(fdp)) = (id, fdp(link)) {
        return fdp_commands::set_feature(fdp, entry, data);
    }
    if !has_feature(controller.kind, id) {
        return Err(Status::INVALID_FIELD);
    }
    if entry.dword(10) >> 31 != 0 {
        return Err(Status::NOT_SAVEABLE);
    }
    match id {
        feature::WRITE_CACHE => {
            let is_on = value & 1 != 0;
            subsystem.write_cache.store(is_on, Ordering::Relaxed);
            if !is_on {
                // Earlier answered writes become durable, too.
                let flushed = subsystem.queue.call(Command::Flush);
                flushed.map_err(|failure| blocks::status(&failure, Status::INTERNAL))?;
            }
            Ok(0)
        }
        feature::QUEUES if value as u16 == 0xffff || value >> 16 == 0xffff => {
            Err(Status::INVALID_FIELD)
        }
        feature::QUEUES => Ok(features::queues().into()),
        feature::KEEP_ALIVE => {
            controller.set_keep_alive(value);
            Ok(0)
        }
        feature::TIMESTAMP => {
            let bytes = data.try_into().map_err(|_| Status::DATA_LENGTH)?;
            controller.features(|features| features.set_timestamp(bytes));
            Ok(0)
        }
        feature::HOST => Err(Status::NOT_CHANGEABLE),
        feature::TEMPERATURE if value >> 16 & 0x3f != 0 => Ok(0),
        _ => controller.features(|features| features.set_number(id, value)).map(|()| 0),
    }
}

/// [`super::LARGEST_SHIFT`] is the logarithm of a number of pages of 4096 bytes.
const _: () = assert!(PAGE == 4096);
