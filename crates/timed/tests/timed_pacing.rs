//! Tests of write pacing: the order of a die's operations worked out by hand, and response times in
//! the steady state.

use flashgc_base::counts::Counts;
use flashgc_base::rng::Stream;
use flashgc_ftl::{Fill, Geometry};
use flashgc_timed::{Hardware, Loop, Placement, Preemption, Settings, Unit, Until};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common;
use crate::timed_common::*;

/// Returns settings in which a read takes 25 us, a program 200 us, an erase 1500 us and a transfer
/// 10 us. So a write of the host takes 210 us, and a copy 25 + 10 + 10 + 200 = 245 us.
fn settings(paces_writes: bool) -> Settings {
    let hardware = Hardware { transfer_ns: 10 * US, ..paper_hardware() };
    let mut settings = Settings { host: Loop::Open, ..timed_common::settings(hardware) };
    settings.collecting.preemption = Preemption::Semi { merge: false, pipeline: false };
    settings.collecting.paces_writes = paces_writes;
    settings
}

/// Runs eight writes and then the requests `more`, which all arrive at time 0, on a drive of nine
/// blocks of 4 pages with 16 logical pages. Returns the times at which `more` are completed, in
/// microseconds.
///
/// The eight writes go to two pages of each of blocks 0 to 3, and end at 8 * 210 = 1680 us. Then
/// three blocks are erased, and the first request of `more` begins the collection of block 0, whose
/// pages 2 and 3 are valid. This victim makes room for 4 - 2 = 2 pages of the host, in 2 + 1 steps.
fn completed(paces_writes: bool, more: &[(Op, u32)]) -> Vec<u64> {
    let first = [0, 1, 4, 5, 8, 9, 12, 13].map(|page| (Op::Write, page));
    let all = first.iter().chain(more).map(|&(op, page)| request(0, op, page));
    let geometry = Geometry::new(9, 4, 16).unwrap();
    let mut settings = settings(paces_writes);
    (settings.collecting.low, settings.collecting.high) = (3, 3);
    let layer = layer(&settings, geometry, "greedy:ties=oldest", Fill::Sequential, 3);
    let mut drive = recorded(&settings, layer, all.collect());
    drive.run(Until::END).unwrap();
    drive.layer().audit().unwrap();
    drive.observer().completed_us()[8..].to_vec()
}

#[test]
fn writes_go_before_the_steps_of_a_collection_in_proportion() {
    let two = [(Op::Write, 0), (Op::Write, 4)];
    // Before step 1 the host may have written floor(1 * 2 / 3) = 0 pages, before step 2 floor(2 * 2
    // / 3) = 1, and before step 3, the erase, 2. From 1680 on the ends are: copy 1925, write 2135,
    // copy 2380, write 2590, erase 4090.
    assert_eq!(completed(true, &two), [2135, 2590]);
    // Without pacing both writes go before the first step, and end at 1890 and 2100.
    assert_eq!(completed(false, &two), [1890, 2100]);
}

#[test]
fn a_third_write_waits_for_the_erase_and_reads_wait_for_no_room() {
    let three = [(Op::Write, 0), (Op::Write, 4), (Op::Write, 8)];
    // After the erase at 4090 two blocks are erased, so the collection of block 1 follows, whose
    // pages 6 and 7 are valid. Its first copy is made before the third write.
    assert_eq!(completed(true, &three), [2135, 2590, 4090 + 245 + 210]);
    // The read goes first, as the write before it has no room yet. From 1680 on the ends are: read
    // 1715, copy 1960, write 2170.
    assert_eq!(completed(true, &[(Op::Write, 0), (Op::Read, 10)]), [2170, 1715]);
}

#[test]
fn a_page_that_dies_on_the_way_is_a_copy_less_and_a_page_of_the_host_more() {
    // After the copy of page 2 the host writes page 3, the other valid page of the victim. The
    // victim then makes room for 4 - 1 = 3 pages in 1 + 1 steps, of which the copy is done. So
    // before the erase the host may have written floor(2 * 3 / 2) = 3 pages. From 1680 on the ends
    // are: copy 1925, writes 2135, 2345 and 2555, erase 4055. Then the collection of block 1
    // follows, whose pages 6 and 7 are valid: copy 4300, write 4510.
    let four = [3, 4, 8, 12].map(|page| (Op::Write, page));
    assert_eq!(completed(true, &four), [2135, 2345, 2555, 4055 + 245 + 210]);
}

