//! Tests of write-back caches: the commands and hints that they send to the drive, request by
//! request.

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::stream::NO_STREAM;
use flashgc_host::{Host, HostSpec, Leaving};
use flashgc_workload::{Batch, Op, Workload, WorkloadError};

/// A workload that has the listed requests and then ends.
#[derive(State)]
#[snapshot(refused = "a script is not saved")]
struct Script(std::vec::IntoIter<(u32, Op)>);

impl Workload for Script {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        for (page, op) in self.0.by_ref().take(limit) {
            batch.pages.push(page);
            batch.ops.push(op);
        }
        Ok(())
    }
}

const PAGES: u32 = 1000;

/// Returns the commands that the drive gets. For page 7: `r7` is a read, `w7` a write, `t7` a TRIM,
/// `h7` a hint.
fn seen(host: &mut Host, limit: usize) -> Vec<String> {
    let mut seen = Vec::new();
    let mut batch = Batch::default();
    loop {
        host.fill(&mut batch, limit).unwrap();
        if batch.pages.is_empty() {
            return seen;
        }
        let mut hints = batch.hints.iter().peekable();
        for (index, (&page, &op)) in batch.pages.iter().zip(&batch.ops).enumerate() {
            while let Some(hint) = hints.next_if(|hint| hint.before as usize <= index) {
                seen.push(format!("h{}", hint.page));
            }
            let letter = match op {
                Op::Read => 'r',
                Op::Write => 'w',
                Op::Trim => 't',
                Op::Dirty | Op::Clean | Op::Flush => 'd',
            };
            seen.push(format!("{letter}{page}"));
        }
    }
}

fn host(cache: &str, hints: &str, requests: Vec<(u32, Op)>) -> Host {
    let spec = HostSpec::parse(cache, hints).unwrap();
    spec.open(Box::new(Script(requests.into_iter())), 4096, PAGES, 5).unwrap()
}

/// Reads `w7 r3 t2` as requests.
fn requests(text: &str) -> Vec<(u32, Op)> {
    let one = |word: &str| {
        let op = match &word[..1] {
            "r" => Op::Read,
            "w" => Op::Write,
            _ => Op::Trim,
        };
        (word[1..].parse().unwrap(), op)
    };
    text.split_whitespace().map(one).collect()
}

fn check(cache: &str, hints: &str, asked: &str, expected: &str) {
    let expected: Vec<&str> = expected.split_whitespace().collect();
    for limit in [1, 2, 3, 1000] {
        let seen = seen(&mut host(cache, hints, requests(asked)), limit);
        assert_eq!(seen, expected, "{cache} {hints}: {asked}, {limit} at a time");
    }
}

#[test]
fn reads_are_served_from_the_cache_and_the_least_recent_clean_page_makes_room() {
    // The cache has room for three pages of 4 KiB. Pages 1, 2, 3 enter; 1 is used again; 4 evicts
    // 2.
    let cache = "page-cache:size=12KiB,writeback=0s";
    check(cache, "none", "r1 r2 r3 r1 r4 r1 r3 r2", "r1 r2 r3 r4 r2");
    // A discarded page is no longer cached.
    check(cache, "none", "r1 t1 r1", "r1 t1 r1");
}

#[test]
fn the_daemon_writes_all_dirty_pages_of_the_device_in_address_order_when_it_is_old() {
    // A request comes every 10 s, and the daemon checks every 5 s. Page 9 is dirty from 10 s on, so
    // at 40 s the device has been dirty for 30 s, and three pages are to be written. At 40 s page 3
    // becomes dirty, too; it is the first in address order. Page 9 is left, and waits until the
    // device has been dirty for another 30 s, at 70 s.
    let cache = "page-cache:size=400KiB,rate=0.1,speed=1000";
    check(cache, "none", "w9 w5 w7 w3 r3 r3 r3 r3", "w3 w5 w7 w9");
    // If each page has its own age: 9 is written at 40 s, 5 at 50 s, 7 at 60 s, 3 at 70 s.
    let by_page = "page-cache:size=400KiB,rate=0.1,speed=1000,expiry=page";
    check(by_page, "none", "w9 w5 w7 w3 r3 r3 r3 r3", "w9 w5 w7 w3");
    // Without a daemon nothing is written.
    let none = "page-cache:size=400KiB,rate=0.1,writeback=0s";
    check(none, "none", "w9 w5 w7 w3 r3 r3 r3 r3", "");
}

