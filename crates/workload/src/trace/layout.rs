//! Layouts: descriptions of the columns of lines, stated by the user in one text or in a file that
//! can be shared. This module reads no lines.

use std::path::Path;

use flashgc_base::spec::{SpecError, suggest};

use super::error::{Fault, Place, TraceError};
use crate::Op;

/// The columns of a trace's lines, as the user stated them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The text that states the layout.
    text: String,
    pub(crate) time: (Column, Time),
    pub(crate) op: Column,
    /// The values of the operation, in the order of the layout's text; empty for the default words.
    pub(crate) values: Vec<(Vec<u8>, Meaning)>,
    /// The meaning of all other values; with `None` they are errors.
    pub(crate) otherwise: Option<Meaning>,
    /// The columns of the offset and of the size, each with the bytes of one unit.
    pub(crate) offset: (Column, u64),
    pub(crate) size: (Column, u64),
    pub(crate) device: Option<Device>,
    /// A column and a value: only lines with that value are read.
    pub(crate) only: Option<(Column, Vec<u8>)>,
    /// The separator; with `None` it is found from the lines.
    pub(crate) separator: Option<u8>,
    /// The number of lines before the first request.
    pub(crate) header: usize,
    /// The text at the start of lines that are not requests.
    pub(crate) comment: Vec<u8>,
    pub(crate) base: u32,
}

/// A column of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// The number of the column from 1; a negative number counts from the end.
    Number(i32),
    /// The name of the column in a line of names.
    Name(String),
}

/// The device of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    pub column: Column,
    /// `true` if devices are names. They are numbered in order of appearance.
    pub named: bool,
}

/// The unit of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// A unit of 10 to this power nanoseconds.
    Digits(u32),
    /// Units of 100 ns, as in Windows.
    Ticks,
}

/// The kind of request that a value of the operation means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Data(Op),
    Flush,
    /// The line is not a request.
    Other,
}

const UNITS_OF_TIME: [(&str, Time); 5] = [
    ("s", Time::Digits(9)),
    ("ms", Time::Digits(6)),
    ("us", Time::Digits(3)),
    ("ns", Time::Digits(0)),
    ("100ns", Time::Ticks),
];

const UNITS_OF_SPACE: [(&str, u64); 7] = [
    ("byte", 1),
    ("bytes", 1),
    ("sector", 512),
    ("sectors", 512),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("page", 4096),
];

const MEANINGS: [(&str, Meaning); 6] = [
    ("read", Meaning::Data(Op::Read)),
    ("write", Meaning::Data(Op::Write)),
    ("discard", Meaning::Data(Op::Trim)),
    ("trim", Meaning::Data(Op::Trim)),
    ("flush", Meaning::Flush),
    ("other", Meaning::Other),
];

/// The separators with their names. With `blank`, a row of blanks and tabs counts as one separator.
pub(crate) const SEPARATORS: [(&str, u8); 5] =
    [("comma", b','), ("semicolon", b';'), ("tab", b'\t'), ("bar", b'|'), ("blank", b' ')];

const KEYS: [&str; 10] =
    ["time", "op", "offset", "size", "device", "only", "separator", "header", "comment", "base"];

/// A layout that is part of flashgc.
#[derive(Debug)]
pub struct Shipped {
    /// The name that users type after `--layout`.
    pub name: &'static str,
    /// The text of its file. It begins with the program that writes such lines, and with the source
    /// of this knowledge.
    pub file: &'static str,
}

/// All layouts that are part of flashgc.
pub static SHIPPED: [Shipped; 6] = [
    Shipped { name: "microsoft", file: include_str!("layouts/microsoft.toml") },
    Shipped { name: "xperf", file: include_str!("layouts/xperf.toml") },
    Shipped { name: "wpa", file: include_str!("layouts/wpa.toml") },
    Shipped { name: "biosnoop", file: include_str!("layouts/biosnoop.toml") },
    Shipped { name: "simplessd", file: include_str!("layouts/simplessd.toml") },
    Shipped { name: "replayer", file: include_str!("layouts/replayer.toml") },
];

impl Shipped {
    /// Returns the layout.
    pub fn layout(&self) -> Layout {
        Layout::of_toml(Path::new(self.name), self.file).expect("layouts that ship are tested")
    }

    /// Returns the value of a key in the file: `program`, `source` or the key of a column.
    pub fn value(&self, key: &str) -> String {
        let entry_of_key =
            self.file.lines().find_map(|line| entry(line).ok().flatten().filter(|e| e.0 == key));
        entry_of_key.map_or_else(String::new, |(_, value)| value)
    }
}

