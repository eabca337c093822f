//! Reads the contents of a drive from its file, without writing. The map comes from checkpoint and
//! journal; the out-of-band records are a second way to the same map.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use flashgc_base::snapshot::{FORMAT, Fault, Reader, Value};
use flashgc_ftl::{BlockId, Contents, Counters, OpenBlock, Stepwise, UNMAPPED};

use crate::checkpoint::{self, BlockInfo, CheckpointPlace, Horizon, Tables};
use crate::error::DeviceError;
use crate::journal::{JournalTail, Record};
use crate::layout::{PAGE, Zones};
use crate::mapped::Mapped;
use crate::media::Media;
use crate::oob::Slot;
use crate::parity::{self, Raw};
use crate::settings::Settings;
use crate::superblock::{EPOCH_SHIFT, Superblock};
use crate::verify::{Damage, Expected, Pages};

/// The contents of a drive, as read from its file.
pub(crate) struct Recovered {
    /// The page store. If `is_restored`, its state is that of the clean shutdown; otherwise it is
    /// new and has only the map.
    pub(crate) store: Box<dyn Stepwise>,
    pub(crate) is_restored: bool,
    pub(crate) mapped: Mapped,
    pub(crate) blocks: Vec<BlockInfo>,
    pub(crate) counters: Counters,
    pub(crate) horizons: Vec<Horizon>,
    /// The checkpoint from which everything else was read.
    pub(crate) checkpoint: CheckpointPlace,
    /// `true` if the drive was closed, so that the checkpoint holds everything.
    pub(crate) is_clean: bool,
    /// The physical pages of programs that were not durable and did not verify.
    pub(crate) skipped: Vec<u32>,
    /// Pages that are damaged on the medium, and that their parity gives back: the place of each, and
    /// what belongs there.
    pub(crate) mended: Vec<(u32, Raw)>,
    /// The stripes in which a crash can have left the parity half written: block and number. Empty
    /// without parity.
    pub(crate) touched: BTreeSet<(u32, u32)>,
    /// The number of journal records behind the checkpoint.
    pub(crate) records: u64,
    /// The numbers of the last journal blocks. Nothing on the medium says that these blocks were
    /// durable.
    pub(crate) tail: Range<u64>,
}

/// The sources from which a drive is read.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) media: &'a dyn Media,
    pub(crate) zones: &'a Zones,
    pub(crate) superblock: &'a Superblock,
    pub(crate) settings: &'a Settings,
}

/// Reads checkpoint and journal. If the current checkpoint is damaged, it reads the checkpoint
/// before, and the journal from the begin of that one on. With `restores` the state of the page
/// store is restored, if possible.
///
/// # Errors
/// Damage to checkpoint or journal that leaves the map unknown; errors of the medium.
pub(crate) fn load(sources: Sources<'_>, restores: bool) -> Result<Recovered, DeviceError> {
    let Superblock { checkpoint, before, is_clean, .. } = *sources.superblock;
    let first = match load_from(sources, checkpoint, is_clean, restores) {
        Ok(recovered) => return Ok(recovered),
        Err(error) => error,
    };
    let second = match before.map(|before| load_from(sources, before, false, restores)) {
        Some(Ok(recovered)) => return Ok(recovered),
        Some(Err(error)) => format!("; the checkpoint before: {error}"),
        None => String::new(),
    };
    let hint = "hint: check --from-oob shows what is left";
    Err(DeviceError::Media(format!(
        "{}{}; {hint}",
        message(&first),
        second.replace("media error: ", "")
    )))
}

fn message(error: &DeviceError) -> String {
    match error {
        DeviceError::Media(what) => what.clone(),
        other => other.to_string(),
    }
}

/// Reads one checkpoint, and the journal behind it unless the drive was closed.
///
/// The snapshot of the page store may be from another version of flashgc. The map is then read
/// without it, and the store begins anew, as after a crash.
fn load_from(
    sources: Sources<'_>,
    named: CheckpointPlace,
    is_clean: bool,
    restores: bool,
) -> Result<Recovered, DeviceError> {
    let has_state = restores && is_clean && named.snapshot > 0;
    match has_state.then(|| load_with(sources, named, is_clean, restores, true)) {
        Some(Ok(recovered)) => Ok(recovered),
        _ => load_with(sources, named, is_clean, restores, false),
    }
}

