//! The classes of pages in a numpy array, in place of a method. The drive reads the array at every
//! decision, so a change of the array has its effect at once.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use flashgc_ftl::placement::Class;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use super::{place, shown};
use crate::errors::PolicyError;

/// An array with one class for each page and each current class of its data. One of the two
/// dimensions may be 1: then all pages, or all current classes, share an entry.
pub(super) struct Table {
    pub(super) name: &'static str,
    array: Py<PyAny>,
    /// Keeps the memory of the array in its place.
    _lent: PyBuffer<u8>,
    start: AtomicPtr<c_void>,
    pages: usize,
    columns: usize,
    /// Bytes from a page to the next; 0 if all pages share one row.
    by_page: isize,
    /// Bytes from a column to the next; 0 if there is one column for all.
    by_column: isize,
}

impl Table {
    /// Reads the array `name` of `owner`. The array is for `pages` pages and `columns` columns.
    ///
    /// # Errors
    /// There is no array, or it has another type or shape.
    pub(super) fn new(
        owner: &Bound<'_, PyAny>,
        name: &'static str,
        array: &Bound<'_, PyAny>,
        pages: usize,
        columns: usize,
    ) -> PyResult<Self> {
        let wrong = || {
            PolicyError::new_err(format!(
                "{}{name} is {}, expected a method or a numpy array of uint8 and shape ({pages}, \
                 {columns}), ({pages}, 1) or ({columns},); hint: {name} = numpy.zeros(({pages}, 1), \
                 numpy.uint8)",
                place(owner),
                described(array)
            ))
        };
        let lent = PyBuffer::<u8>::get(array).map_err(|_| wrong())?;
        let (shape, strides) = (lent.shape(), lent.strides());
        let (rows, by_page, wide, by_column) = match (shape, strides) {
            (&[wide], &[by_column]) => (1, 0, wide, by_column),
            (&[rows, wide], &[by_page, by_column]) => (rows, by_page, wide, by_column),
            _ => return Err(wrong()),
        };
        if !(rows == 1 || rows == pages) || !(wide == 1 || wide == columns) {
            return Err(wrong());
        }
        Ok(Self {
            name,
            array: array.clone().unbind(),
            start: AtomicPtr::new(lent.buf_ptr()),
            pages,
            columns,
            by_page: if rows == 1 { 0 } else { by_page },
            by_column: if wide == 1 { 0 } else { by_column },
            _lent: lent,
        })
    }

    /// Returns the class of `page` in `column`.
    #[inline]
    pub(super) fn read(&self, page: u32, column: usize) -> Class {
        let page = page as usize;
        assert!(page < self.pages && column < self.columns);
        let offset = page as isize * self.by_page + column as isize * self.by_column;
        let start = self.start.load(Ordering::Relaxed).cast::<u8>();
        // SAFETY: the entry is inside the array: its shape and strides were checked, and the array
        // can neither move nor shrink while its buffer is lent. Other Python threads may write to
        // it.
        unsafe { AtomicU8::from_ptr(start.offset(offset)).load(Ordering::Relaxed) }
    }

    /// Checks that the attribute of `owner` is still the array that is read.
    ///
    /// # Errors
    /// The attribute is another object.
    pub(super) fn is_still(&self, owner: &Bound<'_, PyAny>) -> PyResult<()> {
        let array = owner.getattr(self.name)?;
        if array.is(&self.array) {
            return Ok(());
        }
        let name = self.name;
        Err(PolicyError::new_err(format!(
            "{}{name} is another array than the drive reads; hint: change it in place: \
             self.{name}[:] = ...",
            place(owner)
        )))
    }
}

/// Describes an array by its type and shape, and another object as one short line.
fn described(array: &Bound<'_, PyAny>) -> String {
    let known = |name| array.getattr(name).ok();
    match (known("dtype"), known("shape")) {
        (Some(dtype), Some(shape)) => format!("an array of {dtype} and shape {shape}"),
        _ => shown(array),
    }
}
