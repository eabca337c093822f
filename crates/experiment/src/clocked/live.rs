//! Makes the live drive of a configuration.

use std::sync::Arc;

use flashgc_base::naming::{choice, subject};
use flashgc_base::spec::SpecError;
use flashgc_drive::error::DriveError;
use flashgc_drive::source::TimedSource;
use flashgc_ftl::FtlError;
use flashgc_host::HintsSpec;
use flashgc_timed::Live;
use flashgc_workload::StreamRanges;
use flashgc_workload::requests::{LiveRequests, Requests};

use super::parts::layer;
use crate::config::Resolved;
use crate::options::RunConfig;

/// Makes the drive that `config` describes, with `bytes` bytes for its host and `physical_bytes`
/// bytes of flash. The flash is rounded up: to whole blocks, to an equal number of blocks on every
/// plane, and to the smallest number that the planes need. The drive is empty. Its host gives hints
/// as `hints` says, or perfect hints if `hints` is `None`. `streams` assigns streams to writes by
/// their addresses.
///
/// # Errors
/// Fails if the options make no such drive, in one line.
pub fn live(
    config: &RunConfig,
    hints: Option<&HintsSpec>,
    streams: Option<Arc<StreamRanges>>,
    bytes: u64,
    physical_bytes: u64,
) -> Result<Live, DriveError> {
    let refused =
        |message: String, hint: &str| Err(FtlError::from(SpecError::new(message, hint)).into());
    let unit = u64::from(config.unit());
    if !bytes.is_multiple_of(unit) {
        let message = format!(
            "{} of {unit} bytes do not divide the drive's {bytes} bytes",
            subject("mapping_unit")
        );
        return refused(message, &choice("mapping_unit", "4KiB"));
    }
    if config.host.is_some() {
        let message = format!(
            "{} does not apply to a drive with a real host, which has its own cache",
            subject("host_cache")
        );
        return refused(message, "leave it out");
    }
    let Ok(pages) = u32::try_from(bytes / unit) else {
        return refused(format!("the drive has {} pages", bytes / unit), "a smaller drive");
    };
    let spare = 1.0 - bytes as f64 / physical_bytes as f64;
    let config = RunConfig { blocks: None, capacity: None, spare, ..config.clone() };
    let requests =
        LiveRequests::new(pages).with_streams(streams.is_some() || config.host_names_streams());
    let requests = Requests::Live(requests);
    let source = TimedSource::new("live".to_string(), requests);
    let resolved = Resolved::new(&config, Arc::new(source), None)?;
    let Some(timed) = &resolved.timed else {
        return refused("the drive has no clock".to_string(), &choice("kind", "timed"));
    };
    if let (Some(way), false) = (hints, resolved.hints().1) {
        let message = format!(
            "{} {} does not apply: {} {} makes no use of hints",
            subject("hints"),
            way.name(),
            subject("victim"),
            resolved.config.victim
        );
        return refused(message, &format!("a drive made with {}", choice("scheme", "zgc-gd")));
    }
    let below = layer(&resolved, timed, 0)?;
    let mut live = Live::new(timed.settings.clone(), below, streams).map_err(FtlError::from)?;
    let locate = |page| live.layer().locate(page);
    if let Some(cache) = resolved.mapping.cache(&resolved.geometry, locate) {
        live = live.mapped(cache, resolved.geometry).map_err(FtlError::from)?;
    }
    let way = hints.cloned().map_or_else(|| HintsSpec::parse("perfect"), Ok);
    let way = way.map_err(FtlError::from)?;
    Ok(live.hinted(&way, resolved.config.seed).map_err(FtlError::from)?)
}
