//! A victim policy written in Python, as the engine calls it. A collection comes every one to four
//! microseconds, so the call allocates nothing: the argument tuple is made once a drive.

use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};

use flashgc_base::Residency;
use flashgc_base::rng::Stream;
use flashgc_base::spec::SpecError;
use flashgc_drive::config::ExternalPolicy;
use flashgc_ftl::{
    BlockId, BlockTable, Costs, Counters, Duplicates, External, FtlError, Geometry, Layout,
    Levelled, Merges, PageMap, Scheme, Translation, Wear,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use pyo3::{ffi, intern};

use crate::blocks::{Blocks, Owner};
use crate::errors::PolicyError;

/// What a policy raised: the engine only learns that no block may be collected, the caller gets
/// the exception itself.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// The policy of one drive: a function and its one argument. Taken away when the run is over.
struct Call {
    policy: Py<PyAny>,
    arguments: Py<PyTuple>,
    blocks: Py<Blocks>,
}

/// What is said of a policy that returned None though there was something to collect.
const NO_ANSWER: &str = "the victim policy returned None, though there are candidates; \
                         hint: return the number of one";

/// Whether collecting some candidate would free a page.
fn reclaimable(table: &BlockTable) -> bool {
    let full = table.pages_per_block();
    table.masked_counts().iter().any(|&count| u32::from(count) < full)
}

type Slot = Arc<Mutex<Option<Call>>>;

/// Makes layers whose victims `policy` picks. A policy is a function, or an object with `pick`, of
/// which every drive gets a copy, or a class of such objects: runs share no state.
pub(crate) fn external(policy: Py<PyAny>, raised: &Raised) -> ExternalPolicy {
    let raised = Arc::clone(raised);
    Arc::new(move |layout| {
        Python::attach(|py| layer(py, layout, policy.bind(py), &raised)).map_err(|error| {
            let text = error.to_string();
            store(&raised, error);
            FtlError::NoSpace(text)
        })?
    })
}

/// What to call on one drive: `policy` itself or its `pick`, with a state of its own.
pub(crate) fn callable<'py>(policy: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let object = if policy.is_instance_of::<pyo3::types::PyType>() {
        policy.call0()?
    } else {
        let copy = intern!(policy.py(), "copy");
        policy.py().import(copy)?.call_method1(intern!(policy.py(), "deepcopy"), (policy,))?
    };
    if let Ok(pick) = object.getattr("pick")
        && pick.is_callable()
    {
        return Ok(pick);
    }
    if object.is_callable() {
        return Ok(object);
    }
    Err(PyTypeError::new_err(format!(
        "{} is not a victim policy; hint: give a function pick(blocks) -> int, or an object with \
         such a method",
        object.repr()?
    )))
}

/// What `policy` picks from `table`.
pub(crate) fn pick_once(
    py: Python<'_>,
    policy: &Bound<'_, PyAny>,
    table: BlockTable,
    rng: &mut Stream,
) -> PyResult<Option<BlockId>> {
    let policy = callable(policy)?.unbind();
    let (table, owner) = (Box::new(table), Owner::default());
    let blocks = Py::new(py, Blocks::new(py, &table, &owner)?)?;
    let arguments = PyTuple::new(py, [blocks.clone_ref(py)])?.unbind();
    let picked = Call { policy, arguments, blocks }.pick(py, &table, rng);
    // A policy may have kept its views; the last of them frees the table.
    *lock(&owner) = Some(table);
    picked
}

fn layer(
    py: Python<'_>,
    layout: Layout,
    policy: &Bound<'_, PyAny>,
    raised: &Raised,
) -> PyResult<Result<Box<dyn Translation>, FtlError>> {
    let policy = callable(policy)?.unbind();
    let slot: Slot = Arc::default();
    let call = Arc::clone(&slot);
    let raised = Arc::clone(raised);
    let pick = Box::new(move |table: &BlockTable, rng: &mut Stream| {
        Python::attach(|py| match &*lock(&call) {
            Some(call) => match call.pick(py, table, rng) {
                Ok(None) if reclaimable(table) => {
                    store(&raised, PolicyError::new_err(NO_ANSWER));
                    None
                }
                Ok(picked) => picked,
                Err(error) => {
                    store(&raised, error);
                    None
                }
            },
            None => None,
        })
    });
    let made = PageMap::with_policy(layout, |_, _| Ok(External::from_pick(pick)));
    let layer: Box<dyn Translation> = match made {
        Ok(layer) => Box::new(layer),
        Err(error) => return Ok(Err(error)),
    };
    let owner = Owner::default();
    let blocks = Py::new(py, Blocks::new(py, layer.blocks(), &owner)?)?;
    let arguments = PyTuple::new(py, [blocks.clone_ref(py)])?.unbind();
    *lock(&slot) = Some(Call { policy, arguments, blocks });
    Ok(Ok(Box::new(Lent { layer: ManuallyDrop::new(layer), owner, slot })))
}

