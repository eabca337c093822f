//! Makes commands from pages: reads and TRIMs among the writes, streams, mixtures of generators,
//! and batches of any size. Random draws of this module choose the part of a mixture and the
//! operation.

use flashgc_base::snapshot::{Fault, State};
use flashgc_base::stream::{NO_STREAM, StreamId};

use std::hint::select_unpredictable;

use multiversion::multiversion;

use super::bulk::{Bulk, WORDS};
use super::{BLOCK, Blocks, bound32};
use crate::{Batch, Op, Workload, WorkloadError};

/// The largest number of commands in a batch, for any limit: their page numbers need 2 MiB.
const MAX_LEN: usize = 1 << 19;

/// One generator of a mixture. A workload that is not a mixture has one part.
pub(super) struct Part {
    pub weight: f64,
    /// The share of its commands that are reads.
    pub read: f64,
    /// The share of its commands that are TRIMs.
    pub trim: f64,
    /// The stream of its commands.
    pub stream: StreamId,
    pub pages: Box<dyn Blocks>,
}

/// The workload of all parts together.
///
/// Commands are made in blocks; the rest of a block is kept for the next batch. If there is a
/// choice, each command uses one random word: its low half chooses the part, its high half the
/// operation.
#[derive(State)]
#[snapshot(named = "generator", then = check)]
pub(super) struct Commands {
    #[snapshot(state)]
    source: Source,
    /// `true` if all parts only write. Then `ops` of every batch is empty.
    #[snapshot(skip)]
    writes_only: bool,
    #[snapshot(table)]
    pages: Box<[u32; BLOCK]>,
    #[snapshot(table)]
    ops: Box<[Op; BLOCK]>,
    /// The streams of the block. The list is empty if no part has a stream; then `streams` of every
    /// batch is empty, too.
    #[snapshot(table)]
    streams: Box<[StreamId]>,
    /// The number of commands of the block that were handed out.
    used: usize,
}

/// The parts of a workload with the draws that choose among them.
#[derive(State)]
pub(super) struct Source {
    #[snapshot(state)]
    parts: Vec<Running>,
    #[snapshot(state)]
    choices: Bulk,
}

#[derive(State)]
#[snapshot(then = check)]
struct Running {
    /// The bound of the part. A command belongs to the first part whose bound is above the low half
    /// of its word.
    #[snapshot(skip)]
    part_below: u64,
    /// The bound of reads: a command is a read if the high half of its word is below it.
    #[snapshot(skip)]
    read_below: u64,
    /// The bound of reads and TRIMs: a command that is not a read is a TRIM if the high half is
    /// below it.
    #[snapshot(skip)]
    trim_below: u64,
    #[snapshot(skip)]
    stream: StreamId,
    #[snapshot(state)]
    source: Box<dyn Blocks>,
    #[snapshot(table)]
    pages: Box<[u32; BLOCK]>,
    used: usize,
}

impl Part {
    fn only_writes(&self) -> bool {
        self.read == 0.0 && self.trim == 0.0 && self.pages.ops().is_none()
    }
}

impl Commands {
    fn check(&self) -> Result<(), Fault> {
        check_used(self.used)
    }

    /// Makes the workload of `parts`, of which there is at least one. The weights sum to 1. In each
    /// part, `read` and `trim` sum to at most 1.
    pub fn new(parts: Vec<Part>, choices: Bulk) -> Self {
        let writes_only = parts.iter().all(Part::only_writes);
        let has_streams = parts.iter().any(|part| part.stream != NO_STREAM);
        Self {
            source: Source::new(parts, choices),
            writes_only,
            pages: Box::new([0; BLOCK]),
            ops: Box::new([Op::Write; BLOCK]),
            streams: vec![NO_STREAM; if has_streams { BLOCK } else { 0 }].into(),
            used: BLOCK,
        }
    }
}

impl Source {
    /// Makes the source of `parts`, like [`Commands::new`].
    pub fn new(parts: Vec<Part>, choices: Bulk) -> Self {
        let mut weight = 0.0;
        let mut parts: Vec<Running> = parts
            .into_iter()
            .map(|part| {
                weight += part.weight;
                Running {
                    part_below: bound32(weight),
                    read_below: bound32(part.read),
                    trim_below: bound32(part.read + part.trim),
                    stream: part.stream,
                    source: part.pages,
                    pages: Box::new([0; BLOCK]),
                    used: BLOCK,
                }
            })
            .collect();
        // The sum of the weights is 1 except for rounding errors.
        parts.last_mut().expect("a part").part_below = 1 << 32;
        Self { parts, choices }
    }

    /// Draws one command: returns the number of its part, its page, its operation and its stream.
    pub fn one(&mut self) -> (usize, u32, Op, StreamId) {
        let word = self.choices.next();
        let number = chosen(&self.parts, word);
        let part = &mut self.parts[number];
        (number, part.next(), part.op(word), part.stream)
    }

