//! A stored drive that is open in this process, and its front ends.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use flashgc_base::stream::{NO_STREAM, StreamId};
use flashgc_base::sync::lock;
use flashgc_device::media::{FileMedia, bypass_page_cache};
use flashgc_device::{
    DeviceError, Drive, Durability, Outside, Recording, Settings, Strangers, configuration,
};
use flashgc_front::command::{Answer, Command};
use flashgc_front::control::{ControlServer, Keeper};
use flashgc_front::faults::Fault;
use flashgc_front::fuse::{Mount, Prepared};
use flashgc_front::limits::Limits;
use flashgc_front::nbd::{NbdAddress, NbdExport, NbdServer};
use flashgc_front::nvme::{NvmeAddress, NvmeExport, NvmeServer};
use flashgc_front::queue::Engine;
use flashgc_front::socket::Listener;
use flashgc_hints::files::Live;
use serde_json::json;

use crate::ServerError;
use crate::clock::{self, Clock, Slowest};
use crate::state::{Connections, State};

/// The file of a drive, and the way in which it is opened.
#[derive(Default)]
pub struct Opening {
    /// The path of the file.
    pub path: PathBuf,
    /// The policies that are written in Python.
    pub outside: Outside,
    /// The durability to use instead of the file's.
    pub durability: Option<Durability>,
    /// The clock of a drive that answers at simulated times.
    pub clock: Option<Clock>,
    /// The file, if it is open already.
    pub held: Option<File>,
    /// The files of the drive's pages, as the kernel's rings report them.
    pub files: Option<Arc<Live>>,
}

/// A listener or a mount that a process with the needed privileges has made before the drive is
/// opened.
pub struct Reserved<T>(Mutex<Option<T>>);

impl<T> Reserved<T> {
    /// Returns `value` for the first drive that takes it.
    pub fn new(value: T) -> Self {
        Self(Mutex::new(Some(value)))
    }

    fn take(&self) -> Result<T, ServerError> {
        let used = || ServerError::Misuse("it serves a drive already".to_string());
        lock(&self.0).take().ok_or_else(used)
    }
}

/// Listens for hosts of NBD at `HOST:PORT` or `unix:PATH`.
///
/// # Errors
/// Fails if that is no address, or the address cannot be used.
pub fn bind_nbd(address: &str) -> Result<Reserved<Listener>, ServerError> {
    let address = parse_nbd(address)?;
    bound(&address, NbdServer::listen(&address))
}

/// Listens for hosts of NVMe/TCP at `HOST:PORT`.
///
/// # Errors
/// Fails if that is no address, or the address cannot be used.
pub fn bind_nvme_tcp(address: &str) -> Result<Reserved<Listener>, ServerError> {
    let address = parse_nvme(address)?;
    bound(&address, NvmeServer::listen(&address))
}

fn bound(
    address: &dyn Display,
    listener: io::Result<Listener>,
) -> Result<Reserved<Listener>, ServerError> {
    let listener = listener.map_err(refusal(address, "the server cannot start"))?;
    Ok(Reserved::new(listener))
}

/// Mounts in `folder`; only root has access.
///
/// # Errors
/// Fails if the kernel does not mount.
pub fn mount(folder: &Path) -> Result<Reserved<Prepared>, ServerError> {
    let prepared = Prepared::new(folder).map_err(refusal(&folder.display(), CANNOT_MOUNT))?;
    Ok(Reserved::new(prepared))
}

const CANNOT_MOUNT: &str = "cannot be mounted";

/// Locks the open file of a drive. Errors call it `name`. With `uncached` the page cache is
/// bypassed, if the file system can do that.
///
/// # Errors
/// Fails if somebody else has the lock.
pub fn lock_file(file: &File, name: &Path, uncached: bool) -> Result<(), ServerError> {
    if uncached {
        let _ = bypass_page_cache(file);
    }
    // The lock belongs to the open file, so it stays when the clone is dropped.
    let locked = file.try_clone().and_then(FileMedia::opened);
    locked.map(drop).map_err(|error| ServerError::of_file(name)(error.into()))
}

/// Returns a function that makes the error of a front end at `place`.
fn refusal(place: &dyn Display, reason: &str) -> impl Fn(io::Error) -> ServerError {
    let text = format!("{place}: {reason}");
    move |error| ServerError::Drive(format!("{text}: {error}"))
}

fn parse_nbd(address: &str) -> Result<NbdAddress, ServerError> {
    address.parse().map_err(|error| ServerError::Config(format!("NBD: {error}")))
}

