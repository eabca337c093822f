//! The thread that writes the PDUs of a connection.

use std::io::{self, Write};
use std::sync::mpsc::Receiver;

use super::link::{Line, Reply};
use super::pdu;
use super::structures::{Completion, Status};
use crate::clients;
use crate::socket::Socket;
use crate::window::Window;

/// Writes PDUs until all senders are dropped.
pub fn write(socket: &Socket, replies: &Receiver<Reply>, window: &Window, line: &Line) {
    // Connect was the first command of the queue, and has advanced the head to 1.
    let mut head = 1;
    let encode = |out: &mut _, reply: &Reply| encode(out, reply, line, &mut head);
    clients::reply(socket, window, replies, encode, |reply| answered(reply, window, line));
}

/// Gives the memory of an answered command back to the window.
pub fn answered(reply: &Reply, window: &Window, line: &Line) {
    if let Reply::Done { cost, .. } | Reply::Data { cost, .. } = *reply {
        // A command without an answer stays under way for its host.
        if !matches!(reply, Reply::Done { status: Status::UNANSWERED, .. }) {
            line.answered();
        }
        // A command that was refused at once has taken no memory.
        if cost > 0 {
            window.free(cost);
        }
    }
}

/// Writes a PDU. `head` is the head of the submission queue.
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
            // Without flow control the data also stand for the response, unless there is a result.
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

/// Advances the head of the submission queue and returns it; 0xffff without flow control.
fn next(head: &mut u16, line: &Line) -> zerocopy::little_endian::U16 {
    if !line.has_flow_control {
        return 0xffff.into();
    }
    *head = (*head + 1) % line.entries;
    (*head).into()
}
