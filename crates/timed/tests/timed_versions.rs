//! Tests with random settings: no request may be lost or served twice, and every read must return
//! the version that was current when the read was dispatched. Preemption, merging, pipelining,
//! suspension and much else are drawn at random.

use flashgc_base::counts::Counts;
use flashgc_base::rng::Stream;
use flashgc_base::stream::NO_STREAM;
use flashgc_ftl::{
    EndOfLife, Endurance, Fill, Geometry, Layout, Lending, Levelling, Lifespan, Members,
    PageBuffer, PlacementSpec, SecondPass, SlcBlocks, SlcRegion,
};
use flashgc_host::HostSpec;
use flashgc_timed::page_times::PageTimes;
use flashgc_timed::{
    Collecting, Details, FailureCounts, Hardware, HostLink, Idle, Loop, Placement, Preemption,
    ReadFailures, ReadRetry, Scheduling, Settings, Slc, SlcCounts, Stop, Suspend, TimedDrive, Unit,
    Until,
};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::timed_common::*;

/// The random numbers of one case.
struct Draw(Stream);

impl Draw {
    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.0.below(choices.len() as u32) as usize].clone()
    }

    fn from(&mut self, least: u64, most: u64) -> u64 {
        least + u64::from(self.0.below((most - least + 1) as u32))
    }

    fn maybe(&mut self) -> bool {
        self.0.below(2) == 0
    }
}

const BLOCKS: u32 = 20;
const B: u32 = 8;

/// The victim policies and placements of every second case.
const COLLECTORS: [(&str, &str); 5] = [
    ("greedy", "dac"),
    ("cost-benefit", "dac:regions=2,threshold=300"),
    ("fifo", "dac:regions=4,zombie-block=yes"),
    ("z-greedy", "dac:zombie-block=yes"),
    ("z-cost-benefit", "none"),
];

/// Returns random settings, and the number of erased blocks that a plane keeps.
fn settings(draw: &mut Draw, for_copies: u32) -> (Settings, u32) {
    let hardware = Hardware {
        channels: draw.of(&[1, 2]),
        ways: draw.of(&[1, 2]),
        dies: draw.of(&[1, 2]),
        planes: draw.of(&[1, 2, 4]),
        page_bytes: PAGE,
        units_per_page: 1,
        pages_per_program: 1,
        members: Members::ONE,
        read_ns: draw.from(5, 50) * US,
        program_ns: draw.from(50, 300) * US,
        second_ns: None,
        erase_ns: draw.from(300, 2000) * US,
        transfer_ns: draw.of(&[0, 3, 10, 60]) * US,
        command_ns: draw.of(&[0, 0, 200]),
    };
    let unit = draw.of(&[Unit::Plane, Unit::Die, Unit::Channel, Unit::Drive]);
    let planes = match unit {
        Unit::Plane => 1,
        Unit::Die => hardware.planes,
        Unit::Channel => hardware.planes * hardware.dies_per_channel(),
        Unit::Drive => hardware.all_planes(),
    };
    let kept = draw.from(1, 3) as u32;
    let low = (kept + for_copies) * planes;
    let high = low + draw.of(&[0, 1, planes]);
    let merge = draw.maybe();
    let semi = Preemption::Semi { merge, pipeline: draw.maybe() };
    let idle = Idle { below: high + planes, after_ns: 100 * US };
    let settings = Settings {
        hardware,
        placement: draw.of(&placements()),
        scheduling: draw.of(&[Scheduling::Fifo, Scheduling::ReadsFirst]),
        multi_plane: draw.maybe(),
        cache_commands: draw.maybe(),
        collecting: Collecting {
            unit,
            low,
            high,
            hard: draw.of(&[0, 0, 1, low]),
            preemption: draw.of(&[Preemption::None, semi, semi, semi]),
            holds_unit: draw.maybe(),
            search_ns: draw.of(&[0, 0, 30 * US]),
            poll_ns: draw.of(&[0, 600]),
            copy_back: !merge && draw.maybe(),
            idle: draw.of(&[None, None, Some(idle)]),
            paces_writes: false,
        },
        slc: None,
        power_limit: None,
        suspend: draw.of(&[
            Suspend::NEVER,
            Suspend { erase: true, suspend_ns: 20 * US, ..Suspend::NEVER },
            Suspend { erase: true, program: true, suspend_ns: 5 * US, most: 2, ..Suspend::NEVER },
            Suspend { erase: true, program: true, resume_ns: US, ..Suspend::NEVER },
        ]),
        flush_after_ns: u64::MAX,
        write_cache: draw.of(&CACHES),
        host: draw.of(&[
            Loop::Open,
            Loop::Closed { threads: 1, think_ns: 0 },
            Loop::Closed { threads: 24, think_ns: 0 },
            Loop::Closed { threads: 24, think_ns: 50 * US },
        ]),
        queue_depth: draw.of(&[1, 8, 1000]),
        details: details(draw),
    };
    (settings, kept)
}

