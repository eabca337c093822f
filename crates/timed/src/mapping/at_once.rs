//! The page map below a map on flash, before the drive's clock starts: writes take no time.

use flashgc_ftl::dftl::Below;
use flashgc_ftl::{FtlError, Layer, Stepwise};

use crate::schedule::Scheduler;

/// The page map of a drive whose clock has not started.
pub struct BeforeTheClock<'a> {
    pub map: &'a mut dyn Stepwise,
    pub dies: &'a Scheduler,
}

impl Below for BeforeTheClock<'_> {
    fn layer(&mut self) -> &mut dyn Layer {
        self.map
    }

    fn place(&self, page: u32) -> Option<u32> {
        self.map.locate(page)
    }

    fn write(&mut self, page: u32) -> Result<bool, FtlError> {
        self.dies.write_at_once(self.map, page)
    }

    fn trim(&mut self, page: u32) -> Result<(), FtlError> {
        self.map.trim(page).map(|_| ())
    }
}
