//! Places in a TOML file, for messages that name the line and the column. The contents of the file
//! are read on the Python side.

use pyo3::prelude::*;
use toml_edit::{Document, TableLike};

use crate::errors;

/// Returns the place of every key in `text`: `("drive.blocks", line, column)`, both from 1.
/// Elements of a list are `gc.victim.0`, keys of a list of tables `tenant.0.name`. A `.` in a key
/// is not escaped: keys of experiment files have none. A syntax error begins with `LINE:COLUMN:`.
#[pyfunction]
pub(crate) fn toml_places(text: &str) -> PyResult<Vec<(String, usize, usize)>> {
    let document = Document::parse(text).map_err(|error| {
        let (line, column) = place(text, error.span().map_or(text.len(), |span| span.start));
        errors::config(format!("{line}:{column}: {}", error.message().replace('\n', "; ")))
    })?;
    let mut places = Vec::new();
    collect(document.as_table(), "", text, &mut places);
    Ok(places)
}

fn collect(
    table: &dyn TableLike,
    prefix: &str,
    text: &str,
    places: &mut Vec<(String, usize, usize)>,
) {
    for (name, item) in table.iter() {
        let path = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
        let key = table.key(name).and_then(toml_edit::Key::span);
        if let Some(span) = key.or_else(|| item.span()) {
            let (line, column) = place(text, span.start);
            places.push((path.clone(), line, column));
        }
        for (index, value) in item.as_array().into_iter().flatten().enumerate() {
            if let Some(span) = value.span() {
                let (line, column) = place(text, span.start);
                places.push((format!("{path}.{index}"), line, column));
            }
        }
        for (index, inner) in item.as_array_of_tables().into_iter().flatten().enumerate() {
            let path = format!("{path}.{index}");
            if let Some(span) = inner.span() {
                let (line, column) = place(text, span.start);
                places.push((path.clone(), line, column));
            }
            collect(inner, &path, text, places);
        }
        if let Some(inner) = item.as_table_like() {
            collect(inner, &path, text, places);
        }
    }
}

/// Returns the line and the column of a byte of `text`, both from 1.
fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    (line, column)
}
