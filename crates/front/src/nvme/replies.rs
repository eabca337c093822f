//! The thread of a connection that writes PDUs.

use std::io::{self, Write};
use std::sync::mpsc::Receiver;

use super::link::{Line, Reply};
use super::pdu;
use super::structures::{Completion, Status};
use crate::clients;
use crate::socket::Socket;
use crate::window::Window;

/// Writes PDUs until nobody is left to send one.
pub fn write(socket: &Socket, replies: &Receiver<Reply>, window: &Window, line: &Line) {
    // The Connect was the first command.
    let mut head = 1;
    let encode = |out: &mut _, reply: &Reply| encode(out, reply, line, &mut head);
    clients::reply(socket, window, replies, encode, |reply| answered(reply, window, line));
}

/// Gives the room of a command back that was answered.
pub fn answered(reply: &Reply, window: &Window, line: &Line) {
    if let Reply::Done { cost, .. } | Reply::Data { cost, .. } = *reply {
        // To its host, a command without an answer is under way for ever.
        if !matches!(reply, Reply::Done { status: Status::UNANSWERED, .. }) {
            line.answered();
        }
        // A command that was refused at once has taken none.
        if cost > 0 {
            window.free(cost);
        }
    }
}

/// Writes a PDU. `head` is the place up to which the queue was read.
pub fn encode(out: &mut impl Write, reply: &Reply, line: &Line, head: &mut u16) -> io::Result<()> {
    let terms = line.terms;
    match *reply {
        Reply::Grant { cid, tag, bytes } => pdu::grant(out, cid, tag, bytes, terms),
        Reply::Done { status: Status::UNANSWERED, .. } => Ok(()),
        Reply::Done { cid, status, result, .. } => {
            let completion = Completion {
                result: result.into(),
                head: next(head, line),
                queue: line.queue.into(),
                cid,
                status: status.field(),
            };
            pdu::respond(out, completion, terms)
        }
        Reply::Data { cid, ref data, result, .. } => {
            // Without flow control the data are the answer, too, unless there is a result.
            let is_answer = !line.has_flow_control && result == 0;
            pdu::send_data(out, cid, data, is_answer, terms)?;
            if is_answer {
                return Ok(());
            }
            let completion = Completion {
                result: result.into(),
                head: next(head, line),
                queue: line.queue.into(),
                cid,
                status: Status::SUCCESS.field(),
            };
            pdu::respond(out, completion, terms)
        }
        Reply::End(fatal, ref header) => pdu::terminate(out, fatal, header),
    }
}

/// Returns the place in the queue behind the command that is answered.
fn next(head: &mut u16, line: &Line) -> zerocopy::little_endian::U16 {
    if !line.has_flow_control {
        return 0xffff.into();
    }
    *head = (*head + 1) % line.entries;
    (*head).into()
}
