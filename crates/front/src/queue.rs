//! The queue of one drive: it takes the commands of all front ends and executes them.
//!
//! If nothing is queued, a command is executed at once by the thread that submits it; it waits only
//! for a command that another front end is executing. All other commands are queued for the drive's
//! own thread, and so are flushes and durable writes. Therefore the commands of one front end are
//! executed in the order in which it submits them.
//!
//! The drive's thread takes all commands that wait as one batch. **Group commit**: all flushes and
//! durable writes of a batch are answered after one flush at its end. So a flush covers the
//! commands that were completed before it was submitted, and also those that its batch executed
//! after it. All other commands are answered as soon as they are executed, except those of
//! [`Queue::outliving`].
//!
//! **A host can survive the server**: it connects again when the server is back. Its next flush
//! must then cover every write that the earlier server process has answered. So a change of data is
//! answered only after it was handed over to the operating system, where it survives the end of
//! this process. Changes are handed over together: those of a batch, and those that a front end
//! submits until it waits for its host ([`Queue::hand_over`]), are answered after one call of
//! [`Backend::hand_over`].
//!
//! **A long command** touches many pages and has no data ([`Command::is_long`]). The drive's thread
//! executes it in slices, and executes other commands between two slices. A long command ends early
//! if its client is gone or the drive stops. Several long commands take turns. So the commands of a
//! front end keep their order only if they are short, or if the front end waits for each answer.
//!
//! Each command of a host meets the [`Faults`] first, if any are set. With a [`Pace`] an answer is
//! sent at the time that a simulated drive gives, and not as soon as it is ready.
//!
//! Every command is answered exactly once, also when the drive stops or panics.

mod long;

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::command::{Answer, Command, SHORT};
use super::faults::{Faults, Met};
use super::meter::{Latencies, LatencyKind, Meter};
use super::pace::{Pace, Paced, Ticket};
use super::window::Window;
use flashgc_base::stream::StreamId;
use flashgc_device::bytes::Bytes;
use flashgc_device::failure::Failure;
use flashgc_device::{Backend, Drive, Noted, Origin, PAGE, WriteStreams};
use flashgc_workload::Op;
use long::{Long, Several};

/// The most commands in the queue. A thread that submits more has to wait.
const DEPTH: usize = 256;

/// The most commands that are executed while a change waits to be handed over.
const TOGETHER: usize = 32;

/// The time that the drive's thread waits for a command before it calls [`Drive::rest`]. That makes
/// the drive's work durable if no work was added since the call before. So an idle drive is durable
/// after twice this time.
const REST: Duration = Duration::from_millis(400);

type Outcome = Result<Answer, Failure>;
/// The function that takes the answer.
type Tell = Box<dyn FnOnce(Outcome) + Send>;

/// The receiver of the answer to a command. If it is dropped before it has an answer, its answer is
/// [`Failure::Stopped`].
struct Caller {
    tell: Option<Tell>,
    since: Instant,
    kind: Option<LatencyKind>,
    /// The host that sent the command, and the number of its queue.
    from: Origin,
    /// `true` if the changes of the command must be handed over to the system before the answer.
    is_handed_over: bool,
    /// The ticket of the pace, which delays the answer; `None` if the answer is not delayed.
    ticket: Option<Ticket>,
    /// The entries of the command in a recording. They get the time of the answer.
    noted: Vec<Noted>,
}

impl Caller {
    /// Returns the time at which the command arrived.
    fn arrived(&self) -> Instant {
        self.ticket.as_ref().map_or(self.since, |ticket| ticket.arrived)
    }

    fn tell(mut self, outcome: Outcome, meter: &mut Meter) {
        if let Some(kind) = self.kind {
            meter.answered(kind, self.since.elapsed());
        }
        self.answer(outcome);
    }

