//! Commands of a real host that hold only hints.

use std::collections::VecDeque;

use flashgc_drive::error::DriveError;
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;

use super::FrontEnd;
use super::requests::{Party, WaitingRequest};
use crate::clock::{Event, NEVER};
use crate::observer::Observer;
use crate::ops::Kind;
use crate::schedule::Scheduler;
use crate::shared::Shared;

/// The hints of one command: their kind and their pages.
type Hinted = (Kind, Vec<u32>);

/// The commands for hints, from their arrival to their end.
///
/// It knows the times and the pages of commands. The drive gets the hints at the end of a command.
pub struct HintCommands {
    /// The time that the drive takes for a command, in nanoseconds.
    cost_ns: u64,
    /// `true` if other commands may run at the same time.
    queued: bool,
    /// The pages of the command that still lacks pieces.
    arriving: Vec<u32>,
    /// The commands in front of the drive.
    waiting: VecDeque<Hinted>,
    /// The commands in the drive, each with the time at which it is done, in nanoseconds.
    begun: VecDeque<(u64, Hinted)>,
}

impl HintCommands {
    /// Returns an empty queue of commands that take `cost_ns` nanoseconds each. Other commands may
    /// run at the same time if `queued`.
    pub fn new((cost_ns, queued): (u64, bool)) -> Self {
        Self {
            cost_ns,
            queued,
            arriving: Vec::new(),
            waiting: VecDeque::new(),
            begun: VecDeque::new(),
        }
    }

    /// Returns `true` if the next command may enter the drive. `for_hints` is `true` if that
    /// command holds only hints. `outstanding` commands are under way. If commands for hints are
    /// not queued, such a command waits until none is under way, and all others wait until it is
    /// done.
    pub fn lets_in(&self, outstanding: u32, for_hints: bool) -> bool {
        self.queued || (self.begun.is_empty() && (!for_hints || outstanding == 0))
    }
}

impl FrontEnd {
    /// From now on, the host sends its hints in separate commands.
    pub fn put_hint_commands(&mut self, commands: HintCommands) {
        self.hint_commands = Some(Box::new(commands));
    }

    /// Takes a piece of a command for hints. With its last piece the command goes to the drive's
    /// queue.
    pub(super) fn tell_by_command<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
        piece: TimedRequest,
    ) -> Result<(), DriveError> {
        let pages = self.shape.pages_of(&piece)?;
        let kind = if piece.op == Op::Clean { Kind::Clean } else { Kind::Tell };
        let request = self.shape.request_on(Op::Read, 0);
        let commands = self.hint_commands.as_mut().expect("hints come by commands");
        commands.arriving.extend(pages);
        if piece.goes_on {
            return Ok(());
        }
        let hinted = std::mem::take(&mut commands.arriving);
        commands.waiting.push_back((kind, hinted));
        let waiting = WaitingRequest::new(request, shared.now(), Party::Hints);
        self.let_in(shared, dies, waiting)
    }

    /// Lets the drive begin the first waiting command for hints. From now on the hinted pages are
    /// expected to be written; a write that the drive has taken before does not count.
    pub(super) fn begin_hint_command<O: Observer>(&mut self, shared: &mut Shared<O>) {
        let Some(commands) = &mut self.hint_commands else { return };
        let Some((kind, pages)) = commands.waiting.pop_front() else { return };
        if kind == Kind::Tell && shared.map.hints().is_some() {
            pages.iter().for_each(|&page| shared.expect(page));
        }
        let end = shared.now() + commands.cost_ns;
        commands.begun.push_back((end, (kind, pages)));
        if commands.begun.len() == 1 {
            shared.clock.set(Event::Hints, end);
        }
    }

    /// Ends the commands for hints whose time is over. A hint is dropped if the write that it
    /// announces has come already.
    ///
    /// # Errors
    /// The errors of the map.
    pub(super) fn end_hint_commands<O: Observer>(
        &mut self,
        shared: &mut Shared<O>,
        dies: &mut Scheduler,
    ) -> Result<(), DriveError> {
        while let Some(commands) = &mut self.hint_commands
            && commands.begun.front().is_some_and(|&(end, _)| end <= shared.now())
            && let Some((_, (kind, mut pages))) = commands.begun.pop_front()
        {
            if kind == Kind::Tell {
                pages.retain(|&page| shared.is_expected(page));
            }
            // The pages were noted as expected when the command began, so `Kind::Tell` is not
            // needed.
            let kind = if kind == Kind::Tell { Kind::Hint } else { kind };
            self.hint(shared, dies, kind, &pages)?;
            self.left_drive();
        }
        let first = self.hint_commands.as_ref().and_then(|commands| commands.begun.front());
        shared.clock.set(Event::Hints, first.map_or(NEVER, |&(end, _)| end));
        self.admit(shared, dies)
    }
}
