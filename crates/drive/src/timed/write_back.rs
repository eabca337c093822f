//! The host's cache before the drive: what the application asks goes through it. What it asks of the
//! drive waits in one queue with all else; hints ride on those commands, or have their own.

use std::collections::VecDeque;

use flashgc_host::{ClockedHost, HostCounts, Leaving};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use super::engine::TimedDrive;
use super::events::NEVER;
use super::host::{Party, Waiting};
use super::observe::Observer;
use super::ops::{NONE, PageOp};
use crate::counting::DriveError;

/// Pages that the cache writes at leisure and that are under way at most: `nr_requests` of Linux's
/// block layer.
const MOST_AT_LEISURE: u32 = 128;

/// A host's cache, and what of it is under way.
pub(super) struct WriteBack {
    pub(super) host: ClockedHost,
    /// Hints that wait in front of the drive, in order.
    hints: VecDeque<u32>,
    /// How many of them the next command brings.
    riding: u32,
    /// Requests that memory serves, and when it has.
    in_memory: VecDeque<(u64, u32)>,
    /// Commands under way that no request waits for.
    at_leisure: u32,
    /// Commands made for hints that the drive works on: when they end, and how many hints they bring.
    telling: VecDeque<(u64, u32)>,
    /// The hints of these.
    told: VecDeque<u32>,
}

impl WriteBack {
    pub(super) fn new(host: ClockedHost) -> Self {
        Self {
            host,
            hints: VecDeque::new(),
            riding: 0,
            in_memory: VecDeque::new(),
            at_leisure: 0,
            telling: VecDeque::new(),
            told: VecDeque::new(),
        }
    }

    pub(super) fn counts(&self) -> HostCounts {
        self.host.counts()
    }

    /// Whether the queue of the drive, of whose commands `outstanding` are under way, lets in what
    /// is `for_hints` or not: a command that is not queued is alone in the drive.
    pub(super) fn lets_in(&self, outstanding: u32, for_hints: bool) -> bool {
        let (_, queued) = self.host.hints().command();
        queued || (self.telling.is_empty() && (!for_hints || outstanding == 0))
    }

    /// A command that the cache sent at leisure is done.
    pub(super) fn done_at_leisure(&mut self) {
        self.at_leisure -= 1;
    }
}

impl<O: Observer> TimedDrive<O> {
    /// The cache of the host, where it has one.
    pub fn host_counts(&self) -> Option<HostCounts> {
        self.host.write_back.as_ref().map(|cache| cache.counts())
    }

    pub(super) fn write_back(&mut self) -> &mut WriteBack {
        self.host.write_back.as_mut().expect("only a host with a cache comes here")
    }

    /// Begins the clock of the cache, if there is one.
    pub(super) fn start_write_back(&mut self) -> Result<(), DriveError> {
        if self.host.write_back.is_some() {
            self.write_back().host.start();
            self.expect_look();
            self.flush_at_leisure()?;
        }
        Ok(())
    }

    fn expect_look(&mut self) {
        let next = self.write_back().host.next_look().unwrap_or(NEVER);
        self.timers.set(self.look_timer(), next.max(self.now));
    }

    /// A request of the application goes through the cache.
    pub(super) fn ask_cache(&mut self, waiting: Waiting) -> Result<(), DriveError> {
        let TimedRequest { op, .. } = waiting.request;
        let pages = self.host.pages_of(&waiting.request)?;
        let place = self.host.keep(&waiting, self.now, 1);
        let now = self.now;
        self.pass_time()?;
        for page in pages {
            self.write_back().host.request(op, page);
        }
        self.send_on(Party::Request(place))?;
        let cache = self.write_back();
        let end = now + cache.host.memory_ns();
        cache.in_memory.push_back((end, place));
        if cache.in_memory.len() == 1 {
            self.timers.set(self.memory_timer(), end);
        }
        self.flush_at_leisure()
    }

    /// The cache learns what time it is.
    fn pass_time(&mut self) -> Result<(), DriveError> {
        let now = self.now;
        self.write_back().host.advance(now);
        self.send_on(Party::Cache)
    }

    /// Lets the cache write what it writes at leisure.
    pub(super) fn flush_at_leisure(&mut self) -> Result<(), DriveError> {
        self.pass_time()?;
        loop {
            let cache = self.write_back();
            if cache.at_leisure >= MOST_AT_LEISURE || !cache.host.flush_next() {
                return Ok(());
            }
            self.send_on(Party::Cache)?;
        }
    }

