//! Runs of drives with a clock, from the configuration to the result: the results are always the
//! same, the measured part has exact limits, they agree with the counting drive, and wrong options
//! are refused.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use flashgc_drive::extent::Length;
use flashgc_drive::source::TimedSource;
use flashgc_experiment::config::Resolved;
use flashgc_experiment::findings::Finding;
use flashgc_experiment::options::{HostConfig, RunConfig, SwapConfig, TimedConfig, TimelineConfig};
use flashgc_experiment::result::RunResult;
use flashgc_experiment::simulate::{Control, simulate};
use flashgc_workload::generate::GeneratorSpec;
use flashgc_workload::requests::{Requests, TimedTrace};
use flashgc_workload::trace::{PagingOptions, ReadOptions};

const TIMES: &str = "read=25us,program=200us,erase=1.5ms,transfer=10us";

fn config() -> RunConfig {
    RunConfig {
        blocks: Some(256),
        pages_per_block: Some(16),
        spare: 0.15,
        victim: "greedy".into(),
        times: Some(TIMES.into()),
        timed: Some(TimedConfig {
            arrivals: Some("poisson:rate=1000".into()),
            preemption: "pgc".into(),
            ..TimedConfig::default()
        }),
        workload: "hotcold:f=0.2,r=0.8,read=0.5".into(),
        warmup: "2x".into(),
        length: Length::Requests(5000),
        runs: 2,
        seed: 7,
        ..RunConfig::default()
    }
}

fn timed(change: impl FnOnce(&mut TimedConfig)) -> RunConfig {
    let mut config = config();
    change(config.timed.as_mut().unwrap());
    config
}

pub fn resolve(config: &RunConfig) -> Result<Resolved, String> {
    let requests = Requests::parse(&config.workload).unwrap();
    let source = Arc::new(TimedSource::new(config.workload.clone(), requests));
    Resolved::new(config, source, None).map_err(|error| error.to_string())
}

pub fn run(config: &RunConfig, threads: usize) -> RunResult {
    let resolved = resolve(config).unwrap();
    simulate(&[resolved], threads, &Control::default(), &mut || {}, &|_, _| (), None)
        .unwrap()
        .remove(0)
}

#[test]
fn digits_do_not_depend_on_the_number_of_threads_and_survive_json() {
    let (mut one, mut two) = (run(&config(), 1), run(&config(), 2));
    // Only this figure depends on the machine's clock.
    (one.page_programs_per_second, two.page_programs_per_second) = (0.0, 0.0);
    assert_eq!(one, two);
    let text = serde_json::to_string(&one).unwrap();
    let back: RunResult = serde_json::from_str(&text).unwrap();
    assert_eq!((&back.digest, &back.config), (&one.digest, &one.config));
    let all = |result: &RunResult| result.timed.as_ref().unwrap().latency_us.all.clone().unwrap();
    assert_eq!(all(&back).all.requests, all(&one).all.requests);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in ["latency_us", "time_share", "throughput", "utilisation", "collecting", "over_time"]
    {
        assert!(document[key].is_object(), "{key} in {text}");
    }
    assert!(document["latency_us"]["read"]["during_collection"]["p99_9"].is_f64());
    assert!(document["collecting"]["preempted"].is_u64());
    assert_ne!(run(&RunConfig { seed: 8, ..config() }, 1).digest, one.digest);
    let other = timed(|timed| timed.preemption = "none".into());
    assert_ne!(run(&other, 1).digest, one.digest);
}

#[test]
fn a_drive_whose_channels_are_simulated_side_by_side_gives_the_same_digits() {
    let small = timed(|timed| (timed.channels, timed.dies) = (4, 2));
    let small = RunConfig { runs: 1, blocks: Some(512), ..small };
    let precise = RunConfig { precision: Some(0.02), runs: 2, ..small.clone() };
    let overloaded = timed(|timed| {
        (timed.channels, timed.queue_depth) = (4, 8);
        timed.arrivals = Some("poisson:rate=90000".into());
    });
    let overloaded = RunConfig { runs: 1, blocks: Some(512), ..overloaded };
    for config in [small, precise, overloaded] {
        let (mut one, mut more) = (run(&config, 1), run(&config, 4));
        (one.page_programs_per_second, more.page_programs_per_second) = (0.0, 0.0);
        assert_eq!(one, more);
        assert!(one.timed.is_some());
    }
}

