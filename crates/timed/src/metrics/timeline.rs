//! A timeline: the single requests, collections and operations in a window of time, to be drawn or
//! written as trace events.

use std::collections::VecDeque;
use std::io::{self, Write};

use super::trace_events::{Happening, TraceEvents};
use crate::config::words::Window;

/// The largest number of items that a timeline keeps. A picture of more could not be read.
pub const MOST: usize = 1_000_000;

/// The requests, collections and operations in a window of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    from_ns: u64,
    to_ns: u64,
    happenings: Vec<Happening>,
    left_out: u64,
    search: Option<Search>,
}

/// The search for the slowest request. It keeps the latest operations, as only the end of a request
/// shows how slow the request was.
#[derive(Clone, Debug, PartialEq)]
struct Search {
    length_ns: u64,
    /// The longest response time so far, in nanoseconds.
    worst_ns: u64,
    latest: VecDeque<Happening>,
}

impl Timeline {
    /// Returns a timeline of this window.
    pub fn new(window: Window) -> Self {
        let (from_ns, to_ns, search) = match window {
            Window::Fixed { from_ns, to_ns } => (from_ns, to_ns, None),
            Window::Worst { length_ns } => {
                (0, 0, Some(Search { length_ns, worst_ns: 0, latest: VecDeque::new() }))
            }
        };
        Self { from_ns, to_ns, happenings: Vec::new(), left_out: 0, search }
    }

    /// Notes a measured request that is done. If the window follows the slowest request, and this
    /// request is slower than all before, the window moves to the end of this request.
    pub fn measured(&mut self, arrived_ns: u64, completed_ns: u64) {
        let Some(search) = &mut self.search else { return };
        let response_ns = completed_ns - arrived_ns;
        if response_ns <= search.worst_ns {
            return;
        }
        search.worst_ns = response_ns;
        self.to_ns = completed_ns + search.length_ns / 10;
        self.from_ns = self.to_ns.saturating_sub(search.length_ns);
        let (from_ns, to_ns) = (self.from_ns, self.to_ns);
        let inside =
            |happening: &&Happening| happening.from_ns() < to_ns && happening.to_ns() > from_ns;
        self.happenings = search.latest.iter().filter(inside).copied().collect();
        self.left_out = 0;
    }

    /// Notes a request, a collection or an operation, at its end.
    pub fn note(&mut self, happening: Happening) {
        let (from_ns, to_ns) = (happening.from_ns(), happening.to_ns());
        if let Some(Search { length_ns, latest, .. }) = &mut self.search {
            latest.push_back(happening);
            let old = |first: &Happening| first.to_ns() + *length_ns < to_ns;
            while latest.len() > MOST || latest.front().is_some_and(old) {
                latest.pop_front();
            }
        }
        if from_ns < self.to_ns && to_ns > self.from_ns {
            if self.happenings.len() < MOST {
                self.happenings.push(happening);
            } else {
                self.left_out += 1;
            }
        }
    }

    /// Returns the number of items in the window that were dropped, as there are more than
    /// [`MOST`].
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes the timeline as trace events.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut events = TraceEvents::new(out, 0, u64::MAX, u64::MAX);
        events.replay(&self.happenings);
        events.finish(self.to_ns)
    }
}

#[cfg(test)]
mod tests {
    use flashgc_workload::Op;

    use super::*;
    use crate::{Cause, Completion, Place, Span, Work};

    fn span(begin_ns: u64, end_ns: u64) -> Happening {
        Happening::Work(Span {
            begin_ns,
            end_ns,
            place: Place::Cells,
            channel: 0,
            die: 0,
            plane: 0,
            work: Work::Read,
            page: None,
            cause: Cause::Request(0),
        })
    }

    fn request(number: u64, arrived_ns: u64, completed_ns: u64) -> Happening {
        let completion = Completion {
            number,
            op: Op::Read,
            offset: 0,
            bytes: 4096,
            urgent: false,
            stream: None,
            arrived_ns,
            dispatched_ns: arrived_ns,
            completed_ns,
            queue_ns: 0,
            blocked_ns: 0,
            bus_ns: 0,
            cell_ns: completed_ns - arrived_ns,
            plane: Some(0),
            met_collection: false,
        };
        Happening::Request(completion, None)
    }

    #[test]
    fn the_window_is_laid_around_the_end_of_the_slowest_request() {
        let mut timeline = Timeline::new(Window::Worst { length_ns: 1000 });
        let complete = |timeline: &mut Timeline, number, from, to| {
            timeline.note(request(number, from, to));
            timeline.measured(from, to);
        };
        timeline.note(span(0, 900));
        complete(&mut timeline, 0, 0, 900);
        timeline.note(span(4000, 4050)); // 5000 + 100 - 1000 = 4100: before the window
        timeline.note(span(4050, 4150));
        timeline.note(span(4990, 5000));
        complete(&mut timeline, 1, 2000, 5000);
        timeline.note(span(5000, 5099));
        complete(&mut timeline, 2, 4990, 5099); // faster: the window stays
        timeline.note(span(5100, 5200)); // behind the window
        assert_eq!((timeline.from_ns, timeline.to_ns), (4100, 5100));
        let shown = [
            span(4050, 4150),
            span(4990, 5000),
            request(1, 2000, 5000),
            span(5000, 5099),
            request(2, 4990, 5099),
        ];
        assert_eq!(timeline.happenings, shown);
    }
}
