//! The page cache of Linux before a raw block device, with its flush daemon.
//!
//! Writes stay in memory, and dirty pages go to the drive later. The flush daemon checks at every
//! interval `writeback`. If the device has been dirty for `expire`, it writes all dirty pages. If
//! more than the share `background` of the cache is dirty, it writes pages until the share is
//! lower. A writer looks at the dirty pages once it has made a turn of data dirty, a thirty-second of
//! the cache and at most 4 MiB. Above `background` it starts the daemon. Above `limit` it looks with
//! every page, and writes one and a half turns itself. Linux asks for two marks before a writer
//! writes: the middle between `background` and `limit` for all devices, and the share of `limit` that
//! the writer's own device has. The drive is the only device here, so its share is the whole and the
//! second mark is the higher one. Pages are written in address order from the end of the last flush, in a circle, and
//! not oldest first. With `expiry=page` each page has its own age, and the oldest is written first.
//! Reads are served from the cache. The least recently used clean page makes room.
//!
//! With the counting drive, the clock counts requests, `rate` a second, and a page written to the
//! drive takes 1/`speed`. With the timed drive, the clock is the drive's; `rate` and `speed` then
//! matter only for the warm-up before that clock starts. The daemon has at most 128 pages under
//! way, and a writer waits until its pages are written. With `start=clean` the host is idle at the end
//! of that warm-up: the daemon writes all dirty pages, and the clock starts then. If `background` is
//! not below `limit`, half of `limit` is used, as in Linux.
//!
//! # Cost
//! A request: constant, except for the search for the next dirty page, one bit a page. 8.5 bytes a
//! page of the drive, 16.5 with `expiry=page`.
//!
//! # Source
//! Linux 2.6.34, mm/page-writeback.c and fs/fs-writeback.c: the parameters and the throttling
//! (`balance_dirty_pages`, alike in 2.6.32 to 2.6.35); Lee et al., IEEE Trans. on Computers 64(4), 2015, Table 2 (the values).

use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

use super::outlet::Outlet;
use super::pages::{Lists, Pages};
use super::{Cache, CacheInfo, MEMORY, RATE, Room, SIZE, START, time};

pub(super) const INFO: CacheInfo = CacheInfo {
    name: "page-cache",
    params: &[
        SIZE,
        Param::text("writeback", Some("5s")).help(
            "time between two checks of the flush daemon; 0s: it checks only when a writer asks",
        ),
        Param::text("expire", Some("30s")).help("age at which dirty data are written"),
        Param::share("background", Some("10%"))
            .help("dirty share of the cache above which the daemon writes"),
        Param::share("limit", Some("20%"))
            .help("dirty share of the cache above which a writer waits"),
        Param::word("expiry", &["inode", "page"], Some("inode"))
            .help("age that counts: of the device as a whole, or of each page"),
        RATE,
        Param::real("speed", (1e-3, 1e9), Some("1000"))
            .help("write bandwidth of the drive, in pages a second"),
        MEMORY,
        START,
    ],
    source: include_str!("linux.rs"),
    check: |params, _| {
        settings(params)?;
        time(params, MEMORY.name)?;
        Ok(warning(params).into_iter().collect())
    },
    make: |params, room| {
        let settings = settings(params)?;
        Ok(Box::new(LinuxCache::new(settings, room)))
    },
};

/// A writer checks the number of dirty pages after it has dirtied 1/`TURNS` of the cache, at most
/// `TURN_BYTES`. These are the values of `writeback_set_ratelimit` with one processor.
const TURN_BYTES: u32 = 4 << 20;
const TURNS: u32 = 32;

/// The numbers of the two lists: clean pages in order of last use, dirty pages in the order in
/// which they became dirty.
const CLEAN: u32 = 0;
const DIRTY: u32 = 1;

#[derive(State)]
struct Settings {
    #[snapshot(skip)]
    writeback_ns: u64,
    #[snapshot(skip)]
    expire_ns: u64,
    #[snapshot(skip)]
    background: f64,
    #[snapshot(skip)]
    limit: f64,
    #[snapshot(skip)]
    by_page: bool,
    /// `true` if all dirty pages are written before the drive's clock starts.
    #[snapshot(skip)]
    starts_clean: bool,
    /// The time to write a page, in nanoseconds; 0 once the drive's clock runs.
    page_ns: u64,
}

