//! Every generator draws exactly from the distribution in its documentation. The tests are
//! chi-square tests with fixed seeds against the exact probabilities, which a correct generator
//! fails with a probability of 0.1% each, and moments against closed forms.

use crate::generate_common::{assert_distributed, counts, draw, draw_ops};
use flashgc_workload::Op;
use statrs::function::erf::erf;

const DRAWS: usize = 1_000_000;

#[test]
fn uniform_draws_are_uniform() {
    for pages in [1, 2, 3, 10, 511, 512, 513, 1000, 40_000] {
        let drawn = draw("uniform", pages, 11, DRAWS);
        let exact = vec![1.0 / f64::from(pages); pages as usize];
        assert_distributed(&format!("U = {pages}"), &counts(&drawn, pages), &exact);
    }
}

#[test]
fn uniform_and_class_draws_have_no_bias_from_the_bounded_draw() {
    // With 3 * 2^30 pages, a multiplication without rejection makes page 3k twice as likely as 3k +
    // 1 and 3k + 2. A quarter of all draws must be rejected.
    let thirds = |text: &str, pages: u32, first: u32| {
        let drawn = draw(text, pages, 3, DRAWS);
        let mut counts = [0; 3];
        drawn.iter().filter(|&&p| p >= first).for_each(|p| counts[((p - first) % 3) as usize] += 1);
        assert_distributed(text, &counts, &[1.0 / 3.0; 3]);
    };
    thirds("uniform", 3 << 30, 0);
    // There are 2^30 hot pages and 3 * 2^29 cold ones. Only cold draws are rejected, and this must
    // not change the share of either class.
    let pages = (1 << 30) + (3 << 29);
    thirds("hotcold:f=0.4,r=0.3", pages, 1 << 30);
    let drawn = draw("hotcold:f=0.4,r=0.3", pages, 5, DRAWS);
    let hot = drawn.iter().filter(|&&page| page < 1 << 30).count() as u64;
    assert_distributed("classes", &[hot, DRAWS as u64 - hot], &[0.3, 0.7]);
}

/// Returns the probabilities of two classes, as the documentation of `hotcold` defines them.
fn two_classes(pages: u32, hot: u32, share: f64) -> Vec<f64> {
    (0..pages)
        .map(|page| match page < hot {
            true => share / f64::from(hot),
            false => (1.0 - share) / f64::from(pages - hot),
        })
        .collect()
}

#[test]
fn hot_and_cold_pages_get_their_shares() {
    for (f, r, pages, hot) in [
        (0.2, 0.8, 1000, 200),
        (0.2, 0.8, 7, 1), // 1.4 rounded
        (0.001, 0.999, 5000, 5),
        (0.5, 0.01, 2, 1),
        (0.3, 0.0, 10, 3),
        (0.3, 1.0, 10, 3),
    ] {
        let text = format!("hotcold:f={f},r={r}");
        let drawn = draw(&text, pages, 21, DRAWS);
        assert_distributed(&text, &counts(&drawn, pages), &two_classes(pages, hot, r));
    }
}

#[test]
fn one_class_with_everything_is_uniform() {
    let uniform = draw("uniform", 1000, 1, 5000);
    assert_eq!(draw("hotcold:f=1,r=1", 1000, 1, 5000), uniform);
    assert_eq!(draw("hotcold:f=0,r=0", 1000, 1, 5000), uniform);
}

/// Returns the probabilities of pages in classes that lie one after the other. `all` has the pages
/// and the share of each class.
fn classes(all: &[(u32, f64)]) -> Vec<f64> {
    all.iter().flat_map(|&(n, share)| vec![share / f64::from(n); n as usize]).collect()
}

