//! The properties of one option, and their declaration.

use flashgc_base::spec::{SpecError, suggest};

use super::kinds::{Case, Drives, Holder, Kind, Section, Words};
use super::typed;

/// Reads a text only to see whether it is right; the first text is the option's key.
pub type Check = fn(&str, &str) -> Result<(), SpecError>;

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// Its section of an experiment file.
    pub section: Section,
    /// Its key there, and its name in Python.
    pub key: &'static str,
    /// Its name on the command line without `--`; empty where it is the key with hyphens.
    pub flag: &'static str,
    /// The kind of its value.
    pub kind: Kind,
    /// The name of the value in help texts.
    pub metavar: &'static str,
    /// The default as typed, or in words; empty if there is none.
    pub default: &'static str,
    /// Circumstances with another default.
    pub cases: &'static [(Case, &'static str)],
    /// Its meaning and effect, in plain sentences. `{words}` stands for the words, `{other_key}`
    /// for another option's name.
    pub help: &'static str,
    /// A value worth showing; may be empty.
    pub example: &'static str,
    /// A plain number is refused: it would be taken for another unit than meant.
    pub needs_unit: bool,
    /// Smallest and largest number.
    pub range: Option<(u64, u64)>,
    /// The drives it applies to.
    pub drives: Drives,
    /// The hint for a drive that it does not apply to; may be empty.
    pub instead: &'static str,
    /// Several values make several configurations to compare.
    pub several: bool,
    /// Several values are parts of one configuration.
    pub listing: bool,
    /// The words to choose from.
    pub words: Words,
    /// The struct with the value.
    pub holder: Holder,
    /// The field of that struct.
    pub field: &'static str,
    check: Option<Check>,
}

impl OptionInfo {
    /// The beginning of a declaration.
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
            range: match kind {
                Kind::Count | Kind::Pages => Some((0, u32::MAX as u64)),
                _ => None,
            },
            drives: Drives::All,
            instead: "",
            several: false,
            listing: false,
            words: Words::None,
            holder: Holder::None,
            field: "",
            check: None,
        }
    }

    /// An option that is a field of a struct: its key is the field's name where none is given.
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

    /// An option that is no field.
    pub(super) const fn named(
        self,
        key: &'static str,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        self.of(Holder::None, key, default, help)
    }

    /// Another key than the field's name.
    pub(super) const fn key(mut self, key: &'static str) -> Self {
        self.key = key;
        self
    }

    /// Another name on the command line than the key.
    pub(super) const fn flag(mut self, flag: &'static str) -> Self {
        self.flag = flag;
        self
    }

    /// The name of the value in help texts, where its kind does not give it.
    pub(super) const fn metavar(mut self, metavar: &'static str) -> Self {
        self.metavar = metavar;
        self
    }

    /// Defaults in other circumstances.
    pub(super) const fn cases(mut self, cases: &'static [(Case, &'static str)]) -> Self {
        self.cases = cases;
        self
    }

    /// A value worth showing.
    pub(super) const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }

    /// A plain number is refused.
    pub(super) const fn needs_unit(mut self) -> Self {
        self.needs_unit = true;
        self
    }

    /// Smallest and largest number.
    pub(super) const fn range(mut self, least: u64, most: u64) -> Self {
        self.range = Some((least, most));
        self
    }

    /// Only for drives with a clock.
    pub(super) const fn timed(mut self) -> Self {
        self.drives = Drives::Timed;
        self
    }

    /// Only for drives that count, with what to do instead on others.
    pub(super) const fn counting(mut self, instead: &'static str) -> Self {
        self.drives = Drives::Counting;
        self.instead = instead;
        self
    }

    /// Several values make several configurations to compare.
    pub(super) const fn several(mut self) -> Self {
        self.several = true;
        self
    }

    /// Several values are parts of one configuration.
    pub(super) const fn listing(mut self) -> Self {
        self.listing = true;
        self
    }

    /// The words to choose from.
    pub(super) const fn words(mut self, words: fn() -> Vec<&'static str>) -> Self {
        self.words = Words::Fixed(words);
        self
    }

    /// The words to choose from are the names of a list of the registry.
    pub(super) const fn listed(mut self, list: &'static str) -> Self {
        self.words = Words::Listed(list);
        self
    }

    /// How a text is checked.
    pub(super) const fn checked(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    /// Whether `text` is a value of this option, as far as that can be told without a drive.
    ///
    /// # Errors
    /// A value that the option does not take: found, expected, and a hint.
    pub fn check(&self, text: &str) -> Result<(), SpecError> {
        if let Some(check) = self.check {
            return check(self.key, text);
        }
        let words = match self.words {
            Words::Fixed(words) => words(),
            _ if self.kind == Kind::YesNo => vec!["yes", "no"],
            _ => return typed::check(self.kind, self.key, text),
        };
        if words.contains(&text) {
            return Ok(());
        }
        let expected = words.join(if words.len() == 2 { " or " } else { ", " });
        let message = format!("found '{text}', expected {expected}");
        // The words are told already; only a near one is worth a hint.
        let hint = suggest(text, words);
        let near = hint.starts_with("did you mean");
        Err(SpecError::new(message, if near { hint } else { String::new() }))
    }
}
