//! The copies of a collection that nothing disturbs, as one chain of steps. Only its turns on the bus
//! meet others: they are taken when somebody else asks for that bus, in the order of time.

use flashgc_base::snapshot::Value;
use flashgc_base::{value, words};

use super::bus::Turns;
use super::{Die, Flash, Job, Stage};
use crate::timed::clock::{Clock, Event, NEVER, Position};
use crate::timed::measure::{Place, Stint};

/// What a chain does until its time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// The command of the next read is on the bus, or waits for it.
    Command,
    /// The cells read.
    Read,
    /// The page goes out over the bus, or waits for it.
    Out,
    /// The page comes back over the bus, and is programmed.
    Program,
    /// The same; then, as the bus is not needed for it, the cells read the next page.
    ProgramRead,
    /// All pages are copied.
    Nothing,
}

impl Value for Doing {
    words!(Command, Read, Out, Program, ProgramRead, Nothing);
}

/// The copies of the collection on a die.
#[derive(Clone, Debug)]
pub struct Chain {
    pub die: u32,
    doing: Doing,
    /// When its step ends, as the place of the event that would say so.
    ends: Position,
    /// Pages that have not yet gone back to the cells.
    left: u32,
    /// Pages that are on their way back to the cells, and that the map has not moved yet.
    pub due: u32,
    /// An observer is told of its work.
    is_told: bool,
    /// It was told of the program before the read.
    has_told_program: bool,
    /// Since when the bus has been busy with the page on it, of which it was not told.
    bus_from: u64,
}

impl Value for Chain {
    value!(die, doing, ends, left, due, is_told, has_told_program, bus_from);
}

/// How long the steps of a copy take.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    command_ns: u64,
    read_ns: u64,
    out_ns: u64,
    /// The command and the data of the program.
    in_ns: u64,
    program_ns: u64,
}

impl Chain {
    /// Its next step, until `at`.
    #[inline]
    fn goes_on(&mut self, clock: &Clock, channel: u32, doing: Doing, at: u64) {
        let event = match doing {
            Doing::Command | Doing::Out => Event::Transfer(channel),
            _ => Event::Cells(self.die),
        };
        let at = if doing == Doing::Nothing { NEVER } else { at };
        (self.doing, self.ends) = (doing, clock.position_of(event, at));
    }

    /// Its step ends, and the next begins; `turns` are those on its bus.
    #[inline(always)]
    fn step(
        &mut self,
        steps: &Steps,
        clock: &Clock,
        channel: u32,
        turns: &mut Turns,
        told: &mut Vec<Stint>,
    ) {
        let at = self.ends.time;
        let (doing, until) = match self.doing {
            Doing::Command => {
                self.tell(Place::Bus, at - steps.command_ns, at, false, told);
                (Doing::Read, at + steps.read_ns)
            }
            Doing::Read => {
                self.tell(Place::Cells, at - steps.read_ns, at, false, told);
                (Doing::Out, turns.take(at, steps.out_ns) + steps.out_ns)
            }
            Doing::ProgramRead => {
                let programmed = at - steps.read_ns;
                if std::mem::replace(&mut self.has_told_program, false) {
                    self.tell(Place::Cells, programmed, at, false, told);
                } else {
                    self.tell_program(steps, programmed, at, told);
                }
                (Doing::Out, turns.take(at, steps.out_ns) + steps.out_ns)
            }
            Doing::Out => {
                let begin = turns.take(at, steps.in_ns);
                self.bus_from = at - steps.out_ns;
                if begin > at {
                    self.tell_out(at, begin, told);
                }
                self.due += 1;
                self.left -= 1;
                let programmed = begin + steps.in_ns + steps.program_ns;
                match self.left > 0 && steps.command_ns == 0 {
                    true => (Doing::ProgramRead, programmed + steps.read_ns),
                    false => (Doing::Program, programmed),
                }
            }
            Doing::Program => {
                self.tell_program(steps, at, at, told);
                match self.left {
                    0 => (Doing::Nothing, at),
                    _ => (Doing::Command, turns.take(at, steps.command_ns) + steps.command_ns),
                }
            }
            Doing::Nothing => unreachable!("it is over"),
        };
        self.goes_on(clock, channel, doing, until);
    }

    /// Tells that a place was busy.
    #[inline(always)]
    fn tell(&self, place: Place, begin_ns: u64, end_ns: u64, copies: bool, told: &mut Vec<Stint>) {
        if self.is_told {
            told.push(Stint { begin_ns, end_ns, place, die: self.die, copies });
        }
    }

    /// Tells of the transfer out, which ended at `end_ns`, apart from the one back, which begins later.
    fn tell_out(&mut self, end_ns: u64, back_ns: u64, told: &mut Vec<Stint>) {
        self.tell(Place::Bus, self.bus_from, end_ns, false, told);
        self.bus_from = back_ns;
    }

    /// Tells of the program that ended at `programmed`, with the read after it until `end_ns`, and of the
    /// transfers before it.
    #[inline(always)]
    fn tell_program(&self, steps: &Steps, programmed: u64, end_ns: u64, told: &mut Vec<Stint>) {
        let begin_ns = programmed - steps.program_ns;
        self.tell(Place::Bus, self.bus_from, begin_ns, false, told);
        self.tell(Place::Cells, begin_ns, end_ns, true, told);
    }

