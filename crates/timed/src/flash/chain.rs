//! Chains: all copies of a collection as one job of the die, without an event for each step.
//!
//! This is possible if nothing can interrupt the collection between its first and its last page.
//! Its steps then depend on nothing but the bus, which other dies use too. So a chain books its
//! turns on the bus late: when another job asks for that bus, when the chain's own event comes, or
//! when the drive stops. Turns are booked in the order in which the events of all steps would have
//! come (`Clock::position`).
//!
//! A chain has one event, at the earliest time at which its last program can end. If the chain is
//! not over then, the event is set again. The map copies the pages at the end of the chain; if the
//! drive stops before, it copies those whose time has come. The observer gets the work at the same
//! moments, as sums if it needs no more (`Report`).
//!
//! `Settings::collects_undisturbed` and `Stepwise::copies_on_its_own` say when chains are used. If
//! an observer follows each step, they are not. `tests/timed_chains.rs` compares runs with and
//! without chains at every stop.

use flashgc_base::snapshot::{Fault, Value};

use super::die::{Bus, Turns};
use super::{Die, Flash, Job, Stage};
use crate::clock::{Clock, Event, NEVER, Position};
use crate::observer::{Observer, Place, Stint};

/// The step that a chain is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
enum Doing {
    /// The command of the next read is on the bus, or waits for the bus.
    Command,
    /// The cells read a page.
    Read,
    /// The page goes to the controller over the bus, or waits for the bus.
    Out,
    /// The page comes back over the bus, and then the cells program it.
    Program,
    /// The page comes back and the cells program it; then they read the next page. This is one step
    /// if reads need no command on the bus.
    ProgramRead,
    /// All pages are copied.
    Nothing,
}

/// The copies of the collection on a die.
#[derive(Clone, Debug, Value)]
pub struct Chain {
    pub die: u32,
    doing: Doing,
    /// The end of its step, as the position of the event that the step would have.
    ends: Position,
    /// The number of pages whose transfer back to the die has not been booked yet.
    left: u32,
    /// The number of pages whose transfer back is booked and that the map has not copied yet.
    pub due: u32,
    /// `true` if the work is reported to an observer.
    is_told: bool,
    /// The number of pages programmed since the last call of [`Chain::tell_copies`].
    copies_told: u32,
    /// `true` if the program in the present step has been reported.
    has_told_program: bool,
    /// The begin of the bus work that is not reported yet, in nanoseconds.
    bus_from: u64,
}

/// The chains of a channel.
#[derive(Clone, Debug, Default, Value)]
#[snapshot(then = complete)]
pub struct Chains {
    pub(super) all: Vec<Chain>,
    /// The ends of the chains' present steps, in order.
    #[snapshot(skip)]
    order: Vec<End>,
}

/// The end of a chain's step and the chain's index in [`Chains`], as one number that can be
/// compared. From the high bits to the low ones: time, timer, index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End(u128);

impl End {
    /// Returns a value after the ends of all chains at `place`.
    #[inline(always)]
    fn behind(place: Position) -> Self {
        Self::new(place, u32::MAX)
    }

    #[inline(always)]
    fn new(place: Position, index: u32) -> Self {
        Self(u128::from(place.time) << 64 | u128::from(place.timer) << 32 | u128::from(index))
    }

    #[inline(always)]
    fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline(always)]
    fn place(self) -> Position {
        Position { time: self.time(), timer: (self.0 >> 32) as u32 }
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.0 as u32 as usize
    }
}

impl Chains {
    /// Returns the time at which the first of the present steps ends, or [`NEVER`] if there is no
    /// chain.
    #[inline(always)]
    pub fn next(&self) -> u64 {
        self.order.first().map_or(NEVER, |first| first.time())
    }

    fn push(&mut self, chain: Chain) {
        self.all.push(chain);
        self.put_in_order();
    }

    /// Returns the index of the chain of `die`.
    fn index_of(&self, die: u32) -> usize {
        self.all.iter().position(|chain| chain.die == die).expect("it has a chain")
    }

    fn remove(&mut self, index: usize) -> Chain {
        let chain = self.all.swap_remove(index);
        self.put_in_order();
        chain
    }

    fn complete(&mut self) -> Result<(), Fault> {
        self.put_in_order();
        Ok(())
    }

    fn put_in_order(&mut self) {
        self.order.clear();
        self.order.extend((0..).zip(&self.all).map(|(index, chain)| End::new(chain.ends, index)));
        self.order.sort_unstable();
    }

