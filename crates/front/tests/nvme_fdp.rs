//! NVMe/TCP: flexible data placement, on a stored drive with placement handles.

use std::collections::VecDeque;
use std::path::Path;

use crate::common::{new_medium, open, page_of, settings};
use crate::initiator::*;
use flashgc_base::rng::Stream;
use flashgc_base::stream::NO_STREAM;
use flashgc_device::{Backend, Drive, PAGE, Recording, Report, Settings, WriteStreams};
use flashgc_front::limits::Limits;
use flashgc_front::nvme::{Block, Handles, NvmeAddress, NvmeExport, NvmeServer};
use flashgc_front::pace::{Pace, Simulated, Work};
use flashgc_front::queue::Engine;
use flashgc_front::ram::Ram;
use flashgc_workload::Op;
use flashgc_workload::trace::{Asker, ReadOptions, TraceReader};

/// The number of pages in a block of [`settings`].
const UNIT: u64 = 12;
/// The bits of the directive that names a placement identifier.
const PLACED: u32 = 2 << 20;

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn placed(count: u16, persistent: u16) -> Settings {
    settings("greedy", &format!("fdp:handles={count},persistent={persistent}"), "fifo")
}

/// A served drive with placement handles.
struct Placing {
    server: NvmeServer,
    engine: Engine<Drive>,
    name: String,
}

impl Placing {
    fn serve(drive: Drive, handles: Option<Handles>, block: Block) -> Self {
        let export = NvmeExport { uuid: UUID, block, handles, ..NvmeExport::default() };
        Self::of(Engine::start(drive).unwrap(), &export)
    }

    fn of(engine: Engine<Drive>, export: &NvmeExport) -> Self {
        let address: NvmeAddress = "127.0.0.1:0".parse().unwrap();
        let listener = NvmeServer::listen(&address).unwrap();
        let limits = Limits::default();
        let server =
            NvmeServer::start_with(engine.queue(), &address, listener, export, limits).unwrap();
        Self { server, engine, name: export.name() }
    }

    fn with_handles(count: u16, persistent: u16) -> Self {
        let settings = placed(count, persistent);
        let handles = Some(Handles { count, persistent, groups: 1 });
        Self::serve(open(new_medium(&settings), &settings), handles, Block::Page)
    }

    fn host(&self, wanted: &Wanted) -> Host {
        let address = self.server.address().to_string();
        let mut admin = Queue::connect(&address, &self.name, wanted, 0, 0xffff).unwrap();
        admin.enable();
        let (name, controller) = (&self.name, admin.controller);
        let queue = |number| Queue::connect(&address, name, wanted, number, controller).unwrap();
        Host { queues: vec![queue(1), queue(2)], admin }
    }

    fn drive<T: Send + 'static>(&self, with: fn(&mut Drive) -> T) -> T {
        self.engine.queue().visit(move |drive, _| with(drive.as_drive().unwrap())).unwrap()
    }

    fn stat(&self) -> Report {
        self.drive(|drive| drive.stat())
    }
}

/// Returns the entry of a command for `count` blocks from `first` on, with this placement
/// identifier.
fn at(opcode: u8, first: u64, count: u32, identifier: u32, flags: u32) -> [u8; 64] {
    entry(opcode, 1, &[first as u32, 0, (count - 1) | PLACED | flags, identifier << 16])
}

fn put(queue: &mut Queue, first: u64, data: &[u8], identifier: u32) -> u16 {
    let entry = at(1, first, (data.len() / PAGE) as u32, identifier, 0);
    queue.call(Sent { entry, data, in_capsule: data.len() <= 8192 }).status
}

/// Reads a log page of endurance group 1. `specific` is the log-specific field.
fn log(queue: &mut Queue, page: u32, specific: u32, from: u32, bytes: usize) -> Answer {
    let dwords = bytes as u32 / 4 - 1;
    let low = [page | specific << 8 | dwords << 16, 1 << 16, from, 0];
    queue.get(entry(0x02, 0, &low), bytes)
}

