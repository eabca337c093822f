//! A placement written in Python, as the engine calls it. Every page programmed asks it, so a call makes
//! one object alone, the number of the page: methods, classes and the clock are made once a drive.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_base::spec::SpecError;
use flashgc_base::stream::StreamId;
use flashgc_ftl::placement::{Class, Collected, Now, Placement};
use flashgc_ftl::{ExternalPlacement, FtlError, FtlErrorKind};
use pyo3::prelude::*;
use pyo3::{ffi, intern};

use crate::clock::{Clock, PickedBlock};
use crate::errors::PolicyError;
use crate::policy::{Raised, own, store};
use crate::verbs::{Verb, call};

/// What is known of the placement `rule` before there is a drive; every drive gets a copy of it, or an
/// object of its own if it is a class. `raised` keeps what it raises.
///
/// # Errors
/// What it raises; no classes, or none that takes copies.
pub(crate) fn external(
    rule: &Bound<'_, PyAny>,
    name: String,
    raised: &Raised,
) -> PyResult<ExternalPlacement> {
    let object = own(rule)?;
    let takes_copies = takes_copies(&object)?;
    let asks_for_zombies = match object.getattr_opt(intern!(rule.py(), "asks_for_zombies"))? {
        Some(asks) => asks.is_truthy()?,
        None => false,
    };
    let (rule, raised) = (rule.clone().unbind(), Arc::clone(raised));
    let known = takes_copies.clone();
    let make = move |pages, pages_per_block| {
        let made = Python::attach(|py| {
            let object = own(rule.bind(py))?;
            let rule = Rule::new(&object, &known, asks_for_zombies, &raised)?;
            if let Some(begin) = object.getattr_opt(intern!(py, "begin"))? {
                begin.call1((pages, pages_per_block))?;
            }
            Ok::<_, PyErr>(Box::new(rule) as Box<dyn Placement>)
        });
        made.map_err(|error| {
            let text = error.to_string();
            store(&raised, error);
            SpecError::new(text, "")
        })
    };
    Ok(ExternalPlacement { name, takes_copies, asks_for_zombies, make: Arc::new(make) })
}

/// Of each class of the placement, whether it takes copies.
fn takes_copies(object: &Bound<'_, PyAny>) -> PyResult<Vec<bool>> {
    let py = object.py();
    let most = ExternalPlacement::MOST_CLASSES;
    let wrong = |text: String| Err(PolicyError::new_err(format!("{}{text}", place(object))));
    let mut classes = object.getattr(intern!(py, "classes"))?;
    if classes.is_callable() {
        classes = classes.call0()?;
    }
    let count = match classes.extract::<usize>() {
        Ok(count) if (1..=most).contains(&count) => count,
        _ => {
            let found = shown(&classes);
            return wrong(format!("classes is {found}, expected a whole number from 1 to {most}"));
        }
    };
    let Some(verb) = object.getattr_opt(intern!(py, "takes_copies"))? else {
        return Ok(vec![true; count]);
    };
    let takes: PyResult<Vec<bool>> =
        (0..count).map(|class| verb.call1((class,))?.is_truthy()).collect();
    let takes = takes?;
    match takes.contains(&true) {
        true => Ok(takes),
        false => {
            wrong(format!("takes_copies is false for all {count} classes, expected one for copies"))
        }
    }
}

/// Where `thing`, a method or an object, is defined, with a colon; empty where nobody knows.
pub(crate) fn place(thing: &Bound<'_, PyAny>) -> String {
    let found = || {
        let faults = thing.py().import("flashgc._faults")?;
        faults.call_method1("place", (thing,))?.extract::<String>()
    };
    found().unwrap_or_default()
}

/// A value as one short line.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 60;
    let text = value.repr().map(|text| text.to_string()).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None if line.len() < text.len() => format!("{line}..."),
        None => line.to_string(),
    }
}

