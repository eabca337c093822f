//! Files that are damaged, mixed up or in use: a drive gives an error that says so, or the right
//! data, and never wrong data.

use crate::common;
use crate::common::{UUID, commands, compare, full, open, page_of, plain, settings, work};
use flashgc_base::rng::Stream;
use flashgc_device::check::map_from_oob;
use flashgc_device::media::{FileMedia, MemMedia};
use flashgc_device::{Backend, DeviceError, Drive, PAGE, Settings};
use flashgc_ftl::Geometry;

/// Bits are flipped in superblocks, configuration, checkpoints and journal, one or many at a time.
/// The drive opens with its data, or says that it cannot.
#[test]
fn turned_bits_in_any_structure_never_give_wrong_data() {
    let settings = plain();
    let (drive, media, _, held) = full(&settings);
    drive.close().unwrap();
    let image = media.image();
    let mut rng = Stream::new(2, "bits");
    let (mut opened, mut refused) = (0, 0);
    let structures = (image.len() - 720 * PAGE) as u32;
    for round in 0..1500 {
        let mut bytes = image.clone();
        // In a third of the rounds only the superblocks are damaged.
        let at = if round % 3 == 0 { rng.below(4 * PAGE as u32) } else { rng.below(structures) };
        let count = match round % 10 {
            0 => 20_000, // more than all superblocks
            5 => 3000,
            _ => 1,
        };
        for byte in &mut bytes[at as usize..][..count] {
            *byte ^= 1 << rng.below(8);
        }
        match Drive::open(Box::new(MemMedia::of(bytes)), &settings) {
            Ok(mut drive) => {
                opened += 1;
                let mut page_bytes = vec![0; PAGE];
                for (page, &number) in (0..).zip(&held) {
                    match drive.read(page, &mut page_bytes) {
                        Ok(()) => assert_eq!(page_bytes, number.map_or(vec![0; PAGE], page_of)),
                        Err(error) => assert!(matches!(error, DeviceError::Media(_)), "{error}"),
                    }
                }
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }
    assert!(opened > 500 && refused > 5, "{opened} {refused}");
}

#[test]
fn another_drive_another_version_other_settings_and_a_short_file_are_refused() {
    let settings = plain();
    let (drive, media, _, _) = full(&settings);
    drive.close().unwrap();
    let text = |bytes: Vec<u8>, settings: &Settings| {
        Drive::open(Box::new(MemMedia::of(bytes)), settings).err().expect("refused").to_string()
    };
    let image = media.image();
    assert!(text(vec![0; image.len()], &settings).contains("no superblock"));
    assert!(text(image[..image.len() - 1].to_vec(), &settings).contains("cut off"));
    assert!(text(image[..100].to_vec(), &settings).contains("no superblock"));
    assert!(
        text(image.clone(), &common::settings("fifo", "none", "fifo")).contains("other settings")
    );
    let mut smaller = plain();
    smaller.layout.geometry = Geometry::with_spare(50, 12, 0.2).unwrap();
    assert!(text(image.clone(), &smaller).contains("60 blocks of 12 pages"));
    // A superblock of version 2 with a correct check sum.
    let mut newer = image.clone();
    for copy in newer[..4 * PAGE].chunks_mut(PAGE) {
        copy[8] = 2;
        copy[12..16].fill(0);
        let sum = crc32c::crc32c(copy);
        copy[12..16].copy_from_slice(&sum.to_le_bytes());
    }
    assert!(text(newer, &settings).contains("version 2, expected 1"));
    // Superblocks of another drive with the same settings: the other structures have the tag of the
    // first drive.
    let mut other = MemMedia::new(image.len() as u64);
    Drive::create(&mut other, &settings, *b"another drive 12").unwrap();
    let mut mixed = image;
    mixed[..4 * PAGE].copy_from_slice(&other.image()[..4 * PAGE]);
    assert!(text(mixed, &settings).contains("damaged"));
}

#[test]
fn any_superblocks_may_be_lost_but_two_with_one_of_the_newest() {
    let settings = plain();
    let (mut drive, media, _, held) = full(&settings);
    drive.flush().unwrap();
    drive.close().unwrap();
    let image = media.image();
    let generation =
        |copy: usize| u64::from_le_bytes(*image[copy * PAGE + 64..].first_chunk().unwrap());
    let newest: Vec<usize> = {
        let most = (0..4).map(generation).max();
        (0..4).filter(|&copy| Some(generation(copy)) == most).collect()
    };
    assert_eq!(newest.len(), 2);
    let others: Vec<usize> = (0..4).filter(|copy| !newest.contains(copy)).collect();
    let wiped = |copies: &[usize]| {
        let mut bytes = image.clone();
        copies.iter().for_each(|copy| bytes[copy * PAGE..][..PAGE].fill(0));
        Drive::open(Box::new(MemMedia::of(bytes)), &settings)
    };
    for left in &newest {
        for lost in (0..4).filter(|lost| lost != left) {
            compare(&mut wiped(&[lost]).unwrap(), &held);
            for second in (0..4).filter(|second| ![left, &lost].contains(&second)) {
                compare(&mut wiped(&[lost, second]).unwrap(), &held);
            }
        }
    }
    compare(&mut wiped(&others).unwrap(), &held);
    assert!(wiped(&[newest[0], others[0], others[1]]).is_err(), "one copy alone says nothing");
}

#[test]
fn a_file_has_one_opener_and_takes_the_room_of_its_data() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.flash");
    let mut settings = settings("cost-benefit", "none", "fifo");
    settings.layout.geometry = Geometry::with_spare(1000, 64, 0.2).unwrap();
    settings.journal_blocks = Settings::JOURNAL_BLOCKS;
    let bytes = settings.file_bytes().unwrap();
    let mut media = FileMedia::create(&path, bytes).unwrap();
    Drive::create(&mut media, &settings, UUID).unwrap();
    let busy = FileMedia::open(&path).err().expect("in use").to_string();
    assert!(busy.contains("is in use by another process"), "{busy}");
    drop(media);
    let mut held = vec![None; settings.layout.geometry.logical_pages() as usize];
    {
        let mut drive = open(FileMedia::open(&path).unwrap(), &settings);
        work(&mut drive, &mut held, &commands(3000, 51_200, 1), 0);
        drive.flush().unwrap();
        compare(&mut drive, &held);
        assert!(FileMedia::open(&path).is_err());
    }
    // The journal's room is reserved, so that writes to it do not run out of room.
    let used = std::fs::metadata(&path).unwrap().blocks() * 512 - (64 << 20);
    assert!(used < 20 << 20 && bytes > 250 << 20, "{used} of {bytes}");
    let mut drive = open(FileMedia::open(&path).unwrap(), &settings);
    assert_eq!(drive.stat().unsafe_shutdowns, 1);
    compare(&mut drive, &held);
}

/// The map can be made from the out-of-band records alone, even if both checkpoints are gone.
#[test]
fn the_map_survives_the_loss_of_journal_and_checkpoints() {
    let settings = plain();
    let (mut drive, media, _, held) = full(&settings);
    drive.flush().unwrap();
    drop(drive);
    let whole = map_from_oob(&media, &settings).unwrap();
    assert!(whole.knows_losses);
    // Clears everything from the configuration to the out-of-band records, which are 720 times 32
    // bytes before the data.
    let len = media.image().len();
    let records = (len - 720 * PAGE - 720 * 32) / PAGE * PAGE;
    media.bytes()[4 * PAGE + (64 << 10)..records].fill(0);
    let refused = Drive::open(Box::new(media.clone()), &settings).err().expect("refused");
    assert!(refused.to_string().contains("--from-oob"), "{refused}");
    let rebuilt = map_from_oob(&media, &settings).unwrap();
    assert_eq!((rebuilt.map == whole.map, rebuilt.knows_losses), (true, false));
    let data = len - 720 * PAGE;
    for (page, number) in held.into_iter().enumerate() {
        let Some(number) = number else { continue };
        let (block, offset) = settings.layout.geometry.place_of(rebuilt.map[page]);
        let at = data + (block * 12 + offset) as usize * PAGE;
        assert_eq!(media.bytes()[at..][..PAGE], page_of(number), "page {page}");
    }
}

/// A crash loses a write, but its data and its out-of-band record stay in an open block. Then the
/// same page is written to the same place again, durably, and the medium loses that write. The data
/// of the first write must not be returned.
#[test]
fn what_a_crash_lost_is_never_taken_for_what_is_written_there_later() {
    let settings = plain();
    let (mut drive, media, _, mut held) = full(&settings);
    let places = media.image().len() - 720 * (PAGE + 32);
    drive.write(9, &page_of(60_000), false).unwrap();
    held[9] = Some(60_000);
    drive.flush().unwrap();
    drive.write(5, &page_of(70_000), false).unwrap();
    // The data wait in memory until their stripe is whole, and are then written to the medium.
    for page in 20.. {
        if media.image().chunks(PAGE).any(|bytes| bytes == page_of(70_000)) {
            break;
        }
        drive.write(page, &page_of(71_000), false).unwrap();
    }
    drop(drive);
    let mut drive = open(media.clone(), &settings);
    compare(&mut drive, &held);
    let before = media.image();
    drive.write(5, &page_of(80_000), false).unwrap();
    drive.flush().unwrap();
    let written = media.image();
    let place_of = |image: &[u8], number: u64| {
        image.chunks(PAGE).position(|page| page == page_of(number)).expect("it was written")
    };
    assert_eq!(place_of(&written, 80_000), place_of(&before, 70_000), "the same place");
    drive.close().unwrap();
    let mut image = media.image();
    image[places..].copy_from_slice(&before[places..]);
    let mut drive = open(MemMedia::of(image), &settings);
    let read = drive.read(5, &mut vec![0; PAGE]);
    assert!(matches!(read, Err(DeviceError::Media(_))), "{read:?}");
}

/// A bit is flipped in every page of data. A read is an error that is counted, and a collection
/// does not make the data look intact.
#[test]
fn damaged_data_are_an_error_and_stay_one_when_they_are_moved() {
    let settings = plain();
    let (drive, media, _, mut held) = full(&settings);
    drive.close().unwrap();
    let mut rng = Stream::new(1, "damage");
    let data = media.image().len() - 720 * PAGE;
    for block in 0..720 {
        let at = data + block * PAGE + rng.below(PAGE as u32) as usize;
        if rng.below(40) == 0 {
            media.bytes()[at] ^= 1 << rng.below(8);
        }
    }
    let mut drive = open(media.clone(), &settings);
    let mut bytes = vec![0; PAGE];
    let mut damaged = |drive: &mut Drive, held: &[Option<u64>]| -> Vec<u64> {
        let read = |&page: &u64| match drive.read(page, &mut bytes) {
            Ok(()) => {
                assert_eq!(bytes, held[page as usize].map_or(vec![0; PAGE], page_of), "{page}");
                false
            }
            Err(DeviceError::Media(why)) => {
                assert!(why.starts_with(&format!("page {page}: ")), "{why}");
                true
            }
            Err(error) => panic!("{error}"),
        };
        (0..held.len() as u64).filter(read).collect()
    };
    let first = damaged(&mut drive, &held);
    assert!(first.len() > 5, "{first:?}");
    assert_eq!(drive.stat().media_errors, first.len() as u64);
    assert_eq!(flashgc_device::check::check(&media, &settings).unwrap().damaged.len(), first.len());
    // The other pages are overwritten, so that the damaged pages are moved.
    for number in 0..6000 {
        let page = u64::from(rng.below(held.len() as u32));
        if !first.contains(&page) {
            drive.write(page, &page_of(90_000 + number), false).unwrap();
            held[page as usize] = Some(90_000 + number);
        }
    }
    assert_eq!(damaged(&mut drive, &held), first);
    drive.flush().unwrap();
    drop(drive);
    let mut drive = open(media.clone(), &settings);
    assert_eq!(damaged(&mut drive, &held), first);
    // The count of media errors survives a restart.
    let counted = drive.stat().media_errors;
    drive.close().unwrap();
    assert_eq!(open(media, &settings).stat().media_errors, counted);
}
