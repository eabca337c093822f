//! Checkpoints: the state of all runs of a configuration in a file, from which they go on later as if
//! they had never been stopped.
//!
//! A run is saved between two steps of its drive, now and then, when it is stopped and when it is done;
//! a finished run keeps its figures and no drive. [`Keeper`] decides when and which data;
//! [`file`](mod@file) has the layout on disk. Only a whole file replaces a file, so that a process
//! killed at any time leaves the last one. If a write fails, the runs go on, and the result says
//! so.

mod file;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flashgc_base::snapshot::{Fault, Reader, State, Value, Writer};
use flashgc_drive::error::DriveError;
use serde::{Deserialize, Serialize};

use self::file::{Kind, Slot, Stored, digest_of};
use crate::VERSION;
use crate::config::Resolved;
use crate::options::RunConfig;

/// The subject of a checkpoint: it must be the same for the runs to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The version of flashgc.
    pub version: String,
    /// The configuration, as it was asked for.
    pub config: RunConfig,
    /// The XXH3 of each file that the workload is read from, in hexadecimal digits.
    pub files: Vec<(PathBuf, String)>,
}

impl Subject {
    /// The subject of the runs of `resolved`, which was made from `config`.
    ///
    /// # Errors
    /// A file of the workload that cannot be read.
    pub fn of(config: &RunConfig, resolved: &Resolved) -> Result<Self, DriveError> {
        let digest = |path: PathBuf| match digest_of(&path) {
            Ok(digest) => Ok((path, digest)),
            Err(error) => Err(fault(&path, error)),
        };
        let streams = config.streams.as_ref().map(PathBuf::from);
        let files = resolved.source.files().into_iter().chain(streams).map(digest);
        Ok(Self {
            version: VERSION.to_string(),
            config: config.clone(),
            files: files.collect::<Result<_, _>>()?,
        })
    }

    /// Whether the runs of `self` may go on from a checkpoint of `other`, which lies at `path`.
    fn check(&self, other: &Self, path: &Path) -> Result<(), DriveError> {
        if other.version != self.version {
            return Err(fault(
                path,
                format!(
                    "it was written by flashgc {}, this is {}; hint: go on with that version, or run anew",
                    other.version, self.version
                ),
            ));
        }
        if let Some(difference) = difference(&other.config, &self.config) {
            return Err(fault(
                path,
                format!(
                    "it is of another configuration: {difference}; hint: give --resume alone, and drive \
                     and workload come from the file"
                ),
            ));
        }
        let changed = other.files.iter().find(|file| !self.files.contains(file));
        if let Some((changed, _)) = changed {
            return Err(fault(
                path,
                format!("{} has changed since; hint: run anew", changed.display()),
            ));
        }
        Ok(())
    }
}

/// The first difference of two configurations; `None` if they are the same.
fn difference(then: &RunConfig, now: &RunConfig) -> Option<String> {
    if then == now {
        return None;
    }
    let value = |config| serde_json::to_value(config).unwrap_or_default();
    let (then, now) = (value(then), value(now));
    let keys = then.as_object()?.keys().chain(now.as_object()?.keys());
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::Null => "nothing".to_string(),
        value => value.to_string(),
    };
    let different = keys.into_iter().find(|key| then[key.as_str()] != now[key.as_str()])?;
    let (then, now) = (text(&then[different.as_str()]), text(&now[different.as_str()]));
    Some(format!("{different} is {now}, in the checkpoint {then}"))
}

fn fault(path: &Path, why: impl std::fmt::Display) -> DriveError {
    DriveError::checkpoint(format!("checkpoint {}: {why}", path.display()))
}

/// The subject of the checkpoint at `path`: the configuration to resolve before [`Keeper::new`].
///
/// # Errors
/// No checkpoint, one that is damaged, or of another version.
pub fn subject(path: &Path) -> Result<Subject, DriveError> {
    let stored = Stored::open(path).map_err(|why| fault(path, why))?;
    serde_json::from_str(stored.subject()).map_err(|why| match version_of(stored.subject()) {
        Some(version) if version != VERSION => fault(path, format!(
            "it was written by flashgc {version}, this is {VERSION}; hint: go on with that version, or \
             run anew"
        )),
        _ => fault(path, why),
    })
}

/// The version in a subject that may have other fields than ours.
fn version_of(subject: &str) -> Option<String> {
    let subject: serde_json::Value = serde_json::from_str(subject).ok()?;
    Some(subject.get("version")?.as_str()?.to_string())
}

/// Where checkpoints go to and come from.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Where they are written.
    pub write: Option<PathBuf>,
    /// Time from one of a run to its next.
    pub every: Option<Duration>,
    /// Where runs go on from.
    pub resume: Option<PathBuf>,
}

/// Time from one checkpoint of a run to its next, if nothing else is said.
pub const EVERY: Duration = Duration::from_secs(300);

/// Writes the checkpoints of the runs of one configuration, and knows where they went on.
pub struct Keeper {
    path: PathBuf,
    subject: String,
    every: Duration,
    stored: Mutex<Stored>,
    failed: Mutex<Option<String>>,
}

