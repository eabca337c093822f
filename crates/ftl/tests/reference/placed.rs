//! The naive drive with a placement and with zombies: an open block a class, all from the pool.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{NaiveRule, Time};
use super::{Frontier, Pick, Reference};

/// A placement on a naive drive.
pub struct Placed {
    rule: Box<dyn NaiveRule>,
    /// The open block of each class.
    open: Vec<Option<usize>>,
    /// The class for which each block was opened, and when.
    opened: BTreeMap<usize, (usize, Time)>,
    /// The blocks with data that were moved to level wear. `before` has the class that each page of
    /// these data had before the move.
    levelled: BTreeSet<usize>,
    before: BTreeMap<u32, usize>,
    host_writes: u64,
}

impl Placed {
    /// Erased blocks kept in the pool beside the low-water mark: one for each class that the copies of a block
    /// may go to, except the first.
    fn more(rule: &dyn NaiveRule) -> usize {
        rule.copy_classes() - 1
    }

    /// Returns `true` if the rule keeps `block` from the victim policy once it is full.
    pub(super) fn keeps(&self, block: usize) -> bool {
        self.rule.keeps(block)
    }

    /// Blocks that hold no host data, without those of the low-water mark.
    pub fn kept(rule: &dyn NaiveRule) -> usize {
        rule.classes() + Self::more(rule)
    }

    fn class(&self, page: u32, block: usize) -> usize {
        if self.levelled.contains(&block) {
            return self.before[&page];
        }
        self.opened.get(&block).map_or(0, |&(class, _)| class)
    }
}

impl Reference {
    /// Gives the fresh drive this placement.
    pub fn place(&mut self, mut rule: Box<dyn NaiveRule>) {
        for (&page, &(block, _)) in &self.map {
            rule.holds(page);
            rule.lies(page, block, true);
        }
        let mut open = vec![None; rule.classes()];
        open[0] = self.host.take();
        self.placed = Some(Placed {
            rule,
            open,
            opened: BTreeMap::new(),
            levelled: BTreeSet::new(),
            before: BTreeMap::new(),
            host_writes: 0,
        });
    }

    pub fn hint(&mut self, page: u32) {
        if self.map.contains_key(&page) {
            self.zombies.insert(page);
        }
    }

