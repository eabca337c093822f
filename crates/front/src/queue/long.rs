//! Groups of commands that get one answer, and long commands. The drive's thread executes a long
//! command slice by slice, and executes other commands between two slices.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use flashgc_device::failure::Failure;
use flashgc_device::{Backend, Hinted};
use flashgc_workload::Op;

use super::{Caller, Metered, Outcome, Tell, at, execute};
use crate::command::{Answer, Command};
use crate::pace::Pace;
use crate::window::Window;
use flashgc_base::sync::lock;

/// Commands that are one command to their host. The host is answered when the last one is done.
pub(super) struct Several {
    pub(super) left: AtomicUsize,
    pub(super) failed: Mutex<Option<Failure>>,
    pub(super) tell: Mutex<Option<Tell>>,
}

impl Several {
    pub(super) fn done(&self, outcome: Outcome) {
        if let Err(failure) = outcome {
            lock(&self.failed).get_or_insert(failure);
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(tell) = lock(&self.tell).take()
        {
            tell(lock(&self.failed).take().map_or(Ok(Answer::Done), Err));
        }
    }
}

/// Commands of one client that are executed in slices.
pub(super) struct Long {
    pub(super) commands: VecDeque<(Command, Caller)>,
    /// The callers that wait for a flush after the last command.
    pub(super) waiting: Vec<Caller>,
    /// `true` once the first slice of the command at the front is done.
    pub(super) is_begun: bool,
    /// The number of pages for which the hints of the command at the front came too late.
    pub(super) late: u64,
    pub(super) client: Option<Arc<Window>>,
}

impl Long {
    /// Returns `true` if nobody waits for the commands any more.
    fn is_gone(&self) -> bool {
        self.client.as_ref().is_some_and(|client| client.is_gone())
    }
}

impl<S: Backend> Metered<S> {
    /// Executes the next slice of long commands. Returns `true` once they have ended.
    pub(super) fn step(&mut self, long: &mut Long, pace: Option<&Pace>) -> bool {
        let began = Instant::now();
        let Some((mut command, mut caller)) = long.commands.pop_front() else { return true };
        if long.is_gone() {
            return true;
        }
        let Self { drive, meter, .. } = self;
        let mut checked = Ok(());
        if !long.is_begun {
            meter.count(&command);
            checked = command.range().map_or(Ok(()), |(at, bytes)| drive.check(at, bytes));
        }
        let is_durable = command.durable();
        let slice = command.next_slice();
        let (slice, rest) = match slice {
            Some(slice) => (slice, Some(command)),
            None => (command, None),
        };
        let outcome = checked.and_then(|()| at(&caller, drive, |drive| execute(drive, slice)));
        caller.noted.extend(drive.noted());
        let outcome = outcome.map(|answer| match answer {
            Answer::Hinted(hinted) => {
                pace.into_iter().for_each(|pace| pace.hint(Op::Dirty, &hinted.pages));
                long.late += hinted.late;
                Answer::Hinted(Hinted { late: long.late, pages: vec![] })
            }
            answer => answer,
        });
        match (outcome, rest) {
            (Ok(_), Some(rest)) => {
                long.is_begun = true;
                long.commands.push_front((rest, caller));
            }
            (outcome, _) => {
                (long.is_begun, long.late) = (false, 0);
                match outcome {
                    Ok(_) if is_durable => long.waiting.push(caller),
                    Ok(answer) if caller.is_handed_over => {
                        self.changes.push((caller, answer));
                        self.hand_over();
                    }
                    outcome => caller.tell(outcome, meter),
                }
            }
        }
        let has_ended = long.commands.is_empty();
        if has_ended {
            self.flush(std::mem::take(&mut long.waiting));
        }
        self.worked(began);
        has_ended
    }
}
