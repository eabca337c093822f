//! The data of Identify, which describe a controller and its namespace.
//!
//! # Source
//! NVM Express Base Specification 2.0, section 5.17; NVM Command Set Specification 1.0, section
//! 4.1.5.

use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::structures::{Status, padded, terminated};
use super::subsystem::{ControllerKind, Subsystem};
use super::{
    ADMIN_ENTRIES, CAPSULE, EVENTS, FIRMWARE, LARGEST, LARGEST_SHIFT, NAMESPACE, QUEUE_ENTRIES,
    RANGES, SOURCES, VERSION,
};

/// The size of every answer to Identify in bytes.
pub const BYTES: usize = 4096;

/// Bytes 0 to 255: the controller and its subsystem.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct General {
    pub vendor: U16,
    pub subsystem_vendor: U16,
    pub serial: [u8; 20],
    pub model: [u8; 40],
    pub firmware: [u8; 8],
    pub arbitration_burst: u8,
    pub ieee: [u8; 3],
    /// Bit 1: the subsystem can have more than one controller.
    pub sharing: u8,
    /// The most bytes of a command, as the logarithm of a number of 4096-byte pages.
    pub transfer_shift: u8,
    pub controller: U16,
    pub version: U32,
    pub resume_latency: U32,
    pub entry_latency: U32,
    pub events: U32,
    pub attributes: U32,
    pub reserved_100: [u8; 11],
    pub kind: u8,
    pub reserved_112: [u8; 144],
}

/// Bytes 256 to 511: admin commands and abilities.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Admin {
    pub admin_commands: U16,
    pub abort_limit: u8,
    pub event_limit: u8,
    pub firmware_slots: u8,
    pub log_attributes: u8,
    pub error_entries: u8,
    pub power_states: u8,
    pub reserved_264: [u8; 16],
    pub capacity: U128,
    pub reserved_296: [u8; 24],
    /// The unit of the keep alive timer, in 100 ms.
    pub keep_alive: U16,
    pub reserved_322: [u8; 18],
    pub endurance_groups: U16,
    pub reserved_342: [u8; 170],
}

/// Bytes 512 to 1791: I/O commands.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Io {
    pub submission_entry: u8,
    pub completion_entry: u8,
    pub most_commands: U16,
    pub namespaces: U32,
    pub commands: U16,
    pub fused: U16,
    pub format: u8,
    /// Bit 0: there is a volatile write cache; bits 2:1: 3 if a flush may name all namespaces.
    pub write_cache: u8,
    pub atomic_write: U16,
    pub atomic_write_power: U16,
    pub reserved_530: [u8; 4],
    /// The supported formats of Copy's ranges, one bit each.
    pub copy_formats: U16,
    pub descriptors: U32,
    pub most_namespaces: U32,
    pub reserved_544: [u8; 224],
    pub subsystem: [u8; 256],
    pub reserved_1024: [u8; 768],
}

/// Bytes 1792 to 2047: the transport.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Fabrics {
    /// The largest command capsule with its data, in units of 16 bytes.
    pub command_capsule: U32,
    pub response_capsule: U32,
    pub data_offset: U16,
    pub fabrics_attributes: u8,
    pub data_blocks: u8,
    pub fabrics_commands: U16,
    pub reserved_1806: [u8; 242],
}

/// Identify Controller (CNS 01h).
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ControllerData {
    pub general: General,
    pub admin: Admin,
    pub io: Io,
    pub fabrics: Fabrics,
    pub power: [u8; 1024],
    pub vendor_specific: [u8; 1024],
}

/// The limits of Copy.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CopyLimits {
    /// The most blocks of a range.
    pub range: U16,
    /// The most blocks of all ranges.
    pub blocks: U32,
    /// The most ranges, minus one.
    pub ranges: u8,
}

/// Identify Namespace (CNS 00h).
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct NamespaceData {
    pub size: U64,
    pub capacity: U64,
    pub used: U64,
    pub features: u8,
    pub formats: u8,
    pub format: u8,
    pub metadata: u8,
    pub protection: u8,
    pub protection_set: u8,
    pub sharing: u8,
    pub reservations: u8,
    pub progress: u8,
    pub deallocate: u8,
    pub atomic_write: U16,
    pub atomic_write_power: U16,
    pub atomic_compare: U16,
    pub atomic_boundary: U16,
    pub atomic_offset: U16,
    pub atomic_boundary_power: U16,
    pub optimal_boundary: U16,
    pub bytes: U128,
    pub write_granularity: U16,
    pub write_alignment: U16,
    pub deallocate_granularity: U16,
    pub deallocate_alignment: U16,
    pub optimal_write: U16,
    pub copy: CopyLimits,
    pub reserved_81: [u8; 18],
    pub attributes: u8,
    pub set: U16,
    pub endurance_group: U16,
    pub nguid: [u8; 16],
    pub eui64: [u8; 8],
    /// For each format: the bytes of metadata (2), the logarithm of the block size in bytes (1),
    /// the relative performance (1).
    pub block_formats: [[u8; 4]; 64],
    pub vendor_specific: [u8; 3712],
}

