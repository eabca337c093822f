//! The disk of virtual machines, by a driver in this process: memory shared as a file, a virtqueue in
//! it, and the vhost-user messages of QEMU.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::driver;
use crate::driver::{Driver, ERROR, Machine, OK, Out, UNSUPPORTED};
use flashgc_device::{DeviceError, Hinted, Named, Served};
use flashgc_front::command::{Answer, Command};
use flashgc_front::queue::Engine;
use flashgc_front::ram::{Counts, Ram};
use flashgc_front::vhost::{Disk, Server};

const PAGES: u64 = 1 << 18;
const SECTORS: u64 = PAGES * 8;

struct Setup {
    server: Server,
    counts: Arc<Counts>,
    engine: Engine<Ram>,
    _folder: tempfile::TempDir,
}

fn serve(read_only: bool) -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let engine = Engine::start(drive).unwrap();
    let disk = Disk { serial: "a serial number of 30 characters".into(), read_only };
    let server = Server::start(engine.queue(), &folder.path().join("s"), disk).unwrap();
    Setup { server, counts, engine, _folder: folder }
}

fn range(sector: u64, sectors: u32, flags: u32) -> Vec<u8> {
    [&sector.to_le_bytes()[..], &sectors.to_le_bytes(), &flags.to_le_bytes()].concat()
}

#[test]
fn the_configuration_says_what_the_disk_can() {
    let setup = serve(false);
    let machine = Machine::connect(setup.server.path());
    let config = machine.config.clone();
    let u32_at = |at: usize| u32::from_le_bytes(config[at..at + 4].try_into().unwrap());
    assert_eq!(u64::from_le_bytes(config[..8].try_into().unwrap()), SECTORS);
    assert_eq!((u32_at(12), u32_at(20)), (126, 4096), "segments, block size");
    assert_eq!(config[34..36], [1, 0], "virtqueues");
    assert_eq!((u32_at(36), u32_at(40), u32_at(44)), (1 << 21, 1, 8), "discard");
    assert_eq!((u32_at(48), u32_at(52), config[56]), (1 << 16, 1, 1), "zeros");
    for bit in [2, 6, 9, 13, 14, 28, 29, 32] {
        assert!(machine.offered & 1 << bit != 0, "feature {bit}");
    }
    assert_eq!(machine.offered & 1 << 5, 0, "not read-only");
}

#[test]
fn what_is_written_is_read_and_flushed() {
    let setup = serve(false);
    // With and without indirect descriptors and event indices; one machine at a time.
    for make in [Driver::new, Driver::plain] {
        let mut driver = make(setup.server.path());
        // A write in pieces, and one that is smaller than a page.
        let data: Vec<u8> = (0..10_240).map(|byte| (byte % 251) as u8).collect();
        let pieces = [Out(&data[..100]), Out(&data[100..5000]), Out(&data[5000..])];
        assert_eq!(driver.request(1, 15, &pieces, 0), (OK, vec![]));
        assert_eq!(driver.request(0, 15, &[], 10_240), (OK, data.clone()));
        assert_eq!(driver.request(0, 14, &[], 1024).1[..512], [0; 512]);
        let read = Command::Read { at: 15 * 512, bytes: 10_240 };
        assert_eq!(setup.engine.queue().call(read), Ok(Answer::Data(data)));
        let before = setup.counts.flushes.load(SeqCst);
        assert_eq!(driver.request(4, 0, &[], 0), (OK, vec![]));
        assert_eq!(setup.counts.flushes.load(SeqCst), before + 1);
        assert_eq!(driver.request(8, 0, &[], 20), (OK, b"a serial number of 3".to_vec()));
        assert_eq!(driver.request(13, 0, &[Out(&range(0, 64, 1))], 0), (OK, vec![]));
    }
}

/// A driver that does not know of flushes must not lose writes.
#[test]
fn without_flushes_writes_are_durable() {
    let setup = serve(false);
    let flushes = || setup.counts.flushes.load(SeqCst);
    let mut driver = Driver::with(setup.server.path(), !(1 << 9));
    assert_eq!(driver.request(1, 0, &[Out(&[1; 4096])], 0).0, OK);
    assert_eq!(flushes(), 1);
    assert_eq!(driver.request(11, 0, &[Out(&range(0, 8, 0))], 0).0, OK);
    assert_eq!(driver.request(13, 0, &[Out(&range(0, 8, 1))], 0).0, OK);
    assert_eq!(flushes(), 3);
    drop(driver);
    let mut driver = Driver::new(setup.server.path());
    assert_eq!(driver.request(1, 0, &[Out(&[1; 4096])], 0).0, OK);
    assert_eq!(flushes(), 3);
}

