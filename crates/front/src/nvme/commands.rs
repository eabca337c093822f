//! Executes the commands of the NVM command set as commands of the drive.
//!
//! # Source
//! NVM Command Set Specification 1.0, section 3.2.

use std::sync::Arc;

use super::blocks::{Addressed, DURABLE, addressed, directive, finished, stream};
use super::fdp::DIRECTIVE;
use super::link::{Link, Need, Reply};
use super::structures::{Entry, Status, opcode};
use super::subsystem::Subsystem;
use super::{LARGEST, NAMESPACE, fdp_commands, lists};
use crate::command::{Answer, Command};
use flashgc_device::PAGE;

/// The bit of dword 12 with which Write Zeroes discards (DEAC).
const DISCARD: u32 = 1 << 25;
/// Checks a command as far as possible without its data. Returns the memory that it needs for data.
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
                | opcode::COPY
        )
    {
        return Err(Status::INVALID_OPCODE);
    }
    let is_flush_of_all = code == opcode::FLUSH && entry.nsid.get() == u32::MAX;
    if entry.nsid.get() != NAMESPACE && !is_flush_of_all {
        return Err(Status::INVALID_NAMESPACE);
    }
    let places = matches!(code, opcode::WRITE | opcode::WRITE_ZEROES | opcode::COPY);
    if (places || matches!(code, opcode::DATASET | opcode::IO_SEND)) && subsystem.read_only {
        return Err(Status::WRITE_PROTECTED);
    }
    let is_placed = match directive(entry) {
        DIRECTIVE if has_fdp => true,
        0 => false,
        _ if places => return Err(Status::INVALID_FIELD),
        _ => false,
    };
    match code {
        opcode::FLUSH => return Ok(nothing),
        opcode::DATASET => return Ok(lists::need_of_dataset(entry)),
        opcode::COPY => return lists::need_of_copy(entry),
        opcode::IO_RECEIVE | opcode::IO_SEND => return fdp_commands::need(entry),
        _ => {}
    }
    let bytes = addressed(subsystem, entry)?.bytes as usize;
    let may_be_large = code == opcode::WRITE_ZEROES && entry.dword(12) & DISCARD != 0;
    if bytes > LARGEST && !may_be_large {
        return Err(Status::INVALID_FIELD);
    }
    Ok(match code {
        // Blocks that begin or end within a page need the memory of the whole page.
        opcode::WRITE => Need { taken: bytes, ..nothing },
        opcode::COMPARE => Need { taken: bytes, held: bytes + PAGE, ..nothing },
        opcode::VERIFY => Need { held: bytes + PAGE, ..nothing },
        opcode::READ => Need { given: bytes, held: PAGE, ..nothing },
        // Zeros with a placement handle are written as data.
        opcode::WRITE_ZEROES if is_placed && !may_be_large => Need { held: bytes, ..nothing },
        _ => nothing,
    })
}

/// Executes a checked command. `data` are its data from the host. `cost` bytes are given back to
/// the window with the answer.
pub fn execute(link: &Arc<Link>, entry: Entry, data: Vec<u8>, cost: usize) {
    let Link { subsystem, .. } = &**link;
    match entry.opcode {
        opcode::DATASET => return lists::dataset(link, entry, &data, cost),
        opcode::COPY => return lists::copy(link, entry, &data, cost),
        _ => {}
    }
    if let (opcode::IO_RECEIVE | opcode::IO_SEND, Some(fdp)) = (entry.opcode, &subsystem.fdp) {
        let need = fdp_commands::need(&entry);
        return match need {
            Ok(Need { given: 1.., .. }) => {
                let data = fdp_commands::receive(subsystem, fdp, need.map_or(0, |need| need.given));
                link.send(Reply::Data { cid: entry.cid, data, result: 0, cost });
            }
            _ => {
                let done = match entry.opcode {
                    opcode::IO_SEND => fdp_commands::send(link, fdp, &entry, &data),
                    _ => Ok(0),
                };
                link.done(&entry, done, cost);
            }
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
    let (host, link) = (link, Arc::clone(link));
    match entry.opcode {
        opcode::READ => {
            host.submit(Command::Read { at, bytes: bytes as usize }, cost, move |outcome| {
                match outcome {
                    Ok(Answer::Data(data)) => {
                        link.send(Reply::Data { cid: entry.cid, data, result: 0, cost })
                    }
                    outcome => {
                        link.done(&entry, finished(&link, outcome, Status::UNRECOVERED_READ), cost)
                    }
                }
            })
        }
        opcode::COMPARE => host.submit(Command::Compare { at, data }, cost, move |outcome| {
            let outcome = match outcome {
                Ok(Answer::Differs) => Err(Status::COMPARE_FAILURE),
                outcome => finished(&link, outcome, Status::UNRECOVERED_READ),
            };
            link.done(&entry, outcome, cost);
        }),
        opcode::VERIFY => {
            host.submit(Command::Verify { at, bytes: bytes as usize }, cost, move |outcome| {
                link.done(&entry, finished(&link, outcome, Status::UNRECOVERED_READ), cost);
            });
        }
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
            host.submit(command, cost, move |outcome| {
                link.done(&entry, finished(&link, outcome, damaged), cost);
            });
        }
    }
}
