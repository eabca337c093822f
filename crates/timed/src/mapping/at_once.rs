//! The map on flash before the clock starts: translation pages are read and programmed at once.

use flashgc_ftl::dftl::{LookUp, endless, most_in_a_row};
use flashgc_ftl::{FtlError, Stepwise};

use super::Mapping;
use crate::schedule::Scheduler;

impl Mapping {
    /// Writes `page`, with the collections and translation pages that this needs. Returns `false` if
    /// it could not, at the end of the drive's life.
    ///
    /// # Errors
    /// Those of the map.
    pub fn write_at_once(
        &mut self,
        map: &mut dyn Stepwise,
        dies: &Scheduler,
        page: u32,
    ) -> Result<bool, FtlError> {
        if !self.look_up_at_once(map, dies, page)? || !dies.write_at_once(map, page)? {
            return Ok(false);
        }
        // The page is written, even if the drive's life ends while its map is brought up to date.
        self.settle_at_once(map, dies)?;
        Ok(true)
    }

    /// Discards `page`, with the translation pages that this needs.
    ///
    /// # Errors
    /// Those of the map.
    pub fn trim_at_once(
        &mut self,
        map: &mut dyn Stepwise,
        dies: &Scheduler,
        page: u32,
    ) -> Result<(), FtlError> {
        if self.look_up_at_once(map, dies, page)? {
            map.trim(page)?;
            self.settle_at_once(map, dies)?;
        }
        Ok(())
    }

    /// Looks `page` up as a read does, with the translation pages that this needs.
    ///
    /// # Errors
    /// Those of the map.
    pub fn read_page_at_once(
        &mut self,
        map: &mut dyn Stepwise,
        dies: &Scheduler,
        page: u32,
    ) -> Result<(), FtlError> {
        if self.look_up_at_once(map, dies, page)? {
            self.settle_at_once(map, dies)?;
        }
        Ok(())
    }

    /// Makes the entry of `page` cached. Returns `false` at the end of the drive's life.
    fn look_up_at_once(
        &mut self,
        map: &mut dyn Stepwise,
        dies: &Scheduler,
        page: u32,
    ) -> Result<bool, FtlError> {
        if map.has_ended() {
            return Ok(false);
        }
        self.hear(map);
        let LookUp::Miss { write_back } = self.cache.look_up(page) else { return Ok(true) };
        if let Some(number) = write_back
            && !self.write_back_at_once(map, dies, number)?
        {
            return Ok(false);
        }
        self.read_at_once(map, self.cache.number_of(page));
        self.cache.arrived(page);
        Ok(true)
    }

    fn read_at_once(&mut self, map: &dyn Stepwise, number: u32) {
        if map.locate(self.cache.page_of(number)).is_some() {
            self.cache.count_read();
        }
    }

    /// Programs a translation page. Returns `false` at the end of the drive's life.
    fn write_back_at_once(
        &mut self,
        map: &mut dyn Stepwise,
        dies: &Scheduler,
        number: u32,
    ) -> Result<bool, FtlError> {
        self.read_at_once(map, number);
        let written = dies.write_at_once(map, self.cache.page_of(number))?;
        self.hear(map);
        Ok(written)
    }

    /// Brings the map on flash up to date with the pages that collections moved. Returns `false` at
    /// the end of the drive's life.
    fn settle_at_once(
        &mut self,
        map: &mut dyn Stepwise,
        dies: &Scheduler,
    ) -> Result<bool, FtlError> {
        let most = most_in_a_row(map.geometry());
        for _ in 0..most {
            self.hear(map);
            let Some(number) = self.cache.first_moved() else { return Ok(true) };
            if !self.write_back_at_once(map, dies, number)? {
                return Ok(false);
            }
        }
        Err(endless(most))
    }
}
