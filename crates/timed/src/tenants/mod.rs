//! Tenants: hosts that share a drive with a clock. Each has its own workload, arrivals, queue
//! depth, priority and part of the address space.
//!
//! Parts are disjoint, so the address of a request determines its tenant. Requests and page
//! operations therefore do not have a field for the tenant.

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
    /// The settings of the tenant.
    pub spec: TenantSpec,
    /// The tenant's part of the drive, in pages of the map.
    pub pages: Range<u32>,
    /// The loop in which the tenant sends its requests.
    pub host: Loop,
    /// The largest number of the tenant's requests that the drive works on at a time.
    pub queue_depth: u32,
}

/// The parts of the drive: they give the tenant of each byte.
#[derive(Clone, Debug, Default, PartialEq, Value)]
pub struct Parts {
    /// The first byte after each part, in ascending order, and the number of the part's tenant.
    ends: Vec<(u64, usize)>,
}

impl Parts {
    /// Returns the parts of `tenants`. A page of the map has `unit` bytes.
    pub fn of(tenants: &[Tenant], unit: u32) -> Self {
        let end = |tenant: &Tenant| u64::from(tenant.pages.end) * u64::from(unit);
        let mut ends: Vec<_> = tenants.iter().map(end).zip(0..).collect();
        ends.sort_unstable();
        Self { ends }
    }

    /// Returns the number of the tenant whose part has `byte`. `byte` must lie in a part.
    #[inline]
    pub fn tenant(&self, byte: u64) -> usize {
        self.ends[self.ends.partition_point(|&(end, _)| end <= byte)].1
    }
}
