//! Rosenblum's hot and cold pages: a share f of the pages gets a share r of the commands.
//!
//! The first round(f U) of the U pages are hot. Each command goes to a hot page with probability
//! r, else to a cold one, and every page of a class is equally likely:
//! P(page) = r / (hot pages) if it is hot, (1 - r) / (cold pages) if it is cold.
//!
//! The hot pages are the first ones and are not scattered. For a page map this matters only after
//! sequential preconditioning, which puts them into the same blocks; the warm-up undoes that. A
//! class that has a share of the commands and rounds to no page is an error. r is rounded to a
//! multiple of 2^-32.
//!
//! # Cost
//!
//! One random word and a multiplication a command.
//!
//! # Source
//!
//! Rosenblum and Ousterhout, "The Design and Implementation of a Log-Structured File System",
//! ACM TOCS 1992, section 3.5; written f and r in Van Houdt's papers.

use std::sync::Arc;

use flashgc_base::spec::{Param, SpecError};

use super::{
    ALIGN, Blocks, FROM, Generator, GeneratorInfo, READ, Random, SIZE, STREAM, TO, TRIM, two_class,
};

const F: Param = Param::share("f", Some("0.2")).help("share of the pages that are hot");
const R: Param = Param::share("r", Some("0.8")).help("share of the commands that go to hot pages");

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "hotcold",
    params: &[F, R, READ, TRIM, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("hotcold.rs"),
    plan: |params| Ok(Arc::new(HotCold { f: params.real("f"), r: params.real("r") })),
};

#[derive(Debug)]
struct HotCold {
    f: f64,
    r: f64,
}

impl Generator for HotCold {
    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        let hot_pages = (self.f * f64::from(pages)).round() as u32;
        two_class::open(INFO.name, hot_pages, self.r, pages, random)
    }
}
