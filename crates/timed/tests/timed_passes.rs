//! Word lines that are programmed in two passes: timelines that were worked out by hand.
//!
//! A word line has two pages. A transfer takes 10 us a page, a first pass 100 us, a second one 300 us,
//! and a read 25 us.

use flashgc_ftl::{Fill, Geometry, Members};
use flashgc_timed::{Loop, Preemption, Scheduling, Settings, Stop, Suspend, Until, Work};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::*;

fn two_pass() -> Settings {
    let mut settings = settings(paper_hardware());
    let hardware = &mut settings.hardware;
    (hardware.pages_per_program, hardware.transfer_ns) = (2, 10 * US);
    (hardware.program_ns, hardware.second_ns) = (100 * US, Some(300 * US));
    settings.host = Loop::Open;
    settings
}

fn at(us: u64, op: Op, page: u32) -> TimedRequest {
    request(us * US, op, page)
}

/// Returns the writes of pages 0 to `count` - 1, which arrive at the start.
fn writes(count: u32) -> Vec<TimedRequest> {
    (0..count).map(|page| at(0, Op::Write, page)).collect()
}

/// Runs an empty drive whose blocks have `units` pages of the map until all requests are done.
fn run(
    settings: &Settings,
    units: u32,
    is_protected: bool,
    requests: Vec<TimedRequest>,
) -> flashgc_timed::TimedDrive<Recorder> {
    let planes = settings.hardware.all_planes();
    let geometry = Geometry::new(12 * planes, units, (planes * units * 6).into()).unwrap();
    let map = unit_layer(settings, geometry, ("greedy", "none"), Fill::Empty, 2, is_protected);
    let mut drive = recorded(settings, map, requests);
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
    drive.layer().audit().unwrap();
    drive
}

fn completed(settings: &Settings, units: u32, requests: Vec<TimedRequest>) -> Vec<u64> {
    run(settings, units, true, requests).observer().completed_us()
}

/// Returns the begin and the end of each program of the cells of a die, in microseconds.
fn programs(drive: &flashgc_timed::TimedDrive<Recorder>, die: u32) -> Vec<(u64, u64)> {
    let spans = drive.observer().spans.iter();
    let in_cells = |span: &&flashgc_timed::Span| {
        span.work == Work::Program && span.die == die && span.place == flashgc_timed::Place::Cells
    };
    spans.filter(in_cells).map(|span| (span.begin_ns / US, span.end_ns / US)).collect()
}

#[test]
fn a_second_pass_follows_the_first_of_the_next_word_line() {
    // Three word lines. Page 1 fills the first: on the bus from 0 to 20. Page 3 fills the second: first
    // pass 140 to 240, then the second of the first word line on the bus until 260. Page 5 fills the
    // last one of the block, which gets both passes.
    let drive = run(&two_pass(), 6, true, writes(6));
    assert_eq!(drive.observer().completed_us(), [0, 120, 0, 560, 120, 1320]);
    let expected = [(20, 120), (140, 240), (260, 560), (580, 680), (700, 1000), (1020, 1320)];
    assert_eq!(programs(&drive, 0), expected);
    // With cache programming each pass crosses the bus during the one before.
    let cached = Settings { cache_commands: true, ..two_pass() };
    let drive = run(&cached, 6, true, writes(6));
    assert_eq!(drive.observer().completed_us(), [0, 120, 0, 520, 20, 1220]);
    let expected = [(20, 120), (120, 220), (220, 520), (520, 620), (620, 920), (920, 1220)];
    assert_eq!(programs(&drive, 0), expected);
    // Page 5 is on the bus from 220 to 240, and waits for the cells until 520. Its passes follow each other.
    let last = drive.observer().requests.iter().find(|it| it.number == 5).unwrap();
    let parts = [last.queue_ns, last.bus_ns, last.cell_ns].map(|ns| ns / US);
    assert_eq!(parts, [220 + 280, 20, 100 + 300 + 300]);
    // A block of one word line: both passes follow each other, 20 + 100 + 20 + 300.
    assert_eq!(completed(&two_pass(), 2, writes(4)), [0, 440, 0, 880]);
}

#[test]
fn reads_find_a_word_line_in_the_buffer_until_its_second_pass_is_over() {
    let reads = |reads: &[(u64, u32)]| {
        let reads = reads.iter().map(|&(us, page)| at(us, Op::Read, page));
        [writes(6), reads.collect()].concat()
    };
    // First come, first served: the read waits for the passes of all writes, and finds page 1 in the cells.
    assert_eq!(completed(&two_pass(), 6, reads(&[(130, 1)]))[6], 1320 + 35);
    let first = Settings { scheduling: Scheduling::ReadsFirst, ..two_pass() };
    // Reads go first between two passes. At 240 page 1 is in memory.
    assert_eq!(completed(&first, 6, reads(&[(130, 1)]))[5..], [1320, 240]);
    // At 680 the second pass of page 0 is over, and that of page 2 is not. The read of page 0 delays the
    // passes by its 35.
    let times = completed(&first, 6, reads(&[(600, 2), (610, 0)]));
    assert_eq!(times[5..], [1355, 680, 715]);
    // The last word line waits for its own second pass, from 1000 on.
    assert_eq!(completed(&first, 6, reads(&[(990, 4)]))[5..], [1320, 1000]);
    // A read suspends the second pass at 300, in 20. Page 1 is in memory; 260 of the pass are left.
    let mut suspends = first.clone();
    suspends.collecting.preemption = Preemption::Semi { merge: false, pipeline: false };
    suspends.suspend = Suspend { program: true, suspend_ns: 20 * US, ..Suspend::NEVER };
    let times = completed(&suspends, 6, reads(&[(300, 1)]));
    assert_eq!([times[3], times[6]], [580, 320]);
}