#[test]
fn only_a_drive_that_takes_streams_has_placement() {
    let plain = crate::common::plain();
    let handles = Some(Handles { count: 2, persistent: 0, groups: 1 });
    let without = Placing::serve(open(new_medium(&plain), &plain), handles, Block::Page);
    let with = Placing::with_handles(3, 1);
    for (placing, has) in [(&without, false), (&with, true)] {
        let mut host = placing.host(&Wanted::default());
        let controller = host.admin.identify(1, 0).ok();
        assert_eq!(number(&controller[96..100]) >> 19 & 1 == 1, has);
        assert_eq!(number(&controller[256..258]) >> 5 & 1 == 1, has);
        assert_eq!(number(&host.admin.identify(0, 1).ok()[102..104]), 1);
        let supported = host.admin.log(0, 0, 1024).ok();
        let effects = host.admin.log(5, 0, 4096).ok();
        for page in 0x20..=0x23 {
            assert_eq!(supported[page * 4] == 1, has);
            let status = if has { 0 } else { DNR | 0x109 };
            assert_eq!(log(&mut host.admin, page as u32, 0, 0, 8).status, status);
        }
        for place in [0x19, 0x1a, 256 + 0x12, 256 + 0x1d] {
            assert_eq!(effects[place * 4] == 1, has, "{place:#x}");
        }
        let refused = |status: u16| if has { 0 } else { DNR | status };
        assert_eq!(host.admin.ask(entry(0x0a, 0, &[0x1d, 1])).status, refused(0x02));
        let parameters = entry(0x1a, 1, &[1023, 1]);
        assert_eq!(host.admin.get(parameters, 4096).status, refused(0x01));
        let queue = &mut host.queues[0];
        assert_eq!(put(queue, 0, &page_of(1), 1), refused(0x02));
        assert_eq!(queue.ask(at(8, 0, 1, 1, 0)).status, refused(0x02));
        assert_eq!(queue.get(entry(0x12, 1, &[1, 27]), 112).status, refused(0x01));
        // The Streams directive (type 1) is not supported on any drive.
        let entry = io(1, 0, 1, 1 << 20);
        let sent = Sent { entry, data: &page_of(1), in_capsule: true };
        assert_eq!(queue.call(sent).status, DNR | 0x02);
    }
    let stat = without.stat();
    assert_eq!(stat.counters.host_pages, 0);
    // Without handles in the export, hosts see none, although the drive has some.
    let settings = placed(3, 1);
    let unknown = Placing::serve(open(new_medium(&settings), &settings), None, Block::Page);
    assert_eq!(put(&mut unknown.host(&Wanted::default()).queues[0], 0, &page_of(1), 1), DNR | 2);
    let ram = serve(Ram::new(100));
    assert_eq!(put(&mut ram.host().queues[0], 0, &page_of(1), 1), DNR | 2);
}

#[test]
fn the_configuration_is_that_with_which_the_drive_was_made() {
    let placing = Placing::with_handles(3, 1);
    let mut host = placing.host(&Wanted::default());
    let admin = &mut host.admin;
    // Reads first the head, and then as many bytes as it says.
    let head = log(admin, 0x20, 0, 0, 16).ok();
    let bytes = number(&head[4..8]) as usize;
    assert_eq!((number(&head[..2]), head[2], bytes), (0, 0, 16 + 80));
    let whole = log(admin, 0x20, 0, 0, bytes).ok();
    assert_eq!(log(admin, 0x20, 0, 16, bytes - 16).ok(), whole[16..]);
    let one = &whole[16..];
    assert_eq!(number(&one[..2]), 80);
    // Attributes: no bit of an identifier names a group, there is a volatile cache, and the
    // configuration is valid. Then one group, three handles, three identifiers (stored as 2), and
    // one namespace.
    assert_eq!((one[2], number(&one[4..8])), (0x90, 1));
    assert_eq!((number(&one[8..10]), number(&one[10..12]), number(&one[12..16])), (3, 2, 1));
    assert_eq!(number(&one[16..24]), UNIT * PAGE as u64);
    // The first handle is persistently isolated.
    assert_eq!([one[64], one[68], one[72]], [2, 1, 1]);
    let usage = log(admin, 0x21, 0, 0, 32).ok();
    assert_eq!((number(&usage[..2]), usage[8], usage[16], usage[24]), (3, 1, 1, 1));
    // Another endurance group, and an offset beyond the end.
    let other = entry(0x02, 0, &[0x20 | 3 << 16, 2 << 16]);
    assert_eq!(admin.get(other, 16).status, DNR | 0x02);
    assert_eq!(log(admin, 0x22, 0, 68, 4).status, DNR | 0x02);
    // The mode of FDP: enabled, configuration 0; it cannot be changed.
    assert_eq!(admin.ask(entry(0x0a, 0, &[0x1d, 1])).result, 1);
    assert_eq!(admin.ask(entry(0x0a, 0, &[0x1d, 2])).status, DNR | 0x02);
    assert_eq!(admin.ask(entry(0x0a, 0, &[0x1d | 3 << 8, 1])).result, 0);
    assert_eq!(admin.ask(entry(0x09, 0, &[0x1d | 1 << 31, 1, 0])).status, DNR | 0x0c);
    // Directives: Identify and data placement are supported, enabled, and stay enabled.
    let parameters = admin.get(entry(0x1a, 1, &[1023, 1]), 4096).ok();
    assert_eq!([parameters[0], parameters[32], parameters[64]], [5, 5, 5]);
    assert_eq!(admin.get(entry(0x1a, 1, &[1, 1]), 8).ok(), parameters[..8]);
    assert_eq!(admin.get(entry(0x1a, 1, &[1, 2]), 8).status, DNR | 0x02);
    assert_eq!(admin.get(entry(0x1a, 7, &[1, 1]), 8).status, DNR | 0x0b);
    assert_eq!(admin.ask(entry(0x19, 1, &[0, 1, 2 << 8 | 1])).status, 0);
    for change in [2 << 8, 1 << 8 | 1, 1] {
        assert_eq!(admin.ask(entry(0x19, 1, &[0, 1, change])).status, DNR | 0x02);
    }
}

