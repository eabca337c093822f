//! The commands Directive Receive and Directive Send, which list and switch directives.
//!
//! # Source
//! NVM Express Base Specification 2.1, directives.

use super::NAMESPACE;
use super::fdp::DIRECTIVE;
use super::structures::{Entry, Status};

/// The size of the parameters of directives in bytes.
const BYTES: usize = 4096;
/// The type of the directive Identify, which lists the other directives.
const IDENTIFY: u8 = 0;
/// The only operation of this directive. A Directive Receive returns the parameters, a Directive
/// Send switches a directive on or off.
const OPERATION: u8 = 1;

/// Returns the answer to a Directive Receive: the types of directives that are supported, that are
/// enabled, and that stay enabled after a reset of the controller.
pub fn receive(entry: &Entry) -> Result<Vec<u8>, Status> {
    of_identify(entry)?;
    let types = 1 << IDENTIFY | 1 << DIRECTIVE;
    let mut data = vec![0; BYTES];
    for part in 0..3 {
        data[part * 32] = types;
    }
    Ok(data)
}

/// Executes a Directive Send. Data placement is always enabled on this drive. So the command
/// succeeds only if it enables data placement.
pub fn send(entry: &Entry) -> Result<(), Status> {
    of_identify(entry)?;
    let (is_on, kind) = (entry.dword(12) & 1 != 0, entry.dword(12) >> 8 & 0xff);
    if is_on && kind == DIRECTIVE { Ok(()) } else { Err(Status::INVALID_FIELD) }
}

/// Checks that a command concerns the directive Identify.
fn of_identify(entry: &Entry) -> Result<(), Status> {
    let [operation, kind, ..] = entry.dword(11).to_le_bytes();
    if !matches!(entry.nsid.get(), NAMESPACE | u32::MAX) {
        return Err(Status::INVALID_NAMESPACE);
    }
    if (operation, kind) == (OPERATION, IDENTIFY) { Ok(()) } else { Err(Status::INVALID_FIELD) }
}
