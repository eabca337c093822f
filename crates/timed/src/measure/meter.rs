//! The meter of a timed drive: an [`Observer`] that collects response times, series over time, and
//! a timeline. Measurement begins with the arrival of the first measured request.

use std::fs::File;
use std::io::BufWriter;

use flashgc_base::naming::choice;
use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer};
use flashgc_base::spec::count;
use flashgc_base::stream::StreamId;
use flashgc_workload::Op;
use hashbrown::HashMap;

use super::suspension::Refused;
use super::tenants::ByTenant;
use super::worst::WorstSoFar;
use crate::metrics::latency::{Done, Latencies, Split};
use crate::metrics::series::{Busy, Series};
use crate::metrics::timeline::Timeline;
use crate::metrics::trace_events::{Happening, MOST_EVENTS, TraceEvents};
use crate::observer::{Completion, Follows, Observer, Place, Span, Stint};

/// The largest number of slices of a series with a given resolution.
const MOST_SLICES: u32 = 1 << 16;

/// The number of completed requests that are noted at a time. Several at a time are faster, as the
/// tables stay in the processor's cache.
const AT_A_TIME: usize = 128;

/// Trace events that go to a file.
pub type TraceFile = TraceEvents<BufWriter<File>>;

/// Collects the measurements.
#[derive(Value)]
#[snapshot(then = complete)]
pub struct Meter {
    /// The number of the first measured request. Requests before it are warm-up.
    first: u64,
    /// The time at which the first measured request arrived, in nanoseconds.
    began_ns: Option<u64>,
    /// The time at which the last measured request was complete.
    ended_ns: u64,
    bytes: [u64; 3],
    /// The measured requests that are done and not yet noted in the other fields: fewer than
    /// [`AT_A_TIME`].
    done: Vec<Done>,
    latencies: Latencies,
    /// The latencies of each stream.
    streams: HashMap<StreamId, Latencies>,
    /// The measurements of each tenant, if several share the drive.
    tenants: ByTenant,
    series: Series,
    #[snapshot(skip)]
    timeline: Option<Timeline>,
    #[snapshot(skip)]
    trace: Option<Box<TraceFile>>,
    /// The detail that the meter needs for what it keeps and draws.
    #[snapshot(skip)]
    follows: Follows,
    worst: WorstSoFar,
    refused: Refused,
    /// The time at which the collection under way on each die began, in nanoseconds.
    collecting: Vec<Option<u64>>,
    arrived: u64,
}

impl State for Meter {
    fn save(&self, to: &mut Writer<'_>) {
        self.put(to);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let meter = Self::take(from)?;
        let holds = meter.collecting.len() == self.collecting.len()
            && meter.first == self.first
            && meter.worst.is_like(&self.worst)
            && meter.tenants.len() == self.tenants.len();
        from.check(holds, "another drive was measured")?;
        *self = meter;
        Ok(())
    }
}

impl Meter {
    /// Returns a meter of the requests from number `first` on, for a drive of `dies` dies. Series
    /// over time have slices of `resolution_ns` nanoseconds; with `None` the length is chosen so
    /// that there are 256 to 512 slices. `worst` keeps the slowest requests.
    pub fn new(
        first: u64,
        resolution_ns: Option<u64>,
        dies: u32,
        timeline: Option<Timeline>,
        worst: WorstSoFar,
    ) -> Self {
        let series = match resolution_ns {
            Some(resolution_ns) => Series::new(0, resolution_ns, MOST_SLICES),
            None => Series::new(0, 1000, 512),
        };
        let meter = Self {
            first,
            began_ns: None,
            done: Vec::with_capacity(AT_A_TIME),
            ended_ns: 0,
            bytes: [0; 3],
            latencies: Latencies::default(),
            streams: HashMap::new(),
            tenants: ByTenant::default(),
            series,
            timeline,
            trace: None,
            follows: Follows::Work,
            worst,
            refused: Refused::default(),
            collecting: vec![None; dies as usize],
            arrived: 0,
        };
        meter.following()
    }

    /// Returns this meter with its field `follows` set.
    fn following(mut self) -> Self {
        self.follows = self.detail();
        self
    }

