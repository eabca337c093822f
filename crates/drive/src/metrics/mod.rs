//! What is measured on a drive with a clock: latencies, what goes on over time, and a timeline of
//! single operations. It knows neither drives nor workloads, only nanoseconds.

pub mod latency;
pub mod series;
pub mod timeline;
