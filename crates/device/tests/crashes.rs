//! The crash campaign keeps every promise, and without any one of the rules that make the drive safe
//! it finds one broken.

use flashgc_device::Rules;
use flashgc_device::campaign::{run, run_by};

#[test]
fn no_crash_loses_tears_resurrects_or_invents_a_page() {
    let tally = run(1, 10_000).unwrap_or_else(|broken| panic!("{broken}"));
    println!("{tally:?}");
    assert!(tally.images >= 10_000);
    assert!(tally.schedules > 3 && tally.compared > 1000, "{tally:?}");
    assert!(tally.of_recoveries > 500 && tally.of_recovered > 500, "{tally:?}");
    assert!(tally.of_fallbacks > 100, "{tally:?}");
    assert!(tally.skipped > 100 && tally.lies_found > 10, "{tally:?}");
}

/// The promise that breaks without a rule.
fn without(rules: Rules) -> String {
    match run_by(1, 20_000, rules) {
        Ok(tally) => panic!("the campaign finds nothing wrong: {tally:?}"),
        Err(broken) => broken.to_string(),
    }
}

#[test]
fn without_verifying_what_was_not_durable_data_are_lost() {
    let broken = without(Rules { verifies_tail: false, ..Rules::default() });
    println!("{broken}");
}

#[test]
fn without_a_sync_before_reuse_flushed_data_are_lost() {
    let broken = without(Rules { waits_before_reuse: false, ..Rules::default() });
    println!("{broken}");
}

#[test]
fn without_a_durable_checkpoint_before_its_superblock_data_are_lost() {
    let broken = without(Rules { orders_checkpoints: false, ..Rules::default() });
    println!("{broken}");
}

#[test]
fn without_a_look_at_what_a_page_is_the_wrong_data_are_read() {
    let broken = without(Rules { checks_identity: false, ..Rules::default() });
    println!("{broken}");
}
