//! Scripts: the steps to do with a drive, drawn from a seed.

use std::fmt;
use std::ops::Range;

use flashgc_base::rng::Stream;
use flashgc_ftl::EndOfLife;

use super::super::drives::{ALLOCATIONS, PLACEMENTS, VICTIMS, lifespan, parity, settings, shape};
use super::super::oracle::Version;
use super::short::Short;
use crate::layout::PAGE;
use crate::settings::{Durability, Settings};

/// The number of steps in a script.
const STEPS: u32 = 300;

/// A fault of the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failing {
    /// From the n-th write on: EIO.
    Write(u32),
    /// From the n-th write on: ENOSPC.
    Full(u32),
    /// The n-th sync, once: EIO. The second number is the seed that selects the writes that reach
    /// the disk.
    Sync(u32, u32),
    /// Reads of one place: EIO. The number selects the place.
    Read(u32),
    /// The n-th write, once: a part of it is done, then EIO.
    Short(Short),
}

/// The fault during the recovery after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// No fault.
    No,
    /// The recovery is cut off at a random operation.
    Crash,
    /// The medium fails during the recovery.
    Failing(Failing),
}

/// A step. `draw` and `at` are seeds for the choices that are made when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Write {
        first: u32,
        count: u32,
        version: Version,
        fua: bool,
    },
    /// Writes `bytes` bytes from byte `at` on.
    Part {
        at: u32,
        bytes: u32,
        version: Version,
    },
    Trim {
        first: u32,
        count: u32,
    },
    Flush,
    /// The drive gets no command for a second.
    Idle,
    Read {
        first: u32,
        count: u32,
    },
    Hint {
        first: u32,
        count: u32,
        is_hint: bool,
    },
    Crash {
        draw: u32,
        again: Again,
        flip: Option<u32>,
    },
    Reopen {
        draw: u32,
        flip: Option<u32>,
    },
    Flip {
        at: u32,
    },
    Fail(Failing),
    /// The next sync loses an operation and succeeds.
    Lie {
        draw: u32,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pages = |first: u32, count: u32| -> Range<u32> { first..first + count };
        match *self {
            Self::Write { first, count, version, fua } => {
                let fua = if fua { ", FUA" } else { "" };
                write!(f, "write pages {:?}, version {version}{fua}", pages(first, count))
            }
            Self::Part { at, bytes, version } => {
                write!(f, "write {bytes} bytes from byte {at} on, version {version}")
            }
            Self::Trim { first, count } => write!(f, "trim pages {:?}", pages(first, count)),
            Self::Flush => f.write_str("flush"),
            Self::Idle => f.write_str("idle for a second"),
            Self::Read { first, count } => write!(f, "read pages {:?}", pages(first, count)),
            Self::Hint { first, count, is_hint } => {
                let what = if is_hint { "hint" } else { "cancel hints on" };
                write!(f, "{what} pages {:?}", pages(first, count))
            }
            Self::Crash { draw, again, flip } => {
                write!(f, "crash (draw {draw}")?;
                match again {
                    Again::No => {}
                    Again::Crash => f.write_str(", and again in recovery")?,
                    Again::Failing(failing) => write!(f, ", recovery with {failing:?}")?,
                }
                flip.iter().try_for_each(|at| write!(f, ", look with bit {at} flipped first"))?;
                f.write_str(")")
            }
            Self::Reopen { draw, flip } => {
                write!(f, "close and open (draw {draw}")?;
                flip.iter().try_for_each(|at| write!(f, ", look with bit {at} flipped first"))?;
                f.write_str(")")
            }
            Self::Flip { at } => write!(f, "flip bit {at} of data or out-of-band records"),
            Self::Fail(failing) => write!(f, "let the medium fail: {failing:?}"),
            Self::Lie { draw } => write!(f, "let the next sync lie (draw {draw})"),
        }
    }
}

