//! Sources of requests for a drive with a clock: page generators, synthetic requests and traces,
//! with the same interface.

use flashgc_base::naming::{choice, subject};
use flashgc_base::spec::{Param, SpecError, header, summary};

use super::RequestStream;
use super::arrivals::Arrivals;
use super::disksim::{self, DiskSim};
use super::live::LiveRequests;
use super::pages::PageRequests;
use super::sized::SizedRequests;
use super::trace::TimedTrace;
use super::waits::Waits;
use crate::WorkloadError;
use crate::generate::GeneratorSpec;

/// The logical space that a drive offers its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// The number of logical pages.
    pub logical_pages: u32,
    /// The size of a page in bytes.
    pub page_size: u32,
    /// The size of a page generator's request in bytes, if the generator does not give sizes: a
    /// divisor or a multiple of a page. Other sources have their own sizes.
    pub request_size: u32,
}

impl Space {
    /// Returns the size of the logical space in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.page_size)
    }
}

/// A source of requests. It can be opened once for each run.
#[derive(Clone, Debug)]
pub enum Requests {
    /// The page commands of a generator or a mixture, one request each.
    Pages(GeneratorSpec),
    /// The synthetic requests of DiskSim's generator.
    DiskSim(DiskSim),
    /// The requests of a trace.
    Trace(Box<TimedTrace>),
    /// Requests that are pushed while the drive runs.
    Live(LiveRequests),
}

/// The entry of a request generator for the command line and the reference.
#[derive(Clone, Copy, Debug)]
pub struct RequestsInfo {
    /// The name that users type.
    pub name: &'static str,
    /// The parameters of the generator.
    pub params: &'static [Param],
    source: &'static str,
}

impl RequestsInfo {
    /// Returns the description in one line without markup.
    pub fn summary(&self) -> &'static str {
        summary(self.source)
    }

    /// Returns the documentation in Markdown.
    pub fn doc(&self) -> String {
        header(self.source)
    }
}

/// Returns the generators that make requests with times and therefore need a drive with a clock.
pub fn request_generators() -> &'static [RequestsInfo] {
    &[RequestsInfo { name: disksim::NAME, params: disksim::PARAMS, source: disksim::SOURCE }]
}

impl Requests {
    /// Parses the spec of a generator of pages or of requests.
    ///
    /// # Errors
    /// The name or a parameter is unknown, or a value is out of range.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let name = text.split(':').next().unwrap_or_default().trim();
        if name == disksim::NAME {
            DiskSim::parse(text).map(Self::DiskSim)
        } else {
            GeneratorSpec::parse_any(text).map(Self::Pages)
        }
    }

    /// Returns the number of logical pages if the source determines it. It is rounded to whole
    /// blocks of `pages_per_block` pages.
    pub fn fixed_pages(&self, pages_per_block: u32) -> Option<u32> {
        match self {
            Self::Pages(spec) => spec.fixed_pages(),
            Self::DiskSim(_) => None,
            Self::Trace(trace) if trace.given().is_some() => None,
            Self::Trace(trace) => Some(trace.logical_pages(pages_per_block)),
            Self::Live(requests) => Some(requests.pages()),
        }
    }

    /// Returns the mean number of pages that a read or a write touches on a drive with pages as in
    /// `space`; `None` if that is not known in advance.
    pub fn pages_a_request(&self, space: &Space) -> Option<f64> {
        match self {
            Self::Pages(spec) => Some(spec.pages_a_request(space.page_size, space.request_size)),
            Self::Trace(trace) => {
                let stat = trace.stat();
                let requests = stat.reads + stat.writes;
                (requests > 0)
                    .then(|| (stat.page_reads + stat.page_writes) as f64 / requests as f64)
            }
            Self::DiskSim(_) | Self::Live(_) => None,
        }
    }

    /// Returns `true` if some requests have several pieces on the drive.
    pub fn have_pieces(&self) -> bool {
        matches!(self, Self::Trace(trace) if trace.has_pieces())
    }

    /// Returns, for a drive of `logical_pages` pages, the answers that the host of a recording
    /// waited for.
    ///
    /// # Errors
    /// The source is not a recording with the times of answers, or the drive is too small for it.
    pub fn waits(&self, logical_pages: u32) -> Result<&Waits, SpecError> {
        match self {
            Self::Trace(trace) => trace.waits(logical_pages),
            Self::Pages(_) | Self::DiskSim(_) | Self::Live(_) => Err(SpecError::new(
                format!(
                    "{} dependent needs a recording: a generator waits for nothing",
                    subject("arrivals")
                ),
                choice("arrivals", "closed:threads=1"),
            )),
        }
    }

    /// Returns the default arrival process: that of the source, or a closed loop of one thread
    /// without pauses. `None` if the requests have their own times.
    pub fn default_arrivals(&self) -> Option<Arrivals> {
        match self {
            Self::Pages(_) => Some(Arrivals::Closed { threads: 1, think_ns: 0 }),
            Self::DiskSim(disksim) => Some(disksim.arrivals()),
            Self::Trace(_) | Self::Live(_) => None,
        }
    }

    /// Returns the trace without its reads; `None` if nothing would be left, or if the source is
    /// not a trace.
    pub fn without_reads(&self, space: &Space) -> Option<Self> {
        let Self::Trace(trace) = self else { return None };
        let left = trace.without_reads();
        (left.requests_on(space.logical_pages) > 0).then(|| Self::Trace(Box::new(left)))
    }

    /// Opens the requests of one run. Only the requests of a trace end: the trace is replayed
    /// `passes` times. `arrivals` replaces the source's own times. All times are divided by
    /// `rate_scale`, except those of a closed loop.
    ///
    /// # Errors
    /// The drive does not suit the source.
    pub fn open(
        &self,
        space: Space,
        seed: u64,
        arrivals: Option<&Arrivals>,
        rate_scale: f64,
        passes: Option<u64>,
    ) -> Result<Box<dyn RequestStream>, WorkloadError> {
        let refused = |error: SpecError| WorkloadError(error.marked());
        let chosen = arrivals.copied().or(self.default_arrivals());
        let clock = chosen.map(|arrivals| arrivals.scaled(rate_scale).open(seed));
        Ok(match (self, clock) {
            (Self::Pages(spec), Some(clock)) => {
                let Space { logical_pages, page_size, request_size } = space;
                if spec.has_sizes() {
                    let extents = spec.open_extents(logical_pages, page_size, request_size, seed);
                    return Ok(Box::new(SizedRequests::new(extents.map_err(refused)?, clock)));
                }
                let workload = spec
                    .open_slots(logical_pages, page_size, request_size, seed)
                    .map_err(refused)?;
                Box::new(PageRequests::new(workload, clock, page_size, request_size))
            }
            (Self::DiskSim(disksim), Some(clock)) => {
                Box::new(disksim.open(space.bytes(), seed, clock).map_err(refused)?)
            }
            (Self::Trace(trace), clock) => Box::new(
                trace
                    .open(space.logical_pages, passes, rate_scale, clock)
                    .map_err(|error| WorkloadError(error.marked()))?,
            ),
            (Self::Live(requests), _) => Box::new(requests.clone()),
            (_, None) => unreachable!("these have no times of their own"),
        })
    }
}