/// Identify Namespace, independent of the command set (CNS 08h).
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IndependentData {
    pub features: u8,
    pub sharing: u8,
    pub reservations: u8,
    pub progress: u8,
    pub group: U32,
    pub attributes: u8,
    pub reserved_9: u8,
    pub set: U16,
    pub endurance_group: U16,
    pub status: u8,
    pub reserved_15: [u8; 4081],
}

/// Identify Controller of the NVM command set (CNS 06h).
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct LimitsData {
    pub verify_shift: u8,
    pub zeroes_shift: u8,
    pub uncorrectable_shift: u8,
    pub dataset_ranges: u8,
    pub dataset_range: U32,
    pub dataset_blocks: U64,
    pub reserved_16: [u8; 4080],
}

/// Returns the data of Identify Controller.
pub fn controller(subsystem: &Subsystem, id: u16, kind: ControllerKind) -> ControllerData {
    let is_drive = kind == ControllerKind::Drive;
    let general = General {
        serial: padded(&subsystem.serial),
        model: padded("flashgc"),
        firmware: padded(FIRMWARE),
        sharing: 1 << 1,
        transfer_shift: LARGEST_SHIFT,
        controller: id.into(),
        version: VERSION.into(),
        // Host identifiers of 128 bits; endurance groups; any command keeps the controller alive.
        attributes: (1 << 0 | u32::from(is_drive) << 4 | 1 << 6).into(),
        kind: if is_drive { 1 } else { 2 },
        ..General::new_zeroed()
    };
    let admin = Admin {
        event_limit: EVENTS as u8 - 1,
        // Logs can be read in parts; a drive also has the log of command effects.
        log_attributes: 1 << 2 | u8::from(is_drive) << 1,
        error_entries: super::log_pages::ERRORS as u8 - 1,
        keep_alive: 10.into(),
        ..Admin::new_zeroed()
    };
    let io = Io {
        most_commands: ADMIN_ENTRIES.into(),
        // SGLs are supported at any alignment, and by offset in a capsule.
        descriptors: (1 << 0 | 1 << 20).into(),
        subsystem: terminated(subsystem.name_of(kind)),
        ..Io::new_zeroed()
    };
    let mut data = ControllerData { general, admin, io, ..ControllerData::new_zeroed() };
    if is_drive {
        if subsystem.fdp.is_some() {
            data.general.attributes |= U32::new(1 << 19);
            // The commands for directives are supported.
            data.admin.admin_commands = (1 << 5).into();
        }
        data.admin.abort_limit = 3;
        // One firmware slot, which is read-only.
        data.admin.firmware_slots = 1 << 1 | 1;
        data.admin.capacity = u128::from(subsystem.queue.size()).into();
        data.admin.endurance_groups = 1.into();
        data.io.submission_entry = 0x66;
        data.io.completion_entry = 0x44;
        data.io.most_commands = QUEUE_ENTRIES.into();
        data.io.namespaces = NAMESPACE.into();
        data.io.most_namespaces = NAMESPACE.into();
        // Compare, Dataset Management, Write Zeroes, Select in features, Timestamp, Verify, Copy.
        let commands = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 8;
        data.io.commands = commands.into();
        data.io.copy_formats = 1.into();
        data.io.write_cache = 0b111;
        data.fabrics = Fabrics {
            command_capsule: ((64 + CAPSULE as u32) / 16).into(),
            response_capsule: 1.into(),
            data_blocks: 1,
            // The command Disconnect is supported.
            fabrics_commands: 1.into(),
            ..Fabrics::new_zeroed()
        };
    }
    data
}

