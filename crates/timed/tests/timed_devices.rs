//! Tests of details of real drives: kinds of pages, repeated reads, commands on the bus, the link
//! to the host, flush commands and serial overwrites. Times are worked out by hand or compared with
//! a formula.

use flashgc_base::rng::Stream;
use flashgc_ftl::{Fill, Geometry};
use flashgc_timed::page_times::PageTimes;
use flashgc_timed::{
    Details, Hardware, HostLink, Loop, ReadRetry, Settings, Suspend, TimedDrive, Until,
};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::*;

fn run(settings: &Settings, requests: Vec<TimedRequest>) -> TimedDrive<Recorder> {
    let planes = settings.hardware.all_planes();
    let geometry = Geometry::new(16 * planes, 8, u64::from(80 * planes)).unwrap();
    let layer = layer(settings, geometry, "greedy", Fill::Sequential, 2);
    let mut drive = recorded(settings, layer, requests);
    drive.run(Until::END).unwrap();
    drive.layer().audit().unwrap();
    drive
}

/// Returns the time of the cells for each request, in microseconds, in the order of the requests'
/// numbers.
fn cells_us(drive: &TimedDrive<Recorder>) -> Vec<u64> {
    let mut requests = drive.observer().requests.clone();
    requests.sort_by_key(|request| request.number);
    requests.iter().map(|request| request.cell_ns / US).collect()
}

fn with(details: Details, hardware: Hardware) -> Settings {
    Settings { details, ..settings(hardware) }
}

fn open(settings: Settings) -> Settings {
    Settings { host: Loop::Open, ..settings }
}

fn kinds(reads: &[u64], programs: &[u64]) -> Details {
    let of = |us: &[u64]| PageTimes::of_kinds(&us.iter().map(|us| us * US).collect::<Vec<_>>());
    Details { pages: Some((of(reads), of(programs))), ..Details::default() }
}

fn link(bandwidth: Option<&str>, overhead: Option<&str>) -> Details {
    Details { link: HostLink::parse(bandwidth, overhead).unwrap(), ..Details::default() }
}

fn retry(rule: &str) -> Details {
    Details { retry: Some(ReadRetry::parse(rule).unwrap()), ..Details::default() }
}

#[test]
fn a_page_takes_the_time_of_its_kind() {
    let four = kinds(&[48, 76, 135, 228], &[200]);
    // Page 0 is the first of its block of 8.
    let reads = || (0..8).map(|page| request(0, Op::Read, page)).collect();
    let drive = run(&with(four, paper_hardware()), reads());
    assert_eq!(cells_us(&drive), [48, 76, 135, 228, 48, 76, 135, 228]);
    // With one thread the whole block takes 8 times the mean of 121.75 us.
    assert_eq!(drive.now(), 974 * US);
    // Commands and transfers are added: 1 + 48 + 10 us and so on.
    let hardware = Hardware { transfer_ns: 10 * US, command_ns: US, ..paper_hardware() };
    assert_eq!(run(&with(four, hardware), reads()).now(), (974 + 8 * 11) * US);
    // There are three kinds of programs. The writes fill an erased block in order.
    let writes = (0..8).map(|page| request(0, Op::Write, 9 * page)).collect();
    let drive = run(&with(kinds(&[25], &[100, 200, 400]), paper_hardware()), writes);
    assert_eq!(cells_us(&drive), [100, 200, 400, 100, 200, 400, 100, 200]);
}

#[test]
fn pages_of_a_multi_plane_operation_take_the_time_of_the_slowest() {
    let hardware = Hardware { planes: 2, ..paper_hardware() };
    let settings = open(Settings { multi_plane: true, ..with(kinds(&[25, 60], &[200]), hardware) });
    // Even pages are on plane 0, odd ones on plane 1. Page 4 is the third of its block, page 3 the
    // second. Page 1 is read alone; the other two are read together.
    let reads = [1, 4, 3].map(|page| request(0, Op::Read, page)).to_vec();
    let drive = run(&settings, reads);
    assert_eq!(drive.observer().completed_us(), [25, 85, 85]);
}

