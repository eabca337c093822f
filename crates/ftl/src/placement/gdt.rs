//! GDT: pages that will probably die at about the same time lie together.
//!
//! The clock t counts pages that the host has written; first contents count as writes of the pages
//! in their order. For every page, the times of its last 4 writes are kept. Its data are expected
//! to die after the last write plus the mean of the 3 intervals between them, or of as many as
//! there are. Data that have outlived this time are expected to live as long again as they have
//! lived; so are those of a page without an interval. A host write counts as the last write of its
//! page. Means are rounded down. Class 0 dies first, and each class lasts twice as long as the one
//! before; the last class has the rest. A page that was never written or was discarded belongs to
//! the last class.
//!
//! The paper sorts pages by the time of death when a buffer is written. A drive has no such buffer.
//! Instead it has a class for each power of two of the remaining time. The last class begins at two
//! drive writes.
//!
//! Rule: `floor(log2(1 + left/unit))`, at most `classes - 1`; `unit = 2U/2^(classes - 1)`, rounded down.
//! `left = death - t`, or `t - last` if overdue.
//!
//! # Cost
//! A write or copy: the page's times are read. 32 bytes a logical page, 17 a block, and an erased block a
//! class but one.
//!
//! # Source
//! Lee, Ziegler, Leis, How to Write to SSDs, arXiv 2603.09927, 2026: grouping by death time,
//! estimated from kept times of writes. The treatment of overdue pages, and the classes, are our
//! choice. Quantiles, as in `intervals`, wrote more than powers of two if few pages have most of
//! the writes.

use super::stamps::{self, Stamps};
use super::{Class, Now, Place, Placement, PlacementInfo, Remembers, StreamId};
use flashgc_base::snapshot::State;
use flashgc_base::spec::Param;

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "gdt",
    params: &[Param::integer("classes", (1, 32), Some("6"))
        .help("classes by the time that is left, each twice as long as the one before")],
    source: include_str!("gdt.rs"),
    needs_future: false,
    needs_streams: false,
    remembers: |_, _| Remembers::rewrites(4),
    bytes: |_, shape| stamps::bytes(shape.pages),
    make: Some(|params, shape, _| {
        Box::new(Gdt::new(params.integer("classes") as Class, shape.pages))
    }),
};

/// The placement policy that the header of this file describes.
#[derive(State)]
struct Gdt {
    #[snapshot(skip)]
    classes: Class,
    /// The least time that is left of each class but the first, in host writes.
    #[snapshot(skip)]
    bounds: Vec<u64>,
    #[snapshot(state)]
    stamps: Stamps,
}

impl Gdt {
    fn new(classes: Class, pages: usize) -> Self {
        let unit = ((2 * pages as u64) >> (classes - 1)).max(1);
        // Class k begins where 1 + left/unit is 2^k.
        let bounds = (1..classes).map(|class| ((1 << class) - 1) * unit).collect();
        Self { classes, bounds, stamps: Stamps::new(pages) }
    }

    /// The class of data that have `left` host writes left to live.
    #[inline]
    fn class(&self, left: u64) -> Class {
        self.bounds.iter().filter(|&&bound| bound <= left).count() as Class
    }
}

impl Placement for Gdt {
    fn classes(&self) -> usize {
        self.classes.into()
    }

    fn takes_copies(&self, _: Class) -> bool {
        true
    }

    fn prefetch(&self, page: u32) {
        self.stamps.prefetch(page);
    }

    #[inline(always)]
    fn host(&self, page: u32, _: Option<StreamId>, _: Option<Place>, now: Now) -> Class {
        let kept = self.stamps.of(page);
        let before = &kept[..kept.len().min(stamps::KEPT - 1)];
        match before.last() {
            Some(oldest) => {
                let since = self.stamps.clock(now) - oldest;
                self.class(stamps::share(since, before.len()))
            }
            None => self.classes - 1,
        }
    }

    #[inline(always)]
    fn copy(&self, page: u32, _: Place, _: bool, now: Now) -> Class {
        let t = self.stamps.clock(now);
        match self.stamps.of(page) {
            [] => self.classes - 1,
            [last] => self.class(t - last),
            kept @ [last, .., oldest] => {
                let death = last + stamps::share(last - oldest, kept.len() - 1);
                self.class(death.checked_sub(t).unwrap_or(t - last))
            }
        }
    }

