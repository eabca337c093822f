//! The measurements of each tenant of a drive: its requests, its rates and its response times.

use flashgc_base::described::Described;
use flashgc_base::snapshot::Value;
use serde::{Deserialize, Serialize};

use crate::metrics::latency::{Done, Figures, Latencies, SideLatency};
use crate::tenants::{Parts, Tenant};

/// The result of one tenant in the measured parts of all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Described)]
pub struct TenantResult {
    /// The name of the tenant.
    pub name: String,
    /// The number of requests completed, without flush commands.
    pub requests: u64,
    /// The share of the tenant's requests among those of all tenants.
    pub share: f64,
    /// The requests completed a second.
    pub requests_per_second: f64,
    /// The bytes read a second.
    pub read_bytes_per_second: f64,
    /// The bytes written a second.
    pub write_bytes_per_second: f64,
    /// The response times of all its requests in microseconds; `None` if it had none.
    pub all_us: Option<Figures>,
    /// The response times of its reads, in microseconds; `None` if it had none.
    pub read_us: Option<Figures>,
    /// The response times of its writes, in microseconds; `None` if it had none.
    pub write_us: Option<Figures>,
}

/// The measurements of one tenant.
#[derive(Clone, Debug, Default, Value)]
struct Measured {
    requests: u64,
    bytes: [u64; 3],
    latencies: Latencies,
}

/// The measurements of every tenant; empty if the drive has one host.
#[derive(Clone, Debug, Default, Value)]
pub struct ByTenant {
    parts: Parts,
    each: Vec<Measured>,
}

impl ByTenant {
    /// Returns empty measurements of `tenants`. A page of the map has `unit` bytes.
    pub fn new(tenants: &[Tenant], unit: u32) -> Self {
        Self { parts: Parts::of(tenants, unit), each: vec![Measured::default(); tenants.len()] }
    }

    /// Returns the number of tenants.
    pub(super) fn len(&self) -> usize {
        self.each.len()
    }

    /// Notes a request of a tenant that was completed.
    #[inline]
    pub(super) fn completed(&mut self, done: &Done) {
        if self.each.is_empty() {
            return;
        }
        let tenant_sum = &mut self.each[self.parts.tenant(done.offset)];
        tenant_sum.latencies.record(done.op, done.met_collection, &done.split);
        if let Some(bytes) = tenant_sum.bytes.get_mut(done.op as usize) {
            *bytes += u64::from(done.bytes);
            tenant_sum.requests += 1;
        }
    }

    /// Adds other measurements of the same tenants.
    fn add(&mut self, other: &Self) {
        for (tenant_sum, other) in self.each.iter_mut().zip(&other.each) {
            tenant_sum.requests += other.requests;
            tenant_sum.latencies.add(&other.latencies);
            for (bytes, more) in tenant_sum.bytes.iter_mut().zip(other.bytes) {
                *bytes += more;
            }
        }
    }

    /// Returns the result of each of `tenants` over all `runs`, which took `seconds` of simulated
    /// time together.
    pub fn results<'a>(
        tenants: &[Tenant],
        runs: impl Iterator<Item = &'a Self>,
        seconds: f64,
    ) -> Vec<TenantResult> {
        let mut sum =
            Self { parts: Parts::default(), each: vec![Measured::default(); tenants.len()] };
        runs.for_each(|run| sum.add(run));
        let all: u64 = sum.each.iter().map(|tenant_sum| tenant_sum.requests).sum();
        let rate = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
        let figures = |side: Option<SideLatency>| side.map(|side| side.all);
        let result = |(tenant, tenant_sum): (&Tenant, &Measured)| {
            let latencies = tenant_sum.latencies.result();
            TenantResult {
                name: tenant.spec.name.clone(),
                requests: tenant_sum.requests,
                share: if all > 0 { tenant_sum.requests as f64 / all as f64 } else { 0.0 },
                requests_per_second: rate(tenant_sum.requests),
                read_bytes_per_second: rate(tenant_sum.bytes[1]),
                write_bytes_per_second: rate(tenant_sum.bytes[0]),
                all_us: figures(latencies.all),
                read_us: figures(latencies.read),
                write_us: figures(latencies.write),
            }
        };
        tenants.iter().zip(&sum.each).map(result).collect()
    }
}
