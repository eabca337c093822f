//! Semi-preemptive collection: the tables of preemption points and states, merges, pipelined pairs
//! and suspended operations, on timelines worked by hand.

use flashgc_ftl::{Fill, Geometry};
use flashgc_timed::{Hardware, Loop, Preemption, Settings, Suspend, TimedDrive, Until, Work};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common;
use crate::timed_common::*;

const PGC: Preemption = Preemption::Semi { merge: false, pipeline: false };
const MERGE: Preemption = Preemption::Semi { merge: true, pipeline: false };
const PIPELINE: Preemption = Preemption::Semi { merge: false, pipeline: true };

/// Returns settings with 25 us a read, 200 us a program, 1500 us an erase, 10 us a transfer.
fn settings(preemption: Preemption) -> Settings {
    let hardware = Hardware { transfer_ns: 10 * US, ..paper_hardware() };
    let mut settings = Settings { host: Loop::Open, ..timed_common::settings(hardware) };
    settings.collecting.preemption = preemption;
    settings
}

/// Makes a drive of eight blocks of 4 pages, 16 of them promised, and runs nine writes at time 0, then `more`.
/// The first eight, to two pages of each of blocks 0 to 3, end at 8 * 210 = 1680 us. The ninth begins a
/// collection of block 0, whose pages 2 and 3 are valid, with two erased blocks. Then follow, in
/// microseconds:
///
/// without preemption      with it, the ninth write goes first, 1680 to 1890
/// 1680 read 1705, out 1715       1890 read 1915, out 1925     page 2
/// 1715 in 1725, program 1925     1925 in 1935, program 2135
/// 1925 ... program 2170          2135 ... program 2380        page 3
/// 2170 erase 3670                2380 erase 3880
fn drive(settings: &Settings, more: Vec<TimedRequest>) -> TimedDrive<Recorder> {
    let pages = [0, 1, 4, 5, 8, 9, 12, 13, 0];
    let nine = pages.into_iter().map(|page| request(0, Op::Write, page));
    let requests = nine.chain(more).collect();
    let geometry = Geometry::new(8, 4, 16).unwrap();
    let layer = layer(settings, geometry, "greedy:ties=oldest", Fill::Sequential, 2);
    let mut drive = recorded(settings, layer, requests);
    drive.run(Until::END).unwrap();
    drive.layer().audit().unwrap();
    drive
}

/// Returns the times at which the requests after the nine are completed, in microseconds.
fn completed(settings: &Settings, more: Vec<TimedRequest>) -> Vec<u64> {
    drive(settings, more).observer().completed_us()[9..].to_vec()
}

/// Returns the times at which the first erase begins and at which it ends for good, in microseconds.
fn first_erase(drive: &TimedDrive<Recorder>) -> (u64, u64) {
    let record = drive.observer();
    let begin = record.spans.iter().find(|span| span.work == Work::Erase).unwrap().begin_ns;
    let end = record.collections.iter().find(|&&(_, _, begins)| !begins).unwrap().0;
    (begin / US, end / US)
}

fn at(us: u64, op: Op, page: u32) -> TimedRequest {
    request(us * US, op, page)
}

#[test]
fn without_preemption_all_wait_for_the_end_of_the_collection() {
    let settings = settings(Preemption::None);
    let drive = drive(&settings, vec![at(1700, Op::Read, 10)]);
    assert_eq!(first_erase(&drive), (2170, 3670));
    // Two victims: blocks are 2 - 1 + 1 and 2 + 1 (their pages fill one block). The second erase
    // ends at 5660; the ninth write comes first.
    let times = drive.observer().completed_us();
    assert_eq!(times[8..], [5660 + 210, 5870 + 35]);
    assert_eq!(drive.observer().collections.len(), 4);
}

