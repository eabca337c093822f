//! Parity: what the drive stores besides its pages, so that the loss of any one die loses no data.
//!
//! A *group* has one page of each member of a stripe: pages of data, and one page of parity. The
//! page of parity is the exclusive or (XOR) of the others as they are on the medium, and its record
//! that of their out-of-band records. So a lost page is the XOR of the rest of its group, and so is
//! its record. Nothing else says whether the result is right: it must have the marks and the check
//! sum that every page has. A group in which two pages are lost gives no data, and never wrong ones.
//!
//! A place that its block has not programmed counts as zeros, whatever is there. Pages of parity are
//! written with the pages that they cover. A crash may leave a group half written, so recovery makes
//! the parity of every group anew that a crash can have met ([`renew`]).

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashgc_ftl::{Members, UNMAPPED};

use crate::checkpoint::BlockInfo;
use crate::error::DeviceError;
use crate::layout::{PAGE, Zones};
use crate::media::Media;
use crate::oob::{self, Oob, Slot};
use crate::recover::Recovered;
use crate::verify::{Expected, Pages};

/// The members of a drive's superblocks, one in each stripe of which has the parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parity {
    /// The dies that a superblock joins.
    pub(crate) members: Members,
    /// The dies of a stripe, one of which has the parity.
    parts: u32,
    /// The pages that a die programs together.
    pub(crate) pages_per_program: u32,
}

/// The most pages that a die of a drive with parity programs together. The parity of a stripe that goes
/// on is in memory: 4 MiB for each open block at most.
pub(crate) const MOST_IN_PROGRAM: u32 = 1024;

impl Parity {
    /// Returns the parity of superblocks with these `members`, if they have stripes.
    pub fn new(members: Members, pages_per_program: u32) -> Option<Self> {
        members.stripe.map(|parts| Self { members, parts, pages_per_program })
    }

    /// Returns the dies of a superblock, the dies of a stripe, and the pages that a die programs
    /// together.
    pub fn parts(&self) -> (u32, u32, u32) {
        (self.members.dies, self.parts, self.pages_per_program)
    }

    /// Returns `true` if a superblock with `pages` pages of data has whole stripes.
    pub(crate) fn fits(&self, pages: u32) -> bool {
        let dies = self.members.dies;
        (2..=dies).contains(&self.parts)
            && dies.is_multiple_of(self.parts)
            && (1..=MOST_IN_PROGRAM).contains(&self.pages_per_program)
            && (dies / self.parts)
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
        self.members.place(offset / self.pages_per_program).member
    }

    /// Returns the die that has the page of parity of a group.
    pub(crate) fn die_of_parity(&self, group: u32) -> u32 {
        let program = group / self.pages_per_program * (self.parts - 1);
        self.members.place(program).parity.unwrap_or_default()
    }
}

/// The dies of a drive that are lost: every read of their pages fails, as long as they are. Clones
/// share the dies. A command of the drive sees them as they are when it begins.
#[derive(Clone, Debug)]
pub struct LostDies(Arc<Mutex<Vec<bool>>>);

impl LostDies {
    pub(crate) fn new(parity: Option<Parity>) -> Self {
        let dies = parity.map_or(0, |parity| parity.members.dies);
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

/// A page as it is on the medium, with its out-of-band record. It may be damaged.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) bytes: [u8; PAGE],
    pub(crate) record: [u8; oob::BYTES],
}

impl Raw {
    pub(crate) const ZEROS: Self = Self { bytes: [0; PAGE], record: [0; oob::BYTES] };

    /// Reads the bytes at these two places.
    pub(crate) fn read(media: &dyn Media, (data, oob): (u64, u64)) -> io::Result<Self> {
        let mut raw = Self::ZEROS;
        media.read_at(data, &mut raw.bytes)?;
        media.read_at(oob, &mut raw.record)?;
        Ok(raw)
    }

    /// Writes the bytes to these two places.
    pub(crate) fn write(&self, media: &mut dyn Media, (data, oob): (u64, u64)) -> io::Result<()> {
        media.write_at(data, &self.bytes)?;
        media.write_at(oob, &self.record)
    }

    /// XORs the bytes of a page and of its record into these.
    pub(crate) fn add(&mut self, bytes: &[u8], record: &[u8]) {
        xor(&mut self.bytes, bytes);
        xor(&mut self.record, record);
    }
}

/// XORs `from` into `into`.
pub(crate) fn xor(into: &mut [u8], from: &[u8]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from);
}

/// A page of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A page of data, by its ppn.
    Data(u32),
    /// The page of parity of this group of this block.
    Parity { block: u32, group: u32 },
}

