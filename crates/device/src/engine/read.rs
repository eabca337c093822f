//! Reads pages back, from the stripes that wait or from the medium. Pages that are neighbours on
//! the medium are read at once.

use super::Drive;
use crate::dies::Place;
use crate::error::DeviceError;
use crate::layout::{PAGE, Zones};
use crate::media::Media;
use crate::oob::{self, Oob, Slot};
use crate::parity::{self, Raw};
use crate::verify::{Damage, Expected, Pages};

/// The most pages that are read at once.
const AT_ONCE: u32 = 16;

/// The part of a victim that is in memory: all of its out-of-band records, and some consecutive
/// pages.
#[derive(Default)]
pub(super) struct Window {
    /// The physical page with which the block begins.
    first: u32,
    records: Vec<u8>,
    /// The physical page that `data` begins with.
    ppn: u32,
    data: Vec<u8>,
}

impl Window {
    /// Returns the page at `ppn` if the window holds it.
    pub(super) fn page(&self, ppn: u32) -> Option<&[u8]> {
        let index = ppn.checked_sub(self.ppn)? as usize;
        self.data.get(index * PAGE..(index + 1) * PAGE)
    }

    /// Returns the record at `ppn`, or `None` if the block's records could not be read.
    fn slot(&self, tag: u32, ppn: u32) -> Option<Slot> {
        slot_of(&self.records, tag, self.first, ppn)
    }
}

/// Returns the record at `ppn` among `records`. The first of these is the record at `first`.
fn slot_of(records: &[u8], tag: u32, first: u32, ppn: u32) -> Option<Slot> {
    let bytes = records.get((ppn - first) as usize * oob::BYTES..)?.first_chunk()?;
    Some(Slot::decode(tag, ppn, bytes))
}

/// Returns `true` if a page is on a die that is lost; `lost` has `true` for each such die.
fn is_lost(zones: &Zones, lost: &[bool], place: Place) -> bool {
    zones.die_of(place).and_then(|die| lost.get(die as usize)).is_some_and(|&is_lost| is_lost)
}

/// Reads a page of a group from the medium; `None` if that fails, or if its die is lost.
pub(super) fn on_medium(
    (media, zones): (&dyn Media, &Zones),
    lost: &[bool],
    place: Place,
) -> Option<Raw> {
    if is_lost(zones, lost, place) { None } else { parity::read(media, zones, place) }
}

