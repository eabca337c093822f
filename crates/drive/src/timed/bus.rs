//! The bus of a channel: one transfer at a time, first come, first served.

use std::collections::VecDeque;

use super::ops::NONE;

/// A channel's bus.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    /// The die that uses it, or [`NONE`].
    pub(super) die: u32,
    /// Dies that wait for it.
    pub(super) waiting: VecDeque<u32>,
    pub(super) busy_ns: u64,
}

impl Bus {
    /// The bus of so many dies, free.
    pub(super) fn new(dies: u32) -> Self {
        Self { die: NONE, waiting: VecDeque::with_capacity(dies as usize), busy_ns: 0 }
    }
}
