//! Requests that go through the host's cache before they reach the drive. The commands of the cache
//! wait in the same queue as all others. These commands carry the hints, or separate commands do.

use flashgc_drive::error::DriveError;
use flashgc_host::Leaving;
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use super::FrontEnd;
use super::requests::{Party, Times, WaitingRequest};
use super::write_back::WriteBack;
use crate::clock::{Clock, Event, NEVER};
use crate::observer::Observer;
use crate::ops::Kind;
use crate::schedule::Scheduler;
use crate::shared::Shared;

impl FrontEnd {
    fn write_back(&mut self) -> &mut WriteBack {
        self.write_back.as_mut().expect("only a host with a cache comes here")
    }

    /// Starts the clock of the cache, if there is one.
    pub(super) fn start_write_back<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        if self.write_back.is_some() {
            self.write_back().host.start();
            self.expect_look(&mut shared.clock);
            self.flush_at_leisure(shared, dies)?;
        }
        Ok(())
    }

    fn expect_look(&mut self, clock: &mut Clock) {
        let next = self.write_back().host.next_look().unwrap_or(NEVER);
        clock.set(Event::Look, next.max(clock.now()));
    }

    /// Sends a request of the application through the cache.
    pub(super) fn ask_cache<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        waiting: WaitingRequest,
    ) -> Result<(), DriveError> {
        let pages = self.shape.pages_of(&waiting.request)?;
        let now = shared.now();
        let place = self.keep(&waiting, (now, now), 1);
        self.pass_time(shared, dies)?;
        for page in pages {
            let cache = self.write_back();
            let mut waits = 0;
            if waiting.request.op == Op::Write {
                waits += cache.waits_behind(page, false, place, now);
            }
            cache.host.request(waiting.request.op, page, waiting.request.stream);
            if let Some(room) = cache.host.take_room() {
                waits += cache.waits_behind(room, true, place, now);
            }
            self.requests.waits_for(place, waits);
        }
        self.send_on(shared, dies, Party::Request(place))?;
        if let Some(end) = self.write_back().serve_from_memory(now, place) {
            shared.clock.set(Event::Memory, end);
        }
        self.end_of_pieces(shared, &waiting, place);
        self.flush_at_leisure(shared, dies)
    }

    /// Sets the cache's clock to the present, and sends the drive what the cache writes by itself.
    fn pass_time<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        self.write_back().host.advance(shared.now());
        self.send_on(shared, dies, Party::Cache)
    }

    /// Lets the cache send background writes, until as many are under way as are allowed or none is
    /// due.
    pub(super) fn flush_at_leisure<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        self.pass_time(shared, dies)?;
        while self.write_back().flushes_next() {
            self.send_on(shared, dies, Party::Cache)?;
        }
        Ok(())
    }

    /// Sends the commands and hints that have left the cache to the drive. `party` is whoever waits
    /// for the commands.
    fn send_on<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        party: Party,
    ) -> Result<(), DriveError> {
        while let Some(leaving) = self.write_back().host.next_leaving() {
            let (party, request) = match leaving {
                Leaving::Hint(page) => {
                    if self.write_back().host.hints().is_at_once() {
                        self.hint(shared, dies, Kind::Hint, &[page])?;
                    } else {
                        self.write_back().ride(page);
                    }
                    continue;
                }
                Leaving::Served(_) => continue,
                Leaving::HintCommand => (Party::Hints, self.shape.request_on(Op::Read, 0)),
                Leaving::Command(page, op, stream) => {
                    if op == Op::Write {
                        self.write_back().begin_write(page);
                    }
                    (party, TimedRequest { stream, ..self.shape.request_on(op, page) })
                }
            };
            let number = match party {
                Party::Request(place) => {
                    self.requests.waits_for(place, 1);
                    self.requests[place].number
                }
                Party::Cache => {
                    self.write_back().begin_at_leisure();
                    u64::MAX
                }
                Party::Hints | Party::Workload => u64::MAX,
            };
            let hints = self.write_back().riding();
            let waiting = WaitingRequest::new(request, shared.now(), party);
            self.let_in(shared, dies, WaitingRequest { number, hints, ..waiting })?;
        }
        Ok(())
    }

    /// Takes the pages of the `hints` hints that a dispatched command carries.
    pub(super) fn take_hints(&mut self, hints: u32) -> Vec<u32> {
        self.write_back().take_hints(hints)
    }

    /// Lets the drive begin a command that holds only hints.
    pub(super) fn begin_telling(&mut self, clock: &mut Clock, hints: u32) {
        if let Some(end) = self.write_back().begin_telling(clock.now(), hints) {
            clock.set(Event::Hints, end);
        }
    }

    /// Ends a command of the cache, which was sent at `sent`. If it wrote a page, the requests that
    /// waited for this write go on.
    #[inline(never)]
    pub(super) fn command_done<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        request: &TimedRequest,
        sent: u64,
        party: Party,
    ) {
        let (now, page) = (shared.now(), self.shape.page_of(request.offset) as u32);
        let Some(cache) = &mut self.write_back else { return };
        match party {
            Party::Request(_) => cache.waited(request.op, now - sent),
            Party::Cache => cache.done_at_leisure(),
            Party::Hints | Party::Workload => {}
        }
        if request.op == Op::Write {
            for place in cache.end_write(page, now) {
                self.part_done(shared, place, Times::default(), false);
            }
        }
    }

    /// Ends the commands for hints whose time is over.
    ///
    /// # Errors
    /// The errors of the workload or the map.
    pub fn told<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        if self.write_back.is_none() {
            return self.end_hint_commands(shared, dies);
        }
        while let Some(pages) = self.write_back().next_told(shared.now()) {
            self.hint(shared, dies, Kind::Hint, &pages)?;
            self.left_drive();
        }
        let next = self.write_back().told_at().unwrap_or(NEVER);
        shared.clock.set(Event::Hints, next);
        self.admit(shared, dies)
    }

    /// Ends the requests that memory has served.
    ///
    /// # Errors
    /// The errors of the workload or the map.
    pub fn served_by_memory<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        while let Some(place) = self.write_back().next_served(shared.now()) {
            self.part_done(shared, place, Times::default(), false);
        }
        let next = self.write_back().served_at().unwrap_or(NEVER);
        shared.clock.set(Event::Memory, next);
        self.admit(shared, dies)
    }

    /// Runs a round of the cache, and expects the next round as long as requests arrive or are
    /// under way. If the drive has commands but no event is left, it is stuck, and there is no next
    /// round.
    ///
    /// # Errors
    /// The errors of the workload or the map.
    pub fn look<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        self.flush_at_leisure(shared, dies)?;
        let goes_on = self.has_more_requests() || self.counts.in_system > 0;
        let stands_still = !shared.clock.has_next() && dies.is_still();
        if goes_on && !(stands_still && self.outstanding > 0) {
            self.expect_look(&mut shared.clock);
        }
        self.admit(shared, dies)
    }
}