impl Drive {
    fn pages_of_media(&self) -> Pages<'_> {
        let Self { media, zones, tag, .. } = self;
        Pages { media: media.as_ref(), zones, tag: *tag }
    }

    /// Returns the marks that a read of `page` at `ppn` must find.
    fn expected(&self, page: u32, ppn: u32) -> Expected<'_> {
        let block = &self.blocks[self.zones.geometry.place_of(ppn).0 as usize];
        Expected { page, ppn, block, record: None }
    }

    fn damaged(&mut self, page: u32, damage: &Damage) -> DeviceError {
        self.media_errors += 1;
        let beyond = match self.zones.parity {
            Some(_) => ", and its parity does not give it back",
            None => "",
        };
        DeviceError::Media(format!("page {page}: {damage}{beyond}"))
    }

    /// Begins a command: the dies that are lost now are lost until its end.
    pub(super) fn look_at_dies(&mut self) {
        if self.zones.parity.is_some() {
            self.lost.copy(&mut self.lost_now);
        }
    }

    /// Returns `true` if the page at `ppn` is on a die that is lost.
    fn is_lost(&self, ppn: u32) -> bool {
        is_lost(&self.zones, &self.lost_now, Place::Data(ppn))
    }

    /// Reads a page of a group, from memory or from the medium; `None` if that fails.
    fn raw(&self, place: Place) -> Option<Raw> {
        let in_memory = match place {
            Place::Data(ppn) => self.stripes.page(ppn).map(|(bytes, record)| {
                let mut raw = Raw::ZEROS;
                raw.add(bytes, record);
                raw
            }),
            Place::Parity { block, group } => self.stripes.parity(block, group),
        };
        in_memory.or_else(|| on_medium((self.media.as_ref(), &self.zones), &self.lost_now, place))
    }

    /// Rebuilds `page` from the rest of its group, because its place `ppn` has this damage. Without a
    /// page that is right, `into` stays as it is.
    fn mend(
        &mut self,
        page: u32,
        ppn: u32,
        into: &mut [u8],
        damage: &Damage,
    ) -> Result<Oob, DeviceError> {
        let (pages, expected) = (self.pages_of_media(), self.expected(page, ppn));
        match parity::given_by(pages, &expected, |place| self.raw(place)) {
            Some((raw, record)) => {
                into.copy_from_slice(&raw.bytes);
                self.opened.rebuilt += 1;
                Ok(record)
            }
            None => Err(self.damaged(page, damage)),
        }
    }

    /// Returns the out-of-band record of `page`, whose place is `ppn`: from the stripe that waits, from
    /// the medium or, with parity, from the rest of its group. `None` if there is no such record.
    pub(super) fn record_of(&self, page: u32, ppn: u32) -> std::io::Result<Option<Oob>> {
        let pages = self.pages_of_media();
        if let Some((_, record)) = self.stripes.page(ppn) {
            return Ok(pages
                .marked(&self.expected(page, ppn), Slot::decode(self.tag, ppn, record))
                .ok());
        }
        let found = if self.is_lost(ppn) { Ok(Slot::Blank) } else { pages.slot(ppn) };
        let marked = |slot| pages.marked(&self.expected(page, ppn), slot).ok();
        match (found, self.zones.parity) {
            (Err(error), None) => Err(error),
            (Ok(slot), None) => Ok(marked(slot)),
            (found, Some(_)) => Ok(found.ok().and_then(marked).or_else(|| {
                let next = self.expected(page, ppn).block.next;
                let raw = parity::rebuild(&self.zones, (ppn, next), |place| self.raw(place))?;
                marked(Slot::rebuilt(self.tag, ppn, &raw.record))
            })),
        }
    }

    /// Reads the bytes at `ppn` into `into`, damaged or not. Returns the out-of-band record if the
    /// bytes are those of `page` and intact.
    fn read_place(&mut self, page: u32, ppn: u32, into: &mut [u8]) -> Result<Oob, DeviceError> {
        if let Some((bytes, record)) = self.stripes.page(ppn) {
            into.copy_from_slice(bytes);
            let slot = Slot::decode(self.tag, ppn, record);
            let verified = self.pages_of_media().verify(&self.expected(page, ppn), slot, into);
            return verified.map_err(|damage| self.damaged(page, &damage));
        }
        let read = match self.is_lost(ppn) {
            true => {
                into.fill(0);
                Err(Damage::Die)
            }
            false => self.pages_of_media().read(&self.expected(page, ppn), into),
        };
        read.or_else(|damage| self.mend(page, ppn, into, &damage))
    }

    /// Reads pages from `page` on. After an error the contents of the buffer are undefined.
    pub(super) fn read_pages(&mut self, page: u32, into: &mut [u8]) -> Result<(), DeviceError> {
        let mut done = 0;
        while done * PAGE < into.len() {
            let page = page + done as u32;
            let rest = &mut into[done * PAGE..];
            let Some(ppn) = self.map.locate(page) else {
                rest[..PAGE].fill(0);
                done += 1;
                continue;
            };
            let count = self.neighbours(page, ppn, (rest.len() / PAGE) as u32) as usize;
            self.read_neighbours(page, ppn, &mut rest[..count * PAGE])?;
            done += count;
        }
        Ok(())
    }

    /// Returns how many of the `count` pages from `page` on lie one behind the other on the medium,
    /// from `ppn` on: at least 1, at most [`AT_ONCE`].
    fn neighbours(&self, page: u32, ppn: u32, count: u32) -> u32 {
        let left = self.zones.geometry.pages_per_block() - self.zones.geometry.place_of(ppn).1;
        let follows = |next: &u32| {
            self.map.locate(page + next) == Some(ppn + next)
                && self.stripes.page(ppn + next).is_none()
        };
        match self.stripes.page(ppn) {
            Some(_) => 1,
            None => 1 + (1..count.min(left).min(AT_ONCE)).take_while(follows).count() as u32,
        }
    }

    fn read_neighbours(&mut self, page: u32, ppn: u32, into: &mut [u8]) -> Result<(), DeviceError> {
        let count = into.len() / PAGE;
        if count == 1 {
            return self.read_place(page, ppn, into).map(drop);
        }
        let mut records = [0; AT_ONCE as usize * oob::BYTES];
        let records = &mut records[..count * oob::BYTES];
        let is_read = !(ppn..ppn + count as u32).any(|ppn| self.is_lost(ppn))
            && self.media.read_at(self.zones.data(ppn), into).is_ok()
            && self.media.read_at(self.zones.oob(ppn), records).is_ok();
        let first = ppn;
        for (index, into) in (0..).zip(into.chunks_mut(PAGE)) {
            let (page, ppn) = (page + index, first + index);
            match slot_of(records, self.tag, first, ppn).filter(|_| is_read) {
                Some(slot) => {
                    let expected = self.expected(page, ppn);
                    let verified = self.pages_of_media().verify(&expected, slot, into);
                    verified.or_else(|damage| self.mend(page, ppn, into, &damage))?;
                }
                None => drop(self.read_place(page, ppn, into)?),
            }
        }
        Ok(())
    }

    /// Reads the records of `block`, which is about to be collected.
    pub(super) fn look_at(&self, block: u32, window: &mut Window) {
        window.first = self.zones.first_ppn(block);
        window.data.clear();
        window.records.resize(self.zones.geometry.pages_per_block() as usize * oob::BYTES, 0);
        if self.media.read_at(self.zones.oob(window.first), &mut window.records).is_err() {
            window.records.clear();
        }
        if self.lost_now.contains(&true) {
            for (offset, record) in (0..).zip(window.records.chunks_mut(oob::BYTES)) {
                if self.is_lost(window.first + offset) {
                    record.fill(0);
                }
            }
        }
    }

    /// Reads `page`, which lies at `ppn`, into `window`, together with live pages behind it.
    /// Returns the out-of-band record of `page`, if the page is intact.
    pub(super) fn fetch(
        &mut self,
        page: u32,
        ppn: u32,
        window: &mut Window,
    ) -> Result<Oob, DeviceError> {
        if window.page(ppn).is_none() {
            let count = self.live_behind(ppn, window);
            window.ppn = ppn;
            window.data.resize(count as usize * PAGE, 0);
            if count > 1 && self.media.read_at(self.zones.data(ppn), &mut window.data).is_err() {
                window.data.truncate(PAGE);
            }
            if window.data.len() == PAGE {
                return self.read_place(page, ppn, &mut window.data);
            }
        }
        let (Some(bytes), Some(slot)) = (window.page(ppn), window.slot(self.tag, ppn)) else {
            unreachable!("several pages are read only with their records");
        };
        let verified = self.pages_of_media().verify(&self.expected(page, ppn), slot, bytes);
        let index = (ppn - window.ppn) as usize;
        let into = &mut window.data[index * PAGE..][..PAGE];
        verified.or_else(|damage| self.mend(page, ppn, into, &damage))
    }

    /// Returns the number of pages from `ppn` on to read at once: up to the last live one within
    /// [`AT_ONCE`] pages.
    fn live_behind(&self, ppn: u32, window: &Window) -> u32 {
        let left = self.zones.geometry.pages_per_block() - (ppn - window.first);
        let is_live = |next: &u32| match window.slot(self.tag, ppn + next) {
            Some(Slot::Of(oob)) => self.map.locate(oob.page) == Some(ppn + next),
            _ => false,
        };
        (1..left.min(AT_ONCE)).rev().find(is_live).map_or(1, |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use flashgc_ftl::{Fill, Frontier, Geometry, Layout, Victim, VictimSpec};

    use super::*;
    use crate::engine::Backend;
    use crate::media::MemMedia;
    use crate::settings::{Durability, Settings};

    /// All pages but one are written in turn. So a victim has no live page, except for the page
    /// that is left out. Each such page lies at the place from which the page left out before was
    /// collected.
    #[test]
    fn a_collection_reads_nothing_that_an_earlier_one_had_read() {
        let layout = Layout {
            frontier: Frontier::Pool { low: 1 },
            fill: Fill::Empty,
            ..Layout::new(Geometry::new(12, 4, 24).unwrap())
        };
        let victim = Victim::Registered(VictimSpec::parse("fifo").unwrap());
        let durability = Durability::Power;
        let settings = Settings {
            layout,
            victim,
            journal_blocks: 16,
            durability,
            streams: None,
            parity: None,
        };
        let mut media = MemMedia::new(settings.file_bytes().unwrap());
        Drive::create(&mut media, &settings, [7; 16]).unwrap();
        let mut drive = Drive::open(Box::new(media), &settings).unwrap();
        let mut held = [0; 24];
        // The page that is left out, its place, and the place of the page left out before.
        let (mut left_out, mut place, mut before, mut moved) = (Some(0), None, None, 0);
        for write in 0..24 * 200_u64 {
            let page = (write % 24) as u32;
            if write == 24 {
                place = drive.map.locate(0);
            }
            if let Some(out) = left_out
                && write > 24
                && drive.map.locate(out) != place
            {
                (left_out, before, moved) = (None, place, moved + 1);
            }
            if left_out.is_none() && drive.map.locate(page) == before {
                (left_out, place) = (Some(page), before);
            }
            if left_out == Some(page) && write >= 24 {
                continue;
            }
            let data = (write + 1).to_le_bytes().repeat(PAGE / 8);
            drive.write(page.into(), &data, false).unwrap();
            held[page as usize] = write + 1;
        }
        assert!(moved > 10, "{moved}");
        for (page, number) in (0..).zip(held) {
            let mut data = vec![0; PAGE];
            drive.read(page, &mut data).unwrap();
            assert_eq!(data, number.to_le_bytes().repeat(PAGE / 8), "page {page}");
        }
        assert_eq!(drive.stat().media_errors, 0);
    }
}
