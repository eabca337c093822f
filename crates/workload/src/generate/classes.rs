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
use flashgc_base::spec::{Kind, Param, Params, SpecError, count};

use super::alias::Alias;
use super::bulk::Bulk;
use super::class::Class;
use super::scatter::Runs;
use super::{BLOCK, Blocks, FROM, Generator, GeneratorInfo, READ, Random, STREAM, TO, TRIM};

const PAGES: Param = Param {
    name: "pages",
    kind: Kind::Text,
    default: Some("20/80"),
    help: "pages of each class, as proportions",
};
const SHARES: Param = Param {
    name: "shares",
    kind: Kind::Text,
    default: Some("80/20"),
    help: "commands of each class, as proportions",
};
const SCATTER: Param = Param {
    name: "scatter",
    kind: Kind::Word(&["yes", "no"]),
    default: Some("yes"),
    help: "yes: the classes are scattered over the drive; no: they lie one after the other",
};
const RUN: Param = Param {
    name: "run",
    kind: Kind::Integer { min: 1, max: u32::MAX as u64 },
    default: Some("1"),
    help: "consecutive pages that scattering keeps together",
};
const BURST: Param = Param {
    name: "burst",
    kind: Kind::Integer { min: 1, max: u32::MAX as u64 },
    default: Some("1"),
    help: "consecutive pages of a class that are requested in a row",
};

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "classes",
    params: &[PAGES, SHARES, SCATTER, RUN, BURST, READ, TRIM, STREAM, FROM, TO],
    source: include_str!("classes.rs"),
    plan: |params| Ok(Arc::new(Classes::new(params)?)),
};

#[derive(Debug)]
struct Classes {
    /// The proportions of pages and of commands, one of each for every class.
    pages: Vec<f64>,
    shares: Vec<f64>,
    scatter: bool,
    run: u32,
    burst: u32,
}

impl Classes {
    fn new(params: &Params) -> Result<Self, SpecError> {
        let pages = proportions(params.text("pages"), &PAGES)?;
        let shares = proportions(params.text("shares"), &SHARES)?;
        if pages.len() != shares.len() {
            return Err(SpecError::new(
                format!(
                    "classes: found {} values in pages and {} in shares, expected the same number",
                    pages.len(),
                    shares.len()
                ),
                "give one of each for every class, for example pages=1/9/90,shares=60/30/10",
            ));
        }
        Ok(Self {
            pages,
            shares,
            scatter: params.text("scatter") == "yes",
            run: params.integer("run") as u32,
            burst: params.integer("burst") as u32,
        })
    }
}

/// Reads numbers separated by `/`, none of them below 0 and not all of them 0.
fn proportions(text: &str, param: &Param) -> Result<Vec<f64>, SpecError> {
    let good = |value: &f64| value.is_finite() && *value >= 0.0;
    let parsed: Option<Vec<f64>> =
        text.split('/').map(|part| part.trim().parse().ok().filter(good)).collect();
    let usable = |parts: &Vec<f64>| parts.iter().sum::<f64>().is_normal();
    parsed.filter(usable).ok_or_else(|| {
        let name = param.name;
        SpecError::new(
            format!(
                "classes: found {name}={text}, expected numbers from 0 separated by '/', at \
                     least one above 0"
            ),
            format!("{}, for example {name}={}", param.help, param.default.unwrap_or_default()),
        )
    })
}

impl Generator for Classes {
    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        let sum: f64 = self.pages.iter().sum();
        let (mut classes, mut below, mut first) = (Vec::new(), 0.0, 0);
        for (number, (part, share)) in (1..).zip(self.pages.iter().zip(&self.shares)) {
            below += part;
            let end = (below / sum * f64::from(pages)).round().min(f64::from(pages)) as u32;
            if end == first && *share > 0.0 {
                return Err(SpecError::new(
                    format!(
                        "classes: none of {} is in class {number}, which has a share of the \
                         commands",
                        count(pages.into(), "page")
                    ),
                    "use more logical pages, or make the class larger",
                ));
            }
            classes.push(Class { first, pages: end - first });
            first = end;
        }
        Ok(Box::new(Draws {
            choice: Alias::from_reals(&self.shares),
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
    /// The class of the burst, its next page in the class, and the number of its pages that are left.
    current: Class,
    page: u32,
    #[snapshot(skip)]
    burst: u32,
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
                // 64 bits for a page of at most 2^32: its bias is below 2^-32 of its probability.
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