#[test]
fn classes_get_their_shares_and_pages_of_a_class_are_alike() {
    for (text, exact) in [
        ("pages=1/9/90,shares=60/30/10", classes(&[(10, 0.6), (90, 0.3), (900, 0.1)])),
        // Data at rest at the beginning, in the middle and at the end.
        (
            "pages=1/2/3/4,shares=0/3/0/1",
            classes(&[(100, 0.0), (200, 0.75), (300, 0.0), (400, 0.25)]),
        ),
        ("pages=0.5/0.5,shares=1/0", classes(&[(500, 1.0), (500, 0.0)])),
        // The boundaries are 333.3 and 666.7, rounded.
        ("pages=1/1/1,shares=0.5/0.25/0.25", classes(&[(333, 0.5), (334, 0.25), (333, 0.25)])),
        // A class without pages has no share.
        ("pages=0/7,shares=0/1e-9", classes(&[(1000, 1.0)])),
        ("pages=7,shares=3", classes(&[(1000, 1.0)])),
    ] {
        let text = format!("classes:{text},scatter=no");
        let drawn = draw(&text, 1000, 23, DRAWS);
        assert_distributed(&text, &counts(&drawn, 1000), &exact);
    }
    // The default is hot and cold data.
    let drawn = draw("classes:scatter=no", 1000, 23, DRAWS);
    assert_distributed("default", &counts(&drawn, 1000), &two_classes(1000, 200, 0.8));
    // One page gets half of the draws. The other half goes to 3 * 2^30 pages, of which a draw of 32
    // bits without rejection would favour a third.
    let pages = (3 << 30) + 1;
    let drawn = draw("classes:pages=1/3221225472,shares=1/1,scatter=no", pages, 24, DRAWS);
    let mut found = [0; 4];
    let cell = |page: u32| if page == 0 { 3 } else { (page - 1) % 3 };
    drawn.into_iter().for_each(|page| found[cell(page) as usize] += 1);
    assert_distributed("thirds", &found, &[1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, 0.5]);
}

#[test]
fn scattered_classes_draw_the_same_pages_elsewhere_in_runs() {
    let (pages, run) = (1003, 10);
    let mut place = vec![None; pages as usize];
    for seed in [1, 2] {
        let straight = draw("classes:pages=1/1,shares=2/1,scatter=no", pages, seed, 40_000);
        let text = format!("classes:pages=1/1,shares=2/1,run={run}");
        for (index, page) in straight.into_iter().zip(draw(&text, pages, seed, 40_000)) {
            let place = &mut place[index as usize];
            assert_eq!(*place.get_or_insert(page), page, "page {index} has two places");
            assert_eq!(page % run, index % run, "page {index} leaves its run");
        }
    }
    let mut all: Vec<u32> = place.into_iter().map(|page| page.expect("a page drawn")).collect();
    assert!(all[..1000].chunks(10).all(|run| run.is_sorted_by(|a, b| a + 1 == *b)), "{all:?}");
    assert!(!all.is_sorted(), "nothing was scattered");
    all.sort_unstable();
    assert!(all.into_iter().eq(0..pages), "two pages have one place");
}

#[test]
fn bursts_walk_through_their_class_and_leave_every_page_as_likely() {
    // 4 pages get half of the draws, and 8 pages the others; a burst is 3 pages.
    let drawn = draw("classes:pages=1/2,shares=1/1,scatter=no,burst=3", 12, 25, 3 * DRAWS);
    let (mut found, mut starts) = (vec![0; 12], vec![0; 12]);
    for burst in drawn.chunks_exact(3) {
        let (first, pages) = if burst[0] < 4 { (0, 4) } else { (4, 8) };
        let next = |page: u32| first + (page - first + 1) % pages;
        assert_eq!((burst[1], burst[2]), (next(burst[0]), next(next(burst[0]))), "{burst:?}");
        starts[burst[0] as usize] += 1;
        found[burst[2] as usize] += 1;
    }
    let exact = classes(&[(4, 0.5), (8, 0.5)]);
    assert_distributed("first pages", &starts, &exact);
    assert_distributed("last pages", &found, &exact);
    // If a burst is as long as the class, it has every page once, from any first page.
    let drawn = draw("classes:pages=1,shares=1,scatter=no,burst=7", 7, 1, 700);
    assert!(drawn.chunks(7).all(|burst| (0..7).all(|page| burst.contains(&page))));
}

