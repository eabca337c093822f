//! Hints: the ways in which a host tells a drive the pages that it will overwrite soon, and the
//! faults of hints.

use std::collections::VecDeque;
use std::ops::Range;

use flashgc_base::counts::Counts;
use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{State, Value};
use flashgc_base::spec::{Param, Params, Spec, SpecError};

use super::pages::Pages;
use super::time;

/// The bytes of a sector, the unit in which extents are counted.
const SECTOR: u32 = 512;

/// The entry of one way in listings and help texts.
pub struct HintsInfo {
    /// The name that people type.
    pub name: &'static str,
    /// The description in one line, with its source.
    pub summary: &'static str,
    /// The parameters that the way takes.
    pub params: &'static [Param],
}

const fn share(name: &'static str, help: &'static str) -> Param {
    Param::share(name, Some("0")).help(help)
}

const LOST: Param = share("lost", "share of the hints that are lost");
const WRONG: Param = share("wrong", "share of the hints that name a page drawn at random");
const ADVERSE: Param =
    share("adverse", "share of the hints that name the page written last, the least likely one");
const LATE: Param =
    Param::integer("late", (0, u32::MAX as u64), Some("0")).help("delay of a hint, in commands");

const HORIZON: Param = Param::real("horizon", (1e-6, 100.0), Some("5%"))
    .help("distance that the oracle sees ahead: host writes, as a share of the logical capacity");

const fn cost(default: &'static str) -> Param {
    Param::text("cost", Some(default))
        .help("time that the drive takes for such a command, with a clock")
}

const fn queued(default: &'static str) -> Param {
    Param::word("queued", &["no", "yes"], Some(default)).help(
        "yes: such a command runs beside others; no: it waits for all earlier commands, and \
         later ones wait for it",
    )
}

static WAYS: &[HintsInfo] = &[
    HintsInfo { name: "none", summary: "the drive gets no hints", params: &[] },
    HintsInfo {
        name: "piggyback",
        summary: "one extent (32-bit sector, 8-bit count) rides on each read and write command, \
                  first in, first out (Lee et al. 2015, section 4.2)",
        params: &[LOST, WRONG, ADVERSE, LATE],
    },
    HintsInfo {
        name: "command",
        summary: "a separate command for each extent, as soon as a page is dirty (Lee et al. 2015, \
                  section 5.2.5)",
        params: &[cost("100us"), queued("no"), LOST, WRONG, ADVERSE, LATE],
    },
    HintsInfo {
        name: "dsm",
        summary: "NVMe Dataset Management with Write Prepare: one command holds several ranges",
        params: &[
            Param::integer("ranges", (1, 256), Some("256")).help("ranges in one command"),
            cost("20us"),
            queued("yes"),
            LOST,
            WRONG,
            ADVERSE,
            LATE,
        ],
    },
    HintsInfo {
        name: "frequency",
        summary: "a read before an update of its page carries the hint (NVMe Read, access \
                  frequency 8)",
        params: &[LOST, WRONG, ADVERSE, LATE],
    },
    HintsInfo {
        name: "perfect",
        summary: "the drive knows at once, without a command",
        params: &[LOST, WRONG, ADVERSE, LATE],
    },
    HintsInfo {
        name: "oracle",
        summary: "the drive knows every write within the horizon, before its page is dirty: the \
                  value of perfect foresight to the same collector",
        params: &[HORIZON],
    },
];

/// Returns every way, in the order in which listings show them.
pub fn hint_ways() -> &'static [HintsInfo] {
    WAYS
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    None,
    Piggyback,
    /// One command for each group of extents. The number is the size of a group.
    Command(usize),
    Frequency,
    Perfect,
    Oracle,
}

/// A way of hinting with its parameters checked.
#[derive(Clone)]
pub struct HintsSpec {
    way: Way,
    cost_ns: u64,
    params: Params,
}

