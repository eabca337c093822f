//! The buffer cache of a database, with checkpoints and a background writer.
//!
//! A page that is read or updated is brought into the cache. The least recently used page makes
//! room; if it is dirty, it is written first. A checkpoint starts at every interval `checkpoint`.
//! It writes all pages that are dirty at its start, in address order, evenly over the share
//! `completion` of the interval. At every interval `delay` the background writer examines the least
//! recently used share `scan` of the cache and writes up to `pages` dirty pages of it, so that
//! evictions need not wait. A page stays where and as it is while it is written: on a drive with a
//! clock an update of it waits until the write is done, and so does an access that needs its room.
//!
//! With the counting drive, the clock counts requests, `rate` a second. With the timed drive, it is
//! the drive's clock from its start.
//!
//! # Cost
//! A request: constant, and the scans of the background writer. 8.4 bytes a page of the drive.
//!
//! # Source
//! PostgreSQL 16, chapters 20.4.5 (background writer) and 30.5 (checkpoints), whose defaults these
//! are; PostgreSQL's background writer also adapts its rounds to the demand; Lee et al., IEEE
//! Trans. on Computers 64(4), 2015, section 4.3.2 (a database that tells of what is dirty).

use flashgc_base::refuse_if;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

use super::outlet::Outlet;
use super::pages::{Lists, Pages};
use super::{Cache, CacheInfo, MEMORY, RATE, Room, SIZE, time};

pub(super) const INFO: CacheInfo = CacheInfo {
    name: "buffer-cache",
    params: &[
        SIZE,
        Param::text("checkpoint", Some("300s")).help("time between two checkpoints; 0s: none"),
        Param::share("completion", Some("90%"))
            .help("share of that time over which a checkpoint is written"),
        Param::text("delay", Some("200ms"))
            .help("time between two rounds of the background writer"),
        Param::integer("pages", (0, u32::MAX as u64), Some("100"))
            .help("upper bound on the dirty pages it writes in a round"),
        Param::share("scan", Some("10%")).help("share of the cache that it examines, from the end"),
        RATE,
        MEMORY,
    ],
    source: include_str!("database.rs"),
    check: |params, _| {
        settings(params)?;
        time(params, MEMORY.name)?;
        Ok(Vec::new())
    },
    make: |params, room| Ok(Box::new(BufferCache::new(settings(params)?, room))),
};

struct Settings {
    checkpoint_ns: u64,
    completion: f64,
    delay_ns: u64,
    pages: u32,
    scan: f64,
}

fn settings(params: &Params) -> Result<Settings, SpecError> {
    let delay_ns = time(params, "delay")?;
    refuse_if!(
        delay_ns == 0,
        "to switch the background writer off, write pages=0, for example delay=200ms,pages=0",
        "buffer-cache: found delay=0s, expected more than 0s"
    );
    Ok(Settings {
        checkpoint_ns: time(params, "checkpoint")?,
        completion: params.real("completion"),
        delay_ns,
        pages: params.integer("pages") as u32,
        scan: params.real("scan"),
    })
}

/// The cache `buffer-cache`. See the module's text.
#[derive(State)]
#[snapshot(named = "buffer cache")]
struct BufferCache {
    #[snapshot(skip)]
    settings: Settings,
    #[snapshot(skip)]
    capacity: u32,
    now: u64,
    next_round: u64,
    next_checkpoint: u64,
    #[snapshot(state)]
    cached: Pages,
    #[snapshot(state)]
    dirty: Pages,
    /// The cached pages in one list, by their last use.
    #[snapshot(state)]
    lists: Lists,
    /// The pages that the checkpoint under way has yet to write.
    #[snapshot(state)]
    due: Pages,
    /// The start of the checkpoint in nanoseconds, and the number of pages that it had to write.
    checkpoint: (u64, u32),
    /// The page from which the checkpoint goes on, in address order.
    sweep: u32,
}

