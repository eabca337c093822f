//! One page after the other, again and again.
//!
//! Command i goes to page (start + i stride) mod U: P(page of command i) = 1, no randomness. If
//! stride and U have a common divisor g, only every g-th page is touched.
//!
//! With `size`, each request begins where the last one ended, or at the next multiple of `align` if
//! that is given, and the first one again after the end.
//!
//! # Cost
//!
//! An addition and a comparison a command.
//!
//! # Source
//!
//! The sequential workload of fio and of every drive's data sheet.

use std::sync::Arc;

use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, SpecError};

use super::{
    ALIGN, BLOCK, Blocks, FROM, Generator, GeneratorInfo, READ, Random, SIZE, STREAM, TO, TRIM,
};

const START: Param =
    Param::integer("start", (0, u32::MAX as u64), Some("0")).help("first logical page");
const STRIDE: Param = Param::integer("stride", (1, u32::MAX as u64), Some("1"))
    .help("distance from one command to the next, in logical pages");

pub(super) const INFO: GeneratorInfo = GeneratorInfo {
    name: "sequential",
    params: &[START, STRIDE, READ, TRIM, STREAM, FROM, TO, SIZE, ALIGN],
    source: include_str!("sequential.rs"),
    plan: |params| {
        Ok(Arc::new(Sequential {
            start: params.integer("start"),
            stride: params.integer("stride"),
        }))
    },
};

#[derive(Debug)]
struct Sequential {
    start: u64,
    stride: u64,
}

impl Generator for Sequential {
    fn follows(&self) -> Result<bool, SpecError> {
        if (self.start, self.stride) == (0, 1) {
            return Ok(true);
        }
        Err(SpecError::new(
            format!(
                "sequential: start={} and stride={} do not go with size and align: a request begins where \
                 the last one ended",
                self.start, self.stride
            ),
            "leave out start and stride; from= moves its first request, and align= leaves gaps",
        ))
    }

    fn open(&self, pages: u32, _: &Random) -> Result<Box<dyn Blocks>, SpecError> {
        let pages = u64::from(pages);
        if self.start >= pages {
            return Err(SpecError::new(
                format!(
                    "sequential: found start={}, expected a logical page from 0 to {}",
                    self.start,
                    pages - 1
                ),
                "start within the logical pages of the drive",
            ));
        }
        if self.stride > pages {
            return Err(SpecError::new(
                format!(
                    "sequential: found stride={}, expected at most the {pages} logical pages",
                    self.stride
                ),
                "use a smaller stride",
            ));
        }
        Ok(Box::new(Walk { next: self.start, stride: self.stride, pages }))
    }
}

#[derive(State)]
struct Walk {
    next: u64,
    #[snapshot(skip)]
    stride: u64,
    #[snapshot(skip)]
    pages: u64,
}

impl Blocks for Walk {
    fn block(&mut self, pages: &mut [u32; BLOCK]) {
        for page in pages {
            *page = self.next as u32;
            self.next += self.stride;
            if self.next >= self.pages {
                self.next -= self.pages;
            }
        }
    }
}
