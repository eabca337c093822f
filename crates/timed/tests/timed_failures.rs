//! Reads that fail and are rebuilt from parity: timelines that were worked out by hand, and a naive form.

use flashgc_base::rng::Stream;
use flashgc_ftl::{Fill, Geometry, Members};
use flashgc_timed::{
    Details, FailureCounts, Loop, Preemption, ReadFailures, Settings, Stop, Suspend, Until,
};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::*;

/// Returns 4 channels of 4 dies, of which one in 16 has parity. Member m of a superblock is on channel
/// m mod 4. In the first row member 0 has the parity, so page 0 is on member 1, page 1 on member 2, and
/// so on. A read takes 60 us, and a transfer 10 us for a page of the flash. It has `units` pages of the
/// map.
fn striped(units: u32, failures: Option<ReadFailures>) -> Settings {
    let mut settings = settings(paper_hardware());
    let hardware = &mut settings.hardware;
    (hardware.channels, hardware.dies) = (4, 4);
    hardware.members = Members::new(16, Some(16));
    (hardware.units_per_page, hardware.page_bytes) = (units, units * PAGE);
    (hardware.read_ns, hardware.transfer_ns) = (60 * US, 10 * US);
    settings.details = Details { failures, ..Details::default() };
    settings
}

/// Every read fails.
const ALL: Option<ReadFailures> = Some(ReadFailures { chance: 1.0, seed: 0 });

/// Returns a rule whose first draws are these: `true` for a read that fails.
fn drawing(first: &[bool]) -> ReadFailures {
    let chance = 0.1;
    let seed = (0..).find(|&seed| {
        let mut draws = Stream::new(seed, "read failures");
        first.iter().all(|&fails| fails == (draws.unit() < chance))
    });
    ReadFailures { chance, seed: seed.unwrap() }
}

/// Runs a drive of 12 superblocks, with 8 rows of programs each, which holds the data of `fill`. The planes
/// of a die, `planes` of them, work together. Returns the observer and the counts.
fn run_on(
    settings: &Settings,
    fill: Fill,
    planes: u32,
    requests: Vec<TimedRequest>,
) -> (Recorder, FailureCounts) {
    let of_row = settings.hardware.units_per_page * 15;
    let geometry = Geometry::new(12, of_row * 8, u64::from(of_row * 8 * 6)).unwrap();
    let mut layout = layout_of(settings, geometry, "none", fill, 2, true);
    layout.buffer.planes = planes;
    let mut drive = recorded(settings, map_of(settings, "greedy", layout), requests);
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
    drive.layer().audit().unwrap();
    let counts = drive.totals().failures;
    (drive.into_observer(), counts)
}

/// Runs a full drive. Returns the times of completion in nanoseconds, and the counts.
fn run(settings: &Settings, requests: Vec<TimedRequest>) -> (Vec<u64>, FailureCounts) {
    let (observer, counts) = run_on(settings, Fill::Sequential, 1, requests);
    (completed(&observer), counts)
}

/// Returns the times of completion in the order of the requests, in nanoseconds.
fn completed(observer: &Recorder) -> Vec<u64> {
    let mut requests = observer.requests.clone();
    requests.sort_by_key(|request| request.number);
    requests.iter().map(|request| request.completed_ns).collect()
}

fn counts(reads: u64, failed: u64, others_read: u64, lost: u64) -> FailureCounts {
    FailureCounts { reads, failed, others_read, lost }
}

fn read(page: u32) -> TimedRequest {
    request(0, Op::Read, page)
}

fn open(settings: Settings) -> Settings {
    Settings { host: Loop::Open, ..settings }
}

#[test]
fn a_failed_read_takes_the_time_that_was_worked_out_by_hand() {
    // 60 in the cells and 10 on the bus. Then 15 dies read for 60, and at most 4 of a channel transfer one
    // after another, 40: 170 in all.
    let one_fails: Vec<bool> = (0..16).map(|draw| draw == 0).collect();
    let rule = Some(drawing(&one_fails));
    assert_eq!(run(&striped(1, None), vec![read(0)]).0, [70 * US]);
    let (observer, told) = run_on(&striped(1, rule), Fill::Sequential, 1, vec![read(0)]);
    assert_eq!(completed(&observer), [170 * US]);
    assert_eq!(told, counts(1, 1, 15, 0));
    // The slowest of the 15 waits for the bus 30, and its transfer takes 10.
    let request = observer.requests[0];
    assert_eq!((request.queue_ns, request.blocked_ns), (0, 0));
    assert_eq!((request.cell_ns, request.bus_ns), (120 * US, 50 * US));
    // Only the page of the map crosses the bus, in 2.5: 60 + 2.5 + 60 + 10.
    assert_eq!(run(&striped(4, None), vec![read(0)]).0, [62_500]);
    assert_eq!(run(&striped(4, rule), vec![read(0)]).0, [132_500]);
}

