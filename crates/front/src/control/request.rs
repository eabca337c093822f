//! Requests and statuses as bytes.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use flashgc_base::stream::StreamId;
use thiserror::Error;

use crate::faults::{Effect, Fault, FaultKind};

/// The largest body of a request, in bytes.
pub const LONGEST: usize = 64 << 10;
/// The longest path, in bytes.
const LONGEST_PATH: usize = 4096;
/// The longest name of a phase, in bytes.
const LONGEST_NAME: usize = 200;

const MAGIC: &[u8; 8] = b"flashgc\0";
/// The number that stands for no moment in a hint.
const NO_MOMENT: u64 = u64::MAX;

/// Pages that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    /// The first page.
    pub first: u64,
    /// The number of pages.
    pub count: u64,
}

/// The stream for the writes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStream {
    /// The number of the file's inode.
    pub inode: u64,
    /// The number of files that had the inode before.
    pub life: u32,
    /// The stream; 255 is none.
    pub stream: StreamId,
}

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Opens the connection, as the first request.
    Hello {
        /// The version that the client speaks.
        version: u32,
    },
    /// Asks for the number of pages that the host has written.
    Moment,
    /// Notes that the host will write these pages soon.
    Hint {
        /// The moment at which the host gave the hint; `None` is the moment at which the drive
        /// executes it.
        moment: Option<u64>,
        /// The pages that the hint names.
        pages: Vec<Pages>,
    },
    /// Takes back the hints on these pages.
    Cancel(Vec<Pages>),
    /// Asks how many of these pages have data, and how many have a hint.
    Hinted(Vec<Pages>),
    /// Discards pages.
    Trim(Vec<Pages>),
    /// Makes all earlier answered commands durable.
    Flush,
    /// Asks for the drive's state.
    Stat,
    /// Asks for the map of all blocks.
    Blocks,
    /// Records the drive's requests into a file; `None` ends the recording.
    Record(Option<PathBuf>),
    /// Ends the present phase and begins one with this name.
    Mark(String),
    /// Sets the streams of files on the drive's block device.
    Files {
        /// The kernel's number of the block device.
        device: u64,
        /// The files.
        files: Vec<FileStream>,
    },
    /// Sets a fault.
    Inject(Fault),
    /// Removes a fault; `None` removes all.
    Clear(Option<u64>),
    /// Stops the drive.
    Stop,
}

/// The error of bytes that are no request.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Malformed {
    /// No request has this kind.
    #[error("no request has kind {0}; hint: kinds are 1 to 15")]
    Kind(u16),
    /// The body has a length that this kind does not have.
    #[error("the body of a request of kind {kind} has {found} bytes, expected {expected}")]
    Length {
        /// The kind of the request.
        kind: u16,
        /// The bytes of its body.
        found: usize,
        /// The allowed number of bytes, in words.
        expected: &'static str,
    },
    /// HELLO does not begin with the protocol's name.
    #[error("HELLO does not begin with `flashgc` and a zero")]
    Magic,
    /// The path is not absolute, or has a zero byte.
    #[error("the path is not absolute, or has a zero byte")]
    Path,
    /// The body of INJECT is no fault.
    #[error(
        "the body is no fault: found another effect, kind or time; hint: use the same flashgc for both"
    )]
    Fault,
    /// The name of a phase is not one line of text.
    #[error("the name of a phase is not UTF-8, or has a control character")]
    Name,
}

