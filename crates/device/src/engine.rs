//! The engine of a stored drive: the page store decides, and the engine moves the bytes of the
//! pages.
//!
//! The drive decides as the counting drive does: the steps follow the order of
//! [`Stepwise::write_at_once`]. A write puts the data and their out-of-band record at the place
//! that the store names, and notes the change in the journal. Five rules make that safe:
//!
//! - R1: a record that was not durable counts after a crash only if its page verifies.
//! - R2: a block that was erased since the last sync is programmed only after another sync: until
//!   then it may hold the only durable copy of a page.
//! - R3: a checkpoint is durable before a superblock names it, and that superblock is durable
//!   before any older journal block is overwritten.
//! - R4: pages of a block are gathered and written at once, all of them before the block may be
//!   collected. A journal record is written after the page that it names.
//! - R5: a page read must be intact, must be of this logical page, and must have been programmed
//!   since the last erase of its block.

mod collect;
mod handles;
mod open;
mod program;
mod read;
mod report;
mod save;
mod serve;
mod served;
mod stripes;

pub(crate) use open::zones_of;
pub(crate) use program::stream_of;
pub use report::{Block, BlockState, Report};
pub use served::{Backend, Hinted, WriteStreams};

use std::sync::Arc;

use flashgc_base::counts::Counts;
use flashgc_ftl::{GroupHomes, Handles, Stepwise};
use flashgc_workload::StreamRanges;

use crate::checkpoint::{BlockInfo, Horizon};
use crate::dies::LostDies;
use crate::error::DeviceError;
use crate::journal::Journal;
use crate::layout::Zones;
use crate::mapped::Mapped;
use crate::media::Media;
use crate::recording::Recording;
use crate::settings::Durability;
use crate::superblock::Copies;
use crate::usage::Usage;
use read::Window;
use save::UnderWay;
use stripes::Stripes;

/// A stored drive.
pub struct Drive {
    media: Box<dyn Media>,
    map: Box<dyn Stepwise>,
    zones: Zones,
    tag: u32,
    copies: Copies,
    journal: Journal,
    blocks: Vec<BlockInfo>,
    horizons: Vec<Horizon>,
    /// The number of erased blocks at which collections begin.
    low: u32,
    homes: GroupHomes,
    /// The placement handles; `None` if the drive has none.
    handles: Option<Handles>,
    /// The number of blocks that stay erased between two collections.
    kept_erased: u32,
    /// The streams of writes by address; `None` if the address does not determine the stream.
    ranges: Option<Arc<StreamRanges>>,
    durability: Durability,
    /// Journal records with a smaller number than this were durable at the last sync.
    barrier: u64,
    /// `true` if something was written since the last sync.
    is_dirty: bool,
    /// The pages that wait to be written. In a drive that failed, these are the pages that could
    /// not be written.
    stripes: Stripes,
    mapped: Mapped,
    under_way: Option<UnderWay>,
    /// The blocks erased since the last checkpoint.
    erased: Vec<u32>,
    /// The failure that made the drive read-only; `None` without a failure. The end of the
    /// endurance is no failure.
    failed: Option<String>,
    opened: Opened,
    /// The number of media errors since the last superblock that counts them.
    media_errors: u64,
    /// The hosts' use of the drive since the last superblock that counts it.
    usage: Usage,
    /// The number of pages that hosts had written when their use was last counted.
    accounted: u64,
    recording: Option<Recording>,
    recovery: Option<Recovery>,
    /// `true` while the medium takes back the room of blocks that stay erased.
    gives_room_back: bool,
    /// The number of the next journal record at the last call of [`Drive::rest`].
    seen: u64,
    /// The buffer for pages that are being copied.
    window: Window,
    /// The dies that are lost, as a user sets them.
    lost: LostDies,
    /// The dies that are lost for the command under way, by number: nothing can be read from them. A
    /// collection reads a victim's records before its pages, so they do not change meanwhile.
    lost_now: Vec<bool>,
}

/// The counts since the drive was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts)]
pub struct Opened {
    /// Syncs of the file since the drive was opened.
    pub syncs: u64,
    /// Checkpoints since the drive was opened.
    pub checkpoints: u64,
    /// Pages whose hints came after the host had written them, since the drive was opened.
    pub late_hints: u64,
    /// Pages that were rebuilt from the parity of their stripe, since the drive was opened.
    #[counts(stat = "rebuilt_pages_since_open")]
    pub rebuilt: u64,
    /// Write commands that began within a page, since the drive was opened.
    #[counts(stat = "unaligned_writes_since_open")]
    pub unaligned: u64,
}

/// The result of recovering a drive when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The number of journal records behind the checkpoint.
    pub records: u64,
    /// The number of these records that were skipped: programs that were not durable and did not
    /// verify. Their pages keep their old places.
    pub skipped: u64,
}

impl Drive {
    /// Checks every invariant of the page store, and the drive's count of pages with data in each
    /// group.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&self) -> Result<(), String> {
        self.map.audit()?;
        self.mapped.audit(|page| self.map.locate(page).is_some())
    }

    /// Returns why the drive takes no writes; `None` while it does.
    pub(crate) fn why_read_only(&self) -> Option<String> {
        let ended = || "its life is over: too many blocks are worn out".to_string();
        self.failed.clone().or_else(|| self.has_ended().then(ended))
    }

    /// Returns the dies that are lost, to be set while the drive is in use. A drive without parity has
    /// none.
    pub fn lost_dies(&self) -> LostDies {
        self.lost.clone()
    }

    /// Returns the failure that has made the drive read-only, if one has.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failed.clone()
    }

    /// Returns `true` if there are enough erased blocks for one collection.
    pub(crate) fn can_collect(&self) -> bool {
        let erased = self.blocks().filter(|block| block.state == BlockState::Erased).count();
        erased >= self.map.reserved_blocks() as usize
    }

    /// Returns `true` while a checkpoint is being written.
    pub(crate) fn is_checkpointing(&self) -> bool {
        self.under_way.is_some()
    }

    /// Returns `true` once the drive has reached the end of its endurance.
    pub(crate) fn has_ended(&self) -> bool {
        self.copies.now.has_ended || self.map.has_ended()
    }

    fn check_writable(&self) -> Result<(), DeviceError> {
        match self.why_read_only() {
            Some(why) => Err(DeviceError::ReadOnly(why)),
            None => Ok(()),
        }
    }
}