/// Two hosts overwrite their parts of the drive in order, repeatedly. The first host's part is
/// smaller, and is written more often. With `names` they name their handles. Returns the report of
/// the drive, the counts of the log, and the number of writes.
fn two_writers(names: bool, path: &Path) -> (Report, [u64; 3], u64) {
    let settings = placed(2, 0);
    let mut drive = open(new_medium(&settings), &settings);
    let pages = u64::from(settings.layout.geometry.logical_pages());
    drive.replace_recording(Some(Recording::begin(path, pages, true).unwrap()));
    let placing =
        Placing::serve(drive, Some(Handles { count: 2, persistent: 0, groups: 1 }), Block::Page);
    let mut hosts = [0, 1].map(|_| placing.host(&Wanted::default()));
    let parts = [0..pages / 5, pages / 5..pages];
    let (mut next, mut rng) = (parts.clone().map(|part| part.start), Stream::new(1, "writers"));
    let count = 10_000;
    for page in 0..count {
        let who = rng.below(2) as usize;
        let (queue, first) = (&mut hosts[who].queues[0], next[who]);
        let status = match names {
            true => put(queue, first, &page_of(page), who as u32),
            false => queue.write(first, 1, &page_of(page), 0).status,
        };
        assert_eq!(status, 0);
        next[who] = if first + 1 == parts[who].end { parts[who].start } else { first + 1 };
    }
    let log = log(&mut hosts[1].admin, 0x22, 0, 0, 64).ok();
    let counts = [0, 16, 32].map(|place| number(&log[place..place + 16]));
    let stat = placing.stat();
    let recording = placing.drive(|drive| drive.replace_recording(None)).unwrap();
    assert_eq!(recording.end().unwrap(), count);
    (stat, counts, count)
}

/// Returns the counting drive after the writes of a recording.
fn replayed(path: &Path) -> Box<dyn flashgc_ftl::Translation> {
    let settings = placed(2, 0);
    let mut counting = settings.victim.build(settings.layout.clone()).unwrap();
    let mut reader = TraceReader::open(path, &ReadOptions::default()).unwrap();
    let mut block = Vec::new();
    while reader.next_block(&mut block).unwrap() {
        for one in &block {
            assert_eq!((one.op, one.size), (Op::Write, PAGE as u64));
            let page = [(one.offset / PAGE as i64) as u32];
            counting.streams().unwrap().name(&page, &[one.stream]).unwrap();
            counting.write(&page).unwrap();
        }
    }
    counting
}

#[test]
fn handles_of_two_writers_cut_copies_as_on_the_counting_drive() {
    let folder = tempfile::tempdir().unwrap();
    let mut copies = Vec::new();
    for names in [true, false] {
        let path = folder.path().join(format!("{names}.flashgc"));
        let (stat, [host, media, erased], count) = two_writers(names, &path);
        let (page, counters) = (PAGE as u64, stat.counters);
        assert_eq!(host, count * page);
        assert_eq!(media, (count + counters.copied_pages) * page);
        assert_eq!(erased, counters.erases * UNIT * page);
        assert!(counters.erases > 500);
        let counting = replayed(&path);
        assert_eq!(counting.counters(), counters, "names: {names}");
        assert_eq!(counting.decisions(), stat.decisions, "names: {names}");
        let totals = stat.streams.unwrap();
        assert_eq!(Some(&totals), counting.counts().streams.as_ref());
        let hosts = |stream: u8| totals.streams[usize::from(stream)].host_pages;
        assert_eq!(hosts(0) + hosts(1), if names { count } else { 0 });
        assert_eq!(hosts(NO_STREAM), if names { 0 } else { count });
        copies.push(counters.copied_pages);
    }
    assert!(copies[0] * 4 < copies[1], "{copies:?}");
}

