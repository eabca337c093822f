//! The rule by which erases and programs are suspended, and the operations that reached its limit.

use flashgc_base::described::Described;
use flashgc_base::snapshot::Value;
use serde::{Deserialize, Serialize};

use crate::config::{Counted, Suspend};

/// The erases and programs that had been suspended as often or as long as is allowed, so that an
/// operation had to wait for their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct Refused {
    /// The number of erases.
    pub erases: u64,
    /// The number of programs.
    pub programs: u64,
    /// The longest time that such an erase or program had left when the first operation began to
    /// wait for it, in nanoseconds.
    pub longest_ns: u64,
}

impl Refused {
    /// Returns the sums of the numbers, and the longest time of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            erases: self.erases + other.erases,
            programs: self.programs + other.programs,
            longest_ns: self.longest_ns.max(other.longest_ns),
        }
    }
}

/// The rule of suspension of a drive, and the erases and programs that reached its limit in the
/// measured parts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct Suspension {
    /// `true` if erases can be suspended.
    pub erases: bool,
    /// `true` if programs can be suspended.
    pub programs: bool,
    /// The largest number of times that one operation is suspended.
    pub most: u32,
    /// `true` if a request that is served while an operation is suspended counts as one more of
    /// these times, unless it came before the suspension.
    pub counts_requests: bool,
    /// The longest time for which one operation is suspended in all, in microseconds; `None` for
    /// any time.
    pub longest_us: Option<f64>,
    /// An erase is suspended only if at least this time of it is left, in microseconds.
    pub least_erase_us: f64,
    /// A program is suspended only if at least this time of it is left, in microseconds.
    pub least_program_us: f64,
    /// The time that a suspension takes before the die is free, in microseconds.
    pub suspend_us: f64,
    /// The extra time that a suspended operation needs when it goes on, in microseconds.
    pub resume_us: f64,
    /// The number of erases that had reached a limit, so that an operation waited for their end.
    pub spent_erases: u64,
    /// The number of programs that had reached a limit, so that an operation waited for their end.
    pub spent_programs: u64,
    /// The longest time that such an erase or program had left when an operation began to wait, in
    /// microseconds.
    pub longest_wait_us: f64,
}

impl Suspension {
    /// Returns the result of a rule, with the operations that reached its limit; `None` if the rule
    /// suspends neither erases nor programs.
    pub fn of(rule: &Suspend, refused: Refused) -> Option<Self> {
        let us = |ns: u64| ns as f64 / 1e3;
        (rule.erase || rule.program).then(|| Self {
            erases: rule.erase,
            programs: rule.program,
            most: rule.most,
            counts_requests: rule.counted == Counted::Requests,
            longest_us: (rule.longest_ns < u64::MAX).then(|| us(rule.longest_ns)),
            least_erase_us: us(rule.least_erase_ns),
            least_program_us: us(rule.least_program_ns),
            suspend_us: us(rule.suspend_ns),
            resume_us: us(rule.resume_ns),
            spent_erases: refused.erases,
            spent_programs: refused.programs,
            longest_wait_us: us(refused.longest_ns),
        })
    }
}
