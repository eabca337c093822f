//! The picks of each victim policy: in its naive form, and on a table worked out by hand. A new
//! policy adds both here.

use std::collections::BTreeMap;

use flashgc_base::rng::Stream;

use super::{Event, Origin, View, aged};

/// A function that picks a block, with all that it remembers.
pub type NaivePick = Box<dyn FnMut(&View, &mut Stream) -> usize>;

/// The naive pick of a policy, by its spec.
pub fn naive_pick(spec: &str) -> NaivePick {
    let (name, params) = spec.split_once(':').unwrap_or((spec, ""));
    let param = |key: &str| params.split(',').find_map(|p| p.strip_prefix(key)?.strip_prefix('='));
    let number = |key, default| param(key).map_or(default, |value| value.parse().unwrap());
    let default = if name == "windowed" { "oldest" } else { "latest" };
    let ties = param("ties").unwrap_or(default).to_string();
    let fewest = move |set: &[usize], view: &View| {
        let key = |place: usize| match ties.as_str() {
            "latest" => (view.counts[set[place]], u64::MAX - view.touched[set[place]], 0),
            "oldest" => (view.counts[set[place]], 0, place),
            _ => (view.counts[set[place]], 0, set[place]),
        };
        set[(0..set.len()).min_by_key(|&place| key(place)).unwrap()]
    };
    match name {
        "fifo" => Box::new(|view, _| view.candidates[0]),
        "greedy" => Box::new(move |view, _| fewest(&view.candidates, view)),
        // The paper's score, i - min(z, i/2). Of blocks with equal scores, the one with most
        // invalid pages goes first.
        "z-greedy" => Box::new(move |view, _| {
            let score = |&block: &usize| {
                let (i, z) = ((view.b - view.counts[block]) as f64, view.zombies[block] as f64);
                i - z.min(i / 2.0)
            };
            let best = view.candidates.iter().map(score).fold(f64::NEG_INFINITY, f64::max);
            let equal: Vec<usize> =
                view.candidates.iter().filter(|block| score(block) == best).copied().collect();
            fewest(&equal, view)
        }),
        "2r-greedy" => {
            let (mut goes_on, mut is_cold, mut gained) = (false, false, 0);
            Box::new(move |view, _| {
                // The blocks whose last page is a copy, and the others.
                let mut copied = vec![false; view.counts.len()];
                for (_, event) in view.log {
                    if let Event::Programmed(block, _, origin) = event {
                        copied[*block] = matches!(origin, Origin::Copy(_));
                    }
                }
                let of = |cold: bool| -> Vec<usize> {
                    view.candidates.iter().copied().filter(|&block| copied[block] == cold).collect()
                };
                let has_invalid =
                    |set: &Vec<usize>| set.iter().any(|&block| view.counts[block] < view.b);
                let set = goes_on.then(|| of(is_cold)).filter(has_invalid);
                let set = set.unwrap_or_else(|| {
                    let (cold, normal) = (of(true), of(false));
                    let least = |set: &[usize]| set.iter().map(|&block| view.counts[block]).min();
                    let (of_cold, of_normal) = (least(&cold), least(&normal));
                    is_cold = of_cold.is_some() && (of_normal.is_none() || of_cold <= of_normal);
                    if is_cold { cold } else { normal }
                });
                let victim = fewest(&set, view);
                gained += view.b - view.counts[victim];
                goes_on = gained < view.b;
                gained = if goes_on { gained } else { 0 };
                victim
            })
        }
        "2r-fifo" => {
            // `hand` is an index in the log. The hand is before the block that was closed there.
            let (mut hand, mut steps, mut bound, mut gained) = (0, 0, 10, 0);
            Box::new(move |view, _| {
                let closings = view.log.iter().enumerate().filter_map(|(place, (_, event))| {
                    if let Event::Closed(block) = event { Some((*block, place)) } else { None }
                });
                let closed: BTreeMap<usize, usize> = closings.collect();
                let order = &view.candidates;
                loop {
                    let at = order.iter().position(|block| closed[block] >= hand);
                    steps = if at.is_none() { 1 } else { steps + 1 };
                    let block = order[at.unwrap_or(0)];
                    let is_taken = 20 * view.counts[block] < bound * view.b;
                    hand = closed[&block] + 1;
                    if steps >= order.len() * 7 / 10 {
                        (hand, steps, bound) = (0, 0, 21.min(bound + 1));
                    }
                    if is_taken {
                        gained += view.b - view.counts[block];
                        if gained >= view.b {
                            (bound, gained) = (14, 0);
                        }
                        return block;
                    }
                }
            })
        }
        "random" => Box::new(draw),
        "windowed" => {
            let w = number("w", 500);
            Box::new(move |view, _| fewest(&view.candidates[..w.min(view.candidates.len())], view))
        }
        "d-choices" => {
            let (d, c) = (number("d", 10), number("c", 0));
            let mut stored: Option<Vec<usize>> = None;
            Box::new(move |view, rng| {
                let stored = stored.get_or_insert_with(|| distinct(c, view.counts.len(), rng));
                let mut set: Vec<usize> = (0..d).map(|_| draw(view, rng)).collect();
                set.extend(stored.iter().filter(|block| view.candidates.contains(block)));
                let mut seen = Vec::new();
                set.retain(|&block| {
                    !seen.contains(&block) && {
                        seen.push(block);
                        true
                    }
                });
                set.sort_by_key(|&block| view.counts[block]); // stable: the first drawn wins
                *stored = set[1..].iter().copied().take(c).collect();
                set[0]
            })
        }
        _ => aged::naive_pick(spec),
    }
}