    /// Advances the chain whose step ends first, if that is at `until` or earlier. Calls `steps`
    /// with the chain and a limit: the end of another chain's step, or `until`. Returns the time at
    /// which the last of these steps ended.
    #[inline(always)]
    fn go_on(
        &mut self,
        until: Position,
        steps: impl FnOnce(&mut Chain, Position) -> u64,
    ) -> Option<u64> {
        let first = *self.order.first().filter(|&&first| first <= End::behind(until))?;
        let second = self.order.get(1).map_or(until, |second| second.place().min(until));
        let chain = &mut self.all[first.index()];
        let ended = steps(chain, second);
        let next = End::new(chain.ends, first.index() as u32);
        let mut place = 0;
        while let Some(&after) = self.order.get(place + 1).filter(|&&after| after < next) {
            self.order[place] = after;
            place += 1;
        }
        self.order[place] = next;
        Some(ended)
    }
}

/// The durations of the steps of a copy, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    command_ns: u64,
    read_ns: u64,
    out_ns: u64,
    /// The time of the command and the data of the program.
    in_ns: u64,
    program_ns: u64,
}

/// The timers of the events that the steps of a channel's chains would have. They order events of
/// the same time.
struct Timers {
    /// The timer of the bus.
    bus: u32,
    /// The timer of the cells of die 0.
    first_die: u32,
}

impl Timers {
    #[inline(always)]
    fn of(clock: &Clock, channel: u32) -> Self {
        let place_of = |event| clock.position_of(event, 0).timer;
        Self { bus: place_of(Event::Transfer(channel)), first_die: place_of(Event::Cells(0)) }
    }
}

impl Chain {
    /// Begins the step `doing`, which ends at `at`.
    #[inline(always)]
    fn goes_on(&mut self, timers: &Timers, doing: Doing, at: u64) {
        let timer = match doing {
            Doing::Command | Doing::Out => timers.bus,
            _ => timers.first_die + self.die,
        };
        (self.doing, self.ends) = (doing, Position { time: at, timer });
    }

    /// Ends steps and begins the next ones, until `stop`. `turns` are the turns on the chain's bus.
    /// Returns the time at which the last of these steps ended.
    #[inline(always)]
    fn step(
        &mut self,
        stop: Position,
        steps: &Steps,
        timers: &Timers,
        turns: &mut Turns,
        report: &mut Report,
    ) -> u64 {
        loop {
            let at = self.ends.time;
            match self.doing {
                Doing::Command => {
                    self.tell(Place::Bus, at - steps.command_ns, at, report);
                    self.goes_on(timers, Doing::Read, at + steps.read_ns);
                }
                Doing::Read => {
                    self.tell(Place::Cells, at - steps.read_ns, at, report);
                    self.goes_out(at, steps, timers, turns);
                }
                Doing::ProgramRead => {
                    let programmed = at - steps.read_ns;
                    if std::mem::replace(&mut self.has_told_program, false) {
                        self.tell(Place::Cells, programmed, at, report);
                    } else {
                        self.tell_program(steps, programmed, at, report);
                    }
                    self.goes_out(at, steps, timers, turns);
                }
                Doing::Out => self.goes_back(at, steps, timers, turns, report),
                Doing::Program => {
                    self.tell_program(steps, at, at, report);
                    match self.left {
                        0 => self.goes_on(timers, Doing::Nothing, NEVER),
                        _ => {
                            let until = turns.take(at, steps.command_ns) + steps.command_ns;
                            self.goes_on(timers, Doing::Command, until);
                        }
                    }
                }
                Doing::Nothing => unreachable!("it is over"),
            }
            if self.ends > stop {
                return at;
            }
        }
    }

    /// Sends a page over the bus to the controller. The cells have read the page until `at`.
    #[inline(always)]
    fn goes_out(&mut self, at: u64, steps: &Steps, timers: &Timers, turns: &mut Turns) {
        self.goes_on(timers, Doing::Out, turns.take(at, steps.out_ns) + steps.out_ns);
    }

    /// Sends a page back from the controller to the die. The controller has the page at `at`.
    #[inline(always)]
    fn goes_back(
        &mut self,
        at: u64,
        steps: &Steps,
        timers: &Timers,
        turns: &mut Turns,
        report: &mut Report,
    ) {
        let begin = turns.take(at, steps.in_ns);
        self.bus_from = at - steps.out_ns;
        if begin > at {
            self.tell_out(at, begin, report);
        }
        self.due += 1;
        self.left -= 1;
        let programmed = begin + steps.in_ns + steps.program_ns;
        match self.left > 0 && steps.command_ns == 0 {
            true => self.goes_on(timers, Doing::ProgramRead, programmed + steps.read_ns),
            false => self.goes_on(timers, Doing::Program, programmed),
        }
    }

