//! The best static separation: one pool per class of pages, and the best split of the spare space.
//!
//! Every class has its own blocks, which are cleaned separately, and its own share of the spare
//! space: class k has alpha_k physical pages per logical page. The model finds the shares that
//! write least. The result is the optimum of static separation with that cleaner: a strong
//! reference, not a lower bound. A policy may do better, because it may move spare space between
//! classes. The only bound is WA >= 1.
//!
//! Formula: `WA = min sum r_k A(alpha_k)` over `sum f_k alpha_k = alpha`, `alpha_k >= 1`: all `r_k
//! A'(alpha_k) / f_k` are equal for all k with alpha_k > 1. A is `fifo`, `greedy` or `desnoyers`
//! for uniform writes. (With `desnoyers`, a pool with much spare space gets a little below 1,
//! because its formula does.)
//!
//! # Valid for
//! Any workload of independent writes whose classes are known in advance and do not change.
//!
//! # Source
//! Desnoyers, SYSTOR 2012, equations 20 to 22, for two classes. For greedy, A is straight between
//! the levels of `greedy`, and the optimum exact.

use super::age::{log_gain, psi, psi_slope};
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
    /// The spare factor of the pool, 1 - 1 / alpha_k.
    pub spare: f64,
    /// The write amplification of the pool.
    pub write_amplification: f64,
}

/// The best division of the spare space among pools, one for each class.
#[derive(Clone, Debug)]
pub struct Separation {
    /// Page programs for each host write, over all classes.
    pub write_amplification: f64,
    /// The residual of sum f_k alpha_k = alpha, relative to alpha - 1.
    pub residual: f64,
    /// The pools, in the order of the classes.
    pub pools: Vec<Pool>,
}

/// The best division of the spare space of `drive` among `classes`.
///
/// # Errors
/// None are known.
pub fn solve(drive: &Drive, classes: &Classes, cleaner: Cleaner) -> Result<Separation, ModelError> {
    Pools::new(drive.pages_per_block(), classes, cleaner).divide(drive.spare())
}

/// The pools of some classes, for any spare factor.
#[derive(Debug)]
pub struct Pools {
    b: u32,
    cleaner: Cleaner,
    greedy: Greedy,
    /// The classes, each with the logarithm of its rate.
    classes: Vec<(Class, f64)>,
}

impl Pools {
    /// Pools of blocks of `b` pages, one for each of `classes`.
    pub fn new(b: u32, classes: &Classes, cleaner: Cleaner) -> Self {
        let classes = classes.iter().map(|class| (*class, class.rate().ln())).collect();
        Self { b, cleaner, greedy: Greedy::new(b), classes }
    }

    /// The best division of the spare factor `spare`.
    ///
    /// # Errors
    /// None are known.
    pub fn divide(&self, spare: f64) -> Result<Separation, ModelError> {
        let total = spare / (1.0 - spare);
        let mut excesses = match self.cleaner {
            Cleaner::Greedy => self.divide_in_steps(total),
            Cleaner::Fifo | Cleaner::Desnoyers => self.divide_smoothly(total)?,
        };
        // Spare space that does not lower write amplification any further is shared equally.
        let idle = (total - self.sum(&excesses)).max(0.0);
        let mut pools = Vec::with_capacity(excesses.len());
        let mut written = 0.0;
        for (excess, (class, _)) in excesses.iter_mut().zip(&self.classes) {
            if idle > ROUNDING * total {
                *excess += idle;
            }
            let write_amplification = self.write_amplification(*excess)?;
            // A class that is never written needs no spare space, and is never cleaned.
            written += if class.writes == 0.0 { 0.0 } else { class.writes * write_amplification };
            let spare = *excess / (1.0 + *excess);
            pools.push(Pool { class: *class, spare, write_amplification });
        }
        let residual = (self.sum(&excesses) / total - 1.0).abs();
        Ok(Separation { write_amplification: written.max(1.0), residual, pools })
    }

    /// The spare space of all classes together, as alpha - 1. `excesses` has alpha_k - 1 of each
    /// class.
    fn sum(&self, excesses: &[f64]) -> f64 {
        self.classes.iter().zip(excesses).map(|((class, _), excess)| class.pages * excess).sum()
    }

