//! Values as users give them: typed, read from a file, or passed by a program.

use std::fmt;

/// A value of an option before it is parsed.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i128),
    /// A real number.
    Real(f64),
    /// True or false.
    Truth(bool),
    /// Several values.
    List(Vec<Value>),
    /// Values by name.
    Table(Vec<(String, Value)>),
    /// A text that is not UTF-8, as messages show it.
    NotUtf8(String),
    /// Any other value, as messages show it.
    Other(String),
}

impl Value {
    /// Returns the values of a list. Any other value is returned as a list of one.
    pub fn several(&self) -> &[Self] {
        match self {
            Self::List(values) => values,
            value => std::slice::from_ref(value),
        }
    }

    /// Returns the value as the user would type it.
    pub fn typed(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// Returns the values of a table by name. Any other value has none.
    pub fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Table(values) => values,
            _ => &[],
        }
    }

    /// Returns the values of a table by name. Any other value has none.
    pub fn into_entries(self) -> Vec<(String, Self)> {
        match self {
            Self::Table(values) => values,
            _ => Vec::new(),
        }
    }

    /// Returns the value called `name` of a table.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.entries().iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

/// Writes the value as messages show it: texts are quoted.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) if text.contains('\'') && !text.contains('"') => {
                write!(f, "\"{}\"", text.escape_debug().to_string().replace("\\'", "'"))
            }
            Self::Text(text) => {
                write!(f, "'{}'", text.escape_debug().to_string().replace("\\\"", "\""))
            }
            Self::Whole(number) => write!(f, "{number}"),
            Self::Real(number) if number.is_finite() => write!(f, "{number:?}"),
            Self::Real(number) => write!(f, "{}", number.to_string().to_lowercase()),
            Self::Truth(yes) => write!(f, "{yes}"),
            Self::List(values) => {
                let texts: Vec<_> = values.iter().map(Self::to_string).collect();
                write!(f, "[{}]", texts.join(", "))
            }
            Self::Table(values) => {
                let texts: Vec<_> =
                    values.iter().map(|(key, value)| format!("'{key}': {value}")).collect();
                write!(f, "{{{}}}", texts.join(", "))
            }
            Self::NotUtf8(shown) | Self::Other(shown) => f.write_str(shown),
        }
    }
}
