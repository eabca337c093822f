//! Resolves a configuration to runs that can be made: parses every spec, and determines the drive's
//! shape and the length of the runs.
//!
//! Drives with and without a clock share this code. The part that only a clock needs is in
//! [`clock::resolve`](crate::clock::resolve).

use std::sync::Arc;

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::refuse_if;
use flashgc_base::spec::{SpecError, count};
use flashgc_drive::extent::{INTERVALS, Length, Plan, Warmup};
use flashgc_drive::settling::{Doubling, FIRST_LOOK, PRECISION};
use flashgc_drive::source::Source;
use flashgc_drive::swap::SwapSpec;
use flashgc_ftl::{
    Allocation, BadBlocks, CopyOrder, Costs, EndOfLife, Endurance, Fill, Frontier, FtlError,
    Geometry, Levelling, Lifespan, Mapping, Members, PlacementSpec, Scheme, Shrinking, Victim,
    VictimSpec,
};
use flashgc_host::{HostSpec, PageCacheSpec};

use crate::clock::{Timed, resolve as clock};
use crate::config::{Outside, Resolved, reach};
use crate::mapping_units::{check_buffer, check_requests};
use crate::options::{EXCLUDED, HostConfig, NONE, RunConfig, SwapConfig, TraceConfig, parse_scale};
use crate::scale::{self, Whole};
use crate::shape::{blocks, check_superblocks, geometry};
use crate::streams;
use crate::times::Times;

impl Resolved {
    /// Checks and resolves `config`. The policies of `outside` replace those that `config` names.
    ///
    /// # Errors
    /// Fails if an option or a combination makes no sense, in one line.
    pub fn new(
        config: &RunConfig,
        source: Arc<dyn Source>,
        outside: Option<Outside>,
    ) -> Result<Self, FtlError> {
        let is_counted = config.blocks.is_some() && config.capacity.is_none();
        let is_fitted = config.pages_per_block.is_none() && !config.is_sized();
        let config = &config.with_block(source.fixed_pages(1).map(u64::from));
        if config.timed.is_some() {
            clock::refuse_what_only_counts(config)?;
        }
        check_numbers(config)?;
        refuse_excluded(config)?;
        check_superblocks(config)?;
        let buffer = config.page_buffer()?;
        source.check_page_size(config.unit())?;
        let specs = Specs::read(config, outside.clone().unwrap_or_default())?;
        check_buffer(config, buffer, &specs.mapping, &specs.placement)?;
        let plan = config.timed.as_ref().map(|timed| Timed::plan(timed, config, specs.times));
        let plan = plan.transpose()?;
        // Without a clock, each reclaim group is a plane.
        let groups = specs.placement.groups();
        let planes = plan.as_ref().map_or(groups, |plan| plan.hardware.all_planes());
        let blocks = blocks(config, planes)?;
        let parts = parse_scale(&config.scale)?;
        if parts > 1 {
            let frontier = match &plan {
                Some(plan) => Frontier::Pool { low: plan.blocks_at_marks() },
                None => specs.frontier,
            };
            let kept =
                frontier.blocks_kept(specs.placement.blocks_kept(), specs.levelling.is_some());
            let whole = Whole { superblocks: blocks.unwrap_or_default(), planes, kept };
            let (small, scaled) = scale::small(config, parts, &whole, &*source)?;
            let resolved = Self::new(&small, source, outside)?;
            return Ok(Self { scaled: Some(scaled), is_counted, ..resolved });
        }
        let (geometry, needed) = match &plan {
            Some(plan) => {
                let levels = specs.levelling.is_some();
                let Specs { mapping, placement, .. } = &specs;
                clock::geometry(config, blocks, plan, mapping, placement, levels, &*source)?
            }
            None => (geometry(config, blocks, &*source)?, None),
        };
        let together = config.blocks_together();
        let needed = needed.map(|superblocks: u32| superblocks.saturating_mul(together));
        let blocks_asked = config
            .blocks
            .or(needed)
            .filter(|&blocks| u64::from(blocks) < config.blocks_in(geometry.blocks()));
        if plan.is_some() {
            specs.mapping.geometry_below(&geometry)?;
        }
        if let Some(given) = source.given() {
            given.check(geometry.logical_pages())?;
        }
        check_requests(config, buffer, &geometry, &*source)?;
        let host = host(config, &specs.mapping, &geometry)?;
        let streams = streams::read(config, &specs.mapping, &specs.placement, &*source)?;
        let host = host.map(|host| host.with_streams(source.has_streams(), streams.clone()));
        let timed = plan.map(|plan| {
            let Specs { mapping, placement, lifespan, fill, .. } = &specs;
            let pages = geometry.logical_pages();
            // A drive that begins empty may never be full, so its data are not counted.
            let held = match fill {
                Fill::Empty => 0,
                _ => u64::from(pages) + u64::from(mapping.pages_on_flash(pages)),
            };
            Timed::new(plan, config, &geometry, held, placement, *lifespan, &*source)
        });
        let timed = timed.transpose()?;
        let course = match &timed {
            Some(timed) => Course {
                plan: timed.extents(),
                auto_warmup: false,
                until_failure: matches!(config.length, Length::Until(_)),
            },
            None => Course::new(config, &specs, &geometry, &*source)?,
        };
        let swap = swap(config, &specs, &geometry, &course.plan)?;
        let frontier = match &timed {
            Some(timed) => timed.frontier(&geometry)?,
            None => specs.frontier,
        };
        let mut resolved = Self {
            config: config.clone(),
            geometry,
            blocks_asked,
            scaled: None,
            is_fitted,
            is_counted,
            plan: course.plan,
            auto_warmup: course.auto_warmup,
            source,
            streams,
            times: specs.times,
            until_failure: course.until_failure,
            host,
            timed,
            swap,
            mapping: specs.mapping,
            lifespan: specs.lifespan,
            shrinking: specs.shrinking,
            die_by_die: specs.die_by_die,
            victim: specs.victim,
            frontier,
            allocation: specs.allocation,
            levelling: specs.levelling,
            placement: specs.placement,
            fill: specs.fill,
            buffer,
            bytes: 0,
        };
        resolved.config = resolved.canonical();
        check_future(&resolved)?;
        resolved.check_frontier()?;
        resolved.bytes = resolved.layer_bytes()?;
        Ok(resolved)
    }

