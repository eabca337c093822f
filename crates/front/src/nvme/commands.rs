//! The commands of the NVM command set, as commands of the drive.
//!
//! # Source
//! NVM Command Set Specification 1.0, section 3.2.

use std::sync::Arc;

use flashgc_base::stream::StreamId;
use flashgc_device::failure::Failure;
use zerocopy::FromBytes;

use super::fdp::DIRECTIVE;
use super::link::{Link, Need, Reply};
use super::structures::{Entry, Range, Status, opcode};
use super::subsystem::Subsystem;
use super::{LARGEST, NAMESPACE, RANGES, fdp_commands};
use crate::command::{Answer, Command};

/// The bit of dword 12 with which a command is durable when it is answered (FUA).
const DURABLE: u32 = 1 << 30;
/// The bit of dword 12 with which Write Zeroes discards (DEAC).
const DISCARD: u32 = 1 << 25;
/// The bit of dword 11 with which Dataset Management discards (AD).
const DISCARDS: u32 = 1 << 2;

/// The bytes that a command addresses.
struct Addressed {
    at: u64,
    bytes: u64,
}

/// Checks a command as far as that needs no data. Returns the data that it moves.
pub fn need(subsystem: &Subsystem, entry: &Entry) -> Result<Need, Status> {
    let nothing = Need::default();
    let code = entry.opcode;
    let has_fdp = subsystem.fdp.is_some();
    let is_of_fdp = has_fdp && matches!(code, opcode::IO_RECEIVE | opcode::IO_SEND);
    if !is_of_fdp
        && !matches!(
            code,
            opcode::FLUSH
                | opcode::WRITE
                | opcode::READ
                | opcode::COMPARE
                | opcode::WRITE_ZEROES
                | opcode::DATASET
                | opcode::VERIFY
        )
    {
        return Err(Status::INVALID_OPCODE);
    }
    let is_flush_of_all = code == opcode::FLUSH && entry.nsid.get() == u32::MAX;
    if entry.nsid.get() != NAMESPACE && !is_flush_of_all {
        return Err(Status::INVALID_NAMESPACE);
    }
    let writes = matches!(code, opcode::WRITE | opcode::WRITE_ZEROES | opcode::DATASET);
    if writes && subsystem.read_only {
        return Err(Status::WRITE_PROTECTED);
    }
    match code {
        opcode::FLUSH => return Ok(nothing),
        opcode::DATASET => {
            let ranges = (entry.dword(10) as u8 as usize) + 1;
            let taken = entry.described(ranges * size_of::<Range>(), RANGES * size_of::<Range>());
            return Ok(Need { taken, ..nothing });
        }
        opcode::IO_RECEIVE | opcode::IO_SEND => return fdp_commands::need(entry),
        _ => {}
    }
    let bytes = addressed(subsystem, entry)?.bytes as usize;
    let may_be_large = code == opcode::WRITE_ZEROES && entry.dword(12) & DISCARD != 0;
    if bytes > LARGEST && !may_be_large {
        return Err(Status::INVALID_FIELD);
    }
    let is_placed = match directive(entry) {
        DIRECTIVE if has_fdp => true,
        0 => false,
        _ if matches!(code, opcode::WRITE | opcode::WRITE_ZEROES) => {
            return Err(Status::INVALID_FIELD);
        }
        _ => false,
    };
    Ok(match code {
        opcode::WRITE | opcode::COMPARE => Need { taken: bytes, ..nothing },
        opcode::READ => Need { given: bytes, ..nothing },
        // Zeros of a handle are data.
        opcode::WRITE_ZEROES if is_placed && !may_be_large => Need { held: bytes, ..nothing },
        _ => nothing,
    })
}

/// Returns the type of a write's directive: 0 for none.
fn directive(entry: &Entry) -> u32 {
    entry.dword(12) >> 20 & 15
}

/// Returns the stream of a write: that of its placement identifier.
fn stream(link: &Link, entry: &Entry) -> Option<StreamId> {
    let fdp = link.subsystem.fdp.as_ref().filter(|_| directive(entry) == DIRECTIVE)?;
    let identifier = (entry.dword(13) >> 16) as u16;
    Some(fdp.stream(identifier, link.controller.features(|features| features.timestamp())))
}

/// Returns the bytes that a command addresses, all of which are on the drive.
fn addressed(subsystem: &Subsystem, entry: &Entry) -> Result<Addressed, Status> {
    let (first, blocks) = (entry.quadword(10), u64::from(entry.dword(12) as u16) + 1);
    on_drive(subsystem, first, blocks)
}

fn on_drive(subsystem: &Subsystem, first: u64, blocks: u64) -> Result<Addressed, Status> {
    match first.checked_add(blocks) {
        Some(end) if end <= subsystem.blocks() => {
            let shift = subsystem.block_shift;
            Ok(Addressed { at: first << shift, bytes: blocks << shift })
        }
        _ => Err(Status::OUT_OF_RANGE),
    }
}

