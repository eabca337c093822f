//! The parts of a served drive that can be shown: its state, its blocks, its phases and its
//! recordings.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use flashgc_base::stream::StreamId;
use flashgc_base::sync::lock;
use flashgc_device::failure::Failure;
use flashgc_device::{Backend, Drive, PAGE, Recording, Strangers};
use flashgc_front::command::{Answer, Command};
use flashgc_front::control::{FileStream, Keeper};
use flashgc_front::health::READ_ONLY;
use flashgc_front::meter::{Latencies, LatencyKind, Meter};
use flashgc_front::queue::{Namer, Queue};
use flashgc_front::{nbd, nvme};
use flashgc_ftl::{Handles, PlacementSpec};
use flashgc_hints::allocations::HEAD;
use flashgc_hints::files::{File, FileCounts, Live};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};

use crate::clock::Slowest;
use crate::{faults, report};

/// Names the streams of writes by the files that they belong to.
struct Names(Arc<Live>);

impl Namer for Names {
    fn streams(&self, page: u64, count: u64) -> Vec<StreamId> {
        self.0.streams(page, count)
    }
}

/// The parts of a served drive that can be shown, in this process and through its control socket.
pub struct State {
    pub(crate) path: PathBuf,
    pub(crate) queue: Queue,
    pub(crate) since: Instant,
    pub(crate) victim: String,
    pub(crate) placement: String,
    /// Descriptions of the front ends.
    pub(crate) serving: Mutex<Vec<String>>,
    /// The front ends with connections, each with its description in `serving`.
    pub(crate) connections: Mutex<Vec<(String, Connections)>>,
    /// The description of the drive with a clock; null without one.
    pub(crate) clock: Value,
    /// The slowest requests of the drive with a clock.
    pub(crate) slowest: Slowest,
    /// The moment from which the times of the present recording are counted.
    pub(crate) recorded_since: Mutex<Option<Instant>>,
    /// The marked phases, in their order.
    pub(crate) phases: Mutex<Vec<Phase>>,
    /// The files behind the drive's pages, if the kernel's rings were opened for them.
    pub(crate) files: Option<Arc<Live>>,
    /// `true` if a client asked the server to stop.
    pub(crate) stopping: AtomicBool,
}

/// The connections of a front end.
pub(crate) enum Connections {
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
                let host = |host: nvme::Connected| {
                    json!({
                        "host": host.host,
                        "controller": host.controller,
                        "discovers": host.discovers,
                        "queues": host.queues.iter().map(queue).collect::<Vec<_>>(),
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

/// A phase: the time from one mark to the next while the drive is served.
pub(crate) struct Phase {
    name: String,
    began: Instant,
    /// The counts when the phase began.
    counters: Map<String, Value>,
    /// The latencies in the phase, in microseconds; `None` while it goes on.
    latencies: Option<[Latencies; 4]>,
}

impl State {
    /// Returns the descriptions of the front ends.
    pub fn serving(&self) -> Vec<String> {
        lock(&self.serving).clone()
    }

    /// Adds the description of a front end.
    pub fn serves(&self, words: String) {
        lock(&self.serving).push(words);
    }

    /// Adds a front end with its description and its connections.
    pub(crate) fn connects(&self, words: String, connections: Connections) {
        lock(&self.connections).push((words.clone(), connections));
        self.serves(words);
    }

    /// Returns `true` if a client of the control socket asked the server to stop.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut Drive, &mut Meter) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let visit = move |served: &mut dyn Backend, meter: &mut Meter| {
            served.as_drive().map(|drive| visit(drive, meter))
        };
        self.queue.visit(visit)?.ok_or(Failure::Stopped)
    }

    /// Returns the UUID of the drive.
    pub(crate) fn uuid(&self) -> Result<[u8; 16], Failure> {
        self.visit(|drive, _| drive.stat().uuid)
    }

    /// Notes in the drive's file that `strangers` can reach the drive from now on.
    pub(crate) fn let_in(&self, strangers: Strangers) -> Result<(), Failure> {
        Ok(self.visit(move |drive, _| drive.let_in(strangers))??)
    }

    /// Returns the placement handles of the drive.
    pub(crate) fn handles(&self) -> Option<Handles> {
        PlacementSpec::parse(&self.placement).ok()?.handles()
    }

    /// Removes all faults, so that no answer is delayed any more.
    pub(crate) fn no_faults(&self) {
        // To clear all faults cannot fail.
        let _ = self.queue.faults().clear(None);
    }

    /// Returns the state and the counts.
    pub fn stat(&self) -> Result<Value, Failure> {
        let (report, latencies, since_mark) = self.visit(|drive, meter| {
            let latencies = LatencyKind::ALL.map(|(name, kind)| (name, meter.latencies(kind)));
            (drive.stat(), latencies, meter.since_mark())
        })?;
        let mut stat = report::of_drive(&report, self.handles(), &latencies);
        let files = self.files.as_ref().and_then(|files| files.found());
        stat["files"] = json!(files.map(|FileCounts { files, late, lost }| {
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
        stat["faults"] = faults::to_json(self.queue.faults());
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
            let mut realtime = report::of_pace(&paced, &slowest);
            realtime["drive"] = self.clock.clone();
            // The latency that hosts see is the time until the answer, which the clock delays.
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
            "latency_us": report::by_kind(latencies),
        })
    }

    /// Ends the present phase and begins one called `name`. Returns the number of the new phase.
    pub fn mark(&self, name: &str) -> Result<usize, String> {
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
            counters: report::counters_of(&report),
            latencies: None,
        });
        Ok(phases.len())
    }

    /// Returns the blocks as five columns: state, class, valid pages, zombies and erases. Numbers
    /// are little endian.
    pub fn blocks(&self) -> Result<[Vec<u8>; 5], Failure> {
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

    /// Begins a recording at `path`; `None` ends the present one. Returns the number of requests in
    /// the recording that ended.
    pub fn record(&self, path: Option<&Path>) -> Result<Option<u64>, String> {
        let (pages, streams) = (self.queue.size() / PAGE as u64, self.queue.takes_streams());
        let begun = path.map(|path| Recording::begin(path, pages, streams)).transpose();
        let begun = begun.map_err(|error| error.to_string())?;
        *lock(&self.recorded_since) = begun.as_ref().map(Recording::began);
        let ended = self.visit(|drive, _| drive.replace_recording(begun));
        let ended = ended.map_err(|error| error.to_string())?;
        ended.map(Recording::end).transpose().map_err(|error| error.to_string())
    }
}

impl Keeper for State {
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
            let (reason, hint) = ("the drive takes no streams", "--placement fdp:handles=8");
            return Err(format!("{reason}; hint: {hint}"));
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
        let file = |file: &FileStream| (File { inode: file.inode, life: file.life }, file.stream);
        live.told(files.iter().map(file));
        Ok(())
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}

/// Converts a moment to nanoseconds of the monotonic clock.
fn monotonic(moment: Instant) -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    now - moment.elapsed().as_nanos() as u64
}

/// Splits the answer to BLOCKS of the control socket into its columns, which lie one behind the
/// other.
pub fn columns(bytes: &[u8]) -> [&[u8]; 5] {
    /// The number of bytes of a block in all columns.
    const BLOCK: usize = 14;
    let blocks = bytes.len() / BLOCK;
    let (state, rest) = bytes.split_at(blocks);
    let (class, rest) = rest.split_at(blocks);
    let (valid, rest) = rest.split_at(4 * blocks);
    let (zombies, erases) = rest.split_at(4 * blocks);
    [state, class, valid, zombies, erases]
}
