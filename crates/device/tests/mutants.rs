//! Deliberately wrong drives are found by the campaign. `flashgc device crash-test --mutants` hunts for all of them.

use flashgc_device::campaign::Pace;
use flashgc_device::campaign::mutants::hunt;
use flashgc_device::mutants::{Mutant, chosen, missed_by_their_tests};

/// One mutant for each part of the drive, which breaks a promise within a few rounds.
const QUICK: [Mutant; 24] = [
    Mutant::TailNotVerified,
    Mutant::ReuseWithoutSync,
    Mutant::SuperblockBeforeCheckpoint,
    Mutant::SyncBeforeWriting,
    Mutant::StripeWithoutRecords,
    Mutant::GenerationNotWritten,
    Mutant::EraseKeepsWritten,
    Mutant::TrimNotedShort,
    Mutant::MappedNotAdded,
    Mutant::PartialBlockWrittenOver,
    Mutant::NotHandedOver,
    Mutant::RecordsNotHandedOver,
    Mutant::HandedBlockTakenForWhole,
    Mutant::BeginFreesNothing,
    Mutant::OneMoreDurable,
    Mutant::HorizonNotNoted,
    Mutant::EraseNotUndone,
    Mutant::EpochNotRaised,
    Mutant::OobMapOfFirst,
    Mutant::ChunkSumNotChecked,
    Mutant::CheckpointOverPresent,
    Mutant::EndWithoutWriting,
    Mutant::CopyForgetsStream,
    Mutant::StreamsNotRecovered,
];

/// The most rounds of a hunt.
const ROUNDS: u32 = 6;

#[test]
fn wrong_drives_of_every_kind_break_a_promise() {
    let before = chosen();
    for mutant in QUICK {
        let hunted = hunt(mutant, 1, ROUNDS, &Pace::default());
        let find = hunted.found.as_ref().unwrap_or_else(|| panic!("{}: {hunted:?}", mutant.name()));
        println!("{}: {}, seed {}: {}", mutant.name(), find.level, find.seed, find.what);
        assert_eq!(chosen(), before);
    }
}

#[test]
fn a_hunt_ends_when_its_time_is_over() {
    let pace = Pace::until(std::time::Instant::now());
    let hunted = hunt(Mutant::FileNotLocked, 1, u32::MAX, &pace);
    assert_eq!(hunted.found, None);
}

#[test]
fn mutants_that_a_test_of_the_whole_finds_are_found() {
    let (missed, tests) = missed_by_their_tests().unwrap();
    assert!(missed.is_empty(), "not found: {missed:?}");
    let of_whole = |test: &String| !test.contains("::tests::");
    assert_eq!(tests, Mutant::ALL.iter().filter_map(|one| one.test()).filter(of_whole).count());
}
