//! Tests of semi-preemptive collection, with times worked out by hand: preemption points and
//! states, merged requests, pipelined pairs and suspended operations.

use flashgc_ftl::{Fill, Geometry};
use flashgc_timed::{
    Counted, Hardware, Loop, Preemption, Settings, Suspend, TimedDrive, Until, Work,
};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common;
use crate::timed_common::*;

const PGC: Preemption = Preemption::Semi { merge: false, pipeline: false };
const MERGE: Preemption = Preemption::Semi { merge: true, pipeline: false };
const PIPELINE: Preemption = Preemption::Semi { merge: false, pipeline: true };

/// Returns settings in which a read takes 25 us, a program 200 us, an erase 1500 us and a transfer
/// 10 us.
fn settings(preemption: Preemption) -> Settings {
    let hardware = Hardware { transfer_ns: 10 * US, ..paper_hardware() };
    let mut settings = Settings { host: Loop::Open, ..timed_common::settings(hardware) };
    settings.collecting.preemption = preemption;
    settings
}

/// Runs nine writes at time 0, and then `more`, on a drive of eight blocks of 4 pages with 16
/// logical pages. The first eight writes, to two pages of each of blocks 0 to 3, end at 8 * 210 =
/// 1680 us. Then two blocks are erased, and the ninth write begins a collection of block 0, whose
/// pages 2 and 3 are valid. Times after that, in microseconds:
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

/// Returns the times at which the first erase begins and ends, in microseconds. Suspensions of the
/// erase lie in between.
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
    // Two victims are collected: after the first, 2 - 1 + 1 blocks are erased, and after the
    // second, 2 + 1, as the copies of both fill one block. The second erase ends at 5660. Then the
    // ninth write goes first, and the read after it.
    let times = drive.observer().completed_us();
    assert_eq!(times[8..], [5660 + 210, 5870 + 35]);
    assert_eq!(drive.observer().collections.len(), 4);
}

#[test]
fn at_point_b_any_request_goes_first_and_at_point_a_none() {
    // At 1900 the collection reads page 2. Point A is at 1925, point B at 2135.
    assert_eq!(completed(&settings(PGC), vec![at(1900, Op::Read, 10)]), [2135 + 35]);
    assert_eq!(completed(&settings(PGC), vec![at(1900, Op::Write, 10)]), [2135 + 210]);
    // At point B all waiting requests are served in the order of arrival, including those that
    // arrive meanwhile.
    let several = vec![at(1900, Op::Read, 10), at(1901, Op::Write, 11), at(2150, Op::Read, 14)];
    assert_eq!(completed(&settings(PGC), several.clone()), [2170, 2380, 2415]);
    let drive = drive(&settings(PGC), several);
    assert_eq!(first_erase(&drive).0, 2415 + 245);
    // The point B before the erase is at 2380.
    assert_eq!(completed(&settings(PGC), vec![at(2200, Op::Read, 10)]), [2415]);
    // The erase cannot be interrupted.
    assert_eq!(completed(&settings(PGC), vec![at(2381, Op::Read, 10)]), [3880 + 35]);
}

#[test]
fn preemption_is_counted_by_operation_and_by_collection() {
    let mut drive = drive(&settings(PGC), vec![at(1900, Op::Read, 10), at(2200, Op::Read, 10)]);
    let counts = drive.totals().collections;
    // The ninth write, which began the collection, is the first operation that goes before its
    // steps.
    assert_eq!((counts.preemptions, counts.preempted), (3, 1));
}

