//! Endurance: how many erases each block withstands, and when a drive fails.

use std::fmt;

use crate::frontier::Frontier;
use flashgc_base::naming::subject;
use flashgc_base::rng::Stream;
use flashgc_base::spec::{Param, Params, Spec, SpecError, suggest};

/// The entry of one law of endurance in listings and help texts.
pub struct EnduranceInfo {
    /// The name people type.
    pub name: &'static str,
    /// A summary of one line.
    pub summary: &'static str,
    /// The parameters that the law takes.
    pub params: &'static [Param],
}

/// The largest number of erases that people may give as a parameter.
const MOST: u64 = 1_000_000_000;

const fn erases(name: &'static str, help: &'static str) -> Param {
    Param::integer(name, (1, MOST), None).help(help)
}

/// The parameter that all laws have: what a block bears in SLC mode.
const OF_SLC: Param = Param::integer("slc", (0, MOST), Some("0")).help(
    "erases that it withstands with one bit a cell, in an SLC region; 0 is as many as with more",
);

static LAWS: &[EnduranceInfo] = &[
    EnduranceInfo {
        name: "fixed",
        summary: "the same number of erases for every block; a plain number means the same",
        params: &[erases("limit", "erases that a block withstands"), OF_SLC],
    },
    EnduranceInfo {
        name: "normal",
        summary: "drawn for each block from a normal distribution; draws below 1 are repeated",
        params: &[
            erases("mean", "mean number of erases"),
            Param::share("cv", Some("0.1")).help("standard deviation divided by the mean"),
            OF_SLC,
        ],
    },
    EnduranceInfo {
        name: "weibull",
        summary: "drawn for each block from a Weibull distribution, the usual law of wear-out",
        params: &[
            erases("scale", "erases that 36.8% (1/e) of the blocks survive"),
            Param::real("shape", (0.5, 1000.0), Some("10")).help(
                "the larger, the more alike the blocks; 10 is a coefficient of variation of 0.12",
            ),
            OF_SLC,
        ],
    },
];

/// Every law of endurance, in the order in which listings show them.
pub fn endurance_laws() -> &'static [EnduranceInfo] {
    LAWS
}

/// The erases that blocks bear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endurance {
    /// The law of the erases with all bits in a cell.
    pub law: Law,
    /// The erases with one bit a cell of a block that bears [`Law::nominal`] otherwise; `None` if both
    /// modes wear a block alike.
    pub slc: Option<u32>,
}

/// A law of the erases that blocks bear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// All blocks bear the same number of erases.
    Fixed {
        /// Erases that a block bears.
        limit: u32,
    },
    /// The numbers of erases are normally distributed.
    Normal {
        /// Mean number of erases.
        mean: u32,
        /// Standard deviation divided by the mean.
        cv: f64,
    },
    /// The numbers of erases have a Weibull distribution.
    Weibull {
        /// Erases that 1/e of the blocks bear.
        scale: u32,
        /// The shape parameter.
        shape: f64,
    },
}

impl From<Law> for Endurance {
    fn from(law: Law) -> Self {
        Self { law, slc: None }
    }
}

impl Endurance {
    /// All blocks bear `limit` erases.
    pub fn fixed(limit: u32) -> Self {
        Law::Fixed { limit }.into()
    }

    /// The erases are normally distributed, with this mean and coefficient of variation.
    pub fn normal(mean: u32, cv: f64) -> Self {
        Law::Normal { mean, cv }.into()
    }

    /// Reads `text`, for example `1000`, `normal:mean=1000,cv=0.1`, `weibull:scale=1000,shape=10`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let mut spec = Spec::parse(text)?;
        if spec.name.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) {
            let limit = std::mem::replace(&mut spec.name, "fixed".to_string());
            spec.params.insert(0, ("limit".to_string(), limit));
        }
        let Some(info) = LAWS.iter().find(|info| info.name == spec.name) else {
            return Err(SpecError::new(
                format!("unknown endurance '{}'", spec.name),
                match suggest(&spec.name, LAWS.iter().map(|info| info.name)) {
                    hint if hint.starts_with("known") => format!("{hint}; or a number of erases"),
                    hint => hint,
                },
            ));
        };
        let params = Params::resolve(&spec, info.params)?;
        let erases = |name| params.integer(name) as u32;
        let law = match info.name {
            "fixed" => Law::Fixed { limit: erases("limit") },
            "normal" => Law::Normal { mean: erases("mean"), cv: params.real("cv") },
            _ => Law::Weibull { scale: erases("scale"), shape: params.real("shape") },
        };
        Ok(Self { law, slc: Some(erases("slc")).filter(|&limit| limit > 0) })
    }

    /// The mean number of erases that a block bears, before rounding.
    pub fn mean(self) -> f64 {
        self.law.mean()
    }

    /// The limits of `blocks` blocks in erases, each at least 1.
    pub fn limits(self, blocks: u32, rng: &mut Stream) -> Vec<u32> {
        (0..blocks).map(|_| self.law.limit(rng)).collect()
    }
}