/// Returns random details of real drives: kinds of pages, repeated reads, a link to the host and
/// serial overwrites. Each is switched on in some of the cases.
fn details(draw: &mut Draw) -> Details {
    let age = ReadRetry::parse("from=2,every=3,after=20ms,each=10ms").unwrap();
    let kinds = PageTimes::of_kinds(&[20 * US, 30 * US, 50 * US]);
    let programs = PageTimes::of_kinds(&[150 * US, 200 * US, 400 * US]);
    Details {
        pages: draw.of(&[
            None,
            None,
            Some((kinds, PageTimes::all(200 * US))),
            Some((kinds, programs)),
        ]),
        retry: draw.of(&[None, None, Some(age)]),
        link: HostLink::parse(draw.of(&[None, Some("1GB/s")]), draw.of(&[None, Some("3us")]))
            .unwrap(),
        serial_overwrites: draw.of(&[false, false, true]),
        failures: None,
    }
}

/// Returns random requests of up to three pages, of whole pages or of any bytes. Some pages are
/// hot.
fn requests(draw: &mut Draw, count: usize, pages: u32) -> Vec<TimedRequest> {
    let reads = draw.from(1, 9);
    let whole = draw.maybe();
    let mean = draw.of(&[5, 60, 400]) * US;
    let mut time = 0;
    let end = u64::from(pages) * u64::from(PAGE);
    (0..count)
        .map(|_| {
            time += draw.from(0, 2 * mean);
            let few = draw.of(&[4, pages / 4, pages]);
            let first = draw.from(0, u64::from(few.max(1)) - 1);
            let page = u64::from(PAGE);
            let (offset, bytes) = if whole || draw.maybe() {
                (first * page, draw.from(1, 3) * page)
            } else {
                (first * page + draw.from(0, page - 1), draw.from(1, 2 * page))
            };
            let op = match draw.from(0, 20) {
                0 => Op::Trim,
                roll if roll < 2 * reads => Op::Read,
                _ => Op::Write,
            };
            let bytes = bytes.min(end - offset) as u32;
            TimedRequest {
                arrival_ns: time,
                offset,
                bytes,
                op,
                urgent: draw.from(0, 30) == 0,
                stream: NO_STREAM,
                goes_on: false,
            }
        })
        .collect()
}

/// Runs case number `case` with `count` requests. Returns the number of checked reads, the number
/// of zombies that were overwritten, and the totals.
fn run(case: u64, count: usize) -> (u64, u64, flashgc_timed::Totals) {
    run_units(case, count, PageBuffer::default(), None)
}

