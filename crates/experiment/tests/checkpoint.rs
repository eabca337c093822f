//! A run that was stopped, or whose process was killed, continues from its checkpoint. Its results
//! are exactly those of a run that was never stopped. The tests use both drives, with every part
//! that they may have.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use flashgc_base::rng::Stream;
use flashgc_drive::extent::Length;
use flashgc_drive::source::TimedSource;
use flashgc_experiment::checkpoint::{CheckpointFiles, Keeper, subject};
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::{HostConfig, RunConfig, SwapConfig, TimedConfig};
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::Requests;

fn counting() -> RunConfig {
    RunConfig {
        blocks: Some(200),
        pages_per_block: Some(16),
        page_size: 4096,
        spare: 0.15,
        victim: "cost-benefit".into(),
        frontier: "pool:low=3".into(),
        allocation: "random".into(),
        fill: "random".into(),
        workload: "hotcold:f=0.1,r=0.9".into(),
        warmup: "1/3".into(),
        length: Length::Writes("12x".into()),
        runs: 2,
        seed: 7,
        ..RunConfig::default()
    }
}

fn host() -> HostConfig {
    HostConfig {
        cache: "page-cache:size=800KiB,rate=1000,speed=800".into(),
        hints: "piggyback:lost=0.1".into(),
    }
}

/// Returns configurations of counting drives. Each has a different optional part.
fn countings() -> Vec<RunConfig> {
    let base = counting();
    vec![
        base.clone(),
        RunConfig { frontier: "single".into(), allocation: "fifo".into(), ..base.clone() },
        RunConfig { victim: "d-choices:d=5,c=3".into(), precision: Some(0.004), ..base.clone() },
        RunConfig {
            wear_levelling: Some("static:threshold=5".into()),
            workload: "0.5*zipf:theta=0.9 + 0.5*sequential:trim=0.02".into(),
            length: Length::Requests(40_000),
            ..base.clone()
        },
        RunConfig {
            endurance: Some("normal:mean=40,cv=0.1".into()),
            frontier: "pool:low=10".into(),
            allocation: "sfl".into(),
            fill: "sequential".into(),
            warmup: "0".into(),
            length: Length::Until("system-failure".into()),
            ..base.clone()
        },
        RunConfig {
            victim: "z-cost-benefit".into(),
            placement: "dac:zombie-block=yes".into(),
            host: Some(host()),
            ..base.clone()
        },
        RunConfig {
            victim: "cost-benefit".into(),
            placement: "sepbit".into(),
            workload: "0.8*zipf:theta=0.9 + 0.2*uniform:trim=0.1".into(),
            ..base.clone()
        },
        RunConfig {
            victim: "cost-benefit".into(),
            placement: "oracle:classes=5,sigma=0.5,errors=request".into(),
            workload: "0.8*zipf:theta=0.9 + 0.2*uniform:trim=0.1".into(),
            ..base.clone()
        },
        RunConfig {
            mapping: "dftl:entries=100,per_page=64".into(),
            length: Length::Collections(2000),
            ..base.clone()
        },
        RunConfig {
            mapping: "fast:log_blocks=12".into(),
            page_size: 2048,
            fill: "sequential".into(),
            warmup: "0".into(),
            workload: "zipf:theta=0.9,read=0.7".into(),
            swap: Some(SwapConfig {
                cache_pages: 200,
                policy: "3-region".into(),
                scheme: "lda-gc5".into(),
            }),
            length: Length::Requests(40_000),
            runs: 1,
            ..base
        },
    ]
}

