//! The contents of a drive, read from its file. Checkpoint and journal are the authority; the
//! out-of-band records are a second way to the same map. Nothing here writes.

use std::collections::HashSet;
use std::ops::Range;

use flashgc_base::snapshot::{FORMAT, Fault, Reader, Value};
use flashgc_ftl::{BlockId, Contents, Counters, OpenBlock, Stepwise, UNMAPPED};

use crate::checkpoint::{self, BlockInfo, Horizon, Named, Tables};
use crate::error::DeviceError;
use crate::journal::{Record, Replay};
use crate::layout::{PAGE, Zones};
use crate::mapped::Mapped;
use crate::media::Media;
use crate::oob::Slot;
use crate::settings::Settings;
use crate::superblock::{EPOCH_SHIFT, Superblock};
use crate::verify::{Damage, Expected, Pages};

/// The contents that were found.
pub(crate) struct Found {
    /// The page store: as it was where `is_restored`, otherwise new, with the map in its entries.
    pub(crate) store: Box<dyn Stepwise>,
    pub(crate) is_restored: bool,
    pub(crate) mapped: Mapped,
    pub(crate) blocks: Vec<BlockInfo>,
    pub(crate) counters: Counters,
    pub(crate) horizons: Vec<Horizon>,
    /// The checkpoint from which everything else was read.
    pub(crate) checkpoint: Named,
    /// `true` if the drive was closed, and that checkpoint holds everything.
    pub(crate) is_clean: bool,
    /// The places of records that were not durable, and whose pages did not verify.
    pub(crate) skipped: Vec<u32>,
    /// The number of journal records behind the checkpoint.
    pub(crate) records: u64,
    /// The journal blocks that nothing says to be durable.
    pub(crate) tail: Range<u64>,
}

/// The sources from which a drive is read.
#[derive(Clone, Copy)]
pub(crate) struct Drive<'a> {
    pub(crate) media: &'a dyn Media,
    pub(crate) zones: &'a Zones,
    pub(crate) superblock: &'a Superblock,
    pub(crate) settings: &'a Settings,
}

