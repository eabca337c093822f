//! The options of every drive: its shape, its collections, its host, and the length of the runs.

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::spec::{SpecError, suggest};
use flashgc_drive::extent::{Length, Plan, Warmup};
use flashgc_drive::source;
use flashgc_ftl::{
    Allocation, BadBlocks, CopyOrder, Couple, EndOfLife, Endurance, Fill, Frontier, Levelling,
    Mapping, Members, PageBuffer, PlacementSpec, Scheme, SecondPass, VictimSpec, couples,
    victim_policies,
};
use flashgc_host::write_back::HintsSpec;
use flashgc_host::{HostSpec, PageCacheSpec};
use flashgc_timed::Superblock;
use flashgc_timed::words::{parse_superblock, superblock_words};
use flashgc_workload::requests::Space;
use flashgc_workload::trace::layout::Layout;
use flashgc_workload::trace::{Disorder, Numbering, Paging, format, parse_devices};
use serde::{Deserialize, Serialize};

use super::info::OptionInfo;
use super::kinds::{Case, Kind, Section};
use super::programs::{ONE_SHOT, PAGE, Programs, TWO_PASS, is_page_alone, parse_program};
use super::timed::TimedConfig;
use crate::times::Times;

/// The text for the victim policy and the write frontier of a mapping that has neither.
pub const NONE: &str = "none";

const fn workload(kind: Kind) -> OptionInfo {
    OptionInfo::new(Section::Workload, kind)
}

const fn drive(kind: Kind) -> OptionInfo {
    OptionInfo::new(Section::Drive, kind)
}

const fn gc(kind: Kind) -> OptionInfo {
    OptionInfo::new(Section::Gc, kind)
}

const fn host(kind: Kind) -> OptionInfo {
    OptionInfo::new(Section::Host, kind)
}

const fn swap(kind: Kind) -> OptionInfo {
    OptionInfo::new(Section::Swap, kind)
}

const fn run(kind: Kind) -> OptionInfo {
    OptionInfo::new(Section::Run, kind)
}

/// The reason why a drive with a clock cannot be the swap space of a virtual memory system.
const MEMORY: &str = "references to memory have no arrival times";

/// The reason why a run with a clock has no length in pages or collections.
const LENGTH: &str = "a run with a clock ends between two requests";

/// The default number of pages of a block.
const PAGES_PER_BLOCK: u32 = 256;
/// The fewest pages of a block whose size is chosen for a trace.
const FEWEST_PAGES: u32 = 8;
/// The fewest blocks that a drive should have if its block size is chosen for a trace.
const FEWEST_BLOCKS: u64 = 512;