fn parse_nvme(address: &str) -> Result<NvmeAddress, ServerError> {
    address.parse().map_err(|error| ServerError::Config(format!("NVMe/TCP: {error}")))
}

/// Refuses an address that other machines can reach. An invalid name is refused later.
fn check_local(
    protocol: &str,
    address: &dyn Display,
    is_local: io::Result<bool>,
    port: u16,
) -> Result<(), ServerError> {
    if is_local.unwrap_or(true) {
        return Ok(());
    }
    Err(ServerError::Config(format!(
        "{protocol}: {address} is for other machines too, expected an address of this one; hint: \
         127.0.0.1:{port}, or listen_anywhere=True"
    )))
}

/// A stored drive that is open in this process. Any thread may use it.
pub struct StoredDrive {
    state: Arc<State>,
    open: Mutex<Option<Open>>,
}

struct Open {
    engine: Engine<Drive>,
    mounts: Vec<Mount>,
    /// The servers of NBD.
    exports: Vec<NbdServer>,
    /// The servers of NVMe/TCP.
    targets: Vec<NvmeServer>,
    controls: Vec<ControlServer>,
}

impl StoredDrive {
    /// Opens a drive, and recovers it after a crash.
    ///
    /// # Errors
    /// Fails if the file has no drive, the drive is damaged, or its clock is not possible for this
    /// drive.
    pub fn open(opening: Opening) -> Result<Self, ServerError> {
        let Opening { path, outside, durability, clock, held, files } = opening;
        let failed = ServerError::of_file(&path);
        let read = || {
            let media = held.map_or_else(|| FileMedia::open(&path), FileMedia::opened)?;
            let settings = Settings::parse(&configuration(&media)?, outside)?;
            Ok::<_, DeviceError>((media, settings))
        };
        let (media, settings) = read().map_err(&failed)?;
        let mut live = clock.as_ref().map(|clock| clock.drive(&settings)).transpose()?;
        let slowest = Slowest::default();
        let open = || {
            let durability = durability.unwrap_or(settings.durability);
            let mut drive = Drive::open_as(Box::new(media), &settings, durability)?;
            if let Some((live, clock)) = live.as_mut().zip(clock.as_ref()) {
                clock::fill(live, clock, &mut drive)?;
            }
            let geometry = live.as_ref().map(|live| *live.geometry());
            let pace = live.zip(clock).map(|(live, clock)| clock.start(live, &slowest));
            Ok::<_, DeviceError>((Engine::start_paced(drive, pace.transpose()?)?, geometry))
        };
        let (engine, geometry) = open().map_err(failed)?;
        let clock = geometry.map(|geometry| {
            json!({
                "blocks": geometry.blocks(),
                "pages_per_block": geometry.pages_per_block(),
                "logical_pages": geometry.logical_pages(),
            })
        });
        let state = State {
            path,
            queue: engine.queue(),
            since: Instant::now(),
            victim: settings.victim.to_string(),
            placement: settings.layout.placement.to_string(),
            serving: Mutex::default(),
            connections: Mutex::default(),
            clock: json!(clock),
            slowest,
            recorded_since: Mutex::default(),
            phases: Mutex::default(),
            files,
            stopping: AtomicBool::new(false),
        };
        let open = Open {
            engine,
            mounts: Vec::new(),
            exports: Vec::new(),
            targets: Vec::new(),
            controls: Vec::new(),
        };
        Ok(Self { state: Arc::new(state), open: Mutex::new(Some(open)) })
    }

    /// Returns the state of the drive, as it can be shown.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the size of the drive in bytes.
    pub fn size(&self) -> u64 {
        self.state.queue.size()
    }

    /// Executes a command, and waits for its answer.
    ///
    /// # Errors
    /// Fails as the command does, or if the drive is closed.
    pub fn call(&self, command: Command) -> Result<Answer, ServerError> {
        Ok(self.state.queue.call(command)?)
    }

    /// Reads `bytes` bytes from byte `at` on.
    ///
    /// # Errors
    /// Fails if the data are damaged, or not all on the drive.
    pub fn read(&self, at: u64, bytes: usize) -> Result<Vec<u8>, ServerError> {
        match self.call(Command::Read { at, bytes })? {
            Answer::Data(data) => Ok(data),
            _ => Err(ServerError::Drive("a read was answered without data".to_string())),
        }
    }

