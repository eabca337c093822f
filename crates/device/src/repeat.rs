//! A drive that repeats the requests of another one.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flashgc_workload::Op;
use flashgc_workload::trace::{DeviceNumbers, ReadOptions, Request, TraceReader};

use crate::engine::Backend;
use crate::engine::Drive;
use crate::error::DeviceError;
use crate::layout::PAGE;

/// Returns the pages that a request touches; for a discard, only the pages that lie completely in
/// its range.
pub(crate) fn pages_of(request: &Request) -> Range<u64> {
    let (page, begin) = (PAGE as u64, u64::try_from(request.offset).unwrap_or(0));
    let end = begin.saturating_add(request.size);
    match request.op {
        Op::Trim => {
            let first = begin.div_ceil(page);
            first..(end / page).max(first)
        }
        _ if request.size == 0 => begin / page..begin / page,
        _ => begin / page..end.div_ceil(page),
    }
}

/// Repeats the writes, discards, flushes and hints of the recording at `trace` on `drive`. Every
/// page is written with the bytes that the file `data` has at its place: the final data of the
/// recorded drive. So `drive` ends with the same data and the same history of requests, but with
/// its own policies.
///
/// # Errors
/// A trace or data that cannot be read; errors of the drive.
pub fn repeat(drive: &mut Drive, trace: &Path, data: &Path) -> Result<(), DeviceError> {
    let media = |error: &dyn std::fmt::Display| DeviceError::Media(error.to_string());
    let options = ReadOptions { device_numbers: DeviceNumbers::Native, ..ReadOptions::default() };
    let mut reader = TraceReader::open(trace, &options).map_err(|error| media(&error))?;
    let data = File::open(data)?;
    let (mut block, mut bytes) = (vec![], vec![]);
    while reader.next_block(&mut block).map_err(|error| media(&error))? {
        for request in &block {
            let pages = pages_of(request);
            let (page, count) = (pages.start, pages.end - pages.start);
            match request.op {
                Op::Write => {
                    bytes.resize(count as usize * PAGE, 0);
                    data.read_exact_at(&mut bytes, page * PAGE as u64)?;
                    drive.write(page, &bytes, false)?;
                }
                Op::Trim => drive.trim(page, count)?,
                Op::Flush => drive.flush()?,
                Op::Dirty => drop(drive.hint(page, count, None)?),
                Op::Clean => drive.cancel(page, count)?,
                Op::Read => {}
            }
        }
    }
    drive.flush()
}
