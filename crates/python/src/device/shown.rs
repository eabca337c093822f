//! The parts of a drive that others see: its state with the names of the standards, its blocks, its
//! recordings.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use flashgc_base::counts::{Count, Listed};
use flashgc_base::stream::StreamId;
use flashgc_device::failure::Failure;
use flashgc_device::{Drive, Opened, PAGE, Recording, Report, Served, Strangers, Usage};
use flashgc_experiment::stream_results::{FdpResult, Log, StreamResult};
use flashgc_front::command::{Answer, Command};
use flashgc_front::control::{FileStream, Keeper};
use flashgc_front::health::{Health, READ_ONLY, SPARE_THRESHOLD, Written};
use flashgc_front::meter::{Kind, Latencies, Meter};
use flashgc_front::queue::{Namer, Queue};
use flashgc_front::{nbd, nvme};
use flashgc_ftl::{Counters, Handles, PlacementSpec, ZombieCounts};
use flashgc_hints::allocations::HEAD;
use flashgc_hints::files::{File, Found, Live};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};

use super::faults;
use super::pace::{self, latency};
use crate::policy::lock;

/// The streams of writes, by the files on the drive.
struct Names(Arc<Live>);

impl Namer for Names {
    fn streams(&self, page: u64, count: u64) -> Vec<StreamId> {
        self.0.streams(page, count)
    }
}

/// The parts of a drive that can be seen, from this process and through its control socket.
pub(super) struct Shown {
    pub(super) path: PathBuf,
    pub(super) queue: Queue,
    pub(super) since: Instant,
    pub(super) victim: String,
    pub(super) placement: String,
    /// The front ends, in words.
    pub(super) serving: Mutex<Vec<String>>,
    /// The front ends with connections, each in the words that it has in `serving`.
    pub(super) connections: Mutex<Vec<(String, Connections)>>,
    /// The drive with a clock that says when answers leave; null without one.
    pub(super) clock: Value,
    /// The slowest requests of that drive.
    pub(super) slowest: pace::Slowest,
    /// The moment from which the times of the recording that goes on are counted.
    pub(super) recorded_since: Mutex<Option<Instant>>,
    /// The phases that somebody has marked, in their order.
    pub(super) phases: Mutex<Vec<Phase>>,
    /// The files behind the drive's pages, if the kernel's rings were opened for them.
    pub(super) files: Option<Arc<Live>>,
    /// `true` if somebody asked for the end.
    pub(super) stopping: AtomicBool,
}

/// The connections of a front end.
pub(super) enum Connections {
    Nbd(nbd::Seen),
    Nvme(nvme::Hosts),
}

impl Connections {
    fn shown(&self, serving: &str) -> Value {
        match self {
            Self::Nbd(seen) => {
                let under_way = seen.connections();
                let clients: Vec<_> =
                    under_way.iter().map(|count| json!({ "under_way": count })).collect();
                json!({ "serving": serving, "clients": clients })
            }
            Self::Nvme(hosts) => {
                let queue = |&(queue, under_way): &(u16, usize)| json!({ "queue": queue, "under_way": under_way });
                let host = |one: nvme::Connected| {
                    json!({
                        "host": one.host,
                        "controller": one.controller,
                        "discovers": one.discovers,
                        "queues": one.queues.iter().map(queue).collect::<Vec<_>>(),
                    })
                };
                let hosts: Vec<_> = hosts.connected().into_iter().map(host).collect();
                json!({ "serving": serving, "hosts": hosts })
            }
        }
    }
}

/// The largest number of phases.
const PHASES: usize = 1000;

/// A part of the time in which the drive is served, from one mark to the next.
pub(super) struct Phase {
    name: String,
    began: Instant,
    /// The counts when it began.
    counters: Map<String, Value>,
    /// The latencies in it, in microseconds; `None` while it goes on.
    latencies: Option<[Latencies; 4]>,
}