#[test]
fn what_is_dirty_when_the_clock_of_the_drive_starts_stays_so_and_keeps_its_age() {
    // A request comes every 10 s, and the device is dirty from 10 s on. The clock starts at 20 s.
    // The daemon checks next at 25 s. At its check at 40 s the device has been dirty for 30 s.
    let spec = HostSpec::parse("page-cache:size=400KiB,rate=0.1,speed=1000", "perfect").unwrap();
    let mut host = spec.open_clocked(4096, PAGES, 5).unwrap();
    host.request_before(Op::Write, 9, NO_STREAM);
    host.request_before(Op::Write, 5, NO_STREAM);
    host.start();
    assert_eq!(host.next_look(), Some(5_000_000_000));
    for look in [5, 10, 15] {
        host.advance(look * 1_000_000_000);
        assert!(!host.flush_next(), "{look} s");
    }
    assert_eq!((host.counts().dirty, host.counts().known), (30_000_000_000, 30_000_000_000));
    host.advance(20_000_000_000);
    assert!(host.flush_next() && host.flush_next() && !host.flush_next());
    let left: Vec<Leaving> = std::iter::from_fn(|| host.next_leaving()).collect();
    let write = |page| Leaving::Command(page, Op::Write, NO_STREAM);
    assert_eq!(left, [Leaving::Hint(9), Leaving::Hint(5), write(5), write(9)]);
}

#[test]
fn a_cache_that_starts_clean_writes_all_before_the_clock_of_the_drive() {
    let cache = "page-cache:size=400KiB,rate=1000,start=";
    for (start, dirty) in [("dirty", 2), ("clean", 0)] {
        let spec = HostSpec::parse(&format!("{cache}{start}"), "none").unwrap();
        let mut host = spec.open_clocked(4096, PAGES, 5).unwrap();
        host.request_before(Op::Write, 9, NO_STREAM);
        host.request_before(Op::Write, 5, NO_STREAM);
        host.rest();
        let left: Vec<Leaving> = std::iter::from_fn(|| host.next_leaving()).collect();
        let write = |page| Leaving::Command(page, Op::Write, NO_STREAM);
        let expected: &[Leaving] = if dirty == 0 { &[write(5), write(9)] } else { &[] };
        assert_eq!(left, expected, "{start}");
        host.start();
        host.advance(1_000_000);
        assert_eq!(host.counts().dirty, dirty * 1_000_000, "{start}");
    }
    let spec = HostSpec::parse(&format!("{cache}clean"), "none").unwrap();
    let said = "start=clean has no effect with a drive without a clock";
    assert!(spec.warnings(true, false).unwrap().contains(&said.to_string()));
    assert_eq!(spec.warnings(true, true).unwrap().len(), 0);
}

#[test]
fn a_flush_goes_on_where_the_last_one_stopped() {
    // The cache has 100 pages, of which 2 may be dirty without background writes. A request comes
    // every second; the daemon checks every 2 s and writes one page a second. Pages 5, 50 and 90
    // become dirty at 1, 3 and 5 s, so at 6 s 3 pages are dirty.
    let cache =
        "page-cache:size=400KiB,rate=1,speed=1,background=2%,limit=100%,writeback=2s,expire=900s";
    // The daemon writes page 5 at 7 s and stops, as 2 are left. At 7 s page 7 becomes dirty, so at
    // 8 s there are 3 again. The next flush goes on after page 5, with page 7. Pages 50 and 90
    // follow in the same way; pages 3 and 1 are left.
    check(cache, "none", "w5 r5 w50 r5 w90 r5 w7 r7 w3 r3 r3 r3 w1 r1 r1 r1 r1", "w5 w7 w50 w90");
}