#[test]
fn times_of_requests_and_of_the_drive_agree() {
    // By Little's law, the mean number of requests in the system times the total time is the sum of
    // all response times, because runs begin and end with no request.
    let result = run(&config(), 2);
    let measured = result.timed.unwrap();
    let all = measured.latency_us.all.unwrap().all;
    assert_eq!(all.requests, 10_000);
    let sum = all.mean * 1e-6 * all.requests as f64;
    let law = measured.requests_in_system * measured.simulated_seconds;
    assert!((law / sum - 1.0).abs() < 1e-9, "{law} {sum}");
    // The causes sum to the whole response time.
    for shares in [measured.time_share.read.unwrap(), measured.time_share.write.unwrap()] {
        let total = shares.queue + shares.collection + shares.bus + shares.cell;
        assert!((total - 1.0).abs() < 1e-12, "{shares:?}");
    }
    // The bus moves one page of each request and two of each copy, 10 us each. At the end of a run,
    // a collection may be in progress, with one page moved once or twice but not counted yet.
    let moved = result.counters.host_pages + result.reads + 2 * result.counters.copied_pages;
    let busy = measured.utilisation.bus * measured.simulated_seconds / 10e-6;
    assert!((-1e-6..4.0 + 1e-6).contains(&(busy - moved as f64)), "{busy} {moved}");
}

#[test]
fn the_first_requests_are_not_measured() {
    let whole = run(&RunConfig { warmup: "0".into(), ..config() }, 1);
    let part = run(&RunConfig { warmup: "1/5".into(), ..config() }, 1);
    let count = |result: &RunResult| {
        result.timed.as_ref().unwrap().latency_us.all.as_ref().unwrap().all.requests
    };
    assert_eq!((count(&whole), count(&part)), (10_000, 8_000));
    // Both runs executed the same requests, so their drives have the same wear.
    assert_eq!(whole.wear, part.wear);
    assert!(part.counters.host_pages < whole.counters.host_pages);
}

#[test]
fn a_drive_that_is_prepared_writes_as_the_counting_drive_does() {
    // The write amplification of a steady state does not depend on the clock. Both drives have one
    // plane, the pool frontier and the same low mark.
    let run_timed = RunConfig {
        workload: "uniform".into(),
        warmup: "5x".into(),
        length: Length::Requests(40_000),
        runs: 4,
        ..timed(|timed| timed.preemption = "none".into())
    };
    let timed = run(&run_timed, 2);
    let counting = RunConfig {
        frontier: "pool:low=2".into(),
        timed: None,
        warmup: "5x".into(),
        length: Length::Writes("12x".into()),
        ..run_timed
    };
    let source = Arc::new(GeneratorSpec::parse("uniform").unwrap());
    let resolved = Resolved::new(&counting, source, None).unwrap();
    let counting = simulate(&[resolved], 2, &Control::default(), &mut || {}, &|_, _| (), None)
        .unwrap()
        .remove(0);
    let difference = (timed.write_amplification - counting.write_amplification).abs();
    let half = timed.write_amplification_ci95.unwrap() + counting.write_amplification_ci95.unwrap();
    assert!(
        difference < half.max(0.005 * counting.write_amplification),
        "{} {}",
        timed.write_amplification,
        counting.write_amplification
    );
    // Two of 200 blocks stay erased, and there is no other finding.
    let ids: Vec<&str> = timed.findings.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["spare-kept-erased"]);
}