impl Shown {
    fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut Drive, &mut Meter) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let visit = move |served: &mut dyn Served, meter: &mut Meter| {
            served.as_drive().map(|drive| visit(drive, meter))
        };
        self.queue.visit(visit)?.ok_or(Failure::Stopped)
    }

    /// Returns the UUID of the drive.
    pub(super) fn uuid(&self) -> Result<[u8; 16], Failure> {
        self.visit(|drive, _| drive.stat().uuid)
    }

    /// Lets `strangers` reach the drive from now on, which its file remembers.
    pub(super) fn let_in(&self, strangers: Strangers) -> Result<(), Failure> {
        Ok(self.visit(move |drive, _| drive.let_in(strangers))??)
    }

    /// Returns the placement handles of the drive.
    pub(super) fn handles(&self) -> Option<nvme::Handles> {
        let Handles { count, persistent } =
            PlacementSpec::parse(&self.placement).ok()?.handles()?;
        Some(nvme::Handles { count, persistent })
    }

    /// Takes all faults away, so that no answer is late and no client waits for one.
    pub(super) fn no_faults(&self) {
        // Without a number there is nothing to miss.
        let _ = self.queue.faults().clear(None);
    }

    pub(super) fn stat(&self) -> Result<Value, Failure> {
        let (report, latencies, since_mark) = self.visit(|drive, meter| {
            let latencies = Kind::ALL.map(|(name, kind)| (name, meter.latencies(kind)));
            (drive.stat(), latencies, meter.since_mark())
        })?;
        let handles = PlacementSpec::parse(&self.placement).ok().and_then(|spec| spec.handles());
        let mut stat = shown(&report, handles, &latencies);
        let found = self.files.as_ref().and_then(|files| files.found());
        stat["files"] = json!(found.map(|Found { files, late, lost }| {
            json!({ "files": files, "late": late, "lost_events": lost })
        }));
        stat["file"] = json!(self.path.display().to_string());
        stat["serving"] = json!(*lock(&self.serving));
        let connections = lock(&self.connections);
        stat["connections"] =
            connections.iter().map(|(serving, connections)| connections.shown(serving)).collect();
        drop(connections);
        stat["uptime_seconds"] = json!(self.since.elapsed().as_secs_f64());
        let since = *lock(&self.recorded_since);
        stat["recorded_since_ns"] = json!(since.map(monotonic));
        stat["faults"] = faults::shown(self.queue.faults());
        if let (Some(why), true) =
            (self.queue.faults().why_read_only(), stat["read_only"].is_null())
        {
            stat["read_only"] = json!(why);
            let warning = stat["smart"]["critical_warning"].as_u64().unwrap_or_default();
            stat["smart"]["critical_warning"] = json!(warning | u64::from(READ_ONLY));
        }
        stat["victim"] = json!(self.victim);
        stat["placement"] = json!(self.placement);
        let since_mark = self.queue.paced_since_mark().unwrap_or(since_mark);
        stat["phases"] =
            lock(&self.phases).iter().map(|phase| self.phase(phase, &since_mark)).collect();
        if let Some(paced) = self.queue.paced() {
            let slowest = lock(&self.slowest).clone();
            let mut realtime = pace::shown(&paced, &slowest);
            realtime["drive"] = self.clock.clone();
            // What hosts wait for is the answer, and not its data.
            stat["latency_us"] = realtime["measured_us"].take();
            stat["realtime"] = realtime;
        }
        Ok(stat)
    }

    fn phase(&self, phase: &Phase, since_mark: &[Latencies; 4]) -> Value {
        let latencies = phase.latencies.as_ref().unwrap_or(since_mark);
        json!({
            "name": phase.name,
            "began_seconds": (phase.began - self.since).as_secs_f64(),
            "counters": phase.counters,
            "latency_us": pace::by_kind(latencies),
        })
    }

    /// Ends the phase that goes on, and begins one called `name`. Returns its number.
    pub(super) fn mark(&self, name: &str) -> Result<usize, String> {
        let mut phases = lock(&self.phases);
        if phases.len() == PHASES {
            return Err(format!("there are {PHASES} phases; hint: mark fewer"));
        }
        let is_first = phases.is_empty();
        let marked = self.visit(move |drive, meter| (drive.stat(), meter.mark(is_first)));
        let (report, latencies) = marked.map_err(|error| error.to_string())?;
        let latencies = self.queue.mark_pace(is_first).unwrap_or(latencies);
        if let Some(last) = phases.last_mut() {
            last.latencies = Some(latencies);
        }
        phases.push(Phase {
            name: name.into(),
            began: Instant::now(),
            counters: counters_of(&report),
            latencies: None,
        });
        Ok(phases.len())
    }

    /// The blocks, a column each: state, class, valid pages, zombies and erases, little endian.
    pub(super) fn blocks(&self) -> Result<[Vec<u8>; 5], Failure> {
        self.visit(|drive, _| {
            let mut columns: [Vec<u8>; 5] = Default::default();
            for block in drive.blocks() {
                columns[0].push(block.state as u8);
                columns[1].push(block.class);
                columns[2].extend(block.valid.to_le_bytes());
                columns[3].extend(block.zombies.to_le_bytes());
                columns[4].extend(block.erases.to_le_bytes());
            }
            columns
        })
    }

    /// Begins a recording, or ends the one that goes on: how many requests that one has.
    pub(super) fn record(&self, path: Option<&Path>) -> Result<Option<u64>, String> {
        let (pages, streams) = (self.queue.size() / PAGE as u64, self.queue.takes_streams());
        let begun = path.map(|path| Recording::begin(path, pages, streams)).transpose();
        let begun = begun.map_err(|error| error.to_string())?;
        *lock(&self.recorded_since) = begun.as_ref().map(Recording::began);
        let ended = self.visit(|drive, _| drive.replace_recording(begun));
        let ended = ended.map_err(|error| error.to_string())?;
        ended.map(Recording::end).transpose().map_err(|error| error.to_string())
    }
}

