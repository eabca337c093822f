//! d choices with memory, for N to infinity: the mean field.
//!
//! The policy takes the best of d random blocks and of c blocks that earlier collections left over.
//! For infinitely many blocks, the shares m_i of blocks with i valid pages follow differential
//! equations. The model solves for their fixed point and integrates nothing. For uniform writes the
//! fixed point is unique, and each of its levels is one equation with one unknown. With hot and
//! cold data, a block has two kinds of pages.
//!
//! Formula: `kappa i m_i = P(victim < i)`, `kappa = 1 / (WA rho)`, `P(victim <= i) = 1 - (1 - q)^d
//! theta(q)` with `q = m_0 + ... + m_i` and theta the chance that all stored blocks have more than
//! i valid pages, a Markov chain on 0..c; theta = 1 for c = 0.
//!
//! # Valid for
//! Uniform writes, exactly, with one frontier or two, because all pages are alike. Hot and cold
//! data with one frontier, exactly; with two, by two approximations that docs/validation.md
//! compares with simulation.
//!
//! # Source
//! Van Houdt, ValueTools 2013, sections 3.1 and 3.2; Van Houdt, SIGMETRICS 2013, for c = 0. Hot and
//! cold data with c > 0, and with two frontiers, are ours.

use super::{Answer, writes_of};
use crate::meanfield::hot_cold::HotColdPoint;
use crate::meanfield::transient::{self, Initial, Moment};
use crate::meanfield::{FixedPoint, Selection, hot_cold, uniform};
use crate::query::{Query, Workload};
use crate::{HotCold, ModelError};

pub(super) fn answer(query: &Query) -> Result<Answer, ModelError> {
    let (drive, selection) = (query.drive()?, query.d_choices()?);
    if query.workload == Workload::Uniform {
        return Ok(uniform::solve(&drive, &selection)?.into());
    }
    two_classes("meanfield", query, &selection)
}

/// The answer for hot and cold data; other classes of pages are refused.
pub(super) fn two_classes(
    name: &str,
    query: &Query,
    selection: &Selection,
) -> Result<Answer, ModelError> {
    let data = match &query.workload {
        Workload::HotCold => query.hot_cold()?,
        Workload::Classes(classes) if classes.len() == 2 => {
            HotCold::new(classes[0].pages, classes[0].writes)?
        }
        _ => {
            return Err(ModelError::new(
                format!(
                    "{name}: found {}, expected uniform writes or two classes",
                    writes_of(query)
                ),
                "fifo, desnoyers, random and separation take it",
            ));
        }
    };
    Ok(hot_cold::solve(&query.drive()?, selection, query.frontier, &data)?.into())
}

/// Returns the course of a drive from the state `initial` to the steady one: `points` + 1 moments
/// over `drive_writes`.
///
/// # Errors
/// Another workload than uniform writes, and the errors of [`transient::evolve`].
pub fn evolve(
    query: &Query,
    initial: &Initial,
    drive_writes: f64,
    points: u32,
) -> Result<Vec<Moment>, ModelError> {
    if query.workload != Workload::Uniform {
        return Err(ModelError::new(
            format!("transient: found {}, expected uniform writes", writes_of(query)),
            "flashgc run simulates it",
        ));
    }
    transient::evolve(&query.drive()?, &query.d_choices()?, initial, drive_writes, points)
}

impl From<FixedPoint> for Answer {
    fn from(point: FixedPoint) -> Self {
        Self {
            write_amplification: point.write_amplification,
            residual: point.residual,
            valid: Some(point.valid),
            victim: Some(point.victim),
            memory: point.memory,
            pools: None,
            superblocks: None,
        }
    }
}

impl From<HotColdPoint> for Answer {
    fn from(point: HotColdPoint) -> Self {
        Self {
            write_amplification: point.write_amplification,
            residual: point.residual,
            valid: Some(point.valid),
            victim: Some(point.victim),
            memory: None,
            pools: None,
            superblocks: None,
        }
    }
}
