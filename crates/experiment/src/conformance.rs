//! Runs of the conformance suites for policies that are no part of flashgc.

use flashgc_drive::counting::CountingDrive;
use flashgc_drive::error::DriveError;
use flashgc_drive::extent::{Extent, Unit};
use flashgc_ftl::{
    ExternalPlacement, Fill, Frontier, Geometry, Layout, PlacementSpec, Victim, VictimSpec,
};
use flashgc_workload::generate::GeneratorSpec;

use crate::strict;

/// The drive on which a victim policy is tested.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// The number of blocks.
    pub blocks: u32,
    /// The pages of a block.
    pub pages_per_block: u32,
    /// The share of the pages that is spare.
    pub spare: f64,
    /// The frontier, as typed.
    pub frontier: &'a str,
}

/// The writes of a run.
#[derive(Clone, Copy, Debug)]
pub struct Writes<'a> {
    /// The generator, as typed.
    pub workload: &'a str,
    /// The number of page writes in the run.
    pub count: u64,
    /// The number of page writes in a batch.
    pub batch: usize,
    /// The seed of the drive and of the workload.
    pub seed: u64,
}

/// The decisions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decisions {
    /// The digest of all decisions.
    pub digest: u64,
    /// The number of collections.
    pub collections: u64,
    /// The number of pages copied.
    pub copied_pages: u64,
}

/// The reasons why a run has no result.
#[derive(Debug)]
pub enum Unfit {
    /// An argument describes no valid drive or workload.
    Argument(String),
    /// The drive cannot continue.
    Drive(DriveError),
    /// The drive fails the audit at the end.
    Audit(String),
}

impl From<DriveError> for Unfit {
    fn from(error: DriveError) -> Self {
        Self::Drive(error)
    }
}

fn argument(error: impl std::fmt::Display) -> Unfit {
    Unfit::Argument(error.to_string())
}

/// Runs a drive with the victim policy `victim`.
///
/// # Errors
/// Fails if the arguments describe no valid drive, or the policy breaks its contract.
pub fn run_victim(
    victim: &Victim,
    shape: Shape<'_>,
    writes: Writes<'_>,
) -> Result<Decisions, Unfit> {
    let Shape { blocks, pages_per_block, spare, frontier } = shape;
    let geometry = Geometry::with_spare(blocks, pages_per_block, spare).map_err(argument)?;
    let frontier = Frontier::parse(frontier).map_err(argument)?;
    run(victim, Layout { frontier, ..Layout::new(geometry) }, writes)
}

/// Runs the placement `placement` and checks its answers. The drive is empty at first and has as
/// many blocks as the classes need. `victim` picks the victims; if it is `None`, the placement
/// picks them.
///
/// # Errors
/// Fails if the arguments describe no valid drive, or the placement breaks its contract.
pub fn run_placement(
    placement: ExternalPlacement,
    victim: Option<&str>,
    writes: Writes<'_>,
) -> Result<Decisions, Unfit> {
    /// The number of blocks of the drive, apart from the blocks for the classes.
    const BLOCKS: u32 = 40;
    /// The number of additional blocks for each class.
    const BLOCKS_A_CLASS: u32 = 8;
    let blocks = BLOCKS + BLOCKS_A_CLASS * placement.takes_copies.len() as u32;
    let geometry = Geometry::with_spare(blocks, 16, 0.25).map_err(argument)?;
    let layout = Layout {
        frontier: Frontier::Pool { low: 1 },
        fill: Fill::Empty,
        placement: PlacementSpec::from_outside(strict::watched(placement)),
        ..Layout::new(geometry)
    };
    let victim = match victim {
        Some(victim) => Victim::Registered(VictimSpec::parse(victim).map_err(argument)?),
        None => Victim::Placement("placement".to_string()),
    };
    run(&victim, layout, writes)
}

fn run(victim: &Victim, layout: Layout, writes: Writes<'_>) -> Result<Decisions, Unfit> {
    let Writes { workload, count, batch, seed } = writes;
    let pages = layout.geometry.logical_pages();
    let layer = victim.build(Layout { seed, ..layout }).map_err(DriveError::from)?;
    let source = GeneratorSpec::parse(workload).map_err(argument)?;
    let source = source.open(pages, seed).map_err(argument)?;
    let mut drive = CountingDrive::new(layer, source, batch);
    let target = Extent { unit: Unit::Writes, amount: count };
    while drive.step(target)? {}
    drive.layer().audit().map_err(Unfit::Audit)?;
    let counters = drive.layer().counters();
    Ok(Decisions {
        digest: drive.layer().decisions(),
        collections: counters.collections,
        copied_pages: counters.copied_pages,
    })
}
