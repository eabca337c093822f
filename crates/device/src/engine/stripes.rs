//! Pages of open blocks that wait to be written. Consecutive pages of a block are gathered and
//! written at once, and so are their out-of-band records.

use std::io;

use crate::layout::{PAGE, Zones};
use crate::media::Media;
use crate::oob::{self, Oob};

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

/// The stripes that wait, one for each block that is being programmed.
#[derive(Default)]
pub(super) struct Stripes {
    waiting: Vec<Stripe>,
    /// Empty stripes whose buffers are used again.
    spare: Vec<Stripe>,
}

impl Stripes {
    /// Adds the page at `ppn`, which follows the last one of its block. Returns `true` if its
    /// stripe is whole now, and is to be written.
    pub(super) fn add(
        &mut self,
        (zones, tag): (&Zones, u32),
        ppn: u32,
        data: &[u8],
        record: &Oob,
    ) -> bool {
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
        stripe.records.extend_from_slice(&record.encode(tag, ppn));
        (offset + 1).is_multiple_of(PAGES) || offset + 1 == zones.geometry.pages_per_block()
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
        let mut written = self.waiting.swap_remove(index);
        written.data.clear();
        written.records.clear();
        self.spare.push(written);
        Ok(())
    }
}

impl Stripe {
    fn pages(&self) -> u32 {
        (self.records.len() / oob::BYTES) as u32
    }
}
