//! Small drives, and commands for them.

#![allow(dead_code)] // each test uses its part

use flashgc_base::rng::Stream;
use flashgc_device::media::{FaultMedia, Faults, Media, MemMedia};
use flashgc_device::{Backend, DeviceError, Drive, Durability, PAGE, Settings};
use flashgc_ftl::{
    Allocation, Fill, Frontier, Geometry, Layout, PlacementSpec, Victim, VictimSpec,
};

pub const LOW: u32 = 2;
pub const UUID: [u8; 16] = *b"a drive of tests";

pub fn settings(victim: &str, placement: &str, allocation: &str) -> Settings {
    let placement = PlacementSpec::parse(placement).unwrap();
    // A placement with many classes needs more spare blocks.
    let keeps_many = placement.blocks_kept().unwrap_or(0) > 10 || placement.groups() > 1;
    let spare = if keeps_many { 0.3 } else { 0.2 };
    let layout = Layout {
        frontier: Frontier::Pool { low: LOW },
        streams: placement.needs_streams(),
        placement,
        allocation: Allocation::parse(allocation).unwrap(),
        fill: Fill::Empty,
        seed: 3,
        ..Layout::new(Geometry::with_spare(60, 12, spare).unwrap())
    };
    let victim = Victim::Registered(VictimSpec::parse(victim).unwrap());
    Settings {
        layout,
        victim,
        journal_blocks: 16,
        durability: Durability::Power,
        streams: None,
        parity: None,
    }
}

pub fn plain() -> Settings {
    settings("greedy", "none", "fifo")
}

/// Returns a medium in memory that holds a new drive.
pub fn new_medium(settings: &Settings) -> MemMedia {
    let mut media = MemMedia::new(settings.file_bytes().unwrap());
    Drive::create(&mut media, settings, UUID).unwrap();
    media
}

pub fn open(media: impl Media + 'static, settings: &Settings) -> Drive {
    Drive::open(Box::new(media), settings).unwrap()
}

/// Returns a page filled with `number + 1`, so that it never is equal to a page without data.
pub fn page_of(number: u64) -> Vec<u8> {
    (number + 1).to_le_bytes().repeat(PAGE / 8)
}

/// Draws commands. Half of the writes go to an eighth of the pages; one command in ten is a TRIM.
pub fn commands(count: usize, pages: u64, seed: u64) -> Vec<(u64, bool)> {
    let mut rng = Stream::new(seed, "commands");
    (0..count)
        .map(|_| {
            let page = u64::from(rng.below(pages as u32));
            let page = if rng.below(2) == 0 { page / 8 } else { page };
            (page, rng.below(10) == 0)
        })
        .collect()
}

/// Executes the commands. They have the numbers from `mark` on, and a write fills its page with its
/// number. `held` keeps the number in each page.
pub fn work(drive: &mut Drive, held: &mut [Option<u64>], commands: &[(u64, bool)], mark: u64) {
    for (number, &(page, is_trim)) in (mark..).zip(commands) {
        if is_trim {
            drive.trim(page, 1).unwrap();
        } else {
            drive.write(page, &page_of(number), false).unwrap();
        }
        held[page as usize] = (!is_trim).then_some(number);
    }
}

/// Checks that the pages of the drive have these numbers.
pub fn compare(drive: &mut Drive, held: &[Option<u64>]) {
    let mut bytes = vec![0; PAGE];
    for (page, &number) in (0..).zip(held) {
        drive.read(page, &mut bytes).unwrap();
        assert_eq!(bytes, number.map_or(vec![0; PAGE], page_of), "page {page}");
    }
}

/// Returns a drive on a medium that can fail, full of flushed data.
pub fn full(settings: &Settings) -> (Drive, MemMedia, Faults, Vec<Option<u64>>) {
    let media = new_medium(settings);
    let (failing, faults) = FaultMedia::new(media.clone());
    let mut drive = open(failing, settings);
    let pages = drive.pages();
    let mut held = vec![None; pages as usize];
    work(&mut drive, &mut held, &commands(3000, pages, 5), 0);
    drive.flush().unwrap();
    (drive, media, faults, held)
}

pub fn is_read_only<T>(done: Result<T, DeviceError>) -> bool {
    matches!(done, Err(DeviceError::ReadOnly(_)))
}
