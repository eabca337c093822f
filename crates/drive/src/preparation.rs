//! The writes that bring a drive into its steady state before anything is measured, and the rule
//! that ends them.

use flashgc_base::snapshot::Value;

use crate::settling::{FIRST_LOOK_BEFORE, Reach, SettlingLevel, level, writes_at};
use crate::stats::{Interval, drift, exceeds_chance, halves};
use crate::touched::Touched;

/// The largest half width of an interval of write amplification that is exact enough, as a share of
/// the mean.
const PRECISION: f64 = 0.02;
/// The number of intervals into which a drive write is divided.
const INTERVALS: u64 = 32;

/// The course of the writes before a measured part, on a drive whose pages all have data.
#[derive(Clone, Debug, PartialEq, Value)]
pub struct Preparation {
    /// The number of pages with data.
    pages: u32,
    written: u64,
    intervals: Vec<Interval>,
    touched: Touched,
    /// The number of page writes at which the present half ends.
    due: u64,
    /// The number of page writes at the end of the half before.
    half: u64,
    /// The number of times that a cold page was written in the second half that ended last.
    rewrites: Option<f64>,
}

impl Preparation {
    /// Returns the course of a drive with data in `pages` pages, before its first write.
    pub fn new(pages: u32) -> Self {
        Self {
            pages,
            written: 0,
            intervals: Vec::new(),
            touched: Touched::new(pages),
            due: FIRST_LOOK_BEFORE * u64::from(pages) / 2,
            half: 0,
            rewrites: None,
        }
    }

    /// Returns the course of the writes of `intervals`, whose pages are unknown. It cannot show
    /// that the drive has settled.
    pub fn unseen(pages: u32, intervals: &[Interval]) -> Self {
        let written = intervals.iter().map(|interval| interval.host_pages).sum();
        Self { written, ..Self::new(pages) }
    }

    /// Returns the number of page writes so far, and about the number that is needed to show that
    /// the drive has settled.
    pub fn left(&self, reach: Reach) -> (u64, u64) {
        (self.written, self.needed(reach))
    }

    /// Returns the page writes of an interval.
    pub fn interval(&self) -> u64 {
        u64::from(self.pages).div_ceil(INTERVALS).max(1)
    }

    /// Returns the page writes so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the record of the pages that were written, to which the caller adds.
    pub fn touched(&mut self) -> &mut Touched {
        &mut self.touched
    }

    /// Returns the page writes at the next look.
    pub fn next_look(&self) -> u64 {
        let first = FIRST_LOOK_BEFORE * u64::from(self.pages);
        let looks = (self.written / first).checked_ilog2().map_or(0, |looks| looks + 1);
        writes_at(first, looks + 1)
    }

    /// Adds an interval. Returns `true` if it is time to look whether the drive has settled: after
    /// 5 drive writes, 10, 20 and so on.
    pub fn add(&mut self, interval: Interval) -> bool {
        self.written += interval.host_pages;
        self.intervals.push(interval);
        if self.written < self.due {
            return false;
        }
        let is_second = self.half > 0;
        self.rewrites = self.touched.rewrites();
        (self.half, self.due) = (self.written, 2 * self.due);
        is_second
    }

    /// Returns the number of times that a cold page was written. It is counted in the second half
    /// of the writes before the last look, and scaled to all writes so far. Pages that nobody
    /// writes do not count.
    pub fn rewrites(&self) -> f64 {
        let (times, writes) = match self.rewrites {
            Some(times) => (Some(times), self.half / 2),
            None => (self.touched.rewrites_so_far(), self.written - self.half),
        };
        times.map_or(0.0, |times| times * self.written as f64 / writes.max(1) as f64)
    }

    /// Returns the level of write amplification over the second half; `None` without writes.
    pub fn level(&self) -> Option<SettlingLevel> {
        let (before, after) = halves(&self.intervals);
        level(before, after)
    }

    /// Returns `true` if the drive has settled. Three conditions must hold. A cold page was written
    /// as often as `reach` asks, so the state before the writes counts no more. Write amplification
    /// moves neither within the second half of the writes nor from the quarter before it, and is
    /// known to within 2%.
    pub fn has_settled(&self, reach: Reach) -> bool {
        let is_calm =
            |level: SettlingLevel| !level.moves() && level.half() <= PRECISION * level.mean;
        reach.is_within(self.written, Some(self.rewrites()))
            && self.level().is_some_and(is_calm)
            && !drift(&[halves(&self.intervals).1.to_vec()]).is_some_and(exceeds_chance)
    }

