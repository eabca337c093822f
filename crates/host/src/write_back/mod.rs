//! Write-back caches of a host in front of a drive, and the hints about dirty pages.
//!
//! [`Host`] wraps a workload and is one itself: it takes the commands of an application, and
//! returns commands and hints for the drive. So every drive can use it. Its clock counts requests.
//! [`ClockedHost`] does the same on the clock of a timed drive. To add a cache, write a file with
//! its documentation and add a line to the list below. The ways of hinting are in [`hints`].

mod clocked;
mod database;
pub mod hints;
mod linux;
mod outlet;
mod pages;
mod streams;

use std::sync::{Arc, Mutex, PoisonError};

use flashgc_base::counts::{Counts, Listed};
use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer};
use flashgc_base::spec::{Documented, Param, Params, Spec, SpecError, count};
use flashgc_base::stream::StreamId;
use flashgc_workload::units::Quantity;
use flashgc_workload::{Batch, Op, StreamRanges, Workload, WorkloadError};

pub use clocked::ClockedHost;
pub use hints::{HintCounts, Hints, HintsSpec, hint_ways};
pub use outlet::Leaving;

use outlet::{Ahead, Outlet};
use streams::{PageStreams, StreamOrigin};

/// A write-back cache. It sends its reads and writes to the drive through an [`Outlet`].
#[allow(unused_variables)] // the names say what an implementation is told
trait Cache: State + Send {
    /// Lets `ns` nanoseconds pass on the clock of requests, before the next request.
    fn pass(&mut self, ns: u64, out: &mut Outlet);

    /// Reads `page` for the application.
    fn read(&mut self, page: u32, out: &mut Outlet);

    /// Writes all of `page` for the application.
    fn write(&mut self, page: u32, out: &mut Outlet);

    /// Discards `page` for the application.
    fn trim(&mut self, page: u32, out: &mut Outlet);

    /// Returns the number of pages whose newest data are only in the cache.
    fn dirty(&self) -> u32;

    /// Writes all dirty pages before the drive's clock starts, if the cache is to start clean.
    fn rest(&mut self, out: &mut Outlet) {}

    /// Changes to the clock of the drive. From now on only [`Cache::advance`] lets time pass, and
    /// only the drive knows how long a write takes.
    fn start_clock(&mut self) {}

    /// Lets `ns` nanoseconds pass on the drive's clock. Pages that are written in the background
    /// wait for [`Cache::flush_next`].
    fn advance(&mut self, ns: u64, out: &mut Outlet);

    /// Returns the nanoseconds until the cache's next round on the drive's clock, or `None` if the
    /// cache has no rounds.
    fn next_look(&self) -> Option<u64>;

    /// Writes one page that is due in the background. Returns `true` if there was one.
    fn flush_next(&mut self, out: &mut Outlet) -> bool;

    /// Returns `true` if requests wait for writes that are under way: an update of a page waits for
    /// a write of that page, and so does a request that evicts the page.
    fn waits_for_writes(&self) -> bool {
        false
    }
}

/// The sizes of a cache and of the drive behind it.
struct Room {
    /// The number of logical pages of the drive.
    pages: u32,
    page_size: u32,
    /// The number of pages of the cache.
    capacity: u32,
}

/// The entry of one cache in listings, help texts and constructors.
pub struct CacheInfo {
    /// The name that people type.
    pub name: &'static str,
    /// The parameters that the cache takes.
    pub params: &'static [Param],
    source: &'static str,
    /// Checks the rules that concern several parameters at once. Returns warnings.
    check: fn(&Params, &str) -> Result<Vec<String>, SpecError>,
    make: Make,
}

type Make = fn(&Params, &Room) -> Result<Box<dyn Cache>, SpecError>;

impl Documented for CacheInfo {
    fn source(&self) -> &'static str {
        self.source
    }
}

/// The size of a cache. Every cache has this parameter.
const SIZE: Param = Param::text("size", None).help("size of the cache with its unit, such as 4GiB");

