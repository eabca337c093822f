//! Drives with a past: holes for data, and the decisions of a drive with real ones.

use std::os::unix::fs::MetadataExt;

use crate::common::{compare, new_medium, open, page_of, plain, work};
use flashgc_device::media::FileMedia;
use flashgc_device::past::{self, Aged, Until};
use flashgc_device::{Drive, Served, Settings};
use flashgc_workload::Batch;
use flashgc_workload::generate::GeneratorSpec;

const UUID: [u8; 16] = [7; 16];

fn made(settings: &Settings) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.flash");
    let mut media = FileMedia::create(&path, settings.file_bytes().unwrap()).unwrap();
    Drive::create(&mut media, settings, UUID).unwrap();
    (folder, path)
}

fn uniform() -> GeneratorSpec {
    GeneratorSpec::parse("uniform").unwrap()
}

#[test]
fn a_past_decides_as_real_data_do_and_takes_no_room() {
    let settings = plain();
    let (_folder, path) = made(&settings);
    let empty = path.metadata().unwrap().blocks();
    let mut drive = past::open(FileMedia::open(&path).unwrap(), &settings).unwrap();
    let aged = past::age(&mut drive, 0.8, (&uniform(), 5), Until::Times(2.5), &|| false).unwrap();
    let pages = (drive.pages() as f64 * 0.8) as u64;
    assert_eq!((aged.pages, aged.overwritten), (pages, pages * 5 / 2));
    // The same writes, with data.
    let mut real = open(new_medium(&settings), &settings);
    let mut workload = uniform().open(pages as u32, 5).unwrap();
    let mut batch = Batch::default();
    (0..pages).for_each(|page| real.write(page, &page_of(page), false).unwrap());
    let mut left = aged.overwritten;
    while left > 0 {
        batch.clear();
        // A round has as many writes as there are pages with data.
        let of_round = (left - 1) % pages + 1;
        let most = of_round.min(Batch::DEFAULT_LEN as u64) as usize;
        workload.fill(&mut batch, most).unwrap();
        for &page in &batch.pages {
            real.write(page.into(), &page_of(left), false).unwrap();
            left -= 1;
        }
    }
    real.flush().unwrap();
    let (found, expected) = (drive.stat(), real.stat());
    assert_eq!(found.counters, expected.counters);
    assert_eq!(found.decisions, expected.decisions);
    assert_eq!(
        (aged.copied, aged.erases),
        (expected.counters.copied_pages, expected.counters.erases)
    );
    assert!(aged.copied > 100);
    assert_eq!(found.usage.written_bytes, (aged.pages + aged.overwritten) * 4096);
    drive.close().unwrap();
    let records = path.metadata().unwrap().blocks() - empty;
    assert!(records * 512 < 64 * 4096, "{records} sectors");
}

#[test]
fn a_drive_with_a_past_serves_as_any_other() {
    let settings = plain();
    let (_folder, path) = made(&settings);
    let mut drive = past::open(FileMedia::open(&path).unwrap(), &settings).unwrap();
    past::age(&mut drive, 1.0, (&uniform(), 5), Until::Times(1.0), &|| false).unwrap();
    drive.close().unwrap();
    let mut drive = open(FileMedia::open(&path).unwrap(), &settings);
    let pages = drive.pages();
    // What nobody wrote is zeros.
    let mut bytes = vec![1; 4096];
    drive.read(pages - 1, &mut bytes).unwrap();
    assert_eq!(bytes, vec![0; 4096]);
    let mut held = vec![None; pages as usize];
    let commands: Vec<(u64, bool)> = (0..2000).map(|number| (number * 7 % pages, false)).collect();
    work(&mut drive, &mut held, &commands, 0);
    drive.close().unwrap();
    compare(&mut open(FileMedia::open(&path).unwrap(), &settings), &held);
}

#[test]
fn a_past_ends_when_the_drive_has_settled() {
    let settings = plain();
    let age = |until, seed| -> Aged {
        let (_folder, path) = made(&settings);
        let mut drive = past::open(FileMedia::open(&path).unwrap(), &settings).unwrap();
        past::age(&mut drive, 1.0, (&uniform(), seed), until, &|| false).unwrap()
    };
    let aged = age(Until::Settled, 5);
    let rounds = aged.overwritten / aged.pages;
    assert!((2..=20).contains(&rounds));
    assert_eq!(aged.is_settled, rounds < 20 || aged.is_settled);
    // One round less had not settled.
    let before = age(Until::Times((rounds - 1) as f64), 5);
    assert!(!before.is_settled);
    let last = aged.write_amplification.unwrap() / before.write_amplification.unwrap();
    assert_eq!(aged.is_settled, (last - 1.0).abs() <= 0.01);
}

#[test]
fn what_has_a_past_gets_no_second_one() {
    let settings = plain();
    let (_folder, path) = made(&settings);
    let mut drive = past::open(FileMedia::open(&path).unwrap(), &settings).unwrap();
    past::age(&mut drive, 0.5, (&uniform(), 5), Until::Times(0.0), &|| false).unwrap();
    drive.close().unwrap();
    let refused = past::open(FileMedia::open(&path).unwrap(), &settings).err().unwrap();
    assert!(refused.to_string().contains("has a past already"), "{refused}");
    let (_folder, path) = made(&settings);
    let mut drive = past::open(FileMedia::open(&path).unwrap(), &settings).unwrap();
    let refused = past::age(&mut drive, 0.0, (&uniform(), 5), Until::Settled, &|| false);
    assert!(refused.err().unwrap().to_string().contains("is no page of this drive"));
}