/// Two hosts with the same name and two queues each send requests in random order. The second host
/// to connect sends the first request.
#[test]
fn a_recording_has_the_host_the_queue_and_the_handle_of_each_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hosts.flashgc");
    let settings = placed(2, 0);
    let mut drive = open(new_medium(&settings), &settings);
    let pages = u64::from(settings.layout.geometry.logical_pages());
    drive.replace_recording(Some(Recording::begin(&path, pages, true).unwrap()));
    let placing =
        Placing::serve(drive, Some(Handles { count: 2, persistent: 0, groups: 1 }), Block::Page);
    let first = Wanted { host_id: 1, ..Wanted::default() };
    let mut hosts = [placing.host(&first), placing.host(&Wanted::default())];
    let (mut rng, mut asked) = (Stream::new(1, "hosts"), Vec::new());
    for page in 0..100 {
        let (who, place) = if page == 0 { (1, 1) } else { (rng.below(2), rng.below(2)) };
        let queue = &mut hosts[who as usize].queues[place as usize];
        let op = [Op::Write, Op::Read, Op::Flush, Op::Trim][(page % 4) as usize];
        match op {
            Op::Write => assert_eq!(put(queue, page, &page_of(page), who), 0),
            Op::Read => assert_eq!(queue.read(page - 1, 1, PAGE).ok(), page_of(page - 1)),
            Op::Flush => assert_eq!(queue.ask(entry(0x00, 1, &[])).status, 0),
            _ => assert_eq!(queue.ask(io(0x08, page, 1, 1 << 25)).status, 0),
        }
        let asker = Asker { host: 2 - who as u8, queue: place as u8 + 1 };
        asked.push((op, asker, if op == Op::Write { who as u8 } else { NO_STREAM }));
    }
    // A read on a queue of a new controller, and a shutdown by the admin queue.
    hosts[0] = placing.host(&first);
    assert_eq!(hosts[0].queues[0].read(0, 1, PAGE).status, 0);
    hosts[0].admin.set_property(0x14, 1 << 14 | 6 << 16 | 4 << 20 | 1);
    let again = Asker { host: 2, queue: 1 };
    asked.push((Op::Read, again, NO_STREAM));
    while hosts[0].admin.property(0x1c, 4).result & 3 << 2 != 2 << 2 {}
    asked.push((Op::Flush, Asker { queue: 0, ..again }, NO_STREAM));
    let recording = placing.drive(|drive| drive.replace_recording(None)).unwrap();
    assert_eq!(recording.end().unwrap(), asked.len() as u64);
    let options = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
    let requests = TraceReader::open(&path, &options).unwrap().requests();
    let found = requests.map(|one| one.map(|one| (one.op, one.asker, one.stream)));
    assert_eq!(found.collect::<Result<Vec<_>, _>>().unwrap(), asked);
}

/// A write whose identifier names no handle goes to handle 0, and makes an event.
#[test]
fn a_wrong_identifier_loses_no_data_and_is_an_event() {
    let placing = Placing::with_handles(2, 0);
    let mut host = placing.host(&Wanted::default());
    let queue = &mut host.queues[0];
    for (page, identifier) in [(0, 1), (1, 2), (2, 0xffff)] {
        assert_eq!(put(queue, page, &page_of(page), identifier), 0);
        assert_eq!(queue.read(page, 1, PAGE).ok(), page_of(page));
    }
    let none = log(&mut host.admin, 0x23, 0, 0, 128).ok();
    assert_eq!(number(&none[..4]), 0, "those of the drive");
    let events = log(&mut host.admin, 0x23, 1, 0, 64 * 3).ok();
    assert_eq!(number(&events[..4]), 2);
    for (event, identifier) in events[64..].chunks(64).zip([2, 0xffff]) {
        // The event has its type, the valid fields, the identifier, the namespace, and the group
        // and the handle of the data.
        assert_eq!((event[0], event[1], number(&event[2..4])), (0x03, 0b111, identifier));
        assert!(number(&event[4..10]) > 1_600_000_000_000, "milliseconds since 1970");
        assert_eq!((number(&event[12..16]), number(&event[32..34]), event[34]), (1, 0, 0));
    }
    assert_eq!(log(&mut host.admin, 0x23, 1, 128, 64).ok(), events[128..]);
    // The drive counts these pages in a stream without a handle. Their data are in the class of
    // handle 0.
    let totals = placing.stat().streams.unwrap();
    let wrong: u64 = (2..NO_STREAM).map(|one| totals.streams[usize::from(one)].host_pages).sum();
    assert_eq!((totals.streams[1].host_pages, wrong), (1, 2));
    let open = placing.drive(|drive| {
        let blocks = drive.blocks().filter(|block| block.valid > 0);
        blocks.map(|block| (block.class, block.valid)).collect::<Vec<_>>()
    });
    assert_eq!(open, [(1, 1), (0, 2)]);
    // Only the last 63 events are kept.
    for identifier in 100..200 {
        assert_eq!(put(&mut host.queues[0], 3, &page_of(3), identifier), 0);
    }
    let events = log(&mut host.admin, 0x23, 1, 0, 4096).ok();
    assert_eq!(number(&events[..4]), 63);
    assert_eq!((number(&events[66..68]), number(&events[4034..4036])), (137, 199));
}

/// The logs of a drive that copies pages agree with its counters.
#[test]
fn logs_of_wear_and_media_are_those_of_the_counters() {
    let placing = Placing::with_handles(2, 0);
    let mut host = placing.host(&Wanted::default());
    let mut rng = Stream::new(3, "worn");
    while placing.stat().counters.copied_pages < 100 {
        let page = rng.below(400).into();
        assert_eq!(put(&mut host.queues[0], page, &page_of(page), 0), 0);
    }
    assert_eq!(host.queues[0].ask(moves(io(2, 5, 3, 0), 3 * 4096)).status, 0);
    let stat = placing.stat();
    let (page, counters) = (PAGE as u64, stat.counters);
    let programs = counters.host_pages + counters.copied_pages;
    let log = host.admin.log(0xc0, 0, 512).ok();
    assert_eq!(number(&log[..16]), programs * page);
    assert_eq!(number(&log[16..32]), (3 + counters.copied_pages) * page);
    let erases: Vec<u32> = placing.drive(|drive| drive.blocks().map(|it| it.erases).collect());
    let (most, least) = (*erases.iter().max().unwrap(), *erases.iter().min().unwrap());
    assert!(most > least);
    assert_eq!((number(&log[88..92]), number(&log[92..96])), (most.into(), least.into()));
}

