//! How much a connection may have under way.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of requests and replies that a connection may have under way.
const BUDGET: usize = 64 << 20;

/// What a connection may have under way, so that a client that reads no replies fills no memory.
#[derive(Default)]
pub struct Window {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    used: usize,
    /// The client is gone, so nothing more is done for it.
    gone: bool,
}

impl Window {
    /// Waits until `cost` bytes more may be under way. One request always may. False: the client is
    /// gone.
    pub fn take(&self, cost: usize) -> bool {
        let full = |state: &mut State| !state.gone && state.used > 0 && state.used + cost > BUDGET;
        let mut state =
            self.changed.wait_while(self.lock(), full).unwrap_or_else(PoisonError::into_inner);
        state.used += cost;
        !state.gone
    }

    /// `cost` bytes are not under way any more.
    pub fn free(&self, cost: usize) {
        self.lock().used -= cost;
        self.changed.notify_all();
    }

    /// The client is gone.
    pub fn close(&self) {
        self.lock().gone = true;
        self.changed.notify_all();
    }

    /// Waits until nothing is under way.
    #[cfg(feature = "vhost-user")]
    pub fn wait_idle(&self) {
        let busy = |state: &mut State| state.used > 0;
        drop(self.changed.wait_while(self.lock(), busy));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