#[test]
fn windows_move_through_their_classes_by_regions() {
    // There are two classes of 40 and 60 pages. A quarter of each is active: 10 and 15 pages. In
    // 1000 commands both windows move round once, by regions of 5 pages: after t commands by
    // floor(40 t/1000/5) * 5 pages in the first class.
    let text = "windows:pages=2/3,shares=1/3,active=0.25,period=1000,region=5";
    let drawn = draw(text, 100, 27, DRAWS);
    let (mut found, mut in_window) = (vec![0; 100], [vec![0; 10], vec![0; 15]]);
    for (at, page) in drawn.into_iter().enumerate() {
        let (first, pages) = if page < 40 { (0, 40) } else { (40, 60) };
        let begin = (pages * (at as u32 % 1000) / 1000) / 5 * 5;
        let within = (page - first + pages - begin) % pages;
        in_window[usize::from(page >= 40)][within as usize] += 1; // in range only in the window
        found[page as usize] += 1;
    }
    assert_distributed("the first window", &in_window[0], &[0.1; 10]);
    assert_distributed("the second window", &in_window[1], &[1.0 / 15.0; 15]);
    // Over whole periods, all pages of a class are equally likely.
    assert_distributed("whole periods", &found, &classes(&[(40, 0.25), (60, 0.75)]));
    // The active share is the whole class, and then less than a region.
    let whole = draw("windows:pages=1,shares=1,active=1,period=10", 30, 28, DRAWS);
    assert_distributed("active=1", &counts(&whole, 30), &[1.0 / 30.0; 30]);
    let least = draw("windows:pages=1,shares=1,active=0,region=8,period=1000000", 100, 29, 5000);
    assert!(least.iter().all(|&page| page < 8));
}

#[test]
fn the_80_20_rule_gives_its_shares_and_is_uniform_at_50() {
    for (h, pages, low) in [(20.0, 1000, 200), (10.0, 1000, 100), (5.0, 30, 2), (49.9, 1000, 499)] {
        let text = format!("skew:h={h}");
        let drawn = draw(&text, pages, 22, DRAWS);
        let exact = two_classes(pages, low, 1.0 - h / 100.0);
        assert_distributed(&text, &counts(&drawn, pages), &exact);
    }
    for pages in [1, 1000, 1001] {
        assert_eq!(draw("skew:h=50", pages, 1, 5000), draw("uniform", pages, 1, 5000));
    }
}

/// Returns 1^-theta + ... + n^-theta, small terms first.
fn harmonic(n: u32, theta: f64) -> f64 {
    (1..=n).rev().map(|k| f64::from(k).powf(-theta)).sum()
}

#[test]
fn zipf_ranks_have_exactly_their_probabilities() {
    for theta in [0.0, 0.1, 0.5, 0.99, 1.0, 1.2, 3.0, 40.0] {
        for pages in [1, 2, 3, 10, 64, 65, 1000, 1_000_000] {
            let text = format!("zipf:theta={theta},scatter=no");
            let drawn = draw(&text, pages, 31, DRAWS);
            let sum = harmonic(pages, theta);
            let exact: Vec<f64> = (1..=pages).map(|k| f64::from(k).powf(-theta) / sum).collect();
            if pages > 1 && theta < 40.0 {
                assert_distributed(&format!("{text} U={pages}"), &counts(&drawn, pages), &exact);
            }
            // The mean rank is H(U, theta-1) / H(U, theta), and its second moment is H(U, theta-2)
            // / H(U, theta). The mean of the draws must be within 3.3 standard deviations (0.1%) of
            // it.
            let mean = harmonic(pages, theta - 1.0) / sum;
            let variance = harmonic(pages, theta - 2.0) / sum - mean * mean;
            let found = drawn.iter().map(|&p| f64::from(p) + 1.0).sum::<f64>() / DRAWS as f64;
            let deviation = (variance.max(0.0) / DRAWS as f64).sqrt();
            assert!(
                (found - mean).abs() <= 3.3 * deviation + 1e-9,
                "{text} U={pages}: {found} {mean}"
            );
        }
    }
}

