//! The dies of a drive with parity: which of them has which page, and which are lost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashgc_ftl::Members;

/// The members of a drive's superblocks, one in each stripe of which has the parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parity {
    /// The dies that a superblock joins.
    pub(crate) dies: u32,
    /// The dies of a stripe, one of which has the parity.
    pub(crate) parts: u32,
    /// The pages that a die programs together.
    pub(crate) pages_per_program: u32,
}

/// The most pages that a die of a drive with parity programs together. The parity of a stripe that goes
/// on is in memory: 4 MiB for each open block at most.
pub(crate) const MOST_IN_PROGRAM: u32 = 1024;

impl Parity {
    /// Returns the parity of superblocks with these `members`, if they have stripes.
    pub fn new(members: Members, pages_per_program: u32) -> Option<Self> {
        let Members { dies, stripe, .. } = members;
        stripe.map(|parts| Self { dies, parts, pages_per_program })
    }

    /// Returns the dies of a superblock, the dies of a stripe, and the pages that a die programs
    /// together.
    pub fn numbers(&self) -> (u32, u32, u32) {
        (self.dies, self.parts, self.pages_per_program)
    }

    fn members(&self) -> Members {
        Members { dies: self.dies, stripe: Some(self.parts), planes: 1 }
    }

    /// Returns `true` if a superblock with `pages` pages of data has whole stripes.
    pub(crate) fn fits(&self, pages: u32) -> bool {
        (2..=self.dies).contains(&self.parts)
            && self.dies.is_multiple_of(self.parts)
            && (1..=MOST_IN_PROGRAM).contains(&self.pages_per_program)
            && (self.dies / self.parts)
                .checked_mul(self.in_stripe())
                .is_some_and(|row| pages.is_multiple_of(row))
    }

    /// Returns the pages of parity in a superblock with `pages` pages of data.
    pub(crate) fn pages(&self, pages: u32) -> u32 {
        pages / (self.parts - 1)
    }

    /// Returns the pages of data in a stripe.
    pub(crate) fn in_stripe(&self) -> u32 {
        (self.parts - 1).saturating_mul(self.pages_per_program)
    }

    /// Returns the stripe of the page at `offset` of a superblock.
    pub(crate) fn stripe(&self, offset: u32) -> u32 {
        offset / self.in_stripe()
    }

    /// Returns the number of the page's group in its superblock: that of the group's page of parity.
    pub(crate) fn group(&self, offset: u32) -> u32 {
        self.stripe(offset) * self.pages_per_program + offset % self.pages_per_program
    }

    /// Returns the offsets of the pages of data of a group, in order.
    pub(crate) fn offsets(self, group: u32) -> impl Iterator<Item = u32> {
        let (stripe, place) = (group / self.pages_per_program, group % self.pages_per_program);
        let first = stripe * self.in_stripe() + place;
        (0..self.parts - 1).map(move |part| first + part * self.pages_per_program)
    }

    /// Returns the die that has the page at `offset` of a superblock.
    pub(crate) fn die(&self, offset: u32) -> u32 {
        self.members().place(offset / self.pages_per_program).member
    }

    /// Returns the die that has the page of parity of a group.
    pub(crate) fn die_of_parity(&self, group: u32) -> u32 {
        let program = group / self.pages_per_program * (self.parts - 1);
        self.members().place(program).parity.unwrap_or_default()
    }
}

/// The dies of a drive that are lost: every read of their pages fails, as long as they are. Clones
/// share the dies. A command of the drive sees them as they are when it begins.
#[derive(Clone, Debug)]
pub struct LostDies(Arc<Mutex<Vec<bool>>>);

impl LostDies {
    pub(crate) fn new(parity: Option<Parity>) -> Self {
        let dies = parity.map_or(0, |parity| parity.dies);
        Self(Arc::new(Mutex::new(vec![false; dies as usize])))
    }

    fn all(&self) -> MutexGuard<'_, Vec<bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of dies of the drive that can be lost.
    pub fn count(&self) -> u32 {
        self.all().len() as u32
    }

    /// Loses the dies for which `is_lost` is true, and gives all others back, at once.
    pub fn set(&self, is_lost: impl Fn(u32) -> bool) {
        (0..).zip(self.all().iter_mut()).for_each(|(die, lost)| *lost = is_lost(die));
    }

    /// Copies the dies into `now`: `true` for one that is lost.
    pub(crate) fn copy(&self, now: &mut Vec<bool>) {
        now.clone_from(&self.all());
    }
}

/// A page of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A page of data, by its ppn.
    Data(u32),
    /// The page of parity of this group of this block.
    Parity { block: u32, group: u32 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_one_page_of_each_die_of_its_stripe() {
        // Two stripes of four dies, programs of 3 pages: 9 pages of data in a stripe.
        let members = Members::new(8, Some(4));
        let parity = Parity::new(members, 3).unwrap();
        assert!(parity.fits(18 * 5) && !parity.fits(18 * 5 + 9));
        assert_eq!(parity.pages(90), 30);
        for offset in 0..90 {
            let group = parity.group(offset);
            let mut dies: Vec<u32> = parity.offsets(group).map(|other| parity.die(other)).collect();
            assert!(parity.offsets(group).any(|other| other == offset));
            dies.push(parity.die_of_parity(group));
            dies.sort_unstable();
            let first = if parity.die(offset) < 4 { 0 } else { 4 };
            assert_eq!(dies, (first..first + 4).collect::<Vec<_>>(), "offset {offset}");
        }
        // Row 0: die 0 has the parity, dies 1 to 3 the pages 0, 3 and 6.
        assert_eq!(parity.offsets(0).collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!([0, 3, 6].map(|offset| parity.die(offset)), [1, 2, 3]);
    }
}
