//! Lines whose columns are given by the names in a first line, or by a layout that the user states.
//! The columns may come in any order and number, and their names may be spelled in several ways.

use std::collections::HashMap;
use std::ops::Range;

use flashgc_base::naming::choice;
use flashgc_base::spec::count;

use super::events::rwbs;
use super::{Format, ReadOptions, Sample, Scaled, operation, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::error::{Fault, Place, TraceError, quote};
use crate::trace::input::Input;
use crate::trace::layout::{self, Column, Layout, Meaning, Time};
use crate::trace::lines::{Decoder, Explained, TextFormat};
use crate::trace::names::{Role, Unit, bare, meaning};
use crate::trace::parse::{BadField, Cursor, MICROSECONDS, MILLISECONDS, SECONDS};

/// The format of lines that a layout describes. Detection never finds it.
pub(crate) static FORMAT: Format = Format {
    name: "columns",
    summary: "lines in columns that are stated with them",
    columns: "as stated",
    example: "",
    detection: "none",
    traps: "",
    single_device: false,
    references: false,
    sniff: |_| 0,
    open,
};

fn open(input: Input, options: &ReadOptions) -> Result<Box<dyn Decoder>, TraceError> {
    let sample = Sample::new(input.sample(), input.sample_is_all());
    let Some(layout) = &options.columns else {
        let message = "the columns of the trace are not stated";
        return Err(TraceError::new(&input.path, Fault::Option, message));
    };
    let plan = Plan::of_layout(layout, &sample, &input)?;
    super::open_text(Columns::new(plan), input, options)
}

/// Returns `true` if most lines of the sample are requests in a layout.
pub(crate) fn fits(layout: &Layout, sample: &Sample) -> bool {
    let Ok(plan) = Plan::of_sample(layout, sample) else { return false };
    let mut reader = Columns::new(plan);
    let (mut good, mut bad) = (0, 0);
    for line in sample.lines.iter().filter(|line| !line.trim_ascii().is_empty()) {
        match reader.parse(line) {
            Ok(Some(_)) => good += 1,
            Ok(None) => {}
            Err(_) => bad += 1,
        }
    }
    good > 0 && good >= bad
}

/// The position of a column in a line, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start(usize),
    /// The position counts from the end of the line; the last column is 0.
    End(usize),
}

impl At {
    /// Returns the index of the column in a line that has `columns` columns.
    fn of(self, columns: usize) -> Option<usize> {
        match self {
            Self::Start(at) => Some(at).filter(|at| *at < columns),
            Self::End(at) => columns.checked_sub(at + 1),
        }
    }
}

/// The form in which operations are written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Words {
    /// The value is 1 for a read.
    IsRead,
    /// The value is 1 for a write.
    IsWrite,
    /// The default words and letters.
    Usual,
    Values(Vec<(Vec<u8>, Meaning)>, Option<Meaning>),
}

/// The columns by their positions in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The number of columns that every line must have; `None` if it may vary.
    columns: Option<usize>,
    separator: u8,
    time: (At, Time),
    op: (At, Words),
    /// The columns of the offset and of the size, each with the bytes of one unit.
    offset: (At, u64),
    size: (At, u64),
    /// The column of the device, and `true` if devices are names.
    device: Option<(At, bool)>,
    only: Option<(At, Vec<u8>)>,
    comment: Vec<u8>,
    header: usize,
    base: u32,
    /// The names of all columns; empty if no line has names.
    names: Vec<String>,
}

/// The separators that are tried, in this order.
const TRIED: [u8; 4] = [b',', b';', b'\t', b' '];

/// Cuts a line into columns. A row of blanks and tabs counts as one separator, and separators
/// inside quotes do not count.
fn cut(line: &[u8], separator: u8, cells: &mut Vec<Range<usize>>) {
    cells.clear();
    let is_blank = separator == b' ';
    let separates = |byte: u8| byte == separator || (is_blank && byte == b'\t');
    let (mut start, mut at) = (0, 0);
    while at <= line.len() {
        if at < line.len() && line[at] == b'"' && line[start..at].trim_ascii().is_empty() {
            let close = memchr::memchr(b'"', &line[at + 1..]);
            at = close.map_or(at + 1, |close| at + close + 2);
            continue;
        }
        if at == line.len() || separates(line[at]) {
            if !is_blank || at > start {
                cells.push(start..at);
            }
            start = at + 1;
        }
        at += 1;
    }
}

