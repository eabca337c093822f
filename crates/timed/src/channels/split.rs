//! The channel that serves each page, and the parts of a request.

use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use crate::config::Settings;
use crate::front::Shape;

/// The division of the drive's pages among channels. The pages of a channel are numbered from 0, in
/// the order of the drive. The division repeats after a number of pages, a round.
#[derive(Clone, Debug)]
pub struct PageSplit {
    unit: u64,
    /// The channel of each page of a round, and the page's number among the pages of that channel
    /// in the round.
    places: Box<[(u32, u32)]>,
    /// The logarithms to base 2 of the number of pages of a round and of a channel's pages in it,
    /// if both numbers are powers of two.
    shifts: Option<(u32, u32)>,
    /// The pages of a round, sorted by channel.
    rounds: Box<[u32]>,
    channels: u32,
}

impl PageSplit {
    /// Returns the division for a drive with a static placement.
    pub fn new(settings: &Settings) -> Self {
        let hardware = &settings.hardware;
        let per_channel = hardware.all_planes() / hardware.channels;
        let homes = settings.placement.homes(hardware);
        let mut rounds = vec![Vec::new(); hardware.channels as usize];
        let mut place = |(page, plane): (u32, &u32)| {
            let channel = plane / per_channel;
            let pages: &mut Vec<u32> = &mut rounds[channel as usize];
            pages.push(page);
            (channel, pages.len() as u32 - 1)
        };
        let places: Box<[(u32, u32)]> = (0..).zip(&homes).map(&mut place).collect();
        let (round, part) = (places.len() as u32, places.len() as u32 / hardware.channels);
        let shifts = (round.is_power_of_two() && part.is_power_of_two())
            .then(|| (round.trailing_zeros(), part.trailing_zeros()));
        Self {
            shifts,
            unit: hardware.unit_bytes().into(),
            places,
            rounds: rounds.concat().into(),
            channels: hardware.channels,
        }
    }

    /// Returns the number of channels of the drive.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Returns the number of pages of a round, and of one channel's pages in it.
    fn round(&self) -> (u32, u32) {
        let round = self.places.len() as u32;
        (round, round / self.channels)
    }

    /// Returns the channel of a page of the drive, and the page's number in the channel.
    #[inline]
    pub fn place(&self, page: u32) -> (u32, u32) {
        if let Some((round, part)) = self.shifts {
            let (channel, number) = self.places[page as usize & (self.places.len() - 1)];
            return (channel, (page >> round << part) + number);
        }
        let (round, part) = self.round();
        let (channel, number) = self.places[(page % round) as usize];
        (channel, page / round * part + number)
    }

    /// Returns the page of the drive that has number `number` in channel `channel`.
    pub fn page(&self, channel: u32, number: u32) -> u32 {
        let (round, part) = self.round();
        number / part * round + self.rounds[(channel * part + number % part) as usize]
    }

    /// Returns how many of the first `pages` pages of the drive are in a channel.
    pub fn pages(&self, channel: u32, pages: u32) -> u32 {
        let (round, part) = self.round();
        let rest = self.places[..(pages % round) as usize].iter();
        pages / round * part + rest.filter(|place| place.0 == channel).count() as u32
    }

    /// Returns the address in the drive of the byte with address `byte` in a channel.
    pub fn byte(&self, channel: u32, byte: u64) -> u64 {
        u64::from(self.page(channel, (byte / self.unit) as u32)) * self.unit + byte % self.unit
    }

    /// Returns the channel of a request on the page `page` alone, and the request with its address
    /// in the channel.
    #[inline]
    pub fn whole(&self, request: &TimedRequest, page: u32) -> (u32, TimedRequest) {
        let (channel, number) = self.place(page);
        let offset = u64::from(number) * self.unit + request.offset - u64::from(page) * self.unit;
        (channel, TimedRequest { offset, ..*request })
    }

    /// Returns the parts of a request on several pages, one for each channel. The pages of a part
    /// are contiguous in their channel. A discard has only the pages that it covers; if it covers
    /// none, its part is on its first page.
    pub fn parts(&self, request: &TimedRequest, shape: &Shape) -> Vec<(u32, TimedRequest)> {
        let covered = shape.pages_of(request).unwrap_or(0..0);
        let pages = match request.op {
            Op::Trim if covered.is_empty() => {
                let first = shape.page_of(request.offset) as u32;
                let most = self.unit - request.offset % self.unit;
                let bytes = u64::from(request.bytes).min(most) as u32;
                return vec![self.whole(&TimedRequest { bytes, ..*request }, first)];
            }
            _ => covered,
        };
        let mut parts: Vec<(u32, TimedRequest)> = Vec::new();
        for page in pages {
            let bytes = shape.bytes_in(request, page);
            let (channel, number) = self.place(page);
            let length = bytes.end - bytes.start;
            match parts.iter_mut().find(|part| part.0 == channel) {
                Some((_, part)) => part.bytes += length,
                None => {
                    let offset = u64::from(number) * self.unit + u64::from(bytes.start);
                    parts.push((channel, TimedRequest { offset, bytes: length, ..*request }));
                }
            }
        }
        parts
    }
}
