//! Requests with arrival times: distributions and arrival processes compared with closed forms,
//! with fixed seeds and limits of four standard errors; the properties of the synthetic generator;
//! and specs.

use flashgc_base::rng::Stream;
use flashgc_workload::Op;
use flashgc_workload::requests::disksim::DiskSim;
use flashgc_workload::requests::distribution::Distribution;
use flashgc_workload::requests::{Arrivals, RequestStream, Requests, Space, TimedRequest};
use flashgc_workload::units::Quantity;

const DRAWS: usize = 400_000;

/// Returns the mean and the variance of `values`.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n)
}

/// Fails unless the sample's mean and variance are within four standard errors of the exact ones.
/// `kurtosis` is the fourth central moment divided by the square of the variance. The variance of a
/// sample's variance is (kurtosis - 1) variance^2 / n.
fn assert_moments(what: &str, values: &[f64], mean: f64, variance: f64, kurtosis: f64) {
    let n = values.len() as f64;
    let (found_mean, found_variance) = moments(values);
    let error = (variance / n).sqrt();
    assert!(
        (found_mean - mean).abs() <= 4.0 * error,
        "{what}: mean {found_mean}, exact {mean}, standard error {error}"
    );
    let error = variance * ((kurtosis - 1.0) / n).sqrt();
    assert!(
        (found_variance - variance).abs() <= 4.0 * error,
        "{what}: variance {found_variance}, exact {variance}, standard error {error}"
    );
}

fn draws(text: &str, quantity: Quantity) -> Vec<f64> {
    let distribution = Distribution::parse("x", text, quantity).unwrap();
    let mut stream = Stream::new(3, text);
    (0..DRAWS).map(|_| distribution.draw(&mut stream)).collect()
}

#[test]
fn distributions_have_the_moments_of_their_closed_forms() {
    let time = |text| draws(text, Quantity::Time);
    // Uniform on [a, b]: variance (b - a)^2 / 12, kurtosis 9/5.
    assert_moments("uniform", &time("uniform:1ms:5ms"), 3e6, 4e6_f64.powi(2) / 12.0, 1.8);
    // Exponential: variance mean^2, kurtosis 9.
    assert_moments("exponential", &time("exponential:3ms"), 3e6, 9e12, 9.0);
    // Normal far from 0: kurtosis 3.
    assert_moments("normal", &time("normal:3ms:0.2ms"), 3e6, 4e10, 3.0);
    // Pareto with shape a = 10 and scale 0.9 mean: variance scale^2 a / ((a-1)^2 (a-2)), kurtosis
    // 3 + 6 (a^3 + a^2 - 6 a - 2) / (a (a-3) (a-4)).
    let kurtosis = 3.0 + 6.0 * (1000.0 + 100.0 - 62.0) / (10.0 * 7.0 * 6.0);
    let variance = 2.7e6_f64.powi(2) * 10.0 / (81.0 * 8.0);
    let pareto = time("pareto:3ms:10");
    assert_moments("pareto", &pareto, 3e6, variance, kurtosis);
    assert!(pareto.iter().all(|&value| value >= 2.7e6));
    assert!(time("constant:3ms").iter().all(|&value| value == 3e6));
}

#[test]
fn a_bell_cut_at_0_has_the_mean_of_its_closed_form() {
    // The mean of max(0, X) for a normal X is m Phi(m/s) + s phi(m/s). With m = s it is m (Phi(1) +
    // phi(1)) = m (0.8413447461 + 0.2419707245).
    let found = draws("normal:1ms:1ms", Quantity::Time);
    let exact = 1e6 * (0.841_344_746_1 + 0.241_970_724_5);
    let (mean, variance) = moments(&found);
    assert!((mean - exact).abs() < 4.0 * (variance / DRAWS as f64).sqrt(), "{mean} {exact}");
    let at_0 = found.iter().filter(|&&value| value == 0.0).count() as f64 / DRAWS as f64;
    // The share of zeros is Phi(-1); the limit uses the standard error of a share.
    assert!((at_0 - 0.158_655_254).abs() < 4.0 * (0.1587 * 0.8413 / DRAWS as f64).sqrt());
}

fn gaps(text: &str) -> Vec<f64> {
    let mut clock = Arrivals::parse(text).unwrap().open(5);
    let mut last = 0;
    (0..DRAWS)
        .map(|_| {
            let now = clock.arrival();
            let gap = now - last;
            last = now;
            gap as f64
        })
        .collect()
}