    fn holds(&mut self, page: u32, _: Place, now: Now) {
        self.stamps.holds(page, now);
    }

    #[inline(always)]
    fn wrote(&mut self, page: u32, _: Option<Place>, _: Place, now: Now) {
        self.stamps.wrote(page, now);
    }

    fn trimmed(&mut self, page: u32, _: Place, _: Now) {
        self.stamps.trimmed(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::on;

    fn at(host: u64) -> Now {
        Now { programs: 0, host }
    }

    /// Does write `number`, counted from 0, and returns its class.
    fn write(rule: &mut Gdt, page: u32, number: u64) -> Class {
        let class = rule.host(page, None, None, at(number));
        rule.wrote(page, None, on(class), at(number + 1));
        class
    }

    #[test]
    fn classes_are_powers_of_two_of_the_time_that_is_left() {
        // 64 writes are two drive writes. Class 0 lasts an eighth of them: 8 writes.
        let rule = Gdt::new(4, 32);
        let classes = [0, 7, 8, 23, 24, 55, 56, 900, u64::MAX].map(|left| rule.class(left));
        assert_eq!(classes, [0, 0, 1, 1, 2, 2, 3, 3, 3]);
        assert_eq!(Gdt::new(20, 32).bounds[..3], [1, 3, 7]);
        // The rule: the logarithm of the quotient.
        for pages in [1, 32, 1000, 1 << 22] {
            for classes in [1, 2, 6, 32] {
                let rule = Gdt::new(classes, pages);
                let unit = ((2 * pages as u64) >> (classes - 1)).max(1);
                for left in (0..60).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (3 << bit) + 1]) {
                    let class = (1 + left / unit).ilog2().min(u32::from(classes) - 1);
                    assert_eq!(u32::from(rule.class(left)), class, "{pages} {classes} {left}");
                }
            }
        }
    }

    #[test]
    fn what_was_worked_out_by_hand() {
        let mut rule = Gdt::new(6, 128);
        let copy = |rule: &Gdt, host| rule.copy(7, on(0), false, at(host));
        // Nothing is known of page 7: the last class. Write 0 is at t = 128.
        assert_eq!((copy(&rule, 0), write(&mut rule, 7, 0)), (5, 5));
        // With one stamp, the page is expected to live as long again as it has lived: 7 and 8.
        assert_eq!([7, 8].map(|host| copy(&rule, host)), [0, 1]);
        // An interval of 20: class 1 is 8 to 23. Class 0 lasts
        // 8 writes. Death is at t = 168, so 20, 8, 7 and 0 are left, and then
        // 21, 24 since the last write.
        assert_eq!(write(&mut rule, 7, 20), 1);
        let classes = [20, 32, 33, 40, 41, 44].map(|host| copy(&rule, host));
        assert_eq!(classes, [1, 1, 0, 0, 1, 2]);
        // Intervals of 20 and 30: their mean 25 is left, of class 2.
        assert_eq!(write(&mut rule, 7, 50), 2);
        // Intervals of 20, 30 and 10 have the mean 20, of class 1. Then 30, 10 and 200 have the
        // mean 80, of class 3.
        assert_eq!(write(&mut rule, 7, 60), 1);
        assert_eq!(write(&mut rule, 7, 260), 3);
        // Written at 20, 50, 60 and 260, the page dies at 340. At 261 it has 79 writes left: class
        // 3 is 56 to 119.
        assert_eq!(
            [261, 284, 285, 340, 341, 379, 380].map(|host| copy(&rule, host)),
            [3, 3, 2, 0, 3, 3, 4]
        );
        // Other pages have their own times; first contents are writes in page order.
        rule.holds(30, on(0), at(0));
        // Page 30 at t = 128 is 98 old, of class 3; a write then ends an interval of 98.
        assert_eq!((rule.copy(30, on(0), false, at(0)), write(&mut rule, 30, 0)), (3, 3));
        rule.trimmed(7, on(0), at(400));
        assert_eq!(write(&mut rule, 7, 400), 5);
    }
}