/// Returns configurations of drives with a clock. Each has a different optional part.
fn timed() -> Vec<RunConfig> {
    let passes = "read=25us,program=100us+200us,erase=1.5ms,transfer=10us";
    let timed = |change: &dyn Fn(&mut TimedConfig)| {
        let mut clock =
            TimedConfig { arrivals: Some("poisson:rate=1500".into()), ..TimedConfig::default() };
        change(&mut clock);
        RunConfig {
            victim: "greedy".into(),
            frontier: "single".into(),
            allocation: "fifo".into(),
            fill: "sequential".into(),
            times: Some("read=25us,program=200us,erase=1.5ms,transfer=10us".into()),
            workload: "hotcold:f=0.2,r=0.8,read=0.5".into(),
            warmup: "2x".into(),
            length: Length::Requests(60_000),
            blocks: Some(256),
            timed: Some(clock),
            ..counting()
        }
    };
    vec![
        timed(&|clock| clock.preemption = "pgc".into()),
        timed(&|clock| {
            clock.arrivals = Some("closed:threads=16".into());
            clock.channels = 2;
            clock.dies = 2;
            clock.planes = 2;
            clock.striping = "dynamic".into();
            clock.write_cache = 64;
        }),
        RunConfig {
            host: Some(host()),
            victim: "z-greedy".into(),
            ..timed(&|clock| clock.suspend = "20us".into())
        },
        RunConfig {
            superblock: "dies=4,planes=2".into(),
            parity: "1/8".into(),
            program: "one-shot:pages=2".into(),
            ..timed(&|clock| {
                (clock.channels, clock.dies, clock.planes) = (2, 2, 2);
                clock.arrivals = Some("closed:threads=64".into());
                clock.preemption = "suspend".into();
                clock.read_failures = Some("0.1".into());
            })
        },
        RunConfig {
            program: "one-shot:pages=2".into(),
            ..timed(&|clock| {
                (clock.channels, clock.dies) = (2, 3);
                clock.arrivals = Some("closed:threads=64".into());
                clock.preemption = "suspend".into();
                clock.cache_commands = true;
                clock.power_limit = Some("dies=2".into());
            })
        },
        RunConfig {
            superblock: "dies=4,planes=1".into(),
            parity: "1/4".into(),
            program: "two-pass:pages=2".into(),
            times: Some(passes.into()),
            ..timed(&|clock| {
                (clock.channels, clock.dies) = (2, 2);
                clock.arrivals = Some("closed:threads=64".into());
                clock.preemption = "suspend".into();
            })
        },
        RunConfig {
            blocks: Some(768),
            program: "two-pass:pages=2".into(),
            times: Some(passes.into()),
            ..timed(&|clock| {
                (clock.channels, clock.dies) = (2, 3);
                clock.arrivals = Some("closed:threads=64".into());
                clock.preemption = "suspend".into();
                clock.scheduling = "reads-first".into();
                clock.cache_commands = true;
                clock.gc_low = "2".into();
                clock.slc = Some("static:blocks=2".into());
                clock.slc_times = Some("read=10us,program=50us,erase=1ms".into());
            })
        },
    ]
}

fn resolve(config: &RunConfig) -> Resolved {
    match config.timed {
        None => {
            let source = Arc::new(GeneratorSpec::parse(&config.workload).unwrap());
            Resolved::new(config, source, None)
        }
        Some(_) => {
            let requests = Requests::parse(&config.workload).unwrap();
            let source = Arc::new(TimedSource::new(config.workload.clone(), requests));
            Resolved::new(config, source, None)
        }
    }
    .unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a result as JSON, without the speed, which differs between two runs.
fn digits(mut result: RunResult) -> String {
    result.page_programs_per_second = 0.0;
    serde_json::to_string(&result).unwrap()
}

fn uninterrupted(config: &RunConfig) -> String {
    let results =
        simulate(&[resolve(config)], 2, &Control::default(), &mut || {}, &|_, _| (), None).unwrap();
    digits(results.into_iter().next().unwrap())
}

/// Begins or continues the runs, cancels them after `patience`, and returns the result.
fn attempt(config: &RunConfig, path: &Path, every: Duration, patience: Duration) -> RunResult {
    let resolved = resolve(config);
    let places = CheckpointFiles {
        write: Some(path.to_owned()),
        every: Some(every),
        resume: path.exists().then(|| path.to_owned()),
    };
    let keeper = Keeper::new(&places, config, &resolved).unwrap();
    let control = Control::default();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            simulate(&[resolved], 2, &control, &mut || {}, &|_, _| (), Some(&keeper)).unwrap()
        });
        let started = std::time::Instant::now();
        while !run.is_finished() && started.elapsed() < patience {
            std::thread::sleep(Duration::from_micros(200));
        }
        control.cancel.store(true, Ordering::Relaxed);
        run.join().unwrap().remove(0)
    })
}

