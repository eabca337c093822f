//! From a configuration with a clock to a drive that can be made: geometry, warm-up, length.

use std::sync::Arc;

use flashgc_base::spec::{SpecError, count};
use flashgc_ftl::{
    Allocation, Fill, Frontier, FtlError, Geometry, Mapping, PlacementSpec, Victim, VictimSpec,
};
use flashgc_host::HostSpec;
use flashgc_workload::requests::Requests;

use super::plan::{TimedConfig, TimedPlan, TimelineConfig};
use super::settings::Settings;
use crate::config::{HostConfig, Resolved, RunConfig};
use crate::extent::{Extent, Length, Plan, Unit, Warmup};
use crate::source::Source;
use crate::times::Times;

/// A timed drive and its runs, with everything checked and worked out.
#[derive(Clone)]
pub(crate) struct Timed {
    /// What was asked for.
    pub plan: TimedPlan,
    /// What the drive is told.
    pub settings: Settings,
    /// Page writes without the clock, before the requests.
    pub precondition: u64,
    /// Requests that are not measured.
    pub warmup: u64,
    /// Requests of the run, warm-up included.
    pub requests: u64,
    /// Replays of a trace; `None` of generators.
    pub passes: Option<u64>,
    /// The window of which the first run keeps a timeline, in nanoseconds.
    pub timeline: Option<(u64, u64)>,
}

impl Resolved {
    /// Checks a configuration with a clock.
    pub(crate) fn with_clock(
        config: &RunConfig,
        timed: &TimedConfig,
        source: Arc<dyn Source>,
        external: bool,
    ) -> Result<Self, FtlError> {
        refuse_what_only_counts(config, external)?;
        let requests = source.requests().ok_or_else(|| {
            SpecError::new("the workload has no requests with times", "use another workload")
        })?;
        let times = config.times.as_deref().map(Times::parse).transpose()?.ok_or_else(|| {
            SpecError::new(
                "a timed drive needs the times of its flash",
                "--times read=60us,program=800us,erase=1.5ms,transfer=20us, or --device",
            )
        })?;
        source.check_page_size(config.page_size)?;
        let plan = TimedPlan::new(timed, config.page_size, &times)?;
        let placement = PlacementSpec::parse(&config.placement)?;
        let geometry = geometry(config, &plan, &placement, requests)?;
        let settings = plan.settings(&geometry, &placement, requests)?;
        let host = config.host.as_ref().map(|host| HostSpec::parse(&host.cache, &host.hints));
        let host = host.transpose()?;
        if let Some(host) = &host {
            host.check(config.page_size, geometry.logical_pages())?;
            if host.hints().is_oracle() {
                return Err(SpecError::new(
                    "hints: an oracle, found with a timed drive, expected with a counting one: what \
                     comes depends on the times",
                    "--drive counting has it, or --hints perfect",
                )
                .into());
            }
        }
        let (total, passes) = length(&config.length, requests, &geometry)?;
        let (warmup, precondition) = warmup(&config.warmup, total, &geometry)?;
        let victim = VictimSpec::parse(&config.victim)?;
        let allocation = Allocation::parse(&config.allocation)?;
        let kept = plan.blocks_kept(geometry.blocks() / settings.hardware.all_planes());
        let frontier = Frontier::parse(&format!("pool:low={kept}"))?;
        let config = RunConfig {
            blocks: Some(geometry.blocks()),
            victim: victim.to_string(),
            frontier: frontier.to_string(),
            allocation: allocation.to_string(),
            placement: placement.to_string(),
            wear_levelling: None,
            times: Some(times.to_string()),
            timed: Some(TimedConfig {
                arrivals: plan.arrivals.map(|arrivals| arrivals.to_string()),
                ..timed.clone()
            }),
            host: host
                .as_ref()
                .map(|host| HostConfig { cache: host.cache(), hints: host.hints().to_string() }),
            workload: source.canonical(),
            ..config.clone()
        };
        let extent = |amount| Extent { unit: Unit::Requests, amount };
        let mut resolved = Self {
            fill: Fill::parse(&config.fill)?,
            config,
            geometry,
            plan: Plan { warmup: extent(warmup), measured: extent(total - warmup) },
            auto_warmup: false,
            source,
            times: Some(times),
            until_failure: false,
            timed: Some(Timed {
                plan,
                settings,
                precondition,
                warmup,
                requests: total,
                passes,
                timeline: timed.timeline.as_ref().map(TimelineConfig::parse).transpose()?,
            }),
            swap: None,
            mapping: Mapping::default(),
            lifespan: None,
            levelling: None,
            placement,
            host,
            bytes: 0,
            victim: Some(Victim::Registered(victim)),
            frontier,
            allocation,
        };
        resolved.bytes = resolved.layer_bytes()?;
        Ok(resolved)
    }
}

