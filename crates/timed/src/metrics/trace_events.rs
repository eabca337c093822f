//! Every request and every flash operation of a run as a stream of events, in the trace event
//! format that Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing) show.
//!
//! The tracks are: lanes of requests, a row for the collections of each die, a row for each bus,
//! and a row for each die. A request is a slice in a lane. An arrow leads from the request to each
//! flash operation that served it. If a collection held the request, another arrow leads from that
//! collection to the request. Counters show the requests in the system and the erased blocks.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io::{self, Write};

use flashgc_workload::Op;
use serde_json::{Value, json};

use crate::{Cause, Completion, Held, Place, Span, Work};

/// The largest number of events in a file. Viewers cannot open larger files.
pub const MOST_EVENTS: u64 = 1_000_000;

/// The numbers of processes, which are groups of tracks.
const HOST: u32 = 1;
const COLLECTIONS: u32 = 2;
const FIRST_CHANNEL: u32 = 10;
/// The numbers of tracks. They are unique over all groups.
const FIRST_LANE: u32 = 1_000_000;
const FIRST_COLLECTOR: u32 = 2_000_000;
const FIRST_BUS: u32 = 3_000_000;
const FIRST_DIE: u32 = 4_000_000;

/// A track: the number of its process, and its own number.
type Track = (u32, u32);

/// An item of a timeline. It is noted when it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Happening {
    /// A bus or a die has done some work.
    Work(Span),
    /// A request. If collections held it, also the collection that held it for the longest time,
    /// with the number of that collection's die.
    Request(Completion, Option<(Held, u32)>),
    /// A collection of a die.
    Collection {
        /// The die.
        die: u32,
        /// The number of the collection.
        number: u64,
        /// The time at which it began.
        from_ns: u64,
        /// The time at which it ended.
        to_ns: u64,
    },
}

impl Happening {
    /// Returns the time at which it began.
    pub fn from_ns(&self) -> u64 {
        match self {
            Self::Work(span) => span.begin_ns,
            Self::Request(request, _) => request.arrived_ns,
            Self::Collection { from_ns, .. } => *from_ns,
        }
    }

    /// Returns the time at which it ended.
    pub fn to_ns(&self) -> u64 {
        match self {
            Self::Work(span) => span.end_ns,
            Self::Request(request, _) => request.completed_ns,
            Self::Collection { to_ns, .. } => *to_ns,
        }
    }
}

/// A writer of trace events.
pub struct TraceEvents<W> {
    out: W,
    /// The first error of `out`. After it nothing is written any more.
    failed: Option<io::Error>,
    from_ns: u64,
    to_ns: u64,
    most: u64,
    events: u64,
    flows: u64,
    /// The begin of the first event that was left out because the file was full, in nanoseconds.
    full_ns: Option<u64>,
    named: HashSet<Track>,
    /// The requests in the window that are under way, by number: their lane and their arrival in
    /// nanoseconds.
    under_way: HashMap<u64, (u32, u64)>,
    /// The lanes that are free.
    free: BinaryHeap<Reverse<u32>>,
    /// The number of all lanes.
    lanes: u32,
    /// The number of all requests in the system, also of those that arrived before the window.
    in_system: u64,
    /// The collection under way on each die: its number, and its begin in nanoseconds.
    collecting: HashMap<u32, (u64, u64)>,
}

