//! The small drives that campaigns draw.

use flashgc_ftl::{
    Allocation, EndOfLife, Endurance, Fill, Frontier, Geometry, Layout, Lifespan, PlacementSpec,
    Victim, VictimSpec,
};

use crate::layout::{PAGE, Zones};
use crate::settings::{Durability, Settings};

/// Policies that a schedule draws from.
pub(super) const VICTIMS: [&str; 5] = ["greedy", "d-choices", "cost-benefit", "fifo", "random"];
pub(super) const PLACEMENTS: [&str; 2] = ["none", "dac:regions=2,threshold=900"];
pub(super) const ALLOCATIONS: [&str; 3] = ["fifo", "lowest-erase", "random"];

/// The shape of a small drive, 20 blocks of 8 pages of which the host has 84; or of one whose blocks have more pages
/// than a journal block can tell of between two syncs.
pub(super) fn shape(is_small: bool) -> Geometry {
    let shape = if is_small { Geometry::new(20, 8, 84) } else { Geometry::new(12, 64, 420) };
    shape.expect("a small drive")
}

/// The settings of a drive of this shape.
pub(super) fn settings(
    geometry: Geometry,
    (victim, placement, allocation): (&str, &str, &str),
    journal_blocks: u64,
    durability: Durability,
    lifespan: Option<Lifespan>,
) -> Settings {
    let layout = Layout {
        frontier: Frontier::Pool { low: 2 },
        allocation: Allocation::parse(allocation).expect("registered"),
        placement: PlacementSpec::parse(placement).expect("registered"),
        fill: Fill::Empty,
        seed: 5,
        lifespan,
        ..Layout::new(geometry)
    };
    let victim = Victim::Registered(VictimSpec::parse(victim).expect("registered"));
    Settings { layout, victim, journal_blocks, durability, streams: None }
}

/// A life of `limit` erases a block.
pub(super) fn lifespan(limit: u32, ends_at: EndOfLife) -> Lifespan {
    Lifespan { endurance: Endurance::Fixed { limit }, ends_at }
}

/// Returns a bit of the file, drawn by `at`: every kind of structure comes as often.
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