#[test]
fn requests_that_come_too_fast_are_an_overload_with_what_can_be_sustained() {
    // A request takes a program of 210 us, or a read, so 200 000 requests a second are far too
    // many.
    let mut config = timed(|timed| timed.arrivals = Some("poisson:rate=200000".into()));
    config.length = Length::Requests(3_000_000);
    config.runs = 1;
    let result = run(&config, 1);
    let overload = result.timed.as_ref().unwrap().overload.unwrap();
    assert!((overload.offered_per_second / 200_000.0 - 1.0).abs() < 0.01, "{overload:?}");
    assert!(overload.outstanding > 900_000, "{overload:?}");
    assert!(result.said()[0].starts_with("overload: requests arrive at "), "{:?}", result.said());
    // A closed loop with 256 requests in progress keeps the drive just as busy, so it has the same
    // rate.
    let mut closed = timed(|timed| timed.arrivals = Some("closed:threads=256".into()));
    (closed.runs, closed.length) = (1, Length::Requests(20_000));
    let closed = run(&closed, 1).timed.unwrap().throughput.requests_per_second;
    let ratio = overload.sustainable_per_second / closed;
    assert!((ratio - 1.0).abs() < 0.05, "{overload:?} {closed}");
    // A shorter run ends before a million requests wait. At its end it was just as far behind, and
    // it reports that.
    config.length = Length::Requests(50_000);
    let short = run(&config, 1);
    let behind = short.timed.as_ref().unwrap().overload.unwrap();
    assert!(overload.is_cut_short && !behind.is_cut_short);
    assert!((behind.offered_per_second / 200_000.0 - 1.0).abs() < 0.03, "{behind:?}");
    let ratio = behind.sustainable_per_second / closed;
    assert!((ratio - 1.0).abs() < 0.05, "{behind:?} {closed}");
    // When the last of the 50 000 requests arrives, all wait except those served until then.
    let served = 50_000.0 * closed / 200_000.0;
    assert!((behind.outstanding as f64 / (50_000.0 - served) - 1.0).abs() < 0.03, "{behind:?}");
    assert!(short.said()[0].contains("waited when the last one arrived"), "{:?}", short.said());
    // At a rate that the drive can sustain, it reports no overload.
    let below = format!("poisson:rate={}", 0.8 * closed);
    let calm = timed(|timed| timed.arrivals = Some(below.clone()));
    let calm = run(&RunConfig { runs: 1, length: Length::Requests(50_000), ..calm }, 1);
    assert_eq!(calm.timed.unwrap().overload, None);
}

#[test]
fn a_cancelled_run_reports_what_it_has() {
    let control = Control::default();
    control.cancel.store(true, Ordering::Relaxed);
    let resolved = resolve(&RunConfig { runs: 1, ..config() }).unwrap();
    let result =
        simulate(&[resolved], 1, &control, &mut || {}, &|_, _| (), None).unwrap().remove(0);
    assert!(result.interrupted);
    assert!(result.timed.unwrap().latency_us.all.is_none());
}

#[test]
fn a_timeline_has_the_operations_of_its_window() {
    let window = TimelineConfig { file: "unused".into(), window: "1ms:30ms".into() };
    let result = run(&timed(|timed| timed.timeline = Some(window)), 1);
    let mut text = Vec::new();
    result.timeline.as_ref().unwrap().write(&mut text).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    let of_flash = |event: &&serde_json::Value| {
        event["ph"] == "X" && (event["cat"] == "host" || event["cat"] == "collection")
    };
    let spans: Vec<_> = events.iter().filter(of_flash).collect();
    assert!(spans.len() > 20, "{} spans", spans.len());
    for span in &spans {
        let (from, length) = (span["ts"].as_f64().unwrap(), span["dur"].as_f64().unwrap());
        assert!(from < 30_000.0 && from + length > 1000.0, "{span}");
        let expected: &[f64] = match span["name"].as_str().unwrap() {
            "read" => &[25.0],
            "program" => &[200.0],
            "erase" => &[1500.0],
            "transfer in" | "transfer out" => &[10.0],
            _ => &[0.0],
        };
        assert!(expected.iter().any(|us| (length - us).abs() < 1e-6), "{span}");
    }
    // A die never has two cell operations at once.
    let mut cells: Vec<(f64, f64)> = spans
        .iter()
        .filter(|span| span["tid"].as_u64().unwrap() >= 4_000_000)
        .map(|span| (span["ts"].as_f64().unwrap(), span["dur"].as_f64().unwrap()))
        .collect();
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(cells.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0 + 1e-9), "{cells:?}");
    // The timeline does not change the simulation.
    assert_eq!(result.digest, run(&config(), 1).digest);
}

