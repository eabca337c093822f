//! The shape of a drive: N blocks of b pages, and a logical capacity of U blocks.

use std::fmt;

use flashgc_base::naming::{self, Keywords, Names, choice, option, subject};

/// Map entry of a logical page that has no data.
pub const UNMAPPED: u32 = u32::MAX;

/// A fault in a drive's shape, in one line, with a hint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.said(&Keywords))]
pub struct GeometryError(pub String);

impl GeometryError {
    /// The text of the fault, with the names that `names` has for options.
    pub fn said(&self, names: &dyn Names) -> String {
        naming::said(&self.0, names)
    }
}

/// Blocks, pages a block and logical pages of a drive.
///
/// A physical page number (ppn) is `block << offset_bits | offset`: pages of a block are
/// consecutive, and the block of a page is one shift away even where b is not a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    blocks: u32,
    pages_per_block: u32,
    logical_pages: u32,
    offset_bits: u32,
}

impl Geometry {
    /// Largest number of pages a block may have.
    pub const MAX_PAGES_PER_BLOCK: u32 = 1 << 24;

    /// A drive of `blocks` blocks of `pages_per_block` pages with a logical capacity of
    /// `logical_pages` pages.
    pub fn new(
        blocks: u32,
        pages_per_block: u32,
        logical_pages: u64,
    ) -> Result<Self, GeometryError> {
        let fault = |text: String| Err(GeometryError(text));
        let b = pages_per_block;
        if !(2..=Self::MAX_PAGES_PER_BLOCK).contains(&b) {
            return fault(format!(
                "{} is {b}, expected 2 to {}; hint: {}",
                subject("pages_per_block"),
                Self::MAX_PAGES_PER_BLOCK,
                choice("pages_per_block", 64)
            ));
        }
        let (offset_bits, most_blocks) = (offset_bits(b), Self::most_blocks(b));
        if blocks < 2 || blocks > most_blocks {
            let hint = match blocks < 2 {
                true => choice("blocks", 64),
                false => format!("fewer, or a larger {}", option("page_size")),
            };
            return fault(format!(
                "{} is {blocks}, expected 2 to {most_blocks} with {b} pages per block, because page \
                 numbers have 32 bits; hint: {hint}",
                subject("blocks")
            ));
        }
        let physical = u64::from(blocks) * u64::from(b);
        if logical_pages == 0 || logical_pages >= physical {
            return fault(format!(
                "{logical_pages} logical pages leave no spare space on a drive of {physical} \
                 pages; hint: {}, or more {}",
                choice("spare", "10%"),
                option("blocks")
            ));
        }
        Ok(Self { blocks, pages_per_block: b, logical_pages: logical_pages as u32, offset_bits })
    }

    /// Returns the largest number of blocks of `pages_per_block` pages: page numbers have 32 bits.
    pub fn most_blocks(pages_per_block: u32) -> u32 {
        (u64::from(u32::MAX) >> offset_bits(pages_per_block)) as u32
    }

    /// A drive of `blocks` blocks with spare factor `spare` = 1 - U/N.
    pub fn with_spare(
        blocks: u32,
        pages_per_block: u32,
        spare: f64,
    ) -> Result<Self, GeometryError> {
        check_spare(spare)?;
        let physical = f64::from(blocks) * f64::from(pages_per_block);
        Self::new(blocks, pages_per_block, (physical * (1.0 - spare)).round() as u64)
    }

    /// The smallest drive with at least the spare factor `spare` that holds `logical_pages` pages.
    pub fn for_logical_pages(
        logical_pages: u64,
        pages_per_block: u32,
        spare: f64,
    ) -> Result<Self, GeometryError> {
        check_spare(spare)?;
        let exact = logical_pages as f64 / (1.0 - spare) / f64::from(pages_per_block.max(1));
        // Without the two small terms, a quotient that rounding errors lift above a whole number
        // would cost one more block.
        let blocks = (exact - exact * 1e-12 - 1e-9).ceil();
        if blocks > f64::from(u32::MAX) {
            return Err(GeometryError(format!(
                "{logical_pages} logical pages with spare factor {spare} need {blocks} blocks, and \
                 page numbers have 32 bits; hint: a larger {}",
                option("page_size")
            )));
        }
        Self::new(blocks as u32, pages_per_block, logical_pages)
    }

