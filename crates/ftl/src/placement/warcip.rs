//! WARCIP: pages that are rewritten after similar intervals lie together: clusters, found on line.
//!
//! The interval of a host write is the number of pages that the host has written since it wrote
//! this one, plus a penalty; it is 0 for a page that has not been written or was discarded. A copy
//! sets the page's penalty to the age of its data, counted likewise; a write sets it to 0. Each
//! cluster has a class and a centre. A write goes to the cluster with the nearest centre; of two,
//! to the one with the larger number. The centre becomes the mean of the intervals of the writes
//! since the cluster opened its block; until the first write, it stays. Copies have the last class,
//! and so have host writes that take the place of a copy under way, on a drive with a clock: they
//! are in no cluster.
//!
//! At first there is one cluster, class 0, with centre 0. After every `window` blocks of host
//! writes, the clusters are examined. A cluster that had more than half of the writes is split, if
//! a class is free: the lowest free class gets a new centre, half way between the centre below and
//! that of the cluster; if none is below, half way to 0. If nothing was split, the first cluster
//! that had fewer writes than a block has pages is dissolved: its class is free. Its open block
//! stays open, and is filled when the class is used again.
//!
//! Rule: host: the class with the smallest `|centre - interval|`; copy: the last.
//!
//! # Cost
//! A write: one centre per class is read. 16 bytes a logical page, 17 a block.
//!
//! # Source
//! Yang, Pei, Yang, SYSTOR 2019, as Wang, Li, Lee, Li, FAST 2022, simulate it. There a cluster is
//! dissolved when its block is full. Here this happens at once, because a drive opens no block
//! before it has a page for it.

use super::{Class, Now, Place, Placement, PlacementInfo, Remembers, Shape, StreamId};
use flashgc_base::snapshot::{State, Value};
use flashgc_base::spec::{Param, Params};
use flashgc_base::table::{Table, prefetch};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "warcip",
    params: &[
        Param::integer("classes", (2, 32), Some("6"))
            .help("classes: the last one of copies, the others of clusters"),
        Param::integer("window", (1, u32::MAX as u64), Some("256"))
            .help("blocks of host writes after which a cluster is split or dissolved"),
    ],
    source: include_str!("warcip.rs"),
    needs_future: false,
    needs_streams: false,
    remembers: |params, shape| Remembers {
        writes: params.integer("classes")
            * params.integer("window")
            * u64::from(shape.pages_per_block),
        // A centre moves with each block, and the pages that are near it change with it.
        rewrites: 16,
    },
    bytes: |_, shape| Table::<u64>::bytes_for(2 * shape.pages),
    make: Some(|params, shape, _| Box::new(Warcip::new(params, shape))),
};

/// Stands for the last write of a page that was never written.
const NEVER: u64 = u64::MAX;

/// A cluster of similar intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Value)]
struct Cluster {
    is_used: bool,
    centre: f64,
    /// The sum and the number of the intervals since the cluster's open block was opened.
    sum: u64,
    count: u64,
    /// Writes in this window.
    writes: u64,
}

/// The placement policy that the header of this file describes.
#[derive(State)]
struct Warcip {
    /// The clusters, one for each class of host writes.
    #[snapshot(table)]
    clusters: Vec<Cluster>,
    /// Writes that are left of this window.
    left: u64,
    #[snapshot(skip)]
    window: u64,
    #[snapshot(skip)]
    pages_per_block: u64,
    /// Two words for each page: the number of its last write by the host, [`NEVER`] if there is
    /// none, and its penalty.
    #[snapshot(table)]
    notes: Table<u64>,
}

impl Warcip {
    fn new(params: &Params, shape: Shape) -> Self {
        let mut notes = Table::filled(2 * shape.pages, 0);
        notes.iter_mut().step_by(2).for_each(|written| *written = NEVER);
        let pages_per_block = u64::from(shape.pages_per_block);
        let window = params.integer("window") * pages_per_block;
        let mut clusters = vec![Cluster::default(); params.integer("classes") as usize - 1];
        clusters[0].is_used = true;
        Self { clusters, left: window, window, pages_per_block, notes }
    }

    /// The interval of `page` if write `number` of the host goes to it.
    #[inline]
    fn interval(&self, page: u32, number: u64) -> u64 {
        let note = &self.notes[2 * page as usize..][..2];
        if note[0] == NEVER { 0 } else { number - note[0] + note[1] }
    }