    fn answer(&mut self, outcome: Outcome) {
        let Some(tell) = self.tell.take() else { return };
        let noted = std::mem::take(&mut self.noted);
        let at = if noted.is_empty() { self.since } else { Instant::now() };
        let reply = move |at| {
            noted.into_iter().for_each(|noted| noted.answered(at));
            tell(outcome);
        };
        match self.ticket.take() {
            Some(ticket) => ticket.answer(Box::new(reply)),
            None => reply(at),
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.answer(Err(Failure::Stopped));
    }
}

/// A call that uses the drive between two commands.
type Visit = Box<dyn FnOnce(&mut dyn Backend, &mut Meter) + Send>;

enum Entry {
    Job(Command, Caller),
    Long(Long),
    Visit(Visit),
    Stop,
}

/// The drive, with the state of its queue. A thread that executes a command holds the lock of
/// `drive`.
struct Shared<S> {
    /// The drive; `None` once it was given back.
    drive: Mutex<Option<Metered<S>>>,
    /// The number of entries that the drive's thread has not done yet.
    queued: AtomicUsize,
    /// `true` while the drive's thread is in [`Drive::rest`], which may take long.
    rests: AtomicBool,
    /// `true` while changes wait to be handed over. Only [`Metered`] sets it, with the lock held.
    waits: Arc<AtomicBool>,
}

struct Metered<S> {
    drive: Bytes<S>,
    meter: Meter,
    /// The changes that wait to be handed over, with their answers.
    changes: Vec<(Caller, Answer)>,
    /// The number of commands executed since the first of these changes.
    behind: usize,
    /// `true` while there are changes.
    waits: Arc<AtomicBool>,
}

/// The operations on the drive that a [`Queue`] needs, without the type of the drive.
trait Idle: Send + Sync {
    fn queued(&self) -> &AtomicUsize;

    /// Executes a command that need not be durable, if nothing is queued. Otherwise it returns the
    /// command and its caller.
    fn execute(&self, command: Command, caller: Caller) -> Option<(Command, Caller)>;

    /// Hands the changes that wait over to the system, and answers them.
    fn hand_over(&self);
}

impl<S: Backend> Idle for Shared<S> {
    fn queued(&self) -> &AtomicUsize {
        &self.queued
    }

    fn execute(&self, command: Command, caller: Caller) -> Option<(Command, Caller)> {
        if self.queued.load(Ordering::Acquire) > 0 || self.rests.load(Ordering::Acquire) {
            return Some((command, caller));
        }
        // To wait for a command of another front end costs less than to queue for the drive's
        // thread.
        let Ok(mut locked) = self.drive.lock() else { return Some((command, caller)) };
        if locked.is_none() {
            return Some((command, caller));
        }
        // If the drive panics, it ends for all front ends, but the front end's thread goes on. The
        // lock is released while the stack unwinds, so it is poisoned.
        let _ = catch_unwind(AssertUnwindSafe(move || {
            let Some(metered) = locked.as_mut() else { return };
            let began = caller.since;
            // The result is a caller only for a command that must be durable. No such command is
            // executed here.
            drop(metered.execute(command, caller));
            if metered.behind >= TOGETHER {
                metered.hand_over();
            }
            metered.worked(began);
        }));
        None
    }

