//! All tests of the crate as one program: a module for each file, and the helpers that they share.

mod timed;
mod timed_chains;
mod timed_channels;
mod timed_common;
mod timed_dependent;
mod timed_devices;
mod timed_dftl;
mod timed_failures;
mod timed_hosts;
mod timed_life;
mod timed_live;
mod timed_options;
mod timed_pacing;
mod timed_passes;
mod timed_power;
mod timed_preemption;
mod timed_requests;
mod timed_slc;
mod timed_smaller;
mod timed_streams;
mod timed_versions;
mod timed_worst;
