//! All tests of the crate as one program. The hosts are those of the front ends' tests.
#![cfg(target_os = "linux")]

#[path = "../../front/tests/client/mod.rs"]
mod client;
#[path = "../../front/tests/initiator/mod.rs"]
mod initiator;
mod serve;