#[test]
fn zipf_octaves_and_the_ranks_inside_a_strip_have_exactly_their_probabilities() {
    // A wrong rejection would change the tilt inside a strip (a 32nd of an octave). This is tested
    // for all strips together, by eighths. It would also change the shares of octaves.
    for theta in [0.99, 1.2] {
        let pages = 1u32 << 20;
        let drawn = draw(&format!("zipf:theta={theta},scatter=no"), pages, 32, 8 * DRAWS);
        let weight: Vec<f64> = (0..=pages).map(|k| f64::from(k.max(1)).powf(-theta)).collect();
        let sum: f64 = weight[1..].iter().rev().sum();
        let octaves: Vec<f64> = (0..=20)
            .map(|m| weight[1 << m..(1 << (m + 1)).min(1 + (1 << 20))].iter().sum::<f64>() / sum)
            .collect();
        let (mut found, mut strips) = (vec![0; 21], vec![0u64; 21 * 32]);
        let mut eighths = vec![0; 8];
        for rank in drawn.into_iter().map(|page| page + 1) {
            let octave = rank.ilog2();
            found[octave as usize] += 1;
            if octave >= 8 && rank < pages {
                // Only strips of at least eight ranks count.
                let inside = rank - (1 << octave);
                strips[(octave * 32 + (inside >> (octave - 5))) as usize] += 1;
                eighths[(inside >> (octave - 8)) as usize % 8] += 1;
            }
        }
        assert_distributed(&format!("octaves, theta {theta}"), &found, &octaves);
        let in_strips: u64 = eighths.iter().sum();
        let mut exact = vec![0.0; 8];
        for octave in 8..20 {
            for strip in 0..32 {
                let len = 1usize << (octave - 5);
                let first = (1usize << octave) + strip * len;
                let share = strips[octave * 32 + strip] as f64 / in_strips as f64;
                let all: f64 = weight[first..first + len].iter().sum();
                for (eighth, exact) in exact.iter_mut().enumerate() {
                    let from = first + eighth * len / 8;
                    *exact += share * weight[from..from + len / 8].iter().sum::<f64>() / all;
                }
            }
        }
        assert_distributed(&format!("eighths, theta {theta}"), &eighths, &exact);
    }
}

#[test]
fn zipf_ranks_of_the_shortest_strips_have_exactly_their_probabilities() {
    // Ranks 64 to 127 are in strips of two ranks, so even ranks are compared with odd ones.
    let drawn = draw("zipf:theta=1,scatter=no", 127, 33, 8 * DRAWS);
    let mut found = [0; 2];
    drawn.iter().filter(|&&page| page >= 63).for_each(|page| found[(page + 1) as usize % 2] += 1);
    let sum = |from: u32| (from..128).step_by(2).map(|k| 1.0 / f64::from(k)).sum::<f64>();
    let (even, odd) = (sum(64), sum(65));
    let exact = [even / (even + odd), odd / (even + odd)];
    assert_distributed("parity", &found, &exact);
}

#[test]
fn zipf_with_a_huge_exponent_stays_at_the_first_page() {
    for theta in ["2000", "1e308"] {
        let drawn = draw(&format!("zipf:theta={theta},scatter=no"), 1000, 1, 5000);
        assert!(drawn.iter().all(|&page| page == 0), "{theta}");
    }
}