super::holder! {
    /// One configuration, as typed or as read from an experiment file.
    ///
    /// Later fields are written only if they differ from their defaults, so that digests do not
    /// change.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct RunConfig: Run in RUN {
        blocks: Option<u32> => "4096",
            "Physical blocks N, rounded up to the same number on every plane.",
            drive(Kind::Count).stored().cases(&[(Case::Trace, "as many as its pages need")]);
        #[serde(skip_serializing_if = "Option::is_none")]
        capacity: Option<u64> => "",
            "Physical size, instead of {blocks}. It is rounded down to whole blocks, the same \
             number on every plane. The result says by how much.",
            drive(Kind::Size).stored().example("960GB").needs_unit().range(1, u64::MAX);
        #[serde(skip_serializing_if = "is_whole")]
        scale: String => "1",
            "Share of the drive to simulate: 1/K, or 1 for all of it. The blocks have fewer pages, or there are \
             fewer of them, as changes write amplification least; the result says which. With a clock, \
             the drive keeps its dies, and erases take as much less time as blocks have fewer pages. \
             A scale that would change write amplification by more than about 1% is refused.",
            drive(Kind::Text).unstored("a drive that keeps data has the size of its file").metavar("1/K").example("1/64")
                .checked(|_, text| parse_scale(text).map(drop));
        pages_per_block: Option<u32> => "256",
            "Pages per block b, at least 2.",
            drive(Kind::Count).stored()
                .cases(&[(Case::Trace, "256, or fewer, so that a drive of its pages has 512 blocks")]);
        page_size: u32 => "4KiB",
            "Size of a flash page.",
            drive(Kind::PageSize).unstored("the pages of its file have 4 KiB").example("16KiB");
        #[serde(skip_serializing_if = "Option::is_none")]
        mapping_unit: Option<u32> => "the page size",
            "Size of the unit in which logical addresses are mapped, which data sheets call the indirection \
             unit. If a flash page holds several \
             units, the drive gathers writes in a page buffer and programs a page when it is full. \
             Page counts are then in mapping units.",
            drive(Kind::PageSize).unstored("each page of its file is written as a whole, when it comes").example("4KiB").range(1, u32::MAX as u64);
        #[serde(skip_serializing_if = "is_plane")]
        superblock: String => "plane",
            "Blocks that are opened, filled, collected and erased together, as one large block: \
             {words}, or dies=N,planes=N. A page of it has the pages of all its planes of a die, \
             which are programmed, read and erased together. With several dies, programs go to the \
             dies in turn. A drive without a clock has no dies, so its superblocks are given by \
             dies=N,planes=N.",
            drive(Kind::Spec).stored().metavar("SPEC").example("dies=16,planes=4").several()
                .words(superblock_words).checked(|_, text| parse_superblock(text).map(drop));
        #[serde(skip_serializing_if = "is_written")]
        copy_order: String => "written",
            "Order in which a collection copies the valid pages of a superblock: {words}. With written, pages go \
             in the order in which they were written. With die, all those of one die go first, then those of the \
             next. That tears data apart that were written in sequence, so amplification is higher.",
            drive(Kind::Text).stored().example("die").several().words(|| CopyOrder::NAMES.to_vec())
                .checked(|_, text| CopyOrder::parse(text).map(drop));
        #[serde(skip_serializing_if = "is_page_alone")]
        program: String => "page",
            "Pages that are programmed together: {words}. With one-shot, the pages of a word line \
             (3 unless pages=N says otherwise) go to the die one after another, and the program time \
             is that of all of them. Units wait until they fill them. Each page is still read alone. \
             With two-pass (4 pages), the word line is programmed twice, the second time after the \
             next word line of its die; until then its data stay in the page buffer, and \
             program=600us+1.6ms in {times} gives the time of each pass.",
            drive(Kind::Spec).unstored("each page of its file is written as a whole, when it comes")
                .metavar("SPEC").example("one-shot:pages=4").several().words(|| vec![PAGE, ONE_SHOT, TWO_PASS])
                .checked(|_, text| parse_program(text).map(drop));
        #[serde(skip_serializing_if = "is_none")]
        parity: String => "none",
            "Share of each superblock that is parity: 1/N, or none. N divides the number of its \
             blocks, which lie on several dies, so that a block that fails is rebuilt from the \
             others; on a stored drive, N divides the number of its dies. {spare} is the share beside the parity.",
            drive(Kind::Text).stored().metavar("1/N").example("1/16").several()
                .checked(|_, text| parse_parity(text).map(drop));
        #[serde(skip_serializing_if = "is_true")]
        power_protection: bool => "yes",
            "The data in the page buffer and in the write cache survive a loss of power. With no, \
             a flush command programs the cache and the partly filled pages, and a collection \
             programs all its copies before its erase.",
            drive(Kind::YesNo).unstored("its durability says what survives a loss of power");
        spare: f64 => "10%",
            "Spare factor 1 - U/N: the share of the physical space beyond the logical capacity.",
            drive(Kind::Share).stored().example("7%").several();
        #[serde(skip_serializing_if = "is_page")]
        mapping: String => "page",
            "Mapping from logical pages to flash: {words}. The log-block mappings (fast, bast) \
             choose their victims themselves, so they take no victim policy and no write frontier.",
            gc(Kind::Spec).unstored("its map of pages is in memory, and in the journal of its file").example("fast:log_blocks=32").several().listed("mappings")
                .checked(|_, text| Mapping::parse(text).map(drop));
        /// The name of the scheme that victim policy, placement and perhaps frontier are from.
        #[serde(skip_serializing_if = "Option::is_none")]
        scheme: Option<String> = None;
        victim: String => "d-choices:d=10",
            "Victim policy, which picks the block to collect: greedy, d-choices:d=10,c=1, \
             python:FILE.py:NAME, lib:FILE.so:NAME and others; see flashgc policies.",
            gc(Kind::Spec).stored().example("greedy").several().listed("policies")
                .cases(&[(Case::Compare, "every built-in policy")])
                .checked(|_, text| VictimSpec::parse(text).map(drop));
        frontier: String => "single",
            "Write frontier, the open blocks that pages are written to: {words}.",
            gc(Kind::Spec).stored().example("pool:low=2").several().listed("frontiers")
                .counting("leave it out; {gc_low} says how many blocks the pool of a plane keeps",
                    "the planes of a timed drive always have a pool")
                .checked(|_, text| Frontier::parse(text).map(drop));
        #[serde(skip_serializing_if = "is_fifo")]
        allocation: String => "fifo",
            "Order in which the pool opens its erased blocks: {words}.",
            gc(Kind::Word).stored().example("sfl").several().listed("allocations")
                .checked(|_, text| Allocation::parse(text).map(drop));
        #[serde(skip_serializing_if = "Option::is_none")]
        wear_levelling: Option<String> => "none",
            "Wear levelling, which moves cold data so that blocks wear evenly: {words}. All but \
             none need the pool or mixed frontier.",
            gc(Kind::Spec).stored().example("static:threshold=50,interval=10").several()
                .listed("wear_levellings")
                .checked(|_, text| Levelling::parse(text).map(drop));
        #[serde(skip_serializing_if = "is_none")]
        placement: String => "none",
            "Placement, which chooses the open block of each page: {words}, \
             python:FILE.py:NAME or lib:FILE.so:NAME. All but none need the pool frontier.",
            gc(Kind::Spec).stored().example("dac:regions=3,zombie-block=yes").several().listed("placements")
                .checked(|_, text| PlacementSpec::parse(text).map(drop));
        #[serde(skip_serializing_if = "Option::is_none")]
        endurance: Option<String> => "any number",
            "Erases that a block withstands before it goes bad: a number, or one of {words}. It \
             needs the pool or mixed frontier.",
            drive(Kind::Amount).stored().metavar("N|SPEC").example("normal:mean=1000,cv=0.1")
                .listed("endurances")
                .checked(|_, text| Endurance::parse(text).map(drop));
        #[serde(skip_serializing_if = "is_retire")]
        bad_blocks: String => "retire",
            "Fate of a superblock with a bad block: {words}. With retire, it retires with the first of its \
             blocks. With shrink, it goes on with its other blocks, as long as it has the share \
             least=50% of its pages. A bad plane leaves its die, or with {parity} the die leaves.",
            drive(Kind::Spec).unstored("its file gives each page of a superblock a die, whichever blocks are bad")
                .metavar("SPEC").example("shrink:least=75%").several().words(|| BadBlocks::NAMES.to_vec())
                .checked(|_, text| BadBlocks::parse(text).map(drop));
        #[serde(skip_serializing_if = "Option::is_none")]
        times: Option<String> => "",
            "Times of flash operations: read, program and erase; transfer (a page over the bus); \
             command (command and address, before each operation). read and program may have one \
             time for each kind of page: read=48us/76us. A timed drive needs these times. A \
             counting drive reports with them how long the flash was busy.",
            drive(Kind::Text).unstored("it answers as soon as its file does").metavar("TIMES")
                .example("read=60us,program=800us,erase=1.5ms,transfer=20us")
                .checked(|_, text| Times::parse(text).map(drop));
        /// The clock, channels and queues of a timed drive; `None` for a counting drive.
        #[serde(skip_serializing_if = "Option::is_none")]
        timed: Option<TimedConfig> = None;
        /// The page cache of a virtual memory system, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        swap: Option<SwapConfig> = None;
        fill: String => "sequential",
            "State of the drive before the run: {words}.",
            drive(Kind::Word).unstored("a new drive has no data").listed("fills").checked(|_, text| Fill::parse(text).map(drop));
        /// The cache of a host, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<HostConfig> = None;
        workload: String => "uniform",
            "Generator (hotcold:f=0.2,r=0.8), mixture (0.7*zipf + 0.3*sequential) or trace file.",
            workload(Kind::Spec).key("source").flag("workload").metavar("SPEC|PATH")
                .example("hotcold:f=0.2,r=0.8").listed("generators")
                .checked(|_, text| source::check(text));
        #[serde(skip_serializing_if = "Option::is_none")]
        request_size: Option<u32> => "the mapping unit",
            "Size of each request of a generator: a divisor or a multiple of {mapping_unit}. A \
             request starts at a multiple of its size. A generator with size= has its own. A write \
             smaller than a mapping unit reads the unit, merges the data and programs the whole \
             unit.",
            workload(Kind::Size).example("4KiB").unit("B").range(1, u32::MAX as u64);
        #[serde(skip_serializing_if = "Option::is_none")]
        flush_every: Option<u64> => "",
            "The host sends a flush command after this many writes of a mapping unit. Needs \
             {power_protection} no: a protected buffer is never flushed.",
            workload(Kind::Count).range(1, 1 << 63);
        #[serde(skip_serializing_if = "Option::is_none")]
        streams: Option<String> => "",
            "File that gives writes their streams by address, in the form of fio's dp_scheme file: \
             lines of START, END, STREAM in bytes. The first line that holds the first byte of a \
             write decides; on a counting drive, the first byte of each page. Other writes keep \
             the stream that the workload gives them, if any.",
            workload(Kind::Text).stored().metavar("PATH").example("streams.csv");
        /// The options for reading a trace; generators ignore them.
        trace: TraceConfig = TraceConfig::default();
        warmup: String => "1/3",
            "Part of the run that is not measured: a share (1/3, 30%), writes before the run in \
             drive writes (10x) or page writes (1000000), or auto, which is its first half. With a clock, \
             writes before the run take no time, and auto writes until the drive has settled: 5, 10 \
             or 20 drive writes.",
            run(Kind::Amount).metavar("PART").example("10x")
                .cases(&[
                    (Case::Generator, "auto"), (Case::UntilFailure, "0"), (Case::Timed, "auto"),
                    (Case::SwapTrace, "0"),
                ])
                .checked(|_, text| Warmup::parse(text).map(drop));
        /// The length of the run.
        length: Length = Length::Writes("20x".into());
        /// The precision: the 95% half width, as a share of the mean, at which the runs end. `None`
        /// for a fixed length.
        precision: Option<f64> = None;
        runs: u32 => "1",
            "Number of runs. Each has its own seed.",
            run(Kind::Count)
                .cases(&[(Case::Compare, "5"), (Case::Trace, "1"), (Case::SwapTrace, "1")])
                .range(1, u32::MAX as u64);
        seed: u64 => "1",
            "Seed of the first run.",
            run(Kind::Count).stored().range(0, u64::MAX);
    }
}

