//! Experiments in the forms in which users give them: command line, file, or keywords of a
//! function.
//!
//! [`experiment`] takes the values by section, checks their types, and returns them by their paths.
//! [`Experiment::configurations`] checks the values and their combinations, and makes the
//! configurations that the engine runs. Every error names the place of the value: its option, its
//! line of the file, or its keyword.

mod applies;
mod configurations;
mod places;
mod presets;
mod stored;
pub mod tenants;

use std::collections::HashMap;

use flashgc_base::naming;
use flashgc_base::spec::{SpecError, suggest};

pub use configurations::Fields;
pub(crate) use configurations::without_times;
pub use places::Places;
use places::{fault, marked, placed};

use crate::options::{Kind, OptionInfo, Section, Value, find, options};

/// Returns the values of an experiment, each with its path: section and key (`drive.blocks`). Each
/// value has a type that its option takes. `devices` has the presets of drives by name. A preset
/// has values of options, by section.
///
/// # Errors
/// An unknown section, key or device, or a value of another type.
pub fn experiment(
    values: &Value,
    places: &Places,
    devices: &Value,
) -> Result<Vec<(String, Value)>, SpecError> {
    let values = presets::with_device(values, places, devices)?;
    let values = tenants::gathered(&values, places)?;
    check_names(&values, places)?;
    let mut given = Vec::new();
    for (section, keys) in values.into_entries() {
        for (key, value) in keys.into_entries() {
            let option = known(&section, &key, places)?;
            let path = option.path();
            given.push((path.clone(), checked(option, value, places.at(&path), places)?));
        }
    }
    Ok(given)
}

/// Checks that all sections and keys in `sections` exist.
///
/// # Errors
/// A section or key is unknown, or the value of a section is not a table.
pub fn check_names(sections: &Value, places: &Places) -> Result<(), SpecError> {
    for (name, keys) in sections.entries() {
        check_section(name, keys, places)?;
    }
    for (name, keys) in sections.entries() {
        for (key, _) in keys.entries() {
            known(name, key, places)?;
        }
    }
    Ok(())
}

fn check_section(name: &str, keys: &Value, places: &Places) -> Result<(), SpecError> {
    let place = places.at(name);
    let known = Section::ALL.map(Section::name);
    let (message, hint) = if known.contains(&name) {
        if matches!(keys, Value::Table(_)) {
            return Ok(());
        }
        (format!("found {keys}, expected a section"), format!("write [{name}] on a line"))
    } else if let Some(option) = find(name) {
        let hint = format!("put it in [{}]", option.section.name());
        (format!("'{name}' stands outside its section"), hint)
    } else if name == "sweep" {
        ("it is a grid, expected one experiment".into(), "flashgc sweep".into())
    } else {
        (
            format!("unknown section or key '{name}'"),
            suggest(name, known.into_iter().chain(["sweep"])),
        )
    };
    Err(fault(place, message, hint))
}

fn known(section: &str, key: &str, places: &Places) -> Result<&'static OptionInfo, SpecError> {
    let hint = match find(key) {
        Some(option) if option.section.name() == section => return Ok(option),
        Some(option) => format!("it belongs in [{}]", option.section.name()),
        None => {
            let there = options().iter().filter(|option| option.section.name() == section);
            suggest(key, there.map(|option| option.key))
        }
    };
    let path = format!("{section}.{key}");
    Err(fault(places.or(&path, &path), format!("unknown key '{key}' in [{section}]"), hint))
}

/// Checks that the value has a type that the option takes, and returns it.
fn checked(
    option: &OptionInfo,
    value: Value,
    place: &str,
    places: &Places,
) -> Result<Value, SpecError> {
    match value {
        Value::List(values) if values.is_empty() => {
            Err(fault(place, "found an empty list", "name at least one"))
        }
        Value::List(values) if option.several || option.listing => values
            .into_iter()
            .map(|value| single(option, value, place, places))
            .collect::<Result<_, _>>()
            .map(Value::List),
        value => single(option, value, place, places),
    }
}