#[test]
fn data_that_the_drive_moves_are_events_of_the_drive() {
    let placing = Placing::with_handles(2, 0);
    let mut host = placing.host(&Wanted::default());
    let pages = host.admin.identify(0, 1).ok();
    let pages = number(&pages[..8]);
    let mut rng = Stream::new(2, "moved");
    let mut look = |host: &mut Host, writes: u64| {
        for number in 0..writes {
            let page = u64::from(rng.below(pages as u32));
            assert_eq!(put(&mut host.queues[0], page, &page_of(number), 1), 0);
        }
        let events = log(&mut host.admin, 0x23, 0, 0, 4096).ok();
        let count = number(&events[..4]) as usize;
        let moved: u64 = events[64..64 * (count + 1)]
            .chunks(64)
            .map(|event| {
                assert_eq!((event[0], event[1], event[16]), (0x80, 0, 0));
                number(&event[18..20])
            })
            .sum();
        let stat = placing.stat();
        (count as u64, moved, stat.streams.unwrap().moved_blocks, stat.counters.copied_pages)
    };
    let (mut count, mut moved, mut units, mut copied) = (0, 0, 0, 0);
    while count < 20 {
        (count, moved, units, copied) = look(&mut host, 10);
    }
    assert_eq!(count, units);
    assert!(moved > copied * 3 / 4 && moved <= copied, "{moved} {copied}");
    let (count, _, units, _) = look(&mut host, 3000);
    assert!(units > 100);
    assert_eq!(count, 63);
}

#[test]
fn events_are_kept_for_the_handles_that_want_them() {
    let placing = Placing::with_handles(2, 0);
    // An answer with data and a result has two PDUs, with and without flow control.
    for flow_control in [true, false] {
        let mut host = placing.host(&Wanted { flow_control, ..Wanted::default() });
        let kept = |admin: &mut Queue, handle: u32, most: u32| {
            let feature = entry(0x0a, 1, &[0x1e, handle | most << 16]);
            let answer = admin.get(feature, 2 * most as usize);
            (answer.status, answer.result, answer.data)
        };
        let keep = |admin: &mut Queue, handle: u32, types: &[u8], is_kept: u32, bytes: usize| {
            let mut data = types.to_vec();
            data.resize(bytes, 0);
            let entry = entry(0x09, 1, &[0x1e, handle | (types.len() as u32) << 16, is_kept]);
            admin.call(Sent { entry, data: &data, in_capsule: true }).status
        };
        let admin = &mut host.admin;
        assert_eq!(kept(admin, 0, 4), (0, 3, vec![0, 1, 3, 1, 0x80, 1, 0, 0]));
        assert_eq!(kept(admin, 1, 1), (0, 1, vec![0, 1]));
        assert_eq!(kept(admin, 2, 2).0, DNR | 0x02);
        // nvme-cli always sends 255 bytes, whatever the number of types.
        assert_eq!(keep(admin, 0, &[3], 0, 255), 0);
        assert_eq!(kept(admin, 0, 3), (0, 3, vec![0, 1, 3, 0, 0x80, 1]));
        assert_eq!(kept(admin, 1, 3), (0, 3, vec![0, 1, 3, 1, 0x80, 1]));
        let default = admin.get(entry(0x0a, 1, &[0x1e | 1 << 8, 3 << 16]), 6);
        assert_eq!(default.data, [0, 1, 3, 1, 0x80, 1]);
        assert_eq!(keep(admin, 2, &[3], 0, 1), DNR | 0x02);
        assert_eq!(keep(admin, 0, &[3, 1], 1, 2), DNR | 0x02);
        assert_eq!(put(&mut host.queues[0], 0, &page_of(1), 9), 0);
        let count = |admin: &mut Queue| number(&log(admin, 0x23, 1, 0, 64).ok()[..4]);
        assert_eq!(count(&mut host.admin), u64::from(!flow_control));
        assert_eq!(keep(&mut host.admin, 0, &[0x80, 3], 1, 2), 0);
        assert_eq!(put(&mut host.queues[0], 0, &page_of(1), 9), 0);
        assert_eq!(count(&mut host.admin), 1 + u64::from(!flow_control));
    }
}

#[test]
fn zeros_that_are_kept_and_parts_of_pages_belong_to_a_handle() {
    let settings = placed(3, 0);
    let handles = Some(Handles { count: 3, persistent: 0, groups: 1 });
    let drive = open(new_medium(&settings), &settings);
    let placing = Placing::serve(drive, handles, Block::Sector);
    let mut host = placing.host(&Wanted::default());
    let queue = &mut host.queues[0];
    // The middle of page 0 is written, pages 1 to 4 by Write Zeroes. Page 5 is discarded by a
    // command that names a handle.
    let entry = at(1, 3, 2, 2, 0);
    assert_eq!(queue.call(Sent { entry, data: &[7; 1024], in_capsule: true }).status, 0);
    assert_eq!(queue.ask(at(8, 8, 32, 1, 0)).status, 0);
    assert_eq!(queue.ask(at(8, 40, 8, 1, 1 << 25)).status, 0);
    let mut expected = vec![0; 6 * PAGE];
    expected[3 * 512..5 * 512].fill(7);
    assert_eq!(queue.read(0, 48, 6 * PAGE).ok(), expected);
    let streams =
        placing.drive(|drive| (0..6).map(|page| drive.stream_of(page)).collect::<Vec<_>>());
    assert_eq!(streams, [2, 1, 1, 1, 1, NO_STREAM]);
    assert_eq!(placing.stat().mapped_pages, 5);
}

