//! The mean field under hot and cold data, with one write frontier and with two.
//!
//! A block is described by its valid pages i and the hot ones among them, h. Full blocks are born,
//! lose pages and are taken ([`levels`]); the frontiers differ only in what full blocks hold:
//!
//! - **single**: the victim (i, h) keeps its pages and takes b - i host writes, each hot with
//!   probability r.
//! - **double**: of the collections, the share E / b makes a block of b host writes, hot pages
//!   binomial(b, r); the others make a block of copies, b consecutive pages of the stream of victims
//!   ([`copies`]). Here E = b - (valid pages a victim), the host writes a collection.
//!
//! So the unknowns are the shares of full blocks with each number of hot pages, and the rate kappa
//! = E / (b rho). They are the fixed point of one pass through the levels.
//!
//! One frontier: exact for infinitely many blocks. Two frontiers: two closures, stated in
//! [`copies`] (a block of copies is shuffled or sorted) and in [`succession`] (the level of the
//! next victim given this one's, and its hot pages given its level alone; exact without memory).
//!
//! # Source
//! Setting: Van Houdt 2013, section 2.1, and Rosenblum's model of hot and cold data. The models are
//! ours; docs/validation.md compares them with simulation.

mod copies;
mod levels;
mod succession;

use self::copies::Stream;
use self::levels::{Levels, at, pages};
use self::succession::Succession;
use super::binomial;
use super::selection::Selection;
use crate::{Drive, HotCold, ModelError, fixed_point};

/// The blocks that host writes and copies go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frontier {
    /// One block takes host writes and copies.
    Single,
    /// Host writes and copies have a block each.
    Double,
}

/// The most pages of a block that the model of two frontiers accepts: its time grows as b^4.
pub const LARGEST_BLOCK_DOUBLE: u32 = 256;
/// The most pages of a block that the model of one frontier accepts: its time grows as b^2.
pub const LARGEST_BLOCK_SINGLE: u32 = 1024;

/// A fixed point of the mean field under hot and cold data.
#[derive(Clone, Debug)]
pub struct HotColdPoint {
    /// Page programs for each host write.
    pub write_amplification: f64,
    /// Largest imbalance that is left: of any share of blocks, of the content of full blocks, and
    /// of the drive's valid and hot pages.
    pub residual: f64,
    /// Share of blocks with i valid pages just before a collection, i = 0..b.
    pub valid: Vec<f64>,
    /// Chance that the block taken has i valid pages, i = 0..b.
    pub victim: Vec<f64>,
    /// Share of the copied pages that is hot.
    pub copied_hot: f64,
    /// Share of full blocks with h hot pages, h = 0..b.
    pub full_hot: Vec<f64>,
}

/// The largest imbalance that a fixed point may have.
pub const LARGEST_RESIDUAL: f64 = 1e-10;
/// The residual at which the iteration ends.
const TOLERANCE: f64 = 1e-13;

/// The fixed point for `drive` under `selection`, with `frontier` and the hot and cold data `data`.
///
/// # Errors
/// A block that is too large for the model; no fixed point, in which case the text names the
/// parameters.
pub fn solve(
    drive: &Drive,
    selection: &Selection,
    frontier: Frontier,
    data: &HotCold,
) -> Result<HotColdPoint, ModelError> {
    let most = match frontier {
        Frontier::Single => LARGEST_BLOCK_SINGLE,
        Frontier::Double => LARGEST_BLOCK_DOUBLE,
    };
    if drive.pages_per_block() > most {
        return Err(ModelError::new(
            format!(
                "pages per block: found {}, expected at most {most} with hot and cold data and \
                 this frontier: the model would take minutes",
                drive.pages_per_block()
            ),
            "larger blocks change the result little",
        ));
    }
    let mut model = Model::new(drive, selection, frontier, data);
    let start = model.start();
    let what = format!(
        "mean field of b={}, spare={}, f={}, r={}, {selection:?}, {frontier:?}",
        drive.pages_per_block(),
        drive.spare(),
        data.f(),
        data.r()
    );
    // A drive programs at least what the host writes, and hardly more than with random victims.
    let least = drive.spare().ln() - 3.0;
    let confine = |x: &mut [f64]| confine(x, least, frontier);
    let point = fixed_point::find(&what, start, TOLERANCE, |x| model.map(x), confine)?;
    model.point(&what, &point)
}

