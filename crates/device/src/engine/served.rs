//! A drive as front ends see it.

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
    /// The number of the hint's pages that the host has written since the moment of the hint.
    pub late: u64,
    /// The pages on which the hint holds, in order.
    pub pages: Vec<Range<u64>>,
}

/// The streams of the pages of a write: none, one for all of them, or one for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteStreams<'a>(pub &'a [StreamId]);

impl<'a> WriteStreams<'a> {
    /// Returns the stream of page `number` of the write, counted from 0.
    pub fn of(self, number: usize) -> StreamId {
        match *self.0 {
            [] => NO_STREAM,
            [all] => all,
            ref each => each.get(number).copied().unwrap_or(NO_STREAM),
        }
    }

    /// Returns the streams of a write of `bytes` bytes from byte `offset` on, as runs in order: the
    /// number of bytes and their stream.
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

    /// Returns the streams of `count` pages of the write, from page `number` of the write on.
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

    /// Writes as [`Backend::write`] does. If the drive takes streams, the pages belong to
    /// `streams`.
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

    /// Makes all earlier completed commands durable.
    ///
    /// # Errors
    /// A drive that is read-only with data that are not durable, or becomes so.
    fn flush(&mut self) -> Result<(), DeviceError>;

    /// Hands the effects of all completed commands over to the operating system. They then survive
    /// the end of this process, however sudden. If another process then opens the drive, its next
    /// flush makes them durable. A drive that keeps no data in memory has nothing to do.
    ///
    /// # Errors
    /// The errors of [`Backend::flush`].
    fn hand_over(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Returns the present moment: the number of pages that the host has written since the drive
    /// was made.
    fn moment(&self) -> u64;

    /// Notes a hint that the host gave at `moment`: the host will write these pages soon. `None`
    /// stands for now. Pages written since `moment` are passed over. If `moment` is in the past, so
    /// are pages without data.
    ///
    /// # Errors
    /// Pages beyond the drive, a moment in the future, an error of the medium.
    fn hint(&mut self, page: u64, count: u64, moment: Option<u64>) -> Result<Hinted, DeviceError>;

    /// Takes back the hints on these pages, whenever they were given.
    ///
    /// # Errors
    /// Pages beyond the drive.
    fn cancel(&mut self, page: u64, count: u64) -> Result<(), DeviceError>;

    /// Returns the length of the run of pages from `page` on, at most `count`, that all have data
    /// or all have none; and `true` if they have data.
    ///
    /// # Errors
    /// Pages beyond the drive.
    fn extent(&mut self, page: u64, count: u64) -> Result<(u64, bool), DeviceError>;

    /// Sets the arrival time and the sender of the commands that follow, until this is called
    /// again. `None` stands for now. A command may have waited between its arrival and its
    /// execution.
    fn arrived(&mut self, at: Option<Instant>, from: Origin) {
        let _ = (at, from);
    }

    /// Sets the host's request to which the next reads and writes of pages belong, until this is
    /// called again; `None` if the host sent them as whole pages. A recording has the requests as
    /// the host sent them.
    fn asks(&mut self, request: Option<HostRequest>) {
        let _ = request;
    }

    /// Returns the requests that the recording has noted since the last call; `None` if there are
    /// none.
    fn noted(&mut self) -> Option<Noted> {
        None
    }

    /// Adds the hosts' use since the last call to the drive's own counts.
    fn account(&mut self, usage: &Usage) {
        let _ = usage;
    }

    /// Returns the stored drive, or `None` if this is another kind of drive.
    fn as_drive(&mut self) -> Option<&mut Drive> {
        None
    }
}