impl<W: Write> TraceEvents<W> {
    /// Returns a writer to `out`. It shows requests, collections and operations that begin at
    /// `from_ns` or later and before `to_ns`, as at most `most` events.
    pub fn new(out: W, from_ns: u64, to_ns: u64, most: u64) -> Self {
        let mut events = Self {
            out,
            failed: None,
            from_ns,
            to_ns,
            most,
            events: 0,
            flows: 0,
            full_ns: None,
            named: HashSet::new(),
            under_way: HashMap::new(),
            free: BinaryHeap::new(),
            lanes: 0,
            in_system: 0,
            collecting: HashMap::new(),
        };
        events.text("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        events.write(&name("process_name", (HOST, 0), "host"));
        events.write(&name("process_name", (COLLECTIONS, 0), "collections"));
        events
    }

    /// Returns the time at which the first event was left out because the file was full.
    pub fn full_ns(&self) -> Option<u64> {
        self.full_ns
    }

    fn text(&mut self, text: &str) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(text.as_bytes()).err();
        }
    }

    fn write(&mut self, event: &Value) {
        if self.events > 0 {
            self.text(",\n");
        }
        self.text(&event.to_string());
        self.events += 1;
    }

    /// Returns `true` if an event that begins at `begin_ns` is shown: it lies in the window and the
    /// file is not full.
    fn shows(&mut self, begin_ns: u64) -> bool {
        let inside = (self.from_ns..self.to_ns).contains(&begin_ns);
        let room = self.events < self.most;
        if inside && !room {
            self.full_ns.get_or_insert(begin_ns);
        }
        inside && room
    }

    fn counter(&mut self, name: &str, pid: u32, now: u64, unit: &str, count: u64) {
        self.write(&json!({
            "name": name, "ph": "C", "ts": us(now), "pid": pid, "args": { unit: count }
        }));
    }

    /// Writes the name of a track, if it was not written before.
    fn track(&mut self, (pid, tid): Track, text: &str) {
        if self.named.insert((pid, tid)) {
            self.write(&name("thread_name", (pid, tid), text));
        }
    }

    fn slice(&mut self, (pid, tid): Track, what: &str, cat: &str, ns: (u64, u64), args: Value) {
        self.write(&json!({
            "name": what, "cat": cat, "ph": "X", "ts": us(ns.0), "dur": us(ns.1 - ns.0),
            "pid": pid, "tid": tid, "args": args,
        }));
    }

    /// Writes an arrow between slices of two tracks. Both ends are at the time `ns`.
    fn arrow(&mut self, what: &str, from: Track, to: Track, ns: u64) {
        self.flows += 1;
        for (phase, (pid, tid)) in [("s", from), ("f", to)] {
            let mut event = json!({
                "name": what, "cat": "flow", "ph": phase, "id": self.flows, "ts": us(ns),
                "pid": pid, "tid": tid,
            });
            if phase == "f" {
                event["bp"] = json!("e"); // ends at the slice around `ts`, not at the next
            }
            self.write(&event);
        }
    }

    /// Writes the items of a timeline, in the order of time.
    pub fn replay(&mut self, happenings: &[Happening]) {
        // The time, the rank among events of the same time, and the index in the list.
        let mut moments = Vec::new();
        for (at, one) in happenings.iter().enumerate() {
            let (from_ns, to_ns) = (one.from_ns(), one.to_ns());
            match one {
                Happening::Work(_) => moments.push((to_ns, 0, at)),
                // An end comes before arrivals of the same time, so that a lane is free. But a
                // request that takes no time must arrive before it ends.
                Happening::Request(..) => {
                    moments.push((from_ns, 3, at));
                    moments.push((to_ns, if to_ns == from_ns { 4 } else { 1 }, at));
                }
                Happening::Collection { .. } => {
                    moments.push((from_ns, 3, at));
                    moments.push((to_ns, 2, at));
                }
            }
        }
        moments.sort_unstable();
        let collections: HashSet<(u32, u64)> =
            happenings.iter().filter_map(of_collection).collect();
        for (now, rank, at) in moments {
            match &happenings[at] {
                Happening::Work(span) => self.worked(span),
                Happening::Request(request, _) if rank == 3 => {
                    self.arrived(request.number, request.op, now);
                }
                // A collection that is not in the list has no slice, so no arrow can begin there.
                Happening::Request(request, held) => {
                    let shown =
                        |(held, die): &&(Held, u32)| collections.contains(&(*die, held.number));
                    self.completed(request, held.as_ref().filter(shown));
                }
                Happening::Collection { die, number, .. } => {
                    self.collection(now, *die, *number, rank == 3);
                }
            }
        }
    }

    /// Notes that request `number` arrived.
    pub fn arrived(&mut self, number: u64, op: Op, now: u64) {
        if !is_request(op) {
            return;
        }
        self.in_system += 1;
        if !self.shows(now) {
            return;
        }
        let lane = self.free.pop().map_or(self.lanes, |Reverse(lane)| lane);
        self.lanes = self.lanes.max(lane + 1);
        self.under_way.insert(number, (lane, now));
        self.counter("requests in the system", HOST, now, "requests", self.in_system);
    }

    /// Writes a completed request. `held` is the collection that held it for the longest time, with
    /// its die.
    pub fn completed(&mut self, request: &Completion, held: Option<&(Held, u32)>) {
        if !is_request(request.op) {
            return;
        }
        self.in_system = self.in_system.saturating_sub(1);
        let Some((lane, _)) = self.under_way.remove(&request.number) else { return };
        self.free.push(Reverse(lane));
        let track = (HOST, FIRST_LANE + lane);
        self.track(track, &format!("requests {lane}"));
        let args = json!({
            "number": request.number, "offset": request.offset, "bytes": request.bytes,
            "queue_us": us(request.queue_ns), "collection_us": us(request.blocked_ns),
            "bus_us": us(request.bus_ns), "cell_us": us(request.cell_ns),
        });
        let (from_ns, to_ns) = (request.arrived_ns, request.completed_ns);
        self.slice(track, request.kind(), "request", (from_ns, to_ns), args);
        if let Some(&(held, die)) = held
            && (self.from_ns..self.full_ns.unwrap_or(self.to_ns)).contains(&held.began_ns)
        {
            let at_ns = held.began_ns.max(from_ns);
            self.arrow("held by", (COLLECTIONS, FIRST_COLLECTOR + die), track, at_ns);
        }
        self.counter("requests in the system", HOST, to_ns, "requests", self.in_system);
    }

    /// Writes the work that a bus or a die has done.
    pub fn worked(&mut self, span: &Span) {
        if !self.shows(span.begin_ns) {
            return;
        }
        let pid = FIRST_CHANNEL + span.channel;
        let (track, text) = match span.place {
            Place::Bus => ((pid, FIRST_BUS + span.channel), "bus".to_string()),
            Place::Cells => ((pid, FIRST_DIE + span.die), format!("die {}", span.die)),
        };
        if self.named.insert((pid, 0)) {
            self.write(&name("process_name", (pid, 0), &format!("channel {}", span.channel)));
        }
        self.track(track, &text);
        let (cat, mut args) = match span.cause {
            Cause::Request(u64::MAX) | Cause::Drive => ("drive", json!({})),
            Cause::Request(number) => ("host", json!({ "request": number })),
            Cause::Collection(number) => ("collection", json!({ "collection": number })),
        };
        if let Some(page) = span.page {
            args["page"] = json!(page);
        }
        self.slice(track, word(span), cat, (span.begin_ns, span.end_ns), args);
        if let Cause::Request(number) = span.cause
            && let Some(&(lane, _)) = self.under_way.get(&number)
            && span.begin_ns < span.end_ns
        {
            self.arrow("served by", (HOST, FIRST_LANE + lane), track, span.begin_ns);
        }
    }

    /// If `begins`, notes that collection `number` began on a die. Otherwise writes the collection,
    /// which has ended.
    pub fn collection(&mut self, now: u64, die: u32, number: u64, begins: bool) {
        if begins {
            if self.shows(now) {
                self.collecting.insert(die, (number, now));
            }
        } else if let Some((number, began)) = self.collecting.remove(&die) {
            let track = (COLLECTIONS, FIRST_COLLECTOR + die);
            self.track(track, &format!("die {die}"));
            let what = format!("collection {number}");
            self.slice(track, &what, "collections", (began, now), json!({ "number": number }));
        }
    }

    /// Writes the number of erased blocks of a plane.
    pub fn erased_blocks(&mut self, now: u64, plane: u32, count: u32) {
        if self.shows(now) {
            let name = format!("erased blocks of plane {plane}");
            self.counter(&name, COLLECTIONS, now, "blocks", u64::from(count));
        }
    }

    /// Ends the file at `now`. Collections and requests that are under way are shown until then.
    ///
    /// # Errors
    /// The first error of the file, even if it came earlier.
    pub fn finish(&mut self, now: u64) -> io::Result<()> {
        let mut dies: Vec<u32> = self.collecting.keys().copied().collect();
        dies.sort_unstable();
        for die in dies {
            self.collection(now, die, 0, false);
        }
        let mut requests: Vec<(u64, (u32, u64))> = self.under_way.drain().collect();
        requests.sort_unstable();
        for (number, (lane, arrived)) in requests {
            let track = (HOST, FIRST_LANE + lane);
            self.track(track, &format!("requests {lane}"));
            let args = json!({ "number": number });
            self.slice(track, "not complete", "request", (arrived, now.max(arrived)), args);
        }
        self.text("\n]}\n");
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
        self.failed.take().map_or(Ok(()), Err)
    }
}

