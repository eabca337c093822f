//! The places of pages in the steady state of uniform writes.
//!
//! While the host writes uniformly, the pages of a block die at a constant rate, so the validity
//! of a block falls exponentially with its age, down to that of the next victim. With c as the
//! exponent of the oldest block, the mean validity is (1 - exp(-c)) / c. It must be the share of
//! the slots that have a page, which gives c. The amplification of the first collections is then
//! 1 / (1 - exp(-c)).
//!
//! The regions of equal size are those of SPRandom (fio, `sprandom.c`), which takes an estimate of
//! the amplification in place of the equation.

use flashgc_base::rng::Stream;

use crate::geometry::UNMAPPED;

/// The regions of a plane with enough slots. The pages of a region are equally old.
const REGIONS: usize = 100;

/// Spreads the first `pages` of `slots` over all slots. The slots are in the order of writes, the
/// oldest first.
pub(super) fn spread(slots: &mut [u32], pages: usize, rng: &mut Stream) {
    shuffle(&mut slots[..pages], rng);
    let ends = ends(slots.len(), pages);
    // From the youngest region on, pages move to slots that are never before their own.
    for pair in ends.windows(2).rev() {
        let [(from, first), (to, last)] = [pair[0], pair[1]];
        slots.copy_within(first..last, from);
        slots[from + (last - first)..to].fill(UNMAPPED);
        shuffle(&mut slots[from..to], rng);
    }
}

/// Shuffles `slots` by the rule of Fisher and Yates.
pub(super) fn shuffle(slots: &mut [u32], rng: &mut Stream) {
    for index in (1..slots.len()).rev() {
        slots.swap(index, rng.below(index as u32 + 1) as usize);
    }
}

/// Returns the bounds of the regions of `slots` slots with `pages` pages, from the oldest region
/// on: the slots before each bound, and the pages in these slots.
fn ends(slots: usize, pages: usize) -> Vec<(usize, usize)> {
    let regions = REGIONS.min(slots).max(1);
    let c = exponent(pages as f64 / slots.max(1) as f64);
    let before = |slot: usize| {
        let share = slot as f64 / slots.max(1) as f64;
        match c > 0.0 {
            true => pages as f64 * ((-c * (1.0 - share)).exp() - (-c).exp()) / (1.0 - (-c).exp()),
            false => pages as f64 * share,
        }
    };
    let bound = |region: usize| slots * region / regions;
    (0..=regions).map(|region| (bound(region), before(bound(region)).round() as usize)).collect()
}

/// Returns c of the mean validity `mean` = (1 - exp(-c)) / c, by bisection. It is 0 if all pages
/// are valid.
fn exponent(mean: f64) -> f64 {
    if mean <= 0.0 || mean > 1.0 - 1e-9 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0 / mean);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match (1.0 - f64::exp(-middle)) / middle > mean {
            true => low = middle,
            false => high = middle,
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The validity of each region by the rule of SPRandom: validities in even steps from 1 to v,
    /// each on a share of the blocks that goes as 1 / validity, laid out from the oldest on.
    fn naive(v: f64) -> Vec<f64> {
        let steps = 1_000_000;
        let validities: Vec<f64> = (0..steps)
            .map(|step| v + (1.0 - v) * (f64::from(step) + 0.5) / f64::from(steps))
            .collect();
        let all: f64 = validities.iter().map(|validity| 1.0 / validity).sum();
        let (mut sums, mut at) = (vec![0.0; REGIONS], 0.0);
        for validity in validities {
            let share = 1.0 / validity / all;
            sums[((at * REGIONS as f64) as usize).min(REGIONS - 1)] += share * validity;
            at += share;
        }
        sums.iter().map(|sum| sum * REGIONS as f64).collect()
    }

    #[test]
    fn the_regions_have_the_validities_of_the_rule() {
        let (slots, pages) = (10_000_000, 8_700_000);
        let v = (-exponent(0.87)).exp();
        let ends = ends(slots, pages);
        assert_eq!((ends[0], ends[REGIONS]), ((0, 0), (slots, pages)));
        for (pair, expected) in ends.windows(2).zip(naive(v)) {
            let validity = (pair[1].1 - pair[0].1) as f64 / (pair[1].0 - pair[0].0) as f64;
            assert!((validity - expected).abs() < 2e-4, "{validity} {expected}");
        }
    }

    #[test]
    fn every_page_has_one_slot_and_no_region_overflows() {
        for (slots, pages) in [(1, 1), (7, 7), (64, 1), (250, 0), (999, 998), (1000, 500)] {
            let mut places = vec![UNMAPPED; slots];
            (0..pages).for_each(|page| places[page] = page as u32);
            spread(&mut places, pages, &mut Stream::new(1, "test"));
            let mut found: Vec<u32> = places.into_iter().filter(|&page| page != UNMAPPED).collect();
            found.sort_unstable();
            assert!(found.into_iter().eq(0..pages as u32), "{slots} {pages}");
        }
    }
}
