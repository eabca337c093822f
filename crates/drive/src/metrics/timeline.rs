//! A timeline of single operations, in the trace event format that Perfetto (ui.perfetto.dev) and
//! Chrome (chrome://tracing) show: a row for each bus and each die, and the requests and
//! collections above them.

use std::collections::VecDeque;
use std::io::{self, Write};

use flashgc_workload::Op;
use serde::Serialize;

/// Where an operation happens: a row of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The bus of a channel.
    Bus {
        /// Number of the channel.
        channel: u32,
    },
    /// A die, counted over the whole drive.
    Die {
        /// Number of its channel.
        channel: u32,
        /// Number of the die.
        die: u32,
    },
}

/// One operation, from its beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its row.
    pub row: Row,
    /// Its name: `read`, `program`, `erase`, `transfer` and so on.
    pub name: &'static str,
    /// Whether it is a collection's, not the host's.
    pub collection: bool,
    /// The logical page; `None` of an erase.
    pub page: Option<u32>,
    /// Nanoseconds.
    pub from_ns: u64,
    /// Nanoseconds.
    pub to_ns: u64,
}

/// A request, or a collection, from its beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// A request, by its number.
    Request(u64, Op),
    /// A collection of the unit of that number.
    Collection(u32),
}

/// Most operations that are kept: pictures of more cannot be looked at.
pub const MOST: usize = 1_000_000;

/// The window of time that a timeline shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// From when to when, in nanoseconds since the start.
    Fixed {
        /// Its beginning.
        from_ns: u64,
        /// Its end.
        to_ns: u64,
    },
    /// So many nanoseconds around the end of the slowest request: nine tenths before, one after.
    Worst {
        /// Its length.
        length_ns: u64,
    },
}

/// Collects the operations in a window of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    from_ns: u64,
    to_ns: u64,
    spans: Vec<Span>,
    wholes: Vec<(Whole, u64, u64)>,
    left_out: u64,
    search: Option<Search>,
}

/// The search for the slowest request: the latest operations are kept, since only the end of a
/// request shows how slow it was.
#[derive(Clone, Debug, PartialEq)]
struct Search {
    length_ns: u64,
    /// The slowest request's response time so far.
    worst_ns: u64,
    spans: VecDeque<Span>,
    wholes: VecDeque<(Whole, u64, u64)>,
}

/// Adds `one`, and drops those that ended more than `length_ns` before it and more than [`MOST`].
fn keep_latest<T>(kept: &mut VecDeque<T>, one: T, length_ns: u64, end: impl Fn(&T) -> u64) {
    let now = end(&one);
    kept.push_back(one);
    while kept.len() > MOST || kept.front().is_some_and(|first| end(first) + length_ns < now) {
        kept.pop_front();
    }
}

impl Timeline {
    /// A timeline of this window.
    pub fn new(window: Window) -> Self {
        let (from_ns, to_ns, search) = match window {
            Window::Fixed { from_ns, to_ns } => (from_ns, to_ns, None),
            Window::Worst { length_ns } => {
                let (spans, wholes) = (VecDeque::new(), VecDeque::new());
                (0, 0, Some(Search { length_ns, worst_ns: 0, spans, wholes }))
            }
        };
        Self { from_ns, to_ns, spans: Vec::new(), wholes: Vec::new(), left_out: 0, search }
    }

