//! The block table as Python policies see it: read-only views of the engine's own memory, and
//! random draws from the engine's own random stream. This module decides nothing.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use flashgc_base::rng::Stream;
use flashgc_ftl::BlockTable;
use flashgc_ftl::blocks::Keeper;
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMemoryView};
use pyo3::{ffi, intern};

/// A column of a block table that Python may read. This object keeps the columns alive when the
/// plane is dropped. So a policy can still read a view that it kept; the view then shows the last
/// state.
#[pyclass(frozen, module = "flashgc._core")]
pub(crate) struct LentMemory {
    start: AtomicPtr<c_void>,
    bytes: isize,
    /// Keeps the columns alive. All views of the table share it; it is dropped with the last view.
    _columns: Keeper,
}

#[pymethods]
impl LentMemory {
    /// Gives the interpreter the bytes of the column, for reading only.
    ///
    /// # Safety
    /// Called by the interpreter with a view to fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let memory = slf.get();
        let start = memory.start.load(Ordering::Relaxed);
        // SAFETY: `view` comes from the interpreter. The memory outlives the view: the table never
        // moves its columns while it lives. When the table is dropped, this object owns the
        // columns, and the view keeps a reference to this object.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, memory.bytes, 1, flags) };
        if filled == 0 {
            Ok(())
        } else {
            Err(PyErr::take(slf.py()).unwrap_or_else(|| PyBufferError::new_err("no buffer")))
        }
    }
}

/// The blocks of a drive, as a victim policy sees them.
///
/// Views are read-only and always current; they cost nothing to read and are never copied.
#[pyclass(frozen, module = "flashgc", name = "Blocks")]
pub(crate) struct Blocks {
    /// numpy uint32, one entry a block: valid pages, and the pages that a smaller superblock has lost.
    /// 2^30 is added if the block is open or erased and so cannot be picked: its value is then larger than
    /// that of any other block, and larger than `pages_per_block`.
    #[pyo3(get)]
    valid: Py<PyAny>,
    /// The memory of `valid` as a memoryview: faster than `valid` for one block at a time.
    #[pyo3(get)]
    counts: Py<PyAny>,
    /// Function of a block number: `valid[block]` as a plain integer.
    #[pyo3(get)]
    count: Py<PyAny>,
    /// numpy uint32, one entry a block: times it has been erased.
    #[pyo3(get)]
    erases: Py<PyAny>,
    /// numpy uint8, one entry a block: the class for which it was opened last; 255 without a
    /// placement.
    #[pyo3(get)]
    classes: Py<PyAny>,
    /// numpy uint64, one entry a block: `clock` when it was closed last, that is, when it became
    /// one that may be picked.
    #[pyo3(get)]
    closed_at: Py<PyAny>,
    /// numpy uint64, one entry a block: `host_clock` when it was closed last.
    #[pyo3(get)]
    closed_at_host: Py<PyAny>,
    /// numpy uint32, one entry a block: valid pages whose new version waits in the host's cache.
    /// None where the drive keeps no zombies.
    #[pyo3(get)]
    zombies: Option<Py<PyAny>>,
    /// Pages a block.
    #[pyo3(get)]
    pages_per_block: u32,
    /// The number in the drive of the first of these blocks: 0 in the first plane, and larger in others.
    #[pyo3(get)]
    first: u32,
    len: u32,
    candidates: AtomicU32,
    clock: AtomicU64,
    host_clock: AtomicU64,
    /// The table during a pick; null otherwise.
    table: AtomicPtr<BlockTable>,
    rng: AtomicPtr<Stream>,
}