impl Request {
    /// Returns the request with this kind and body.
    ///
    /// # Errors
    /// Bytes that are no request.
    pub fn decode(kind: u16, body: &[u8]) -> Result<Self, Malformed> {
        let length = |expected| Malformed::Length { kind, found: body.len(), expected };
        let empty = |request| if body.is_empty() { Ok(request) } else { Err(length("none")) };
        let ranges = |body| ranges(body).ok_or_else(|| length("16 a range"));
        match kind {
            1 => {
                let (magic, version) = body.split_last_chunk().ok_or_else(|| length("12"))?;
                if magic != MAGIC {
                    return Err(Malformed::Magic);
                }
                Ok(Self::Hello { version: u32::from_le_bytes(*version) })
            }
            2 => empty(Self::Moment),
            3 => {
                let (moment, body) = number(body).ok_or_else(|| length("8, and 16 a range"))?;
                let moment = (moment != NO_MOMENT).then_some(moment);
                Ok(Self::Hint { moment, pages: ranges(body)? })
            }
            4 => ranges(body).map(Self::Cancel),
            5 => ranges(body).map(Self::Trim),
            6 => empty(Self::Flush),
            7 => empty(Self::Stat),
            8 => empty(Self::Blocks),
            9 if body.is_empty() => Ok(Self::Record(None)),
            9 if body.len() > LONGEST_PATH => Err(length("at most 4096")),
            9 if body[0] != b'/' || body.contains(&0) => Err(Malformed::Path),
            9 => Ok(Self::Record(Some(OsString::from_vec(body.into()).into()))),
            10 => empty(Self::Stop),
            11 => ranges(body).map(Self::Hinted),
            12 if body.is_empty() || body.len() > LONGEST_NAME => Err(length("1 to 200")),
            12 => match str::from_utf8(body) {
                Ok(name) if !name.contains(char::is_control) => Ok(Self::Mark(name.into())),
                _ => Err(Malformed::Name),
            },
            13 => {
                let expected = "8, and 16 a file, of which the last 3 are 0";
                let (device, body) = number(body).ok_or_else(|| length(expected))?;
                let (files, rest) = body.as_chunks::<16>();
                let files = files.iter().map(file).collect::<Option<_>>();
                let files = files.filter(|_| rest.is_empty()).ok_or_else(|| length(expected))?;
                Ok(Self::Files { device, files })
            }
            14 => {
                let body = body.try_into().map_err(|_| length("40"))?;
                fault(body).map(Self::Inject).ok_or(Malformed::Fault)
            }
            15 if body.is_empty() => Ok(Self::Clear(None)),
            15 => match number(body) {
                Some((number, [])) => Ok(Self::Clear(Some(number))),
                _ => Err(length("8 or none")),
            },
            _ => Err(Malformed::Kind(kind)),
        }
    }

    /// Returns the request's kind and body.
    pub fn encode(&self) -> (u16, Vec<u8>) {
        match self {
            Self::Hello { version } => (1, [&MAGIC[..], &version.to_le_bytes()].concat()),
            Self::Moment => (2, vec![]),
            Self::Hint { moment, pages } => {
                let moment = moment.unwrap_or(NO_MOMENT).to_le_bytes();
                (3, [&moment[..], &bytes(pages)].concat())
            }
            Self::Cancel(pages) => (4, bytes(pages)),
            Self::Trim(pages) => (5, bytes(pages)),
            Self::Flush => (6, vec![]),
            Self::Stat => (7, vec![]),
            Self::Blocks => (8, vec![]),
            Self::Record(file) => {
                (9, file.as_ref().map_or(vec![], |file| file.as_os_str().as_bytes().into()))
            }
            Self::Stop => (10, vec![]),
            Self::Hinted(pages) => (11, bytes(pages)),
            Self::Mark(name) => (12, name.as_bytes().into()),
            Self::Files { device, files } => {
                let files = files.iter().flat_map(|file| {
                    let head = [file.inode.to_le_bytes()];
                    let tail = [file.life.to_le_bytes(), [file.stream, 0, 0, 0]];
                    [head.as_flattened(), tail.as_flattened()].concat()
                });
                (13, device.to_le_bytes().into_iter().chain(files).collect())
            }
            Self::Inject(fault) => (14, fault_bytes(fault)),
            Self::Clear(number) => {
                (15, number.map_or(vec![], |number| number.to_le_bytes().into()))
            }
        }
    }
}

/// Returns the number that `body` begins with, and the bytes that follow it.
pub(super) fn number(body: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = body.split_first_chunk()?;
    Some((u64::from_le_bytes(*number), rest))
}

fn file(bytes: &[u8; 16]) -> Option<FileStream> {
    let (inode, rest) = number(bytes)?;
    let (life, rest) = rest.split_first_chunk()?;
    match *rest {
        [stream, 0, 0, 0] => Some(FileStream { inode, life: u32::from_le_bytes(*life), stream }),
        _ => None,
    }
}

/// Returns the fault of an INJECT, or `None` if the bytes are no fault. A range has at least one
/// byte, and only a delay has a time. A lost die has its number in place of a time.
fn fault(bytes: &[u8; 40]) -> Option<Fault> {
    let (head, numbers) = bytes.split_first_chunk::<8>()?;
    let ([next, first, count, time], []) = numbers.as_chunks::<8>() else { return None };
    let [next, first, count, time] = [next, first, count, time].map(|n| u64::from_le_bytes(*n));
    let [effect, kind, 0, 0, 0, 0, 0, 0] = *head else { return None };
    let effect = match (effect, time) {
        (1, 0) => Effect::Unreadable,
        (2, 0) => Effect::Fail,
        (3, time) => Effect::Delay(Duration::from_nanos(time)),
        (4, 0) => Effect::Drop,
        (5, 0) => Effect::Disconnect,
        (6, 0) => Effect::EndOfLife,
        (7, die) => Effect::LostDie(die.try_into().ok()?),
        _ => return None,
    };
    let kind = match kind {
        0 => None,
        kind => Some(FaultKind::ALL.get(usize::from(kind) - 1)?.1),
    };
    let range = match (first, count) {
        (0, 0) => None,
        (first, count) => Some(first..first.checked_add(count)?),
    };
    Some(Fault { effect, kind, range, next: (next > 0).then_some(next) })
}

