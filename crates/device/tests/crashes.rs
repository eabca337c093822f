//! The crash campaign keeps every promise, and without any one of the rules that make the drive safe
//! it finds one broken.

use flashgc_device::campaign::{Broken, Pace, fuzz, sweep};
use flashgc_device::mutants::{Mutant, choose};

#[test]
fn no_crash_loses_tears_resurrects_or_invents_a_page() {
    let swept = sweep(1, 10_000, &Pace::default());
    let tally = swept.tally;
    println!("{tally:?}");
    assert_eq!(swept.broken.map(|broken| broken.to_string()), None);
    assert!(tally.images >= 10_000);
    assert!(tally.schedules > 3 && tally.compared > 1000, "{tally:?}");
    assert!(tally.of_recoveries > 500 && tally.of_recovered > 500, "{tally:?}");
    assert!(tally.of_fallbacks > 100, "{tally:?}");
    assert!(tally.skipped > 100 && tally.lies_found > 10, "{tally:?}");
    assert!(tally.of_hosts > 1000, "{tally:?}");
    assert!(tally.of_lives > 30 && tally.of_ended > 100 && tally.lost > 10, "{tally:?}");
}

#[test]
fn no_fault_of_the_medium_is_read_as_data() {
    let fuzzed = fuzz::run(1, 30_000, &Pace::default());
    let tally = fuzzed.tally;
    println!("{tally:?}");
    assert_eq!(fuzzed.broken.map(|broken| broken.to_string()), None);
    assert!(tally.operations >= 30_000);
    assert!(tally.crashes > 500 && tally.recoveries_cut > 100, "{tally:?}");
    assert!(
        tally.faults > 50 && tally.refused > 2 && tally.flips > 100 && tally.media_errors > 10,
        "{tally:?}"
    );
    assert!(tally.reopened > 100 && tally.compared > 50, "{tally:?}");
    assert!(tally.outlived > 100, "{tally:?}");
    assert!(tally.lies > 5 && tally.ended > 3 && tally.went_back > 0, "{tally:?}");
}

/// Returns the promise that breaks without a rule, in the sweep.
fn broken_without(rule: Mutant) -> Broken {
    choose(Some(rule));
    let swept = sweep(1, 20_000, &Pace::default());
    choose(None);
    println!("{rule:?}: {:?}", swept.broken);
    swept.broken.unwrap_or_else(|| panic!("the campaign finds nothing wrong: {:?}", swept.tally))
}

#[test]
fn without_verifying_what_was_not_durable_data_are_lost() {
    broken_without(Mutant::TailNotVerified);
}

#[test]
fn without_a_sync_before_reuse_flushed_data_are_lost() {
    broken_without(Mutant::ReuseWithoutSync);
}

#[test]
fn without_a_durable_checkpoint_before_its_superblock_data_are_lost() {
    broken_without(Mutant::SuperblockBeforeCheckpoint);
}

#[test]
fn without_a_look_at_what_a_page_is_the_wrong_data_are_read() {
    broken_without(Mutant::IdentityNotChecked);
}

#[test]
fn fuzzing_finds_each_rule_missing_and_shrinks_the_script() {
    use Mutant::{ReuseWithoutSync, SuperblockBeforeCheckpoint, TailNotVerified};
    for rule in [TailNotVerified, ReuseWithoutSync, SuperblockBeforeCheckpoint] {
        choose(Some(rule));
        let fuzzed = fuzz::run(1, 200_000, &Pace::default());
        choose(None);
        let broken = fuzzed.broken.unwrap_or_else(|| panic!("{rule:?}: {:?}", fuzzed.tally));
        println!("{rule:?}: {broken}");
        assert!(broken.script.len() < 100, "{broken}");
    }
}
