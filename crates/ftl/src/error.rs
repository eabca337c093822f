//! The reason why a layer cannot be made, or cannot go on.

use flashgc_base::naming::{self, Keywords, Names, option};
use flashgc_base::spec::SpecError;

use crate::geometry::{Geometry, GeometryError};

/// The reason why the translation layer cannot be made, or cannot go on. It is one pointer, so that
/// the result of every page operation stays in registers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct FtlError(Box<FtlErrorKind>);

impl FtlError {
    /// The kind of the fault.
    pub fn kind(&self) -> &FtlErrorKind {
        &self.0
    }

    /// The text of the fault, with the names that `names` has for options.
    pub fn said(&self, names: &dyn Names) -> String {
        match self.kind() {
            FtlErrorKind::Geometry(error) => error.said(names),
            FtlErrorKind::Spec(error) => error.said(names),
            FtlErrorKind::Memory { pages } => no_memory(*pages, names),
            FtlErrorKind::NoSpace(why) => no_space(why, names),
            other => other.to_string(),
        }
    }

    /// The error that garbage collection frees no space, with the reason.
    #[cold]
    pub fn no_space(why: impl Into<String>) -> Self {
        FtlErrorKind::NoSpace(why.into()).into()
    }
}

impl<K: Into<FtlErrorKind>> From<K> for FtlError {
    #[cold]
    fn from(kind: K) -> Self {
        Self(Box::new(kind.into()))
    }
}

fn no_memory(pages: u32, names: &dyn Names) -> String {
    let blocks = option("blocks");
    let text = format!(
        "no memory for a map of {pages} pages, which takes about 9 bytes a page; hint: fewer {blocks}"
    );
    naming::said(&text, names)
}

fn no_space(why: &str, names: &dyn Names) -> String {
    naming::said(&format!("no reclaimable space: {why}"), names)
}

/// The faults of a translation layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FtlErrorKind {
    /// The shape of the drive does not work.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// A policy or a frontier has a wrong spec.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The system has not enough memory for the map.
    #[error("{}", no_memory(*pages, &Keywords))]
    Memory {
        /// Logical pages of the drive.
        pages: u32,
    },
    /// A command addresses a page that the drive does not have.
    #[error("page {page} is beyond the drive's {logical_pages} logical pages")]
    OutOfRange {
        /// The page that the command addresses.
        page: u32,
        /// The number of logical pages of the drive.
        logical_pages: u32,
    },
    /// Collecting garbage frees nothing.
    #[error("{}", no_space(.0, &Keywords))]
    NoSpace(String),
    /// The drive is at the end of its life.
    #[error("the drive is worn out and read-only: {bad_blocks} of its blocks are bad")]
    ReadOnly {
        /// The number of blocks that are worn out.
        bad_blocks: u32,
    },
    /// A policy broke its contract.
    #[error("the victim policy picked block {block}, which {why}")]
    BadPick {
        /// The block that the policy picked.
        block: u64,
        /// The reason why the block may not be picked.
        why: &'static str,
    },
    /// A placement from outside failed.
    #[error("the placement failed: {0}")]
    Placement(String),
}

/// Checks that every one of `pages` is a logical page of the drive.
#[inline]
pub(crate) fn check_range(geometry: &Geometry, pages: &[u32]) -> Result<(), FtlError> {
    let logical_pages = geometry.logical_pages();
    match pages.iter().copied().fold(0, u32::max) {
        page if page >= logical_pages => {
            Err(FtlErrorKind::OutOfRange { page, logical_pages }.into())
        }
        _ => Ok(()),
    }
}