#[test]
fn zipf_scatters_ranks_over_all_pages_the_same_way_for_every_seed() {
    let pages = 1000;
    let mut place = vec![None; pages as usize];
    for seed in [1, 2] {
        let ranks = draw("zipf:theta=0.2,scatter=no", pages, seed, 20_000);
        let scattered = draw("zipf:theta=0.2,scatter=yes", pages, seed, 20_000);
        for (rank, page) in ranks.into_iter().zip(scattered) {
            let place = &mut place[rank as usize];
            assert_eq!(*place.get_or_insert(page), page, "rank {rank} has two pages");
        }
    }
    let mut all: Vec<u32> = place.into_iter().map(|page| page.expect("a rank drawn")).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..pages), "two ranks have one page");
}

/// Returns the probabilities of pages for the truncated normal. `half` is half the width of the
/// address space in sigmas.
fn normal(pages: u32, half: f64) -> Vec<f64> {
    let cut = |page: u32| {
        let z = half * (2.0 * f64::from(page) / f64::from(pages) - 1.0);
        erf(z / 2f64.sqrt())
    };
    let all = 2.0 * erf(half / 2f64.sqrt());
    (0..pages).map(|page| (cut(page + 1) - cut(page)) / all).collect()
}

/// Shares of hot pages, and half the width of the address space in sigmas for each: the root of
/// erf(hot x / sqrt 2) = (1 - hot) erf(x / sqrt 2), computed by mpmath with 30 digits, and rounded.
const HALF_WIDTHS: &[(f64, f64)] = &[
    (0.01, 257.5829303548901),
    (0.15, 9.59687647292304),
    (0.25, 4.601366937228056),
    (0.35, 2.640585758469795),
    (0.49, 0.5696335825211652),
];

#[test]
fn normal_draws_follow_the_bell_curve_with_the_stated_share() {
    for (hot, half) in HALF_WIDTHS {
        for pages in [1, 2, 7, 1000, 100_000] {
            let text = format!("normal:hot={hot}");
            let drawn = draw(&text, pages, 41, DRAWS);
            let what = format!("{text} U={pages}");
            assert_distributed(&what, &counts(&drawn, pages), &normal(pages, *half));
        }
        // The test counts the draws of the central pages among 200 000 pages.
        let edge = (100_000.0 * (1.0 - hot)).round() as u32;
        let drawn = draw(&format!("normal:hot={hot}"), 200_000, 42, DRAWS);
        let central =
            drawn.iter().filter(|&&page| page >= edge && page < 200_000 - edge).count() as u64;
        let found = [central, DRAWS as u64 - central];
        assert_distributed(&format!("share of {hot}"), &found, &[1.0 - hot, *hot]);
    }
    assert_eq!(draw("normal:hot=0.5", 1000, 1, 5000), draw("uniform", 1000, 1, 5000));
}

#[test]
fn normal_draws_inside_a_strip_follow_the_curve() {
    // With hot = 0.01, the 2048 strips cover the central 16th of the addresses; with 2^18 pages, a
    // strip has 8 pages. All strips are tested together, each from its end near the middle.
    let (hot, half) = HALF_WIDTHS[0];
    let pages = 1u32 << 18;
    let middle = pages / 2;
    let exact = normal(pages, half);
    let mut shares = vec![0.0; 8];
    let mut found = vec![0; 8];
    let eighth = |page: u32| {
        let distance = if page < middle { middle - 1 - page } else { page - middle };
        distance as usize % 8
    };
    for page in draw(&format!("normal:hot={hot}"), pages, 43, 8 * DRAWS) {
        found[eighth(page)] += 1;
    }
    (0..pages).for_each(|page| shares[eighth(page)] += exact[page as usize]);
    assert_distributed("eighths", &found, &shares);
}

