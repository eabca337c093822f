//! Deliberately wrong engines. If a wrong engine meets a published figure as well as the right
//! engine does, the figure proves nothing. `flashgc reproduce --mutants` finds the figures that
//! tell the two engines apart.
//!
//! The faults exist only with the feature `mutants`. Without it [`on`] is the constant `false`, and
//! the compiler removes them. A fault is chosen for the whole process, while nothing runs.

/// A fault that the engine can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A block's count of zombies is not lowered when the host overwrites a zombie or takes a hint
    /// back.
    ZombieCountsStay,
    /// Writing a page back early (LDE) is weighed without the write that it saves later.
    LdeWithoutBenefit,
    /// A log block is weighed without the cost of the blocks that its merge erases.
    VictimWithoutErase,
}

/// Returns `true` if the engine has the fault `mutant`: never without the feature `mutants`.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub const fn on(_: Mutant) -> bool {
    false
}

/// Returns `true` if the engine has no fault: always without the feature `mutants`.
#[cfg(not(feature = "mutants"))]
pub const fn is_right() -> bool {
    true
}

#[cfg(feature = "mutants")]
pub use chosen::{ALL, choose, is_right, on};

#[cfg(feature = "mutants")]
mod chosen {
    use super::Mutant;
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

    /// Every mutant by the name that `reproduce` has for it.
    pub const ALL: &[(&str, Mutant)] = &[
        ("zombie-counts-stay", Mutant::ZombieCountsStay),
        ("lde-without-benefit", Mutant::LdeWithoutBenefit),
        ("victim-without-erase", Mutant::VictimWithoutErase),
    ];

    const RIGHT: u8 = u8::MAX;

    /// The fault that was chosen, as a number; [`RIGHT`] for none.
    static CHOSEN: AtomicU8 = AtomicU8::new(RIGHT);

    /// Gives the engine the fault `mutant`; with `None` the engine is right again.
    pub fn choose(mutant: Option<Mutant>) {
        CHOSEN.store(mutant.map_or(RIGHT, |mutant| mutant as u8), Relaxed);
    }

    /// Returns `true` if no fault is chosen.
    pub fn is_right() -> bool {
        CHOSEN.load(Relaxed) == RIGHT
    }

    /// Returns `true` if `mutant` is the fault that was chosen.
    #[inline(always)]
    pub fn on(mutant: Mutant) -> bool {
        CHOSEN.load(Relaxed) == mutant as u8
    }
}
