//! The course of write amplification from an initial state to the steady one, under uniform random
//! writes and d choices with memory.
//!
//! The drift of [`drift`](super::drift) is integrated over drive writes h (host writes over logical
//! pages) rather than over collections: dm/dh = (dm/dt) b rho / E. The method is Dormand and
//! Prince's of order 5 with an error estimate of order 4; a step whose estimated error is above
//! [`TOLERANCE`] in any share is done again with a smaller one. That bound also keeps the step
//! below what is stable, so that a false cycle cannot be mistaken for a steady state.
//!
//! # Source
//! Van Houdt 2013, equation (5) and Theorem 1; Dormand and Prince 1980; Hairer, Norsett and Wanner
//! 1993, II.4 and II.5.

use super::drift::Drift;
use super::selection::Selection;
use crate::{Drive, ModelError};

/// Largest error of one step in any share of blocks.
pub const TOLERANCE: f64 = 1e-9;
const MOST_STEPS: u32 = 2_000_000;

/// A drive's state before its first host write.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial {
    /// The share rho of the blocks is full and the others are empty.
    Sequential,
    /// Valid pages lie anywhere: binomial(b, rho).
    Random,
    /// The share of blocks with i valid pages, i = 0..b.
    Shares(Vec<f64>),
}

/// The state of a drive after some number of host writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Host writes so far over logical pages.
    pub drive_writes: f64,
    /// Page programs for each host write now: b / E.
    pub write_amplification: f64,
    /// Mean page programs for each host write from the start until now. At the start it equals
    /// `write_amplification`.
    pub mean_write_amplification: f64,
}

/// The drive's course at `points` + 1 equally spaced moments from 0 to `drive_writes`.
///
/// # Errors
/// A policy other than d choices; a state that is no distribution with rho b valid pages a block;
/// more steps than the limit.
pub fn evolve(
    drive: &Drive,
    selection: &Selection,
    initial: &Initial,
    drive_writes: f64,
    points: u32,
) -> Result<Vec<Moment>, ModelError> {
    let Selection::DChoices { d, c } = *selection else {
        return Err(ModelError::new(
            "transient: found greedy, expected d choices: greedy has no smooth transient",
            "a large d, such as d=1000, is near greedy",
        ));
    };
    if !(drive_writes > 0.0 && drive_writes <= 1e6) || points == 0 {
        return Err(ModelError::new(
            format!(
                "transient: found {drive_writes} drive writes in {points} points, expected more than 0"
            ),
            "most drives settle within 10 drive writes",
        ));
    }
    let mut course = Course::new(drive, d, c, start(drive, initial)?)?;
    let mut moments = vec![course.moment(0.0)];
    for point in 1..=points {
        let until = drive_writes * f64::from(point) / f64::from(points);
        course.advance(until)?;
        moments.push(course.moment(until));
    }
    Ok(moments)
}

fn start(drive: &Drive, initial: &Initial) -> Result<Vec<f64>, ModelError> {
    let (b, rho) = (drive.pages_per_block() as usize, drive.rho());
    match initial {
        Initial::Sequential => {
            let mut shares = vec![0.0; b + 1];
            (shares[0], shares[b]) = (1.0 - rho, rho);
            Ok(shares)
        }
        Initial::Random => Ok(super::binomial(b, rho)),
        Initial::Shares(shares) => {
            let total: f64 = shares.iter().sum();
            let pages: f64 = shares.iter().enumerate().map(|(i, share)| i as f64 * share).sum();
            if shares.len() != b + 1
                || shares.iter().any(|share| !(0.0..=1.0).contains(share))
                || (total - 1.0).abs() > 1e-9
                || (pages / (b as f64 * rho) - 1.0).abs() > 1e-9
            {
                return Err(ModelError::new(
                    format!(
                        "initial state: found {} shares with sum {total} and {pages} valid pages a \
                         block, expected {} with sum 1 and {}",
                        shares.len(),
                        b + 1,
                        b as f64 * rho
                    ),
                    "give the share of blocks with 0, 1, ... b valid pages",
                ));
            }
            Ok(shares.clone())
        }
    }
}

/// A drive on its course: the shares of blocks, and the collections for each block so far.
struct Course {
    drift: Drift,
    full: f64,
    b: f64,
    rho: f64,
    /// m_0 .. m_b and the collections for each block.
    state: Vec<f64>,
    now: f64,
    step: f64,
    steps: u32,
    slopes: [Vec<f64>; 7],
}

