//! Maps requests to pages, and the pages of a trace to consecutive logical pages of a drive.

use std::hash::BuildHasher;

use flashgc_base::naming::{choice, option};
use flashgc_base::spec::{SpecError, suggest};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::Request;
use crate::Op;

/// The rule by which requests become pages, and by which the number of logical pages is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paging {
    /// A request covers every page that it touches, from floor(offset / page) to ceil(end / page).
    /// The drive has room for all pages.
    #[default]
    Covered,
    /// The offset is rounded down, and the size determines the number of pages: ceil(size / page)
    /// pages from floor(offset / page) on. This is the wording of the d-choices paper (Van Houdt,
    /// ValueTools 2013, section 5).
    Rounded,
    /// The pages of [`Self::Covered`]. If the trace has x pages, the drive has U = b floor(x / b)
    /// (the same paper). Requests to the other pages are left out.
    Floor,
    /// Both rules of the paper: [`Self::Rounded`] and [`Self::Floor`].
    RoundedFloor,
}

impl Paging {
    /// The names that users type.
    pub const NAMES: [&str; 4] = ["covered", "rounded", "floor", "rounded+floor"];

    /// Parses a name. The error for an unknown name suggests the nearest one.
    pub fn parse(name: &str) -> Result<Self, SpecError> {
        let all = [Self::Covered, Self::Rounded, Self::Floor, Self::RoundedFloor];
        named(name, &Self::NAMES, &all)
    }

    /// Returns `true` if the drive leaves out the last pages of the trace that do not fill a block.
    pub fn leaves_out(self) -> bool {
        matches!(self, Self::Floor | Self::RoundedFloor)
    }

    /// Parses a name for use without a drive. Only rules with room for all pages are accepted. The
    /// error for another name suggests the nearest of these rules.
    pub fn parse_for_all_pages(name: &str) -> Result<Self, SpecError> {
        match Self::parse(name) {
            Ok(paging @ (Self::Covered | Self::Rounded)) => Ok(paging),
            _ => Err(unknown(name, &Self::NAMES[..2])),
        }
    }

    /// Returns `true` if the size of an unaligned request determines its number of pages.
    pub fn rounds(self) -> bool {
        matches!(self, Self::Rounded | Self::RoundedFloor)
    }

    /// Returns the number of logical pages of a drive with blocks of `pages_per_block` pages, for a
    /// trace of `pages` pages. The blocks are whole; they have room for all pages, or the last
    /// pages are left out.
    pub fn logical_pages(self, pages: u32, pages_per_block: u32) -> u32 {
        let block = pages_per_block.max(1);
        let floor = pages - pages % block;
        if self.leaves_out() {
            return floor;
        }
        // If the trace has nearly 2^32 pages, the number of whole blocks cannot be rounded up.
        pages.checked_next_multiple_of(block).unwrap_or(floor)
    }
}

/// The order in which the pages of a trace are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbering {
    /// Pages are numbered in the order of device and address.
    #[default]
    Address,
    /// Pages are numbered in the order in which they are first read or written.
    FirstTouch,
    /// Pages keep the page numbers of the trace's only device. The drive determines the number of
    /// logical pages.
    Given,
}

impl Numbering {
    /// The names that users type.
    pub const NAMES: [&str; 3] = ["address", "first-touch", "given"];

    /// Returns the name of the numbering.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Reads a name.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn parse(name: &str) -> Result<Self, SpecError> {
        named(name, &Self::NAMES, &[Self::Address, Self::FirstTouch, Self::Given])
    }
}

