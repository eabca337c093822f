//! Lines whose first line names the columns with their units, in any order, spelling and number.

use super::{Scaled, request};
use crate::Op;
use crate::trace::Request;
use crate::trace::lines::TextFormat;
use crate::trace::names::{Role, Unit, bare, meaning};
use crate::trace::parse::{BadField, Cursor, MICROSECONDS, MILLISECONDS, SECONDS};

/// The columns by their place in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The number of columns.
    columns: usize,
    separator: u8,
    time: usize,
    /// The decimal digits of a nanosecond in one unit of time.
    digits: u32,
    op: (usize, Role),
    /// The offset and the size, with the bytes of one unit.
    offset: (usize, u64),
    size: (usize, u64),
    device: Option<usize>,
    /// The names of columns that are not read.
    others: Vec<String>,
    names: Vec<String>,
}

/// The separators, those that decide first in front. Blanks and tabs count once in a row.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b' '];

/// Returns the columns of a line.
fn split(line: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let blank = separator == b' ';
    line.split(move |byte| *byte == separator || (blank && *byte == b'\t'))
        .filter(move |field| !blank || !field.is_empty())
}

impl Layout {
    /// Returns the layout that a line of names states, and `None` if a column or a unit is missing, or if
    /// two names could be one column.
    pub fn of_names(line: &[u8]) -> Option<Self> {
        let separator = SEPARATORS.into_iter().find(|separator| line.contains(separator))?;
        let text = line.strip_prefix(b"#").unwrap_or(line);
        let fields: Vec<&[u8]> = split(text, separator).map(bare).collect();
        if fields.iter().any(|field| field.first().is_none_or(u8::is_ascii_digit)) {
            return None;
        }
        let meanings: Vec<_> = fields.iter().map(|field| meaning(field)).collect();
        let is_op = |role| matches!(role, Role::Op | Role::IsRead | Role::IsWrite);
        // The only column of a subject; `None` if there are none or several.
        let only = |wanted: &dyn Fn(Role) -> bool| {
            let mut found = meanings.iter().enumerate().filter_map(|(at, meaning)| {
                meaning.filter(|(role, _)| wanted(*role)).map(|(role, unit)| (at, role, unit))
            });
            found.next().filter(|_| found.next().is_none())
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
        let bytes = |unit| match unit {
            Unit::Bytes => Some(1),
            Unit::Kibibytes => Some(1024),
            Unit::Sectors => Some(512),
            _ => None,
        };
        let (offset, _, offset_unit) = only(&|role| role == Role::Offset)?;
        let (size, _, size_unit) = only(&|role| role == Role::Size)?;
        let devices = meanings.iter().flatten().filter(|(role, _)| *role == Role::Device).count();
        let device = only(&|role| role == Role::Device).map(|(at, ..)| at);
        // Streams and times until the answers are read by our own names alone.
        let streams = meanings.iter().flatten().any(|(role, _)| *role == Role::Stream);
        if devices > 1 || streams {
            return None;
        }
        let used = [Some(time), Some(op), Some(offset), Some(size), device];
        let text = |at: usize| String::from_utf8_lossy(fields[at]).escape_default().to_string();
        let others = (0..fields.len()).filter(|at| !used.contains(&Some(*at))).map(text).collect();
        Some(Self {
            columns: fields.len(),
            separator,
            time,
            digits,
            op: (op, role),
            offset: (offset, bytes(offset_unit?)?),
            size: (size, bytes(size_unit?)?),
            device,
            others,
            names: (0..fields.len()).map(text).collect(),
        })
    }
}

/// A reader of lines in a layout.
pub(super) struct Columns {
    layout: Layout,
}

impl Columns {
    pub fn new(layout: Layout) -> Self {
        Self { layout }
    }
}

/// Returns a cursor at the start of the column's text, on a line that ends behind it.
fn column<'a>(line: &'a [u8], separator: u8, number: usize) -> Option<Cursor<'a>> {
    let field = split(line, separator).nth(number)?;
    let text = bare(field);
    let end = text.as_ptr() as usize - line.as_ptr() as usize + text.len();
    Some(Cursor { line: &line[..end], at: end - text.len() })
}

impl TextFormat for Columns {
    const COLUMNS: &'static [&'static str] = &["time", "op", "offset", "size"];
    const COMMA: bool = true;
    const MORE_COLUMNS: bool = true;

    fn separates(byte: &u8) -> bool {
        SEPARATORS.contains(byte)
    }

    fn parse(&mut self, line: &[u8]) -> Result<Option<Request>, BadField> {
        let layout = &self.layout;
        let found = split(line, layout.separator).count();
        if found != layout.columns {
            return Err(BadField::new(0, "as many columns as the first line names"));
        }
        let at = |number| {
            column(line, layout.separator, number)
                .ok_or(BadField::new(0, "as many columns as the first line names"))
        };
        const END: &str = "nothing behind the number";
        let mut cursor = at(layout.time)?;
        let time_ns = cursor.time(layout.digits, "a time")?;
        cursor.end(END)?;
        let mut cursor = at(layout.op.0)?;
        let start = cursor.at;
        let word = cursor.csv_field();
        let op = match (layout.op.1, word) {
            (Role::IsRead, b"1") | (Role::IsWrite, b"0") => Op::Read,
            (Role::IsRead, b"0") | (Role::IsWrite, b"1") => Op::Write,
            (Role::Op, word) => {
                super::operation(word).ok_or(BadField::new(start, "R, W or D (discard)"))?
            }
            _ => return Err(BadField::new(start, "0 or 1")),
        };
        let scaled = |(number, unit): (usize, u64), expected| {
            let mut cursor = at(number)?;
            let scaled = Scaled { at: cursor.at, value: cursor.integer(expected)?, unit };
            cursor.end(END)?;
            Ok(scaled)
        };
        let offset = scaled(layout.offset, "an offset, a whole number")?;
        let size = scaled(layout.size, "a size, a whole number")?;
        let device = match layout.device {
            None => 0,
            Some(number) => {
                let mut cursor = at(number)?;
                let device = cursor.small("a device number below 2^32")?;
                cursor.end(END)?;
                device
            }
        };
        request(time_ns, op, device, offset, size)
    }

    fn is_names(&self, line: &[u8]) -> bool {
        Layout::of_names(line).is_some_and(|layout| layout == self.layout)
    }

    fn note(&self) -> Option<String> {
        let layout = &self.layout;
        let time = match layout.digits {
            SECONDS => "seconds",
            MILLISECONDS => "milliseconds",
            MICROSECONDS => "microseconds",
            _ => "nanoseconds",
        };
        let unit = |unit| match unit {
            1 => "bytes",
            512 => "sectors of 512 bytes",
            _ => "KiB",
        };
        let mut text = format!(
            "columns by their names: {} ('{}') as time in {time}, {} ('{}') as operation, {} ('{}') as \
             offset in {}, {} ('{}') as size in {}",
            layout.time + 1,
            layout.names[layout.time],
            layout.op.0 + 1,
            layout.names[layout.op.0],
            layout.offset.0 + 1,
            layout.names[layout.offset.0],
            unit(layout.offset.1),
            layout.size.0 + 1,
            layout.names[layout.size.0],
            unit(layout.size.1),
        );
        if let Some(device) = layout.device {
            text += &format!(", {} ('{}') as device", device + 1, layout.names[device]);
        }
        if !layout.others.is_empty() {
            text += &format!("; not read: {}", layout.others.join(", "));
        }
        Some(text)
    }
}