    fn hand_over(&self) {
        if !self.waits.load(Ordering::Acquire) {
            return;
        }
        let _ = catch_unwind(AssertUnwindSafe(|| {
            match self.drive.lock() {
                Ok(mut locked) => locked.iter_mut().for_each(|metered| {
                    let began = Instant::now();
                    metered.hand_over();
                    metered.worked(began);
                }),
                // The drive has panicked, and cannot hand anything over.
                Err(error) => {
                    error.into_inner().iter_mut().for_each(|metered| drop(metered.take()))
                }
            }
        }));
    }
}

/// Names the streams of writes for which the host named none.
pub trait Namer: Send + Sync {
    /// Returns the streams for a write of `count` pages of [`PAGE`] bytes from `page` on: none, one
    /// for all of them, or one for each. It may wait, but not for the drive.
    fn streams(&self, page: u64, count: u64) -> Vec<StreamId>;
}

/// The handle with which a front end submits commands.
#[derive(Clone)]
pub struct Queue {
    entries: SyncSender<Entry>,
    size: u64,
    takes_streams: bool,
    namer: Arc<OnceLock<Arc<dyn Namer>>>,
    idle: Arc<dyn Idle>,
    pace: Option<Arc<Pace>>,
    faults: Arc<Faults>,
    /// `true` if the commands of this handle meet no faults.
    is_spared: bool,
    /// `true` if the hosts of this handle survive the server.
    is_outliving: bool,
    /// The host that sends the commands, and the number of its queue, for a recording.
    from: Origin,
    /// The window of the client; `None` if long commands go on when the client is gone.
    client: Option<Arc<Window>>,
}

impl Queue {
    /// Returns the size of the drive in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns `true` if the host may name the streams of its writes.
    pub fn takes_streams(&self) -> bool {
        self.takes_streams
    }

    /// Lets `namer` name the streams of writes without streams, from now on. The namer cannot be
    /// changed later.
    pub fn named_by(&self, namer: Arc<dyn Namer>) {
        // If there is a namer already, it stays.
        let _ = self.namer.set(namer);
    }

    /// Sets the streams of a write that has none.
    fn name(&self, command: &mut Command) {
        let (Some(namer), Some((at, bytes, streams))) = (self.namer.get(), command.placed()) else {
            return;
        };
        if streams.is_empty() && bytes > 0 {
            let page = at / PAGE as u64;
            let end = at.saturating_add(bytes).div_ceil(PAGE as u64);
            *streams = namer.streams(page, end - page);
        }
    }

    /// Returns the figures of the pace so far, or `None` without a pace.
    pub fn paced(&self) -> Option<Paced> {
        self.pace.as_ref().map(|pace| pace.paced())
    }

    /// Returns the latencies that hosts saw since the pace's last mark, by kind, or `None` without
    /// a pace.
    pub fn paced_since_mark(&self) -> Option<[Latencies; 4]> {
        self.pace.as_ref().map(|pace| pace.since_mark())
    }

    /// Sets a mark of the pace. Returns the latencies that hosts saw since the previous mark, by
    /// kind, or `None` without a pace.
    pub fn mark_pace(&self, is_first: bool) -> Option<[Latencies; 4]> {
        self.pace.as_ref().map(|pace| pace.mark(is_first))
    }

    /// Returns the faults that commands meet.
    pub fn faults(&self) -> &Arc<Faults> {
        &self.faults
    }

    /// Returns a queue to the same drive for callers that are not hosts. The commands of this queue
    /// meet no faults.
    pub fn spared(&self) -> Self {
        Self { is_spared: true, ..self.clone() }
    }

    /// Returns a queue to the same drive for hosts that survive the server and connect again when
    /// it is back. The end of the process undoes no change that was answered. The front end must
    /// call [`Queue::hand_over`].
    pub fn outliving(&self) -> Self {
        Self { is_outliving: true, ..self.clone() }
    }

    /// Returns a queue to the same drive for the commands of a client. Long commands end when the
    /// client is gone.
    pub fn of_client(&self, client: &Arc<Window>) -> Self {
        Self { client: Some(Arc::clone(client)), ..self.clone() }
    }

    /// Returns a queue to the same drive for the commands of the host `from`.
    pub fn of(&self, from: Origin) -> Self {
        Self { from, ..self.clone() }
    }

    /// Executes a command, or queues it; waits while the queue is full. `tell` takes the answer.
    /// `tell` runs on this thread, or on the thread of the drive, of the pace or of delayed
    /// answers. The drive may be locked then, so `tell` must not wait for anything.
    pub fn submit(&self, command: Command, tell: impl FnOnce(Outcome) + Send + 'static) {
        let Some(tell) = self.meet(std::slice::from_ref(&command), Box::new(tell)) else { return };
        if command.is_long() {
            return self.pass_long([(command, tell)]);
        }
        self.pass(command, tell);
    }

