//! Delayed answers, and the thread that sends them when they are due.

use flashgc_base::sync::lock;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

type Answer = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    /// The answers by the time at which they are due. Answers with equal times are in the order in
    /// which they were added.
    waiting: BTreeMap<(Instant, u64), Answer>,
    /// The number of answers added so far.
    count: u64,
    /// The number of times that all delayed answers were released.
    released: u64,
    /// `true` if the thread was started.
    runs: bool,
    /// `true` if answers are not delayed any more.
    has_ended: bool,
}

/// The delayed answers of a drive.
#[derive(Default)]
pub(super) struct Late {
    state: Mutex<State>,
    changed: Condvar,
}

impl Late {
    /// Starts the thread, if it does not run yet.
    pub(super) fn start(late: &Arc<Self>) -> io::Result<()> {
        let mut state = lock(&late.state);
        if !state.runs {
            let shared = Arc::clone(late);
            std::thread::Builder::new().name("faults".into()).spawn(move || shared.run())?;
            state.runs = true;
        }
        Ok(())
    }

    /// Returns the number of times that all delayed answers were released.
    pub(super) fn released(&self) -> u64 {
        lock(&self.state).released
    }

    /// Delays an answer by `time`. `released` is the value of [`Late::released`] at the time when
    /// the command met its fault. If delayed answers were released since then, the answer is sent
    /// at once.
    pub(super) fn hold(&self, time: Duration, released: u64, answer: Answer) {
        let mut state = lock(&self.state);
        if !state.runs || state.has_ended || state.released != released {
            drop(state);
            return answer();
        }
        state.count += 1;
        let key = (Instant::now() + time, state.count);
        state.waiting.insert(key, answer);
        drop(state);
        self.changed.notify_all();
    }

    /// Sends all delayed answers at once. Commands under way are then answered without their delay.
    pub(super) fn release(&self) {
        let mut state = lock(&self.state);
        state.released += 1;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_values().for_each(|answer| answer());
    }

    /// Sends all delayed answers, and ends the thread.
    pub(super) fn end(&self) {
        lock(&self.state).has_ended = true;
        self.changed.notify_all();
        self.release();
    }

    fn run(&self) {
        let mut state = lock(&self.state);
        while !state.has_ended {
            let now = Instant::now();
            match state.waiting.first_entry() {
                Some(first) if first.key().0 <= now => {
                    let answer = first.remove();
                    drop(state);
                    answer();
                    state = lock(&self.state);
                }
                Some(first) => {
                    let left = first.key().0 - now;
                    let waited = self.changed.wait_timeout(state, left);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}
