//! Resolves a configuration with a clock to a drive that can be made: geometry, warm-up, length.

use std::sync::Arc;

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::spec::SpecError;
use flashgc_drive::extent::{Extent, Length, Plan, Unit, Warmup};
use flashgc_drive::source::Source;
use flashgc_ftl::{Frontier, FtlError, Geometry, Lifespan, Mapping, PlacementSpec};
use flashgc_timed::tenants::{ClassWeights, Tenant};
use flashgc_timed::words::Window;
use flashgc_timed::{Loop, Settings};
use flashgc_workload::requests::{Requests, Space};

use super::plan::TimedPlan;
use crate::input::without_times;
use crate::options::{RunConfig, TimedConfig, TimelineConfig, find};
use crate::shape::{check_page_numbers, no_blocks, with_room};
use crate::tenants;
use crate::times::Times;

/// The number of drive writes after which a drive is measured even if it has not settled.
const MOST_SETTLING: u64 = 20;

/// A timed drive and its runs, checked and resolved.
#[derive(Clone)]
pub(crate) struct Timed {
    /// The plan from the configuration.
    pub plan: TimedPlan,
    /// The settings of the drive.
    pub settings: Settings,
    /// The page writes before the clock starts. If these writes end when the drive has settled,
    /// this is their highest number.
    pub precondition: u64,
    /// `true` if the writes before the clock end when the drive has settled.
    pub settles: bool,
    /// The number of requests that are not measured.
    pub warmup: u64,
    /// The number of requests of the run, warm-up included.
    pub requests: u64,
    /// The number of replays of a trace; `None` for generators.
    pub passes: Option<u64>,
    /// The tenants; empty unless several share the drive.
    pub tenants: Arc<[Tenant]>,
    /// The number of requests of each class in one round of arbitration.
    pub weights: ClassWeights,
    /// The time window in which the first run records a timeline.
    pub timeline: Option<Window>,
    /// The file of trace events of the first run, and the begin and the end of their window in
    /// nanoseconds.
    pub trace_events: Option<(String, u64, u64)>,
    /// `true` if the operations of the die are recorded for each slowest request.
    pub keeps_operations: bool,
}

impl Timed {
    /// Checks the clock options `timed`, with the page size in `config` and the operation times
    /// `times`.
    ///
    /// # Errors
    /// Fails if the drive has no operation times, or if a value makes no sense.
    pub(crate) fn plan(
        timed: &TimedConfig,
        config: &RunConfig,
        times: Option<Times>,
    ) -> Result<TimedPlan, SpecError> {
        let times = times.ok_or_else(without_times)?;
        TimedPlan::new(
            timed,
            config.page_size,
            config.page_buffer()?,
            config.dies_together(),
            &times,
        )
    }

    /// Resolves the runs on a drive of this shape that will hold `pages` pages of data.
    ///
    /// # Errors
    /// Fails if the blocks cannot be divided equally among the planes, or if the length or the
    /// warm-up belongs to another kind of drive.
    pub(crate) fn new(
        plan: TimedPlan,
        config: &RunConfig,
        geometry: &Geometry,
        pages: u64,
        placement: &PlacementSpec,
        lifespan: Option<Lifespan>,
        source: &dyn Source,
    ) -> Result<Self, SpecError> {
        let requests = requests(source)?;
        let options = config.timed.as_ref().expect("a drive with a clock");
        let tenants = tenants(options, config, geometry, source)?;
        let settings = plan.settings(geometry, pages, placement, requests)?;
        if settings.host == Loop::Dependent {
            requests.waits(geometry.logical_pages())?;
            let refused = |key: &str, why: &str| {
                let message = format!(
                    "{} does not apply to {} dependent: {why}",
                    subject(key),
                    option("arrivals")
                );
                Err(SpecError::new(message, "leave it out"))
            };
            if config.flush_every.is_some() {
                return refused("flush_every", "the host of a recording flushes when it did");
            }
            if config.host.is_some() {
                return refused("host_cache", "a recording has what left the cache of its host");
            }
        }
        let (total, passes) = match (&config.length, lifespan) {
            (Length::Until(_), Some(lifespan)) => (until_failure(lifespan, geometry), None),
            (Length::Requests(amount), _) if !tenants.is_empty() => (*amount, None),
            _ => length(&config.length, requests, geometry)?,
        };
        let (warmup, precondition, settles) = warmup(&config.warmup, total, geometry)?;
        let timeline = options.timeline.as_ref();
        let trace_events = options.trace_events.as_ref();
        Ok(Self {
            plan,
            settings,
            precondition,
            settles,
            warmup,
            requests: total,
            passes,
            tenants,
            weights: ClassWeights::parse(&options.arbitration)?,
            timeline: timeline.map(TimelineConfig::parse).transpose()?,
            trace_events: trace_events
                .map(|window| window.parse().map(|(from, to)| (window.file.clone(), from, to)))
                .transpose()?,
            keeps_operations: options.worst,
        })
    }