#[test]
fn a_request_for_the_page_on_the_move_shares_its_buffer() {
    // At 1900 the collection reads page 2. The read shares its transfer, which ends at 1925.
    let mut drive = drive(&settings(MERGE), vec![at(1900, Op::Read, 2)]);
    assert_eq!(drive.observer().completed_us()[9], 1925);
    assert_eq!(first_erase(&drive).0, 2380);
    assert_eq!(drive.totals().collections.merged_reads, 1);
    // Without merging it is served like other requests.
    assert_eq!(completed(&settings(PGC), vec![at(1900, Op::Read, 2)]), [2170]);
    // The write's data are programmed instead of the copy, until 2135, so there is one program less
    // than without merging.
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
    // FIFO picks block 0 with pages 1, 2 and 3. At 1890 the copy of page 1 begins. Because of a
    // read of page 3 at 1900, page 3 is copied next, at 2135, before page 2. The read shares its
    // transfer, which ends at 2170.
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
    // From point B at 2135 a pair of reads takes t_R + max(t_R, t_B) + t_B = 25 + 25 + 10. The
    // host's read goes first and is done at 2170. Page 3 is transferred at 2195 and programmed
    // until 2405.
    let mut drive = drive(&settings(PIPELINE), vec![at(1900, Op::Read, 10)]);
    assert_eq!(drive.observer().completed_us()[9], 2170);
    assert_eq!(first_erase(&drive).0, 2405);
    assert_eq!(drive.totals().collections.pipelined_reads, 1);
    // With 40 us the transfer is longer than the read. The nine writes end at 9 * 240 = 2160. The
    // copy of page 2 takes 25 + 40 + 40 + 200 = 305, so point B is at 2465. The pair takes 25 + 40
    // + 40, until 2570.
    let mut slow = settings(PIPELINE);
    slow.hardware.transfer_ns = 40 * US;
    let drive = self::drive(&slow, vec![at(2200, Op::Read, 10)]);
    assert_eq!(drive.observer().completed_us()[9], 2465 + 65);
    assert_eq!(first_erase(&drive).0, 2570 + 240);
}

#[test]
fn a_pipelined_pair_of_writes_takes_a_transfer_and_the_longer_and_t_w() {
    // From point A at 1925 a pair of writes takes t_B + max(t_B, t_W) + t_W = 10 + 200 + 200. The
    // host's write is done at 2135, the program of page 2 at 2335, and the copy of page 3 at 2580.
    let mut drive = drive(&settings(PIPELINE), vec![at(1900, Op::Write, 10)]);
    assert_eq!(drive.observer().completed_us()[9], 2135);
    assert_eq!(first_erase(&drive).0, 2580);
    assert_eq!(drive.totals().collections.pipelined_writes, 1);
    // A read waits for point B.
    assert_eq!(completed(&settings(PIPELINE), vec![at(1900, Op::Read, 10)]), [2170]);
    // The host overwrites page 2 at point A, so it need not be programmed. Page 3 is next, at 2135.
    let drive = self::drive(&settings(PIPELINE), vec![at(1900, Op::Write, 2)]);
    assert_eq!(drive.observer().completed_us()[9], 2135);
    assert_eq!(first_erase(&drive).0, 2135 + 245);
}

#[test]
fn all_that_wait_are_served_and_the_last_makes_the_pair() {
    // Two reads arrive at 1900 and 1901. At point B, 2135, both are served, until 2170 and 2205.
    // The cells read page 3 from 2195 on, while the data of the second read go over the bus. Page 3
    // is transferred at 2230 and programmed until 2440.
    let reads = vec![at(1900, Op::Read, 10), at(1901, Op::Read, 14)];
    let mut drive = self::drive(&settings(PIPELINE), reads);
    assert_eq!(drive.observer().completed_us()[9..], [2170, 2205]);
    assert_eq!(first_erase(&drive).0, 2440);
    assert_eq!(drive.totals().collections.pipelined_reads, 1);
    // Two writes are served at point A, 1925. Programs follow one another from 1935 on: they end at
    // 2135 and 2335, and the collection's at 2535. The copy of page 3 ends at 2780.
    let writes = vec![at(1900, Op::Write, 10), at(1901, Op::Write, 11)];
    let mut drive = self::drive(&settings(PIPELINE), writes);
    assert_eq!(drive.observer().completed_us()[9..], [2135, 2335]);
    assert_eq!(first_erase(&drive).0, 2780);
    assert_eq!(drive.totals().collections.pipelined_writes, 2);
}

