//! Measurements of a drive with a clock: response times, series over time, a timeline of single
//! operations, and trace events. The module does not know drives and workloads.

pub mod latency;
pub mod series;
pub mod timeline;
pub mod trace_events;
