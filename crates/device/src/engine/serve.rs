//! The commands of the host.

use std::time::Instant;

use flashgc_base::counts::Counts;
use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_workload::Op;

use super::Drive;
use crate::engine::{Backend, Hinted, WriteStreams};
use crate::error::DeviceError;
use crate::journal::Record;
use crate::layout::PAGE;
use crate::mapped::GROUP;
use crate::recording::{HostRequest, Noted, Origin, Recording};
use crate::usage::Usage;

/// The number of pages of a hint that are passed to the page store at once.
const HINTS: u32 = 1024;

impl Drive {
    /// Returns the range as page numbers, if the drive has it.
    fn range(&self, page: u64, count: u64) -> Result<std::ops::Range<u32>, DeviceError> {
        let pages = self.pages();
        match page.checked_add(count) {
            Some(end) if end <= pages => Ok(page as u32..end as u32),
            _ => Err(DeviceError::OutOfRange { page, count, pages }),
        }
    }

    /// Returns the range of pages that `bytes` bytes from `page` on cover; an error unless they are
    /// whole pages.
    fn range_of(&self, page: u64, bytes: usize) -> Result<std::ops::Range<u32>, DeviceError> {
        let count = bytes.div_ceil(PAGE) as u64;
        if !bytes.is_multiple_of(PAGE) {
            return Err(DeviceError::OutOfRange { page, count, pages: self.pages() });
        }
        self.range(page, count)
    }

    /// Makes the work so far durable and says so in the journal, if no work was added since the
    /// last call. The server calls this a few times a second while no command waits.
    pub fn rest(&mut self) {
        let stamp = self.journal.stamp();
        let is_still = std::mem::replace(&mut self.seen, stamp) == stamp;
        let owes = self.is_dirty || self.journal.is_unvouched();
        if is_still && owes && self.failure().is_none() {
            // A failure has made the drive read-only, which the next command is told.
            let _ = self.vouch();
        }
    }

    fn record(&mut self, op: Op, page: u64, count: u64) {
        if let Some(recording) = &mut self.recording {
            recording.note(op, page, count, NO_STREAM);
        }
    }

    /// Records a write of `count` pages: one request for each run of pages of the same stream.
    fn record_writes(&mut self, page: u64, count: usize, streams: WriteStreams<'_>) {
        let takes_streams = self.takes_streams();
        let Some(recording) = &mut self.recording else { return };
        let mut begin = 0;
        while begin < count {
            let stream = if takes_streams { streams.of(begin) } else { NO_STREAM };
            let goes_on = |&next: &usize| !takes_streams || streams.of(next) == stream;
            let end = begin + 1 + (begin + 1..count).take_while(goes_on).count();
            recording.note(Op::Write, page + begin as u64, (end - begin) as u64, stream);
            begin = end;
        }
    }

    /// Records the drive's requests into `recording` from now on; `None` ends the recording.
    /// Returns the earlier recording.
    pub fn replace_recording(&mut self, recording: Option<Recording>) -> Option<Recording> {
        std::mem::replace(&mut self.recording, recording)
    }

    /// Returns the first page of `range` that has data, or the range's end if there is none.
    fn next_with_data(&self, range: std::ops::Range<u32>) -> u32 {
        self.mapped.next(range, true, |page| self.map.locate(page).is_some())
    }

    /// Discards pages of one group. Returns the number of them that had data.
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

    /// Passes a hint for the pages of `range` to the page store, or takes hints back if `is_hint`
    /// is false. If the hint is from an earlier moment `since`, pages without data and pages
    /// written later are left out. Returns the pages passed on, and the number of pages written
    /// later.
    fn pass_on(
        &mut self,
        range: std::ops::Range<u32>,
        is_hint: bool,
        since: Option<u64>,
    ) -> Result<Hinted, DeviceError> {
        let mut heard = Hinted::default();
        if self.map.hints().is_none() && self.recording.is_none() {
            return Ok(heard);
        }
        for first in range.clone().step_by(HINTS as usize) {
            let mut pages: Vec<u32> = (first..range.end.min(first.saturating_add(HINTS))).collect();
            if let Some(moment) = since {
                heard.late += self.keep_older(&mut pages, moment)?;
            }
            let op = if is_hint { Op::Dirty } else { Op::Clean };
            for run in pages.chunk_by(|&page, &next| page + 1 == next) {
                let (first, count) = (u64::from(run[0]), run.len() as u64);
                self.record(op, first, count);
                match heard.pages.last_mut() {
                    Some(last) if last.end == first => last.end += count,
                    _ => heard.pages.push(first..first + count),
                }
            }
            let Some(hints) = self.map.hints() else { continue };
            let passed = if is_hint { hints.hint(&pages) } else { hints.cancel(&pages) };
            passed.map_err(|error| DeviceError::Media(error.to_string()))?;
        }
        self.opened.late_hints += heard.late;
        Ok(heard)
    }