#[test]
fn two_failures_in_a_stripe_are_a_loss() {
    for other in 1..16 {
        let two_fail: Vec<bool> = (0..16).map(|draw| draw == 0 || draw == other).collect();
        let (times, told) = run(&striped(1, Some(drawing(&two_fail[..=other]))), vec![read(0)]);
        assert_eq!((times, told), (vec![170 * US], counts(1, 1, 15, 1)));
    }
    // Each loss is counted once, however many pages fail.
    assert_eq!(run(&striped(1, ALL), vec![read(0), read(0)]).1, counts(2, 2, 30, 2));
}

#[test]
fn on_an_idle_drive_draws_one_by_one_say_all() {
    // The naive form: a draw for each read, and 15 more if it fails.
    let rule = ReadFailures { chance: 0.02, seed: 5 };
    let mut draws = Stream::new(rule.seed, "read failures");
    let mut fails = || draws.unit() < rule.chance;
    let (mut naive, mut now, mut ends) = (FailureCounts::default(), 0, Vec::new());
    for _ in 0..40_000 {
        naive.reads += 1;
        now += 70 * US;
        if fails() {
            naive.failed += 1;
            naive.others_read += 15;
            naive.lost += u64::from((0..15).filter(|_| fails()).count() > 0);
            now += 100 * US;
        }
        ends.push(now);
    }
    let pages = 15 * 8 * 6;
    let requests = (0..40_000).map(|index| read(index * 7 % pages)).collect();
    assert_eq!(run(&striped(1, Some(rule)), requests), (ends, naive));
    // 2% of the reads fail: 800, with a standard deviation of 28. Of these, 1 - 0.98^15 = 26.1% are lost:
    // 209, with a standard deviation of 12.4.
    assert!((naive.failed as f64 - 800.0).abs() < 3.0 * 28.0, "{naive:?}");
    let lost = (1.0 - 0.98f64.powi(15)) * naive.failed as f64;
    assert!((naive.lost as f64 - lost).abs() < 3.0 * 12.4, "{naive:?}");
    // So a read takes 70 + 0.02 x 100 us in the mean.
    let mean = now as f64 / 40_000.0 / 1e3;
    assert!((mean - 72.0).abs() < 0.2, "{mean}");
}

#[test]
fn the_dies_rebuild_one_read_after_another() {
    // Pages 0 and 1 fail at 70. For page 0 all other dies read from 70 to 130, and the last of four transfers
    // ends at 170. On channel 0 they then read for page 1 from 140, 150, 160 and 170 on: the last of these
    // transfers is from 230 to 240.
    let (times, told) = run(&open(striped(1, ALL)), vec![read(0), read(1)]);
    assert_eq!((times, told), (vec![170 * US, 240 * US], counts(2, 2, 30, 2)));
    // With cache commands they read for page 1 during the transfers, from 130 to 190. Four transfers follow.
    let cached = Settings { cache_commands: true, ..open(striped(1, ALL)) };
    let (times, _) = run(&cached, vec![read(0), read(1)]);
    assert_eq!(times, [170 * US, 230 * US]);
}

#[test]
fn pages_that_were_read_together_fail_on_their_own() {
    // A die reads unit 62 until 60, and sends it until 70. Meanwhile units 0 and 1 wait there. The die reads
    // both until 130, and sends them until 150. They are pages of two planes. That of unit 0 is good. That of
    // unit 1 fails, and is rebuilt in 60 + 4 x 10.
    let settings = |failed: usize, draws: usize| {
        let fails: Vec<bool> = (0..draws).map(|draw| draw == failed).collect();
        let mut settings = open(striped(2, Some(drawing(&fails))));
        settings.hardware.transfer_ns = 20 * US;
        settings
    };
    let together = |settings: &Settings, planes| {
        let requests = vec![read(62), read(0), read(1)];
        let (observer, told) = run_on(settings, Fill::Sequential, planes, requests);
        (completed(&observer), told)
    };
    let apart = together(&settings(2, 18), 2);
    assert_eq!(apart, (vec![70 * US, 150 * US, 250 * US], counts(3, 1, 15, 0)));
    // On one plane they are one page, which is rebuilt as a whole: 60 + 4 x 20.
    let one = together(&settings(1, 17), 1);
    assert_eq!(one, (vec![70 * US, 290 * US, 290 * US], counts(2, 1, 15, 0)));
}

