//! Faults that are injected into a served drive, to test how its hosts handle them.
//!
//! The queue calls this module for each command of a host, before the drive executes it. A command
//! that fails by a fault, or gets no answer, is not executed. So faults change neither the drive,
//! nor its file, nor a recording. If no fault is set, this module costs a command one atomic load.
//!
//! A command meets the faults in the order of their numbers. Delays add up, and the first fault
//! with another effect decides. A command beyond the end of the drive meets no fault. Faults end
//! with the server.

mod late;
mod pages;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::clients::Seen;
use super::command::{Command, copied};
use flashgc_base::sync::lock;
use flashgc_device::PAGE;
use flashgc_device::dies::LostDies;
use flashgc_device::failure::Failure;
use late::Late;
use pages::Pages;

/// The most faults that can be set at a time.
pub const MOST: usize = 64;
/// The longest delay.
pub const LONGEST: Duration = Duration::from_secs(600);
/// The most bytes that one fault makes unreadable.
pub const LARGEST: u64 = 256 << 20;

const PAGE_BYTES: u64 = PAGE as u64;

/// The effect of a fault on the commands that it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads of the pages fail until the pages are written or discarded.
    Unreadable,
    /// Commands fail.
    Fail,
    /// Answers are sent later by this time.
    Delay(Duration),
    /// Commands get no answer.
    Drop,
    /// The connections of NBD and NVMe/TCP end.
    Disconnect,
    /// The drive takes no writes and no discards.
    EndOfLife,
    /// Nothing can be read from this die of the drive. Its pages are rebuilt from their parity.
    LostDie(u32),
}

impl Effect {
    /// The words for the effects. [`Effect::word`] returns one of them.
    pub const WORDS: [&str; 7] =
        ["unreadable", "fail", "delay", "drop", "disconnect", "end-of-life", "lost-die"];

    /// Returns the word for the effect.
    pub fn word(self) -> &'static str {
        let [unreadable, fail, delay, drop, disconnect, end_of_life, lost_die] = Self::WORDS;
        match self {
            Self::Unreadable => unreadable,
            Self::Fail => fail,
            Self::Delay(_) => delay,
            Self::Drop => drop,
            Self::Disconnect => disconnect,
            Self::EndOfLife => end_of_life,
            Self::LostDie(_) => lost_die,
        }
    }
}

/// The kinds of commands that a fault can be limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Reads, also those that compare or verify.
    Read,
    /// Writes, also those of zeros.
    Write,
    /// Discards, also those that make a range read as zeros.
    Discard,
    /// Flushes.
    Flush,
}

impl FaultKind {
    /// Every kind and its name.
    pub const ALL: [(&str, Self); 4] = [
        ("read", Self::Read),
        ("write", Self::Write),
        ("discard", Self::Discard),
        ("flush", Self::Flush),
    ];

    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// The description of a fault, as a user asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The effect of the fault.
    pub effect: Effect,
    /// The kind of commands that the fault meets; `None` stands for every kind.
    pub kind: Option<FaultKind>,
    /// The range of bytes that the fault covers; `None` stands for the whole drive.
    pub range: Option<Range<u64>>,
    /// The number of commands that the fault meets; `None` stands for any number. For
    /// [`Effect::Disconnect`], the number of commands that the fault lets through before it ends
    /// the connections; with `None` it ends them at once.
    pub next: Option<u64>,
}