impl Law {
    /// The number of erases by which people name the law: its limit, mean or scale.
    pub fn nominal(self) -> u32 {
        match self {
            Self::Fixed { limit: erases }
            | Self::Normal { mean: erases, .. }
            | Self::Weibull { scale: erases, .. } => erases,
        }
    }

    /// The mean number of erases that a block bears, before rounding.
    pub fn mean(self) -> f64 {
        match self {
            Self::Fixed { limit } => f64::from(limit),
            Self::Normal { mean, .. } => f64::from(mean),
            Self::Weibull { scale, shape } => f64::from(scale) * libm::tgamma(1.0 + 1.0 / shape),
        }
    }

    fn limit(self, rng: &mut Stream) -> u32 {
        match self {
            Self::Fixed { limit } => limit,
            Self::Normal { mean, cv } => loop {
                // The method of Box and Muller 1958. It gives two numbers, of which the second is
                // not used.
                let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.unit()));
                let z = radius * libm::cos(std::f64::consts::TAU * rng.unit());
                let limit = (f64::from(mean) * (1.0 + cv * z)).round();
                if limit >= 1.0 {
                    return limit as u32;
                }
            },
            Self::Weibull { scale, shape } => {
                let unit = -libm::log(1.0 - rng.unit());
                (f64::from(scale) * libm::pow(unit, 1.0 / shape)).round().max(1.0) as u32
            }
        }
    }
}

/// Writes the spec with every parameter.
impl fmt::Display for Endurance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.law {
            Law::Fixed { limit } => write!(f, "fixed:limit={limit}"),
            Law::Normal { mean, cv } => write!(f, "normal:mean={mean},cv={cv}"),
            Law::Weibull { scale, shape } => write!(f, "weibull:scale={scale},shape={shape}"),
        }?;
        self.slc.map_or(Ok(()), |limit| write!(f, ",slc={limit}"))
    }
}

/// The event that ends a drive's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOfLife {
    /// A block has reached its limit.
    FirstFailure,
    /// An erased block is needed, and none is left.
    SystemFailure,
}

impl EndOfLife {
    const NAMES: [(&'static str, Self); 2] =
        [("first-failure", Self::FirstFailure), ("system-failure", Self::SystemFailure)];

    /// The names that people type for the ends of life.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|&(name, _)| name)
    }

    /// The name of this event.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|&&(_, known)| known == self).map_or("", |&(name, _)| name)
    }

    /// Reads one of [`EndOfLife::names`].
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|&(_, end)| end).ok_or_else(|| {
            SpecError::new(format!("unknown end '{text}'"), suggest(text, Self::names()))
        })
    }
}

/// The lifetime of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifespan {
    /// The erases that its blocks bear.
    pub endurance: Endurance,
    /// The event that makes the drive read-only.
    pub ends_at: EndOfLife,
}

