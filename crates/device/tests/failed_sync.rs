//! Syncs that fail, ends of the process, and losses of power, one after the other. After a failed
//! sync the system takes the pages for written, so that reads and the disk differ from then on.

use std::io;
use std::sync::{Arc, Mutex};

use crate::common::{UUID, page_of, plain, settings};
use flashgc_base::rng::Stream;
use flashgc_device::media::Media;
use flashgc_device::{Backend, DeviceError, Drive, Durability, PAGE, Settings};

/// The bytes that reads return, the bytes that a loss of power leaves, and the writes by which both
/// differ.
#[derive(Default)]
struct Images {
    visible: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<(usize, Vec<u8>)>,
    /// The countdown to a sync that fails once (0: the next one), and the number of writes in four
    /// that reach the disk then.
    fails_in: Option<(u32, u32)>,
    /// The countdown to the write at which the power is lost.
    ends_in: Option<u32>,
    rng: Option<Stream>,
    takes_room_back: bool,
}

/// A disk below a page cache. Clones share the bytes.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Images>>);

impl Disk {
    fn new(len: u64) -> Self {
        let zeros = || vec![0; len as usize];
        let images = Images { visible: zeros(), durable: zeros(), ..Images::default() };
        Self(Arc::new(Mutex::new(Images { takes_room_back: true, ..images })))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Images) -> T) -> T {
        work(&mut self.0.lock().unwrap())
    }

    fn fail_sync(&self, after: u32, quarters: u32) {
        self.with(|images| images.fails_in = Some((after, quarters)));
    }

    fn works(&self) {
        self.with(|images| (images.fails_in, images.ends_in) = (None, None));
    }

    /// Simulates a loss of power. `keeps` is called for each unsynced write, and returns true if
    /// that write had reached the disk.
    fn lose_power(&self, mut keeps: impl FnMut() -> bool) {
        self.with(|images| {
            for (at, bytes) in std::mem::take(&mut images.unsynced) {
                if keeps() {
                    images.durable[at..at + bytes.len()].copy_from_slice(&bytes);
                }
            }
            images.visible = images.durable.clone();
        });
    }
}

