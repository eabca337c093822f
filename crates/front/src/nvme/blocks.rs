//! The parts that I/O commands share: the addressed blocks, the stream, and the status.

use flashgc_base::stream::StreamId;
use flashgc_device::failure::Failure;

use super::fdp::DIRECTIVE;
use super::link::Link;
use super::structures::{Entry, Status};
use super::subsystem::Subsystem;
use crate::command::Answer;

/// The bit of dword 12 which says that a command must be durable when it is answered (FUA).
pub const DURABLE: u32 = 1 << 30;

/// The range of bytes that a command addresses.
pub struct Addressed {
    pub at: u64,
    pub bytes: u64,
}

/// Returns the directive type of a write: 0 for none.
pub fn directive(entry: &Entry) -> u32 {
    entry.dword(12) >> 20 & 15
}

/// Returns the stream for the placement identifier of a write; `None` if the write has no
/// identifier.
pub fn stream(link: &Link, entry: &Entry) -> Option<StreamId> {
    let fdp = link.subsystem.fdp.as_ref().filter(|_| directive(entry) == DIRECTIVE)?;
    let identifier = (entry.dword(13) >> 16) as u16;
    Some(fdp.stream(identifier, link.controller.features(|features| features.timestamp())))
}

/// Returns the bytes that a command addresses, or an error if some of them are not on the drive.
pub fn addressed(subsystem: &Subsystem, entry: &Entry) -> Result<Addressed, Status> {
    let (first, blocks) = (entry.quadword(10), u64::from(entry.dword(12) as u16) + 1);
    on_drive(subsystem, first, blocks)
}

/// Returns these blocks as bytes, or an error if some of them are not on the drive.
pub fn on_drive(subsystem: &Subsystem, first: u64, blocks: u64) -> Result<Addressed, Status> {
    match first.checked_add(blocks) {
        Some(end) if end <= subsystem.blocks() => {
            let shift = subsystem.block_shift;
            Ok(Addressed { at: first << shift, bytes: blocks << shift })
        }
        _ => Err(Status::OUT_OF_RANGE),
    }
}

/// Returns the result of a command. `damaged` is the status to use if the medium failed.
pub fn finished(
    link: &Link,
    outcome: Result<Answer, Failure>,
    damaged: Status,
) -> Result<u64, Status> {
    outcome.map(|_| 0).map_err(|failure| failed(link, &failure, damaged))
}

/// Returns the status of a command that failed. If the drive has become read-only, all hosts are
/// told.
pub fn failed(link: &Link, failure: &Failure, damaged: Status) -> Status {
    if matches!(failure, Failure::ReadOnly(_)) {
        link.subsystem.warn();
    }
    status(failure, damaged)
}

/// Returns the status of a failure. `damaged` is the status to use if the medium failed.
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
