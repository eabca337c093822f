//! What is on a drive before the first host write.

use std::fmt;

use crate::blocks::BlockId;
use crate::frontier::{Active, Frontier};
use crate::page_map::{PageMap, UNMAPPED, set_bits};
use crate::victim::VictimPolicy;
use flashgc_base::rng::Stream;
use flashgc_base::spec::{SpecError, suggest};

/// The initial state of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// All logical pages in order from block 0 on, the rest of the drive erased: unfragmented, as
    /// the d-choices paper starts (section 4.1).
    Sequential,
    /// Every logical page on a physical page drawn at random, the other pages invalid.
    Random,
    /// Nothing written: a new drive.
    Empty,
}

impl Fill {
    const NAMES: [(&'static str, Self); 3] =
        [("sequential", Self::Sequential), ("random", Self::Random), ("empty", Self::Empty)];

    /// The names people type.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|&(name, _)| name)
    }

    /// Erased blocks of `blocks` at first with a pool: where `promised` of them hold all that is
    /// promised, and `kept` can never hold host data.
    pub(crate) fn erased(self, blocks: u32, promised: u32, kept: u32) -> u32 {
        match self {
            Self::Empty => blocks,
            Self::Sequential => blocks - promised,
            Self::Random => kept,
        }
    }

    /// Reads one of [`Fill::names`].
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|&(_, fill)| fill).ok_or_else(|| {
            SpecError::new(format!("unknown initial state '{text}'"), suggest(text, Self::names()))
        })
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, fill)| fill == self).map(|&(name, _)| name);
        f.write_str(name.unwrap_or_default())
    }
}

impl<P: VictimPolicy> PageMap<P> {
    /// Puts the initial state on a drive of erased blocks, and hands erased blocks to the pool or
    /// to the candidates: without a pool an erased block is a candidate with no valid page, and
    /// the one that has waited longest.
    pub(crate) fn fill(&mut self, fill: Fill, seed: u64) {
        let blocks = self.state.geometry.blocks();
        match fill {
            Fill::Empty => {
                self.state.map.fill(UNMAPPED);
                self.release_erased(0..blocks);
            }
            Fill::Sequential => self.fill_sequential(),
            Fill::Random => self.fill_random(&mut Stream::new(seed, "fill")),
        }
        if let Some(placed) = &mut self.open.placed {
            let none = Active::none(self.state.geometry.pages_per_block());
            placed.open[0] = std::mem::replace(&mut self.open.host, none);
        }
    }

    fn fill_sequential(&mut self) {
        let geometry = self.state.geometry;
        let b = geometry.pages_per_block();
        let pages = geometry.logical_pages();
        let mut moving: Vec<u32> = Vec::with_capacity(b as usize);
        let used = pages.div_ceil(b);
        for block in 0..used {
            let mut active = Active::erased(block);
            let first_page = block * b;
            moving.clear();
            moving.extend(first_page..pages.min(first_page.saturating_add(b)));
            let first = self.state.program(&mut active, &moving);
            let map = &mut self.state.map[first_page as usize..][..moving.len()];
            for (ppn, entry) in (first..).zip(map) {
                *entry = ppn;
            }
            if active.next < b {
                self.open.host = active;
            }
        }
        self.release_erased(used..geometry.blocks());
        for block in 0..used {
            if block != self.open.host.block {
                self.state.close(block);
            }
        }
    }

    fn fill_random(&mut self, rng: &mut Stream) {
        let geometry = self.state.geometry;
        let b = geometry.pages_per_block();
        let kept = match self.open.kind {
            Frontier::Single | Frontier::Double => 0,
            Frontier::Pool { .. } | Frontier::Mixed { .. } => self.open.kept,
        };
        let used = geometry.blocks() - kept;
        let slots = &mut self.state.reverse[..used as usize * b as usize];
        // Fisher-Yates over the slots; those that get no page hold a mark until the pass below.
        for (page, slot) in (0..).zip(slots.iter_mut()) {
            *slot = if page < geometry.logical_pages() { page } else { UNMAPPED };
        }
        for index in (1..slots.len()).rev() {
            slots.swap(index, rng.below(index as u32 + 1) as usize);
        }
        for block in 0..used {
            let first = block << geometry.offset_bits();
            let mut valid = 0;
            for offset in 0..b {
                let slot = block as usize * b as usize + offset as usize;
                let page = self.state.reverse[slot];
                if page == UNMAPPED {
                    self.state.reverse[slot] = 0;
                } else {
                    self.state.map[page as usize] = first | offset;
                    set_bits(&mut self.state.live, (first | offset) as usize, 1);
                    valid += 1;
                }
            }
            self.state.blocks.set_open_count(block, valid);
            self.state.blocks.program(block);
        }
        self.release_erased(used..geometry.blocks());
        for block in 0..used {
            self.state.close(block);
        }
    }

    fn release_erased(&mut self, blocks: std::ops::Range<BlockId>) {
        for block in blocks {
            match self.open.kind.has_pool() {
                true => self.open.pool.put(block, 0),
                false => self.state.close(block),
            }
        }
    }
}
