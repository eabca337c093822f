//! Sends answers at the times that a simulated drive gives.
//!
//! A request arrives at the simulated drive when it is submitted, by the wall clock. The stored
//! drive executes it at once, but its answer waits until the simulated drive has completed it. A
//! thread advances the simulated drive to the present time, sends the answers that are due, and
//! sleeps until the next event.
//!
//! An answer that is sent too late is counted. Some requests take no time on the simulated drive,
//! such as a flush without writes before it. Their answers cannot be in time: they are sent as soon
//! as possible, and are counted separately.

mod tally;

use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flashgc_base::stream::StreamId;
use flashgc_base::sync::lock;
use flashgc_device::{PAGE, WriteStreams};
use flashgc_workload::Op;
use std::collections::HashMap;

use super::command::{Command, copied};
use super::meter::{Latencies, LatencyKind};

pub use tally::{LATE, Lateness, MOST_LATE, Paced};
use tally::{Left, Tally};

/// The time before an event during which the thread does not sleep but polls. On a virtual machine
/// most sleeps overrun by less than this time.
const AWAKE: Duration = Duration::from_micros(200);

/// The shorter polling time after the thread was awake for most of a window. A typical sleep
/// overruns by less than this time.
const BRIEFLY: Duration = Duration::from_micros(50);

/// The window in which the thread's time awake is limited, in nanoseconds. If a thread with
/// real-time priority has run for 95% of a second, Linux stops it for the rest of this second. So
/// the thread polls for [`AWAKE`] before events until it was awake for [`MOST_AWAKE`] of a window.
/// Then it polls for [`BRIEFLY`] until it was awake for [`MOST_BRIEFLY`], and then not at all.
const WINDOW: u64 = 100_000_000;
const MOST_AWAKE: u64 = WINDOW / 4 * 3;
const MOST_BRIEFLY: u64 = WINDOW / 10 * 9;

/// The number of sent answers that are added to the tally together.
const MANY: usize = 256;

/// A simulated drive. The caller passes it each arrival and the time.
pub trait Simulated: Send {
    /// Takes a request that arrives at `now_ns`, which is after the time that [`run`](Self::run)
    /// has reached. `streams` are the streams of its pages of [`PAGE`] bytes. The requests get the
    /// tickets 0, 1, 2 and so on, in the order of these calls.
    ///
    /// # Errors
    /// A message that says why the simulation cannot go on.
    fn arrive(
        &mut self,
        op: Op,
        offset: u64,
        bytes: u64,
        streams: WriteStreams<'_>,
        now_ns: u64,
    ) -> Result<(), String>;

    /// Takes a hint at `now_ns`: the host will write the pages of these bytes ([`Op::Dirty`]), or
    /// its hints on them are taken back ([`Op::Clean`]).
    ///
    /// # Errors
    /// A message that says why the simulation cannot go on.
    fn hint(&mut self, op: Op, offset: u64, bytes: u64, now_ns: u64) -> Result<(), String>;

    /// Simulates until `until_ns`, and adds to `done` the ticket and the time of each request
    /// completed.
    ///
    /// # Errors
    /// A message that says why the simulation cannot go on.
    fn run(&mut self, until_ns: u64, done: &mut Vec<(u64, u64)>) -> Result<(), String>;

    /// Returns the time of the next event, or `u64::MAX` if there is none.
    ///
    /// # Errors
    /// A message that says why the simulation cannot go on.
    fn next_ns(&mut self) -> Result<u64, String>;

    /// Returns the work done so far.
    fn work(&mut self) -> Work;
}