/// Returns the die and the number of an item that is a collection.
fn of_collection(happening: &Happening) -> Option<(u32, u64)> {
    match *happening {
        Happening::Collection { die, number, .. } => Some((die, number)),
        _ => None,
    }
}

/// Returns `true` for reads, writes and discards. Flush commands and hints are not shown.
fn is_request(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write | Op::Trim)
}

/// Converts nanoseconds to microseconds. Below 2^53 ns a double is exact enough for three decimals.
fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn name(what: &str, (pid, tid): Track, text: &str) -> Value {
    json!({ "name": what, "ph": "M", "pid": pid, "tid": tid, "args": { "name": text } })
}

fn word(span: &Span) -> &'static str {
    match (span.place, span.work) {
        (Place::Bus, Work::Read) => "transfer out",
        (Place::Bus, Work::Program) => "transfer in",
        (Place::Bus, _) => "command",
        (Place::Cells, work) => work.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the events of a read that arrives at 1001 ns, waits for a collection of its die
    /// until 1500 ns and is then served. The file has room for `most` events.
    fn written(most: u64) -> Vec<Value> {
        let mut text = Vec::new();
        let mut events = TraceEvents::new(&mut text, 0, u64::MAX, most);
        let span = |place, work, cause, begin_ns, end_ns| Span {
            begin_ns,
            end_ns,
            place,
            channel: 1,
            die: 9,
            plane: 9,
            work,
            page: Some(7),
            cause,
        };
        events.collection(300, 9, 5, true);
        events.arrived(3, Op::Read, 1001);
        events.worked(&span(Place::Cells, Work::Erase, Cause::Collection(5), 400, 1500));
        events.collection(1500, 9, 5, false);
        events.worked(&span(Place::Cells, Work::Read, Cause::Request(3), 1500, 26_500));
        events.worked(&span(Place::Bus, Work::Read, Cause::Request(3), 26_500, 126_900));
        let request = Completion {
            number: 3,
            op: Op::Read,
            offset: 0,
            bytes: 4096,
            urgent: false,
            stream: None,
            arrived_ns: 1001,
            dispatched_ns: 1001,
            completed_ns: 126_900,
            queue_ns: 0,
            blocked_ns: 499,
            bus_ns: 100_400,
            cell_ns: 25_000,
            plane: Some(9),
            met_collection: true,
        };
        let held = Held { number: 5, began_ns: 300, ended_ns: Some(1500), programmed: 0 };
        events.completed(&request, Some(&(held, 9)));
        events.finish(130_000).unwrap();
        assert_eq!(events.full_ns().is_some(), most < 10);
        drop(events);
        let document: Value = serde_json::from_slice(&text).unwrap();
        document["traceEvents"].as_array().unwrap().clone()
    }

    fn named<'a>(events: &'a [Value], what: &str) -> &'a Value {
        events.iter().find(|event| event["name"] == what && event["ph"] == "X").unwrap()
    }

    #[test]
    fn requests_collections_and_operations_are_slices_of_named_tracks_in_microseconds() {
        let events = written(1000);
        let read = json!({
            "name": "read", "cat": "request", "ph": "X", "ts": 1.001, "dur": 125.899, "pid": HOST,
            "tid": FIRST_LANE, "args": {
                "number": 3, "offset": 0, "bytes": 4096, "queue_us": 0.0, "collection_us": 0.499,
                "bus_us": 100.4, "cell_us": 25.0,
            },
        });
        assert!(events.contains(&read), "{events:?}");
        let transfer = named(&events, "transfer out");
        assert_eq!((&transfer["ts"], &transfer["dur"]), (&json!(26.5), &json!(100.4)));
        assert_eq!((&transfer["pid"], &transfer["tid"]), (&json!(11), &json!(FIRST_BUS + 1)));
        let erase = named(&events, "erase");
        assert_eq!(
            (&erase["cat"], &erase["args"]),
            (&json!("collection"), &json!({ "collection": 5, "page": 7 }))
        );
        let collection = named(&events, "collection 5");
        assert_eq!((&collection["ts"], &collection["dur"]), (&json!(0.3), &json!(1.2)));
        for (pid, tid, text) in [
            (HOST, FIRST_LANE, "requests 0"),
            (COLLECTIONS, FIRST_COLLECTOR + 9, "die 9"),
            (11, FIRST_DIE + 9, "die 9"),
            (11, FIRST_BUS + 1, "bus"),
        ] {
            assert!(events.contains(&name("thread_name", (pid, tid), text)), "{text}");
        }
    }

    #[test]
    fn arrows_lead_from_a_request_to_what_served_it_and_to_it_from_what_held_it() {
        let events = written(1000);
        let end = |phase: &str, id: u64| {
            let event = events.iter().find(|event| event["ph"] == phase && event["id"] == id);
            let event = event.unwrap();
            (event["pid"].clone(), event["tid"].clone(), event["ts"].clone())
        };
        let at = |pid: u32, tid: u32, us: f64| (json!(pid), json!(tid), json!(us));
        let expected = [
            (at(HOST, FIRST_LANE, 1.5), at(11, FIRST_DIE + 9, 1.5)),
            (at(HOST, FIRST_LANE, 26.5), at(11, FIRST_BUS + 1, 26.5)),
            (at(COLLECTIONS, FIRST_COLLECTOR + 9, 1.001), at(HOST, FIRST_LANE, 1.001)),
        ];
        for (id, (from, to)) in (1..).zip(expected) {
            assert_eq!((end("s", id), end("f", id)), (from, to));
        }
        assert_eq!(events.iter().filter(|event| event["cat"] == "flow").count(), 6);
    }

    #[test]
    fn a_full_file_ends_what_has_begun_and_begins_nothing() {
        // Two names and the request's counter fill the file, so no operation is written.
        let events = written(3);
        let slices = events.iter().filter(|event| event["ph"] == "X").count();
        assert_eq!(slices, 2, "the request and the collection");
        assert!(events.iter().all(|event| event["name"] != "erase"));
    }

    #[test]
    fn requests_that_overlap_have_lanes_of_their_own_and_leave_them() {
        let mut text = Vec::new();
        let mut events = TraceEvents::new(&mut text, 0, u64::MAX, 1000);
        for (number, now) in [(0, 10), (1, 20), (2, 30)] {
            events.arrived(number, Op::Read, now);
        }
        events.finish(40).unwrap();
        assert_eq!((events.lanes, events.in_system), (3, 3));
        drop(events);
        let document: Value = serde_json::from_slice(&text).unwrap();
        let all = document["traceEvents"].as_array().unwrap();
        let slices: Vec<_> = all.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!(slices.len(), 3);
        assert!(slices.iter().all(|slice| slice["name"] == "not complete"));
    }
}