#[test]
fn a_trace_gets_a_drive_of_whole_planes_or_a_part_of_one() {
    let path = std::env::temp_dir().join(format!("flashgc-timed-{}.csv", std::process::id()));
    let mut rows = String::from("time_us,op,offset_bytes,size_bytes,dev\n");
    for i in 0..2000u64 {
        // 1000 pages are written twice, 500 us apart.
        rows += &format!("{},W,{},4096,0\n", 500 * i, i * 7 % 1000 * 4096);
    }
    std::fs::write(&path, rows).unwrap();
    let trace =
        TimedTrace::load(&path, &ReadOptions::default(), PagingOptions::default(), |_| true);
    std::fs::remove_file(&path).unwrap();
    let trace = trace.unwrap();
    let source = Arc::new(TimedSource::new("a.csv".into(), Requests::Trace(Box::new(trace))));
    let mut config = timed(|timed| {
        timed.arrivals = None;
        (timed.channels, timed.planes) = (2, 3);
    });
    (config.blocks, config.length, config.runs) = (None, Length::Passes(3), 1);
    let resolved = Resolved::new(&config, source.clone(), None).unwrap();
    // 1000 pages fill 62 and a half blocks of 16 pages: 1008 pages. Each of the six planes has 168
    // pages, which fill 11 blocks, keeps 2 blocks erased, and has two open blocks.
    assert_eq!(resolved.config.blocks, Some(90));
    let result = simulate(&[resolved], 1, &Control::default(), &mut || {}, &|_, _| (), None)
        .unwrap()
        .remove(0);
    assert_eq!(result.config.logical_pages, 1008);
    let requests = result.timed.unwrap().latency_us.write.unwrap().all.requests;
    assert_eq!(requests, 3 * 2 * 1000);
    // On a larger drive the trace uses a part of it. A smaller drive is refused.
    config.blocks = Some(120);
    let resolved = Resolved::new(&config, source.clone(), None).unwrap();
    assert!(resolved.geometry.logical_pages() > 1600);
    config.blocks = Some(60);
    let error = Resolved::new(&config, source, None).err().unwrap().to_string();
    assert!(
        error.contains("blocks 60 gives 816 logical pages, and the workload addresses 1008"),
        "{error}"
    );
}

#[test]
fn what_a_timed_drive_has_not_is_refused() {
    let error = |config: &RunConfig| resolve(config).err().expect("it is wrong");
    let mapping = RunConfig { mapping: "fast".into(), ..config() };
    assert!(error(&mapping).starts_with("mapping fast only applies to kind=\"counting\""));
    let memory = SwapConfig { cache_pages: 8, policy: "lru".into(), scheme: "du-gc".into() };
    let swap = RunConfig { swap: Some(memory), ..config() };
    assert!(error(&swap).starts_with("vm_page_cache only applies to kind=\"counting\""));
    let writes = RunConfig { length: Length::Writes("2x".into()), ..config() };
    assert!(error(&writes).contains("a number of requests, or passes of a trace"));
    let times = RunConfig { times: None, ..config() };
    assert!(error(&times).starts_with("a drive with a clock needs times: "));
    let passes = RunConfig { length: Length::Passes(1), ..config() };
    assert!(error(&passes).contains("passes only applies to traces"));
    let zero = RunConfig { times: Some("read=0us,program=1us,erase=1us".into()), ..config() };
    assert!(error(&zero).contains("read time: found 0 ns"));
    // If there are more planes than blocks, the error comes when the map is made.
    let planes = timed(|timed| (timed.channels, timed.planes) = (64, 8));
    let made = resolve(&planes).map(|resolved| {
        simulate(&[resolved], 1, &Control::default(), &mut || {}, &|_, _| (), None)
            .unwrap_err()
            .to_string()
    });
    let text = made.unwrap_or_else(|error| error);
    assert!(text.contains("found 256 blocks for 512 planes"), "{text}");
}

