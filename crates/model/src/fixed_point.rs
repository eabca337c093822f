//! Finds the fixed point of a map by Anderson's method, with damped steps on the way.
//!
//! Plain iteration x <- g(x) crawls where old data is overwritten rarely. Anderson's method looks
//! at how the last few steps changed the residual g(x) - x. It combines them so that the residual
//! would vanish if g were linear. Near the solution it behaves as GMRES does.
//!
//! Far from the solution, Anderson's method is drawn to any place where the residual is small. This
//! may be a place where two fixed points of a similar drive have just met and vanished. Damped
//! steps x <- x + tau (g(x) - x), short enough not to oscillate, follow the flow x' = g(x) - x and
//! pass such a place. So the two methods take turns. If extrapolation gets no nearer, damped steps
//! go on from their last point, each time twice as many.
//!
//! # Source
//! Anderson 1965; Walker and Ni 2011 (type II, with a QR factorisation by Gram and Schmidt).

use crate::ModelError;

/// The number of steps that Anderson's method remembers.
const MEMORY: usize = 12;
/// The largest number of steps: about eight times as many as the slowest of 100 000 random settings
/// needs.
const MOST_STEPS: u32 = 5_000;
/// Extrapolation ends when its residual is more than this factor times its best residual.
const WORSE: f64 = 10.0;
/// Extrapolation ends after this number of steps in a row that did not halve its residual.
const NO_NEARER: u32 = 30;
/// The number of damped steps before extrapolation is tried again for the first time.
const FEWEST_DAMPED: u32 = 8;

/// The largest residual, as a multiple of the tolerance, that counts as rounding if no step gets
/// nearer.
const ROUNDING: f64 = 100.0;

/// Finds the fixed point of `map` from `start`. The largest residual is `tolerance`, or up to a
/// hundred times that if rounding in `map` is larger.
///
/// `confine` moves an extrapolated point back to where `map` is defined. It returns `false` if the
/// point is too far away for that.
///
/// # Errors
/// No fixed point after many steps, or an error of `map`.
pub(crate) fn find(
    what: &str,
    start: Vec<f64>,
    tolerance: f64,
    map: impl FnMut(&[f64]) -> Result<Vec<f64>, ModelError>,
    confine: impl Fn(&mut [f64]) -> bool,
) -> Result<Vec<f64>, ModelError> {
    let mut search = Search { map, tolerance, steps: 0, damping: 0.5 };
    let (mut x, mut nearest) = (start, f64::INFINITY);
    let mut damped = FEWEST_DAMPED;
    while search.steps < MOST_STEPS {
        let (point, size) = search.extrapolate(x.clone(), &confine);
        if size <= tolerance {
            return Ok(point);
        }
        if size < 0.5 * nearest {
            (x, nearest) = (point, size);
        } else if size <= ROUNDING * tolerance {
            return Ok(point);
        } else {
            damped = damped.saturating_mul(2);
        }
        let (moved, size) = search.follow(x, damped)?;
        if size <= tolerance {
            return Ok(moved);
        }
        x = moved;
    }
    Err(ModelError::new(
        format!("{what}: no fixed point in {MOST_STEPS} steps; the best left {nearest:.1e}"),
        "parameters that are less extreme",
    ))
}

/// The search for the fixed point of a map.
struct Search<M> {
    map: M,
    tolerance: f64,
    steps: u32,
    /// tau, the length of a damped step as a share of the residual.
    damping: f64,
}

impl<M: FnMut(&[f64]) -> Result<Vec<f64>, ModelError>> Search<M> {
    /// The residual at `x`.
    fn residual(&mut self, x: &[f64]) -> Result<Vec<f64>, ModelError> {
        self.steps += 1;
        Ok(minus(&(self.map)(x)?, x))
    }

    /// Runs Anderson's method from `x` as long as it gets nearer. Returns the best point and its
    /// largest residual.
    fn extrapolate(
        &mut self,
        mut x: Vec<f64>,
        confine: &impl Fn(&mut [f64]) -> bool,
    ) -> (Vec<f64>, f64) {
        let mut last: Option<(Vec<f64>, Vec<f64>)> = None;
        // Changes of x and of the residual, the oldest first.
        let mut changes: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
        let (mut best, mut at_best) = (f64::INFINITY, x.clone());
        let (mut halved, mut since) = (f64::INFINITY, 0);
        while since < NO_NEARER && self.steps < MOST_STEPS {
            // A point where the map fails ends the extrapolation, as a useless residual does.
            let Ok(residual) = self.residual(&x) else { break };
            let size = largest(&residual);
            if size.is_nan() || size > WORSE * best {
                break;
            }
            if size < best {
                (best, at_best) = (size, x.clone());
            }
            if size <= self.tolerance {
                break;
            }
            since += 1;
            if size < 0.5 * halved {
                (halved, since) = (size, 0);
            }
            if let Some((x_before, residual_before)) = last.take() {
                changes.push((minus(&x, &x_before), minus(&residual, &residual_before)));
            }
            if changes.len() > MEMORY {
                changes.remove(0);
            }
            let mut next = plus(&x, 1.0, &residual);
            for ((dx, dr), weight) in changes.iter().zip(weights(&changes, &residual)) {
                for ((next, dx), dr) in next.iter_mut().zip(dx).zip(dr) {
                    *next -= weight * (dx + dr);
                }
            }
            if !confine(&mut next) {
                break;
            }
            last = Some((x, residual));
            x = next;
        }
        (at_best, best)
    }

