//! Several tenants on one drive with a clock: shares by weights, by classes and by queue depths,
//! and urgent requests. A tenant alone behaves like a single host.

use std::sync::Arc;
use std::time::Duration;

use flashgc_drive::extent::Length;
use flashgc_drive::source::{Source, TimedSource};
use flashgc_experiment::checkpoint::{CheckpointFiles, Keeper};
use flashgc_experiment::config::Resolved;
use flashgc_experiment::options::{HostConfig, RunConfig, TimedConfig};
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_experiment::tenants::source::TenantsSource;
use flashgc_experiment::tenants::specs;
use flashgc_timed::TenantResult;
use flashgc_workload::requests::Requests;

/// Returns a drive with reads of 50 us and programs of 200 us, without a bus, on one die.
fn config(tenants: &[&str], change: impl FnOnce(&mut TimedConfig)) -> RunConfig {
    let mut timed = TimedConfig {
        tenants: tenants.iter().map(ToString::to_string).collect(),
        queue_depth: 1,
        ..TimedConfig::default()
    };
    change(&mut timed);
    RunConfig {
        blocks: Some(256),
        pages_per_block: Some(16),
        spare: 0.2,
        victim: "greedy".into(),
        times: Some("read=50us,program=200us,erase=1.5ms,transfer=0us".into()),
        timed: Some(timed),
        warmup: "0".into(),
        length: Length::Requests(20_000),
        seed: 7,
        ..RunConfig::default()
    }
}

fn source(config: &RunConfig) -> Arc<dyn Source> {
    let opened = |workload: &str| {
        let requests = Requests::parse(workload).unwrap();
        TimedSource::new(workload.to_string(), requests)
    };
    let tenants = specs(&config.timed.as_ref().unwrap().tenants).unwrap();
    if tenants.is_empty() {
        return Arc::new(opened(&config.workload));
    }
    let each = tenants.into_iter().map(|spec| (spec.name, opened(&spec.workload)));
    Arc::new(TenantsSource::new(each.collect()))
}

fn resolve(config: &RunConfig) -> Result<Resolved, String> {
    Resolved::new(config, source(config), None).map_err(|error| error.to_string())
}

pub fn run(config: &RunConfig) -> RunResult {
    let resolved = resolve(config).unwrap();
    simulate(&[resolved], 1, &Control::default(), &mut || {}, &|_, _| (), None).unwrap().remove(0)
}

fn tenants(result: &RunResult) -> Vec<TenantResult> {
    result.timed.as_ref().unwrap().tenants.clone().unwrap()
}

/// Returns the requests of the first tenant divided by those of the second.
fn ratio(config: &RunConfig) -> f64 {
    let result = run(config);
    let [first, second] = tenants(&result).try_into().unwrap();
    assert_eq!(first.requests + second.requests, 20_000);
    assert!((first.share + second.share - 1.0).abs() < 1e-12);
    assert_eq!(
        first.requests_per_second / second.requests_per_second,
        first.requests as f64 / second.requests as f64
    );
    first.requests as f64 / second.requests as f64
}

const READS: &str = "workload=uniform:read=1; arrivals=closed:threads=16";
const WRITES: &str = "workload=uniform; arrivals=closed:threads=16";

#[test]
fn saturated_tenants_share_the_drive_by_their_weights() {
    for what in [READS, WRITES] {
        for depth in [1, 8] {
            let names = [format!("name=a; weight=3; {what}"), format!("name=b; {what}")];
            let config = config(&[&names[0], &names[1]], |timed| timed.queue_depth = depth);
            let found = ratio(&config);
            assert!((found / 3.0 - 1.0).abs() < 0.01, "{found} with {what}, depth {depth}");
        }
    }
}

#[test]
fn saturated_tenants_share_the_drive_by_the_weights_of_their_classes() {
    let names =
        [format!("name=a; priority=high; {READS}"), format!("name=b; priority=low; {READS}")];
    let config = config(&[&names[0], &names[1]], |timed| {
        timed.arbitration = "high=5,medium=1,low=2".into();
    });
    let found = ratio(&config);
    assert!((found / 2.5 - 1.0).abs() < 0.01, "{found}");
}

/// The drive accepts every request at once, and a die serves requests in the order of arrival. Each
/// thread of a closed loop is thus served equally often.
#[test]
fn where_the_drive_has_a_place_for_all_they_share_it_by_their_queue_depths() {
    let a = "name=a; workload=uniform:read=1; arrivals=closed:threads=6; priority=low";
    let b = "name=b; workload=uniform:read=1; arrivals=closed:threads=2; priority=urgent";
    let found = ratio(&config(&[a, b], |timed| timed.queue_depth = 8));
    assert!((found / 3.0 - 1.0).abs() < 0.01, "{found}");
    // The queue depth of a tenant limits its closed loop.
    let b = "name=b; workload=uniform:read=1; arrivals=closed:threads=20; queue_depth=2";
    let found = ratio(&config(&[a, b], |timed| timed.queue_depth = 100));
    assert!((found / 3.0 - 1.0).abs() < 0.01, "{found}");
}