fn settings(params: &Params) -> Result<Settings, SpecError> {
    let limit = params.real("limit");
    Ok(Settings {
        writeback_ns: time(params, "writeback")?,
        expire_ns: time(params, "expire")?,
        background: match params.real("background") {
            share if share >= limit => limit / 2.0,
            share => share,
        },
        limit,
        by_page: params.text("expiry") == "page",
        starts_clean: params.text(START.name) == "clean",
        page_ns: ((1e9 / params.real("speed")).round() as u64).max(1),
    })
}

fn warning(params: &Params) -> Option<String> {
    let (background, limit) = (params.real("background"), params.real("limit"));
    (background >= limit).then(|| {
        format!(
            "page-cache: background={background} is not below limit={limit}; the cache uses half \
             of limit, as Linux does"
        )
    })
}

/// The cache `page-cache`. See the module's text.
#[derive(State)]
#[snapshot(named = "page cache")]
struct LinuxCache {
    #[snapshot(state)]
    settings: Settings,
    #[snapshot(skip)]
    capacity: u32,
    #[snapshot(skip)]
    background: u32,
    /// The number of dirty pages above which a writer flushes.
    #[snapshot(skip)]
    limit: u32,
    #[snapshot(skip)]
    turn: u32,
    now: u64,
    next_look: u64,
    #[snapshot(state)]
    cached: Pages,
    #[snapshot(state)]
    dirty: Pages,
    #[snapshot(state)]
    lists: Lists,
    /// The time at which each page became dirty, in nanoseconds; empty unless pages have their own
    /// age.
    #[snapshot(table)]
    dirtied_at: Vec<u64>,
    /// The time at which the device became dirty, in nanoseconds; `None` if no page is dirty.
    dirty_since: Option<u64>,
    /// The page from which the next flush goes on.
    sweep: u32,
    /// The number of pages still to be written because the device was dirty for too long.
    expired: u32,
    /// If each page has its own age: the pages that became dirty at this time or earlier are to be
    /// written.
    expired_before: Option<u64>,
    in_background: bool,
    /// The time that has passed for the daemon and that its writes have not used yet, in
    /// nanoseconds.
    credit: u64,
    /// The number of writes since a writer last checked the number of dirty pages.
    since_look: u32,
}

impl LinuxCache {
    fn new(settings: Settings, room: &Room) -> Self {
        let share = |share: f64| (f64::from(room.capacity) * share) as u32;
        let (background, limit) = (share(settings.background), share(settings.limit));
        let times = if settings.by_page { room.pages } else { 0 };
        Self {
            capacity: room.capacity,
            background,
            limit,
            turn: (room.capacity / TURNS).clamp(1, (TURN_BYTES / room.page_size).max(1)),
            now: 0,
            next_look: settings.writeback_ns,
            cached: Pages::none(room.pages),
            dirty: Pages::none(room.pages),
            lists: Lists::new(room.pages, 2),
            dirtied_at: vec![0; times as usize],
            dirty_since: None,
            sweep: 0,
            expired: 0,
            expired_before: None,
            in_background: false,
            credit: 0,
            since_look: 0,
            settings,
        }
    }

    /// Returns the page that the daemon writes next, or `None` if nothing is to be written.
    fn due(&self) -> Option<u32> {
        let oldest = self.lists.last(DIRTY).filter(|_| self.settings.by_page);
        let expired = match (oldest, self.expired_before) {
            (Some(page), Some(before)) => self.dirtied_at[page as usize] <= before,
            _ => self.expired > 0,
        };
        let wanted = expired || (self.in_background && self.dirty.len() > self.background);
        wanted.then(|| self.next_dirty()).flatten()
    }

    fn next_dirty(&self) -> Option<u32> {
        match self.settings.by_page {
            true => self.lists.last(DIRTY),
            false => self.dirty.next_around(self.sweep),
        }
    }

    /// Writes the dirty page `page` to the drive.
    fn flush(&mut self, page: u32, out: &mut Outlet) {
        self.sweep = page + 1;
        self.expired = self.expired.saturating_sub(1);
        self.cleaned(page);
        self.lists.push_front(CLEAN, page);
        out.write(page);
        if self.dirty.len() <= self.background {
            self.in_background = false;
        }
    }

    /// Notes that `page` is clean. It is then in no list.
    fn cleaned(&mut self, page: u32) {
        self.dirty.remove(page);
        if self.settings.by_page {
            self.lists.remove(page);
        }
        if self.dirty.len() == 0 {
            self.dirty_since = None;
            self.expired = 0;
        }
    }

