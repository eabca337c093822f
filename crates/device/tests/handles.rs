//! Placement handles that change to another block before theirs is full: with restarts, crashes and
//! collections.

use flashgc_base::rng::Stream;
use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_device::media::CrashMedia;
use flashgc_device::{Backend, BlockState, DeviceError, Drive, Recording, Settings, WriteStreams};
use flashgc_ftl::victim_policies;

use crate::common::{compare, new_medium, open, page_of, plain, settings};

/// The number of pages in a block of [`settings`].
const UNIT: u32 = 12;

fn placed(victim: &str) -> Settings {
    settings(victim, "fdp:handles=3,persistent=1", "fifo")
}

fn write(drive: &mut Drive, page: u64, number: u64, handle: StreamId) {
    drive.write_named(page, &page_of(number), WriteStreams(&[handle]), false).unwrap();
}

/// Returns the states and the valid pages of the blocks of a class that are not erased.
fn blocks_of(drive: &Drive, class: u8) -> Vec<(BlockState, u32)> {
    let blocks = drive.blocks().filter(|one| one.state != BlockState::Erased && one.class == class);
    blocks.map(|block| (block.state, block.valid)).collect()
}

#[test]
fn a_handle_goes_on_in_an_erased_block_and_leaves_a_candidate() {
    let settings = placed("greedy");
    let mut drive = open(new_medium(&settings), &settings);
    // The handle has no open block yet, so it leaves no pages.
    assert_eq!(drive.close_unit(1).unwrap(), Some(0));
    for page in 0..5 {
        write(&mut drive, page, page, 1);
    }
    write(&mut drive, 0, 9, 1);
    // The room counts unwritten pages; overwritten pages give none back.
    assert_eq!([0, 1, 2].map(|handle| drive.room_of(handle)), [UNIT, UNIT - 6, UNIT]);
    let before = drive.stat();
    assert_eq!(drive.close_unit(1).unwrap(), Some(UNIT - 6));
    assert_eq!(drive.close_unit(1).unwrap(), Some(0), "it has none");
    assert_eq!(blocks_of(&drive, 1), [(BlockState::Closed, 5)]);
    assert_eq!(drive.room_of(1), UNIT);
    // To leave a block programs no page.
    assert_eq!(drive.stat().counters, before.counters);
    write(&mut drive, 20, 20, 1);
    assert_eq!(blocks_of(&drive, 1), [(BlockState::Closed, 5), (BlockState::Open, 1)]);
    // A full block has no unwritten pages to leave.
    for page in 21..20 + u64::from(UNIT) {
        write(&mut drive, page, page, 1);
    }
    assert_eq!(drive.room_of(1), 0);
    assert_eq!((drive.close_unit(1).unwrap(), drive.room_of(1)), (Some(0), UNIT));
    // These streams are no handles, though copies have a class, too, and writes without a stream go
    // to handle 0.
    for stream in [3, 4, NO_STREAM - 1, NO_STREAM] {
        assert_eq!(drive.close_unit(stream).unwrap(), None, "{stream}");
    }
    drive.audit().unwrap();
    let mut without = open(new_medium(&plain()), &plain());
    assert_eq!(without.close_unit(0).unwrap(), None);
}

/// A recording has no request for the change to another block, so the counting drive would decide
/// otherwise.
#[test]
fn a_drive_with_a_recording_refuses_another_unit() {
    let folder = tempfile::tempdir().unwrap();
    let settings = placed("greedy");
    let mut drive = open(new_medium(&settings), &settings);
    write(&mut drive, 0, 0, 1);
    let path = folder.path().join("drive.flashgc");
    drive.replace_recording(Some(Recording::begin(&path, drive.pages(), true).unwrap()));
    let refused = drive.close_unit(1).unwrap_err();
    assert!(matches!(refused, DeviceError::Recorded), "{refused}");
    assert!(refused.to_string().contains("hint: end the recording"));
    assert_eq!(drive.room_of(1), UNIT - 1);
    drive.replace_recording(None);
    assert_eq!(drive.close_unit(1).unwrap(), Some(UNIT - 1));
}

/// Writes random pages, and lets a handle leave its block every few pages. Returns the number of
/// unwritten pages in the blocks left.
fn work(drive: &mut Drive, held: &mut [Option<u64>], count: u64, seed: u64) -> u64 {
    let mut rng = Stream::new(seed, "units");
    let mut left = 0;
    for number in 0..count {
        let page = rng.below(held.len() as u32);
        let handle = rng.below(3) as StreamId;
        write(drive, page.into(), seed << 32 | number, handle);
        held[page as usize] = Some(seed << 32 | number);
        if rng.below(6) == 0 {
            left += u64::from(drive.close_unit(rng.below(3) as StreamId).unwrap().unwrap());
        }
    }
    left
}

/// Every policy collects blocks with pages that were never programmed, and its state stays right.
#[test]
fn collections_take_units_that_were_left() {
    for policy in victim_policies() {
        let settings = placed(policy.name);
        let mut drive = open(new_medium(&settings), &settings);
        let mut held = vec![None; drive.pages() as usize];
        let left = work(&mut drive, &mut held, 6000, 1);
        assert!(left > 2000, "{}: {left}", policy.name);
        drive.audit().unwrap_or_else(|why| panic!("{}: {why}", policy.name));
        let counters = drive.stat().counters;
        // On average, fewer pages are programmed between two erases than a block has.
        assert!(counters.erases * u64::from(UNIT) > counters.host_pages + counters.copied_pages);
        compare(&mut drive, &held);
    }
}

