//! Hints by `ioctl` on the mounted file.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::SeqCst;

use crate::machine::{Folder, has_fuse};
use flashgc_front::fuse::Mount;
use flashgc_front::fuse::ioctl::{HINT, Hint, MAGIC, MOMENT};
use flashgc_front::queue::Engine;
use flashgc_front::ram::Ram;
use rustix::io::Errno;

const PAGES: u64 = 64;
const SIZE: u64 = PAGES * 4096;

/// Calls `ioctl` on a file, with a structure that it reads and writes.
fn ioctl<const NUMBER: u32, T>(file: &File, data: &mut T) -> Result<(), Errno> {
    // SAFETY: by its number, the `ioctl` reads and writes only as many bytes as the structure has.
    unsafe {
        assert_eq!((NUMBER >> 16) as usize & 0x3fff, size_of::<T>());
        rustix::ioctl::ioctl(file, rustix::ioctl::Updater::<NUMBER, T>::new(data))
    }
}

#[test]
fn hints_come_by_ioctl() {
    if !has_fuse("hints_come_by_ioctl") {
        return;
    }
    // The numbers as the macros of C compute them.
    assert_eq!((MOMENT, HINT, MAGIC), (0x8008_fc01, 0xc028_fc02, 0x4843_4746));
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let folder = Folder::new();
    let engine = Engine::start(drive).unwrap();
    let mount = Mount::new(engine.queue(), folder.path()).unwrap();
    let file = File::options().read(true).write(true).open(mount.disk()).unwrap();
    let hinted = || counts.hinted.load(SeqCst);
    file.write_all_at(&[1; 3 * 4096], 0).unwrap();
    let mut moment = 99_u64;
    ioctl::<MOMENT, _>(&file, &mut moment).unwrap();
    assert_eq!(moment, 3);
    file.write_all_at(&[1; 4096], 4096).unwrap();
    let hint = Hint { magic: MAGIC, moment, first: 4000, bytes: 4289, ..Hint::default() };
    let mut told = Hint { late: 77, ..hint };
    ioctl::<HINT, _>(&file, &mut told).unwrap();
    assert_eq!((told, hinted()), (Hint { late: 1, ..hint }, 2));
    let mut back = Hint { cancel: 1, first: 0, bytes: 4096, ..hint };
    ioctl::<HINT, _>(&file, &mut back).unwrap();
    assert_eq!((back.late, hinted()), (0, 1));
    let mut now = Hint { moment: u64::MAX, ..hint };
    ioctl::<HINT, _>(&file, &mut now).unwrap();
    assert_eq!((now.late, hinted()), (0, 4));
    for bad in [
        Hint { magic: 0, ..hint },
        Hint { cancel: 2, ..hint },
        Hint { moment: 5, ..hint },
        Hint { first: SIZE, ..hint },
        Hint { first: u64::MAX, ..hint },
    ] {
        assert_eq!(ioctl::<HINT, _>(&file, &mut { bad }), Err(Errno::INVAL), "{bad:?}");
    }
    assert_eq!(ioctl::<0xc028_fc03, _>(&file, &mut { hint }), Err(Errno::NOTTY));
    assert_eq!(ioctl::<0x8008_fc02, _>(&file, &mut { moment }), Err(Errno::NOTTY));
    let root = File::open(folder.path()).unwrap();
    assert_eq!(ioctl::<MOMENT, _>(&root, &mut moment), Err(Errno::NOTTY));
    assert_eq!(hinted(), 4);
}
