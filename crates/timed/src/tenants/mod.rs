//! Tenants: hosts that share a drive with a clock. Each has a workload, arrivals, a queue depth, a
//! priority and a part of the address space of its own.
//!
//! Parts are disjoint, so the address of a request says whose it is.

mod spec;
mod streams;

use std::ops::Range;

use flashgc_base::snapshot::Value;
use flashgc_base::value;

use super::config::Loop;
pub use spec::lay_out;
pub use spec::{ClassWeights, KEYS, Key, Priority, TenantSpec, check_key};
pub use streams::{InPart, InTurn};

/// A tenant of a drive whose size is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    /// As asked for.
    pub spec: TenantSpec,
    /// Its part of the drive, in mapping units.
    pub pages: Range<u32>,
    /// Where its requests come from in time.
    pub host: Loop,
    /// Requests of its own that the drive works on at a time.
    pub queue_depth: u32,
}

/// Whose each byte of the drive is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// The first byte behind each part, ascending, and the number of its tenant.
    ends: Vec<(u64, usize)>,
}

impl Value for Parts {
    value!(ends);
}

impl Parts {
    /// Those of `tenants`, with mapping units of `unit` bytes.
    pub fn of(tenants: &[Tenant], unit: u32) -> Self {
        let end = |tenant: &Tenant| u64::from(tenant.pages.end) * u64::from(unit);
        let mut ends: Vec<_> = tenants.iter().map(end).zip(0..).collect();
        ends.sort_unstable();
        Self { ends }
    }

    /// The number of the tenant whose part has `byte`, which one has.
    #[inline]
    pub fn tenant(&self, byte: u64) -> usize {
        self.ends[self.ends.partition_point(|&(end, _)| end <= byte)].1
    }
}
