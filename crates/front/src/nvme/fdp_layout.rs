//! Sizes and places of the structures of flexible data placement, as public headers have them.

use std::mem::offset_of;

use super::fdp_logs::{
    Configuration, ConfigurationsHead, Event, EventsHead, HandleStatus, StatisticsLog, StatusHead,
    UsageHead, configurations, status, usage,
};
use super::layout::layout;

/// `src/nvme/types.h` of libnvme at 03297d8b.
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
    // 4 bytes for each handle of a configuration, 8 in the usage, 32 in the status.
    assert_eq!(configurations(&[false; 4], 1).len(), 16 + 64 + 16);
    assert_eq!(usage(4).len(), 8 + 32);
    assert_eq!(status(&[1; 4]).len(), 16 + 128);
}
