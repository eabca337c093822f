//! The helpers of the tests of the timed drive: small drives, requests from a list, and an observer
//! that checks every byte that requests see.
#![allow(dead_code)] // each test file uses its part

use std::collections::HashMap;

use flashgc_base::snapshot::State;
use flashgc_base::stream::NO_STREAM;
use flashgc_ftl::{
    Fill, Frontier, Geometry, Layout, Members, PageBuffer, PlacementSpec, PlaneLayout, SecondPass,
    Stepwise, VictimSpec,
};
use flashgc_timed::{
    Completion, Hardware, Loop, Observer, Place, Settings, Source, Span, TimedDrive, Work,
};
use flashgc_workload::requests::{RequestStream, TimedRequest};
use flashgc_workload::{Op, WorkloadError};

pub const US: u64 = 1000;
pub const PAGE: u32 = 4096;

/// Returns one die of the SLC flash of the PGC paper (slides, "NAND Flash Organization"): a read
/// takes 25 us, a program 200 us and an erase 1.5 ms.
pub fn paper_hardware() -> Hardware {
    Hardware {
        channels: 1,
        ways: 1,
        dies: 1,
        planes: 1,
        page_bytes: PAGE,
        units_per_page: 1,
        pages_per_program: 1,
        members: Members::ONE,
        read_ns: 25 * US,
        program_ns: 200 * US,
        second_ns: None,
        erase_ns: 1500 * US,
        transfer_ns: 0,
        command_ns: 0,
    }
}

/// Returns settings with one request at a time, no preemption, and the thresholds that the counting
/// drive has with `pool:low=2`.
pub fn settings(hardware: Hardware) -> Settings {
    let host = Loop::Closed { threads: 1, think_ns: 0 };
    Settings { host, queue_depth: 1024, ..Settings::plain(hardware) }
}

/// Makes a map for these settings.
pub fn layer(
    settings: &Settings,
    geometry: Geometry,
    policy: &str,
    fill: Fill,
    kept: u32,
) -> Box<dyn Stepwise> {
    sorted_layer(settings, geometry, (policy, "none"), fill, kept)
}

/// Makes a map for these settings, with a policy and a placement.
pub fn sorted_layer(
    settings: &Settings,
    geometry: Geometry,
    (policy, placement): (&str, &str),
    fill: Fill,
    kept: u32,
) -> Box<dyn Stepwise> {
    unit_layer(settings, geometry, (policy, placement), fill, kept, true)
}

/// Makes a map for these settings, with a policy, a placement, and page buffers whose power may be
/// protected.
pub fn unit_layer(
    settings: &Settings,
    geometry: Geometry,
    (policy, placement): (&str, &str),
    fill: Fill,
    kept: u32,
    is_protected: bool,
) -> Box<dyn Stepwise> {
    map_of(settings, policy, layout_of(settings, geometry, placement, fill, kept, is_protected))
}

/// Returns the layout of a map for these settings. The parameters are those of [`unit_layer`].
pub fn layout_of(
    settings: &Settings,
    geometry: Geometry,
    placement: &str,
    fill: Fill,
    kept: u32,
    is_protected: bool,
) -> Layout {
    let placement = PlacementSpec::parse(placement).unwrap();
    Layout {
        frontier: Frontier::Pool { low: kept },
        streams: placement.needs_streams(),
        placement,
        buffer: PageBuffer {
            units_per_page: settings.hardware.units_per_page,
            pages_per_program: settings.hardware.pages_per_program,
            planes: 1,
            part_parity: settings.hardware.members.part_parity(),
            is_protected,
            second_pass: settings
                .hardware
                .second_ns
                .map(|_| SecondPass::of(settings.hardware.members)),
        },
        fill,
        slc: settings.slc.map(|slc| slc.region),
        seed: 7,
        ..Layout::new(geometry)
    }
}

/// Makes the map of this layout for these settings.
pub fn map_of(settings: &Settings, policy: &str, layout: Layout) -> Box<dyn Stepwise> {
    let homes = settings.placement.homes(&settings.hardware);
    let layout = PlaneLayout {
        layout,
        planes: settings.hardware.all_planes(),
        first: 0,
        home: &|page| homes[page as usize % homes.len()],
    };
    VictimSpec::parse(policy).unwrap().build(layout).unwrap()
}

