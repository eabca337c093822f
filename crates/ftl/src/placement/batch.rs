//! Pages that a placement sorts one after the other: each gets its class and its new place.
//!
//! A drive hands over many pages at a time. The loop is compiled for each placement, so that its
//! answers are parts of the loop; only the call for a whole batch is a virtual one. The map and
//! the placement's tables are fetched ahead.

use super::{Class, Now, Place, Placement};
use crate::blocks::BlockId;
use crate::geometry::{Geometry, UNMAPPED};
use crate::streams::Streams;
use flashgc_base::table::prefetch;

/// Distance in pages at which the map entry and the placement's data on a page are fetched.
const AHEAD: usize = 48;

/// Distance in pages at which a class fetches its part of the reverse map: two lines of the cache.
const NEXT_LINES: usize = 32;

/// The places that the open block of a class has left; none if there is no such block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    /// The ppn of the next page.
    pub(crate) next: u32,
    /// The ppn behind the last page of the block.
    pub(crate) end: u32,
    /// The ppn less the index in the reverse map, for all pages of the block.
    pub(crate) lead: u32,
}

/// The drive as the sorting of pages changes it.
pub(crate) struct Ground<'a> {
    pub(crate) geometry: Geometry,
    pub(crate) map: &'a mut [u32],
    pub(crate) reverse: &'a mut [u32],
    pub(crate) live: &'a [u64],
    /// The bit of a map entry that marks a zombie; 0 on a drive that keeps none.
    pub(crate) mark: u32,
    /// The class of every block.
    pub(crate) class_of: &'a [Class],
    /// The class of blocks with pages of several classes, and the class of every page there.
    pub(crate) mixed: Option<(Class, &'a [Class])>,
    pub(crate) streams: Option<&'a mut Streams>,
    /// One for each class.
    pub(crate) fronts: &'a mut [Front],
    pub(crate) now: &'a mut Now,
}

/// Pages to be sorted by a placement, in order, until the block of a class is full.
///
/// A page that is sorted has its new place in the map and in the reverse map, and the placement
/// knows it. Live bits and counts of blocks follow after the batch.
pub struct Batch<'a> {
    pub(crate) ground: Ground<'a>,
    /// The pages. Those behind the batch are only fetched ahead.
    pub(crate) pages: &'a [u32],
    /// For each page of the batch, its map entry before. The length is the length of the batch.
    pub(crate) old: &'a mut [u32],
    /// For each page of the batch, its new ppn.
    pub(crate) new: &'a mut [u32],
    /// `true` if nothing was fetched ahead for the first pages.
    pub(crate) begins: bool,
    /// Pages sorted so far.
    pub(crate) done: usize,
    /// The class whose block was full when the next page came.
    pub(crate) full: Option<Class>,
}

/// The classes of data by their blocks. `PLAIN`: no block has pages of several classes.
struct Places<'a, const PLAIN: bool> {
    class_of: &'a [Class],
    mixed: Option<(Class, &'a [Class])>,
}

impl<const PLAIN: bool> Places<'_, PLAIN> {
    /// Block `block`, with the class of the data of `page` there.
    #[inline(always)]
    fn at(&self, page: u32, block: BlockId) -> Place {
        let class = self.class_of[block as usize];
        match self.mixed {
            Some((mixed, classes)) if !PLAIN && class == mixed => {
                Place { class: classes[page as usize], block }
            }
            _ => Place { class, block },
        }
    }
}

/// Takes the next place of `class` for `page`, and puts it into the reverse map. Returns its ppn;
/// `None` if the block is full.
#[inline(always)]
fn take(fronts: &mut [Front], reverse: &mut [u32], class: Class, page: u32) -> Option<u32> {
    let front = &mut fronts[usize::from(class)];
    let ppn = front.next;
    if ppn == front.end {
        return None;
    }
    front.next = ppn + 1;
    let place = (ppn - front.lead) as usize;
    // A store to a line that is far away holds up all later ones.
    prefetch(reverse, place + NEXT_LINES);
    reverse[place] = page;
    Some(ppn)
}

