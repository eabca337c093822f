//! Faults of a served drive, from Python and as JSON.

use std::time::Duration;

use flashgc_base::spec::suggest;
use flashgc_front::faults::{Effect, Fault, Faults, Kind, Set};
use pyo3::PyResult;
use serde_json::{Value, json};

use crate::errors;

/// A fault as Python asks for it: effect, kind of commands, first byte and number of bytes, number of commands, seconds.
pub(super) type Asked = (String, Option<String>, Option<(u64, u64)>, Option<u64>, Option<f64>);

/// Returns the fault that was asked for.
pub(super) fn fault(asked: Asked) -> PyResult<Fault> {
    let (word, kind, range, next, by) = asked;
    let wrong = |text: String| errors::config(text);
    let unknown = |what: &str, word: &str, known: &[&str]| {
        wrong(format!("unknown {what} '{word}'; hint: {}", suggest(word, known.iter().copied())))
    };
    let [unreadable, fail, delay, drop, disconnect, end_of_life] = Effect::WORDS;
    let effect = match word.as_str() {
        word if word == unreadable => Effect::Unreadable,
        word if word == fail => Effect::Fail,
        word if word == drop => Effect::Drop,
        word if word == disconnect => Effect::Disconnect,
        word if word == end_of_life => Effect::EndOfLife,
        word if word == delay => {
            let by = by
                .ok_or_else(|| wrong("delay: found no time, expected one; hint: by 50ms".into()))?;
            let found = Duration::try_from_secs_f64(by);
            Effect::Delay(
                found.map_err(|error| {
                    wrong(format!("delay: found {by} s: {error}; hint: by 50ms"))
                })?,
            )
        }
        word => return Err(unknown("fault", word, &Effect::WORDS)),
    };
    if by.is_some() && word != delay {
        return Err(wrong(format!("{word}: found a time, expected none; hint: delay has one")));
    }
    let kind = kind.map(|kind| {
        let known = Kind::ALL.into_iter().find(|(name, _)| *name == kind);
        known
            .map(|(_, kind)| kind)
            .ok_or_else(|| unknown("kind of commands", &kind, &Kind::ALL.map(|(name, _)| name)))
    });
    let range = range.map(|(at, bytes)| {
        let end = at.checked_add(bytes).ok_or_else(|| {
            wrong(format!("{word}: found {bytes} bytes from byte {at} on, expected a range"))
        })?;
        Ok::<_, pyo3::PyErr>(at..end)
    });
    let fault = Fault { effect, kind: kind.transpose()?, range: range.transpose()?, next };
    fault.check().map_err(wrong)?;
    Ok(fault)
}

/// Returns the faults that are set, and the number of commands that faults have met.
pub(super) fn shown(faults: &Faults) -> Value {
    let (all, met) = faults.list();
    json!({ "met": met, "set": all.iter().map(one).collect::<Vec<_>>() })
}

fn one(set: &Set) -> Value {
    let Set { number, fault, left, hits, unreadable, is_over } = set;
    let by = match fault.effect {
        Effect::Delay(by) => Some(by.as_secs_f64()),
        _ => None,
    };
    json!({
        "number": number,
        "effect": fault.effect.word(),
        "kind": fault.kind.map(Kind::name),
        "offset": fault.range.as_ref().map(|range| range.start),
        "bytes": fault.range.as_ref().map(|range| range.end - range.start),
        "by_seconds": by,
        "next": fault.next,
        "left": left,
        "hits": hits,
        "unreadable_bytes": (fault.effect == Effect::Unreadable).then_some(unreadable),
        "over": is_over,
    })
}
