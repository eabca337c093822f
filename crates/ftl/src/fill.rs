//! The contents of a drive before the first host write.

use std::fmt;

use flashgc_base::spec::{SpecError, suggest};

/// The initial state of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// All logical pages in order from block 0 on, the rest of the drive erased: unfragmented, as
    /// the d-choices paper starts (section 4.1).
    Sequential,
    /// Every logical page on a physical page drawn at random, the other pages invalid.
    Random,
    /// The steady state of uniform writes: all pages are on flash, the blocks written last have
    /// the most of them, and the other places hold old data.
    Steady,
    /// Nothing written: a new drive.
    Empty,
}

impl Fill {
    const NAMES: [(&'static str, Self); 4] = [
        ("sequential", Self::Sequential),
        ("random", Self::Random),
        ("steady", Self::Steady),
        ("empty", Self::Empty),
    ];

    /// The names that people type for the initial states.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|&(name, _)| name)
    }

    /// The number of erased blocks at first on a drive of `blocks` blocks with a pool. The logical
    /// pages fill `promised` blocks, and `kept` blocks can never hold host data.
    pub(crate) fn erased(self, blocks: u32, promised: u32, kept: u32) -> u32 {
        match self {
            Self::Empty => blocks,
            Self::Sequential => blocks - promised,
            Self::Random | Self::Steady => kept,
        }
    }

    /// Reads one of [`Fill::names`].
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|&(_, fill)| fill).ok_or_else(|| {
            SpecError::new(format!("unknown initial state '{text}'"), suggest(text, Self::names()))
        })
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, fill)| fill == self).map(|&(name, _)| name);
        f.write_str(name.unwrap_or_default())
    }
}
