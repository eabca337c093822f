//! The places of the pages of superblocks that join the blocks of several dies.

use std::ops::Range;

use flashgc_ftl::{MemberProgram, Members, ProgramPlace, Programs, Smaller};

use super::hardware::Hardware;

/// The places of the pages of superblocks over several dies.
///
/// [`Members`] says which member has which program. Neighbours lie on different channels: the dies of
/// the drive are taken channel by channel, first the first of each channel, then the second.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    members: Members,
    channels: u32,
    dies_per_channel: u32,
    programs: Programs,
    pages_per_program: u32,
}

impl Rows {
    /// Returns the places on this hardware.
    pub fn new(hardware: &Hardware) -> Self {
        Self {
            members: hardware.members,
            channels: hardware.channels,
            dies_per_channel: hardware.dies_per_channel(),
            programs: hardware.programs(),
            pages_per_program: hardware.pages_per_program,
        }
    }

    /// Returns `true` if a superblock joins several dies.
    pub fn are_wide(&self) -> bool {
        self.members.dies > 1
    }

    /// Returns the number of dies that a superblock joins.
    pub fn dies_together(&self) -> u32 {
        self.members.dies
    }

    /// Returns the die with a member of the superblocks of `plane`, a plane of the map.
    pub fn die(&self, plane: u32, member: u32) -> u32 {
        let turn = plane * self.members.dies + member;
        turn % self.channels * self.dies_per_channel + turn / self.channels
    }

    /// Returns the plane of the map whose superblocks join `die`.
    pub fn plane_of(&self, die: u32) -> u32 {
        let turn = die % self.dies_per_channel * self.channels + die / self.dies_per_channel;
        turn / self.members.dies
    }

    /// Returns the planes of each die that a stripe has.
    pub fn planes_of_stripe(&self) -> u32 {
        self.members.planes
    }

    /// Returns the places in one superblock. `smaller` has its programs if it has lost blocks.
    pub fn of(self, smaller: Option<&Smaller>) -> Places<'_> {
        Places { rows: self, smaller }
    }
}

/// The places of the pages of one superblock. Offsets count its units.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    rows: Rows,
    smaller: Option<&'a Smaller>,
}

impl<'a> Places<'a> {
    /// Returns `true` if the superblock has blocks of a member.
    pub fn have(&self, member: u32) -> bool {
        self.smaller.is_none_or(|smaller| smaller.has(member))
    }

    /// Returns the member that has the unit at `offset`.
    pub fn member(&self, offset: u32) -> u32 {
        self.place(offset).member
    }

    /// Returns the number of the flash page, in its block, that has the unit at `offset`.
    pub fn page(&self, offset: u32) -> u32 {
        self.place(offset).row * self.rows.pages_per_program + self.page_in_program(offset)
    }

    /// Returns the number, in each block, of the first flash page of a row of programs.
    pub fn first_page(&self, row: u32) -> u32 {
        row * self.rows.pages_per_program
    }

    /// Returns the number of the flash page, among those that are programmed together, that has the unit at
    /// `offset`.
    fn page_in_program(&self, offset: u32) -> u32 {
        let (page, program) = (self.units_of_page(offset), self.program(offset).1);
        (page.start - program.start) / (page.end - page.start)
    }

    /// Returns the units, with those of parity, that move over the bus for the program at `offset`.
    pub fn units_to_program(&self, offset: u32) -> u32 {
        match self.smaller {
            Some(smaller) if self.rows.members.stripe.is_none() => {
                let program = smaller.program(offset).1;
                program.end - program.start
            }
            _ => self.rows.programs.units_per_program,
        }
    }

    /// Returns the member whose whole program is the parity of the stripe whose last data are in the program
    /// with the unit at `offset`. `None` if other data of the stripe come later, or without such a member.
    pub fn parity_after(&self, offset: u32) -> Option<u32> {
        let place = self.place(offset);
        place.parity.filter(|_| place.is_last)
    }

