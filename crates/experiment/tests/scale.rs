//! A small drive that stands for a large one: its figures, and what it is refused with.

use std::sync::Arc;

use flashgc_drive::extent::Length;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::{HostConfig, RunConfig, TimedConfig};
use flashgc_experiment::result::RunResult;
use flashgc_workload::generate::GeneratorSpec;

use crate::one_request;
use crate::timed_runs;

/// A drive of 2^22 mapping units, in 256 superblocks of 16 blocks.
fn large() -> RunConfig {
    RunConfig {
        blocks: Some(256 * 16),
        pages_per_block: Some(1024),
        superblock: "dies=16,planes=1".into(),
        spare: 0.28,
        victim: "greedy".into(),
        frontier: "pool:low=2".into(),
        workload: "uniform".into(),
        warmup: "3x".into(),
        length: Length::Writes("2x".into()),
        runs: 1,
        seed: 7,
        ..RunConfig::default()
    }
}

fn scaled(config: &RunConfig, scale: &str) -> RunConfig {
    RunConfig { scale: scale.into(), ..config.clone() }
}

fn resolve(config: &RunConfig) -> Result<Resolved, String> {
    let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
    Resolved::new(config, source, None).map_err(|error| error.to_string())
}

fn run(config: &RunConfig) -> RunResult {
    one_request::run(resolve(config).unwrap())
}

/// Compares the amplification of a drive with that of 1/16 and 1/64 of it.
fn compare(config: &RunConfig) {
    let whole = run(config);
    assert!(whole.write_amplification > 1.3, "{}", whole.write_amplification);
    for scale in ["1/16", "1/64"] {
        let small = run(&scaled(config, scale));
        let change = small.write_amplification / whole.write_amplification - 1.0;
        println!("{scale} of {} {}: {change:+.4}", config.victim, config.workload);
        let said = small.config.scaled.clone().unwrap();
        assert_eq!((said.scale.as_str(), said.bytes), (scale, 1 << 34));
        // Chance moves the two figures as well: 20 batches have an interval of 0.2% to 0.4%.
        assert!(said.change < 0.01 && change.abs() < 0.01, "{scale}: {change:+.4}, {said:?}");
    }
}

#[test]
fn of_greedy_a_small_drive_has_the_amplification_of_the_large_one() {
    compare(&large());
}

#[test]
fn of_d_choices_and_hot_data_a_small_drive_has_the_amplification_of_the_large_one() {
    let hot = RunConfig { workload: "hotcold:f=0.2,r=0.8".into(), ..large() };
    compare(&RunConfig { victim: "d-choices:d=10".into(), ..hot });
}

#[test]
fn with_parity_and_handles_a_small_drive_has_the_amplification_of_the_large_one() {
    let parts = "0.5*uniform:to=0.2,stream=0 + 0.5*uniform:from=0.2,stream=1";
    compare(&RunConfig {
        parity: "1/16".into(),
        placement: "fdp:handles=2".into(),
        workload: parts.into(),
        ..large()
    });
}

#[test]
fn a_small_drive_keeps_its_superblocks_and_is_an_ordinary_drive() {
    let resolved = resolve(&scaled(&large(), "1/64")).unwrap();
    let config = &resolved.config;
    assert_eq!((config.blocks, config.pages_per_block), (Some(4096), Some(16)));
    assert_eq!((config.scale.as_str(), resolved.geometry.blocks()), ("1", 256));
    let again = resolve(config).unwrap();
    assert_eq!((&again.config, again.scaled), (config, None));
    // Of 2^20 blocks that are small, 1/64 has fewer; 8 MiB less are no whole blocks.
    let many = RunConfig {
        blocks: None,
        capacity: Some((1 << 40) + 5000),
        pages_per_block: Some(256),
        superblock: "plane".into(),
        ..large()
    };
    let resolved = resolve(&scaled(&many, "1/64")).unwrap();
    assert_eq!(
        (resolved.config.blocks, resolved.config.pages_per_block),
        (Some(1 << 14), Some(256))
    );
    assert_eq!(resolved.scaled.unwrap().bytes, 1 << 40);
}

