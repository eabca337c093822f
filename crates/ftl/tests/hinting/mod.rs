//! Hints to a layer whether it keeps zombies or not: what a drive does with them.
#![allow(dead_code)] // not every test uses all of it

use flashgc_ftl::{FtlError, Stepwise, Translation};

pub trait Hinting: Translation {
    fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.hints().map_or(Ok(()), |hints| hints.hint(pages))
    }

    fn cancel(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.hints().map_or(Ok(()), |hints| hints.cancel(pages))
    }

    fn power_loss(&mut self) {
        if let Some(hints) = self.hints() {
            hints.power_loss();
        }
    }
}

impl<T: Translation + ?Sized> Hinting for T {}

pub trait HintingSteps: Stepwise {
    fn hint(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.hints().map_or(Ok(()), |hints| hints.hint(pages))
    }

    fn cancel(&mut self, pages: &[u32]) -> Result<(), FtlError> {
        self.hints().map_or(Ok(()), |hints| hints.cancel(pages))
    }

    fn power_loss(&mut self) {
        if let Some(hints) = self.hints() {
            hints.power_loss();
        }
    }
}

impl<T: Stepwise + ?Sized> HintingSteps for T {}
