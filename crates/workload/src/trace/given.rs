//! Pages that keep their numbers from the drive of the trace: a check that they can keep them, and
//! the size of that drive.

use flashgc_base::naming::{choice, option};
use flashgc_base::spec::{SpecError, count};

use super::Request;
use super::address_map::{MapFull, PageRange};
use crate::Op;

/// The read or write that reaches the highest page in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Farthest {
    /// The number of the request in the trace, from 1.
    request: u64,
    /// The offset of the first byte of the request.
    offset: i64,
    /// The last page of the request.
    page: u32,
}

/// The logical pages that a trace addresses by their own numbers
/// ([`Numbering::Given`](super::Numbering::Given)).
#[derive(Clone, Debug, Default)]
pub struct GivenPages {
    device: Option<u32>,
    farthest: Option<Farthest>,
    recorded: Option<u64>,
}

impl GivenPages {
    /// Starts with no pages. `recorded` is the number of pages of the drive from which the trace
    /// was recorded; `None` if the file does not say it.
    pub(crate) fn new(recorded: Option<u64>) -> Self {
        Self { recorded, ..Self::default() }
    }

    /// Checks the pages `range` of request `number`.
    ///
    /// # Errors
    /// There is a second device, or a page lies before the first page of the drive or beyond any
    /// drive. Pages of discards and hints are not checked; they are left out if they are not on the
    /// drive.
    pub(crate) fn look(
        &mut self,
        number: u64,
        request: &Request,
        range: PageRange,
    ) -> Result<(), MapFull> {
        let first = *self.device.get_or_insert(request.device);
        if first != request.device {
            return Err(MapFull::SecondDevice { first, found: request.device });
        }
        if range.count == 0 || !matches!(request.op, Op::Read | Op::Write) {
            return Ok(());
        }
        if range.first < 0 {
            return Err(MapFull::BeforeDrive(request.offset));
        }
        let last = range.first.saturating_add_unsigned(range.count - 1);
        // The largest `u32` is no page number, because it stands for no page.
        let page = u32::try_from(last).ok().filter(|&page| page < u32::MAX);
        let page = page.ok_or(MapFull::BeyondDrives(last))?;
        if self.farthest.is_none_or(|farthest| page > farthest.page) {
            self.farthest = Some(Farthest { request: number, offset: request.offset, page });
        }
        Ok(())
    }

    /// Returns the number of logical pages of the drive from which the trace was recorded; `None`
    /// if the file does not say it.
    pub fn recorded(&self) -> Option<u64> {
        self.recorded
    }

    /// Returns the number of logical pages of the smallest drive that has all pages that are read
    /// or written.
    pub fn least(&self) -> u32 {
        self.farthest.map_or(0, |farthest| farthest.page + 1)
    }

    /// Checks that a drive of `logical_pages` pages has all pages that are read or written.
    ///
    /// # Errors
    /// The drive is too small. The error names the request with the highest page.
    pub fn check(&self, logical_pages: u32) -> Result<(), SpecError> {
        match self.farthest {
            Some(Farthest { request, offset, page }) if page >= logical_pages => {
                Err(SpecError::new(
                    format!(
                        "request {request} of the trace (offset {offset}) is on logical page {page}, and \
                         the drive has {}, numbered from 0",
                        count(logical_pages.into(), "logical page")
                    ),
                    format!(
                        "give more {}, or {}",
                        option("blocks"),
                        choice("numbering", "address")
                    ),
                ))
            }
            _ => Ok(()),
        }
    }
}
