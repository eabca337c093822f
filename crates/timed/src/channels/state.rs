//! The state of a drive whose channels are simulated one by one.

use std::sync::PoisonError;

use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer};
use flashgc_base::{state, value};
use flashgc_workload::requests::TimedRequest;

use super::Channels;
use super::desk::{Desk, Held};
use super::joint::{Joint, Joints};
use super::meter::PartDone;
use super::source::{Chunk, Coming, Source};

impl Value for Held {
    value!(coming, number, arrived);
}

impl Value for Coming {
    value!(request, only, parts);
}

/// What was sorted by channel is not: the desk goes through such a chunk one by one.
impl Value for Chunk {
    fn put(&self, to: &mut Writer<'_>) {
        self.requests.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let requests: Vec<TimedRequest> = Value::take(from)?;
        from.check(!requests.is_empty(), "requests that follow one another are none")?;
        Ok(Self { requests, by_channel: None })
    }
}

impl Value for PartDone {
    value!(at, behind, completion, worst);
}

impl Value for Joint {
    value!(request, arrived, left, met_collection, last);
}

impl State for Joints {
    state! {
        values: under_way, done, meter, slowest_at, done_ns, done_behind, last_given;
        fixed: fresh;
    }
}

impl State for Desk {
    state! {
        values: ahead, taken, line, outstanding, arrived, told, completed, in_system, last_arrival,
            waited_ns, collections, reached;
        states: joints;
        fixed: split, shape, orders, dies, queue_depth, next, ready, touched, steps, has_given, used;
    }
}

impl State for Source {
    state! {
        values: next, is_over;
        states: stream;
        fixed: split, shape, used, batch, at_a_time, failed;
    }
}

impl State for Channels {
    fn save(&self, to: &mut Writer<'_>) {
        to.section("channels");
        self.desk.save(to);
        self.source.lock().unwrap_or_else(PoisonError::into_inner).save(to);
        for channel in &self.channels {
            channel.lock().unwrap_or_else(PoisonError::into_inner).save(to);
        }
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        from.section("channels")?;
        self.desk.restore(from)?;
        self.source.get_mut().unwrap_or_else(PoisonError::into_inner).restore(from)?;
        self.drives().try_for_each(|drive| drive.restore(from))
    }
}
