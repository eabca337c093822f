//! The counting drive: commands in, page programs counted. No clock.

use std::ops::Range;

use flashgc_base::fail_if;
use flashgc_base::snapshot::{Fault, State};
use flashgc_base::stream::StreamId;
use flashgc_ftl::{FtlError, Moment, Translation, Wear};
use flashgc_workload::{Batch, Op, Workload};

use crate::error::DriveError;
use crate::extent::{Extent, Unit};
use crate::host_commands::HostCommands;
use crate::kept::{SLACK, keep_writes};
use crate::swapping::Swapping;
use crate::touched::Touched;

/// A drive that a run moves step by step to exact positions in its workload.
pub trait Drive: State + Send {
    /// Returns the translation layer.
    fn layer(&self) -> &dyn Translation;

    /// Returns the counts of the host's commands, beside the pages that it wrote.
    fn commands(&self) -> HostCommands;

    /// Returns `true` if the drive's life is over.
    fn has_ended(&self) -> bool;

    /// Returns the moment at which the first block wore out, and the counts of the host's commands
    /// until then.
    fn first_failure(&self) -> Option<(Moment, HostCommands)>;

    /// Returns the swap traffic, or `None` without a page cache.
    fn swapping(&self) -> Option<Swapping>;

    /// Returns the number of times that a cold page was written since the last call, as
    /// [`Touched::rewrites`] computes it. `None` if no page was written before that call, or if
    /// pages are not watched.
    fn rewrites(&mut self) -> Option<f64> {
        None
    }

    /// Returns the drive's position in its workload, in `unit`.
    fn position(&self, unit: Unit) -> u64;

    /// Executes at most one batch of commands, and none beyond `target`. Returns `false` when there
    /// is nothing more to do.
    fn step(&mut self, target: Extent) -> Result<bool, DriveError>;

    /// Checks every invariant of the drive; the text says which does not hold. O(physical pages).
    ///
    /// # Errors
    /// The first invariant that does not hold.
    fn audit(&mut self) -> Result<(), String>;
}

impl Drive for CountingDrive {
    fn layer(&self) -> &dyn Translation {
        self.layer()
    }

    fn commands(&self) -> HostCommands {
        self.commands()
    }

    fn has_ended(&self) -> bool {
        self.has_ended()
    }

    fn first_failure(&self) -> Option<(Moment, HostCommands)> {
        self.first_failure()
    }

    fn swapping(&self) -> Option<Swapping> {
        None
    }

    fn rewrites(&mut self) -> Option<f64> {
        self.touched.as_mut().and_then(Touched::rewrites)
    }

    fn position(&self, unit: Unit) -> u64 {
        self.position(unit)
    }

    fn step(&mut self, target: Extent) -> Result<bool, DriveError> {
        self.step(target)
    }

    fn audit(&mut self) -> Result<(), String> {
        self.layer.audit()
    }
}

/// A translation layer and the workload that runs on it.
#[derive(State)]
#[snapshot(named = "counting drive", then = check)]
pub struct CountingDrive {
    #[snapshot(state)]
    layer: Box<dyn Translation>,
    #[snapshot(state)]
    workload: Box<dyn Workload>,
    batch: Batch,
    /// The record of the pages that are written again; `None` if pages are not watched.
    touched: Option<Touched>,
    /// The number of commands of `batch` that are done.
    done: usize,
    /// The number of hints of `batch` that have been passed on.
    hinted: usize,
    /// The number of entries of `batch.short` that are counted: writes of less than a page.
    shortened: usize,
    /// The number of flush commands of `batch` that are done.
    flushed: usize,
    #[snapshot(skip)]
    batch_len: usize,
    /// The number of entries of `batch.served` that are counted.
    served: usize,
    /// `true` if the workload is a host's cache, whose requests count.
    #[snapshot(skip)]
    is_cached: bool,
    /// The number of page commands executed; behind a host's cache, the number of requests that the
    /// cache has served.
    requests: u64,
    commands: HostCommands,
    /// The counts of the host's commands before the first failure, once there is one.
    commands_at_first_failure: Option<HostCommands>,
    /// Room for the writes among commands of several kinds.
    #[snapshot(skip)]
    writes: Vec<u32>,
    /// The streams of these writes; empty if they have none.
    #[snapshot(skip)]
    named: Vec<StreamId>,
    #[snapshot(skip)]
    hinted_pages: Vec<u32>,
}

/// Checks that `batch` is consistent, and that it has at least `done` commands.
pub(crate) fn check_batch(batch: &Batch, done: usize) -> Result<(), Fault> {
    let commands = batch.pages.len();
    let in_order = batch.hints.is_sorted_by_key(|hint| hint.before)
        && batch.short.is_sorted_by_key(|&(number, _)| number)
        && batch.flushes.is_sorted();
    let has_streams = batch.streams.is_empty() || batch.streams.len() == commands;
    let has_ops = batch.ops.is_empty() || batch.ops.len() == commands;
    if done <= commands && has_ops && has_streams && in_order {
        return Ok(());
    }
    Err(Fault::new("a batch of commands contradicts itself"))
}

