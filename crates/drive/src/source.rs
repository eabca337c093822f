//! The sources of a run's commands: generators and traces behind one trait.

use std::path::{Path, PathBuf};

use flashgc_base::naming::{choice, subject};
use flashgc_base::spec::{SpecError, count};
use flashgc_workload::generate::{GeneratorSpec, generators};
use flashgc_workload::requests::{Requests, Space, request_generators};
use flashgc_workload::trace::{
    Fault, GivenPages, Numbering, Progress, Replay, SourceOptions, TraceError, TraceSource,
    TraceStat, smaller_blocks,
};
use flashgc_workload::{Batch, Op, Workload, WorkloadError};

use crate::extent::Pass;

/// A workload that can be opened once for each run.
#[allow(unused_variables)] // the names say what an implementation is told
pub trait Source: Send + Sync {
    /// Returns the full text of the workload, as results record it.
    fn canonical(&self) -> String;

    /// Returns the number of logical pages that the workload addresses, in whole blocks of
    /// `pages_per_block`; `None` if the drive may have any number.
    fn fixed_pages(&self, pages_per_block: u32) -> Option<u32>;

    /// Returns the pages that the workload names by their numbers on the drive, so that the drive
    /// decides how many pages it has. `None` if the workload numbers its pages itself.
    fn given(&self) -> Option<&GivenPages> {
        None
    }

    /// Returns the numbering of a trace's pages, if it must be given: an ordinary trace, with pages
    /// numbered by address, does not need it.
    fn numbering(&self) -> Option<Numbering> {
        None
    }

    /// Returns the generator or mixture that makes the workload, or `None` if none does.
    fn generator(&self) -> Option<&GeneratorSpec> {
        None
    }

    /// Checks that the workload can have requests of the size that `space` gives, which is not the
    /// page size, or of the sizes that a generator gives.
    ///
    /// # Errors
    /// A workload with sizes of its own; a size that does not fit the pages.
    fn check_request_size(&self, space: &Space) -> Result<(), SpecError> {
        Err(SpecError::new(
            format!(
                "{} only applies to generators of pages, and {} has sizes of its own",
                subject("request_size"),
                self.canonical()
            ),
            "leave it out",
        ))
    }

    /// Checks that the workload can have pages of `bytes` bytes.
    fn check_page_size(&self, bytes: u32) -> Result<(), SpecError> {
        Ok(())
    }

    /// Returns `true` if any of the workload's writes have a stream.
    fn has_streams(&self) -> bool {
        false
    }

    /// Returns the counts of one replay; `None` if the workload has no end.
    fn pass(&self) -> Option<Pass>;

    /// Returns the number of page commands in one replay of [`Self::open_changes`]; `None` if the
    /// workload has no end.
    fn changes(&self) -> Option<u64> {
        self.pass().map(|pass| pass.commands)
    }

    /// Returns the number of page commands of the workload's first `requests` requests, on a drive
    /// that offers `space`.
    ///
    /// # Errors
    /// The errors of the trace.
    fn commands(&self, requests: u64, space: &Space) -> Result<u64, SpecError> {
        Ok(requests.saturating_mul(u64::from(space.request_size / space.page_size).max(1)))
    }

    /// Returns the statistics of the workload's trace, or `None` for a generator.
    fn stat(&self) -> Option<&TraceStat> {
        None
    }

    /// Returns the commands of one run, endless, on a drive that offers `space`.
    fn open(&self, space: &Space, seed: u64) -> Result<Box<dyn Workload>, WorkloadError>;

    /// Returns the writes and discards of [`Self::open`], perhaps with reads between them.
    fn open_changes(&self, space: &Space, seed: u64) -> Result<Box<dyn Workload>, WorkloadError> {
        self.open(space, seed)
    }

    /// Returns the files from which the workload is read.
    fn files(&self) -> Vec<PathBuf>;

    /// Returns the same workload as requests with times, for a drive with a clock.
    fn requests(&self) -> Option<&Requests> {
        None
    }

    /// Returns the workload of each tenant, if several share the drive.
    fn tenants(&self) -> &[Requests] {
        &[]
    }
}