fn is_true(yes: &bool) -> bool {
    *yes
}

fn is_page(mapping: &str) -> bool {
    mapping == Mapping::default().to_string()
}

/// Returns `true` if blocks are on their own. The default is not written, so that the digests of
/// earlier results do not change.
fn is_plane(superblock: &str) -> bool {
    superblock == RunConfig::default().superblock
}

fn is_written(copy_order: &str) -> bool {
    copy_order == RunConfig::default().copy_order
}

fn is_retire(bad_blocks: &str) -> bool {
    bad_blocks == RunConfig::default().bad_blocks
}

fn is_fifo(allocation: &str) -> bool {
    allocation == Allocation::default().to_string()
}

impl RunConfig {
    /// Returns `true` if the placement needs streams, and no table of addresses assigns them. The
    /// host of a drive in use must then name the streams.
    pub fn host_names_streams(&self) -> bool {
        let placement = PlacementSpec::parse(&self.placement);
        self.streams.is_none() && placement.is_ok_and(|placement| placement.needs_streams())
    }
}

fn is_whole(scale: &str) -> bool {
    scale == RunConfig::default().scale
}

/// Reads `1/N`. Returns N.
fn part(text: &str) -> Option<u32> {
    text.strip_prefix("1/")?.parse().ok()
}

