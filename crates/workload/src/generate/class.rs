//! A class of pages: a range of consecutive pages.

use flashgc_base::snapshot::Value;

/// A range of `pages` pages that begins at page `first`.
#[derive(Clone, Copy, Value)]
pub(super) struct Class {
    pub first: u32,
    pub pages: u32,
}
