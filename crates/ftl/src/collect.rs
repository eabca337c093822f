//! Garbage collection: how each write frontier makes room for the next host write.

use std::cmp::Reverse;

use crate::blocks::{BlockId, BlockTable};
use crate::frontier::{Active, Frontier};
use crate::page_map::{MAP_AHEAD, PageMap, State, UNMAPPED, for_words};
use crate::scheme::Action;
use crate::table::prefetch;
use crate::track::Tracker;
use crate::translation::{FtlError, Translation};
use crate::victim::VictimPolicy;
use flashgc_base::residency::Residency;
use flashgc_base::rng::Stream;

impl<P: VictimPolicy> PageMap<P> {
    /// Collects until the host frontier has an erased page. It is full when this is called.
    #[cold]
    #[inline(never)]
    pub(crate) fn make_room(&mut self, memory: &mut dyn Residency) -> Result<(), FtlError> {
        match self.open.kind {
            Frontier::Single => self.make_room_single(memory),
            Frontier::Double => self.make_room_double(memory),
            Frontier::Pool { low } | Frontier::Mixed { low } => {
                self.make_room_pool(low as usize, memory)
            }
        }
    }

    /// The victim's valid pages move to its front; it becomes the frontier.
    fn make_room_single(&mut self, memory: &mut dyn Residency) -> Result<(), FtlError> {
        let b = self.state.geometry.pages_per_block();
        for fruitless in 0.. {
            self.state.close(self.open.host.block);
            self.open.host = Active::none(b);
            let victim = self.pick(fruitless)?;
            self.state.empty(victim);
            self.leave_out(memory);
            let mut active = Active::erased(victim);
            let count = self.state.moving_len;
            self.state.copy(&mut active, 0, count);
            self.open.host = active;
            if active.next < b {
                break;
            }
        }
        Ok(())
    }

    /// The victim's valid pages move to the internal frontier and it becomes the external one; or,
    /// where they do not all fit, it keeps the rest and becomes the internal one.
    fn make_room_double(&mut self, memory: &mut dyn Residency) -> Result<(), FtlError> {
        let b = self.state.geometry.pages_per_block();
        for fruitless in 0.. {
            let victim = self.pick(fruitless)?;
            self.state.empty(victim);
            self.leave_out(memory);
            let count = self.state.moving_len;
            let fits = count.min((b - self.open.copies.next) as usize);
            self.state.copy(&mut self.open.copies, 0, fits);
            if fits == count {
                self.state.close(self.open.host.block);
                self.open.host = Active::erased(victim);
                break;
            }
            self.state.close(self.open.copies.block);
            self.open.copies = Active::erased(victim);
            self.state.copy(&mut self.open.copies, fits, count);
        }
        Ok(())
    }

    /// Victims are emptied into the copy frontier and go to the pool while it is low; then the
    /// host frontier takes a block from it, unless it has taken the copies too and has room left. A
    /// victim that has worn out does not go to the pool, and none is emptied whose pages would find
    /// no room: at its end the drive has all its data. Where wear is levelled, the least erased block
    /// takes the place of a victim now and then.
    fn make_room_pool(&mut self, low: usize, memory: &mut dyn Residency) -> Result<(), FtlError> {
        self.state.close(self.open.host.block);
        let b = self.state.geometry.pages_per_block();
        self.open.host = Active::none(b);
        let mut fruitless = 0;
        while self.open.pool.len() <= low {
            let levelling = self.least_erased();
            let victim = if let Some(block) = levelling {
                let decision = take(&mut self.state.blocks, &mut self.state.tracker, block);
                self.state.taken(block, decision);
                block
            } else {
                fruitless += 1;
                self.pick(fruitless - 1)?
            };
            let mut to = *self.open.frontier_of_copies(levelling.is_some());
            let room = b - to.next;
            if self.open.pool.is_empty() && u32::from(self.state.blocks.valid(victim)) > room {
                if self.open.host.block != Active::NO_BLOCK {
                    // It has taken copies, and stays open.
                    self.open.copies = self.open.host;
                }
                self.open.host = Active { block: victim, next: b };
                return self.run_dry();
            }
            self.state.empty(victim);
            self.leave_out(memory);
            let count = self.state.moving_len;
            let fits = count.min(room as usize);
            self.state.copy(&mut to, 0, fits);
            if fits < count {
                self.state.close(to.block);
                to = self.erased_block(levelling.is_some())?;
                self.state.copy(&mut to, fits, count);
            }
            let erases = self.state.blocks.erase_count(victim);
            *self.open.frontier_of_copies(levelling.is_some()) = to;
            if let Some(leveller) = &mut self.state.leveller {
                leveller.erased(erases, levelling.map(|_| count));
            }
            let counters = self.state.counters;
            let wear = self.state.wear.as_mut();
            if !wear.is_some_and(|wear| wear.retires(victim, erases, counters)) {
                self.open.pool.put(victim, erases);
            } else if self.has_ended() {
                return Ok(());
            }
        }
        if self.open.host.next == b {
            self.state.close(self.open.host.block);
            self.open.host = self.erased_block(false)?;
        }
        Ok(())
    }