    /// Follows the flow from `x` for at most `steps` steps. Returns the last point and the largest
    /// residual there.
    fn follow(&mut self, mut x: Vec<f64>, steps: u32) -> Result<(Vec<f64>, f64), ModelError> {
        let mut residual = self.residual(&x)?;
        for _ in 0..steps.min(MOST_STEPS.saturating_sub(self.steps)) {
            if largest(&residual) <= self.tolerance {
                break;
            }
            let next = plus(&x, self.damping, &residual);
            let there = self.residual(&next)?;
            // If the residual changes its direction, the step was too long: later steps are
            // shorter, and this step is not taken if the residual grew.
            if dot(&residual, &there) >= 0.0 {
                self.damping = (1.1 * self.damping).min(1.0);
            } else {
                self.damping *= 0.5;
                if largest(&there) > largest(&residual) {
                    continue;
                }
            }
            (x, residual) = (next, there);
        }
        let size = largest(&residual);
        Ok((x, size))
    }
}

/// The largest absolute value of the entries; NaN if one of them is.
pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, v| if v.is_nan() || v.abs() > most { v.abs() } else { most })
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn plus(a: &[f64], times: f64, b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + times * b).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The weights of the residual changes whose combination is nearest to `residual`. A change that
/// depends on newer ones has the weight 0.
fn weights(changes: &[(Vec<f64>, Vec<f64>)], residual: &[f64]) -> Vec<f64> {
    let count = changes.len();
    let mut basis: Vec<(usize, Vec<f64>)> = Vec::new();
    let mut upper = vec![vec![0.0; count]; count];
    // The newest changes come first, because they matter most.
    for column in (0..count).rev() {
        let mut rest = changes[column].1.clone();
        let length = dot(&rest, &rest).sqrt();
        for (row, direction) in &basis {
            let along = dot(direction, &rest);
            upper[*row][column] = along;
            rest.iter_mut().zip(direction).for_each(|(r, d)| *r -= along * d);
        }
        let left = dot(&rest, &rest).sqrt();
        if left > 1e-10 * length && left > 0.0 {
            upper[column][column] = left;
            rest.iter_mut().for_each(|r| *r /= left);
            basis.push((column, rest));
        }
    }
    let mut weights = vec![0.0; count];
    for (at, (row, direction)) in basis.iter().enumerate().rev() {
        let later =
            basis[at + 1..].iter().map(|(column, _)| upper[*row][*column] * weights[*column]);
        weights[*row] = (dot(direction, residual) - later.sum::<f64>()) / upper[*row][*row];
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn a_linear_map_that_hardly_contracts_is_solved() {
        // The map A x + 1 with a diagonal A, whose largest eigenvalues are 0.9999 and -0.99. Its
        // fixed point is x_i = 1 / (1 - a_i).
        let a = [0.9999, -0.99, 0.5, 0.0];
        let map = |x: &[f64]| Ok(x.iter().zip(a).map(|(x, a)| a * x + 1.0).collect());
        let point = find("x", vec![0.0; 4], 1e-9, map, |_| true).unwrap();
        for (x, a) in point.iter().zip(a) {
            assert!((x * (1.0 - a) - 1.0).abs() < 1e-8, "{point:?}");
        }
    }

    #[test]
    fn a_place_where_two_fixed_points_have_met_and_vanished_is_passed() {
        // g(x) - x = -((x - 1)^2 + 1e-4) (x + 2) is nearly 0 at x = 1, and 0 at x = -2 alone; there
        // g' = -8: plain steps lead away from it.
        let map = |x: &[f64]| Ok(vec![x[0] - ((x[0] - 1.0).powi(2) + 1e-4) * (x[0] + 2.0)]);
        let point = find("x", vec![1.5], 1e-12, map, |x| x[0].abs() < 10.0).unwrap();
        assert!((point[0] + 2.0).abs() < 1e-12, "{point:?}");
    }

    #[test]
    fn a_map_without_fixed_point_is_an_error() {
        let map = |x: &[f64]| Ok(vec![x[0] + x[0] * x[0] + 1.0]);
        assert!(find("x", vec![0.0], 1e-9, map, |_| true).is_err());
    }
}
