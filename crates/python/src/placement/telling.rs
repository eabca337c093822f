//! Reports events to a placement in Python: each page at once, or many pages later.

use flashgc_ftl::placement::{Now, Place};
use pyo3::ffi;
use pyo3::prelude::*;

use super::rule::Rule;
use super::untold::What;
use super::verbs::{Ends, Verb, call};

impl Rule {
    /// Notes the event `what` of `page` if the placement gets its events later, and reports all
    /// noted events when that is due. Returns `true` if the event is reported later.
    #[inline]
    pub(super) fn waits(
        &mut self,
        what: What,
        page: u32,
        from: Option<Place>,
        to: Option<Place>,
        now: Now,
    ) -> bool {
        if self.untold.is_none() {
            return false;
        }
        self.last.set(None);
        if what != What::Holds {
            self.tell_contents();
        }
        let takes_blocks = self.verb_of(what).map(|verb| !verb.blocks.is_empty());
        let Some(untold) = &mut self.untold else { return false };
        let untold = untold.get_mut();
        if let Some(takes_blocks) = takes_blocks {
            untold.note(what, page, (from, to), takes_blocks, now);
        }
        if what == What::Wrote && untold.is_full(now) {
            self.tell_all();
        }
        true
    }

    fn verb_of(&self, what: What) -> Option<&Verb> {
        match what {
            What::Holds => self.holds.as_ref(),
            What::Wrote => self.wrote.as_ref(),
            What::Trimmed => self.trimmed.as_ref(),
            What::Copied => self.copied.as_ref(),
        }
    }

    /// Reports the first contents of the drive, if that was not done yet.
    #[inline]
    pub(super) fn tell_contents(&self) {
        if self.untold.as_ref().is_some_and(|untold| untold.borrow().begins()) {
            self.tell_all();
        }
    }

    /// Reports all events that wait.
    #[cold]
    fn tell_all(&self) {
        let Some(untold) = &self.untold else { return };
        let runs = untold.borrow_mut().take();
        Python::attach(|py| {
            for run in runs {
                let Some(verb) = self.verb_of(run.what) else { continue };
                if self.failed.get().is_some() {
                    return;
                }
                let clock = self.at(run.now);
                let result = run.tell(py, verb, clock);
                if let Err(error) = result.and_then(|()| self.has_its_arrays(py)) {
                    self.fail(error);
                }
            }
        });
    }

    /// Checks that the arrays that are read are still attributes of the object.
    #[inline]
    pub(super) fn has_its_arrays(&self, py: Python<'_>) -> PyResult<()> {
        for table in [self.host.table(), self.copy.table()].into_iter().flatten() {
            table.is_still(self.object.bind(py))?;
        }
        Ok(())
    }

    /// Reports an event by a call of `verb`, if there is one.
    #[inline]
    pub(super) fn tell<const N: usize>(
        &self,
        verb: Option<&Verb>,
        page: Option<u32>,
        ends: Ends,
        rest: impl FnOnce(&Self, Python<'_>) -> [*mut ffi::PyObject; N],
    ) {
        self.last.set(None);
        let Some(verb) = verb.filter(|_| self.failed.get().is_none()) else { return };
        Python::attach(|py| {
            let result = call(py, verb, page, rest(self, py), ends);
            if let Err(error) = result.and_then(|_| self.has_its_arrays(py)) {
                self.fail(error);
            }
        });
    }
}
