//! Tenants: hosts that share a drive with a clock. Each has a workload, arrivals, a queue depth, a
//! priority and a part of the address space of its own.
//!
//! Parts are disjoint, so the address of a request says whose it is.

pub mod source;
pub mod spec;
mod streams;

use std::ops::Range;
use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::Value;
use flashgc_base::spec::{SpecError, count};
use flashgc_base::value;
use flashgc_workload::requests::{RequestStream, Requests, Space};
use flashgc_workload::{FlushingRequests, RangedRequests, WorkloadError};

use crate::config::Resolved;
use crate::options::TimedConfig;
use crate::source::Source;
use crate::timed::Loop;
pub(crate) use spec::{ClassWeights, Priority};
pub use spec::{KEYS, Key, TenantSpec, check_key};
pub(crate) use streams::{InPart, InTurn};

/// A tenant of a drive whose size is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tenant {
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
pub(crate) struct Parts {
    /// The first byte behind each part, ascending, and the number of its tenant.
    ends: Vec<(u64, usize)>,
}

impl Value for Parts {
    value!(ends);
}

impl Parts {
    /// Those of `tenants`, with mapping units of `unit` bytes.
    pub(crate) fn of(tenants: &[Tenant], unit: u32) -> Self {
        let end = |tenant: &Tenant| u64::from(tenant.pages.end) * u64::from(unit);
        let mut ends: Vec<_> = tenants.iter().map(end).zip(0..).collect();
        ends.sort_unstable();
        Self { ends }
    }

    /// The number of the tenant whose part has `byte`, which one has.
    #[inline]
    pub(crate) fn tenant(&self, byte: u64) -> usize {
        self.ends[self.ends.partition_point(|&(end, _)| end <= byte)].1
    }
}

/// The specs of the tenants that `config` asks for, each name once.
///
/// # Errors
/// Those of [`TenantSpec::parse`]; two tenants of one name.
pub fn specs(config: &TimedConfig) -> Result<Vec<TenantSpec>, SpecError> {
    let mut specs: Vec<TenantSpec> = Vec::new();
    for text in &config.tenants {
        let spec = TenantSpec::parse(text)?;
        if specs.iter().any(|other| other.name == spec.name) {
            return Err(SpecError::new(
                format!("two tenants have the name '{}'", spec.name),
                "give each a name of its own",
            ));
        }
        specs.push(spec);
    }
    Ok(specs)
}

/// The tenants of a drive that offers `space`.
///
/// # Errors
/// Parts that do not fit or overlap; a workload that does not fit its part.
pub(crate) fn resolve(
    config: &TimedConfig,
    space: Space,
    pages_per_block: u32,
    source: &dyn Source,
) -> Result<Arc<[Tenant]>, SpecError> {
    let specs = specs(config)?;
    let parts = spec::lay_out(&specs, space)?;
    let workloads = source.tenants();
    if workloads.len() != specs.len() {
        return Err(SpecError::new(
            format!(
                "found {} of {}",
                count(workloads.len() as u64, "workload"),
                count(specs.len() as u64, "tenant")
            ),
            "give each tenant its workload",
        ));
    }
    let tenants = specs.into_iter().zip(parts).zip(workloads);
    tenants
        .map(|((spec, pages), requests)| {
            check_fits(&spec, &pages, space, pages_per_block, requests)?;
            let queue_depth = spec.queue_depth.unwrap_or(config.queue_depth);
            let host = Loop::of(spec.arrivals.or(requests.default_arrivals()));
            Ok(Tenant { spec, pages, host, queue_depth })
        })
        .collect()
}

/// Whether the workload of a tenant can be on its part.
fn check_fits(
    spec: &TenantSpec,
    pages: &Range<u32>,
    space: Space,
    pages_per_block: u32,
    requests: &Requests,
) -> Result<(), SpecError> {
    let has = pages.end - pages.start;
    let least = match requests {
        Requests::Trace(trace) => trace.given().map(|given| given.least()),
        Requests::Pages(_) | Requests::DiskSim(_) | Requests::Live(_) => None,
    };
    if let Some(needs) =
        least.or(requests.fixed_pages(pages_per_block)).filter(|&needs| needs > has)
    {
        let share = f64::from(needs) / f64::from(space.logical_pages) * 100.0;
        let hint = match share <= 100.0 {
            true => format!("space={}%, or more blocks", share.ceil()),
            false => "more blocks".to_string(),
        };
        return Err(SpecError::new(
            format!(
                "tenant {}: its workload addresses {}, and its part of the drive has {has}",
                spec.name,
                count(needs.into(), "page")
            ),
            hint,
        ));
    }
    if let (Some(request_size), Requests::Pages(generator)) = (spec.request_size, requests) {
        let named = |error: SpecError| {
            SpecError::new(format!("tenant {}: {}", spec.name, error.message), error.hint)
        };
        generator.slots(has, space.page_size, request_size).map_err(named)?;
    } else if spec.request_size.is_some() {
        return Err(SpecError::new(
            format!(
                "tenant {}: a request size only applies to generators of pages, and its workload has \
                 sizes of its own",
                spec.name
            ),
            "leave it out",
        ));
    }
    Ok(())
}

/// The requests of every tenant in one run with this seed, where they are on the drive.
///
/// The first tenant draws as the only host of a drive would, the others from streams of their own.
///
/// # Errors
/// Those of the workloads.
pub(crate) fn open(
    resolved: &Resolved,
    tenants: &[Tenant],
    rate_scale: f64,
    seed: u64,
) -> Result<Vec<Box<dyn RequestStream>>, WorkloadError> {
    let unit = resolved.config.unit();
    let each = tenants.iter().zip(resolved.source.tenants()).enumerate();
    each.map(|(number, (tenant, requests))| {
        let Tenant { spec, pages, .. } = tenant;
        let seed = match number {
            0 => seed,
            _ => Stream::new(seed, &format!("tenant {}", spec.name)).bits(),
        };
        let space = Space {
            logical_pages: pages.end - pages.start,
            page_size: unit,
            request_size: spec.request_size.unwrap_or(unit),
        };
        let arrivals = spec.arrivals.as_ref();
        let mut inner = requests.open(space, seed, arrivals, rate_scale, None)?;
        if let Some(every) = resolved.config.flush_every {
            inner = Box::new(FlushingRequests::new(inner, every, unit));
        }
        let begin = u64::from(pages.start) * u64::from(unit);
        let stream: Box<dyn RequestStream> =
            Box::new(InPart::new(inner, &spec.name, begin, space.bytes()));
        Ok(match &resolved.streams {
            Some(ranges) => Box::new(RangedRequests::new(stream, Arc::clone(ranges))),
            None => stream,
        })
    })
    .collect()
}
