//! The commands of the host.

use super::Drive;
use crate::journal::Record;
use crate::layout::PAGE;
use crate::mapped::GROUP;
use crate::served::{DeviceError, Served};

/// Pages whose hints are passed on at once.
const HINTS: u32 = 1024;

impl Drive {
    /// The range as page numbers, if the drive has it.
    fn range(&self, page: u64, count: u64) -> Result<std::ops::Range<u32>, DeviceError> {
        let pages = self.pages();
        match page.checked_add(count) {
            Some(end) if end <= pages => Ok(page as u32..end as u32),
            _ => Err(DeviceError::OutOfRange { page, count, pages }),
        }
    }

    /// The range that `bytes` bytes from `page` on are.
    fn range_of(&self, page: u64, bytes: usize) -> Result<std::ops::Range<u32>, DeviceError> {
        let count = bytes.div_ceil(PAGE) as u64;
        if !bytes.is_multiple_of(PAGE) {
            return Err(DeviceError::OutOfRange { page, count, pages: self.pages() });
        }
        self.range(page, count)
    }

    /// The first page of `range` that has data; its end if there is none.
    fn next_with_data(&self, range: std::ops::Range<u32>) -> u32 {
        self.mapped.next(range, true, |page| self.map.locate(page).is_some())
    }

    /// Discards pages of one group. Returns how many had data.
    fn trim_pages(&mut self, range: std::ops::Range<u32>) -> Result<u32, DeviceError> {
        let (mut held, mut next) = (0, self.next_with_data(range.clone()));
        while next < range.end {
            self.map.trim(next).map_err(|error| self.stuck(&error))?;
            self.mapped.remove(next);
            held += 1;
            next = self.next_with_data(next + 1..range.end);
        }
        Ok(held)
    }

    fn pass_on(&mut self, page: u64, count: u64, is_hint: bool) -> Result<(), DeviceError> {
        let range = self.range(page, count)?;
        let Some(hints) = self.map.hints() else { return Ok(()) };
        for first in range.clone().step_by(HINTS as usize) {
            let pages: Vec<u32> = (first..range.end.min(first.saturating_add(HINTS))).collect();
            let passed = if is_hint { hints.hint(&pages) } else { hints.cancel(&pages) };
            passed.map_err(|error| DeviceError::Media(error.to_string()))?;
        }
        Ok(())
    }
}

impl Served for Drive {
    fn pages(&self) -> u64 {
        self.zones.geometry.logical_pages().into()
    }

    fn read(&mut self, page: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        let range = self.range_of(page, into.len())?;
        self.read_pages(range.start, into)
    }

    fn write(&mut self, page: u64, data: &[u8], fua: bool) -> Result<(), DeviceError> {
        let range = self.range_of(page, data.len())?;
        self.check_writable()?;
        for (page, data) in range.zip(data.chunks(PAGE)) {
            self.write_page(page, data)?;
        }
        if fua { self.flush() } else { Ok(()) }
    }

    fn trim(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        let range = self.range(page, count)?;
        self.check_writable()?;
        let mut rest = range.start;
        while rest < range.end {
            // A record holds pages of groups that follow one another and have data.
            let first = self.next_with_data(rest..range.end);
            let mut held = 0;
            rest = first;
            while rest < range.end && !self.mapped.is_empty(rest) {
                let end = (rest / GROUP + 1).saturating_mul(GROUP).min(range.end);
                held += self.trim_pages(rest..end)?;
                rest = end;
            }
            if held > 0 {
                self.note(Record::Trim { page: first, count: rest - first, held })?;
                self.advance_checkpoint()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        if let Some(why) = &self.failed {
            return Err(DeviceError::ReadOnly(why.clone()));
        }
        self.make_durable().map_err(|error| self.fail(error))?;
        self.advance_checkpoint()
    }

    fn hint(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        self.pass_on(page, count, true)
    }

    fn cancel(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        self.pass_on(page, count, false)
    }

    fn extent(&mut self, page: u64, count: u64) -> Result<(u64, bool), DeviceError> {
        let range = self.range(page, count)?;
        let Some(first) = range.clone().next() else { return Ok((0, false)) };
        let has_data = |page: u32| self.map.locate(page).is_some();
        let is_held = has_data(first);
        let end = self.mapped.next(range, !is_held, has_data);
        Ok(((end - first).into(), is_held))
    }
}