/// Returns the settings of a drive whose superblocks join some of its dies, or all, with the parity of
/// stripes in every second case. The drive keeps `low` blocks erased.
fn across_dies(draw: &mut Draw, settings: Settings, low: u32) -> Settings {
    let mut hardware = settings.hardware;
    (hardware.planes, hardware.dies) = (1, 2);
    let all = hardware.all_dies();
    let divisors: Vec<u32> = (2..=all).filter(|&dies| all.is_multiple_of(dies)).collect();
    let dies = draw.of(&divisors);
    let parts: Vec<u32> = (2..=dies).filter(|&parts| dies.is_multiple_of(parts)).collect();
    let parts = draw.of(&parts);
    // In half of the cases with parity, a stripe has several planes of each die, if the pages of a die are as many.
    let in_page = hardware.units_per_page;
    let several: Vec<u32> = (2..=in_page).filter(|&all| in_page.is_multiple_of(all)).collect();
    let several = if several.is_empty() { 1 } else { draw.of(&several) };
    let planes = draw.of(&[1, several]);
    hardware.members = match draw.of(&[None, Some(parts)]) {
        None => Members { dies, stripe: None, planes: 1 },
        stripe => Members { dies, stripe, planes },
    };
    let semi = Preemption::Semi { merge: false, pipeline: false };
    let Collecting { preemption, .. } = settings.collecting;
    Settings {
        hardware,
        placement: Placement::parse("CWDP").unwrap(),
        collecting: Collecting {
            unit: Unit::Plane,
            low,
            high: low + draw.of(&[0, 1]),
            hard: 0,
            preemption: if preemption == Preemption::None { preemption } else { semi },
            holds_unit: false,
            search_ns: 0,
            poll_ns: 0,
            copy_back: false,
            idle: None,
            paces_writes: false,
        },
        ..settings
    }
}

/// Returns the units of data in a row of a superblock whose programs have `units` units: one of `planes`
/// equal parts of a program in each stripe is parity.
fn data_of_row(members: Members, units: u32) -> u32 {
    let Members { dies, stripe, planes } = members;
    stripe.map_or(dies * units, |parts| dies / parts * (parts * units - units / planes))
}

/// A random SLC region for a drive, with the victim policy, the placement and the wear of that
/// drive.
struct WithRegion {
    collector: (&'static str, &'static str),
    slc: Slc,
    levelling: Option<Levelling>,
    lifespan: Option<Lifespan>,
}

/// The placements of drives with a region. Some have classes for copies, others only for the host's
/// writes.
const SORTED: [&str; 6] =
    ["none", "dac", "dac:regions=2,zombie-block=yes", "sepbit", "multilog", "sfs"];
const VICTIMS: [&str; 9] = [
    "greedy",
    "d-choices:d=3",
    "fifo",
    "cost-benefit",
    "z-greedy",
    "z-cost-benefit",
    "mdc",
    "scata",
    "2r-greedy",
];

impl WithRegion {
    /// Returns the region of case number `case`.
    fn draw(case: u64, is_protected: bool) -> Self {
        let draw = &mut Draw(Stream::new(case, "region"));
        let placement = if is_protected { draw.of(&SORTED) } else { "none" };
        let plain = placement == "none";
        let blocks = draw.from(1, 3) as u32;
        // `keep` is set later, to the number of erased blocks at which collections stop.
        let lent = SlcBlocks::lent(0, blocks + 1);
        let both = SlcBlocks::lent(0, blocks).beside(2);
        let region = SlcRegion {
            blocks: draw.of(&[SlcBlocks::fixed(blocks), lent, both]),
            bits_per_cell: draw.of(&[2, 3, 4]),
            waits: draw.maybe(),
        };
        let slc = Slc {
            region,
            read_ns: 10 * US,
            program_ns: 70 * US,
            erase_ns: 900 * US,
            after_ns: 100 * US,
            pace: draw.of(&[None, Some(0.5), Some(2.0)]).filter(|_| !region.waits),
        };
        let levelling = Levelling { threshold: 2, interval: 3 };
        let endurance = Endurance::normal(draw.of(&[5, 400]), 0.3);
        let lifespan = Lifespan { endurance, ends_at: EndOfLife::SystemFailure };
        Self {
            collector: (draw.of(&VICTIMS), placement),
            slc,
            levelling: draw.of(&[None, Some(levelling)]).filter(|_| plain),
            lifespan: draw.of(&[None, Some(lifespan)]),
        }
    }

    /// Returns the number of blocks that a plane keeps for the region and for levelling.
    fn blocks_kept(&self, placement: &PlacementSpec) -> u32 {
        self.slc.region.blocks_kept(placement) + u32::from(self.levelling.is_some())
    }
}

