//! Tests of the SLC region: the write cliff, at which the region is full and writes get slow,
//! worked out by hand; folds in idle time; and data that must not be lost, with all kinds of
//! preemption.

use flashgc_base::rng::Stream;
use flashgc_ftl::{Fill, Geometry, SlcBlocks, SlcRegion};
use flashgc_timed::{
    Hardware, Idle, Loop, Preemption, Settings, Slc, SlcCounts, Stop, Suspend, TimedDrive, Until,
};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::{
    Checker, Listed, PAGE, Recorder, US, layer, paper_hardware, recorded, request, settings,
    unit_layer,
};

/// The number of pages of a normal block. An SLC block of TLC flash has a third of them, 8.
const B: u32 = 24;
/// The times of normal blocks, of SLC blocks, and of a fold with 8 valid pages, in microseconds.
const READ: u64 = 60;
const PROGRAM: u64 = 700;
const ERASE: u64 = 3500;
const SLC_READ: u64 = 25;
const SLC_PROGRAM: u64 = 200;
const SLC_ERASE: u64 = 2000;
const FOLD: u64 = 8 * (SLC_READ + PROGRAM) + SLC_ERASE;

/// Returns settings of two dies of TLC flash whose transfers take no time.
fn tlc(blocks: SlcBlocks, waits: bool) -> Settings {
    let hardware = Hardware {
        dies: 2,
        read_ns: READ * US,
        program_ns: PROGRAM * US,
        erase_ns: ERASE * US,
        ..paper_hardware()
    };
    let slc = Slc {
        region: SlcRegion { blocks, bits_per_cell: 3, waits },
        read_ns: SLC_READ * US,
        program_ns: SLC_PROGRAM * US,
        erase_ns: SLC_ERASE * US,
        after_ns: 10_000 * US,
        pace: None,
    };
    let host = Loop::Closed { threads: 16, think_ns: 0 };
    Settings { slc: Some(slc), host, ..settings(hardware) }
}

/// Writes pages 0 to `count` - 1 to an empty drive of 64 blocks a die. Returns the drive, and the
/// times at which the pages of one die were done, in microseconds. The times of the other die are
/// the same.
fn burst(settings: &Settings, count: u32) -> (TimedDrive<Recorder>, Vec<u64>) {
    let geometry = Geometry::new(128, B, 2400).unwrap();
    let layer = layer(settings, geometry, "greedy", Fill::Empty, 2);
    let requests = (0..count).map(|page| request(0, Op::Write, page)).collect();
    let mut drive = recorded(settings, layer, requests);
    // The run stops with the last request. Later the drive would be idle, and fold.
    let until = Until { completed: count.into(), ..Until::END };
    assert_eq!(drive.run(until).unwrap(), Stop::Reached);
    drive.audit().unwrap();
    let done = drive.observer().completed_us();
    assert!(done.chunks(2).all(|pair| pair[0] == pair[1]), "the dies are not in step");
    let one_die = done.chunks(2).map(|pair| pair[0]).collect();
    (drive, one_die)
}

/// Returns the counts of the region. Their sums are checked: each page was programmed in cells of one
/// kind, and each block erased in one mode.
fn counts(drive: &mut TimedDrive<Recorder>) -> SlcCounts {
    let counts = drive.totals().slc.expect("a region");
    let all = drive.counters();
    assert_eq!(counts.host_pages + counts.normal_pages, all.host_pages + all.copied_pages);
    assert_eq!(counts.erases + counts.normal_erases, all.erases);
    counts
}

