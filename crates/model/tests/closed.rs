//! Closed forms compared with known values, and with other forms of the same equations.

use flashgc_model::closed::separation::{self, Cleaner};
use flashgc_model::closed::{Class, Classes, desnoyers, fifo, greedy, random};
use flashgc_model::{Drive, HotCold};
use proptest::prelude::*;

/// Each row has S_f, and the write amplification of FIFO, of greedy for b = 16, 32, 64 and 128, and
/// of Desnoyers' greedy for b = 16 and 64. Separate programs computed the figures (with Lambert's W
/// for FIFO, and a scan of all levels for greedy), to the digits given.
const UNIFORM: [(f64, f64, [f64; 4], [f64; 2]); 6] = [
    (0.03, 16.8367, [8.5773, 11.3148, 13.5058, 14.9669], [8.3316, 13.3928]),
    (0.06, 8.5070, [5.7724, 6.8523, 7.5729, 7.9969], [5.6513, 7.5465]),
    (0.07, 7.3177, [5.1535, 6.0571, 6.6155, 6.9450], [5.1113, 6.6001]),
    (0.10, 5.1787, [3.9814, 4.5082, 4.8213, 4.9922], [3.9863, 4.8159]),
    (0.14, 3.7554, [3.1139, 3.4055, 3.5663, 3.6581], [3.1017, 3.5662]),
    (0.20, 2.6927, [2.3610, 2.5136, 2.5993, 2.6449], [2.3527, 2.5982]),
];

/// Each row has f and r, and the write amplification of FIFO with mixed data, of the best
/// separation with FIFO, and of the best separation with Desnoyers' greedy, for b = 32 and S_f =
/// 0.1. Separate programs computed the figures, to the digits given. The search for the best
/// separation ends a little above the optimum: at 3.1365, rounded to 3.137, instead of 3.136498 in
/// the first row.
const HOT_COLD: [(f64, f64, f64, f64, f64); 4] = [
    (0.2, 0.8, 5.5378, 3.571, 3.137),
    (0.1, 0.9, 6.1676, 2.336, 2.091),
    (0.05, 0.95, 7.0733, 1.612, 1.483),
    (0.01, 0.99, 9.1285, 1.073, 1.043),
];

fn drive(b: u32, spare: f64) -> Drive {
    Drive::new(b, spare).unwrap()
}

fn hot_cold(f: f64, r: f64) -> Classes {
    HotCold::new(f, r).unwrap().into()
}

fn fifo_of(spare: f64, classes: &Classes) -> f64 {
    fifo::write_amplification(spare, classes).unwrap()
}

/// Panics unless `found` agrees with `known` to half a unit of its digit 10^-`digits`.
fn equal(found: f64, known: f64, digits: i32) {
    let unit = 10f64.powi(-digits);
    assert!((found - known).abs() <= 0.5 * unit * (1.0 + 1e-9), "{found} is not {known}");
}

#[test]
fn uniform_writes_give_the_known_values() {
    let uniform = Classes::uniform();
    for (spare, by_fifo, by_greedy, by_desnoyers) in UNIFORM {
        equal(fifo_of(spare, &uniform), by_fifo, 4);
        for (b, known) in [16, 32, 64, 128].into_iter().zip(by_greedy) {
            equal(greedy::solve(&drive(b, spare)).write_amplification, known, 4);
        }
        for (b, known) in [16, 64].into_iter().zip(by_desnoyers) {
            equal(desnoyers::write_amplification(&drive(b, spare), &uniform).unwrap(), known, 4);
        }
    }
    equal(random::write_amplification(0.1), 10.0, 12);
}

#[test]
fn greedy_is_the_papers_number() {
    // The figure for b = 64 and S_f = 0.1 by Bux and Iliadis 2010, from Van Houdt, ValueTools 2013,
    // section 3.4.
    equal(greedy::solve(&drive(64, 0.1)).write_amplification, 4.8213, 4);
}

