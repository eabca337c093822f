//! Commands that bring the drive hints and nothing else, of a host that is not simulated.

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

/// The hints of one command.
type Hinted = (Kind, Vec<u32>);

/// The commands made for hints between their arrival and their end.
///
/// It knows their time and their pages. The drive knows the hints of a command when the command is done.
pub struct HintCommands {
    /// The time that the drive takes for a command, and `true` if it runs beside others.
    cost_ns: u64,
    queued: bool,
    /// The pages of the command whose pieces arrive.
    arriving: Vec<u32>,
    /// Commands in front of the drive, and those in it with the time at which each is done.
    waiting: VecDeque<Hinted>,
    begun: VecDeque<(u64, Hinted)>,
}

impl HintCommands {
    /// Returns commands that take `cost_ns` each, beside others if `queued`.
    pub fn new((cost_ns, queued): (u64, bool)) -> Self {
        Self {
            cost_ns,
            queued,
            arriving: Vec::new(),
            waiting: VecDeque::new(),
            begun: VecDeque::new(),
        }
    }

    /// Returns `true` if the drive, with `outstanding` commands under way, lets in a command that is
    /// `for_hints` or not. A command that is not queued is alone in the drive.
    pub fn lets_in(&self, outstanding: u32, for_hints: bool) -> bool {
        self.queued || (self.begun.is_empty() && (!for_hints || outstanding == 0))
    }
}

impl FrontEnd {
    /// Lets hints of requests come by commands of their own from now on.
    pub fn put_hint_commands(&mut self, commands: HintCommands) {
        self.hint_commands = Some(Box::new(commands));
    }

    /// Takes a piece of a command made for hints. With its last piece the command waits for the drive.
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

    /// Lets the drive take the first command made for hints that waits. Writes that it has taken before are
    /// not those that the hints announce.
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

    /// Ends the commands made for hints that are done. A hint whose write was faster is dropped.
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
            // Writes that came with the command keep the place that they had when it began.
            let kind = if kind == Kind::Tell { Kind::Hint } else { kind };
            self.hint(shared, dies, kind, &pages)?;
            self.left_drive();
        }
        let first = self.hint_commands.as_ref().and_then(|commands| commands.begun.front());
        shared.clock.set(Event::Hints, first.map_or(NEVER, |&(end, _)| end));
        self.admit(shared, dies)
    }
}
