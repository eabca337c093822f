//! Shared by the unit tests of the rooms: a small drive of the paper's flash.

use flashgc_ftl::{Frontier, Geometry, Layout, PlaneLayout, VictimSpec};

use super::clock::Clock;
use super::config::{
    Collecting, Details, Hardware, Loop, Order, Placement, Preemption, Scheduling, Settings,
    Suspend, Unit,
};
use super::measure::Silent;
use super::shared::Shared;

/// Two dies on one channel: 25 ns, 200 ns, 1500 ns, and a bus of 10 ns.
pub fn settings() -> Settings {
    let hardware = Hardware {
        channels: 1,
        ways: 1,
        dies: 2,
        planes: 1,
        page_bytes: 4096,
        units_per_page: 1,
        read_ns: 25,
        program_ns: 200,
        erase_ns: 1500,
        transfer_ns: 10,
        command_ns: 0,
    };
    Settings {
        hardware,
        placement: Placement::Static(Order::CWDP),
        scheduling: Scheduling::Fifo,
        multi_plane: false,
        cache_commands: false,
        collecting: Collecting {
            unit: Unit::Plane,
            low: 2,
            high: 2,
            hard: 0,
            preemption: Preemption::Semi { merge: false, pipeline: false },
            holds_unit: false,
            search_ns: 0,
            poll_ns: 0,
            copy_back: false,
            idle: None,
            paces_writes: false,
        },
        suspend: Suspend::NEVER,
        slc: None,
        flush_after_ns: u64::MAX,
        write_cache: 0,
        host: Loop::Open,
        queue_depth: 8,
        details: Details::default(),
    }
}

/// The map of 40 pages on 10 blocks of 4 a die, filled in order: even pages on the first die.
pub fn shared() -> Shared<Silent> {
    let layout = PlaneLayout {
        layout: Layout {
            frontier: Frontier::Pool { low: 2 },
            seed: 1,
            ..Layout::new(Geometry::new(20, 4, 40).unwrap())
        },
        planes: 2,
        first: 0,
        home: &|page| page % 2,
    };
    let map = VictimSpec::parse("greedy").unwrap().build_stepwise(layout).unwrap();
    Shared::new(Clock::new(1, 2), map, Silent)
}
