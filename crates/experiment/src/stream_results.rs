//! The counts of streams, and the log of a drive with flexible data placement.

use flashgc_base::counts::Counts;
use flashgc_base::described::Described;
use flashgc_base::stream::{NO_STREAM, StreamId, named};
use flashgc_ftl::{Handles, StreamCounts, StreamTotals};
use flashgc_timed::metrics::latency::Figures;
use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::config::Resolved;
use crate::counted::NamedCounts;
use crate::findings::{self, Finding};
use crate::finished::Finished;

/// The cost of one stream in the measured parts of all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct StreamResult {
    /// The number of the stream; `None` for writes without a stream, and for first contents.
    pub stream: Option<StreamId>,
    /// The mapping units written by the host, and copied.
    #[serde(flatten)]
    pub counts: NamedCounts<StreamCounts>,
    /// The write amplification, (host + copied) / host without padding; `None` if the host wrote
    /// nothing.
    pub write_amplification: Option<f64>,
    /// The response times of its reads in microseconds; only a drive with a clock has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_us: Option<Figures>,
    /// The response times of its writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_us: Option<Figures>,
}

impl StreamResult {
    pub(crate) fn new(stream: Option<StreamId>, counts: &StreamCounts) -> Self {
        Self {
            stream,
            counts: NamedCounts::new(counts),
            write_amplification: amplification(counts),
            read_us: None,
            write_us: None,
        }
    }

    /// Returns every stream that has written or copied pages. The writes without a stream come
    /// last.
    pub fn all(totals: &StreamTotals) -> Vec<Self> {
        let each = (0..=NO_STREAM).zip(&totals.streams);
        let seen = each.filter(|(_, counts)| counts.host_pages + counts.copied_pages > 0);
        seen.map(|(entry, counts)| Self::new(named(entry), counts)).collect()
    }
}

/// The statistics of a drive with flexible data placement in the measured parts of all runs, under
/// the names of NVM Express (log page 22h, events of log page 23h).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct FdpResult {
    /// The bytes written by the host (HBMW).
    pub host_bytes_with_metadata_written: u64,
    /// The bytes programmed, copies included (MBMW).
    pub media_bytes_with_metadata_written: u64,
    /// The bytes erased (MBE).
    pub media_bytes_erased: u64,
    /// The counts of events.
    pub events: FdpEvents,
    /// The mapping units that the host wrote to a reclaim group that had no room for them; another
    /// group took them. The log of a real drive does not have it.
    pub written_outside_group: u64,
    /// The handles in order, those of reclaim group 0 first.
    pub handles: Vec<HandleResult>,
}

/// The numbers of events of log page 23h. Two kinds of events never happen, because this drive
/// fills every reclaim unit before it opens another, and never moves a handle to another unit on
/// its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct FdpEvents {
    /// The mapping units written in a stream that has no handle (03h, invalid placement
    /// identifier).
    pub invalid_placement_identifier: u64,
    /// The reclaim units collected whose data were moved (80h, media reallocated).
    pub media_reallocated: u64,
}

/// The cost of the data of one handle. The log of a real drive does not have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct HandleResult {
    /// The number of the handle.
    pub handle: u16,
    /// The number of the reclaim group.
    pub group: u16,
    /// `true` if the handle is persistently isolated: copies of its data never share a block with
    /// other data. `false` if it is initially isolated.
    pub persistently_isolated: bool,
    /// The mapping units written by the host, and copied. First contents, and writes that name no
    /// handle, belong to handle 0; with several groups they lie in all of them, and do not count.
    #[serde(flatten)]
    pub counts: NamedCounts<StreamCounts>,
    /// The write amplification, (host + copied) / host without padding; `None` if the host wrote
    /// nothing.
    pub write_amplification: Option<f64>,
}

/// The bytes written by the host, programmed, and erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// The bytes written by the host (HBMW).
    pub host: u64,
    /// The bytes programmed (MBMW).
    pub media: u64,
    /// The bytes erased (MBE).
    pub erased: u64,
}