/// Returns `true` if `workload` is the path of a trace: it is no generator's spec, and such a file
/// exists or the text looks like a path.
pub fn is_trace(workload: &str) -> bool {
    let name = workload.split(':').next().unwrap_or_default().trim();
    let mut names = generators().iter().map(|info| info.name);
    let is_generator = names.any(|known| known == name)
        || request_generators().iter().any(|info| info.name == name)
        || workload.contains('*');
    !is_generator && (Path::new(workload).exists() || workload.contains(['/', '.', '\\']))
}

/// Checks that `workload` is a workload of a drive that counts: a generator, a mixture, or a path.
///
/// # Errors
/// An unknown generator or parameter.
pub fn check(workload: &str) -> Result<(), SpecError> {
    if is_trace(workload) { Ok(()) } else { GeneratorSpec::parse(workload).map(drop) }
}

/// Checks that `workload` is a workload of a drive with a clock.
///
/// # Errors
/// An unknown generator or parameter.
pub fn check_timed(workload: &str) -> Result<(), SpecError> {
    if is_trace(workload) { Ok(()) } else { Requests::parse(workload).map(drop) }
}

impl Source for GeneratorSpec {
    fn canonical(&self) -> String {
        self.to_string()
    }

    fn generator(&self) -> Option<&GeneratorSpec> {
        Some(self)
    }

    fn commands(&self, requests: u64, space: &Space) -> Result<u64, SpecError> {
        match self.pages_of_each(space.page_size, space.request_size) {
            Some(pages) => Ok(requests.saturating_mul(pages.into())),
            None => Err(SpecError::new(
                format!(
                    "a length in requests does not go with '{self}': without a clock a run is long as its \
                     page commands, and its requests differ in their number of pages",
                ),
                "a length in writes or drive writes, or a drive with a clock",
            )),
        }
    }

    fn fixed_pages(&self, _: u32) -> Option<u32> {
        GeneratorSpec::fixed_pages(self)
    }

    fn check_request_size(&self, space: &Space) -> Result<(), SpecError> {
        self.check_sizes(space.logical_pages, space.page_size, space.request_size)
    }

    fn check_page_size(&self, bytes: u32) -> Result<(), SpecError> {
        GeneratorSpec::check_page_size(self, bytes.into())
    }

    fn has_streams(&self) -> bool {
        GeneratorSpec::has_streams(self)
    }

    fn pass(&self) -> Option<Pass> {
        None
    }

    fn files(&self) -> Vec<PathBuf> {
        GeneratorSpec::files(self)
    }

    fn open(&self, space: &Space, seed: u64) -> Result<Box<dyn Workload>, WorkloadError> {
        self.open_sized(space.logical_pages, space.page_size, space.request_size, seed)
            .map_err(|error| WorkloadError(error.marked()))
    }
}

/// A trace, replayed without end on a drive with blocks of a certain size.
pub struct TraceReplay {
    path: PathBuf,
    /// The name that results record.
    name: String,
    source: TraceSource,
    /// The counts of one replay; commands on pages that the drive leaves out do not count.
    pass: Pass,
    /// The number of requests of one replay.
    requests: u64,
    /// The part of the trace that the drive leaves out, in words.
    left_out: Option<String>,
}