    /// Returns how many of the `count` pages from `page` on have data, and how many have a hint.
    ///
    /// # Errors
    /// Pages beyond the drive.
    pub fn hinted(&mut self, page: u64, count: u64) -> Result<(u64, u64), DeviceError> {
        let (mut held, mut hinted) = (0, 0);
        for page in self.range(page, count)? {
            held += u64::from(self.map.locate(page).is_some());
            hinted += u64::from(self.map.hints().is_some_and(|hints| hints.is_hinted(page)));
        }
        Ok((held, hinted))
    }

    /// Returns the stream of the data that `page` has; [`NO_STREAM`] for none.
    pub fn stream_of(&mut self, page: u32) -> StreamId {
        self.map.streams().map_or(NO_STREAM, |streams| streams.of(page))
    }

    /// Removes from `pages` those without data, and those whose data the host wrote after `moment`.
    /// Returns the number of the latter. The moments are read from the out-of-band records, so that
    /// the drive keeps none in memory.
    fn keep_older(&self, pages: &mut Vec<u32>, moment: u64) -> std::io::Result<u64> {
        let (mut late, mut failed) = (0, None);
        pages.retain(|&page| {
            let Some(ppn) = self.map.locate(page) else { return false };
            let is_older = match self.record_of(page, ppn) {
                Ok(Some(record)) => record.written_at <= moment,
                Ok(None) => false, // damaged: nobody knows when
                Err(error) => {
                    failed = Some(error);
                    false
                }
            };
            late += u64::from(!is_older);
            is_older
        });
        failed.map_or(Ok(late), Err)
    }
}

impl Backend for Drive {
    fn pages(&self) -> u64 {
        self.zones.geometry.logical_pages().into()
    }

    fn read(&mut self, page: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        let range = self.range_of(page, into.len())?;
        self.look_at_dies();
        self.record(Op::Read, page, range.len() as u64);
        let read = self.read_pages(range.start, into);
        // Nothing is left in the buffer that is not the data of its page.
        read.inspect_err(|_| into.fill(0))
    }

    fn takes_streams(&mut self) -> bool {
        self.ranges.is_none() && self.map.streams().is_some()
    }

    fn write_named(
        &mut self,
        page: u64,
        data: &[u8],
        streams: WriteStreams<'_>,
        fua: bool,
    ) -> Result<(), DeviceError> {
        let range = self.range_of(page, data.len())?;
        self.check_writable()?;
        self.look_at_dies();
        let (mut done, mut written) = (0, Ok(()));
        for (page, data) in range.zip(data.chunks(PAGE)) {
            written = self.write_page(page, data, streams.of(done));
            if written.is_err() {
                break;
            }
            done += 1;
        }
        self.record_writes(page, done, streams);
        written?;
        if fua { self.flush() } else { Ok(()) }
    }

    fn trim(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        let range = self.range(page, count)?;
        self.check_writable()?;
        self.record(Op::Trim, page, count);
        let mut rest = range.start;
        while rest < range.end {
            // One journal record covers consecutive groups that all have a page with data.
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
        self.record(Op::Flush, 0, 0);
        self.make_durable().map_err(|error| self.fail(error))?;
        self.advance_checkpoint()
    }

    fn hand_over(&mut self) -> Result<(), DeviceError> {
        if let Some(why) = &self.failed {
            return Err(DeviceError::ReadOnly(why.clone()));
        }
        self.write_so_far().map_err(|error| self.fail(error))
    }

    fn moment(&self) -> u64 {
        self.map.counters().host_pages
    }

    fn hint(&mut self, page: u64, count: u64, moment: Option<u64>) -> Result<Hinted, DeviceError> {
        let range = self.range(page, count)?;
        self.look_at_dies();
        let now = self.moment();
        match moment {
            Some(moment) if moment > now => Err(DeviceError::Moment { moment, now }),
            // If nothing was written since `moment`, no page need be checked.
            since => self.pass_on(range, true, since.filter(|&moment| moment < now)),
        }
    }

    fn cancel(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        let range = self.range(page, count)?;
        self.pass_on(range, false, None).map(drop)
    }

    fn arrived(&mut self, at: Option<Instant>, from: Origin) {
        if let Some(recording) = &mut self.recording {
            recording.arrived(at, from);
        }
    }

    fn asks(&mut self, request: Option<HostRequest>) {
        self.recording.iter_mut().for_each(|recording| recording.asks(request));
    }

    fn noted(&mut self) -> Option<Noted> {
        self.recording.as_mut()?.noted()
    }

    fn account(&mut self, usage: &Usage) {
        self.usage = self.usage.plus(usage);
        self.opened.unaligned += usage.unaligned;
        self.accounted = self.map.counters().host_pages;
    }

    fn as_drive(&mut self) -> Option<&mut Drive> {
        Some(self)
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
