//! Presets of devices: values for options that an experiment does not give.

use flashgc_base::spec::{SpecError, suggest};

use super::places::{Places, fault};
use crate::options::{ALTERNATIVES, Value};

/// Returns `values` and, for options that are not given, the values of the experiment's device.
///
/// # Errors
/// The device is unknown.
pub(super) fn with_device(
    values: &Value,
    places: &Places,
    devices: &Value,
) -> Result<Value, SpecError> {
    let Some(Value::Text(name)) = values.get("drive").and_then(|drive| drive.get("device")) else {
        return Ok(values.clone());
    };
    let Some(device) = devices.get(name) else {
        let hint = suggest(name, devices.entries().iter().map(|(known, _)| known.as_str()));
        let place = places.at("drive.device");
        return Err(fault(place, format!("unknown device '{name}'"), hint));
    };
    let mut sections = values.entries().to_vec();
    for (section, keys) in device.entries() {
        let given = sections.iter_mut().find(|(name, _)| name == section);
        match given {
            None => sections.push((section.clone(), keys.clone())),
            Some((_, Value::Table(given))) => {
                let added = keys.entries().iter().filter(|(key, _)| !is_given(key, given));
                let added: Vec<_> = added.cloned().collect();
                given.splice(0..0, added);
            }
            // The whole section is refused later.
            Some(_) => {}
        }
    }
    Ok(Value::Table(sections))
}

/// Returns `true` if `given` has the option called `key` or an alternative to it. A scheme is one to
/// the policies that it has.
fn is_given(key: &str, given: &[(String, Value)]) -> bool {
    let has = |key: &str| given.iter().any(|(known, _)| known == key);
    let same = ALTERNATIVES.iter().filter(|(keys, _)| keys.contains(&key));
    let in_scheme = ["victim", "placement"].contains(&key) && has("scheme");
    has(key) || in_scheme || same.flat_map(|(keys, _)| keys.iter()).any(|other| has(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(&str, Value)]) -> Value {
        let entries = entries.iter().map(|(key, value)| (key.to_string(), value.clone()));
        Value::Table(entries.collect())
    }

    #[test]
    fn a_device_gives_values_that_nobody_gave_in_another_way() {
        let devices = table(&[(
            "tlc",
            table(&[
                ("drive", table(&[("blocks", Value::Whole(64)), ("dies", Value::Whole(2))])),
                ("gc", table(&[("gc_low", Value::Text("5%".into()))])),
            ]),
        )]);
        let preset = |name: &str, more: &[(&str, Value)]| {
            let device = [("device", Value::Text(name.into()))];
            let values = table(&[("drive", table(&[&device[..], more].concat()))]);
            with_device(&values, &Places::default(), &devices)
        };
        let values = preset("tlc", &[("dies", Value::Whole(4))]).unwrap();
        let drive = values.get("drive").unwrap();
        assert_eq!(drive.get("blocks"), Some(&Value::Whole(64)));
        assert_eq!(drive.get("dies"), Some(&Value::Whole(4)));
        assert_eq!(values.get("gc").unwrap().get("gc_low"), Some(&Value::Text("5%".into())));
        let values = preset("tlc", &[("capacity", Value::Text("1GiB".into()))]).unwrap();
        assert_eq!(values.get("drive").unwrap().get("blocks"), None);
        let scheme = [("scheme", Value::Text("gc-gd".into()))];
        let greedy = [("victim", Value::Text("greedy".into()))];
        let devices = table(&[("tlc", table(&[("gc", table(&greedy))]))]);
        let drive = table(&[("device", Value::Text("tlc".into()))]);
        let given = table(&[("drive", drive), ("gc", table(&scheme))]);
        let values = with_device(&given, &Places::default(), &devices).unwrap();
        assert_eq!(values.get("gc"), Some(&table(&scheme)));
        assert_eq!(
            preset("tcl", &[]).unwrap_err().to_string(),
            "device: unknown device 'tcl'; hint: did you mean 'tlc'?"
        );
    }
}
