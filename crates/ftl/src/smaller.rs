//! Superblocks that go on without their bad blocks: the programs that are left.
//!
//! A bad block leaves its superblock. What is left has the rows of a whole superblock, with fewer pages in
//! each: those of the blocks that have not left. On a die that keeps some of its planes, an operation works on
//! these planes only. With parity a die leaves with all its blocks, since the parity of a row covers the same
//! planes on each die; the parity then takes turns among the dies that are left.
//!
//! A smaller superblock has its first unit at the offset of the units that it has lost. It ends where a whole
//! one ends, so nothing that asks whether an open block is full depends on it.

use std::ops::Range;

use crate::members::{MemberProgram, Members, ProgramPlace};
use crate::programs::Programs;

/// The rule by which superblocks go on without their bad blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shrinking {
    /// The dies whose blocks a superblock joins, and those of a stripe of its parity.
    pub members: Members,
    /// The share of its units that a superblock must have left.
    pub least: f64,
}

/// The rest of a superblock whose bad blocks have left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    All,
    Some(Smaller),
    /// Too little: the superblock retires.
    TooLittle,
}

/// The programs of a superblock that has lost blocks. Offsets count units of data, as those of a whole
/// superblock do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smaller {
    /// The offset of the first unit.
    start: u32,
    pages_per_program: u32,
    units_per_row: u32,
    /// The programs with data of each row, in order.
    row: Box<[RowProgram]>,
    /// The dies of each stripe that are left, in order; without parity each die is one.
    stripes: Box<[Box<[u32]>]>,
    parity: Parity,
}

/// A program with data, in each row of a smaller superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowProgram {
    /// The offset of its first unit in the row.
    first: u32,
    units_per_page: u32,
    stripe: u32,
    /// Its number among the programs with data of its stripe.
    place: u32,
}

/// The place of the parity of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parity {
    None,
    /// A whole program of one die.
    Whole,
    /// Some planes of the program that comes last.
    Part,
}

/// The programs of a block: of a whole one, or of a superblock that has got smaller.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BlockPrograms<'a> {
    Whole(Programs),
    Smaller(&'a Smaller),
}

impl BlockPrograms<'_> {
    /// Returns what [`Programs::program`] does.
    #[inline]
    pub(crate) fn program(&self, offset: u32) -> (u32, Range<u32>) {
        match self {
            Self::Whole(programs) => programs.program(offset),
            Self::Smaller(smaller) => smaller.program(offset),
        }
    }

    /// Returns what [`Programs::page`] does.
    #[inline]
    pub(crate) fn page(&self, offset: u32) -> Range<u32> {
        match self {
            Self::Whole(programs) => programs.page(offset),
            Self::Smaller(smaller) => smaller.page(offset),
        }
    }
}

impl Shrinking {
    /// Returns what is left of a superblock of `units` units. `programs` are those of a whole one, which have
    /// `planes` planes of each die, and `is_bad` says which of its blocks are bad: those of one die after the
    /// other.
    pub(crate) fn left(
        &self,
        programs: &Programs,
        planes: u32,
        units: u32,
        is_bad: impl Fn(u32) -> bool,
    ) -> Left {
        let good_planes: Vec<u32> = (0..self.members.dies)
            .map(|die| (0..planes).filter(|plane| !is_bad(die * planes + plane)).count() as u32)
            .collect();
        if good_planes.iter().all(|&good| good == planes) {
            return Left::All;
        }
        let pages_per_program = programs.units_per_program / programs.units_per_page;
        let rows = units / self.units_per_row(programs);
        let Members { stripe, planes: of_stripe, .. } = self.members;
        let parity = match (stripe, of_stripe) {
            (None, _) => Parity::None,
            (Some(_), 1) => Parity::Whole,
            (Some(_), _) => Parity::Part,
        };
        let least_good = if stripe.is_some() { planes } else { 1 };
        let groups = good_planes.chunks(stripe.unwrap_or(1) as usize);
        let stripes =
            (0..).step_by(stripe.unwrap_or(1) as usize).zip(groups).map(|(first, good)| {
                let dies = (first..).zip(good).filter(|&(_, &good)| good >= least_good);
                dies.map(|(die, _)| die).collect::<Box<[u32]>>()
            });
        let stripes: Box<[_]> = match parity {
            Parity::None => stripes.filter(|dies| !dies.is_empty()).collect(),
            _ => stripes.collect(),
        };
        if parity != Parity::None && stripes.iter().any(|dies| dies.len() < 2) {
            return Left::TooLittle;
        }
        let (mut row, mut units_per_row) = (Vec::new(), 0);
        for (stripe, dies) in (0..).zip(&stripes) {
            let with_data = dies.len() as u32 - u32::from(parity == Parity::Whole);
            for place in 0..with_data {
                let whole = programs.units_per_page;
                let units_per_page = match parity {
                    Parity::None => whole / planes * good_planes[dies[0] as usize],
                    Parity::Part if place == with_data - 1 => whole / of_stripe * (of_stripe - 1),
                    _ => whole,
                };
                row.push(RowProgram { first: units_per_row, units_per_page, stripe, place });
                units_per_row += units_per_page * pages_per_program;
            }
        }
        let left = rows * units_per_row;
        if left == 0 || f64::from(left) < self.least * f64::from(units) {
            return Left::TooLittle;
        }
        let (row, start) = (row.into(), units - left);
        Left::Some(Smaller { start, pages_per_program, units_per_row, row, stripes, parity })
    }

