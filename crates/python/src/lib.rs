//! flashgc as the Python module `flashgc._core`: conversion only. Structured values cross as JSON
//! texts; `python/flashgc` turns them into typed objects. Start reading at [`simulate`].

mod blocks;
mod clock;
#[cfg(target_os = "linux")]
mod closable;
mod compiled;
mod conformance;
#[cfg(target_os = "linux")]
mod device;
mod errors;
#[cfg(target_os = "linux")]
mod hints;
mod input;
mod json;
mod model;
mod outside;
mod placement;
mod places;
mod policy;
mod simulate;
mod sources;
mod statistics;
mod tables;
mod toml;
mod traces;
mod volumes;
mod watch;

use pyo3::prelude::*;

/// The engine. Use the `flashgc` package, which documents it.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::blocks::Blocks;
    #[pymodule_export]
    use super::clock::{Clock, PickedBlock};
    #[pymodule_export]
    use super::compiled::CompiledScheme;
    #[pymodule_export]
    use super::conformance::{placement_run, policy_pick, policy_run};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::device::{
        DeviceClient, DeviceListener, DeviceMount, DeviceReplay, DriveFile, FileRings,
        RecordedDrive, StoredDrive, device_age, device_check, device_configuration, device_counts,
        device_create, device_fuzz, device_log, device_owners, device_repeat, device_sweep,
        take_stack,
    };
    #[pymodule_export]
    use super::errors::{ConfigError, DriveError, FlashgcError, PolicyError, TraceError};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::hints::{
        AllocationFollower, PageCacheFollower, PostgresFollower, WalDecoder, WriteFollower,
        has_tracepoint, trace_tag,
    };
    #[pymodule_export]
    use super::input::{
        check_apart, check_clock, check_names, check_stored, configurations, experiment,
        option_number, parse_count, parse_page_size, parse_share, parse_size, tenant_texts,
        tenant_workload,
    };
    #[pymodule_export]
    use super::model::{
        model_choices_within, model_evaluate, model_grid, model_registry, model_spare_for,
        model_transient,
    };
    #[pymodule_export]
    use super::places::{name_choice, name_option, name_subject};
    #[pymodule_export]
    use super::simulate::{checkpoint_config, ranking, simulate};
    #[pymodule_export]
    use super::sources::{check, is_compressed_from, is_trace_of, scheme_parts, written_out};
    #[pymodule_export]
    const MOST_PASSES: u64 = flashgc_drive::passes::MOST;
    #[pymodule_export]
    use super::statistics::{
        is_beyond_chance, judged, measured_passes, replay_until_settled, steady_intervals,
    };
    #[pymodule_export]
    use super::tables::{column_meanings, operation_of, trace_of_columns};
    #[pymodule_export]
    use super::toml::toml_places;
    #[pymodule_export]
    use super::traces::{
        trace_convert, trace_evidence, trace_formats, trace_join, trace_layouts, trace_record,
        trace_stat, trace_synth,
    };
    #[pymodule_export]
    use super::volumes::{Volumes, trace_split};
    #[pymodule_export]
    use super::watch::Control;
    #[cfg(feature = "mutants")]
    #[pymodule_export]
    use super::{choose_mutant, mutants};
    #[pymodule_export]
    use super::{finding_rules, options, registry, result_parts, suggest, version};
}

/// The version that results carry.
#[pyfunction]
fn version() -> &'static str {
    flashgc_experiment::VERSION
}

/// Every policy, frontier, block allocation, generator and initial state, as JSON.
#[pyfunction]
fn registry() -> String {
    flashgc_experiment::listing::everything().to_string()
}

/// The parts of results with their fields, as JSON, from which `make docs` writes their Python types.
#[pyfunction]
fn result_parts() -> String {
    flashgc_experiment::listing::parts().to_string()
}

/// Every option of an experiment with its section, kind, default, help and drives, as JSON.
#[pyfunction]
fn options() -> String {
    flashgc_experiment::listing::options().to_string()
}

/// The rules of findings about a result, as JSON.
#[pyfunction]
fn finding_rules() -> PyResult<String> {
    json::to_json(&flashgc_experiment::findings::RULES)
}

/// Returns the hint for `word`, which is not among `known`.
#[pyfunction]
fn suggest(word: &str, known: Vec<String>) -> String {
    flashgc_base::spec::suggest(word, known.iter().map(String::as_str))
}

/// The names of the deliberately wrong versions of the engine that this build has.
#[cfg(feature = "mutants")]
#[pyfunction]
fn mutants() -> Vec<&'static str> {
    flashgc_base::mutants::ALL.iter().map(|&(name, _)| name).collect()
}

/// Makes the engine wrong in the way called `name`. Without a name, makes it right again.
#[cfg(feature = "mutants")]
#[pyfunction]
#[pyo3(signature = (name=None))]
fn choose_mutant(name: Option<&str>) -> PyResult<()> {
    let chosen = name
        .map(|name| {
            let mutant = flashgc_base::mutants::ALL.iter().find(|&&(known, _)| known == name);
            mutant
                .map(|&(_, mutant)| mutant)
                .ok_or_else(|| errors::config(format!("no mutant {name}")))
        })
        .transpose()?;
    flashgc_base::mutants::choose(chosen);
    Ok(())
}
