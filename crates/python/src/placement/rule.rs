//! A placement written in Python, as the engine calls it. The engine asks the placement at every
//! page programmed. To be fast, a call makes only one Python object, the number of the page. The
//! methods, the classes and the clock are made once a drive. If the placement has an array in place
//! of a method, there is no call.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_base::stream::StreamId;
use flashgc_ftl::placement::{Class, Collected, Now, PicksVictims, Place, Placement, SeesBlocks};
use flashgc_ftl::{BlockId, BlockTable, FtlError, FtlErrorKind};
use pyo3::ffi;
use pyo3::prelude::*;

use super::tables::Table;
use super::untold::{Untold, What};
use super::verbs::{Ends, Verb};
use super::{Picks, place};
use crate::clock::{Clock, PickedBlock};
use crate::errors::{PolicyError, Raised};
use crate::policy::{Call, picker, store};

/// The source of a page's class: a method, or an array.
pub(super) enum Question {
    Verb(Verb),
    Table(Table),
}

impl Question {
    /// Finds the method or the array `name` of `object`. An array must have `columns` columns.
    ///
    /// # Errors
    /// The object has neither.
    pub(super) fn new(
        object: &Bound<'_, PyAny>,
        name: &'static str,
        pages: u32,
        columns: usize,
    ) -> PyResult<Self> {
        match object.getattr_opt(name)? {
            Some(method) if method.is_callable() => Verb::new(object, name).map(Self::Verb),
            Some(array) => {
                Table::new(object, name, &array, pages as usize, columns).map(Self::Table)
            }
            None => Err(PolicyError::new_err(format!(
                "{}it has no {name} after begin; hint: write a method {name}, or make an array in begin",
                place(object)
            ))),
        }
    }

    pub(super) fn table(&self) -> Option<&Table> {
        match self {
            Self::Verb(_) => None,
            Self::Table(table) => Some(table),
        }
    }
}

/// The placement of one drive.
pub(super) struct Rule {
    pub(super) object: Py<PyAny>,
    pub(super) host: Question,
    pub(super) copy: Question,
    pub(super) holds: Option<Verb>,
    pub(super) wrote: Option<Verb>,
    pub(super) trimmed: Option<Verb>,
    pub(super) copied: Option<Verb>,
    pub(super) opened: Option<Verb>,
    pub(super) collected: Option<Verb>,
    /// The method `see`, which gets the blocks of each plane at the beginning.
    see: Option<Py<PyAny>>,
    picks: Picks,
    /// The blocks of each plane, and the call of its picks; empty if the placement uses no blocks.
    planes: Vec<Call>,
    /// The events that wait to be reported, many pages at once; `None` if every page is reported at
    /// once.
    pub(super) untold: Option<RefCell<Untold>>,
    pub(super) takes_copies: Vec<bool>,
    pub(super) asks_for_zombies: bool,
    /// The Python integers 0 to 255, for classes and streams.
    pub(super) numbers: Box<[Py<PyAny>]>,
    pub(super) clock: Py<Clock>,
    /// The page of the last question on a host write, and the answer. Both are forgotten at the
    /// next event. Until then a second question gets the same answer.
    pub(super) last: Cell<Option<(u32, Class)>>,
    /// The text of the first exception that the placement raised. From then on it is not called.
    pub(super) failed: OnceCell<String>,
    pub(super) raised: Raised,
}