    /// Returns the configuration with every spec in full.
    fn canonical(&self) -> RunConfig {
        let config = &self.config;
        let physical = self.flash_pages() * u64::from(config.unit());
        let has_victims = self.mapping.info().has_victims;
        RunConfig {
            blocks: Some(self.geometry.blocks() * config.blocks_together()),
            capacity: config.capacity.filter(|&bytes| bytes != physical),
            superblock: match (config.members(), &config.timed) {
                ((1, 1), _) => RunConfig::default().superblock,
                ((1, _), Some(_)) => "die".to_string(),
                ((dies, planes), _) => format!("dies={dies},planes={planes}"),
            },
            program: config.programs().to_string(),
            parity: config.stripe().map_or(NONE.to_string(), |parts| format!("1/{parts}")),
            mapping_unit: config.mapping_unit.filter(|&unit| unit != config.page_size),
            request_size: config.request_size.filter(|&size| size != config.unit()),
            victim: self.victim.as_ref().map_or(NONE.to_string(), Victim::to_string),
            frontier: if has_victims { self.frontier.to_string() } else { NONE.to_string() },
            mapping: self.mapping.to_string(),
            swap: self.swap.as_ref().map(|swap| SwapConfig {
                cache_pages: swap.cache_pages,
                policy: swap.cache.to_string(),
                scheme: swap.scheme.to_string(),
            }),
            timed: self
                .timed
                .as_ref()
                .zip(config.timed.as_ref())
                .map(|(timed, config)| timed.canonical(config, &*self.source)),
            allocation: self.allocation.to_string(),
            wear_levelling: self.levelling.map(|levelling| levelling.to_string()),
            placement: self.placement.to_string(),
            endurance: self.lifespan.map(|lifespan| lifespan.endurance.to_string()),
            bad_blocks: match self.shrinking {
                Some(Shrinking { least, .. }) => BadBlocks::Shrink { least },
                None => BadBlocks::Retire,
            }
            .to_string(),
            times: self.times.map(|times| times.to_string()),
            host: self
                .host
                .as_ref()
                .map(|host| HostConfig { cache: host.cache(), hints: host.hints().to_string() }),
            workload: self.source.canonical(),
            trace: TraceConfig {
                numbering: self.source.numbering().map(|numbering| numbering.name().to_string()),
                ..config.trace.clone()
            },
            ..config.clone()
        }
    }
}