    /// A measured request is done. Where the slowest is searched for and this one is slower than
    /// all before it, the window is laid around its end.
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
        let inside = |from: u64, to: u64| from < to_ns && to > from_ns;
        let spans = search.spans.iter().filter(|span| inside(span.from_ns, span.to_ns));
        self.spans = spans.copied().collect();
        let wholes = search.wholes.iter().filter(|whole| inside(whole.1, whole.2));
        self.wholes = wholes.copied().collect();
        self.left_out = 0;
    }

    fn keeps(&mut self, from_ns: u64, to_ns: u64) -> bool {
        let inside = from_ns < self.to_ns && to_ns > self.from_ns;
        let room = self.spans.len() + self.wholes.len() < MOST;
        self.left_out += u64::from(inside && !room);
        inside && room
    }

    /// Notes an operation.
    pub fn span(&mut self, span: Span) {
        if let Some(Search { length_ns, spans, .. }) = &mut self.search {
            keep_latest(spans, span, *length_ns, |span| span.to_ns);
        }
        if self.keeps(span.from_ns, span.to_ns) {
            self.spans.push(span);
        }
    }

    /// Notes a request or a collection.
    pub fn whole(&mut self, whole: Whole, from_ns: u64, to_ns: u64) {
        if let Some(Search { length_ns, wholes, .. }) = &mut self.search {
            keep_latest(wholes, (whole, from_ns, to_ns), *length_ns, |whole| whole.2);
        }
        if self.keeps(from_ns, to_ns) {
            self.wholes.push((whole, from_ns, to_ns));
        }
    }

    /// Operations in the window that there was no room for.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes the timeline as JSON: `{"traceEvents": [...], "displayTimeUnit": "ns"}`. Times are
    /// microseconds with three decimals, exactly.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let mut first = true;
        for event in self.events() {
            out.write_all(if first { b"\n" } else { b",\n" })?;
            first = false;
            serde_json::to_writer(&mut out, &event)?;
        }
        out.write_all(b"\n]}\n")?;
        out.flush()
    }

    fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let spans = self.spans.iter().map(Event::span);
        let wholes = self.wholes.iter().enumerate();
        self.names().into_iter().chain(spans).chain(wholes.flat_map(|(index, whole)| {
            let (whole, from_ns, to_ns) = *whole;
            [("b", from_ns), ("e", to_ns)].map(|(phase, ns)| Event::whole(whole, index, phase, ns))
        }))
    }

    /// The names of the rows.
    fn names(&self) -> Vec<Event> {
        let mut rows: Vec<(u32, u32, String)> =
            self.spans.iter().map(|span| span.row.name()).collect();
        rows.sort();
        rows.dedup();
        let mut named = vec![Event::name("process_name", HOST, 0, "host".to_string())];
        named.push(Event::name("process_name", COLLECTIONS, 0, "collections".to_string()));
        let mut last = None;
        for (channel, row, name) in rows {
            if last != Some(channel) {
                let text = format!("channel {}", channel - FIRST_CHANNEL);
                named.push(Event::name("process_name", channel, 0, text));
                last = Some(channel);
            }
            named.push(Event::name("thread_name", channel, row, name));
        }
        named
    }
}

/// Numbers of the groups of rows.
const HOST: u32 = 1;
const COLLECTIONS: u32 = 2;
const FIRST_CHANNEL: u32 = 10;

impl Row {
    /// The numbers of its group and itself, and its name. Rows of different groups differ, too.
    fn name(self) -> (u32, u32, String) {
        match self {
            Self::Bus { channel } => (FIRST_CHANNEL + channel, 1 + channel, "bus".to_string()),
            Self::Die { channel, die } => {
                (FIRST_CHANNEL + channel, 100_000 + die, format!("die {die}"))
            }
        }
    }
}

/// An event of the format.
#[derive(Serialize)]
struct Event {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    ph: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<Microseconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<Microseconds>,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cname: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<serde_json::Value>,
}

/// Nanoseconds, written as microseconds without rounding: below 2^53 ns a double is exact enough
/// for three decimals.
struct Microseconds(u64);

impl Serialize for Microseconds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e3)
    }
}

impl Event {
    fn span(span: &Span) -> Self {
        let (pid, tid, _) = span.row.name();
        Self {
            name: span.name.to_string(),
            cat: Some(if span.collection { "collection" } else { "host" }),
            ph: "X",
            ts: Some(Microseconds(span.from_ns)),
            dur: Some(Microseconds(span.to_ns - span.from_ns)),
            pid,
            tid,
            id: None,
            // Colours of Chrome's own palette.
            cname: Some(if span.collection { "terrible" } else { "good" }),
            args: span.page.map(|page| serde_json::json!({ "page": page })),
        }
    }

    fn whole(whole: Whole, index: usize, phase: &'static str, ns: u64) -> Self {
        let (name, cat, pid) = match whole {
            Whole::Request(_, Op::Read) => ("read".to_string(), "request", HOST),
            Whole::Request(_, Op::Write) => ("write".to_string(), "request", HOST),
            Whole::Request(_, Op::Trim | Op::Dirty | Op::Clean) => {
                ("trim".to_string(), "request", HOST)
            }
            Whole::Request(_, Op::Flush) => ("flush".to_string(), "request", HOST),
            Whole::Collection(unit) => (format!("unit {unit}"), "collections", COLLECTIONS),
        };
        let args = match whole {
            Whole::Request(number, _) => Some(serde_json::json!({ "number": number })),
            Whole::Collection(_) => None,
        };
        Self {
            name,
            cat: Some(cat),
            ph: phase,
            ts: Some(Microseconds(ns)),
            dur: None,
            pid,
            tid: 0,
            id: Some(index),
            cname: None,
            args,
        }
    }

