//! The sizes and field offsets of all structures agree with public headers; and PDUs are read back
//! as they were sent.

use std::mem::offset_of;

use proptest::collection::vec;
use proptest::prelude::*;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::fdp_logs::{
    Configuration, ConfigurationsHead, Event, EventsHead, HandleStatus, StatisticsLog, StatusHead,
    UsageHead, configurations, status, usage,
};
use super::identify::{ControllerData, IndependentData, LimitsData, NamespaceData};
use super::log_pages::{DiscoveryEntry, DiscoveryHead, EnduranceLog, ErrorEntry, OcpLog, SmartLog};
use super::pdu::{
    Capsule, Common, End, Fatal, Head, Incoming, Initialize, Most, Response, Terminate, Terms,
    Transfer, flag, grant, kind, receive_data, respond, send, send_data, terminate,
};
use super::structures::{Completion, ConnectData, CopySource, Descriptor, Entry, Range, Status};
use flashgc_device::Handles;

/// Compares the size of a structure and the offsets of its fields, in bytes, with those in a public
/// C header.
macro_rules! layout {
    ($structure:ty, $size:expr, [$($($field:ident).+ = $place:expr,)*]) => {
        assert_eq!(size_of::<$structure>(), $size, stringify!($structure));
        $(assert_eq!(
            offset_of!($structure, $($field).+), $place,
            concat!(stringify!($structure), ".", stringify!($($field).+)),
        );)*
    };
}
/// The C headers are `include/linux/nvme-tcp.h` and `nvme.h` of Linux 6.1.
#[test]
fn pdus_and_entries_lie_as_in_the_headers() {
    layout!(Common, 8, [kind = 0, flags = 1, header = 2, data_at = 3, length = 4,]);
    layout!(Initialize, 128, [format = 8, alignment = 10, digests = 11, most = 12,]);
    layout!(Capsule, 72, [entry = 8,]);
    layout!(Response, 24, [completion = 8,]);
    layout!(Transfer, 24, [cid = 8, tag = 10, offset = 12, bytes = 16,]);
    layout!(Terminate, 24, [fatal = 8, information = 10,]);
    layout!(
        Entry,
        64,
        [opcode = 0, flags = 1, cid = 2, nsid = 4, metadata = 16, data = 24, own = 40,]
    );
    layout!(Descriptor, 16, [address = 0, bytes = 8, kind = 15,]);
    layout!(Completion, 16, [result = 0, head = 8, queue = 10, cid = 12, status = 14,]);
    layout!(ConnectData, 1024, [host_id = 0, controller = 16, subsystem = 256, host = 512,]);
}

/// The C header is `src/nvme/types.h` of libnvme at 03297d8b.
#[test]
fn identify_data_lie_as_in_the_headers() {
    layout!(
        ControllerData,
        4096,
        [
            general.serial = 4,
            general.model = 24,
            general.firmware = 64,
            general.sharing = 76,
            general.transfer_shift = 77,
            general.controller = 78,
            general.version = 80,
            general.events = 92,
            general.attributes = 96,
            general.kind = 111,
            admin.admin_commands = 256,
            admin.abort_limit = 258,
            admin.event_limit = 259,
            admin.firmware_slots = 260,
            admin.log_attributes = 261,
            admin.error_entries = 262,
            admin.power_states = 263,
            admin.capacity = 280,
            admin.keep_alive = 320,
            admin.endurance_groups = 340,
            io.submission_entry = 512,
            io.completion_entry = 513,
            io.most_commands = 514,
            io.namespaces = 516,
            io.commands = 520,
            io.fused = 522,
            io.format = 524,
            io.write_cache = 525,
            io.atomic_write = 526,
            io.atomic_write_power = 528,
            io.copy_formats = 534,
            io.descriptors = 536,
            io.most_namespaces = 540,
            io.subsystem = 768,
            fabrics.command_capsule = 1792,
            fabrics.response_capsule = 1796,
            fabrics.data_offset = 1800,
            fabrics.fabrics_attributes = 1802,
            fabrics.data_blocks = 1803,
            fabrics.fabrics_commands = 1804,
            power = 2048,
            vendor_specific = 3072,
        ]
    );
    layout!(
        NamespaceData,
        4096,
        [
            size = 0,
            capacity = 8,
            used = 16,
            features = 24,
            formats = 25,
            format = 26,
            sharing = 30,
            deallocate = 33,
            atomic_write = 34,
            atomic_write_power = 36,
            atomic_compare = 38,
            atomic_boundary = 40,
            atomic_offset = 42,
            atomic_boundary_power = 44,
            optimal_boundary = 46,
            bytes = 48,
            write_granularity = 64,
            write_alignment = 66,
            deallocate_granularity = 68,
            deallocate_alignment = 70,
            optimal_write = 72,
            copy.range = 74,
            copy.blocks = 76,
            copy.ranges = 80,
            attributes = 99,
            set = 100,
            endurance_group = 102,
            nguid = 104,
            eui64 = 120,
            block_formats = 128,
            vendor_specific = 384,
        ]
    );
    layout!(
        IndependentData,
        4096,
        [
            features = 0,
            sharing = 1,
            reservations = 2,
            progress = 3,
            group = 4,
            attributes = 8,
            set = 10,
            endurance_group = 12,
            status = 14,
        ]
    );
    layout!(
        LimitsData,
        4096,
        [
            verify_shift = 0,
            zeroes_shift = 1,
            uncorrectable_shift = 2,
            dataset_ranges = 3,
            dataset_range = 4,
            dataset_blocks = 8,
        ]
    );
}

