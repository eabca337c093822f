//! Schemes (Ji and Shin, Table II). A scheme says what a collection does with pages that are also
//! in the host's memory, and whether the costs of these pages decide which log block is chosen.
//!
//! A page that is moved is in one of seven classes: not cached, or clean or dirty in one of three
//! regions of the cache. A scheme is a table of seven actions and seven costs.

use std::fmt;

use crate::counters::Counters;
use flashgc_base::counts::Counts;
use flashgc_base::mutants::{self, Mutant};
use flashgc_base::naming::{choice, option, subject};
use flashgc_base::residency::{Cached, Region, Residency};
use flashgc_base::snapshot::Value;
use flashgc_base::spec::{Param, Params, Spec, SpecError};

/// The costs of operations in nanoseconds. A scheme compares actions by them. They do not set how
/// long an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// C_r: a page read.
    pub read: u64,
    /// C_w: a page program.
    pub program: u64,
    /// C_e: a block erase.
    pub erase: u64,
    /// C_b: the transfer of a page from the host's memory to the flash chip.
    pub memory: u64,
}

impl Costs {
    /// The costs of the paper (section V.A). The paper only says that C_b is above C_r; here C_b is
    /// the time of 2 KiB and its spare bytes at 25 ns a byte, rounded down.
    pub const PAPER: Self =
        Self { read: 25_000, program: 200_000, erase: 2_000_000, memory: 50_000 };

    /// C_w + alpha, alpha = C_r + C_w + C_e / b: the cost of one more page written, its share of
    /// later collections included.
    pub fn later_write(&self, pages_per_block: u32) -> f64 {
        let alpha =
            self.read as f64 + self.program as f64 + self.erase as f64 / f64::from(pages_per_block);
        self.program as f64 + alpha
    }

    /// C_GC of these counts, in nanoseconds: erases, copies, and pages written from memory.
    pub fn collections(&self, counters: &Counters, duplicates: &Duplicates) -> u64 {
        counters.erases * self.erase
            + counters.copied_pages * (self.read + self.program)
            + duplicates.flushed * (self.memory + self.program)
    }

    fn copy(&self) -> f64 {
        (self.read + self.program) as f64
    }

    fn flush(&self) -> f64 {
        (self.memory + self.program) as f64
    }
}

/// The action of a collection on a live page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The collection reads the page and programs it elsewhere.
    Copy,
    /// The collection leaves the page out: the copy on flash is gone, and the copy in memory is
    /// dirty.
    Skip,
    /// The collection programs the copy in memory, which is clean then.
    Flush,
}

/// Classes of live pages: index 0 is not cached, 1 to 3 clean in each region, 4 to 6 dirty.
pub const CLASSES: usize = 7;

/// The class of a page in this state.
#[inline]
pub fn class_of(state: Option<Cached>) -> usize {
    match state {
        None => 0,
        Some(Cached { dirty, region }) => 1 + region as usize + 3 * usize::from(dirty),
    }
}

/// The state that a class stands for.
fn state_of(class: usize) -> Option<Cached> {
    let class = class.checked_sub(1)?;
    Some(Cached { dirty: class >= 3, region: Region::ALL[class % 3] })
}

/// The treatment of pages that are cached.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// Cached pages are copied as all others.
    Unaware,
    /// Cached pages are left out.
    LeftOut,
    /// Cached pages are left out, but clean pages next in line to be evicted are copied.
    ByRegion,
    /// Clean pages are copied. Dirty pages are written from memory if the chance that the host
    /// writes them again is at most `below`.
    WrittenBack { below: f64 },
    /// The action that costs least is taken.
    BreakEven,
}

/// The entry of one scheme in listings.
pub struct SchemeInfo {
    /// The name people type.
    pub name: &'static str,
    /// A summary of one line.
    pub summary: &'static str,
    /// The parameters that the scheme takes.
    pub params: &'static [Param],
    rule: Rule,
    /// Dirty pages next in line to be evicted are written from memory (LDE).
    flush: bool,
    /// Log blocks are chosen by their cost (LDA-VBS) rather than in turn.
    by_cost: bool,
}

const fn scheme(
    name: &'static str,
    summary: &'static str,
    rule: Rule,
    flush: bool,
    by_cost: bool,
) -> SchemeInfo {
    SchemeInfo { name, summary, params: &[], rule, flush, by_cost }
}