    /// Reports that the bus or the cells were busy.
    #[inline(always)]
    fn tell(&self, place: Place, begin_ns: u64, end_ns: u64, report: &mut Report) {
        if self.is_told {
            report.add(Stint { begin_ns, end_ns, place, die: self.die });
        }
    }

    /// Reports the number of pages programmed since the last report.
    pub fn tell_copies<O: Observer>(&mut self, observer: &mut O) {
        let pages = std::mem::take(&mut self.copies_told);
        if self.is_told && pages > 0 {
            observer.copied(self.die, pages.into());
        }
    }

    /// Reports the transfer to the controller, which ended at `end_ns`. The transfer back begins
    /// later, at `back_ns`, and is reported separately.
    fn tell_out(&mut self, end_ns: u64, back_ns: u64, report: &mut Report) {
        self.tell(Place::Bus, self.bus_from, end_ns, report);
        self.bus_from = back_ns;
    }

    /// Reports a program that ended at `programmed`, the transfers before it, and the read after
    /// it, which ended at `end_ns`.
    #[inline(always)]
    fn tell_program(&mut self, steps: &Steps, programmed: u64, end_ns: u64, report: &mut Report) {
        let begin_ns = programmed - steps.program_ns;
        self.tell(Place::Bus, self.bus_from, begin_ns, report);
        self.tell(Place::Cells, begin_ns, end_ns, report);
        self.copies_told += 1;
    }

    /// Reports the parts of the present step that have ended until `until` and were not reported
    /// yet. Returns the end of the program if it was reported now, else 0.
    fn tell_until(
        &mut self,
        steps: &Steps,
        clock: &Clock,
        until: Position,
        report: &mut Report,
    ) -> u64 {
        let is_program = matches!(self.doing, Doing::Program | Doing::ProgramRead);
        if !is_program || self.has_told_program {
            return 0;
        }
        let reads_ns = if self.doing == Doing::ProgramRead { steps.read_ns } else { 0 };
        let programmed = self.ends.time - reads_ns;
        if clock.position_of(Event::Cells(self.die), programmed) <= until {
            self.tell_program(steps, programmed, programmed, report);
            self.has_told_program = true;
            return programmed;
        }
        let back_ns = programmed - steps.program_ns - steps.in_ns;
        if self.bus_from < back_ns {
            self.tell_out(back_ns, back_ns, report);
        }
        0
    }

    /// Returns the earliest end of the chain's last program, if the bus is free from `free_at` on.
    fn earliest_end(&self, steps: &Steps, free_at: u64) -> u64 {
        let Steps { command_ns, read_ns, out_ns, in_ns, program_ns } = *steps;
        let copy_ns = command_ns + read_ns + out_ns + in_ns + program_ns;
        let (at, on_bus) = (self.ends.time, |at: u64| at.max(free_at));
        let moved = |at: u64| at + in_ns + program_ns;
        let read = |at: u64| moved(on_bus(at) + out_ns);
        let (end, others) = match self.doing {
            Doing::Command => (read(at + read_ns), self.left - 1),
            Doing::Read | Doing::ProgramRead => (read(at), self.left - 1),
            Doing::Out => (moved(on_bus(at)), self.left - 1),
            Doing::Program | Doing::Nothing => (at, self.left),
        };
        end + u64::from(others) * copy_ns
    }
}

/// Work of chains that is over and not reported to the observer yet. Work in a span of time that
/// the observer names is only added up.
#[derive(Default)]
pub struct Report {
    /// The span within which work is added up: begin and end in nanoseconds.
    between: (u64, u64),
    /// The sums of the work of buses and of cells.
    busy_ns: [u64; 2],
    /// Work that is not within the span, piece by piece.
    stints: Vec<Stint>,
}

impl Report {
    /// Adds a piece of work.
    #[inline(always)]
    pub fn add(&mut self, stint: Stint) {
        let Stint { begin_ns, end_ns, place, .. } = stint;
        if self.between.0 <= begin_ns && end_ns <= self.between.1 {
            self.busy_ns[usize::from(place == Place::Cells)] += end_ns - begin_ns;
        } else {
            self.stints.push(stint);
        }
    }

