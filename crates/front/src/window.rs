//! Limits the bytes that connections have under way, and finds connections that do not use their
//! place.
//!
//! Each connection has some reserved room, so that a small request never waits for another client.
//! Larger requests share the rest. While a client waits for shared room, connections that hold some
//! and are stalled are closed. A stalled client does not take its replies, or does not send the
//! data that it announced.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::limits::Limits;
use flashgc_base::sync::lock;

/// The interval of the search for stalled clients while a client waits for room.
const LOOK: Duration = Duration::from_millis(50);

/// The room that the connections of a server share.
pub struct Room {
    limits: Limits,
    state: Mutex<Shared>,
    changed: Condvar,
    /// The time at which the room was made. The times in [`Window::waits`] count from it.
    began: Instant,
}

#[derive(Default)]
struct Shared {
    used: usize,
    windows: Vec<Weak<Window>>,
}

impl Room {
    pub fn new(limits: Limits) -> Arc<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Arc::new(Self { limits, state, changed, began: Instant::now() })
    }

    /// Returns the limits of the server.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// If `bytes` are free, takes them and returns `true`. A single request always fits into an
    /// empty room.
    fn try_take(&self, bytes: usize) -> bool {
        let mut state = lock(&self.state);
        let fits = state.used == 0 || state.used + bytes <= self.limits.shared;
        if fits {
            state.used += bytes;
        }
        fits
    }

    fn free(&self, bytes: usize) {
        if bytes > 0 {
            lock(&self.state).used -= bytes;
            self.changed.notify_all();
        }
    }

    /// Waits up to [`LOOK`] for room, then closes stalled connections that hold shared room.
    fn wait(&self) {
        let waited = self.changed.wait_timeout(lock(&self.state), LOOK);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let windows: Vec<_> = state.windows.iter().filter_map(Weak::upgrade).collect();
        drop(state);
        let stalled = |window: &&Arc<Window>| {
            lock(&window.state).shared > 0 && window.stalled() >= Some(self.limits.stalled)
        };
        windows.iter().filter(stalled).for_each(|window| window.end());
    }
}

/// The requests and bytes that a connection has under way.
pub struct Window {
    room: Arc<Room>,
    state: Mutex<State>,
    changed: Condvar,
    /// For each [`Way`], the time since which the server has waited for the client to send or to
    /// take bytes, in milliseconds since the room was made; 0 if the server does not wait.
    waits: [AtomicU64; 2],
    /// The function that closes the connection.
    end: Box<dyn Fn() + Send + Sync>,
}

struct State {
    used: usize,
    /// The bytes in use that are in the shared room.
    shared: usize,
    requests: usize,
    /// `true` once the client is gone. No more work is done for it.
    gone: bool,
    /// The time at which the last request ended.
    idle: Instant,
    /// `true` once the client has sent a request.
    has_asked: bool,
}

impl State {
    /// Counts a request of `cost` bytes, of which `shared` are in the shared room.
    fn book(&mut self, cost: usize, shared: usize) {
        self.shared += shared;
        self.used += cost;
        self.requests += 1;
        self.has_asked = true;
    }
}

/// A direction of a connection, as the server sees it.
#[derive(Clone, Copy)]
pub enum Way {
    Read,
    Write,
}

impl Window {
    /// Returns the window of a connection. `end` closes the connection.
    pub fn new(room: &Arc<Room>, end: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        let (room, end) = (Arc::clone(room), Box::new(end));
        let state = State {
            used: 0,
            shared: 0,
            requests: 0,
            gone: false,
            idle: Instant::now(),
            has_asked: false,
        };
        let (state, changed, waits) = (Mutex::new(state), Condvar::new(), Default::default());
        let window = Arc::new(Self { room, state, changed, waits, end });
        let mut shared = lock(&window.room.state);
        shared.windows.retain(|window| window.strong_count() > 0);
        shared.windows.push(Arc::downgrade(&window));
        drop(shared);
        window
    }

    /// Returns the limits of the connection's server.
    pub fn limits(&self) -> &Limits {
        &self.room.limits
    }

    /// Does the same as [`Window::take`], and calls `before` if it has to wait.
    pub fn take_or_wait(&self, cost: usize, before: impl FnOnce()) -> bool {
        self.try_take(cost) || {
            before();
            self.take(cost)
        }
    }