impl Fault {
    /// Checks the parts of a fault that can be checked without a drive.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let word = self.effect.word();
        let (has_kind, has_range) = (self.kind.is_some(), self.range.is_some());
        let refused = |fact: &str, expected: &str| Err(format!("{word}: {fact}, {expected}"));
        if self.next == Some(0) {
            return refused("found 0 commands", "expected at least 1; hint: next 1");
        }
        if self.range.as_ref().is_some_and(Range::is_empty) {
            return refused("found a range of 0 bytes", "expected some; hint: 4KiB");
        }
        match self.effect {
            Effect::Unreadable if has_kind => {
                refused("found a kind", "expected none; hint: reads alone meet it")
            }
            Effect::Unreadable => match &self.range {
                None => refused("found no range", "expected one; hint: at 1MiB, bytes 64KiB"),
                Some(range) if !is_aligned(range) => refused(
                    &format!("found bytes {} to {}", range.start, range.end),
                    "expected whole pages; hint: multiples of 4KiB",
                ),
                Some(range) if range.end - range.start > LARGEST => refused(
                    &format!("found {} bytes", range.end - range.start),
                    "expected at most 256MiB; hint: fail with kind read has no such limit",
                ),
                Some(_) => Ok(()),
            },
            Effect::Delay(by) if by.is_zero() || by > LONGEST => refused(
                &format!("found {} s", by.as_secs_f64()),
                "expected more than 0 and at most 10min; hint: by 50ms",
            ),
            Effect::Fail | Effect::Delay(_) | Effect::Drop
                if self.kind == Some(FaultKind::Flush) && has_range =>
            {
                refused("found a range with flushes", "expected none; hint: a flush has no place")
            }
            Effect::Fail | Effect::Delay(_) | Effect::Drop => Ok(()),
            Effect::Disconnect if has_kind || has_range => refused(
                "found a kind or a range",
                "expected neither; hint: next counts commands of every kind",
            ),
            Effect::Disconnect => Ok(()),
            Effect::EndOfLife | Effect::LostDie(_)
                if has_kind || has_range || self.next.is_some() =>
            {
                refused(
                    "found a kind, a range or a number of commands",
                    "expected none; hint: it lasts until it is cleared",
                )
            }
            Effect::EndOfLife | Effect::LostDie(_) => Ok(()),
        }
    }
}

/// Returns `true` if a range begins and ends at page borders.
fn is_aligned(range: &Range<u64>) -> bool {
    range.start.is_multiple_of(PAGE_BYTES) && range.end.is_multiple_of(PAGE_BYTES)
}

/// A fault that is set, with the figures that are shown to users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The number of the fault.
    pub number: u64,
    /// The fault as it was asked for.
    pub fault: Fault,
    /// The number of commands that the fault will still meet or let through; `None` stands for any
    /// number.
    pub left: Option<u64>,
    /// The number of commands that the fault has met.
    pub hits: u64,
    /// The number of bytes that are still unreadable.
    pub unreadable: u64,
    /// `true` if the fault meets no more commands.
    pub is_over: bool,
}

/// A fault with its state.
struct One {
    number: u64,
    fault: Fault,
    left: Option<u64>,
    hits: u64,
    pages: Pages,
    is_over: bool,
}

impl One {
    /// Returns `true` if the fault meets a command with these parts.
    fn meets(&self, parts: &[Part]) -> bool {
        let Fault { effect, kind, range, .. } = &self.fault;
        match effect {
            Effect::Unreadable => parts.iter().any(|part| self.pages.touch(&part.read())),
            Effect::Disconnect => true,
            // The drive meets it when it reads.
            Effect::LostDie(_) => false,
            Effect::EndOfLife => {
                parts.iter().any(|part| matches!(part.kind, FaultKind::Write | FaultKind::Discard))
            }
            Effect::Fail | Effect::Delay(_) | Effect::Drop => parts.iter().any(|part| {
                let Range { start, end } = part.range;
                let is_there =
                    |range: &Range<u64>| start < end && start < range.end && range.start < end;
                kind.is_none_or(|kind| kind == part.kind) && range.as_ref().is_none_or(is_there)
            }),
        }
    }

    /// Counts a command that the fault meets. Returns `true` if the fault has its effect on the
    /// command, and `false` if it lets the command through.
    fn hit(&mut self) -> bool {
        let lets_through = self.fault.effect == Effect::Disconnect && self.left > Some(0);
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.hits += u64::from(!lets_through);
        self.is_over = self.left == Some(0) && !lets_through;
        !lets_through
    }
}

/// A part of a command: a range of bytes that is read, written or discarded.
struct Part {
    kind: FaultKind,
    range: Range<u64>,
    /// `true` if the command reads and writes pages that lie only partly in the range.
    has_edges: bool,
}