#[test]
fn collections_read_and_program_pages_of_their_kinds() {
    // There are eight blocks of 4 pages. Eight writes fill blocks 4 and 5, in 2 * (150 + 350) us
    // each. Then the third and fourth pages of blocks 0 and 1 are read in 10 and 60 us, and are
    // programmed to the four pages of block 6 in 150 and 350 us. Two erases follow. The ninth write
    // is programmed to the first page of a block.
    let pages = [0, 1, 4, 5, 8, 9, 12, 13, 2];
    let requests: Vec<_> = pages.into_iter().map(|page| request(0, Op::Write, page)).collect();
    let geometry = Geometry::new(8, 4, 16).unwrap();
    let times = |copy_back: bool, transfer_ns: u64| {
        let hardware = Hardware { transfer_ns, ..paper_hardware() };
        let mut settings = with(kinds(&[10, 60], &[150, 350]), hardware);
        settings.collecting.copy_back = copy_back;
        let layer = layer(&settings, geometry, "greedy:ties=oldest", Fill::Sequential, 2);
        let mut drive = recorded(&settings, layer, requests.clone());
        drive.run(Until::END).unwrap();
        drive.observer().completed_us()[8]
    };
    let alone = 2000 + 2 * (10 + 60 + 150 + 350 + 1500) + 150;
    assert_eq!(times(false, 0), alone);
    assert_eq!(times(true, 10 * US), alone + 9 * 10);
    assert_eq!(times(false, 10 * US), alone + 9 * 10 + 4 * 20);
}

#[test]
fn a_flush_programs_pages_of_their_kinds() {
    // A flash page has two units. Each of the two flushes programs a flash page with one unit: the
    // first page of the block in 100 us, the second in 300 us. Two more units fill the third page,
    // which takes 100 us.
    let hardware = Hardware { units_per_page: 2, ..paper_hardware() };
    let settings = open(with(kinds(&[25], &[100, 300]), hardware));
    let geometry = Geometry::new(16, 8, 80).unwrap();
    let greedy = ("greedy", "none");
    let layer = unit_layer(&settings, geometry, greedy, Fill::Sequential, 2, false);
    let unit = |us: u64, op, page: u64| {
        let bytes = PAGE / 2;
        TimedRequest { offset: page * u64::from(bytes), bytes, ..request(us * US, op, 0) }
    };
    let requests = vec![
        unit(0, Op::Write, 3),
        unit(10, Op::Flush, 0),
        unit(500, Op::Write, 7),
        unit(510, Op::Flush, 0),
        unit(1000, Op::Write, 9),
        unit(1010, Op::Write, 2),
    ];
    let mut drive = recorded(&settings, layer, requests);
    drive.run(Until::END).unwrap();
    let done = drive.observer().requests.iter().map(|one| one.completed_ns / US);
    assert_eq!(done.collect::<Vec<_>>(), [0, 110, 500, 810, 1000, 1110]);
}

#[test]
fn a_suspended_program_goes_on_with_the_rest_of_its_kind() {
    let suspend = Suspend { program: true, suspend_ns: 20 * US, ..Suspend::NEVER };
    let settings =
        open(Settings { suspend, ..with(kinds(&[10, 60], &[150, 350]), paper_hardware()) });
    // The write is programmed to the first page of a block, in 150 us. At 100 us a read of a second
    // page arrives. The die is free at 120, the read is done at 180, and the last 50 us of the
    // program end at 230.
    let requests = vec![request(0, Op::Write, 5), request(100 * US, Op::Read, 9)];
    assert_eq!(run(&settings, requests).observer().completed_us(), [230, 180]);
}

#[test]
fn reads_of_worn_blocks_are_repeated() {
    // Each erase adds a retry: a read takes 25 us and another 25 us for each erase of its block.
    let details = retry("from=1,every=1");
    let mut stream = Stream::new(3, "retries");
    let writes = (0..400).map(|_| request(0, Op::Write, stream.below(80)));
    let requests: Vec<_> = writes.chain((0..80).map(|page| request(0, Op::Read, page))).collect();
    let drive = run(&with(details, paper_hardware()), requests);
    let counts = drive.layer().blocks(0).erase_counts();
    let erases: Vec<u64> = (0..80)
        .map(|page| drive.layer().locate(page).unwrap())
        .map(|ppn| counts[drive.layer().geometry().place_of(ppn).0 as usize].into())
        .collect();
    let expected: Vec<u64> = erases.iter().map(|erases| (25 * (1 + erases)).min(25 * 21)).collect();
    assert_eq!(cells_us(&drive)[400..], expected);
    assert!(erases.contains(&4) && erases.contains(&7), "{erases:?}");
}

#[test]
fn reads_of_old_data_are_repeated() {
    let settings = open(with(retry("after=1ms,each=500us"), paper_hardware()));
    let at = |us: u64, op, page| request(us * US, op, page);
    let requests = vec![
        at(500, Op::Read, 0),   // data from the start, 0.5 ms old: no retry
        at(1000, Op::Read, 0),  // one retry
        at(1500, Op::Read, 0),  // two retries
        at(2000, Op::Write, 0), // the first page of another block
        at(2300, Op::Write, 1), // the second page: the age counts from the first
        at(2900, Op::Read, 1),
        at(3000, Op::Read, 1),
        at(3100, Op::Read, 8), // data from the start: 1 + (3.1 - 1) / 0.5 retries
    ];
    assert_eq!(cells_us(&run(&settings, requests)), [25, 50, 75, 200, 200, 25, 50, 150]);
}