#[test]
fn at_point_b_any_request_goes_first_and_at_point_a_none() {
    // 1900: the collection reads page 2. Point A is at 1925, B at 2135.
    assert_eq!(completed(&settings(PGC), vec![at(1900, Op::Read, 10)]), [2135 + 35]);
    assert_eq!(completed(&settings(PGC), vec![at(1900, Op::Write, 10)]), [2135 + 210]);
    // All requests that wait are served, in the order in which they came, also during the service.
    let several = vec![at(1900, Op::Read, 10), at(1901, Op::Write, 11), at(2150, Op::Read, 14)];
    assert_eq!(completed(&settings(PGC), several.clone()), [2170, 2380, 2415]);
    let drive = drive(&settings(PGC), several);
    assert_eq!(first_erase(&drive).0, 2415 + 245);
    // The B before the erase is at 2380.
    assert_eq!(completed(&settings(PGC), vec![at(2200, Op::Read, 10)]), [2415]);
    // The erase is atomic.
    assert_eq!(completed(&settings(PGC), vec![at(2381, Op::Read, 10)]), [3880 + 35]);
}

#[test]
fn preemption_is_counted_by_operation_and_by_collection() {
    let mut drive = drive(&settings(PGC), vec![at(1900, Op::Read, 10), at(2200, Op::Read, 10)]);
    let counts = drive.totals().collections;
    // The ninth write, which began the collection, is the first to go before it.
    assert_eq!((counts.preemptions, counts.preempted), (3, 1));
}

#[test]
fn a_request_for_the_page_on_the_move_shares_its_buffer() {
    // 1900: page 2 is being read. The read is served by its transfer, which ends at 1925.
    let mut drive = drive(&settings(MERGE), vec![at(1900, Op::Read, 2)]);
    assert_eq!(drive.observer().completed_us()[9], 1925);
    assert_eq!(first_erase(&drive).0, 2380);
    assert_eq!(drive.totals().collections.merged_reads, 1);
    // Without merging it is served like other requests.
    assert_eq!(completed(&settings(PGC), vec![at(1900, Op::Read, 2)]), [2170]);
    // The write's data are programmed in the place of the page that was read: done at 2135, and
    // the host's programs are one less than without.
    let programs = |preemption| {
        let mut drive = self::drive(&settings(preemption), vec![at(1900, Op::Write, 2)]);
        let merged = drive.totals().collections.merged_writes;
        let spans = drive.observer().spans.iter();
        let programs = spans
            .filter(|span| span.work == Work::Program && span.place == flashgc_timed::Place::Cells);
        (drive.observer().completed_us()[9], programs.count(), merged)
    };
    let (merged, plain) = (programs(MERGE), programs(PGC));
    assert_eq!((merged.0, merged.2, plain.0, plain.2), (2135, 1, 2345, 0));
    assert_eq!(merged.1 + 1, plain.1);
}

#[test]
fn a_page_that_waits_in_the_victim_is_moved_next_for_a_request() {
    // FIFO takes block 0 with pages 1, 2 and 3: at 1890 page 1 is moved. A read of page 3 at 1900 has
    // page 3 moved at 2135, before page 2, and is served by its transfer at 2170.
    let settings = settings(MERGE);
    let pages = [0, 4, 8, 12, 0, 4, 8, 12, 0];
    let nine = pages.into_iter().map(|page| request(0, Op::Write, page));
    let requests = nine.chain([at(1900, Op::Read, 3)]).collect();
    let layer = layer(&settings, Geometry::new(8, 4, 16).unwrap(), "fifo", Fill::Sequential, 2);
    let mut drive = recorded(&settings, layer, requests);
    drive.run(Until::END).unwrap();
    assert_eq!(drive.observer().completed_us()[9], 2170);
    let spans = &drive.observer().spans;
    let moved: Vec<u32> = spans
        .iter()
        .filter(|span| {
            let is_copy = matches!(span.cause, flashgc_timed::Cause::Collection(0));
            is_copy && span.work == Work::Read && span.place == flashgc_timed::Place::Cells
        })
        .filter_map(|span| span.page)
        .collect();
    assert_eq!(moved, [1, 3, 2]);
}

#[test]
fn a_pipelined_pair_of_reads_takes_t_r_and_the_longer_and_a_transfer() {
    // At B, 2135: t_R + max(t_R, t_B) + t_B = 25 + 25 + 10. The host's read first, done at 2170;
    // page 3 is read out at 2195, programmed at 2405.
    let mut drive = drive(&settings(PIPELINE), vec![at(1900, Op::Read, 10)]);
    assert_eq!(drive.observer().completed_us()[9], 2170);
    assert_eq!(first_erase(&drive).0, 2405);
    assert_eq!(drive.totals().collections.pipelined_reads, 1);
    // With a transfer of 40 us the transfer is the longer: the nine writes end at 9 * 240 = 2160,
    // page 2 is moved in 25 + 40 + 40 + 200 = 305 to B at 2465; the pair 25 + 40 + 40 to 2570.
    let mut slow = settings(PIPELINE);
    slow.hardware.transfer_ns = 40 * US;
    let drive = self::drive(&slow, vec![at(2200, Op::Read, 10)]);
    assert_eq!(drive.observer().completed_us()[9], 2465 + 65);
    assert_eq!(first_erase(&drive).0, 2570 + 240);
}

