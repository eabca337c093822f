//! A map on flash: page operations whose map entry is not in memory wait while translation pages are
//! read and programmed on their dies.

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
    /// The page operation that reads and programs it.
    op: u32,
    /// The pages whose look-ups wait for it.
    pages: Vec<u32>,
    /// The pages whose look-ups wait for another write of it. `None` unless it is to be written once
    /// more, as entries have changed since it was programmed.
    again: Option<Vec<u32>>,
    /// `true` if pages were moved: after this write the map is brought up to date again.
    settles: bool,
}

/// The map of a drive that keeps it on flash, with the entries in use in memory.
///
/// Page operations of the front end go through it to their dies, in order for each page. It sends
/// page operations of its own there, for translation pages, which lie behind the host's pages. The
/// page map reports changes of pages to it; it knows no dies and no requests.
///
/// Collections move pages whose entries are not cached. The end of an operation, or an erase while
/// none is under way, starts the writes of their translation pages. No request waits for these
/// writes, only for their dies.
#[derive(State)]
#[snapshot(named = "mapping")]
pub struct Mapping {
    #[snapshot(state)]
    cache: MapCache,
    /// The pages whose entries are on their way, with the operations that wait for them, in order.
    fetches: HashMap<u32, VecDeque<u32>>,
    /// The operations that read translation pages, with the page whose entry is wanted.
    reads: HashMap<u32, u32>,
    /// The translation pages that are being written back.
    write_backs: HashMap<u32, WriteBack>,
    /// The number of operations of the front end that are not done.
    under_way: u64,
    /// The number of translation pages that were to be written because pages were moved, since an
    /// operation was done.
    in_a_row: u64,
}

impl Mapping {
    /// Returns a mapping with nothing under way. `map` notes the changes of its pages from now on.
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

    /// Returns the number of pages of the host; those of the map come behind them.
    pub fn pages(&self) -> u32 {
        self.cache.pages()
    }

    /// Returns the map entries in memory, for commands before the clock starts: translation pages are then read
    /// and programmed at once, with [`BeforeTheClock`] below.
    pub fn cache_mut(&mut self) -> &mut MapCache {
        &mut self.cache
    }

    /// Returns the counts of the map's traffic.
    pub fn traffic(&mut self, map: &mut dyn Stepwise) -> MapTraffic {
        self.hear(map);
        self.cache.traffic()
    }

    /// Returns the counts of `map`, with the translation pages programmed as copies.
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

    /// Checks the data kept about the map on flash.
    ///
    /// # Errors The first invariant that does not hold.
    pub fn audit(&mut self, map: &mut dyn Stepwise) -> Result<(), String> {
        self.hear(map);
        let will_be_written = |number| {
            let is_sent = self.write_backs.contains_key(&number);
            is_sent || self.cache.is_moved(number) || map.has_ended()
        };
        self.cache.audit(|page| map.locate(page), will_be_written)
    }

