//! The naive reference: a page-mapped drive as a dictionary and lists, meant to be read in a
//! minute. It shares no code with the engine but the random stream.

mod aged;
pub mod picks;
mod placed;
pub mod rules;
mod shrinking;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use flashgc_base::rng::Stream;
pub use placed::Placed;
pub use shrinking::Shrinking;

/// One block: the logical page of every programmed page, in order. A page is valid if the
/// dictionary says that it lies here.
#[derive(Clone, Default)]
pub struct Block {
    pub pages: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Frontier {
    Single,
    Double,
    Compact,
    Pool(usize),
    /// A pool, but copies go where the host writes.
    Mixed(usize),
}

pub struct Reference {
    pub b: usize,
    pub blocks: Vec<Block>,
    /// The block and the offset of each logical page.
    pub map: BTreeMap<u32, (usize, usize)>,
    /// Candidates from the longest closed to the latest.
    pub closed: Vec<usize>,
    /// Full blocks that the placement keeps from the victim policy.
    pub held: Vec<usize>,
    /// Erased blocks in the order in which they came.
    pub pool: VecDeque<usize>,
    pub allocation: NaiveAllocation,
    /// Times that each block was erased.
    pub erases: Vec<u32>,
    pub life: Life,
    /// The blocks of superblocks that go on without their bad ones.
    pub shrinking: Option<Shrinking>,
    /// The die of each page of a superblock, if a collection copies those of one die after the other.
    pub dies: Option<Vec<u32>>,
    pub levelling: Option<Levelling>,
    pub host: Option<usize>,
    pub copies: Option<usize>,
    /// A placement, in place of the open blocks above.
    pub placed: Option<Placed>,
    /// Pages that the host has hinted, and has not overwritten yet.
    pub zombies: BTreeSet<u32>,
    /// Called for each valid page of a victim. Returns `true` if it is copied, `false` if it is
    /// left out.
    pub copied: Option<Box<dyn FnMut(u32) -> bool>>,
    /// Called for each page that is programmed as a copy.
    pub moved: Option<Box<dyn FnMut(u32)>>,
    pub frontier: Frontier,
    pub programs: u64,
    pub victims: Vec<(usize, usize)>,
    /// The event at which each block last lost a page or was closed.
    pub touched: Vec<u64>,
    pub events: u64,
    /// The events of blocks, each with the number of programs since the first contents.
    pub log: Vec<(u64, Event)>,
    filled: u64,
    /// The stream that each page was written in last.
    stream_of: BTreeMap<u32, Option<u8>>,
    /// Pages of each stream that the host wrote, and that were copied.
    pub streams: BTreeMap<Option<u8>, (u64, u64)>,
    pub rng: Stream,
}

/// Something that happened to a block.
#[derive(Clone, Copy)]
pub enum Event {
    /// The page at (block, offset) was programmed.
    Programmed(usize, usize, Origin),
    /// The page at (block, offset) became invalid.
    Lost(usize, usize),
    /// The block became a candidate.
    Closed(usize),
    /// The block was erased; its collection did not free this number of pages.
    Erased(usize, usize),
}

/// The page or data that a programmed page replaces.
#[derive(Clone, Copy)]
pub enum Origin {
    /// New data of the host. Old data of the page were on this block; `None` if there were none.
    Host(Option<usize>),
    /// The page on a block that is collected.
    Copy(usize),
}

/// A drive's wear.
#[derive(Default)]
pub struct Life {
    /// Erases that each block bears; empty for any number.
    pub limits: Vec<u32>,
    /// Blocks that may wear out.
    pub reserve: usize,
    pub ends_with_first: bool,
    pub bad: Vec<usize>,
    pub over: bool,
    /// The life may go on, but the reference does not know how.
    pub is_uncertain: bool,
}

/// Static wear levelling.
#[derive(Default)]
pub struct Levelling {
    pub threshold: u32,
    pub interval: u32,
    /// Erases of the policy's victims since the last check.
    pub since: u32,
    /// The block that cold data go to.
    pub block: Option<usize>,
    pub collections: u64,
    pub copies: u64,
}

/// The data that a pick sees.
pub struct View<'a> {
    /// The candidates in closing order.
    pub candidates: Vec<usize>,
    /// The pages of every block that a collection does not free.
    pub counts: Vec<usize>,
    /// The pages that every block has lost.
    pub lost: Vec<usize>,
    pub touched: Vec<u64>,
    /// Zombies of every block.
    pub zombies: Vec<usize>,
    pub b: usize,
    /// Programs since the first contents.
    pub now: u64,
    pub log: &'a [(u64, Event)],
}

/// Chooses one of the candidates.
pub type Pick<'a> = &'a mut dyn FnMut(&View, &mut Stream) -> usize;