/// A machine outlives the server: it may attach the disk again, and flush.
#[test]
fn changes_are_answered_once_the_system_has_them() {
    let setup = serve(false);
    let mut driver = Driver::new(setup.server.path());
    let handed_over = || setup.counts.hand_overs.load(SeqCst);
    let (page, pages) = ([1; 4096], range(0, 8, 0));
    for (number, (kind, data)) in [(1, &page[..]), (11, &pages), (13, &pages)].iter().enumerate() {
        assert_eq!(driver.request(*kind, 0, &[Out(data)], 0).0, OK);
        assert_eq!(handed_over(), number as u64 + 1);
    }
    assert_eq!(driver.request(0, 0, &[], 4096), (OK, vec![0; 4096]));
    assert_eq!(handed_over(), 3);
    // Those that are under way together are handed over together, and all of them are answered.
    let heads: Vec<u16> = (0..40).map(|at| driver.submit(1, at * 8, &[Out(&page)], 0)).collect();
    driver.kick();
    heads.into_iter().for_each(|head| assert_eq!(driver.wait(head).0, OK));
    assert!((4..=43).contains(&handed_over()));
}

#[test]
fn discards_and_zeros_are_of_the_drive() {
    let setup = serve(false);
    let mut driver = Driver::new(setup.server.path());
    let extents = || {
        let all = Command::Extents { at: 0, bytes: 8 * 4096, most: 9 };
        let Ok(Answer::Extents(extents)) = setup.engine.queue().call(all) else { panic!() };
        extents.iter().map(|extent| (extent.bytes / 4096, extent.data)).collect::<Vec<_>>()
    };
    let fill = |driver: &mut Driver| {
        assert_eq!(driver.request(1, 0, &[Out(&[7; 6 * 4096])], 0).0, OK);
    };
    fill(&mut driver);
    assert_eq!(driver.request(11, 0, &[Out(&range(8, 16, 0))], 0).0, OK);
    assert_eq!(extents(), [(1, true), (2, false), (3, true), (2, false)]);
    fill(&mut driver);
    assert_eq!(driver.request(13, 0, &[Out(&range(4, 16, 1))], 0).0, OK);
    assert_eq!(extents(), [(1, true), (1, false), (4, true), (2, false)]);
    let mut expected = vec![7; 6 * 4096];
    expected[2048..2048 + 8192].fill(0);
    assert_eq!(driver.request(0, 0, &[], 6 * 4096), (OK, expected));
    assert_eq!(driver.request(13, 0, &[Out(&range(0, 64, 0))], 0).0, OK);
    assert_eq!(extents(), [(8, true)]);
}

#[test]
fn what_the_disk_cannot_is_refused() {
    let setup = serve(false);
    let mut driver = Driver::new(setup.server.path());
    for (kind, sector, out, into, status) in [
        (0, SECTORS, &[][..], 512, ERROR),
        (0, u64::MAX, &[], 512, ERROR),
        (1, SECTORS - 1, &[1; 1024], 0, ERROR),
        (99, 0, &[], 512, UNSUPPORTED),
        (11, 0, &range(SECTORS, 1, 0), 0, ERROR),
        (11, 0, &range(u64::MAX / 4, 1, 0), 0, ERROR),
        (11, 0, &range(0, (1 << 21) + 1, 0), 0, ERROR),
        (11, 0, &range(0, 1, 1), 0, UNSUPPORTED),
        (11, 0, &[0; 32], 0, ERROR),
        (11, 0, &[0; 15], 0, ERROR),
        (13, 0, &range(0, (1 << 16) + 1, 0), 0, ERROR),
        (13, 0, &range(0, 1, 2), 0, UNSUPPORTED),
    ] {
        let outs = [Out(out)];
        let pieces = if out.is_empty() { &[][..] } else { &outs };
        assert_eq!(driver.request(kind, sector, pieces, into).0, status, "kind {kind}, {sector}");
    }
    assert_eq!(driver.request(0, 0, &[], 512), (OK, vec![0; 512]));
    drop(driver);
    drop(setup);
    let setup = serve(true);
    let mut driver = Driver::new(setup.server.path());
    assert!(driver.offered & 1 << 5 != 0);
    assert_eq!(driver.request(1, 0, &[Out(&[1; 512])], 0).0, ERROR);
    assert_eq!(driver.request(11, 0, &[Out(&range(0, 8, 0))], 0).0, ERROR);
    assert_eq!(driver.request(13, 0, &[Out(&range(0, 8, 0))], 0).0, ERROR);
    assert_eq!(driver.request(0, 0, &[], 512), (OK, vec![0; 512]));
    assert_eq!(setup.counts.written.load(SeqCst), 0);
}

/// Many requests under way, each answered once, in whatever order.
#[test]
fn a_full_virtqueue_is_served() {
    let setup = serve(false);
    for features in [u64::MAX, !(1 << 29)] {
        let mut driver = Driver::with(setup.server.path(), features);
        for round in 0..50_u64 {
            let heads: Vec<u16> = (0..32)
                .map(|n| driver.submit(1, (round * 32 + n) * 8, &[Out(&[n as u8 + 1; 4096])], 0))
                .collect();
            driver.kick();
            for head in heads {
                assert_eq!(driver.wait(head), (OK, vec![]));
            }
        }
        for page in 0..50 * 32_u64 {
            let expected = vec![(page % 32) as u8 + 1; 4096];
            assert_eq!(driver.request(0, page * 8, &[], 4096), (OK, expected));
        }
    }
}