    /// Submits a command as [`Queue::submit`] does. The front end has reserved `reserved` bytes for
    /// it, and the command must not need more.
    pub fn submit_reserved(
        &self,
        reserved: usize,
        command: Command,
        tell: impl FnOnce(Outcome) + Send + 'static,
    ) {
        let memory = command.cost().memory;
        debug_assert!(memory <= reserved, "{memory} bytes for {command:?}, {reserved} reserved");
        self.submit(command, tell);
    }

    /// Submits several commands that are one command to their host, as [`Queue::submit`] does.
    /// There is one answer: the first failure, or success.
    pub fn submit_all(&self, commands: Vec<Command>, tell: impl FnOnce(Outcome) + Send + 'static) {
        let Some(tell) = self.meet(&commands, Box::new(tell)) else { return };
        if commands.is_empty() {
            return tell(Ok(Answer::Done));
        }
        let (left, failed) = (AtomicUsize::new(commands.len()), Mutex::default());
        let several = Arc::new(Several { left, failed, tell: Mutex::new(Some(tell)) });
        let pages: u64 = commands.iter().map(|command| command.cost().pages).sum();
        let commands = commands.into_iter().map(|command| {
            let several = Arc::clone(&several);
            (command, Box::new(move |outcome| several.done(outcome)) as Tell)
        });
        if pages > SHORT {
            return self.pass_long(commands);
        }
        commands.for_each(|(command, tell)| self.pass(command, tell));
    }

    /// Lets commands meet the faults. Returns the function that takes the answer, or `None` if the
    /// commands must not be executed.
    fn meet(&self, commands: &[Command], tell: Tell) -> Option<Tell> {
        if self.is_spared || !self.faults.is_set() {
            return Some(tell);
        }
        let Met { late, failure } = self.faults.meet(commands);
        let faults = Arc::clone(&self.faults);
        match failure {
            Some(failure) => {
                faults.answer(late, move || tell(Err(failure)));
                None
            }
            None if late.is_zero() => Some(tell),
            None => Some(Box::new(move |outcome| faults.answer(late, move || tell(outcome)))),
        }
    }

    fn pass(&self, mut command: Command, tell: Tell) {
        let caller = self.caller(&mut command, tell);
        let left = match command.durable() {
            true => Some((command, caller)),
            false => self.idle.execute(command, caller),
        };
        if let Some((command, caller)) = left {
            self.send(Entry::Job(command, caller));
        }
    }

    /// Queues commands that the drive's thread executes slice by slice.
    fn pass_long(&self, commands: impl IntoIterator<Item = (Command, Tell)>) {
        let commands = commands.into_iter().map(|(mut command, tell)| {
            let caller = self.caller(&mut command, tell);
            (command, caller)
        });
        let (commands, client) = (commands.collect(), self.client.clone());
        let waiting = Vec::new();
        self.send(Entry::Long(Long { commands, waiting, is_begun: false, late: 0, client }));
    }

    /// Returns the caller that takes the answer to a command that arrives now.
    fn caller(&self, command: &mut Command, tell: Tell) -> Caller {
        self.name(command);
        let command = &*command;
        let (kind, since) = (LatencyKind::of(command), Instant::now());
        let ticket = self.pace.as_ref().and_then(|pace| pace.arrive(command, self.size));
        let tell: Tell = match &self.pace {
            Some(pace) if matches!(command, Command::Hint { .. } | Command::Cancel { .. }) => {
                let (pace, cancelled) = (Arc::clone(pace), cancelled(command));
                Box::new(move |outcome| {
                    match &outcome {
                        Ok(Answer::Hinted(hinted)) => pace.hint(Op::Dirty, &hinted.pages),
                        Ok(_) => pace.hint(Op::Clean, cancelled.as_slice()),
                        Err(_) => {}
                    }
                    tell(outcome);
                })
            }
            _ => tell,
        };
        Caller {
            tell: Some(tell),
            since,
            kind,
            from: self.from,
            is_handed_over: self.is_outliving && command.changes(),
            ticket,
            noted: Vec::new(),
        }
    }

