//! Pages with similar intervals between their writes lie together; bounds are quantiles of a sample.
//!
//! The clock t counts pages that the host has written; first contents count as writes of the pages
//! in their order. For every page, the times of its last 4 writes are kept. With n times, the mean
//! interval is `(t - oldest)/n`: the time since the last write counts as an interval, so a page
//! that is no longer written gets older. A host write (before it is done) and a copy use the same
//! interval. Class 0 has the shortest intervals, and every class has equally many pages of a
//! sample. A page that was never written or was discarded belongs to the last class, all others to
//! class 0 until there is a sample.
//!
//! A sample is taken after every `refresh` blocks of host writes. It has one page of each of `sample`
//! equal parts of the logical space, or all pages if there are fewer.
//!
//! Rule: the number of bounds `<= (t - oldest)/n`.
//!
//! # Cost
//! A write or copy: the page's times are read and compared with a bound a class. A sample is sorted. 32
//! bytes a logical page, 8 a sampled page, 17 a block, and an erased block a class but one.
//!
//! # Source
//! The scheme 2a of the simulator ssdiq_plus (Lee, 2024) sorts pages by the mean of up to four
//! intervals and quantiles of 10,000 pages: they give the same figures as 1000, and take several
//! times the time. Its division of the spare space is left out, and any victim policy may be used.

use super::quantiles::{CLASSES, Quantiles, REFRESH, SAMPLE};
use super::stamps::{self, Stamps};
use super::{Class, Now, Place, Placement, PlacementInfo, Remembers, Shape, StreamId};
use flashgc_base::snapshot::State;
use flashgc_base::spec::Params;

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "intervals",
    params: &[CLASSES, SAMPLE, REFRESH],
    source: include_str!("intervals.rs"),
    needs_future: false,
    needs_streams: false,
    remembers: |params, shape| Remembers {
        writes: params.integer("refresh") * u64::from(shape.pages_per_block),
        rewrites: 4,
    },
    bytes: |params, shape| stamps::bytes(shape.pages) + Quantiles::bytes(params, shape),
    make: Some(|params, shape, _| Box::new(Intervals::new(params, shape))),
};

/// The placement policy that the header of this file describes.
#[derive(State)]
struct Intervals {
    #[snapshot(state)]
    stamps: Stamps,
    #[snapshot(state)]
    quantiles: Quantiles,
}

impl Intervals {
    fn new(params: &Params, shape: Shape) -> Self {
        Self { stamps: Stamps::new(shape.pages), quantiles: Quantiles::new(params, shape) }
    }
}

/// The mean interval between writes of a page; `None` if it has no data.
#[inline]
fn interval(stamps: &Stamps, page: u32, now: Now) -> Option<f64> {
    let kept = stamps.of(page);
    let oldest = kept.last()?;
    Some((stamps.clock(now) - oldest) as f64 / kept.len() as f64)
}

impl Placement for Intervals {
    fn classes(&self) -> usize {
        self.quantiles.classes()
    }

    fn takes_copies(&self, _: Class) -> bool {
        true
    }

    fn prefetch(&self, page: u32) {
        self.stamps.prefetch(page);
    }

    #[inline]
    fn host(&self, page: u32, _: Option<StreamId>, _: Option<Place>, now: Now) -> Class {
        self.quantiles.class(interval(&self.stamps, page, now).unwrap_or(f64::INFINITY))
    }

    #[inline]
    fn copy(&self, page: u32, _: Place, _: bool, now: Now) -> Class {
        self.quantiles.class(interval(&self.stamps, page, now).unwrap_or(f64::INFINITY))
    }

    fn holds(&mut self, page: u32, _: Place, now: Now) {
        self.stamps.holds(page, now);
    }

    #[inline]
    fn wrote(&mut self, page: u32, _: Option<Place>, _: Place, now: Now) {
        self.stamps.wrote(page, now);
        if self.quantiles.is_due(now) {
            let fetch = |page| self.stamps.prefetch(page);
            self.quantiles.refresh(now, fetch, |page| interval(&self.stamps, page, now));
        }
    }

