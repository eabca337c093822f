//! Errors of a trace, in one line: the place, the text found, the text expected, and advice.

use std::fmt::{self, Write};
use std::path::Path;

use flashgc_base::naming::{self, Keywords, Names, option};

/// The place of a fault in a trace, in the decompressed data. Lines, columns, records and blocks
/// count from 1, bytes from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The whole file.
    File,
    /// A line of text and a byte in it.
    Line {
        /// The number of the line.
        line: u64,
        /// The byte in the line, from 1, which editors call the column.
        column: u64,
    },
    /// A record of fixed size.
    Record {
        /// The number of the record.
        record: u64,
        /// The first byte of the record.
        byte: u64,
    },
    /// A block of a `flashgc` file.
    Block {
        /// The number of the block.
        block: u64,
        /// The first byte of the block.
        byte: u64,
    },
    /// A byte of the data.
    Byte(u64),
}

/// The kind of fault, for callers that handle kinds differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file could not be opened or read, or the name of the output cannot be used.
    Io,
    /// The file could not be written completely, for example because the disk is full.
    Unwritten,
    /// The data end too early, or their checksum is wrong.
    Damaged,
    /// A line or record violates the format.
    BadRecord,
    /// No format fits, several formats fit, or the name of a format is unknown.
    Format,
    /// The trace has no requests, or no writes.
    Empty,
    /// An option does not fit the trace.
    Option,
    /// The caller cancelled the work.
    Cancelled,
}

/// The reason why a trace cannot be read or written. It prints as one line:
/// `trace.csv:1042:1: found 3 columns, expected 7 (...); hint: ...`. Names of options in the message
/// and in the hint may be marked in the way of [`naming`]. When the error is printed, the marks are
/// replaced by the options' names in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The path of the file.
    pub path: String,
    /// The place in the file.
    pub place: Place,
    /// The kind of fault.
    pub fault: Fault,
    /// The message: the text found and the text expected.
    pub message: String,
    /// The advice to the user; empty if there is none.
    pub hint: String,
}

impl TraceError {
    /// Makes an error about a whole file.
    pub fn new(path: &Path, fault: Fault, message: impl Into<String>) -> Self {
        Self {
            path: path.display().to_string(),
            place: Place::File,
            fault,
            message: message.into(),
            hint: String::new(),
        }
    }

    /// Sets the place of the error.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Sets the hint of the error.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Returns the error in one line, with the names of options in `names`.
    pub fn said(&self, names: &dyn Names) -> String {
        naming::said(&self.marked(), names)
    }

    /// Returns the error in one line, with its options still marked.
    pub fn marked(&self) -> String {
        let mut text = String::new();
        // A path can have control characters, and the message must stay on one line.
        for c in self.path.chars() {
            if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) }
        }
        let _ = match self.place {
            Place::File => write!(text, ": "),
            Place::Line { line, column } => write!(text, ":{line}:{column}: "),
            Place::Record { record, byte } => write!(text, ": record {record} (byte {byte}): "),
            Place::Block { block, byte } => write!(text, ": block {block} (byte {byte}): "),
            Place::Byte(byte) => write!(text, ": byte {byte}: "),
        };
        text += &self.message;
        if !self.hint.is_empty() {
            text += "; hint: ";
            text += &self.hint;
        }
        text
    }

    /// Makes the error for a file that could not be written completely.
    pub(crate) fn unwritten(path: &Path, error: &std::io::Error) -> Self {
        Self { fault: Fault::Unwritten, ..Self::io(path, "write the trace", error) }
    }

    /// Makes the error for an I/O operation that failed, with a hint if the cause is a common one.
    pub(crate) fn io(path: &Path, doing: &str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let hint = match error.kind() {
            ErrorKind::NotFound => "check the path",
            ErrorKind::PermissionDenied => "check the permissions of the file and its folders",
            ErrorKind::StorageFull => "free some space or write elsewhere",
            _ => "",
        };
        // The text is `No such file or directory (os error 2)`: the number does not help the user.
        let text = error.to_string();
        let text = text.split(" (os error").next().unwrap_or(&text);
        Self::new(path, Fault::Io, format!("cannot {doing}: {text}")).hint(hint)
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said(&Keywords))
    }
}

impl std::error::Error for TraceError {}

/// Returns the hint for a drive that is too small for a block of the trace's pages.
pub fn smaller_blocks() -> String {
    format!("a smaller {}, or a longer trace", option("pages_per_block"))
}

/// Returns bytes of a trace for a message: quoted, escaped and shortened.
pub(crate) fn quote(bytes: &[u8]) -> String {
    const LIMIT: usize = 40;
    let mut text = String::from("'");
    for &byte in bytes.iter().take(LIMIT) {
        match byte {
            b'\'' => text.push('\''),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.extend(std::ascii::escape_default(byte).map(char::from)),
        }
    }
    text.push_str(if bytes.len() > LIMIT { "...'" } else { "'" });
    text
}