/// Runs case number `case` with the page buffers `buffer`. If their power is not protected, the
/// host sends flushes. A drive with an SLC region has the policies of that region, and may wear
/// out.
fn run_units(
    case: u64,
    count: usize,
    buffer: PageBuffer,
    region: Option<&WithRegion>,
) -> (u64, u64, flashgc_timed::Totals) {
    run_drive(case, count, buffer, region, false)
}

/// Runs a case as [`run_units`] does. The superblocks of the drive join several dies if it `is_wide`.
fn run_drive(
    case: u64,
    count: usize,
    buffer: PageBuffer,
    region: Option<&WithRegion>,
    is_wide: bool,
) -> (u64, u64, flashgc_timed::Totals) {
    let mut draw = Draw(Stream::new(case, "case"));
    let plain = ["greedy", "d-choices:d=3", "fifo", "cost-benefit"].map(|policy| (policy, "none"));
    let collector = if case.is_multiple_of(2) { draw.of(&plain) } else { draw.of(&COLLECTORS) };
    // With flushes no placement is used: padding would take the room that a placement keeps for
    // copies.
    let collector = if buffer.is_protected { collector } else { (collector.0, "none") };
    let collector = region.map_or(collector, |region| region.collector);
    let placement = PlacementSpec::parse(collector.1).unwrap();
    let for_folds = region.map_or(0, |_| SlcRegion::kept_for_folds(&placement));
    let for_copies = placement.kept_for_copies() + for_folds;
    let (mut settings, mut kept) = settings(&mut draw, for_copies);
    if let Some(region) = region {
        kept = kept.max(if placement.is_none() { 2 } else { 1 });
        let low = kept + for_copies;
        let Collecting { hard, idle, .. } = settings.collecting;
        settings.collecting = Collecting {
            unit: Unit::Plane,
            low,
            high: low + 1,
            hard: hard.min(1),
            idle: idle.map(|idle| Idle { below: low + 2, ..idle }),
            ..settings.collecting
        };
        let mut slc = region.slc;
        if let Some(Lending { keep, .. }) = &mut slc.region.blocks.lending {
            *keep = settings.collecting.high;
        }
        settings.slc = Some(slc);
    }
    if buffer.gathers() {
        settings.hardware.units_per_page = buffer.units_per_page;
        settings.hardware.pages_per_program = buffer.pages_per_program;
        settings.hardware.page_bytes = buffer.units_per_page * PAGE;
        settings.hardware.second_ns = buffer.second_pass.map(|_| 70 * US);
        settings.collecting.copy_back = false;
        if placement.is_none() {
            settings.flush_after_ns = draw.of(&[u64::MAX, 30 * US, 500 * US]);
        }
    }
    if !buffer.is_protected {
        settings.write_cache = 0;
    }
    let flushes = !buffer.is_protected || settings.flush_after_ns < u64::MAX;
    if let Preemption::Semi { merge, .. } = &mut settings.collecting.preemption {
        *merge &= !flushes; // data of the host among copies would be padded there
    }
    if is_wide {
        settings = across_dies(&mut draw, settings, kept + for_copies);
        // With parity, reads fail in two of three cases.
        let chance = [None, Some(0.02), Some(0.4)][(case / 4 % 3) as usize];
        let rule = chance.map(|chance| ReadFailures { chance, seed: case });
        settings.details.failures = rule.filter(|_| settings.hardware.members.stripe.is_some());
    }
    // Write pacing is on in half of the cases that allow it.
    let paced = Collecting { paces_writes: true, ..settings.collecting };
    let can_be = Settings { collecting: paced, ..settings.clone() }.check().is_ok();
    settings.collecting.paces_writes = can_be && case % 4 < 2;
    settings.power_limit = [None, Some(1), Some(2), Some(3)][(case / 8 % 4) as usize];
    println!("case {case}: {collector:?} {settings:?}"); // shown if the test fails
    let planes = settings.hardware.all_planes();
    // A plane has some more blocks than those that stay erased or are open. If padding is written,
    // blocks have more flash pages: in a small block padding would take all that a collection
    // gains. With two passes padding is up to two rows.
    let dies = buffer.second_pass.map_or(1, |_| settings.hardware.members.dies);
    let b = match (buffer.is_protected, region) {
        (false, _) => 32 * buffer.units_per_program() * dies,
        (true, Some(_)) => B * buffer.units_per_page,
        (true, None) => B,
    };
    let of_row = data_of_row(settings.hardware.members, buffer.units_per_program());
    let b = if is_wide { b.next_multiple_of(of_row) } else { b };
    let open = placement.blocks_kept().unwrap_or(2);
    // With a region there are more blocks: open ones, those that the region keeps, and a few that
    // it may borrow.
    let more = region.map_or(0, |region| open + region.blocks_kept(&placement) + 3);
    let pages =
        planes * (BLOCKS - kept - if more == 0 { open } else { 2 } - draw.from(2, 5) as u32) * b;
    let geometry = Geometry::new((BLOCKS + more) * planes, b, pages.into()).unwrap();
    let fill = draw.of(&[Fill::Sequential, Fill::Random, Fill::Empty]);
    let layout = Layout {
        levelling: region.and_then(|region| region.levelling),
        lifespan: region.and_then(|region| region.lifespan),
        ..layout_of(&settings, geometry, collector.1, fill, kept, buffer.is_protected)
    };
    let layer = map_of(&settings, collector.0, layout);
    let mut requests = requests(&mut draw, count, pages);
    let mut flushes = 0;
    if !buffer.is_protected {
        for at in (0..count).rev().step_by(draw.of(&[2, 9, 100])) {
            let last = requests[at];
            requests.insert(at + 1, TimedRequest { op: Op::Flush, offset: 0, bytes: 0, ..last });
            flushes += 1;
        }
    }
    let checker = Checker::new(&*layer);
    let mut drive =
        TimedDrive::new(settings.clone(), layer, Box::new(Listed::new(requests)), checker).unwrap();
    let hints =
        ["none", "piggyback:wrong=10%", "command:lost=5%", "dsm:ranges=3", "perfect:late=9"];
    if buffer.is_protected && draw.from(0, 2) == 0 {
        let pages_of_cache = draw.of(&[4, pages / 4, pages / 2]);
        let cache = draw.of(&["page-cache", "page-cache:expiry=page", "buffer-cache"]);
        let separator = if cache.contains(':') { ',' } else { ':' };
        let cache = format!("{cache}{separator}size={}KiB", pages_of_cache * PAGE / 1024);
        let host = HostSpec::parse(&cache, draw.of(&hints)).unwrap();
        drive = drive.behind(host.open_clocked(PAGE, pages, case).unwrap());
    }
    let stop =
        drive.run(Until::END).unwrap_or_else(|why| panic!("case {case}: {why} {settings:?}"));
    drive.layer().audit().unwrap_or_else(|why| panic!("case {case}: {why}"));
    let powered = drive.observer().most_with_power();
    assert!(settings.power_limit.is_none_or(|limit| powered <= limit), "case {case}: {powered}");
    if let (Stop::WornOut, Some(_)) = (stop, region.and_then(|region| region.lifespan)) {
        let told = drive.layer().counts().zombies.map_or(0, |zombies| zombies.overwritten);
        return (drive.observer().reads_checked, told, drive.totals().clone());
    }
    assert_eq!(stop, Stop::Ended);
    drive.observer().check_end(drive.layer(), count);
    assert_eq!(drive.observer().flushes, flushes, "case {case}");
    let FailureCounts { reads, failed, others_read, lost } = drive.totals().failures;
    let Members { stripe, planes: of_stripe, .. } = settings.hardware.members;
    let others = stripe.map_or(0, |parts| u64::from(parts * of_stripe - 1));
    assert!(lost <= failed && failed <= reads && others_read <= failed * others, "case {case}");
    // Little's law is exact, as there are no requests in the drive at the start and at the end.
    let responses = drive.observer().response_ns;
    assert_eq!(drive.totals().request_ns, responses, "case {case}");
    let checked = drive.observer().reads_checked;
    let told = drive.layer().counts().zombies.map_or(0, |zombies| zombies.overwritten);
    (checked, told, drive.totals().clone())
}

