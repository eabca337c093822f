//! Lifetimes: the part of a result about drives whose blocks wear out, and about their busy time.

use std::sync::Arc;

use flashgc_drive::counting::CountingDrive;
use flashgc_drive::extent::{Extent, Length, Unit};
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::RunConfig;
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_ftl::{
    Allocation, EndOfLife, Endurance, Frontier, Geometry, Layout, Lifespan, VictimSpec,
};
use flashgc_workload::generate::GeneratorSpec;

const TIMES: &str = "read=60us,program=800us,erase=1.5ms";

fn config() -> RunConfig {
    RunConfig {
        blocks: Some(200),
        pages_per_block: Some(16),
        spare: 0.15,
        victim: "greedy".into(),
        frontier: "pool:low=10".into(),
        allocation: "sfl".into(),
        endurance: Some("normal:mean=60,cv=0.1".into()),
        times: Some(TIMES.into()),
        workload: "hotcold:f=0.1,r=0.9".into(),
        warmup: "0".into(),
        length: Length::Until("system-failure".into()),
        runs: 3,
        seed: 7,
        ..RunConfig::default()
    }
}

fn run(config: &RunConfig, threads: usize) -> RunResult {
    let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
    let resolved = Resolved::new(config, source, None).unwrap();
    simulate(&[resolved], threads, &Control::default(), &mut || {}, &|_, _| (), None)
        .unwrap()
        .remove(0)
}

fn fault(change: impl Fn(&mut RunConfig)) -> String {
    let mut config = config();
    change(&mut config);
    let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
    Resolved::new(&config, source, None).err().expect("it is wrong").to_string()
}

#[test]
fn a_life_adds_up() {
    let result = run(&config(), 0);
    let (wear, lifetime) = (result.wear.as_ref().unwrap(), result.lifetime.as_ref().unwrap());
    let first = lifetime.first_failure.as_ref().unwrap();
    let end = lifetime.system_failure.as_ref().unwrap();
    assert_eq!((first.runs, end.runs, end.run_values.len()), (3, 3, 3));
    assert_eq!(lifetime.reserve_used_up + lifetime.pool_ran_dry, 3);
    assert!(first.drive_writes < end.drive_writes && first.bad_blocks == 1.0);
    // 200 blocks with 15% spare need 170 for the logical pages; the pool frontier keeps 12.
    assert_eq!(lifetime.reserve_blocks, 18);
    // Without a warm-up, all counts cover the whole run.
    let (runs, blocks, pages) = (3.0, 200.0, 170.0 * 16.0);
    assert_eq!(result.counters.host_pages as f64, end.host_pages * runs);
    assert_eq!(result.counters.erases as f64, end.erases * runs);
    assert!((wear.erases.mean - end.erases / blocks).abs() < 1e-9);
    assert!((end.drive_writes - end.host_pages / pages).abs() < 1e-9);
    assert!((end.terabytes_written - end.host_pages * 4096.0 / 1e12).abs() < 1e-15);
    assert!((end.drive_writes_per_day - end.drive_writes / (5.0 * 365.0)).abs() < 1e-12);
    // The busy times are 800 us a host page, 860 us a copy, and 1.5 ms an erase.
    let busy = result.busy.as_ref().unwrap();
    let copies =
        860e-6 * result.counters.copied_pages as f64 + 1.5e-3 * result.counters.erases as f64;
    let total = 800e-6 * result.counters.host_pages as f64 + copies;
    assert!((busy.total_seconds / total - 1.0).abs() < 1e-12, "{busy:?}");
    assert!((end.busy_seconds.unwrap() * runs / total - 1.0).abs() < 1e-12);
    let collection = copies * 1e6 / result.counters.collections as f64;
    assert!((busy.mean_collection_us.unwrap() / collection - 1.0).abs() < 1e-12);
    // There are no more erases than the blocks can bear: 60 on average, with a standard error of
    // 0.42 over 200 blocks.
    assert!(wear.erases.mean < 60.0 + 5.0 * 0.42, "{}", wear.erases.mean);
    // The histogram covers all three drives, like the mean. With one number of erases in each bin,
    // it has the same mean.
    let blocks = wear.histogram.iter().map(|&(_, blocks)| blocks).sum::<u64>();
    let sum =
        wear.histogram.iter().map(|&(erases, blocks)| u64::from(erases) * blocks).sum::<u64>();
    assert_eq!(blocks, 3 * 200);
    assert!((sum as f64 / blocks as f64 - wear.erases.mean).abs() < 1e-9, "{wear:?}");
    assert_eq!(wear.histogram[0].0, wear.erases.min);
    let last = wear.series.last().unwrap();
    assert!(wear.series.windows(2).all(|pair| pair[0].mean <= pair[1].mean));
    assert_eq!(last.drive_writes, end.run_values[0]);
    // The last values of the first run lie between the extremes of all runs.
    assert_eq!(last.deciles.len(), 11);
    assert!(wear.erases.min <= last.deciles[0] && last.deciles[10] <= wear.erases.max);
    assert!(last.deciles.is_sorted() && last.gini.is_some_and(|gini| gini > 0.0));
    // The list begins with the first failure and ends with the last, which exceeds the reserve by
    // one block.
    assert_eq!(lifetime.failures.first(), Some(&(first.run_values[0], 1)));
    assert_eq!(lifetime.failures.last(), Some(&(end.run_values[0], 19)));
    assert!(lifetime.failures.is_sorted());
    assert!(result.said().is_empty(), "{:?}", result.said());
}