#[test]
fn the_cliff_is_at_the_size_of_the_region_and_as_deep_as_the_cells_say() {
    // Each die has 8 SLC blocks of 8 pages: 64 pages take 200 us each, and later pages 700 us.
    let (mut drive, done) = burst(&tlc(SlcBlocks::fixed(8), false), 400);
    let before = (1..=64).map(|k| k * SLC_PROGRAM);
    let after = (1..=136).map(|k| 64 * SLC_PROGRAM + k * PROGRAM);
    assert_eq!(done, before.chain(after).collect::<Vec<_>>());
    let expected =
        SlcCounts { host_pages: 128, direct_pages: 272, normal_pages: 272, ..SlcCounts::default() };
    assert_eq!(counts(&mut drive), expected);
    assert_eq!(drive.counters().copied_pages, 0);
}

#[test]
fn writes_that_wait_for_the_region_pay_for_its_folds() {
    // When the region is full, a block is folded for each 8 pages. A fold reads each page in 25 us
    // and programs it in 700 us, and erases the block in 2 ms. So a page takes 200 + 725 + 2000 / 8
    // = 1175 us.
    let (mut drive, done) = burst(&tlc(SlcBlocks::fixed(8), true), 400);
    let before = (1..=64).map(|k| k * SLC_PROGRAM);
    let after = (0..136).map(|k| {
        let folds = k / 8 + 1;
        64 * SLC_PROGRAM + folds * FOLD + (k + 1) * SLC_PROGRAM
    });
    assert_eq!(done, before.chain(after).collect::<Vec<_>>());
    let expected = SlcCounts {
        host_pages: 400,
        folds: 2 * 17,
        folded_pages: 2 * 17 * 8,
        normal_pages: 2 * 17 * 8,
        erases: 2 * 17,
        ..SlcCounts::default()
    };
    assert_eq!(counts(&mut drive), expected);
    // Write amplification includes folds.
    let counters = drive.counters();
    assert_eq!((counters.host_pages, counters.copied_pages), (400, 2 * 17 * 8));
    assert_eq!((counters.collections, counters.erases), (2 * 17, 2 * 17));
}

/// Returns settings whose folds copy `pace` pages for each page of the host.
fn paced(blocks: SlcBlocks, pace: f64) -> Settings {
    let mut settings = tlc(blocks, false);
    settings.slc.as_mut().expect("a region").pace = Some(pace);
    settings
}

/// Returns the longest time between two completions on a die, in microseconds.
fn longest_gap(done: &[u64]) -> u64 {
    done.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap()
}

/// The times of a host's page in a normal block and of a page that is folded.
const COPY: u64 = SLC_READ + PROGRAM;

#[test]
fn folds_go_beside_writes_at_their_pace() {
    // When the region is full, each fold of 8 pages lets 8 / pace pages go to normal blocks. Its block
    // then takes 8 pages, and the next fold begins.
    for (pace, steps) in [(1.0, "FW"), (2.0, "FFW"), (0.5, "FWW"), (8.0, "FFFFFFFFW")] {
        let (mut drive, done) = burst(&paced(SlcBlocks::fixed(8), pace), 800);
        let mut expected: Vec<u64> = (1..=64).map(|k| k * SLC_PROGRAM).collect();
        let mut now = 64 * SLC_PROGRAM;
        while expected.len() < 400 {
            for step in steps.chars().cycle().take(steps.len() * 8 / steps.matches('F').count()) {
                now += if step == 'F' { COPY } else { PROGRAM };
                expected.extend((step == 'W').then_some(now));
            }
            now += SLC_ERASE;
            expected.extend((1..=8).map(|k| now + k * SLC_PROGRAM));
            now += 8 * SLC_PROGRAM;
        }
        assert_eq!(done, expected[..400], "pace={pace}");
        // The formula of the documents is the mean over whole rounds.
        let round = 8 + (8.0 / pace) as usize;
        let rounds = (400 - 64) / round;
        let page = (done[64 + rounds * round - 1] - done[63]) as f64 / (rounds * round) as f64;
        let [t, copy, s] = [PROGRAM, COPY, SLC_PROGRAM].map(|us| us as f64);
        let formula = (t / pace + copy + SLC_ERASE as f64 / 8.0 + s) / (1.0 / pace + 1.0);
        assert!((page / formula - 1.0).abs() < 1e-9, "{page} us a page, {formula} expected");
        assert!(longest_gap(&done) <= pace.ceil() as u64 * COPY + SLC_ERASE + PROGRAM);
        let counts = counts(&mut drive);
        assert_eq!(counts.host_pages + counts.direct_pages, 800);
        assert!(counts.folds > 2 * 8 && counts.idle_folds == 0, "{counts:?}");
    }
}

