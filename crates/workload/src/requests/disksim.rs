//! Requests of random size and place, as DiskSim's synthetic generator makes them.
//!
//! All draws are independent. With probability `sequential` a request is sequential: it starts
//! right after the last byte of the previous one (after the end of the address range, at its
//! beginning). Any other request starts at a uniformly chosen multiple of `unit` at which it fits.
//! Sizes are drawn from `size` and rounded to the nearest multiple of `unit`, at least one unit and
//! at most the whole range. Times between arrivals are drawn from `gap`. With probability `reads` a
//! request is a read, otherwise a write; with probability `urgent` it is urgent. The address range
//! is the share `footprint` of the logical capacity, from its beginning. DiskSim calls it the
//! storage capacity of a device.
//!
//! Distributions: `constant:VALUE`, `uniform:LOW:HIGH`, `exponential:MEAN`,
//! `normal:MEAN:DEVIATION`, `pareto:MEAN:SHAPE`.
//!
//! # Cost
//!
//! Three to six random words a request, and a logarithm or two.
//!
//! # Source
//!
//! The synthetic generator of DiskSim (Bucy et al., "The DiskSim simulation environment version
//! 4.0 reference manual", CMU-PDL-08-101, 2008). The defaults are those of Lee et al.,
//! "Preemptible I/O scheduling of garbage collection for solid state drives", IEEE TCAD 32(2),
//! 2013.

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, Spec, SpecError};
use flashgc_base::stream::NO_STREAM;

use super::arrivals::{Arrivals, Clock};
use super::distribution::Distribution;
use super::{RequestStream, TimedRequest};
use crate::units::Quantity;
use crate::{Op, WorkloadError};

/// The name that users type.
pub const NAME: &str = "disksim";

/// The text of this file, whose header is the documentation of the generator.
pub(super) const SOURCE: &str = include_str!("disksim.rs");

/// The parameters of the generator.
pub const PARAMS: &[Param] = &[
    Param::text("size", Some("exponential:32KiB")).help("distribution of the size of a request"),
    Param::text("gap", Some("exponential:3ms")).help("distribution of the time between arrivals"),
    Param::share("sequential", Some("0.4"))
        .help("probability that a request starts at the end of the previous one"),
    Param::share("reads", Some("0.4")).help("probability that a request is a read"),
    Param::share("urgent", Some("0")).help("probability that a request is urgent"),
    Param::share("footprint", Some("1"))
        .help("share of the logical capacity that requests address, from its beginning"),
    Param::text("unit", Some("4KiB")).help("unit of sizes and offsets; all are multiples of it"),
];

/// The size of the largest request in bytes.
const LARGEST: f64 = 1073741824.0;

/// The generator with its parameters.
#[derive(Clone, Debug)]
pub struct DiskSim {
    params: Params,
    size: Distribution,
    gaps: Distribution,
    unit: u64,
}