/// Says of every option that a timed drive would ignore that it has no such thing.
fn refuse_what_only_counts(config: &RunConfig, external: bool) -> Result<(), SpecError> {
    let levelled = config.wear_levelling.as_deref().is_some_and(|text| text != "none");
    let refused = [
        (external, "policies written in Python"),
        (config.endurance.is_some(), "an endurance"),
        (levelled, "wear levelling"),
        (config.mapping != "page", "a mapping other than page"),
        (config.swap.is_some(), "a page cache"),
        (config.precision.is_some(), "a precision to reach"),
        (matches!(config.length, Length::Until(_)), "a run until a failure"),
    ];
    match refused.iter().find(|(found, _)| *found) {
        Some((_, what)) => Err(SpecError::new(
            format!("{what}: found with a timed drive, expected with a counting one"),
            "--drive counting has it",
        )),
        None if config.runs == 0 => Err(SpecError::new("runs is 0, expected at least 1", "")),
        None => Ok(()),
    }
}

/// The drive's shape. A trace takes what it addresses of a drive whose blocks are given, and
/// otherwise gets one as large as it needs, in whole blocks a plane.
fn geometry(
    config: &RunConfig,
    plan: &TimedPlan,
    placement: &PlacementSpec,
    requests: &Requests,
) -> Result<Geometry, FtlError> {
    let b = config.pages_per_block;
    let planes = plan.hardware.all_planes();
    let Some(pages) = requests.fixed_pages(b) else {
        let blocks = config.blocks.ok_or_else(|| {
            SpecError::new(
                "the number of blocks is missing",
                "give --blocks, for example --blocks 10000",
            )
        })?;
        return Ok(Geometry::with_spare(blocks, b, config.spare)?);
    };
    if let Some(blocks) = config.blocks {
        let geometry = Geometry::with_spare(blocks, b, config.spare)?;
        if geometry.logical_pages() < pages {
            return Err(SpecError::new(
                format!(
                    "the workload addresses {}, and the drive has {}",
                    count(pages.into(), "page"),
                    geometry.logical_pages()
                ),
                "use more blocks, or leave their number out",
            )
            .into());
        }
        return Ok(geometry);
    }
    let wanted = Geometry::for_logical_pages(pages.into(), b, config.spare)?;
    // Each plane needs its share of the pages, its open blocks, and what its pool keeps.
    let open = placement.blocks_kept().unwrap_or(2);
    let blocks = u64::from(wanted.blocks()).div_ceil(u64::from(planes)).max(1);
    let full = u64::from(pages).div_ceil(u64::from(planes)).div_ceil(u64::from(b));
    let kept = |blocks: u64| u64::from(plan.blocks_kept(u32::try_from(blocks).unwrap_or(u32::MAX)));
    let mut each = blocks;
    // A plane that must keep nearly all its blocks has no room at any size; the map says so.
    while each < full + kept(each) + u64::from(open) && each < 100 * (full + 10) {
        each += 1;
    }
    let blocks = u32::try_from(each * u64::from(planes)).map_err(|_| {
        SpecError::new("the drive would have more than 2^32 blocks", "use larger blocks")
    })?;
    Ok(Geometry::new(blocks, b, pages.into())?)
}

/// Requests of a run, and replays of a trace.
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
            "passes are counted for traces, and this workload is a generator",
            "give --requests, for example --requests 1000000",
        )),
        _ => Err(SpecError::new(
            "the length of a timed run is a number of requests, or passes of a trace",
            "give --requests, for example --requests 1000000",
        )),
    }
}

/// Requests that are not measured, and page writes without the clock before them.
fn warmup(text: &str, total: u64, geometry: &Geometry) -> Result<(u64, u64), SpecError> {
    match Warmup::parse(text)? {
        Warmup::Share(share) => Ok(((share * total as f64).round() as u64, 0)),
        Warmup::DriveWrites(times) => {
            Ok((0, (times * f64::from(geometry.logical_pages())).round() as u64))
        }
        Warmup::Pages(pages) => Ok((0, pages)),
        Warmup::Auto => Err(SpecError::new(
            "warm-up auto: found with a timed drive, expected with a counting one",
            "write drive writes such as 2x, which are made without the clock, or a share of the \
             requests such as 10%",
        )),
    }
}
