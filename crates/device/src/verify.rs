//! Reads a page, and checks that it is intact and is the expected page.

use std::fmt;
use std::io;

use crate::checkpoint::BlockInfo;
use crate::layout::Zones;
use crate::media::Media;
use crate::oob::{self, Oob, Slot};

/// The marks that a page must have.
pub(crate) struct Expected<'a> {
    pub(crate) page: u32,
    pub(crate) ppn: u32,
    pub(crate) block: &'a BlockInfo,
    /// The number of the page's journal record and the check sum in it; `None` if the journal is
    /// not at hand.
    pub(crate) record: Option<(u64, u32)>,
}

/// The reason why a page is not the expected page, or not intact.
#[derive(Debug)]
pub(crate) enum Damage {
    NoRecord,
    WrongPage(u32),
    Stale,
    Data,
    /// The die that has the page is lost.
    Die,
    Io(io::Error),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRecord => f.write_str("its out-of-band record is missing or damaged"),
            Self::WrongPage(page) => write!(f, "page {page} lies in its place"),
            Self::Stale => f.write_str("old data lie in its place"),
            Self::Data => f.write_str("the data do not match their check sum"),
            Self::Die => f.write_str("its die is lost"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

/// The parts of a drive that are needed to read a page.
#[derive(Clone, Copy)]
pub(crate) struct Pages<'a> {
    pub(crate) media: &'a dyn Media,
    pub(crate) zones: &'a Zones,
    pub(crate) tag: u32,
}

impl Pages<'_> {
    /// Returns the out-of-band record of a page.
    pub(crate) fn slot(&self, ppn: u32) -> io::Result<Slot> {
        let mut bytes = [0; oob::BYTES];
        self.media.read_at(self.zones.oob(ppn), &mut bytes)?;
        Ok(Slot::decode(self.tag, ppn, &bytes))
    }

    /// Reads the expected page into `into`. Returns the page's out-of-band record. After an error,
    /// `into` holds the bytes that were read, or zeros if they could not be read.
    pub(crate) fn read(&self, expected: &Expected<'_>, into: &mut [u8]) -> Result<Oob, Damage> {
        self.media.read_at(self.zones.data(expected.ppn), into).map_err(|error| {
            into.fill(0);
            Damage::Io(error)
        })?;
        let slot = self.slot(expected.ppn).map_err(Damage::Io)?;
        self.verify(expected, slot, into)
    }

    /// Checks that the out-of-band record `slot` is that of the expected page. Returns the record.
    pub(crate) fn marked(&self, expected: &Expected<'_>, slot: Slot) -> Result<Oob, Damage> {
        let &Expected { page, block, record, .. } = expected;
        let Slot::Of(oob) = slot else { return Err(Damage::NoRecord) };
        if oob.page != page {
            return Err(Damage::WrongPage(oob.page));
        }
        let is_older = oob.stamp < block.opened;
        let is_of_other_life = oob.generation != block.erases as u16;
        let is_other = record.is_some_and(|(stamp, _)| stamp != oob.stamp);
        if is_older || is_of_other_life || is_other {
            return Err(Damage::Stale);
        }
        Ok(oob)
    }

    /// Checks that `bytes` with the out-of-band record `slot` are the expected page. Returns the
    /// record.
    pub(crate) fn verify(
        &self,
        expected: &Expected<'_>,
        slot: Slot,
        bytes: &[u8],
    ) -> Result<Oob, Damage> {
        let oob = self.marked(expected, slot)?;
        let record = expected.record;
        let sum = crc32c::crc32c(bytes);
        let is_damaged = sum != oob.data;
        let is_unnamed = record.is_some_and(|(_, expected)| expected != sum);
        if is_damaged || is_unnamed {
            return Err(Damage::Data);
        }
        Ok(oob)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::PAGE;
    use crate::media::MemMedia;
    use flashgc_base::stream::NO_STREAM;
    use flashgc_ftl::Geometry;

    /// Damage usually shows in several of the checks at once. Each check alone must find it.
    #[test]
    fn each_mark_of_a_page_is_compared() {
        let zones = Zones::new(Geometry::new(12, 5, 40).unwrap(), None, 4096, 8).unwrap();
        let media = MemMedia::new(zones.len);
        let pages = Pages { media: &media, zones: &zones, tag: 3 };
        let bytes = [7; PAGE];
        let data = crc32c::crc32c(&bytes);
        let oob = Oob {
            page: 9,
            class: 0,
            is_copy: false,
            generation: 2,
            stamp: 50,
            written_at: 1,
            stream: NO_STREAM,
            data,
        };
        let held = BlockInfo { opened: 50, erases: 2, ..BlockInfo::default() };
        let verify = |page, block: &BlockInfo, record, bytes: &[u8]| {
            pages.verify(&Expected { page, ppn: 16, block, record }, Slot::Of(oob), bytes)
        };
        let same = Some((50, data));
        assert_eq!(verify(9, &held, same, &bytes).unwrap(), oob);
        assert!(matches!(verify(8, &held, same, &bytes), Err(Damage::WrongPage(9))));
        let opened_later = BlockInfo { opened: 51, ..held };
        assert!(matches!(verify(9, &opened_later, same, &bytes), Err(Damage::Stale)));
        let erased_again = BlockInfo { erases: 3, ..held };
        assert!(matches!(verify(9, &erased_again, same, &bytes), Err(Damage::Stale)));
        assert!(matches!(verify(9, &held, Some((51, data)), &bytes), Err(Damage::Stale)));
        assert!(matches!(verify(9, &held, Some((50, !data)), &bytes), Err(Damage::Data)));
        assert!(matches!(verify(9, &held, None, &[8; PAGE]), Err(Damage::Data)));
    }
}