/// The C header is `src/nvme/types.h` of libnvme at 03297d8b.
#[test]
fn log_pages_lie_as_in_the_headers() {
    layout!(
        ErrorEntry,
        64,
        [
            count = 0,
            queue = 8,
            cid = 10,
            status = 12,
            place = 14,
            block = 16,
            namespace = 24,
            vendor = 28,
            transport = 29,
            command_set = 30,
            opcode = 31,
        ]
    );
    layout!(
        SmartLog,
        512,
        [
            critical_warning = 0,
            temperature = 1,
            available_spare = 3,
            spare_threshold = 4,
            percentage_used = 5,
            endurance_warning = 6,
            data_units_read = 32,
            data_units_written = 48,
            host_reads = 64,
            host_writes = 80,
            busy_minutes = 96,
            power_cycles = 112,
            power_on_hours = 128,
            unsafe_shutdowns = 144,
            media_errors = 160,
            error_entries = 176,
        ]
    );
    layout!(
        EnduranceLog,
        512,
        [
            critical_warning = 0,
            features = 1,
            available_spare = 3,
            spare_threshold = 4,
            percentage_used = 5,
            domain = 6,
            estimate = 32,
            data_units_read = 48,
            data_units_written = 64,
            media_units_written = 80,
            host_reads = 96,
            host_writes = 112,
            media_errors = 128,
            error_entries = 144,
            capacity = 160,
            unallocated = 176,
        ]
    );
    layout!(
        DiscoveryEntry,
        1024,
        [
            transport = 0,
            family = 1,
            kind = 2,
            requirements = 3,
            port = 4,
            controller = 6,
            admin_entries = 8,
            flags = 10,
            service = 32,
            subsystem = 256,
            address = 512,
            specific = 768,
        ]
    );
    layout!(DiscoveryHead, 1024, [generation = 0, records = 8, format = 16,]);
    layout!(Range, 16, [attributes = 0, blocks = 4, first = 8,]);
    layout!(CopySource, 32, [first = 8, last = 16, tag = 24, application_tag = 28,]);
}

/// The C header is `plugins/ocp/ocp-smart-extended-log.h` of nvme-cli.
#[test]
fn the_log_of_ocp_lies_as_in_the_header() {
    layout!(
        OcpLog,
        512,
        [
            media_bytes_written = 0,
            media_bytes_read = 16,
            bad_blocks = 32,
            bad_blocks_normalized = 38,
            bad_system_blocks = 40,
            bad_system_blocks_normalized = 46,
            recoveries = 48,
            uncorrectable_reads = 56,
            soft_errors = 64,
            detected = 72,
            corrected = 76,
            system_data_used = 80,
            refreshes = 81,
            most_erases = 88,
            least_erases = 92,
            throttling = 96,
            version = 98,
            correctable = 104,
            incomplete_shutdowns = 112,
            percent_free_blocks = 120,
            unaligned = 136,
            security_version = 144,
            used_blocks = 152,
            page_version = 494,
            page_name = 496,
        ]
    );
}

