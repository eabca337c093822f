//! NVMe/TCP: hosts that disconnect, that send garbage, or that exceed their limits.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::initiator::*;
use flashgc_device::Backend;
use flashgc_front::limits::Limits;
use flashgc_front::nvme::{NvmeExport, answers};
use flashgc_front::queue::Engine;
use flashgc_front::ram::Ram;
use proptest::collection::vec;
use proptest::prelude::*;

const PAGES: u64 = 4096;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn export() -> NvmeExport {
    NvmeExport { uuid: UUID, ..NvmeExport::default() }
}

#[test]
fn malformed_pdus_end_the_connection_with_their_reason() {
    let setup = serve(Ram::new(PAGES));
    let end = |send: fn(&mut Queue)| {
        let wanted = Wanted { header_digests: true, ..Wanted::default() };
        let mut host = setup.host_with(&wanted, 1);
        let queue = &mut host.queues[0];
        send(queue);
        let end = queue.end();
        // The controller still works.
        host.admin.identify(1, 0).ok();
        end
    };
    assert_eq!(end(|queue| queue.send(0x0b, 0, &[0; 64], &[])), (1, 0));
    assert_eq!(end(|queue| queue.send(5, 0, &[0; 16], &[])), (1, 0));
    assert_eq!(end(|queue| queue.send(0, 0, &[0; 120], &[])), (2, 0));
    assert_eq!(end(|queue| queue.send(4, 0, &[0; 60], &[])), (1, 2));
    // A wrong header digest is sent back.
    let wrong = end(|queue| {
        let mut bytes = queue.pdu(4, 0, &[0; 64], &[]);
        bytes[72..76].copy_from_slice(&[1, 2, 3, 4]);
        queue.stream.write_all(&bytes).unwrap();
    });
    assert_eq!(wrong, (3, 0x0403_0201));
    // Data that were not requested, data for another command, out of order, too many, and without
    // the mark of the last PDU.
    assert_eq!(end(|queue| queue.send(6, 4, &transfer(1, 0, 0, 512), &[0; 512])), (1, 10));
    fn granted(queue: &mut Queue) -> (u16, u16) {
        let entry = moves(io(1, 0, 2, 0), 8192);
        let cid = queue.next;
        queue.submit(Sent { entry, data: &[], in_capsule: false });
        let grant = queue.receive().unwrap();
        assert_eq!((grant.kind, grant.u16(8), grant.u32(12), grant.u32(16)), (9, cid, 0, 8192));
        (cid, grant.u16(10))
    }
    let other = end(|queue| {
        let (cid, tag) = granted(queue);
        queue.send(6, 4, &transfer(cid + 1, tag, 0, 8192), &[0; 8192]);
    });
    assert_eq!(other, (1, 8));
    let late = end(|queue| {
        let (cid, tag) = granted(queue);
        queue.send(6, 0, &transfer(cid, tag, 4096, 4096), &[0; 4096]);
    });
    assert_eq!(late, (4, 0));
    let long = end(|queue| {
        let (cid, tag) = granted(queue);
        queue.send(6, 4, &transfer(cid, tag, 0, 12288), &[0; 12288]);
    });
    assert_eq!(long, (4, 0));
    let open = end(|queue| {
        let (cid, tag) = granted(queue);
        queue.send(6, 0, &transfer(cid, tag, 0, 8192), &[0; 8192]);
    });
    assert_eq!(open, (1, 1));
    let huge = end(|queue| {
        let (cid, tag) = granted(queue);
        let most = queue.most;
        queue.send(6, 0, &transfer(cid, tag, 0, most + 4), &vec![0; most + 4]);
    });
    assert_eq!(huge, (5, 0));
    let capsule = end(|queue| queue.send(4, 0, &[0; 64], &[0; 16388]));
    assert_eq!(capsule, (5, 0));
}

#[test]
fn a_wrong_first_pdu_is_refused() {
    let setup = serve(Ram::new(PAGES));
    let answer = |change: fn(&mut [u8; 128])| {
        let mut first = [0; 128];
        (first[2], first[4]) = (128, 128);
        change(&mut first);
        let mut stream = TcpStream::connect(setup.address()).unwrap();
        stream.write_all(&first).unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut stream, &mut bytes).unwrap();
        assert_eq!(bytes[0], 3, "C2HTermReq");
        (bytes[8], bytes[10])
    };
    assert_eq!(answer(|first| first[0] = 0x99), (1, 0));
    assert_eq!(answer(|first| first[0] = 4), (2, 0));
    assert_eq!(answer(|first| first[2] = 127), (1, 2));
    assert_eq!(answer(|first| first[5] = 1), (1, 4));
    assert_eq!(answer(|first| first[8] = 1), (6, 8));
    assert_eq!(answer(|first| first[10] = 32), (1, 10));
}