/// The specs that can be parsed without a drive.
struct Specs {
    mapping: Mapping,
    victim: Option<Victim>,
    frontier: Frontier,
    allocation: Allocation,
    levelling: Option<Levelling>,
    placement: PlacementSpec,
    fill: Fill,
    lifespan: Option<Lifespan>,
    shrinking: Option<Shrinking>,
    die_by_die: Option<Members>,
    times: Option<Times>,
}

impl Specs {
    fn read(config: &RunConfig, outside: Outside) -> Result<Self, SpecError> {
        let mapping = Mapping::parse(&config.mapping)?;
        let has_victims = mapping.info().has_victims;
        Ok(Self {
            victim: match outside.victim {
                Some(victim) => Some(victim),
                None if has_victims => Some(Victim::Registered(VictimSpec::parse(&config.victim)?)),
                None => None,
            },
            frontier: match has_victims {
                true => Frontier::parse(&config.frontier)?,
                false => Frontier::Single,
            },
            allocation: Allocation::parse(&config.allocation)?,
            levelling: match &config.wear_levelling {
                Some(text) => Levelling::parse(text)?,
                None => None,
            },
            placement: mapping.placement_below(match outside.placement {
                Some(placement) => PlacementSpec::from_outside(placement),
                None => PlacementSpec::parse(&config.placement)?,
            }),
            mapping,
            fill: Fill::parse(&config.fill)?,
            lifespan: lifespan(config)?,
            shrinking: shrinking(config)?,
            die_by_die: die_by_die(config, has_victims)?,
            times: config.times.as_deref().map(Times::parse).transpose()?,
        })
    }
}

/// The length of the runs, and the measured part of them.
struct Course {
    plan: Plan,
    auto_warmup: bool,
    until_failure: bool,
}

impl Course {
    /// Returns the course of the runs of a drive without a clock.
    fn new(
        config: &RunConfig,
        specs: &Specs,
        geometry: &Geometry,
        source: &dyn Source,
    ) -> Result<Self, SpecError> {
        let warmup = Warmup::parse(&config.warmup)?;
        if let (Length::Settled(most), None) = (&config.length, source.pass()) {
            let plan = Plan::doubled(doubling(config, specs, geometry, *most, warmup)?);
            return Ok(Self { plan, auto_warmup: false, until_failure: false });
        }
        let space = config.space(geometry.logical_pages());
        let lifespan = specs.lifespan;
        let until_failure = lifespan.is_some() && matches!(config.length, Length::Until(_));
        let length = match lifespan {
            Some(lifespan) if until_failure => until_failure_of(lifespan, warmup, geometry)?,
            _ => config.length.clone(),
        };
        Ok(Self {
            plan: Plan::new(
                warmup,
                &length,
                geometry.logical_pages(),
                source.pass(),
                |requests| source.commands(requests, &space),
            )?,
            // For [`Length::Settled`], the doubling rule finds the warm-up.
            auto_warmup: warmup == Warmup::Auto && !matches!(length, Length::Settled(_)),
            until_failure,
        })
    }
}

/// Returns the rule for runs without end: a run is doubled until it has settled, or until it has
/// `most` drive writes.
fn doubling(
    config: &RunConfig,
    specs: &Specs,
    geometry: &Geometry,
    most: u64,
    warmup: Warmup,
) -> Result<Doubling, SpecError> {
    if warmup != Warmup::Auto {
        let message = format!(
            "a run until write amplification has settled finds its own {}",
            subject("warmup")
        );
        return Err(SpecError::new(message, choice("writes", "20x")));
    }
    let pages = u64::from(geometry.logical_pages());
    // The mean of several runs is more precise than each run, so each may be less precise.
    let precision = config.precision.unwrap_or(PRECISION) * f64::from(config.runs).sqrt();
    Ok(Doubling {
        first: (FIRST_LOOK * pages).max(2 * INTERVALS),
        most: most.saturating_mul(pages),
        precision,
        reach: reach(specs.victim.as_ref(), &specs.placement, geometry),
    })
}

