//! The properties of one option, and their declaration.

use flashgc_base::spec::{SpecError, suggest};
use flashgc_workload::units::Quantity;

use super::kinds::{Case, Drives, Holder, Kind, Section, Words};
use super::numbers;
use super::value::Value;

/// Checks a text; the first argument is the key of the option.
pub type Check = fn(&str, &str) -> Result<(), SpecError>;

/// The condition that one of several other options must be given.
#[derive(Clone, Copy, Debug)]
pub struct OnlyWith {
    /// The keys of these options.
    pub others: &'static [&'static str],
    /// A value of the first of these options.
    pub example: &'static str,
    /// The reason why the option has no effect without them.
    pub why: &'static str,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// The section of an experiment file that the option is in.
    pub section: Section,
    /// The key in an experiment file, which is the name in Python too.
    pub key: &'static str,
    /// The name on the command line without `--`; empty if it is the key with hyphens.
    pub flag: &'static str,
    /// The kind of the value.
    pub kind: Kind,
    /// The name of the value in help texts.
    pub metavar: &'static str,
    /// The default as typed, or a description of it; empty if there is none.
    pub default: &'static str,
    /// Other defaults, each with the circumstance in which it applies.
    pub cases: &'static [(Case, &'static str)],
    /// The meaning and the effect of the option, in plain sentences. `{words}` stands for the
    /// words, `{other_key}` for another option's name.
    pub help: &'static str,
    /// An example of a value; may be empty.
    pub example: &'static str,
    /// `true` if a plain number is refused, because users would expect another unit.
    pub needs_unit: bool,
    /// The unit that error messages propose for a size.
    unit: &'static str,
    /// The smallest and the largest whole number allowed.
    pub range: Option<(u64, u64)>,
    /// The smallest and the largest real number allowed.
    bounds: Option<(f64, f64)>,
    /// The drives that the option applies to.
    pub drives: Drives,
    /// The physical reason why the option does not apply to other drives; empty if it applies to
    /// all.
    pub why_drives: &'static str,
    /// The hint for drives that the option does not apply to; may be empty.
    pub instead: &'static str,
    /// The options of which one must be given for this option to have an effect.
    pub only_with: Option<OnlyWith>,
    /// The physical reason why a stored drive does not have the option; `None` if it has it.
    pub unstored: Option<&'static str>,
    /// `true` if the option is allowed only when a single configuration is run.
    pub once: bool,
    /// `true` if several values make several configurations to compare.
    pub several: bool,
    /// `true` if several values are parts of one configuration.
    pub listing: bool,
    /// The words to choose from.
    pub words: Words,
    /// The struct that holds the value.
    pub holder: Holder,
    /// The field of that struct that holds the value.
    pub field: &'static str,
    check: Option<Check>,
}

impl OptionInfo {
    /// Begins a declaration.
    pub(super) const fn new(section: Section, kind: Kind) -> Self {
        Self {
            section,
            key: "",
            flag: "",
            kind,
            metavar: kind.metavar(),
            default: "",
            cases: &[],
            help: "",
            example: "",
            needs_unit: false,
            unit: match kind {
                Kind::PageSize => "B",
                _ => "GiB",
            },
            range: match kind {
                Kind::Count | Kind::Pages => Some((0, u32::MAX as u64)),
                _ => None,
            },
            bounds: None,
            drives: Drives::All,
            why_drives: "",
            instead: "",
            only_with: None,
            unstored: Some(section.why_unstored()),
            once: false,
            several: false,
            listing: false,
            words: Words::None,
            holder: Holder::None,
            field: "",
            check: None,
        }
    }

    /// Declares an option that is a field of a struct. Its key is the field's name unless `key`
    /// sets another.
    pub(super) const fn of(
        mut self,
        holder: Holder,
        field: &'static str,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        self.holder = holder;
        self.field = field;
        if self.key.is_empty() {
            self.key = field;
        }
        self.default = default;
        self.help = help;
        self
    }

    /// Declares an option that is not a field of a struct.
    pub(super) const fn named(
        self,
        key: &'static str,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        self.of(Holder::None, key, default, help)
    }

    /// Sets a key that differs from the field's name.
    pub(super) const fn key(mut self, key: &'static str) -> Self {
        self.key = key;
        self
    }

