//! Dynamic data clustering: regions from cold to hot; an update promotes a page, a copy demotes it.
//!
//! Region 0 is the coldest, R-1 the hottest. A block keeps the region for which it was opened. The
//! first write of a page goes to region 0. An update by the host goes one region above the block
//! that held the page; a copy goes one region below. With a threshold, a page is young if its last
//! host write is fewer page programs ago. Only young pages are promoted, and only older pages are
//! demoted. A threshold of 0 switches this test off, as in the FTLs that cite DAC.
//!
//! Zombies are pages whose new version waits in the host's cache. With `zombie-block=yes` their
//! copies go to a separate open block. Without a threshold this block counts as region R-1: an update
//! of a page on it stays hot, and a later copy goes to region R-2. With a threshold it is no region:
//! a page on it keeps the region that it was copied from, and its age alone promotes or demotes it.
//! Else a copy would promote an old page, which no threshold allows. After a crash that region is
//! forgotten and counts as 0.
//!
//! Rule: update: `min(r+1, R-1)`; copy: `max(r-1, 0)`, a zombie to the zombie block.
//!
//! # Cost
//! A write: the class of one block is read. There is one open block a region, and one for zombies.
//! For each of them the collector keeps an erased block beyond the pool's low-water mark. 1 byte a
//! block; with a threshold also 8 bytes a logical page, and 1 more with a zombie block.
//!
//! # Source
//! Chiang, Lee, Chang, Software Practice and Experience 29, 1999 (DAC); Lee, Kim, Lee, Maeng, IEEE
//! Trans. on Computers 64(4), 2015, sections 3.2.2 and 5.1 (the zombie block, 3 regions).

use super::{Class, Now, Place, Placement, PlacementInfo, Remembers, StreamId};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params};
use flashgc_base::table::{Table, prefetch};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "dac",
    params: &[
        Param::integer("regions", (1, 64), Some("3")).help("regions from cold to hot"),
        Param::integer("threshold", (0, u64::MAX), Some("0")).help(
            "age below which a page is young, in pages programmed since its last host \
             write; 0: every update promotes, every copy demotes",
        ),
        Param::word("zombie-block", &["no", "yes"], Some("no"))
            .help("copies of zombies go to an open block of their own"),
    ],
    source: include_str!("dac.rs"),
    needs_future: false,
    needs_streams: false,
    remembers: |params, _| Remembers::rewrites(params.integer("regions")),
    bytes: |params, shape| match params.integer("threshold") {
        0 => 0,
        _ => {
            let left = u64::from(has_zombie_block(params)) * shape.pages as u64;
            Table::<u64>::bytes_for(shape.pages) + left
        }
    },
    make: Some(|params, shape, _| {
        let threshold = params.integer("threshold");
        let zombie_block = has_zombie_block(params);
        let pages = if threshold == 0 { 0 } else { shape.pages };
        Box::new(Dac {
            hottest: params.integer("regions") as Class - 1,
            threshold,
            written: Table::filled(pages, 0),
            left: vec![0; if zombie_block { pages } else { 0 }],
            zombie_block,
        })
    }),
};

fn has_zombie_block(params: &Params) -> bool {
    params.text("zombie-block") == "yes"
}

/// The placement policy that the header of this file describes. The number of the zombie block's
/// class follows that of the hottest region.
#[derive(State)]
struct Dac {
    #[snapshot(skip)]
    hottest: Class,
    #[snapshot(skip)]
    threshold: u64,
    /// The clock at each page's last host write; empty without a threshold.
    #[snapshot(table)]
    written: Table<u64>,
    /// The region that each page left for the zombie block; empty without a threshold or without a
    /// zombie block.
    #[snapshot(table)]
    left: Vec<Class>,
    #[snapshot(skip)]
    zombie_block: bool,
}

impl Dac {
    /// Returns the page programs since the host wrote `page`; `None` without a threshold.
    fn age(&self, page: u32, now: Now) -> Option<u64> {
        Some(now.programs - self.written.get(page as usize)?)
    }

    /// Returns the region of `page`, which is on a block of `class`.
    fn region(&self, page: u32, class: Class) -> Class {
        if class <= self.hottest {
            return class;
        }
        self.left.get(page as usize).copied().unwrap_or(self.hottest)
    }

    /// Notes the region that `page` leaves if it goes to the zombie block.
    fn came(&mut self, page: u32, from: Class, to: Class) {
        if to > self.hottest
            && from <= self.hottest
            && let Some(left) = self.left.get_mut(page as usize)
        {
            *left = from;
        }
    }
}