impl Layout {
    /// An example of a layout's text.
    pub const EXAMPLE: &'static str =
        "time=1:ms,op=5:0=write/1=read,offset=3:sector,size=4:sector,device=2";

    /// Parses a layout from one text: `KEY=VALUE` with commas between them.
    ///
    /// # Errors
    /// A key, a column, a unit or a value is unknown, is given twice, or is missing.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let mut entries = Vec::new();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(|| {
                SpecError::new(
                    format!("found '{}', expected KEY=COLUMN", part.trim().escape_default()),
                    format!("write for example {}", Self::EXAMPLE),
                )
            })?;
            entries.push((key.trim().to_owned(), value.trim().to_owned()));
        }
        Self::of_entries(text, &entries)
    }

    /// Returns the built-in layout called `name`; if there is none, reads the layout from a file.
    ///
    /// # Errors
    /// The file cannot be read, or has no layout.
    pub fn open(name: &str) -> Result<Self, TraceError> {
        if let Some(shipped) = SHIPPED.iter().find(|shipped| shipped.name == name) {
            return Ok(shipped.layout());
        }
        let path = Path::new(name);
        let text = std::fs::read_to_string(path).map_err(|error| {
            let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
            TraceError::io(path, "read the layout", &error)
                .hint(format!("name a file, or a layout that ships: {}", names.join(", ")))
        })?;
        Self::of_toml(path, &text)
    }

    /// Parses a layout from the text of a TOML file: the keys of [`parse`](Self::parse), each with
    /// a quoted text or a number. `path` is for error messages.
    ///
    /// # Errors
    /// A line is not `KEY = VALUE`, or the errors of [`parse`](Self::parse).
    pub fn of_toml(path: &Path, text: &str) -> Result<Self, TraceError> {
        let refused =
            |error: SpecError| TraceError::new(path, Fault::Option, error.message).hint(error.hint);
        let mut entries = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let read = entry(line)
                .map_err(|error| refused(error).at(Place::Line { line: number, column: 1 }))?;
            // These keys are only information for users.
            entries.extend(read.filter(|(key, _)| !["program", "source"].contains(&key.as_str())));
        }
        let stated: Vec<String> =
            entries.iter().map(|(key, value)| format!("{key}={value}")).collect();
        Self::of_entries(&stated.join(","), &entries).map_err(refused)
    }

    /// Returns the text that states the layout.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn of_entries(text: &str, entries: &[(String, String)]) -> Result<Self, SpecError> {
        for (at, (key, _)) in entries.iter().enumerate() {
            if !KEYS.contains(&key.as_str()) {
                let key = key.escape_default();
                return Err(SpecError::new(
                    format!("unknown key '{key}'"),
                    suggest(&key.to_string(), KEYS),
                ));
            }
            if entries[..at].iter().any(|(other, _)| other == key) {
                return Err(SpecError::new(format!("{key} is there twice"), "leave one out"));
            }
        }
        let find = |key: &str| {
            entries.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
        };
        let needed = |key: &str| {
            find(key).ok_or_else(|| {
                let hint = format!("write for example {}", Self::EXAMPLE);
                SpecError::new(format!("{key} is missing"), hint)
            })
        };
        let (time, unit) = column("time", needed("time")?)?;
        let unit = unit.ok_or_else(|| {
            let hint = format!("write for example time={}:us", needed("time").unwrap_or_default());
            SpecError::new("the time has no unit, and flashgc does not guess one", hint)
        })?;
        let unit = named("unit of time", unit, &UNITS_OF_TIME)?;
        let space = |key: &'static str| {
            let (column, unit) = column(key, needed(key)?)?;
            Ok((column, unit.map_or(Ok(1), unit_of_space)?))
        };
        let (op, values) = column("op", needed("op")?)?;
        let (values, otherwise) = values.map_or(Ok((Vec::new(), None)), meanings)?;
        let device = find("device").map(|value| {
            let (column, kind) = column("device", value)?;
            let named =
                kind.map(|kind| named("kind of device", kind, &[("name", ())])).transpose()?;
            Ok(Device { column, named: named.is_some() })
        });
        let only = find("only").map(|value| match column("only", value)? {
            (column, Some(value)) => Ok((column, value.as_bytes().to_vec())),
            (_, None) => Err(SpecError::new("only has no value", "write for example only=6:D")),
        });
        let number = |key: &str, usual: u32| {
            find(key).map_or(Ok(usual), |value| {
                value.parse().map_err(|_| {
                    let value = value.escape_default();
                    SpecError::new(format!("found '{value}' for {key}, expected a number"), "")
                })
            })
        };
        let base = number("base", 10)?;
        if ![10, 16].contains(&base) {
            let hint = "numbers that begin with 0x are read as hexadecimal in both";
            return Err(SpecError::new(format!("found base {base}, expected 10 or 16"), hint));
        }
        Ok(Self {
            text: text.to_owned(),
            time: (time, unit),
            op,
            values,
            otherwise,
            offset: space("offset")?,
            size: space("size")?,
            device: device.transpose()?,
            only: only.transpose()?,
            separator: find("separator")
                .map(|value| named("separator", value, &SEPARATORS))
                .transpose()?,
            header: number("header", 0)? as usize,
            comment: find("comment").unwrap_or("#").as_bytes().to_vec(),
            base,
        })
    }
}

