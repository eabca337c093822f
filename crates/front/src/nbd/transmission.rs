//! The transmission phase: reads requests, checks them and submits them to the drive's queue.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{Sender, channel};

use super::NbdExport;
use super::negotiation::Agreed;
use super::replies::{self, NbdReply};
use super::wire::{self, LARGEST, command, error, flag, garbage};
use crate::clients::Connection;
use crate::command::{Answer, Command};
use crate::limits::PIECE;
use crate::queue::Queue;
use crate::socket::Requests;
use flashgc_device::failure::Failure;

/// The most extents in the answer to one block status request. For the rest of its range the client
/// sends another request.
const EXTENTS: usize = 1024;
/// The bytes of memory that a request takes besides its data.
const OVERHEAD: usize = 4096;
/// The longest text of an error, in characters.
const TEXT: usize = 1024;

struct Request {
    flags: u16,
    kind: u16,
    cookie: u64,
    at: u64,
    bytes: u32,
}

/// Answers requests until the client disconnects.
pub fn serve(
    client: &Connection,
    queue: &Queue,
    export: &NbdExport,
    agreed: Agreed,
) -> io::Result<()> {
    let Connection { socket, window } = client;
    let queue = &queue.of_client(window);
    let (replies, queued) = channel();
    std::thread::scope(|scope| {
        let write = move || replies::write(socket, &queued, window, agreed.structured);
        std::thread::Builder::new().name("nbd-replies".into()).spawn_scoped(scope, write)?;
        // The thread that writes replies ends when the last one is written.
        read(client, queue, export, agreed, replies)
    })
}

fn read(
    client: &Connection,
    queue: &Queue,
    export: &NbdExport,
    agreed: Agreed,
    replies: Sender<NbdReply>,
) -> io::Result<()> {
    let Connection { socket, window } = client;
    let hand_over = || queue.hand_over();
    let mut input = BufReader::with_capacity(PIECE, Requests::new(socket, window, &hand_over));
    loop {
        if input.fill_buf()?.is_empty() {
            return Ok(());
        }
        input.get_mut().set_within(true);
        let request = Request::read(&mut input)?;
        if request.kind == command::DISC {
            return Ok(());
        }
        let cost = request.cost();
        if !window.take_or_wait(cost, hand_over) {
            window.free(cost);
            return Ok(());
        }
        // The time in which the client must send the data begins now, after the wait for room.
        input.get_mut().set_within(true);
        let payload = request.payload(&mut input).inspect_err(|_| window.free(cost))?;
        input.get_mut().set_within(false);
        let command = request.command(payload, export, agreed, queue.size());
        let (replies, Request { kind, cookie, at, .. }) = (replies.clone(), request);
        // A client that is gone needs no reply.
        let tell = move |outcome| drop(replies.send(NbdReply { cookie, at, outcome, cost }));
        match command {
            Ok(Some(command)) => queue.submit_reserved(cost, command, move |outcome| {
                tell(match outcome {
                    Err(Failure::Unanswered) => None,
                    outcome => Some(outcome.map_err(|failure| number(&failure, kind))),
                });
            }),
            Ok(None) => tell(Some(Ok(Answer::Done))),
            Err((number, text)) => tell(Some(Err((number, text.into())))),
        }
    }
}

impl Request {
    fn read(input: &mut impl Read) -> io::Result<Self> {
        if wire::read_u32(input)? != wire::REQUEST {
            return Err(garbage("no request"));
        }
        Ok(Self {
            flags: wire::read_u16(input)?,
            kind: wire::read_u16(input)?,
            cookie: wire::read_u64(input)?,
            at: wire::read_u64(input)?,
            bytes: wire::read_u32(input)?,
        })
    }

    /// Returns the bytes of memory that the request and its reply take while they are under way.
    /// The data of a write have not been read yet.
    fn cost(&self) -> usize {
        let (at, bytes) = (self.at, self.bytes as usize);
        OVERHEAD
            + match self.kind {
                command::READ | command::WRITE if self.bytes > LARGEST => 0,
                command::READ => Command::ReadSparse { at, bytes }.cost().memory,
                command::WRITE => bytes,
                command::BLOCK_STATUS => {
                    Command::Extents { at, bytes: bytes as u64, most: EXTENTS }.cost().memory
                }
                _ => 0,
            }
    }

