//! The drive of the benchmarks with a clock: 8 channels and 64 dies of TLC.

use flashgc_ftl::Members;
use flashgc_timed::{Hardware, Loop, Preemption, Settings};

/// The overprovisioning (N - U) / U: N is the number of physical pages, U of logical ones.
pub const OVERPROVISION: f64 = 0.28;
pub const PAGES_PER_BLOCK: u32 = 256;

/// Returns settings of TLC flash: a read takes 60 us, a program 700 us and an erase 3.5 ms. The bus
/// transfers 1.2 GB/s.
pub fn settings(host: Loop, queue_depth: u32, preemption: Preemption) -> Settings {
    let hardware = Hardware {
        channels: 8,
        ways: 4,
        dies: 2,
        planes: 1,
        page_bytes: 4096,
        units_per_page: 1,
        pages_per_program: 1,
        members: Members::ONE,
        read_ns: 60_000,
        program_ns: 700_000,
        second_ns: None,
        erase_ns: 3_500_000,
        transfer_ns: 3_400,
        command_ns: 0,
    };
    let mut settings = Settings { host, queue_depth, ..Settings::plain(hardware) };
    settings.collecting.preemption = preemption;
    settings
}
