//! The configuration and the counts in a drive's file, and the recordings of its requests.

use std::path::Path;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::Duration;

use crate::common::{commands, new_medium, open, page_of, plain, settings};
use flashgc_device::bytes::Bytes;
use flashgc_device::{
    Backend, BlockState, Durability, Origin, Outside, Recording, Settings, Usage, WriteStreams,
    repeat,
};
use flashgc_front::command::{Answer, Command};
use flashgc_front::health::Written;
use flashgc_front::meter::LatencyKind;
use flashgc_front::queue::Engine;
use flashgc_ftl::{EndOfLife, Endurance, Levelling, Lifespan, Victim, victim_policies};
use flashgc_workload::Op;
use flashgc_workload::trace::{Asker, ReadOptions, Request, TraceReader};

#[test]
fn settings_are_read_back_from_their_text() {
    for policy in victim_policies() {
        for (placement, allocation) in [("none", "fifo"), ("dac:regions=2", "sfl")] {
            let mut made = settings(policy.name, placement, allocation);
            made.layout.levelling = Levelling::parse("static:threshold=50,interval=10").unwrap();
            made.layout.seed = u64::MAX;
            made.durability = Durability::None;
            for lifespan in [None, Some(("normal:mean=1000,cv=0.1", EndOfLife::FirstFailure))] {
                made.layout.lifespan = lifespan.map(|(endurance, ends_at)| Lifespan {
                    endurance: Endurance::parse(endurance).unwrap(),
                    ends_at,
                });
                let text = made.text();
                let read = Settings::parse(&text, Outside::default()).unwrap();
                assert_eq!(read.text(), text);
                assert_eq!(Settings::outside(&text, "victim").unwrap(), None);
                assert_eq!(Settings::outside(&text, "placement").unwrap(), None);
            }
        }
    }
}

#[test]
fn a_text_that_is_no_configuration_says_where() {
    let text = plain().text();
    let fault = |from: &str, to: &str| {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        Settings::parse(&changed, Outside::default()).err().unwrap().to_string()
    };
    assert!(
        fault("blocks = 60", "blocks = \"x\"").contains("blocks: found \"x\", expected a whole")
    );
    assert!(fault("greedy", "gredy").contains("did you mean 'greedy'?"));
    assert!(fault("power", "powr").contains("found 'powr', expected power, process or none"));
    assert!(fault("seed = \"3\"", "").contains("seed: found nothing, expected a text"));
    assert!(fault("blocks = 60", "blocks = ").contains("the drive's configuration: "));
    let outside = text.replace("greedy:ties=latest", "python:p.py:P");
    assert_eq!(Settings::outside(&outside, "victim").unwrap().as_deref(), Some("python:p.py:P"));
    let missing = |text: &str| Settings::parse(text, Outside::default()).err().unwrap().to_string();
    assert!(missing(&outside).contains("the victim policy is python:p.py:P, which was not loaded"));
    let loaded = Settings::parse(&outside, Outside::never_made()).unwrap();
    assert!(matches!(loaded.victim, Victim::External(name, _) if name == "python:p.py:P"));
    let outside = text.replace("placement = \"none\"", "placement = \"python:p.py:Q\"");
    assert_eq!(Settings::outside(&outside, "placement").unwrap().as_deref(), Some("python:p.py:Q"));
    assert!(missing(&outside).contains("the placement is python:p.py:Q, which was not loaded"));
    let loaded = Settings::parse(&outside, Outside::never_made()).unwrap();
    assert_eq!(loaded.layout.placement.to_string(), "python:p.py:Q");
    let library = text.replace("greedy:ties=latest", "lib:/p.so:p");
    assert_eq!(Settings::outside(&library, "victim").unwrap().as_deref(), Some("lib:/p.so:p"));
    assert!(missing(&library).contains("the victim policy is lib:/p.so:p, which was not loaded"));
    assert_eq!(loaded.text(), outside);
}

/// Returns the requests of a recording, flushes among them.
fn requests_of(path: &Path) -> Vec<Request> {
    let options = ReadOptions { keep_flushes: true, ..ReadOptions::default() };
    let mut reader = TraceReader::open(path, &options).unwrap();
    let (mut requests, mut block) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block).unwrap() {
        requests.append(&mut block);
    }
    requests
}