/// Requests from a list.
#[derive(State)]
#[snapshot(refused = "a list of requests is not saved")]
pub struct Listed(std::vec::IntoIter<TimedRequest>);

impl Listed {
    pub fn new(requests: Vec<TimedRequest>) -> Self {
        Self(requests.into_iter())
    }
}

impl RequestStream for Listed {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        batch.extend(self.0.by_ref().take(limit));
        Ok(())
    }
}

/// Returns a request on one whole page.
pub fn request(arrival_ns: u64, op: Op, page: u32) -> TimedRequest {
    let offset = u64::from(page) * u64::from(PAGE);
    TimedRequest {
        arrival_ns,
        offset,
        bytes: PAGE,
        op,
        urgent: false,
        stream: NO_STREAM,
        goes_on: false,
    }
}

/// An observer that records requests, work, collections and refused suspensions.
#[derive(Default)]
pub struct Recorder {
    pub requests: Vec<Completion>,
    pub spans: Vec<Span>,
    /// The time, the die, and `true` if a collection began there (`false` if it ended).
    pub collections: Vec<(u64, u32, bool)>,
    /// The erases (`true`) and programs (`false`) that could not be suspended again, and the
    /// nanoseconds that they had left.
    pub refused: Vec<(bool, u64)>,
}

impl Observer for Recorder {
    fn completed(&mut self, request: &Completion) {
        self.requests.push(*request);
    }

    fn worked(&mut self, span: &Span) {
        self.spans.push(*span);
    }

    fn collection(&mut self, now: u64, die: u32, _: u64, begins: bool) {
        self.collections.push((now, die, begins));
    }

    fn not_suspended(&mut self, erases: bool, left_ns: u64) {
        self.refused.push((erases, left_ns));
    }
}

impl Recorder {
    /// Returns the times at which the requests were completed, in order of their numbers, in
    /// microseconds.
    pub fn completed_us(&self) -> Vec<u64> {
        let mut requests = self.requests.clone();
        requests.sort_by_key(|request| request.number);
        requests.iter().map(|request| request.completed_ns / US).collect()
    }
}

/// An observer that checks every read: it must return the data that were current when it was
/// dispatched. It keeps the contents of all logical and physical pages.
#[derive(Default)]
pub struct Checker {
    /// The content of each physical page: the logical page and the version.
    flash: HashMap<u32, (u32, u64)>,
    /// The version of each logical page after all operations dispatched so far. A page without data
    /// is absent.
    current: HashMap<u32, u64>,
    /// The versions that the writes under way write, by operation number.
    writes: HashMap<u64, u64>,
    /// The versions that the reads under way expect, by operation number.
    reads: HashMap<u64, Option<u64>>,
    /// The version of each page in the write cache.
    cache: HashMap<u32, u64>,
    versions: u64,
    offset_bits: u32,
    completed: Vec<bool>,
    pub reads_checked: u64,
    pub flushes: u64,
    pub response_ns: u128,
    last_completion: u64,
    /// The times at which the cells of a die began (`true`) and ended to program, to erase or to suspend.
    powered: Vec<(u64, bool)>,
}

impl Checker {
    /// Returns a checker for a drive that starts with the data of `layer`.
    pub fn new(layer: &dyn Stepwise) -> Self {
        let geometry = layer.geometry();
        let mut checker = Self {
            offset_bits: geometry.pages_per_block().next_power_of_two().trailing_zeros(),
            ..Self::default()
        };
        for page in 0..geometry.logical_pages() {
            if let Some(ppn) = layer.locate(page) {
                checker.flash.insert(ppn, (page, 0));
                checker.current.insert(page, 0);
            }
        }
        checker
    }

    /// Checks that all `requests` requests are complete, and that the drive has the current version
    /// of every page.
    pub fn check_end(&self, layer: &dyn Stepwise, requests: usize) {
        assert_eq!(self.completed.iter().filter(|&&done| done).count(), requests);
        assert!(self.reads.is_empty(), "reads that were not served: {:?}", self.reads);
        for page in 0..layer.geometry().logical_pages() {
            let found = layer.locate(page).map(|ppn| self.flash[&ppn]);
            let expected = self.current.get(&page).map(|&version| (page, version));
            assert_eq!(found, expected, "page {page} at the end");
        }
    }

