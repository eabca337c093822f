//! The naive reference of DFTL: the naive page map, which holds the pages of the map on flash
//! behind the host's, a list of cached entries, and the map on flash as a dictionary.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::reference::{Pick, Reference};

pub struct NaiveDftl {
    pub flash: Reference,
    /// Hits, misses, translation pages read and programmed.
    pub traffic: [u64; 4],
    pages: u32,
    per_page: u32,
    /// Entries that come and leave together.
    run: u32,
    capacity: usize,
    /// Cached runs, the least recently used first, each with the pages whose entry the map on flash
    /// does not have.
    runs: Vec<(u32, BTreeSet<u32>)>,
    stored: BTreeMap<u32, (usize, usize)>,
    /// Pages in the order in which collections program them.
    heard: Rc<RefCell<Vec<u32>>>,
    /// Pages in `heard` that are not cached, and whose moves are not yet in the map on flash.
    moved: Vec<u32>,
}

impl NaiveDftl {
    /// A map over `flash`, a drive that holds `pages` pages and their map. `run` entries come into
    /// memory together.
    pub fn new(
        mut flash: Reference,
        pages: u32,
        (per_page, run): (u32, u32),
        entries: usize,
    ) -> Self {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let copies = heard.clone();
        flash.moved = Some(Box::new(move |page| copies.borrow_mut().push(page)));
        let stored = flash.map.range(..pages).map(|(&page, &place)| (page, place)).collect();
        Self {
            flash,
            traffic: [0; 4],
            pages,
            per_page,
            run,
            capacity: (entries / run as usize).min(pages.div_ceil(run) as usize),
            runs: Vec::new(),
            stored,
            heard,
            moved: Vec::new(),
        }
    }

    /// The pages with changed entries in the run of `page`, if that is cached.
    fn changed(&mut self, page: u32) -> Option<&mut BTreeSet<u32>> {
        let run = page / self.run;
        self.runs.iter_mut().find(|cached| cached.0 == run).map(|cached| &mut cached.1)
    }

    fn change(&mut self, page: u32) {
        if let Some(changed) = self.changed(page) {
            changed.insert(page);
        }
    }

    fn look_up(&mut self, page: u32, pick: Pick) {
        let run = page / self.run;
        if let Some(at) = self.runs.iter().position(|cached| cached.0 == run) {
            self.traffic[0] += 1;
            let cached = self.runs.remove(at);
            self.runs.push(cached);
            return;
        }
        self.traffic[1] += 1;
        if self.runs.len() == self.capacity {
            let old = self.runs[0].0;
            if !self.runs[0].1.is_empty() {
                self.write_back(old * self.run / self.per_page, pick);
            }
            self.runs.remove(0);
        }
        self.traffic[2] += u64::from(self.flash.map.contains_key(&self.map_page(page)));
        self.runs.push((run, BTreeSet::new()));
    }

    /// The translation page that has the entry of `page`, as a page of the drive.
    fn map_page(&self, page: u32) -> u32 {
        self.pages + page / self.per_page
    }

    fn write_back(&mut self, number: u32, pick: Pick) {
        let pages = number * self.per_page..((number + 1) * self.per_page).min(self.pages);
        let map_page = self.map_page(pages.start);
        self.traffic[2] += u64::from(self.flash.map.contains_key(&map_page));
        self.flash.write(map_page, pick);
        self.traffic[3] += 1;
        self.note_moves();
        for page in pages.clone() {
            // A translation page is written with the places that memory knows: those of cached
            // entries and of moved pages.
            let known = self.moved.contains(&page);
            match self.changed(page) {
                Some(changed) => drop(changed.remove(&page)),
                None if known => {}
                None => continue,
            }
            match self.flash.map.get(&page) {
                Some(&place) => self.stored.insert(page, place),
                None => self.stored.remove(&page),
            };
        }
        self.moved.retain(|page| !pages.contains(page));
    }

    fn note_moves(&mut self) {
        let pages = self.pages;
        for page in self.heard.take().into_iter().filter(|&page| page < pages) {
            match self.changed(page) {
                Some(changed) => drop(changed.insert(page)),
                None => self.moved.push(page),
            }
        }
    }

    fn settle(&mut self, pick: Pick) {
        self.note_moves();
        while let Some(&page) = self.moved.first() {
            self.write_back(page / self.per_page, pick);
        }
    }

    pub fn write(&mut self, page: u32, pick: Pick) {
        self.look_up(page, pick);
        self.flash.write(page, pick);
        self.change(page);
        self.settle(pick);
    }

    pub fn trim(&mut self, page: u32, pick: Pick) {
        self.look_up(page, pick);
        self.flash.trim(page);
        self.change(page);
        self.settle(pick);
    }

    pub fn read(&mut self, page: u32, pick: Pick) {
        self.look_up(page, pick);
        self.settle(pick);
    }

    /// Marks `page` as a zombie in its block, or takes the mark back. The entry of the page must be
    /// looked up first, because only the entry says which block holds the page.
    pub fn hint(&mut self, page: u32, is_taken_back: bool, pick: Pick) {
        self.look_up(page, pick);
        if is_taken_back {
            self.flash.zombies.remove(&page);
        } else {
            self.flash.hint(page);
        }
        self.settle(pick);
    }

    /// The place where a controller that has lost nothing finds `page`: in memory if its entry is
    /// there and was changed, else by the map on flash.
    pub fn found(&mut self, page: u32) -> Option<(usize, usize)> {
        match self.changed(page) {
            Some(changed) if changed.contains(&page) => self.flash.map.get(&page).copied(),
            _ => self.stored.get(&page).copied(),
        }
    }
}