/// Returns the value with this name. The error for an unknown name suggests the nearest one.
fn named<T: Copy>(name: &str, names: &[&'static str], values: &[T]) -> Result<T, SpecError> {
    let place = names.iter().position(|known| *known == name);
    place.map(|place| values[place]).ok_or_else(|| unknown(name, names))
}

fn unknown(name: &str, names: &[&'static str]) -> SpecError {
    let expected = match names {
        [most @ .., last] if most.len() > 1 => format!("{} or {last}", most.join(", ")),
        _ => names.join(" or "),
    };
    let hint = suggest(name, names.iter().copied());
    // If the hint would only list all names, it is left out, because the message lists them
    // already.
    let is_list = hint.starts_with("known: ");
    let message = format!("found '{name}', expected {expected}");
    SpecError::new(message, if is_list { String::new() } else { hint })
}

/// The options for converting requests to pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagingOptions {
    /// The size of a page in bytes, a power of two from 512.
    pub page_size: u64,
    /// Bytes that are added to every offset first, to undo a partition that does not begin at a
    /// page boundary. It is usually a multiple of 512, for example 512 for a partition after 63
    /// sectors.
    pub alignment_offset: u32,
    /// The rule by which requests become pages, and by which the number of logical pages is
    /// computed.
    pub paging: Paging,
    /// The numbering of the pages. With `None`, the trace determines it: see
    /// [`TraceReader::numbering`](super::TraceReader::numbering).
    pub numbering: Option<Numbering>,
}

impl Default for PagingOptions {
    fn default() -> Self {
        Self { page_size: 4096, alignment_offset: 0, paging: Paging::Covered, numbering: None }
    }
}

/// A range of consecutive pages of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// The number of the device in the trace.
    pub device: u32,
    /// The first page. It is negative if the request's offset is.
    pub first: i64,
    /// The number of pages.
    pub count: u64,
}

impl PagingOptions {
    /// Returns the pages of a request. A discard covers only the pages that lie completely inside
    /// it, because the host still needs the rest of a page that is discarded in part.
    #[inline]
    pub fn pages(&self, request: &Request) -> PageRange {
        debug_assert!(self.page_size.is_power_of_two());
        let shift = self.page_size.trailing_zeros();
        // The arithmetic uses 128 bits, so that neither the alignment offset nor rounding up can
        // overflow.
        let start = i128::from(request.offset) + i128::from(self.alignment_offset);
        let end = start + i128::from(request.size);
        let up = |byte: i128| ((byte + i128::from(self.page_size) - 1) >> shift) as i64;
        let down = |byte: i128| (byte >> shift) as i64;
        let (first, last) = match (request.op, self.paging.rounds()) {
            (Op::Trim, _) => (up(start), down(end)),
            (_, false) => (down(start), up(end)),
            (_, true) => (down(start), down(start) + up(i128::from(request.size))),
        };
        let count = if request.size == 0 { 0 } else { last.saturating_sub(first).max(0) as u64 };
        PageRange { device: request.device, first, count }
    }

    /// Returns the number of bytes that a write leaves unchanged in its first and in its last page.
    /// If both are the same page, only the sum matters. If paging rounds, all unchanged bytes are
    /// in the last page. For other requests and for those without bytes, both numbers are 0.
    #[inline]
    pub fn missing(&self, request: &Request) -> (u32, u32) {
        if request.op != Op::Write || request.size == 0 {
            return (0, 0);
        }
        // The page size is a power of two, so the lower bits of an address are the byte within the
        // page.
        let below_page = |bytes: u64| (bytes & (self.page_size - 1)) as u32;
        if self.paging.rounds() {
            return (0, below_page(request.size.wrapping_neg()));
        }
        let start = (request.offset as u64).wrapping_add(self.alignment_offset.into());
        let end = start.wrapping_add(request.size);
        (below_page(start), below_page(end.wrapping_neg()))
    }
}

/// The reason why pages of a request have no numbers, and the number of that request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("request {request}: {full}")]
pub struct Unmapped {
    /// The number of the request in the trace, from 1.
    pub request: u64,
    /// The reason.
    pub full: MapFull,
}

/// The reason why a page has no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapFull {
    /// There are more distinct pages than a `u32` can number.
    #[error("the trace touches too many distinct pages, expected at most 2^32 - 1")]
    Pages,
    /// The page number is outside -2^43..2^43.
    #[error("page {0} is beyond the 2^43 pages of a device that can be mapped")]
    Address(i64),
    /// There are more than 2^20 devices.
    #[error("the trace has more than 2^20 devices")]
    Devices,
    /// There is a second device, although pages keep their numbers.
    #[error("found device {found} after device {first}, expected one: pages keep their numbers")]
    SecondDevice {
        /// The device of the first request.
        first: u32,
        /// The device of this request.
        found: u32,
    },
    /// The offset is negative, although pages keep their numbers.
    #[error("found offset {0}, expected none before byte 0: pages keep their numbers")]
    BeforeDrive(i64),
    /// The page number does not fit in a `u32`, although pages keep their numbers.
    #[error("found page {0}, expected one below 2^32 - 1: pages keep their numbers")]
    BeyondDrives(i64),
}