#[test]
fn every_read_returns_what_was_current_when_it_was_dispatched() {
    let (mut checked, mut sum) = (0, flashgc_timed::CollectionCounts::default());
    let (mut erases, mut programs, mut hits, mut told) = (0, 0, 0, 0);
    for case in 0..400 {
        let (reads, zombies, totals) = run(case, 2500);
        checked += reads;
        let counts = totals.collections;
        sum.preemptions += counts.preemptions;
        sum.merged_reads += counts.merged_reads;
        sum.merged_writes += counts.merged_writes;
        sum.pipelined_reads += counts.pipelined_reads;
        sum.pipelined_writes += counts.pipelined_writes;
        sum.entered_s2 += counts.entered_s2;
        sum.entered_s3 += counts.entered_s3;
        sum.starved += counts.starved;
        sum.idle += counts.idle;
        erases += totals.suspended_erases;
        programs += totals.suspended_programs;
        hits += totals.cache_hits;
        told += zombies;
    }
    println!("{checked} reads, {sum:?}, suspended {erases} {programs}, cache {hits}");
    // All kinds of events must have occurred often.
    assert!(checked > 500_000);
    let often = [
        sum.preemptions,
        sum.merged_reads,
        sum.merged_writes,
        sum.pipelined_reads,
        sum.pipelined_writes,
        sum.entered_s2,
        sum.entered_s3,
        sum.starved,
        sum.idle,
        erases,
        programs,
        hits,
        told,
    ];
    assert!(often.iter().all(|&count| count > 100), "{often:?}");
}

