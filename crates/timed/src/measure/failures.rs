//! The reads of the host that failed, on a drive whose reads can fail.

use flashgc_base::counts::Counts;
use flashgc_base::snapshot::Value;
use serde::{Deserialize, Serialize};

/// The counts of reads of flash pages for the host, and of those that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counts, Value)]
pub struct FailureCounts {
    /// The flash pages that the host read.
    #[counts(words = "pages read")]
    pub reads: u64,
    /// The flash pages whose read failed.
    #[counts(words = "reads failed")]
    pub failed: u64,
    /// The pages that other dies read to rebuild them.
    #[counts(words = "pages read to rebuild")]
    pub others_read: u64,
    /// The failed reads whose data were lost, as another page of the stripe failed too.
    #[counts(words = "lost")]
    pub lost: u64,
}
