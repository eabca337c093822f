//! FADaC: pages are separated by how often they are written, compared with a fading average.
//!
//! Every page has a count: a host write adds 1, a copy takes 1 away unless it is 0. F is a fading
//! average of writes a page. It is 0 at first; a host write moves it to F + (1 - F)/V, where V is the
//! number of pages that had data before the write, and leaves it alone while V is 0. A page whose
//! count is above F belongs to class 1, above 10 F to class 2, above 100 F to class 3, and so on; all
//! others, and all while F is 0, belong to class 0. The last class has the rest. A host write is
//! classified by the count and F after it, a copy by the count after it. TRIM sets the count to 0.
//!
//! F comes near to 1 from below. On an old drive the class is the number of digits of the count, and
//! only copies, whose count can be 0, belong to class 0.
//!
//! Rule: the number of i >= 0 with `count > 10^i F`, at most `classes - 1`.
//!
//! # Cost
//! A write or copy: the page's count is read and written. 4 bytes a logical page, 17 a block, and an
//! erased block a class but one.
//!
//! # Source
//! Kremer, Brinkmann, SYSTOR 2019, as Wang, Li, Lee, Li, FAST 2022, simulate it. They do not
//! discard pages.

use super::{Class, Now, Place, Placement, PlacementInfo, Remembers, StreamId};
use flashgc_base::snapshot::State;
use flashgc_base::spec::Param;
use flashgc_base::table::{Table, prefetch};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "fadac",
    params: &[
        Param::integer("classes", (1, 32), Some("6")).help("classes from rarely to often written")
    ],
    source: include_str!("fadac.rs"),
    needs_future: false,
    needs_streams: false,
    // Only copies lower counts, so the counts of all pages but the coldest grow to the last bound.
    remembers: |params, _| {
        Remembers::rewrites(10u64.saturating_pow(params.integer("classes") as u32 - 1))
    },
    bytes: |_, shape| Table::<u32>::bytes_for(shape.pages),
    make: Some(|params, shape, _| {
        Box::new(Fadac::new(params.integer("classes") as Class, shape.pages))
    }),
};

/// The placement policy that the header of this file describes.
#[derive(State)]
struct Fadac {
    #[snapshot(skip)]
    classes: Class,
    /// F, the fading average of writes a page.
    average: f64,
    /// Pages that have data.
    valid: u64,
    #[snapshot(table)]
    counts: Table<u32>,
}

impl Fadac {
    fn new(classes: Class, pages: usize) -> Self {
        Self { classes, average: 0.0, valid: 0, counts: Table::filled(pages, 0) }
    }

    /// F after one more write of the host.
    #[inline]
    fn faded(&self) -> f64 {
        match self.valid {
            0 => self.average,
            valid => self.average + (1.0 - self.average) / valid as f64,
        }
    }

    #[inline]
    fn class(&self, count: u32, average: f64) -> Class {
        if average == 0.0 {
            return 0;
        }
        let (mut class, mut bound) = (0, average);
        while class + 1 < self.classes && f64::from(count) > bound {
            class += 1;
            bound *= 10.0;
        }
        class
    }
}

impl Placement for Fadac {
    fn classes(&self) -> usize {
        self.classes.into()
    }

    fn takes_copies(&self, _: Class) -> bool {
        true
    }

    fn prefetch(&self, page: u32) {
        prefetch(&self.counts, page as usize);
    }

    #[inline]
    fn host(&self, page: u32, _: Option<StreamId>, _: Option<Place>, _: Now) -> Class {
        self.class(self.counts[page as usize].saturating_add(1), self.faded())
    }

    #[inline]
    fn copy(&self, page: u32, _: Place, _: bool, _: Now) -> Class {
        self.class(self.counts[page as usize].saturating_sub(1), self.average)
    }

    fn holds(&mut self, _: u32, _: Place, _: Now) {
        self.valid += 1;
    }

    #[inline]
    fn wrote(&mut self, page: u32, from: Option<Place>, _: Place, _: Now) {
        self.average = self.faded();
        self.valid += u64::from(from.is_none());
        let count = &mut self.counts[page as usize];
        *count = count.saturating_add(1);
    }

    fn trimmed(&mut self, page: u32, _: Place, _: Now) {
        self.counts[page as usize] = 0;
        self.valid -= 1;
    }

    #[inline]
    fn copied(&mut self, page: u32, _: Place, _: Place, _: Now) {
        let count = &mut self.counts[page as usize];
        *count = count.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::on;

    const NOW: Now = Now { programs: 0, host: 0 };

    fn write(rule: &mut Fadac, page: u32, from: Option<Class>) -> Class {
        let class = rule.host(page, None, from.map(on), NOW);
        rule.wrote(page, from.map(on), on(class), NOW);
        class
    }

    #[test]
    fn what_was_worked_out_by_hand() {
        let mut rule = Fadac::new(6, 64);
        // Nothing has data: F stays 0, and so does the class.
        assert_eq!(write(&mut rule, 0, None), 0);
        assert_eq!((rule.average, rule.valid), (0.0, 1));
        // 32 pages have data: F = 1/32, and a first write is above F and 10 F, not above 100 F.
        (1..32).for_each(|page| rule.holds(page, on(0), NOW));
        assert_eq!(write(&mut rule, 1, Some(0)), 2);
        assert_eq!(rule.average, 0.03125);
        // F = 1/32 + 31/32/32 = 63/1024; page 0 has a count of 2, above 10 F = 0.6, not 6.1.
        assert_eq!(write(&mut rule, 0, Some(0)), 2);
        assert_eq!(rule.average, 63.0 / 1024.0);
        // At a first write of a page the average is that of the 32 pages that had data before.
        assert_eq!(write(&mut rule, 40, None), 2);
        assert_eq!(rule.average, 63.0 / 1024.0 + 961.0 / 1024.0 / 32.0);
        assert_eq!(rule.valid, 33);
        // With F = 1/2 the bounds are 1/2, 5, 50, 500, 5000: a count at a bound has not passed it.
        rule.average = 0.5;
        let counts = [0, 1, 5, 6, 50, 51, 500, 501, 5000, 5001, u32::MAX];
        let classes = counts.map(|count| rule.class(count, 0.5));
        assert_eq!(classes, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
        // A copy is classified by the count after it, which is 1 less.
        rule.counts[7] = 6;
        assert_eq!(rule.copy(7, on(0), false, NOW), 1);
        rule.copied(7, on(0), on(1), NOW);
        assert_eq!(rule.counts[7], 5);
        // Counts end at 0 and at the greatest number.
        assert_eq!(rule.copy(8, on(0), false, NOW), 0);
        rule.copied(8, on(0), on(0), NOW);
        assert_eq!(rule.counts[8], 0);
        rule.counts[8] = u32::MAX;
        write(&mut rule, 8, Some(0));
        assert_eq!(rule.counts[8], u32::MAX);
        rule.trimmed(8, on(0), NOW);
        assert_eq!((rule.counts[8], rule.valid), (0, 32));
    }
}