#[test]
fn of_a_stripe_that_is_not_full_only_pages_on_flash_are_read() {
    // Three writes are programmed by 210. Pages 1 and 2 are on flash, on channels of their own. The parity is
    // in the memory of the drive: 60 + 10 + 60 + 10.
    let at = |us: u64, op, page| request(us * US, op, page);
    let writes: Vec<TimedRequest> = (0..3).map(|page| at(0, Op::Write, page)).collect();
    let requests = [writes.clone(), vec![at(1000, Op::Read, 0)]].concat();
    let (observer, told) = run_on(&open(striped(1, ALL)), Fill::Empty, 1, requests);
    assert_eq!((completed(&observer)[3], told), (1140 * US, counts(1, 1, 2, 1)));
    // Of one page alone, the parity has all.
    let requests = vec![writes[0], at(1000, Op::Read, 0)];
    let (observer, told) = run_on(&open(striped(1, ALL)), Fill::Empty, 1, requests);
    assert_eq!((completed(&observer)[1], told), (1070 * US, counts(1, 1, 0, 0)));
    // Page 2 is still programmed, until 410, when page 0 is read from 300 on: its data are in memory. So only
    // page 1 is read.
    let requests = vec![writes[0], writes[1], at(200, Op::Write, 2), at(300, Op::Read, 0)];
    let (observer, told) = run_on(&open(striped(1, ALL)), Fill::Empty, 1, requests);
    assert_eq!((completed(&observer)[3], told), (440 * US, counts(1, 1, 1, 1)));
}

#[test]
fn parity_that_is_not_programmed_yet_is_in_memory() {
    // Page 15 is on member 0, which reads it twice until 140. The 15 writes fill a stripe, whose programs end
    // by 240. But member 0 programs the parity from 150 to 350. Page 100, on member 1, is read from 250 on and
    // fails at 320. The 14 other pages of data are read until 380, and four of them cross one bus.
    let fails: Vec<bool> = (0..17).map(|draw| draw == 2).collect();
    let writes = (100..115).map(|page| request(0, Op::Write, page));
    let last = request(250 * US, Op::Read, 100);
    let requests = [read(15), read(15)].into_iter().chain(writes).chain([last]).collect();
    let (times, told) = run(&open(striped(1, Some(drawing(&fails)))), requests);
    assert_eq!((times[0], times[1], times[17]), (70 * US, 140 * US, 420 * US));
    assert_eq!(told, counts(3, 1, 14, 0));
}

#[test]
fn a_rebuild_waits_for_a_program_or_suspends_it() {
    // The write goes to member 1 of a new superblock, which programs from 10 to 210. Page 1 is on member 2 and
    // fails at 70. Member 1 reads for it from 210 to 270.
    let requests = vec![request(0, Op::Write, 20), read(1)];
    let (times, told) = run(&open(striped(1, ALL)), requests.clone());
    assert_eq!((times, told), (vec![210 * US, 280 * US], counts(1, 1, 15, 1)));
    // Or it suspends the program from 70 to 90, and reads until 150. The other dies of its channel transfer
    // until 160, and it until 170. The program has 140 left.
    let mut suspending = open(striped(1, ALL));
    suspending.collecting.preemption = Preemption::Semi { merge: false, pipeline: false };
    suspending.suspend = Suspend { program: true, suspend_ns: 20 * US, ..Suspend::NEVER };
    assert_eq!(run(&suspending, requests).0, [310 * US, 170 * US]);
}

#[test]
fn reads_that_cannot_fail_change_no_time() {
    let requests: Vec<TimedRequest> = (0..20_000u32)
        .map(|index| {
            let op = if index % 3 == 0 { Op::Read } else { Op::Write };
            request(u64::from(index) * 30 * US, op, index * 7919 % 720)
        })
        .collect();
    let never = Some(ReadFailures { chance: 0.0, seed: 3 });
    let (without, none) = run(&open(striped(1, None)), requests.clone());
    let (times, told) = run(&open(striped(1, never)), requests);
    assert_eq!((times, none), (without, FailureCounts::default()));
    assert_eq!((told.failed, told.others_read, told.lost), (0, 0, 0));
    assert!(told.reads > 5000, "{told:?}");
}

#[test]
fn reads_that_fail_need_parity() {
    let mut settings = striped(1, ALL);
    assert!(settings.check().is_ok());
    settings.hardware.members.stripe = None;
    let error = settings.check().unwrap_err().to_string();
    assert!(error.contains("read_failures needs parity"), "{error}");
    for text in ["", "1.5", "-0.1", "NaN", "often", "1e-4 "] {
        let rule = ReadFailures::parse(text);
        assert_eq!(rule.is_ok(), text == "1e-4 ", "{text}: {rule:?}");
    }
}