impl TraceReplay {
    /// Reads the trace at `path` once, and asks `go_on` now and then whether to go on.
    /// `pages_per_block` takes the number of pages in the trace and gives the pages of a block.
    ///
    /// # Errors
    /// The errors of [`TraceSource::load_with`]; a trace that touches less than one block.
    pub fn load(
        path: impl AsRef<Path>,
        options: SourceOptions,
        pages_per_block: impl FnOnce(u64) -> u32,
        go_on: impl FnMut(&Progress) -> bool,
    ) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let source = TraceSource::load_with(path, options, go_on)?;
        let pages_per_block = pages_per_block(source.map().len() as u64);
        let logical_pages = source.logical_pages(pages_per_block);
        if logical_pages == 0 {
            let message = format!(
                "the trace touches {}, expected at least one block of {pages_per_block}",
                count(source.map().len() as u64, "page")
            );
            return Err(TraceError::new(path, Fault::Empty, message).hint(smaller_blocks()));
        }
        let mut replay = source.open(logical_pages, Replay::Passes(1))?;
        let mut batch = Batch { wants_joints: true, ..Batch::default() };
        let (mut pass, mut requests) = (Pass { commands: 0, writes: 0 }, 0);
        loop {
            replay
                .fill(&mut batch, 1 << 16)
                .map_err(|WorkloadError(text)| TraceError::new(path, Fault::Empty, text))?;
            if batch.pages.is_empty() {
                break;
            }
            pass.commands += batch.pages.len() as u64;
            requests += (batch.pages.len() - batch.joints.len()) as u64;
            pass.writes += match batch.ops.as_slice() {
                [] => batch.pages.len() as u64,
                ops => ops.iter().filter(|&&op| op == Op::Write).count() as u64,
            };
        }
        let pages = source.map().len() as u64;
        let left_out = pages.checked_sub(logical_pages.into()).filter(|&pages| pages > 0);
        let left_out = left_out.map(|beyond| {
            let writes = source.stat().page_writes - pass.writes;
            format!(
                "{} leaves out {beyond} of {} of the trace and {} of a pass",
                choice("paging", "floor"),
                count(pages, "page"),
                count(writes, "page write")
            )
        });
        let name = path.display().to_string();
        Ok(Self { path: path.to_owned(), name, source, pass, requests, left_out })
    }

    /// Names the replay: results record it as `name`.
    #[must_use]
    pub fn named(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Returns `true` if the requests of the trace are references to memory, not requests of a host
    /// to a drive.
    pub fn has_references(&self) -> bool {
        self.source.stat().has_references()
    }

    /// Returns `true` if the trace marks the dirty pages in its host's cache.
    pub fn has_dirty(&self) -> bool {
        self.source.stat().dirty > 0
    }

    /// Returns notes for the user on how the trace was read.
    pub fn notes(&self) -> Vec<String> {
        let stat = self.source.stat();
        let mut notes: Vec<String> = stat.notes.iter().cloned().collect();
        if stat.others.skipped_lines > 0 {
            let lines = count(stat.others.skipped_lines, "bad line");
            notes.push(format!("{lines} of the trace left out"));
        }
        notes.extend(self.left_out.clone());
        notes
    }
}

impl Source for TraceReplay {
    fn canonical(&self) -> String {
        self.name.clone()
    }

    fn fixed_pages(&self, pages_per_block: u32) -> Option<u32> {
        let is_fixed = self.source.given().is_none();
        is_fixed.then(|| self.source.logical_pages(pages_per_block))
    }

    fn given(&self) -> Option<&GivenPages> {
        self.source.given()
    }

    fn numbering(&self) -> Option<Numbering> {
        unusual(self.source.numbering(), self.source.stat())
    }

    fn has_streams(&self) -> bool {
        self.source.stat().has_streams()
    }

    fn pass(&self) -> Option<Pass> {
        Some(self.pass)
    }

    fn commands(&self, requests: u64, space: &Space) -> Result<u64, SpecError> {
        let fault = |text: String| SpecError::new(text, "give a trace that can be read");
        let a_pass = self.requests.max(1);
        let (mut left, mut commands) = (requests % a_pass, requests / a_pass * self.pass.commands);
        if left == 0 {
            return Ok(commands);
        }
        let pass = self.source.open(space.logical_pages, Replay::Passes(1));
        let mut pass = pass.map_err(|error| fault(error.marked()))?;
        let mut batch = Batch { wants_joints: true, ..Batch::default() };
        loop {
            pass.fill(&mut batch, 1 << 16).map_err(|WorkloadError(text)| fault(text))?;
            let (all, mut joints) = (batch.pages.len() as u32, batch.joints.iter().peekable());
            let begins = |command: &u32| joints.next_if_eq(&command).is_none();
            // `end` is the index of the command that begins the first request beyond those that
            // count.
            if let Some(end) = (0..all).filter(begins).nth(left as usize) {
                return Ok(commands + u64::from(end));
            }
            if all == 0 {
                return Ok(commands);
            }
            commands += u64::from(all);
            left -= (batch.pages.len() - batch.joints.len()) as u64;
        }
    }

