//! The verbs of a placement: methods that the engine calls for every page.

use pyo3::ffi;
use pyo3::prelude::*;

/// A method that is looked up once.
pub(super) struct Verb {
    pub(super) name: &'static str,
    pub(super) method: Py<PyAny>,
}

impl Verb {
    /// The method `name` of `object`.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn new(object: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Self> {
        Ok(Self { name, method: object.getattr(name)?.unbind() })
    }

    /// The method `name` of `object`, if it has one.
    pub(super) fn find(object: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Option<Self>> {
        let method = object.getattr_opt(name)?;
        Ok(method.map(|method| Self { name, method: method.unbind() }))
    }
}

/// Most arguments of a verb.
const MOST: usize = 4;

/// Calls `verb` with the number of `page`, if there is one, and `rest`, which are alive.
///
/// # Errors
/// What it raises.
#[inline]
pub(super) fn call<'py, const N: usize>(
    py: Python<'py>,
    verb: &Verb,
    page: Option<u32>,
    rest: [*mut ffi::PyObject; N],
) -> PyResult<Bound<'py, PyAny>> {
    // The first entry is the method's own: it puts its object there rather than copy the arguments.
    let mut arguments = [std::ptr::null_mut(); MOST + 1];
    let mut count = 0;
    if let Some(page) = page {
        // SAFETY: the interpreter is attached; the result is a new reference, or null with an exception.
        arguments[1] = unsafe { ffi::PyLong_FromUnsignedLongLong(page.into()) };
        if arguments[1].is_null() {
            return Err(PyErr::fetch(py));
        }
        count = 1;
    }
    arguments[1 + count..1 + count + N].copy_from_slice(&rest);
    // SAFETY: all are alive during the call and the interpreter is attached. The result is a new
    // reference, or null with an exception; the number of the page is ours to give back.
    unsafe {
        let answer = vectorcall(verb.method.as_ptr(), &arguments[1..1 + count + N]);
        if page.is_some() {
            ffi::Py_DECREF(arguments[1]);
        }
        Bound::from_owned_ptr_or_err(py, answer)
    }
}

#[cfg(not(windows))]
unsafe extern "C" {
    /// Calls `callable`. In the stable ABI from 3.12 on, and in 3.11 with the same signature.
    fn PyObject_Vectorcall(
        callable: *mut ffi::PyObject,
        arguments: *const *mut ffi::PyObject,
        count: usize,
        names: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
}

/// Calls `callable`. The entry before `arguments` is there and may be changed meanwhile.
///
/// # Safety
/// All are alive, and the interpreter is attached.
#[cfg(not(windows))]
#[inline]
unsafe fn vectorcall(
    callable: *mut ffi::PyObject,
    arguments: &[*mut ffi::PyObject],
) -> *mut ffi::PyObject {
    /// The entry before the first may be used.
    const OFFSET: usize = 1 << (usize::BITS - 1);
    // SAFETY: as the caller promises.
    unsafe {
        let count = arguments.len() | OFFSET;
        PyObject_Vectorcall(callable, arguments.as_ptr(), count, std::ptr::null_mut())
    }
}

/// Calls `callable` through a tuple: the library of the stable ABI has no other call in 3.11.
///
/// # Safety
/// All are alive, and the interpreter is attached.
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
