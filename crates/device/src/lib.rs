//! The stored drive: a simulated flash drive that keeps bytes, and its front ends.

pub mod front;
pub mod served;
