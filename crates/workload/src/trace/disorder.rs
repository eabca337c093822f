//! Traces whose times go back: the choices for them, and a decoder that sorts requests by their
//! times.

use std::path::Path;

use flashgc_base::naming::choice;
use flashgc_base::spec::{SpecError, count, suggest};

use super::error::{Fault, TraceError};
use super::lines::{Counts, Decoder, Recorded};
use super::request::{Declared, Request};
use crate::Op;

/// The number of requests in a block that is handed out.
const BLOCK: usize = 4096;

/// The choices for a trace whose times go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Disorder {
    /// The order of the file is kept. A drive with a clock refuses the trace nevertheless.
    #[default]
    Keep,
    /// The trace is refused.
    Refuse,
    /// The requests are sorted by their times. Requests with the same time keep the order of the
    /// file.
    Sort,
}

impl Disorder {
    /// The names that users type. Without a name, the order of the file is kept.
    pub const NAMES: [&str; 2] = ["refuse", "sort"];

    /// Reads a name.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn parse(name: &str) -> Result<Self, SpecError> {
        match name {
            "refuse" => Ok(Self::Refuse),
            "sort" => Ok(Self::Sort),
            _ => Err(SpecError::new(
                format!("found '{name}', expected {}", Self::NAMES.join(" or ")),
                suggest(name, Self::NAMES),
            )),
        }
    }
}

/// Returns the error for request `number`, from 1, whose time is before that of the previous
/// request, `last`.
pub(super) fn goes_back(path: &Path, number: u64, last: &Request, request: &Request) -> TraceError {
    let message = format!(
        "the time goes back by {} ns at request {number}, expected times that do not",
        last.time_ns - request.time_ns
    );
    let sort = choice("disorder", "sort");
    TraceError::new(path, Fault::Option, message).hint(format!("{sort} takes it in time's order"))
}

/// A decoder that returns requests in the order of their times. It keeps all of them in memory.
pub(crate) struct InOrder {
    inner: Box<dyn Decoder>,
    /// The number of CPUs whose streams lie one after the other in the file; `None` if the user has
    /// chosen the order.
    cpus: Option<usize>,
    /// The requests read so far. They are sorted when all are read.
    requests: Vec<Request>,
    is_sorted: bool,
    /// The number of requests handed out.
    given: usize,
    flushes: u64,
    /// The number of requests whose time is before that of the previous request in the file.
    back: u64,
}

impl InOrder {
    pub fn new(inner: Box<dyn Decoder>, cpus: Option<usize>) -> Self {
        let requests = Vec::new();
        Self { inner, cpus, requests, is_sorted: false, given: 0, flushes: 0, back: 0 }
    }
}

impl Decoder for InOrder {
    fn next_block(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        if !self.is_sorted {
            // Each call reads one block, so that the caller can stop in between.
            if self.inner.next_block(&mut self.requests)? {
                return Ok(true);
            }
            let steps = self.requests.windows(2).filter(|pair| pair[1].time_ns < pair[0].time_ns);
            self.back = steps.count() as u64;
            // The sort is stable: requests with the same time keep the order of the file.
            self.requests.sort_by_key(|request| request.time_ns);
            self.is_sorted = true;
        }
        let end = self.requests.len().min(self.given + BLOCK);
        let block = &self.requests[self.given..end];
        self.flushes += block.iter().filter(|request| request.op == Op::Flush).count() as u64;
        out.extend_from_slice(block);
        self.given = end;
        Ok(!block.is_empty())
    }

    fn counts(&self) -> Counts {
        Counts { flushes: self.flushes, ..self.inner.counts() }
    }

    fn note(&self) -> Option<String> {
        let merged = match self.cpus {
            Some(cpus) => format!(
                "the streams of {} lie one after the other, and were merged by time",
                count(cpus as u64, "CPU")
            ),
            None if self.back == 0 => return self.inner.note(),
            None => {
                let requests = count(self.back, "request");
                format!("{requests} of the trace went back in time and were sorted")
            }
        };
        Some(self.inner.note().map_or_else(|| merged.clone(), |note| format!("{note}; {merged}")))
    }

    fn columns(&self) -> Option<String> {
        self.inner.columns()
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }

    fn recorded(&self) -> Option<Recorded> {
        self.inner.recorded()
    }

    fn declared(&self) -> Declared {
        self.inner.declared()
    }
}
