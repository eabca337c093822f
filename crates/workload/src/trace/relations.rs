//! The places of a PostgreSQL server's files on its disk: a table from segments of relations to
//! extents. This module knows nothing of logs.

use std::collections::HashMap;
use std::path::Path;

use super::error::{Fault, Place, TraceError, quote};
use super::parse::{BadField, Cursor};

/// The number of blocks in a segment: a file of 1 GiB, unless the server was built otherwise.
const SEGMENT_BLOCKS: u64 = 1 << 17;
/// The size of a block in bytes, unless the server was built otherwise.
pub(crate) const BLOCK: u64 = 8192;

/// The extents of a segment in the order of the file. Each has the first byte in the file, the
/// first byte on the disk, and the number of bytes.
type Extents = Vec<(u64, u64, u64)>;

/// A table of the places of relations. Its lines are `RELATION FORK SEGMENT -> OFFSET+LENGTH
/// OFFSET+LENGTH ...`: the relation as `pg_waldump` prints it (tablespace/database/file), the name
/// of the fork (main, fsm, vm, init), the number of the 1-GiB segment, and the ranges of bytes on
/// the disk with the segment, in the order of the file. Empty lines and text after a `#` are
/// ignored.
#[derive(Debug, Default)]
pub struct Relations {
    segments: HashMap<(Vec<u8>, u64), Extents>,
}

impl Relations {
    /// Reads a table from a file.
    ///
    /// # Errors
    /// The file cannot be read, a line is not in the form of the table, a segment is given twice,
    /// or there is no segment.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let text = std::fs::read(path)
            .map_err(|error| TraceError::io(path, "read the table of relations", &error))?;
        Self::parse(path, &text)
    }

    /// Parses a table from `text`; `path` is for error messages.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open) except those of reading the file.
    pub fn parse(path: &Path, text: &[u8]) -> Result<Self, TraceError> {
        let mut table = Self::default();
        for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            let line = line.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii_end();
            if line.is_empty() {
                continue;
            }
            table.add(line).map_err(|bad| {
                let at = bad.at.min(line.len());
                let field = line[at..].split(|byte| b" \t".contains(byte)).next();
                let text = match field.unwrap_or_default() {
                    [] => "nothing".to_owned(),
                    field => quote(field),
                };
                let message = format!("found {text}, expected {}", bad.expected);
                TraceError::new(path, Fault::Option, message)
                    .at(Place::Line { line: number, column: at as u64 + 1 })
                    .hint("a line of the table is like 1663/5/16384 main 0 -> 1048576+8388608")
            })?;
        }
        if table.segments.is_empty() {
            let message = "found no segment, expected at least one line";
            return Err(TraceError::new(path, Fault::Option, message)
                .hint("a line of the table is like 1663/5/16384 main 0 -> 1048576+8388608"));
        }
        Ok(table)
    }

    fn add(&mut self, line: &[u8]) -> Result<(), BadField> {
        const EXTENT: &str = "an extent, OFFSET+LENGTH in bytes, of less than 2^63";
        let mut at = Cursor::new(line);
        at.skip_blanks();
        let start = at.at;
        let relation = at.word();
        let parts: Vec<&[u8]> = relation.split(|&byte| byte == b'/').collect();
        let number = |part: &&[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
        if parts.len() != 3 || !parts.iter().all(number) {
            return at.bad(start, "a relation, TABLESPACE/DATABASE/FILE in numbers");
        }
        at.blank("a fork after the relation")?;
        let fork_at = at.at;
        let fork = at.word();
        if ![&b"main"[..], b"fsm", b"vm", b"init"].contains(&fork) {
            return at.bad(fork_at, "a fork: main, fsm, vm or init");
        }
        at.blank("a segment number after the fork")?;
        let segment_at = at.at;
        let segment = at.small("a segment number, 0 for the first GiB")?.into();
        at.blank("-> after the segment number")?;
        let arrow = at.at;
        if at.word() != b"->" {
            return at.bad(arrow, "-> and extents");
        }
        let (mut extents, mut length) = (Extents::new(), 0u64);
        while at.at < line.len() {
            at.blank(EXTENT)?;
            let offset_at = at.at;
            let offset = at.integer(EXTENT)?;
            if at.peek() != Some(b'+') {
                return at.bad(offset_at, EXTENT);
            }
            at.at += 1;
            let bytes = at.integer(EXTENT)?;
            let end = offset.checked_add(bytes).filter(|end| i64::try_from(*end).is_ok());
            if bytes == 0 || end.is_none() || !matches!(at.peek(), None | Some(b' ' | b'\t')) {
                return at.bad(offset_at, EXTENT);
            }
            extents.push((length, offset, bytes));
            length += bytes;
            if length > SEGMENT_BLOCKS * BLOCK {
                return at.bad(offset_at, "extents of at most 1 GiB, which is a segment");
            }
        }
        if extents.is_empty() {
            return at.bad(line.len(), EXTENT);
        }
        match self.segments.insert((file(relation, fork), segment), extents) {
            None => Ok(()),
            Some(_) => at.bad(segment_at, "a segment that no earlier line has"),
        }
    }

    /// Returns the ranges of the disk with a block; each has its first byte and its number of
    /// bytes. `None` if the table does not have the whole block. `file` is the relation and its
    /// fork as `pg_waldump` prints them.
    pub(crate) fn pieces(&self, file: &[u8], block: u64) -> Option<Vec<(u64, u64)>> {
        let extents = self.segments.get(&(file.to_vec(), block / SEGMENT_BLOCKS))?;
        let (first, end) = {
            let first = block % SEGMENT_BLOCKS * BLOCK;
            (first, first + BLOCK)
        };
        let pieces: Vec<(u64, u64)> = extents
            .iter()
            .filter_map(|&(start, offset, bytes)| {
                let (from, to) = (first.max(start), end.min(start + bytes));
                (from < to).then(|| (offset + (from - start), to - from))
            })
            .collect();
        (pieces.iter().map(|(_, bytes)| bytes).sum::<u64>() == BLOCK).then_some(pieces)
    }
}