    /// Zombies of every block.
    pub fn zombie_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.blocks.len()];
        for page in &self.zombies {
            counts[self.map[page].0] += 1;
        }
        counts
    }

    fn placed(&mut self) -> &mut Placed {
        self.placed.as_mut().unwrap()
    }

    fn time(&self) -> Time {
        Time { programs: self.now(), host: self.placed.as_ref().unwrap().host_writes }
    }

    pub(super) fn write_placed(&mut self, page: u32, stream: Option<u8>, pick: Pick) {
        loop {
            let (old, now) = (self.map.get(&page).copied(), self.time());
            let placed = self.placed();
            let from = old.map(|(block, _)| placed.class(page, block));
            let class = placed.rule.host(page, stream, from, now);
            let block = placed.open[class];
            if self.room(block) > 0 {
                self.program_host(block.unwrap(), page);
                self.placed().host_writes += 1;
                let now = self.time();
                let rule = &mut self.placed().rule;
                rule.wrote(page, class, now);
                rule.lies(page, block.unwrap(), false);
                return self.lose(page, old);
            }
            self.make_room_for(class, pick);
            if self.life.over {
                return;
            }
        }
    }

    pub(super) fn trim_placed(&mut self, page: u32, block: usize) {
        let class = self.placed().class(page, block);
        self.placed().rule.trimmed(page, class);
    }

    fn make_room_for(&mut self, class: usize, pick: Pick) {
        let Frontier::Pool(low) = self.frontier else { panic!("blocks come from a pool") };
        let water = low + Placed::more(&*self.placed().rule);
        let full = self.placed().open[class].take();
        self.close(full);
        let mut fruitless = 0;
        loop {
            let block = self.placed().open[class];
            if self.erased() >= water + usize::from(self.room(block) == 0) {
                break;
            }
            if let Some(victim) = self.least_erased() {
                let pages = self.valid(victim);
                self.tell_collected(victim, pages.len(), self.lost(victim));
                for &page in &pages {
                    let class = self.placed().class(page, victim);
                    self.placed().before.insert(page, class);
                }
                self.level(victim);
                for page in pages {
                    let to = self.map[&page].0;
                    self.placed().levelled.insert(to);
                    self.placed().rule.lies(page, to, false);
                }
                if self.gives_back(victim) {
                    return;
                }
                continue;
            }
            let is_low = self.erased() <= Placed::more(&*self.placed().rule);
            if self.shrinking.is_some() && is_low {
                // Which class takes a copy is not settled here for a drive that is nearly worn out.
                self.life.is_uncertain = true;
                self.life.over = true;
                return;
            }
            let zombies: BTreeSet<u32> = self.zombies.clone();
            let lost: Vec<usize> = (0..self.blocks.len()).map(|block| self.lost(block)).collect();
            let (victim, pages) = match self.kept_victim(fruitless) {
                Some(block) => self.victim(&mut |_, _| block),
                None => self.victim(pick),
            };
            fruitless += 1;
            self.tell_collected(victim, pages.len(), lost[victim]);
            if let Some(levelling) = &mut self.levelling {
                levelling.since += 1;
            }
            for page in pages {
                let from = self.placed().class(page, victim);
                let now = self.time();
                let to = self.placed().rule.copy(page, from, zombies.contains(&page), now);
                let open = self.placed().open[to];
                if self.room(open) == 0 {
                    self.open(to);
                }
                let open = self.placed().open[to].unwrap();
                self.program(open, page);
                let now = self.time();
                let rule = &mut self.placed().rule;
                rule.copied(page, from, to, now);
                rule.lies(page, open, false);
            }
            if self.gives_back(victim) {
                return;
            }
        }
        let block = self.placed().open[class];
        if self.room(block) == 0 {
            self.open(class);
        }
    }

    /// Tells the rule of the collection of a block of one of its classes.
    fn tell_collected(&mut self, block: usize, valid: usize, lost: usize) {
        let (now, pages) = (self.time(), self.b - lost);
        let placed = self.placed();
        if !placed.levelled.contains(&block) {
            let (from, opened) = placed.opened.get(&block).copied().unwrap_or((0, Time::default()));
            placed.rule.collected(from, opened, (valid, pages), now);
            placed.rule.collected_at(block, now);
        }
    }

    /// Closes the open block of the class and takes one from the pool.
    fn open(&mut self, class: usize) {
        let full = self.placed().open[class].take();
        self.close(full);
        let (block, now) = (self.erased_block().unwrap(), self.time());
        self.placed().open[class] = Some(block);
        self.placed().levelled.remove(&block);
        self.placed().opened.insert(block, (class, now));
        let rule = &mut self.placed().rule;
        rule.opened(class);
        rule.opened_at(class, block, now);
    }

    /// The block that the placement has collected next, as a candidate; `None` if the policy picks.
    fn kept_victim(&mut self, fruitless: usize) -> Option<usize> {
        let next = self.placed().rule.next(fruitless);
        self.leave_kept();
        let full = |block: &usize| self.valid(*block).len() == self.b;
        let is_long = fruitless > 0 && fruitless.is_multiple_of(self.blocks.len());
        let stuck = self.closed.is_empty() || is_long && self.closed.iter().all(full);
        if next.is_none() && stuck && !self.held.is_empty() {
            self.placed().rule.give_up();
            self.leave_kept();
        }
        self.close_left_classes();
        self.held.retain(|&block| Some(block) != next);
        if next.is_some() {
            self.become_candidate(next);
        }
        next
    }

    /// Leaves the blocks to the policy that the placement no longer keeps.
    fn leave_kept(&mut self) {
        let rule = &self.placed.as_ref().unwrap().rule;
        let mut left: Vec<usize> = self.held.extract_if(.., |block| !rule.keeps(*block)).collect();
        left.sort_unstable();
        left.into_iter().for_each(|block| self.become_candidate(Some(block)));
    }

    /// Closes the open blocks of classes that take no more pages.
    fn close_left_classes(&mut self) {
        let now = self.time();
        for class in 0..self.placed().open.len() {
            if self.placed().rule.leaves(class)
                && let Some(block) = self.placed().open[class].take()
            {
                self.close(Some(block));
                self.placed().rule.closed_at(class, block, now);
            }
        }
    }
}
