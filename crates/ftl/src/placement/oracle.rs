//! Clairvoyance: pages that will die together lie together. It needs to know what the host will write.
//!
//! The remaining life of a page is the number of pages that the host writes before it writes or
//! discards this one. The class is its logarithm, in units of two blocks; a copy is classified anew.
//! The drive looks `horizon` logical capacities ahead. A page whose next write is further away belongs
//! to the last class until it comes into sight.
//!
//! With `sigma` above 0, the oracle is a predictor: each life is multiplied by `exp(sigma z)`,
//! where z is normal and is drawn once a write, or once a request with `errors=request` (a run of
//! pages that follow each other). If a page outlives its prediction, it is expected to live on for
//! as long as it has already outlived it.
//!
//! Rule: `min(floor(log2(1 + r/(2b))), classes - 1)` for a remaining life r on blocks of b pages.
//!
//! # Cost
//! The workload is generated or read twice. 16 bytes a logical page and 4 a page of the horizon, which
//! is rounded up to a power of two; with `sigma` 32 and, with errors of requests, 8 a page of each. An erased block a class but one.
//!
//! # Source
//! Wang, Li, Lee, Li, FAST 2022 (FK: future knowledge), with logarithmic classes in place of
//! classes of a block each. It is not a lower bound: the off-line algorithm of Lange, Naor, Yadgar,
//! POMACS 5(3), 2021, comes near 1.

use super::future::{Event, Future};
use super::{Class, Now, Place, Placement, PlacementInfo, Remembers, Shape, StreamId};
use flashgc_base::snapshot::{Fault, State};
use flashgc_base::spec::{Param, Params};
use flashgc_base::table::{Table, prefetch};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "oracle",
    params: &[
        Param::integer("classes", (1, 32), Some("16")).help(
            "classes of remaining life; 6 give no bound, because the last class mixes all \
             longer lives",
        ),
        Param::real("horizon", (0.01, 1000.0), Some("8"))
            .help("distance that it sees ahead, in pages written per logical page"),
        Param::real("sigma", (0.0, 100.0), Some("0"))
            .help("standard deviation of the logarithm of a predicted life; 0: it knows"),
        Param::word("errors", &["write", "request"], Some("write"))
            .help("each page write has its own error (write), or each request (request)"),
    ],
    source: include_str!("oracle.rs"),
    needs_future: true,
    needs_streams: false,
    remembers: |_, _| Remembers::rewrites(1),
    bytes: |params, shape| Sizes::of(params, shape).bytes(),
    make: Some(|params, shape, future| Box::new(Oracle::new(params, shape, future))),
};

/// Stands for a page whose newest event in sight is its first contents, or none.
const NOTHING: u64 = u64::MAX;
/// Stands for a page whose newest event in sight is a TRIM.
const DISCARDED: u64 = u64::MAX - 1;
/// Distance in events at which the newest write of a page is prefetched. Its life is prefetched at
/// half that distance.
const AHEAD: usize = 16;
/// A death that is not in sight.
const UNSEEN: u64 = u64::MAX;

/// Lengths of the tables.
#[derive(Clone, Copy)]
struct Sizes {
    pages: usize,
    horizon: usize,
    /// Entries of the tables of writes in sight: a power of two.
    ring: usize,
    /// Entries of the tables of predictions. `requests` and `ring_requests` have those of the two
    /// tables of requests: of pages, and of writes in sight.
    predicted: usize,
    requests: usize,
    ring_requests: usize,
}

impl Sizes {
    fn of(params: &Params, shape: Shape) -> Self {
        let horizon = (shape.pages as f64 * params.real("horizon")).ceil();
        let horizon = horizon.clamp(1.0, f64::from(u32::MAX)) as usize;
        let ring = horizon.next_power_of_two();
        let has_errors = params.real("sigma") > 0.0;
        let by_request = has_errors && params.text("errors") == "request";
        let some = |holds: bool, count: usize| if holds { count } else { 0 };
        Self {
            pages: shape.pages,
            horizon,
            ring,
            predicted: some(has_errors, shape.pages),
            requests: some(by_request, shape.pages),
            ring_requests: some(by_request, ring),
        }
    }

