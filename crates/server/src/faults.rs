//! Makes faults of a served drive from words, and shows them as JSON.

use std::time::Duration;

use flashgc_base::spec::suggest;
use flashgc_front::faults::{Effect, Fault, FaultKind, Faults, Set};
use serde_json::{Value, json};

/// Returns the fault with the effect `word`. It meets the next `next` commands of the kind `kind`
/// in `range`, which is a first byte and a number of bytes. A delay is `by` seconds, and `die` is the
/// number of a lost die.
///
/// # Errors
/// Fails if such a fault is not possible, with a line that says why.
pub fn fault(
    word: &str,
    kind: Option<&str>,
    range: Option<(u64, u64)>,
    next: Option<u64>,
    by: Option<f64>,
    die: Option<u32>,
) -> Result<Fault, String> {
    let unknown = |subject: &str, word: &str, known: &[&str]| {
        format!("unknown {subject} '{word}'; hint: {}", suggest(word, known.iter().copied()))
    };
    let delay = Effect::Delay(Duration::ZERO).word();
    let timeless =
        [Effect::Unreadable, Effect::Fail, Effect::Drop, Effect::Disconnect, Effect::EndOfLife];
    let lost = Effect::LostDie(0).word();
    match die {
        Some(_) if word != lost => {
            return Err(format!("{word}: found a die, expected none; hint: {lost} has one"));
        }
        None if word == lost => {
            return Err(format!("{lost}: found no die, expected one; hint: die 0"));
        }
        _ => {}
    }
    let of_die = die.map(Effect::LostDie);
    let effect = match (of_die.into_iter().chain(timeless).find(|effect| effect.word() == word), by)
    {
        (Some(effect), None) => effect,
        (Some(_), Some(_)) => {
            return Err(format!("{word}: found a time, expected none; hint: {delay} has one"));
        }
        (None, _) if word != delay => return Err(unknown("fault", word, &Effect::WORDS)),
        (None, None) => return Err("delay: found no time, expected one; hint: by 50ms".into()),
        (None, Some(by)) => Effect::Delay(
            Duration::try_from_secs_f64(by)
                .map_err(|error| format!("delay: found {by} s: {error}; hint: by 50ms"))?,
        ),
    };
    let kind = kind.map(|name| {
        let known = FaultKind::ALL.into_iter().find(|(known, _)| *known == name);
        known.map(|(_, kind)| kind).ok_or_else(|| {
            unknown("kind of commands", name, &FaultKind::ALL.map(|(known, _)| known))
        })
    });
    let range = range.map(|(at, bytes)| {
        let end = at.checked_add(bytes).ok_or_else(|| {
            format!("{word}: found {bytes} bytes from byte {at} on, expected a range")
        })?;
        Ok::<_, String>(at..end)
    });
    let fault = Fault { effect, kind: kind.transpose()?, range: range.transpose()?, next };
    fault.check()?;
    Ok(fault)
}

/// Returns the faults that are set, and the number of commands that faults have met.
pub(crate) fn to_json(faults: &Faults) -> Value {
    let (all, met) = faults.list();
    json!({ "met": met, "set": all.iter().map(set_to_json).collect::<Vec<_>>() })
}

fn set_to_json(set: &Set) -> Value {
    let Set { number, fault, left, hits, unreadable, is_over } = set;
    let by = match fault.effect {
        Effect::Delay(by) => Some(by.as_secs_f64()),
        _ => None,
    };
    json!({
        "number": number,
        "effect": fault.effect.word(),
        "kind": fault.kind.map(FaultKind::name),
        "offset": fault.range.as_ref().map(|range| range.start),
        "bytes": fault.range.as_ref().map(|range| range.end - range.start),
        "by_seconds": by,
        "die": match fault.effect {
            Effect::LostDie(die) => Some(die),
            _ => None,
        },
        "next": fault.next,
        "left": left,
        "hits": hits,
        "unreadable_bytes": (fault.effect == Effect::Unreadable).then_some(unreadable),
        "over": is_over,
    })
}