#[test]
fn hot_and_cold_data_give_the_known_values() {
    for (f, r, mixed, by_fifo, by_greedy) in HOT_COLD {
        let classes = hot_cold(f, r);
        equal(fifo_of(0.1, &classes), mixed, 4);
        let separate = |cleaner| separation::solve(&drive(32, 0.1), &classes, cleaner).unwrap();
        for (cleaner, searched) in [(Cleaner::Fifo, by_fifo), (Cleaner::Desnoyers, by_greedy)] {
            let best = separate(cleaner).write_amplification;
            equal(best + 2.5e-6, searched, 3);
            assert!(best < searched + 0.0005);
        }
    }
}

/// Computes the formula as it is stated: it scans j upwards for 0 <= x < 1.
fn greedy_by_scanning(b: u32, spare: f64) -> f64 {
    let rho = 1.0 - spare;
    let size = f64::from(b);
    let harmonic = |j: u32| (j + 1..=b).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    for j in 1..b {
        let level = f64::from(j);
        let x = (size * rho * harmonic(j) - (size - level)) / (1.0 - size * rho / level);
        if (0.0..1.0).contains(&x) {
            return size / (size - level + x);
        }
    }
    // No level fits: some block is always empty.
    1.0
}

#[test]
fn greedy_finds_the_level_that_a_scan_finds() {
    for b in 4..=256 {
        for spare in [0.01, 0.02, 0.035, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99] {
            let (found, scanned) =
                (greedy::solve(&drive(b, spare)).write_amplification, greedy_by_scanning(b, spare));
            assert!((found / scanned - 1.0).abs() < 1e-9, "b={b} S_f={spare}: {found} {scanned}");
        }
    }
}

#[test]
fn greedy_holds_at_its_edges() {
    // With one page a block, there is always a block without a valid page.
    assert_eq!(greedy::solve(&drive(1, 0.1)).write_amplification, 1.0);
    // b = 2, by hand: D(1) = 1 - rho, D(0) = 2 - 3 rho, so for S_f = 0.1 the level is j = 1 with
    // x = 0.1 / (0.1 + 0.7) and WA = 2 / (1 + 1/8).
    let by_hand = 2.0 / (1.0 + 0.125);
    assert!((greedy::solve(&drive(2, 0.1)).write_amplification - by_hand).abs() < 1e-15);
    // Above S_f = 1 - 1 / H_2 = 1/3 blocks are empty before they are taken.
    assert_eq!(greedy::solve(&drive(2, 0.34)).write_amplification, 1.0);
    let empty = greedy::solve(&drive(2, 0.5)).valid.unwrap();
    assert_eq!(empty, [0.25, 0.5, 0.25], "m_i = rho / i, and the rest has no valid page");
    // With hardly any spare space a collection frees one page.
    let full = greedy::solve(&drive(64, 1e-9)).write_amplification;
    assert!((full / 64.0 - 1.0).abs() < 1e-6, "{full}");
}

#[test]
fn fifo_keeps_its_digits_near_the_branch_point() {
    // psi(v) = S_f / (1 - S_f) is inverted term by term. So WA = alpha / v has the series 1 / (2
    // S_f) + 1 / 6 + S_f / 18 + ... For these S_f the next term is below 1e-13 of WA.
    for spare in [1e-6, 1e-7, 1e-9, 1e-12] {
        let series = 0.5 / spare + 1.0 / 6.0 + spare / 18.0;
        let found = fifo_of(spare, &Classes::uniform());
        assert!((found / series - 1.0).abs() < 1e-12, "S_f={spare}: {found} {series}");
    }
}

#[test]
fn one_class_written_alike_is_no_class() {
    let (uniform, alike) = (Classes::uniform(), hot_cold(0.3, 0.3));
    let zipf = Classes::zipf(0.0, 1 << 20).unwrap();
    assert!(alike.is_uniform() && zipf.is_uniform() && !hot_cold(0.2, 0.8).is_uniform());
    for spare in [0.01, 0.1, 0.5, 0.9] {
        let one = fifo_of(spare, &uniform);
        for same in [&alike, &zipf] {
            assert!((fifo_of(spare, same) / one - 1.0).abs() < 1e-13);
        }
    }
}