#[test]
fn sequential_walks_in_order_and_wraps() {
    assert_eq!(draw("sequential", 5, 1, 12), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]);
    assert_eq!(draw("sequential:start=3", 5, 1, 6), [3, 4, 0, 1, 2, 3]);
    assert_eq!(draw("sequential:start=1,stride=3", 7, 1, 9), [1, 4, 0, 3, 6, 2, 5, 1, 4]);
    assert_eq!(draw("sequential:stride=7", 7, 1, 3), [0, 0, 0]);
    assert_eq!(draw("sequential", 1, 1, 3), [0, 0, 0]);
    let pages = u32::MAX;
    let text = format!("sequential:start={},stride={}", pages - 1, pages - 1);
    assert_eq!(draw(&text, pages, 1, 3), [pages - 1, pages - 2, pages - 3]);
}

#[test]
fn reads_and_trims_get_their_shares_whatever_the_page() {
    let pages = 10;
    let (drawn, ops) = draw_ops("hotcold:f=0.2,r=0.8,read=0.3,trim=0.01", pages, 51, DRAWS);
    let mut found = vec![0; 3 * pages as usize];
    for (page, op) in drawn.into_iter().zip(ops) {
        found[page as usize * 3 + op as usize] += 1;
    }
    let classes = two_classes(pages, 2, 0.8);
    let shares = [(Op::Write, 0.69), (Op::Read, 0.3), (Op::Trim, 0.01)];
    let exact: Vec<f64> = classes
        .iter()
        .flat_map(|class| shares.map(|(op, share)| (op as usize, share * class)))
        .enumerate()
        .map(|(cell, (op, probability))| {
            assert_eq!(cell % 3, op, "cells are in the order of the operations");
            probability
        })
        .collect();
    assert_distributed("operations", &found, &exact);
}

#[test]
fn shares_of_0_and_1_are_exact() {
    assert!(draw_ops("uniform", 10, 1, 10_000).1.is_empty(), "pure writes need no operations");
    // The shares of operations are counted on pages 0 to 4, which belong to the first part. Pages 5
    // to 9 are only written.
    let ops = |shares: &str| {
        let text = format!("0.9*hotcold:f=0.5,r=1,{shares} + 0.1*hotcold:f=0.5,r=0");
        let (pages, ops) = draw_ops(&text, 10, 1, 100_000);
        let (low, high): (Vec<_>, Vec<_>) = pages.into_iter().zip(ops).partition(|one| one.0 < 5);
        assert!(low.len() > 80_000 && high.iter().all(|one| one.1 == Op::Write), "{shares}");
        low.into_iter().map(|one| one.1)
    };
    assert!(ops("read=1").all(|op| op == Op::Read));
    assert!(ops("trim=1").all(|op| op == Op::Trim));
    assert!(ops("read=0.5,trim=0.5").all(|op| op != Op::Write));
}

#[test]
fn parts_of_a_mixture_get_their_weights_and_keep_their_order() {
    // Zipf with a huge exponent always goes to page 0; the sequential part goes there in 1 of 1000
    // commands.
    let pages = 1000;
    let text = "0.7*zipf:theta=1e9,scatter=no + 0.3*sequential:start=1";
    let drawn = draw(text, pages, 61, DRAWS);
    let walked: Vec<u32> = drawn.iter().copied().filter(|&page| page != 0).collect();
    assert!(walked.iter().copied().eq((1..pages).cycle().take(walked.len())), "out of order");
    let found = [walked.len() as u64, (DRAWS - walked.len()) as u64];
    assert_distributed("weights", &found, &[0.3 * 0.999, 0.7 + 0.3 * 0.001]);
}

#[test]
fn operations_of_a_mixture_are_those_of_each_part() {
    let text = "0.5*sequential:start=1,read=1 + 30%*zipf:theta=1e9,scatter=no,trim=0.5 \
                + 0.2*zipf:theta=1e9,scatter=no";
    let (drawn, ops) = draw_ops(text, 1000, 62, DRAWS);
    let mut found = [0; 3];
    for (page, op) in drawn.into_iter().zip(ops) {
        assert!(page == 0 || op == Op::Read, "a {op:?} of the reading part");
        found[op as usize] += 1;
    }
    assert_distributed("operations", &found, &[0.15 + 0.2, 0.5, 0.15]);
}