impl HintsSpec {
    /// Reads `text`, for example `piggyback:lost=5%`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(text)?;
        let info = spec.entry("way of hinting", WAYS, |info| info.name)?;
        let params = Params::resolve(&spec, info.params)?;
        let way = match info.name {
            "none" => Way::None,
            "piggyback" => Way::Piggyback,
            "command" => Way::Command(1),
            "dsm" => Way::Command(params.integer("ranges") as usize),
            "frequency" => Way::Frequency,
            "oracle" => Way::Oracle,
            _ => Way::Perfect,
        };
        let cost_ns = match way {
            Way::Command(_) => time(&params, "cost")?,
            _ => 0,
        };
        let spec = Self { way, cost_ns, params };
        let faulty = spec.share("lost") + spec.share("wrong") + spec.share("adverse");
        refuse_if!(
            faulty > 1.0,
            "make one of them smaller",
            "{text}: the shares of lost, wrong and adverse hints sum to {faulty}, expected at most \
             1"
        );
        Ok(spec)
    }

    /// Returns those parameters among `names` that this way has and whose value is not the default.
    pub(super) fn changed(&self, names: &[&str]) -> Vec<String> {
        let info = WAYS.iter().find(|info| info.name == self.params.owner());
        info.map_or_else(Vec::new, |info| self.params.changed(info.params, names))
    }

    /// Returns the name without parameters.
    pub fn name(&self) -> &str {
        self.params.owner()
    }

    /// Returns `true` if the drive gets no hints.
    pub fn is_none(&self) -> bool {
        self.way == Way::None
    }

    /// Returns `true` if the drive knows future writes, which is impossible on a drive's clock.
    pub fn is_oracle(&self) -> bool {
        self.way == Way::Oracle
    }

    /// Returns `true` if hints can be lost, wrong or late.
    fn can_fail(&self) -> bool {
        !matches!(self.way, Way::None | Way::Oracle)
    }

    /// Returns `true` if a real host can hint this way. A real host does not say which of its reads
    /// are followed by an update, and nobody knows its later writes.
    pub fn suits_a_real_host(&self) -> bool {
        !matches!(self.way, Way::Frequency | Way::Oracle)
    }

    /// Returns `true` if separate commands carry the hints.
    pub fn has_commands(&self) -> bool {
        matches!(self.way, Way::Command(_))
    }

    /// Returns `true` if a hint reaches the drive at once, without a command.
    pub fn is_at_once(&self) -> bool {
        self.way == Way::Perfect
    }

    /// Returns the time of a command that holds only hints, in nanoseconds, and `true` if other
    /// commands may run at the same time.
    pub fn command(&self) -> (u64, bool) {
        match self.way {
            Way::Command(_) => (self.cost_ns, self.params.text("queued") == "yes"),
            _ => (0, true),
        }
    }

    fn share(&self, name: &str) -> f64 {
        if self.can_fail() { self.params.real(name) } else { 0.0 }
    }

    /// Returns the number of writes that an oracle sees ahead on a drive of `pages` pages. `None`
    /// if this way is no oracle.
    pub(super) fn horizon(&self, pages: u32) -> Option<u64> {
        let share = (self.way == Way::Oracle).then(|| self.params.real("horizon"))?;
        Some(((share * f64::from(pages)).round() as u64).max(1))
    }

    /// Returns the largest number of pages in an extent.
    ///
    /// # Errors
    /// A page or an address is too large for an extent.
    fn extent_pages(&self, page_size: u32, pages: u32) -> Result<u32, SpecError> {
        if self.way != Way::Piggyback {
            return Ok(u32::MAX);
        }
        let sectors = page_size / SECTOR;
        refuse_if!(
            !page_size.is_multiple_of(SECTOR) || sectors > u8::MAX.into() || sectors == 0,
            format!("{}, or another {}", choice("hints", "perfect"), option("page_size")),
            "{} piggyback: found pages of {page_size} bytes, expected 1 to 255 sectors of {SECTOR} \
             bytes",
            subject("hints")
        );
        refuse_if!(
            u64::from(pages) * u64::from(sectors) > 1 << 32,
            format!("{}, or a drive of at most 2 TiB", choice("hints", "perfect")),
            "{} piggyback: {pages} pages of {page_size} bytes are more than 2^32 sectors",
            subject("hints")
        );
        Ok(u32::from(u8::MAX) / sectors)
    }

    /// Checks that hints can name pages of `page_size` bytes on a drive of `pages` pages.
    pub(super) fn check(&self, page_size: u32, pages: u32) -> Result<(), SpecError> {
        self.extent_pages(page_size, pages).map(drop)
    }
}