#[test]
fn a_paced_fold_of_a_lent_block_pays_for_what_the_host_writes() {
    // Folds begin where the pool lends no more, at 16 erased blocks. A fold of 8 pages gains a block less
    // 8 / 24 for its copies and 8 / (24 pace) for pages of the host, and the pool lends what is gained
    // again: a third of a block at pace 1. A slow fold lets the host write 16 pages, what its erase
    // makes room for; nothing is gained then, and the host never waits for a whole fold.
    let [t, copy, erase, s] = [PROGRAM, COPY, SLC_ERASE, SLC_PROGRAM].map(|us| us as f64);
    for (pace, direct) in [(1.0, 8.0), (0.1, 16.0)] {
        let lent = 1.0 - 8.0 / 24.0 - direct / 24.0;
        let (mut drive, done) = burst(&paced(SlcBlocks::lent(16, u32::MAX), pace), 2000);
        let cliff = 48 * 8;
        assert_eq!(done[cliff - 1], cliff as u64 * SLC_PROGRAM);
        let page = (done[950] - done[cliff + 50]) as f64 / (900.0 - cliff as f64);
        let formula = (direct * t + 8.0 * copy + erase + lent * 8.0 * s) / (direct + lent * 8.0);
        assert!((page / formula - 1.0).abs() < 0.01, "{page} us a page, {formula} expected");
        assert!(longest_gap(&done) <= 2 * COPY + SLC_ERASE + PROGRAM);
        assert!(drive.layer().free_blocks(0) >= 14 && drive.layer().free_blocks(1) >= 14);
        assert!(counts(&mut drive).folds > 2 * 30);
    }
    // Without a pace the host uses the erased blocks up, and then waits for whole folds.
    let (_, done) = burst(&tlc(SlcBlocks::lent(16, u32::MAX), false), 2400);
    assert!(longest_gap(&done) >= FOLD);
}

#[test]
fn an_idle_fold_with_a_pace_gives_way_to_a_burst() {
    // The burst ends at 12.8 ms. Idle dies fold from 22.8 ms on. At 24 ms the second page is copied, until
    // 24.25 ms; then page after page of the host goes with page after page of the fold. Its block has
    // no room, but 56 pages of the other blocks have had none either: the host writes to normal blocks.
    let settings = Settings { host: Loop::Open, ..paced(SlcBlocks::fixed(8), 1.0) };
    let geometry = Geometry::new(128, B, 2400).unwrap();
    let layer = layer(&settings, geometry, "greedy", Fill::Empty, 2);
    let first = (0..128).map(|page| request(0, Op::Write, page));
    let second = (128..138).map(|page| request(24_000 * US, Op::Write, page));
    let mut drive = recorded(&settings, layer, first.chain(second).collect());
    assert_eq!(drive.run(Until { completed: 138, ..Until::END }).unwrap(), Stop::Reached);
    let done = drive.observer().completed_us();
    let found: Vec<u64> = done[128..].chunks(2).map(|pair| pair[0]).collect();
    let begin = 22_800 + 2 * COPY;
    // Two pages are copied, so two of the host go at once.
    let mut expected = vec![begin + PROGRAM, begin + 2 * PROGRAM];
    expected.extend((1..=3).map(|k| begin + (2 + k) * PROGRAM + k * COPY));
    assert_eq!(found, expected);
}

