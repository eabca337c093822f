//! The places of values, so that a message can say which option, line or keyword is wrong.

use std::collections::HashMap;

use flashgc_base::naming::{self, Names, quoted};
use flashgc_base::spec::SpecError;

use crate::options::{OptionInfo, find};

/// The place of each value, by the value's path. A place is a flag (`--victim`) or a position in a
/// file (`a.toml:2:1`). A value given as a keyword has no entry.
#[derive(Clone, Debug, Default)]
pub struct Places(HashMap<String, String>);

/// The forms in which users write options.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    Flag,
    Line,
    Keyword,
}

impl Style {
    /// Returns the form in which the user wrote the value at `place`.
    fn of(place: &str) -> Self {
        match place {
            flag if flag.starts_with("--") => Self::Flag,
            line if line.contains(':') => Self::Line,
            _ => Self::Keyword,
        }
    }
}

impl Places {
    /// Makes the places from `known`, a map from the paths of values to their places.
    pub fn new(known: HashMap<String, String>) -> Self {
        Self(known)
    }

    /// Returns the place of the value at `path`, or the option's key if the place is unknown.
    pub fn at<'a>(&'a self, path: &'a str) -> &'a str {
        self.or(path, key_of(path))
    }

    /// Returns the place of the value at `path`, or `other` if the place is unknown.
    pub(super) fn or<'a>(&'a self, path: &str, other: &'a str) -> &'a str {
        self.0.get(path).map_or(other, String::as_str)
    }

    /// Returns the place of one value of an option with several values.
    pub(super) fn element<'a>(&'a self, path: &'a str, index: usize) -> &'a str {
        self.0.get(&format!("{path}.{index}")).map_or(self.at(path), String::as_str)
    }

    /// Returns the form in which the user writes the value at `path`. If the value has no place,
    /// its form is that of the other values: that of the command line if any value is from there.
    fn style(&self, path: &str) -> Style {
        if let Some(place) = self.0.get(path) {
            return Style::of(place);
        }
        // A key that is no option of experiments cannot be in a file.
        let files = find(key_of(path)).map(|_| Style::Line);
        let others: Vec<_> = self.0.values().map(|place| Style::of(place)).collect();
        let styles = [Some(Style::Flag), files].into_iter().flatten();
        styles.into_iter().find(|style| others.contains(style)).unwrap_or(Style::Keyword)
    }

    /// Returns the subject of a message: the option's name and, before it, its place in a file.
    fn subject_at(&self, path: &str) -> String {
        match self.0.get(path) {
            Some(place) if Style::of(place) == Style::Line => format!("{place}: {}", key_of(path)),
            Some(place) => place.clone(),
            None => self.name(path),
        }
    }

    /// Returns the name of an option, in the form in which the user writes options.
    fn name(&self, path: &str) -> String {
        let key = key_of(path);
        match (find(key), self.style(path)) {
            (Some(option), Style::Flag) => format!("--{}", option.flag_name()),
            // This option belongs to a command, not to experiments.
            (None, Style::Flag) => format!("--{}", key.replace('_', "-")),
            // In functions, the argument for the workload has the name of the flag.
            (Some(option), Style::Keyword) if key == "source" => option.flag_name(),
            _ => key.to_string(),
        }
    }

    /// Returns an option with `value`, in the form in which the user writes options.
    fn written(&self, path: &str, value: &str) -> String {
        let (section, key) = path.split_once('.').unwrap_or(("", path));
        match self.style(path) {
            Style::Flag => {
                let quote = if value.contains(' ') { "'" } else { "" };
                format!("{} {quote}{value}{quote}", self.name(path))
            }
            Style::Line => format!("{key} = {} in [{section}]", quoted(value)),
            Style::Keyword => format!("{key}={}", quoted(value)),
        }
    }
}

impl Names for Places {
    fn option(&self, key: &str) -> String {
        self.name(&path_of(key))
    }

    fn subject(&self, key: &str) -> String {
        self.subject_at(&path_of(key))
    }

    fn choice(&self, key: &str, value: &str) -> String {
        self.written(&path_of(key), value)
    }
}

/// Replaces every `{key}` in `text` by a mark for the option with that key.
pub(super) fn marked(text: &str) -> String {
    let mut parts = text.split('{');
    let mut named = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (key, rest) = part.split_once('}').unwrap_or(("", part));
        named += &find(key).map_or_else(String::new, |option| naming::option(option.key));
        named += rest;
    }
    named
}

/// Returns the path of the option with this key.
fn path_of(key: &str) -> String {
    find(key).map_or_else(|| key.to_string(), OptionInfo::path)
}

fn key_of(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, key)| key)
}

/// Makes an error that begins with `place`.
pub(super) fn fault(
    place: impl std::fmt::Display,
    message: impl std::fmt::Display,
    hint: impl Into<String>,
) -> SpecError {
    SpecError::new(format!("{place}: {message}"), hint)
}

/// Returns `error` on a value of the option called `key`, with `place` instead of the option's name
/// at the beginning of the message.
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
        assert_eq!(flag.subject("victim"), "--victim");
        assert_eq!(file.subject("victim"), "a.toml:2:1: victim");
        assert_eq!(keyword.subject("victim"), "victim");
        assert_eq!(flag.choice("victim", "fifo"), "--victim fifo");
        assert_eq!(file.choice("victim", "fifo"), "victim = \"fifo\" in [gc]");
        assert_eq!(keyword.choice("victim", "fifo"), "victim=\"fifo\"");
        assert_eq!(flag.choice("blocks", "64"), "--blocks 64");
        assert_eq!(file.choice("blocks", "64"), "blocks = 64 in [drive]");
        assert_eq!(keyword.choice("blocks", "64"), "blocks=64");
        let text = |names: &Places| naming::said(&marked("above {gc_low}."), names);
        assert_eq!([text(&flag), text(&keyword)], ["above --gc-low.", "above gc_low."]);
        let of_command = |names: &Places| names.choice("hold_back", "20%");
        assert_eq!(of_command(&flag), "--hold-back 20%");
        assert_eq!([of_command(&file), of_command(&keyword)], ["hold_back=\"20%\""; 2]);
    }

    #[test]
    fn an_option_beside_a_file_is_typed() {
        let both = HashMap::from(
            [("gc.victim", "a.toml:2:1"), ("run.runs", "--runs")]
                .map(|(path, place)| (path.to_string(), place.to_string())),
        );
        let both = Places::new(both);
        assert_eq!(both.choice("victim", "fifo"), "victim = \"fifo\" in [gc]");
        assert_eq!(both.choice("frontier", "pool"), "--frontier pool");
        assert_eq!(both.subject("frontier"), "--frontier");
    }

    #[test]
    fn a_place_replaces_the_name_in_a_message() {
        let text =
            |message| placed("a.toml:1:1", "rate_scale", SpecError::new(message, "")).message;
        assert_eq!(text("rate scale: found 0"), "a.toml:1:1: found 0");
        assert_eq!(text("Rate_scale: found 0"), "a.toml:1:1: found 0");
        assert_eq!(text("the rate scale: found 0"), "a.toml:1:1: the rate scale: found 0");
    }
}