#[test]
fn writes_before_the_clock_go_on_until_the_drive_has_settled() {
    let of = |warmup: &str| {
        let given = RunConfig {
            blocks: Some(512),
            pages_per_block: Some(64),
            workload: "hotcold:f=0.05,r=0.95".into(),
            warmup: warmup.into(),
            length: Length::Requests(20_000),
            ..config()
        };
        run(&given, 2)
    };
    let [short, auto, long] = ["2x", "auto", "160x"].map(of);
    let off = |one: &RunResult| one.write_amplification / long.write_amplification - 1.0;
    assert!(off(&short) < -0.05, "{} {}", short.write_amplification, long.write_amplification);
    assert!(off(&auto).abs() < 0.03, "{} {}", auto.write_amplification, long.write_amplification);
    let has = |one: &RunResult, id: &str| one.findings.iter().any(|finding| finding.id == id);
    // A cold page is written every 19 drive writes, so 160 drive writes show that cold pages have
    // settled, and 20 do not.
    assert!(has(&short, "no-warm-up-end") && has(&auto, "no-warm-up-end"));
    assert!(!has(&long, "no-warm-up-end") && !auto.steady);
    // Requests that are not measured show nothing: it is unknown when they have settled the drive.
    for warmup in ["0", "1/3"] {
        let unseen = of(warmup);
        assert!(has(&unseen, "no-warm-up-end") && !unseen.steady, "{warmup}");
    }
    // With few pages, figures are never known to be steady.
    let few = RunConfig {
        blocks: Some(48),
        pages_per_block: Some(4),
        spare: 0.3,
        workload: "zipf:theta=1.2".into(),
        warmup: "auto".into(),
        ..config()
    };
    assert!(has(&run(&few, 1), "no-warm-up-end"));
}

#[test]
fn a_host_says_how_it_read_its_options() {
    let host = HostConfig {
        cache: "page-cache:size=64KiB,background=30%,limit=20%".into(),
        hints: "none".into(),
    };
    let result = run(&RunConfig { host: Some(host), ..config() }, 1);
    let said = |warning: &String| warning.contains("the cache uses half of limit, as Linux does");
    assert!(result.said().iter().any(said), "{:?}", result.said());
    assert!(result.host.is_some());
}

#[test]
fn a_placement_needs_no_protected_power_where_no_flash_page_is_padded() {
    let of = |power_protection, flush_every| RunConfig {
        placement: "dac:regions=2".into(),
        power_protection,
        flush_every,
        ..timed(|timed| timed.write_cache = 64)
    };
    let [safe, unsafe_one, flushed] =
        [of(true, None), of(false, None), of(false, Some(5))].map(|config| run(&config, 1));
    // Without flush commands there is no difference.
    let facts = |result: &RunResult| format!("{:?} {:?}", result.decisions, result.counters);
    assert_eq!(facts(&unsafe_one), facts(&safe));
    // A flush command waits for the data in the cache. Each page of the data is a whole flash page.
    assert!(flushed.counters.collections > 100);
    assert_eq!((flushed.bytes.padding, safe.bytes.padding), (0, 0));
}

fn finding<'a>(result: &'a RunResult, id: &str) -> Option<&'a Finding> {
    result.findings.iter().find(|one| one.id == id)
}