/// The stored part of a run.
pub(crate) enum Found {
    /// Nothing: it begins anew.
    Nothing,
    /// It was under way, and has been restored.
    UnderWay,
    /// It was done.
    Done,
}

impl Keeper {
    /// The keeper of the runs of `resolved`, which was made from `config`. It goes on writing the file
    /// it resumes from, unless another is named; the file is there from now on.
    ///
    /// # Errors
    /// A checkpoint that is damaged, of another version, configuration or trace; a file that cannot be
    /// written; a part of the drive that cannot be saved.
    pub fn new(
        places: &Places,
        config: &RunConfig,
        resolved: &Resolved,
    ) -> Result<Self, DriveError> {
        let Some(path) = places.write.as_ref().or(places.resume.as_ref()) else {
            return Err(DriveError::checkpoint("checkpoint: no file is named"));
        };
        if let Some(why) = resolved.why_unsaved() {
            return Err(fault(path, why));
        }
        let subject = Subject::of(config, resolved)?;
        let from = match &places.resume {
            None => Stored::nothing(),
            Some(resume) => {
                subject.check(&self::subject(resume)?, resume)?;
                Stored::open(resume).map_err(|why| fault(resume, why))?
            }
        };
        let text = serde_json::to_string(&subject).map_err(|why| fault(path, why))?;
        let stored = from.rewritten(path, &text, None).map_err(|why| fault(path, why))?;
        Ok(Self {
            path: path.clone(),
            subject: text,
            every: places.every.unwrap_or(EVERY),
            stored: Mutex::new(stored),
            failed: Mutex::default(),
        })
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of times that any run began to be lengthened to.
    pub(crate) fn rounds(&self) -> u32 {
        self.stored().slots().iter().map(|slot| slot.rounds).max().unwrap_or(0)
    }

    /// Restores run `index` into `run`, which was made anew.
    ///
    /// # Errors
    /// The stored data do not belong to such a run.
    pub(crate) fn restore(&self, index: u32, run: &mut dyn State) -> Result<Found, DriveError> {
        let mut stored = self.stored();
        match stored.slots().iter().find(|slot| slot.index == index).map(|slot| slot.kind) {
            None => return Ok(Found::Nothing),
            Some(Kind::Done) => return Ok(Found::Done),
            Some(Kind::UnderWay) => {}
        }
        // Data are checked where they could do harm. A fault that slips through may break an
        // assertion: then the file is no checkpoint of ours.
        let read =
            AssertUnwindSafe(|| stored.read(index, |from: &mut Reader<'_>| run.restore(from)));
        let restored =
            catch_unwind(read).unwrap_or_else(|_| Err(Fault::new("it contradicts itself")));
        restored.map_err(|why| fault(&self.path, why))?;
        Ok(Found::UnderWay)
    }

    /// The remains of run `index`; `None` if it is not done.
    ///
    /// # Errors
    /// The stored data are no such thing.
    pub(crate) fn done<T: Value>(&self, index: u32) -> Result<Option<T>, DriveError> {
        let mut stored = self.stored();
        let is_done = |slot: &Slot| slot.index == index && slot.kind == Kind::Done;
        if !stored.slots().iter().any(is_done) {
            return Ok(None);
        }
        stored.read(index, T::take).map(Some).map_err(|why| fault(&self.path, why))
    }

    /// Stores run `index`, which is under way and has been lengthened to `rounds` times its length.
    pub(crate) fn keep(&self, index: u32, rounds: u32, run: &dyn State) {
        self.store(Slot::new(index, Kind::UnderWay, rounds), &|to| run.save(to));
    }

    /// Stores the remains of run `index`, which is done.
    pub(crate) fn keep_done(&self, index: u32, left: &impl Value) {
        self.store(Slot::new(index, Kind::Done, 1), &|to| left.put(to));
    }

    fn store(&self, slot: Slot, save: &dyn Fn(&mut Writer<'_>)) {
        let mut stored = self.stored();
        match stored.rewritten(&self.path, &self.subject, Some((slot, save))) {
            Ok(next) => *stored = next,
            Err(error) => {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert_with(|| {
                    format!("checkpoint {}: {error}; the last whole one stays", self.path.display())
                });
            }
        }
    }

    /// Why a checkpoint could not be written, the first time.
    pub(crate) fn failed(&self) -> Option<String> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// When one run is to be stored.
pub(crate) struct Turns<'a> {
    keeper: Option<&'a Keeper>,
    index: u32,
    last: Instant,
}

impl<'a> Turns<'a> {
    /// Those of run `index`; none without a keeper.
    pub(crate) fn new(keeper: Option<&'a Keeper>, index: u32) -> Self {
        Self { keeper, index, last: Instant::now() }
    }

    /// Whether it is time.
    pub(crate) fn is_due(&self) -> bool {
        self.keeper.is_some_and(|keeper| self.last.elapsed() >= keeper.every)
    }

    /// Stores the run, if anyone keeps it. The time to the next begins when that is done.
    pub(crate) fn store(&mut self, rounds: u32, run: &dyn State) {
        if let Some(keeper) = self.keeper {
            keeper.keep(self.index, rounds, run);
            self.last = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests;
