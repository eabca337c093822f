//! A store made again from the contents of its drive. After a crash a drive knows where every page
//! is, how often each block was erased, and which blocks are open, but its policies have lost their
//! memory.
//!
//! Policies and trackers begin anew. They see blocks closed in the order given, b pages apart on
//! both clocks.

use flashgc_base::fail_if;
use flashgc_base::snapshot::Fault;

use super::{Active, PageStore, Tables};
use crate::blocks::BlockId;
use crate::counters::Counters;
use crate::geometry::UNMAPPED;
use crate::levelling::Leveller;
use crate::placement::Class;
use crate::victim::VictimPolicy;
use crate::wear::Wear;

/// A block that is being programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenBlock {
    /// The class whose pages it takes.
    pub class: Class,
    /// The block.
    pub block: BlockId,
    /// Offset of the next page to program, at most b.
    pub next: u32,
}

/// The contents of a drive. Every block is open, closed or erased.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// For each logical page its ppn, or [`UNMAPPED`]; `None` where the entries of the new store
    /// were filled in place.
    pub map: Option<&'a [u32]>,
    /// Erases of each block.
    pub erases: &'a [u32],
    /// The class for which each block was opened last.
    pub classes: &'a [Class],
    /// Open blocks, at most one a class in each plane.
    pub open: &'a [OpenBlock],
    /// Blocks that policies may pick, in the order in which they were closed.
    pub closed: &'a [BlockId],
    /// Erased blocks, in the order in which they were erased. Blocks at the limit of their
    /// endurance are bad.
    pub erased: &'a [BlockId],
    /// The counts so far. The count of erases must be the sum of `erases`.
    pub counters: Counters,
}

/// The state of a block in [`Contents`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    Erased,
    /// Programmed up to this offset.
    Programmed(u32),
}

impl Contents<'_> {
    /// Returns the state of each block. Every block must be named once.
    fn states(&self, tables: &Tables, classes: usize) -> Result<Vec<State>, Fault> {
        let b = tables.geometry.pages_per_block();
        let mut states = vec![State::Unknown; tables.geometry.blocks() as usize];
        let open = self.open.iter().map(|open| (open.block, State::Programmed(open.next)));
        let closed = self.closed.iter().map(|&block| (block, State::Programmed(b)));
        let erased = self.erased.iter().map(|&block| (block, State::Erased));
        for (block, state) in open.chain(closed).chain(erased) {
            match states.get_mut(block as usize) {
                Some(known @ State::Unknown) => *known = state,
                Some(_) => return Err(Fault::new(format!("block {block} is named twice"))),
                None => return Err(Fault::new(format!("block {block} does not exist"))),
            }
        }
        if let Some(block) = states.iter().position(|&state| state == State::Unknown) {
            return Err(Fault::new(format!("block {block} is neither open, closed nor erased")));
        }
        let of_plane = tables.blocks_per_plane;
        let planes = tables.geometry.blocks() / of_plane;
        let mut taken = vec![false; planes as usize * classes];
        for OpenBlock { class, block, next } in self.open {
            let class_of_plane = (block / of_plane) as usize * classes + usize::from(*class);
            let known = taken.get_mut(class_of_plane).filter(|_| usize::from(*class) < classes);
            let is_free = known.is_some_and(|taken| {
                let was_taken = std::mem::replace(taken, true);
                !was_taken
            });
            fail_if!(
                !is_free || *next > b,
                "block {block} is open for class {class} at page {next}: no such place, or taken"
            );
        }
        Ok(states)
    }

    /// Checks that the lengths of the lists, the classes and the erases fit this drive.
    fn check(&self, tables: &Tables, classes: usize) -> Result<(), Fault> {
        let blocks = tables.geometry.blocks() as usize;
        let pages = tables.geometry.logical_pages() as usize;
        let mapped = self.map.map_or(pages, <[u32]>::len);
        fail_if!(
            (mapped, self.erases.len(), self.classes.len()) != (pages, blocks, blocks),
            "contents of a drive of another shape"
        );
        if let Some(class) = self.classes.iter().find(|&&class| usize::from(class) >= classes) {
            return Err(Fault::new(format!("there is no class {class}")));
        }
        let erases: u64 = self.erases.iter().map(|&erases| u64::from(erases)).sum();
        if erases != self.counters.erases {
            let counted = self.counters.erases;
            return Err(Fault::new(format!("{erases} erases of blocks, {counted} counted")));
        }
        Ok(())
    }
}

impl<P: VictimPolicy> PageStore<P> {
    /// Takes over `contents`. The store is new, and was made without data. After an
    /// error the store must not be used any more.
    ///
    /// # Errors
    /// Contents that contradict themselves, or are not those of a drive of this shape.
    pub(crate) fn hold(&mut self, contents: &Contents<'_>) -> Result<(), Fault> {
        let classes = self.sorting.classes();
        let erased: usize = self.planes.iter().map(|plane| plane.pool.len()).sum();
        let is_new = erased == self.tables.geometry.blocks() as usize;
        fail_if!(!is_new, "only a new store takes over contents");
        fail_if!(
            self.wear.as_ref().is_some_and(Wear::shrinks),
            "contents of superblocks that shrink, which no medium records"
        );
        contents.check(&self.tables, classes)?;
        let states = contents.states(&self.tables, classes)?;
        self.sorting.hold(&contents.counters, contents.classes);
        self.hold_pages(contents.map, &states)?;
        self.hold_blocks(contents)
    }