    /// Returns the extents of the warm-up and of the measured part.
    pub(crate) fn extents(&self) -> Plan {
        let extent = |amount| Extent { unit: Unit::Commands, amount };
        Plan::of(extent(self.warmup), extent(self.requests - self.warmup))
    }

    /// Returns the frontier of every plane: a pool that keeps erased blocks for collections.
    pub(crate) fn frontier(&self, geometry: &Geometry) -> Result<Frontier, SpecError> {
        let planes = self.settings.hardware.all_planes();
        let kept = self.plan.blocks_kept(geometry.blocks() / planes);
        Frontier::parse(&format!("pool:low={kept}"))
    }

    /// Returns the configuration of the clock, with every spec in full.
    pub(crate) fn canonical(&self, timed: &TimedConfig, source: &dyn Source) -> TimedConfig {
        let full = |(tenant, requests): (&Tenant, &Requests)| match requests {
            Requests::Trace(_) | Requests::Live(_) => tenant.spec.to_string(),
            Requests::Pages(spec) => {
                tenant.spec.clone().with_workload(spec.to_string()).to_string()
            }
            Requests::DiskSim(spec) => {
                tenant.spec.clone().with_workload(spec.to_string()).to_string()
            }
        };
        TimedConfig {
            tenants: self.tenants.iter().zip(source.tenants()).map(full).collect(),
            arrivals: self.plan.arrivals.map(|arrivals| arrivals.to_string()),
            ..timed.clone()
        }
    }
}

/// Returns the tenants of a drive of this shape; an empty list if the drive has one host.
fn tenants(
    timed: &TimedConfig,
    config: &RunConfig,
    geometry: &Geometry,
    source: &dyn Source,
) -> Result<Arc<[Tenant]>, SpecError> {
    if timed.tenants.is_empty() {
        return Ok(Arc::new([]));
    }
    let unit = config.unit();
    let logical_pages = geometry.logical_pages();
    let space = Space { logical_pages, page_size: unit, request_size: unit };
    tenants::resolve(timed, space, config.units_per_block(), source)
}

/// Returns the workload's requests with arrival times. A workload without such requests is an
/// error.
fn requests(source: &dyn Source) -> Result<&Requests, SpecError> {
    source.requests().ok_or_else(|| {
        SpecError::new(
            format!("{} has no requests with times", subject("source")),
            "use another workload",
        )
    })
}

/// Refuses every option that has no effect on a timed drive.
pub(crate) fn refuse_what_only_counts(config: &RunConfig) -> Result<(), SpecError> {
    let counting = choice("kind", "counting");
    let mapping = Mapping::parse(&config.mapping)?;
    if !mapping.info().has_clock {
        return Err(SpecError::new(
            format!(
                "{} {} only applies to {counting}: its merges are not cut into operations of dies",
                subject("mapping"),
                mapping.info().name
            ),
            format!("{}, {}, or {counting}", choice("mapping", "page"), choice("mapping", "dftl")),
        ));
    }
    if config.swap.is_some() {
        let why = find("vm_page_cache").map_or("", |option| option.why_drives);
        return Err(SpecError::new(
            format!("{} only applies to {counting}: {why}", subject("vm_page_cache")),
            "leave it out",
        ));
    }
    Ok(())
}

/// Returns the drive's shape and, if the size is chosen for a trace, the number of blocks that the
/// trace's pages need before it is rounded up for the planes. A drive whose `blocks` are given has
/// that number, and the trace must fit. Otherwise the drive is as large as the trace needs, with
/// the same whole number of blocks on every plane.
pub(crate) fn geometry(
    config: &RunConfig,
    blocks: Option<u32>,
    plan: &TimedPlan,
    mapping: &Mapping,
    placement: &PlacementSpec,
    levels: bool,
    source: &dyn Source,
) -> Result<(Geometry, Option<u32>), FtlError> {
    let b = config.units_per_block();
    let fixed = requests(source)?.fixed_pages(b).filter(|_| source.tenants().is_empty());
    let Some(pages) = fixed else {
        let blocks = blocks.ok_or_else(|| no_blocks(config, source))?;
        check_page_numbers(config, blocks)?;
        return Ok((Geometry::with_spare(blocks, b, config.spare)?, None));
    };
    let wanted = Geometry::for_logical_pages(pages.into(), b, config.spare)?;
    let enough = || whole_planes(&wanted, plan, mapping, placement, levels);
    let Some(blocks) = blocks else {
        return Ok((Geometry::new(enough()?, b, pages.into())?, Some(wanted.blocks())));
    };
    Ok((with_room(config, blocks, pages, enough)?, None))
}

