//! The programs of a block: which units are programmed together, and which of them lie in a flash page.

use std::ops::Range;

/// Programs that have parity in one of several equal parts, and data in the others: the last one of each
/// stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartParity {
    /// The number of programs of a stripe.
    pub programs: u32,
    /// The number of parts of the last one. With 4, three quarters of each of its pages are data.
    pub parts: u32,
}

/// The programs of a block, and their flash pages. Offsets count the units of data of the block, so a
/// program that has parity, too, is shorter than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Programs {
    /// The units of a page without parity.
    pub units_per_page: u32,
    /// The units of a program without parity: a multiple of `units_per_page`.
    pub units_per_program: u32,
    /// The programs with parity and data; `None` if each has one of them only.
    pub part_parity: Option<PartParity>,
}

impl Programs {
    /// Returns the number of the program with the unit at `offset`, counted from the first one of its block,
    /// and the offsets of its units.
    pub fn program(&self, offset: u32) -> (u32, Range<u32>) {
        let units = self.units_per_program;
        let Some(PartParity { programs, .. }) = self.part_parity else {
            let index = offset / units;
            return (index, index * units..(index + 1) * units);
        };
        let of_stripe = self.units_per_stripe();
        let (stripe, place) = (offset / of_stripe, offset % of_stripe / units);
        let start = stripe * of_stripe + place * units;
        (stripe * programs + place, start..(start + units).min((stripe + 1) * of_stripe))
    }

    /// Returns the offset of the first unit of program number `index`.
    pub fn start(&self, index: u32) -> u32 {
        match self.part_parity {
            None => index * self.units_per_program,
            Some(PartParity { programs, .. }) => {
                let of_stripes = index / programs * self.units_per_stripe();
                of_stripes + index % programs * self.units_per_program
            }
        }
    }

    /// Returns the offsets of the units of the flash page with the unit at `offset`.
    pub fn page(&self, offset: u32) -> Range<u32> {
        let mut units = self.units_per_page;
        let mut of_program = 0;
        if let Some(PartParity { parts, .. }) = self.part_parity {
            let (_, program) = self.program(offset);
            if program.end - program.start < self.units_per_program {
                units = units / parts * (parts - 1);
            }
            of_program = program.start;
        }
        let start = offset - (offset - of_program) % units;
        start..start + units
    }

    /// Returns the units of data after which the pattern of programs begins again.
    pub fn units_per_stripe(&self) -> u32 {
        match self.part_parity {
            None => self.units_per_program,
            Some(PartParity { programs, parts }) => {
                // Both may be those of a drive that is refused later.
                let all = programs.saturating_mul(self.units_per_program);
                all.saturating_sub(self.units_per_program / parts.max(1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_pages_are_those_of_a_block_that_was_laid_out_one_by_one() {
        let shared = |programs, parts| Some(PartParity { programs, parts });
        for (page, pages, part_parity) in [
            (4, 3, None),
            (4, 1, shared(3, 4)),
            (16, 3, shared(4, 4)),
            (8, 2, shared(3, 2)),
            (6, 1, shared(2, 3)),
        ] {
            let programs =
                Programs { units_per_page: page, units_per_program: page * pages, part_parity };
            let (mut index, mut offset) = (0, 0);
            for _ in 0..3 {
                for place in 0..part_parity.map_or(1, |it| it.programs) {
                    let short = part_parity.filter(|it| place == it.programs - 1);
                    let units = page - short.map_or(0, |it| page / it.parts);
                    let program = offset..offset + units * pages;
                    assert_eq!(programs.start(index), program.start);
                    for first in program.clone().step_by(units as usize) {
                        for unit in first..first + units {
                            assert_eq!(programs.program(unit), (index, program.clone()), "{unit}");
                            assert_eq!(programs.page(unit), first..first + units, "{unit}");
                        }
                    }
                    (index, offset) = (index + 1, program.end);
                }
            }
            assert_eq!(offset, 3 * programs.units_per_stripe());
        }
    }
}