    fn name(what: &'static str, pid: u32, tid: u32, text: String) -> Self {
        Self {
            name: what.to_string(),
            cat: None,
            ph: "M",
            ts: None,
            dur: None,
            pid,
            tid,
            id: None,
            cname: None,
            args: Some(serde_json::json!({ "name": text })),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn sample() -> Timeline {
        let mut timeline = Timeline::new(Window::Fixed { from_ns: 1000, to_ns: 500_000 });
        let die = Row::Die { channel: 1, die: 9 };
        let span = |row, name, collection, page, from_ns, to_ns| Span {
            row,
            name,
            collection,
            page,
            from_ns,
            to_ns,
        };
        timeline.span(span(die, "read", false, Some(7), 1500, 26_500));
        timeline.span(span(Row::Bus { channel: 1 }, "transfer", false, Some(7), 26_500, 126_900));
        timeline.span(span(die, "erase", true, None, 400_000, 1_900_000));
        timeline.span(span(die, "read", false, Some(8), 0, 1000)); // ends before the window
        timeline.whole(Whole::Request(3, Op::Read), 1001, 126_900);
        timeline.whole(Whole::Collection(9), 300_000, 1_900_000);
        timeline
    }

    fn parsed(timeline: &Timeline) -> Vec<Value> {
        let mut text = Vec::new();
        timeline.write(&mut text).unwrap();
        let document: Value = serde_json::from_slice(&text).unwrap();
        document["traceEvents"].as_array().unwrap().clone()
    }

    #[test]
    fn operations_are_complete_events_in_microseconds() {
        let events = parsed(&sample());
        let spans: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!(spans.len(), 3);
        let expected = json!({
            "name": "read", "cat": "host", "ph": "X", "ts": 1.5, "dur": 25.0, "pid": 11,
            "tid": 100_009, "cname": "good", "args": {"page": 7}
        });
        assert_eq!(*spans[0], expected);
        assert_eq!(spans[1]["dur"], json!(100.4));
        assert_eq!((&spans[2]["cat"], spans[2].get("args")), (&json!("collection"), None));
    }

    #[test]
    fn every_row_has_a_name_and_every_whole_a_beginning_and_an_end() {
        let events = parsed(&sample());
        let name = |what: &str, pid: u32, tid: u32| {
            let found = events
                .iter()
                .find(|event| event["name"] == what && event["pid"] == pid && event["tid"] == tid);
            found.map(|event| event["args"]["name"].as_str().unwrap().to_string())
        };
        assert_eq!(name("process_name", 11, 0).as_deref(), Some("channel 1"));
        assert_eq!(name("thread_name", 11, 100_009).as_deref(), Some("die 9"));
        assert_eq!(name("thread_name", 11, 2).as_deref(), Some("bus"));
        for id in 0..2 {
            let ends: Vec<_> = events.iter().filter(|event| event["id"] == id).collect();
            assert_eq!(ends.len(), 2);
            assert_eq!((&ends[0]["ph"], &ends[1]["ph"]), (&json!("b"), &json!("e")));
            // A viewer joins the two by category, id and name.
            assert_eq!((&ends[0]["cat"], &ends[0]["name"]), (&ends[1]["cat"], &ends[1]["name"]));
            assert!(ends[0]["ts"].as_f64() < ends[1]["ts"].as_f64());
        }
    }

    #[test]
    fn the_window_is_laid_around_the_end_of_the_slowest_request() {
        let mut timeline = Timeline::new(Window::Worst { length_ns: 1000 });
        let die = Row::Die { channel: 0, die: 0 };
        let span = |from_ns, to_ns| Span {
            row: die,
            name: "read",
            collection: false,
            page: None,
            from_ns,
            to_ns,
        };
        let request = |timeline: &mut Timeline, number, from, to| {
            timeline.whole(Whole::Request(number, Op::Read), from, to);
            timeline.measured(from, to);
        };
        timeline.span(span(0, 900));
        request(&mut timeline, 0, 0, 900);
        timeline.span(span(4000, 4050)); // 5000 + 100 - 1000 = 4100: before the window
        timeline.span(span(4050, 4150));
        timeline.span(span(4990, 5000));
        request(&mut timeline, 1, 2000, 5000);
        timeline.span(span(5000, 5099));
        request(&mut timeline, 2, 4990, 5099); // faster: the window stays
        timeline.span(span(5100, 5200)); // behind the window
        assert_eq!((timeline.from_ns, timeline.to_ns), (4100, 5100));
        let shown = [span(4050, 4150), span(4990, 5000), span(5000, 5099)];
        assert_eq!(timeline.spans, shown);
        let numbers: Vec<_> = timeline.wholes.iter().map(|whole| whole.0).collect();
        assert_eq!(numbers, [1, 2].map(|number| Whole::Request(number, Op::Read)));
    }

    #[test]
    fn an_empty_timeline_is_a_document_too() {
        assert!(
            parsed(&Timeline::new(Window::Fixed { from_ns: 0, to_ns: 0 }))
                .iter()
                .all(|event| event["ph"] == "M")
        );
    }
}