#[test]
fn a_look_into_the_queue_costs_its_time_at_each_point() {
    // A check takes 0.6 us at each point: at B and at A of both copies, and at B before the erase.
    // So the erase begins 5 * 0.6 us later than 2380.
    let mut settings = settings(PGC);
    settings.collecting.poll_ns = 600;
    let drive = drive(&settings, Vec::new());
    let erase = drive.observer().spans.iter().find(|span| span.work == Work::Erase).unwrap();
    assert_eq!(erase.begin_ns, 2_380_000 + 6 * 600 - 600);
}

#[test]
fn below_the_hard_threshold_writes_wait_and_reads_do_not() {
    // Two blocks are erased when the collection begins. The ninth write takes one, and 1 < 2 leads
    // to state S2.
    let mut settings = settings(PGC);
    settings.collecting.hard = 2;
    let mut drive = drive(&settings, vec![at(1900, Op::Write, 10), at(1910, Op::Read, 14)]);
    let times = drive.observer().completed_us();
    assert_eq!(times[10], 2170);
    // State S2 ends when more than 2 blocks are erased. The copies of the first victim take the
    // last erased block, so 1 block is erased after the first erase. The copies of the second
    // victim go to the same block: 2 are erased after the second erase. Those of the third need
    // another block: 2 are erased after the third erase. After the fourth erase 3 are erased, and
    // collections stop. Each collection takes 2 * 245 + 1500, and the read 35.
    assert_eq!(times[9], 1890 + 35 + 4 * 1990 + 210);
    let counts = drive.totals().collections;
    assert_eq!((counts.entered_s2, counts.entered_s3, counts.ended), (1, 0, 4));
    // Without the threshold the write is served at the next point B.
    let free = completed(&self::settings(PGC), vec![at(1900, Op::Write, 10)]);
    assert_eq!(free, [2345]);
}

#[test]
fn an_urgent_write_below_the_hard_threshold_stops_preemption() {
    // State S3 begins at 2135: neither request goes before the erase, which ends at 3880. Then the
    // urgent write is served, at the first point B of the second victim, and the read after it.
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
    // Two dies are on a channel: die 0 has the even pages, die 1 the odd ones. Each gets the eight
    // writes of `drive` on its own pages; then four blocks are erased in all. The bus takes no
    // time. A ninth write to die 0, from 1600 to 1800, begins a collection there. The read of 2000
    // is served at point B, at 2025, and the second copy ends at 2275. A write arrives at die 1 at
    // 2100, and a read at die 0 at 2110. If the write is urgent, the victim is erased first, until
    // 3775; then both are served. If it is not urgent, the read goes first, and the write waits for
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
    // The ninth write takes a block, of which three pages are left; the other erased block is
    // reserved for copies. Of five writes at 1900, three find room at point B, from 2135 to 2765.
    // The fourth needs a block. Page 3 is copied in 245 and the victim erased in 1500, until 4510,
    // but the one erased block is still reserved. Only the third erase leaves 2, and the fourth
    // write goes.
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
    // The erase begins at 2380. At 2500 it is suspended, which takes until 2520. The read takes 35,
    // and the remaining 1380 of the erase end at 3935.
    let read = vec![at(2500, Op::Read, 10)];
    let mut drive = drive(&suspending(), read.clone());
    assert_eq!(drive.observer().completed_us()[9], 2555);
    assert_eq!(first_erase(&drive), (2380, 3935));
    assert_eq!(drive.totals().suspended_erases, 1);
    assert_eq!(completed(&suspending(), vec![at(2500, Op::Write, 10)]), [2520 + 210]);
    // The erase is not suspended if less than 1400 is left, and 1380 < 1400.
    let mut lazy = suspending();
    lazy.suspend.least_erase_ns = 1400 * US;
    assert_eq!(completed(&lazy, read), [3880 + 35]);
    // The resumption takes time.
    let mut slow = suspending();
    slow.suspend.resume_ns = 7 * US;
    let drive = self::drive(&slow, vec![at(2500, Op::Read, 10)]);
    assert_eq!(first_erase(&drive).1, 3935 + 7);
}

