//! Preparation before the clock starts: a workload's writes bring the drive into its state. Every
//! collection is at once, and no time passes.

use flashgc_drive::error::DriveError;
use flashgc_ftl::FtlError;
use flashgc_host::{ClockedHost, Leaving};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use super::drive::TimedDrive;
use super::measure::Observer;

impl<O: Observer> TimedDrive<O> {
    /// Writes `pages` before the clock starts, with the collections they need: brings a drive to
    /// its steady state at the speed of the counting drive. Returns how many it wrote: not all at the
    /// end of the drive's life.
    ///
    /// # Errors
    /// Those of the map.
    pub fn precondition(&mut self, pages: &[u32]) -> Result<usize, FtlError> {
        const AHEAD: usize = 24;
        for (index, &page) in pages.iter().enumerate() {
            if let Some(&ahead) = pages.get(index + AHEAD) {
                self.shared.map.prefetch(ahead);
            }
            if let Some(&ahead) = pages.get(index + AHEAD / 2) {
                self.shared.map.prefetch_old(ahead);
            }
            let map = &mut *self.shared.map;
            let written = match self.front.mapping_mut() {
                Some(mapping) => mapping.write_at_once(map, &self.scheduler, page)?,
                None => self.scheduler.write_at_once(map, page)?,
            };
            if !written {
                return Ok(index);
            }
        }
        Ok(pages.len())
    }

    /// Does `requests` before the clock starts, until the drive has written `most` pages, or its life
    /// has ended. Returns how many those were.
    ///
    /// Behind a host's cache the requests are the application's, on the clock of requests, and the
    /// drive executes the commands of the cache. Commands that have left the cache when the last
    /// page is written are the first when the clock starts. Without a cache reads and discards are
    /// left out.
    ///
    /// # Errors
    /// A request beyond the end; those of the map.
    pub fn prepare(&mut self, requests: &[TimedRequest], most: u64) -> Result<u64, DriveError> {
        let behind = self.front.host_mut().is_some();
        let (mut pages, mut written) = (Vec::new(), 0);
        for request in requests {
            match request.op {
                op if op.is_hint() && !behind => {
                    written += self.write_before(&mut pages, most - written)?;
                    if written < most {
                        let hinted: Vec<u32> = self.front.shape().pages_of(request)?.collect();
                        match op {
                            Op::Clean => self.shared.take_back(&hinted)?,
                            _ => self.shared.hint(&hinted)?,
                        }
                    }
                }
                Op::Dirty | Op::Clean | Op::Flush => {}
                op if behind => {
                    for page in self.front.shape().pages_of(request)? {
                        self.host().request_before(op, page);
                        written += self.follow_cache(most - written)?;
                    }
                }
                Op::Write => pages.extend(self.front.shape().pages_of(request)?),
                Op::Read | Op::Trim => {}
            }
            if written == most || self.shared.map.has_ended() {
                return Ok(written);
            }
        }
        Ok(written + self.write_before(&mut pages, most - written)?)
    }

    /// Writes `pages`, at most so many, and empties them. Returns how many it has written.
    fn write_before(&mut self, pages: &mut Vec<u32>, most: u64) -> Result<u64, DriveError> {
        pages.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let written = self.precondition(pages)?;
        pages.clear();
        Ok(written as u64)
    }

    /// Executes commands that have left the cache until `most` pages are written. Returns how many.
    fn follow_cache(&mut self, most: u64) -> Result<u64, DriveError> {
        let mut written = 0;
        while written < most
            && let Some(leaving) = self.host().next_leaving()
        {
            match leaving {
                Leaving::Hint(page) => self.shared.hint(&[page])?,
                Leaving::Command(page, Op::Write) => {
                    if self.precondition(&[page])? == 0 {
                        return Ok(written);
                    }
                    written += 1;
                }
                Leaving::Command(page, Op::Trim) => {
                    let map = &mut *self.shared.map;
                    match self.front.mapping_mut() {
                        Some(mapping) => mapping.trim_at_once(map, &self.scheduler, page)?,
                        None => {
                            map.trim(page)?;
                        }
                    }
                }
                Leaving::Command(..) | Leaving::HintCommand => {}
            }
        }
        Ok(written)
    }

    fn host(&mut self) -> &mut ClockedHost {
        self.front.host_mut().expect("only a host with a cache comes here")
    }
}