/// The largest K of a drive that is 1/K of another.
const MOST_PARTS: u32 = 1 << 16;

/// Reads the share of a drive that is simulated: `1`, or `1/64`. Returns the number of such parts that
/// the drive has.
///
/// # Errors
/// Any other text.
pub fn parse_scale(text: &str) -> Result<u32, SpecError> {
    let parts = match text.trim() {
        "1" => Some(1),
        text => part(text),
    };
    parts.filter(|parts| (1..=MOST_PARTS).contains(parts)).ok_or_else(|| {
        SpecError::new(
            format!("scale: found '{text}', expected 1, or 1/2 to 1/{MOST_PARTS}"),
            choice("scale", "1/64"),
        )
    })
}

fn is_none(spec: &str) -> bool {
    spec == NONE
}

/// The largest number of blocks of which one may be parity.
const MOST_IN_STRIPE: u32 = 1 << 16;

/// Reads the share of a superblock that is parity: `none`, or `1/16` for one part of 16. Returns the
/// number of parts.
///
/// # Errors
/// Any other text.
pub fn parse_parity(text: &str) -> Result<Option<u32>, SpecError> {
    if text.trim() == NONE {
        return Ok(None);
    }
    match part(text.trim()).filter(|parts| (2..=MOST_IN_STRIPE).contains(parts)) {
        Some(parts) => Ok(Some(parts)),
        None => Err(SpecError::new(
            format!("parity: found '{text}', expected none, or 1/2 to 1/{MOST_IN_STRIPE}"),
            choice("parity", "1/16"),
        )),
    }
}

