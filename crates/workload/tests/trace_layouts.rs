//! A campaign of mutated layouts: whatever is done to the columns of a trace, it is read right or refused.

use crate::trace_common::read;
use flashgc_workload::Op;

/// A column of a plain format: its name with its unit, and its text for a request.
type Column = (&'static str, fn(&Row) -> String);

/// A request: microseconds, read, offset in bytes, size in bytes.
struct Row(u64, bool, u64, u64);

fn rows() -> Vec<Row> {
    let row = |i: u64| {
        Row(1_000_000 * (1 + i), i.is_multiple_of(3), (i * 7919 % 997) * 4096, (1 + i % 5) * 4096)
    };
    (0..60).map(row).collect()
}

const US: Column = ("time_us", |row| row.0.to_string());
const SECONDS: Column = ("time_s", |row| (row.0 / 1_000_000).to_string());
const MS: Column = ("time_ms", |row| format!("{}.0", row.0 / 1000));
const NS: Column = ("time_ns", |row| (row.0 * 1000).to_string());
const LETTER: Column = ("op", |row| if row.1 { "R" } else { "W" }.to_owned());
const IS_READ: Column = ("is_read", |row| u8::from(row.1).to_string());
const IS_WRITE: Column = ("is_write", |row| u8::from(!row.1).to_string());
const OFFSET: Column = ("offset_bytes", |row| row.2.to_string());
const SECTOR: Column = ("offset_sectors", |row| (row.2 / 512).to_string());
const SIZE: Column = ("size_bytes", |row| row.3.to_string());
const SECTORS: Column = ("size_sectors", |row| (row.3 / 512).to_string());
const DEVICE: Column = ("dev", |_| "3".to_owned());

/// The columns of formats that others are mistaken for, with their separator.
const FORMATS: [(&str, char, [Column; 5]); 6] = [
    ("csv", ',', [US, LETTER, OFFSET, SIZE, DEVICE]),
    ("alibaba", ',', [DEVICE, LETTER, OFFSET, SIZE, US]),
    ("tencent", ',', [SECONDS, SECTOR, SECTORS, IS_WRITE, DEVICE]),
    ("spc", ',', [DEVICE, SECTOR, SIZE, LETTER, SECONDS]),
    ("disksim", ' ', [MS, DEVICE, SECTOR, SECTORS, IS_READ]),
    ("ssdsim", ' ', [NS, DEVICE, SECTOR, SECTORS, IS_READ]),
];

/// Returns the column in each unit that it can have.
fn others(column: Column) -> Vec<Column> {
    for family in
        [&[US, SECONDS, MS, NS][..], &[OFFSET, SECTOR], &[SIZE, SECTORS], &[IS_READ, IS_WRITE]]
    {
        if family.iter().any(|other| other.0 == column.0) {
            return family.to_vec();
        }
    }
    vec![column]
}

/// Returns every order of five columns.
fn orders() -> Vec<[usize; 5]> {
    let mut all = Vec::new();
    for code in 0..5usize.pow(5) {
        let order = [0, 1, 2, 3, 4].map(|place| code / 5usize.pow(place) % 5);
        if (0..5).all(|column| order.contains(&column)) {
            all.push(order);
        }
    }
    all
}

fn file(
    columns: &[Column],
    names: Option<fn(&str) -> String>,
    separator: &str,
    end: &str,
) -> String {
    let join = |cells: Vec<String>| cells.join(separator) + end;
    let head = names.map(|name| join(columns.iter().map(|column| name(column.0)).collect()));
    let body = rows()
        .iter()
        .map(|row| join(columns.iter().map(|column| column.1(row)).collect()))
        .collect::<String>();
    head.unwrap_or_default() + &body
}

/// Returns `None` if the file is refused, else `true` if it is read right.
fn outcome(text: &str) -> Option<bool> {
    let all = read(text.as_bytes()).ok()?;
    let right = all.len() == rows().len()
        && all.iter().zip(rows()).all(|(found, Row(time, is_read, offset, size))| {
            (found.time_ns, found.op) == (time * 1000, if is_read { Op::Read } else { Op::Write })
                && (found.offset, found.size, found.device) == (offset as i64, size, 3)
        });
    Some(right)
}

/// The form of a file whose names have no units.
const WITHOUT_UNITS: usize = 4;

/// Returns `true` if only the unit of time or the sense of the operation differs. Without names, or units in them,
/// such lines are lines of the format, and nothing in them tells.
fn is_its_own(columns: &[Column], layout: &[Column]) -> bool {
    columns.iter().zip(layout).all(|(own, other)| {
        let time = own.0.starts_with("time") && other.0.starts_with("time");
        let op = own.0.starts_with("is_") && other.0.starts_with("is_");
        own.0 == other.0 || time || op
    })
}

#[test]
fn no_layout_is_read_wrong_without_a_word() {
    let spellings: [fn(&str) -> String; 5] = [
        |name| name.to_owned(),
        str::to_uppercase,
        |name| format!("\"{}\"", name.replace('_', " ")),
        |name| name.split('_').next().unwrap_or(name).to_owned(),
        |name| format!("{} [{}]", name, "x"),
    ];
    let (mut right, mut refused, mut wrong) = (0, 0, Vec::new());
    for (format, usual, columns) in FORMATS {
        let mut layouts: Vec<Vec<Column>> =
            orders().into_iter().map(|order| order.map(|at| columns[at]).to_vec()).collect();
        for place in 0..5 {
            for other in others(columns[place]) {
                let mut changed = columns.to_vec();
                changed[place] = other;
                layouts.push(changed);
            }
        }
        for (number, layout) in layouts.iter().enumerate() {
            let separators = [usual.to_string(), ",".into(), ";".into(), "\t".into(), ", ".into()];
            let separator = &separators[number % separators.len()];
            let end = if number % 3 == 0 { "\r\n" } else { "\n" };
            let mark = if number % 7 == 0 { "\u{feff}" } else { "" };
            for (form, names) in [None].into_iter().chain(spellings.map(Some)).enumerate() {
                if [0, WITHOUT_UNITS].contains(&form) && is_its_own(&columns, layout) {
                    continue;
                }
                let text = mark.to_owned() + &file(layout, names, separator, end);
                match outcome(&text) {
                    Some(true) => right += 1,
                    None => refused += 1,
                    Some(false) => {
                        let start: String = text.lines().take(3).collect::<Vec<_>>().join(" | ");
                        let found =
                            crate::trace_common::reader(text.as_bytes(), &Default::default())
                                .unwrap();
                        wrong.push(format!("{format} as {}: {start}", found.format().name));
                    }
                }
            }
        }
    }
    println!("{right} right, {refused} refused, {} wrong", wrong.len());
    assert!(
        wrong.is_empty(),
        "{} wrong, {right} right, {refused} refused:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(right > 2000 && right + refused > 3000, "{right} right, {refused} refused");
}