impl Media for Disk {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.with(|images| into.copy_from_slice(&images.visible[at as usize..][..into.len()]));
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.with(|images| {
            images.ends_in = match images.ends_in {
                Some(0) => return Err(io::Error::from_raw_os_error(5)),
                left => left.map(|left| left - 1),
            };
            images.visible[at as usize..][..bytes.len()].copy_from_slice(bytes);
            images.unsynced.push((at as usize, bytes.to_vec()));
            Ok(())
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.with(|images| {
            if images.ends_in == Some(0) {
                return Err(io::Error::from_raw_os_error(5));
            }
            let fails = images.fails_in.take();
            images.fails_in = fails.and_then(|(left, share)| Some((left.checked_sub(1)?, share)));
            let fails = fails.and_then(|(left, share)| (left == 0).then_some(share));
            let rng = images.rng.get_or_insert_with(|| Stream::new(1, "disk"));
            for (at, bytes) in std::mem::take(&mut images.unsynced) {
                if fails.is_none_or(|share| rng.below(4) < share) {
                    images.durable[at..at + bytes.len()].copy_from_slice(&bytes);
                }
            }
            fails.map_or(Ok(()), |_| Err(io::Error::from_raw_os_error(5)))
        })
    }

    fn gives_room_back(&self) -> bool {
        true
    }

    fn punch(&mut self, at: u64, len: u64) -> io::Result<()> {
        match self.with(|images| images.takes_room_back) {
            true => self.write_at(at, &vec![0; len as usize]),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn reserve(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> u64 {
        self.with(|images| images.visible.len() as u64)
    }
}

fn new_disk(settings: &Settings) -> Disk {
    let mut disk = Disk::new(settings.file_bytes().unwrap());
    Drive::create(&mut disk, settings, UUID).unwrap();
    disk
}

fn open(disk: &Disk, settings: &Settings) -> Drive {
    Drive::open(Box::new(disk.clone()), settings).unwrap()
}

fn numbers(drive: &mut Drive, pages: u64) -> Vec<Result<u64, String>> {
    let mut bytes = vec![0; PAGE];
    let mut read = |page| {
        drive.read(page, &mut bytes).map_err(|error| error.to_string())?;
        let number = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        assert_eq!(bytes, number.to_le_bytes().repeat(PAGE / 8), "page {page} is torn");
        Ok(number)
    };
    (0..pages).map(&mut read).collect()
}

/// 64 pages are flushed, 16 of them are written again, and the second flush fails. The drive that
/// is opened next reads the second version, and its flush succeeds. Then the power is lost.
#[test]
fn what_a_reopened_drive_vouches_for_is_there_after_a_failed_sync_and_a_loss_of_power() {
    let disk = new_disk(&plain());
    let mut drive = open(&disk, &plain());
    (0..64).for_each(|page| drive.write(page, &page_of(100 + page), false).unwrap());
    drive.flush().unwrap();
    (0..16).for_each(|page| drive.write(page, &page_of(200 + page), false).unwrap());
    disk.fail_sync(0, 0);
    assert!(matches!(drive.flush(), Err(DeviceError::ReadOnly(_))));
    assert!(matches!(drive.write(0, &page_of(1), false), Err(DeviceError::ReadOnly(_))));
    drop(drive);
    let mut drive = open(&disk, &plain());
    let held = numbers(&mut drive, 64);
    assert_eq!(held[0], Ok(201), "the page cache has it");
    drive.flush().unwrap();
    drop(drive);
    disk.lose_power(|| false);
    assert_eq!(numbers(&mut open(&disk, &plain()), 64), held);
}

/// A drive lives through writes, flushes, failing syncs, ends of the process and losses of power in
/// random order. The numbers written to pages grow. So a page with a smaller number than at the
/// last flush has lost flushed data.
#[test]
fn failed_syncs_ends_of_processes_and_losses_of_power_compose() {
    let mut lost_power = 0;
    let seeds = std::env::var("FLASHGC_LIVES").map_or(150, |count| count.parse().unwrap());
    for seed in 0..seeds {
        let mut rng = Stream::new(seed, "lives");
        let policy = ["greedy", "cost-benefit", "fifo"][seed as usize % 3];
        let settings = settings(policy, "none", "fifo");
        let disk = new_disk(&settings);
        let mut drive = open(&disk, &settings);
        let pages = drive.pages();
        let (mut number, mut flushed) = (1, vec![0; pages as usize]);
        for life in 0..12 {
            let mut held: Vec<u64> =
                numbers(&mut drive, pages).into_iter().map(Result::unwrap).collect();
            for (page, (&held, &flushed)) in held.iter().zip(&flushed).enumerate() {
                assert!(held >= flushed, "seed {seed}, life {life}: page {page} lost {flushed}");
            }
            if drive.stat().read_only.is_none() {
                flushed.clone_from(&held); // an opening makes durable what it found
            }
            if rng.below(2) == 0 {
                disk.fail_sync(rng.below(12), rng.below(4));
            }
            for _ in 0..rng.below(400) {
                let page = if rng.below(2) == 0 { rng.below(20) } else { rng.below(pages as u32) };
                let done = match rng.below(12) {
                    0 => drive.flush().map(|()| flushed.clone_from(&held)),
                    _ => drive.write(page.into(), &page_of(number), false).map(|()| {
                        number += 1;
                        held[page as usize] = number;
                    }),
                };
                if done.is_err() {
                    assert!(drive.stat().read_only.is_some(), "seed {seed}");
                    number += 1; // the page that failed may be there
                    break;
                }
            }
            let closes = rng.below(6) == 0;
            if closes && drive.stat().read_only.is_none() {
                // If closing fails, the drive is as after a crash.
                if drive.close().is_ok() {
                    flushed.clone_from(&held);
                }
            } else {
                drop(drive);
            }
            disk.works();
            if rng.below(2) == 0 {
                lost_power += 1;
                let share = rng.below(3);
                disk.lose_power(|| rng.below(2) < share);
            }
            // Recovery is cut off, or its sync fails.
            while rng.below(3) == 0 {
                let is_cut = rng.below(2) == 0;
                match is_cut {
                    true => disk.with(|images| images.ends_in = Some(rng.below(60))),
                    false => disk.fail_sync(rng.below(5), rng.below(4)),
                }
                drop(Drive::open(Box::new(disk.clone()), &settings));
                disk.works();
                if is_cut || rng.below(2) == 0 {
                    let share = rng.below(5);
                    disk.lose_power(|| rng.below(4) < share);
                }
            }
            drive = open(&disk, &settings);
        }
        drive.audit().unwrap();
    }
    assert!(lost_power > 5 * seeds);
}

/// A drive with durability `process` is opened with durability `power`: data flushed from then on
/// survive a loss of power.
#[test]
fn a_drive_that_did_not_sync_keeps_what_is_flushed_once_it_does() {
    let unsynced = Settings { durability: Durability::Process, ..plain() };
    for closes in [false, true] {
        let disk = new_disk(&unsynced);
        let mut drive = open(&disk, &unsynced);
        (0..64).for_each(|page| drive.write(page, &page_of(100 + page), false).unwrap());
        if closes {
            disk.fail_sync(0, 0);
            drive.close().unwrap_err();
        } else {
            drive.flush().unwrap();
            drop(drive);
        }
        let opened = Drive::open_as(Box::new(disk.clone()), &unsynced, Durability::Power);
        let mut drive = opened.unwrap();
        (64..96).for_each(|page| drive.write(page, &page_of(100 + page), false).unwrap());
        drive.flush().unwrap();
        drop(drive);
        disk.lose_power(|| false);
        let held = numbers(&mut open(&disk, &unsynced), 96);
        let expected: Vec<_> = (64..96).map(|page| Ok(page + 101)).collect();
        assert_eq!(held[64..], expected, "closed: {closes}");
    }
}

/// Damage to the journal of an idle drive that was not closed is an error, not older data.
#[test]
fn an_idle_drive_vouches_for_its_journal() {
    let (mut refused, mut kept) = (0, 0);
    for rests in [0, 2] {
        let disk = new_disk(&plain());
        let mut drive = open(&disk, &plain());
        drive.write(5, &page_of(5), false).unwrap();
        drive.flush().unwrap();
        (0..rests).for_each(|_| drive.rest());
        let syncs = drive.stat().opened.syncs;
        (0..5).for_each(|_| drive.rest());
        assert_eq!(drive.stat().opened.syncs == syncs, rests == 2, "an idle drive does it once");
        drop(drive);
    }
    let disk = new_disk(&plain());
    let mut drive = open(&disk, &plain());
    drive.write(5, &page_of(5), false).unwrap();
    drive.flush().unwrap();
    (0..2).for_each(|_| drive.rest());
    drop(drive);
    let image = disk.with(|images| images.durable.clone());
    let blocks: Vec<usize> =
        (0..image.len()).step_by(PAGE).filter(|&at| image[at..].starts_with(b"FGJ1")).collect();
    assert_eq!(blocks.len(), 2, "one with the write, and one that vouches for it");
    for at in blocks.into_iter().flat_map(|at| [at + 20, at + 40, at + 44]) {
        let damaged = Disk::new(image.len() as u64);
        damaged.with(|images| {
            images.durable.clone_from(&image);
            images.durable[at] ^= 1;
        });
        damaged.lose_power(|| false);
        match Drive::open(Box::new(damaged), &plain()) {
            Err(_) => refused += 1,
            Ok(mut drive) => {
                assert_eq!(numbers(&mut drive, 6)[5], Ok(6), "byte {at}");
                kept += 1;
            }
        }
    }
    assert_eq!((refused, kept), (3, 3), "damage to the write's block, and to the other one");
}

/// The host's file system cannot take room back: the drive works on, and its report says so.
#[test]
fn a_medium_that_takes_no_room_back_is_no_reason_to_stop() {
    let disk = new_disk(&plain());
    disk.with(|images| images.takes_room_back = false);
    let mut drive = open(&disk, &plain());
    let pages = drive.pages();
    for number in 0..20 * pages {
        drive.write(number * 7 % pages, &page_of(number), false).unwrap();
    }
    let stat = drive.stat();
    assert!(stat.opened.checkpoints > 2 && stat.read_only.is_none(), "{stat:?}");
    assert!(!stat.gives_room_back);
}
