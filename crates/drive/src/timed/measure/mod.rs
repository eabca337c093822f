//! What is measured of a timed drive: who watches it, what it counts, and the result of its runs.

mod meter;
mod observer;
mod result;
mod summary;
mod totals;

pub use meter::Meter;
pub use observer::{Cause, Completion, Observer, Place, Silent, Source, Span, Work};
pub use result::{CollectionResult, Overload, Throughput, TimedResult, Utilisation};
pub(crate) use summary::summarise;
pub use totals::{CollectionCounts, Totals};
