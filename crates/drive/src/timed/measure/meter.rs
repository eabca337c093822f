//! Measures a timed drive: an [`Observer`] that collects latencies, series over time, and a
//! timeline. The time before the first measured request is left out.

use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer};

use flashgc_base::stream::StreamId;
use hashbrown::HashMap;

use super::observer::{Cause, Completion, Observer, Place, Span, Work};
use super::tenants::ByTenant;
use crate::metrics::latency::{Latencies, Split};
use crate::metrics::series::{Busy, Series};
use crate::metrics::timeline::{self, Row, Timeline, Whole};

/// Slices of a resolution that was asked for, at most.
const MOST_SLICES: u32 = 1 << 16;

/// Collects the measurements.
pub struct Meter {
    /// Requests with smaller numbers are warm-up.
    first: u64,
    /// When the first measured request arrived.
    began_ns: Option<u64>,
    /// When the last measured one was complete.
    ended_ns: u64,
    bytes: [u64; 3],
    latencies: Latencies,
    /// Those of each stream.
    streams: HashMap<StreamId, Latencies>,
    /// Those of each tenant, where several share the drive.
    tenants: ByTenant,
    series: Series,
    timeline: Option<Timeline>,
    /// When the collection under way on each die began.
    collecting: Vec<Option<u64>>,
    arrived: u64,
}

/// Without its timeline, which is not saved.
impl Value for Meter {
    fn put(&self, to: &mut Writer<'_>) {
        let Self {
            first,
            began_ns,
            ended_ns,
            bytes,
            latencies,
            streams,
            tenants,
            series,
            timeline: _,
            collecting,
            arrived,
        } = self;
        (*first, *began_ns, *ended_ns, *bytes).put(to);
        latencies.put(to);
        streams.put(to);
        tenants.put(to);
        series.put(to);
        collecting.put(to);
        arrived.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let (first, began_ns, ended_ns, bytes) = Value::take(from)?;
        Ok(Self {
            first,
            began_ns,
            ended_ns,
            bytes,
            latencies: Value::take(from)?,
            streams: Value::take(from)?,
            tenants: Value::take(from)?,
            series: Value::take(from)?,
            timeline: None,
            collecting: Value::take(from)?,
            arrived: Value::take(from)?,
        })
    }
}

impl State for Meter {
    fn save(&self, to: &mut Writer<'_>) {
        self.put(to);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let meter = Self::take(from)?;
        let holds = meter.collecting.len() == self.collecting.len()
            && meter.first == self.first
            && meter.tenants.len() == self.tenants.len();
        from.check(holds, "what was measured is of another drive")?;
        *self = meter;
        Ok(())
    }
}

impl Meter {
    /// Measures requests from number `first` on, over time in slices of `resolution_ns` (`None`: of
    /// a length that makes 256 to 512 of them), on a drive of `dies` dies.
    pub fn new(
        first: u64,
        resolution_ns: Option<u64>,
        dies: u32,
        timeline: Option<Timeline>,
    ) -> Self {
        let series = match resolution_ns {
            Some(resolution_ns) => Series::new(0, resolution_ns, MOST_SLICES),
            None => Series::new(0, 1000, 512),
        };
        Self {
            first,
            began_ns: None,
            ended_ns: 0,
            bytes: [0; 3],
            latencies: Latencies::default(),
            streams: HashMap::new(),
            tenants: ByTenant::default(),
            series,
            timeline,
            collecting: vec![None; dies as usize],
            arrived: 0,
        }
    }

    /// The same, which also keeps apart what each tenant gets.
    #[must_use]
    pub fn by_tenant(self, tenants: ByTenant) -> Self {
        Self { tenants, ..self }
    }

    /// What each tenant got.
    pub fn tenants(&self) -> &ByTenant {
        &self.tenants
    }

    /// Response times.
    pub fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// Response times of each stream.
    pub fn streams(&self) -> &HashMap<StreamId, Latencies> {
        &self.streams
    }

    /// Bytes of the measured requests: written, read, discarded.
    pub fn bytes(&self) -> [u64; 3] {
        self.bytes
    }

    /// When the first measured request arrived and when the last one was complete; `None` where
    /// none arrived.
    pub fn window(&self) -> Option<(u64, u64)> {
        self.began_ns.map(|began| (began, self.ended_ns.max(began)))
    }

