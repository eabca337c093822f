//! Directives: which types there are, and which are enabled.
//!
//! # Source
//! NVM Express Base Specification 2.1, directives.

use super::NAMESPACE;
use super::fdp::DIRECTIVE;
use super::structures::{Entry, Status};

/// The bytes of the parameters of directives.
const BYTES: usize = 4096;
/// The type of the directive that tells of the others.
const IDENTIFY: u8 = 0;
/// The only operation of that directive, of Directive Receive and of Directive Send: the parameters, and the
/// switch.
const OPERATION: u8 = 1;

/// Returns the answer to a Directive Receive: the types that there are, that are enabled, and that stay so.
pub fn receive(entry: &Entry) -> Result<Vec<u8>, Status> {
    of_identify(entry)?;
    let types = 1 << IDENTIFY | 1 << DIRECTIVE;
    let mut data = vec![0; BYTES];
    for part in 0..3 {
        data[part * 32] = types;
    }
    Ok(data)
}

/// Executes a Directive Send. Data placement is enabled, as the drive was made so, and stays it.
pub fn send(entry: &Entry) -> Result<(), Status> {
    of_identify(entry)?;
    let (is_on, kind) = (entry.dword(12) & 1 != 0, entry.dword(12) >> 8 & 0xff);
    if is_on && kind == DIRECTIVE { Ok(()) } else { Err(Status::INVALID_FIELD) }
}

/// Checks that a command is one of the directive that tells of the others.
fn of_identify(entry: &Entry) -> Result<(), Status> {
    let [operation, kind, ..] = entry.dword(11).to_le_bytes();
    if !matches!(entry.nsid.get(), NAMESPACE | u32::MAX) {
        return Err(Status::INVALID_NAMESPACE);
    }
    if (operation, kind) == (OPERATION, IDENTIFY) { Ok(()) } else { Err(Status::INVALID_FIELD) }
}