impl Part {
    /// Returns the parts of a command. A copy has several parts, another command has one or none.
    fn of(command: &Command) -> Vec<Self> {
        if let Command::Copy { from, to, .. } = command {
            let part = |kind, at: u64, bytes: u64, has_edges| Self {
                kind,
                range: at..at.saturating_add(bytes),
                has_edges,
            };
            let read = |&(at, bytes): &(u64, usize)| part(FaultKind::Read, at, bytes as u64, false);
            let written = part(FaultKind::Write, *to, copied(from), true);
            return from.iter().map(read).chain([written]).collect();
        }
        Self::only(command).into_iter().collect()
    }

    fn only(command: &Command) -> Option<Self> {
        let has_edges = matches!(command, Command::Write { .. } | Command::Zero { .. });
        let (kind, at, bytes) = match *command {
            Command::Compare { at, ref data } => (FaultKind::Read, at, data.len() as u64),
            Command::Read { at, bytes }
            | Command::ReadSparse { at, bytes }
            | Command::Verify { at, bytes } => (FaultKind::Read, at, bytes as u64),
            Command::Write { at, ref data, .. } => (FaultKind::Write, at, data.len() as u64),
            Command::Zero { at, bytes, keep: true, .. } => (FaultKind::Write, at, bytes),
            Command::Zero { at, bytes, .. } | Command::Trim { at, bytes, .. } => {
                (FaultKind::Discard, at, bytes)
            }
            Command::Flush => (FaultKind::Flush, 0, 0),
            Command::Moment
            | Command::Copy { .. }
            | Command::Hint { .. }
            | Command::Cancel { .. }
            | Command::Extents { .. } => return None,
        };
        Some(Self { kind, range: at..at.saturating_add(bytes), has_edges })
    }

    /// Returns the pages that the drive must read. Pages that lie only partly in the range of a
    /// write are among them.
    fn read(&self) -> [Range<u64>; 2] {
        let Range { start, end } = self.range;
        let (all, whole) = (start / PAGE_BYTES..end.div_ceil(PAGE_BYTES), self.whole());
        let reads = self.kind == FaultKind::Read || self.has_edges && whole.is_empty();
        match self.has_edges {
            _ if start >= end => [0..0, 0..0],
            _ if reads => [all, 0..0],
            true => [all.start..whole.start, whole.end..all.end],
            false => [0..0, 0..0],
        }
    }

    /// Returns the pages that lie completely in the range.
    fn whole(&self) -> Range<u64> {
        self.range.start.div_ceil(PAGE_BYTES)..self.range.end / PAGE_BYTES
    }
}

/// The delay of an answer, and the value of [`Late::released`] at the time when the command met the
/// fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lateness(Duration, u64);

impl Lateness {
    /// Returns `true` for an answer that is not late.
    pub(super) fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

/// The consequence of faults for a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Met {
    /// The delay of the answer.
    pub(super) late: Lateness,
    /// The failure to answer with, instead of executing the command.
    pub(super) failure: Option<Failure>,
}

#[derive(Default)]
struct State {
    all: Vec<One>,
    /// The number of the fault that was set last.
    last: u64,
    /// The number of commands that faults have met since the drive has been served.
    hits: u64,
    /// The servers whose connections a disconnection ends.
    servers: Vec<Seen>,
    /// The number of mounts. While there is one, no fault may leave commands without an answer.
    mounts: usize,
}

/// The faults of a served drive.
pub struct Faults {
    size: u64,
    /// `true` if a fault may meet a command.
    is_set: AtomicBool,
    state: Mutex<State>,
    late: Arc<Late>,
    /// The dies of the drive; `None` for a drive that has none.
    dies: Option<LostDies>,
}

impl Faults {
    /// Returns an empty list of faults for a drive of `size` bytes with these `dies`.
    pub(super) fn new(size: u64, dies: Option<LostDies>) -> Self {
        let (is_set, state) = (AtomicBool::new(false), Mutex::default());
        Self { size, is_set, state, late: Arc::default(), dies }
    }