impl Keeper for Shown {
    fn stat(&self) -> Result<String, String> {
        let stat = self.stat().map_err(|error| error.to_string())?;
        serde_json::to_string(&stat).map_err(|error| error.to_string())
    }

    fn blocks(&self) -> Result<Vec<u8>, String> {
        Ok(self.blocks().map_err(|error| error.to_string())?.concat())
    }

    fn record(&self, file: Option<&Path>) -> Result<String, String> {
        let ended = self.record(file)?;
        let ended = ended.map(|requests| format!("recorded {requests} requests"));
        match (file, ended) {
            (Some(file), None) => Ok(format!("recording into {}", file.display())),
            (Some(file), Some(ended)) => Ok(format!("{ended}; recording into {}", file.display())),
            (None, Some(ended)) => Ok(ended),
            (None, None) => Err("no recording goes on; hint: name a trace".to_string()),
        }
    }

    fn mark(&self, name: &str) -> Result<String, String> {
        self.mark(name).map(|number| format!("phase {number}: {name}"))
    }

    fn files(&self, device: u64, files: &[FileStream]) -> Result<(), String> {
        let Some(live) = &self.files else {
            return Err("the server does not follow files".to_string());
        };
        if !self.queue.takes_streams() {
            let (found, hint) = ("the drive takes no streams", "--placement fdp:handles=8");
            return Err(format!("{found}; hint: {hint}"));
        }
        if live.found().is_none() {
            let pages = self.queue.size() / PAGE as u64;
            let head = Command::Read { at: 0, bytes: HEAD };
            let Ok(Answer::Data(head)) = self.queue.spared().call(head) else {
                return Err("the drive cannot be read".to_string());
            };
            live.follow(device, pages as usize, &head).map_err(|error| error.to_string())?;
            self.queue.named_by(Arc::new(Names(Arc::clone(live))));
        }
        let file = |one: &FileStream| (File { inode: one.inode, life: one.life }, one.stream);
        live.told(files.iter().map(file));
        Ok(())
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}

/// Returns a moment in nanoseconds of the monotonic clock.
fn monotonic(moment: Instant) -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    now - moment.elapsed().as_nanos() as u64
}

/// Bytes of a block in the answer of the control socket: the columns one behind the other.
pub(super) const BLOCK_BYTES: usize = 10;

pub(super) fn columns<'py>(py: Python<'py>, columns: [&[u8]; 5]) -> [Bound<'py, PyBytes>; 5] {
    columns.map(|column| PyBytes::new(py, column))
}

