//! The drive under a virtual memory system. Page references go through a page cache, and dirty
//! pages that leave it are written to flash. Collections may know which pages are in memory.

use flashgc_base::naming::{choice, subject};
use flashgc_base::snapshot::{Fault, State};
use flashgc_base::spec::SpecError;
use flashgc_base::{Residency, fail_if, refuse_if};
use flashgc_ftl::{Costs, FtlError, Mapping, Moment, Scheme, Translation};
use flashgc_host::{Evicted, PageCache, PageCacheSpec};
use flashgc_workload::{Batch, Op, Workload};

use crate::counting::{Drive, check_batch};
use crate::error::DriveError;
use crate::extent::{Extent, Plan, Unit};
use crate::host_commands::HostCommands;
use crate::swapping::Swapping;

/// The host's memory, as typed.
#[derive(Clone)]
pub struct SwapSpec {
    /// The page cache.
    pub cache: PageCacheSpec,
    /// The number of pages in the cache.
    pub cache_pages: u32,
    /// The treatment by collections of pages that are in the cache.
    pub scheme: Scheme,
    /// The costs that the scheme weighs.
    pub costs: Costs,
}

impl SwapSpec {
    /// Checks that a drive of `logical_pages` pages with this mapping can have this memory, and
    /// that `plan` fits it.
    ///
    /// # Errors
    /// A scheme that the mapping does not have, a cache of no or too many pages, a run whose length
    /// is in page writes.
    pub fn check(
        &self,
        logical_pages: u32,
        mapping: &Mapping,
        plan: &Plan,
    ) -> Result<(), SpecError> {
        mapping.check_scheme(self.scheme)?;
        // This cache is not used. It is built so that a fault shows before any run.
        self.cache.build(logical_pages, self.cache_pages)?;
        refuse_if!(
            plan.warmup.unit != Unit::Commands && plan.warmup.amount > 0
                || plan.measured.unit != Unit::Commands,
            format!(
                "{}, or {} of a trace, and {}",
                choice("requests", 10_000_000),
                choice("passes", 1),
                choice("warmup", "1/3")
            ),
            "{} needs a length and a warm-up in references, found page writes: the run of a \
             program is as long as its references to memory",
            subject("vm_page_cache")
        );
        Ok(())
    }

    /// Returns a drive at the beginning of `workload`, with an empty page cache.
    pub fn drive(
        &self,
        mut layer: Box<dyn Translation>,
        workload: Box<dyn Workload>,
    ) -> Result<SwapDrive, FtlError> {
        let pages = layer.geometry().logical_pages();
        let mut cache = self.cache.build(pages, self.cache_pages)?;
        match layer.memory() {
            Some(shares) => shares.share(self.scheme, self.costs, memory(&mut *cache))?,
            None => self.scheme.check_unaware()?,
        }
        Ok(SwapDrive {
            layer,
            cache,
            workload,
            batch: Batch::default(),
            done: 0,
            counts: Swapping::default(),
        })
    }
}

fn memory(cache: &mut dyn PageCache) -> &mut dyn Residency {
    cache
}

/// A page cache, the translation layer below it and the references that run on them.
#[derive(State)]
#[snapshot(named = "swap drive", then = check)]
pub struct SwapDrive {
    #[snapshot(state)]
    layer: Box<dyn Translation>,
    #[snapshot(state)]
    cache: Box<dyn PageCache>,
    #[snapshot(state)]
    workload: Box<dyn Workload>,
    batch: Batch,
    /// The number of references of `batch` that are done.
    done: usize,
    counts: Swapping,
}

impl SwapDrive {
    fn check(&mut self) -> Result<(), Fault> {
        check_batch(&self.batch, self.done)?;
        self.audit().map_err(Fault)
    }

    /// Returns the page cache.
    pub fn cache(&self) -> &dyn PageCache {
        &*self.cache
    }

