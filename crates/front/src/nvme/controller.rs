//! A controller: the state that all queues of one host share.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use zerocopy::FromZeros;
use zerocopy::little_endian::U16;

use super::features::{Features, feature};
use super::log_pages::{ERRORS, ErrorEntry, page};
use super::structures::{Entry, Status};
use super::{CAPABILITIES, EVENTS, READY_LIMIT, VERSION};
use crate::window::Window;
use flashgc_base::sync::lock;

/// Kinds of controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerKind {
    /// A controller of the drive.
    Drive,
    /// A discovery controller, which lists the drive and its address.
    Discovery,
}

/// A host: its NVMe qualified name, and its identifier.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Host {
    pub name: String,
    pub id: [u8; 16],
}

impl Host {
    /// Returns a number of the host, a hash of name and identifier. It is the same at each
    /// connection.
    pub fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

/// The function that answers an Asynchronous Event Request.
type Tell = Box<dyn FnOnce(Result<u32, Status>) + Send>;

/// A controller.
pub struct Controller {
    pub id: u16,
    pub kind: ControllerKind,
    pub host: Host,
    began: Instant,
    /// The time of the last command, in milliseconds since `began`.
    heard: AtomicU64,
    state: Mutex<State>,
}

struct State {
    /// The property CC (controller configuration).
    config: u32,
    /// The field SHST (shutdown status) of the property CSTS.
    shutdown: u32,
    /// The time without a command after which the host counts as gone; `None` for no limit.
    keep_alive: Option<Duration>,
    features: Features,
    /// The queues that are connected, with the windows of their connections.
    queues: Vec<(u16, Weak<Window>)>,
    /// The Asynchronous Event Requests that wait.
    events: Vec<(U16, Tell)>,
    /// An event for which no request waited.
    event: Option<u32>,
    /// `true` if the health event was reported, and the host has not read the SMART log since then.
    is_masked: bool,
    errors: VecDeque<ErrorEntry>,
    error_count: u64,
}

/// Offsets of properties, in bytes.
mod property {
    pub const CAPABILITIES: u32 = 0x00;
    pub const VERSION: u32 = 0x08;
    pub const CONFIGURATION: u32 = 0x14;
    pub const STATUS: u32 = 0x1c;
    pub const RESET: u32 = 0x20;
    pub const TIMEOUTS: u32 = 0x68;
}

/// The consequence of setting a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// No further consequence.
    None,
    /// The host shuts the drive down: all its writes must become durable.
    Shutdown,
}

/// The longest time that a new controller may be without a queue.
const CONNECTING: Duration = Duration::from_secs(10);

/// The bit of CC that enables a controller.
const ENABLE: u32 = 1;
/// The bits of CC that ask for a shutdown.
const SHUTDOWN: u32 = 3 << 14;
/// The value of SHST while a shutdown is under way.
const GOES_ON: u32 = 1 << 2;
/// The value of SHST when a shutdown is complete.
const COMPLETE: u32 = 2 << 2;

impl Controller {
    pub fn new(id: u16, kind: ControllerKind, host: Host, keep_alive: u32) -> Self {
        let state = State {
            config: 0,
            shutdown: 0,
            keep_alive: rounded(keep_alive),
            features: Features::new(),
            queues: Vec::new(),
            events: Vec::new(),
            event: None,
            is_masked: false,
            errors: VecDeque::new(),
            error_count: 0,
        };
        let (heard, state) = (AtomicU64::new(0), Mutex::new(state));
        Self { id, kind, host, began: Instant::now(), heard, state }
    }

