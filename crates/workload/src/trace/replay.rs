//! Replays a trace as page commands, from memory or from its file. The commands are the same in
//! both cases.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer};
use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_base::table::prefetch;

use super::Request;
use super::address_map::{AddressMap, PagingOptions, push};
use super::error::{TraceError, smaller_blocks};
use super::format::ReadOptions;
use super::reader::TraceReader;
use crate::{Batch, Hint, Op, Workload, WorkloadError};

/// The kinds of commands of a trace that are replayed. Flushes are always replayed if they are
/// read. All accessed pages count as logical pages in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kinds {
    /// Reads, writes and discards.
    #[default]
    All,
    /// Writes and discards, which change the state of a drive.
    Changes,
    /// Writes only.
    Writes,
}

impl Kinds {
    /// Returns `true` if commands with this operation are replayed.
    #[inline]
    pub fn keep(self, op: Op) -> bool {
        match self {
            Self::All => true,
            Self::Changes => op != Op::Read,
            Self::Writes => !matches!(op, Op::Read | Op::Trim),
        }
    }
}

/// The length of a replay. It always ends with a whole pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// A number of passes.
    Passes(u64),
    /// The smallest number of whole passes that has at least this number of page commands.
    AtLeast(u64),
    /// Passes without an end.
    Endless,
}

/// The number of commands that are fetched into the cache ahead of the next batch. They come while
/// the drive executes the present batch. When a batch is copied, the processor sees that memory is
/// read in order, and fetches the rest itself.
const FETCHED: usize = 1024;

/// The bytes of a line of the cache.
const LINE: usize = 64;

/// A sequence of page commands. `ops` is empty as long as all commands are writes, and `streams` as
/// long as no command has a stream. Hints and flushes have the number of the command that follows
/// them. `short` has the bytes that writes of less than a page leave unchanged.
#[derive(Clone, Debug, Default, Value)]
pub(crate) struct Commands {
    pages: Vec<u32>,
    ops: Vec<Op>,
    hints: Vec<Hint>,
    short: Vec<(u32, u32)>,
    flushes: Vec<u32>,
    streams: Vec<StreamId>,
    /// One bit for each command, lowest bit first. It is set if the command belongs to the request
    /// of the previous command. Bits after the last word are 0.
    joints: Vec<u64>,
}

impl Commands {
    /// Returns the number of commands.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Notes the bytes that a write leaves unchanged in its first and last page: see
    /// [`PagingOptions::missing`]. The pages of the write are the commands from number `first` on.
    #[inline]
    pub fn shorten(&mut self, first: usize, missing: (u32, u32)) {
        if missing == (0, 0) || first == self.pages.len() {
            return;
        }
        let (first, last) = (first as u32, self.pages.len() as u32 - 1);
        let pieces = match missing {
            (before, after) if first == last => [(first, before + after), (last, 0)],
            (before, after) => [(first, before), (last, after)],
        };
        for piece in pieces.into_iter().filter(|&(_, bytes)| bytes > 0) {
            push(&mut self.short, piece);
        }
    }

    /// Notes that the commands from number `first` on belong to the same request.
    #[inline]
    pub fn join(&mut self, first: usize) {
        for command in first + 1..self.pages.len() {
            let word = command / 64;
            if word >= self.joints.len() {
                self.joints.resize(word + 1, 0);
            }
            self.joints[word] |= 1 << (command % 64);
        }
    }

