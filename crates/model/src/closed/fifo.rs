//! First in, first out, for N to infinity.
//!
//! Blocks are cleaned in the order in which they were filled. A page of class k (share f_k of the
//! pages, r_k of the writes) is written r_k alpha / (f_k WA) times, on average, while its block
//! grows old. At the end it is still valid with the probability exp(-r_k alpha / (f_k WA)),
//! independent of all other pages. So the model is exact for any number of pages per block. Uniform
//! writes are one class, hot and cold data two, Zipf many.
//!
//! Formula: `WA = sum r_k / (1 - exp(-r_k alpha / (f_k WA)))`, `alpha = 1 / (1 - S_f)`; for uniform
//! writes `WA = alpha / (alpha + W0(-alpha e^-alpha))` with Lambert's W.
//!
//! # Valid for
//! Any workload of independent writes, one write frontier or two, because pages of both frontiers
//! reach the same age. The distribution of valid pages is computed only for uniform writes.
//!
//! # Source
//! Desnoyers, SYSTOR 2012, equation 14; Robinson, Operating Systems Review 1996; Menon, HPDC 1995.
//! Solved for v = alpha / WA, which the convex `sum f_k psi(r_k v / f_k) = alpha - 1` determines,
//! psi(z) = z / (1 - e^-z) - 1: without Lambert's W, whose branch point costs half of the digits.

use super::age::{psi, psi_slope};
use super::classes::{Class, Classes};
use super::levels;
use crate::{Drive, ModelError};

/// The answer of a closed form.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// Page programs for each host write.
    pub write_amplification: f64,
    /// The relative residual of the model's equation.
    pub residual: f64,
    /// Share of blocks with i valid pages just before a collection, i = 0..b; `None` if the model
    /// does not give it.
    pub valid: Option<Vec<f64>>,
    /// Chance that the block taken has i valid pages, i = 0..b; `None` if the model does not give
    /// it.
    pub victim: Option<Vec<f64>>,
}

/// First-in, first-out cleaning of `drive` under writes to `classes`.
///
/// # Errors
/// None are known.
pub fn solve(drive: &Drive, classes: &Classes) -> Result<Closed, ModelError> {
    let excess = drive.spare() / drive.rho();
    let v = turnovers(classes, excess)?;
    let write_amplification = over(excess, v);
    let b = drive.pages_per_block();
    let victim = levels::binomial(b, 1.0 - 1.0 / write_amplification);
    Ok(Closed {
        write_amplification,
        residual: residual(classes, excess, v),
        valid: classes
            .is_uniform()
            .then(|| levels::from_victims(drive, write_amplification, &victim)),
        victim: Some(victim),
    })
}

/// The write amplification alone.
///
/// # Errors
/// None are known.
pub fn write_amplification(spare: f64, classes: &Classes) -> Result<f64, ModelError> {
    at_excess(classes, spare / (1.0 - spare))
}

/// The write amplification at alpha = 1 + `excess`.
pub(crate) fn at_excess(classes: &[Class], excess: f64) -> Result<f64, ModelError> {
    Ok(over(excess, turnovers(classes, excess)?))
}

/// WA = alpha / v, but at least 1: rounding may make it less if the whole victim is invalid.
fn over(excess: f64, v: f64) -> f64 {
    ((1.0 + excess) / v).max(1.0)
}

/// v = alpha / WA: how often the mean page is written while a block grows old.
pub(crate) fn turnovers(classes: &[Class], excess: f64) -> Result<f64, ModelError> {
    // The root is at most this, because psi(z) is at least z / 2 and at least z - 1. The sum is
    // convex, so Newton's steps from there fall and cannot pass the root.
    let mut v = (2.0 * excess).min(1.0 + excess);
    for _ in 0..MOST_STEPS {
        let (mut sum, mut slope) = (-excess, 0.0);
        for class in classes {
            let rate = class.rate();
            let value = psi(rate * v);
            sum += class.pages * value;
            slope += class.writes * psi_slope(rate * v, value);
        }
        let step = sum / slope;
        v -= step;
        // The loop also ends if rounding has changed the sign of the step.
        if step.is_nan() || step <= 4.0 * f64::EPSILON * v {
            return Ok(v);
        }
    }
    Err(ModelError::new(
        format!("fifo: no answer for alpha - 1 = {excess} in {MOST_STEPS} steps"),
        "this should not happen; please report the parameters",
    ))
}

/// The most steps of Newton's method. Far from the root, a step at least halves the distance.
const MOST_STEPS: u32 = 2000;

/// Returns the residual of the equation for v, relative to alpha - 1.
pub(crate) fn residual(classes: &[Class], excess: f64, v: f64) -> f64 {
    let sum: f64 = classes.iter().map(|class| class.pages * psi(class.rate() * v)).sum();
    (sum / excess - 1.0).abs()
}