    /// Sets a name on the command line that differs from the key.
    pub(super) const fn flag(mut self, flag: &'static str) -> Self {
        self.flag = flag;
        self
    }

    /// Sets the name of the value in help texts, if its kind does not give it.
    pub(super) const fn metavar(mut self, metavar: &'static str) -> Self {
        self.metavar = metavar;
        self
    }

    /// Sets the defaults for special circumstances.
    pub(super) const fn cases(mut self, cases: &'static [(Case, &'static str)]) -> Self {
        self.cases = cases;
        self
    }

    /// Sets the example value.
    pub(super) const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }

    /// Makes the option refuse a plain number.
    pub(super) const fn needs_unit(mut self) -> Self {
        self.needs_unit = true;
        self
    }

    /// Sets the unit that error messages propose.
    pub(super) const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Refuses the option if none of `others` is given, for the reason `why`. `example` is a value
    /// of the first.
    pub(super) const fn only_with(
        mut self,
        others: &'static [&'static str],
        example: &'static str,
        why: &'static str,
    ) -> Self {
        self.only_with = Some(OnlyWith { others, example, why });
        self
    }

    /// Allows the option for a stored drive.
    pub(super) const fn stored(mut self) -> Self {
        self.unstored = None;
        self
    }

    /// Sets the physical reason why a stored drive does not have the option.
    pub(super) const fn unstored(mut self, why: &'static str) -> Self {
        self.unstored = Some(why);
        self
    }

    /// Returns `true` if the clock of a stored drive has the option. Such options are the shape of
    /// the flash, and all options that only drives with a clock have, but for those of parity, which this
    /// clock leaves out.
    pub fn is_of_clock(&self) -> bool {
        const SHAPE: [&str; 8] = [
            "superblock",
            "program",
            "pages_per_block",
            "page_size",
            "mapping_unit",
            "power_protection",
            "times",
            "mapping",
        ];
        let is_timed = self.drives == Drives::Timed && self.key != "read_failures";
        is_timed && matches!(self.section, Section::Drive | Section::Gc)
            || SHAPE.contains(&self.key)
    }

    /// Refuses the option for several configurations, and for results that are stored.
    pub(super) const fn once(mut self) -> Self {
        self.once = true;
        self
    }

    /// Sets the smallest and the largest whole number allowed.
    pub(super) const fn range(mut self, least: u64, most: u64) -> Self {
        self.range = Some((least, most));
        self
    }

    /// Sets the smallest and the largest real number allowed.
    pub(super) const fn between(mut self, least: f64, most: f64) -> Self {
        self.bounds = Some((least, most));
        self
    }

    /// Restricts the option to drives with a clock, for a physical reason.
    pub(super) const fn timed(mut self, why: &'static str) -> Self {
        self.drives = Drives::Timed;
        self.why_drives = why;
        self
    }

    /// Restricts the option to counting drives, for a physical reason, and sets the hint for other
    /// drives.
    pub(super) const fn counting(mut self, instead: &'static str, why: &'static str) -> Self {
        self.drives = Drives::Counting;
        self.instead = instead;
        self.why_drives = why;
        self
    }

    /// Lets several values make several configurations to compare.
    pub(super) const fn several(mut self) -> Self {
        self.several = true;
        self
    }

    /// Lets several values be parts of one configuration.
    pub(super) const fn listing(mut self) -> Self {
        self.listing = true;
        self
    }

    /// Sets the words to choose from.
    pub(super) const fn words(mut self, words: fn() -> Vec<&'static str>) -> Self {
        self.words = Words::Fixed(words);
        self
    }

    /// Sets the words to choose from to the names in a list of the registry.
    pub(super) const fn listed(mut self, list: &'static str) -> Self {
        self.words = Words::Listed(list);
        self
    }

    /// Sets the function that checks a text.
    pub(super) const fn checked(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    /// Returns the section and the key: `drive.blocks`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.section.name(), self.key)
    }

    /// Returns the name on the command line, without the hyphens before it.
    pub fn flag_name(&self) -> String {
        if self.flag.is_empty() { self.key.replace('_', "-") } else { self.flag.to_string() }
    }

    /// Returns the default as typed; `None` if there is none, or it depends on other values.
    pub fn usual(&self) -> Option<&'static str> {
        (!self.default.is_empty() && !self.default.contains(' ')).then_some(self.default)
    }

    /// Returns the default in the circumstance `case`.
    ///
    /// # Panics
    /// Panics if the option has no special default in that circumstance.
    pub fn case(&self, case: Case) -> &'static str {
        let case_value = self.cases.iter().find(|(known, _)| *known == case);
        case_value.unwrap_or_else(|| panic!("{} is the same {}", self.key, case.words())).1
    }

    /// Reads a real number or a share.
    ///
    /// # Errors
    /// The value is no real number or share.
    pub fn real(&self, value: &Value) -> Result<f64, SpecError> {
        let typed = value.typed();
        let number = match value {
            Value::Text(_) if self.kind == Kind::Number => typed.trim().parse().unwrap_or(f64::NAN),
            value => numbers::share_of(value)?,
        };
        let hint = || {
            if self.example.is_empty() { String::new() } else { format!("write {}", self.example) }
        };
        match self.bounds {
            _ if !number.is_finite() && self.kind == Kind::Number => {
                Err(SpecError::new(format!("'{typed}' is not a number"), hint()))
            }
            Some((least, most)) if !(least..=most).contains(&number) => {
                let message = format!("found {typed}, expected {least:e} to {most:e}");
                Err(SpecError::new(message, hint()))
            }
            _ => Ok(number),
        }
    }

    /// Reads a whole number, a size, or a size in pages of `page` bytes.
    ///
    /// # Errors
    /// The value is no such number, or is out of the option's range.
    pub fn whole(&self, value: &Value, page: u64) -> Result<u64, SpecError> {
        let number = match (self.kind, value) {
            (Kind::Size, _) => numbers::size_of(value, self.unit)?,
            (Kind::PageSize, _) => numbers::page_size(numbers::size_of(value, self.unit)?)?,
            (Kind::Pages, Value::Text(text)) => numbers::pages(text, page)?,
            _ => numbers::count_of(value).map_err(|error| self.with_range(error))?,
        };
        let (least, most) = self.range.unwrap_or((0, u64::MAX));
        let inside = u64::try_from(number).ok().filter(|number| (least..=most).contains(number));
        inside.ok_or_else(|| match self.kind {
            Kind::Size => SpecError::new(
                format!("found {number} bytes, expected {least} to {most}"),
                format!("write {}", self.example),
            ),
            _ => SpecError::new(format!("found {number}, expected {least} to {most}"), ""),
        })
    }

    /// Returns the error for a wrong count. Its hint is the range, if that is narrow.
    fn with_range(&self, error: SpecError) -> SpecError {
        match self.range {
            Some((least, most)) if most <= 0xFFFF => SpecError::new(
                error.message,
                format!("write a whole number from {least} to {most}"),
            ),
            _ => error,
        }
    }

    /// Checks that `text` is a value of this option, as far as that needs no drive.
    ///
    /// # Errors
    /// Fails if the option does not take the value. The error has the value, the expected values,
    /// and a hint.
    pub fn check(&self, text: &str) -> Result<(), SpecError> {
        if let Some(check) = self.check {
            return check(self.key, text);
        }
        let words = match self.words {
            Words::Fixed(words) => words(),
            _ if self.kind == Kind::YesNo => vec!["yes", "no"],
            _ => return self.check_kind(text),
        };
        if words.contains(&text) {
            return Ok(());
        }
        let expected = words.join(if words.len() == 2 { " or " } else { ", " });
        let message = format!("found '{text}', expected {expected}");
        // The message lists the words already: a hint is useful only if one of them is similar.
        let hint = suggest(text, words);
        let near = hint.starts_with("did you mean");
        Err(SpecError::new(message, if near { hint } else { String::new() }))
    }

    /// Checks that `text` is a value of the option's kind.
    fn check_kind(&self, text: &str) -> Result<(), SpecError> {
        let value = Value::Text(text.to_string());
        match self.kind {
            Kind::Share | Kind::Number => self.real(&value).map(drop),
            Kind::Time => {
                let form = format!("write {}=20us", self.key);
                Quantity::Time.parse(self.key, text, &form).map(drop)
            }
            kind if kind.is_text() => Ok(()),
            _ => self.whole(&value, 1).map(drop),
        }
    }
}