    fn trimmed(&mut self, page: u32, _: Place, _: Now) {
        self.stamps.trimmed(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementSpec;
    use crate::placement::on;

    fn at(host: u64) -> Now {
        Now { programs: 0, host }
    }

    /// The rule `spec` on a drive of 12 pages, with blocks of 4 pages.
    fn rule(spec: &str) -> Intervals {
        let spec = PlacementSpec::parse(spec).unwrap();
        Intervals::new(&spec.params, Shape { pages: 12, pages_per_block: 4, ..Shape::default() })
    }

    #[test]
    fn an_interval_is_the_age_of_the_oldest_stamp_shared_among_all() {
        let mut rule = rule("intervals");
        let interval = |rule: &Intervals, host| interval(&rule.stamps, 5, at(host));
        assert_eq!(interval(&rule, 0), None);
        // The interval is the age of the oldest stamp, divided by the number of stamps. The stamps
        // of page 5 are 5, 15, 16 and 30, and later 15, 16, 30 and 40.
        rule.holds(5, on(0), at(0));
        assert_eq!([0, 3].map(|host| interval(&rule, host)), [Some(7.0), Some(10.0)]);
        for number in [3, 4, 18] {
            rule.wrote(5, None, on(0), at(number + 1));
        }
        assert_eq!([19, 28].map(|host| interval(&rule, host)), [Some(6.5), Some(8.75)]);
        rule.wrote(5, None, on(0), at(29));
        assert_eq!([29, 28].map(|host| interval(&rule, host)), [Some(6.5), Some(6.25)]);
        rule.trimmed(5, on(0), at(30));
        assert_eq!(interval(&rule, 30), None);
    }

    #[test]
    fn what_was_worked_out_by_hand() {
        // A sample of all 12 pages after every 8 writes.
        let mut rule = rule("intervals:classes=4,refresh=2");
        (0..12).for_each(|page| rule.holds(page, on(0), at(0)));
        let write = |rule: &mut Intervals, page, number: u64| {
            let class = rule.host(page, None, Some(on(0)), at(number));
            rule.wrote(page, Some(on(0)), on(class), at(number + 1));
            class
        };
        // Without bounds all pages belong to class 0, except those without data: they belong to the
        // last class.
        (0..7).for_each(|number| assert_eq!(write(&mut rule, number as u32 % 3, number), 0));
        rule.trimmed(11, on(0), at(7));
        assert_eq!(rule.host(11, None, None, at(7)), 3);
        assert_eq!((rule.copy(3, on(0), false, at(7)), write(&mut rule, 1, 7)), (0, 0));
        // At t = 20 page 0 has the stamps 0, 12, 15, 18, page 1 has 1, 13, 16, 19 and page 2 has 2,
        // 14, 17: intervals of 5, 4.75 and 6. Pages 3 to 10 are 17 to 10 old. Of these 11 the
        // numbers 2, 5 and 8 in ascending order are the bounds: 4.75, 5, 6, 10, 11, 12, 13, 14, 15,
        // 16, 17.
        assert_eq!(rule.quantiles.bounds(), [6.0, 12.0, 15.0]);
        let copies = [0, 1, 2, 10, 9, 8, 6, 5, 3].map(|page| rule.copy(page, on(0), false, at(8)));
        assert_eq!(copies, [0, 0, 1, 1, 1, 2, 2, 3, 3]);
        // A host write uses the estimate before the write: page 5 is 15 old. After the write its
        // interval is (20 - 5)/2.
        assert_eq!((write(&mut rule, 5, 8), rule.copy(5, on(0), false, at(8))), (3, 1));
        // The next sample comes with the sixteenth write, and not before.
        (9..15).for_each(|number| _ = write(&mut rule, 0, number));
        assert_eq!(rule.quantiles.bounds(), [6.0, 12.0, 15.0]);
        // Intervals at t = 28: 1 and 6.75 of pages 0 and 1, 26/3 of page 2, 23/2 of page 5 (stamps
        // 5 and 20), and 25, 24, 22, 21, 20, 19 and 18 of pages 3, 4 and 6 to 10.
        write(&mut rule, 0, 15);
        assert_eq!(rule.quantiles.bounds(), [26.0 / 3.0, 19.0, 22.0]);
    }
}