impl Rule {
    pub(super) fn new(
        object: &Bound<'_, PyAny>,
        pages: u32,
        takes_copies: &[bool],
        asks_for_zombies: bool,
        picks: Picks,
        raised: &Raised,
    ) -> PyResult<Self> {
        let py = object.py();
        let classes = takes_copies.len();
        let host = Question::new(object, "host", pages, classes + 1)?;
        let copy = Question::new(object, "copy", pages, classes)?;
        if asks_for_zombies && copy.table().is_some() {
            return Err(PolicyError::new_err(format!(
                "{}asks_for_zombies is true, but copy is an array, which knows none; hint: write a \
                 method copy(page, from_, zombie, now)",
                place(object)
            )));
        }
        let numbers: PyResult<Box<[Py<PyAny>]>> =
            (0..=u8::MAX).map(|number| Ok(number.into_pyobject(py)?.into_any().unbind())).collect();
        Ok(Self {
            object: object.clone().unbind(),
            host,
            copy,
            holds: Verb::find(object, "holds")?,
            wrote: Verb::find(object, "wrote")?,
            trimmed: Verb::find(object, "trimmed")?,
            copied: Verb::find(object, "copied")?,
            opened: Verb::find(object, "opened")?,
            collected: Verb::find(object, "collected")?,
            see: object.getattr_opt("see")?.map(Bound::unbind),
            picks,
            planes: Vec::new(),
            untold: Untold::find(object)?.map(RefCell::new),
            takes_copies: takes_copies.to_vec(),
            asks_for_zombies,
            numbers: numbers?,
            clock: Py::new(py, Clock::default())?,
            last: Cell::new(None),
            failed: OnceCell::new(),
            raised: Arc::clone(raised),
        })
    }

    #[cold]
    pub(super) fn fail(&self, error: PyErr) {
        let _ = self.failed.set(error.to_string());
        store(&self.raised, error);
    }

    pub(super) fn number(&self, number: u8) -> *mut ffi::PyObject {
        self.numbers[usize::from(number)].as_ptr()
    }

    /// The Python object for a class, or None.
    pub(super) fn class_or_none(&self, py: Python<'_>, class: Option<Class>) -> *mut ffi::PyObject {
        class.map_or(py.None().as_ptr(), |class| self.number(class))
    }

    /// Sets the clock to `now` and returns it.
    pub(super) fn at(&self, now: Now) -> *mut ffi::PyObject {
        self.clock.get().set(now);
        self.clock.as_ptr()
    }
}

impl State for Rule {
    fn save(&self, to: &mut Writer<'_>) {
        to.refuse(Fault::new(
            "a placement written in Python keeps what it knows to itself, and cannot be saved",
        ));
    }

    fn restore(&mut self, _: &mut Reader<'_>) -> Result<(), Fault> {
        Err(Fault::new("a placement written in Python cannot be restored"))
    }
}

impl Placement for Rule {
    fn classes(&self) -> usize {
        self.takes_copies.len()
    }

    fn takes_copies(&self, class: Class) -> bool {
        self.takes_copies[usize::from(class)]
    }

    fn asks_for_zombies(&self) -> bool {
        self.asks_for_zombies
    }

    #[inline]
    fn host(&self, page: u32, stream: Option<StreamId>, old: Option<Place>, now: Now) -> Class {
        self.tell_contents();
        match &self.host {
            Question::Table(table) => self.read(table, page, old.map(|old| old.class), |_| true),
            Question::Verb(verb) => self.ask_host(verb, page, stream, old, now),
        }
    }

    #[inline]
    fn copy(&self, page: u32, from: Place, zombie: bool, now: Now) -> Class {
        self.tell_contents();
        let takes = |class| self.takes_copies[usize::from(class)];
        match &self.copy {
            Question::Table(table) => self.read(table, page, Some(from.class), takes),
            Question::Verb(verb) => self.ask_copy(verb, page, from, zombie, now),
        }
    }

    fn holds(&mut self, page: u32, place: Place, now: Now) {
        if self.waits(What::Holds, page, None, Some(place), now) {
            return;
        }
        self.tell(self.holds.as_ref(), Some(page), Ends::new(None, Some(place)), |rule, _| {
            [rule.number(place.class), rule.at(now)]
        });
    }

