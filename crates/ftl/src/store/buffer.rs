//! The page buffer of a store: which units wait for the rest of their flash page, and what programs
//! such a page before it is full. With one-shot programs, the flash pages that are programmed
//! together wait and are filled as one; they are still read one by one. With two passes, a program
//! that is full waits for its second pass. Open blocks in SLC mode program their pages alone, in one pass.

use flashgc_base::snapshot::{State, Value};

use super::{Active, PageStore, Tables};
use crate::blocks::BlockId;
use crate::counters::Packing;
use crate::layout::{Layout, PlaneId};
use crate::page_buffer::PageBuffer;
use crate::placement::Class;
use crate::smaller::BlockPrograms;
use crate::victim::VictimPolicy;
use crate::wear::Wear;
use flashgc_base::table::for_words;

/// The page buffer of a store whose flash pages hold several units.
#[derive(State)]
pub(crate) struct Gathering {
    #[snapshot(skip)]
    buffer: PageBuffer,
    /// The units of a block.
    #[snapshot(skip)]
    units_per_block: u32,
    pub(crate) counts: Packing,
    /// The ends of the host's data and of the copies in the open block of each class of each plane.
    #[snapshot(table)]
    ends: Vec<Ends>,
    #[snapshot(skip)]
    classes: usize,
    /// The class of the open blocks in SLC mode; `None` without a region.
    #[snapshot(skip)]
    slc: Option<Class>,
}

/// Offsets behind the last page of the host and the last copy; 0 where there is none.
#[derive(Clone, Copy, Default, Value)]
struct Ends {
    host: u32,
    copies: u32,
}

impl Gathering {
    /// The buffer of a new store; `None` if a unit is a flash page.
    pub(super) fn new(
        layout: &Layout,
        planes: u32,
        classes: usize,
        slc: Option<Class>,
    ) -> Option<Self> {
        let buffer = layout.buffer;
        let ends = || vec![Ends::default(); planes as usize * classes];
        buffer.gathers().then(|| Self {
            buffer,
            units_per_block: layout.geometry.pages_per_block(),
            counts: Packing::default(),
            ends: ends(),
            classes,
            slc,
        })
    }

    /// Returns the units that are read and programmed together in the open block of `class`.
    #[inline]
    fn buffer_of(&self, class: usize) -> PageBuffer {
        match self.slc {
            Some(slc) if usize::from(slc) == class => self.buffer.of_slc(),
            _ => self.buffer,
        }
    }

    /// The open block of `class` in `plane` ends at offset `next` with data of the host, or with
    /// copies.
    pub(super) fn end(&mut self, plane: PlaneId, class: Class, next: u32, copies: bool) {
        let ends = self.ends(plane, class);
        *(if copies { &mut ends.copies } else { &mut ends.host }) = next;
    }

    fn ends(&mut self, plane: PlaneId, class: Class) -> &mut Ends {
        &mut self.ends[plane as usize * self.classes + usize::from(class)]
    }
}

impl Tables {
    /// The number of flash pages in `block` that hold a live unit.
    pub(super) fn pages_with_live(&self, block: BlockId, programs: &BlockPrograms<'_>) -> u64 {
        let units = match programs {
            BlockPrograms::Whole(whole) if whole.part_parity.is_none() => whole.units_per_page,
            _ => return self.pages_with_live_one_by_one(block, programs),
        };
        if !units.is_power_of_two() || units > u64::BITS {
            return self.pages_with_live_one_by_one(block, programs);
        }
        // A block begins at a multiple of a power of two that is at least `units`, so no flash page
        // lies in two words.
        let first_of_each = u64::MAX / ((1u128 << units) - 1) as u64;
        let b = self.geometry.pages_per_block() as usize;
        let mut pages = 0;
        for_words(self.first_ppn(block) as usize, b, |word, mask| {
            let mut live = self.live[word] & mask;
            let mut reach = 1;
            while reach < units {
                live |= live >> reach;
                reach *= 2;
            }
            pages += u64::from((live & first_of_each).count_ones());
        });
        pages
    }

    /// Counts flash pages with a live unit as [`Tables::pages_with_live`] does, for pages of any number of
    /// units.
    fn pages_with_live_one_by_one(&self, block: BlockId, programs: &BlockPrograms<'_>) -> u64 {
        let (mut pages, mut offset) = (0, 0);
        while let Some(live) = self.next_live(block, offset) {
            pages += 1;
            offset = programs.page(live).end;
        }
        pages
    }
}