impl BufferCache {
    fn new(settings: Settings, room: &Room) -> Self {
        Self {
            capacity: room.capacity,
            now: 0,
            next_round: settings.delay_ns,
            next_checkpoint: settings.checkpoint_ns,
            cached: Pages::none(room.pages),
            dirty: Pages::none(room.pages),
            lists: Lists::new(room.pages, 1),
            due: Pages::none(room.pages),
            checkpoint: (0, 0),
            sweep: 0,
            settings,
        }
    }

    fn flush(&mut self, page: u32, out: &mut Outlet) {
        self.dirty.remove(page);
        self.due.remove(page);
        out.write(page);
    }

    /// Runs one round: the checkpoint under way writes its share, then the background writer
    /// writes.
    fn round(&mut self, out: &mut Outlet) {
        if self.settings.checkpoint_ns > 0 && self.now >= self.next_checkpoint {
            self.next_checkpoint += self.settings.checkpoint_ns;
            self.due = self.dirty.clone();
            self.checkpoint = (self.now, self.due.len());
            self.sweep = 0;
        }
        let (began, total) = self.checkpoint;
        let span = self.settings.completion * self.settings.checkpoint_ns as f64;
        let gone = (self.now - began + self.settings.delay_ns) as f64;
        let share = if span > gone { gone / span } else { 1.0 };
        let left = total - (f64::from(total) * share) as u32;
        while self.due.len() > left {
            let Some(page) = self.due.first_from(self.sweep) else { break };
            self.sweep = page + 1;
            self.flush(page, out);
        }
        let mut looked = (f64::from(self.capacity) * self.settings.scan) as u32;
        looked = looked.saturating_sub(self.capacity - self.cached.len());
        let mut written = 0;
        let mut at = self.lists.last(0);
        while let Some(page) = at.filter(|_| looked > 0 && written < self.settings.pages) {
            at = self.lists.before(page);
            looked -= 1;
            if self.dirty.has(page) {
                self.flush(page, out);
                written += 1;
            }
        }
    }

    /// Makes `page` the most recently used page. Returns `true` if it was not cached before.
    fn touch(&mut self, page: u32, out: &mut Outlet) -> bool {
        let is_new = !self.cached.has(page);
        if is_new {
            if self.cached.len() >= self.capacity
                && let Some(last) = self.lists.last(0)
            {
                match self.dirty.has(last) {
                    true => self.flush(last, out),
                    false => out.made_room = Some(last),
                }
                self.lists.remove(last);
                self.cached.remove(last);
            }
            self.cached.insert(page);
        } else {
            self.lists.remove(page);
        }
        self.lists.push_front(0, page);
        is_new
    }
}

impl Cache for BufferCache {
    fn pass(&mut self, mut ns: u64, out: &mut Outlet) {
        while ns > 0 {
            let step = ns.min(self.next_round - self.now);
            self.now += step;
            ns -= step;
            if self.now == self.next_round {
                self.next_round += self.settings.delay_ns;
                self.round(out);
            }
        }
    }

    fn read(&mut self, page: u32, out: &mut Outlet) {
        if self.touch(page, out) {
            out.read(page);
        }
    }

    fn write(&mut self, page: u32, out: &mut Outlet) {
        if self.touch(page, out) {
            out.read_to_update(page);
        }
        if self.dirty.insert(page) {
            out.dirtied(page);
        }
    }

    fn trim(&mut self, page: u32, out: &mut Outlet) {
        if self.cached.remove(page) {
            self.lists.remove(page);
            self.dirty.remove(page);
            self.due.remove(page);
        }
        out.trim(page);
    }

    fn dirty(&self) -> u32 {
        self.dirty.len()
    }

    fn advance(&mut self, ns: u64, out: &mut Outlet) {
        self.pass(ns, out);
    }

    fn next_look(&self) -> Option<u64> {
        Some(self.next_round - self.now)
    }

    fn flush_next(&mut self, _: &mut Outlet) -> bool {
        false
    }

    fn waits_for_writes(&self) -> bool {
        true
    }
}
