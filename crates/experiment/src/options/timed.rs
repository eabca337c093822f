//! The options of drives with a clock: hardware, collections, arrivals and recordings.

use flashgc_base::naming::{choice, subject};
use flashgc_base::spec::SpecError;
use flashgc_timed::notation::{Threshold, time};
use flashgc_timed::tenants::{ClassWeights, TenantSpec};
use flashgc_timed::words::Window;
use flashgc_timed::words::{
    PREEMPTIONS, parse_idle, parse_power_limit, parse_preemption, parse_scheduling, parse_suspend,
    parse_unit, parse_window, scheduling_words, unit_words,
};
use flashgc_timed::{
    Placement, ReadFailures, ReadRetry, parse_bandwidth, parse_slc, parse_slc_times as parse_times,
};
use flashgc_workload::requests::Arrivals;
use serde::{Deserialize, Serialize};

use super::info::OptionInfo;
use super::kinds::{Kind, Section};

/// The reason why a stored drive has no options of a clock.
const NO_CLOCK: &str = "it answers as soon as its file does";

// Each function begins the declaration of an option, with the reason why a drive without a clock
// does not have it. The option may replace that reason.
const fn drive(kind: Kind) -> OptionInfo {
    OptionInfo::new(Section::Drive, kind)
        .timed("a counting drive has one plane, and its operations take no time")
        .unstored(NO_CLOCK)
}

const fn gc(kind: Kind) -> OptionInfo {
    OptionInfo::new(Section::Gc, kind)
        .timed("a collection of a counting drive takes no time")
        .unstored(NO_CLOCK)
}

const fn workload(kind: Kind) -> OptionInfo {
    OptionInfo::new(Section::Workload, kind)
        .timed("a counting drive has no clock, so its requests have no times")
}

const fn run(kind: Kind) -> OptionInfo {
    OptionInfo::new(Section::Run, kind).timed("requests to a counting drive take no time")
}

/// The reason why only a drive with a clock has an SLC region.
const SLC: &str =
    "blocks in SLC mode are emptied in idle time, which only a drive with a clock has";

