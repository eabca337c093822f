//! SepBIT: pages are separated by the time at which they will probably be overwritten.
//!
//! A page that the host overwrites soon after its last write will soon be overwritten again; a page
//! that was copied has lived for long and will live longer. The clock t counts pages that the host
//! has written. A write whose page was last written v pages before goes to class 0 if v < l, and to
//! class 1 if not. l is the mean lifetime of the last 16 blocks of class 0 that were collected,
//! from opening to collection; before, it is infinite. Copies from class 0 go to class 2. For all
//! other copies, the age g of their data decides: to class 3 if g < 4l, to class 4 if g < 16l, and
//! so on; the last class has the rest.
//!
//! A queue holds the pages written last. A page that left the queue, was discarded or was never
//! written counts as written infinitely long ago. The length of the queue is l, but at most the
//! number of pages with data. If it is longer, a write removes one page, or two if it is also
//! longer than l.
//!
//! Rule: host: `v < l` to 0, else 1; copy: from 0 to 2, else `g < 4^k l` to the first such 2+k.
//!
//! # Cost
//! A write or copy: the time of the page's last write is read. The queue is a number, as its entries
//! are consecutive. 8 bytes a logical page, 17 a block, and an erased block a class of copies but one.
//!
//! # Source
//! Wang, Li, Lee, Li, FAST 2022, Algorithm 1, and its published code (the length of the queue). There
//! collections begin at a share of garbage; here, as in all drives, when erased blocks are few. Its
//! victims are those of `cost-benefit:form=sqrt`.

use super::{Class, Collected, Now, Place, Placement, PlacementInfo, Remembers, StreamId};
use flashgc_base::snapshot::State;
use flashgc_base::spec::Param;
use flashgc_base::table::{Table, prefetch};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "sepbit",
    params: &[Param::integer("classes", (4, 32), Some("6"))
        .help("classes: two of host writes, the others of copies")],
    source: include_str!("sepbit.rs"),
    needs_future: false,
    needs_streams: false,
    remembers: |_, shape| Remembers { writes: 16 * u64::from(shape.pages_per_block), rewrites: 1 },
    bytes: |_, shape| Table::<u64>::bytes_for(shape.pages),
    make: Some(|params, shape, _| {
        Box::new(SepBit::new(params.integer("classes") as Class, shape.pages))
    }),
};

/// l is the mean lifetime of this number of collected blocks of class 0.
const BLOCKS: u64 = 16;

/// Stands for the last write of a page that was never written.
const NEVER: u64 = u64::MAX;

const SHORT: Class = 0;
const LONG: Class = 1;
/// Copies of pages of class [`SHORT`].
const AGAIN: Class = 2;

/// The placement policy that the header of this file describes.
#[derive(State)]
struct SepBit {
    #[snapshot(skip)]
    classes: Class,
    /// l, in pages written by the host.
    lifetime: f64,
    /// The sum of the lifetimes of the class 0 blocks collected since l was last computed, and
    /// their number.
    sum: u64,
    count: u64,
    /// The number of each page's last write by the host; [`NEVER`] if there is none.
    #[snapshot(table)]
    written: Table<u64>,
    /// The number of the first write in the queue. All later writes are in the queue, too.
    first: u64,
    /// Pages that have data.
    valid: u64,
}

impl SepBit {
    fn new(classes: Class, pages: usize) -> Self {
        let written = Table::filled(pages, NEVER);
        Self { classes, lifetime: f64::INFINITY, sum: 0, count: 0, written, first: 0, valid: 0 }
    }

    /// Returns the number of pages that the host has written since it wrote `page`, that write
    /// among them; infinite if it never did.
    #[inline]
    fn age(&self, page: u32, now: Now) -> f64 {
        match self.written[page as usize] {
            NEVER => f64::INFINITY,
            number => (now.host - number) as f64,
        }
    }
}

impl Placement for SepBit {
    fn classes(&self) -> usize {
        self.classes.into()
    }

    fn takes_copies(&self, class: Class) -> bool {
        class >= AGAIN
    }

    fn prefetch(&self, page: u32) {
        prefetch(&self.written, page as usize);
    }

    #[inline]
    fn host(&self, page: u32, _: Option<StreamId>, _: Option<Place>, now: Now) -> Class {
        let number = self.written[page as usize];
        let is_queued = number != NEVER && number >= self.first;
        if is_queued && self.age(page, now) < self.lifetime { SHORT } else { LONG }
    }