#[test]
fn poisson_and_periodic_arrivals_come_at_their_rate() {
    // 50 000 arrivals a second are 20 us apart. Rounding to nanoseconds adds a variance of 1/12
    // ns^2.
    assert_moments("poisson", &gaps("poisson:rate=50000"), 2e4, 4e8, 9.0);
    assert!(gaps("periodic:mean=20us").iter().all(|&gap| gap == 2e4));
    assert_eq!(Arrivals::parse("poisson:mean=20us").unwrap().rate(), Some(5e4));
}

#[test]
fn bursts_have_the_moments_of_the_interrupted_poisson_process() {
    // The rates are l in a burst, 1/on and 1/off. After an arrival, either the next arrival comes
    // after an exponential time of rate s = l + 1/on, or, with probability p = (1/on)/s, a pause
    // comes first and all begins anew. Hence m = E X = (1 + off/on) / l, and (1 - p) E X^2 = 2/s^2
    // + (2 p / s) (off + m) + p (2 off^2 + 2 off m).
    let (l, on, off) = (1.0 / 20e3, 200e3, 800e3);
    let (s, p) = (l + 1.0 / on, (1.0 / on) / (l + 1.0 / on));
    let m = (1.0 + off / on) / l;
    let second = 2.0 / (s * s) + 2.0 * p / s * (off + m) + p * (2.0 * off * off + 2.0 * off * m);
    let variance = second / (1.0 - p) - m * m;
    let found = gaps("bursts:mean=20us,on=200us,off=800us");
    // The kurtosis is that of the sample. It only determines the limit of the variance's error.
    let (mean, spread) = moments(&found);
    let fourth = found.iter().map(|gap| (gap - mean).powi(4)).sum::<f64>() / DRAWS as f64;
    assert_moments("bursts", &found, m, variance, fourth / (spread * spread));
    let rate = Arrivals::parse("bursts:mean=20us,on=200us,off=800us").unwrap().rate().unwrap();
    assert!((rate - 1e9 / m).abs() < 1e-6 * rate, "{rate}");
    // The gaps vary far more than those of Poisson arrivals with the same rate, whose variance is
    // the square of the mean.
    assert!(variance > 5.0 * m * m);
}

/// Returns the first requests of a spec over `pages` pages of 4 KiB.
fn requests(text: &str, pages: u32, count: usize) -> Vec<TimedRequest> {
    let space = Space { logical_pages: pages, page_size: 4096, request_size: 4096 };
    let source = Requests::parse(text).unwrap();
    let mut stream = source.open(space, 9, None, 1.0, None).unwrap();
    take(&mut *stream, count)
}

fn take(stream: &mut dyn RequestStream, count: usize) -> Vec<TimedRequest> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while all.len() < count {
        stream.fill(&mut batch, 1000.min(count - all.len())).unwrap();
        if batch.is_empty() {
            break;
        }
        all.extend_from_slice(&batch);
    }
    all
}

/// Fails unless `found` of `n` is within four standard errors of the share `exact`.
fn assert_share(what: &str, found: usize, n: usize, exact: f64) {
    let share = found as f64 / n as f64;
    let error = (exact * (1.0 - exact) / n as f64).sqrt();
    assert!((share - exact).abs() <= 4.0 * error, "{what}: {share}, exact {exact} +- {error}");
}

