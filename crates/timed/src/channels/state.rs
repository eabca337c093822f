//! The state of a drive whose channels are simulated one by one.

use std::sync::PoisonError;

use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer};
use flashgc_workload::requests::TimedRequest;

use super::Channels;
use super::source::Chunk;

/// A chunk is stored without its order by channel: the desk goes through such a chunk one by one.
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
