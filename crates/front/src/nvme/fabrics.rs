//! The Fabrics commands: Connect, which makes a connection a queue, and the commands for the
//! properties of a controller.
//!
//! # Source
//! NVM Express Base Specification 2.0, section 6.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::controller::{Change, Controller, ControllerKind, Host};
use super::link::{Line, Link};
use super::pdu::{self, End, Fatal, Head, Incoming, Initialize, Most, Terms};
use super::structures::{Completion, ConnectData, Entry, Status, fabrics, opcode};
use super::subsystem::Subsystem;
use super::{ADMIN_CAPSULE, CAPSULE, DATA, QUEUE_ENTRIES, QUEUES};
use crate::command::Command;
use crate::window::Window;

/// The controller number in a Connect that asks for a new controller.
const ANY: u16 = 0xffff;

/// A connection that has become a queue.
pub struct Joined {
    pub controller: Arc<Controller>,
    pub line: Line,
}

/// The status of a Connect that fails, with its result: the offset of the wrong parameter.
type Refusal = (Status, u64);

/// Makes a connection a queue. Returns `None` if the host was refused.
///
/// # Errors
/// The host is gone, or does not speak the protocol.
pub fn connect<S: Read + Write>(
    stream: &mut S,
    subsystem: &Subsystem,
    window: &Arc<Window>,
    address: Option<SocketAddr>,
) -> Result<Option<Joined>, End> {
    let terms = Initialize::receive(stream)?;
    stream.write_all(Initialize::agreed(terms, DATA as u32).as_bytes())?;
    let most = Most { capsule: ADMIN_CAPSULE, data: 0 };
    let Incoming { head, bytes } = Incoming::receive(stream, terms, most)?;
    let entry = match head {
        Head::Command(entry) => entry,
        Head::Data(transfer) => {
            return Err(End::Fatal(Fatal::Sequence, transfer.as_bytes().to_vec()));
        }
        Head::Terminates => return Ok(None),
    };
    let mut data = vec![0; bytes];
    let is_whole = pdu::receive_data(stream, &mut data, terms)?;
    let joined = match is_whole {
        true => join(subsystem, window, &entry, &data, terms, address),
        false => Err((Status::TRANSPORT, 0)),
    };
    let (status, result) = match &joined {
        Ok(joined) => (Status::SUCCESS, joined.controller.id.into()),
        Err(refusal) => *refusal,
    };
    let head = match &joined {
        Ok(joined) if joined.line.has_flow_control => 1,
        Ok(_) => 0xffff,
        Err(_) => 0,
    };
    let completion = Completion {
        result: result.into(),
        head: head.into(),
        cid: entry.cid,
        status: status.field(),
        ..Completion::new_zeroed()
    };
    pdu::respond(stream, completion, terms)?;
    Ok(joined.ok())
}

/// Returns the refusal of the parameter at this offset in the command.
fn in_command(place: u64) -> Refusal {
    (Status::CONNECT_PARAMETER, place)
}

/// Returns the refusal of the parameter at this offset in the data.
fn in_data(place: u64) -> Refusal {
    (Status::CONNECT_PARAMETER, place | 1 << 16)
}

fn join(
    subsystem: &Subsystem,
    window: &Arc<Window>,
    entry: &Entry,
    data: &[u8],
    terms: Terms,
    address: Option<SocketAddr>,
) -> Result<Joined, Refusal> {
    if entry.opcode != opcode::FABRICS || entry.fabrics_type() != fabrics::CONNECT {
        return Err((Status::SEQUENCE, 0));
    }
    let Ok(connect) = ConnectData::read_from_bytes(data) else {
        return Err((Status::DATA_LENGTH, 0));
    };
    let (format, queue) = (entry.dword(10) as u16, (entry.dword(10) >> 16) as u16);
    if format != 0 {
        return Err((Status::CONNECT_FORMAT, 0));
    }
    let last = entry.dword(11) as u16;
    if last == 0 || last >= QUEUE_ENTRIES {
        return Err(in_command(44));
    }
    let name = text(&connect.host).ok_or(in_data(512))?;
    if !name.starts_with("nqn.") {
        return Err(in_data(512));
    }
    let kind = match text(&connect.subsystem) {
        Some(name) if name == subsystem.name_of(ControllerKind::Drive) => ControllerKind::Drive,
        Some(name) if name == subsystem.name_of(ControllerKind::Discovery) => {
            ControllerKind::Discovery
        }
        _ => return Err(in_data(256)),
    };
    let host = Host { name, id: connect.host_id };
    let id = connect.controller.get();
    let controller = match queue {
        0 if id != ANY => return Err(in_data(16)),
        0 => {
            let keep_alive = entry.dword(12);
            let controller = subsystem.make(kind, host, keep_alive);
            controller.ok_or((Status::CONNECT_BUSY, 0))?
        }
        queue if queue > QUEUES || kind == ControllerKind::Discovery => return Err(in_command(42)),
        _ => {
            let controller = subsystem.find(id).ok_or(in_data(16))?;
            if controller.kind != kind {
                return Err(in_data(16));
            }
            if controller.host != host {
                return Err((Status::CONNECT_HOST, 0));
            }
            controller
        }
    };
    if !controller.join(queue, window) {
        return Err((Status::SEQUENCE, 0));
    }
    controller.hear();
    let line = Line {
        queue,
        entries: last + 1,
        has_flow_control: entry.dword(11) >> 16 & 1 << 2 == 0,
        terms,
        address,
        under_way: AtomicUsize::new(0),
    };
    Ok(Joined { controller, line })
}

/// Returns the text of a field that ends with a zero byte; `None` if there is no zero or the text
/// is empty.
fn text(field: &[u8]) -> Option<String> {
    let end = field.iter().position(|byte| *byte == 0).filter(|end| *end > 0)?;
    String::from_utf8(field[..end].to_vec()).ok()
}

/// Returns the most bytes of data in each PDU of a queue.
pub fn most(queue: u16) -> Most {
    Most { capsule: if queue == 0 { ADMIN_CAPSULE } else { CAPSULE }, data: DATA }
}

/// Executes a Fabrics command after Connect. Returns its result.
pub fn execute(link: &Arc<Link>, entry: &Entry) -> Result<u64, Status> {
    let (bytes, place) = (if entry.dword(10) & 7 == 1 { 8 } else { 4 }, entry.dword(11));
    let is_admin = link.line.queue == 0;
    match entry.fabrics_type() {
        fabrics::PROPERTY_GET if is_admin => link.controller.property(place, bytes),
        fabrics::PROPERTY_SET if is_admin => {
            let change = link.controller.set_property(place, bytes, entry.dword(12))?;
            if change == Change::Shutdown {
                let controller = Arc::clone(&link.controller);
                // The answer does not matter: if this flush fails, the host's own flushes have
                // failed as well, so the host knows of the failure.
                link.queue.submit(Command::Flush, move |_| controller.is_shut_down());
            }
            Ok(0)
        }
        // Disconnect is only for I/O queues. The caller then closes the connection.
        fabrics::DISCONNECT if is_admin => Err(Status::CONNECT_QUEUE),
        fabrics::DISCONNECT if entry.dword(10) as u16 != 0 => Err(Status::CONNECT_FORMAT),
        fabrics::DISCONNECT => Ok(0),
        fabrics::CONNECT => Err(Status::SEQUENCE),
        _ => Err(Status::INVALID_FIELD),
    }
}
