//! The registry of victim policies: their list, their names and parameters, and the layers made
//! with them. The policies are in [`victim`](crate::victim).

use flashgc_base::rng::Stream;
use flashgc_base::spec::{Documented, Param, Params, Spec, SpecError};

use crate::blocks::{BlockId, BlockTable};
use crate::error::FtlError;
use crate::geometry::Geometry;
use crate::layout::{Layout, PlaneLayout};
use crate::page_map::{self, PageMap};
use crate::remembers::Remembers;
use crate::stepwise::{PlaneMap, Stepwise};
use crate::store::Asks;
use crate::track::Tracker;
use crate::translation::Translation;
use crate::victim::{self, ByPlacement, External, MakePick, VictimPolicy};

/// The policies, in the order in which listings show them. With a `static`, each test program of
/// the crate would compile them all.
const POLICIES: &[VictimInfo] = &[
    VictimInfo::of::<victim::fifo::Fifo>(include_str!("victim/fifo.rs")),
    VictimInfo::of::<victim::greedy::Greedy>(include_str!("victim/greedy.rs")),
    VictimInfo::of::<victim::random::Random>(include_str!("victim/random.rs")),
    VictimInfo::of::<victim::windowed::Windowed>(include_str!("victim/windowed.rs")),
    VictimInfo::of::<victim::d_choices::DChoices>(include_str!("victim/d_choices.rs")),
    VictimInfo::of::<victim::two_r_greedy::TwoRGreedy>(include_str!("victim/two_r_greedy.rs")),
    VictimInfo::of::<victim::two_r_fifo::TwoRFifo>(include_str!("victim/two_r_fifo.rs")),
    VictimInfo::of::<victim::cost_benefit::CostBenefit>(include_str!("victim/cost_benefit.rs")),
    VictimInfo::of::<victim::mdc::Mdc>(include_str!("victim/mdc.rs")),
    VictimInfo::of::<victim::cat::Cat>(include_str!("victim/cat.rs")),
    VictimInfo::of::<victim::sagc::Sagc>(include_str!("victim/sagc.rs")),
    VictimInfo::of::<victim::scata::Scata>(include_str!("victim/scata.rs")),
    VictimInfo::of::<victim::eigc::Eigc>(include_str!("victim/eigc.rs")),
    VictimInfo::of::<victim::bsgc::Bsgc>(include_str!("victim/bsgc.rs")),
    VictimInfo::of::<victim::wear_aware::WearAware>(include_str!("victim/wear_aware.rs")),
    VictimInfo::of::<victim::z_greedy::ZGreedy>(include_str!("victim/z_greedy.rs")),
    VictimInfo::of::<victim::z_cost_benefit::ZCostBenefit>(include_str!(
        "victim/z_cost_benefit.rs"
    )),
];

/// One registered policy, as listings, help texts and constructors need it.
pub struct VictimInfo {
    /// The name people type.
    pub name: &'static str,
    /// The parameters that the policy takes.
    pub params: &'static [Param],
    /// The policy's source file, whose `//!` header documents it.
    source: &'static str,
    page_map: Build<Layout>,
    plane_map: BuildPlanes,
    bytes: fn(&Params, &Geometry) -> Result<u64, SpecError>,
    /// The data that the policy asks the store to keep.
    asks: Asks,
    /// `true` if the policy draws random numbers.
    draws: bool,
    /// The past that the policy remembers.
    remembers: Remembers,
    pick: PickFrom,
}

type Build<L> = fn(&Params, L) -> Result<Box<<L as MapLayout>::Map>, FtlError>;
type BuildPlanes = fn(&Params, PlaneLayout) -> Result<Box<dyn Stepwise>, FtlError>;
type PickFrom = fn(&Params, &BlockTable, &[BlockId], u64) -> Result<Option<BlockId>, SpecError>;

/// A layout of a page map. Its type says how the map is driven.
pub trait MapLayout: Sized {
    /// The type of the page map; it does not depend on the policy.
    type Map: ?Sized;

    /// The page map with policies that `make` makes.
    ///
    /// # Errors
    /// Parts that do not go together, too little memory, or an error of `make`.
    fn map<P: VictimPolicy>(
        self,
        make: impl FnMut(&mut BlockTable, &mut Stream) -> Result<P, FtlError>,
    ) -> Result<Box<Self::Map>, FtlError>;