    /// Returns the commands from number `at` to before `end` that belong to the request of the
    /// command before them.
    fn joints_within(&self, at: usize, end: usize) -> impl Iterator<Item = u32> {
        let words =
            self.joints.iter().enumerate().skip(at / 64).take_while(move |it| it.0 * 64 < end);
        let bits = words.flat_map(|(number, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| number * 64 + bit)
        });
        bits.filter(move |command| (at..end).contains(command)).map(|command| command as u32)
    }

    /// Notes a flush before the next command.
    pub fn flush(&mut self) {
        push(&mut self.flushes, self.pages.len() as u32);
    }

    #[inline]
    pub fn push(&mut self, op: Op, page: u32, stream: StreamId) {
        if op.is_hint() {
            let (before, is_taken_back) = (self.pages.len() as u32, op == Op::Clean);
            push(&mut self.hints, Hint { before, page, is_taken_back });
            return;
        }
        if op != Op::Write && self.ops.is_empty() {
            self.ops.resize(self.pages.len(), Op::Write);
        }
        if op != Op::Write || !self.ops.is_empty() {
            push(&mut self.ops, op);
        }
        if stream != NO_STREAM && self.streams.is_empty() {
            self.streams.resize(self.pages.len(), NO_STREAM);
        }
        if stream != NO_STREAM || !self.streams.is_empty() {
            push(&mut self.streams, stream);
        }
        push(&mut self.pages, page);
    }

    /// Replaces every page by its number in `numbers`.
    pub fn renumber(&mut self, numbers: &[u32]) {
        let hinted = self.hints.iter_mut().map(|hint| &mut hint.page);
        for page in self.pages.iter_mut().chain(hinted) {
            *page = numbers[*page as usize];
        }
    }

    /// Asks the processor for the commands from number `at` on, which the next batch begins with.
    #[inline]
    fn prefetch(&self, at: usize) {
        let end = self.pages.len().min(at + FETCHED);
        for command in (at..end).step_by(LINE / size_of::<u32>()) {
            prefetch(&self.pages, command);
        }
        if !self.ops.is_empty() {
            for command in (at..end).step_by(LINE / size_of::<Op>()) {
                prefetch(&self.ops, command);
            }
        }
    }

    pub fn memory_bytes(&self) -> u64 {
        let pairs = self.short.len() + self.joints.len();
        let words = self.pages.len() + 2 * pairs + self.flushes.len();
        (4 * words + size_of::<Hint>() * self.hints.len() + self.ops.len() + self.streams.len())
            as u64
    }

    pub fn shrink(&mut self) {
        self.pages.shrink_to_fit();
        self.ops.shrink_to_fit();
        self.hints.shrink_to_fit();
        self.short.shrink_to_fit();
        self.flushes.shrink_to_fit();
        self.joints.shrink_to_fit();
        self.streams.shrink_to_fit();
    }

    /// Returns only the writes and discards, without hints, flushes and streams; `None` if there
    /// are no reads to leave out.
    pub fn changes(&self) -> Option<Self> {
        if !self.ops.contains(&Op::Read) {
            return None;
        }
        let mut kept = Self::default();
        for (at, &page) in self.pages.iter().enumerate() {
            let op = self.ops.get(at).copied().unwrap_or(Op::Write);
            if op != Op::Read {
                kept.push(op, page, NO_STREAM);
            }
        }
        kept.shrink();
        Some(kept)
    }

    /// Returns the number of flushes after the last command.
    fn flushes_behind(&self) -> u64 {
        let commands = self.pages.len() as u32;
        self.flushes.iter().rev().take_while(|&&before| before == commands).count() as u64
    }

    /// Returns the hints after the last command.
    fn hints_behind(&self) -> &[Hint] {
        let commands = self.pages.len() as u32;
        &self.hints[self.hints.partition_point(|hint| hint.before < commands)..]
    }

    /// Removes everything except the hints and flushes after the last command.
    fn clear(&mut self) {
        let commands = self.pages.len() as u32;
        self.hints.retain(|hint| hint.before == commands);
        self.hints.iter_mut().for_each(|hint| hint.before = 0);
        self.flushes.retain(|&before| before == commands);
        self.flushes.fill(0);
        self.pages.clear();
        self.ops.clear();
        self.short.clear();
        self.streams.clear();
        self.joints.clear();
    }
}

/// Returns the entries of a list that belong to commands from number `at` to before `end`.
fn within<T>(list: &[T], number: impl Fn(&T) -> u32, at: usize, end: usize) -> &[T] {
    let first = list.partition_point(|entry| (number(entry) as usize) < at);
    let count = list[first..].partition_point(|entry| (number(entry) as usize) < end);
    &list[first..first + count]
}

/// Copies up to `limit` commands from number `at` on into an empty batch, and moves `at` behind
/// them. If all of them are writes, `ops` stays empty.
fn copy(commands: &Commands, at: &mut usize, batch: &mut Batch, limit: usize) {
    let end = commands.pages.len().min(at.saturating_add(limit));
    let from = *at as u32;
    let hints = within(&commands.hints, |hint| hint.before, *at, end);
    batch.hints.extend(hints.iter().map(|hint| Hint { before: hint.before - from, ..*hint }));
    let short = within(&commands.short, |short| short.0, *at, end);
    batch.short.extend(short.iter().map(|&(command, bytes)| (command - from, bytes)));
    let flushes = within(&commands.flushes, |&before| before, *at, end);
    batch.flushes.extend(flushes.iter().map(|&before| before - from));
    if batch.wants_joints {
        batch.joints.extend(commands.joints_within(*at, end).map(|command| command - from));
    }
    batch.pages.extend_from_slice(&commands.pages[*at..end]);
    if let Some(ops) = commands.ops.get(*at..end) {
        let other = ops.iter().fold(false, |other, &op| other | (op != Op::Write));
        if other {
            batch.ops.extend_from_slice(ops);
        }
    }
    if let Some(streams) = commands.streams.get(*at..end) {
        batch.streams.extend_from_slice(streams);
    }
    *at = end;
}

