//! The small drives that campaigns draw.

use flashgc_ftl::{
    Allocation, EndOfLife, Endurance, Fill, Frontier, Geometry, Layout, Lifespan, Members,
    PlacementSpec, Victim, VictimSpec,
};

use crate::dies::Parity;
use crate::layout::{PAGE, Zones};
use crate::settings::{Durability, Settings};

/// The policies from which a schedule draws.
pub(super) const VICTIMS: [&str; 5] = ["greedy", "d-choices", "cost-benefit", "fifo", "random"];
pub(super) const PLACEMENTS: [&str; 4] =
    ["none", "dac:regions=2,threshold=900", "fdp:handles=3,persistent=1", "fdp:handles=2,groups=2"];
pub(super) const ALLOCATIONS: [&str; 3] = ["fifo", "lowest-erase", "random"];

/// The parity from which a schedule draws: dies of a superblock, dies of a stripe, pages of a
/// program.
const PARITY: [Option<(u32, u32, u32)>; 4] =
    [None, Some((3, 3, 2)), Some((4, 2, 1)), Some((5, 5, 1))];

/// Returns the parity that `draw`, a number below 4, stands for.
pub(super) fn parity(draw: u32) -> Option<Parity> {
    let (dies, parts, pages_per_program) = PARITY[draw as usize]?;
    Parity::new(Members::new(dies, Some(parts)), pages_per_program)
}

/// Returns the shape of a drive. A small one has 20 blocks of 8 pages, and 84 logical pages. The
/// other has 12 blocks of 64 pages: the changes of one block do not fit into one journal block.
/// With placement handles it has fewer logical pages, since handles keep more blocks open than
/// other placements do; with reclaim groups even fewer, since each has blocks of its own.
pub(super) fn shape(is_small: bool, placement: &str) -> Geometry {
    let shape = match (is_small, placement.starts_with("fdp"), placement.contains("groups")) {
        (true, _, true) => Geometry::new(20, 8, 64),
        (true, _, false) => Geometry::new(20, 8, 84),
        (false, false, _) => Geometry::new(12, 64, 420),
        (false, true, false) => Geometry::new(12, 64, 220),
        (false, true, true) => Geometry::new(12, 64, 110),
    };
    shape.expect("a small drive")
}

/// Returns the settings of a drive of this shape.
pub(super) fn settings(
    geometry: Geometry,
    (victim, placement, allocation): (&str, &str, &str),
    journal_blocks: u64,
    durability: Durability,
    lifespan: Option<Lifespan>,
    parity: Option<Parity>,
) -> Settings {
    let placement = PlacementSpec::parse(placement).expect("registered");
    let layout = Layout {
        frontier: Frontier::Pool { low: 2 },
        allocation: Allocation::parse(allocation).expect("registered"),
        streams: placement.needs_streams(),
        placement,
        fill: Fill::Empty,
        seed: 5,
        lifespan,
        blocks_together: parity.map_or(1, |parity| parity.dies),
        ..Layout::new(geometry)
    };
    let victim = Victim::Registered(VictimSpec::parse(victim).expect("registered"));
    Settings { layout, victim, journal_blocks, durability, streams: None, parity }
}

/// Returns a lifespan of `limit` erases for each block.
pub(super) fn lifespan(limit: u32, ends_at: EndOfLife) -> Lifespan {
    Lifespan { endurance: Endurance::fixed(limit), ends_at }
}

/// Returns the number of a bit in the file, selected by `at`. Every kind of structure is equally
/// likely.
pub(super) fn bit_of(zones: &Zones, at: u32) -> u64 {
    let page = PAGE as u64;
    let parts = [
        0..zones.config,
        zones.config..zones.config + page,
        zones.checkpoint(0)..zones.checkpoint(0) + page,
        zones.checkpoint(1)..zones.checkpoint(1) + page,
        zones.journal(0)..zones.oob(0),
        zones.oob(0)..zones.data(0),
        zones.data(0)..zones.len,
    ];
    let part = &parts[at as usize % parts.len()];
    part.start * 8 + u64::from(at) * 7919 % ((part.end - part.start) * 8)
}
