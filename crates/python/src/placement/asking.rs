//! Asks a placement in Python for the class of a page, and makes the errors for answers that are no
//! class.

use flashgc_base::stream::StreamId;
use flashgc_ftl::placement::{Class, Now, Place};
use pyo3::ffi;
use pyo3::prelude::*;

use super::rule::Rule;
use super::tables::Table;
use super::verbs::{Ends, Verb, call};
use super::{place, shown};
use crate::errors::PolicyError;

impl Rule {
    pub(super) fn ask_host(
        &self,
        verb: &Verb,
        page: u32,
        stream: Option<StreamId>,
        old: Option<Place>,
        now: Now,
    ) -> Class {
        if let Some((last, class)) = self.last.get()
            && last == page
        {
            return class;
        }
        if self.failed.get().is_some() {
            return 0;
        }
        let class = Python::attach(|py| {
            let class = old.map(|old| old.class);
            let rest =
                [self.class_or_none(py, stream), self.class_or_none(py, class), self.at(now)];
            self.class(py, verb, page, rest, Ends::new(old, None), |_| true)
        });
        let class = class.unwrap_or_else(|error| {
            self.fail(error);
            0
        });
        self.last.set(Some((page, class)));
        class
    }

    pub(super) fn ask_copy(
        &self,
        verb: &Verb,
        page: u32,
        from: Place,
        zombie: bool,
        now: Now,
    ) -> Class {
        let first = || self.takes_copies.iter().position(|&takes| takes).unwrap_or(0) as Class;
        if self.failed.get().is_some() {
            return first();
        }
        let class = Python::attach(|py| {
            // SAFETY: True and False live as long as the interpreter.
            let zombie = unsafe { if zombie { ffi::Py_True() } else { ffi::Py_False() } };
            let rest = [self.number(from.class), zombie, self.at(now)];
            let takes = |class| self.takes_copies[usize::from(class)];
            self.class(py, verb, page, rest, Ends::new(Some(from), None), takes)
        });
        class.unwrap_or_else(|error| {
            self.fail(error);
            first()
        })
    }
    /// Calls `verb` for the class of `page`, and checks the answer with `may_be`.
    #[inline]
    fn class<const N: usize>(
        &self,
        py: Python<'_>,
        verb: &Verb,
        page: u32,
        rest: [*mut ffi::PyObject; N],
        ends: Ends,
        may_be: impl Fn(Class) -> bool,
    ) -> PyResult<Class> {
        let answer = call(py, verb, Some(page), rest, ends)?;
        // SAFETY: the object is alive and the interpreter attached. If -1 comes with an exception,
        // the answer is no number; if -1 comes without one, the answer is no class.
        let number = unsafe { ffi::PyLong_AsLong(answer.as_ptr()) };
        match usize::try_from(number) {
            Ok(class) if class < self.takes_copies.len() && may_be(class as Class) => {
                Ok(class as Class)
            }
            _ => Err(self.wrong(verb, page, &answer)),
        }
    }

    /// Makes the error for an answer that is no class.
    #[cold]
    fn wrong(&self, verb: &Verb, page: u32, answer: &Bound<'_, PyAny>) -> PyErr {
        let py = answer.py();
        drop(PyErr::take(py));
        let place = place(verb.method.bind(py));
        let call = format!("{place}{}(page={page}) returned", verb.name);
        self.no_class(&call, &shown(answer), answer.extract().ok())
    }

    /// Makes the error for `answer`, returned by `call`: it is no class, or a class that is not
    /// allowed.
    fn no_class(&self, call: &str, answer: &str, number: Option<usize>) -> PyErr {
        let last = self.takes_copies.len() - 1;
        PolicyError::new_err(match number {
            Some(class) if class <= last => format!(
                "{call} {answer}, expected a class that takes copies; hint: takes_copies({answer}) \
                 says that it does not"
            ),
            _ => format!("{call} {answer}, expected a class from 0 to {last}"),
        })
    }

    /// Reads the class of `page` from the array, in the column of the page's present class `of`. If
    /// the class read is not allowed, uses the lowest class that is allowed.
    #[inline]
    pub(super) fn read(
        &self,
        table: &Table,
        page: u32,
        of: Option<Class>,
        may_be: impl Fn(Class) -> bool,
    ) -> Class {
        let classes = self.takes_copies.len();
        let class = table.read(page, of.map_or(classes, usize::from));
        if usize::from(class) < classes && may_be(class) {
            return class;
        }
        self.misread(table, page, of, class);
        (0..classes as Class).find(|&class| may_be(class)).unwrap_or(0)
    }

    #[cold]
    fn misread(&self, table: &Table, page: u32, of: Option<Class>, class: Class) {
        Python::attach(|py| {
            let (name, place) = (table.name, place(self.object.bind(py)));
            let column = if name == "host" { "old" } else { "from_" };
            let of = of.map_or("None".to_string(), |of| of.to_string());
            let call = format!("{place}{name}[page={page}, {column}={of}] is");
            self.fail(self.no_class(&call, &class.to_string(), Some(class.into())));
        });
    }
}