/// The placement of one drive.
struct Rule {
    host: Verb,
    copy: Verb,
    holds: Option<Verb>,
    wrote: Option<Verb>,
    trimmed: Option<Verb>,
    copied: Option<Verb>,
    opened: Option<Verb>,
    collected: Option<Verb>,
    takes_copies: Vec<bool>,
    asks_for_zombies: bool,
    /// The numbers 0 to 255: classes and streams.
    numbers: Box<[Py<PyAny>]>,
    clock: Py<Clock>,
    /// The page of the last question on a host write and its answer, until something happens: a question
    /// that is asked twice has one answer.
    asked: Cell<Option<(u32, Class)>>,
    /// What it raised first; from then on it is not called.
    failed: OnceCell<String>,
    raised: Raised,
}

impl Rule {
    fn new(
        object: &Bound<'_, PyAny>,
        takes_copies: &[bool],
        asks_for_zombies: bool,
        raised: &Raised,
    ) -> PyResult<Self> {
        let py = object.py();
        let numbers: PyResult<Box<[Py<PyAny>]>> =
            (0..=u8::MAX).map(|number| Ok(number.into_pyobject(py)?.into_any().unbind())).collect();
        Ok(Self {
            host: Verb::new(object, "host")?,
            copy: Verb::new(object, "copy")?,
            holds: Verb::find(object, "holds")?,
            wrote: Verb::find(object, "wrote")?,
            trimmed: Verb::find(object, "trimmed")?,
            copied: Verb::find(object, "copied")?,
            opened: Verb::find(object, "opened")?,
            collected: Verb::find(object, "collected")?,
            takes_copies: takes_copies.to_vec(),
            asks_for_zombies,
            numbers: numbers?,
            clock: Py::new(py, Clock::default())?,
            asked: Cell::new(None),
            failed: OnceCell::new(),
            raised: Arc::clone(raised),
        })
    }

    #[cold]
    fn fail(&self, error: PyErr) {
        let _ = self.failed.set(error.to_string());
        store(&self.raised, error);
    }

    fn number(&self, number: u8) -> *mut ffi::PyObject {
        self.numbers[usize::from(number)].as_ptr()
    }

    /// A class, or None.
    fn class_or_none(&self, py: Python<'_>, class: Option<Class>) -> *mut ffi::PyObject {
        class.map_or(py.None().as_ptr(), |class| self.number(class))
    }

    /// The clock, set to `now`.
    fn at(&self, now: Now) -> *mut ffi::PyObject {
        self.clock.get().set(now);
        self.clock.as_ptr()
    }

    /// What `verb` answers when it is asked about `page`, and whether that may be.
    #[inline]
    fn class<const N: usize>(
        &self,
        py: Python<'_>,
        verb: &Verb,
        page: u32,
        rest: [*mut ffi::PyObject; N],
        may_be: impl Fn(Class) -> bool,
    ) -> PyResult<Class> {
        let answer = call(py, verb, Some(page), rest)?;
        // SAFETY: the object is alive and the interpreter attached. -1 with an exception is no number,
        // -1 without one is no class.
        let number = unsafe { ffi::PyLong_AsLong(answer.as_ptr()) };
        match usize::try_from(number) {
            Ok(class) if class < self.takes_copies.len() && may_be(class as Class) => {
                Ok(class as Class)
            }
            _ => Err(self.wrong(verb, page, &answer)),
        }
    }

    /// What is said of an answer that is no class.
    #[cold]
    fn wrong(&self, verb: &Verb, page: u32, answer: &Bound<'_, PyAny>) -> PyErr {
        let py = answer.py();
        drop(PyErr::take(py));
        let place = place(verb.method.bind(py));
        let (name, found) = (verb.name, shown(answer));
        let last = self.takes_copies.len() - 1;
        let is_class = answer.extract::<usize>().is_ok_and(|class| class <= last);
        PolicyError::new_err(if is_class {
            format!(
                "{place}{name}(page={page}) returned {found}, expected a class that takes copies; hint: \
                 takes_copies({found}) says that it does not"
            )
        } else {
            format!(
                "{place}{name}(page={page}) returned {found}, expected a class from 0 to {last}"
            )
        })
    }

