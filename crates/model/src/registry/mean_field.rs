//! d choices with memory, for N to infinity: the mean field.
//!
//! The best of d random blocks and of c that earlier collections left over is taken. For infinitely
//! many blocks the shares m_i of blocks with i valid pages follow differential equations, whose
//! fixed point is found, not integrated: it is unique, and each of its levels is one equation with
//! one unknown. It says all: the distribution of valid pages, of the victim's, of the memory's best.
//!
//! Formula: `kappa i m_i = P(victim < i)`, `kappa = b / (WA b rho)`, `P(victim <= i) = 1 - (1 - q)^d
//! theta(q)` with `q = m_0 + ... + m_i` and theta the chance that all stored blocks have more than
//! i valid pages, a Markov chain on 0..c; theta = 1 for c = 0.
//!
//! # Valid for
//! Uniform writes, with one frontier or two, since all pages are alike.
//!
//! # Source
//! Van Houdt, ValueTools 2013, sections 3.1 and 3.2; Van Houdt, SIGMETRICS 2013, for c = 0.

use super::{Answer, uniform_only};
use crate::ModelError;
use crate::meanfield::{FixedPoint, uniform};
use crate::query::Query;

pub(super) fn answer(query: &Query) -> Result<Answer, ModelError> {
    uniform_only("meanfield", query, "fifo, random and separation")?;
    Ok(uniform::solve(&query.drive()?, &query.d_choices()?)?.into())
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
        }
    }
}
