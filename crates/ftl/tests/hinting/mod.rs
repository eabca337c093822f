//! Hints to a drive that may keep no zombies, and then ignores them.
#![allow(dead_code)] // not every test uses all of it

use flashgc_ftl::{FtlError, TakesHints};

/// Calls of a host on the result of `hints()`, which is `None` for a layer that does not use hints.
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
