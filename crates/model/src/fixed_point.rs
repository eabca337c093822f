//! The fixed point of a map, by Anderson's method.
//!
//! Plain iteration x <- g(x) crawls where old data is overwritten rarely. Anderson's method looks at
//! how the last few steps changed the residual g(x) - x, combines them so that the residual would
//! vanish were g linear, and so behaves as GMRES does near the solution.
//!
//! # Source
//! Anderson 1965; Walker and Ni 2011 (type II, with a QR factorisation by Gram and Schmidt).

use crate::ModelError;

/// Steps that are remembered.
const MEMORY: usize = 12;
const MOST_STEPS: u32 = 20_000;
/// A residual so much worse than the best one leads back to that, and to plain steps for a while.
const WORSE: f64 = 10.0;

/// The fixed point of `map`, from `start`, to a largest residual of `tolerance`.
///
/// `confine` puts an extrapolated point back where `map` is defined, or says that it is too far away
/// from that to mean anything: then a plain step is taken.
///
/// # Errors
/// None found in a large number of steps; what `map` says.
pub(crate) fn find(
    what: &str,
    start: Vec<f64>,
    tolerance: f64,
    mut map: impl FnMut(&[f64]) -> Result<Vec<f64>, ModelError>,
    confine: impl Fn(&mut [f64]) -> bool,
) -> Result<Vec<f64>, ModelError> {
    let mut x = start;
    let mut last: Option<(Vec<f64>, Vec<f64>)> = None;
    // Changes of x and of the residual, the oldest first.
    let mut changes: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let (mut best, mut after_best) = (f64::INFINITY, Vec::new());
    // Plain steps still to do, and how many to do when extrapolation fails next.
    let (mut plain_steps, mut patience) = (0, 1);
    for _ in 0..MOST_STEPS {
        let plain = map(&x)?;
        let residual = minus(&plain, &x);
        let size = largest(&residual);
        if size <= tolerance {
            return Ok(x);
        }
        if size < best {
            (best, after_best) = (size, plain.clone());
        } else if plain_steps == 0 && (size > WORSE * best || size.is_nan()) {
            (plain_steps, patience) = (patience, 2 * patience);
            changes.clear();
            last = None;
            x.clone_from(&after_best);
            continue;
        }
        if let Some((x_before, residual_before)) = last.take() {
            changes.push((minus(&x, &x_before), minus(&residual, &residual_before)));
        }
        if changes.len() > MEMORY {
            changes.remove(0);
        }
        let mut next = plain.clone();
        if plain_steps > 0 {
            plain_steps -= 1;
        } else {
            for ((dx, dr), weight) in changes.iter().zip(weights(&changes, &residual)) {
                for ((next, dx), dr) in next.iter_mut().zip(dx).zip(dr) {
                    *next -= weight * (dx + dr);
                }
            }
            if !confine(&mut next) {
                (plain_steps, patience) = (patience, 2 * patience);
                changes.clear();
                next = plain;
            }
        }
        last = Some((x, residual));
        x = next;
    }
    Err(ModelError::new(
        format!("{what}: no fixed point in {MOST_STEPS} steps; the best left {best:.1e}"),
        "parameters that are less extreme",
    ))
}

/// The largest entry without its sign, not a number if one is not.
pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, v| if v.is_nan() || v.abs() > most { v.abs() } else { most })
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The combination of residual changes nearest to `residual`; those that say nothing new weigh 0.
fn weights(changes: &[(Vec<f64>, Vec<f64>)], residual: &[f64]) -> Vec<f64> {
    let count = changes.len();
    let mut basis: Vec<(usize, Vec<f64>)> = Vec::new();
    let mut upper = vec![vec![0.0; count]; count];
    // The newest first: they are what counts.
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
        // x = A x + 1 with eigenvalues 0.9999 and -0.99: x_i = 1 / (1 - a_i).
        let a = [0.9999, -0.99, 0.5, 0.0];
        let map = |x: &[f64]| Ok(x.iter().zip(a).map(|(x, a)| a * x + 1.0).collect());
        let found = find("x", vec![0.0; 4], 1e-9, map, |_| true).unwrap();
        for (x, a) in found.iter().zip(a) {
            assert!((x * (1.0 - a) - 1.0).abs() < 1e-8, "{found:?}");
        }
    }

    #[test]
    fn a_map_without_fixed_point_is_an_error() {
        assert!(find("x", vec![0.0], 1e-9, |x| Ok(vec![x[0] + 1.0]), |_| true).is_err());
    }
}
