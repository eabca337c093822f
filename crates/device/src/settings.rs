//! The settings from which a drive is made.

mod text;

pub use text::{Outside, configuration, strangers};

use std::sync::Arc;

use flashgc_ftl::{
    Fill, Frontier, GroupHomes, Layout, PlacementSpec, PlaneLayout, Stepwise, Victim,
};
use flashgc_workload::StreamRanges;

use crate::checkpoint::{MOST_PAGES, slot_bytes};
use crate::dies::{MOST_IN_PROGRAM, Parity};
use crate::error::DeviceError;
use crate::layout::{CONFIG_BYTES, PAGE, Zones};

/// The kind of failure that a drive survives without losing flushed data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A loss of power: flushed data are on the disk.
    Power,
    /// The end of the process, however sudden: flushed data are with the operating system. After a
    /// loss of power the file may be refused as damaged.
    #[default]
    Process,
    /// No failure: data survive only a clean shutdown.
    None,
}

/// The smallest number of blocks in a journal.
pub const LEAST_JOURNAL_BLOCKS: u64 = 8;

/// The settings from which a drive is made.
#[derive(Clone)]
pub struct Settings {
    /// The shape and the policies. The frontier must be a pool, the initial state empty, and a
    /// flash page one page of the map.
    pub layout: Layout,
    /// The policy that picks the blocks to collect.
    pub victim: Victim,
    /// The number of 4 KiB blocks in the journal, at least [`LEAST_JOURNAL_BLOCKS`].
    pub journal_blocks: u64,
    /// The failure that the drive survives.
    pub durability: Durability,
    /// The streams of writes by address. With `None`, writes have the streams that the host names
    /// if the placement needs streams, and otherwise none.
    pub streams: Option<Arc<StreamRanges>>,
    /// The parity of superblocks; `None` without parity. The pages of the layout are those beside
    /// the parity.
    pub parity: Option<Parity>,
}

impl Settings {
    /// The default number of journal blocks: 64 MiB.
    pub const JOURNAL_BLOCKS: u64 = 1 << 14;

    /// Returns the number of erased blocks at which collections begin.
    ///
    /// # Errors
    /// A layout that a stored drive cannot have.
    pub(crate) fn low(&self) -> Result<u32, DeviceError> {
        let fault = |text: String| Err(invalid(text));
        let low = low_of(&self.layout)?;
        if self.layout.fill != Fill::Empty {
            let fill = self.layout.fill;
            return fault(format!(
                "the initial state is {fill}, expected empty: a new drive has no data"
            ));
        }
        let pages = self.layout.geometry.pages_per_block();
        if pages > MOST_PAGES {
            return fault(format!(
                "a block has {pages} pages, expected at most {MOST_PAGES}: the file has 23 bits for a \
                 place in a block; hint: --pages-per-block 4194304"
            ));
        }
        if self.layout.buffer.gathers() {
            return fault("a mapping unit smaller than a flash page cannot be stored".to_string());
        }
        if let Some(parity) = self.parity {
            let program = parity.pages_per_program;
            if program > MOST_IN_PROGRAM {
                return fault(format!(
                    "a die programs {program} pages together, expected at most {MOST_IN_PROGRAM} with \
                     parity; hint: fewer planes in a superblock"
                ));
            }
            if !parity.fits(pages) {
                return fault(format!(
                    "a superblock of {pages} pages of data has no whole stripes"
                ));
            }
        }
        if self.journal_blocks < LEAST_JOURNAL_BLOCKS {
            return fault(format!(
                "the journal has {} blocks, expected at least {LEAST_JOURNAL_BLOCKS}",
                self.journal_blocks
            ));
        }
        if self.text().len() as u64 > CONFIG_BYTES {
            return fault(format!("the configuration has more than {CONFIG_BYTES} bytes"));
        }
        if self.layout.streams != has_streams(self.streams.is_some(), &self.layout.placement) {
            return fault("the streams of the layout are not those of the drive".to_string());
        }
        let bytes = u64::from(self.layout.geometry.logical_pages()) * PAGE as u64;
        if let Some(ranges) = self.streams.as_ref().filter(|ranges| ranges.begin() >= bytes) {
            return fault(format!(
                "the ranges of streams begin at byte {}, behind the drive's end; hint: they are bytes of \
                 the drive, which offers {bytes}",
                ranges.begin()
            ));
        }
        Ok(low)
    }

