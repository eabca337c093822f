//! Records the requests of a drive as a trace. A counting drive with the same settings that replays
//! the trace makes the same decisions.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use flashgc_base::stream::StreamId;
use flashgc_workload::Op;
use flashgc_workload::trace::{
    Asker, Declared, Fault, Fields, OutputFormat, PagesOptions, Request, TraceError, TraceWriter,
};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::getuid;

use crate::layout::PAGE;

/// The most requests that wait for their answers before they are written. If more wait, the oldest
/// are written without their answers.
const MOST_WAITING: usize = 1 << 16;
/// The number of requests between two checks for new answers.
const BETWEEN_LOOKS: usize = 256;

/// The sender of a command, as a front end knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// A number that no other host has; `None` if the front end knows no hosts.
    pub host: Option<u64>,
    /// The number of the host's queue, or 0.
    pub queue: u16,
}

/// The numbers of the requests that were answered, and the times of the answers.
type Answers = Arc<Mutex<Vec<(Range<u64>, Instant)>>>;

/// The requests that one command added to a recording. The command is not answered yet.
#[must_use]
pub struct Noted {
    requests: Range<u64>,
    answers: Answers,
}

impl Noted {
    /// Notes that the host was answered at this time.
    pub fn answered(self, at: Instant) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push((self.requests, at));
    }
}

/// A request of a host, in bytes. It may begin and end within a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRequest {
    /// The first byte.
    pub at: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// `true` if the host reads.
    pub is_read: bool,
}

/// A recording that has begun.
pub struct Recording {
    writer: TraceWriter,
    /// The requests that are not written yet.
    waiting: VecDeque<Request>,
    /// The number of the first request in `waiting`.
    first: u64,
    /// The number of the first request that [`noted`](Self::noted) has not returned.
    unclaimed: u64,
    answers: Answers,
    began: Instant,
    /// The arrival time of the requests that follow; `None` is now.
    arrived: Option<Instant>,
    /// The sender of the requests that follow.
    asker: Asker,
    /// The hosts so far, in the order in which they appeared.
    hosts: Vec<u64>,
    /// The host's request to which the noted pages belong, and the number of requests that waited
    /// when it began; `None` if the host sends whole pages.
    request: Option<(HostRequest, usize)>,
    /// The time of the last request. Requests of two threads may be executed in another order than
    /// they arrived; the trace never goes back in time.
    last_ns: u64,
    failed: Option<TraceError>,
}

impl Recording {
    /// Begins a recording of a drive of `pages` logical pages in the native format, compressed if
    /// the name says so. `streams` is true if the host names the streams of its writes. The file
    /// appears at `path` when the recording ends, and only its owner may read it.
    ///
    /// # Errors
    /// A name that does not end in `.flashgc`, perhaps followed by `.zst` or `.gz`; a file that
    /// cannot be made.
    pub fn begin(path: &Path, pages: u64, streams: bool) -> Result<Self, TraceError> {
        if OutputFormat::of(path)? != OutputFormat::Native {
            let message = "found a name of another format, expected one that ends in .flashgc, \
                           optionally followed by .zst or .gz";
            return Err(
                TraceError::new(path, Fault::Format, message).hint("for example drive.flashgc.zst")
            );
        }
        Ok(Self {
            writer: TraceWriter::create_private(
                path,
                Some(OutputFormat::Native),
                PagesOptions::default(),
                Declared {
                    address_space: Some(pages * PAGE as u64),
                    fields: Fields::ANSWER.with(Fields::HOST).with(Fields::STREAM.if_any(streams)),
                },
            )
            .map_err(|error| explained(path, error))?,
            waiting: VecDeque::new(),
            first: 0,
            unclaimed: 0,
            answers: Answers::default(),
            began: Instant::now(),
            arrived: None,
            asker: Asker::UNKNOWN,
            hosts: Vec::new(),
            request: None,
            last_ns: 0,
            failed: None,
        })
    }

    /// Returns the moment from which the times of requests are counted.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Sets the arrival time and the sender of the requests that follow. `None` stands for now.
    pub(crate) fn arrived(&mut self, at: Option<Instant>, from: Origin) {
        self.arrived = at;
        let host = from.host.map_or(0, |host| self.number_of(host));
        let queue = from.queue.min(Asker::MOST_QUEUES.into()) as u8;
        self.asker = Asker { host, queue };
    }

    /// Sets the host's request to which the pages noted next belong.
    pub(crate) fn asks(&mut self, request: Option<HostRequest>) {
        self.request = request.map(|request| (request, self.waiting.len()));
    }

