//! What a run is made from: the configuration as people write it, and what it comes to.

use std::sync::Arc;

use flashgc_base::spec::{SpecError, count};
use flashgc_ftl::{
    Allocation, Costs, EndOfLife, Endurance, Fill, Frontier, FtlError, Geometry, Layout, Levelling,
    Lifespan, MakePick, Mapping, PlacementSpec, PlaneLayout, Stepwise, Translation, Victim,
    VictimSpec,
};
use flashgc_host::HostSpec;
use serde::{Deserialize, Serialize};

use crate::extent::{Length, Plan, Warmup};
use crate::source::Source;
use crate::swap::{SwapConfig, SwapSpec};
use crate::timed::{Timed, TimedConfig};
use crate::times::Times;

/// One configuration, as typed or as read from an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// N; `None` only for a workload that fixes its own number of logical pages.
    #[serde(default)]
    pub blocks: Option<u32>,
    /// b.
    pub pages_per_block: u32,
    /// Bytes a page; a counting drive only reports it.
    #[serde(default = "default_page_size")]
    pub page_size: u32,
    /// S_f = 1 - U/N.
    pub spare: f64,
    /// How pages are found: `page`, `fast:log_blocks=32`. Not written where it is the default.
    #[serde(default = "default_mapping", skip_serializing_if = "is_default_mapping")]
    pub mapping: String,
    /// The victim policy, for example `d-choices:d=10,c=1`; [`NONE`] where the mapping has its own.
    pub victim: String,
    /// The write frontier: `single`, `double`, `pool:low=2`, `mixed:low=2`; [`NONE`] where the mapping
    /// has its own.
    pub frontier: String,
    /// Which erased block of the pool is used next: `fifo`, `lowest-erase`, `sfl`, `random`.
    /// Not written where it is the default, which was the only one there was: digests stay.
    #[serde(default = "default_allocation", skip_serializing_if = "is_default_allocation")]
    pub allocation: String,
    /// How cold data are moved to level wear: `static:threshold=50,interval=10`; `None` for not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear_levelling: Option<String>,
    /// Which open block a page goes to: `none`, `dac:regions=3`. Not written where it is the default:
    /// digests stay.
    #[serde(default = "default_placement", skip_serializing_if = "is_default_placement")]
    pub placement: String,
    /// Erases that blocks bear: `1000`, `normal:mean=1000,cv=0.1`; `None` for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance: Option<String>,
    /// How long operations keep the flash busy: `read=60us,program=800us,erase=1.5ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// The clock, channels and queues of a timed drive; `None` for one that only counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<TimedConfig>,
    /// The page cache of a virtual memory system, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap: Option<SwapConfig>,
    /// What is on the drive at first: `sequential`, `random`, `empty`.
    pub fill: String,
    /// What stands between the workload, which is then an application's, and the drive. Not written
    /// where there is none: digests stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostConfig>,
    /// A generator's spec, a mixture, or the path of a trace.
    pub workload: String,
    /// How a trace is read; ignored by generators.
    #[serde(default)]
    pub trace: TraceConfig,
    /// See [`Warmup::parse`].
    pub warmup: String,
    /// How long the run is.
    pub length: Length,
    /// Go on until the 95% half width is within this share of the mean.
    #[serde(default)]
    pub precision: Option<f64>,
    /// Runs with seeds of their own.
    pub runs: u32,
    /// Seed of the first run.
    pub seed: u64,
}

/// Victim policy and write frontier of a mapping that takes none.
pub const NONE: &str = "none";

fn default_mapping() -> String {
    Mapping::default().to_string()
}

fn is_default_mapping(text: &str) -> bool {
    text == default_mapping()
}

fn default_allocation() -> String {
    Allocation::default().to_string()
}

fn is_default_allocation(name: &str) -> bool {
    name == default_allocation()
}

fn default_placement() -> String {
    PlacementSpec::default().to_string()
}

fn is_default_placement(name: &str) -> bool {
    name == default_placement()
}

fn default_page_size() -> u32 {
    4096
}

