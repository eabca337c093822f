//! The length of a run and of its warm-up: as people type them, and in pages, collections or
//! requests on a given drive.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, count};
use serde::{Deserialize, Serialize};

use crate::passes::Rule;
use crate::settling::Doubling;

/// The number of intervals that the measured part is cut into.
pub const INTERVALS: u64 = 120;

/// The unit of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Pages written by the host.
    Writes,
    /// Calls of the victim policy.
    Collections,
    /// Page commands of any kind, reads included. Behind a host's cache, the commands of the
    /// application count.
    Commands,
}

/// A number of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The unit.
    pub unit: Unit,
    /// The length in these units.
    pub amount: u64,
}

/// The length of a run, as typed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// A number of drive writes such as `20x`, multiples of the logical capacity, or a number of
    /// pages.
    Writes(String),
    /// A number of calls of the victim policy.
    Collections(u64),
    /// A number of requests of the host, reads included; a trace is replayed until it has given
    /// this number.
    Requests(u64),
    /// A number of replays of a trace.
    Passes(u64),
    /// Until amplification has settled: replays of a trace, or drive writes of a workload without
    /// end, but at most this number.
    Settled(u64),
    /// A run until `first-failure` or `system-failure`, however long it takes.
    Until(String),
}

/// The part of a run that is warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warmup {
    /// This share of the run's length.
    Share(f64),
    /// This number of drive writes before the run's length begins.
    DriveWrites(f64),
    /// This number of page writes before the run's length begins.
    Pages(u64),
    /// Half of the run.
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

/// One replay of a trace on a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The number of page commands of any kind.
    pub commands: u64,
    /// The number of page writes among them.
    pub writes: u64,
}

/// The warm-up and the measured part of a run, in units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The extent that runs first and is not measured.
    pub warmup: Extent,
    /// The extent that is measured; for a trace that is replayed until it has settled, one pass.
    pub measured: Extent,
    /// The number of whole passes that are measured, for a trace.
    pub passes: Option<u64>,
    /// The rule that ends the replays of a trace; `None` if the length of the run is given.
    pub rule: Option<Rule>,
    /// The rule that ends the run of a workload without end; `None` if the length of the run is
    /// given.
    pub doubling: Option<Doubling>,
}

/// The most page commands that a run may take for its page writes, if nearly all of them are reads
/// or discards: ten seconds' worth of reads.
const MOST_FOR_WRITES: u64 = 2_000_000_000;

/// A trace with at least this number of page commands for each page write has few writes.
const FEW_WRITES: u64 = 100;

impl Pass {
    /// Returns the number of replays that have `writes` page writes.
    ///
    /// # Errors
    /// The number of replays, if nearly all commands are reads or discards, and the replays have
    /// more than `most` commands altogether. Each replay has `commands` of them.
    pub fn replays_of(self, writes: u64, commands: u64, most: u64) -> Result<u64, u64> {
        let replays = writes.div_ceil(self.writes.max(1));
        let is_far = u128::from(replays) * u128::from(commands) > u128::from(most);
        if is_far && commands / self.writes.max(1) >= FEW_WRITES {
            Err(replays)
        } else {
            Ok(replays)
        }
    }

    /// Checks that the replays of a trace do not take too long to give the page writes of `warmup`
    /// and `measured`.
    fn check(self, warmup: Extent, measured: Extent) -> Result<(), SpecError> {
        // A collection needs at least one page write.
        let of = |extent: Extent| if extent.unit == Unit::Commands { 0 } else { extent.amount };
        let (before, after) = (of(warmup), of(measured));
        let needed = before.saturating_add(after);
        refuse_if!(
            needed > 0 && self.writes == 0,
            choice("paging", "covered"),
            "the trace has no page writes on the pages of the drive"
        );
        let Err(replays) = self.replays_of(needed, self.commands, MOST_FOR_WRITES) else {
            return Ok(());
        };
        let hint = if before > after {
            choice("warmup", "1/3")
        } else {
            format!("{} in place of that length", choice("passes", 100))
        };
        let least = if measured.unit == Unit::Collections { "at least " } else { "" };
        Err(SpecError::new(
            format!(
                "the run waits for {least}{}, and they take {}: the trace has {} among {}",
                count(needed, "page write"),
                count(replays, "replay"),
                count(self.writes, "page write"),
                count(self.commands, "page command"),
            ),
            hint,
        ))
    }
}

