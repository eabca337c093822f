//! Parity: what the drive stores besides its pages, so that the loss of any one die loses no data.
//!
//! A *group* has one page of each member of a stripe: pages of data, and one page of parity. The
//! page of parity is the exclusive or (XOR) of the others as they are on the medium, and its record
//! that of their out-of-band records. So a lost page is the XOR of the rest of its group, and so is
//! its record. Nothing else says whether the result is right: it must have the marks and the check
//! sums that every page has. The check sum of a record is not linear ([`Seal`](crate::codec::Seal)), so
//! that the XOR of old pages does not pass as a page. A group in which two pages are lost gives no data,
//! and never wrong ones.
//!
//! A place that its block has not programmed counts as zeros, whatever is there. Pages of parity are
//! written with the pages that they cover. A crash may leave a group half written, so recovery makes
//! the parity of every group anew that a crash can have met (`repair.rs`).

use std::collections::{BTreeSet, HashMap};
use std::io;

use flashgc_ftl::UNMAPPED;

use crate::checkpoint::BlockInfo;
use crate::dies::Place;
use crate::layout::{PAGE, Zones};
use crate::media::Media;
use crate::oob::{self, Oob, Slot};
use crate::verify::{Expected, Pages};

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

/// Returns the expected page as the rest of its group gives it, with its record; `None` if that is not
/// the page. `read` reads a page.
pub(crate) fn given_by(
    pages: Pages<'_>,
    expected: &Expected<'_>,
    read: impl FnMut(Place) -> Option<Raw>,
) -> Option<(Raw, Oob)> {
    let &Expected { ppn, block, .. } = expected;
    let raw = rebuild(pages.zones, (ppn, block.next), read)?;
    let slot = Slot::rebuilt(pages.tag, ppn, &raw.record);
    let record = pages.verify(expected, slot, &raw.bytes).ok()?;
    Some((raw, record))
}

/// Returns the expected page as the rest of its group on the medium gives it, with its record; `None`
/// if that is not the page.
pub(crate) fn given(pages: Pages<'_>, expected: &Expected<'_>) -> Option<(Raw, Oob)> {
    given_by(pages, expected, |place| read(pages.media, pages.zones, place))
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