/// Returns the commands that the drive gets. Pages have 2 MiB, so that a writer checks the dirty
/// pages after every second write (4 MiB).
fn in_turns_of_two(cache: &str, asked: &str) -> Vec<String> {
    let application = Box::new(Script(requests(asked).into_iter()));
    let spec = HostSpec::parse(cache, "none").unwrap();
    seen(&mut spec.open(application, 2 << 20, PAGES, 5).unwrap(), 100)
}

#[test]
fn a_writer_starts_the_daemon_and_writes_nothing_itself_up_to_the_limit() {
    // The daemon writes above 2 dirty pages, the writer above 6. The middle, 4, is not used, as the
    // only device has the whole limit. The writer checks at every second write. The daemon does not
    // check by itself; the writer starts it at the fourth write.
    let slow = "page-cache:size=200MiB,writeback=0s,background=2%,limit=6%,rate=1000000,speed=1";
    assert!(in_turns_of_two(slow, "w10 w11 w12 w13 w14 w15 r15 r15").is_empty());
    let fast = "page-cache:size=200MiB,writeback=0s,background=2%,limit=6%,rate=1,speed=2";
    assert!(in_turns_of_two(fast, "w10 w11 w12").is_empty());
    assert_eq!(in_turns_of_two(fast, "w10 w11 w12 w13 r10 r10"), ["w10", "w11"]);
}

#[test]
fn a_writer_above_the_limit_flushes_exactly_one_and_a_half_turns() {
    // The daemon is too slow to write a page between two requests. At the 7th write 7 pages are
    // dirty, and the writer writes three, 10 to 12. At the 10th write 7 are dirty again, and it
    // writes 13 to 15.
    let cache = "page-cache:size=200MiB,writeback=0s,background=2%,limit=6%,rate=1000000,speed=1";
    let asked = "w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21";
    let expected: Vec<String> = (10..=15).map(|page| format!("w{page}")).collect();
    assert_eq!(in_turns_of_two(cache, asked), expected);
}

#[test]
fn no_more_than_the_limit_is_ever_dirty() {
    for expiry in ["inode", "page"] {
        let cache = format!("page-cache:size=400KiB,limit=10%,background=5%,expiry={expiry}");
        let mut stream = Stream::new(3, "pages");
        let script: Vec<_> = (0..5000).map(|_| (stream.below(PAGES), Op::Write)).collect();
        let mut host = host(&cache, "none", script);
        let mut batch = Batch::default();
        let mut before = host.watch().counts();
        loop {
            host.fill(&mut batch, 1).unwrap();
            if batch.pages.is_empty() {
                break;
            }
            let now = host.watch().counts();
            let requests = u128::from(now.requests() - before.requests());
            // One page above the limit may be dirty while the writer flushes.
            assert!(now.dirty - before.dirty <= 11 * requests, "{expiry}");
            before = now;
        }
        // A random page is rarely dirty already, so nearly every write reaches the drive.
        assert!(before.pages.drive_writes > 4400, "{}", before.pages.drive_writes);
    }
}