/// The drive executes one request at a time and, saturated with reads of 50 us, is never idle. An
/// urgent request that arrives at random waits for the rest of one read, 25 us on average (the
/// residual of a constant service time is half of it), and is then served in 50 us. Urgent requests
/// are so rare (1% of the time) that they hardly wait for each other: M/G/1 adds 0.5%.
#[test]
fn an_urgent_request_waits_for_the_residual_service_alone() {
    let urgent = |priority| {
        format!("name=db; priority={priority}; workload=uniform:read=1; arrivals=poisson:rate=200")
    };
    let bulk = format!("name=bulk; priority=low; {READS}");
    let mean = |first: &str| {
        let config =
            RunConfig { length: Length::Requests(400_000), ..config(&[first, &bulk], |_| ()) };
        tenants(&run(&config))[0].read_us.unwrap().mean
    };
    // The expected mean is that of Pollaczek and Khinchine with priority: (R + rho S/2) / (1 - rho)
    // + S, with rho = 0.01.
    let service = 50.0;
    let expected = service / 2.0 / 0.99 + service;
    let found = mean(&urgent("urgent"));
    assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    // With the weight of the class medium, 2 to 1, the request also gets the next turn, unless the
    // tenant had two requests in a row: at most one request of bulk goes before it.
    let weighted = mean(&urgent("medium"));
    assert!(weighted >= found && weighted < found + service, "{weighted} {found}");
    let last = mean(&urgent("low"));
    assert!(last > weighted, "{last} {weighted}");
}

fn without_names(mut result: RunResult) -> String {
    result.page_programs_per_second = 0.0;
    (result.digest, result.config.run.timed) = (String::new(), None);
    result.config_digest = String::new();
    result.config.run.workload = String::new();
    if let Some(timed) = &mut result.timed {
        timed.tenants = None;
    }
    serde_json::to_string(&result).unwrap()
}

#[test]
fn a_tenant_alone_has_the_digits_of_a_host_alone() {
    for (arrivals, depth) in [
        ("closed:threads=16", 4),
        ("closed:threads=3,think=1ms", 256),
        ("poisson:rate=900", 256),
        ("bursts:mean=100us,on=2ms,off=20ms", 3),
    ] {
        let workload = "hotcold:f=0.2,r=0.8,read=0.5,trim=0.1";
        let alone = RunConfig {
            workload: workload.into(),
            warmup: "2x".into(),
            ..config(&[], |timed| {
                timed.arrivals = Some(arrivals.into());
                timed.queue_depth = depth;
                timed.write_cache = 16;
                timed.dies = 2;
                timed.preemption = "pgc".into();
            })
        };
        let mut tenant = alone.clone();
        tenant.workload = "uniform".into();
        let timed = tenant.timed.as_mut().unwrap();
        timed.arrivals = None;
        timed.tenants =
            vec![format!("name=a; workload={workload}; arrivals={arrivals}; priority=low")];
        let (one, other) = (run(&alone), run(&tenant));
        let mine = &tenants(&other)[0];
        let all = one.timed.as_ref().unwrap().latency_us.all.as_ref().unwrap().all;
        assert_eq!(
            (mine.all_us, mine.requests, mine.share),
            (Some(all), 20_000, 1.0),
            "{arrivals}"
        );
        assert_eq!(without_names(one), without_names(other), "{arrivals}");
    }
}

/// Returns a drive on which two classes wait beside an urgent tenant; one of the classes has two
/// tenants. The results depend on the whole state of arbitration.
fn mixed() -> RunConfig {
    let db =
        "name=db; priority=urgent; workload=zipf:read=0.7; arrivals=poisson:rate=700; space=30%";
    let bulk = "name=bulk; priority=low; workload=sequential; arrivals=closed:threads=8,think=100us; \
                request_size=16KiB";
    let last = "name=last; workload=uniform:trim=0.1; arrivals=closed:threads=12; weight=2";
    let more = "name=more; workload=uniform; arrivals=closed:threads=12; weight=3";
    RunConfig {
        warmup: "1x".into(),
        length: Length::Requests(60_000),
        ..config(&[db, bulk, last, more], |timed| {
            timed.queue_depth = 6;
            timed.channels = 2;
            timed.preemption = "pgc".into();
            timed.arbitration = "medium=7,low=3".into();
        })
    }
}