/// Restores the page store, if the snapshot has the format of this version and every invariant
/// holds. A check sum is not enough: anyone who can write the file can also make a matching one.
///
/// # Errors
/// A snapshot of another version, or of another store; a store that contradicts itself; errors of
/// reading.
fn restore(store: &mut dyn Stepwise, mut from: Reader<'_>) -> Result<(), Fault> {
    match u32::take(&mut from)? {
        FORMAT => {}
        _ => return Err(Fault::new("another version of flashgc wrote it")),
    }
    store.restore(&mut from)?;
    from.end()?;
    store.audit().map_err(Fault::new)
}

/// Reads one checkpoint, with the page store's snapshot if `has_state`. Unless `is_clean`, it also
/// replays the journal behind the checkpoint.
fn load_with(
    sources: Sources<'_>,
    named: CheckpointPlace,
    is_clean: bool,
    restores: bool,
    has_state: bool,
) -> Result<Recovered, DeviceError> {
    let mut recovered = read_checkpoint(sources, named, is_clean, has_state)?;
    // The state of a drive that was never opened is that of a new store, so it counts as restored.
    let is_new = is_clean && sources.superblock.power_cycles == 0;
    recovered.is_restored = has_state || (is_new && restores);
    if !is_clean {
        recovered.replay_journal(sources)?;
        recovered.note_horizon(sources.superblock.epoch);
    }
    if has_state {
        recovered.compare_maps()?;
    } else {
        recovered.mapped = Mapped::of(recovered.store.entries());
    }
    Ok(recovered)
}

/// Reads the tables of a checkpoint. With `has_state` the map is read from the snapshot of the page
/// store, and the checkpoint's map only says which pages have data. Without `has_state` the
/// checkpoint's map becomes the map of the store.
fn read_checkpoint(
    sources: Sources<'_>,
    named: CheckpointPlace,
    is_clean: bool,
    has_state: bool,
) -> Result<Recovered, DeviceError> {
    let Sources { media, zones, superblock, settings } = sources;
    let mut store = settings.build()?;
    let mut mapped = Mapped::new(zones.geometry.logical_pages());
    let place = (zones, superblock.tag());
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
    Ok(Recovered {
        store,
        is_restored: false,
        mapped,
        blocks,
        counters,
        horizons,
        checkpoint: named,
        is_clean,
        skipped: Vec::new(),
        mended: Vec::new(),
        touched: BTreeSet::new(),
        records: 0,
        tail: 0..0,
    })
}

impl Recovered {
    /// Applies the journal behind the checkpoint.
    fn replay_journal(&mut self, sources: Sources<'_>) -> Result<(), DeviceError> {
        let Sources { media, zones, superblock, .. } = sources;
        let tag = superblock.tag();
        let begin = (self.checkpoint.journal, self.checkpoint.stamp);
        let journal = JournalTail::find(media, (zones, tag), begin, superblock.durable)?;
        self.tail = journal.tail();
        let pages = Pages { media, zones, tag };
        let (before_erase, lost) = self.apply(&journal, pages)?;
        if zones.parity.is_some() && !lost.is_empty() {
            self.take_back(&journal, pages, &lost)?;
        }
        let mended: HashSet<u32> = self.mended.iter().map(|&(ppn, _)| ppn).collect();
        let lost = lost.iter().map(|lost| lost.ppn);
        self.skipped.extend(lost.filter(|ppn| !mended.contains(ppn)));
        self.undo_lost_erases(&before_erase, zones)?;
        self.rebuild_touched(pages);
        self.settle_open_blocks(zones);
        Ok(())
    }

    /// Applies the records of the journal in order. Returns the state of each erased block before
    /// its last erase.
    fn apply(
        &mut self,
        journal: &JournalTail<'_>,
        pages: Pages<'_>,
    ) -> Result<(Vec<Option<BlockInfo>>, Vec<Lost>), DeviceError> {
        let mut lost = Vec::new();
        let mut before_erase = vec![None; self.blocks.len()];
        let zones = pages.zones;
        let mut replayed = Replayed {
            pages,
            map: self.store.entries(),
            blocks: &mut self.blocks,
            before_erase: &mut before_erase,
            counters: &mut self.counters,
            lost: &mut lost,
            touched: &mut self.touched,
            buffer: [0; PAGE],
        };
        self.records = journal.each(|stamp, record, is_certain| match record {
            Record::Program { page, ppn, crc, class, is_copy } => {
                replayed.program(stamp, (page, ppn), class, is_copy)?;
                if !is_certain {
                    replayed.touched.extend(zones.stripe_of(ppn));
                }
                let is_lost = !is_certain && replayed.is_lost(stamp, (page, ppn), crc);
                match is_lost {
                    true => replayed.lost.push(Lost { stamp, page, ppn, crc }),
                    false => replayed.map[page as usize] = ppn,
                }
                Ok(())
            }
            Record::Trim { page, count, held } => replayed.trim(page, count, held),
            Record::Erase { block } => replayed.erase(stamp, block),
        })?;
        Ok((before_erase, lost))
    }