/// The number of the application's requests a second. Every cache has this parameter.
const RATE: Param = Param::real("rate", (1e-3, 1e9), Some("10000"))
    .help("requests of one page a second, the clock of the host");

/// The time that memory takes for a request. Every cache has this parameter.
const MEMORY: Param =
    Param::text("memory", Some("5us")).help("time of a request that memory serves, with a clock");

/// The state of a page cache when the drive's clock starts.
const START: Param = Param::word("start", &["dirty", "clean"], Some("dirty")).help(
    "dirty pages when the drive's clock starts: dirty: those of the warm-up stay; clean: \
     the host was idle until all were written",
);

// The list of caches: a new one is one file and one line here.
static CACHES: &[CacheInfo] = &[linux::INFO, database::INFO];

/// Returns every registered cache, in the order in which listings show them.
pub fn write_back_caches() -> &'static [CacheInfo] {
    CACHES
}

/// Returns the time parameter `name` in nanoseconds.
fn time(params: &Params, name: &str) -> Result<u64, SpecError> {
    let form = format!("write {name}=30s, or another of ns, us, ms");
    Ok(Quantity::Time.parse(name, params.text(name), &form)?.round() as u64)
}

/// A host: its cache and its way of hinting.
#[derive(Clone)]
pub struct HostSpec {
    cache: &'static CacheInfo,
    params: Params,
    hints: HintsSpec,
    streams: StreamOrigin,
}

impl HostSpec {
    /// Reads a cache, for example `page-cache:size=4GiB`, and a way of hinting, for example
    /// `piggyback`.
    pub fn parse(cache: &str, hints: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(cache)?;
        let info = spec.entry("cache", CACHES, |info| info.name)?;
        let params = Params::resolve(&spec, info.params)?;
        let hints = HintsSpec::parse(hints)?;
        let spec = Self { cache: info, params, hints, streams: StreamOrigin::default() };
        spec.bytes()?;
        (info.check)(&spec.params, info.name)?;
        Ok(spec)
    }

    /// Returns the host with the origin of its streams set. With `by_writes` the application's
    /// writes name their streams; `by_ranges` gives streams by the address of a page.
    #[must_use]
    pub fn with_streams(self, by_writes: bool, by_ranges: Option<Arc<StreamRanges>>) -> Self {
        Self { streams: StreamOrigin { by_writes, by_ranges }, ..self }
    }

    /// Returns the cache's spec in full, with every parameter.
    pub fn cache(&self) -> String {
        self.params.to_string()
    }

    /// Returns the way of hinting.
    pub fn hints(&self) -> &HintsSpec {
        &self.hints
    }

    /// Returns warnings on parameters that are adjusted or have no effect. `of_requests` is `true`
    /// if a part of the run is on the clock of requests, `of_drive` if a part is on a drive's
    /// clock.
    pub fn warnings(&self, of_requests: bool, of_drive: bool) -> Result<Vec<String>, SpecError> {
        let mut warnings = (self.cache.check)(&self.params, self.cache.name)?;
        if !of_requests {
            let idle = self.params.changed(self.cache.params, &["rate", "speed", START.name]);
            let reason = "has no effect: the whole run is on the drive's clock";
            warnings.extend(idle.iter().map(|text| format!("{text} {reason}")));
        }
        if !of_drive {
            let mut idle = self.params.changed(self.cache.params, &[MEMORY.name, START.name]);
            idle.extend(self.hints.changed(&["cost", "queued"]));
            let reason = "has no effect with a drive without a clock";
            warnings.extend(idle.iter().map(|text| format!("{text} {reason}")));
        }
        Ok(warnings)
    }

    fn bytes(&self) -> Result<f64, SpecError> {
        Quantity::Size.parse("size", self.params.text("size"), "write size=4GiB")
    }