/// Converts requests to page commands with a complete map.
#[derive(Clone, Debug)]
pub(crate) struct Expander {
    map: Arc<AddressMap>,
    paging: PagingOptions,
    kinds: Kinds,
}

impl Expander {
    pub fn new(map: Arc<AddressMap>, paging: PagingOptions, kinds: Kinds) -> Self {
        Self { map, paging, kinds }
    }

    /// Appends the commands of one request.
    pub fn expand(&self, request: &Request, out: &mut Commands) -> Result<(), &'static str> {
        if !self.kinds.keep(request.op) {
            return Ok(());
        }
        if request.op == Op::Flush {
            out.flush();
            return Ok(());
        }
        let (range, first) = (self.paging.pages(request), out.len());
        let known = self.map.known(range, |page| out.push(request.op, page, request.stream));
        out.shorten(first, self.paging.missing(request));
        out.join(first);
        if known < range.count && matches!(request.op, Op::Read | Op::Write) {
            return Err(
                "the trace has changed since it was first read, expected the same requests",
            );
        }
        Ok(())
    }
}

enum Origin {
    Kept(Arc<Commands>),
    Streamed(Box<Stream>),
}

impl Origin {
    /// Returns the commands of the whole pass, or those that were expanded ahead.
    fn commands(&self) -> &Commands {
        match self {
            Self::Kept(commands) => commands,
            Self::Streamed(stream) => &stream.commands,
        }
    }
}

/// The file of the trace. It is read again in every pass.
struct Stream {
    path: PathBuf,
    options: ReadOptions,
    expander: Expander,
    reader: TraceReader,
    block: Vec<Request>,
    next: usize,
    /// The number of requests of this pass that were expanded so far.
    expanded: u64,
    commands: Commands,
}

/// The number of commands that are expanded ahead: eight batches, whatever the length of requests.
const AHEAD: usize = 8 * Batch::DEFAULT_LEN;

impl Stream {
    /// Expands the next requests into `commands`. Returns `false` at the end of the pass.
    fn refill(&mut self) -> Result<bool, WorkloadError> {
        self.commands.clear();
        while self.commands.pages.len() < AHEAD {
            let Some(request) = self.block.get(self.next) else {
                self.next = 0;
                if !self.reader.next_block(&mut self.block).map_err(to_workload)? {
                    break;
                }
                continue;
            };
            self.expander
                .expand(request, &mut self.commands)
                .map_err(|text| WorkloadError(format!("{}: {text}", self.path.display())))?;
            self.next += 1;
            self.expanded += 1;
        }
        Ok(!self.commands.pages.is_empty())
    }

    fn restart(&mut self) -> Result<(), WorkloadError> {
        self.reader = TraceReader::open(&self.path, &self.options).map_err(to_workload)?;
        self.block.clear();
        self.next = 0;
        self.expanded = 0;
        self.commands = Commands::default();
        Ok(())
    }
}

/// Saves the position of the reader in its pass. To restore it, the requests before that position
/// are read again and skipped.
impl State for Stream {
    fn save(&self, to: &mut Writer<'_>) {
        let Self {
            path: _,
            options: _,
            expander: _,
            reader: _,
            block: _,
            next: _,
            expanded,
            commands,
        } = self;
        expanded.put(to);
        commands.put(to);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let fault = |WorkloadError(text)| Fault(text);
        self.restart().map_err(fault)?;
        self.expanded = Value::take(from)?;
        self.commands = Value::take(from)?;
        let mut left = self.expanded;
        while left > self.block.len() as u64 {
            left -= self.block.len() as u64;
            let more = self.reader.next_block(&mut self.block);
            if !more.map_err(to_workload).map_err(fault)? {
                return Err(Fault::new(format!("{}: the trace is shorter", self.path.display())));
            }
        }
        self.next = left as usize;
        Ok(())
    }
}