#[test]
fn collections_repeat_reads_unless_pages_stay_in_their_die() {
    // Each read of the collection is repeated once. With copy-back the controller does not see
    // errors, so there are no retries.
    let pages = [0, 1, 4, 5, 8, 9, 12, 13, 2];
    let requests: Vec<_> = pages.into_iter().map(|page| request(0, Op::Write, page)).collect();
    let last = |copy_back: bool| {
        let mut settings = with(retry("from=0,every=100"), paper_hardware());
        settings.collecting.copy_back = copy_back;
        let geometry = Geometry::new(8, 4, 16).unwrap();
        let layer = layer(&settings, geometry, "greedy:ties=oldest", Fill::Sequential, 2);
        let mut drive = recorded(&settings, layer, requests.clone());
        drive.run(Until::END).unwrap();
        drive.observer().completed_us()[8]
    };
    assert_eq!((last(true), last(false)), (5700, 5700 + 4 * 25));
}

#[test]
fn commands_take_their_share_of_a_bus_that_random_reads_fill() {
    // The bus is always busy: a read takes it for one command and one transfer.
    let hardware = Hardware {
        dies: 16,
        read_ns: 20 * US,
        transfer_ns: 2930,
        command_ns: 290,
        ..paper_hardware()
    };
    let host = Loop::Closed { threads: 256, think_ns: 0 };
    let mut stream = Stream::new(5, "reads");
    let reads = (0..50_000).map(|_| request(0, Op::Read, stream.below(16 * 80))).collect();
    let drive = run(&Settings { host, ..settings(hardware) }, reads);
    let each = drive.now() as f64 / 50_000.0;
    assert!((each / (2930.0 + 290.0) - 1.0).abs() < 0.01, "{each} ns a read");
}

/// A link on which a page takes 1 us and a command has an overhead of 5 us.
const LINK: (Option<&str>, Option<&str>) = (Some("4.096GB/s"), Some("5us"));

#[test]
fn data_cross_the_link_once() {
    let settings = open(with(link(LINK.0, LINK.1), Hardware { dies: 3, ..paper_hardware() }));
    let drive = run(&settings, vec![request(0, Op::Read, 0)]);
    assert_eq!(drive.observer().completed_us(), [5 + 25 + 1]);
    // The link counts as a bus.
    let read = drive.observer().requests[0];
    assert_eq!((read.bus_ns, read.cell_ns, read.queue_ns), (6 * US, 25 * US, 0));
    assert_eq!(run(&settings, vec![request(0, Op::Write, 0)]).now(), (5 + 1 + 200) * US);
    // Three writes use the link to the drive one after another, and three reads the link to the
    // host. Reads and writes do not wait for each other.
    let three = |op, first: u32| (first..first + 3).map(move |page| request(0, op, page));
    let writes = run(&settings, three(Op::Write, 0).collect());
    assert_eq!(writes.observer().completed_us(), [206, 207, 208]);
    let reads = run(&settings, three(Op::Read, 0).collect());
    assert_eq!(reads.observer().completed_us(), [31, 32, 33]);
    // Reads send no data to the drive, so they begin before writes that arrived earlier.
    let mixed = run(&settings, three(Op::Write, 0).chain(three(Op::Read, 3)).collect());
    assert_eq!(mixed.observer().completed_us(), [230, 230, 230, 31, 32, 33]);
    // The data of a request of three pages cross the link as one transfer; a TRIM has no data.
    let long = TimedRequest { bytes: 3 * PAGE, ..request(0, Op::Read, 0) };
    assert_eq!(run(&settings, vec![long]).now(), (5 + 25 + 3) * US);
    assert_eq!(run(&settings, vec![request(0, Op::Trim, 0)]).now(), 5 * US);
}

#[test]
fn what_follows_a_write_waits_for_its_data() {
    let settings = open(with(link(LINK.0, None), paper_hardware()));
    let write = TimedRequest { bytes: 4 * PAGE, ..request(0, Op::Write, 0) };
    let drive = run(&settings, vec![write, request(0, Op::Trim, 0)]);
    // The TRIM reaches the drive at 4 us, after the data of the write. Then it waits at its die for
    // the writes.
    assert_eq!(drive.layer().locate(0), None);
    assert_eq!(drive.observer().completed_us(), [4 + 4 * 200; 2]);
}

