//! Answers that leave late, and the thread that lets them leave.

use flashgc_base::sync::lock;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

type Answer = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    /// The answers by the times at which they leave, those of one time in the order in which they came.
    waiting: BTreeMap<(Instant, u64), Answer>,
    /// The number of answers that came.
    count: u64,
    /// The number of times that all answers had to leave.
    released: u64,
    /// `true` if the thread is there.
    runs: bool,
    /// `true` if no answer waits any more.
    has_ended: bool,
}

/// See the module's text.
#[derive(Default)]
pub(super) struct Late {
    state: Mutex<State>,
    changed: Condvar,
}

impl Late {
    /// Starts the thread, unless it is there.
    pub(super) fn start(late: &Arc<Self>) -> io::Result<()> {
        let mut state = lock(&late.state);
        if !state.runs {
            let shared = Arc::clone(late);
            std::thread::Builder::new().name("faults".into()).spawn(move || shared.run())?;
            state.runs = true;
        }
        Ok(())
    }

    /// Returns the number of times that all answers had to leave.
    pub(super) fn released(&self) -> u64 {
        lock(&self.state).released
    }

    /// Keeps an answer for a time, unless all had to leave since this number was theirs.
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

    /// Lets all answers leave at once, and those of commands that are not done yet when they are.
    pub(super) fn release(&self) {
        let mut state = lock(&self.state);
        state.released += 1;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_values().for_each(|answer| answer());
    }

    /// Lets all answers leave, and ends the thread.
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