fn digits(mut result: RunResult) -> String {
    result.page_programs_per_second = 0.0;
    serde_json::to_string(&result).unwrap()
}

#[test]
fn tenants_have_the_same_digits_again_and_again_and_after_a_checkpoint() {
    let config = mixed();
    let whole = digits(run(&config));
    assert_eq!(digits(run(&config)), whole);
    assert_ne!(digits(run(&RunConfig { seed: 8, ..mixed() })), whole);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let (mut stops, mut patience) = (0, Duration::from_millis(20));
    let result = loop {
        let resolved = resolve(&config).unwrap();
        let places = CheckpointFiles {
            write: Some(path.clone()),
            every: Some(Duration::from_millis(5)),
            resume: path.exists().then(|| path.clone()),
        };
        let keeper = Keeper::new(&places, &config, &resolved).unwrap();
        let control = Control::default();
        let result = std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                simulate(&[resolved], 1, &control, &mut || {}, &|_, _| (), Some(&keeper)).unwrap()
            });
            let started = std::time::Instant::now();
            while !work.is_finished() && started.elapsed() < patience {
                std::thread::sleep(Duration::from_micros(200));
            }
            control.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
            work.join().unwrap().remove(0)
        });
        if !result.interrupted {
            break result;
        }
        (stops, patience) = (stops + 1, patience + Duration::from_millis(20));
    };
    assert!(stops > 0, "it was never stopped");
    assert_eq!(digits(result), whole);
}

#[test]
fn the_parts_of_the_response_times_and_rates_are_those_of_the_whole() {
    let result = run(&mixed());
    let (timed, each) = (result.timed.as_ref().unwrap(), tenants(&result));
    let all = timed.latency_us.all.as_ref().unwrap().all;
    let requests: u64 = each.iter().map(|one| one.requests).sum();
    assert_eq!(requests, all.requests);
    let sum: f64 =
        each.iter().filter_map(|one| one.all_us).map(|one| one.mean * one.requests as f64).sum();
    assert!((sum / (all.mean * all.requests as f64) - 1.0).abs() < 1e-9);
    let written: f64 = each.iter().map(|one| one.write_bytes_per_second).sum();
    assert!((written / timed.throughput.write_bytes_per_second - 1.0).abs() < 1e-9);
    let rate: f64 = each.iter().map(|one| one.requests_per_second).sum();
    assert!((rate / timed.throughput.requests_per_second - 1.0).abs() < 1e-9);
}

#[test]
fn what_tenants_cannot_be_is_refused() {
    let refused = |config: RunConfig| resolve(&config).err().expect("it is refused");
    let two = ["name=a; workload=zipf", "name=b; workload=uniform"];
    let passes = RunConfig { length: Length::Passes(1), ..config(&two, |_| ()) };
    assert!(refused(passes).starts_with("passes does not go with tenant: "));
    let host = HostConfig { cache: "page-cache:size=400KiB".into(), ..HostConfig::default() };
    let cached = RunConfig { host: Some(host), ..config(&two, |_| ()) };
    assert!(refused(cached).starts_with("host_cache does not go with tenant: "));
    let sized = RunConfig { request_size: Some(8192), ..config(&two, |_| ()) };
    assert!(refused(sized).starts_with("request_size does not go with tenant: "));
    let parts =
        config(&["name=a; workload=zipf; space=60%", "name=b; workload=zipf; space=50%"], |_| ());
    assert!(refused(parts).starts_with("tenant b: its part ends at 110%"));
    let of_8k = config(&["name=a; workload=zipf; request_size=6KiB"], |_| ());
    assert!(refused(of_8k).starts_with("tenant a: "));
}

/// The writes of a tenant stay on its part of the drive, so a part that is only read is never
/// written.
#[test]
fn requests_stay_on_their_part_of_the_drive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("streams.csv");
    // 80% of 4096 pages are 3277. The first tenant has pages 0 to 818, and the second has the rest.
    let (border, end) = (819 * 4096, 3277 * 4096);
    std::fs::write(&path, format!("0,{border},0\n{border},{end},1\n")).unwrap();
    let reads = "name=a; workload=uniform:read=1; space=25%";
    let config = RunConfig {
        streams: Some(path.display().to_string()),
        ..config(&[reads, "name=b; workload=uniform"], |_| ())
    };
    let streams = run(&config).streams.unwrap();
    let written: Vec<_> =
        streams.iter().filter(|one| one.counts.host_pages > 0).map(|one| one.stream).collect();
    assert_eq!(written, [Some(1)]);
}
