//! The writes of a recovery before its checkpoint. First recovery writes again the data that it has
//! read, since they may be only in the host's memory. When these data are durable, it may write to
//! places without a live page. A crash meanwhile leaves the old superblock, and the same map.

use flashgc_base::stream::NO_STREAM;
use flashgc_ftl::UNMAPPED;

use crate::checkpoint::BlockInfo;
use crate::dies::Place;
use crate::error::DeviceError;
use crate::journal::{Journal, JournalBlock, Record};
use crate::layout::{PAGE, Zones};
use crate::media::Media;
use crate::oob::{self, Oob};
use crate::parity;
use crate::recover::Recovered;
use crate::verify::{Damage, Expected, Pages};

/// Writes the end of the journal once more, and the live pages that it names. The next sync then
/// makes them durable, even if an earlier sync failed. After a failed sync, pages may be in memory
/// alone although the system takes them for written, so that no later sync would write them.
/// Earlier journal blocks need no second write: the medium says that a sync has covered them.
///
/// # Errors
/// The errors of the medium; pages that have changed since they were read.
pub(crate) fn renew(
    media: &mut dyn Media,
    (zones, tag): (&Zones, u32),
    recovered: &mut Recovered,
) -> Result<(), DeviceError> {
    for number in recovered.tail.clone() {
        let block = JournalBlock::read(media, zones, tag, number)?;
        let block = block.ok_or_else(|| changed(&format!("journal block {number}")))?;
        renew_pages(media, (zones, tag), recovered, &block)?;
        media.write_at(zones.journal(number), &block.bytes)?;
    }
    Ok(())
}

/// Writes the pages that parity gives back to their places.
///
/// # Errors
/// The errors of the medium.
pub(crate) fn mend(
    media: &mut dyn Media,
    zones: &Zones,
    recovered: &Recovered,
) -> Result<(), DeviceError> {
    for (ppn, raw) in &recovered.mended {
        raw.write(media, zones.place(Place::Data(*ppn)))?;
    }
    Ok(())
}

/// Writes the live pages that a journal block names once more, with their out-of-band records.
fn renew_pages(
    media: &mut dyn Media,
    (zones, tag): (&Zones, u32),
    recovered: &mut Recovered,
    block: &JournalBlock,
) -> Result<(), DeviceError> {
    let mut data = [0; PAGE];
    for (stamp, record) in (block.stamp..).zip(&block.records) {
        let &Record::Program { page, ppn, crc, .. } = record else { continue };
        if recovered.store.entries().get(page as usize) != Some(&ppn) {
            continue; // it was written again, or discarded
        }
        let info = &recovered.blocks[zones.geometry.place_of(ppn).0 as usize];
        let expected = Expected { page, ppn, block: info, record: Some((stamp, crc)) };
        match (Pages { media, zones, tag }).read(&expected, &mut data) {
            Ok(oob) => {
                media.write_at(zones.data(ppn), &data)?;
                media.write_at(zones.oob(ppn), &oob.encode(zones.seal(), tag, ppn))?;
            }
            Err(Damage::Io(_)) => {} // it could not be read before either: that stays an error
            Err(_) => return Err(changed(&format!("page {page}"))),
        }
    }
    Ok(())
}

fn changed(what: &str) -> DeviceError {
    DeviceError::Media(format!("{what} changed while the drive recovered; hint: open it again"))
}

/// Makes the medium agree with what recovery has found: takes lost records away, makes room for
/// collections, and makes parity anew. With `rewrites`, writes the pages that it covers again.
///
/// # Errors
/// The errors of the medium. The drive on the medium stays the same, and the repair can be
/// repeated.
pub(crate) fn repair(
    media: &mut dyn Media,
    parts: (&Zones, u32),
    recovered: &mut Recovered,
    journal: &mut Journal,
    rewrites: bool,
) -> Result<(), DeviceError> {
    let (zones, _) = parts;
    scrub(media, zones, recovered.skipped.iter().copied())?;
    make_way(media, parts, recovered, journal)?;
    scrub(media, zones, ahead(zones, recovered))?;
    renew_parity(media, zones, recovered, rewrites)
}

