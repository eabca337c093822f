//! The effect of first-in, first-out cleaning on data, by the age at which a block is cleaned.
//!
//! Let v be the mean number of writes of a page while its block grows old. The page is still valid
//! when the block is cleaned if none of them happens, which has the probability exp(-v). The
//! functions here lose no digits for small v, which means scarce spare space.

use std::f64::consts::LN_2;

/// The largest |z| for which the series is taken: its first omitted term is below 1e-17 there.
const SERIES: f64 = 0.5;

/// psi(z) = z / (1 - exp(-z)) - 1 for z >= 0: it rises from 0, convex, to z - 1.
pub(crate) fn psi(z: f64) -> f64 {
    if z < SERIES {
        // Bernoulli numbers over factorials: B_2k / (2k)!.
        let s = z * z;
        return z / 2.0
            + s * (1.0 / 12.0
                - s * (1.0 / 720.0
                    - s * (1.0 / 30_240.0
                        - s * (1.0 / 1_209_600.0
                            - s * (1.0 / 47_900_160.0 - s * (691.0 / 1_307_674_368_000.0))))));
    }
    z / -(-z).exp_m1() - 1.0
}

/// The derivative of [`psi`], given its value.
pub(crate) fn psi_slope(z: f64, psi: f64) -> f64 {
    if z == 0.0 { 0.5 } else { (1.0 + psi) * (z - psi) / z }
}

/// ln(-A'(alpha)): the logarithm of the gain from a little more spare space. A(alpha) = alpha / v
/// is the write amplification of first-in, first-out cleaning, and alpha = 1 + psi(v).
pub(crate) fn log_gain(v: f64) -> f64 {
    // -A' = chi / (v (1 - chi)). Here chi = v / (exp(v) - 1), and 1 - chi = v - psi.
    let log_chi = v.ln() - if v < LN_2 { v.exp_m1().ln() } else { v + (-(-v).exp()).ln_1p() };
    log_chi - v.ln() - (v - psi(v)).ln()
}
