//! The naive reference of DFTL: the naive page map, which holds the pages of the map on flash
//! behind the host's, a list of cached entries, and the map on flash as a dictionary.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::reference::{Pick, Reference};

pub struct NaiveDftl {
    pub flash: Reference,
    /// Hits, misses, translation pages read and programmed.
    pub traffic: [u64; 4],
    pages: u32,
    per_page: u32,
    capacity: usize,
    /// Cached entries, the least recently used first; `true` if the map on flash does not have the
    /// entry.
    entries: Vec<(u32, bool)>,
    stored: BTreeMap<u32, (usize, usize)>,
    /// Pages in the order in which collections program them.
    heard: Rc<RefCell<Vec<u32>>>,
    /// Pages in `heard` that are not cached, and whose moves are not yet in the map on flash.
    moved: Vec<u32>,
}

impl NaiveDftl {
    /// A map over `flash`, a drive that holds `pages` pages and their map.
    pub fn new(mut flash: Reference, pages: u32, per_page: u32, capacity: usize) -> Self {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let copies = heard.clone();
        flash.moved = Some(Box::new(move |page| copies.borrow_mut().push(page)));
        let stored = flash.map.range(..pages).map(|(&page, &place)| (page, place)).collect();
        Self {
            flash,
            traffic: [0; 4],
            pages,
            per_page,
            capacity: capacity.min(pages as usize),
            entries: Vec::new(),
            stored,
            heard,
            moved: Vec::new(),
        }
    }

    fn entry(&mut self, page: u32) -> Option<&mut (u32, bool)> {
        self.entries.iter_mut().find(|entry| entry.0 == page)
    }

    fn change(&mut self, page: u32) {
        if let Some(entry) = self.entry(page) {
            entry.1 = true;
        }
    }

    fn look_up(&mut self, page: u32, pick: Pick) {
        if let Some(at) = self.entries.iter().position(|entry| entry.0 == page) {
            self.traffic[0] += 1;
            let entry = self.entries.remove(at);
            self.entries.push(entry);
            return;
        }
        self.traffic[1] += 1;
        if self.entries.len() == self.capacity {
            let (old, changed) = self.entries[0];
            if changed {
                self.write_back(old / self.per_page, pick);
            }
            self.entries.remove(0);
        }
        self.traffic[2] += u64::from(self.flash.map.contains_key(&self.map_page(page)));
        self.entries.push((page, false));
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
            match self.entry(page) {
                Some(entry) => entry.1 = false,
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
            match self.entry(page) {
                Some(entry) => entry.1 = true,
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
        match self.entry(page) {
            Some((_, true)) => self.flash.map.get(&page).copied(),
            _ => self.stored.get(&page).copied(),
        }
    }
}