/// Returns the drive of [`striped`] with 4 planes a die, a page of the map in each. One plane in `parts` has
/// parity.
fn shared(parts: u32, failures: Option<ReadFailures>) -> Settings {
    let mut settings = striped(4, failures);
    settings.hardware.members = Members::new(16, Some(parts));
    settings.hardware.transfer_ns = 40 * US;
    settings
}

#[test]
fn all_planes_of_a_stripe_are_read_to_rebuild_one() {
    // A stripe has all 4 planes of 16 dies. 15 dies read 4 pages together, and the die of the page that failed
    // its other 3. A channel of 4 dies transfers 16 pages: 60 + 10 + 60 + 160.
    let run = |settings: &Settings, requests: Vec<TimedRequest>| {
        let of_row = 64 - 64 / (16 * settings.hardware.members.planes);
        let geometry = Geometry::new(12, of_row * 8, u64::from(of_row * 8 * 6)).unwrap();
        let mut layout = layout_of(settings, geometry, "none", Fill::Sequential, 2, true);
        layout.buffer.planes = 4;
        let mut drive = recorded(settings, map_of(settings, "greedy", layout), requests);
        assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
        let told = drive.totals().failures;
        (completed(&drive.into_observer()), told)
    };
    let one_fails: Vec<bool> = (0..64).map(|draw| draw == 0).collect();
    let rule = Some(drawing(&one_fails));
    assert_eq!(run(&shared(64, rule), vec![read(0)]), (vec![290 * US], counts(1, 1, 63, 0)));
    // In the first row member 0 is the last of the stripe: page 60 is on its first plane, page 62 on its third, and
    // its fourth has the parity. Its channel has three other dies.
    assert_eq!(run(&shared(64, rule), vec![read(62)]), (vec![290 * US], counts(1, 1, 63, 0)));
    // Two planes of each die: 31 pages, and 8 on each bus.
    let rule = Some(drawing(&one_fails[..32]));
    assert_eq!(run(&shared(32, rule), vec![read(0)]), (vec![210 * US], counts(1, 1, 31, 0)));
    assert_eq!(run(&shared(32, rule), vec![read(61)]), (vec![210 * US], counts(1, 1, 31, 0)));
    // One more that fails is a loss, on whichever die it is.
    for other in [1, 40, 63] {
        let two_fail: Vec<bool> = (0..64).map(|draw| draw == 0 || draw == other).collect();
        let rule = Some(drawing(&two_fail[..=other]));
        assert_eq!(run(&shared(64, rule), vec![read(0)]).1, counts(1, 1, 63, 1), "{other}");
    }
}

#[test]
fn the_last_program_of_a_stripe_has_data_and_parity() {
    // One channel, 2 dies of 2 planes, a stripe of all 4 planes: 3 pages of data in a row. In row 0 pages 0 and 1 go
    // to member 1, from 20 to 220 in its cells. Page 2 and the parity go to member 0, from 40 on. In row 1 pages
    // 3 and 4 go to member 0, from 240 on, and page 5 with the parity to member 1, from 220 on. Writes that fill
    // no program are done in the buffer.
    let mut settings = open(striped(2, None));
    let hardware = &mut settings.hardware;
    (hardware.channels, hardware.dies, hardware.transfer_ns) = (1, 2, 20 * US);
    hardware.members = Members::new(2, Some(4));
    let geometry = Geometry::new(12, 3 * 8, 3 * 8 * 6).unwrap();
    let mut layout = layout_of(&settings, geometry, "none", Fill::Empty, 2, true);
    layout.buffer.planes = 2;
    let writes = (0..6).map(|page| request(0, Op::Write, page));
    // Pages 2 and 3 are read on member 0, pages 5 and 0 on member 1, all at 1000.
    let reads = [2, 3, 5, 0].map(|page| request(1000 * US, Op::Read, page));
    let requests = writes.chain(reads).collect();
    let mut drive = recorded(&settings, map_of(&settings, "greedy", layout), requests);
    assert_eq!(drive.run(Until::END).unwrap(), Stop::Ended);
    let times: Vec<u64> = completed(&drive.into_observer()).iter().map(|ns| ns / US).collect();
    assert_eq!(times[..6], [0, 220, 240, 0, 460, 440]);
    // Both dies read one page until 1060 and send it until 1080, one after the other; then the next one.
    assert_eq!(times[6..], [1070, 1140, 1080, 1150]);
}