fn fault_bytes(fault: &Fault) -> Vec<u8> {
    let Fault { effect, kind, range, next } = fault;
    let (number, time) = match *effect {
        Effect::Unreadable => (1, 0),
        Effect::Fail => (2, 0),
        Effect::Delay(by) => (3, u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)),
        Effect::Drop => (4, 0),
        Effect::Disconnect => (5, 0),
        Effect::EndOfLife => (6, 0),
        Effect::LostDie(die) => (7, die.into()),
    };
    let range = range.clone().unwrap_or_default();
    let head = [number, kind.map_or(0, |kind| kind as u8 + 1), 0, 0, 0, 0, 0, 0];
    let numbers = [next.unwrap_or(0), range.start, range.end - range.start, time];
    head.into_iter().chain(numbers.into_iter().flat_map(u64::to_le_bytes)).collect()
}

fn ranges(body: &[u8]) -> Option<Vec<Pages>> {
    let (ranges, rest) = body.as_chunks::<16>();
    let range = |range: &[u8; 16]| {
        let (first, rest) = number(range)?;
        Some(Pages { first, count: number(rest)?.0 })
    };
    if rest.is_empty() { ranges.iter().map(range).collect() } else { None }
}

fn bytes(pages: &[Pages]) -> Vec<u8> {
    pages.iter().flat_map(|p| [p.first.to_le_bytes(), p.count.to_le_bytes()]).flatten().collect()
}

/// The status of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum ControlStatus {
    /// The request is done.
    Done = 0,
    /// The bytes are no request of this protocol.
    Malformed = 1,
    /// The client speaks another version.
    Version = 2,
    /// The request names pages that the drive does not have.
    OutOfRange = 3,
    /// The drive is read-only.
    ReadOnly = 4,
    /// There is no room for the data.
    NoSpace = 5,
    /// Data are damaged, or the host's file system failed.
    Io = 6,
    /// The drive is no longer served.
    Stopped = 7,
    /// The drive or its server refuses the request.
    Refused = 8,
}

impl ControlStatus {
    /// Returns the status with this number.
    pub fn of(number: u16) -> Option<Self> {
        use ControlStatus::{
            Done, Io, Malformed, NoSpace, OutOfRange, ReadOnly, Refused, Stopped, Version,
        };
        let all = [Done, Malformed, Version, OutOfRange, ReadOnly, NoSpace, Io, Stopped, Refused];
        all.into_iter().find(|&status| status as u16 == number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        /// A request that was decoded from bytes is encoded to the same bytes.
        #[test]
        fn requests_have_one_form(kind in 0..17_u16, body in vec(any::<u8>(), 0..80)) {
            let path = [b"/", body.as_slice()].concat();
            for body in [body, path] {
                if let Ok(request) = Request::decode(kind, &body) {
                    prop_assert_eq!(request.encode(), (kind, body));
                }
            }
        }
    }

    #[test]
    fn every_request_is_read_back() {
        let pages = vec![Pages { first: 1, count: u64::MAX }, Pages { first: 5, count: 0 }];
        for request in [
            Request::Hello { version: 7 },
            Request::Moment,
            Request::Hint { moment: None, pages: pages.clone() },
            Request::Hint { moment: Some(3), pages: vec![] },
            Request::Cancel(pages.clone()),
            Request::Hinted(pages.clone()),
            Request::Trim(pages),
            Request::Flush,
            Request::Stat,
            Request::Blocks,
            Request::Record(None),
            Request::Record(Some("/a b".into())),
            Request::Mark("load done".into()),
            Request::Files { device: 7 << 20, files: vec![] },
            Request::Files {
                device: 1,
                files: vec![FileStream { inode: 12, life: 3, stream: 255 }],
            },
            Request::Inject(Fault {
                effect: Effect::Delay(Duration::from_millis(50)),
                kind: Some(FaultKind::Discard),
                range: Some(4096..8192),
                next: Some(u64::MAX),
            }),
            Request::Inject(Fault {
                effect: Effect::EndOfLife,
                kind: None,
                range: None,
                next: None,
            }),
            Request::Inject(Fault {
                effect: Effect::LostDie(3),
                kind: None,
                range: None,
                next: None,
            }),
            Request::Clear(None),
            Request::Clear(Some(0)),
            Request::Stop,
        ] {
            let (kind, body) = request.encode();
            assert_eq!(Request::decode(kind, &body), Ok(request));
        }
    }
}