    /// Returns `true` if a fault may meet a command.
    pub(super) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }

    /// Sets a fault and returns its number. A disconnection without a number of commands is not
    /// set: it ends the connections at once, and the function returns their number.
    ///
    /// # Errors
    /// A message that says why the fault cannot be set.
    pub fn inject(&self, fault: Fault) -> Result<u64, String> {
        fault.check()?;
        let word = fault.effect.word();
        if let Some(Range { end, .. }) = fault.range
            && end > self.size
        {
            return Err(format!(
                "{word}: found a range up to byte {end}, expected at most {}; hint: the drive ends there",
                self.size
            ));
        }
        if let Effect::LostDie(die) = fault.effect {
            let dies = self.dies.as_ref().map_or(0, LostDies::count);
            if dies == 0 {
                return Err(format!(
                    "{word}: the drive has no parity; hint: make one with superblocks over several \
                     dies, and parity"
                ));
            }
            if die >= dies {
                return Err(format!(
                    "{word}: found die {die}, expected 0 to {}; hint: die 0",
                    dies - 1
                ));
            }
        }
        if fault.effect == Effect::Disconnect && self.connections(false).is_none() {
            return Err(format!(
                "{word}: the drive has no connections; hint: serve it by NBD or NVMe/TCP"
            ));
        }
        let mut state = lock(&self.state);
        let leaves_open = fault.effect == Effect::Drop
            || fault.effect == Effect::Disconnect && fault.next.is_some();
        if leaves_open && state.mounts > 0 {
            return Err(format!(
                "{word}: the drive is mounted, and a mount hangs without an answer; hint: fail or delay, or serve \
                 the drive by NBD or NVMe/TCP alone"
            ));
        }
        if fault.effect == Effect::Disconnect && fault.next.is_none() {
            state.hits += 1;
            drop(state);
            return Ok(self.connections(true).unwrap_or_default());
        }
        if matches!(fault.effect, Effect::Delay(_)) {
            Late::start(&self.late).map_err(|error| format!("{word}: no thread: {error}"))?;
        }
        if state.all.len() >= MOST {
            state.all.retain(|entry| !entry.is_over);
        }
        if state.all.len() >= MOST {
            return Err(format!(
                "{word}: {MOST} faults are set, expected fewer; hint: flashgc device inject FILE clear"
            ));
        }
        state.last += 1;
        let pages = match (&fault.effect, &fault.range) {
            (Effect::Unreadable, Some(range)) => {
                Pages::new(range.start / PAGE_BYTES..range.end / PAGE_BYTES)
            }
            _ => Pages::default(),
        };
        let (number, left) = (state.last, fault.next);
        state.all.push(One { number, fault, left, hits: 0, pages, is_over: false });
        self.arm(&state);
        self.set_dies(&state);
        Ok(number)
    }

    /// Removes the fault with this number, or all faults for `None`. Returns the number of faults
    /// removed. Delayed answers are sent at once.
    ///
    /// # Errors
    /// There is no such fault.
    pub fn clear(&self, number: Option<u64>) -> Result<usize, String> {
        let mut state = lock(&self.state);
        let before = state.all.len();
        state.all.retain(|entry| number.is_some_and(|number| number != entry.number));
        let cleared = before - state.all.len();
        if let (Some(number), 0) = (number, cleared) {
            return Err(format!(
                "no fault has number {number}; hint: flashgc device inject FILE list"
            ));
        }
        self.arm(&state);
        self.set_dies(&state);
        drop(state);
        self.late.release();
        Ok(cleared)
    }

    /// Returns all faults in the order of their numbers, and the number of commands that faults
    /// have met since the drive has been served.
    pub fn list(&self) -> (Vec<Set>, u64) {
        let state = lock(&self.state);
        let all = state.all.iter().map(|entry| Set {
            number: entry.number,
            fault: entry.fault.clone(),
            left: entry.left,
            hits: entry.hits,
            unreadable: entry.pages.count() * PAGE_BYTES,
            is_over: entry.is_over,
        });
        (all.collect(), state.hits)
    }

    /// Returns why the drive is read-only, if a fault makes it so.
    pub fn why_read_only(&self) -> Option<String> {
        if !self.is_set() {
            return None;
        }
        let state = lock(&self.state);
        let end = state.all.iter().find(|entry| entry.fault.effect == Effect::EndOfLife);
        end.map(|entry| end_of_life(entry.number))
    }

    /// Adds a server whose connections a disconnection ends.
    pub(super) fn can_end(&self, connections: Seen) {
        lock(&self.state).servers.push(connections);
    }

    /// Counts a mount until the result is dropped.
    pub(super) fn mounted(self: &Arc<Self>) -> Mounted {
        lock(&self.state).mounts += 1;
        Mounted(Arc::clone(self))
    }

    /// Returns the consequence of the faults for one command of a host, which may be several
    /// `commands` of the drive. Counts the command if a fault has an effect on it.
    pub(super) fn meet(&self, commands: &[Command]) -> Met {
        let parts: Vec<Part> = commands.iter().flat_map(Part::of).collect();
        let mut met = Met::default();
        if parts.is_empty() || parts.iter().any(|part| part.range.end > self.size) {
            return met;
        }
        let mut state = lock(&self.state);
        let mut hits = 0;
        let mut disconnects = false;
        for entry in state.all.iter_mut().filter(|entry| !entry.is_over) {
            if !entry.meets(&parts) || !entry.hit() {
                continue;
            }
            hits += 1;
            let number = entry.number;
            let kind = entry.fault.kind.unwrap_or(parts[0].kind).name();
            met.failure = match entry.fault.effect {
                Effect::Delay(by) => {
                    met.late = Lateness(met.late.0 + by, self.late.released());
                    continue;
                }
                Effect::Unreadable => {
                    Some(Failure::Io(format!("injected: unreadable data (fault {number})")))
                }
                Effect::Fail => {
                    Some(Failure::Io(format!("injected: a {kind} that fails (fault {number})")))
                }
                Effect::EndOfLife => Some(Failure::ReadOnly(end_of_life(number))),
                Effect::LostDie(_) => continue,
                Effect::Drop => Some(Failure::Unanswered),
                Effect::Disconnect => {
                    disconnects = true;
                    Some(Failure::Unanswered)
                }
            };
            break;
        }
        if met.failure.is_none() {
            // Pages that are written or discarded are readable again.
            let new = parts
                .iter()
                .filter(|part| matches!(part.kind, FaultKind::Write | FaultKind::Discard));
            for range in new.map(Part::whole) {
                for entry in &mut state.all {
                    entry.heal(&range);
                }
            }
        }
        state.hits += hits;
        self.arm(&state);
        drop(state);
        if disconnects {
            self.connections(true);
        }
        met
    }

    /// Calls `answer` after the delay `late`.
    pub(super) fn answer(&self, late: Lateness, answer: impl FnOnce() + Send + 'static) {
        match late {
            Lateness(Duration::ZERO, _) => answer(),
            Lateness(time, released) => self.late.hold(time, released, Box::new(answer)),
        }
    }

    /// Returns the number of connections of all servers, or `None` if there is no server. With
    /// `is_over` it ends these connections.
    fn connections(&self, is_over: bool) -> Option<u64> {
        // A server may lock the faults while its connections end, so the lock is not held here.
        let servers = {
            let mut state = lock(&self.state);
            state.servers.retain(Seen::is_there);
            state.servers.clone()
        };
        let count =
            |seen: &Seen| if is_over { seen.end() } else { seen.connections().len() } as u64;
        servers.iter().map(count).reduce(|a, b| a + b)
    }

    /// Loses the dies that faults name, and gives the others back.
    fn set_dies(&self, state: &State) {
        if let Some(dies) = &self.dies {
            dies.set(|die| {
                state.all.iter().any(|entry| entry.fault.effect == Effect::LostDie(die))
            });
        }
    }

    fn arm(&self, state: &State) {
        let may_meet =
            |entry: &One| !entry.is_over && !matches!(entry.fault.effect, Effect::LostDie(_));
        self.is_set.store(state.all.iter().any(may_meet), Ordering::Relaxed);
    }
}

impl One {
    /// Makes pages readable again.
    fn heal(&mut self, pages: &Range<u64>) {
        if self.fault.effect == Effect::Unreadable && !self.is_over {
            self.pages.remove(pages);
            self.is_over = self.pages.count() == 0;
        }
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        self.late.end();
    }
}

/// A guard that counts a mount of the drive.
pub(super) struct Mounted(Arc<Faults>);

impl Drop for Mounted {
    fn drop(&mut self) {
        lock(&self.0.state).mounts -= 1;
    }
}

fn end_of_life(number: u64) -> String {
    format!("injected: the end of the drive's life (fault {number})")
}