impl MapFull {
    /// Returns the advice to the user.
    pub(crate) fn hint(self) -> String {
        match self {
            Self::Pages => format!("a larger {}", option("page_size")),
            Self::Address(_) => format!(
                "check that its offset is in bytes and the {} is right, or a larger {}",
                option("format"),
                option("page_size")
            ),
            Self::Devices => {
                format!("check the {}, or split the trace by device", option("format"))
            }
            Self::SecondDevice { first, .. } => {
                let (device, address) = (choice("devices", first), choice("numbering", "address"));
                format!("choose one device, as {device}, or {address}")
            }
            Self::BeforeDrive(_) | Self::BeyondDrives(_) => choice("numbering", "address"),
        }
    }
}

/// Numbers the pages of a trace 0, 1, 2, ... in the order in which they are first read or written.
///
/// This map is the only structure that grows with a trace. Pages are kept in groups of eight
/// neighbours, of 40 bytes each. A hash table finds a group and needs 6 to 11.5 bytes a group. Real
/// traces touch most pages of a group: all but one of the project's seventeen public traces touch
/// more than half of them. The map thus needs 6 to 14 bytes a page, and about 50 if no page has
/// neighbours. Lists grow by a quarter at a time. The table doubles when it is full; the old table
/// then stays in memory until the new one is filled.
#[derive(Clone, Debug, Default)]
pub struct AddressMap {
    groups: Vec<Group>,
    /// Indices of `groups`, found by the hash of their key.
    table: HashTable<u32>,
    /// The number of pages numbered so far.
    pages: u32,
    slots: FxHashMap<u32, u64>,
    devices: Vec<u32>,
}

/// A group of neighbouring pages of one device.
#[derive(Clone, Debug)]
struct Group {
    /// The slot of the device and the page in one word, without the bits of the page within its
    /// group.
    key: u64,
    /// The numbers of the pages; [`NONE`] for pages that were not touched.
    numbers: [u32; GROUP],
}

const GROUP: usize = 8;
const GROUP_BITS: u32 = GROUP.trailing_zeros();
const NONE: u32 = u32::MAX;

const PAGE_BITS: u32 = 44;
const HALF: i64 = 1 << (PAGE_BITS - 1);
/// The largest number of devices. It is one less than the bits allow, so that the key after the
/// last page of a device still fits.
const MAX_DEVICES: u64 = (1 << (64 - PAGE_BITS)) - 1;

/// Appends to a list that can become very long. The list grows by a quarter at a time and does not
/// double.
#[inline]
pub(crate) fn push<T>(list: &mut Vec<T>, value: T) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 4).max(1024));
    }
    list.push(value);
}

#[inline]
fn hash(key: u64) -> u64 {
    FxBuildHasher.hash_one(key)
}

#[inline]
fn page_key(slot: u64, page: i64) -> u64 {
    slot << PAGE_BITS | (page + HALF) as u64
}

impl AddressMap {
    /// Makes an empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of distinct pages so far.
    pub fn len(&self) -> usize {
        self.pages as usize
    }

