//! Placement: the open block for each host write and each copy. One policy a file; this file is the
//! interface and the registry.

mod batch;
mod dac;
mod eti;
mod external;
mod fadac;
mod fdp;
mod future;
mod gdt;
mod intervals;
mod map_apart;
mod midas;
mod multilog;
mod none;
mod oracle;
mod quantiles;
mod sepbit;
mod sfr;
mod sfs;
mod stamps;
mod warcip;
mod window;

pub use batch::Batch;
pub(crate) use batch::{Front, Ground};
pub use external::{ExternalPlacement, MakePlacement};
pub use fdp::Handles;
use future::Waiting;
pub use future::{Event, Future};
use map_apart::MapApart;

use crate::blocks::{BlockId, BlockTable};
use crate::error::FtlError;
use crate::frontier::Frontier;
use crate::geometry::Geometry;
pub use crate::history::Class;
use crate::levelling::Levelling;
pub use crate::remembers::Remembers;
use crate::streams::Streams;
use flashgc_base::naming::{choice, subject};
use flashgc_base::rng::Stream;
use flashgc_base::snapshot::{State, Value};
use flashgc_base::spec::{Documented, Param, Params, Spec, SpecError, header};
use flashgc_base::stream::StreamId;

/// The time of a decision, on two clocks. First contents of a drive count on neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct Now {
    /// Pages programmed so far: host writes and copies.
    pub programs: u64,
    /// Pages that the host has written so far.
    pub host: u64,
}

/// A block on which a page has its data, had its old data, or gets its new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The class for which it was opened.
    pub class: Class,
    /// Its number in the drive.
    pub block: BlockId,
}

/// A block that is about to be collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collected {
    /// The class for which it was opened.
    pub class: Class,
    /// Its number in the drive.
    pub block: BlockId,
    /// The clocks when the block was opened.
    pub opened: Now,
    /// Pages of the block with current data.
    pub valid: u32,
    /// All pages of the block.
    pub pages: u32,
}

/// A rule that sorts pages into classes.
///
/// The drive asks [`host`](Placement::host) and [`copy`](Placement::copy) as often as it likes
/// before it programs a page; it reports what happened through the other methods. A rule whose
/// answers depend on more than the clock and the page's own state may not change its answers while
/// a block is copied.
#[allow(unused_variables)] // the names say what an implementation is told
pub trait Placement: State + Send {
    /// The number of classes: 1 or more.
    fn classes(&self) -> usize;

    /// Returns `true` if copies may go to `class`.
    fn takes_copies(&self, class: Class) -> bool;

    /// The number of classes that the copies of one block may go to: 1 or more.
    fn copy_classes(&self) -> usize {
        (0..self.classes()).filter(|&class| self.takes_copies(class as Class)).count()
    }

    /// Returns `true` if the rule asks which pages are zombies.
    fn asks_for_zombies(&self) -> bool {
        false
    }

    /// Asks the processor to load the rule's data on `page`, whose class will soon be asked for.
    fn prefetch(&self, page: u32) {}

    /// Returns the class of a host write of `page`. `stream` is the stream of the write, if it has
    /// one. `old` is the place of the page's present data; `None` if it has none.
    fn host(&self, page: u32, stream: Option<StreamId>, old: Option<Place>, now: Now) -> Class;

    /// Returns the class of all host writes of `stream`, if the stream is a placement handle:
    /// nothing else decides their class, and no copy goes to it. `None` for any other stream.
    fn of_handle(&self, stream: StreamId) -> Option<Class> {
        None
    }

    /// Returns the class of a copy of `page` from `from` by a collection. `zombie`: the page is a
    /// zombie.
    fn copy(&self, page: u32, from: Place, zombie: bool, now: Now) -> Class;

    /// Sorts the pages of `batch` as host writes: for each in turn, [`host`](Placement::host) and
    /// then [`wrote`](Placement::wrote). Implementations leave this as it is.
    fn sort_writes(&mut self, batch: &mut Batch<'_>) {
        batch.write(self);
    }

    /// Sorts the pages of `batch` as copies from `block`: for each in turn,
    /// [`copy`](Placement::copy) and then [`copied`](Placement::copied). Implementations leave
    /// this as it is.
    fn sort_copies(&mut self, batch: &mut Batch<'_>, block: BlockId) {
        batch.copy(self, block);
    }

    /// The drive has data of `page` at `place` from the beginning: first contents, or what a stored
    /// drive found after a crash.
    fn holds(&mut self, page: u32, place: Place, now: Now) {}

