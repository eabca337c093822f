//! The workloads of several tenants as the source of one drive.

use std::path::PathBuf;

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::spec::SpecError;
use flashgc_drive::extent::Pass;
use flashgc_drive::source::{Source, TimedSource};
use flashgc_workload::requests::{Requests, Space};
use flashgc_workload::{Workload, WorkloadError};

/// The workloads of the tenants, in the order of the tenants.
pub struct TenantsSource {
    each: Vec<(String, TimedSource)>,
    requests: Vec<Requests>,
}

impl TenantsSource {
    /// Returns the workloads of tenants with these names; there must be at least one.
    pub fn new(each: Vec<(String, TimedSource)>) -> Self {
        let requests = each.iter().filter_map(|(_, source)| source.requests().cloned()).collect();
        Self { each, requests }
    }

    /// Returns the names of the tenants, and the full specs of their workloads.
    pub fn workloads(&self) -> impl Iterator<Item = (&str, String)> {
        self.each.iter().map(|(name, source)| (name.as_str(), source.canonical()))
    }
}

impl Source for TenantsSource {
    fn canonical(&self) -> String {
        let names: Vec<&str> = self.each.iter().map(|(name, _)| name.as_str()).collect();
        format!("tenants {}", names.join(", "))
    }

    fn fixed_pages(&self, _: u32) -> Option<u32> {
        None
    }

    fn check_request_size(&self, _: &Space) -> Result<(), SpecError> {
        Err(SpecError::new(
            format!(
                "{} does not go with {}: each has its own",
                subject("request_size"),
                option("tenant")
            ),
            "write request_size= in each tenant",
        ))
    }

    fn check_page_size(&self, bytes: u32) -> Result<(), SpecError> {
        self.each.iter().try_for_each(|(_, source)| source.check_page_size(bytes))
    }

    fn has_streams(&self) -> bool {
        self.each.iter().any(|(_, source)| source.has_streams())
    }

    fn pass(&self) -> Option<Pass> {
        None
    }

    fn open(&self, _: &Space, _: u64) -> Result<Box<dyn Workload>, WorkloadError> {
        Err(WorkloadError(format!(
            "tenants make requests with arrival times, expected page commands; hint: {}",
            choice("kind", "timed")
        )))
    }

    fn files(&self) -> Vec<PathBuf> {
        self.each.iter().flat_map(|(_, source)| source.files()).collect()
    }

    fn requests(&self) -> Option<&Requests> {
        self.requests.first()
    }

    fn tenants(&self) -> &[Requests] {
        &self.requests
    }
}