#[test]
fn planes_make_their_passes_together() {
    // Pages 0 and 1 are the first word line of plane 0, and 2 and 3 that of plane 1. Page 1 is programmed
    // alone. Then pages 3 and 5 cross the bus until 160 for one first pass; only plane 0 has a word line
    // below. Pages 7 and 9 are next. Both planes make a second pass together, and plane 0, whose block ends,
    // another.
    let mut settings = Settings { multi_plane: true, ..two_pass() };
    settings.hardware.planes = 2;
    let drive = run(&settings, 6, true, writes(10));
    let expected = [0, 120, 0, 580, 580, 580, 120, 1380, 1380, 1380];
    assert_eq!(drive.observer().completed_us(), expected);
    let expected = [(20, 120), (160, 260), (280, 580), (620, 720), (760, 1060), (1080, 1380)];
    assert_eq!(programs(&drive, 0), expected);
}

#[test]
fn a_flush_programs_a_word_line_more_so_that_data_get_their_second_pass() {
    // Four word lines. Page 0 is flushed: its word line has one page of padding, and the next one two.
    // 20 + 100, 20 + 100, 20 + 300. The flush of page 1 pads the third and the fourth word line: first
    // pass of the third, second of the second, and three passes of the two last.
    let flush = |us: u64| TimedRequest { bytes: 0, ..at(us, Op::Flush, 0) };
    let requests = vec![at(0, Op::Write, 0), flush(0), at(600, Op::Write, 1), flush(600)];
    let drive = run(&two_pass(), 8, false, requests);
    assert_eq!(drive.observer().completed_us(), [0, 560, 600, 600 + 440 + 120 + 320 + 320]);
    assert_eq!(drive.layer().counts().packing.unwrap().padding, 6);
}

#[test]
fn a_full_word_line_that_waits_for_its_second_pass_is_due_after_a_time() {
    // At 1000 the next word line is padded, and the first one gets its second pass.
    let settings = Settings { flush_after_ns: 1000 * US, ..two_pass() };
    let drive = run(&settings, 8, true, writes(2));
    assert_eq!(programs(&drive, 0), [(20, 120), (1020, 1120), (1140, 1440)]);
    assert_eq!(drive.layer().counts().packing.unwrap().padding, 2);
}

#[test]
fn dies_of_a_superblock_make_the_second_passes_of_their_own_word_lines() {
    // Two dies of two word lines. Pages 0 and 1 are on die 0, 2 and 3 on die 1, then die 0 again.
    let mut settings = two_pass();
    settings.hardware.dies = 2;
    settings.hardware.members = Members { dies: 2, stripe: None, planes: 1 };
    let drive = run(&settings, 8, true, writes(8));
    assert_eq!(drive.observer().completed_us(), [0, 120, 0, 140, 0, 560, 0, 900]);
    assert_eq!(programs(&drive, 0), [(20, 120), (140, 240), (260, 560), (580, 880)]);
    assert_eq!(programs(&drive, 1), [(40, 140), (160, 260), (280, 580), (600, 900)]);
    // The second pass of pages 0 and 1 ends at 560. A read finds them in memory until then.
    let requests = [writes(8), vec![at(300, Op::Read, 0)]].concat();
    assert_eq!(completed(&settings, 8, requests)[8], 300);
    // Mirrored: in the first row die 0 has the parity, in the second die 1. Both get two passes.
    settings.hardware.members.stripe = Some(2);
    let drive = run(&settings, 4, true, writes(4));
    assert_eq!(drive.observer().completed_us(), [0, 140, 0, 880]);
    assert_eq!(programs(&drive, 0), [(20, 120), (140, 240), (260, 560), (580, 880)]);
    assert_eq!(programs(&drive, 1), [(40, 140), (160, 260), (280, 580), (600, 900)]);
}

#[test]
fn a_flush_of_a_superblock_fills_a_row_more() {
    // Three rows of two dies. Page 0 is on die 0. Its word line is padded, that of die 1 and the next of
    // die 0, whose first pass comes before the second of page 0, at 560 as above.
    let mut settings = two_pass();
    settings.hardware.dies = 2;
    settings.hardware.members = Members { dies: 2, stripe: None, planes: 1 };
    let flush = TimedRequest { bytes: 0, ..at(0, Op::Flush, 0) };
    let drive = run(&settings, 12, false, vec![at(0, Op::Write, 0), flush]);
    assert_eq!(drive.observer().completed_us(), [0, 560]);
    assert_eq!(drive.layer().counts().packing.unwrap().padding, 5);
}