#[test]
fn zipf_has_converged_in_its_classes() {
    for pages in [1000, 1 << 20, 1 << 32] {
        for theta in [0.5, 0.8, 0.99, 1.0, 1.2] {
            let zipf = Classes::zipf(theta, pages).unwrap();
            let finer =
                Classes::zipf_in(theta, pages, 4 * flashgc_model::closed::classes::ZIPF_CLASSES)
                    .unwrap();
            for spare in [0.03, 0.1, 0.3] {
                let (coarse, fine) = (fifo_of(spare, &zipf), fifo_of(spare, &finer));
                assert!(
                    (coarse / fine - 1.0).abs() < 1e-6,
                    "{pages} pages, theta {theta}, S_f {spare}: {coarse} {fine}"
                );
            }
        }
    }
}

#[test]
fn zipf_of_few_pages_is_the_sum_over_them() {
    for theta in [0.5, 0.99, 1.0, 2.0] {
        let weights: Vec<f64> = (1..=200).map(|k| f64::from(k).powf(-theta)).collect();
        let total: f64 = weights.iter().sum();
        let each =
            weights.iter().map(|weight| Class { pages: 1.0 / 200.0, writes: weight / total });
        let (one_by_one, binned) =
            (Classes::new(each).unwrap(), Classes::zipf(theta, 200).unwrap());
        let ratio = fifo_of(0.1, &binned) / fifo_of(0.1, &one_by_one);
        assert!((ratio - 1.0).abs() < 1e-13, "{theta}: {ratio}");
    }
}

#[test]
fn no_other_division_of_the_spare_space_writes_less() {
    // Divisions around the optimum of two and of three classes, and a grid of all divisions of two.
    let three = Classes::new([
        Class { pages: 0.05, writes: 0.6 },
        Class { pages: 0.25, writes: 0.3 },
        Class { pages: 0.7, writes: 0.1 },
    ])
    .unwrap();
    for classes in [hot_cold(0.2, 0.8), hot_cold(0.01, 0.99), three] {
        for cleaner in [Cleaner::Fifo, Cleaner::Greedy, Cleaner::Desnoyers] {
            for spare in [0.02, 0.1, 0.4] {
                let best = separation::solve(&drive(64, spare), &classes, cleaner).unwrap();
                assert!(best.residual < 1e-12, "{cleaner:?} {spare}: {}", best.residual);
                let excess: Vec<f64> =
                    best.pools.iter().map(|pool| pool.spare / (1.0 - pool.spare)).collect();
                let given = written(&classes, &excess, cleaner);
                assert!((given.max(1.0) / best.write_amplification - 1.0).abs() < 1e-12);
                for (from, to) in [(0, 1), (1, 0), (classes.len() - 1, 0), (0, classes.len() - 1)] {
                    for share in [1e-4, 1e-3, 1e-2, 0.1, 0.5] {
                        let mut other = excess.clone();
                        let moved = share * other[from] * classes[from].pages;
                        other[from] -= moved / classes[from].pages;
                        other[to] += moved / classes[to].pages;
                        let worse = written(&classes, &other, cleaner);
                        assert!(worse >= given * (1.0 - 1e-12), "{cleaner:?} {spare} {from} {to}");
                    }
                }
                if classes.len() == 2 {
                    let total = spare / (1.0 - spare);
                    for step in 1..2000 {
                        let hot = f64::from(step) / 2000.0;
                        let parts = [
                            hot * total / classes[0].pages,
                            (1.0 - hot) * total / classes[1].pages,
                        ];
                        assert!(written(&classes, &parts, cleaner) >= given * (1.0 - 1e-12));
                    }
                }
            }
        }
    }
}

/// Returns the page programs for each host write of pools with these alpha_k - 1, from the models
/// of uniform writes.
fn written(classes: &Classes, excess: &[f64], cleaner: Cleaner) -> f64 {
    classes
        .iter()
        .zip(excess)
        .map(|(class, excess)| {
            let spare = excess / (1.0 + excess);
            if spare == 0.0 {
                return class.writes * 64.0;
            }
            let uniform = Classes::uniform();
            class.writes
                * match cleaner {
                    Cleaner::Fifo => fifo_of(spare, &uniform),
                    Cleaner::Greedy => greedy::solve(&drive(64, spare)).write_amplification,
                    // The formula as it stands, also where it is below 1.
                    Cleaner::Desnoyers => {
                        let k = 1.0 + 0.5 / 64.0;
                        fifo_of(1.0 - (1.0 - spare) / k, &uniform) / k
                    }
                }
        })
        .sum()
}

