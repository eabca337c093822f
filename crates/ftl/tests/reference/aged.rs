//! Policies that weigh age and wear, naively: at every pick the whole history is read again, and
//! every candidate's score worked out from the formula. Quotients are taken last, so that equal
//! scores are equal.

use super::picks::NaivePick;
use super::{Event, Origin, View};

/// The history of one block.
#[derive(Clone, Default)]
struct Past {
    closed: u64,
    erases: u64,
    erased: u64,
    /// The time at which each page of the present contents was programmed; 0 for the first
    /// contents.
    programmed: Vec<u64>,
    /// The pages of the present contents that became invalid, and the times.
    lost: Vec<(usize, u64)>,
    last_lost: u64,
    /// The clock at the last collection of any block.
    last_collection: u64,
    /// For every erase, the clock and the number of valid pages.
    history: Vec<(u64, usize)>,
    /// The time of the last write but one of each page of the present contents, as far as it is
    /// known.
    up2: Vec<u64>,
    /// The mean up2 of the contents before.
    left: u64,
    /// The pages that the block has lost.
    gone: usize,
}

/// The mean of `times`, rounded down.
fn mean(times: &[u64]) -> u64 {
    times.iter().sum::<u64>() / times.len().max(1) as u64
}

fn pasts(view: &View) -> Vec<Past> {
    let fresh = Past { programmed: vec![0; view.b], ..Past::default() };
    let mut pasts = vec![fresh; view.counts.len()];
    for &(time, event) in view.log {
        match event {
            Event::Programmed(block, offset, origin) => {
                let up2 = match origin {
                    Origin::Copy(from) => pasts[from].left,
                    Origin::Host(None) => time - time / 2,
                    Origin::Host(Some(from)) => {
                        let up2 = match pasts[from].up2.as_slice() {
                            [] => pasts[from].left,
                            times => mean(times),
                        };
                        time - (time - up2) / 2
                    }
                };
                pasts[block].programmed[offset] = time;
                pasts[block].up2.push(up2);
            }
            Event::Lost(block, offset) => {
                pasts[block].lost.push((offset, time));
                pasts[block].last_lost = time;
            }
            Event::Closed(block) => pasts[block].closed = time,
            Event::Erased(block, valid) => {
                let past = &mut pasts[block];
                past.erases += 1;
                past.erased = time;
                past.left = mean(&past.up2);
                past.up2.clear();
                past.lost.clear();
                past.history.push((time, valid));
            }
        }
    }
    let erases = view.log.iter().filter(|(_, event)| matches!(event, Event::Erased(..)));
    let last = erases.map(|&(time, _)| time).max().unwrap_or_default();
    for (past, &gone) in pasts.iter_mut().zip(&view.lost) {
        (past.last_collection, past.gone) = (last, gone);
    }
    pasts
}