    /// The block to collect in place of the policy's next victim, if wear is to be levelled now and
    /// its pages find room.
    fn least_erased(&mut self) -> Option<BlockId> {
        let b = self.state.geometry.pages_per_block();
        let room = if self.open.pool.is_empty() { b - self.open.levelled.next } else { b };
        self.state.leveller.as_mut()?.victim(&self.state.blocks, room)
    }

    /// Takes from the pages on their way from a victim those that the scheme leaves to memory. Those
    /// that it writes from memory stay: where their data come from changes nothing on flash.
    fn leave_out(&mut self, memory: &mut dyn Residency) {
        let Some(sharing) = &mut self.sharing else { return };
        let b = self.state.geometry.pages_per_block();
        let table = sharing.scheme.table(&sharing.costs, b, memory);
        let mut kept = 0;
        for index in 0..self.state.moving_len {
            let page = self.state.moving[index];
            let state = memory.lookup(page);
            match table.action(state) {
                Action::Copy => {}
                Action::Flush => {
                    memory.set_dirty(page, false);
                    sharing.duplicates.flushed += 1;
                }
                Action::Skip => {
                    self.state.map[page as usize] = UNMAPPED;
                    if state.is_some_and(|state| state.dirty) {
                        sharing.duplicates.left_dirty += 1;
                    } else {
                        memory.set_dirty(page, true);
                        sharing.duplicates.made_dirty += 1;
                    }
                    continue;
                }
            }
            self.state.moving[kept] = page;
            kept += 1;
        }
        self.state.moving_len = kept;
    }

    /// The pool is empty and the pages of a victim need a block of it: it stays as it is. Trackers
    /// know it as picked and to be erased, so it is no candidate again, but a full host frontier.
    pub(crate) fn run_dry(&mut self) -> Result<(), FtlError> {
        let Some(wear) = &mut self.state.wear else {
            return Err(FtlError::NoSpace("the pool of erased blocks is empty".to_string()));
        };
        wear.ran_dry(self.state.counters);
        Ok(())
    }

    /// A block of the pool: the next in turn or, for cold data, the most worn.
    pub(crate) fn erased_block(&mut self, for_cold: bool) -> Result<Active, FtlError> {
        let pool = &mut self.open.pool;
        let block = if for_cold {
            let key = |&block: &BlockId| (self.state.blocks.erase_count(block), Reverse(block));
            let most_worn = pool.blocks().into_iter().max_by_key(key);
            most_worn.inspect(|&block| pool.remove(block))
        } else {
            pool.take()
        };
        block
            .map(Active::erased)
            .ok_or_else(|| FtlError::NoSpace("the pool of erased blocks is empty".to_string()))
    }

    /// Asks the policy for a victim and takes it from the candidates. `fruitless` is how many
    /// collections in a row have made no room.
    pub(crate) fn pick(&mut self, fruitless: u64) -> Result<BlockId, FtlError> {
        let State { blocks, tracker, .. } = &mut self.state;
        let (victim, decision) =
            choose(&mut self.policy, blocks, tracker, &mut self.rng, fruitless)?;
        self.state.taken(victim, decision);
        Ok(victim)
    }
}

/// Asks `policy` for a victim, takes it from the candidates, and says with it what
/// [`digest`] takes in. `fruitless` is how many collections in a row have made no room.
pub(crate) fn choose<P: VictimPolicy>(
    policy: &mut P,
    blocks: &mut BlockTable,
    tracker: &mut P::Tracker,
    rng: &mut Stream,
    fruitless: u64,
) -> Result<(BlockId, u64), FtlError> {
    let count = u64::from(blocks.len());
    if fruitless >= count && fruitless.is_multiple_of(count) {
        check_progress(blocks, fruitless)?;
    }
    tracker.settle(blocks);
    let Some(victim) = policy.pick(blocks, tracker, rng) else {
        return Err(FtlError::NoSpace("no block may be collected".to_string()));
    };
    if victim >= blocks.len() {
        return Err(FtlError::BadPick { block: victim.into(), why: "does not exist" });
    }
    if !blocks.is_candidate(victim) {
        return Err(FtlError::BadPick {
            block: victim.into(),
            why: "is open or erased: only candidates may be collected",
        });
    }
    Ok((victim, take(blocks, tracker, victim)))
}