    /// Checks that the layer's invariants hold, and that every clean page in memory is on flash.
    pub fn audit(&mut self) -> Result<(), String> {
        match self.layer.memory() {
            Some(shares) => shares.audit_beside(memory(&mut *self.cache))?,
            None => self.layer.audit()?,
        }
        for page in 0..self.layer.geometry().logical_pages() {
            let clean = self.cache.lookup(page).is_some_and(|state| !state.dirty);
            fail_if!(
                clean && self.layer.locate(page).is_none(),
                "page {page} is clean in memory and not on flash"
            );
        }
        Ok(())
    }

    /// The host reads `page`, or writes it if `write`.
    #[inline]
    fn refer(&mut self, page: u32, write: bool) -> Result<(), FtlError> {
        self.counts.references += 1;
        self.counts.writes += u64::from(write);
        if self.cache.touch(page, write) {
            self.counts.hits += 1;
            return Ok(());
        }
        self.fault(page, write)
    }

    /// Brings in a page that is not in memory; another page leaves if there is no room.
    fn fault(&mut self, page: u32, write: bool) -> Result<(), FtlError> {
        match self.cache.make_room() {
            Some(Evicted { page, dirty: true }) => {
                match self.layer.memory() {
                    Some(shares) => shares.swap_out(page, memory(&mut *self.cache))?,
                    None => self.layer.write(&[page])?,
                }
                self.counts.swap_outs += 1;
            }
            Some(_) => self.counts.clean_evictions += 1,
            None => {}
        }
        let on_flash = self.layer.locate(page).is_some();
        if on_flash {
            if let Some(reads) = self.layer.reads() {
                reads.read(&[page])?;
            }
            self.counts.swap_ins += 1;
        } else {
            self.counts.first_touches += 1;
        }
        // A page that is not on flash would be lost if it left the cache unwritten, so it is dirty
        // from the first.
        self.cache.insert(page, write || !on_flash);
        Ok(())
    }

    /// Discards a page that the host gives up. A page in memory is in use, and stays.
    fn discard(&mut self, page: u32) -> Result<(), FtlError> {
        match self.cache.lookup(page) {
            None => self.layer.trim(&[page]),
            Some(_) => Ok(()),
        }
    }
}

impl Drive for SwapDrive {
    fn layer(&self) -> &dyn Translation {
        &*self.layer
    }

    fn commands(&self) -> HostCommands {
        HostCommands { reads: self.counts.swap_ins, ..HostCommands::default() }
    }

    fn has_ended(&self) -> bool {
        false
    }

    fn first_failure(&self) -> Option<(Moment, HostCommands)> {
        None
    }

    fn swapping(&self) -> Option<Swapping> {
        let duplicates = self.layer.counts().duplicates.unwrap_or_default();
        Some(Swapping { duplicates, ..self.counts })
    }

    fn position(&self, _: Unit) -> u64 {
        self.counts.references
    }

    /// Executes references up to one batch, and not beyond `target`, which is in requests.
    fn step(&mut self, target: Extent) -> Result<bool, DriveError> {
        let left = target.amount.saturating_sub(self.counts.references);
        if left == 0 {
            return Ok(false);
        }
        if self.done == self.batch.pages.len() {
            self.workload.fill(&mut self.batch, Batch::DEFAULT_LEN)?;
            self.done = 0;
            if self.batch.pages.is_empty() {
                return Ok(false);
            }
        }
        let batch = std::mem::take(&mut self.batch);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let end = batch.pages.len().min(self.done.saturating_add(left));
        let mut result = Ok(());
        for index in self.done..end {
            let page = batch.pages[index];
            result = match batch.ops.get(index).copied().unwrap_or(Op::Write) {
                Op::Trim => {
                    self.counts.references += 1;
                    self.discard(page)
                }
                op => self.refer(page, op == Op::Write),
            };
            if result.is_err() {
                break;
            }
        }
        self.done = end;
        self.batch = batch;
        Ok(result.map(|()| true)?)
    }

    fn audit(&mut self) -> Result<(), String> {
        self.audit()
    }
}