impl Reference {
    /// A drive of `n` blocks with pages 0 to `u - 1` written in order.
    pub fn sequential(n: usize, b: usize, u: u32, frontier: Frontier, seed: u64) -> Self {
        let mut drive = Self {
            b,
            blocks: vec![Block::default(); n],
            map: BTreeMap::new(),
            closed: Vec::new(),
            held: Vec::new(),
            pool: VecDeque::new(),
            allocation: naive_allocation("fifo", seed),
            erases: vec![0; n],
            life: Life::default(),
            shrinking: None,
            dies: None,
            levelling: None,
            host: None,
            copies: None,
            placed: None,
            zombies: BTreeSet::new(),
            copied: None,
            moved: None,
            frontier,
            programs: 0,
            victims: Vec::new(),
            touched: vec![0; n],
            events: 0,
            log: Vec::new(),
            filled: 0,
            stream_of: BTreeMap::new(),
            streams: BTreeMap::new(),
            rng: Stream::new(seed, "victim"),
        };
        let used = (u as usize).div_ceil(b);
        for page in 0..u {
            drive.program(page as usize / b, page);
        }
        drive.filled = drive.programs;
        drive.log.clear();
        for erased in used..n {
            match frontier {
                Frontier::Pool(_) | Frontier::Mixed(_) => drive.pool.push_back(erased),
                _ => drive.close(Some(erased)),
            }
        }
        for block in 0..used {
            if drive.blocks[block].pages.len() == b {
                drive.close(Some(block));
            } else {
                drive.host = Some(block);
            }
        }
        drive
    }

    /// Writes the page, or ends the drive's life in the attempt.
    #[allow(dead_code)] // not every test uses it
    pub fn write(&mut self, page: u32, pick: Pick) {
        self.write_in(page, None, pick);
    }

    /// Writes `page` as data of a stream.
    pub fn write_in(&mut self, page: u32, stream: Option<u8>, pick: Pick) {
        self.write_page(page, stream, pick);
        if !self.life.over {
            self.stream_of.insert(page, stream);
            self.streams.entry(stream).or_default().0 += 1;
        }
    }

    fn write_page(&mut self, page: u32, stream: Option<u8>, pick: Pick) {
        if self.placed.is_some() {
            return self.write_placed(page, stream, pick);
        }
        if self.room(self.host) == 0 && !self.life.over {
            self.make_room(pick);
        }
        if self.life.over {
            return;
        }
        let old = self.map.get(&page).copied();
        self.program_host(self.host.unwrap(), page);
        self.lose(page, old);
    }

    pub fn trim(&mut self, page: u32) {
        let old = self.map.remove(&page);
        if let (Some((block, _)), Some(_)) = (old, &self.placed) {
            self.trim_placed(page, block);
        }
        self.lose(page, old);
    }

    fn now(&self) -> u64 {
        self.programs - self.filled
    }

    fn lose(&mut self, page: u32, place: Option<(usize, usize)>) {
        self.zombies.remove(&page);
        if let Some((block, offset)) = place {
            self.touch(block);
            self.log.push((self.now(), Event::Lost(block, offset)));
        }
    }

    fn touch(&mut self, block: usize) {
        self.events += 1;
        self.touched[block] = self.events;
    }

    /// `block` is full: a candidate, unless the placement keeps it.
    fn close(&mut self, block: Option<usize>) {
        let keeps = |block| self.placed.as_ref().is_some_and(|placed| placed.keeps(block));
        match block.filter(|&block| keeps(block)) {
            Some(block) => self.held.push(block),
            None => self.become_candidate(block),
        }
    }

    fn become_candidate(&mut self, block: Option<usize>) {
        if let Some(block) = block {
            self.closed.push(block);
            self.touch(block);
            self.log.push((self.now(), Event::Closed(block)));
        }
    }

    pub fn valid(&self, block: usize) -> Vec<u32> {
        let pages = self.blocks[block].pages.iter().enumerate();
        let valid = pages.filter(|&(offset, page)| self.map.get(page) == Some(&(block, offset)));
        valid.map(|(_, &page)| page).collect()
    }

    /// The pages of every block that a collection does not free.
    pub fn counts(&self) -> Vec<usize> {
        (0..self.blocks.len()).map(|block| self.valid(block).len() + self.lost(block)).collect()
    }

    /// Programs a page that the host writes.
    fn program_host(&mut self, block: usize, page: u32) {
        let old = self.map.get(&page).map(|&(block, _)| block);
        self.program_from(block, page, Origin::Host(old));
    }

    /// Programs `page` as a copy, or as first contents.
    fn program(&mut self, block: usize, page: u32) {
        let from = self.map.get(&page).map_or(block, |&(from, _)| from);
        self.program_from(block, page, Origin::Copy(from));
        if let Some(moved) = &mut self.moved {
            moved(page);
        }
    }

