//! Detection of a file's format by its content.

use std::path::Path;

use flashgc_base::naming::{choice, option};

use super::error::{Fault, TraceError, quote};
use super::format::{FORMATS, Format, Sample};

/// Returns the format that fits the start of a file best. No fit, and several about equal fits, are
/// errors that name the candidates: one damaged line must not decide between two formats.
pub(crate) fn detect(path: &Path, sample: &Sample) -> Result<&'static Format, TraceError> {
    let scores = FORMATS.iter().map(|format| ((format.sniff)(sample), *format));
    let mut fits: Vec<(usize, &'static Format)> = scores.filter(|(score, _)| *score > 0).collect();
    let best = fits.iter().map(|(score, _)| *score).max().unwrap_or(0);
    fits.retain(|(score, _)| *score >= best - best / 10);
    match fits.as_slice() {
        [(_, format)] => Ok(format),
        [] => {
            let first = sample.lines.iter().find(|line| !line.trim_ascii().is_empty());
            let start = quote(first.copied().unwrap_or_default());
            let message = format!("no known trace format fits; the file starts with {start}");
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            Err(TraceError::new(path, Fault::Format, message).hint(format!(
                "name the format with {}: {}",
                option("format"),
                names.join(", ")
            )))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|(_, format)| format.name).collect();
            let message = format!("several formats fit: {}", names.join(", "));
            Err(TraceError::new(path, Fault::Format, message).hint(format!(
                "choose one, for example {}; flashgc trace formats {} describes it",
                choice("format", names[0]),
                names[0]
            )))
        }
    }
}
