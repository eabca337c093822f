//! What `pg_waldump` prints of PostgreSQL's write-ahead log. Reads lines.

use std::collections::HashMap;
use std::collections::VecDeque;

use flashgc_base::spec::count;

use super::{Format, Scaled, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor};

pub(super) static FORMAT: Format = Format {
    name: "pg-waldump",
    summary: "text output of pg_waldump (PostgreSQL's write-ahead log)",
    columns: "rmgr: NAME, lengths, transaction, lsn, description, and any number of block references: \
              blkref #N: rel TABLESPACE/DATABASE/FILE, fork NAME unless it is the main one, blk NUMBER \
              (8 KiB)",
    example: "rmgr: Heap  len (rec/tot): 54/54, tx: 740, lsn: 0/0152B6A8, prev 0/0152B670, desc: \
              INSERT off 1, blkref #0: rel 1663/5/16384 blk 7",
    detection: "lines that start with rmgr:",
    traps: "each block reference is a page that the database changes in its buffer cache, not a \
            write to its disk: replay it with --host-cache buffer-cache, or convert it with \
            --as-dirty. There are no times: all are 0. Offsets assume blocks of 8 KiB",
    single_device: false,
    references: false,
    sniff: |sample| super::sniff_text(PgWaldump::default(), sample),
    open: |input, options| super::open_text(PgWaldump::default(), input, options),
};

/// Bytes of a block, unless the server was built with others.
const BLOCK: u64 = 8192;

#[derive(Default)]
struct PgWaldump {
    /// Files and forks by their text, numbered in order of appearance.
    files: HashMap<Vec<u8>, u32>,
    /// Further blocks of the line last read.
    more: VecDeque<Request>,
}

impl TextFormat for PgWaldump {
    const COLUMNS: &'static [&'static str] = &["rmgr:", "NAME"];
    const COMMA: bool = false;
    const MORE_COLUMNS: bool = true;

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        const MARK: &[u8] = b"blkref #";
        if !line.starts_with(b"rmgr: ") {
            return Err(BadField::new(0, "a record, which starts with rmgr:"));
        }
        // Every record has a description, and its blocks come after.
        if memchr::memmem::find(line, b" desc: ").is_none() {
            return Err(BadField::new(line.len(), "desc: and what the record does"));
        }
        self.more.clear();
        for at in memchr::memmem::find_iter(line, MARK) {
            let mut cursor = Cursor { line, at: at + MARK.len() };
            cursor.integer("the number of a block reference")?;
            let start = cursor.at;
            let rest = &line[start..];
            let name = rest.strip_prefix(b": rel ");
            let Some((name, end)) = name.zip(memchr::memmem::find(rest, b" blk ")) else {
                return Err(BadField::new(start, "': rel TABLESPACE/DATABASE/FILE blk NUMBER'"));
            };
            let name = &name[..end.saturating_sub(b": rel ".len())];
            cursor.at = start + end + b" blk ".len();
            let block = cursor.at;
            let number = cursor.integer("a block number")?;
            if number > u32::MAX.into() {
                return Err(BadField::range(block, "a block number below 2^32"));
            }
            if !matches!(cursor.peek(), None | Some(b' ' | b',' | b';')) {
                return cursor.bad(cursor.at, "the end of the block number");
            }
            let next = self.files.len() as u32;
            let file = *self.files.entry(name.to_vec()).or_insert(next);
            let offset = Scaled { value: number, unit: BLOCK, at: block };
            let size = Scaled { value: BLOCK, unit: 1, at: block };
            self.more.extend(request(0, Op::Write, file, offset, size)?);
        }
        Ok(self.more.pop_front())
    }

    fn more(&mut self) -> Option<Request> {
        self.more.pop_front()
    }

    fn note(&self) -> Option<String> {
        let files = count(self.files.len() as u64, "fork");
        Some(format!(
            "{files} of the database's files, each a device, in the order in which they appear"
        ))
    }
}
