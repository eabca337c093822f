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
//! With two passes a word line is programmed twice: coarsely, and finely after the first pass of the
//! next word line of its die. No page of it can be read before the second pass, so its units wait for
//! that. The last word line of a block gets both passes at once. In a superblock over several dies the
//! units of a stripe wait until the stripe below it is full, and those of the last row until the
//! superblock is full.
//!
//! A superblock of a die is one block here: its page holds the pages at one place of all planes,
//! which the die programs, reads and erases together.

use flashgc_base::naming::{choice, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::SpecError;

use crate::frontier::Frontier;
use crate::geometry::GeometryError;
use crate::members::Members;
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
    /// The word lines that the second pass of a word line waits for; `None` if one pass programs it.
    pub second_pass: Option<SecondPass>,
    /// `true` if units that wait in the buffer survive a loss of power.
    pub is_protected: bool,
}

/// The order of the second passes of a superblock: each follows the first pass of the next word line
/// of its die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondPass {
    /// The programs with data of a stripe; 1 without parity.
    programs_of_stripe: u32,
    /// The stripes of a row, which has a program of each die.
    stripes_of_row: u32,
}

impl SecondPass {
    /// Returns the order of second passes in superblocks over these dies.
    pub fn of(members: Members) -> Self {
        let parts = members.stripe.unwrap_or(1);
        Self {
            programs_of_stripe: members.stripe.map_or(1, |parts| parts - 1),
            stripes_of_row: members.dies / parts,
        }
    }
}

impl Default for PageBuffer {
    /// A unit is a flash page: nothing waits.
    fn default() -> Self {
        Self {
            units_per_page: 1,
            planes: 1,
            pages_per_program: 1,
            part_parity: None,
            second_pass: None,
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

    /// Returns the buffer of blocks in SLC mode, whose word lines have one page.
    #[must_use]
    pub fn of_slc(self) -> Self {
        Self { pages_per_program: 1, second_pass: None, part_parity: None, ..self }
    }

    /// Returns the offset of the first unit that waits in an open block of `block` units, which is
    /// filled up to the offset `next`; `next` if no unit waits.
    #[inline]
    pub fn first_waiting(&self, next: u32, block: u32) -> u32 {
        match self.second_pass {
            None => self.programs().program(next).1.start,
            Some(_) if next == block => next,
            Some(SecondPass { programs_of_stripe, stripes_of_row }) => {
                let stripe = self.units_per_program() * programs_of_stripe;
                (next / stripe).saturating_sub(stripes_of_row) * stripe
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn two_pass(dies: u32, stripe: Option<u32>) -> PageBuffer {
        PageBuffer {
            pages_per_program: 2,
            second_pass: Some(SecondPass::of(Members { dies, stripe, planes: 1 })),
            ..PageBuffer::default()
        }
    }

    /// Returns the first offset that waits, of a block of `block` units, after each unit.
    fn waiting(buffer: PageBuffer, block: u32) -> Vec<u32> {
        (0..=block).map(|next| buffer.first_waiting(next, block)).collect()
    }

    #[test]
    fn a_word_line_waits_for_the_first_pass_of_the_next_and_the_last_for_none() {
        // Word lines of 2 units: 0 and 1 wait until 2 and 3 are there. The block is full with 6.
        assert_eq!(waiting(two_pass(1, None), 6), [0, 0, 0, 0, 2, 2, 6]);
        let one_shot = PageBuffer { second_pass: None, ..two_pass(1, None) };
        assert_eq!(waiting(one_shot, 6), [0, 0, 2, 2, 4, 4, 6]);
        assert_eq!(waiting(two_pass(1, None).of_slc(), 6), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn each_die_of_a_superblock_has_a_word_line_that_waits() {
        // Two dies: the word line of 0 and 1 lies above that of 4 and 5, on the first die.
        assert_eq!(waiting(two_pass(2, None), 8), [0, 0, 0, 0, 0, 0, 2, 2, 8]);
        // Three dies, one with parity: a row is a stripe of 4 units.
        assert_eq!(waiting(two_pass(3, Some(3)), 8), [0, 0, 0, 0, 0, 0, 0, 0, 8]);
        assert_eq!(waiting(two_pass(3, Some(3)), 12)[7..], [0, 4, 4, 4, 4, 12]);
        // Four dies in two mirrored pairs: a stripe is a program, and a row has two.
        assert_eq!(waiting(two_pass(4, Some(2)), 8), waiting(two_pass(2, None), 8));
    }
}