/// The machine stops its virtqueue and starts it again, as at a reset, with requests under way.
#[test]
fn a_virtqueue_that_is_stopped_has_nothing_under_way() {
    let setup = serve(false);
    let mut driver = Driver::new(setup.server.path());
    for round in 0..20_u64 {
        let heads: Vec<u16> = (0..20)
            .map(|n| driver.submit(1, (round * 20 + n) * 8, &[Out(&[1; 4096])], 0))
            .collect();
        driver.kick();
        let taken = driver.stop();
        // Requests that were taken are answered; the others stay in the queue.
        assert_eq!(driver.answered(), taken);
        driver.start(taken);
        driver.kick();
        for head in heads {
            assert_eq!(driver.wait(head), (OK, vec![]));
        }
    }
    assert_eq!(setup.counts.written.load(SeqCst), 400);
}

#[test]
fn garbage_in_the_virtqueue_harms_nobody_else() {
    let setup = serve(false);
    for which in 0..driver::GARBAGE {
        let mut driver = Driver::new(setup.server.path());
        driver.garbage(which);
        driver.kick();
        std::thread::sleep(Duration::from_millis(5));
        drop(driver);
        let mut driver = Driver::new(setup.server.path());
        assert_eq!(driver.request(0, 0, &[], 4096), (OK, vec![0; 4096]), "garbage {which}");
    }
    assert_eq!(setup.counts.written.load(SeqCst), 0);
}

#[test]
fn a_machine_that_goes_makes_room_for_the_next() {
    let setup = serve(false);
    for round in 0..20_u64 {
        // Gone before a message, in the middle of one, and with requests under way.
        drop(UnixStream::connect(setup.server.path()).unwrap());
        let mut half = UnixStream::connect(setup.server.path()).unwrap();
        half.write_all(&[1, 0, 0, 0, 1][..(round % 6) as usize]).unwrap();
        drop(half);
        let mut junk = UnixStream::connect(setup.server.path()).unwrap();
        let _ = junk.write_all(&[0xee; 100]);
        drop(junk);
        let mut driver = Driver::new(setup.server.path());
        for n in 0..16 {
            driver.submit(1, n * 8, &[Out(&[1; 4096])], 0);
        }
        driver.kick();
    }
    // Whether a request under way is still served is a matter of time, but a page is whole.
    let mut driver = Driver::new(setup.server.path());
    let (status, page) = driver.request(0, 0, &[], 4096);
    assert!(status == OK && (page == [0; 4096] || page == [1; 4096]));
    assert_eq!(driver.request(1, 0, &[Out(&[2; 4096])], 0).0, OK);
    assert_eq!(driver.request(0, 0, &[], 4096), (OK, vec![2; 4096]));
    let started = Instant::now();
    drop(setup.server);
    assert!(started.elapsed() < Duration::from_secs(5));
    setup.engine.stop().1.unwrap();
}

/// A drive whose pages have faults.
struct Faulty;

impl Served for Faulty {
    fn pages(&self) -> u64 {
        8
    }
    fn read(&mut self, _: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        into.fill(0xbb);
        Err(DeviceError::Media("damaged".into()))
    }
    fn write_named(&mut self, _: u64, _: &[u8], _: Named<'_>, _: bool) -> Result<(), DeviceError> {
        Err(DeviceError::ReadOnly("worn".into()))
    }
    fn trim(&mut self, _: u64, _: u64) -> Result<(), DeviceError> {
        Err(DeviceError::NoSpace("full".into()))
    }
    fn flush(&mut self) -> Result<(), DeviceError> {
        Err(std::io::Error::other("no disk").into())
    }
    fn moment(&self) -> u64 {
        0
    }
    fn hint(&mut self, _: u64, _: u64, _: Option<u64>) -> Result<Hinted, DeviceError> {
        Ok(Hinted::default())
    }
    fn cancel(&mut self, _: u64, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }
    fn extent(&mut self, _: u64, _: u64) -> Result<(u64, bool), DeviceError> {
        Ok((1, true))
    }
}

#[test]
fn faults_of_the_drive_are_errors_and_no_damaged_byte_is_given_out() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::start(Faulty).unwrap();
    let path = folder.path().join("s");
    let _server = Server::start(engine.queue(), &path, Disk::default()).unwrap();
    let mut driver = Driver::new(&path);
    assert_eq!(driver.request(0, 0, &[], 4096), (ERROR, vec![driver::UNTOUCHED; 4096]));
    assert_eq!(driver.request(1, 0, &[Out(&[1; 4096])], 0).0, ERROR);
    assert_eq!(driver.request(4, 0, &[], 0).0, ERROR);
    assert_eq!(driver.request(11, 0, &[Out(&range(0, 8, 0))], 0).0, ERROR);
}
