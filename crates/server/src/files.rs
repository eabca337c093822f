//! Makes, describes and checks the files of drives; gives a drive a past, or repeats a recording on
//! it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use flashgc_device::dies::Parity;
use flashgc_device::media::FileMedia;
use flashgc_device::owners::{self, owned};
use flashgc_device::past::{self, Until};
use flashgc_device::{
    Backend, DeviceError, Drive, Durability, LEAST_JOURNAL_BLOCKS, Outside, PAGE, Recording,
    Settings, check, configuration, strangers,
};
use flashgc_experiment::config::{self, Resolved};
use flashgc_experiment::input::Places;
use flashgc_experiment::options::RunConfig;
use flashgc_ftl::UNMAPPED;
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::trace::TraceError;
use serde_json::{Value, json};

use crate::ServerError;

fn refused(error: impl std::fmt::Display) -> ServerError {
    ServerError::Config(error.to_string())
}

fn unwritten(error: TraceError) -> DeviceError {
    DeviceError::Media(error.to_string())
}

/// Returns the settings of the drive in a file. `outside` has the policies that are written in
/// Python.
fn settings_of(media: &FileMedia, outside: Outside) -> Result<Settings, DeviceError> {
    Settings::parse(&configuration(media)?, outside)
}

/// Makes a drive in a new file at `path` and returns its description. `config` is a configuration
/// of the engine; only the part that describes the drive counts. `places` has the places of its
/// options, for errors.
///
/// # Errors
/// Fails if the options are not those of a drive, or the file exists already or cannot be written.
pub fn create(
    path: &Path,
    config: &str,
    uuid: [u8; 16],
    durability: &str,
    journal_bytes: Option<u64>,
    outside: Option<config::Outside>,
    places: &Places,
) -> Result<Value, ServerError> {
    let settings = settings(config, durability, journal_bytes, outside, places)?;
    let create = || {
        let mut media = FileMedia::create(path, settings.file_bytes()?)?;
        Drive::create(&mut media, &settings, uuid).inspect_err(|_| {
            let _ = std::fs::remove_file(path);
        })
    };
    create().map_err(ServerError::of_file(path))?;
    described(&settings)
}

fn settings(
    config: &str,
    durability: &str,
    journal_bytes: Option<u64>,
    outside: Option<config::Outside>,
    places: &Places,
) -> Result<Settings, ServerError> {
    let config: RunConfig = serde_json::from_str(config).map_err(refused)?;
    // If the placement needs streams and they are not given by address, the host names them.
    let named = config.host_names_streams();
    let workload = GeneratorSpec::parse(if named { "uniform:stream=0" } else { &config.workload })?;
    let resolved = Resolved::new(&config, Arc::new(workload), outside)
        .map_err(|error| ServerError::Engine(error.into(), places.clone()))?;
    let (layout, victim) = resolved.kept().map_err(|error| refused(error.said(places)))?;
    let journal_blocks = match journal_bytes {
        None => Settings::JOURNAL_BLOCKS,
        Some(bytes) => bytes / PAGE as u64,
    };
    if journal_blocks < LEAST_JOURNAL_BLOCKS {
        let least = LEAST_JOURNAL_BLOCKS * PAGE as u64;
        return Err(ServerError::Config(format!(
            "the journal has {} bytes, expected at least {least}; hint: leave it out, 64 MiB is usual",
            journal_bytes.unwrap_or_default()
        )));
    }
    let durability = Durability::parse(durability)?;
    let (members, pages_per_program) = resolved.members();
    let parity = Parity::new(members, pages_per_program);
    let streams = resolved.streams;
    let settings = Settings { layout, victim, journal_blocks, durability, streams, parity };
    settings.file_bytes().map_err(refused)?;
    Ok(settings)
}

fn described(settings: &Settings) -> Result<Value, ServerError> {
    let layout = &settings.layout;
    let geometry = layout.geometry;
    let bytes = |pages: u64| pages * PAGE as u64;
    let file_bytes = settings.file_bytes().map_err(refused)?;
    Ok(json!({
        "blocks": geometry.blocks(),
        "pages_per_block": geometry.pages_per_block(),
        "blocks_together": layout.blocks_together,
        // The dies of a superblock, the dies of a stripe and the pages of a program.
        "parity": settings.parity.map(|parity| parity.numbers()),
        "logical_pages": geometry.logical_pages(),
        "capacity_bytes": bytes(geometry.logical_pages().into()),
        "physical_bytes": bytes(settings.physical_pages()),
        "file_bytes": file_bytes,
        "journal_bytes": bytes(settings.journal_blocks),
        // The options of a simulation that makes the same decisions.
        "policies": {
            "victim": settings.victim.to_string(),
            "frontier": layout.frontier.to_string(),
            "placement": layout.placement.to_string(),
            "allocation": layout.allocation.to_string(),
            "wear_levelling": layout.levelling.map(|levelling| levelling.to_string()),
            "endurance": layout.lifespan.map(|lifespan| lifespan.endurance.to_string()),
            "seed": layout.seed,
        },
        "durability": settings.durability.name(),
        "configuration": settings.text(),
    }))
}