    /// The host has written `page`, whose data were at `from` and are at `to`; both clocks count
    /// it. A drive with a clock may write new data in place of a copy: `to` is then the place of
    /// that copy.
    fn wrote(&mut self, page: u32, from: Option<Place>, to: Place, now: Now) {}

    /// The host has discarded `page`, whose data were at `from`.
    fn trimmed(&mut self, page: u32, from: Place, now: Now) {}

    /// A collection has copied `page` from `from` to `to`.
    fn copied(&mut self, page: u32, from: Place, to: Place, now: Now) {}

    /// An erased block was opened for a class: `place` has both.
    fn opened(&mut self, place: Place, now: Now) {}

    /// A block was picked; its pages are copied next.
    fn collected(&mut self, block: Collected, now: Now) {}

    /// Returns the rule as one that looks at the blocks; `None` if the rule does not.
    fn blocks(&mut self) -> Option<&mut dyn SeesBlocks> {
        None
    }

    /// Returns the rule as one that picks the victims; `None` if the rule does not.
    fn victims(&mut self) -> Option<&mut dyn PicksVictims> {
        None
    }

    /// The open block at `place` is closed before it is full, because the rule [leaves](Collects::leaves) its class.
    fn closed(&mut self, _place: Place, _now: Now) {}

    /// Returns the rule as one that collects blocks of its own; `None` if the rule does not.
    fn collects(&mut self) -> Option<&mut dyn Collects> {
        None
    }

    /// Checks that the rule has not failed; only a rule from outside can. The answers of a failed
    /// rule mean nothing, but each is a class that exists.
    ///
    /// # Errors
    /// The reason why it failed.
    fn check(&self) -> Result<(), FtlError> {
        Ok(())
    }
}

/// A placement that looks at the blocks of its drive.
///
/// For such a placement the drive works page by page instead of in batches. So the counts are up to
/// date at every call of the placement: an overwritten page is no longer valid, and in a block that
/// is being collected only the pages still to be copied are valid.
#[allow(unused_variables)] // the names say what an implementation is told
pub trait SeesBlocks {
    /// Receives the table of a plane. It is called once for each plane, before its blocks hold
    /// anything. The columns never move, so a placement that [lends](BlockTable::lend) them may
    /// read them for ever.
    ///
    /// # Errors
    /// The errors of a placement from outside.
    fn begin(&mut self, blocks: &mut BlockTable) -> Result<(), FtlError>;

    /// Called before a block of this table is picked.
    fn look(&mut self, blocks: &BlockTable) {}
}

/// A placement that also picks the victims, if the victim policy of the drive leaves that to it.
pub trait PicksVictims {
    /// A candidate of this table, or `None` if there is none. All of its randomness comes from
    /// `rng`.
    fn pick(&mut self, blocks: &BlockTable, rng: &mut Stream) -> Option<BlockId>;
}

/// A placement that keeps blocks from the victim policy, and says when they are collected. The policy
/// picks among the blocks that the placement leaves to it.
///
/// The blocks of a plane have consecutive numbers.
pub trait Collects {
    /// The planes of the drive have `blocks` blocks each, and keep `erased` erased ones. It is called once, before any
    /// block has data.
    fn divide(&mut self, blocks: BlockId, erased: u32);

    /// Returns `true` if the placement keeps `block` from the victim policy once it is full.
    fn keeps(&self, block: BlockId) -> bool;

    /// The policy had the full block `block` before the placement kept it: the policy has it still.
    fn left(&mut self, block: BlockId);

    /// Returns `true` if `class` is a class of the placement that takes no more pages. Its open block is closed
    /// before the next collection.
    fn leaves(&self, class: Class) -> bool;

    /// The number of times that the blocks that the placement keeps may have changed otherwise than
    /// by an opening or a collection.
    fn changes(&self) -> u64;

    /// Returns the block that is collected next in the plane whose first block is `first`, one of those that
    /// the placement keeps; `None` if the victim policy picks. The last `fruitless` collections of the
    /// plane made no room for the host.
    fn next(&mut self, first: BlockId, fruitless: u64) -> Option<BlockId>;

    /// The victim policy finds nothing to collect: the placement leaves all blocks to it.
    fn give_up(&mut self);
}

/// A place of this class, for tests.
#[cfg(test)]
fn on(class: Class) -> Place {
    Place { class, block: 0 }
}

