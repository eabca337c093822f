//! The properties of options: sections, kinds of values, drives, words and circumstances.

use serde::Serialize;

/// A section of an experiment file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// `[workload]`: the host's commands.
    Workload,
    /// `[drive]`: the flash, its size and its initial state.
    Drive,
    /// `[gc]`: garbage collection, and where pages go.
    Gc,
    /// `[host]`: the cache between an application and the drive.
    Host,
    /// `[swap]`: memory that is swapped to the drive.
    Swap,
    /// `[run]`: the length, the number and the precision of the runs.
    Run,
}

impl Section {
    /// All sections, in the order of the reference.
    pub const ALL: [Self; 6] =
        [Self::Workload, Self::Drive, Self::Gc, Self::Host, Self::Swap, Self::Run];

    /// Returns the name in an experiment file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workload => "workload",
            Self::Drive => "drive",
            Self::Gc => "gc",
            Self::Host => "host",
            Self::Swap => "swap",
            Self::Run => "run",
        }
    }

    /// Returns the reason why a stored drive has no options of this section, unless an option gives
    /// its own reason.
    pub(super) const fn why_unstored(self) -> &'static str {
        match self {
            Self::Workload => "its writes are those of a real host",
            Self::Drive | Self::Gc => "it keeps data, and nothing is simulated",
            Self::Host => "its host is a real one, with a cache of its own",
            Self::Swap => "its host is a real one, with a memory of its own",
            Self::Run => "it is there until its file is removed",
        }
    }

    /// Returns a summary of the section in one line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Workload => "Reads, writes and TRIMs of the host",
            Self::Drive => "N blocks of b pages, and the spare factor",
            Self::Gc => "Garbage collection: which block is collected, and where pages go",
            Self::Host => "A write-back cache between an application and the drive",
            Self::Swap => "A virtual memory system that swaps to the drive",
            Self::Run => "Length, warm-up, number of runs and precision",
        }
    }
}

/// The kind of a value, and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A whole number.
    Count,
    /// A number, with or without a unit that the option defines: `2` or `5%`, `20x` or `1000000`.
    Amount,
    /// A size in bytes, with its unit.
    Size,
    /// The size of a page: a power of two.
    #[serde(rename = "size")]
    PageSize,
    /// A size in bytes, with its unit, or a number of pages.
    Pages,
    /// A share: `7%` or `0.07`.
    Share,
    /// A real number.
    Number,
    /// `yes` or `no`.
    YesNo,
    /// One word of a fixed list.
    Word,
    /// A time span, with its unit.
    Time,
    /// A name with parameters: `d-choices:d=10`.
    Spec,
    /// Any other text: a path, or a form that the option defines.
    Text,
}

impl Kind {
    /// Returns `true` if the value is a text that has its own parser.
    pub fn is_text(self) -> bool {
        matches!(
            self,
            Self::Amount | Self::YesNo | Self::Word | Self::Time | Self::Spec | Self::Text
        )
    }

    /// Returns the name of the value in help texts.
    pub(super) const fn metavar(self) -> &'static str {
        match self {
            Self::Count | Self::Amount => "N",
            Self::Size | Self::PageSize | Self::Pages => "SIZE",
            Self::Share => "SHARE",
            Self::Number => "X",
            Self::YesNo => "yes|no",
            Self::Word => "WORD",
            Self::Time => "TIME",
            Self::Spec => "SPEC",
            Self::Text => "TEXT",
        }
    }
}

/// The drives that an option applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drives {
    /// Every drive.
    All,
    /// Drives that count page programs, without a clock.
    Counting,
    /// Drives with a clock.
    Timed,
}

impl Drives {
    /// Returns the name in the listing, which is the word after `--drive`.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Counting => "counting",
            Self::Timed => "timed",
        }
    }
}

/// The struct that has the value as a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holder {
    /// No struct: the engine gets the value only in combination with other values.
    #[serde(rename = "")]
    None,
    /// [`RunConfig`](super::RunConfig).
    Run,
    /// [`TraceConfig`](super::TraceConfig).
    Trace,
    /// [`HostConfig`](super::HostConfig).
    Host,
    /// [`SwapConfig`](super::SwapConfig).
    Swap,
    /// [`TimedConfig`](super::TimedConfig).
    Timed,
}

/// The words that complete an option's value. Help texts can list them as `{words}`.
#[derive(Clone, Copy, Debug)]
pub enum Words {
    /// There are no words.
    None,
    /// The words that this function returns.
    Fixed(fn() -> Vec<&'static str>),
    /// The names in this list of the registry.
    Listed(&'static str),
}

/// A circumstance in which an option may have another default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// The drive has a clock.
    Timed,
    /// The workload has no end.
    Generator,
    /// The workload is a trace.
    Trace,
    /// The workload is a trace and the drive has a clock.
    TimedTrace,
    /// The drive is the swap space of a virtual memory system.
    Swap,
    /// The workload is a trace and the drive is the swap space of a virtual memory system.
    SwapTrace,
    /// The run ends when blocks have failed.
    UntilFailure,
    /// Several configurations are compared.
    Compare,
}

impl Case {
    /// Returns the circumstance as a text for messages.
    pub fn words(self) -> &'static str {
        match self {
            Self::Timed => "with a clock",
            Self::Generator => "for a generator",
            Self::Trace => "for a trace",
            Self::TimedTrace => "for a trace with a clock",
            Self::Swap => "with a VM page cache",
            Self::SwapTrace => "for a trace with a VM page cache",
            Self::UntilFailure => "until a failure",
            Self::Compare => "to compare",
        }
    }
}