    fn program_from(&mut self, block: usize, page: u32, origin: Origin) {
        let offset = self.blocks[block].pages.len();
        self.map.insert(page, (block, offset));
        self.blocks[block].pages.push(page);
        self.programs += 1;
        self.log.push((self.now(), Event::Programmed(block, offset, origin)));
        assert!(self.blocks[block].pages.len() + self.lost(block) <= self.b);
    }

    /// The pages that a superblock has lost.
    pub fn lost(&self, block: usize) -> usize {
        self.shrinking.as_ref().map_or(0, |it| it.lost(block, self.erases[block]))
    }

    /// The pages of the erased blocks.
    fn pages_in_pool(&self) -> usize {
        self.pool.iter().map(|&block| self.b - self.lost(block)).sum()
    }

    /// The erased blocks, in whole ones.
    fn erased(&self) -> usize {
        self.pages_in_pool() / self.b
    }

    fn room(&self, block: Option<usize>) -> usize {
        block.map_or(0, |block| self.b - self.lost(block) - self.blocks[block].pages.len())
    }

    fn victim(&mut self, pick: Pick) -> (usize, Vec<u32>) {
        let (candidates, touched) = (self.closed.clone(), self.touched.clone());
        let (b, now, log) = (self.b, self.now(), self.log.as_slice());
        let (counts, zombies) = (self.counts(), self.zombie_counts());
        let lost = (0..self.blocks.len()).map(|block| self.lost(block)).collect();
        let view = View { candidates, counts, lost, touched, zombies, b, now, log };
        let victim = pick(&view, &mut self.rng);
        let pages = self.collect(victim);
        (victim, pages)
    }

    /// Empties and erases `victim`.
    fn collect(&mut self, victim: usize) -> Vec<u32> {
        let (mut pages, lost) = (self.valid(victim), self.lost(victim));
        if let Some(dies) = &self.dies {
            pages.sort_by_key(|page| dies[self.map[page].1]);
        }
        self.victims.push((victim, pages.len()));
        self.closed.retain(|&block| block != victim);
        // An erase of an erased block does not wear it.
        if !self.blocks[victim].pages.is_empty() {
            self.erases[victim] += 1;
            self.log.push((self.now(), Event::Erased(victim, pages.len() + lost)));
        }
        self.blocks[victim].pages.clear();
        if let Some(copied) = &mut self.copied {
            for page in pages.extract_if(.., |page| !copied(*page)) {
                self.map.remove(&page);
            }
        }
        for page in &pages {
            let stream = self.stream_of.get(page).copied().flatten();
            self.streams.entry(stream).or_default().1 += 1;
        }
        pages
    }

    /// The block erased least often, if it must be collected now to level wear.
    fn least_erased(&mut self) -> Option<usize> {
        let levelling = self.levelling.as_mut()?;
        if levelling.since < levelling.interval {
            return None;
        }
        levelling.since = 0;
        let threshold = levelling.threshold;
        let place = levelling.block;
        let most = *self.erases.iter().max().unwrap();
        let candidates = self.closed.iter().copied();
        let least = candidates.min_by_key(|&block| (self.erases[block], block))?;
        let fits = self.valid(least).len() <= self.room(place) + self.pages_in_pool();
        (most - self.erases[least] > threshold && fits).then_some(least)
    }

    /// Moves the data of the block erased least often to the blocks of the pool erased most often.
    fn level(&mut self, victim: usize) {
        let pages = self.collect(victim);
        let mut place = self.levelling.as_ref().unwrap().block;
        let copies = pages.len() as u64;
        for page in pages {
            if self.room(place) == 0 {
                self.close(place);
                let worn = |&at: &usize| (self.erases[self.pool[at]], usize::MAX - self.pool[at]);
                let most = (0..self.pool.len()).max_by_key(worn).unwrap();
                place = self.pool.remove(most);
            }
            self.program(place.unwrap(), page);
        }
        let levelling = self.levelling.as_mut().unwrap();
        levelling.block = place;
        levelling.collections += 1;
        levelling.copies += copies;
    }

    /// Retires `victim` if its last erase has just been done. Returns `true` if so.
    fn wears_out(&mut self, victim: usize) -> bool {
        if let Some(shrinking) = &mut self.shrinking {
            let retires = shrinking.erased(victim, self.erases[victim]);
            if retires {
                self.life.bad.push(victim);
            }
            self.life.over |= shrinking.lost_in_all(&self.erases) > shrinking.reserve;
            return retires;
        }
        let life = &mut self.life;
        let worn = life.limits.get(victim).is_some_and(|&limit| self.erases[victim] == limit);
        if worn {
            life.bad.push(victim);
            life.over |= life.ends_with_first || life.bad.len() > life.reserve;
        }
        worn
    }