fn single(
    option: &OptionInfo,
    value: Value,
    place: &str,
    places: &Places,
) -> Result<Value, SpecError> {
    let expected = match option.kind {
        _ if option.needs_unit => "a size; it needs a unit",
        Kind::Count => "a whole number",
        Kind::Amount => "a number or a text",
        Kind::Size | Kind::PageSize => "a size",
        Kind::Pages => "a size or a number of pages",
        Kind::Share => "a share",
        Kind::Number => "a number",
        Kind::YesNo | Kind::Word | Kind::Time | Kind::Spec | Kind::Text => "a text",
    };
    let is_number = !option.needs_unit && expected != "a text";
    let real = matches!(option.kind, Kind::Share | Kind::Number | Kind::Amount);
    match value {
        Value::Text(_) => Ok(value),
        Value::Truth(yes) if option.kind == Kind::YesNo => {
            Ok(Value::Text(if yes { "yes" } else { "no" }.to_string()))
        }
        Value::Truth(yes) => {
            Err(fault(place, format!("found {yes}"), "true and false are for keys of yes and no"))
        }
        Value::NotUtf8(shown) => {
            Err(fault(place, format!("{shown} is not UTF-8"), "rename the file"))
        }
        Value::List(_) | Value::Table(_) => {
            let message = "found several values, expected one";
            Err(fault(place, message, "flashgc sweep runs a grid"))
        }
        Value::Whole(number) if is_number && number.unsigned_abs() >> 64 != 0 => {
            Err(fault(place, "the number is out of range", ""))
        }
        Value::Whole(_) if is_number => Ok(value),
        Value::Real(_) if is_number && matches!(option.kind, Kind::Share | Kind::Number) => {
            Ok(value)
        }
        Value::Real(number) if is_number && number.fract() == 0.0 => {
            single(option, Value::Whole(number as i128), place, places)
        }
        Value::Real(_) if is_number && real => Ok(value),
        _ => {
            let example =
                if option.example.is_empty() { option.usual() } else { Some(option.example) };
            let hint = match example {
                Some(example) => format!("write {example}"),
                None => naming::said(&marked(option.help), places),
            };
            Err(fault(place, format!("found {value}, expected {expected}"), hint))
        }
    }
}

/// An experiment: the given values, and the place of each.
#[derive(Clone, Debug)]
pub struct Experiment {
    given: HashMap<&'static str, Value>,
    places: Places,
}

impl Experiment {
    /// Returns the experiment with the values that [`experiment`] returned.
    pub fn new(given: Vec<(String, Value)>, places: Places) -> Self {
        let key = |path: &str| find(path.rsplit_once('.').map_or(path, |(_, key)| key));
        let given = given.into_iter();
        Self { given: given.filter_map(|(at, it)| Some((key(&at)?.key, it))).collect(), places }
    }

    fn has(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    /// Returns the given options, in the order of their declarations.
    fn given(&self) -> impl Iterator<Item = (&'static OptionInfo, &Value)> {
        options().iter().filter_map(|&option| Some((option, self.given.get(option.key)?)))
    }

    /// Returns the given value or, if there is none, the default as a text.
    fn value(&self, option: &OptionInfo) -> Option<Value> {
        let usual = || option.usual().map(|text| Value::Text(text.to_string()));
        self.given.get(option.key).cloned().or_else(usual)
    }

    /// Returns the value of the option called `key`, as the user would type it.
    fn text(&self, key: &str) -> Option<String> {
        self.value(declared(key)).map(|value| value.typed())
    }

    /// Returns the values of an option that may have several, as the user would type them.
    fn texts(&self, key: &str) -> Vec<String> {
        let value = self.value(declared(key));
        value.iter().flat_map(Value::several).map(Value::typed).collect()
    }

    fn is_timed(&self) -> bool {
        self.text("kind").as_deref() == Some("timed")
    }
}

/// Returns the option called `key`. It must be declared.
fn declared(key: &str) -> &'static OptionInfo {
    find(key).unwrap_or_else(|| panic!("no option {key} is declared"))
}
