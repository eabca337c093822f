//! Victim selection: which block the garbage collector empties next. One policy a file; this
//! file is the interface and the registry.

mod bsgc;
#[cfg(test)]
mod by_hand;
mod cat;
mod cost_benefit;
mod d_choices;
mod eigc;
mod external;
mod fifo;
mod greedy;
mod random;
mod sagc;
mod scata;
mod wear_aware;
mod windowed;
mod z_cost_benefit;
mod z_greedy;

pub use bsgc::Bsgc;
pub use cat::Cat;
pub use cost_benefit::CostBenefit;
pub use d_choices::DChoices;
pub use eigc::Eigc;
pub use external::{External, ExternalPick};
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use random::Random;
pub use sagc::Sagc;
pub use scata::Scata;
pub use wear_aware::WearAware;
pub use windowed::Windowed;
pub use z_cost_benefit::ZCostBenefit;
pub use z_greedy::ZGreedy;

use crate::blocks::{BlockId, BlockTable};
use crate::geometry::Geometry;
use crate::page_map::PageMap;
use crate::stepwise::{PlaneLayout, PlaneMap, Stepwise};
use crate::track::Tracker;
use crate::translation::{FtlError, Layout, Translation};
use flashgc_base::rng::Stream;
use flashgc_base::spec::{Param, Params, Spec, SpecError, suggest};

/// A rule that picks the block to collect.
///
/// A policy reads the block table and its tracker and returns one candidate; the engine does the
/// rest. It keeps no state about blocks of its own that the engine could keep for it.
pub trait VictimPolicy: Send + Sized + 'static {
    /// What the engine keeps up to date for this policy; `()` for nothing.
    type Tracker: Tracker;

    /// The name people type.
    const NAME: &'static str;

    /// The parameters it takes.
    const PARAMS: &'static [Param];

    /// The policy with these parameters on a drive of `blocks`, of which it may ask the shape.
    fn new(params: &Params, blocks: &BlockTable, rng: &mut Stream) -> Result<Self, SpecError>;

    /// Bytes that the policy and its tracker keep on a drive of this shape.
    fn bytes(&self, shape: &Geometry) -> u64;

    /// The tracker, before any block is a candidate.
    fn tracker(&self, blocks: &BlockTable) -> Self::Tracker;

    /// A candidate, or `None` if there is none. All of its randomness comes from `rng`.
    fn pick(
        &mut self,
        blocks: &BlockTable,
        tracker: &Self::Tracker,
        rng: &mut Stream,
    ) -> Option<BlockId>;
}

/// One registered policy, as listings, help texts and constructors need it.
pub struct VictimInfo {
    /// The name people type.
    pub name: &'static str,
    /// The parameters it takes.
    pub params: &'static [Param],
    /// The policy's source file, whose `//!` header documents it.
    source: &'static str,
    build: Build,
    build_stepwise: BuildStepwise,
    bytes: fn(&Params, &Geometry) -> Result<u64, SpecError>,
    /// Whether it asks for zombies.
    asks_for_zombies: bool,
    pick: PickFrom,
}

type Build = fn(&Params, Layout) -> Result<Box<dyn Translation>, FtlError>;
type BuildStepwise = fn(&Params, PlaneLayout) -> Result<Box<dyn Stepwise>, FtlError>;
type PickFrom = fn(&Params, &BlockTable, &[BlockId], u64) -> Result<Option<BlockId>, SpecError>;

impl VictimInfo {
    /// The documentation in Markdown: summary, description, formula, cost and source.
    pub fn doc(&self) -> String {
        flashgc_base::spec::header(self.source)
    }

    /// The first line of the documentation.
    pub fn summary(&self) -> String {
        self.doc().lines().next().unwrap_or_default().to_string()
    }

    /// What the policy would pick from a hand-built table whose blocks were closed in the order
    /// `closed`, b pages programmed before each, with a random stream from `seed`.
    pub fn pick_from(
        &self,
        params: &Params,
        blocks: &BlockTable,
        closed: &[BlockId],
        seed: u64,
    ) -> Result<Option<BlockId>, SpecError> {
        (self.pick)(params, blocks, closed, seed)
    }
}

