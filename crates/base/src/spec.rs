//! Specs: how a person names a policy, a frontier or a workload and sets its parameters, as in
//! `d-choices:d=10,c=1`. One parser and one set of messages for all of them.

use std::fmt;

use crate::naming::{self, Keywords, Names};

/// A wrong name or parameter: the fault in one line, and a hint. Both may contain options that
/// [`naming`] marks. The error, written as text, shows these options as keywords:
/// `gc_low=3`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.said(&Keywords))]
pub struct SpecError {
    /// The fault: the text found and the text expected.
    pub message: String,
    /// A hint, what to try instead; empty if there is none.
    pub hint: String,
}

impl SpecError {
    /// An error with a message and a hint (empty for none).
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// The error in one line, with the names that `names` has for options.
    pub fn said(&self, names: &dyn Names) -> String {
        naming::said(&self.marked(), names)
    }

    /// The error in one line, with its options marked.
    pub fn marked(&self) -> String {
        let mark = if self.hint.is_empty() { "" } else { "; hint: " };
        format!("{}{mark}{}", self.message, self.hint)
    }

    /// The error with the names that `names` has for options.
    pub fn named(self, names: &dyn Names) -> Self {
        Self::new(naming::said(&self.message, names), naming::said(&self.hint, names))
    }
}

/// The hint for a word that is not among `known`: the nearest known word if it is near, else all
/// known words. Capitals do not count.
pub fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let word = word.to_lowercase();
    let distance = |candidate: &str| strsim::damerau_levenshtein(&word, &candidate.to_lowercase());
    let nearest = known
        .iter()
        .map(|&candidate| (distance(candidate), candidate))
        .min()
        .filter(|&(distance, candidate)| distance <= 1 + candidate.len() / 4);
    match nearest {
        Some((_, candidate)) => format!("did you mean '{candidate}'?"),
        None if known.is_empty() => String::new(),
        None => format!("known: {}", known.join(", ")),
    }
}

/// A number of things: `1 page`, `2 pages`.
pub fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The `//!` header of a source file: the one place where a policy or generator is documented.
pub fn header(source: &str) -> String {
    source
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The summary: the first line of the `//!` header of a source file.
pub fn summary(source: &str) -> &str {
    source.lines().next().and_then(|line| line.strip_prefix("//! ")).unwrap_or("")
}

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number in `min..=max`.
    Integer {
        /// Smallest value allowed.
        min: u64,
        /// Largest value allowed.
        max: u64,
    },
    /// A real number in `min..=max`; `7%` is read as 0.07.
    Real {
        /// Smallest value allowed.
        min: f64,
        /// Largest value allowed.
        max: f64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text (a path, for example).
    Text,
}

/// An entry of a list whose source file documents it in its `//!` header.
pub trait Documented {
    /// The text of the file.
    fn source(&self) -> &'static str;

    /// The documentation in Markdown: summary, description, rule, cost and source.
    fn doc(&self) -> String {
        header(self.source())
    }

    /// The first line of the documentation.
    fn summary(&self) -> String {
        self.doc().lines().next().unwrap_or_default().to_string()
    }
}

/// Returns an error from the function if the condition holds. The arguments after the condition are
/// the hint, then the message and its values, as for [`format!`].
#[macro_export]
macro_rules! refuse_if {
    ($condition:expr, $hint:expr, $($message:tt)+) => {
        if $condition {
            return Err($crate::spec::SpecError::new(format!($($message)+), $hint).into());
        }
    };
}

/// One parameter of a policy, frontier or workload.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name of the parameter, as people type it.
    pub name: &'static str,
    /// The values that the parameter takes.
    pub kind: Kind,
    /// The value if the parameter is not given; `None` if it must be given.
    pub default: Option<&'static str>,
    /// The meaning of the parameter and its unit, in a few words.
    pub help: &'static str,
}

impl Param {
    /// Makes a parameter that takes any text; its owner reads the text.
    pub const fn text(name: &'static str, default: Option<&'static str>) -> Self {
        Self { name, kind: Kind::Text, default, help: "" }
    }

