//! Commands with lists of ranges: Dataset Management and Copy.
//!
//! # Source
//! NVM Command Set Specification 1.0, sections 3.2.2 and 3.2.3.

use std::sync::Arc;

use zerocopy::FromBytes;

use super::blocks::{Addressed, DURABLE, finished, on_drive, stream};
use super::link::{Link, Need};
use super::structures::{CopySource, Entry, Range, Status};
use super::{LARGEST, RANGES, SOURCES};
use crate::command::Command;
use flashgc_device::PAGE;

/// The bit of dword 11 which says that Dataset Management discards (AD).
const DISCARDS: u32 = 1 << 2;
/// The attribute bit of a range which says that it will be written soon (WP).
const WRITE_SOON: u32 = 1 << 10;

/// Returns the number of ranges of a command, from the first byte of dword `number`.
fn count(entry: &Entry, number: usize) -> usize {
    usize::from(entry.dword(number) as u8) + 1
}

/// Returns the memory that Dataset Management needs for data.
pub fn need_of_dataset(entry: &Entry) -> Need {
    let wanted = count(entry, 10) * size_of::<Range>();
    let taken = entry.described(wanted, RANGES * size_of::<Range>());
    // A hint holds the list of the pages of its slice in memory.
    let hint = Command::Hint { at: 0, bytes: u64::MAX, moment: None };
    let is_hint = entry.dword(11) & DISCARDS == 0;
    Need { taken, held: if is_hint { hint.cost().memory } else { 0 }, ..Need::default() }
}

/// Returns the memory that Copy needs for data, or the status if the command is not possible.
pub fn need_of_copy(entry: &Entry) -> Result<Need, Status> {
    let (ranges, format) = (count(entry, 12), entry.dword(12) >> 8 & 15);
    if format != 0 {
        return Err(Status::INVALID_FIELD);
    }
    if ranges > SOURCES {
        return Err(Status::SIZE_LIMIT);
    }
    let taken =
        entry.described(ranges * size_of::<CopySource>(), SOURCES * size_of::<CopySource>());
    // Memory for the data, which are gathered range by range, and for the list of ranges.
    let list = SOURCES * size_of::<(u64, usize)>();
    Ok(Need { taken, held: 2 * (LARGEST + ranges * PAGE) + list, ..Need::default() })
}

/// Executes Copy: the drive reads and writes, and no data move to the host.
pub fn copy(link: &Arc<Link>, entry: Entry, data: &[u8], cost: usize) {
    let Link { subsystem, .. } = &**link;
    let most = LARGEST as u64 >> subsystem.block_shift;
    let sources = <[CopySource]>::ref_from_bytes(data).unwrap_or_default();
    let blocks = |source: &CopySource| u64::from(source.last.get()) + 1;
    let sources = &sources[..count(&entry, 12).min(sources.len())];
    let all = sources.iter().map(blocks).sum();
    if all > most {
        return link.done(&entry, Err(Status::SIZE_LIMIT), cost);
    }
    let from: Result<Vec<(u64, usize)>, Status> = sources
        .iter()
        .map(|source| on_drive(subsystem, source.first.get(), blocks(source)))
        .map(|range| range.map(|Addressed { at, bytes }| (at, bytes as usize)))
        .collect();
    let to = on_drive(subsystem, entry.quadword(10), all);
    let (from, to) = match (from, to) {
        (Ok(from), Ok(to)) => (from, to.at),
        (Err(status), _) | (_, Err(status)) => return link.done(&entry, Err(status), cost),
    };
    let streams = stream(link, &entry).into_iter().collect();
    let fua = entry.dword(12) & DURABLE != 0 || subsystem.writes_through();
    let (host, link) = (link, Arc::clone(link));
    host.submit(Command::Copy { from, to, streams, fua }, cost, move |outcome| {
        link.done(&entry, finished(&link, outcome, Status::UNRECOVERED_READ), cost);
    });
}

/// Executes Dataset Management. It discards the ranges, or gives hints for those that will be
/// written soon. Other attributes have no effect.
pub fn dataset(link: &Arc<Link>, entry: Entry, data: &[u8], cost: usize) {
    let Link { subsystem, .. } = &**link;
    let ranges = <[Range]>::ref_from_bytes(data).unwrap_or_default();
    let (discards, fua) = (entry.dword(11) & DISCARDS != 0, subsystem.writes_through());
    let command = |range: &Range| {
        let Addressed { at, bytes } =
            on_drive(subsystem, range.first.get(), range.blocks.get().into())?;
        let is_soon = range.attributes.get() & WRITE_SOON != 0;
        Ok(match discards {
            true => Some(Command::Trim { at, bytes, fua }),
            false => is_soon.then_some(Command::Hint { at, bytes, moment: None }),
        })
    };
    let commands: Result<Vec<Command>, Status> = ranges
        .iter()
        .take(count(&entry, 10))
        .filter(|range| range.blocks.get() > 0)
        .filter_map(|range| command(range).transpose())
        .collect();
    let commands = match commands {
        Ok(commands) if !commands.is_empty() => commands,
        other => return link.done(&entry, other.map(|_| 0), cost),
    };
    let (queue, link) = (&link.queue, Arc::clone(link));
    queue.submit_all(commands, move |outcome| {
        link.done(&entry, finished(&link, outcome, Status::WRITE_FAULT), cost);
    });
}
