//! Static wear levelling on data of which nine tenths are never overwritten: the spread of erase
//! counts, the longer life of the drive, and the cost.

use std::sync::Arc;

use flashgc_drive::extent::Length;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::RunConfig;
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_workload::generate::GeneratorSpec;

fn run(victim: &str, workload: &str, wear_levelling: Option<&str>) -> RunResult {
    let config = RunConfig {
        blocks: Some(500),
        pages_per_block: Some(16),
        spare: 0.15,
        victim: victim.into(),
        frontier: "pool:low=25".into(),
        wear_levelling: wear_levelling.map(str::to_string),
        endurance: Some("300".into()),
        workload: workload.into(),
        warmup: "0".into(),
        length: Length::Until("first-failure".into()),
        runs: 2,
        seed: 7,
        ..RunConfig::default()
    };
    let source = Arc::new(GeneratorSpec::parse(workload).unwrap());
    let resolved = Resolved::new(&config, source, None).unwrap();
    simulate(&[resolved], 0, &Control::default(), &mut || {}, &|_, _| (), None).unwrap().remove(0)
}

fn drive_writes(result: &RunResult) -> f64 {
    result.lifetime.as_ref().unwrap().first_failure.as_ref().unwrap().drive_writes
}

/// Returns the erases of the most worn block minus those of the least worn one.
fn spread(result: &RunResult) -> u32 {
    let erases = &result.wear.as_ref().unwrap().erases;
    erases.max - erases.min
}

#[test]
fn erase_counts_stay_within_the_threshold_and_the_drive_lives_longer() {
    let (threshold, interval) = (20, 10);
    let workload = "hotcold:f=0.1,r=1";
    for victim in ["greedy", "d-choices", "cost-benefit", "bsgc"] {
        let plain = run(victim, workload, None);
        let levelled = run(victim, workload, Some("static:threshold=20,interval=10"));
        // The first block fails at 300 erases, when cold blocks have hardly any.
        assert!(spread(&plain) > 290, "{victim}: {}", spread(&plain));
        // One block is taken in each interval, so the last cold blocks wait while the hot ones
        // continue to wear.
        let apart = spread(&levelled);
        assert!((threshold..threshold + interval).contains(&apart), "{victim}: {apart}");
        // With levelling, every block has at least 300 - 20 erases when the first has 300. Without
        // levelling, only some blocks are worn: those with the host's hot tenth and the spare
        // blocks, at least 0.085 + 0.15 of all. All erased pages are programmed, so drive writes
        // are erases divided by write amplification.
        for result in [&plain, &levelled] {
            let erases = result.wear.as_ref().unwrap().erases.mean * 500.0 * 16.0;
            let programs = drive_writes(result) * 6800.0 * result.write_amplification;
            // At most the pages of the spare blocks are programmed but not erased yet.
            let erased = programs / erases;
            assert!((1.0..1.01 + 75.0 * 16.0 / erases).contains(&erased), "{victim}: {erased}");
        }
        let mean = |result: &RunResult| result.wear.as_ref().unwrap().erases.mean;
        let longer = drive_writes(&levelled) / drive_writes(&plain);
        let more_erases = mean(&levelled) / mean(&plain);
        let more_writes = levelled.write_amplification / plain.write_amplification;
        assert!((longer * more_writes / more_erases - 1.0).abs() < 0.02, "{victim}: {longer}");
        assert!(longer > 1.5, "{victim}: {longer}");
        // The cost of levelling is counted separately, and is also included in the total.
        let cost = levelled.levelling.as_ref().unwrap();
        assert!(cost.copied_pages <= 16 * cost.collections);
        assert!(cost.copied_pages < levelled.counters.copied_pages);
        let others = levelled.counters.collections - cost.collections;
        assert!(cost.collections * u64::from(interval) <= others, "{victim}: {cost:?}");
        assert!(plain.levelling.is_none());
    }
}

#[test]
fn for_greedy_static_data_cost_the_copies_that_levelling_makes() {
    let workload = "hotcold:f=0.1,r=1";
    let plain = run("greedy", workload, None);
    let levelled = run("greedy", workload, Some("static:threshold=20,interval=10"));
    let copies = levelled.levelling.as_ref().unwrap().copied_pages as f64;
    let made = copies / levelled.counters.host_pages as f64;
    let cost = levelled.write_amplification - plain.write_amplification;
    assert!((cost / made - 1.0).abs() < 0.2, "{cost} {made}");
}

#[test]
fn where_wear_is_even_by_itself_nothing_is_levelled() {
    let plain = run("fifo", "uniform", None);
    let levelled = run("fifo", "uniform", Some("static:threshold=20,interval=10"));
    assert_eq!(levelled.levelling.as_ref().unwrap().collections, 0);
    assert_eq!(levelled.each_run.run_values, plain.each_run.run_values);
    // The digests differ all the same, and a configuration without the option does not mention it.
    assert_ne!(levelled.digest, plain.digest);
    let text = serde_json::to_string(&plain.config).unwrap();
    assert!(!text.contains("levelling"), "{text}");
}
