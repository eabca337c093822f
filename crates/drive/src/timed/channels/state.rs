//! The state of a drive whose channels are simulated one by one.

use std::sync::PoisonError;

use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer};
use flashgc_base::{state, value};

use super::Channels;
use super::desk::{Desk, Held};
use super::joint::{Joint, Joints};
use super::meter::PartDone;
use super::source::{Coming, Source};

impl Value for Held {
    value!(coming, number, arrived);
}

impl Value for Coming {
    value!(request, only, parts);
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
        fixed: split, shape, orders, dies, queue_depth, next, ready, touched, steps, has_given;
    }
}

impl State for Source {
    state! {
        values: next, is_over;
        states: stream;
        fixed: split, shape, batch, failed;
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
