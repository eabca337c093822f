//! The best static separation: one pool a class of pages, and the spare space divided among them.
//!
//! Every class has its own blocks, cleaned by themselves, and a share of the spare space of its own:
//! class k has alpha_k physical pages a logical one. The shares are those that write least. It is
//! the optimum of static separation with that cleaner: a strong reference, not a lower bound. A
//! policy may do better, since it may move spare space about; the only bound is WA >= 1.
//!
//! Formula: `WA = min sum r_k A(alpha_k)` over `sum f_k alpha_k = alpha`, `alpha_k >= 1`: all
//! `r_k A'(alpha_k) / f_k` are equal where alpha_k > 1. A is `fifo`, `greedy` or `desnoyers` for
//! uniform writes.
//!
//! # Valid for
//! Any workload of independent writes whose classes are known in advance and do not change.
//!
//! # Source
//! Desnoyers, SYSTOR 2012, equations 20 to 22, for two classes. For greedy, A is straight between
//! the levels of `greedy`, and the optimum exact.

use super::age::{log_gain, psi};
use super::classes::{Class, Classes};
use super::greedy::Greedy;
use super::{desnoyers, fifo};
use crate::{Drive, ModelError, root};

/// The cleaner of each pool, A(alpha) for uniform writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cleaner {
    /// First in, first out.
    Fifo,
    /// The fewest valid pages.
    #[default]
    Greedy,
    /// Desnoyers' approximation of greedy.
    Desnoyers,
}

/// One class's pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    /// The class of pages in it.
    pub class: Class,
    /// Its spare factor, 1 - 1 / alpha_k.
    pub spare: f64,
    /// Its write amplification.
    pub write_amplification: f64,
}

/// The optimum.
#[derive(Clone, Debug)]
pub struct Separation {
    /// Page programs a host write, of all classes together.
    pub write_amplification: f64,
    /// What is left of sum f_k alpha_k = alpha, relative to alpha - 1.
    pub residual: f64,
    /// The pools, in the order of the classes.
    pub pools: Vec<Pool>,
}

/// The best division of the spare space of `drive` among `classes`.
///
/// # Errors
/// None are known.
pub fn solve(drive: &Drive, classes: &Classes, cleaner: Cleaner) -> Result<Separation, ModelError> {
    let pool = Curve::new(drive.pages_per_block(), cleaner);
    let total = drive.spare() / drive.rho();
    let spent = |log_price: f64| -> Result<f64, ModelError> {
        classes.iter().map(|class| Ok(class.pages * pool.excess_at(class, log_price)?)).sum()
    };
    // The price of spare space: what a unit of alpha must gain. At a low one much is bought.
    let (mut low, mut high) = (LOWEST_PRICE, HIGHEST_PRICE);
    while high - low > 1e-14 * low.abs().max(high.abs()).max(1.0) {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if spent(middle)? >= total { low = middle } else { high = middle }
    }
    let (most, least) = (spent(low)?, spent(high)?);
    // At the price itself a class may be indifferent, on a straight part of its curve: what is left
    // goes there. Spare space that gains nothing any more goes to all alike.
    let part = if most > least { ((total - least) / (most - least)).min(1.0) } else { 0.0 };
    let idle = (total - most).max(0.0);
    let mut pools = Vec::with_capacity(classes.len());
    for class in classes.iter() {
        let (most, least) = (pool.excess_at(class, low)?, pool.excess_at(class, high)?);
        let excess = least + part * (most - least) + idle;
        pools.push(Pool {
            class: *class,
            spare: excess / (1.0 + excess),
            write_amplification: pool.write_amplification(excess)?,
        });
    }
    let spent: f64 = pools.iter().map(|p| p.class.pages * p.spare / (1.0 - p.spare)).sum();
    let written = |p: &Pool| {
        // A class that is never written needs no spare space, and is never cleaned.
        if p.class.writes == 0.0 { 0.0 } else { p.class.writes * p.write_amplification }
    };
    Ok(Separation {
        write_amplification: pools.iter().map(written).sum(),
        residual: (spent / total - 1.0).abs(),
        pools,
    })
}

/// Logarithms of gains between which all that matter lie: of S_f from 1e-300 to where WA is 1.
const LOWEST_PRICE: f64 = -700.0;
const HIGHEST_PRICE: f64 = 700.0;

/// A(alpha) and its slope.
struct Curve {
    cleaner: Cleaner,
    b: u32,
    greedy: Greedy,
}

impl Curve {
    fn new(b: u32, cleaner: Cleaner) -> Self {
        Self { cleaner, b, greedy: Greedy::new(b) }
    }

    fn write_amplification(&self, excess: f64) -> Result<f64, ModelError> {
        let uniform = [Class { pages: 1.0, writes: 1.0 }];
        match self.cleaner {
            Cleaner::Fifo if excess == 0.0 => Ok(f64::INFINITY),
            Cleaner::Fifo => fifo::at_excess(&uniform, excess),
            Cleaner::Desnoyers => desnoyers::at_excess(self.b, &uniform, excess),
            Cleaner::Greedy => Ok(self.greedy.write_amplification(excess / (1.0 + excess))),
        }
    }

    /// The largest alpha_k - 1 at which more spare space still gains the price.
    fn excess_at(&self, class: &Class, log_price: f64) -> Result<f64, ModelError> {
        if class.writes == 0.0 {
            return Ok(0.0);
        }
        let log_gain = log_price - class.rate().ln();
        match self.cleaner {
            Cleaner::Greedy => Ok(self.greedy.excess_at(log_gain)),
            Cleaner::Fifo => fifo_excess_at(log_gain),
            // The slope of FIFO(k alpha) / k at alpha is FIFO's at k alpha.
            Cleaner::Desnoyers => {
                let (k, more) = desnoyers::stretched(self.b, 0.0);
                Ok(((fifo_excess_at(log_gain)? - more) / k).max(0.0))
            }
        }
    }
}

/// The alpha - 1 at which first-in, first-out cleaning gains exp(`log_gain_`) a unit of alpha.
fn fifo_excess_at(gain: f64) -> Result<f64, ModelError> {
    // For small v the gain is 2 / v^2, for large v about exp(-v).
    let high = (1.0 - gain).max(0.0) + 2.0;
    let low = (-gain / 2.0).exp().min(0.5);
    let v = root::find("spare space of a pool", low, high, |v| log_gain(v) - gain)?;
    Ok(psi(v))
}
