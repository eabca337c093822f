//! The interface between runs and their caller: progress, cancelling and checkpoints.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flashgc_base::sync::lock;
use flashgc_timed::WorstResult;

use crate::checkpoint::Turns;

/// The progress of runs, and their cancelling. The runs share it with their caller.
#[derive(Default)]
pub struct Control {
    /// The caller sets this to cancel. Every run then stops at its next batch and reports its
    /// figures so far.
    pub cancel: AtomicBool,
    /// The parts of runs that are done. A whole run has [`Control::RUN`] parts.
    pub done: AtomicU64,
    /// The pages programmed so far, in all runs together.
    pub programs: AtomicU64,
    /// The slowest request so far of a run with a clock, without the operations of its die.
    pub worst: Mutex<Option<WorstResult>>,
}

impl Control {
    /// The number of parts of one run in `done`.
    pub const RUN: u64 = 1 << 20;

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Keeps `worst` if it is the slowest request of all runs so far.
    pub(crate) fn tell_worst(&self, worst: WorstResult) {
        let mut kept = lock(&self.worst);
        if kept.as_ref().is_none_or(|kept| kept.response_us < worst.response_us) {
            *kept = Some(WorstResult { operations: Vec::new(), ..worst });
        }
    }
}

/// A function of the caller that is called every few batches by runs on the caller's own thread.
pub type Poll<'a> = &'a mut dyn FnMut();

/// The caller of one run, called between two steps of the run.
pub(crate) struct Caller<'a, 'p> {
    pub(crate) control: &'a Control,
    pub(crate) poll: Option<Poll<'p>>,
    pub(crate) turns: Turns<'a>,
}

impl Caller<'_, '_> {
    pub(crate) fn poll(&mut self) {
        if let Some(poll) = &mut self.poll {
            poll();
        }
    }
}

/// The progress of a run, in units of its length and in pages programmed.
#[derive(Default)]
pub(crate) struct Progress {
    total: u64,
    /// The number of parts of the run that were reported as done. A run has [`Control::RUN`] parts.
    pub(crate) reported: u64,
    programs: u64,
}

impl Progress {
    /// Returns the progress of a run of `total` units. `before` of these units and `programs` pages
    /// were reported before.
    pub(crate) fn new(total: u64, before: u64, programs: u64) -> Self {
        let mut progress = Self { total: total.max(1), reported: 0, programs };
        progress.reported = progress.parts(before);
        progress
    }

    fn parts(&self, position: u64) -> u64 {
        let share = u128::from(position.min(self.total)) * u128::from(Control::RUN);
        (share / u128::from(self.total)) as u64
    }

    pub(crate) fn report(&mut self, position: u64, programs: u64, control: &Control) {
        let parts = self.parts(position);
        control.done.fetch_add(parts.saturating_sub(self.reported), Ordering::Relaxed);
        control.programs.fetch_add(programs - self.programs, Ordering::Relaxed);
        (self.reported, self.programs) = (self.reported.max(parts), programs);
    }
}