/// Returns the columns of a line.
fn cells(line: &[u8], separator: u8) -> Vec<&[u8]> {
    let mut places = Vec::new();
    cut(line, separator, &mut places);
    places.into_iter().map(|cell| bare(&line[cell])).collect()
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).escape_default().to_string()
}

impl Plan {
    /// Returns the columns that a line of names states; `None` if a column or a unit is missing, or
    /// if two names could mean the same column.
    pub fn of_names(line: &[u8]) -> Option<Self> {
        let separator = TRIED.into_iter().find(|separator| line.contains(separator))?;
        let line = line.strip_prefix(b"#").unwrap_or(line);
        let fields = cells(line, separator);
        if fields.iter().any(|field| field.first().is_none_or(u8::is_ascii_digit)) {
            return None;
        }
        let meanings: Vec<_> = fields.iter().map(|field| meaning(field)).collect();
        let is_op = |role| matches!(role, Role::Op | Role::IsRead | Role::IsWrite);
        // The only column with the wanted meaning; `None` if there is none or more than one.
        let only = |wanted: &dyn Fn(Role) -> bool| {
            let mut columns = meanings.iter().enumerate().filter_map(|(at, meaning)| {
                let column = meaning.filter(|(role, _)| wanted(*role));
                column.map(|(role, unit)| (At::Start(at), role, unit))
            });
            columns.next().filter(|_| columns.next().is_none())
        };
        let (time, _, unit) = only(&|role| role == Role::Time)?;
        let digits = match unit? {
            Unit::Seconds => SECONDS,
            Unit::Milliseconds => MILLISECONDS,
            Unit::Microseconds => MICROSECONDS,
            Unit::Nanoseconds => 0,
            _ => return None,
        };
        let (op, role, _) = only(&is_op)?;
        let words = match role {
            Role::IsRead => Words::IsRead,
            Role::IsWrite => Words::IsWrite,
            _ => Words::Usual,
        };
        let bytes = |unit| match unit {
            Unit::Bytes => Some(1),
            Unit::Kibibytes => Some(1024),
            Unit::Sectors => Some(512),
            _ => None,
        };
        let (offset, _, offset_unit) = only(&|role| role == Role::Offset)?;
        let (size, _, size_unit) = only(&|role| role == Role::Size)?;
        let devices = meanings.iter().flatten().filter(|(role, _)| *role == Role::Device).count();
        let device = only(&|role| role == Role::Device).map(|(at, ..)| (at, false));
        // Columns of streams or of times until answers are read only under flashgc's own names.
        let streams = meanings.iter().flatten().any(|(role, _)| *role == Role::Stream);
        if devices > 1 || streams {
            return None;
        }
        Some(Self {
            columns: Some(fields.len()),
            separator,
            time: (time, Time::Digits(digits)),
            op: (op, words),
            offset: (offset, bytes(offset_unit?)?),
            size: (size, bytes(size_unit?)?),
            device,
            only: None,
            comment: b"#".to_vec(),
            header: 0,
            base: 10,
            names: fields.iter().map(|field| text(field)).collect(),
        })
    }

    fn of_layout(layout: &Layout, sample: &Sample, input: &Input) -> Result<Self, TraceError> {
        Self::of_sample(layout, sample).map_err(|(line, message)| {
            let first = sample.lines.get(line).copied().unwrap_or_default();
            let error = TraceError::new(&input.path, Fault::Format, message);
            error.at(Place::Line { line: line as u64 + 1, column: 1 }).hint(format!(
                "this line begins with {}; number the columns from 1, as in {}",
                quote(first),
                choice("columns", Layout::EXAMPLE)
            ))
        })
    }