#[test]
fn every_read_is_current_where_a_flash_page_holds_several_units() {
    let (mut checked, mut padding) = (0, 0);
    for case in 0..300 {
        // Every second drive programs two pages together; on some of them a page is a unit.
        let pages_per_program = 1 + case as u32 % 2;
        let units_per_page = [2, 4, 8, 2, 4, 1][case as usize % 6];
        let is_protected = case % 4 < 2;
        let buffer =
            PageBuffer { units_per_page, pages_per_program, is_protected, ..PageBuffer::default() };
        let (reads, _, totals) = run_units(case, 1500, buffer, None);
        checked += reads;
        padding += totals.collections.started;
    }
    assert!(checked > 200_000 && padding > 1000, "{checked} {padding}");
}

#[test]
fn every_read_is_current_where_word_lines_are_programmed_twice() {
    let (mut checked, mut programs, mut failed) = (0, 0, 0);
    for case in 0..300 {
        let buffer = PageBuffer {
            units_per_page: [1, 2, 2][case as usize % 3],
            pages_per_program: [2, 4][case as usize % 2],
            // That of superblocks over dies follows from them.
            second_pass: Some(SecondPass::of(Members::ONE)),
            is_protected: case % 4 < 2,
            ..PageBuffer::default()
        };
        let (reads, _, totals) = run_drive(case, 1500, buffer, None, case % 5 < 2);
        checked += reads;
        programs += totals.suspended_programs;
        failed += totals.failures.failed;
    }
    assert!(checked > 200_000 && programs > 500 && failed > 200, "{checked} {programs} {failed}");
}

#[test]
fn every_read_is_current_where_superblocks_join_dies() {
    let (mut checked, mut sum) = (0, flashgc_timed::CollectionCounts::default());
    let (mut erases, mut programs) = (0, 0);
    let mut failures = FailureCounts::default();
    for case in 0..500 {
        let pages_per_program = [1, 3][case as usize % 2];
        let units_per_page = [1, 2, 4, 8, 6][case as usize % 5];
        let is_protected = case % 4 < 2 || units_per_page * pages_per_program == 1;
        let buffer =
            PageBuffer { units_per_page, pages_per_program, is_protected, ..PageBuffer::default() };
        let (reads, _, totals) = run_drive(case, 1500, buffer, None, true);
        checked += reads;
        sum.started += totals.collections.started;
        sum.starved += totals.collections.starved;
        erases += totals.suspended_erases;
        programs += totals.suspended_programs;
        failures = failures.plus(&totals.failures);
    }
    let FailureCounts { failed, others_read, lost, .. } = failures;
    let often =
        [checked / 1000, sum.started, sum.starved, erases, programs, failed, others_read, lost];
    assert!(often.iter().all(|&count| count > 200), "{often:?}");
}