/// Reads checkpoint and journal. If the checkpoint that counts is damaged, it reads the one before and
/// the journal from that one's begin on. With `restores` the page store is restored, where it can be.
///
/// # Errors
/// Damage to either that leaves the map unknown; those of the medium.
pub(crate) fn load(drive: Drive<'_>, restores: bool) -> Result<Found, DeviceError> {
    let Superblock { checkpoint, before, is_clean, .. } = *drive.superblock;
    let first = match load_from(drive, checkpoint, is_clean, restores) {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    let second = match before.map(|before| load_from(drive, before, false, restores)) {
        Some(Ok(found)) => return Ok(found),
        Some(Err(error)) => format!("; the checkpoint before: {error}"),
        None => String::new(),
    };
    let hint = "hint: check --from-oob shows what is left";
    Err(DeviceError::Media(format!(
        "{}{}; {hint}",
        told(&first),
        second.replace("media error: ", "")
    )))
}

fn told(error: &DeviceError) -> String {
    match error {
        DeviceError::Media(what) => what.clone(),
        other => other.to_string(),
    }
}

/// Reads one checkpoint, and the journal behind it unless the drive was closed.
///
/// The snapshot of the page store may come from another version of flashgc. The map needs none, so the
/// store then begins anew, as after a crash.
fn load_from(
    drive: Drive<'_>,
    named: Named,
    is_clean: bool,
    restores: bool,
) -> Result<Found, DeviceError> {
    let has_state = restores && is_clean && named.snapshot > 0;
    match has_state.then(|| load_with(drive, named, is_clean, restores, true)) {
        Some(Ok(found)) => Ok(found),
        _ => load_with(drive, named, is_clean, restores, false),
    }
}

/// Restores the page store, if the snapshot has the format of this version and every invariant holds: whoever can write
/// a file can sign a snapshot.
///
/// # Errors
/// A snapshot of another version, or of another store; a store that contradicts itself; those of reading.
fn restore(store: &mut dyn Stepwise, mut from: Reader<'_>) -> Result<(), Fault> {
    match u32::take(&mut from)? {
        FORMAT => {}
        _ => return Err(Fault::new("another version of flashgc wrote it")),
    }
    store.restore(&mut from)?;
    from.end()?;
    store.audit().map_err(Fault::new)
}

fn load_with(
    drive: Drive<'_>,
    named: Named,
    is_clean: bool,
    restores: bool,
    has_state: bool,
) -> Result<Found, DeviceError> {
    let Drive { media, zones, superblock, settings } = drive;
    let mut store = settings.build()?;
    let mut mapped = Mapped::new(zones.geometry.logical_pages());
    let tag = superblock.tag();
    let place = (zones, tag);
    // A new drive's store is as it was made.
    let is_new = is_clean && superblock.power_cycles == 0;
    let tables = if has_state {
        let count = |first, entries: &[u32]| mapped.set(first, entries);
        checkpoint::read(media, place, &named, count, |from, bytes| {
            let restored = restore(&mut *store, Reader::new(from, bytes));
            restored.map_err(|fault| format!("the page store's snapshot: {fault}"))
        })?
    } else {
        let entries = store.entries();
        let hold = |first: u32, held: &[u32]| {
            entries[first as usize..][..held.len()].copy_from_slice(held);
        };
        checkpoint::read(media, place, &named, hold, checkpoint::pass_over)?
    };
    let Tables { blocks, counters, horizons } = tables;
    let mut found = Found {
        store,
        is_restored: has_state || (is_new && restores),
        mapped,
        blocks,
        counters,
        horizons,
        checkpoint: named,
        is_clean,
        skipped: Vec::new(),
        records: 0,
        tail: 0..0,
    };
    if !is_clean {
        let begin = (named.journal, named.stamp);
        let replay = Replay::find(media, place, begin, superblock.durable)?;
        found.replay(&replay, Pages { media, zones, tag })?;
        found.tail = replay.tail();
        let lost = Horizon { epoch: superblock.epoch, end: named.stamp + found.records };
        found.horizons.push(lost);
        let forgotten = found.horizons.len().saturating_sub(checkpoint::HORIZONS as usize);
        found.horizons.drain(..forgotten);
    }
    if has_state {
        // The checkpoint's own map, and that of the snapshot.
        let audited = found.mapped.audit(|page| found.store.locate(page).is_some());
        audited.map_err(DeviceError::Media)?;
    } else {
        found.mapped = Mapped::of(found.store.entries());
    }
    Ok(found)
}

impl Found {
    /// Applies the journal. A record that was not durable counts only if its page verifies: otherwise
    /// the page keeps its old place, where the data still are.
    fn replay(&mut self, replay: &Replay<'_>, pages: Pages<'_>) -> Result<(), DeviceError> {
        let geometry = pages.zones.geometry;
        let wrong = |what: &str| {
            DeviceError::Media(format!("the journal names {what} that does not exist"))
        };
        let mut before: Vec<Option<BlockInfo>> = vec![None; self.blocks.len()];
        let mut buffer = [0; PAGE];
        let Self { store, blocks, counters, skipped, .. } = self;
        let map = store.entries();
        let records = replay.each(|stamp, record, is_certain| {
            match record {
                Record::Program { page, ppn, crc, class, is_copy } => {
                    let (block, offset) = geometry.place_of(ppn);
                    if block >= geometry.blocks() || offset >= geometry.pages_per_block() {
                        return Err(wrong("a place"));
                    }
                    let entry = map.get_mut(page as usize).ok_or_else(|| wrong("a page"))?;
                    let info = &mut blocks[block as usize];
                    if stamp > info.changed {
                        if !info.is_written {
                            info.opened = stamp;
                            info.class = class;
                            (info.next, info.is_written) = (0, true);
                        }
                        info.next = info.next.max(offset as u16 + 1);
                        info.changed = stamp;
                    }
                    let counted = match is_copy {
                        true => &mut counters.copied_pages,
                        false => &mut counters.host_pages,
                    };
                    *counted += 1;
                    let record = Some((stamp, crc));
                    let expected = Expected { page, ppn, block: info, record };
                    let is_lost = !is_certain
                        && match pages.read(&expected, &mut buffer) {
                            // Where it cannot be read, nobody knows: reading it will be an error.
                            Ok(_) | Err(Damage::Io(_)) => false,
                            Err(_) => true,
                        };
                    if is_lost {
                        skipped.push(ppn);
                    } else {
                        *entry = ppn;
                    }
                }
                Record::Trim { page, count, held } => {
                    let end = u64::from(page) + u64::from(count);
                    let range = map.get_mut(page as usize..end as usize);
                    range.ok_or_else(|| wrong("a page"))?.fill(UNMAPPED);
                    counters.trimmed_pages += u64::from(held);
                }
                Record::Erase { block } => {
                    let info = blocks.get_mut(block as usize).ok_or_else(|| wrong("a block"))?;
                    if stamp > info.changed {
                        before[block as usize] = Some(*info);
                        info.erases += 1;
                        (info.changed, info.next, info.is_written) = (stamp, 0, false);
                    }
                    counters.erases += 1;
                    counters.collections += 1;
                }
            }
            Ok(())
        })?;
        self.records = records;
        self.undo_erases(&before, pages.zones)?;
        self.settle(pages.zones);
        Ok(())
    }

    /// Takes back the erase of blocks from which a copy was lost. Nothing was programmed there since,
    /// as that would have waited for a sync.
    fn undo_erases(
        &mut self,
        before: &[Option<BlockInfo>],
        zones: &Zones,
    ) -> Result<(), DeviceError> {
        for &ppn in self.store.entries().iter().filter(|&&ppn| ppn != UNMAPPED) {
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

    /// Returns the offset behind the last live page of each block, and the number of its live pages.
    pub(crate) fn ends(&mut self, zones: &Zones) -> Vec<(u16, u16)> {
        let mut ends = vec![(0, 0); self.blocks.len()];
        for &ppn in self.store.entries().iter().filter(|&&ppn| ppn != UNMAPPED) {
            let (block, offset) = zones.geometry.place_of(ppn);
            let (end, live) = &mut ends[block as usize];
            (*end, *live) = ((*end).max(offset as u16 + 1), *live + 1);
        }
        ends
    }

    /// Puts open blocks back behind their last live page: what lies there is lost or dead. Those
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

    /// Lets the page store take over what was found, where it was not restored.
    ///
    /// # Errors
    /// Contents that contradict themselves.
    pub(crate) fn hold(&mut self, b: u32) -> Result<(), DeviceError> {
        if self.is_restored {
            return Ok(());
        }
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
        // The block of each class that was opened last.
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
        let held = self.store.hold(&Contents {
            map: None,
            erases: &erases,
            classes: &classes,
            open: &open,
            closed: &closed,
            erased: &erased,
            counters: self.counters,
        });
        let held = held.map_err(|fault| fault.to_string()).and_then(|()| self.store.audit());
        held.map_err(|why| DeviceError::Media(format!("the map contradicts itself: {why}")))
    }
}

/// Returns the map by the out-of-band records alone: for each page, the place programmed last. Records
/// beyond a horizon and those `skipped` were lost in a crash. A discarded page may be found here, as
/// TRIMs leave no such record.
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
            let is_later = found.stamp > last[found.page as usize];
            if *entry == UNMAPPED || is_later {
                (*entry, last[found.page as usize]) = (ppn, found.stamp);
            }
        }
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use flashgc_base::snapshot::Writer;
    use flashgc_ftl::{Frontier, Geometry, Layout, PlaneLayout, VictimSpec};

    use super::*;

    /// The only plane of a stored drive.
    const PLANE: u32 = 0;

    /// The bytes fit, so the number alone tells that they mean something else.
    #[test]
    fn a_snapshot_of_another_format_is_not_restored() {
        let geometry = Geometry::with_spare(20, 8, 0.3).unwrap();
        let layout = Layout { frontier: Frontier::Pool { low: 2 }, ..Layout::new(geometry) };
        let greedy = VictimSpec::parse("greedy").unwrap();
        let mut store = greedy.build_stepwise(PlaneLayout::one(layout)).unwrap();
        let mut restored = |format: u32| {
            let mut bytes = Vec::new();
            let mut to = Writer::new(&mut bytes);
            format.put(&mut to);
            store.save(&mut to);
            to.finish().unwrap();
            let count = bytes.len() as u64;
            restore(&mut *store, Reader::new(&mut bytes.as_slice(), count))
        };
        assert_eq!(restored(FORMAT), Ok(()));
        let fault = Fault::new("another version of flashgc wrote it");
        assert_eq!([FORMAT - 1, FORMAT + 1].map(restored), [Err(fault.clone()), Err(fault)]);
    }

    /// A changed byte is found, or changes nothing by which a write could fail.
    #[test]
    fn no_changed_byte_of_a_snapshot_lets_a_write_panic() {
        let geometry = Geometry::with_spare(20, 8, 0.3).unwrap();
        let layout = Layout { frontier: Frontier::Pool { low: 2 }, ..Layout::new(geometry) };
        for policy in ["greedy", "fifo", "d-choices:d=4", "cost-benefit", "windowed:w=4"] {
            let victim = VictimSpec::parse(policy).unwrap();
            let make = || victim.build_stepwise(PlaneLayout::one(layout.clone())).unwrap();
            let mut store = make();
            let pages = geometry.logical_pages();
            for write in 0..4 * pages {
                store.write_at_once(write * 7 % pages, PLANE, 2, 2).unwrap();
            }
            let mut bytes = Vec::new();
            let mut to = Writer::new(&mut bytes);
            FORMAT.put(&mut to);
            store.save(&mut to);
            to.finish().unwrap();
            let mut refused = 0;
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 8);
                let mut store = make();
                let mut from = changed.as_slice();
                if restore(&mut *store, Reader::new(&mut from, bytes.len() as u64)).is_err() {
                    refused += 1;
                    continue;
                }
                for page in 0..2 * pages {
                    let _ = store.write_at_once(page * 5 % pages, PLANE, 2, 2);
                }
            }
            assert!(refused > bytes.len() / 2, "{policy}: {refused} of {}", bytes.len());
        }
    }
}