/// A host: its cache, and what it tells the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// The cache, for example `page-cache:size=4GiB`.
    pub cache: String,
    /// The way of hinting, for example `piggyback`.
    pub hints: String,
}

/// How a trace is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceConfig {
    /// The format's name; `None` detects it.
    pub format: Option<String>,
    /// Bytes added to every offset before it is cut into pages.
    pub alignment_offset: u64,
    /// `stop` or `skip`.
    pub on_bad_line: Option<String>,
}

/// A configuration with everything in it checked and worked out.
#[derive(Clone)]
pub struct Resolved {
    /// The configuration, every spec written out in full.
    pub config: RunConfig,
    /// The drive's shape.
    pub geometry: Geometry,
    /// The runs' warm-up and measured part.
    pub plan: Plan,
    /// Whether the warm-up is found from the run itself.
    pub auto_warmup: bool,
    /// Where commands come from.
    pub source: Arc<dyn Source>,
    /// How long operations keep the flash busy, where that is asked for.
    pub times: Option<Times>,
    /// Whether the runs go on until a failure rather than for a length.
    pub until_failure: bool,
    /// What stands between the workload and the drive.
    pub host: Option<HostSpec>,
    /// Of a drive with a clock, what it is told.
    pub(crate) timed: Option<Timed>,
    /// The page cache of a virtual memory system in front of the drive, where there is one.
    pub swap: Option<SwapSpec>,
    pub(crate) mapping: Mapping,
    pub(crate) lifespan: Option<Lifespan>,
    /// Who picks victims; `None` where the mapping has a way of its own.
    pub(crate) victim: Option<Victim>,
    pub(crate) frontier: Frontier,
    pub(crate) allocation: Allocation,
    pub(crate) levelling: Option<Levelling>,
    pub(crate) placement: PlacementSpec,
    pub(crate) fill: Fill,
    /// Bytes of memory of one layer.
    pub(crate) bytes: u64,
}