    /// Lets `with` look at the planes: one for each reclaim group.
    fn planes<T>(&self, with: impl FnOnce(&PlaneLayout<'_>) -> T) -> T {
        let (layout, homes) = (self.layout.clone(), self.homes());
        let home = |page| homes.of(page);
        with(&PlaneLayout { layout, planes: homes.groups(), first: 0, home: &home })
    }

    /// Returns the planes of the pages: one plane for each reclaim group.
    pub(crate) fn homes(&self) -> GroupHomes {
        GroupHomes::new(&self.layout)
    }

    /// Returns the page store, empty.
    pub(crate) fn build(&self) -> Result<Box<dyn Stepwise>, DeviceError> {
        self.low()?;
        let layer = self.planes(|planes| self.victim.build(planes.clone()));
        layer.map_err(|error| invalid(error.to_string()))
    }

    /// Returns the zones of a new drive.
    pub(crate) fn zones(&self) -> Result<Zones, DeviceError> {
        /// The bytes by which a policy's state may grow: `PER_BLOCK` for each block, and `ONCE` in
        /// addition.
        const PER_BLOCK: u64 = 64;
        const ONCE: u64 = 1 << 16;
        self.low()?;
        let geometry = self.layout.geometry;
        self.planes(|planes| planes.check()).map_err(|error| invalid(error.to_string()))?;
        let held = self.victim.bytes(&self.layout).map_err(|error| invalid(error.to_string()))?;
        let most = held.saturating_add(PER_BLOCK * u64::from(geometry.blocks()) + ONCE);
        let slot = slot_bytes(geometry.logical_pages(), geometry.blocks(), most);
        Zones::new(geometry, self.parity, slot, self.journal_blocks)
            .ok_or_else(|| invalid("the drive is too large for a file".to_string()))
    }

    /// Returns the number of physical pages, those of the parity included.
    pub fn physical_pages(&self) -> u64 {
        let geometry = self.layout.geometry;
        let parity = self.parity.map_or(0, |parity| parity.pages(geometry.pages_per_block()));
        geometry.physical_pages() + u64::from(geometry.blocks()) * u64::from(parity)
    }

    /// Returns the size of the file of a new drive in bytes. Most of it is holes.
    ///
    /// # Errors
    /// A layout that a stored drive cannot have, or whose parts contradict each other.
    pub fn file_bytes(&self) -> Result<u64, DeviceError> {
        Ok(self.zones()?.len)
    }
}

/// Returns `true` if the writes of a drive have streams, by address or named by the host. The host
/// names them if the placement needs streams.
fn has_streams(by_address: bool, placement: &PlacementSpec) -> bool {
    by_address || placement.needs_streams()
}

/// Returns the number of erased blocks at which collections begin on a drive with `layout`: the
/// frontier's `low`, plus one block for each class of copies but the first.
///
/// # Errors
/// A frontier without a pool.
pub(crate) fn low_of(layout: &Layout) -> Result<u32, DeviceError> {
    let Frontier::Pool { low } = layout.frontier else {
        return Err(invalid(format!(
            "the frontier is {}, expected a pool; hint: --frontier pool:low=2",
            layout.frontier
        )));
    };
    Ok(low.saturating_add(layout.placement.kept_for_copies()))
}

pub(crate) fn invalid(text: String) -> DeviceError {
    std::io::Error::new(std::io::ErrorKind::InvalidInput, text).into()
}
