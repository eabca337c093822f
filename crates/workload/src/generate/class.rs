//! A class of pages: a run of consecutive pages.

use flashgc_base::snapshot::Value;

/// A run of `pages` pages from `first` on.
#[derive(Clone, Copy, Value)]
pub(super) struct Class {
    pub first: u32,
    pub pages: u32,
}
