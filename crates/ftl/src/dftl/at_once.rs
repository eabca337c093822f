//! A map on flash without a clock: a command reads and programs the translation pages that it needs
//! at once. The counting drive always works in this way; a drive with a clock does so during its
//! warm-up.

use super::cache::{LookUp, MapCache};
use super::{endless, most_in_a_row};
use crate::error::FtlError;
use crate::layer::Layer;

/// The page map below a map on flash. Its pages after those of the host are the translation pages.
pub trait Below {
    /// The page map as a layer.
    fn layer(&mut self) -> &mut dyn Layer;

    /// The physical page of `page`; `None` if it has no data.
    fn place(&self, page: u32) -> Option<u32>;

    /// Writes `page`, with the collections that this needs. Returns `false` at the end of the
    /// drive's life.
    ///
    /// # Errors
    /// The errors of the map.
    fn write(&mut self, page: u32) -> Result<bool, FtlError>;

    /// Discards `page`.
    ///
    /// # Errors
    /// The errors of the map.
    fn trim(&mut self, page: u32) -> Result<(), FtlError>;
}

impl MapCache {
    /// Writes `page`. Returns `false` if it could not, at the end of the drive's life.
    ///
    /// # Errors
    /// The errors of the map, and the error of a drive that writes translation pages without end.
    pub fn write_at_once(&mut self, map: &mut dyn Below, page: u32) -> Result<bool, FtlError> {
        if !self.look_up_at_once(map, page)? {
            return Ok(false);
        }
        if !map.write(page)? {
            self.hear(map);
            return Ok(false);
        }
        // The page has been written, even if the drive's life ends while the map on flash is
        // brought up to date.
        self.settle_at_once(map)?;
        Ok(true)
    }

    /// Discards `page`. Returns `false` if it could not, at the end of the drive's life.
    ///
    /// # Errors
    /// The errors of [`MapCache::write_at_once`].
    pub fn trim_at_once(&mut self, map: &mut dyn Below, page: u32) -> Result<bool, FtlError> {
        if !self.look_up_at_once(map, page)? {
            return Ok(false);
        }
        map.trim(page)?;
        self.settle_at_once(map)?;
        Ok(true)
    }

    /// Reads `page`. A drive at the end of its life reads without the cache.
    ///
    /// # Errors
    /// The errors of [`MapCache::write_at_once`].
    pub fn read_at_once(&mut self, map: &mut dyn Below, page: u32) -> Result<(), FtlError> {
        if self.look_up_at_once(map, page)? {
            self.settle_at_once(map)?;
        }
        Ok(())
    }

    /// If the drive uses hints, takes a hint on `page`, or takes the hint back if `is_taken_back`.
    /// At the end of its life the drive ignores hints.
    ///
    /// # Errors
    /// The errors of [`MapCache::write_at_once`].
    pub fn hint_at_once(
        &mut self,
        map: &mut dyn Below,
        page: u32,
        is_taken_back: bool,
    ) -> Result<(), FtlError> {
        if map.layer().hints().is_none() || !self.look_up_at_once(map, page)? {
            return Ok(());
        }
        if let Some(hints) = map.layer().hints() {
            if is_taken_back { hints.cancel(&[page]) } else { hints.hint(&[page]) }?;
        }
        self.settle_at_once(map)
    }

    /// Takes note of the pages that were written and moved.
    fn hear(&mut self, map: &mut dyn Below) {
        self.take_changes(map.layer());
        self.heed(|page| map.place(page));
    }

    /// Brings the entry of `page` into the cache. Returns `false` at the end of the drive's life.
    fn look_up_at_once(&mut self, map: &mut dyn Below, page: u32) -> Result<bool, FtlError> {
        if map.layer().has_ended() {
            return Ok(false);
        }
        self.hear(map);
        let LookUp::Miss { write_back } = self.look_up(page) else { return Ok(true) };
        if let Some(number) = write_back
            && !self.write_back_at_once(map, number)?
        {
            return Ok(false);
        }
        self.read_page_at_once(map, self.number_of(page));
        self.arrived(page);
        Ok(true)
    }

    /// Reads a translation page, if there is one.
    fn read_page_at_once(&mut self, map: &dyn Below, number: u32) {
        if map.place(self.page_of(number)).is_some() {
            self.count_read();
        }
    }

    /// Programs a translation page with the current places of its pages. Collections run before the
    /// program, so the programmed page includes the moves that they make. Returns `false` at the
    /// end of the drive's life.
    fn write_back_at_once(&mut self, map: &mut dyn Below, number: u32) -> Result<bool, FtlError> {
        self.read_page_at_once(map, number);
        let written = map.write(self.page_of(number))?;
        self.hear(map);
        Ok(written)
    }

    /// Brings the map on flash up to date with the pages that collections moved, until the drive's
    /// life ends.
    fn settle_at_once(&mut self, map: &mut dyn Below) -> Result<(), FtlError> {
        let most = most_in_a_row(map.layer().geometry());
        for _ in 0..most {
            self.hear(map);
            let Some(number) = self.first_moved() else { return Ok(()) };
            if !self.write_back_at_once(map, number)? {
                return Ok(());
            }
        }
        Err(endless(most))
    }
}
