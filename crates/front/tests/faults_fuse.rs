//! Faults as the kernel sees them through a mount.
#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::faults::{fail, fault, unreadable};
use crate::machine::{Folder, has_fuse};
use flashgc_front::faults::{Effect, Fault, FaultKind};
use flashgc_front::fuse::Mount;
use flashgc_front::queue::Engine;
use flashgc_front::ram::Ram;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

#[test]
fn a_mount_has_the_errors_of_the_system() {
    if !has_fuse("a_mount_has_the_errors_of_the_system") {
        return;
    }
    let drive = Ram::new(64);
    let counts = drive.counts();
    let engine = Engine::start(drive).unwrap();
    let faults = Arc::clone(engine.queue().faults());
    let folder = Folder::new();
    let mount = Mount::new(engine.queue(), folder.path()).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(mount.disk()).unwrap();
    let number = |error: std::io::Error| error.raw_os_error().unwrap();
    let mut page = [0; 4096];
    let hole = FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE;
    faults.inject(fail(FaultKind::Read, 1)).unwrap();
    assert_eq!(file.read_at(&mut page, 0).map_err(number), Err(Errno::IO.raw_os_error()));
    assert_eq!(file.read_at(&mut page, 0).unwrap(), 4096);
    faults.inject(fail(FaultKind::Write, 1)).unwrap();
    assert_eq!(file.write_at(&page, 0).map_err(number), Err(Errno::IO.raw_os_error()));
    assert_eq!(counts.written.load(SeqCst), 0);
    assert_eq!(file.write_at(&page, 0).unwrap(), 4096);
    faults.inject(fail(FaultKind::Flush, 1)).unwrap();
    assert_eq!(file.sync_all().map_err(number), Err(Errno::IO.raw_os_error()));
    assert_eq!(counts.flushes.load(SeqCst), 0);
    file.sync_all().unwrap();
    faults.inject(fail(FaultKind::Discard, 1)).unwrap();
    assert_eq!(fallocate(&file, hole, 0, 4096), Err(Errno::IO));
    fallocate(&file, hole, 0, 4096).unwrap();
    faults.inject(unreadable(2, 1)).unwrap();
    assert_eq!(file.read_at(&mut page, 8192).map_err(number), Err(Errno::IO.raw_os_error()));
    assert_eq!(file.write_at(&[5; 4096], 8192).unwrap(), 4096);
    assert_eq!(file.read_at(&mut page, 8192).unwrap(), 4096);
    assert_eq!(page, [5; 4096]);
    let number_of = faults.inject(fault(Effect::EndOfLife)).unwrap();
    assert_eq!(file.write_at(&page, 0).map_err(number), Err(Errno::ROFS.raw_os_error()));
    faults.clear(Some(number_of)).unwrap();
    let by = Duration::from_millis(100);
    let late = Fault { kind: Some(FaultKind::Read), next: Some(1), ..fault(Effect::Delay(by)) };
    faults.inject(late).unwrap();
    let began = Instant::now();
    assert_eq!(file.read_at(&mut page, 0).unwrap(), 4096);
    assert!(began.elapsed() >= by);
    // A request without an answer would hang the mount.
    let drop_next = Fault { next: Some(1), ..fault(Effect::Drop) };
    let refused = faults.inject(drop_next.clone()).unwrap_err();
    assert!(refused.starts_with("drop: the drive is mounted"), "{refused}");
    drop((file, mount));
    faults.inject(drop_next).unwrap();
    // If the drive is mounted after the fault was set, requests are answered all the same.
    let mount = Mount::new(engine.queue(), folder.path()).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(mount.disk()).unwrap();
    assert_eq!(file.read_at(&mut page, 0).map_err(number), Err(Errno::IO.raw_os_error()));
}