    /// Reports all work to the observer.
    pub fn tell<O: Observer>(&mut self, observer: &mut O) {
        observer.was_busy_in_all(self.between, std::mem::take(&mut self.busy_ns));
        self.stints.drain(..).for_each(|stint| observer.was_busy(&stint));
        self.between = observer.adds_up();
    }
}

impl Flash {
    /// Returns the durations of the steps of a copy.
    fn steps_of_copy(&self) -> Steps {
        let hardware = &self.hardware;
        let (command_ns, data_ns) = (hardware.command_ns, self.transfer_of(1));
        Steps {
            command_ns,
            read_ns: hardware.read_ns,
            out_ns: data_ns,
            in_ns: command_ns + data_ns,
            program_ns: hardware.program_ns,
        }
    }

    /// Lets an idle die begin to copy `pages` pages of a victim, one after another. With `is_told`
    /// the work is reported to an observer.
    pub fn begin_chain(&mut self, clock: &mut Clock, die: u32, pages: u32, is_told: bool) {
        let (now, steps) = (clock.now(), self.steps_of_copy());
        let channel = self.dies[die as usize].channel;
        self.take_turns(clock, channel, clock.position());
        let bus = &mut self.buses[channel as usize];
        let (doing, at) = match steps.command_ns {
            0 => (Doing::Read, now + steps.read_ns),
            length => (Doing::Command, bus.turns.take(now, length) + length),
        };
        let ends = clock.position();
        let mut chain = Chain {
            die,
            doing,
            ends,
            left: pages,
            due: 0,
            is_told,
            copies_told: 0,
            has_told_program: false,
            bus_from: 0,
        };
        chain.goes_on(&Timers::of(clock, channel), doing, at);
        clock.set(Event::Cells(die), chain.earliest_end(&steps, bus.turns.free_at));
        self.chains[channel as usize].push(chain);
        let die_state = &mut self.dies[die as usize];
        debug_assert!(die_state.is_idle());
        die_state.cells = Stage { job: Job::CopyAll, begin: now, ..Stage::IDLE };
    }

    /// Removes and returns the chain of a die if it is over now. If it is not, sets its event
    /// again.
    pub fn end_chain(&mut self, clock: &mut Clock, die: u32) -> Option<Chain> {
        let Die { channel, .. } = self.dies[die as usize];
        let ended = self.take_turns(clock, channel, clock.position());
        let steps = self.steps_of_copy();
        let Bus { turns, .. } = &self.buses[channel as usize];
        let chains = &mut self.chains[channel as usize];
        let index = chains.index_of(die);
        let chain = &chains.all[index];
        if chain.doing != Doing::Nothing {
            clock.set(Event::Cells(die), chain.earliest_end(&steps, turns.free_at));
            clock.take_back(ended);
            return None;
        }
        self.dies[die as usize].cells = Stage::IDLE;
        Some(chains.remove(index))
    }

    /// Brings all chains up to `until`: books their turns on the buses and reports their work.
    /// Returns the time at which the last of their steps ended, in nanoseconds.
    pub fn take_all_turns(&mut self, clock: &Clock, until: Position) -> u64 {
        let channels = 0..self.buses.len() as u32;
        let ended = channels.map(|channel| self.take_turns(clock, channel, until)).max();
        let steps = self.steps_of_copy();
        let mut ended = ended.unwrap_or(0);
        for chain in self.chains.iter_mut().flat_map(|chains| &mut chains.all) {
            ended = ended.max(chain.tell_until(&steps, clock, until, &mut self.report));
        }
        ended
    }

    /// Returns the chains under way.
    pub fn chains_mut(&mut self) -> impl Iterator<Item = &mut Chain> {
        self.chains.iter_mut().flat_map(|chains| &mut chains.all)
    }

    /// Returns the work of chains that is not reported to the observer yet.
    pub fn report(&mut self) -> &mut Report {
        &mut self.report
    }

    #[inline(never)]
    pub(super) fn take_turns_of_chains(
        &mut self,
        clock: &Clock,
        channel: u32,
        until: Position,
    ) -> u64 {
        let steps = self.steps_of_copy();
        let Bus { turns, .. } = &mut self.buses[channel as usize];
        let chains = &mut self.chains[channel as usize];
        let (report, timers) = (&mut self.report, Timers::of(clock, channel));
        let mut ended = 0;
        while let Some(end) =
            chains.go_on(until, |chain, stop| chain.step(stop, &steps, &timers, turns, report))
        {
            ended = end;
        }
        ended
    }
}