    /// Sends on to the drive what has left the cache, for `party`.
    fn send_on(&mut self, party: Party) -> Result<(), DriveError> {
        let page_bytes = self.settings.hardware.page_bytes;
        let command = |op: Op, page: u32| TimedRequest {
            arrival_ns: 0,
            offset: u64::from(page) * u64::from(page_bytes),
            bytes: page_bytes,
            op,
            urgent: false,
        };
        while let Some(leaving) = self.write_back().host.next_leaving() {
            let (party, request) = match leaving {
                Leaving::Hint(page) if self.write_back().host.hints().is_at_once() => {
                    self.layer.hint(&[page])?;
                    continue;
                }
                Leaving::Hint(page) => {
                    let cache = self.write_back();
                    cache.hints.push_back(page);
                    cache.riding += 1;
                    continue;
                }
                Leaving::HintCommand => (Party::Hints, command(Op::Read, 0)),
                Leaving::Command(page, op) => (party, command(op, page)),
            };
            let number = match party {
                Party::Request(place) => {
                    self.host.waits_for_more(place);
                    self.host.number_of(place)
                }
                Party::Cache => {
                    self.write_back().at_leisure += 1;
                    u64::MAX
                }
                Party::Hints | Party::Workload => u64::MAX,
            };
            let hints = std::mem::take(&mut self.write_back().riding);
            self.let_in(Waiting { request, number, arrived: self.now, party, hints })?;
        }
        Ok(())
    }

    /// The host tells of `pages`: it will write them anew after all writes that the drive has taken.
    pub(super) fn tell(&mut self, pages: &[u32]) -> Result<(), DriveError> {
        self.layer.hint(pages)?;
        let since = self.ops.sent;
        self.host.told.extend(pages.iter().map(|&page| (page, since)));
        Ok(())
    }

    /// What was told of `page` has come true.
    pub(super) fn comes_true(&mut self, page: u32) {
        if !self.host.told.is_empty() {
            self.host.told.remove(&page);
        }
    }

    /// A write has its physical page. That of one which was under way when the host told of its page
    /// will soon be dead, too.
    pub(super) fn written(&mut self, op: u32) -> Result<(), DriveError> {
        if self.host.told.is_empty() {
            return Ok(());
        }
        let PageOp { page, order, request, .. } = self.ops[op];
        match self.host.told.get(&page) {
            Some(&since) if order < since || request == NONE => self.layer.hint(&[page])?,
            Some(_) => self.comes_true(page),
            None => {}
        }
        Ok(())
    }

    /// The drive takes a command, and the hints that it brings.
    pub(super) fn take_hints(&mut self, hints: u32) -> Result<(), DriveError> {
        if hints > 0 {
            let queue = &mut self.write_back().hints;
            let pages: Vec<u32> = queue.drain(..hints as usize).collect();
            self.tell(&pages)?;
        }
        Ok(())
    }

    /// The drive takes a command that was made for hints: it knows them when that is done.
    pub(super) fn begin_telling(&mut self, hints: u32) {
        let now = self.now;
        let cache = self.write_back();
        let end = now + cache.host.hints().command().0;
        let pages = cache.hints.drain(..hints as usize);
        cache.told.extend(pages);
        cache.telling.push_back((end, hints));
        if cache.telling.len() == 1 {
            self.timers.set(self.hint_timer(), end);
        }
    }

    /// A command that was made for hints is done.
    pub(super) fn told(&mut self) -> Result<(), DriveError> {
        let now = self.now;
        while let Some(&(end, hints)) = self.write_back().telling.front()
            && end <= now
        {
            let cache = self.write_back();
            cache.telling.pop_front();
            let pages: Vec<u32> = cache.told.drain(..hints as usize).collect();
            self.layer.hint(&pages)?;
            self.host.left_drive();
        }
        let next = self.write_back().telling.front().map_or(NEVER, |&(end, _)| end);
        self.timers.set(self.hint_timer(), next);
        self.admit()
    }

    /// Memory has served requests.
    pub(super) fn served_by_memory(&mut self) -> Result<(), DriveError> {
        let now = self.now;
        while let Some(&(end, place)) = self.write_back().in_memory.front()
            && end <= now
        {
            self.write_back().in_memory.pop_front();
            self.part_done(place, None, false);
        }
        let next = self.write_back().in_memory.front().map_or(NEVER, |&(end, _)| end);
        self.timers.set(self.memory_timer(), next);
        self.admit()
    }

    /// The cache looks at what is due.
    pub(super) fn look(&mut self) -> Result<(), DriveError> {
        self.flush_at_leisure()?;
        let stands_still = self.timers.first().1 == NEVER && self.ready.is_empty();
        if self.host.goes_on() && !(stands_still && self.host.has_outstanding()) {
            self.expect_look();
        }
        self.admit()
    }
}
