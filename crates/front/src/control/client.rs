//! A client of the control socket.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::request::{ControlStatus, FileStream, Pages, Request, number};
use super::{VERSION, frame};
use crate::faults::Fault;
use crate::socket::{Socket, connect};
use flashgc_device::PAGE;

/// The longest wait for the first byte of an answer, and again for the rest. A flush of a slow disk
/// takes long.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest wait for the answer to HELLO, for which the server does not need the drive.
const GREETING: Duration = Duration::from_secs(10);
/// The largest text of an answer, in bytes. There is a limit because root may run a client that
/// talks to another user's server.
const LONGEST: usize = 16 << 20;
/// The most bytes of an answer for each page of the drive.
const PER_PAGE: usize = 64;
/// The largest answer of any kind, in bytes.
const LARGEST: usize = 1 << 28;

/// The reasons why a client has no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No server listens at the socket.
    #[error("no drive is served at {} ({}); hint: flashgc device serve", path.display(), error.kind())]
    NoServer {
        /// The path of the socket.
        path: PathBuf,
        /// The error of connecting to it.
        error: io::Error,
    },
    /// The server answered with a status other than done.
    #[error("{text}")]
    Failed {
        /// The status of the answer.
        status: ControlStatus,
        /// The server's message about the failure.
        text: String,
    },
    /// The bytes received are no answer of this protocol.
    #[error("the answer to a request is none: {0}; hint: is this the control socket of a drive?")]
    Garbage(&'static str),
    /// The connection broke.
    #[error("the connection to the drive broke: {0}")]
    Broken(#[from] io::Error),
}

/// A connection to the control socket of a drive. After an error other than [`ClientError::Failed`]
/// it cannot be used any more.
pub struct ControlClient {
    socket: Socket,
    pages: u64,
}

impl ControlClient {
    /// Connects to the server at `path`.
    ///
    /// # Errors
    /// Fails if no server answers, or if it speaks another protocol or version.
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let socket =
            connect(path).map_err(|error| ClientError::NoServer { path: path.into(), error })?;
        let mut client = Self { socket: Socket::Unix(socket), pages: 0 };
        let about = client.ask(&Request::Hello { version: VERSION })?;
        let about = about.split_first_chunk::<8>().and_then(|(head, rest)| {
            let expected = [VERSION.to_le_bytes(), (PAGE as u32).to_le_bytes()];
            (head == expected.as_flattened() && rest.len() == 8).then_some(rest)
        });
        let pages = about.and_then(number).ok_or(ClientError::Garbage("HELLO"))?;
        client.pages = pages.0;
        Ok(client)
    }

    /// Returns the number of pages of the drive.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Returns the present moment, the number of pages that the host has written. A later hint can
    /// name it.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn moment(&mut self) -> Result<u64, ClientError> {
        let answer = self.ask(&Request::Moment)?;
        one_number(&answer)
    }

    /// Gives a hint: the host knew at `moment` that it will write these pages soon. `None` is the
    /// moment at which the drive executes the hint. Returns how many of the pages were written
    /// since `moment`.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn hint(&mut self, moment: Option<u64>, pages: &[Pages]) -> Result<u64, ClientError> {
        let mut late = 0;
        for pages in parts(pages) {
            let answer = self.ask(&Request::Hint { moment, pages: pages.into() })?;
            late += one_number(&answer)?;
        }
        Ok(late)
    }

    /// Takes back the hints on these pages.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn cancel(&mut self, pages: &[Pages]) -> Result<(), ClientError> {
        parts(pages).try_for_each(|pages| self.tell(&Request::Cancel(pages.into())))
    }

    /// Returns how many of these pages have data, and how many have a hint.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn hinted(&mut self, pages: &[Pages]) -> Result<(u64, u64), ClientError> {
        let mut sums = (0, 0);
        for pages in parts(pages) {
            let answer = self.ask(&Request::Hinted(pages.into()))?;
            let (held, rest) = number(&answer).ok_or(ClientError::Garbage("HINTED"))?;
            sums = (sums.0 + held, sums.1 + one_number(rest)?);
        }
        Ok(sums)
    }

    /// Discards pages, which then read as zeros.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn trim(&mut self, pages: &[Pages]) -> Result<(), ClientError> {
        parts(pages).try_for_each(|pages| self.tell(&Request::Trim(pages.into())))
    }

    /// Makes all earlier answered commands durable.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn flush(&mut self) -> Result<(), ClientError> {
        self.tell(&Request::Flush)
    }

    /// Returns the drive's state as JSON.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn stat(&mut self) -> Result<String, ClientError> {
        let answer = self.ask(&Request::Stat)?;
        text(answer)
    }

    /// Returns the map of all blocks.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn blocks(&mut self) -> Result<Vec<u8>, ClientError> {
        self.ask(&Request::Blocks)
    }

    /// Records the drive's requests into `file`; `None` ends the recording. Returns the server's
    /// message.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn record(&mut self, file: Option<&Path>) -> Result<String, ClientError> {
        // The server may run in another working folder.
        let file = file.map(std::path::absolute).transpose()?;
        let answer = self.ask(&Request::Record(file))?;
        text(answer)
    }

    /// Ends the present phase and begins one called `name`. Returns the server's message.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn mark(&mut self, name: &str) -> Result<String, ClientError> {
        let answer = self.ask(&Request::Mark(name.into()))?;
        text(answer)
    }

    /// Sets the streams of files on the block device with this number.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn files(&mut self, device: u64, files: &[FileStream]) -> Result<(), ClientError> {
        let parts = files.chunks(2048).map(<[_]>::to_vec);
        let parts = parts.chain(files.is_empty().then(Vec::new));
        parts.into_iter().try_for_each(|files| self.tell(&Request::Files { device, files }))
    }

    /// Sets a fault for hosts. Returns its number or, for an immediate disconnection, the number of
    /// connections ended.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn inject(&mut self, fault: &Fault) -> Result<u64, ClientError> {
        let answer = self.ask(&Request::Inject(fault.clone()))?;
        one_number(&answer)
    }

    /// Removes the fault with this number, or all faults for `None`. Returns the number of faults
    /// removed.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn clear(&mut self, number: Option<u64>) -> Result<u64, ClientError> {
        let answer = self.ask(&Request::Clear(number))?;
        one_number(&answer)
    }

    /// Stops the drive soon after the answer.
    ///
    /// # Errors
    /// The errors of [`ClientError`], as for all requests.
    pub fn stop(&mut self) -> Result<(), ClientError> {
        self.tell(&Request::Stop)
    }

    fn tell(&mut self, request: &Request) -> Result<(), ClientError> {
        match self.ask(request)?.as_slice() {
            [] => Ok(()),
            _ => Err(ClientError::Garbage("it is not empty")),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Vec<u8>, ClientError> {
        let (kind, body) = request.encode();
        let patience = if matches!(request, Request::Hello { .. }) { GREETING } else { PATIENCE };
        let longest = match request {
            Request::Blocks => {
                (self.pages as usize).saturating_mul(PER_PAGE).clamp(LONGEST, LARGEST)
            }
            _ => LONGEST,
        };
        frame::write(&self.socket, kind, &body, patience)?;
        let frame = frame::read(&self.socket, longest, Some(patience), patience)?;
        let (status, body) = frame.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?;
        match ControlStatus::of(status) {
            Some(ControlStatus::Done) => Ok(body),
            Some(status) => Err(ClientError::Failed { status, text: text(body)? }),
            None => Err(ClientError::Garbage("the status is unknown")),
        }
    }
}

/// Cuts the list of ranges into parts that fit into a request.
fn parts(pages: &[Pages]) -> impl Iterator<Item = &[Pages]> {
    pages.chunks(2048)
}

fn one_number(answer: &[u8]) -> Result<u64, ClientError> {
    match number(answer) {
        Some((number, [])) => Ok(number),
        _ => Err(ClientError::Garbage("it is no number")),
    }
}

fn text(answer: Vec<u8>) -> Result<String, ClientError> {
    String::from_utf8(answer).map_err(|_| ClientError::Garbage("it is no text"))
}
