//! The places of values, so that a message says which option, line or keyword is wrong.

use std::collections::HashMap;

use flashgc_base::spec::SpecError;

use crate::options::{OptionInfo, find};

/// The place of each value by its path: `--victim`, `a.toml:2:1`, or nothing for a keyword.
#[derive(Clone, Debug, Default)]
pub struct Places(HashMap<String, String>);

impl Places {
    /// Returns the places in `known`, by the paths of the values.
    pub fn new(known: HashMap<String, String>) -> Self {
        Self(known)
    }

    /// Returns the place of the value at `path`; the key where none is known.
    pub fn at<'a>(&'a self, path: &'a str) -> &'a str {
        self.or(path, key_of(path))
    }

    /// Returns the place of the value at `path`, and `other` where none is known.
    pub(super) fn or<'a>(&'a self, path: &str, other: &'a str) -> &'a str {
        self.0.get(path).map_or(other, String::as_str)
    }

    /// Returns the place of one of several values.
    pub(super) fn element<'a>(&'a self, path: &'a str, index: usize) -> &'a str {
        self.0.get(&format!("{path}.{index}")).map_or(self.at(path), String::as_str)
    }

    /// Returns the subject of a message: the option's name, after the place in a file.
    pub fn subject(&self, path: &str) -> String {
        let (key, place) = (key_of(path), self.at(path));
        match place == key || place.starts_with("--") {
            true => place.to_string(),
            false => format!("{place}: {key}"),
        }
    }

    /// Returns a value as a person who wrote the other values writes it.
    pub fn written(&self, path: &str, value: &str) -> String {
        let (section, key) = path.split_once('.').unwrap_or(("", path));
        let known = self.0.get(path).or_else(|| self.0.values().next());
        let place = known.map_or(key, String::as_str);
        match find(key) {
            Some(option) if place.starts_with("--") => {
                let quote = if value.contains(' ') { "'" } else { "" };
                format!("--{} {quote}{value}{quote}", option.flag_name())
            }
            _ if place.contains(':') => format!("{key} = \"{value}\" in [{section}]"),
            _ => format!("{key}=\"{value}\""),
        }
    }

    /// Returns `true` if the values were typed as options of the command.
    pub fn are_flags(&self) -> bool {
        self.0.values().any(|place| place.starts_with("--"))
    }

    /// Returns the name of an option as the person who wrote the values writes it.
    pub(super) fn name(&self, option: &OptionInfo) -> String {
        if self.are_flags() { format!("--{}", option.flag_name()) } else { option.key.to_string() }
    }

    /// Returns `text` with the names of other options, `{key}`, as the person writes them.
    pub(super) fn render(&self, text: &str) -> String {
        let mut parts = text.split('{');
        let mut made = parts.next().unwrap_or_default().to_string();
        for part in parts {
            let (key, rest) = part.split_once('}').unwrap_or(("", part));
            made += &find(key).map_or_else(String::new, |option| self.name(option));
            made += rest;
        }
        made
    }
}

fn key_of(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, key)| key)
}

/// Returns a fault at `place`.
pub(super) fn fault(
    place: impl std::fmt::Display,
    message: impl std::fmt::Display,
    hint: impl Into<String>,
) -> SpecError {
    SpecError::new(format!("{place}: {message}"), hint)
}

/// Returns the error on a value of the option called `key` with its `place`, which replaces the name at
/// the begin of the message.
pub(super) fn placed(place: &str, key: &str, error: SpecError) -> SpecError {
    let mut text = error.message.as_str();
    for named in [key, &key.replace('_', " ")] {
        let begins = text.get(..named.len()).is_some_and(|it| it.eq_ignore_ascii_case(named));
        if let Some(rest) = text.get(named.len()..).filter(|_| begins) {
            text = rest.strip_prefix(": ").unwrap_or(text);
        }
    }
    fault(place, text, error.hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(path: &str, place: &str) -> Places {
        Places::new(HashMap::from([(path.to_string(), place.to_string())]))
    }

    #[test]
    fn subjects_and_values_are_those_of_the_place() {
        let (flag, file) = (places("gc.victim", "--victim"), places("gc.victim", "a.toml:2:1"));
        let keyword = Places::default();
        assert_eq!(flag.subject("gc.victim"), "--victim");
        assert_eq!(file.subject("gc.victim"), "a.toml:2:1: victim");
        assert_eq!(keyword.subject("gc.victim"), "victim");
        assert_eq!(flag.written("gc.victim", "fifo"), "--victim fifo");
        assert_eq!(file.written("gc.victim", "fifo"), "victim = \"fifo\" in [gc]");
        assert_eq!(keyword.written("gc.victim", "fifo"), "victim=\"fifo\"");
        assert_eq!(flag.render("above {gc_low}."), "above --gc-low.");
        assert_eq!(keyword.render("above {gc_low}."), "above gc_low.");
    }

    #[test]
    fn a_place_replaces_the_name_in_a_message() {
        let told =
            |message| placed("a.toml:1:1", "rate_scale", SpecError::new(message, "")).message;
        assert_eq!(told("rate scale: found 0"), "a.toml:1:1: found 0");
        assert_eq!(told("Rate_scale: found 0"), "a.toml:1:1: found 0");
        assert_eq!(told("the rate scale: found 0"), "a.toml:1:1: the rate scale: found 0");
    }
}
