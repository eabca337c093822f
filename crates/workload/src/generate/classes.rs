//! Classes of pages, each with a share of the pages and a share of the commands.
//!
//! Both are proportions and need not sum to 1: `pages=1/9/90,shares=60/30/10` sends 60% of the
//! commands to 1% of the pages, 30% to the next 9% and 10% to the last 90%. Every page of a class
//! is equally likely: P(page) = share of its class / pages of its class. A class with share 0 is
//! never requested: it holds data at rest, or data that only another part of a mixture reads.
//!
//! Class boundaries are rounded to whole pages. A class that has a share of the commands and rounds
//! to no page is an error. With scatter=no the classes follow each other from page 0. With
//! scatter=yes the pages are cut into runs of `run` pages, and a fixed pseudo-random permutation,
//! the same for every seed, places the runs anywhere on the drive. The larger `run` is, the more
//! neighbouring pages belong to one class. This affects a drive only through its preconditioning.
//!
//! With burst=B each draw is followed by commands for the next B - 1 pages of its class, as in
//! large requests; the first page follows the last. Every page is as likely as without bursts, but
//! pages written together tend to become invalid together.
//!
//! # Cost
//!
//! Two random words and a table access a draw; the permutation as for `zipf`, and a multiplication
//! if runs are longer than a page. Shares are off by at most 2^-33.
//!
//! # Source
//!
//! Hot and cold data (Rosenblum and Ousterhout, ACM TOCS 1992) with more than two classes, as the
//! analytic models have them (Desnoyers, SYSTOR 2012). Draws of a class: Walker 1977, Vose 1991.

use std::sync::Arc;

use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError};

use super::alias::Alias;
use super::bulk::Bulk;
use super::class::Class;
use super::proportions::{PAGES, Proportions, SHARES};
use super::scatter::Runs;
use super::{
    ALIGN, BLOCK, Blocks, FROM, Generator, GeneratorInfo, READ, Random, SIZE, STREAM, TO, TRIM,
};

const SCATTER: Param = Param::word("scatter", &["yes", "no"], Some("yes"))
    .help("yes: the classes are scattered over the drive; no: they lie one after the other");
const RUN: Param = Param::integer("run", (1, u32::MAX as u64), Some("1"))
    .help("consecutive pages that scattering keeps together");
const BURST: Param = Param::integer("burst", (1, u32::MAX as u64), Some("1"))
    .help("consecutive pages of a class that are requested in a row");

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "classes",
    params: &[PAGES, SHARES, SCATTER, RUN, BURST, READ, TRIM, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("classes.rs"),
    plan: |params| Ok(Arc::new(Classes::new(params)?)),
};

#[derive(Debug)]
pub(super) struct Classes {
    classes: Proportions,
    scatter: bool,
    run: u32,
    burst: u32,
}

impl Classes {
    /// Makes classes that lie one after the other.
    pub fn in_order(classes: Proportions) -> Self {
        Self { classes, scatter: false, run: 1, burst: 1 }
    }

    fn new(params: &Params) -> Result<Self, SpecError> {
        Ok(Self {
            classes: Proportions::read(params)?,
            scatter: params.text("scatter") == "yes",
            run: params.integer("run") as u32,
            burst: params.integer("burst") as u32,
        })
    }
}

impl Generator for Classes {
    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        let classes = self.classes.on(pages)?;
        Ok(Box::new(Draws {
            choice: Alias::from_reals(self.classes.shares()),
            current: classes[0],
            classes,
            page: 0,
            burst: self.burst,
            left: 0,
            scatter: self.scatter.then(|| Runs::new(pages, self.run)),
            words: random.bulk(),
        }))
    }
}

#[derive(State)]
struct Draws {
    #[snapshot(skip)]
    choice: Alias,
    #[snapshot(skip)]
    classes: Vec<Class>,
    /// The class of the current burst.
    current: Class,
    /// The next page of the burst, counted from the first page of the class.
    page: u32,
    #[snapshot(skip)]
    burst: u32,
    /// The number of pages left in the burst.
    left: u32,
    #[snapshot(skip)]
    scatter: Option<Runs>,
    #[snapshot(state)]
    words: Bulk,
}

impl Blocks for Draws {
    fn block(&mut self, pages: &mut [u32; BLOCK]) {
        for page in pages.iter_mut() {
            if self.left == 0 {
                self.current = self.classes[self.choice.pick(self.words.next()) as usize];
                let word = u128::from(self.words.next());
                // A 64-bit word chooses among at most 2^32 pages, so the bias is below 2^-32 of a
                // page's probability.
                self.page = ((word * u128::from(self.current.pages)) >> 64) as u32;
                self.left = self.burst;
            }
            *page = self.current.first + self.page;
            self.page = if self.page + 1 == self.current.pages { 0 } else { self.page + 1 };
            self.left -= 1;
        }
        if let Some(scatter) = &self.scatter {
            scatter.map(pages);
        }
    }
}
