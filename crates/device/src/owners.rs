//! The owners of a drive's pages by block: where the data of each owner lie, and from which blocks
//! they were copied.
//!
//! The module executes a recording on the page store of a drive, without data. The stream of each
//! write is the number of its owner. The page store decides as the page store of the drive did.

use std::ops::Range;
use std::path::Path;

use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_ftl::stepwise::Move;
use flashgc_ftl::{FtlError, GroupHomes, PlacementSpec, PlaneId, PlaneLayout, Stepwise};
use flashgc_workload::Op;
use flashgc_workload::trace::{DeviceNumbers, ReadOptions, Request, TraceReader};

use crate::engine::stream_of;
use crate::error::DeviceError;
use crate::repeat::pages_of;
use crate::settings::{Settings, invalid, low_of};

/// The largest number of cells. If a drive has more blocks, each cell is several blocks.
pub const MOST_CELLS: usize = 1 << 14;

/// The mark of an erased page.
const FREE: StreamId = NO_STREAM;

/// The owners and groups to count, and the recordings to execute.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// The group of each owner, by its number. An owner beyond the list is in the last group.
    pub groups: &'a [usize],
    /// The number of groups.
    pub count: usize,
    /// The numbers of page writes of the host, from 0 on. The collections that make room for these
    /// writes are counted.
    pub counted: Range<u64>,
    /// The recordings, one behind the other, that have the streams named by the host; empty if the
    /// host named no streams.
    pub recordings: &'a [&'a Path],
    /// A placement to use instead of the drive's, with the stream of each group; `None` for the
    /// drive's own placement.
    pub placement: Option<(PlacementSpec, &'a [StreamId])>,
}

/// The pages of the owners, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// The number of blocks in a cell; the last cell may have fewer.
    pub blocks_per_cell: usize,
    /// The number of pages with current data, by group and cell.
    pub live: Vec<Vec<u32>>,
    /// The number of programmed pages without current data, by cell.
    pub invalid: Vec<u32>,
    /// The number of pages with current data, by block.
    pub valid: Vec<u32>,
    /// The number of erases, by block.
    pub erases: Vec<u32>,
    /// The number of pages with current data that belong to the largest group in their block: the
    /// group with the most current pages there.
    pub purest: u64,
    /// The number of pages copied, by owner.
    pub copied_of: Vec<u64>,
    /// The number of collections that copied pages of the group, by group.
    pub victims: Vec<u64>,
    /// The number of pages copied, by their group, and then by the group with the most invalid
    /// pages in the victim. The last column is for victims without an invalid page.
    pub company: Vec<Vec<u64>>,
    /// The number of collections.
    pub collections: u64,
    /// The number of collections that copied nothing.
    pub empty: u64,
}

/// Executes the recording at `trace` of a drive with `settings`. The stream of each write is the
/// number of its owner.
///
/// # Errors
/// A recording that cannot be read, and what the drive refuses.
pub fn owned(settings: &Settings, trace: &Path, query: &Query<'_>) -> Result<Owned, DeviceError> {
    let mut reader = reader(trace)?;
    let mut drive = Followed::new(settings, query)?;
    let mut block = vec![];
    while reader.next_block(&mut block).map_err(|error| media(&error))? {
        for request in &block {
            drive.execute(request)?;
        }
    }
    Ok(drive.owned())
}

fn media(error: &dyn std::fmt::Display) -> DeviceError {
    DeviceError::Media(error.to_string())
}

fn reader(trace: &Path) -> Result<TraceReader, DeviceError> {
    let options = ReadOptions { device_numbers: DeviceNumbers::Native, ..ReadOptions::default() };
    TraceReader::open(trace, &options).map_err(|error| media(&error))
}

/// The streams of the pages that the host wrote, in the order of its writes.
struct OfHost<'a> {
    recordings: &'a [&'a Path],
    reader: Option<TraceReader>,
    block: Vec<Request>,
    /// The index of the request in `block`, and the number of its pages returned so far.
    at: (usize, u64),
}

impl OfHost<'_> {
    /// Returns the stream of the next page.
    fn next(&mut self) -> Result<StreamId, DeviceError> {
        loop {
            if let Some(request) = self.block.get(self.at.0) {
                let pages = pages_of(request);
                if request.op == Op::Write && self.at.1 < pages.end - pages.start {
                    self.at.1 += 1;
                    return Ok(request.stream);
                }
                self.at = (self.at.0 + 1, 0);
                continue;
            }
            self.at = (0, 0);
            if let Some(open) = &mut self.reader
                && open.next_block(&mut self.block).map_err(|error| media(&error))?
            {
                continue;
            }
            let Some((first, rest)) = self.recordings.split_first() else {
                return Err(media(&"the recordings have fewer writes than owners"));
            };
            self.block.clear();
            (self.reader, self.recordings) = (Some(reader(first)?), rest);
        }
    }
}

