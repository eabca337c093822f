//! A map on flash. Translation pages hold the map entries. A page operation whose map entry is not
//! in memory waits while translation pages are read and programmed on their dies.

mod at_once;

pub use at_once::BeforeTheClock;

use std::collections::VecDeque;

use flashgc_base::snapshot::{State, Value};
use flashgc_ftl::dftl::{LookUp, MapCache, endless, most_in_a_row};
use flashgc_ftl::{Counters, FtlError, MapTraffic, Stepwise};
use flashgc_workload::Op;
use hashbrown::HashMap;

use super::observer::Observer;
use super::ops::{Kind, MAP, PageOp};
use super::schedule::Scheduler;
use super::shared::Shared;

/// A translation page that is being written back.
#[derive(Value)]
struct WriteBack {
    /// The page operation that reads and programs the translation page.
    op: u32,
    /// The pages whose look-ups wait for this write.
    pages: Vec<u32>,
    /// The pages whose look-ups wait for a second write of the translation page. This write is
    /// needed if entries have changed since the program began; `None` if it is not needed.
    again: Option<Vec<u32>>,
    /// `true` if a collection that moved pages caused this write. [`Mapping::settle`] is then
    /// called after it.
    settles: bool,
}

/// The map of a drive that keeps the map on flash, with a cache of entries in memory.
///
/// Page operations of the front end go through the mapping to their dies; operations on one page
/// stay in order. The mapping also sends its own page operations, for translation pages. These have
/// the page numbers after the host's pages. The page map reports changes of places to the mapping.
/// The mapping does not know dies and requests.
///
/// Collections also move pages whose entries are not cached. Their translation pages must then be
/// written. These writes start at the end of an operation, or at an erase if no operation is under
/// way. No request waits for these writes themselves, but they keep dies busy.
#[derive(State)]
#[snapshot(named = "mapping")]
pub struct Mapping {
    #[snapshot(state)]
    cache: MapCache,
    /// The runs of entries that are being fetched, each with the operations that wait for one of its
    /// entries, in order.
    fetches: HashMap<u32, VecDeque<u32>>,
    /// The operations that read translation pages, each with the page whose entry is needed.
    reads: HashMap<u32, u32>,
    /// The translation pages that are being written back, by number.
    write_backs: HashMap<u32, WriteBack>,
    /// The number of operations of the front end that are not done.
    under_way: u64,
    /// The number of writes of translation pages for moved pages since the last operation of the
    /// front end was done.
    in_a_row: u64,
}

impl Mapping {
    /// Returns a mapping without operations. From now on `map` records which pages change their
    /// place.
    pub fn new(cache: MapCache, map: &mut dyn Stepwise) -> Self {
        map.moves().expect("a page map tells where its pages lie").follow();
        Self {
            cache,
            fetches: HashMap::new(),
            reads: HashMap::new(),
            write_backs: HashMap::new(),
            under_way: 0,
            in_a_row: 0,
        }
    }

    /// Returns the number of pages of the host. Translation pages have the numbers from there on.
    pub fn pages(&self) -> u32 {
        self.cache.pages()
    }

    /// Returns the cache of map entries, for commands before the clock starts. Reads and writes of
    /// translation pages then take no time; they go to [`BeforeTheClock`].
    pub fn cache_mut(&mut self) -> &mut MapCache {
        &mut self.cache
    }

    /// Returns the counts of the map's traffic.
    pub fn traffic(&mut self, map: &mut dyn Stepwise) -> MapTraffic {
        self.hear(map);
        self.cache.traffic()
    }

    /// Returns the counts of `map`, in which programs of translation pages count as copies.
    pub fn counters(&mut self, map: &mut dyn Stepwise) -> Counters {
        let MapTraffic { writes, .. } = self.traffic(map);
        let counters = map.counters();
        let Counters { host_pages, copied_pages, .. } = counters;
        Counters {
            host_pages: host_pages - writes,
            copied_pages: copied_pages + writes,
            ..counters
        }
    }

    /// Returns the bytes of memory that the drive needs for its map.
    pub fn map_bytes(&self) -> u64 {
        self.cache.map_bytes()
    }

