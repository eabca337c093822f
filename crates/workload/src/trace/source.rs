//! A trace prepared for replay: its statistics, its page map and, if they fit into the allowed
//! memory, its page commands. This module knows nothing of drives.

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Arc, OnceLock};

use flashgc_base::spec::count;

use super::address_map::{AddressMap, Numbering, Paging, PagingOptions};
use super::error::{Fault, TraceError, smaller_blocks};
use super::format::ReadOptions;
use super::given::GivenPages;
use super::reader::{Progress, TraceReader, cancelled};
use super::replay::{Changes, Commands, Expander, Kinds, Replay, Replayer};
use super::stat::{StatBuilder, TraceStat, map_full};
use crate::Op;

/// Options for converting a trace to page commands.
#[derive(Clone, Debug)]
pub struct SourceOptions {
    /// Options for reading the file.
    pub read: ReadOptions,
    /// Options for converting requests to pages.
    pub paging: PagingOptions,
    /// The kinds of commands that are replayed.
    pub kinds: Kinds,
    /// The largest number of bytes of memory for decoded commands. A longer trace is read again in
    /// every pass.
    pub memory_limit: u64,
}

impl SourceOptions {
    /// The default of [`Self::memory_limit`]: 1 GiB, about 250 million page commands.
    pub const MEMORY_LIMIT: u64 = 1 << 30;
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self {
            read: ReadOptions::default(),
            paging: PagingOptions::default(),
            kinds: Kinds::default(),
            memory_limit: Self::MEMORY_LIMIT,
        }
    }
}

/// A trace that was read once. It can be replayed any number of times at once, and clones share its
/// data.
#[derive(Clone, Debug)]
pub struct TraceSource {
    path: PathBuf,
    options: SourceOptions,
    stat: TraceStat,
    map: Arc<AddressMap>,
    numbering: Numbering,
    given: Option<GivenPages>,
    /// The highest number of a page in any command, plus 1.
    bound: u32,
    commands: Option<Arc<Commands>>,
    /// The writes and discards among `commands`; computed when they are first needed.
    changes: OnceLock<Arc<Commands>>,
}

impl TraceSource {
    /// Reads a trace once: counts its requests, numbers its pages, and keeps its commands if they
    /// fit into memory.
    ///
    /// # Errors
    /// The reader finds a fault, there are no requests, no writes or too many pages, or pages
    /// cannot keep their numbers although they should.
    pub fn load(path: impl AsRef<Path>, options: SourceOptions) -> Result<Self, TraceError> {
        Self::load_with(path, options, |_| true)
    }

    /// Reads a trace like [`load`](Self::load), and calls `go_on` with the progress between blocks.
    ///
    /// # Errors
    /// The errors of [`load`](Self::load), and [`Fault::Cancelled`] if `go_on` returns `false`.
    pub fn load_with(
        path: impl AsRef<Path>,
        options: SourceOptions,
        mut go_on: impl FnMut(&Progress) -> bool,
    ) -> Result<Self, TraceError> {
        let path = path.as_ref().to_owned();
        let page = options.paging.page_size;
        if !page.is_power_of_two() || !(512..=1 << 30).contains(&page) {
            let message = format!("found a page size of {page} bytes, expected a power of two");
            return Err(TraceError::new(&path, Fault::Option, message).hint("4096 is usual"));
        }
        let mut reader = TraceReader::open_with(&path, &options.read, &mut go_on)?;
        let progress = reader.progress();
        reader.check_page_size(page)?;
        let numbering = reader.numbering(&options.paging)?;
        let mut builder = StatBuilder::numbered(&reader, options.paging, numbering);
        let mut commands = Some(Commands::default());
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {
            let added = match &mut commands {
                Some(kept) => block.iter().try_for_each(|request| {
                    if request.op == Op::Flush {
                        kept.flush();
                    }
                    let first = kept.len();
                    builder.add(slice::from_ref(request), |op, page| {
                        if options.kinds.keep(op) {
                            kept.push(op, page, request.stream);
                        }
                    })?;
                    kept.shorten(first, options.paging.missing(request));
                    kept.join(first);
                    Ok(())
                }),
                None => builder.add(&block, |_, _| {}),
            };
            added.map_err(|full| map_full(&reader, full))?;
            if commands.as_ref().is_some_and(|kept| kept.memory_bytes() > options.memory_limit) {
                commands = None;
            }
            if !go_on(&progress) {
                return Err(cancelled(&path));
            }
        }
        let stat = builder.finish(&reader)?;
        if stat.writes == 0 || stat.page_writes == 0 {
            let message = format!(
                "the trace has no writes ({}, {}), so there is nothing to collect",
                count(stat.reads, "read"),
                count(stat.discards, "discard")
            );
            return Err(
                TraceError::new(&path, Fault::Empty, message).hint("choose a trace with writes")
            );
        }
        // A discard of a page that is first accessed later has no effect in the first pass, but
        // frees the page in the next pass. It needs the number of the page, which did not exist
        // when the discard was read.
        let again = builder.early_trim();
        let (mut map, given) = builder.into_map();
        let mut bound = map.len() as u32;
        if let Some(numbers) = map.number(numbering) {
            bound = numbers.iter().max().map_or(0, |highest| highest.saturating_add(1));
            if let Some(kept) = &mut commands {
                kept.renumber(&numbers);
            }
        }
        let map = Arc::new(map);
        if again && commands.is_some() {
            commands = decode(&path, &options, &map, &mut go_on)?;
        }
        if let Some(kept) = &mut commands {
            kept.shrink();
        }
        let commands = commands.map(Arc::new);
        let changes = OnceLock::new();
        Ok(Self { path, options, stat, map, numbering, given, bound, commands, changes })
    }