    /// Tells `verb`, where there is one, what happened.
    #[inline]
    fn tell<const N: usize>(
        &self,
        verb: Option<&Verb>,
        page: Option<u32>,
        rest: impl FnOnce(&Self, Python<'_>) -> [*mut ffi::PyObject; N],
    ) {
        self.asked.set(None);
        let Some(verb) = verb.filter(|_| self.failed.get().is_none()) else { return };
        Python::attach(|py| {
            if let Err(error) = call(py, verb, page, rest(self, py)) {
                self.fail(error);
            }
        });
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

    fn host(&self, page: u32, stream: Option<StreamId>, old: Option<Class>, now: Now) -> Class {
        if let Some((asked, class)) = self.asked.get()
            && asked == page
        {
            return class;
        }
        if self.failed.get().is_some() {
            return 0;
        }
        let class = Python::attach(|py| {
            let rest = [self.class_or_none(py, stream), self.class_or_none(py, old), self.at(now)];
            self.class(py, &self.host, page, rest, |_| true)
        });
        let class = class.unwrap_or_else(|error| {
            self.fail(error);
            0
        });
        self.asked.set(Some((page, class)));
        class
    }

    fn copy(&self, page: u32, from: Class, zombie: bool, now: Now) -> Class {
        let first = || self.takes_copies.iter().position(|&takes| takes).unwrap_or(0) as Class;
        if self.failed.get().is_some() {
            return first();
        }
        let class = Python::attach(|py| {
            // SAFETY: both are objects that live as long as the interpreter.
            let zombie = unsafe { if zombie { ffi::Py_True() } else { ffi::Py_False() } };
            let rest = [self.number(from), zombie, self.at(now)];
            let takes = |class| self.takes_copies[usize::from(class)];
            self.class(py, &self.copy, page, rest, takes)
        });
        class.unwrap_or_else(|error| {
            self.fail(error);
            first()
        })
    }

    fn holds(&mut self, page: u32, class: Class, now: Now) {
        self.tell(self.holds.as_ref(), Some(page), |rule, _| [rule.number(class), rule.at(now)]);
    }

    fn wrote(&mut self, page: u32, from: Option<Class>, to: Class, now: Now) {
        self.tell(self.wrote.as_ref(), Some(page), |rule, py| {
            [rule.class_or_none(py, from), rule.number(to), rule.at(now)]
        });
    }

    fn trimmed(&mut self, page: u32, from: Class, now: Now) {
        self.tell(self.trimmed.as_ref(), Some(page), |rule, _| [rule.number(from), rule.at(now)]);
    }

    fn copied(&mut self, page: u32, from: Class, to: Class, now: Now) {
        self.tell(self.copied.as_ref(), Some(page), |rule, _| {
            [rule.number(from), rule.number(to), rule.at(now)]
        });
    }

    fn opened(&mut self, class: Class, now: Now) {
        self.tell(self.opened.as_ref(), None, |rule, _| [rule.number(class), rule.at(now)]);
    }

    fn collected(&mut self, block: Collected, now: Now) {
        self.asked.set(None);
        if self.collected.is_none() || self.failed.get().is_some() {
            return;
        }
        let block = Python::attach(|py| PickedBlock::new(py, block));
        match block {
            Ok(block) => {
                self.tell(self.collected.as_ref(), None, |rule, _| [block.as_ptr(), rule.at(now)])
            }
            Err(error) => self.fail(error),
        }
    }

    fn check(&self) -> Result<(), FtlError> {
        match self.failed.get() {
            None => Ok(()),
            Some(why) => Err(FtlErrorKind::Placement(why.clone()).into()),
        }
    }
}
