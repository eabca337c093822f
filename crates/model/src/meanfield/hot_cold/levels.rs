//! Blocks with h hot pages among i valid ones, from full to empty.
//!
//! A block starts full and loses its pages one by one, hot ones faster, until a collection takes
//! it: at level i with hazard sigma_i, whatever its pages are. Hence, with births beta on level b,
//!
//! ```text
//! inflow(i, h) = m(i, h) (kappa_h h + kappa_c (i - h) + sigma_i)
//! inflow(i - 1, h) = m(i, h + 1) kappa_h (h + 1) + m(i, h) kappa_c (i - h)
//! ```
//!
//! and sigma_i is such that as much leaves level i downwards as is taken below it: H(q_(i-1)), with
//! q_(i-1) = q_i - sum over h of m(i, h). The left side falls and the right side rises with
//! sigma_i, so exactly one sigma_i fits. A bracketed root finds it; each level follows from the one
//! above it.

use crate::meanfield::selection::{Selection, Taken, Ties};
use crate::{ModelError, root};

/// The index of (i, h) among all pairs with h <= i.
pub(super) fn at(i: usize, h: usize) -> usize {
    i * (i + 1) / 2 + h
}

/// A level counts as never reached if less than this share of the collections takes a block at or
/// below the level.
const NEGLIGIBLE: f64 = 1e-18;

/// The way in which collections take blocks from a level.
#[derive(Clone, Copy, Debug)]
enum Leave {
    /// Blocks are taken with this hazard, in the time of one collection for each block.
    Hazard(f64),
    /// This share of the blocks is taken at once, the rest never.
    AtOnce(f64),
}

/// The blocks of a drive by valid and hot pages.
#[derive(Debug)]
pub(super) struct Levels {
    pub(super) b: usize,
    taken: Option<Taken>,
    ties: Ties,
    /// The rates at which a hot and a cold page are invalidated, in the time of one collection for
    /// each block.
    rates: (f64, f64),
    leave: Vec<Leave>,
    /// m(i, h), the share of blocks with i valid pages of which h are hot.
    pub(super) mass: Vec<f64>,
    /// Chance that the block taken has i valid and h hot pages.
    pub(super) victim: Vec<f64>,
    /// q_i, share of blocks with at most i valid pages.
    pub(super) q: Vec<f64>,
}

impl Levels {
    pub(super) fn new(b: usize, selection: &Selection) -> Self {
        let (taken, ties) = match *selection {
            Selection::DChoices { d, c } => (Some(Taken::new(d, c)), Ties::Random),
            Selection::Greedy { ties } => (None, ties),
        };
        let pairs = at(b, b) + 1;
        Self {
            b,
            taken,
            ties,
            rates: (0.0, 0.0),
            leave: vec![Leave::Hazard(0.0); b + 1],
            mass: vec![0.0; pairs],
            victim: vec![0.0; pairs],
            q: vec![1.0; b + 1],
        }
    }

    /// Finds the hazards, from full blocks downwards. The share `births[h]` of the full blocks has
    /// h hot pages. `rates` are the rates at which a hot and a cold page are invalidated.
    pub(super) fn fall(&mut self, rates: (f64, f64), births: &[f64]) -> Result<(), ModelError> {
        self.rates = rates;
        let mut inflow = births.to_vec();
        let (mut q, mut below) = (1.0, 1.0);
        for i in (0..=self.b).rev() {
            self.q[i] = q;
            self.leave[i] = self.leave_level(i, &inflow, q, below)?;
            let (mass, down) = self.leave_down(i, &mut inflow);
            q = if matches!(self.leave[i], Leave::AtOnce(_)) { 0.0 } else { (q - mass).max(0.0) };
            if q < NEGLIGIBLE {
                q = 0.0;
            }
            below = down;
        }
        Ok(())
    }

