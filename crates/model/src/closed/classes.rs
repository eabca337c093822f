//! Classes of pages: pages of a class are written equally often.

use crate::{HotCold, ModelError};

/// A class of logical pages that are written equally often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Share of the logical pages, f.
    pub pages: f64,
    /// Share of the writes, r.
    pub writes: f64,
}

impl Class {
    /// The rate at which a page is written, relative to the mean page: r / f.
    pub fn rate(&self) -> f64 {
        self.writes / self.pages
    }
}

/// The classes that make up all logical pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes(Vec<Class>);

/// Classes that stand for a Zipf distribution.
///
/// The classes have equal widths w in the logarithm of the rank, so the logarithm of the rate of
/// writes falls by theta w across each. The mean rate stands for all pages of a class. This is off
/// by at most (theta w)^2 / 24 of the rate's curvature: below 1e-6 of the write amplification for
/// 2^32 pages and theta up to 1.2. A test shows this with four times as many classes.
pub const ZIPF_CLASSES: usize = 4096;

/// Most pages of a Zipf distribution: more than any drive has, and ranks are still exact.
pub const MOST_PAGES: u64 = 1 << 48;

/// The largest exponent of a Zipf distribution.
pub const LARGEST_THETA: f64 = 100.0;

impl Classes {
    /// One class: uniform writes.
    pub fn uniform() -> Self {
        Self(vec![Class { pages: 1.0, writes: 1.0 }])
    }

    /// Classes with these shares of the pages and of the writes.
    ///
    /// # Errors
    /// No class, a class without pages, a negative share of the writes, shares that do not sum to
    /// 1.
    pub fn new(classes: impl IntoIterator<Item = Class>) -> Result<Self, ModelError> {
        let classes: Vec<Class> = classes.into_iter().collect();
        for (k, class) in classes.iter().enumerate() {
            let wrong = |what: &str, found: f64, expected: &str| {
                Err(ModelError::new(
                    format!("class {k}: found a share {found} of the {what}, expected {expected}"),
                    "each class has a share of the pages and a share of the writes",
                ))
            };
            if !(class.pages > 0.0 && class.pages <= 1.0) {
                return wrong("pages", class.pages, "more than 0 and at most 1");
            }
            if !(0.0..=1.0).contains(&class.writes) {
                return wrong("writes", class.writes, "0 to 1");
            }
        }
        for (what, sum) in [
            ("pages", classes.iter().map(|class| class.pages).sum::<f64>()),
            ("writes", classes.iter().map(|class| class.writes).sum()),
        ] {
            if classes.is_empty() || (sum - 1.0).abs() > 1e-9 {
                return Err(ModelError::new(
                    format!(
                        "classes: found shares of the {what} that sum to {}, expected 1",
                        sum + 0.0
                    ),
                    "give all classes, the read-only ones too",
                ));
            }
        }
        Ok(Self(classes))
    }

    /// Zipf: the page of rank k is written in proportion to 1 / k^theta, k = 1..`pages`; in
    /// [`ZIPF_CLASSES`] classes.
    ///
    /// # Errors
    /// No pages or more than [`MOST_PAGES`]; theta outside 0 to [`LARGEST_THETA`].
    pub fn zipf(theta: f64, pages: u64) -> Result<Self, ModelError> {
        Self::zipf_in(theta, pages, ZIPF_CLASSES)
    }

    /// Zipf in about `count` classes; see [`Classes::zipf`].
    ///
    /// # Errors
    /// As for [`Classes::zipf`].
    pub fn zipf_in(theta: f64, pages: u64, count: usize) -> Result<Self, ModelError> {
        if !(0.0..=LARGEST_THETA).contains(&theta) {
            return Err(ModelError::new(
                format!("theta: found {theta}, expected 0 to {LARGEST_THETA}"),
                "0 is uniform, 0.99 is YCSB's",
            ));
        }
        if !(1..=MOST_PAGES).contains(&pages) {
            return Err(ModelError::new(
                format!("pages: found {pages} logical pages, expected 1 to {MOST_PAGES}"),
                "a drive of 4096 blocks of 256 pages has about a million",
            ));
        }
        let width = (pages as f64).ln() / count as f64;
        let (mut classes, mut sums) = (Vec::new(), Vec::new());
        let mut first = 1u64;
        for k in 1..=count {
            let end = if k == count { pages } else { ((width * k as f64).exp()) as u64 };
            if end < first {
                continue;
            }
            classes.push((end - first + 1) as f64 / pages as f64);
            sums.push(power_sum(first, end, theta));
            first = end + 1;
        }
        let total: f64 = sums.iter().sum();
        let classes = classes.iter().zip(&sums);
        Ok(Self(classes.map(|(&pages, sum)| Class { pages, writes: sum / total }).collect()))
    }

    /// Returns `true` if all pages are written equally often.
    pub fn is_uniform(&self) -> bool {
        self.0.iter().all(|class| (class.rate() - 1.0).abs() < 1e-12)
    }
}

impl From<HotCold> for Classes {
    fn from(shares: HotCold) -> Self {
        let (f, r) = (shares.f(), shares.r());
        Self(vec![Class { pages: f, writes: r }, Class { pages: 1.0 - f, writes: 1.0 - r }])
    }
}

impl std::ops::Deref for Classes {
    type Target = [Class];

    fn deref(&self) -> &[Class] {
        &self.0
    }
}

/// first^-theta + ... + last^-theta.
fn power_sum(first: u64, last: u64, theta: f64) -> f64 {
    let power = |rank: u64| (rank as f64).powf(-theta);
    // Ranks up to `exact` are summed one by one. The others are summed by Euler and Maclaurin's
    // formula, whose next term is below 1e-16 of the sum.
    let exact = last.min((first + 63).max(63));
    let head: f64 = (first..=exact).map(power).sum();
    if exact == last {
        return head;
    }
    let (a, b) = ((exact + 1) as f64, last as f64);
    let (at_a, at_b) = (a.powf(-theta), b.powf(-theta));
    let ratio = (b / a).ln() * (1.0 - theta);
    // The integral of x^-theta from a to b, also where theta is near 1.
    let integral = if ratio.abs() < 1e-5 {
        a * at_a * (b / a).ln() * (1.0 + ratio / 2.0 + ratio * ratio / 6.0)
    } else {
        a * at_a * ratio.exp_m1() / (1.0 - theta)
    };
    let slope = theta * (at_a / a - at_b / b) / 12.0;
    let third = theta * (theta + 1.0) * (theta + 2.0);
    let bend = third * (at_a / a.powi(3) - at_b / b.powi(3)) / 720.0;
    head + integral + (at_a + at_b) / 2.0 + slope - bend
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_sums_are_those_of_the_ranks_one_by_one() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.000_001, 2.0, 7.5] {
            for (first, last) in [(1, 1), (1, 64), (1, 100_000), (60, 70), (1000, 50_000)] {
                let naive: f64 =
                    (first..=last).rev().map(|rank: u64| (rank as f64).powf(-theta)).sum();
                let sum = power_sum(first, last, theta);
                assert!((sum / naive - 1.0).abs() < 1e-13, "{theta} {first} {last}");
            }
        }
    }
}