    /// Hands changes over to the system, and sends their answers to hosts that survive the server.
    /// The front end calls this before it waits for its host or for room, and when it ends. Until
    /// then answers may wait, so that later changes are handed over with them.
    pub fn hand_over(&self) {
        self.idle.hand_over();
    }

    fn send(&self, entry: Entry) {
        self.idle.queued().fetch_add(1, Ordering::AcqRel);
        // If the drive is gone, the entry is dropped, and so the caller gets its failure.
        let _ = self.entries.send(entry);
    }

    /// Calls `visit` with the drive on the drive's thread, between two commands. Returns its
    /// result.
    ///
    /// # Errors
    /// The drive is no longer served.
    pub fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut dyn Backend, &mut Meter) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (answer, answered) = sync_channel(1);
        let visit = move |drive: &mut dyn Backend, meter: &mut Meter| {
            let _ = answer.send(visit(drive, meter));
        };
        self.send(Entry::Visit(Box::new(visit)));
        answered.recv().map_err(|_| Failure::Stopped)
    }

    /// Submits a command and waits for its answer.
    pub fn call(&self, command: Command) -> Outcome {
        let (answer, answered) = sync_channel(1);
        self.submit(command, move |outcome| {
            let _ = answer.send(outcome);
        });
        self.hand_over();
        answered.recv().unwrap_or(Err(Failure::Stopped))
    }
}

/// A drive with its thread. When it is dropped, it stops as [`Engine::stop`] does.
pub struct Engine<S> {
    queue: Queue,
    thread: Option<JoinHandle<Given<S>>>,
}

/// The drive with the result of its last flush; `None` if it panicked.
type Given<S> = Option<(S, Result<(), Failure>)>;

impl<S: Backend + 'static> Engine<S> {
    /// Starts the thread of `drive`.
    pub fn start(drive: S) -> std::io::Result<Self> {
        Self::start_paced(drive, None)
    }

    /// Starts the thread of `drive`. With a `pace`, answers are sent at the times that it gives.
    pub fn start_paced(drive: S, pace: Option<Pace>) -> std::io::Result<Self> {
        let mut drive = Bytes::new(drive);
        let (entries, queued) = sync_channel(DEPTH);
        let (size, takes_streams) = (drive.size(), drive.drive().takes_streams());
        let dies = drive.drive().as_drive().map(|drive| drive.lost_dies());
        let (meter, waits) = (Meter::new(), Arc::new(AtomicBool::new(false)));
        let (changes, behind) = (Vec::new(), 0);
        let metered = Metered { drive, meter, changes, behind, waits: Arc::clone(&waits) };
        let shared = Arc::new(Shared {
            drive: Mutex::new(Some(metered)),
            queued: AtomicUsize::new(0),
            rests: AtomicBool::new(false),
            waits,
        });
        let idle = Arc::clone(&shared) as _;
        let queue = Queue {
            entries,
            size,
            takes_streams,
            namer: Arc::default(),
            idle,
            pace: pace.map(Arc::new),
            faults: Arc::new(Faults::new(size, dies)),
            is_spared: false,
            is_outliving: false,
            from: Origin::default(),
            client: None,
        };
        let pace = queue.pace.clone();
        let thread = std::thread::Builder::new()
            .name("drive".into())
            .spawn(move || run(&shared, &queued, pace.as_deref()))?;
        Ok(Self { queue, thread: Some(thread) })
    }

    /// Returns a queue to the drive.
    pub fn queue(&self) -> Queue {
        self.queue.clone()
    }

    /// Executes the queued commands, flushes and gives the drive back. Later commands fail.
    ///
    /// # Errors
    /// The flush failed, or the drive panicked (then there is no drive either).
    pub fn stop(mut self) -> (Option<S>, Result<(), Failure>) {
        match self.end() {
            Some((drive, flushed)) => (Some(drive), flushed),
            None => (None, Err(Failure::Io("the drive panicked".into()))),
        }
    }
}

