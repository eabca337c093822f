//! Events that a placement in Python gets for many pages at once. They wait here until the host has
//! written as many pages as the placement has chosen.

use flashgc_ftl::BlockId;
use flashgc_ftl::placement::{Class, Now, Place};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use pyo3::{ffi, intern};

use super::verbs::{Ends, Verb};
use super::{place, shown};
use crate::errors::PolicyError;

/// The number for no class in arrays: no placement has that many classes.
const NO_CLASS: Class = Class::MAX;

/// The number for no block in arrays.
const NO_BLOCK: BlockId = BlockId::MAX;

/// The kind of a page's event, by the method that reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Holds,
    Wrote,
    Trimmed,
    Copied,
}

/// Consecutive events of one kind.
pub(super) struct Run {
    pub(super) what: What,
    /// The numbers of the pages, 4 bytes each.
    pages: Vec<u8>,
    from: Vec<Class>,
    to: Vec<Class>,
    /// The blocks of each event, if the method takes any.
    ends: Vec<Ends>,
    /// The time after the last event.
    pub(super) now: Now,
}

/// The events that are not reported to the placement yet, in order.
pub(super) struct Untold {
    /// Host writes from one report to the next.
    every: u64,
    /// The number of host writes at which the next report is due, once that is known.
    next: Option<u64>,
    runs: Vec<Run>,
}

impl Untold {
    /// The most host writes that may wait: their pages and classes fill 100 MB.
    const MOST: u64 = 1 << 24;

    /// Reads `owner.every`, the number of host writes from one report of events to the next. `None`
    /// if `owner` has no `every`: then each event is reported at once.
    ///
    /// # Errors
    /// `every` is no valid number.
    pub(super) fn find(owner: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Some(every) = owner.getattr_opt(intern!(owner.py(), "every"))? else {
            return Ok(None);
        };
        match every.extract::<u64>() {
            Ok(every) if (1..=Self::MOST).contains(&every) => {
                Ok(Some(Self { every, next: None, runs: Vec::new() }))
            }
            _ => Err(PolicyError::new_err(format!(
                "{}every is {}, expected a whole number of host writes from 1 to {}",
                place(owner),
                shown(&every),
                Self::MOST
            ))),
        }
    }

    /// Adds the event `what` of `page`.
    #[inline]
    pub(super) fn note(
        &mut self,
        what: What,
        page: u32,
        (from, to): (Option<Place>, Option<Place>),
        takes_blocks: bool,
        now: Now,
    ) {
        if self.runs.last().is_none_or(|run| run.what != what) {
            let (pages, from, to, ends) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            self.runs.push(Run { what, pages, from, to, ends, now });
        }
        if let Some(run) = self.runs.last_mut() {
            run.pages.extend_from_slice(&page.to_ne_bytes());
            let class = |place: Option<Place>| place.map_or(NO_CLASS, |place| place.class);
            run.from.push(class(from));
            run.to.push(class(to));
            if takes_blocks {
                run.ends.push(Ends::new(from, to));
            }
            run.now = now;
        }
    }

    /// Returns `true` if the host write at `now` makes a report due.
    #[inline]
    pub(super) fn is_full(&mut self, now: Now) -> bool {
        let every = self.every;
        let next = *self.next.get_or_insert_with(|| now.host.next_multiple_of(every));
        if now.host >= next {
            self.next = Some(now.host + every);
        }
        now.host >= next
    }

    /// Returns `true` if the first contents of the drive are not reported yet.
    #[inline]
    pub(super) fn begins(&self) -> bool {
        self.runs.first().is_some_and(|run| run.what == What::Holds)
    }

    /// Takes all events that wait, to report them now.
    pub(super) fn take(&mut self) -> Vec<Run> {
        std::mem::take(&mut self.runs)
    }
}

impl Run {
    /// Calls `verb` with the arrays of this run and `clock`.
    ///
    /// # Errors
    /// The exception that `verb` raises.
    pub(super) fn tell(
        &self,
        py: Python<'_>,
        verb: &Verb,
        clock: *mut ffi::PyObject,
    ) -> PyResult<()> {
        let numpy = py.import(intern!(py, "numpy"))?;
        let from_bytes = numpy.getattr(intern!(py, "frombuffer"))?;
        let array = |bytes, dtype| from_bytes.call1((PyBytes::new(py, bytes), dtype));
        let pages = array(&self.pages, intern!(py, "uint32"))?;
        let classes = |classes| array(classes, intern!(py, "uint8"));
        // SAFETY: the clock is alive as long as its placement, which calls this.
        let now = unsafe { Borrowed::from_ptr(py, clock) }.to_owned();
        let mut arguments = vec![pages];
        if self.what != What::Holds {
            arguments.push(classes(&self.from)?);
        }
        if self.what != What::Trimmed {
            arguments.push(classes(&self.to)?);
        }
        arguments.push(now);
        for &end in &verb.blocks {
            let blocks = self.ends.iter().map(|ends| ends.block(end).unwrap_or(NO_BLOCK));
            let bytes: Vec<u8> = blocks.flat_map(BlockId::to_ne_bytes).collect();
            let blocks = (PyBytes::new(py, &bytes), intern!(py, "uint32"));
            arguments.push(from_bytes.call1(blocks)?);
        }
        verb.method.bind(py).call1(PyTuple::new(py, arguments)?)?;
        Ok(())
    }
}
