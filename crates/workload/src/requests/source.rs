//! Where the requests of a drive with a clock come from, whatever they are: page generators,
//! synthetic requests and traces behind one face.

use flashgc_base::spec::{Param, SpecError, header};

use super::RequestStream;
use super::arrivals::Arrivals;
use super::disksim::{self, DiskSim};
use super::live::LiveRequests;
use super::pages::PageRequests;
use super::trace::TimedTrace;
use crate::WorkloadError;
use crate::generate::GeneratorSpec;

/// What a drive offers its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Logical pages.
    pub logical_pages: u32,
    /// Bytes a page.
    pub page_size: u32,
    /// Bytes of a request of a generator of pages: a divisor or a multiple of a page. Other sources have
    /// sizes of their own.
    pub request_size: u32,
}

impl Space {
    /// Bytes of the logical space.
    pub fn bytes(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.page_size)
    }
}

/// A source of requests that can be opened once a run.
#[derive(Clone, Debug)]
pub enum Requests {
    /// Page commands of a generator or a mixture: one request each.
    Pages(GeneratorSpec),
    /// Synthetic requests.
    DiskSim(DiskSim),
    /// A trace.
    Trace(Box<TimedTrace>),
    /// Requests that come while the drive runs.
    Live(LiveRequests),
}

/// What the command and the reference need to know of a generator of requests.
#[derive(Clone, Copy, Debug)]
pub struct RequestsInfo {
    /// Its name, as typed.
    pub name: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    source: &'static str,
}

impl RequestsInfo {
    /// What it is, in one line without markup.
    pub fn summary(&self) -> &'static str {
        self.source.lines().next().and_then(|line| line.strip_prefix("//! ")).unwrap_or("")
    }

    /// Its documentation in Markdown.
    pub fn doc(&self) -> String {
        header(self.source)
    }
}

/// The generators that make requests with times, and need a drive with a clock.
pub fn request_generators() -> &'static [RequestsInfo] {
    &[RequestsInfo { name: disksim::NAME, params: disksim::PARAMS, source: disksim::SOURCE }]
}

impl Requests {
    /// Reads the spec of a generator of pages or of requests.
    ///
    /// # Errors
    /// An unknown name or parameter, a value out of range.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let name = text.split(':').next().unwrap_or_default().trim();
        if name == disksim::NAME {
            DiskSim::parse(text).map(Self::DiskSim)
        } else {
            GeneratorSpec::parse_any(text).map(Self::Pages)
        }
    }

    /// The logical pages that it addresses where it fixes them itself, in whole blocks of
    /// `pages_per_block`.
    pub fn fixed_pages(&self, pages_per_block: u32) -> Option<u32> {
        match self {
            Self::Pages(spec) => spec.fixed_pages(),
            Self::DiskSim(_) => None,
            Self::Trace(trace) if trace.given().is_some() => None,
            Self::Trace(trace) => Some(trace.logical_pages(pages_per_block)),
            Self::Live(requests) => Some(requests.pages()),
        }
    }

    /// The mean number of pages that a read or a write touches, on a drive with such pages; `None` where that
    /// is not known before.
    pub fn pages_a_request(&self, space: &Space) -> Option<f64> {
        match self {
            Self::Pages(_) => Some(f64::from(space.request_size.div_ceil(space.page_size))),
            Self::Trace(trace) => {
                let stat = trace.stat();
                let requests = stat.reads + stat.writes;
                (requests > 0)
                    .then(|| (stat.page_reads + stat.page_writes) as f64 / requests as f64)
            }
            Self::DiskSim(_) | Self::Live(_) => None,
        }
    }

    /// When requests arrive if nothing else is asked for: as the source says, or without a pause
    /// from a closed loop of one thread. `None` of those that have their own times.
    pub fn default_arrivals(&self) -> Option<Arrivals> {
        match self {
            Self::Pages(_) => Some(Arrivals::Closed { threads: 1, think_ns: 0 }),
            Self::DiskSim(disksim) => Some(disksim.arrivals()),
            Self::Trace(_) | Self::Live(_) => None,
        }
    }

    /// The requests of one run: endless, but for a trace, which is replayed `passes` times.
    /// `arrivals` replaces the source's own times; these are divided by `rate_scale` first.
    ///
    /// # Errors
    /// What the source says of a drive that does not suit it.
    pub fn open(
        &self,
        space: Space,
        seed: u64,
        arrivals: Option<&Arrivals>,
        rate_scale: f64,
        passes: Option<u64>,
    ) -> Result<Box<dyn RequestStream>, WorkloadError> {
        let refused = |error: SpecError| WorkloadError(error.to_string());
        let chosen = arrivals.copied().or(self.default_arrivals());
        let clock = chosen.map(|arrivals| arrivals.scaled(rate_scale).open(seed));
        Ok(match (self, clock) {
            (Self::Pages(spec), Some(clock)) => {
                let Space { logical_pages, page_size, request_size } = space;
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
                    .map_err(|error| WorkloadError(error.to_string()))?,
            ),
            (Self::Live(requests), _) => Box::new(requests.clone()),
            (_, None) => unreachable!("these have no times of their own"),
        })
    }
}
