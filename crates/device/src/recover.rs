//! What a drive holds, from its file: checkpoint and journal are the authority; the out-of-band
//! records are a second way to the same map. Nothing here writes.

use std::collections::HashSet;

use flashgc_ftl::{BlockId, Contents, Counters, OpenBlock, UNMAPPED};

use crate::checkpoint::{self, BlockInfo, Horizon};
use crate::journal::{Record, Replay};
use crate::layout::{PAGE, Zones};
use crate::media::Media;
use crate::oob::Slot;
use crate::served::DeviceError;
use crate::superblock::{EPOCH_SHIFT, Superblock};
use crate::verify::{Expected, Pages, Rules};

/// What was found.
pub(crate) struct Found {
    pub(crate) map: Vec<u32>,
    pub(crate) blocks: Vec<BlockInfo>,
    pub(crate) counters: Counters,
    pub(crate) horizons: Vec<Horizon>,
    /// The page store's snapshot; empty where the drive was not closed, or had none.
    pub(crate) snapshot: Vec<u8>,
    /// Pages of records that were not durable, and that did not verify.
    pub(crate) skipped: Vec<u32>,
    /// Journal records behind the checkpoint.
    pub(crate) records: u64,
}

/// Reads checkpoint and journal.
///
/// # Errors
/// Damage to either that leaves the map unknown; those of the medium.
pub(crate) fn load(
    media: &dyn Media,
    zones: &Zones,
    superblock: &Superblock,
    rules: Rules,
) -> Result<Found, DeviceError> {
    let tag = superblock.tag();
    let place = (zones, tag, superblock.slot);
    let sum = (superblock.checkpoint_bytes, superblock.checkpoint_crc);
    let stored = checkpoint::read(media, place, sum)?;
    let mut found = Found {
        map: stored.map,
        blocks: stored.blocks,
        counters: stored.counters,
        horizons: stored.horizons,
        snapshot: stored.snapshot,
        skipped: Vec::new(),
        records: 0,
    };
    if superblock.is_clean {
        return Ok(found);
    }
    found.snapshot.clear();
    let (start, stamp) = (superblock.journal_start, superblock.stamp_start);
    let replay = Replay::read(media, zones, tag, start, stamp);
    let pages = Pages { media, zones, tag, rules };
    found.replay(&replay, stamp, pages)?;
    found.settle(zones);
    found.records = replay.records.len() as u64;
    let lost = Horizon { epoch: superblock.epoch, end: stamp + found.records };
    found.horizons.push(lost);
    let forgotten = found.horizons.len().saturating_sub(checkpoint::HORIZONS as usize);
    found.horizons.drain(..forgotten);
    Ok(found)
}

impl Found {
    /// Applies the journal. A record that was not durable counts only if its page verifies: otherwise
    /// the page keeps its old place, where the data still are.
    fn replay(&mut self, replay: &Replay, first: u64, pages: Pages<'_>) -> Result<(), DeviceError> {
        let geometry = pages.zones.geometry;
        let wrong = |what: &str| {
            DeviceError::Media(format!("the journal names {what} that does not exist"))
        };
        let mut before: Vec<Option<BlockInfo>> = vec![None; self.blocks.len()];
        let mut buffer = [0; PAGE];
        for (index, (stamp, record)) in (first..).zip(&replay.records).enumerate() {
            match *record {
                Record::Program { page, ppn, crc, class, is_copy } => {
                    let (block, offset) = geometry.place_of(ppn);
                    if block >= geometry.blocks() || offset >= geometry.pages_per_block() {
                        return Err(wrong("a place"));
                    }
                    let entry = self.map.get_mut(page as usize).ok_or_else(|| wrong("a page"))?;
                    let info = &mut self.blocks[block as usize];
                    if !info.is_written {
                        let erases = info.erases;
                        *info = BlockInfo {
                            opened: stamp,
                            changed: stamp,
                            erases,
                            next: 0,
                            class,
                            is_written: true,
                        };
                    }
                    info.next = info.next.max(offset as u16 + 1);
                    info.changed = stamp;
                    let counted = match is_copy {
                        true => &mut self.counters.copied_pages,
                        false => &mut self.counters.host_pages,
                    };
                    *counted += 1;
                    let is_certain = index < replay.durable || !pages.rules.verifies_tail;
                    let record = Some((stamp, crc));
                    let expected = Expected { page, ppn, block: info, record };
                    if is_certain || pages.read(&expected, &mut buffer).is_ok() {
                        *entry = ppn;
                    } else {
                        self.skipped.push(ppn);
                    }
                }
                Record::Trim { page, count } => {
                    let end = u64::from(page) + u64::from(count);
                    let range = self.map.get_mut(page as usize..end as usize);
                    for entry in range.ok_or_else(|| wrong("a page"))? {
                        self.counters.trimmed_pages += u64::from(*entry != UNMAPPED);
                        *entry = UNMAPPED;
                    }
                }
                Record::Erase { block } => {
                    let info =
                        self.blocks.get_mut(block as usize).ok_or_else(|| wrong("a block"))?;
                    before[block as usize] = Some(*info);
                    info.erases += 1;
                    (info.changed, info.next, info.is_written) = (stamp, 0, false);
                    self.counters.erases += 1;
                    self.counters.collections += 1;
                }
            }
        }
        self.undo_erases(&before, pages.zones)
    }