#[test]
fn uniform_data_gain_nothing_from_separation() {
    for cleaner in [Cleaner::Fifo, Cleaner::Greedy] {
        for spare in [0.05, 0.1, 0.3, 0.95] {
            let separate = separation::solve(&drive(64, spare), &hot_cold(0.3, 0.3), cleaner);
            let mixed = match cleaner {
                Cleaner::Fifo => fifo_of(spare, &Classes::uniform()),
                _ => greedy::solve(&drive(64, spare)).write_amplification,
            };
            let ratio = separate.unwrap().write_amplification / mixed;
            assert!((ratio - 1.0).abs() < 1e-9, "{cleaner:?} {spare}: {ratio}");
        }
    }
}

#[test]
fn data_at_rest_take_no_spare_space() {
    // Half of the pages are never written. The others get all the spare space: alpha_k - 1 = 2
    // (alpha - 1).
    let classes = [Class { pages: 0.5, writes: 0.0 }, Class { pages: 0.5, writes: 1.0 }];
    let classes = Classes::new(classes).unwrap();
    for spare in [0.01, 0.1, 0.3] {
        let excess = 2.0 * spare / (1.0 - spare);
        let alone = excess / (1.0 + excess);
        for (cleaner, written) in [
            (Cleaner::Fifo, fifo_of(alone, &Classes::uniform())),
            (Cleaner::Greedy, greedy::solve(&drive(64, alone)).write_amplification),
        ] {
            let best = separation::solve(&drive(64, spare), &classes, cleaner).unwrap();
            let ratio = best.write_amplification / written;
            assert!((ratio - 1.0).abs() < 1e-12, "{cleaner:?} {spare}: {ratio}");
            assert!(best.pools[0].spare.abs() < 1e-12 && best.residual < 1e-12);
        }
    }
}