    /// Restores the map, the reverse map, live bits and valid counts.
    fn hold_pages(&mut self, map: Option<&[u32]>, states: &[State]) -> Result<(), Fault> {
        let of_plane = self.tables.blocks_per_plane;
        for (block, state) in (0..).zip(states) {
            if matches!(state, State::Programmed(_)) {
                let plane = &mut self.planes[(block / of_plane) as usize];
                plane.blocks.program(block % of_plane, 0);
            }
        }
        if let Some(map) = map {
            self.tables.map.copy_from_slice(map);
        }
        for page in 0..self.tables.geometry.logical_pages() {
            let ppn = self.tables.map[page as usize];
            if ppn == UNMAPPED {
                continue;
            }
            let (block, offset) = self.tables.place_of(ppn);
            let state = states.get(block as usize);
            let is_programmed = matches!(state, Some(&State::Programmed(next)) if offset < next);
            fail_if!(
                !is_programmed || self.tables.is_live(ppn),
                "page {page} is mapped to block {block} page {offset}, which is not programmed or \
                 holds another page"
            );
            self.tables.program(block, offset, &[page]);
            let plane = &mut self.planes[(block / of_plane) as usize];
            plane.blocks.program(block % of_plane, 1);
            plane.valid_pages += 1;
            self.sorting.holds(page, block);
        }
        Ok(())
    }

    /// Restores erases, open blocks, candidates, the pool and worn-out blocks.
    fn hold_blocks(&mut self, contents: &Contents<'_>) -> Result<(), Fault> {
        let is_last = |block: BlockId| {
            let erases = contents.erases[block as usize];
            self.wear.as_ref().is_some_and(|wear| wear.is_last(block, erases))
        };
        let open = contents.open.iter().map(|open| open.block);
        if let Some(block) =
            open.chain(contents.closed.iter().copied()).find(|&block| is_last(block))
        {
            return Err(Fault::new(format!("block {block} is worn out, and was programmed")));
        }
        let (bad, good): (Vec<_>, Vec<_>) =
            contents.erased.iter().copied().partition(|&block| is_last(block));
        for number in 0..self.planes.len() {
            self.hold_plane(number, contents, &good);
        }
        if let Some(wear) = &mut self.wear {
            for block in bad {
                let plane = block / self.tables.blocks_per_plane;
                wear.retire(plane, block, contents.counters, None);
            }
        }
        Ok(())
    }

    /// Restores the blocks of a plane. `good` has the erased blocks of the drive that are not bad.
    fn hold_plane(&mut self, number: usize, contents: &Contents<'_>, good: &[BlockId]) {
        let planes = self.planes.len();
        let plane = &mut self.planes[number];
        let (first, count) = (plane.first_block, plane.blocks.len());
        let of_plane = first as usize..(first + count) as usize;
        let is_here = |block: &&BlockId| of_plane.contains(&(**block as usize));
        let (b, erases) = (u64::from(plane.blocks.pages_per_block()), &contents.erases);
        while plane.pool.take().is_some() {}
        plane.blocks.hold_erases(&erases[of_plane.clone()]);
        if self.sorting.has_rule() {
            (0..)
                .zip(&contents.classes[of_plane.clone()])
                .for_each(|(block, &class)| plane.blocks.set_class(block, class));
        }
        plane.counters = Counters {
            erases: plane.blocks.erase_counts().iter().map(|&erases| u64::from(erases)).sum(),
            ..part_of(&contents.counters, number as u64, planes as u64)
        };
        plane.tracker = plane.policy.tracker(&plane.blocks);
        plane.leveller = plane.leveller.take().map(|old| Leveller::anew(&old, &plane.blocks));
        for &OpenBlock { class, block, next } in contents.open {
            if is_here(&&block) {
                plane.open[usize::from(class)] = Active { next, ..Active::erased(block - first) };
            }
        }
        let counters = plane.counters;
        let closed = contents.closed.iter().filter(is_here);
        plane.blocks.tick(counters.programs().saturating_sub(closed.clone().count() as u64 * b));
        for &block in closed {
            plane.blocks.tick(b);
            // The block was closed as long ago on the host's clock as on the clock of programs.
            let since = counters.programs().saturating_sub(plane.blocks.clock());
            let host_clock = counters.host_pages.saturating_sub(since);
            plane.close_at(Active::erased(block - first), host_clock);
        }
        for &block in good.iter().filter(is_here) {
            plane.pool.put(block - first, erases[block as usize]);
        }
    }
}

/// Returns the counts of a plane of a drive with these counts. Nothing on the medium says what each
/// plane did, so all planes get equal parts.
fn part_of(counters: &Counters, plane: u64, planes: u64) -> Counters {
    let part = |all: u64| all / planes + u64::from(plane < all % planes);
    let Counters { host_pages, copied_pages, erases, collections, trimmed_pages } = *counters;
    Counters {
        host_pages: part(host_pages),
        copied_pages: part(copied_pages),
        erases: part(erases),
        collections: part(collections),
        trimmed_pages: part(trimmed_pages),
    }
}
