//! Workload generators: endless streams of page commands drawn from a distribution. Each generator
//! has its own file. Generators know nothing of drives and read no clock.
//!
//! To add a generator, write its file, declare the module and add a line to the list below. The
//! `//!` header of the file is its documentation everywhere; `INFO` has its name and parameters.
//!
//! A generator makes pages in blocks of a fixed size; [`commands`] divides the blocks into the
//! batches that a drive reads. The commands therefore do not depend on the limits of the batches. C
//! libraries may round some functions differently (`exp`, `log`, `pow`, `erf`); these come from the
//! `libm` crate, so that the commands are the same on every machine.
//!
//! ```
//! use flashgc_workload::{Batch, generate::GeneratorSpec};
//!
//! let spec = GeneratorSpec::parse("0.7*zipf:theta=0.9 + 0.3*sequential:read=10%")?;
//! let mut workload = spec.open(1 << 20, 1)?;
//! let mut batch = Batch::default();
//! workload.fill(&mut batch, Batch::DEFAULT_LEN)?;
//! assert_eq!(batch.pages.len(), 4096);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alias;
mod bulk;
mod bytes;
mod class;
mod classes;
mod commands;
mod extents;
mod frequency;
mod hotcold;
mod normal;
mod phases;
mod place;
mod proportions;
mod scatter;
mod sequential;
mod sized;
mod sizes;
mod skew;
mod spec;
mod tpcc;
mod two_class;
mod uniform;
mod windows;
mod zipf;
mod zoned;

use std::fmt;
use std::sync::Arc;

use flashgc_base::rng::Stream;
use flashgc_base::snapshot::State;
use flashgc_base::spec::{Param, Params, SpecError, header, summary};

use crate::Op;

use place::{FROM, STREAM, TO};
use sizes::{ALIGN, SIZE};

pub use extents::Extents;
pub(crate) use sized::leave_out_trims;
pub use spec::GeneratorSpec;

/// The list of all generators.
static GENERATORS: &[GeneratorInfo] = &[
    uniform::INFO,
    hotcold::INFO,
    classes::INFO,
    zoned::INFO,
    zipf::INFO,
    skew::INFO,
    normal::INFO,
    sequential::INFO,
    phases::INFO,
    windows::INFO,
    frequency::INFO,
    tpcc::INFO,
];

/// Returns all generators, in the order in which a listing shows them.
pub fn generators() -> &'static [GeneratorInfo] {
    GENERATORS
}

/// The entry of one generator for the command line, the reference page and listings.
#[derive(Clone, Copy)]
pub struct GeneratorInfo {
    /// The name that users type.
    pub name: &'static str,
    /// The parameters of the generator, the common ones included: `stream`, `from`, `to`, `size`
    /// and `align`, and `read` and `trim` unless it [decides the operations].
    ///
    /// [decides the operations]: GeneratorInfo::decides_ops
    pub params: &'static [Param],
    /// The text of its source file, whose header is the documentation.
    source: &'static str,
    plan: fn(&Params) -> Result<Arc<dyn Generator>, SpecError>,
}

impl GeneratorInfo {
    /// Returns the description in one line without markup.
    pub fn summary(&self) -> &'static str {
        summary(self.source)
    }

    /// Returns `true` if the generator itself decides which commands are reads, and takes no `read`
    /// and `trim`.
    pub fn decides_ops(&self) -> bool {
        !self.params.iter().any(|param| param.name == READ.name)
    }

    /// Returns the documentation in Markdown: description, formula, `# Cost`, `# Source`.
    pub fn doc(&self) -> String {
        header(self.source) + "\n"
    }
}

impl fmt::Debug for GeneratorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeneratorInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The number of pages that a generator makes at once.
const BLOCK: usize = 512;

/// The share of commands that are reads. Every generator that does not choose the operations itself
/// has this parameter.
const READ: Param = Param::share("read", Some("0")).help("share of the commands that are reads");

/// The share of commands that are TRIMs. Every generator that does not choose the operations itself
/// has this parameter.
const TRIM: Param = Param::share("trim", Some("0")).help("share of the commands that are TRIMs");

/// A generator with its parameters, before the number of pages is known.
trait Generator: fmt::Debug + Send + Sync {
    /// Returns the number of logical pages if the generator determines it; `None` if the drive
    /// does.
    fn fixed_pages(&self) -> Option<u32> {
        None
    }

    /// Returns the size of a page in bytes if the generator needs a certain one.
    fn page_size(&self) -> Option<f64> {
        None
    }

    /// Returns `true` if each request of a certain size begins where the last one ended, so that
    /// the pages need not be drawn.
    ///
    /// # Errors
    /// Parameters that say otherwise.
    fn follows(&self) -> Result<bool, SpecError> {
        Ok(false)
    }

    /// Opens the generator over logical pages `0..pages`, where `pages` is at least 1.
    fn open(&self, pages: u32, random: &Random) -> Result<Box<dyn Blocks>, SpecError>;
}

/// An endless sequence of logical pages.
trait Blocks: State + Send {
    /// Makes the next [`BLOCK`] pages.
    fn block(&mut self, pages: &mut [u32; BLOCK]);

    /// Returns the operations of the pages made last, if the generator chooses them. Otherwise they
    /// are drawn.
    fn ops(&self) -> Option<&[Op; BLOCK]> {
        None
    }
}

/// A generator's source of random numbers.
struct Random {
    seed: u64,
    name: String,
}

impl Random {
    /// Returns a source that makes random words in bulk.
    fn bulk(&self) -> bulk::Bulk {
        bulk::Bulk::new(self.seed, &self.name)
    }

    /// Returns a source for rare draws: the draws that replace rejected ones.
    fn redraw(&self) -> Stream {
        Stream::new(self.seed, &format!("{}/redraw", self.name))
    }
}

/// Converts a share to a bound: 32 random bits are below the bound with the probability `share`,
/// exact to 2^-33. Shares of 0 and 1 are exact.
fn bound32(share: f64) -> u64 {
    (share * (1u64 << 32) as f64).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generator_is_documented_and_takes_the_common_parameters() {
        for info in generators() {
            let doc = info.doc();
            assert!(info.summary().ends_with('.'), "{}: {}", info.name, info.summary());
            for part in ["P(", "\n# Cost\n", "\n# Source\n"] {
                assert!(doc.contains(part), "{}: no {part:?} in\n{doc}", info.name);
            }
            for common in ["read", "trim"] {
                let takes = info.params.iter().any(|param| param.name == common);
                assert_eq!(takes, !info.decides_ops(), "{}", info.name);
            }
            for common in place::Place::NAMES {
                assert!(info.params.iter().any(|param| param.name == common), "{}", info.name);
            }
            assert!(info.source.lines().count() < 200, "{} is long", info.name);
        }
    }

    #[test]
    fn names_differ() {
        for (i, info) in generators().iter().enumerate() {
            assert!(generators()[..i].iter().all(|other| other.name != info.name));
        }
    }
}