#[test]
fn a_life_does_not_depend_on_the_number_of_threads() {
    let one = RunResult { page_programs_per_second: 0.0, ..run(&config(), 1) };
    let three = RunResult { page_programs_per_second: 0.0, ..run(&config(), 3) };
    assert_eq!(one, three);
}

#[test]
fn the_first_failure_is_where_a_run_to_it_stops() {
    let whole = run(&config(), 0);
    let stopped = run(&RunConfig { length: Length::Until("first-failure".into()), ..config() }, 0);
    let first = |result: &RunResult| result.lifetime.clone().unwrap().first_failure.unwrap();
    assert_eq!(first(&whole), first(&stopped));
    assert_eq!(stopped.counters.host_pages as f64, first(&stopped).host_pages * 3.0);
    assert_eq!(stopped.lifetime.unwrap().system_failure, None);
}

#[test]
fn ends_and_reads_until_them_do_not_depend_on_the_batch_size() {
    let life = |batch: usize, ends_at: EndOfLife, workload: &str| {
        let layout = Layout {
            frontier: Frontier::Pool { low: 4 },
            allocation: Allocation::parse("lowest-erase").unwrap(),
            lifespan: Some(Lifespan {
                endurance: Endurance::parse("weibull:scale=20").unwrap(),
                ends_at,
            }),
            seed: 1,
            ..Layout::new(Geometry::with_spare(60, 8, 0.3).unwrap())
        };
        let pages = layout.geometry.logical_pages();
        let layer = VictimSpec::parse("d-choices").unwrap().build(layout).unwrap();
        let workload = GeneratorSpec::parse(workload).unwrap().open(pages, 5).unwrap();
        let mut drive = CountingDrive::new(layer, workload, batch);
        while drive.step(Extent { unit: Unit::Writes, amount: u64::MAX }).unwrap() {}
        assert!(drive.has_ended());
        drive.layer().audit().unwrap();
        (drive.layer().counters(), drive.commands().reads, drive.first_failure().unwrap())
    };
    for workload in ["uniform", "zipf:theta=0.9,read=0.4,trim=0.05"] {
        for ends_at in [EndOfLife::FirstFailure, EndOfLife::SystemFailure] {
            let whole = life(4096, ends_at, workload);
            let (counters, reads, (first, asked_then)) = whole;
            let reads_then = asked_then.reads;
            assert!(reads_then <= reads);
            if ends_at == EndOfLife::FirstFailure {
                assert_eq!((counters, reads), (first.counters, reads_then));
            }
            for batch in [1, 7, 100] {
                assert_eq!(life(batch, ends_at, workload), whole, "{workload} in {batch}");
            }
        }
    }
}

#[test]
fn a_drive_that_dies_in_its_run_says_so() {
    let config = RunConfig { length: Length::Writes("1000x".into()), ..config() };
    let result = run(&config, 0);
    assert!(result.lifetime.as_ref().unwrap().system_failure.is_some());
    let expected = "in 3 of 3 runs the drive failed before the end of the run";
    assert!(result.said().iter().any(|text| text.starts_with(expected)), "{:?}", result.said());
    // A drive that does not fail has no failures and no warning.
    let short = run(&RunConfig { length: Length::Writes("3x".into()), ..config }, 0);
    assert!(!short.findings.iter().any(|finding| finding.id == "died-early"));
    let lifetime = short.lifetime.unwrap();
    assert_eq!((lifetime.first_failure, lifetime.system_failure), (None, None));
}

#[test]
fn the_configuration_of_a_drive_that_lives_for_ever_is_what_it_was() {
    let plain = RunConfig {
        allocation: "fifo".into(),
        placement: "none".into(),
        mapping: "page".into(),
        swap: None,
        host: None,
        endurance: None,
        times: None,
        timed: None,
        length: Length::Writes("3x".into()),
        ..config()
    };
    let result = run(&plain, 0);
    let text = serde_json::to_string(&result.config).unwrap();
    for key in ["allocation", "endurance", "times"] {
        assert!(!text.contains(key), "{text}");
    }
    assert!(result.lifetime.is_none() && result.busy.is_none() && result.wear.is_some());
}

#[test]
fn bad_lifespans_are_refused_with_a_hint() {
    let forever = fault(|config| config.endurance = None);
    assert_eq!(
        forever,
        "until system-failure needs endurance: blocks that bear any number of erases do not fail; hint: add \
         endurance=1000"
    );
    let zero = fault(|config| config.endurance = Some("0".into()));
    assert!(zero.contains("limit=0 is not a whole number from 1"), "{zero}");
    let end = fault(|config| config.length = Length::Until("frist-failure".into()));
    assert_eq!(end, "unknown end 'frist-failure'; hint: did you mean 'first-failure'?");
    let share = fault(|config| config.warmup = "1/3".into());
    assert!(share.starts_with("warmup is a share of the run, and a run with endurance"), "{share}");
    let frontier = fault(|config| {
        config.frontier = "double".into();
        config.allocation = "fifo".into();
    });
    assert!(
        frontier
            .starts_with("endurance needs the pool or mixed frontier, found frontier=\"double\"")
    );
    let reserve = fault(|config| config.frontier = "pool:low=40".into());
    assert!(reserve.contains("are too few for the pool:low=40 frontier"), "{reserve}");
    let times = fault(|config| config.times = Some("read=60".into()));
    assert!(times.starts_with("read=60 has no unit"), "{times}");
}