static SCHEMES: &[SchemeInfo] = &[
    scheme(
        "du-gc",
        "every live page is copied (Ji and Shin, Figure 1)",
        Rule::Unaware,
        false,
        false,
    ),
    scheme(
        "da-gc",
        "cached pages are left out and become dirty (Ji and Shin, Figure 2)",
        Rule::LeftOut,
        false,
        false,
    ),
    SchemeInfo {
        params: &[Param::share("below", Some("1"))
            .help("largest chance of another write at which a dirty page is written back")],
        ..scheme(
            "ba-gc",
            "dirty cached pages are written back in place of their old copies (Lee, Shin, Kim 2008)",
            Rule::WrittenBack { below: 1.0 },
            false,
            false,
        )
    },
    scheme(
        "lda-gc1",
        "da-gc, log blocks chosen by cost and likely loss (LDA-VBS)",
        Rule::LeftOut,
        false,
        true,
    ),
    scheme(
        "lda-gc2",
        "clean pages near eviction are copied, other cached pages left out (LDA-BM)",
        Rule::ByRegion,
        false,
        false,
    ),
    scheme("lda-gc3", "LDA-VBS and LDA-BM", Rule::ByRegion, false, true),
    scheme(
        "lda-gc4",
        "LDA-BM, and dirty pages near eviction are written back (LDE)",
        Rule::ByRegion,
        true,
        false,
    ),
    scheme("lda-gc5", "LDA-VBS, LDA-BM and LDE", Rule::ByRegion, true, true),
    scheme(
        "lda-p",
        "each cached page left out, copied or written back, whichever costs least",
        Rule::BreakEven,
        true,
        true,
    ),
];

/// Every scheme, in the order in which listings show them.
pub fn schemes() -> &'static [SchemeInfo] {
    SCHEMES
}

/// A scheme with its parameters.
#[derive(Clone, Copy)]
pub struct Scheme {
    info: &'static SchemeInfo,
    rule: Rule,
}

impl Scheme {
    /// Reads `text`, for example `lda-gc5` or `ba-gc:below=0.5`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let spec = Spec::parse(text)?;
        let info = spec.entry("scheme", SCHEMES, |info| info.name)?;
        let params = Params::resolve(&spec, info.params)?;
        let rule = match info.rule {
            Rule::WrittenBack { .. } => Rule::WrittenBack { below: params.real("below") },
            rule => rule,
        };
        Ok(Self { info, rule })
    }

    /// Returns `true` if log blocks are chosen by their cost.
    pub fn is_by_cost(self) -> bool {
        self.info.by_cost
    }

    /// Returns `true` if collections do not look into the host's memory.
    pub fn is_unaware(self) -> bool {
        self.rule == Rule::Unaware && !self.info.by_cost
    }

    /// Checks that a page map can use the scheme: it has no log blocks to choose from.
    pub fn check_page_map(self) -> Result<(), SpecError> {
        if !self.info.by_cost {
            return Ok(());
        }
        Err(SpecError::new(
            format!(
                "{} {self} does not go with {}: it chooses among log blocks",
                subject("vm_scheme"),
                choice("mapping", "page")
            ),
            format!(
                "du-gc, da-gc, ba-gc, lda-gc2 or lda-gc4; or {} or bast",
                choice("mapping", "fast")
            ),
        ))
    }

    /// Checks that the scheme works with a mapping whose collections do not look into the host's
    /// memory.
    pub fn check_unaware(self) -> Result<(), SpecError> {
        if self.is_unaware() {
            return Ok(());
        }
        Err(SpecError::new(
            format!(
                "{} {self} needs collections that know what is in the host's memory, and those of this {} do not",
                subject("vm_scheme"),
                option("mapping")
            ),
            format!("{}, or {}", choice("vm_scheme", "du-gc"), choice("mapping", "page")),
        ))
    }

    /// The action on each class of pages at this moment, and its cost.
    pub fn table(self, costs: &Costs, pages_per_block: u32, memory: &dyn Residency) -> ClassTable {
        let later = costs.later_write(pages_per_block);
        let mut table = ClassTable { actions: [Action::Copy; CLASSES], costs: [0.0; CLASSES] };
        for class in 0..CLASSES {
            let (action, cost) = match state_of(class) {
                None => (Action::Copy, costs.copy()),
                Some(state) => {
                    let chance = memory.update_probability(state.region);
                    self.cached(state, chance, costs, later)
                }
            };
            table.actions[class] = action;
            table.costs[class] = cost;
        }
        table
    }

    /// Action and cost of a cached page that the host writes again with probability `chance`.
    /// `later` is the cost of one later write, which an action avoids or adds.
    fn cached(self, state: Cached, chance: f64, costs: &Costs, later: f64) -> (Action, f64) {
        let Cached { dirty, region } = state;
        // A clean page left out has to be written when it is evicted, unless the host would have
        // made it dirty anyway (Eqs. 2 and 5); a dirty page has to be written in any case.
        let loss = if dirty { 0.0 } else { (1.0 - chance) * later };
        let skip = (Action::Skip, loss);
        let copy = (Action::Copy, costs.copy());
        // A page written back need not be written when it is evicted, unless the host makes it
        // dirty again (Eq. 7).
        let saved =
            if mutants::on(Mutant::LdeWithoutBenefit) { 0.0 } else { (1.0 - chance) * later };
        let flush = (Action::Flush, costs.flush() - saved);
        match self.rule {
            Rule::Unaware => copy,
            Rule::LeftOut => skip,
            Rule::ByRegion => match (region, dirty) {
                (Region::Lru, false) => copy,
                (Region::Lru, true) if self.info.flush => flush,
                _ => skip,
            },
            Rule::WrittenBack { below } if dirty && chance <= below => flush,
            Rule::WrittenBack { .. } => copy,
            Rule::BreakEven => match dirty {
                false if copy.1 < skip.1 => copy,
                true if flush.1 < skip.1 => flush,
                _ => skip,
            },
        }
    }
}

