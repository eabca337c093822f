//! Faults as NVMe/TCP hosts see them.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::faults::{fail, fault, unreadable};
use crate::initiator::*;
use flashgc_front::faults::{Effect, Fault, FaultKind, Faults};
use flashgc_front::ram::Ram;

const PAGES: u64 = 4096;
const UNRECOVERED: u16 = DNR | 0x281;

fn faults(setup: &Setup) -> Arc<Faults> {
    Arc::clone(setup.engine.queue().faults())
}

fn discard<'a>(ranges: &'a [u8], count: u32) -> Sent<'a> {
    Sent { entry: entry(9, 1, &[count - 1, 4]), data: ranges, in_capsule: true }
}

#[test]
fn commands_that_fail_have_the_status_of_the_specification() {
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let setup = serve(drive);
    let faults = faults(&setup);
    let mut host = setup.host();
    let queue = &mut host.queues[0];
    let page = [1; 4096];
    queue.write(0, 1, &page, 0).ok();
    faults.inject(fail(FaultKind::Read, 3)).unwrap();
    assert_eq!(queue.read(0, 1, 4096).status, UNRECOVERED);
    let compare = || Sent { entry: io(5, 0, 1, 0), data: &page, in_capsule: true };
    assert_eq!(queue.call(compare()).status, UNRECOVERED);
    assert_eq!(queue.ask(io(0x0c, 0, 1, 0)).status, UNRECOVERED, "verify");
    assert_eq!(queue.call(compare()).status, 0);
    // The statuses of a write and a flush allow a retry.
    faults.inject(fail(FaultKind::Write, 2)).unwrap();
    assert_eq!(queue.write(5, 1, &page, 0).status, 0x280);
    assert_eq!(queue.ask(io(8, 5, 1, 0)).status, 0x280, "zeros");
    faults.inject(fail(FaultKind::Flush, 1)).unwrap();
    assert_eq!(queue.ask(entry(0, 1, &[])).status, 0x006);
    queue.ask(entry(0, 1, &[])).ok();
    assert_eq!((counts.written.load(SeqCst), counts.flushes.load(SeqCst)), (1, 1));
    // A discard of many ranges is one command.
    let ranges: Vec<u8> = [0_u64, 8]
        .iter()
        .flat_map(|first| [1 << 32, *first].map(u64::to_le_bytes).concat())
        .collect();
    faults.inject(fail(FaultKind::Discard, 1)).unwrap();
    assert_eq!(queue.call(discard(&ranges, 2)).status, 0x280);
    assert_eq!(counts.trimmed.load(SeqCst), 0);
    assert_eq!(queue.call(discard(&ranges, 2)).status, 0);
    assert_eq!(counts.trimmed.load(SeqCst), 2);
    // A copy reads and writes, so it meets faults of both kinds.
    let copy = |first: u8, to: u32| {
        let mut source = vec![0; 32];
        source[8] = first;
        (entry(0x19, 1, &[to, 0, 0]), source)
    };
    for kind in [FaultKind::Read, FaultKind::Write] {
        faults.inject(fail(kind, 1)).unwrap();
        let (entry, source) = copy(0, 20);
        let mut call = || queue.call(Sent { entry, data: &source, in_capsule: true }).status;
        assert_eq!((call(), call()), (UNRECOVERED, 0));
    }
    assert_eq!(counts.written.load(SeqCst), 3);
    // The error log has all these failures.
    let log = host.admin.log(0x01, 0, 64).ok();
    assert_eq!(u64::from_le_bytes(log[..8].try_into().unwrap()), 9, "errors");
}

#[test]
fn unreadable_blocks_are_healed_by_a_write() {
    let setup = serve(Ram::new(PAGES));
    let faults = faults(&setup);
    let mut host = setup.host();
    let queue = &mut host.queues[0];
    faults.inject(unreadable(16, 16)).unwrap();
    assert_eq!(queue.read(15, 2, 8192).status, UNRECOVERED);
    queue.read(15, 1, 4096).ok();
    queue.write(16, 8, &[3; 8 * 4096], 0).ok();
    assert_eq!(queue.read(16, 8, 8 * 4096).ok(), [3; 8 * 4096]);
    assert_eq!(queue.read(24, 1, 4096).status, UNRECOVERED);
    faults.clear(None).unwrap();
    queue.read(24, 8, 8 * 4096).ok();
}