    /// Notes that the host has sent a command.
    pub fn hear(&self) {
        self.heard.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns `true` if the host has sent no command for longer than its keep alive time.
    pub fn is_lost(&self) -> bool {
        let silent = self.began.elapsed().as_millis() as u64;
        let silent = silent.saturating_sub(self.heard.load(Ordering::Relaxed));
        lock(&self.state).keep_alive.is_some_and(|most| u128::from(silent) > most.as_millis())
    }

    /// Connects a queue. Returns `false` if the number is in use, or for an I/O queue before the
    /// controller is ready.
    pub fn join(&self, queue: u16, window: &Arc<Window>) -> bool {
        let mut state = lock(&self.state);
        state.queues.retain(|(_, window)| window.strong_count() > 0);
        let is_taken = state.queues.iter().any(|(id, _)| *id == queue);
        let is_early = queue > 0 && !state.is_ready();
        if is_taken || is_early {
            return false;
        }
        state.queues.push((queue, Arc::downgrade(window)));
        true
    }

    /// Returns the least rank and time of [`Window::useless`] over all queues; `None` if one of
    /// them is in use, so that the controller stays. A controller without queues has the highest
    /// rank, so that it is removed first.
    pub fn useless(&self) -> Option<(u8, Duration)> {
        let queues = lock(&self.state).queues.clone();
        let windows = queues.iter().filter_map(|(_, window)| window.upgrade());
        let age = self.began.elapsed();
        // A host that is just connecting has no queue yet, so a new controller stays.
        let mut least = (age >= CONNECTING).then_some((u8::MAX, age));
        for window in windows {
            let useless = window.useless()?;
            least = Some(least.map_or(useless, |least| least.min(useless)));
        }
        least
    }

    /// Notes that the connection of a queue has ended.
    pub fn leave(&self, queue: u16) {
        lock(&self.state).queues.retain(|(id, _)| *id != queue);
    }

    /// Returns the numbers of the queues in order, each with its number of commands under way.
    pub fn queues(&self) -> Vec<(u16, usize)> {
        let all = lock(&self.state).queues.clone();
        let here = all.iter().filter_map(|(id, window)| Some((*id, window.upgrade()?.requests())));
        let mut queues: Vec<_> = here.collect();
        queues.sort_unstable();
        queues
    }

    /// Ends the connections of all queues from `first` on.
    pub fn end(&self, first: u16) {
        let windows: Vec<_> = {
            let mut state = lock(&self.state);
            let all = std::mem::take(&mut state.queues);
            let (ended, kept) = all.into_iter().partition(|(id, _)| *id >= first);
            state.queues = kept;
            ended
        };
        windows.iter().filter_map(|(_, window)| window.upgrade()).for_each(|window| window.end());
    }

    /// Returns `true` if I/O commands are executed.
    pub fn is_ready(&self) -> bool {
        lock(&self.state).is_ready()
    }

    /// Returns the value of the property of `bytes` bytes at offset `place`.
    pub fn property(&self, place: u32, bytes: u32) -> Result<u64, Status> {
        let state = lock(&self.state);
        match (place, bytes) {
            (property::CAPABILITIES, 8) => Ok(CAPABILITIES),
            (property::VERSION, 4) => Ok(VERSION.into()),
            (property::CONFIGURATION, 4) => Ok(state.config.into()),
            (property::STATUS, 4) => Ok((u32::from(state.is_ready()) | state.shutdown).into()),
            (property::RESET, 4) => Ok(0),
            (property::TIMEOUTS, 4) => Ok(READY_LIMIT),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Sets the property of `bytes` bytes at offset `place`; only 4 bytes are supported.
    pub fn set_property(&self, place: u32, bytes: u32, value: u32) -> Result<Change, Status> {
        match (place, bytes) {
            (property::CONFIGURATION, 4) => self.configure(value),
            // A reset of the subsystem is not supported.
            _ => Err(Status::INVALID_FIELD),
        }
    }

    fn configure(&self, value: u32) -> Result<Change, Status> {
        let mut state = lock(&self.state);
        let before = state.config;
        if value & ENABLE != 0 && before & ENABLE == 0 {
            let (sets, size, arbitration) = (value >> 4 & 7, value >> 7 & 15, value >> 11 & 7);
            let entries = (value >> 16 & 15, value >> 20 & 15);
            let fits = matches!(sets, 0 | 6) && size == 0 && arbitration == 0;
            // A discovery controller has no I/O queues, so the sizes of their entries do not
            // matter.
            if !fits || (self.kind == ControllerKind::Drive && entries != (6, 4)) {
                return Err(Status::INVALID_FIELD);
            }
            state.shutdown = 0;
        }
        state.config = value;
        if value & ENABLE == 0 && before & ENABLE != 0 {
            state.shutdown = 0;
            let events = std::mem::take(&mut state.events);
            drop(state);
            events.into_iter().for_each(|(_, tell)| tell(Err(Status::ABORTED)));
            self.end(1);
            return Ok(Change::None);
        }
        if value & SHUTDOWN != 0 && before & SHUTDOWN == 0 {
            state.shutdown = GOES_ON;
            return Ok(Change::Shutdown);
        }
        Ok(Change::None)
    }

    /// Notes that the shutdown is complete: all writes of the host are durable.
    pub fn is_shut_down(&self) {
        lock(&self.state).shutdown = COMPLETE;
    }

    /// Calls `with` with the features.
    pub fn features<T>(&self, with: impl FnOnce(&mut Features) -> T) -> T {
        with(&mut lock(&self.state).features)
    }

    /// Returns the time of the keep alive timer in milliseconds; 0 without one.
    pub fn keep_alive(&self) -> u32 {
        lock(&self.state).keep_alive.map_or(0, |time| time.as_millis() as u32)
    }

    /// Sets the time of the keep alive timer in milliseconds; 0 stops it.
    pub fn set_keep_alive(&self, time: u32) {
        lock(&self.state).keep_alive = rounded(time);
    }

    /// Answers a request for an event at once if there is an event. Otherwise it keeps the request
    /// until there is one.
    pub fn await_event(
        &self,
        cid: U16,
        tell: impl FnOnce(Result<u32, Status>) + Send + 'static,
    ) -> Result<(), Status> {
        let mut state = lock(&self.state);
        if let Some(event) = state.event.take() {
            drop(state);
            tell(Ok(event));
            return Ok(());
        }
        if state.events.len() >= EVENTS {
            return Err(Status::EVENT_LIMIT);
        }
        state.events.push((cid, Box::new(tell)));
        Ok(())
    }

    /// Aborts a request for an event. Returns `true` if it was waiting.
    pub fn abort_event(&self, cid: U16) -> bool {
        let mut state = lock(&self.state);
        let Some(place) = state.events.iter().position(|(command, _)| *command == cid) else {
            return false;
        };
        let (_, tell) = state.events.swap_remove(place);
        drop(state);
        tell(Err(Status::ABORTED));
        true
    }

    /// Drops all requests for events without an answer, since the host is gone.
    pub fn forget_events(&self) {
        let events = std::mem::take(&mut lock(&self.state).events);
        drop(events);
    }

    /// Reports to the host that the drive has become read-only, if the host wants this event and
    /// was not told yet.
    pub fn warn(&self) {
        /// A SMART event about the reliability of the drive, and the number of the log with the
        /// details.
        const READ_ONLY: u32 = 1 | (page::HEALTH as u32) << 16;
        let mut state = lock(&self.state);
        let wanted = state.features.number(feature::EVENTS).unwrap_or_default() & 1 << 3 != 0;
        if self.kind != ControllerKind::Drive || !wanted || state.is_masked {
            return;
        }
        state.is_masked = true;
        let Some((_, tell)) = state.events.pop() else {
            state.event = Some(READ_ONLY);
            return;
        };
        drop(state);
        tell(Ok(READ_ONLY));
    }

    /// Notes that the host has read the log of the event, so that the next such event is reported.
    pub fn unmask(&self) {
        lock(&self.state).is_masked = false;
    }

    /// Adds a command that failed to the error log.
    pub fn note_error(&self, queue: u16, entry: &Entry, status: Status) {
        let mut state = lock(&self.state);
        state.error_count += 1;
        let count = state.error_count.into();
        let is_io = queue > 0;
        let error = ErrorEntry {
            count,
            queue: queue.into(),
            cid: entry.cid,
            status: status.field(),
            place: 0xffff.into(),
            block: if is_io { entry.quadword(10).into() } else { 0.into() },
            namespace: entry.nsid,
            transport: 3,
            opcode: entry.opcode,
            ..ErrorEntry::new_zeroed()
        };
        state.errors.truncate(ERRORS - 1);
        state.errors.push_front(error);
    }

    /// Returns the errors, the latest first, and the number of all errors since the host connected.
    pub fn errors(&self) -> (Vec<ErrorEntry>, u64) {
        let state = lock(&self.state);
        (state.errors.iter().copied().collect(), state.error_count)
    }
}

impl State {
    fn is_ready(&self) -> bool {
        self.config & ENABLE != 0
    }
}

/// Converts a keep alive time in milliseconds, rounded up to a whole second; `None` for 0.
fn rounded(time: u32) -> Option<Duration> {
    (time > 0).then(|| Duration::from_secs(time.div_ceil(1000).into()))
}
