//! The dies of a superblock: which of them has which program, and which one has the parity.

use crate::programs::PartParity;

/// The dies whose blocks a superblock joins.
///
/// A superblock is filled program by program, and each program goes to the next of its dies: the
/// *members* 0, 1, 2 and so on, then 0 again. With parity the members form stripes of equal size. In
/// each row of programs one member of each stripe has the parity; it is member 0 of the stripe in the
/// first row, then 1, and so on.
///
/// If a stripe has one plane of each die, the stripes of all planes lie side by side: the member with the
/// parity has a whole program of it. If a stripe has several planes of each die, one of these planes has
/// the parity and the others have data. That member is programmed last, when the data of the stripe are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// The number of these dies: a divisor of the dies of the drive. With 1, each die has its own
    /// superblocks or blocks.
    pub dies: u32,
    /// The number of dies of a stripe, one of which has the parity of the others: a divisor of
    /// `dies`. `None` without parity.
    pub stripe: Option<u32>,
    /// The planes of each die that a stripe has: a divisor of its planes. 1 without parity.
    pub planes: u32,
}

/// The place of a program of a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramPlace {
    /// The member that has the program.
    pub member: u32,
    /// The row of programs.
    pub row: u32,
    /// The member whose whole program is the parity of the program's stripe; `None` without such a member.
    pub parity: Option<u32>,
    /// `true` if the program is the last one with data of its stripe.
    pub is_last: bool,
}

/// The contents of a program of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberProgram {
    /// Data; the field is the index of the program in the superblock, without those of parity.
    Data(u32),
    /// Parity; the field is the index of the last program with data of the stripe.
    Parity(u32),
}

impl Members {
    /// Each die has its own superblocks or blocks.
    pub const ONE: Self = Self { dies: 1, stripe: None, planes: 1 };

    /// Returns superblocks over `dies` dies. With parity of one in `parts`, their stripes have as few planes
    /// of each die as they can, so that a die that fails takes as little of a stripe with it as can be.
    pub fn new(dies: u32, parts: Option<u32>) -> Self {
        let stripe = parts.map(|parts| greatest_common_divisor(parts, dies));
        let planes = parts.map_or(1, |parts| parts / stripe.unwrap_or(1).max(1));
        Self { dies, stripe, planes: planes.max(1) }
    }

    /// Returns the programs that have both data and parity; `None` if each has one of them only.
    pub fn part_parity(&self) -> Option<PartParity> {
        let programs = self.stripe.filter(|_| self.planes > 1)?;
        Some(PartParity { programs, parts: self.planes })
    }

    /// Returns the place of program `index` of a superblock, counted without those that are parity only.
    pub fn place(&self, index: u32) -> ProgramPlace {
        let dies = self.dies;
        let Some(parts) = self.stripe else {
            let (member, row) = (index % dies, index / dies);
            return ProgramPlace { member, row, parity: None, is_last: false };
        };
        let shares = self.planes > 1;
        let with_data = parts - u32::from(!shares);
        let (stripe, place) = (index / with_data, index % with_data);
        let of_row = dies / parts;
        let (row, first) = (stripe / of_row, stripe % of_row * parts);
        let parity = row % parts;
        let is_last = place == with_data - 1;
        let member = match shares && is_last {
            true => first + parity,
            false => first + place + u32::from(place >= parity),
        };
        ProgramPlace { member, row, parity: (!shares).then_some(first + parity), is_last }
    }

    /// Returns the contents of the program of a member in a row.
    pub fn program(&self, member: u32, row: u32) -> MemberProgram {
        let Some(parts) = self.stripe else {
            return MemberProgram::Data(row * self.dies + member);
        };
        let stripe = row * (self.dies / parts) + member / parts;
        let (place, parity) = (member % parts, row % parts);
        let before = place - u32::from(place > parity);
        match (self.planes > 1, place == parity) {
            (true, true) => MemberProgram::Data(stripe * parts + parts - 1),
            (true, false) => MemberProgram::Data(stripe * parts + before),
            (false, true) => MemberProgram::Parity(stripe * (parts - 1) + parts - 2),
            (false, false) => MemberProgram::Data(stripe * (parts - 1) + before),
        }
    }
}

fn greatest_common_divisor(mut larger: u32, mut smaller: u32) -> u32 {
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    larger
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripe_has_as_few_planes_of_each_die_as_it_can() {
        let of = |dies, parts| {
            let Members { stripe, planes, .. } = Members::new(dies, Some(parts));
            (stripe.unwrap(), planes)
        };
        // 16 dies with 4 planes: whole dies, all dies with one, two and four planes of each.
        assert_eq!([8, 16, 32, 64].map(|parts| of(16, parts)), [(8, 1), (16, 1), (16, 2), (16, 4)]);
        assert_eq!((of(6, 4), of(6, 8), of(3, 4)), ((2, 2), (2, 4), (1, 4)));
        assert_eq!(Members::new(16, None), Members { dies: 16, stripe: None, planes: 1 });
    }

    #[test]
    fn a_member_with_data_and_parity_is_the_last_of_its_stripe() {
        // Two stripes of three dies, with two planes of each.
        let members = Members::new(6, Some(6));
        assert_eq!(members, Members { dies: 6, stripe: Some(6), planes: 1 });
        let members = Members { dies: 6, stripe: Some(3), planes: 2 };
        let of_row = |row: u32| (0..6).map(move |place| members.place(row * 6 + place).member);
        assert_eq!(of_row(0).collect::<Vec<_>>(), [1, 2, 0, 4, 5, 3]);
        assert_eq!(of_row(1).collect::<Vec<_>>(), [0, 2, 1, 3, 5, 4]);
        assert_eq!(of_row(2).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(of_row(3).collect::<Vec<_>>(), [1, 2, 0, 4, 5, 3]);
        let places = [2, 3, 8].map(|index| members.place(index));
        assert_eq!(places.map(|place| place.row), [0, 0, 1]);
        assert_eq!(places.map(|place| place.is_last), [true, false, true]);
        assert!(places.iter().all(|place| place.parity.is_none()));
        assert_eq!(members.part_parity(), Some(PartParity { programs: 3, parts: 2 }));
    }

    #[test]
    fn each_program_of_a_member_is_the_one_that_has_its_place() {
        let whole = [(1, None), (4, None), (4, Some(2)), (4, Some(4)), (6, Some(3))];
        let whole = whole.map(|(dies, stripe)| Members { dies, stripe, planes: 1 });
        let parts = [(6, 3, 2), (4, 4, 4)];
        let parts =
            parts.map(|(dies, stripe, planes)| Members { dies, stripe: Some(stripe), planes });
        for members in whole.into_iter().chain(parts) {
            let Members { dies, stripe, planes } = members;
            let of_parity = stripe.filter(|_| planes == 1).map_or(0, |parts| dies / parts);
            let of_row = dies - of_parity;
            for index in 0..5 * of_row {
                let place = members.place(index);
                assert_eq!(members.program(place.member, place.row), MemberProgram::Data(index));
                if let Some(parity) = place.parity.filter(|_| place.is_last) {
                    let of_parity = members.program(parity, place.row);
                    assert_eq!(of_parity, MemberProgram::Parity(index));
                }
            }
        }
    }
}