    /// Finds the columns of a layout in the lines of a file. An error has the index of a line.
    fn of_sample(layout: &Layout, sample: &Sample) -> Result<Self, (usize, String)> {
        let mut stated = vec![&layout.time.0, &layout.op, &layout.offset.0, &layout.size.0];
        stated.extend(layout.device.as_ref().map(|device| &device.column));
        stated.extend(layout.only.as_ref().map(|(column, _)| column));
        let wanted: Vec<&str> = stated
            .iter()
            .filter_map(|column| match column {
                Column::Name(name) => Some(name.as_str()),
                Column::Number(_) => None,
            })
            .collect();
        let tried = layout.separator.map_or(TRIED.to_vec(), |separator| vec![separator]);
        let number = |fields: &[&[u8]], name: &str| {
            fields.iter().position(|field| field.eq_ignore_ascii_case(name.as_bytes()))
        };
        let has = |fields: &[&[u8]]| wanted.iter().all(|name| number(fields, name).is_some());
        let uncommented =
            |line: &'_ [u8]| line.len() - line.strip_prefix(b"#").unwrap_or(line).len();
        let named = if wanted.is_empty() {
            None
        } else {
            let first = tried.iter().find_map(|separator| {
                sample.lines.iter().find_map(|line| {
                    let fields = cells(&line[uncommented(line)..], *separator);
                    has(&fields)
                        .then(|| (*separator, fields.iter().map(|f| text(f)).collect::<Vec<_>>()))
                })
            });
            let names = wanted.join("', '");
            Some(first.ok_or((0, format!("no line of the start has columns named '{names}'")))?)
        };
        let least = stated
            .iter()
            .map(|column| match column {
                Column::Number(number) => number.unsigned_abs() as usize,
                Column::Name(_) => 1,
            })
            .max()
            .unwrap_or(1);
        let is_data =
            |line: &&&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(&layout.comment);
        let data = sample.lines.iter().skip(layout.header).filter(is_data);
        let separator = match &named {
            Some((separator, _)) => *separator,
            None => {
                let enough = |separator: u8| {
                    data.clone().filter(|line| cells(line, separator).len() >= least).count()
                };
                // If two separators have equal counts, the first one is taken.
                let most = tried.iter().rev().copied().max_by_key(|separator| enough(*separator));
                most.filter(|separator| enough(*separator) > 0).ok_or_else(|| {
                    let at = sample.lines.iter().position(|line| is_data(&line)).unwrap_or(0);
                    (at, format!("no line has {}", count(least as u64, "column")))
                })?
            }
        };
        let names = named.map(|(_, names)| names).unwrap_or_default();
        let at = |column: &Column| match column {
            Column::Number(number @ 1..) => At::Start(*number as usize - 1),
            Column::Number(number) => At::End(number.unsigned_abs() as usize - 1),
            Column::Name(name) => {
                let place = names.iter().position(|known| known.eq_ignore_ascii_case(name));
                let place = place.unwrap_or(0);
                // The name of a process may have blanks, so the positions of columns after it count
                // from the end.
                if separator == b' ' && place > 0 {
                    At::End(names.len() - 1 - place)
                } else {
                    At::Start(place)
                }
            }
        };
        let is_usual = layout.values.is_empty() && layout.otherwise.is_none();
        let words = || Words::Values(layout.values.clone(), layout.otherwise);
        Ok(Self {
            columns: None,
            separator,
            time: (at(&layout.time.0), layout.time.1),
            op: (at(&layout.op), if is_usual { Words::Usual } else { words() }),
            offset: (at(&layout.offset.0), layout.offset.1),
            size: (at(&layout.size.0), layout.size.1),
            device: layout.device.as_ref().map(|device| (at(&device.column), device.named)),
            only: layout.only.as_ref().map(|(column, value)| (at(column), value.clone())),
            comment: layout.comment.clone(),
            header: layout.header,
            base: layout.base,
            names: names.clone(),
        })
    }
}

/// A parser of lines in columns.
pub(super) struct Columns {
    plan: Plan,
    /// The columns of the line parsed last, as ranges of bytes.
    cells: Vec<Range<usize>>,
    /// The numbers that were assigned to names of devices.
    devices: HashMap<Vec<u8>, u32>,
    /// The number of lines of the header that were not read yet.
    header: usize,
    /// `true` after the first line that is a request.
    begun: bool,
    /// The first line, if it has names although the columns are known by their positions.
    heading: Option<Vec<u8>>,
    flush: Option<Request>,
    /// The column of the last fault, and the text expected there.
    fault: Option<(At, String)>,
}

impl Columns {
    pub fn new(plan: Plan) -> Self {
        Self {
            header: plan.header,
            plan,
            cells: Vec::new(),
            devices: HashMap::new(),
            begun: false,
            heading: None,
            flush: None,
            fault: None,
        }
    }