#[test]
fn erases_that_give_way_no_more_are_told_with_the_longest_wait() {
    let with = |most: u32, arrivals: &str, preemption: &str| {
        let config = timed(|timed| {
            timed.arrivals = Some(arrivals.into());
            timed.preemption = preemption.into();
            timed.suspend = format!("20us,most={most}");
        });
        run(&config, 1)
    };
    let (often, seldom) = ("poisson:rate=2000", "poisson:rate=20");
    let result = with(1, often, "suspend");
    let told = finding(&result, "suspended-no-more").expect("an erase ends while a read waits");
    let rule = result.timed.as_ref().unwrap().suspension.unwrap();
    assert_eq!((rule.most, rule.suspend_us, rule.least_erase_us), (1, 20.0, 0.0));
    // There is only one die, so erases and programs are suspended again and again.
    assert!(rule.spent_erases > 100 && rule.spent_programs > 100, "{rule:?}");
    let evidence = |name: &str| told.evidence[name];
    assert_eq!(evidence("most"), 1.0);
    assert_eq!(evidence("erases"), rule.spent_erases as f64);
    assert_eq!(evidence("programs"), rule.spent_programs as f64);
    // An erase of 1.5 ms has worked for some time when it is suspended for the last time.
    assert!((1000.0..=1500.0).contains(&evidence("longest_wait_us")), "{told:?}");
    assert!(
        told.claim.contains("gave way once or for 5.00 ms, the most allowed"),
        "{}",
        told.claim
    );
    let slowest = &result.timed.as_ref().unwrap().worst;
    assert!(slowest.iter().any(|one| one.response_us >= evidence("longest_wait_us")));
    // If the limit is never reached, or requests come one by one, there is no finding. Without
    // suspension, the result has no suspensions to count.
    assert_eq!(finding(&with(100, often, "suspend"), "suspended-no-more"), None);
    assert_eq!(finding(&with(8, seldom, "suspend"), "suspended-no-more"), None);
    assert_eq!(with(1, often, "pgc").timed.unwrap().suspension, None);
}

#[test]
fn writes_that_only_fill_the_cache_are_told() {
    let of = |cache: u32, requests: u64, arrivals: &str| {
        let config = timed(|timed| {
            timed.arrivals = Some(arrivals.into());
            timed.write_cache = cache;
        });
        RunConfig { length: Length::Requests(requests), workload: "uniform".into(), ..config }
    };
    let with = |cache, requests, arrivals: &str| run(&of(cache, requests, arrivals), 1);
    let closed = "closed:threads=4,think=20us";
    let fills = with(2000, 1000, closed);
    let told = finding(&fills, "writes-in-cache").expect("1000 writes a run fit into 2000 places");
    assert_eq!((told.evidence["page_writes"], told.evidence["cache_pages"]), (2000.0, 2000.0));
    assert!((200.0..=2000.0).contains(&told.evidence["cache_growth"]), "{told:?}");
    let median = |result: &RunResult| {
        result.timed.as_ref().unwrap().latency_us.write.as_ref().unwrap().all.p50
    };
    assert!(median(&fills) < 1.0, "{}", median(&fills));
    assert!(told.claim.starts_with("the measured writes fit into the write cache, which holds "));
    assert_eq!(told.evidence["waits"], 0.0);
    // A longer run fills the cache during its measured part.
    let half = with(2000, 4000, closed);
    let told = finding(&half, "writes-in-cache").expect("2000 of 4000 writes go into the cache");
    assert!(told.evidence["waits"] > 1000.0 && told.evidence["cache_growth"] == 2.0 * 2000.0);
    assert!(told.claim.starts_with("4000 of 8000 page writes only filled the write cache: "));
    // In a still longer run, most times are those of the flash.
    let full = with(2000, 30_000, closed);
    assert!(median(&full) > 150.0, "{}", median(&full));
    assert_eq!(finding(&full, "writes-in-cache"), None);
    // The cache is full when measurement begins, and when it ends.
    let warm = RunConfig { warmup: "50%".into(), ..of(2000, 8000, closed) };
    assert_eq!(finding(&run(&warm, 1), "writes-in-cache"), None);
    // If requests come more slowly than they are programmed, the cache stays empty, for any number
    // of requests.
    for requests in [500, 5000] {
        let slow = with(2000, requests, "poisson:rate=100");
        assert_eq!(finding(&slow, "writes-in-cache"), None);
        assert!(median(&slow) < 1.0);
    }
    assert_eq!(finding(&with(0, 1000, closed), "writes-in-cache"), None);
}

