//! Arrival processes: the times at which requests arrive. They know nothing of the requests
//! themselves.

use std::fmt;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, Spec, SpecError, suggest};

use super::distribution::Distribution;
use crate::units::Quantity;

/// An arrival process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// The gaps between arrivals are independent and have the same distribution: a renewal process.
    /// The best-known renewal processes are Poisson arrivals and periodic arrivals.
    Gaps(Distribution),
    /// Bursts: Poisson arrivals with the mean gap `gap_ns` during a burst, and none between bursts.
    /// The lengths of bursts and pauses are exponential, and a workload begins with a burst. This
    /// is the interrupted Poisson process (Kuczura 1973).
    Bursts {
        /// The mean time between arrivals in a burst, in nanoseconds.
        gap_ns: f64,
        /// The mean length of a burst, in nanoseconds.
        on_ns: f64,
        /// The mean length of a pause, in nanoseconds.
        off_ns: f64,
    },
    /// A closed loop: each of `threads` threads has one request in progress. It issues its next
    /// request `think_ns` after that request is complete.
    Closed {
        /// The number of threads, each with one request in progress.
        threads: u32,
        /// The nanoseconds between the end of a request and the issue of the next.
        think_ns: u64,
    },
    /// Each request of a recording arrives after the answers that it waited for.
    Dependent,
}

/// The entry of one arrival process for the command line and the reference.
#[derive(Clone, Copy, Debug)]
pub struct ArrivalsInfo {
    /// The name that users type.
    pub name: &'static str,
    /// The description in one line.
    pub summary: &'static str,
    /// The documentation in Markdown: description, formula, source.
    pub doc: &'static str,
    /// The parameters of the process.
    pub params: &'static [Param],
}

const MEAN: Param = Param::text("mean", None)
    .help("mean time between arrivals, such as 3ms; or rate=N, arrivals a second");
const GAP: Param = Param::text("gap", None)
    .help("distribution of the time between arrivals, such as uniform:1ms:5ms");
const ON: Param = Param::text("on", None).help("mean length of a burst");
const OFF: Param = Param::text("off", None).help("mean length of a pause");
const THREADS: Param =
    Param::integer("threads", (1, 1 << 20), Some("1")).help("requests under way at a time");
const THINK: Param = Param::text("think", Some("0us"))
    .help("think time, from the end of a request to the thread's next request");

/// The list of all arrival processes.
static ARRIVALS: [ArrivalsInfo; 6] = [
    ArrivalsInfo {
        name: "poisson",
        summary: "Poisson arrivals.",
        doc: "Poisson arrivals: times between them are exponential and independent.",
        params: &[MEAN],
    },
    ArrivalsInfo {
        name: "periodic",
        summary: "Arrivals at fixed intervals.",
        doc: "Arrivals at fixed intervals.",
        params: &[MEAN],
    },
    ArrivalsInfo {
        name: "gaps",
        summary: "Independent times between arrivals, of any distribution.",
        doc: "Independent times between arrivals, of any distribution (a renewal process): \
              `constant:3ms`, `uniform:1ms:5ms`, `exponential:3ms`, `normal:3ms:1ms`, \
              `pareto:3ms:2.5`.",
        params: &[GAP],
    },
    ArrivalsInfo {
        name: "bursts",
        summary: "Poisson arrivals in bursts, with pauses between them.",
        doc: "Poisson arrivals in bursts, with pauses between them; both last exponentially \
              distributed times. Arrivals a second over all: on / (on + off) of the rate in a \
              burst.\n\n# Source\n\nThe interrupted Poisson process: Kuczura, \"The interrupted \
              Poisson process as an overflow process\", Bell System Technical Journal 52(3), 1973.",
        params: &[MEAN, ON, OFF],
    },
    ArrivalsInfo {
        name: "closed",
        summary: "A closed loop: each thread has one request under way.",
        doc: "A closed loop: each thread has one request under way. It issues the next one a think \
              time after that request is complete. The drive is never overloaded, so the \
              throughput is the highest it can reach.",
        params: &[THREADS, THINK],
    },
    ArrivalsInfo {
        name: "dependent",
        summary: "The host of a recording: each request comes when those have been answered that it waited for.",
        doc: "The host of a recording that has the times of its answers. A request waits for the request whose \
              answer was the last before it came, and comes as long after that answer as it did then: its \
              think time. A flush also waits for every other request that had been answered when it came. \
              If the recording has threads, only answers of the same thread count. \
              So a slower drive slows its host down, and is not overloaded. The rate scale divides think times.",
        params: &[],
    },
];

