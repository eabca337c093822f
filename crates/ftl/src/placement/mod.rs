//! Placement: the open block for each host write and each copy. One policy a file; this file is the
//! interface and the registry.

mod dac;
mod none;

use crate::frontier::Frontier;
use crate::levelling::Levelling;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, Spec, SpecError, header, suggest};

/// A class of data. Every class has an open block of its own, and a block keeps the class for which
/// it was opened; the first contents of a drive are of class 0.
pub type Class = u8;

/// A rule that sorts pages into classes.
pub trait Placement: State + Send {
    /// How many classes there are: 1 or more.
    fn classes(&self) -> usize;

    /// Whether copies may go to `class`.
    fn takes_copies(&self, class: Class) -> bool;

    /// How many classes copies may go to: 1 or more.
    fn copy_classes(&self) -> usize {
        (0..self.classes()).filter(|&class| self.takes_copies(class as Class)).count()
    }

    /// Whether it asks which pages are zombies; they are kept only then.
    fn asks_for_zombies(&self) -> bool {
        false
    }

    /// The class of `page`, which the host writes at clock `now`. Its data until now are on a block
    /// of class `old`; `None` if it has none.
    fn host(&self, page: u32, old: Option<Class>, now: u64) -> Class;

    /// The host has written `page`, at clock `now`.
    fn wrote(&mut self, page: u32, now: u64) {
        let _ = (page, now);
    }

    /// The class of `page`, which a collection copies from a block of class `from` at clock `now`.
    fn copy(&self, page: u32, from: Class, zombie: bool, now: u64) -> Class;

    /// Bytes that it keeps.
    fn bytes(&self) -> u64 {
        0
    }
}

/// One registered policy, as listings, help texts and constructors need it.
pub struct PlacementInfo {
    /// The name people type.
    pub name: &'static str,
    /// The parameters it takes.
    pub params: &'static [Param],
    /// The policy's source file, whose `//!` header documents it.
    source: &'static str,
    /// The policy on a drive of so many logical pages; `None` leaves it to the frontier.
    make: Option<Make>,
}

type Make = fn(&Params, u32) -> Box<dyn Placement>;

impl PlacementInfo {
    /// The documentation in Markdown: summary, description, rule, cost and source.
    pub fn doc(&self) -> String {
        header(self.source)
    }

    /// The first line of the documentation.
    pub fn summary(&self) -> String {
        self.doc().lines().next().unwrap_or_default().to_string()
    }
}

// The list of policies; the first is the default.
static POLICIES: &[PlacementInfo] = &[none::INFO, dac::INFO];

/// Every registered policy, in the order in which listings show them.
pub fn placement_policies() -> &'static [PlacementInfo] {
    POLICIES
}

/// A registered placement with its parameters checked.
#[derive(Clone)]
pub struct PlacementSpec {
    info: &'static PlacementInfo,
    params: Params,
}

impl PlacementSpec {
    /// Reads `text`, for example `dac:regions=3,zombie-block=yes`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(text)?;
        let Some(info) = POLICIES.iter().find(|info| info.name == spec.name) else {
            return Err(SpecError::new(
                format!("unknown placement '{}'", spec.name),
                suggest(&spec.name, POLICIES.iter().map(|info| info.name)),
            ));
        };
        Ok(Self { info, params: Params::resolve(&spec, info.params)? })
    }

    /// Whether it leaves all to the frontier, as a drive does if nobody says otherwise.
    pub fn is_none(&self) -> bool {
        self.info.make.is_none()
    }

    /// Whether a drive with this frontier, and this way to level wear, can have it.
    pub(crate) fn check(
        &self,
        frontier: Frontier,
        levelling: Option<Levelling>,
    ) -> Result<(), SpecError> {
        if self.is_none() {
            return Ok(());
        }
        if levelling.is_some() {
            return Err(SpecError::new(
                format!("placement {self} and static wear levelling cannot be combined"),
                "give one or the other",
            ));
        }
        if matches!(frontier, Frontier::Pool { .. }) {
            return Ok(());
        }
        Err(SpecError::new(
            format!(
                "placement {self} needs the pool frontier, found {frontier}: each of its \
                 classes has an open block of its own, from the pool"
            ),
            "give --frontier pool",
        ))
    }

    /// Whether it asks which pages are zombies.
    pub fn asks_for_zombies(&self) -> bool {
        self.make(0).is_some_and(|placement| placement.asks_for_zombies())
    }

    /// The policy on a drive of `logical_pages`; `None` if it leaves all to the frontier.
    pub(crate) fn make(&self, logical_pages: u32) -> Option<Box<dyn Placement>> {
        self.info.make.map(|make| make(&self.params, logical_pages))
    }

    /// Erased blocks that the collector keeps beside the low-water mark of the pool: one for every
    /// class of copies but the first, as one collection may open a block for each of them.
    pub fn kept_for_copies(&self) -> u32 {
        self.make(0).map_or(0, |placement| placement.copy_classes() as u32 - 1)
    }

    /// Blocks that can never hold host data beside the low-water mark of a pool: one a class, and
    /// one erased for every class of copies after the first. `None` if it leaves all to the
    /// frontier.
    pub fn blocks_kept(&self) -> Option<u32> {
        Some(self.make(0)?.classes() as u32 + self.kept_for_copies())
    }
}

impl Default for PlacementSpec {
    fn default() -> Self {
        Self::parse(POLICIES[0].name).expect("the default takes no parameters")
    }
}

/// The spec in full, every parameter written out.
impl std::fmt::Display for PlacementSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.params.fmt(f)
    }
}

impl std::fmt::Debug for PlacementSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PlacementSpec({self})")
    }
}