#[test]
fn a_run_that_was_stopped_again_and_again_has_the_digits_of_one_that_was_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Stream::new(5, "patience");
    let mut stops = 0;
    for (index, config) in countings().into_iter().chain(timed()).enumerate() {
        let expected = uninterrupted(&config);
        let path = folder.path().join(format!("checkpoint{index}"));
        let mut patience = 1;
        let result = loop {
            let wait = Duration::from_millis(u64::from(1 + random.below(patience)));
            let result = attempt(&config, &path, Duration::from_secs(300), wait);
            if !result.interrupted {
                break result;
            }
            stops += 1;
            patience += 3;
        };
        assert_eq!(digits(result), expected, "{config:?}");
        // A further attempt, after the end, gives the same result.
        let again = attempt(&config, &path, Duration::ZERO, Duration::from_secs(60));
        assert_eq!(digits(again), expected, "{config:?}");
    }
    assert!(stops >= 11, "{stops} stops");
}

/// The time between two checkpoints of a run that is killed.
const EVERY: Duration = Duration::from_millis(1);

/// A copy of the file, taken while the runs continue, stands for the file that a killed process
/// leaves behind.
#[test]
fn a_run_that_was_killed_has_the_digits_of_one_that_was_not() {
    let folder = tempfile::tempdir().unwrap();
    for (index, config) in countings().into_iter().chain(timed()).enumerate() {
        let expected = uninterrupted(&config);
        let path = folder.path().join(format!("checkpoint{index}"));
        let copies: Vec<_> = std::thread::scope(|scope| {
            let run = scope.spawn(|| attempt(&config, &path, EVERY, Duration::from_secs(60)));
            let mut copies = Vec::new();
            while !run.is_finished() {
                let copy = folder.path().join(format!("killed{index}-{}", copies.len()));
                if std::fs::copy(&path, &copy).is_ok() {
                    copies.push(copy);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(digits(run.join().unwrap()), expected, "{config:?}");
            copies
        });
        let step = (copies.len() / 2).max(1);
        for copy in copies.iter().step_by(step) {
            let result = attempt(&config, copy, Duration::from_secs(300), Duration::from_secs(60));
            assert_eq!(digits(result), expected, "{config:?}");
        }
    }
}

#[test]
fn what_does_not_belong_together_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    let config = counting();
    attempt(&config, &path, Duration::ZERO, Duration::from_millis(5));
    assert_eq!(subject(&path).unwrap().config, config);
    let refused = |config: &RunConfig| {
        let places = CheckpointFiles { resume: Some(path.clone()), ..CheckpointFiles::default() };
        Keeper::new(&places, config, &resolve(config)).err().unwrap().to_string()
    };
    assert_eq!(
        refused(&RunConfig { seed: 8, ..config.clone() }),
        format!(
            "checkpoint {}: it has another configuration: seed is 8, but 7 in the checkpoint; hint: \
             give only resume, then the drive and the workload come from the file",
            path.display()
        )
    );
    let places = CheckpointFiles {
        write: Some(folder.path().join("no/such")),
        ..CheckpointFiles::default()
    };
    let error = Keeper::new(&places, &config, &resolve(&config)).err().unwrap().to_string();
    assert!(error.ends_with("No such file or directory; hint: check the path"), "{error}");
}

/// Returns the offset at which the head of a checkpoint ends and its first slot begins.
fn head(bytes: &[u8]) -> usize {
    let mut length = [0; 8];
    length.copy_from_slice(&bytes[12..20]);
    20 + u64::from_le_bytes(length) as usize + 8
}

/// Returns the checkpoint of the one run of `config`, stopped before its end.
fn stopped(config: &RunConfig, path: &Path) -> Vec<u8> {
    for patience in 1..100 {
        let _ = std::fs::remove_file(path);
        let long = Duration::from_secs(300);
        let result = attempt(config, path, long, Duration::from_millis(patience));
        assert!(result.interrupted, "it was too fast");
        let bytes = std::fs::read(path).unwrap();
        if bytes.len() > head(&bytes) {
            return bytes;
        }
    }
    panic!("it never began");
}

/// Continues from the checkpoint in `bytes`. Returns the error if that is refused.
fn go_on(config: &RunConfig, path: &Path, bytes: &[u8]) -> Result<String, String> {
    std::fs::write(path, bytes).unwrap();
    let resolved = resolve(config);
    let places = CheckpointFiles { resume: Some(path.to_owned()), ..CheckpointFiles::default() };
    let keeper = Keeper::new(&places, config, &resolved).map_err(|error| error.to_string())?;
    let control = Control::default();
    let results = simulate(&[resolved], 1, &control, &mut || {}, &|_, _| (), Some(&keeper));
    results.map(|mut results| digits(results.remove(0))).map_err(|error| error.to_string())
}

#[test]
fn a_drive_of_another_shape_under_the_right_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = RunConfig { runs: 1, length: Length::Writes("100x".into()), ..counting() };
    let larger = RunConfig { blocks: Some(300), ..config.clone() };
    let right = stopped(&config, &folder.path().join("right"));
    let other = stopped(&larger, &folder.path().join("other"));
    let spliced = [&right[..head(&right)], &other[head(&other)..]].concat();
    let error = go_on(&config, &folder.path().join("spliced"), &spliced).unwrap_err();
    assert!(error.contains("a table has ") && !error.contains('\n'), "{error}");
}

