//! Media that fail or are full, policies that cannot be saved, and the end of a drive's life: the
//! drive is read-only, has all its data, and never returns wrong data.

use std::sync::Arc;

use crate::common::{
    commands, compare, full, is_read_only, new_medium, open, page_of, plain, work,
};
use flashgc_base::rng::Stream;
use flashgc_device::media::{Fault, FaultMedia, MemMedia};
use flashgc_device::{Backend, DeviceError, PAGE, Settings};
use flashgc_ftl::{EndOfLife, Endurance, ExternalPick, Layout, Victim, endurance::Lifespan};

/// The disk becomes full, or the medium fails, at each of many writes in turn.
#[test]
fn a_medium_that_takes_no_more_writes_makes_the_drive_read_only_with_all_data() {
    for fault in [Fault::Full, Fault::Write] {
        for after in 0.. {
            let (mut drive, media, faults, mut held) = full(&plain());
            faults.add(fault(after));
            let (pages, flushed) = (drive.pages(), held.clone());
            let failed = commands(1000, pages, 6).into_iter().enumerate().find(
                |(index, (page, is_trim))| {
                    let number = 50_000 + *index as u64;
                    let done = match is_trim {
                        true => drive.trim(*page, 1),
                        false => drive.write(*page, &page_of(number), false),
                    };
                    match done {
                        Ok(()) => held[*page as usize] = (!is_trim).then_some(number),
                        // The drive may have made a change that it could not note in the journal.
                        Err(ref error) => {
                            assert!(matches!(error, DeviceError::ReadOnly(_)), "{error}");
                            let mut bytes = vec![0; PAGE];
                            drive.read(*page, &mut bytes).unwrap();
                            let now = (bytes != [0; PAGE])
                                .then(|| u64::from_le_bytes(*bytes.first_chunk().unwrap()) - 1);
                            let new = (!is_trim).then_some(number);
                            assert!(now == new || now == held[*page as usize], "{now:?}");
                            held[*page as usize] = now;
                        }
                    }
                    drive.stat().read_only.is_some()
                },
            );
            let Some((_, (page, _))) = failed else {
                assert!(after > 150, "nothing fails after {after}");
                break;
            };
            assert_eq!(faults.failed(), 1);
            compare(&mut drive, &held);
            assert!(is_read_only(drive.write(page, &page_of(1), false)));
            assert!(is_read_only(drive.trim(page, 1)) && is_read_only(drive.flush()));
            assert!(is_read_only(drive.close()));
            // After a restart each page has its flushed data or later data.
            let mut drive = open(media, &plain());
            assert_eq!(drive.stat().unsafe_shutdowns, 1);
            let mut bytes = vec![0; PAGE];
            for (page, flushed) in (0..).zip(flushed) {
                drive.read(page, &mut bytes).unwrap();
                let now = u64::from_le_bytes(*bytes.first_chunk().unwrap());
                let is_later = now == 0 || now > 50_000;
                assert!(is_later || Some(now - 1) == flushed, "page {page}: {now}");
            }
            drive.write(0, &page_of(7), true).unwrap();
        }
    }
}

#[test]
fn a_failed_sync_makes_the_drive_read_only_for_good() {
    let (mut drive, _, faults, held) = full(&plain());
    drive.write(3, &page_of(77_777), false).unwrap();
    faults.add(Fault::Sync(0));
    assert!(is_read_only(drive.flush()));
    faults.clear();
    assert!(is_read_only(drive.flush()) && is_read_only(drive.write(3, &page_of(1), true)));
    assert!(drive.stat().read_only.is_some());
    let mut bytes = vec![0; PAGE];
    drive.read(3, &mut bytes).unwrap();
    assert_eq!(bytes, page_of(77_777));
    let mut held = held;
    held[3] = Some(77_777);
    compare(&mut drive, &held);
}

#[test]
fn a_read_error_from_below_is_a_media_error() {
    let (mut drive, media, faults, _) = full(&plain());
    let len = media.image().len() as u64;
    for page in len - 720 * PAGE as u64..len {
        if page % PAGE as u64 == 0 {
            faults.add(Fault::Read(page));
        }
    }
    let mut bytes = vec![0; PAGE];
    let found = (0..drive.pages()).find_map(|page| drive.read(page, &mut bytes).err());
    assert!(matches!(found, Some(DeviceError::Media(_))));
}