impl State for Origin {
    fn save(&self, to: &mut Writer<'_>) {
        match self {
            Self::Kept(_) => false.put(to),
            Self::Streamed(stream) => {
                true.put(to);
                stream.save(to);
            }
        }
    }

    /// Refuses a state that was saved with the other origin, because the origins count positions
    /// differently. The origin can change: commands that did not fit into memory before may fit
    /// now, or the reverse.
    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        match (bool::take(from)?, self) {
            (true, Self::Streamed(stream)) => stream.restore(from),
            (false, Self::Kept(_)) => Ok(()),
            _ => Err(Fault::new("the trace is kept in memory, or was, and not both times")),
        }
    }
}

fn to_workload(error: TraceError) -> WorkloadError {
    WorkloadError(error.marked())
}

/// A replay of a trace: a [`Workload`] of page commands on the logical pages of the drive.
#[derive(State)]
#[snapshot(named = "replay", then = check)]
pub struct Replayer {
    #[snapshot(state)]
    origin: Origin,
    /// The number of the next command.
    at: usize,
    #[snapshot(skip)]
    logical_pages: u32,
    /// `true` if the trace may have commands for pages that the drive does not have.
    #[snapshot(skip)]
    goes_beyond: bool,
    #[snapshot(skip)]
    replay: Replay,
    /// The number of passes finished.
    passes: u64,
    /// The number of commands issued in all passes.
    issued: u64,
    /// The number of commands issued in the current pass.
    issued_in_pass: u64,
    ended: bool,
    /// Hints after the last command handed out. They come before the next command.
    carried: Vec<Hint>,
    /// The number of flushes after the last command handed out. They come before the next command.
    carried_flushes: u64,
}

impl Replayer {
    pub(crate) fn kept(commands: Arc<Commands>, logical_pages: u32, replay: Replay) -> Self {
        Self::new(Origin::Kept(commands), logical_pages, replay)
    }

    /// Says that every page of the trace is below `bound`. Otherwise a replay looks at every
    /// command whether the drive has its page.
    pub(crate) fn below(self, bound: u32) -> Self {
        Self { goes_beyond: bound > self.logical_pages, ..self }
    }

    pub(crate) fn streamed(
        path: &Path,
        options: &ReadOptions,
        expander: Expander,
        logical_pages: u32,
        replay: Replay,
    ) -> Result<Self, TraceError> {
        let stream = Stream {
            path: path.to_owned(),
            options: options.clone(),
            expander,
            reader: TraceReader::open(path, options)?,
            block: Vec::new(),
            next: 0,
            expanded: 0,
            commands: Commands::default(),
        };
        Ok(Self::new(Origin::Streamed(Box::new(stream)), logical_pages, replay))
    }

    fn new(origin: Origin, logical_pages: u32, replay: Replay) -> Self {
        Self {
            origin,
            at: 0,
            logical_pages,
            goes_beyond: true,
            replay,
            passes: 0,
            issued: 0,
            issued_in_pass: 0,
            ended: matches!(replay, Replay::Passes(0) | Replay::AtLeast(0)),
            carried: Vec::new(),
            carried_flushes: 0,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.at <= self.origin.commands().len() {
            return Ok(());
        }
        Err(Fault::new("the replay is behind the end of its trace"))
    }

    /// Returns the number of whole passes so far.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// Copies the next commands into `batch`. Returns `false` at the end of a pass.
    fn copy(&mut self, batch: &mut Batch, limit: usize) -> Result<bool, WorkloadError> {
        match &mut self.origin {
            Origin::Kept(commands) => {
                copy(commands, &mut self.at, batch, limit);
                commands.prefetch(self.at);
            }
            Origin::Streamed(stream) => {
                if self.at == stream.commands.pages.len() {
                    self.at = 0;
                    stream.refill()?;
                }
                copy(&stream.commands, &mut self.at, batch, limit);
            }
        }
        Ok(!batch.pages.is_empty())
    }

    fn end_pass(&mut self) -> Result<(), WorkloadError> {
        if self.issued_in_pass == 0 {
            return Err(WorkloadError(format!(
                "a whole pass of the trace has no command for its first {} logical pages, expected \
                 some; hint: {}",
                self.logical_pages,
                smaller_blocks()
            )));
        }
        self.passes += 1;
        self.issued_in_pass = 0;
        self.at = 0;
        let behind = self.origin.commands().hints_behind();
        let on_drive = behind.iter().filter(|hint| hint.page < self.logical_pages);
        self.carried.extend(on_drive.map(|hint| Hint { before: 0, ..*hint }));
        self.carried_flushes += self.origin.commands().flushes_behind();
        self.ended = match self.replay {
            Replay::Passes(passes) => self.passes >= passes,
            Replay::AtLeast(commands) => self.issued >= commands,
            Replay::Endless => false,
        };
        match &mut self.origin {
            Origin::Streamed(stream) if !self.ended => stream.restart(),
            _ => Ok(()),
        }
    }
}

/// An endless replay of only the writes and discards of a trace.
#[derive(State)]
#[snapshot(named = "changes of a replay")]
pub struct Changes {
    #[snapshot(state)]
    replay: Replayer,
}

impl Changes {
    pub(crate) fn new(replay: Replayer) -> Self {
        Self { replay }
    }
}

impl Workload for Changes {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        self.replay.fill(batch, limit)
    }
}