#[test]
fn an_operation_with_just_enough_left_is_suspended() {
    // At 2500 the erase that began at 2380 has 1380 left. At 2000 the program that began at 1935
    // has 135 left.
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
    // The collection holds the die from 1890 until the erase ends at 3935, except for the 35 of the
    // read, which is served before the rest of the erase.
    let mut plain = drive(&settings(PGC), Vec::new());
    let without = plain.totals().die_collecting_ns[0];
    let mut drive = drive(&suspending(), vec![at(2500, Op::Read, 10)]);
    assert_eq!(drive.totals().die_collecting_ns, [without + 20 * US]);
    // The read's waiting time counts as time of the collection, not of the queue.
    let read = drive.observer().requests.iter().find(|request| request.number == 9).unwrap();
    assert_eq!((read.blocked_ns, read.queue_ns), (20 * US, 0));
}

#[test]
fn a_suspended_program_lets_reads_through_and_no_writes() {
    // Page 2 is programmed from 1935 to 2135. At 2000 it is suspended, which takes 20; the read
    // takes 35, and 135 of the program are left.
    assert_eq!(completed(&suspending(), vec![at(2000, Op::Read, 10)]), [2055]);
    let write = completed(&suspending(), vec![at(2000, Op::Write, 10)]);
    assert_eq!(write, [2135 + 210]);
    // Before the program begins, no suspension is needed: the read goes first at point A, 1925, and
    // also during the transfer of the page, from 1925 to 1935.
    assert_eq!(completed(&suspending(), vec![at(1900, Op::Read, 10)]), [1925 + 35]);
    let mut drive = drive(&suspending(), vec![at(1930, Op::Read, 10)]);
    assert_eq!(drive.observer().completed_us()[9], 1935 + 35);
    assert_eq!((drive.totals().suspended_programs, first_erase(&drive).0), (0, 2380 + 35));
    // A read of the page that is programmed needs only the transfer, as the page is in the buffer.
    assert_eq!(completed(&suspending(), vec![at(2000, Op::Read, 2)]), [2030]);
    // Programs of the host are suspended, too: the ninth write begins at 1680, its program at 1690.
    let mut drive = self::drive(&suspending(), vec![at(1700, Op::Read, 10)]);
    assert_eq!(drive.observer().completed_us()[8..], [1890 + 55, 1755]);
    let ninth = *drive.observer().requests.last().unwrap();
    assert_eq!((ninth.cell_ns, ninth.bus_ns), (200 * US, 10 * US));
    assert_eq!(drive.totals().suspended_programs, 1);
    // If only erases can be suspended, the read waits for point B.
    let mut erases = suspending();
    erases.suspend.program = false;
    assert_eq!(completed(&erases, vec![at(2000, Op::Read, 10)]), [2170]);
}