/// The table on which picks are worked out by hand: valid pages of eight blocks of 64, of which 2
/// and 5 are open.
pub const TABLE: [Option<u32>; 8] =
    [Some(30), Some(12), None, Some(12), Some(64), None, Some(40), Some(20)];

/// The order in which the full blocks of [`TABLE`] were closed, with 64 pages programmed before
/// each.
pub const CLOSED: [u32; 6] = [7, 0, 3, 1, 6, 4];

/// Parameters that change the pick, beside the defaults of every policy.
pub const MORE_BY_HAND: [&str; 7] = [
    "greedy:ties=oldest",
    "greedy:ties=lowest",
    "windowed:w=1",
    "windowed:w=2",
    "d-choices:d=1",
    "d-choices:d=2",
    "cost-benefit:form=lfs",
];

/// The pick from [`TABLE`], worked out by hand; `draws` are the first candidates that random
/// policies see.
pub fn by_hand(spec: &str, draws: &[u32]) -> u32 {
    let best_of = |draws: &[u32]| *draws.iter().min_by_key(|&&b| TABLE[b as usize]).unwrap();
    match spec {
        "fifo" => 7,                // closed first
        "greedy" | "z-greedy" => 1, // 12 valid pages like block 3, but closed later
        "greedy:ties=oldest" => 3,  // 12 like block 1, but closed first
        "greedy:ties=lowest" => 1,  // 12 like block 3, but the lower number
        "windowed:w=1" => 7,        // the window is block 7 alone
        "windowed:w=2" => 7,        // 20 < 30
        "windowed" => 3,            // all of them; 12, closed before block 1
        "2r-fifo" => 7,             // closed first, 20 of 64 below a half
        "2r-greedy" => 1,           // nothing is a copy: as greedy
        "random" | "d-choices:d=1" => draws[0],
        "d-choices:d=2" => best_of(&draws[..2]),
        "d-choices" => best_of(&draws[..10]),
        // 64 pages are programmed before each closing, and no page dies later. So the ages are 320,
        // 256, 192, 128, 64 and 0, in closing order. a i/(2v): 320 * 44/40 = 352, 256 * 34/60 =
        // 145, 192 * 52/24 = 416, 128 * 52/24 = 277, ... With b + v in place of 2v: 168, 93, 131,
        // ...
        "cost-benefit" | "cat" | "z-cost-benefit" => 3,
        "cost-benefit:form=lfs" => 7,
        // All times are the same, and blocks 3 and 1 have the fewest valid pages, 12. Block 3 was
        // closed first.
        "sagc" | "scata" | "eigc" | "bsgc" | "wear-aware" | "mdc" => 3,
        other => panic!("work out by hand what {other} picks and add it here"),
    }
}

fn draw(view: &View, rng: &mut Stream) -> usize {
    loop {
        let block = rng.below(view.counts.len() as u32) as usize;
        if view.candidates.contains(&block) {
            return block;
        }
    }
}

/// `count` distinct random blocks: the memory before the first pick. The engine draws them when
/// the drive is made, which is before any pick, so the stream is at the same place.
fn distinct(count: usize, n: usize, rng: &mut Stream) -> Vec<usize> {
    let mut blocks = Vec::new();
    while blocks.len() < count {
        let block = rng.below(n as u32) as usize;
        if !blocks.contains(&block) {
            blocks.push(block);
        }
    }
    blocks
}
