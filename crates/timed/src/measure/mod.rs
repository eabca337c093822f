//! Measurements of a timed drive: its observers, its counts, and the result of its runs.

mod failures;
mod meter;
mod power;
mod result;
mod suspension;
mod tenants;
mod totals;
mod worst;
mod worst_result;

pub use failures::FailureCounts;
pub use meter::{Meter, TraceFile};
pub use power::{PowerCounts, PowerLimit};
pub use result::{CollectionResult, Overload, Throughput, TimedResult, Utilisation};
pub use suspension::{Refused, Suspension};
pub use tenants::{ByTenant, TenantResult};
pub use totals::{CollectionCounts, Joined, SlcCounts, Totals};
pub(crate) use worst::{KINDS, kind_of};
pub use worst::{MOST_COLLECTIONS, MOST_OPERATIONS, Worst, WorstSoFar};
pub use worst_result::{HeldResult, OperationResult, WorstResult, slowest};