#[test]
fn a_lent_region_ends_where_free_blocks_do_and_then_folds_make_room() {
    // Of 64 erased blocks a die, 16 stay in the pool, so the region borrows 48 blocks of 8 pages.
    // Then 14 blocks are written directly, and 2 stay erased. After that folds must make room for
    // each block of 24 pages. A fold gains 1 - 8/24 of a block, so a block needs 1.5 folds, and a
    // page takes 700 us + 1.5 x 7800 us / 24.
    let (mut drive, done) = burst(&tlc(SlcBlocks::lent(16, u32::MAX), false), 2400);
    let (lent, direct) = (48 * 8, 14 * 24);
    let before = (1..=lent).map(|k| k * SLC_PROGRAM);
    let after = (1..=direct).map(|k| lent * SLC_PROGRAM + k * PROGRAM);
    let cliffs: Vec<u64> = before.chain(after).collect();
    assert_eq!(done[..cliffs.len()], cliffs);
    let at = |blocks: usize| done[cliffs.len() + blocks * B as usize - 1] as f64;
    let page = (at(18) - at(2)) / (16.0 * f64::from(B));
    let expected = PROGRAM as f64 + 1.5 * FOLD as f64 / f64::from(B);
    assert!((page / expected - 1.0).abs() < 0.01, "{page} us a page, {expected} expected");
    let counts = counts(&mut drive);
    assert_eq!((counts.host_pages, counts.direct_pages), (2 * lent, 2400 - 2 * lent));
    assert_eq!(counts.folded_pages, 8 * counts.folds);
}

#[test]
fn a_lent_region_is_no_larger_than_it_may_be() {
    let (mut drive, done) = burst(&tlc(SlcBlocks::lent(16, 10), false), 400);
    let before = (1..=80).map(|k| k * SLC_PROGRAM);
    let after = (1..=120).map(|k| 80 * SLC_PROGRAM + k * PROGRAM);
    assert_eq!(done, before.chain(after).collect::<Vec<_>>());
    assert_eq!(counts(&mut drive).host_pages, 160);
}

#[test]
fn a_lent_region_is_smaller_on_a_fuller_drive() {
    for written in [0, 240, 480] {
        let settings = tlc(SlcBlocks::lent(16, u32::MAX), false);
        let geometry = Geometry::new(128, B, 2400).unwrap();
        let layer = layer(&settings, geometry, "greedy", Fill::Empty, 2);
        let pages: Vec<u32> = (0..2 * written).collect();
        let requests = (960..1960).map(|page| request(0, Op::Write, page)).collect();
        let mut drive = recorded(&settings, layer, requests);
        // Before the clock starts, data are written to normal blocks.
        drive.precondition(&pages).unwrap();
        assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
        let blocks = 64 - written / B - 16;
        let done = drive.observer().completed_us();
        let slow = done.chunks(2).position(|pair| pair[0] % SLC_PROGRAM != 0).unwrap();
        // The first page that does not fit into the region takes 700 us.
        assert_eq!(slow as u32, blocks * 8, "{written} pages a die were written before");
        drive.audit().unwrap();
    }
}

/// 4 blocks are set aside and 4 are lent, so the cliff is where 8 blocks of either kind have it.
#[test]
fn blocks_set_aside_and_lent_blocks_are_one_region() {
    let blocks = SlcBlocks::lent(16, 4).beside(4);
    let (mut drive, done) = burst(&tlc(blocks, false), 400);
    let before = (1..=64).map(|k| k * SLC_PROGRAM);
    let after = (1..=136).map(|k| 64 * SLC_PROGRAM + k * PROGRAM);
    assert_eq!(done, before.chain(after).collect::<Vec<_>>());
    let expected =
        SlcCounts { host_pages: 128, direct_pages: 272, normal_pages: 272, ..SlcCounts::default() };
    assert_eq!(counts(&mut drive), expected);
}

