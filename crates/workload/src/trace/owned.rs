//! Copies recordings, and gives each write the owner of its pages as its stream.

use std::path::Path;

use flashgc_base::stream::{NO_STREAM, StreamId};

use super::error::TraceError;
use super::format::{DeviceNumbers, ReadOptions};
use super::reader::TraceReader;
use super::request::{Declared, Fields, Request};
use super::write::{OutputFormat, PagesOptions, TraceWriter};
use crate::Op;

/// A range of pages that gets an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The time from which on the pages have the owner, in nanoseconds of the recording.
    pub time_ns: u64,
    /// The first page.
    pub page: u64,
    /// The number of pages.
    pub count: u64,
    /// The owner.
    pub owner: StreamId,
}

/// The pages of one owner in a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// The number of pages written.
    pub written: u64,
    /// The number of discarded pages whose data this owner had written.
    pub trimmed: u64,
    /// The number of pages of this owner that were overwritten or discarded.
    pub ended: u64,
    /// The sum of the lives of the ended pages. The life of a page is the number of pages that the
    /// host wrote between its write and its end.
    pub lived: u64,
}

fn options() -> ReadOptions {
    ReadOptions {
        device_numbers: DeviceNumbers::Native,
        keep_flushes: true,
        ..ReadOptions::default()
    }
}

fn writer(to: &Path, declared: Declared) -> Result<TraceWriter, TraceError> {
    let declared = Declared { fields: declared.fields.with(Fields::STREAM), ..declared };
    TraceWriter::create_private(to, Some(OutputFormat::Native), PagesOptions::default(), declared)
}

/// Copies the recordings of a drive with `pages` pages of `page_bytes` bytes, one after the other,
/// and gives each write the owner of its pages as its stream. A write to pages of several owners
/// becomes several writes. Each of `parts` is a recording and the file for its copy. `changes` are
/// in the order of their times, during the last recording; before that, owner 0 has all pages.
/// Returns the counts of each owner, by the owner's number.
///
/// # Errors
/// A trace cannot be read, or a file cannot be written.
pub fn tag(
    parts: &[(&Path, &Path)],
    changes: &[Change],
    (pages, page_bytes): (u64, u64),
) -> Result<Vec<Owned>, TraceError> {
    let mut owners = Owners::new(pages);
    let (mut block, mut named) = (Vec::new(), Vec::new());
    for (number, &(from, to)) in (1..).zip(parts) {
        if number == parts.len() {
            owners.changes = changes;
        }
        let mut reader = TraceReader::open(from, &options())?;
        let mut writer = writer(to, reader.declared())?;
        while reader.next_block(&mut block)? {
            named.clear();
            for &request in &block {
                owners.reach(request.time_ns);
                let first = u64::try_from(request.offset).unwrap_or(0) / page_bytes;
                let count = request.size / page_bytes;
                match request.op {
                    Op::Write => owners.write(request, (first, count), page_bytes, &mut named),
                    Op::Trim => {
                        owners.trim(first, count);
                        named.push(request);
                    }
                    _ => named.push(request),
                }
            }
            writer.write(&named)?;
        }
        writer.finish()?;
    }
    Ok(owners.owned)
}

/// The owners of all pages at one time of a recording.
struct Owners<'a> {
    changes: &'a [Change],
    /// The owner of each page.
    owner: Vec<StreamId>,
    /// For each page, the owner that wrote its data; [`NO_STREAM`] if it has no data.
    held: Vec<StreamId>,
    /// For each page, the number of pages that the host had written when it wrote this page.
    written_at: Vec<u64>,
    written: u64,
    owned: Vec<Owned>,
}

