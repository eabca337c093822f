//! Many mutated layouts: whatever is changed in the columns of a trace, the trace is read correctly
//! or refused.

use crate::trace_common::{read, reader};
use flashgc_workload::Op;
use flashgc_workload::trace::ReadOptions;

/// A column of a plain format: its name with its unit, and a function that returns its text for a
/// request.
type Column = (&'static str, fn(&Row) -> String);

/// A request: microseconds, `true` for a read, offset in bytes, size in bytes.
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

/// The columns of formats that are easily mistaken for each other, with their separator.
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

/// Returns `None` if the file is refused; otherwise `true` if it is read correctly.
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

/// Returns `true` if only the unit of time or the meaning of the operation differs. Without names,
/// or without units in them, such lines are valid lines of the format, and nothing shows the
/// difference.
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

/// The text that the program of a format writes for the rows: the format, the first line of the
/// file, the separator, and a function that returns the line of a row.
type Writer = (&'static str, &'static str, &'static str, fn(usize, &Row) -> String);

fn letter(row: &Row) -> &'static str {
    if row.1 { "R" } else { "W" }
}

fn seconds(row: &Row) -> String {
    format!("{}.{:06}", row.0 / 1_000_000, row.0 % 1_000_000)
}

const WRITERS: [Writer; 16] = [
    ("csv", "time_us,op,offset_bytes,size_bytes,dev", ",", |_, row| {
        format!("{},{},{},{},3", row.0, letter(row), row.2, row.3)
    }),
    ("msr", "", ",", |at, row| {
        let op = if row.1 { "Read" } else { "Write" };
        let ticks = 128_166_372_003_061_629 + row.0 * 10;
        format!("{ticks},src1,3,{op},{},{},{}", row.2, row.3, 41_286 + at * 7 % 90)
    }),
    ("alibaba", "", ",", |_, row| {
        format!("3,{},{},{},{}", letter(row), row.2, row.3, 1_577_808_000_000_000 + row.0)
    }),
    ("tencent", "", ",", |_, row| {
        let time = 1_538_323_200 + row.0 / 1_000_000;
        format!("{time},{},{},{},1003", row.2 / 512, row.3 / 512, u8::from(!row.1))
    }),
    ("systor", "Timestamp,Response,IOType,LUN,Offset,Size", ",", |at, row| {
        let time = 1_455_590_000 + row.0 / 1_000_000;
        format!("{time}.013118000,0.000{:03},{},3,{},{}", 100 + at, letter(row), row.2, row.3)
    }),
    ("spc", "", ",", |_, row| {
        format!("3,{},{},{},{}", row.2 / 512, row.3, letter(row).to_lowercase(), seconds(row))
    }),
    ("cloudphysics", "", ",", |at, row| {
        let command = if row.1 { "28" } else { "2a" };
        format!("{at},{},{command},{},{}", 5_633_898_368_802 + row.0, row.3, row.2 / 512)
    }),
    ("fiu", "", " ", |at, row| {
        let (time, sector) = (89_966_522_969_723 + row.0 * 1000, row.2 / 512);
        format!(
            "{time} {} nfsd {sector} {} {} 6 0 {:032x}",
            4000 + at,
            row.3 / 512,
            letter(row),
            at
        )
    }),
    ("blkparse", "", " ", |at, row| {
        let (time, sector) = (seconds(row), row.2 / 512);
        format!(
            "8,0 {} {at} {time}000 {} D {} {sector} + {} [app]",
            at % 4,
            400 + at,
            letter(row),
            row.3 / 512
        )
    }),
    ("ftrace", "", " ", |at, row| {
        let (time, sector) = (seconds(row), row.2 / 512);
        format!(
            "app-{} [00{}] ..... {time}: block_rq_issue: 8,0 {} {} () {sector} + {} [app]",
            400 + at,
            at % 4,
            letter(row),
            row.3,
            row.3 / 512
        )
    }),
    ("disksim", "", " ", |_, row| {
        format!("{}.5 3 {} {} {}", row.0 / 1000, row.2 / 512, row.3 / 512, u8::from(row.1))
    }),
    ("ssdsim", "", " ", |_, row| {
        format!("{} 3 {} {} {}", row.0 * 1000, row.2 / 512, row.3 / 512, u8::from(row.1))
    }),
    ("diskmon", "", "\t", |at, row| {
        let op = if row.1 { "Read" } else { "Write" };
        format!("{at}\t{}\t0.00038147\t3\t{op}\t{}\t{}", seconds(row), row.2 / 512, row.3 / 512)
    }),
    ("fio2", "fio version 2 iolog", " ", |_, row| {
        format!("/dev/sdb {} {} {}", if row.1 { "read" } else { "write" }, row.2, row.3)
    }),
    ("fio3", "fio version 3 iolog", " ", |_, row| {
        let op = if row.1 { "read" } else { "write" };
        format!("{} /dev/sdb {op} {} {}", row.0 / 1000, row.2, row.3)
    }),
    ("names", "Time (ms);Op;Offset [KiB];Size (sectors);Disk", ";", |_, row| {
        format!("{}.0;{};{};{};3", row.0 / 1000, letter(row), row.2 / 1024, row.3 / 512)
    }),
];

/// Returns a file with a change that either keeps its requests or makes the file invalid in its
/// format.
fn mutated(number: usize, head: &str, separator: &str, lines: &[String]) -> Option<String> {
    let cut = |line: &str| line.split(separator).map(str::to_owned).collect::<Vec<_>>();
    let join = |head: &str, lines: Vec<String>| {
        let head = if head.is_empty() { String::new() } else { format!("{head}\n") };
        format!("{head}{}\n", lines.join("\n"))
    };
    let each = |change: &dyn Fn(Vec<String>) -> Vec<String>, to: &str| {
        let whole = |line: &str| change(cut(line)).join(to);
        let head =
            if head.starts_with("fio") || head.is_empty() { head.to_owned() } else { whole(head) };
        join(&head, lines.iter().map(|line| whole(line)).collect())
    };
    let plain = join(head, lines.to_vec());
    let as_it_is = |fields: Vec<String>| fields;
    let swaps: Vec<(usize, usize)> = (0..6).flat_map(|i| (i + 1..6).map(move |j| (i, j))).collect();
    Some(match number {
        0 => plain,
        1 => plain.replace('\n', "\r\n"),
        2 => format!("\u{feff}{plain}"),
        3 => plain.replace('\n', "\n\n"),
        4 => join(head, [&lines[..30], &["# a comment".to_owned()], &lines[30..]].concat()),
        5 if !head.is_empty() => {
            join(head, [&lines[..30], &[head.to_owned()], &lines[30..]].concat())
        }
        6 if !head.is_empty() => join("", lines.to_vec()),
        7 => each(&|fields| fields.iter().map(|field| format!("\"{field}\"")).collect(), separator),
        8 => each(&as_it_is, &format!("{separator} ")),
        9 => each(&as_it_is, ";"),
        10 => each(&as_it_is, "\t"),
        11 => each(&as_it_is, ","),
        12 => plain.to_uppercase(),
        13 => plain.to_lowercase(),
        14 => each(&|fields| [vec!["7".to_owned()], fields].concat(), separator),
        15..=20 => each(
            &|mut fields| {
                if number - 15 < fields.len() {
                    fields.remove(number - 15);
                }
                fields
            },
            separator,
        ),
        21..=26 => each(
            &|mut fields| {
                let at = (number - 21).min(fields.len() - 1);
                fields.insert(at, "5".to_owned());
                fields
            },
            separator,
        ),
        27..=41 => each(
            &|mut fields| {
                let (i, j) = swaps[number - 27];
                if j < fields.len() {
                    fields.swap(i, j);
                }
                fields
            },
            separator,
        ),
        42 => each(&|fields| fields.into_iter().rev().collect(), separator),
        _ => return None,
    })
}

#[test]
fn what_programs_write_is_read_right_or_refused_after_any_change_of_layout() {
    let of = |request: &flashgc_workload::trace::Request| {
        (request.time_ns, request.op, request.offset, request.size)
    };
    let (mut right, mut refused, mut warned, mut wrong) = (0, 0, 0, Vec::new());
    for (format, head, separator, line) in WRITERS {
        let lines: Vec<String> = rows().iter().enumerate().map(|(at, row)| line(at, row)).collect();
        let text = mutated(0, head, separator, &lines).unwrap();
        let original = read(text.as_bytes()).unwrap_or_else(|error| panic!("{format}: {error}"));
        for (request, Row(_, is_read, offset, size)) in original.iter().zip(rows()) {
            let op = if is_read { Op::Read } else { Op::Write };
            let found = (request.op, request.offset, request.size);
            assert_eq!(found, (op, offset as i64, size), "{format}: {text}");
        }
        assert_eq!(original.len(), rows().len(), "{format}");
        for number in 1..=42 {
            let Some(text) = mutated(number, head, separator, &lines) else { continue };
            let doubtful = reader(text.as_bytes(), &ReadOptions::default())
                .is_ok_and(|reader| !reader.doubts().is_empty());
            match read(text.as_bytes()) {
                Err(_) => refused += 1,
                Ok(found) if found.iter().map(of).eq(original.iter().map(of)) => right += 1,
                Ok(_) if doubtful => warned += 1,
                Ok(_) => wrong.push(format!(
                    "{format}, change {number}: {}",
                    text.lines().take(3).collect::<Vec<_>>().join(" | ")
                )),
            }
        }
    }
    println!("{right} right, {refused} refused, {warned} with a warning, {} wrong", wrong.len());
    assert!(
        wrong.is_empty(),
        "{} wrong, {right} right, {refused} refused:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        right >= 240 && right + refused >= 600 && warned < 10,
        "{right} right, {refused} refused"
    );
}
