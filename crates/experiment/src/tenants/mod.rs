//! The tenants in a configuration, and their workloads.

pub mod source;

use std::ops::Range;
use std::sync::Arc;

use flashgc_base::naming::subject;
use flashgc_base::spec::{SpecError, count};
use flashgc_drive::source::Source;
use flashgc_timed::Loop;
use flashgc_timed::tenants::{Tenant, TenantSpec, lay_out};
use flashgc_workload::requests::{Arrivals, Requests, Space};

use crate::options::TimedConfig;

/// Parses the specs of tenants, whose names must differ.
///
/// # Errors
/// Returns the errors of [`TenantSpec::parse`]. Also fails if two tenants have the same name.
pub fn specs(texts: &[String]) -> Result<Vec<TenantSpec>, SpecError> {
    let mut specs: Vec<TenantSpec> = Vec::new();
    for text in texts {
        let spec = TenantSpec::parse(text)?;
        if specs.iter().any(|other| other.name == spec.name) {
            return Err(SpecError::new(
                format!("{} '{}' is the name of two", subject("tenant"), spec.name),
                "give each a name of its own",
            ));
        }
        specs.push(spec);
    }
    Ok(specs)
}

/// Returns the tenants of a drive that offers `space`.
///
/// # Errors
/// Fails if the parts of tenants do not fit or overlap, or if a workload does not fit its part.
pub(crate) fn resolve(
    config: &TimedConfig,
    space: Space,
    pages_per_block: u32,
    source: &dyn Source,
) -> Result<Arc<[Tenant]>, SpecError> {
    let specs = specs(&config.tenants)?;
    let parts = lay_out(&specs, space)?;
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
            if spec.arrivals == Some(Arrivals::Dependent) {
                return Err(SpecError::new(
                    format!(
                        "{} {} has arrivals=dependent: a recording's answers are those of a drive that its host \
                         had alone",
                        subject("tenant"),
                        spec.name
                    ),
                    "arrivals=closed:threads=1",
                ));
            }
            let host = Loop::of(spec.arrivals.or(requests.default_arrivals()));
            Ok(Tenant { spec, pages, host, queue_depth })
        })
        .collect()
}

/// Checks that the workload of a tenant fits the tenant's part of the drive.
fn check_fits(
    spec: &TenantSpec,
    pages: &Range<u32>,
    space: Space,
    pages_per_block: u32,
    requests: &Requests,
) -> Result<(), SpecError> {
    let tenant = format!("{} {}", subject("tenant"), spec.name);
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
                "{tenant}: its workload addresses {}, and its part of the drive has {has}",
                count(needs.into(), "page")
            ),
            hint,
        ));
    }
    if let Requests::Pages(generator) = requests {
        let named =
            |error: SpecError| SpecError::new(format!("{tenant}: {}", error.message), error.hint);
        let size = spec.request_size;
        if size.is_some() || generator.has_sizes() {
            let size = size.unwrap_or(space.page_size);
            generator.check_sizes(has, space.page_size, size).map_err(named)?;
        }
    } else if spec.request_size.is_some() {
        return Err(SpecError::new(
            format!(
                "{tenant}: request_size only applies to generators of pages, and its workload has sizes of \
                 its own"
            ),
            "leave it out",
        ));
    }
    Ok(())
}
