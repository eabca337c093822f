//! Working sets and phases: commands stay within a set of pages, then part of it changes.
//!
//! At any time the working set has S = max(1, round(set U)) of the U pages. Every command goes to a
//! page of the set; the probability of the page of rank k is proportional to 1/k^theta. A phase
//! lasts for a geometrically distributed number of commands with mean `length`. Then
//! round((1 - keep) S) random members of the set give their ranks to pages drawn from outside.
//! P(page of rank k | in the set) = k^-theta / (1^-theta + ... + S^-theta); P(page | not in it) = 0.
//! Over many phases every page is as likely as any other.
//!
//! A program's memory has pages that are only read and pages that are written. A mixture of two
//! working sets models both, such as `0.7*phases:set=0.1,read=1 + 0.3*phases:set=0.05`; their
//! phases change independently. Consecutive phases share the part `keep` of the set; with keep=0
//! they are disjoint.
//!
//! # Cost
//!
//! That of `zipf` without scatter and a table access a command; a phase change costs the pages that
//! change. Memory: 4 bytes a page of the drive.
//!
//! # Source
//!
//! Denning and Kahn, "A study of program locality and lifetime functions", SOSP 1975: a macromodel
//! of locality sets with holding times, and within them a micromodel. Their
//! micromodels are cyclic, sawtooth and random; the power law is ours.

use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, SpecError};

use super::zipf::Zipf;
use super::{
    ALIGN, BLOCK, Blocks, FROM, Generator, GeneratorInfo, READ, Random, SIZE, STREAM, TO, TRIM,
};

const SET: Param =
    Param::share("set", Some("0.05")).help("share of the pages that are in the working set");
const LENGTH: Param = Param::integer("length", (1, 1 << 40), Some("100000"))
    .help("mean number of commands in a phase");
const KEEP: Param =
    Param::share("keep", Some("0.5")).help("share of the working set that the next phase keeps");
const THETA: Param = Param::real("theta", (0.0, f64::INFINITY), Some("0.8"))
    .help("exponent of the popularity within the working set, 0 for uniform");

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "phases",
    params: &[SET, LENGTH, KEEP, THETA, READ, TRIM, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("phases.rs"),
    plan: |params| {
        Ok(Arc::new(Phases {
            set: params.real("set"),
            length: params.integer("length"),
            keep: params.real("keep"),
            theta: params.real("theta"),
        }))
    },
};

#[derive(Debug)]
struct Phases {
    set: f64,
    length: u64,
    keep: f64,
    theta: f64,
}

impl Generator for Phases {
    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        let members = ((self.set * f64::from(pages)).round() as u32).clamp(1, pages);
        // All pages, in an order that changes. The first `members` pages are the working set, by
        // rank.
        let mut order: Vec<u32> = (0..pages).collect();
        let mut changes = Stream::new(random.seed, &format!("{}/phases", random.name));
        for rank in 0..members {
            let other = rank + changes.below(pages - rank);
            order.swap(rank as usize, other as usize);
        }
        let leaving = ((1.0 - self.keep) * f64::from(members)).round() as u32;
        let mut running = Running {
            ranks: Zipf { theta: self.theta, scatter: false }.open(members, random)?,
            order,
            members,
            leaving: leaving.min(pages - members),
            length: self.length,
            left: 0,
            changes,
        };
        running.left = running.holding_time();
        Ok(Box::new(running))
    }
}

#[derive(State)]
struct Running {
    #[snapshot(state)]
    ranks: Box<dyn Blocks>,
    #[snapshot(table)]
    order: Vec<u32>,
    #[snapshot(skip)]
    members: u32,
    /// The number of members that leave the set from one phase to the next.
    #[snapshot(skip)]
    leaving: u32,
    #[snapshot(skip)]
    length: u64,
    /// The number of commands left in this phase.
    left: u64,
    changes: Stream,
}

impl Running {
    /// Draws a geometric number of commands, at least 1, with the mean `length`.
    fn holding_time(&mut self) -> u64 {
        if self.length == 1 {
            return 1;
        }
        // Applies the inverse of the distribution function to a uniform number above 0.
        let uniform = 1.0 - self.changes.unit();
        let stay = libm::log1p(-1.0 / self.length as f64);
        1 + (libm::log(uniform) / stay) as u64
    }

    fn change(&mut self) {
        let (members, pages) = (self.members, self.order.len() as u32);
        // New members are drawn first, so that no page that leaves can return at once. They are put
        // directly after the set.
        for nth in 0..self.leaving {
            let from = members + nth;
            let drawn = from + self.changes.below(pages - from);
            self.order.swap(from as usize, drawn as usize);
        }
        // Leaving members are drawn from the ranks without replacement.
        let mut ranks: Vec<u32> = (0..members).collect();
        for nth in 0..self.leaving {
            let drawn = nth + self.changes.below(members - nth);
            ranks.swap(nth as usize, drawn as usize);
            self.order.swap(ranks[nth as usize] as usize, (members + nth) as usize);
        }
        self.left = self.holding_time();
    }
}

impl Blocks for Running {
    fn block(&mut self, pages: &mut [u32; BLOCK]) {
        self.ranks.block(pages);
        for page in pages {
            if self.left == 0 {
                self.change();
            }
            self.left -= 1;
            *page = self.order[*page as usize];
        }
    }
}