#[test]
fn a_copy_belongs_to_the_handle_that_it_names() {
    let placing = Placing::with_handles(3, 0);
    let mut host = placing.host(&Wanted::default());
    let queue = &mut host.queues[0];
    for page in 0..3 {
        assert_eq!(put(queue, page, &page_of(page), 1), 0);
    }
    let mut copy = |to: u32, identifier: u32, flags: u32| {
        let mut source = [0; 32];
        source[16] = 2;
        let entry = entry(0x19, 1, &[to, 0, flags, identifier << 16]);
        queue.call(Sent { entry, data: &source, in_capsule: true }).status
    };
    assert_eq!((copy(10, 2, 2 << 20), copy(20, 2, 0)), (0, 0));
    // If the handle does not exist, the copy goes to handle 0, and makes an event.
    assert_eq!(copy(30, 9, 2 << 20), 0);
    let streams =
        placing.drive(|drive| [0, 10, 12, 20, 30].map(|page| drive.stream_of(page)).to_vec());
    assert_eq!(streams, [1, 2, 2, NO_STREAM, NO_STREAM - 1]);
    let expected = [page_of(0), page_of(1), page_of(2)].concat();
    for place in [10, 20, 30] {
        assert_eq!(host.queues[0].read(place, 3, 3 * PAGE).ok(), expected);
    }
    assert_eq!(number(&log(&mut host.admin, 0x23, 1, 0, 64).ok()[..4]), 1);
    // The copied pages are programmed, and count as writes of the host.
    assert_eq!(placing.stat().counters.host_pages, 3 + 9);
}

#[test]
fn the_status_of_handles_has_the_room_in_their_units() {
    let placing = Placing::with_handles(3, 0);
    let mut host = placing.host(&Wanted::default());
    let queue = &mut host.queues[0];
    for page in 0..5 {
        assert_eq!(put(queue, page, &page_of(page), 1), 0);
    }
    let status = |queue: &mut Queue, bytes: usize| {
        queue.get(entry(0x12, 1, &[1, bytes as u32 / 4 - 1]), bytes)
    };
    let head = status(queue, 16).ok();
    assert_eq!(number(&head[14..16]), 3);
    // Linux asks for the status of 126 handles.
    let all = status(queue, 16 + 126 * 32).ok();
    for (handle, room) in [(0, UNIT), (1, UNIT - 5), (2, UNIT)] {
        let one = &all[16 + 32 * handle..][..32];
        assert_eq!((number(&one[..2]), number(&one[2..4])), (handle as u64, handle as u64));
        assert_eq!((number(&one[4..8]), number(&one[8..16])), (0, room));
    }
    assert!(all[16 + 96..].iter().all(|byte| *byte == 0));
    // A full unit has no room; the next write begins another unit.
    for page in 5..UNIT {
        assert_eq!(put(queue, page, &page_of(page), 1), 0);
    }
    assert_eq!(number(&status(queue, 112).ok()[56..64]), 0);
    assert_eq!(put(queue, UNIT, &page_of(UNIT), 1), 0);
    assert_eq!(number(&status(queue, 112).ok()[56..64]), UNIT - 1);
    // The operation that does nothing; then an unknown operation and an unknown namespace.
    assert_eq!(queue.ask(entry(0x12, 1, &[0, 0])).status, 0);
    assert_eq!(queue.get(entry(0x12, 1, &[2, 3]), 16).status, DNR | 0x02);
    assert_eq!(queue.get(entry(0x12, 2, &[1, 3]), 16).status, DNR | 0x0b);
    assert_eq!(queue.ask(entry(0x1d, 1, &[0])).status, 0);
    let other = Sent { entry: entry(0x1d, 1, &[2]), data: &[0; 2], in_capsule: true };
    assert_eq!(queue.call(other).status, DNR | 0x02);
    // Overwritten pages still take room in the unit.
    assert_eq!(put(queue, UNIT, &page_of(1), 1), 0);
    assert_eq!(number(&status(queue, 112).ok()[56..64]), UNIT - 2);
}

/// Changes the reclaim unit of the handle of each of these placement identifiers. Returns the
/// status.
fn update(queue: &mut Queue, identifiers: &[u16]) -> u16 {
    let data: Vec<u8> = identifiers.iter().flat_map(|one| one.to_le_bytes()).collect();
    let entry = entry(0x1d, 1, &[1 | (identifiers.len() as u32 - 1) << 16]);
    queue.call(Sent { entry, data: &data, in_capsule: data.len() <= 8192 }).status
}