/// One registered policy, as listings, help texts and constructors need it.
pub struct PlacementInfo {
    /// The name people type.
    pub name: &'static str,
    /// The parameters that the policy takes.
    pub params: &'static [Param],
    /// The policy's source file, whose `//!` header documents it.
    source: &'static str,
    /// `true` if the policy must know what the host will write.
    pub needs_future: bool,
    /// `true` if the policy must know the streams of writes.
    pub needs_streams: bool,
    /// Bytes that the policy keeps on a drive of this shape.
    bytes: fn(&Params, Shape) -> u64,
    /// The past that the policy remembers on a drive of this shape.
    remembers: fn(&Params, Shape) -> Remembers,
    /// Makes the policy on a drive of this shape, with the future if it needs that. `None` if the
    /// frontier decides everything.
    make: Option<Make>,
}

type Make = fn(&Params, Shape, Option<Box<dyn Future>>) -> Box<dyn Placement>;

/// The size of a drive, as far as a placement must know it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// Logical pages: the length of a table with one entry for each page.
    pages: usize,
    pages_per_block: u32,
    /// Physical blocks.
    blocks: u32,
}

impl From<&Geometry> for Shape {
    fn from(geometry: &Geometry) -> Self {
        let pages = geometry.logical_pages() as usize;
        Self { pages, pages_per_block: geometry.pages_per_block(), blocks: geometry.blocks() }
    }
}

impl PlacementInfo {
    /// Bytes of memory for each logical page, with the usual parameters. The drive has 2^20 logical
    /// pages and 4661 blocks of 256 pages, a spare factor of 12%. Larger drives need no more for a
    /// page, except for tables whose lengths are powers of two.
    pub fn bytes_a_page(&self) -> f64 {
        let pages = 1 << 20;
        let shape = Shape { pages, pages_per_block: 256, blocks: 4661 };
        let usual = PlacementSpec::parse(self.name).expect("the defaults fit");
        let streams = if self.needs_streams { Streams::bytes(pages as u32) } else { 0 };
        ((self.bytes)(&usual.params, shape) + streams) as f64 / pages as f64
    }
}

impl Documented for PlacementInfo {
    fn source(&self) -> &'static str {
        self.source
    }

    fn doc(&self) -> String {
        let source = "\n\n# Source\n";
        let memory = format!(
            "\n\nMemory with the usual parameters: {:.3} bytes a logical page of 2^20.{source}",
            self.bytes_a_page()
        );
        header(self.source).replace(source, &memory)
    }
}

// The list of policies; the first is the default.
#[rustfmt::skip] // one a line
static POLICIES: &[PlacementInfo] = &[
    none::INFO,
    dac::INFO,
    sepbit::INFO,
    multilog::INFO,
    fadac::INFO,
    sfr::INFO,
    warcip::INFO,
    intervals::INFO,
    gdt::INFO,
    sfs::INFO,
    midas::INFO,
    eti::INFO,
    fdp::INFO,
    oracle::INFO,
];

/// Every registered policy, in the order in which listings show them.
pub fn placement_policies() -> &'static [PlacementInfo] {
    POLICIES
}

/// A registered placement with its parameters checked, or one from outside.
#[derive(Clone)]
pub struct PlacementSpec {
    info: &'static PlacementInfo,
    params: Params,
    future: Waiting,
    /// The placement from outside. It takes the place of the registered placement, and the other
    /// fields are then the default.
    external: Option<ExternalPlacement>,
    /// The entries of a translation page, if the map lies on flash and has blocks of its own.
    map_entries: Option<u32>,
}

/// The requirements of a placement on its drive.
struct Needs {
    classes: u32,
    copy_classes: u32,
    asks_for_zombies: bool,
    sees_blocks: bool,
}