#[test]
fn a_database_writes_what_it_evicts_and_checkpoints_in_address_order() {
    // The cache has three pages and no background writer. An update reads its page first. Page 4
    // evicts 1, which is dirty; page 5 evicts 2, which is clean.
    let cache = "buffer-cache:size=12KiB,pages=0,checkpoint=0s";
    check(cache, "none", "w1 r2 w3 r4 r5", "r1 r2 r3 w1 r4 r5");
    // A request comes every second. A checkpoint at 10 s writes the dirty pages at once: 3, then 8.
    let cache = "buffer-cache:size=400KiB,pages=0,checkpoint=10s,completion=0,rate=1";
    let asked = "w8 w3 r1 r1 r1 r1 r1 r1 r1 r1 r1";
    check(cache, "none", asked, "r8 r3 r1 w3 w8");
    // A checkpoint of 10 pages takes a quarter of 20 s: in rounds of 1 s, 2 pages each.
    let cache = "buffer-cache:size=400KiB,pages=0,checkpoint=20s,completion=0.25,rate=1,delay=1s";
    let pages = (10..20).map(|page| (page, Op::Write));
    let reads = (0..12).map(|page| (100 + page, Op::Read));
    let mut host = host(cache, "none", pages.chain(reads).collect());
    let after: Vec<String> = seen(&mut host, 100)[19..].to_vec();
    // The reads of pages 110 and 111 come at 21 and 22 s.
    let expected = ["w10", "w11", "r109", "w12", "w13", "r110", "w14", "w15", "r111"];
    assert_eq!(after[after.len() - 9..], expected, "{after:?}");
}

#[test]
fn the_background_writer_cleans_what_is_used_least() {
    // The cache has four pages. Every second the background writer examines the last two and writes
    // at most one. At 4 s one place is free, so it examines only page 1. At 5 s it examines page 1,
    // which is clean, and page 2.
    let cache = "buffer-cache:size=16KiB,pages=1,scan=50%,checkpoint=0s,delay=1s,rate=1";
    check(cache, "none", "w1 w2 w3 w4 r4 r4", "r1 r2 r3 w1 r4 w2");
}

#[test]
fn one_extent_rides_on_each_command_first_in_first_out() {
    // No page is flushed. Pages 7, 8, 9 are one extent, 20 another, 3 a third; the reads carry
    // them.
    let cache = "page-cache:size=400KiB,writeback=0s";
    let asked = "w7 w8 w9 w20 w3 w7 r100 r101 r102 r103";
    check(cache, "piggyback", asked, "h7 h8 h9 r100 h20 r101 h3 r102 r103");
    // With one command for each hint, and without commands, hints come before the next command.
    check(cache, "command", "w7 w8 r100", "h7 h8 r100");
    check(cache, "perfect", "w7 w8 r100", "h7 h8 r100");
    // A command has two ranges: 7 and 8 are the first, and 20 is the second; 3 waits.
    check(cache, "dsm:ranges=2", "w7 w8 w20 w3 r100", "h7 h8 h20 r100");
    // Only reads for an update can carry the hint, and the page cache makes no such reads.
    check(cache, "frequency", "w7 w8 r100", "r100");
    let database = "buffer-cache:size=400KiB,pages=0,checkpoint=0s";
    check(database, "frequency", "w7 r8 w8 r100", "h7 r7 r8 r100");
}

#[test]
fn an_extent_has_at_most_255_sectors() {
    // A page of 4 KiB has 8 sectors, so an extent has at most 31 pages.
    let cache = "page-cache:size=400KiB,writeback=0s,background=50%,limit=100%";
    let mut script: Vec<_> = (0..40).map(|page| (page, Op::Write)).collect();
    script.extend([(500, Op::Read), (501, Op::Read)]);
    let seen = seen(&mut host(cache, "piggyback", script), 1000);
    assert_eq!(seen.iter().position(|word| word == "r500"), Some(31));
    assert_eq!(seen.len(), 42);
}

#[test]
fn a_write_overtakes_its_hint_and_takes_back_nothing_else() {
    // A request comes every second, and at 5 s the pages are due. The hint on 5 is dropped, as page
    // 5 is written now; this write carries the hint on 7. Then 7 is written.
    let cache = "page-cache:size=400KiB,rate=1,expire=3s,writeback=5s,speed=1000";
    let mut host = host(cache, "piggyback", requests("w5 w7 w5 r5 r5 r5"));
    assert_eq!(seen(&mut host, 10), ["h7", "w5", "w7"]);
    let counts = host.watch().counts();
    let hints = counts.hints;
    assert_eq!((hints.due, hints.sent, hints.overtaken, hints.wrong), (2, 1, 1, 0));
    // The numbers of dirty pages at the requests 1 to 6 are 1, 2, 2, 2, 2, 0. After the fifth
    // request the daemon writes. The drive had no hint on a dirty page at any request.
    assert_eq!((counts.dirty, counts.known), (9, 0));
}