/// Returns the room in the reclaim units of the first three handles, in logical blocks.
fn rooms(queue: &mut Queue) -> [u64; 3] {
    let status = queue.get(entry(0x12, 1, &[1, 27]), 112).ok();
    [24, 56, 88].map(|place| number(&status[place..place + 8]))
}

#[test]
fn an_update_gives_a_handle_another_unit() {
    let placing = Placing::with_handles(3, 0);
    let mut host = placing.host(&Wanted::default());
    let queue = &mut host.queues[0];
    for page in 0..5 {
        assert_eq!(put(queue, page, &page_of(page), 1), 0);
    }
    for page in 5..5 + UNIT {
        assert_eq!(put(queue, page, &page_of(page), 2), 0);
    }
    assert_eq!(rooms(queue), [UNIT, UNIT - 5, 0]);
    // If one identifier names no handle, nothing is done.
    for identifiers in [&[1, 3][..], &[0xffff], &[0, 1, 2, 9]] {
        assert_eq!(update(queue, identifiers), DNR | 0x02);
    }
    assert_eq!(rooms(queue), [UNIT, UNIT - 5, 0]);
    // All handles, one of them twice. Handle 0 had an empty unit, and handle 2 a full one, so there
    // is one event.
    assert_eq!(update(queue, &[0, 1, 2, 1]), 0);
    assert_eq!(rooms(queue), [UNIT; 3]);
    let events = log(&mut host.admin, 0x23, 1, 0, 128).ok();
    assert_eq!(number(&events[..4]), 1);
    let event = &events[64..];
    // The event has its type, the valid fields, the identifier, the namespace, the group and the
    // handle.
    assert_eq!((event[0], event[1], number(&event[2..4])), (0x00, 0b111, 1));
    assert!(number(&event[4..10]) > 1_600_000_000_000, "milliseconds since 1970");
    assert_eq!((number(&event[12..16]), number(&event[32..34]), event[34]), (1, 0, 1));
    // The data stay, nothing was programmed, and the next page begins another unit.
    let queue = &mut host.queues[0];
    assert_eq!(queue.read(0, 5, 5 * PAGE).ok(), (0..5).flat_map(page_of).collect::<Vec<_>>());
    assert_eq!(placing.stat().counters.programs(), 5 + UNIT);
    assert_eq!(put(queue, 0, &page_of(9), 1), 0);
    assert_eq!(rooms(queue), [UNIT, UNIT - 1, UNIT]);
    // The most identifiers that a command can have.
    assert_eq!(update(queue, &[1; 1 << 16]), 0);
    assert_eq!(rooms(queue), [UNIT; 3]);
    assert_eq!(number(&log(&mut host.admin, 0x23, 1, 0, 64).ok()[..4]), 2);
    // The host does not want the event of this handle any more.
    let unwanted =
        Sent { entry: entry(0x09, 1, &[0x1e, 1 | 1 << 16, 0]), data: &[0], in_capsule: true };
    assert_eq!(host.admin.call(unwanted).status, 0);
    for handle in [1, 2] {
        assert_eq!(put(&mut host.queues[0], 0, &page_of(9), handle), 0);
        assert_eq!(update(&mut host.queues[0], &[handle as u16]), 0);
    }
    let events = log(&mut host.admin, 0x23, 1, 0, 256).ok();
    assert_eq!((number(&events[..4]), events[192 + 34]), (3, 2));
}

/// A simulated drive whose requests take no time.
#[derive(Default)]
struct AtOnce {
    due: VecDeque<(u64, u64)>,
    tickets: u64,
}

impl Simulated for AtOnce {
    fn arrive(
        &mut self,
        _: Op,
        _: u64,
        _: u64,
        _: WriteStreams<'_>,
        now_ns: u64,
    ) -> Result<(), String> {
        self.due.push_back((self.tickets, now_ns));
        self.tickets += 1;
        Ok(())
    }

    fn hint(&mut self, _: Op, _: u64, _: u64, _: u64) -> Result<(), String> {
        Ok(())
    }

    fn run(&mut self, until_ns: u64, done: &mut Vec<(u64, u64)>) -> Result<(), String> {
        let count = self.due.iter().take_while(|due| due.1 <= until_ns).count();
        done.extend(self.due.drain(..count));
        Ok(())
    }

    fn next_ns(&mut self) -> Result<u64, String> {
        Ok(self.due.front().map_or(u64::MAX, |due| due.1))
    }

    fn work(&mut self) -> Work {
        Work::default()
    }
}

