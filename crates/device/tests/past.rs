//! Drives with a past: their data are holes in the file, and their decisions are those of a drive
//! with real data.

use std::os::unix::fs::MetadataExt;

use crate::common::{compare, new_medium, open, page_of, plain, work};
use flashgc_device::media::FileMedia;
use flashgc_device::past::{self, Aged, Until};
use flashgc_device::{Backend, Drive, Durability, Settings};
use flashgc_ftl::Geometry;
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
    let aged =
        past::age(&mut drive, &settings, 0.8, (&uniform(), 5), Until::Times(2.5), &|_, _| false)
            .unwrap();
    let pages = (drive.pages() as f64 * 0.8) as u64;
    assert_eq!((aged.pages, aged.overwritten), (pages, pages * 5 / 2));
    // A second drive gets the same writes, with real data.
    let mut real = open(new_medium(&settings), &settings);
    let mut workload = uniform().open(pages as u32, 5).unwrap();
    let mut batch = Batch::default();
    (0..pages).for_each(|page| real.write(page, &page_of(page), false).unwrap());
    let mut left = aged.overwritten;
    while left > 0 {
        batch.clear();
        let most = left.min(Batch::DEFAULT_LEN as u64) as usize;
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
    past::age(&mut drive, &settings, 1.0, (&uniform(), 5), Until::Times(1.0), &|_, _| false)
        .unwrap();
    drive.close().unwrap();
    let mut drive = open(FileMedia::open(&path).unwrap(), &settings);
    let pages = drive.pages();
    // A page that was never written reads as zeros.
    let mut bytes = vec![1; 4096];
    drive.read(pages - 1, &mut bytes).unwrap();
    assert_eq!(bytes, vec![0; 4096]);
    let mut held = vec![None; pages as usize];
    let commands: Vec<(u64, bool)> = (0..2000).map(|number| (number * 7 % pages, false)).collect();
    work(&mut drive, &mut held, &commands, 0);
    drive.close().unwrap();
    compare(&mut open(FileMedia::open(&path).unwrap(), &settings), &held);
}

fn aged(settings: &Settings, writes: &str, until: Until) -> Aged {
    let (_folder, path) = made(settings);
    let mut drive = past::open(FileMedia::open(&path).unwrap(), settings).unwrap();
    let writes = GeneratorSpec::parse(writes).unwrap();
    past::age(&mut drive, settings, 1.0, (&writes, 5), until, &|_, _| false).unwrap()
}

#[test]
fn a_past_ends_when_the_drive_has_settled() {
    let mut settings = plain();
    settings.layout.geometry = Geometry::with_spare(150, 32, 0.2).unwrap();
    settings.journal_blocks = 4096;
    settings.durability = Durability::Process;
    // A cold page is written about every 4 rounds in the first workload, and every 19 in the
    // second.
    for (writes, settles) in [("hotcold:f=0.2,r=0.8", true), ("hotcold:f=0.05,r=0.95", false)] {
        let past = aged(&settings, writes, Until::Settled);
        assert_eq!(past.is_settled, settles, "{writes}");
        let rounds = past.overwritten / past.pages;
        // Each cold page is to be written about four times.
        assert!([20, 40].contains(&rounds), "{rounds}");
        // Write amplification in the second half of the past is that of a longer past.
        let long = aged(&settings, writes, Until::Times(100.0));
        let off = past.write_amplification.unwrap() / long.write_amplification.unwrap() - 1.0;
        assert!(!settles || off.abs() < 0.01, "{writes}: {off} after {rounds}");
        assert!(long.is_settled);
    }
}

#[test]
fn what_has_a_past_gets_no_second_one() {
    let settings = plain();
    let (_folder, path) = made(&settings);
    let mut drive = past::open(FileMedia::open(&path).unwrap(), &settings).unwrap();
    past::age(&mut drive, &settings, 0.5, (&uniform(), 5), Until::Times(0.0), &|_, _| false)
        .unwrap();
    drive.close().unwrap();
    let refused = past::open(FileMedia::open(&path).unwrap(), &settings).err().unwrap();
    assert!(refused.to_string().contains("has a past already"), "{refused}");
    let (_folder, path) = made(&settings);
    let mut drive = past::open(FileMedia::open(&path).unwrap(), &settings).unwrap();
    let refused =
        past::age(&mut drive, &settings, 0.0, (&uniform(), 5), Until::Settled, &|_, _| false);
    assert!(refused.err().unwrap().to_string().contains("is no page of this drive"));
}
