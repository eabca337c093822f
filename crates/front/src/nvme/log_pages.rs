//! Log pages: errors, health, firmware, effects of commands, endurance, the log of OCP, discovery.
//!
//! # Adding a log page
//!
//! 1. In this file, its number in `page` and in `page::OF_DRIVE`, the list of the pages that a host
//!    sees as supported; a `#[repr(C)]` struct of its bytes, with the section of the specification
//!    if you have read it; and a function that fills the struct.
//! 2. In `admin.rs`, the call of that function in `log`.
//! 3. In `tests.rs`, its layout by hand. `logs_are_read_whole_and_in_parts` in
//!    `crates/front/tests/nvme_admin.rs` reads every page that is listed, and expects an error for all
//!    others.
//!
//! # Source
//! NVM Express Base Specification 2.0, section 5.16; OCP Datacenter NVMe SSD Specification 2.0,
//! section 4.8.6.

use std::net::SocketAddr;

use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::structures::{opcode, padded, terminated};
use super::{ADMIN_ENTRIES, FIRMWARE};
use crate::health::{Health, SPARE_THRESHOLD};

/// The number of errors that the log of a controller keeps.
pub const ERRORS: usize = 16;
/// The address type of TCP in the discovery log.
const TCP: u8 = 3;
/// The GUID of the log of OCP, in the order of bytes in the log.
const OCP: [u8; 16] = [
    0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf,
];

/// Numbers of log pages.
pub mod page {
    pub const SUPPORTED: u8 = 0x00;
    pub const ERROR: u8 = 0x01;
    pub const HEALTH: u8 = 0x02;
    pub const FIRMWARE: u8 = 0x03;
    pub const EFFECTS: u8 = 0x05;
    pub const ENDURANCE: u8 = 0x09;
    pub const FDP_CONFIGURATIONS: u8 = 0x20;
    pub const FDP_USAGE: u8 = 0x21;
    pub const FDP_STATISTICS: u8 = 0x22;
    pub const FDP_EVENTS: u8 = 0x23;
    pub const DISCOVERY: u8 = 0x70;
    pub const OCP: u8 = 0xc0;
    /// The log pages of a drive's controller.
    pub const OF_DRIVE: [u8; 7] = [SUPPORTED, ERROR, HEALTH, FIRMWARE, EFFECTS, ENDURANCE, OCP];
    /// The log pages that a drive with placement handles has in addition.
    pub const OF_FDP: [u8; 4] = [FDP_CONFIGURATIONS, FDP_USAGE, FDP_STATISTICS, FDP_EVENTS];
}

/// An entry of the error log (01h).
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ErrorEntry {
    pub count: U64,
    pub queue: U16,
    pub cid: U16,
    pub status: U16,
    pub place: U16,
    pub block: U64,
    pub namespace: U32,
    pub vendor: u8,
    pub transport: u8,
    pub command_set: u8,
    pub opcode: u8,
    pub reserved: [u8; 32],
}

/// The SMART log (02h).
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SmartLog {
    pub critical_warning: u8,
    pub temperature: U16,
    pub available_spare: u8,
    pub spare_threshold: u8,
    pub percentage_used: u8,
    pub endurance_warning: u8,
    pub reserved_7: [u8; 25],
    pub data_units_read: U128,
    pub data_units_written: U128,
    pub host_reads: U128,
    pub host_writes: U128,
    pub busy_minutes: U128,
    pub power_cycles: U128,
    pub power_on_hours: U128,
    pub unsafe_shutdowns: U128,
    pub media_errors: U128,
    pub error_entries: U128,
    pub reserved_192: [u8; 320],
}

/// The log of an endurance group (09h).
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct EnduranceLog {
    pub critical_warning: u8,
    pub features: u8,
    pub reserved_2: u8,
    pub available_spare: u8,
    pub spare_threshold: u8,
    pub percentage_used: u8,
    pub domain: U16,
    pub reserved_8: [u8; 24],
    pub estimate: U128,
    pub data_units_read: U128,
    pub data_units_written: U128,
    pub media_units_written: U128,
    pub host_reads: U128,
    pub host_writes: U128,
    pub media_errors: U128,
    pub error_entries: U128,
    pub capacity: U128,
    pub unallocated: U128,
    pub reserved_192: [u8; 320],
}

/// The extended log of OCP (C0h).
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct OcpLog {
    pub media_bytes_written: U128,
    pub media_bytes_read: U128,
    pub bad_blocks: [u8; 6],
    pub bad_blocks_normalized: U16,
    pub bad_system_blocks: [u8; 6],
    pub bad_system_blocks_normalized: U16,
    pub recoveries: U64,
    pub uncorrectable_reads: U64,
    pub soft_errors: U64,
    pub detected: U32,
    pub corrected: U32,
    pub system_data_used: u8,
    pub refreshes: [u8; 7],
    pub most_erases: U32,
    pub least_erases: U32,
    pub throttling: [u8; 2],
    pub version: [u8; 6],
    pub correctable: U64,
    pub incomplete_shutdowns: U32,
    pub reserved_116: [u8; 4],
    pub percent_free_blocks: u8,
    pub reserved_121: [u8; 15],
    pub unaligned: U64,
    pub security_version: U64,
    pub used_blocks: U64,
    pub reserved_160: [u8; 334],
    pub page_version: U16,
    pub page_name: [u8; 16],
}