    /// Returns the pages that rebuild that of the unit at `offset`, as far as they have data: each with its
    /// member and the offset of its first unit. The pages of several planes of a member are one here.
    /// The member of the unit is among them if other planes of it are in the stripe.
    pub fn others_of_stripe(self, offset: u32) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let of_page = self.page_in_program(offset);
        let own = self.member(offset);
        let page = move |program: u32| {
            let start = self.start(program);
            let page = self.units_of_page(start);
            (self.member(start), start + of_page * (page.end - page.start))
        };
        let shares = self.rows.planes_of_stripe() > 1;
        self.programs_of_stripe(offset)
            .map(page)
            .filter(move |&(member, _)| shares || member != own)
    }

    /// Returns the offset of the first unit of the last program with data of the stripe that has the unit at
    /// `offset`.
    pub fn last_of_stripe(&self, offset: u32) -> u32 {
        self.start(self.programs_of_stripe(offset).end - 1)
    }

    /// Returns the programs with data of the stripe that has the unit at `offset`. Without parity: the program
    /// that has it.
    fn programs_of_stripe(&self, offset: u32) -> Range<u32> {
        let index = self.program(offset).0;
        if let Some(smaller) = self.smaller {
            return smaller.programs_of_stripe(index);
        }
        let members = self.rows.members;
        let shares = members.part_parity().is_some();
        let data = members.stripe.map_or(1, |dies| dies - u32::from(!shares));
        let first = index / data * data;
        first..first + data
    }

    /// Returns the row of programs that has the unit at `offset`.
    pub fn row(&self, offset: u32) -> u32 {
        self.place(offset).row
    }

    /// Returns the offset of the program of a member in a row, and `true` if it has parity; the offset is
    /// then that of the last program with data of its stripe. `None` if the member has left.
    pub fn program_of(&self, member: u32, row: u32) -> Option<(u32, bool)> {
        let program = match self.smaller {
            Some(smaller) => smaller.member_program(member, row)?,
            None => self.rows.members.program(member, row),
        };
        Some(match program {
            MemberProgram::Data(program) => (self.start(program), false),
            MemberProgram::Parity(program) => (self.start(program), true),
        })
    }

    fn place(&self, offset: u32) -> ProgramPlace {
        let index = self.program(offset).0;
        match self.smaller {
            Some(smaller) => smaller.place(index),
            None => self.rows.members.place(index),
        }
    }

    fn program(&self, offset: u32) -> (u32, Range<u32>) {
        match self.smaller {
            Some(smaller) => smaller.program(offset),
            None => self.rows.programs.program(offset),
        }
    }

    fn start(&self, program: u32) -> u32 {
        match self.smaller {
            Some(smaller) => smaller.start(program),
            None => self.rows.programs.start(program),
        }
    }

    fn units_of_page(&self, offset: u32) -> Range<u32> {
        match self.smaller {
            Some(smaller) => smaller.page(offset),
            None => self.rows.programs.page(offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::settings;

    fn rows(dies: u32, stripe: Option<u32>) -> Rows {
        let mut hardware = settings().hardware;
        (hardware.channels, hardware.dies) = (2, 4);
        hardware.members = Members { dies, stripe, planes: 1 };
        hardware.units_per_page = 4;
        hardware.pages_per_program = 3;
        Rows::new(&hardware)
    }

    #[test]
    fn programs_go_to_the_dies_in_turn_and_neighbours_to_other_channels() {
        let rows = rows(4, None);
        // 12 units a program; pages of 4 units.
        let places = [0, 11, 12, 47, 48, 52]
            .map(|offset| (rows.of(None).member(offset), rows.of(None).page(offset)));
        assert_eq!(places, [(0, 0), (0, 2), (1, 0), (3, 2), (0, 3), (0, 4)]);
        // Channel 0 has the dies 0 to 3, channel 1 the dies 4 to 7.
        assert_eq!([0, 1, 2, 3].map(|member| rows.die(0, member)), [0, 4, 1, 5]);
        assert_eq!([0, 1, 2, 3].map(|member| rows.die(1, member)), [2, 6, 3, 7]);
        assert_eq!([0, 1, 2, 7].map(|die| rows.plane_of(die)), [0, 0, 1, 1]);
        assert_eq!(rows.of(None).parity_after(47), None);
    }

    #[test]
    fn parity_rotates_over_the_members_of_each_stripe() {
        // Two stripes of four dies: three of a stripe have data.
        let rows = rows(8, Some(4));
        let of_row = |row: u32| -> Vec<u32> {
            (0..6).map(|place| rows.of(None).member((row * 6 + place) * 12)).collect()
        };
        assert_eq!(of_row(0), [1, 2, 3, 5, 6, 7]);
        assert_eq!(of_row(1), [0, 2, 3, 4, 6, 7]);
        assert_eq!(of_row(3), [0, 1, 2, 4, 5, 6]);
        assert_eq!(of_row(4), of_row(0));
        let ends = [2, 5, 8, 11].map(|program| rows.of(None).parity_after(program * 12));
        assert_eq!(ends, [Some(0), Some(4), Some(1), Some(5)]);
        assert_eq!(rows.of(None).parity_after(0), None);
        assert_eq!(rows.of(None).page(6 * 12), 3);
    }

    #[test]
    fn a_program_with_parity_on_one_of_its_planes_has_the_data_of_the_others() {
        // Pages of 4 planes, a unit each, and 3 pages a program. A stripe has all planes of 4 dies: three
        // programs of 12 units, and one of 9.
        let rows = Rows { members: Members::new(4, Some(16)), ..rows(4, None) };
        let programs = Programs { part_parity: rows.members.part_parity(), ..rows.programs };
        let rows = Rows { programs, ..rows };
        assert_eq!([0, 35, 36, 44, 45].map(|offset| rows.of(None).member(offset)), [1, 3, 0, 0, 0]);
        assert_eq!(
            [0, 35, 36, 39, 44, 45].map(|offset| rows.of(None).page(offset)),
            [0, 2, 0, 1, 2, 3]
        );
        // The second pages of the row: of the other dies, and of the other planes of its own.
        let others = [(1, 4), (2, 16), (3, 28), (0, 39)];
        assert_eq!(rows.of(None).others_of_stripe(40).collect::<Vec<_>>(), others);
        assert_eq!(rows.of(None).others_of_stripe(5).collect::<Vec<_>>(), others);
        assert_eq!((rows.of(None).last_of_stripe(3), rows.of(None).parity_after(44)), (36, None));
        // With the parity on a die of its own, that of the unit does not read again.
        let apart = self::rows(4, Some(4));
        assert_eq!(apart.of(None).others_of_stripe(5).collect::<Vec<_>>(), [(2, 16), (3, 28)]);
    }
}