impl Owners<'_> {
    fn new(pages: u64) -> Self {
        let pages = pages as usize;
        Self {
            changes: &[],
            owner: vec![0; pages],
            held: vec![NO_STREAM; pages],
            written_at: vec![0; pages],
            written: 0,
            owned: vec![Owned::default(); usize::from(StreamId::MAX)],
        }
    }

    /// Applies all changes up to the time `time_ns`.
    fn reach(&mut self, time_ns: u64) {
        while let Some((change, rest)) = self.changes.split_first() {
            if change.time_ns > time_ns {
                return;
            }
            self.changes = rest;
            let (first, count) = (change.page as usize, change.count as usize);
            let end = first.saturating_add(count).min(self.owner.len());
            if let Some(pages) = self.owner.get_mut(first..end) {
                pages.fill(change.owner);
            }
        }
    }

    fn write(
        &mut self,
        request: Request,
        (first, count): (u64, u64),
        page_bytes: u64,
        named: &mut Vec<Request>,
    ) {
        for page in first..first + count {
            let Some(&stream) = self.owner.get(page as usize) else { return };
            self.end(page as usize);
            self.held[page as usize] = stream;
            self.written_at[page as usize] = self.written;
            self.written += 1;
            self.owned[usize::from(stream)].written += 1;
            match named.last_mut() {
                // `last` is the part of the same request that ends where this page begins.
                Some(last) if page > first && last.stream == stream => last.size += page_bytes,
                _ => named.push(Request {
                    offset: (page * page_bytes) as i64,
                    size: page_bytes,
                    stream,
                    ..request
                }),
            }
        }
    }

    fn trim(&mut self, first: u64, count: u64) {
        let end = first.saturating_add(count).min(self.held.len() as u64);
        for page in first..end {
            let held = self.held[page as usize];
            if held != NO_STREAM {
                self.owned[usize::from(held)].trimmed += 1;
                self.end(page as usize);
                self.held[page as usize] = NO_STREAM;
            }
        }
    }

    /// Ends the life of the data in a page.
    fn end(&mut self, page: usize) {
        let held = self.held[page];
        if held != NO_STREAM {
            let owned = &mut self.owned[usize::from(held)];
            owned.ended += 1;
            owned.lived += self.written - self.written_at[page];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    fn request(time_ns: u64, op: Op, page: u64, count: u64) -> Request {
        let (offset, size) = ((page * PAGE) as i64, count * PAGE);
        let (stream, took_ns) = (NO_STREAM, Request::UNANSWERED);
        Request { time_ns, offset, size, op, stream, took_ns, ..Request::default() }
    }

    fn recorded(path: &Path, requests: &[Request]) {
        let declared = Declared { address_space: Some(8 * PAGE), ..Declared::default() };
        let mut writer = writer(path, declared).unwrap();
        writer.write(requests).unwrap();
        writer.finish().unwrap();
    }

    fn read(path: &Path) -> Vec<Request> {
        TraceReader::open(path, &options()).unwrap().requests().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn writes_are_named_by_the_owners_at_their_time() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.flashgc"), folder.path().join("b.flashgc"));
        recorded(
            &from,
            &[
                request(10, Op::Write, 0, 4),
                request(20, Op::Write, 1, 1),
                Request::flush(21, 0),
                request(30, Op::Trim, 0, 8),
                request(40, Op::Write, 1, 2),
            ],
        );
        let change = |time_ns, page, count, owner| Change { time_ns, page, count, owner };
        let changes = [change(0, 1, 2, 5), change(20, 1, 1, 6), change(35, 2, 1, 0)];
        let owned = tag(&[(&from, &to)], &changes, (8, PAGE)).unwrap();
        let named = |time_ns, page, count, stream| Request {
            stream,
            ..request(time_ns, Op::Write, page, count)
        };
        let expected = [
            named(10, 0, 1, 0),
            named(10, 1, 2, 5),
            named(10, 3, 1, 0),
            named(20, 1, 1, 6),
            Request::flush(21, 0),
            request(30, Op::Trim, 0, 8),
            named(40, 1, 1, 6),
            named(40, 2, 1, 0),
        ];
        assert_eq!(read(&to), expected);
        // Page 1 of owner 5 is overwritten when the host has written four pages, three after the
        // first write of page 1.
        assert_eq!(owned[5], Owned { written: 2, trimmed: 1, ended: 2, lived: 3 + 3 });
        assert_eq!(owned[6], Owned { written: 2, trimmed: 1, ended: 1, lived: 1 });
        assert_eq!(owned[0], Owned { written: 3, trimmed: 2, ended: 2, lived: 5 + 2 });
    }

    #[test]
    fn data_of_an_earlier_recording_keep_their_owner() {
        let folder = tempfile::tempdir().unwrap();
        let [past, run] = ["past", "run"].map(|name| folder.path().join(format!("{name}.flashgc")));
        let [a, b] = ["a", "b"].map(|name| folder.path().join(format!("{name}.flashgc")));
        recorded(&past, &[request(900, Op::Write, 0, 4)]);
        recorded(&run, &[request(10, Op::Write, 0, 1), request(20, Op::Trim, 0, 3)]);
        let changes = [Change { time_ns: 0, page: 0, count: 8, owner: 1 }];
        let owned = tag(&[(&past, &a), (&run, &b)], &changes, (8, PAGE)).unwrap();
        // Page 3 still has its data from an earlier recording.
        assert_eq!(owned[0], Owned { written: 4, trimmed: 2, ended: 3, lived: 4 + 4 + 3 });
        assert_eq!(owned[1], Owned { written: 1, trimmed: 1, ended: 1, lived: 1 });
    }
}
