//! Tenants: hosts that share a drive with a clock. Each has a workload, arrivals, a queue depth, a
//! priority and a part of the address space of its own.
//!
//! Parts are disjoint, so the address of a request names its tenant.
//!
//! So neither requests nor page operations carry a number of their tenant.

mod spec;
mod streams;

use std::ops::Range;

use flashgc_base::snapshot::Value;

use super::config::Loop;
pub use spec::lay_out;
pub use spec::{ClassWeights, KEYS, Key, Priority, TenantSpec, check_key};
pub use streams::{InPart, InTurn};

/// A tenant of a drive whose size is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    /// The tenant as asked for.
    pub spec: TenantSpec,
    /// The tenant's part of the drive, in mapping units.
    pub pages: Range<u32>,
    /// The loop in which it sends its requests.
    pub host: Loop,
    /// The number of its requests that the drive works on at a time.
    pub queue_depth: u32,
}

/// The tenant of each byte of the drive.
#[derive(Clone, Debug, Default, PartialEq, Value)]
pub struct Parts {
    /// The first byte behind each part, ascending, and the number of its tenant.
    ends: Vec<(u64, usize)>,
}

impl Parts {
    /// Returns the parts of `tenants`, with mapping units of `unit` bytes.
    pub fn of(tenants: &[Tenant], unit: u32) -> Self {
        let end = |tenant: &Tenant| u64::from(tenant.pages.end) * u64::from(unit);
        let mut ends: Vec<_> = tenants.iter().map(end).zip(0..).collect();
        ends.sort_unstable();
        Self { ends }
    }

    /// Returns the number of the tenant whose part has `byte`. One of them has it.
    #[inline]
    pub fn tenant(&self, byte: u64) -> usize {
        self.ends[self.ends.partition_point(|&(end, _)| end <= byte)].1
    }
}
