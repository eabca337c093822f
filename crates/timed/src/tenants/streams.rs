//! Streams of requests of tenants: of one tenant, moved to its part of the drive; and of several in
//! turn.

use flashgc_base::snapshot::State;
use flashgc_workload::WorkloadError;
use flashgc_workload::requests::{RequestStream, TimedRequest};

use super::Tenant;

/// The requests of a tenant, moved to its part of the drive: address 0 becomes the first byte of
/// the part.
#[derive(State)]
#[snapshot(named = "part of a tenant")]
pub struct InPart {
    #[snapshot(state)]
    inner: Box<dyn RequestStream>,
    #[snapshot(skip)]
    name: String,
    #[snapshot(skip)]
    begin: u64,
    #[snapshot(skip)]
    bytes: u64,
}

impl InPart {
    /// Returns the requests of `inner`, which belongs to the tenant `name`, moved to the part that
    /// begins at byte `begin` and has `bytes` bytes.
    pub fn new(inner: Box<dyn RequestStream>, name: &str, begin: u64, bytes: u64) -> Self {
        Self { inner, name: name.to_string(), begin, bytes }
    }
}

impl RequestStream for InPart {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        self.inner.fill(batch, limit)?;
        for request in batch.iter_mut() {
            if request.end() > self.bytes {
                return Err(WorkloadError(format!(
                    "tenant {}: a request ends at byte {}, and its part of the drive has {}; hint: a \
                     larger space for it",
                    self.name,
                    request.end(),
                    self.bytes
                )));
            }
            request.offset += self.begin;
        }
        Ok(())
    }
}

/// The requests of several tenants in turn, in proportion to the sizes of their parts: each byte of
/// the drive is requested equally often. They are used for the warm-up, before the clock starts.
#[derive(State)]
#[snapshot(named = "requests in turn")]
pub struct InTurn {
    #[snapshot(state)]
    each: Vec<Turn>,
}

#[derive(State)]
struct Turn {
    #[snapshot(state)]
    stream: Box<dyn RequestStream>,
    /// The number of pages of the tenant's part.
    #[snapshot(skip)]
    pages: u64,
    /// The number of bytes of the tenant's requests so far.
    done: u64,
    batch: Vec<TimedRequest>,
    taken: usize,
    has_ended: bool,
}

/// The number of requests that are read from a tenant's stream at a time.
const BATCH: usize = 256;

impl Turn {
    fn next(&mut self) -> Result<Option<TimedRequest>, WorkloadError> {
        if self.taken == self.batch.len() {
            self.stream.fill(&mut self.batch, BATCH)?;
            self.taken = 0;
        }
        let next = self.batch.get(self.taken).copied();
        match next {
            Some(request) => {
                self.taken += 1;
                self.done += u64::from(request.bytes);
            }
            None => self.has_ended = true,
        }
        Ok(next)
    }
}

impl InTurn {
    /// Returns the requests of `tenants` in turn.
    pub fn new(streams: Vec<Box<dyn RequestStream>>, tenants: &[Tenant]) -> Self {
        let turn = |(stream, tenant): (Box<dyn RequestStream>, &Tenant)| Turn {
            stream,
            pages: tenant.pages.len() as u64,
            done: 0,
            batch: Vec::new(),
            taken: 0,
            has_ended: false,
        };
        Self { each: streams.into_iter().zip(tenants).map(turn).collect() }
    }

    /// Returns a stream without requests.
    pub fn none() -> Self {
        Self { each: Vec::new() }
    }

    /// Returns the tenant whose requests have covered the least share of its part so far.
    fn turn(&mut self) -> Option<&mut Turn> {
        let running = self.each.iter_mut().filter(|turn| !turn.has_ended);
        running.reduce(|least, other| {
            let done = |turn: &Turn, by: &Turn| u128::from(turn.done) * u128::from(by.pages);
            if done(other, least) < done(least, other) { other } else { least }
        })
    }
}

impl RequestStream for InTurn {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        while batch.len() < limit
            && let Some(turn) = self.turn()
        {
            // All pieces of a request are taken together.
            while let Some(request) = turn.next()? {
                batch.push(request);
                if !request.goes_on {
                    break;
                }
            }
        }
        Ok(())
    }
}