/// A page store whose pages have owners.
struct Followed<'a> {
    map: Box<dyn Stepwise>,
    homes: GroupHomes,
    settings: &'a Settings,
    query: &'a Query<'a>,
    low: u32,
    of_host: OfHost<'a>,
    /// The owner of the data of each logical page.
    owner: Vec<StreamId>,
    /// The owner of the data programmed at each physical page; [`FREE`] for an erased page.
    programmed: Vec<StreamId>,
    /// The number of programmed pages in the victim, by group.
    held: Vec<u32>,
    /// The number of pages copied from the victim, by group.
    copied: Vec<u32>,
    owned: Owned,
}

impl<'a> Followed<'a> {
    fn new(settings: &'a Settings, query: &'a Query<'a>) -> Result<Self, DeviceError> {
        let mut layout = settings.layout.clone();
        if let Some((placement, _)) = &query.placement {
            layout.placement = placement.clone();
            layout.streams = true;
        }
        let low = low_of(&layout)?;
        let (geometry, count) = (layout.geometry, query.count);
        let homes = GroupHomes::new(&layout);
        let (planes, home) = (homes.groups(), &|page| homes.of(page));
        let map = settings.victim.build(PlaneLayout { layout, planes, first: 0, home });
        let owned = Owned {
            copied_of: vec![0; usize::from(NO_STREAM) + 1],
            victims: vec![0; count],
            company: vec![vec![0; count + 1]; count],
            ..Owned::default()
        };
        let physical = u64::from(geometry.blocks()) * u64::from(geometry.pages_per_block());
        Ok(Self {
            map: map.map_err(|error| invalid(error.to_string()))?,
            homes,
            settings,
            query,
            low,
            of_host: OfHost {
                recordings: query.recordings,
                reader: None,
                block: Vec::new(),
                at: (0, 0),
            },
            owner: vec![NO_STREAM; geometry.logical_pages() as usize],
            programmed: vec![FREE; physical as usize],
            held: vec![0; count],
            copied: vec![0; count],
            owned,
        })
    }

    fn group(&self, owner: StreamId) -> usize {
        self.query.groups.get(usize::from(owner)).copied().unwrap_or(self.query.count - 1)
    }

    /// Returns the indices in `programmed` of the pages of `block`.
    fn pages_of(&self, block: u32) -> Range<usize> {
        let pages = self.map.geometry().pages_per_block() as usize;
        block as usize * pages..(block as usize + 1) * pages
    }

    /// Notes that data of `owner` are programmed at `ppn`.
    fn programs(&mut self, ppn: u32, owner: StreamId) {
        let (block, offset) = self.map.geometry().place_of(ppn);
        let at = self.pages_of(block).start + offset as usize;
        self.programmed[at] = owner;
    }

    fn execute(&mut self, request: &Request) -> Result<(), DeviceError> {
        let media = |error: FtlError| media(&error);
        for page in pages_of(request) {
            let page = page as u32;
            match request.op {
                Op::Write => {
                    let stream = self.stream(page, request.stream)?;
                    self.write(page, request.stream, stream).map_err(media)?;
                }
                Op::Trim => drop(self.map.trim(page).map_err(media)?),
                Op::Dirty => {
                    self.map.hints().map_or(Ok(()), |hints| hints.hint(&[page])).map_err(media)?
                }
                Op::Clean => {
                    self.map.hints().map_or(Ok(()), |hints| hints.cancel(&[page])).map_err(media)?
                }
                Op::Read | Op::Flush => {}
            }
        }
        Ok(())
    }

    /// Returns the stream of a write of `page` for `owner`, if the drive has streams.
    fn stream(&mut self, page: u32, owner: StreamId) -> Result<Option<StreamId>, DeviceError> {
        Ok(match (&self.query.placement, &self.settings.streams) {
            (Some((_, streams)), _) => streams.get(self.group(owner)).copied(),
            (None, Some(ranges)) => Some(stream_of(ranges, page)),
            (None, None) if self.query.recordings.is_empty() => None,
            (None, None) => Some(self.of_host.next()?),
        })
    }