#[test]
fn more_commands_than_the_queue_has_entries_end_the_connection() {
    let setup = serve(Ram::new(PAGES));
    let mut host = setup.host_with(&Wanted { entries: 4, ..Wanted::default() }, 1);
    let queue = &mut host.queues[0];
    // The host never sends their data, so none of these commands ends.
    for _ in 0..5 {
        let entry = moves(io(1, 0, 2, 0), 8192);
        queue.submit(Sent { entry, data: &[], in_capsule: false });
    }
    assert_eq!(queue.end(), (2, 0));
}

#[test]
fn hosts_that_go_with_writes_under_way_cost_nothing() {
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let setup = serve(drive);
    let mut whole = setup.host();
    whole.queues[0].write(0, 1, &[9; 4096], 0).ok();
    let before = counts.written.load(Ordering::SeqCst);
    for count in 0..10 {
        let mut host = setup.host_with(&Wanted { host_id: 20 + count, ..Wanted::default() }, 2);
        for queue in &mut host.queues {
            for _ in 0..16 {
                let entry = moves(io(1, 0, 2, 0), 8192);
                let cid = queue.submit(Sent { entry, data: &[], in_capsule: false });
                let grant = queue.receive().unwrap();
                // A write whose data do not arrive completely is not executed.
                queue.send(6, 0, &transfer(cid, grant.u16(10), 0, 4096), &[1; 4096]);
            }
            for _ in 0..16 {
                let entry = moves(io(2, 0, 256, 0), 1 << 20);
                queue.submit(Sent { entry, data: &[], in_capsule: false });
            }
        }
    }
    // Waits until the controllers of these hosts are removed.
    let until = Instant::now() + ms(5000);
    while whole.admin.identify(0x13, 0).ok()[0] != 1 {
        assert!(Instant::now() < until, "controllers stay");
        std::thread::sleep(ms(5));
    }
    assert_eq!(counts.written.load(Ordering::SeqCst), before);
    assert_eq!(whole.queues[0].read(0, 1, 4096).ok(), [9; 4096]);
    setup.server.stop();
    setup.engine.stop().1.unwrap();
}

/// The controller ends with its admin queue, and its other queues are closed.
#[test]
fn queues_end_with_their_admin_queue_and_by_disconnect() {
    let setup = serve(Ram::new(PAGES));
    let mut host = setup.host_with(&Wanted::default(), 3);
    let disconnect = entry(0x7f, 8, &[0]);
    assert_eq!(host.admin.ask(disconnect).status, DNR | 0x185);
    host.queues[0].ask(disconnect).ok();
    assert!(host.queues[0].is_closed());
    host.queues[1].read(0, 1, 4096).ok();
    // After Disconnect, the number of the queue is free again.
    let until = Instant::now() + ms(5000);
    loop {
        let wanted = Wanted::default();
        let id = host.admin.controller;
        if Queue::connect(&setup.address(), &setup.name, &wanted, 1, id).is_ok() {
            break;
        }
        assert!(Instant::now() < until, "the number stays taken");
    }
    drop(host.admin);
    assert!(host.queues[1].is_closed() && host.queues[2].is_closed());
}

/// A host sends many commands and reads no answer. Other hosts are served. The drive reads data
/// only for the commands that may be under way.
#[test]
fn a_host_that_takes_no_answers_holds_up_nobody() {
    let mut drive = Ram::new(PAGES);
    drive.write(0, &vec![1; 16 << 20], false).unwrap();
    let counts = drive.counts();
    let limits = Limits { window: 8 << 20, ..Limits::default() };
    let setup = serve_with(drive, export(), limits);
    let mut deaf = setup.host();
    for _ in 0..100 {
        let entry = moves(io(2, 0, 256, 0), 1 << 20);
        deaf.queues[0].submit(Sent { entry, data: &[], in_capsule: false });
    }
    let mut other = setup.host_with(&Wanted { host_id: 3, ..Wanted::default() }, 1);
    for _ in 0..50 {
        other.queues[0].write(0, 1, &[1; 4096], 0).ok();
        other.queues[0].read(0, 1, 4096).ok();
    }
    std::thread::sleep(ms(200));
    // The drive has read the data under way, and the data in the system's buffers.
    let read = counts.read.load(Ordering::SeqCst);
    assert!(read < 60 * 256, "{read} pages");
    let before = Instant::now();
    setup.server.stop();
    assert!(before.elapsed() < ms(5000));
}