impl Plan {
    /// Returns the extents of `warmup` and `length` on a drive of `logical_pages`, for a workload
    /// that gives `pass` page commands a replay (`None` if it has no end). `commands(n)` gives the
    /// number of page commands of the first n requests of the workload.
    ///
    /// # Errors
    /// A length or a warm-up that the workload cannot have; an error of `commands`.
    pub fn new(
        warmup: Warmup,
        length: &Length,
        logical_pages: u32,
        pass: Option<Pass>,
        commands: impl Fn(u64) -> Result<u64, SpecError>,
    ) -> Result<Self, SpecError> {
        let only_traces = || {
            SpecError::new(
                format!("{} only applies to traces: a generator has no end", subject("passes")),
                format!("give {}", choice("writes", "20x")),
            )
        };
        let a_pass = pass.map(|pass| pass.commands.max(1));
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
            Length::Requests(amount) => Extent { unit: Unit::Commands, amount: commands(*amount)? },
            Length::Passes(count) => {
                let pass = a_pass.ok_or_else(only_traces)?;
                Extent { unit: Unit::Commands, amount: count.saturating_mul(pass) }
            }
            Length::Settled(_) => {
                Extent { unit: Unit::Commands, amount: a_pass.ok_or_else(only_traces)? }
            }
            Length::Until(end) => {
                return Err(without_endurance(end));
            }
        };
        let before = match warmup {
            // The warm-up will be some whole passes of the run.
            Warmup::Share(_) | Warmup::Auto if matches!(length, Length::Settled(_)) => {
                Extent { unit: Unit::Commands, amount: 0 }
            }
            Warmup::Share(share) => {
                let is_whole =
                    |pass: &u64| total.unit == Unit::Commands && total.amount.is_multiple_of(*pass);
                let passes = a_pass.filter(is_whole);
                Extent { unit: total.unit, amount: share_of(share, total.amount, passes) }
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
        let whole = a_pass.filter(|pass| {
            measured.unit == Unit::Commands && measured.amount.is_multiple_of(*pass)
        });
        let passes = whole.map(|pass| measured.amount / pass);
        refuse_if!(
            warmup == Warmup::Auto && passes == Some(1) && !matches!(length, Length::Settled(_)),
            format!("leave {} out, or give more", option("passes")),
            "{} auto takes at least one pass of a trace, and the run has one",
            subject("warmup")
        );
        refuse_if!(
            measured.amount == 0,
            format!("give {}", choice("writes", "20x")),
            "{}: the run has 0 pages, expected at least 1",
            subject("writes")
        );
        pass.map_or(Ok(()), |pass| pass.check(before, measured))?;
        let rule = match (length, pass) {
            (Length::Settled(most), Some(pass)) => Some(rule(warmup, pass, *most, logical_pages)),
            _ => None,
        };
        Ok(Self { warmup: before, measured, passes, rule, doubling: None })
    }

    /// Returns the plan of a run that is doubled until it has settled. Its workload has no end.
    pub fn doubled(rule: Doubling) -> Self {
        let unit = Unit::Writes;
        let (warmup, all) = (rule.first / 2, rule.until(1));
        Self {
            doubling: Some(rule),
            ..Self::of(Extent { unit, amount: warmup }, Extent { unit, amount: all - warmup })
        }
    }

    /// Returns the length of round number `round` of the measurement, from 0. Each later round
    /// lengthens the run.
    pub fn round(&self, round: u32) -> u64 {
        match &self.doubling {
            Some(rule) if round > 0 => rule.until(round + 1) - rule.until(round),
            _ => self.measured.amount,
        }
    }

    /// Returns the plan of a run that is not measured in the passes of a trace.
    pub fn of(warmup: Extent, measured: Extent) -> Self {
        Self { warmup, measured, passes: None, rule: None, doubling: None }
    }

    /// Returns the number of intervals that the measured part is cut into: the same number for each
    /// pass.
    pub fn intervals(&self) -> u64 {
        match (self.rule, self.passes) {
            (Some(_), _) => 1,
            (None, Some(passes)) => passes * INTERVALS.div_ceil(passes),
            (None, None) => INTERVALS,
        }
    }

    /// Returns the number of intervals of a pass, if the measured part is whole passes.
    pub fn intervals_of_a_pass(&self) -> Option<usize> {
        self.passes.map(|passes| (self.intervals() / passes) as usize)
    }
}

/// Returns the error of a run until the failure `end` of blocks that bear any number of erases.
pub fn without_endurance(end: &str) -> SpecError {
    SpecError::new(
        format!(
            "{} {end} needs {}: blocks that bear any number of erases do not fail",
            subject("until"),
            option("endurance")
        ),
        format!("add {}", choice("endurance", 1000)),
    )
}

/// Returns the rule by which a trace is replayed until it has settled.
fn rule(warmup: Warmup, pass: Pass, most: u64, logical_pages: u32) -> Rule {
    let share = match warmup {
        Warmup::Share(share) => share,
        Warmup::Auto => 1.0 / 3.0,
        // These writes come before the passes.
        Warmup::DriveWrites(_) | Warmup::Pages(_) => 0.0,
    };
    // Until the warm-up has written the drive once, most of the drive is as it was at first.
    let once = u64::from(logical_pages).div_ceil(pass.writes.max(1));
    let fewest = if share > 0.0 { (once as f64 / share).ceil() as u64 } else { once };
    Rule { warmup: share, fewest: fewest.min(most), most }
}

/// Returns `share` of `amount`. For several passes of a trace it is rounded up to whole passes, but
/// at least one pass is left.
fn share_of(share: f64, amount: u64, pass: Option<u64>) -> u64 {
    match pass {
        Some(pass) if amount >= 2 * pass => {
            // The 1e-9 makes a third of three passes one pass, although a binary fraction is never
            // exactly a third.
            let passes = (share * (amount / pass) as f64 - 1e-9).ceil() as u64;
            passes.min(amount / pass - 1) * pass
        }
        _ => (share * amount as f64).round() as u64,
    }
}

fn positive(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
}

/// Returns a whole number; `1e6` and `1_000_000` are fine, `1.5` is not.
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
    use flashgc_base::naming::Keywords;