    fn cell<'a>(&self, line: &'a [u8], at: At) -> Option<&'a [u8]> {
        let cell = self.cells.get(at.of(self.cells.len())?)?;
        Some(bare(&line[cell.clone()]))
    }

    /// Keeps the fault of the column at `at`, and returns it.
    #[cold]
    fn bad(&mut self, line: &[u8], at: At, expected: impl Into<String>) -> BadField {
        self.fault = Some((at, expected.into()));
        let cell = at.of(self.cells.len()).and_then(|at| self.cells.get(at));
        let start = cell.map_or(0, |cell| {
            let blanks = line[cell.clone()].iter().take_while(|byte| byte.is_ascii_whitespace());
            cell.start + blanks.count()
        });
        BadField::new(start, "another text")
    }

    /// Returns `true` if `line` is a line of column names: it has the expected names in the needed
    /// columns or, if no names are known, no numbers in them.
    fn is_heading(&self, line: &[u8]) -> bool {
        let plan = &self.plan;
        let read = [plan.time.0, plan.offset.0, plan.size.0];
        if plan.names.is_empty() {
            let has_digit =
                |at| self.cell(line, at).is_none_or(|text| text.iter().any(u8::is_ascii_digit));
            return !self.begun && !read.into_iter().any(has_digit);
        }
        read.into_iter().all(|at| {
            let name = at.of(plan.names.len()).and_then(|at| plan.names.get(at));
            let cell = self.cell(line, at);
            name.zip(cell).is_some_and(|(name, cell)| cell.eq_ignore_ascii_case(name.as_bytes()))
        })
    }

    fn meaning(&self, word: &[u8]) -> Option<Meaning> {
        match &self.plan.op.1 {
            Words::IsRead | Words::IsWrite => {
                let yes = match word {
                    b"1" => true,
                    b"0" => false,
                    _ => return None,
                };
                let is_read = yes == (self.plan.op.1 == Words::IsRead);
                Some(Meaning::Data(if is_read { Op::Read } else { Op::Write }))
            }
            Words::Usual => {
                if let Some(op) = operation(word) {
                    return Some(Meaning::Data(op));
                }
                if matches!(word, b"F" | b"Flush" | b"flush" | b"FLUSH") {
                    return Some(Meaning::Flush);
                }
                // The letters are those of Linux: an operation and its modifiers.
                let is_rwbs = word.len() <= 6 && word.iter().all(u8::is_ascii_uppercase);
                let read = is_rwbs.then(|| rwbs(&mut Cursor::new(word)).ok()).flatten()?;
                read.op.map(Meaning::Data).or(read.flush.then_some(Meaning::Flush))
            }
            Words::Values(values, otherwise) => {
                let exact = values.iter().find(|(value, _)| value == word);
                let value =
                    exact.or_else(|| values.iter().find(|(v, _)| v.eq_ignore_ascii_case(word)));
                value.map(|(_, meaning)| *meaning).or(*otherwise)
            }
        }
    }

    /// Returns the words that an operation may have, for a message.
    fn words(&self) -> String {
        match &self.plan.op.1 {
            Words::IsRead | Words::IsWrite => "0 or 1".to_owned(),
            Words::Usual => "R, W, D (discard) or F (flush), or a word such as read".to_owned(),
            Words::Values(values, _) => {
                let known: Vec<String> = values.iter().map(|(value, _)| text(value)).collect();
                format!("one of {}", known.join(", "))
            }
        }
    }

    fn scaled(
        &mut self,
        line: &[u8],
        (at, unit): (At, u64),
        what: &'static str,
    ) -> Result<Scaled, BadField> {
        let number = self.cell(line, at).and_then(|cell| whole(cell, self.plan.base));
        match number {
            Some(value) => {
                let start = self.cells[at.of(self.cells.len()).unwrap_or(0)].start;
                Ok(Scaled { at: start, value, unit })
            }
            None => Err(self.bad(line, at, what)),
        }
    }

    fn device(&mut self, line: &[u8]) -> Result<u32, BadField> {
        let Some((at, is_named)) = self.plan.device else { return Ok(0) };
        let Some(cell) = self.cell(line, at) else {
            return Err(self.bad(line, at, "a device"));
        };
        if is_named {
            if let Some(number) = self.devices.get(cell) {
                return Ok(*number);
            }
            let number = self.devices.len() as u32;
            self.devices.insert(cell.to_vec(), number);
            return Ok(number);
        }
        let device = whole(cell, 10).and_then(|number| u32::try_from(number).ok());
        device.ok_or_else(|| {
            self.bad(line, at, "a device number below 2^32 (device=COLUMN:name takes names)")
        })
    }
}

