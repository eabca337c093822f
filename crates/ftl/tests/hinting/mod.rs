//! Hints to a drive that may keep no zombies, and then ignores them.
#![allow(dead_code)] // not every test uses all of it

use flashgc_ftl::{FtlError, TakesHints};

/// The result of `hints()` of a layer or a map, taken as a host takes it.
pub trait Hinting {
    fn hint(self, pages: &[u32]) -> Result<(), FtlError>;
    fn cancel(self, pages: &[u32]) -> Result<(), FtlError>;
    fn power_loss(self);
}

impl Hinting for Option<&mut dyn TakesHints> {
    fn hint(self, pages: &[u32]) -> Result<(), FtlError> {
        self.map_or(Ok(()), |hints| hints.hint(pages))
    }

    fn cancel(self, pages: &[u32]) -> Result<(), FtlError> {
        self.map_or(Ok(()), |hints| hints.cancel(pages))
    }

    fn power_loss(self) {
        if let Some(hints) = self {
            hints.power_loss();
        }
    }
}
