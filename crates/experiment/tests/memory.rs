//! The memory that placements and victim policies declare, compared with the drift that is
//! measured.

use std::sync::Arc;

use flashgc_drive::extent::Length;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::RunConfig;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_ftl::placement::placement_policies;
use flashgc_workload::generate::GeneratorSpec;

/// Returns the write amplification of a run for each seed, and `true` if the run is steady.
fn measured(config: &RunConfig, seeds: std::ops::Range<u64>) -> Vec<(f64, bool)> {
    let resolved: Vec<Resolved> = seeds
        .map(|seed| {
            let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
            let config = RunConfig { seed, runs: 1, ..config.clone() };
            Resolved::new(&config, source, None).unwrap()
        })
        .collect();
    let results =
        simulate(&resolved, 0, &Control::default(), &mut || {}, &|_, _| (), None).unwrap();
    results.iter().map(|result| (result.write_amplification, result.steady)).collect()
}

fn mean(values: &[(f64, bool)]) -> f64 {
    values.iter().map(|(value, _)| value).sum::<f64>() / values.len() as f64
}

/// Returns the placements in `names` that could be tested. The test fails if a placement remembers
/// more than it declares.
fn judged(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut judged = Vec::new();
    for placement in names {
        for (workload, frontier, spare) in
            [("uniform", "pool:low=6", 0.1), ("zipf:theta=0.8", "pool", 0.15)]
        {
            let config = RunConfig {
                blocks: Some(200),
                pages_per_block: Some(32),
                spare,
                frontier: frontier.into(),
                workload: workload.into(),
                victim: "cost-benefit".into(),
                placement: placement.into(),
                warmup: "auto".into(),
                length: Length::Settled(640),
                ..RunConfig::default()
            };
            let settled = measured(&config, 1..13);
            if settled.iter().all(|(_, steady)| !steady) {
                continue;
            }
            // This is far longer than a run that settles.
            let long = RunConfig { length: Length::Writes("400x".into()), ..config };
            let level = mean(&measured(&long, 101..103));
            let off = mean(&settled) / level - 1.0;
            println!("{placement} {workload} {off:+.4}");
            assert!(off.abs() < 0.0025, "{placement} on {workload} is off by {off:+.4}");
            judged.push(placement);
        }
    }
    judged.dedup();
    judged
}

/// The two placements with the longest memory.
#[test]
fn no_placement_remembers_more_than_it_says() {
    let names = ["multilog", "sfs"];
    assert_eq!(judged(names.into_iter()), names);
}

#[test]
#[ignore = "every placement takes a minute"]
fn no_placement_at_all_remembers_more_than_it_says() {
    let own = placement_policies().iter().filter(|it| !it.needs_future && !it.needs_streams);
    let judged = judged(own.map(|placement| placement.name));
    assert!(judged.len() >= 9, "{judged:?}");
}

/// Tests the memory that policies declare if they use wear.
fn check_wear(victims: &[&str]) {
    for &victim in victims {
        let config = RunConfig {
            blocks: Some(320),
            pages_per_block: Some(64),
            spare: 0.15,
            frontier: "pool".into(),
            workload: "zipf:theta=0.8".into(),
            victim: victim.into(),
            warmup: "auto".into(),
            length: Length::Settled(640),
            ..RunConfig::default()
        };
        let settled = measured(&config, 1..17);
        assert!(settled.iter().all(|(_, steady)| *steady), "{victim}");
        let long = RunConfig { length: Length::Writes("1600x".into()), ..config };
        let off = mean(&settled) / mean(&measured(&long, 101..105)) - 1.0;
        println!("{victim} {off:+.4}");
        assert!(off.abs() < 0.0007, "{victim} is off by {off:+.4}");
    }
}

#[test]
fn no_policy_that_weighs_wear_remembers_more_than_it_says() {
    check_wear(&["eigc"]);
}

#[test]
#[ignore = "long runs of each policy"]
fn no_policy_that_weighs_wear_at_all_remembers_more_than_it_says() {
    check_wear(&["wear-aware", "eigc"]);
}