    /// Divides the spare space for greedy, whose gain falls in steps. A price is the gain that a
    /// unit of alpha must bring. At a given price, each class takes all whole steps that gain at
    /// least this much. A bisection begins with a price at which too much is taken and one at which
    /// too little is taken. It ends when one step is left, of which a part is taken.
    fn divide_in_steps(&self, total: f64) -> Vec<f64> {
        let taken = |log_price: f64| -> Vec<usize> {
            let level = |(class, log_rate): &(Class, f64)| {
                if class.writes == 0.0 {
                    return self.b as usize;
                }
                self.greedy.level_at(log_price - log_rate)
            };
            self.classes.iter().map(level).collect()
        };
        let excesses = |levels: &[usize]| -> Vec<f64> {
            levels.iter().map(|&level| self.greedy.excess_from(level)).collect()
        };
        let (mut low, mut high) = self.prices(self.greedy.log_gain(total));
        let (mut much, mut little) = (taken(low), taken(high));
        if self.sum(&excesses(&much)) < total {
            low = LOWEST_PRICE;
            much = taken(low);
        }
        let steps = |much: &[usize], little: &[usize]| -> usize {
            much.iter().zip(little).map(|(much, little)| little - much).sum()
        };
        while steps(&much, &little) > 1 && high - low > f64::EPSILON * high.abs().max(low.abs()) {
            let middle = f64::midpoint(low, high);
            let levels = taken(middle);
            if self.sum(&excesses(&levels)) >= total {
                (low, much) = (middle, levels);
            } else {
                (high, little) = (middle, levels);
            }
        }
        let (much, mut little) = (excesses(&much), excesses(&little));
        let (most, least) = (self.sum(&much), self.sum(&little));
        let part = if most > least { ((total - least) / (most - least)).min(1.0) } else { 0.0 };
        for (little, much) in little.iter_mut().zip(&much) {
            *little += part * (much - *little);
        }
        little
    }

    /// Divides the spare space for a cleaner whose gain falls smoothly, by the price at which all
    /// of it is taken.
    fn divide_smoothly(&self, total: f64) -> Result<Vec<f64>, ModelError> {
        let (k, more) = match self.cleaner {
            // The slope of FIFO(k alpha) / k at alpha is FIFO's at k alpha.
            Cleaner::Desnoyers => desnoyers::stretched(self.b, 0.0),
            _ => (1.0, 0.0),
        };
        let excess = |(class, log_rate): &(Class, f64), log_price: f64| {
            if class.writes == 0.0 {
                return 0.0;
            }
            ((psi(turnovers_at(log_price - log_rate)) - more) / k).max(0.0)
        };
        let left = |log_price: f64| {
            let taken = self.classes.iter().map(|class| class.0.pages * excess(class, log_price));
            taken.sum::<f64>() / total - 1.0
        };
        let uniform = [Class { pages: 1.0, writes: 1.0 }];
        let (mut low, high) = self.prices(log_gain(fifo::turnovers(&uniform, more + k * total)?));
        if left(low) < 0.0 {
            low = LOWEST_PRICE;
        }
        let price = if left(low) < 0.0 {
            low
        } else {
            root::find("price of spare space", low, high, left)?
        };
        Ok(self.classes.iter().map(|class| excess(class, price)).collect())
    }

    /// Logarithms of two prices. If all classes are written, the right price lies between them. The
    /// two prices are the gains of a little more spare space in the class that gains least and in
    /// the class that gains most, if the spare space is divided equally. Under uniform writes this
    /// gain is exp(`equal`).
    fn prices(&self, equal: f64) -> (f64, f64) {
        let rates = || self.classes.iter().filter(|(class, _)| class.writes > 0.0).map(|c| c.1);
        let least = equal + rates().fold(f64::INFINITY, f64::min);
        let most = equal + rates().fold(f64::NEG_INFINITY, f64::max);
        let slack = |price: f64| 1e-9 * price.abs().max(1.0);
        ((least - slack(least)).max(LOWEST_PRICE), (most + slack(most)).max(LOWEST_PRICE + 1.0))
    }

    /// A(alpha), the write amplification of one pool, at alpha = 1 + `excess`.
    fn write_amplification(&self, excess: f64) -> Result<f64, ModelError> {
        let uniform = [Class { pages: 1.0, writes: 1.0 }];
        match self.cleaner {
            Cleaner::Fifo if excess == 0.0 => Ok(f64::INFINITY),
            Cleaner::Fifo => fifo::at_excess(&uniform, excess),
            Cleaner::Desnoyers => desnoyers::at_excess(self.b, &uniform, excess),
            Cleaner::Greedy => Ok(self.greedy.write_amplification(excess / (1.0 + excess))),
        }
    }
}

/// The number that stands for the logarithm of a gain of 0.
const LOWEST_PRICE: f64 = -700.0;
/// The share of all spare space that rounding alone may leave over.
const ROUNDING: f64 = 1e-12;

/// The v at which first-in, first-out cleaning gains exp(`gain`) for each unit of alpha.
fn turnovers_at(gain: f64) -> f64 {
    // The gain is at most 2 / v^2, and for large v about exp(-v); over ln v it falls ever faster,
    // so that Newton's steps from above fall and cannot pass the root.
    let mut v =
        ((1.0 - gain).max(0.0) + 2.0).min((std::f64::consts::LN_2 / 2.0 - gain / 2.0).exp());
    for _ in 0..100 {
        let psi_v = psi(v);
        let slope = -psi_v - 1.0 - v * (1.0 - psi_slope(v, psi_v)) / (v - psi_v);
        let step = (log_gain(v) - gain) / slope;
        v *= (-step).exp();
        if step.is_nan() || step <= 4.0 * f64::EPSILON {
            break;
        }
    }
    v
}
