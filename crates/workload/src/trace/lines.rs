//! A decoder of text: it cuts the text into lines and passes them to the parser of a format, in
//! bounded memory. It reports bad lines and does not know the meaning of good ones.

use flashgc_base::described::Described;
use flashgc_base::naming::choice;

use super::error::{Fault, Place, TraceError, quote};
use super::input::Input;
use super::names::{Role, Unit, bare, meaning};
use super::parse::BadField;
use super::request::{Declared, Fields, Request};
use super::window::{CHUNK, Window};
use crate::Op;

/// The choice of what to do with a line or record that violates the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBadLine {
    /// Stop with an error that names the line.
    #[default]
    Stop,
    /// Leave the line out and count it.
    Skip,
}

/// A format of lines. Most lines are one request each.
pub(crate) trait TextFormat: Send + Sized + 'static {
    /// The names of the columns that every line has.
    const COLUMNS: &'static [&'static str];
    /// `true` if columns are separated by commas, `false` for blanks. With commas, the first line
    /// may have names.
    const COMMA: bool;
    /// The names of the columns with their units. They are compared with the names in a file.
    const NAMES: &'static [&'static str] = Self::COLUMNS;
    /// `true` if lines may have more columns than `COLUMNS`.
    const MORE_COLUMNS: bool = false;

    /// Returns `true` if `byte` separates columns.
    #[inline]
    fn separates(byte: &u8) -> bool {
        if Self::COMMA { matches!(byte, b',' | b';') } else { matches!(byte, b' ' | b'\t') }
    }

    /// Returns the optional fields that requests may have. Their columns follow `COLUMNS`.
    fn fields(&self) -> Fields {
        Fields::NONE
    }

    /// Parses one line, without its line end. Returns `None` for a good line that is not a request.
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField>;

    /// Returns `true` if a line has the names of the columns in the order in which they are read.
    fn is_names(&self, line: &[u8]) -> bool {
        is_header::<Self>(line) && compare(self, line) == Names::Fit
    }

    /// Returns an explanation of the line parsed last, which was bad; with `None`, the default
    /// explanation is used.
    fn explain(&self, _line: &[u8]) -> Option<Explained> {
        None
    }

    /// Takes the flush of the line parsed last that comes before its request or instead of it.
    #[inline]
    fn flush(&mut self) -> Option<Request> {
        None
    }

    /// Takes another request of the line parsed last, if a line can have several, or the flush
    /// after its request.
    #[inline]
    fn more(&mut self) -> Option<Request> {
        None
    }

    /// Returns a note for the user on how the file is read.
    fn note(&self) -> Option<String> {
        None
    }

    /// Returns the columns that are read, with their units; `None` if the format's own description
    /// of its columns is right.
    fn columns(&self) -> Option<String> {
        described(Self::NAMES.iter().chain(self.fields().columns()))
    }
}

/// Returns the columns that `names` state; `None` if the units of offset and size are not among
/// them.
fn described<'a>(names: impl Iterator<Item = &'a &'a str>) -> Option<String> {
    let all: Vec<_> = names.map(|name| meaning(name.as_bytes())).collect();
    let has = |role| all.iter().flatten().any(|(known, unit)| *known == role && unit.is_some());
    let column = |(at, meaning): (usize, Option<(Role, Option<Unit>)>)| {
        let (role, unit) = meaning?;
        let unit = unit.map_or_else(String::new, |unit| format!(" in {}", unit.plural()));
        Some(format!("column {at} as {}{unit}", role.noun()))
    };
    let columns: Vec<String> = (1..).zip(all.iter().copied()).filter_map(column).collect();
    (has(Role::Offset) && has(Role::Size)).then(|| columns.join(", "))
}

/// An explanation of a bad line.
pub(crate) struct Explained {
    /// The text found and the text expected.
    pub message: String,
    pub hint: String,
}