    /// Returns the units of data of a row of a whole superblock.
    pub(crate) fn units_per_row(&self, programs: &Programs) -> u32 {
        let Members { dies, stripe, planes } = self.members;
        match (stripe, planes) {
            (None, _) => dies * programs.units_per_program,
            (Some(parts), 1) => dies / parts * (parts - 1) * programs.units_per_program,
            (Some(parts), _) => dies / parts * programs.units_per_stripe(),
        }
    }
}

impl Smaller {
    /// Returns the units that the superblock has lost. Its first unit is at this offset.
    pub fn lost(&self) -> u32 {
        self.start
    }

    /// Returns the row of the unit at `offset`, and its program there. An offset before the first unit counts
    /// as the first.
    fn find(&self, offset: u32) -> (u32, usize) {
        let from_start = offset.saturating_sub(self.start);
        let (row, in_row) = (from_start / self.units_per_row, from_start % self.units_per_row);
        (row, self.row.partition_point(|program| program.first <= in_row) - 1)
    }

    fn number(&self, row: u32, in_row: usize) -> u32 {
        row * self.row.len() as u32 + in_row as u32
    }

    /// Returns the row of a program, and its number there.
    fn in_row(&self, index: u32) -> (u32, usize) {
        let programs = self.row.len() as u32;
        (index / programs, (index % programs) as usize)
    }

    fn units(&self, in_row: usize) -> u32 {
        self.row[in_row].units_per_page * self.pages_per_program
    }

    /// Returns the number of the program with the unit at `offset`, counted from the first one of the
    /// superblock, and the offsets of its units.
    pub fn program(&self, offset: u32) -> (u32, Range<u32>) {
        let (row, in_row) = self.find(offset);
        let index = self.number(row, in_row);
        let start = self.start(index);
        (index, start..start + self.units(in_row))
    }

    /// Returns the offset of the first unit of program number `index`.
    pub fn start(&self, index: u32) -> u32 {
        let (row, in_row) = self.in_row(index);
        self.start + row * self.units_per_row + self.row[in_row].first
    }

    /// Returns the offsets of the units of the flash page with the unit at `offset`.
    pub fn page(&self, offset: u32) -> Range<u32> {
        let (row, in_row) = self.find(offset);
        let (units, first) =
            (self.row[in_row].units_per_page, self.start(self.number(row, in_row)));
        let start = offset - (offset - first) % units;
        start..start + units
    }

    /// Returns the place of program `index` of the superblock, counted without those that are parity only.
    pub fn place(&self, index: u32) -> ProgramPlace {
        let (row, in_row) = self.in_row(index);
        let RowProgram { stripe, place, .. } = self.row[in_row];
        let dies = &self.stripes[stripe as usize];
        let turn = row % dies.len() as u32;
        let with_data = dies.len() as u32 - u32::from(self.parity == Parity::Whole);
        let is_last = self.parity != Parity::None && place == with_data - 1;
        let member = match self.parity {
            Parity::None => 0,
            Parity::Part if is_last => turn,
            _ => place + u32::from(place >= turn),
        };
        let parity = (self.parity == Parity::Whole).then(|| dies[turn as usize]);
        ProgramPlace { member: dies[member as usize], row, parity, is_last }
    }