#[test]
fn an_update_that_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.flashgc");
    let placing = Placing::with_handles(2, 0);
    let mut host = placing.host(&Wanted::default());
    let queue = &mut host.queues[0];
    assert_eq!(put(queue, 0, &page_of(1), 1), 0);
    // During a recording an update is refused, since traces have no such request.
    let recording = Recording::begin(&path, 1000, true).unwrap();
    let record = move |drive: &mut dyn Backend, _: &mut _| {
        drop(drive.as_drive().unwrap().replace_recording(Some(recording)));
    };
    placing.engine.queue().visit(record).unwrap();
    assert_eq!(update(queue, &[1]), DNR | 0x02);
    assert_eq!(rooms(queue)[1], UNIT - 1);
    placing.drive(|drive| drop(drive.replace_recording(None)));
    assert_eq!(update(queue, &[1]), 0);
    assert_eq!(rooms(queue)[1], UNIT);
    // An update is also refused on a read-only export, and on a drive with a pace.
    let settings = placed(2, 0);
    let handles = Some(Handles { count: 2, persistent: 0, groups: 1 });
    let export = NvmeExport { uuid: UUID, handles, ..NvmeExport::default() };
    let drive = || open(new_medium(&settings), &settings);
    let reading = NvmeExport { read_only: true, ..export.clone() };
    let reader = Placing::of(Engine::start(drive()).unwrap(), &reading);
    assert_eq!(update(&mut reader.host(&Wanted::default()).queues[0], &[1]), DNR | 0x20);
    let pace = Pace::start(Box::new(AtOnce::default()), 1.0).unwrap();
    let timed = Placing::of(Engine::start_paced(drive(), Some(pace)).unwrap(), &export);
    let mut host = timed.host(&Wanted::default());
    assert_eq!(put(&mut host.queues[0], 0, &page_of(1), 1), 0);
    assert_eq!(update(&mut host.queues[0], &[1]), DNR | 0x02);
    assert_eq!(rooms(&mut host.queues[0])[1], UNIT - 1);
}

/// With two groups, the highest bit of an identifier names the group.
#[test]
fn the_upper_bits_of_an_identifier_name_the_reclaim_group() {
    let settings = settings("greedy", "fdp:handles=2,persistent=1,groups=2", "fifo");
    let handles = Handles { count: 2, persistent: 1, groups: 2 };
    let drive = open(new_medium(&settings), &settings);
    let placing = Placing::serve(drive, Some(handles), Block::Page);
    let mut host = placing.host(&Wanted::default());
    let configurations = log(&mut host.admin, 0x20, 0, 0, 96).ok();
    let one = &configurations[16..];
    // One bit names the group. Two groups, two handles, four identifiers (stored as 3).
    assert_eq!((one[2], number(&one[4..8])), (0x91, 2));
    assert_eq!((number(&one[8..10]), number(&one[10..12])), (2, 3));
    assert_eq!([one[64], one[68]], [2, 1]);
    assert_eq!(number(&log(&mut host.admin, 0x21, 0, 0, 24).ok()[..2]), 2);
    // Handle 0 in group 0; handle 0 and handle 1 in group 1; no handle 2 in group 1; no handle.
    let queue = &mut host.queues[0];
    let identifiers = [0, 0x8000, 0x8001, 0x8002, 0x4000];
    for (page, &identifier) in (0..).zip(&identifiers) {
        assert_eq!(put(queue, page, &page_of(page), identifier), 0);
        assert_eq!(queue.read(page, 1, PAGE).ok(), page_of(page));
    }
    // Each group has half of the 60 blocks. A write without a handle lies where its page would lie
    // without groups: page 3 in group 1, page 4 in group 0.
    let open = placing.drive(|drive| {
        let blocks = (0..).zip(drive.blocks()).filter(|(_, block)| block.valid > 0);
        blocks.map(|(at, block)| (at / 30, block.class, block.valid)).collect::<Vec<(u32, _, _)>>()
    });
    assert_eq!(open, [(0, 0, 2), (1, 0, 2), (1, 1, 1)]);
    // Each unit has its identifier, its handle and its room.
    let status = queue.get(entry(0x12, 1, &[1, 35]), 144).ok();
    assert_eq!(number(&status[14..16]), 4);
    let unit = |unit: &[u8]| (number(&unit[..2]), number(&unit[2..4]), number(&unit[8..16]));
    let units: Vec<_> = status[16..].chunks(32).map(unit).collect();
    let rooms = [(0, 0, UNIT - 2), (0x8000, 0, UNIT - 2), (1, 1, UNIT), (0x8001, 1, UNIT - 1)];
    assert_eq!(units, rooms);
    // Handle 1 in group 1 gets another unit; the event names the group and the handle.
    let update = entry(0x1d, 1, &[1]);
    let data = &0x8001_u16.to_le_bytes();
    assert_eq!(queue.call(Sent { entry: update, data, in_capsule: true }).status, 0);
    let data = &0x8002_u16.to_le_bytes();
    assert_eq!(queue.call(Sent { entry: update, data, in_capsule: true }).status, DNR | 0x02);
    let status = queue.get(entry(0x12, 1, &[1, 35]), 144).ok();
    assert_eq!(number(&status[16 + 3 * 32 + 8..][..8]), UNIT);
    let events = log(&mut host.admin, 0x23, 1, 0, 64 * 4).ok();
    assert_eq!(number(&events[..4]), 3);
    let event = |event: &[u8]| (event[0], number(&event[2..4]), number(&event[32..34]), event[34]);
    let events: Vec<_> = events[64..].chunks(64).map(event).collect();
    assert_eq!(events, [(3, 0x8002, 0, 0), (3, 0x4000, 0, 0), (0, 0x8001, 1, 1)]);
}