impl FdpResult {
    /// Returns the log of a drive with these handles.
    pub fn new(handles: Handles, totals: &StreamTotals, log: Log) -> Self {
        let is_handle = |entry: StreamId| handles.unit(entry).is_some();
        let mut each = vec![StreamCounts::default(); usize::from(handles.identifiers())];
        let mut invalid = 0;
        for (entry, counts) in (0..=NO_STREAM).zip(&totals.streams) {
            // Data without a handle are those of handle 0. Of several groups they lie in all.
            if is_handle(entry) || handles.groups == 1 {
                let handle = if is_handle(entry) { usize::from(entry) } else { 0 };
                each[handle] = each[handle].plus(counts);
            }
            if named(entry).is_some() && !is_handle(entry) {
                invalid += counts.host_pages;
            }
        }
        let result = |(stream, counts): (StreamId, &StreamCounts)| {
            let (group, handle) = handles.unit(stream)?;
            Some(HandleResult {
                handle,
                group,
                persistently_isolated: handle < handles.persistent,
                counts: NamedCounts::new(counts),
                write_amplification: amplification(counts),
            })
        };
        Self {
            host_bytes_with_metadata_written: log.host,
            media_bytes_with_metadata_written: log.media,
            media_bytes_erased: log.erased,
            events: FdpEvents {
                invalid_placement_identifier: invalid,
                media_reallocated: totals.moved_blocks,
            },
            written_outside_group: totals.outside_group,
            handles: (0..).zip(&each).filter_map(result).collect(),
        }
    }

    /// Returns the log of all runs; `None` for a drive without flexible data placement.
    pub(crate) fn of(
        resolved: &Resolved,
        runs: &[Finished],
        totals: &StreamTotals,
        bytes: &Bytes,
    ) -> Option<Self> {
        let erases: u64 = runs.iter().map(|run| run.counted.counters.erases).sum();
        let unit = u64::from(resolved.config.unit());
        let block = u64::from(resolved.config.units_with_parity()) * unit;
        let media = bytes.programmed + bytes.parity;
        let log = Log { host: bytes.host, media, erased: erases * block };
        Some(Self::new(resolved.handles()?, totals, log))
    }
}

/// Returns the findings about streams: ranges whose streams no write of the measured part has,
/// streams without a handle, and reclaim groups that were full.
pub(crate) fn findings(resolved: &Resolved, totals: &StreamTotals) -> Vec<Finding> {
    let written = |stream: StreamId| totals.streams[usize::from(stream)].host_pages;
    if (0..=NO_STREAM).all(|entry| written(entry) == 0) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if let (Some(ranges), Some(path)) = (&resolved.streams, &resolved.config.streams) {
        let unmet: Vec<StreamId> =
            ranges.streams().filter(|&stream| written(stream) == 0).collect();
        let space = resolved.space();
        let offered = u64::from(space.logical_pages) * u64::from(space.page_size);
        let words = named_in_words(&unmet);
        findings.extend(words.map(|streams| findings::stream_unmet(&streams, path, offered)));
    }
    if let Some(handles) = resolved.handles() {
        let count = handles.identifiers();
        let is_no_handle = |&stream: &StreamId| u16::from(stream) >= count && written(stream) > 0;
        let invalid: Vec<StreamId> = (0..NO_STREAM).filter(is_no_handle).collect();
        let pages: u64 = invalid.iter().map(|&stream| written(stream)).sum();
        let words = named_in_words(&invalid);
        findings
            .extend(words.map(|streams| findings::stream_without_handle(pages, &streams, count)));
        let outside = totals.outside_group;
        findings.extend((outside > 0).then(|| findings::group_full(outside, handles.groups)));
    }
    findings
}

/// Returns the streams as a text, `stream 3` or `streams 3, 5`; `None` if there are none.
fn named_in_words(streams: &[StreamId]) -> Option<String> {
    let numbers: Vec<String> = streams.iter().map(StreamId::to_string).collect();
    match numbers.as_slice() {
        [] => None,
        [stream] => Some(format!("stream {stream}")),
        several => Some(format!("streams {}", several.join(", "))),
    }
}

fn amplification(counts: &StreamCounts) -> Option<f64> {
    let StreamCounts { host_pages, copied_pages } = *counts;
    (host_pages > 0).then(|| (host_pages + copied_pages) as f64 / host_pages as f64)
}