#[test]
fn synthetic_requests_have_the_shares_and_sizes_of_their_parameters() {
    const PAGES: u32 = 1 << 20;
    let all = requests("disksim:urgent=0.1", PAGES, DRAWS);
    let sequential = all.windows(2).filter(|pair| pair[1].offset == pair[0].end()).count();
    // A random place can also follow the previous request, with probability 0.6 / 2^20. That is far
    // below the error.
    assert_share("sequential", sequential, DRAWS - 1, 0.4);
    let of = |test: fn(&TimedRequest) -> bool| all.iter().filter(|one| test(one)).count();
    assert_share("reads", of(|one| one.op == Op::Read), DRAWS, 0.4);
    assert_share("urgent", of(|one| one.urgent), DRAWS, 0.1);
    assert_eq!(of(|one| one.op == Op::Trim), 0);
    // The size is an exponential number with mean 32 KiB, rounded to units of 4 KiB, at least one.
    // With q = exp(-1/8), P(units > k) = q^(k + 1/2) for k >= 1. Hence the mean is 1 + q^1.5 / (1 -
    // q), and the mean of the square is 1 plus the sum over k >= 1 of (2k + 1) q^(k + 1/2), which
    // is 1 + q^0.5 (3 q - q^2) / (1 - q)^2.
    let q = (-0.125_f64).exp();
    let mean = 1.0 + q.powf(1.5) / (1.0 - q);
    let second = 1.0 + q.sqrt() * (3.0 * q - q * q) / (1.0 - q).powi(2);
    let units: Vec<f64> = all.iter().map(|one| f64::from(one.bytes) / 4096.0).collect();
    // The kurtosis is that of an exponential number; rounding hardly changes it from 9.
    assert_moments("size", &units, mean, second - mean * mean, 9.0);
    let last = all.last().unwrap().arrival_ns as f64;
    let mean_gap = last / DRAWS as f64;
    assert!((mean_gap - 3e6).abs() < 4.0 * 3e6 / (DRAWS as f64).sqrt(), "{mean_gap}");
    assert!(all.iter().all(|one| one.end() <= u64::from(PAGES) * 4096 && one.bytes >= 4096));
    assert!(all.iter().all(|one| one.offset % 4096 == 0 && one.bytes % 4096 == 0));
}

#[test]
fn sequential_requests_go_round_and_random_ones_reach_every_place() {
    let all = requests("disksim:size=constant:8KiB,sequential=1,gap=constant:1us", 5, 6);
    let pages: Vec<u64> = all.iter().map(|one| one.offset / 4096).collect();
    let first = pages[0];
    // Two requests of two pages fit on five pages. If the next request does not fit, it begins at
    // page 0.
    let after = |page: u64| if page + 4 <= 5 { page + 2 } else { 0 };
    assert!(pages.windows(2).all(|pair| pair[1] == after(pair[0])), "{pages:?}");
    assert!(first <= 3);
    // A request that ends exactly at the end of the space is not moved: on six pages, all three
    // pairs are used, whichever comes first.
    let all = requests("disksim:size=constant:8KiB,sequential=1,unit=8KiB,gap=constant:1us", 6, 9);
    let pairs: Vec<u64> = all.iter().map(|one| one.offset / 8192).collect();
    assert!(pairs.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 3), "{pairs:?}");
    let all = requests("disksim:size=constant:8KiB,sequential=0", 5, 1000);
    let mut seen: Vec<u64> = all.iter().map(|one| one.offset / 4096).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [0, 1, 2, 3]);
    // A request is never larger than the space.
    assert!(requests("disksim:size=constant:1MiB", 5, 3).iter().all(|one| one.bytes == 5 * 4096));
}

#[test]
fn requests_are_the_same_for_every_batch_limit_and_seed() {
    for text in ["disksim", "uniform:read=0.3"] {
        let source = Requests::parse(text).unwrap();
        let space = Space { logical_pages: 1000, page_size: 4096, request_size: 4096 };
        let poisson = Arrivals::parse("poisson:rate=1000").unwrap();
        let open = |seed| source.open(space, seed, Some(&poisson), 1.0, None).unwrap();
        let whole = take(&mut *open(1), 3000);
        let (mut pieces, mut batch) = (Vec::new(), Vec::new());
        let mut stream = open(1);
        for limit in [1, 7, 500, 2492] {
            stream.fill(&mut batch, limit).unwrap();
            pieces.extend_from_slice(&batch);
        }
        assert_eq!(whole, pieces, "{text}");
        assert_ne!(whole, take(&mut *open(2), 3000), "{text}");
    }
}

#[test]
fn page_commands_become_requests_of_one_page() {
    let space = Space { logical_pages: 500, page_size: 8192, request_size: 8192 };
    let source = Requests::parse("sequential:read=0.5").unwrap();
    let arrivals = Arrivals::parse("periodic:mean=10us").unwrap();
    // At twice the rate, arrivals are 5 us apart.
    let all = take(&mut *source.open(space, 1, Some(&arrivals), 2.0, None).unwrap(), 1000);
    for (index, request) in (0..).zip(&all) {
        assert_eq!(request.arrival_ns, 5000 * (index + 1));
        assert_eq!((request.offset, request.bytes), (index % 500 * 8192, 8192));
    }
    assert_share("reads", all.iter().filter(|one| one.op == Op::Read).count(), 1000, 0.5);
}