    fn bytes(self) -> u64 {
        let Self { pages, ring, predicted, requests, ring_requests, .. } = self;
        let of_pages = [pages, pages, predicted, predicted, requests, ring_requests];
        Table::<u32>::bytes_for(ring)
            + of_pages.into_iter().map(Table::<u64>::bytes_for).sum::<u64>()
    }
}

/// The placement policy that the header of this file describes. Writes of the host are numbered
/// from 0.
#[derive(State)]
#[snapshot(then = check)]
struct Oracle {
    #[snapshot(skip)]
    classes: Class,
    #[snapshot(skip)]
    unit: u64,
    #[snapshot(skip)]
    sigma: f64,
    #[snapshot(state)]
    future: Box<dyn Future>,
    /// Events that are being looked at, and how many of them are done.
    events: Vec<Event>,
    done: usize,
    /// The number of the first write that is not in sight.
    seen: u64,
    /// Writes that the host has done.
    now: u64,
    /// The number of writes that are in sight.
    #[snapshot(skip)]
    horizon: u64,
    /// The number of writes from each write in sight to the death of its page; 0 if the death is
    /// not in sight. The entry of a write is at its number modulo the length of the table, a power
    /// of two.
    #[snapshot(table)]
    lives: Table<u32>,
    /// For each page, its newest write that is in sight.
    #[snapshot(table)]
    newest: Table<u64>,
    /// The write at which the data that each page has now will die.
    #[snapshot(table)]
    death: Table<u64>,
    /// If predictions have errors: the last write of each page. `predicted` has the write at which
    /// its data are predicted to die.
    #[snapshot(table)]
    written: Table<u64>,
    #[snapshot(table)]
    predicted: Table<u64>,
    /// With errors of requests: for each write in sight, the first write of its request. In
    /// `request`, the same for the last write of each page.
    #[snapshot(table)]
    request_ahead: Table<u64>,
    #[snapshot(table)]
    request: Table<u64>,
    /// The page and the request of the newest write in sight.
    before: (u32, u64),
}

impl Oracle {
    fn new(params: &Params, shape: Shape, future: Option<Box<dyn Future>>) -> Self {
        let sizes = Sizes::of(params, shape);
        let table = Table::<u64>::filled;
        let mut oracle = Self {
            classes: params.integer("classes") as Class,
            unit: 2 * u64::from(shape.pages_per_block.max(1)),
            sigma: params.real("sigma"),
            future: future.unwrap_or_else(|| Box::new(NoFuture)),
            events: vec![],
            done: 0,
            seen: 0,
            now: 0,
            horizon: sizes.horizon as u64,
            lives: Table::filled(sizes.ring, 0),
            newest: table(sizes.pages, NOTHING),
            death: table(sizes.pages, UNSEEN),
            written: table(sizes.predicted, NOTHING),
            predicted: table(sizes.predicted, UNSEEN),
            request_ahead: table(sizes.ring_requests, 0),
            request: table(sizes.requests, NOTHING),
            before: (u32::MAX, 0),
        };
        oracle.look_ahead();
        oracle
    }

    /// Checks that the events that are left are events of this drive.
    fn check(&self) -> Result<(), Fault> {
        let pages = self.newest.len();
        if self.done <= self.events.len()
            && self.events.iter().all(|event| (event.page as usize) < pages)
        {
            return Ok(());
        }
        Err(Fault::new("the future writes a page that there is not"))
    }

    #[inline]
    fn slot(&self, number: u64) -> usize {
        number as usize & (self.lives.len() - 1)
    }

    /// Reads events up to the horizon, or to the end of the future.
    fn look_ahead(&mut self) {
        let horizon = self.now + self.horizon;
        while self.seen < horizon {
            if self.done == self.events.len() {
                self.done = 0;
                self.future.next(&mut self.events);
                if self.events.is_empty() {
                    return;
                }
            }
            let event = self.events[self.done];
            if let Some(ahead) = self.events.get(self.done + AHEAD) {
                prefetch(&self.newest, ahead.page as usize);
            }
            if let Some(ahead) = self.events.get(self.done + AHEAD / 2) {
                prefetch(&self.lives, self.slot(self.newest[ahead.page as usize]));
            }
            self.done += 1;
            self.see(event);
        }
    }

