//! Converts the policies from outside of one drive for the engine: those in Python, and those of
//! libraries.

use std::collections::HashMap;

use flashgc_experiment::config::Outside;
use pyo3::prelude::*;

use flashgc_ftl::Victim;

use crate::compiled::CompiledScheme;

use crate::errors::Raised;
use crate::placement::{self, Picks};
use crate::policy::{callable, external};

/// Policies from outside by kind, `victim` or `placement`: each with the name that results report.
pub(crate) type Written<'py> = HashMap<String, (String, Bound<'py, PyAny>)>;

/// Returns `true` if a drive's policies need the interpreter.
pub(crate) fn need_python(written: &Written<'_>) -> bool {
    written.values().any(|(_, policy)| policy.cast::<CompiledScheme>().is_err())
}

/// Loads a drive's policies from outside. Their exceptions go to `raised`. If one object or class is
/// both victim policy and placement, a drive has one copy of it for both.
///
/// # Errors
/// An object that is no victim policy or no placement.
pub(crate) fn loaded(mut written: Written<'_>, raised: &Raised) -> PyResult<Outside> {
    let (victim, placement) = (written.remove("victim"), written.remove("placement"));
    if let (Some((name, policy)), Some((placement, rule))) = (&victim, &placement)
        && let (Ok(policy), Ok(rule)) =
            (policy.cast::<CompiledScheme>(), rule.cast::<CompiledScheme>())
        && policy.is(rule)
    {
        let placement = Some(rule.get().placement(placement.clone(), true)?);
        return Ok(Outside { victim: Some(Victim::Placement(name.clone())), placement });
    }
    if let (Some((name, policy)), Some((placement, rule))) = (&victim, &placement)
        && policy.is(rule)
    {
        let placement = Some(placement::external(rule, placement.clone(), Picks::Victims, raised)?);
        return Ok(Outside { victim: Some(Victim::Placement(name.clone())), placement });
    }
    let victim = victim.map(|(name, policy)| {
        if let Ok(scheme) = policy.cast::<CompiledScheme>() {
            return scheme.get().victim(name);
        }
        callable(&policy)?;
        Ok::<_, PyErr>(Victim::External(name, external(policy.unbind(), raised)))
    });
    let placement = placement
        .map(|(name, rule)| match rule.cast::<CompiledScheme>() {
            Ok(scheme) => scheme.get().placement(name, false),
            Err(_) => placement::external(&rule, name, Picks::Nothing, raised),
        })
        .transpose()?;
    Ok(Outside { victim: victim.transpose()?, placement })
}