    /// The page map whose victims `victim` picks.
    ///
    /// # Errors
    /// The errors of [`MapLayout::map`], or an error of a function from outside.
    fn map_with(self, victim: &Victim) -> Result<Box<Self::Map>, FtlError>;

    /// Returns the function that builds a map of this layout with the policy of `info`.
    fn build(info: &VictimInfo) -> Build<Self>;
}

/// A map that is driven in batches.
impl MapLayout for Layout {
    type Map = dyn Translation;

    fn map<P: VictimPolicy>(
        self,
        make: impl FnMut(&mut BlockTable, &mut Stream) -> Result<P, FtlError>,
    ) -> Result<Box<Self::Map>, FtlError> {
        Ok(Box::new(PageMap::with_policy(self, make)?))
    }

    fn map_with(self, victim: &Victim) -> Result<Box<Self::Map>, FtlError> {
        map_with(self, victim)
    }

    fn build(info: &VictimInfo) -> Build<Self> {
        info.page_map
    }
}

/// A map over planes that is driven one step at a time.
impl MapLayout for PlaneLayout<'_> {
    type Map = dyn Stepwise;

    fn map<P: VictimPolicy>(
        self,
        make: impl FnMut(&mut BlockTable, &mut Stream) -> Result<P, FtlError>,
    ) -> Result<Box<Self::Map>, FtlError> {
        Ok(Box::new(PlaneMap::with_policy(self, make)?))
    }

    fn map_with(self, victim: &Victim) -> Result<Box<Self::Map>, FtlError> {
        map_with(self, victim)
    }

    fn build(info: &VictimInfo) -> Build<Self> {
        info.plane_map
    }
}

/// Makes the page map whose victims `victim` picks. Only this crate calls it, so only this crate
/// compiles the maps of all policies.
fn map_with<L: MapLayout>(layout: L, victim: &Victim) -> Result<Box<L::Map>, FtlError> {
    match victim {
        Victim::Registered(spec) => spec.build(layout),
        Victim::External(_, make) => layout.map(|blocks, _| Ok(External::from_pick(make(blocks)?))),
        Victim::Placement(_) => layout.map(|_, _| Ok(ByPlacement)),
    }
}

/// The page map with policy `P`, which has these parameters.
fn build<P: VictimPolicy, L: MapLayout>(
    params: &Params,
    layout: L,
) -> Result<Box<L::Map>, FtlError> {
    layout.map(|blocks, rng| Ok(P::new(params, blocks, rng)?))
}

impl VictimInfo {
    /// The entry of policy `P`, whose source file is `source`.
    pub(crate) const fn of<P: VictimPolicy>(source: &'static str) -> Self {
        Self {
            name: P::NAME,
            params: P::PARAMS,
            source,
            page_map: |params, layout| build::<P, _>(params, layout),
            plane_map: |params, layout| build::<P, _>(params, layout),
            asks: Asks::of::<P>(),
            draws: P::DRAWS,
            remembers: P::REMEMBERS,
            bytes: |params, shape| {
                let (blocks, mut rng) = (BlockTable::of_shape(shape), Stream::new(0, "check"));
                Ok(P::new(params, &blocks, &mut rng)?.bytes(shape))
            },
            pick: |params, blocks, closed, seed| {
                let mut rng = Stream::new(seed, "victim");
                let mut policy = P::new(params, blocks, &mut rng)?;
                let mut tracker = policy.tracker(blocks);
                let mut blocks = blocks.clone();
                for &block in closed {
                    blocks.tick(blocks.pages_per_block().into());
                    tracker.closed(&blocks, block);
                }
                tracker.settle(&blocks);
                Ok(policy.pick(&blocks, &tracker, &mut rng))
            },
        }
    }

    /// The policy's pick from a hand-built table. The blocks of the table were closed in the order
    /// `closed`, and b pages were programmed before each close. The random stream is made from
    /// `seed`.
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

impl Documented for VictimInfo {
    fn source(&self) -> &'static str {
        self.source
    }
}

