//! A class of pages: a run of consecutive pages.

use flashgc_base::snapshot::Value;
use flashgc_base::value;

/// A run of `pages` pages from `first` on.
#[derive(Clone, Copy)]
pub(super) struct Class {
    pub first: u32,
    pub pages: u32,
}

impl Value for Class {
    value!(first, pages);
}
