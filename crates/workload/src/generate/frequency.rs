//! Independent draws from a table of how often a real volume's addresses were requested.
//!
//! The table is a CSV file, plain or compressed (gzip, bzip2, xz, zstd), whose header is
//! `LBA,Frequency`: an offset in bytes and its number of requests. Offsets are taken down to pages
//! of 4 KiB, several offsets of a page add up, and the pages are numbered densely in the order in
//! which they first appear: P(page) = requests of the page / all requests.
//!
//! The table determines the number of logical pages, as a trace does. On a drive with more of them
//! the others are never requested.
//!
//! # Cost
//!
//! One random word and one access to a table of 8 bytes a page (up to twice that, as its length is
//! a power of two). Probabilities are off by at most 2^-33.
//!
//! # Source
//!
//! The tables of three volumes of the MSR Cambridge traces (Narayanan, Donnelly and Rowstron 2008)
//! in the data of the SSD simulators of Van Houdt's group. Draws: Walker 1977, Vose 1991.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use flashgc_ftl::spec::{Kind, Param, SpecError};

use super::alias::Alias;
use super::bulk::Bulk;
use super::{BLOCK, Blocks, Generator, GeneratorInfo, READ, Random, TRIM};

const PATH: Param = Param {
    name: "path",
    kind: Kind::Text,
    default: None,
    help: "CSV file with the columns LBA (offset in bytes) and Frequency (requests)",
};

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "frequency",
    params: &[PATH, READ, TRIM],
    source: include_str!("frequency.rs"),
    plan: |params| {
        let path = params.text("path");
        let requests = read_table(path)?;
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
                format!("frequency: the table has {} pages, the drive {pages}", self.pages),
                "use a drive with at least as many logical pages as the table",
            ));
        }
        Ok(Box::new(Draws { choice: self.choice.clone(), words: random.bulk() }))
    }
}

struct Draws {
    choice: Alias,
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
const PAGE_BYTES: u64 = 4096;

/// The requests of each page, in order of first appearance.
fn read_table(path: &str) -> Result<Vec<u64>, SpecError> {
    let fault = |error: &dyn ToString, hint: &str| {
        SpecError::new(format!("{path}: {}", error.to_string()), hint)
    };
    let unreadable = |error: io::Error| fault(&error, "is the file there, whole and readable?");
    let mut lines = BufReader::new(open_plain(path).map_err(unreadable)?);
    let mut pages: HashMap<u64, usize> = HashMap::new();
    let mut requests: Vec<u64> = Vec::new();
    let mut sum = 0u64;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(line.trim_ascii_end());
        if number == 1 {
            if text.trim_start_matches('\u{feff}') != HEADER {
                let found = shorten(&text);
                return Err(SpecError::new(
                    format!("{path}:1: found '{found}', expected the header '{HEADER}'"),
                    "is this a frequency table? A trace is given by its path alone",
                ));
            }
            continue;
        }
        let (offset, count) = fields(&text).map_err(|(column, found, expected)| {
            SpecError::new(
                format!("{path}:{number}:{column}: found '{found}', expected {expected}"),
                format!("a line is {HEADER}, for example 3154132992,132407"),
            )
        })?;
        // Below 2^62, so that sums of shares stay within a word.
        sum = sum.checked_add(count).filter(|&sum| sum < 1 << 62).ok_or_else(|| {
            SpecError::new(format!("{path}:{number}: the frequencies sum to more than 2^62"), "")
        })?;
        let page = *pages.entry(offset / PAGE_BYTES).or_insert(requests.len());
        if page == requests.len() {
            if page == u32::MAX as usize {
                let message = format!("{path}:{number}: more than 2^32 - 1 different pages");
                return Err(SpecError::new(message, ""));
            }
            requests.push(0);
        }
        requests[page] += count;
    }
    if sum == 0 {
        return Err(fault(&"no requests in this table", "is the file whole?"));
    }
    Ok(requests)
}

/// Offset and count of a line, or the column (from 1), what is there and what should be.
fn fields(text: &str) -> Result<(u64, u64), (usize, String, &'static str)> {
    const OFFSET: &str = "an offset in bytes, a whole number below 2^64";
    const COUNT: &str = "a number of requests, a whole number";
    let (offset, count) = text.split_once(',').ok_or_else(|| {
        (text.chars().count() + 1, "the end of the line".into(), "',' and a number of requests")
    })?;
    let column = offset.chars().count() + 2;
    let offset = offset.parse().map_err(|_| (1, shorten(offset), OFFSET))?;
    let count = count.parse().map_err(|_| (column, shorten(count), COUNT))?;
    Ok((offset, count))
}

/// What fits into a message.
fn shorten(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { '?' } else { c });
    let start: String = chars.by_ref().take(40).collect();
    if chars.next().is_some() { start + "..." } else { start }
}

/// The file's plain content: compression is told from its first bytes, not its name.
fn open_plain(path: &str) -> io::Result<Box<dyn Read>> {
    let mut file = BufReader::new(File::open(Path::new(path))?);
    let start = file.fill_buf()?;
    Ok(match start {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(file)?),
        [b'B', b'Z', b'h', ..] => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(file))
        }
        _ => Box::new(file),
    })
}