    /// N, the number of physical blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// b, the number of pages a block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// U times b: the logical capacity in pages.
    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Blocks that the logical pages fill.
    pub(crate) fn logical_blocks(&self) -> u32 {
        self.logical_pages.div_ceil(self.pages_per_block)
    }

    /// N times b: the number of pages the flash has.
    pub fn physical_pages(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.pages_per_block)
    }

    /// The spare factor S_f = 1 - U/N, a share of the physical space.
    pub fn spare_factor(&self) -> f64 {
        1.0 - f64::from(self.logical_pages) / self.physical_pages() as f64
    }

    /// The spare factor that collections have while `kept` blocks stay erased. It is 0 if these
    /// blocks take all of the spare space.
    pub fn effective_spare(&self, kept: f64) -> f64 {
        let pages = (f64::from(self.blocks) - kept) * f64::from(self.pages_per_block);
        (1.0 - f64::from(self.logical_pages) / pages).max(0.0)
    }

    /// The over-provisioning (N - U)/U, a share of the logical space, as industry quotes it.
    pub fn overprovision(&self) -> f64 {
        self.physical_pages() as f64 / f64::from(self.logical_pages) - 1.0
    }

    /// The block and the offset of a ppn.
    #[inline]
    pub fn place_of(&self, ppn: u32) -> (u32, u32) {
        (ppn >> self.offset_bits, ppn & ((1 << self.offset_bits) - 1))
    }

    /// The ppn of the page at `offset` of `block`.
    #[inline]
    pub fn ppn(&self, block: u32, offset: u32) -> u32 {
        block << self.offset_bits | offset
    }

    /// Bits of a ppn that hold the page's offset in its block.
    #[inline]
    pub(crate) fn offset_bits(&self) -> u32 {
        self.offset_bits
    }
}

/// Returns the bits of a page number that name a page of its block.
fn offset_bits(pages_per_block: u32) -> u32 {
    u32::BITS - (pages_per_block - 1).leading_zeros()
}

fn check_spare(spare: f64) -> Result<(), GeometryError> {
    if spare > 0.0 && spare < 1.0 {
        return Ok(());
    }
    Err(GeometryError(format!(
        "spare factor is {spare}, expected a number between 0 and 1, both excluded; hint: {}",
        choice("spare", "10%")
    )))
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} blocks x {} pages, {} logical pages",
            self.blocks, self.pages_per_block, self.logical_pages
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_factor_and_overprovision_are_the_papers_and_industrys() {
        // N = 50000 and S_f = 0.1: U = 45000 blocks, and over-provisioning is (N - U)/U = 1/9.
        let geometry = Geometry::with_spare(50_000, 64, 0.1).unwrap();
        assert_eq!(geometry.logical_pages(), 45_000 * 64);
        assert!((geometry.spare_factor() - 0.1).abs() < 1e-12);
        assert!((geometry.overprovision() - 1.0 / 9.0).abs() < 1e-12);
        let same = Geometry::for_logical_pages(45_000 * 64, 64, 0.1).unwrap();
        assert_eq!(same, geometry);
    }

    #[test]
    fn the_smallest_drive_has_at_least_the_spare_asked_for() {
        for (pages, b, spare) in [(1000, 64, 0.07), (1 << 20, 256, 0.21875), (77, 16, 0.5)] {
            let geometry = Geometry::for_logical_pages(pages, b, spare).unwrap();
            assert!(geometry.spare_factor() >= spare - 1e-9);
            let smaller = Geometry::new(geometry.blocks() - 1, b, pages).unwrap();
            assert!(smaller.spare_factor() < spare);
        }
    }

    #[test]
    fn oversized_shapes_are_refused_with_a_reason() {
        let text = |result: Result<Geometry, GeometryError>| result.unwrap_err().to_string();
        assert!(text(Geometry::with_spare(100, 1, 0.1)).contains("is 1, expected 2 to 16777216"));
        let large = Geometry::with_spare(100, (1 << 24) + 1, 0.1);
        assert!(text(large).contains("is 16777217"));
        assert!(Geometry::with_spare(200, 1 << 24, 0.1).is_ok());
        assert!(text(Geometry::with_spare(100, 64, 0.0)).contains("spare factor is 0"));
        assert!(text(Geometry::with_spare(100, 64, f64::NAN)).contains("spare factor is NaN"));
        assert!(text(Geometry::new(1 << 30, 64, 1 << 20)).contains("32 bits"));
        assert!(text(Geometry::new(10, 64, 640)).contains("leave no spare space"));
    }
}
