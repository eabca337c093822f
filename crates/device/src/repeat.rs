//! A drive that repeats the requests of another one.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flashgc_workload::Op;
use flashgc_workload::trace::{DeviceNumbers, ReadOptions, TraceReader};

use crate::engine::Drive;
use crate::error::DeviceError;
use crate::layout::PAGE;
use crate::served::Served;

/// Repeats the writes, discards, flushes and hints of the recording at `trace` on `drive`. Every page
/// is written with the bytes that the file `data` has in its place: those that the recorded drive had
/// in the end. So the drive ends with these data and with the history of the other, under its own
/// policies.
///
/// # Errors
/// A trace or data that cannot be read, and what the drive refuses.
pub fn repeat(drive: &mut Drive, trace: &Path, data: &Path) -> Result<(), DeviceError> {
    let media = |error: &dyn std::fmt::Display| DeviceError::Media(error.to_string());
    let options = ReadOptions { device_numbers: DeviceNumbers::Native, ..ReadOptions::default() };
    let mut reader = TraceReader::open(trace, &options).map_err(|error| media(&error))?;
    let data = File::open(data)?;
    let (mut block, mut bytes) = (vec![], vec![]);
    while reader.next_block(&mut block).map_err(|error| media(&error))? {
        for request in &block {
            let (at, size, bytes_of_page) = (request.offset as u64, request.size, PAGE as u64);
            if !at.is_multiple_of(bytes_of_page) || !size.is_multiple_of(bytes_of_page) {
                let text =
                    format!("found {size} bytes from {at} on, expected whole pages of {PAGE}");
                return Err(DeviceError::Media(text));
            }
            let (page, count) = (at / bytes_of_page, size / bytes_of_page);
            match request.op {
                Op::Write => {
                    bytes.resize(size as usize, 0);
                    data.read_exact_at(&mut bytes, at)?;
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