    /// Makes a parameter that takes one of these words.
    pub const fn word(
        name: &'static str,
        words: &'static [&'static str],
        default: Option<&'static str>,
    ) -> Self {
        Self { kind: Kind::Word(words), ..Self::text(name, default) }
    }

    /// Makes a parameter that takes a share, from 0 to 1.
    pub const fn share(name: &'static str, default: Option<&'static str>) -> Self {
        Self::real(name, (0.0, 1.0), default)
    }

    /// Makes a parameter that takes a number of this range.
    pub const fn real(
        name: &'static str,
        (min, max): (f64, f64),
        default: Option<&'static str>,
    ) -> Self {
        Self { kind: Kind::Real { min, max }, ..Self::text(name, default) }
    }

    /// Makes a parameter that takes a whole number of this range.
    pub const fn integer(
        name: &'static str,
        (min, max): (u64, u64),
        default: Option<&'static str>,
    ) -> Self {
        Self { kind: Kind::Integer { min, max }, ..Self::text(name, default) }
    }

    /// Sets the help text: the meaning of the parameter and its unit, in a few words. Every
    /// parameter needs it.
    pub const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// A value that the parameter takes: the default, else one of its range.
    fn example(&self) -> String {
        match (self.default, self.kind) {
            (Some(default), _) => default.to_string(),
            (None, Kind::Integer { min, .. }) => min.to_string(),
            (None, Kind::Real { min, max }) if min.is_finite() && max.is_finite() => {
                ((min + max) / 2.0).to_string()
            }
            (None, Kind::Real { min, .. }) if min.is_finite() => (min + 1.0).to_string(),
            (None, Kind::Real { .. }) => "0.5".to_string(),
            (None, Kind::Word(words)) => words.first().copied().unwrap_or_default().to_string(),
            (None, Kind::Text) => "TEXT".to_string(),
        }
    }
}

/// A name and its parameters as typed: `name` or `name:key=value,key=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The part before the colon.
    pub name: String,
    /// The parameters, in the order typed.
    pub params: Vec<(String, String)>,
}

impl Spec {
    /// Returns the entry of `entries` that has the name of this spec. `kind` says in messages what
    /// the entries are.
    pub fn entry<'a, T>(
        &self,
        kind: &str,
        entries: &'a [T],
        name: impl Fn(&T) -> &'static str,
    ) -> Result<&'a T, SpecError> {
        entries.iter().find(|entry| name(entry) == self.name).ok_or_else(|| {
            let known = entries.iter().map(name);
            SpecError::new(format!("unknown {kind} '{}'", self.name), suggest(&self.name, known))
        })
    }

    /// Reads `text`, which must be `name:key=value,...`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name.trim(), rest),
            None => (text.trim(), ""),
        };
        if name.is_empty() {
            return Err(SpecError::new(
                format!("'{text}' has no name before the parameters"),
                "write NAME or NAME:key=value,key=value",
            ));
        }
        let mut params: Vec<(String, String)> = Vec::new();
        for part in rest.split(',').filter(|part| !part.trim().is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(SpecError::new(
                    format!("'{}' in '{text}' is not key=value", part.trim()),
                    format!("write {name}:{}=VALUE", part.trim()),
                ));
            };
            let (key, value) = (key.trim().to_string(), value.trim().to_string());
            if params.iter().any(|(earlier, _)| *earlier == key) {
                return Err(SpecError::new(format!("'{key}' is given twice in '{text}'"), ""));
            }
            params.push((key, value));
        }
        Ok(Self { name: name.to_string(), params })
    }
}

/// The parameters of one spec, checked against its owner's declaration, defaults filled in.
#[derive(Clone, Debug)]
pub struct Params {
    owner: String,
    values: Vec<(&'static str, Value)>,
}

#[derive(Clone, Debug)]
enum Value {
    Integer(u64),
    Real(f64),
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value}"),
            Value::Text(value) => write!(f, "{value}"),
        }
    }
}

