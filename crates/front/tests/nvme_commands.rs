//! NVMe/TCP: reads and writes, with and without digests, in capsules and in separate PDUs.

use std::sync::atomic::Ordering;

use crate::initiator::*;
use flashgc_device::Backend;
use flashgc_front::limits::Limits;
use flashgc_front::nvme::NvmeExport;
use flashgc_front::ram::Ram;
use proptest::collection::vec;
use proptest::prelude::*;

const PAGES: u64 = 4096;
const FUA: u32 = 1 << 30;
const DEAC: u32 = 1 << 25;

fn pattern(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes).map(|at| (at as u8).wrapping_mul(31) ^ (at >> 8) as u8 ^ seed).collect()
}

/// Returns all combinations of the terms of a connection: digests, alignment, flow control.
fn all_terms() -> impl Iterator<Item = Wanted> {
    (0..16).map(|bits: u8| Wanted {
        header_digests: bits & 1 != 0,
        data_digests: bits & 2 != 0,
        alignment: if bits & 4 != 0 { 15 } else { 0 },
        flow_control: bits & 8 == 0,
        ..Wanted::default()
    })
}

#[test]
fn data_come_back_under_all_terms() {
    let setup = serve(Ram::new(PAGES));
    for (seed, wanted) in (0..).zip(all_terms()) {
        let mut host = setup.host_with(&wanted, 1);
        let queue = &mut host.queues[0];
        // Data in the capsule, in one PDU, and in several; the largest command has 1 MiB.
        for (first, blocks) in [(0, 1), (10, 2), (20, 16), (100, 256)] {
            let data = pattern(blocks as usize * 4096, seed);
            queue.write(first, blocks, &data, 0).ok();
            assert_eq!(queue.read(first, blocks, data.len()).ok(), data);
        }
        queue.ask(entry(0, 1, &[])).ok();
    }
}

#[test]
fn answers_say_how_far_the_queue_was_read() {
    let setup = serve(Ram::new(PAGES));
    let mut host = setup.host_with(&Wanted { entries: 4, ..Wanted::default() }, 1);
    let heads: Vec<_> = (0..5).map(|_| host.queues[0].ask(entry(0, 1, &[])).head).collect();
    // Connect was the first command of the queue, so the head was 1 already.
    assert_eq!(heads, [2, 3, 0, 1, 2]);
    let mut host = setup.host_with(&Wanted { flow_control: false, ..Wanted::default() }, 1);
    assert_eq!(host.queues[0].ask(entry(0, 1, &[])).head, 0xffff);
}

#[test]
fn each_command_does_what_it_says() {
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let setup = serve(drive);
    let mut host = setup.host();
    let queue = &mut host.queues[0];
    let flushes = || counts.flushes.load(Ordering::SeqCst);
    let written = || counts.written.load(Ordering::SeqCst);
    let page = pattern(4096, 1);
    queue.write(5, 1, &page, 0).ok();
    assert_eq!(flushes(), 0);
    queue.write(6, 1, &page, FUA).ok();
    assert_eq!(flushes(), 1);
    queue.ask(entry(0, 1, &[])).ok();
    queue.ask(entry(0, 0xffff_ffff, &[])).ok();
    assert_eq!(flushes(), 3);
    // Compare.
    let mut compare =
        |data: &[u8]| queue.call(Sent { entry: io(5, 5, 1, 0), data, in_capsule: true }).status;
    assert_eq!(compare(&page), 0);
    assert_eq!(compare(&pattern(4096, 2)), DNR | 0x285);
    // Verify.
    queue.ask(io(0x0c, 0, 256, 0)).ok();
    // Write Zeroes writes. With the flag DEAC it discards, and then the range may be large.
    let before = written();
    queue.ask(io(8, 5, 1, 0)).ok();
    assert_eq!(written(), before + 1);
    assert_eq!(queue.read(5, 1, 4096).ok(), [0; 4096]);
    queue.ask(io(8, 0, 4096, DEAC)).ok();
    assert_eq!(written(), before + 1);
    assert_eq!(counts.trimmed.load(Ordering::SeqCst), PAGES);
    assert_eq!(queue.read(6, 1, 4096).ok(), [0; 4096]);
    assert_eq!(queue.ask(io(8, 0, 257, 0)).status, DNR | 0x02);
    assert_eq!(queue.ask(entry(0x0d, 1, &[])).status, DNR | 0x01);
}