/// A recording has the requests of the drive, in order.
#[test]
fn a_recording_holds_what_was_asked_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.flashgc.zst");
    let settings = plain();
    let mut drive = open(new_medium(&settings), &settings);
    assert!(Recording::begin(&folder.path().join("drive.csv"), 500, false).is_err());
    drive.write(9, &page_of(9), false).unwrap(); // before it begins
    assert!(
        drive
            .replace_recording(Some(Recording::begin(&path, drive.pages(), false).unwrap()))
            .is_none()
    );
    drive.write(3, &[page_of(1), page_of(2)].concat(), true).unwrap();
    drive.read(4, &mut vec![0; 4096]).unwrap();
    drive.trim(3, 5).unwrap();
    drive.hint(7, 2, None).unwrap();
    drive.cancel(8, 1).unwrap();
    drive.flush().unwrap();
    assert!(drive.write(1000, &page_of(1), false).is_err()); // refused, so not recorded
    let recording = drive.replace_recording(None).unwrap();
    drive.write(9, &page_of(9), false).unwrap(); // after it
    assert_eq!(recording.end().unwrap(), 7);
    let requests = requests_of(&path);
    let found: Vec<(Op, i64, u64)> =
        requests.iter().map(|one| (one.op, one.offset / 4096, one.size / 4096)).collect();
    let expected = [
        (Op::Write, 3, 2),
        (Op::Flush, 0, 0),
        (Op::Read, 4, 1),
        (Op::Trim, 3, 5),
        (Op::Dirty, 7, 2),
        (Op::Clean, 8, 1),
        (Op::Flush, 0, 0),
    ];
    assert_eq!(found, expected);
    assert!(requests.is_sorted_by_key(|one| one.time_ns));
}

/// If the drive reads a page to write a part of it, the recording has no request for that. All
/// pages of a host's request are one request.
#[test]
fn a_recording_has_the_bytes_that_the_host_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.flashgc.zst");
    let settings = plain();
    let mut drive = open(new_medium(&settings), &settings);
    drive.replace_recording(Some(Recording::begin(&path, drive.pages(), false).unwrap()));
    let mut bytes = Bytes::new(drive);
    let none = WriteStreams::default;
    bytes.write(4096 + 512, &[1; 512], none()).unwrap();
    bytes.write(3 * 4096 + 100, &[2; 9000], none()).unwrap();
    bytes.read(4096 + 600, 10).unwrap();
    bytes.read_sparse(4095, 2).unwrap();
    bytes.copy(&[(4096, 100), (3 * 4096, 50)], 8 * 4096 + 1, none()).unwrap();
    bytes.zero(3 * 4096 + 4000, 4192, false).unwrap();
    bytes.trim(8 * 4096, 4096).unwrap();
    let mut drive = bytes.into_drive();
    drive.read(1, &mut [0; 4096]).unwrap();
    drive.replace_recording(None).unwrap().end().unwrap();
    let found: Vec<(Op, i64, u64)> =
        requests_of(&path).iter().map(|one| (one.op, one.offset, one.size)).collect();
    let expected = [
        (Op::Write, 4096 + 512, 512),
        (Op::Write, 3 * 4096 + 100, 9000),
        (Op::Read, 4096 + 600, 10),
        (Op::Read, 4096, 1), // the byte before it is in a hole
        (Op::Read, 4096, 100),
        (Op::Read, 3 * 4096, 50),
        (Op::Write, 8 * 4096 + 1, 150),
        (Op::Write, 3 * 4096 + 4000, 96),
        (Op::Trim, 4 * 4096, 4096),
        (Op::Trim, 8 * 4096, 4096),
        (Op::Read, 4096, 4096),
    ];
    assert_eq!(found, expected);
}