impl CountingDrive {
    /// Returns a drive at the beginning of `workload`, which it asks for `batch_len` commands at a
    /// time. Results do not depend on `batch_len`.
    pub fn new(layer: Box<dyn Translation>, workload: Box<dyn Workload>, batch_len: usize) -> Self {
        Self {
            layer,
            workload,
            batch: Batch::default(),
            touched: None,
            done: 0,
            hinted: 0,
            shortened: 0,
            flushed: 0,
            served: 0,
            is_cached: false,
            batch_len: batch_len.max(1),
            requests: 0,
            commands: HostCommands::default(),
            commands_at_first_failure: None,
            writes: Vec::new(),
            named: Vec::new(),
            hinted_pages: Vec::new(),
        }
    }

    /// Returns the drive, which now watches which of its `pages` logical pages are written again;
    /// `None` for no watch.
    #[must_use]
    pub fn watched(self, pages: Option<u32>) -> Self {
        Self { touched: pages.map(Touched::new), ..self }
    }

    /// Returns the drive, whose workload is a host's cache if `is_cached`. Its position in commands
    /// then counts the commands of the application.
    #[must_use]
    pub fn behind_cache(self, is_cached: bool) -> Self {
        Self { is_cached, ..self }
    }

    fn check(&self) -> Result<(), Fault> {
        check_batch(&self.batch, self.done)?;
        let Batch { hints, short, flushes, served, .. } = &self.batch;
        let is_beyond = self.hinted > hints.len()
            || self.shortened > short.len()
            || self.flushed > flushes.len()
            || self.served > served.len();
        fail_if!(is_beyond, "more hints or flush commands are done than there are");
        self.layer.audit().map_err(Fault)
    }

    /// Returns the translation layer.
    pub fn layer(&self) -> &dyn Translation {
        &*self.layer
    }

    /// Returns the counts of the host's commands, beside the pages that it wrote.
    pub fn commands(&self) -> HostCommands {
        self.commands
    }

    /// Returns `true` if the drive's life is over.
    pub fn has_ended(&self) -> bool {
        self.layer.has_ended()
    }

    /// Returns the moment at which the first block wore out, and the counts of the host's commands
    /// until then.
    pub fn first_failure(&self) -> Option<(Moment, HostCommands)> {
        Some((self.layer.wear()?.first_failure()?, self.commands_at_first_failure?))
    }

