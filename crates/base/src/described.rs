//! Descriptions of the parts of results: the name, type and text of each field. Other languages
//! make their types from these descriptions.
//!
//! ```
//! use flashgc_base::described::{Described, Field};
//!
//! /// The wear of a drive.
//! #[derive(Described)]
//! struct Wear {
//!     /// The erases of each block.
//!     erases: Vec<u32>,
//!     /// The bad blocks; `None` without an endurance.
//!     #[serde(skip_serializing_if = "Option::is_none")]
//!     bad: Option<u64>,
//! }
//!
//! assert_eq!(Wear::TEXT, "The wear of a drive.");
//! let text = "The bad blocks; `None` without an endurance.";
//! let bad = Field { name: "bad", kind: "Option<u64>", text, is_flat: false, is_optional: true };
//! assert_eq!(Wear::FIELDS[1], bad);
//! ```

pub use flashgc_derive::Described;

/// A field of a part of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The key in the JSON document.
    pub name: &'static str,
    /// The type in Rust, without spaces: `Option<Vec<f64>>`.
    pub kind: &'static str,
    /// The documentation, each paragraph as one line.
    pub text: &'static str,
    /// `true` if the document has the keys of the field's type in place of the field.
    pub is_flat: bool,
    /// `true` if a document may lack the key.
    pub is_optional: bool,
}

/// A part of a result. The derive reads the struct and its attributes for serde. It leaves out the
/// fields that serde skips.
pub trait Described {
    /// The documentation, each paragraph as one line.
    const TEXT: &'static str;
    /// The fields in their order.
    const FIELDS: &'static [Field];
}
