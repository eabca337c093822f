//! The dies of a superblock: which of them has which program, and which one has the parity.

/// The dies whose blocks a superblock joins.
///
/// A superblock is filled program by program, and each program goes to the next of its dies: the
/// *members* 0, 1, 2 and so on, then 0 again. With parity the members form stripes of equal size. In
/// each row of programs one member of each stripe has the parity, and the others have data; it is
/// member 0 of the stripe in the first row, then 1, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// The number of these dies: a divisor of the dies of the drive. With 1, each die has its own
    /// superblocks or blocks.
    pub dies: u32,
    /// The number of dies of a stripe, one of which has the parity of the others: a divisor of
    /// `dies`. `None` without parity.
    pub stripe: Option<u32>,
}

/// The place of a program of a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramPlace {
    /// The member that has the program.
    pub member: u32,
    /// The row of programs.
    pub row: u32,
    /// The member with the parity of the program's stripe; `None` without parity.
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
    pub const ONE: Self = Self { dies: 1, stripe: None };

    /// Returns the place of program `index` of a superblock, counted without those of parity.
    pub fn place(&self, index: u32) -> ProgramPlace {
        let dies = self.dies;
        let Some(parts) = self.stripe else {
            let (member, row) = (index % dies, index / dies);
            return ProgramPlace { member, row, parity: None, is_last: false };
        };
        let (stripe, place) = (index / (parts - 1), index % (parts - 1));
        let of_row = dies / parts;
        let (row, first) = (stripe / of_row, stripe % of_row * parts);
        let parity = row % parts;
        let member = first + place + u32::from(place >= parity);
        ProgramPlace { member, row, parity: Some(first + parity), is_last: place == parts - 2 }
    }

    /// Returns the contents of the program of a member in a row.
    pub fn program(&self, member: u32, row: u32) -> MemberProgram {
        let Some(parts) = self.stripe else {
            return MemberProgram::Data(row * self.dies + member);
        };
        let first = (row * (self.dies / parts) + member / parts) * (parts - 1);
        let (place, parity) = (member % parts, row % parts);
        match place == parity {
            true => MemberProgram::Parity(first + parts - 2),
            false => MemberProgram::Data(first + place - u32::from(place > parity)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_of_a_member_is_the_one_that_has_its_place() {
        for (dies, stripe) in [(1, None), (4, None), (4, Some(2)), (4, Some(4)), (6, Some(3))] {
            let members = Members { dies, stripe };
            let of_row = stripe.map_or(dies, |parts| dies - dies / parts);
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
