//! The policies of one drive that are written in Python, as the engine takes them.

use std::collections::HashMap;

use flashgc_experiment::config::Outside;
use pyo3::prelude::*;

use flashgc_ftl::Victim;

use crate::errors::Raised;
use crate::placement::{self, Picks};
use crate::policy::{callable, external};

/// Policies in Python by their kind, `victim` or `placement`: each with the name by which it is reported.
pub(crate) type Written<'py> = HashMap<String, (String, Bound<'py, PyAny>)>;

/// Makes the policies in Python of a drive as the engine takes them. Their exceptions go to `raised`. If one
/// object or one class is both, a drive has one object of it, which knows all that either would.
///
/// # Errors
/// An object that is no such policy.
pub(crate) fn loaded(mut written: Written<'_>, raised: &Raised) -> PyResult<Outside> {
    let (victim, placement) = (written.remove("victim"), written.remove("placement"));
    if let (Some((name, policy)), Some((placement, rule))) = (&victim, &placement)
        && policy.is(rule)
    {
        let placement = Some(placement::external(rule, placement.clone(), Picks::Victims, raised)?);
        return Ok(Outside { victim: Some(Victim::Placement(name.clone())), placement });
    }
    let victim = victim.map(|(name, policy)| {
        callable(&policy)?;
        Ok::<_, PyErr>(Victim::External(name, external(policy.unbind(), raised)))
    });
    let placement = placement
        .map(|(name, rule)| placement::external(&rule, name, Picks::Nothing, raised))
        .transpose()?;
    Ok(Outside { victim: victim.transpose()?, placement })
}