    fn write(
        &mut self,
        page: u32,
        owner: StreamId,
        stream: Option<StreamId>,
    ) -> Result<(), FtlError> {
        if let (Some(stream), Some(streams)) = (stream, self.map.streams()) {
            streams.name(&[page], &[stream])?;
        }
        let plane = self.map.plane_of_write(page, self.homes.of(page), &[]);
        self.make_room(page, plane)?;
        // At the end of its life a drive writes nothing.
        if let Some(ppn) = self.map.write(page, plane)? {
            self.owner[page as usize] = owner;
            self.programs(ppn, owner);
        }
        Ok(())
    }

    /// Makes room as the engine of a stored drive does.
    fn make_room(&mut self, page: u32, plane: PlaneId) -> Result<(), FtlError> {
        while self.map.host_room(page, plane).pages == 0 && self.map.free_blocks(plane) <= self.low
        {
            self.map.close_full(page, plane);
            while !self.map.has_ended() && self.map.blocks_for_host(plane) <= self.low {
                self.collect(plane)?;
            }
            if self.map.has_ended() {
                return Ok(());
            }
            self.map.open_closed(plane);
        }
        Ok(())
    }

    fn collect(&mut self, plane: PlaneId) -> Result<(), FtlError> {
        let Some(victim) = self.map.begin_collection(plane)? else { return Ok(()) };
        let counts = self.query.counted.contains(&self.map.counters().host_pages);
        self.held.fill(0);
        self.copied.fill(0);
        for at in self.pages_of(victim.block) {
            let owner = self.programmed[at];
            if owner != FREE {
                let group = self.group(owner);
                self.held[group] += 1;
            }
        }
        while let Some(Move { page, .. }) = self.map.next_move(plane) {
            let Some(ppn) = self.map.copy(plane)? else { continue };
            let owner = self.owner[page as usize];
            self.programs(ppn, owner);
            let group = self.group(owner);
            self.copied[group] += 1;
            self.owned.copied_of[usize::from(owner)] += u64::from(counts);
        }
        let block = self.map.erase(plane);
        let pages = self.pages_of(block);
        self.programmed[pages].fill(FREE);
        if counts {
            self.note();
        }
        Ok(())
    }

    /// Notes a collection.
    fn note(&mut self) {
        let Self { held, copied, owned, .. } = self;
        owned.collections += 1;
        owned.empty += u64::from(copied.iter().all(|&pages| pages == 0));
        let invalid = || held.iter().zip(&*copied).map(|(held, copied)| held - copied);
        let most = invalid().max().unwrap_or_default();
        let company = match most {
            0 => held.len(),
            _ => invalid().position(|pages| pages == most).unwrap_or_default(),
        };
        for (group, &pages) in copied.iter().enumerate() {
            owned.victims[group] += u64::from(pages > 0);
            owned.company[group][company] += u64::from(pages);
        }
    }

    /// Counts where the data of all pages are at the end.
    fn owned(self) -> Owned {
        let geometry = *self.map.geometry();
        let blocks = geometry.blocks() as usize;
        let mut live = vec![0; blocks * self.query.count];
        for page in 0..geometry.logical_pages() {
            if let Some(ppn) = self.map.locate(page) {
                let group = self.group(self.owner[page as usize]);
                live[geometry.place_of(ppn).0 as usize * self.query.count + group] += 1;
            }
        }
        let each = blocks.div_ceil(MOST_CELLS).max(1);
        let cells = blocks.div_ceil(each);
        let mut owned = self.owned;
        owned.blocks_per_cell = each;
        owned.live = vec![vec![0; cells]; self.query.count];
        owned.invalid = vec![0; cells];
        let planes = 0..self.map.planes();
        owned.erases =
            planes.flat_map(|plane| self.map.blocks(plane).erase_counts()).copied().collect();
        let programmed = self.programmed.chunks(geometry.pages_per_block() as usize);
        for (block, (live, programmed)) in live.chunks(self.query.count).zip(programmed).enumerate()
        {
            let valid: u32 = live.iter().sum();
            let used = programmed.iter().filter(|&&owner| owner != FREE).count() as u32;
            owned.valid.push(valid);
            owned.invalid[block / each] += used - valid;
            owned.purest += u64::from(live.iter().copied().max().unwrap_or_default());
            for (cells, pages) in owned.live.iter_mut().zip(live) {
                cells[block / each] += pages;
            }
        }
        owned
    }
}