/// Returns the number of blocks of the smallest drive for the pages of `wanted`. Every plane has
/// the same number of blocks. They have room for the plane's share of the pages and of the map on
/// flash, for its open blocks, and for the blocks kept by its pool and by an SLC region.
fn whole_planes(
    wanted: &Geometry,
    plan: &TimedPlan,
    mapping: &Mapping,
    placement: &PlacementSpec,
    levels: bool,
) -> Result<u32, SpecError> {
    let open = placement.blocks_kept().unwrap_or(2) + u32::from(levels);
    let planes = u64::from(plan.hardware.all_planes());
    let pages = wanted.logical_pages();
    let held = u64::from(pages) + u64::from(mapping.pages_on_flash(pages));
    let units = u64::from(plan.hardware.units_per_page);
    let full = (held.div_ceil(units).div_ceil(planes) * units)
        .div_ceil(u64::from(wanted.pages_per_block()));
    let kept = |blocks: u64| u64::from(plan.blocks_kept(u32::try_from(blocks).unwrap_or(u32::MAX)));
    let mut each = u64::from(wanted.blocks()).div_ceil(planes).max(1);
    // The search below ends at a limit, because a plane that must keep nearly all its blocks has no
    // room at any size. The map then reports the error.
    let in_slc = |blocks: u64| {
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        u64::from(plan.blocks_for_slc(blocks, placement))
    };
    while each < full + kept(each) + in_slc(each) + u64::from(open) && each < 100 * (full + 10) {
        each += 1;
    }
    u32::try_from(each * planes).map_err(|_| {
        SpecError::new(
            "the drive would have more than 2^32 blocks",
            format!("more {}", option("pages_per_block")),
        )
    })
}

/// Returns the number of requests of a run until a failure: about the number of pages that all
/// blocks together can take in their life. If the drive has not failed by then, the run is
/// lengthened.
fn until_failure(lifespan: Lifespan, geometry: &Geometry) -> u64 {
    let pages = lifespan.endurance.mean() * geometry.physical_pages() as f64;
    pages.ceil() as u64
}

/// Returns the number of requests of a run, and the number of replays of a trace.
fn length(
    length: &Length,
    requests: &Requests,
    geometry: &Geometry,
) -> Result<(u64, Option<u64>), SpecError> {
    let pass = match requests {
        Requests::Trace(trace) => Some(trace.requests_on(geometry.logical_pages())),
        _ => None,
    };
    match (length, pass) {
        (Length::Requests(amount), None) => Ok((*amount, None)),
        (Length::Requests(amount), Some(pass)) => Ok((*amount, Some(amount.div_ceil(pass.max(1))))),
        (Length::Passes(passes), Some(pass)) => Ok((passes.saturating_mul(pass), Some(*passes))),
        (Length::Passes(_), None) => Err(SpecError::new(
            format!("{} only applies to traces: a generator has no end", subject("passes")),
            choice("requests", 1_000_000),
        )),
        _ => Err(SpecError::new(
            "the length of a timed run is a number of requests, or passes of a trace",
            choice("requests", 1_000_000),
        )),
    }
}

/// Returns the number of requests that are not measured, the number of page writes before the clock
/// starts, and `true` if these writes end when the drive has settled.
fn warmup(text: &str, total: u64, geometry: &Geometry) -> Result<(u64, u64, bool), SpecError> {
    let drive_write = u64::from(geometry.logical_pages());
    Ok(match Warmup::parse(text)? {
        Warmup::Share(share) => ((share * total as f64).round() as u64, 0, false),
        Warmup::DriveWrites(times) => (0, (times * drive_write as f64).round() as u64, false),
        Warmup::Pages(pages) => (0, pages, false),
        Warmup::Auto => (0, MOST_SETTLING * drive_write, true),
    })
}
