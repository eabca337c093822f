//! The write frontier alone decides where host writes and copies go.
//!
//! The single and mixed frontiers put both in one block; the double and pool frontiers keep them
//! apart.
//!
//! Rule: that of the write frontier.
//!
//! # Cost
//! None.
//!
//! # Source
//! Van Houdt, ValueTools 2013, section 2.1 (the frontiers).

use super::{PlacementInfo, Remembers};

pub(super) const INFO: PlacementInfo = PlacementInfo {
    name: "none",
    params: &[],
    source: include_str!("none.rs"),
    needs_future: false,
    needs_streams: false,
    remembers: |_, _| Remembers::default(),
    bytes: |_, _| 0,
    make: None,
};