impl Course {
    fn new(drive: &Drive, d: u32, c: u32, mut state: Vec<f64>) -> Result<Self, ModelError> {
        state.push(0.0);
        let (b, rho) = (f64::from(drive.pages_per_block()), drive.rho());
        let slopes = std::array::from_fn(|_| vec![0.0; state.len()]);
        let drift = Drift::new(drive, d, c);
        let mut course =
            Self { drift, full: b * rho, b, rho, state, now: 0.0, step: 1e-4, steps: 0, slopes };
        course.slope_at(0, &course.state.clone());
        Ok(course)
    }

    /// Fills slope number `at` with the derivatives of `state` by drive writes. Returns E, host
    /// writes between collections.
    fn slope_at(&mut self, at: usize, state: &[f64]) -> f64 {
        let last = state.len() - 1;
        let slope = &mut self.slopes[at];
        let writes = self.drift.at(&state[..last], &mut slope[..last]);
        let pace = self.full / writes;
        slope[..last].iter_mut().for_each(|rate| *rate *= pace);
        slope[last] = pace;
        writes
    }

    fn moment(&mut self, drive_writes: f64) -> Moment {
        let state = self.state.clone();
        let write_amplification = self.b / self.slope_at(0, &state);
        // A collection programs b pages; the drive has rho b logical pages a block.
        let mean = state[state.len() - 1] / self.rho / drive_writes;
        let mean_write_amplification = if drive_writes > 0.0 { mean } else { write_amplification };
        Moment { drive_writes, write_amplification, mean_write_amplification }
    }

    fn advance(&mut self, until: f64) -> Result<(), ModelError> {
        while self.now < until {
            self.steps += 1;
            let step = self.step.min(until - self.now);
            if self.steps > MOST_STEPS || self.now + step <= self.now {
                return Err(ModelError::new(
                    format!(
                        "transient: stuck after {} drive writes and {} steps",
                        self.now, self.steps
                    ),
                    "a smaller d, or fewer drive writes",
                ));
            }
            let (next, error) = self.attempt(step);
            let fit = error / TOLERANCE;
            if fit <= 1.0 {
                self.state = next;
                self.now += step;
                // The last slope of a step is the first of the next one.
                self.slopes.swap(0, 6);
            }
            let scale = if fit > 0.0 { 0.9 * fit.powf(-0.2) } else { 5.0 };
            let proposed = step * if scale.is_nan() { 0.2 } else { scale.clamp(0.2, 5.0) };
            // A step that was cut short to end at a moment does not limit the next step.
            if fit > 1.0 || fit.is_nan() || proposed > self.step || step == self.step {
                self.step = proposed;
            }
        }
        Ok(())
    }

    /// The state after a step, and the largest error in it.
    fn attempt(&mut self, step: f64) -> (Vec<f64>, f64) {
        for stage in 1..7 {
            let state: Vec<f64> = (0..self.state.len())
                .map(|i| {
                    let change: f64 = STAGES[stage - 1]
                        .iter()
                        .zip(&self.slopes)
                        .map(|(a, slope)| a * slope[i])
                        .sum();
                    self.state[i] + step * change
                })
                .collect();
            self.slope_at(stage, &state);
            if stage == 6 {
                // The largest error of a share. The count of collections has no tolerance.
                let error = (0..state.len() - 1).fold(0.0, |most: f64, i| {
                    let error: f64 =
                        ERRORS.iter().zip(&self.slopes).map(|(e, slope)| e * slope[i]).sum();
                    let error = (step * error).abs();
                    if error.is_nan() { f64::INFINITY } else { most.max(error) }
                });
                return (state, error);
            }
        }
        unreachable!("the last stage returns")
    }
}

/// The stages of Dormand and Prince; the last row gives the result of order 5.
const STAGES: [&[f64]; 6] = [
    &[1.0 / 5.0],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];

/// The difference between the results of order 5 and 4.
const ERRORS: [f64; 7] = [
    71.0 / 57600.0,
    0.0,
    -71.0 / 16695.0,
    71.0 / 1920.0,
    -17253.0 / 339_200.0,
    22.0 / 525.0,
    -1.0 / 40.0,
];
