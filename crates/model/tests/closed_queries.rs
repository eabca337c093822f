//! Models by name: parameters are checked as they are set, and models are solved for a parameter.

use flashgc_model::closed::separation::Cleaner;
use flashgc_model::closed::{Classes, fifo, greedy};
use flashgc_model::inverse::{choices_within, spare_for};
use flashgc_model::meanfield::Frontier;
use flashgc_model::query::{Kept, Number, Query, Workload};
use flashgc_model::registry::{ModelInfo, models};
use flashgc_model::{Drive, HotCold};

fn model(name: &str) -> &'static ModelInfo {
    models().iter().find(|info| info.name == name).unwrap()
}

fn asked(numbers: &[(Number, f64)]) -> Query {
    let mut query = Query::default();
    for &(number, value) in numbers {
        query.set(number, value).unwrap();
    }
    query
}

fn hot_and_cold() -> Query {
    let mut query = Query::default();
    query.workload = Workload::HotCold;
    query
}

#[test]
fn every_model_is_documented() {
    for info in models() {
        for section in ["//! # Valid for\n", "//! # Source\n"] {
            assert!(info.source.contains(section), "{}: {section}", info.name);
        }
        let formula = ["//! Formula: ", "//! ```text"].iter().any(|of| info.source.contains(of));
        assert!(formula, "{}", info.name);
        assert!(info.source.starts_with("//! "), "{}", info.name);
    }
}

#[test]
fn the_short_answer_is_the_long_ones() {
    let hot_cold = hot_and_cold();
    for info in models() {
        for query in [Query::default(), asked(&[(Number::Spare, 0.3)]), hot_cold.clone()] {
            let mut kept = Kept::default();
            let long = info.answer(&query, &mut kept).map(|answer| answer.write_amplification);
            let short = info.write_amplification(&query, &mut kept);
            assert_eq!(short, long, "{}", info.name);
            // The answer is the same with the kept results.
            assert_eq!(info.write_amplification(&query, &mut kept), long, "{}", info.name);
        }
    }
}

#[test]
fn what_is_kept_follows_the_numbers() {
    let mut kept = Kept::default();
    let mut query = hot_and_cold();
    for (f, r) in [(0.2, 0.8), (0.1, 0.9), (0.2, 0.8)] {
        query.set(Number::F, f).unwrap();
        query.set(Number::R, r).unwrap();
        let classes: Classes = HotCold::new(f, r).unwrap().into();
        let fresh = fifo::write_amplification(0.1, &classes).unwrap();
        assert_eq!(model("fifo").write_amplification(&query, &mut kept).unwrap(), fresh);
    }
    // The pools of a separation depend on the classes, the size of a block and the cleaner.
    let mut kept = Kept::default();
    for (f, b) in [(0.2, 64.0), (0.2, 32.0), (0.1, 32.0), (0.1, 64.0), (0.2, 64.0)] {
        query.set(Number::F, f).unwrap();
        query.set(Number::PagesPerBlock, b).unwrap();
        for cleaner in [Cleaner::Fifo, Cleaner::Greedy] {
            query.cleaner = cleaner;
            let fresh = model("separation").write_amplification(&query, &mut Kept::default());
            assert_eq!(model("separation").write_amplification(&query, &mut kept), fresh);
        }
    }
    // The pages of a Zipf distribution depend on the size of the drive.
    let zipf = |blocks: f64| {
        let mut query = asked(&[(Number::Blocks, blocks)]);
        query.workload = Workload::Zipf;
        query
    };
    let (small, large) = (zipf(100.0), zipf(1e6));
    assert_eq!(small.pages(), 5760); // 0.9 of 100 blocks of 64 pages
    let first = model("fifo").write_amplification(&small, &mut kept).unwrap();
    let second = model("fifo").write_amplification(&large, &mut kept).unwrap();
    assert!((first - second).abs() > 0.1, "{first} {second}");
}

#[test]
fn numbers_are_checked_as_they_are_set() {
    for (number, value, part) in [
        (Number::Spare, 0.0, "spare: found 0, expected more than 0 and less than 1"),
        (Number::Spare, 1.0, "spare: found 1, expected more than 0 and less than 1"),
        (Number::Spare, f64::NAN, "spare: found NaN"),
        (Number::PagesPerBlock, 0.0, "pages per block: found 0, expected a whole number from 1"),
        (Number::PagesPerBlock, 2.5, "pages per block: found 2.5, expected a whole number"),
        (Number::PagesPerBlock, 1e9, "pages per block: found 1000000000, expected"),
        (Number::PagesPerBlock, f64::INFINITY, "pages per block: found inf"),
        (Number::D, 0.0, "d: found 0, expected a whole number from 1"),
        (Number::C, 65.0, "c: found 65, expected a whole number from 0 to 64"),
        (Number::C, -1.0, "c: found -1"),
        (Number::Window, 1.5, "window: found 1.5, expected 0 to 1"),
        (Number::F, 1.0, "f=1"),
        (Number::R, -0.1, "r=-0.1"),
        (Number::Theta, -1.0, "theta: found -1"),
        (Number::Blocks, 0.0, "blocks: found 0"),
    ] {
        let error = Query::default().set(number, value).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("; hint: "), "{error}");
    }
}

