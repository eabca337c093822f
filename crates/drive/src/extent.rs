//! The length of a run and of its warm-up: as people type them, and in pages, collections or
//! requests on a given drive.

use flashgc_base::spec::SpecError;
use serde::{Deserialize, Serialize};

/// The unit of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Pages written by the host.
    Writes,
    /// Calls of the victim policy.
    Collections,
    /// Page commands of any kind, reads included.
    Requests,
}

/// A number of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The unit.
    pub unit: Unit,
    /// How many.
    pub amount: u64,
}

/// How long a run is, as typed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// `20x` drive writes (the logical capacity so many times), or a number of pages.
    Writes(String),
    /// Calls of the victim policy.
    Collections(u64),
    /// Page commands, reads included; a trace is replayed until it has given as many.
    Requests(u64),
    /// Replays of a trace.
    Passes(u64),
    /// Until `first-failure` or `system-failure`, whatever that takes.
    Until(String),
}

/// How much of a run is warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warmup {
    /// This share of the run's length.
    Share(f64),
    /// So many drive writes before the run's length begins.
    DriveWrites(f64),
    /// So many page writes before the run's length begins.
    Pages(u64),
    /// Found afterwards from the run itself (MSER), at most its first half.
    Auto,
}

const WARMUP_HINT: &str = "write a share such as 1/3 or 0.3 or 30%, drive writes such as 10x, a \
                           number of pages such as 1000000, or auto";

impl Warmup {
    /// Reads `1/3`, `0.3`, `30%`, `10x`, `1000000` or `auto`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let fault = || SpecError::new(format!("warm-up '{text}' is not understood"), WARMUP_HINT);
        if text == "auto" {
            return Ok(Self::Auto);
        }
        if let Some(count) = text.strip_suffix('x') {
            return Ok(Self::DriveWrites(positive(count).ok_or_else(fault)?));
        }
        let share = if let Some((over, under)) = text.split_once('/') {
            Some(positive(over).ok_or_else(fault)? / positive(under).ok_or_else(fault)?)
        } else if let Some(percent) = text.strip_suffix('%') {
            Some(positive(percent).ok_or_else(fault)? / 100.0)
        } else if text.contains('.') || text == "0" {
            Some(positive(text).ok_or_else(fault)?)
        } else {
            None
        };
        match share {
            Some(share) if (0.0..1.0).contains(&share) => Ok(Self::Share(share)),
            Some(share) => Err(SpecError::new(
                format!("warm-up '{text}' is {share} of the run, expected less than all of it"),
                WARMUP_HINT,
            )),
            None => whole(text).map(Self::Pages).ok_or_else(fault),
        }
    }
}

/// The warm-up and the measured part of a run, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Run first and not measured.
    pub warmup: Extent,
    /// Measured.
    pub measured: Extent,
}

impl Plan {
    /// The extents of `warmup` and `length` on a drive of `logical_pages`, for a workload that
    /// gives `pass` page commands a replay (`None` if it has no end).
    pub fn new(
        warmup: Warmup,
        length: &Length,
        logical_pages: u32,
        pass: Option<u64>,
    ) -> Result<Self, SpecError> {
        let pages = f64::from(logical_pages);
        let total = match length {
            Length::Writes(text) => {
                let amount = match text.strip_suffix('x') {
                    Some(times) => positive(times).map(|times| (times * pages).round() as u64),
                    None => whole(text),
                };
                let amount = amount.ok_or_else(|| {
                    SpecError::new(
                        format!("run length '{text}' is not understood"),
                        "write drive writes such as 20x, or a number of pages such as 1000000",
                    )
                })?;
                Extent { unit: Unit::Writes, amount }
            }
            Length::Collections(amount) => Extent { unit: Unit::Collections, amount: *amount },
            Length::Requests(amount) => Extent {
                unit: Unit::Requests,
                // Whole replays, so that every part of the trace counts alike.
                amount: pass.map_or(*amount, |pass| amount.div_ceil(pass.max(1)) * pass),
            },
            Length::Passes(count) => {
                let pass = pass.ok_or_else(|| {
                    SpecError::new(
                        "passes only apply to traces, and the workload is a generator",
                        "give --writes, for example --writes 20x",
                    )
                })?;
                Extent { unit: Unit::Requests, amount: count.saturating_mul(pass) }
            }
            Length::Until(end) => {
                return Err(SpecError::new(
                    format!("a run until {end} needs an endurance, found none"),
                    "give --endurance, for example --endurance 1000",
                ));
            }
        };
        let before = match warmup {
            Warmup::Share(share) => {
                let amount = (share * total.amount as f64).round() as u64;
                Extent { unit: total.unit, amount }
            }
            Warmup::DriveWrites(times) => {
                Extent { unit: Unit::Writes, amount: (times * pages).round() as u64 }
            }
            Warmup::Pages(amount) => Extent { unit: Unit::Writes, amount },
            Warmup::Auto => Extent { unit: total.unit, amount: 0 },
        };
        let measured = match warmup {
            Warmup::Share(_) => Extent { amount: total.amount - before.amount, ..total },
            _ => total,
        };
        if measured.amount == 0 {
            return Err(SpecError::new(
                "the run's length is 0, expected at least 1",
                "give --writes, for example --writes 20x",
            ));
        }
        Ok(Self { warmup: before, measured })
    }
}

fn positive(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
}

/// A whole number; `1e6` and `1_000_000` are fine, `1.5` is not.
fn whole(text: &str) -> Option<u64> {
    let text = text.trim().replace('_', "");
    text.parse().ok().or_else(|| {
        let value = positive(&text)?;
        (value.fract() == 0.0 && value < 9e15).then_some(value as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(warmup: &str, length: Length) -> Plan {
        Plan::new(Warmup::parse(warmup).unwrap(), &length, 1000, Some(300)).unwrap()
    }

    #[test]
    fn a_share_is_part_of_the_length_and_drive_writes_come_before_it() {
        let plan_of = plan("1/3", Length::Collections(250_000));
        assert_eq!(plan_of.warmup, Extent { unit: Unit::Collections, amount: 83_333 });
        assert_eq!(plan_of.measured, Extent { unit: Unit::Collections, amount: 166_667 });
        let plan_of = plan("10x", Length::Writes("20x".into()));
        assert_eq!(plan_of.warmup, Extent { unit: Unit::Writes, amount: 10_000 });
        assert_eq!(plan_of.measured, Extent { unit: Unit::Writes, amount: 20_000 });
        assert_eq!(plan("auto", Length::Writes("1e6".into())).warmup.amount, 0);
        assert_eq!(plan("0", Length::Writes("10".into())).measured.amount, 10);
    }

    #[test]
    fn traces_are_replayed_whole() {
        let plan_of = plan("0", Length::Requests(1000));
        assert_eq!(plan_of.measured, Extent { unit: Unit::Requests, amount: 1200 });
        assert_eq!(plan("0", Length::Passes(2)).measured.amount, 600);
        let no_end = Plan::new(Warmup::Share(0.0), &Length::Passes(2), 1000, None);
        assert!(no_end.unwrap_err().to_string().contains("passes only apply to traces"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "x", "1/0", "-1", "150%", "3/2", "nan", "abc", "1.5.2"] {
            assert!(Warmup::parse(text).is_err(), "{text}");
        }
        for text in ["", "x", "-1", "1.5", "inf", "0", "0x"] {
            let made = Plan::new(Warmup::Auto, &Length::Writes(text.into()), 1000, None);
            assert!(made.is_err(), "{text}");
        }
    }
}