    #[inline]
    fn copy(&self, page: u32, from: Place, _: bool, now: Now) -> Class {
        if from.class == SHORT {
            return AGAIN;
        }
        let age = self.age(page, now);
        let mut bound = self.lifetime;
        for class in AGAIN + 1..self.classes - 1 {
            bound *= 4.0;
            if age < bound {
                return class;
            }
        }
        self.classes - 1
    }

    fn holds(&mut self, _: u32, _: Place, now: Now) {
        self.valid += 1;
        self.first = now.host;
    }

    #[inline]
    fn wrote(&mut self, page: u32, from: Option<Place>, _: Place, now: Now) {
        self.written[page as usize] = now.host - 1;
        self.valid += u64::from(from.is_none());
        if (now.host - self.first) as f64 > self.lifetime.min(self.valid as f64) {
            self.first += 1;
        }
        if (now.host - self.first) as f64 > self.lifetime {
            self.first += 1;
        }
    }

    fn trimmed(&mut self, page: u32, _: Place, _: Now) {
        self.written[page as usize] = NEVER;
        self.valid -= 1;
    }

    fn collected(&mut self, block: Collected, now: Now) {
        if block.class == SHORT {
            self.sum += now.host - block.opened.host;
            self.count += 1;
            if self.count == BLOCKS {
                self.lifetime = self.sum as f64 / BLOCKS as f64;
                (self.sum, self.count) = (0, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::on;

    fn at(host: u64) -> Now {
        Now { programs: host, host }
    }

    /// Does write `number`, counted from 0, and returns its class.
    fn write(rule: &mut SepBit, page: u32, number: u64) -> Class {
        let class = rule.host(page, None, None, at(number));
        let from = (rule.written[page as usize] != NEVER).then_some(0);
        rule.wrote(page, from.map(on), on(class), at(number + 1));
        class
    }

    #[test]
    fn what_was_worked_out_by_hand() {
        let mut rule = SepBit::new(6, 8);
        // l is infinite: whatever is in the queue is short-lived.
        assert_eq!(write(&mut rule, 0, 0), LONG);
        assert_eq!(write(&mut rule, 0, 1), SHORT);
        // One page has data, so the queue holds only the second of the two writes.
        assert_eq!(write(&mut rule, 1, 2), LONG);
        assert_eq!(write(&mut rule, 0, 3), SHORT);
        // Two pages have data: the queue holds the writes 2 and 3, then 3 and 4.
        assert_eq!(write(&mut rule, 0, 4), SHORT);
        assert_eq!(write(&mut rule, 1, 5), LONG);
        // Copies while l is infinite: only a page that was never written is infinitely old.
        assert_eq!([0, 1, 3].map(|from| rule.copy(0, on(from), false, at(6))), [2, 3, 3]);
        assert_eq!(rule.copy(7, on(LONG), false, at(6)), 5);
        // Blocks of 4 pages: 16 of class 0 live for 4 or 6 writes, on average for 5; others do not
        // count.
        for number in 0..16 {
            assert_eq!(rule.lifetime, f64::INFINITY);
            let (class, block, pages) = (SHORT, 0, 4);
            let opened = at(if number % 2 == 0 { 0 } else { 2 });
            rule.collected(Collected { class, block, opened, valid: 1, pages }, at(6));
            rule.collected(Collected { class: 3, block, opened, valid: 1, pages }, at(900));
        }
        assert_eq!(rule.lifetime, 5.0);
        // Four more pages, so that the queue has room for 5 writes.
        (2..6).for_each(|page| assert_eq!(write(&mut rule, page, u64::from(page) + 4), LONG));
        assert_eq!(write(&mut rule, 2, 10), SHORT); // v = 4
        assert_eq!(write(&mut rule, 3, 12), LONG); // v = 5
        // Page 5 was written at 9.
        for (age, class) in [(1, 3), (19, 3), (20, 4), (79, 4), (80, 5), (5000, 5)] {
            assert_eq!(rule.copy(5, on(LONG), false, at(9 + age)), class, "age {age}");
        }
        assert_eq!(rule.copy(5, on(SHORT), false, at(5000)), AGAIN);
        rule.trimmed(5, on(LONG), at(13));
        assert_eq!(write(&mut rule, 5, 13), LONG);
    }
}
