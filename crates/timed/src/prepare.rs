//! The warm-up before the clock starts: a workload's commands bring the drive into its state. No
//! simulated time passes, and collections are not divided into steps.

use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_drive::error::DriveError;
use flashgc_ftl::FtlError;
use flashgc_ftl::dftl::MapCache;
use flashgc_host::{ClockedHost, Leaving};
use flashgc_workload::requests::TimedRequest;
use flashgc_workload::{Batch, Op};

use super::drive::TimedDrive;
use super::front::Shape;
use super::mapping::BeforeTheClock;
use super::observer::Observer;
use super::ops::Kind;

impl<O: Observer> TimedDrive<O> {
    /// Writes `pages` before the clock starts, with the collections that they need. This brings a
    /// drive to its steady state as fast as the counting drive. Returns the number of pages
    /// written: fewer than given if the drive's life ends.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn precondition(&mut self, pages: &[u32]) -> Result<usize, FtlError> {
        self.execute(pages, &[], &[], usize::MAX)
    }

    /// Returns `true` if [`TimedDrive::precede`] does all that [`TimedDrive::prepare`] does for requests of
    /// whole pages: no host has a cache.
    pub fn takes_commands(&mut self) -> bool {
        self.front.host_mut().is_none()
    }

    /// Executes the commands of a batch before the clock starts, with the collections that they
    /// need, until `most` pages are written. Returns the number of pages written, which is smaller
    /// if the drive's life ends.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn precede(&mut self, commands: &Batch, most: u64) -> Result<u64, FtlError> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let Batch { pages, ops, streams, .. } = commands;
        self.execute(pages, ops, streams, most).map(|written| written as u64)
    }

    #[inline]
    fn execute(
        &mut self,
        pages: &[u32],
        ops: &[Op],
        streams: &[StreamId],
        most: usize,
    ) -> Result<usize, FtlError> {
        const AHEAD: usize = 24;
        /// The most writes whose streams are named together.
        const NAMED: usize = 256;
        let has_streams = self.shared.map.streams().is_some();
        // A write of several reclaim groups gets its plane one by one.
        let goes_ahead = self.front.mapping().is_none() && self.shared.map.groups() == 1;
        let is_write = |op: Option<&Op>| !matches!(op, Some(Op::Trim | Op::Read));
        let (mut index, mut written) = (0, 0);
        // The first command after the writes that come next.
        let mut end = 0;
        // The first write whose stream is not recorded.
        let mut named = 0;
        while index < pages.len() && written < most {
            if goes_ahead && is_write(ops.get(index)) {
                if end <= index {
                    let after = ops.get(index..).unwrap_or_default();
                    let run = after.iter().position(|op| !is_write(Some(op)));
                    end = run.map_or(pages.len(), |run| index + run);
                }
                let (rest, limit) = (&pages[index..], (end - index).min(most - written));
                if let Some(taker) = self.shared.map.streams().filter(|_| named <= index) {
                    let limit = limit.min(NAMED);
                    let of_rest = streams.get(index..index + limit).unwrap_or_default();
                    named = index + taker.name(&rest[..limit], of_rest)?;
                }
                let limit = if has_streams { limit.min(named - index) } else { limit };
                let done = self.shared.map.write_ahead(rest, limit, self.scheduler.homes())?;
                (index, written) = (index + done, written + done);
                if done == limit {
                    continue;
                }
            }
            let page = pages[index];
            if let Some(&ahead) = pages.get(index + AHEAD) {
                self.shared.map.prefetch(ahead);
            }
            if let Some(&ahead) = pages.get(index + AHEAD / 2) {
                self.shared.map.prefetch_old(ahead);
            }
            let (op, stream) = (ops.get(index), streams.get(index));
            index += 1;
            match op {
                Some(Op::Trim) => {
                    self.trim_at_once(page)?;
                    continue;
                }
                Some(Op::Read) => {
                    self.read_at_once(page)?;
                    continue;
                }
                _ => {}
            }
            if has_streams {
                self.shared.name(page, stream.copied().unwrap_or(NO_STREAM))?;
            }
            let is_written = match self.map_on_flash() {
                Some((cache, mut below)) => cache.write_at_once(&mut below, page)?,
                None => self.scheduler.write_at_once(&mut *self.shared.map, page)?,
            };
            if !is_written {
                break;
            }
            written += 1;
        }
        Ok(written)
    }

    fn trim_at_once(&mut self, page: u32) -> Result<(), FtlError> {
        if self.shared.map.has_ended() {
            return Ok(());
        }
        match self.map_on_flash() {
            Some((cache, mut below)) => cache.trim_at_once(&mut below, page).map(drop),
            None => self.shared.map.trim(page).map(drop),
        }
    }

    /// Reads a page. This only changes which entries of a map on flash are in memory.
    fn read_at_once(&mut self, page: u32) -> Result<(), FtlError> {
        match self.map_on_flash() {
            Some((cache, mut below)) => cache.read_at_once(&mut below, page),
            None => Ok(()),
        }
    }

    /// Takes hints on `pages`. If `is_taken_back`, the host takes its hints on them back.
    fn hint_at_once(&mut self, pages: &[u32], is_taken_back: bool) -> Result<(), FtlError> {
        let Some((cache, mut below)) = self.map_on_flash() else {
            let kind = if is_taken_back { Kind::Clean } else { Kind::Hint };
            return self.shared.take(kind, pages);
        };
        pages.iter().try_for_each(|&page| cache.hint_at_once(&mut below, page, is_taken_back))
    }

    /// Returns the cached entries of a map on flash, and the page map below it; `None` if the whole
    /// map is in memory.
    fn map_on_flash(&mut self) -> Option<(&mut MapCache, BeforeTheClock<'_>)> {
        let below = BeforeTheClock { map: &mut *self.shared.map, dies: &self.scheduler };
        self.front.mapping_mut().map(|mapping| (mapping.cache_mut(), below))
    }

    /// Programs the data in the page buffers, unless the power of the buffers is protected.
    fn flush_at_once(&mut self) {
        if !self.shared.map.buffer().is_protected {
            for plane in 0..self.shared.map.planes() {
                while self.shared.map.program_host_data(plane).is_some() {}
            }
        }
    }

    /// Returns the rule that divides requests into pages.
    pub fn shape(&self) -> &Shape {
        self.front.shape()
    }

    /// Executes `requests` before the clock starts, until the drive has written `most` pages or its
    /// life has ended. Returns the number of pages written.
    ///
    /// If the drive is behind a host's cache, the requests go to the cache, and the drive executes
    /// the commands of the cache. The time of the cache is then counted in requests. When the last
    /// page is written, some commands may have left the cache without being executed: the drive
    /// begins with them when the clock starts. Reads are skipped, unless the map is on flash.
    ///
    /// # Errors
    /// A request ends beyond the drive; the errors of the map.
    pub fn prepare(&mut self, requests: &[TimedRequest], most: u64) -> Result<u64, DriveError> {
        let behind = self.front.host_mut().is_some();
        let (mut waiting, mut written) = (Batch::default(), 0);
        for request in requests {
            match request.op {
                op if op.is_hint() && !behind => {
                    written += self.execute_waiting(&mut waiting, most - written)?;
                    if written < most {
                        let hinted: Vec<u32> = self.front.shape().pages_of(request)?.collect();
                        self.hint_at_once(&hinted, op == Op::Clean)?;
                    }
                }
                Op::Flush if !behind => {
                    written += self.execute_waiting(&mut waiting, most - written)?;
                    if written < most {
                        self.flush_at_once();
                    }
                }
                Op::Dirty | Op::Clean | Op::Flush => {}
                op if behind => {
                    for page in self.front.shape().pages_of(request)? {
                        self.host().request_before(op, page, request.stream);
                        written += self.follow_cache(most - written)?;
                    }
                }
                Op::Read if self.front.mapping_mut().is_none() => {}
                Op::Write | Op::Trim | Op::Read => {
                    let pages = self.front.shape().pages_of(request)?;
                    waiting.extend(request.op, request.stream, pages);
                }
            }
            if written == most || self.shared.map.has_ended() {
                return Ok(written);
            }
        }
        Ok(written + self.execute_waiting(&mut waiting, most - written)?)
    }

    /// If the host's cache is to start clean, writes all of its dirty pages before the clock
    /// starts. Otherwise does nothing.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn rest(&mut self) -> Result<(), DriveError> {
        if let Some(host) = self.front.host_mut() {
            let before = host.counts().pages.drive_writes;
            host.rest();
            if host.counts().pages.drive_writes > before {
                self.follow_cache(u64::MAX)?;
            }
        }
        Ok(())
    }

    /// Executes the commands in `waiting` until `most` pages are written, and clears the batch.
    /// Returns the number of pages written.
    fn execute_waiting(&mut self, waiting: &mut Batch, most: u64) -> Result<u64, DriveError> {
        let written = self.precede(waiting, most)?;
        waiting.clear();
        Ok(written)
    }

    /// Executes the commands that have left the host's cache, until `most` pages are written.
    /// Returns the number of pages written.
    fn follow_cache(&mut self, most: u64) -> Result<u64, DriveError> {
        let mut written = 0;
        while written < most
            && let Some(leaving) = self.host().next_leaving()
        {
            match leaving {
                Leaving::Hint(page) => self.hint_at_once(&[page], false)?,
                Leaving::Command(page, Op::Write, stream) => {
                    if self.execute(&[page], &[], &[stream], 1)? == 0 {
                        return Ok(written);
                    }
                    written += 1;
                }
                Leaving::Command(page, Op::Trim, _) => {
                    self.trim_at_once(page)?;
                }
                Leaving::Command(page, ..) => self.read_at_once(page)?,
                Leaving::HintCommand | Leaving::Served(_) => {}
            }
        }
        Ok(written)
    }

    fn host(&mut self) -> &mut ClockedHost {
        self.front.host_mut().expect("only a host with a cache comes here")
    }
}