    /// Lets the daemon check the dirty pages: it decides which pages are too old, and whether to
    /// write in the background.
    fn look(&mut self) {
        let expire = self.settings.expire_ns;
        if self.settings.by_page {
            self.expired_before = self.now.checked_sub(expire);
        } else if self.dirty_since.is_some_and(|since| since + expire <= self.now) {
            // Pages that become dirty behind the sweep get a new age, which starts now.
            self.expired = self.dirty.len();
            self.dirty_since = Some(self.now);
        }
        self.in_background |= self.dirty.len() > self.background;
    }

    /// Lets `ns` nanoseconds pass. If `daemon_writes`, the daemon writes due pages in that time.
    fn pass(&mut self, mut ns: u64, daemon_writes: bool, out: &mut Outlet) {
        while ns > 0 {
            let mut step = ns;
            if self.settings.writeback_ns > 0 {
                step = step.min(self.next_look - self.now);
            }
            if daemon_writes {
                self.credit += step;
                while let Some(page) = self.due() {
                    if self.credit < self.settings.page_ns {
                        break;
                    }
                    self.credit -= self.settings.page_ns;
                    self.flush(page, out);
                }
                if self.due().is_none() {
                    self.credit = 0;
                }
            }
            self.now += step;
            ns -= step;
            if self.settings.writeback_ns > 0 && self.now == self.next_look {
                self.next_look += self.settings.writeback_ns;
                self.look();
            }
        }
    }

    /// Lets the writer write `count` dirty pages itself and wait for them.
    fn write_out(&mut self, count: u32, out: &mut Outlet) {
        for _ in 0..count {
            let Some(page) = self.next_dirty() else { return };
            self.flush(page, out);
            self.pass(self.settings.page_ns, false, out);
        }
    }

    /// Lets the writer check the number of dirty pages, as `balance_dirty_pages` does. If there are
    /// too many, the writer writes some itself.
    fn balance(&mut self, out: &mut Outlet) {
        self.since_look += 1;
        if self.since_look < self.turn && self.dirty.len() <= self.limit {
            return;
        }
        self.since_look = 0;
        self.in_background |= self.dirty.len() > self.background;
        if self.dirty.len() > self.limit {
            self.write_out(self.turn + self.turn / 2, out);
        }
    }

    fn make_room(&mut self, out: &mut Outlet) {
        while self.cached.len() >= self.capacity {
            match self.lists.last(CLEAN) {
                Some(page) => {
                    self.lists.remove(page);
                    self.cached.remove(page);
                }
                None => self.write_out(1, out),
            }
        }
    }
}

impl Cache for LinuxCache {
    fn pass(&mut self, ns: u64, out: &mut Outlet) {
        LinuxCache::pass(self, ns, true, out);
    }

    fn read(&mut self, page: u32, out: &mut Outlet) {
        if self.dirty.has(page) {
            return;
        }
        if self.cached.has(page) {
            self.lists.remove(page);
        } else {
            self.make_room(out);
            self.cached.insert(page);
            out.read(page);
        }
        self.lists.push_front(CLEAN, page);
    }

    fn write(&mut self, page: u32, out: &mut Outlet) {
        if !self.dirty.has(page) {
            if self.cached.has(page) {
                self.lists.remove(page);
            } else {
                self.make_room(out);
                self.cached.insert(page);
            }
            self.dirty.insert(page);
            if self.settings.by_page {
                self.dirtied_at[page as usize] = self.now;
                self.lists.push_front(DIRTY, page);
            }
            self.dirty_since.get_or_insert(self.now);
            out.dirtied(page);
        }
        self.balance(out);
    }

    fn trim(&mut self, page: u32, out: &mut Outlet) {
        if self.dirty.has(page) {
            self.cleaned(page);
            self.cached.remove(page);
        } else if self.cached.remove(page) {
            self.lists.remove(page);
        }
        out.trim(page);
    }

    fn dirty(&self) -> u32 {
        self.dirty.len()
    }

    fn rest(&mut self, out: &mut Outlet) {
        while self.settings.starts_clean
            && let Some(page) = self.next_dirty()
        {
            self.flush(page, out);
        }
    }

    fn start_clock(&mut self) {
        self.settings.page_ns = 0;
    }

    fn advance(&mut self, ns: u64, out: &mut Outlet) {
        LinuxCache::pass(self, ns, false, out);
    }

    fn next_look(&self) -> Option<u64> {
        (self.settings.writeback_ns > 0).then(|| self.next_look - self.now)
    }

    fn flush_next(&mut self, out: &mut Outlet) -> bool {
        let due = self.due();
        due.into_iter().for_each(|page| self.flush(page, out));
        due.is_some()
    }
}