    /// Returns the number of pages of the cache, in front of a drive of `pages` pages.
    fn capacity(&self, page_size: u32, pages: u32) -> Result<u32, SpecError> {
        let size = self.params.text("size");
        let capacity = (self.bytes()? / f64::from(page_size)).floor();
        refuse_if!(
            capacity < 1.0,
            format!(
                "a larger one, for example {}",
                choice("host_cache", format!("{}:size=64MiB", self.cache.name))
            ),
            "{} of {size} holds no page of {page_size} bytes",
            subject("host_cache")
        );
        refuse_if!(
            capacity > f64::from(pages),
            format!("a smaller one, or more {}", option("blocks")),
            "{} of {size} holds {capacity} pages, the logical capacity is only {}: everything \
             would stay in memory",
            subject("host_cache"),
            count(pages.into(), "page")
        );
        Ok(capacity as u32)
    }

    /// Checks that the cache and the hints suit a drive of `pages` pages of `page_size` bytes.
    pub fn check(&self, page_size: u32, pages: u32) -> Result<(), SpecError> {
        self.capacity(page_size, pages)?;
        self.hints.check(page_size, pages)
    }

    /// Opens the host of `application`, for a drive of `pages` pages of `page_size` bytes.
    pub fn open(
        &self,
        application: Box<dyn Workload>,
        page_size: u32,
        pages: u32,
        seed: u64,
    ) -> Result<Host, SpecError> {
        Ok(Host {
            application,
            served: self.served(page_size, pages, seed)?,
            gap_ns: self.gap_ns(),
            batch: Batch::default(),
            done: 0,
            unseen: 0,
            foresees: self.hints.is_oracle(),
            shared: HostWatch::default(),
        })
    }

    /// Opens the host for a drive with a clock. That clock begins with [`ClockedHost::start`].
    ///
    /// # Errors
    /// The cache does not suit the drive.
    pub fn open_clocked(
        &self,
        page_size: u32,
        pages: u32,
        seed: u64,
    ) -> Result<ClockedHost, SpecError> {
        let served = self.served(page_size, pages, seed)?;
        let memory_ns = time(&self.params, "memory")?;
        Ok(ClockedHost::new(served, self.gap_ns(), memory_ns, &self.hints))
    }

    /// Returns the time from one request to the next on the clock of requests, in nanoseconds.
    fn gap_ns(&self) -> u64 {
        ((1e9 / self.params.real("rate")).round() as u64).max(1)
    }

    fn served(&self, page_size: u32, pages: u32, seed: u64) -> Result<CachedHost, SpecError> {
        let room = Room { pages, page_size, capacity: self.capacity(page_size, pages)? };
        Ok(CachedHost {
            cache: (self.cache.make)(&self.params, &room)?,
            outlet: Outlet::new(
                Hints::new(&self.hints, page_size, pages, seed)?,
                self.hints.horizon(pages).map(|writes| Ahead::new(writes, pages)),
                PageStreams::new(&self.streams, page_size, pages),
            ),
            counts: HostCounts::default(),
        })
    }
}

impl std::fmt::Debug for HostSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HostSpec({}, {})", self.cache(), self.hints)
    }
}

/// The traffic of a host, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct HostPages {
    /// Pages read by the application.
    #[counts(words = "pages read by the application")]
    pub reads: u64,
    /// Pages written by the application.
    #[counts(words = "pages written by the application")]
    pub writes: u64,
    /// Pages that the drive was asked to read: misses of the cache.
    #[counts(words = "read from the drive")]
    pub drive_reads: u64,
    /// Pages that the drive was asked to write.
    #[counts(words = "written by the cache")]
    pub drive_writes: u64,
}