/// The head of the discovery log (70h).
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DiscoveryHead {
    pub generation: U64,
    pub records: U64,
    pub format: U16,
    pub reserved: [u8; 1006],
}

/// An entry of the discovery log (70h).
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DiscoveryEntry {
    pub transport: u8,
    pub family: u8,
    pub kind: u8,
    pub requirements: u8,
    pub port: U16,
    pub controller: U16,
    pub admin_entries: U16,
    pub flags: U16,
    pub reserved_12: [u8; 20],
    pub service: [u8; 32],
    pub reserved_64: [u8; 192],
    pub subsystem: [u8; 256],
    pub address: [u8; 256],
    pub specific: [u8; 256],
}

/// Returns the log of supported log pages (00h).
pub fn supported(pages: &[u8]) -> Vec<u8> {
    let mut all = [U32::ZERO; 256];
    pages.iter().for_each(|page| all[usize::from(*page)] = 1.into());
    all.as_bytes().to_vec()
}

/// Returns the SMART log (02h). The temperature is 0, since it is not simulated.
pub fn health(health: &Health, errors: u64) -> Vec<u8> {
    let wide = |number: u64| U128::new(number.into());
    SmartLog {
        critical_warning: health.critical_warning,
        available_spare: health.available_spare as u8,
        spare_threshold: SPARE_THRESHOLD as u8,
        percentage_used: health.percentage_used as u8,
        endurance_warning: health.critical_warning,
        data_units_read: wide(health.data_units_read),
        data_units_written: wide(health.data_units_written),
        host_reads: wide(health.host_reads),
        host_writes: wide(health.host_writes),
        busy_minutes: wide(health.busy_minutes),
        power_cycles: wide(health.power_cycles),
        power_on_hours: wide(health.power_on_hours),
        unsafe_shutdowns: wide(health.unsafe_shutdowns),
        media_errors: wide(health.media_errors),
        error_entries: wide(errors),
        ..SmartLog::new_zeroed()
    }
    .as_bytes()
    .to_vec()
}

/// Returns the firmware log (03h): slot 1 has the version of this program.
pub fn firmware() -> Vec<u8> {
    let mut log = vec![0; 512];
    log[0] = 1;
    log[8..16].copy_from_slice(&padded::<8>(FIRMWARE));
    log
}

/// Returns the log of supported commands and their effects (05h). With `has_fdp` it includes the
/// commands of flexible data placement.
pub fn effects(has_fdp: bool) -> Vec<u8> {
    let mut effects = [U32::ZERO; 1024];
    let (admin, io) = effects.split_at_mut(256);
    for code in [
        opcode::GET_LOG,
        opcode::IDENTIFY,
        opcode::ABORT,
        opcode::SET_FEATURES,
        opcode::GET_FEATURES,
        opcode::EVENT,
        opcode::KEEP_ALIVE,
    ] {
        admin[usize::from(code)] = 1.into();
    }
    for code in [opcode::FLUSH, opcode::READ, opcode::COMPARE, opcode::VERIFY] {
        io[usize::from(code)] = 1.into();
    }
    for code in [opcode::WRITE, opcode::WRITE_ZEROES, opcode::DATASET, opcode::COPY] {
        // Supported, and the command changes data.
        io[usize::from(code)] = (1 | 1 << 1).into();
    }
    if has_fdp {
        admin[usize::from(opcode::DIRECTIVE_SEND)] = 1.into();
        admin[usize::from(opcode::DIRECTIVE_RECEIVE)] = 1.into();
        io[usize::from(opcode::IO_RECEIVE)] = 1.into();
        io[usize::from(opcode::IO_SEND)] = 1.into();
    }
    effects.as_bytes().to_vec()
}

/// Returns the log of the drive's only endurance group (09h). It counts data in units of 10^9
/// bytes.
pub fn endurance(health: &Health, errors: u64, size: u64) -> Vec<u8> {
    let wide = |number: u64| U128::new(number.into());
    let units = |bytes: u64| wide(bytes.div_ceil(1_000_000_000));
    EnduranceLog {
        critical_warning: health.critical_warning,
        available_spare: health.available_spare as u8,
        spare_threshold: SPARE_THRESHOLD as u8,
        percentage_used: health.percentage_used as u8,
        data_units_read: units(health.data_units_read.saturating_mul(512_000)),
        data_units_written: units(health.data_units_written.saturating_mul(512_000)),
        media_units_written: units(health.media_bytes_written),
        host_reads: wide(health.host_reads),
        host_writes: wide(health.host_writes),
        media_errors: wide(health.media_errors),
        error_entries: wide(errors),
        capacity: wide(size),
        ..EnduranceLog::new_zeroed()
    }
    .as_bytes()
    .to_vec()
}