#[test]
fn a_rate_scale_divides_every_time_of_an_open_loop() {
    // The draws are the same up to rounding to nanoseconds. 300 arrivals are about 60 bursts.
    for text in ["bursts:rate=50000,on=100us,off=8ms", "poisson:rate=1000", "periodic:mean=3ms"] {
        let arrivals = Arrivals::parse(text).unwrap();
        let (mut plain, mut dense) = (arrivals.open(7), arrivals.scaled(4.0).open(7));
        for number in 1..=300u64 {
            let (expected, found) = (plain.arrival() as f64 / 4.0, dense.arrival() as f64);
            assert!((found - expected).abs() <= number as f64, "{text}: {found} {expected}");
        }
        let (plain, dense) = (arrivals.rate().unwrap(), arrivals.scaled(4.0).rate().unwrap());
        assert!((dense / plain - 4.0).abs() < 1e-12, "{text}: {plain} {dense}");
    }
    let closed = Arrivals::parse("closed:threads=2,think=1ms").unwrap();
    assert_eq!(closed.scaled(4.0), closed);
}

#[test]
fn a_footprint_is_the_beginning_of_the_space() {
    // The footprint is an eighth of 2^16 pages, so the last page of every request is below 2^13.
    // With random places, the highest end of 20 000 requests is close to 2^13.
    const PAGES: u32 = 1 << 16;
    let ends = |text| requests(text, PAGES, 20_000).iter().map(|one| one.end() / 4096).max();
    let highest = ends("disksim:footprint=12.5%").unwrap();
    assert!((8150..=8192).contains(&highest), "{highest}");
    assert!(ends("disksim").unwrap() > 65_000);
    let error = DiskSim::parse("disksim:footprint=0").unwrap_err().to_string();
    assert!(error.starts_with("disksim: footprint is 0, expected more than 0; hint: "), "{error}");
}

#[test]
fn specs_print_in_full_and_read_back() {
    for text in [
        "poisson:rate=30000",
        "gaps:gap=pareto:3ms:2.5",
        "gaps:gap=normal:3ms:1ms",
        "gaps:gap=uniform:1ms:5ms",
        "bursts:rate=50000,on=2ms,off=8ms",
        "closed:threads=8,think=1ms",
    ] {
        let arrivals = Arrivals::parse(text).unwrap();
        assert_eq!(Arrivals::parse(&arrivals.to_string()).unwrap(), arrivals, "{text}");
    }
    let text = "disksim:size=exponential:32KiB,gap=exponential:3ms,sequential=0.4,reads=0.4,\
                urgent=0,footprint=1,unit=4KiB";
    assert_eq!(DiskSim::parse("disksim").unwrap().to_string(), text);
}

#[test]
fn faults_name_what_to_try() {
    let arrivals = |text| Arrivals::parse(text).unwrap_err().to_string();
    assert_eq!(
        arrivals("poison:mean=3ms"),
        "unknown arrivals 'poison'; hint: did you mean 'poisson'?"
    );
    assert_eq!(
        arrivals("poisson:mean=0us"),
        "poisson: mean is 0; hint: write poisson:mean=3ms or poisson:rate=20000"
    );
    assert_eq!(
        arrivals("poisson:rate=0"),
        "poisson: rate=0 is not a number of arrivals a second from 0.001 to 1e9; hint: write \
         poisson:mean=3ms or poisson:rate=20000"
    );
    assert_eq!(
        arrivals("poisson:rate=1,mean=3ms"),
        "poisson: rate and mean say the same thing; hint: give one"
    );
    assert_eq!(
        arrivals("gaps:gap=unifrom:1ms:2ms"),
        "gap=unifrom:1ms:2ms: unknown distribution 'unifrom'; hint: did you mean 'uniform'?"
    );
    assert_eq!(
        arrivals("gaps:gap=uniform:1ms"),
        "gap=uniform:1ms: 1 is the wrong number of values; hint: write gap=uniform:LOW:HIGH"
    );
    assert!(arrivals("gaps:gap=uniform:5ms:1ms").contains("the lower value is above the higher"));
    assert!(arrivals("bursts:rate=1,on=1us,off=1s").contains("fewer than 0.001 arrivals"));
    let disksim = |text| DiskSim::parse(text).unwrap_err().to_string();
    assert!(disksim("disksim:size=constant:0B").contains("the mean of size is 0"));
    assert!(disksim("disksim:unit=0.5B").contains("expected 1B to 1GiB"));
    assert!(disksim("disksim:raeds=1").contains("did you mean 'reads'?"));
    assert!(disksim("disksim:size=pareto:1KiB:1").contains("expected a shape above 1"));
}
