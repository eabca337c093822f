//! The 80-20 rule with a parameter: the lowest h% of the addresses get (100-h)% of the commands.
//!
//! h = 20 is the rule itself, h = 50 is uniform. The first round(h U / 100) of the U pages share
//! 1 - h/100 of the commands evenly, the others share h/100 evenly:
//! P(page) = (1 - h/100) / (low pages) if it is low, (h/100) / (other pages) if not.
//!
//! h = 50 is drawn as `uniform`, also where U is odd. A side that rounds to no page is an error.
//! The share is rounded to a multiple of 2^-32.
//!
//! # Cost
//!
//! One random word and a multiplication a command.
//!
//! # Source
//!
//! The skewed micro-benchmark of "Zombie Chasing: Efficient Flash Management Considering Dirty
//! Data in the Buffer Cache" (IEEE TC 2015), whose text says "top h%". In our reading these
//! are the lowest addresses, and the rest is uniform over the other pages.

use std::sync::Arc;

use flashgc_base::spec::{Param, SpecError};

use super::uniform::Uniform;
use super::{
    ALIGN, Blocks, FROM, Generator, GeneratorInfo, READ, Random, SIZE, STREAM, TO, TRIM, two_class,
};

const H: Param = Param::real("h", (0.001, 50.0), Some("20"))
    .help("percent of the addresses that get (100-h) percent of the commands");

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "skew",
    params: &[H, READ, TRIM, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("skew.rs"),
    plan: |params| Ok(Arc::new(Skew { h: params.real("h") })),
};

#[derive(Debug)]
struct Skew {
    /// The parameter h in percent.
    h: f64,
}

impl Generator for Skew {
    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        if self.h == 50.0 {
            return Uniform.open(pages, random);
        }
        let low_pages = (self.h * f64::from(pages) / 100.0).round() as u32;
        two_class::open(INFO.name, low_pages, 1.0 - self.h / 100.0, pages, random)
    }
}