/// The waits of a host's requests for its own commands, on the clock of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct HostWaits {
    /// Pages whose read a request waited for, as they were not in the cache.
    #[counts(words = "for a read")]
    pub reads: u64,
    /// Nanoseconds of these waits.
    #[counts(unit = "ns", words = "")]
    pub read_ns: u64,
    /// Pages whose write a request waited for: it needed their room, or wrote back itself.
    #[counts(words = "for a write that makes room")]
    pub rooms: u64,
    /// Nanoseconds of these waits.
    #[counts(unit = "ns", words = "")]
    pub room_ns: u64,
    /// Updates that waited until a write of their page, under way before, was done.
    #[counts(words = "for the write of the page itself")]
    pub rewrites: u64,
    /// Nanoseconds of these waits.
    #[counts(unit = "ns", words = "")]
    pub rewrite_ns: u64,
}

/// The counts of a host since it was opened.
#[derive(Clone, Copy, Default, PartialEq, Eq, Counts, Value)]
pub struct HostCounts {
    /// The pages read and written.
    pub pages: HostPages,
    /// The counts of hints.
    pub hints: HintCounts,
    /// The waits for commands; none without the clock of a drive.
    pub waits: HostWaits,
    /// The sum over all requests of the number of dirty pages at each. On the clock of a drive, the sum
    /// over nanoseconds.
    pub dirty: u128,
    /// The sum over the same moments of the number of dirty pages on which the drive had a hint.
    pub known: u128,
    /// The number of requests, or nanoseconds, in these sums.
    pub moments: u128,
}

/// Writes the counts without the waits. The digest of a result is made of this text, and waits are
/// times, not decisions.
impl std::fmt::Debug for HostCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut all = f.debug_struct("HostCounts");
        for (count, number) in HostPages::list().iter().zip(self.pages.numbers()) {
            all.field(count.name, &number);
        }
        all.field("hints", &self.hints).field("dirty", &self.dirty).field("known", &self.known);
        all.field("moments", &self.moments).finish()
    }
}

impl HostCounts {
    /// Returns the number of the application's reads and writes, of one page each.
    pub fn requests(&self) -> u64 {
        self.pages.reads + self.pages.writes
    }
}

/// Reads the counts of a host that a drive owns. They are updated at every batch.
#[derive(Clone, Default)]
pub struct HostWatch(Arc<Mutex<HostCounts>>);

impl HostWatch {
    /// Returns the counts of the host at its last batch.
    pub fn counts(&self) -> HostCounts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, counts: HostCounts) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = counts;
    }
}

/// An application behind a cache: the workload that the drive sees.
///
/// At the end of a finite application, dirty pages stay in the cache and are not written.
#[derive(State)]
#[snapshot(named = "host", then = check)]
pub struct Host {
    #[snapshot(state)]
    application: Box<dyn Workload>,
    #[snapshot(state)]
    served: CachedHost,
    /// The time from one request to the next, in nanoseconds.
    #[snapshot(skip)]
    gap_ns: u64,
    batch: Batch,
    /// The number of commands of `batch` that are done.
    done: usize,
    /// The number of requests in a row that made the drive read and write nothing.
    unseen: u64,
    /// `true` if the way of hinting is `oracle`.
    #[snapshot(skip)]
    foresees: bool,
    #[snapshot(state)]
    shared: HostWatch,
}

/// A cache, its commands for the drive, and its counts.
#[derive(State)]
struct CachedHost {
    #[snapshot(state)]
    cache: Box<dyn Cache>,
    #[snapshot(state)]
    outlet: Outlet,
    counts: HostCounts,
}

/// Saves and restores the shared counts, so that all clones of the watch see them.
impl State for HostWatch {
    fn save(&self, to: &mut Writer<'_>) {
        self.counts().put(to);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        self.tell(Value::take(from)?);
        Ok(())
    }
}

impl CachedHost {
    /// Takes the application's next command, `gap_ns` nanoseconds after the last.
    fn request_after(&mut self, gap_ns: u64, op: Op, page: u32, stream: StreamId) {
        self.cache.pass(gap_ns, &mut self.outlet);
        self.request(op, page, stream);
    }