    /// Returns the bytes of `count` pages from `page` on that the host's request covers; `None` if
    /// the drive reads a page only because the host writes a part of it.
    fn part(&self, op: Op, page: u64, count: u64) -> Option<Range<u64>> {
        let whole = page * PAGE as u64..(page + count) * PAGE as u64;
        let Some((HostRequest { at, bytes, is_read }, _)) = self.request else {
            return Some(whole);
        };
        match op {
            Op::Read if !is_read => None,
            Op::Read | Op::Write => Some(whole.start.max(at)..whole.end.min(at + bytes)),
            // Discards and hints name whole pages, and a flush names none.
            Op::Trim | Op::Flush | Op::Dirty | Op::Clean => Some(whole),
        }
    }

    /// Adds `bytes` to the last noted request and returns `true`, if the last noted request belongs
    /// to the same request of the host and ends where `bytes` begin.
    fn goes_on(&mut self, op: Op, bytes: &Range<u64>, stream: StreamId) -> bool {
        let Some((_, before)) = self.request else { return false };
        if self.waiting.len() <= before {
            return false;
        }
        match self.waiting.back_mut() {
            Some(last)
                if (last.op, last.stream) == (op, stream) && last.end() == bytes.start as i64 =>
            {
                last.size += bytes.end - bytes.start;
                true
            }
            _ => false,
        }
    }

    /// Returns the number of a host: 1 for the first host that appeared, then 2, and so on.
    fn number_of(&mut self, host: u64) -> u8 {
        let known = self.hosts.iter().position(|&known| known == host);
        let place = known.unwrap_or_else(|| {
            if self.hosts.len() < usize::from(Asker::MOST_HOSTS) {
                self.hosts.push(host);
            }
            self.hosts.len() - 1
        });
        place as u8 + 1
    }

    /// Notes a request of `stream` for `count` pages from `page` on; a flush has no pages. After an
    /// error nothing more is noted, and [`Recording::end`] returns the error.
    pub(crate) fn note(&mut self, op: Op, page: u64, count: u64, stream: StreamId) {
        if self.failed.is_some() {
            return;
        }
        let at = self.arrived.unwrap_or_else(Instant::now);
        let time_ns = at.saturating_duration_since(self.began).as_nanos() as u64;
        let time_ns = time_ns.max(self.last_ns);
        self.last_ns = time_ns;
        let Some(bytes) = self.part(op, page, count) else { return };
        if op != Op::Flush && self.goes_on(op, &bytes, stream) {
            return;
        }
        let request = match op {
            Op::Flush => Request { asker: self.asker, ..Request::flush(time_ns, 0) },
            _ => Request {
                time_ns,
                offset: bytes.start as i64,
                size: bytes.end - bytes.start,
                op,
                stream,
                asker: self.asker,
                ..Request::default()
            },
        };
        self.waiting.push_back(request);
        if self.waiting.len().is_multiple_of(BETWEEN_LOOKS) {
            self.failed = self.write_answered(MOST_WAITING).err();
        }
    }

    /// Returns the requests noted since the last call. Their command is not answered yet.
    pub(crate) fn noted(&mut self) -> Option<Noted> {
        let end = self.first + self.waiting.len() as u64;
        let begin = std::mem::replace(&mut self.unclaimed, end).max(self.first);
        (begin < end).then(|| Noted { requests: begin..end, answers: Arc::clone(&self.answers) })
    }

    /// Writes waiting requests, oldest first, up to the first one without an answer. If more than
    /// `most` are then left, it writes the oldest of these, too.
    fn write_answered(&mut self, most: usize) -> Result<(), TraceError> {
        let answers = {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *answers)
        };
        for (numbers, at) in answers {
            let at_ns = at.saturating_duration_since(self.began).as_nanos() as u64;
            for number in numbers.start.max(self.first)..numbers.end {
                if let Some(request) = self.waiting.get_mut((number - self.first) as usize) {
                    request.took_ns = at_ns.saturating_sub(request.time_ns);
                }
            }
        }
        let is_over =
            |request: &Request| request.took_ns != Request::UNANSWERED || request.op.is_hint();
        let answered = self.waiting.iter().take_while(|request| is_over(request)).count();
        let count = answered.max(self.waiting.len().saturating_sub(most));
        self.first += count as u64;
        let requests: Vec<Request> = self.waiting.drain(..count).collect();
        self.writer.write(&requests)
    }

    /// Ends the recording: the file is complete. Returns the number of its requests.
    ///
    /// # Errors
    /// The first error of writing the file; there is no file then.
    pub fn end(mut self) -> Result<u64, TraceError> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => {
                self.write_answered(0)?;
                self.writer.finish()
            }
        }
    }
}

/// Adds a hint to the error if this process may not write to the folder: root starts the recording,
/// but the server may run as another user.
fn explained(path: &Path, error: TraceError) -> TraceError {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if access(folder, Access::WRITE_OK | Access::EXEC_OK) != Err(Errno::ACCESS) {
        return error;
    }
    let user = getuid().as_raw();
    let message =
        format!("user {user}, who serves the drive, may not write in {}", folder.display());
    TraceError::new(path, error.fault, message)
        .hint("a folder of that user, or --record of serve and up, which begins with root's rights")
}
