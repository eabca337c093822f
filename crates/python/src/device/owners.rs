//! The owners of a drive's pages by block.

use std::path::{Path, PathBuf};

use flashgc_base::stream::StreamId;
use flashgc_device::media::FileMedia;
use flashgc_device::owners::{Asked, owned};
use flashgc_device::{Settings, configuration};
use flashgc_ftl::PlacementSpec;
use pyo3::prelude::*;
use serde_json::json;

use super::failed;
use super::open::outside;
use crate::errors::ConfigError;
use crate::json::to_json;
use crate::outside::Written;
use crate::policy::{Raised, lock};

/// Executes the recording at `trace`, named by owners, on a drive like that in the file at `path`. Returns
/// where the owners' pages are then, and the blocks that their copies left, as JSON. `groups` has the group of
/// each owner, one of `count`. Only the collections for the host's pages in `counted` count. `placement` is
/// another placement than the drive's, with the stream of each group, and `written` are the drive's policies in
/// Python. `recordings` have the streams that the host named, if it did.
#[pyfunction]
#[pyo3(signature = (path, trace, groups, count, counted, written, recordings, placement=None))]
#[allow(clippy::too_many_arguments)] // it is called in one place
pub(crate) fn device_owners(
    py: Python<'_>,
    path: PathBuf,
    trace: PathBuf,
    groups: Vec<usize>,
    count: usize,
    counted: (u64, u64),
    written: Option<Written<'_>>,
    recordings: Vec<PathBuf>,
    placement: Option<(String, Vec<StreamId>)>,
) -> PyResult<String> {
    if count == 0 || groups.iter().any(|&group| group >= count) {
        return Err(ConfigError::new_err("every owner has one of the groups"));
    }
    let placement = placement
        .map(|(spec, streams)| PlacementSpec::parse(&spec).map(|spec| (spec, streams)))
        .transpose()
        .map_err(crate::errors::config)?;
    let placement = placement.as_ref().map(|(spec, streams)| (spec.clone(), streams.as_slice()));
    let recordings: Vec<&Path> = recordings.iter().map(PathBuf::as_path).collect();
    let counted = counted.0..counted.1;
    let asked = Asked { groups: &groups, count, counted, recordings: &recordings, placement };
    let raised = Raised::default();
    let outside = outside(written, &raised)?;
    let look = || {
        let media = FileMedia::read_only(&path)?;
        let settings = Settings::parse(&configuration(&media)?, outside)?;
        owned(&settings, &trace, &asked)
    };
    let found = py.detach(look);
    if let Some(error) = lock(&raised).take() {
        return Err(error);
    }
    let found = found.map_err(|error| failed(&path, &error))?;
    to_json(&json!({
        "blocks_per_cell": found.blocks_per_cell,
        "live": found.live,
        "invalid": found.invalid,
        "valid": found.valid,
        "erases": found.erases,
        "purest": found.purest,
        "copied_of": found.copied_of,
        "victims": found.victims,
        "company": found.company,
        "collections": found.collections,
        "empty": found.empty,
    }))
}
