//! Independent draws from a table of how often a real volume's addresses were requested.
//!
//! The table is a CSV file, plain or compressed (gzip, bzip2, xz, zstd), whose header is
//! `LBA,Frequency`: an offset in bytes and its number of requests. Offsets are rounded down to
//! pages of 4 KiB, and the requests of all offsets in a page are added. Pages are numbered densely
//! in the order in which they first appear: P(page) = requests of the page / all requests.
//!
//! The table determines the number of logical pages, as a trace does. If the drive has more logical
//! pages, the others are never requested.
//!
//! # Cost
//!
//! One random word and one access to a table of 8 bytes a page (up to twice that, as its length is
//! a power of two). Probabilities are off by at most 2^-33. The file is read whole.
//!
//! # Source
//!
//! The tables of three volumes of the MSR Cambridge traces (Narayanan, Donnelly and Rowstron 2008)
//! in the data of the SSD simulators of Van Houdt's group. Draws: Walker 1977, Vose 1991.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, SpecError, count};

use super::alias::Alias;
use super::bulk::Bulk;
use super::{
    ALIGN, BLOCK, Blocks, FROM, Generator, GeneratorInfo, READ, Random, SIZE, STREAM, TO, TRIM,
};
use crate::trace::{Fault, Input, Place, TraceError, quote};

const PATH: Param = Param::text("path", None)
    .help("CSV file with the columns LBA (offset in bytes) and Frequency (requests)");

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "frequency",
    params: &[PATH, READ, TRIM, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("frequency.rs"),
    plan: |params| {
        let requests = read_table(Path::new(params.text("path"))).map_err(|mut error| {
            let hint = std::mem::take(&mut error.hint);
            SpecError::new(error.to_string(), hint)
        })?;
        Ok(Arc::new(Frequency { pages: requests.len() as u32, choice: Alias::new(&requests) }))
    },
};

#[derive(Debug)]
struct Frequency {
    pages: u32,
    choice: Alias,
}

impl Generator for Frequency {
    fn fixed_pages(&self) -> Option<u32> {
        Some(self.pages)
    }

    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        if pages < self.pages {
            return Err(SpecError::new(
                format!(
                    "frequency: the table has {}, the drive {pages}",
                    count(self.pages.into(), "page")
                ),
                "use a drive with at least as many logical pages as the table",
            ));
        }
        Ok(Box::new(Draws { choice: self.choice.clone(), words: random.bulk() }))
    }
}

#[derive(State)]
struct Draws {
    #[snapshot(skip)]
    choice: Alias,
    #[snapshot(state)]
    words: Bulk,
}

impl Blocks for Draws {
    fn block(&mut self, pages: &mut [u32; BLOCK]) {
        for page in pages {
            *page = self.choice.pick(self.words.next());
        }
    }
}

const HEADER: &str = "LBA,Frequency";
const LINE_HINT: &str = "a line is LBA,Frequency, for example 3154132992,132407";
const PAGE_BYTES: u64 = 4096;

/// Reads the number of requests of each page, in the order in which pages first appear.
fn read_table(path: &Path) -> Result<Vec<u64>, TraceError> {
    let content = read_whole(path)?;
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content); // a byte-order mark
    let fault = |line: usize, column: usize, message: String| {
        let place = Place::Line { line: line as u64, column: column as u64 };
        TraceError::new(path, Fault::BadRecord, message).at(place).hint(LINE_HINT)
    };
    let mut pages: HashMap<u64, usize> = HashMap::new();
    let mut requests: Vec<u64> = Vec::new();
    let mut sum = 0u64;
    for (number, line) in (1..).zip(content.split(|&byte| byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if number == 1 && !content.is_empty() {
            if line != HEADER.as_bytes() {
                let message = format!("found {}, expected the header '{HEADER}'", quote(line));
                let hint = "is this a frequency table? A trace is given by its path alone";
                return Err(fault(1, 1, message).hint(hint));
            }
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (offset, count) = fields(line).map_err(|(column, text, expected)| {
            fault(number, column, format!("found {text}, expected {expected}"))
        })?;
        // The sum is below 2^62, so that sums in the alias table do not overflow.
        sum = sum.checked_add(count).filter(|&sum| sum < 1 << 62).ok_or_else(|| {
            let expected = "expected all of them to sum to less than 2^62";
            fault(number, 1, format!("found {count} more requests, {expected}"))
        })?;
        let page = *pages.entry(offset / PAGE_BYTES).or_insert(requests.len());
        if page == requests.len() {
            if page == u32::MAX as usize {
                let message = "found more than 2^32 - 1 different pages, expected at most that";
                return Err(fault(number, 1, message.to_string()));
            }
            requests.push(0);
        }
        requests[page] += count;
    }
    if sum == 0 {
        let message = "found no requests, expected at least one";
        return Err(TraceError::new(path, Fault::Empty, message).hint(LINE_HINT));
    }
    Ok(requests)
}

/// Returns the offset and the count of a line. If the line is faulty, returns the column of the
/// fault (from 1), the text found and the text expected.
fn fields(line: &[u8]) -> Result<(u64, u64), (usize, String, &'static str)> {
    const OFFSET: &str = "an offset in bytes, a whole number below 2^64";
    const COUNT: &str = "a number of requests, a whole number";
    let Some(comma) = line.iter().position(|&byte| byte == b',') else {
        return Err((line.len() + 1, "the end of the line".into(), "',' and a number of requests"));
    };
    let (offset, count) = (&line[..comma], &line[comma + 1..]);
    let whole = |field| str::from_utf8(field).ok().and_then(|text| text.parse().ok());
    let offset = whole(offset).ok_or_else(|| (1, quote(offset), OFFSET))?;
    let count = whole(count).ok_or_else(|| (comma + 2, quote(count), COUNT))?;
    Ok((offset, count))
}

/// The largest size of a decompressed table in bytes: some ten million lines.
const CEILING: usize = 256 << 20;

/// Reads the whole file and decompresses it.
fn read_whole(path: &Path) -> Result<Vec<u8>, TraceError> {
    const STEP: usize = 1 << 20;
    let mut input = Input::open(path)?;
    let mut content = Vec::new();
    loop {
        let len = content.len();
        content.resize(len + STEP, 0);
        let read = input.fill(&mut content[len..])?;
        if len + read > CEILING {
            let message =
                format!("found a table of more than {CEILING} bytes, expected at most that");
            return Err(TraceError::new(path, Fault::BadRecord, message)
                .hint("is this a frequency table? A trace is given by its path alone"));
        }
        if read < STEP {
            content.truncate(len + read);
            return Ok(content);
        }
    }
}
