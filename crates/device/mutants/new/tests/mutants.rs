//! If a rule that makes the drive safe is left out, the campaign must find a broken promise. If
//! `mutants.toml` says that a test finds a mutant, that test must fail. The example `hunt` runs all
//! mutants.

use flashgc_device::campaign::mutants::hunt;
use flashgc_device::campaign::{Pace, fuzz, sweep};
use flashgc_device::mutants::{Mutant, choose, chosen, missed_by_their_tests};

/// Checks that the sweep alone finds a broken promise if `rule` is left out.
fn sweep_finds(rule: Mutant) {
    choose(Some(rule));
    let swept = sweep(1, 20_000, &Pace::default());
    choose(None);
    println!("{rule:?}: {:?}", swept.broken);
    assert!(swept.broken.is_some(), "the campaign finds nothing wrong: {:?}", swept.tally);
}

#[test]
fn without_verifying_what_was_not_durable_data_are_lost() {
    sweep_finds(Mutant::TailNotVerified);
}

#[test]
fn without_a_sync_before_reuse_flushed_data_are_lost() {
    sweep_finds(Mutant::ReuseWithoutSync);
}

#[test]
fn without_a_durable_checkpoint_before_its_superblock_data_are_lost() {
    sweep_finds(Mutant::SuperblockBeforeCheckpoint);
}

#[test]
fn without_a_look_at_what_a_page_is_the_wrong_data_are_read() {
    sweep_finds(Mutant::IdentityNotChecked);
}

#[test]
fn fuzzing_finds_each_rule_missing_and_shrinks_the_script() {
    use Mutant::{ReuseWithoutSync, SuperblockBeforeCheckpoint, TailNotVerified};
    for rule in [TailNotVerified, ReuseWithoutSync, SuperblockBeforeCheckpoint] {
        choose(Some(rule));
        let fuzzed = fuzz::run(1, 200_000, &Pace::default());
        let broken = fuzzed.broken.unwrap_or_else(|| panic!("{rule:?}: {:?}", fuzzed.tally));
        println!("{rule:?}: {broken}");
        assert!((2..100).contains(&broken.script.len()), "{broken}");
        assert!(broken.script[0].starts_with("drive: 20 blocks of 8 pages, victim "), "{broken}");
        let again = fuzz::run(broken.seed, 1, &Pace::default());
        choose(None);
        assert_eq!(again.broken.map(|broken| broken.script), Some(broken.script));
    }
}

#[test]
fn a_hunt_leaves_the_thread_as_it_was_and_ends_when_its_time_is_over() {
    let before = chosen();
    let pace = Pace::until(std::time::Instant::now());
    let hunted = hunt(Mutant::FileNotLocked, 1, &pace);
    assert_eq!((hunted.find, chosen()), (None, before));
}

#[test]
fn mutants_that_a_test_of_the_whole_finds_are_found() {
    let (missed, tests) = missed_by_their_tests().unwrap();
    assert!(missed.is_empty(), "not found: {missed:?}");
    let of_whole = |test: &String| !test.contains("::tests::");
    assert_eq!(tests, Mutant::ALL.iter().filter_map(|one| one.test()).filter(of_whole).count());
}