    /// Sends a page operation to its die, as soon as its map entry is in memory.
    pub fn send<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, op: u32) {
        self.under_way += 1;
        let page = shared.ops[op].page;
        match self.fetches.get_mut(&page) {
            Some(waiting) => waiting.push_back(op),
            None => self.send_in_order(shared, dies, page, VecDeque::from([op])),
        }
    }

    /// Takes hints of this kind on `pages`, each as soon as its map entry is in memory. A drive without a use
    /// for hints looks nothing up.
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

    /// Lets `op`, whose map entry is in memory, go to its die. A hint is taken and done.
    fn go_on<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, op: u32) {
        let PageOp { page, kind, .. } = shared.ops[op];
        if !matches!(kind, Kind::Hint | Kind::Tell | Kind::Clean) {
            return dies.accept(shared, op);
        }
        shared.ops.remove(op);
        shared.take_late(kind, page);
        self.note_done(shared, dies);
    }

    /// Returns `true` if `op` waits for its map entry.
    pub fn holds<O: Observer>(&self, shared: &Shared<O>, op: u32) -> bool {
        let waiting = self.fetches.get(&shared.ops[op].page);
        waiting.is_some_and(|waiting| waiting.contains(&op))
    }

    /// Notes that a page operation that was sent is done.
    pub fn note_done<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler) {
        debug_assert!(self.under_way > 0, "an operation is done once");
        self.under_way -= 1;
        self.in_a_row = 0;
        self.settle(shared, dies);
    }

    /// Notes that a block was erased: if nothing else is under way, the map of moved pages is updated
    /// now.
    pub fn erased<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler) {
        if self.under_way == 0 {
            self.settle(shared, dies);
        }
    }

    /// Ends a page operation of the map: operations that waited for it go on.
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

    /// Checks that the drive does more than write its map.
    ///
    /// # Errors
    /// The drive does nothing else.
    pub fn check(&self, map: &dyn Stepwise) -> Result<(), FtlError> {
        let most = most_in_a_row(map.geometry());
        if self.in_a_row > most { Err(endless(most)) } else { Ok(()) }
    }

    /// Returns `true` if the drive has ceased to do anything but write its map.
    pub fn is_endless(&self, map: &dyn Stepwise) -> bool {
        self.check(map).is_err()
    }

    /// Notes that the operation that waits for the entry of `page` has met a collection on the way,
    /// if `met`.
    fn note_collection<O: Observer>(&self, shared: &mut Shared<O>, page: u32, met: bool) {
        if let Some(&first) = self.fetches.get(&page).and_then(VecDeque::front) {
            shared.ops[first].met_collection |= met;
        }
    }

    /// Takes the changes of pages from the map.
    fn hear(&mut self, map: &mut dyn Stepwise) {
        self.cache.take_changes(map);
        self.cache.heed(|page| map.locate(page));
    }

    /// Sends operations on `page` to their dies until one misses its entry: that one and the others
    /// wait.
    fn send_in_order<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        page: u32,
        mut waiting: VecDeque<u32>,
    ) {
        self.hear(&mut *shared.map);
        while let Some(&op) = waiting.front() {
            if let LookUp::Miss { write_back } = self.cache.look_up(page) {
                self.fetches.insert(page, waiting);
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

    /// Goes on with the entry of `page`, which is there: the operation that missed it goes to its
    /// die, and others that waited behind it look for it in turn.
    fn fetched<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, page: u32) {
        self.cache.arrived(page);
        let mut waiting = self.fetches.remove(&page).expect("an operation waits for the entry");
        if let Some(op) = waiting.pop_front() {
            self.go_on(shared, dies, op);
        }
        self.send_in_order(shared, dies, page, waiting);
    }

    /// Reads the translation page with the entry of `page`, if there is one.
    fn read<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler, page: u32) {
        let holder = self.cache.page_of(self.cache.number_of(page));
        if shared.map.locate(holder).is_none() {
            return self.fetched(shared, dies, page);
        }
        self.cache.count_read();
        let op = self.begin(shared, dies, holder, Kind::Read);
        self.reads.insert(op, page);
    }

    /// Writes translation page `number` back. The look-up of page `waits` waits for that.
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
                // A page that is not programmed yet will have all changes up to then.
                match shared.ops[waiting.op].is_programmed {
                    true => waiting.again.get_or_insert_default().extend(waits),
                    false => waiting.pages.extend(waits),
                }
            }
        }
    }

    /// Sends the operation that reads a translation page, if there is one, and programs it.
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

    /// Starts the writes of translation pages whose moved pages are not cached.
    fn settle<O: Observer>(&mut self, shared: &mut Shared<O>, dies: &mut Scheduler) {
        self.hear(&mut *shared.map);
        for number in self.cache.take_moved() {
            self.in_a_row += 1;
            self.write_back(shared, dies, number, None);
        }
    }
}