#[test]
fn a_hint_that_comes_after_its_page_was_written_is_late_and_no_lie() {
    // A request comes every second, and at 5 s the pages are due. Both hints come with the first
    // command, the write of 5.
    let cache = "page-cache:size=400KiB,rate=1,expire=3s,writeback=5s,speed=1000";
    let mut host = host(cache, "perfect:late=1", requests("w5 w7 w5 r5 r5 r5"));
    assert_eq!(seen(&mut host, 10), ["h5", "h7", "w5", "w7"]);
    let hints = host.watch().counts().hints;
    assert_eq!((hints.due, hints.sent, hints.late, hints.wrong), (2, 2, 1, 0));
}

#[test]
fn what_the_drive_knows_is_what_it_was_told_and_is_still_dirty() {
    let cache = "page-cache:size=400KiB,writeback=0s";
    let asked = "w1 w2 w3 r100 r101 r102 t2 w1";
    let mut perfect = host(cache, "perfect", requests(asked));
    seen(&mut perfect, 10);
    let counts = perfect.watch().counts();
    // The numbers of dirty pages at each request, including the TRIM: 1, 2, 3, 3, 3, 3, 2, 2.
    assert_eq!((counts.dirty, counts.known), (19, 19));
    let mut piggyback = host(cache, "piggyback", requests(asked));
    seen(&mut piggyback, 10);
    // The hints come with the fourth request. The numbers of known pages from there on: 3, 3, 3, 2,
    // 2.
    assert_eq!(piggyback.watch().counts().known, 13);
}

#[test]
fn hints_are_lost_wrong_adverse_and_late_as_often_as_asked() {
    let cache = "page-cache:size=2MiB,writeback=0s,limit=50%,background=25%,speed=1000000";
    let run = |hints: &str| {
        let mut stream = Stream::new(9, "pages");
        let script: Vec<_> = (0..40_000).map(|_| (stream.below(PAGES), Op::Write)).collect();
        let mut host = host(cache, hints, script);
        let seen = seen(&mut host, 1000);
        (host.watch().counts().hints, seen)
    };
    let (honest, _) = run("perfect");
    assert_eq!((honest.sent, honest.lost, honest.wrong), (honest.due, 0, 0));
    assert!(honest.due > 20_000, "{honest:?}");
    let near = |share: f64, expected: f64| {
        // Allows five standard errors of `honest.due` draws.
        (share - expected).abs() < 5.0 * (expected * (1.0 - expected) / honest.due as f64).sqrt()
    };
    let (lossy, _) = run("perfect:lost=30%");
    assert_eq!(lossy.sent + lossy.lost, lossy.due);
    assert!(near(lossy.lost as f64 / lossy.due as f64, 0.3), "{lossy:?}");
    // A page drawn at random is sometimes dirty, and then the hint is not wrong.
    let (random, _) = run("perfect:wrong=20%");
    assert!(random.wrong > 0 && random.wrong < random.due / 5, "{random:?}");
    // The daemon writes until 128 pages are dirty, and a writer flushes from 192 on. About 80 pages
    // become dirty in between. In at most 8 of 100 cases the page written last is one of these.
    let (adverse, _) = run("perfect:adverse=40%");
    let share = adverse.wrong as f64 / adverse.due as f64;
    assert!(share > 0.4 * 0.92 && (share < 0.4 || near(share, 0.4)), "{adverse:?}");
    // There are 1000 pages, so a page is written about every 1000 commands. A hint that comes 2000
    // commands later is mostly late.
    let (late, _) = run("perfect:late=2000");
    assert!(late.late > late.sent / 3 && late.sent <= late.due, "{late:?}");
    assert_eq!(late.wrong, 0);
}