/// The map whose fixed point is sought. Its vector is [ln(E / b), share of the collections that
/// make a sorted block, shares of the collections that make a block with h hot pages]. With two
/// frontiers only collections that make a block of copies count, as shares of all collections. If
/// hardly anything is copied, the content of such blocks matters little, and has few exact digits.
struct Model<'a> {
    drive: &'a Drive,
    selection: &'a Selection,
    frontier: Frontier,
    data: &'a HotCold,
    levels: Levels,
    /// The chances of h hot pages in a block of host writes.
    host: Vec<f64>,
}

impl<'a> Model<'a> {
    fn new(
        drive: &'a Drive,
        selection: &'a Selection,
        frontier: Frontier,
        data: &'a HotCold,
    ) -> Self {
        let b = drive.pages_per_block() as usize;
        let host = binomial(b, data.r());
        Self { drive, selection, frontier, data, levels: Levels::new(b, selection), host }
    }

    fn start(&self) -> Vec<f64> {
        // At the start, hot and cold data are mixed, and the write amplification is 2.
        let rate = 0.5_f64.ln();
        let whole = vector_share(self.frontier, rate);
        let held = binomial(self.levels.b, self.data.f());
        [rate, 0.0].into_iter().chain(held.into_iter().map(|share| whole * share)).collect()
    }

    fn births(&self, x: &[f64]) -> Vec<f64> {
        let held = &x[2..];
        match self.frontier {
            Frontier::Single => held.to_vec(),
            Frontier::Double => {
                let host = of_host(x);
                self.host.iter().zip(held).map(|(h, c)| host * h + c).collect()
            }
        }
    }

    /// The rates at which a hot and a cold page are invalidated, in the time of one collection for
    /// each block.
    fn rates(&self, x: &[f64]) -> (f64, f64) {
        let kappa = of_host(x) / self.drive.rho();
        let (f, r) = (self.data.f(), self.data.r());
        (kappa * r / f, kappa * (1.0 - r) / (1.0 - f))
    }

    fn map(&mut self, x: &[f64]) -> Result<Vec<f64>, ModelError> {
        let births = self.births(x);
        self.levels.fall(self.rates(x), &births)?;
        let b = self.levels.b;
        let (valid, _) = pages(b, &self.levels.mass);
        // Only half of the correction is made, because the valid pages follow the rate with some
        // delay.
        let towards = (0.5 * (valid / (b as f64 * self.drive.rho())).ln()).clamp(-0.3, 0.3);
        let (sorted, held) = match self.frontier {
            Frontier::Single => (0.0, refilled(&self.levels, self.data.r())),
            Frontier::Double => self.copies(x),
        };
        let rate = (x[0] + towards).min(0.0);
        let whole = vector_share(self.frontier, rate);
        let shares = std::iter::once(sorted).chain(held).map(|share| whole * share);
        Ok(std::iter::once(rate).chain(shares).collect())
    }

    /// The share of blocks of copies that is sorted, and the chances of h hot pages in a block of
    /// copies.
    fn copies(&self, x: &[f64]) -> (f64, Vec<f64>) {
        let copied = self.levels.victims_of(&x[2..]);
        let succession = Succession::new(&self.levels, self.selection);
        if succession.levels.is_empty() {
            return (0.0, self.host.clone());
        }
        // If rounding leaves no blocks of copies, the share of sorted ones does not matter.
        let sorted = (x[1] / vector_share(self.frontier, x[0])).clamp(0.0, 1.0);
        let sorted = if sorted.is_nan() { 0.0 } else { sorted };
        let stream = Stream::new(&self.levels, succession, &copied, sorted);
        let block = stream.hot(self.levels.b);
        (stream.sorted(&block), block)
    }

