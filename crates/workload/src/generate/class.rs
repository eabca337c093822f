//! A class of pages: some that follow each other.

use flashgc_base::snapshot::Value;
use flashgc_base::value;

/// The pages from `first` on.
#[derive(Clone, Copy)]
pub(super) struct Class {
    pub first: u32,
    pub pages: u32,
}

impl Value for Class {
    value!(first, pages);
}