    /// Writes `data` from byte `at` on in the stream `stream`; with `fua` it is durable when this
    /// returns.
    ///
    /// # Errors
    /// Fails if the drive is read-only, or does not take the stream.
    pub fn write(
        &self,
        at: u64,
        data: Vec<u8>,
        fua: bool,
        stream: Option<u32>,
    ) -> Result<(), ServerError> {
        if stream.is_some() && !self.state.queue.takes_streams() {
            return Err(ServerError::Config(
                "stream: the drive takes none from its host; hint: make it with placement=\"fdp:handles=8\""
                    .to_string(),
            ));
        }
        let known = |stream: u32| {
            let known = StreamId::try_from(stream).ok().filter(|&known| known != NO_STREAM);
            let wrong = || format!("stream: found {stream}, expected 0 to 254");
            known.ok_or_else(|| ServerError::Config(wrong()))
        };
        let streams = stream.map(known).transpose()?.into_iter().collect();
        self.call(Command::Write { at, data, fua, streams }).map(drop)
    }

    /// Ends the present phase and begins one called `name`. Returns the number of the new phase.
    ///
    /// # Errors
    /// Fails if there are too many phases, or the drive is closed.
    pub fn mark(&self, name: &str) -> Result<usize, ServerError> {
        self.state.mark(name).map_err(ServerError::Drive)
    }

    /// Records the drive's requests into a trace at `path` from now on; `None` ends the recording.
    /// Returns the number of requests in the recording that ended, if there was one.
    ///
    /// # Errors
    /// Fails if a trace cannot be written.
    pub fn record(&self, path: Option<&Path>) -> Result<Option<u64>, ServerError> {
        self.state.record(path).map_err(ServerError::Trace)
    }

    /// Sets a fault for hosts. Returns its number or, for an immediate disconnection, the number of
    /// connections ended.
    ///
    /// # Errors
    /// Fails if the drive cannot have the fault now.
    pub fn inject(&self, fault: Fault) -> Result<u64, ServerError> {
        opened(&mut lock(&self.open))?;
        self.state.queue.faults().inject(fault).map_err(ServerError::Drive)
    }

    /// Removes the fault with this number, or all faults for `None`. Returns the number of faults
    /// removed.
    ///
    /// # Errors
    /// Fails if there is no fault with that number.
    pub fn clear(&self, number: Option<u64>) -> Result<usize, ServerError> {
        opened(&mut lock(&self.open))?;
        self.state.queue.faults().clear(number).map_err(ServerError::Drive)
    }

    /// Mounts the drive in `folder` as a file, and returns the path of the file. `prepared` is an
    /// existing mount to use.
    ///
    /// # Errors
    /// Fails if the kernel does not mount.
    pub fn serve_fuse(
        &self,
        folder: &Path,
        prepared: Option<&Reserved<Prepared>>,
    ) -> Result<PathBuf, ServerError> {
        let mut open = lock(&self.open);
        let open = opened(&mut open)?;
        let queue = self.state.queue.clone();
        let mount = match prepared.map(Reserved::take).transpose()? {
            Some(prepared) => Mount::serve(queue, prepared),
            None => Mount::new(queue, folder),
        };
        let mount = mount.map_err(refusal(&folder.display(), CANNOT_MOUNT))?;
        let disk = mount.disk();
        open.mounts.push(mount);
        self.state.serves(format!("fuse {}", disk.display()));
        Ok(disk)
    }

    /// Serves the drive by the NBD protocol at `address`, and returns the actual address.
    /// `listener` is an existing listener for it. Unless `anywhere`, an address that other machines
    /// can reach is refused.
    ///
    /// # Errors
    /// Fails if that is no address of this machine, or the address cannot be used.
    pub fn serve_nbd(
        &self,
        address: &str,
        listener: Option<&Reserved<Listener>>,
        anywhere: bool,
    ) -> Result<String, ServerError> {
        let mut open = lock(&self.open);
        let open = opened(&mut open)?;
        let address = parse_nbd(address)?;
        if !anywhere {
            check_local("NBD", &address, address.is_local(), 10809)?;
        }
        if !matches!(address, NbdAddress::Unix(_)) {
            self.state.let_in(Strangers::TCP)?;
        }
        let (queue, export) = (self.state.queue.clone(), NbdExport::default());
        let server = match listener.map(Reserved::take).transpose()? {
            Some(listener) => {
                NbdServer::start_with(queue, &address, listener, export, Limits::default())
            }
            None => NbdServer::start(queue, &address, export),
        };
        let server = server.map_err(refusal(&address, "the NBD server cannot start"))?;
        let place = server.address().to_string();
        self.state.connects(place.clone(), Connections::Nbd(server.seen()));
        open.exports.push(server);
        Ok(place)
    }

