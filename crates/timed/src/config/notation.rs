//! The notation of values that several settings share: times, numbers of blocks, lists of
//! `key=value`.

use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, suggest};
use flashgc_workload::units::Quantity;

/// A number of blocks, as a number or as a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// This number of blocks for each plane.
    Blocks(u32),
    /// This share of all blocks, from 0 to 1.
    Share(f64),
}

impl Threshold {
    /// Reads `2` (blocks for each plane) or `5%`.
    ///
    /// # Errors
    /// The text is neither a number nor a share below 100%.
    pub fn parse(name: &str, text: &str) -> Result<Self, SpecError> {
        let fault = || {
            SpecError::new(
                format!("{name}: found '{text}', expected a number of blocks a plane or a share"),
                format!("write {name}=2 or {name}=5%"),
            )
        };
        match text.trim().strip_suffix('%') {
            Some(percent) => match percent.trim().parse::<f64>() {
                Ok(percent) if (0.0..100.0).contains(&percent) => Ok(Self::Share(percent / 100.0)),
                _ => Err(fault()),
            },
            None => text.trim().parse().map(Self::Blocks).map_err(|_| fault()),
        }
    }

    /// Returns the number of blocks for a unit of `planes` planes with `blocks` blocks each. A
    /// share is rounded to whole blocks.
    pub fn blocks(self, planes: u32, blocks: u32) -> u32 {
        match self {
            Self::Blocks(count) => count.saturating_mul(planes),
            Self::Share(share) => (share * f64::from(planes) * f64::from(blocks)).round() as u32,
        }
    }
}

/// Reads the time of the setting `name`. Returns it in nanoseconds.
///
/// # Errors
/// The time has no unit.
pub fn time(name: &str, text: &str) -> Result<u64, SpecError> {
    Ok(Quantity::Time.parse(name, text, &format!("write {name}=20us"))?.round() as u64)
}

/// Reads `key=value,key=value` with the keys `known`. The first value may lack its key, which is
/// then `first`. `what` is the name of the setting, for messages.
pub(super) fn parts<'a>(
    what: &str,
    text: &'a str,
    first: &'a str,
    known: &[&str],
) -> Result<Vec<(&'a str, &'a str)>, SpecError> {
    let mut entries: Vec<(&str, &str)> = Vec::new();
    for (index, part) in text.split(',').map(str::trim).enumerate() {
        let (key, value) = match part.split_once('=') {
            Some((key, value)) => (key.trim(), value.trim()),
            None if index == 0 => (first, part),
            None => {
                return Err(SpecError::new(
                    format!("{what}: '{part}' in '{text}' is not key=value"),
                    format!("known: {}", known.join(", ")),
                ));
            }
        };
        refuse_if!(
            !known.contains(&key),
            suggest(key, known.iter().copied()),
            "{what}: unknown '{key}' in '{text}'"
        );
        refuse_if!(
            entries.iter().any(|(earlier, _)| *earlier == key),
            "",
            "{what}: '{key}' is given twice in '{text}'"
        );
        entries.push((key, value));
    }
    Ok(entries)
}