/// Returns the page at `ppn` as the rest of its group gives it. `next` is the offset behind the last
/// programmed page of its block, and `read` reads a page. Returns `None` without parity, and if another
/// page of the group cannot be read.
pub(crate) fn rebuild(
    zones: &Zones,
    (ppn, next): (u32, u32),
    mut read: impl FnMut(Place) -> Option<Raw>,
) -> Option<Raw> {
    let parity = zones.parity?;
    let (block, offset) = zones.geometry.place_of(ppn);
    let group = parity.group(offset);
    let mut sum = read(Place::Parity { block, group })?;
    for other in parity.offsets(group).filter(|&other| other != offset && other < next) {
        let raw = read(Place::Data(zones.geometry.ppn(block, other)))?;
        sum.add(&raw.bytes, &raw.record);
    }
    Some(sum)
}

/// Returns the expected page as the rest of its group on the medium gives it, with its record; `None`
/// if that is not the page.
pub(crate) fn given(pages: Pages<'_>, expected: &Expected<'_>) -> Option<(Raw, Oob)> {
    let Pages { media, zones, tag } = pages;
    let &Expected { ppn, block, .. } = expected;
    let raw = rebuild(zones, (ppn, block.next), |place| read(media, zones, place))?;
    let slot = Slot::decode(tag, ppn, &raw.record);
    let record = pages.verify(expected, slot, &raw.bytes).ok()?;
    Some((raw, record))
}

/// Reads a page of a group from the medium; `None` if that fails.
pub(crate) fn read(media: &dyn Media, zones: &Zones, place: Place) -> Option<Raw> {
    Raw::read(media, zones.place(place)).ok()
}

/// Returns the place and the logical page of every live page in these stripes.
pub(crate) fn holders(
    zones: &Zones,
    entries: &[u32],
    stripes: &BTreeSet<(u32, u32)>,
) -> HashMap<u32, u32> {
    if stripes.is_empty() {
        return HashMap::new();
    }
    let is_there = |ppn: u32| zones.stripe_of(ppn).is_some_and(|of| stripes.contains(&of));
    let live = (0..).zip(entries).filter(|&(_, &ppn)| ppn != UNMAPPED && is_there(ppn));
    live.map(|(page, &ppn)| (ppn, page)).collect()
}

/// Writes the parity of every group anew that a crash can have left half written: those that
/// recovery has noted, and those in which open blocks go on. With `rewrites`, also writes all pages of
/// these groups again, with current data or without: after a failed sync they may be in the host's
/// memory alone.
///
/// A group with a page that cannot be read keeps its parity.
///
/// # Errors
/// The errors of the medium.
pub(crate) fn renew(
    media: &mut dyn Media,
    zones: &Zones,
    recovered: &mut Recovered,
    rewrites: bool,
) -> Result<(), DeviceError> {
    let Some(parity) = zones.parity else { return Ok(()) };
    let b = zones.geometry.pages_per_block();
    let open = (0..).zip(&recovered.blocks).filter(|(_, info)| info.is_written && info.next < b);
    let going_on = open.map(|(block, info)| (block, parity.stripe(info.next)));
    let mut stripes = std::mem::take(&mut recovered.touched);
    stripes.extend(going_on);
    for (block, stripe) in stripes {
        let next = recovered.blocks[block as usize].next;
        for group in (0..parity.pages_per_program).map(|n| stripe * parity.pages_per_program + n) {
            let programmed = parity.offsets(group).filter(|&offset| offset < next);
            let places = programmed.map(|offset| Place::Data(zones.geometry.ppn(block, offset)));
            let found: Option<Vec<(Place, Raw)>> =
                places.map(|place| Some((place, read(media, zones, place)?))).collect();
            let Some(found) = found.filter(|found| !found.is_empty()) else { continue };
            let mut sum = Raw::ZEROS;
            found.iter().for_each(|(_, raw)| sum.add(&raw.bytes, &raw.record));
            let place = Place::Parity { block, group };
            if rewrites || read(media, zones, place).is_none_or(|there| there != sum) {
                sum.write(media, zones.place(place))?;
            }
            for (place, raw) in found.iter().filter(|_| rewrites) {
                raw.write(media, zones.place(*place))?;
            }
        }
    }
    Ok(())
}

/// Returns the number of groups of a block whose parity is not that of their pages, or cannot be read.
pub(crate) fn wrong(media: &dyn Media, zones: &Zones, block: u32, info: &BlockInfo) -> u64 {
    let Some(parity) = zones.parity else { return 0 };
    let mut wrong = 0;
    for group in 0..zones.parity_of_block() {
        let Some(first) = parity.offsets(group).next().filter(|&first| first < info.next) else {
            continue;
        };
        let ppn = zones.geometry.ppn(block, first);
        let given = rebuild(zones, (ppn, info.next), |place| read(media, zones, place));
        let there = read(media, zones, Place::Data(ppn));
        wrong += u64::from(given.is_none() || given != there);
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_one_page_of_each_die_of_its_stripe() {
        // Two stripes of four dies, programs of 3 pages: 9 pages of data in a stripe.
        let members = Members { dies: 8, stripe: Some(4) };
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
