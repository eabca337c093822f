//! SFR: the frequency and recency of a chunk of pages decide, and sequential writes stay together.
//!
//! The logical space is divided into chunks. A page that the host writes begins a request unless it is
//! the successor of the page written before it. The beginning of a request adds 1 to the count of its
//! chunk. Before, the count is halved once for every `halving` pages that the host has written since
//! it was counted last; halves are rounded down. The class of the request is the natural logarithm of
//! the count, rounded down. All its pages have that class. Copies have the last class, and so have
//! host writes that take the place of a copy under way, on a drive with a clock.
//!
//! AutoStream is a driver and sees requests. A drive sees pages: here, two requests that follow each
//! other in time and in place count as one.
//!
//! Rule: host: `min(floor(ln count), classes - 2)` at the beginning of the request; copy: the last.
//!
//! # Cost
//! The beginning of a request: a chunk's count is read and written. 12 bytes a chunk, 17 a block.
//!
//! # Source
//! Yang, Pandurangan, Choi, Balakrishnan, SYSTOR 2017 (AutoStream), as Wang, Li, Lee, Li, FAST 2022,
//! simulate it: time is counted in pages written.

use super::{Class, Now, Place, Placement, PlacementInfo, Remembers, Shape, StreamId};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "sfr",
    params: &[
        Param::integer("classes", (2, 32), Some("6"))
            .help("classes: the last one of copies, the others of host writes"),
        Param::integer("chunk", (1, 1 << 31), Some("512")).help("pages of a chunk"),
        Param::integer("halving", (1, u64::MAX), Some("16384"))
            .help("pages written by the host after which a count is halved"),
    ],
    source: include_str!("sfr.rs"),
    needs_future: false,
    needs_streams: false,
    remembers: |params, _| Remembers { writes: 2 * params.integer("halving"), rewrites: 1 },
    bytes: |params, shape| 12 * chunks(params, shape) as u64,
    make: Some(|params, shape, _| Box::new(Sfr::new(params, shape))),
};

fn chunks(params: &Params, shape: Shape) -> usize {
    shape.pages.div_ceil(params.integer("chunk") as usize)
}

/// The least whole numbers whose natural logarithms are 1 to `count`; those beyond 32 bits are left
/// out.
fn bounds(count: usize) -> Vec<u32> {
    let least = |power: usize| {
        let least = (power as f64).exp().ceil();
        (least <= f64::from(u32::MAX)).then_some(least as u32)
    };
    (1..=count).map_while(least).collect()
}

/// No page has this number.
const NO_PAGE: u32 = u32::MAX;

/// The placement policy that the header of this file describes.
#[derive(State)]
struct Sfr {
    #[snapshot(skip)]
    classes: Class,
    #[snapshot(skip)]
    chunk: u32,
    #[snapshot(skip)]
    halving: u64,
    /// The least count of each class of host writes but the first.
    #[snapshot(skip)]
    bounds: Vec<u32>,
    /// The successor of the page written last. `class` is the class of the request that a write of
    /// this successor would continue.
    next: u32,
    class: Class,
    /// The count of each chunk. `counted` has the number of the write that was counted last in the
    /// chunk.
    #[snapshot(table)]
    counts: Vec<u32>,
    #[snapshot(table)]
    counted: Vec<u64>,
}

impl Sfr {
    fn new(params: &Params, shape: Shape) -> Self {
        let chunks = chunks(params, shape);
        Self {
            classes: params.integer("classes") as Class,
            chunk: params.integer("chunk") as u32,
            halving: params.integer("halving"),
            bounds: bounds(params.integer("classes") as usize - 2),
            next: NO_PAGE,
            class: 0,
            counts: vec![0; chunks],
            counted: vec![0; chunks],
        }
    }

    /// The count of a chunk if write `number` begins a request in it.
    #[inline]
    fn count(&self, chunk: usize, number: u64) -> u32 {
        let halvings = (number - self.counted[chunk]) / self.halving;
        let halved = u64::from(self.counts[chunk]) >> halvings.min(32);
        (halved as u32).saturating_add(1)
    }

