//! MultiLog: one log a level of update frequency; chance promotes what is updated soon, copies demote.
//!
//! Level 0 is the hottest. The first write of a page goes to level 0. The expected update interval
//! E of a level is half its number of valid pages times the mean share of valid pages in its blocks
//! when they were collected. If the host updates a page after u written pages, the page goes one
//! level up with probability (E - u)/E. Otherwise it stays, as it does before any block of its
//! level was collected. A copy goes one level down. When the coldest level has a block of valid
//! pages, it opens another level below it.
//!
//! Rule: update: `max(k-1, 0)` with chance `(E-u)/E`, else k; copy: `min(k+1, L-1)`.
//!
//! # Cost
//! A write: the time of the page's last write, and a hash in place of a random number. 8 bytes a
//! logical page, 17 a block, and an erased block a class of copies but one.
//!
//! # Source
//! Stoica, Ailamaki, PVLDB 6(9), 2013, as Wang et al., FAST 2022, simulate it.

use super::{
    Class, Collected, Now, Place, Placement, PlacementInfo, Remembers, Shape, StreamId, draw,
};
use flashgc_base::snapshot::State;
use flashgc_base::spec::Param;
use flashgc_base::table::{Table, prefetch};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "multilog",
    params: &[Param::integer("levels", (2, 32), Some("6"))
        .help("largest number of levels, from hot to cold")],
    source: include_str!("multilog.rs"),
    needs_future: false,
    needs_streams: false,
    // Most updates leave a page on its level. On zipf:theta=0.8, write amplification with
    // cost-benefit was 0.7% below its final value after one update for each level, and 0.1% below
    // it after four.
    remembers: |params, _| Remembers::rewrites(4 * params.integer("levels")),
    bytes: |params, shape| Table::<u64>::bytes_for(shape.pages) + 24 * params.integer("levels"),
    make: Some(|params, shape, _| {
        Box::new(MultiLog::new(params.integer("levels") as usize, shape))
    }),
};

/// Stands for the last write of a page that was never written.
const NEVER: u64 = u64::MAX;

/// The placement policy that the header of this file describes.
#[derive(State)]
struct MultiLog {
    /// The coldest level that is in use.
    coldest: Class,
    /// Valid pages of each level.
    #[snapshot(table)]
    valid: Vec<u64>,
    /// For each level, the number of pages of its collected blocks. `kept` has the number of those
    /// pages that were valid.
    #[snapshot(table)]
    collected: Vec<u64>,
    #[snapshot(table)]
    kept: Vec<u64>,
    /// The number of each page's last write by the host; [`NEVER`] if there is none.
    #[snapshot(table)]
    written: Table<u64>,
    #[snapshot(skip)]
    pages_per_block: u32,
}

impl MultiLog {
    fn new(levels: usize, shape: Shape) -> Self {
        Self {
            coldest: 0,
            valid: vec![0; levels],
            collected: vec![0; levels],
            kept: vec![0; levels],
            written: Table::filled(shape.pages, NEVER),
            pages_per_block: shape.pages_per_block,
        }
    }

    /// The chance that an update of `page`, which lies on `level`, goes one level up.
    #[inline]
    fn chance(&self, page: u32, level: usize, now: Now) -> f64 {
        let number = self.written[page as usize];
        if number == NEVER || self.collected[level] == 0 {
            return 0.0;
        }
        let share = self.kept[level] as f64 / self.collected[level] as f64;
        let expected = self.valid[level] as f64 * share / 2.0;
        1.0 - (now.host - number) as f64 / expected
    }
}

impl Placement for MultiLog {
    fn classes(&self) -> usize {
        self.valid.len()
    }

    fn takes_copies(&self, class: Class) -> bool {
        class > 0
    }

    fn prefetch(&self, page: u32) {
        prefetch(&self.written, page as usize);
    }

    #[inline]
    fn host(&self, page: u32, _: Option<StreamId>, old: Option<Place>, now: Now) -> Class {
        let Some(Place { class: level, .. }) = old else { return 0 };
        let drawn = draw(u64::from(page) << 40, now.host);
        let goes_up = level > 0 && drawn < self.chance(page, level.into(), now);
        level - Class::from(goes_up)
    }

    #[inline]
    fn copy(&self, _: u32, from: Place, _: bool, _: Now) -> Class {
        (from.class + 1).min(self.coldest.max(1))
    }

    fn holds(&mut self, _: u32, place: Place, _: Now) {
        self.coldest = self.coldest.max(place.class);
        self.valid[usize::from(place.class)] += 1;
    }

    #[inline]
    fn wrote(&mut self, page: u32, from: Option<Place>, to: Place, now: Now) {
        self.written[page as usize] = now.host - 1;
        if let Some(from) = from {
            self.valid[usize::from(from.class)] -= 1;
        }
        self.valid[usize::from(to.class)] += 1;
    }

    fn trimmed(&mut self, page: u32, from: Place, _: Now) {
        self.written[page as usize] = NEVER;
        self.valid[usize::from(from.class)] -= 1;
    }

    #[inline]
    fn copied(&mut self, _: u32, from: Place, to: Place, _: Now) {
        self.valid[usize::from(from.class)] -= 1;
        self.valid[usize::from(to.class)] += 1;
    }

    fn collected(&mut self, block: Collected, _: Now) {
        let level = usize::from(block.class);
        self.collected[level] += u64::from(block.pages);
        self.kept[level] += u64::from(block.valid);
        let is_full = self.valid[usize::from(self.coldest)] >= u64::from(self.pages_per_block);
        if is_full && usize::from(self.coldest) + 1 < self.valid.len() {
            self.coldest += 1;
        }
    }
}
