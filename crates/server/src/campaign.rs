//! The crash campaign: the results of its two levels in memory as JSON, and a drive whose commands
//! are logged.

use std::fs::File;
use std::path::Path;
use std::sync::Mutex;

use flashgc_base::sync::lock;
use flashgc_device::campaign::replay::Recorder;
use flashgc_device::campaign::{self, Broken, Outcome, Pace};
use flashgc_device::media::{FileMedia, bypass_page_cache};
use flashgc_device::{DeviceError, Drive, Outside, Settings, configuration};
use flashgc_front::fuse::Mount;
use flashgc_front::queue::Engine;
use serde_json::{Value, json};

fn outcome(counts: Value, broken: Option<Broken>) -> Value {
    let broken = broken.map(
        |Broken { seed, what, script }| json!({ "seed": seed, "what": what, "script": script }),
    );
    json!({ "counts": counts, "broken": broken })
}

/// Opens drives from `images` images that crashes may leave, and returns the counts.
pub fn sweep(seed: u64, images: u64, pace: &Pace) -> Value {
    let Outcome { tally, broken } = campaign::sweep(seed, images, pace);
    let counts = json!({
        "schedules": tally.schedules,
        "images": tally.images,
        "of_recoveries": tally.of_recoveries,
        "of_recovered_drives": tally.of_recovered,
        "openings_behind_the_end_of_a_process": tally.of_lives,
        "of_hosts_that_outlive_the_process": tally.of_hosts,
        "of_drives_whose_life_was_over": tally.of_ended,
        "openings_refused": tally.refused,
        "pages_lost_behind_a_fault": tally.lost,
        "with_lost_writes_or_swapped_pages": tally.of_lies,
        "lost_writes_and_swapped_pages_found": tally.lies_found,
        "records_skipped": tally.skipped,
        "pages_rebuilt_from_parity": tally.rebuilt,
        "maps_compared": tally.compared,
    });
    outcome(counts, broken)
}

/// Runs `operations` steps of random scripts, and returns the counts.
pub fn fuzz(seed: u64, operations: u64, pace: &Pace) -> Value {
    let Outcome { tally, broken } = campaign::fuzz::run(seed, operations, pace);
    let counts = json!({
        "scripts": tally.scripts,
        "operations": tally.operations,
        "crashes": tally.crashes,
        "recoveries_cut_off": tally.recoveries_cut,
        "reopened": tally.reopened,
        "faults_of_the_medium": tally.faults,
        "bits_flipped": tally.flips,
        "openings_refused": tally.refused,
        "media_errors": tally.media_errors,
        "ended_lives": tally.ended,
        "lies": tally.lies,
        "pages_gone_back_after_a_flip": tally.went_back,
        "ends_of_the_process_that_a_host_outlived": tally.outlived,
        "maps_compared": tally.compared,
    });
    outcome(counts, broken)
}

/// A drive whose commands are logged.
pub struct RecordedDrive(Mutex<Option<(Engine<Recorder<Drive>>, Mount)>>);

impl RecordedDrive {
    /// Opens the drive in the file at `path`, logs its commands into a new file, and mounts it in
    /// `folder`. With `uncached`, both files are read and written past the page cache, if the file
    /// system can do that.
    ///
    /// # Errors
    /// Fails if a file cannot be opened, or the kernel does not mount.
    pub fn open(
        path: &Path,
        log: &Path,
        folder: &Path,
        uncached: bool,
    ) -> Result<Self, DeviceError> {
        let file = File::options().read(true).write(true).open(path)?;
        if uncached {
            let _ = bypass_page_cache(&file);
        }
        let media = FileMedia::opened(file)?;
        let settings = Settings::parse(&configuration(&media)?, Outside::default())?;
        let drive = Drive::open(Box::new(media), &settings)?;
        let engine = Engine::start(Recorder::new(drive, log, uncached)?)?;
        let mount = Mount::new(engine.queue(), folder)?;
        Ok(Self(Mutex::new(Some((engine, mount)))))
    }

    /// Unmounts the drive and closes it. If the mount is in use, the drive stays open.
    ///
    /// # Errors
    /// Fails if the mount is in use, or a file cannot be written.
    pub fn close(&self) -> Result<(), DeviceError> {
        let mut open = lock(&self.0);
        if let Some((_, mount)) = open.as_mut() {
            mount.unmount()?;
        }
        let Some((engine, _mount)) = open.take() else { return Ok(()) };
        match engine.stop() {
            (Some(recorder), Ok(())) => recorder.into_drive().close(),
            (_, Err(failure)) => Err(DeviceError::Media(failure.to_string())),
            (None, Ok(())) => Ok(()),
        }
    }
}