    /// Splits or dissolves a cluster at the end of a window.
    fn regroup(&mut self) {
        let crowded = self
            .clusters
            .iter()
            .find(|cluster| cluster.is_used && 2 * cluster.writes > self.window)
            .copied();
        let free = self.clusters.iter().position(|cluster| !cluster.is_used);
        if let (Some(crowded), Some(free)) = (crowded, free) {
            let used = self.clusters.iter().filter(|cluster| cluster.is_used);
            let below =
                used.map(|cluster| cluster.centre).filter(|&centre| centre < crowded.centre);
            let centre = (below.fold(0.0, f64::max) + crowded.centre) / 2.0;
            self.clusters[free] = Cluster { is_used: true, centre, ..Cluster::default() };
        } else {
            let few =
                |cluster: &&mut Cluster| cluster.is_used && cluster.writes < self.pages_per_block;
            if let Some(cluster) = self.clusters.iter_mut().find(few) {
                cluster.is_used = false;
            }
        }
        self.clusters.iter_mut().for_each(|cluster| cluster.writes = 0);
        self.left = self.window;
    }
}

impl Placement for Warcip {
    fn classes(&self) -> usize {
        self.clusters.len() + 1
    }

    fn takes_copies(&self, class: Class) -> bool {
        usize::from(class) == self.clusters.len()
    }

    fn prefetch(&self, page: u32) {
        prefetch(&self.notes, 2 * page as usize);
    }

    #[inline]
    fn host(&self, page: u32, _: Option<StreamId>, _: Option<Place>, now: Now) -> Class {
        let interval = self.interval(page, now.host) as f64;
        let (mut nearest, mut least) = (0, f64::INFINITY);
        for (class, cluster) in self.clusters.iter().enumerate() {
            let distance = (cluster.centre - interval).abs();
            if cluster.is_used && distance <= least {
                (nearest, least) = (class, distance);
            }
        }
        nearest as Class
    }

    fn copy(&self, _: u32, _: Place, _: bool, _: Now) -> Class {
        self.clusters.len() as Class
    }

    #[inline]
    fn wrote(&mut self, page: u32, _: Option<Place>, to: Place, now: Now) {
        let number = now.host - 1;
        let interval = self.interval(page, number);
        self.notes[2 * page as usize..][..2].copy_from_slice(&[number, 0]);
        // A write in place of a copy under way is in no cluster.
        let Some(cluster) = self.clusters.get_mut(usize::from(to.class)) else { return };
        cluster.sum += interval;
        cluster.count += 1;
        cluster.centre = cluster.sum as f64 / cluster.count as f64;
        cluster.writes += 1;
        self.left -= 1;
        if self.left == 0 {
            self.regroup();
        }
    }

    fn trimmed(&mut self, page: u32, _: Place, _: Now) {
        self.notes[2 * page as usize] = NEVER;
    }

    #[inline]
    fn copied(&mut self, page: u32, _: Place, _: Place, now: Now) {
        let note = &mut self.notes[2 * page as usize..][..2];
        if note[0] != NEVER {
            note[1] = now.host - note[0];
        }
    }