    /// Puts `victim`, which was erased, into the pool unless it has worn out. Returns `true` if the drive's life
    /// is over.
    fn gives_back(&mut self, victim: usize) -> bool {
        if !self.wears_out(victim) {
            self.pool.push_back(victim);
        }
        self.life.over
    }

    fn erased_block(&mut self) -> Option<usize> {
        (self.allocation)(&mut self.pool, &self.erases)
    }

    fn make_room(&mut self, pick: Pick) {
        match self.frontier {
            Frontier::Single => {
                while self.room(self.host) == 0 {
                    self.close(self.host);
                    let (victim, pages) = self.victim(pick);
                    pages.into_iter().for_each(|page| self.program(victim, page));
                    self.host = Some(victim);
                }
            }
            Frontier::Double => loop {
                let (victim, mut pages) = self.victim(pick);
                let kept = pages.split_off(pages.len().min(self.room(self.copies)));
                pages.into_iter().for_each(|page| self.program(self.copies.unwrap(), page));
                if kept.is_empty() {
                    self.close(self.host);
                    self.host = Some(victim);
                    break;
                }
                self.close(self.copies);
                self.copies = Some(victim);
                kept.into_iter().for_each(|page| self.program(victim, page));
            },
            Frontier::Compact => {
                let full = self.host.take();
                self.close(full);
                if self.room(self.copies) > 0 {
                    self.host = self.copies.take();
                    return;
                }
                let full = self.copies.take();
                self.close(full);
                // All victims come first, then their pages, the last victim's first.
                let (mut victims, mut gained) = (Vec::new(), 0);
                while gained < self.b {
                    let (victim, pages) = self.victim(pick);
                    gained += self.b - pages.len();
                    victims.push((victim, pages));
                }
                for (victim, mut pages) in victims.into_iter().rev() {
                    let kept = pages.split_off(pages.len().min(self.room(self.copies)));
                    pages.into_iter().for_each(|page| self.program(self.copies.unwrap(), page));
                    if kept.is_empty() {
                        assert_eq!(self.host.replace(victim), None);
                        continue;
                    }
                    let full = self.copies.replace(victim);
                    self.close(full);
                    kept.into_iter().for_each(|page| self.program(victim, page));
                }
            }
            Frontier::Pool(low) | Frontier::Mixed(low) => {
                let mixed = matches!(self.frontier, Frontier::Mixed(_));
                let full = self.host.take();
                self.close(full);
                while self.erased() <= low {
                    if let Some(victim) = self.least_erased() {
                        self.level(victim);
                        if self.gives_back(victim) {
                            return;
                        }
                        continue;
                    }
                    let before = (self.blocks.clone(), self.erases.clone());
                    let (victim, pages) = self.victim(pick);
                    let mut place = if mixed { self.host } else { self.copies };
                    if self.erased() == 0 && pages.len() > self.room(place) + self.pages_in_pool() {
                        (self.blocks, self.erases) = before;
                        self.life.over = true;
                        return;
                    }
                    for page in pages {
                        if self.room(place) == 0 {
                            self.close(place);
                            place = self.erased_block();
                        }
                        self.program(place.unwrap(), page);
                    }
                    *(if mixed { &mut self.host } else { &mut self.copies }) = place;
                    if let Some(levelling) = &mut self.levelling {
                        levelling.since += 1;
                    }
                    if self.gives_back(victim) {
                        return;
                    }
                }
                if self.room(self.host) == 0 {
                    self.close(self.host);
                    self.host = self.erased_block();
                }
            }
        }
    }
}

/// Takes one block out of the pool, given the erase counts of all blocks.
pub type NaiveAllocation = Box<dyn FnMut(&mut VecDeque<usize>, &[u32]) -> Option<usize>>;

/// The naive form of a block allocation, by its name.
pub fn naive_allocation(name: &str, seed: u64) -> NaiveAllocation {
    match name {
        "fifo" => Box::new(|pool, _| pool.pop_front()),
        // Of equal keys, `min_by_key` gives the first.
        "sfl" => Box::new(|pool, erases| {
            let place = (0..pool.len()).min_by_key(|&place| erases[pool[place]])?;
            pool.remove(place)
        }),
        "lowest-erase" => Box::new(|pool, erases| {
            let place = (0..pool.len()).min_by_key(|&place| (erases[pool[place]], pool[place]))?;
            pool.remove(place)
        }),
        "random" => {
            let mut rng = Stream::new(seed, "allocation");
            Box::new(move |pool, _| {
                // The last block of the pool takes the place of the drawn one.
                let place = rng.below(pool.len() as u32) as usize;
                pool.swap_remove_back(place)
            })
        }
        other => panic!("no naive form of {other}: write one here when an allocation is added"),
    }
}