    /// Returns about how many page writes are needed to show that the drive has settled. The number
    /// is larger than that of the page writes so far.
    pub fn needed(&self, reach: Reach) -> u64 {
        let written = self.written.max(1) as f64;
        // Before the first half has ended, the number of rewrites is unknown.
        let first = (2 * FIRST_LOOK_BEFORE * u64::from(self.pages)) as f64 / written;
        let rewrites = self.rewrites();
        let times = if rewrites > 0.0 { reach.rewrites / rewrites } else { first };
        let precision =
            self.level().map_or(1.0, |level| (level.half() / (PRECISION * level.mean)).powi(2));
        // A drive whose amplification moves needs as many writes again.
        let shares = [1.2 * times, 1.5 * precision, 2.0];
        let pages = written * shares.into_iter().fold(0.0, f64::max);
        (pages.ceil() as u64).max(reach.writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashgc_workload::Batch;

    /// The course of a drive whose pages are written in turn, after `drive_writes` drive writes.
    /// `amplification` gives the amplification of each.
    fn prepared(pages: u32, amplification: impl Fn(u64) -> f64, drive_writes: u64) -> Preparation {
        let mut preparation = Preparation::new(pages);
        let each = preparation.interval();
        for number in 0..drive_writes * INTERVALS {
            let pages = (0..each).map(|at| ((number * each + at) % u64::from(pages)) as u32);
            preparation.touched().add(&Batch { pages: pages.collect(), ..Batch::default() });
            let programs = (each as f64 * 1000.0 * amplification(number / INTERVALS)).round();
            let bytes = (each * 1000, programs as u64);
            preparation.add(Interval {
                host_pages: each,
                host_bytes: bytes.0,
                programmed_bytes: bytes.1,
            });
        }
        preparation
    }

    #[test]
    fn a_calm_drive_has_settled_once_its_pages_were_written_often_enough() {
        let reach = |rewrites| Reach { rewrites, writes: 0 };
        let calm = prepared(640, |_| 2.0, 5);
        assert_eq!(calm.written(), 3200);
        let times = calm.rewrites();
        assert!(times > 4.0 && calm.has_settled(reach(times)));
        assert!(!calm.has_settled(reach(times + 0.1)));
        assert_eq!(calm.needed(reach(10.0 * times)), (12.0 * 3200.0) as u64);
        assert_eq!(calm.needed(reach(1.0)), 6400);
        // After one drive write the number of rewrites is not known yet. So `needed` takes twice
        // the writes of the first look, which are 5 drive writes, and adds a fifth: 12 drive
        // writes.
        assert_eq!(prepared(640, |_| 2.0, 1).needed(reach(4.0)), 12 * 640);
        assert!(!calm.has_settled(Reach { rewrites: 4.0, writes: 3201 }));
    }

    #[test]
    fn cold_pages_count_by_the_second_half_and_those_never_written_do_not() {
        let mut rng = flashgc_base::rng::Stream::new(1, "preparation");
        let mut preparation = Preparation::new(40_000);
        let mut looks = Vec::new();
        while preparation.written() < 24 * 40_000 {
            // Half of the pages are never written. A drive write is two writes of each other page.
            let pages = (0..preparation.interval()).map(|_| rng.below(20_000)).collect();
            preparation.touched().add(&Batch { pages, ..Batch::default() });
            let next = preparation.next_look() / 40_000;
            if preparation
                .add(Interval::of_pages(preparation.interval(), 2 * preparation.interval()))
            {
                looks.push(preparation.written() / 40_000);
                assert_eq!(looks.last(), Some(&next));
                let expected = 2.0 * preparation.written() as f64 / 40_000.0;
                assert!(
                    (preparation.rewrites() / expected - 1.0).abs() < 0.1,
                    "{}",
                    preparation.rewrites()
                );
            }
        }
        assert_eq!(looks, [5, 10, 20]);
        // After a look the number follows from that look.
        assert!((preparation.rewrites() / 48.0 - 1.0).abs() < 0.1, "{}", preparation.rewrites());
    }

    #[test]
    fn a_drive_that_moves_has_not_settled() {
        let reach = Reach { rewrites: 4.0, writes: 0 };
        assert!(!prepared(640, |at| 2.0 + 0.05 * at as f64, 8).has_settled(reach));
        // The drive is calm in the second half of a run of 8, but was at another level in the
        // quarter before.
        let after = |at| if at < 4 { 2.5 } else { 2.0 };
        assert!(!prepared(640, after, 8).has_settled(reach));
        assert!(prepared(640, after, 64).has_settled(reach));
    }
}