#[test]
fn a_pipelined_pair_of_writes_takes_a_transfer_and_the_longer_and_t_w() {
    // At A, 1925: t_B + max(t_B, t_W) + t_W = 10 + 200 + 200. The host's write is done at 2135, page
    // 2 is programmed at 2335, page 3 moved at 2580.
    let mut drive = drive(&settings(PIPELINE), vec![at(1900, Op::Write, 10)]);
    assert_eq!(drive.observer().completed_us()[9], 2135);
    assert_eq!(first_erase(&drive).0, 2580);
    assert_eq!(drive.totals().collections.pipelined_writes, 1);
    // A read waits for B.
    assert_eq!(completed(&settings(PIPELINE), vec![at(1900, Op::Read, 10)]), [2170]);
    // The page on the move is rewritten at A: it is not programmed again, so page 3 is next at
    // 2135.
    let drive = self::drive(&settings(PIPELINE), vec![at(1900, Op::Write, 2)]);
    assert_eq!(drive.observer().completed_us()[9], 2135);
    assert_eq!(first_erase(&drive).0, 2135 + 245);
}

#[test]
fn all_that_wait_are_served_and_the_last_makes_the_pair() {
    // Reads at 1900 and 1901: B at 2135 serves both, until 2170 and 2205. Page 3 is read from 2195,
    // while the second goes over the bus, out at 2230, and programmed at 2440.
    let reads = vec![at(1900, Op::Read, 10), at(1901, Op::Read, 14)];
    let mut drive = self::drive(&settings(PIPELINE), reads);
    assert_eq!(drive.observer().completed_us()[9..], [2170, 2205]);
    assert_eq!(first_erase(&drive).0, 2440);
    assert_eq!(drive.totals().collections.pipelined_reads, 1);
    // Two writes at A, 1925: the programs follow each other from 1935, at 2135, 2335 and, the
    // collection's, 2535. Page 3 is moved at 2780.
    let writes = vec![at(1900, Op::Write, 10), at(1901, Op::Write, 11)];
    let mut drive = self::drive(&settings(PIPELINE), writes);
    assert_eq!(drive.observer().completed_us()[9..], [2135, 2335]);
    assert_eq!(first_erase(&drive).0, 2780);
    assert_eq!(drive.totals().collections.pipelined_writes, 2);
}

#[test]
fn a_look_into_the_queue_costs_its_time_at_each_point() {
    // 0.6 us at B and A, twice a page move, and once before the erase: the second move ends at
    // 2380 + 4 * 0.6, the erase begins 0.6 us later. The B before the ninth write costs 0.6 too.
    let mut settings = settings(PGC);
    settings.collecting.poll_ns = 600;
    let drive = drive(&settings, Vec::new());
    let erase = drive.observer().spans.iter().find(|span| span.work == Work::Erase).unwrap();
    assert_eq!(erase.begin_ns, 2_380_000 + 6 * 600 - 600);
}

#[test]
fn below_the_hard_threshold_writes_wait_and_reads_do_not() {
    // Two erased blocks when the collection begins; the ninth write takes one: 1 < 2 is state S2.
    let mut settings = settings(PGC);
    settings.collecting.hard = 2;
    let mut drive = drive(&settings, vec![at(1900, Op::Write, 10), at(1910, Op::Read, 14)]);
    let times = drive.observer().completed_us();
    assert_eq!(times[10], 2170);
    // Left above 2 blocks. Copies take a block: 0, then 1 after the first erase; the second
    // victim's pages fill that block: 2; the third's need another: 2; after the fourth 3, and no
    // block is collected any more. Each takes 2 * 245 + 1500; the read 35.
    assert_eq!(times[9], 1890 + 35 + 4 * 1990 + 210);
    let counts = drive.totals().collections;
    assert_eq!((counts.entered_s2, counts.entered_s3, counts.ended), (1, 0, 4));
    // Without the threshold the write goes at the next B.
    let free = completed(&self::settings(PGC), vec![at(1900, Op::Write, 10)]);
    assert_eq!(free, [2345]);
}