/// A worn-out drive is read-only, keeps its data, and is still read-only after a clean restart or a
/// crash.
#[test]
fn the_end_of_life_is_read_only_across_restarts() {
    let lifespan = Lifespan {
        endurance: Endurance::parse("fixed:limit=8").unwrap(),
        ends_at: EndOfLife::SystemFailure,
    };
    let mut settings = plain();
    settings.layout = Layout { lifespan: Some(lifespan), ..settings.layout };
    for is_closed in [true, false] {
        let media = new_medium(&settings);
        let mut drive = open(media.clone(), &settings);
        let mut counting = settings.victim.build(settings.layout.clone()).unwrap();
        let pages = drive.pages();
        let mut held = vec![None; pages as usize];
        let mut rng = Stream::new(3, "wear");
        for number in 0.. {
            let page = u64::from(rng.below(pages as u32));
            let done = drive.write(page, &page_of(number), false);
            if counting.write_until(&[page as u32], u64::MAX).unwrap() == 0 {
                assert!(is_read_only(done));
                break;
            }
            done.unwrap();
            held[page as usize] = Some(number);
        }
        assert_eq!(drive.stat().counters, counting.counters());
        assert_eq!(drive.stat().decisions, counting.decisions());
        compare(&mut drive, &held);
        drive.flush().unwrap();
        match is_closed {
            true => drive.close().unwrap(),
            false => drop(drive),
        }
        let mut drive = open(media, &settings);
        compare(&mut drive, &held);
        assert!(is_read_only(drive.write(0, &page_of(0), false)), "closed: {is_closed}");
        assert!(drive.stat().read_only.unwrap().contains("life is over"));
    }
}

#[test]
fn commands_beyond_the_drive_and_parts_of_pages_are_refused() {
    let (mut drive, _, _, _) = full(&plain());
    let pages = drive.pages();
    let is_beyond =
        |done: Result<(), DeviceError>| matches!(done, Err(DeviceError::OutOfRange { .. }));
    assert!(is_beyond(drive.write(pages, &page_of(0), false)));
    assert!(is_beyond(drive.write(pages - 1, &vec![0; 2 * PAGE], false)));
    assert!(is_beyond(drive.write(0, &[0; 100], false)));
    assert!(is_beyond(drive.read(u64::MAX, &mut [0; PAGE])));
    assert!(is_beyond(drive.trim(pages - 1, 2)) && is_beyond(drive.trim(1, u64::MAX)));
    assert!(is_beyond(drive.hint(pages, 1, None).map(drop)) && is_beyond(drive.cancel(pages, 1)));
    assert!(is_beyond(drive.extent(pages, 1).map(drop)));
    drive.trim(0, pages).unwrap();
    drive.write(3, &[page_of(0), page_of(1)].concat(), false).unwrap();
    assert_eq!(drive.extent(0, pages).unwrap(), (3, false));
    assert_eq!(drive.extent(3, pages - 3).unwrap(), (2, true));
    assert_eq!(drive.extent(5, 7).unwrap(), (7, false));
}

/// The disk becomes full, or the medium fails, at each write of a recovery in turn. The drive opens
/// read-only with its data, and a later opening finds it unchanged.
#[test]
fn a_drive_that_cannot_be_repaired_opens_read_only_with_its_data() {
    let settings = plain();
    let (mut drive, media, _, mut held) = full(&settings);
    for number in 0..10 {
        drive.write(number, &page_of(30_000 + number), false).unwrap();
        held[number as usize] = Some(30_000 + number);
    }
    drive.flush().unwrap();
    drop(drive);
    let image = media.image();
    for fault in [Fault::Full, Fault::Write, Fault::Sync] {
        // The first sync is that of the superblock, before any repair: its failure is left out
        // here.
        let first = u64::from(fault(0) == Fault::Sync(0));
        let mut failures = 0;
        for after in first.. {
            let media = MemMedia::of(image.clone());
            let (failing, faults) = FaultMedia::new(media.clone());
            faults.add(fault(after));
            let mut drive = open(failing, &settings);
            compare(&mut drive, &held);
            if faults.failed() == 0 {
                break;
            }
            failures += 1;
            assert!(is_read_only(drive.write(0, &page_of(1), false)), "{after}");
            assert!(is_read_only(drive.flush()) && is_read_only(drive.close()));
            let mut drive = open(media, &settings);
            compare(&mut drive, &held);
            drive.write(0, &page_of(1), true).unwrap();
        }
        assert!(failures >= 3, "{failures}");
    }
}

/// Returns the settings with an external policy that picks the block with the fewest valid pages.
/// Its state cannot be saved.
fn external(settings: Settings) -> Settings {
    let make = |_: &mut _| {
        let pick: ExternalPick = Box::new(|blocks, _| {
            let candidates = (0..blocks.len()).filter(|&block| blocks.is_candidate(block));
            candidates.min_by_key(|&block| blocks.valid(block))
        });
        Ok(pick)
    };
    Settings { victim: Victim::External("outside".to_string(), Arc::new(make)), ..settings }
}

#[test]
fn a_drive_whose_policy_cannot_be_saved_closes_and_opens_with_its_data() {
    let settings = external(plain());
    let (drive, media, _, mut held) = full(&settings);
    assert_eq!(drive.stat().recovery, None);
    drive.close().unwrap();
    for round in 1..4 {
        let mut drive = open(media.clone(), &settings);
        let stat = drive.stat();
        assert_eq!(stat.unsafe_shutdowns, 0);
        assert_eq!(stat.recovery.map(|recovery| recovery.records), Some(0), "it began anew");
        compare(&mut drive, &held);
        let pages = drive.pages();
        work(&mut drive, &mut held, &commands(2000, pages, round), round * 10_000);
        compare(&mut drive, &held);
        drive.audit().unwrap();
        drive.close().unwrap();
    }
}