/// A drive that repeats a recording of writes of parts of pages writes the same pages.
#[test]
fn a_recording_of_parts_of_pages_is_repeated_page_by_page() {
    let folder = tempfile::tempdir().unwrap();
    let (path, data) = (folder.path().join("drive.flashgc"), folder.path().join("data"));
    let settings = plain();
    let mut drive = open(new_medium(&settings), &settings);
    std::fs::write(&data, vec![7; drive.pages() as usize * 4096]).unwrap();
    drive.replace_recording(Some(Recording::begin(&path, drive.pages(), false).unwrap()));
    let mut bytes = Bytes::new(drive);
    for number in 0..4000u64 {
        let at = number * 7919 % 400 * 4096 + number % 9 * 511;
        let size = 1 + number as usize % 6000;
        bytes.write(at, &vec![1; size], WriteStreams::default()).unwrap();
        if number % 50 == 0 {
            bytes.trim(at, 20_000).unwrap();
        }
    }
    let mut drive = bytes.into_drive();
    drive.replace_recording(None).unwrap().end().unwrap();
    let mut again = open(new_medium(&settings), &settings);
    repeat(&mut again, &path, &data).unwrap();
    assert_eq!(again.stat().counters, drive.stat().counters);
    assert_eq!(again.stat().decisions, drive.stat().decisions);
}

#[test]
fn a_recording_numbers_the_hosts_as_they_appear_and_the_last_number_is_that_of_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.flashgc");
    let settings = plain();
    let mut drive = open(new_medium(&settings), &settings);
    drive.replace_recording(Some(Recording::begin(&path, drive.pages(), false).unwrap()));
    for turn in 0..2 {
        for host in (0..300).rev() {
            drive.arrived(None, Origin { host: Some(host), queue: 300 * turn });
            drive.read(4, &mut vec![0; 4096]).unwrap();
        }
    }
    drive.arrived(None, Origin::default());
    drive.read(4, &mut vec![0; 4096]).unwrap();
    drive.replace_recording(None).unwrap().end().unwrap();
    let expected = (1..=600u16).map(|number| Asker {
        host: ((number - 1) % 300 + 1).min(255) as u8,
        queue: if number > 300 { 252 } else { 0 },
    });
    let found = requests_of(&path).into_iter().map(|one| one.asker);
    assert!(found.eq(expected.chain([Asker::UNKNOWN])));
}

#[test]
fn a_recording_has_the_times_of_arrival_whenever_the_drive_comes_to_them() {
    const APART: Duration = Duration::from_millis(20);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.flashgc");
    let settings = plain();
    let mut drive = open(new_medium(&settings), &settings);
    drive.replace_recording(Some(Recording::begin(&path, drive.pages(), false).unwrap()));
    let engine = Engine::start(drive).unwrap();
    let queue = engine.queue();
    let write = |page: u64| Command::Write {
        at: page * 4096,
        data: page_of(page),
        fua: false,
        streams: vec![],
    };
    // A visitor holds the drive while the next requests arrive.
    let (held, is_held) = sync_channel(1);
    let (let_go, go) = channel();
    let visitor = {
        let queue = queue.clone();
        thread::spawn(move || {
            let wait = move |_: &mut dyn Backend, _: &mut _| {
                held.send(()).unwrap();
                go.recv().unwrap();
            };
            queue.visit(wait).unwrap();
        })
    };
    is_held.recv().unwrap();
    let (tell, told) = sync_channel(3);
    for command in [write(1), write(2), Command::Flush] {
        thread::sleep(APART);
        let tell = tell.clone();
        queue.submit(command, move |outcome| tell.send(outcome).unwrap());
    }
    thread::sleep(APART);
    let_go.send(()).unwrap();
    visitor.join().unwrap();
    for _ in 0..3 {
        told.recv().unwrap().unwrap();
    }
    thread::sleep(APART);
    queue.call(write(3)).unwrap(); // finds the drive idle
    let recording = queue
        .visit(|served, _| served.as_drive().unwrap().replace_recording(None).unwrap())
        .unwrap();
    recording.end().unwrap();
    engine.stop().1.unwrap();
    let requests = requests_of(&path);
    let asked: Vec<_> = requests.iter().map(|one| (one.op, one.offset / 4096)).collect();
    assert_eq!(asked, [(Op::Write, 1), (Op::Write, 2), (Op::Flush, 0), (Op::Write, 3)]);
    for (one, next) in requests.iter().zip(&requests[1..]) {
        let apart = Duration::from_nanos(next.time_ns - one.time_ns);
        assert!(apart >= APART, "{apart:?} from {one:?} to {next:?}");
    }
}

