//! The writes to come, for a placement that knows them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use flashgc_base::snapshot::{State, Value};

/// A write or a TRIM of one page by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct Event {
    /// The logical page.
    pub page: u32,
    /// `true` if the host discards the page, `false` if it writes it.
    pub is_trim: bool,
}

/// The writes and TRIMs of the host, from the first write of the drive on.
pub trait Future: State + Send {
    /// Replaces `events` by the next ones; leaves it empty at the end.
    fn next(&mut self, events: &mut Vec<Event>);
}

/// A future that waits for the one placement that will be made with it.
#[derive(Clone, Default)]
pub(super) struct Waiting(Option<Arc<Mutex<Taken>>>);

/// `None` once the future was taken.
type Taken = Option<Box<dyn Future>>;

impl Waiting {
    pub(super) fn new(future: Box<dyn Future>) -> Self {
        Self(Some(Arc::new(Mutex::new(Some(future)))))
    }

    pub(super) fn take(&self) -> Option<Box<dyn Future>> {
        self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waiting({})", self.0.is_some())
    }
}
