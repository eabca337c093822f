//! Refuses options that would have no effect, and pairs of options that cannot be given together.

use std::collections::HashMap;

use flashgc_base::naming::{choice, option as named, subject};
use flashgc_base::spec::SpecError;
use flashgc_workload::requests::request_generators;

use super::Experiment;
use super::places::marked;
use crate::options::{ALTERNATIVES, Drives, EXCLUDED, Excluded, Holder};

impl Excluded {
    /// Returns the error for this pair of options.
    pub(crate) fn error(&self) -> SpecError {
        let hint = match self.hint {
            "" => format!("leave out {} or {}", named(self.key), named(self.with)),
            hint => marked(hint),
        };
        not_together(self.key, self.with, self.why, hint)
    }
}

/// Returns the error for two options that cannot be given together.
fn not_together(key: &str, with: &str, why: &str, hint: String) -> SpecError {
    SpecError::new(format!("{} does not go with {}: {why}", subject(key), named(with)), hint)
}

impl Experiment {
    /// Refuses options that do not apply to the drive or to the workload, that need another option,
    /// or that cannot be given with another option.
    pub(super) fn check_effects(&self, is_trace: bool) -> Result<(), SpecError> {
        self.check_drive()?;
        self.check_pairs()?;
        self.check_workload(is_trace)?;
        for (option, value) in self.given() {
            let Some(with) = option.only_with else { continue };
            if Some(value.typed().as_str()) == option.usual()
                || with.others.iter().any(|it| self.has(it))
            {
                continue;
            }
            let other = with.others[0];
            return Err(SpecError::new(
                format!("{} only applies with {}: {}", subject(option.key), named(other), with.why),
                format!("add {}", choice(other, with.example)),
            ));
        }
        Ok(())
    }

    /// Refuses two options that cannot be given together.
    fn check_pairs(&self) -> Result<(), SpecError> {
        let together = |pair: &&Excluded| self.has(pair.key) && self.has(pair.with);
        EXCLUDED.iter().find(together).map_or(Ok(()), |pair| Err(pair.error()))
    }

    /// Checks options that are given apart from an experiment, such as options that narrow a
    /// search.
    ///
    /// # Errors
    /// The errors of [`Self::check_texts`], or two options that cannot be given together.
    pub fn check_apart(&self) -> Result<(), SpecError> {
        self.check_texts(&HashMap::new())?;
        self.check_pairs().map_err(|error| error.named(&self.places))
    }

    fn check_drive(&self) -> Result<(), SpecError> {
        let is_timed = self.is_timed();
        for (option, _) in self.given() {
            match option.drives {
                Drives::All => continue,
                Drives::Timed if is_timed => continue,
                Drives::Counting if !is_timed => continue,
                _ => {}
            }
            let drive = choice("kind", option.drives.name());
            let hint = match option.instead {
                "" => format!("add {drive}"),
                instead => marked(instead),
            };
            let why = option.why_drives;
            let message = format!("{} only applies to {drive}: {why}", subject(option.key));
            return Err(SpecError::new(message, hint));
        }
        Ok(())
    }

    fn check_workload(&self, is_trace: bool) -> Result<(), SpecError> {
        let source = self.text("source").unwrap_or_default();
        let name = source.split(':').next().unwrap_or_default().trim();
        if !self.is_timed() && request_generators().iter().any(|known| known.name == name) {
            let drive = choice("kind", "timed");
            return Err(SpecError::new(
                format!(
                    "{}: {name} only applies to {drive}: its requests have arrival times",
                    self.places.or("workload.source", "workload")
                ),
                format!("add {drive}"),
            ));
        }
        let what = match self.has("tenant") {
            true => "no tenant has one".to_string(),
            false => format!("the workload '{source}' is a generator"),
        };
        let mut given = self.given();
        match given.find(|(option, _)| option.holder == Holder::Trace && !is_trace) {
            None => Ok(()),
            Some((option, _)) => Err(SpecError::new(
                format!("{} only applies to traces, and {what}", subject(option.key)),
                "leave it out, or name a trace",
            )),
        }
    }

    /// Returns the given option among the alternatives to `key`; `None` if none is given. Two are
    /// an error.
    pub(super) fn only_one(&self, key: &str) -> Result<Option<&'static str>, SpecError> {
        let (keys, why) = ALTERNATIVES
            .iter()
            .find(|(keys, _)| keys.contains(&key))
            .unwrap_or_else(|| panic!("{key} has no alternatives"));
        self.one_of(keys, why)
    }

    /// Returns the given option among `keys`; `None` if none is given. Two are an error, for the
    /// reason `why`.
    pub(super) fn one_of(
        &self,
        keys: &[&'static str],
        why: &str,
    ) -> Result<Option<&'static str>, SpecError> {
        let given: Vec<_> = keys.iter().copied().filter(|key| self.has(key)).collect();
        match given[..] {
            [first, second, ..] => {
                let hint = format!("leave out {} or {}", named(second), named(first));
                Err(not_together(second, first, why, hint))
            }
            _ => Ok(given.first().copied()),
        }
    }
}