#[test]
fn every_read_is_current_on_drives_with_an_slc_region() {
    let (mut checked, mut worn) = (0, 0);
    let mut sum = SlcCounts::default();
    for case in 0..300 {
        let region = WithRegion::draw(case, true);
        let (reads, _, totals) = run_units(case, 2500, PageBuffer::default(), Some(&region));
        checked += reads;
        worn += u64::from(totals.completed < totals.arrived);
        sum = sum.plus(&totals.slc.unwrap());
    }
    assert!(checked > 200_000 && worn > 20, "{checked} reads, {worn} drives are worn out");
    let SlcCounts { host_pages, direct_pages, folded_pages, folds, idle_folds, reads, .. } = sum;
    let often = [host_pages, direct_pages, folded_pages, folds, idle_folds, reads];
    assert!(often.iter().all(|&count| count > 5000), "{sum:?}");
}

#[test]
fn every_read_is_current_where_flash_pages_of_an_slc_region_hold_several_units() {
    let (mut checked, mut sum) = (0, SlcCounts::default());
    for case in 0..300 {
        let units_per_page = [2, 4, 8][case as usize % 3];
        let is_protected = case % 4 < 2;
        let region = WithRegion::draw(case, is_protected);
        let buffer = PageBuffer { units_per_page, is_protected, ..PageBuffer::default() };
        let (reads, _, totals) = run_units(case, 1500, buffer, Some(&region));
        checked += reads;
        sum = sum.plus(&totals.slc.unwrap());
    }
    assert!(checked > 100_000 && sum.folds > 3000 && sum.folded_pages > 3000, "{checked} {sum:?}");
}

#[test]
fn every_read_is_current_where_normal_blocks_have_other_programs_than_the_region() {
    let (mut checked, mut sum) = (0, SlcCounts::default());
    for case in 0..300 {
        let is_protected = case % 4 < 2;
        let region = WithRegion::draw(case, is_protected);
        let buffer = PageBuffer {
            units_per_page: [1, 2, 4][case as usize % 3],
            pages_per_program: [2, 4][case as usize % 2],
            second_pass: Some(SecondPass::of(Members::ONE)).filter(|_| case % 5 < 3),
            is_protected,
            ..PageBuffer::default()
        };
        let (reads, _, totals) = run_units(case, 1500, buffer, Some(&region));
        checked += reads;
        sum = sum.plus(&totals.slc.unwrap());
    }
    assert!(checked > 100_000 && sum.folds > 3000 && sum.folded_pages > 3000, "{checked} {sum:?}");
}

#[test]
#[ignore = "a soak of minutes: 50 million requests on other drives"]
fn every_read_of_many_more_drives() {
    let checked: u64 = (400..20_400).map(|case| run(case, 2500).0).sum();
    println!("{checked} reads");
}

#[test]
#[ignore = "a soak of minutes: drives with an SLC region"]
fn every_read_of_many_more_drives_with_a_region() {
    let mut checked = 0;
    for case in 300..6000 {
        let units_per_page = [1, 2, 4, 8][case as usize % 4];
        let buffer =
            PageBuffer { units_per_page, is_protected: case % 3 > 0, ..PageBuffer::default() };
        let region = WithRegion::draw(case, buffer.is_protected || units_per_page == 1);
        let buffer = if units_per_page == 1 { PageBuffer::default() } else { buffer };
        checked += run_units(case, 1500, buffer, Some(&region)).0;
    }
    println!("{checked} reads");
}

fn placements() -> Vec<Placement> {
    ["CWDP", "PDWC", "DCPW", "dynamic", "dynamic"]
        .map(|order| Placement::parse(order).unwrap())
        .to_vec()
}

const CACHES: [u32; 4] = [0, 0, 3, 40];