/// A decoder of a trace's bytes into requests, a block at a time.
pub(crate) trait Decoder: Send {
    /// Appends the next requests. Returns `false` if there are none left. Requests that were
    /// appended before an error are valid.
    fn next_block(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError>;
    /// Returns the counts so far.
    fn counts(&self) -> Counts;
    /// Returns a note for the user on how the file is read.
    fn note(&self) -> Option<String> {
        None
    }
    /// Returns the columns that are read; `None` if they are those of the format's description.
    fn columns(&self) -> Option<String> {
        None
    }
    /// Returns the number of bytes of the input that were consumed so far.
    fn position(&self) -> u64;
    /// Returns the properties of a recording of references to memory; `None` for other formats.
    fn recorded(&self) -> Option<Recorded> {
        None
    }
    /// Returns the properties that the file declares for all its requests.
    fn declared(&self) -> Declared {
        Declared::default()
    }
}

/// The numbers of lines or records of a trace that are not requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// The number of bad lines or records that were left out.
    pub skipped: u64,
    /// The number of good lines or records that are not requests, such as other events and flushes.
    pub ignored: u64,
    /// The number of flushes that were appended.
    pub flushes: u64,
}

/// The properties of a recording of references to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, Described)]
pub struct Recorded {
    /// The size of a page in bytes.
    pub page_size: u64,
    /// A number of pages. References were left out only if they change nothing in an LRU memory of
    /// this size or larger.
    pub filter: u32,
    /// The number of accesses that the references stand for. It is 0 until the end of the file is
    /// read.
    pub accesses: u64,
}

pub(crate) struct TextDecoder<F> {
    window: Window,
    format: F,
    on_bad_line: OnBadLine,
    /// The number of lines read so far.
    line: u64,
    counts: Counts,
}

impl<F: TextFormat> TextDecoder<F> {
    pub fn new(input: Input, format: F, on_bad_line: OnBadLine) -> Self {
        let window = Window::new(input);
        Self { window, format, on_bad_line, line: 0, counts: Counts::default() }
    }

    /// Parses the complete lines in `buffer[..end]`.
    fn parse_lines(&mut self, end: usize, out: &mut Vec<Request>) -> Result<(), TraceError> {
        let buffer = &self.window.buffer[..end];
        let mut newlines = memchr::memchr_iter(b'\n', &buffer[self.window.start..]);
        let base = self.window.start;
        while self.window.start < end {
            let stop = newlines.next().map_or(end, |at| base + at);
            let mut line = &buffer[self.window.start..stop];
            self.window.start = stop + 1;
            self.line += 1;
            if let [rest @ .., b'\r'] = line {
                line = rest;
            }
            let parsed = read_line(&mut self.format, line);
            if let Some(flush) = self.format.flush() {
                self.counts.flushes += 1;
                out.push(flush);
            }
            match parsed {
                Ok(Some(request)) => {
                    out.push(request);
                    while let Some(request) = self.format.more() {
                        self.counts.flushes += u64::from(request.op == Op::Flush);
                        out.push(request);
                    }
                }
                Ok(None) => self.counts.ignored += 1,
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(bad) => {
                    if self.format.is_names(line) {
                        continue;
                    }
                    if self.line == 1 && self.format.explain(line).is_none() && is_header::<F>(line)
                    {
                        match compare(&self.format, line) {
                            Names::Contradict => {
                                return Err(misnamed(&self.format, line, &self.window.input));
                            }
                            Names::Fit | Names::Unknown => continue,
                        }
                    }
                    if self.on_bad_line == OnBadLine::Skip {
                        self.counts.skipped += 1;
                        continue;
                    }
                    let input = &self.window.input;
                    if let Some(explained) = self.format.explain(line) {
                        let at = Place::Line { line: self.line, column: bad.at as u64 + 1 };
                        let hint = format!("{}, or {}", explained.hint, skip_hint(input));
                        return Err(TraceError::new(
                            &input.path,
                            Fault::BadRecord,
                            explained.message,
                        )
                        .at(at)
                        .hint(hint));
                    }
                    return Err(describe(&self.format, line, bad, self.line, input));
                }
            }
        }
        Ok(())
    }

    /// Handles a line that is longer than the buffer: makes an error, or skips the line without
    /// keeping it.
    fn overlong(&mut self) -> Result<(), TraceError> {
        self.line += 1;
        if self.on_bad_line == OnBadLine::Stop {
            let message = format!(
                "found a line of more than {CHUNK} bytes, expected {}",
                columns(&self.format)
            );
            let place = Place::Line { line: self.line, column: 1 };
            return Err(TraceError::new(self.window.path(), Fault::BadRecord, message)
                .at(place)
                .hint(format!("is this a text file? {}", skip_hint(&self.window.input))));
        }
        self.counts.skipped += 1;
        loop {
            self.window.start = self.window.filled;
            self.window.refill()?;
            if let Some(at) = memchr::memchr(b'\n', &self.window.buffer[..self.window.filled]) {
                self.window.start = at + 1;
                return Ok(());
            }
            if self.window.at_end {
                self.window.start = self.window.filled;
                return Ok(());
            }
        }
    }
}