/// The work of a simulated drive since its clock started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The number of pages, in mapping units, that the host has written.
    pub host_pages: u64,
    /// The number of pages that collections have copied.
    pub copied_pages: u64,
    /// The number of bytes that the host has written.
    pub host_bytes: u64,
    /// The number of bytes that the simulated drive has programmed.
    pub programmed_bytes: u64,
    /// The number of blocks erased.
    pub erases: u64,
    /// The number of collections.
    pub collections: u64,
    /// The number of programs that were suspended.
    pub suspended_programs: u64,
    /// The number of erases that were suspended.
    pub suspended_erases: u64,
    /// The number of pages for which the stored drive was given hints.
    pub hinted_pages: u64,
    /// The number of pages whose hints reached the simulated drive.
    pub told_pages: u64,
    /// The number of pages that were written, or whose hints were taken back, before their hints
    /// reached the simulated drive.
    pub overtaken_pages: u64,
    /// The number of commands of the simulated drive that carried hints.
    pub hint_commands: u64,
}

/// The function that gives an answer to its front end. It gets the time at which the answer was
/// due, or at which it was sent if it had to wait for its data.
type Reply = Box<dyn FnOnce(Instant) + Send>;

/// A request whose answer was not sent yet.
struct Slot {
    kind: LatencyKind,
    arrived_ns: u64,
    /// The time of the arrival by the simulated drive's clock, in nanoseconds.
    at_ns: u64,
    /// The time at which the answer is due; `None` while the simulated drive works on the request.
    due: Option<Due>,
    /// The answer; `None` until the stored drive has executed the request.
    reply: Option<Reply>,
}

#[derive(Clone, Copy)]
struct Due {
    at_ns: u64,
    /// `true` if the request took the simulated drive no time.
    at_once: bool,
}

struct Arrival {
    op: Op,
    offset: u64,
    bytes: u64,
    streams: Vec<StreamId>,
    /// The time of the arrival by the simulated drive's clock, in nanoseconds.
    at_ns: u64,
}

struct State {
    arrivals: Vec<Arrival>,
    tickets: u64,
    slots: HashMap<u64, Slot>,
    /// The time that the simulated drive has reached, by its own clock.
    reached: u64,
    /// The answers that were sent and are not counted yet.
    left: Vec<Left>,
    /// The reason why answers do not wait any more; `None` while they wait for their times.
    ended: Option<String>,
}

struct Shared {
    began: Instant,
    slower: f64,
    state: Mutex<State>,
    drive: Mutex<Box<dyn Simulated>>,
    /// This lock is taken before that of `state`. Readers may hold it for long, but no answer waits
    /// for it.
    tally: Mutex<Tally>,
    /// The id of the pace's thread.
    thread: OnceLock<rustix::process::Pid>,
    wake: Condvar,
    /// `true` if, since the thread last checked, something arrived or the thread was told to end.
    is_called: AtomicBool,
    stopping: AtomicBool,
}

impl Shared {
    /// Returns the nanoseconds since the start by the wall clock.
    fn wall_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Converts a time of the wall clock to a time of the simulated drive's clock.
    fn simulated(&self, wall_ns: u64) -> u64 {
        (wall_ns as f64 / self.slower) as u64
    }

    /// Converts a time of the simulated drive's clock to a time of the wall clock.
    fn wall(&self, simulated_ns: u64) -> u64 {
        (simulated_ns as f64 * self.slower) as u64
    }

    /// Gives an answer to its front end, and notes its delay. The delay does not include the time
    /// that the front end then needs to send it. With `for_data` the answer was due earlier and had
    /// to wait for its data.
    fn send(&self, reply: Reply, for_data: bool, kind: LatencyKind, arrived_ns: u64, due: Due) {
        let at_ns = self.wall_ns();
        let due_ns = (!due.at_once).then_some(due.at_ns);
        let are_many = {
            let left = &mut lock(&self.state).left;
            left.push(Left { kind, arrived_ns, due_ns, at_ns, for_data });
            left.len() >= MANY
        };
        let due_ns = if for_data { at_ns } else { due.at_ns };
        reply(self.began + Duration::from_nanos(due_ns));
        if are_many && let Ok(mut tally) = self.tally.try_lock() {
            self.count(&mut tally);
        }
    }

    /// Adds the sent answers to the tally.
    fn count(&self, tally: &mut Tally) {
        let left = std::mem::take(&mut lock(&self.state).left);
        left.into_iter().for_each(|answer| tally.left(answer));
    }