/// A report with the names of the standards: the SMART log (02h) and the OCP log (C0h).
fn shown(report: &Report, handles: Option<Handles>, latencies: &[(&str, Latencies)]) -> Value {
    let page = PAGE as u64;
    let geometry = report.geometry;
    let blocks = u64::from(geometry.blocks());
    let health = Health::of(report);
    let latency_us: Map<String, Value> = latencies
        .iter()
        .map(|(name, latencies)| ((*name).to_string(), latency(latencies)))
        .collect();
    json!({
        "uuid": uuid_text(report.uuid),
        "capacity_bytes": u64::from(geometry.logical_pages()) * page,
        "page_bytes": page,
        "blocks": blocks,
        "pages_per_block": geometry.pages_per_block(),
        "spare_factor": geometry.spare_factor(),
        "effective_spare": geometry.effective_spare(report.kept_erased.into()),
        "blocks_kept_erased": report.kept_erased,
        "durability": report.durability.name(),
        "write_amplification": Written::of(report).amplification(),
        "read_only": report.read_only,
        "gives_room_back": report.gives_room_back,
        "free_blocks": report.free_blocks,
        "mapped_pages": report.mapped_pages,
        "streams": report.streams.as_ref().map(StreamResult::all),
        "fdp": report.streams.as_ref().zip(handles).map(|(totals, handles)| {
            let Written { host, media, erased } = Written::of(report);
            FdpResult::new(handles, totals, Log { host, media, erased })
        }),
        "zombie_pages": report.zombies.map(|zombies| zombies.known),
        "decisions": format!("{:016x}", report.decisions),
        "recovery": report.recovery.map(|recovery| {
            json!({ "records": recovery.records, "skipped": recovery.skipped })
        }),
        "smart": {
            "critical_warning": health.critical_warning,
            "available_spare": health.available_spare,
            "available_spare_threshold": SPARE_THRESHOLD,
            "percentage_used": health.percentage_used,
            "data_units_read": health.data_units_read,
            "data_units_written": health.data_units_written,
            "host_read_commands": health.host_reads,
            "host_write_commands": health.host_writes,
            "controller_busy_time": health.busy_minutes,
            "power_cycles": health.power_cycles,
            "power_on_hours": health.power_on_hours,
            "unsafe_shutdowns": health.unsafe_shutdowns,
            "media_errors": health.media_errors,
        },
        "ocp": {
            "physical_media_units_written": health.media_bytes_written,
            "physical_media_units_read": health.media_bytes_read,
            "bad_user_nand_blocks": health.bad_blocks,
            "user_data_erase_count_max": health.most_erases,
            "user_data_erase_count_min": health.least_erases,
            "nand_avg_erase_count": health.mean_erases,
            "percent_free_blocks": health.percent_free_blocks,
            "incomplete_shutdowns": health.unsafe_shutdowns,
            "unaligned_io": health.unaligned,
        },
        "counters": counters_of(report),
        "latency_us": latency_us,
    })
}

/// The counts of a drive since it was made, and of its file since it was opened.
fn counters_of(report: &Report) -> Map<String, Value> {
    let zombies = report.zombies.unwrap_or_default();
    let mut all = Map::new();
    all.extend(named(&report.counters).chain(named(&report.usage)));
    all.extend(named(&zombies).chain(named(&report.opened)));
    all.insert("host_pages_read".into(), json!(report.usage.read_bytes / PAGE as u64));
    all
}

/// The declared counts of a drive's state as JSON: the name of each, its text and its unit.
#[pyfunction]
pub(crate) fn device_counts() -> String {
    let all = [Counters::list(), Usage::list(), ZombieCounts::list(), Opened::list()].concat();
    let one = |&Count { stat, text, unit, .. }: &Count| json!([stat, text, unit]);
    json!(all.iter().map(one).collect::<Vec<_>>()).to_string()
}

/// Counts under the names that the state of a drive has for them.
fn named<T: Listed>(counts: &T) -> impl Iterator<Item = (String, Value)> {
    T::list().into_iter().zip(counts.numbers()).map(|(count, number)| {
        let value = if count.unit == "ns" { json!(number as f64 / 1e9) } else { json!(number) };
        (count.stat.to_string(), value)
    })
}

fn uuid_text(uuid: [u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
