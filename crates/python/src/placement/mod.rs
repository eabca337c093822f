//! Placements written in Python: what the engine must know of each, and how one is made for a
//! drive.

mod asking;
mod rule;
mod tables;
mod telling;
mod untold;
mod verbs;

use std::sync::Arc;

use flashgc_base::spec::SpecError;
use flashgc_ftl::ExternalPlacement;
use flashgc_ftl::placement::{Placement, Remembers};
use pyo3::intern;
use pyo3::prelude::*;

use crate::errors::{PolicyError, Raised};
use crate::policy::{own, picker, store};
use rule::Rule;

/// The kind of picks that a placement makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picks {
    /// It picks nothing: its drives have a victim policy.
    Nothing,
    /// It picks the victims of its drives, too.
    Victims,
}

/// Reads the properties of the placement `rule` that are known before there is a drive. Every drive
/// gets a copy of the object, or a new object if `rule` is a class. Exceptions go to `raised`.
///
/// # Errors
/// An exception of `rule`; no classes, or no class that takes copies.
pub(crate) fn external(
    rule: &Bound<'_, PyAny>,
    name: String,
    picks: Picks,
    raised: &Raised,
) -> PyResult<ExternalPlacement> {
    let object = own(rule)?;
    if picks == Picks::Victims {
        picker(&object)?;
    }
    let sees_blocks =
        picks == Picks::Victims || object.getattr_opt(intern!(rule.py(), "see"))?.is_some();
    let takes_copies = takes_copies(&object)?;
    let asks_for_zombies = match object.getattr_opt(intern!(rule.py(), "asks_for_zombies"))? {
        Some(asks) => asks.is_truthy()?,
        None => false,
    };
    let remembers = match object.getattr_opt(intern!(rule.py(), "remembers"))? {
        None => Remembers::default(),
        Some(times) => match times.extract() {
            Ok(times) => Remembers::rewrites(times),
            Err(_) => {
                let text = format!(
                    "{}remembers is {}, expected the number of writes of a page",
                    place(&object),
                    shown(&times)
                );
                return Err(PolicyError::new_err(text));
            }
        },
    };
    let (rule, raised) = (rule.clone().unbind(), Arc::clone(raised));
    let known = takes_copies.clone();
    let make = move |pages, pages_per_block| {
        let placement = Python::attach(|py| {
            let object = own(rule.bind(py))?;
            if let Some(begin) = object.getattr_opt(intern!(py, "begin"))? {
                begin.call1((pages, pages_per_block))?;
            }
            let rule = Rule::new(&object, pages, &known, asks_for_zombies, picks, &raised)?;
            Ok::<_, PyErr>(Box::new(rule) as Box<dyn Placement>)
        });
        placement.map_err(|error| {
            let text = error.to_string();
            store(&raised, error);
            SpecError::new(text, "")
        })
    };
    let make = Arc::new(make);
    Ok(ExternalPlacement { name, takes_copies, asks_for_zombies, sees_blocks, remembers, make })
}

/// Returns for each class of the placement `true` if it takes copies.
fn takes_copies(object: &Bound<'_, PyAny>) -> PyResult<Vec<bool>> {
    let py = object.py();
    let most = ExternalPlacement::MOST_CLASSES;
    let wrong = |text: String| Err(PolicyError::new_err(format!("{}{text}", place(object))));
    let mut classes = object.getattr(intern!(py, "classes"))?;
    if classes.is_callable() {
        classes = classes.call0()?;
    }
    let count = match classes.extract::<usize>() {
        Ok(count) if (1..=most).contains(&count) => count,
        _ => {
            let text = shown(&classes);
            return wrong(format!("classes is {text}, expected a whole number from 1 to {most}"));
        }
    };
    let Some(verb) = object.getattr_opt(intern!(py, "takes_copies"))? else {
        return Ok(vec![true; count]);
    };
    let takes: PyResult<Vec<bool>> =
        (0..count).map(|class| verb.call1((class,))?.is_truthy()).collect();
    let takes = takes?;
    match takes.contains(&true) {
        true => Ok(takes),
        false => {
            wrong(format!("takes_copies is false for all {count} classes, expected one for copies"))
        }
    }
}

/// Returns the place where `thing`, a method or an object, is defined, with a colon; empty if the
/// place is unknown.
fn place(thing: &Bound<'_, PyAny>) -> String {
    let text = || {
        let faults = thing.py().import("flashgc._faults")?;
        faults.call_method1("place", (thing,))?.extract::<String>()
    };
    text().unwrap_or_default()
}

/// Returns a value as one short line.
fn shown(value: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 60;
    let text = value.repr().map(|text| text.to_string()).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None if line.len() < text.len() => format!("{line}..."),
        None => line.to_string(),
    }
}