    fn complete(&mut self) -> Result<(), Fault> {
        self.follows = self.detail();
        Ok(())
    }

    /// Returns the detail that the meter needs for what it keeps and draws.
    fn detail(&self) -> Follows {
        match self.draws() || self.worst.keeps_operations() {
            true => Follows::Steps,
            false => Follows::Work,
        }
    }

    /// Returns `true` if the meter draws a timeline or writes trace events.
    fn draws(&self) -> bool {
        self.timeline.is_some() || self.trace.is_some()
    }

    /// Returns this meter, which then also measures each tenant separately.
    #[must_use]
    pub fn by_tenant(self, tenants: ByTenant) -> Self {
        Self { tenants, ..self }
    }

    /// Returns this meter, which then also draws a timeline.
    #[must_use]
    pub fn with_timeline(self, timeline: Option<Timeline>) -> Self {
        Self { timeline, ..self }.following()
    }

    /// Returns the measurements of each tenant.
    pub fn tenants(&self) -> &ByTenant {
        &self.tenants
    }

    /// Returns this meter, which then also writes trace events.
    #[must_use]
    pub fn writing(mut self, trace: Option<TraceFile>) -> Self {
        self.trace = trace.map(Box::new);
        self.following()
    }

    /// Returns the response times. Call [`settle`](Self::settle) before this and before all other
    /// results, so that they cover all requests that are done.
    pub fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// Returns the response times of each stream.
    pub fn streams(&self) -> &HashMap<StreamId, Latencies> {
        &self.streams
    }

    /// Returns the bytes of the measured requests: written, read, discarded.
    pub fn bytes(&self) -> [u64; 3] {
        self.bytes
    }

    /// Returns the times, in nanoseconds, at which the first measured request arrived and the last
    /// one was complete. `None` if none arrived.
    pub fn window(&self) -> Option<(u64, u64)> {
        self.began_ns.map(|began| (began, self.ended_ns.max(began)))
    }

    /// Returns the series over time.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// Takes the timeline, if one was asked for.
    pub fn take_timeline(&mut self) -> Option<Timeline> {
        self.timeline.take()
    }

    /// Returns the slowest requests so far.
    pub fn worst(&self) -> &WorstSoFar {
        &self.worst
    }

    /// Returns the erases and programs that could not be suspended again while an operation waited.
    pub fn refused(&self) -> Refused {
        self.refused
    }

    /// Returns the number of the first measured request. Requests before it are warm-up.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Begins the measurement, as the first measured request arrives.
    pub fn begin(&mut self, now: u64) {
        self.began_ns = Some(now);
        self.series.restart(now);
    }

    /// Returns the slowest requests so far, to be corrected.
    pub fn worst_mut(&mut self) -> &mut WorstSoFar {
        &mut self.worst
    }

    /// Adds the measurements of another part of the same drive in the same time, but not its
    /// slowest requests. [`finish`](Self::finish) must have been called for the other meter.
    pub fn add(&mut self, other: Self) {
        let Self {
            first: _,
            began_ns: _,
            done,
            ended_ns,
            bytes,
            latencies,
            streams,
            tenants,
            series,
            timeline,
            trace,
            follows: _,
            worst: _,
            refused,
            collecting: _,
            arrived: _,
        } = other;
        debug_assert!(done.is_empty(), "it is finished");
        debug_assert!(
            tenants.len() == 0 && timeline.is_none() && trace.is_none(),
            "parts of a drive have none"
        );
        self.latencies.add(&latencies);
        for (stream, latencies) in &streams {
            self.streams.entry(*stream).or_default().add(latencies);
        }
        self.series.add(series);
        self.refused = self.refused.and(refused);
        self.ended_ns = self.ended_ns.max(ended_ns);
        self.bytes.iter_mut().zip(bytes).for_each(|(bytes, other)| *bytes += other);
    }

    /// Ends the measurement at `now`: work under way counts until then.
    pub fn finish(&mut self, now: u64) {
        self.settle();
        for die in 0..self.collecting.len() as u32 {
            let number = self.worst.under_way(die).unwrap_or_default();
            self.end_collection(now, die, number);
        }
    }