/// Returns a relation and its fork as `pg_waldump` prints them.
fn file(relation: &[u8], fork: &[u8]) -> Vec<u8> {
    if fork == b"main" { relation.to_vec() } else { [relation, b" fork ", fork].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<Relations, String> {
        Relations::parse(Path::new("table"), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn blocks_are_where_their_extents_are() {
        let text = "# PostgreSQL's main table\n\
                    1663/5/9 main 0 -> 1000000+12288 2000000+12288\n\n\
                    1663/5/9 main 1 -> 512+8192 # the second GiB\n\
                    1663/5/9 fsm 0 -> 16384+8192\n";
        let table = table(text).unwrap();
        let file = b"1663/5/9";
        assert_eq!(table.pieces(file, 0), Some(vec![(1_000_000, 8192)]));
        // Bytes 8192 to 16383 of the file are the last 4096 bytes of the first extent and the first
        // 4096 bytes of the next.
        assert_eq!(table.pieces(file, 1), Some(vec![(1_008_192, 4096), (2_000_000, 4096)]));
        assert_eq!(table.pieces(file, 2), Some(vec![(2_004_096, 8192)]));
        assert_eq!(table.pieces(file, 3), None);
        assert_eq!(table.pieces(file, SEGMENT_BLOCKS), Some(vec![(512, 8192)]));
        assert_eq!(table.pieces(b"1663/5/9 fork fsm", 0), Some(vec![(16384, 8192)]));
        assert_eq!(table.pieces(b"1663/5/9 fork vm", 0), None);
    }

    #[test]
    fn lines_that_are_no_lines_of_a_table_are_named() {
        let hint = "; hint: a line of the table is like 1663/5/16384 main 0 -> 1048576+8388608";
        let extent = "an extent, OFFSET+LENGTH in bytes, of less than 2^63";
        for (text, message) in [
            ("", "table: found no segment, expected at least one line".to_owned()),
            (
                "x",
                "table:1:1: found 'x', expected a relation, TABLESPACE/DATABASE/FILE in numbers"
                    .into(),
            ),
            (
                "1/2/3 toast 0 -> 0+1",
                "table:1:7: found 'toast', expected a fork: main, fsm, vm or init".into(),
            ),
            ("1/2/3 main 0 = 0+1", "table:1:14: found '=', expected -> and extents".into()),
            ("1/2/3 main 0 ->", format!("table:1:16: found nothing, expected {extent}")),
            ("\n1/2/3 main 0 -> 0+0", format!("table:2:17: found '0+0', expected {extent}")),
            ("1/2/3 main 0 -> 4096", format!("table:1:17: found '4096', expected {extent}")),
            ("1/2/3 main 0 -> 0+4e3", format!("table:1:17: found '0+4e3', expected {extent}")),
            (
                "1/2/3 main 0 -> 9223372036854775807+1",
                format!("table:1:17: found '9223372036854775807+1', expected {extent}"),
            ),
            (
                "1/2/3 main 0 -> 0+1073741824 2+1",
                "table:1:30: found '2+1', expected extents of at most 1 GiB, which is a segment"
                    .into(),
            ),
            (
                "1/2/3 vm 0 -> 0+1\n1/2/3 vm 0 -> 0+1",
                "table:2:10: found '0', expected a segment that no earlier line has".into(),
            ),
        ] {
            assert_eq!(table(text).unwrap_err(), format!("{message}{hint}"), "{text}");
        }
    }
}
