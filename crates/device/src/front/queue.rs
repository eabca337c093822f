//! One thread owns the drive; front ends queue commands for it.
//!
//! Commands are executed in the order of the queue. What waits when the thread comes back is one
//! batch. **Group commit**: all flushes and durable writes of a batch are answered after one flush at
//! its end. Each of them therefore covers what was completed before it was submitted, and what its
//! batch executed after it as well. Everything else is answered as soon as it is executed.
//!
//! Every command is answered exactly once, also when the drive stops or its thread dies.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

use super::bytes::{Bytes, Extent};
use super::failure::Failure;
use super::meter::{Kind, Meter};
use crate::Served;

/// Commands that may wait; who submits more waits itself.
const DEPTH: usize = 256;

/// What a drive is asked to do. Ranges are in bytes.
#[derive(Debug)]
pub enum Command {
    /// Answered with the data.
    Read {
        /// First byte.
        at: u64,
        /// How many.
        bytes: usize,
    },
    /// Answered with the data and where the holes are.
    ReadSparse {
        /// First byte.
        at: u64,
        /// How many.
        bytes: usize,
    },
    /// Writes `data`.
    Write {
        /// First byte.
        at: u64,
        /// What to write.
        data: Vec<u8>,
        /// Whether it is durable when it is answered.
        fua: bool,
    },
    /// Discards the pages that lie whole in the range.
    Trim {
        /// First byte.
        at: u64,
        /// How many.
        bytes: u64,
        /// Whether it is durable when it is answered.
        fua: bool,
    },
    /// Makes the range read as zeros.
    Zero {
        /// First byte.
        at: u64,
        /// How many.
        bytes: u64,
        /// Whether pages of zeros are written instead of discarded.
        keep: bool,
        /// Whether it is durable when it is answered.
        fua: bool,
    },
    /// Makes durable what was completed before.
    Flush,
    /// Answered with how many pages the host has written.
    Moment,
    /// The host will write the pages of the range soon. Answered with how many it has written since.
    Hint {
        /// First byte.
        at: u64,
        /// How many.
        bytes: u64,
        /// The moment from which it holds; `None` is now.
        moment: Option<u64>,
    },
    /// The host takes hints on the pages of the range back.
    Cancel {
        /// First byte.
        at: u64,
        /// How many.
        bytes: u64,
    },
    /// Answered with what of a range has data.
    Extents {
        /// First byte.
        at: u64,
        /// How many.
        bytes: u64,
        /// Most extents of the answer.
        most: usize,
    },
}

impl Command {
    fn durable(&self) -> bool {
        match self {
            Self::Flush => true,
            Self::Write { fua, .. } | Self::Trim { fua, .. } | Self::Zero { fua, .. } => *fua,
            Self::Read { .. } | Self::ReadSparse { .. } | Self::Extents { .. } => false,
            Self::Moment | Self::Hint { .. } | Self::Cancel { .. } => false,
        }
    }
}

/// What a drive answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// The data of a read.
    Data(Vec<u8>),
    /// The extents of a range.
    Extents(Vec<Extent>),
    /// The extents of a range, and the data of those that have some, one behind the other.
    Sparse(Vec<Extent>, Vec<u8>),
    /// Pages: those that the host has written, or of a hint those that came too late.
    Pages(u64),
}

type Outcome = Result<Answer, Failure>;

/// Whom to tell, and since when it waits. Dropped without an answer, it says that the drive is no
/// longer served.
struct Caller {
    tell: Option<Box<dyn FnOnce(Outcome) + Send>>,
    since: Instant,
    kind: Option<Kind>,
}

impl Caller {
    fn tell(mut self, outcome: Outcome, meter: &mut Meter) {
        if let Some(kind) = self.kind {
            meter.answered(kind, self.since.elapsed());
        }
        if let Some(tell) = self.tell.take() {
            tell(outcome);
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(tell) = self.tell.take() {
            tell(Err(Failure::Stopped));
        }
    }
}

/// What somebody does with the drive between two commands.
type Visit = Box<dyn FnOnce(&mut dyn Served, &Meter) + Send>;

enum Entry {
    Job(Command, Caller),
    Visit(Visit),
    Stop,
}

/// The queue's end for front ends.
#[derive(Clone)]
pub struct Queue {
    entries: SyncSender<Entry>,
    size: u64,
}

impl Queue {
    /// Bytes of the drive.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Queues a command and waits while the queue is full. `tell` runs on the drive's thread, so it
    /// must not wait for anything.
    pub fn submit(&self, command: Command, tell: impl FnOnce(Outcome) + Send + 'static) {
        let (kind, since) = (Kind::of(&command), Instant::now());
        let job = Entry::Job(command, Caller { tell: Some(Box::new(tell)), since, kind });
        // A queue without a drive drops the job, which tells the caller.
        let _ = self.entries.send(job);
    }