impl<F: TextFormat> Decoder for TextDecoder<F> {
    fn next_block(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        let before = out.len();
        while out.len() == before {
            if self.window.start < self.window.filled || !self.window.at_end {
                self.window.refill()?;
            }
            if self.window.filled == 0 {
                return Ok(false);
            }
            if self.line == 0
                && self.window.buffer[..self.window.filled].starts_with(b"\xef\xbb\xbf")
            {
                self.window.start = 3; // a byte-order mark
            }
            let end = if self.window.at_end {
                self.window.filled
            } else if let Some(last) =
                memchr::memrchr(b'\n', &self.window.buffer[..self.window.filled])
            {
                last + 1
            } else {
                self.overlong()?;
                continue;
            };
            let parsed = self.parse_lines(end, out);
            self.window.start = self.window.start.min(end);
            parsed?;
            if self.window.at_end && self.window.start >= self.window.filled {
                (self.window.start, self.window.filled) = (0, 0);
                return Ok(out.len() > before);
            }
        }
        Ok(true)
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn note(&self) -> Option<String> {
        self.format.note()
    }

    fn columns(&self) -> Option<String> {
        self.format.columns()
    }

    fn position(&self) -> u64 {
        self.window.position()
    }

    fn declared(&self) -> Declared {
        Declared { address_space: None, fields: self.format.fields() }
    }
}

/// Parses a line as it is. If that fails, tries it without the quotes, blanks and semicolons that
/// table programs write.
#[inline(always)]
pub(crate) fn read_line<F: TextFormat>(
    format: &mut F,
    line: &[u8],
) -> Result<Option<Request>, BadField> {
    match format.parse(line) {
        Err(bad) => exported(format, line, bad),
        read => read,
    }
}

/// Parses a `bad` line again, with other separators, quotes or blanks.
#[cold]
#[inline(never)]
fn exported<F: TextFormat>(
    format: &mut F,
    line: &[u8],
    bad: BadField,
) -> Result<Option<Request>, BadField> {
    if line.trim_ascii_start().starts_with(b"#") {
        return Ok(None);
    }
    let Some((plain, places)) = plain::<F>(line) else { return Err(bad) };
    format
        .parse(&plain)
        .map_err(|bad| BadField { at: places.get(bad.at).copied().unwrap_or(line.len()), ..bad })
}

/// Returns a line with commas as its only separators, and for each of its bytes the position in the
/// original line. Table programs may write semicolons or tabs, quotes, and blanks after separators.
fn plain<F: TextFormat>(line: &[u8]) -> Option<(Vec<u8>, Vec<usize>)> {
    if !F::COMMA || !line.iter().any(|byte| b";\t\" ".contains(byte)) {
        return None;
    }
    let (mut plain, mut places, mut first) = (Vec::new(), Vec::new(), 0);
    for field in line.split(F::separates) {
        if first > 0 {
            plain.push(b',');
            places.push(first - 1);
        }
        let kept = bare(field);
        let blank = field.windows(kept.len().max(1)).position(|text| text == kept).unwrap_or(0);
        places.extend((0..kept.len()).map(|byte| first + blank + byte));
        plain.extend_from_slice(kept);
        first += field.len() + 1;
    }
    places.push(line.len());
    Some((plain, places))
}

/// The result of comparing a line of names with the columns of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// Two or more names are those of the format, and none contradicts it.
    Fit,
    /// Fewer than two names are known.
    Unknown,
    /// The number of columns differs, or a name means another column or unit.
    Contradict,
}