impl RunConfig {
    /// Returns the bytes of a mapping unit.
    pub fn unit(&self) -> u32 {
        self.mapping_unit.unwrap_or(self.page_size)
    }

    /// Returns the capacity that a drive of `logical_pages` pages offers the workload, and the size
    /// of the requests that generators make.
    pub fn space(&self, logical_pages: u32) -> Space {
        let page_size = self.unit();
        Space { logical_pages, page_size, request_size: self.request_size.unwrap_or(page_size) }
    }

    /// Returns the way in which mapping units are gathered in flash pages.
    ///
    /// # Errors
    /// Fails if the mapping unit does not divide the flash page.
    pub fn page_buffer(&self) -> Result<PageBuffer, SpecError> {
        let (page, unit) = (self.page_size, self.unit());
        if unit == 0 || !page.is_multiple_of(unit) {
            return Err(SpecError::new(
                format!(
                    "{} is {unit} bytes, expected a divisor of {} of {page} bytes",
                    subject("mapping_unit"),
                    option("page_size")
                ),
                format!(
                    "for example {} and {}",
                    choice("page_size", "16KiB"),
                    choice("mapping_unit", "4KiB")
                ),
            ));
        }
        let planes = self.members().1;
        let units_per_page = (page / unit).saturating_mul(planes);
        let Programs { pages, has_two_passes } = self.programs();
        let members = self.dies_together();
        Ok(PageBuffer {
            units_per_page,
            planes,
            pages_per_program: pages,
            part_parity: members.part_parity(),
            second_pass: has_two_passes.then(|| SecondPass::of(members)),
            is_protected: self.power_protection,
        })
    }

    /// Returns the mapping units of data of a superblock, which is a block if blocks are on their
    /// own.
    pub fn units_per_block(&self) -> u32 {
        self.units_with_parity() - self.units_of_parity()
    }

    /// Returns the mapping units of a superblock, those of its parity included.
    pub(crate) fn units_with_parity(&self) -> u32 {
        let of_block = self.flash_pages_per_block().saturating_mul(self.unit_count());
        of_block.saturating_mul(self.blocks_together())
    }

    /// Returns the mapping units of a superblock that hold parity.
    pub(crate) fn units_of_parity(&self) -> u32 {
        self.stripe().map_or(0, |parts| self.units_with_parity() / parts)
    }

    /// Returns the flash pages that are programmed together.
    pub(crate) fn programs(&self) -> Programs {
        // A text that is wrong is refused where the shape is checked.
        parse_program(&self.program).unwrap_or_default()
    }

    /// Returns the number of parts of a stripe, one of which is parity; `None` without parity.
    pub(crate) fn stripe(&self) -> Option<u32> {
        // A text that is wrong is refused where the shape is checked.
        parse_parity(&self.parity).unwrap_or_default()
    }

    /// Returns the flash pages of a block.
    pub(crate) fn flash_pages_per_block(&self) -> u32 {
        self.pages_per_block.unwrap_or(PAGES_PER_BLOCK)
    }

    /// Returns the number of blocks of a superblock: 1 if blocks are on their own.
    pub fn blocks_together(&self) -> u32 {
        let (dies, planes) = self.members();
        dies.saturating_mul(planes)
    }

    /// Returns the dies that a superblock joins, and the planes of each of them.
    pub(crate) fn members(&self) -> (u32, u32) {
        // A text that is wrong is refused where the shape is checked, and so is a count of 0.
        let superblock = parse_superblock(&self.superblock).unwrap_or(Superblock::Plane);
        let (dies, planes) = match (superblock, &self.timed) {
            (Superblock::Plane, _) => (1, 1),
            (Superblock::Of { dies, planes }, _) => (dies, planes),
            (_, None) => (1, 1),
            (Superblock::Die, Some(timed)) => (1, timed.planes),
        };
        (dies.max(1), planes.max(1))
    }