    fn opened(&mut self, place: Place, _: Now) {
        if let Some(cluster) = self.clusters.get_mut(usize::from(place.class)) {
            (cluster.sum, cluster.count) = (0, 0);
        }
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

    /// The rule `spec` on blocks of 4 pages.
    fn rule(spec: &str) -> Warcip {
        let spec = PlacementSpec::parse(spec).unwrap();
        Warcip::new(&spec.params, Shape { pages: 100, pages_per_block: 4, ..Shape::default() })
    }

    /// Does write `number`, counted from 0, and returns its class.
    fn write(rule: &mut Warcip, page: u32, number: u64) -> Class {
        let class = rule.host(page, None, None, at(number));
        rule.wrote(page, None, on(class), at(number + 1));
        class
    }

    /// The centres of the clusters that are in use.
    fn centres(rule: &Warcip) -> Vec<Option<f64>> {
        rule.clusters.iter().map(|cluster| cluster.is_used.then_some(cluster.centre)).collect()
    }

    #[test]
    fn a_centre_is_the_mean_of_intervals_since_its_block_was_opened() {
        let mut rule = rule("warcip:classes=4,window=1000");
        for page in [0, 1, 2, 3] {
            write(&mut rule, page, page.into());
        }
        assert_eq!(centres(&rule), [Some(0.0), None, None]);
        // Intervals of 4, of 8 and of 2: means of 4/5, 12/6, 14/7.
        for (page, number, centre) in [(0, 4, 0.8), (1, 9, 2.0), (0, 6, 2.0)] {
            assert_eq!(write(&mut rule, page, number), 0);
            assert_eq!(centres(&rule)[0], Some(centre));
        }
        // The centre stays until the new block has a page. Copies have another class.
        rule.opened(on(0), at(10));
        rule.opened(on(3), at(10));
        assert_eq!(centres(&rule)[0], Some(2.0));
        // Page 2 was written at 2, is copied at 20 and written at 25: an interval of 23 and a
        // penalty of 18.
        rule.copied(2, on(0), on(3), at(12));
        rule.copied(2, on(3), on(3), at(20));
        write(&mut rule, 2, 25);
        assert_eq!(centres(&rule)[0], Some(41.0));
        // The penalty is gone, so the interval is 3.
        write(&mut rule, 2, 28);
        assert_eq!(centres(&rule)[0], Some(22.0));
        // A write in place of a copy does not count for a cluster. A page that was discarded, or
        // has only first contents, has an interval of 0.
        rule.wrote(4, None, on(3), at(29));
        assert_eq!((rule.notes[8], rule.clusters[0].count, rule.left), (28, 2, 3991));
        rule.trimmed(3, on(0), at(30));
        rule.copied(60, on(0), on(3), at(29));
        assert_eq!([3, 60].map(|page| rule.interval(page, 40)), [0, 0]);
        // A write goes to the nearest centre; of two, to the one with the larger number.
        for (cluster, centre) in rule.clusters[1..].iter_mut().zip([2.0, 6.0]) {
            *cluster = Cluster { is_used: true, centre, ..Cluster::default() };
        }
        let mut class = |interval: u64| {
            rule.notes[18] = 40 - interval;
            rule.host(9, None, None, at(40))
        };
        assert_eq!([1, 3, 4, 13, 14, 15].map(&mut class), [1, 1, 2, 2, 2, 0]);
        assert_eq!(rule.copy(9, on(0), false, at(40)), 3);
    }

    #[test]
    fn crowded_clusters_are_split_and_idle_ones_dissolved() {
        // Windows of 8 writes.
        let mut rule = rule("warcip:classes=4,window=2");
        let mut window = |writes: [u64; 3], centres_before: [f64; 3]| {
            for (cluster, (writes, centre)) in
                rule.clusters.iter_mut().zip(writes.into_iter().zip(centres_before))
            {
                (cluster.writes, cluster.centre) = (writes, centre);
            }
            rule.regroup();
            assert!(rule.clusters.iter().all(|cluster| cluster.writes == 0) && rule.left == 8);
            centres(&rule)
        };
        // No centre is below the crowded one, so the new one is half way to 0.
        assert_eq!(window([8, 0, 0], [12.0, 0.0, 0.0]), [Some(12.0), Some(6.0), None]);
        // 5 of 8 writes are more than half. The centre below 12 is 6, so the new one is 9.
        assert_eq!(window([5, 3, 0], [12.0, 6.0, 0.0]), [Some(12.0), Some(6.0), Some(9.0)]);
        // No class is free: class 1 is the first with fewer writes than 4.
        assert_eq!(window([5, 3, 0], [12.0, 6.0, 9.0]), [Some(12.0), None, Some(9.0)]);
        // Half is not more than half, and 4 are not fewer than 4.
        assert_eq!(window([4, 0, 4], [12.0, 6.0, 9.0]), [Some(12.0), None, Some(9.0)]);
        // The lowest free class is used. The centre of an unused class does not count as below.
        assert_eq!(window([1, 0, 7], [2.0, 7.0, 10.0]), [Some(2.0), Some(6.0), Some(10.0)]);
        // The eighth write ends a window.
        (0..7).for_each(|number| assert!(write(&mut rule, 50 + number, number.into()) == 0));
        assert_eq!((rule.left, rule.clusters[0].writes), (1, 7));
        write(&mut rule, 60, 7);
        assert_eq!((rule.left, rule.clusters[0].writes), (8, 0));
    }
}