/// Returns all arrival processes, in the order in which a listing shows them.
pub fn arrivals() -> &'static [ArrivalsInfo] {
    &ARRIVALS
}

impl Arrivals {
    /// Reads `poisson:mean=3ms`, `poisson:rate=20000`, `periodic:...`, `gaps:gap=uniform:1ms:5ms`,
    /// `bursts:rate=50000,on=2ms,off=8ms` or `closed:threads=8,think=0us`.
    ///
    /// # Errors
    /// The name or a parameter is unknown, a value lacks its unit or is out of range, or a mean is
    /// 0.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let mut spec = Spec::parse(text)?;
        let Some(info) = ARRIVALS.iter().find(|info| info.name == spec.name) else {
            return Err(SpecError::new(
                format!("unknown arrivals '{}'", spec.name),
                suggest(&spec.name, ARRIVALS.iter().map(|info| info.name)),
            ));
        };
        if info.params.iter().any(|param| param.name == MEAN.name) {
            rate_to_mean(&mut spec)?;
        }
        let params = Params::resolve(&spec, info.params)?;
        let form = format!("write {}", example(info.name));
        let time = |name: &str| {
            let ns = Quantity::Time.parse(name, params.text(name), &form)?;
            match ns > 0.0 || name == THINK.name {
                true => Ok(ns),
                false => Err(SpecError::new(format!("{}: {name} is 0", info.name), form.clone())),
            }
        };
        Ok(match info.name {
            "poisson" => Self::Gaps(Distribution::exponential(Quantity::Time, time("mean")?)),
            "periodic" => Self::Gaps(Distribution::constant(Quantity::Time, time("mean")?)),
            "gaps" => {
                let gaps = Distribution::parse("gap", params.text("gap"), Quantity::Time)?;
                if gaps.mean() <= 0.0 {
                    return Err(SpecError::new("gaps: the mean of gap is 0", form));
                }
                Self::Gaps(gaps)
            }
            "bursts" => {
                let (gap_ns, on_ns, off_ns) = (time("mean")?, time("on")?, time("off")?);
                // With shorter bursts, the next arrival could be millions of bursts away.
                if on_ns < gap_ns / 1000.0 {
                    return Err(SpecError::new(
                        "bursts: a burst has fewer than 0.001 arrivals on average",
                        form,
                    ));
                }
                Self::Bursts { gap_ns, on_ns, off_ns }
            }
            "dependent" => Self::Dependent,
            _ => Self::Closed {
                threads: u32::try_from(params.integer("threads")).expect("at most 2^20"),
                think_ns: time("think")?.round() as u64,
            },
        })
    }

    /// Returns the mean number of arrivals a second, or `None` if it depends on the drive.
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::Gaps(gaps) => Some(1e9 / gaps.mean()),
            Self::Bursts { gap_ns, on_ns, off_ns } => Some(1e9 / gap_ns * on_ns / (on_ns + off_ns)),
            Self::Closed { .. } | Self::Dependent => None,
        }
    }

    /// Returns the process with `rate_scale` times as many arrivals: all times of an open loop are
    /// divided by `rate_scale`. The other processes are not changed.
    #[must_use]
    pub fn scaled(&self, rate_scale: f64) -> Self {
        match *self {
            Self::Gaps(gaps) => Self::Gaps(gaps.scaled(1.0 / rate_scale)),
            Self::Bursts { gap_ns, on_ns, off_ns } => Self::Bursts {
                gap_ns: gap_ns / rate_scale,
                on_ns: on_ns / rate_scale,
                off_ns: off_ns / rate_scale,
            },
            Self::Closed { .. } | Self::Dependent => *self,
        }
    }

    /// Opens the arrival times of one run. All of them are 0 if they depend on the drive.
    pub fn open(&self, seed: u64) -> Clock {
        let mut stream = Stream::new(seed, "arrivals");
        let left_ns = match self {
            Self::Bursts { on_ns, .. } => exponential(*on_ns, &mut stream),
            _ => 0.0,
        };
        Clock { arrivals: *self, stream, now_ns: 0, left_ns }
    }
}