/// Returns the extended log of OCP (C0h). Counts that the drive does not keep are 0.
pub fn ocp(health: &Health, used: u64) -> Vec<u8> {
    let mut bad_blocks = [0; 6];
    bad_blocks.copy_from_slice(&health.bad_blocks.to_le_bytes()[..6]);
    OcpLog {
        media_bytes_written: U128::new(health.media_bytes_written.into()),
        media_bytes_read: U128::new(health.media_bytes_read.into()),
        bad_blocks,
        bad_blocks_normalized: (health.available_spare as u16).into(),
        uncorrectable_reads: health.media_errors.into(),
        most_erases: (health.most_erases as u32).into(),
        least_erases: (health.least_erases as u32).into(),
        incomplete_shutdowns: (health.unsafe_shutdowns as u32).into(),
        percent_free_blocks: health.percent_free_blocks as u8,
        unaligned: health.unaligned.into(),
        used_blocks: used.into(),
        page_version: 3.into(),
        page_name: OCP,
        ..OcpLog::new_zeroed()
    }
    .as_bytes()
    .to_vec()
}

/// Returns the discovery log (70h). It lists one drive, at the address to which the host has
/// connected.
pub fn discovery(subsystem: &str, address: Option<SocketAddr>) -> Vec<u8> {
    let Some(address) = address else {
        return DiscoveryHead { generation: 1.into(), ..DiscoveryHead::new_zeroed() }
            .as_bytes()
            .to_vec();
    };
    let head =
        DiscoveryHead { generation: 1.into(), records: 1.into(), ..DiscoveryHead::new_zeroed() };
    let entry = DiscoveryEntry {
        transport: TCP,
        family: if address.is_ipv4() { 1 } else { 2 },
        // The entry is an NVM subsystem that can disable flow control. Hosts' tools cannot show
        // this together with "needs no secure channel", so only one of the two is set.
        kind: 2,
        requirements: 1 << 2,
        port: 1.into(),
        controller: 0xffff.into(),
        admin_entries: ADMIN_ENTRIES.into(),
        service: padded(&address.port().to_string()),
        subsystem: terminated(subsystem),
        address: padded(&address.ip().to_canonical().to_string()),
        ..DiscoveryEntry::new_zeroed()
    };
    [head.as_bytes(), entry.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All figures differ from each other, so that a swap of two is noticed.
    #[test]
    fn each_figure_is_in_its_place() {
        let figures = Health {
            critical_warning: 9,
            available_spare: 61,
            percentage_used: 62,
            data_units_read: 20_000,
            data_units_written: 40_000,
            host_reads: 63,
            host_writes: 64,
            busy_minutes: 65,
            power_cycles: 66,
            power_on_hours: 67,
            unsafe_shutdowns: 68,
            media_errors: 69,
            media_bytes_written: 50_000_000_001,
            media_bytes_read: 70,
            bad_blocks: 71,
            most_erases: 72,
            least_erases: 73,
            mean_erases: 72.5,
            percent_free_blocks: 74,
            unaligned: 75,
        };
        let log = EnduranceLog::read_from_bytes(&endurance(&figures, 76, 77)).unwrap();
        assert_eq!((log.critical_warning, log.available_spare, log.percentage_used), (9, 61, 62));
        // 20,000 and 40,000 units of 512,000 bytes.
        assert_eq!((log.data_units_read.get(), log.data_units_written.get()), (11, 21));
        assert_eq!(log.media_units_written.get(), 51);
        assert_eq!((log.host_reads.get(), log.host_writes.get()), (63, 64));
        assert_eq!((log.media_errors.get(), log.error_entries.get()), (69, 76));
        assert_eq!(log.capacity.get(), 77);
        let log = OcpLog::read_from_bytes(&ocp(&figures, 78)).unwrap();
        assert_eq!(log.media_bytes_written.get(), 50_000_000_001);
        assert_eq!((log.media_bytes_read.get(), log.bad_blocks), (70, [71, 0, 0, 0, 0, 0]));
        assert_eq!((log.bad_blocks_normalized.get(), log.uncorrectable_reads.get()), (61, 69));
        assert_eq!((log.most_erases.get(), log.least_erases.get()), (72, 73));
        assert_eq!((log.incomplete_shutdowns.get(), log.percent_free_blocks), (68, 74));
        assert_eq!((log.unaligned.get(), log.used_blocks.get()), (75, 78));
        let log = SmartLog::read_from_bytes(&health(&figures, 76)).unwrap();
        assert_eq!((log.critical_warning, log.available_spare, log.percentage_used), (9, 61, 62));
        assert_eq!((log.data_units_read.get(), log.data_units_written.get()), (20_000, 40_000));
        assert_eq!((log.host_reads.get(), log.host_writes.get()), (63, 64));
        assert_eq!((log.busy_minutes.get(), log.power_cycles.get()), (65, 66));
        assert_eq!((log.power_on_hours.get(), log.unsafe_shutdowns.get()), (67, 68));
        assert_eq!((log.media_errors.get(), log.error_entries.get()), (69, 76));
    }
}