/// Returns the programs of a block that is filled as `buffer` says.
#[inline]
pub(crate) fn programs_of<'a>(
    buffer: &PageBuffer,
    wear: Option<&'a Wear>,
    block: BlockId,
) -> BlockPrograms<'a> {
    match wear.and_then(|wear| wear.smaller(block)) {
        Some(smaller) => BlockPrograms::Smaller(smaller),
        None => BlockPrograms::Whole(buffer.programs()),
    }
}

impl<P: VictimPolicy> PageStore<P> {
    /// The number of the unit at `ppn` in its flash page.
    #[inline]
    pub(crate) fn unit_in_page(&self, ppn: u32) -> u32 {
        if self.gathering.is_none() {
            return 0;
        }
        let (block, offset) = self.tables.place_of(ppn);
        offset - self.programs_of(block).page(offset).start
    }

    /// The number of the unit at `ppn` among those that are programmed with it.
    #[inline]
    pub(crate) fn unit_in_program(&self, ppn: u32) -> u32 {
        let offset = self.tables.place_of(ppn).1;
        self.programs_at(ppn).map_or(0, |programs| offset - programs.program(offset).1.start)
    }

    /// Returns the number of units that are programmed together at `ppn`.
    #[inline]
    pub(crate) fn units_of_program(&self, ppn: u32) -> u32 {
        let Some(programs) = self.programs_at(ppn) else { return 1 };
        let program = programs.program(self.tables.place_of(ppn).1).1;
        program.end - program.start
    }

    /// Returns the programs of the block with `ppn`; `None` if a unit is a flash page.
    #[inline]
    fn programs_at(&self, ppn: u32) -> Option<BlockPrograms<'_>> {
        let Gathering { buffer, slc, .. } = self.gathering.as_ref()?;
        match slc.is_some() && self.is_slc(ppn) {
            true => Some(BlockPrograms::Whole(buffer.of_slc().programs())),
            false => Some(self.programs_of(self.tables.place_of(ppn).0)),
        }
    }

    /// Returns the programs of a block that is not in SLC mode.
    #[inline]
    pub(crate) fn programs_of(&self, block: BlockId) -> BlockPrograms<'_> {
        programs_of(&self.buffer, self.wear.as_ref(), block)
    }

    /// Returns `true` if the unit at `ppn` waits in the page buffer: its flash page is not
    /// programmed.
    pub(crate) fn is_buffered(&self, ppn: u32) -> bool {
        let (block, offset) = self.tables.place_of(ppn);
        let plane = &self.planes[self.tables.plane_of(ppn) as usize];
        let block = block - plane.first_block;
        plane.open.iter().enumerate().any(|(class, active)| {
            active.block == block
                && offset >= self.first_buffered(plane.first_block, class, active)
                && offset < active.next
        })
    }

    /// Returns `true` if the page at `ppn` lies behind those that were written to its open block.
    pub(crate) fn is_unwritten(&self, ppn: u32) -> bool {
        let (block, offset) = self.tables.place_of(ppn);
        let plane = &self.planes[self.tables.plane_of(ppn) as usize];
        let block = block - plane.first_block;
        plane.open.iter().any(|active| active.block == block && offset >= active.next)
    }

    /// The first offset of the open block of `class` at which a unit waits; `next` if no unit waits.
    fn first_buffered(&self, first_block: BlockId, class: usize, active: &Active) -> u32 {
        let Some(it) = &self.gathering else { return active.next };
        let smaller = self.wear.as_ref().filter(|_| active.is_some());
        match smaller.and_then(|wear| wear.smaller(first_block + active.block)) {
            Some(smaller) => smaller.program(active.next).1.start,
            None => it.buffer_of(class).first_waiting(active.next, it.units_per_block),
        }
    }

    /// Returns `true` if a unit waits in the open block of `class`.
    pub(super) fn waits(&self, first_block: BlockId, class: usize, active: &Active) -> bool {
        self.first_buffered(first_block, class, active) < active.next
    }

    /// Programs, partly filled, one flash page of `plane`, if data of the host wait at its class.
    /// Returns the ppn of its first unit; `None` if no such data wait. With two passes the page may be
    /// one without data, whose first pass the data wait for.
    pub(crate) fn program_host_data(&mut self, plane: PlaneId) -> Option<u32> {
        self.program_waiting(plane, |ends| ends.host)
    }

    /// Programs, partly filled, one flash page of `plane`, if copies wait at its class, as
    /// [`PageStore::program_host_data`] does.
    pub(crate) fn program_copies(&mut self, plane: PlaneId) -> Option<u32> {
        self.program_waiting(plane, |ends| ends.copies)
    }

    fn program_waiting(&mut self, plane: PlaneId, end: impl Fn(&Ends) -> u32) -> Option<u32> {
        let gathering = self.gathering.as_ref()?;
        let ends = &gathering.ends[plane as usize * gathering.classes..][..gathering.classes];
        let first_block = self.planes[plane as usize].first_block;
        let open = self.planes[plane as usize].open.iter().zip(ends);
        let mut waits = open.enumerate().map(|(class, (active, ends))| {
            active.is_some() && end(ends) > self.first_buffered(first_block, class, active)
        });
        let class = waits.position(|waits| waits)?;
        let its = &self.planes[plane as usize];
        let active = &its.open[class];
        let block = its.first_block + active.block;
        let first = self.tables.first_ppn(block) + self.pad(plane, class as Class)?;
        let its = &mut self.planes[plane as usize];
        if its.region.as_ref().is_some_and(|region| usize::from(region.classes.slc) == class) {
            its.close_slc();
        }
        Some(first)
    }

    /// Notes that the host's data at `class` of `plane` end with the page that was programmed last.
    #[inline]
    pub(crate) fn host_ends(&mut self, plane: PlaneId, class: Class) {
        if let Some(gathering) = &mut self.gathering {
            let next = self.planes[plane as usize].open[usize::from(class)].next;
            gathering.ends(plane, class).host = next;
        }
    }

    /// Notes that the copies at `class` of `plane` end with the page that was programmed last.
    #[inline]
    pub(super) fn copies_end(&mut self, plane: PlaneId, class: Class) {
        if let Some(gathering) = &mut self.gathering {
            let next = self.planes[plane as usize].open[usize::from(class)].next;
            gathering.ends(plane, class).copies = next;
        }
    }

    /// Notes that nothing waits in the erased block that is opened for `class` of `plane`.
    #[inline]
    pub(super) fn nothing_waits(&mut self, plane: PlaneId, class: Class) {
        if let Some(gathering) = &mut self.gathering {
            *gathering.ends(plane, class) = Ends::default();
        }
    }

    /// Programs the rest of the flash pages that are being filled at `class`, without data. If none
    /// is being filled, programs the next ones. Returns the offset of the first.
    fn pad(&mut self, plane: PlaneId, class: Class) -> Option<u32> {
        let gathering = self.gathering.as_mut()?;
        let its = &mut self.planes[plane as usize];
        let active = &mut its.open[usize::from(class)];
        debug_assert!(active.next < gathering.units_per_block, "nothing waits in a full block");
        let buffer = gathering.buffer_of(class.into());
        let block = its.first_block + active.block;
        let program = programs_of(&buffer, self.wear.as_ref(), block).program(active.next).1;
        gathering.counts.padding += u64::from(program.end - active.next);
        active.next = program.end;
        Some(program.start)
    }

    /// Counts the flash pages that a collection reads of the victim `block` of `plane`.
    #[inline]
    pub(super) fn note_pages_read(&mut self, plane: PlaneId, block: BlockId) {
        let Some(gathering) = &mut self.gathering else { return };
        let block = self.planes[plane as usize].first_block + block;
        let programs = programs_of(&self.buffer, self.wear.as_ref(), block);
        let pages = self.tables.pages_with_live(block, &programs);
        gathering.counts.pages_read += pages;
    }

    /// The counts of the page buffer; `None` where a unit is a flash page.
    pub(super) fn packing(&self) -> Option<Packing> {
        self.gathering.as_ref().map(|gathering| gathering.counts)
    }
}