/// Every registered policy, in the order in which listings show them.
#[inline(never)] // else other crates compile the policies once more
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
        let info = spec.entry("victim policy", POLICIES, |info| info.name)?;
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

    /// Returns `true` if the policy asks which pages are zombies.
    pub fn asks_for_zombies(&self) -> bool {
        self.info.asks.zombies
    }

    /// Bytes of memory of the layer that [`VictimSpec::build`] makes; an error where the policy
    /// cannot be made for a drive of this shape.
    pub fn bytes(&self, layout: &Layout) -> Result<u64, SpecError> {
        Ok(page_map::bytes(layout, self.info.asks)
            + (self.info.bytes)(&self.params, &layout.geometry)?)
    }

    /// A page map with this policy.
    ///
    /// # Errors
    /// The errors of [`MapLayout::map`].
    pub fn build<L: MapLayout>(&self, layout: L) -> Result<Box<L::Map>, FtlError> {
        L::build(self.info)(&self.params, layout)
    }
}

/// Parameters that were added later: `wear` of `bsgc`, and `weigh` of the policies with ages. The
/// text leaves them out if they have their defaults, so older drives and results keep the texts of
/// their policies.
const LATER: [&str; 2] = ["weigh", "wear"];

/// Writes the spec with every parameter, except those of [`LATER`] that have their defaults.
impl std::fmt::Display for VictimSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.params.clone().without_defaults(self.info.params, &LATER).fmt(f)
    }
}

impl std::fmt::Debug for VictimSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VictimSpec({self})")
    }
}

/// The source of victims: a registered policy, a function from outside, or the placement.
#[derive(Clone)]
pub enum Victim {
    /// A registered policy.
    Registered(VictimSpec),
    /// A function from outside, under the name by which results report it.
    External(String, MakePick),
    /// The placement of the drive under the name by which its picks are reported.
    Placement(String),
}

impl Victim {
    /// Returns `true` if the policy is written outside of this crate.
    pub fn is_external(&self) -> bool {
        !matches!(self, Self::Registered(_))
    }

    /// Returns a victim from outside under another name. A registered policy keeps its name.
    pub fn named(self, name: &str) -> Self {
        match self {
            Self::Registered(spec) => Self::Registered(spec),
            Self::External(_, make) => Self::External(name.to_string(), make),
            Self::Placement(_) => Self::Placement(name.to_string()),
        }
    }

    /// A page map with these victims.
    ///
    /// # Errors
    /// The errors of [`MapLayout::map_with`].
    pub fn build<L: MapLayout>(&self, layout: L) -> Result<Box<L::Map>, FtlError> {
        layout.map_with(self)
    }

    /// Bytes of memory of a layer, without the unknown memory of a function from outside.
    ///
    /// # Errors
    /// A policy that cannot be made for a drive of this shape.
    pub fn bytes(&self, layout: &Layout) -> Result<u64, SpecError> {
        match self {
            Self::Registered(spec) => spec.bytes(layout),
            Self::External(..) => Ok(page_map::bytes(layout, Asks::of::<External>())),
            Self::Placement(_) => Ok(page_map::bytes(layout, Asks::of::<ByPlacement>())),
        }
    }

    /// Returns `true` if the policy draws random numbers. A function from outside may draw them.
    pub fn draws(&self) -> bool {
        !matches!(self, Self::Registered(spec) if !spec.info.draws)
    }

    /// Returns the past that the policy remembers. Nothing is known here of the past that a
    /// function from outside or a placement remembers: the result is then 0.
    pub fn remembers(&self) -> Remembers {
        match self {
            Self::Registered(spec) => spec.info.remembers,
            Self::External(..) | Self::Placement(_) => Remembers::default(),
        }
    }

    /// Returns `true` if the policy asks which pages are zombies.
    pub fn asks_for_zombies(&self) -> bool {
        matches!(self, Self::Registered(spec) if spec.asks_for_zombies())
    }
}

/// Writes the name that results carry: the spec of a registered policy, or the name given with a
/// function or a placement.
impl std::fmt::Display for Victim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Registered(spec) => spec.fmt(f),
            Self::External(name, _) | Self::Placement(name) => f.write_str(name),
        }
    }
}