impl Resolved {
    /// Checks `config`; `external` replaces its victim policy.
    pub fn new(
        config: &RunConfig,
        source: Arc<dyn Source>,
        external: Option<(String, MakePick)>,
    ) -> Result<Self, FtlError> {
        if let Some(timed) = &config.timed {
            return Self::with_clock(config, timed, source, external.is_some());
        }
        let mapping = Mapping::parse(&config.mapping)?;
        let has_victims = mapping.info().has_victims;
        let victim = match external {
            Some((name, make)) => Some(Victim::External(name, make)),
            None if has_victims => Some(Victim::Registered(VictimSpec::parse(&config.victim)?)),
            None => None,
        };
        let frontier = match has_victims {
            true => Frontier::parse(&config.frontier)?,
            false => Frontier::Single,
        };
        let allocation = Allocation::parse(&config.allocation)?;
        let levelling = match &config.wear_levelling {
            Some(text) => Levelling::parse(text)?,
            None => None,
        };
        let placement = PlacementSpec::parse(&config.placement)?;
        let fill = Fill::parse(&config.fill)?;
        let warmup = Warmup::parse(&config.warmup)?;
        if config.runs == 0 {
            return Err(SpecError::new("runs is 0, expected at least 1", "").into());
        }
        if let Some(precision) = config.precision
            && !(precision > 0.0 && precision < 1.0)
        {
            return Err(SpecError::new(
                format!("precision is {precision}, expected a share between 0 and 1"),
                "write --until precision=0.1%",
            )
            .into());
        }
        source.check_page_size(config.page_size)?;
        let b = config.pages_per_block;
        let geometry = match (config.blocks, source.fixed_pages(b)) {
            (Some(blocks), None) => Geometry::with_spare(blocks, b, config.spare)?,
            (None, Some(pages)) if u64::from(pages) < 2 * u64::from(b) => {
                return Err(SpecError::new(
                    format!(
                        "the workload addresses {}, expected at least two blocks of {b}",
                        count(pages.into(), "page")
                    ),
                    "use fewer pages per block, or a workload with more pages",
                )
                .into());
            }
            (None, Some(pages)) => Geometry::for_logical_pages(pages.into(), b, config.spare)?,
            (Some(blocks), Some(pages)) => fitted(blocks, b, pages, config.spare)?,
            (None, None) => {
                return Err(SpecError::new(
                    "the number of blocks is missing",
                    "give --blocks, for example --blocks 10000",
                )
                .into());
            }
        };
        let host = config.host.as_ref().map(|host| HostSpec::parse(&host.cache, &host.hints));
        let host = host.transpose()?;
        if let Some(host) = &host {
            host.check(config.page_size, geometry.logical_pages())?;
            if !host.hints().is_none() && !mapping.info().heeds_hints {
                return Err(SpecError::new(
                    format!(
                        "mapping {} heeds no hints, found {}",
                        mapping.info().name,
                        host.hints()
                    ),
                    "--hints none, or --mapping page",
                )
                .into());
            }
        }
        let lifespan = lifespan(config)?;
        let times = config.times.as_deref().map(Times::parse).transpose()?;
        let until_failure = lifespan.is_some() && matches!(config.length, Length::Until(_));
        let length = match lifespan {
            Some(lifespan) if until_failure => until_failure_of(lifespan, warmup, &geometry)?,
            _ => config.length.clone(),
        };
        let plan = Plan::new(warmup, &length, geometry.logical_pages(), source.pass())?;
        let swap = match &config.swap {
            Some(_) if host.is_some() => {
                return Err(SpecError::new(
                    "a page cache of a virtual memory system takes references, found a host with a \
                     cache too",
                    "leave one of them out",
                )
                .into());
            }
            Some(_) if lifespan.is_some() => {
                return Err(SpecError::new(
                    "a run with a page cache ends with its references, found an endurance",
                    "leave one of them out",
                )
                .into());
            }
            Some(swap) => {
                let costs = times.map_or(Costs::PAPER, |times| times.costs());
                let pages = geometry.logical_pages();
                Some(SwapSpec::new(swap, pages, &mapping, &plan, costs)?)
            }
            None => None,
        };
        let config = RunConfig {
            blocks: Some(geometry.blocks()),
            victim: victim.as_ref().map_or(NONE.to_string(), Victim::to_string),
            frontier: if has_victims { frontier.to_string() } else { NONE.to_string() },
            mapping: mapping.to_string(),
            swap: swap.as_ref().map(SwapSpec::canonical),
            allocation: allocation.to_string(),
            wear_levelling: levelling.map(|levelling| levelling.to_string()),
            placement: placement.to_string(),
            endurance: lifespan.map(|lifespan| lifespan.endurance.to_string()),
            times: times.map(|times| times.to_string()),
            host: host
                .as_ref()
                .map(|host| HostConfig { cache: host.cache(), hints: host.hints().to_string() }),
            workload: source.canonical(),
            ..config.clone()
        };
        let auto_warmup = warmup == Warmup::Auto;
        let mut resolved = Self {
            config,
            geometry,
            plan,
            auto_warmup,
            source,
            times,
            until_failure,
            host,
            timed: None,
            swap,
            mapping,
            lifespan,
            victim,
            frontier,
            allocation,
            levelling,
            placement,
            fill,
            bytes: 0,
        };
        resolved.check_frontier()?;
        resolved.bytes = resolved.layer_bytes()?;
        Ok(resolved)
    }

    /// Bytes of memory of one layer; also finds faults that only the making of one shows.
    pub(crate) fn layer_bytes(&self) -> Result<u64, SpecError> {
        let layout = self.layout(0);
        match &self.victim {
            Some(victim) => victim.bytes(&layout),
            None => Ok(flashgc_ftl::page_map_bytes(&layout)),
        }
    }

    /// The translation layer of run number `run`, counted from 0.
    pub fn layer(&self, run: u32) -> Result<Box<dyn Translation>, FtlError> {
        self.mapping.build(self.layout(run), &|layout| self.victim()?.build(layout))
    }