/// Returns the data of Identify Namespace. `used` is the number of blocks with data.
pub fn namespace(subsystem: &Subsystem, used: u64) -> NamespaceData {
    let blocks = subsystem.blocks();
    // The number of blocks of a page, minus one. A page is written as a whole or not at all.
    let page = subsystem.blocks_per_page() as u16 - 1;
    let mut data = NamespaceData {
        size: blocks.into(),
        capacity: blocks.into(),
        used: used.into(),
        // The namespace has its own values for atomic writes and for preferred write sizes.
        features: 1 << 1 | 1 << 4,
        sharing: 1,
        // Discarded blocks read as zeros, and Write Zeroes can discard.
        deallocate: 1 | 1 << 3,
        atomic_write: page.into(),
        atomic_write_power: page.into(),
        atomic_boundary: page.into(),
        atomic_boundary_power: page.into(),
        bytes: u128::from(subsystem.queue.size()).into(),
        write_granularity: page.into(),
        write_alignment: page.into(),
        deallocate_granularity: page.into(),
        deallocate_alignment: page.into(),
        copy: CopyLimits {
            range: ((LARGEST >> subsystem.block_shift) as u16).into(),
            blocks: ((LARGEST >> subsystem.block_shift) as u32).into(),
            ranges: (SOURCES - 1) as u8,
        },
        attributes: u8::from(subsystem.read_only),
        endurance_group: 1.into(),
        nguid: subsystem.uuid,
        ..NamespaceData::new_zeroed()
    };
    data.block_formats[0] = [0, 0, subsystem.block_shift, 0];
    data
}

/// Returns the answer to an Identify that does not need the drive; `None` for Identify Namespace,
/// which does.
pub fn data(
    subsystem: &Subsystem,
    controller_id: u16,
    kind: ControllerKind,
    command: &Identify,
) -> Result<Option<Vec<u8>>, Status> {
    if kind == ControllerKind::Discovery && command.structure != 0x01 {
        return Err(Status::INVALID_FIELD);
    }
    let is_there = command.namespace == NAMESPACE;
    let known = || match command.namespace {
        NAMESPACE => Ok(()),
        _ => Err(Status::INVALID_NAMESPACE),
    };
    let is_set = |set: u8| if set == 0 { Ok(()) } else { Err(Status::INVALID_FIELD) };
    Ok(Some(match command.structure {
        0x00 | 0x11 => return known().map(|()| None),
        0x05 => {
            is_set(command.command_set)?;
            known()?;
            vec![0; BYTES]
        }
        0x01 => controller(subsystem, controller_id, kind).as_bytes().to_vec(),
        0x02 | 0x07 | 0x10 => {
            if command.structure == 0x07 {
                is_set(command.command_set)?;
            }
            let mut list = vec![0; BYTES];
            if command.namespace >= 0xffff_fffe {
                return Err(Status::INVALID_NAMESPACE);
            }
            if command.namespace < NAMESPACE {
                list[..4].copy_from_slice(&NAMESPACE.to_le_bytes());
            }
            list
        }
        0x03 => {
            known()?;
            // Each identifier has a type, a length and its bytes: NGUID, UUID, command set.
            let mut list = [[2, 16, 0, 0].as_slice(), &subsystem.uuid].concat();
            list.extend([[3, 16, 0, 0].as_slice(), &subsystem.uuid].concat());
            list.extend([4, 1, 0, 0, 0]);
            list.resize(BYTES, 0);
            list
        }
        0x06 => {
            is_set(command.command_set)?;
            LimitsData {
                verify_shift: LARGEST_SHIFT,
                zeroes_shift: LARGEST_SHIFT,
                dataset_ranges: (RANGES - 1) as u8,
                ..LimitsData::new_zeroed()
            }
            .as_bytes()
            .to_vec()
        }
        0x08 => {
            known()?;
            IndependentData {
                sharing: 1,
                attributes: u8::from(subsystem.read_only),
                endurance_group: 1.into(),
                status: 1,
                ..IndependentData::new_zeroed()
            }
            .as_bytes()
            .to_vec()
        }
        0x12 if !is_there => return Err(Status::INVALID_NAMESPACE),
        0x12 | 0x13 => controllers(subsystem, command.controller),
        0x1c => {
            let mut sets = vec![0; BYTES];
            sets[0] = 1;
            sets
        }
        _ => return Err(Status::INVALID_FIELD),
    }))
}

/// The fields of an Identify.
pub struct Identify {
    /// The structure to return (CNS).
    pub structure: u8,
    pub namespace: u32,
    /// The number of the first controller in a list.
    pub controller: u16,
    pub command_set: u8,
}

/// Returns the list of the controllers with numbers from `first` on.
fn controllers(subsystem: &Subsystem, first: u16) -> Vec<u8> {
    let mut ids = subsystem.controllers();
    ids.retain(|id| *id >= first);
    ids.sort_unstable();
    ids.truncate(2047);
    let mut list = (ids.len() as u16).to_le_bytes().to_vec();
    list.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    list.resize(BYTES, 0);
    list
}
