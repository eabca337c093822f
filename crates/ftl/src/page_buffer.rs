//! The page buffer: several mapping units lie in a flash page, and wait until they fill one.
//!
//! Everywhere else in this crate a *page* is a mapping unit: the piece of the logical space that
//! has a map entry of its own. Where a flash page holds several, each unit gets its place when it
//! is written, and the flash page is programmed with the last of them. Decisions are therefore
//! those of a drive whose pages have the size of a unit.
//!
//! Data that wait are lost with the power, unless the buffer is protected. A buffer that is not
//! protected programs a partly filled page in two cases: when the host sends a flush command, and
//! before a collection erases the block from which it copied. The rest of such a page is *padding*.
//!
//! With one-shot programs the pages of a word line are programmed together: a program has several
//! flash pages, which are still read one by one. Units wait until they fill a program.
//!
//! A superblock of a die is one block here: its page holds the pages at one place of all planes,
//! which the die programs, reads and erases together.

use flashgc_base::naming::{choice, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::SpecError;

use crate::frontier::Frontier;
use crate::geometry::GeometryError;
use crate::placement::PlacementSpec;
use crate::programs::{PartParity, Programs};

/// The mapping units that are programmed together. Units wait in the buffer until there are so many;
/// a loss of power may destroy them there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageBuffer {
    /// Mapping units of a flash page, at least 1; with a superblock those of its pages on all
    /// planes.
    pub units_per_page: u32,
    /// Planes of a die whose blocks are in one superblock; 1 without superblocks. A divisor of
    /// `units_per_page`.
    pub planes: u32,
    /// Flash pages of a word line that are programmed together; 1 if each is programmed alone.
    pub pages_per_program: u32,
    /// The programs that hold parity beside units; `None` if no program has both.
    pub part_parity: Option<PartParity>,
    /// `true` if units that wait in the buffer survive a loss of power.
    pub is_protected: bool,
}

impl Default for PageBuffer {
    /// A unit is a flash page: nothing waits.
    fn default() -> Self {
        Self {
            units_per_page: 1,
            planes: 1,
            pages_per_program: 1,
            part_parity: None,
            is_protected: true,
        }
    }
}

impl PageBuffer {
    /// Returns `true` if anything can wait in the buffer.
    #[inline]
    pub fn gathers(&self) -> bool {
        self.units_per_program() > 1
    }

    /// Returns the programs of a block.
    pub fn programs(&self) -> Programs {
        let Self { units_per_page, part_parity, .. } = *self;
        Programs { units_per_page, units_per_program: self.units_per_program(), part_parity }
    }

    /// Returns the mapping units that are programmed together, if none of them is parity.
    #[inline]
    pub fn units_per_program(&self) -> u32 {
        self.units_per_page.saturating_mul(self.pages_per_program)
    }

    /// Checks that a block of `units_per_block` units holds a whole number of programs.
    pub(crate) fn check_blocks(&self, units_per_block: u32) -> Result<(), GeometryError> {
        let units = self.programs().units_per_stripe();
        if units > 0 && units_per_block.is_multiple_of(units) {
            return Ok(());
        }
        let together = if self.part_parity.is_some() { "stripes" } else { "programs" };
        Err(GeometryError(format!(
            "a block of {units_per_block} mapping units is no whole number of {together} of {units}"
        )))
    }

    /// Checks that a drive with this frontier and placement can have the buffer. A protected buffer
    /// goes with all of them, and so does a buffer whose unit is a flash page.
    pub(crate) fn check(
        &self,
        frontier: Frontier,
        placement: &PlacementSpec,
    ) -> Result<(), SpecError> {
        if self.is_protected || !self.gathers() {
            return Ok(());
        }
        refuse_if!(
            !placement.is_none(),
            format!("{}, or {}", placement.without(), choice("power_protection", "yes")),
            "{} does not go with {}: pages are padded before an erase, and padding would take \
             the room that copies of a class need",
            placement.said(),
            choice("power_protection", "no")
        );
        if frontier.has_pool() {
            return Ok(());
        }
        Err(SpecError::new(
            format!(
                "{} no needs the pool or mixed frontier, found {}, which erases a block while its data are in \
                 memory",
                subject("power_protection"),
                choice("frontier", frontier)
            ),
            format!("{}, or {}", choice("frontier", "pool"), choice("power_protection", "yes")),
        ))
    }
}
