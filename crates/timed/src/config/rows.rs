//! The places of the pages of superblocks that join the blocks of several dies.

use flashgc_ftl::{MemberProgram, Members, ProgramPlace};

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
    units_per_page: u32,
    units_per_program: u32,
    pages_per_program: u32,
}

impl Rows {
    /// Returns the places on this hardware.
    pub fn new(hardware: &Hardware) -> Self {
        Self {
            members: hardware.members,
            channels: hardware.channels,
            dies_per_channel: hardware.dies_per_channel(),
            units_per_page: hardware.units_per_page,
            units_per_program: hardware.units_per_program(),
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

    /// Returns the dies of the superblocks of `plane`, a plane of the map.
    pub fn dies(self, plane: u32) -> impl Iterator<Item = u32> {
        (0..self.members.dies).map(move |member| self.die(plane, member))
    }

    /// Returns the plane of the map whose superblocks join `die`.
    pub fn plane_of(&self, die: u32) -> u32 {
        let turn = die % self.dies_per_channel * self.channels + die / self.dies_per_channel;
        turn / self.members.dies
    }

    /// Returns the member that has the unit at `offset` of a superblock.
    pub fn member(&self, offset: u32) -> u32 {
        self.program(offset).member
    }

    /// Returns the number of the flash page, in its block, that has the unit at `offset` of a
    /// superblock.
    pub fn page(&self, offset: u32) -> u32 {
        let in_program = offset % self.units_per_program / self.units_per_page;
        self.program(offset).row * self.pages_per_program + in_program
    }

    /// Returns the member with the parity of the stripe whose last data are in the program with the
    /// unit at `offset`. `None` if other data of the stripe come later, or without parity.
    pub fn parity_after(&self, offset: u32) -> Option<u32> {
        let place = self.program(offset);
        place.parity.filter(|_| place.is_last)
    }

    /// Returns the offsets of the programs with data of the stripe that has the unit at `offset`. Without
    /// parity: of the program that has it.
    pub fn programs_of_stripe(&self, offset: u32) -> impl DoubleEndedIterator<Item = u32> + Clone {
        let units = self.units_per_program;
        let data = self.members.stripe.map_or(1, |parts| parts - 1);
        let first = offset / units / data * data;
        (first..first + data).map(move |program| program * units)
    }

    /// Returns the row of programs that has the unit at `offset` of a superblock.
    pub fn row(&self, offset: u32) -> u32 {
        self.program(offset).row
    }

    /// Returns the offset of the program of a member in a row, and `true` if it has parity; the offset is
    /// then that of the last program with data of its stripe.
    pub fn program_of(&self, member: u32, row: u32) -> (u32, bool) {
        match self.members.program(member, row) {
            MemberProgram::Data(program) => (program * self.units_per_program, false),
            MemberProgram::Parity(program) => (program * self.units_per_program, true),
        }
    }

    fn program(&self, offset: u32) -> ProgramPlace {
        self.members.place(offset / self.units_per_program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::settings;

    fn rows(dies: u32, stripe: Option<u32>) -> Rows {
        let mut hardware = settings().hardware;
        (hardware.channels, hardware.dies) = (2, 4);
        hardware.members = Members { dies, stripe };
        hardware.units_per_page = 4;
        hardware.pages_per_program = 3;
        Rows::new(&hardware)
    }

    #[test]
    fn programs_go_to_the_dies_in_turn_and_neighbours_to_other_channels() {
        let rows = rows(4, None);
        // 12 units a program; pages of 4 units.
        let places = [0, 11, 12, 47, 48, 52].map(|offset| (rows.member(offset), rows.page(offset)));
        assert_eq!(places, [(0, 0), (0, 2), (1, 0), (3, 2), (0, 3), (0, 4)]);
        // Channel 0 has the dies 0 to 3, channel 1 the dies 4 to 7.
        assert_eq!(rows.dies(0).collect::<Vec<_>>(), [0, 4, 1, 5]);
        assert_eq!(rows.dies(1).collect::<Vec<_>>(), [2, 6, 3, 7]);
        assert_eq!([0, 1, 2, 7].map(|die| rows.plane_of(die)), [0, 0, 1, 1]);
        assert_eq!(rows.parity_after(47), None);
    }

    #[test]
    fn parity_rotates_over_the_members_of_each_stripe() {
        // Two stripes of four dies: three of a stripe have data.
        let rows = rows(8, Some(4));
        let of_row = |row: u32| -> Vec<u32> {
            (0..6).map(|place| rows.member((row * 6 + place) * 12)).collect()
        };
        assert_eq!(of_row(0), [1, 2, 3, 5, 6, 7]);
        assert_eq!(of_row(1), [0, 2, 3, 4, 6, 7]);
        assert_eq!(of_row(3), [0, 1, 2, 4, 5, 6]);
        assert_eq!(of_row(4), of_row(0));
        let ends = [2, 5, 8, 11].map(|program| rows.parity_after(program * 12));
        assert_eq!(ends, [Some(0), Some(4), Some(1), Some(5)]);
        assert_eq!(rows.parity_after(0), None);
        assert_eq!(rows.page(6 * 12), 3);
    }
}
