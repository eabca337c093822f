//! A decoder of text: it cuts lines and passes them to a format's parser, in bounded memory. It reports
//! bad lines and does not know the meaning of good ones.

use flashgc_base::described::Described;
use flashgc_base::naming::choice;

use super::error::{Fault, Place, TraceError, quote};
use super::input::Input;
use super::names::{Role, Unit, bare, meaning};
use super::parse::BadField;
use super::request::{Declared, Fields, Request};
use super::window::{CHUNK, Window};
use crate::Op;

/// The treatment of a line or record that violates the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBadLine {
    /// Stop with an error that names the line.
    #[default]
    Stop,
    /// Leave the line out and count it.
    Skip,
}

/// A format of lines, mostly of one request each.
pub(crate) trait TextFormat: Send + Sized + 'static {
    /// The names of the columns that every line has.
    const COLUMNS: &'static [&'static str];
    /// `true` if columns are separated by commas, not by blanks. A line of names may then come first.
    const COMMA: bool;
    /// The names of the columns with their units, to compare a file's own names with.
    const NAMES: &'static [&'static str] = Self::COLUMNS;
    /// `true` if lines may have more columns than `COLUMNS`.
    const MORE_COLUMNS: bool = false;

    /// Returns `true` if a byte separates columns.
    #[inline]
    fn separates(byte: &u8) -> bool {
        if Self::COMMA { matches!(byte, b',' | b';') } else { matches!(byte, b' ' | b'\t') }
    }

    /// Returns the fields that requests may have. Their columns are behind `COLUMNS`.
    fn fields(&self) -> Fields {
        Fields::NONE
    }

    /// Reads one line, without its line end. Returns `None` for a good line that is no request.
    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField>;

    /// Returns `true` if a line names the columns as they are read.
    fn is_names(&self, line: &[u8]) -> bool {
        is_header::<Self>(line) && compare(self, line) == Names::Fit
    }

    /// Returns an explanation of the line read last, which was bad; `None` for the usual one.
    fn explain(&self, _line: &[u8]) -> Option<Explained> {
        None
    }

    /// Takes the flush of the line read last that comes before its request, or instead of it.
    #[inline]
    fn flush(&mut self) -> Option<Request> {
        None
    }

    /// Takes a further request of the line read last, if a line can have several, or a flush behind its
    /// request.
    #[inline]
    fn more(&mut self) -> Option<Request> {
        None
    }

    /// Returns a note for the user on how the file is read.
    fn note(&self) -> Option<String> {
        None
    }

    /// Returns the columns that are read, with their units; `None` for those of the format's description.
    fn columns(&self) -> Option<String> {
        described(Self::NAMES.iter().chain(self.fields().columns()))
    }
}

/// Returns the columns that `names` state, if the units of offset and size are among them.
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
    /// Appends the next requests. Returns `false` if there are none left. Requests appended before an
    /// error are valid.
    fn next_block(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError>;
    /// Returns the counts so far.
    fn counts(&self) -> Counts;
    /// Returns a note for the user on how the file is read.
    fn note(&self) -> Option<String> {
        None
    }
    /// Returns the columns that are read, if they are not those of the format's description.
    fn columns(&self) -> Option<String> {
        None
    }
    /// Returns the number of bytes of content taken so far.
    fn position(&self) -> u64;
    /// Returns the properties of a recording of references to memory, if the format has them.
    fn recorded(&self) -> Option<Recorded> {
        None
    }
    /// Returns the properties that the file declares for all its requests.
    fn declared(&self) -> Declared {
        Declared::default()
    }
}

/// Counts of the lines or records of a trace that are no requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// The number of bad ones that were left out.
    pub skipped: u64,
    /// The number of good ones (other events, flushes).
    pub ignored: u64,
    /// The number of flushes that were appended.
    pub flushes: u64,
}

/// The properties of a recording of references to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, Described)]
pub struct Recorded {
    /// The size of a page in bytes.
    pub page_size: u64,
    /// The size in pages of the smallest LRU memory to which the references left out make no difference.
    pub filter: u32,
    /// The number of accesses that the references stand for. It is known at the end, and 0 before.
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

    /// Parses the whole lines in `buffer[..end]`.
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

    /// Refuses a line that does not fit the buffer, or passes over it without keeping it.
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

/// Reads a line as it is or, if that is bad, without the quotes, blanks and semicolons that programs which
/// export tables write.
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

/// Reads a line that is `bad` as one with other separators, quotes or blanks.
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

/// Returns a line with commas alone, and for each of its bytes the byte of the original line. Programs
/// that export tables write semicolons or tabs, quotes, and blanks behind a separator.
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

/// The relation of a line of names to the columns of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// Two names or more are those of the format, and none is another's.
    Fit,
    /// Too few names are known.
    Unknown,
    /// There are more or fewer columns, or a name is that of another column or unit.
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

/// Makes the error for a first line that names other columns than those of the format.
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

/// The advice for a file whose columns no format has.
pub(crate) const RENAME: &str = "write the first line with the unit behind each name, for example \
                                 time_ms,op,offset_sectors,size_bytes,dev, and R or W as op";

/// Returns `true` for a first line of names: several columns, none of which starts as a number does.
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

/// Returns the hint for a bad line. A flipped byte in compressed data shows as a bad line before the
/// checksum at the end is reached.
fn skip_hint(input: &Input) -> String {
    let skip = format!("{} counts and skips such lines", choice("on_bad_line", "skip"));
    match input.layers.iter().find(|layer| **layer != "tar") {
        Some(layer) => {
            format!("{skip}, but the {layer} file may be damaged: check it or fetch it again first")
        }
        None => skip,
    }
}
