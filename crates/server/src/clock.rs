//! A timed drive beside the stored drive, called a drive with a clock. It gives the times at which
//! answers are sent.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use flashgc_base::sync::lock;
use flashgc_device::{Backend, DeviceError, Drive, PAGE, Settings, WriteStreams};
use flashgc_experiment::clocked::live;
use flashgc_experiment::input::Places;
use flashgc_experiment::options::RunConfig;
use flashgc_front::pace::{Pace, Simulated, Work};
use flashgc_ftl::FtlError;
use flashgc_host::HintsSpec;
use flashgc_timed::{Done, Live, Worst};
use flashgc_workload::Op;
use flashgc_workload::requests::TimedRequest;
use flashgc_workload::trace::{DeviceNumbers, ReadOptions, TraceReader};

use crate::ServerError;

/// The past that a drive with a clock has when its clock starts.
#[derive(Clone, Debug)]
pub enum Past {
    /// The data of the drive were overwritten at random the given number of times.
    Times(f64),
    /// The requests of this recording were executed.
    Recorded(PathBuf),
}

/// The configuration of a drive with a clock, and its past.
pub struct Clock {
    config: RunConfig,
    /// The factor by which the clock is slower than the wall clock.
    slower: f64,
    past: Past,
    /// The way in which hints reach the drive; `None` stands for at once.
    hints: Option<HintsSpec>,
}

impl Clock {
    /// Returns a clock. `config` is a configuration of the engine as JSON; it describes the drive.
    /// The clock is slower than the wall clock by the factor `slower`, and hints reach the drive in
    /// the way `hints`.
    ///
    /// # Errors
    /// Fails if a value makes no sense.
    pub fn new(
        config: &str,
        slower: f64,
        past: Past,
        hints: Option<&str>,
    ) -> Result<Self, ServerError> {
        if !(1.0..=1e6).contains(&slower) {
            return Err(ServerError::Config(format!(
                "slower: found {slower}, expected 1 to 1000000; hint: 4x lets the drive's time pass \
                 four times slower"
            )));
        }
        if let Past::Times(aged) = past
            && !(0.0..=1000.0).contains(&aged)
        {
            return Err(ServerError::Config(format!(
                "aged: found {aged}, expected 0 to 1000; hint: 2x writes the data twice"
            )));
        }
        let config = serde_json::from_str(config);
        let config = config.map_err(|error| ServerError::Config(error.to_string()))?;
        Ok(Self { config, slower, past, hints: hints.map(HintsSpec::parse).transpose()? })
    }

    /// Returns an empty drive with a clock for a stored drive with these settings.
    pub(crate) fn drive(&self, settings: &Settings) -> Result<Live, ServerError> {
        let geometry = settings.layout.geometry;
        let bytes = u64::from(geometry.logical_pages()) * PAGE as u64;
        let physical = geometry.physical_pages() * PAGE as u64;
        let streams = settings.streams.clone();
        live(&self.config, self.hints.as_ref(), streams, bytes, physical).map_err(|error| {
            // Errors name the options of `flashgc device serve`.
            let typed = Places::new([("drive.device".into(), "--device".into())].into());
            ServerError::Engine(error, typed)
        })
    }

    /// Starts the pace with the timed drive `live`. Its slowest requests are put into `slowest`.
    pub(crate) fn start(&self, live: Live, slowest: &Slowest) -> std::io::Result<Pace> {
        let timed = Timed { live, done: Vec::new(), slowest: Arc::clone(slowest), changes: 0 };
        Pace::start(Box::new(timed), self.slower)
    }
}

/// Gives the timed drive its past, and gives data to those of its pages that have data on the
/// stored drive.
pub(crate) fn fill(live: &mut Live, clock: &Clock, drive: &mut Drive) -> Result<(), DeviceError> {
    let full = |error: FtlError| DeviceError::NoSpace(error.to_string());
    if let Past::Recorded(trace) = &clock.past {
        repeat(live, trace)?;
    }
    let (mut page, pages) = (0, drive.pages());
    while page < pages {
        let (count, has_data) = drive.extent(page, pages - page)?;
        if has_data {
            live.fill(page, count, PAGE as u64).map_err(full)?;
        }
        page += count.max(1);
    }
    match clock.past {
        Past::Times(times) => live.age(times, clock.config.seed).map_err(full),
        Past::Recorded(_) => Ok(()),
    }
}