/// A drive that was written twice over has at most three erased blocks a die, so its pool lends none.
/// Data of that time lie in normal blocks, so the 8 blocks that are set aside begin empty.
#[test]
fn an_aged_drive_has_the_blocks_that_are_set_aside() {
    for (set_aside, taken) in [(0, 0), (8, 8 * 8)] {
        let settings = tlc(SlcBlocks::lent(4, 64).beside(set_aside), false);
        let geometry = Geometry::new(128, B, 2400).unwrap();
        let layer = layer(&settings, geometry, "greedy", Fill::Sequential, 2);
        let requests = (0..400).map(|page| request(0, Op::Write, page)).collect();
        let mut drive = recorded(&settings, layer, requests);
        let mut stream = Stream::new(3, "age");
        let pages: Vec<u32> = (0..4800).map(|_| stream.below(2400)).collect();
        drive.precondition(&pages).unwrap();
        let until = Until { completed: 400, ..Until::END };
        assert_eq!(drive.run(until).unwrap(), Stop::Reached);
        drive.audit().unwrap();
        assert_eq!(counts(&mut drive).host_pages, 2 * taken);
        let done = drive.observer().completed_us();
        let first: Vec<u64> = done[..2 * taken as usize].chunks(2).map(|pair| pair[0]).collect();
        assert_eq!(first, (1..=taken).map(|k| k * SLC_PROGRAM).collect::<Vec<_>>());
    }
}

#[test]
fn idle_dies_fold_and_the_next_burst_is_fast_again() {
    // The burst ends at 64 x 200 us = 12.8 ms. 10 ms later each die begins to fold its 8 blocks, in
    // 7.8 ms each, until 85.2 ms. A second burst during the 7th fold waits for the end of that
    // fold, at 77.4 ms. It finds 7 erased blocks, and the last block of the first burst is not
    // folded.
    for (again_us, begins_us, in_slc) in [(90_000, 90_000, 64), (75_000, 77_400, 56)] {
        let settings = Settings { host: Loop::Open, ..tlc(SlcBlocks::fixed(8), false) };
        let geometry = Geometry::new(128, B, 2400).unwrap();
        let layer = layer(&settings, geometry, "greedy", Fill::Empty, 2);
        let first = (0..128).map(|page| request(0, Op::Write, page));
        let second = (128..256).map(|page| request(again_us * US, Op::Write, page));
        let mut drive = recorded(&settings, layer, first.chain(second).collect());
        let until = Until { completed: 256, ..Until::END };
        assert_eq!(drive.run(until).unwrap(), Stop::Reached);
        let done = drive.observer().completed_us();
        let of_second = (1..=64).map(|k| match k {
            k if k <= in_slc => begins_us + k * SLC_PROGRAM,
            k => begins_us + in_slc * SLC_PROGRAM + (k - in_slc) * PROGRAM,
        });
        let found: Vec<u64> = done[128..].chunks(2).map(|pair| pair[0]).collect();
        assert_eq!(found, of_second.collect::<Vec<_>>());
        let folds = 2 * in_slc / 8;
        let expected = SlcCounts {
            host_pages: 128 + 2 * in_slc,
            direct_pages: 2 * (64 - in_slc),
            folded_pages: 8 * folds,
            folds,
            idle_folds: folds,
            reads: 0,
            normal_pages: 2 * (64 - in_slc) + 8 * folds,
            erases: folds,
            normal_erases: 0,
        };
        assert_eq!(counts(&mut drive), expected);
        drive.audit().unwrap();
    }
}