#[test]
fn an_urgent_write_below_the_hard_threshold_stops_preemption() {
    // State S3 at 2135: neither goes before the erase at 3635 - then the urgent write, at the first
    // B of the second victim, and the read after it.
    let mut settings = settings(PGC);
    settings.collecting.hard = 2;
    let urgent = TimedRequest { urgent: true, ..at(1900, Op::Write, 10) };
    let mut drive = drive(&settings, vec![urgent, at(1910, Op::Read, 14)]);
    let times = drive.observer().completed_us();
    assert_eq!(first_erase(&drive), (2380, 3880));
    assert_eq!(times[9..], [3880 + 210, 3880 + 210 + 35]);
    let counts = drive.totals().collections;
    assert_eq!((counts.entered_s2, counts.entered_s3), (1, 1));
}

#[test]
fn an_urgent_write_to_another_die_of_the_unit_stops_preemption_too() {
    // Two dies on a channel, whose pages are even and odd, and four erased blocks in all. Each die
    // has the eight writes of `drive`, on its own half of the pages; the bus takes no time. A ninth
    // to die 0 at 1600, 200 long, begins a collection there; the read at 2000 goes at the B at 2025
    // and the second page is moved by 2275. Then the write that came to die 1 at 2100, if it is
    // urgent, has the block erased, until 3775: it goes at once on its own die, and the read at
    // 2110 on the first. If it is not, the read goes first, and the write with those that wait for
    // the hard threshold.
    let mut settings = settings(PGC);
    settings.hardware.ways = 2;
    settings.hardware.transfer_ns = 0;
    settings.collecting.unit = flashgc_timed::Unit::Channel;
    (settings.collecting.low, settings.collecting.high, settings.collecting.hard) = (4, 4, 4);
    let pages = [0, 1, 4, 5, 8, 9, 12, 13];
    let both = pages.into_iter().flat_map(|page| [2 * page, 2 * page + 1]);
    let run = |urgent: bool| {
        let last = TimedRequest { urgent, ..at(2100, Op::Write, 3) };
        let requests = both
            .clone()
            .map(|page| at(0, Op::Write, page))
            .chain([at(1600, Op::Write, 0), at(2000, Op::Read, 20), last])
            .chain([at(2110, Op::Read, 20)])
            .collect();
        let geometry = Geometry::new(16, 4, 32).unwrap();
        let layer = layer(&settings, geometry, "greedy:ties=oldest", Fill::Sequential, 2);
        let mut drive = recorded(&settings, layer, requests);
        drive.run(Until::END).unwrap();
        let times = drive.observer().completed_us();
        let erased = first_erase(&drive);
        let counts = drive.totals().collections;
        (times[16..].to_vec(), erased, [counts.entered_s2, counts.entered_s3])
    };
    let (times, erased, entered) = run(true);
    assert_eq!(times, [1800, 2050, 3775 + 200, 3775 + 25]);
    assert_eq!((erased, entered), ((2275, 3775), [1, 1]));
    let (times, erased, entered) = run(false);
    assert_eq!([times[1], times[3]], [2050, 2300]);
    assert!(times[2] > 3800);
    assert_eq!((erased, entered), ((2300, 3800), [1, 0]));
}

#[test]
fn with_no_block_left_writes_wait_for_an_erase_and_are_counted() {
    // The ninth write takes a block, of which three pages are left, and one block is reserved. Of
    // five writes at 1900 three find room at the B at 2135, until 2765; the fourth needs a block:
    // page 3 is moved, 245, and the block erased, 1500, at 4510. One erased block is reserved
    // still. The next two victims leave 2 - so the fourth goes at the third erase.
    let five = (0..5).map(|page| at(1900, Op::Write, 8 + page)).collect();
    let mut drive = drive(&settings(PGC), five);
    let times = drive.observer().completed_us();
    assert_eq!(times[9..12], [2345, 2555, 2765]);
    assert!(drive.totals().collections.starved > 0);
    assert!(times[12] > 4510);
    assert_eq!(drive.totals().completed, 14);
}