    /// Returns the contents of the program of a member in a row; `None` if the member has left.
    pub fn member_program(&self, member: u32, row: u32) -> Option<MemberProgram> {
        let stripe = self.stripes.iter().position(|dies| dies.contains(&member))?;
        let dies = &self.stripes[stripe];
        let place = dies.iter().position(|&die| die == member)? as u32;
        let turn = row % dies.len() as u32;
        let before = place - u32::from(place > turn);
        let (place, is_parity) = match self.parity {
            Parity::None => (0, false),
            Parity::Part if place == turn => (dies.len() as u32 - 1, false),
            Parity::Whole if place == turn => (dies.len() as u32 - 2, true),
            _ => (before, false),
        };
        let of_stripe = self.row.iter().position(|it| it.stripe == stripe as u32)?;
        let index = self.number(row, of_stripe + place as usize);
        Some(if is_parity { MemberProgram::Parity(index) } else { MemberProgram::Data(index) })
    }

    /// Returns the programs with data of the stripe that has program `index`; without parity, that program.
    pub fn programs_of_stripe(&self, index: u32) -> Range<u32> {
        let (row, in_row) = self.in_row(index);
        let stripe = self.row[in_row].stripe;
        let is_in = |program: &RowProgram| program.stripe == stripe;
        let first = self.row.iter().position(is_in).unwrap_or_default();
        let count = self.row.iter().filter(|program| is_in(program)).count() as u32;
        let first = self.number(row, first);
        first..first + count
    }

    /// Returns `true` if the superblock still has blocks of a member.
    pub fn has(&self, member: u32) -> bool {
        self.stripes.iter().any(|dies| dies.contains(&member))
    }
}

#[cfg(test)]
mod tests {
    use flashgc_base::rng::Stream;

    use super::*;

    /// A program of a superblock that was laid out one by one.
    #[derive(Debug)]
    struct Laid {
        die: u32,
        row: u32,
        stripe: usize,
        /// The first unit, the units and the units of a page; `None` for a program of parity alone.
        data: Option<(u32, u32, u32)>,
    }

    /// Lays out `rows` rows of a superblock whose dies have these good planes of `planes`, with `units` units in
    /// a flash page of a plane and `pages` pages a program. The first unit is at offset `at`.
    fn lay_out(
        members: Members,
        good: &[u32],
        (planes, units, pages): (u32, u32, u32),
        rows: u32,
        mut at: u32,
    ) -> Vec<Laid> {
        let mut all = Vec::new();
        for row in 0..rows {
            for (stripe, first) in
                (0..good.len()).step_by(members.stripe.unwrap_or(1) as usize).enumerate()
            {
                let mut add = |die: usize, page: u32| {
                    let data = (page > 0).then_some((at, page * pages, page));
                    all.push(Laid { die: die as u32, row, stripe, data });
                    at += page * pages;
                };
                let Some(of_stripe) = members.stripe else {
                    if good[first] > 0 {
                        add(first, good[first] * units);
                    }
                    continue;
                };
                let mut left: Vec<usize> = (first..first + of_stripe as usize)
                    .filter(|&die| good[die] == planes)
                    .collect();
                let parity = left.remove(row as usize % left.len());
                for die in left {
                    add(die, planes * units);
                }
                let with_parity = match members.planes {
                    1 => 0,
                    parts => planes / parts * (parts - 1) * units,
                };
                add(parity, with_parity);
            }
        }
        all
    }

