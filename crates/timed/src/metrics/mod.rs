//! Measurements of a drive with a clock: latencies, series over time, and a timeline of single
//! operations. The module knows neither drives nor workloads, only nanoseconds.

pub mod latency;
pub mod series;
pub mod timeline;
pub mod trace_events;
