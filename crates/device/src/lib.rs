//! The stored drive: a simulated flash drive that keeps bytes, and its front ends.

pub mod front;
mod served;

pub use served::{DeviceError, Served};

/// Bytes of a page of the logical space.
pub const PAGE: usize = 4096;