    /// Takes programs back into the map that do not verify, and that their parity gives, unless a later
    /// record has changed their page. The blocks are as the crash has left them.
    fn take_back(
        &mut self,
        journal: &JournalTail<'_>,
        pages: Pages<'_>,
        lost: &[Lost],
    ) -> Result<(), DeviceError> {
        let is_lost = |stamp: u64| lost.binary_search_by_key(&stamp, |lost| lost.stamp).is_ok();
        // The number of the last record that has certainly changed a page.
        let mut last: HashMap<u32, u64> = lost.iter().map(|lost| (lost.page, 0)).collect();
        journal.each(|stamp, record, _| {
            match record {
                Record::Program { page, .. } if !is_lost(stamp) => {
                    last.entry(page).and_modify(|last| *last = stamp);
                }
                Record::Trim { page, count, .. } => last
                    .iter_mut()
                    .filter(|&(&of, _)| of >= page && of - page < count)
                    .for_each(|(_, last)| *last = stamp),
                _ => {}
            }
            Ok(())
        })?;
        for &Lost { stamp, page, ppn, crc } in
            lost.iter().filter(|lost| lost.stamp > last[&lost.page])
        {
            let block = &self.blocks[pages.zones.geometry.place_of(ppn).0 as usize];
            let expected = Expected { page, ppn, block, record: Some((stamp, crc)) };
            if let Some((raw, _)) = parity::given(pages, &expected) {
                self.store.entries()[page as usize] = ppn;
                self.mended.push((ppn, raw));
            }
        }
        Ok(())
    }

    /// Finds the damaged pages of stripes whose parity recovery will make anew, and what that parity still
    /// gives. The blocks are as the crash has left them.
    fn rebuild_touched(&mut self, pages: Pages<'_>) {
        let zones = pages.zones;
        self.touch_open_stripes(zones);
        let mut buffer = [0; PAGE];
        let mended: HashSet<u32> = self.mended.iter().map(|&(ppn, _)| ppn).collect();
        let holders = parity::holders(zones, self.store.entries(), &self.touched);
        for (&ppn, &page) in &holders {
            let block = &self.blocks[zones.geometry.place_of(ppn).0 as usize];
            let expected = Expected { page, ppn, block, record: None };
            if !mended.contains(&ppn)
                && pages.read(&expected, &mut buffer).is_err()
                && let Some((raw, _)) = parity::given(pages, &expected)
            {
                self.mended.push((ppn, raw));
            }
        }
    }

    /// Notes the stripes in which open blocks go on.
    pub(crate) fn touch_open_stripes(&mut self, zones: &Zones) {
        let Some(parity) = zones.parity else { return };
        let b = zones.geometry.pages_per_block();
        let open = (0..).zip(&self.blocks).filter(|(_, info)| info.is_written && info.next < b);
        self.touched.extend(open.map(|(block, info)| (block, parity.stripe(info.next))));
    }

    /// Remembers up to which record the journal of the epoch went: a record behind that, in whichever place of the
    /// medium, was lost in this crash.
    fn note_horizon(&mut self, epoch: u32) {
        self.horizons.push(Horizon { epoch, end: self.checkpoint.stamp + self.records });
        let forgotten = self.horizons.len().saturating_sub(checkpoint::HORIZONS as usize);
        self.horizons.drain(..forgotten);
    }

    /// Checks that the checkpoint's own map and the snapshot have the same number of pages with
    /// data in each group.
    fn compare_maps(&mut self) -> Result<(), DeviceError> {
        let Self { mapped, store, .. } = self;
        mapped.audit(|page| store.locate(page).is_some()).map_err(DeviceError::Media)
    }

    /// Takes back the erase of a block if the copy of one of its pages was lost. Nothing was
    /// programmed into the block since, as a program there would have waited for a sync.
    fn undo_lost_erases(
        &mut self,
        before_erase: &[Option<BlockInfo>],
        zones: &Zones,
    ) -> Result<(), DeviceError> {
        for &ppn in self.store.entries().iter().filter(|&&ppn| ppn != UNMAPPED) {
            let block = zones.geometry.place_of(ppn).0 as usize;
            let Some(info) = self.blocks.get_mut(block) else {
                return Err(DeviceError::Media("the map names a place that does not exist".into()));
            };
            if !info.is_written {
                *info = before_erase[block].ok_or_else(|| {
                    DeviceError::Media(format!("block {block} is erased and holds a page"))
                })?;
                self.counters.erases -= 1;
            }
        }
        Ok(())
    }