    /// Takes the application's next command.
    fn request(&mut self, op: Op, page: u32, stream: StreamId) {
        let (cache, out) = (&mut self.cache, &mut self.outlet);
        out.made_room = None;
        match op {
            Op::Read => {
                self.counts.pages.reads += 1;
                cache.read(page, out);
            }
            Op::Write => {
                self.counts.pages.writes += 1;
                out.streams.note(page, stream);
                cache.write(page, out);
            }
            Op::Trim => cache.trim(page, out),
            // Only traces have these operations. The first two are hints, and this host makes its
            // own hints.
            Op::Dirty | Op::Clean | Op::Flush => {}
        }
    }

    /// Adds the present numbers of dirty and of known pages to the sums, `moments` times each.
    fn measure(&mut self, moments: u64) {
        let moments = u128::from(moments);
        self.counts.moments += moments;
        self.counts.dirty += moments * u128::from(self.cache.dirty());
        self.counts.known += moments * u128::from(self.outlet.hints.known());
    }

    fn counts(&self) -> HostCounts {
        let Outlet { reads: drive_reads, writes: drive_writes, ref hints, .. } = self.outlet;
        let pages = HostPages { drive_reads, drive_writes, ..self.counts.pages };
        HostCounts { pages, hints: hints.counts, ..self.counts }
    }
}

impl Host {
    /// A run fails if more requests in a row than this number stay in the cache, and if they also
    /// take at least [`Host::MOST_UNSEEN_NS`]. With usual settings this does not happen.
    const MOST_UNSEEN: u64 = 4_000_000;
    /// A run fails only if such requests take at least this time on the host's clock, in
    /// nanoseconds.
    const MOST_UNSEEN_NS: u64 = 60_000_000_000;

    fn check(&self) -> Result<(), Fault> {
        if self.done <= self.batch.pages.len() {
            return Ok(());
        }
        Err(Fault::new("more commands of the application are done than there are"))
    }

    /// Returns a reader of the counts, for use while a drive owns the host.
    pub fn watch(&self) -> HostWatch {
        self.shared.clone()
    }

    /// Takes the application's next request. Returns `false` when it has no more.
    fn request(&mut self) -> Result<bool, WorkloadError> {
        if self.done == self.batch.pages.len() {
            self.application.fill(&mut self.batch, Batch::DEFAULT_LEN)?;
            self.done = 0;
            if self.batch.pages.is_empty() {
                return Ok(false);
            }
        }
        let page = self.batch.pages[self.done];
        let (op, stream) = (self.batch.op(self.done), self.batch.stream(self.done));
        self.done += 1;
        let before = self.served.outlet.pages();
        self.served.request_after(self.gap_ns, op, page, stream);
        self.served.outlet.served();
        self.served.measure(1);
        // A TRIM does not count here, as the cache passes every TRIM on.
        let is_seen = self.served.outlet.pages() > before;
        self.unseen = if is_seen { 0 } else { self.unseen + 1 };
        let most = Self::MOST_UNSEEN.max(Self::MOST_UNSEEN_NS / self.gap_ns);
        if self.unseen > most {
            return Err(WorkloadError(format!(
                "cache: {most} requests in a row stayed in the cache, expected some that make the \
                 drive read or write; hint: a smaller cache, or one that writes back earlier"
            )));
        }
        Ok(true)
    }

    /// Fills a batch with commands whose writes an oracle has announced to the drive.
    fn foresee(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        while batch.pages.len() < limit {
            self.served.outlet.look(batch);
            while self.served.outlet.sees_less() && self.request()? {
                self.served.outlet.look(batch);
            }
            if !self.served.outlet.hand_out_seen(batch) {
                break;
            }
        }
        Ok(())
    }
}

impl Workload for Host {
    fn fill(&mut self, batch: &mut Batch, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        if self.foresees {
            self.foresee(batch, limit)?;
        } else {
            while self.served.outlet.commands < limit && self.request()? {}
            self.served.outlet.hand_out(batch, limit);
        }
        self.shared.tell(self.served.counts());
        Ok(())
    }
}