#[test]
fn dead_pages_are_not_folded_and_reads_take_the_time_of_their_cells() {
    // Each die writes 32 pages twice. The first 4 blocks then have no valid page, and need only an
    // erase.
    let settings = Settings { host: Loop::Open, ..tlc(SlcBlocks::fixed(8), false) };
    let geometry = Geometry::new(128, B, 2400).unwrap();
    let layer = layer(&settings, geometry, "greedy", Fill::Empty, 2);
    let writes = (0..128).map(|k| request(0, Op::Write, k % 64));
    // One read of a page in the region, at 15 ms, and one of the same page after the folds.
    let reads = [15_000, 200_000].map(|us| request(us * US, Op::Read, 0));
    let mut drive = recorded(&settings, layer, writes.chain(reads).collect());
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
    let done = drive.observer().completed_us();
    assert_eq!(done[128..], [15_000 + SLC_READ, 200_000 + READ]);
    let expected = SlcCounts {
        host_pages: 128,
        direct_pages: 0,
        folded_pages: 64,
        folds: 16,
        idle_folds: 16,
        reads: 1,
        normal_pages: 64,
        erases: 16,
        normal_erases: 0,
    };
    assert_eq!(counts(&mut drive), expected);
    // The other die is idle from 12.8 ms on. It erases 4 blocks, and then folds 4 with valid pages.
    let ends = |die| drive.observer().collections.iter().filter(move |it| it.1 == die && !it.2);
    let last = ends(1).map(|it| it.0 / US).max().unwrap();
    assert_eq!(last, 12_800 + 10_000 + 4 * SLC_ERASE + 4 * FOLD);
}

/// The region has two blocks of 8 units; each block has two flash pages of four units. A unit that
/// waits in the page buffer takes no time. The last of four takes the time of the program.
#[test]
fn a_flash_page_of_the_region_is_programmed_as_one() {
    let mut settings = tlc(SlcBlocks::fixed(2), false);
    settings.host = Loop::Closed { threads: 1, think_ns: 0 };
    settings.hardware =
        Hardware { dies: 1, units_per_page: 4, page_bytes: 4 * PAGE, ..settings.hardware };
    let geometry = Geometry::new(64, B, 600).unwrap();
    let writes = |count| (0..count).map(|page| request(0, Op::Write, page)).collect::<Vec<_>>();
    let layer = |is_protected| {
        unit_layer(&settings, geometry, ("greedy", "none"), Fill::Empty, 2, is_protected)
    };
    let mut drive = recorded(&settings, layer(true), writes(24));
    let until = Until { completed: 24, ..Until::END };
    assert_eq!(drive.run(until).unwrap(), Stop::Reached);
    let page = |number: u64| number.min(4) * SLC_PROGRAM + number.saturating_sub(4) * PROGRAM;
    let expected: Vec<u64> = (1..=24).map(|unit| page(unit / 4)).collect();
    assert_eq!(drive.observer().completed_us(), expected);
    let expected =
        SlcCounts { host_pages: 16, direct_pages: 8, normal_pages: 8, ..SlcCounts::default() };
    assert_eq!(counts(&mut drive), expected);
    // A flush takes the time of a program: in the first case of a page in the region, in the second
    // of a page in a normal block.
    for (count, cells) in [(1, SLC_PROGRAM), (17, PROGRAM)] {
        let mut requests = writes(count);
        requests.push(TimedRequest { bytes: 0, ..request(0, Op::Flush, 0) });
        let mut drive = recorded(&settings, layer(false), requests);
        assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
        let last = drive.observer().requests.iter().map(|it| it.completed_ns / US).max().unwrap();
        assert_eq!(last, page(u64::from(count) / 4) + cells, "{count} units");
        drive.audit().unwrap();
    }
}

/// Returns the drive of [`tlc`] with one die, a region of two blocks and programs of three pages, with a
/// time of `second` microseconds for the second pass.
fn of_word_lines(second: Option<u64>) -> Settings {
    let mut settings = tlc(SlcBlocks::fixed(2), false);
    settings.host = Loop::Closed { threads: 1, think_ns: 0 };
    let second_ns = second.map(|us| us * US);
    settings.hardware = Hardware { dies: 1, pages_per_program: 3, second_ns, ..settings.hardware };
    settings
}