impl Call {
    #[inline]
    fn pick(
        &self,
        py: Python<'_>,
        table: &BlockTable,
        rng: &mut Stream,
    ) -> PyResult<Option<BlockId>> {
        let blocks = self.blocks.get();
        blocks.open(table, rng);
        // SAFETY: both objects are alive, the tuple is one, and the interpreter is attached. The
        // result is a new reference, or null with an exception set. Called directly because the
        // stable ABI of 3.11 has no vectorcall, and a tuple a call costs more than the call.
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
                    "which is no block of this drive".to_string()
                } else {
                    format!("a {}, expected a block number", picked.get_type().name()?)
                },
                table.len() - 1
            ))),
        }
    }
}

/// A layer whose block table Python can see. When the run is over the layer goes to the views, and
/// is freed with the last of them.
struct Lent {
    layer: ManuallyDrop<Box<dyn Translation>>,
    owner: Owner,
    slot: Slot,
}

impl Drop for Lent {
    fn drop(&mut self) {
        Python::attach(|_| {
            // First the call: it holds the blocks, they hold the views, and those will hold the
            // layer, which holds the call.
            let call = lock(&self.slot).take();
            // SAFETY: the only place that takes it, and nothing uses it after this.
            let layer = unsafe { ManuallyDrop::take(&mut self.layer) };
            *lock(&self.owner) = Some(Box::new(layer));
            drop(call);
        });
    }
}

impl Translation for Lent {
    fn write_until(&mut self, pages: &[u32], collections: u64) -> Result<usize, FtlError> {
        self.layer.write_until(pages, collections)
    }

    fn trim(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.layer.trim(pages)
    }

    fn share_memory(
        &mut self,
        scheme: Scheme,
        costs: Costs,
        memory: &mut dyn Residency,
    ) -> Result<(), SpecError> {
        self.layer.share_memory(scheme, costs, memory)
    }

    fn swap_out(&mut self, page: u32, memory: &mut dyn Residency) -> Result<(), FtlError> {
        self.layer.swap_out(page, memory)
    }

    fn follow_copies(&mut self) {
        self.layer.follow_copies();
    }

    fn drain_copies(&mut self, pages: &mut Vec<u32>) {
        self.layer.drain_copies(pages);
    }

    fn merges(&self) -> Option<Merges> {
        self.layer.merges()
    }

    fn duplicates(&self) -> Duplicates {
        self.layer.duplicates()
    }

    fn wear(&self) -> Option<&Wear> {
        self.layer.wear()
    }

    fn levelled(&self) -> Option<Levelled> {
        self.layer.levelled()
    }

    fn geometry(&self) -> &Geometry {
        self.layer.geometry()
    }

    fn blocks(&self) -> &BlockTable {
        self.layer.blocks()
    }

    fn counters(&self) -> Counters {
        self.layer.counters()
    }

    fn decisions(&self) -> u64 {
        self.layer.decisions()
    }

    fn locate(&self, page: u32) -> Option<(BlockId, u32)> {
        self.layer.locate(page)
    }

    fn audit(&self) -> Result<(), String> {
        self.layer.audit()
    }

    fn audit_beside(&mut self, memory: &mut dyn Residency) -> Result<(), String> {
        self.layer.audit_beside(memory)
    }

    fn map_bytes(&self) -> u64 {
        self.layer.map_bytes()
    }

    fn memory_bytes(&self) -> u64 {
        self.layer.memory_bytes()
    }
}

fn store(raised: &Raised, error: PyErr) {
    lock(raised).get_or_insert(error);
}

/// A lock whose holder panicked still holds a whole value here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