impl<S> Engine<S> {
    fn end(&mut self) -> Given<S> {
        let thread = self.thread.take()?;
        // To clear all faults cannot fail.
        let _ = self.queue.faults.clear(None);
        self.queue.send(Entry::Stop);
        thread.join().ok().flatten()
    }
}

impl<S> Drop for Engine<S> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs the drive's thread, batch after batch, until it is stopped or all queues are dropped.
/// Between two batches it executes a slice of a long command, if there is one.
fn run<S: Backend>(shared: &Shared<S>, queued: &Receiver<Entry>, pace: Option<&Pace>) -> Given<S> {
    let (mut running, mut long) = (true, VecDeque::new());
    while running {
        let first = match long.is_empty() {
            true => queued.recv_timeout(REST),
            false => queued.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            }),
        };
        let mut locked = match first {
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if long.is_empty() => {
                shared.rests.store(true, Ordering::Release);
                let mut locked = shared.drive.lock().ok()?;
                let drive = &mut locked.as_mut()?.drive;
                drive.drive().as_drive().into_iter().for_each(Drive::rest);
                drop(locked);
                shared.rests.store(false, Ordering::Release);
                continue;
            }
            _ => shared.drive.lock().ok()?,
        };
        let metered = locked.as_mut()?;
        if let Ok(first) = first {
            running = metered.serve(first, queued, &shared.queued, &mut long);
        }
        if running && let Some(mut turn) = long.pop_front() {
            match metered.step(&mut turn, pace) {
                true => drop(shared.queued.fetch_sub(1, Ordering::AcqRel)),
                false => long.push_back(turn),
            }
        }
    }
    // The callers of long commands get the failure that the drive has stopped.
    drop(long);
    let mut metered = shared.drive.lock().ok()?.take()?;
    metered.hand_over();
    let mut drive = metered.drive;
    let flushed = drive.flush();
    Some((drive.into_drive(), flushed))
}

impl<S: Backend> Metered<S> {
    /// Executes a command. Returns its caller if the command needs a flush before its answer.
    fn execute(&mut self, command: Command, mut caller: Caller) -> Option<Caller> {
        let Self { drive, meter, changes, behind, waits } = self;
        let is_durable = command.durable();
        meter.count(&command);
        let outcome = at(&caller, drive, |drive| execute(drive, command));
        caller.noted.extend(drive.noted());
        match outcome {
            Ok(_) if is_durable => return Some(caller),
            Ok(answer) if caller.is_handed_over => {
                changes.push((caller, answer));
                waits.store(true, Ordering::Release);
            }
            outcome => caller.tell(outcome, meter),
        }
        *behind += usize::from(!changes.is_empty());
        None
    }

    /// Takes the list of changes that wait.
    fn take(&mut self) -> Vec<(Caller, Answer)> {
        self.behind = 0;
        self.waits.store(false, Ordering::Release);
        std::mem::take(&mut self.changes)
    }

    /// Hands the changes that wait over to the system, and answers them.
    fn hand_over(&mut self) {
        // The changes are taken first, so that they are answered even if the drive panics.
        let changes = self.take();
        if changes.is_empty() {
            return;
        }
        let handed_over = self.drive.hand_over();
        for (caller, answer) in changes {
            caller.tell(handed_over.clone().map(|()| answer), &mut self.meter);
        }
    }

