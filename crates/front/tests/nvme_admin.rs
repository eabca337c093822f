//! NVMe/TCP: connecting, discovery, properties, Identify, logs, features and events.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::initiator::*;
use flashgc_front::ram::Ram;

const PAGES: u64 = 1000;

fn text(field: &[u8]) -> &str {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    std::str::from_utf8(&field[..end]).unwrap().trim_end()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[test]
fn discovery_names_the_drive_at_the_address_that_the_host_found() {
    let setup = serve(Ram::new(PAGES));
    let mut queue =
        Queue::connect(&setup.address(), DISCOVERY, &Wanted::default(), 0, 0xffff).unwrap();
    queue.set_property(0x14, 1).ok();
    let controller = queue.identify(1, 0).ok();
    assert_eq!(controller[111], 2, "a discovery controller");
    assert_eq!(text(&controller[768..1024]), DISCOVERY);
    // Reads first the head of the log and then the rest, as nvme-cli does.
    let head = queue.log(0x70, 0, 1024).ok();
    assert_eq!(number(&head[8..16]), 1);
    let entry = queue.log(0x70, 1024, 1024).ok();
    assert_eq!(entry[3], 0b100, "no flow control is needed");
    // TCP, IPv4, an NVM subsystem, and any controller.
    assert_eq!((entry[0], entry[1], entry[2]), (3, 1, 2));
    assert_eq!(entry[6..8], [0xff, 0xff]);
    let found = format!("{}:{}", text(&entry[512..768]), text(&entry[32..64]));
    assert_eq!(found, setup.address());
    assert_eq!(text(&entry[256..512]), setup.name);
    // A discovery controller has no namespaces, no health log and no I/O queues.
    assert_eq!(queue.identify(0, 1).status, DNR | 0x02);
    assert_eq!(queue.log(0x02, 0, 512).status, DNR | 0x109);
    let wanted = Wanted::default();
    let refused = Queue::connect(&setup.address(), DISCOVERY, &wanted, 1, queue.controller);
    assert_eq!(refused.err(), Some((DNR | 0x182, 42)));
}

#[test]
fn connecting_with_wrong_parameters_is_refused_at_their_place() {
    let setup = serve(Ram::new(PAGES));
    let (address, name) = (setup.address(), setup.name.clone());
    let wanted = Wanted::default();
    let connect = |subsystem: &str, wanted: &Wanted, queue, controller| {
        Queue::connect(&address, subsystem, wanted, queue, controller).err()
    };
    // The result is the offset of the parameter, with bit 16 set if it is in the data.
    let in_data = |place: u64| Some((DNR | 0x182, place | 1 << 16));
    assert_eq!(connect("nqn.2014-08.org.nvmexpress:other", &wanted, 0, 0xffff), in_data(256));
    assert_eq!(connect(&name, &wanted, 0, 1), in_data(16));
    assert_eq!(connect(&name, &Wanted { host: "", ..wanted }, 0, 0xffff), in_data(512));
    assert_eq!(connect(&name, &Wanted { host: "iqn.x", ..wanted }, 0, 0xffff), in_data(512));
    let long = Wanted { entries: 129, ..wanted };
    assert_eq!(connect(&name, &long, 0, 0xffff), Some((DNR | 0x182, 44)));
    let short = Wanted { entries: 1, ..wanted };
    assert_eq!(connect(&name, &short, 0, 0xffff), Some((DNR | 0x182, 44)));
    let mut admin = Queue::connect(&address, &name, &wanted, 0, 0xffff).unwrap();
    let id = admin.controller;
    // I/O queues are possible only when the controller is ready.
    assert_eq!(connect(&name, &wanted, 1, id), Some((DNR | 0x0c, 0)));
    admin.enable();
    assert_eq!(connect(&name, &wanted, 17, id), Some((DNR | 0x182, 42)));
    assert_eq!(connect(&name, &wanted, 1, id + 1), in_data(16));
    let other = Wanted { host_id: 8, ..wanted };
    assert_eq!(connect(&name, &other, 1, id), Some((DNR | 0x184, 0)));
    let _first = Queue::connect(&address, &name, &wanted, 1, id).unwrap();
    assert_eq!(connect(&name, &wanted, 1, id), Some((DNR | 0x0c, 0)));
    // A command before Connect, and a second Connect.
    let mut early = Queue::open(&address, &wanted);
    assert_eq!(early.ask(entry(0x7f, 4, &[1, 0])).status, DNR | 0x0c);
    assert!(early.is_closed());
    let again = admin.ask(entry(0x7f, 1, &[0, 31]));
    assert_eq!(again.status, DNR | 0x0c);
}

#[test]
fn a_controller_is_enabled_reset_and_shut_down() {
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let setup = serve(drive);
    let mut host = setup.host_with(&Wanted::default(), 2);
    let admin = &mut host.admin;
    let capabilities = admin.property(0, 1).result;
    // CAP: 128 entries, contiguous queues, 10 s, the NVM command set.
    assert_eq!(capabilities & 0xffff, 127);
    assert_eq!(capabilities >> 24 & 0xff, 20);
    assert_ne!(capabilities & 1 << 37, 0);
    assert_eq!(admin.property(0x08, 0).result, 0x0002_0000);
    assert_eq!(admin.property(0x68, 0).result, 20);
    assert_eq!(admin.property(0x08, 1).status, DNR | 0x02);
    assert_eq!(admin.property(0x44, 0).status, DNR | 0x02);
    // A reset of the subsystem is not supported.
    assert_eq!(admin.set_property(0x20, 0x4e56_4d65).status, DNR | 0x02);
    // A shutdown flushes.
    let flushes = counts.flushes.load(Ordering::SeqCst);
    admin.set_property(0x14, 6 << 16 | 4 << 20 | 1 << 14 | 1).ok();
    let until = Instant::now() + Duration::from_secs(5);
    while admin.property(0x1c, 0).result != 2 << 2 | 1 {
        assert!(Instant::now() < until, "the shutdown does not end");
    }
    assert_eq!(counts.flushes.load(Ordering::SeqCst), flushes + 1);
    // A reset ends the I/O queues; then commands are refused.
    admin.set_property(0x14, 0).ok();
    assert_eq!(admin.property(0x1c, 0).result, 0);
    assert!(host.queues.iter_mut().all(Queue::is_closed));
    assert_eq!(admin.identify(1, 0).status, DNR | 0x0c);
    // A page size and an entry size that are not supported.
    assert_eq!(admin.set_property(0x14, 6 << 16 | 4 << 20 | 1 << 7 | 1).status, DNR | 0x02);
    assert_eq!(admin.set_property(0x14, 6 << 16 | 5 << 20 | 1).status, DNR | 0x02);
    admin.enable();
    admin.identify(1, 0).ok();
}

#[test]
fn identify_has_all_that_linux_checks() {
    let setup = serve(Ram::new(PAGES));
    let mut host = setup.host();
    let admin = &mut host.admin;
    let data = admin.identify(1, 0).ok();
    assert_eq!(text(&data[4..24]), "0123456789abcdef0123");
    assert_eq!(text(&data[24..64]), "flashgc");
    assert_eq!(data[77], 8, "MDTS: 1 MiB");
    assert_eq!(number(&data[78..80]), u64::from(admin.controller));
    assert_eq!(number(&data[80..84]), 0x0002_0000);
    assert_eq!(data[111], 1, "a controller of I/O");
    assert_ne!(number(&data[320..322]), 0, "KAS");
    assert_eq!((data[512], data[513]), (0x66, 0x44));
    assert_eq!(number(&data[514..516]), 128);
    assert_eq!(number(&data[516..520]), 1);
    assert_eq!(number(&data[520..522]), 0x1dd, "ONCS");
    assert_eq!(number(&data[534..536]), 1, "OCFS: format 0 of Copy");
    assert_eq!(data[525] & 1, 1, "a volatile write cache");
    assert_eq!(number(&data[536..540]), 1 | 1 << 20, "SGLS");
    assert_eq!(text(&data[768..1024]), setup.name);
    assert_eq!(number(&data[1792..1796]), (64 + 16384) / 16, "IOCCSZ");
    assert_eq!(number(&data[1796..1800]), 1, "IORCSZ");
    assert_eq!(number(&data[1800..1802]), 0, "ICDOFF");
    let namespace = admin.identify(0, 1).ok();
    assert_eq!(number(&namespace[..8]), PAGES);
    assert_eq!(number(&namespace[8..16]), PAGES);
    assert_eq!(namespace[26], 0, "the first format");
    assert_eq!(namespace[128..132], [0, 0, 12, 0], "blocks of 4096 bytes");
    assert_eq!(namespace[104..120], UUID, "NGUID");
    assert_eq!((number(&namespace[74..76]), number(&namespace[76..80])), (256, 256), "MSSRL, MCL");
    assert_eq!(namespace[80], 127, "MSRC");
    assert_eq!(admin.identify(0, 2).status, DNR | 0x0b);
    assert_eq!(number(&admin.identify(2, 0).ok()[..8]), 1, "one namespace in the list");
    assert_eq!(number(&admin.identify(2, 1).ok()[..8]), 0, "none behind it");
    let names = admin.identify(3, 1).ok();
    assert_eq!(names[..4], [2, 16, 0, 0]);
    assert_eq!(names[20..24], [3, 16, 0, 0]);
    assert_eq!(names[24..40], UUID);
    assert_eq!(names[40..46], [4, 1, 0, 0, 0, 0]);
    let limits = admin.identify(6, 0).ok();
    assert_eq!(limits[..4], [8, 8, 0, 255]);
    assert_eq!(admin.identify(8, 1).ok()[14], 1, "it is ready");
    assert_eq!(admin.identify(5, 1).ok(), vec![0; 4096]);
    assert_eq!(admin.identify(0x1c, 0).ok()[0], 1);
    let list = admin.identify(0x13, 0).ok();
    assert_eq!(number(&list[..2]), 1);
    assert_eq!(number(&list[2..4]), u64::from(admin.controller));
    assert_eq!(admin.identify(0x55, 1).status, DNR | 0x02);
}

#[test]
fn sectors_of_512_bytes_say_that_a_page_is_atomic() {
    let limits = flashgc_front::limits::Limits::default();
    let setup = serve_with(Ram::new(PAGES), sectors(), limits);
    let mut host = setup.host();
    let namespace = host.admin.identify(0, 1).ok();
    assert_eq!(number(&namespace[..8]), PAGES * 8);
    assert_eq!(namespace[130], 9);
    // NAWUN, NABSN and NPWG are 8 blocks, stored as 7.
    assert_eq!((namespace[34], namespace[40], namespace[64]), (7, 7, 7));
    let queue = &mut host.queues[0];
    queue.write(0, 8, &[1; 4096], 0).ok();
    queue.write(3, 2, &[2; 1024], 0).ok();
    let page = queue.read(0, 8, 4096).ok();
    assert!(page[..1536].iter().all(|byte| *byte == 1));
    assert!(page[1536..2560].iter().all(|byte| *byte == 2));
    assert!(page[2560..].iter().all(|byte| *byte == 1));
}

#[test]
fn logs_are_read_whole_and_in_parts() {
    let setup = serve(Ram::new(PAGES));
    let mut host = setup.host();
    let admin = &mut host.admin;
    let pages = admin.log(0x00, 0, 1024).ok();
    let listed: Vec<_> = (0..256).filter(|page| pages[page * 4] == 1).collect();
    assert_eq!(listed, [0x00, 0x01, 0x02, 0x03, 0x05, 0x09, 0xc0]);
    for page in 0..256 {
        let status = admin.log(page, 0, 64).status;
        let expected = if listed.contains(&(page as usize)) { 0 } else { DNR | 0x109 };
        assert_eq!(status, expected, "page {page:#04x}");
    }
    let health = admin.log(0x02, 0, 512).ok();
    assert_eq!((health[0], health[3], health[4]), (0, 100, 10));
    assert_eq!(admin.log(0x02, 0, 64).ok(), health[..64]);
    assert_eq!(admin.log(0x02, 128, 64).ok(), health[128..192]);
    assert_eq!(admin.log(0x02, 2, 64).status, DNR | 0x02);
    assert_eq!(admin.log(0x02, 516, 64).status, DNR | 0x02);
    let firmware = admin.log(0x03, 0, 512).ok();
    assert_eq!((firmware[0], text(&firmware[8..16])), (1, env!("CARGO_PKG_VERSION")));
    let effects = admin.log(0x05, 0, 4096).ok();
    assert_eq!((effects[4 * 6], effects[4 * 0x0d]), (1, 0));
    // A write changes data, a read does not.
    assert_eq!((effects[1024 + 4], effects[1024 + 8]), (3, 1));
    assert_eq!(admin.log(0x09, 0, 512).ok()[3], 100);
    let ocp = admin.log(0xc0, 0, 512).ok();
    assert_eq!(number(&ocp[494..496]), 3);
    assert_eq!(ocp[496..500], [0xc5, 0xaf, 0x10, 0x28]);
    assert_eq!(admin.log(0x0c, 0, 512).status, DNR | 0x109);
    // More bytes than a command may move.
    let dwords = [0x02 | 0xffff << 16, 0xffff];
    assert_eq!(admin.get(entry(2, 0xffff_ffff, &dwords), 512).status, DNR | 0x02);
    // The error log has the commands that failed, the latest first.
    let mut read = moves(io(2, PAGES, 1, 0), 4096);
    read[3] = 0;
    assert_eq!(host.queues[0].ask(read).status, DNR | 0x80);
    let errors = host.admin.log(0x01, 0, 1024).ok();
    assert_eq!(number(&errors[8..10]), 1, "the queue");
    assert_eq!(number(&errors[12..14]), u64::from(DNR | 0x80) << 1);
    assert_eq!(number(&errors[16..24]), PAGES);
    assert_eq!(number(&errors[..8]) - 1, number(&errors[64..72]));
}

#[test]
fn features_are_read_and_set() {
    let drive = Ram::new(PAGES);
    let counts = drive.counts();
    let setup = serve(drive);
    let mut host = setup.host_with(&Wanted { keep_alive: 1500, ..Wanted::default() }, 1);
    let admin = &mut host.admin;
    let get = |admin: &mut Queue, id: u32| admin.ask(entry(0x0a, 0, &[id])).result;
    let set = |admin: &mut Queue, id: u32, value: u32| admin.ask(entry(0x09, 0, &[id, value]));
    assert_eq!(set(admin, 0x07, 0x001f_001f).result, 0x000f_000f, "16 queues");
    assert_eq!(get(admin, 0x07), 0x000f_000f);
    assert_eq!(get(admin, 0x0f), 2000, "the keep alive timer counts seconds");
    set(admin, 0x0f, 0).ok();
    assert_eq!(get(admin, 0x0f), 0);
    set(admin, 0x0b, 0x1f).ok();
    assert_eq!(get(admin, 0x0b), 0x1f);
    assert_eq!(get(admin, 0x0b | 1 << 8), 0, "the default");
    assert_eq!(get(admin, 0x0b | 3 << 8), 4, "it can be changed");
    assert_eq!(set(admin, 0x0b | 1 << 31, 0).status, DNR | 0x10d);
    assert_eq!(admin.ask(entry(0x0a, 0, &[0x10])).status, DNR | 0x02);
    let id = admin.get(entry(0x0a, 0, &[0x81, 1]), 16).ok();
    assert_eq!(id, [7; 16]);
    let id = Sent { entry: entry(0x09, 0, &[0x81, 1]), data: &id, in_capsule: true };
    assert_eq!(admin.call(id).status, DNR | 0x10e, "it cannot be changed");
    let clock = [1, 2, 3, 4, 0, 0, 0, 0];
    admin.call(Sent { entry: entry(0x09, 0, &[0x0e]), data: &clock, in_capsule: true }).ok();
    let now = admin.get(entry(0x0a, 0, &[0x0e]), 8).ok();
    assert_eq!(now[6], 2, "the host has set it");
    assert!((0x0403_0201..0x0403_0201 + 60_000).contains(&number(&now[..6])));
    // Without the write cache every write is durable.
    assert_eq!(get(admin, 0x06), 1);
    set(admin, 0x06, 0).ok();
    assert_eq!(get(admin, 0x06), 0);
    let flushes = counts.flushes.load(Ordering::SeqCst);
    host.queues[0].write(1, 1, &[1; 4096], 0).ok();
    assert_eq!(counts.flushes.load(Ordering::SeqCst), flushes + 1);
}

#[test]
fn requests_for_events_wait_and_are_aborted() {
    let setup = serve(Ram::new(PAGES));
    let mut host = setup.host();
    let admin = &mut host.admin;
    let event = || Sent { entry: entry(0x0c, 0, &[]), data: &[], in_capsule: false };
    let waiting: Vec<_> = (0..4).map(|_| admin.submit(event())).collect();
    assert_eq!(admin.call(event()).status, DNR | 0x105);
    admin.identify(1, 0).ok();
    let abort = |admin: &mut Queue, cid: u16| admin.ask(entry(0x08, 0, &[u32::from(cid) << 16]));
    assert_eq!(abort(admin, waiting[2]).result, 0);
    assert_eq!(admin.wait(waiting[2]).status, 0x07);
    assert_eq!(abort(admin, 999).result, 1, "not aborted");
    // A reset answers all of them.
    admin.set_property(0x14, 0).ok();
    assert_eq!(admin.wait(waiting[0]).status, 0x07);
    assert_eq!(admin.wait(waiting[3]).status, 0x07);
    // A command that only PCIe has, and one that does not exist.
    admin.enable();
    assert_eq!(admin.ask(entry(0x05, 0, &[])).status, DNR | 0x01);
    assert_eq!(admin.ask(entry(0xc5, 0, &[])).status, DNR | 0x01);
    // An unsupported command with data: a firmware download.
    let firmware = Sent { entry: entry(0x11, 0, &[0, 0]), data: &[0; 512], in_capsule: true };
    assert_eq!(admin.call(firmware).status, DNR | 0x01);
}

#[test]
fn a_host_that_is_not_heard_of_in_time_is_gone() {
    let setup = serve(Ram::new(PAGES));
    let silent = Wanted { keep_alive: 1000, ..Wanted::default() };
    let mut lost = setup.host_with(&silent, 1);
    let mut heard = setup.host_with(&Wanted { host_id: 9, ..silent }, 1);
    let began = Instant::now();
    // Any command on any queue keeps a controller alive.
    while began.elapsed() < Duration::from_millis(1800) {
        heard.queues[0].read(0, 1, 4096).ok();
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(lost.queues[0].is_closed() && lost.admin.is_closed());
    heard.admin.ask(entry(0x18, 0, &[])).ok();
    assert_eq!(heard.admin.identify(0x13, 0).ok()[0], 1, "the other is gone");
}
