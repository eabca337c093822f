//! Tables in memory as traces: columns are read in place and written as requests.

use std::path::PathBuf;
use std::ptr::NonNull;

use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_workload::Op;
use flashgc_workload::trace::{
    self, Declared, Fields, OutputFormat, PagesOptions, Request, TraceWriter,
};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;

use crate::errors;

/// Requests that are written at once.
const BLOCK: usize = 1 << 16;

/// Returns the meaning and the unit of each column, as texts, from its name in the first line of a
/// text file; `None` for an unknown name.
#[pyfunction]
pub(crate) fn column_meanings(
    names: Vec<String>,
) -> Vec<Option<(&'static str, Option<&'static str>)>> {
    names.iter().map(|name| trace::column_meaning(name)).collect()
}

/// Returns the number of the operation that `word` names in text files.
#[pyfunction]
pub(crate) fn operation_of(word: &str) -> Option<u8> {
    trace::operation_of(word).map(|op| op as u8)
}

/// Writes a trace of requests, given as columns, in flashgc's own format. The columns have one
/// length, are contiguous and were checked: times in nanoseconds, offsets and sizes in bytes. A
/// stream of -1 means no stream.
#[pyfunction]
#[pyo3(signature = (output, times, ops, offsets, sizes, devices=None, streams=None))]
#[allow(clippy::too_many_arguments)] // They are the columns.
pub(crate) fn trace_of_columns(
    py: Python<'_>,
    output: PathBuf,
    times: PyBuffer<i64>,
    ops: PyBuffer<u8>,
    offsets: PyBuffer<i64>,
    sizes: PyBuffer<i64>,
    devices: Option<PyBuffer<i64>>,
    streams: Option<PyBuffer<i64>>,
) -> PyResult<()> {
    let (times, ops) = (Items::new(times)?, Items::new(ops)?);
    let (offsets, sizes) = (Items::new(offsets)?, Items::new(sizes)?);
    let devices = devices.map(Items::new).transpose()?;
    let streams = streams.map(Items::new).transpose()?;
    let declared =
        Declared { fields: Fields::STREAM.if_any(streams.is_some()), ..Declared::default() };
    let format = Some(OutputFormat::Native);
    let writer = TraceWriter::create_private(&output, format, PagesOptions::default(), declared);
    let mut writer = writer.map_err(errors::trace)?;
    let mut block = Vec::with_capacity(BLOCK.min(times.count));
    for begin in (0..times.count).step_by(BLOCK) {
        block.clear();
        block.extend((begin..times.count.min(begin + BLOCK)).map(|at| Request {
            time_ns: times.get(at) as u64,
            offset: offsets.get(at),
            size: sizes.get(at) as u64,
            device: devices.as_ref().map_or(0, |devices| devices.get(at) as u32),
            op: OPS[usize::from(ops.get(at))],
            stream: streams.as_ref().map_or(NO_STREAM, |streams| stream_of(streams.get(at))),
            ..Request::default()
        }));
        writer.write(&block).map_err(errors::trace)?;
        py.check_signals()?;
    }
    writer.finish().map(drop).map_err(errors::trace)
}

/// Converts a number to a stream; -1 means no stream.
fn stream_of(number: i64) -> StreamId {
    StreamId::try_from(number).unwrap_or(NO_STREAM)
}

/// The operations of requests, at the index that is their number.
const OPS: [Op; 3] = [Op::Write, Op::Read, Op::Trim];

/// The items of a column, read in place.
struct Items<T> {
    first: NonNull<T>,
    count: usize,
    _lent: PyBuffer<T>,
}

impl<T: Element> Items<T> {
    fn new(column: PyBuffer<T>) -> PyResult<Self> {
        let contiguous = || errors::config("a column that is not contiguous");
        let items = column.as_slice_ptr().ok_or_else(contiguous)?;
        Ok(Self { first: items.cast(), count: items.len(), _lent: column })
    }

    /// Returns the item at index `at`. If somebody writes to the column meanwhile, the trace gets
    /// the old or the new value.
    fn get(&self, at: usize) -> T {
        assert!(at < self.count, "the columns have one length");
        // SAFETY: the buffer is lent for as long as `self` lives, and has `count` items, one after
        // the other; they are plain numbers. This thread holds the interpreter, so no Python code
        // writes.
        unsafe { self.first.add(at).read_volatile() }
    }
}