/// Returns the configuration from which the file at `path` was made, and the names of its policies
/// that are written in Python. Another process may have the file open. `held` is the file if it is
/// open here already.
///
/// # Errors
/// Fails if the file has no drive.
pub fn configured(path: &Path, held: Option<File>) -> Result<Value, ServerError> {
    let read = || {
        let media = match held {
            Some(file) => FileMedia::opened_read_only(file)?,
            None => FileMedia::read_only(path)?,
        };
        let text = configuration(&media)?;
        let outside = json!({
            "victim": Settings::outside(&text, "victim")?,
            "placement": Settings::outside(&text, "placement")?,
        });
        let settings = Settings::parse(&text, Outside::never_made())?;
        Ok((text, outside, settings, strangers(&media)?.words()))
    };
    let (text, outside, settings, strangers) = read().map_err(ServerError::of_file(path))?;
    let mut described = described(&settings)?;
    described["configuration"] = json!(text);
    described["strangers"] = json!(strangers);
    described["outside"] = outside;
    Ok(described)
}

/// Repeats the requests of the recording `trace` on the drive in the file at `path`. Every page is
/// written with the bytes that the file `data` has at its place; without `data`, with zeros that
/// take no room.
///
/// # Errors
/// Fails if a file cannot be read or written.
pub fn repeat(path: &Path, trace: &Path, data: Option<&Path>) -> Result<(), ServerError> {
    let repeat = || {
        let media = FileMedia::open(path)?;
        let settings = settings_of(&media, Outside::default())?;
        let mut drive = match data {
            Some(_) => Drive::open(Box::new(media), &settings)?,
            None => past::open(media, &settings)?,
        };
        flashgc_device::repeat(&mut drive, trace, data.unwrap_or(Path::new("/dev/zero")))?;
        drive.close()
    };
    repeat().map_err(ServerError::of_file(path))
}

/// Gives the empty drive in the file at `path` a past. A `share` of its pages gets data. A workload
/// with a seed then overwrites these pages up to the end that `until` names. `record` is the path
/// of a trace of these writes. `is_over` is called now and then with the number of page writes done
/// and the number due so far; if it returns true, the past ends early. Returns a description of the
/// past.
///
/// # Errors
/// Fails if the drive is not empty, or a file cannot be written.
pub fn age(
    path: &Path,
    share: f64,
    workload: (&GeneratorSpec, u64),
    until: Until,
    record: Option<&Path>,
    is_over: &dyn Fn(u64, u64) -> bool,
) -> Result<Value, ServerError> {
    let age = || {
        let media = FileMedia::open(path)?;
        let settings = settings_of(&media, Outside::default())?;
        let mut drive = past::open(media, &settings)?;
        let (pages, streams) = (drive.pages(), drive.takes_streams());
        let recording = record.map(|into| Recording::begin(into, pages, streams)).transpose();
        drive.replace_recording(recording.map_err(unwritten)?);
        let aged = past::age(&mut drive, &settings, share, workload, until, is_over)?;
        drive.replace_recording(None).map(Recording::end).transpose().map_err(unwritten)?;
        drive.close()?;
        Ok(aged)
    };
    let aged = age().map_err(ServerError::of_file(path))?;
    Ok(json!({
        "pages": aged.pages,
        "overwritten": aged.overwritten,
        "copied": aged.copied,
        "erases": aged.erases,
        "write_amplification": aged.write_amplification,
        "is_settled": aged.is_settled,
    }))
}

/// Makes the map of the closed drive at `path` from its out-of-band records, and returns the number
/// of pages in it.
///
/// # Errors
/// Fails if the file has no drive.
pub fn map_from_oob(path: &Path, outside: Outside) -> Result<Value, ServerError> {
    let look = || {
        let media = FileMedia::open(path)?;
        check::map_from_oob(&media, &settings_of(&media, outside)?)
    };
    let map = look().map_err(ServerError::of_file(path))?;
    let mapped = map.map.iter().filter(|&&ppn| ppn != UNMAPPED).count();
    Ok(json!({ "mapped": mapped, "knows_losses": map.knows_losses }))
}

/// Reads all of the closed drive at `path`, and compares its map with that of the out-of-band
/// records. `goes_on` is called now and then with the number of logical pages checked, and the
/// number of all logical pages.
///
/// # Errors
/// Fails if the file has no drive, or `goes_on` returns `false`.
pub fn check(
    path: &Path,
    outside: Outside,
    goes_on: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Value, ServerError> {
    let look = || {
        let media = FileMedia::open(path)?;
        let settings = settings_of(&media, outside)?;
        let pages = u64::from(settings.layout.geometry.logical_pages());
        check::check_watched(&media, &settings, &mut |done| goes_on(done.into(), pages))
    };
    let checked = look().map_err(ServerError::of_file(path))?;
    Ok(json!({
        "is_clean": checked.is_clean,
        "mapped": checked.mapped,
        "damaged": checked.damaged,
        "disagree": checked.disagree,
        "discarded": checked.discarded,
        "rebuilt": checked.rebuilt,
        "parity_wrong": checked.parity_wrong,
    }))
}

/// Executes a recording, whose streams are owners, on a drive like that in the file at `path`.
/// Returns the places of the owners' pages at the end, and the blocks from which these pages were
/// copied.
///
/// # Errors
/// Fails if a file cannot be read.
pub fn owners(
    path: &Path,
    outside: Outside,
    trace: &Path,
    query: &owners::Query<'_>,
) -> Result<Value, ServerError> {
    let look = || {
        let media = FileMedia::read_only(path)?;
        owned(&settings_of(&media, outside)?, trace, query)
    };
    let owned = look().map_err(ServerError::of_file(path))?;
    Ok(json!({
        "blocks_per_cell": owned.blocks_per_cell,
        "live": owned.live,
        "invalid": owned.invalid,
        "valid": owned.valid,
        "erases": owned.erases,
        "purest": owned.purest,
        "copied_of": owned.copied_of,
        "victims": owned.victims,
        "company": owned.company,
        "collections": owned.collections,
        "empty": owned.empty,
    }))
}
