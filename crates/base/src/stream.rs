//! Streams: what the host says of its writes, so that the drive can keep data apart which live differently
//! long, or belong to different tenants.

/// The number of a stream. A write of FDP names a placement identifier, and a file of Linux a write life
/// time hint; both are numbers like this.
pub type StreamId = u8;

/// Stands for no stream where every write has an entry. It is the number of none.
pub const NO_STREAM: StreamId = StreamId::MAX;

/// The largest number of streams.
pub const MOST_STREAMS: usize = NO_STREAM as usize;

/// The stream that an entry names.
#[inline]
pub fn named(entry: StreamId) -> Option<StreamId> {
    (entry != NO_STREAM).then_some(entry)
}
