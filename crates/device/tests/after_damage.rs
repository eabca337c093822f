//! The data that a read returns when a page is damaged, and the place at which an open block goes
//! on after a crash.

use crate::common::{new_medium, open, page_of, plain};
use flashgc_device::{Backend, DeviceError, PAGE};

fn place_of(image: &[u8], number: u64) -> usize {
    image.chunks(PAGE).position(|page| page == page_of(number)).expect("it was written")
}

/// Eight pages that lie side by side are read at once; the fourth has a flipped bit.
#[test]
fn nothing_of_a_damaged_page_reaches_whoever_reads_it_with_its_neighbours() {
    let media = new_medium(&plain());
    let mut drive = open(media.clone(), &plain());
    let pages: Vec<u8> = (0..8).flat_map(page_of).collect();
    drive.write(0, &pages, false).unwrap();
    drive.close().unwrap();
    let at = place_of(&media.image(), 3) * PAGE;
    assert_eq!(place_of(&media.image(), 7), at / PAGE + 4, "side by side");
    media.bytes()[at + 100] ^= 1;
    let mut drive = open(media, &plain());
    let mut found = vec![0xaa; 8 * PAGE];
    let read = drive.read(0, &mut found);
    assert!(matches!(read, Err(DeviceError::Media(_))), "{read:?}");
    assert!(found.iter().all(|&byte| byte == 0), "bytes are left that nobody has verified");
}

/// Pages 0, 1 and 2 are written, and the last two discarded: the next page goes where page 1 was.
#[test]
fn an_open_block_goes_on_behind_its_last_live_page_after_a_crash() {
    let media = new_medium(&plain());
    let mut drive = open(media.clone(), &plain());
    for page in 0..3 {
        drive.write(page, &page_of(page), false).unwrap();
    }
    drive.flush().unwrap();
    let place = place_of(&media.image(), 1);
    drive.trim(1, 2).unwrap();
    drive.flush().unwrap();
    drop(drive);
    let mut drive = open(media.clone(), &plain());
    assert_eq!(drive.stat().counters.erases, 0);
    drive.write(9, &page_of(9), false).unwrap();
    drive.flush().unwrap();
    assert_eq!(place_of(&media.image(), 9), place);
}

/// The only page of the open block is discarded: the block is erased, once.
#[test]
fn an_open_block_without_a_live_page_is_erased_after_a_crash() {
    let media = new_medium(&plain());
    let mut drive = open(media.clone(), &plain());
    let free = drive.stat().free_blocks;
    drive.write(0, &page_of(0), false).unwrap();
    drive.trim(0, 1).unwrap();
    drive.flush().unwrap();
    drop(drive);
    let stat = open(media, &plain()).stat();
    assert_eq!((stat.counters.erases, stat.most_erases, stat.free_blocks), (1, 1, free));
}