/// Writes the spec with all of its parameters.
impl std::fmt::Display for HintsSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.params.fmt(f)
    }
}

impl std::fmt::Debug for HintsSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HintsSpec({self})")
    }
}

/// The counts of hints, in pages unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct HintCounts {
    /// Pages that became dirty, so that a hint was to be sent.
    pub due: u64,
    /// Hints that reached the drive.
    pub sent: u64,
    /// Hints dropped because the page was written before they could leave.
    #[counts(words = "overtaken by the write")]
    pub overtaken: u64,
    /// Hints that never reached the drive.
    pub lost: u64,
    /// Hints that reached the drive after their page was written.
    #[counts(words = "too late")]
    pub late: u64,
    /// Hints that reached the drive and named another page, one that was not dirty.
    #[counts(words = "not true")]
    pub wrong: u64,
    /// The number of commands made for hints alone.
    #[counts(words = "commands of their own")]
    pub commands: u64,
}

#[derive(Value)]
struct Extent {
    first: u32,
    count: u32,
}

/// The queue of hints, and the drive's knowledge of dirty pages.
#[derive(State)]
pub struct Hints {
    #[snapshot(skip)]
    way: Way,
    #[snapshot(skip)]
    lost: f64,
    #[snapshot(skip)]
    wrong: f64,
    #[snapshot(skip)]
    adverse: f64,
    #[snapshot(skip)]
    late: u64,
    rng: Stream,
    #[snapshot(skip)]
    pages: u32,
    #[snapshot(skip)]
    extent_pages: u32,
    /// The queue of extents that wait to leave. A page of an extent is skipped if it is no longer
    /// in `waiting`.
    queue: VecDeque<Extent>,
    /// Pages that wait for their hint to leave.
    #[snapshot(state)]
    waiting: Pages,
    /// Late hints that have not arrived yet: the number of the command with which the hint arrives,
    /// the page that it names, and `true` if it names the page that became dirty.
    under_way: VecDeque<(u64, u32, bool)>,
    /// The number of commands so far.
    commands: u64,
    written_last: u32,
    /// The page that is being read for an update.
    updating: Option<u32>,
    /// The page that was named by the hint on the last read for an update.
    told_by_read: Option<u32>,
    #[snapshot(state)]
    dirty: Pages,
    /// Dirty pages on which the drive has a hint.
    #[snapshot(state)]
    known: Pages,
    /// The counts so far.
    pub counts: HintCounts,
}

impl Hints {
    /// Returns an empty queue for a drive of `pages` pages of `page_size` bytes.
    ///
    /// # Errors
    /// Pages or addresses that are too large for this way.
    pub fn new(spec: &HintsSpec, page_size: u32, pages: u32, seed: u64) -> Result<Self, SpecError> {
        Ok(Self {
            way: spec.way,
            lost: spec.share("lost"),
            wrong: spec.share("wrong"),
            adverse: spec.share("adverse"),
            late: if spec.can_fail() { spec.params.integer("late") } else { 0 },
            rng: Stream::new(seed, "hints"),
            pages,
            extent_pages: spec.extent_pages(page_size, pages)?,
            queue: VecDeque::new(),
            waiting: Pages::none(pages),
            under_way: VecDeque::new(),
            commands: 0,
            written_last: 0,
            updating: None,
            told_by_read: None,
            dirty: Pages::none(pages),
            known: Pages::none(pages),
            counts: HintCounts::default(),
        })
    }

    /// Returns the number of dirty pages that the drive has hints on. With an oracle these are all
    /// dirty pages.
    pub fn known(&self) -> u32 {
        if self.way == Way::Oracle { self.dirty.len() } else { self.known.len() }
    }

    /// Notes that `page` has become dirty. Calls `tell` with the page of each hint that leaves at
    /// once.
    pub(super) fn dirtied(&mut self, page: u32, tell: &mut dyn FnMut(u32)) {
        self.dirtied_together(page..page + 1, tell);
    }