#[test]
fn every_way_leaves_the_commands_as_they_are() {
    // The drive's reads and writes do not depend on the way of hinting.
    let cache = "page-cache:size=800KiB,rate=1000,speed=500";
    let mut stream = Stream::new(2, "mixed");
    let mut script = Vec::new();
    for _ in 0..5000 {
        let op = [Op::Read, Op::Write, Op::Write, Op::Trim][stream.below(4) as usize];
        script.push((stream.below(PAGES), op));
    }
    let commands = |hints: &str| {
        let mut all = seen(&mut host(cache, hints, script.clone()), 77);
        all.retain(|word| !word.starts_with('h'));
        all
    };
    let none = commands("none");
    assert!(none.len() > 2000);
    for way in flashgc_host::hint_ways() {
        assert_eq!(commands(way.name), none, "{}", way.name);
    }
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let error = |cache: &str, hints: &str| match HostSpec::parse(cache, hints) {
        Err(error) => error.to_string(),
        Ok(spec) => spec.check(4096, PAGES).unwrap_err().to_string(),
    };
    assert_eq!(
        error("page-cahce:size=1MiB", "none"),
        "unknown cache 'page-cahce'; hint: did you mean 'page-cache'?"
    );
    assert_eq!(
        error("page-cache", "none"),
        "page-cache needs the parameter 'size'; hint: write page-cache:size=VALUE (size of the \
         cache with its unit, such as 4GiB)"
    );
    assert!(error("page-cache:size=4", "none").contains("size=4 has no unit"));
    assert!(error("page-cache:size=1KiB", "none").contains("holds no page of 4096 bytes"));
    let text = error("page-cache:size=1GiB", "none");
    assert!(text.contains("the logical capacity is only 1000 pages"), "{text}");
    assert_eq!(
        error("page-cache:size=1MiB", "pigyback"),
        "unknown way of hinting 'pigyback'; hint: did you mean 'piggyback'?"
    );
    assert!(error("page-cache:size=1MiB", "perfect:lost=0.7,wrong=0.7").contains("sum to 1.4"));
    assert!(error("buffer-cache:size=1MiB,delay=0s", "none").contains("delay=0s"));
    assert!(error("page-cache:size=1MiB,expire=3", "none").contains("expire=3 has no unit"));
    let spec = HostSpec::parse("page-cache:size=256MiB", "piggyback").unwrap();
    // A count of 256 sectors does not fit into eight bits; 2^32 sectors are 2 TiB.
    let text = spec.check(131_072, 1 << 20).unwrap_err().to_string();
    assert!(text.contains("expected 1 to 255 sectors"), "{text}");
    assert!(spec.check(65_536, 1 << 25).is_ok());
    let text = spec.check(65_536, (1 << 25) + 1).unwrap_err().to_string();
    assert!(text.contains("more than 2^32 sectors"), "{text}");
    let warnings = HostSpec::parse("page-cache:size=1MiB,background=30%,limit=20%", "none");
    let warnings = warnings.unwrap().warnings(true, false).unwrap();
    assert_eq!(
        warnings,
        [
            "page-cache: background=0.3 is not below limit=0.2; the cache uses half of limit, as Linux does"
        ]
    );
    // These parameters have no effect on the present kind of drive.
    let warnings = |of_requests, of_drive| {
        let typed = "page-cache:size=1MiB,rate=1e4,speed=7,memory=9us";
        let spec = HostSpec::parse(typed, "command:cost=1ms,queued=no,lost=5%").unwrap();
        spec.warnings(of_requests, of_drive).unwrap()
    };
    assert_eq!(
        warnings(false, true),
        ["speed=7 has no effect: the whole run is on the drive's clock"]
    );
    assert!(warnings(true, true).is_empty(), "a warm-up is on the clock of requests");
    assert_eq!(
        warnings(true, false),
        [
            "memory=9us has no effect with a drive without a clock",
            "cost=1ms has no effect with a drive without a clock"
        ]
    );
}