/// Takes `victim` from the candidates. Returns what [`digest`] takes in.
fn take<T: Tracker>(blocks: &mut BlockTable, tracker: &mut T, victim: BlockId) -> u64 {
    let valid = blocks.valid(victim);
    blocks.take(victim);
    tracker.taken(blocks, victim);
    (u64::from(victim) << 16) | u64::from(valid)
}

/// The digest of all decisions up to this one: one multiply-xor each; the odd constant is the 64-bit
/// golden ratio.
pub(crate) fn digest(decisions: u64, decision: u64) -> u64 {
    (decisions.rotate_left(23) ^ decision).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A policy may pick full blocks for a while (FIFO and random do), but not for ever.
fn check_progress(blocks: &BlockTable, fruitless: u64) -> Result<(), FtlError> {
    let full = blocks.pages_per_block() as u16;
    let reclaimable = blocks.masked_counts().iter().filter(|&&count| count < full).count();
    if reclaimable == 0 {
        return Err(FtlError::NoSpace(format!(
            "all {} candidates are full of valid pages",
            blocks.candidates()
        )));
    }
    if fruitless >= 1000 * u64::from(blocks.len()) {
        return Err(FtlError::NoSpace(format!(
            "{fruitless} collections in a row freed nothing, though {reclaimable} blocks have \
             invalid pages; hint: the victim policy never picks one of them"
        )));
    }
    Ok(())
}

impl<T: Tracker> State<T> {
    /// Makes a full frontier block a candidate.
    pub(crate) fn close(&mut self, block: BlockId) {
        if block != Active::NO_BLOCK {
            self.blocks.close(block);
            self.tracker.closed(&self.blocks, block);
            if let Some(leveller) = &mut self.leveller {
                leveller.changed(&self.blocks, block);
            }
        }
    }

    /// Records that `victim` was taken from the candidates.
    fn taken(&mut self, victim: BlockId, decision: u64) {
        if let Some(leveller) = &mut self.leveller {
            leveller.changed(&self.blocks, victim);
        }
        self.counters.collections += 1;
        self.decisions = digest(self.decisions, decision);
    }

    /// Reads the victim's valid pages into `moving`, in page order, and erases it.
    pub(crate) fn empty(&mut self, victim: BlockId) {
        let b = self.geometry.pages_per_block() as usize;
        let first = (victim as usize) << self.geometry.offset_bits();
        let base = victim as usize * b;
        // The victim is nowhere near the last one: ask for all of it before reading any.
        for offset in (0..b).step_by(64 / size_of::<u32>()) {
            prefetch(&self.reverse, base + offset);
        }
        let pages = &self.reverse[base..base + b];
        let (live, moving) = (&mut self.live, &mut self.moving);
        let mut count = 0;
        for_words(first, b, |word, mask| {
            let mut bits = live[word] & mask;
            live[word] &= !mask;
            // Page of the block that bit 0 stands for; negative where blocks share a word.
            let bit0 = (word * 64).wrapping_sub(first);
            while bits != 0 {
                let offset = bit0.wrapping_add(bits.trailing_zeros() as usize);
                // SAFETY: the mask leaves bits of this block alone, so `offset` is below b, the
                // length of `pages`; each bit is met once, so `count` is below b, that of `moving`.
                unsafe { *moving.get_unchecked_mut(count) = *pages.get_unchecked(offset) };
                count += 1;
                bits &= bits - 1;
            }
        });
        self.moving_len = count;
        self.lift_zombies(victim);
        self.blocks.set_open_count(victim, 0);
        self.counters.erases += self.blocks.erase(victim);
    }

    /// Programs `moving[from..to]` at `active`.
    fn copy(&mut self, active: &mut Active, from: usize, to: usize) {
        if from == to {
            return;
        }
        let moving = std::mem::take(&mut self.moving);
        let pages = &moving[from..to];
        let first = self.program(active, pages);
        self.advance(first, pages.len());
        let map = &mut *self.map;
        for &page in pages.iter().take(MAP_AHEAD) {
            prefetch(map, page as usize);
        }
        for (index, (ppn, &page)) in (first..).zip(pages).enumerate() {
            if let Some(&ahead) = pages.get(index + MAP_AHEAD) {
                prefetch(map, ahead as usize);
            }
            // SAFETY: `moving` holds what the reverse map says of live pages, which are below the
            // number of logical pages (an invariant of the layer, checked by the audit).
            unsafe { *map.get_unchecked_mut(page as usize) = ppn };
        }
        self.counters.copied_pages += pages.len() as u64;
        self.set_down_zombies(pages, from, active.block);
        if let Some(copied) = &mut self.copied {
            copied.extend_from_slice(pages);
        }
        self.moving = moving;
    }
}