impl Params {
    /// Checks `spec` against `declared` and fills in defaults.
    pub fn resolve(spec: &Spec, declared: &[Param]) -> Result<Self, SpecError> {
        debug_assert!(
            declared.iter().all(|param| !param.help.is_empty()),
            "{} lacks help",
            spec.name
        );
        for (key, _) in &spec.params {
            if !declared.iter().any(|param| param.name == key) {
                let hint = if declared.is_empty() {
                    format!("{} takes no parameters", spec.name)
                } else {
                    suggest(key, declared.iter().map(|param| param.name))
                };
                return Err(SpecError::new(
                    format!("{} has no parameter '{key}'", spec.name),
                    hint,
                ));
            }
        }
        let mut values = Vec::with_capacity(declared.len());
        for param in declared {
            let typed = spec.params.iter().find(|(key, _)| key == param.name);
            let text = match (typed, param.default) {
                (Some((_, value)), _) => value.as_str(),
                (None, Some(default)) => default,
                (None, None) => {
                    return Err(SpecError::new(
                        format!("{} needs the parameter '{}'", spec.name, param.name),
                        format!("write {}:{}=VALUE ({})", spec.name, param.name, param.help),
                    ));
                }
            };
            values.push((param.name, parse_value(&spec.name, param, text)?));
        }
        Ok(Self { owner: spec.name.clone(), values })
    }

    /// The parameters of an owner that takes none.
    pub fn none(owner: &str) -> Self {
        Self { owner: owner.to_string(), values: Vec::new() }
    }

    /// The name of the owner of these parameters: a policy or a mapping, for example.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns the parameters among `names` whose value differs from the default that `declared`
    /// gives them, each as `name=value`.
    pub fn changed(&self, declared: &[Param], names: &[&str]) -> Vec<String> {
        let usual = |param: &Param| self.default_of(param);
        declared
            .iter()
            .filter(|param| names.contains(&param.name))
            .map(|param| (param, self.value(param.name).to_string()))
            .filter(|(param, value)| usual(param).is_some_and(|usual| usual != *value))
            .map(|(param, value)| format!("{}={value}", param.name))
            .collect()
    }

    /// Removes each parameter that is in `names` and has its default in `declared`. The text of the
    /// spec then lacks the parameter, and its value can no longer be asked for.
    pub fn without_defaults(mut self, declared: &[Param], names: &[&str]) -> Self {
        let changed = self.changed(declared, names);
        self.values.retain(|(name, value)| {
            !names.contains(name) || changed.contains(&format!("{name}={value}"))
        });
        self
    }

    /// The default of `param`, written as in the text of a spec; `None` if it has no default.
    fn default_of(&self, param: &Param) -> Option<String> {
        let value = parse_value(&self.owner, param, param.default?).ok()?;
        Some(value.to_string())
    }

    /// The whole number called `name`. Panics if `name` was not declared as one: a bug of ours.
    pub fn integer(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Integer(value) => *value,
            other => panic!("{}: '{name}' is not an integer but {other:?}", self.owner),
        }
    }

    /// The real number called `name`. Panics if `name` was not declared as one: a bug of ours.
    pub fn real(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Real(value) => *value,
            other => panic!("{}: '{name}' is not a real number but {other:?}", self.owner),
        }
    }

    /// The text or word called `name`. Panics if `name` was not declared as one: a bug of ours.
    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(value) => value,
            other => panic!("{}: '{name}' is not a text but {other:?}", self.owner),
        }
    }

    fn value(&self, name: &str) -> &Value {
        match self.values.iter().find(|(key, _)| *key == name) {
            Some((_, value)) => value,
            None => panic!("{} declares no parameter '{name}'", self.owner),
        }
    }
}