/// The naive pick of a policy of this family, by its spec.
pub fn naive_pick(spec: &str) -> NaivePick {
    let (name, params) = spec.split_once(':').unwrap_or((spec, ""));
    let given = |word: &str| params.split(',').any(|param| param.ends_with(&format!("={word}")));
    let (capped, log) = (given("last_collection"), given("log"));
    let age = move |past: &Past, now: u64, from_loss: bool| {
        let since = match (capped, from_loss) {
            (true, _) => past.last_lost.max(past.last_collection),
            (false, true) => past.last_lost,
            (false, false) => past.closed,
        };
        match log {
            true => libm::log1p((now - since) as f64),
            false => (now - since).max(1) as f64,
        }
    };
    let is_zombie_aware = name == "z-cost-benefit";
    let from_loss = given("last_invalidate");
    let (lfs, sqrt, weighed) = (given("lfs"), given("sqrt"), given("ratio"));
    let (average, literal, sample, live) =
        (given("average"), given("literal"), given("sample"), given("live"));
    let (since_erase, absolute) = (given("since_erase"), given("absolute"));
    let lambda = params.strip_prefix("lambda=").map_or(0.1, |value| value.parse().unwrap());
    // The arguments are b, valid, invalid and zombie pages, the past of the block, the clock, and
    // the fewest and the most erases of any block.
    type Formula = dyn Fn(f64, f64, f64, f64, &Past, u64, u64, u64) -> f64;
    let formula: Box<Formula> = match name {
        "cost-benefit" => Box::new(move |b, v, i, _, past, now, _, _| {
            let age = age(past, now, from_loss);
            if lfs {
                age * i / (b + v)
            } else if sqrt {
                age * (i * i) / (v * v)
            } else {
                age * i / (2.0 * v)
            }
        }),
        "z-cost-benefit" => Box::new(move |_, v, i, z, past, now, _, _| {
            age(past, now, from_loss) * (2.0 * i - (2.0 * z).min(i)) / (4.0 * v)
        }),
        "cat" => Box::new(move |_, v, i, _, past, now, _, _| {
            i * age(past, now, from_loss) / (v * (past.erases + 1) as f64)
        }),
        "mdc" => Box::new(|b, v, i, _, past, now, _, _| {
            let age = (now - mean(&past.up2)).max(1) as f64;
            i * i * age / (b * v)
        }),
        "sagc" => Box::new(move |_, v, i, _, past, now, _, _| {
            let unrecorded = i as u64 - past.lost.len() as u64; // never written: from clock 0
            let sum: u64 = past.lost.iter().map(|(_, time)| now - time).sum();
            let sum = (sum + unrecorded * now).max(1) as f64;
            match (i == 0.0, weighed) {
                (true, _) => 0.0,
                (false, true) => sum * i / (2.0 * v),
                (false, false) => sum,
            }
        }),
        "scata" => Box::new(|b, v, i, _, past, now, _, _| {
            if v == past.gone as f64 {
                return f64::INFINITY;
            }
            let is_lost = |page: usize| past.lost.iter().any(|&(lost, _)| lost == page);
            let youngest = (0..b as usize - past.gone).filter(|&page| !is_lost(page));
            let youngest = youngest.map(|page| past.programmed[page]).max().unwrap();
            let oldest = past.lost.iter().map(|&(_, time)| time).min().unwrap_or(now);
            let (oldest, youngest) = ((now - oldest).max(1), (now - youngest).max(1));
            let wear = (past.erases + 1) as f64;
            i * oldest as f64 * youngest as f64 / ((b + v) * wear)
        }),
        "eigc" => Box::new(move |b, v, i, _, past, now, _, _| {
            let mut kept = 0.0;
            for &(_, valid) in &past.history {
                kept = if average { 0.5 * (kept + valid as f64) } else { valid as f64 };
            }
            let time = (now - past.erased).max(1) as f64;
            i * b * time / (v * (b - kept).max(1.0) * (past.erases + 1) as f64)
        }),
        "bsgc" => Box::new(move |b, v, i, _, past, now, least, _| {
            let (mut interval, mut kept, mut last) = (0.0, 0.0, 0);
            for (index, &(time, valid)) in past.history.iter().enumerate() {
                let e_time = if literal { time } else { time - last } as f64;
                if index == 0 && sample {
                    (interval, kept) = (e_time, valid as f64);
                }
                interval = 0.5 * (e_time + interval);
                kept = 0.5 * (valid as f64 + kept);
                last = time;
            }
            if live {
                kept = 0.5 * (v + kept);
            }
            let c_time = if literal { now } else { now - past.erased } as f64;
            let time = if since_erase { c_time } else { c_time + interval }.max(1.0);
            let least = if absolute { 0 } else { least };
            i * b * time / (v * (b - kept).max(1.0) * (1 + past.erases - least) as f64)
        }),
        "wear-aware" => Box::new(move |b, v, i, _, past, _, _, most| {
            let wear = past.erases as f64 / (1 + most) as f64;
            if i == 0.0 { 0.0 } else { 1.0 - ((1.0 - lambda) * (v / b) + lambda * wear) }
        }),
        other => panic!("no naive pick for {other}: write one here when a policy is added"),
    };
    Box::new(move |view, _| {
        let pasts = pasts(view);
        let least = pasts.iter().map(|past| past.erases).min().unwrap();
        let most = pasts.iter().map(|past| past.erases).max().unwrap();
        let score = |block: usize| {
            let (b, v) = (view.b as f64, view.counts[block] as f64);
            let z = view.zombies[block] as f64;
            let score = formula(b, v, b - v, z, &pasts[block], view.now, least, most);
            // An age of 0 has the logarithm 0, which gives 0/0 for a block without valid pages. It
            // comes first all the same.
            if score.is_nan() { f64::INFINITY } else { score }
        };
        let order = |&a: &usize, &b: &usize| {
            let first = |block: usize| if is_zombie_aware { view.counts[block] } else { 0 };
            let key =
                |block: usize| (first(block), pasts[block].erases, pasts[block].closed, block);
            score(b).total_cmp(&score(a)).then(key(a).cmp(&key(b)))
        };
        view.candidates.iter().copied().min_by(order).unwrap()
    })
}