#[test]
fn more_spare_space_than_gains_anything_is_divided_too() {
    for spare in [0.9, 0.999, 0.999_999] {
        for cleaner in [Cleaner::Fifo, Cleaner::Greedy, Cleaner::Desnoyers] {
            let best = separation::solve(&drive(64, spare), &hot_cold(0.2, 0.8), cleaner).unwrap();
            assert!(best.residual < 1e-12, "{cleaner:?} {spare}: {}", best.residual);
            assert!((1.0..1.01).contains(&best.write_amplification));
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let text = |result: Result<Classes, flashgc_model::ModelError>| result.unwrap_err().to_string();
    assert!(text(Classes::new([])).contains("sum to 0, expected 1"));
    let half = Class { pages: 0.5, writes: 1.0 };
    assert!(text(Classes::new([half])).contains("pages that sum to 0.5"));
    assert!(text(Classes::new([Class { pages: 0.0, writes: 1.0 }])).contains("class 0"));
    assert!(text(Classes::new([Class { pages: 1.0, writes: f64::NAN }])).contains("writes"));
    assert!(text(Classes::zipf(-1.0, 10)).contains("theta: found -1"));
    assert!(text(Classes::zipf(f64::NAN, 10)).contains("theta: found NaN"));
    assert!(text(Classes::zipf(1.0, 0)).contains("pages: found 0"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn equations_are_solved_to_the_last_digits(
        spare in prop_oneof![
            1e-3f64..0.999,
            (-6f64..0.0).prop_map(|exponent| 10f64.powf(exponent).min(0.999)),
        ],
        b in 1u32..=512,
        f in 1e-4f64..0.9999,
        r in 1e-4f64..0.9999,
    ) {
        let drive = drive(b, spare);
        let alpha = 1.0 / (1.0 - spare);
        for classes in [Classes::uniform(), hot_cold(f, r)] {
            let solved = fifo::solve(&drive, &classes).unwrap();
            prop_assert!(solved.residual < 1e-13, "{}", solved.residual);
            // The equation as Desnoyers writes it.
            let wa = solved.write_amplification;
            let right: f64 = classes
                .iter()
                .map(|k| k.writes / (k.rate() * alpha / wa).exp_m1())
                .sum();
            prop_assert!(((1.0 + right) / wa - 1.0).abs() < 1e-12);
            prop_assert!(wa >= 1.0 && wa <= random::write_amplification(spare) * (1.0 + 1e-12));
            let near = desnoyers::solve(&drive, &classes).unwrap();
            prop_assert!(near.residual < 1e-12, "{}", near.residual);
            prop_assert!((1.0..=wa).contains(&near.write_amplification));
        }
        let solved = greedy::solve(&drive);
        prop_assert!(solved.residual < 1e-11, "{}", solved.residual);
        prop_assert!(solved.write_amplification <= fifo_of(spare, &Classes::uniform()) * (1.0 + 1e-12));
    }

    #[test]
    fn distributions_are_those_of_a_drive_in_balance(
        spare in 1e-3f64..0.99,
        b in 1u32..=300,
    ) {
        let drive = drive(b, spare);
        let uniform = Classes::uniform();
        for solved in [fifo::solve(&drive, &uniform).unwrap(), greedy::solve(&drive), random::solve(&drive, &uniform)] {
            let (valid, victim) = (solved.valid.unwrap(), solved.victim.unwrap());
            let mean = |shares: &[f64]| shares.iter().enumerate().map(|(i, m)| i as f64 * m).sum::<f64>();
            prop_assert!((valid.iter().sum::<f64>() - 1.0).abs() < 1e-11);
            prop_assert!((victim.iter().sum::<f64>() - 1.0).abs() < 1e-11);
            prop_assert!(valid.iter().chain(&victim).all(|share| *share >= 0.0));
            // Blocks hold the host's pages. Copies are the valid pages of victims.
            let size = f64::from(b);
            prop_assert!((mean(&valid) / (size * (1.0 - spare)) - 1.0).abs() < 1e-10);
            let copies = mean(&victim);
            prop_assert!((size / (size - copies) / solved.write_amplification - 1.0).abs() < 1e-8);
        }
    }

    #[test]
    fn more_spare_space_never_writes_more(
        spare in 1e-5f64..0.998,
        factor in 1e-6f64..1.0,
        b in 1u32..=512,
        f in 1e-3f64..0.999,
        r in 1e-3f64..0.999,
    ) {
        let more = spare + factor * (0.999 - spare);
        let (less, more) = (drive(b, spare), drive(b, more));
        let rounding = 1.0 + 1e-12;
        let classes = hot_cold(f, r);
        prop_assert!(fifo_of(more.spare(), &classes) <= fifo_of(less.spare(), &classes) * rounding);
        prop_assert!(
            greedy::solve(&more).write_amplification
                <= greedy::solve(&less).write_amplification * rounding
        );
        for cleaner in [Cleaner::Fifo, Cleaner::Greedy] {
            let written = |drive| separation::solve(drive, &classes, cleaner).unwrap().write_amplification;
            prop_assert!(written(&more) <= written(&less) * rounding);
        }
    }
}

/// A class has a share above 0 of the pages, and a share from 0 to 1 of the writes.
#[test]
fn a_class_may_have_all_pages_and_all_or_none_of_the_writes() {
    let class = |pages, writes| Class { pages, writes };
    assert_eq!(Classes::new([class(1.0, 1.0)]).unwrap(), Classes::uniform());
    assert_eq!(Classes::new([class(0.5, 1.0), class(0.5, 0.0)]).unwrap().len(), 2);
    let refused = |classes: [Class; 2]| Classes::new(classes).unwrap_err().to_string();
    let found = refused([class(0.5, 0.5), class(1.5, 0.5)]);
    assert!(found.contains("class 1: found a share 1.5 of the pages"), "{found}");
    let found = refused([class(1.25, 0.5), class(-0.25, 0.5)]);
    assert!(found.contains("class 0: found a share 1.25 of the pages"), "{found}");
    let found = refused([class(1.0, 0.5), class(0.0, 0.5)]);
    assert!(found.contains("class 1: found a share 0 of the pages"), "{found}");
    let found = refused([class(0.5, 1.5), class(0.5, -0.5)]);
    assert!(found.contains("class 0: found a share 1.5 of the writes"), "{found}");
}