super::holder! {
    /// A timed drive and its host, as typed or as read from an experiment file.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct TimedConfig: Timed in FIELDS {
        #[serde(skip_serializing_if = "Option::is_none")]
        device: Option<String> => "",
            "Preset of a drive: {words}. It gives values to options that you do not set; see \
             flashgc policies.",
            drive(Kind::Text).metavar("NAME").example("tlc").listed("devices");
        channels: u32 => "1",
            "Channels of the drive. Each has its own bus.",
            drive(Kind::Count);
        ways: u32 => "1",
            "Packages per channel.",
            drive(Kind::Count);
        dies: u32 => "1",
            "Dies per package.",
            drive(Kind::Count);
        planes: u32 => "1",
            "Planes per die.",
            drive(Kind::Count);
        striping: String => "CWDP",
            "Plane that a page goes to: an order of Channel, Way, Die and Plane, of which the \
             first varies fastest; or dynamic, which takes the die with the least work.",
            drive(Kind::Text).metavar("ORDER").words(|| vec!["CWDP", "PDWC", "dynamic"])
                .example("dynamic").checked(|_, text| Placement::parse(text).map(drop));
        scheduling: String => "fifo",
            "Order in which a die takes its requests: {words}. reads-first is the order of MQSim: \
             a read goes before writes, but not before an earlier write of its page.",
            drive(Kind::Word).words(scheduling_words)
                .checked(|_, text| parse_scheduling(text).map(drop));
        multi_plane: bool => "no",
            "The planes of a die execute operations of one kind together, and their collections, too.",
            drive(Kind::YesNo);
        cache_commands: bool => "no",
            "A transfer overlaps with an operation of the same kind in the cells.",
            drive(Kind::YesNo);
        gc_domain: String => "plane",
            "GC domain, the unit that counts its erased blocks and runs one collection at a time: \
             {words}.",
            gc(Kind::Word).words(unit_words).checked(|_, text| parse_unit(text).map(drop));
        gc_low: String => "2",
            "Erased blocks at which collections start: a number per plane, or a share of all \
             blocks (5%).",
            gc(Kind::Amount).metavar("N|SHARE").example("5%").checked(threshold);
        gc_high: Option<String> => "",
            "Erased blocks above which collections stop. Without it, they stop above {gc_low}.",
            gc(Kind::Amount).metavar("N|SHARE").example("6%").checked(threshold);
        gc_hard: String => "0",
            "Erased blocks below which writes wait.",
            gc(Kind::Amount).metavar("N|SHARE").example("1%").checked(threshold);
        preemption: String => "none",
            "Preemption of collections by requests: none; pgc (between flash operations) with \
             +merge, +pipeline, +erase-suspend; suspend (inside erases and programs too).",
            gc(Kind::Spec).timed("no request comes during the collections of a counting drive, which take no time").example("pgc+merge+pipeline").several().words(|| PREEMPTIONS.to_vec())
                .checked(|_, text| parse_preemption(text).map(drop));
        suspend: String => "20us",
            "Time until a suspended operation frees its die; or all parameters of suspension: \
             suspend, resume, most (suspensions of one operation, 8 unless it is given), longest (the \
             time for which one operation is suspended in all, 5ms unless it is given), counted \
             (suspensions; with requests, each request that comes while an operation is suspended \
             counts as one more of most, and longest has no default), least-erase and \
             least-program (an operation with less time left is not suspended).",
            gc(Kind::Text).metavar("TIMES").checked(|_, text| parse_suspend(text).map(drop))
                .example("suspend=20us,resume=5us,most=8");
        #[serde(skip_serializing_if = "Option::is_none")]
        power_limit: Option<String> => "",
            "Power limit: the number of dies that may program or erase at a time. Further programs and \
             erases wait in order of arrival, each in its die, with its data there. Reads need no power. \
             Requests that may suspend a program or erase ({preemption}) go before one that waits.",
            drive(Kind::Text).metavar("dies=N").example("dies=8")
                .timed("in a counting drive one operation follows another")
                .checked(|_, text| parse_power_limit(text).map(drop));
        victim_search_time: String => "0us",
            "Time for which the search for a victim occupies its die.",
            gc(Kind::Time).example("3.19ms");
        preemption_poll_time: String => "0us",
            "Time to check the request queue at each preemption point.",
            gc(Kind::Time).example("600ns");
        copy_back: bool => "no",
            "Collections move pages inside their die, without the bus.",
            gc(Kind::YesNo).timed("a counting drive has no bus that a copy could spare");
        gc_holds_domain: bool => "no",
            "A collection without preemption occupies every die of its GC domain.",
            gc(Kind::YesNo);
        idle: Option<String> => "none",
            "Collections on idle dies. They start below this number of erased blocks (below) after \
             this idle time (after).",
            gc(Kind::Spec).example("below=10%,after=1ms")
                .checked(|_, text| parse_idle(text).map(drop));
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        write_pacing: bool => "no",
            "Writes go before the steps of a collection in proportion to its progress, so that all wait \
             about equally long; needs {preemption} pgc and {gc_domain} plane or die.",
            gc(Kind::YesNo);
        #[serde(skip_serializing_if = "Option::is_none")]
        slc: Option<String> => "",
            "SLC region, which takes the host's writes first. It is static (a number of blocks per \
             plane, or a share of all), dynamic (it borrows up to most erased blocks, while more \
             than keep are erased), or both, joined by +: writes fill the static blocks first, and \
             borrowed blocks are emptied first. full says what writes do while the region is full: direct \
             (they go to normal blocks), fold (they wait until a block of the region is \
             emptied) or both (they go to normal blocks, and a fold copies pace pages for each of \
             them; its default is 1). after is the idle time before blocks are emptied; its default is 100ms.",
            drive(Kind::Spec).timed(SLC).metavar("REGION").example("static:blocks=5%,full=direct,after=100ms")
                .only_with(&["slc_times"], "read=25us,program=200us,erase=2ms",
                    "the cells of its blocks are faster than others")
                .several().checked(|_, text| parse_slc(text).map(drop));
        #[serde(skip_serializing_if = "Option::is_none")]
        slc_times: Option<String> => "",
            "Times of flash operations in the blocks of {slc}.",
            drive(Kind::Text).timed(SLC).metavar("TIMES").example("read=25us,program=200us,erase=2ms")
                .only_with(&["slc"], "static:blocks=5%", "no other block is in SLC mode")
                .checked(|_, text| parse_times(text).map(drop));
        #[serde(skip_serializing_if = "is_tlc")]
        bits_per_cell: u32 => "3",
            "Bits per cell outside the SLC region. An SLC block has the pages of a normal block \
             divided by this number.",
            drive(Kind::Count).timed(SLC).range(2, 8).example("4")
                .only_with(&["slc"], "static:blocks=5%",
                    "it says how much less a block holds in SLC mode");
        #[serde(skip_serializing_if = "Option::is_none")]
        flush_after: Option<String> => "",
            "Time after which the drive programs a page of the page buffer although the page is \
             not full.",
            drive(Kind::Time).timed("pages of a counting drive wait for no time").example("5ms");
        #[serde(skip_serializing_if = "Option::is_none")]
        read_retry: Option<String> => "",
            "Extra reads of a page, each in the time of a read. from=N,every=M: one extra read \
             from N erases of the block on, and one more for every M erases after that. \
             after=T,each=S: one extra read from age T of the data on, and one more for every S \
             after that. most=20: at most 20 extra reads.",
            drive(Kind::Text).metavar("RULE").example("from=1000,every=500")
                .checked(|_, text| ReadRetry::parse(text).map(drop));
        #[serde(skip_serializing_if = "Option::is_none")]
        read_failures: Option<String> => "",
            "Probability with which the read of a flash page fails, for each read of the host or of a map on \
             flash. The other dies of the stripe ({parity}) then read their pages, and the read is over when \
             these are there. If one of them fails too, the data are lost, and the result counts it. Reads \
             of collections and of partial writes do not fail.",
            drive(Kind::Text).metavar("PROBABILITY").example("1e-4")
                .timed("a counting drive does not read for the host")
                .unstored("its reads fail when flashgc device inject says so")
                .checked(|_, text| ReadFailures::parse(text).map(drop));
        #[serde(skip_serializing_if = "Option::is_none")]
        host_bandwidth: Option<String> => "",
            "Bandwidth of the link to the host, in each direction. The data of a write cross it \
             before the drive works on them; the data of a read cross it after.",
            drive(Kind::Text).metavar("RATE").example("3.5GB/s")
                .checked(|_, text| parse_bandwidth(text).map(drop));
        #[serde(skip_serializing_if = "Option::is_none")]
        host_overhead: Option<String> => "",
            "Time that each command takes before the drive works on it.",
            drive(Kind::Time).example("5us");
        write_cache: u32 => "0",
            "Size of the write cache inside the drive, or its number of pages. With \
             {power_protection} no, a flush command waits until the cache is programmed.",
            drive(Kind::Pages).timed("a cache changes when a write is done, and a counting drive has no time").example("64MiB");
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        serial_overwrites: bool => "no",
            "A write waits in the drive until the earlier writes of its page are done. They are \
             done when they are in {write_cache}; without a cache, when they are programmed.",
            drive(Kind::YesNo);
        queue_depth: u32 => "256",
            "Requests that the drive works on at a time. Further requests wait in the host.",
            drive(Kind::Count);
        arrivals: Option<String> => "the times of a trace, or closed:threads=1",
            "Times at which requests arrive: {words}.",
            workload(Kind::Spec).example("poisson:rate=20000").listed("arrivals")
                .checked(|_, text| Arrivals::parse(text).map(drop));
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tenants: Vec<String> => "",
            "A host that shares the drive with others, instead of {source}. Write keys and values \
             with ; between them, or [[tenant]] in a file. Repeat for each tenant; see \
             docs/tenants.md.",
            workload(Kind::Text).timed("tenants take turns in a queue, and a counting drive has none").key("tenant").metavar("TENANT").listing()
                .example("name=db; workload=zipf:read=0.7; arrivals=poisson:rate=2000; priority=urgent; space=25%")
                .checked(|_, text| TenantSpec::parse(text).map(drop));
        #[serde(skip_serializing_if = "is_usual")]
        arbitration: String => "high=4,medium=2,low=1",
            "Requests per round of each priority class of tenants, 1 to 256 each. This is weighted \
             round robin with urgent priority class, as in NVMe.",
            drive(Kind::Text).metavar("WEIGHTS")
                .only_with(&["tenant"], "name=db; workload=zipf",
                    "one host waits for no other")
                .checked(|_, text| ClassWeights::parse(text).map(drop));
        rate_scale: f64 => "1",
            "Factor on the arrival rate: 2 makes requests arrive twice as fast.",
            workload(Kind::Number).example("2").between(1e-6, 1e6);
        resolution: Option<String> => "for 256 to 512 slices",
            "Length of one time slice of the series over time.",
            run(Kind::Time).example("10ms").checked(|key, text| match time(key, text)? {
                0 => Err(SpecError::new("found 0, expected more than 0", "for example 10ms")),
                _ => Ok(()),
            });
        #[serde(skip_serializing)]
        worst: bool => "no",
            "Keep and show what the die did while each of the slowest requests waited.",
            run(Kind::YesNo).once();
        /// A timeline of single operations to write. It changes no figure, and results do not
        /// record it.
        #[serde(skip_serializing)]
        timeline: Option<TimelineConfig> = None;
        /// Trace events to write. They change no figure, and results do not record them.
        #[serde(skip_serializing)]
        trace_events: Option<TraceEventsConfig> = None;
    }
}

