//! Requests with arrival times, for a drive that has a clock. A [`TimedRequest`] is in bytes and
//! nanoseconds; the drive cuts it into pages. Nothing here knows of drives.

pub mod arrivals;
pub mod disksim;
pub mod distribution;
mod live;
mod pages;
mod sized;
mod source;
mod trace;
mod waits;

pub use arrivals::{Arrivals, Clock};
pub use live::LiveRequests;
pub use pages::PageRequests;
pub use source::{Requests, RequestsInfo, Space, request_generators};
pub use trace::{TimedTrace, TraceRequests};
pub use waits::{Wait, Waits};

use flashgc_base::snapshot::{State, Value};
use flashgc_base::stream::{NO_STREAM, StreamId};

use crate::{Batch, Op, WorkloadError};

/// One request of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct TimedRequest {
    /// The arrival time in nanoseconds since the beginning of the workload. It is never before that
    /// of the previous request. A closed loop ignores it, because it issues a request when another
    /// completes.
    pub arrival_ns: u64,
    /// The first byte, counted from the beginning of the drive's logical space; 0 for a flush.
    pub offset: u64,
    /// The number of bytes, at least 1; 0 for a flush.
    pub bytes: u32,
    /// The operation.
    pub op: Op,
    /// `true` if the request may not wait for a collection. Only some drives distinguish such
    /// requests.
    pub urgent: bool,
    /// The stream of the request, or [`NO_STREAM`].
    pub stream: StreamId,
    /// `true` if this is a piece of a host request, and the next one is another piece of the same
    /// request.
    pub goes_on: bool,
}

impl TimedRequest {
    /// Makes a flush.
    pub fn flush(arrival_ns: u64) -> Self {
        Self {
            arrival_ns,
            offset: 0,
            bytes: 0,
            op: Op::Flush,
            urgent: false,
            stream: NO_STREAM,
            goes_on: false,
        }
    }

    /// Returns `true` if this counts as a request: it is neither a hint nor a flush.
    pub fn is_asked(&self) -> bool {
        !self.op.is_hint() && self.op != Op::Flush
    }

    /// Returns `true` if this is a whole request or the last piece of one. Each request has exactly
    /// one such entry.
    pub fn is_last_piece(&self) -> bool {
        self.is_asked() && !self.goes_on
    }

    /// Returns the first byte after the request.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes)
    }
}

/// A stream of requests in the order of their arrival.
pub trait RequestStream: State + Send {
    /// Replaces the content of `batch` with the next requests, at most `limit` of them. `batch` is
    /// empty if the workload has ended. The requests do not depend on the limits. The hints of a
    /// trace are among them.
    ///
    /// # Errors
    /// A trace is damaged, or its times go back.
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError>;

    /// Replaces the content of `batch` with the commands of the next requests, at most `limit` of them,
    /// if each request is one command on a whole page of `page_bytes` bytes. Their times are not drawn.
    /// Returns `false`, and does nothing, if a request may be another.
    ///
    /// # Errors
    /// Those of [`RequestStream::fill`].
    fn fill_commands(
        &mut self,
        _batch: &mut Batch,
        _page_bytes: u32,
        _limit: usize,
    ) -> Result<bool, WorkloadError> {
        Ok(false)
    }
}
