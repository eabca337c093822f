//! A host that flushes: it adds a flush command after every N-th page write of any workload. The
//! workload has page commands or requests with times.
//!
//! Page writes are counted over the whole run, whole pages and parts of pages. A flush comes after
//! the request that has the N-th, 2N-th, ... page write. If a request has several of these, one
//! flush comes after it, because no host flushes in the middle of a request.

use flashgc_base::snapshot::{Fault, State};

use crate::requests::{RequestStream, TimedRequest};
use crate::{Batch, Op, Workload, WorkloadError};

/// A workload of page commands with a flush after every `every`-th page write, in addition to its
/// own flushes.
#[derive(State)]
#[snapshot(named = "flushing", then = check)]
pub struct Flushing {
    #[snapshot(state)]
    inner: Box<dyn Workload>,
    #[snapshot(skip)]
    every: u64,
    /// The number of page writes since the last page write that made a flush due.
    writes: u64,
    /// `true` if a flush is due before the next request.
    due: bool,
}

impl Flushing {
    /// Makes a workload with a flush after every `every` page writes of `inner`. `every` is at
    /// least 1.
    pub fn new(inner: Box<dyn Workload>, every: u64) -> Self {
        assert!(every > 0, "a flush behind every 0 writes");
        Self { inner, every, writes: 0, due: false }
    }

    fn check(&self) -> Result<(), Fault> {
        check_writes(self.writes, self.every)
    }
}

fn check_writes(writes: u64, every: u64) -> Result<(), Fault> {
    if writes < every { Ok(()) } else { Err(Fault::new("a flush is overdue")) }
}

impl Workload for Flushing {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        batch.wants_joints = true;
        self.inner.fill(batch, limit)?;
        if limit == 0 {
            return Ok(());
        }
        let commands = batch.pages.len() as u32;
        let mut flushes = Vec::new();
        if std::mem::take(&mut self.due) {
            flushes.push(0);
        }
        if batch.ops.is_empty() {
            // All commands are writes, so the flushes are evenly spaced.
            let mut next = self.every - self.writes;
            while next <= commands.into() {
                flushes.push(next as u32);
                next += self.every;
            }
            self.writes = self.every - (next - u64::from(commands));
        } else {
            for (command, _) in (1..).zip(&batch.ops).filter(|(_, op)| **op == Op::Write) {
                self.writes += 1;
                if self.writes == self.every {
                    self.writes = 0;
                    flushes.push(command);
                }
            }
        }
        behind_requests(&mut flushes, &batch.joints);
        if commands > 0 && flushes.last() == Some(&commands) {
            flushes.pop();
            self.due = true;
        }
        if !flushes.is_empty() {
            batch.flushes.extend(flushes);
            batch.flushes.sort_unstable();
        }
        Ok(())
    }
}

/// Moves each flush inside a request to the end of that request. Each request gets one flush at
/// most.
fn behind_requests(flushes: &mut Vec<u32>, joints: &[u32]) {
    if joints.is_empty() {
        return;
    }
    let (mut next, mut end) = (0, 0);
    for flush in &mut *flushes {
        // The request may have a flush at its end already.
        *flush = end.max(*flush);
        next += joints[next..].partition_point(|joint| joint < flush);
        while joints.get(next) == Some(flush) {
            (*flush, next) = (*flush + 1, next + 1);
        }
        end = *flush;
    }
    flushes.dedup();
}

/// Requests with a flush after every `every`-th page write. The flush has the time of the request
/// before it.
#[derive(State)]
#[snapshot(named = "flushing", then = check)]
pub struct FlushingRequests {
    #[snapshot(state)]
    inner: Box<dyn RequestStream>,
    #[snapshot(skip)]
    every: u64,
    #[snapshot(skip)]
    page_size: u64,
    /// The number of page writes since the last page write that made a flush due.
    writes: u64,
    /// `true` if a flush is due after the current request, whose pieces are being handed out.
    is_due: bool,
    /// The time of the flush that is due before the next request; `None` if none is due.
    due_ns: Option<u64>,
    /// The requests drawn from `inner`. Those before `next` were handed out.
    drawn: Vec<TimedRequest>,
    next: usize,
}

impl FlushingRequests {
    /// Adds a flush after every `every` page writes of `inner`. Pages have `page_size` bytes.
    /// `every` is at least 1.
    pub fn new(inner: Box<dyn RequestStream>, every: u64, page_size: u32) -> Self {
        assert!(every > 0 && page_size > 0, "a flush behind every 0 writes");
        let (writes, page_size) = (0, page_size.into());
        let (due_ns, drawn) = (None, Vec::new());
        Self { inner, every, page_size, writes, is_due: false, due_ns, drawn, next: 0 }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.next > self.drawn.len() {
            return Err(Fault::new("more requests are used than there are"));
        }
        check_writes(self.writes, self.every)
    }
}

impl RequestStream for FlushingRequests {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        while batch.len() < limit {
            if let Some(arrival_ns) = self.due_ns.take() {
                batch.push(TimedRequest::flush(arrival_ns));
                continue;
            }
            let Some(&request) = self.drawn.get(self.next) else {
                self.next = 0;
                self.inner.fill(&mut self.drawn, limit)?;
                if self.drawn.is_empty() {
                    break;
                }
                continue;
            };
            self.next += 1;
            batch.push(request);
            if request.op == Op::Write && request.bytes > 0 {
                let last = (request.end() - 1) / self.page_size;
                self.writes += last - request.offset / self.page_size + 1;
                self.is_due |= self.writes >= self.every;
                self.writes %= self.every;
            }
            if self.is_due && !request.goes_on {
                self.is_due = false;
                self.due_ns = Some(request.arrival_ns);
            }
        }
        Ok(())
    }
}