macro_rules! victim_policies {
    ($($policy:ty = $file:literal),+ $(,)?) => {
        static POLICIES: &[VictimInfo] = &[$(VictimInfo {
            name: <$policy as VictimPolicy>::NAME,
            params: <$policy as VictimPolicy>::PARAMS,
            source: include_str!($file),
            build: |params, layout| {
                Ok(Box::new(PageMap::<$policy>::with_policy(layout, |blocks, rng| {
                    <$policy as VictimPolicy>::new(params, blocks, rng)
                })?))
            },
            build_stepwise: |params, layout| {
                Ok(Box::new(PlaneMap::<$policy>::with_policy(layout, |blocks, rng| {
                    <$policy as VictimPolicy>::new(params, blocks, rng)
                })?))
            },
            asks_for_zombies: <$policy as VictimPolicy>::Tracker::FOLLOWS_ZOMBIES,
            bytes: |params, shape| {
                let (blocks, mut rng) = (BlockTable::of_shape(shape), Stream::new(0, "check"));
                let policy = <$policy as VictimPolicy>::new(params, &blocks, &mut rng)?;
                Ok(policy.bytes(shape))
            },
            pick: |params, blocks, closed, seed| {
                let mut rng = Stream::new(seed, "victim");
                let mut policy = <$policy as VictimPolicy>::new(params, blocks, &mut rng)?;
                let mut tracker = policy.tracker(blocks);
                let mut blocks = blocks.clone();
                for &block in closed {
                    blocks.tick(blocks.pages_per_block().into());
                    tracker.closed(&blocks, block);
                }
                tracker.settle(&blocks);
                Ok(policy.pick(&blocks, &tracker, &mut rng))
            },
        }),+];
    };
}

// The list of policies: a new one is one file and one line here.
victim_policies! {
    Fifo = "fifo.rs",
    Greedy = "greedy.rs",
    Random = "random.rs",
    Windowed = "windowed.rs",
    DChoices = "d_choices.rs",
    CostBenefit = "cost_benefit.rs",
    Cat = "cat.rs",
    Sagc = "sagc.rs",
    Scata = "scata.rs",
    Eigc = "eigc.rs",
    Bsgc = "bsgc.rs",
    WearAware = "wear_aware.rs",
    ZGreedy = "z_greedy.rs",
    ZCostBenefit = "z_cost_benefit.rs",
}

/// Every registered policy, in the order in which listings show them.
pub fn victim_policies() -> &'static [VictimInfo] {
    POLICIES
}

/// A registered policy with its parameters checked.
#[derive(Clone)]
pub struct VictimSpec {
    info: &'static VictimInfo,
    params: Params,
}

impl VictimSpec {
    /// Reads `text`, for example `d-choices:d=10,c=1`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(text)?;
        let Some(info) = POLICIES.iter().find(|info| info.name == spec.name) else {
            return Err(SpecError::new(
                format!("unknown victim policy '{}'", spec.name),
                suggest(&spec.name, POLICIES.iter().map(|info| info.name)),
            ));
        };
        Ok(Self { info, params: Params::resolve(&spec, info.params)? })
    }

    /// The policy's registry entry.
    pub fn info(&self) -> &'static VictimInfo {
        self.info
    }

    /// The parameters, defaults filled in.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Whether it asks which pages are zombies.
    pub fn asks_for_zombies(&self) -> bool {
        self.info.asks_for_zombies
    }

    /// Bytes of memory of the layer that [`VictimSpec::build`] makes; an error where the policy
    /// cannot be made for a drive of this shape.
    pub fn bytes(&self, layout: &Layout) -> Result<u64, SpecError> {
        Ok(layout.bytes(self.info.asks_for_zombies)
            + (self.info.bytes)(&self.params, &layout.geometry)?)
    }

    /// A page-mapped translation layer with this policy.
    pub fn build(&self, layout: Layout) -> Result<Box<dyn Translation>, FtlError> {
        (self.info.build)(&self.params, layout)
    }

    /// A page map over planes with this policy in each.
    ///
    /// # Errors
    /// Those of [`PlaneMap::with_policy`].
    pub fn build_stepwise(&self, layout: PlaneLayout) -> Result<Box<dyn Stepwise>, FtlError> {
        (self.info.build_stepwise)(&self.params, layout)
    }
}

/// The spec in full, every parameter written out.
impl std::fmt::Display for VictimSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.params.fmt(f)
    }
}

impl std::fmt::Debug for VictimSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VictimSpec({self})")
    }
}

/// A uniform draw among the candidates, with replacement: redraws while it hits a block that is
/// not one. `None` if there is no candidate.
#[inline]
pub fn draw(blocks: &BlockTable, rng: &mut Stream) -> Option<BlockId> {
    // Candidates are nearly all blocks in practice; the scan only ends a run of bad luck on a
    // drive with next to none.
    for _ in 0..1000 {
        let block = rng.below(blocks.len());
        if blocks.is_candidate(block) {
            return Some(block);
        }
    }
    let candidates = || (0..blocks.len()).filter(|&block| blocks.is_candidate(block));
    let nth = rng.below(blocks.candidates().max(1));
    candidates().nth(nth as usize)
}