    /// The class of a request whose chunk has this count.
    #[inline]
    fn class_of(&self, count: u32) -> Class {
        self.bounds.iter().filter(|&&bound| bound <= count).count() as Class
    }
}

impl Placement for Sfr {
    fn classes(&self) -> usize {
        self.classes.into()
    }

    fn takes_copies(&self, class: Class) -> bool {
        class == self.classes - 1
    }

    #[inline]
    fn host(&self, page: u32, _: Option<StreamId>, _: Option<Place>, now: Now) -> Class {
        if page == self.next {
            return self.class;
        }
        self.class_of(self.count((page / self.chunk) as usize, now.host))
    }

    fn copy(&self, _: u32, _: Place, _: bool, _: Now) -> Class {
        self.classes - 1
    }

    #[inline]
    fn wrote(&mut self, page: u32, _: Option<Place>, _: Place, now: Now) {
        if page != self.next {
            let (chunk, number) = ((page / self.chunk) as usize, now.host - 1);
            self.counts[chunk] = self.count(chunk, number);
            self.counted[chunk] = number;
            self.class = self.class_of(self.counts[chunk]);
        }
        self.next = page + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementSpec;
    use crate::placement::on;

    fn at(host: u64) -> Now {
        Now { programs: host, host }
    }

    fn rule(spec: &str) -> Sfr {
        let spec = PlacementSpec::parse(spec).unwrap();
        Sfr::new(&spec.params, Shape { pages: 100, pages_per_block: 4, ..Shape::default() })
    }

    /// Does write `number`, counted from 0, and returns its class.
    fn write(rule: &mut Sfr, page: u32, number: u64) -> Class {
        let class = rule.host(page, None, None, at(number));
        rule.wrote(page, None, on(class), at(number + 1));
        class
    }

    #[test]
    fn what_was_worked_out_by_hand() {
        // 100 pages are 4 chunks of 30, the last one of 10.
        let mut rule = rule("sfr:classes=7,chunk=30,halving=1000");
        assert_eq!(rule.counts.len(), 4);
        // e = 2.7, e^2 = 7.4, e^3 = 20.1, e^4 = 54.6, e^5 = 148.4, e^6 = 403.4: class 5 is the
        // last.
        let mut number = 0;
        for count in 1..500 {
            let class = match count {
                ..3 => 0,
                3..8 => 1,
                8..21 => 2,
                21..55 => 3,
                55..149 => 4,
                _ => 5,
            };
            assert_eq!(write(&mut rule, 29, number), class, "count {count}");
            number += 1;
        }
        // A successor has the class of its request, even in another chunk. The count of that chunk
        // stays.
        assert_eq!([30, 31].map(|page| write(&mut rule, page, number)), [5, 5]);
        assert_eq!(rule.counts, [499, 0, 0, 0]);
        // The same page again, or the one before, is another request.
        assert_eq!([31, 30].map(|page| write(&mut rule, page, number)), [0, 0]);
        assert_eq!(rule.counts, [499, 2, 0, 0]);
        // Page 29 was last counted at write 498. A write 999 later adds 1. One 3000 after that
        // finds 500/2/2/2 = 62, one 1000 later 63/2 = 31, and one much later 0.
        let mut then = |number| {
            let class = write(&mut rule, 29, number);
            (class, rule.counts[0])
        };
        assert_eq!(then(1497), (5, 500));
        assert_eq!(then(4497), (4, 63));
        assert_eq!(then(5497), (3, 32));
        assert_eq!(then(5497 + 64_000), (0, 1));
        // A write in place of a copy lies with the copies; its successor does not.
        rule.wrote(95, None, on(6), at(70_000));
        assert_eq!(rule.host(96, None, None, at(70_000)), 0);
        // Copies go to the last class.
        assert_eq!(rule.copy(29, on(5), false, at(70_000)), 6);
    }
}
