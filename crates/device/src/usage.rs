//! The hosts' use of a drive since it was made. The file keeps it, like the SMART log of a real drive.
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
            /// Returns the sums of both.
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
    /// The commands of hosts and their bytes, in the sizes that the hosts gave. No decision depends on
    /// them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Usage {
        /// The number of read commands.
        pub reads,
        /// The bytes that read commands asked for.
        pub read_bytes,
        /// The number of write commands, those of zeros among them.
        pub writes,
        /// The bytes that write commands wrote.
        pub written_bytes,
        /// The number of discards.
        pub trims,
        /// The bytes that discards named.
        pub trimmed_bytes,
        /// The number of flush commands.
        pub flushes,
        /// The number of commands that began or ended within a page.
        pub unaligned,
        /// The number of hints and of hints taken back.
        pub hints,
        /// The nanoseconds in which commands were executed.
        pub busy_ns,
        /// The nanoseconds in which the drive was open.
        pub open_ns,
    }
}