/// Somebody may change a state on purpose and correct its digest. Then the state is refused, or
/// another drive runs, but nothing worse happens.
#[test]
fn a_state_that_was_forged_is_refused_or_runs() {
    let folder = tempfile::tempdir().unwrap();
    let config = RunConfig { runs: 1, length: Length::Writes("40x".into()), ..counting() };
    let path = folder.path().join("checkpoint");
    let bytes = stopped(&config, &path);
    let (slot, mut random) = (head(&bytes), Stream::new(1, "forged"));
    let content = slot + 25;
    let mut refused = 0;
    for _ in 0..60 {
        let mut forged = bytes.clone();
        let at = content + 9 + random.below((bytes.len() - content - 9) as u32) as usize;
        forged[at] ^= 1 << random.below(8);
        let digest = xxhash_rust::xxh3::xxh3_64(&forged[content..]);
        forged[slot + 17..slot + 25].copy_from_slice(&digest.to_le_bytes());
        match go_on(&config, &path, &forged) {
            Ok(_) => {}
            Err(error) => {
                assert!(!error.contains('\n'), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 15, "{refused}");
}

#[test]
fn a_timeline_is_refused() {
    use flashgc_experiment::options::TimelineConfig;
    let mut config = timed().remove(0);
    config.timed.as_mut().unwrap().timeline =
        Some(TimelineConfig { file: "timeline.json".into(), window: "0ms:50ms".into() });
    let folder = tempfile::tempdir().unwrap();
    let places =
        CheckpointFiles { write: Some(folder.path().join("c")), ..CheckpointFiles::default() };
    let error = Keeper::new(&places, &config, &resolve(&config)).err().unwrap().to_string();
    assert!(error.contains("a timeline cannot be saved; hint: leave out the timeline"), "{error}");
}

/// The number of programmed pages shows whether a run is executed. A run that continues or begins
/// anew programs pages; a run that is read from the file programs none.
#[test]
fn a_run_that_is_done_is_read_from_its_checkpoint_and_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    let config = counting();
    let programs = |expected: &str, every: Duration| {
        let resume = path.exists().then(|| path.clone());
        let places = CheckpointFiles { write: Some(path.clone()), every: Some(every), resume };
        let resolved = resolve(&config);
        let keeper = Keeper::new(&places, &config, &resolved).unwrap();
        let control = Control::default();
        let told = &|_, _: &RunResult| ();
        let results = simulate(&[resolved], 1, &control, &mut || {}, told, Some(&keeper));
        assert_eq!(digits(results.unwrap().remove(0)), expected);
        assert_eq!(control.done.load(Ordering::Relaxed), 2 * Control::RUN);
        control.programs.load(Ordering::Relaxed)
    };
    let expected = uninterrupted(&config);
    let long = Duration::from_secs(300);
    // Each of the two runs makes 12 drive writes of 2700 pages, and copies are added.
    assert!(programs(&expected, long) > 2 * 12 * 2700);
    assert_eq!(programs(&expected, long), 0);
}
