//! Drives with parity: any one die can be lost, and every page is read.

use std::sync::atomic::{AtomicBool, Ordering};

use flashgc_device::check::check;
use flashgc_device::dies::Parity;
use flashgc_device::media::{Fault, FaultMedia, MemMedia};
use flashgc_device::{Backend, Drive, Durability, Outside, PAGE, Settings};
use flashgc_ftl::{Geometry, Layout, Members};

use crate::common::{new_medium, open, plain};

/// 20 superblocks of 12 pages of data on 4 dies, `parts` in each stripe; a die programs 2 pages together.
fn settings(parts: u32) -> Settings {
    let plain = plain();
    let layout = Layout {
        blocks_together: 4,
        ..Layout { geometry: Geometry::new(20, 12, 120).unwrap(), ..plain.layout }
    };
    let parity = Parity::new(Members::new(4, Some(parts)), 2);
    Settings { layout, parity, ..plain }
}

fn page(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(PAGE / 8)
}

/// Writes all pages in turn, and then again at random places. Returns what each page holds.
fn filled(drive: &mut Drive, writes: u64) -> Vec<u64> {
    let mut held = vec![0; 120];
    for write in 1..=writes {
        let at = if write <= 120 { write - 1 } else { write * write * 7919 % 120 };
        drive.write(at, &page(write), false).unwrap();
        held[at as usize] = write;
    }
    held
}

