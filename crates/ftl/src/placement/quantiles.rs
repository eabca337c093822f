//! Classes of equally many pages: their bounds are quantiles of estimates for a sample of pages.
//!
//! After every `refresh` blocks of host writes, k sampled pages are estimated. Page i of the sample
//! is page `floor((i + x) U/k)`. Here x is a number from 0 to below 1 that looks random and follows
//! from i and the clock. If k would be larger than U, all U pages are sampled. The n estimates are
//! sorted in ascending order and numbered from 0. Class j of C classes begins at estimate `floor(j
//! n/C)`.

use super::window::Windows;
use super::{Class, Now, Shape, draw};
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params};

pub(super) const CLASSES: Param =
    Param::integer("classes", (1, 32), Some("6")).help("classes of equally many pages");
pub(super) const SAMPLE: Param = Param::integer("sample", (1, 1 << 31), Some("1000"))
    .help("pages whose estimates give the bounds of the classes");
pub(super) const REFRESH: Param = Param::integer("refresh", (1, u32::MAX as u64), Some("10"))
    .help("blocks of host writes after which the bounds are computed anew");

/// Distance in sampled pages at which the data of a page are fetched.
const AHEAD: u64 = 16;

/// The bounds of classes.
#[derive(State)]
pub(super) struct Quantiles {
    /// The least estimate of each class but the first; infinite before there are estimates.
    #[snapshot(table)]
    bounds: Vec<f64>,
    /// Host writes from one sample to the next.
    #[snapshot(skip)]
    window: Windows,
    /// Logical pages, and how many of them a sample has.
    #[snapshot(skip)]
    pages: u64,
    #[snapshot(skip)]
    sample: u64,
    /// Buffer for the estimates of a sample.
    #[snapshot(skip)]
    estimates: Vec<f64>,
}

impl Quantiles {
    pub(super) fn new(params: &Params, shape: Shape) -> Self {
        let sample = sample(params, shape);
        Self {
            bounds: vec![f64::INFINITY; params.integer("classes") as usize - 1],
            window: Windows::new(
                (params.integer("refresh") * u64::from(shape.pages_per_block)).max(1),
            ),
            pages: shape.pages as u64,
            sample,
            estimates: Vec::with_capacity(sample as usize),
        }
    }

    /// Bytes that the bounds keep on a drive of this shape.
    pub(super) fn bytes(params: &Params, shape: Shape) -> u64 {
        8 * (params.integer("classes") - 1 + sample(params, shape))
    }

    #[cfg(test)]
    pub(super) fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    pub(super) fn classes(&self) -> usize {
        self.bounds.len() + 1
    }

    /// The class of a page with this estimate.
    #[inline]
    pub(super) fn class(&self, estimate: f64) -> Class {
        self.bounds.iter().filter(|&&bound| bound <= estimate).count() as Class
    }

    /// Returns `true` if the bounds must be computed anew after the last write that `now` counts.
    #[inline]
    pub(super) fn is_due(&mut self, now: Now) -> bool {
        self.window.ends_at(now.host)
    }

    /// Computes the bounds from `estimate`, which returns `None` for a page of which nothing is
    /// known. `fetch` asks for the data of a page that is estimated soon.
    pub(super) fn refresh(
        &mut self,
        now: Now,
        fetch: impl Fn(u32),
        estimate: impl Fn(u32) -> Option<f64>,
    ) {
        let (pages, sample) = (self.pages, self.sample);
        let page = |index: u64| {
            let within = draw(index, now.host);
            ((index as f64 + within) * pages as f64 / sample as f64) as u32
        };
        self.estimates.clear();
        self.estimates.extend((0..sample).filter_map(|index| {
            fetch(page((index + AHEAD).min(sample - 1)));
            estimate(page(index))
        }));
        if self.estimates.is_empty() {
            return;
        }
        let (count, classes) = (self.estimates.len(), self.classes());
        let ranks: Vec<usize> = (1..classes).map(|class| class * count / classes).collect();
        select(&mut self.estimates, 0, &ranks);
        for (rank, bound) in ranks.into_iter().zip(&mut self.bounds) {
            *bound = self.estimates[rank];
        }
    }
}

/// Puts each of `ranks`, in ascending order, to its place among `values`, as sorting would do. The
/// first of `values` has the rank `first`.
fn select(values: &mut [f64], first: usize, ranks: &[usize]) {
    let Some(&middle) = ranks.get(ranks.len() / 2) else { return };
    let at = middle - first;
    let (below, _, above) = values.select_nth_unstable_by(at, f64::total_cmp);
    let lower = ranks.partition_point(|&rank| rank < middle);
    let higher = ranks.partition_point(|&rank| rank <= middle);
    select(below, first, &ranks[..lower]);
    select(above, middle + 1, &ranks[higher..]);
}

fn sample(params: &Params, shape: Shape) -> u64 {
    params.integer("sample").min(shape.pages as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementSpec;
    use std::cell::RefCell;

    fn quantiles(spec: &str, pages: usize) -> Quantiles {
        let spec = PlacementSpec::parse(spec).unwrap();
        Quantiles::new(&spec.params, Shape { pages, pages_per_block: 4, ..Shape::default() })
    }

    #[test]
    fn bounds_are_quantiles_of_what_can_be_estimated() {
        let mut quantiles = quantiles("intervals:classes=3", 10);
        let now = Now::default();
        assert_eq!(
            [0.0, 1e300, f64::INFINITY].map(|estimate| quantiles.class(estimate)),
            [0, 0, 2]
        );
        quantiles.refresh(now, |_| {}, |_| None);
        assert_eq!(quantiles.bounds, [f64::INFINITY; 2]);
        // The estimates are squares of the even pages: 0, 4, 16, 36, 64. Numbers 1 and 3 of them
        // are the bounds.
        quantiles.refresh(now, |_| {}, |page| (page % 2 == 0).then(|| f64::from(page * page)));
        assert_eq!(quantiles.bounds, [4.0, 36.0]);
        let classes = [0.0, 3.9, 4.0, 35.9, 36.0, f64::INFINITY].map(|one| quantiles.class(one));
        assert_eq!(classes, [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_sample_has_a_page_of_each_part_and_every_page_of_a_small_drive() {
        let sampled = |quantiles: &mut Quantiles, host| {
            let pages = RefCell::new(vec![]);
            quantiles.refresh(
                Now { programs: 0, host },
                |_| {},
                |page| {
                    pages.borrow_mut().push(page);
                    None
                },
            );
            pages.into_inner()
        };
        let mut few = quantiles("intervals:sample=10", 1000);
        let (first, again, later) =
            (sampled(&mut few, 8), sampled(&mut few, 8), sampled(&mut few, 9));
        assert_eq!(first, again);
        assert_ne!(first, later);
        for (part, page) in (0..).zip(first) {
            assert_eq!(page / 100, part);
        }
        let mut all = quantiles("intervals:sample=1000", 1000);
        assert_eq!(sampled(&mut all, 8), (0..1000).collect::<Vec<u32>>());
    }
}