impl Batch<'_> {
    /// Sorts the pages as host writes.
    #[inline]
    pub(super) fn write<R: Placement + ?Sized>(&mut self, rule: &mut R) {
        if self.ground.mixed.is_none() && self.ground.streams.is_none() {
            self.write_in::<true, R>(rule);
        } else {
            self.write_in::<false, R>(rule);
        }
    }

    /// Sorts host writes. `PLAIN`: there are no streams, and no block has pages of several classes.
    #[inline(always)]
    fn write_in<const PLAIN: bool, R: Placement + ?Sized>(&mut self, rule: &mut R) {
        let Ground { geometry, live, mark, class_of, mixed, .. } = self.ground;
        let Ground { map, reverse, fronts, streams, now: clock, .. } = &mut self.ground;
        let (map, reverse, fronts) = (&mut **map, &mut **reverse, &mut **fronts);
        let mut streams = streams.as_mut().filter(|_| !PLAIN);
        let places = Places::<PLAIN> { class_of, mixed };
        let (bits, pages, mut now) = (geometry.offset_bits(), self.pages, **clock);
        let mut done = 0;
        for ((&page, old), new) in pages.iter().zip(&mut *self.old).zip(&mut *self.new) {
            if let Some(&ahead) = pages.get(done + AHEAD) {
                prefetch(map, ahead as usize);
                rule.prefetch(ahead);
            }
            let slot = &mut map[page as usize];
            let entry = *slot;
            let from = (entry != UNMAPPED).then(|| {
                let ppn = entry & !mark;
                prefetch(live, (ppn >> 6) as usize);
                places.at(page, ppn >> bits)
            });
            let stream = streams.as_ref().and_then(|streams| streams.next(page));
            let class = rule.host(page, stream, from, now);
            let Some(ppn) = take(fronts, reverse, class, page) else {
                self.full = Some(class);
                break;
            };
            (*slot, *old, *new) = (ppn, entry, ppn);
            if let Some(streams) = &mut streams {
                streams.wrote(page);
            }
            now = Now { programs: now.programs + 1, host: now.host + 1 };
            rule.wrote(page, from, Place { class, block: ppn >> bits }, now);
            done += 1;
        }
        (**clock, self.done) = (now, done);
    }

    /// Sorts the pages as copies from `block`.
    #[inline]
    pub(super) fn copy<R: Placement + ?Sized>(&mut self, rule: &mut R, block: BlockId) {
        if self.begins {
            for &page in self.pages.iter().take(AHEAD) {
                prefetch(self.ground.map, page as usize);
                rule.prefetch(page);
            }
        }
        if self.ground.mixed.is_none() && self.ground.mark == 0 {
            self.copy_in::<true, R>(rule, block);
        } else {
            self.copy_in::<false, R>(rule, block);
        }
    }

    /// Sorts copies. `PLAIN`: there are no zombies, and no block has pages of several classes.
    #[inline(always)]
    fn copy_in<const PLAIN: bool, R: Placement + ?Sized>(&mut self, rule: &mut R, block: BlockId) {
        let Ground { geometry, mark, class_of, mixed, .. } = self.ground;
        let Ground { map, reverse, fronts, now: clock, .. } = &mut self.ground;
        let (map, reverse, fronts) = (&mut **map, &mut **reverse, &mut **fronts);
        let places = Places::<PLAIN> { class_of, mixed };
        let (bits, pages, mut now) = (geometry.offset_bits(), self.pages, **clock);
        let mut done = 0;
        for ((&page, old), new) in pages.iter().zip(&mut *self.old).zip(&mut *self.new) {
            if let Some(&ahead) = pages.get(done + AHEAD) {
                prefetch(map, ahead as usize);
                rule.prefetch(ahead);
            }
            let slot = &mut map[page as usize];
            let entry = *slot;
            let from = places.at(page, block);
            let marked = if PLAIN || entry == UNMAPPED { 0 } else { entry & mark };
            let class = rule.copy(page, from, marked != 0, now);
            let Some(ppn) = take(fronts, reverse, class, page) else {
                self.full = Some(class);
                break;
            };
            (*slot, *old, *new) = (ppn | marked, entry, ppn);
            now.programs += 1;
            rule.copied(page, from, Place { class, block: ppn >> bits }, now);
            done += 1;
        }
        (**clock, self.done) = (now, done);
    }
}