    /// A block that was erased, but from which a copy was lost, is as it was before: nothing was
    /// programmed there since, as that would have waited for a sync.
    fn undo_erases(
        &mut self,
        before: &[Option<BlockInfo>],
        zones: &Zones,
    ) -> Result<(), DeviceError> {
        for &ppn in self.map.iter().filter(|&&ppn| ppn != UNMAPPED) {
            let block = zones.geometry.place_of(ppn).0 as usize;
            let Some(info) = self.blocks.get_mut(block) else {
                return Err(DeviceError::Media("the map names a place that does not exist".into()));
            };
            if !info.is_written {
                *info = before[block].ok_or_else(|| {
                    DeviceError::Media(format!("block {block} is erased and holds a page"))
                })?;
                self.counters.erases -= 1;
            }
        }
        Ok(())
    }

    /// The offset behind the last live page of each block, and how many live pages it has.
    pub(crate) fn ends(&self, zones: &Zones) -> Vec<(u16, u16)> {
        let mut ends = vec![(0, 0); self.blocks.len()];
        for &ppn in self.map.iter().filter(|&&ppn| ppn != UNMAPPED) {
            let (block, offset) = zones.geometry.place_of(ppn);
            let (end, live) = &mut ends[block as usize];
            (*end, *live) = ((*end).max(offset as u16 + 1), *live + 1);
        }
        ends
    }

    /// Blocks that were open go on behind their last live page; what lies there is lost or dead. Those
    /// without a live page are erased.
    fn settle(&mut self, zones: &Zones) {
        let b = zones.geometry.pages_per_block();
        let ends = self.ends(zones);
        for (info, (end, _)) in self.blocks.iter_mut().zip(ends) {
            if info.is_written && u32::from(info.next) < b {
                info.next = end;
                if end == 0 {
                    info.is_written = false;
                    info.erases += 1;
                    self.counters.erases += 1;
                }
            }
        }
    }

    /// Calls `take` with the contents that a page store takes over.
    pub(crate) fn contents<T>(&self, b: u32, take: impl FnOnce(&Contents<'_>) -> T) -> T {
        let in_order = |keep: &dyn Fn(&BlockInfo) -> bool| {
            let mut blocks: Vec<BlockId> = (0..)
                .zip(&self.blocks)
                .filter(|(_, info)| keep(info))
                .map(|(block, _)| block)
                .collect();
            blocks.sort_by_key(|&block| self.blocks[block as usize].changed);
            blocks
        };
        let info = |block: BlockId| &self.blocks[block as usize];
        let mut unfinished = in_order(&|info| info.is_written && u32::from(info.next) < b);
        unfinished.sort_by_key(|&block| std::cmp::Reverse(info(block).opened));
        // Of each class the block opened last.
        let mut open: Vec<OpenBlock> = Vec::new();
        for block in unfinished {
            let &BlockInfo { class, next, .. } = info(block);
            if open.iter().all(|open| open.class != class) {
                open.push(OpenBlock { class, block, next: next.into() });
            }
        }
        let mut closed = in_order(&|info| info.is_written);
        closed.retain(|block| open.iter().all(|open| open.block != *block));
        let erased = in_order(&|info| !info.is_written);
        let erases: Vec<u32> = self.blocks.iter().map(|info| info.erases).collect();
        let classes: Vec<u8> = self.blocks.iter().map(|info| info.class).collect();
        take(&Contents {
            map: &self.map,
            erases: &erases,
            classes: &classes,
            open: &open,
            closed: &closed,
            erased: &erased,
            counters: self.counters,
        })
    }
}

/// The map from out-of-band records alone: of each page the one programmed last. Records beyond a
/// horizon and those `skipped` were lost in a crash. A discarded page may be found here: TRIMs leave
/// no such record.
///
/// # Errors
/// Those of the medium.
pub(crate) fn from_oob(
    pages: Pages<'_>,
    horizons: &[Horizon],
    skipped: &[u32],
) -> Result<Vec<u32>, DeviceError> {
    let geometry = pages.zones.geometry;
    let skipped: HashSet<u32> = skipped.iter().copied().collect();
    let mut map = vec![UNMAPPED; geometry.logical_pages() as usize];
    let mut last = vec![0u64; map.len()];
    for block in 0..geometry.blocks() {
        for offset in 0..geometry.pages_per_block() {
            let ppn = geometry.ppn(block, offset);
            let Slot::Of(found) = pages.slot(ppn)? else { continue };
            let epoch = found.stamp >> EPOCH_SHIFT;
            let is_lost =
                |horizon: &Horizon| u64::from(horizon.epoch) == epoch && found.stamp >= horizon.end;
            if horizons.iter().any(is_lost) || skipped.contains(&ppn) {
                continue;
            }
            let Some(entry) = map.get_mut(found.page as usize) else { continue };
            if *entry == UNMAPPED || found.stamp > last[found.page as usize] {
                (*entry, last[found.page as usize]) = (ppn, found.stamp);
            }
        }
    }
    Ok(map)
}