/// Writes whose data arrive late take only as much memory as the limits allow. The other writes
/// wait, and are done later.
#[test]
fn large_writes_wait_for_room_and_all_end() {
    let drive = Ram::new(PAGES);
    let limits = Limits { window: 3 << 20, ..Limits::default() };
    let setup = serve_with(drive, export(), limits);
    let mut host = setup.host();
    let queue = &mut host.queues[0];
    let data = vec![5; 1 << 20];
    let mut all = Vec::new();
    for index in 0..12 {
        let entry = io(1, index * 256, 256, 0);
        all.push(queue.submit(Sent { entry, data: &data, in_capsule: false }));
        // A read between the writes must not block their data.
        let entry = moves(io(2, index * 256, 256, 0), 1 << 20);
        all.push(queue.submit(Sent { entry, data: &[], in_capsule: false }));
    }
    for cid in all {
        assert_eq!(queue.wait(cid).status, 0);
    }
    assert_eq!(queue.read(11 * 256, 256, 1 << 20).ok(), data);
}

#[test]
fn hosts_that_are_too_slow_are_closed() {
    let limits = Limits { negotiation: ms(300), patience: ms(300), ..Limits::default() };
    let setup = serve_with(Ram::new(PAGES), export(), limits);
    let began = Instant::now();
    let mut silent = TcpStream::connect(setup.address()).unwrap();
    let mut half = Queue::open(&setup.address(), &Wanted::default());
    let mut rest = Vec::new();
    assert_eq!(std::io::Read::read_to_end(&mut silent, &mut rest).unwrap(), 0);
    assert!(half.is_closed(), "it never asks to connect");
    assert!(began.elapsed() < ms(3000));
    // A connected host may be silent, but not within a command, and not while it has to send data.
    let mut host = setup.host_with(&Wanted::default(), 3);
    host.queues[0].stream.write_all(&[4, 0, 72]).unwrap();
    let entry = moves(io(1, 0, 2, 0), 8192);
    host.queues[1].submit(Sent { entry, data: &[], in_capsule: false });
    assert_eq!(host.queues[1].receive().unwrap().kind, 9);
    let began = Instant::now();
    while began.elapsed() < ms(900) {
        // Other commands do not make up for the missing data.
        host.queues[1].submit(Sent { entry: entry_of_flush(), data: &[], in_capsule: false });
        std::thread::sleep(ms(50));
    }
    assert!(host.queues[0].is_closed());
    assert!(host.queues[1].is_closed());
    host.queues[2].read(0, 1, 4096).ok();
}

fn entry_of_flush() -> [u8; 64] {
    entry(0, 1, &[])
}

#[test]
fn a_new_host_gets_the_place_of_one_that_asked_for_nothing() {
    let limits = Limits { connections: 4, newcomer: ms(50), ..Limits::default() };
    let setup = serve_with(Ram::new(PAGES), export(), limits);
    let idle: Vec<_> = (0..4).map(|_| TcpStream::connect(setup.address()).unwrap()).collect();
    std::thread::sleep(ms(150));
    let mut host = setup.host();
    host.queues[0].read(0, 1, 4096).ok();
    drop(idle);
}

#[test]
fn silent_hosts_give_their_controllers_to_new_ones() {
    let limits = Limits { connections: 1000, newcomer: ms(2000), ..Limits::default() };
    for name in [None, Some(DISCOVERY)] {
        let setup = serve_with(Ram::new(PAGES), export(), limits);
        let connect =
            |name: &str| Queue::connect(&setup.address(), name, &Wanted::default(), 0, 0xffff);
        let mut busy = setup.host();
        let name = name.unwrap_or(&setup.name);
        let silent: Vec<Queue> = (0..63).map(|_| connect(name).unwrap()).collect();
        assert!(connect(name).is_err(), "nobody was silent for long");
        std::thread::sleep(ms(2200));
        // A host that has just sent a command keeps its controller.
        busy.queues[0].read(0, 1, 4096).ok();
        let hosts: Vec<Host> = (0..63).map(|_| setup.host()).collect();
        busy.queues[0].read(1, 1, 4096).ok();
        for mut host in hosts {
            host.queues[0].read(2, 1, 4096).ok();
        }
        drop(silent);
    }
}