/// The settings of a drive, and the steps to do with it.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) settings: Settings,
    /// `true` if the medium can give room back.
    pub(super) punches: bool,
    /// `true` if the host survives the end of the process. It is then answered only after its
    /// changes were handed over to the system.
    pub(super) is_outlived: bool,
    pub(super) steps: Vec<Step>,
}

/// The weight of each kind of step; 0 if the seed switched it off.
struct Swarm {
    part: u32,
    trim: u32,
    flush: u32,
    idle: u32,
    fua: u32,
    read: u32,
    hint: u32,
    crash: u32,
    reopen: u32,
    flip: u32,
    fail: u32,
    lie: u32,
    /// The faults of the medium that may occur, one bit each.
    faults: u32,
    /// `true` if recoveries may fail as well.
    again: bool,
    /// The number of hot pages, which are the first pages of the drive. Half of the commands go to
    /// them.
    hot: u32,
}

impl Script {
    pub(super) fn draw(seed: u64) -> Self {
        let mut rng = Stream::new(seed, "fuzz");
        let mut one_of = |all: &[&'static str]| all[rng.below(all.len() as u32) as usize];
        let policies = (one_of(&VICTIMS), one_of(&PLACEMENTS), one_of(&ALLOCATIONS));
        let mut of = |all: [u32; 4]| all[rng.below(4) as usize];
        let journal_blocks = of([8, 8, 10, 16]).into();
        let swarm = Swarm {
            part: of([0, 0, 5, 20]),
            trim: of([0, 3, 10, 20]),
            flush: of([1, 4, 10, 20]),
            idle: of([0, 0, 1, 5]),
            fua: of([0, 0, 5, 40]),
            read: of([2, 5, 10, 10]),
            hint: of([0, 0, 2, 5]),
            crash: of([1, 2, 4, 8]),
            reopen: of([0, 1, 1, 4]),
            flip: of([0, 0, 0, 2]),
            fail: of([0, 0, 1, 3]),
            lie: of([0, 0, 0, 2]),
            faults: of([1 << 0 | 1 << 4, 1 << 1 | 1 << 4, 1 << 2 | 1 << 3, 0b11111]),
            again: of([0, 0, 1, 1]) == 1,
            hot: of([1, 4, 10, 84]),
        };
        // The faults of some scripts are only failing syncs, ends of the process and losses of
        // power.
        let swarm = match of([0, 1, 1, 1]) {
            0 => Swarm {
                flush: 20,
                crash: 10,
                flip: 0,
                fail: 8,
                faults: 1 << 2,
                again: true,
                ..swarm
            },
            _ => swarm,
        };
        let durability = match (of([0, 1, 1, 1]), of([0, 1, 1, 1])) {
            (0, 0) => Durability::None,
            (0, _) => Durability::Process,
            _ => Durability::Power,
        };
        let limit = of([3, 6, 10, 20]);
        let lives =
            [EndOfLife::FirstFailure, EndOfLife::SystemFailure].get(of([0, 1, 2, 3]) as usize);
        let lifespan = lives.map(|&ends_at| lifespan(limit, ends_at));
        let punches = of([0, 1, 1, 1]) == 1;
        let is_small = durability != Durability::Power || of([0, 1, 2, 3]) + of([0, 1, 2, 3]) > 1;
        let (shape, parity) = (shape(is_small, policies.1), parity(of([0, 1, 2, 3])));
        let settings = settings(shape, policies, journal_blocks, durability, lifespan, parity);
        let is_outlived = of([0, 1, 0, 1]) == 1;
        let pages = settings.layout.geometry.logical_pages();
        let mut draw = Draw { rng, swarm, pages, version: 0 };
        let steps = (0..STEPS).map(|_| draw.step()).collect();
        Self { settings, punches, is_outlived, steps }
    }

    /// Returns the drive and the steps as text, one line each.
    pub(super) fn lines(&self) -> Vec<String> {
        let Settings { layout, victim, journal_blocks, durability, parity, .. } = &self.settings;
        let drive = format!(
            "drive: {} blocks of {} pages, victim {victim}, placement {}, allocation {}, {journal_blocks} journal \
             blocks, durability {}{}{}{}{}",
            layout.geometry.blocks(),
            layout.geometry.pages_per_block(),
            layout.placement,
            layout.allocation,
            durability.name(),
            parity.map(|parity| format!(", {parity:?}")).unwrap_or_default(),
            layout.lifespan.map(|life| format!(", {life:?}")).unwrap_or_default(),
            if self.punches { "" } else { ", the medium gives no room back" },
            if self.is_outlived { ", the host outlives the process" } else { "" }
        );
        std::iter::once(drive).chain(self.steps.iter().map(Step::to_string)).collect()
    }
}

struct Draw {
    rng: Stream,
    swarm: Swarm,
    pages: u32,
    version: Version,
}

impl Draw {
    fn step(&mut self) -> Step {
        let Swarm { part, trim, flush, idle, read, hint, crash, reopen, flip, fail, lie, .. } =
            self.swarm;
        let weights = [60, trim, flush, read, hint, crash, reopen, flip, fail, part, idle, lie];
        let mut left = self.rng.below(weights.iter().sum());
        let mut kind = 0;
        while left >= weights[kind] {
            left -= weights[kind];
            kind += 1;
        }
        match kind {
            0 => {
                let most = if self.rng.below(20) == 0 { 30 } else { 4 };
                let (first, count) = self.range(most);
                let fua = self.rng.below(100) < self.swarm.fua;
                self.version += 1;
                Step::Write { first, count, version: self.version, fua }
            }
            1 => {
                let (first, count) = self.range(10);
                Step::Trim { first, count }
            }
            2 => Step::Flush,
            3 => {
                let (first, count) = self.range(30);
                Step::Read { first, count }
            }
            4 => {
                let (first, count) = self.range(8);
                Step::Hint { first, count, is_hint: self.rng.below(3) > 0 }
            }
            5 => {
                let again = match self.rng.below(3) {
                    1 if self.swarm.again => Again::Crash,
                    2 if self.swarm.again && self.swarm.fail > 0 => Again::Failing(self.failing()),
                    _ => Again::No,
                };
                Step::Crash { draw: self.draw(), again, flip: self.flip() }
            }
            6 => Step::Reopen { draw: self.draw(), flip: self.flip() },
            7 => Step::Flip { at: self.draw() },
            8 => Step::Fail(self.failing()),
            9 => {
                let (first, count) = self.range(4);
                let at = first * PAGE as u32 + self.rng.below(PAGE as u32);
                let bytes = 1 + self.rng.below((first + count) * PAGE as u32 - at);
                self.version += 1;
                Step::Part { at, bytes, version: self.version }
            }
            10 => Step::Idle,
            _ => Step::Lie { draw: self.draw() },
        }
    }

    fn draw(&mut self) -> u32 {
        self.rng.below(u32::MAX)
    }

    fn flip(&mut self) -> Option<u32> {
        (self.swarm.flip > 0).then(|| self.draw())
    }

    fn failing(&mut self) -> Failing {
        let after = self.rng.below(40);
        let mut kind = self.rng.below(5);
        while self.swarm.faults >> kind & 1 == 0 {
            kind = (kind + 1) % 5;
        }
        match kind {
            0 => Failing::Write(after),
            1 => Failing::Full(after),
            2 => Failing::Sync(after / 8, self.draw()),
            3 => Failing::Read(self.draw()),
            _ => Failing::Short(Short { after, eighths: self.rng.below(8) }),
        }
    }

    /// Draws a range of at most `most` pages: the first page, and their number.
    fn range(&mut self, most: u32) -> (u32, u32) {
        let span = if self.rng.below(2) == 0 { self.swarm.hot } else { self.pages };
        let first = self.rng.below(span.min(self.pages));
        (first, (1 + self.rng.below(most)).min(self.pages - first))
    }
}