impl Default for Scheme {
    fn default() -> Self {
        Self { info: &SCHEMES[0], rule: Rule::Unaware }
    }
}

/// Writes the spec with every parameter.
impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Rule::WrittenBack { below } => write!(f, "{}:below={below}", self.info.name),
            _ => f.write_str(self.info.name),
        }
    }
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scheme({self})")
    }
}

/// The action on each class of pages, and its cost in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassTable {
    actions: [Action; CLASSES],
    costs: [f64; CLASSES],
}

impl ClassTable {
    /// The action on a page in this state.
    #[inline]
    pub fn action(&self, state: Option<Cached>) -> Action {
        self.actions[class_of(state)]
    }

    /// C_total of a log block (Eqs. 3 and 7). Its merge erases `erases` blocks. `pages` has the
    /// number of live pages of each class in the data blocks associated with it.
    pub fn total(&self, erases: u32, pages: &[u32; CLASSES], costs: &Costs) -> f64 {
        let each = pages.iter().zip(&self.costs);
        let erases = if mutants::on(Mutant::VictimWithoutErase) { 0 } else { erases };
        f64::from(erases) * costs.erase as f64
            + each.map(|(&count, cost)| f64::from(count) * cost).sum::<f64>()
    }
}

/// Counts of the actions of collections on pages in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Counts, Value)]
pub struct Duplicates {
    /// Clean pages that collections left to memory, which became dirty.
    pub made_dirty: u64,
    /// Dirty pages that collections left to memory.
    pub left_dirty: u64,
    /// Dirty pages that collections wrote from memory, which became clean.
    #[counts(words = "written back")]
    pub flushed: u64,
}

