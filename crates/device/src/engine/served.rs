//! A drive as front ends see it, and the errors of its commands.

use std::ops::Range;
use std::time::Instant;

use flashgc_base::stream::{NO_STREAM, StreamId};

use crate::engine::Drive;
use crate::error::DeviceError;
use crate::layout::PAGE;
use crate::recording::{HostRequest, Noted, Origin};
use crate::usage::Usage;

/// The pages on which a hint holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hinted {
    /// The number of pages that the host has written since the moment of the hint.
    pub late: u64,
    /// The pages on which the hint holds, in order.
    pub pages: Vec<Range<u64>>,
}

/// The streams of the pages of a write: none, one for all of them, or one for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteStreams<'a>(pub &'a [StreamId]);

impl<'a> WriteStreams<'a> {
    /// Returns the stream of the write's page with this number: 0, 1, 2 and so on.
    pub fn of(self, number: usize) -> StreamId {
        match *self.0 {
            [] => NO_STREAM,
            [all] => all,
            ref each => each.get(number).copied().unwrap_or(NO_STREAM),
        }
    }

    /// Returns the streams of the `bytes` bytes from byte `offset` on that the write has: how many bytes
    /// belong to each stream, in their order.
    pub fn of_bytes(self, offset: u64, bytes: u64) -> Vec<(u64, StreamId)> {
        let [_, _, ..] = self.0 else { return vec![(bytes, self.of(0))] };
        let (page, end) = (PAGE as u64, offset + bytes);
        let mut streams: Vec<(u64, StreamId)> = Vec::new();
        for number in 0..end.div_ceil(page) - offset / page {
            let begin = (offset / page + number) * page;
            let bytes = end.min(begin + page) - offset.max(begin);
            match streams.last_mut() {
                Some((last, stream)) if *stream == self.of(number as usize) => *last += bytes,
                _ => streams.push((bytes, self.of(number as usize))),
            }
        }
        streams
    }

    /// Returns the streams of `count` of its pages from the one with this number on.
    pub fn part(self, number: usize, count: usize) -> Self {
        match *self.0 {
            [] | [_] => self,
            ref each => {
                let end = each.len().min(number + count);
                Self(&each[number.min(end)..end])
            }
        }
    }
}

/// A drive as front ends see it. Pages are 4096 bytes.
pub trait Backend: Send {
    /// Returns the number of pages of the logical space.
    fn pages(&self) -> u64;

    /// Reads whole pages from `page` on; pages without data are zeros.
    ///
    /// # Errors
    /// Pages beyond the drive, damaged data, an error of the medium.
    fn read(&mut self, page: u64, into: &mut [u8]) -> Result<(), DeviceError>;

    /// Writes whole pages from `page` on; with `fua` they are durable when this returns.
    ///
    /// # Errors
    /// Pages beyond the drive, a drive that is read-only or becomes so.
    fn write(&mut self, page: u64, data: &[u8], fua: bool) -> Result<(), DeviceError> {
        self.write_named(page, data, WriteStreams::default(), fua)
    }

    /// Returns `true` if the host may name the streams of its writes.
    fn takes_streams(&mut self) -> bool {
        false
    }

    /// Writes as [`Backend::write`] does. The pages belong to these streams, on a drive that takes streams.
    ///
    /// # Errors
    /// The errors of [`Backend::write`].
    fn write_named(
        &mut self,
        page: u64,
        data: &[u8],
        streams: WriteStreams<'_>,
        fua: bool,
    ) -> Result<(), DeviceError>;

    /// Discards `count` pages: they read as zeros.
    ///
    /// # Errors
    /// The errors of [`Backend::write`].
    fn trim(&mut self, page: u64, count: u64) -> Result<(), DeviceError>;

    /// Makes every command completed before durable.
    ///
    /// # Errors
    /// A drive that is read-only with data that are not durable, or becomes so.
    fn flush(&mut self) -> Result<(), DeviceError>;

    /// Hands the effects of every command completed before over to the system: they survive the end of this process,
    /// however sudden, and the next flush of whoever opens the drive then makes them durable. A drive without data of
    /// its own in memory has nothing to do.
    ///
    /// # Errors
    /// The errors of [`Backend::flush`].
    fn hand_over(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Returns the present moment: the number of pages that the host has written since the drive was made.
    fn moment(&self) -> u64;

    /// Notes that the host will write these pages soon, as it knew at `moment`; `None` is now. Pages that it has
    /// written since and pages without data are passed over, the latter only if the moment is past.
    ///
    /// # Errors
    /// Pages beyond the drive, a moment that has not come, an error of the medium.
    fn hint(&mut self, page: u64, count: u64, moment: Option<u64>) -> Result<Hinted, DeviceError>;

    /// Takes hints on these pages back, whatever their moment.
    ///
    /// # Errors
    /// Pages beyond the drive.
    fn cancel(&mut self, page: u64, count: u64) -> Result<(), DeviceError>;

    /// Returns how many of `count` pages from `page` on follow one another that all have data, or all have
    /// none, and `true` if they have some.
    ///
    /// # Errors
    /// Pages beyond the drive.
    fn extent(&mut self, page: u64, count: u64) -> Result<(u64, bool), DeviceError>;

    /// Sets the arrival time of the commands that follow, until this is called again, and where they come from;
    /// `None` is now. A command may have waited before it is executed.
    fn arrived(&mut self, at: Option<Instant>, from: Origin) {
        let _ = (at, from);
    }

    /// Sets the request of the host whose pages the drive reads and writes until this is called again; `None` is the
    /// pages themselves. A recording has what the host sent.
    fn asks(&mut self, request: Option<HostRequest>) {
        let _ = request;
    }

    /// Returns the requests of a recording that the commands since the last call made; `None` without any.
    fn noted(&mut self) -> Option<Noted> {
        None
    }

    /// Adds the hosts' use since the last call to the drive's own counts.
    fn account(&mut self, usage: &Usage) {
        let _ = usage;
    }

    /// Returns the stored drive that it is, or `None` if it is another kind.
    fn as_drive(&mut self) -> Option<&mut Drive> {
        None
    }
}