/// Writes the parity of every group anew that a crash can have left half written: those that
/// recovery has noted, and those in which open blocks go on. With `rewrites`, also writes all pages of
/// these groups again, with current data or without: after a failed sync they may be in the host's
/// memory alone.
///
/// A group with a page that cannot be read keeps its parity.
///
/// # Errors
/// The errors of the medium.
fn renew_parity(
    media: &mut dyn Media,
    zones: &Zones,
    recovered: &mut Recovered,
    rewrites: bool,
) -> Result<(), DeviceError> {
    let Some(of) = zones.parity else { return Ok(()) };
    recovered.touch_open_stripes(zones);
    for (block, stripe) in std::mem::take(&mut recovered.touched) {
        let next = recovered.blocks[block as usize].next;
        for group in (0..of.pages_per_program).map(|n| stripe * of.pages_per_program + n) {
            let programmed = of.offsets(group).filter(|&offset| offset < next);
            let places = programmed.map(|offset| Place::Data(zones.geometry.ppn(block, offset)));
            let found: Option<Vec<(Place, parity::Raw)>> =
                places.map(|place| Some((place, parity::read(media, zones, place)?))).collect();
            let Some(found) = found.filter(|found| !found.is_empty()) else { continue };
            let mut sum = parity::Raw::ZEROS;
            found.iter().for_each(|(_, raw)| sum.add(&raw.bytes, &raw.record));
            let place = Place::Parity { block, group };
            if rewrites || parity::read(media, zones, place).is_none_or(|there| there != sum) {
                sum.write(media, zones.place(place))?;
            }
            for (place, raw) in found.iter().filter(|_| rewrites) {
                raw.write(media, zones.place(*place))?;
            }
        }
    }
    Ok(())
}

/// Takes the out-of-band records of places away, so that none of them is ever taken for that of a later
/// program.
fn scrub(
    media: &mut dyn Media,
    zones: &Zones,
    places: impl Iterator<Item = u32>,
) -> Result<(), DeviceError> {
    for ppn in places {
        media.write_at(zones.oob(ppn), &[0; oob::BYTES])?;
    }
    Ok(())
}

/// Returns the unwritten places of open blocks: they will be programmed before the next erase.
fn ahead<'a>(zones: &'a Zones, recovered: &'a Recovered) -> impl Iterator<Item = u32> + 'a {
    let b = zones.geometry.pages_per_block();
    let written = (0..).zip(&recovered.blocks).filter(|(_, info)| info.is_written);
    written.flat_map(move |(block, info)| {
        (info.next..b).map(move |offset| zones.geometry.ppn(block, offset))
    })
}

/// Makes room if a crash has left fewer erased blocks than a collection may need. It takes the
/// blocks with the fewest live pages, and moves these pages behind the live pages of other blocks.
///
/// There may be too few erased blocks, because lost copies use up room that the page store had
/// planned to use, and because the erase of a block is taken back if a copy from it was lost.
///
/// The old place of a page stays intact until the block there is programmed again, and such a
/// program waits for a checkpoint. So after a crash meanwhile, the map of the old superblock is
/// still right.
fn make_way(
    media: &mut dyn Media,
    parts: (&Zones, u32),
    recovered: &mut Recovered,
    journal: &mut Journal,
) -> Result<(), DeviceError> {
    let (zones, _) = parts;
    let limits = recovered.store.wear().map(|wear| wear.limits().to_vec());
    let bears = |block: usize, info: &BlockInfo| {
        limits.as_ref().is_none_or(|limits| info.erases < limits[block])
    };
    let blocks = recovered.blocks.iter().enumerate();
    let mut erased = blocks.filter(|&(block, info)| !info.is_written && bears(block, info)).count();
    while erased < recovered.store.reserved_blocks() as usize {
        let ends = recovered.ends(zones);
        let Some(source) = fewest_live(recovered, &ends) else { break };
        let live = live_pages(zones, recovered, source);
        let places = places_behind(zones, recovered, &ends, source, live.len());
        if places.len() < live.len() {
            break; // the drive opens, and says so when it cannot collect
        }
        for (page, place) in live.into_iter().zip(places) {
            move_page(media, parts, recovered, page, place, journal.take_stamp())?;
        }
        let info = &mut recovered.blocks[source];
        (info.is_written, info.next, info.changed) = (false, 0, journal.take_stamp());
        info.erases += 1;
        recovered.counters.erases += 1;
        erased += usize::from(bears(source, &recovered.blocks[source]));
    }
    Ok(())
}