    /// Returns the statistics of the trace.
    pub fn stat(&self) -> &TraceStat {
        &self.stat
    }

    /// Returns the map from the trace's pages to logical pages.
    pub fn map(&self) -> &AddressMap {
        &self.map
    }

    /// Returns `true` if the commands are in memory. Otherwise every pass reads the file again.
    pub fn in_memory(&self) -> bool {
        self.commands.is_some()
    }

    /// Returns the numbering of the pages.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// Returns the pages that keep their numbers; `None` if pages get other numbers.
    pub fn given(&self) -> Option<&GivenPages> {
        self.given.as_ref()
    }

    /// Returns the highest page number plus 1.
    fn numbers(&self) -> u32 {
        self.given.as_ref().map_or(self.map.len() as u32, GivenPages::least)
    }

    /// Returns the number of logical pages of a drive for this trace, with blocks of
    /// `pages_per_block` pages: see [`Paging::logical_pages`]. References to memory are never left
    /// out. If pages keep their numbers, it is the number for the smallest drive that has all pages
    /// of the trace.
    pub fn logical_pages(&self, pages_per_block: u32) -> u32 {
        let paging =
            if self.stat.has_references() { Paging::Covered } else { self.options.paging.paging };
        paging.logical_pages(self.numbers(), pages_per_block)
    }

    /// Returns the number of page requests in one pass over the whole trace: reads and writes,
    /// after splitting into pages.
    pub fn page_requests(&self) -> u64 {
        self.stat.page_requests
    }

    /// Returns the number of page commands in a pass of [`Self::open_changes`]; `None` if they are
    /// not in memory.
    pub fn changes(&self) -> Option<u64> {
        self.kept_changes().map(|kept| kept.len() as u64)
    }

    /// Returns the writes and discards; `None` if the commands are not in memory.
    fn kept_changes(&self) -> Option<&Arc<Commands>> {
        let commands = self.commands.as_ref()?;
        Some(self.changes.get_or_init(|| match commands.changes() {
            Some(changes) => Arc::new(changes),
            None => Arc::clone(commands),
        }))
    }

    /// Starts an endless replay of only the writes and discards, on a drive of `logical_pages`
    /// pages.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_changes(&self, logical_pages: u32) -> Result<Changes, TraceError> {
        let replay = match self.kept_changes() {
            Some(kept) => Replayer::kept(Arc::clone(kept), logical_pages, Replay::Endless),
            None => {
                let (map, paging) = (Arc::clone(&self.map), self.options.paging);
                let kinds = match self.options.kinds {
                    Kinds::Writes => Kinds::Writes,
                    Kinds::All | Kinds::Changes => Kinds::Changes,
                };
                let expander = Expander::new(map, paging, kinds);
                let read = &self.options.read;
                Replayer::streamed(&self.path, read, expander, logical_pages, Replay::Endless)?
            }
        };
        Ok(Changes::new(replay.below(self.bound)))
    }

    /// Starts a replay on a drive of `logical_pages` pages (see [`Self::logical_pages`]).
    ///
    /// # Errors
    /// There are no logical pages, the swap space is too small for the pages of references to
    /// memory, or the file of a streamed trace no longer exists.
    pub fn open(&self, logical_pages: u32, replay: Replay) -> Result<Replayer, TraceError> {
        let pages = self.numbers();
        if self.stat.has_references() && pages > logical_pages {
            let message = format!(
                "found references to {}, beyond the swap space of {}",
                count(pages.into(), "distinct page"),
                count(logical_pages.into(), "page")
            );
            return Err(TraceError::new(&self.path, Fault::Option, message)
                .hint(format!("use a swap space of at least {pages} pages")));
        }
        if logical_pages == 0 {
            let message = "found 0 logical pages, expected at least 1";
            return Err(TraceError::new(&self.path, Fault::Option, message).hint(smaller_blocks()));
        }
        let replay = match &self.commands {
            Some(commands) => Replayer::kept(Arc::clone(commands), logical_pages, replay),
            None => {
                let expander = self.expander();
                Replayer::streamed(&self.path, &self.options.read, expander, logical_pages, replay)?
            }
        };
        Ok(replay.below(self.bound))
    }

    fn expander(&self) -> Expander {
        Expander::new(Arc::clone(&self.map), self.options.paging, self.options.kinds)
    }
}

/// Reads the trace again, with the complete map. Returns `None` if the commands do not fit into
/// memory.
fn decode(
    path: &Path,
    options: &SourceOptions,
    map: &Arc<AddressMap>,
    go_on: &mut impl FnMut(&Progress) -> bool,
) -> Result<Option<Commands>, TraceError> {
    let expander = Expander::new(Arc::clone(map), options.paging, options.kinds);
    let mut reader = TraceReader::open_with(path, &options.read, &mut *go_on)?;
    let progress = reader.progress();
    let (mut commands, mut block) = (Commands::default(), Vec::new());
    while reader.next_block(&mut block)? {
        for request in &block {
            expander
                .expand(request, &mut commands)
                .map_err(|message| TraceError::new(path, Fault::Io, message))?;
        }
        if commands.memory_bytes() > options.memory_limit {
            return Ok(None);
        }
        if !go_on(&progress) {
            return Err(cancelled(path));
        }
    }
    Ok(Some(commands))
}
