//! Room for collections after a crash: recovery moves pages if too few blocks are erased.

use crate::common::{new_medium, open, page_of, plain, settings};
use flashgc_base::rng::Stream;
use flashgc_device::media::{CrashMedia, MemMedia, Op, State};
use flashgc_device::{Backend, DeviceError, Drive, PAGE, Settings};
use flashgc_ftl::{Frontier, Geometry};

/// A number of crashes beyond the number that a checkpoint remembers.
const CRASHES: u32 = 4100;

/// Returns the settings of a drive of 14 blocks of 6 pages with little spare room, which keeps as
/// few erased blocks as possible.
fn tight() -> Settings {
    let mut settings = settings("random", "dac:regions=2,threshold=900", "fifo");
    settings.layout.geometry = Geometry::new(14, 6, 56).unwrap();
    settings.layout.frontier = Frontier::Pool { low: 1 };
    settings
}

/// Returns the state of the medium of a drive that has worked without a flush of the host and is
/// now in the middle of one: everything is written, and nothing since the drive's own last sync is
/// durable.
fn in_a_flush(settings: &Settings, seed: u64) -> State {
    let media = CrashMedia::of(new_medium(settings).image());
    let mut drive = Drive::open(Box::new(media.clone()), settings).unwrap();
    let mut rng = Stream::new(seed, "work");
    let pages = drive.pages();
    for write in 0..pages + 100 + u64::from(rng.below(50)) {
        let page = if write < pages { write } else { u64::from(rng.below(pages as u32)) };
        drive.write(page, &page_of(page << 32 | write << 8), false).unwrap();
    }
    media.take_history();
    let mut state = media.state();
    drive.flush().unwrap();
    let ops = media.take_history();
    let sync = ops.iter().position(|op| *op == Op::Sync).expect("a flush syncs");
    ops[..sync].iter().for_each(|op| state.step(op));
    state
}

/// Returns one of the images that a loss of power may leave.
fn image(state: &State, rng: &mut Stream) -> Vec<u8> {
    let mut image = state.durable.clone();
    for op in &state.unsynced {
        if rng.below(3) > 0 {
            op.apply(&mut image);
        }
    }
    image
}

/// Calls `look` with many images. Some of them have fewer erased blocks than a collection may need.
fn each_image(mut look: impl FnMut(&Settings, &State, Vec<u8>)) {
    let settings = tight();
    let mut rng = Stream::new(1, "images");
    for seed in 0..50 {
        let state = in_a_flush(&settings, seed);
        for _ in 0..20 {
            look(&settings, &state, image(&state, &mut rng));
        }
    }
}

#[test]
fn a_drive_goes_on_whatever_copies_a_crash_took() {
    each_image(|settings, _, image| {
        let mut drive = Drive::open(Box::new(MemMedia::of(image)), settings).unwrap();
        for write in 0..2 * drive.pages() {
            let page = write * 5 % drive.pages();
            drive.write(page, &page_of(write), false).unwrap();
        }
    });
}

/// A bit is flipped in every page that was durable, also in those that recovery moves.
#[test]
fn a_damaged_page_that_recovery_moves_stays_damaged() {
    let mut damaged = 0;
    each_image(|settings, state, mut image| {
        let pages = image.chunks_mut(PAGE).zip(state.durable.chunks(PAGE));
        for (now, _) in pages.filter(|(now, durable)| now == durable && is_page(now)) {
            now[2000] ^= 1;
        }
        let mut drive = Drive::open(Box::new(MemMedia::of(image)), settings).unwrap();
        let mut bytes = vec![0; PAGE];
        for page in 0..drive.pages() {
            match drive.read(page, &mut bytes) {
                Err(DeviceError::Media(_)) => damaged += 1,
                read => assert!(read.is_ok() && is_page(&bytes), "page {page}: {read:?}"),
            }
        }
    });
    assert!(damaged > 0);
}

/// Returns `true` if these are the bytes of a page as [`page_of`] makes them.
fn is_page(bytes: &[u8]) -> bool {
    bytes[0] == 1 && bytes.chunks(8).all(|word| *word == bytes[..8])
}

/// Recovery erases lost out-of-band records in the unwritten part of open blocks, since a
/// checkpoint remembers only a limited number of crashes.
#[test]
fn a_record_that_a_crash_lost_stays_lost_whatever_number_of_crashes_follows() {
    let settings = plain();
    let media = new_medium(&settings);
    let mut drive = open(media.clone(), &settings);
    for page in 0..20 {
        drive.write(page, &page_of(page), false).unwrap();
    }
    drive.flush().unwrap();
    // The pages are on the medium when their stripe is whole, but the journal records that name
    // them are not.
    let is_there = |number| media.image().chunks(PAGE).any(|bytes| bytes == page_of(number));
    for page in 0.. {
        drive.write(page, &page_of(100 + page), false).unwrap();
        if is_there(100) {
            break;
        }
    }
    drop(drive);
    for _ in 0..CRASHES {
        drop(open(media.clone(), &settings));
    }
    let checked = flashgc_device::check::check(&media, &settings).unwrap();
    assert_eq!((checked.mapped, checked.disagree), (20, vec![]));
}