/// Leaves out the commands for pages that the drive does not have. Hints and flushes before such a
/// command move to the next command that is kept.
fn drop_beyond(batch: &mut Batch, logical_pages: u32) {
    let kept = |&page: &u32| page < logical_pages;
    // A maximum needs few instructions for many pages.
    let highest = batch.pages.iter().copied().fold(0, u32::max);
    if highest < logical_pages && batch.hints.iter().all(|hint| kept(&hint.page)) {
        return;
    }
    let mut next = 0;
    // For each command, its new number or, if it is left out, the new number of the next command
    // that is kept. The last entry is for the end of the batch.
    let mut numbers: Vec<u32> = Vec::with_capacity(batch.pages.len() + 1);
    for page in &batch.pages {
        numbers.push(next);
        next += u32::from(kept(page));
    }
    numbers.push(next);
    let new = |old: &mut u32| *old = numbers[*old as usize];
    batch.hints.retain(|hint| kept(&hint.page));
    batch.hints.iter_mut().for_each(|hint| new(&mut hint.before));
    batch.flushes.iter_mut().for_each(new);
    batch.joints = joints_kept(batch, kept);
    batch.short.retain(|&(command, _)| kept(&batch.pages[command as usize]));
    batch.short.iter_mut().for_each(|(command, _)| new(command));
    if !batch.ops.is_empty() {
        let mut pages = batch.pages.iter();
        batch.ops.retain(|_| pages.next().is_some_and(kept));
    }
    if !batch.streams.is_empty() {
        let mut pages = batch.pages.iter();
        batch.streams.retain(|_| pages.next().is_some_and(kept));
    }
    batch.pages.retain(kept);
}

/// Returns the joints with the new numbers of the commands that are `kept`. A command keeps its
/// joint if an earlier command of its request is kept, or was in an earlier batch.
fn joints_kept(batch: &Batch, kept: impl Fn(&u32) -> bool) -> Vec<u32> {
    let (mut joints, mut next, mut has_earlier) = (Vec::new(), 0, true);
    let mut old = batch.joints.iter().peekable();
    for (number, page) in (0..).zip(&batch.pages) {
        let is_joint = old.next_if_eq(&&number).is_some();
        has_earlier &= is_joint;
        if kept(page) {
            if is_joint && has_earlier {
                joints.push(next);
            }
            (next, has_earlier) = (next + 1, true);
        }
    }
    joints
}

impl Workload for Replayer {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        loop {
            batch.clear();
            if limit == 0 {
                return Ok(());
            }
            if self.ended {
                let behind = std::mem::take(&mut self.carried_flushes);
                batch.flushes.extend((0..behind).map(|_| 0));
                return Ok(());
            }
            if !self.copy(batch, limit)? {
                self.end_pass()?;
                continue;
            }
            if self.goes_beyond {
                drop_beyond(batch, self.logical_pages);
            }
            batch.hints.splice(..0, self.carried.drain(..));
            let behind = batch.pages.len() as u32;
            let kept = batch.hints.partition_point(|hint| hint.before < behind);
            let carried = batch.hints.drain(kept..).map(|hint| Hint { before: 0, ..hint });
            self.carried.extend(carried);
            let waiting = std::mem::take(&mut self.carried_flushes);
            batch.flushes.splice(..0, (0..waiting).map(|_| 0));
            while batch.flushes.pop_if(|before| *before == behind).is_some() {
                self.carried_flushes += 1;
            }
            if !batch.pages.is_empty() {
                self.issued += batch.pages.len() as u64;
                self.issued_in_pass += batch.pages.len() as u64;
                return Ok(());
            }
        }
    }
}