fn ranges(all: &[(u32, u64)]) -> Vec<u8> {
    let one = |&(blocks, first): &(u32, u64)| {
        [[0; 4].as_slice(), &blocks.to_le_bytes(), &first.to_le_bytes()].concat()
    };
    all.iter().flat_map(one).collect()
}

#[test]
fn discards_are_of_many_ranges_or_of_none() {
    let mut drive = Ram::new(PAGES);
    drive.write(0, &vec![1; 1000 * 4096], false).unwrap();
    let counts = drive.counts();
    let setup = serve(drive);
    let mut host = setup.host();
    let queue = &mut host.queues[0];
    let discard = |queue: &mut Queue, all: &[(u32, u64)], flags: u32| {
        let entry = entry(9, 1, &[all.len() as u32 - 1, flags]);
        queue.call(Sent { entry, data: &ranges(all), in_capsule: true }).status
    };
    let trimmed = || counts.trimmed.load(Ordering::SeqCst);
    // Attributes without the flag to discard have no effect.
    assert_eq!(discard(queue, &[(100, 0)], 3), 0);
    assert_eq!(trimmed(), 0);
    assert_eq!(discard(queue, &[(3, 0), (0, 50), (4, 100)], 4), 0);
    assert_eq!(trimmed(), 7);
    let all: Vec<_> = (0..256).map(|index| (1, 200 + index)).collect();
    assert_eq!(discard(queue, &all, 4), 0);
    assert_eq!(trimmed(), 263);
    // Linux sends a list of 256 ranges with every discard. Entries behind the given number of
    // ranges do not count.
    let mut long = ranges(&[(1, 500), (1, 502)]);
    long.resize(4096, 0);
    let one = Sent { entry: entry(9, 1, &[0, 4]), data: &long, in_capsule: true };
    assert_eq!(queue.call(one).status, 0);
    assert_eq!(trimmed(), 264);
    let short = Sent { entry: entry(9, 1, &[1, 4]), data: &long[..16], in_capsule: true };
    assert_eq!(queue.call(short).status, DNR | 0x0f);
    // If one range lies beyond the end, the command is refused and nothing is discarded.
    assert_eq!(discard(queue, &[(1, 0), (1, PAGES)], 4), DNR | 0x80);
    assert_eq!(discard(queue, &[(u32::MAX, u64::MAX - 5)], 4), DNR | 0x80);
    assert_eq!(trimmed(), 264);
    assert_eq!(queue.read(0, 1, 4096).ok(), [0; 4096]);
    assert_eq!(queue.read(3, 1, 4096).ok(), [1; 4096]);
}

/// Returns ranges for Copy, each given by its number of blocks and its first block.
fn sources(all: &[(u16, u64)]) -> Vec<u8> {
    let one = |&(blocks, first): &(u16, u64)| {
        let mut range = vec![0; 32];
        range[8..16].copy_from_slice(&first.to_le_bytes());
        range[16..18].copy_from_slice(&(blocks - 1).to_le_bytes());
        range
    };
    all.iter().flat_map(one).collect()
}

fn copy(queue: &mut Queue, to: u64, all: &[(u16, u64)], flags: u32) -> u16 {
    let entry = entry(0x19, 1, &[to as u32, (to >> 32) as u32, (all.len() as u32 - 1) | flags]);
    queue.call(Sent { entry, data: &sources(all), in_capsule: true }).status
}