/// Executes a command that was checked, with the data that it takes. `cost` goes back with the answer.
pub fn execute(link: &Arc<Link>, entry: Entry, data: Vec<u8>, cost: usize) {
    let Link { subsystem, .. } = &**link;
    let queue = &subsystem.queue;
    if entry.opcode == opcode::DATASET {
        return discard(link, entry, &data, cost);
    }
    if let (opcode::IO_RECEIVE | opcode::IO_SEND, Some(fdp)) = (entry.opcode, &subsystem.fdp) {
        let need = fdp_commands::need(&entry);
        return match need {
            Ok(Need { given: 1.., .. }) => {
                let data = fdp_commands::receive(subsystem, fdp, need.map_or(0, |need| need.given));
                link.send(Reply::Data { cid: entry.cid, data, result: 0, cost });
            }
            _ => link.done(&entry, fdp_commands::send(&entry), cost),
        };
    }
    let (at, bytes) = match entry.opcode {
        opcode::FLUSH => (0, 0),
        _ => match addressed(subsystem, &entry) {
            Ok(Addressed { at, bytes }) => (at, bytes),
            Err(status) => return link.done(&entry, Err(status), cost),
        },
    };
    let fua = entry.dword(12) & DURABLE != 0 || subsystem.writes_through();
    let link = Arc::clone(link);
    let read = Command::Read { at, bytes: bytes as usize };
    match entry.opcode {
        opcode::READ => queue.submit(read, move |outcome| match outcome {
            Ok(Answer::Data(data)) => {
                link.send(Reply::Data { cid: entry.cid, data, result: 0, cost })
            }
            outcome => link.done(&entry, finished(&link, outcome, Status::UNRECOVERED_READ), cost),
        }),
        opcode::COMPARE => queue.submit(read, move |outcome| {
            let outcome = match outcome {
                Ok(Answer::Data(stored)) if stored != data => Err(Status::COMPARE_FAILURE),
                outcome => finished(&link, outcome, Status::UNRECOVERED_READ),
            };
            link.done(&entry, outcome, cost);
        }),
        opcode::VERIFY => queue.submit(read, move |outcome| {
            link.done(&entry, finished(&link, outcome, Status::UNRECOVERED_READ), cost);
        }),
        code => {
            let keep = entry.dword(12) & DISCARD == 0;
            let command = match code {
                opcode::WRITE => {
                    let streams = stream(&link, &entry).into_iter().collect();
                    Command::Write { at, data, streams, fua }
                }
                opcode::WRITE_ZEROES if keep && let Some(stream) = stream(&link, &entry) => {
                    let data = vec![0; bytes as usize];
                    Command::Write { at, data, streams: vec![stream], fua }
                }
                opcode::WRITE_ZEROES => Command::Zero { at, bytes, keep, fua },
                _ => Command::Flush,
            };
            let damaged = match command {
                Command::Flush => Status::INTERNAL,
                _ => Status::WRITE_FAULT,
            };
            queue.submit(command, move |outcome| {
                link.done(&entry, finished(&link, outcome, damaged), cost);
            });
        }
    }
}

/// Executes Dataset Management. Its hints on access change nothing.
fn discard(link: &Arc<Link>, entry: Entry, data: &[u8], cost: usize) {
    let Link { subsystem, .. } = &**link;
    let ranges = <[Range]>::ref_from_bytes(data).unwrap_or_default();
    let count = usize::from(entry.dword(10) as u8) + 1;
    let addressed: Result<Vec<Addressed>, Status> = ranges
        .iter()
        .take(count)
        .filter(|range| range.blocks.get() > 0)
        .map(|range| on_drive(subsystem, range.first.get(), range.blocks.get().into()))
        .collect();
    let addressed = match addressed {
        Ok(addressed) if entry.dword(11) & DISCARDS != 0 && !addressed.is_empty() => addressed,
        other => return link.done(&entry, other.map(|_| 0), cost),
    };
    let fua = subsystem.writes_through();
    let discard = |Addressed { at, bytes }| Command::Trim { at, bytes, fua };
    let link = Arc::clone(link);
    subsystem.queue.submit_all(addressed.into_iter().map(discard).collect(), move |outcome| {
        link.done(&entry, finished(&link, outcome, Status::WRITE_FAULT), cost);
    });
}

/// Returns the result of a command; `damaged` is the status if the medium fails. A drive that has become read-only says
/// so to all hosts.
fn finished(link: &Link, outcome: Result<Answer, Failure>, damaged: Status) -> Result<u64, Status> {
    match outcome {
        Ok(_) => Ok(0),
        Err(failure) => {
            if matches!(failure, Failure::ReadOnly(_)) {
                link.subsystem.warn();
            }
            Err(status(&failure, damaged))
        }
    }
}

/// Returns the status of a failure; `damaged` is that of a medium that fails.
pub fn status(failure: &Failure, damaged: Status) -> Status {
    match failure {
        Failure::OutOfRange { .. } => Status::OUT_OF_RANGE,
        Failure::ReadOnly(_) => Status::WRITE_PROTECTED,
        Failure::NoSpace(_) => Status::CAPACITY,
        Failure::Refused(_) => Status::INVALID_FIELD,
        Failure::Io(_) => damaged,
        Failure::Unanswered => Status::UNANSWERED,
        Failure::Stopped => Status::NOT_READY,
    }
}