/// Parses a line of a TOML file: `KEY = "TEXT"` or `KEY = NUMBER`. Returns `None` for an empty line
/// or a comment.
fn entry(line: &str) -> Result<Option<(String, String)>, SpecError> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let bad = || {
        let hint = "write for example offset = \"3:sector\"";
        SpecError::new(format!("found '{}', expected KEY = \"VALUE\"", line.escape_default()), hint)
    };
    let (key, value) = line.split_once('=').ok_or_else(bad)?;
    let value = value.trim();
    let inside = match value.strip_prefix('"') {
        Some(rest) => {
            let (text, behind) = rest.split_once('"').ok_or_else(bad)?;
            let behind = behind.trim_start();
            (behind.is_empty() || behind.starts_with('#')).then_some(text).ok_or_else(bad)?
        }
        None => {
            let number = value.split('#').next().unwrap_or_default().trim();
            number.parse::<i32>().map_err(|_| bad())?;
            number
        }
    };
    Ok(Some((key.trim().to_owned(), inside.to_owned())))
}

/// Parses a column, and returns also the text after its colon.
fn column<'a>(key: &str, text: &'a str) -> Result<(Column, Option<&'a str>), SpecError> {
    let (column, rest) = match text.split_once(':') {
        Some((column, rest)) => (column.trim(), Some(rest.trim())),
        None => (text.trim(), None),
    };
    let column = match column.parse::<i32>() {
        Ok(number @ (-1000..=-1 | 1..=1000)) => Column::Number(number),
        Ok(number) => {
            let hint = "columns count from 1, or from -1 at the end of the line";
            return Err(SpecError::new(format!("found column {number} for {key}"), hint));
        }
        Err(_) if column.is_empty() => {
            let hint = format!("write for example {key}=3, or the name of the column");
            return Err(SpecError::new(format!("{key} has no column"), hint));
        }
        Err(_) => Column::Name(column.to_owned()),
    };
    Ok((column, rest))
}

fn named<T: Copy>(what: &str, word: &str, known: &[(&str, T)]) -> Result<T, SpecError> {
    known.iter().find(|(name, _)| *name == word).map(|(_, value)| *value).ok_or_else(|| {
        let message = format!("unknown {what} '{}'", word.escape_default());
        SpecError::new(message, suggest(word, known.iter().map(|(name, _)| *name)))
    })
}

/// Parses a unit of offsets and sizes: a word, or a number of bytes.
fn unit_of_space(word: &str) -> Result<u64, SpecError> {
    match word.parse::<u64>() {
        Ok(bytes @ 1..=0x1_0000_0000) => Ok(bytes),
        _ => named("unit", word, &UNITS_OF_SPACE),
    }
}

/// The meanings of the operation's values, such as `0=write/1=read/*=other`, and the meaning of all
/// others.
type Values = (Vec<(Vec<u8>, Meaning)>, Option<Meaning>);
fn meanings(text: &str) -> Result<Values, SpecError> {
    let (mut values, mut otherwise) = (Vec::new(), None);
    for part in text.split('/') {
        let (value, word) = part.split_once('=').ok_or_else(|| {
            let message =
                format!("found '{}' for op, expected VALUE=OPERATION", part.escape_default());
            SpecError::new(message, "write for example op=5:0=write/1=read")
        })?;
        let meaning = named("operation", word.trim(), &MEANINGS)?;
        match value.trim() {
            "*" => otherwise = Some(meaning),
            value => values.push((value.as_bytes().to_vec(), meaning)),
        }
    }
    Ok((values, otherwise))
}
