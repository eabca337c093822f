//! Measurements of a timed drive: its observers, its counts, and the result of its runs.

mod meter;
mod observer;
mod result;
mod suspension;
mod tenants;
mod totals;
mod worst;
mod worst_result;

pub use meter::{Meter, TraceFile};
pub use observer::{
    Cause, Completion, Follows, Observer, Place, Silent, Source, Span, Stint, Work,
};
pub use result::{CollectionResult, Overload, Throughput, TimedResult, Utilisation};
pub use suspension::{Refused, Suspension};
pub use tenants::{ByTenant, TenantResult};
pub use totals::{CollectionCounts, SlcCounts, Totals};
pub use worst::{Held, MOST_COLLECTIONS, MOST_OPERATIONS, Worst, WorstSoFar};
pub(crate) use worst::{KINDS, kind_of};
pub use worst_result::{HeldResult, OperationResult, WorstResult, slowest};