/// Compares a line of names with the columns of a format.
fn compare<F: TextFormat>(format: &F, line: &[u8]) -> Names {
    if !has_columns(format, line) {
        return Names::Contradict;
    }
    let fields = line.split(F::separates).filter(|field| F::COMMA || !field.is_empty());
    let mut known = 0;
    for (field, name) in fields.zip(F::NAMES.iter().chain(format.fields().columns())) {
        let (Some(stated), Some(expected)) = (meaning(bare(field)), meaning(name.as_bytes()))
        else {
            continue;
        };
        let of_op = |role| matches!(role, Role::Op | Role::IsRead | Role::IsWrite);
        let is_any = stated.0 == Role::Op || expected.0 == Role::Op;
        let same = stated.0 == expected.0 || (is_any && of_op(stated.0) && of_op(expected.0));
        let unit = stated.1.is_none() || expected.1.is_none() || stated.1 == expected.1;
        if !same || !unit {
            return Names::Contradict;
        }
        known += 1;
    }
    if known >= 2 { Names::Fit } else { Names::Unknown }
}

/// Makes the error for a first line whose names contradict the columns of the format.
#[cold]
fn misnamed<F: TextFormat>(format: &F, line: &[u8], input: &Input) -> TraceError {
    let names: Vec<&str> = F::NAMES.iter().chain(format.fields().columns()).copied().collect();
    let message = format!(
        "the first line names other columns, {}, expected {}",
        quote(line),
        names.join(",")
    );
    TraceError::new(&input.path, Fault::Format, message)
        .at(Place::Line { line: 1, column: 1 })
        .hint(RENAME)
}

/// The advice for a file whose columns fit no format.
pub(crate) const RENAME: &str = "write the first line with the unit behind each name, for example \
                                 time_ms,op,offset_sectors,size_bytes,dev, and R or W as op";

/// Returns `true` for a first line of names: several columns, none of which begins like a number.
pub(crate) fn is_header<F: TextFormat>(line: &[u8]) -> bool {
    let number = |field: &[u8]| {
        let text = field.strip_prefix(b"\"").unwrap_or(field);
        matches!(text.first(), Some(b'0'..=b'9' | b'-' | b'.'))
    };
    let mut fields = line.split(F::separates).map(<[u8]>::trim_ascii);
    line.iter().any(F::separates) && fields.all(|field| !field.is_empty() && !number(field))
}

fn count_columns<F: TextFormat>(line: &[u8]) -> usize {
    line.split(F::separates).filter(|field| F::COMMA || !field.is_empty()).count()
}

/// Returns the columns that every line has.
fn names<F: TextFormat>(format: &F) -> Vec<&'static str> {
    F::COLUMNS.iter().chain(format.fields().columns()).copied().collect()
}

/// Returns `true` if a line has as many columns as the format.
pub(crate) fn has_columns<F: TextFormat>(format: &F, line: &[u8]) -> bool {
    let columns = count_columns::<F>(line);
    let expected = F::COLUMNS.len() + format.fields().columns().count();
    columns == expected || (F::MORE_COLUMNS && columns > expected)
}

fn columns<F: TextFormat>(format: &F) -> String {
    names(format).join(if F::COMMA { "," } else { " " })
}

#[cold]
fn describe<F: TextFormat>(
    format: &F,
    line: &[u8],
    bad: BadField,
    number: u64,
    input: &Input,
) -> TraceError {
    let columns_of_line = count_columns::<F>(line);
    let expected = names(format).len();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let (column, message) = if !has_columns(format, line) {
        let or_more = if F::MORE_COLUMNS { " or more" } else { "" };
        let names = columns(format);
        let message = format!(
            "found {columns_of_line} column{}, expected {expected}{or_more} ({names})",
            plural(columns_of_line)
        );
        (1, message)
    } else {
        let at = bad.at.min(line.len());
        let rest = &line[at..];
        let field = rest.split(F::separates).next().unwrap_or_default();
        let what = if field.is_empty() { "nothing".to_owned() } else { quote(field) };
        (at as u64 + 1, format!("found {what}, expected {}", bad.expected))
    };
    TraceError::new(&input.path, Fault::BadRecord, message)
        .at(Place::Line { line: number, column })
        .hint(skip_hint(input))
}

/// Returns the hint for a bad line. In compressed data, a changed byte is seen as a bad line before
/// the checksum at the end is reached.
fn skip_hint(input: &Input) -> String {
    let skip = format!("{} counts and skips such lines", choice("on_bad_line", "skip"));
    match input.layers.iter().find(|layer| **layer != "tar") {
        Some(layer) => {
            format!("{skip}, but the {layer} file may be damaged: check it or fetch it again first")
        }
        None => skip,
    }
}