    /// Returns the dies that a superblock joins, and the dies of a stripe of its parity.
    pub(crate) fn dies_together(&self) -> Members {
        Members::new(self.members().0, self.stripe())
    }

    /// Returns the number of blocks in this number of superblocks.
    pub fn blocks_in(&self, superblocks: u32) -> u64 {
        u64::from(superblocks) * u64::from(self.blocks_together())
    }

    /// Returns `true` if, for every trace, both drives get blocks with the same number of pages.
    pub fn has_blocks_of(&self, other: &Self) -> bool {
        let rule = |config: &Self| {
            let units = (config.unit_count(), config.blocks_together());
            (config.pages_per_block, config.is_sized(), units, config.planes())
        };
        rule(self) == rule(other)
    }

    fn planes(&self) -> u64 {
        self.timed.as_ref().map_or(self.blocks_together().into(), |timed| {
            let all = [timed.channels, timed.ways, timed.dies, timed.planes];
            all.iter().map(|&count| u64::from(count)).product()
        })
    }

    /// Returns `true` if the configuration gives the size of the drive.
    pub fn is_sized(&self) -> bool {
        self.blocks.is_some() || self.capacity.is_some()
    }

    /// Returns the mapping units of a flash page.
    pub(crate) fn unit_count(&self) -> u32 {
        (self.page_size / self.unit().max(1)).max(1)
    }

    /// Returns the configuration with the number of pages per block filled in. A number that is
    /// given stays. Otherwise it is 256, or less for a trace with `units` mapping units if the size
    /// of the drive is not given either: a power of two with which the drive has hundreds of
    /// blocks.
    #[must_use]
    pub fn with_block(&self, units: Option<u64>) -> Self {
        let most = match units.filter(|_| !self.is_sized()) {
            Some(units) => {
                units / u64::from(self.unit_count()) / FEWEST_BLOCKS.max(128 * self.planes())
            }
            None => u64::from(PAGES_PER_BLOCK),
        };
        let mut pages = PAGES_PER_BLOCK;
        while u64::from(pages) > most && pages > FEWEST_PAGES {
            pages /= 2;
        }
        Self { pages_per_block: self.pages_per_block.or(Some(pages)), ..self.clone() }
    }
}

super::holder! {
    /// The options for reading a trace.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct TraceConfig: Trace in TRACE {
        format: Option<String> => "found from the file",
            "Format of the trace; see flashgc trace formats.",
            workload(Kind::Text).metavar("NAME").example("msr").listed("trace_formats")
                .checked(check_format);
        alignment_offset: u64 => "0B",
            "Bytes that are added to every offset of the trace before it is cut into pages.",
            workload(Kind::Size).example("512B").unit("B").range(0, u32::MAX as u64);
        on_bad_line: Option<String> => "stop",
            "Action for a bad line of the trace: {words} (skipped lines are counted).",
            workload(Kind::Word).words(|| vec!["stop", "skip"]);
        #[serde(skip_serializing_if = "Option::is_none")]
        devices: Option<String> => "all of them",
            "Devices of the trace to read, by the device numbers of the trace, or as MAJOR:MINOR \
             for traces of Linux.",
            workload(Kind::Text).metavar("N,N").example("0,3")
                .checked(|_, text| parse_devices(text).map(drop));
        #[serde(skip_serializing_if = "Option::is_none")]
        blkparse_action: Option<String> => "D, else Q, else C",
            "Action to read from a Linux block trace (blkparse, blktrace, ftrace): D (issued), Q \
             (queued), C (completed), I (inserted) or G (request made).",
            workload(Kind::Word).words(|| format::ACTIONS.to_vec());
        #[serde(skip_serializing_if = "Option::is_none")]
        columns: Option<String> => "",
            "Columns of the trace's lines, by number from 1 or by name, in place of a format: time with its \
             unit (s, ms, us, ns, 100ns), op, perhaps with its values, offset and size, perhaps with \
             their unit (byte, sector, KiB, or a number of bytes), and perhaps device, only, separator, \
             header, comment and base.",
            workload(Kind::Text).metavar("KEY=COLUMN,...").example("time=1:ms,op=2,offset=3,size=4")
                .checked(|_, text| Layout::parse(text).map(drop));
        #[serde(skip_serializing_if = "Option::is_none")]
        layout: Option<String> => "",
            "Layout of the trace's lines in place of a format: one that ships (see flashgc trace formats), or \
             a TOML file with the keys of {columns}.",
            workload(Kind::Text).metavar("NAME|FILE").example("biosnoop");
        #[serde(skip_serializing_if = "Option::is_none")]
        disorder: Option<String> => "the order of the file; with a clock refuse",
            "Action for a trace whose times go back: {words}.",
            workload(Kind::Word).words(|| Disorder::NAMES.to_vec());
        #[serde(skip_serializing_if = "Option::is_none")]
        relations: Option<String> => "",
            "File that maps the relations of a database to offsets on its disk, for a log of \
             pg_waldump.",
            workload(Kind::Text).metavar("PATH").example("relations.txt");
        #[serde(skip_serializing_if = "is_covered")]
        paging: String => "covered",
            "Pages of a request that does not begin and end at page boundaries: all that it \
             touches (covered), or as many as its size needs (rounded). The drive has room for all \
             x pages of the trace. With floor, it has U = b floor(x/b) logical pages, and requests \
             to the other pages are left out.",
            workload(Kind::Word).words(|| Paging::NAMES.to_vec())
                .checked(|_, text| Paging::parse(text).map(drop));
        #[serde(skip_serializing_if = "Option::is_none")]
        numbering: Option<String> => "given of a recorded drive, else address",
            "Logical page of each page of the trace. address: in order of device and address, so a \
             request stays one run of pages. first-touch: in order of the first read or write; the \
             pages of a request then need not follow each other. given: page i of the only device \
             is logical page i, and {blocks} sets the size of the drive.",
            workload(Kind::Word).words(|| Numbering::NAMES.to_vec())
                .checked(|_, text| Numbering::parse(text).map(drop));
    }
}

