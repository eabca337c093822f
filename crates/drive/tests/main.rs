//! All tests of the crate as one program: a module for each file, and what they share.

mod against_models;
mod checkpoint;
mod honesty;
mod hosts;
mod levelling;
mod lifetime;
mod mapping_units;
mod published;
mod recordings;
#[allow(dead_code)] // the crate it comes from tests the rest of it
#[path = "../../ftl/tests/reference/mod.rs"]
mod reference;
mod replays;
mod runs;
mod streams;
mod swap;
mod tenants;
mod timed;
mod timed_chains;
mod timed_common;
mod timed_devices;
mod timed_dftl;
mod timed_hosts;
mod timed_life;
mod timed_live;
mod timed_options;
mod timed_pacing;
mod timed_preemption;
mod timed_runs;
mod timed_slc;
mod timed_versions;
mod timed_worst;