fn check_numbers(config: &RunConfig) -> Result<(), SpecError> {
    if config.runs == 0 {
        return Err(SpecError::new(
            format!("{} is 0, expected at least 1", subject("runs")),
            choice("runs", 1),
        ));
    }
    match config.precision {
        Some(share) if !(share > 0.0 && share < 1.0) => Err(SpecError::new(
            format!("{} precision={share} is no share between 0 and 1", subject("until")),
            choice("until", "precision=0.1%"),
        )),
        _ => Ok(()),
    }
}

/// Refuses a placement that must know future writes if they cannot be known.
fn check_future(resolved: &Resolved) -> Result<(), SpecError> {
    if !resolved.placement.needs_future() {
        return Ok(());
    }
    let (with, why, without) = if resolved.timed.is_some() {
        let counting = choice("kind", "counting");
        (choice("kind", "timed"), "the order of later writes depends on response times", counting)
    } else if resolved.swap.is_some() {
        let cache = option("vm_page_cache");
        let without = format!("leave {cache} out");
        (
            cache,
            "the writes to come depend on the collections, which leave pages to memory",
            without,
        )
    } else if !resolved.mapping.is_default() {
        let mapping = choice("mapping", resolved.mapping.info().name);
        let why = "pages of the map are written between those of the host";
        (mapping, why, choice("mapping", "page"))
    } else {
        return check_horizon(resolved);
    };
    Err(SpecError::new(
        format!(
            "{} {} does not go with {with}: {why}",
            subject("placement"),
            resolved.placement.name()
        ),
        format!("another placement, or {without}"),
    ))
}

/// Refuses a placement that would read ahead through too many replays of a trace.
fn check_horizon(resolved: &Resolved) -> Result<(), SpecError> {
    /// The maximum number of page commands that are read ahead at once. Reading them takes some
    /// seconds and cannot be interrupted.
    const MOST: u64 = 100_000_000;
    let Resolved { source, placement, geometry, .. } = resolved;
    let commands = if resolved.host.is_some() { None } else { source.changes() };
    let (Some(pass), Some(horizon)) = (source.pass(), placement.horizon()) else { return Ok(()) };
    let commands = commands.unwrap_or(pass.commands);
    let pages = f64::from(geometry.logical_pages());
    let writes = (horizon * pages).ceil() as u64;
    // A few replays are always allowed: they take no longer than the run.
    let most = MOST.max(4 * commands);
    let Err(replays) = pass.replays_of(writes, commands, most) else { return Ok(()) };
    // The advice is rounded down to two digits.
    let far = most as f64 / commands as f64 * pass.writes as f64 / pages;
    let digits = (1.0 - far.log10().floor()).max(0.0) as usize;
    let near = (far * 10f64.powi(digits as i32)).floor() / 10f64.powi(digits as i32);
    let near = placement.with_horizon(near);
    let hint = near.map_or("another placement".into(), |near| choice("placement", near));
    Err(SpecError::new(
        format!(
            "{} {} sees {} ahead, which are {} of the trace: it has {} among {} that are read ahead",
            subject("placement"),
            placement.name(),
            count(writes, "page write"),
            count(replays, "replay"),
            count(pass.writes, "page write"),
            count(commands, "page command"),
        ),
        hint,
    ))
}

/// Refuses pairs of options that cannot be given together.
fn refuse_excluded(config: &RunConfig) -> Result<(), SpecError> {
    let has = |key: &str| match key {
        "host_cache" => config.host.is_some(),
        "vm_page_cache" => config.swap.is_some(),
        "tenant" => config.timed.as_ref().is_some_and(|timed| !timed.tenants.is_empty()),
        "streams" => config.streams.is_some(),
        "endurance" => config.endurance.is_some(),
        "flush_every" => config.flush_every.is_some(),
        "passes" => matches!(config.length, Length::Passes(_)),
        // The other options are not checked: at this point they have no field, or their field has a
        // default.
        _ => false,
    };
    let pair = EXCLUDED.iter().find(|pair| has(pair.key) && has(pair.with));
    pair.map_or(Ok(()), |pair| Err(pair.error()))
}

