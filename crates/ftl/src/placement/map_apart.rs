//! Blocks of their own for the pages of a map on flash. It joins any rule for the pages of the host,
//! or none.
//!
//! The translation pages follow the host's pages in the page map. They have one class of their own,
//! behind those of the rule: writes and copies of translation pages go there, and no page of the
//! host does. A drive without a rule has its two classes, for host writes and for copies.
//!
//! The clocks of the rule leave out writes and copies of translation pages.
//!
//! Only a worn-out drive that has no erased block left puts a page on a block of another class. For
//! such a page the rule sees the last of its own classes.

use super::{
    Class, Collected, Collects, Now, PicksVictims, Place, Placement, SeesBlocks, Shape, StreamId,
};
use crate::error::FtlError;
use flashgc_base::snapshot::State;

/// The classes of a drive without a rule: host writes and copies.
const WITHOUT_RULE: Class = 2;

/// The placement that the header of this file describes.
#[derive(State)]
pub(super) struct MapApart {
    /// The rule for the pages of the host; `None` if the frontier decides.
    #[snapshot(state)]
    rule: Option<Box<dyn Placement>>,
    /// The number of the first translation page.
    #[snapshot(skip)]
    first: u32,
    /// The class of translation pages: the number of classes of the rule.
    #[snapshot(skip)]
    map: Class,
    /// The writes and copies of translation pages, which the rule's clocks leave out.
    of_map: Now,
    /// The rule's time at which each block was opened for one of its classes.
    #[snapshot(table)]
    opened: Vec<Now>,
}

impl MapApart {
    /// Joins the map to `rule`, on a drive of this shape. A translation page has `entries` entries.
    pub(super) fn new(rule: Option<Box<dyn Placement>>, shape: Shape, entries: u32) -> Self {
        let map = rule.as_ref().map_or(WITHOUT_RULE, |rule| rule.classes() as Class);
        let first = first_of_map(shape.pages as u32, entries);
        let blocks = if rule.is_some() { shape.blocks as usize } else { 0 };
        let (of_map, opened) = (Now::default(), vec![Now::default(); blocks]);
        Self { rule, first, map, of_map, opened }
    }

    fn is_of_map(&self, page: u32) -> bool {
        page >= self.first
    }

    /// The place as the rule sees it.
    fn seen(&self, place: Place) -> Place {
        Place { class: place.class.min(self.map - 1), ..place }
    }

    /// The time as the rule sees it.
    fn time(&self, now: Now) -> Now {
        let Now { programs, host } = self.of_map;
        Now { programs: now.programs - programs, host: now.host - host }
    }

    /// The rule, if it decides for `page`.
    fn rule_of(&mut self, page: u32) -> Option<&mut Box<dyn Placement>> {
        if self.is_of_map(page) { None } else { self.rule.as_mut() }
    }
}

/// Returns the number of the host's pages, if there are `pages` with their map: the map has a page
/// for each `entries` pages of the host, and for the rest.
fn first_of_map(pages: u32, entries: u32) -> u32 {
    let of_map = u64::from(pages).div_ceil(u64::from(entries) + 1);
    pages - of_map as u32
}

impl Placement for MapApart {
    fn classes(&self) -> usize {
        usize::from(self.map) + 1
    }

    fn takes_copies(&self, class: Class) -> bool {
        match &self.rule {
            _ if class == self.map => true,
            Some(rule) => rule.takes_copies(class),
            None => class == WITHOUT_RULE - 1,
        }
    }

    fn copy_classes(&self) -> usize {
        self.rule.as_ref().map_or(WITHOUT_RULE as usize - 1, |rule| rule.copy_classes()) + 1
    }

    fn asks_for_zombies(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.asks_for_zombies())
    }

    fn prefetch(&self, page: u32) {
        if let Some(rule) = self.rule.as_ref().filter(|_| !self.is_of_map(page)) {
            rule.prefetch(page);
        }
    }

    fn host(&self, page: u32, stream: Option<StreamId>, old: Option<Place>, now: Now) -> Class {
        match &self.rule {
            _ if self.is_of_map(page) => self.map,
            Some(rule) => rule.host(page, stream, old.map(|old| self.seen(old)), self.time(now)),
            None => 0,
        }
    }

    fn of_handle(&self, stream: StreamId) -> Option<Class> {
        self.rule.as_ref().and_then(|rule| rule.of_handle(stream))
    }

    fn copy(&self, page: u32, from: Place, zombie: bool, now: Now) -> Class {
        match &self.rule {
            _ if self.is_of_map(page) => self.map,
            Some(rule) => rule.copy(page, self.seen(from), zombie, self.time(now)),
            None => WITHOUT_RULE - 1,
        }
    }

    fn holds(&mut self, page: u32, place: Place, now: Now) {
        let (place, now) = (self.seen(place), self.time(now));
        if let Some(rule) = self.rule_of(page) {
            rule.holds(page, place, now);
        }
    }

    fn wrote(&mut self, page: u32, from: Option<Place>, to: Place, now: Now) {
        if self.is_of_map(page) {
            self.of_map.host += 1;
            self.of_map.programs += 1;
            return;
        }
        let (from, to, now) = (from.map(|from| self.seen(from)), self.seen(to), self.time(now));
        if let Some(rule) = self.rule_of(page) {
            rule.wrote(page, from, to, now);
        }
    }

    fn trimmed(&mut self, page: u32, from: Place, now: Now) {
        let (from, now) = (self.seen(from), self.time(now));
        if let Some(rule) = self.rule_of(page) {
            rule.trimmed(page, from, now);
        }
    }

    fn copied(&mut self, page: u32, from: Place, to: Place, now: Now) {
        if self.is_of_map(page) {
            self.of_map.programs += 1;
            return;
        }
        let (from, to, now) = (self.seen(from), self.seen(to), self.time(now));
        if let Some(rule) = self.rule_of(page) {
            rule.copied(page, from, to, now);
        }
    }

    fn opened(&mut self, place: Place, now: Now) {
        let now = self.time(now);
        if let Some(rule) = self.rule.as_mut().filter(|_| place.class != self.map) {
            self.opened[place.block as usize] = now;
            rule.opened(place, now);
        }
    }

    fn closed(&mut self, place: Place, now: Now) {
        let now = self.time(now);
        if let Some(rule) = self.rule.as_mut().filter(|_| place.class != self.map) {
            rule.closed(place, now);
        }
    }

    fn collected(&mut self, block: Collected, now: Now) {
        let now = self.time(now);
        if let Some(rule) = self.rule.as_mut().filter(|_| block.class != self.map) {
            rule.collected(Collected { opened: self.opened[block.block as usize], ..block }, now);
        }
    }

    fn blocks(&mut self) -> Option<&mut dyn SeesBlocks> {
        self.rule.as_mut().and_then(|rule| rule.blocks())
    }

    fn victims(&mut self) -> Option<&mut dyn PicksVictims> {
        self.rule.as_mut().and_then(|rule| rule.victims())
    }

    fn collects(&mut self) -> Option<&mut dyn Collects> {
        self.rule.as_mut().and_then(|rule| rule.collects())
    }

    fn check(&self) -> Result<(), FtlError> {
        self.rule.as_ref().map_or(Ok(()), |rule| rule.check())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_follows_the_pages_of_the_host() {
        for entries in 1..9 {
            for host in 1..200u32 {
                assert_eq!(first_of_map(host + host.div_ceil(entries), entries), host);
            }
        }
    }
}
