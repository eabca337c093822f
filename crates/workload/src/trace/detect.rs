//! Finds the format of a file from its content.

use std::path::Path;
use std::sync::Arc;

use flashgc_base::naming::{choice, option};
use flashgc_base::spec::count;

use super::error::{Fault, TraceError, quote};
use super::evidence;
use super::format::{FORMATS, Format, ReadOptions, Sample, columns};
use super::input::Input;
use super::layout::{self, Layout, Shipped};
use super::lines::{OnBadLine, RENAME};
use super::names::{bare, meaning};

/// A length in bytes. Binary records of this length practically always have a byte above 127.
const SEVEN_BITS: usize = 2048;

/// Returns the format that fits the start of a file best. It is an error if no format fits, or if
/// several fit about equally well: one damaged line must not decide between two formats. The error
/// names the candidates.
pub(crate) fn detect(path: &Path, sample: &Sample) -> Result<&'static Format, TraceError> {
    if let Some((what, advice)) = foreign(sample.bytes) {
        return Err(TraceError::new(
            path,
            Fault::Format,
            format!("found {what}, expected a trace"),
        )
        .hint(advice));
    }
    let scores = FORMATS.iter().map(|format| ((format.sniff)(sample), *format));
    let mut fits: Vec<(usize, &'static Format)> = scores.filter(|(score, _)| *score > 0).collect();
    let best = fits.iter().map(|(score, _)| *score).max().unwrap_or(0);
    fits.retain(|(score, _)| *score >= best - best / 10);
    match fits.as_slice() {
        [(_, format)] => {
            let doubts = doubts(path, sample, format, &ReadOptions::default());
            // A file that begins with the mark of this format has no other format. Figures that are
            // evidence against the format are then only a warning.
            if doubts.is_empty() || best == usize::MAX {
                return Ok(format);
            }
            let name = format.name;
            let message =
                format!("the columns are shaped as in {name}, but {}", doubts.join(", and "));
            let other = advised(path, sample).map_or_else(restate, |layout| {
                format!("its columns may be those of {}", choice("layout", layout))
            });
            Err(TraceError::new(path, Fault::Format, message).hint(format!(
                "if it is {name} all the same, {}; else {other}",
                choice("format", name)
            )))
        }
        [] => {
            let first = sample.lines.iter().find(|line| !line.trim_ascii().is_empty());
            let start = quote(first.copied().unwrap_or_default());
            let message = format!("no known trace format fits; the file starts with {start}");
            if let Some(layout) = advised(path, sample) {
                let hint = format!("its columns are those of {}", choice("layout", layout));
                return Err(TraceError::new(path, Fault::Format, message).hint(hint));
            }
            if starts_with_names(sample) {
                let message = format!(
                    "no known trace format has the columns that the first line names: {start}"
                );
                return Err(TraceError::new(path, Fault::Format, message).hint(restate()));
            }
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            let formats =
                format!("name the format with {}: {}", option("format"), names.join(", "));
            let is_text = !sample
                .bytes
                .iter()
                .any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace());
            let hint = match is_text {
                true => format!("{}; or {formats}", stating()),
                false => formats,
            };
            Err(TraceError::new(path, Fault::Format, message).hint(hint))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|(_, format)| format.name).collect();
            let message = format!("several formats fit: {}", names.join(", "));
            Err(TraceError::new(path, Fault::Format, message).hint(format!(
                "choose {}; flashgc trace formats {} describes the first",
                names.iter().map(|name| choice("format", name)).collect::<Vec<_>>().join(" or "),
                names[0]
            )))
        }
    }
}

/// Returns the advice for a file whose columns fit no format.
fn restate() -> String {
    format!("{}, or {RENAME}", stating())
}

fn stating() -> String {
    format!("say which column is which, for example {}", choice("columns", Layout::EXAMPLE))
}

/// Returns the first built-in layout in which most lines are requests and no figures are evidence
/// against it.
fn advised(path: &Path, sample: &Sample) -> Option<&'static str> {
    let fits = |shipped: &&Shipped| {
        let layout = Arc::new(shipped.layout());
        let options = ReadOptions { columns: Some(layout), ..ReadOptions::default() };
        columns::fits(&shipped.layout(), sample)
            && doubts(path, sample, &columns::FORMAT, &options).is_empty()
    };
    layout::SHIPPED.iter().find(fits).map(|shipped| shipped.name)
}

