//! Windows of activity: classes of pages as in `classes`, of which a part is requested at a time.
//!
//! In a trace most pages are hot for a while and cold after. Here a window lies on each class. It covers the
//! share `active` of the class, at least one region, and moves through the class once in `period` commands,
//! by whole regions of `region` pages; behind the last page comes the first. A command goes to a class by its
//! share, and there to any page of the window: P(page) = share of its class / pages of its window if the page
//! is in the window, else 0. Over a whole period every page of a class is about as likely as any other. With
//! active=1 it draws as `classes` without scatter does.
//!
//! The classes follow each other from page 0, so that data at rest lie together. In a mixture each part counts
//! its own commands: give each a period in proportion to its weight.
//!
//! # Cost
//!
//! Two random words, a table access and a division a command. Shares are off by at most 2^-33.
//!
//! # Source
//!
//! Ours. Static popularity misses what traces show: two write frontiers and a memory of former choices gain from
//! change over time (Van Houdt, ValueTools 2013, Tables 4 and 5, on traces).

use std::sync::Arc;

use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, SpecError};

use super::alias::Alias;
use super::bulk::Bulk;
use super::class::Class;
use super::proportions::{PAGES, Proportions, SHARES};
use super::{
    ALIGN, BLOCK, Blocks, FROM, Generator, GeneratorInfo, READ, Random, SIZE, STREAM, TO, TRIM,
};

const ACTIVE: Param =
    Param::share("active", Some("0.1")).help("share of each class that is requested at a time");
const PERIOD: Param = Param::integer("period", (1, 1 << 40), Some("1000000"))
    .help("commands in which a window moves through its class once");
const REGION: Param = Param::integer("region", (1, u32::MAX as u64), Some("64"))
    .help("pages by which a window moves at a time");

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "windows",
    params: &[PAGES, SHARES, ACTIVE, PERIOD, REGION, READ, TRIM, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("windows.rs"),
    plan: |params| {
        Ok(Arc::new(Windows {
            classes: Proportions::read(params)?,
            active: params.real("active"),
            period: params.integer("period"),
            region: params.integer("region") as u32,
        }))
    },
};

#[derive(Debug)]
struct Windows {
    classes: Proportions,
    active: f64,
    period: u64,
    region: u32,
}

impl Generator for Windows {
    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        let window = |class: Class| {
            let wanted = (self.active * f64::from(class.pages)).round() as u32;
            (class, wanted.max(self.region.min(class.pages)))
        };
        Ok(Box::new(Moving {
            choice: Alias::from_reals(self.classes.shares()),
            classes: self.classes.on(pages)?.into_iter().map(window).collect(),
            period: self.period,
            region: self.region,
            at: 0,
            words: random.bulk(),
        }))
    }
}

#[derive(State)]
struct Moving {
    #[snapshot(skip)]
    choice: Alias,
    /// The classes, each with the number of pages of its window.
    #[snapshot(skip)]
    classes: Vec<(Class, u32)>,
    #[snapshot(skip)]
    period: u64,
    #[snapshot(skip)]
    region: u32,
    /// The number of commands since the windows were at their first place.
    at: u64,
    #[snapshot(state)]
    words: Bulk,
}

impl Blocks for Moving {
    fn block(&mut self, pages: &mut [u32; BLOCK]) {
        for page in pages.iter_mut() {
            let (class, window) = self.classes[self.choice.pick(self.words.next()) as usize];
            let word = u128::from(self.words.next());
            let within = ((word * u128::from(window)) >> 64) as u64;
            let moved = u128::from(class.pages) * u128::from(self.at) / u128::from(self.period);
            let begin = moved as u64 / u64::from(self.region) * u64::from(self.region);
            *page = class.first + ((begin + within) % u64::from(class.pages)) as u32;
            self.at = if self.at + 1 == self.period { 0 } else { self.at + 1 };
        }
    }
}