/// The C header is `src/nvme/types.h` of libnvme at 03297d8b.
#[test]
fn structures_of_placement_lie_as_in_the_headers() {
    layout!(ConfigurationsHead, 16, [count = 0, version = 2, bytes = 4,]);
    layout!(
        Configuration,
        64,
        [
            bytes = 0,
            attributes = 2,
            vendor_bytes = 3,
            groups = 4,
            handles = 8,
            most_identifiers = 10,
            namespaces = 12,
            unit_bytes = 16,
            time_limit = 24,
        ]
    );
    layout!(UsageHead, 8, [handles = 0,]);
    layout!(StatisticsLog, 64, [host_bytes = 0, media_bytes = 16, erased_bytes = 32,]);
    layout!(EventsHead, 64, [count = 0,]);
    layout!(
        Event,
        64,
        [
            kind = 0,
            flags = 1,
            identifier = 2,
            time = 4,
            namespace = 12,
            own = 16,
            group = 32,
            handle = 34,
            vendor_specific = 40,
        ]
    );
    layout!(StatusHead, 16, [count = 14,]);
    layout!(HandleStatus, 32, [identifier = 0, handle = 2, time_left = 4, room = 8,]);
    // A handle takes 4 bytes in a configuration, 8 in the usage, 32 in the status.
    assert_eq!(
        configurations(Handles { count: 4, persistent: 0, groups: 1 }, 1).len(),
        16 + 64 + 16
    );
    assert_eq!(usage(4).len(), 8 + 32);
    assert_eq!(status(&[((1, 1), 1); 4]).len(), 16 + 128);
}

fn terms() -> impl Strategy<Value = Terms> {
    let fields = (any::<bool>(), any::<bool>(), 0_u8..32);
    fields.prop_map(|(header_digests, data_digests, alignment)| Terms {
        header_digests,
        data_digests,
        alignment,
    })
}

const MOST: Most = Most { capsule: 8192, data: 4096 };

fn common(kind: u8, flags: u8) -> Common {
    Common { kind, flags, ..Common::new_zeroed() }
}

proptest! {
    #[test]
    fn a_command_arrives_as_it_was_sent(
        terms in terms(),
        entry in vec(any::<u8>(), 64),
        data in vec(any::<u8>(), 0..8192),
    ) {
        let entry = Entry::read_from_bytes(&entry).unwrap();
        let mut wire = Vec::new();
        let capsule = Capsule { common: common(kind::COMMAND, 0), entry };
        send(&mut wire, capsule, &data, terms).unwrap();
        let length = u32::from_le_bytes(wire[4..8].try_into().unwrap());
        prop_assert_eq!(length as usize, wire.len());
        let mut input = wire.as_slice();
        let incoming = Incoming::receive(&mut input, terms, MOST).unwrap();
        prop_assert!(matches!(incoming.head, Head::Command(received) if received == entry));
        let mut received = vec![0; incoming.bytes];
        prop_assert!(receive_data(&mut input, &mut received, terms).unwrap());
        prop_assert_eq!(received, data);
        prop_assert!(input.is_empty());
    }

    #[test]
    fn data_arrive_as_they_were_sent(
        terms in terms(),
        (cid, tag, offset) in any::<(u16, u16, u32)>(),
        data in vec(any::<u8>(), 1..4096),
        last in any::<bool>(),
    ) {
        let flags = if last { flag::LAST } else { 0 };
        let transfer = Transfer {
            common: common(kind::HOST_DATA, flags),
            cid: cid.into(),
            tag: tag.into(),
            offset: offset.into(),
            bytes: (data.len() as u32).into(),
            ..Transfer::new_zeroed()
        };
        let mut wire = Vec::new();
        send(&mut wire, transfer, &data, terms).unwrap();
        let mut input = wire.as_slice();
        let incoming = Incoming::receive(&mut input, terms, MOST).unwrap();
        let Head::Data(received) = incoming.head else { panic!("data") };
        prop_assert_eq!((received.cid, received.tag), (transfer.cid, transfer.tag));
        prop_assert_eq!((received.offset, received.bytes), (transfer.offset, transfer.bytes));
        prop_assert_eq!(received.common.flags & flag::LAST != 0, last);
        let mut received = vec![0; incoming.bytes];
        prop_assert!(receive_data(&mut input, &mut received, terms).unwrap());
        prop_assert_eq!(received, data);
        prop_assert!(input.is_empty());
    }

    /// Every changed byte of a command with digests is detected, by its digest or by an earlier
    /// check.
    #[test]
    fn no_changed_byte_passes_the_digests(
        data in vec(any::<u8>(), 4..200),
        place in any::<prop::sample::Index>(),
        change in 1_u8..,
    ) {
        let terms = Terms { header_digests: true, data_digests: true, alignment: 0 };
        let entry = Entry::new_zeroed();
        let mut wire = Vec::new();
        let capsule = Capsule { common: common(kind::COMMAND, 0), entry };
        send(&mut wire, capsule, &data, terms).unwrap();
        let place = place.index(wire.len());
        wire[place] ^= change;
        let mut input = wire.as_slice();
        let is_right = Incoming::receive(&mut input, terms, MOST).ok().is_some_and(|incoming| {
            let mut received = vec![0; incoming.bytes];
            receive_data(&mut input, &mut received, terms).unwrap_or(false)
        });
        prop_assert!(!is_right, "byte {place}");
    }

    #[test]
    fn garbage_is_an_error_or_a_pdu(bytes in vec(any::<u8>(), 0..300), terms in terms()) {
        let _ = Incoming::receive(&mut bytes.as_slice(), terms, MOST);
        let _ = Initialize::receive(&mut bytes.as_slice());
    }
}