    /// Simulates the drive up to now, and sends the answers that are due. Returns the time of the
    /// next event, in nanoseconds of the wall clock; `u64::MAX` if there is none before the next
    /// arrival.
    fn go_on(&self, done: &mut Vec<(u64, u64)>) -> Result<u64, String> {
        self.is_called.store(false, Ordering::SeqCst);
        let (arrivals, until) = {
            let mut state = lock(&self.state);
            let until = self.simulated(self.wall_ns()).max(state.reached);
            state.reached = until;
            (std::mem::take(&mut state.arrivals), until)
        };
        let next = {
            let mut drive = lock(&self.drive);
            for Arrival { op, offset, bytes, streams, at_ns } in arrivals {
                match op.is_hint() {
                    true => drive.hint(op, offset, bytes, at_ns)?,
                    false => drive.arrive(op, offset, bytes, WriteStreams(&streams), at_ns)?,
                }
            }
            drive.run(until, done)?;
            drive.next_ns()?
        };
        for (ticket, at_ns) in done.drain(..) {
            let ready = {
                let slots = &mut lock(&self.state).slots;
                // Without a slot, nobody waits for the answer.
                let Some(slot) = slots.get_mut(&ticket) else { continue };
                slot.due = Some(Due { at_ns: self.wall(at_ns), at_once: at_ns == slot.at_ns });
                if slot.reply.is_some() { slots.remove(&ticket) } else { None }
            };
            if let Some(Slot { reply: Some(reply), due: Some(due), kind, arrived_ns, .. }) = ready {
                self.send(reply, false, kind, arrived_ns, due);
            }
        }
        Ok(if next == u64::MAX { next } else { self.wall(next) + 1 })
    }

    /// Waits until `next_ns`, or until something arrives.
    fn wait(&self, next_ns: u64, sleep: &mut Sleep) {
        loop {
            if self.is_called.load(Ordering::SeqCst) {
                return;
            }
            let now = self.wall_ns();
            let left = Duration::from_nanos(next_ns.saturating_sub(now));
            if left.is_zero() {
                return;
            }
            let awake = sleep.awake(now);
            if left <= awake {
                std::hint::spin_loop();
                continue;
            }
            let state = lock(&self.state);
            // This is checked again with the lock held, since every thread that sets it holds the
            // lock.
            if self.is_called.load(Ordering::SeqCst) {
                return;
            }
            if next_ns == u64::MAX {
                drop(self.wake.wait(state));
            } else {
                drop(self.wake.wait_timeout(state, left - awake));
            }
            sleep.slept_ns += self.wall_ns() - now;
        }
    }

    /// Sends all answers that wait. From now on no answer waits, for the reason `why`.
    fn end(&self, why: String) {
        let slots = {
            let mut state = lock(&self.state);
            state.ended.get_or_insert(why);
            std::mem::take(&mut state.slots)
        };
        slots.into_values().filter_map(|slot| slot.reply).for_each(|reply| reply(Instant::now()));
    }

    fn run(&self) {
        // Asks the kernel to end sleeps at their exact time.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let _ = self.thread.set(rustix::thread::gettid());
        let (mut done, mut sleep) = (Vec::new(), Sleep::default());
        while !self.stopping.load(Ordering::SeqCst) {
            match self.go_on(&mut done) {
                Ok(next_ns) => self.wait(next_ns, &mut sleep),
                Err(why) => {
                    lock(&self.tally).failed(why.clone());
                    return self.end(why);
                }
            }
        }
        self.end("the drive is closed".to_string());
    }
}

/// The time that the thread has slept in the present window.
#[derive(Default)]
struct Sleep {
    began_ns: u64,
    slept_ns: u64,
}