    /// Calls `visit` with the drive on its thread, between two commands, and returns what it returns.
    ///
    /// # Errors
    /// The drive is no longer served.
    pub fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut dyn Served, &Meter) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (answer, answered) = sync_channel(1);
        let visit = move |drive: &mut dyn Served, meter: &Meter| {
            let _ = answer.send(visit(drive, meter));
        };
        let _ = self.entries.send(Entry::Visit(Box::new(visit)));
        answered.recv().map_err(|_| Failure::Stopped)
    }

    /// Queues a command and waits for its answer.
    pub fn call(&self, command: Command) -> Outcome {
        let (answer, answered) = sync_channel(1);
        self.submit(command, move |outcome| {
            let _ = answer.send(outcome);
        });
        answered.recv().unwrap_or(Err(Failure::Stopped))
    }
}

/// A drive with its thread. Dropped, it stops as [`Engine::stop`] does.
pub struct Engine<S> {
    queue: Queue,
    thread: Option<JoinHandle<(S, Result<(), Failure>)>>,
}

impl<S: Served + 'static> Engine<S> {
    /// Starts the thread that owns `drive`.
    pub fn start(drive: S) -> std::io::Result<Self> {
        let drive = Bytes::new(drive);
        let (entries, queued) = sync_channel(DEPTH);
        let queue = Queue { entries, size: drive.size() };
        let thread =
            std::thread::Builder::new().name("drive".into()).spawn(move || run(drive, &queued))?;
        Ok(Self { queue, thread: Some(thread) })
    }

    /// A queue to the drive.
    pub fn queue(&self) -> Queue {
        self.queue.clone()
    }

    /// Executes what is queued, flushes and gives the drive back. Commands that come later fail.
    ///
    /// # Errors
    /// The flush failed, or the drive's thread died (then there is no drive either).
    pub fn stop(mut self) -> (Option<S>, Result<(), Failure>) {
        match self.end() {
            Some((drive, flushed)) => (Some(drive), flushed),
            None => (None, Err(Failure::Io("the thread of the drive died".into()))),
        }
    }
}

impl<S> Engine<S> {
    fn end(&mut self) -> Option<(S, Result<(), Failure>)> {
        let thread = self.thread.take()?;
        let _ = self.queue.entries.send(Entry::Stop);
        thread.join().ok()
    }
}

impl<S> Drop for Engine<S> {
    fn drop(&mut self) {
        self.end();
    }
}

/// The drive's thread: batch after batch, until it is told to stop or nobody is left to ask.
fn run<S: Served>(mut drive: Bytes<S>, queued: &Receiver<Entry>) -> (S, Result<(), Failure>) {
    let mut running = true;
    let mut meter = Meter::new();
    while running && let Ok(first) = queued.recv() {
        let began = Instant::now();
        let mut waiting = Vec::new();
        for entry in std::iter::once(first).chain(queued.try_iter()).take(DEPTH) {
            match entry {
                Entry::Stop => {
                    running = false;
                    break;
                }
                Entry::Visit(visit) => {
                    drive.account(&meter.take_usage());
                    visit(drive.drive(), &meter);
                }
                Entry::Job(command, caller) => {
                    let durable = command.durable();
                    meter.count(&command);
                    match execute(&mut drive, command) {
                        Ok(_) if durable => waiting.push(caller),
                        outcome => caller.tell(outcome, &mut meter),
                    }
                }
            }
        }
        if !waiting.is_empty() {
            let flushed = drive.flush();
            for caller in waiting {
                caller.tell(flushed.clone().map(|()| Answer::Done), &mut meter);
            }
        }
        meter.worked(began);
        drive.account(&meter.take_usage());
    }
    let flushed = drive.flush();
    (drive.into_drive(), flushed)
}

/// Executes a command; that it is durable is the batch's business.
fn execute<S: Served>(drive: &mut Bytes<S>, command: Command) -> Outcome {
    match command {
        Command::Read { at, bytes } => return drive.read(at, bytes).map(Answer::Data),
        Command::ReadSparse { at, bytes } => {
            let (extents, data) = drive.read_sparse(at, bytes)?;
            return Ok(Answer::Sparse(extents, data));
        }
        Command::Extents { at, bytes, most } => {
            return drive.extents(at, bytes, most).map(Answer::Extents);
        }
        Command::Write { at, data, .. } => drive.write(at, &data)?,
        Command::Trim { at, bytes, .. } => drive.trim(at, bytes)?,
        Command::Zero { at, bytes, keep, .. } => drive.zero(at, bytes, keep)?,
        Command::Moment => return Ok(Answer::Pages(drive.moment())),
        Command::Hint { at, bytes, moment } => {
            return drive.hint(at, bytes, moment).map(Answer::Pages);
        }
        Command::Cancel { at, bytes } => drive.cancel(at, bytes)?,
        Command::Flush => {}
    }
    Ok(Answer::Done)
}