    /// Returns `true` if there are no pages yet.
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// Returns the number of bytes of memory that the map needs.
    pub fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group>() + self.table.allocation_size()
    }

    /// Returns the device and the page of each number, in the order of the numbers. They are
    /// computed, because the map does not store this inverse. [`Given`](Numbering::Given) numbers
    /// need no inverse.
    pub fn addresses(&self) -> Vec<(u32, i64)> {
        let mut addresses = vec![(0, 0); self.len()];
        for group in &self.groups {
            for (key, &number) in (group.key << GROUP_BITS..).zip(&group.numbers) {
                if let Some(address) = addresses.get_mut(number as usize) {
                    let device = self.devices[(key >> PAGE_BITS) as usize];
                    let page = (key & ((1 << PAGE_BITS) - 1)) as i64 - HALF;
                    *address = (device, page);
                }
            }
        }
        addresses
    }

    /// Numbers the pages anew. Until then the pages must have the numbers of their first touch.
    /// Returns the new number for each old number, or `None` if no number changes. Pages that keep
    /// their [`Given`](Numbering::Given) numbers must all belong to one device and fit in a `u32`.
    pub(crate) fn number(&mut self, numbering: Numbering) -> Option<Vec<u32>> {
        let numbers = match numbering {
            Numbering::FirstTouch => return None,
            Numbering::Address => self.ranks(),
            Numbering::Given => self.addresses().into_iter().map(|(_, page)| page as u32).collect(),
        };
        for number in self.groups.iter_mut().flat_map(|group| &mut group.numbers) {
            if *number != NONE {
                *number = numbers[*number as usize];
            }
        }
        Some(numbers)
    }

    /// Returns the rank of each page in the order of devices and addresses.
    fn ranks(&self) -> Vec<u32> {
        let addresses = self.addresses();
        let mut order: Vec<u32> = (0..self.pages).collect();
        order.sort_unstable_by_key(|&number| addresses[number as usize]);
        let mut ranks = vec![0; order.len()];
        for (rank, number) in (0..).zip(order) {
            ranks[number as usize] = rank;
        }
        ranks
    }

    /// Returns the number of a page; `None` if it has none.
    pub fn get(&self, device: u32, page: i64) -> Option<u32> {
        let mut number = None;
        self.known(PageRange { device, first: page, count: 1 }, |known| number = Some(known));
        number
    }

    /// Numbers those pages of a range that have no number yet. Calls `each` with the number of each
    /// page of the range, in order.
    #[inline]
    pub fn insert(&mut self, range: PageRange, mut each: impl FnMut(u32)) -> Result<(), MapFull> {
        if range.count == 0 {
            return Ok(());
        }
        let mut key = self.first_key(range)?;
        let end = key + range.count;
        let mut at = NONE;
        while key < end {
            // Groups that were first touched by the same request are neighbours in the list, and
            // are mostly touched together again. So the next group of the list is tried first: that
            // takes one comparison instead of a hash.
            at = at.wrapping_add(1);
            let group = key >> GROUP_BITS;
            if self.groups.get(at as usize).is_none_or(|next| next.key != group) {
                at = self.find_or_insert(group);
            }
            let numbers = &mut self.groups[at as usize].numbers;
            let stop = end.min((group + 1) << GROUP_BITS);
            for number in &mut numbers[within(key)..][..(stop - key) as usize] {
                if *number == NONE {
                    if self.pages == NONE {
                        return Err(MapFull::Pages);
                    }
                    *number = self.pages;
                    self.pages += 1;
                }
                each(*number);
            }
            key = stop;
        }
        Ok(())
    }

    fn first_key(&mut self, range: PageRange) -> Result<u64, MapFull> {
        let last = range.first.saturating_add_unsigned(range.count - 1);
        if range.first < -HALF || last >= HALF {
            let beyond = if last >= HALF { last } else { range.first };
            return Err(MapFull::Address(beyond));
        }
        let slot = match self.slots.get(&range.device) {
            Some(&slot) => slot,
            None => {
                let slot = self.devices.len() as u64;
                if slot == MAX_DEVICES {
                    return Err(MapFull::Devices);
                }
                self.devices.push(range.device);
                self.slots.insert(range.device, slot);
                slot
            }
        };
        Ok(page_key(slot, range.first))
    }

    fn find(&self, group: u64) -> Option<u32> {
        self.table.find(hash(group), |&at| self.groups[at as usize].key == group).copied()
    }

    /// Returns the index of a group; makes the group if it does not exist. There are at most as
    /// many groups as pages, so a `u32` can number them.
    fn find_or_insert(&mut self, group: u64) -> u32 {
        let (groups, next) = (&self.groups, self.groups.len() as u32);
        let entry = self.table.entry(
            hash(group),
            |&at| groups[at as usize].key == group,
            |&at| hash(groups[at as usize].key),
        );
        match entry {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(next);
                push(&mut self.groups, Group { key: group, numbers: [NONE; GROUP] });
                next
            }
        }
    }

    /// Calls `each` with the number of each page of a range that has one, in the order of the
    /// addresses. Returns how many pages of the range have a number.
    pub fn known(&self, range: PageRange, mut each: impl FnMut(u32)) -> u64 {
        let Some(&slot) = self.slots.get(&range.device) else { return 0 };
        let first = range.first.max(-HALF);
        let last = range.first.saturating_add_unsigned(range.count).min(HALF);
        if first >= last {
            return 0;
        }
        let (first, last) = (page_key(slot, first), page_key(slot, first) + (last - first) as u64);
        let mut numbered = 0;
        let mut hand_on = |group: &Group| {
            for (key, &number) in (group.key << GROUP_BITS..).zip(&group.numbers) {
                if number != NONE && (first..last).contains(&key) {
                    numbered += 1;
                    each(number);
                }
            }
        };
        let keys = first >> GROUP_BITS..((last - 1) >> GROUP_BITS) + 1;
        // A discard of a whole drive covers far more pages than the trace touches. Then the touched
        // groups are scanned instead.
        if keys.end - keys.start > 4 * self.groups.len() as u64 {
            let mut inside: Vec<&Group> =
                self.groups.iter().filter(|group| keys.contains(&group.key)).collect();
            inside.sort_unstable_by_key(|group| group.key);
            inside.into_iter().for_each(hand_on);
            return numbered;
        }
        let mut at = NONE;
        for key in keys {
            at = at.wrapping_add(1);
            if self.groups.get(at as usize).is_none_or(|next| next.key != key) {
                match self.find(key) {
                    Some(place) => at = place,
                    None => continue,
                }
            }
            hand_on(&self.groups[at as usize]);
        }
        numbered
    }
}

