//! What hosts asked of a drive, since it was made: the file keeps it, as the SMART log of a real drive.
//!
//! It is written with the superblock, so a crash loses the counts since the last one.

use crate::codec::{Get, Put};

/// Declares a struct of counts once: its fields, their sums, and their order in the file.
macro_rules! counts {
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $( $(#[$doc:meta])* pub $count:ident, )* }
    ) => {
        $(#[$meta])*
        pub struct $name { $( $(#[$doc])* pub $count: u64, )* }

        impl $name {
            /// All counts of both.
            pub fn plus(&self, other: &Self) -> Self {
                Self { $( $count: self.$count.saturating_add(other.$count), )* }
            }

            pub(crate) fn put(&self, to: &mut Put<'_>) {
                $( to.u64(self.$count); )*
            }

            pub(crate) fn take(from: &mut Get<'_>) -> Self {
                Self { $( $count: from.u64(), )* }
            }
        }
    };
}

counts! {
    /// Commands of hosts and their bytes, as they were asked for. Nothing here decides anything.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Usage {
        /// Read commands.
        pub reads,
        /// Bytes that they asked for.
        pub read_bytes,
        /// Write commands, those of zeros among them.
        pub writes,
        /// Bytes that they wrote.
        pub written_bytes,
        /// Discards.
        pub trims,
        /// Bytes that they named.
        pub trimmed_bytes,
        /// Flush commands.
        pub flushes,
        /// Commands that began or ended within a page.
        pub unaligned,
        /// Hints and hints taken back.
        pub hints,
        /// Nanoseconds in which commands were executed.
        pub busy_ns,
        /// Nanoseconds in which the drive was open.
        pub open_ns,
    }
}