#[test]
fn the_end_of_life_is_in_the_health_log_and_told_to_hosts() {
    let setup = serve(Ram::new(PAGES));
    let faults = faults(&setup);
    let mut host = setup.host();
    let waiting =
        host.admin.submit(Sent { entry: entry(0x0c, 0, &[]), data: &[], in_capsule: false });
    host.admin.ask(entry(0x09, 0, &[0x0b, 1 << 3])).ok();
    faults.inject(fault(Effect::EndOfLife)).unwrap();
    assert_eq!(host.queues[0].write(0, 1, &[1; 4096], 0).status, DNR | 0x20);
    assert_eq!(
        host.admin.wait(waiting).result,
        0x02_00_01,
        "the event of a drive that is read-only"
    );
    assert_eq!(host.admin.log(0x02, 0, 512).ok()[0], 1 << 3, "the critical warning");
    host.queues[0].read(0, 1, 4096).ok();
    faults.clear(None).unwrap();
    assert_eq!(host.admin.log(0x02, 0, 512).ok()[0], 0);
    host.queues[0].write(0, 1, &[1; 4096], 0).ok();
}

#[test]
fn a_late_answer_lets_others_pass() {
    let setup = serve(Ram::new(PAGES));
    let mut host = setup.host();
    let queue = &mut host.queues[0];
    let by = Duration::from_millis(150);
    let late = Fault { kind: Some(FaultKind::Read), next: Some(1), ..fault(Effect::Delay(by)) };
    faults(&setup).inject(late).unwrap();
    let began = Instant::now();
    let read = Sent { entry: moves(io(2, 0, 1, 0), 4096), data: &[], in_capsule: false };
    let late = queue.submit(read);
    queue.ask(entry(0, 1, &[])).ok();
    assert!(began.elapsed() < by);
    assert_eq!(queue.wait(late).ok(), [0; 4096]);
    assert!(began.elapsed() >= by);
}

#[test]
fn a_dropped_command_stays_under_way_to_its_host_and_takes_no_room() {
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let setup = serve(drive);
    let faults = faults(&setup);
    let mut host = setup.host_with(&Wanted { entries: 4, ..Wanted::default() }, 1);
    let queue = &mut host.queues[0];
    let dropped = |kind, next| Fault { kind: Some(kind), next: Some(next), ..fault(Effect::Drop) };
    faults.inject(dropped(FaultKind::Write, 2)).unwrap();
    for page in 0..2 {
        queue.submit(Sent { entry: io(1, page, 1, 0), data: &[1; 4096], in_capsule: true });
    }
    assert_eq!(queue.read(0, 2, 8192).ok(), [0; 8192], "what gets no answer is not executed");
    faults.inject(dropped(FaultKind::Discard, 1)).unwrap();
    let mut range = vec![0; 16];
    range[4] = 1;
    queue.submit(discard(&range, 1));
    queue.read(0, 1, 4096).ok();
    assert_eq!((counts.written.load(SeqCst), counts.trimmed.load(SeqCst)), (0, 0));
    // Three of four queue entries stay under way, and the error log has none of these commands.
    let log = host.admin.log(0x01, 0, 64).ok();
    assert_eq!(log[..8], [0; 8]);
    faults.inject(dropped(FaultKind::Flush, 1)).unwrap();
    let queue = &mut host.queues[0];
    queue.submit(Sent { entry: entry(0, 1, &[]), data: &[], in_capsule: false });
    queue.submit(Sent { entry: entry(0, 1, &[]), data: &[], in_capsule: false });
    assert!(queue.is_closed(), "a command more than the queue has entries");
    drop(host);
    // 100 commands of 1 MiB are more than the room of a connection.
    faults.inject(dropped(FaultKind::Read, 100)).unwrap();
    let mut host = setup.host();
    let queue = &mut host.queues[0];
    for _ in 0..100 {
        let entry = moves(io(2, 0, 256, 0), 1 << 20);
        queue.submit(Sent { entry, data: &[], in_capsule: false });
    }
    queue.ask(entry(0, 1, &[])).ok();
    drop(host);
    setup.server.stop();
}

#[test]
fn connections_end_at_once_or_after_some_commands() {
    let setup = serve(Ram::new(PAGES));
    let faults = faults(&setup);
    let mut host = setup.host_with(&Wanted::default(), 2);
    host.queues[0].write(0, 1, &[1; 4096], 0).ok();
    assert_eq!(faults.inject(fault(Effect::Disconnect)), Ok(3), "the admin queue and two of I/O");
    assert!(host.admin.is_closed());
    assert!(host.queues.iter_mut().all(Queue::is_closed));
    let mut host = setup.host();
    faults.inject(Fault { next: Some(1), ..fault(Effect::Disconnect) }).unwrap();
    host.queues[0].read(0, 1, 4096).ok();
    host.queues[0].submit(Sent { entry: io(1, 0, 1, 0), data: &[2; 4096], in_capsule: true });
    assert!(host.queues[0].is_closed() && host.admin.is_closed());
    let mut host = setup.host();
    assert_eq!(host.queues[0].read(0, 1, 4096).ok(), [1; 4096], "the second is not executed");
}
