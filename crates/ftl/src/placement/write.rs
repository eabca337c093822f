//! Host writes and collections of a layer with a placement: one open block a class, all of them
//! from the pool.

use super::{Class, Placed};
use crate::blocks::BlockId;
use crate::frontier::Active;
use crate::page_map::{LIVE_AHEAD, MAP_AHEAD, PageMap, State, UNMAPPED};
use crate::table::prefetch;
use crate::track::Tracker;
use crate::translation::{FtlError, Translation};
use crate::victim::VictimPolicy;

impl<P: VictimPolicy> PageMap<P> {
    /// As [`Translation::write_until`], for pages that are inside the map.
    pub(crate) fn write_placed(
        &mut self,
        placed: &mut Placed,
        pages: &[u32],
        collections: u64,
    ) -> Result<usize, FtlError> {
        let mut done = 0;
        while done < pages.len() && !self.has_ended() {
            let (count, full) = self.state.append_placed(placed, &pages[done..]);
            done += count;
            if let Some(class) = full {
                if self.state.counters.collections >= collections {
                    break;
                }
                self.make_room_placed(placed, class)?;
            }
        }
        Ok(done)
    }

    /// Collects while the pool is low, and gives `class`, whose open block is full, another unless
    /// copies did. Their open blocks are shared with the host: where one was opened for `class` it
    /// takes no block more, and the pool need not have one to spare for it.
    #[cold]
    #[inline(never)]
    fn make_room_placed(&mut self, placed: &mut Placed, class: Class) -> Result<(), FtlError> {
        let b = self.state.geometry.pages_per_block();
        let class = usize::from(class);
        self.state.close(placed.open[class].block);
        placed.open[class] = Active::none(b);
        let mut fruitless = 0;
        while self.open.pool.len() < placed.water + usize::from(placed.open[class].next == b) {
            let victim = self.pick(fruitless)?;
            fruitless += 1;
            if self.blocks_needed(placed, victim) > self.open.pool.len() {
                self.state.close(placed.open[class].block);
                placed.open[class] = Active { block: victim, next: b };
                return self.run_dry();
            }
            let from = placed.class_of(victim);
            self.state.empty(victim);
            self.scatter(placed, from)?;
            let erases = self.state.blocks.erase_count(victim);
            let counters = self.state.counters;
            let wear = self.state.wear.as_mut();
            if !wear.is_some_and(|wear| wear.retires(victim, erases, counters)) {
                self.open.pool.put(victim, erases);
            } else if self.has_ended() {
                return Ok(());
            }
        }
        if placed.open[class].next == b {
            self.open_next(placed, class as Class)?;
        }
        Ok(())
    }

    /// Erased blocks that it takes to empty `victim`: not worked out where there are enough.
    fn blocks_needed(&self, placed: &Placed, victim: BlockId) -> usize {
        if self.open.pool.len() >= placed.rule.copy_classes() {
            return 0;
        }
        let State { geometry, reverse, blocks, .. } = &self.state;
        let b = geometry.pages_per_block();
        let mut room: Vec<u32> = placed.open.iter().map(|active| b - active.next).collect();
        let mut needed = 0;
        for offset in 0..b {
            let ppn = (victim << geometry.offset_bits()) | offset;
            if !self.state.is_live(ppn) {
                continue;
            }
            let page = reverse[(u64::from(victim) * u64::from(b)) as usize + offset as usize];
            let zombie = self.state.is_zombie(page);
            let from = placed.class_of(victim);
            let to = usize::from(placed.rule.copy(page, from, zombie, blocks.clock()));
            if room[to] == 0 {
                needed += 1;
                room[to] = b;
            }
            room[to] -= 1;
        }
        needed
    }

    /// Programs the pages that were on a block of class `from`, each in its class.
    fn scatter(&mut self, placed: &mut Placed, from: Class) -> Result<(), FtlError> {
        let b = self.state.geometry.pages_per_block();
        for index in 0..self.state.moving_len {
            if let Some(&ahead) = self.state.moving.get(index + MAP_AHEAD) {
                prefetch(&self.state.map, ahead as usize);
            }
            let page = self.state.moving[index];
            let zombie = self.state.moves_zombie(index);
            let class = placed.rule.copy(page, from, zombie, self.state.blocks.clock());
            if placed.open[usize::from(class)].next == b {
                self.open_next(placed, class)?;
            }
            let active = &mut placed.open[usize::from(class)];
            let block = active.block;
            let ppn = self.state.program_one(active, page);
            self.state.map[page as usize] = ppn;
            self.state.set_down_zombies(&[page], index, block);
            self.state.advance(ppn, 1);
        }
        self.state.counters.copied_pages += self.state.moving_len as u64;
        Ok(())
    }

    /// Closes the full block of `class`, if there is one, and takes an erased one in its place.
    fn open_next(&mut self, placed: &mut Placed, class: Class) -> Result<(), FtlError> {
        let active = &mut placed.open[usize::from(class)];
        self.state.close(active.block);
        *active = self.erased_block(false)?;
        placed.class_of[active.block as usize] = class;
        Ok(())
    }
}

impl<T: Tracker> State<T> {
    /// Writes `pages` in order until the open block of a class is full, at most b of them. Returns
    /// how many, and that class.
    fn append_placed(&mut self, placed: &mut Placed, pages: &[u32]) -> (usize, Option<Class>) {
        let (b, bits) = (self.geometry.pages_per_block(), self.geometry.offset_bits());
        let mut old = std::mem::take(&mut self.old);
        let limit = pages.len().min(b as usize);
        let (mut count, mut full) = (0, None);
        while count < limit {
            if let Some(&ahead) = pages.get(count + MAP_AHEAD) {
                prefetch(&self.map, ahead as usize);
            }
            if let Some(&ahead) = pages.get(count + LIVE_AHEAD) {
                prefetch(&self.live, (self.ppn_of(self.map[ahead as usize]) >> 6) as usize);
            }
            let page = pages[count];
            let entry = self.map[page as usize];
            let ppn = self.ppn_of(entry);
            let from = (ppn != UNMAPPED).then(|| placed.class_of(ppn >> bits));
            let class = placed.rule.host(page, from, self.blocks.clock());
            let active = &mut placed.open[usize::from(class)];
            if active.next == b {
                full = Some(class);
                break;
            }
            old[count] = entry;
            let ppn = self.program_one(active, page);
            self.map[page as usize] = ppn;
            self.advance(ppn, 1);
            placed.rule.wrote(page, self.blocks.clock());
            count += 1;
        }
        self.replaced(&mut old[..count]);
        self.old = old;
        self.counters.host_pages += count as u64;
        (count, full)
    }

    /// Programs `page` at `active`, which has room, and returns its ppn; the map is the caller's.
    #[inline(always)]
    fn program_one(&mut self, active: &mut Active, page: u32) -> u32 {
        let Active { block, next } = *active;
        let ppn = (block << self.geometry.offset_bits()) | next;
        let b = self.geometry.pages_per_block() as usize;
        self.reverse[block as usize * b + next as usize] = page;
        self.live[(ppn >> 6) as usize] |= 1 << (ppn & 63);
        self.blocks.counts_mut()[block as usize] += 1;
        if next == 0 {
            self.blocks.program(block);
        }
        active.next += 1;
        ppn
    }
}