    /// Ends the file of trace events at `now`. Returns a warning if the file is not complete.
    pub fn end_trace(&mut self, now: u64) -> Option<String> {
        let mut trace = self.trace.take()?;
        if let Err(error) = trace.finish(now) {
            return Some(format!("the trace events could not be written whole: {error}"));
        }
        let full_ns = trace.full_ns()?;
        let (end, from) = (full_ns as f64 / 1e6, full_ns / 1_000_000);
        Some(format!(
            "the trace events end at {end:.3} ms: a file has {} at most; hint: {} shows what comes \
             next",
            count(MOST_EVENTS, "event"),
            choice("window", format!("{from}ms:{}ms", 2 * from + 1)),
        ))
    }

    /// Notes the requests that are done and not yet noted.
    #[inline(never)]
    pub fn settle(&mut self) {
        let mut done = std::mem::take(&mut self.done);
        done.iter().for_each(|request| self.note(request));
        done.clear();
        self.done = done;
    }

    #[inline(always)]
    fn note(&mut self, done: &Done) {
        let Done { op, met_collection, ref split, at_ns, bytes, stream, .. } = *done;
        self.latencies.record(op, met_collection, split);
        if let Some(stream) = stream {
            self.streams.entry(stream).or_default().record(op, met_collection, split);
        }
        self.tenants.completed(done);
        if let Some(sum) = self.bytes.get_mut(op as usize) {
            *sum += u64::from(bytes);
        }
        self.ended_ns = self.ended_ns.max(at_ns);
        self.series.completed(at_ns, op, bytes, split.ns());
    }

    /// Reports a request that is done to the timeline and the trace events.
    #[cold]
    fn draw(&mut self, request: &Completion) {
        let holder = self.worst.holder(request);
        if let Some(trace) = &mut self.trace {
            trace.completed(request, holder.as_ref());
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.note(Happening::Request(*request, holder));
            if request.number >= self.first {
                timeline.measured(request.arrived_ns, request.completed_ns);
            }
        }
    }

    /// Counts the time from `from_ns` to `to_ns`, in which a bus, a die or a collection was busy.
    #[inline(always)]
    fn busy(&mut self, what: Busy, from_ns: u64, to_ns: u64) {
        // Before measurement begins, `busy_at_hand` always returns `false`.
        if !self.series.busy_at_hand(what, from_ns, to_ns) && self.began_ns.is_some() {
            self.series.busy(what, from_ns, to_ns);
        }
    }

    fn end_collection(&mut self, now: u64, die: u32, number: u64) {
        if let Some(began) = self.collecting[die as usize].take() {
            self.busy(Busy::Collection, began, now);
            if let Some(timeline) = &mut self.timeline {
                timeline.note(Happening::Collection { die, number, from_ns: began, to_ns: now });
            }
        }
    }
}

impl Observer for Meter {
    #[inline(always)]
    fn follows(&self) -> Follows {
        self.follows
    }

    #[inline(always)]
    fn was_busy(&mut self, stint: &Stint) {
        self.busy(busy_of(stint.place), stint.begin_ns, stint.end_ns);
    }

    #[inline(always)]
    fn was_programmed(&mut self, _: u32, times @ [begin_ns, sent_ns, end_ns]: [u64; 3]) {
        if !self.series.programmed_at_hand(times) {
            self.busy(Busy::Bus, begin_ns, sent_ns);
            self.busy(Busy::Die, sent_ns, end_ns);
        }
    }

    fn adds_up(&self) -> (u64, u64) {
        self.series.slice_at_hand() // an empty slice before the measurement begins
    }

    fn was_busy_in_all(&mut self, between: (u64, u64), busy_ns: [u64; 2]) {
        let [bus, die] = busy_ns;
        self.series.busy_in_all(Busy::Bus, between.0, bus);
        self.series.busy_in_all(Busy::Die, between.0, die);
    }

    fn copied(&mut self, die: u32, pages: u64) {
        self.worst.copied(die, pages);
    }

    #[inline(always)]
    fn arrived(&mut self, number: u64, op: Op, now: u64) {
        if let Some(trace) = &mut self.trace {
            trace.arrived(number, op, now);
        }
        if self.arrived == self.first {
            self.begin(now);
        }
        self.arrived += 1;
    }