    /// Returns the largest number of dies that programmed, erased or suspended at a time.
    pub fn most_with_power(&self) -> u32 {
        let mut times = self.powered.clone();
        times.sort_unstable(); // of the same time, ends come first
        let mut now = 0u32;
        let each = times.iter().map(|&(_, begins)| {
            now = if begins { now + 1 } else { now - 1 };
            now
        });
        each.max().unwrap_or(0)
    }

    fn expects(&mut self, number: u64, page: u32, found: Option<u64>) {
        let expected = self.reads.remove(&number).expect("a read is served once");
        assert_eq!(found, expected, "operation {number} read page {page}");
        self.reads_checked += 1;
    }
}

impl Observer for Checker {
    fn dispatched(&mut self, number: u64, op: Op, page: u32) {
        match op {
            Op::Read => {
                self.reads.insert(number, self.current.get(&page).copied());
            }
            Op::Write => {
                self.versions += 1;
                self.writes.insert(number, self.versions);
                self.current.insert(page, self.versions);
            }
            Op::Trim | Op::Dirty | Op::Clean | Op::Flush => {
                self.current.remove(&page);
            }
        }
    }

    fn read(&mut self, number: u64, page: u32, from: Option<u32>) {
        let found = from.map(|ppn| {
            let (holder, version) = self.flash[&ppn];
            assert_eq!(holder, page, "operation {number} read another page");
            version
        });
        self.expects(number, page, found);
    }

    fn programmed(&mut self, page: u32, ppn: u32, source: Source) {
        let data = match source {
            Source::Host(number) => {
                (page, self.writes.remove(&number).expect("a write is programmed once"))
            }
            Source::Copy(from) => self.flash[&from],
        };
        assert_eq!(data.0, page, "a copy of another page");
        let before = self.flash.insert(ppn, data);
        assert_eq!(before, None, "a page is programmed once between two erases");
    }

    fn worked(&mut self, span: &Span) {
        let has_power = matches!(span.work, Work::Program | Work::Erase | Work::Suspend);
        if span.place == Place::Cells && has_power {
            self.powered.extend([(span.begin_ns, true), (span.end_ns, false)]);
        }
    }

    fn cached(&mut self, number: u64, page: u32) {
        let version = self.writes[&number];
        self.cache.insert(page, version);
    }

    fn read_cached(&mut self, number: u64, page: u32) {
        let found = self.cache.get(&page).copied();
        assert!(found.is_some(), "page {page} is not in the cache");
        self.expects(number, page, found);
    }

    fn erased(&mut self, block: u32) {
        let bits = self.offset_bits;
        (block << bits..(block + 1) << bits).for_each(|ppn| {
            self.flash.remove(&ppn);
        });
    }

    fn completed(&mut self, request: &Completion) {
        if request.op == Op::Flush {
            // A flush has the number of the request before it.
            self.flushes += 1;
            self.response_ns += u128::from(request.response_ns());
            return;
        }
        let number = request.number as usize;
        if self.completed.len() <= number {
            self.completed.resize(number + 1, false);
        }
        assert!(!std::mem::replace(&mut self.completed[number], true), "completed twice");
        let parts = request.queue_ns + request.blocked_ns + request.bus_ns + request.cell_ns;
        assert_eq!(parts, request.response_ns());
        assert!(request.queue_ns <= request.response_ns(), "{request:?}");
        assert!(request.arrived_ns <= request.dispatched_ns);
        assert!(request.completed_ns >= self.last_completion, "time goes back");
        self.last_completion = request.completed_ns;
        self.response_ns += u128::from(request.response_ns());
    }
}

/// Makes a drive whose observer is a [`Recorder`].
pub fn recorded(
    settings: &Settings,
    layer: Box<dyn Stepwise>,
    requests: Vec<TimedRequest>,
) -> TimedDrive<Recorder> {
    let requests = Box::new(Listed::new(requests));
    TimedDrive::new(settings.clone(), layer, requests, Recorder::default()).unwrap()
}