    fn stat(&self) -> Option<&TraceStat> {
        Some(self.source.stat())
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn open(&self, space: &Space, _: u64) -> Result<Box<dyn Workload>, WorkloadError> {
        match self.source.open(space.logical_pages, Replay::Endless) {
            Ok(replay) => Ok(Box::new(replay)),
            Err(error) => Err(WorkloadError(error.marked())),
        }
    }

    fn changes(&self) -> Option<u64> {
        self.source.changes().or(Some(self.pass.commands))
    }

    fn open_changes(&self, space: &Space, _: u64) -> Result<Box<dyn Workload>, WorkloadError> {
        match self.source.open_changes(space.logical_pages) {
            Ok(replay) => Ok(Box::new(replay)),
            Err(error) => Err(WorkloadError(error.marked())),
        }
    }
}

/// Returns `numbering`, but `None` for an ordinary trace whose pages are numbered by address.
fn unusual(numbering: Numbering, stat: &TraceStat) -> Option<Numbering> {
    let is_recorded = stat.address_space_bytes.is_some();
    Some(numbering).filter(|&numbering| is_recorded || numbering != Numbering::Address)
}

/// Requests with times, only for drives with a clock.
pub struct TimedSource {
    name: String,
    requests: Requests,
}

impl TimedSource {
    /// Returns the source of `requests`, which results record as `name`.
    pub fn new(name: String, requests: Requests) -> Self {
        Self { name, requests }
    }
}

impl Source for TimedSource {
    fn canonical(&self) -> String {
        match &self.requests {
            Requests::Pages(spec) => spec.to_string(),
            Requests::DiskSim(disksim) => disksim.to_string(),
            Requests::Trace(_) | Requests::Live(_) => self.name.clone(),
        }
    }

    fn generator(&self) -> Option<&GeneratorSpec> {
        match &self.requests {
            Requests::Pages(spec) => Some(spec),
            Requests::DiskSim(_) | Requests::Trace(_) | Requests::Live(_) => None,
        }
    }

    fn fixed_pages(&self, pages_per_block: u32) -> Option<u32> {
        self.requests.fixed_pages(pages_per_block)
    }

    fn given(&self) -> Option<&GivenPages> {
        match &self.requests {
            Requests::Trace(trace) => trace.given(),
            Requests::Pages(_) | Requests::DiskSim(_) | Requests::Live(_) => None,
        }
    }

    fn numbering(&self) -> Option<Numbering> {
        match &self.requests {
            Requests::Trace(trace) => unusual(trace.numbering(), trace.stat()),
            Requests::Pages(_) | Requests::DiskSim(_) | Requests::Live(_) => None,
        }
    }

    fn check_request_size(&self, space: &Space) -> Result<(), SpecError> {
        match &self.requests {
            Requests::Pages(spec) => Source::check_request_size(spec, space),
            Requests::DiskSim(_) | Requests::Trace(_) | Requests::Live(_) => Err(SpecError::new(
                format!(
                    "{} only applies to generators of pages, and the workload has sizes of its own",
                    subject("request_size")
                ),
                "leave it out",
            )),
        }
    }

    fn check_page_size(&self, bytes: u32) -> Result<(), SpecError> {
        match &self.requests {
            Requests::Pages(spec) => spec.check_page_size(bytes.into()),
            Requests::DiskSim(_) | Requests::Trace(_) | Requests::Live(_) => Ok(()),
        }
    }

    fn has_streams(&self) -> bool {
        match &self.requests {
            Requests::Pages(spec) => spec.has_streams(),
            Requests::Trace(trace) => trace.stat().has_streams(),
            Requests::DiskSim(_) => false,
            Requests::Live(requests) => requests.has_streams(),
        }
    }

    fn pass(&self) -> Option<Pass> {
        None
    }

    fn stat(&self) -> Option<&TraceStat> {
        match &self.requests {
            Requests::Trace(trace) => Some(trace.stat()),
            Requests::Pages(_) | Requests::DiskSim(_) | Requests::Live(_) => None,
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        match &self.requests {
            Requests::Pages(spec) => spec.files(),
            Requests::DiskSim(_) | Requests::Live(_) => Vec::new(),
            Requests::Trace(trace) => vec![trace.path().to_owned()],
        }
    }

    fn open(&self, _: &Space, _: u64) -> Result<Box<dyn Workload>, WorkloadError> {
        Err(WorkloadError(format!(
            "{} makes requests with arrival times, expected page commands; hint: {}",
            self.name,
            choice("kind", "timed")
        )))
    }

    fn requests(&self) -> Option<&Requests> {
        Some(&self.requests)
    }
}