/// Parses a whole number: decimal digits, possibly with commas between thousands or with zeros
/// after a point, or hexadecimal digits after `0x` or in base 16.
fn whole(text: &[u8], base: u32) -> Option<u64> {
    let hexadecimal = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"));
    if hexadecimal.is_some() || base == 16 {
        let digits = std::str::from_utf8(hexadecimal.unwrap_or(text)).ok()?;
        return digits
            .bytes()
            .all(|d| d.is_ascii_hexdigit())
            .then(|| u64::from_str_radix(digits, 16).ok())?;
    }
    let mut cursor = Cursor::new(text);
    let value = cursor.integer("").ok()?;
    match &text[cursor.at..] {
        [] => Some(value),
        [b'.', zeros @ ..] => zeros.iter().all(|byte| *byte == b'0').then_some(value),
        [b',', ..] => whole(&ungrouped(text)?, 10),
        _ => None,
    }
}

/// Returns a number without the commas between thousands.
fn ungrouped(text: &[u8]) -> Option<Vec<u8>> {
    let whole = text.split(|byte| *byte == b'.').next()?;
    let mut groups = whole.split(|byte| *byte == b',');
    let first = groups.next()?;
    let is_right = (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3);
    is_right.then(|| text.iter().copied().filter(|byte| *byte != b',').collect())
}

/// Parses a time and returns nanoseconds.
fn time(text: &[u8], unit: Time) -> Option<u64> {
    let plain;
    let text = if text.contains(&b',') {
        plain = ungrouped(text)?;
        &plain
    } else {
        text
    };
    let mut cursor = Cursor::new(text);
    let time = match unit {
        Time::Digits(digits) => cursor.time(digits, "").ok()?,
        Time::Ticks => cursor.integer("").ok()?.checked_mul(100)?,
    };
    cursor.end("").ok().map(|()| time)
}

