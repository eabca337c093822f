//! Which level the next victim has after a victim of level i.
//!
//! Without memory victims are independent. With memory they are not: a draw that turns up several
//! good blocks leaves some of them to the next collections. With v and v' the levels of successive
//! victims, g_j and s_j the stored and drawn blocks with at most j valid pages, the next victim lies
//! above j where the next draw has none below it and at most one of the c + d blocks did, the victim
//! itself:
//!
//! ```text
//! P(v > i, v' > j) = P(s_j = 0) P(v > i)                                      i >= j
//! P(v > i, v' > j) = P(s_j = 0) P(v > i, g_j + s_j <= 1)                      i < j
//!   = P(s_j = 0) (P(v > j) + P(g_j = 0) P(s_j = 1, s_i = 0) + P(g_j = 1, g_i = 0) P(s_j = 0))
//! ```
//!
//! P(g_j = 1, g_i = 0) = P(g_j = 1) (1 - M(q_i) / M(q_j)) where M = 1 - theta for a memory of one:
//! exact for c = 1, and for more it says that the one stored block left is spread as it is there.

use super::levels::Levels;
use crate::meanfield::selection::{Selection, Taken};

/// The levels of successive victims that have valid pages at all.
pub(super) struct Succession {
    /// Levels that matter, in rising order, none of them 0.
    pub(super) levels: Vec<usize>,
    /// Chance of each of them.
    pub(super) chance: Vec<f64>,
    /// With memory: chance of level `levels[l']` after `levels[l]`, at l * count + l'.
    pub(super) after: Option<Vec<f64>>,
}

/// Chances of a level below which it does not matter.
const RARE: f64 = 1e-13;

impl Succession {
    pub(super) fn new(levels: &Levels, selection: &Selection) -> Self {
        let chances = levels.victim_levels();
        let matter: Vec<usize> = (1..=levels.b).filter(|&i| chances[i] > RARE).collect();
        let chance = matter.iter().map(|&i| chances[i]).collect();
        let after = match *selection {
            Selection::DChoices { d, c: c @ 1.. } => Some(after(levels, &matter, d, c)),
            _ => None,
        };
        Self { levels: matter, chance, after }
    }
}

fn after(levels: &Levels, matter: &[usize], d: u32, c: u32) -> Vec<f64> {
    let joint = joint(levels, d, c);
    let size = levels.b + 1;
    let row = |i: usize| {
        let row = &joint[i * size..(i + 1) * size];
        let total: f64 = row.iter().sum();
        row.iter().map(move |p| if total > 0.0 { p / total } else { 0.0 })
    };
    // Victims without valid pages add nothing to what is copied: on to the first that has some.
    let empty: Vec<f64> = row(0).collect();
    let leave_empty = 1.0 - empty[0];
    let mut all = Vec::with_capacity(matter.len() * matter.len());
    for &i in matter {
        let row: Vec<f64> = row(i).collect();
        let through = if leave_empty > 0.0 { row[0] / leave_empty } else { 0.0 };
        all.extend(matter.iter().map(|&next| row[next] + through * empty[next]));
    }
    all
}

/// P(v = i, v' = j), at i * (b + 1) + j.
fn joint(levels: &Levels, d: u32, c: u32) -> Vec<f64> {
    let (q, size) = (&levels.q, levels.b + 1);
    let mut of_one = Taken::new(d, 1);
    let mut of_all = Taken::new(d, c);
    let one: Vec<f64> = q.iter().map(|&q| of_one.in_memory(q)).collect();
    let stored: Vec<(f64, f64)> = q.iter().map(|&q| of_all.none_and_one_stored(q)).collect();
    let none_drawn: Vec<f64> = q.iter().map(|&q| (f64::from(d) * (-q).ln_1p()).exp()).collect();
    let above = |j: usize| none_drawn[j] * stored[j].0;
    // P(v > i, v' > j), where i and j are counted from 1 and 0 stands for -1.
    let survival = |i: usize, j: usize| -> f64 {
        let Some(j) = j.checked_sub(1) else { return i.checked_sub(1).map_or(1.0, above) };
        if i > j {
            return above(i - 1) * none_drawn[j];
        }
        let (q_i, one_i) = i.checked_sub(1).map_or((0.0, 0.0), |i| (q[i], one[i]));
        if q[j] >= 1.0 {
            return 0.0;
        }
        let drawn = f64::from(d) * (q[j] - q_i) / (1.0 - q[j]) * none_drawn[j] * stored[j].0;
        let kept = if one[j] > 0.0 { stored[j].1 * (1.0 - one_i / one[j]) } else { 0.0 };
        none_drawn[j] * (above(j) + drawn + kept * none_drawn[j])
    };
    let mut joint = Vec::with_capacity(size * size);
    for i in 0..size {
        for j in 0..size {
            let share =
                survival(i, j) - survival(i + 1, j) - survival(i, j + 1) + survival(i + 1, j + 1);
            joint.push(share.max(0.0));
        }
    }
    joint
}