    #[inline(always)]
    fn completed(&mut self, request: &Completion) {
        if self.follows == Follows::Steps && self.draws() {
            self.draw(request);
        }
        if request.number < self.first {
            return;
        }
        self.worst.completed(request);
        self.done.push(Done {
            op: request.op,
            met_collection: request.met_collection,
            split: Split {
                queue_ns: request.queue_ns,
                blocked_ns: request.blocked_ns,
                bus_ns: request.bus_ns,
                cell_ns: request.cell_ns,
            },
            at_ns: request.completed_ns,
            offset: request.offset,
            bytes: request.bytes,
            stream: request.stream,
        });
        if self.done.len() >= AT_A_TIME {
            self.settle();
        }
    }

    fn not_suspended(&mut self, erases: bool, left_ns: u64) {
        if self.began_ns.is_some() {
            let refused =
                Refused { erases: erases.into(), programs: (!erases).into(), longest_ns: left_ns };
            self.refused = self.refused.and(refused);
        }
    }

    fn worked(&mut self, span: &Span) {
        self.busy(busy_of(span.place), span.begin_ns, span.end_ns);
        self.worst.worked(span);
        if let Some(timeline) = &mut self.timeline {
            timeline.note(Happening::Work(*span));
        }
        if let Some(trace) = &mut self.trace {
            trace.worked(span);
        }
    }

    fn collection(&mut self, now: u64, die: u32, number: u64, begins: bool) {
        self.worst.collection(now, die, number, begins);
        if begins {
            self.collecting[die as usize] = Some(now);
        } else {
            self.end_collection(now, die, number);
        }
        if let Some(trace) = &mut self.trace {
            trace.collection(now, die, number, begins);
        }
    }

    fn erased_blocks(&mut self, now: u64, plane: u32, count: u32) {
        if let Some(trace) = &mut self.trace {
            trace.erased_blocks(now, plane, count);
        }
    }
}

/// Returns the kind of busy time that work at this place counts as.
fn busy_of(place: Place) -> Busy {
    match place {
        Place::Bus => Busy::Bus,
        Place::Cells => Busy::Die,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a read of one page, from 10 to `completed_ns`.
    fn read(number: u64, completed_ns: u64) -> Completion {
        Completion {
            number,
            op: Op::Read,
            offset: 0,
            bytes: 4096,
            urgent: false,
            stream: None,
            arrived_ns: 10,
            dispatched_ns: 10,
            completed_ns,
            queue_ns: 0,
            blocked_ns: 0,
            bus_ns: 0,
            cell_ns: completed_ns - 10,
            plane: Some(0),
            met_collection: false,
        }
    }

    #[test]
    fn the_window_ends_with_the_latest_completion_in_whatever_order_they_are_told() {
        let mut meter = Meter::new(1, None, 1, None, WorstSoFar::new(1, 1, false));
        for (number, now) in [5, 10, 10].into_iter().enumerate() {
            meter.arrived(number as u64, Op::Read, now);
        }
        assert_eq!(meter.window(), Some((10, 10)));
        // The first request is warm-up.
        [read(0, 900), read(2, 500), read(1, 300)].iter().for_each(|done| meter.completed(done));
        meter.settle();
        assert_eq!(meter.window(), Some((10, 500)));
        assert_eq!((meter.latencies().requests(), meter.bytes()), (2, [0, 2 * 4096, 0]));
    }

    #[test]
    fn waits_for_erases_and_programs_count_from_the_first_measured_request_on() {
        let meter = || Meter::new(1, None, 1, None, WorstSoFar::new(1, 1, false));
        let (mut one, mut other) = (meter(), meter());
        one.not_suspended(true, 900);
        for number in 0..2 {
            one.arrived(number, Op::Read, 10 * number);
            other.arrived(number, Op::Read, 10 * number);
        }
        [(true, 300), (true, 500), (false, 40)]
            .into_iter()
            .for_each(|(erases, left)| one.not_suspended(erases, left));
        assert_eq!(one.refused(), Refused { erases: 2, programs: 1, longest_ns: 500 });
        other.not_suspended(false, 700);
        one.add(other);
        assert_eq!(one.refused(), Refused { erases: 2, programs: 2, longest_ns: 700 });
    }
}
