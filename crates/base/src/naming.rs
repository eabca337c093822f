//! Options in the messages of the engine.
//!
//! A part of the engine knows the key of an option, and not how its user wrote it. So it puts the
//! key into the message, with [`option`], [`subject`] or [`choice`], and code that knows the user's
//! way of writing shows the message with [`said`].

use std::fmt::Display;

/// `BEGIN` and `END` enclose an option in a text, and `VALUE` stands between its key and a value.
/// Nobody types these characters.
const BEGIN: char = '\u{1}';
const END: char = '\u{2}';
const VALUE: char = '\u{3}';

/// The mark of an option that begins a message.
const SUBJECT: char = '\u{4}';

/// Returns an option with its marks, for a message; a user sees `--gc-low`, for example.
pub fn option(key: &str) -> String {
    format!("{BEGIN}{key}{END}")
}

/// Returns an option that begins a message, with its marks. A user may see the place of its value,
/// too: `a.toml:2:1: gc_low`.
pub fn subject(key: &str) -> String {
    format!("{BEGIN}{SUBJECT}{key}{END}")
}

/// Returns an option and a value with their marks, for a message; a user sees `--gc-low 3`, for
/// example.
pub fn choice(key: &str, value: impl Display) -> String {
    format!("{BEGIN}{key}{VALUE}{value}{END}")
}

/// The way in which a user writes options.
pub trait Names {
    /// Returns the name of the option with this key.
    fn option(&self, key: &str) -> String;

    /// Returns the name of the option that a message begins with.
    fn subject(&self, key: &str) -> String;

    /// Returns the option with a value.
    fn choice(&self, key: &str, value: &str) -> String;
}

/// The names of options as keywords of a function: `gc_low=3`.
pub struct Keywords;

impl Names for Keywords {
    fn option(&self, key: &str) -> String {
        key.to_string()
    }

    fn subject(&self, key: &str) -> String {
        key.to_string()
    }

    fn choice(&self, key: &str, value: &str) -> String {
        format!("{key}={}", quoted(value))
    }
}

/// Returns a value as it is written in Python and in experiment files: a whole number, or a text in
/// quotes.
pub fn quoted(value: &str) -> String {
    let is_number = !value.is_empty() && value.bytes().all(|digit| digit.is_ascii_digit());
    if is_number { value.to_string() } else { format!("\"{value}\"") }
}

/// Returns `text`, in which `names` replaces each marked option by its name.
pub fn said(text: &str, names: &dyn Names) -> String {
    let mut parts = text.split(BEGIN);
    let mut sentence = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let Some((marked, rest)) = part.split_once(END) else {
            sentence += part;
            continue;
        };
        sentence += &match (marked.strip_prefix(SUBJECT), marked.split_once(VALUE)) {
            (Some(key), _) => names.subject(key),
            (None, Some((key, value))) => names.choice(key, value),
            (None, None) => names.option(marked),
        };
        sentence += rest;
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_named_as_their_reader_writes_them() {
        let text = format!(
            "{} dac needs {}, found {}",
            subject("placement"),
            choice("frontier", "pool"),
            option("frontier")
        );
        assert_eq!(said(&text, &Keywords), "placement dac needs frontier=\"pool\", found frontier");
        assert_eq!(said("no option\u{2} and \u{1}no end", &Keywords), "no option\u{2} and no end");
    }
}