/// Runs these requests on a drive with a write cache. Returns the times at which its flush commands
/// were done, in microseconds.
fn flushed_us(is_protected: bool, requests: Vec<TimedRequest>) -> Vec<u64> {
    let settings = open(Settings { write_cache: 4, ..settings(paper_hardware()) });
    let geometry = Geometry::new(16, 8, 80).unwrap();
    let layer =
        unit_layer(&settings, geometry, ("greedy", "none"), Fill::Sequential, 2, is_protected);
    let mut drive = recorded(&settings, layer, requests);
    drive.run(Until::END).unwrap();
    let done = drive.observer().requests.iter().filter(|one| one.op == Op::Flush);
    done.map(|one| one.completed_ns / US).collect()
}

#[test]
fn a_flush_waits_for_what_the_write_cache_held_when_it_came() {
    let at = |us: u64, op, page| request(us * US, op, page);
    // The programs of the two pages end at 200 and 400 us.
    let two = vec![at(0, Op::Write, 0), at(0, Op::Write, 1), at(10, Op::Flush, 0)];
    assert_eq!(flushed_us(false, two.clone()), [400]);
    assert_eq!(flushed_us(true, two), [10]);
    // The host writes page 0 again during its program. The new data are programmed from 200 us on.
    // The first flush came before this write, the second after it.
    let again = vec![
        at(0, Op::Write, 0),
        at(50, Op::Flush, 0),
        at(100, Op::Write, 0),
        at(150, Op::Flush, 0),
        at(900, Op::Flush, 0),
    ];
    assert_eq!(flushed_us(false, again), [200, 400, 900]);
    // A flush does not wait for later writes.
    let later = vec![at(0, Op::Write, 0), at(10, Op::Flush, 0), at(20, Op::Write, 1)];
    assert_eq!(flushed_us(false, later), [200]);
    // If a page is discarded before its program begins, the flush does not wait for it.
    let gone =
        vec![at(0, Op::Write, 0), at(0, Op::Write, 1), at(10, Op::Flush, 0), at(20, Op::Trim, 1)];
    assert_eq!(flushed_us(false, gone), [200]);
}

#[test]
fn the_queue_of_the_drive_holds_a_read_until_its_data_are_out() {
    let settings = Settings { queue_depth: 1, ..with(link(LINK.0, LINK.1), paper_hardware()) };
    let two = vec![request(0, Op::Read, 0), request(0, Op::Read, 1)];
    assert_eq!(run(&open(settings), two).observer().completed_us(), [31, 62]);
}

#[test]
fn a_link_that_is_slower_than_the_flash_bounds_sequential_reads() {
    // Eight dies read 1.3 GB a second, as the bus takes no time; the link takes 500 MB a second.
    let hardware = Hardware { dies: 8, ..paper_hardware() };
    let host = Loop::Closed { threads: 32, think_ns: 0 };
    let rate = |bandwidth| {
        let settings = Settings { host, ..with(link(bandwidth, Some("5us")), hardware) };
        let reads = (0..20_000).map(|index| request(0, Op::Read, index % 640)).collect();
        20_000.0 * f64::from(PAGE) * 1e3 / run(&settings, reads).now() as f64
    };
    let (bound, free) = (rate(Some("500MB/s")), rate(None));
    assert!((bound / 500.0 - 1.0).abs() < 0.01, "{bound} MB/s");
    assert!((free / (8.0 * 4096.0 / 25.0) - 1.0).abs() < 0.01, "{free} MB/s");
}

#[test]
fn with_serial_overwrites_a_write_waits_until_the_one_before_it_is_done() {
    let completed = |write_cache, serial_overwrites, pages: &[(Op, u32)]| {
        let details = Details { serial_overwrites, ..Details::default() };
        let settings = open(Settings { write_cache, ..with(details, paper_hardware()) });
        let requests = pages.iter().map(|&(op, page)| request(0, op, page)).collect();
        let drive = run(&settings, requests);
        let mut requests = drive.observer().requests.clone();
        requests.sort_by_key(|request| request.number);
        requests.iter().map(|done| done.completed_ns / US).collect::<Vec<_>>()
    };
    let write = |page| (Op::Write, page);
    // Without a cache a write is done when it is programmed. With serial overwrites, the second
    // write of page 3 reaches the die at 200, after the write of page 4, and the read of page 3
    // comes after that.
    let alone = [write(3), write(3), (Op::Read, 3), write(4)];
    assert_eq!(completed(0, false, &alone), [200, 400, 425, 625]);
    assert_eq!(completed(0, true, &alone), [200, 600, 625, 400]);
    // The cache has one page: page 9 is in it until 200, page 3 from 200 to 400. The second write
    // of page 3 is merged with the first. With serial overwrites it comes after page 4, which is in
    // the cache until 600.
    let cached = [write(9), write(3), write(3), write(4)];
    assert_eq!(completed(1, false, &cached), [0, 200, 200, 400]);
    assert_eq!(completed(1, true, &cached), [0, 200, 600, 400]);
}
