//! The operations of an opening, in order: the data from which it goes on are written again and
//! synced before anything else changes.

use crate::common::{new_medium, page_of, plain};
use flashgc_device::media::{CrashMedia, Op};
use flashgc_device::{Backend, Drive, PAGE, Settings};
use flashgc_ftl::{EndOfLife, Endurance, Layout, Lifespan};

/// The first byte behind the four copies of the superblock.
const BEHIND: u64 = 4 * PAGE as u64;

fn opened(media: &CrashMedia, settings: &Settings) -> Drive {
    Drive::open(Box::new(media.clone()), settings).unwrap()
}

/// Returns the medium of a drive after the end of its process. Also returns the number of live
/// pages that no later journal block says to be durable.
fn crashed(settings: &Settings) -> (CrashMedia, usize) {
    let media = CrashMedia::of(new_medium(settings).image());
    let mut drive = opened(&media, settings);
    for number in 0..300 {
        drive.write(number % 100, &page_of(number), false).unwrap();
    }
    (0..2).for_each(|_| drive.rest());
    for number in 0..40 {
        drive.write(number, &page_of(1000 + number), false).unwrap();
    }
    // Half of the pages are written again; the older data of these need not be renewed.
    for number in 0..20 {
        drive.write(number, &page_of(2000 + number), false).unwrap();
    }
    drive.flush().unwrap();
    (media, 40)
}

/// A write: its place, the bytes that were there before, and the bytes written.
type Written = (u64, Vec<u8>, Vec<u8>);

/// Returns the writes of an opening: one list for the writes before each sync, and one for those
/// behind the last.
fn rounds(media: &CrashMedia, settings: &Settings) -> Vec<Vec<Written>> {
    let mut image = media.image();
    media.take_history();
    let _drive = opened(media, settings);
    let mut rounds = vec![Vec::new()];
    for op in media.take_history() {
        match &op {
            Op::Write(at, bytes) => {
                let before = image[*at as usize..][..bytes.len()].to_vec();
                rounds.last_mut().unwrap().push((*at, before, bytes.to_vec()));
            }
            Op::Sync => rounds.push(Vec::new()),
            _ => {}
        }
        op.apply(&mut image);
    }
    rounds
}

#[test]
fn an_opening_writes_again_what_it_goes_on_from_and_syncs_before_anything_else() {
    let settings = plain();
    let (media, live) = crashed(&settings);
    let generation = |bytes: &[u8]| u64::from_le_bytes(*bytes[68..].first_chunk().unwrap());
    let newest = media.image()[..BEHIND as usize].chunks(PAGE).map(generation).max().unwrap();
    let rounds = rounds(&media, &settings);

    // Before the first sync: both copies of the newest superblock, and nothing else.
    let [superblocks, renewed, rest @ ..] = &rounds[..] else { panic!("two syncs at least") };
    assert_eq!(superblocks.len(), 2);
    for (at, before, bytes) in superblocks {
        assert!(*at < BEHIND && before == bytes, "a copy is written as it was read");
        assert_eq!(generation(bytes), newest);
    }

    // Before the second sync: the end of the journal, its live pages and their out-of-band records,
    // all unchanged.
    assert!(renewed.iter().all(|(at, before, bytes)| *at >= BEHIND && before == bytes));
    let is_journal = |bytes: &[u8]| bytes.starts_with(b"FGJ1");
    let journal = renewed.iter().filter(|(.., bytes)| is_journal(bytes)).count();
    let pages = renewed.iter().filter(|(.., bytes)| bytes.len() == PAGE && !is_journal(bytes));
    let records = renewed.iter().filter(|(.., bytes)| bytes.len() == 32).count();
    assert_eq!((journal, pages.clone().count(), records), (1, live, live));
    for number in 0..live as u64 {
        let held = page_of(if number < 20 { 2000 + number } else { 1000 + number });
        assert!(pages.clone().any(|(.., bytes)| *bytes == held), "page {number}");
    }

    // Only then does anything change, and the superblock changes last.
    let changes = rest.iter().flatten().filter(|(_, before, bytes)| before != bytes);
    assert!(changes.count() > 0);
    let named = rest.iter().position(|round| round.iter().any(|(at, ..)| *at < BEHIND));
    assert!(named.is_some_and(|named| named > 0), "the checkpoint is synced before it is named");
}

#[test]
fn an_opening_whose_first_sync_fails_writes_nothing_more() {
    let settings = plain();
    let (media, _) = crashed(&settings);
    media.take_history();
    media.fail_sync(0, 7);
    let mut drive = opened(&media, &settings);
    assert!(drive.stat().read_only.is_some());
    assert!(drive.write(0, &page_of(1), false).is_err());
    let ops = media.take_history();
    let [Op::Write(..), Op::Write(..), Op::Settled { .. }] = &ops[..] else {
        panic!("the superblock's copies and a failed sync: {} operations", ops.len())
    };
}

#[test]
fn the_end_of_life_is_durable_when_the_host_hears_of_it() {
    let lifespan = Lifespan { endurance: Endurance::fixed(3), ends_at: EndOfLife::FirstFailure };
    let plain = plain();
    let layout = Layout { lifespan: Some(lifespan), ..plain.layout.clone() };
    let settings = Settings { layout, ..plain };
    let media = CrashMedia::of(new_medium(&settings).image());
    let mut drive = opened(&media, &settings);
    let pages = drive.pages();
    let refused = (0..100_000).find(|number| {
        media.take_history();
        drive.write(number * 7 % pages, &page_of(*number), false).is_err()
    });
    assert!(refused.is_some());
    assert!(drive.stat().read_only.is_some());
    let ops = media.take_history();
    let named = ops.iter().rposition(|op| matches!(op, Op::Write(at, _) if *at < BEHIND));
    assert!(named.is_some_and(|at| ops[at..].contains(&Op::Sync)), "the superblock is synced");
    // After a loss of power, the drive that is then on the disk takes no writes.
    let image = media.state().durable;
    assert!(opened(&CrashMedia::of(image), &settings).stat().read_only.is_some());
}