/// Writes the first pages to a drive of [`of_word_lines`], and lets it do what else there is.
fn written(settings: &Settings, count: u32, flushes: bool) -> TimedDrive<Recorder> {
    let geometry = Geometry::new(64, B, 600).unwrap();
    let layer = unit_layer(settings, geometry, ("greedy", "none"), Fill::Empty, 2, !flushes);
    let mut requests: Vec<_> = (0..count).map(|page| request(0, Op::Write, page)).collect();
    if flushes {
        requests.push(TimedRequest { bytes: 0, ..request(0, Op::Flush, 0) });
    }
    let mut drive = recorded(settings, layer, requests);
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
    drive.audit().unwrap();
    drive
}

/// Pages of the region are programmed alone, in the first 3200 us. The next nine are three word lines
/// of normal blocks. Then the die is idle, and folds both blocks: eight copies fill two word lines, and
/// the others wait with eight more.
#[test]
fn normal_blocks_are_programmed_by_the_word_line_and_the_region_by_the_page() {
    let word_lines = |times: [u64; 3]| {
        let waiting = [0, times[0], times[0] + times[1]].map(|time| 16 * SLC_PROGRAM + time);
        let over = times.map(|time| [0, 0, time]).concat();
        let normal = waiting.into_iter().flat_map(|time| [time; 3]).zip(over);
        let region = (1..=16).map(|page| page * SLC_PROGRAM);
        region.chain(normal.map(|(time, program)| time + program)).collect::<Vec<_>>()
    };
    let ends = |drive: &TimedDrive<Recorder>| {
        let collections = drive.observer().collections.iter();
        collections.filter(|it| !it.2).map(|it| it.0 / US).collect::<Vec<_>>()
    };
    let read = 8 * SLC_READ + SLC_ERASE;
    let drive = written(&of_word_lines(None), 25, false);
    assert_eq!(drive.observer().completed_us(), word_lines([PROGRAM; 3]));
    let first = 3200 + 3 * PROGRAM + 10_000 + read + 2 * PROGRAM;
    assert_eq!(ends(&drive), [first, first + read + 3 * PROGRAM]);
    // The second pass takes 500 us, and follows the first pass of the next word line.
    let drive = written(&of_word_lines(Some(500)), 25, false);
    let both = PROGRAM + 500;
    assert_eq!(drive.observer().completed_us(), word_lines([PROGRAM, both, both]));
    let first = 3200 + PROGRAM + 2 * both + 10_000 + read + PROGRAM + both;
    assert_eq!(ends(&drive), [first, first + read + 3 * both]);
}

/// A flush needs nothing for the page in the region, a program for the 17th page and, with two passes,
/// the first pass of a word line more.
#[test]
fn a_flush_pads_word_lines_of_normal_blocks_only() {
    let flushed = |settings: &Settings, count: u32| {
        let mut drive = written(settings, count, true);
        let last = drive.observer().requests.iter().map(|it| it.completed_ns / US).max().unwrap();
        let folded = drive.totals().slc.unwrap().folded_pages;
        (last, drive.layer().counts().packing.unwrap().padding, folded)
    };
    let (one, two) = (of_word_lines(None), of_word_lines(Some(500)));
    assert_eq!(flushed(&one, 1), (SLC_PROGRAM, 0, 0));
    assert_eq!(flushed(&two, 1), (SLC_PROGRAM, 0, 0));
    // The copies of the two folds are padded before each erase: 8 to 9 pages, twice.
    assert_eq!(flushed(&one, 17), (3200 + PROGRAM, 2 + 1 + 1, 16));
    // With two passes a word line more each: 8 to 12 pages, and 8 more to 24.
    assert_eq!(flushed(&two, 17), (3200 + 2 * PROGRAM + 500, 5 + 4 + 4, 16));
    // Pages of four units, which cross the bus in 10: one page in the region, three in a program.
    let mut units = of_word_lines(None);
    units.hardware = Hardware {
        units_per_page: 4,
        page_bytes: 4 * PAGE,
        transfer_ns: 10 * US,
        ..units.hardware
    };
    let page = 10 + SLC_PROGRAM;
    assert_eq!(flushed(&units, 1).0, page);
    assert_eq!(flushed(&units, 5).0, 2 * page);
    assert_eq!(flushed(&units, 17).0, 4 * page + 30 + PROGRAM);
    let drive = written(&units, 28, false);
    assert_eq!(drive.observer().completed_us()[27], 4 * page + 30 + PROGRAM);
}