impl Placement for Dac {
    fn classes(&self) -> usize {
        usize::from(self.hottest) + 1 + usize::from(self.zombie_block)
    }

    fn takes_copies(&self, class: Class) -> bool {
        // Copies go to the hottest region only from young pages of that region. Without a threshold
        // no page is young.
        class != self.hottest || self.hottest == 0 || self.threshold > 0
    }

    fn asks_for_zombies(&self) -> bool {
        self.zombie_block
    }

    fn prefetch(&self, page: u32) {
        if self.threshold > 0 {
            prefetch(&self.written, page as usize);
        }
    }

    #[inline]
    fn host(&self, page: u32, _: Option<StreamId>, old: Option<Place>, now: Now) -> Class {
        let Some(Place { class, .. }) = old else { return 0 };
        let region = self.region(page, class);
        let young = self.age(page, now).is_none_or(|age| age < self.threshold);
        if young { (region + 1).min(self.hottest) } else { region }
    }

    fn wrote(&mut self, page: u32, from: Option<Place>, to: Place, now: Now) {
        // On a drive with a clock, the host may write a page while its copy goes to the zombie
        // block.
        self.came(page, from.map_or(0, |from| from.class), to.class);
        if let Some(written) = self.written.get_mut(page as usize) {
            *written = now.programs;
        }
    }

    #[inline]
    fn copy(&self, page: u32, from: Place, zombie: bool, now: Now) -> Class {
        if zombie && self.zombie_block {
            return self.hottest + 1;
        }
        let region = self.region(page, from.class);
        let old = self.age(page, now).is_none_or(|age| age >= self.threshold);
        if old { region.saturating_sub(1) } else { region }
    }

    fn copied(&mut self, page: u32, from: Place, to: Place, _: Now) {
        self.came(page, from.class, to.class);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PlacementSpec, on};
    use super::*;
    use crate::geometry::Geometry;

    fn rule(spec: &str) -> Box<dyn Placement> {
        let geometry = Geometry::new(16, 4, 24).unwrap();
        PlacementSpec::parse(spec).unwrap().make(&geometry).unwrap().unwrap()
    }

    fn at(programs: u64) -> Now {
        Now { programs, host: programs }
    }

    #[test]
    fn a_page_of_the_zombie_block_is_promoted_by_its_age_alone() {
        let (zombies, page) = (on(3), 7);
        for (threshold, young, old) in [(1, 0, 0), (5, 1, 0)] {
            let spec = format!("dac:regions=3,threshold={threshold},zombie-block=yes");
            let mut rule = rule(&spec);
            rule.wrote(page, None, on(0), at(10));
            assert_eq!(rule.copy(page, on(0), true, at(12)), zombies.class);
            rule.copied(page, on(0), zombies, at(12));
            assert_eq!(rule.host(page, None, Some(zombies), at(13)), young, "{spec}");
            assert_eq!(rule.host(page, None, Some(zombies), at(20)), old, "{spec}");
            // A copy from the zombie block counts as one from the page's region. Another copy to
            // the zombie block changes nothing.
            assert_eq!(rule.copy(page, zombies, false, at(20)), 0);
            rule.copied(page, zombies, zombies, at(20));
            assert_eq!(rule.host(page, None, Some(zombies), at(20)), old, "{spec}");
        }
        // A page that comes back from the zombie block may return to a region that is not the
        // coldest.
        let mut rule = rule("dac:regions=3,threshold=5,zombie-block=yes");
        rule.wrote(page, Some(on(0)), on(1), at(10));
        rule.copied(page, on(1), zombies, at(12));
        assert_eq!(rule.host(page, None, Some(zombies), at(13)), 2);
        assert_eq!(rule.host(page, None, Some(zombies), at(20)), 1);
        // A drive with a clock writes new data in place of the copy.
        rule.wrote(page, Some(on(2)), zombies, at(30));
        assert_eq!(rule.copy(page, zombies, false, at(40)), 1);
    }

    #[test]
    fn without_a_threshold_the_zombie_block_is_the_hottest_region() {
        let rule = rule("dac:regions=3,zombie-block=yes");
        assert_eq!(rule.host(7, None, Some(on(3)), at(9)), 2);
        assert_eq!(rule.copy(7, on(3), false, at(9)), 1);
    }
}