fn suspending() -> Settings {
    let mut settings = settings(PGC);
    settings.suspend =
        Suspend { erase: true, program: true, suspend_ns: 20 * US, ..Suspend::NEVER };
    settings
}

#[test]
fn a_suspended_erase_lets_a_request_through_and_goes_on_with_what_was_left() {
    // The erase runs from 2380; at 2500 it is suspended until 2520, the read takes 35, and the 1380
    // that are left end at 3935.
    let read = vec![at(2500, Op::Read, 10)];
    let mut drive = drive(&suspending(), read.clone());
    assert_eq!(drive.observer().completed_us()[9], 2555);
    assert_eq!(first_erase(&drive), (2380, 3935));
    assert_eq!(drive.totals().suspended_erases, 1);
    assert_eq!(completed(&suspending(), vec![at(2500, Op::Write, 10)]), [2520 + 210]);
    // Too little is left: 1380 < 1400.
    let mut lazy = suspending();
    lazy.suspend.least_erase_ns = 1400 * US;
    assert_eq!(completed(&lazy, read), [3880 + 35]);
    // Resuming costs time.
    let mut slow = suspending();
    slow.suspend.resume_ns = 7 * US;
    let drive = self::drive(&slow, vec![at(2500, Op::Read, 10)]);
    assert_eq!(first_erase(&drive).1, 3935 + 7);
}

#[test]
fn an_operation_with_just_enough_left_is_suspended() {
    // At 2500 the erase that began at 2380 has 1380 left, at 2000 the program from 1935 has 135.
    let with = |least_erase_us: u64, least_program_us: u64, us: u64| {
        let mut settings = suspending();
        settings.suspend.least_erase_ns = least_erase_us * US;
        settings.suspend.least_program_ns = least_program_us * US;
        completed(&settings, vec![at(us, Op::Read, 10)])
    };
    assert_eq!([1380, 1381].map(|least| with(least, 0, 2500)), [[2555], [3880 + 35]]);
    assert_eq!([135, 136].map(|least| with(0, least, 2000)), [[2055], [2135 + 35]]);
}

#[test]
fn a_collection_holds_its_die_while_its_operation_is_let_go() {
    // As above: the die is the collection's from 1890 until the erase ends at 3935, but for the 35 of
    // the read that goes before the rest of the erase.
    let mut plain = drive(&settings(PGC), Vec::new());
    let without = plain.totals().die_collecting_ns[0];
    let mut drive = drive(&suspending(), vec![at(2500, Op::Read, 10)]);
    assert_eq!(drive.totals().die_collecting_ns, [without + 20 * US]);
    // The read waited for the collection, not in its queue.
    let read = drive.observer().requests.iter().find(|request| request.number == 9).unwrap();
    assert_eq!((read.blocked_ns, read.queue_ns), (20 * US, 0));
}

#[test]
fn a_suspended_program_lets_reads_through_and_no_writes() {
    // Page 2 is programmed from 1935 to 2135. At 2000: 20 us, a read of 35, and 135 are left.
    assert_eq!(completed(&suspending(), vec![at(2000, Op::Read, 10)]), [2055]);
    let write = completed(&suspending(), vec![at(2000, Op::Write, 10)]);
    assert_eq!(write, [2135 + 210]);
    // Before the program has begun there is nothing to suspend: at A, 1925, and while the page goes
    // over the bus, 1925 to 1935, the read is next.
    assert_eq!(completed(&suspending(), vec![at(1900, Op::Read, 10)]), [1925 + 35]);
    let mut drive = drive(&suspending(), vec![at(1930, Op::Read, 10)]);
    assert_eq!(drive.observer().completed_us()[9], 1935 + 35);
    assert_eq!((drive.totals().suspended_programs, first_erase(&drive).0), (0, 2380 + 35));
    // Its own page is in the buffer: the transfer alone.
    assert_eq!(completed(&suspending(), vec![at(2000, Op::Read, 2)]), [2030]);
    // The host's own programs too: the ninth write runs from 1680, its program from 1690.
    let mut drive = self::drive(&suspending(), vec![at(1700, Op::Read, 10)]);
    assert_eq!(drive.observer().completed_us()[8..], [1890 + 55, 1755]);
    let ninth = *drive.observer().requests.last().unwrap();
    assert_eq!((ninth.cell_ns, ninth.bus_ns), (200 * US, 10 * US));
    assert_eq!(drive.totals().suspended_programs, 1);
    // Only erases can be suspended: the read waits for B.
    let mut erases = suspending();
    erases.suspend.program = false;
    assert_eq!(completed(&erases, vec![at(2000, Op::Read, 10)]), [2170]);
}

