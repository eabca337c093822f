//! Every option of an experiment, declared once: name, section, kind, unit, default, range, help,
//! example, and the drives it applies to.
//!
//! The command line, experiment files, the JSON schema, the keywords of the Python functions, the
//! reference pages and the engine's defaults are made from these declarations. [`options`] lists
//! them. The structs of this module hold the values that the engine gets.

mod info;
mod kinds;
pub mod numbers;
mod programs;
mod run;
mod timed;
mod typed;
mod value;

use std::sync::LazyLock;

pub use info::{OnlyWith, OptionInfo};
pub use kinds::{Case, Drives, Holder, Kind, Section, Words};
pub use programs::{Programs, parse_program};
pub use run::{HostConfig, NONE, RunConfig, SwapConfig, TraceConfig, parse_parity, parse_scale};
pub use timed::{TimedConfig, TimelineConfig};
pub use value::Value;

/// Sets of options that give the same value in different ways, each with the reason why only one
/// option of the set may be given.
pub const ALTERNATIVES: [(&[&str], &str); 3] = [
    (&["blocks", "capacity"], "each is the size of the drive"),
    (&["spare", "overprovision"], "spare = overprovision / (1 + overprovision)"),
    (&["writes", "collections", "requests", "passes"], "a run has one length"),
];

const COLUMNS: &str = "each says which column is which";

/// Two options that cannot be given together.
#[derive(Clone, Copy, Debug)]
pub struct Excluded {
    /// The key of the option that is refused.
    pub key: &'static str,
    /// The key of the other option.
    pub with: &'static str,
    /// The physical reason.
    pub why: &'static str,
    /// The advice; empty if it is to leave out one of the two.
    pub hint: &'static str,
}

const fn excluded(
    key: &'static str,
    with: &'static str,
    why: &'static str,
    hint: &'static str,
) -> Excluded {
    Excluded { key, with, why, hint }
}

/// The pairs of options that cannot be given together, for any values.
pub static EXCLUDED: &[Excluded] = &[
    excluded(
        "host_cache",
        "vm_page_cache",
        "each stands between the program and the drive, and swapping goes past the other one",
        "",
    ),
    excluded(
        "endurance",
        "vm_page_cache",
        "a drive that has become read-only takes no page, and the program cannot go on",
        "",
    ),
    excluded("host_cache", "tenant", "a cache serves one host, and tenants are several", ""),
    excluded("streams", "vm_page_cache", NO_STREAMS, ""),
    excluded("format", "columns", COLUMNS, ""),
    excluded("format", "layout", COLUMNS, ""),
    excluded("layout", "columns", COLUMNS, ""),
    excluded("flush_every", "host_cache", NO_FLUSHES, ""),
    excluded("flush_every", "vm_page_cache", NO_FLUSHES, ""),
    excluded("writes", "vm_page_cache", REFERENCES, "give {requests}, or {passes} of a trace"),
    excluded("collections", "vm_page_cache", REFERENCES, "give {requests}, or {passes} of a trace"),
    excluded("victim", "scheme", PRESET, ""),
    excluded("placement", "scheme", PRESET, ""),
    excluded("source", "tenant", OF_TENANTS, "write workload= in each tenant"),
    excluded("arrivals", "tenant", OF_TENANTS, "write arrivals= in each tenant"),
    excluded("request_size", "tenant", OF_TENANTS, "write request_size= in each tenant"),
    excluded(
        "passes",
        "tenant",
        "a tenant's trace begins again at its end, so that all tenants go on until the last",
        "give {requests}, for example 1000000",
    ),
];

/// The reason why the pages of a program's memory have no streams.
pub(crate) const NO_STREAMS: &str =
    "references to memory name no stream, so a page that is swapped out has none";

const NO_FLUSHES: &str = "a cache takes no flush commands";
const REFERENCES: &str = "the run of a program is as long as its references to memory";
const PRESET: &str = "a scheme is a victim policy and a placement";
const OF_TENANTS: &str = "each tenant has its own";