#[test]
fn a_model_says_what_it_does_not_hold_for() {
    let mut query = hot_and_cold();
    query.frontier = Frontier::Double;
    let refused = |name, query: &Query| {
        model(name).answer(query, &mut Kept::default()).unwrap_err().to_string()
    };
    let error = refused("desnoyers", &query);
    assert!(error.contains("double frontier with hot and cold data"), "{error}");
    for name in ["fifo", "random", "meanfield", "greedy"] {
        assert!(model(name).answer(&query, &mut Kept::default()).is_ok(), "{name}");
    }
    assert!(refused("windowed", &query).contains("uniform writes"));
    query.workload = Workload::Zipf;
    for name in ["meanfield", "greedy"] {
        assert!(refused(name, &query).contains("found zipf"));
    }
    query.workload = Workload::Uniform;
    for info in models() {
        assert!(info.answer(&query, &mut Kept::default()).is_ok(), "{}", info.name);
    }
}

#[test]
fn the_spare_factor_for_fifo_is_its_explicit_inverse() {
    for wanted in [1.001, 1.5, 3.0, 5.178_659_422_149_825, 40.0, 1000.0] {
        // WA = 1 / (1 - exp(-v)) and alpha = WA v.
        let v = -f64::ln_1p(-1.0 / wanted);
        let explicit = 1.0 - 1.0 / (wanted * v);
        let found = spare_for(model("fifo"), &Query::default(), wanted).unwrap();
        assert!((found / explicit - 1.0).abs() < 1e-11, "{wanted}: {found} {explicit}");
    }
}

#[test]
fn the_spare_factor_gives_what_was_wanted() {
    let mut query = Query::default();
    for name in ["greedy", "random", "desnoyers", "separation", "meanfield"] {
        for wanted in [1.5, 4.0, 9.0] {
            let spare = spare_for(model(name), &query, wanted).unwrap();
            query.set(Number::Spare, spare).unwrap();
            let given = model(name).write_amplification(&query, &mut Kept::default()).unwrap();
            assert!((given / wanted - 1.0).abs() < 1e-9, "{name} {wanted}: {given}");
        }
    }
}

#[test]
fn what_no_spare_factor_gives_is_said_with_the_range() {
    // A collection of a block of 64 pages frees one page at least: WA is below 64.
    let error = spare_for(model("greedy"), &Query::default(), 64.5).unwrap_err().to_string();
    assert!(error.contains("expected at most 63.99"), "{error}");
    for wanted in [1.0, 0.5, f64::NAN] {
        let error = spare_for(model("greedy"), &Query::default(), wanted).unwrap_err().to_string();
        assert!(error.contains("expected more than 1"), "{error}");
    }
}

#[test]
fn the_fewest_choices_are_just_enough() {
    for (b, spare) in [(16, 0.05), (64, 0.1), (128, 0.2)] {
        let drive = Drive::new(b, spare).unwrap();
        let limit = 1.01 * greedy::solve(&drive).write_amplification;
        for c in [0.0, 1.0, 2.0, 5.0] {
            let numbers =
                [(Number::PagesPerBlock, f64::from(b)), (Number::Spare, spare), (Number::C, c)];
            let query = asked(&numbers);
            let least = choices_within(model("meanfield"), &query, 0.01, 10_000).unwrap().unwrap();
            let written = |d: u32| {
                let mut query = query.clone();
                query.set(Number::D, d.into()).unwrap();
                model("meanfield").write_amplification(&query, &mut Kept::default()).unwrap()
            };
            assert!(written(least) <= limit && written(least - 1) > limit, "{b} {spare} {c}");
        }
    }
    let query = Query::default();
    assert_eq!(choices_within(model("meanfield"), &query, 1e-9, 1000).unwrap(), None);
    assert_eq!(choices_within(model("meanfield"), &query, 10.0, 1000).unwrap(), Some(1));
    assert!(choices_within(model("meanfield"), &query, 0.0, 1000).is_err());
}
