//! Dynamic data clustering: regions from cold to hot; an update promotes a page, a copy demotes it.
//!
//! Region 0 is the coldest, R-1 the hottest. A block keeps the region for which it was opened. The
//! first write of a page goes to region 0. An update by the host goes one region above the block
//! that held the page; a copy goes one region below. With a threshold, a page is young if its last
//! host write is fewer page programs ago. Only young pages are promoted, and only older pages are
//! demoted. A threshold of 0 switches this test off, as in the FTLs that cite DAC.
//!
//! Zombies are pages whose new version waits in the host's cache. With `zombie-block=yes` their
//! copies go to a separate open block, which counts as region R-1: an update of a page on it stays
//! hot, and a later copy goes to region R-2.
//!
//! Rule: update: `min(r+1, R-1)`; copy: `max(r-1, 0)`, a zombie to the zombie block.
//!
//! # Cost
//! A write: the class of one block is read. There is one open block a region, and one for zombies.
//! For each of them the collector keeps an erased block beyond the pool's low-water mark. 1 byte a
//! block; with a threshold also 8 bytes a logical page.
//!
//! # Source
//! Chiang, Lee, Chang, Software Practice and Experience 29, 1999 (DAC); Lee, Kim, Lee, Maeng, IEEE
//! Trans. on Computers 64(4), 2015, sections 3.2.2 and 5.1 (the zombie block, 3 regions).

use super::{Class, Now, Place, Placement, PlacementInfo, StreamId};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Kind, Param};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "dac",
    params: &[
        Param {
            name: "regions",
            kind: Kind::Integer { min: 1, max: 64 },
            default: Some("3"),
            help: "regions from cold to hot",
        },
        Param {
            name: "threshold",
            kind: Kind::Integer { min: 0, max: u64::MAX },
            default: Some("0"),
            help: "age below which a page is young, in pages programmed since its last host write; \
                   0: every update promotes, every copy demotes",
        },
        Param {
            name: "zombie-block",
            kind: Kind::Word(&["no", "yes"]),
            default: Some("no"),
            help: "copies of zombies go to an open block of their own",
        },
    ],
    source: include_str!("dac.rs"),
    needs_future: false,
    needs_streams: false,
    bytes: |params, shape| match params.integer("threshold") {
        0 => 0,
        _ => 8 * shape.pages as u64,
    },
    make: Some(|params, shape, _| {
        let threshold = params.integer("threshold");
        Box::new(Dac {
            hottest: params.integer("regions") as Class - 1,
            threshold,
            written: vec![0; if threshold == 0 { 0 } else { shape.pages }],
            zombie_block: params.text("zombie-block") == "yes",
        })
    }),
};

/// See the module's text. The zombie block's class is the one above the hottest region.
#[derive(State)]
struct Dac {
    #[snapshot(skip)]
    hottest: Class,
    #[snapshot(skip)]
    threshold: u64,
    /// The clock at each page's last host write; empty without a threshold.
    #[snapshot(table)]
    written: Vec<u64>,
    #[snapshot(skip)]
    zombie_block: bool,
}

impl Dac {
    /// Returns the page programs since the host wrote `page`; `None` without a threshold.
    fn age(&self, page: u32, now: Now) -> Option<u64> {
        Some(now.programs - self.written.get(page as usize)?)
    }
}

impl Placement for Dac {
    fn classes(&self) -> usize {
        usize::from(self.hottest) + 1 + usize::from(self.zombie_block)
    }

    fn takes_copies(&self, class: Class) -> bool {
        // Only a young page of the hottest region is copied into it, and without a threshold none is
        // young.
        class != self.hottest || self.hottest == 0 || self.threshold > 0
    }

    fn asks_for_zombies(&self) -> bool {
        self.zombie_block
    }

    #[inline]
    fn host(&self, page: u32, _: Option<StreamId>, old: Option<Place>, now: Now) -> Class {
        let Some(Place { class, .. }) = old else { return 0 };
        let region = class.min(self.hottest);
        let young = self.age(page, now).is_none_or(|age| age < self.threshold);
        if young { (region + 1).min(self.hottest) } else { region }
    }

    fn wrote(&mut self, page: u32, _: Option<Place>, _: Place, now: Now) {
        if let Some(written) = self.written.get_mut(page as usize) {
            *written = now.programs;
        }
    }

    #[inline]
    fn copy(&self, page: u32, from: Place, zombie: bool, now: Now) -> Class {
        if zombie && self.zombie_block {
            return self.hottest + 1;
        }
        let region = from.class.min(self.hottest);
        let old = self.age(page, now).is_none_or(|age| age >= self.threshold);
        if old { region.saturating_sub(1) } else { region }
    }
}