/// Executes the requests of the recording at `trace`.
fn repeat(live: &mut Live, trace: &Path) -> Result<(), DeviceError> {
    let media = |error: &dyn std::fmt::Display| DeviceError::Media(format!("--aged: {error}"));
    let options = ReadOptions { device_numbers: DeviceNumbers::Native, ..ReadOptions::default() };
    let mut reader = TraceReader::open(trace, &options).map_err(|error| media(&error))?;
    let (mut block, mut requests) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block).map_err(|error| media(&error))? {
        requests.clear();
        for request in &block {
            let bytes = u32::try_from(request.size).ok();
            let (Ok(offset), Some(bytes)) = (u64::try_from(request.offset), bytes) else {
                let (size, at) = (request.size, request.offset);
                return Err(media(&format!(
                    "{}: found {size} bytes from {at} on",
                    trace.display()
                )));
            };
            let (op, stream, arrival_ns) = (request.op, request.stream, 0);
            let (urgent, goes_on) = (false, false);
            requests.push(TimedRequest { arrival_ns, offset, bytes, op, urgent, stream, goes_on });
        }
        live.repeat(&requests).map_err(|error| media(&format!("{}: {error}", trace.display())))?;
    }
    Ok(())
}

/// The most operations shown of one of the slowest requests.
const MOST_SHOWN: usize = 256;

/// The slowest request of each kind so far.
pub(crate) type Slowest = Arc<Mutex<Vec<Worst>>>;

/// A drive with a clock, as the pace uses it.
struct Timed {
    live: Live,
    done: Vec<Done>,
    /// The slowest requests, which other threads can read while the drive goes on.
    slowest: Slowest,
    /// The timed drive's count of changes to its slowest requests, as of the last update of
    /// `slowest`.
    changes: u64,
}

impl Simulated for Timed {
    fn arrive(
        &mut self,
        op: Op,
        offset: u64,
        bytes: u64,
        streams: WriteStreams<'_>,
        now_ns: u64,
    ) -> Result<(), String> {
        let streams = streams.of_bytes(offset, bytes);
        let ticket = self.live.arrive_named((op, offset, bytes), &streams, now_ns);
        ticket.map(drop).map_err(|error| error.to_string())
    }

    fn hint(&mut self, op: Op, offset: u64, bytes: u64, now_ns: u64) -> Result<(), String> {
        self.live.hint(op, offset, bytes, now_ns).map_err(|error| error.to_string())
    }

    fn run(&mut self, until_ns: u64, done: &mut Vec<(u64, u64)>) -> Result<(), String> {
        let ran = self.live.run(until_ns, &mut self.done);
        let worst = self.live.worst();
        if worst.changes() != self.changes {
            self.changes = worst.changes();
            *lock(&self.slowest) = worst.of_kinds().map(cut).collect();
        }
        ran.map_err(|error| error.to_string())?;
        done.extend(self.done.drain(..).map(|Done { ticket, at_ns }| (ticket, at_ns)));
        Ok(())
    }

    fn next_ns(&mut self) -> Result<u64, String> {
        self.live.next_ns().map_err(|error| error.to_string())
    }

    fn work(&mut self) -> Work {
        let counters = self.live.counters();
        let hints = self.live.hint_counts().unwrap_or_default();
        let (host_bytes, programmed_bytes) = self.live.written_bytes();
        let totals = self.live.totals();
        Work {
            host_bytes,
            programmed_bytes,
            host_pages: counters.host_pages,
            copied_pages: counters.copied_pages,
            erases: counters.erases,
            collections: counters.collections,
            suspended_programs: totals.suspended_programs,
            suspended_erases: totals.suspended_erases,
            hinted_pages: hints.due,
            told_pages: hints.sent,
            overtaken_pages: hints.overtaken,
            hint_commands: hints.commands,
        }
    }
}

/// Returns `worst` with only the last [`MOST_SHOWN`] operations of its die. The drive's state is
/// read often, and answers wait meanwhile.
fn cut(worst: &Worst) -> Worst {
    let many = worst.operations.len().saturating_sub(MOST_SHOWN);
    Worst {
        request: worst.request,
        die: worst.die,
        collections: worst.collections.clone(),
        operations: worst.operations[many..].to_vec(),
        is_cut: worst.is_cut || many > 0,
    }
}