#[test]
fn planes_that_collect_together_are_paced_together() {
    // The pages of `completed`, on each of two planes. The first write goes alone, seven times one of each
    // plane go together, and the last one goes alone: 210 + 7 * 220 + 210 = 1960 us. Then both planes
    // collect: victims of 8 pages with 4 valid ones make room for 4 pages in 4 + 1 steps. Before any copy
    // the host may have written floor(1 * 4 / 5) = 0 pages, after two floor(3 * 4 / 5) = 2, and after four
    // 4. The ends are: copies 1960 + 25 + 4 * 10 + 200 = 2225, writes 2445, copies 2710, writes 2930.
    let first = [0, 1, 4, 5, 8, 9, 12, 13];
    let both = |pages: &[u32]| -> Vec<TimedRequest> {
        let of_planes = pages.iter().flat_map(|page| [2 * page, 2 * page + 1]);
        of_planes.map(|page| request(0, Op::Write, page)).collect()
    };
    let mut settings = settings(true);
    settings.hardware.planes = 2;
    settings.multi_plane = true;
    (settings.collecting.low, settings.collecting.high) = (3, 3);
    let geometry = Geometry::new(18, 4, 32).unwrap();
    let layer = layer(&settings, geometry, "greedy:ties=oldest", Fill::Sequential, 3);
    let mut drive = recorded(&settings, layer, [both(&first), both(&[0, 4])].concat());
    drive.run(Until::END).unwrap();
    drive.layer().audit().unwrap();
    assert_eq!(drive.observer().completed_us()[16..], [2445, 2445, 2930, 2930]);
}

/// Lets 16 threads write random pages on one die in its steady state. Returns the time in
/// nanoseconds; the numbers of host pages, copies and erases; and the response times in
/// nanoseconds, in ascending order.
fn saturated(paces_writes: bool, low: u32) -> (u64, [u64; 3], Vec<u64>) {
    let mut settings = settings(paces_writes);
    settings.collecting.low = low;
    settings.collecting.high = low;
    settings.host = Loop::Closed { threads: 16, think_ns: 0 };
    let geometry = Geometry::new(128, 64, 100 * 64).unwrap();
    let layer = layer(&settings, geometry, "greedy:ties=oldest", Fill::Random, low);
    let mut draw = Stream::new(5, "pages");
    let mut page = || draw.below(100 * 64);
    let warm: Vec<u32> = (0..40_000).map(|_| page()).collect();
    let requests: Vec<TimedRequest> = (0..60_000).map(|_| request(0, Op::Write, page())).collect();
    let mut drive = recorded(&settings, layer, requests);
    drive.precondition(&warm).unwrap();
    drive.run(Until { completed: 20_000, ..Until::END }).unwrap(); // the steady state with pacing
    let (from, before) = (drive.now(), drive.counters());
    let seen = drive.observer().requests.len();
    drive.run(Until { completed: 58_000, ..Until::END }).unwrap();
    let done = drive.counters().since(&before);
    let mut times: Vec<u64> =
        drive.observer().requests[seen..].iter().map(|done| done.response_ns()).collect();
    times.sort_unstable();
    (drive.now() - from, [done.host_pages, done.copied_pages, done.erases], times)
}

#[test]
fn pacing_wastes_no_time_of_the_flash_and_all_writes_wait_equally_long() {
    // A saturated die is never idle, so the time is the sum of the times of its operations.
    let expected = |[pages, copies, erases]: [u64; 3]| {
        (210 * pages + 245 * copies + 1500 * erases) as f64 * US as f64
    };
    let (paced, plain) = (saturated(true, 4), saturated(false, 4));
    for (time, counts, _) in [&paced, &plain] {
        let expected = expected(*counts);
        assert!((*time as f64 / expected - 1.0).abs() < 1e-3, "{time} of {expected} {counts:?}");
    }
    // Little's law: 16 threads have 16 requests in the drive, so the mean response time is 16
    // divided by the rate.
    let mean = |times: &[u64]| times.iter().sum::<u64>() as f64 / times.len() as f64;
    let little =
        |(time, [pages, ..], _): &(u64, [u64; 3], Vec<u64>)| 16.0 * *time as f64 / *pages as f64;
    let share = |times: &[u64], share: f64| times[(share * times.len() as f64) as usize] as f64;
    for run in [&paced, &plain] {
        assert!((mean(&run.2) / little(run) - 1.0).abs() < 2e-3);
    }
    // With pacing a write waits for at most one erase, so the response times differ by less than
    // 1.5 ms.
    let spread = |times: &[u64]| share(times, 0.999) - share(times, 0.5);
    assert!(spread(&paced.2) < 1500.0 * US as f64);
    assert!(spread(&plain.2) > 10.0 * 1500.0 * US as f64);
}

#[test]
fn what_cannot_be_paced_is_refused_in_one_line() {
    let error = |change: fn(&mut Settings)| {
        let mut settings = settings(true);
        change(&mut settings);
        settings.check().unwrap_err().to_string()
    };
    let none = error(|settings| settings.collecting.preemption = Preemption::None);
    assert_eq!(
        none,
        "write_pacing needs preemption pgc or suspend, found preemption=\"none\": paced writes go between the \
         steps of a collection; hint: preemption=\"pgc\", or write_pacing=\"no\""
    );
    let channel = error(|settings| settings.collecting.unit = Unit::Channel);
    assert!(channel.contains("needs the GC domain plane or die, found a channel"), "{channel}");
    assert!(channel.contains("gc_domain=\"die\""), "{channel}");
    let mut by_die = settings(true);
    by_die.collecting.unit = Unit::Die;
    by_die.placement = Placement::Dynamic;
    by_die.check().unwrap();
}