    #[inline]
    fn see(&mut self, Event { page, is_trim }: Event) {
        let at = page as usize;
        match self.newest[at] {
            DISCARDED => {}
            newest if newest != NOTHING && newest >= self.now => {
                let slot = self.slot(newest);
                self.lives[slot] = (self.seen - newest) as u32;
            }
            _ => {
                self.death[at] = self.seen;
                self.predict(page);
            }
        }
        if is_trim {
            self.newest[at] = DISCARDED;
            return;
        }
        self.newest[at] = self.seen;
        let slot = self.slot(self.seen);
        self.lives[slot] = 0;
        if !self.request_ahead.is_empty() {
            let follows = page == self.before.0.wrapping_add(1);
            self.before = (page, if follows { self.before.1 } else { self.seen });
            self.request_ahead[slot] = self.before.1;
        }
        self.seen += 1;
    }

    /// Predicts anew when the data of `page` will die, if predictions have errors.
    #[inline]
    fn predict(&mut self, page: u32) {
        let at = page as usize;
        let Some(&written) = self.written.get(at) else { return };
        let (born, key) = match written {
            // First contents: each page counts as a request of its own.
            NOTHING => (0, u64::MAX - u64::from(page)),
            _ => (written, self.request.get(at).copied().unwrap_or(written)),
        };
        self.predicted[at] = match self.death[at] {
            UNSEEN => UNSEEN,
            death => born.saturating_add(self.life(death - born, key)),
        };
    }

    /// The predicted life of data that live for `life` writes.
    #[inline]
    fn life(&self, life: u64, key: u64) -> u64 {
        if self.sigma == 0.0 {
            return life;
        }
        (life as f64 * (self.sigma * normal(key)).exp()) as u64
    }

    #[inline]
    fn class(&self, remaining: u64) -> Class {
        // The quotient may be rounded down, because the logarithm is rounded down, too.
        let class = (1 + remaining / self.unit).ilog2();
        class.min(u32::from(self.classes) - 1) as Class
    }
}

/// A normally distributed number that looks random and follows from `key`. The method of Box and
/// Muller makes it from two hashes.
fn normal(key: u64) -> f64 {
    let [radius, angle] = [1, 2].map(|salt| super::draw(key, salt));
    (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

impl Placement for Oracle {
    fn classes(&self) -> usize {
        self.classes.into()
    }

    fn takes_copies(&self, _: Class) -> bool {
        true
    }

    fn prefetch(&self, page: u32) {
        let known = if self.sigma == 0.0 { &self.death } else { &self.predicted };
        prefetch(known, page as usize);
    }

    #[inline]
    fn host(&self, _: u32, _: Option<StreamId>, _: Option<Place>, now: Now) -> Class {
        let slot = self.slot(now.host);
        match self.lives[slot] {
            0 => self.classes - 1,
            life => {
                let key = self.request_ahead.get(slot).copied().unwrap_or(now.host);
                self.class(self.life(life.into(), key))
            }
        }
    }

    #[inline]
    fn copy(&self, page: u32, _: Place, _: bool, now: Now) -> Class {
        let known = if self.sigma == 0.0 { &self.death } else { &self.predicted };
        match known[page as usize] {
            UNSEEN => self.classes - 1,
            death => self.class(death.abs_diff(now.host)),
        }
    }

    #[inline]
    fn wrote(&mut self, page: u32, _: Option<Place>, _: Place, now: Now) {
        let (at, number) = (page as usize, now.host - 1);
        let slot = self.slot(number);
        self.death[at] = match self.lives[slot] {
            0 => UNSEEN,
            life => number + u64::from(life),
        };
        if self.sigma > 0.0 {
            self.written[at] = number;
            if let Some(request) = self.request.get_mut(at) {
                *request = self.request_ahead[slot];
            }
            self.predict(page);
        }
        self.now = now.host;
        self.look_ahead();
    }
}

/// The future of a placement that is made only to see what it needs.
#[derive(State)]
struct NoFuture;

impl Future for NoFuture {
    fn next(&mut self, events: &mut Vec<Event>) {
        events.clear();
    }
}
