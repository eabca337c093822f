//! The plane of each page in a static placement.

use crate::layout::PlaneId;

/// The plane of each page in a static placement. The entry of a page is its number modulo the
/// number of entries.
#[derive(Clone, Debug)]
pub struct Homes(Box<[PlaneId]>);

impl Homes {
    /// Makes the homes from their entries: at least one.
    pub fn new(planes: Box<[PlaneId]>) -> Self {
        debug_assert!(!planes.is_empty());
        Self(planes)
    }

    /// Returns the plane of a page.
    #[inline]
    pub fn of(&self, page: u32) -> PlaneId {
        let count = self.0.len();
        // A division is slow, so a power of two is handled with a mask.
        let turn = match count.is_power_of_two() {
            true => page as usize & (count - 1),
            false => page as usize % count,
        };
        self.0[turn]
    }
}