/// Write amplification divides two counts of the same time, even after a crash, which loses the
/// counts since the last superblock.
#[test]
fn amplification_is_by_the_bytes_of_hosts_also_after_a_crash() {
    let settings = plain();
    let media = new_medium(&settings);
    let engine = Engine::start(open(media.clone(), &settings)).unwrap();
    let queue = engine.queue();
    for (page, _) in commands(3000, 500, 1) {
        let (at, data) = (page * 4096 + 512, vec![1; 512]);
        queue.call(Command::Write { at, data, fua: false, streams: vec![] }).unwrap();
    }
    let (drive, _) = engine.stop();
    let drive = drive.unwrap();
    let whole = Written::of(&drive.stat());
    assert_eq!((whole.host, drive.stat().counters.host_pages), (3000 * 512, 3000));
    assert_eq!(whole.amplification(), Some(whole.media as f64 / (3000.0 * 512.0)));
    assert!(whole.amplification() >= Some(8.0));
    drive.close().unwrap();
    let mut drive = open(media.clone(), &settings);
    assert_eq!(Written::of(&drive.stat()), whole, "closed and opened");
    for page in 0..7 {
        drive.write(page, &page_of(page), false).unwrap();
        drive.account(&Usage { writes: 1, written_bytes: 4096, ..Usage::default() });
    }
    drive.flush().unwrap();
    let before = Written::of(&drive.stat());
    drop(drive); // without closing it
    for _ in 0..2 {
        let drive = open(media.clone(), &settings);
        let after = Written::of(&drive.stat());
        assert_eq!((after.host, after.media >= before.media), (before.host, true));
        drop(drive);
    }
}

/// The counts of hosts' commands survive the closing of the drive, and the states of blocks add up
/// to the report.
#[test]
fn usage_is_kept_and_blocks_add_up() {
    let settings = plain();
    let media = new_medium(&settings);
    for round in 1..=2 {
        let engine = Engine::start(open(media.clone(), &settings)).unwrap();
        let queue = engine.queue();
        for (page, _) in commands(2000, 500, round) {
            let data = page_of(page);
            queue
                .call(Command::Write { at: page * 4096, data, fua: false, streams: vec![] })
                .unwrap();
        }
        queue
            .call(Command::Write { at: 100, data: vec![1; 8], fua: true, streams: vec![] })
            .unwrap();
        assert_eq!(queue.call(Command::Read { at: 100, bytes: 8 }), Ok(Answer::Data(vec![1; 8])));
        queue.call(Command::Trim { at: 0, bytes: 1 << 14, fua: false }).unwrap();
        queue.call(Command::Flush).unwrap();
        let (report, blocks, writes) = queue
            .visit(|served, meter| {
                let drive = served.as_drive().unwrap();
                (
                    drive.stat(),
                    drive.blocks().collect::<Vec<_>>(),
                    meter.latencies(LatencyKind::Write),
                )
            })
            .unwrap();
        let usage = report.usage;
        assert_eq!((usage.writes, usage.written_bytes), (2001 * round, (2000 * 4096 + 8) * round));
        assert_eq!((usage.reads, usage.read_bytes), (round, 8 * round));
        assert_eq!((usage.trims, usage.trimmed_bytes), (round, (1 << 14) * round));
        assert_eq!((usage.flushes, usage.unaligned), (round, round));
        assert_eq!(report.opened.unaligned, 1, "since this opening");
        assert!(usage.open_ns > usage.busy_ns && usage.busy_ns > 0);
        assert_eq!(writes.count, 2001);
        assert!(0.0 < writes.p50 && writes.p50 <= writes.p99 && writes.p99 <= writes.max);
        assert_eq!(blocks.len(), 60);
        let valid: u64 = blocks.iter().map(|block| u64::from(block.valid)).sum();
        assert_eq!(valid, report.mapped_pages);
        let erased = blocks.iter().filter(|block| block.state == BlockState::Erased).count();
        assert_eq!(erased as u32, report.free_blocks);
        let open = blocks.iter().filter(|block| block.state == BlockState::Open).count();
        assert!((1..=2).contains(&open)); // one block for the host, one for copies
        let erases: u64 = blocks.iter().map(|block| u64::from(block.erases)).sum();
        assert_eq!(erases, report.counters.erases);
        let (drive, stopped) = engine.stop();
        stopped.unwrap();
        drive.unwrap().close().unwrap();
    }
}