    /// Waits until `cost` more bytes may be under way, and takes them. A single request is always
    /// allowed. Returns `false` if the client is gone; the bytes are counted even then.
    pub fn take(&self, cost: usize) -> bool {
        let limits = &self.room.limits;
        let full = |state: &mut State| {
            let fits = state.used + cost <= limits.window && state.requests < limits.requests;
            !state.gone && state.used > 0 && !fits
        };
        loop {
            let mut state = self
                .changed
                .wait_while(lock(&self.state), full)
                .unwrap_or_else(PoisonError::into_inner);
            if state.gone {
                state.book(cost, 0);
                return false;
            }
            if self.book(&mut state, cost) {
                return true;
            }
            drop(state);
            self.room.wait();
        }
    }

    /// If `cost` more bytes may be under way now, takes them and returns `true`.
    pub fn try_take(&self, cost: usize) -> bool {
        let limits = &self.room.limits;
        let mut state = lock(&self.state);
        let fits = state.used + cost <= limits.window && state.requests < limits.requests;
        !state.gone && (fits || state.used == 0) && self.book(&mut state, cost)
    }

    /// Takes `cost` bytes for a request: first from the reserved room, the rest from the shared
    /// room. Returns `false`, and takes nothing, if the shared room has too few.
    fn book(&self, state: &mut State, cost: usize) -> bool {
        let beyond = (state.used + cost).saturating_sub(self.room.limits.own).max(state.shared);
        let more = beyond - state.shared;
        let fits = more == 0 || self.room.try_take(more);
        if fits {
            state.book(cost, more);
        }
        fits
    }

    /// Returns `true` if the client is gone. No more work is done for it.
    pub fn is_gone(&self) -> bool {
        lock(&self.state).gone
    }

    /// Returns the number of requests under way.
    pub fn requests(&self) -> usize {
        lock(&self.state).requests
    }

    /// Gives back the `cost` bytes of a request that has ended.
    pub fn free(&self, cost: usize) {
        let mut state = lock(&self.state);
        state.used -= cost;
        state.requests -= 1;
        state.idle = Instant::now();
        let beyond = state.used.saturating_sub(self.room.limits.own).min(state.shared);
        let given = state.shared - beyond;
        state.shared = beyond;
        drop(state);
        self.room.free(given);
        self.changed.notify_all();
    }

    /// Notes that the client is gone.
    pub fn close(&self) {
        lock(&self.state).gone = true;
        self.changed.notify_all();
    }

    /// Closes the connection.
    pub fn end(&self) {
        self.close();
        (self.end)();
    }

    /// Notes that the server has waited for the client in this direction since `since`.
    pub fn waits(&self, way: Way, since: Instant) {
        let since = since.saturating_duration_since(self.room.began).as_millis() as u64 + 1;
        self.waits[way as usize].store(since, Ordering::Relaxed);
    }

    /// Notes that the server does not wait for the client in this direction.
    pub fn moved(&self, way: Way) {
        self.waits[way as usize].store(0, Ordering::Relaxed);
    }

    /// Returns the time that the server has waited for this client to take or to send bytes; `None`
    /// if it does not wait.
    fn stalled(&self) -> Option<Duration> {
        let since = self.waits.iter().map(|since| since.load(Ordering::Relaxed));
        let since = since.filter(|since| *since > 0).min()?;
        Some(self.room.began.elapsed().saturating_sub(Duration::from_millis(since)))
    }

    /// Returns a rank, and the time for which the connection has not used its place; `None` if it
    /// keeps the place. The client with the highest rank loses its place first: 2 for clients that
    /// never sent a request, 1 for stalled ones, 0 for idle ones.
    pub fn useless(&self) -> Option<(u8, Duration)> {
        let limits = &self.room.limits;
        let (idle, has_asked) = {
            let state = lock(&self.state);
            ((state.requests == 0).then(|| state.idle.elapsed()), state.has_asked)
        };
        match idle {
            Some(idle) if !has_asked => (idle >= limits.newcomer).then_some((2, idle)),
            Some(idle) if idle >= limits.idle => Some((0, idle)),
            _ => self.stalled().filter(|time| *time >= limits.stalled).map(|time| (1, time)),
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let shared = lock(&self.state).shared;
        self.room.free(shared);
    }
}
