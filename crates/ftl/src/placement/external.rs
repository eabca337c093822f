//! A placement from outside this crate. The Python interface makes one; it is not in the registry,
//! because it has no name of its own.

use std::sync::Arc;

use super::{Class, Needs, Placement, Remembers, Shape};
use flashgc_base::spec::SpecError;

/// Makes the placement of a drive. The arguments are its logical pages, and its pages a block.
pub type MakePlacement =
    Arc<dyn Fn(u32, u32) -> Result<Box<dyn Placement>, SpecError> + Send + Sync>;

/// The properties of a placement from outside that are known before there is a drive.
#[derive(Clone)]
pub struct ExternalPlacement {
    /// The name by which results report the placement.
    pub name: String,
    /// For each class, `true` if copies may go to it. At least one is `true`.
    pub takes_copies: Vec<bool>,
    /// `true` if the placement asks which pages are zombies.
    pub asks_for_zombies: bool,
    /// `true` if the placement looks at the blocks of the drive.
    pub sees_blocks: bool,
    /// The past that the placement says it remembers.
    pub remembers: Remembers,
    /// Makes the placement for a drive.
    pub make: MakePlacement,
}

impl ExternalPlacement {
    /// The largest number of classes: one number is left that stands for no class.
    pub const MOST_CLASSES: usize = Class::MAX as usize;

    pub(super) fn needs(&self) -> Needs {
        Needs {
            classes: self.takes_copies.len() as u32,
            copy_classes: self.takes_copies.iter().filter(|&&takes| takes).count() as u32,
            asks_for_zombies: self.asks_for_zombies,
            sees_blocks: self.sees_blocks,
        }
    }

    pub(super) fn make(&self, shape: Shape) -> Result<Box<dyn Placement>, SpecError> {
        (self.make)(shape.pages as u32, shape.pages_per_block)
    }
}