    /// Returns, for each block, the offset behind its last live page and the number of its live
    /// pages.
    pub(crate) fn ends(&mut self, zones: &Zones) -> Vec<(u32, u32)> {
        let mut ends = vec![(0, 0); self.blocks.len()];
        for &ppn in self.store.entries().iter().filter(|&&ppn| ppn != UNMAPPED) {
            let (block, offset) = zones.geometry.place_of(ppn);
            let (end, live) = &mut ends[block as usize];
            (*end, *live) = ((*end).max(offset + 1), *live + 1);
        }
        ends
    }

    /// Lets each open block go on behind its last live page, since pages behind that are lost or
    /// invalid. An open block without a live page counts as erased.
    fn settle_open_blocks(&mut self, zones: &Zones) {
        let b = zones.geometry.pages_per_block();
        let ends = self.ends(zones);
        for (info, (end, _)) in self.blocks.iter_mut().zip(ends) {
            if info.is_written && info.next < b {
                info.next = end;
                if end == 0 {
                    info.is_written = false;
                    info.erases += 1;
                    self.counters.erases += 1;
                }
            }
        }
    }

    /// Returns the blocks that `keep` accepts, in the order of their last change.
    fn in_order(&self, keep: impl Fn(&BlockInfo) -> bool) -> Vec<BlockId> {
        let kept = (0..).zip(&self.blocks).filter(|(_, info)| keep(info));
        let mut blocks: Vec<BlockId> = kept.map(|(block, _)| block).collect();
        blocks.sort_by_key(|&block| self.blocks[block as usize].changed);
        blocks
    }

    /// Returns the open block of each class in each plane: of the blocks that are not full, the block that
    /// was opened last.
    fn open_blocks(&self, b: u32) -> Vec<OpenBlock> {
        let mut unfinished = self.in_order(|info| info.is_written && info.next < b);
        unfinished.sort_by_key(|&block| std::cmp::Reverse(self.blocks[block as usize].opened));
        let of_plane = self.blocks.len() as u32 / self.store.planes();
        let unit = |block: BlockId| (block / of_plane, self.blocks[block as usize].class);
        let mut open: Vec<OpenBlock> = Vec::new();
        for block in unfinished {
            let BlockInfo { class, next, .. } = self.blocks[block as usize];
            if open.iter().all(|open| unit(open.block) != unit(block)) {
                open.push(OpenBlock { class, block, next });
            }
        }
        open
    }

    /// Gives the map and the blocks to the page store, if it was not restored.
    ///
    /// # Errors
    /// Contents that contradict themselves.
    pub(crate) fn hold(&mut self, b: u32) -> Result<(), DeviceError> {
        if self.is_restored {
            return Ok(());
        }
        let open = self.open_blocks(b);
        let mut closed = self.in_order(|info| info.is_written);
        closed.retain(|block| open.iter().all(|open| open.block != *block));
        let erased = self.in_order(|info| !info.is_written);
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

/// A program of the journal that was not durable and does not verify. Its page keeps its old place,
/// where the data still are, unless parity gives the page.
struct Lost {
    /// The number of its record.
    stamp: u64,
    page: u32,
    ppn: u32,
    crc: u32,
}

/// The state that the records of a journal change.
struct Replayed<'a> {
    pages: Pages<'a>,
    map: &'a mut [u32],
    blocks: &'a mut [BlockInfo],
    /// The state of each erased block before its last erase.
    before_erase: &'a mut [Option<BlockInfo>],
    counters: &'a mut Counters,
    /// The programs that were not durable and do not verify, in order.
    lost: &'a mut Vec<Lost>,
    touched: &'a mut BTreeSet<(u32, u32)>,
    buffer: [u8; PAGE],
}

impl Replayed<'_> {
    /// Applies a program to the block and to the map. The block is left alone if the checkpoint
    /// includes the program already.
    fn program(
        &mut self,
        stamp: u64,
        (page, ppn): (u32, u32),
        class: u8,
        is_copy: bool,
    ) -> Result<(), DeviceError> {
        let geometry = self.pages.zones.geometry;
        let (block, offset) = geometry.place_of(ppn);
        if block >= geometry.blocks() || offset >= geometry.pages_per_block() {
            return Err(wrong("a place"));
        }
        if page as usize >= self.map.len() {
            return Err(wrong("a page"));
        }
        let info = &mut self.blocks[block as usize];
        if stamp > info.changed {
            if !info.is_written {
                info.opened = stamp;
                info.class = class;
                (info.next, info.is_written) = (0, true);
            }
            info.next = info.next.max(offset + 1);
            info.changed = stamp;
        }
        let counted = match is_copy {
            true => &mut self.counters.copied_pages,
            false => &mut self.counters.host_pages,
        };
        *counted += 1;
        Ok(())
    }