impl TextFormat for Columns {
    const COLUMNS: &'static [&'static str] = &["time", "op", "offset", "size"];
    const COMMA: bool = false;
    const MORE_COLUMNS: bool = true;

    fn separates(byte: &u8) -> bool {
        TRIED.contains(byte)
    }

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        self.fault = None;
        if self.header > 0 {
            self.header -= 1;
            return Ok(None);
        }
        if !self.plan.comment.is_empty() && line.starts_with(&self.plan.comment) {
            return Ok(None);
        }
        cut(line, self.plan.separator, &mut self.cells);
        if let Some(columns) = self.plan.columns
            && self.cells.len() != columns
        {
            let last = At::Start(self.cells.len().saturating_sub(1));
            return Err(self.bad(line, last, format!("{columns} columns, as the first line has")));
        }
        if let Some((at, value)) = &self.plan.only
            && self.cell(line, *at) != Some(value)
        {
            return Ok(None);
        }
        let (op_at, time_at, unit) = (self.plan.op.0, self.plan.time.0, self.plan.time.1);
        let meaning = match self.cell(line, op_at).map(|word| self.meaning(word)) {
            Some(Some(Meaning::Other)) => return Ok(None),
            Some(Some(meaning)) => meaning,
            _ if self.heading.as_deref() == Some(line) => return Ok(None),
            _ if self.is_heading(line) => {
                self.heading = Some(line.to_vec());
                return Ok(None);
            }
            Some(None) => {
                let words = self.words();
                return Err(self.bad(line, op_at, words));
            }
            None => return Err(self.bad(line, op_at, "an operation")),
        };
        let Some(time_ns) = self.cell(line, time_at).and_then(|cell| time(cell, unit)) else {
            if self.is_heading(line) {
                return Ok(None);
            }
            return Err(self.bad(line, time_at, "a time, a number"));
        };
        if meaning == Meaning::Flush {
            let device = self.device(line)?;
            self.flush = Some(Request::flush(time_ns, device));
            return Ok(None);
        }
        let offset = self.scaled(line, self.plan.offset, "an offset, a whole number")?;
        let size = self.scaled(line, self.plan.size, "a size, a whole number")?;
        let device = self.device(line)?;
        let Meaning::Data(op) = meaning else { return Ok(None) };
        self.begun = true;
        let size_at = self.plan.size.0;
        request(time_ns, op, device, offset, size).map_err(|bad| {
            let at = if bad.at == offset.at { self.plan.offset.0 } else { size_at };
            self.bad(line, at, bad.expected)
        })
    }

    fn flush(&mut self) -> Option<Request> {
        self.flush.take()
    }

    fn is_names(&self, line: &[u8]) -> bool {
        let own = Plan::of_names(line).is_some_and(|plan| plan == self.plan);
        own || self.heading.as_deref() == Some(line)
    }

    fn explain(&self, line: &[u8]) -> Option<Explained> {
        let (at, expected) = self.fault.as_ref()?;
        let fields = cells(line, self.plan.separator);
        let field = at.of(fields.len()).and_then(|at| fields.get(at));
        let place = match at {
            At::Start(at) => format!("column {}", at + 1),
            At::End(at) => format!("column {} from the end", at + 1),
        };
        let field = field.map_or_else(|| "nothing".to_owned(), |field| quote(field));
        let by = layout::SEPARATORS.iter().find(|(_, byte)| *byte == self.plan.separator);
        let cut: Vec<String> = fields
            .iter()
            .take(24)
            .enumerate()
            .map(|(at, field)| format!("{} {}", at + 1, quote(field)))
            .collect();
        Some(Explained {
            message: format!(
                "found {field} in {place}, expected {expected}; cut at each {}, the line has {}: {}",
                by.map_or("separator", |(name, _)| name),
                count(fields.len() as u64, "column"),
                cut.join(", ")
            ),
            hint: format!(
                "say which column is which, for example {}",
                choice("columns", Layout::EXAMPLE)
            ),
        })
    }

    fn columns(&self) -> Option<String> {
        let plan = &self.plan;
        let time = match plan.time.1 {
            Time::Digits(SECONDS) => "seconds",
            Time::Digits(MILLISECONDS) => "milliseconds",
            Time::Digits(MICROSECONDS) => "microseconds",
            Time::Digits(_) => "nanoseconds",
            Time::Ticks => "100 ns",
        };
        let unit = |unit| match unit {
            1 => "bytes".to_owned(),
            512 => "sectors of 512 bytes".to_owned(),
            1024 => "KiB".to_owned(),
            bytes => format!("units of {bytes} bytes"),
        };
        let heading: Vec<String> = self
            .heading
            .as_ref()
            .map(|line| cells(line, plan.separator).iter().map(|field| text(field)).collect())
            .unwrap_or_default();
        let names = if plan.names.is_empty() { &heading } else { &plan.names };
        let column = |at: At| {
            let name = at.of(names.len()).and_then(|at| names.get(at));
            let name = name.map_or_else(String::new, |name| format!(" ('{name}')"));
            match (at, at.of(names.len())) {
                (At::Start(at), _) => format!("{}{name}", at + 1),
                (_, Some(at)) => format!("{}{name}", at + 1),
                (At::End(at), None) => format!("-{}", at + 1),
            }
        };
        let mut note = format!(
            "column {} as time in {time}, column {} as operation, column {} as offset in {}, \
             column {} as size in {}",
            column(plan.time.0),
            column(plan.op.0),
            column(plan.offset.0),
            unit(plan.offset.1),
            column(plan.size.0),
            unit(plan.size.1),
        );
        if let Some((device, _)) = plan.device {
            note += &format!(", column {} as device", column(device));
        }
        let mut used = vec![plan.time.0, plan.op.0, plan.offset.0, plan.size.0];
        used.extend(plan.device.map(|(at, _)| at));
        let used: Vec<_> = used.iter().filter_map(|at| at.of(names.len())).collect();
        let others = (0..names.len()).filter(|at| !used.contains(at));
        let others: Vec<&str> = others.map(|at| names[at].as_str()).collect();
        if !others.is_empty() {
            note += &format!("; not read: {}", others.join(", "));
        }
        Some(note)
    }
}
