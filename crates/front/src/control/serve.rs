//! Serves a connection: reads requests, checks them, executes them and answers, one after the
//! other.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::request::{self, ControlStatus, Pages, Request};
use super::{Keeper, VERSION, frame};
use crate::clients::Connection;
use crate::command::Command;
use crate::meter::Meter;
use crate::queue::Queue;
use crate::socket::Socket;
use flashgc_device::failure::Failure;
use flashgc_device::{Backend, PAGE};

/// The most pages of one command. Between two commands of a request the drive serves other clients.
const STEP: u64 = 1 << 14;
/// The most bytes of memory that a command of [`STEP`] pages takes: two numbers for each page of a
/// hint.
const MEMORY: usize = 2 * size_of::<u64>() * STEP as usize;
/// The longest text of an error, in characters.
const TEXT: usize = 1024;

const PAGE_BYTES: u64 = PAGE as u64;

/// The drive and its keeper, shared by all connections.
pub(super) struct Desk {
    pub(super) queue: Queue,
    pub(super) keeper: Arc<dyn Keeper>,
    /// The longest time that a frame takes from its first byte to its last.
    pub(super) patience: Duration,
}

type Refusal = (ControlStatus, String);

impl Desk {
    /// Answers a client until it disconnects, or sends bytes that are no request.
    pub(super) fn serve(&self, client: &Connection) -> io::Result<()> {
        let socket = &client.socket;
        let mut is_known = false;
        loop {
            let idle = if is_known { None } else { Some(self.patience) };
            let (kind, body) = match frame::read(socket, request::LONGEST, idle, self.patience) {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return self.tell(socket, Err((ControlStatus::Malformed, error.to_string())));
                }
                Err(error) => return Err(error),
            };
            let request = match Request::decode(kind, &body) {
                Ok(request) if is_known || matches!(request, Request::Hello { .. }) => request,
                Ok(_) => {
                    let text = "the first request is not HELLO".into();
                    return self.tell(socket, Err((ControlStatus::Malformed, text)));
                }
                Err(fault) => {
                    return self.tell(socket, Err((ControlStatus::Malformed, fault.to_string())));
                }
            };
            let is_stop = request == Request::Stop;
            // While a client is being answered, it counts as busy and keeps its place.
            if !client.window.take(body.len()) {
                client.window.free(body.len());
                return Ok(());
            }
            let done = self.answer(request);
            let goes_on = !matches!(done, Err((ControlStatus::Version, _)));
            is_known = true;
            let sent = self.tell(socket, done);
            client.window.free(body.len());
            sent?;
            if is_stop {
                // The client has been answered before the server stops and closes the connection.
                self.keeper.stop();
            }
            if !goes_on {
                return Ok(());
            }
        }
    }

    fn tell(&self, socket: &Socket, done: Result<Vec<u8>, Refusal>) -> io::Result<()> {
        match done {
            Ok(body) => frame::write(socket, ControlStatus::Done as u16, &body, self.patience),
            Err((status, text)) => {
                let text: String = text.chars().take(TEXT).collect();
                frame::write(socket, status as u16, text.as_bytes(), self.patience)
            }
        }
    }

    fn answer(&self, request: Request) -> Result<Vec<u8>, Refusal> {
        let refused = |text| (ControlStatus::Refused, text);
        match request {
            Request::Hello { version } if version != VERSION => {
                let text = format!(
                    "the client speaks version {version}, the server {VERSION}; hint: use the same \
                     flashgc for both"
                );
                Err((ControlStatus::Version, text))
            }
            Request::Hello { .. } => {
                let pages = (self.queue.size() / PAGE_BYTES).to_le_bytes();
                let numbers = [VERSION.to_le_bytes(), (PAGE as u32).to_le_bytes()];
                Ok([numbers.as_flattened(), &pages].concat())
            }
            Request::Moment => self.all([Command::Moment].into_iter()).map(number),
            Request::Hint { moment, pages } => self
                .all(self.steps(&pages)?.map(|(at, bytes)| Command::Hint { at, bytes, moment }))
                .map(number),
            Request::Cancel(pages) => self
                .all(self.steps(&pages)?.map(|(at, bytes)| Command::Cancel { at, bytes }))
                .map(nothing),
            Request::Trim(pages) => self
                .all(self.steps(&pages)?.map(|(at, bytes)| Command::Trim { at, bytes, fua: false }))
                .map(nothing),
            Request::Hinted(pages) => self.hinted(&pages),
            Request::Flush => self.all([Command::Flush].into_iter()).map(nothing),
            Request::Stat => self.keeper.stat().map(String::into_bytes).map_err(refused),
            Request::Blocks => self.keeper.blocks().map_err(refused),
            Request::Record(file) => {
                let line = self.keeper.record(file.as_deref().map(Path::new));
                line.map(String::into_bytes).map_err(refused)
            }
            Request::Mark(name) => self.keeper.mark(&name).map(String::into_bytes).map_err(refused),
            Request::Files { device, files } => {
                self.keeper.files(device, &files).map(|()| vec![]).map_err(refused)
            }
            Request::Inject(fault) => {
                self.queue.faults().inject(fault).map(number).map_err(refused)
            }
            Request::Clear(fault) => {
                let cleared = self.queue.faults().clear(fault).map_err(refused)?;
                Ok(number(cleared as u64))
            }
            Request::Stop => Ok(vec![]),
        }
    }

    fn hinted(&self, pages: &[Pages]) -> Result<Vec<u8>, Refusal> {
        let mut sums = [0; 2];
        for (at, bytes) in self.steps(pages)? {
            let ask = move |drive: &mut dyn Backend, _: &mut Meter| {
                let drive = drive.as_drive().ok_or("this drive keeps no hints")?;
                let counted = drive.hinted(at / PAGE_BYTES, bytes / PAGE_BYTES);
                counted.map_err(|error| error.to_string()).map(<[u64; 2]>::from)
            };
            let answer = self.queue.visit(ask).map_err(|failure| refusal(&failure))?;
            let counted = answer.map_err(|text| (ControlStatus::Refused, text))?;
            sums.iter_mut().zip(counted).for_each(|(sum, count)| *sum += count);
        }
        Ok(sums.map(u64::to_le_bytes).concat())
    }

    /// Returns the ranges in bytes, cut into steps of at most [`STEP`] pages.
    fn steps<'a>(
        &self,
        pages: &'a [Pages],
    ) -> Result<impl Iterator<Item = (u64, u64)> + use<'a>, Refusal> {
        let size = self.queue.size() / PAGE_BYTES;
        let mut all = 0_u64;
        for &Pages { first, count } in pages {
            if first.checked_add(count).is_none_or(|end| end > size) {
                let text = format!(
                    "{count} pages from page {first} on are not on a drive of {size} pages"
                );
                return Err((ControlStatus::OutOfRange, text));
            }
            all = all.saturating_add(count);
        }
        if all > size {
            let text = format!("the ranges have {all} pages, more than the drive with {size}");
            return Err((ControlStatus::OutOfRange, text));
        }
        Ok(pages.iter().flat_map(|&Pages { first, count }| {
            (0..count).step_by(STEP as usize).map(move |done| {
                ((first + done) * PAGE_BYTES, (count - done).min(STEP) * PAGE_BYTES)
            })
        }))
    }

    /// Executes all commands. Returns the sum of the numbers of pages in their answers.
    fn all(&self, commands: impl Iterator<Item = Command>) -> Result<u64, Refusal> {
        let (tell, outcomes) = channel();
        for command in commands {
            let tell = tell.clone();
            // The answers are collected below.
            self.queue.submit_reserved(MEMORY, command, move |outcome| drop(tell.send(outcome)));
        }
        drop(tell);
        outcomes.iter().try_fold(0, |sum, outcome| match outcome {
            Ok(answer) => Ok(sum + answer.pages()),
            Err(failure) => Err(refusal(&failure)),
        })
    }
}

fn number(number: u64) -> Vec<u8> {
    number.to_le_bytes().into()
}

fn nothing(_: u64) -> Vec<u8> {
    vec![]
}

fn refusal(failure: &Failure) -> Refusal {
    (status(failure), failure.to_string())
}

fn status(failure: &Failure) -> ControlStatus {
    match failure {
        Failure::OutOfRange { .. } => ControlStatus::OutOfRange,
        Failure::ReadOnly(_) => ControlStatus::ReadOnly,
        Failure::NoSpace(_) => ControlStatus::NoSpace,
        Failure::Io(_) | Failure::Unanswered => ControlStatus::Io,
        Failure::Stopped => ControlStatus::Stopped,
        Failure::Refused(_) => ControlStatus::Refused,
    }
}
