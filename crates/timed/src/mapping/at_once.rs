//! The map on flash before the clock starts: translation pages are read and programmed at once.

use flashgc_ftl::dftl::Below;
use flashgc_ftl::{FtlError, Layer, Stepwise};

use super::Mapping;
use crate::schedule::Scheduler;

/// The page map of a drive whose clock has not started.
struct BeforeTheClock<'a> {
    map: &'a mut dyn Stepwise,
    dies: &'a Scheduler,
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

impl Mapping {
    /// Writes `page`, with the collections and translation pages that this needs. Returns `false` if
    /// it could not, at the end of the drive's life.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn write_at_once(
        &mut self,
        map: &mut dyn Stepwise,
        dies: &Scheduler,
        page: u32,
    ) -> Result<bool, FtlError> {
        self.cache.write_at_once(&mut BeforeTheClock { map, dies }, page)
    }

    /// Discards `page`, with the translation pages that this needs. At the end of its life the drive
    /// does nothing.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn trim_at_once(
        &mut self,
        map: &mut dyn Stepwise,
        dies: &Scheduler,
        page: u32,
    ) -> Result<(), FtlError> {
        self.cache.trim_at_once(&mut BeforeTheClock { map, dies }, page).map(|_| ())
    }

    /// Takes a hint on `page`, or one that is taken back, with the translation pages that this needs.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn hint_at_once(
        &mut self,
        map: &mut dyn Stepwise,
        dies: &Scheduler,
        page: u32,
        is_taken_back: bool,
    ) -> Result<(), FtlError> {
        self.cache.hint_at_once(&mut BeforeTheClock { map, dies }, page, is_taken_back)
    }

    /// Looks `page` up as a read does, with the translation pages that this needs.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn read_page_at_once(
        &mut self,
        map: &mut dyn Stepwise,
        dies: &Scheduler,
        page: u32,
    ) -> Result<(), FtlError> {
        self.cache.read_at_once(&mut BeforeTheClock { map, dies }, page)
    }
}
