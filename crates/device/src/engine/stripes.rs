//! Pages of open blocks that wait to be written. Consecutive pages of a block are gathered and
//! written at once, and so are their out-of-band records.
//!
//! Behind the pages comes the parity of their groups: it covers all pages that were written, so a page
//! that was written can be lost at any time. The parity of a stripe that goes on stays in memory,
//! until the last page of the stripe.

use std::io;
use std::ops::Range;

use crate::dies::{Parity, Place};
use crate::layout::{PAGE, Zones};
use crate::media::Media;
use crate::oob::{self, Oob};
use crate::parity::{Raw, xor};

/// The pages of a stripe: 64 KiB. A stripe ends at a multiple of it, and with its block.
const PAGES: u32 = 16;

/// Consecutive pages of one block.
#[derive(Default)]
struct Stripe {
    /// The first physical page.
    ppn: u32,
    data: Vec<u8>,
    records: Vec<u8>,
}

/// The parity of a block that is being programmed, from the stripe of the first page that waits on.
struct Growing {
    block: u32,
    /// The first group.
    first: u32,
    /// The groups that have changed since they were written.
    changed: Range<u32>,
    /// A page of parity for each group, and its record.
    data: Vec<u8>,
    records: Vec<u8>,
}

/// The stripes that wait, one for each block that is being programmed.
#[derive(Default)]
pub(super) struct Stripes {
    waiting: Vec<Stripe>,
    /// The parity of the blocks that are being programmed.
    growing: Vec<Growing>,
    /// Empty stripes whose buffers are used again.
    spare: Vec<Stripe>,
}

impl Stripes {
    /// Adds the page at `ppn`, which follows the last one of its block. Returns `true` if its
    /// stripe is whole now, and is to be written.
    ///
    /// `read` reads pages of the stripe from before the drive was opened, for its parity.
    pub(super) fn add(
        &mut self,
        read: &dyn Fn(Place) -> Option<Raw>,
        (zones, tag): (&Zones, u32),
        ppn: u32,
        data: &[u8],
        record: &Oob,
    ) -> bool {
        let record = record.encode(zones.seal(), tag, ppn);
        if let Some(parity) = zones.parity {
            self.cover(read, (zones, parity), ppn, (data, &record));
        }
        let (block, offset) = zones.geometry.place_of(ppn);
        let of_block = |stripe: &Stripe| zones.geometry.place_of(stripe.ppn).0 == block;
        let index = self.waiting.iter().position(of_block).unwrap_or_else(|| {
            let stripe = self.spare.pop().unwrap_or_default();
            self.waiting.push(Stripe { ppn, ..stripe });
            self.waiting.len() - 1
        });
        let stripe = &mut self.waiting[index];
        debug_assert_eq!(stripe.ppn + stripe.pages(), ppn, "pages of a block come in order");
        stripe.data.extend_from_slice(data);
        stripe.records.extend_from_slice(&record);
        (offset + 1).is_multiple_of(PAGES) || offset + 1 == zones.geometry.pages_per_block()
    }

    /// Adds the page at `ppn` to the parity of its group.
    fn cover(
        &mut self,
        read: &dyn Fn(Place) -> Option<Raw>,
        (zones, parity): (&Zones, Parity),
        ppn: u32,
        (data, record): (&[u8], &[u8; oob::BYTES]),
    ) {
        let (block, offset) = zones.geometry.place_of(ppn);
        let (group, in_stripe) = (parity.group(offset), parity.in_stripe());
        let at = self.growing.iter().position(|growing| growing.block == block);
        let at = at.unwrap_or_else(|| {
            self.growing.push(Growing::new(block));
            self.growing.len() - 1
        });
        let growing = &mut self.growing[at];
        let (stripe, of_stripe) = (parity.stripe(offset), parity.pages_per_program);
        let end = (stripe + 1) * of_stripe;
        if growing.end() < end {
            if growing.end() < end - of_stripe {
                growing.begin(end - of_stripe);
            }
            // The stripe may have pages from before the drive was opened.
            let is_new = offset.is_multiple_of(in_stripe);
            for group in end - of_stripe..end {
                let before = || parity_before((zones, parity), (block, offset), group, read);
                let Raw { bytes, record } = if is_new { Raw::ZEROS } else { before() };
                growing.data.extend_from_slice(&bytes);
                growing.records.extend_from_slice(&record);
            }
        }
        let index = (group - growing.first) as usize;
        let page = &mut growing.data[index * PAGE..][..PAGE];
        let marks = &mut growing.records[index * oob::BYTES..][..oob::BYTES];
        if offset % in_stripe < of_stripe {
            page.copy_from_slice(data);
            marks.copy_from_slice(record);
        } else {
            xor(page, data);
            xor(marks, record);
        }
        growing.changed = match growing.changed.is_empty() {
            true => group..group + 1,
            false => growing.changed.start.min(group)..growing.changed.end.max(group + 1),
        };
    }