#[test]
fn planes_that_work_one_after_the_other_are_told() {
    let with_preemption = |preemption: &str, multi_plane: bool, planes: u32, arrivals: &str| {
        let config = timed(|timed| {
            timed.preemption = preemption.into();
            timed.planes = planes;
            timed.multi_plane = multi_plane;
            timed.arrivals = Some(arrivals.into());
        });
        run(&config, 1)
    };
    let with = |multi_plane, planes, arrivals: &str| {
        with_preemption("none", multi_plane, planes, arrivals)
    };
    // Requests come one by one, so only the operations of collections go together.
    let (seldom, one) = ("poisson:rate=50", "closed:threads=1");
    let apart = with(true, 2, one);
    let told = finding(&apart, "planes-apart").expect("requests come one by one");
    assert_eq!(told.evidence["programs"], apart.counters.programs() as f64);
    assert_eq!(told.evidence["erases"], apart.counters.erases as f64);
    let copies = apart.counters.copied_pages as f64 / apart.counters.programs() as f64;
    assert!((0.5 * copies..=copies).contains(&told.evidence["joined_share"]), "{told:?} {copies}");
    assert!(told.evidence["joined_erases"] > 0.5 * told.evidence["erases"], "{told:?}");
    assert!(told.hint.as_deref().unwrap().contains("more requests at a time"));
    // Joined operations take less time. A busy drive that joins nothing says so.
    let rate = |result: &RunResult| result.timed.as_ref().unwrap().throughput.requests_per_second;
    let together = with(true, 2, "closed:threads=32");
    assert_eq!(finding(&together, "planes-apart"), None);
    let asked_for_none = with(false, 2, "closed:threads=32");
    assert!(rate(&together) > 1.5 * rate(&asked_for_none));
    let told = finding(&asked_for_none, "planes-apart").expect("two planes could work together");
    assert_eq!(told.evidence["joined_erases"], 0.0);
    assert!(told.hint.as_deref().unwrap().contains("as drives of today do"));
    assert_eq!(finding(&with(false, 2, seldom), "planes-apart"), None);
    assert!(finding(&with(true, 1, seldom), "planes-apart").is_some());
    // Requests that go between the steps of a collection are joined, too.
    let between = with_preemption("pgc", true, 2, "closed:threads=32");
    assert_eq!(finding(&between, "planes-apart"), None);
    assert!(rate(&between) > 1.5 * rate(&with_preemption("pgc", false, 2, "closed:threads=32")));
}

#[test]
fn runs_that_are_all_equal_have_no_interval() {
    let of = |workload: &str| {
        run(
            &RunConfig {
                workload: workload.into(),
                runs: 3,
                ..timed(|timed| timed.arrivals = Some("closed:threads=4".into()))
            },
            1,
        )
    };
    let ids = |result: &RunResult| -> Vec<String> {
        result.findings.iter().map(|finding| finding.id.clone()).collect()
    };
    let [equal, drawn] = ["sequential", "uniform"].map(of);
    assert_eq!(equal.timed.as_ref().unwrap().mean_us_ci95, None);
    assert!(ids(&equal).contains(&"identical-runs".into()), "{:?}", ids(&equal));
    assert!(equal.said().iter().any(|text| text.contains("one run has no interval")));
    assert!(drawn.timed.as_ref().unwrap().mean_us_ci95.is_some_and(|half| half > 0.0));
    assert!(!ids(&drawn).contains(&"identical-runs".into()));
}

#[test]
fn a_drive_that_dies_before_its_requests_says_so() {
    let config =
        RunConfig { endurance: Some("fixed:limit=3".into()), warmup: "20x".into(), ..config() };
    let dead = run(&config, 1);
    assert!(
        dead.said().iter().any(|text| text.contains("in 2 of 2 runs the drive failed")),
        "{:?}",
        dead.said()
    );
}
