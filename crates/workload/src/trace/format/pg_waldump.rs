//! The text of PostgreSQL's write-ahead log that `pg_waldump` prints. Reads lines; knows nothing of
//! files.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

use flashgc_base::spec::count;

use super::{Format, Scaled, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::parse::{BadField, Cursor, SECONDS};
use crate::trace::relations::{BLOCK, Relations};

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
            --as-dirty. Times are those of commits and aborts, since the first of them. Offsets \
            assume blocks of 8 KiB. Without --relations each file and fork is a device",
    single_device: false,
    references: false,
    sniff: |sample| super::sniff_text(PgWaldump::default(), sample),
    open: |input, options| {
        let format = PgWaldump { relations: options.relations.clone(), ..PgWaldump::default() };
        super::open_text(format, input, options)
    },
};

#[derive(Default)]
struct PgWaldump {
    relations: Option<Arc<Relations>>,
    /// The numbers of files and forks by their text, in order of appearance.
    files: HashMap<Vec<u8>, u32>,
    /// The blocks of the line parsed last, except its first block.
    more: VecDeque<Request>,
    clock: Clock,
}

/// The time of the last commit or abort. All lines up to the next commit or abort get this time.
#[derive(Default)]
struct Clock {
    /// The time of the first commit: its nanoseconds since 1970 on the printed clock, and its text;
    /// `None` before the first commit.
    first: Option<(u64, String)>,
    zone: Vec<u8>,
    /// The latest time, in nanoseconds since the first.
    now_ns: u64,
}

/// The largest step back, in nanoseconds, that is accepted from one commit to a later one in the
/// log. The server reads its clock shortly before it writes a record, so commits of the same time
/// can be in the log in any order.
const BACK_NS: u64 = 1_000_000_000;

impl Clock {
    /// Parses the time of a commit: `2022-12-01 10:13:39.516558 UTC`.
    fn read(&mut self, at: &mut Cursor<'_>) -> Result<(), BadField> {
        let start = at.at;
        let since_1970 = timestamp(at).or(Err(BadField::new(
            start,
            "the time of the commit, YYYY-MM-DD HH:MM:SS.UUUUUU ZONE",
        )))?;
        let zone_at = at.at;
        let zone =
            at.line[zone_at..].split(|byte| b" ;,".contains(byte)).next().unwrap_or_default();
        at.at += zone.len();
        match &self.first {
            None => {
                let text = String::from_utf8_lossy(&at.line[start..at.at]).into_owned();
                (self.first, self.zone) = (Some((since_1970, text)), zone.to_vec());
            }
            Some(_) if self.zone != zone => {
                return at.bad(
                    zone_at,
                    "the time zone of the first commit (TZ=UTC pg_waldump ... keeps one)",
                );
            }
            Some((first, _)) => {
                let latest = first + self.now_ns;
                if since_1970 + BACK_NS < latest {
                    return at.bad(start, "a commit at most 1 s before those above it");
                }
                self.now_ns = since_1970.max(latest) - first;
            }
        }
        Ok(())
    }
}

/// Parses a date and a time of day, up to the blank after them. Returns nanoseconds since 1970.
fn timestamp(at: &mut Cursor<'_>) -> Result<u64, BadField> {
    let bad = BadField::new(at.at, "");
    let mut part = |end: u8, least: u64, most: u64| {
        let number = at.integer("")?;
        let right = (least..=most).contains(&number) && at.peek() == Some(end);
        at.at += 1;
        if right { Ok(number) } else { Err(bad) }
    };
    let (year, month, day) = (part(b'-', 1970, 2500)?, part(b'-', 1, 12)?, part(b' ', 1, 31)?);
    let (hour, minute) = (part(b':', 0, 23)?, part(b':', 0, 59)?);
    let ns = at.time(SECONDS, "")?;
    if ns >= 61 * 1_000_000_000 || at.blank("").is_err() {
        return Err(bad);
    }
    // The days since year 0 in the proleptic Gregorian calendar. Years begin in March here, so that
    // the leap day is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let seconds = (days - 719_468) * 86_400 + hour * 3600 + minute * 60;
    (seconds * 1_000_000_000).checked_add(ns).ok_or(bad)
}