/// Returns the written block with the fewest live pages.
fn fewest_live(recovered: &Recovered, ends: &[(u32, u32)]) -> Option<usize> {
    let written = (0..ends.len()).filter(|&block| recovered.blocks[block].is_written);
    written.min_by_key(|&block| ends[block].1)
}

/// Returns the logical pages whose data lie in a block.
fn live_pages(zones: &Zones, recovered: &mut Recovered, block: usize) -> Vec<u32> {
    (0..)
        .zip(recovered.store.entries().iter())
        .filter(|&(_, &ppn)| ppn != UNMAPPED && zones.geometry.place_of(ppn).0 == block as u32)
        .map(|(page, _)| page)
        .collect()
}

/// Returns up to `count` places behind the last live pages of written blocks other than `source`.
/// Blocks with the most such places come first.
fn places_behind(
    zones: &Zones,
    recovered: &Recovered,
    ends: &[(u32, u32)],
    source: usize,
    count: usize,
) -> Vec<(u32, u32)> {
    let b = zones.geometry.pages_per_block();
    let is_target = |&block: &usize| recovered.blocks[block].is_written && block != source;
    let mut targets: Vec<usize> = (0..ends.len()).filter(is_target).collect();
    targets.sort_by_key(|&block| ends[block].0);
    let room = targets.iter().map(|&block| (block as u32, ends[block].0));
    room.flat_map(|(block, end)| (end..b).map(move |offset| (block, offset))).take(count).collect()
}

/// Moves a page to a place behind the live pages of a block. A damaged page stays damaged, unless its
/// parity gives it back.
fn move_page(
    media: &mut dyn Media,
    (zones, tag): (&Zones, u32),
    recovered: &mut Recovered,
    page: u32,
    (block, offset): (u32, u32),
    stamp: u64,
) -> Result<(), DeviceError> {
    let from = recovered.store.entries()[page as usize];
    let source = &recovered.blocks[zones.geometry.place_of(from).0 as usize];
    let mut data = [0; PAGE];
    let expected = Expected { page, ppn: from, block: source, record: None };
    let pages = Pages { media, zones, tag };
    let read = pages.read(&expected, &mut data).or_else(|damage| {
        let (raw, record) = parity::given(pages, &expected).ok_or(damage)?;
        data = raw.bytes;
        Ok::<_, Damage>(record)
    });
    let sum = crc32c::crc32c(&data);
    let moment = recovered.counters.host_pages;
    let (sum, written_at, stream) = match read {
        Ok(record) => (sum, record.written_at, record.stream),
        Err(_) => (!sum, moment, NO_STREAM),
    };
    let info = &mut recovered.blocks[block as usize];
    (info.next, info.changed) = (offset + 1, stamp);
    let record = Oob {
        page,
        class: info.class,
        is_copy: true,
        generation: info.erases as u16,
        stamp,
        written_at,
        stream,
        data: sum,
    };
    let to = zones.geometry.ppn(block, offset);
    media.write_at(zones.data(to), &data)?;
    media.write_at(zones.oob(to), &record.encode(zones.seal(), tag, to))?;
    recovered.store.entries()[page as usize] = to;
    recovered.touched.extend(zones.stripe_of(to));
    recovered.counters.copied_pages += 1;
    Ok(())
}