    /// The series over time.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// The timeline, if one was asked for.
    pub fn take_timeline(&mut self) -> Option<Timeline> {
        self.timeline.take()
    }

    /// Ends the measurement at `now`: work under way counts until then.
    pub fn finish(&mut self, now: u64) {
        for die in 0..self.collecting.len() as u32 {
            self.end_collection(now, die);
        }
    }

    fn end_collection(&mut self, now: u64, die: u32) {
        if let Some(began) = self.collecting[die as usize].take() {
            if self.began_ns.is_some() {
                self.series.busy(Busy::Collection, began, now);
            }
            if let Some(timeline) = &mut self.timeline {
                timeline.whole(Whole::Collection(die), began, now);
            }
        }
    }
}

impl Observer for Meter {
    fn arrived(&mut self, now: u64) {
        if self.arrived == self.first {
            self.began_ns = Some(now);
            self.series.restart(now);
        }
        self.arrived += 1;
    }

    fn completed(&mut self, request: &Completion) {
        if let Some(timeline) = &mut self.timeline {
            let whole = Whole::Request(request.number, request.op);
            timeline.whole(whole, request.arrived_ns, request.completed_ns);
        }
        if request.number < self.first {
            return;
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.measured(request.arrived_ns, request.completed_ns);
        }
        let split = Split {
            queue_ns: request.queue_ns,
            blocked_ns: request.blocked_ns,
            bus_ns: request.bus_ns,
            cell_ns: request.cell_ns,
        };
        let ns = request.response_ns();
        self.latencies.record(request.op, ns, request.met_collection, &split);
        if let Some(stream) = request.stream {
            let latencies = self.streams.entry(stream).or_default();
            latencies.record(request.op, ns, request.met_collection, &split);
        }
        self.tenants.completed(request, &split);
        if let Some(bytes) = self.bytes.get_mut(request.op as usize) {
            *bytes += u64::from(request.bytes);
        }
        self.ended_ns = self.ended_ns.max(request.completed_ns);
        self.series.completed(request.completed_ns, request.op, request.bytes, ns);
    }

    fn worked(&mut self, span: &Span) {
        if self.began_ns.is_some() {
            let what = match span.place {
                Place::Bus => Busy::Bus,
                Place::Cells => Busy::Die,
            };
            self.series.busy(what, span.begin_ns, span.end_ns);
        }
        if let Some(timeline) = &mut self.timeline {
            let (channel, die) = (span.channel, span.die);
            timeline.span(timeline::Span {
                row: match span.place {
                    Place::Bus => Row::Bus { channel },
                    Place::Cells => Row::Die { channel, die },
                },
                name: name(span),
                collection: matches!(span.cause, Cause::Collection(_)),
                page: span.page,
                from_ns: span.begin_ns,
                to_ns: span.end_ns,
            });
        }
    }

    fn collection(&mut self, now: u64, die: u32, begins: bool) {
        if begins {
            self.collecting[die as usize] = Some(now);
        } else {
            self.end_collection(now, die);
        }
    }
}

fn name(span: &Span) -> &'static str {
    match (span.place, span.work) {
        (Place::Bus, Work::Read) => "transfer out",
        (Place::Bus, Work::Program) => "transfer in",
        (Place::Bus, _) => "command",
        (Place::Cells, Work::Read) => "read",
        (Place::Cells, Work::Program) => "program",
        (Place::Cells, Work::Erase) => "erase",
        (Place::Cells, Work::Poll) => "poll",
        (Place::Cells, Work::Suspend) => "suspend",
    }
}

#[cfg(test)]
mod tests {
    use flashgc_workload::Op;

    use super::*;

    /// A read of one page, from 10 to `completed_ns`.
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
            met_collection: false,
        }
    }

    #[test]
    fn the_window_ends_with_the_latest_completion_in_whatever_order_they_are_told() {
        let mut meter = Meter::new(1, None, 1, None);
        [5, 10, 10].iter().for_each(|&now| meter.arrived(now));
        assert_eq!(meter.window(), Some((10, 10)));
        // The first request is warm-up.
        [read(0, 900), read(2, 500), read(1, 300)].iter().for_each(|done| meter.completed(done));
        assert_eq!(meter.window(), Some((10, 500)));
        assert_eq!((meter.latencies().requests(), meter.bytes()), (2, [0, 2 * 4096, 0]));
    }
}