#[test]
fn the_drive_copies_ranges_by_itself() {
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let setup = serve(drive);
    let mut host = setup.host();
    let queue = &mut host.queues[0];
    let data = pattern(10 * 4096, 1);
    queue.write(0, 10, &data, 0).ok();
    // Three ranges out of order, two of them equal.
    assert_eq!(copy(queue, 100, &[(2, 5), (1, 0), (2, 5)], 0), 0);
    let page = |number: usize| &data[number * 4096..][..4096];
    let expected = [page(5), page(6), page(0), page(5), page(6)].concat();
    assert_eq!(queue.read(100, 5, expected.len()).ok(), expected);
    // A copy that overlaps its source: everything is read before anything is written.
    assert_eq!(copy(queue, 1, &[(9, 0)], 0), 0);
    assert_eq!(queue.read(0, 10, data.len()).ok(), [page(0), &data[..9 * 4096]].concat());
    let flushes = || counts.flushes.load(Ordering::SeqCst);
    assert_eq!(flushes(), 0);
    assert_eq!(copy(queue, 200, &[(1, 0)], FUA), 0);
    assert_eq!(flushes(), 1);
    // The most blocks and one more; the most ranges and one more.
    assert_eq!(copy(queue, 1000, &[(256, 0)], 0), 0);
    assert_eq!(copy(queue, 1000, &[(255, 0), (2, 0)], 0), DNR | 0x183);
    assert_eq!(copy(queue, 1000, &[(1, 0); 128], 0), 0);
    assert_eq!(copy(queue, 1000, &[(1, 0); 129], 0), DNR | 0x183);
    // If a range lies beyond the end, nothing is written.
    let before = counts.written.load(Ordering::SeqCst);
    assert_eq!(copy(queue, 300, &[(1, 0), (1, PAGES)], 0), DNR | 0x80);
    assert_eq!(copy(queue, PAGES - 1, &[(2, 0)], 0), DNR | 0x80);
    assert_eq!(copy(queue, u64::MAX, &[(1, 0)], 0), DNR | 0x80);
    // An unsupported format, and an unsupported directive.
    assert_eq!(copy(queue, 300, &[(1, 0)], 1 << 8), DNR | 0x02);
    assert_eq!(copy(queue, 300, &[(1, 0)], 1 << 20), DNR | 0x02);
    assert_eq!(counts.written.load(Ordering::SeqCst), before);
}

#[test]
fn ranges_that_will_be_written_soon_are_hints() {
    let mut drive = Ram::new(PAGES);
    drive.write(0, &vec![1; 100 * 4096], false).unwrap();
    let counts = drive.counts();
    let setup = serve(drive);
    let mut host = setup.host();
    let queue = &mut host.queues[0];
    let mut manage = |attributes: u32, flags: u32| {
        let mut data = ranges(&[(3, 10), (2, 50)]);
        data[..4].copy_from_slice(&attributes.to_le_bytes());
        queue.call(Sent { entry: entry(9, 1, &[1, flags]), data: &data, in_capsule: true }).status
    };
    let hinted = || counts.hinted.load(Ordering::SeqCst);
    // The attributes for frequent and sequential reads are no hints.
    assert_eq!(manage(1 << 8 | 4, 1), 0);
    assert_eq!(hinted(), 0);
    // Write Prepare for the first of two ranges.
    assert_eq!(manage(1 << 10, 2), 0);
    assert_eq!(hinted(), 3);
    // A discard is no hint.
    assert_eq!(manage(1 << 10, 4), 0);
    assert_eq!((hinted(), counts.trimmed.load(Ordering::SeqCst)), (3, 5));
}

#[test]
fn wrong_commands_get_the_status_of_the_specification() {
    let setup = serve(Ram::new(PAGES));
    let mut host = setup.host();
    let queue = &mut host.queues[0];
    let page = [7; 4096];
    assert_eq!(queue.read(PAGES, 1, 4096).status, DNR | 0x80);
    assert_eq!(queue.read(PAGES - 1, 2, 8192).status, DNR | 0x80);
    assert_eq!(queue.read(u64::MAX, 1, 4096).status, DNR | 0x80);
    assert_eq!(queue.write(PAGES, 1, &page, 0).status, DNR | 0x80);
    assert_eq!(queue.write(0, 1, &page, 1 << 20).status, DNR | 0x02, "a directive");
    let with_nsid = |nsid: u32| {
        let mut entry = moves(io(2, 0, 1, 0), 4096);
        entry[4..8].copy_from_slice(&nsid.to_le_bytes());
        entry
    };
    assert_eq!(queue.ask(with_nsid(0)).status, DNR | 0x0b);
    assert_eq!(queue.ask(with_nsid(2)).status, DNR | 0x0b);
    assert_eq!(queue.ask(with_nsid(u32::MAX)).status, DNR | 0x0b);
    // More than 1 MiB.
    assert_eq!(queue.read(0, 257, 257 * 4096).status, DNR | 0x02);
    // Lengths of data that do not fit the command, and an unknown descriptor type.
    assert_eq!(queue.read(0, 2, 4096).status, DNR | 0x0f);
    assert_eq!(queue.write(0, 2, &page, 0).status, DNR | 0x0f);
    let mut odd = moves(io(2, 0, 1, 0), 4096);
    odd[39] = 0x40;
    assert_eq!(queue.ask(odd).status, DNR | 0x11);
    let mut fused = moves(io(2, 0, 1, 0), 4096);
    fused[1] |= 1;
    assert_eq!(queue.ask(fused).status, DNR | 0x02);
    let mut pages = moves(io(2, 0, 1, 0), 4096);
    pages[1] = 0;
    assert_eq!(queue.ask(pages).status, DNR | 0x02);
    let mut away = io(1, 0, 1, 0);
    away[24] = 8;
    let sent = Sent { entry: away, data: &page, in_capsule: true };
    assert_eq!(queue.call(sent).status, DNR | 0x16, "an offset in the capsule");
    // The queue still works.
    assert_eq!(queue.read(0, 1, 4096).ok(), [0; 4096]);
}