/// Writes the spec with every parameter, as a result records it.
impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.owner)?;
        for (index, (name, value)) in self.values.iter().enumerate() {
            write!(f, "{}{name}={value}", if index == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

fn parse_value(owner: &str, param: &Param, text: &str) -> Result<Value, SpecError> {
    let name = param.name;
    let wrong = |expected: String| {
        let hint = format!("{}, for example {name}={}", param.help, param.example());
        SpecError::new(format!("{owner}: {name}={text} is not {expected}"), hint)
    };
    match param.kind {
        Kind::Integer { min, max } => {
            let expected = || {
                if max == u64::MAX {
                    format!("a whole number of at least {min}")
                } else {
                    format!("a whole number from {min} to {max}")
                }
            };
            let value: u64 = text.replace('_', "").parse().map_err(|_| wrong(expected()))?;
            if value < min || value > max {
                return Err(wrong(expected()));
            }
            Ok(Value::Integer(value))
        }
        Kind::Real { min, max } => {
            let expected = || match (min.is_finite(), max.is_finite()) {
                (true, true) => format!("a number from {min} to {max}"),
                (true, false) => format!("a number of at least {min}"),
                _ => "a number".to_string(),
            };
            let (digits, scale) = match text.strip_suffix('%') {
                Some(digits) => (digits.trim_end(), 0.01),
                None => (text, 1.0),
            };
            let value: f64 = digits.parse().map_err(|_| wrong(expected()))?;
            let value = value * scale;
            if !value.is_finite() || value < min || value > max {
                return Err(wrong(expected()));
            }
            Ok(Value::Real(value))
        }
        Kind::Word(words) => {
            if words.contains(&text) {
                Ok(Value::Text(text.to_string()))
            } else {
                Err(SpecError::new(
                    format!("{owner}: {name}={text} is not one of {}", words.join(", ")),
                    suggest(text, words.iter().copied()),
                ))
            }
        }
        Kind::Text => Ok(Value::Text(text.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: Param = Param {
        name: "d",
        kind: Kind::Integer { min: 1, max: 1000 },
        default: Some("10"),
        help: "blocks drawn",
    };
    const F: Param = Param {
        name: "f",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: None,
        help: "hot share of the pages",
    };

    fn resolve(text: &str, declared: &[Param]) -> Result<Params, String> {
        let spec = Spec::parse(text).map_err(|error| error.to_string())?;
        Params::resolve(&spec, declared).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_filled_in_and_written_out() {
        let params = resolve("d-choices", &[D]).unwrap();
        assert_eq!((params.integer("d"), params.to_string().as_str()), (10, "d-choices:d=10"));
        assert_eq!(resolve("x:f=7%", &[F]).unwrap().real("f"), 0.07);
    }

    #[test]
    fn a_text_leaves_out_what_it_is_told_to() {
        let declared = [D, Param { default: Some("0.5"), ..F }];
        let text = |typed, names: &[&str]| {
            resolve(typed, &declared).unwrap().without_defaults(&declared, names).to_string()
        };
        assert_eq!(text("x", &["d", "f"]), "x");
        assert_eq!(text("x:d=010,f=50%", &["d"]), "x:f=0.5");
        assert_eq!(text("x:d=11,f=0.5", &["d", "f"]), "x:d=11");
    }

    #[test]
    fn faults_name_the_place_and_what_to_try() {
        let error = |text: &str, declared: &[Param]| resolve(text, declared).unwrap_err();
        assert_eq!(error("x:dd=3", &[D]), "x has no parameter 'dd'; hint: did you mean 'd'?");
        assert_eq!(
            error("x:d=0", &[D]),
            "x: d=0 is not a whole number from 1 to 1000; hint: blocks drawn, for example d=10"
        );
        assert_eq!(
            error("x", &[F]),
            "x needs the parameter 'f'; hint: write x:f=VALUE (hot share of the pages)"
        );
        assert_eq!(error("x:d", &[D]), "'d' in 'x:d' is not key=value; hint: write x:d=VALUE");
        assert_eq!(error("x:d=1,d=2", &[D]), "'d' is given twice in 'x:d=1,d=2'");
        assert_eq!(
            error("x:f=nan", &[F]),
            "x: f=nan is not a number from 0 to 1; hint: hot share of the pages, for example f=0.5"
        );
        assert_eq!(error("x:d=3", &[]), "x has no parameter 'd'; hint: x takes no parameters");
    }

    #[test]
    fn one_thing_is_no_plural() {
        let counts = [0, 1, 2].map(|number| count(number, "page"));
        assert_eq!(counts, ["0 pages", "1 page", "2 pages"]);
    }

    #[test]
    fn a_near_word_is_suggested_and_a_far_one_gets_the_list() {
        assert_eq!(suggest("gredy", ["fifo", "greedy"]), "did you mean 'greedy'?");
        assert_eq!(suggest("FIFO", ["fifo", "greedy"]), "did you mean 'fifo'?");
        assert_eq!(suggest("Gredy", ["fifo", "greedy"]), "did you mean 'greedy'?");
        assert_eq!(suggest("zzz", ["fifo", "greedy"]), "known: fifo, greedy");
    }
}