impl Blocks {
    /// Makes the views of `table`. The table lends its columns to `keeper` first.
    pub(crate) fn new(py: Python<'_>, table: &BlockTable, keeper: &Keeper) -> PyResult<Self> {
        let valid = lend(py, table.masked_counts(), keeper)?;
        let erases = lend(py, table.erase_counts(), keeper)?;
        let classes = lend(py, table.classes(), keeper)?;
        let closed_at = lend(py, table.closed_at(), keeper)?;
        let closed_at_host = lend(py, table.closed_at_host(), keeper)?;
        let zombies = match table.zombie_counts() {
            [] => None,
            counts => Some(lend(py, counts, keeper)?),
        };
        let numpy = py.import(intern!(py, "numpy"))?;
        let array = |memory: &Bound<'_, LentMemory>, dtype: &str| -> PyResult<Py<PyAny>> {
            Ok(numpy.call_method1(intern!(py, "frombuffer"), (memory, dtype))?.unbind())
        };
        let bytes = PyMemoryView::from(valid.as_any())?;
        Ok(Self {
            counts: bytes.call_method1(intern!(py, "cast"), ("I",))?.unbind(),
            valid: array(&valid, "uint32")?,
            count: count_function(&valid)?,
            erases: array(&erases, "uint32")?,
            classes: array(&classes, "uint8")?,
            closed_at: array(&closed_at, "uint64")?,
            closed_at_host: array(&closed_at_host, "uint64")?,
            zombies: zombies.map(|zombies| array(&zombies, "uint32")).transpose()?,
            pages_per_block: table.pages_per_block(),
            first: table.first(),
            len: table.len(),
            candidates: AtomicU32::new(table.candidates()),
            clock: AtomicU64::new(table.clock()),
            host_clock: AtomicU64::new(table.host_clock()),
            table: AtomicPtr::new(ptr::null_mut()),
            rng: AtomicPtr::new(ptr::null_mut()),
        })
    }

    /// Updates the numbers that are not in a column. Called before each pick.
    pub(crate) fn refresh(&self, table: &BlockTable) {
        self.candidates.store(table.candidates(), Ordering::Relaxed);
        self.clock.store(table.clock(), Ordering::Relaxed);
        self.host_clock.store(table.host_clock(), Ordering::Relaxed);
    }

    /// Allows draws from `table` with `rng`, for the time of one pick.
    pub(crate) fn open(&self, table: &BlockTable, rng: &mut Stream) {
        self.refresh(table);
        self.table.store(ptr::from_ref(table).cast_mut(), Ordering::Relaxed);
        self.rng.store(rng, Ordering::Relaxed);
    }

    /// Ends the pick: draws are errors from now on.
    pub(crate) fn close(&self) {
        self.table.store(ptr::null_mut(), Ordering::Relaxed);
        self.rng.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

/// The most blocks of one draw. More draws than a drive has blocks tell nothing new, and the list
/// must fit in memory.
const MOST_DRAWS: usize = 1_000_000;

#[pymethods]
impl Blocks {
    /// Blocks that may be picked, as of the last pick.
    #[getter]
    fn candidates(&self) -> u32 {
        self.candidates.load(Ordering::Relaxed)
    }

    /// Pages programmed so far, host writes and copies, as of the last pick.
    #[getter]
    fn clock(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    /// Pages that the host has written so far, as of the last pick.
    #[getter]
    fn host_clock(&self) -> u64 {
        self.host_clock.load(Ordering::Relaxed)
    }

    /// The number of blocks.
    fn __len__(&self) -> usize {
        self.len as usize
    }

    fn __repr__(&self) -> String {
        format!(
            "<Blocks: {} blocks of {} pages, {} candidates>",
            self.len,
            self.pages_per_block,
            self.candidates()
        )
    }

    /// `count` candidates drawn at random, with replacement, from the drive's own random stream.
    fn draw<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        let table = self.table.load(Ordering::Relaxed);
        let rng = self.rng.load(Ordering::Relaxed);
        if table.is_null() {
            return Err(PyRuntimeError::new_err("blocks.draw works only inside a pick"));
        }
        // SAFETY: both are set only during a pick, from references that live as long as the pick.
        // The interpreter's lock is held, so no other draw uses the stream.
        let (table, rng) = unsafe { (&*table, &mut *rng) };
        if table.candidates() == 0 {
            return Err(PyValueError::new_err("there is no candidate to draw"));
        }
        if count > MOST_DRAWS {
            return Err(PyValueError::new_err(format!(
                "blocks.draw({count}): expected at most {MOST_DRAWS} draws"
            )));
        }
        // There is a candidate, so no draw returns `None`.
        let drawn = (0..count).map(|_| flashgc_ftl::victim::draw(table, rng).unwrap_or_default());
        PyList::new(py, drawn)
    }
}

/// Makes the function `blocks.count`. It is not a method made by PyO3: a policy that takes the
/// `min` of ten blocks calls it ten times a collection, and parsing the arguments alone would take
/// longer than the rest of the policy.
fn count_function(counts: &Bound<'_, LentMemory>) -> PyResult<Py<PyAny>> {
    static METHOD: Method = Method(ffi::PyMethodDef {
        ml_name: c"count".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: count },
        ml_flags: ffi::METH_O,
        ml_doc: c"count($self, block, /)\n--\n\n`valid[block]` as a plain integer.".as_ptr(),
    });
    // SAFETY: the definition is static, and the function keeps a reference to `counts`, which is
    // the `self` that it is called with. The result is a new reference, or null with an exception.
    unsafe {
        let definition = ptr::from_ref(&METHOD.0).cast_mut();
        let function = ffi::PyCFunction_NewEx(definition, counts.as_ptr(), ptr::null_mut());
        Ok(Bound::from_owned_ptr_or_err(counts.py(), function)?.unbind())
    }
}

/// A method definition that any thread may read.
struct Method(ffi::PyMethodDef);

// SAFETY: its pointers are to static texts and a function; nobody writes through them.
unsafe impl Sync for Method {}

/// # Safety
/// Called by the interpreter, as `count_function` has arranged: `counts` is a [`LentMemory`].
unsafe extern "C" fn count(
    counts: *mut ffi::PyObject,
    block: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter is attached and both objects are alive during the call. The entry is
    // inside the memory lent, which lives as long as `counts`, and the engine does not write while
    // Python runs.
    unsafe {
        let memory = Borrowed::from_ptr(Python::assume_attached(), counts);
        let memory = memory.cast_unchecked::<LentMemory>().get();
        let index = ffi::PyLong_AsSize_t(block);
        if index < memory.bytes as usize / size_of::<u32>() {
            let start = memory.start.load(Ordering::Relaxed).cast::<u32>();
            return ffi::PyLong_FromLong((*start.add(index)).into());
        }
        if ffi::PyErr_Occurred().is_null() {
            ffi::PyErr_SetString(ffi::PyExc_IndexError, c"no such block".as_ptr());
        }
        ptr::null_mut()
    }
}

/// Makes an object through which Python reads the memory of `values`.
fn lend<'py, T>(
    py: Python<'py>,
    values: &[T],
    keeper: &Keeper,
) -> PyResult<Bound<'py, LentMemory>> {
    let memory = LentMemory {
        start: AtomicPtr::new(values.as_ptr().cast_mut().cast()),
        bytes: size_of_val(values) as isize,
        _columns: Arc::clone(keeper),
    };
    Bound::new(py, memory)
}