/// Each group has a unit of every handle.
#[test]
fn a_unit_is_left_in_the_group_that_is_named() {
    let settings = settings("greedy", "fdp:handles=2,groups=2", "fifo");
    let media = new_medium(&settings);
    let mut drive = open(media.clone(), &settings);
    for page in 0..4 {
        write(&mut drive, page, page, page as StreamId);
    }
    let rooms = |drive: &Drive| [0, 1, 2, 3, 4].map(|stream| drive.room_of(stream));
    assert_eq!(rooms(&drive), [UNIT - 1, UNIT - 1, UNIT - 1, UNIT - 1, UNIT]);
    assert_eq!(drive.close_unit(2).unwrap(), Some(UNIT - 1));
    assert_eq!(drive.close_unit(4).unwrap(), None);
    let left = [UNIT - 1, UNIT - 1, UNIT, UNIT - 1, UNIT];
    assert_eq!(rooms(&drive), left);
    drive.audit().unwrap();
    // After a crash each handle goes on in the block that it opened last in its group. Handle 0 has left
    // its block of group 1, and that is the last of them with data.
    drive.flush().unwrap();
    drop(drive);
    let drive = open(media, &settings);
    assert!(drive.stat().recovery.is_some());
    assert_eq!(rooms(&drive), [UNIT - 1, UNIT - 1, UNIT - 1, UNIT - 1, UNIT]);
    let stat = drive.stat();
    assert_eq!((stat.mapped_pages, stat.free_blocks), (4, 56));
}

#[test]
fn a_closed_drive_opens_with_the_same_units() {
    let settings = placed("cost-benefit");
    let media = new_medium(&settings);
    let mut drive = open(media.clone(), &settings);
    let mut held = vec![None; drive.pages() as usize];
    work(&mut drive, &mut held, 3000, 1);
    write(&mut drive, 0, 0, 2);
    held[0] = Some(0);
    drive.close_unit(2).unwrap();
    let rooms = |drive: &Drive| [0, 1, 2].map(|handle| drive.room_of(handle));
    let (before, decisions) = (rooms(&drive), drive.stat().decisions);
    assert_eq!(before[2], UNIT);
    drive.close().unwrap();
    let mut drive = open(media, &settings);
    assert_eq!((rooms(&drive), drive.stat().decisions), (before, decisions));
    compare(&mut drive, &held);
    work(&mut drive, &mut held, 2000, 2);
    drive.audit().unwrap();
    compare(&mut drive, &held);
}

/// After the end of the process at any operation of the medium, every page has its flushed data or
/// later data.
#[test]
fn a_crash_at_any_moment_loses_no_flushed_page() {
    let settings = placed("greedy");
    let media = CrashMedia::of(new_medium(&settings).image());
    let mut drive = open(media.clone(), &settings);
    let mut held = vec![None; drive.pages() as usize];
    work(&mut drive, &mut held, 3000, 1);
    drive.flush().unwrap();
    let mut state = media.state();
    media.take_history();
    // The upper half of the pages stays; the lower half is overwritten, and handles leave their
    // blocks.
    let (half, mut rng) = (held.len() as u32 / 2, Stream::new(7, "crash"));
    for number in 0..150 {
        write(&mut drive, rng.below(half).into(), number, (number % 3) as StreamId);
        if number % 4 == 0 {
            drive.close_unit((number / 4 % 3) as StreamId).unwrap();
        }
        if number % 31 == 0 {
            drive.flush().unwrap();
        }
    }
    drop(drive);
    let ops = media.take_history();
    assert!(ops.len() > 50, "{}", ops.len());
    for (number, op) in ops.iter().enumerate() {
        state.step(op);
        let mut drive = open(CrashMedia::of_state(state.clone()), &settings);
        drive.audit().unwrap();
        let mut bytes = vec![0; flashgc_device::PAGE];
        for page in half..held.len() as u32 {
            drive.read(page.into(), &mut bytes).unwrap();
            let expected = held[page as usize].map_or(vec![0; bytes.len()], page_of);
            assert!(bytes == expected, "operation {number}, page {page}");
        }
        let mut all = held.clone();
        for page in 0..half {
            drive.read(page.into(), &mut bytes).unwrap();
            let number = u64::from_le_bytes(*bytes.first_chunk().unwrap());
            all[page as usize] = number.checked_sub(1);
        }
        // The recovered drive works on, and its handles leave blocks.
        work(&mut drive, &mut all, 40, 3);
        drive.audit().unwrap();
        compare(&mut drive, &all);
    }
}

/// After a crash a handle goes on in the block that it opened last, behind the last page there.
#[test]
fn a_crash_gives_a_unit_back_of_which_no_successor_was_written() {
    let settings = placed("greedy");
    for writes_successor in [false, true] {
        let media = new_medium(&settings);
        let mut drive = open(media.clone(), &settings);
        (0..4).for_each(|page| write(&mut drive, page, page, 1));
        assert_eq!(drive.close_unit(1).unwrap(), Some(UNIT - 4));
        if writes_successor {
            write(&mut drive, 9, 9, 1);
        }
        drive.flush().unwrap();
        drop(drive);
        let drive = open(media, &settings);
        let room = if writes_successor { UNIT - 1 } else { UNIT - 4 };
        assert_eq!(drive.room_of(1), room);
        let closed = blocks_of(&drive, 1).iter().filter(|one| one.0 == BlockState::Closed).count();
        assert_eq!(closed, usize::from(writes_successor));
    }
}