/// Returns the bytes of a host that connects and sends some commands.
fn stream(header_digests: bool, data_digests: bool) -> Vec<u8> {
    // A queue without a server, only to build its PDUs.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let wanted = Wanted { header_digests, data_digests, ..Wanted::default() };
    let queue = Queue::detached(stream, wanted);
    let mut bytes = vec![0; 128];
    (bytes[2], bytes[4]) = (128, 128);
    bytes[11] = u8::from(header_digests) | u8::from(data_digests) << 1;
    let name = export().name();
    let mut data = vec![7; 16];
    data.resize(1024, 0);
    data[16..18].fill(0xff);
    data[256..256 + name.len()].copy_from_slice(name.as_bytes());
    data[512..512 + HOST.len()].copy_from_slice(HOST.as_bytes());
    let mut connect = moves(entry(0x7f, 1, &[0, 127]), 1024);
    connect[39] = 1;
    bytes.extend(queue.pdu(4, 0, &connect, &data));
    let enable = entry(0x7f, 0, &[0, 0x14, 6 << 16 | 4 << 20 | 1]);
    let clock = moves(entry(0x09, 0, &[0x0e]), 8);
    for entry in [
        enable,
        entry(0x7f, 4, &[1, 0]),
        moves(entry(0x06, 1, &[0]), 4096),
        moves(entry(0x02, 0, &[0x02 | 127 << 16]), 512),
        entry(0x0c, 0, &[]),
        clock,
    ] {
        bytes.extend(queue.pdu(4, 0, &entry, &[]));
    }
    bytes.extend(queue.pdu(6, 4, &transfer(0, 0, 0, 8), &[1; 8]));
    bytes.extend(queue.pdu(4, 0, &entry(0x18, 0, &[]), &[]));
    bytes
}

/// The unchanged stream is answered, so that mutated ones reach the commands, too.
#[test]
fn the_stream_that_is_mutated_is_a_right_one() {
    let engine = Engine::start(Ram::new(64)).unwrap();
    let sent = answers(&engine.queue(), &export(), &stream(false, false));
    let (mut kinds, mut rest) = (Vec::new(), sent.as_slice());
    while let [kind, _, _, _, length @ ..] = rest {
        kinds.push(*kind);
        let length = u32::from_le_bytes(length[..4].try_into().unwrap());
        rest = &rest[length as usize..];
    }
    // The kinds of PDUs: 1 is ICResp, 5 an answer, 7 data, 9 an R2T. The request for an event is
    // not answered.
    assert_eq!(kinds, [1, 5, 5, 5, 7, 5, 7, 5, 9, 5, 5]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn garbage_harms_nobody(
        garbage in vec(any::<u8>(), 0..600),
        (header_digests, data_digests) in any::<(bool, bool)>(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let engine = Engine::start(Ram::new(64)).unwrap();
        let queue = engine.queue();
        answers(&queue, &export(), &garbage);
        let right = stream(header_digests, data_digests);
        let mut changed = right.clone();
        for (place, byte) in changes {
            let place = place.index(changed.len());
            changed[place] = byte;
        }
        answers(&queue, &export(), &changed);
        answers(&queue, &export(), &right[..cut.index(right.len())]);
        prop_assert!(engine.stop().1.is_ok());
    }
}

/// Runs `INPUTS` streams with changed, lost and repeated bytes. There must be no panic, and memory
/// must not grow.
#[test]
#[ignore = "minutes"]
fn many_inputs_harm_nobody() {
    let inputs = std::env::var("INPUTS").map_or(100_000, |inputs| inputs.parse().unwrap());
    let engine = Engine::start(Ram::new(64)).unwrap();
    let queue = engine.queue();
    let (right, mut rng) = (stream(false, false), flashgc_base::rng::Stream::new(1, "garbage"));
    let mut below = |limit: usize| rng.below(limit as u32) as usize;
    let memory = || {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let mut before = 0;
    for input in 0..inputs {
        if input == inputs / 10 {
            before = memory();
        }
        let mut bytes = right.clone();
        for _ in 0..below(6) {
            let place = below(bytes.len());
            bytes[place] =
                if below(2) == 0 { below(256) as u8 } else { bytes[place] ^ 1 << below(8) };
        }
        if below(4) == 0 {
            let from = below(bytes.len());
            let piece = bytes[from..bytes.len().min(from + below(200))].to_vec();
            let place = below(bytes.len());
            bytes.splice(place..place, piece);
        }
        if below(4) == 0 {
            bytes.truncate(below(bytes.len()));
        }
        answers(&queue, &export(), &bytes);
    }
    let grown = memory().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
    assert!(engine.stop().1.is_ok());
}
