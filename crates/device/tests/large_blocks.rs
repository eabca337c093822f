//! Drives whose blocks have more pages than a journal block has records. Such drives write much
//! between two syncs, which is rare on the small drives of the crash campaign.

use crate::common::{compare, new_medium, page_of, plain};
use flashgc_device::media::{CrashMedia, Op};
use flashgc_device::{Backend, Drive, PAGE, Settings};
use flashgc_ftl::{Fill, Frontier, Geometry, Layout};

/// 8 blocks of 1024 pages, and a journal of 8 blocks.
fn settings() -> Settings {
    let plain = plain();
    let layout = Layout {
        frontier: Frontier::Pool { low: 2 },
        fill: Fill::Empty,
        ..Layout::new(Geometry::new(8, 1024, 4096).unwrap())
    };
    Settings { layout, journal_blocks: 8, ..plain }
}

fn opened(media: &CrashMedia, settings: &Settings) -> Drive {
    Drive::open(Box::new(media.clone()), settings).unwrap()
}

/// The first byte of the zone of checkpoints, behind the superblocks and the configuration.
const CHECKPOINTS: u64 = 4 * PAGE as u64 + (64 << 10);

#[test]
fn a_superblock_is_durable_before_the_slot_of_the_checkpoint_before_is_written() {
    let settings = settings();
    let media = CrashMedia::of(new_medium(&settings).image());
    let mut drive = opened(&media, &settings);
    media.take_history();
    for number in 0..9000 {
        drive.write(number * 7 % 4096, &page_of(number), false).unwrap();
    }
    let ops = media.take_history();
    let journal = ops.iter().find_map(|op| match op {
        // The first write of one whole page behind the checkpoints is a journal block.
        Op::Write(at, bytes) if *at >= CHECKPOINTS && bytes.len() == PAGE => Some(*at),
        _ => None,
    });
    let journal = journal.expect("a journal block was written");
    let (mut is_synced, mut named, mut slots) = (true, 0, 0);
    for op in &ops {
        match op {
            Op::Write(at, _) if *at < CHECKPOINTS => (is_synced, named) = (false, named + 1),
            Op::Write(at, _) if *at < journal => {
                assert!(is_synced, "a slot is written, and the superblock may not be on the disk");
                slots += 1;
            }
            Op::Sync => is_synced = true,
            _ => {}
        }
    }
    assert!(named > 4 && slots > 4, "{named} superblocks, {slots} writes of slots");
}

#[test]
fn a_drive_that_is_opened_says_so_durably_before_anything_else() {
    let settings = settings();
    let media = CrashMedia::of(new_medium(&settings).image());
    opened(&media, &settings).close().unwrap();
    media.take_history();
    let _drive = opened(&media, &settings);
    let ops = media.take_history();
    let written = ops.iter().rposition(|op| matches!(op, Op::Write(at, _) if *at < CHECKPOINTS));
    assert_eq!(ops[written.expect("a superblock was written") + 1..], [Op::Sync]);
}

#[test]
fn more_records_than_a_journal_block_holds_are_kept() {
    let settings = settings();
    let media = CrashMedia::of(new_medium(&settings).image());
    let mut drive = opened(&media, &settings);
    let mut held = vec![None; 4096];
    for number in 0..600 {
        drive.write(number, &page_of(number), false).unwrap();
        held[number as usize] = Some(number);
    }
    drive.flush().unwrap();
    drop(drive);
    compare(&mut opened(&media, &settings), &held);
}
