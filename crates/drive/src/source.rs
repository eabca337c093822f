//! Where a run's commands come from, whatever they are: generators and traces behind one face.

use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::{Workload, WorkloadError};

/// A workload that can be opened once a run.
pub trait Source: Send + Sync {
    /// The workload in full, as results record it.
    fn canonical(&self) -> String;

    /// The number of logical pages it addresses, where it fixes that itself, in whole blocks of
    /// `pages_per_block`.
    fn fixed_pages(&self, pages_per_block: u32) -> Option<u32>;

    /// Page commands a replay, or `None` if it has no end.
    fn pass(&self) -> Option<u64>;

    /// The commands of one run, endless, on a drive of `logical_pages`.
    fn open(&self, logical_pages: u32, seed: u64) -> Result<Box<dyn Workload>, WorkloadError>;
}

impl Source for GeneratorSpec {
    fn canonical(&self) -> String {
        self.to_string()
    }

    fn fixed_pages(&self, _: u32) -> Option<u32> {
        GeneratorSpec::fixed_pages(self)
    }

    fn pass(&self) -> Option<u64> {
        None
    }

    fn open(&self, logical_pages: u32, seed: u64) -> Result<Box<dyn Workload>, WorkloadError> {
        GeneratorSpec::open(self, logical_pages, seed)
            .map_err(|error| WorkloadError(error.to_string()))
    }
}
