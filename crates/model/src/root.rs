//! Finds one root of a function within a bracket. No step of the search leaves the bracket.

use crate::ModelError;

/// Returns the root of `f` between `low` and `high`, exact to the last digits. The signs of `f` at
/// `low` and at `high` must differ.
///
/// Chandrupatla's method: inverse quadratic interpolation where it is safe, bisection elsewhere.
///
/// # Errors
/// Equal signs at both ends, or a value that is not a number; `what` names the quantity sought.
pub(crate) fn find(
    what: &str,
    low: f64,
    high: f64,
    mut f: impl FnMut(f64) -> f64,
) -> Result<f64, ModelError> {
    let (mut a, mut b) = (low, high);
    let (mut fa, mut fb) = (f(a), f(b));
    if fa == 0.0 {
        return Ok(a);
    }
    if fb == 0.0 {
        return Ok(b);
    }
    if fa.is_nan() || fb.is_nan() || (fa > 0.0) == (fb > 0.0) {
        return Err(ModelError::new(
            format!("{what}: no root between {low} and {high} (values {fa} and {fb})"),
            "these parameters are outside what the model can do",
        ));
    }
    let (mut c, mut fc);
    let mut t = 0.5;
    for _ in 0..MOST_STEPS {
        let x = a + t * (b - a);
        let fx = f(x);
        if fx.is_nan() {
            return Err(ModelError::new(
                format!("{what}: not a number at {x}"),
                "these parameters are outside what the model can do",
            ));
        }
        (c, fc) = if (fx > 0.0) == (fa > 0.0) {
            (a, fa)
        } else {
            let old = (b, fb);
            (b, fb) = (a, fa);
            old
        };
        (a, fa) = (x, fx);
        let (best, at_best) = if fa.abs() < fb.abs() { (a, fa) } else { (b, fb) };
        let tolerance = 2.0 * f64::EPSILON * best.abs() + f64::MIN_POSITIVE;
        let limit = tolerance / (b - a).abs();
        if at_best == 0.0 || limit > 0.5 {
            return Ok(best);
        }
        let (xi, phi) = ((a - b) / (c - b), (fa - fb) / (fc - fb));
        t = if phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi {
            fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        } else {
            0.5
        };
        t = t.clamp(limit, 1.0 - limit);
    }
    Err(ModelError::new(
        format!("{what}: not found between {low} and {high} in {MOST_STEPS} steps"),
        "this should not happen; please report the parameters",
    ))
}

/// Bisection alone needs about 1100 steps for the smallest numbers; interpolation needs 10.
const MOST_STEPS: u32 = 1200;

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn roots_are_exact_to_the_last_digits() {
        let root = find("x", 0.0, 2.0, |x| x * x - 2.0).unwrap();
        assert!((root - 2f64.sqrt()).abs() < 1e-15);
        assert_eq!(find("x", 0.0, 2.0, |x| x).unwrap(), 0.0);
        let steep = find("x", 1e-300, 1.0, |x| x.ln() + 500.0).unwrap();
        assert!((steep.ln() + 500.0).abs() < 1e-9);
    }

    #[test]
    fn a_bracket_without_a_root_is_an_error() {
        assert!(find("x", 1.0, 2.0, |x| x).is_err());
        assert!(find("x", -1.0, 2.0, |x| if x > 0.0 { f64::NAN } else { -1.0 }).is_err());
    }
}
