//! A full disk of the host: a small file system in memory. Only root can mount one; without root
//! the test says so and does nothing.

use std::path::Path;
use std::process::Command;

use crate::common::{UUID, compare, is_read_only, open, page_of, plain};
use flashgc_device::media::FileMedia;
use flashgc_device::{Backend, Drive, PAGE, Settings};
use flashgc_ftl::Geometry;

/// A mounted file system in memory. It is unmounted when this value is dropped.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn new(folder: &'a Path, mebibytes: u32) -> Option<Self> {
        let size = format!("size={mebibytes}m");
        let is_done = run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs"], folder);
        is_done.then_some(Self(folder))
    }

    fn resize(&self, mebibytes: u32) {
        assert!(run("mount", &["-o", &format!("remount,size={mebibytes}m")], self.0));
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        run("umount", &[], self.0);
    }
}

fn run(command: &str, arguments: &[&str], folder: &Path) -> bool {
    let done = Command::new(command).args(arguments).arg(folder).output();
    done.is_ok_and(|output| output.status.success())
}

#[test]
fn a_full_host_disk_loses_nothing_and_room_makes_the_drive_writable_again() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Mounted::new(folder.path(), 8) else {
        println!("skipped: no file system in memory can be mounted here");
        return;
    };
    let mut settings = plain();
    settings.layout.geometry = Geometry::with_spare(100, 64, 0.2).unwrap();
    let settings = Settings { journal_blocks: 64, ..settings };
    let path = folder.path().join("drive.flash");
    let mut media = FileMedia::create(&path, settings.file_bytes().unwrap()).unwrap();
    Drive::create(&mut media, &settings, UUID).unwrap();
    drop(media);
    let file = || FileMedia::open(&path).unwrap();
    let mut drive = open(file(), &settings);
    let pages = drive.pages();
    let mut held = vec![None; pages as usize];
    let mut flushed = held.clone();
    for page in 0..pages {
        let is_flush = page % 50 == 49;
        match drive.write(page, &page_of(page), is_flush) {
            Ok(()) => held[page as usize] = Some(page),
            Err(error) => {
                assert!(error.to_string().contains("No space left"), "{error}");
                let mut bytes = vec![0; PAGE];
                drive.read(page, &mut bytes).unwrap();
                held[page as usize] = (bytes == page_of(page)).then_some(page);
                break;
            }
        }
        if is_flush {
            flushed.clone_from(&held);
        }
    }
    assert!(drive.stat().read_only.is_some(), "8 MiB hold {pages} pages");
    compare(&mut drive, &held);
    assert!(is_read_only(drive.close()));
    // Checks that each page has its flushed data or later data.
    let check = |drive: &mut Drive| {
        let mut bytes = vec![0; PAGE];
        for (page, flushed) in (0..).zip(&flushed) {
            drive.read(page, &mut bytes).unwrap();
            let is_new = flushed.is_none() && bytes == page_of(page);
            assert!(is_new || bytes == flushed.map_or(vec![0; PAGE], page_of), "page {page}");
        }
    };
    check(&mut open(file(), &settings));
    disk.resize(64);
    let mut drive = open(file(), &settings);
    check(&mut drive);
    drive.write(pages - 1, &page_of(pages - 1), true).unwrap();
    drive.close().unwrap();
}