    /// Returns the page of parity of a group, if it is in memory.
    pub(super) fn parity(&self, block: u32, group: u32) -> Option<Raw> {
        let growing = self.growing.iter().find(|growing| growing.block == block)?;
        let index = group.checked_sub(growing.first).filter(|_| group < growing.end())? as usize;
        let mut raw = Raw::ZEROS;
        raw.bytes.copy_from_slice(&growing.data[index * PAGE..][..PAGE]);
        raw.record.copy_from_slice(&growing.records[index * oob::BYTES..][..oob::BYTES]);
        Some(raw)
    }

    /// Forgets the parity of a block that is not programmed further. Nothing of it waits.
    pub(super) fn forget(&mut self, block: u32) {
        self.growing.retain(|growing| growing.block != block);
    }

    /// Returns the page at `ppn` and its record, if the page waits.
    pub(super) fn page(&self, ppn: u32) -> Option<(&[u8], &[u8; oob::BYTES])> {
        let of_page = |stripe: &&Stripe| stripe.ppn <= ppn && ppn - stripe.ppn < stripe.pages();
        let stripe = self.waiting.iter().find(of_page)?;
        let index = (ppn - stripe.ppn) as usize;
        let record = stripe.records[index * oob::BYTES..].first_chunk()?;
        Some((&stripe.data[index * PAGE..][..PAGE], record))
    }

    /// Writes the stripe that ends with the page at `ppn`. If that fails, its pages go on waiting.
    pub(super) fn write(
        &mut self,
        media: &mut dyn Media,
        zones: &Zones,
        ppn: u32,
    ) -> io::Result<()> {
        let ends = |stripe: &Stripe| stripe.ppn + stripe.pages() == ppn + 1;
        match self.waiting.iter().position(ends) {
            Some(index) => self.write_at(media, zones, index),
            None => Ok(()),
        }
    }

    /// Writes all stripes that wait. If one fails, its pages and those of the others go on waiting.
    pub(super) fn write_all(&mut self, media: &mut dyn Media, zones: &Zones) -> io::Result<()> {
        while let Some(last) = self.waiting.len().checked_sub(1) {
            self.write_at(media, zones, last)?;
        }
        Ok(())
    }

    fn write_at(&mut self, media: &mut dyn Media, zones: &Zones, index: usize) -> io::Result<()> {
        let stripe = &self.waiting[index];
        media.write_at(zones.data(stripe.ppn), &stripe.data)?;
        media.write_at(zones.oob(stripe.ppn), &stripe.records)?;
        if let Some(parity) = zones.parity {
            let (block, offset) = zones.geometry.place_of(stripe.ppn);
            let behind = offset + stripe.pages();
            if let Some(growing) = self.growing.iter_mut().find(|growing| growing.block == block) {
                growing.write(media, zones, parity.stripe(behind) * parity.pages_per_program)?;
            }
            if behind == zones.geometry.pages_per_block() {
                self.forget(block);
            }
        }
        let mut written = self.waiting.swap_remove(index);
        written.data.clear();
        written.records.clear();
        self.spare.push(written);
        Ok(())
    }
}

/// Returns the parity of the pages of a group before `offset`: the page of parity or, if that cannot
/// be read, the sum of these pages. If one of them cannot be read either, the group has lost two pages,
/// and its parity gives none of them.
fn parity_before(
    (zones, parity): (&Zones, Parity),
    (block, offset): (u32, u32),
    group: u32,
    read: &dyn Fn(Place) -> Option<Raw>,
) -> Raw {
    if let Some(raw) = read(Place::Parity { block, group }) {
        return raw;
    }
    let mut sum = Raw::ZEROS;
    for before in parity.offsets(group).filter(|&before| before < offset) {
        if let Some(raw) = read(Place::Data(zones.geometry.ppn(block, before))) {
            sum.add(&raw.bytes, &raw.record);
        }
    }
    sum
}

impl Growing {
    fn new(block: u32) -> Self {
        Self { block, first: 0, changed: 0..0, data: Vec::new(), records: Vec::new() }
    }

    /// Returns the group behind the last one in memory.
    fn end(&self) -> u32 {
        self.first + (self.records.len() / oob::BYTES) as u32
    }

    /// Begins again with group `first`.
    fn begin(&mut self, first: u32) {
        self.data.clear();
        self.records.clear();
        (self.first, self.changed) = (first, first..first);
    }

    /// Writes the groups that have changed, and then forgets those before group `going_on`.
    fn write(&mut self, media: &mut dyn Media, zones: &Zones, going_on: u32) -> io::Result<()> {
        let Range { start, end } = self.changed;
        if start < end {
            let (first, behind) = ((start - self.first) as usize, (end - self.first) as usize);
            let (data, record) = zones.place(Place::Parity { block: self.block, group: start });
            media.write_at(data, &self.data[first * PAGE..behind * PAGE])?;
            media.write_at(record, &self.records[first * oob::BYTES..behind * oob::BYTES])?;
            self.changed = end..end;
        }
        let over = (going_on.clamp(self.first, self.end()) - self.first) as usize;
        self.data.drain(..over * PAGE);
        self.records.drain(..over * oob::BYTES);
        self.first += over as u32;
        Ok(())
    }
}

impl Stripe {
    fn pages(&self) -> u32 {
        (self.records.len() / oob::BYTES) as u32
    }
}
