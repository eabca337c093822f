//! The pages of a map on flash have blocks of their own, beside a rule for the pages of the host.

use super::{NaiveRule, Time};

pub struct MapApart {
    /// `None`: one class for host writes, one for copies.
    pub rule: Option<Box<dyn NaiveRule>>,
    /// The first page of the map.
    pub first: u32,
    /// For each program of a page of the map, the programs of all pages then, and how many of the
    /// map's programs until then the host's clock counts. The rule's clocks count none of these.
    pub programs: Vec<(u64, u64)>,
}

impl MapApart {
    fn map(&self) -> usize {
        self.rule.as_ref().map_or(2, |rule| rule.classes())
    }

    /// Notes a program of a page of the map.
    fn note(&mut self, now: Time, is_write: bool) {
        let writes = self.programs.last().map_or(0, |&(_, writes)| writes);
        self.programs.push((now.programs, writes + u64::from(is_write)));
    }

    /// A time as the rule sees it.
    fn seen(&self, time: Time) -> Time {
        let before = self.programs.partition_point(|&(at, _)| at <= time.programs);
        let writes = self.programs[..before].last().map_or(0, |&(_, writes)| writes);
        Time { programs: time.programs - before as u64, host: time.host - writes }
    }

    fn of(&mut self, page: u32) -> Option<&mut Box<dyn NaiveRule>> {
        if page < self.first { self.rule.as_mut() } else { None }
    }
}

impl NaiveRule for MapApart {
    fn classes(&self) -> usize {
        self.map() + 1
    }

    fn takes_copies(&self, class: usize) -> bool {
        let of_host = || self.rule.as_ref().map_or(class == 1, |rule| rule.takes_copies(class));
        class == self.map() || of_host()
    }

    fn host(&self, page: u32, stream: Option<u8>, old: Option<usize>, now: Time) -> usize {
        if page >= self.first {
            return self.map();
        }
        self.rule.as_ref().map_or(0, |rule| rule.host(page, stream, old, self.seen(now)))
    }

    fn copy(&self, page: u32, from: usize, zombie: bool, now: Time) -> usize {
        if page >= self.first {
            return self.map();
        }
        self.rule.as_ref().map_or(1, |rule| rule.copy(page, from, zombie, self.seen(now)))
    }

    fn holds(&mut self, page: u32) {
        self.of(page).into_iter().for_each(|rule| rule.holds(page));
    }

    fn wrote(&mut self, page: u32, to: usize, now: Time) {
        if page >= self.first {
            return self.note(now, true);
        }
        let now = self.seen(now);
        self.of(page).into_iter().for_each(|rule| rule.wrote(page, to, now));
    }

    fn trimmed(&mut self, page: u32, from: usize) {
        self.of(page).into_iter().for_each(|rule| rule.trimmed(page, from));
    }

    fn copied(&mut self, page: u32, from: usize, to: usize, now: Time) {
        if page >= self.first {
            return self.note(now, false);
        }
        let now = self.seen(now);
        self.of(page).into_iter().for_each(|rule| rule.copied(page, from, to, now));
    }

    fn opened(&mut self, class: usize) {
        if class < self.map() {
            self.rule.iter_mut().for_each(|rule| rule.opened(class));
        }
    }

    fn collected(&mut self, class: usize, opened: Time, valid: (usize, usize), now: Time) {
        if class < self.map() {
            let (opened, now) = (self.seen(opened), self.seen(now));
            self.rule.iter_mut().for_each(|rule| rule.collected(class, opened, valid, now));
        }
    }
}
