//! The order in which a collection copies the valid pages of its victim.
//!
//! Pages that are copied in the order in which they were written stay together: what is written in sequence
//! lies in one block again, and dies together. Some controllers empty the blocks of a superblock one after the
//! other instead, and FEMU does so, too. That tears such sequences apart. If a victim's copies fill one
//! superblock and begin the next, each sequence ends in both, and neither gets free as early.
//!
//! ```text
//! written on 2 dies    0 2 4 6     copied in the order of writing    0 1 2 3 | 4 5 6 7
//!                      1 3 5 7     copied die by die                 0 2 4 6 | 1 3 5 7
//! ```

use std::fmt;

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, suggest};

use crate::members::Members;

/// The order in which the valid pages of a victim are copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyOrder {
    /// As they were written.
    #[default]
    Written,
    /// Die by die: first all pages of the first die of the superblock, in the order of writing, then those of
    /// the second.
    Die,
}

impl CopyOrder {
    /// The words of all orders.
    pub const NAMES: [&str; 2] = ["written", "die"];

    /// Reads one of [`NAMES`](Self::NAMES).
    ///
    /// # Errors
    /// The word is unknown.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        match text {
            "written" => Ok(Self::Written),
            "die" => Ok(Self::Die),
            _ => Err(SpecError::new(
                format!("copy order: found '{text}', expected {}", Self::NAMES.join(", ")),
                suggest(text, Self::NAMES),
            )),
        }
    }

    /// Returns the dies of a superblock that are copied one after the other; `None` if pages are copied as they
    /// were written. Superblocks join the dies `members`. `shrinks`: they go on without their bad blocks.
    ///
    /// # Errors
    /// The superblocks have no such order.
    pub fn dies(self, members: Members, shrinks: bool) -> Result<Option<Members>, SpecError> {
        let without = choice("copy_order", "written");
        refuse_if!(
            self == Self::Die && members.dies < 2,
            format!("{}, or {without}", choice("superblock", "dies=16,planes=4")),
            "{} die needs superblocks of several dies: the pages of one die have one order",
            subject("copy_order")
        );
        refuse_if!(
            self == Self::Die && shrinks,
            format!("{without}, or {}", choice("bad_blocks", "retire")),
            "{} die does not go with {} shrink: superblocks that have lost blocks have their pages on other dies \
             than whole ones",
            subject("copy_order"),
            option("bad_blocks")
        );
        Ok((self == Self::Die).then_some(members))
    }
}

impl fmt::Display for CopyOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}