/// Returns the cache of the host; `None` if there is none.
fn host(
    config: &RunConfig,
    mapping: &Mapping,
    geometry: &Geometry,
) -> Result<Option<HostSpec>, FtlError> {
    let Some(host) = &config.host else { return Ok(None) };
    let host = HostSpec::parse(&host.cache, &host.hints)?;
    host.check(config.unit(), geometry.logical_pages())?;
    let hints = host.hints();
    let name = || format!("{} {}", subject("hints"), hints.name());
    if config.timed.is_some() && hints.is_oracle() {
        return Err(SpecError::new(
            format!(
                "{} only applies to {}: the order of later writes depends on response times",
                name(),
                choice("kind", "counting")
            ),
            format!("{}, or {}", choice("hints", "perfect"), choice("kind", "counting")),
        )
        .into());
    }
    if !hints.is_none() && !mapping.info().has_victims {
        return Err(SpecError::new(
            format!(
                "{} does not go with {}, whose map keeps no hints",
                name(),
                choice("mapping", mapping.info().name)
            ),
            format!("{}, or {}", choice("hints", NONE), choice("mapping", "page")),
        )
        .into());
    }
    Ok(Some(host))
}

/// Returns the endurance in `config`, and the failure that ends a drive's life: the failure at
/// which the run ends, or else the failure of the drive as a whole.
fn lifespan(config: &RunConfig) -> Result<Option<Lifespan>, SpecError> {
    let ends_at = match &config.length {
        Length::Until(end) => EndOfLife::parse(end)?,
        _ => EndOfLife::SystemFailure,
    };
    let endurance = config.endurance.as_deref().map(Endurance::parse).transpose()?;
    Ok(endurance.map(|endurance| Lifespan { endurance, ends_at }))
}

/// Returns the rule by which the superblocks in `config` go on without their bad blocks; `None` if they retire.
fn shrinking(config: &RunConfig) -> Result<Option<Shrinking>, SpecError> {
    let BadBlocks::Shrink { least } = BadBlocks::parse(&config.bad_blocks)? else {
        return Ok(None);
    };
    refuse_if!(
        config.timed.is_none() && config.times.is_some(),
        format!("{}, or leave {} out", choice("kind", "timed"), option("times")),
        "{} {} does not go with {} on a drive without a clock: a smaller superblock takes other times, and only a \
         clock knows which die does what",
        subject("bad_blocks"),
        config.bad_blocks,
        option("times")
    );
    Ok(Some(Shrinking { members: config.dies_together(), least }))
}

/// Returns the dies of a superblock that are copied one after the other; `None` if pages are copied as they were
/// written.
fn die_by_die(config: &RunConfig, has_victims: bool) -> Result<Option<Members>, SpecError> {
    let order = CopyOrder::parse(&config.copy_order)?;
    refuse_if!(
        order == CopyOrder::Die && !has_victims,
        choice("copy_order", "written"),
        "{} die does not go with {} {}: its merges put each page at the place of its address",
        subject("copy_order"),
        option("mapping"),
        config.mapping
    );
    let shrinks = BadBlocks::parse(&config.bad_blocks)? != BadBlocks::Retire;
    order.dies(config.dies_together(), shrinks)
}

/// Returns the length of a run until a failure, in collections: about the number of erases that all
/// blocks together can bear. If the drive has not failed by then, the run is lengthened.
fn until_failure_of(
    lifespan: Lifespan,
    warmup: Warmup,
    geometry: &Geometry,
) -> Result<Length, SpecError> {
    if matches!(warmup, Warmup::Share(share) if share > 0.0) {
        return Err(SpecError::new(
            format!(
                "{} is a share of the run, and a run with {} until a failure has no fixed length",
                subject("warmup"),
                option("endurance")
            ),
            format!("{}, or leave it out", choice("warmup", "2x")),
        ));
    }
    let erases = lifespan.endurance.mean() * f64::from(geometry.blocks());
    Ok(Length::Collections(erases.ceil() as u64))
}

/// Returns the page cache of a virtual memory system; `None` if there is none.
fn swap(
    config: &RunConfig,
    specs: &Specs,
    geometry: &Geometry,
    plan: &Plan,
) -> Result<Option<SwapSpec>, SpecError> {
    let Some(swap) = &config.swap else { return Ok(None) };
    let costs = specs.times.map_or(Costs::PAPER, |times| times.costs());
    let spec = SwapSpec {
        cache: PageCacheSpec::parse(&swap.policy)?,
        cache_pages: swap.cache_pages,
        scheme: Scheme::parse(&swap.scheme)?,
        costs,
    };
    spec.check(geometry.logical_pages(), &specs.mapping, plan)?;
    Ok(Some(spec))
}
