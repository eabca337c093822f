//! Garbage collection: how each write frontier makes room for the next host write.

use flashgc_base::residency::Residency;

use super::{ONLY, PageMap, Sharing};
use crate::error::FtlError;
use crate::frontier::Frontier;
use crate::geometry::UNMAPPED;
use crate::layer::Layer;
use crate::layout::PlaneId;
use crate::placement::Class;
use crate::scheme::Action;
use crate::store::{Active, HOST, Plane, Tables};
use crate::victim::VictimPolicy;

/// The class of copies under the double and the compact frontier.
const COPIES: Class = HOST + 1;

impl<P: VictimPolicy> PageMap<P> {
    /// Collects until `class`, whose open block in `plane` is full, has an open block with an erased page.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room(
        &mut self,
        plane: PlaneId,
        class: Class,
        memory: &mut dyn Residency,
    ) -> Result<(), FtlError> {
        self.plane_mut(plane).fruitless = 0;
        match self.frontier {
            Frontier::Single => self.make_room_single(memory),
            Frontier::Double => self.make_room_double(memory),
            Frontier::Compact => self.make_room_compact(memory),
            Frontier::Pool { low } | Frontier::Mixed { low } => {
                self.make_room_pool(plane, class, low as usize, memory)
            }
        }?;
        self.store.fetch_next(plane);
        Ok(())
    }

    fn plane_mut(&mut self, plane: PlaneId) -> &mut Plane<P> {
        &mut self.store.planes[plane as usize]
    }

    /// Makes room under the single frontier: the victim's valid pages move to its front, and it
    /// becomes the frontier.
    fn make_room_single(&mut self, memory: &mut dyn Residency) -> Result<(), FtlError> {
        loop {
            self.plane_mut(ONLY).close_class(HOST);
            let victim = self.take_erased(memory)?;
            self.plane_mut(ONLY).open[usize::from(HOST)] = Active::erased(victim);
            self.set_down(HOST, 0, self.moving_len);
            if self.plane(ONLY).room(HOST) > 0 {
                return Ok(());
            }
        }
    }

    /// Makes room under the double frontier: the victim's valid pages move to the internal
    /// frontier. If all of them fit, the victim becomes the external frontier. If not, the victim
    /// takes the rest and becomes the internal frontier.
    fn make_room_double(&mut self, memory: &mut dyn Residency) -> Result<(), FtlError> {
        loop {
            let victim = self.take_erased(memory)?;
            let count = self.moving_len;
            let fits = count.min(self.plane(ONLY).room(COPIES) as usize);
            self.set_down(COPIES, 0, fits);
            let class = if fits == count { HOST } else { COPIES };
            self.plane_mut(ONLY).close_class(class);
            self.plane_mut(ONLY).open[usize::from(class)] = Active::erased(victim);
            if class == HOST {
                return Ok(());
            }
            self.set_down(COPIES, fits, count);
        }
    }

    /// Gives the host the room that copies left in their block. If there is none, victims are
    /// compacted, and the host gets the erased block.
    fn make_room_compact(&mut self, memory: &mut dyn Residency) -> Result<(), FtlError> {
        self.plane_mut(ONLY).close_class(HOST);
        if self.plane(ONLY).room(COPIES) > 0 {
            self.plane_mut(ONLY).open.swap(HOST.into(), COPIES.into());
            return Ok(());
        }
        self.plane_mut(ONLY).close_class(COPIES);
        let mut taken = Vec::new();
        let all_taken = self.take_a_block(&mut taken, memory);
        for (victim, pages, zombies) in taken.into_iter().rev() {
            let (first, rest) =
                pages.split_at(pages.len().min(self.plane(ONLY).room(COPIES) as usize));
            if !first.is_empty() {
                self.store.set_down(ONLY, COPIES, first, zombies);
            }
            let class = if rest.is_empty() { HOST } else { COPIES };
            self.plane_mut(ONLY).close_class(class);
            self.plane_mut(ONLY).open[usize::from(class)] = Active::erased(victim);
            if !rest.is_empty() {
                self.store.set_down(ONLY, COPIES, rest, zombies);
            }
        }
        all_taken
    }

    /// Erases victims until their invalid pages make up a block. `taken` gets each victim, its
    /// valid pages, and `true` if any of these may be a zombie.
    fn take_a_block(
        &mut self,
        taken: &mut Vec<(u32, Vec<u32>, bool)>,
        memory: &mut dyn Residency,
    ) -> Result<(), FtlError> {
        let b = self.plane(ONLY).blocks.pages_per_block() as usize;
        let mut gained = 0;
        while gained < b {
            let victim = self.take_erased(memory)?;
            gained += b - self.moving_len;
            taken.push((victim, self.moving[..self.moving_len].to_vec(), self.moves_zombies));
        }
        Ok(())
    }

    /// Empties and erases a victim on a drive without a pool, and returns it for a frontier. Its
    /// pages are in `moving`.
    fn take_erased(&mut self, memory: &mut dyn Residency) -> Result<u32, FtlError> {
        let victim = self.plane_mut(ONLY).pick()?;
        self.store.note_collected(ONLY, victim);
        self.lift(victim, memory);
        self.plane_mut(ONLY).erase(victim);
        Ok(victim)
    }

    /// Collects victims into the pool while the pool is low. Then `class` opens a block from the
    /// pool, unless copies have already opened one for it that has room left; in this case the pool
    /// needs no block for the host. A worn-out victim does not go to the pool. A victim whose pages
    /// would find no room is not emptied, so the drive has all its data at the end of its life.
    /// With wear levelling, the least erased block is sometimes collected in place of a victim of
    /// the policy.
    ///
    /// One collection may open a block for every class of copies before it gives one back, so with
    /// a placement the pool keeps one more block for each of these classes except the first.
    fn make_room_pool(
        &mut self,
        plane: PlaneId,
        class: Class,
        low: usize,
        memory: &mut dyn Residency,
    ) -> Result<(), FtlError> {
        self.plane_mut(plane).close_class(class);
        let sorts = self.store.sorting.has_rule();
        let water = low + self.store.sorting.reserved() as usize - 1;
        loop {
            // Without a placement copies never open the host's block, so the pool needs one for it.
            let needs_block = !sorts || self.plane(plane).room(class) == 0;
            if self.plane(plane).erased_blocks() >= water + usize::from(needs_block) {
                break;
            }
            let Self { store, sharing, moving, .. } = self;
            let keep = |tables: &mut Tables, pages: &mut [u32]| match sharing {
                Some(sharing) => sharing.keep(tables, pages, memory),
                None => pages.len(),
            };
            let Some(moved) = store.collect(plane, moving, keep)? else { return Ok(()) };
            (self.moving_len, self.moves_zombies) = moved;
            if self.has_ended() {
                return Ok(());
            }
        }
        if self.plane(plane).room(class) == 0 {
            self.store.open_next(class, plane)?;
        }
        Ok(())
    }

    /// Lifts the valid pages of `victim` into `moving`, without those that the scheme leaves to
    /// memory.
    fn lift(&mut self, victim: u32, memory: &mut dyn Residency) {
        (self.moving_len, self.moves_zombies) = self.store.lift(ONLY, victim, &mut self.moving);
        if let Some(sharing) = &mut self.sharing {
            let pages = &mut self.moving[..self.moving_len];
            self.moving_len = sharing.keep(&mut self.store.tables, pages, memory);
        }
    }

    /// Programs the pages `from..to` of `moving` in the open block of `class`.
    fn set_down(&mut self, class: Class, from: usize, to: usize) {
        if from < to {
            self.store.set_down(ONLY, class, &self.moving[from..to], self.moves_zombies);
        }
    }
}

impl Sharing {
    /// Removes from `pages`, which a collection moves, those that the scheme leaves to memory.
    /// Pages that the scheme writes from memory stay, because the source of their data changes
    /// nothing on flash. Returns how many stay; they are at the front of `pages`.
    fn keep(
        &mut self,
        tables: &mut Tables,
        pages: &mut [u32],
        memory: &mut dyn Residency,
    ) -> usize {
        let b = tables.geometry.pages_per_block();
        let table = self.scheme.table(&self.costs, b, memory);
        let mut kept = 0;
        for index in 0..pages.len() {
            let page = pages[index];
            let state = memory.lookup(page);
            match table.action(state) {
                Action::Copy => {}
                Action::Flush => {
                    memory.set_dirty(page, false);
                    self.duplicates.flushed += 1;
                }
                Action::Skip => {
                    tables.map[page as usize] = UNMAPPED;
                    if state.is_some_and(|state| state.dirty) {
                        self.duplicates.left_dirty += 1;
                    } else {
                        memory.set_dirty(page, true);
                        self.duplicates.made_dirty += 1;
                    }
                    continue;
                }
            }
            pages[kept] = page;
            kept += 1;
        }
        kept
    }
}