    /// Returns the drive's position in its workload, in `unit`.
    pub fn position(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Writes => self.layer.counters().host_pages,
            Unit::Collections => self.layer.counters().collections,
            Unit::Commands => self.requests,
        }
    }

    /// Executes commands up to one batch, and not beyond `target` (a position, not a distance).
    /// Returns `false` when the target is reached, or the workload or the drive's life has ended.
    pub fn step(&mut self, target: Extent) -> Result<bool, DriveError> {
        let mut went_on = false;
        while self.step_to_word(target)? {
            went_on = true;
            let Batch { pages, hints, flushes, .. } = &self.batch;
            let has_said_all = self.hinted == hints.len() && self.flushed == flushes.len();
            if has_said_all || self.done == pages.len() {
                return Ok(true);
            }
        }
        Ok(went_on)
    }

    /// Executes commands as [`Self::step`] does, but stops before the next hint or flush command.
    fn step_to_word(&mut self, target: Extent) -> Result<bool, DriveError> {
        let left = target.amount.saturating_sub(self.position(target.unit));
        // With a target in collections the drive goes on until a write needs one more: where it
        // stops then depends on the commands alone, not on how they were batched.
        if (left == 0 && target.unit != Unit::Collections) || self.has_ended() {
            return Ok(false);
        }
        if self.count_served(target, self.done) {
            return Ok(true);
        }
        if self.done == self.batch.pages.len() {
            let commands = self.commands_at_once(target);
            self.workload.fill(&mut self.batch, commands)?;
            if let Some(touched) = &mut self.touched {
                touched.add(&self.batch);
            }
            (self.done, self.hinted, self.shortened, self.flushed) = (0, 0, 0, 0);
            self.served = 0;
            if self.count_served(target, self.done) {
                return Ok(true);
            }
            if self.batch.pages.is_empty() {
                return Ok(false);
            }
        }
        let left = target.amount.saturating_sub(self.position(target.unit));
        let (writes, collections, commands) = match target.unit {
            Unit::Writes => (left, u64::MAX, u64::MAX),
            Unit::Collections => (u64::MAX, target.amount, u64::MAX),
            Unit::Commands => (u64::MAX, u64::MAX, self.commands_of(left)),
        };
        let end = self.pass_on_hints()?.min(self.flush());
        let end = end.min(self.done.saturating_add(clamp(commands)));
        let before = self.done;
        if self.batch.ops.is_empty() {
            let pages = &self.batch.pages[self.done..end];
            let pages = &pages[..pages.len().min(clamp(writes))];
            let streams = self.batch.streams.get(self.done..).unwrap_or_default();
            let pages = &pages[..name(&mut *self.layer, pages, streams)?];
            let host_pages = self.layer.counters().host_pages;
            let written = self.layer.write_until(pages, collections)?;
            if let Some(first) = self.unnoted_failure() {
                let before = (first.counters.host_pages - host_pages) as usize;
                self.commands_at_first_failure = Some(self.commands_until(self.done + before).0);
            }
            self.done += written;
        } else {
            self.execute_mixed(end, clamp(writes), collections)?;
        }
        match self.is_cached {
            false => self.requests += (self.done - before) as u64,
            true if self.done > before => drop(self.count_served(target, self.done - 1)),
            true => {}
        }
        (self.commands, self.shortened) = self.commands_until(self.done);
        Ok(self.done > before)
    }

    /// Counts the requests that a cache has served before command `until` of the batch. Returns
    /// `true` if these requests reach `target`.
    #[inline]
    fn count_served(&mut self, target: Extent, until: usize) -> bool {
        if !self.is_cached || self.served == self.batch.served.len() {
            return false;
        }
        let most = match target.unit {
            Unit::Commands => target.amount.saturating_sub(self.requests),
            Unit::Writes | Unit::Collections => u64::MAX,
        };
        let mut left = most;
        while let Some((before, count)) = self.batch.served.get_mut(self.served)
            && *before as usize <= until
        {
            let counted = left.min(*count);
            *count -= counted;
            left -= counted;
            if *count > 0 {
                break;
            }
            self.served += 1;
        }
        self.requests += most - left;
        left == 0
    }

    /// Returns the number of commands to ask for on the way to `target`. A cache serves about as
    /// many requests as it sends commands. It must not serve many requests beyond `target`, because
    /// its counts would include them.
    #[inline]
    fn commands_at_once(&self, target: Extent) -> usize {
        match (self.is_cached, target.unit) {
            (true, Unit::Commands) => {
                clamp((target.amount - self.requests) / 2).clamp(1, self.batch_len)
            }
            _ => self.batch_len,
        }
    }

    /// Returns the number of commands after which `requests` more are done: a cache may send any
    /// number of commands for one request.
    fn commands_of(&self, requests: u64) -> u64 {
        if !self.is_cached {
            return requests;
        }
        let mut left = requests;
        let end = self.batch.served[self.served..].iter().find(|(_, count)| {
            left = left.saturating_sub(*count);
            left == 0
        });
        end.map_or(u64::MAX, |&(before, _)| u64::from(before) - self.done as u64)
    }

    /// Returns the failure of the first block, if the host's commands until then are not noted yet.
    fn unnoted_failure(&self) -> Option<Moment> {
        let first = self.layer.wear().and_then(Wear::first_failure);
        first.filter(|_| self.commands_at_first_failure.is_none())
    }

    /// Returns the counts of the host's commands, without reads, when the commands before number
    /// `end` of the batch are done. Also returns the number of writes of less than a page that are
    /// counted then.
    #[inline]
    fn commands_until(&self, end: usize) -> (HostCommands, usize) {
        let (mut commands, mut shortened) = (self.commands, self.shortened);
        while let Some(&(number, missing)) = self.batch.short.get(shortened)
            && (number as usize) < end
        {
            shortened += 1;
            commands.short_writes += 1;
            commands.missing_bytes += u64::from(missing);
        }
        (commands, shortened)
    }

    /// Executes the flush commands that come before the next command. Returns the number of the
    /// command before which the next flush comes.
    #[inline]
    fn flush(&mut self) -> usize {
        let is_due = |&&before: &&u32| before as usize <= self.done;
        let due = self.batch.flushes[self.flushed..].iter().take_while(is_due).count();
        if due > 0 {
            self.flushed += due;
            self.layer.flush();
        }
        let next = self.batch.flushes.get(self.flushed);
        next.map_or(self.batch.pages.len(), |&before| before as usize)
    }

    /// Passes on, in their order, the hints that come before the next command, and the hints that
    /// are taken back there. Returns the number of the command before which the next hints come.
    fn pass_on_hints(&mut self) -> Result<usize, DriveError> {
        let rest = &self.batch.hints[self.hinted..];
        if rest.is_empty() {
            return Ok(self.batch.pages.len());
        }
        let due = rest.partition_point(|hint| hint.before as usize <= self.done);
        // If the layer does not use hints, they are dropped; results then have no zombies.
        if let Some(hints) = self.layer.hints() {
            for alike in rest[..due].chunk_by(|a, b| a.is_taken_back == b.is_taken_back) {
                self.hinted_pages.clear();
                self.hinted_pages.extend(alike.iter().map(|hint| hint.page));
                if alike[0].is_taken_back {
                    hints.cancel(&self.hinted_pages)?;
                } else {
                    hints.hint(&self.hinted_pages)?;
                }
            }
        }
        self.hinted += due;
        let next = self.batch.hints.get(self.hinted).map(|hint| hint.before as usize);
        Ok(next.unwrap_or(self.batch.pages.len()))
    }

    /// Executes commands up to `end`. The commands between two TRIMs go to the layer as one batch
    /// of writes, because a read changes nothing. A layer that follows reads gets every read.
    fn execute_mixed(
        &mut self,
        end: usize,
        mut writes: usize,
        collections: u64,
    ) -> Result<(), DriveError> {
        while self.done < end && writes > 0 {
            let ops = &self.batch.ops[self.done..end];
            let follows_reads = self.layer.reads().is_some();
            let run = if follows_reads {
                ops.iter().take_while(|&&op| op == Op::Write).count()
            } else {
                before_trim(ops)
            };
            if run == 0 {
                let page = &self.batch.pages[self.done..=self.done];
                if ops[0] == Op::Trim {
                    self.layer.trim(page)?;
                } else {
                    if let Some(reads) = self.layer.reads() {
                        reads.read(page)?;
                    }
                    self.commands.reads += 1;
                }
                self.done += 1;
                continue;
            }
            let pages = &self.batch.pages[self.done..self.done + run];
            self.writes.resize(self.writes.len().max(run + SLACK), 0);
            let count = keep_writes(pages, ops, &mut self.writes);
            keep_streams(&self.batch.streams, self.done..self.done + run, ops, &mut self.named);
            let allowed = count.min(writes);
            let allowed = name(&mut *self.layer, &self.writes[..allowed], &self.named)?;
            let host_pages = self.layer.counters().host_pages;
            let written = self.layer.write_until(&self.writes[..allowed], collections)?;
            if let Some(first) = self.unnoted_failure() {
                // The failure came with the write after the first `done` writes. The other commands
                // before that write are reads.
                let done = (first.counters.host_pages - host_pages) as usize;
                let before = after_write(&self.batch.ops[self.done..][..run], done + 1) - 1;
                let (until, _) = self.commands_until(self.done + before);
                let reads = until.reads + (before - done) as u64;
                self.commands_at_first_failure = Some(HostCommands { reads, ..until });
            }
            writes -= written;
            let ops = &self.batch.ops[self.done..end];
            let executed = if writes == 0 || (written == allowed && allowed < count) {
                after_write(&ops[..run], written)
            } else if written == count {
                run
            } else {
                // The next write needs a collection beyond `target`, so only the commands before it
                // are done.
                after_write(&ops[..run], written + 1) - 1
            };
            self.commands.reads += (executed - written) as u64;
            self.done += executed;
            if executed < run {
                break;
            }
        }
        Ok(())
    }
}