/// Declares, from one text, a struct that the engine reads and the options that fill it.
///
/// A field `name: type => "default", "help", info;` is an option: its default is written as a user
/// would type it, and the help is its documentation. A field `name: type = value;` is no option.
macro_rules! holder {
    (
        $(#[$meta:meta])*
        pub struct $name:ident: $holder:ident in $table:ident {
            $(
                $(#[$attribute:meta])*
                $field:ident: $type:ty
                    $(= $value:expr)?
                    $(=> $default:literal, $help:literal, $info:expr)?;
            )*
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $( $(#[$attribute])* $(#[doc = $help])? pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $($value)? $($crate::options::typed::read($default))?, )* }
            }
        }

        /// The options that fill the struct, in the order of its fields.
        pub(super) static $table: &[$crate::options::OptionInfo] = &[
            $($(
                $info.of($crate::options::Holder::$holder, stringify!($field), $default, $help),
            )?)*
        ];
    };
}
pub(crate) use holder;

/// Returns every option, section by section.
pub fn options() -> &'static [&'static OptionInfo] {
    static ALL: LazyLock<Vec<&OptionInfo>> = LazyLock::new(|| {
        let mut all: Vec<_> = run::tables().into_iter().chain(timed::tables()).flatten().collect();
        all.sort_by_key(|option| option.section); // keeps the order of declaration within a section
        all
    });
    &ALL
}

/// Returns the option with this key, if there is one.
pub fn find(key: &str) -> Option<&'static OptionInfo> {
    options().iter().copied().find(|option| option.key == key)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_unique_and_every_default_is_a_value_of_its_option() {
        let mut keys = HashSet::new();
        for option in options() {
            assert!(keys.insert(option.key), "{} is declared twice", option.key);
            let others = option.cases.iter().map(|(_, value)| *value);
            for value in others.chain([option.default]) {
                // Some defaults are not values but descriptions, because they depend on the
                // workload.
                if !["", "none"].contains(&value) && !value.contains(' ') {
                    assert_eq!(option.check(value), Ok(()), "{} = {value}", option.key);
                }
            }
            if !option.example.is_empty() {
                assert_eq!(option.check(option.example), Ok(()), "{}", option.key);
            }
        }
    }

    #[test]
    fn help_is_one_plain_paragraph() {
        for option in options() {
            assert!(option.help.ends_with('.'), "{}: {}", option.key, option.help);
            assert!(!option.help.contains('\n') && !option.help.contains("  "), "{}", option.key);
        }
    }

    #[test]
    fn structs_begin_with_the_defaults_that_are_shown() {
        let run = RunConfig::default();
        assert_eq!((run.blocks, run.pages_per_block, run.page_size), (Some(4096), Some(256), 4096));
        assert_eq!((run.spare, run.runs, run.seed), (0.1, 1, 1));
        assert_eq!((run.victim.as_str(), run.endurance), ("d-choices:d=10", None));
        let timed = TimedConfig::default();
        assert_eq!((timed.striping.as_str(), timed.queue_depth), ("CWDP", 256));
        assert_eq!((timed.copy_back, timed.idle, timed.rate_scale), (false, None, 1.0));
    }

    #[test]
    fn a_trace_that_sizes_its_drive_gives_it_hundreds_of_blocks() {
        let free = RunConfig { blocks: None, pages_per_block: None, ..RunConfig::default() };
        let chosen = |config: &RunConfig, units| config.with_block(units).pages_per_block.unwrap();
        // The drive should have 512 blocks; 131,072 pages fill 512 blocks of 256 pages.
        let pages = [140_383, 131_072, 131_071, 100_000, 16_384, 2_980, 1];
        let sizes = pages.map(|units| chosen(&free, Some(units)));
        assert_eq!(sizes, [256, 256, 128, 128, 32, 8, 8]);
        assert_eq!(chosen(&free, None), 256, "no trace sizes the drive");
        for given in [
            RunConfig { blocks: Some(64), ..free.clone() },
            RunConfig { capacity: Some(1 << 30), ..free.clone() },
        ] {
            assert_eq!(chosen(&given, Some(2_980)), 256, "its size was asked for");
        }
        let sized = RunConfig { pages_per_block: Some(64), ..free.clone() };
        assert_eq!(chosen(&sized, Some(2_980)), 64);
        let eight = RunConfig { pages_per_block: Some(8), ..free.clone() };
        assert_eq!(chosen(&eight, Some(1)), chosen(&free, Some(1)));
        assert!(!eight.has_blocks_of(&free), "they are equal for this trace alone");
        assert!(free.has_blocks_of(&free.clone()));
        // Each of the 32 planes should have 128 blocks.
        let clock = TimedConfig { channels: 8, dies: 4, ..TimedConfig::default() };
        let timed = RunConfig { timed: Some(clock), ..free.clone() };
        assert_eq!([1 << 20, 1_000_000].map(|units| chosen(&timed, Some(units))), [256, 128]);
        // A page has four mapping units.
        let packed = RunConfig { page_size: 16_384, mapping_unit: Some(4096), ..free };
        assert_eq!(chosen(&packed, Some(4 * 131_072)), 256);
        assert_eq!(chosen(&packed, Some(131_072)), 64);
    }
}
