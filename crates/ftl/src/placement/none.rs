//! Host writes and copies go where the write frontier has them.
//!
//! Nothing is known of a page but whether the host or the collector writes it: the single frontier
//! mixes both, the others keep them apart.
//!
//! Rule: the frontier's.
//!
//! # Cost
//! None.
//!
//! # Source
//! Van Houdt, ValueTools 2013, section 2.1 (the frontiers).

use super::PlacementInfo;

pub(super) const INFO: PlacementInfo =
    PlacementInfo { name: "none", params: &[], source: include_str!("none.rs"), make: None };