/// A timeline to write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimelineConfig {
    /// The file.
    pub file: String,
    /// The begin and the end as times since the start, `0ms:50ms`, or `worst` for the time around
    /// the slowest request.
    pub window: String,
}

impl TimelineConfig {
    /// Returns the window.
    ///
    /// # Errors
    /// Returns the errors of [`parse_window`].
    pub fn parse(&self) -> Result<Window, SpecError> {
        parse_window(&self.window)
    }
}

/// Trace events to write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceEventsConfig {
    /// The file.
    pub file: String,
    /// The begin and the end as times since the start; `None` for the whole run.
    pub window: Option<String>,
}

impl TraceEventsConfig {
    /// Returns the begin and the end in nanoseconds.
    ///
    /// # Errors
    /// Returns the errors of [`parse_window`]. Also fails for the window `worst`, which is known
    /// only at the end.
    pub fn parse(&self) -> Result<(u64, u64), SpecError> {
        match self.window.as_deref().map(parse_window).transpose()? {
            None => Ok((0, u64::MAX)),
            Some(Window::Fixed { from_ns, to_ns }) => Ok((from_ns, to_ns)),
            Some(Window::Worst { .. }) => Err(SpecError::new(
                format!(
                    "{} are written while the run goes, and which request is the slowest is known at its end",
                    subject("trace_events")
                ),
                choice("window", "20ms:60ms"),
            )),
        }
    }
}

