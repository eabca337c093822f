//! A small drive for the unit tests of the rooms.

use flashgc_ftl::{Frontier, Geometry, Layout, Members, PlaneLayout, VictimSpec};

use super::clock::Clock;
use super::config::{Hardware, Preemption, Settings};
use super::observer::Silent;
use super::shared::Shared;

/// Returns the settings of two dies on one channel. A read takes 25 ns, a program 200 ns, an erase
/// 1500 ns, and a transfer 10 ns.
pub fn settings() -> Settings {
    let hardware = Hardware {
        channels: 1,
        ways: 1,
        dies: 2,
        planes: 1,
        page_bytes: 4096,
        units_per_page: 1,
        pages_per_program: 1,
        members: Members::ONE,
        read_ns: 25,
        program_ns: 200,
        second_ns: None,
        erase_ns: 1500,
        transfer_ns: 10,
        command_ns: 0,
    };
    let mut settings = Settings { queue_depth: 8, ..Settings::plain(hardware) };
    settings.collecting.preemption = Preemption::Semi { merge: false, pipeline: false };
    settings
}

/// Returns the shared parts of a drive of 40 logical pages. Each die has 10 blocks of 4 pages. Even
/// pages are on the first die, odd ones on the second.
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
    let map = VictimSpec::parse("greedy").unwrap().build(layout).unwrap();
    Shared::new(Clock::new(1, 2), map, Silent)
}