    #[test]
    fn what_is_left_has_the_programs_of_one_that_was_laid_out_without_its_bad_blocks() {
        let (units, pages, rows) = (2, 3, 7);
        let mut stream = Stream::new(1, "bad blocks");
        let (mut smaller_ones, mut retired) = (0, 0);
        for (dies, parts, planes) in [
            (1, None, 4),
            (4, None, 1),
            (5, None, 2),
            (4, Some(4), 1),
            (4, Some(4), 2),
            (8, Some(4), 2),
            (4, Some(16), 4),
            (6, Some(6), 4),
            (6, Some(12), 2),
        ] {
            let members = Members::new(dies, parts);
            let page = units * planes;
            let programs = Programs {
                units_per_page: page,
                units_per_program: page * pages,
                part_parity: members.part_parity(),
            };
            let rule = Shrinking { members, least: 0.5 };
            let all = rows * rule.units_per_row(&programs);
            for _ in 0..60 {
                let bad: Vec<bool> = (0..dies * planes).map(|_| stream.below(6) == 0).collect();
                let good: Vec<u32> = bad
                    .chunks(planes as usize)
                    .map(|of_die| of_die.iter().filter(|&&bad| !bad).count() as u32)
                    .collect();
                let is_whole = |die: usize| good[die] == planes;
                let stripe = parts.and(members.stripe).unwrap_or(1) as usize;
                let too_few =
                    |first: usize| (first..first + stripe).filter(|&die| is_whole(die)).count() < 2;
                let breaks = parts.is_some() && (0..dies as usize).step_by(stripe).any(too_few);
                let left = rule.left(&programs, planes, all, |block| bad[block as usize]);
                if !bad.contains(&true) {
                    assert_eq!(left, Left::All);
                    continue;
                }
                if breaks {
                    assert_eq!(left, Left::TooLittle);
                    retired += 1;
                    continue;
                }
                let laid = lay_out(members, &good, (planes, units, pages), rows, 0);
                let count: u32 = laid.iter().filter_map(|it| it.data).map(|data| data.1).sum();
                if 2 * count < all {
                    assert_eq!(left, Left::TooLittle);
                    retired += 1;
                    continue;
                }
                let Left::Some(smaller) = left else { panic!("{left:?}") };
                smaller_ones += 1;
                assert_eq!(smaller.lost(), all - count);
                let laid = lay_out(members, &good, (planes, units, pages), rows, all - count);
                check(&smaller, &laid, members);
                for die in 0..dies {
                    let has = laid.iter().any(|it| it.die == die);
                    assert_eq!(smaller.has(die), has);
                    if !has {
                        assert_eq!(smaller.member_program(die, 0), None);
                    }
                }
            }
        }
        assert!(smaller_ones > 150 && retired > 40, "{smaller_ones} {retired}");
    }

    fn check(smaller: &Smaller, laid: &[Laid], members: Members) {
        let with_data: Vec<_> =
            laid.iter().filter_map(|it| it.data.map(|data| (it, data))).collect();
        for (index, &(it, (first, units, page))) in (0..).zip(&with_data) {
            for offset in first..first + units {
                assert_eq!(smaller.program(offset), (index, first..first + units));
                let start = first + (offset - first) / page * page;
                assert_eq!(smaller.page(offset), start..start + page);
            }
            assert_eq!(smaller.start(index), first);
            let is_of_stripe = |other: &Laid| {
                members.stripe.is_some() && (other.row, other.stripe) == (it.row, it.stripe)
            };
            let others: Vec<u32> = (0..)
                .zip(&with_data)
                .filter(|&(number, (other, _))| number == index || is_of_stripe(other))
                .map(|(number, _)| number)
                .collect();
            assert_eq!(smaller.programs_of_stripe(index).collect::<Vec<_>>(), others);
            let place = smaller.place(index);
            assert_eq!((place.member, place.row), (it.die, it.row));
            let parity = laid.iter().find(|other| is_of_stripe(other) && other.data.is_none());
            assert_eq!(place.parity, parity.map(|parity| parity.die));
            let is_last = members.stripe.is_some() && others.last() == Some(&index);
            assert_eq!(place.is_last, is_last);
            let found = smaller.member_program(it.die, it.row);
            assert_eq!(found, Some(MemberProgram::Data(index)));
            if let Some(parity) = parity.filter(|_| is_last) {
                let found = smaller.member_program(parity.die, it.row);
                assert_eq!(found, Some(MemberProgram::Parity(index)));
            }
        }
        let end = with_data.last().map(|(_, (first, units, _))| first + units).unwrap();
        assert_eq!(smaller.program(end).1.start, end);
    }
}