    /// Flushes the drive and answers the callers in `waiting`. Without callers it does nothing.
    fn flush(&mut self, mut waiting: Vec<Caller>) {
        let Self { drive, meter, .. } = self;
        let Some(last) = waiting.last_mut() else { return };
        let flushed = at(last, drive, Bytes::flush);
        last.noted.extend(drive.noted());
        for caller in waiting {
            caller.tell(flushed.clone().map(|()| Answer::Done), meter);
        }
    }

    /// Counts the time since `began` as time in which commands were executed.
    fn worked(&mut self, began: Instant) {
        self.meter.worked(began);
        self.drive.account(&self.meter.take_usage());
    }

    /// Executes a batch. Returns `false` if the drive must stop.
    fn serve(
        &mut self,
        first: Entry,
        queued: &Receiver<Entry>,
        left: &AtomicUsize,
        long: &mut VecDeque<Long>,
    ) -> bool {
        let (began, mut waiting) = (Instant::now(), vec![]);
        let (mut running, mut done) = (true, 0);
        for entry in std::iter::once(first).chain(queued.try_iter()).take(DEPTH) {
            done += 1;
            match entry {
                Entry::Stop => {
                    running = false;
                    break;
                }
                Entry::Visit(visit) => {
                    self.drive.account(&self.meter.take_usage());
                    visit(self.drive.drive(), &mut self.meter);
                }
                Entry::Job(command, caller) => waiting.extend(self.execute(command, caller)),
                Entry::Long(commands) => {
                    // A long command counts as queued until it has ended, so that other commands
                    // are queued behind it.
                    done -= 1;
                    long.push_back(commands);
                }
            }
        }
        self.hand_over();
        self.flush(waiting);
        self.worked(began);
        left.fetch_sub(done, Ordering::AcqRel);
        running
    }
}

/// Calls `work` with the drive, for the command of `caller`.
fn at<S: Backend, T>(
    caller: &Caller,
    drive: &mut Bytes<S>,
    work: impl FnOnce(&mut Bytes<S>) -> T,
) -> T {
    drive.arrived(Some(caller.arrived()), caller.from);
    let done = work(drive);
    drive.arrived(None, Origin::default());
    done
}

/// Returns the pages whose hints a command takes back.
fn cancelled(command: &Command) -> Option<Range<u64>> {
    let page = PAGE as u64;
    match *command {
        Command::Cancel { at, bytes } if bytes > 0 => {
            Some(at / page..at.saturating_add(bytes).div_ceil(page))
        }
        _ => None,
    }
}

/// Executes a command. If the command must be durable, the caller flushes afterwards.
fn execute<S: Backend>(drive: &mut Bytes<S>, command: Command) -> Outcome {
    match command {
        Command::Read { at, bytes } => return drive.read(at, bytes).map(Answer::Data),
        Command::ReadSparse { at, bytes } => {
            let (extents, data) = drive.read_sparse(at, bytes)?;
            return Ok(Answer::Sparse(extents, data));
        }
        Command::Extents { at, bytes, most } => {
            return drive.extents(at, bytes, most).map(Answer::Extents);
        }
        Command::Verify { at, bytes } => drop(drive.read(at, bytes)?),
        Command::Compare { at, data } => {
            let is_equal = drive.read(at, data.len())? == data;
            return Ok(if is_equal { Answer::Done } else { Answer::Differs });
        }
        Command::Write { at, data, streams, .. } => {
            drive.write(at, &data, WriteStreams(&streams))?
        }
        Command::Copy { from, to, streams, .. } => drive.copy(&from, to, WriteStreams(&streams))?,
        Command::Trim { at, bytes, .. } => drive.trim(at, bytes)?,
        Command::Zero { at, bytes, keep, .. } => drive.zero(at, bytes, keep)?,
        Command::Moment => return Ok(Answer::Pages(drive.moment())),
        Command::Hint { at, bytes, moment } => {
            return drive.hint(at, bytes, moment).map(Answer::Hinted);
        }
        Command::Cancel { at, bytes } => drive.cancel(at, bytes)?,
        Command::Flush => {}
    }
    Ok(Answer::Done)
}