#[test]
fn an_oracle_tells_of_the_next_writes_and_of_no_others() {
    let cache = "page-cache:size=40KiB,writeback=0s";
    let mut stream = Stream::new(3, "application");
    let asked: Vec<(u32, Op)> = (0..4000)
        .map(|_| {
            let page = stream.below(30);
            (page, if stream.below(3) == 0 { Op::Read } else { Op::Write })
        })
        .collect();
    let commands = seen(&mut host(cache, "none", asked.clone()), 64);
    let written = |word: &String| word.strip_prefix('w').map(|page| page.to_string());
    assert!(commands.iter().filter_map(written).count() > 500);
    // Shares of 1000 pages: the oracle sees 1, 7 and 400 writes ahead.
    for (horizon, writes) in [("0.1%", 1), ("0.7%", 7), ("40%", 400)] {
        for limit in [1, 64] {
            let way = format!("oracle:horizon={horizon}");
            let told = seen(&mut host(cache, &way, asked.clone()), limit);
            let (mut known, mut done) = (std::collections::BTreeSet::new(), 0);
            for word in told {
                if let Some(page) = word.strip_prefix('h') {
                    known.insert(page.to_string());
                    continue;
                }
                assert_eq!(word, commands[done], "the commands are the same");
                let next: std::collections::BTreeSet<String> =
                    commands[done..].iter().filter_map(written).take(writes).collect();
                assert_eq!(known, next, "{horizon}: before command {done}");
                if let Some(page) = written(&word) {
                    known.remove(&page);
                }
                done += 1;
            }
            assert_eq!(done, commands.len());
        }
    }
}

#[test]
fn an_application_that_never_reaches_the_drive_is_an_error_and_no_hang() {
    /// A workload that writes the same page again and again. With `trims` it discards another page
    /// in between.
    #[derive(State)]
    #[snapshot(refused = "a script is not saved")]
    struct Same {
        trims: bool,
    }
    impl Workload for Same {
        fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
            batch.clear();
            batch.pages.resize(limit, 7);
            if self.trims {
                (0..limit).step_by(2).for_each(|index| batch.pages[index] = 8);
                batch.ops = (0..limit).map(|n| [Op::Trim, Op::Write][n % 2]).collect();
            }
            Ok(())
        }
    }
    let error = |trims: bool, rate: &str| {
        let cache = format!("page-cache:size=400KiB,writeback=0s,rate={rate}");
        let spec = HostSpec::parse(&cache, "perfect").unwrap();
        let mut host = spec.open(Box::new(Same { trims }), 4096, PAGES, 5).unwrap();
        let mut batch = Batch::default();
        loop {
            if let Err(WorkloadError(text)) = host.fill(&mut batch, 1 << 16) {
                return text;
            }
            // Only TRIMs reach the drive.
            assert!(trims && batch.ops.iter().all(|&op| op == Op::Trim));
        }
    };
    let text = error(false, "10000");
    assert!(text.starts_with("cache: 4000000 requests in a row stayed in the cache"), "{text}");
    assert_eq!(error(true, "10000"), text);
    // At this rate a minute on the host's clock has 6 million requests, which is more.
    assert!(error(false, "100000").starts_with("cache: 6000000 requests"));
}

/// A cache has only whole pages of 4096 bytes: 4096 B hold one page, 16383 B hold three.
#[test]
fn a_cache_holds_one_page_at_least_and_all_of_the_drive_at_most() {
    let check = |size: &str| {
        let spec = HostSpec::parse(&format!("page-cache:size={size}"), "none").unwrap();
        spec.check(4096, 3).map_err(|error| error.to_string())
    };
    assert_eq!([check("4096B"), check("12KiB"), check("16383B")], [Ok(()), Ok(()), Ok(())]);
    let found = check("4095B").unwrap_err();
    assert!(found.contains("host_cache of 4095B holds no page of 4096 bytes"), "{found}");
    let found = check("16KiB").unwrap_err();
    assert!(found.contains("holds 4 pages, the logical capacity is only 3 pages"), "{found}");
}
