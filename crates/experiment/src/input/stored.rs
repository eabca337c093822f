//! Checks of options for stored drives: the options that make a drive, and the options of its
//! clock.

use flashgc_base::naming::{choice, subject};
use flashgc_base::spec::SpecError;
use flashgc_ftl::Mapping;

use super::{Experiment, declared};

/// The size of a page of a stored drive, in bytes.
const PAGE: u64 = 4096;

impl Experiment {
    /// Refuses options that a stored drive does not have.
    ///
    /// # Errors
    /// The first option that a stored drive does not have, with the reason.
    pub fn check_stored(&self) -> Result<(), SpecError> {
        for (option, value) in self.given() {
            let Some(why) = option.unstored else { continue };
            if option.key == "page_size" && option.whole(value, 1) == Ok(PAGE) {
                continue;
            }
            let hint = match option.is_of_clock() {
                true => "leave it out, or flashgc device serve --realtime",
                false => "leave it out",
            };
            let message =
                format!("{} does not apply to a stored drive: {why}", subject(option.key));
            return Err(SpecError::new(message, hint).named(&self.places));
        }
        Ok(())
    }

    /// Refuses a mapping that the clock of a stored drive cannot have.
    ///
    /// # Errors
    /// The mapping is unknown, or drives with a clock do not have it.
    pub fn check_clock(&self) -> Result<(), SpecError> {
        let text = self.text("mapping").unwrap_or_default();
        let place = self.places.at("gc.mapping");
        declared("mapping").check(&text).map_err(|error| super::placed(place, "mapping", error))?;
        if Mapping::parse(&text)?.info().has_clock {
            return Ok(());
        }
        let message = format!(
            "{} is {text}, expected page or dftl: a stored drive maps pages",
            subject("mapping")
        );
        let hint = format!("{} has that map on flash", choice("mapping", "dftl"));
        Err(SpecError::new(message, hint).named(&self.places))
    }
}
