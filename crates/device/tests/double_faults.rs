//! Damage to a drive that was not closed is not taken for a crash: flushed data are there, or a
//! read or the opening is an error.
//!
//! One kind is left out: damaged data of the last flush cannot be told from a write that a crash
//! tore.

use crate::common::{new_medium, open, page_of, plain};
use flashgc_device::media::{Fault, FaultMedia, MemMedia};
use flashgc_device::{Backend, Drive, PAGE};

/// Returns the medium of a drive with two pages, each flushed, after the end of the process.
fn crashed() -> MemMedia {
    let settings = plain();
    let media = new_medium(&settings);
    let mut drive = open(media.clone(), &settings);
    for page in [5, 6] {
        drive.write(page, &page_of(page), false).unwrap();
        drive.flush().unwrap();
    }
    media
}

fn check(drive: Result<Drive, flashgc_device::DeviceError>, what: &str) {
    let Ok(mut drive) = drive else { return };
    for page in [5, 6] {
        let mut bytes = vec![0; PAGE];
        if drive.read(page, &mut bytes).is_ok() {
            assert_eq!(bytes[..8], page_of(page)[..8], "{what}: page {page} is lost, silently");
        }
    }
}

fn flipped(at: usize, what: &str) {
    let mut image = crashed().image();
    image[at] ^= 1;
    check(Drive::open(Box::new(MemMedia::of(image)), &plain()), what);
}

fn unreadable(at: usize, what: &str) {
    let (media, faults) = FaultMedia::new(crashed());
    faults.add(Fault::Read(at as u64));
    let drive = Drive::open(Box::new(media), &plain());
    faults.clear();
    check(drive, what);
}

fn places(pattern: &[u8]) -> Vec<usize> {
    let image = crashed().image();
    (0..image.len()).step_by(PAGE).filter(|&at| image[at..].starts_with(pattern)).collect()
}

#[test]
fn a_flip_in_a_superblock() {
    (0..4).for_each(|copy| flipped(copy * PAGE + 100, &format!("copy {copy}")));
}

#[test]
fn a_superblock_that_cannot_be_read() {
    (0..4).for_each(|copy| unreadable(copy * PAGE + 100, &format!("copy {copy}")));
}

#[test]
fn a_flip_in_a_journal_block_with_one_behind_it() {
    let blocks = places(b"FGJ1");
    assert_eq!(blocks.len(), 2);
    flipped(blocks[0] + 40, "the first journal block");
}

#[test]
fn a_journal_block_that_cannot_be_read() {
    places(b"FGJ1").iter().for_each(|&at| unreadable(at + 40, "a journal block"));
}

#[test]
fn data_that_cannot_be_read_in_recovery() {
    for page in [5, 6] {
        for at in places(&page_of(page)) {
            unreadable(at, "data");
        }
    }
}