#[test]
fn an_operation_is_suspended_so_many_times_and_then_ends() {
    // A read every 100 us from 2400 on: two suspends of the erase, each 55 us, then it goes on to its
    // end at 2380 + 1500 + 2 * 55, and the reads that came meanwhile follow.
    let mut settings = suspending();
    settings.suspend.most = 2;
    let reads = (0..12).map(|index| at(2400 + 100 * index, Op::Read, 10)).collect();
    let drive = drive(&settings, reads);
    let times = drive.observer().completed_us();
    assert_eq!(first_erase(&drive).1, 3880 + 110);
    assert_eq!(times[9..12], [2455, 2555, 3990 + 35]);
    // The third read is the first that waits for the end, from 2600 on; the others after it are not told.
    assert_eq!(drive.observer().refused, [(true, (3990 - 2600) * US)]);
    // Reads that come during the service of one are another suspend, without its time: the erase
    // is let go at 2420, reads at 2400 and 2430 end at 2455 and 2490, and that is all.
    let reads = vec![at(2400, Op::Read, 10), at(2430, Op::Read, 10), at(2480, Op::Read, 10)];
    let drive = self::drive(&settings, reads);
    assert_eq!(drive.observer().completed_us()[9..], [2455, 2490, 2380 + 1500 + 90 + 35]);
    // The third waits when the erase goes on at 2490.
    assert_eq!(drive.observer().refused, [(true, (3970 - 2490) * US)]);
    // A third suspension lets it through. One with too little time left is not the limit's doing.
    let three = vec![at(2400, Op::Read, 10), at(2500, Op::Read, 10), at(2600, Op::Read, 10)];
    let refused = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings.clone();
        change(&mut settings);
        self::drive(&settings, three.clone()).observer().refused.clone()
    };
    assert_eq!(refused(&|_| {}), [(true, (3990 - 2600) * US)]);
    assert_eq!(refused(&|it| it.suspend.most = 3), []);
    assert_eq!(refused(&|it| it.suspend.least_erase_ns = 1400 * US), []);
    // The program of the ninth write from 1690 is suspended for a read at 1700, once: it ends at 1890 + 55.
    settings.suspend.most = 1;
    let twice = vec![at(1700, Op::Read, 10), at(1760, Op::Read, 10)];
    let drive = self::drive(&settings, twice);
    assert_eq!(drive.observer().refused[0], (false, (1890 + 55 - 1760) * US));
}

#[test]
fn the_worst_case_is_an_erase_and_a_program_or_the_suspend_time() {
    // One read at every microsecond of a collection in turn. PGC: the erase, then the service;
    // or a move. With suspends: at most the suspend time, and the read - and a transfer, which
    // cannot be suspended.
    let (mut worst_pgc, mut worst_suspend, mut worst_none) = (0, 0, 0);
    let worst = |settings: &Settings, us: u64, worst: &mut u64| {
        let drive = drive(settings, vec![at(us, Op::Read, 10)]);
        let requests = &drive.observer().requests;
        let read = requests.iter().find(|request| request.number == 9).unwrap();
        *worst = (*worst).max(read.response_ns() / US);
    };
    for us in (1890..3890).step_by(5) {
        worst(&settings(PGC), us, &mut worst_pgc);
        worst(&suspending(), us, &mut worst_suspend);
        worst(&settings(Preemption::None), us, &mut worst_none);
    }
    assert!((1500..=1500 + 200 + 35).contains(&worst_pgc), "{worst_pgc}");
    // The page that is moved is read and goes over the bus, 25 and 10: at A the read goes first. An
    // erase or a program is suspended in 20.
    assert_eq!(worst_suspend, 25 + 10 + 25 + 10);
    assert!(worst_none >= 3700, "{worst_none}");
}