    /// Serves the drive by NVMe/TCP at `address`. Returns the address and the NVMe qualified name.
    /// For `listener` and `anywhere` see [`StoredDrive::serve_nbd`].
    ///
    /// # Errors
    /// Fails if that is no address of this machine, or the address cannot be used.
    pub fn serve_nvme_tcp(
        &self,
        address: &str,
        listener: Option<&Reserved<Listener>>,
        anywhere: bool,
    ) -> Result<(String, String), ServerError> {
        let mut open = lock(&self.open);
        let open = opened(&mut open)?;
        let address = parse_nvme(address)?;
        if !anywhere {
            check_local("NVMe/TCP", &address, address.is_local(), 4420)?;
        }
        let uuid = self.state.uuid()?;
        self.state.let_in(Strangers::TCP)?;
        let (handles, block) = (self.state.handles(), address.block);
        let export = NvmeExport { uuid, handles, block, ..NvmeExport::default() };
        let queue = self.state.queue.clone();
        let target = match listener.map(Reserved::take).transpose()? {
            Some(listener) => {
                NvmeServer::start_with(queue, &address, listener, &export, Limits::default())
            }
            None => NvmeServer::start(queue, &address, &export),
        };
        let target = target.map_err(refusal(&address, "the NVMe/TCP target cannot start"))?;
        let (place, name) = (target.address().to_string(), export.name());
        let hosts = Connections::Nvme(target.hosts());
        self.state.connects(format!("nvme-tcp {place} {name}"), hosts);
        open.targets.push(target);
        Ok((place, name))
    }

    /// Answers other processes at the control socket `path`. `listener` is an existing listener for
    /// it.
    ///
    /// # Errors
    /// Fails if the path cannot be used.
    pub fn serve_control(
        &self,
        path: &Path,
        listener: Option<&Reserved<Listener>>,
    ) -> Result<(), ServerError> {
        let mut open = lock(&self.open);
        let open = opened(&mut open)?;
        let keeper = Arc::clone(&self.state) as Arc<dyn Keeper>;
        let queue = self.state.queue.clone();
        let server = match listener.map(Reserved::take).transpose()? {
            Some(listener) => ControlServer::start_on(queue, path, listener, keeper),
            None => ControlServer::start(queue, path, keeper),
        };
        let server = server.map_err(refusal(&path.display(), "no control socket"))?;
        open.controls.push(server);
        Ok(())
    }

    /// Ends the front ends. A mount in use stays.
    ///
    /// # Errors
    /// Fails if a mount is in use.
    pub fn stop_serving(&self) -> Result<(), ServerError> {
        let mut open = lock(&self.open);
        let open = opened(&mut open)?;
        open.end(&self.state).map_err(|error| {
            self.state.stopping.store(false, Ordering::SeqCst);
            ServerError::Drive(format!(
                "the drive's file is in use: {error}; hint: unmount what is on it first"
            ))
        })?;
        lock(&self.state.serving).clear();
        lock(&self.state.connections).clear();
        Ok(())
    }

    /// Closes the drive; all its data are then in the file. A second call does nothing.
    ///
    /// # Errors
    /// Fails if the file or the recording cannot be written.
    pub fn close(&self) -> Result<(), ServerError> {
        let Some(mut open) = lock(&self.open).take() else { return Ok(()) };
        self.state.no_faults();
        open.controls.clear();
        open.mounts.clear();
        open.exports.clear();
        open.targets.clear();
        let (drive, flushed) = open.engine.stop();
        let Some(mut drive) = drive else {
            return flushed.map_err(|failure| ServerError::Drive(failure.to_string()));
        };
        let recording = drive.replace_recording(None);
        let closed = drive.close();
        let recorded = recording.map(Recording::end).transpose();
        closed.map_err(ServerError::of_file(&self.state.path))?;
        recorded.map(drop).map_err(|error| ServerError::Trace(error.to_string()))
    }
}

fn opened(open: &mut Option<Open>) -> Result<&mut Open, ServerError> {
    open.as_mut().ok_or_else(ServerError::closed)
}

impl Open {
    /// Ends the front ends.
    fn end(&mut self, state: &State) -> io::Result<()> {
        state.no_faults();
        self.exports.clear();
        self.targets.clear();
        while let Some(mount) = self.mounts.last_mut() {
            mount.unmount()?;
            self.mounts.pop();
        }
        // The control sockets end last, so that a drive that stays mounted can still be reached.
        self.controls.clear();
        Ok(())
    }
}
