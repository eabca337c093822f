//! ETI: extents of the logical space have temperatures; hot and cold writes are separated.
//!
//! An extent is a run of pages with a count from 0 to 15. At first there is one, the logical space,
//! with count 0. A request is a run of pages that follow each other; it is counted when the host
//! has written the first page of the next one. If it begins or ends inside an extent, that extent
//! is split in two of the same count, as long as there are fewer than `extents`. Then each extent
//! that lies completely in the request gets 1 more. After every `halving` requests all counts are
//! halved, rounded down, and neighbours are joined if they have the same count or both are cold:
//! below 4. The larger count stays.
//!
//! Rule: host: 0 if the count of the page's extent is 4 or more, else 1; copy: 2.
//!
//! # Cost
//! A write: a binary search among the extents. A request moves the extents above it. 8 bytes an
//! extent, 17 bytes a block. Requests of single pages all over the drive use up the extents, and
//! then few extents are hot.
//!
//! # Source
//! Shafaei, Desnoyers, Fitzpatrick, HotStorage 2016, as Wang, Li, Lee, Li, FAST 2022, simulate it.
//! A drive sees pages: two requests that follow each other in time and in place count as one.

use super::{Class, Now, Place, Placement, PlacementInfo, Remembers, Shape, StreamId};
use flashgc_base::snapshot::{Fault, State, Value};
use flashgc_base::spec::{Param, Params};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "eti",
    params: &[
        Param::integer("extents", (1, 1 << 20), Some("1024")).help("largest number of extents"),
        Param::integer("halving", (1, u64::MAX), Some("4096"))
            .help("requests after which counts are halved and extents joined"),
    ],
    source: include_str!("eti.rs"),
    needs_future: false,
    needs_streams: false,
    remembers: |params, _| Remembers { writes: 2 * params.integer("halving"), rewrites: 1 },
    bytes: |params, _| 8 * params.integer("extents"),
    make: Some(|params, shape, _| Box::new(Eti::new(params, shape))),
};

/// The count from which on an extent is hot.
const WARM: u8 = 4;
/// The largest count.
const MOST: u8 = 15;

const HOT: Class = 0;
const COLD: Class = 1;
const COPIES: Class = 2;

/// A run of pages that are counted together. It ends where the next one begins, or with the logical
/// space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
struct Extent {
    first: u32,
    count: u8,
}

/// The placement policy that the header of this file describes.
#[derive(State)]
#[snapshot(then = check)]
struct Eti {
    /// The extents in the order of their pages; the first begins with page 0.
    extents: Vec<Extent>,
    #[snapshot(skip)]
    pages: u32,
    #[snapshot(skip)]
    most_extents: usize,
    #[snapshot(skip)]
    halving: u64,
    /// Requests since counts were halved.
    requests: u64,
    /// The first page of the request under way, and the page after its last one; both are equal
    /// before the first request.
    first: u32,
    end: u32,
}

impl Eti {
    fn new(params: &Params, shape: Shape) -> Self {
        let most_extents = params.integer("extents") as usize;
        let mut extents = Vec::with_capacity(most_extents);
        extents.push(Extent { first: 0, count: 0 });
        Self {
            extents,
            pages: shape.pages as u32,
            most_extents,
            halving: params.integer("halving"),
            requests: 0,
            first: 0,
            end: 0,
        }
    }

    /// Checks that the extents begin at page 0 and lie in the order of their pages.
    fn check(&self) -> Result<(), Fault> {
        let is_sorted = self.extents.is_sorted_by(|a, b| a.first < b.first);
        if is_sorted && self.extents.first().is_some_and(|extent| extent.first == 0) {
            return Ok(());
        }
        Err(Fault::new("extents are not in the order of their pages"))
    }

    /// The extent that holds `page`.
    #[inline]
    fn at(&self, page: u32) -> usize {
        self.extents.partition_point(|extent| extent.first <= page) - 1
    }

    /// Lets an extent begin with `page`, if there is room for one more.
    fn split(&mut self, page: u32) {
        let at = self.at(page);
        let Extent { first, count } = self.extents[at];
        if first < page && page < self.pages && self.extents.len() < self.most_extents {
            self.extents.insert(at + 1, Extent { first: page, count });
        }
    }

    /// Counts the request that has ended.
    fn count(&mut self) {
        self.split(self.first);
        self.split(self.end);
        let begin = self.extents.partition_point(|extent| extent.first < self.first);
        for at in begin..self.extents.len() {
            let end = self.extents.get(at + 1).map_or(self.pages, |next| next.first);
            if end > self.end {
                break;
            }
            let extent = &mut self.extents[at];
            extent.count = (extent.count + 1).min(MOST);
        }
        self.requests += 1;
        if self.requests == self.halving {
            self.requests = 0;
            self.cool();
        }
    }

    /// Halves all counts and joins neighbours.
    fn cool(&mut self) {
        self.extents.iter_mut().for_each(|extent| extent.count /= 2);
        self.extents.dedup_by(|extent, before| {
            let larger = extent.count.max(before.count);
            let joins = larger < WARM || extent.count == before.count;
            if joins {
                before.count = larger;
            }
            joins
        });
    }
}