    /// Checks that the map on flash, the cached entries and `map` agree.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&mut self, map: &mut dyn Stepwise) -> Result<(), String> {
        self.hear(map);
        let will_be_written = |number| {
            let is_sent = self.write_backs.contains_key(&number);
            is_sent || self.cache.is_moved(number) || map.has_ended()
        };
        self.cache.audit(|page| map.locate(page), will_be_written)
    }

    /// Sends a page operation to its die when its map entry is in memory.
    pub fn send<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, op: u32) {
        self.under_way += 1;
        let run = self.cache.run_of(shared.ops[op].page);
        match self.fetches.get_mut(&run) {
            Some(waiting) => waiting.push_back(op),
            None => self.send_in_order(shared, dies, VecDeque::from([op])),
        }
    }

    /// Takes hints of this kind on `pages`. Each takes effect when its map entry is in memory. If
    /// the drive does not use hints, nothing is looked up.
    pub fn hint<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        kind: Kind,
        pages: &[u32],
    ) {
        if shared.map.hints().is_none() {
            return;
        }
        for &page in pages {
            if kind == Kind::Tell {
                shared.expect(page);
            }
            let op = shared.ops.add(PageOp::new(MAP, page, kind), u64::MAX);
            self.send(shared, dies, op);
        }
    }

    /// Sends `op`, whose map entry is in memory, to its die. A hint does not go to a die; it takes
    /// effect here.
    fn go_on<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, op: u32) {
        let PageOp { page, kind, .. } = shared.ops[op];
        if !matches!(kind, Kind::Hint | Kind::Tell | Kind::Clean) {
            return dies.accept(shared, op);
        }
        shared.ops.remove(op);
        shared.take_late(kind, page);
        self.note_done(shared, dies);
    }

    /// Returns `true` if `op` waits here for its map entry.
    pub fn holds<O: Observer>(&self, shared: &Shared<O>, op: u32) -> bool {
        let waiting = self.fetches.get(&self.cache.run_of(shared.ops[op].page));
        waiting.is_some_and(|waiting| waiting.contains(&op))
    }

    /// Notes that a page operation which came through the mapping is done.
    pub fn note_done<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler) {
        debug_assert!(self.under_way > 0, "an operation is done once");
        self.under_way -= 1;
        self.in_a_row = 0;
        self.settle(shared, dies);
    }

    /// Notes that a block was erased. If no operation is under way, the translation pages of moved
    /// pages are written now.
    pub fn erased<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler) {
        if self.under_way == 0 {
            self.settle(shared, dies);
        }
    }

    /// Ends a page operation on a translation page. The operations that waited for it go on.
    pub fn done<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, op: u32) {
        self.hear(&mut *shared.map);
        let PageOp { page, kind, met_collection, .. } = shared.ops[op];
        shared.ops.remove(op);
        if kind == Kind::Read {
            let wanted = self.reads.remove(&op).expect("a translation page is read for a page");
            self.note_collection(shared, wanted, met_collection);
            return self.fetched(shared, dies, wanted);
        }
        let number = page - self.cache.pages();
        let ended = self.write_backs.remove(&number).expect("it was being written back");
        if let Some(pages) = ended.again {
            self.begin_write_back(shared, dies, number, pages, ended.settles);
        }
        for page in ended.pages {
            self.note_collection(shared, page, met_collection);
            self.read(shared, dies, page);
        }
        if ended.settles {
            self.settle(shared, dies);
        }
    }

    /// Checks that the drive still does other work than writes of translation pages.
    ///
    /// # Errors
    /// The drive only writes its map: each collection moves pages, and their translation pages need
    /// the next collection.
    pub fn check(&self, map: &dyn Stepwise) -> Result<(), FtlError> {
        let most = most_in_a_row(map.geometry());
        if self.in_a_row > most { Err(endless(most)) } else { Ok(()) }
    }

    /// Returns `true` if the drive does nothing any more but write its map.
    pub fn is_endless(&self, map: &dyn Stepwise) -> bool {
        self.check(map).is_err()
    }

    /// If `met`, notes that the operation that waits for the entry of `page` has met a collection.
    fn note_collection<O: Observer>(&self, shared: &mut Shared<O>, page: u32, met: bool) {
        let waiting = self.fetches.get(&self.cache.run_of(page));
        if let Some(&first) = waiting.and_then(VecDeque::front) {
            shared.ops[first].met_collection |= met;
        }
    }

    /// Learns from `map` which pages have changed their place.
    fn hear(&mut self, map: &mut dyn Stepwise) {
        self.cache.take_changes(map);
        self.cache.heed(|page| map.locate(page));
    }

    /// Looks up the entry of its page for each operation of `waiting`, in order. All these entries
    /// are in one run. An operation that finds its entry goes to its die. The first operation that
    /// misses its entry waits, and so do all operations after it.
    fn send_in_order<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        mut waiting: VecDeque<u32>,
    ) {
        self.hear(&mut *shared.map);
        while let Some(&op) = waiting.front() {
            let page = shared.ops[op].page;
            if let LookUp::Miss { write_back } = self.cache.look_up(page) {
                self.fetches.insert(self.cache.run_of(page), waiting);
                match write_back {
                    Some(number) => self.write_back(shared, dies, number, Some(page)),
                    None => self.read(shared, dies, page),
                }
                return;
            }
            waiting.pop_front();
            self.go_on(shared, dies, op);
        }
    }

    /// Notes that the run with the entry of `page` is in memory now. The operation that missed it goes
    /// to its die, and the operations that waited after that one look their entries up in turn.
    fn fetched<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, page: u32) {
        self.cache.arrived(page);
        let waiting = self.fetches.remove(&self.cache.run_of(page));
        let mut waiting = waiting.expect("an operation waits for the entry");
        if let Some(op) = waiting.pop_front() {
            self.go_on(shared, dies, op);
        }
        self.send_in_order(shared, dies, waiting);
    }

    /// Reads the translation page with the entry of `page`, if this translation page was written
    /// before. Otherwise the entry is known at once.
    fn read<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, page: u32) {
        let holder = self.cache.page_of(self.cache.number_of(page));
        if shared.map.locate(holder).is_none() {
            return self.fetched(shared, dies, page);
        }
        self.cache.count_read();
        let op = self.begin(shared, dies, holder, Kind::Read);
        self.reads.insert(op, page);
    }

    /// Writes translation page `number` back. The look-up of page `waits` waits for this write;
    /// `None` if it is written for moved pages.
    fn write_back<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        number: u32,
        waits: Option<u32>,
    ) {
        let settles = waits.is_none();
        match self.write_backs.get_mut(&number) {
            None => {
                let pages = waits.into_iter().collect();
                self.begin_write_back(shared, dies, number, pages, settles);
            }
            Some(waiting) => {
                waiting.settles |= settles;
                // A program that has not begun will still include this change.
                match shared.ops[waiting.op].is_programmed {
                    true => waiting.again.get_or_insert_default().extend(waits),
                    false => waiting.pages.extend(waits),
                }
            }
        }
    }

    /// Sends the operation that reads a translation page, if it was written before, and programs
    /// it.
    fn begin_write_back<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        number: u32,
        pages: Vec<u32>,
        settles: bool,
    ) {
        let page = self.cache.page_of(number);
        if shared.map.locate(page).is_some() {
            self.cache.count_read();
        }
        let op = self.begin(shared, dies, page, Kind::Modify);
        self.write_backs.insert(number, WriteBack { op, pages, again: None, settles });
    }

    /// Sends an operation on a translation page to its die.
    fn begin<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        page: u32,
        kind: Kind,
    ) -> u32 {
        let op = shared.ops.add(PageOp::new(MAP, page, kind), u64::MAX);
        let what = if kind == Kind::Read { Op::Read } else { Op::Write };
        shared.observer.dispatched(shared.ops.number(op), what, page);
        dies.accept(shared, op);
        op
    }

    /// Starts the writes of translation pages for pages that were moved and whose entries are not
    /// cached.
    fn settle<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler) {
        self.hear(&mut *shared.map);
        for number in self.cache.take_moved() {
            self.in_a_row += 1;
            self.write_back(shared, dies, number, None);
        }
    }
}