/// Changes to the header of a command without data, and the error for each.
#[test]
fn a_malformed_header_is_named_by_its_field() {
    let none = Terms::default();
    let digests = Terms { header_digests: true, ..none };
    let error = |terms: Terms, change: fn(&mut Vec<u8>)| {
        let mut wire = Vec::new();
        let capsule = Capsule { common: common(kind::COMMAND, 0), entry: Entry::new_zeroed() };
        send(&mut wire, capsule, &[7; 8], terms).unwrap();
        change(&mut wire);
        match Incoming::receive(&mut wire.as_slice(), terms, MOST) {
            Err(End::Fatal(fatal, _)) => Some(fatal),
            _ => None,
        }
    };
    assert_eq!(error(none, |_| ()), None);
    assert_eq!(error(digests, |_| ()), None);
    type Change = fn(&mut Vec<u8>);
    let changes: [(Change, Fatal); 9] = [
        (|wire| wire[0] = 0x0b, Fatal::Field(0)),
        (|wire| wire[0] = kind::RESPONSE, Fatal::Field(0)),
        (|wire| wire[0] = kind::INITIALIZE, Fatal::Sequence),
        (|wire| wire[1] = flag::HEADER_DIGEST, Fatal::Field(1)),
        (|wire| wire[2] = 71, Fatal::Field(2)),
        (|wire| wire[3] = 68, Fatal::Field(3)),
        (|wire| wire[3] = 73, Fatal::Field(3)),
        (|wire| wire[4] = 70, Fatal::Field(4)),
        (|wire| wire[6] = 1, Fatal::TooMuch),
    ];
    for (change, fatal) in changes {
        assert_eq!(error(none, change), Some(fatal));
    }
    assert!(matches!(error(digests, |wire| wire[30] ^= 1), Some(Fatal::Digest(_))));
    assert_eq!(error(digests, |wire| wire[1] = 0), Some(Fatal::Field(1)));
}

/// C2HTermReq: `FES` at byte 8, `FEI` at byte 10, then the wrong header.
#[test]
fn the_end_of_a_connection_has_its_reason() {
    let mut wire = Vec::new();
    terminate(&mut wire, Fatal::Digest(0x1234_5678), &[0xab; 200]).unwrap();
    // 24 bytes, and at most 128 bytes of the wrong header.
    assert_eq!(wire.len(), 152);
    assert_eq!(wire[..8], [3, 0, 24, 0, 152, 0, 0, 0]);
    assert_eq!(wire[8..14], [3, 0, 0x78, 0x56, 0x34, 0x12]);
    assert_eq!(wire[24..], [0xab; 128]);
    let numbers: Vec<_> = [
        Fatal::Field(2),
        Fatal::Sequence,
        Fatal::Digest(9),
        Fatal::OutOfRange,
        Fatal::TooMuch,
        Fatal::Parameter(8),
    ]
    .iter()
    .map(|fatal| fatal.numbers())
    .collect();
    assert_eq!(numbers, [(1, 2), (2, 0), (3, 9), (4, 0), (5, 0), (6, 8)]);
}

/// The PDUs of the controller, byte by byte.
#[test]
fn answers_are_the_bytes_of_the_specification() {
    let none = Terms::default();
    let mut wire = Vec::new();
    let status = Status::OUT_OF_RANGE.field();
    let completion =
        Completion { result: 5.into(), head: 2.into(), queue: 3.into(), cid: 4.into(), status };
    respond(&mut wire, completion, none).unwrap();
    // Status 80h with DNR (bit 14), shifted by one bit.
    let bytes = [5, 0, 24, 0, 24, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 4, 0, 0, 0x81];
    assert_eq!(wire, bytes);
    wire.clear();
    grant(&mut wire, 4.into(), 6, 4096, none).unwrap();
    let bytes = [9, 0, 24, 0, 24, 0, 0, 0, 4, 0, 6, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0];
    assert_eq!(wire, bytes);
    wire.clear();
    send_data(&mut wire, 4.into(), &[1, 2, 3, 4], true, Terms { alignment: 7, ..none }).unwrap();
    let head = [7, 0b1100, 24, 32, 36, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(wire[..24], head);
    assert_eq!(wire[24..], [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
    let agreed = Initialize::agreed(Terms { data_digests: true, ..none }, 131_072);
    let bytes = [1, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2, 0];
    assert_eq!(agreed.as_bytes()[..16], bytes);
}