impl Duplicates {
    /// Cached pages that were not read from flash: N_dup summed over the collections.
    pub fn excluded(&self) -> u64 {
        self.made_dirty + self.left_dirty + self.flushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host's memory without pages; it has only the probabilities of updates.
    struct Chances([f64; 3]);

    impl Residency for Chances {
        fn lookup(&self, _: u32) -> Option<Cached> {
            None
        }
        fn set_dirty(&mut self, _: u32, _: bool) {}
        fn update_probability(&self, region: Region) -> f64 {
            self.0[region as usize]
        }
        fn follow_changes(&mut self) {}
        fn drain_changes(&mut self, _: &mut Vec<u32>) {}
    }

    fn table(scheme: &str, chances: [f64; 3]) -> ClassTable {
        Scheme::parse(scheme).unwrap().table(&Costs::PAPER, 64, &Chances(chances))
    }

    fn actions(scheme: &str) -> [Action; CLASSES] {
        table(scheme, [0.5; 3]).actions
    }

    #[test]
    fn schemes_are_those_of_table_ii() {
        use Action::{Copy, Flush, Skip};
        // The order of the classes: not cached; clean in the initial, MRU and LRU region; dirty in
        // the same three regions.
        assert_eq!(actions("du-gc"), [Copy; 7]);
        assert_eq!(actions("da-gc"), [Copy, Skip, Skip, Skip, Skip, Skip, Skip]);
        assert_eq!(actions("lda-gc1"), actions("da-gc"));
        assert_eq!(actions("lda-gc2"), [Copy, Skip, Skip, Copy, Skip, Skip, Skip]);
        assert_eq!(actions("lda-gc3"), actions("lda-gc2"));
        assert_eq!(actions("lda-gc4"), [Copy, Skip, Skip, Copy, Skip, Skip, Flush]);
        assert_eq!(actions("lda-gc5"), actions("lda-gc4"));
        assert_eq!(actions("ba-gc"), [Copy, Copy, Copy, Copy, Flush, Flush, Flush]);
        let by_cost = SCHEMES.iter().filter(|info| info.by_cost).map(|info| info.name);
        assert_eq!(by_cost.collect::<Vec<_>>(), ["lda-gc1", "lda-gc3", "lda-gc5", "lda-p"]);
    }

    #[test]
    fn what_another_write_costs_is_c_w_and_alpha() {
        // alpha = 25 + 200 + 2000/64 us, so that C_w + alpha = 456.25 us.
        assert_eq!(Costs::PAPER.later_write(64), 456_250.0);
    }

    #[test]
    fn costs_are_those_of_equations_1_to_7() {
        // Three erases; 4 pages on flash alone; 1, 2, 3 clean and 4, 5, 6 dirty pages in the three
        // regions, written again with chances 0.5, 0.75 and 0.25.
        let pages = [4, 1, 2, 3, 4, 5, 6];
        let total = |scheme| table(scheme, [0.5, 0.75, 0.25]).total(3, &pages, &Costs::PAPER);
        let (erases, copy, flush, later) = (6_000_000.0, 225_000.0, 250_000.0, 456_250.0);
        assert_eq!(total("du-gc"), erases + 25.0 * copy);
        // gamma, the number of clean pages that are written again: 1 * 0.5 + 2 * 0.25 + 3 * 0.75 =
        // 3.25.
        assert_eq!(total("lda-gc1"), erases + 4.0 * copy + 3.25 * later);
        // Copied are delta = 4 pages on flash alone and pi = 3 clean pages of the LRU region. Of
        // the other clean pages, gamma_MRU = 1 * 0.5 + 2 * 0.25 = 1 is written again.
        assert_eq!(total("lda-gc3"), erases + 7.0 * copy + later);
        // theta = 6 dirty pages of the LRU region are written back; 6 * 0.75 of them are written
        // again.
        assert_eq!(total("lda-gc5"), erases + 7.0 * copy + 6.0 * flush + later - 4.5 * later);
    }

    #[test]
    fn a_page_breaks_even_at_the_chances_worked_out() {
        // Leaving out a clean page pays iff (1 - P) 456.25 < 225 us: P > 0.5068. Writing back a
        // dirty one pays iff 250 < (1 - P) 456.25 us: P < 0.4521.
        let one = |chance: f64| {
            let table = table("lda-p", [chance; 3]);
            (table.actions[1], table.actions[4])
        };
        assert_eq!(one(0.506), (Action::Copy, Action::Skip));
        assert_eq!(one(0.507), (Action::Skip, Action::Skip));
        assert_eq!(one(0.453), (Action::Copy, Action::Skip));
        assert_eq!(one(0.452), (Action::Copy, Action::Flush));
    }

    #[test]
    fn faults_name_what_to_try() {
        let error = |text| Scheme::parse(text).unwrap_err().to_string();
        assert_eq!(error("lda-gc6"), "unknown scheme 'lda-gc6'; hint: did you mean 'lda-gc1'?");
        assert!(error("ba-gc:below=2").contains("below=2 is not a number from 0 to 1"));
        assert_eq!(Scheme::parse("ba-gc:below=50%").unwrap().to_string(), "ba-gc:below=0.5");
    }
}
