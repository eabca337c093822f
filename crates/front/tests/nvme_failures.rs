//! NVMe/TCP: the statuses of a drive that fails, and the event of one that becomes read-only.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::initiator::*;
use flashgc_device::{Backend, DeviceError, Hinted, WriteStreams};
use flashgc_front::nvme::{NvmeExport, NvmeServer};
use flashgc_front::queue::Engine;
use flashgc_front::ram::Ram;

const SOUND: u8 = 0;
const READ_ONLY: u8 = 1;
const FULL: u8 = 2;
const DAMAGED: u8 = 3;

/// A drive in memory that fails on demand.
struct Failing(Ram, Arc<AtomicU8>);

impl Failing {
    fn fail(&self, writes: bool) -> Result<(), DeviceError> {
        match self.1.load(Ordering::SeqCst) {
            READ_ONLY if writes => Err(DeviceError::ReadOnly("its life is over".into())),
            FULL if writes => Err(DeviceError::NoSpace("no room".into())),
            DAMAGED => Err(DeviceError::Media("damaged".into())),
            _ => Ok(()),
        }
    }
}

impl Backend for Failing {
    fn pages(&self) -> u64 {
        self.0.pages()
    }

    fn read(&mut self, page: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        self.fail(false)?;
        self.0.read(page, into)
    }

    fn write_named(
        &mut self,
        page: u64,
        data: &[u8],
        _: WriteStreams<'_>,
        fua: bool,
    ) -> Result<(), DeviceError> {
        self.fail(true)?;
        self.0.write(page, data, fua)
    }

    fn trim(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        self.fail(true)?;
        self.0.trim(page, count)
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        self.0.flush()
    }

    fn moment(&self) -> u64 {
        self.0.moment()
    }

    fn hint(&mut self, page: u64, count: u64, moment: Option<u64>) -> Result<Hinted, DeviceError> {
        self.0.hint(page, count, moment)
    }

    fn cancel(&mut self, page: u64, count: u64) -> Result<(), DeviceError> {
        self.0.cancel(page, count)
    }

    fn extent(&mut self, page: u64, count: u64) -> Result<(u64, bool), DeviceError> {
        self.0.extent(page, count)
    }
}

#[test]
fn failures_have_their_status_and_a_read_only_drive_tells_its_hosts() {
    let state = Arc::new(AtomicU8::new(SOUND));
    let engine = Engine::start(Failing(Ram::new(100), Arc::clone(&state))).unwrap();
    let export = NvmeExport { uuid: UUID, ..NvmeExport::default() };
    let address = "127.0.0.1:0".parse().unwrap();
    let server = NvmeServer::start(engine.queue(), &address, &export).unwrap();
    let (address, name, wanted) = (server.address().to_string(), export.name(), Wanted::default());
    let mut admin = Queue::connect(&address, &name, &wanted, 0, 0xffff).unwrap();
    admin.enable();
    let mut queue = Queue::connect(&address, &name, &wanted, 1, admin.controller).unwrap();
    let page = [1; 4096];
    queue.write(0, 1, &page, 0).ok();
    state.store(DAMAGED, Ordering::SeqCst);
    assert_eq!(queue.read(0, 1, 4096).status, DNR | 0x281);
    assert_eq!(queue.ask(io(0x0c, 0, 1, 0)).status, DNR | 0x281);
    let compare = Sent { entry: io(5, 0, 1, 0), data: &page, in_capsule: true };
    assert_eq!(queue.call(compare).status, DNR | 0x281);
    // The status of a failed write allows a retry.
    assert_eq!(queue.write(0, 1, &page, 0).status, 0x280);
    state.store(FULL, Ordering::SeqCst);
    assert_eq!(queue.write(0, 1, &page, 0).status, DNR | 0x81);
    // A host that wants the event of a read-only drive gets it once. It gets the next one only
    // after it has read the log.
    let event = || Sent { entry: entry(0x0c, 0, &[]), data: &[], in_capsule: false };
    let waiting = admin.submit(event());
    admin.ask(entry(0x09, 0, &[0x0b, 1 << 3])).ok();
    state.store(READ_ONLY, Ordering::SeqCst);
    assert_eq!(queue.write(0, 1, &page, 0).status, DNR | 0x20);
    // The event: SMART, reliability, log 02h.
    assert_eq!(admin.wait(waiting).result, 0x02_00_01);
    let next = admin.submit(event());
    let mut ranges = vec![0; 16];
    ranges[4] = 1;
    let discard = Sent { entry: entry(9, 1, &[0, 4]), data: &ranges, in_capsule: true };
    assert_eq!(queue.call(discard).status, DNR | 0x20);
    // If the log is read with RAE, the event stays masked. After a read without RAE the next
    // failure is reported.
    admin.get(entry(0x02, 0xffff_ffff, &[0x8002 | 127 << 16]), 512).ok();
    assert_eq!(queue.write(0, 1, &page, 0).status, DNR | 0x20);
    admin.log(0x02, 0, 512).ok();
    assert_eq!(queue.write(0, 1, &page, 0).status, DNR | 0x20);
    assert_eq!(admin.wait(next).result, 0x02_00_01);
    assert_eq!(queue.read(0, 1, 4096).ok(), page);
    server.stop();
    engine.stop().1.unwrap();
}
