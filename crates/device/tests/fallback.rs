//! Damage to checkpoints and journal of a drive that was not closed: the other checkpoint replaces
//! a damaged one, and durable data are never dropped without an error.

use crate::common::{compare, full, open, page_of, plain};
use flashgc_device::media::MemMedia;
use flashgc_device::{Backend, Drive, PAGE, Settings};

/// Returns the places in an image at which a structure with these first bytes begins.
fn places_of(image: &[u8], magic: &[u8]) -> Vec<usize> {
    (0..image.len()).step_by(PAGE).filter(|&at| image[at..].starts_with(magic)).collect()
}

/// Returns the image of a drive that was not closed but flushed, and the number in each page.
fn crashed(settings: &Settings) -> (Vec<u8>, Vec<Option<u64>>) {
    let (mut drive, media, _, mut held) = full(settings);
    for number in 0..20 {
        drive.write(number, &page_of(40_000 + number), true).unwrap();
        held[number as usize] = Some(40_000 + number);
    }
    drop(drive);
    (media.image(), held)
}

/// A journal block in front of other blocks is damaged: that is not the torn end of the journal.
#[test]
fn damage_within_the_journal_is_reported_and_not_cut_off() {
    let settings = Settings { journal_blocks: 256, ..plain() };
    let (image, held) = crashed(&settings);
    let number = |at: &usize| u64::from_le_bytes(*image[at + 8..].first_chunk().unwrap());
    let mut blocks = places_of(&image, b"FGJ1");
    blocks.sort_by_key(number);
    compare(&mut open(MemMedia::of(image.clone()), &settings), &held);
    let (last, before) = blocks.split_last().unwrap();
    for &at in &before[before.len() - 15..] {
        for byte in [0, 5, 9, 20, 40, 4000] {
            let mut bytes = image.clone();
            bytes[at + byte] ^= 16;
            let refused = Drive::open(Box::new(MemMedia::of(bytes)), &settings).err();
            let text = refused.expect("refused").to_string();
            assert!(text.contains("journal block") && text.contains("--from-oob"), "{text}");
        }
    }
    // If the last block is damaged, it is taken for one that was never written, since nothing on
    // the medium says that it was durable.
    let mut torn = image.clone();
    torn[last + 9] ^= 16;
    let mut drive = open(MemMedia::of(torn), &settings);
    let mut bytes = vec![0; PAGE];
    drive.read(18, &mut bytes).unwrap();
    assert_eq!(bytes, page_of(40_018));
}

/// The current checkpoint is damaged: the checkpoint before and its journal are used.
#[test]
fn the_checkpoint_before_takes_the_place_of_one_that_is_damaged() {
    let settings = plain();
    let (image, held) = crashed(&settings);
    let slots = places_of(&image, b"FGC2");
    assert_eq!(slots.len(), 2);
    let hit = |which: &[usize]| {
        let mut bytes = image.clone();
        which.iter().for_each(|&at| bytes[at + 100] ^= 1);
        let media = MemMedia::of(bytes);
        let checked = flashgc_device::check::check(&media, &settings);
        (Drive::open(Box::new(media.clone()), &settings), checked, media)
    };
    for &slot in &slots {
        let (drive, checked, media) = hit(&[slot]);
        let mut drive = drive.unwrap();
        compare(&mut drive, &held);
        drive.audit().unwrap();
        let checked = checked.unwrap();
        assert!(checked.damaged.is_empty() && checked.disagree.is_empty(), "{checked:?}");
        // The drive is repaired, and works on.
        drive.write(3, &page_of(5), true).unwrap();
        drop(drive);
        let mut held = held.clone();
        held[3] = Some(5);
        compare(&mut open(media, &settings), &held);
    }
    let (drive, checked, _) = hit(&slots);
    for text in [drive.err().unwrap().to_string(), checked.unwrap_err().to_string()] {
        assert!(text.contains("checkpoint A") && text.contains("checkpoint B"), "{text}");
        assert!(text.ends_with("hint: check --from-oob shows what is left"), "{text}");
    }
}

/// The last checkpoint of a closed drive is damaged: the drive opens, and its policies begin anew.
#[test]
fn a_closed_drive_opens_without_its_last_checkpoint() {
    let settings = plain();
    let (drive, media, _, held) = full(&settings);
    drive.close().unwrap();
    let whole = media.image();
    let mut anew = 0;
    for slot in places_of(&whole, b"FGC2") {
        let mut bytes = whole.clone();
        bytes[slot + 50] ^= 1;
        let mut drive = open(MemMedia::of(bytes), &settings);
        compare(&mut drive, &held);
        drive.audit().unwrap();
        anew += u32::from(drive.stat().recovery.is_some());
    }
    assert_eq!(anew, 1);
}

/// A checkpoint has just ended. Nothing was written to the journal since, so only the superblock
/// says that the last journal block was durable.
#[test]
fn a_block_that_the_superblock_knows_to_be_durable_is_not_cut_off() {
    let settings = plain();
    let (mut drive, media, _, _) = full(&settings);
    let before = drive.stat().opened.checkpoints;
    let mut page = 0;
    while drive.stat().opened.checkpoints == before {
        page = (page + 7) % drive.pages();
        drive.write(page, &page_of(page), true).unwrap();
    }
    drop(drive);
    let mut image = media.image();
    let number = |at: &usize| u64::from_le_bytes(*image[at + 8..].first_chunk().unwrap());
    let last = places_of(&image, b"FGJ1").into_iter().max_by_key(number).unwrap();
    image[last + 40] ^= 1;
    let refused = Drive::open(Box::new(MemMedia::of(image)), &settings).err();
    let text = refused.expect("refused").to_string();
    assert!(text.contains("journal block") && text.contains("--from-oob"), "{text}");
}
