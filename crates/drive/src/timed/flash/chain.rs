//! The copies of a collection that nothing disturbs, as one chain of steps. Only its turns on the bus
//! meet others: they are taken when somebody else asks for that bus, in the order of time.

use flashgc_base::snapshot::Value;
use flashgc_base::{value, words};

use super::{Die, Flash, Job, Stage};
use crate::timed::clock::{Clock, Event, NEVER, Position};
use crate::timed::measure::{Copying, Place, Work};

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
    /// All pages are copied.
    Nothing,
}

impl Value for Doing {
    words!(Command, Read, Out, Program, Nothing);
}

/// The copies of the collection on a die.
#[derive(Clone, Debug)]
pub struct Chain {
    pub die: u32,
    doing: Doing,
    /// Until when.
    at: u64,
    /// Pages that are not yet programmed.
    left: u32,
    /// Pages that are on their way back to the cells, and that the map has not moved yet.
    pub due: u32,
    /// An observer is told of its work.
    is_told: bool,
}

impl Value for Chain {
    value!(die, doing, at, left, due, is_told);
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
    /// When its step ends, as the position of the event that would say so.
    #[inline]
    fn position(&self, clock: &Clock, channel: u32) -> Position {
        let event = match self.doing {
            Doing::Command | Doing::Out => Event::Transfer(channel),
            Doing::Read | Doing::Program => Event::Cells(self.die),
            Doing::Nothing => return Position::NEVER,
        };
        clock.position_of(event, self.at)
    }

    /// The earliest end of its last program, on a bus that is free from `free_at` on.
    fn earliest_end(&self, steps: &Steps, free_at: u64) -> u64 {
        let Steps { command_ns, read_ns, out_ns, in_ns, program_ns } = *steps;
        let copy_ns = command_ns + read_ns + out_ns + in_ns + program_ns;
        let others = u64::from(self.left.saturating_sub(1)) * copy_ns;
        let on_bus = |at: u64| at.max(free_at);
        others
            + match self.doing {
                Doing::Command => on_bus(self.at + read_ns) + out_ns + in_ns + program_ns,
                Doing::Read => on_bus(self.at) + out_ns + in_ns + program_ns,
                Doing::Out => on_bus(self.at) + in_ns + program_ns,
                Doing::Program | Doing::Nothing => self.at,
            }
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
            length => (Doing::Command, bus.take_turn(now, length) + length),
        };
        let chain = Chain { die, doing, at, left: pages, due: 0, is_told };
        clock.set(Event::Cells(die), chain.earliest_end(&steps, bus.free_at));
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
            clock.set(Event::Cells(die), chain.earliest_end(&steps, bus.free_at));
            clock.take_back(ended);
            return None;
        }
        debug_assert_eq!(chain.at, clock.now());
        self.dies[die as usize].cells = Stage::IDLE;
        Some(bus.chains.swap_remove(index))
    }

    /// All chains take the turns that are theirs until `until`. Returns when the last of their steps
    /// until then ended.
    pub fn take_all_turns(&mut self, clock: &Clock, until: Position) -> u64 {
        let channels = 0..self.buses.len() as u32;
        channels.map(|channel| self.take_turns(clock, channel, until)).max().unwrap_or(0)
    }

    /// The chains under way.
    pub fn chains_mut(&mut self) -> impl Iterator<Item = &mut Chain> {
        self.buses.iter_mut().flat_map(|bus| &mut bus.chains)
    }

    /// The work of chains that the observer is not told of yet.
    pub fn told(&mut self) -> std::vec::Drain<'_, Copying> {
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
            let firsts = bus.chains.iter().map(|chain| chain.position(clock, channel)).enumerate();
            let first = firsts.min_by_key(|&(_, position)| position);
            let Some((index, position)) = first else {
                bus.next_of_chains = NEVER;
                return ended;
            };
            if position > until {
                bus.next_of_chains = position.time;
                return ended;
            }
            ended = position.time;
            let mut chain = bus.chains[index].clone();
            let Chain { die, at, is_told, .. } = chain;
            let mut tell = |place, work, begin_ns, end_ns| {
                if is_told {
                    self.told.push(Copying { begin_ns, end_ns, place, work, die });
                }
            };
            match chain.doing {
                Doing::Command => {
                    tell(Place::Bus, Work::Read, at - steps.command_ns, at);
                    (chain.doing, chain.at) = (Doing::Read, at + steps.read_ns);
                }
                Doing::Read => {
                    tell(Place::Cells, Work::Read, at - steps.read_ns, at);
                    let begin = bus.take_turn(at, steps.out_ns);
                    (chain.doing, chain.at) = (Doing::Out, begin + steps.out_ns);
                }
                Doing::Out => {
                    tell(Place::Bus, Work::Read, at - steps.out_ns, at);
                    let begin = bus.take_turn(at, steps.in_ns);
                    chain.due += 1;
                    (chain.doing, chain.at) =
                        (Doing::Program, begin + steps.in_ns + steps.program_ns);
                }
                Doing::Program => {
                    let begin = at - steps.program_ns;
                    tell(Place::Bus, Work::Program, begin - steps.in_ns, begin);
                    tell(Place::Cells, Work::Program, begin, at);
                    chain.left -= 1;
                    (chain.doing, chain.at) = match (chain.left, steps.command_ns) {
                        (0, _) => (Doing::Nothing, at),
                        (_, 0) => (Doing::Read, at + steps.read_ns),
                        (_, length) => (Doing::Command, bus.take_turn(at, length) + length),
                    };
                }
                Doing::Nothing => unreachable!("it is over"),
            }
            bus.chains[index] = chain;
        }
    }
}
