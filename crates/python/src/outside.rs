//! The policies of one drive that are written in Python, as the engine takes them.

use std::collections::HashMap;

use flashgc_experiment::config::Outside;
use pyo3::prelude::*;

use crate::placement;
use crate::policy::{Raised, callable, external};

/// Policies in Python by their kind, `victim` or `placement`: each with the name by which it is reported.
pub(crate) type Written<'py> = HashMap<String, (String, Bound<'py, PyAny>)>;

/// Makes the policies in Python of a drive as the engine takes them. Their exceptions go to `raised`.
///
/// # Errors
/// An object that is no such policy.
pub(crate) fn loaded(mut written: Written<'_>, raised: &Raised) -> PyResult<Outside> {
    let victim = written.remove("victim").map(|(name, policy)| {
        callable(&policy)?;
        Ok::<_, PyErr>((name, external(policy.unbind(), raised)))
    });
    let placement =
        written.remove("placement").map(|(name, rule)| placement::external(&rule, name, raised));
    Ok(Outside { victim: victim.transpose()?, placement: placement.transpose()? })
}
