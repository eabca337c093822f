//! Tenants as tables and as texts.

use flashgc_base::spec::{SpecError, suggest};
use flashgc_timed::tenants::{KEYS, check_key};

use super::places::{Places, fault};
use crate::options::{Value, find};

/// The key of the option for tenants, and of the list of tables in an experiment file.
const TENANT: &str = "tenant";

/// Returns every tenant in `values` as a text. In `values` a tenant is a table or a text. `None` if
/// no tenant is given.
///
/// # Errors
/// A tenant is neither a table nor a text, or has a wrong key or value.
pub fn texts(values: &Value, places: &Places) -> Result<Option<Vec<String>>, SpecError> {
    let listed = values.get("workload").and_then(|workload| workload.get(TENANT));
    let (list, path) = match (values.get(TENANT), listed) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(fault(
                places.at(TENANT),
                "found [[tenant]] beside tenant in [workload]",
                "write all tenants in one way",
            ));
        }
        (Some(tables), None) => (tables, TENANT.to_string()),
        (None, Some(listed)) => (listed, format!("workload.{TENANT}")),
    };
    let place = places.at(&path);
    let each = match list {
        Value::List(each) if !each.is_empty() => each,
        Value::Text(_) | Value::Table(_) => std::slice::from_ref(list),
        _ => {
            let message = format!("found {list}, expected tables");
            return Err(fault(place, message, "write [[tenant]]"));
        }
    };
    let each = each.iter().enumerate();
    each.map(|(index, tenant)| text(tenant, &format!("{path}.{index}"), places, place))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Returns `values` with every tenant as a text in the section of the workload.
///
/// # Errors
/// The errors of [`texts`].
pub(super) fn gathered(values: &Value, places: &Places) -> Result<Value, SpecError> {
    let Some(texts) = texts(values, places)? else { return Ok(values.clone()) };
    let mut keys = values.get("workload").cloned().map_or_else(Vec::new, Value::into_entries);
    keys.retain(|(key, _)| key != TENANT);
    let texts = texts.into_iter().map(Value::Text).collect();
    keys.push((TENANT.to_string(), Value::List(texts)));
    let others = values.entries().iter().filter(|(name, _)| name != TENANT && name != "workload");
    let workload = ("workload".to_string(), Value::Table(keys));
    Ok(Value::Table(others.cloned().chain([workload]).collect()))
}

/// Converts a tenant to a text.
fn text(tenant: &Value, path: &str, places: &Places, above: &str) -> Result<String, SpecError> {
    let place = places.or(path, above);
    let text = match tenant {
        Value::Text(text) => text.clone(),
        Value::Table(keys) => {
            let parts: Result<Vec<_>, _> = keys
                .iter()
                .map(|(key, value)| part(key, value, places.or(&format!("{path}.{key}"), place)))
                .collect();
            parts?.join("; ")
        }
        _ => {
            let message = format!("found {tenant}, expected a tenant");
            return Err(fault(place, message, "write [[tenant]]"));
        }
    };
    let checked = find(TENANT).map_or(Ok(()), |option| option.check(&text));
    checked.map_err(|error| fault(place, error.message, error.hint))?;
    Ok(text)
}

fn part(key: &str, value: &Value, place: &str) -> Result<String, SpecError> {
    let Some(known) = KEYS.iter().find(|known| known.name == key) else {
        let hint = suggest(key, KEYS.iter().map(|known| known.name));
        return Err(fault(place, format!("unknown key '{key}' of a tenant"), hint));
    };
    let text = match value {
        Value::Whole(bytes) if key == "request_size" => format!("{bytes}B"),
        Value::Text(_) | Value::Whole(_) | Value::Real(_) => value.typed(),
        _ => {
            let message = format!("found {value}, expected a value");
            return Err(fault(place, message, format!("write {}", known.example)));
        }
    };
    check_key(key, &text).map_err(|error| fault(place, error.message, error.hint))?;
    Ok(format!("{key}={text}"))
}

/// Returns the workload in the text of a tenant.
pub fn workload_of(tenant: &str) -> &str {
    let mut parts = tenant.split(';').filter_map(|part| part.split_once('='));
    parts.find(|(key, _)| key.trim() == "workload").map_or("", |(_, value)| value.trim())
}
