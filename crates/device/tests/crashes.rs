//! The crash campaign finds no broken promise. (`scripts/wrong_drives.py` checks that it finds the
//! promises that mutants break.)

use flashgc_device::campaign::{Pace, fuzz, sweep};

#[test]
fn no_crash_loses_tears_resurrects_or_invents_a_page() {
    let swept = sweep(1, 14_000, &Pace::default());
    let tally = swept.tally;
    println!("{tally:?}");
    assert_eq!(swept.broken.map(|broken| broken.to_string()), None);
    assert!(tally.images >= 10_000);
    assert!(tally.schedules > 3 && tally.compared > 1000, "{tally:?}");
    assert!(tally.of_recoveries > 500 && tally.of_recovered > 500, "{tally:?}");
    assert!(tally.of_fallbacks > 100, "{tally:?}");
    assert!(tally.skipped > 100 && tally.lies_found > 10, "{tally:?}");
    assert!(tally.of_hosts > 1000 && tally.rebuilt > 10_000, "{tally:?}");
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