/// Options that are not fields of a struct.
static OTHERS: &[OptionInfo] = &[
    run(Kind::Text).metavar("FILE").example("timeline.json").once().named(
        "timeline",
        "",
        "File for a timeline of the first run's flash operations in {window}: .json for \
         ui.perfetto.dev, or a picture as .svg, .pdf or .png.",
    ),
    run(Kind::Text).metavar("FILE.json").example("events.json").once().named(
        "trace_events",
        "",
        "File for every request and flash operation of the first run, for ui.perfetto.dev. It has \
         what {timeline} has as .json, of the whole run, and counters of erased blocks. It is \
         written during the run.",
    ),
    run(Kind::Text)
        .metavar("FROM:TO|worst[:LENGTH]")
        .example("20ms:60ms")
        .checked(|_, text| parse_window(text).map(drop))
        .only_with(
            &["timeline", "trace_events"],
            "timeline.json",
            "nothing else of a run shows a part of it",
        )
        .named(
            "window",
            "0ms:50ms",
            "Window of time that {timeline} shows: from FROM to TO, or around the end of the \
             slowest request (50ms long unless LENGTH says otherwise). If you give no window, \
             {trace_events} has the whole run.",
        ),
];

/// Returns `true` if cells have the default number of bits. The default is not written, so that the
/// digests of earlier results do not change.
fn is_tlc(bits: &u32) -> bool {
    *bits == 3
}

/// Returns `true` if classes have their default weights.
fn is_usual(arbitration: &str) -> bool {
    arbitration == TimedConfig::default().arbitration
}

fn threshold(name: &str, text: &str) -> Result<(), SpecError> {
    Threshold::parse(name, text).map(drop)
}

/// Returns the tables of this file.
pub(super) fn tables() -> [&'static [OptionInfo]; 2] {
    [FIELDS, OTHERS]
}