#[test]
fn a_read_only_drive_refuses_writes_alone() {
    let export = NvmeExport { uuid: UUID, read_only: true, ..NvmeExport::default() };
    let setup = serve_with(Ram::new(PAGES), export, Limits::default());
    let mut host = setup.host();
    assert_eq!(host.admin.identify(0, 1).ok()[99], 1, "NSATTR");
    let queue = &mut host.queues[0];
    assert_eq!(queue.write(0, 1, &[1; 4096], 0).status, DNR | 0x20);
    assert_eq!(queue.ask(io(8, 0, 1, 0)).status, DNR | 0x20);
    assert_eq!(queue.read(0, 1, 4096).ok(), [0; 4096]);
}

#[test]
fn a_stopped_drive_says_so_and_the_target_still_stops() {
    let setup = serve(Ram::new(PAGES));
    let mut host = setup.host();
    setup.engine.stop().1.unwrap();
    // The status is "not ready", so the host may try again.
    assert_eq!(host.queues[0].read(0, 1, 4096).status, 0x82);
    setup.server.stop();
    assert!(host.queues[0].is_closed());
}

/// Data with a wrong digest are not written. The queue still works, and the host may try again.
#[test]
fn damaged_data_are_not_written() {
    let setup = serve(Ram::new(PAGES));
    let wanted = Wanted { header_digests: true, data_digests: true, ..Wanted::default() };
    let mut host = setup.host_with(&wanted, 1);
    let queue = &mut host.queues[0];
    queue.write(0, 4, &pattern(16384, 1), 0).ok();
    let write = |cid: u16, in_capsule: bool| {
        let mut entry = moves(io(1, 0, 4, 0), 16384);
        entry[2..4].copy_from_slice(&cid.to_le_bytes());
        if in_capsule {
            entry[39] = 1;
        }
        entry
    };
    // Damaged data in a capsule.
    let entry = write(500, true);
    let mut bytes = queue.pdu(4, 0, &entry, &pattern(16384, 2));
    *bytes.last_mut().unwrap() ^= 1;
    std::io::Write::write_all(&mut queue.stream, &bytes).unwrap();
    assert_eq!(queue.wait(500).status, 0x22);
    // Data in two separate PDUs. The first one is damaged.
    let entry = write(501, false);
    queue.send(4, 0, &entry, &[]);
    let grant = queue.receive().unwrap();
    let (tag, data) = (grant.u16(10), pattern(16384, 3));
    let mut bytes = queue.pdu(6, 0, &transfer(501, tag, 0, 8192), &data[..8192]);
    *bytes.last_mut().unwrap() ^= 1;
    std::io::Write::write_all(&mut queue.stream, &bytes).unwrap();
    queue.send(6, 4, &transfer(501, tag, 8192, 8192), &data[8192..]);
    assert_eq!(queue.wait(501).status, 0x22);
    assert_eq!(queue.read(0, 4, 16384).ok(), pattern(16384, 1));
}

/// Four queues of one host, each with 32 commands under way. Each command has its own 8 pages.
#[test]
fn four_queues_with_32_commands_each() {
    let setup = serve(Ram::new(PAGES));
    let wanted = Wanted { data_digests: true, ..Wanted::default() };
    let host = setup.host_with(&wanted, 4);
    std::thread::scope(|scope| {
        for (number, mut queue) in (0_u64..).zip(host.queues) {
            scope.spawn(move || {
                let place = |index: u64| number * 1024 + index % 128 * 8;
                for round in 0..20_u8 {
                    let data = |index: u64| pattern(32768, round ^ index as u8);
                    let writes: Vec<_> = (0..32)
                        .map(|index| {
                            let entry = io(1, place(index), 8, 0);
                            queue.submit(Sent { entry, data: &data(index), in_capsule: false })
                        })
                        .collect();
                    for cid in writes {
                        queue.wait(cid).ok();
                    }
                    let reads: Vec<_> = (0..32)
                        .map(|index| {
                            let entry = moves(io(2, place(index), 8, 0), 32768);
                            queue.submit(Sent { entry, data: &[], in_capsule: false })
                        })
                        .collect();
                    for (index, cid) in (0..).zip(reads) {
                        assert_eq!(queue.wait(cid).ok(), data(index));
                    }
                }
            });
        }
    });
}

