//! Checkpoints: the state of all runs of a configuration in a file. The runs can continue from it
//! later, with the same results as if they had never been stopped.
//!
//! A run is stored between two steps of its drive: at intervals, when it is stopped, and when it is
//! done. A finished run stores its figures but no drive. [`Keeper`] decides when to store, and
//! what; [`file`](mod@file) has the layout on disk. A new file replaces the old one only when it is
//! complete, so that a process killed at any time leaves a complete file. If a write fails, the
//! runs continue, and the result has a finding about it.
//!
//! A checkpoint belongs to one configuration, and [`Keeper`] checks that. If the bytes of any state
//! change, `FORMAT` of `flashgc_base::snapshot` must be raised, unless the version of flashgc
//! changes.

mod file;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use flashgc_base::naming::option;
use flashgc_base::snapshot::{Fault, Reader, State, Writer};
use flashgc_base::sync::lock;
use flashgc_drive::error::DriveError;
use serde::{Deserialize, Serialize};

use self::file::{Slot, SlotKind, Stored, digest_of};
use crate::VERSION;
use crate::config::Resolved;
use crate::finished::Remains;
use crate::options::RunConfig;

/// The identity of the runs of a checkpoint. Only runs with an equal subject may continue from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The version of flashgc.
    pub version: String,
    /// The configuration, as the user gave it.
    pub config: RunConfig,
    /// The XXH3 of each file that the workload is read from, in hexadecimal digits.
    pub files: Vec<(PathBuf, String)>,
}

impl Subject {
    /// Returns the subject of the runs of `resolved`, which was made from `config`.
    ///
    /// # Errors
    /// Fails if a file of the workload cannot be read.
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

    /// Checks that the runs of `self` may continue from the checkpoint at `path`, whose subject is
    /// `other`.
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
                    "it has another configuration: {difference}; hint: give only {}, then the \
                     drive and the workload come from the file",
                    option("resume")
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

/// Returns the first difference of two configurations; `None` if they are equal.
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
    Some(format!("{different} is {now}, but {then} in the checkpoint"))
}

fn fault(path: &Path, why: impl std::fmt::Display) -> DriveError {
    DriveError::checkpoint(format!("checkpoint {}: {why}", path.display()))
}

/// Reads the subject of the checkpoint at `path`. The caller resolves the configuration in it and
/// passes both to [`Keeper::new`].
///
/// # Errors
/// Fails if there is no checkpoint, if it is damaged, or if another version wrote it.
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

/// Returns the version in `subject`, even if its other fields differ from those of [`Subject`].
fn version_of(subject: &str) -> Option<String> {
    let subject: serde_json::Value = serde_json::from_str(subject).ok()?;
    Some(subject.get("version")?.as_str()?.to_string())
}

/// The files that checkpoints are written to and read from.
#[derive(Clone, Debug, Default)]
pub struct CheckpointFiles {
    /// The file that checkpoints are written to.
    pub write: Option<PathBuf>,
    /// The time between two checkpoints of a run; `None` for [`EVERY`].
    pub every: Option<Duration>,
    /// The file that runs continue from.
    pub resume: Option<PathBuf>,
}

/// The time from one checkpoint of a run to the next, if the user gives none.
pub const EVERY: Duration = Duration::from_secs(300);

/// Writes the checkpoints of the runs of one configuration, and restores runs from their states.
pub struct Keeper {
    path: PathBuf,
    subject: String,
    every: Duration,
    stored: Mutex<Stored>,
    failed: Mutex<Option<String>>,
}

/// The state of a run after [`Keeper::restore`].
pub(crate) enum Restored {
    /// Nothing is stored: the run begins anew.
    Nothing,
    /// The run had not ended, and has been restored.
    UnderWay,
    /// The run was done.
    Done,
}

impl Keeper {
    /// Returns the keeper of the runs of `resolved`, which was made from `config`. The keeper
    /// writes to the file `places.write`, or to the file `places.resume` if no other file is given.
    /// That file exists when this function returns.
    ///
    /// # Errors
    /// Fails if a checkpoint is damaged or belongs to another version, configuration or trace, if
    /// the file cannot be written, or if a part of the drive cannot be saved.
    pub fn new(
        places: &CheckpointFiles,
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
        let stored =
            from.rewritten(path, &text, None).map_err(|why| fault(path, file::text(why)))?;
        Ok(Self {
            path: path.clone(),
            subject: text,
            every: places.every.unwrap_or(EVERY),
            stored: Mutex::new(stored),
            failed: Mutex::default(),
        })
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        lock(&self.stored)
    }