#[test]
fn a_drive_that_is_too_large_for_page_numbers_can_be_scaled() {
    // 61.44 TB in units of 4 KiB are 1.5e10, and page numbers have 32 bits.
    let drive = RunConfig {
        blocks: None,
        capacity: Some(61_440_000_000_000),
        pages_per_block: Some(1152),
        page_size: 16 * 1024,
        mapping_unit: Some(4096),
        superblock: "dies=64,planes=4".into(),
        parity: "1/64".into(),
        spare: 0.12,
        ..large()
    };
    assert!(resolve(&drive).err().unwrap().contains("page numbers have 32 bits"));
    let resolved = resolve(&scaled(&drive, "1/64")).unwrap();
    assert_eq!(resolved.config.pages_per_block, Some(18));
    let scaled = resolved.scaled.clone().unwrap();
    // 256 blocks of 1152 pages of 16 KiB make a superblock, of which the drive has 12,715.
    assert_eq!(scaled.blocks, 12_715 * 256);
    assert_eq!(resolved.geometry.blocks(), 12_715);
}

#[test]
fn a_drive_with_a_clock_that_is_too_large_names_the_scale() {
    // 64 TiB in units of 16 KiB are 2^32, in 910 superblocks of 8 groups of dies.
    let drive = RunConfig {
        blocks: None,
        capacity: Some(1 << 46),
        pages_per_block: Some(2304),
        page_size: 16 * 1024,
        mapping_unit: None,
        superblock: "dies=64,planes=4".into(),
        times: Some("read=50us,program=2ms,erase=5ms,transfer=20us".into()),
        timed: Some(TimedConfig { channels: 16, dies: 32, planes: 4, ..TimedConfig::default() }),
        frontier: RunConfig::default().frontier,
        length: Length::Requests(1000),
        ..large()
    };
    let error = timed_runs::resolve(&drive).err().unwrap();
    assert!(error.contains("page numbers have 32 bits; hint: scale=\"1/64\""), "{error}");
    assert!(timed_runs::resolve(&scaled(&drive, "1/64")).is_ok());
}

#[test]
fn with_a_clock_a_page_takes_the_dies_as_long() {
    let timed = TimedConfig {
        channels: 4,
        arrivals: Some("closed:threads=64".into()),
        ..TimedConfig::default()
    };
    let drive = RunConfig {
        blocks: Some(64 * 4),
        pages_per_block: Some(1024),
        page_size: 16 * 1024,
        mapping_unit: Some(4096),
        superblock: "plane".into(),
        spare: 0.25,
        times: Some("read=60us,program=500us,erase=6.4ms,transfer=10us".into()),
        timed: Some(timed),
        frontier: RunConfig::default().frontier,
        length: Length::Requests(600_000),
        ..large()
    };
    let whole = timed_runs::run(&drive, 1);
    let small = timed_runs::run(&scaled(&drive, "1/16"), 1);
    // The rate at which all dies are busy is that of the time that a page takes them.
    let work = |result: &RunResult| {
        let busy = result.busy.as_ref().unwrap();
        busy.total_seconds / result.counters.host_pages as f64
    };
    let ratio = work(&small) / work(&whole);
    println!("time of dies {:+.4}", ratio - 1.0);
    assert!(small.config.run.times.as_ref().unwrap().contains("erase=400us"));
    assert_eq!(small.config.run.blocks, whole.config.run.blocks);
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    let amplification = small.write_amplification / whole.write_amplification;
    assert!((amplification - 1.0).abs() < 0.01, "{amplification}");
}

#[test]
fn what_does_not_shrink_is_refused_with_a_scale_that_works() {
    let error = |config: &RunConfig, scale: &str| resolve(&scaled(config, scale)).err().unwrap();
    let small = RunConfig { pages_per_block: Some(64), ..large() };
    let said = error(&small, "1/64");
    assert_eq!(
        said,
        "scale 1/64 would change write amplification by about 14.1%, with 128 superblocks of 32 \
         mapping units on each plane; expected at most 1%; hint: scale=\"1/4\""
    );
    assert!(resolve(&scaled(&small, "1/4")).is_ok());
    let tiny = RunConfig { blocks: Some(64 * 16), pages_per_block: Some(7), ..large() };
    assert!(error(&tiny, "1/16").contains("leaves no whole blocks of 7 pages and 64 superblocks"));
    let host = HostConfig { cache: "page-cache:size=64KiB".into(), hints: "none".into() };
    for (config, why) in [
        (RunConfig { host: Some(host), ..large() }, "its size would stay as it is"),
        (RunConfig { endurance: Some("100".into()), ..large() }, "the weakest block"),
        (RunConfig { mapping: "dftl:entries=64,per_page=16".into(), ..large() }, "of their own"),
    ] {
        let said = error(&config, "1/16");
        assert!(said.contains(why) && said.contains("hint: leave out"), "{said}");
    }
}