    /// Returns `true` if the program of a record that is not certainly durable does not verify: a
    /// crash has lost or torn it.
    fn is_lost(&mut self, stamp: u64, (page, ppn): (u32, u32), crc: u32) -> bool {
        let block = &self.blocks[self.pages.zones.geometry.place_of(ppn).0 as usize];
        let expected = Expected { page, ppn, block, record: Some((stamp, crc)) };
        match self.pages.read(&expected, &mut self.buffer) {
            // Where it cannot be read, nobody knows: reading it will be an error.
            Ok(_) | Err(Damage::Io(_)) => false,
            Err(_) => true,
        }
    }

    /// Discards pages.
    fn trim(&mut self, page: u32, count: u32, held: u32) -> Result<(), DeviceError> {
        let end = u64::from(page) + u64::from(count);
        let range = self.map.get_mut(page as usize..end as usize);
        range.ok_or_else(|| wrong("a page"))?.fill(UNMAPPED);
        self.counters.trimmed_pages += u64::from(held);
        Ok(())
    }

    /// Erases a block, unless the checkpoint knows that already.
    fn erase(&mut self, stamp: u64, block: u32) -> Result<(), DeviceError> {
        let info = self.blocks.get_mut(block as usize).ok_or_else(|| wrong("a block"))?;
        if stamp > info.changed {
            self.before_erase[block as usize] = Some(*info);
            info.erases += 1;
            (info.changed, info.next, info.is_written) = (stamp, 0, false);
        }
        self.counters.erases += 1;
        self.counters.collections += 1;
        Ok(())
    }
}

fn wrong(what: &str) -> DeviceError {
    DeviceError::Media(format!("the journal names {what} that does not exist"))
}

/// Returns the map made from the out-of-band records alone: for each page, the place programmed
/// last. Records beyond a horizon, and those at the places `skipped`, were lost in a crash and do
/// not count. A discarded page may still have a place, as TRIMs leave no out-of-band record.
///
/// # Errors
/// The errors of the medium.
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
            let Slot::Of(oob) = pages.slot(ppn)? else { continue };
            let epoch = oob.stamp >> EPOCH_SHIFT;
            let is_lost =
                |horizon: &Horizon| u64::from(horizon.epoch) == epoch && oob.stamp >= horizon.end;
            if horizons.iter().any(is_lost) || skipped.contains(&ppn) {
                continue;
            }
            let Some(entry) = map.get_mut(oob.page as usize) else { continue };
            let is_later = oob.stamp > last[oob.page as usize];
            if *entry == UNMAPPED || is_later {
                (*entry, last[oob.page as usize]) = (ppn, oob.stamp);
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

    /// The bytes of the snapshot would fit, so only the number of the format shows that the format
    /// is another one.
    #[test]
    fn a_snapshot_of_another_format_is_not_restored() {
        let geometry = Geometry::with_spare(20, 8, 0.3).unwrap();
        let layout = Layout { frontier: Frontier::Pool { low: 2 }, ..Layout::new(geometry) };
        let greedy = VictimSpec::parse("greedy").unwrap();
        let mut store = greedy.build(PlaneLayout::one(layout)).unwrap();
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

    /// A changed byte is detected, or changes nothing that lets a later write panic.
    #[test]
    fn no_changed_byte_of_a_snapshot_lets_a_write_panic() {
        let geometry = Geometry::with_spare(20, 8, 0.3).unwrap();
        let layout = Layout { frontier: Frontier::Pool { low: 2 }, ..Layout::new(geometry) };
        for policy in ["greedy", "fifo", "d-choices:d=4", "cost-benefit", "windowed:w=4"] {
            let victim = VictimSpec::parse(policy).unwrap();
            let make = || victim.build(PlaneLayout::one(layout.clone())).unwrap();
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