fn assert_held(drive: &mut Drive, held: &[u64], what: &str) {
    for (at, &number) in (0..).zip(held) {
        let mut bytes = vec![0; PAGE];
        drive.read(at, &mut bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(bytes, page(number), "{what}: page {at}");
    }
}

/// Reads all pages, and returns the errors of those that cannot be read. No other page may be wrong.
fn unreadable(drive: &mut Drive, held: &[u64]) -> Vec<String> {
    let mut errors = Vec::new();
    for (at, &number) in (0..).zip(held) {
        let mut bytes = vec![0; PAGE];
        match drive.read(at, &mut bytes) {
            Ok(()) => assert_eq!(bytes, page(number)),
            Err(error) => errors.push(error.to_string()),
        }
    }
    errors
}

#[test]
fn every_page_is_read_without_any_one_die() {
    for (parts, writes) in [(2, 119), (2, 777), (4, 121), (4, 1000)] {
        let settings = settings(parts);
        let mut drive = open(new_medium(&settings), &settings);
        let mut held = filled(&mut drive, writes);
        let dies = drive.lost_dies();
        assert_eq!(dies.count(), 4);
        for die in 0..4 {
            dies.set(|lost| lost == die);
            let before = drive.stat().opened.rebuilt;
            assert_held(&mut drive, &held, &format!("1/{parts}, die {die}"));
            assert!(drive.stat().opened.rebuilt > before);
            // Writes and collections go on without the die.
            for write in 0..300 {
                let at = write * 13 % 120;
                held[at as usize] = 10_000 + u64::from(die) * 1000 + write;
                drive.write(at, &page(held[at as usize]), false).unwrap();
            }
            dies.set(|_| false);
        }
        assert_held(&mut drive, &held, "all dies");
        assert_eq!(drive.stat().media_errors, 0);
    }
}

#[test]
fn two_lost_dies_of_a_stripe_are_an_error_and_never_wrong_data() {
    let settings = settings(2);
    let mut drive = open(new_medium(&settings), &settings);
    let held = filled(&mut drive, 777);
    drive.flush().unwrap();
    let dies = drive.lost_dies();
    // Dies 0 and 2 are in two stripes, and 2 and 3 in the same.
    dies.set(|die| die == 0 || die == 2);
    assert_held(&mut drive, &held, "a die of each stripe");
    dies.set(|die| die != 1);
    let errors = unreadable(&mut drive, &held);
    let text = "its die is lost, and its parity does not give it back";
    assert!(errors.iter().all(|error| error.ends_with(text)), "{errors:?}");
    let lost = errors.len() as u64;
    // About half of the pages lie in the stripe without dies; some may still wait in memory.
    assert!((30..90).contains(&lost), "{lost}");
    assert_eq!(drive.stat().media_errors, lost);
}

/// The stripe that goes on when a drive is closed has its parity when it is opened again.
#[test]
fn a_stripe_goes_on_after_an_opening() {
    for writes in 121..160 {
        let settings = settings(4);
        let media = new_medium(&settings);
        let mut held = filled(&mut open(media.clone(), &settings), 0);
        for (round, more) in [(0, writes), (1, 1), (2, 4), (3, 40)] {
            let mut drive = open(media.clone(), &settings);
            match round {
                0 => held = filled(&mut drive, more),
                _ => (0..more).for_each(|at| {
                    held[at as usize] = 5000 + 100 * round + at;
                    drive.write(at, &page(held[at as usize]), false).unwrap();
                }),
            }
            for die in 0..4 {
                drive.lost_dies().set(|lost| lost == die);
                assert_held(&mut drive, &held, &format!("{writes}, round {round}, die {die}"));
                drive.lost_dies().set(|_| false);
            }
            // The third end is that of the process.
            match round {
                2 => drive.flush().unwrap(),
                _ => drive.close().unwrap(),
            }
        }
        let checked = check(&media, &settings).unwrap();
        assert_eq!((checked.parity_wrong, checked.damaged), (Some(0), vec![]));
    }
}

/// A page that is damaged on the medium is rebuilt: for a host, by a collection, and by a check.
#[test]
fn damaged_bytes_of_one_page_do_no_harm() {
    let settings = settings(4);
    let media = new_medium(&settings);
    let mut drive = open(media.clone(), &settings);
    let held = filled(&mut drive, 500);
    drive.close().unwrap();
    let closed = media.image();
    for (at, &number) in (0..).zip(&held).step_by(7) {
        let bytes = page(number);
        let place = closed.windows(PAGE).position(|window| window == bytes).unwrap();
        let mut image = closed.clone();
        image[place + 77] ^= 4;
        let damaged = MemMedia::of(image);
        let checked = check(&damaged, &settings).unwrap();
        assert_eq!((checked.rebuilt, checked.damaged), (vec![at as u32], vec![]));
        assert_eq!((checked.disagree, checked.parity_wrong), (vec![], Some(1)));
        let mut drive = open(damaged, &settings);
        assert_held(&mut drive, &held, "one page");
        assert_eq!((drive.stat().opened.rebuilt, drive.stat().media_errors), (1, 0));
        // Collections move every page now, the damaged one among them.
        let mut held = held.clone();
        for write in 0..600 {
            let other = (at + 1 + write % 119) % 120;
            held[other as usize] = 20_000 + write;
            drive.write(other, &page(held[other as usize]), false).unwrap();
        }
        assert_held(&mut drive, &held, "after collections");
        assert_eq!(drive.stat().media_errors, 0);
        drive.close().unwrap();
    }
}

/// Parity that is damaged does no harm by itself, and a check says so.
#[test]
fn damaged_parity_is_found_and_gives_no_wrong_data() {
    let settings = settings(4);
    let media = new_medium(&settings);
    let mut drive = open(media.clone(), &settings);
    let held = filled(&mut drive, 500);
    drive.close().unwrap();
    // The file ends with the parity: 4 pages for each of 20 superblocks.
    let mut image = media.image();
    let begin = image.len() - 80 * PAGE;
    image[begin..].chunks_mut(PAGE).for_each(|page| page[9] ^= 1);
    let damaged = MemMedia::of(image);
    let checked = check(&damaged, &settings).unwrap();
    assert!(checked.parity_wrong.unwrap() > 40, "{checked:?}");
    assert!(checked.damaged.is_empty() && checked.rebuilt.is_empty());
    let mut drive = open(damaged, &settings);
    assert_held(&mut drive, &held, "without parity");
    drive.lost_dies().set(|lost| lost == 1);
    unreadable(&mut drive, &held);
    assert!(drive.stat().media_errors > 10);
}

/// Every write of the medium fails in turn, those of parity among them: the drive is then read-only.
#[test]
fn a_medium_that_fails_at_any_write_loses_nothing() {
    for after in 0..60 {
        let settings = settings(4);
        let (media, faults) = FaultMedia::new(new_medium(&settings));
        let mut drive = Drive::open(Box::new(media), &settings).unwrap();
        let mut held = filled(&mut drive, 300);
        faults.add(Fault::Write(after));
        for write in 0..400 {
            let at = write * 31 % 120;
            if drive.write(at, &page(9000 + write), false).is_err() {
                // The page is there, old or new.
                let mut bytes = vec![0; PAGE];
                drive.read(at, &mut bytes).unwrap();
                let now = u64::from_le_bytes(*bytes.first_chunk().unwrap());
                assert!(now == held[at as usize] || now == 9000 + write, "{now}");
                held[at as usize] = now;
                break;
            }
            held[at as usize] = 9000 + write;
        }
        assert!(drive.stat().read_only.is_some());
        for die in 0..4 {
            drive.lost_dies().set(|lost| lost == die);
            assert_held(&mut drive, &held, &format!("write {after} fails, die {die}"));
            drive.lost_dies().set(|_| false);
        }
    }
}

/// Returns the bytes of a drive that ended without being closed, with a changed byte in `number`'s
/// page.
fn damaged(media: &MemMedia, number: u64) -> MemMedia {
    let (mut image, bytes) = (media.image(), page(number));
    let place = image.windows(PAGE).rposition(|window| window == bytes).unwrap();
    image[place + 77] ^= 4;
    MemMedia::of(image)
}

/// The journal says that the pages were programmed, and nothing says that they were durable. A page
/// that does not verify could be one that a crash has torn, but its parity has it.
#[test]
fn recovery_asks_parity_before_it_takes_a_page_for_torn() {
    for durability in [Durability::Power, Durability::Process] {
        for trims in [false, true] {
            let settings = Settings { durability, ..settings(4) };
            let media = new_medium(&settings);
            let mut drive = open(media.clone(), &settings);
            (0..5).for_each(|at| drive.write(at, &page(100 + at), false).unwrap());
            drive.flush().unwrap();
            if trims {
                // The block goes on at the place of page 4 after the crash.
                drive.trim(4, 1).unwrap();
                drive.flush().unwrap();
            }
            drop(drive);
            for at in 0..4 {
                let media = damaged(&media, 100 + at);
                assert_eq!(check(&media, &settings).unwrap().rebuilt, [at as u32]);
                let mut drive = open(media.clone(), &settings);
                assert_held(&mut drive, &[100, 101, 102, 103], &format!("{trims}, page {at}"));
                assert_eq!(drive.stat().opened.rebuilt, 0, "it was written back");
                drive.close().unwrap();
                let checked = check(&media, &settings).unwrap();
                assert_eq!((checked.rebuilt, checked.parity_wrong), (vec![], Some(0)));
            }
        }
    }
}

/// One die after another is lost, and never two at a time.
#[test]
fn dies_that_change_during_a_collection_lose_nothing() {
    let settings = settings(4);
    let mut drive = open(new_medium(&settings), &settings);
    let (dies, is_over) = (drive.lost_dies(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut die = 0;
            while !is_over.load(Ordering::Relaxed) {
                dies.set(|lost| lost == die);
                die = (die + 1) % 4;
                std::thread::yield_now();
            }
        });
        let held = filled(&mut drive, 20_000);
        assert_held(&mut drive, &held, "dies change");
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(drive.stat().media_errors, 0);
}

#[test]
fn the_text_of_a_drive_has_its_parity_and_refuses_what_does_not_fit() {
    let made = settings(4);
    let text = made.text();
    assert_eq!(Settings::parse(&text, Outside::default()).unwrap().parity, made.parity);
    for (key, wrong) in [("parity-stripe", "3"), ("parity-stripe", "0"), ("dies-together", "0")] {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap();
        let changed = text.replace(line, &format!("{key} = {wrong}"));
        let refused = Settings::parse(&changed, Outside::default()).err().unwrap().to_string();
        assert!(refused.contains("parity-stripe: found"), "{refused}");
    }
}
