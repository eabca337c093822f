//! All tests of the crate as one program: a module for each file, and the helpers that they share.

mod against_models;
mod checkpoint;
mod failures;
mod honesty;
mod hosts;
mod input;
mod levelling;
mod lifetime;
mod mapping_units;
mod memory;
mod named;
mod one_request;
mod power;
mod published;
mod recordings;
#[allow(dead_code)] // the tests of flashgc-ftl use the rest of the module
#[path = "../../ftl/tests/reference/mod.rs"]
mod reference;
mod refused;
mod replays;
mod runs;
mod scale;
mod steadiness;
mod superblocks;
mod swap;
mod tenants;
#[path = "../../timed/tests/timed_common/mod.rs"]
mod timed_common;
mod timed_runs;