    /// The page commands of requests of three pages each.
    fn three(requests: u64) -> Result<u64, SpecError> {
        Ok(3 * requests)
    }

    fn plan(warmup: &str, length: Length) -> Plan {
        let pass = Pass { commands: 300, writes: 200 };
        Plan::new(Warmup::parse(warmup).unwrap(), &length, 1000, Some(pass), three).unwrap()
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
    fn a_trace_with_few_writes_is_not_replayed_for_ever() {
        let of = |warmup: &str, length: Length, writes: u64| {
            let pass = Pass { commands: 93_312, writes };
            Plan::new(Warmup::parse(warmup).unwrap(), &length, 20_000, Some(pass), three)
                .map_err(|error| flashgc_base::naming::said(&error.marked(), &Keywords))
        };
        // By hand: 400,000 writes in 50,000 replays of 8. That is 4.7e9 commands.
        assert_eq!(
            of("0", Length::Writes("20x".into()), 8).unwrap_err(),
            "the run waits for 400000 page writes, and they take 50000 replays: the trace has 8 page \
             writes among 93312 page commands; hint: passes=100 in place of that length"
        );
        assert_eq!(
            of("10x", Length::Settled(100), 8).unwrap_err(),
            "the run waits for 200000 page writes, and they take 25000 replays: the trace has 8 page \
             writes among 93312 page commands; hint: warmup=\"1/3\""
        );
        let error = of("0", Length::Collections(200_000), 8).unwrap_err();
        assert!(error.starts_with("the run waits for at least 200000 page writes, and"), "{error}");
        // The lengths that the hints propose are accepted. So is a trace in which one command in a
        // hundred is a write, however long it takes.
        assert!(of("1/3", Length::Settled(100), 8).is_ok());
        assert!(of("0", Length::Passes(1 << 40), 8).is_ok());
        assert!(of("0", Length::Writes("1000000x".into()), 934).is_ok());
        assert!(of("0", Length::Writes("1000000x".into()), 933).is_err());
        // Without writes on the drive, no length in writes is ever reached.
        let none =
            "the trace has no page writes on the pages of the drive; hint: paging=\"covered\"";
        assert_eq!(of("0", Length::Writes("1".into()), 0).unwrap_err(), none);
        assert!(of("0", Length::Passes(2), 0).is_ok());
    }

    #[test]
    fn traces_are_replayed_whole() {
        // A length in requests is exact.
        let plan_of = plan("0", Length::Requests(250));
        assert_eq!(plan_of.measured, Extent { unit: Unit::Commands, amount: 750 });
        assert_eq!((plan_of.passes, plan("1/3", Length::Requests(250)).warmup.amount), (None, 250));
        assert_eq!(plan("0", Length::Requests(200)).passes, Some(2));
        assert_eq!(plan("0", Length::Passes(2)).measured.amount, 600);
        // The warm-up of several passes is whole passes. That of one pass is a part of it.
        for (share, passes, before) in
            [("1/3", 3, 300), ("1/3", 4, 600), ("1/2", 60, 9000), ("99%", 2, 300), ("1/3", 1, 100)]
        {
            let plan_of = plan(share, Length::Passes(passes));
            assert_eq!(plan_of.warmup.amount, before, "{share} of {passes}");
            assert_eq!(plan_of.measured.amount, 300 * passes - before);
        }
        let plan_of = plan("1/2", Length::Passes(8));
        assert_eq!((plan_of.passes, plan_of.intervals(), plan_of.rule), (Some(4), 120, None));
        assert_eq!(plan("0", Length::Passes(7)).intervals_of_a_pass(), Some(18));
        assert_eq!(plan("1/3", Length::Passes(1)).passes, None);
        assert_eq!(plan("0", Length::Writes("20x".into())).passes, None);
        let no_end = Plan::new(Warmup::Share(0.0), &Length::Passes(2), 1000, None, three);
        assert!(no_end.unwrap_err().to_string().contains("passes only applies to traces"));
    }

    #[test]
    fn a_trace_until_it_has_settled_is_measured_pass_by_pass() {
        let plan_of = plan("1/3", Length::Settled(100));
        assert_eq!((plan_of.warmup.amount, plan_of.measured.amount), (0, 300));
        assert_eq!((plan_of.intervals(), plan_of.intervals_of_a_pass()), (1, Some(1)));
        // Five passes of 200 writes write 1000 pages. They are a third of 15 passes.
        let rule = Rule { warmup: 1.0 / 3.0, fewest: 15, most: 100 };
        assert_eq!(
            (plan_of.rule, plan("auto", Length::Settled(100)).rule),
            (Some(rule), Some(rule))
        );
        let before = plan("2x", Length::Settled(4));
        assert_eq!(before.rule, Some(Rule { warmup: 0.0, fewest: 4, most: 4 }));
        assert_eq!(before.warmup, Extent { unit: Unit::Writes, amount: 2000 });
    }

    #[test]
    fn a_warm_up_that_is_found_takes_a_pass_of_a_trace() {
        let pass = Some(Pass { commands: 300, writes: 200 });
        let of = |passes| Plan::new(Warmup::Auto, &Length::Passes(passes), 1000, pass, three);
        let error = of(1).unwrap_err().to_string();
        assert!(error.starts_with("warmup auto takes at least one pass of a trace"), "{error}");
        assert_eq!(of(2).unwrap().intervals_of_a_pass(), Some(60));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "x", "1/0", "-1", "150%", "3/2", "nan", "abc", "1.5.2"] {
            assert!(Warmup::parse(text).is_err(), "{text}");
        }
        for text in ["", "x", "-1", "1.5", "inf", "0", "0x"] {
            let plan = Plan::new(Warmup::Auto, &Length::Writes(text.into()), 1000, None, three);
            assert!(plan.is_err(), "{text}");
        }
    }
}