    /// Notes that `pages` have become dirty together. Calls `tell` with the page of each hint that
    /// leaves at once.
    pub fn dirtied_together(&mut self, pages: Range<u32>, tell: &mut dyn FnMut(u32)) {
        for page in pages {
            self.counts.due += 1;
            self.dirty.insert(page);
            match self.way {
                Way::None | Way::Oracle => {}
                Way::Perfect => self.send(page, tell),
                // If the drive got a hint, the read that brought the page in carried it.
                Way::Frequency => {
                    if self.told_by_read.take() == Some(page) {
                        self.known.insert(page);
                    }
                }
                Way::Piggyback | Way::Command(_) => self.enqueue(page),
            }
        }
        if let Way::Command(extents) = self.way
            && self.queue.len() >= extents
        {
            self.counts.commands += 1;
            while self.leave(tell) {}
        }
    }

    fn enqueue(&mut self, page: u32) {
        if !self.waiting.insert(page) {
            return;
        }
        match self.queue.back_mut() {
            Some(last) if last.first + last.count == page && last.count < self.extent_pages => {
                last.count += 1;
            }
            _ => self.queue.push_back(Extent { first: page, count: 1 }),
        }
    }

    /// Sends the first extent of the queue that has a waiting page. Returns `true` if there was
    /// one.
    fn leave(&mut self, tell: &mut dyn FnMut(u32)) -> bool {
        while let Some(Extent { first, count }) = self.queue.pop_front() {
            let mut left = false;
            for page in first..first + count {
                if self.waiting.remove(page) {
                    self.send(page, tell);
                    left = true;
                }
            }
            if left {
                return true;
            }
        }
        false
    }

    /// Notes that a read or a write command leaves for the drive. Calls `tell` with the page of
    /// each hint that arrives with this command.
    pub fn command(&mut self, tell: &mut dyn FnMut(u32)) {
        self.commands += 1;
        while let Some(&(at, page, honest)) = self.under_way.front()
            && at <= self.commands
        {
            self.under_way.pop_front();
            self.arrive(page, honest, tell);
        }
        if self.way == Way::Piggyback {
            self.leave(tell);
        }
    }

    /// Notes that `page` is about to be read so that it can be updated.
    pub(super) fn read_to_update(&mut self, page: u32, tell: &mut dyn FnMut(u32)) {
        if self.way == Way::Frequency {
            self.updating = Some(page);
            self.send(page, tell);
            self.updating = None;
        }
    }

    /// Notes that the write of `page` leaves for the drive, so that hints on it are no longer
    /// needed.
    pub fn written(&mut self, page: u32) {
        self.written_last = page;
        self.forget(page);
    }

    /// Notes that `page` is not dirty any more.
    pub fn forget(&mut self, page: u32) {
        self.known.remove(page);
        self.dirty.remove(page);
        self.counts.overtaken += u64::from(self.waiting.remove(page));
    }

    fn send(&mut self, page: u32, tell: &mut dyn FnMut(u32)) {
        let chance =
            if self.lost + self.wrong + self.adverse > 0.0 { self.rng.unit() } else { 1.0 };
        if chance < self.lost {
            self.counts.lost += 1;
            return;
        }
        let (named, honest) = if chance < self.lost + self.wrong {
            (self.rng.below(self.pages), false)
        } else if chance < self.lost + self.wrong + self.adverse {
            (self.written_last, false)
        } else {
            (page, true)
        };
        if self.late > 0 {
            self.under_way.push_back((self.commands + self.late, named, honest));
        } else {
            self.arrive(named, honest, tell);
        }
    }

    fn arrive(&mut self, page: u32, honest: bool, tell: &mut dyn FnMut(u32)) {
        self.counts.sent += 1;
        if self.dirty.has(page) {
            self.known.insert(page);
        } else if self.updating == Some(page) {
            self.told_by_read = Some(page);
        } else if honest {
            self.counts.late += 1;
        } else {
            self.counts.wrong += 1;
        }
        tell(page);
    }
}