fn is_covered(paging: &str) -> bool {
    paging == Paging::NAMES[0]
}

fn check_format(_: &str, text: &str) -> Result<(), SpecError> {
    format::find(text).map(drop)
}

super::holder! {
    /// A host: its cache, and the hints that it gives the drive.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct HostConfig: Host in HOST {
        cache: String => "none",
            "Write-back cache of the host: {words}. The workload is then the requests of an \
             application to this cache.",
            host(Kind::Spec).key("host_cache").example("page-cache:size=4GiB").several()
                .listed("caches").checked(|_, text| HostSpec::parse(text, NONE).map(drop));
        hints: String => "none",
            "Hints with which the host tells the drive which pages of {host_cache} are dirty: \
             {words}.",
            host(Kind::Spec).example("piggyback").several().listed("hints")
                .only_with(&["host_cache"], "page-cache:size=256MiB",
                    "hints tell which pages of a cache are dirty")
                .checked(|_, text| HintsSpec::parse(text).map(drop));
    }
}

super::holder! {
    /// The page cache of a virtual memory system.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct SwapConfig: Swap in SWAP {
        /// The number of pages that the page cache holds.
        cache_pages: u32 = 0;
        policy: String => "3-region",
            "Replacement policy of {vm_page_cache}: {words}.",
            swap(Kind::Spec).key("page_policy").example("lru").listed("page_caches")
                .counting("leave it out", MEMORY)
                .only_with(&["vm_page_cache"], "4MiB", "no other cache has this policy")
                .checked(|_, text| PageCacheSpec::parse(text).map(drop));
        scheme: String => "du-gc",
            "Scheme that decides what collections do with valid pages that are also in memory: \
             {words}.",
            swap(Kind::Spec).key("vm_scheme").example("lda-gc5").several().listed("vm_schemes")
                .counting("leave it out", MEMORY)
                .only_with(&["vm_page_cache"], "4MiB",
                    "it asks which pages are in the memory of the host")
                .checked(|_, text| Scheme::parse(text).map(drop));
    }
}