/// Returns the index of a page in its group.
#[inline]
fn within(key: u64) -> usize {
    key as usize % GROUP
}

#[cfg(test)]
mod tests {
    use flashgc_base::stream::NO_STREAM;

    use super::*;

    fn request(op: Op, offset: i64, size: u64) -> Request {
        let (stream, took_ns) = (NO_STREAM, Request::UNANSWERED);
        Request { offset, size, op, stream, took_ns, ..Request::default() }
    }

    #[test]
    fn pages_of_unaligned_requests() {
        let covered = PagingOptions::default();
        let rounded = PagingOptions { paging: Paging::Rounded, ..covered };
        let shifted = PagingOptions { alignment_offset: 512, ..covered };
        let pages = |options: &PagingOptions, op, offset, size| {
            let range = options.pages(&request(op, offset, size));
            (range.first, range.count)
        };
        // 4096 bytes from byte 3584 on touch pages 0 and 1; rounded as in the paper, they are page
        // 0. 512 bytes further on, they are exactly page 1.
        assert_eq!(pages(&covered, Op::Write, 3584, 4096), (0, 2));
        assert_eq!(pages(&rounded, Op::Write, 3584, 4096), (0, 1));
        assert_eq!(pages(&shifted, Op::Write, 3584, 4096), (1, 1));
        // A discard of bytes 1..12288 frees only pages 1 and 2. A discard inside a page frees
        // nothing.
        assert_eq!(pages(&covered, Op::Trim, 1, 12287), (1, 2));
        assert_eq!(pages(&covered, Op::Trim, 512, 1024).1, 0);
        assert_eq!(pages(&covered, Op::Read, 4096, 0).1, 0);
        assert_eq!(pages(&covered, Op::Read, -8192, 4096), (-2, 1));
        assert_eq!(pages(&covered, Op::Trim, i64::MIN, u64::MAX), (-(1 << 51), (1 << 52) - 1));
    }

