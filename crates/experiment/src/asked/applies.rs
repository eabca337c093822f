//! Options that would have no effect where they are given: each is refused.

use flashgc_base::spec::SpecError;
use flashgc_workload::requests::request_generators;

use super::{Asked, declared};
use crate::options::{ALTERNATIVES, Drives, Holder};

/// Options that each tenant has itself, and its key.
const OF_TENANTS: [(&str, &str); 3] =
    [("source", "workload"), ("arrivals", "arrivals"), ("request_size", "request_size")];

impl Asked {
    /// Refuses options that do not apply to the drive, to the workload, or without another option.
    pub(super) fn check_effects(&self, is_trace: bool) -> Result<(), SpecError> {
        self.check_drive()?;
        self.check_workload(is_trace)?;
        for (option, value) in self.given() {
            let Some((others, example)) = option.only_with else { continue };
            if Some(value.typed().as_str()) == option.usual()
                || others.iter().any(|it| self.has(it))
            {
                continue;
            }
            let other = declared(others[0]);
            let with = self.places.name(other);
            let hint = format!("add {}", self.places.written(&other.path(), example));
            return self.refused(option.key, format!("only applies with {with}"), hint);
        }
        self.check_tenants()
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
            let drive = self.places.written("drive.kind", option.drives.name());
            let hint = match (option.instead, is_timed) {
                ("", true) => "leave it out".to_string(),
                ("", false) => format!("add {drive}"),
                (instead, _) => self.places.render(instead),
            };
            return self.refused(option.key, format!("only applies to {drive}"), hint);
        }
        Ok(())
    }

    fn check_workload(&self, is_trace: bool) -> Result<(), SpecError> {
        let source = self.text("source").unwrap_or_default();
        let name = source.split(':').next().unwrap_or_default().trim();
        if !self.is_timed() && request_generators().iter().any(|known| known.name == name) {
            let drive = self.places.written("drive.kind", "timed");
            let place = self.places.or("workload.source", "workload");
            let message = format!("{place}: {name} only applies to {drive}");
            return Err(SpecError::new(message, format!("add {drive}")));
        }
        let what = match self.has("tenant") {
            true => "no tenant has one".to_string(),
            false => format!("the workload '{source}' is a generator"),
        };
        let mut given = self.given();
        match given.find(|(option, _)| option.holder == Holder::Trace && !is_trace) {
            None => Ok(()),
            Some((option, _)) => {
                let message = format!("only applies to traces, and {what}");
                self.refused(option.key, message, "leave it out, or name a trace")
            }
        }
    }

    /// Refuses options that tenants have themselves.
    fn check_tenants(&self) -> Result<(), SpecError> {
        if !self.has("tenant") {
            return Ok(());
        }
        if let Some((key, own)) = OF_TENANTS.iter().find(|(key, _)| self.has(key)) {
            let message =
                format!("{}: found beside tenants, which have their own", self.subject(key));
            return Err(SpecError::new(message, format!("write {own}= in each tenant")));
        }
        if self.has("passes") {
            let message = "does not apply to tenants, whose traces begin again at their end";
            return self.refused("passes", message, "give requests, for example 1000000");
        }
        Ok(())
    }

    /// Returns the one option that is given of those that say the same thing as `key`.
    pub(super) fn only_one(&self, key: &str) -> Result<Option<&'static str>, SpecError> {
        let (keys, hint) = ALTERNATIVES
            .iter()
            .find(|(keys, _)| keys.contains(&key))
            .unwrap_or_else(|| panic!("{key} has no alternatives"));
        self.one_of(keys, hint)
    }

    /// Returns the one option of `keys` that is given.
    pub(super) fn one_of(
        &self,
        keys: &[&'static str],
        hint: &str,
    ) -> Result<Option<&'static str>, SpecError> {
        let given: Vec<_> = keys.iter().copied().filter(|key| self.has(key)).collect();
        match given[..] {
            [first, second, ..] => {
                let first = self.places.at(&declared(first).path()).to_string();
                self.fault(second, format!("found together with {first}"), hint)
            }
            _ => Ok(given.first().copied()),
        }
    }
}
