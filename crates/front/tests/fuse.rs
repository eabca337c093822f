//! The FUSE mount: every operation of its file, and a file system on a loop device on that file.
#![cfg(target_os = "linux")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command as Process;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::machine::{Folder, Loop, Mounted, has_fuse, has_loop, run};
use flashgc_device::{Backend, DeviceError, WriteStreams};
use flashgc_front::command::{Answer, Command};
use flashgc_front::fuse::Mount;
use flashgc_front::queue::Engine;
use flashgc_front::ram::Ram;
use rustix::fs::{FallocateFlags, OFlags, SeekFrom, fallocate};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

const PAGES: u64 = 64;
const SIZE: u64 = PAGES * 4096;

/// A mounted drive. Fields are dropped in order, so that the mount ends before the drive and the
/// folder.
struct Setup<S: Backend + 'static> {
    mount: Mount,
    engine: Engine<S>,
    folder: Folder,
}

fn mounted<S: Backend>(drive: S) -> Setup<S> {
    let folder = Folder::new();
    let engine = Engine::start(drive).unwrap();
    let mount = Mount::new(engine.queue(), folder.path()).unwrap();
    Setup { mount, engine, folder }
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn read(file: &File, at: u64, bytes: usize) -> Vec<u8> {
    let mut data = vec![0xee; bytes];
    file.read_exact_at(&mut data, at).unwrap();
    data
}

fn errno<T>(result: io::Result<T>) -> Option<i32> {
    result.err().and_then(|error| error.raw_os_error())
}

/// Unmounts the drive, and tries again while it is in use. A process that another test starts has a
/// copy of every open file until it executes its program, and a loop device is released a moment
/// after the request.
fn unmount(mount: &mut Mount) {
    let until = Instant::now() + Duration::from_secs(5);
    while let Err(error) = mount.unmount() {
        assert_eq!(error.raw_os_error(), Some(Errno::BUSY.raw_os_error()));
        assert!(Instant::now() < until, "{error}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn is_mounted(folder: &Path) -> bool {
    let folder = format!(" {} ", folder.display());
    std::fs::read_to_string("/proc/self/mounts").unwrap().contains(&folder)
}

#[test]
fn the_file_is_the_drive() {
    if !has_fuse("the_file_is_the_drive") {
        return;
    }
    let setup = mounted(Ram::new(PAGES));
    let names: Vec<_> =
        std::fs::read_dir(setup.folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["disk"]);
    let about = std::fs::metadata(setup.mount.disk()).unwrap();
    assert_eq!((about.len(), about.blocks(), about.mode()), (SIZE, SIZE / 512, 0o100_600));
    let file = open(&setup.mount.disk());
    file.write_all_at(b"across pages", 4090).unwrap();
    assert_eq!(read(&file, 4089, 14), b"\0across pages\0");
    // Writes of another host are read at once, since the kernel does not cache the file.
    let write = Command::Write { at: 4090, data: b"by others".into(), fua: false, streams: vec![] };
    assert_eq!(setup.engine.queue().call(write), Ok(Answer::Done));
    assert_eq!(read(&file, 4090, 12), b"by othersges");
    // A read that is larger than a request of the kernel works, too.
    let all: Vec<u8> = (0..SIZE).map(|byte| (byte % 251) as u8).collect();
    file.write_all_at(&all, 0).unwrap();
    assert_eq!(std::fs::read(setup.mount.disk()).unwrap(), all);
}

#[test]
fn nothing_is_behind_the_end() {
    if !has_fuse("nothing_is_behind_the_end") {
        return;
    }
    let setup = mounted(Ram::new(PAGES));
    let file = open(&setup.mount.disk());
    assert_eq!(file.read_at(&mut [0; 10], SIZE).unwrap(), 0);
    assert_eq!(file.read_at(&mut [0; 10], SIZE - 4).unwrap(), 4);
    assert_eq!(file.write_at(&[1; 10], SIZE - 4).unwrap(), 4);
    assert_eq!(errno(file.write_at(&[1], SIZE)), Some(Errno::NOSPC.raw_os_error()));
    assert_eq!(read(&file, SIZE - 5, 5), [0, 1, 1, 1, 1]);
    let end = FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE;
    fallocate(&file, end, SIZE - 4096, 1 << 20).unwrap();
    fallocate(&file, end, SIZE, 1).unwrap();
    assert_eq!(read(&file, SIZE - 5, 5), [0; 5]);
}

#[test]
fn fsync_flushes_and_synchronous_writes_are_durable() {
    if !has_fuse("fsync_flushes_and_synchronous_writes_are_durable") {
        return;
    }
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let setup = mounted(drive);
    let file = open(&setup.mount.disk());
    file.write_all_at(&[1; 4096], 0).unwrap();
    assert_eq!(counts.flushes.load(SeqCst), 0);
    file.sync_all().unwrap();
    assert_eq!(counts.flushes.load(SeqCst), 1);
    file.sync_data().unwrap();
    assert_eq!(counts.flushes.load(SeqCst), 2);
    for flag in [OFlags::SYNC, OFlags::DSYNC] {
        let before = counts.flushes.load(SeqCst);
        let file = OpenOptions::new()
            .write(true)
            .custom_flags(flag.bits() as i32)
            .open(setup.mount.disk())
            .unwrap();
        file.write_all_at(&[1; 4096], 0).unwrap();
        // The kernel may add another flush.
        assert!(counts.flushes.load(SeqCst) > before);
    }
}

#[test]
fn holes_are_discarded_and_zeros_are_written() {
    if !has_fuse("holes_are_discarded_and_zeros_are_written") {
        return;
    }
    let setup = mounted(Ram::new(PAGES));
    let file = open(&setup.mount.disk());
    let extents = || {
        let all = Command::Extents { at: 0, bytes: 5 * 4096, most: 9 };
        let Ok(Answer::Extents(extents)) = setup.engine.queue().call(all) else { panic!() };
        extents.iter().map(|extent| (extent.bytes / 4096, extent.data)).collect::<Vec<_>>()
    };
    let mut expected = vec![1; 5 * 4096];
    expected[4000..13000].fill(0);
    let keep = FallocateFlags::KEEP_SIZE;
    for (mode, states) in [
        (keep | FallocateFlags::PUNCH_HOLE, &[(1, true), (2, false), (2, true)][..]),
        (keep | FallocateFlags::ZERO_RANGE, &[(5, true)]),
        (FallocateFlags::ZERO_RANGE, &[(5, true)]),
    ] {
        file.write_all_at(&[1; 5 * 4096], 0).unwrap();
        fallocate(&file, mode, 4000, 9000).unwrap();
        assert_eq!(read(&file, 0, 5 * 4096), expected);
        assert_eq!(extents(), states);
    }
    let more = fallocate(&file, FallocateFlags::ZERO_RANGE, SIZE - 1, 2);
    assert_eq!(more, Err(Errno::NOSPC));
    assert_eq!(fallocate(&file, FallocateFlags::empty(), 0, 10), Err(Errno::OPNOTSUPP));
}

#[test]
fn what_would_change_the_file_is_refused() {
    if !has_fuse("what_would_change_the_file_is_refused") {
        return;
    }
    let setup = mounted(Ram::new(PAGES));
    let file = open(&setup.mount.disk());
    file.write_all_at(b"kept", 0).unwrap();
    let refused = Some(Errno::PERM.raw_os_error());
    assert_eq!(errno(file.set_len(4096)), refused);
    assert_eq!(errno(File::create(setup.mount.disk())), refused);
    assert_eq!(errno(file.set_modified(std::time::SystemTime::UNIX_EPOCH)), refused);
    File::create(setup.folder.path().join("other")).unwrap_err();
    std::fs::remove_file(setup.mount.disk()).unwrap_err();
    assert_eq!(read(&file, 0, 4), b"kept");
}

#[test]
fn seeking_finds_data_and_holes() {
    if !has_fuse("seeking_finds_data_and_holes") {
        return;
    }
    let setup = mounted(Ram::new(PAGES));
    let file = open(&setup.mount.disk());
    let data = |at| rustix::fs::seek(&file, SeekFrom::Data(at));
    let hole = |at| rustix::fs::seek(&file, SeekFrom::Hole(at));
    assert_eq!((data(0), hole(0), hole(SIZE - 1)), (Err(Errno::NXIO), Ok(0), Ok(SIZE - 1)));
    // Pages 2 to 4 and the last one have data.
    file.write_all_at(&[1; 3 * 4096], 2 * 4096).unwrap();
    file.write_all_at(&[1], SIZE - 1).unwrap();
    assert_eq!((data(0), data(8192), data(9000)), (Ok(8192), Ok(8192), Ok(9000)));
    assert_eq!((hole(0), hole(8192), hole(20479)), (Ok(0), Ok(20480), Ok(20480)));
    assert_eq!((data(20480), hole(SIZE - 4096)), (Ok(SIZE - 4096), Ok(SIZE)));
    assert_eq!((data(SIZE), hole(SIZE)), (Err(Errno::NXIO), Err(Errno::NXIO)));
    assert_eq!(data(1 << 62), Err(Errno::NXIO));
}

/// A drive on which each page gives another error.
struct Faulty;

impl Backend for Faulty {
    fn pages(&self) -> u64 {
        PAGES
    }
    fn read(&mut self, _: u64, _: &mut [u8]) -> Result<(), DeviceError> {
        Err(DeviceError::Media("damaged".into()))
    }
    fn write_named(
        &mut self,
        page: u64,
        _: &[u8],
        _: WriteStreams<'_>,
        _: bool,
    ) -> Result<(), DeviceError> {
        Err(match page {
            0 => DeviceError::ReadOnly("worn".into()),
            _ => DeviceError::NoSpace("full".into()),
        })
    }
    fn trim(&mut self, page: u64, _: u64) -> Result<(), DeviceError> {
        self.write(page, &[], false)
    }
    fn flush(&mut self) -> Result<(), DeviceError> {
        Err(io::Error::other("no disk").into())
    }
    fn moment(&self) -> u64 {
        0
    }
    fn hint(
        &mut self,
        _: u64,
        _: u64,
        _: Option<u64>,
    ) -> Result<flashgc_device::Hinted, DeviceError> {
        Ok(flashgc_device::Hinted::default())
    }
    fn cancel(&mut self, _: u64, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }
    fn extent(&mut self, _: u64, _: u64) -> Result<(u64, bool), DeviceError> {
        Ok((1, true))
    }
}

#[test]
fn faults_of_the_drive_have_their_numbers() {
    if !has_fuse("faults_of_the_drive_have_their_numbers") {
        return;
    }
    let mut setup = mounted(Faulty);
    let file = open(&setup.mount.disk());
    let number = |errno: Errno| Some(errno.raw_os_error());
    assert_eq!(errno(file.read_at(&mut [0; 1], 0)), number(Errno::IO));
    assert_eq!(errno(file.write_at(&[1; 4096], 0)), number(Errno::ROFS));
    assert_eq!(errno(file.write_at(&[1; 4096], 4096)), number(Errno::NOSPC));
    assert_eq!(errno(file.sync_all()), number(Errno::IO));
    let hole = FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE;
    assert_eq!(fallocate(&file, hole, 0, 4096), Err(Errno::ROFS));
    drop(file);
    unmount(&mut setup.mount);
}

#[test]
fn a_mount_in_use_stays_and_one_that_is_dropped_goes_when_it_can() {
    if !has_fuse("a_mount_in_use_stays_and_one_that_is_dropped_goes_when_it_can") {
        return;
    }
    let mut setup = mounted(Ram::new(PAGES));
    let folder = setup.folder.path().canonicalize().unwrap();
    assert!(is_mounted(&folder));
    let file = open(&setup.mount.disk());
    assert_eq!(errno(setup.mount.unmount()), Some(Errno::BUSY.raw_os_error()));
    file.write_all_at(b"still here", 0).unwrap();
    drop(setup.mount);
    assert!(!is_mounted(&folder));
    // The process that has the file open can still read it.
    assert_eq!(read(&file, 0, 10), b"still here");
    drop(file);

    let mut again = Mount::new(setup.engine.queue(), &folder).unwrap();
    assert_eq!(read(&open(&again.disk()), 0, 10), b"still here");
    unmount(&mut again);
    again.unmount().unwrap();
    assert!(!is_mounted(&folder));
    // The mount is unmounted by hand, without and with the file open.
    for flags in [UnmountFlags::empty(), UnmountFlags::DETACH] {
        let mut again = Mount::new(setup.engine.queue(), &folder).unwrap();
        let file = open(&again.disk());
        let kept = (flags == UnmountFlags::DETACH).then_some(file);
        while rustix::mount::unmount(&folder, flags) == Err(Errno::BUSY) {}
        assert!(!is_mounted(&folder));
        again.unmount().unwrap();
        drop(kept);
    }
    setup.engine.stop().1.unwrap();
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let engine = Engine::start(Ram::new(PAGES)).unwrap();
    let missing = Mount::new(engine.queue(), Path::new("/nowhere/at/all"));
    assert_eq!(missing.err().unwrap().kind(), io::ErrorKind::NotFound);
}

/// A copy of this crate's sources survives a new loop device and a new mount.
#[test]
fn a_file_system_lives_on_it() {
    let test = "a_file_system_lives_on_it";
    if !has_fuse(test) || !has_loop(test) {
        return;
    }
    let drive = Ram::new(16 << 10); // 64 MiB
    let counts = drive.counts();
    let mut setup = mounted(drive);
    let files = Folder::new();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));

    let device = Loop::new(&setup.mount.disk());
    run(Process::new("mkfs.ext4").arg("-q").arg(&device.device));
    let mounted = Mounted::new(&device.device, &files);
    run(Process::new("cp").arg("-r").arg(sources).arg(files.path().join("kept")));
    std::fs::write(files.path().join("gone"), vec![7; 8 << 20]).unwrap();
    rustix::fs::sync();
    let flushes = counts.flushes.load(SeqCst);
    assert!(flushes > 0, "the file system's barriers reach the drive");
    assert_eq!(errno(setup.mount.unmount()), Some(Errno::BUSY.raw_os_error()));
    std::fs::remove_file(files.path().join("gone")).unwrap();
    rustix::fs::sync();
    let trimmed = counts.trimmed.load(SeqCst);
    run(Process::new("fstrim").arg(files.path()));
    // The removed file had 2048 pages.
    assert!(counts.trimmed.load(SeqCst) - trimmed >= 2048);
    drop(mounted);
    drop(device);
    unmount(&mut setup.mount);

    let mount = Mount::new(setup.engine.queue(), setup.folder.path()).unwrap();
    let device = Loop::new(&mount.disk());
    run(Process::new("e2fsck").args(["-f", "-n"]).arg(&device.device));
    let mounted = Mounted::new(&device.device, &files);
    run(Process::new("diff").arg("-r").arg(sources).arg(files.path().join("kept")));
    drop(mounted);
    drop(device);
    drop(mount);
    setup.engine.stop().1.unwrap();
}