impl PlacementSpec {
    /// Reads `text`, for example `dac:regions=3,zombie-block=yes`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(text)?;
        let info = spec.entry("placement", POLICIES, |info| info.name)?;
        let params = match info.name == fdp::INFO.name {
            true => fdp::read(&spec)?,
            false => Params::resolve(&spec, info.params)?,
        };
        Ok(Self { info, params, future: Waiting::default(), external: None, map_entries: None })
    }

    /// A placement from outside.
    pub fn from_outside(external: ExternalPlacement) -> Self {
        Self { external: Some(external), ..Self::default() }
    }

    /// The name without parameters.
    pub fn name(&self) -> &str {
        self.external.as_ref().map_or(self.info.name, |external| &external.name)
    }

    /// Returns `true` if the placement comes from outside and must stay on the calling thread.
    pub fn is_external(&self) -> bool {
        self.external.is_some()
    }

    /// Returns `true` if the placement leaves all to the frontier, as a drive does by default.
    pub fn is_none(&self) -> bool {
        self.has_no_rule() && self.map_entries.is_none()
    }

    /// Returns `true` if no rule sorts the pages of the host.
    fn has_no_rule(&self) -> bool {
        self.external.is_none() && self.info.make.is_none()
    }

    /// Returns the placement of a drive whose map lies on flash and has blocks of its own. A
    /// translation page has `entries` entries.
    pub(crate) fn with_map(self, entries: u32) -> Self {
        Self { map_entries: Some(entries), ..self }
    }

    /// Returns `true` if only the pages of the map are sorted from others.
    fn sorts_map_alone(&self) -> bool {
        self.has_no_rule() && self.map_entries.is_some()
    }

    /// The option that sorts pages into classes, as messages name it.
    pub fn said(&self) -> String {
        match self.sorts_map_alone() {
            true => format!("{} dftl with blocks=own", subject("mapping")),
            false => format!("{} {}", subject("placement"), self.name()),
        }
    }

    /// The option that sorts pages into classes, with its parameters.
    pub(crate) fn in_full(&self) -> String {
        if self.sorts_map_alone() { self.said() } else { self.to_string() }
    }

    /// The choice that sorts no pages into classes, for hints.
    pub fn without(&self) -> String {
        match self.sorts_map_alone() {
            true => choice("mapping", "dftl:blocks=shared"),
            false => choice("placement", POLICIES[0].name),
        }
    }

    /// Returns `true` if the placement must know what the host will write.
    /// [`PlacementSpec::with_future`] gives it this knowledge.
    pub fn needs_future(&self) -> bool {
        self.info.needs_future
    }

    /// Returns the distance that the placement looks ahead, in host writes per logical page; `None`
    /// if it does not look ahead.
    pub fn horizon(&self) -> Option<f64> {
        self.needs_future().then(|| self.params.real("horizon"))
    }

    /// Returns the spec of this placement with the horizon `horizon`, as people type it. `None` if
    /// the placement does not look ahead, or if that horizon is not allowed.
    pub fn with_horizon(&self, horizon: f64) -> Option<String> {
        let text = self.to_string();
        let (before, rest) = text.split_once("horizon=")?;
        let after = rest.find(',').map_or("", |at| &rest[at..]);
        let near = format!("{before}horizon={horizon}{after}");
        Self::parse(&near).ok().map(|near| near.to_string())
    }

    /// Checks that the placement works on a drive that does not know what the host will write.
    ///
    /// # Errors
    /// A placement that needs to know that.
    pub fn check_without_future(&self) -> Result<(), SpecError> {
        if !self.needs_future() {
            return Ok(());
        }
        Err(SpecError::new(
            format!(
                "{} {} must know what the host will write, and the drive is not told",
                subject("placement"),
                self.name()
            ),
            "another placement",
        ))
    }

    /// Returns the placement for the one drive to which the host will write `future`.
    pub fn with_future(self, future: Box<dyn Future>) -> Self {
        Self { future: Waiting::new(future), ..self }
    }

    /// Checks that a drive with this frontier and this wear levelling can have the placement.
    pub(crate) fn check(
        &self,
        frontier: Frontier,
        levelling: Option<Levelling>,
    ) -> Result<(), SpecError> {
        if self.is_none() {
            return Ok(());
        }
        let isolated = self.handles().filter(|handles| handles.persistent > 0);
        if let Some(handles) = isolated.filter(|_| levelling.is_some()) {
            let initially = format!("{}:handles={},persistent=0", self.name(), handles.count);
            return Err(SpecError::new(
                format!(
                    "{} {self} does not go with {}: pages of persistently isolated handles never share a block \
                     with others, and levelling moves those of all handles into one",
                    subject("placement"),
                    choice("wear_levelling", "static")
                ),
                format!(
                    "{}, or {}",
                    choice("placement", initially),
                    choice("wear_levelling", "none")
                ),
            ));
        }
        if matches!(frontier, Frontier::Pool { .. }) {
            return Ok(());
        }
        Err(SpecError::new(
            format!(
                "{} needs the pool frontier, found {}: each of its classes has an open block of its own, \
                 from the pool",
                self.said(),
                choice("frontier", frontier)
            ),
            choice("frontier", "pool"),
        ))
    }

    /// Returns `true` if the placement asks which pages are zombies.
    pub fn asks_for_zombies(&self) -> bool {
        self.needs().is_some_and(|needs| needs.asks_for_zombies)
    }

    /// Returns `true` if the placement looks at the blocks of the drive.
    pub(crate) fn sees_blocks(&self) -> bool {
        self.needs().is_some_and(|needs| needs.sees_blocks)
    }

    /// The placement handles of a drive with flexible data placement; `None` of another.
    pub fn handles(&self) -> Option<Handles> {
        (self.info.name == fdp::INFO.name).then(|| fdp::handles(&self.params))
    }

    /// The number of reclaim groups of the drive.
    pub fn groups(&self) -> u32 {
        self.handles().map_or(1, |handles| handles.groups.into())
    }

    /// Returns `true` if the placement must know the streams of writes.
    pub fn needs_streams(&self) -> bool {
        self.info.needs_streams
    }

    /// The policy on a drive of this shape; `None` if it leaves all to the frontier.
    ///
    /// # Errors
    /// A placement that needs a future and got none, or an error of a placement from outside.
    pub(crate) fn make(
        &self,
        geometry: &Geometry,
    ) -> Result<Option<Box<dyn Placement>>, SpecError> {
        let rule = match &self.external {
            Some(external) => Some(external.make(geometry.into())?),
            None => {
                let future = self.future.take();
                if future.is_none() {
                    self.check_without_future()?;
                }
                self.info.make.map(|make| make(&self.params, geometry.into(), future))
            }
        };
        Ok(self.beside_map(rule, geometry.into()))
    }

    /// Returns `rule`, joined to the map if that has blocks of its own.
    fn beside_map(
        &self,
        rule: Option<Box<dyn Placement>>,
        shape: Shape,
    ) -> Option<Box<dyn Placement>> {
        match self.map_entries {
            Some(entries) => Some(Box::new(MapApart::new(rule, shape, entries))),
            None => rule,
        }
    }

    /// Returns the requirements of the placement; `None` if it leaves all to the frontier.
    fn needs(&self) -> Option<Needs> {
        if let Some(external) = &self.external {
            let of_map = u32::from(self.map_entries.is_some());
            let Needs { classes, copy_classes, .. } = external.needs();
            let (classes, copy_classes) = (classes + of_map, copy_classes + of_map);
            return Some(Needs { classes, copy_classes, ..external.needs() });
        }
        let rule = self.info.make.map(|make| make(&self.params, Shape::default(), None));
        let mut sample = self.beside_map(rule, Shape::default())?;
        Some(Needs {
            classes: sample.classes() as u32,
            copy_classes: sample.copy_classes() as u32,
            asks_for_zombies: sample.asks_for_zombies(),
            sees_blocks: sample.blocks().is_some(),
        })
    }

    /// Returns the past that the placement remembers on a drive of this shape.
    pub fn remembers(&self, geometry: &Geometry) -> Remembers {
        match &self.external {
            Some(external) => external.remembers,
            None => (self.info.remembers)(&self.params, geometry.into()),
        }
    }

    /// Bytes that the placement keeps on a drive of this shape. The memory of a placement from
    /// outside is unknown and does not count.
    pub(crate) fn bytes(&self, geometry: &Geometry) -> u64 {
        (self.info.bytes)(&self.params, geometry.into())
    }

    /// Erased blocks that the collector keeps beyond the low-water mark of the pool: one for every
    /// class of copies but the first, as one collection may open a block for each of them.
    pub fn kept_for_copies(&self) -> u32 {
        self.needs().map_or(0, |needs| needs.copy_classes - 1)
    }

    /// Blocks that can never hold host data, beyond the low-water mark of a pool: one for each
    /// class, and one erased block for every class of copies after the first. `None` if the
    /// placement leaves all to the frontier.
    pub fn blocks_kept(&self) -> Option<u32> {
        self.needs().map(|needs| needs.classes + needs.copy_classes - 1)
    }
}

impl Default for PlacementSpec {
    fn default() -> Self {
        Self::parse(POLICIES[0].name).expect("the default takes no parameters")
    }
}

/// Writes the spec with every parameter, or the name of a placement from outside.
impl std::fmt::Display for PlacementSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.external {
            Some(external) => f.write_str(&external.name),
            None => self.params.fmt(f),
        }
    }
}

impl std::fmt::Debug for PlacementSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PlacementSpec({self})")
    }
}

/// A number from 0 to below 1 that looks random and follows from `key` and `salt`. So a question
/// that is asked twice gets the same answer.
#[inline]
fn draw(key: u64, salt: u64) -> f64 {
    // The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    let mut hash = key ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((hash ^ (hash >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
