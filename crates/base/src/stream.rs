//! Streams: numbers that the host gives to its writes. With them a drive can keep data apart that
//! live for different times, or belong to different tenants.

/// The number of a stream. A write of FDP names a placement identifier, and a file of Linux a write
/// life time hint; both are numbers like this.
pub type StreamId = u8;

/// Stands for no stream, in lists with an entry for every write. No stream has this number.
pub const NO_STREAM: StreamId = StreamId::MAX;

/// The largest number of streams.
pub const MOST_STREAMS: usize = NO_STREAM as usize;

/// The stream that an entry of such a list names; `None` for [`NO_STREAM`].
#[inline]
pub fn named(entry: StreamId) -> Option<StreamId> {
    (entry != NO_STREAM).then_some(entry)
}