    /// Reads the data of a write. Data that are too long are read and dropped.
    fn payload(&self, input: &mut impl Read) -> io::Result<Vec<u8>> {
        let mut payload = Vec::new();
        if self.kind == command::WRITE && self.bytes > LARGEST {
            wire::skip(input, self.bytes.into())?;
        } else if self.kind == command::WRITE {
            payload.resize(self.bytes as usize, 0);
            input.read_exact(&mut payload)?;
        }
        Ok(payload)
    }

    /// Returns the drive's command, or `None` if there is nothing to do.
    fn command(
        &self,
        payload: Vec<u8>,
        export: &NbdExport,
        agreed: Agreed,
        size: u64,
    ) -> Result<Option<Command>, (u32, &'static str)> {
        // FUA is allowed with every command. It has no effect on commands that change nothing.
        let allowed = flag::FUA
            | match self.kind {
                command::READ if agreed.structured => flag::DF,
                command::WRITE_ZEROES => flag::NO_HOLE,
                command::BLOCK_STATUS => flag::REQ_ONE,
                _ => 0,
            };
        if self.flags & !allowed != 0 {
            return Err((error::EINVAL, "the command does not have this flag"));
        }
        let writes = matches!(self.kind, command::WRITE | command::TRIM | command::WRITE_ZEROES);
        if writes && export.read_only {
            return Err((error::EPERM, "the export is read-only"));
        }
        let (at, bytes) = (self.at, u64::from(self.bytes));
        let fua = self.flags & flag::FUA != 0;
        Ok(Some(match self.kind {
            command::READ | command::WRITE if self.bytes > LARGEST => {
                return Err((error::EINVAL, "reads and writes have at most 32 MiB"));
            }
            // The reply to a read with DF must be one chunk, so it cannot name holes.
            command::READ if agreed.structured && self.flags & flag::DF == 0 => {
                Command::ReadSparse { at, bytes: self.bytes as usize }
            }
            command::READ => Command::Read { at, bytes: self.bytes as usize },
            command::WRITE => Command::Write { at, data: payload, fua, streams: vec![] },
            command::TRIM => Command::Trim { at, bytes, fua },
            command::WRITE_ZEROES => {
                Command::Zero { at, bytes, keep: self.flags & flag::NO_HOLE != 0, fua }
            }
            command::FLUSH if at != 0 || bytes != 0 => {
                return Err((error::EINVAL, "a flush has no range"));
            }
            command::FLUSH => Command::Flush,
            command::BLOCK_STATUS if !agreed.allocation => {
                return Err((error::EINVAL, "no meta context was chosen"));
            }
            command::BLOCK_STATUS if bytes == 0 => {
                return Err((error::EINVAL, "block status needs a length"));
            }
            command::BLOCK_STATUS => {
                let is_single = self.flags & flag::REQ_ONE != 0;
                Command::Extents { at, bytes, most: if is_single { 1 } else { EXTENTS } }
            }
            // The drive has no read cache to fill.
            command::CACHE if at.checked_add(bytes).is_some_and(|end| end <= size) => {
                return Ok(None);
            }
            command::CACHE => return Err((error::EINVAL, "the range is not on the drive")),
            _ => return Err((error::EINVAL, "the command is not supported")),
        }))
    }
}

/// Returns the protocol's number for a failure, and its text.
fn number(failure: &Failure, kind: u16) -> (u32, String) {
    let number = match failure {
        Failure::OutOfRange { .. } if matches!(kind, command::WRITE | command::WRITE_ZEROES) => {
            error::ENOSPC
        }
        Failure::OutOfRange { .. } | Failure::Refused(_) => error::EINVAL,
        Failure::ReadOnly(_) => error::EPERM,
        Failure::NoSpace(_) => error::ENOSPC,
        Failure::Io(_) | Failure::Unanswered => error::EIO,
        Failure::Stopped => error::ESHUTDOWN,
    };
    (number, failure.to_string().chars().take(TEXT).collect())
}