impl TextFormat for PgWaldump {
    const COLUMNS: &'static [&'static str] = &["rmgr:", "NAME"];
    const COMMA: bool = false;
    const MORE_COLUMNS: bool = true;

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        const MARK: &[u8] = b"blkref #";
        const DESCRIPTION: &[u8] = b" desc: ";
        if !line.starts_with(b"rmgr: ") {
            return Err(BadField::new(0, "a record, which starts with rmgr:"));
        }
        // Every record has a description, and the blocks of the record come after it.
        let description = memchr::memmem::find(line, DESCRIPTION)
            .ok_or(BadField::new(line.len(), "desc: and what the record does"))?
            + DESCRIPTION.len();
        if line.starts_with(b"rmgr: Transaction ") {
            self.end_of_transaction(Cursor { line, at: description })?;
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
            self.change(name, number, block)?;
        }
        Ok(self.more.pop_front())
    }

    fn more(&mut self) -> Option<Request> {
        self.more.pop_front()
    }

    fn note(&self) -> Option<String> {
        let places = match &self.relations {
            Some(_) => "blocks are where the table of relations has them, on one device".to_owned(),
            None => format!(
                "{} of the database's files, each a device, in the order in which they appear",
                count(self.files.len() as u64, "fork")
            ),
        };
        let times = match &self.clock.first {
            Some((_, first)) => format!("times are since the first commit or abort, {first}"),
            None => "there is no commit or abort, and all times are 0".to_owned(),
        };
        Some(format!("{places}; {times}"))
    }
}

impl PgWaldump {
    /// Sets the clock to the time of a commit or an abort: `COMMIT 2022-12-01 ...`,
    /// `COMMIT_PREPARED 735: 2022-...`.
    fn end_of_transaction(&mut self, mut at: Cursor<'_>) -> Result<(), BadField> {
        match at.word() {
            b"COMMIT" | b"ABORT" => {}
            b"COMMIT_PREPARED" | b"ABORT_PREPARED" => {
                at.blank("a transaction and a time")?;
                at.word();
            }
            _ => return Ok(()),
        }
        at.blank("the time of the commit")?;
        self.clock.read(&mut at)
    }

    /// Adds a write for a changed block of a file. `at` is the position of the block in the line.
    fn change(&mut self, file: &[u8], block: u64, at: usize) -> Result<(), BadField> {
        let time_ns = self.clock.now_ns;
        if let Some(relations) = &self.relations {
            let pieces = relations.pieces(file, block).ok_or(BadField::range(
                at,
                "a block of a relation that the table of relations has",
            ))?;
            for (first, bytes) in pieces {
                let offset = Scaled { value: first, unit: 1, at };
                let size = Scaled { value: bytes, unit: 1, at };
                self.more.extend(request(time_ns, Op::Write, 0, offset, size)?);
            }
            return Ok(());
        }
        let next = self.files.len() as u32;
        let device = *self.files.entry(file.to_vec()).or_insert(next);
        let offset = Scaled { value: block, unit: BLOCK, at };
        let size = Scaled { value: BLOCK, unit: 1, at };
        self.more.extend(request(time_ns, Op::Write, device, offset, size)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_nanoseconds_since_1970() {
        // The expected values are from `date -u -d TIME +%s`.
        for (text, seconds) in [
            ("1970-01-01 00:00:00 UTC", 0),
            ("2000-02-29 23:59:59 UTC", 951_868_799),
            ("2000-03-01 00:00:00 UTC", 951_868_800),
            ("2022-12-01 10:13:39 UTC", 1_669_889_619),
            ("2100-03-01 00:00:00 UTC", 4_107_542_400),
        ] {
            let read = timestamp(&mut Cursor::new(text.as_bytes()));
            assert_eq!(read, Ok(seconds * 1_000_000_000), "{text}");
        }
        let read = timestamp(&mut Cursor::new(b"1970-01-01 00:00:01.000002 UTC"));
        assert_eq!(read, Ok(1_000_002_000));
        for text in ["2022-13-01 10:13:39 UTC", "2022-12-01", "2022-12-01 10:13:39", "x"] {
            assert!(timestamp(&mut Cursor::new(text.as_bytes())).is_err(), "{text}");
        }
    }
}