    /// Returns the highest number of rounds of any stored run. A round that is under way counts.
    pub(crate) fn rounds(&self) -> u32 {
        self.stored().slots().iter().map(|slot| slot.rounds).max().unwrap_or(0)
    }

    /// Restores the stored state of run `index` into `run`, which must be at its beginning.
    ///
    /// # Errors
    /// Fails if the stored data do not belong to such a run.
    pub(crate) fn restore(&self, index: u32, run: &mut dyn State) -> Result<Restored, DriveError> {
        let mut stored = self.stored();
        match stored.slots().iter().find(|slot| slot.index == index).map(|slot| slot.kind) {
            None => return Ok(Restored::Nothing),
            Some(SlotKind::Done) => return Ok(Restored::Done),
            Some(SlotKind::UnderWay) => {}
        }
        // Readers check only the data that could do harm. Other wrong data may break an assertion,
        // which panics. The panic is returned as an error: flashgc did not write such a file.
        let read =
            AssertUnwindSafe(|| stored.read(index, |from: &mut Reader<'_>| run.restore(from)));
        let restored =
            catch_unwind(read).unwrap_or_else(|_| Err(Fault::new("it contradicts itself")));
        restored.map_err(|why| fault(&self.path, why))?;
        Ok(Restored::UnderWay)
    }

    /// Returns the stored figures of run `index`; `None` if the run is not done. `has_clock` says
    /// whether the run has a clock.
    ///
    /// # Errors
    /// Fails if the stored data are not the figures of such a run.
    pub(crate) fn done(&self, index: u32, has_clock: bool) -> Result<Option<Remains>, DriveError> {
        let mut stored = self.stored();
        let is_done = |slot: &Slot| slot.index == index && slot.kind == SlotKind::Done;
        if !stored.slots().iter().any(is_done) {
            return Ok(None);
        }
        let read = stored.read(index, |from: &mut Reader<'_>| Remains::take(from, has_clock));
        read.map(Some).map_err(|why| fault(&self.path, why))
    }

    /// Stores run `index`, which has not ended and has `rounds` rounds. A round that is under way
    /// counts.
    pub(crate) fn keep(&self, index: u32, rounds: u32, run: &dyn State) {
        self.store(Slot::new(index, SlotKind::UnderWay, rounds), &|to| run.save(to));
    }

    /// Stores the figures of run `index`, which is done.
    pub(crate) fn keep_done(&self, index: u32, remains: &Remains) {
        self.store(Slot::new(index, SlotKind::Done, 1), &|to| remains.put(to));
    }

    fn store(&self, slot: Slot, save: &dyn Fn(&mut Writer<'_>)) {
        let mut stored = self.stored();
        match stored.rewritten(&self.path, &self.subject, Some((slot, save))) {
            Ok(next) => *stored = next,
            Err(error) => {
                let mut failed = lock(&self.failed);
                failed.get_or_insert_with(|| {
                    format!(
                        "checkpoint {}: {error}; the last complete checkpoint stays",
                        self.path.display()
                    )
                });
            }
        }
    }

    /// Returns the first error that occurred when a checkpoint was written; `None` if there was
    /// none.
    pub(crate) fn failed(&self) -> Option<String> {
        lock(&self.failed).clone()
    }
}

/// Decides at which times one run is stored.
pub(crate) struct Turns<'a> {
    keeper: Option<&'a Keeper>,
    index: u32,
    last: Instant,
}

impl<'a> Turns<'a> {
    /// Returns the times for run `index`. Without a keeper, the run is never stored.
    pub(crate) fn new(keeper: Option<&'a Keeper>, index: u32) -> Self {
        Self { keeper, index, last: Instant::now() }
    }

    /// Returns `true` if it is time to store the run.
    pub(crate) fn is_due(&self) -> bool {
        self.keeper.is_some_and(|keeper| self.last.elapsed() >= keeper.every)
    }

    /// Stores the run, if there is a keeper. The time until the next checkpoint begins when the run
    /// is stored.
    pub(crate) fn store(&mut self, rounds: u32, run: &dyn State) {
        if let Some(keeper) = self.keeper {
            keeper.keep(self.index, rounds, run);
            self.last = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests;
