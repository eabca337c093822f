//! What comes before the clock: a workload's writes bring the drive into its state, with every
//! collection at once and no time passing.

use flashgc_host::Leaving;
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use super::engine::TimedDrive;
use super::observe::Observer;
use crate::counting::DriveError;

impl<O: Observer> TimedDrive<O> {
    /// Does `requests` before the clock starts, until the drive has written `most` pages. Returns how
    /// many those were.
    ///
    /// Behind a host's cache the requests are the application's, on the clock of requests, and the
    /// drive does what the cache asks of it; what has left the cache when the last page is written is
    /// the first that it is asked when the clock starts. Without a cache reads and discards are left
    /// out.
    ///
    /// # Errors
    /// A request beyond the end; what the map says.
    pub fn prepare(&mut self, requests: &[TimedRequest], most: u64) -> Result<u64, DriveError> {
        let behind = self.host.write_back.is_some();
        let (mut pages, mut written) = (Vec::new(), 0);
        for request in requests {
            match request.op {
                Op::Dirty if !behind => {
                    written += self.write_before(&mut pages, most - written)?;
                    if written < most {
                        let dirty: Vec<u32> = self.host.pages_of(request)?.collect();
                        self.layer.hint(&dirty)?;
                    }
                }
                Op::Dirty => {}
                op if behind => {
                    for page in self.host.pages_of(request)? {
                        self.write_back().host.request_before(op, page);
                        written += self.follow_cache(most - written)?;
                    }
                }
                Op::Write => pages.extend(self.host.pages_of(request)?),
                Op::Read | Op::Trim => {}
            }
            if written == most {
                return Ok(written);
            }
        }
        Ok(written + self.write_before(&mut pages, most - written)?)
    }

    /// Writes `pages`, at most so many, and empties them. Returns how many it has written.
    fn write_before(&mut self, pages: &mut Vec<u32>, most: u64) -> Result<u64, DriveError> {
        pages.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        self.precondition(pages)?;
        let written = pages.len() as u64;
        pages.clear();
        Ok(written)
    }

    /// Does what has left the cache, until `most` pages are written. Returns how many those were.
    fn follow_cache(&mut self, most: u64) -> Result<u64, DriveError> {
        let mut written = 0;
        while written < most
            && let Some(leaving) = self.write_back().host.next_leaving()
        {
            match leaving {
                Leaving::Hint(page) => self.layer.hint(&[page])?,
                Leaving::Command(page, Op::Write) => {
                    self.precondition(&[page])?;
                    written += 1;
                }
                Leaving::Command(page, Op::Trim) => {
                    self.layer.trim(page)?;
                }
                Leaving::Command(..) | Leaving::HintCommand => {}
            }
        }
        Ok(written)
    }
}