impl DiskSim {
    /// Reads `disksim` or `disksim:size=exponential:32KiB,gap=exponential:3ms,sequential=40%,...`.
    ///
    /// # Errors
    /// A parameter is unknown, a value lacks its unit or is out of range, or a mean is 0.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let params = Params::resolve(&Spec::parse(text)?, PARAMS)?;
        let size = Distribution::parse("size", params.text("size"), Quantity::Size)?;
        let gaps = Distribution::parse("gap", params.text("gap"), Quantity::Time)?;
        let unit = Quantity::Size.parse("unit", params.text("unit"), "write unit=4KiB")?;
        if !((1.0..=LARGEST).contains(&unit) && unit.fract() == 0.0) {
            let message =
                format!("{NAME}: found unit={}, expected 1B to 1GiB", params.text("unit"));
            return Err(SpecError::new(message, "write unit=4KiB"));
        }
        if params.real("footprint") == 0.0 {
            let message = format!("{NAME}: footprint is 0, expected more than 0");
            return Err(SpecError::new(
                message,
                "footprint=0.125 is the first eighth of the drive",
            ));
        }
        for (name, mean) in [("size", size.mean()), ("gap", gaps.mean())] {
            if mean <= 0.0 {
                return Err(SpecError::new(format!("{NAME}: the mean of {name} is 0"), ""));
            }
        }
        Ok(Self { params, size, gaps, unit: unit as u64 })
    }

    /// Returns the default arrival process, which has gaps drawn from `gap`.
    pub fn arrivals(&self) -> Arrivals {
        Arrivals::Gaps(self.gaps)
    }

    /// Opens the requests of one run over `space` bytes, with arrival times from `clock`. The
    /// requests never end.
    ///
    /// # Errors
    /// The address range is smaller than one unit.
    pub fn open(&self, space: u64, seed: u64, clock: Clock) -> Result<DiskSimRequests, SpecError> {
        let space = (space as f64 * self.params.real("footprint")) as u64;
        let units = space / self.unit;
        if units == 0 {
            return Err(SpecError::new(
                format!(
                    "{NAME}: the address range is {space} bytes, expected at least one unit of \
                         {}",
                    self.unit
                ),
                "use a smaller unit or a larger footprint",
            ));
        }
        Ok(DiskSimRequests {
            size: self.size,
            unit: self.unit,
            units,
            sequential: self.params.real("sequential"),
            reads: self.params.real("reads"),
            urgent: self.params.real("urgent"),
            clock,
            sizes: Stream::new(seed, "requests/size"),
            places: Stream::new(seed, "requests/place"),
            kinds: Stream::new(seed, "requests/kind"),
            next: None,
        })
    }
}

/// Writes the spec with all parameters.
impl std::fmt::Display for DiskSim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.params.fmt(f)
    }
}

/// The requests of one run.
#[derive(State)]
#[snapshot(named = "requests")]
pub struct DiskSimRequests {
    #[snapshot(skip)]
    size: Distribution,
    #[snapshot(skip)]
    unit: u64,
    /// The number of units in the address range.
    #[snapshot(skip)]
    units: u64,
    #[snapshot(skip)]
    sequential: f64,
    #[snapshot(skip)]
    reads: f64,
    #[snapshot(skip)]
    urgent: f64,
    #[snapshot(state)]
    clock: Clock,
    sizes: Stream,
    places: Stream,
    kinds: Stream,
    /// The first unit after the last request; `None` before the first request.
    next: Option<u64>,
}

impl DiskSimRequests {
    fn request(&mut self) -> TimedRequest {
        let bytes = self.size.draw(&mut self.sizes).min(LARGEST);
        let largest = self.units.min((LARGEST as u64 / self.unit).max(1));
        let units = ((bytes / self.unit as f64).round() as u64).clamp(1, largest);
        let sequential = self.places.unit() < self.sequential;
        let first = match self.next {
            // A sequential request that would cross the end starts at the beginning.
            Some(next) if sequential && next + units <= self.units => next,
            Some(_) if sequential => 0,
            _ => below(self.units - units + 1, &mut self.places),
        };
        self.next = Some(first + units);
        let op = if self.kinds.unit() < self.reads { Op::Read } else { Op::Write };
        TimedRequest {
            arrival_ns: self.clock.arrival(),
            offset: first * self.unit,
            bytes: (units * self.unit) as u32,
            op,
            urgent: self.urgent > 0.0 && self.kinds.unit() < self.urgent,
            stream: NO_STREAM,
            goes_on: false,
        }
    }
}

/// Draws a uniform integer below `bound`. Probabilities are exact to 2^-53.
fn below(bound: u64, stream: &mut Stream) -> u64 {
    ((stream.unit() * bound as f64) as u64).min(bound - 1)
}

impl RequestStream for DiskSimRequests {
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, limit: usize) -> Result<(), WorkloadError> {
        batch.clear();
        batch.extend((0..limit).map(|_| self.request()));
        Ok(())
    }
}