/// Runs random reads, writes and TRIMs on a nearly full drive, in bursts with pauses, and checks
/// all data.
fn at_random(settings: &Settings, seed: u64) {
    let planes = settings.hardware.all_planes();
    let geometry = Geometry::new(40 * planes, B, u64::from(planes * 19 * B)).unwrap();
    let layer = layer(settings, geometry, "greedy", Fill::Sequential, 2);
    let mut stream = Stream::new(seed, "slc");
    let mut time = 0;
    let requests: Vec<_> = (0..6000)
        .map(|_| {
            // Now and then a pause is long enough to fold a few blocks.
            time += if stream.below(150) == 0 { 60_000 * US } else { 120 * US };
            let op = match stream.below(10) {
                0..3 => Op::Read,
                3 => Op::Trim,
                _ => Op::Write,
            };
            request(time, op, stream.below(geometry.logical_pages()))
        })
        .collect();
    let checker = Checker::new(&*layer);
    let count = requests.len();
    let requests = Box::new(Listed::new(requests));
    let mut drive = TimedDrive::new(settings.clone(), layer, requests, checker).unwrap();
    for completed in (1..).map(|part| part * 200) {
        let stop = drive.run(Until { completed, ..Until::END }).unwrap();
        drive.audit().unwrap();
        if stop == Stop::Ended {
            break;
        }
    }
    drive.observer().check_end(drive.layer(), count);
    let slc = drive.totals().slc.unwrap();
    let counters = drive.counters();
    assert_eq!(slc.host_pages + slc.direct_pages, counters.host_pages);
    assert!(slc.folded_pages <= counters.copied_pages && slc.folded_pages <= slc.host_pages);
    let collections = drive.totals().collections;
    assert!(slc.idle_folds <= slc.folds && slc.folds <= collections.started);
    assert_eq!(collections.started, counters.collections);
    assert!(slc.folds > 50 && slc.reads > 20 && slc.idle_folds > 5, "{slc:?}");
    assert!(counters.collections > slc.folds, "no collection");
}

#[test]
fn no_data_are_lost_whatever_gives_way() {
    let semi = |merge, pipeline| Preemption::Semi { merge, pipeline };
    let preemptions = [Preemption::None, semi(false, false), semi(true, true)];
    let lent = SlcBlocks::lent(4, 14);
    let regions = [SlcBlocks::fixed(14), lent, lent.beside(3)];
    for (seed, preemption) in (1..).zip(preemptions) {
        for blocks in regions {
            for (waits, pace) in [(false, None), (true, None), (false, Some(0.7))] {
                let mut settings =
                    Settings { host: Loop::Open, queue_depth: 32, ..tlc(blocks, waits) };
                settings.slc.as_mut().expect("a region").pace = pace;
                settings.collecting.preemption = preemption;
                settings.collecting.idle = Some(Idle { below: 6, after_ns: 10_000 * US });
                at_random(&settings, seed);
                // With these settings operations overlap, and there are multi-plane operations.
                settings.hardware.planes = 2;
                settings.hardware.transfer_ns = 30 * US;
                settings.hardware.command_ns = US;
                settings.multi_plane = true;
                settings.cache_commands = true;
                let is_semi = preemption != Preemption::None;
                settings.suspend = Suspend {
                    erase: is_semi,
                    program: preemption == semi(false, false),
                    suspend_ns: 20 * US,
                    ..Suspend::NEVER
                };
                at_random(&settings, seed);
            }
        }
    }
}