impl Lifespan {
    /// Checks that a drive with this frontier can put another block in the place of a bad one.
    pub(crate) fn check(self, frontier: Frontier) -> Result<(), SpecError> {
        frontier.check_pool(
            subject("endurance"),
            "without a pool no erased block can replace a bad one",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(text: &str) -> (f64, f64, Vec<u32>) {
        let law = Endurance::parse(text).unwrap();
        let limits = law.limits(100_000, &mut Stream::new(3, "endurance"));
        let n = limits.len() as f64;
        let mean = limits.iter().map(|&limit| f64::from(limit)).sum::<f64>() / n;
        let squares = limits.iter().map(|&limit| (f64::from(limit) - mean).powi(2)).sum::<f64>();
        (mean, (squares / n).sqrt() / mean, limits)
    }

    #[test]
    fn limits_have_the_mean_and_the_spread_of_their_law() {
        // Five standard errors of 100 000 draws are 0.016 cv for the mean and 1.1% for the
        // deviation, as shares of each.
        let (mean, cv, _) = sample("normal:mean=1000,cv=0.1");
        assert!((mean - 1000.0).abs() < 1.6 && (cv / 0.1 - 1.0).abs() < 0.011, "{mean} {cv}");
        // Gamma(1.1) = 0.951350770, Gamma(1.2) = 0.918168742 (tables): the mean is 951.35 and the
        // coefficient of variation sqrt(0.918168742 / 0.951350770^2 - 1) = 0.12027.
        let (mean, cv, limits) = sample("weibull:scale=1000,shape=10");
        assert!((mean - 951.35).abs() < 1.9 && (cv / 0.120_27 - 1.0).abs() < 0.02, "{mean} {cv}");
        assert!((Endurance::parse("weibull:scale=1000").unwrap().mean() - 951.350_77).abs() < 1e-3);
        // 1/e of the blocks bear the scale; five standard errors are 0.0076.
        let bear = limits.iter().filter(|&&limit| limit >= 1000).count() as f64 / 1e5;
        assert!((bear - (-1f64).exp()).abs() < 0.0076, "{bear}");
    }

    #[test]
    fn limits_are_at_least_one_and_without_spread_all_alike() {
        assert!(sample("normal:mean=2,cv=1").2.iter().all(|&limit| limit >= 1));
        assert!(sample("weibull:scale=1,shape=0.5").2.iter().all(|&limit| limit >= 1));
        assert!(sample("normal:mean=77,cv=0").2.iter().all(|&limit| limit == 77));
        assert!(sample("77").2.iter().all(|&limit| limit == 77));
    }

    /// Draws 100 000 limits. Panics unless the share of them for which `is_meant` holds is
    /// `expected`, within five standard errors.
    fn assert_share(text: &str, is_meant: impl Fn(u32) -> bool, expected: f64) {
        let limits = sample(text).2;
        let share = limits.iter().filter(|&&limit| is_meant(limit)).count() as f64 / 1e5;
        let error = 5.0 * (expected * (1.0 - expected) / 1e5).sqrt();
        assert!((share - expected).abs() < error, "{text}: {share}, expected {expected}");
    }

    #[test]
    fn limits_are_rounded_to_the_nearest_and_those_below_one_are_one_or_drawn_anew() {
        // Weibull: P(limit > x) = exp(-(x / scale)^shape). Each draw below 1.5 gives 1, even one
        // below 0.5.
        let more = |x: f64, scale: f64, shape: f64| (-(x / scale).powf(shape)).exp();
        let text = "weibull:scale=3,shape=2";
        assert_share(text, |limit| limit == 1, 1.0 - more(1.5, 3.0, 2.0));
        assert_share(text, |limit| limit == 2, more(1.5, 3.0, 2.0) - more(2.5, 3.0, 2.0));
        assert_share(text, |limit| limit > 4, more(4.5, 3.0, 2.0));
        // Normal with mean 2 and deviation 1; draws below 0.5 are repeated. With Phi(-1.5) =
        // 0.066807 and Phi(-0.5) = 0.308538 from a table, the share of 1 is 0.241731 / 0.933193.
        assert_share("normal:mean=2,cv=0.5", |limit| limit == 1, 0.241_731 / 0.933_193);
    }

    #[test]
    fn a_number_is_a_fixed_limit_and_faults_name_what_to_try() {
        assert_eq!(Endurance::parse("1_000").unwrap(), Endurance::fixed(1000));
        let slc = Endurance { slc: Some(30_000), ..Endurance::fixed(3000) };
        assert_eq!(Endurance::parse("3000:slc=30_000").unwrap(), slc);
        assert_eq!(slc.to_string(), "fixed:limit=3000,slc=30000");
        for text in ["fixed:limit=7", "normal:mean=1000,cv=0.25", "weibull:scale=9,shape=2"] {
            assert_eq!(Endurance::parse(text).unwrap().to_string(), text);
        }
        let error = |text| Endurance::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("0"),
            "fixed: limit=0 is not a whole number from 1 to 1000000000; hint: erases that a block \
             withstands, for example limit=1"
        );
        assert_eq!(error("nromal"), "unknown endurance 'nromal'; hint: did you mean 'normal'?");
        assert_eq!(
            error("long"),
            "unknown endurance 'long'; hint: known: fixed, normal, weibull; or a number of erases"
        );
        assert!(error("normal").contains("needs the parameter 'mean'"));
        assert!(error("-5").contains("limit=-5 is not a whole number"));
    }
}
