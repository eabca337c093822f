//! The naive reference: a page-mapped drive as a dictionary and lists, meant to be read in a
//! minute. It shares no code with the engine but the random stream.

use std::collections::{BTreeMap, VecDeque};

use flashgc_ftl::rng::Stream;

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
    Pool(usize),
}

pub struct Reference {
    pub b: usize,
    pub blocks: Vec<Block>,
    /// Logical page to (block, offset).
    pub map: BTreeMap<u32, (usize, usize)>,
    /// Candidates from the longest closed to the latest.
    pub closed: Vec<usize>,
    pub pool: VecDeque<usize>,
    pub host: Option<usize>,
    pub copies: Option<usize>,
    pub frontier: Frontier,
    pub programs: u64,
    pub victims: Vec<(usize, usize)>,
    pub rng: Stream,
}

/// Chooses one of the candidates, given in closing order, from the valid counts of all blocks.
pub type Pick<'a> = &'a mut dyn FnMut(&[usize], &[usize], &mut Stream) -> usize;

impl Reference {
    /// A drive of `n` blocks with pages 0 to `u - 1` written in order.
    pub fn sequential(n: usize, b: usize, u: u32, frontier: Frontier, seed: u64) -> Self {
        let mut drive = Self {
            b,
            blocks: vec![Block::default(); n],
            map: BTreeMap::new(),
            closed: Vec::new(),
            pool: VecDeque::new(),
            host: None,
            copies: None,
            frontier,
            programs: 0,
            victims: Vec::new(),
            rng: Stream::new(seed, "victim"),
        };
        let used = (u as usize).div_ceil(b);
        for page in 0..u {
            drive.program(page as usize / b, page);
        }
        for erased in used..n {
            match frontier {
                Frontier::Pool(_) => drive.pool.push_back(erased),
                _ => drive.closed.push(erased),
            }
        }
        for block in 0..used {
            if drive.blocks[block].pages.len() == b {
                drive.closed.push(block);
            } else {
                drive.host = Some(block);
            }
        }
        drive
    }

    pub fn write(&mut self, page: u32, pick: Pick) {
        if self.room(self.host) == 0 {
            self.make_room(pick);
        }
        self.program(self.host.unwrap(), page);
    }

    pub fn trim(&mut self, page: u32) {
        self.map.remove(&page);
    }

    pub fn valid(&self, block: usize) -> Vec<u32> {
        let pages = self.blocks[block].pages.iter().enumerate();
        let valid = pages.filter(|&(offset, page)| self.map.get(page) == Some(&(block, offset)));
        valid.map(|(_, &page)| page).collect()
    }

    pub fn counts(&self) -> Vec<usize> {
        (0..self.blocks.len()).map(|block| self.valid(block).len()).collect()
    }

    fn program(&mut self, block: usize, page: u32) {
        self.map.insert(page, (block, self.blocks[block].pages.len()));
        self.blocks[block].pages.push(page);
        self.programs += 1;
        assert!(self.blocks[block].pages.len() <= self.b);
    }

    fn room(&self, block: Option<usize>) -> usize {
        block.map_or(0, |block| self.b - self.blocks[block].pages.len())
    }

    fn victim(&mut self, pick: Pick) -> (usize, Vec<u32>) {
        let victim = pick(&self.closed, &self.counts(), &mut self.rng);
        let pages = self.valid(victim);
        self.victims.push((victim, pages.len()));
        self.closed.retain(|&block| block != victim);
        self.blocks[victim].pages.clear();
        (victim, pages)
    }

    fn make_room(&mut self, pick: Pick) {
        match self.frontier {
            Frontier::Single => {
                while self.room(self.host) == 0 {
                    self.closed.extend(self.host);
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
                    self.closed.extend(self.host);
                    self.host = Some(victim);
                    break;
                }
                self.closed.extend(self.copies);
                self.copies = Some(victim);
                kept.into_iter().for_each(|page| self.program(victim, page));
            },
            Frontier::Pool(low) => {
                self.closed.extend(self.host);
                while self.pool.len() <= low {
                    let (victim, pages) = self.victim(pick);
                    for page in pages {
                        if self.room(self.copies) == 0 {
                            self.closed.extend(self.copies);
                            self.copies = self.pool.pop_front();
                        }
                        self.program(self.copies.unwrap(), page);
                    }
                    self.pool.push_back(victim);
                }
                self.host = self.pool.pop_front();
            }
        }
    }
}

/// The naive pick of a policy, by its spec.
pub fn naive_pick(spec: &str) -> Box<dyn FnMut(&[usize], &[usize], &mut Stream) -> usize> {
    let (name, params) = spec.split_once(':').unwrap_or((spec, ""));
    let param = |key: &str, default: usize| -> usize {
        let found = params.split(',').find_map(|p| p.strip_prefix(key)?.strip_prefix('='));
        found.map_or(default, |value| value.parse().unwrap())
    };
    fn draw(candidates: &[usize], n: usize, rng: &mut Stream) -> usize {
        loop {
            let block = rng.below(n as u32) as usize;
            if candidates.contains(&block) {
                return block;
            }
        }
    }
    let fewest = |set: &[usize], counts: &[usize]| {
        *set.iter().min_by_key(|&&block| (counts[block], block)).unwrap()
    };
    match name {
        "fifo" => Box::new(|candidates, _, _| candidates[0]),
        "greedy" => Box::new(move |candidates, counts, _| fewest(candidates, counts)),
        "random" => Box::new(|candidates, counts, rng| draw(candidates, counts.len(), rng)),
        "windowed" => {
            let w = param("w", 500);
            Box::new(move |candidates, counts, _| {
                fewest(&candidates[..w.min(candidates.len())], counts)
            })
        }
        "d-choices" => {
            let (d, c) = (param("d", 10), param("c", 0));
            let mut stored: Option<Vec<usize>> = None;
            Box::new(move |candidates, counts, rng| {
                let stored = stored.get_or_insert_with(|| distinct(c, counts.len(), rng));
                let mut set = Vec::new();
                for _ in 0..d {
                    set.push(draw(candidates, counts.len(), rng));
                }
                set.extend(stored.iter().filter(|block| candidates.contains(block)));
                let mut seen = Vec::new();
                set.retain(|&block| {
                    !seen.contains(&block) && {
                        seen.push(block);
                        true
                    }
                });
                set.sort_by_key(|&block| counts[block]); // stable: the first drawn wins
                *stored = set[1..].iter().copied().take(c).collect();
                set[0]
            })
        }
        other => panic!("no naive pick for {other}: write one here when a policy is added"),
    }
}

/// `count` distinct random blocks: the memory before the first pick. The engine draws them when
/// the drive is made, which is before any pick, so the stream is at the same place.
fn distinct(count: usize, n: usize, rng: &mut Stream) -> Vec<usize> {
    let mut blocks = Vec::new();
    while blocks.len() < count {
        let block = rng.below(n as u32) as usize;
        if !blocks.contains(&block) {
            blocks.push(block);
        }
    }
    blocks
}