    /// Finds the way in which blocks leave level `i`. Blocks at or below it are the share `q` of
    /// all, and the share `below` of the collections takes its block from these.
    fn leave_level(
        &mut self,
        i: usize,
        inflow: &[f64],
        q: f64,
        below: f64,
    ) -> Result<Leave, ModelError> {
        if q <= 0.0 || below < NEGLIGIBLE {
            return Ok(Leave::AtOnce(1.0));
        }
        if i == 0 {
            return Ok(Leave::Hazard(inflow[0] / q));
        }
        let (hot, cold) = self.rates;
        // The share of blocks on the level, and the share that goes down, if the hazard is sigma.
        let stay = |sigma: f64| {
            inflow.iter().enumerate().fold((0.0, 0.0), |(mass, down), (h, inflow)| {
                let rate = hot * h as f64 + cold * (i - h) as f64;
                let share = inflow / (rate + sigma);
                (mass + share, down + share * rate)
            })
        };
        let Some(taken) = &mut self.taken else {
            // Greedy takes no block from this level while there is one below.
            let (mass, _) = stay(0.0);
            return Ok(match self.ties {
                _ if mass <= q => Leave::Hazard(0.0),
                Ties::Latest => Leave::AtOnce(1.0 - q / mass),
                Ties::Random => {
                    let most = 2.0 * inflow.iter().sum::<f64>() / q;
                    Leave::Hazard(root::find("hazard", 0.0, most, |sigma| stay(sigma).0 - q)?)
                }
            });
        };
        let mut surplus = |sigma: f64| {
            let (mass, down) = stay(sigma);
            down - taken.by_drawing(q - mass)
        };
        if surplus(0.0) <= f64::EPSILON * below {
            return Ok(Leave::Hazard(0.0));
        }
        let mut most = 1.0;
        while surplus(most) > 0.0 && most < f64::MAX / 4.0 {
            most *= 4.0;
        }
        Ok(Leave::Hazard(root::find("hazard", 0.0, most, surplus)?))
    }

    /// Computes the blocks and the victims of level `i` from its `inflow`, and replaces `inflow` by
    /// the inflow of the level below. Returns the share of blocks on level `i`, and the share that
    /// goes down.
    fn leave_down(&mut self, i: usize, inflow: &mut Vec<f64>) -> (f64, f64) {
        let (hot, cold) = self.rates;
        let mut lower = vec![0.0; i];
        let (mut mass, mut down) = (0.0, 0.0);
        for (h, &inflow) in inflow.iter().enumerate() {
            let (hot_rate, cold_rate) = (hot * h as f64, cold * (i - h) as f64);
            let rate = hot_rate + cold_rate;
            let share = match self.leave[i] {
                _ if inflow <= 0.0 => 0.0,
                Leave::Hazard(sigma) => inflow / (rate + sigma),
                Leave::AtOnce(taken) if taken < 1.0 => (1.0 - taken) * inflow / rate,
                Leave::AtOnce(_) => 0.0,
            };
            self.mass[at(i, h)] = share;
            self.victim[at(i, h)] = (inflow - share * rate).max(0.0);
            mass += share;
            down += share * rate;
            if h > 0 {
                lower[h - 1] += share * hot_rate;
            }
            if h < i {
                lower[h] += share * cold_rate;
            }
        }
        *inflow = lower;
        (mass, down)
    }

    /// The victims among blocks of which the share `births[h]` is born full with h hot pages. The
    /// hazards are those that [`Levels::fall`] found.
    pub(super) fn victims_of(&self, births: &[f64]) -> Vec<f64> {
        let mut only = Self {
            taken: None,
            leave: self.leave.clone(),
            mass: vec![0.0; self.mass.len()],
            victim: vec![0.0; self.victim.len()],
            q: Vec::new(),
            ..*self
        };
        let mut inflow = births.to_vec();
        for i in (0..=self.b).rev() {
            only.leave_down(i, &mut inflow);
        }
        only.victim
    }

    /// Chance that the block taken has i valid pages.
    pub(super) fn victim_levels(&self) -> Vec<f64> {
        by_level(self.b, &self.victim)
    }

    /// Share of blocks with i valid pages.
    pub(super) fn valid_levels(&self) -> Vec<f64> {
        by_level(self.b, &self.mass)
    }
}

fn by_level(b: usize, pairs: &[f64]) -> Vec<f64> {
    (0..=b).map(|i| pairs[at(i, 0)..=at(i, i)].iter().sum()).collect()
}

/// Sums of valid and of hot pages over `pairs`.
pub(super) fn pages(b: usize, pairs: &[f64]) -> (f64, f64) {
    let (mut valid, mut hot) = (0.0, 0.0);
    for i in 0..=b {
        for (h, share) in pairs[at(i, 0)..=at(i, i)].iter().enumerate() {
            valid += share * i as f64;
            hot += share * h as f64;
        }
    }
    (valid, hot)
}