    pub(crate) fn layout(&self, run: u32) -> Layout {
        Layout {
            geometry: self.geometry,
            frontier: self.frontier,
            allocation: self.allocation,
            levelling: self.levelling,
            placement: self.placement.clone(),
            lifespan: self.lifespan,
            fill: self.fill,
            seed: self.seed(run),
        }
    }

    /// A page map over planes, for a drive with a clock.
    pub(crate) fn stepwise(&self, layout: PlaneLayout) -> Result<Box<dyn Stepwise>, FtlError> {
        self.victim()?.build_stepwise(layout)
    }

    fn victim(&self) -> Result<&Victim, SpecError> {
        let missing = || SpecError::new("a page map needs a victim policy, found none", "");
        self.victim.as_ref().ok_or_else(missing)
    }

    /// Whether the host tells the drive anything, and whether that heeds it.
    pub fn hints(&self) -> (bool, bool) {
        let told = self.host.as_ref().is_some_and(|host| !host.hints().is_none());
        let asks = self.victim.as_ref().is_some_and(Victim::asks_for_zombies);
        (told, asks || self.placement.asks_for_zombies())
    }

    /// The seed of run number `run`.
    pub fn seed(&self, run: u32) -> u64 {
        self.config.seed.wrapping_add(u64::from(run))
    }

    /// Whether the policy comes from outside and must stay on the calling thread.
    pub fn is_external(&self) -> bool {
        matches!(self.victim, Some(Victim::External(..)))
    }

    /// Why its runs cannot be saved; `None` if they can.
    pub(crate) fn why_unsaved(&self) -> Option<&'static str> {
        if self.is_external() {
            return Some(
                "a victim policy written in Python cannot be saved: what it knows is its own; hint: run \
                 without a checkpoint",
            );
        }
        let timeline = self.timed.as_ref().is_some_and(|timed| timed.timeline.is_some());
        timeline.then_some(
            "a timeline cannot be saved; hint: leave out the timeline, or run without a checkpoint",
        )
    }

    /// Finds faults that only the making of a layer shows, before any long run begins.
    fn check_frontier(&self) -> Result<(), FtlError> {
        self.mapping.check(&self.layout(0))?;
        if !self.mapping.info().has_victims {
            return Ok(());
        }
        self.layout(0).check()
    }
}

/// What `config` says of wear: a drive lives until it fails, or until the failure it is run to.
fn lifespan(config: &RunConfig) -> Result<Option<Lifespan>, SpecError> {
    let ends_at = match &config.length {
        Length::Until(end) => EndOfLife::parse(end)?,
        _ => EndOfLife::SystemFailure,
    };
    let endurance = config.endurance.as_deref().map(Endurance::parse).transpose()?;
    Ok(endurance.map(|endurance| Lifespan { endurance, ends_at }))
}

/// The length of a run until a failure, in collections: as many as the blocks bear together. More
/// are run where that is not enough.
fn until_failure_of(
    lifespan: Lifespan,
    warmup: Warmup,
    geometry: &Geometry,
) -> Result<Length, SpecError> {
    if matches!(warmup, Warmup::Share(share) if share > 0.0) {
        return Err(SpecError::new(
            "the warm-up is a share of a run that has no length of its own: it goes on until a \
             failure",
            "write drive writes such as 2x, or leave it out",
        ));
    }
    let erases = lifespan.endurance.mean() * f64::from(geometry.blocks());
    Ok(Length::Collections(erases.ceil() as u64))
}

/// The drive of `blocks` blocks for a workload of `pages` pages, which must leave the spare factor
/// asked for.
fn fitted(blocks: u32, b: u32, pages: u32, spare: f64) -> Result<Geometry, FtlError> {
    let least = Geometry::for_logical_pages(pages.into(), b, spare)?;
    if blocks < least.blocks() {
        return Err(SpecError::new(
            format!(
                "the workload addresses {}, which need {} at spare factor {spare}; found {}",
                count(pages.into(), "page"),
                count(least.blocks().into(), "block"),
                count(blocks.into(), "block")
            ),
            "leave the number of blocks out",
        )
        .into());
    }
    Ok(Geometry::new(blocks, b, pages.into())?)
}
