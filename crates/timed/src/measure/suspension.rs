//! The rule by which erases and programs are suspended, and those that it suspended no more.

use flashgc_base::described::Described;
use flashgc_base::snapshot::Value;
use serde::{Deserialize, Serialize};

use crate::config::Suspend;

/// The erases and programs for whose end an operation waited because they were suspended as often as they may
/// be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct Refused {
    /// The number of erases.
    pub erases: u64,
    /// The number of programs.
    pub programs: u64,
    /// The most time that one had left when the first operation waited.
    pub longest_ns: u64,
}

impl Refused {
    /// Returns these and the others.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            erases: self.erases + other.erases,
            programs: self.programs + other.programs,
            longest_ns: self.longest_ns.max(other.longest_ns),
        }
    }
}

/// The rule of suspension of a drive. Its counts are those of the measured parts of all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct Suspension {
    /// `true` if erases can be suspended.
    pub erases: bool,
    /// `true` if programs can be suspended.
    pub programs: bool,
    /// The most times that one operation is suspended.
    pub most: u32,
    /// The least time left of an erase that is suspended, in microseconds.
    pub least_erase_us: f64,
    /// The least time left of a program that is suspended, in microseconds.
    pub least_program_us: f64,
    /// The time until a suspended operation has let go of its die, in microseconds.
    pub suspend_us: f64,
    /// The time that a suspended operation loses when it goes on, in microseconds.
    pub resume_us: f64,
    /// Erases that had reached the most suspensions, so that an operation waited for their end.
    pub spent_erases: u64,
    /// Programs that had reached the most suspensions, so that an operation waited for their end.
    pub spent_programs: u64,
    /// The longest time that an operation waited for the end of one of them, in microseconds.
    pub longest_wait_us: f64,
}

impl Suspension {
    /// Returns the result of a rule that refused these; `None` if it suspends nothing.
    pub fn of(rule: &Suspend, refused: Refused) -> Option<Self> {
        let us = |ns: u64| ns as f64 / 1e3;
        (rule.erase || rule.program).then(|| Self {
            erases: rule.erase,
            programs: rule.program,
            most: rule.most,
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