    /// Makes the next block of pages. Also fills `ops` and `streams` if they are given.
    fn block(
        &mut self,
        pages: &mut [u32; BLOCK],
        ops: Option<&mut [Op; BLOCK]>,
        streams: Option<&mut [StreamId; BLOCK]>,
    ) {
        match (self.parts.as_mut_slice(), ops, streams) {
            ([only], ops, streams) => {
                only.source.block(pages);
                if let Some(ops) = ops {
                    only.choose_ops(&mut self.choices, ops);
                }
                if let Some(streams) = streams {
                    streams.fill(only.stream);
                }
            }
            (parts, mut ops, Some(streams)) => {
                for at in 0..BLOCK {
                    let word = self.choices.next();
                    let part = choose(parts, word);
                    pages[at] = part.next();
                    streams[at] = part.stream;
                    if let Some(ops) = &mut ops {
                        ops[at] = part.op(word);
                    }
                }
            }
            (parts, None, None) => {
                for page in pages {
                    *page = choose(parts, self.choices.next()).next();
                }
            }
            (parts, Some(ops), None) => {
                for (page, op) in pages.iter_mut().zip(ops) {
                    let word = self.choices.next();
                    let part = choose(parts, word);
                    (*page, *op) = (part.next(), part.op(word));
                }
            }
        }
    }
}

#[inline(always)]
fn choose(parts: &mut [Running], word: u64) -> &mut Running {
    let number = chosen(parts, word);
    &mut parts[number]
}

/// Returns the number of the part that the low half of `word` chooses.
#[inline(always)]
fn chosen(parts: &[Running], word: u64) -> usize {
    let low = word & u64::from(u32::MAX);
    // The code counts the bounds at or below the word instead of searching them, because a
    // processor could not predict the end of a search. The bounds ascend, and the last one is above
    // every word.
    parts.iter().map(|part| usize::from(low >= part.part_below)).sum()
}

/// Checks that a restored state has used no more commands than a block has.
fn check_used(used: usize) -> Result<(), Fault> {
    if used <= BLOCK { Ok(()) } else { Err(Fault::new("more commands are used than there are")) }
}

impl Running {
    fn check(&self) -> Result<(), Fault> {
        check_used(self.used)
    }

    #[inline(always)]
    fn next(&mut self) -> u32 {
        if self.used == BLOCK {
            self.source.block(&mut self.pages);
            self.used = 0;
        }
        let page = self.pages[self.used];
        self.used += 1;
        page
    }

    /// Chooses the operations of the block that was made last.
    fn choose_ops(&self, choices: &mut Bulk, ops: &mut [Op; BLOCK]) {
        if let Some(decided) = self.source.ops() {
            *ops = *decided;
            return;
        }
        for ops in ops.as_chunks_mut::<WORDS>().0 {
            choose_ops(choices.block(), ops, self.read_below, self.trim_below);
        }
    }

    #[inline(always)]
    fn op(&self, word: u64) -> Op {
        match self.source.ops() {
            Some(decided) => decided[self.used - 1],
            None => op(word, self.read_below, self.trim_below),
        }
    }
}

/// Returns the operation that the high half of `word` chooses.
#[inline(always)]
fn op(word: u64, read_below: u64, trim_below: u64) -> Op {
    let high = word >> 32;
    // No branches are used, because a processor could not predict them.
    let no_read = select_unpredictable(high < trim_below, Op::Trim, Op::Write);
    select_unpredictable(high < read_below, Op::Read, no_read)
}

#[multiversion(targets("x86_64+avx2"))]
fn choose_ops(words: &[u64; WORDS], ops: &mut [Op; WORDS], read_below: u64, trim_below: u64) {
    for (word, chosen) in words.iter().zip(ops) {
        *chosen = op(*word, read_below, trim_below);
    }
}

impl Workload for Commands {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        let len = limit.min(MAX_LEN);
        batch.hints.clear();
        batch.short.clear();
        batch.flushes.clear();
        // The batch is not cleared first: that would write memory that is overwritten anyway.
        batch.pages.resize(len, 0);
        batch.ops.resize(if self.writes_only { 0 } else { len }, Op::Write);
        batch.streams.resize(if self.streams.is_empty() { 0 } else { len }, NO_STREAM);
        let mut done = 0;
        while done < len {
            if self.used == BLOCK && len - done >= BLOCK {
                // A whole block is made directly in the batch.
                let pages = batch.pages[done..].first_chunk_mut().expect("a block");
                let ops = if self.writes_only { None } else { batch.ops[done..].first_chunk_mut() };
                // The result is `None` if there are no streams.
                let streams = batch.streams.get_mut(done..).and_then(<[_]>::first_chunk_mut);
                self.source.block(pages, ops, streams);
                done += BLOCK;
                continue;
            }
            if self.used == BLOCK {
                let ops = if self.writes_only { None } else { Some(&mut *self.ops) };
                self.source.block(&mut self.pages, ops, self.streams.first_chunk_mut());
                self.used = 0;
            }
            let taken = (len - done).min(BLOCK - self.used);
            let (from, to) = (self.used..self.used + taken, done..done + taken);
            batch.pages[to.clone()].copy_from_slice(&self.pages[from.clone()]);
            if !self.writes_only {
                batch.ops[to.clone()].copy_from_slice(&self.ops[from.clone()]);
            }
            if !self.streams.is_empty() {
                batch.streams[to].copy_from_slice(&self.streams[from]);
            }
            self.used += taken;
            done += taken;
        }
        Ok(())
    }
}
