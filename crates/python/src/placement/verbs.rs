//! The methods of a placement that the engine calls for every page.

use flashgc_ftl::BlockId;
use flashgc_ftl::placement::Place;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{ffi, intern};

/// The source or the target of a page's move. Some methods take its block, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The block that the page is on, or was on before.
    From,
    /// The block that the page is on from now on, or the block that is opened.
    To,
}

/// The blocks of an event, as far as the event has any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    from: Option<BlockId>,
    to: Option<BlockId>,
}

impl Ends {
    pub(super) fn new(from: Option<Place>, to: Option<Place>) -> Self {
        let block = |place: Option<Place>| place.map(|place| place.block);
        Self { from: block(from), to: block(to) }
    }

    pub(super) fn block(self, end: End) -> Option<BlockId> {
        match end {
            End::From => self.from,
            End::To => self.to,
        }
    }
}

/// A method of a placement, looked up once.
pub(super) struct Verb {
    pub(super) name: &'static str,
    pub(super) method: Py<PyAny>,
    /// The block numbers that the method takes after its other arguments, in its order.
    pub(super) blocks: Box<[End]>,
}

impl Verb {
    /// Looks up the method `name` of `object`.
    ///
    /// # Errors
    /// The object has no such method.
    pub(super) fn new(object: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Self> {
        Self::of(object.getattr(name)?, name)
    }

    fn of(method: Bound<'_, PyAny>, name: &'static str) -> PyResult<Self> {
        let py = method.py();
        let faults = py.import(intern!(py, "flashgc._faults"))?;
        let taken = faults.call_method1(intern!(py, "blocks_taken"), (&method, name))?;
        let ends: PyResult<Box<[End]>> = taken
            .extract::<Vec<String>>()?
            .into_iter()
            .map(|taken| match taken.as_str() {
                "old_block" | "from_block" => Ok(End::From),
                "block" | "to_block" => Ok(End::To),
                _ => Err(PyValueError::new_err(taken)),
            })
            .collect();
        Ok(Self { name, method: method.unbind(), blocks: ends? })
    }

    /// Looks up the method `name` of `object`, if the object has it.
    pub(super) fn find(object: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Option<Self>> {
        object.getattr_opt(name)?.map(|method| Self::of(method, name)).transpose()
    }
}

/// The most arguments of a method.
const MOST: usize = 6;

/// Calls `verb`. Its arguments are the number of `page`, if there is one; the objects `rest`, which
/// the caller keeps alive; and the numbers of those blocks of `ends` that the method takes.
///
/// # Errors
/// The exception that the method raises.
#[inline]
pub(super) fn call<'py, const N: usize>(
    py: Python<'py>,
    verb: &Verb,
    page: Option<u32>,
    rest: [*mut ffi::PyObject; N],
    ends: Ends,
) -> PyResult<Bound<'py, PyAny>> {
    // The first entry is for the callee: a bound method puts its object there and need not copy the
    // arguments.
    let mut arguments = [std::ptr::null_mut(); MOST + 1];
    let mut count = 0;
    if let Some(page) = page {
        // SAFETY: the interpreter is attached; the result is a new reference, or null with an
        // exception.
        arguments[1] = unsafe { ffi::PyLong_FromUnsignedLongLong(page.into()) };
        if arguments[1].is_null() {
            return Err(PyErr::fetch(py));
        }
        count = 1;
    }
    arguments[1 + count..1 + count + N].copy_from_slice(&rest);
    count += N;
    let mut blocks = [const { None }; 2];
    for (block, &end) in blocks.iter_mut().zip(&verb.blocks) {
        let number = ends.block(end).into_pyobject(py)?;
        arguments[1 + count] = block.insert(number).as_ptr();
        count += 1;
    }
    // SAFETY: all are alive during the call and the interpreter is attached. The result is a new
    // reference, or null with an exception. This function owns the number of the page and releases
    // it.
    unsafe {
        let answer = vectorcall(verb.method.as_ptr(), &arguments[1..1 + count]);
        if page.is_some() {
            ffi::Py_DECREF(arguments[1]);
        }
        Bound::from_owned_ptr_or_err(py, answer)
    }
}

#[cfg(not(windows))]
unsafe extern "C" {
    /// Calls `callable`. The stable ABI has this function from 3.12 on; 3.11 has it with the same
    /// signature.
    fn PyObject_Vectorcall(
        callable: *mut ffi::PyObject,
        arguments: *const *mut ffi::PyObject,
        count: usize,
        names: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
}

/// Calls `callable`. The entry before `arguments` exists, and the callee may change it during the
/// call.
///
/// # Safety
/// All objects are alive, and the interpreter is attached.
#[cfg(not(windows))]
#[inline]
unsafe fn vectorcall(
    callable: *mut ffi::PyObject,
    arguments: &[*mut ffi::PyObject],
) -> *mut ffi::PyObject {
    /// Says that the callee may use the entry before the first argument.
    const OFFSET: usize = 1 << (usize::BITS - 1);
    // SAFETY: as the caller promises.
    unsafe {
        let count = arguments.len() | OFFSET;
        PyObject_Vectorcall(callable, arguments.as_ptr(), count, std::ptr::null_mut())
    }
}

/// Calls `callable` with a tuple: in 3.11 the library of the stable ABI has no faster call.
///
/// # Safety
/// All objects are alive, and the interpreter is attached.
#[cfg(windows)]
unsafe fn vectorcall(
    callable: *mut ffi::PyObject,
    arguments: &[*mut ffi::PyObject],
) -> *mut ffi::PyObject {
    // SAFETY: as the caller promises; a tuple takes over a reference to each of its entries.
    unsafe {
        let tuple = ffi::PyTuple_New(arguments.len() as ffi::Py_ssize_t);
        if tuple.is_null() {
            return tuple;
        }
        for (index, &argument) in (0..).zip(arguments) {
            ffi::Py_INCREF(argument);
            ffi::PyTuple_SetItem(tuple, index, argument);
        }
        let answer = ffi::PyObject_Call(callable, tuple, std::ptr::null_mut());
        ffi::Py_DECREF(tuple);
        answer
    }
}