    #[test]
    fn pagings_are_found_by_name() {
        let (rounded, both) = (Paging::Rounded, Paging::RoundedFloor);
        let all = [Paging::Covered, rounded, Paging::Floor, both];
        assert_eq!(Paging::NAMES.map(|name| Paging::parse(name).unwrap()), all);
        assert_eq!(
            Paging::parse("round").unwrap_err().to_string(),
            "found 'round', expected covered, rounded, floor or rounded+floor; hint: did you mean \
             'rounded'?"
        );
        assert_eq!(Paging::parse_for_all_pages("rounded"), Ok(rounded));
        assert_eq!(
            Paging::parse_for_all_pages("rounded+floor").unwrap_err().message,
            "found 'rounded+floor', expected covered or rounded"
        );
        assert_eq!(
            Numbering::parse("first").unwrap_err().message,
            "found 'first', expected address, first-touch or given"
        );
    }

    #[test]
    fn every_page_has_room_unless_floor_is_asked_for() {
        // 2174 pages in blocks of 256 pages: eight blocks have 2048 pages, nine have 2304.
        assert_eq!(
            Paging::NAMES.map(|name| Paging::parse(name).unwrap().logical_pages(2174, 256)),
            [2304, 2304, 2048, 2048]
        );
        assert_eq!(Paging::Covered.logical_pages(512, 256), 512);
        assert_eq!(Paging::Covered.logical_pages(u32::MAX, 256), u32::MAX - 255);
    }

    #[test]
    fn numbers_by_address_are_ranks_by_device_and_page() {
        let mut map = AddressMap::new();
        for (device, first, count) in [(3, 10, 2), (3, 9, 3), (1, 10, 1), (3, -5, 1)] {
            map.insert(PageRange { device, first, count }, |_| {}).unwrap();
        }
        // The pages in the order of first touch: 10, 11, 9 of device 3, 10 of device 1, -5 of
        // device 3.
        assert_eq!(map.number(Numbering::Address).unwrap(), [3, 4, 2, 0, 1]);
        assert_eq!(map.addresses(), [(1, 10), (3, -5), (3, 9), (3, 10), (3, 11)]);
        assert_eq!((map.get(3, 11), map.get(1, 10), map.get(1, 9)), (Some(4), Some(0), None));
    }

    #[test]
    fn pages_are_numbered_in_order_of_first_access_by_device() {
        let mut map = AddressMap::new();
        let mut numbers = Vec::new();
        for (device, first, count) in [(3, 10, 2), (3, 9, 3), (7, 10, 1), (3, -5, 1)] {
            map.insert(PageRange { device, first, count }, |number| numbers.push(number)).unwrap();
        }
        assert_eq!(numbers, [0, 1, 2, 0, 1, 3, 4]);
        assert_eq!(map.addresses(), [(3, 10), (3, 11), (3, 9), (7, 10), (3, -5)]);
        assert_eq!(map.len(), 5);
        assert_eq!((map.get(3, 11), map.get(7, 11), map.get(4, 10)), (Some(1), None, None));
    }

    #[test]
    fn known_pages_come_in_order_of_address_however_long_the_range() {
        let mut map = AddressMap::new();
        for first in [50, 7, 20, 8] {
            map.insert(PageRange { device: 0, first, count: 1 }, |_| {}).unwrap();
        }
        for count in [14, 44, 1 << 40, u64::MAX] {
            let mut numbers = Vec::new();
            let known = map.known(PageRange { device: 0, first: 7, count }, |n| numbers.push(n));
            let expected: &[u32] = if count == 14 { &[1, 3, 2] } else { &[1, 3, 2, 0] };
            assert_eq!((numbers.as_slice(), known), (expected, expected.len() as u64), "{count}");
        }
    }

    #[test]
    fn addresses_out_of_range_are_refused() {
        let mut map = AddressMap::new();
        let range = PageRange { device: 0, first: HALF, count: 1 };
        assert_eq!(map.insert(range, |_| {}), Err(MapFull::Address(HALF)));
        let range = PageRange { device: 0, first: HALF - 1, count: 1 };
        assert_eq!(map.insert(range, |_| {}), Ok(()));
        assert_eq!(map.get(0, i64::MAX), None);
    }
}