    fn point(&mut self, what: &str, x: &[f64]) -> Result<HotColdPoint, ModelError> {
        let mapped = self.map(x)?;
        let births = self.births(x);
        let moved = x.iter().zip(&mapped).map(|(x, y)| (x - y).abs());
        let residual = moved.fold(self.imbalance(x, &births), f64::max);
        if residual.is_nan() || residual > LARGEST_RESIDUAL {
            return Err(ModelError::new(
                format!(
                    "{what}: an imbalance of {residual:.1e} is left, expected at most \
                     {LARGEST_RESIDUAL:e}"
                ),
                "parameters that are less extreme",
            ));
        }
        let b = self.levels.b;
        let (copied, copied_hot) = pages(b, &self.levels.victim);
        Ok(HotColdPoint {
            write_amplification: b as f64 / (b as f64 - copied),
            residual,
            valid: self.levels.valid_levels(),
            victim: self.levels.victim_levels(),
            copied_hot: if copied > 0.0 { copied_hot / copied } else { 0.0 },
            full_hot: births,
        })
    }

    /// The largest imbalance, computed from the shares of blocks and of victims alone.
    fn imbalance(&self, x: &[f64], births: &[f64]) -> f64 {
        let Levels { b, mass, victim, .. } = &self.levels;
        let b = *b;
        let (hot, cold) = self.rates(x);
        let ((valid, valid_hot), (copied, _)) = (pages(b, mass), pages(b, victim));
        let full = b as f64 * self.drive.rho();
        let blocks: f64 = mass.iter().sum();
        let mut most = [
            blocks - 1.0,
            valid / full - 1.0,
            valid_hot / (full * self.data.f()) - 1.0,
            (b as f64 - copied) / (b as f64 * of_host(x)) - 1.0,
        ]
        .into_iter()
        .map(f64::abs)
        .fold(0.0, f64::max);
        for i in 0..=b {
            for h in 0..=i {
                let mut drift =
                    -victim[at(i, h)] - mass[at(i, h)] * (hot * h as f64 + cold * (i - h) as f64);
                drift += if i == b {
                    births[h]
                } else {
                    mass[at(i + 1, h + 1)] * hot * (h + 1) as f64
                        + mass[at(i + 1, h)] * cold * (i + 1 - h) as f64
                };
                most = most.max(drift.abs());
            }
        }
        most
    }
}

/// E / b: with two frontiers, the share of the collections that make a block of host writes.
fn of_host(x: &[f64]) -> f64 {
    x[0].exp()
}

/// The share of the collections whose blocks the vector of [`Model`] describes, at ln(E / b) =
/// `rate`.
fn vector_share(frontier: Frontier, rate: f64) -> f64 {
    match frontier {
        Frontier::Single => 1.0,
        Frontier::Double => -rate.exp_m1(),
    }
}

/// Hot pages of full blocks, where victims keep their pages and take host writes: the sum over
/// victims (i, h) of h + binomial(b - i, r), by Horner's scheme over i.
fn refilled(levels: &Levels, r: f64) -> Vec<f64> {
    let mut held = vec![levels.victim[0]];
    for i in 1..=levels.b {
        let mut next = levels.victim[at(i, 0)..=at(i, i)].to_vec();
        for (h, share) in held.iter().enumerate() {
            next[h] += share * (1.0 - r);
            next[h + 1] += share * r;
        }
        held = next;
    }
    held
}

/// Moves an extrapolated vector back to valid shares. Returns `false` if it is too far away for
/// that.
fn confine(x: &mut [f64], least: f64, frontier: Frontier) -> bool {
    if !(least..=0.0).contains(&x[0]) {
        return false;
    }
    let whole = vector_share(frontier, x[0]);
    x[1] = x[1].clamp(0.0, whole);
    let held = &mut x[2..];
    let negative: f64 = held.iter().filter(|&&share| share < 0.0).sum();
    held.iter_mut().for_each(|share| *share = share.max(0.0));
    let total: f64 = held.iter().sum();
    held.iter_mut().for_each(|share| *share *= whole / total);
    negative > -0.1 * whole && (0.5 * whole..2.0 * whole).contains(&total)
}