#[test]
fn two_hosts_see_one_drive() {
    let setup = serve(Ram::new(PAGES));
    let mut first = setup.host();
    let other = Wanted {
        host: "nqn.2014-08.org.nvmexpress:uuid:99999999-2222-3333-4444-555555555555",
        host_id: 9,
        ..Wanted::default()
    };
    let mut second = setup.host_with(&other, 2);
    assert_ne!(first.admin.controller, second.admin.controller);
    first.queues[0].write(3, 1, &[3; 4096], 0).ok();
    assert_eq!(second.queues[1].read(3, 1, 4096).ok(), [3; 4096]);
    // The end of one host does not affect the other.
    drop(second);
    first.queues[0].write(3, 1, &[4; 4096], 0).ok();
    assert_eq!(first.queues[0].read(3, 1, 4096).ok(), [4; 4096]);
}

#[derive(Clone, Debug)]
enum Step {
    Write(u64, u32, u8, bool),
    Read(u64, u32),
    Zero(u64, u32, bool),
    Discard(u64, u32),
    Copy(u64, u32, u64),
}

fn steps() -> impl Strategy<Value = Step> {
    let (first, blocks) = (0_u64..64, 1_u32..9);
    prop_oneof![
        (first.clone(), blocks.clone(), any::<u8>(), any::<bool>())
            .prop_map(|(first, blocks, seed, short)| Step::Write(first, blocks, seed, short)),
        (first.clone(), blocks.clone()).prop_map(|(first, blocks)| Step::Read(first, blocks)),
        (first.clone(), blocks.clone(), any::<bool>())
            .prop_map(|(first, blocks, discard)| Step::Zero(first, blocks, discard)),
        (first.clone(), blocks.clone()).prop_map(|(first, blocks)| Step::Discard(first, blocks)),
        (first.clone(), blocks, first).prop_map(|(from, blocks, to)| Step::Copy(from, blocks, to)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn a_drive_is_its_blocks(
        steps in vec(steps(), 1..60),
        (header_digests, data_digests, is_of_sectors) in any::<(bool, bool, bool)>(),
    ) {
        let size = if is_of_sectors { 512 } else { 4096 };
        let export = NvmeExport { uuid: UUID, ..if is_of_sectors { sectors() } else { NvmeExport::default() } };
        let setup = serve_with(Ram::new(72), export, Limits::default());
        let wanted = Wanted { header_digests, data_digests, ..Wanted::default() };
        let mut host = setup.host_with(&wanted, 1);
        let queue = &mut host.queues[0];
        let mut naive = vec![0; 72 * 4096];
        let range = |first: u64, blocks: u32| {
            let from = first as usize * size;
            from..from + blocks as usize * size
        };
        for step in steps {
            match step {
                Step::Write(first, blocks, seed, in_capsule) => {
                    let data = pattern(blocks as usize * size, seed);
                    let in_capsule = in_capsule && data.len() <= 16384;
                    let entry = io(1, first, blocks, 0);
                    queue.call(Sent { entry, data: &data, in_capsule }).ok();
                    naive[range(first, blocks)].copy_from_slice(&data);
                }
                Step::Read(first, blocks) => {
                    let found = queue.read(first, blocks, blocks as usize * size).ok();
                    prop_assert_eq!(&found, &naive[range(first, blocks)]);
                }
                Step::Zero(first, blocks, discard) => {
                    queue.ask(io(8, first, blocks, if discard { DEAC } else { 0 })).ok();
                    naive[range(first, blocks)].fill(0);
                }
                // Discarded parts of pages would keep their data, so there are no discards with
                // small blocks.
                Step::Discard(first, blocks) if !is_of_sectors => {
                    let entry = entry(9, 1, &[0, 4]);
                    let data = ranges(&[(blocks, first)]);
                    queue.call(Sent { entry, data: &data, in_capsule: true }).ok();
                    naive[range(first, blocks)].fill(0);
                }
                Step::Discard(..) => {}
                Step::Copy(from, blocks, to) => {
                    prop_assert_eq!(copy(queue, to, &[(blocks as u16, from)], 0), 0);
                    naive.copy_within(range(from, blocks), range(to, 0).start);
                }
            }
        }
    }
}