#[test]
fn an_operation_is_suspended_so_many_times_and_then_ends() {
    // A read arrives every 100 us from 2400 on. The erase is suspended twice, for 55 us each. Then
    // it runs to its end at 2380 + 1500 + 2 * 55, and the reads that arrived meanwhile follow.
    let mut settings = suspending();
    settings.suspend.most = 2;
    let reads = (0..12).map(|index| at(2400 + 100 * index, Op::Read, 10)).collect();
    let drive = drive(&settings, reads);
    let times = drive.observer().completed_us();
    assert_eq!(first_erase(&drive).1, 3880 + 110);
    assert_eq!(times[9..12], [2455, 2555, 3990 + 35]);
    // The third read is the first one that waits for the end, from 2600 on. Later ones are not
    // reported.
    assert_eq!(drive.observer().refused, [(true, (3990 - 2600) * US)]);
    // A read that arrives while another is served counts as a second suspension, which takes no
    // time. The erase is suspended until 2420; the reads of 2400 and 2430 end at 2455 and 2490. No
    // further suspension is allowed.
    let reads = vec![at(2400, Op::Read, 10), at(2430, Op::Read, 10), at(2480, Op::Read, 10)];
    let drive = self::drive(&settings, reads);
    assert_eq!(drive.observer().completed_us()[9..], [2455, 2490, 2380 + 1500 + 90 + 35]);
    // The third read begins to wait for the erase when that goes on, at 2490.
    assert_eq!(drive.observer().refused, [(true, (3970 - 2490) * US)]);
    // If three suspensions are allowed, no read waits. An erase that is not suspended because too
    // little time is left is not reported.
    let three = vec![at(2400, Op::Read, 10), at(2500, Op::Read, 10), at(2600, Op::Read, 10)];
    let refused = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings.clone();
        change(&mut settings);
        self::drive(&settings, three.clone()).observer().refused.clone()
    };
    assert_eq!(refused(&|_| {}), [(true, (3990 - 2600) * US)]);
    assert_eq!(refused(&|it| it.suspend.most = 3), []);
    assert_eq!(refused(&|it| it.suspend.least_erase_ns = 1400 * US), []);
    // The program of the ninth write, from 1690 on, is suspended once, for a read at 1700. It ends
    // at 1890 + 55.
    settings.suspend.most = 1;
    let twice = vec![at(1700, Op::Read, 10), at(1760, Op::Read, 10)];
    let drive = self::drive(&settings, twice);
    assert_eq!(drive.observer().refused[0], (false, (1890 + 55 - 1760) * US));
}

#[test]
fn a_read_that_comes_while_the_die_is_free_is_served() {
    // The erase is suspended at 2400, and the die is free from 2420 on. Each read takes 35. The
    // second comes during the first, the third during the second.
    let mut settings = suspending();
    settings.suspend.counted = Counted::Suspensions;
    settings.suspend.most = 1;
    let reads = vec![at(2400, Op::Read, 10), at(2430, Op::Read, 10), at(2480, Op::Read, 10)];
    let mut drive = drive(&settings, reads.clone());
    assert_eq!(drive.observer().completed_us()[9..], [2455, 2490, 2525]);
    // The erase goes on at 2525, 125 later than without reads. It was suspended once.
    assert_eq!(first_erase(&drive).1, 2380 + 1500 + 125);
    assert_eq!((drive.totals().suspended_erases, drive.observer().refused.len()), (1, 0));
    // After 60 the erase goes on before reads that come later.
    settings.suspend.longest_ns = 60 * US;
    let drive = self::drive(&settings, reads);
    assert_eq!(drive.observer().completed_us()[9..], [2455, 2490, 2380 + 1500 + 90 + 35]);
    assert_eq!(drive.observer().refused, [(true, (3970 - 2490) * US)]);
    // The time of all suspensions of an erase counts: 55 of the first, and 55 of the second.
    (settings.suspend.most, settings.suspend.longest_ns) = (9, 100 * US);
    let apart = vec![at(2400, Op::Read, 10), at(2500, Op::Read, 10), at(2600, Op::Read, 10)];
    let drive = self::drive(&settings, apart.clone());
    assert_eq!(drive.observer().completed_us()[9..], [2455, 2555, 3990 + 35]);
    assert_eq!(drive.observer().refused, [(true, (3990 - 2600) * US)]);
    settings.suspend.longest_ns = 111 * US;
    let drive = self::drive(&settings, apart);
    assert_eq!(drive.observer().completed_us()[9..], [2455, 2555, 2655]);
}

#[test]
fn the_worst_case_is_an_erase_and_a_program_or_the_suspend_time() {
    // One read arrives at some time of a collection; the times are tried in steps of 5 us. With PGC
    // the longest wait is for the erase. With suspension it is for the suspension time, or for a
    // read and a transfer of the collection, which cannot be suspended.
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
    // The collection reads a page and transfers it, in 25 and 10; then, at point A, the host's read
    // goes first. The suspension of an erase or a program takes only 20.
    assert_eq!(worst_suspend, 25 + 10 + 25 + 10);
    assert!(worst_none >= 3700, "{worst_none}");
}