/// Returns an example of a valid spec.
fn example(name: &str) -> &'static str {
    match name {
        "periodic" => "periodic:mean=3ms",
        "gaps" => "gaps:gap=uniform:1ms:5ms",
        "bursts" => "bursts:rate=50000,on=2ms,off=8ms",
        "closed" => "closed:threads=8,think=0us",
        "dependent" => "dependent",
        _ => "poisson:mean=3ms or poisson:rate=20000",
    }
}

/// Replaces `rate=N` by the equivalent mean.
fn rate_to_mean(spec: &mut Spec) -> Result<(), SpecError> {
    let Some(at) = spec.params.iter().position(|(key, _)| key == "rate") else { return Ok(()) };
    let name = &spec.name;
    if spec.params.iter().any(|(key, _)| key == MEAN.name) {
        return Err(SpecError::new(
            format!("{name}: rate and mean say the same thing"),
            "give one",
        ));
    }
    let text = &spec.params[at].1;
    let rate = text.replace('_', "").parse::<f64>().ok().filter(|rate| (1e-3..=1e9).contains(rate));
    let rate = rate.ok_or_else(|| {
        SpecError::new(
            format!("{name}: rate={text} is not a number of arrivals a second from 0.001 to 1e9"),
            format!("write {}", example(name)),
        )
    })?;
    spec.params[at] = (MEAN.name.to_string(), format!("{}ns", 1e9 / rate));
    Ok(())
}

fn exponential(mean: f64, stream: &mut Stream) -> f64 {
    Distribution::exponential(Quantity::Time, mean).draw(stream)
}

/// Writes the spec in full, in a form that users can type.
impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |ns: f64| Quantity::Time.format(ns);
        match self {
            Self::Gaps(gaps) => write!(f, "gaps:gap={gaps}"),
            Self::Bursts { gap_ns, on_ns, off_ns } => {
                write!(f, "bursts:mean={},on={},off={}", time(*gap_ns), time(*on_ns), time(*off_ns))
            }
            Self::Closed { threads, think_ns } => {
                write!(f, "closed:threads={threads},think={}", time(*think_ns as f64))
            }
            Self::Dependent => write!(f, "dependent"),
        }
    }
}

/// The arrival times of one run, one after the other.
#[derive(Clone, Debug, State)]
pub struct Clock {
    #[snapshot(skip)]
    arrivals: Arrivals,
    stream: Stream,
    now_ns: u64,
    /// The nanoseconds left in the current burst.
    left_ns: f64,
}

impl Clock {
    /// Returns the arrival time of the last request in nanoseconds, or 0 before the first.
    pub fn now(&self) -> u64 {
        self.now_ns
    }

    /// Returns the arrival time of the next request in nanoseconds. The first request arrives one
    /// gap after time 0.
    pub fn arrival(&mut self) -> u64 {
        let gap = match self.arrivals {
            Arrivals::Gaps(gaps) => gaps.draw(&mut self.stream),
            Arrivals::Bursts { gap_ns, on_ns, off_ns } => {
                // After an arrival, both the rest of the burst and the time to the next arrival are
                // exponential, and independent of the past.
                let mut passed = 0.0;
                loop {
                    let gap = exponential(gap_ns, &mut self.stream);
                    if gap <= self.left_ns {
                        self.left_ns -= gap;
                        break passed + gap;
                    }
                    passed += self.left_ns + exponential(off_ns, &mut self.stream);
                    self.left_ns = exponential(on_ns, &mut self.stream);
                }
            }
            Arrivals::Closed { .. } | Arrivals::Dependent => 0.0,
        };
        self.now_ns = self.now_ns.saturating_add(gap.round() as u64);
        self.now_ns
    }
}