#[cfg(test)]
mod tests {
    use flashgc_base::rng::Stream;

    use super::*;
    use crate::geometry::Geometry;

    #[test]
    fn pages_with_a_live_unit_are_counted_in_words_as_one_by_one() {
        let mut stream = Stream::new(1, "live");
        for (b, units) in [(8, 2), (8, 4), (16, 8), (64, 4), (192, 64), (200, 4), (96, 32), (30, 2)]
        {
            let geometry = Geometry::new(5, b, 3 * u64::from(b)).unwrap();
            let mut tables = Tables::new(geometry, 5).unwrap();
            for sparse in [1, 2, 9, 100] {
                for block in 0..5 {
                    for offset in 0..b {
                        let ppn = tables.first_ppn(block) | offset;
                        let bit = u64::from(stream.below(sparse) == 0) << (ppn & 63);
                        let word = &mut tables.live[(ppn >> 6) as usize];
                        *word = *word & !(1 << (ppn & 63)) | bit;
                    }
                }
                for block in 0..5 {
                    let programs = PageBuffer { units_per_page: units, ..PageBuffer::default() };
                    let programs = BlockPrograms::Whole(programs.programs());
                    let one_by_one = tables.pages_with_live_one_by_one(block, &programs);
                    assert_eq!(tables.pages_with_live(block, &programs), one_by_one, "{b} {units}");
                }
            }
        }
    }
}