impl Sleep {
    /// Returns the time before an event during which the thread may poll.
    fn awake(&mut self, now_ns: u64) -> Duration {
        if now_ns - self.began_ns >= WINDOW {
            *self = Self { began_ns: now_ns, slept_ns: 0 };
        }
        let worked = (now_ns - self.began_ns).saturating_sub(self.slept_ns);
        match worked {
            _ if worked < MOST_AWAKE => AWAKE,
            _ if worked < MOST_BRIEFLY => BRIEFLY,
            _ => Duration::ZERO,
        }
    }
}

/// Delays answers until a simulated drive has completed their requests. When it is dropped, it
/// sends all answers that wait.
pub struct Pace {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Pace {
    /// Starts the clock of `drive`, `slower` times slower than the wall clock.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(drive: Box<dyn Simulated>, slower: f64) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            began: Instant::now(),
            slower,
            state: Mutex::new(State {
                arrivals: Vec::new(),
                tickets: 0,
                slots: HashMap::new(),
                reached: 0,
                left: Vec::new(),
                ended: None,
            }),
            drive: Mutex::new(drive),
            tally: Mutex::new(Tally::new(slower)),
            thread: OnceLock::new(),
            wake: Condvar::new(),
            is_called: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        });
        let run = {
            let shared = Arc::clone(&shared);
            move || shared.run()
        };
        let thread = std::thread::Builder::new().name("pace".into()).spawn(run)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Passes an arriving command for a drive of `size` bytes to the simulated drive. Returns
    /// `None` if the answer need not wait.
    pub(super) fn arrive(&self, command: &Command, size: u64) -> Option<Ticket> {
        let (op, offset, bytes) = asked(command)?;
        if op != Op::Flush && (bytes == 0 || offset.checked_add(bytes).is_none_or(|end| end > size))
        {
            return None; // the command will be refused, or does nothing
        }
        let kind = LatencyKind::of(command)?;
        let (streams, reads) = match command {
            Command::Write { streams, .. } => (streams.clone(), [].as_slice()),
            Command::Copy { streams, from, .. } => (streams.clone(), from.as_slice()),
            _ => (Vec::new(), [].as_slice()),
        };
        let is_within = |&(at, bytes): &(u64, usize)| {
            at.checked_add(bytes as u64).is_some_and(|end| end <= size)
        };
        if !reads.iter().all(is_within) {
            return None; // the command will be refused
        }
        let (number, arrived_ns) = {
            let mut state = lock(&self.shared.state);
            if state.ended.is_some() {
                return None;
            }
            let arrived_ns = self.shared.wall_ns();
            let at_ns = self.shared.simulated(arrived_ns).max(state.reached + 1);
            // The reads of a copy arrive with its write. Only the write has an answer that waits.
            for &(offset, bytes) in reads.iter().filter(|range| range.1 > 0) {
                let (op, bytes, streams) = (Op::Read, bytes as u64, Vec::new());
                state.tickets += 1;
                state.arrivals.push(Arrival { op, offset, bytes, streams, at_ns });
            }
            let number = state.tickets;
            state.tickets += 1;
            state.arrivals.push(Arrival { op, offset, bytes, streams, at_ns });
            state.slots.insert(number, Slot { kind, arrived_ns, at_ns, due: None, reply: None });
            self.shared.is_called.store(true, Ordering::SeqCst);
            (number, arrived_ns)
        };
        self.shared.wake.notify_one();
        let arrived = self.shared.began + Duration::from_nanos(arrived_ns);
        Some(Ticket { number, arrived, shared: Arc::clone(&self.shared) })
    }

    /// Passes hints on `pages` to the simulated drive, or takes them back. The stored drive has
    /// executed them already.
    pub(super) fn hint(&self, op: Op, pages: &[Range<u64>]) {
        if pages.is_empty() {
            return;
        }
        {
            let mut state = lock(&self.shared.state);
            if state.ended.is_some() {
                return;
            }
            let now = self.shared.simulated(self.shared.wall_ns());
            let at_ns = now.max(state.reached + 1);
            for pages in pages {
                let (offset, end) = (pages.start * PAGE as u64, pages.end * PAGE as u64);
                let (bytes, streams) = (end - offset, Vec::new());
                state.arrivals.push(Arrival { op, offset, bytes, streams, at_ns });
            }
            self.shared.is_called.store(true, Ordering::SeqCst);
        }
        self.shared.wake.notify_one();
    }

    /// Returns the latencies that hosts saw since the last mark, by kind.
    pub fn since_mark(&self) -> [Latencies; 4] {
        self.counted(|tally| tally.since_mark())
    }

    /// Sets a mark. Returns the latencies that hosts saw since the previous mark, by kind.
    pub fn mark(&self, is_first: bool) -> [Latencies; 4] {
        self.counted(|tally| tally.mark(is_first))
    }

    /// Calls `ask` with the tally of all answers sent so far.
    fn counted<T>(&self, ask: impl FnOnce(&mut Tally) -> T) -> T {
        let mut tally = lock(&self.shared.tally);
        self.shared.count(&mut tally);
        ask(&mut tally)
    }

    /// Returns the simulated drive's work and the delays so far.
    pub fn paced(&self) -> Paced {
        let work = lock(&self.shared.drive).work();
        let comes_first = self.shared.thread.get().is_some_and(|thread| comes_first(*thread));
        self.counted(|tally| tally.paced(work, comes_first))
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        {
            // With the lock held, the thread cannot go to sleep before it sees the change.
            let _state = lock(&self.shared.state);
            self.shared.is_called.store(true, Ordering::SeqCst);
        }
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A request on its way through the simulated drive.
pub(super) struct Ticket {
    number: u64,
    /// The time at which it arrived at the simulated drive.
    pub arrived: Instant,
    shared: Arc<Shared>,
}

impl Ticket {
    /// Takes the answer of the executed request: `reply` is called when the answer is due.
    pub(super) fn answer(self, reply: Reply) {
        let Self { number, shared, .. } = self;
        let overdue = {
            let mut state = lock(&shared.state);
            match state.slots.get_mut(&number) {
                Some(slot) if slot.due.is_none() => {
                    slot.reply = Some(reply);
                    return;
                }
                Some(_) => state.slots.remove(&number),
                None => None,
            }
        };
        match overdue {
            Some(Slot { kind, arrived_ns, due: Some(due), .. }) => {
                shared.send(reply, true, kind, arrived_ns, due);
            }
            _ => reply(Instant::now()), // the simulation has ended
        }
    }
}

/// Returns `true` if this thread of this process has a real-time priority.
fn comes_first(thread: rustix::process::Pid) -> bool {
    let path = format!("/proc/self/task/{}/stat", thread.as_raw_nonzero());
    let Ok(stat) = std::fs::read_to_string(path) else { return false };
    // The scheduling policy is the 39th word behind the name, which may have any characters. 0 is
    // the ordinary policy.
    let words = stat.rsplit(')').next().unwrap_or_default();
    words.split_whitespace().nth(38).is_some_and(|policy| policy != "0")
}

/// Returns a command as the simulated drive sees it: its kind, first byte and number of bytes;
/// `None` if the simulated drive does not get it as a request.
fn asked(command: &Command) -> Option<(Op, u64, u64)> {
    Some(match *command {
        Command::Compare { at, ref data } => (Op::Read, at, data.len() as u64),
        Command::Read { at, bytes }
        | Command::ReadSparse { at, bytes }
        | Command::Verify { at, bytes } => (Op::Read, at, bytes as u64),
        Command::Write { at, ref data, .. } => (Op::Write, at, data.len() as u64),
        Command::Copy { ref from, to, .. } => (Op::Write, to, copied(from)),
        Command::Zero { at, bytes, keep: true, .. } => (Op::Write, at, bytes),
        Command::Zero { at, bytes, .. } | Command::Trim { at, bytes, .. } => (Op::Trim, at, bytes),
        Command::Flush => (Op::Flush, 0, 0),
        Command::Moment
        | Command::Hint { .. }
        | Command::Cancel { .. }
        | Command::Extents { .. } => return None,
    })
}