/// Returns the number of `ops` before the first TRIM. Looks at many at once, since TRIMs are rare.
fn before_trim(ops: &[Op]) -> usize {
    const MANY: usize = 64;
    let has_trim = |ops: &[Op]| ops.iter().fold(false, |any, &op| any | (op == Op::Trim));
    let start = ops.chunks(MANY).position(has_trim).map_or(ops.len(), |chunk| chunk * MANY);
    start + ops[start..].iter().take_while(|&&op| op != Op::Trim).count()
}

/// Names the streams of `pages`, which the layer writes next. Returns the number of pages whose
/// streams are named. It is less than all if a page comes twice in different streams, or if there
/// are too many pages for one call.
fn name(
    layer: &mut dyn Translation,
    pages: &[u32],
    streams: &[StreamId],
) -> Result<usize, FtlError> {
    layer.streams().map_or(Ok(pages.len()), |named| named.name(pages, streams))
}

/// Puts the streams of the writes among the commands `run` into `named`.
fn keep_streams(streams: &[StreamId], run: Range<usize>, ops: &[Op], named: &mut Vec<StreamId>) {
    named.clear();
    if !streams.is_empty() {
        let each = streams[run].iter().zip(ops);
        named.extend(each.filter(|(_, op)| **op == Op::Write).map(|(&stream, _)| stream));
    }
}

/// Returns the number of `ops` up to and including the `count`-th write.
fn after_write(ops: &[Op], count: usize) -> usize {
    let mut writes = ops.iter().enumerate().filter(|(_, op)| **op == Op::Write);
    writes.nth(count - 1).map_or(ops.len(), |(index, _)| index + 1)
}

fn clamp(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