    #[inline]
    fn wrote(&mut self, page: u32, from: Option<Place>, to: Place, now: Now) {
        if self.waits(What::Wrote, page, from, Some(to), now) {
            return;
        }
        self.tell(self.wrote.as_ref(), Some(page), Ends::new(from, Some(to)), |rule, py| {
            let from = from.map(|from| from.class);
            [rule.class_or_none(py, from), rule.number(to.class), rule.at(now)]
        });
    }

    fn trimmed(&mut self, page: u32, from: Place, now: Now) {
        if self.waits(What::Trimmed, page, Some(from), None, now) {
            return;
        }
        self.tell(self.trimmed.as_ref(), Some(page), Ends::new(Some(from), None), |rule, _| {
            [rule.number(from.class), rule.at(now)]
        });
    }

    fn copied(&mut self, page: u32, from: Place, to: Place, now: Now) {
        if self.waits(What::Copied, page, Some(from), Some(to), now) {
            return;
        }
        self.tell(self.copied.as_ref(), Some(page), Ends::new(Some(from), Some(to)), |rule, _| {
            [rule.number(from.class), rule.number(to.class), rule.at(now)]
        });
    }

    fn opened(&mut self, place: Place, now: Now) {
        self.tell(self.opened.as_ref(), None, Ends::new(None, Some(place)), |rule, _| {
            [rule.number(place.class), rule.at(now)]
        });
    }

    fn collected(&mut self, block: Collected, now: Now) {
        self.last.set(None);
        self.tell_contents();
        if self.collected.is_none() || self.failed.get().is_some() {
            return;
        }
        let block = Python::attach(|py| PickedBlock::new(py, block));
        match block {
            Ok(block) => {
                let ends = Ends::default();
                self.tell(self.collected.as_ref(), None, ends, |rule, _| {
                    [block.as_ptr(), rule.at(now)]
                });
            }
            Err(error) => self.fail(error),
        }
    }

    fn blocks(&mut self) -> Option<&mut dyn SeesBlocks> {
        (self.see.is_some() || self.picks == Picks::Victims).then_some(self)
    }

    fn victims(&mut self) -> Option<&mut dyn PicksVictims> {
        (self.picks == Picks::Victims).then_some(self)
    }

    fn check(&self) -> Result<(), FtlError> {
        match self.failed.get() {
            None => Ok(()),
            Some(why) => Err(FtlErrorKind::Placement(why.clone()).into()),
        }
    }
}

impl SeesBlocks for Rule {
    fn begin(&mut self, blocks: &mut BlockTable) -> Result<(), FtlError> {
        let begun = Python::attach(|py| {
            let object = self.object.bind(py);
            let policy = match self.picks {
                Picks::Victims => picker(object)?,
                Picks::Nothing => object.clone(),
            };
            let call = Call::new(py, policy, blocks)?;
            if let Some(see) = &self.see {
                see.call1(py, (&call.blocks,))?;
            }
            self.planes.push(call);
            self.has_its_arrays(py)
        });
        begun.map_err(|error| {
            self.fail(error);
            let why = self.failed.get().cloned().unwrap_or_default();
            FtlErrorKind::Placement(why).into()
        })
    }

    fn look(&mut self, blocks: &BlockTable) {
        self.plane(blocks).blocks.get().refresh(blocks);
    }
}

impl Rule {
    /// Returns the call of the plane with this table.
    fn plane(&self, blocks: &BlockTable) -> &Call {
        &self.planes[(blocks.first() / blocks.len()) as usize]
    }
}

impl PicksVictims for Rule {
    fn pick(&mut self, blocks: &BlockTable, rng: &mut Stream) -> Option<BlockId> {
        self.tell_contents();
        self.last.set(None);
        if self.failed.get().is_some() {
            return None;
        }
        Python::attach(|py| {
            let picked = self.plane(blocks).picked(py, blocks, rng, &self.raised);
            if let Err(error) = self.has_its_arrays(py) {
                self.fail(error);
            }
            picked
        })
    }
}
