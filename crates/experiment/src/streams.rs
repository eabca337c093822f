//! The ranges of addresses that give writes their streams, and checks that the drive can use
//! streams.

use std::path::Path;
use std::sync::Arc;

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::spec::SpecError;
use flashgc_drive::source::Source;
use flashgc_ftl::{Mapping, PlacementSpec};
use flashgc_workload::StreamRanges;

use crate::options::{NO_STREAMS, RunConfig};

/// Reads the table of ranges that `config` names; `None` if it names none.
///
/// # Errors
/// Fails if the file cannot be read or is no table of ranges. Also fails if writes have streams, by
/// the ranges or by the workload itself, but a part before the drive does not pass streams on.
pub(crate) fn read(
    config: &RunConfig,
    mapping: &Mapping,
    placement: &PlacementSpec,
    source: &dyn Source,
) -> Result<Option<Arc<StreamRanges>>, SpecError> {
    let has_streams = config.streams.is_some() || source.has_streams();
    if has_streams {
        check(config, mapping)?;
    } else if placement.needs_streams() {
        return Err(SpecError::new(
            format!(
                "{} {} needs writes with streams, and the workload has none",
                subject("placement"),
                placement.name()
            ),
            format!(
                "{}, a trace with streams, or a generator with stream=0",
                choice("streams", "FILE")
            ),
        ));
    }
    let Some(path) = &config.streams else { return Ok(None) };
    let ranges = StreamRanges::open(Path::new(path)).map_err(|mut error| {
        let hint = std::mem::take(&mut error.hint);
        SpecError::new(error.marked(), hint)
    })?;
    Ok(Some(Arc::new(ranges)))
}

/// Checks that every part before the drive passes streams on.
fn check(config: &RunConfig, mapping: &Mapping) -> Result<(), SpecError> {
    let name = mapping.info().name;
    let (with, why, without) = if config.swap.is_some() {
        let cache = option("vm_page_cache");
        (cache.clone(), NO_STREAMS, format!("leave {cache} out"))
    } else if !mapping.info().has_victims {
        let why = "its log blocks take the writes of all streams together";
        (choice("mapping", name), why, choice("mapping", "page"))
    } else {
        return Ok(());
    };
    let (streams, or) = match &config.streams {
        Some(_) => {
            let (subject, name) = (subject("streams"), option("streams"));
            (format!("{subject} does"), format!("leave {name} out"))
        }
        None => {
            let source = subject("source");
            (
                format!("{source} has writes with streams, which do"),
                "a workload without streams".into(),
            )
        }
    };
    Err(SpecError::new(
        format!("{streams} not go with {with}: {why}"),
        format!("{without}, or {or}"),
    ))
}

#[cfg(test)]
mod tests {
    use flashgc_base::stream::NO_STREAM;
    use flashgc_workload::Batch;
    use flashgc_workload::generate::GeneratorSpec;

    use super::*;
    use crate::config::Resolved;
    use crate::options::SwapConfig;

    /// Returns a drive of about 1000 pages of 4 KiB, whose first 100 pages have stream 3.
    fn ranged(folder: &Path, config: RunConfig) -> Result<Resolved, String> {
        let path = folder.join("streams.csv");
        std::fs::write(&path, "0, 409600, 3\n").unwrap();
        let streams = Some(path.display().to_string());
        resolved(RunConfig { streams, ..config })
    }

    fn resolved(config: RunConfig) -> Result<Resolved, String> {
        let config = RunConfig { blocks: Some(64), pages_per_block: Some(16), ..config };
        let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
        Resolved::new(&config, source, None).map_err(|error| error.to_string())
    }

    fn workload(text: &str) -> RunConfig {
        RunConfig { workload: text.into(), ..RunConfig::default() }
    }

    #[test]
    fn a_drive_is_asked_for_writes_with_the_streams_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let drive = ranged(folder.path(), workload("uniform:read=0.2")).unwrap();
        let mut batch = Batch::default();
        drive.commands(0).unwrap().fill(&mut batch, 5000).unwrap();
        for (at, &page) in batch.pages.iter().enumerate() {
            assert_eq!(batch.stream(at), if page < 100 { 3 } else { NO_STREAM }, "page {page}");
        }
        assert!(batch.streams.contains(&3));
    }

    #[test]
    fn what_carries_no_streams_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let swap = SwapConfig { cache_pages: 10, ..SwapConfig::default() };
        let uniform = || workload("uniform");
        for (config, with) in [
            (RunConfig { mapping: "fast".into(), ..uniform() }, "mapping=\"fast\": "),
            (RunConfig { swap: Some(swap), ..uniform() }, "vm_page_cache: "),
        ] {
            let error = ranged(folder.path(), config.clone()).err().expect("it is refused");
            assert!(error.starts_with(&format!("streams does not go with {with}")), "{error}");
            let named = RunConfig { workload: "uniform:stream=3".into(), ..config };
            let error = resolved(named).err().expect("it is refused");
            let expected = format!("source has writes with streams, which do not go with {with}");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_no_table_of_ranges_is_refused_with_the_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("streams.csv").display().to_string();
        std::fs::write(&path, "0, 409600, 3\n5,4,0\n").unwrap();
        let config = RunConfig { streams: Some(path.clone()), ..workload("uniform") };
        let error = resolved(config).err().expect("it is refused");
        assert!(error.starts_with(&format!("{path}:2:3: found the end 4")), "{error}");
    }
}
