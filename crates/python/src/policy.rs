//! A victim policy written in Python, as the engine calls it. A collection happens every one to
//! four microseconds, so the call allocates nothing: the argument tuple is made once a drive.

use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::sync::lock;
use flashgc_ftl::{BlockId, BlockTable, ExternalPick, FtlError, MakePick};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use pyo3::{ffi, intern};

use crate::blocks::Blocks;
use crate::errors::{PolicyError, Raised};

/// The policy of one plane: a function and its one argument. It is dropped when the run ends.
pub(crate) struct Call {
    policy: Py<PyAny>,
    arguments: Py<PyTuple>,
    pub(crate) blocks: Py<Blocks>,
}

/// The error for a policy that returned None though there was something to collect.
const NO_ANSWER: &str = "the victim policy returned None, though there are candidates; hint: \
                         return the number of a candidate";

/// Returns `true` if collecting some candidate would free a page.
fn reclaimable(table: &BlockTable) -> bool {
    let full = table.pages_per_block();
    table.masked_counts().iter().any(|&count| count < full)
}

/// Makes the function that picks the victims of a plane with `policy`. A policy is a function, an
/// object with `pick`, or a class of such objects. Every plane gets a copy or a new object, so that
/// runs share no state.
pub(crate) fn external(policy: Py<PyAny>, raised: &Raised) -> MakePick {
    let raised = Arc::clone(raised);
    Arc::new(move |blocks| {
        Python::attach(|py| pick(py, blocks, policy.bind(py), &raised)).map_err(|error| {
            let text = error.to_string();
            store(&raised, error);
            FtlError::no_space(text)
        })
    })
}

/// Returns `policy` with its own state: a copy, or a new object of a class.
pub(crate) fn own<'py>(policy: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if policy.is_instance_of::<pyo3::types::PyType>() {
        return policy.call0();
    }
    let copy = intern!(policy.py(), "copy");
    policy.py().import(copy)?.call_method1(intern!(policy.py(), "deepcopy"), (policy,))
}

/// Returns the function to call on one drive: `policy` itself or its `pick`, with its own state.
pub(crate) fn callable<'py>(policy: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    picker(&own(policy)?)
}

/// Returns the function to call: `object` itself or its `pick`.
pub(crate) fn picker<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(pick) = object.getattr("pick")
        && pick.is_callable()
    {
        return Ok(pick);
    }
    if object.is_callable() {
        return Ok(object.clone());
    }
    Err(PolicyError::new_err(format!(
        "{} is not a victim policy; hint: give a function pick(blocks) -> int, or an object with a \
         method pick",
        object.repr()?
    )))
}

/// Returns the block that `policy` picks from `table`.
pub(crate) fn pick_once(
    py: Python<'_>,
    policy: &Bound<'_, PyAny>,
    table: BlockTable,
    rng: &mut Stream,
) -> PyResult<Option<BlockId>> {
    let mut table = table;
    Call::new(py, callable(policy)?, &mut table)?.pick(py, &table, rng)
}

/// Makes the function that the engine calls for the plane with this block table. Views that the
/// policy keeps stay readable when the plane is dropped.
fn pick(
    py: Python<'_>,
    table: &mut BlockTable,
    policy: &Bound<'_, PyAny>,
    raised: &Raised,
) -> PyResult<ExternalPick> {
    let call = Call::new(py, callable(policy)?, table)?;
    let raised = Arc::clone(raised);
    Ok(Box::new(move |table, rng| Python::attach(|py| call.picked(py, table, rng, &raised))))
}

impl Call {
    /// Makes the call of `policy` for this table. Views that the policy keeps hold the table's
    /// columns when the table is dropped.
    pub(crate) fn new(
        py: Python<'_>,
        policy: Bound<'_, PyAny>,
        table: &mut BlockTable,
    ) -> PyResult<Self> {
        let keeper = table.lend();
        let blocks = Py::new(py, Blocks::new(py, table, &keeper)?)?;
        let arguments = PyTuple::new(py, [blocks.clone_ref(py)])?.unbind();
        Ok(Self { policy: policy.unbind(), arguments, blocks })
    }

    /// Returns the block that the policy picks. `None` if the policy fails; `raised` then has the
    /// exception.
    #[inline]
    pub(crate) fn picked(
        &self,
        py: Python<'_>,
        table: &BlockTable,
        rng: &mut Stream,
        raised: &Raised,
    ) -> Option<BlockId> {
        match self.pick(py, table, rng) {
            Ok(None) if reclaimable(table) => {
                store(raised, PolicyError::new_err(NO_ANSWER));
                None
            }
            Ok(picked) => picked,
            Err(error) => {
                store(raised, error);
                None
            }
        }
    }

    #[inline]
    fn pick(
        &self,
        py: Python<'_>,
        table: &BlockTable,
        rng: &mut Stream,
    ) -> PyResult<Option<BlockId>> {
        let blocks = self.blocks.get();
        blocks.open(table, rng);
        // SAFETY: both objects are alive, the second is a tuple, and the interpreter is attached.
        // The result is a new reference, or null with an exception set. `PyObject_Call` is used
        // because the stable ABI of 3.11 has no vectorcall, and a new tuple a call takes longer
        // than the call itself.
        let picked = unsafe {
            let picked = ffi::PyObject_Call(
                self.policy.as_ptr(),
                self.arguments.as_ptr(),
                std::ptr::null_mut(),
            );
            Bound::from_owned_ptr_or_err(py, picked)
        };
        blocks.close();
        let picked = picked?;
        match picked.extract::<BlockId>() {
            Ok(block) => Ok(Some(block)),
            Err(_) if picked.is_none() => Ok(None),
            Err(_) => Err(PolicyError::new_err(format!(
                "the victim policy returned {}, {}; hint: return the number of a candidate, 0 to {}",
                picked.repr()?,
                if picked.is_instance_of::<PyInt>() {
                    "which is not a block of this drive".to_string()
                } else {
                    format!("a {}, expected a block number", picked.get_type().name()?)
                },
                table.len() - 1
            ))),
        }
    }
}

pub(crate) fn store(raised: &Raised, error: PyErr) {
    lock(raised).get_or_insert(error);
}