/// Options that are not fields of a struct; help lists them before the other options of their
/// section.
static FIRST: &[OptionInfo] = &[
    drive(Kind::Word).flag("drive").words(|| vec!["counting", "timed"]).named(
        "kind",
        "counting",
        "Drive to simulate: counting (page programs only) or timed (with a clock, channels and \
         queues).",
    ),
    swap(Kind::Size).example("4MiB").unit("MiB").counting("leave it out", MEMORY).range(0, u64::MAX).named(
        "vm_page_cache",
        "none",
        "Page cache of a virtual memory system that swaps to the drive. The workload is then the \
         memory references of a program.",
    ),
    run(Kind::Amount)
        .metavar("N|Nx")
        .example("20x")
        .counting("give {requests}, or {passes} of a trace", LENGTH)
        .checked(check_writes)
        .cases(&[(
            Case::Generator,
            "as many as it takes until write amplification has settled, at most 640x; 20x where \
             the part that is not measured is given",
        )])
        .named("writes", "", "Length of a run in page writes (1000000) or drive writes (20x)."),
    run(Kind::Count)
        .counting("give {requests}, or {passes} of a trace", LENGTH)
        .range(1, 1 << 63)
        .named("collections", "", "Length of a run in collections, instead of {writes}."),
    run(Kind::Count)
        .cases(&[(Case::Timed, "1000000"), (Case::Swap, "5000000")])
        .range(1, 1 << 63)
        .named(
            "requests",
            "",
            "Length of a run in requests of the host, reads included, instead of {writes}. A trace \
             is replayed until it has given as many.",
        ),
    run(Kind::Count)
        .cases(&[
            (Case::Trace, "as many as it takes until write amplification has settled, at most 100"),
            (Case::TimedTrace, "1"),
            (Case::SwapTrace, "1"),
        ])
        .range(1, 1 << 63)
        .named("passes", "", "Length of a run in replays of a trace, instead of {writes}."),
    run(Kind::Text)
        .metavar("END")
        .example("precision=0.1%")
        .words(|| vec!["precision=", "first-failure", "system-failure"])
        .checked(check_until)
        .named(
            "until",
            "",
            "Run until the 95% interval is within a share of the mean (precision=0.1%), or until a \
             drive with {endurance} fails: first-failure, system-failure.",
        ),
];

/// Options that are not fields of a struct; help lists them after the other options of their
/// section.
static LAST: &[OptionInfo] = &[
    drive(Kind::Share).stored().example("28%").several().named(
        "overprovision",
        "",
        "Over-provisioning (N - U)/U, instead of {spare}.",
    ),
    gc(Kind::Spec).stored().example("zgc-gd").several().listed("schemes").checked(check_scheme).named(
        "scheme",
        "",
        "Victim policy and placement, instead of {victim} and {placement}: {words}; or both in words, \
         cost-benefit + sepbit, perhaps with a name and a frontier, mine = greedy + dac + single. \
         The usual frontier is then pool.",
    ),
    run(Kind::Count).range(0, 4096).named(
        "jobs",
        "0",
        "Cores to use for runs and for channels of timed drives; 0 uses all.",
    ),
];

/// Checks a couple, except for parts in files, which only those know who load them.
fn check_scheme(_: &str, text: &str) -> Result<(), SpecError> {
    let couple = Couple::parse(text)?;
    if !is_in_file(&couple.victim) {
        let name = couple.victim.split(':').next().unwrap_or_default();
        if !victim_policies().iter().any(|info| info.name == name) {
            let known = couples().iter().map(|info| info.name);
            let hint = suggest(name, known.chain(victim_policies().iter().map(|info| info.name)));
            return Err(SpecError::new(format!("unknown scheme or victim policy '{name}'"), hint));
        }
        VictimSpec::parse(&couple.victim)?;
    }
    if !is_in_file(&couple.placement) {
        PlacementSpec::parse(&couple.placement)?;
    }
    couple.frontier.map_or(Ok(()), |frontier| Frontier::parse(&frontier).map(drop))
}

/// Returns `true` for the text of a policy in Python or in a compiled library.
fn is_in_file(text: &str) -> bool {
    text.starts_with("python:") || text.starts_with("lib:")
}

fn check_writes(_: &str, text: &str) -> Result<(), SpecError> {
    // Only the text itself is checked, so any size of the drive will do.
    Plan::new(Warmup::Auto, &Length::Writes(text.to_string()), 1 << 20, None, Ok).map(drop)
}

fn check_until(_: &str, text: &str) -> Result<(), SpecError> {
    // A precision is parsed only when the value is used.
    let share = text.contains('=') || text.trim() == "precision";
    if share { Ok(()) } else { EndOfLife::parse(text).map(drop) }
}

/// Returns the tables of this file, in the order in which help lists them.
pub(super) fn tables() -> [&'static [OptionInfo]; 6] {
    [FIRST, RUN, TRACE, HOST, SWAP, LAST]
}