    /// Tells of everything that has ended until `until`, of which it was still to tell. Returns when the
    /// last of it ended.
    fn tell_until(
        &mut self,
        steps: &Steps,
        clock: &Clock,
        until: Position,
        told: &mut Vec<Stint>,
    ) -> u64 {
        let is_program = matches!(self.doing, Doing::Program | Doing::ProgramRead);
        if !is_program || self.has_told_program {
            return 0;
        }
        let reads_ns = if self.doing == Doing::ProgramRead { steps.read_ns } else { 0 };
        let programmed = self.ends.time - reads_ns;
        if clock.position_of(Event::Cells(self.die), programmed) <= until {
            self.tell_program(steps, programmed, programmed, told);
            self.has_told_program = true;
            return programmed;
        }
        let back_ns = programmed - steps.program_ns - steps.in_ns;
        if self.bus_from < back_ns {
            self.tell_out(back_ns, back_ns, told);
        }
        0
    }

    /// The earliest end of its last program, on a bus that is free from `free_at` on.
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

impl Flash {
    /// The steps of a copy within a die.
    fn steps_of_copy(&self) -> Steps {
        let hardware = &self.hardware;
        let (command_ns, data_ns) = (hardware.command_ns, hardware.transfer_of(1));
        Steps {
            command_ns,
            read_ns: hardware.read_ns,
            out_ns: data_ns,
            in_ns: command_ns + data_ns,
            program_ns: hardware.program_ns,
        }
    }

    /// An idle die begins to copy `pages` pages of a victim, one after another. `is_told`: an observer is
    /// told of the work.
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
            has_told_program: false,
            bus_from: 0,
        };
        chain.goes_on(clock, channel, doing, at);
        clock.set(Event::Cells(die), chain.earliest_end(&steps, bus.turns.free_at));
        bus.chains.push(chain);
        bus.next_of_chains = bus.next_of_chains.min(at);
        let die_state = &mut self.dies[die as usize];
        debug_assert!(die_state.is_idle());
        die_state.cells = Stage { job: Job::CopyAll, begin: now, ..Stage::IDLE };
    }

    /// The chain of a die may be over now. Returns it if it is; else its event comes again.
    pub fn end_chain(&mut self, clock: &mut Clock, die: u32) -> Option<Chain> {
        let Die { channel, .. } = self.dies[die as usize];
        let ended = self.take_turns(clock, channel, clock.position());
        let steps = self.steps_of_copy();
        let bus = &mut self.buses[channel as usize];
        let index = bus.chains.iter().position(|chain| chain.die == die).expect("it has a chain");
        let chain = &bus.chains[index];
        if chain.doing != Doing::Nothing {
            clock.set(Event::Cells(die), chain.earliest_end(&steps, bus.turns.free_at));
            clock.take_back(ended);
            return None;
        }
        self.dies[die as usize].cells = Stage::IDLE;
        Some(bus.chains.swap_remove(index))
    }

    /// All chains take the turns that are theirs until `until`. Returns when the last of their steps
    /// until then ended.
    pub fn take_all_turns(&mut self, clock: &Clock, until: Position) -> u64 {
        let channels = 0..self.buses.len() as u32;
        let ended = channels.map(|channel| self.take_turns(clock, channel, until)).max();
        let steps = self.steps_of_copy();
        let mut ended = ended.unwrap_or(0);
        for chain in self.buses.iter_mut().flat_map(|bus| &mut bus.chains) {
            ended = ended.max(chain.tell_until(&steps, clock, until, &mut self.told));
        }
        ended
    }

    /// The chains under way.
    pub fn chains_mut(&mut self) -> impl Iterator<Item = &mut Chain> {
        self.buses.iter_mut().flat_map(|bus| &mut bus.chains)
    }

    /// The work of chains that the observer is not told of yet.
    pub fn told(&mut self) -> std::vec::Drain<'_, Stint> {
        self.told.drain(..)
    }

    /// The chains of a channel take the turns on its bus that are theirs until `until`. Returns when the
    /// last of their steps ended.
    #[inline]
    pub(super) fn take_turns(&mut self, clock: &Clock, channel: u32, until: Position) -> u64 {
        match self.buses[channel as usize].next_of_chains <= until.time {
            true => self.take_turns_of_chains(clock, channel, until),
            false => 0,
        }
    }

    #[inline(never)]
    fn take_turns_of_chains(&mut self, clock: &Clock, channel: u32, until: Position) -> u64 {
        let steps = self.steps_of_copy();
        let bus = &mut self.buses[channel as usize];
        let mut ended = 0;
        loop {
            // The first of all goes on until another is before it.
            let (mut first, mut second) = (0, Position::end_of(NEVER));
            for (index, chain) in bus.chains.iter().enumerate().skip(1) {
                if chain.ends < bus.chains[first].ends {
                    second = bus.chains[first].ends;
                    first = index;
                } else {
                    second = second.min(chain.ends);
                }
            }
            let Some(chain) = bus.chains.get_mut(first) else {
                bus.next_of_chains = NEVER;
                return ended;
            };
            if chain.ends > until {
                bus.next_of_chains = chain.ends.time;
                return ended;
            }
            let stop = second.min(until);
            while chain.ends <= stop {
                ended = chain.ends.time;
                chain.step(&steps, clock, channel, &mut bus.turns, &mut self.told);
            }
        }
    }
}
