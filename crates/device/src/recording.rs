//! Records the requests of a drive as a trace. Replayed on a counting drive of the same settings, the
//! trace leads to the same decisions.

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

/// The requests that wait for their answers before they are written: those beyond are written without.
const MOST_WAITING: usize = 1 << 16;
/// The requests after which answers are looked for.
const BETWEEN_LOOKS: usize = 256;

/// The side of a front end from which a command comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// A number that no other host has; `None` if the front end knows no hosts.
    pub host: Option<u64>,
    /// The number of the host's queue, or 0.
    pub queue: u16,
}

/// The numbers of the requests that were answered, and when.
type Answers = Arc<Mutex<Vec<(Range<u64>, Instant)>>>;

/// The requests of a recording that one command made, of which the answer is still to come.
#[must_use]
pub struct Noted {
    requests: Range<u64>,
    answers: Answers,
}

impl Noted {
    /// Notes that the host had its answer at this time.
    pub fn answered(self, at: Instant) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push((self.requests, at));
    }
}

/// A request of a host, in bytes. The drive reads a page of which the host writes a part.
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
    /// The requests that are not written yet, and the number of the first of them.
    waiting: VecDeque<Request>,
    first: u64,
    /// The number of the first request that [`noted`](Self::noted) has not returned.
    unclaimed: u64,
    answers: Answers,
    began: Instant,
    /// The arrival time of the requests that follow; `None` is now.
    arrived: Option<Instant>,
    /// The asker of the requests that follow, and the hosts so far in the order of their numbers.
    asker: Asker,
    hosts: Vec<u64>,
    /// The request of the host to which the noted pages belong, and the number of requests noted before it; `None` if
    /// the host sent the pages themselves.
    request: Option<(HostRequest, usize)>,
    /// The time of the last request. Threads that submit at the same moment may be executed in the other
    /// order.
    last_ns: u64,
    failed: Option<TraceError>,
}

impl Recording {
    /// Begins a recording at `path` of a drive of `pages` logical pages, in the native format, compressed
    /// if its name says so. `streams` is true if its host names the streams of its writes. The file appears under its name when the recording ends, and is for its owner
    /// alone.
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

    /// Returns the moment from which its times are counted.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Sets the arrival time of the requests that follow, and where they come from; `None` is now.
    pub(crate) fn arrived(&mut self, at: Option<Instant>, from: Origin) {
        self.arrived = at;
        let host = from.host.map_or(0, |host| self.number_of(host));
        let queue = from.queue.min(Asker::MOST_QUEUES.into()) as u8;
        self.asker = Asker { host, queue };
    }

    /// Sets the request of the host to which the pages that are noted next belong.
    pub(crate) fn asks(&mut self, request: Option<HostRequest>) {
        self.request = request.map(|request| (request, self.waiting.len()));
    }

    /// Returns the bytes of `count` pages from `page` on that the host asked for; `None` if it asked for none of them:
    /// the drive reads a page to write a part of it.
    fn part(&self, op: Op, page: u64, count: u64) -> Option<Range<u64>> {
        let whole = page * PAGE as u64..(page + count) * PAGE as u64;
        let Some((HostRequest { at, bytes, is_read }, _)) = self.request else {
            return Some(whole);
        };
        match op {
            Op::Read if !is_read => None,
            Op::Read | Op::Write => Some(whole.start.max(at)..whole.end.min(at + bytes)),
            // Discards and hints are those of whole pages, and a flush has none.
            Op::Trim | Op::Flush | Op::Dirty | Op::Clean => Some(whole),
        }
    }

    /// Adds bytes to the last request, if that is a part of the same request of the host that ends where these begin.
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

    /// Returns the number of a host, which is its place in the order in which hosts appeared.
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

    /// Notes a request of `stream` for `count` pages from `page` on; a flush is for none. After an error nothing
    /// more is noted, and [`Recording::end`] says what it was.
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

    /// Returns the requests that were noted since the last call. Their command is not answered yet.
    pub(crate) fn noted(&mut self) -> Option<Noted> {
        let end = self.first + self.waiting.len() as u64;
        let begin = std::mem::replace(&mut self.unclaimed, end).max(self.first);
        (begin < end).then(|| Noted { requests: begin..end, answers: Arc::clone(&self.answers) })
    }

    /// Writes the requests before the first one that is not answered, and those before the last `most`.
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
    /// The first error of writing it; there is no file then.
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

/// Explains the error of a folder in which this process may not write: root asks for the recording, and
/// the server may have another user.
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
