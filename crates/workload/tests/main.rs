//! All tests of the crate as one program, with a module for each file and shared ones.

mod flushing;
mod generate;
mod generate_common;
mod generate_distributions;
mod generate_frequency;
mod generate_phases;
mod generate_sized;
mod generate_tpcc;
mod requests;
mod requests_trace;
mod snapshots;
mod streams;
mod trace_common;
mod trace_conversions;
mod trace_dirty;
mod trace_errors;
mod trace_flushes;
mod trace_formats;
mod trace_given;
mod trace_public;
mod trace_references;
mod trace_replay;
mod trace_short;
mod trace_split;
mod trace_streams;
mod trace_write;
