//! The thread that writes the replies of a connection.

use std::io::{self, Write};
use std::sync::mpsc::Receiver;

use super::wire::{SIMPLE_REPLY, STRUCTURED_REPLY, allocation, chunk};
use crate::clients;
use crate::command::Answer;
use crate::socket::Socket;
use crate::window::Window;
use flashgc_device::bytes::Extent;

/// A reply to write.
pub struct NbdReply {
    /// The client's number of the request.
    pub cookie: u64,
    /// The first byte of the request's range.
    pub at: u64,
    /// The answer, or the number of an error and a message; `None` if the client gets no answer.
    pub outcome: Option<Result<Answer, (u32, String)>>,
    /// The number of bytes to give back to the window when the reply is written.
    pub cost: usize,
}

/// Writes replies until all senders are dropped.
pub fn write(socket: &Socket, replies: &Receiver<NbdReply>, window: &Window, structured: bool) {
    let encode = |out: &mut _, reply: &NbdReply| encode(out, reply, structured);
    clients::reply(socket, window, replies, encode, |reply| window.free(reply.cost));
}

fn encode(out: &mut impl Write, reply: &NbdReply, structured: bool) -> io::Result<()> {
    let Some(outcome) = &reply.outcome else { return Ok(()) };
    if !structured {
        let error = outcome.as_ref().map_or_else(|error| error.0, |_| 0);
        out.write_all(&SIMPLE_REPLY.to_be_bytes())?;
        out.write_all(&error.to_be_bytes())?;
        out.write_all(&reply.cookie.to_be_bytes())?;
        return match outcome {
            Ok(Answer::Data(data)) => out.write_all(data),
            _ => Ok(()),
        };
    }
    let mut piece = |flags: u16, kind: u16, head: &[u8], data: &[u8]| {
        out.write_all(&STRUCTURED_REPLY.to_be_bytes())?;
        out.write_all(&flags.to_be_bytes())?;
        out.write_all(&kind.to_be_bytes())?;
        out.write_all(&reply.cookie.to_be_bytes())?;
        out.write_all(&((head.len() + data.len()) as u32).to_be_bytes())?;
        out.write_all(head)?;
        out.write_all(data)
    };
    match outcome {
        Ok(Answer::Data(data)) if !data.is_empty() => {
            piece(chunk::DONE, chunk::OFFSET_DATA, &reply.at.to_be_bytes(), data)
        }
        Ok(Answer::Extents(extents)) => piece(
            chunk::DONE,
            chunk::BLOCK_STATUS,
            &allocation::ID.to_be_bytes(),
            &descriptors(extents),
        ),
        Ok(Answer::Sparse(extents, data)) if !extents.is_empty() => {
            let (mut at, mut rest) = (reply.at, data.as_slice());
            for (index, extent) in extents.iter().enumerate() {
                let flags = if index + 1 == extents.len() { chunk::DONE } else { 0 };
                if extent.data {
                    let (data, behind) = rest.split_at(extent.bytes as usize);
                    rest = behind;
                    piece(flags, chunk::OFFSET_DATA, &at.to_be_bytes(), data)?;
                } else {
                    let bytes = (extent.bytes as u32).to_be_bytes();
                    piece(flags, chunk::OFFSET_HOLE, &at.to_be_bytes(), &bytes)?;
                }
                at += extent.bytes;
            }
            Ok(())
        }
        Ok(_) => piece(chunk::DONE, chunk::NONE, &[], &[]),
        Err((error, text)) => {
            let mut head = error.to_be_bytes().to_vec();
            head.extend((text.len() as u16).to_be_bytes());
            piece(chunk::DONE, chunk::ERROR, &head, text.as_bytes())
        }
    }
}

fn descriptors(extents: &[Extent]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(extents.len() * 8);
    for extent in extents {
        let state = if extent.data { 0 } else { allocation::HOLE | allocation::ZERO };
        bytes.extend((extent.bytes as u32).to_be_bytes());
        bytes.extend(state.to_be_bytes());
    }
    bytes
}
