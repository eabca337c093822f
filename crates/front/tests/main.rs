//! All tests of the crate as one program: a module for each file, and modules that they share.

#[path = "../../device/tests/common/mod.rs"]
mod common;

mod client;
mod control;
mod faults;
mod faults_fuse;
mod faults_nbd;
mod faults_nvme;
mod fuse;
mod fuse_hints;
mod initiator;
mod killed;
mod machine;
mod nbd_commands;
mod nbd_connections;
mod nbd_negotiation;
mod nbd_tools;
mod nvme_admin;
mod nvme_commands;
mod nvme_connections;
mod nvme_failures;
mod nvme_fdp;
mod outlived;
mod pace;
mod queue;
mod slices;