/// Returns a sentence for each format that the file could have, and for each built-in layout.
pub(crate) fn explain(path: &Path, sample: &Sample, options: &ReadOptions) -> Vec<String> {
    let parts = match (sample.is_all, sample.later.is_empty()) {
        (true, _) => "all of the file",
        (false, true) => "the start of the file; the rest is looked at while it is read",
        (false, false) => "the start, the middle and the end of the file",
    };
    let mut sentences = vec![format!("looked at {parts}")];
    if let Some((what, _)) = foreign(sample.bytes) {
        sentences.push(format!("it is {what}"));
        return sentences;
    }
    let against = |format, options: &ReadOptions| {
        let doubts = doubts(path, sample, format, options);
        if doubts.is_empty() {
            "nothing speaks against it".to_owned()
        } else {
            doubts.join(", and ")
        }
    };
    let filled = sample.lines.iter().filter(|line| !line.trim_ascii().is_empty());
    let lines = count(filled.count() as u64, "line");
    let mut unfit = 0;
    for format in FORMATS {
        let fit = match (format.sniff)(sample) {
            0 => {
                unfit += 1;
                continue;
            }
            usize::MAX => "the file begins as its files do".to_owned(),
            score => format!("{score} of {lines} are its requests"),
        };
        sentences.push(format!(
            "{}: {fit}; {}",
            format.name,
            against(format, &ReadOptions::default())
        ));
    }
    for shipped in &layout::SHIPPED {
        let options =
            ReadOptions { columns: Some(Arc::new(shipped.layout())), ..ReadOptions::default() };
        if columns::fits(&shipped.layout(), sample) {
            let name = choice("layout", shipped.name);
            sentences
                .push(format!("{name}: most lines fit; {}", against(&columns::FORMAT, &options)));
        }
    }
    if options.columns.is_some() {
        sentences.push(format!("the columns as stated: {}", against(&columns::FORMAT, options)));
    }
    sentences.push(format!("{} do not fit", count(unfit, "other format")));
    sentences
}

/// Returns the kind of a file that is not a trace, and what the user can do about it.
fn foreign(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let start = text[..text.len().min(16)].to_ascii_lowercase();
    if text.starts_with(b"version https://git-lfs.github.com/spec/") {
        return Some((
            "a pointer of Git LFS",
            "fetch the file that it stands for with git lfs pull",
        ));
    }
    if start.starts_with(b"<!doctype html") || start.starts_with(b"<html") {
        let advice = "download the file that the page offers, as a browser does";
        return Some(("a web page", advice));
    }
    if start.starts_with(b"<?xml") {
        return Some(("an XML file", "export it as a table with commas"));
    }
    // The low bytes of times and addresses are above 127 as often as below.
    if bytes.len() >= SEVEN_BITS && bytes.contains(&0) && bytes.is_ascii() {
        return Some((
            "records of which no byte is above 127, as behind a transfer of text in 7 bits",
            "fetch the file again, as binary",
        ));
    }
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => Some(("a program", "record it with flashgc trace record")),
        [b'P', b'E', b'R', b'F', b'I', b'L', b'E', b'2', ..] => {
            Some(("a recording of perf", "print it with perf script, and read the text"))
        }
        [0x17, 0x08, 0x44, b't', b'r', b'a', b'c', b'i', b'n', b'g', ..] => {
            Some(("a trace.dat of trace-cmd", "print it with trace-cmd report, and read the text"))
        }
        _ => None,
    }
}

/// Returns `true` if the first line has two column names or more, and no numbers.
fn starts_with_names(sample: &Sample) -> bool {
    let first = sample.lines.first().copied().unwrap_or_default();
    let tables = b",;\t".as_slice();
    let is_table = first.iter().any(|byte| tables.contains(byte));
    let separators = if is_table { tables } else { b" " };
    let fields: Vec<&[u8]> = first.split(|byte| separators.contains(byte)).map(bare).collect();
    let numbers = fields.iter().any(|field| field.first().is_none_or(u8::is_ascii_digit));
    !numbers && fields.iter().filter(|field| meaning(field).is_some()).count() >= 2
}

/// Returns the figures of the sample that are evidence against a format.
pub(crate) fn doubts(
    path: &Path,
    sample: &Sample,
    format: &'static Format,
    options: &ReadOptions,
) -> Vec<String> {
    let end = memchr::memrchr(b'\n', sample.bytes).map_or(sample.bytes.len(), |at| at + 1);
    let mut all = sample.bytes[..end].to_vec();
    all.extend_from_slice(&sample.later);
    let (columns, on_bad_line) = (options.columns.clone(), OnBadLine::Skip);
    let options = ReadOptions { columns, on_bad_line, ..ReadOptions::default() };
    let requests = |text: Vec<u8>| {
        let stream = Box::new(std::io::Cursor::new(text));
        let opened = Input::unwrap(path, stream).and_then(|input| (format.open)(input, &options));
        let mut requests = Vec::new();
        if let Ok(mut decoder) = opened {
            while decoder.next_block(&mut requests).unwrap_or(false) {}
        }
        requests
    };
    let figures = evidence::against(format, &requests(all));
    if !figures.is_empty() || sample.later.is_empty() {
        return figures;
    }
    let later = evidence::against_units(format, &requests(sample.later.clone()));
    later.iter().map(|figure| format!("further on {figure}")).collect()
}