impl Placement for Eti {
    fn classes(&self) -> usize {
        usize::from(COPIES) + 1
    }

    fn takes_copies(&self, class: Class) -> bool {
        class == COPIES
    }

    #[inline]
    fn host(&self, page: u32, _: Option<StreamId>, _: Option<Place>, _: Now) -> Class {
        if self.extents[self.at(page)].count >= WARM { HOT } else { COLD }
    }

    fn copy(&self, _: u32, _: Place, _: bool, _: Now) -> Class {
        COPIES
    }

    #[inline]
    fn wrote(&mut self, page: u32, _: Option<Place>, _: Place, _: Now) {
        if page != self.end || self.first == self.end {
            if self.first < self.end {
                self.count();
            }
            self.first = page;
        }
        self.end = page + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementSpec;
    use crate::placement::on;

    const NOW: Now = Now { programs: 0, host: 0 };

    /// The rule `spec` on a drive of 100 pages.
    fn rule(spec: &str) -> Eti {
        let spec = PlacementSpec::parse(spec).unwrap();
        Eti::new(&spec.params, Shape { pages: 100, pages_per_block: 4, ..Shape::default() })
    }

    /// Writes the pages `first..end` of each request. The last request may go on.
    fn write(rule: &mut Eti, requests: &[(u32, u32)]) {
        for &(first, end) in requests {
            (first..end).for_each(|page| rule.wrote(page, None, on(COLD), NOW));
        }
    }

    fn extents(rule: &Eti) -> Vec<(u32, u8)> {
        rule.extents.iter().map(|extent| (extent.first, extent.count)).collect()
    }

    #[test]
    fn requests_split_extents_and_add_to_those_that_they_cover() {
        let mut rule = rule("eti:extents=5,halving=1000");
        write(&mut rule, &[(0, 20)]);
        assert_eq!(extents(&rule), [(0, 0)], "nothing has ended");
        // The second request ends the first, which begins with an extent and ends inside it.
        write(&mut rule, &[(10, 40)]);
        assert_eq!(extents(&rule), [(0, 1), (20, 0)]);
        // That request covered half of the first extent, and a part of the second.
        write(&mut rule, &[(90, 100)]);
        assert_eq!(extents(&rule), [(0, 1), (10, 2), (20, 1), (40, 0)]);
        // The request for 90 to 100 ends with the logical space, where an extent ends, too. There
        // is room for one more extent.
        write(&mut rule, &[(15, 30)]);
        assert_eq!(extents(&rule), [(0, 1), (10, 2), (20, 1), (40, 0), (90, 1)]);
        // No extent lies in 15 to 30 as a whole, and none can be split.
        write(&mut rule, &[(5, 95)]);
        assert_eq!(extents(&rule), [(0, 1), (10, 2), (20, 1), (40, 0), (90, 1)]);
        // The extents in the middle lie in 5 to 95.
        write(&mut rule, &[(0, 1)]);
        assert_eq!(extents(&rule), [(0, 1), (10, 3), (20, 2), (40, 1), (90, 1)]);
        // A count of 4 is hot, and 15 is the largest count.
        assert_eq!(rule.host(10, None, None, NOW), COLD);
        write(&mut rule, &[(10, 20), (0, 1)]);
        assert_eq!(
            [9, 10, 19, 20].map(|page| rule.host(page, None, None, NOW)),
            [COLD, HOT, HOT, COLD]
        );
        (0..20).for_each(|_| write(&mut rule, &[(10, 20), (0, 1)]));
        assert_eq!(extents(&rule), [(0, 1), (10, 15), (20, 2), (40, 1), (90, 1)]);
        assert_eq!(rule.copy(10, on(HOT), false, NOW), COPIES);
    }

    #[test]
    fn counts_are_halved_and_neighbours_joined() {
        let mut rule = rule("eti:extents=10,halving=2");
        let mut cooled = |counts: &[u8]| {
            let all = (0..).step_by(10).zip(counts);
            rule.extents = all.map(|(first, &count)| Extent { first, count }).collect();
            rule.cool();
            extents(&rule)
        };
        // 7 and 6 become 3: cold, like 0. 9 and 8 become 4: hot, and the same. 10 becomes 5.
        assert_eq!(cooled(&[0, 7, 1, 9, 8, 10, 6]), [(0, 3), (30, 4), (50, 5), (60, 3)]);
        assert_eq!(cooled(&[15, 14, 2, 0, 13, 12]), [(0, 7), (20, 1), (40, 6)]);
        // Counts are halved after every second request that has ended.
        rule.extents = vec![Extent { first: 0, count: 8 }];
        write(&mut rule, &[(0, 100), (0, 100)]);
        assert_eq!(extents(&rule), [(0, 9)]);
        write(&mut rule, &[(0, 100)]);
        assert_eq!(extents(&rule), [(0, 5)]);
        write(&mut rule, &[(0, 100)]);
        assert_eq!(extents(&rule), [(0, 6)]);
    }
}
